/*
 * Wait caused by each rank of a job, over all collectives that end together (tw_visit_waits()), and
 * the propagated part: a rank is late because it waited for others itself.
 */
#ifndef TW_JOB_COLLECTIVES_LATENESS_H
#define TW_JOB_COLLECTIVES_LATENESS_H

#include "job/collectives/syncing.h"

struct tw_late_rank {
	tw_wide caused_ns;	/* others waited for it, over all others */
	tw_wide passed_ns;	/* of that: what it propagated */
	tw_wide wait_ns;	/* it waited for others */
	int64_t caused_most_ns; /* the longest that another waited for it */
	uint64_t last;		/* collectives it came last in */
	uint64_t passed;	/* of those: the ones in which it propagated more than half */
	uint64_t count;		/* collectives it took part in */
};

struct tw_lateness {
	struct tw_late_rank *of; /* by index of job->ranks */
	size_t ranks;
	tw_wide wait_ns, dur_ns; /* of all ranks: waiting, and time of the kernels */
	uint64_t count;		 /* collectives */
	uint64_t unsound;	 /* skipped collectives */
	tw_wide median2_ns;	 /* twice the median computing time of ranks with GPU work */
};

/* 0 or TRAWL_ENOMEM.  Memory is that of in->allocator, and given back with it. */
int tw_lateness_build(struct tw_lateness *lateness,
		      const struct tw_ranks_input *in) TRAWL_MUST_CHECK;

#endif
