/* Files that reports of traces and of ranks write. */
#include "cli/trace/reporting.h"

#include "io/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *cli_below(const char *dir, const char *name)
{
	return cli_text("%s%s%s", dir, tw_ends_with(dir, "/") ? "" : "/", name);
}

int cli_check_output(const char *dir, struct trawl_error *err)
{
	char *there = cli_text("%s", dir), *slash;
	struct stat info;

	while (stat(there, &info) && (errno == ENOENT || errno == ENOTDIR) &&
	       (slash = strrchr(there, '/')) && slash > there)
		*slash = 0;
	if (!stat(there, &info) && !S_ISDIR(info.st_mode))
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot create directory '%s': '%s' is not a directory", dir,
				       there);
	return 0;
}

int cli_write_tables(const struct cli_outputs *o, const struct trawl_table *const *tables,
		     size_t count, struct trawl_error *err)
{
	const char *xlsx = cli_below(o->dir, o->xlsx);
	int status = 0;

	/* When the workbook may not be written, neither are the others. */
	if (!o->r->no_xlsx)
		status = tw_sink_check(xlsx, err);
	if (!status && !o->r->no_csv)
		status = trawl_write_csv(tables, count, cli_below(o->dir, o->csvs), err);
	if (!status && !o->r->no_xlsx)
		status = trawl_write_xlsx(tables, count, xlsx, err);
	return status;
}

struct cli_outputs cli_report_outputs(const struct cli_reporting *r, const char *dir)
{
	return (struct cli_outputs){ r,	   dir, "perf_report_csvs", "perf_report.xlsx", NULL,
				     NULL, NULL };
}

int cli_write_report(const struct cli_reporting *r, const struct trawl_report *report,
		     const struct trawl_table *findings, struct trawl_error *err)
{
	const struct cli_outputs o = cli_report_outputs(r, cli_output_dir(r));
	size_t count = trawl_report_tables(report), n = 0, i;
	const struct trawl_table **tables = cli_alloc(count + 1, sizeof(*tables));

	if (findings)
		tables[n++] = findings;
	for (i = 0; i < count; i++)
		tables[n++] = trawl_report_table(report, i);
	return cli_write_tables(&o, tables, n, err);
}

int cli_write_job_report(const struct cli_outputs *o, const struct trawl_job_report *report,
			 struct trawl_error *err)
{
	size_t count = trawl_job_report_tables(report), i;
	const struct trawl_table **tables = cli_alloc(count, sizeof(*tables));

	for (i = 0; i < count; i++)
		tables[i] = trawl_job_report_table(report, i);
	return cli_write_tables(o, tables, count, err);
}

int cli_fail_output(const struct trawl_error *err)
{
	if (err->status != TRAWL_EIO)
		return cli_fail(err);
	cli_message("%s (-o DIR writes to another directory)", err->message);
	return CLI_FAILED;
}

void cli_tell_outputs(const struct cli_outputs *o, size_t tables)
{
	const char *list = "";

	if (!o->r->no_xlsx)
		list = o->xlsx;
	if (!o->r->no_csv)
		list = cli_text("%s%s%s/", list, *list ? ", " : "", o->csvs);
	if (o->picture)
		list = cli_text("%s%s%s", list, *list ? ", " : "", o->picture);
	if (o->stacks)
		list = cli_text("%s%s%s", list, *list ? ", " : "", o->stacks);
	if (o->page)
		list = cli_text("%s, %s", o->page, list);
	if (o->r->common.quiet || !*list)
		return;
	if (o->r->no_csv && o->r->no_xlsx)
		cli_message("%s written to %s/", list, o->dir);
	else
		cli_message("%zu tables written to %s/ (%s)", tables, o->dir, list);
}

void cli_tell_stale(const char *path, const char *what)
{
	if (!access(path, F_OK))
		cli_message("%s is of an earlier %s", path, what);
}

void cli_tell_stale_table(const struct cli_outputs *o, const char *table, const char *what)
{
	if (!o->r->common.quiet && !o->r->no_csv)
		cli_tell_stale(cli_text("%s/%s.csv", cli_below(o->dir, o->csvs), table), what);
}
