#include "cli/ranks/report_ranks.h"
#include "cli/screen.h"

#include "cli/analyze/findings.h"
#include "cli/ranks/ranks_summary.h"

#include <string.h>
#include <sys/stat.h>

bool cli_is_rank_set(const char *const *arguments, size_t count)
{
	struct stat info;

	if (count != 1)
		return count > 1;
	if (!stat(arguments[0], &info))
		return S_ISDIR(info.st_mode);
	return strpbrk(arguments[0], "*?[") != NULL;
}

/* ---- what is printed */

static void print_tables(const struct cli_ranks_report *report, enum tw_format format,
			 struct tw_str *out)
{
	static const char *const names[] = {
		"findings",	  "ranks",	   "verdict",	 "gpu_timeline",
		"rank_timeline",  "rank_outliers", "stragglers", "steps",
		"phases_summary", "modules",	   "call_sites", "graphs",
	};
	const struct trawl_table *tables[sizeof(names) / sizeof(names[0]) + 2];
	struct trawl_table *top = cli_top_over_ranks(report);
	size_t count = 0, i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		tables[count] = trawl_job_report_find(report->of, names[i]);
		count += tables[count] != NULL;
	}
	tables[count] = top;
	count += top != NULL;
	tables[count] = trawl_job_report_find(report->of, "quality");
	count += tables[count] != NULL;
	tw_render(tables, count, format, "report_ranks", 0, out);
	out->failed |= !top;
	trawl_table_free(top);
}

static int print_result(const struct cli_ranks_report *report, enum tw_format format)
{
	struct cli_screen s;

	cli_screen_init(&s);
	if (format == TW_FORMAT_TABLE) {
		if (report->diagnosis) {
			cli_add_findings(&s, report->diagnosis);
			tw_str_add_char(&s.out, '\n');
		}
		cli_summarise_ranks(report, &s);
	} else {
		print_tables(report, format, &s.out);
	}
	return cli_screen_print(&s);
}

/* ---- the steps */

/* What another report left there is not of these ranks. */
static void tell_stale(const struct cli_outputs *o, const struct cli_ranks_report *report)
{
	const char *name;
	size_t i;

	for (i = 0; (name = trawl_report_table_name(i)); i++)
		if (!trawl_job_report_find(report->of, name))
			cli_tell_stale_table(o, name, "report: no such table over ranks");
}

static int write_and_print(const struct cli_reporting *r, const struct cli_ranks_report *report)
{
	const struct cli_outputs o = cli_report_outputs(r, cli_job_dir(report->job, &r->common));
	size_t count = trawl_job_report_tables(report->of);
	struct trawl_error err;
	int status, failed = cli_write_job_report(&o, report->of, &err);

	/* What was found out is printed all the same where it cannot be written. */
	status = failed && failed != TRAWL_EIO ? CLI_FAILED :
						 print_result(report, r->common.format);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		cli_tell_outputs(&o, count);
		tell_stale(&o, report);
	}
	return status;
}

static int make_and_print(const struct cli_reporting *r, struct cli_ranks_report *report)
{
	const struct trawl_job_report_options options = { .threads = r->common.threads,
							  .diagnosis = report->diagnosis };
	double start = cli_seconds();
	struct trawl_error err;
	int status = trawl_job_report_new(&report->of, report->job, &options, &err);

	if (status)
		return cli_fail_output(&err);
	if (r->common.verbose)
		cli_message("combined in %.3f s", cli_seconds() - start);
	status = write_and_print(r, report);
	trawl_job_report_free(report->of);
	return status;
}

struct reporting_ranks {
	const struct cli_reporting *reporting;
	const struct cli_ranks *ranks;
	size_t top_ops;
};

static int report_job(void *context, struct trawl_job *job)
{
	const struct reporting_ranks *c = context;
	struct cli_ranks_report report = { .job = job, .top_ops = c->top_ops };
	struct trawl_diagnosis *diagnosis;
	int status = cli_diagnose_job(&diagnosis, job, c->ranks);

	report.diagnosis = diagnosis;
	if (status == CLI_DONE)
		status = make_and_print(c->reporting, &report);
	trawl_diagnosis_free(diagnosis);
	return status;
}

int cli_report_ranks(const struct cli_reporting *r, struct cli_ranks *ranks,
		     const char *const *arguments, size_t count, size_t top_ops)
{
	struct reporting_ranks context = { r, ranks, top_ops };
	struct trawl_error err;

	ranks->common = &r->common;
	ranks->options.report = &r->options;
	ranks->options.findings = true;
	/* Before traces are read, which may take its time. */
	if ((r->options.platform && trawl_platform_check(r->options.platform, &err)) ||
	    (r->common.output && !(r->no_csv && r->no_xlsx) &&
	     cli_check_output(r->common.output, &err)))
		return cli_fail(&err);
	return cli_for_each_job(ranks, arguments, count, report_job, &context);
}
