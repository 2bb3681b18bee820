#include "cli/trace/reporting.h"

#include "base/reuse.h"
#include "cli/exporting.h"
#include "cli/processes.h"
#include "data/limits.h"
#include "job/merge/peek.h"
#include "job/set/set.h"
#include "job/set/sources.h"

#include <stddef.h>
#include <string.h>

static const char *const by_words[] = { "launch", "time", NULL };
static const char *const stacks_words[] = { "none", "modules", "full", NULL };
const struct cli_kind cli_stacks = { cli_read_word, stacks_words, CLI_STACKS_NONE };

const struct cli_kind cli_by = { cli_read_word, by_words, CLI_BY_LAUNCH };

#define AT(member) offsetof(struct cli_reporting, member)

const struct cli_option cli_counting_options[] = {
	{ "linked-only", 0, &cli_flag, NULL, AT(options.linked_only),
	  "count only events with a matching launch in gpu_timeline" },
	{ "short-kernel-us", 0, &cli_time_us, "N", AT(options.short_kernel_ns),
	  "short kernels: below N µs (default " TW_LIMIT_TEXT(TW_LIMIT_SHORT_KERNEL_US) ")" },
	{ "micro-idle-us", 0, &cli_time_us, "N", AT(options.micro_idle_ns),
	  "split idle time into gaps below and above N µs" },
	{ "clip-overruns", 0, &cli_flag, NULL, AT(options.clip_overruns),
	  "truncate kernels that overlap later kernels on the same stream" },
	{ "platform", 0, &cli_string, "NAME|FILE", AT(options.platform),
	  "GPU for the roofline (default: from the device)" },
	{ 0 },
};

const struct cli_option cli_part_options[] = {
	{ "step", 0, &cli_steps, "N[-M]", AT(steps), "analyze profiler steps N to M" },
	{ "range", 0, &cli_string, "NAME", AT(options.range),
	  "analyze the annotations of this name (wildcards * and ?)" },
	{ "start", 0, &cli_time_ns, "T", AT(options.start_ns),
	  "analyze from T ns on (clock of the trace)" },
	{ "end", 0, &cli_time_ns, "T", AT(options.end_ns), "analyze until T ns" },
	{ "device", 0, &cli_string, "N", AT(options.device), "analyze one device" },
	{ 0 },
};

const struct cli_option cli_by_options[] = {
	{ "by", 0, &cli_by, "HOW", AT(by),
	  "select GPU work of steps and ranges by launch or by time" },
	{ 0 },
};

const struct cli_option cli_graph_options[] = {
	{ "capture", 0, &cli_strings, "DIR|FILE", AT(captures),
	  "trace that holds the captures of the GPU graphs (repeatable)" },
	{ "map", 0, &cli_string, "TRACE", AT(map),
	  "trace of an eager run of the same model, for GPU graphs without a capture" },
	{ "accept-count", 0, &cli_flag, NULL, AT(options.accept_count),
	  "accept captures that match by the number of nodes only" },
	{ 0 },
};

const struct cli_option cli_no_xlsx_options[] = {
	{ "no-xlsx", 0, &cli_flag, NULL, AT(no_xlsx), "skip the workbook" },
	{ 0 },
};

const struct cli_option cli_no_csv_options[] = {
	{ "no-csv", 0, &cli_flag, NULL, AT(no_csv), "skip the CSV files" },
	{ 0 },
};

void cli_reporting_init(struct cli_reporting *r)
{
	*r = (struct cli_reporting){ .steps = { -1, -1 } };
	trawl_report_options_init(&r->options);
}

int cli_reporting_view(struct cli_reporting *r, const struct cli_command *command)
{
	struct trawl_report_options *o = &r->options;

	o->threads = r->common.threads;
	o->step_first = r->steps[0];
	o->step_last = r->steps[1];
	o->by_time = r->by == CLI_BY_TIME;
	if (r->by && !o->range && o->step_first < 0)
		return cli_usage_error(command, "--by needs --step or --range");
	if (o->range && o->step_first >= 0)
		return cli_usage_error(command, "--step excludes --range");
	return -1;
}

