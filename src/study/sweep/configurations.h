/*
 * The configurations of a sweep side by side: the GPU's time in each, which is the best, by how
 * much, and what it trades for that.
 */
#ifndef TW_STUDY_SWEEP_CONFIGURATIONS_H
#define TW_STUDY_SWEEP_CONFIGURATIONS_H

#include "job/set/job.h"
#include "job/tables/tables.h"
#include "table/table.h"

struct tw_configuration {
	const char *name; /* "256thread_28ch", borrowed */
	int64_t threads, channels;
	const char *ended;     /* how its run ended, NULL: well, or not told; borrowed */
	const char *straggler; /* ranks that the others wait for, "2", NULL: none; borrowed */
	const struct trawl_table *findings; /* what limits it; NULL: not known; borrowed */
	bool gains_of_step;		    /* else of the window */
	size_t ranks;	/* that count: with GPU work, and whole, where any are */
	size_t damaged; /* that do not count, since parts of their traces are lost */
	double part_ms[TW_TIMELINE_PARTS]; /* median over the ranks, NaN without any */
	double spread_ms;		   /* of the total time over the ranks, NaN below two */
	int64_t steps;		   /* that each of its ranks shows, -1: not told, or unlike */
	double gemm_difference_us; /* mean of the variance rows, NaN: none */
	size_t gemm_rows,
		gemm_blocked; /* rows, and those with over half their time in collectives */
};

/* Of the ranks of a job; name, threads, channels, how it ended and the figures of GEMMs stay the
 * caller's. */
int tw_configuration_of(struct tw_configuration *out, const struct trawl_job *job,
			const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* The best first, then others, those whose runs failed and those without ranks; NULL: no memory. */
struct trawl_table *tw_configurations_table(const struct tw_configuration *list, size_t count,
					    const struct trawl_allocator *allocator);

/* What limits each, in that order, behind its name; NULL: no memory. */
struct trawl_table *tw_configurations_findings(const struct tw_configuration *list, size_t count,
					       const struct trawl_allocator *allocator);

/*
 * The answer in sentences, one a line: what does not count, the best configuration, by how much,
 * whether that is more than noise, what it trades, what limits it.  Where all tell their steps and these differ, by
 * the time of a step.  Nothing when no configuration has GPU work.
 */
void tw_configurations_answer(const struct tw_configuration *list, size_t count,
			      struct tw_str *out);

#endif
