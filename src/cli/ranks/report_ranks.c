#include "cli/ranks/report_ranks.h"
#include "cli/screen.h"

#include "base/alloc.h"
#include "cli/ranks/ranks_summary.h"
#include "job/sums/sums.h"
#include "job/tables/all_tables.h"
#include "job/tables/outliers.h"

#include <string.h>
#include <sys/stat.h>

/* Of the job itself, before those summed over its ranks. */
static const struct tw_ranks_table *const of_job[] = {
	&tw_ranks_table_ranks,
	&tw_ranks_table_verdict,
	&tw_ranks_table_rank_timeline,
	&tw_ranks_table_rank_outliers,
	&tw_ranks_table_nccl_summary_implicit_sync,
	&tw_ranks_table_nccl_summary_long,
	&tw_ranks_table_straggler_summary,
	&tw_ranks_table_stragglers,
	&tw_ranks_table_collective_waits,
};
#define OF_JOB (sizeof(of_job) / sizeof(of_job[0]))

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
	static const char *const names[] = { "ranks",	      "verdict",       "gpu_timeline",
					     "rank_timeline", "rank_outliers", "stragglers" };
	const struct trawl_table *tables[sizeof(names) / sizeof(names[0]) + 2];
	struct trawl_table *top = cli_top_over_ranks(report);
	size_t count = 0, i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		tables[count] = cli_ranks_table(report, names[i]);
		count += tables[count] != NULL;
	}
	tables[count] = top;
	count += top != NULL;
	tables[count] = cli_ranks_table(report, "quality");
	count += tables[count] != NULL;
	tw_render(tables, count, format, "report_ranks", 0, out);
	out->failed |= !top;
	tw_table_free(top);
}

static int print_result(struct cli_ranks_report *report, enum tw_format format)
{
	struct cli_screen s;

	cli_screen_init(&s);
	if (format == TW_FORMAT_TABLE)
		cli_summarise_ranks(report, &s);
	else
		print_tables(report, format, &s.out);
	return cli_screen_print(&s);
}

/* ---- the steps */

/* Those of the job, and behind them those summed over its ranks. */
static int make_tables(struct tw_job_tables *t, const struct tw_job *job,
		       const struct cli_common *common, struct trawl_error *err)
{
	const struct tw_job_wanted wanted = { of_job, OF_JOB, tw_analysis_count };
	double start = cli_seconds();
	size_t count = 0;

	if (tw_job_tables_make(t, job, TW_ALIGN_AUTO, &wanted, common->threads,
			       trawl_allocator_default(), err) ||
	    tw_sums_make_all(t->tables + t->count, &count, job, common->threads,
			     trawl_allocator_default()))
		return tw_no_memory(err);
	t->count += count;
	if (common->verbose)
		cli_message("summed in %.3f s", cli_seconds() - start);
	return 0;
}

/* Those with rows, or that are always there: what is written. */
static size_t list_tables(const struct tw_job_tables *t, const struct trawl_table **list)
{
	size_t count = 0, i;

	for (i = 0; i < t->count; i++)
		if (trawl_table_rows(t->tables[i]) || tw_table_spec(t->tables[i])->keep_empty)
			list[count++] = t->tables[i];
	return count;
}

/* What another report left there is not of these ranks. */
static void tell_stale(const struct cli_outputs *o, const struct cli_ranks_report *report)
{
	size_t i;

	for (i = 0; i < tw_analysis_count; i++)
		if (!cli_ranks_table(report, tw_analyses[i]->table.name))
			cli_tell_stale_table(o, tw_analyses[i]->table.name,
					     "report: that over ranks has no such table");
}

static int write_and_print(const struct cli_reporting *r, const struct tw_job_tables *t,
			   size_t top_ops)
{
	const struct trawl_table **list = cli_alloc(t->count, sizeof(*list));
	struct cli_ranks_report report = { t->in.job, list, list_tables(t, list), top_ops };
	const struct cli_outputs o = cli_report_outputs(r, cli_job_dir(t->in.job, &r->common));
	struct trawl_error err;
	int status, failed = cli_write_tables(&o, list, report.count, &err);

	/* What was found out is printed all the same where it cannot be written. */
	status = failed && failed != TRAWL_EIO ? CLI_FAILED :
						 print_result(&report, r->common.format);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		cli_tell_outputs(&o, report.count);
		tell_stale(&o, &report);
	}
	return status;
}

static int report_job(const struct cli_reporting *r, const struct tw_job *job, size_t top_ops)
{
	struct tw_job_tables t;
	struct trawl_error err;
	int status = make_tables(&t, job, &r->common, &err) ? cli_fail_output(&err) :
							      write_and_print(r, &t, top_ops);

	tw_job_tables_release(&t);
	return status;
}

int cli_report_ranks(const struct cli_reporting *r, struct cli_ranks *ranks,
		     const char *const *arguments, size_t count, size_t top_ops)
{
	const char **names = cli_alloc(tw_analysis_count, sizeof(*names));
	struct trawl_error err;
	const struct tw_job *at;
	struct tw_job job;
	int loaded, status;

	ranks->common = &r->common;
	ranks->report = &r->options;
	ranks->tables = names;
	ranks->table_count = tw_sums_names(names, tw_analysis_count);
	ranks->keep = tw_sums_keep;
	/* Before traces are read, which may take its time. */
	if ((r->options.platform && tw_platform_check(r->options.platform, &err)) ||
	    (r->common.output && !(r->no_csv && r->no_xlsx) &&
	     cli_check_output(r->common.output, &err)))
		return cli_fail(&err);
	loaded = cli_load_job(&job, ranks, arguments, count);
	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	for (at = &job, status = CLI_DONE; at && status == CLI_DONE; at = at->next)
		status = report_job(r, at, top_ops);
	tw_job_release(&job);
	return status == CLI_DONE ? loaded : status;
}
