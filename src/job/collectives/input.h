/* What tables over the ranks of a job are made from. */
#ifndef TW_JOB_COLLECTIVES_INPUT_H
#define TW_JOB_COLLECTIVES_INPUT_H

#include "job/clocks/clocks.h"

struct tw_ranks_input {
	const struct trawl_job *job;
	const struct tw_matches *matches; /* NULL: not asked for */
	const struct tw_clocks *clocks;
	const struct trawl_allocator *allocator;
	/* Table `findings`, of which gains are of a step or of the window; NULL: not made. */
	const struct trawl_table *findings;
	bool of_step;
};

#endif
