/* GPU time of operations by category. */
#include "analysis/analysis.h"

#include "analysis/order.h"

#include <string.h>

enum { CATEGORY, COUNT, TIME, PERCENTAGE, CUMULATIVE };

static const struct trawl_column columns[] = {
	[CATEGORY] = TW_TEXT("op category", 22, "kind of operation", .over_ranks = TRAWL_KEY),
	[COUNT] =
		TW_INTEGER("Count", 10, "calls that launched GPU work", .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS("total_direct_kernel_time_ms", 16,
		       "sum over calls of the union of the GPU events each launched",
		       .over_ranks = TRAWL_TIME),
	[PERCENTAGE] = TW_PERCENT_2("Percentage (%)", 12, "share of the sum of this table",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] =
		TW_PERCENT_2("Cumulative Percentage (%)", 12, "share of this row and those above"),
};

struct sum {
	tw_wide ns;
	int64_t count;
};

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_categories *categories = &in->launchers->categories;
	struct sum sums[TW_MOST_OP_CATEGORIES] = { { 0 } };
	struct tw_order order[TW_MOST_OP_CATEGORIES];
	tw_wide total = 0, running = 0;
	unsigned k, other;
	uint64_t i;
	size_t row;

	for (i = 0; i < in->launchers->count; i++) {
		const struct tw_launcher *launcher = &in->launchers->items[i];

		sums[launcher->category].ns += launcher->direct_ns;
		sums[launcher->category].count++;
		total += launcher->direct_ns;
	}
	for (k = 0; k < categories->count; k++) {
		order[k] = (struct tw_order){ .value = sums[k].ns, .index = k };
		for (other = 0; other < categories->count; other++)
			order[k].tie += strcmp(categories->names[other], categories->names[k]) < 0;
	}
	tw_order_sort(order, categories->count, NULL);
	for (k = 0; k < categories->count; k++) {
		const struct sum *sum = &sums[order[k].index];

		if (!sum->count)
			continue;
		running += sum->ns;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, CATEGORY, categories->names[order[k].index]);
		tw_table_set_integer(table, row, COUNT, sum->count);
		tw_set_sum(table, row, TIME, sum->ns);
		tw_set_percent(table, row, PERCENTAGE, (double)sum->ns, (double)total);
		tw_set_percent(table, row, CUMULATIVE, (double)running, (double)total);
	}
	return 0;
}

const struct tw_analysis tw_analysis_ops_summary_by_category = {
	TW_TABLE("ops_summary_by_category",
		 "GPU time of operations by category, communication aside", columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST,
	.run = run,
};
