#include "cli/analyze/analysing.h"
#include "cli/analyze/findings.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "os/file.h"
#include "os/thread.h"
#include "standalone/manifest.h"
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

/* One analysis, while the trace is in memory. */
struct analysis {
	const struct cli_analysing *a;
	struct tw_prepared prepared;
	struct trawl_table *categories;	    /* how each ended */
	struct tw_category_result *results; /* in the manifest's order */
	const struct trawl_diagnosis *diagnosis;
	size_t failed, packages;
};

static void tell_time(const struct analysis *run, const char *what, double start)
{
	if (run->a->reporting.common.verbose)
		cli_message("%s in %.3f s", what, cli_seconds() - start);
}

/* ---- the steps */

/* A category and how it ended. */
struct ending {
	const char *name;
	const struct tw_category_result *result;
};

/* By time, most first; those without a time are last. */
static int compare_endings(const void *a, const void *b)
{
	const struct ending *p = a, *q = b;
	double p_ms = p->result->time_ms >= 0 ? p->result->time_ms : -1;
	double q_ms = q->result->time_ms >= 0 ? q->result->time_ms : -1;

	if (p_ms != q_ms)
		return p_ms > q_ms ? -1 : 1;
	return strcmp(p->name, q->name);
}

/* A category that cannot be analysed is left out of the rest, and named. */
static int analyse_categories(struct analysis *run, struct trawl_error *err)
{
	const struct tw_manifest *manifest = run->prepared.manifest;
	size_t count = manifest->categories.count, i;
	struct ending *endings = cli_alloc(count, sizeof(*endings));
	double start = cli_seconds();

	run->results = cli_alloc(count, sizeof(*run->results));
	for (i = 0; i < count; i++) {
		const char *name = manifest->categories.at[i].name;
		int status = tw_category_analyse(&run->prepared, name, &run->results[i], err);

		if (status)
			return status;
		endings[i] = (struct ending){ name, &run->results[i] };
		if (run->results[i].status != TW_CATEGORY_FAILED)
			continue;
		cli_message("category %s skipped: %s", name, run->results[i].message);
		run->failed++;
	}
	qsort(endings, count, sizeof(*endings), compare_endings);
	for (i = 0; i < count; i++)
		cli_add_category(run->categories, endings[i].name, endings[i].result);
	tell_time(run, "categories analyzed", start);
	return 0;
}

/* Bytes up to a comma outside of brackets: operations can have the names of C++ functions. */
static size_t name_length(const char *text)
{
	size_t depth = 0, i;

	for (i = 0; text[i] && (text[i] != ',' || depth); i++) {
		if (strchr("([{<", text[i]))
			depth++;
		else if (depth && strchr(")]}>", text[i]) && (!i || text[i - 1] != '-'))
			depth--;
	}
	return i;
}

static struct cli_texts split_names(const struct cli_texts *texts)
{
	struct cli_texts names = { 0 };
	size_t i, len;

	for (i = 0; i < texts->count; i++) {
		const char *p = texts->text[i];

		for (; *p; p += len + (p[len] == ',')) {
			len = name_length(p);
			if (len)
				cli_add_text(&names, cli_text("%.*s", (int)len, p));
		}
	}
	return names;
}

/* Without --replay: what qualifies by itself. */
static int write_packages(struct analysis *run, struct trawl_error *err)
{
	const struct cli_texts *replay = &run->a->replay;
	const struct cli_texts names = split_names(replay);
	static const char *const none[1];

	return tw_replay(&run->prepared,
			 !replay->count ? NULL :
			 names.text	? names.text :
					  none,
			 names.count, &run->packages, err);
}

const char *cli_trace_name(const char *path)
{
	return strcmp(path, "-") ? tw_file_name(path) : "stdin";
}

/*
 * The name of the trace; "trace.json.gz" says little, so that the name of its directory goes
 * before it.  Without a directory as it is.
 */
static const char *title_of(const char *path)
{
	static const char common[] = "trace.json";
	const char *name = cli_trace_name(path), *start;

	if (strncmp(name, common, sizeof(common) - 1))
		return name;
	start = path + strlen(path) - strlen(name);
	if (start - path < 2 || strcmp(start, name) || start[-1] != '/')
		return name;
	for (start--; start > path && start[-1] != '/';)
		start--;
	return *start == '/' || *start == '.' ? name : start;
}

/* What comes of the prepared data. */
static int analyse(struct analysis *run, struct trawl_error *err)
{
	const struct cli_analysing *a = run->a;
	int status = analyse_categories(run, err);
	const struct tw_reports_options options = {
		.model = a->model ? a->model : title_of(a->reporting.path),
		.results = run->results,
		.no_workbook = a->reporting.no_xlsx,
		.no_charts = a->no_plots,
	};
	double start = cli_seconds();

	if (!status && !a->no_replay)
		status = write_packages(run, err);
	if (!status)
		status = tw_reports(&run->prepared, &options, err);
	tell_time(run, "packages and reports written", start);
	return status;
}

