#include "cli/ranks/ranks_summary.h"
#include "cli/screen.h"

#include "cli/ranks/ranks.h"
#include "cli/ranks/ranks_verdict.h"
#include "data/limits.h"
#include "render/escape.h"
#include "table/table.h"
#include "text/rank_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of more ranks than this those are shown that differ most. */
#define MOST_RANKS 16
#define MOST_OUTLIERS 8
#define MOST_STRAGGLERS 4

/* ---- which ranks */

static size_t count_hosts(const struct trawl_job *job)
{
	size_t count = 0, i, k;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		const char *host = trawl_job_rank(job, i).host;

		if (!host[0])
			return 0;
		for (k = 0; k < i && strcmp(trawl_job_rank(job, k).host, host); k++)
			;
		count += k == i;
	}
	return count;
}

void cli_add_missing(struct tw_str *out, const struct trawl_job *job)
{
	size_t count;
	const int64_t *missing = trawl_job_missing(job, &count);

	if (!count)
		return;
	tw_str_addf(out, "missing rank%s ", count == 1 ? "" : "s");
	tw_rank_list_add_most(out, missing, count);
	tw_str_add_char(out, '\n');
}

static void add_ranks(const struct trawl_job *job, struct tw_str *out)
{
	size_t count = trawl_job_ranks(job), hosts = count_hosts(job), left_out = 0, i;
	int64_t *ranks = cli_alloc(count, sizeof(*ranks));
	const char *device = "";
	uint64_t events = 0;

	for (i = 0; i < count; i++) {
		struct trawl_rank rank = trawl_job_rank(job, i);

		ranks[i] = rank.rank;
		events += rank.gpu_events;
		if (!device[0])
			device = rank.device;
	}
	for (i = 0; i < trawl_job_left_out(job); i++)
		left_out += trawl_job_left_out_rank(job, i).state != TRAWL_RANK_NOT_A_TRACE;
	cli_add_ranks_known(out, job);
	tw_str_add_cstr(out, ": ");
	tw_rank_list_add_most(out, ranks, count);
	if (hosts)
		tw_str_addf(out, " on %zu host%s", hosts, hosts == 1 ? "" : "s");
	if (device[0]) {
		tw_str_add_cstr(out, ", ");
		tw_escape_terminal(out, device, strlen(device));
	}
	tw_str_addf(out, ", %llu GPU events\n", (unsigned long long)events);
	cli_add_missing(out, job);
	if (left_out)
		tw_str_addf(out, "%zu trace%s skipped: see table ranks\n", left_out,
			    left_out == 1 ? "" : "s");
}

/* ---- the timeline over ranks */

enum { PART, MEAN, MEDIAN, MIN, MAX, SLOWEST, SHARE };

static const struct trawl_column timeline_columns[] = {
	[PART] = TW_TEXT("part", 22, "part of the GPU time"),
	[MEAN] = TW_MEAN_MS("mean", 12, "mean over ranks"),
	[MEDIAN] = TW_DECIMAL("median", "ms", 7, 3, 12, "median over ranks"),
	[MIN] = TW_DECIMAL("min", "ms", 6, 3, 12, "min over ranks"),
	[MAX] = TW_DECIMAL("max", "ms", 6, 3, 12, "max over ranks"),
	[SLOWEST] = TW_INTEGER("rank of max", 8, "rank with the max"),
	[SHARE] = TW_PERCENT_1("mean share (%)", 8, "share of the total time"),
};

static const struct tw_table_spec timeline_spec =
	TW_SPEC("timeline", "GPU time over ranks", timeline_columns, .keep_empty = true);

/* As the summary of one trace names them. */
static const struct {
	const char *type, *label;
} parts[] = {
	{ "computation_time", "computing" },
	{ "exposed_comm_time", TW_LABEL_EXPOSED_COMMUNICATION },
	{ "exposed_memcpy_time", TW_LABEL_EXPOSED_COPIES },
	{ "busy_time", "busy" },
	{ "idle_time", "idle" },
	{ "micro_idle_time", "idle, short gaps" },
	{ "macro_idle_time", "idle, long gaps" },
	{ "total_time", "total" },
};

