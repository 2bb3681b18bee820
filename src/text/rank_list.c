#include "text/rank_list.h"

#include "base/list.h"

#include <string.h>

static void add_to_list(struct tw_rank_list *list, int64_t rank)
{
	if (tw_list_grow(&list->ranks, &list->capacity, list->count, sizeof(rank), list->allocator))
		list->ranks[list->count++] = rank;
	else
		list->failed = true;
}

/* The next number of *text; false at the end, with *whole cleared where something else stands. */
static bool next_rank(const char **text, int64_t *rank, bool *whole)
{
	const char *at = *text;

	for (; *at && (*at < '0' || *at > '9'); at++)
		if (!strchr("[](), ", *at))
			*whole = false;
	*text = at;
	if (!*at)
		return false;
	for (*rank = 0; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*rank, (int64_t)10, rank) ||
		    __builtin_add_overflow(*rank, (int64_t)(*at - '0'), rank)) {
			*whole = false;
			return false;
		}
	*text = at;
	return true;
}

void tw_rank_list_parse(struct tw_rank_list *list, const char *text,
			const struct trawl_allocator *allocator)
{
	int64_t rank;

	*list = (struct tw_rank_list){ .allocator = allocator, .whole = true };
	while (!list->failed && next_rank(&text, &rank, &list->whole))
		add_to_list(list, rank);
	list->whole &= list->count > 0;
}

void tw_rank_list_release(struct tw_rank_list *list)
{
	tw_free(list->allocator, list->ranks, list->capacity * sizeof(*list->ranks));
	list->ranks = NULL;
	list->count = list->capacity = 0;
}

size_t tw_rank_list_add_some(struct tw_str *out, const int64_t *ranks, size_t count, size_t most)
{
	size_t i, last;

	for (i = 0; i < count && most; i = last + 1, most--) {
		for (last = i; last + 1 < count && ranks[last + 1] == ranks[last] + 1; last++)
			;
		if (i)
			tw_str_add_cstr(out, ", ");
		tw_str_add_int(out, ranks[i]);
		if (last > i) {
			tw_str_add_cstr(out, last == i + 1 ? ", " : "-");
			tw_str_add_int(out, ranks[last]);
		}
	}
	return i;
}

void tw_rank_list_add(struct tw_str *out, const int64_t *ranks, size_t count)
{
	tw_rank_list_add_some(out, ranks, count, SIZE_MAX);
}

/* Source: TraceLens' node_span. */
const char *tw_node_span(const char *ranks, int64_t gpus_per_node)
{
	bool whole = true, first = true;
	int64_t rank, node = 0;

	if (gpus_per_node <= 0)
		return "unknown";
	while (next_rank(&ranks, &rank, &whole)) {
		if (!first && rank / gpus_per_node != node)
			return "inter_node";
		node = rank / gpus_per_node;
		first = false;
	}
	return whole && !first ? "intra_node" : "unknown";
}

void tw_rank_list_add_most(struct tw_str *out, const int64_t *ranks, size_t count)
{
	enum { MOST = 20 };
	size_t listed = tw_rank_list_add_some(out, ranks, count, MOST);

	if (listed < count)
		tw_str_addf(out, " and %zu more", count - listed);
}
