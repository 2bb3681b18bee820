#include "store/origins.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/search.h"

static int add_run(struct tw_origins *origins, const struct tw_origin *run)
{
	if (!tw_list_grow(&origins->runs, &origins->capacity, origins->count,
			  sizeof(*origins->runs), origins->allocator))
		return -1;
	origins->runs[origins->count++] = *run;
	return 0;
}

int tw_origins_add(struct tw_origins *origins, uint64_t event, const char *table, int64_t row)
{
	const struct tw_origin *last = origins->count ? &origins->runs[origins->count - 1] : NULL;

	if (last && last->table == table &&
	    (uint64_t)row - (uint64_t)last->row == event - last->event)
		return 0;
	return add_run(origins, &(struct tw_origin){ event, row, table });
}

int tw_origins_append(struct tw_origins *origins, const struct tw_origins *more, uint64_t events)
{
	size_t i;

	for (i = 0; i < more->count; i++)
		if (tw_origins_add(origins, more->runs[i].event + events, more->runs[i].table,
				   more->runs[i].row))
			return -1;
	return 0;
}

bool tw_origins_find(const struct tw_origins *origins, uint64_t event, const char **table,
		     int64_t *row)
{
	size_t after = TW_LOWER_BOUND(at, 0, origins->count, origins->runs[at].event <= event);
	const struct tw_origin *run;

	if (!after || !origins->runs[after - 1].table)
		return false;
	run = &origins->runs[after - 1];
	*table = run->table;
	*row = (int64_t)((uint64_t)run->row + (event - run->event));
	return true;
}

void tw_origins_release(struct tw_origins *origins)
{
	tw_free(origins->allocator, origins->runs, origins->capacity * sizeof(*origins->runs));
	origins->runs = NULL;
	origins->count = origins->capacity = 0;
}
