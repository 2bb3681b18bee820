/* trawl report: from a trace to its tables, as files and as a summary. */
#include "cli/cli.h"

#include "analysis/analysis.h"
#include "base/reuse.h"
#include "store/trace.h"
#include "table/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOFLINE "roofline.png"

struct report_command {
	struct cli_common common;
	struct trawl_report_options options;
	unsigned top_ops;
	int64_t steps[2];
	bool no_xlsx, no_csv, plots;
	const char *path;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* DIR/name; the directory beside the trace when none was asked for. */
static void output_path(const struct report_command *c, const char *name, struct tw_str *out)
{
	const char *slash = strrchr(c->path, '/');

	tw_str_clear(out);
	if (c->common.output) {
		tw_str_add_cstr(out, c->common.output);
	} else {
		if (slash && strcmp(c->path, "-"))
			tw_str_add(out, c->path, (size_t)(slash - c->path) + 1);
		tw_str_add_cstr(out, "analysis_output");
	}
	if (name)
		tw_str_addf(out, "%s%s", out->len && out->ptr[out->len - 1] == '/' ? "" : "/",
			    name);
}

/* The tables of the report as a list. */
static size_t list_tables(const struct trawl_report *report, const struct trawl_table **tables,
			  size_t most)
{
	size_t count = trawl_report_tables(report), i;

	if (count > most)
		count = most;
	for (i = 0; i < count; i++)
		tables[i] = trawl_report_table(report, i);
	return count;
}

/* A report with nothing to draw is done without the picture. */
static int draw_plots(const struct report_command *c, const struct trawl_report *report,
		      const struct trawl_trace *trace, bool *drawn, struct trawl_error *err)
{
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	output_path(c, ROOFLINE, &path);
	status = path.failed ? trawl_error_set(err, TRAWL_ENOMEM, "out of memory") :
			       cli_draw_roofline(report, trace, path.ptr, err);
	*drawn = !status;
	if (status == TRAWL_ENODATA) {
		if (!c->common.quiet)
			cli_message("%s", err->message);
		status = 0;
	}
	tw_str_release(&path);
	return status;
}

static int write_files(const struct report_command *c, const struct trawl_report *report,
		       const struct trawl_trace *trace, bool *drawn, struct trawl_error *err)
{
	const struct trawl_table *tables[64];
	size_t count = list_tables(report, tables, 64);
	struct tw_str path;
	int status = 0;

	tw_str_init(&path, trawl_allocator_default());
	if (!c->no_csv) {
		output_path(c, "perf_report_csvs", &path);
		status = path.failed ? trawl_error_set(err, TRAWL_ENOMEM, "out of memory") :
				       trawl_write_csv(tables, count, path.ptr, err);
	}
	if (!status && !c->no_xlsx) {
		output_path(c, "perf_report.xlsx", &path);
		status = path.failed ? trawl_error_set(err, TRAWL_ENOMEM, "out of memory") :
				       trawl_write_xlsx(tables, count, path.ptr, err);
	}
	tw_str_release(&path);
	if (!status && c->plots)
		status = draw_plots(c, report, trace, drawn, err);
	return status;
}

static void tell_if_there(const struct tw_str *path, const char *what)
{
	if (!path->failed && !access(path->ptr, F_OK))
		cli_message("%s is of an earlier report: this trace has no such %s", path->ptr,
			    what);
}

/*
 * Files of what this trace has nothing to say about, left from an earlier report: nothing is
 * deleted here, but they are not of this trace.
 */
static void tell_stale(const struct report_command *c, const struct trawl_report *report,
		       bool drawn)
{
	struct tw_str path;
	size_t i;

	if (c->common.quiet)
		return;
	tw_str_init(&path, trawl_allocator_default());
	for (i = 0; i < tw_analysis_count && !c->no_csv; i++) {
		const char *name = tw_analyses[i]->table.name;

		if (trawl_report_find(report, name))
			continue;
		output_path(c, "perf_report_csvs", &path);
		tw_str_addf(&path, "/%s.csv", name);
		tell_if_there(&path, "table");
	}
	if (c->plots && !drawn) {
		output_path(c, ROOFLINE, &path);
		tell_if_there(&path, "picture");
	}
	tw_str_release(&path);
}

static void tell_where(const struct report_command *c, const struct trawl_report *report,
		       bool drawn)
{
	const char *names[3];
	struct tw_str path, list;
	size_t count = 0, i;

	if (!c->no_xlsx)
		names[count++] = "perf_report.xlsx";
	if (!c->no_csv)
		names[count++] = "perf_report_csvs/";
	if (drawn)
		names[count++] = ROOFLINE;
	if (c->common.quiet || !count)
		return;
	tw_str_init(&path, trawl_allocator_default());
	tw_str_init(&list, trawl_allocator_default());
	output_path(c, NULL, &path);
	for (i = 0; i < count; i++)
		tw_str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	if (!path.failed && !list.failed && c->no_csv && c->no_xlsx)
		cli_message("%s written to %s/", list.ptr, path.ptr);
	else if (!path.failed && !list.failed)
		cli_message("%zu tables written to %s/ (%s)", trawl_report_tables(report), path.ptr,
			    list.ptr);
	tw_str_release(&list);
	tw_str_release(&path);
}

static int print_result(const struct report_command *c, const struct trawl_report *report,
			const struct trawl_trace *trace)
{
	const struct trawl_table *tables[3];
	struct trawl_table *top = NULL;
	struct tw_str out;
	size_t count = 0;
	int status;

	tw_str_init(&out, trawl_allocator_default());
	if (c->common.format == TW_FORMAT_TABLE) {
		cli_summarise(report, trace, c->top_ops, cli_width(), cli_colour(), &out);
	} else {
		top = cli_top_operations(report, c->top_ops);
		tables[count] = trawl_report_find(report, "gpu_timeline");
		count += tables[count] != NULL;
		tables[count] = top;
		count += top != NULL;
		tables[count] = trawl_report_find(report, "quality");
		count += tables[count] != NULL;
		tw_render(tables, count, c->common.format, "report", 0, &out);
		out.failed |= !top;
	}
	if (out.failed)
		cli_message("out of memory");
	status = out.failed ? CLI_FAILED : cli_print(out.ptr ? out.ptr : "", out.len);
	tw_table_free(top);
	tw_str_release(&out);
	return status;
}

/* Where there will be no report: what was odd in the trace itself, which may be why. */
static void tell_trace_defects(const struct report_command *c, const struct trawl_trace *trace)
{
	struct trawl_defect defects[128];
	size_t count = trawl_trace_defects(trace), i;

	for (i = 0; i < count; i++)
		defects[i] = trawl_trace_defect(trace, i);
	cli_tell_defects(c->path, defects, count, &c->common);
}

static int report_trace(const struct report_command *c, const struct trawl_trace *trace)
{
	struct trawl_defect defects[128];
	struct trawl_report *report;
	struct trawl_error err;
	double start = seconds();
	bool drawn = false;
	size_t count, i;
	int status;

	status = trawl_report_new(&report, trace, &c->options, &err);
	if (status) {
		tell_trace_defects(c, trace);
		trawl_error_context(&err, status, "%s", c->path);
		return cli_fail(&err);
	}
	if (c->common.verbose)
		cli_message("analysed in %.3f s", seconds() - start);
	count = trawl_report_defects(report);
	for (i = 0; i < count; i++)
		defects[i] = trawl_report_defect(report, i);
	status = c->common.strict ? cli_strict_status(c->path, defects, count) : CLI_DONE;
	if (status == CLI_DONE) {
		start = seconds();
		cli_tell_defects(c->path, defects, count, &c->common);
		status = write_files(c, report, trace, &drawn, &err) ? cli_fail(&err) : CLI_DONE;
		if (c->common.verbose)
			cli_message("written in %.3f s", seconds() - start);
	}
	if (status == CLI_DONE)
		status = print_result(c, report, trace);
	if (status == CLI_DONE) {
		tell_where(c, report, drawn);
		tell_stale(c, report, drawn);
		status = cli_defects_status(defects, count);
	}
	trawl_report_free(report);
	return status;
}

static int read_and_report(const struct report_command *c, const struct trawl_allocator *memory)
{
	struct cli_progress progress;
	struct trawl_read_options read = {
		.allocator = memory,
		.threads = c->common.threads,
		.block_size = cli_block_size(),
		.progress = cli_progress_update,
		.progress_context = &progress,
	};
	struct trawl_trace *trace;
	struct trawl_error err;
	double start = seconds();
	int status;

	cli_progress_begin(&progress, c->path, c->common.quiet);
	status = trawl_trace_read(&trace, c->path, &read, &err);
	cli_progress_end(&progress);
	if (status)
		return cli_fail(&err);
	if (c->common.verbose)
		cli_message("%s: %.1f MB, %llu events read in %.3f s", c->path,
			    (double)trace->bytes / 1e6,
			    (unsigned long long)trawl_trace_events(trace), seconds() - start);
	status = report_trace(c, trace);
	trawl_trace_free(trace);
	return status;
}

/* Whether the output directory can be one: it, or the nearest of its parents that there is. */
static int check_output(const struct report_command *c, struct trawl_error *err)
{
	struct tw_str path, there;
	struct stat info;
	int status = 0;
	char *slash;

	if (c->no_csv && c->no_xlsx && !c->plots)
		return 0;
	tw_str_init(&path, trawl_allocator_default());
	tw_str_init(&there, trawl_allocator_default());
	output_path(c, NULL, &path);
	output_path(c, NULL, &there);
	while (!there.failed && stat(there.ptr, &info) && (errno == ENOENT || errno == ENOTDIR) &&
	       (slash = strrchr(there.ptr, '/')) && slash > there.ptr)
		*slash = 0;
	if (!path.failed && !there.failed && !stat(there.ptr, &info) && !S_ISDIR(info.st_mode))
		status = trawl_error_set(err, TRAWL_EIO,
					 "cannot create directory '%s': '%s' is not a directory",
					 path.ptr, there.ptr);
	tw_str_release(&there);
	tw_str_release(&path);
	return status;
}

/* What reading gives back, analysing takes: fresh memory is what costs most. */
static int run(const struct report_command *c)
{
	struct tw_reuse *memory;
	struct tw_platform platform;
	struct trawl_error err;
	int status;

	/* Before the trace is read, which may take its time. */
	if ((c->options.platform && tw_platform_open(c->options.platform, &platform, &err)) ||
	    check_output(c, &err))
		return cli_fail(&err);
	memory = tw_reuse_new(trawl_allocator_default());
	if (!memory) {
		cli_message("out of memory");
		return CLI_FAILED;
	}
	status = read_and_report(c, tw_reuse_allocator(memory));
	tw_reuse_free(memory);
	return status;
}

int cli_report(const struct cli_command *command, int argc, char **argv)
{
	struct report_command c = { .top_ops = 10, .steps = { -1, -1 } };
	struct trawl_report_options *o = &c.options;
	struct cli_option common[8];
	const struct cli_option own[] = {
		{ "linked-only", 0, CLI_FLAG, NULL, &o->linked_only,
		  "gpu_timeline counts only events with a recorded launch" },
		{ "short-kernel-us", 0, CLI_TIME_US, "N", &o->short_kernel_ns,
		  "kernels below N µs are short (default 10)" },
		{ "micro-idle-us", 0, CLI_TIME_US, "N", &o->micro_idle_ns,
		  "split idle time into gaps below and above N µs" },
		{ "top-ops", 0, CLI_COUNT, "N", &c.top_ops,
		  "operations in the summary (default 10)" },
		{ "clip-overruns", 0, CLI_FLAG, NULL, &o->clip_overruns,
		  "end kernels that run over whole later ones at the next start" },
		{ "platform", 0, CLI_TEXT, "NAME|FILE", &o->platform,
		  "the GPU for the roofline (default: as the trace says)" },
		{ "plots", 0, CLI_FLAG, NULL, &c.plots, "draw " ROOFLINE " too, with gnuplot" },
		{ "no-xlsx", 0, CLI_FLAG, NULL, &c.no_xlsx, "write no workbook" },
		{ "no-csv", 0, CLI_FLAG, NULL, &c.no_csv, "write no CSV files" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option view[] = {
		{ "step", 0, CLI_STEPS, "N[-M]", c.steps, "look at profiler steps N to M" },
		{ "range", 0, CLI_TEXT, "NAME", &o->range, "look at the annotation of this name" },
		{ "start", 0, CLI_TIME_NS, "T", &o->start_ns,
		  "look at the time from T ns on, on the clock of the trace" },
		{ "end", 0, CLI_TIME_NS, "T", &o->end_ns, "look at the time before T ns" },
		{ "device", 0, CLI_TEXT, "N", &o->device, "look at one device" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option *const tables[] = { own, view, common };
	int count, status;

	trawl_report_options_init(o);
	cli_common_options(&c.common, true, common);
	status = cli_begin(command, tables, 3, argc, argv, &count);
	if (status >= 0)
		return status;
	if (count != 1)
		return cli_usage_error(
			command, count ? "one trace at a time, not %d" : "which trace? (%d given)",
			count);
	c.path = argv[0];
	o->threads = c.common.threads;
	o->step_first = c.steps[0];
	o->step_last = c.steps[1];
	if (o->range && o->step_first >= 0)
		return cli_usage_error(command, "--step and --range exclude each other");
	return run(&c);
}
