/*
 * Traces that are no ranks of one job: means over them mean nothing.  Ranks share a process group,
 * or else do nearly the same; the stages of a pipeline and ranks without a GPU share a group.
 */
#include "job/set/job.h"

#include "base/order.h"
#include "data/limits.h"
#include "text/rank_list.h"

#include <stdlib.h>
#include <string.h>

struct joining {
	const struct tw_rank *ranks;
	struct tw_arena arena;
	size_t *above; /* by rank: another of the same kind, itself at the top */
	size_t count;
};

static size_t top_of(struct joining *j, size_t i)
{
	while (j->above[i] != i)
		i = j->above[i] = j->above[j->above[i]];
	return i;
}

static void unite(struct joining *j, size_t a, size_t b)
{
	a = top_of(j, a);
	b = top_of(j, b);
	if (a != b)
		j->above[a > b ? a : b] = a > b ? b : a;
}

/* ---- by what they name in common */

/* Something that a rank names: a process group, or the size of its job. */
struct key {
	uint64_t key;
	size_t rank;
	bool timed;
	int64_t first_ns, last_ns;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	/* Without times, first_ns is 0 in both. */
	return TW_ORDER_BY(x, y, key, timed, first_ns, rank);
}

static size_t add_keys(struct key *keys, const struct tw_rank *rank, size_t number)
{
	struct key key = { .rank = number };
	size_t n = 0;
	uint32_t i;

	key.timed = tw_rank_span(rank, &key.first_ns, &key.last_ns);
	if (!key.timed)
		key.first_ns = key.last_ns = 0;
	for (i = 0; i < rank->who.groups.count; i++) {
		key.key = rank->who.groups.hashes[i];
		keys[n++] = key;
	}
	/* Sizes are no hashes: those are spread over all numbers. */
	key.key = (uint64_t)rank->world_size;
	if (rank->world_size > 1)
		keys[n++] = key;
	key.key = (uint64_t)rank->who.recorded_world;
	if (rank->who.recorded_world > 1)
		keys[n++] = key;
	key.key = 0;
	if (rank->who.labelled)
		keys[n++] = key;
	return n;
}

/* The same key joins, unless they ran at other times. */
static void join_by_keys(struct joining *j, const struct key *keys, size_t count)
{
	int64_t last_ns = INT64_MIN;
	size_t i;

	for (i = 1; i < count; i++) {
		const struct key *before = &keys[i - 1], *key = &keys[i];
		bool same = key->key == before->key;

		if (!same) {
			last_ns = INT64_MIN;
			continue;
		}
		last_ns = last_ns > before->last_ns ? last_ns : before->last_ns;
		if ((!before->timed || key->first_ns <= last_ns ||
		     (uint64_t)key->first_ns - (uint64_t)last_ns <= TW_LIMIT_JOB_APART_NS))
			unite(j, before->rank, key->rank);
	}
}

static int join_by_groups(struct joining *j)
{
	enum { OTHERS = 3 }; /* keys of a rank beside its groups */
	size_t n = 0, i;
	struct key *keys =
		tw_arena_array(&j->arena, j->count * (TW_SKETCH + OTHERS), sizeof(*keys));

	if (!keys)
		return -1;
	for (i = 0; i < j->count; i++) {
		/* Whoever put several ranks into one file knew them. */
		if (i && j->ranks[i].who.part && j->ranks[i].file == j->ranks[i - 1].file)
			unite(j, i - 1, i);
		n += add_keys(keys + n, &j->ranks[i], i);
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	join_by_keys(j, keys, n);
	return 0;
}

/* ---- by groups that go together: each names ranks of its own, and they ran at the same time */

static bool names_rank(const struct tw_rank *rank, int64_t number, bool *failed)
{
	struct tw_rank_list list;
	bool named = false;
	size_t i;

	tw_rank_list_parse(&list, rank->who.members, rank->allocator);
	for (i = 0; i < list.count; i++)
		named |= list.ranks[i] == number;
	*failed |= list.failed;
	tw_rank_list_release(&list);
	return named;
}

static bool go_together(const struct tw_rank *a, const struct tw_rank *b, bool *failed)
{
	int64_t a_first, a_last, b_first, b_last;

	return strchr(a->who.members, ',') && strchr(b->who.members, ',') &&
	       tw_rank_span(a, &a_first, &a_last) && tw_rank_span(b, &b_first, &b_last) &&
	       a_first <= b_last && b_first <= a_last && !names_rank(a, b->rank, failed) &&
	       !names_rank(b, a->rank, failed);
}

/* ---- by what they do */

static bool are_alike(const struct tw_rank *a, const struct tw_rank *b)
{
	/* Not comparable without an operator or kernel. */
	return !a->who.names.count || !b->who.names.count ||
	       tw_who_alike(&a->who, &b->who) * 100 >= TW_LIMIT_RANKS_ALIKE_PERCENT;
}

/* What is left against one of each kind so far. */
static int join_kinds(struct joining *j)
{
	bool failed = false;
	size_t i, k;

	for (i = 1; i < j->count; i++)
		for (k = 0; k < i && top_of(j, i) == i; k++)
			if (j->above[k] == k && (are_alike(&j->ranks[i], &j->ranks[k]) ||
						 go_together(&j->ranks[i], &j->ranks[k], &failed)))
				unite(j, i, k);
	return failed ? -1 : 0;
}

int tw_find_unlike(const struct tw_rank *ranks, size_t count,
		   const struct trawl_allocator *allocator, bool *found, struct tw_unlike *unlike)
{
	struct joining j = { .ranks = ranks, .count = count };
	int status = -1;
	size_t i;

	*found = false;
	if (count < 2)
		return 0;
	tw_arena_init(&j.arena, allocator);
	j.above = tw_arena_array(&j.arena, count, sizeof(*j.above));
	for (i = 0; i < count && j.above; i++)
		j.above[i] = i;
	if (j.above && !join_by_groups(&j) && !join_kinds(&j))
		status = 0;
	for (i = 1; i < count && !status && !*found; i++)
		if (top_of(&j, i) != top_of(&j, 0)) {
			*found = true;
			*unlike = (struct tw_unlike){ 0, i,
						      tw_who_alike(&ranks[0].who, &ranks[i].who) };
		}
	tw_arena_release(&j.arena);
	return status;
}
