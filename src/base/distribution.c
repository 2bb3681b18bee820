#include "base/distribution.h"

#include <math.h>
#include <stdlib.h>

/* Whiskers end within that many times the distance of the quartiles (Tukey). */
#define WHISKER_REACH 1.5

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Interpolated from the nearer of the two neighbours, so that equal ones give themselves. */
static double quantile(const double *values, size_t count, double share)
{
	double place = (double)(count - 1) * share, below = floor(place), part = place - below;
	size_t at = (size_t)below;
	double x = values[at], y = at + 1 < count ? values[at + 1] : x;

	return part < 0.5 ? x + (y - x) * part : y - (y - x) * (1 - part);
}

/* With what rounding lost added again. */
static double mean_of(const double *values, size_t count)
{
	double sum = 0, lost = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		double value = values[i] - lost, next = sum + value;

		lost = next - sum - value;
		sum = next;
	}
	return sum / (double)count;
}

static void set_whiskers(struct tw_distribution *d, const double *values)
{
	double reach = WHISKER_REACH * (d->high - d->low);
	size_t i = 0, k = d->count;

	while (i < d->count && values[i] < d->low - reach)
		i++;
	while (k && values[k - 1] > d->high + reach)
		k--;
	/* They never end inside the box. */
	d->low_whisker = i < d->count ? fmin(values[i], d->low) : d->low;
	d->high_whisker = k ? fmax(values[k - 1], d->high) : d->high;
}

struct tw_distribution tw_distribution_of(double *values, size_t count)
{
	struct tw_distribution d = { .count = count };

	qsort(values, count, sizeof(*values), compare);
	d.mean = mean_of(values, count);
	d.low = quantile(values, count, 0.25);
	d.median = quantile(values, count, 0.5);
	d.high = quantile(values, count, 0.75);
	d.min = values[0];
	d.max = values[count - 1];
	set_whiskers(&d, values);
	return d;
}

/* Sample variance. */
static double variance_of(const double *values, size_t count)
{
	double mean = mean_of(values, count), sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum / (double)(count - 1);
}

bool tw_density(const double *values, size_t count, double *density, size_t points)
{
	double first = values[0], last = values[count - 1], most = 0, width;
	size_t i, k;

	if (count < 2 || !(first < last))
		return false;
	/* Scott: the standard deviation times count^(-1/5). */
	width = sqrt(variance_of(values, count)) * pow((double)count, -0.2);
	if (!(width > 0))
		return false;
	for (i = 0; i < points; i++) {
		double at = first + (last - first) * (double)i / (double)(points - 1);

		density[i] = 0;
		for (k = 0; k < count; k++) {
			double away = (values[k] - at) / width;

			density[i] += exp(-0.5 * away * away);
		}
		most = fmax(most, density[i]);
	}
	for (i = 0; i < points; i++)
		density[i] /= most;
	return true;
}
