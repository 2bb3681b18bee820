/* All analyses over one trace, each in its own table, several at a time. */
#include "trawl/report.h"

#include "analysis/analysis.h"
#include "analysis/no_gpu_events.h"
#include "analysis/who/grouping.h"
#include "analysis/who/stacks.h"
#include "analysis/who/sweep.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "base/scope.h"
#include "data/limits.h"
#include "os/thread.h"

#include <string.h>

enum {
	ANALYSES = 0
#define TW_ANALYSIS(id) +1
#include "analysis/analyses.def"
#undef TW_ANALYSIS
};

struct trawl_report {
	const struct trawl_allocator *allocator;
	struct tw_reuse *scratch; /* where analyses take their memory */
	struct trawl_report_options options;
	bool wanted[ANALYSES];		    /* by analysis: all of them, or those of options.only */
	bool plain;			    /* only such as have TW_PLAIN */
	const struct tw_grouping *grouping; /* NULL: none */
	struct tw_derived *derived;
	struct tw_scope launching, modelling,
		asking; /* memory of what follows, made at the same time */
	struct tw_launchers launchers;
	struct tw_parents parents;
	struct tw_when when;
	struct tw_modelled modelled;
	struct tw_attributions who;
	struct tw_call_stacks stacks;
	struct tw_platform platform;
	bool has_platform;
	struct tw_timeline timeline;
	struct tw_analysis_input input;
	struct tw_quality quality;
	struct trawl_defect defects[TW_DEFECT_COUNT];
	size_t defect_count;
	const struct trawl_table *tables[ANALYSES]; /* those shown, in order */
	size_t table_count;
	struct trawl_table *all[ANALYSES]; /* by analysis, NULL: it made no table */
};

void trawl_report_options_init(struct trawl_report_options *options)
{
	*options = (struct trawl_report_options){
		.short_kernel_ns = TW_LIMIT_SHORT_KERNEL_US * 1000,
		.micro_idle_ns = -1,
		.step_first = -1,
		.step_last = -1,
		.start_ns = TRAWL_TIME_NONE,
		.end_ns = TRAWL_TIME_NONE,
	};
}

/*
 * One run of all analyses.  Steps 0 to 2 make what they look at; those that need no models come
 * next, so that they can run while the models are made.
 */
struct job {
	struct trawl_report *report;
	int status[ANALYSES]; /* by analysis */
	unsigned has;	      /* enum tw_needs that are there */
	unsigned wanted;      /* all that wanted analyses need */
	size_t order[ANALYSES];
	struct tw_gate models, launchers, who; /* opened when they are made, or have failed */
	int models_status, launchers_status, who_status;
	struct trawl_error *err;
};

static bool uses_who(const struct job *job, const struct tw_analysis *analysis)
{
	return analysis->needs & (TW_NEEDS_WHO | TW_USES_WHO) ||
	       (analysis->needs & TW_GROUPS && job->report->grouping) ||
	       (analysis->needs & TW_STACKS && job->report->input.stacks);
}

/* Without the last column where that is of graphs, and none count with operators. */
static struct trawl_table *new_table(const struct tw_analysis_input *in,
				     const struct tw_table_spec *spec)
{
	size_t count = spec->column_count;

	count -= !tw_has_via(in) && !strcmp(spec->columns[count - 1].header, TW_COL_VIA);
	return in->grouping || in->stacks || count < spec->column_count ?
		       tw_grouped_table(in, spec, spec->columns, count) :
		       tw_table_new(spec, in->tables);
}

