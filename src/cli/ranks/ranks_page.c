#include "cli/ranks/ranks_page.h"

#include "cli/ranks/ranks.h"
#include "os/file.h"
#include "render/charts/category_chart.h"
#include "table/table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BUS_BANDWIDTH "bus bw (GB/s)_median"

/* ---- tables */

static const char *const timeline_columns[] = {
	"rank",
	TW_COL_COMPUTATION_TIME_MS,
	TW_COL_EXPOSED_COMM_TIME_MS,
	TW_COL_EXPOSED_MEMCPY_TIME_MS,
	TW_COL_IDLE_TIME_MS,
	TW_COL_TOTAL_TIME_MS,
	TW_COL_BUSY_TIME_MS,
};
static const char *const waits_columns[] = {
	"rank",
	TW_COL_OWN_WAIT_US,
	TW_COL_CAUSED_WAIT_US,
	TW_COL_CAUSED_WAIT_PERCENT,
	TW_COL_PASSED_ON_US,
	TW_COL_TIMES_LAST,
	"collectives",
	TW_COL_COMPUTING_US,
	TW_COL_MEDIAN_COMPUTING_US,
	TW_COL_NODE_ID,
	"host",
};
static const char *const kinds_columns[] = {
	TW_COL_COLLECTIVE_NAME,
	"dtype",
	TW_COL_IN_MSG_NELEMS,
	TW_COL_FULL_MSG_SIZE_MB,
	"count",
	TW_COL_TOTAL_RANK_TIME_MS,
	TW_COL_TOTAL_WAIT_TIME_MS,
	TW_COL_WAITING_PERCENT,
	BUS_BANDWIDTH,
	"bus bw (GB/s)_min",
	"bus bw (GB/s)_max",
	"comm_latency_median",
	"skew in start time_max",
};
static const char *const pairs_columns[] = {
	TW_COL_WAITING_RANK,	TW_COL_LATE_RANK,  "times",	     TW_COL_TOTAL_WAIT_US,
	TW_COL_LARGEST_WAIT_US, TW_COL_LARGEST_IN, TW_COL_NODE_SPAN,
};
static const char *const mismatch_columns[] = {
	TW_COL_COLLECTIVE_NAME,
	"problem",
	"count",
	"ranks",
	TW_COL_RANKS_MISSING,
	TW_COL_WHAT_DIFFERS,
	TW_COL_COLLECTIVE_ID,
};
static const char *const ranks_columns[] = {
	"rank",		"state",	   "file",   TW_COL_RANK_FROM, TW_COL_DEVICE_NAME, "host",
	TW_COL_NODE_ID, TW_COL_GPU_EVENTS, "remark",
};

#define PART(heading, text, columns)                   \
	{                                              \
		heading, text, columns, COUNT(columns) \
	}

static const struct cli_page_part timeline = PART(
	"GPU Time by Rank",
	"Computing, exposed communication, exposed copies and idle time of a rank add up to its "
	"total, the time from its first start to its last end of GPU work.",
	timeline_columns);
static const struct cli_page_part waits = PART(
	"Waits by Rank",
	"Own wait: for ranks that start a collective later. Wait caused: of the other ranks, by "
	"starting last. Of collectives that were matched over the ranks, on their aligned clocks.",
	waits_columns);
static const struct cli_page_part kinds = PART(
	"Collectives",
	"By name, type and size; bus bandwidth is that of the transfer, without waiting, and is "
	"known where sizes are recorded.",
	kinds_columns);
static const struct cli_page_part pairs = PART("Waits by Rank Pair", NULL, pairs_columns);
static const struct cli_page_part mismatches =
	PART("Collective Mismatches", NULL, mismatch_columns);
/* All that there is. */
static const struct cli_page_part exchanges = { "All-to-All of Several Sizes", NULL, NULL, 0 };
static const struct cli_page_part transfers = { "Sends and Receives", NULL, NULL, 0 };
static const struct cli_page_part clocks = { "Clocks", NULL, NULL, 0 };
static const struct cli_page_part ranks = PART("Ranks", NULL, ranks_columns);

/* ---- charts */

static const char *name_of_rank(const struct trawl_table *table, size_t row)
{
	return cli_text("rank %lld", (long long)tw_table_cell(table, row, "rank").integer);
}

/* "allreduce BFloat16 96 MB, n=24" */
static const char *name_of_kind(const struct trawl_table *table, size_t row)
{
	size_t size = trawl_table_find_column(table, TW_COL_FULL_MSG_SIZE_MB);
	size_t dtype = trawl_table_find_column(table, "dtype");
	struct tw_str text;
	const char *kept;

	tw_str_init(&text, trawl_allocator_default());
	tw_table_add_text(&text, table, row,
			  trawl_table_find_column(table, TW_COL_COLLECTIVE_NAME));
	if (!tw_table_text_is(table, row, dtype, "Unknown")) {
		tw_str_add_char(&text, ' ');
		tw_table_add_text(&text, table, row, dtype);
	}
	if (trawl_table_cell(table, row, size).state == TRAWL_CELL_VALUE)
		tw_str_addf(&text, " %.4g MB", tw_table_number(table, row, size));
	tw_str_addf(&text, ", n=%lld", (long long)tw_table_cell(table, row, "count").integer);
	kept = cli_text("%s", text.failed ? "" : text.ptr);
	tw_str_release(&text);
	return kept;
}

