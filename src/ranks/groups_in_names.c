/*
 * Replicas of one program: a server with data parallelism runs several groups of workers that are
 * the ranks 0, 1, ... of a group each, and no collective joins.  Their traces are told apart by a
 * word of their names (dp0, dp1), or by their directories.
 */
#include "ranks/job.h"

#include "base/alloc.h"
#include "base/file.h"

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
 * The next word with a number behind it, such as "dp0" or "DP-0", at p or later; NULL: none.  *end
 * is behind the number, *word_len the length of the word alone.
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

/* Its directory below the one that holds all. */
static void take_directory(struct named *n, const char *above)
{
	size_t len = strlen(above);
	const char *name = tw_file_name(n->path);

	n->value = strncmp(n->path, above, len) ? n->path : n->path + len;
	n->value += strspn(n->value, "/");
	n->len = name > n->value ? (size_t)(name - n->value - 1) : 0;
}

static int compare_values(const struct named *a, const struct named *b)
{
	/* Numbers behind one word: the shorter is the smaller. */
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->len ? memcmp(a->value, b->value, a->len) : 0;
}

static int by_value(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = compare_values(x, y);

	if (order)
		return order;
	if (x->rank->rank != y->rank->rank)
		return x->rank->rank < y->rank->rank ? -1 : 1;
	return x->rank->file < y->rank->file ? -1 : x->rank->file > y->rank->file;
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

/* Of sorted groups, whether all have the same ranks: else a directory more is no replica. */
static bool have_same_ranks(const struct named *list, size_t count)
{
	size_t size = 1, i;

	while (size < count && !compare_values(&list[0], &list[size]))
		size++;
	for (i = size; i < count; i++)
		if (list[i].rank->rank != list[i - size].rank->rank ||
		    !compare_values(&list[i], &list[i - size]))
			return false;
	return count % size == 0;
}

static bool try_directories(struct named *list, size_t count, const char *above)
{
	size_t i;

	for (i = 0; i < count; i++)
		take_directory(&list[i], above);
	return tells_apart(list, count) && have_same_ranks(list, count);
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

int tw_find_groups(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set,
		   const struct trawl_allocator *allocator, struct tw_str *names)
{
	struct named *list = tw_alloc_array(allocator, count, sizeof(*list));
	uint32_t group = 0;
	size_t i, n = 0;

	if (!list)
		return count ? -1 : 0;
	for (i = 0; i < count; i++)
		if (!tw_rank_is_left_out(&ranks[i]) && ranks[i].rule != TW_RANK_BY_ORDER)
			list[n++] = (struct named){ .rank = &ranks[i],
						    .path = set->files[ranks[i].file].path };
	if (n && has_duplicates(list, n) &&
	    (try_directories(list, n, set->directory) || try_words(list, n)) && are_groups(list, n))
		for (i = 0; i < n; i++) {
			if (!i || compare_values(&list[i - 1], &list[i])) {
				group += i != 0;
				tw_str_add(names, list[i].len ? list[i].value : ".",
					   list[i].len ? list[i].len : 1);
				tw_str_add_char(names, '\n');
			}
			list[i].rank->group = group;
		}
	tw_free(allocator, list, count * sizeof(*list));
	return names->failed ? -1 : 0;
}
