#include "analysis/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Short lists are the rule: operations of one signature. */
static void sort_values(int64_t *values, uint64_t count)
{
	uint64_t i, j;

	if (count > 32) {
		qsort(values, count, sizeof(*values), compare);
		return;
	}
	for (i = 1; i < count; i++) {
		int64_t value = values[i];

		for (j = i; j && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
}

struct tw_stats tw_stats_of(int64_t *values, uint64_t count)
{
	struct tw_stats s = { .count = count, .std = NAN, .population_std = NAN };
	double squares = 0, rest = 0;
	uint64_t i;

	if (!count)
		return s;
	sort_values(values, count);
	for (i = 0; i < count; i++)
		s.sum += values[i];
	s.min = values[0];
	s.max = values[count - 1];
	s.mean = (double)s.sum / (double)count;
	s.median = count % 2 ? (double)values[count / 2] :
			       (double)(values[count / 2 - 1] + values[count / 2]) / 2;
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
