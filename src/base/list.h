/* Lists that grow. */
#ifndef TW_BASE_LIST_H
#define TW_BASE_LIST_H

#include "base/alloc.h"

#include <string.h>

/* Number of items of an array; it does not compile with more than `most`. */
#define TW_COUNT_UP_TO(most, array)                                                             \
	(sizeof(array) / sizeof((array)[0]) +                                                   \
	 0 * sizeof(struct {                                                                    \
		 _Static_assert(sizeof(array) / sizeof((array)[0]) <= (most), "more than fit"); \
		 char at_all;                                                                   \
	 }))

/*
 * Room for one more item after `count` in the list that the pointer at `at` is of; false: out of
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

/* A list as a member of something: zeroed it is empty. */
#define TW_LIST(type)                   \
	struct {                        \
		type *at;               \
		size_t count, capacity; \
	}

static inline bool tw_list_append(void *at, size_t *capacity, size_t *count, const void *item,
				  size_t item_size, const struct trawl_allocator *allocator)
{
	char *items;

	if (!tw_list_grow(at, capacity, *count, item_size, allocator))
		return false;
	memcpy(&items, at, sizeof(items));
	memcpy(items + (*count)++ * item_size, item, item_size);
	return true;
}

/* Adds *item after the last one; false: out of memory, and the list is as before. */
#define TW_LIST_ADD(list, item, allocator)                                     \
	tw_list_append(&(list)->at, &(list)->capacity, &(list)->count, (item), \
		       sizeof(*(1 ? (list)->at : (item))), (allocator))

/* Adds all of another list of the same; false: out of memory, and some are missing. */
#define TW_LIST_JOIN(list, from, allocator)                                                   \
	__extension__({                                                                       \
		size_t at_ = 0;                                                               \
                                                                                              \
		while (at_ < (from)->count && TW_LIST_ADD(list, (from)->at + at_, allocator)) \
			at_++;                                                                \
		at_ == (from)->count;                                                         \
	})

/* Empties it. */
#define TW_LIST_FREE(list, allocator)                                                     \
	do {                                                                              \
		tw_free((allocator), (list)->at, (list)->capacity * sizeof(*(list)->at)); \
		memset((list), 0, sizeof(*(list)));                                       \
	} while (0)

#endif
