/*
 * The forward operation of each backward one: by the arrow between them; else the one with its sequence
 * number on the thread that its "Fwd thread id" stands for, of several the last to start before it.
 */
#ifndef TW_ANALYSIS_WHO_FORWARD_OF_H
#define TW_ANALYSIS_WHO_FORWARD_OF_H

#include "analysis/groups.h"
#include "derive/derived.h"

/* A backward operation; in the order of the nodes. */
struct tw_backward_op {
	uint32_t node;
	int64_t sequence;	/* -1: none */
	int64_t forward_thread; /* as the engine numbers threads; INT64_MAX: not recorded */
	uint32_t forward;	/* host node, TW_NONE: not known */
};

/* Sequence number of a node, -1: none; *recorded: it has one, valid or not. */
int64_t tw_sequence_of(const struct tw_derived *derived, uint32_t node, bool *recorded);

/* Sets .forward of all.  What it takes is left to the allocator's scope; 0 or -1. */
int tw_find_forward(const struct tw_derived *derived, struct tw_backward_op *ops, uint32_t count,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
