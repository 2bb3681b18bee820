/*
 * When GPU work was launched: in which step of the profiler, and in which step of an inference server.
 * Made once per report, then read-only.
 */
#ifndef TW_DERIVE_WHEN_H
#define TW_DERIVE_WHEN_H

#include "data/phases.h"
#include "derive/derived.h"
#include "derive/spans.h"
#include "derive/view_names.h"

struct tw_when {
	const struct trawl_trace *trace;
	struct tw_spans steps;		/* tw_spans_of_steps() */
	struct tw_spans served;		/* the outermost annotations that data/phases.tsv knows */
	struct tw_served_step *serving; /* by span of those: what its name says */
	/* By GPU event: the span that its launch call starts in, TW_NONE: none; NULL without spans. */
	uint32_t *step, *phase;
};

/* What it takes is left to the allocator's scope.  0 or -1. */
int tw_when_build(struct tw_when *when, const struct tw_derived *derived,
		  const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* The number N of ProfilerStep#N that a GPU event was launched in, -1: in none. */
static inline int64_t tw_when_step(const struct tw_when *w, uint64_t g)
{
	return w->step && w->step[g] != TW_NONE ?
		       tw_step_of(w->trace, w->steps.items[w->step[g]].event) :
		       -1;
}

/* Its phase, TW_PHASES: none; tw_phase_names[] has their names. */
static inline enum tw_phase tw_when_phase(const struct tw_when *w, uint64_t g)
{
	return w->phase && w->phase[g] != TW_NONE ? w->serving[w->phase[g]].phase : TW_PHASES;
}

#endif