/* Two shares of the work that need nothing of each other. */
struct shares {
	struct analysis *run;
	const struct trawl_report *report;
	struct trawl_error err[2];
	int status[2];
};

static void do_share(void *context, size_t i)
{
	struct shares *s = context;
	const struct cli_reporting *r = &s->run->a->reporting;
	const struct trawl_table *findings = trawl_diagnosis_findings(s->run->diagnosis);

	if (!i) {
		s->status[i] = analyse(s->run, &s->err[i]);
		return;
	}
	s->status[i] = cli_write_report(r, s->report, findings, &s->err[i]);
	if (!s->status[i])
		s->status[i] = cli_write_findings(cli_output_dir(r), findings, &s->err[i]);
	if (!s->status[i] && s->run->a->job)
		s->status[i] = cli_write_job_page(
			s->run->a, cli_below(cli_output_dir(r), CLI_JOB_PAGE), &s->err[i]);
}

static int write_all(struct analysis *run, const struct trawl_report *report,
		     struct trawl_error *err)
{
	struct shares shares = { .run = run, .report = report };
	unsigned threads = run->a->reporting.common.threads;
	const char *trace = cli_trace_name(run->a->reporting.path);
	double start = cli_seconds();
	int status = tw_prepare(&run->prepared, report, trace, err), failed;

	tell_time(run, "prepared", start);
	if (status)
		return status;
	tw_parallel(threads ? threads : tw_thread_count(), 2, do_share, &shares);
	failed = shares.status[0] ? 0 : 1;
	*err = shares.err[failed];
	return shares.status[failed];
}

static void tell_where(const struct analysis *run)
{
	const char *slash = strrchr(run->prepared.dir, '/');

	cli_message("written to %s%s: %sfindings.csv, standalone_analysis_fair.md and .html, "
		    "standalone_analysis_rough.md, %zu replay package%s%s",
		    run->prepared.dir, slash && !slash[1] ? "" : "/",
		    run->a->job ? CLI_JOB_PAGE ", " : "", run->packages,
		    run->packages == 1 ? "" : "s",
		    run->a->reporting.no_xlsx ? "" : ", perf_report.xlsx");
}

static int write_and_print(struct analysis *run, const struct trawl_report *report)
{
	const struct cli_common *common = &run->a->reporting.common;
	struct timespec start;
	struct trawl_error err;
	int status;

	clock_gettime(CLOCK_REALTIME, &start);
	/* Clocks of file systems are coarser. */
	start.tv_sec--;
	if (write_all(run, report, &err))
		return cli_fail(&err);
	status = cli_print_analysis(&run->prepared, run->categories, run->diagnosis,
				    run->a->job_report, common->format);
	if (status == CLI_DONE && !common->quiet) {
		tell_where(run);
		if (!run->a->job)
			cli_tell_stale(cli_below(run->prepared.dir, CLI_JOB_PAGE),
				       "analysis of a job");
		cli_tell_older(run->prepared.dir, &start);
	}
	return status == CLI_DONE && run->failed ? CLI_INCOMPLETE : status;
}

/* Of the job that the trace is of, else of the trace itself. */
static int diagnose(struct analysis *run, const struct trawl_report *report,
		    struct trawl_diagnosis **own)
{
	struct trawl_error err;
	double start = cli_seconds();

	run->diagnosis = run->a->diagnosis;
	if (run->diagnosis)
		return CLI_DONE;
	if (trawl_diagnose(own, report, run->a->reporting.common.threads, &err))
		return cli_fail(&err);
	run->diagnosis = *own;
	tell_time(run, "findings made", start);
	return CLI_DONE;
}

int cli_analyse(const struct cli_analysing *a, const struct cli_trace_report *made)
{
	struct analysis run = { .a = a, .categories = cli_category_table() };
	struct trawl_diagnosis *own = NULL;
	int status;

	if (!run.categories)
		return cli_no_memory();
	status = diagnose(&run, made->report, &own);
	if (status != CLI_DONE) {
		trawl_table_free(run.categories);
		return status;
	}
	/* What reading gave back is used again. */
	tw_prepared_init(&run.prepared, cli_output_dir(&a->reporting),
			 tw_reuse_allocator(made->memory));
	run.prepared.findings = trawl_diagnosis_findings(run.diagnosis);
	run.prepared.modules = trawl_report_find(made->report, "modules");
	status = write_and_print(&run, made->report);
	tw_prepared_release(&run.prepared);
	trawl_table_free(run.categories);
	trawl_diagnosis_free(own);
	return status;
}
