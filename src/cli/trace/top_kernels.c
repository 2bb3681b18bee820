/* The kernels with the most time, for the summary. */
#include "cli/cli.h"
#include "cli/screen.h"

#include "table/table.h"

static const struct trawl_column columns[] = {
	TW_TEXT("kernel", 40, "kernel name"),
	TW_TEXT("category", 14, "category, from the name"),
	TW_INTEGER("kernels", 8, "kernels of this name"),
	TW_MS(TW_COL_GPU_TIME_MS, 12, "total kernel time"),
	TW_MEAN_US(TW_COL_MEAN_US, 12, "mean kernel time"),
	TW_PERCENT_1(TW_COL_SHARE_PERCENT, 8, "share of the summed duration of all GPU work"),
};

static const char *const sources[] = { "kernel",      "category",     "count",
				       TW_COL_SUM_MS, TW_COL_MEAN_US, TW_COL_SHARE_PERCENT };

static const struct tw_table_spec spec = { .name = "top_kernels",
					   .meaning = "top kernels by GPU time",
					   .columns = columns,
					   .column_count = 5,
					   .keep_empty = true };
static const struct tw_table_spec spec_with_shares =
	TW_SPEC("top_kernels", "top kernels by GPU time", columns, .keep_empty = true);

struct trawl_table *cli_top_kernels(const struct trawl_report *report, size_t most, bool screen,
				    const char *group)
{
	const struct trawl_table *kernels = trawl_report_find(report, "kernels");
	struct trawl_table *top =
		cli_first_rows(screen ? &spec_with_shares : &spec, kernels, sources, most);
	size_t row;

	for (row = 0; group && top && row < trawl_table_rows(top); row++)
		cli_name_group(top, row, kernels, row, group);
	return top;
}
