/* The page of a sweep: the best configuration, all of them, and the operators that vary. */
#include "cli/page.h"
#include "cli/sweep/sweep.h"

#include "os/file.h"
#include "render/charts/category_chart.h"
#include "render/charts/variance_plots.h"
#include "table/table.h"

#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const variance_columns[] = {
	"name",
	TW_COL_INPUT_DIMS,
	"threads",
	"channel",
	"rank",
	TW_COL_TIME_DIFF_US,
	"reading",
	TW_COL_TOTAL_OVERLAP_PERCENTAGE,
	TW_COL_KERNEL_TIME_MIN_US,
	TW_COL_KERNEL_TIME_MAX_US,
};

static const char *const configuration_columns[] = {
	"configuration",
	TW_COL_OF_ALL_MS,
	TW_COL_BEHIND_BEST_PERCENT,
	TW_COL_LARGEST_FINDING,
	TW_COL_LARGEST_GAIN_MS,
	TW_COL_LARGEST_GAIN_PERCENT,
	TW_COL_ALL_GAINS_PERCENT,
	TW_COL_SPREAD_MS,
	TW_COL_MEDIAN_COMPUTE_MS,
	TW_COL_MEDIAN_EXPOSED_COMM_MS,
	TW_COL_MEDIAN_IDLE_MS,
	"blocked",
	TW_COL_GEMM_MAX_MIN_US,
	TW_COL_MEDIAN_COMM_MS,
	"ranks",
	TW_COL_WAITS_FOR_RANK,
	"steps",
	"run",
	"threads",
	"channels",
};
static const struct cli_page_part configurations = {
	"Configurations",
	"Fastest first; times are medians over the ranks, so that parts need not add up to the total. "
	"All gains: what the remedies of all its findings together would gain.",
	configuration_columns,
	COUNT(configuration_columns),
};
static const struct cli_page_part variance = {
	"Operators With the Largest Variance of Call Times",
	"Of each report; the overlap is of the longest call with collectives.",
	variance_columns,
	COUNT(variance_columns),
};

static const char *const findings_columns[] = {
	"configuration", TW_COL_FINDING_N,    TW_COL_FINDING_TITLE,
	TW_COL_GAIN_MS,	 TW_COL_GAIN_PERCENT, TW_COL_GAIN_TOGETHER_PERCENT,
	TW_COL_GAIN_HOW, TW_COL_FINDING_RANK, TW_COL_FINDING_WHERE,
	TW_COL_REMEDY,
};
static const struct cli_page_part findings = {
	"Findings",
	"What limits each configuration, its largest gain first, in ms of a step.",
	findings_columns,
	COUNT(findings_columns),
};

static const char *name_of(const struct trawl_table *table, size_t row)
{
	return tw_table_own_text(table, row, trawl_table_find_column(table, "configuration"));
}

/* ", medians of 8 ranks", ", medians of 4-8 ranks" */
static const char *medians_of(const struct trawl_table *table)
{
	int64_t least = INT64_MAX, most = 0;
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++) {
		int64_t ranks = tw_table_cell(table, row, "ranks").integer;

		least = ranks < least ? ranks : least;
		most = ranks > most ? ranks : most;
	}
	if (least == most)
		return cli_text(", median%s of %lld rank%s", most == 1 ? "" : "s", (long long)most,
				most == 1 ? "" : "s");
	return cli_text(", medians of %lld-%lld ranks", (long long)least, (long long)most);
}

static void draw(const struct trawl_table *table, struct tw_str *out)
{
	const struct tw_bar_look *l = tw_bar_looks;
	const struct cli_page_column columns[] = {
		{ TW_COL_OF_ALL_MS, 1, "total", "222222" },
		{ TW_COL_MEDIAN_COMPUTE_MS, 1, l[TW_BAR_COMPUTE].name, l[TW_BAR_COMPUTE].colour },
		{ TW_COL_MEDIAN_EXPOSED_COMM_MS, 1, l[TW_BAR_COMMUNICATION].name,
		  l[TW_BAR_COMMUNICATION].colour },
		{ TW_COL_MEDIAN_IDLE_MS, 1, l[TW_BAR_IDLE].name, l[TW_BAR_IDLE].colour },
	};
	const struct cli_page_bars bars = { "GPU Time by Configuration",
					    "ms",
					    "configuration",
					    medians_of(table),
					    columns,
					    COUNT(columns),
					    name_of,
					    true };

	cli_page_bars(&bars, table, out);
}

static const char *analysis_path(const struct cli_sweep *s, const char *name)
{
	return cli_text("%s/tracelens_analysis/%s", trawl_sweep_output(s->sweep), name);
}

static void add_plots(struct cli_page *page, const struct cli_sweep *s)
{
	size_t i;

	for (i = 0; i < TW_VARIANCE_PLOTS; i++) {
		const char *path =
			analysis_path(s, cli_text("plots/%s.png", tw_variance_plot_names[i]));

		if (!access(path, F_OK))
			cli_page_picture(page, tw_variance_plot_headings[i], path);
	}
}

int cli_sweep_write_page(const struct cli_sweep *s, const struct trawl_sweep_results *results,
			 bool plots)
{
	const struct trawl_table *table = trawl_sweep_results_find(results, "configurations");
	const char *name = tw_file_name(s->directory);
	struct cli_page page = { .title = *name && *name != '.' ?
						  cli_text("The best configuration - %s", name) :
						  "The best configuration" };
	struct trawl_error err;
	struct tw_str *chart;
	size_t i;

	for (i = 0; i < trawl_sweep_results_lines(results); i++)
		cli_page_line(&page, trawl_sweep_results_line(results, i));
	chart = cli_page_table(&page, &configurations, table);
	if (chart && plots)
		draw(table, chart);
	cli_page_table(&page, &findings, trawl_sweep_results_find(results, "findings"));
	cli_page_table(&page, &variance, trawl_sweep_results_find(results, "gemm_variance"));
	if (plots)
		add_plots(&page, s);
	if (cli_page_write(&page, analysis_path(s, CLI_SWEEP_PAGE), &err))
		return cli_fail(&err);
	return CLI_DONE;
}