int cli_reporting_begin(struct cli_reporting *r, const struct cli_command *command, void *state,
			int argc, char **argv, bool optional)
{
	int count, status = cli_begin(command, state, argc, argv, &count);

	if (status >= 0)
		return status;
	if (count > 1 || (!count && !optional))
		return count ? cli_usage_error(command, "more than one TRACE argument (%d given)",
					       count) :
			       cli_usage_error(command, "missing TRACE argument");
	r->path = count ? argv[0] : NULL;
	return cli_reporting_view(r, command);
}

char *cli_output_dir(const struct cli_reporting *r)
{
	const char *slash = strrchr(r->path, '/');

	if (r->common.output)
		return cli_text("%s", r->common.output);
	return cli_text("%.*sanalysis_output", slash ? (int)(slash - r->path) + 1 : 0, r->path);
}

int cli_read_trace(struct trawl_trace **trace, const char *path, const struct cli_common *common,
		   const struct trawl_allocator *memory, bool no_python)
{
	struct cli_progress progress;
	struct trawl_read_options read = {
		.allocator = memory,
		.threads = common->threads,
		.block_size = cli_block_size(),
		.no_python = no_python,
		.progress = cli_progress_update,
		.progress_context = &progress,
	};
	struct cli_exported exported;
	struct trawl_error err;
	double start = cli_seconds();
	int status = cli_export(&exported, path, common, &err);

	if (status)
		return cli_fail(&err);
	cli_progress_begin(&progress, common->quiet);
	status = trawl_trace_read(trace, exported.path, &read, &err);
	cli_progress_end(&progress);
	if (status && exported.path != path)
		trawl_error_context(&err, status, "%s, exported", path);
	cli_export_end(&exported);
	if (status)
		return cli_fail(&err);
	if (common->verbose)
		cli_message("%s: %.1f MB, %llu events read in %.3f s", path,
			    (double)trawl_trace_bytes(*trace) / 1e6,
			    (unsigned long long)trawl_trace_events(*trace), cli_seconds() - start);
	return CLI_DONE;
}

/* Without a report: defects of the trace itself, a possible reason. */
static void tell_trace_defects(const struct cli_reporting *r, const struct trawl_trace *trace)
{
	size_t count;
	const struct trawl_defect *defects = cli_trace_defects(trace, &count);

	cli_tell_defects(r->path, defects, count, &r->common);
}

/* ---- what says what graphs are */

/* The rank of a file of a directory, *is_trace: it is one. */
static int64_t rank_of_file(const char *path, bool *is_trace)
{
	struct tw_peek peek;
	struct trawl_error err;

	*is_trace = tw_peek_file(&peek, path, trawl_allocator_default(), &err) || peek.is_trace;
	return peek.rank >= 0 ? peek.rank : tw_rank_in_path(path);
}

static void list_files(struct cli_reporting *r, const struct tw_rank_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++) {
		struct trawl_job_source source = { .path = cli_text("%s", set->files[i].path),
						   .kind = TRAWL_GRAPH_CAPTURE,
						   .rank = -1,
						   .found = !set->files[i].named };
		bool is_trace = true;

		if (source.found)
			source.rank = rank_of_file(source.path, &is_trace);
		if (is_trace)
			r->sources[r->source_count++] = source;
	}
}

int cli_list_sources(struct cli_reporting *r, struct trawl_job_options *ranks)
{
	struct tw_rank_set set = { 0 };
	struct trawl_error err;

	if (r->captures.count && tw_rank_set_find(&set, r->captures.text, r->captures.count,
						  trawl_allocator_default(), &err))
		return cli_fail(&err);
	r->sources = cli_alloc(set.count + 1, sizeof(*r->sources));
	list_files(r, &set);
	if (set.count)
		tw_rank_set_release(&set);
	if (r->map)
		r->sources[r->source_count++] = (struct trawl_job_source){ .path = r->map,
									   .kind = TRAWL_GRAPH_MAP,
									   .rank = -1 };
	ranks->sources = r->sources;
	ranks->source_count = r->source_count;
	return CLI_DONE;
}

