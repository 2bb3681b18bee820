/*
 * The summary that a person reads in ten seconds: what trace, where its time went, the top
 * operations, what is wrong with the data.
 */
#include "cli/cli.h"
#include "cli/screen.h"

#include "analysis/analysis.h"
#include "data/limits.h"
#include "text/rank_list.h"
#include "model/roofline.h"
#include "render/escape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bars take what a line has left after its numbers, up to this. */
#define MOST_BAR_CELLS 40
#define MOST_DEVICES 16
#define CELLS_BEFORE_BAR 50

static void add_escaped(struct tw_str *out, const char *text)
{
	tw_escape_terminal(out, text, strlen(text));
}

/* 1234567 -> "1,234,567" */
static void add_grouped(struct tw_str *out, int64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%lld", (long long)n), i;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
			tw_str_add_char(out, ',');
		tw_str_add_char(out, digits[i]);
	}
}

/* First start and last end of anything that has them, and how many are GPU events. */
struct recorded {
	int64_t first_ns, last_ns;
	uint64_t gpu;
};

static struct recorded find_recorded(const struct trawl_trace *trace)
{
	const struct tw_events *events = &trace->events;
	struct recorded all = { INT64_MAX, INT64_MIN, 0 };
	uint64_t i;

	for (i = 0; i < events->count; i++) {
		enum trawl_class class = tw_class(trace, i);
		int64_t start = events->start_ns[i];

		if (events->phase[i] != 'X' || class == TRAWL_CLASS_OTHER)
			continue;
		if (start < all.first_ns)
			all.first_ns = start;
		if (start + events->dur_ns[i] > all.last_ns)
			all.last_ns = start + events->dur_ns[i];
		all.gpu += tw_class_is_gpu(class);
	}
	return all;
}

static void add_platform_line(const struct trawl_report *report, const struct trawl_trace *trace,
			      bool gpu, struct tw_str *out)
{
	bool guessed;
	const char *platform = trawl_report_platform(report, &guessed);

	if (platform) {
		tw_str_add_cstr(out, "roofline peaks: ");
		add_escaped(out, platform);
		tw_str_add_cstr(out, guessed ? " (from the device)\n" : "\n");
	} else if (gpu) {
		tw_str_add_cstr(out, trace->device_name[0] ?
					     "no roofline: unknown peaks of this device" :
					     "no roofline: no device name in the trace");
		tw_str_add_cstr(out, "; use --platform NAME\n");
	}
}

/* Ranks that are one in this report. */
static void add_parts(const struct trawl_trace *trace, struct tw_str *out)
{
	enum { MOST = 64 };
	int64_t ranks[MOST];
	uint32_t n = trace->part_count, i;
	bool told = n <= MOST;

	if (n < 2)
		return;
	for (i = 0; i < n && told; i++) {
		ranks[i] = trace->rank_parts[i].rank;
		told = ranks[i] >= 0 && (!i || ranks[i] > ranks[i - 1]);
	}
	if (told) {
		tw_str_add_cstr(out, ", ranks ");
		tw_rank_list_add(out, ranks, n);
	} else {
		tw_str_addf(out, ", %u ranks", n);
	}
	tw_str_add_cstr(out, " together");
}

static void add_trace_lines(const struct trawl_report *report, const struct trawl_trace *trace,
			    size_t devices, struct tw_str *out)
{
	const struct recorded all = find_recorded(trace);

	add_escaped(out, trace->device_name[0] ? trace->device_name : "device not named");
	if (trace->rank >= 0)
		tw_str_addf(out, ", rank %lld", (long long)trace->rank);
	if (trace->rank >= 0 && trace->world_size > 0)
		tw_str_addf(out, " of %lld", (long long)trace->world_size);
	if (devices > 1)
		tw_str_addf(out, ", %zu devices", devices);
	add_parts(trace, out);
	tw_str_add_cstr(out, ", ");
	add_grouped(out, (int64_t)trace->events.count);
	tw_str_add_cstr(out, " events, ");
	add_grouped(out, (int64_t)all.gpu);
	tw_str_add_cstr(out, " on the GPU\n");
	if (all.first_ns < all.last_ns)
		tw_str_addf(out, "%.3f ms recorded\n", (double)(all.last_ns - all.first_ns) / 1e6);
	add_platform_line(report, trace, all.gpu, out);
	if (trawl_report_view(report)[0]) {
		tw_str_add_cstr(out, "view: ");
		add_escaped(out, trawl_report_view(report));
		tw_str_add_char(out, '\n');
		tw_describe_step_work(&tw_report_input(report)->derived->steps, out);
	}
}

