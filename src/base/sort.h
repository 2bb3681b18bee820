/* Stable sort of numbers by keys: linear, and no comparison function to get wrong. */
#ifndef TW_BASE_SORT_H
#define TW_BASE_SORT_H

#include "trawl/api.h"

typedef uint64_t tw_sort_key_of(const void *context, uint32_t number);

/*
 * Sorts a list of numbers by key(context, number), equal keys in their order.  Asks for each key
 * a few times.  Takes up to 16 bytes a number while it works, nothing where they are in order
 * already; -1: out of memory.
 */
int tw_sort(uint32_t *list, size_t count, tw_sort_key_of *key, const void *context,
	    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Sorts numbers themselves, in place. */
void tw_sort_numbers(int64_t *numbers, size_t count);

/* A signed time as a key. */
static inline uint64_t tw_sort_key(int64_t time)
{
	return (uint64_t)time ^ (uint64_t)1 << 63;
}

#endif