static size_t row_of_type(const struct trawl_table *table, const char *type)
{
	size_t column = trawl_table_find_column(table, "type"), row;

	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, column);

		if (cell.text && cell.text_len == strlen(type) &&
		    !memcmp(cell.text, type, cell.text_len))
			break;
	}
	return row;
}

static struct trawl_table *make_timeline(const struct trawl_table *sums)
{
	static const char *const from[] = {
		[MEAN] = TW_COL_TIME_MS_MEAN,	 [MEDIAN] = TW_COL_TIME_MS_MEDIAN,
		[MIN] = TW_COL_TIME_MS_MIN,	 [MAX] = TW_COL_TIME_MS_MAX,
		[SLOWEST] = TW_COL_SLOWEST_RANK, [SHARE] = "percent_mean",
	};
	struct trawl_table *table = tw_table_new(&timeline_spec, trawl_allocator_default());
	size_t i, column;

	for (i = 0; table && i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t source = row_of_type(sums, parts[i].type), row;

		if (source == trawl_table_rows(sums))
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, PART, parts[i].label);
		for (column = MEAN; column <= SHARE; column++)
			tw_table_copy_cell(table, row, column, sums, source,
					   trawl_table_find_column(sums, from[column]));
	}
	return tw_table_finished(table);
}

/* ---- the ranks beside each other */

enum { RANK, COMPUTING, EXPOSED, COPIES, IDLE, TOTAL, BUSY };

static const struct trawl_column rank_columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job"),
	[COMPUTING] = TW_DECIMAL("computing", "ms", 6, 3, 12, "computing"),
	[EXPOSED] = TW_DECIMAL("exposed comm", "ms", 6, 3, 12,
			       "communication not overlapped by compute"),
	[COPIES] = TW_DECIMAL(TW_LABEL_EXPOSED_COPIES, "ms", 6, 3, 12,
			      "copies not overlapped by compute or communication"),
	[IDLE] = TW_DECIMAL("idle", "ms", 6, 3, 12, "idle"),
	[TOTAL] = TW_DECIMAL("total", "ms", 6, 3, 12, "first start to last end"),
	[BUSY] = TW_PERCENT_1("busy (%)", 8, "share of the total"),
};

static const struct tw_table_spec rank_spec =
	TW_SPEC("spread", "GPU time by rank", rank_columns, .keep_empty = true);

/* The column of rank_timeline that each is. */
static const char *const rank_from[] = {
	[RANK] = "rank",
	[COMPUTING] = TW_COL_COMPUTATION_TIME_MS,
	[EXPOSED] = TW_COL_EXPOSED_COMM_TIME_MS,
	[COPIES] = TW_COL_EXPOSED_MEMCPY_TIME_MS,
	[IDLE] = TW_COL_IDLE_TIME_MS,
	[TOTAL] = TW_COL_TOTAL_TIME_MS,
};

struct shown {
	size_t row;  /* of rank_timeline */
	double away; /* from the middle, in computing */
};

static int compare_away(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->away < y->away || x->away > y->away)
		return x->away > y->away ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

/* The ranks to show, in their order: all, or those that differ most in computing. */
static size_t choose_ranks(const struct trawl_table *sums, const struct trawl_table *timelines,
			   struct shown *shown)
{
	struct trawl_cell mean =
		tw_table_cell(sums, row_of_type(sums, "computation_time"), TW_COL_TIME_MS_MEAN);
	size_t count = 0, row;

	for (row = 0; row < trawl_table_rows(timelines); row++) {
		struct trawl_cell compute = tw_table_cell(timelines, row, rank_from[COMPUTING]);

		if (compute.state == TRAWL_CELL_MISSING)
			continue;
		shown[count].row = row;
		shown[count++].away = fabs((double)compute.integer / 1e6 - mean.real);
	}
	if (count <= MOST_RANKS)
		return count;
	qsort(shown, count, sizeof(*shown), compare_away);
	qsort(shown, MOST_RANKS, sizeof(*shown), compare_ranks);
	return MOST_RANKS;
}