/* What tables by operator miss: before all of them. */
static void add_graph_notice(const struct trawl_report *report, struct cli_screen *s)
{
	struct tw_str notice;

	tw_str_init(&notice, s->out.allocator);
	if (!tw_graph_notice(tw_report_input(report), &notice))
		return;
	tw_str_add_char(&s->out, '\n');
	cli_add_line(s, &notice, 0);
}

/* The cell of the timeline's row named `type`; false when it has none. */
static bool timeline_row(const struct trawl_table *table, const char *type, int64_t *ns)
{
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell name = trawl_table_cell(table, row, 0);

		if (name.text_len == strlen(type) && !memcmp(name.text, type, name.text_len)) {
			*ns = trawl_table_cell(table, row, 1).integer;
			return true;
		}
	}
	return false;
}

/* Whether the GPU did anything in the view. */
static bool has_gpu_events(const struct trawl_report *report)
{
	return trawl_report_find(report, "streams") != NULL;
}

static void add_bar(struct cli_screen *s, double share, const char *colour)
{
	struct tw_str *out = &s->out;
	unsigned width = s->width;
	int most = width >= CELLS_BEFORE_BAR + MOST_BAR_CELLS ? MOST_BAR_CELLS :
								(int)width - CELLS_BEFORE_BAR;
	int cells = (int)(share * most + 0.5), i;

	if (share <= 0 || most < 10)
		return;
	tw_str_add_cstr(out, "  ");
	if (s->colour)
		tw_str_addf(out, "\033[%sm", colour);
	for (i = 0; i < cells; i++)
		tw_str_add_cstr(out, "█");
	/* There, but less than half a cell. */
	if (!cells)
		tw_str_add_cstr(out, "▏");
	if (s->colour)
		tw_str_add_cstr(out, "\033[0m");
}

/* Work was launched, and what became of it is not there: no trace of the host alone. */
static void add_lost_launches(const struct trawl_report *report, struct cli_screen *s)
{
	size_t i;

	/* Losses first: unusable records are in the data quality. */
	for (i = 0; i < trawl_report_defects(report); i++) {
		const struct trawl_defect defect = trawl_report_defect(report, i);
		char text[512];

		if (!strcmp(defect.kind, "gpu_overflow"))
			cli_add_wrapped(s, "are times in nanoseconds? the format has microseconds",
					0);
		if (!strncmp(defect.kind, "gpu_", 4))
			return;
		if (strcmp(defect.kind, "launch_without_kernel") != 0)
			continue;
		snprintf(text, sizeof(text),
			 "%lld recorded launch%s no GPU activity: the profiler drops records "
			 "outside its time window (\"Out-of-range\" in its log, "
			 "KINETO_LOG_LEVEL=0), records not flushed when it stops (synchronize the "
			 "device first), and all records while another profiler holds the GPU",
			 (long long)defect.count, defect.count == 1 ? " has" : "es have");
		cli_add_wrapped(s, text, 0);
	}
}

