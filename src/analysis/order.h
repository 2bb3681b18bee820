/* Order of rows: largest value first, ties by a number that is unique. */
#ifndef TW_ANALYSIS_ORDER_H
#define TW_ANALYSIS_ORDER_H

#include "store/trace.h"

struct tw_order {
	int64_t value;
	uint64_t tie;
	uint32_t index;
};

/* Sorts by value descending, tie ascending. */
void tw_order_sort(struct tw_order *order, size_t count);

/*
 * Ranks of text ids in byte order, for ties by name: rank[id] is the id's position among the
 * `count` ids of the pool.  NULL when out of memory; freed with tw_free(count * 4).
 */
uint32_t *tw_text_ranks(const struct tw_pool *pool);

#endif
