/*
 * Histogram of short kernels by duration: bins of equal width from the shortest to the
 * longest, the last one closed at both ends.  The rules of numpy.histogram, on microseconds.
 */
#include "analysis/analysis.h"

#define BINS 100

enum { START, END, COUNT };

static const struct trawl_column columns[] = {
	[START] = TW_MEAN_US("bin_start", 12, "lower edge of the bin"),
	[END] = TW_MEAN_US("bin_end", 12, "upper edge of the bin"),
	[COUNT] = TW_INTEGER("count", 10, "number of kernels"),
};

static bool is_short(const struct tw_analysis_input *in, uint64_t g)
{
	const struct tw_gpu *gpu = &in->derived->gpu;

	return tw_class(in->trace, gpu->event[g]) == TRAWL_CLASS_KERNEL &&
	       gpu->end_ns[g] - gpu->start_ns[g] < in->options->short_kernel_ns;
}

static double us(const struct tw_gpu *gpu, uint64_t g)
{
	return (double)(gpu->end_ns[g] - gpu->start_ns[g]) / 1000;
}

static void make_edges(double low, double high, double *edges)
{
	double step = (high - low) / BINS;
	int i;

	for (i = 0; i < BINS; i++)
		edges[i] = (double)i * step + low;
	edges[BINS] = high;
}

/* The bin of x; rounding of the quotient is put right by the edges themselves. */
static int bin_of(double x, const double *edges)
{
	int bin = (int)((x - edges[0]) / (edges[BINS] - edges[0]) * BINS);

	if (bin >= BINS)
		bin = BINS - 1;
	if (bin > 0 && x < edges[bin])
		bin--;
	if (bin < BINS - 1 && x >= edges[bin + 1])
		bin++;
	return bin;
}

static int run_short_kernel_histogram(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	double low = 0, high = 0, edges[BINS + 1];
	int64_t counts[BINS] = { 0 };
	bool any = false;
	uint64_t g;
	int bin;

	for (g = 0; g < gpu->count; g++) {
		double x = us(gpu, g);

		if (!is_short(in, g))
			continue;
		if (!any || x < low)
			low = x;
		if (!any || x > high)
			high = x;
		any = true;
	}
	if (!any)
		return 0;
	if (low == high) {
		low -= 0.5;
		high += 0.5;
	}
	make_edges(low, high, edges);
	for (g = 0; g < gpu->count; g++)
		if (is_short(in, g))
			counts[bin_of(us(gpu, g), edges)]++;
	for (bin = 0; bin < BINS; bin++) {
		size_t row = tw_table_add_row(table);

		tw_table_set_real(table, row, START, edges[bin]);
		tw_table_set_real(table, row, END, edges[bin + 1]);
		tw_table_set_integer(table, row, COUNT, counts[bin]);
	}
	return 0;
}

const struct tw_analysis tw_analysis_short_kernel_histogram = {
	TW_TABLE("short_kernel_histogram", "histogram of short kernels by duration", columns,
		 .keep_empty = true),
	.needs = TW_NEEDS_GPU,
	.run = run_short_kernel_histogram,
};
