/*
 * Replicas of one program: a server with data parallelism runs several groups of workers that are
 * the ranks 0, 1, ... of a group each, and no collective joins.  Their traces differ by a
 * word of their names (dp0, dp1), or by their directories.
 */
#include "job/set/job.h"

#include "base/alloc.h"
#include "base/order.h"
#include "os/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

/* A trace, and what it has for the word that is looked at. */
struct named {
	struct tw_rank *rank;
	const char *path;
	const char *value;
	size_t len;
};

static size_t letters(const char *p)
{
	size_t n = 0;

	while (isalpha((unsigned char)p[n]))
		n++;
	return n;
}

/*
 * The next word with a number after it, such as "dp0" or "DP-0", at p or later; NULL: none.  *end
 * is after the number, *word_len the length of the word alone.
 */
static const char *next_word(const char *p, size_t *word_len, const char **end)
{
	for (; *p; p++) {
		size_t n = letters(p), digits;

		if (!n)
			continue;
		*word_len = n;
		*end = p + n + (p[n] == '-' || p[n] == '_');
		digits = strspn(*end, "0123456789");
		if (digits) {
			*end += digits;
			return p;
		}
		p += n - 1;
	}
	return NULL;
}

/* What a trace has for a word of another's name; false: it has no such word. */
static bool take_word(struct named *n, const char *word, size_t word_len)
{
	const char *p = tw_file_name(n->path), *end;
	size_t len;

	for (; (p = next_word(p, &len, &end)); p = end)
		if (len == word_len && !memcmp(p, word, len)) {
			n->value = p;
			n->len = (size_t)(end - p);
			return true;
		}
	return false;
}

/* Its directories below the one that holds all, as many of them as `depth`. */
static void take_directory(struct named *n, const char *above, size_t depth)
{
	const char *name = tw_file_name(n->path), *end;
	size_t len = strlen(above);

	n->value = strncmp(n->path, above, len) ? n->path : n->path + len;
	n->value += strspn(n->value, "/");
	for (end = n->value; depth && end < name; depth--)
		end += strcspn(end, "/") + 1;
	n->len = end > n->value ? (size_t)(end - n->value - 1) : 0;
}

static int compare_values(const struct named *a, const struct named *b)
{
	/* Numbers after one word: the shorter is the smaller. */
	return TW_ORDER_BY(a, b, len) ?: (a->len ? memcmp(a->value, b->value, a->len) : 0);
}

static int by_value(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return compare_values(x, y) ?: TW_ORDER_BY(x, y, rank->rank, rank->file);
}

/* Whether the values make groups of several ranks, each rank once in a group. */
static bool tells_apart(struct named *list, size_t count)
{
	size_t groups = 1, i;

	qsort(list, count, sizeof(*list), by_value);
	for (i = 1; i < count; i++) {
		if (compare_values(&list[i - 1], &list[i]))
			groups++;
		else if (list[i - 1].rank->rank == list[i].rank->rank)
			return false;
	}
	return groups > 1;
}

static bool try_word(struct named *list, size_t count, const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!take_word(&list[i], word, len))
			return false;
	return tells_apart(list, count);
}

/* Whether two values are the same but for their numbers: "replica0", "replica1". */
static bool is_numbered(const struct named *a, const struct named *b)
{
	size_t i = 0, k = 0;

	while (i < a->len && k < b->len) {
		size_t n = strspn(a->value + i, "0123456789");
		size_t m = strspn(b->value + k, "0123456789");

		if (!n != !m || (!n && a->value[i] != b->value[k]))
			return false;
		i += n ? n : 1;
		k += n ? m : 1;
	}
	return i >= a->len && k >= b->len && a->len;
}

/*
 * Of sorted groups, whether all have the same ranks, or names that differ in numbers alone: else a
 * directory more is no replica.
 */
static bool are_replicas(const struct named *list, size_t count)
{
	bool same = true, numbered = true;
	size_t size = 1, i;

	while (size < count && !compare_values(&list[0], &list[size]))
		size++;
	for (i = size; i < count; i++) {
		same &= list[i].rank->rank == list[i - size].rank->rank &&
			compare_values(&list[i], &list[i - size]);
		numbered &= is_numbered(&list[0], &list[i]);
	}
	return (same && count % size == 0) || numbered;
}

