#include "cli/trace/reporting.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "cli/exporting.h"
#include "cli/processes.h"
#include "data/limits.h"
#include "io/sink.h"
#include "job/set/merged.h"
#include "store/quality.h"
#include "store/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

void cli_reporting_init(struct cli_reporting *r, struct cli_option counting[8],
			struct cli_option view[8], struct cli_option common[8])
{
	struct trawl_report_options *o = &r->options;
	const struct cli_option of_counting[8] = {
		{ "linked-only", 0, CLI_FLAG, NULL, &o->linked_only,
		  "gpu_timeline counts only events with a recorded launch" },
		{ "short-kernel-us", 0, CLI_TIME_US, "N", &o->short_kernel_ns,
		  "kernels below N µs are short (default " TW_LIMIT_TEXT(
			  TW_LIMIT_SHORT_KERNEL_US) ")" },
		{ "micro-idle-us", 0, CLI_TIME_US, "N", &o->micro_idle_ns,
		  "split idle time into gaps below and above N µs" },
		{ "clip-overruns", 0, CLI_FLAG, NULL, &o->clip_overruns,
		  "end kernels that run over whole later ones at the next start" },
		{ "platform", 0, CLI_TEXT, "NAME|FILE", &o->platform,
		  "the GPU for the roofline (default: as the trace says)" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option of_view[8] = {
		{ "step", 0, CLI_STEPS, "N[-M]", r->steps, "look at profiler steps N to M" },
		{ "range", 0, CLI_TEXT, "NAME", &o->range, "look at the annotation of this name" },
		{ "start", 0, CLI_TIME_NS, "T", &o->start_ns,
		  "look at the time from T ns on, on the clock of the trace" },
		{ "end", 0, CLI_TIME_NS, "T", &o->end_ns, "look at the time before T ns" },
		{ "device", 0, CLI_TEXT, "N", &o->device, "look at one device" },
		{ "by", 0, CLI_TEXT, "HOW", &r->by,
		  "of steps and ranges the GPU work launched in them (launch) or at their time (time)" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};

	*r = (struct cli_reporting){ .steps = { -1, -1 } };
	trawl_report_options_init(o);
	memcpy(counting, of_counting, sizeof(of_counting));
	memcpy(view, of_view, sizeof(of_view));
	cli_common_options(&r->common, true, common);
}

int cli_reporting_view(struct cli_reporting *r, const struct cli_command *command)
{
	struct trawl_report_options *o = &r->options;

	o->threads = r->common.threads;
	o->step_first = r->steps[0];
	o->step_last = r->steps[1];
	if (r->by && strcmp(r->by, "launch") != 0 && strcmp(r->by, "time") != 0)
		return cli_usage_error(command, "--by: '%.100s' is not launch or time", r->by);
	o->by_time = r->by && !strcmp(r->by, "time");
	if (r->by && !o->range && o->step_first < 0)
		return cli_usage_error(command, "--by needs --step or --range");
	if (o->range && o->step_first >= 0)
		return cli_usage_error(command, "--step and --range exclude each other");
	return -1;
}

int cli_reporting_begin(struct cli_reporting *r, const struct cli_command *command,
			const struct cli_option *const *tables, size_t table_count, int argc,
			char **argv, bool optional)
{
	int count, status;

	status = cli_begin(command, tables, table_count, argc, argv, &count);
	if (status >= 0)
		return status;
	if (count > 1 || (!count && !optional))
		return cli_usage_error(
			command, count ? "one trace at a time, not %d" : "which trace? (%d given)",
			count);
	r->path = count ? argv[0] : NULL;
	return cli_reporting_view(r, command);
}

double cli_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* DIR/name; the directory beside the trace when none was asked for. */
void cli_output_path(const struct cli_reporting *r, const char *name, struct tw_str *out)
{
	const char *slash = strrchr(r->path, '/');

	tw_str_clear(out);
	if (r->common.output) {
		tw_str_add_cstr(out, r->common.output);
	} else {
		if (slash && strcmp(r->path, "-"))
			tw_str_add(out, r->path, (size_t)(slash - r->path) + 1);
		tw_str_add_cstr(out, "analysis_output");
	}
	if (name)
		tw_str_addf(out, "%s%s", out->len && out->ptr[out->len - 1] == '/' ? "" : "/",
			    name);
}

int cli_write_tables(const struct cli_reporting *r, const struct trawl_table *const *tables,
		     size_t count, struct tw_str *csvs, struct tw_str *xlsx,
		     struct trawl_error *err)
{
	int status = 0;

	if (csvs->failed || xlsx->failed)
		status = tw_no_memory(err);
	/* When the workbook may not be written, neither are the others. */
	if (!status && !r->no_xlsx)
		status = tw_sink_check(xlsx->ptr, err);
	if (!status && !r->no_csv)
		status = trawl_write_csv(tables, count, csvs->ptr, err);
	if (!status && !r->no_xlsx)
		status = trawl_write_xlsx(tables, count, xlsx->ptr, err);
	tw_str_release(csvs);
	tw_str_release(xlsx);
	return status;
}

int cli_write_report(const struct cli_reporting *r, const struct trawl_report *report,
		     struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t count = trawl_report_tables(report), i;
	const struct trawl_table **tables = tw_alloc_array(a, count, sizeof(*tables));
	struct tw_str csvs, xlsx;
	int status;

	if (!tables)
		return tw_no_memory(err);
	for (i = 0; i < count; i++)
		tables[i] = trawl_report_table(report, i);
	tw_str_init(&csvs, a);
	tw_str_init(&xlsx, a);
	cli_output_path(r, "perf_report_csvs", &csvs);
	cli_output_path(r, "perf_report.xlsx", &xlsx);
	status = cli_write_tables(r, tables, count, &csvs, &xlsx, err);
	tw_free(a, tables, count * sizeof(*tables));
	return status;
}

int cli_fail_output(const struct trawl_error *err)
{
	if (err->status != TRAWL_EIO)
		return cli_fail(err);
	cli_message("%s (-o DIR writes to another directory)", err->message);
	return CLI_FAILED;
}

/* Where there will be no report: what was odd in the trace itself, which may be why. */
static void tell_trace_defects(const struct cli_reporting *r, const struct trawl_trace *trace)
{
	struct trawl_defect defects[TW_DEFECT_COUNT];
	size_t count = trawl_trace_defects(trace), i;

	for (i = 0; i < count; i++)
		defects[i] = trawl_trace_defect(trace, i);
	cli_tell_defects(r->path, defects, count, &r->common);
}

/* One run: the options, and what is done with the report. */
struct job {
	const struct cli_reporting *r;
	int (*use)(void *context, const struct trawl_report *report,
		   const struct trawl_trace *trace);
	void *context;
};

static int report_trace(const struct job *job, const struct trawl_trace *trace)
{
	const struct cli_reporting *r = job->r;
	struct trawl_defect defects[TW_DEFECT_COUNT];
	struct trawl_report *report;
	struct trawl_error err;
	double start = cli_seconds();
	size_t count, i;
	int status;

	status = tw_report_new_only(&report, trace, &r->options, r->only, &err);
	if (status) {
		tell_trace_defects(r, trace);
		trawl_error_context(&err, status, "%s", r->path);
		return cli_fail(&err);
	}
	if (r->common.verbose)
		cli_message("analysed in %.3f s", cli_seconds() - start);
	count = trawl_report_defects(report);
	for (i = 0; i < count; i++)
		defects[i] = trawl_report_defect(report, i);
	status = r->common.strict ? cli_strict_status(r->path, defects, count) : CLI_DONE;
	if (status == CLI_DONE) {
		cli_tell_defects(r->path, defects, count, &r->common);
		status = job->use(job->context, report, trace);
	}
	if (status == CLI_DONE)
		status = cli_defects_status(defects, count);
	trawl_report_free(report);
	return status;
}

static int read_and_report(const struct job *job, const struct trawl_allocator *memory)
{
	const struct cli_reporting *r = job->r;
	struct cli_progress progress;
	struct trawl_read_options read = {
		.allocator = memory,
		.threads = r->common.threads,
		.block_size = cli_block_size(),
		.progress = cli_progress_update,
		.progress_context = &progress,
	};
	struct cli_exported exported;
	struct trawl_trace *trace;
	struct trawl_error err;
	double start = cli_seconds();
	int status = cli_export(&exported, r->path, &r->common, &err);

	if (status)
		return cli_fail(&err);
	cli_progress_begin(&progress, r->path, r->common.quiet);
	status = trawl_trace_read(&trace, exported.path, &read, &err);
	cli_progress_end(&progress);
	if (status && exported.path != r->path)
		trawl_error_context(&err, status, "%s, exported", r->path);
	cli_export_end(&exported);
	if (status)
		return cli_fail(&err);
	if (r->common.verbose)
		cli_message("%s: %.1f MB, %llu events read in %.3f s", r->path,
			    (double)trace->bytes / 1e6,
			    (unsigned long long)trawl_trace_events(trace), cli_seconds() - start);
	if (!r->common.quiet && tw_is_merged_trace(trace))
		cli_message("%s: it is a merged trace, in which GPUs of several ranks have one "
			    "number: report what it was merged from",
			    r->path);
	status = report_trace(job, trace);
	trawl_trace_free(trace);
	return status;
}

int cli_check_output(const char *dir, struct trawl_error *err)
{
	struct tw_str there;
	struct stat info;
	int status = 0;
	char *slash;

	tw_str_init(&there, trawl_allocator_default());
	tw_str_add_cstr(&there, dir);
	while (!there.failed && stat(there.ptr, &info) && (errno == ENOENT || errno == ENOTDIR) &&
	       (slash = strrchr(there.ptr, '/')) && slash > there.ptr)
		*slash = 0;
	if (!there.failed && !stat(there.ptr, &info) && !S_ISDIR(info.st_mode))
		status = trawl_error_set(err, TRAWL_EIO,
					 "cannot create directory '%s': '%s' is not a directory",
					 dir, there.ptr);
	tw_str_release(&there);
	return status;
}

static int check_output(const struct cli_reporting *r, struct trawl_error *err)
{
	struct tw_str path;
	int status = 0;

	tw_str_init(&path, trawl_allocator_default());
	cli_output_path(r, NULL, &path);
	if (!path.failed)
		status = cli_check_output(path.ptr, err);
	tw_str_release(&path);
	return status;
}

/* What reading gives back, analysing takes: fresh memory is what costs most. */
int cli_reporting_run(const struct cli_reporting *r, bool writes,
		      int (*use)(void *context, const struct trawl_report *report,
				 const struct trawl_trace *trace),
		      void *context)
{
	const struct job job = { r, use, context };
	struct tw_reuse *memory;
	struct trawl_error err;
	int status;

	/* One trace is work for one process. */
	if (cli_is_led())
		return CLI_LED;
	/* Before the trace is read, which may take its time. */
	if ((r->options.platform && tw_platform_check(r->options.platform, &err)) ||
	    (writes && check_output(r, &err)))
		return cli_fail(&err);
	memory = tw_reuse_new(trawl_allocator_default());
	if (!memory)
		return cli_no_memory();
	status = read_and_report(&job, tw_reuse_allocator(memory));
	tw_reuse_free(memory);
	return status;
}