static void make_table(struct job *job, size_t i)
{
	const struct tw_analysis *analysis = tw_analyses[i];
	struct tw_analysis_input input = job->report->input;
	struct trawl_table *table = NULL;
	struct tw_scope scope;

	if (!(analysis->needs & TW_NEEDS_MODELS))
		input.modelled = NULL;
	if (!(analysis->needs & TW_GROUPS))
		input.grouping = NULL;
	if (!(analysis->needs & TW_STACKS))
		input.stacks = NULL;
	if (!uses_who(job, analysis))
		input.who = NULL;
	tw_scope_begin(&scope, input.allocator);
	input.allocator = &scope.allocator;
	if (analysis->make) {
		job->status[i] = analysis->make(&input, analysis, &table);
	} else {
		table = new_table(&input, &analysis->table);
		job->status[i] = table ? analysis->run(&input, table) : TRAWL_ENOMEM;
	}
	tw_scope_end(&scope);
	job->report->all[i] = table;
	if (!table)
		return;
	if (input.derived->view.label.len)
		tw_table_add_note(table, "part of the trace: %s",
				  tw_view_label(&input.derived->view));
	if (!job->status[i])
		job->status[i] = tw_table_finish(table, NULL);
}

static void run_analysis(struct job *job, size_t i)
{
	unsigned needs = tw_analyses[i]->needs;
	bool who = uses_who(job, tw_analyses[i]);

	if (!job->report->wanted[i] ||
	    needs & ~job->has & ~(TW_USES_WHO | TW_GROUPS | TW_STACKS | TW_PLAIN))
		return;
	tw_gate_wait(&job->launchers);
	if (needs & TW_NEEDS_MODELS)
		tw_gate_wait(&job->models);
	if (who)
		tw_gate_wait(&job->who);
	if (job->launchers_status || (who && job->who_status) ||
	    (needs & TW_NEEDS_MODELS && job->models_status))
		return;
	make_table(job, i);
}

static int make_launchers(const struct job *job)
{
	struct trawl_report *report = job->report;
	const struct tw_derived *d = report->derived;

	const struct trawl_allocator *a = &report->launching.allocator;

	return tw_launchers_build(&report->launchers, d, a) ||
			       tw_parents_init(&report->parents, d, &report->launchers, a) ||
			       tw_when_build(&report->when, d, a) ||
			       tw_timeline_of(&report->timeline, d, NULL, d->gpu.count,
					      TW_CODE_NONE, report->options.linked_only,
					      report->options.micro_idle_ns) ?
		       TRAWL_ENOMEM :
		       tw_grouping_check(&report->input, job->err);
}

static int make_who(const struct job *job)
{
	struct trawl_report *report = job->report;

	const struct trawl_allocator *a = &report->asking.allocator;

	if (!(job->has & TW_NEEDS_WHO))
		return 0;
	return tw_attributions_build(&report->who, report->derived, a) ||
			       (report->input.stacks &&
				tw_call_stacks_build(&report->stacks, report->derived, false, a)) ?
		       TRAWL_ENOMEM :
		       0;
}

#define FIRST_STEPS 3

static void run_step(void *context, size_t step)
{
	struct job *job = context;
	struct trawl_report *report = job->report;

	if (step == 0) {
		if (job->wanted & TW_NEEDS_MODELS &&
		    tw_modelled_build(&report->modelled, report->derived,
				      &report->modelling.allocator))
			job->models_status = TRAWL_ENOMEM;
		tw_gate_open(&job->models);
	} else if (step == 1) {
		if (!report->plain || report->grouping)
			job->launchers_status = make_launchers(job);
		tw_gate_open(&job->launchers);
	} else if (step == 2) {
		job->who_status = make_who(job);
		tw_gate_open(&job->who);
	} else {
		run_analysis(job, job->order[step - FIRST_STEPS]);
	}
}

/* What is asked for by name, and of which the trace has nothing. */
static int make_empty(struct job *job, size_t i)
{
	static const char *const words[] = { "GPU work", "host events", "Python functions" };
	static const unsigned bits[] = { TW_NEEDS_GPU, TW_NEEDS_HOST, TW_NEEDS_WHO };
	struct trawl_report *report = job->report;
	const struct tw_analysis *analysis = tw_analyses[i];
	struct trawl_table *table = tw_table_new(&analysis->table, report->allocator);
	size_t k;

	report->all[i] = table;
	for (k = 0; table && k < sizeof(bits) / sizeof(bits[0]); k++)
		if (analysis->needs & bits[k] & ~job->has)
			tw_table_add_note(table, "no %s in this trace", words[k]);
	return table ? tw_table_finish(table, NULL) : TRAWL_ENOMEM;
}

