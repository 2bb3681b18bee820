/* Order of rows: largest value first; ties by up to two texts, then by a number that is unique. */
#ifndef TW_ANALYSIS_ORDER_H
#define TW_ANALYSIS_ORDER_H

#include "base/wide.h"
#include "store/pool.h"
#include "table/table.h"

struct tw_order {
	tw_wide value;
	uint32_t texts[2]; /* text ids of the pool that sorting is given; 0: the empty text */
	uint64_t tie;
	uint32_t index;
};

/*
 * Sorts by value descending, then by the texts, then by `tie` and `index` ascending.  `pool` may
 * be NULL when all text ids are 0.
 */
void tw_order_sort(struct tw_order *order, size_t count, const struct tw_pool *pool);

/*
 * The rows of a table in order: `describe` gives value, texts and tie of a thing (its index is set),
 * `add` adds the rows of one.  0, TRAWL_ENOMEM, or what `add` fails with.
 */
struct tw_order_rows {
	void *context;
	struct tw_order (*describe)(void *context, uint32_t index);
	int (*add)(void *context, struct trawl_table *table, uint32_t index);
	const struct tw_pool *pool; /* as for tw_order_sort() */
};

int tw_add_in_order(struct trawl_table *table, uint32_t count, const struct tw_order_rows *rows,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
