/*
 * Statistics of integer nanoseconds: sums exactly, moments in double precision in two passes.
 */
#ifndef TW_ANALYSIS_STATS_H
#define TW_ANALYSIS_STATS_H

#include "base/median.h"

/*
 * The spread of values: this many ten-thousandths of their median absolute deviation from the
 * median.  1.4826 makes it the standard deviation where they are normally distributed, and one odd
 * value does not move it.  Source: Rousseeuw and Croux, Alternatives to the Median Absolute
 * Deviation, 1993.
 */
#define TW_SPREAD_PER_10000 14826

struct tw_stats {
	uint64_t count;
	tw_wide sum;
	int64_t min, max;
	struct tw_middle middle;
	double mean, median;   /* of no values: 0 */
	double std;	       /* sample standard deviation (n - 1); NaN below two values */
	double population_std; /* n */
};

/* Reorders `values`. */
struct tw_stats tw_stats_of(int64_t *values, uint64_t count);

/* Of numbers that are not integers; all NaN when there is none. */
struct tw_real_stats {
	double mean, median, std, min, max;
};

/* Of those that are not NaN.  Reorders `values`. */
struct tw_real_stats tw_real_stats_of(double *values, uint64_t count);
/* Of 1 / value, for values above 0; others do not count.  Reorders `values`. */
struct tw_real_stats tw_rate_stats_of(int64_t *values, uint64_t count);
/* Of the same numbers times a factor that is not negative, or NaN. */
struct tw_real_stats tw_scaled(const struct tw_real_stats *stats, double factor);

#endif
