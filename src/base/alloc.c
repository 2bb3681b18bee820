/*
 * The default allocator.  Columns of a trace are large and grow many times; fresh 4 kB pages
 * cost more than parsing the text that fills them, so large blocks are mapped with huge pages
 * and grown by moving page tables (mremap) instead of bytes.  Under the address sanitizer every
 * block comes from malloc, so that overruns are seen.
 */
#define _GNU_SOURCE
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define MAP_LARGE_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MAP_LARGE_BLOCKS 0
#endif
#endif
#if !defined(MAP_LARGE_BLOCKS)
#if defined(__linux__)
#define MAP_LARGE_BLOCKS 1
#else
#define MAP_LARGE_BLOCKS 0
#endif
#endif

#if MAP_LARGE_BLOCKS
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Below half a huge page mapping one costs more than it saves. */
#define LARGE_BLOCK (HUGE_PAGE / 2)

/* A multiple of any other page's size. */
#define PAGE ((size_t)64 << 10)

/* What lies after the last whole huge page has small ones: only those that are touched count. */
static size_t mapped_size(size_t size)
{
	size_t unit = size < HUGE_PAGE ? HUGE_PAGE : PAGE;

	return (size + unit - 1) & ~(unit - 1);
}

static void *map_block(size_t size)
{
	size_t want = mapped_size(size);
	char *raw, *block;

	if (want < size || want + HUGE_PAGE < want)
		return NULL;
	/* Aligned to a huge page: map one more, give back what sticks out. */
	raw = mmap(NULL, want + HUGE_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		return NULL;
	block = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	if (block > raw)
		munmap(raw, (size_t)(block - raw));
	munmap(block + want, (size_t)(raw + HUGE_PAGE - block));
	madvise(block, want, MADV_HUGEPAGE);
	return block;
}

static void *remap_block(void *block, size_t old_size, size_t size)
{
	void *moved;

	if (mapped_size(old_size) == mapped_size(size))
		return block;
	/* In place first: a move to an unaligned address would split the huge pages. */
	moved = mremap(block, mapped_size(old_size), mapped_size(size), 0);
	if (moved == MAP_FAILED) {
		char *target = map_block(size);

		if (!target)
			return NULL;
		moved = mremap(block, mapped_size(old_size), mapped_size(old_size),
			       MREMAP_MAYMOVE | MREMAP_FIXED, target);
		if (moved == MAP_FAILED) {
			munmap(target, mapped_size(size));
			return NULL;
		}
	}
	madvise(moved, mapped_size(size), MADV_HUGEPAGE);
	return moved;
}
#endif

static void default_free(void *context, void *block, size_t size)
{
	(void)context;
#if MAP_LARGE_BLOCKS
	if (block && size >= LARGE_BLOCK) {
		munmap(block, mapped_size(size));
		return;
	}
#else
	(void)size;
#endif
	free(block);
}

static void *default_realloc(void *context, void *block, size_t old_size, size_t size)
{
	if (size == 0)
		size = 1;
#if MAP_LARGE_BLOCKS
	if (block && old_size >= LARGE_BLOCK && size >= LARGE_BLOCK)
		return remap_block(block, old_size, size);
	if (old_size >= LARGE_BLOCK || size >= LARGE_BLOCK) {
		void *fresh = size >= LARGE_BLOCK ? map_block(size) : malloc(size);

		if (fresh && block) {
			memcpy(fresh, block, old_size < size ? old_size : size);
			default_free(context, block, old_size);
		}
		return fresh;
	}
#else
	(void)old_size;
#endif
	(void)context;
	return realloc(block, size);
}

/* Fresh mappings are zero already, malloc's own too; touching them would cost. */
static void *default_zeroed(size_t size)
{
#if MAP_LARGE_BLOCKS
	if (size >= LARGE_BLOCK)
		return map_block(size);
#endif
	return calloc(1, size ? size : 1);
}

const struct trawl_allocator *trawl_allocator_default(void)
{
	static const struct trawl_allocator allocator = { default_realloc, default_free, NULL };

	return &allocator;
}

void *tw_alloc_array(const struct trawl_allocator *a, size_t count, size_t size)
{
	size_t bytes;
	void *block;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	if (a == trawl_allocator_default())
		return default_zeroed(bytes);
	block = tw_alloc(a, bytes);
	if (block)
		memset(block, 0, bytes);
	return block;
}

int tw_no_memory(struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
}
