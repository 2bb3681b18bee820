/* The rows of a variance table by threads, channels or rank. */
#include "render/charts/variance_plots.h"

#include <stdlib.h>

struct keyed {
	int64_t number;
	double value;
};

static int compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int64_t number_of(const struct tw_variance_point *point, enum tw_variance_by by)
{
	return by == TW_BY_THREADS  ? point->threads :
	       by == TW_BY_CHANNELS ? point->channels :
				      point->rank;
}

static size_t count_groups(const struct keyed *list, size_t count)
{
	size_t groups = 0, i;

	for (i = 0; i < count; i++)
		groups += !i || list[i].number != list[i - 1].number;
	return groups;
}

struct tw_variance_group *tw_variance_groups(const struct tw_variance_point *points, size_t count,
					     enum tw_variance_by by, struct tw_arena *arena,
					     size_t *group_count)
{
	struct keyed *list = tw_arena_alloc(arena, (count + 1) * sizeof(*list));
	double *values = tw_arena_alloc(arena, (count + 1) * sizeof(*values));
	struct tw_variance_group *groups;
	size_t n = 0, i, end;

	*group_count = 0;
	if (!list || !values)
		return NULL;
	for (i = 0; i < count; i++)
		list[i] = (struct keyed){ number_of(&points[i], by), points[i].difference_us };
	qsort(list, count, sizeof(*list), compare);
	groups = tw_arena_alloc(arena, (count_groups(list, count) + 1) * sizeof(*groups));
	if (!groups)
		return NULL;
	for (i = 0; i < count; i = end) {
		struct tw_variance_group *g = &groups[n++];

		for (end = i; end < count && list[end].number == list[i].number; end++)
			values[end] = list[end].value;
		/* Which puts them in order, so that of equal keys none need be first above. */
		g->number = list[i].number;
		g->values = values + i;
		g->spread = tw_distribution_of(values + i, end - i);
	}
	*group_count = n;
	return groups;
}