/* Tables with rows, or kept even without. */
static int collect_tables(struct job *job)
{
	struct trawl_report *report = job->report;
	bool asked = report->options.only;
	size_t i;

	for (i = 0; i < ANALYSES; i++) {
		if (!report->all[i] && asked && report->wanted[i] && make_empty(job, i))
			return TRAWL_ENOMEM;
		if (report->all[i] && (trawl_table_rows(report->all[i]) || asked ||
				       tw_table_spec(report->all[i])->keep_empty))
			report->tables[report->table_count++] = report->all[i];
	}
	return 0;
}

static void add_quality(struct trawl_report *report, const struct trawl_trace *trace)
{
	report->quality = trace->quality;
	tw_quality_append(&report->quality, &report->derived->quality, 0);
	report->defect_count = tw_trace_list_defects(trace, &report->quality, report->defects);
}

/* Numbers of the analyses, those that need no models first. */
static void order_analyses(struct job *job)
{
	size_t i, n = 0;
	unsigned models;

	for (i = 0; i < ANALYSES; i++)
		job->wanted |= job->report->wanted[i] ? tw_analyses[i]->needs : 0;

	for (models = 0; models <= TW_NEEDS_MODELS; models += TW_NEEDS_MODELS)
		for (i = 0; i < ANALYSES; i++)
			if ((tw_analyses[i]->needs & TW_NEEDS_MODELS) == models)
				job->order[n++] = i;
}

static int run_steps(struct job *job)
{
	int status;
	size_t i;

	tw_gate_init(&job->models);
	tw_gate_init(&job->launchers);
	tw_gate_init(&job->who);
	tw_parallel(job->report->options.threads, FIRST_STEPS + ANALYSES, run_step, job);
	tw_gate_destroy(&job->models);
	tw_gate_destroy(&job->launchers);
	tw_gate_destroy(&job->who);
	status = job->models_status    ? job->models_status :
		 job->launchers_status ? job->launchers_status :
					 job->who_status;
	for (i = 0; i < ANALYSES && !status; i++)
		status = job->status[i];
	return status;
}

static int run_all(struct trawl_report *report, const struct trawl_trace *trace,
		   struct trawl_error *err)
{
	const struct tw_derived *d = report->derived;
	struct job job = {
		.report = report,
		.err = err,
		.has = TW_NEEDS_MODELS | (tw_has_gpu(d) ? TW_NEEDS_GPU : 0) |
		       (d->host.count ? TW_NEEDS_HOST : 0) |
		       (trace->by_process ? TW_NEEDS_EXPORT : 0) |
		       (tw_has_frames(trace) || trace->captures.modules.count ? TW_NEEDS_WHO : 0) |
		       (report->options.gemm_instances || report->options.kernel_instances ?
				TW_NEEDS_ASKING :
				0),
	};
	int status;

	/* What is asked for by name is made of any trace that has something of it. */
	if (report->options.only)
		job.has |= TW_NEEDS_EXPORT | TW_NEEDS_ASKING;
	/* Passes are those of operators too. */
	if (report->grouping && report->grouping->who)
		job.has |= TW_NEEDS_WHO;
	order_analyses(&job);
	if (!(job.wanted & (TW_NEEDS_WHO | TW_USES_WHO | TW_GROUPS | TW_STACKS)))
		job.has &= ~(unsigned)TW_NEEDS_WHO;
	report->input = (struct tw_analysis_input){
		.trace = trace,
		.derived = d,
		.launchers = &report->launchers,
		.parents = &report->parents,
		.when = &report->when,
		.modelled = &report->modelled,
		.who = job.has & TW_NEEDS_WHO ? &report->who : NULL,
		.stacks = report->options.call_stack && job.has & TW_NEEDS_WHO ? &report->stacks :
										 NULL,
		.grouping = report->grouping,
		.platform = report->has_platform ? &report->platform : NULL,
		.options = &report->options,
		.quality = &report->quality,
		.timeline = &report->timeline,
		.allocator = tw_reuse_allocator(report->scratch),
		.tables = report->allocator,
	};
	status = run_steps(&job);
	return status ? status : collect_tables(&job);
}

