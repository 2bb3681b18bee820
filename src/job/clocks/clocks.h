/*
 * What the clocks of ranks are off, from the ends of matched collectives: those end on all ranks
 * within microseconds, so the ends' differences that stay the same are the clocks'.
 */
#ifndef TW_JOB_CLOCKS_CLOCKS_H
#define TW_JOB_CLOCKS_CLOCKS_H

#include "job/match/match.h"

struct tw_clock {
	bool known;	   /* offset measured (or the reference) */
	int64_t offset_ns; /* clock of this rank less that of the reference, base times added */
	int64_t uncertainty_ns; /* the true offset lies within offset +- uncertainty */
	uint64_t samples;	/* collectives that it is measured from */
	bool suspect;		/* ranks of its host agree on another offset: of another time? */
	double drift_ppm;	/* change of the offset over time, NaN: not measurable */
	/*
	 * Index of the rank whose clock it is measured against: tw_clocks.reference, or the lowest
	 * rank that it shares collectives with, over others, where it shares none with that one.
	 */
	uint32_t reference;
};

struct tw_clocks {
	const struct trawl_allocator *allocator;
	enum trawl_align align; /* what is applied, never AUTO */
	bool differ;		/* ends say that clocks differ by more than their uncertainty */
	bool based;		/* base times are applied */
	uint32_t reference;	/* index of job->ranks: the lowest rank */
	struct tw_clock *of;	/* by index of job->ranks */
	uint32_t count;		/* of ranks */
	/*
	 * By index of job->ranks: add to a time of the trace; 0 with NONE.  An offset within its
	 * uncertainty is not applied: it may as well be none.
	 */
	int64_t *shift_ns;
};

/* 0 or TRAWL_ENOMEM. */
int tw_clocks_measure(struct tw_clocks *clocks, const struct trawl_job *job,
		      const struct tw_matches *matches, enum trawl_align asked,
		      const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_clocks_release(struct tw_clocks *clocks);

#endif
