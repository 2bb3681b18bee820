/* GPU time of operations by category. */
#include "analysis/sums.h"

#include <string.h>

enum { CATEGORY, COUNT, TIME, PERCENTAGE, CUMULATIVE };

static const struct trawl_column columns[] = {
	[CATEGORY] = TW_TEXT(TW_COL_OP_CATEGORY, 22, "operator category", .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER(TW_COL_COUNT, 10, "calls that launched GPU work",
			     .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS(TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS, 16,
		       "direct time: union of the GPU events that a call launches itself, sum of "
		       "calls",
		       .over_ranks = TRAWL_TIME),
	[PERCENTAGE] = TW_PERCENT_2(TW_COL_PERCENTAGE, 12, "share of the table's direct time",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] = TW_PERCENT_2(TW_COL_CUMULATIVE_PERCENTAGE, 12,
				    "cumulative share: this row and all rows above"),
};

static void set_op_category(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			    const void *category, const void *value)
{
	const struct tw_sum *sum = value;
	const char *const *names = sums->in->launchers->categories.names;

	tw_table_set_str(table, row, CATEGORY, names[*(const uint32_t *)category]);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_sum(table, row, TIME, sum->ns);
	tw_set_percent(table, row, PERCENTAGE, (double)sum->ns, (double)sums->total_ns);
	tw_set_percent(table, row, CUMULATIVE, (double)sums->running_ns, (double)sums->total_ns);
}

/* Those of equal time by name. */
static void order_category(const struct tw_sums *sums, const void *category, struct tw_order *order)
{
	const struct tw_categories *all = &sums->in->launchers->categories;
	const char *name = all->names[*(const uint32_t *)category];
	unsigned other;

	order->tie = 0;
	for (other = 0; other < all->count; other++)
		order->tie += strcmp(all->names[other], name) < 0;
}

static int run_ops_summary_by_category(const struct tw_analysis_input *in,
				       struct trawl_table *table)
{
	struct tw_sums sums;
	uint64_t i;

	if (tw_sums_init_numbers(&sums, in, in->launchers->categories.count, sizeof(struct tw_sum)))
		return TRAWL_ENOMEM;
	for (i = 0; i < in->launchers->count; i++) {
		const struct tw_launcher *launcher = &in->launchers->items[i];

		tw_sums_add_number(&sums, launcher->category, launcher->direct_ns);
	}
	return tw_sums_add_rows(&sums, table, set_op_category, order_category);
}

const struct tw_analysis tw_analysis_ops_summary_by_category = {
	TW_TABLE("ops_summary_by_category", "GPU time by operator category, without communication",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST,
	.run = run_ops_summary_by_category,
};
