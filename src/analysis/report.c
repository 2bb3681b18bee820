/* All analyses over one trace, each in its own table, several at a time. */
#include "trawl/report.h"

#include "analysis/analysis.h"
#include "analysis/found.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "base/thread.h"

#include <string.h>

struct trawl_report {
	const struct trawl_allocator *allocator;
	struct tw_reuse *scratch; /* where analyses take their memory */
	struct trawl_report_options options;
	struct tw_derived *derived;
	struct tw_launchers launchers;
	struct tw_parents parents;
	struct tw_modelled modelled;
	struct tw_platform platform;
	bool has_platform;
	struct tw_quality quality;
	struct trawl_defect defects[TW_DEFECT_COUNT];
	size_t defect_count;
	const struct trawl_table **tables; /* those shown, in order */
	size_t table_count;
	struct trawl_table **all; /* by analysis, NULL: it had nothing to say */
};

void trawl_report_options_init(struct trawl_report_options *options)
{
	*options = (struct trawl_report_options){
		.short_kernel_ns = 10000,
		.micro_idle_ns = -1,
		.step_first = -1,
		.step_last = -1,
		.start_ns = TRAWL_TIME_NONE,
		.end_ns = TRAWL_TIME_NONE,
	};
}

struct job {
	struct trawl_report *report;
	struct tw_analysis_input input;
	int *status;  /* by analysis */
	unsigned has; /* enum tw_needs that are there */
};

static void run_analysis(void *context, size_t i)
{
	struct job *job = context;
	const struct tw_analysis *analysis = tw_analyses[i];
	struct trawl_table *table;

	if ((analysis->needs & job->has) != analysis->needs)
		return;
	if (analysis->make) {
		table = NULL;
		job->status[i] = analysis->make(&job->input, analysis, &table);
		if (!table)
			return;
	} else {
		table = tw_table_new(&analysis->table, job->report->allocator);
		job->status[i] = table ? analysis->run(&job->input, table) : TRAWL_ENOMEM;
	}
	job->report->all[i] = table;
	if (!table)
		return;
	if (job->input.derived->view.label[0])
		tw_table_add_note(table, "of a part of the trace: %s",
				  job->input.derived->view.label);
	if (!job->status[i])
		job->status[i] = tw_table_finish(table, NULL);
}

/* Tables with rows, or kept even without. */
static int collect_tables(struct trawl_report *report)
{
	size_t i;

	report->tables =
		tw_alloc_array(report->allocator, tw_analysis_count, sizeof(*report->tables));
	if (!report->tables)
		return TRAWL_ENOMEM;
	for (i = 0; i < tw_analysis_count; i++) {
		struct trawl_table *table = report->all[i];

		if (table && (trawl_table_rows(table) || tw_table_keep_empty(table)))
			report->tables[report->table_count++] = table;
	}
	return 0;
}

static void add_quality(struct trawl_report *report, const struct trawl_trace *trace)
{
	report->quality = trace->quality;
	tw_quality_append(&report->quality, &report->derived->quality, 0);
	report->defect_count = tw_quality_list(&report->quality, report->defects);
}

/* What several analyses look at. */
struct common {
	struct trawl_report *report;
	struct tw_timeline timeline;
	int status[2];
};

/* Cost models and what kernels belong to do not need each other. */
static void build_common(void *context, size_t i)
{
	struct common *common = context;
	struct trawl_report *report = common->report;
	const struct tw_derived *d = report->derived;

	if (i == 0)
		common->status[i] = tw_modelled_build(&report->modelled, d);
	else if (tw_launchers_build(&report->launchers, d) ||
		 tw_parents_init(&report->parents, d, &report->launchers) ||
		 tw_timeline_of(&common->timeline, d, NULL, d->gpu.count,
				report->options.linked_only, -1))
		common->status[i] = -1;
}

static int run_all(struct trawl_report *report, const struct trawl_trace *trace)
{
	const struct tw_derived *d = report->derived;
	struct common common = { .report = report };
	struct job job = {
		.report = report,
		.input = {
			.trace = trace, .derived = d, .launchers = &report->launchers, .parents = &report->parents,
			.modelled = &report->modelled,
			.platform = report->has_platform ? &report->platform : NULL,
			.options = &report->options, .quality = &report->quality,
			.allocator = tw_reuse_allocator(report->scratch),
		},
		.has = (tw_has_gpu(d) ? TW_NEEDS_GPU : 0) | (d->host.count ? TW_NEEDS_HOST : 0),
	};
	size_t i;
	int status = 0;

	tw_parallel(report->options.threads, 2, build_common, &common);
	if (common.status[0] || common.status[1])
		return TRAWL_ENOMEM;
	job.input.total_ns = common.timeline.total_ns;
	report->all = tw_alloc_array(report->allocator, tw_analysis_count, sizeof(*report->all));
	job.status = tw_alloc_array(report->allocator, tw_analysis_count, sizeof(*job.status));
	if (!report->all || !job.status) {
		tw_free(report->allocator, job.status, tw_analysis_count * sizeof(*job.status));
		return TRAWL_ENOMEM;
	}
	tw_parallel(report->options.threads, tw_analysis_count, run_analysis, &job);
	for (i = 0; i < tw_analysis_count && !status; i++)
		status = job.status[i];
	tw_free(report->allocator, job.status, tw_analysis_count * sizeof(*job.status));
	return status ? status : collect_tables(report);
}

