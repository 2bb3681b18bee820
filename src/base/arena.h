/*
 * Arena: many small blocks with one lifetime.  Memory is given back all at once by _release.
 * Blocks are aligned to 8 bytes.  Not for several threads.
 */
#ifndef TW_BASE_ARENA_H
#define TW_BASE_ARENA_H

#include "trawl/api.h"

struct tw_arena_block;

struct tw_arena {
	const struct trawl_allocator *allocator;
	struct tw_arena_block *blocks;
	struct tw_arena_block *second; /* of a mark: the block after the first at that time */
	char *next;
	char *end;
	bool failed; /* out of memory, sticky */
};

void tw_arena_init(struct tw_arena *arena, const struct trawl_allocator *allocator);
void tw_arena_release(struct tw_arena *arena);
/* NULL when out of memory; not zeroed. */
void *tw_arena_alloc(struct tw_arena *arena, size_t size);
/* count x size zeroed bytes; NULL when out of memory. */
void *tw_arena_array(struct tw_arena *arena, size_t count, size_t size);
/* The arena as it is; _rewind gives back what was allocated since. */
struct tw_arena tw_arena_mark(const struct tw_arena *arena);
void tw_arena_rewind(struct tw_arena *arena, const struct tw_arena *mark);
/* A copy of len bytes with a NUL after them, NULL when out of memory. */
char *tw_arena_copy(struct tw_arena *arena, const char *text, size_t len);

#endif