/* From the outermost on: that of a replica holds those of its nodes. */
static bool try_directories(struct named *list, size_t count, const char *above)
{
	enum { DEEPEST = 8 };
	size_t depth, i;

	for (depth = 1; depth <= DEEPEST; depth++) {
		for (i = 0; i < count; i++)
			take_directory(&list[i], above, depth);
		if (tells_apart(list, count) && are_replicas(list, count))
			return true;
	}
	return false;
}

static bool try_words(struct named *list, size_t count)
{
	const char *p = tw_file_name(list[0].path), *end;
	size_t len;

	for (; (p = next_word(p, &len, &end)); p = end)
		if (!(len == 4 && !strncasecmp(p, "rank", len)) && try_word(list, count, p, len))
			return true;
	return false;
}

/*
 * Groups of a rank each are groups only where that is the rank of their names too, or the whole
 * job: some versions of PyTorch record rank 0 for all.
 */
static bool are_groups(const struct named *list, size_t count)
{
	bool named = true, whole = true;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct tw_rank *rank = list[i].rank;

		if (i && !compare_values(&list[i - 1], &list[i]))
			return true;
		named &= rank->name_rank == rank->rank;
		whole &= !strchr(rank->who.members, ',') && rank->who.recorded_world <= 1;
	}
	return named || whole;
}

static bool has_duplicates(struct named *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		list[i].len = 0;
	qsort(list, count, sizeof(*list), by_value);
	for (i = 1; i < count; i++)
		if (list[i - 1].rank->rank == list[i].rank->rank)
			return true;
	return false;
}

/* Number of ranks recorded in a trace: of its job, or of its groups. */
static int64_t told_ranks(const struct tw_rank *rank)
{
	int64_t most = rank->world_size > rank->who.recorded_world ? rank->world_size :
								     rank->who.recorded_world;
	const char *p = rank->who.members;
	int64_t members = *p != 0;

	for (; *p; p++)
		members += *p == ',';
	return members > most ? members : most;
}

/* Whether they ran at the same time, if known. */
static bool are_together(const struct named *list, size_t count)
{
	int64_t first_ns, last_ns, latest = INT64_MIN, earliest = INT64_MAX;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!tw_rank_span(list[i].rank, &first_ns, &last_ns))
			return true;
		latest = first_ns > latest ? first_ns : latest;
		earliest = last_ns < earliest ? last_ns : earliest;
	}
	return latest <= earliest;
}

/*
 * Whether the groups are nodes of one job: none has all recorded ranks, and together they are no
 * more. Their names then count per node.
 */
static bool are_one_job(const struct named *list, size_t count)
{
	int64_t told = 0, size = 0, ranks;
	size_t i;

	for (i = 0; i < count; i++) {
		ranks = told_ranks(list[i].rank);
		told = ranks > told ? ranks : told;
		if (list[i].rank->rule == TRAWL_RANK_BY_COLLECTIVES)
			return false;
	}
	for (i = 0, size = 0; i < count; i++) {
		size = i && !compare_values(&list[i - 1], &list[i]) ? size + 1 : 1;
		if (size >= told)
			return false;
	}
	return (int64_t)count <= told && are_together(list, count);
}

static void name_groups(struct named *list, size_t count)
{
	uint32_t group = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		struct tw_rank *rank = list[i].rank;
		bool named = list[i].len;
		uint32_t id = tw_pool_intern(&rank->texts, named ? list[i].value : ".",
					     named ? list[i].len : 1);

		group += i && compare_values(&list[i - 1], &list[i]) != 0;
		rank->group = group;
		rank->group_name = tw_pool_text(&rank->texts, id, NULL);
	}
}

int tw_find_groups(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set,
		   const struct trawl_allocator *allocator)
{
	struct named *list = tw_alloc_array(allocator, count, sizeof(*list));
	size_t i, n = 0;

	if (!list)
		return count ? -1 : 0;
	for (i = 0; i < count; i++)
		if (!tw_rank_is_left_out(&ranks[i]) && ranks[i].rule != TRAWL_RANK_BY_ORDER)
			list[n++] = (struct named){ .rank = &ranks[i],
						    .path = set->files[ranks[i].file].path };
	if (n && has_duplicates(list, n) &&
	    (try_directories(list, n, set->directory) || try_words(list, n))) {
		bool one_job = are_one_job(list, n);

		for (i = 0; i < n && one_job; i++) {
			list[i].rank->rank = -1;
			list[i].rank->rule = TRAWL_RANK_BY_ORDER;
		}
		if (!one_job && are_groups(list, n))
			name_groups(list, n);
	}
	tw_free(allocator, list, count * sizeof(*list));
	return 0;
}
