/* GPU time of operations by category. */
#include "analysis/analysis.h"

#include "analysis/order.h"

#include <string.h>

#define MOST_CATEGORIES 128

enum { CATEGORY, COUNT, TIME, PERCENTAGE, CUMULATIVE };

static const struct trawl_column columns[] = {
	[CATEGORY] = { "op category", TRAWL_COLUMN_TEXT, "", 0, 0, 22, "kind of operation" },
	[COUNT] = { "Count", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "calls that launched GPU work" },
	[TIME] = { "total_direct_kernel_time_ms", TRAWL_COLUMN_DECIMAL, "ms", 6, 3, 16,
		   "sum over calls of the union of the GPU events each launched" },
	[PERCENTAGE] = { "Percentage (%)", TRAWL_COLUMN_REAL, "%", 0, 2, 12,
			 "share of the sum of this table" },
	[CUMULATIVE] = { "Cumulative Percentage (%)", TRAWL_COLUMN_REAL, "%", 0, 2, 12,
			 "share of this row and those above" },
};

struct sum {
	const char *category;
	int64_t ns, count;
};

static struct sum *find_sum(struct sum *sums, size_t *count, const char *category)
{
	size_t i;

	for (i = 0; i < *count; i++)
		if (!strcmp(sums[i].category, category))
			return &sums[i];
	if (*count == MOST_CATEGORIES)
		return &sums[0];
	sums[*count] = (struct sum){ category, 0, 0 };
	return &sums[(*count)++];
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct sum sums[MOST_CATEGORIES];
	struct tw_order order[MOST_CATEGORIES];
	size_t count = 0, k, row;
	int64_t total = 0, running = 0;
	uint64_t i, j;

	for (i = 0; i < in->launchers->count; i++) {
		const struct tw_launcher *launcher = &in->launchers->items[i];
		struct sum *sum = find_sum(sums, &count, launcher->category);

		sum->ns += launcher->direct_ns;
		sum->count++;
		total += launcher->direct_ns;
	}
	for (k = 0; k < count; k++) {
		order[k] = (struct tw_order){ sums[k].ns, 0, (uint32_t)k };
		for (j = 0; j < count; j++)
			order[k].tie += strcmp(sums[j].category, sums[k].category) < 0;
	}
	tw_order_sort(order, count);
	for (k = 0; k < count; k++) {
		const struct sum *sum = &sums[order[k].index];

		running += sum->ns;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, CATEGORY, sum->category);
		tw_table_set_integer(table, row, COUNT, sum->count);
		tw_table_set_integer(table, row, TIME, sum->ns);
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
