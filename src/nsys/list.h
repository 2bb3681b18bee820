/* Lists that grow: the one thing that every part of this module needs of memory. */
#ifndef TW_NSYS_LIST_H
#define TW_NSYS_LIST_H

#include "base/alloc.h"

/* Room for one more item behind `count`; false: out of memory, and the list is as before. */
static inline bool tw_list_grow(void **at, size_t *capacity, size_t count, size_t item_size,
				const struct trawl_allocator *allocator)
{
	size_t more = *capacity ? *capacity + *capacity / 2 : 64;
	void *moved;

	if (count < *capacity)
		return true;
	if (more > SIZE_MAX / 2 / item_size)
		return false;
	moved = tw_realloc(allocator, *at, *capacity * item_size, more * item_size);
	if (!moved)
		return false;
	*at = moved;
	*capacity = more;
	return true;
}

#endif