static struct trawl_table *make_spread(const struct trawl_table *sums,
				       const struct trawl_table *timelines)
{
	struct trawl_table *table = tw_table_new(&rank_spec, trawl_allocator_default());
	size_t ranks = trawl_table_rows(timelines), count, i, column;
	struct shown *shown = cli_alloc(ranks, sizeof(*shown));

	count = choose_ranks(sums, timelines, shown);
	for (i = 0; table && i < count; i++) {
		int64_t busy = tw_table_cell(timelines, shown[i].row, TW_COL_BUSY_TIME_MS).integer;
		int64_t total = tw_table_cell(timelines, shown[i].row, rank_from[TOTAL]).integer;
		size_t row = tw_table_add_row(table);

		for (column = RANK; column <= TOTAL; column++)
			tw_table_copy_cell(table, row, column, timelines, shown[i].row,
					   trawl_table_find_column(timelines, rank_from[column]));
		if (total > 0)
			tw_table_set_real(table, row, BUSY, (double)busy / (double)total * 100);
	}
	if (table && count < ranks && count == MOST_RANKS)
		tw_table_add_note(table,
				  "%d ranks with compute time furthest from the mean; all ranks: "
				  "table rank_timeline",
				  MOST_RANKS);
	return tw_table_finished(table);
}

/* ---- operations */

enum { NAME, TOP_RANKS, CALLS, TIME_MEAN, TIME_MAX, TOP_SLOWEST, TOP_SHARE };

#define TOP_COLUMNS(what, calls, time)                                                           \
	TW_TEXT(what, 40, "name", .values = "!"),                                                \
		TW_INTEGER("ranks", 6, "number of ranks with it", .values = "!>=1"),             \
		TW_REAL(calls, "", 1, 8, "mean calls per rank"),                                 \
		TW_MEAN_MS(time " mean (ms)", 12, "mean time per rank, over the ranks with it"), \
		TW_MEAN_MS("max (ms)", 12, "max time over ranks"),                               \
		TW_INTEGER(TW_COL_SLOWEST_RANK, 8, "rank with the max time"),                    \
		TW_PERCENT_1("share (%)", 8, "mean share of the total")

static const struct trawl_column top_gpu[] = { TOP_COLUMNS("operation", "calls", "GPU time") };
static const struct trawl_column top_kernels[] = { TOP_COLUMNS("kernel", "kernels", "GPU time") };
static const struct trawl_column top_host[] = { TOP_COLUMNS("operation", "calls", "host time") };

/* Where they come from; times in units of which `per_ms` are a millisecond. */
static const struct top_source {
	const char *table, *name, *calls, *time, *share;
	double per_ms;
	struct tw_table_spec spec;
} top_sources[] = {
	{ "ops_summary", "name", TW_COL_COUNT, TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
	  TW_COL_PERCENTAGE, 1,
	  TW_SPEC("top_operations", "top operators by GPU time, over ranks", top_gpu,
		  .keep_empty = true) },
	{ "kernel_summary", TW_COL_KERNEL_NAME, TW_COL_KERNEL_DURATION_US_COUNT,
	  TW_COL_KERNEL_DURATION_US_SUM, TW_COL_PERCENT_OF_KERNELS_TIME, 1000,
	  TW_SPEC("top_operations", "top kernels by GPU time, over ranks", top_kernels,
		  .keep_empty = true) },
	{ "cpu_ops", "name", TW_COL_COUNT, TW_COL_SELF_HOST_TIME_MS, TW_COL_PERCENTAGE, 1,
	  TW_SPEC("top_operations", "top operators by host time, over ranks", top_host,
		  .keep_empty = true) },
};

