/* Forward operations and their backward, by sequence number. */
#ifndef TW_DERIVE_AUTOGRAD_H
#define TW_DERIVE_AUTOGRAD_H

#include "trawl/api.h"

struct tw_derived;

struct tw_autograd_pair {
	int64_t sequence;
	uint32_t forward, backward; /* host nodes */
};

struct tw_autograd {
	const struct trawl_allocator *allocator;
	struct tw_autograd_pair *pairs; /* in order of sequence number */
	uint64_t count, capacity;
	uint8_t *engine; /* by text id: 1: the name of a call of the engine */
	uint64_t text_count;
};

/*
 * One pair a sequence number: the first `autograd::engine::evaluate_function: ...` with it, and
 * the last other operation with it that starts before, on another thread if there is one.
 * Numbers below 0 and above INT64_MAX mean none.  Source: TraceLens' links, without their limit
 * to backward passes on a separate thread.
 */
int tw_autograd_build(struct tw_autograd *autograd,
		      const struct tw_derived *derived) TRAWL_MUST_CHECK;
void tw_autograd_release(struct tw_autograd *autograd);

#endif
