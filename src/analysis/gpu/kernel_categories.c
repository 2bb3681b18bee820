/* Time of kernels by what they do: also where no operation launched them, as in GPU graphs. */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "base/alloc.h"

#include <string.h>

enum { CATEGORY, COUNT, TIME, PERCENTAGE, CUMULATIVE, ALONE };

static const struct trawl_column columns[] = {
	[CATEGORY] = TW_TEXT("kernel category", 16,
			     "what kernels do, by their names; communication as in gpu_timeline",
			     .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER("kernels", 10, "how many", .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS("kernel time (ms)", 16, "sum of their time; streams overlap",
		       .over_ranks = TRAWL_TIME),
	[PERCENTAGE] = TW_PERCENT_2("Percentage (%)", 12, "share of the time of all kernels",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] =
		TW_PERCENT_2("Cumulative Percentage (%)", 12, "share of this row and those above"),
	[ALONE] = TW_MS(
		"without operation (ms)", 16,
		"of kernel time: that of kernels which no operation of a known category launched",
		.over_ranks = TRAWL_TOTAL),
};

struct sum {
	tw_wide ns, alone_ns;
	int64_t count;
};

static tw_wide add_up(const struct tw_analysis_input *in, struct sum *sums)
{
	const struct tw_derived *d = in->derived;
	tw_wide total = 0;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];
		struct tw_parent parent;
		struct sum *sum;

		if (tw_class(d->trace, d->gpu.event[g]) != TRAWL_CLASS_KERNEL)
			continue;
		sum = &sums[tw_gpu_category(d, g)];
		parent = tw_parent_of(in->parents, g);
		if (!parent.is_op || !strcmp(parent.category, "other"))
			sum->alone_ns += ns;
		sum->ns += ns;
		sum->count++;
		total += ns;
	}
	return total;
}

static void fill(const struct sum *sums, tw_wide total, struct tw_order *order,
		 struct trawl_table *table)
{
	tw_wide running = 0;
	size_t i;

	for (i = 0; i < tw_kernel_category_count; i++)
		order[i] = (struct tw_order){ .value = sums[i].ns, .tie = i, .index = (uint32_t)i };
	tw_order_sort(order, (uint32_t)tw_kernel_category_count, NULL);
	for (i = 0; i < tw_kernel_category_count; i++) {
		const struct sum *sum = &sums[order[i].index];
		size_t row;

		if (!sum->count)
			continue;
		running += sum->ns;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, CATEGORY, tw_kernel_category_names[order[i].index]);
		tw_table_set_integer(table, row, COUNT, sum->count);
		tw_set_sum(table, row, TIME, sum->ns);
		tw_set_percent(table, row, PERCENTAGE, (double)sum->ns, (double)total);
		tw_set_percent(table, row, CUMULATIVE, (double)running, (double)total);
		tw_set_sum(table, row, ALONE, sum->alone_ns);
	}
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	size_t n = tw_kernel_category_count;
	struct sum *sums = tw_alloc_array(in->allocator, n, sizeof(*sums));
	struct tw_order *order = tw_alloc_array(in->allocator, n, sizeof(*order));

	if (sums && order)
		fill(sums, add_up(in, sums), order, table);
	tw_free(in->allocator, sums, n * sizeof(*sums));
	tw_free(in->allocator, order, n * sizeof(*order));
	return sums && order ? 0 : TRAWL_ENOMEM;
}

const struct tw_analysis tw_analysis_kernel_categories = {
	TW_TABLE("kernel_categories", "time of kernels by what they do, by their names", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