static void add_timeline(const struct trawl_report *report, bool several, struct cli_screen *s)
{
	static const struct {
		const char *type, *label, *colour;
	} rows[] = {
		{ "computation_time", "computing", "32" },
		{ "exposed_comm_time", TW_LABEL_EXPOSED_COMMUNICATION, "33" },
		{ "exposed_memcpy_time", TW_LABEL_EXPOSED_COPIES, "36" },
		{ "other_work_time", "other work", "35" },
		{ "idle_time", "idle", "31" },
		{ "micro_idle_time", "idle, short gaps", "31" },
		{ "macro_idle_time", "idle, long gaps", "31" },
	};
	const struct trawl_table *table = trawl_report_find(report, "gpu_timeline");
	int64_t total, ns;
	size_t i;

	if (!table || !timeline_row(table, "total_time", &total)) {
		const struct trawl_table *quality = trawl_report_find(report, "quality");

		tw_str_add_cstr(&s->out, trawl_report_view(report)[0] ?
						 "\n"
						 "no GPU events in this view\n" :
						 "\nno GPU events: host tables only\n");
		if (quality && trawl_table_notes(quality)) {
			add_escaped(&s->out, trawl_table_note(quality, 0));
			tw_str_add_char(&s->out, '\n');
		}
		add_lost_launches(report, s);
		return;
	}
	cli_add_heading(s, several ? "GPU time, all devices combined; share of the total" :
				     "GPU time; share of the total");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double share;

		if (!timeline_row(table, rows[i].type, &ns) ||
		    (!ns && !strcmp(rows[i].type, "other_work_time")))
			continue;
		share = total > 0 ? (double)ns / (double)total : 0;
		tw_str_addf(&s->out, "  %-22s %12.3f ms %5.1f %%", rows[i].label, (double)ns / 1e6,
			    share * 100);
		add_bar(s, share, rows[i].colour);
		tw_str_add_char(&s->out, '\n');
	}
	tw_str_addf(&s->out, "  %-22s %12.3f ms", "total", (double)total / 1e6);
	if (timeline_row(table, "busy_time", &ns) && total > 0)
		tw_str_addf(&s->out, " %5.1f %% busy", (double)ns / (double)total * 100);
	tw_str_add_char(&s->out, '\n');
	if (!has_gpu_events(report))
		tw_str_add_cstr(&s->out, "no GPU events in this view\n");
}

static const struct trawl_column top_gpu[] = {
	TW_TEXT("operation", 40, "op name"),
	TW_TEXT("category", 20, "category of its first call"),
	TW_INTEGER("calls", 8, "calls", .values = "!>=1"),
	TW_MS(TW_COL_GPU_TIME_MS, 12, "sum of the GPU work that it launches", .values = ">=0"),
	TW_PERCENT_1(TW_COL_SHARE_PERCENT, 8, "share of the summed duration of all GPU work",
		     .values = ">=0"),
	TW_PERCENT_1("roofline (%)", 8,
		     "roofline time / kernel time, over its rows in unified_perf_summary with both"),
};

static const struct trawl_column top_host[] = {
	TW_TEXT("operation", 40, "op name"),
	TW_INTEGER("calls", 8, "calls", .values = "!>=1"),
	TW_MS(TW_COL_SELF_HOST_TIME_MS, 12, "host time minus that of its children",
	      .values = ">=0"),
	TW_PERCENT_1("share (%)", 8, "share of all self time", .values = ">=0"),
};

static const struct tw_table_spec top_gpu_spec = { .name = "top_operations",
						   .meaning = "top operators by GPU time",
						   .columns = top_gpu,
						   .column_count = 5,
						   .keep_empty = true };
/* Where the platform is known. */
static const struct tw_table_spec top_roofline_spec = { .name = "top_operations",
							.meaning = "top operators by GPU time",
							.columns = top_gpu,
							.column_count = 6,
							.keep_empty = true };
static const struct tw_table_spec top_host_spec = { .name = "top_operations",
						    .meaning = "top operators by host time",
						    .columns = top_host,
						    .column_count = 4,
						    .keep_empty = true };

/* Where the columns of the two come from. */
static const char *const top_gpu_sources[] = { "operator",    "category",	    "calls",
					       TW_COL_SUM_MS, TW_COL_SHARE_PERCENT, NULL };
static const char *const top_host_sources[] = { "name", TW_COL_COUNT, TW_COL_SELF_HOST_TIME_MS,
						TW_COL_PERCENTAGE };

static double percent_of_roofline(const struct trawl_table *table, size_t row)
{
	struct trawl_cell cell = tw_table_cell(table, row, TW_COL_PCT_ROOFLINE_MEAN);

	return cell.state == TRAWL_CELL_VALUE ? cell.real : NAN;
}

