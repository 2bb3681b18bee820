/*
 * One pass over the frames and host nodes of each thread, both in the order of the call tree
 * (derive/host.c) and merged by the rule of that tree: an event lies in the innermost one that holds it
 * whole.  Each begins with what is known of the one around it.
 *
 * Frames are what lies around operators and calls and has a name that the program's author knows: python
 * functions, of exports of Nsight Systems NVTX ranges.
 */
#ifndef TW_ANALYSIS_WHO_SWEEP_H
#define TW_ANALYSIS_WHO_SWEEP_H

#include "derive/derived.h"

/* What is known of an open event: numbers of its caller, 0 outside of all events. */
struct tw_around {
	uint32_t path, site, scope;
};

struct tw_sweep {
	const struct tw_derived *derived;
	const struct trawl_allocator *allocator; /* of a scope */
	void *context;
	/* Each is given what is around it and may change it for itself and what is in it; 0 or -1. */
	int (*frame)(void *context, struct tw_around *around, uint32_t event);
	int (*node)(void *context, struct tw_around *around, uint32_t node);
};

/* Whether a trace has frames. */
bool tw_has_frames(const struct trawl_trace *trace);

int tw_sweep_run(const struct tw_sweep *sweep) TRAWL_MUST_CHECK;

#endif
