#include "cli/ranks/report_ranks.h"

#include "base/alloc.h"
#include "cli/ranks/ranks_summary.h"
#include "job/sums/sums.h"
#include "job/tables/all_tables.h"
#include "job/tables/outliers.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

struct run {
	const struct cli_reporting *r;
	const struct tw_job *job;
	struct tw_matches matches; /* which tables take texts from */
	struct tw_clocks clocks;
	struct trawl_table **tables; /* room for those of the job and one an analysis */
	size_t count;
	size_t top_ops;
};

bool cli_is_rank_set(const char *const *arguments, size_t count)
{
	struct stat info;

	if (count != 1)
		return count > 1;
	if (!stat(arguments[0], &info))
		return S_ISDIR(info.st_mode);
	return strpbrk(arguments[0], "*?[") != NULL;
}

/* ---- tables */

static int make_of_job(struct run *run, const struct tw_ranks_input *in)
{
	size_t i;

	for (i = 0; i < OF_JOB; i++) {
		struct trawl_table *table;

		if (tw_ranks_table_make(in, of_job[i], &table))
			return TRAWL_ENOMEM;
		if (table)
			run->tables[run->count++] = table;
	}
	return 0;
}

static int make_tables(struct run *run)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct tw_ranks_input in = {
		.job = run->job,
		.matches = &run->matches,
		.clocks = &run->clocks,
		.allocator = a,
	};
	double start = cli_seconds();
	size_t count = 0;
	int status;

	status = tw_matches_build(&run->matches, run->job, a) ||
				 tw_clocks_measure(&run->clocks, run->job, &run->matches,
						   TW_ALIGN_AUTO, a) ||
				 make_of_job(run, &in) ||
				 tw_sums_make_all(run->tables + run->count, &count, run->job,
						  run->r->common.threads, a) ?
			 TRAWL_ENOMEM :
			 0;
	run->count += count;
	if (run->r->common.verbose && !status)
		cli_message("summed in %.3f s", cli_seconds() - start);
	return status;
}

/* Those with rows, or that are always there: what is written. */
static size_t list_tables(const struct run *run, const struct trawl_table **list)
{
	size_t count = 0, i;

	for (i = 0; i < run->count; i++)
		if (trawl_table_rows(run->tables[i]) || tw_table_spec(run->tables[i])->keep_empty)
			list[count++] = run->tables[i];
	return count;
}

/* ---- files */

static int write_files(const struct run *run, const struct trawl_table *const *tables, size_t count,
		       struct trawl_error *err)
{
	const struct cli_common *common = &run->r->common;
	struct tw_str csvs, xlsx;

	tw_str_init(&csvs, trawl_allocator_default());
	tw_str_init(&xlsx, trawl_allocator_default());
	cli_job_path(run->job, common, "perf_report_csvs", &csvs);
	cli_job_path(run->job, common, "perf_report.xlsx", &xlsx);
	return cli_write_tables(run->r, tables, count, &csvs, &xlsx, err);
}

static void tell_where(const struct run *run, size_t count)
{
	const struct cli_reporting *r = run->r;
	struct tw_str path;

	if (r->common.quiet || (r->no_csv && r->no_xlsx))
		return;
	tw_str_init(&path, trawl_allocator_default());
	cli_job_path(run->job, &r->common, NULL, &path);
	if (!path.failed)
		cli_message("%zu tables written to %s/ (%s%s%s)", count, path.ptr,
			    r->no_xlsx ? "" : "perf_report.xlsx",
			    r->no_xlsx || r->no_csv ? "" : ", ",
			    r->no_csv ? "" : "perf_report_csvs/");
	tw_str_release(&path);
}

