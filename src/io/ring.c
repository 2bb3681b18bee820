#include "io/ring.h"
#include "base/alloc.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* One in use, one being filled, two between them for when both take turns being slow. */
#define LARGE_BLOCKS 4
/* Of small blocks more, or each of them would cost a change of threads. */
#define SMALL_BLOCKS 64
#define SMALL_BLOCK ((size_t)64 << 10)

struct tw_ring {
	const struct trawl_allocator *allocator;
	tw_ring_fill *fill;
	void *context;
	size_t block_size;
	size_t count; /* of blocks */
	char *memory;
	size_t memory_size;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t filled, freed;
	/* Under the mutex: blocks [taken - held, taken - held + used) modulo count are full. */
	size_t used;
	bool stop;
	bool ended;		  /* no more blocks come */
	struct trawl_error error; /* why, unless the last one was `last` */
	/* The caller's alone. */
	size_t taken;
	size_t held; /* 1 while a block is out */
	struct tw_ring_block blocks[SMALL_BLOCKS];
};

/* False when the reader is gone. */
static bool wait_for_room(struct tw_ring *ring)
{
	bool stop;

	pthread_mutex_lock(&ring->mutex);
	while (ring->used == ring->count && !ring->stop)
		pthread_cond_wait(&ring->freed, &ring->mutex);
	stop = ring->stop;
	pthread_mutex_unlock(&ring->mutex);
	return !stop;
}

static void *run(void *arg)
{
	struct tw_ring *ring = arg;
	bool ended = false;
	size_t i;

	for (i = 0; !ended && wait_for_room(ring); i++) {
		struct tw_ring_block *block = &ring->blocks[i % ring->count];
		struct trawl_error error = { 0 };
		int status = ring->fill(ring->context, block, ring->block_size, &error);

		ended = status || block->last;
		pthread_mutex_lock(&ring->mutex);
		if (status)
			ring->error = error;
		else
			ring->used++;
		ring->ended = ended;
		if (ring->used <= 1 || ended)
			pthread_cond_signal(&ring->filled);
		pthread_mutex_unlock(&ring->mutex);
	}
	return NULL;
}

char *tw_ring_next_data(const struct tw_ring *ring)
{
	return ring->blocks[ring->taken % ring->count].data;
}

int tw_ring_take(struct tw_ring *ring, struct tw_ring_block **block, struct trawl_error *err)
{
	bool there;

	pthread_mutex_lock(&ring->mutex);
	if (ring->held) {
		ring->held = 0;
		ring->used--;
		/* The thread is woken for half a ring of work at a time. */
		if (ring->used <= ring->count / 2)
			pthread_cond_signal(&ring->freed);
	}
	while (!ring->used && !ring->ended)
		pthread_cond_wait(&ring->filled, &ring->mutex);
	there = ring->used > 0;
	pthread_mutex_unlock(&ring->mutex);
	if (!there) {
		if (err)
			*err = ring->error;
		return ring->error.status;
	}
	*block = &ring->blocks[ring->taken % ring->count];
	ring->taken++;
	ring->held = 1;
	return 0;
}

static void ring_free(struct tw_ring *ring)
{
	tw_free(ring->allocator, ring->memory, ring->memory_size);
	tw_free(ring->allocator, ring, sizeof(*ring));
}

static void destroy_locks(struct tw_ring *ring)
{
	pthread_cond_destroy(&ring->freed);
	pthread_cond_destroy(&ring->filled);
	pthread_mutex_destroy(&ring->mutex);
}

void tw_ring_stop(struct tw_ring *ring)
{
	pthread_mutex_lock(&ring->mutex);
	ring->stop = true;
	pthread_cond_signal(&ring->freed);
	pthread_mutex_unlock(&ring->mutex);
	pthread_join(ring->thread, NULL);
	destroy_locks(ring);
	ring_free(ring);
}

/* All blocks are one piece of memory: large enough for huge pages. */
static struct tw_ring *ring_new(const struct trawl_allocator *allocator, size_t block_size,
				size_t head_room)
{
	struct tw_ring *ring = tw_alloc(allocator, sizeof(*ring));
	size_t stride, i;

	if (!ring)
		return NULL;
	memset(ring, 0, sizeof(*ring));
	ring->allocator = allocator;
	ring->block_size = block_size;
	ring->count = block_size < SMALL_BLOCK ? SMALL_BLOCKS : LARGE_BLOCKS;
	if (__builtin_add_overflow(block_size, head_room + TW_FEED_SENTINEL + 63, &stride))
		goto fail;
	stride &= ~(size_t)63;
	if (__builtin_mul_overflow(stride, ring->count, &ring->memory_size))
		goto fail;
	ring->memory = tw_alloc(allocator, ring->memory_size);
	if (!ring->memory)
		goto fail;
	for (i = 0; i < ring->count; i++)
		ring->blocks[i].data = ring->memory + i * stride + head_room;
	return ring;
fail:
	ring_free(ring);
	return NULL;
}

/* Signals are for the threads of who uses the library; faults stay with who caused them. */
static int start_thread(struct tw_ring *ring)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF };
	sigset_t blocked, before;
	size_t i;
	int failed;

	sigfillset(&blocked);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	failed = pthread_create(&ring->thread, NULL, run, ring);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

int tw_ring_start(struct tw_ring **out, const struct trawl_allocator *allocator, size_t block_size,
		  size_t head_room, tw_ring_fill *fill, void *context, struct trawl_error *err)
{
	struct tw_ring *ring = ring_new(allocator, block_size, head_room);

	if (!ring)
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory for read buffers");
	ring->fill = fill;
	ring->context = context;
	pthread_mutex_init(&ring->mutex, NULL);
	pthread_cond_init(&ring->filled, NULL);
	pthread_cond_init(&ring->freed, NULL);
	if (start_thread(ring)) {
		destroy_locks(ring);
		ring_free(ring);
		return trawl_error_set(err, TRAWL_ELIMIT, "cannot start a thread");
	}
	*out = ring;
	return 0;
}