static int find_platform(struct trawl_report *report, const struct trawl_trace *trace,
			 struct trawl_error *err)
{
	const struct tw_device device = tw_device_of(trace);

	if (report->options.platform) {
		report->has_platform = true;
		return tw_platform_open(report->options.platform, &device, &report->platform, err);
	}
	report->has_platform = tw_platform_of_device(&device, &report->platform);
	return 0;
}

/* An export has a table of its ranges even where nothing else was recorded. */
static bool has_ranges(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count && trace->by_process; i++)
		if (trace->events.phase[i] == 'X' && tw_class(trace, i) == TRAWL_CLASS_ANNOTATION)
			return true;
	return false;
}

/* What kept events out of the tables, where that is known. */
static void add_reasons(const struct tw_quality *quality, struct tw_str *out)
{
	struct trawl_defect defects[TW_DEFECT_COUNT];
	size_t count = tw_quality_list(quality, defects), i;

	for (i = 0; i < count; i++)
		if (defects[i].severity == TRAWL_LOST || defects[i].severity == TRAWL_DEFECT)
			tw_str_addf(out, "%s%lld x %s", out->len ? ", " : "",
				    (long long)defects[i].count, defects[i].meaning);
	if (quality->kinds[TW_DEFECT_gpu_overflow].count ||
	    quality->kinds[TW_DEFECT_overflow].count)
		tw_str_add_cstr(out, ". Times must be in microseconds: are these nanoseconds?");
}

/* A trace in which nothing was recorded that any table counts. */
static int nothing_to_report(const struct tw_derived *d, struct trawl_error *err)
{
	struct tw_str found, reasons;

	tw_str_init(&found, d->allocator);
	tw_str_init(&reasons, d->allocator);
	tw_describe_found(d, &found);
	add_reasons(&d->trace->quality, &reasons);
	if (reasons.len && d->trace->events.count)
		trawl_error_set(err, TRAWL_ENODATA, "none of its %llu events is usable: %s",
				(unsigned long long)d->trace->events.count, reasons.ptr);
	else
		trawl_error_set(err, TRAWL_ENODATA,
				"no GPU events and no host operators among its %llu events%s%s",
				(unsigned long long)d->trace->events.count,
				found.len ? "; " : ": was the profiler running?",
				found.len ? found.ptr : "");
	tw_str_release(&reasons);
	tw_str_release(&found);
	return TRAWL_ENODATA;
}

/* Which tables are to be made. */
static int find_wanted(struct trawl_report *report, struct trawl_error *err)
{
	const char *name = report->options.only;
	size_t len, i;

	report->plain = name != NULL;
	for (i = 0; i < ANALYSES && !name; i++)
		report->wanted[i] = true;
	for (; name; name = name[len] ? name + len + 1 : NULL) {
		len = strcspn(name, ",");
		for (i = 0; i < ANALYSES; i++)
			if (!strncmp(tw_analyses[i]->table.name, name, len) &&
			    !tw_analyses[i]->table.name[len])
				break;
		if (i == ANALYSES)
			return trawl_error_set(err, TRAWL_EUSAGE, "no table is called '%.*s'",
					       len < 60 ? (int)len : 60, name);
		report->wanted[i] = true;
		report->plain &= (tw_analyses[i]->needs & TW_PLAIN) != 0;
		if (tw_analyses[i]->needs & TW_NEEDS_ASKING)
			report->options.gemm_instances = report->options.kernel_instances = true;
	}
	return 0;
}

static int find_grouping(struct trawl_report *report, struct trawl_error *err)
{
	const char *name = report->options.group_by;
	struct tw_str names;

	if (!name)
		return 0;
	tw_str_init(&names, report->allocator);
	report->grouping = tw_grouping_named(name, &names);
	if (!report->grouping)
		trawl_error_set(err, TRAWL_EUSAGE, "cannot group by '%.40s', only by %s", name,
				names.ptr ? names.ptr : "");
	tw_str_release(&names);
	return report->grouping ? 0 : TRAWL_EUSAGE;
}

