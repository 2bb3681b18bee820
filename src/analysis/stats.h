/*
 * Statistics of integer nanoseconds: sums exactly, moments in double precision in two passes.
 */
#ifndef TW_ANALYSIS_STATS_H
#define TW_ANALYSIS_STATS_H

#include "base/wide.h"

struct tw_stats {
	uint64_t count;
	tw_wide sum;
	int64_t min, max;
	double mean, median;   /* of no values: 0 */
	double std;	       /* sample standard deviation (n - 1); NaN below two values */
	double population_std; /* n */
};

/* Reorders `values`. */
struct tw_stats tw_stats_of(int64_t *values, uint64_t count);

/* Of numbers that are not all known; all NaN when none is. */
struct tw_real_stats {
	uint64_t count; /* known ones */
	double mean, median, std, min, max;
};

/* Reorders `values`, of which NaNs do not count. */
struct tw_real_stats tw_real_stats_of(double *values, uint64_t count);

#endif