/* Over the rows of that name, each as much as its kernel time; NaN when none has one. */
static double roofline_of_name(const struct trawl_table *table, struct trawl_cell name)
{
	size_t name_column = trawl_table_find_column(table, "name"), row;
	double sum = 0, time = 0;

	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, name_column);
		double percent, kernel_time;

		if (cell.text_len != name.text_len || !cell.text || !name.text ||
		    memcmp(cell.text, name.text, name.text_len))
			continue;
		percent = percent_of_roofline(table, row);
		if (isnan(percent))
			continue;
		kernel_time = (double)tw_table_cell(table, row, TW_COL_KERNEL_TIME_US_SUM).integer;
		sum += percent * kernel_time;
		time += kernel_time;
	}
	return time > 0 ? sum / time : NAN;
}

static const struct tw_table_spec *top_spec(const struct trawl_report *report, bool gpu)
{
	if (!gpu)
		return &top_host_spec;
	return trawl_report_platform(report, NULL) ? &top_roofline_spec : &top_gpu_spec;
}

/* Exports without operators show ranges or kernels instead: API calls are not operators. */
static bool has_no_operations(const struct trawl_report *report)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	const struct tw_derived *d = in->derived;
	uint64_t node;

	for (node = 0; node < d->host.count; node++)
		if (tw_node_class(d, node) == TRAWL_CLASS_CPU_OP)
			return false;
	return in->trace->by_process;
}

/* Of the roofline or, without a peak for what it computes, of the bandwidth; NaN: not known. */
static double percent_of_peaks(const struct trawl_report *report, const struct trawl_table *table,
			       size_t row)
{
	const struct tw_platform *platform = tw_report_input(report)->platform;
	struct trawl_cell rate = tw_table_cell(table, row, TW_COL_TB_S_MEAN);
	double percent = percent_of_roofline(table, row);

	if (isnan(percent) && platform && rate.state == TRAWL_CELL_VALUE)
		return rate.real * 1e3 / platform->mem_bw_gbps * 100;
	return percent;
}

/* Rows above one percentage of the roofline and not above another. */
struct over {
	size_t count;
	double highest;
	struct tw_str list;
};

static void find_over(const struct trawl_report *report, double above, double until,
		      struct over *over)
{
	const struct trawl_table *table = trawl_report_find(report, "unified_perf_summary");
	size_t row;

	*over = (struct over){ 0 };
	tw_str_init(&over->list, trawl_allocator_default());
	for (row = 0; table && row < trawl_table_rows(table); row++) {
		double percent = percent_of_peaks(report, table, row);
		struct trawl_cell name = tw_table_cell(table, row, "name");

		if (!(percent > above && percent <= until))
			continue;
		over->highest = fmax(over->highest, percent);
		tw_str_add_cstr(&over->list, over->count++ ? ", " : "");
		tw_escape_terminal(&over->list, name.text, name.text_len < 60 ? name.text_len : 60);
		/* So that what is just over does not read as if it were not. */
		tw_str_addf(&over->list, " (row %zu) %.*f %%", row + 1, percent < 200, percent);
	}
}

#define ANOMALY_PERCENT TW_LIMIT_TEXT(TW_LIMIT_ROOFLINE_ANOMALY_PERCENT)

/*
 * What cannot be, row by row: the data was in a cache, or the time, the cost model or the peak is
 * wrong there. What is over by little may be so because peaks are nominal.
 */
static void say_over_roofline(const struct trawl_report *report, struct tw_str *out)
{
	struct over wrong, little;

	find_over(report, TW_LIMIT_ROOFLINE_ANOMALY_PERCENT, INFINITY, &wrong);
	find_over(report, 100, TW_LIMIT_ROOFLINE_ANOMALY_PERCENT, &little);
	if (wrong.count && !wrong.list.failed)
		tw_str_addf(out,
			    "%zu row%s of unified_perf_summary over " ANOMALY_PERCENT
			    " %% of the roofline, up to %.*f %%: %s (data in cache, or wrong "
			    "time, cost model or peak)",
			    wrong.count, wrong.count == 1 ? "" : "s", wrong.highest < 200,
			    wrong.highest, wrong.list.ptr);
	if (little.count && !little.list.failed)
		tw_str_addf(out,
			    "%s%zu row%s of unified_perf_summary at 100 to " ANOMALY_PERCENT
			    " %% of the roofline: %s",
			    wrong.count ? ". " : "", little.count, little.count == 1 ? "" : "s",
			    little.list.ptr);
	out->failed |= wrong.list.failed | little.list.failed;
	tw_str_release(&wrong.list);
	tw_str_release(&little.list);
}

