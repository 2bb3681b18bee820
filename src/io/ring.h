/*
 * Ring: blocks that a thread of its own fills while the caller uses an earlier one.  Each block
 * has head room in front, which the thread never touches: bytes kept from the block before are
 * put there, so that text goes on without a gap and without copying the block.
 */
#ifndef TW_IO_RING_H
#define TW_IO_RING_H

#include "io/feed.h"

struct tw_ring_block {
	char *data; /* head room before it, TW_FEED_SENTINEL bytes of room after */
	size_t len;
	bool last;
	struct tw_feed_note notes[TW_FEED_NOTE_KINDS]; /* as they stood when it was full */
};

/* Fills in len, last and notes.  Runs in the ring's thread; a failure ends it. */
typedef int tw_ring_fill(void *context, struct tw_ring_block *block, size_t size,
			 struct trawl_error *err);

struct tw_ring;

/* TRAWL_ENOMEM, or TRAWL_ELIMIT when there is no thread to be had. */
int tw_ring_start(struct tw_ring **out, const struct trawl_allocator *allocator, size_t block_size,
		  size_t head_room, tw_ring_fill *fill, void *context,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

/* The head room of the block that comes next may be written before it is taken. */
char *tw_ring_next_data(const struct tw_ring *ring);
/* Waits for it, and gives back the block taken before.  Not to be asked for more after `last`. */
int tw_ring_take(struct tw_ring *ring, struct tw_ring_block **block,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/* Waits for the thread: the caller first makes sure that its fill ends soon. */
void tw_ring_stop(struct tw_ring *ring);

#endif
