/*
 * Stable radix sort of (key, value) pairs: linear, and no comparison function to get wrong.
 */
#ifndef TW_BASE_SORT_H
#define TW_BASE_SORT_H

#include "trawl/api.h"

struct tw_sort_item {
	uint64_t key;
	uint64_t value;
};

/*
 * Sorts items by key, equal keys in their order; `scratch` has room for as many.  The result is
 * in `items`.
 */
void tw_sort(struct tw_sort_item *items, struct tw_sort_item *scratch, size_t count);

/* A signed time as a key. */
static inline uint64_t tw_sort_key(int64_t time)
{
	return (uint64_t)time ^ (uint64_t)1 << 63;
}

#endif
