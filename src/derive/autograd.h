/*
 * Forward operations and their backward, by sequence number; recomputation under activation
 * checkpointing; the modules around an operation.
 */
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

/*
 * Marks (1) every host node that is part of a recomputed forward pass: below a python function
 * of torch/utils/checkpoint.py named recompute_fn.  `marks` has a byte for every host node; the
 * tree must have python functions (tw_derive_options.python).
 */
void tw_recompute_mark(const struct tw_derived *derived, uint8_t *marks);

/*
 * The python modules around a host node, outermost first: text ids of "nn.Module: ..." names.
 * At most `most` are stored, the innermost ones; returns their number.  Needs python functions.
 */
size_t tw_module_stack(const struct tw_derived *derived, uint64_t node, uint32_t *names,
		       size_t most);

#endif
