#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static void swap(int64_t *a, int64_t *b)
{
	int64_t t = *a;

	*a = *b;
	*b = t;
}

/*
 * The pivot is picked by a counter that steps through the list, so that no order of the input is a
 * bad one for long.
 */
int64_t tw_nth_value(int64_t *values, size_t count, size_t k)
{
	uint64_t low = 0, high = count - 1, step = 0x9e3779b97f4a7c15u;

	while (low < high) {
		int64_t pivot = values[low + step % (high - low + 1)];
		uint64_t i = low, j = high;

		step = step * 6364136223846793005u + 1442695040888963407u;
		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&values[i++], &values[j--]);
		}
		/* All up to j are at most the pivot, all from j + 1 on at least. */
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[k];
}

struct tw_middle tw_middle_of(int64_t *values, size_t count)
{
	struct tw_middle middle = { 0, 0 };
	size_t at = count / 2, i;

	if (!count)
		return middle;
	middle.lower = middle.upper = tw_nth_value(values, count, at);
	if (count % 2)
		return middle;
	middle.lower = values[0];
	for (i = 1; i < at; i++)
		if (values[i] > middle.lower)
			middle.lower = values[i];
	return middle;
}

tw_wide tw_twice_the_median(int64_t *values, size_t count)
{
	struct tw_middle middle = tw_middle_of(values, count);

	return (tw_wide)middle.lower + middle.upper;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double tw_sorted_median(const double *values, size_t count)
{
	return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : (double)NAN;
}

double tw_real_median(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), compare);
	return tw_sorted_median(values, count);
}