static int find_platform(struct trawl_report *report, const struct trawl_trace *trace,
			 struct trawl_error *err)
{
	const char *device = trace->device_name;
	double bytes = trace->device_bytes > 0 ? (double)trace->device_bytes : 0;

	if (report->options.platform) {
		report->has_platform = true;
		return tw_platform_open(report->options.platform, &report->platform, err);
	}
	report->has_platform = tw_platform_guess(device, strlen(device), bytes, &report->platform);
	return 0;
}

/* A trace in which nothing was recorded that any table counts. */
static int nothing_to_report(const struct tw_derived *d, struct trawl_error *err)
{
	struct tw_str found;

	tw_str_init(&found, d->allocator);
	tw_describe_found(d, &found);
	trawl_error_set(err, TRAWL_ENODATA,
			"no GPU events recognised and no host operations among its %llu events%s%s",
			(unsigned long long)d->trace->events.count,
			found.len ? "; " : ": was the profiler running?",
			found.len ? found.ptr : "");
	tw_str_release(&found);
	return TRAWL_ENODATA;
}

int trawl_report_new(struct trawl_report **out, const struct trawl_trace *trace,
		     const struct trawl_report_options *options, struct trawl_error *err)
{
	struct trawl_report *report = tw_alloc_array(trace->allocator, 1, sizeof(*report));
	struct tw_derive_options derive = { .view = TW_VIEW_OPTIONS_INIT };
	int status;

	*out = NULL;
	if (!report)
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	report->allocator = trace->allocator;
	if (options)
		report->options = *options;
	else
		trawl_report_options_init(&report->options);
	if (!report->options.threads)
		report->options.threads = tw_thread_count();
	derive.autograd = true;
	derive.clip_overruns = report->options.clip_overruns;
	derive.threads = report->options.threads;
	derive.view = (struct tw_view_options){
		report->options.range,	  report->options.step_first, report->options.step_last,
		report->options.start_ns, report->options.end_ns,     report->options.device,
	};
	report->scratch = tw_reuse_new(report->allocator);
	if (!report->scratch) {
		trawl_report_free(report);
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	}
	derive.allocator = tw_reuse_allocator(report->scratch);
	status = find_platform(report, trace, err);
	if (!status)
		status = tw_derive(&report->derived, trace, &derive, err);
	if (!status && !tw_has_gpu(report->derived) && !report->derived->host.count)
		status = nothing_to_report(report->derived, err);
	if (!status) {
		add_quality(report, trace);
		status = run_all(report, trace);
		if (status)
			trawl_error_set(err, status, "%s", trawl_status_name(status));
	}
	if (status) {
		trawl_report_free(report);
		return status;
	}
	*out = report;
	return 0;
}

void trawl_report_free(struct trawl_report *report)
{
	const struct trawl_allocator *a;
	size_t i;

	if (!report)
		return;
	a = report->allocator;
	for (i = 0; report->all && i < tw_analysis_count; i++)
		tw_table_free(report->all[i]);
	tw_free(a, report->all, tw_analysis_count * sizeof(*report->all));
	tw_free(a, report->tables, tw_analysis_count * sizeof(*report->tables));
	tw_modelled_release(&report->modelled);
	tw_parents_release(&report->parents);
	tw_launchers_release(&report->launchers);
	tw_derived_free(report->derived);
	tw_reuse_free(report->scratch);
	tw_free(a, report, sizeof(*report));
}

size_t trawl_report_tables(const struct trawl_report *report)
{
	return report->table_count;
}

const struct trawl_table *trawl_report_table(const struct trawl_report *report, size_t index)
{
	return report->tables[index];
}

const struct trawl_table *trawl_report_find(const struct trawl_report *report, const char *name)
{
	size_t i;

	for (i = 0; i < report->table_count; i++)
		if (!strcmp(trawl_table_name(report->tables[i]), name))
			return report->tables[i];
	return NULL;
}

size_t trawl_report_defects(const struct trawl_report *report)
{
	return report->defect_count;
}

struct trawl_defect trawl_report_defect(const struct trawl_report *report, size_t index)
{
	return report->defects[index];
}

const char *trawl_report_view(const struct trawl_report *report)
{
	return report->derived->view.label;
}

const struct tw_platform *tw_report_platform(const struct trawl_report *report)
{
	return report->has_platform ? &report->platform : NULL;
}

const char *trawl_report_platform(const struct trawl_report *report, bool *guessed)
{
	if (guessed)
		*guessed = report->has_platform && !report->options.platform;
	return report->has_platform ? report->platform.name : NULL;
}
