/* Short forms of the allocator, and overflow-checked sizes. */
#ifndef TW_BASE_ALLOC_H
#define TW_BASE_ALLOC_H

#include "trawl/api.h"
#include "trawl/error.h"

static inline void *tw_alloc(const struct trawl_allocator *a, size_t size)
{
	return a->realloc(a->context, NULL, 0, size);
}

static inline void *tw_realloc(const struct trawl_allocator *a, void *block, size_t old_size,
			       size_t size)
{
	return a->realloc(a->context, block, old_size, size);
}

static inline void tw_free(const struct trawl_allocator *a, void *block, size_t size)
{
	if (block)
		a->free(a->context, block, size);
}

/* count x size zeroed bytes, NULL on overflow or failure; freed with tw_free(count * size). */
void *tw_alloc_array(const struct trawl_allocator *a, size_t count, size_t size);

/* Sets *err; TRAWL_ENOMEM. */
int tw_no_memory(struct trawl_error *err);

#endif
