/*
 * String pool: each distinct text once, numbered in order of first appearance from 1.  Id 0 is
 * the absent text.  Texts are NUL-terminated and never move.  Failure is sticky (`failed`).
 */
#ifndef TW_STORE_POOL_H
#define TW_STORE_POOL_H

#include "base/arena.h"

struct tw_pool_entry {
	const char *ptr;
	uint32_t len;
	uint32_t hash;
};

struct tw_pool {
	const struct trawl_allocator *allocator;
	struct tw_arena arena;
	struct tw_pool_entry *entries;
	uint8_t *flags; /* by id, for the owner of the pool */
	uint32_t count; /* entries used, entry 0 included */
	uint32_t capacity;
	uint32_t *slots;     /* open addressing, 0: free */
	uint32_t slot_count; /* a power of two */
	bool failed;
};

int tw_pool_init(struct tw_pool *pool, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_pool_release(struct tw_pool *pool);
/* The id of the text, adding it when new; 0 (and `failed`) when out of memory. */
uint32_t tw_pool_intern(struct tw_pool *pool, const char *text, size_t len);
uint32_t tw_pool_intern_cstr(struct tw_pool *pool, const char *text);
/* The id of the text, 0 when it is not there. */
uint32_t tw_pool_find(const struct tw_pool *pool, const char *text, size_t len);

static inline const char *tw_pool_text(const struct tw_pool *pool, uint32_t id, size_t *len)
{
	if (len)
		*len = pool->entries[id].len;
	return pool->entries[id].ptr;
}

#endif
