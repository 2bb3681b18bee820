#include "base/reuse.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

/* Smaller blocks are not worth the search. */
#define SMALLEST_KEPT ((size_t)1 << 20)
#define MAX_KEPT 64

struct block {
	char *ptr; /* NULL: slot free */
	size_t capacity;
	bool used;
};

struct tw_reuse {
	const struct trawl_allocator *inner;
	struct trawl_allocator outer;
	pthread_mutex_t lock;
	struct block blocks[MAX_KEPT];
};

static struct block *find_block(struct tw_reuse *reuse, const void *ptr)
{
	size_t i;

	for (i = 0; ptr && i < MAX_KEPT; i++)
		if (reuse->blocks[i].ptr == ptr)
			return &reuse->blocks[i];
	return NULL;
}

/* The smallest block at hand that is large enough, but not by far. */
static struct block *best_fit(struct tw_reuse *reuse, size_t size)
{
	struct block *best = NULL;
	size_t i;

	for (i = 0; i < MAX_KEPT; i++) {
		struct block *block = &reuse->blocks[i];

		if (block->ptr && !block->used && block->capacity >= size &&
		    block->capacity / 8 <= size && (!best || block->capacity < best->capacity))
			best = block;
	}
	return best;
}

static struct block *free_slot(struct tw_reuse *reuse)
{
	size_t i;

	for (i = 0; i < MAX_KEPT; i++)
		if (!reuse->blocks[i].ptr)
			return &reuse->blocks[i];
	return NULL;
}

/* Gives back what a block has beyond `size` bytes, where that is much. */
static void trim(struct tw_reuse *reuse, struct block *block, size_t size)
{
	void *moved;

	if (block->capacity - size < SMALLEST_KEPT)
		return;
	moved = tw_realloc(reuse->inner, block->ptr, block->capacity, size);
	if (moved) {
		block->ptr = moved;
		block->capacity = size;
	}
}

static void *take(struct tw_reuse *reuse, size_t size)
{
	struct block *block = best_fit(reuse, size);
	void *ptr;

	if (block) {
		block->used = true;
		trim(reuse, block, size);
		return block->ptr;
	}
	ptr = tw_alloc(reuse->inner, size);
	block = ptr ? free_slot(reuse) : NULL;
	if (block)
		*block = (struct block){ ptr, size, true };
	return ptr;
}

/* Takes a block out of the table's care when it shrinks below what is kept. */
static void *resize(struct tw_reuse *reuse, struct block *block, size_t old_size, size_t size)
{
	void *moved;

	if (size <= block->capacity && size >= SMALLEST_KEPT) {
		trim(reuse, block, size);
		return block->ptr;
	}
	if (size < SMALLEST_KEPT) {
		moved = tw_alloc(reuse->inner, size);
		if (moved) {
			memcpy(moved, block->ptr, old_size < size ? old_size : size);
			block->used = false;
		}
		return moved;
	}
	moved = tw_realloc(reuse->inner, block->ptr, block->capacity, size);
	if (moved) {
		block->ptr = moved;
		block->capacity = size;
	}
	return moved;
}

static void *reuse_realloc(void *context, void *ptr, size_t old_size, size_t size)
{
	struct tw_reuse *reuse = context;
	struct block *block;
	void *result;

	if (old_size < SMALLEST_KEPT && size < SMALLEST_KEPT)
		return tw_realloc(reuse->inner, ptr, old_size, size);
	pthread_mutex_lock(&reuse->lock);
	block = old_size >= SMALLEST_KEPT ? find_block(reuse, ptr) : NULL;
	if (block) {
		result = resize(reuse, block, old_size, size);
	} else if (ptr && (old_size >= SMALLEST_KEPT || size < SMALLEST_KEPT)) {
		result = tw_realloc(reuse->inner, ptr, old_size, size);
	} else {
		result = take(reuse, size);
		if (result && ptr) {
			memcpy(result, ptr, old_size);
			tw_free(reuse->inner, ptr, old_size);
		}
	}
	pthread_mutex_unlock(&reuse->lock);
	return result;
}

static void reuse_free(void *context, void *ptr, size_t size)
{
	struct tw_reuse *reuse = context;
	struct block *block = NULL;

	if (size >= SMALLEST_KEPT) {
		pthread_mutex_lock(&reuse->lock);
		block = find_block(reuse, ptr);
		if (block)
			block->used = false;
		pthread_mutex_unlock(&reuse->lock);
	}
	if (!block)
		tw_free(reuse->inner, ptr, size);
}

struct tw_reuse *tw_reuse_new(const struct trawl_allocator *inner)
{
	struct tw_reuse *reuse = tw_alloc_array(inner, 1, sizeof(*reuse));

	if (!reuse)
		return NULL;
	reuse->inner = inner;
	reuse->outer = (struct trawl_allocator){ reuse_realloc, reuse_free, reuse };
	pthread_mutex_init(&reuse->lock, NULL);
	return reuse;
}

void tw_reuse_free(struct tw_reuse *reuse)
{
	size_t i;

	if (!reuse)
		return;
	for (i = 0; i < MAX_KEPT; i++)
		tw_free(reuse->inner, reuse->blocks[i].ptr, reuse->blocks[i].capacity);
	pthread_mutex_destroy(&reuse->lock);
	tw_free(reuse->inner, reuse, sizeof(*reuse));
}

const struct trawl_allocator *tw_reuse_allocator(struct tw_reuse *reuse)
{
	return &reuse->outer;
}
