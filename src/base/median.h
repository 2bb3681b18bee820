/* The k-th smallest of some values, and the middle of them: the only ones of the program. */
#ifndef TW_BASE_MEDIAN_H
#define TW_BASE_MEDIAN_H

#include "base/wide.h"

/* The k-th smallest value, of `count` above k; it is at values[k] then, smaller ones before it. */
int64_t tw_nth_value(int64_t *values, size_t count, size_t k);

/* The two values in the middle, of an odd number twice the same; of no values 0.  Reorders them. */
struct tw_middle {
	int64_t lower, upper;
};
struct tw_middle tw_middle_of(int64_t *values, size_t count);
/* Their sum. */
tw_wide tw_twice_the_median(int64_t *values, size_t count);

/* The mean of the two in the middle, NaN of no values.  Sorts them; the second takes them sorted. */
double tw_real_median(double *values, size_t count);
double tw_sorted_median(const double *values, size_t count);

#endif
