/*
 * Runs all ranks of a job in lock step and writes their traces. A file is made
 * of stretches of steps; each stretch is simulated once for every group of
 * events, so that the groups stand together as in a profiler's file while
 * memory stays that of a single step.
 */
#ifndef GEN_JOB_H
#define GEN_JOB_H

#include "model.h"

struct straggler {
	int rank;
	double factor; /* of the length of its computation */
};

struct job_options {
	const char *out;
	const char *truth;   /* NULL for none */
	const char *capture; /* for tracegen */
	const char *suffix;  /* of files of ranks */
	uint64_t seed;
	int64_t steps;
	int64_t size; /* bytes, 0 for as many as the steps make */
	int ranks;
	bool equal_ids; /* ranks count correlation ids from the same number */
	int64_t clock_skew_us;
	int64_t run_ahead_us; /* the GPU starts so much later than it could */
	struct straggler stragglers[16];
	int n_stragglers;
};

void job_run(const struct model *m, const struct job_options *opt);

#endif