static void note_over_roofline(const struct trawl_report *report, struct trawl_table *table)
{
	struct tw_str line;

	tw_str_init(&line, trawl_allocator_default());
	say_over_roofline(report, &line);
	if (line.len && !line.failed)
		tw_table_add_note(table, "%s", line.ptr);
	tw_str_release(&line);
}

/* All rows of operators but that of the work in none, which is the last. */
static size_t operator_rows(const struct trawl_table *ops)
{
	size_t rows = ops ? trawl_table_rows(ops) : 0;

	return rows && tw_table_text_is(ops, rows - 1, 0, TW_LABEL_NOT_ATTRIBUTED) ? rows - 1 :
										     rows;
}

static void add_top_row(struct trawl_table *top, const char *const *sources,
			const struct trawl_table *ops, size_t from, const struct trawl_table *work)
{
	size_t row = tw_table_add_row(top), column;

	for (column = 0; column < trawl_table_columns(top); column++) {
		if (sources[column])
			tw_table_copy_cell(top, row, column, ops, from,
					   trawl_table_find_column(ops, sources[column]));
		else if (work)
			tw_table_set_real(top, row, column,
					  roofline_of_name(work,
							   tw_table_cell(ops, from, sources[0])));
	}
}

struct trawl_table *cli_top_operations(const struct trawl_report *report, size_t top_ops,
				       bool screen)
{
	const struct trawl_table *ops = trawl_report_find(report, "ops");
	const struct trawl_table *work = trawl_report_find(report, "unified_perf_summary");
	bool gpu = operator_rows(ops) > 0;
	const char *group = screen && gpu ? tw_report_group(report) : NULL;
	const char *const *sources = gpu ? top_gpu_sources : top_host_sources;
	struct trawl_table *top;
	size_t row, rows;

	if (has_no_operations(report) && trawl_report_find(report, "nvtx_ranges"))
		return cli_top_ranges(report, top_ops);
	if (has_no_operations(report) && gpu)
		return cli_top_kernels(report, top_ops, screen,
				       screen ? tw_report_group(report) : NULL);
	top = tw_table_new(top_spec(report, gpu), trawl_allocator_default());
	if (!gpu)
		ops = has_gpu_events(report) ? NULL : trawl_report_find(report, "cpu_ops");
	if (!top || !ops)
		return top;
	rows = operator_rows(ops);
	for (row = 0; row < rows && row < top_ops; row++) {
		add_top_row(top, sources, ops, row, work);
		if (group)
			cli_name_group(top, row, ops, row, group);
	}
	if (screen && top_ops && rows < trawl_table_rows(ops))
		add_top_row(top, sources, ops, rows, NULL);
	if (trawl_report_view(report)[0])
		tw_table_add_note(top, "view: %s", trawl_report_view(report));
	if (!screen)
		note_over_roofline(report, top);
	return tw_table_finished(top);
}

/* The sum of a column of times. */
static tw_wide sum_of(const struct trawl_table *table, const char *header)
{
	tw_wide sum = 0;
	size_t row;

	for (row = 0; table && row < trawl_table_rows(table); row++)
		sum += tw_table_cell(table, row, header).integer;
	return sum;
}

#define SHARE_OF_ALL "; share of all GPU work"

static void add_shares(struct cli_screen *s, struct trawl_table *table)
{
	char heading[160];

	if (!table) {
		s->out.failed = true;
		return;
	}
	snprintf(heading, sizeof(heading), "%s%s", trawl_table_meaning(table),
		 tw_table_has_column(table, TW_COL_SHARE_PERCENT) &&
				 tw_table_has_column(table, TW_COL_GPU_TIME_MS) ?
			 SHARE_OF_ALL :
			 "");
	cli_add_table(s, table, heading);
}

#define MOST_KERNELS 5