/* The statistic of a column over ranks as a number. */
static double statistic(const struct trawl_table *table, size_t row, const char *header,
			const char *suffix)
{
	size_t len = strlen(header), i;
	double scale = 1;

	for (i = 0; i < trawl_table_columns(table); i++) {
		const struct trawl_column *column = trawl_table_column(table, i);
		struct trawl_cell cell = trawl_table_cell(table, row, i);
		unsigned digit;

		if (strncmp(column->header, header, len) || strcmp(column->header + len, suffix))
			continue;
		if (cell.state != TRAWL_CELL_VALUE)
			return NAN;
		for (digit = 0; digit < column->scale; digit++)
			scale *= 10;
		return column->type == TRAWL_COLUMN_REAL ? cell.real : (double)cell.integer / scale;
	}
	return NAN;
}

struct trawl_table *cli_top_over_ranks(const struct cli_ranks_report *report)
{
	const struct top_source *source = top_sources;
	const struct trawl_table *from = NULL;
	struct trawl_table *top;
	size_t row, i;

	for (i = 0; i < sizeof(top_sources) / sizeof(top_sources[0]) && !from; i++) {
		from = trawl_job_report_find(report->of, top_sources[i].table);
		if (from && trawl_table_rows(from))
			source = &top_sources[i];
		else
			from = NULL;
	}
	top = tw_table_new(&source->spec, trawl_allocator_default());
	for (row = 0; top && from && row < trawl_table_rows(from) && row < report->top_ops; row++) {
		tw_table_add_row(top);
		tw_table_copy_cell(top, row, NAME, from, row,
				   trawl_table_find_column(from, source->name));
		tw_table_copy_cell(top, row, TOP_RANKS, from, row,
				   trawl_table_find_column(from, "ranks"));
		tw_table_copy_cell(top, row, TOP_SLOWEST, from, row,
				   trawl_table_find_column(from, TW_COL_SLOWEST_RANK));
		tw_table_set_real(top, row, CALLS, statistic(from, row, source->calls, "_mean"));
		tw_table_set_real(top, row, TIME_MEAN,
				  statistic(from, row, source->time, "_mean") / source->per_ms);
		tw_table_set_real(top, row, TIME_MAX,
				  statistic(from, row, source->time, "_max") / source->per_ms);
		tw_table_set_real(top, row, TOP_SHARE,
				  statistic(from, row, source->share, "_mean"));
	}
	return tw_table_finished(top);
}

/* ---- outliers, data quality */

/*
 * The rank it waits for longest, and how long: exposed communication of a waiting rank is caused by
 * another one.
 */
static void add_whom(const struct cli_ranks_report *report, int64_t rank, struct tw_str *out)
{
	const struct trawl_table *waits = trawl_job_report_find(report->of, "collective_waits");
	size_t rows = waits ? trawl_table_rows(waits) : 0, row;

	/* Sorted by time, the longest first. */
	for (row = 0; row < rows; row++)
		if (tw_table_cell(waits, row, TW_COL_WAITING_RANK).integer == rank)
			break;
	if (row == rows)
		return;
	tw_str_addf(out, ": waits for rank %lld (",
		    (long long)tw_table_cell(waits, row, TW_COL_LATE_RANK).integer);
	tw_str_add_decimal_fixed(out, tw_table_cell(waits, row, TW_COL_TOTAL_WAIT_US).integer, 6,
				 3);
	tw_str_add_cstr(out, " ms)");
}

