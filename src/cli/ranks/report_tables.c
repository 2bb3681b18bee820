#include "cli/ranks/report_tables.h"

#include "cli/ranks/report_ranks.h"
#include "table/table.h"

#include <string.h>

/* Tables by name; what is not there is named: there may be more than one source. */
struct finder {
	const struct trawl_table *(*find)(const void *report, const char *name);
	const void *report, *more; /* NULL: no other */
	const char *by;		   /* what rows are for each of; NULL: of nothing */
};

static const struct trawl_table *find_of_trace(const void *report, const char *name)
{
	return trawl_report_find(report, name);
}

static const struct trawl_table *find_of_job(const void *report, const char *name)
{
	return trawl_job_report_find(report, name);
}

/* What is shown for want of rows in the first table is not by anything. */
static void note_by(const struct cli_tables *t, const char *by,
		    const struct trawl_table *const *tables, size_t count)
{
	const char *name;
	size_t i;

	for (i = 0; i < count && !trawl_table_rows(tables[i]); i++)
		;
	name = i < count ? trawl_table_name(tables[i]) : t->names;
	if (strncmp(t->names, name, strlen(name)))
		cli_message("note: no rows by %s: table %s is not grouped", by, name);
}

static int print_found(const struct cli_tables *t, const struct finder *f, enum tw_format format)
{
	const struct trawl_table **tables = cli_alloc(strlen(t->names) + 1, sizeof(*tables));
	const char *names = t->names, *name;
	size_t len, count = 0, missing = 0;
	int status;

	while (cli_next_name(&names, &name, &len)) {
		const char *asked = cli_text("%.*s", (int)len, name);
		const struct trawl_table *table = f->find(f->report, asked);

		if (!table && f->more)
			table = f->find(f->more, asked);
		if (table)
			tables[count++] = table;
		else if (!t->one && ++missing)
			cli_message("no table '%s' of these ranks", asked);
	}
	if (!count && t->one)
		cli_message("none of the tables %s of these ranks", t->names);
	if (!count)
		return CLI_FAILED;
	if (t->one && f->by)
		note_by(t, f->by, tables, count);
	status = cli_tables_print(t, tables, count, format);
	return status == CLI_DONE && missing ? CLI_INCOMPLETE : status;
}

static int print_of_trace(const struct cli_tables *t, const struct cli_reporting *r)
{
	struct finder f = { .find = find_of_trace, .by = r->options.group_by };
	struct cli_trace_report made;
	int status = cli_report_make(&made, r, false);

	f.report = made.report;
	if (status == CLI_DONE)
		status = print_found(t, &f, r->common.format);
	return cli_report_end(&made, status);
}

/* ---- over ranks */

struct printing {
	const struct cli_tables *t;
	const struct cli_reporting *r;
	const struct cli_ranks *ranks;
};

/* The tables of collectives are in the place of those that are summed. */
static int print_of_job(void *context, struct trawl_job *job)
{
	const struct printing *p = context;
	struct trawl_job_report *report = NULL, *collectives = NULL;
	struct trawl_job_report_options options = { .threads = p->r->common.threads };
	struct finder f = { .find = find_of_job, .by = p->r->options.group_by };
	struct trawl_diagnosis *diagnosis = NULL;
	struct trawl_error err;
	int status = p->ranks->options.findings ? cli_diagnose_job(&diagnosis, job, p->ranks) :
						  CLI_DONE;

	if (status != CLI_DONE)
		return status;
	options.diagnosis = diagnosis;
	if (trawl_job_report_new(&report, job, &options, &err))
		status = cli_fail(&err);
	options.collectives = true;
	if (status == CLI_DONE && p->ranks->options.findings &&
	    trawl_job_report_new(&collectives, job, &options, &err))
		status = cli_fail(&err);
	f.report = report;
	f.more = collectives;
	if (status == CLI_DONE)
		status = print_found(p->t, &f, p->r->common.format);
	trawl_job_report_free(collectives);
	trawl_job_report_free(report);
	trawl_diagnosis_free(diagnosis);
	return status;
}

static bool has_job_table(const char *names)
{
	const char *name;
	size_t len;

	while (cli_next_name(&names, &name, &len))
		if (cli_is_job_table(name, len))
			return true;
	return false;
}

int cli_report_tables(const struct cli_tables *t, struct cli_reporting *r, struct cli_ranks *ranks,
		      const char *const *arguments, size_t count)
{
	bool of_ranks = cli_is_rank_set(arguments, count);
	struct cli_tables over_ranks = *t;
	struct printing context = { &over_ranks, r, ranks };
	struct trawl_error err;

	if (cli_tables_check(t, of_ranks, &err))
		return cli_fail(&err);
	if (!of_ranks || !has_job_table(t->names))
		r->options.only = t->names;
	if (!of_ranks) {
		r->path = arguments[0];
		return print_of_trace(t, r);
	}
	if (r->options.platform && trawl_platform_check(r->options.platform, &err))
		return cli_fail(&err);
	/* Their columns have other names. */
	over_ranks.shown = NULL;
	ranks->common = &r->common;
	ranks->options.report = &r->options;
	ranks->options.findings = !r->options.only;
	return cli_for_each_job(ranks, arguments, count, print_of_job, &context);
}