/* Unless each of the first operators is one kernel, and the tables say the same. */
static bool kernels_differ(const struct trawl_table *ops, const struct trawl_table *kernels)
{
	size_t row, rows = operator_rows(ops);

	for (row = 0; row < MOST_KERNELS && row < trawl_table_rows(kernels); row++)
		if (row >= rows || tw_table_cell(ops, row, TW_COL_SUM_MS).integer !=
					   tw_table_cell(kernels, row, TW_COL_SUM_MS).integer)
			return true;
	return false;
}

static void add_top(const struct trawl_report *report, size_t top_ops, struct cli_screen *s)
{
	const struct trawl_table *kernels = trawl_report_find(report, "kernels");
	size_t most = top_ops < MOST_KERNELS ? top_ops : MOST_KERNELS;

	add_shares(s, cli_top_operations(report, top_ops, true));
	if (kernels && !has_no_operations(report) &&
	    kernels_differ(trawl_report_find(report, "ops"), kernels))
		add_shares(s, cli_top_kernels(report, most, true, tw_report_group(report)));
}

static const struct trawl_column kernel_kinds[] = {
	TW_TEXT(TW_COL_KERNEL_CATEGORY, 20, "category, from kernel names"),
	TW_INTEGER("kernels", 8, "number of kernels"),
	TW_MS(TW_COL_GPU_TIME_MS, 12, "total kernel time", .values = ">=0"),
	TW_PERCENT_1(TW_COL_SHARE_PERCENT, 8, "share of the summed duration of all GPU work",
		     .values = ">=0"),
};

static const struct tw_table_spec kernel_kinds_spec = TW_SPEC(
	"kernel_kinds", "GPU time by kernel category (most without a known op)" SHARE_OF_ALL,
	kernel_kinds, .keep_empty = true);

static const char *const kernel_kind_sources[] = { TW_COL_KERNEL_CATEGORY, "kernels",
						   TW_COL_KERNEL_TIME_MS, TW_COL_PERCENTAGE };

/* Whether operations explain less than half of the kernels' time, and names more. */
static bool names_tell_more(const struct trawl_table *kinds)
{
	return kinds && trawl_table_rows(kinds) > 1 &&
	       2 * sum_of(kinds, TW_COL_WITHOUT_OPERATION_MS) >
		       sum_of(kinds, TW_COL_KERNEL_TIME_MS);
}

static void add_kernel_kinds(const struct trawl_report *report, size_t most, struct cli_screen *s)
{
	const struct trawl_table *from = trawl_report_find(report, "kernel_categories");
	double work = (double)sum_of(trawl_report_find(report, "ops"), TW_COL_SUM_MS);
	struct trawl_table *kinds;
	size_t row;

	if (!names_tell_more(from))
		return;
	kinds = cli_first_rows(&kernel_kinds_spec, from, kernel_kind_sources, most);
	for (row = 0; kinds && row < trawl_table_rows(kinds); row++)
		tw_table_set_real(kinds, row, 3,
				  100 * (double)trawl_table_cell(kinds, row, 2).integer / work);
	cli_add_table(s, kinds, kernel_kinds_spec.meaning);
}

static void add_unlinked(const struct trawl_report *report, struct tw_str *out)
{
	const struct trawl_table *table = trawl_report_find(report, "unlinked");
	tw_wide ns = 0;
	int64_t count = 0;
	bool told = true;
	size_t row;

	for (row = 0; table && row < trawl_table_rows(table); row++) {
		struct trawl_cell time;

		count += tw_table_cell(table, row, "count").integer;
		time = tw_table_cell(table, row, TW_COL_TIME_IN_MS);
		told &= time.state == TRAWL_CELL_VALUE;
		ns += time.integer;
	}
	if (count) {
		tw_str_add_cstr(out, "\n");
		add_grouped(out, count);
		tw_str_addf(out, " GPU event%s", count == 1 ? "" : "s");
		if (told)
			tw_str_addf(out, " (%.3f ms)", (double)ns / 1e6);
		tw_str_addf(
			out,
			" %s no matching launch:\ncounted in the timeline, not attributed to any "
			"op\n",
			count == 1 ? "has" : "have");
	}
}

