#include "store/pool.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"

#include <string.h>

#define FIRST_CAPACITY 1024u

static int grow_entries(struct tw_pool *pool)
{
	uint32_t capacity = pool->capacity ? pool->capacity * 2 : FIRST_CAPACITY;
	struct tw_pool_entry *entries;
	uint8_t *flags;

	if (capacity <= pool->capacity || capacity >= 1u << 31)
		return -1;
	/* Both or none: a block is freed with the size it has. */
	flags = tw_alloc(pool->allocator, capacity);
	if (!flags)
		return -1;
	entries = tw_realloc(pool->allocator, pool->entries, pool->capacity * sizeof(*entries),
			     capacity * sizeof(*entries));
	if (!entries) {
		tw_free(pool->allocator, flags, capacity);
		return -1;
	}
	if (pool->capacity)
		memcpy(flags, pool->flags, pool->capacity);
	tw_free(pool->allocator, pool->flags, pool->capacity);
	pool->entries = entries;
	pool->flags = flags;
	pool->capacity = capacity;
	return 0;
}

static int grow_slots(struct tw_pool *pool)
{
	uint32_t slot_count = pool->slot_count ? pool->slot_count * 2 : 2 * FIRST_CAPACITY;
	uint32_t *slots, i;

	if (slot_count <= pool->slot_count)
		return -1;
	slots = tw_alloc_array(pool->allocator, slot_count, sizeof(*slots));
	if (!slots)
		return -1;
	for (i = 1; i < pool->count; i++)
		slots[TW_SLOT(at, slot_count, pool->entries[i].hash, !slots[at])] = i;
	tw_free(pool->allocator, pool->slots, pool->slot_count * sizeof(*slots));
	pool->slots = slots;
	pool->slot_count = slot_count;
	return 0;
}

int tw_pool_init(struct tw_pool *pool, const struct trawl_allocator *allocator)
{
	memset(pool, 0, sizeof(*pool));
	pool->allocator = allocator;
	tw_arena_init(&pool->arena, allocator);
	if (grow_entries(pool) || grow_slots(pool)) {
		tw_pool_release(pool);
		return -1;
	}
	pool->entries[0] = (struct tw_pool_entry){ "", 0, 0 };
	pool->flags[0] = 0;
	pool->count = 1;
	return 0;
}

void tw_pool_release(struct tw_pool *pool)
{
	if (!pool->allocator)
		return;
	tw_free(pool->allocator, pool->entries, pool->capacity * sizeof(*pool->entries));
	tw_free(pool->allocator, pool->flags, pool->capacity);
	tw_free(pool->allocator, pool->slots, pool->slot_count * sizeof(*pool->slots));
	tw_arena_release(&pool->arena);
	memset(pool, 0, sizeof(*pool));
}

static inline bool is_text(const struct tw_pool_entry *entry, const char *text, size_t len,
			   uint32_t hash)
{
	return entry->hash == hash && entry->len == len && !memcmp(entry->ptr, text, len);
}

/* The id of a text, 0: it is not there. */
static inline uint32_t find_text(const struct tw_pool *pool, const char *text, size_t len,
				 uint32_t hash)
{
	return pool->slots[TW_SLOT(at, pool->slot_count, hash,
				   !pool->slots[at] || is_text(&pool->entries[pool->slots[at]],
							       text, len, hash))];
}

static uint32_t add_entry(struct tw_pool *pool, const char *text, size_t len, uint32_t hash)
{
	uint32_t id = pool->count;
	char *copy;

	if (len > UINT32_MAX || (id == pool->capacity && grow_entries(pool)) ||
	    (id > pool->slot_count / 2 && grow_slots(pool)) ||
	    !(copy = tw_arena_copy(&pool->arena, text, len))) {
		pool->failed = true;
		return 0;
	}
	pool->entries[id] = (struct tw_pool_entry){ copy, (uint32_t)len, hash };
	pool->flags[id] = 0;
	pool->count++;
	pool->slots[TW_SLOT(at, pool->slot_count, hash, !pool->slots[at])] = id;
	return id;
}

uint32_t tw_pool_intern(struct tw_pool *pool, const char *text, size_t len)
{
	uint32_t hash = (uint32_t)tw_hash_bytes(text, len);
	uint32_t id = find_text(pool, text, len, hash);

	return id ? id : add_entry(pool, text, len, hash);
}

uint32_t tw_pool_intern_cstr(struct tw_pool *pool, const char *text)
{
	return tw_pool_intern(pool, text, strlen(text));
}

uint32_t tw_pool_find(const struct tw_pool *pool, const char *text, size_t len)
{
	return find_text(pool, text, len, (uint32_t)tw_hash_bytes(text, len));
}