/* What a report is of, with its tables. */
static int fill_report(struct trawl_report *report, const struct trawl_trace *trace,
		       struct trawl_error *err)
{
	const struct trawl_report_options *o = &report->options;
	struct tw_derive_options derive = {
		.allocator = tw_reuse_allocator(report->scratch),
		.threads = o->threads,
		.autograd = !report->plain,
		.clip_overruns = o->clip_overruns,
		.accept_count = o->accept_count,
		.view = { o->range, o->step_first, o->step_last, o->start_ns, o->end_ns, o->device,
			  o->by_time },
	};
	int status = find_platform(report, trace, err);

	if (!status)
		status = tw_derive(&report->derived, trace, &derive, err);
	if (status)
		return status;
	if (!report->plain && !tw_has_gpu(report->derived) && !report->derived->host.count &&
	    !has_ranges(trace) && !trace->holds)
		return nothing_to_report(report->derived, err);
	add_quality(report, trace);
	status = run_all(report, trace, err);
	if (status == TRAWL_ENOMEM)
		trawl_error_set(err, status, "%s", trawl_status_name(status));
	return status;
}

int trawl_report_new(struct trawl_report **out, const struct trawl_trace *trace,
		     const struct trawl_report_options *options, struct trawl_error *err)
{
	struct trawl_report *report = tw_alloc_array(trace->allocator, 1, sizeof(*report));
	int status;

	*out = NULL;
	if (!report)
		return tw_no_memory(err);
	report->allocator = trace->allocator;
	if (options)
		report->options = *options;
	else
		trawl_report_options_init(&report->options);
	if (!report->options.threads)
		report->options.threads = tw_thread_count();
	report->scratch = tw_reuse_new(report->allocator);
	if (report->scratch) {
		tw_scope_begin(&report->launching, tw_reuse_allocator(report->scratch));
		tw_scope_begin(&report->modelling, tw_reuse_allocator(report->scratch));
		tw_scope_begin(&report->asking, tw_reuse_allocator(report->scratch));
	}
	status = find_wanted(report, err);
	if (!status)
		status = find_grouping(report, err);
	if (!status)
		status = report->scratch ? fill_report(report, trace, err) : tw_no_memory(err);
	if (status)
		trawl_report_free(report);
	else
		*out = report;
	return status;
}

void trawl_report_free(struct trawl_report *report)
{
	size_t i;

	if (!report)
		return;
	for (i = 0; i < ANALYSES; i++)
		trawl_table_free(report->all[i]);
	tw_scope_end(&report->asking);
	tw_scope_end(&report->modelling);
	tw_scope_end(&report->launching);
	tw_derived_free(report->derived);
	tw_reuse_free(report->scratch);
	tw_free(report->allocator, report, sizeof(*report));
}

size_t trawl_report_tables(const struct trawl_report *report)
{
	return report->table_count;
}

const struct trawl_table *trawl_report_table(const struct trawl_report *report, size_t index)
{
	return report->tables[index];
}

const char *trawl_report_table_name(size_t index)
{
	return index < ANALYSES ? tw_analyses[index]->table.name : NULL;
}

bool trawl_report_declares(size_t index, struct trawl_table_declaration *out)
{
	if (index < ANALYSES)
		*out = tw_declaration(&tw_analyses[index]->table);
	return index < ANALYSES;
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
	return tw_view_label(&report->derived->view);
}

const struct tw_platform *tw_report_platform(const struct trawl_report *report)
{
	return report->has_platform ? &report->platform : NULL;
}

const struct tw_analysis_input *tw_report_input(const struct trawl_report *report)
{
	return &report->input;
}

const char *tw_report_group(const struct trawl_report *report)
{
	return report->grouping ? report->grouping->column.header : NULL;
}

const char *trawl_report_platform(const struct trawl_report *report, bool *guessed)
{
	if (guessed)
		*guessed = report->has_platform && !report->options.platform;
	return report->has_platform ? report->platform.name : NULL;
}
