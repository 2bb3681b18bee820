/* How a set of numbers is spread, as box plots and violins show it. */
#ifndef TW_BASE_DISTRIBUTION_H
#define TW_BASE_DISTRIBUTION_H

#include "trawl/api.h"

struct tw_distribution {
	size_t count;
	double mean, median;
	double low, high; /* quartiles, interpolated between the two values next to them */
	/* Whiskers: the last values within 1.5 x (high - low) of the quartiles. */
	double low_whisker, high_whisker;
	double min, max;
};

/* Of finite numbers, at least one, which it puts in order. */
struct tw_distribution tw_distribution_of(double *values, size_t count);

/*
 * Kernel density at `points` (at least 2) equally spaced places from the least to the greatest
 * value: Gaussian, its width by Scott's rule, scaled so that the greatest is 1.  The values are in
 * order.  False, and nothing set, when they do not differ.
 */
bool tw_density(const double *values, size_t count, double *density, size_t points);

#endif
