/* Time of kernels by what they do: also where no operation launched them, as in GPU graphs. */
#include "analysis/sums.h"

#include <string.h>

enum { CATEGORY, COUNT, TIME, PERCENTAGE, CUMULATIVE, ALONE };

static const struct trawl_column columns[] = {
	[CATEGORY] = TW_TEXT(TW_COL_KERNEL_CATEGORY, 16,
			     "kernel category, from the kernel name; communication as in "
			     "gpu_timeline",
			     .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER("kernels", 10, "number of kernels", .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS(TW_COL_KERNEL_TIME_MS, 16, "sum of kernel durations; streams overlap",
		       .over_ranks = TRAWL_TIME),
	[PERCENTAGE] = TW_PERCENT_2(TW_COL_PERCENTAGE, 12, "share of all kernel time",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] = TW_PERCENT_2(TW_COL_CUMULATIVE_PERCENTAGE, 12,
				    "cumulative share: this row and all rows above"),
	[ALONE] = TW_MS(TW_COL_WITHOUT_OPERATION_MS, 16,
			"part of kernel time not launched by an operator of a known category",
			.over_ranks = TRAWL_TOTAL),
};

struct sum {
	struct tw_sum all;
	tw_wide alone_ns;
};

static void add_to_category(struct tw_sums *sums, uint64_t g)
{
	const struct tw_derived *d = sums->in->derived;
	struct tw_parent parent = tw_parent_of(sums->in->parents, g);
	int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];
	struct sum *sum = tw_sums_add_number(sums, tw_gpu_category(d, g), ns);

	if (!parent.is_op || !strcmp(parent.category, "other"))
		sum->alone_ns += ns;
}

static void set_kernel_category(const struct tw_sums *sums, struct trawl_table *table, size_t row,
				const void *key, const void *value)
{
	const struct sum *sum = value;

	tw_table_set_str(table, row, CATEGORY, tw_kernel_category_names[*(const uint32_t *)key]);
	tw_table_set_integer(table, row, COUNT, sum->all.count);
	tw_set_sum(table, row, TIME, sum->all.ns);
	tw_set_percent(table, row, PERCENTAGE, (double)sum->all.ns, (double)sums->total_ns);
	tw_set_percent(table, row, CUMULATIVE, (double)sums->running_ns, (double)sums->total_ns);
	tw_set_sum(table, row, ALONE, sum->alone_ns);
}

static int run_kernel_categories(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct tw_sums sums;
	uint64_t g;

	if (tw_sums_init_numbers(&sums, in, (uint32_t)tw_kernel_category_count, sizeof(struct sum)))
		return TRAWL_ENOMEM;
	for (g = 0; g < in->derived->gpu.count; g++)
		if (tw_class(in->trace, in->derived->gpu.event[g]) == TRAWL_CLASS_KERNEL)
			add_to_category(&sums, g);
	return tw_sums_add_rows(&sums, table, set_kernel_category, NULL);
}

const struct tw_analysis tw_analysis_kernel_categories = {
	TW_TABLE("kernel_categories", "kernel time by kernel category", columns),
	.needs = TW_NEEDS_GPU,
	.run = run_kernel_categories,
};