static void add_over_roofline(const struct trawl_report *report, struct cli_screen *s)
{
	struct tw_str line;

	tw_str_init(&line, s->out.allocator);
	say_over_roofline(report, &line);
	if (!line.len)
		return;
	tw_str_add_char(&s->out, '\n');
	cli_add_line(s, &line, 0);
}

/* Share of rows without an estimate: no cost model, or insufficient arguments. */
static void add_without_figures(const struct trawl_report *report, struct cli_screen *s)
{
	const struct trawl_table *table = trawl_report_find(report, "unified_perf_summary");
	double without_ns = 0, all_ns = 0;
	size_t row, count = 0, rows = table ? trawl_table_rows(table) : 0;
	char line[256];

	for (row = 0; row < rows; row++) {
		double ns = (double)tw_table_cell(table, row, TW_COL_KERNEL_TIME_US_SUM).integer;

		all_ns += ns;
		if (tw_table_cell(table, row, TW_COL_GFLOPS).state == TRAWL_CELL_VALUE ||
		    tw_table_cell(table, row, TW_COL_DATA_MOVED_MB).state == TRAWL_CELL_VALUE)
			continue;
		count++;
		without_ns += ns;
	}
	if (!count || has_no_operations(report))
		return;
	snprintf(line, sizeof(line),
		 "%zu of %zu rows of unified_perf_summary (%.1f %% of its kernel time) have no "
		 "FLOP/byte estimate (no cost model, or shapes not recorded: use "
		 "record_shapes=True)",
		 count, rows, all_ns > 0 ? 100 * without_ns / all_ns : 0);
	tw_str_add_char(&s->out, '\n');
	cli_add_wrapped(s, line, 0);
}

void cli_add_defects(const struct trawl_defect *defects, size_t count, struct cli_screen *s)
{
	static const char *const colours[] = { "31", "33", "36", "2" };
	char line[768], place[192], row[128];
	size_t i;

	for (i = 0; i < count; i++) {
		const struct trawl_defect *d = &defects[i];

		place[0] = 0;
		if (d->table && d->severity != TRAWL_NOTE)
			snprintf(place, sizeof(place), " (first in %s)",
				 trawl_defect_place(d, row, sizeof(row)));
		else if (d->offset >= 0)
			snprintf(place, sizeof(place), " (first at byte %lld)",
				 (long long)d->offset);
		snprintf(line, sizeof(line), "%lld x %s%s", (long long)d->count, d->meaning, place);
		tw_str_add_cstr(&s->out, "  ");
		if (s->colour)
			tw_str_addf(&s->out, "\033[%sm", colours[d->severity]);
		tw_str_addf(&s->out, "%-7s", trawl_severity_name(d->severity));
		if (s->colour)
			tw_str_add_cstr(&s->out, "\033[0m");
		cli_add_wrapped(s, line, 9);
	}
}

static void add_quality(const struct trawl_report *report, struct cli_screen *s)
{
	size_t count;
	const struct trawl_defect *defects = cli_report_defects(report, &count);

	if (!count)
		return;
	cli_add_heading(s, "data quality");
	cli_add_defects(defects, count, s);
}

void cli_summarise(const struct trawl_report *report, const struct trawl_trace *trace,
		   size_t top_ops, struct cli_screen *s)
{
	struct trawl_table *devices = cli_by_device(report);
	bool several = devices && trawl_table_rows(devices) > 1;

	s->out.failed |= !devices;
	add_trace_lines(report, trace, devices ? trawl_table_rows(devices) : 0, &s->out);
	add_graph_notice(report, s);
	/* Their union hides what each does. */
	if (several) {
		cli_add_heading(s, trawl_table_meaning(devices));
		tw_render_text(devices, &s->out, s->width, MOST_DEVICES);
	}
	trawl_table_free(devices);
	add_timeline(report, several, s);
	cli_add_steps(report, s);
	add_top(report, top_ops, s);
	cli_add_who(report, top_ops, s);
	add_kernel_kinds(report, top_ops, s);
	add_over_roofline(report, s);
	add_without_figures(report, s);
	add_unlinked(report, &s->out);
	add_quality(report, s);
}