static void add_outlier(const struct cli_ranks_report *report, const struct trawl_table *table,
			size_t row, struct tw_str *out)
{
	struct trawl_cell type = tw_table_cell(table, row, "type");
	struct trawl_cell more = tw_table_cell(table, row, TW_COL_OVER_MEDIAN_PERCENT);
	int64_t rank = tw_table_cell(table, row, "rank").integer;
	const char *name = "", *label = "";
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strlen(parts[i].type) == type.text_len &&
		    !memcmp(parts[i].type, type.text, type.text_len)) {
			name = parts[i].type;
			label = parts[i].label;
		}
	tw_str_addf(out, "rank %-5lld %-22s ", (long long)rank, label);
	tw_str_add_real_fixed(out, statistic(table, row, TW_COL_TIME_MS, ""), 3);
	tw_str_add_cstr(out, " ms, ");
	tw_str_add_real_fixed(out, statistic(table, row, TW_COL_OVER_MEDIAN_MS, ""), 3);
	tw_str_add_cstr(out, " ms above median");
	if (more.state == TRAWL_CELL_VALUE) {
		tw_str_add_cstr(out, " (+");
		tw_str_add_real_fixed(out, more.real, 1);
		tw_str_add_cstr(out, " %)");
	}
	if (!strcmp(name, "exposed_comm_time"))
		add_whom(report, rank, out);
}

static void add_outliers(const struct cli_ranks_report *report, struct cli_screen *s)
{
	const struct trawl_table *table = trawl_job_report_find(report->of, "rank_outliers");
	size_t rows = table ? trawl_table_rows(table) : 0, row;
	struct tw_str line;

	if (!rows)
		return;
	tw_str_addf(&s->out,
		    "\n"
		    "%soutlier ranks%s (more than " TW_LIMIT_TEXT(
			    TW_LIMIT_OUTLIER_PERCENT) " %% above the median)\n",
		    s->colour ? "\033[1m" : "", s->colour ? "\033[0m" : "");
	for (row = 0; row < rows && row < MOST_OUTLIERS; row++) {
		tw_str_init(&line, trawl_allocator_default());
		add_outlier(report, table, row, &line);
		tw_str_add_cstr(&s->out, "  ");
		cli_add_line(s, &line, 4);
	}
	if (rows > MOST_OUTLIERS)
		tw_str_addf(&s->out, "  and %zu more in rank_outliers\n", rows - MOST_OUTLIERS);
}

static void add_quality(const struct cli_ranks_report *report, struct cli_screen *s)
{
	const struct trawl_table *table = trawl_job_report_find(report->of, "quality");
	size_t rows = table ? trawl_table_rows(table) : 0, row;

	if (!rows)
		return;
	cli_add_heading(s, "data quality, over ranks");
	for (row = 0; row < rows; row++) {
		struct trawl_cell class = tw_table_cell(table, row, "class");
		struct trawl_cell meaning = tw_table_cell(table, row, "meaning");
		int64_t ranks = tw_table_cell(table, row, "ranks").integer;

		tw_str_addf(&s->out, "  %-7.*s", (int)class.text_len, class.text ? class.text : "");
		cli_add_wrapped(
			s,
			cli_text("%lld x in %lld rank%s: %.*s",
				 (long long)tw_table_cell(table, row, "count_total").integer,
				 (long long)ranks, ranks == 1 ? "" : "s", (int)meaning.text_len,
				 meaning.text ? meaning.text : ""),
			9);
	}
}

void cli_summarise_ranks(const struct cli_ranks_report *report, struct cli_screen *s)
{
	const struct trawl_table *sums = trawl_job_report_find(report->of, "gpu_timeline");
	const struct trawl_table *timelines = trawl_job_report_find(report->of, "rank_timeline");
	struct trawl_table *top;

	add_ranks(report->job, &s->out);
	cli_add_ranks_view(&s->out, report->job);
	cli_add_verdict(trawl_job_report_find(report->of, "verdict"), s);
	if (sums) {
		cli_add_table(s, make_timeline(sums), timeline_spec.meaning);
		cli_add_table(s, make_spread(sums, timelines), rank_spec.meaning);
	} else {
		tw_str_add_cstr(&s->out, "\nno rank has GPU events: host tables only\n");
	}
	add_outliers(report, s);
	cli_add_stragglers(trawl_job_report_find(report->of, "stragglers"), MOST_STRAGGLERS, s);
	top = cli_top_over_ranks(report);
	cli_add_table(s, top, top ? trawl_table_meaning(top) : "");
	add_quality(report, s);
}
