/*
 * Traces that are no ranks of one job: means over them mean nothing.  Ranks share a process group,
 * or else do nearly the same; the stages of a pipeline and ranks without a GPU share a group.
 */
#include "ranks/job.h"

#include "base/alloc.h"

#include <string.h>

/* Of names that either has, what ranks of one job have in common at least. */
#define ALIKE 0.5

struct joining {
	const struct tw_rank *ranks;
	size_t *above; /* by rank: another of the same kind, itself at the top */
	size_t count;
};

static size_t top_of(struct joining *j, size_t i)
{
	while (j->above[i] != i)
		i = j->above[i] = j->above[j->above[i]];
	return i;
}

static void join(struct joining *j, size_t a, size_t b)
{
	a = top_of(j, a);
	b = top_of(j, b);
	if (a != b)
		j->above[a > b ? a : b] = a > b ? b : a;
}

/* Those that name a job of several ranks: by its size, a label, or the ranks of a group. */
static bool names_job(const struct tw_rank *rank)
{
	return rank->world_size >= 0 || rank->who.labelled || strchr(rank->who.members, ',');
}

static void join_by_groups(struct joining *j)
{
	size_t first = j->count, i;

	for (i = 0; i < j->count; i++) {
		/* Whoever put several ranks into one file knew them. */
		if (i && j->ranks[i].who.part && j->ranks[i].file == j->ranks[i - 1].file)
			join(j, i - 1, i);
		if (!names_job(&j->ranks[i]))
			continue;
		if (first == j->count)
			first = i;
		join(j, first, i);
	}
}

static bool are_alike(const struct tw_rank *a, const struct tw_rank *b)
{
	/* Without an operator or kernel there is nothing to tell by. */
	return !a->who.sketch_count || !b->who.sketch_count ||
	       tw_who_alike(&a->who, &b->who) >= ALIKE;
}

/* What is left against one of each kind so far. */
static void join_by_names(struct joining *j)
{
	size_t i, k;

	for (i = 1; i < j->count; i++)
		for (k = 0; k < i && top_of(j, i) == i; k++)
			if (j->above[k] == k && are_alike(&j->ranks[i], &j->ranks[k]))
				join(j, i, k);
}

int tw_find_unlike(const struct tw_rank *ranks, size_t count,
		   const struct trawl_allocator *allocator, bool *found, struct tw_unlike *unlike)
{
	struct joining j = { .ranks = ranks, .count = count };
	size_t i;

	*found = false;
	if (count < 2)
		return 0;
	j.above = tw_alloc_array(allocator, count, sizeof(*j.above));
	if (!j.above)
		return -1;
	for (i = 0; i < count; i++)
		j.above[i] = i;
	join_by_groups(&j);
	join_by_names(&j);
	for (i = 1; i < count && !*found; i++)
		if (top_of(&j, i) != top_of(&j, 0)) {
			*found = true;
			*unlike = (struct tw_unlike){ 0, i,
						      tw_who_alike(&ranks[0].who, &ranks[i].who) };
		}
	tw_free(allocator, j.above, count * sizeof(*j.above));
	return 0;
}