static void draw_timeline(const struct trawl_table *table, struct tw_str *out)
{
	const struct tw_bar_look *l = tw_bar_looks;
	const struct cli_page_column columns[] = {
		{ TW_COL_COMPUTATION_TIME_MS, 1, l[TW_BAR_COMPUTE].name, l[TW_BAR_COMPUTE].colour },
		{ TW_COL_EXPOSED_COMM_TIME_MS, 1, l[TW_BAR_COMMUNICATION].name,
		  l[TW_BAR_COMMUNICATION].colour },
		{ TW_COL_EXPOSED_MEMCPY_TIME_MS, 1, l[TW_BAR_COPY].name, l[TW_BAR_COPY].colour },
		{ TW_COL_IDLE_TIME_MS, 1, l[TW_BAR_IDLE].name, l[TW_BAR_IDLE].colour },
	};
	const struct cli_page_bars bars = { timeline.heading, "ms",	      "rank",	    NULL,
					    columns,	      COUNT(columns), name_of_rank, false };

	cli_page_bars(&bars, table, out);
}

/* ", 12 collectives each", ", 3-12 collectives each" */
static const char *collectives_each(const struct trawl_table *table)
{
	int64_t least = INT64_MAX, most = 0;
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++) {
		int64_t count = tw_table_cell(table, row, "collectives").integer;

		least = count < least ? count : least;
		most = count > most ? count : most;
	}
	if (least == most)
		return cli_text(", %lld collective%s each", (long long)most, most == 1 ? "" : "s");
	return cli_text(", %lld-%lld collectives each", (long long)least, (long long)most);
}

static void draw_waits(const struct trawl_table *table, struct tw_str *out)
{
	static const struct cli_page_column columns[] = {
		{ TW_COL_OWN_WAIT_US, 1e-3, "own wait", "56b4e9" },
		{ TW_COL_CAUSED_WAIT_US, 1e-3, "wait caused", "d55e00" },
	};
	const struct cli_page_bars bars = { waits.heading, "ms",
					    "rank",	   collectives_each(table),
					    columns,	   COUNT(columns),
					    name_of_rank,  true };

	cli_page_bars(&bars, table, out);
}

static void draw_bandwidth(const struct trawl_table *table, struct tw_str *out)
{
	static const struct cli_page_column columns[] = {
		{ BUS_BANDWIDTH, 1, "median bus bandwidth (n: collectives)", "0072b2" },
	};
	const struct cli_page_bars bars = { "Bus Bandwidth of Collectives",
					    "GB/s",
					    "kind",
					    NULL,
					    columns,
					    COUNT(columns),
					    name_of_kind,
					    false };

	cli_page_bars(&bars, table, out);
}

/* ---- all of it */

static void add(struct cli_page *page, const struct cli_page_part *part,
		const struct trawl_table *table,
		void (*chart)(const struct trawl_table *table, struct tw_str *out))
{
	struct tw_str *out = cli_page_table(page, part, table);

	if (out && chart)
		chart(table, out);
}

const char *cli_page_of_job(const char *what, const char *model, const struct trawl_job *job)
{
	const char *name = model ? model : tw_file_name(trawl_job_directory(job));

	return *name && *name != '.' ? cli_text("%s - %s", what, name) : what;
}

void cli_page_known_ranks(struct cli_page *page, const struct trawl_job *job)
{
	struct tw_str lines;

	tw_str_init(&lines, trawl_allocator_default());
	cli_add_ranks_known(&lines, job);
	tw_str_add_char(&lines, '\n');
	cli_add_ranks_view(&lines, job);
	cli_add_missing(&lines, job);
	cli_page_lines(page, &lines);
}

void cli_page_ranks(struct cli_page *page, const struct trawl_job_report *report, bool charts)
{
	add(page, &timeline, trawl_job_report_find(report, "rank_timeline"),
	    charts ? draw_timeline : NULL);
	add(page, &waits, trawl_job_report_find(report, "stragglers"), charts ? draw_waits : NULL);
	add(page, &kinds, trawl_job_report_find(report, "nccl_summary_implicit_sync"),
	    charts ? draw_bandwidth : NULL);
	add(page, &mismatches, trawl_job_report_find(report, "collective_mismatches"), NULL);
	add(page, &exchanges, trawl_job_report_find(report, "nccl_summary_all2allv"), NULL);
	add(page, &transfers, trawl_job_report_find(report, "transfers"), NULL);
	add(page, &pairs, trawl_job_report_find(report, "collective_waits"), NULL);
	add(page, &clocks, trawl_job_report_find(report, "clocks"), NULL);
	add(page, &ranks, trawl_job_report_find(report, "ranks"), NULL);
}
