#include "failing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The size lies in front of the block, 16 bytes so that the block stays aligned. */
#define HEAD 16

/* Traces are joined by several threads, and all of them count here. */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static size_t stored_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - HEAD, sizeof(size));
	return size;
}

static void *resize_and_count(struct failing *failing, void *block, size_t old_size, size_t size)
{
	char *grown;

	if (block && stored_size(block) != old_size)
		failing->wrong_size = true;
	if (failing->left == 0) {
		failing->failed = true;
		return NULL;
	}
	if (failing->left > 0)
		failing->left--;
	grown = realloc(block ? (char *)block - HEAD : NULL, size + HEAD);
	if (!grown)
		abort();
	memcpy(grown, &size, sizeof(size));
	failing->live_blocks += block ? 0 : 1;
	failing->live_bytes += (long)size - (block ? (long)old_size : 0);
	return grown + HEAD;
}

static void *failing_realloc(void *context, void *block, size_t old_size, size_t size)
{
	void *grown;

	pthread_mutex_lock(&counting);
	grown = resize_and_count(context, block, old_size, size);
	pthread_mutex_unlock(&counting);
	return grown;
}

static void failing_free(void *context, void *block, size_t size)
{
	struct failing *failing = context;

	if (!block)
		return;
	pthread_mutex_lock(&counting);
	if (stored_size(block) != size)
		failing->wrong_size = true;
	failing->live_blocks--;
	failing->live_bytes -= (long)size;
	pthread_mutex_unlock(&counting);
	free((char *)block - HEAD);
}

void failing_init(struct failing *failing, long allocations)
{
	memset(failing, 0, sizeof(*failing));
	failing->allocator.realloc = failing_realloc;
	failing->allocator.free = failing_free;
	failing->allocator.context = failing;
	failing->left = allocations;
}
