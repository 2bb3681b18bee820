/* Lists that grow. */
#ifndef TW_BASE_LIST_H
#define TW_BASE_LIST_H

#include "base/alloc.h"

#include <string.h>

/* How many items an array has; it does not compile with more than `most`. */
#define TW_COUNT_UP_TO(most, array)                                                             \
	(sizeof(array) / sizeof((array)[0]) +                                                   \
	 0 * sizeof(struct {                                                                    \
		 _Static_assert(sizeof(array) / sizeof((array)[0]) <= (most), "more than fit"); \
		 char at_all;                                                                   \
	 }))

/*
 * Room for one more item behind `count` in the list that the pointer at `at` is of; false: out of
 * memory, and the list is as before.
 */
static inline bool tw_list_grow(void *at, size_t *capacity, size_t count, size_t item_size,
				const struct trawl_allocator *allocator)
{
	size_t more = *capacity ? *capacity + *capacity / 2 : 64;
	void *items;

	if (count < *capacity)
		return true;
	if (more > SIZE_MAX / 2 / item_size)
		return false;
	/* Pointers of all types come here: none of them is a void * to the compiler. */
	memcpy(&items, at, sizeof(items));
	items = tw_realloc(allocator, items, *capacity * item_size, more * item_size);
	if (!items)
		return false;
	memcpy(at, &items, sizeof(items));
	*capacity = more;
	return true;
}

#endif