/* Nothing is deleted; but what another report left there is not of these ranks. */
static void tell_stale(const struct run *run, const struct cli_ranks_report *report)
{
	struct tw_str path;
	size_t i;

	if (run->r->common.quiet || run->r->no_csv)
		return;
	tw_str_init(&path, trawl_allocator_default());
	for (i = 0; i < tw_analysis_count; i++) {
		const char *name = tw_analyses[i]->table.name;

		if (cli_ranks_table(report, name))
			continue;
		cli_job_path(run->job, &run->r->common, "perf_report_csvs", &path);
		tw_str_addf(&path, "/%s.csv", name);
		if (!path.failed && !access(path.ptr, F_OK))
			cli_message("%s is of an earlier report: that over ranks has no such table",
				    path.ptr);
	}
	tw_str_release(&path);
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

static int print_result(const struct run *run, struct cli_ranks_report *report)
{
	enum tw_format format = run->r->common.format;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	if (format == TW_FORMAT_TABLE)
		cli_summarise_ranks(report, cli_width(), cli_colour(), &out);
	else
		print_tables(report, format, &out);
	return cli_print_str(&out);
}

static int write_and_print(struct run *run)
{
	const struct trawl_table **list = tw_alloc_array(trawl_allocator_default(),
							 OF_JOB + tw_analysis_count, sizeof(*list));
	struct cli_ranks_report report = { .job = run->job,
					   .tables = list,
					   .top_ops = run->top_ops };
	struct trawl_error err;
	int status, failed = TRAWL_ENOMEM;

	if (!list || make_tables(run)) {
		tw_no_memory(&err);
	} else {
		report.count = list_tables(run, list);
		failed = write_files(run, list, report.count, &err);
	}
	/* What was found out is printed all the same where it cannot be written. */
	status = failed && failed != TRAWL_EIO ? CLI_FAILED : print_result(run, &report);
	if (failed)
		status = cli_fail_output(&err);
	if (status == CLI_DONE) {
		tell_where(run, report.count);
		tell_stale(run, &report);
	}
	tw_free(trawl_allocator_default(), list, (OF_JOB + tw_analysis_count) * sizeof(*list));
	return status;
}

static int report_job(const struct cli_reporting *r, const struct tw_job *job, size_t top_ops)
{
	struct run run = { .r = r, .job = job, .top_ops = top_ops };
	size_t bytes = (OF_JOB + tw_analysis_count) * sizeof(*run.tables);
	int status;

	run.tables = tw_alloc(trawl_allocator_default(), bytes);
	if (!run.tables)
		return cli_no_memory();
	status = write_and_print(&run);
	while (run.count)
		tw_table_free(run.tables[--run.count]);
	tw_clocks_release(&run.clocks);
	tw_matches_release(&run.matches);
	tw_free(trawl_allocator_default(), run.tables, bytes);
	return status;
}

int cli_report_ranks(const struct cli_reporting *r, struct cli_ranks *ranks,
		     const char *const *arguments, size_t count, size_t top_ops)
{
	const char **names =
		tw_alloc_array(trawl_allocator_default(), tw_analysis_count, sizeof(*names));
	struct trawl_error err;
	const struct tw_job *at;
	struct tw_job job;
	int loaded, status;

	if (!names)
		return cli_no_memory();
	ranks->common = &r->common;
	ranks->report = &r->options;
	ranks->tables = names;
	ranks->table_count = tw_sums_names(names, tw_analysis_count);
	ranks->keep = tw_sums_keep;
	ranks->groups = true;
	/* Before traces are read, which may take its time. */
	if ((r->options.platform && tw_platform_check(r->options.platform, &err)) ||
	    (r->common.output && !(r->no_csv && r->no_xlsx) &&
	     cli_check_output(r->common.output, &err)))
		loaded = cli_fail(&err);
	else
		loaded = cli_load_job(&job, ranks, arguments, count);
	tw_free(trawl_allocator_default(), names, tw_analysis_count * sizeof(*names));
	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	for (at = &job, status = CLI_DONE; at && status == CLI_DONE; at = at->next)
		status = report_job(r, at, top_ops);
	tw_job_release(&job);
	return status == CLI_DONE ? loaded : status;
}
