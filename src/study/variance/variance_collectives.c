/* Collectives of a rank for step 3: exactly from its trace, else from the report of all ranks. */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "job/collectives/facts.h"
#include "study/variance/cells.h"

#include <string.h>

/* The recorded name or kind, else the kernel's. */
static const char *name_of(const struct tw_rank *rank, const struct tw_collective *c)
{
	size_t len;
	const char *name = tw_collective_label(rank, c, &len);

	return len ? name : tw_pool_text(&rank->texts, rank->kinds[c->kind].kernel, &len);
}

int tw_sweep_collectives_of_rank(const struct tw_rank *rank, struct tw_arena *arena,
				 struct tw_sweep_collectives *out, struct trawl_error *err)
{
	struct tw_sweep_collective *items =
		tw_arena_alloc(arena, ((size_t)rank->collective_count + 1) * sizeof(*items));
	size_t i;

	*out = (struct tw_sweep_collectives){ 0 };
	if (!items)
		return tw_no_memory(err);
	for (i = 0; i < rank->collective_count; i++) {
		const struct tw_collective *c = &rank->collectives[i];

		items[i] = (struct tw_sweep_collective){ c->start_ns, c->end_ns, name_of(rank, c) };
	}
	*out = (struct tw_sweep_collectives){ items, rank->collective_count };
	return 0;
}

int tw_sweep_collectives_of_table(const struct trawl_table *nccl_long, int64_t rank,
				  struct tw_arena *arena, struct tw_sweep_collectives *out,
				  size_t *without_times, struct trawl_error *err)
{
	enum { NS = 3 };
	static const char *const headers[] = { "rank", TW_COL_COLLECTIVE_NAME, "ts", "dur" };
	size_t rows = trawl_table_rows(nccl_long), column[4], i, count = 0;
	struct tw_sweep_collective *items;

	*out = (struct tw_sweep_collectives){ 0 };
	*without_times = 0;
	for (i = 0; i < 4; i++) {
		column[i] = trawl_table_find_column(nccl_long, headers[i]);
		if (column[i] == trawl_table_columns(nccl_long))
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "sheet nccl_long has no column '%s'", headers[i]);
	}
	items = tw_arena_alloc(arena, (rows + 1) * sizeof(*items));
	if (!items)
		return tw_no_memory(err);
	for (i = 0; i < rows; i++) {
		struct tw_sweep_collective c;
		int64_t number, dur;

		if (!tw_table_whole(nccl_long, i, column[0], &number) || number != rank)
			continue;
		/* 0 is a time; an empty cell is none. */
		if (!tw_table_decimal(nccl_long, i, column[2], NS, &c.start_ns) ||
		    !tw_table_decimal(nccl_long, i, column[3], NS, &dur) ||
		    __builtin_add_overflow(c.start_ns, dur, &c.end_ns)) {
			++*without_times;
			continue;
		}
		c.name = tw_table_copy_text(nccl_long, i, column[1], arena);
		if (!c.name)
			return tw_no_memory(err);
		items[count++] = c;
	}
	*out = (struct tw_sweep_collectives){ items, count };
	return 0;
}