/* One that was found may have nothing to say; *known: it has. */
static int add_source(struct cli_trace_report *made, const struct trawl_job_source *source,
		      bool *known)
{
	const char *slash = strrchr(source->path, '/');
	struct trawl_trace *from;
	struct trawl_error err;
	double start;
	int status = cli_read_trace(&from, source->path, &made->r->common, NULL,
				    made->r->options.no_python);

	if (status != CLI_DONE)
		return status;
	start = cli_seconds();
	status = trawl_trace_add_source(made->trace, from, slash ? slash + 1 : source->path,
					source->kind, &err);
	trawl_trace_free(from);
	*known |= !status;
	if (made->r->common.verbose)
		cli_message("%s: searched for graphs in %.3f s", source->path,
			    cli_seconds() - start);
	if (!status || (source->found && status == TRAWL_ENODATA))
		return CLI_DONE;
	trawl_error_context(&err, status, "%s", source->path);
	return cli_fail(&err);
}

static int add_sources(struct cli_trace_report *made)
{
	const struct cli_reporting *r = made->r;
	int64_t rank = tw_rank_for_sources(made->trace, r->path);
	bool known = false;
	int status = CLI_DONE;
	struct tw_str note;
	size_t i;

	for (i = 0; i < r->source_count && status == CLI_DONE; i++)
		if (tw_source_counts(r->sources, r->source_count, i, rank))
			status = add_source(made, &r->sources[i], &known);
	tw_str_init(&note, trawl_allocator_default());
	tw_note_sources(r->sources, r->source_count, rank, known, &note);
	if (status == CLI_DONE && note.len && !note.failed && !r->common.quiet)
		cli_message("%s: %s", r->path, note.ptr);
	tw_str_release(&note);
	return status;
}

static int analyse_trace(struct cli_trace_report *made)
{
	const struct cli_reporting *r = made->r;
	double start = cli_seconds();
	struct trawl_error err;
	int status = trawl_report_new(&made->report, made->trace, &r->options, &err);

	if (status) {
		tell_trace_defects(r, made->trace);
		trawl_error_context(&err, status, "%s", r->path);
		return cli_fail(&err);
	}
	if (r->common.verbose)
		cli_message("analyzed in %.3f s", cli_seconds() - start);
	made->defects = cli_report_defects(made->report, &made->defect_count);
	if (r->common.strict && cli_strict_status(r->path, made->defects, made->defect_count))
		return CLI_FAILED;
	cli_tell_defects(r->path, made->defects, made->defect_count, &r->common);
	return CLI_DONE;
}

int cli_report_make(struct cli_trace_report *made, const struct cli_reporting *r, bool writes)
{
	struct trawl_error err;
	int status;

	*made = (struct cli_trace_report){ .r = r };
	/* One trace is work for one process. */
	if (cli_is_led())
		return CLI_LED;
	/* Before the trace is read, which may take its time. */
	if ((r->options.platform && trawl_platform_check(r->options.platform, &err)) ||
	    (writes && cli_check_output(cli_output_dir(r), &err)))
		return cli_fail(&err);
	/* What reading gives back, analysing takes: fresh memory is what costs most. */
	made->memory = tw_reuse_new(trawl_allocator_default());
	if (!made->memory)
		return cli_no_memory();
	status = cli_read_trace(&made->trace, r->path, &r->common, tw_reuse_allocator(made->memory),
				r->options.no_python);
	if (status != CLI_DONE)
		return status;
	if (!r->common.quiet && trawl_trace_is_merged(made->trace))
		cli_message("%s: merged trace: GPUs of several ranks share a device number; "
			    "report the traces of the ranks instead",
			    r->path);
	status = add_sources(made);
	return status == CLI_DONE ? analyse_trace(made) : status;
}

int cli_report_end(struct cli_trace_report *made, int status)
{
	if (status == CLI_DONE)
		status = cli_defects_status(made->defects, made->defect_count);
	trawl_report_free(made->report);
	trawl_trace_free(made->trace);
	tw_reuse_free(made->memory);
	return status;
}
