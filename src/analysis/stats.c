#include "analysis/stats.h"

#include <math.h>
#include <stdlib.h>

struct tw_stats tw_stats_of(int64_t *values, uint64_t count)
{
	struct tw_stats s = { .count = count, .std = NAN, .population_std = NAN };
	double squares = 0, rest = 0;
	uint64_t i;

	if (!count)
		return s;
	s.min = s.max = values[0];
	for (i = 0; i < count; i++) {
		s.sum += values[i];
		if (values[i] < s.min)
			s.min = values[i];
		if (values[i] > s.max)
			s.max = values[i];
	}
	s.mean = (double)s.sum / (double)count;
	s.middle = tw_middle_of(values, count);
	s.median = ((double)s.middle.lower + (double)s.middle.upper) / 2;
	for (i = 0; i < count; i++) {
		double difference = (double)values[i] - s.mean;

		squares += difference * difference;
		/* What rounding left of the mean; it takes the bias out of the squares. */
		rest += difference;
	}
	squares -= rest * rest / (double)count;
	if (squares < 0)
		squares = 0;
	s.population_std = sqrt(squares / (double)count);
	if (count > 1)
		s.std = sqrt(squares / (double)(count - 1));
	return s;
}

struct tw_real_stats tw_rate_stats_of(int64_t *values, uint64_t count)
{
	struct tw_real_stats s = { NAN, NAN, NAN, NAN, NAN };
	double sum = 0, squares = 0;
	struct tw_stats times;
	uint64_t i, n = 0;

	for (i = 0; i < count; i++)
		if (values[i] > 0)
			values[n++] = values[i];
	if (!n)
		return s;
	times = tw_stats_of(values, n);
	for (i = 0; i < n; i++)
		sum += 1 / (double)values[i];
	s.mean = sum / (double)n;
	s.median = (1 / (double)times.middle.lower + 1 / (double)times.middle.upper) / 2;
	s.min = 1 / (double)times.max;
	s.max = 1 / (double)times.min;
	for (i = 0; i < n; i++) {
		double difference = 1 / (double)values[i] - s.mean;

		squares += difference * difference;
	}
	if (n > 1)
		s.std = sqrt(squares / (double)(n - 1));
	return s;
}

struct tw_real_stats tw_scaled(const struct tw_real_stats *s, double factor)
{
	return (struct tw_real_stats){ s->mean * factor, s->median * factor, s->std * factor,
				       s->min * factor, s->max * factor };
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct tw_real_stats tw_real_stats_of(double *values, uint64_t count)
{
	struct tw_real_stats s = { NAN, NAN, NAN, NAN, NAN };
	double sum = 0, squares = 0;
	uint64_t i, n = 0;

	for (i = 0; i < count; i++)
		if (!isnan(values[i]))
			values[n++] = values[i];
	if (!n)
		return s;
	qsort(values, n, sizeof(*values), compare_reals);
	for (i = 0; i < n; i++)
		sum += values[i];
	s.mean = sum / (double)n;
	s.median = tw_sorted_median(values, n);
	s.min = values[0];
	s.max = values[n - 1];
	for (i = 0; i < n; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (n > 1)
		s.std = sqrt(squares / (double)(n - 1));
	return s;
}
