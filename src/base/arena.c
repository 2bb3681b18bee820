#include "base/arena.h"
#include "base/alloc.h"

#include <string.h>

/* Blocks double from one page to 1 MB: small results stay small, large ones need few blocks. */
#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct tw_arena_block {
	struct tw_arena_block *next;
	size_t size; /* of the whole block, this head included */
};

void tw_arena_init(struct tw_arena *arena, const struct trawl_allocator *allocator)
{
	memset(arena, 0, sizeof(*arena));
	arena->allocator = allocator;
}

void tw_arena_release(struct tw_arena *arena)
{
	struct tw_arena_block *block = arena->blocks;

	while (block) {
		struct tw_arena_block *next = block->next;

		tw_free(arena->allocator, block, block->size);
		block = next;
	}
	tw_arena_init(arena, arena->allocator);
}

static struct tw_arena_block *new_block(struct tw_arena *arena, size_t size, bool zeroed)
{
	struct tw_arena_block *block = zeroed ? tw_alloc_array(arena->allocator, 1, size) :
						tw_alloc(arena->allocator, size);

	if (block)
		block->size = size;
	arena->failed |= !block;
	return block;
}

/* A block of its own, put after the current one, whose rest stays in use. */
static void *alloc_alone(struct tw_arena *arena, size_t size, bool zeroed)
{
	struct tw_arena_block *block = new_block(arena, sizeof(*block) + size, zeroed);

	if (!block)
		return NULL;
	if (arena->blocks) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = NULL;
		arena->blocks = block;
	}
	return block + 1;
}

static bool add_block(struct tw_arena *arena)
{
	size_t size = FIRST_BLOCK;
	struct tw_arena_block *block;

	if (arena->blocks) {
		size = arena->blocks->size * 2;
		if (size < FIRST_BLOCK)
			size = FIRST_BLOCK;
		if (size > LARGEST_BLOCK)
			size = LARGEST_BLOCK;
	}
	block = new_block(arena, size, false);
	if (!block)
		return false;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->next = (char *)(block + 1);
	arena->end = (char *)block + size;
	return true;
}

struct tw_arena tw_arena_mark(const struct tw_arena *arena)
{
	struct tw_arena mark = *arena;

	mark.second = arena->blocks ? arena->blocks->next : NULL;
	return mark;
}

static void free_until(struct tw_arena *arena, struct tw_arena_block **list,
		       const struct tw_arena_block *end)
{
	while (*list != end) {
		struct tw_arena_block *block = *list;

		*list = block->next;
		tw_free(arena->allocator, block, block->size);
	}
}

void tw_arena_rewind(struct tw_arena *arena, const struct tw_arena *mark)
{
	free_until(arena, &arena->blocks, mark->blocks);
	if (arena->blocks)
		free_until(arena, &arena->blocks->next, mark->second);
	arena->next = mark->next;
	arena->end = mark->end;
}

static void *alloc(struct tw_arena *arena, size_t size, bool zeroed)
{
	char *at;

	if (size > SIZE_MAX / 2) {
		arena->failed = true;
		return NULL;
	}
	size = size ? (size + 7) & ~(size_t)7 : 8;
	if (size > (size_t)(arena->end - arena->next)) {
		if (size > FIRST_BLOCK / 4)
			return alloc_alone(arena, size, zeroed);
		if (!add_block(arena))
			return NULL;
	}
	at = arena->next;
	arena->next += size;
	return zeroed ? memset(at, 0, size) : at;
}

void *tw_arena_alloc(struct tw_arena *arena, size_t size)
{
	return alloc(arena, size, false);
}

void *tw_arena_array(struct tw_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	return alloc(arena, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, true);
}

char *tw_arena_copy(struct tw_arena *arena, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? tw_arena_alloc(arena, len + 1) : NULL;

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}
