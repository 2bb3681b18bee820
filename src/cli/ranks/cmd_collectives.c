/* trawl collectives: from the traces of all ranks to what their collectives cost, and why. */
#include "cli/analyze/findings.h"
#include "cli/ranks/collectives.h"
#include "cli/ranks/ranks.h"
#include "cli/ranks/ranks_page.h"
#include "cli/screen.h"
#include "cli/trace/reporting.h"

#include <stddef.h>
#include <string.h>

#define HEAT_MAP "all2allv_heatmap.png"
#define PAGE "collective_all_ranks.html"

struct collectives_command {
	struct cli_reporting reporting;
	struct cli_ranks ranks;
	enum trawl_align align;
};

/* Nobody asked for the picture: without it, the rest is as good. */
static void draw_heat_map(const struct cli_reporting *r, const struct trawl_job_report *t,
			  struct cli_outputs *o)
{
	struct trawl_error err;
	int status = cli_draw_all_to_all(t, cli_below(o->dir, HEAT_MAP), &err);

	if (!status)
		o->picture = HEAT_MAP;
	else if (status != TRAWL_ENODATA && !r->common.quiet)
		cli_message("%s", err.message);
}

/* Files of tables that this job does not have. */
static void tell_stale(const struct cli_outputs *o, const struct trawl_job_report *t)
{
	static const char what[] = "run: no such table for this job";
	const char *name;
	size_t i;

	for (i = 0; (name = trawl_job_report_table_name(i)); i++)
		if (!trawl_job_report_find(t, name))
			cli_tell_stale_table(o, name, what);
	if (!o->picture && !o->r->common.quiet && !(o->r->no_csv && o->r->no_xlsx))
		cli_tell_stale(cli_below(o->dir, HEAT_MAP), what);
}

static int print_result(const struct trawl_job *job, const struct trawl_job_report *t,
			const struct trawl_diagnosis *diagnosis, const char *heat_map,
			enum tw_format format)
{
	/* Those that are small however many collectives there are, in the order of the workbook. */
	static const char *const names[] = {
		"findings",
		"ranks",
		"verdict",
		"rank_timeline",
		"timeline_over_ranks",
		"nccl_summary_implicit_sync",
		"nccl_summary_all2allv",
		"straggler_summary",
		"stragglers",
		"collective_matches",
		"collective_mismatches",
		"collective_waits",
		"transfers",
		"clocks",
	};
	const struct trawl_table *shown[sizeof(names) / sizeof(names[0])];
	struct cli_screen s;
	size_t count = 0, i;

	if (format != TW_FORMAT_TABLE) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			shown[count] = trawl_job_report_find(t, names[i]);
			count += shown[count] != NULL;
		}
		return cli_print_tables(shown, count, format, "collectives", 0);
	}
	cli_screen_init(&s);
	if (diagnosis) {
		cli_add_findings(&s, diagnosis);
		tw_str_add_char(&s.out, '\n');
	}
	cli_summarise_collectives(job, t, heat_map, &s);
	return cli_screen_print(&s);
}

static int write_page(struct cli_outputs *o, const struct trawl_job *job,
		      const struct trawl_job_report *t, struct trawl_error *err)
{
	struct cli_page page = { .title = cli_page_of_job("Collectives of the job", NULL, job) };

	cli_page_verdict(&page, trawl_job_report_find(t, "verdict"));
	cli_page_known_ranks(&page, job);
	cli_page_ranks(&page, t, true);
	o->page = PAGE;
	return cli_page_write(&page, cli_below(o->dir, PAGE), err);
}

static int write_files(struct cli_outputs *o, const struct trawl_job *job,
		       const struct trawl_job_report *t, struct trawl_error *err)
{
	int failed = cli_write_job_report(o, t, err);

	if (failed || (o->r->no_csv && o->r->no_xlsx))
		return failed;
	draw_heat_map(o->r, t, o);
	return write_page(o, job, t, err);
}

static int write_and_print(const struct cli_reporting *r, const struct trawl_job *job,
			   const struct trawl_job_report *t,
			   const struct trawl_diagnosis *diagnosis)
{
	struct cli_outputs o = { .r = r,
				 .dir = cli_job_dir(job, &r->common),
				 .csvs = "collective_all_ranks_csvs",
				 .xlsx = "collective_all_ranks.xlsx" };
	struct trawl_error err;
	int status, failed = write_files(&o, job, t, &err);

	if (failed && failed != TRAWL_EIO)
		return cli_fail(&err);
	/* What was found out is printed all the same where it cannot be written. */
	status = print_result(job, t, diagnosis, o.picture, r->common.format);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		cli_tell_outputs(&o, trawl_job_report_tables(t));
		tell_stale(&o, t);
	}
	return status;
}

static int report_job(const struct collectives_command *c, const struct trawl_job *job,
		      const struct trawl_diagnosis *diagnosis)
{
	const struct cli_common *common = &c->reporting.common;
	const struct trawl_job_report_options o = { .align = c->align,
						    .collectives = true,
						    .threads = common->threads,
						    .diagnosis = diagnosis };
	double start = cli_seconds();
	struct trawl_job_report *report;
	struct trawl_error err;
	int status;

	if (trawl_job_report_new(&report, job, &o, &err))
		return cli_fail(&err);
	if (common->verbose)
		cli_message("matched in %.3f s", cli_seconds() - start);
	status = write_and_print(&c->reporting, job, report, diagnosis);
	trawl_job_report_free(report);
	return status;
}

static int analyse_job(void *context, struct trawl_job *job)
{
	const struct collectives_command *c = context;
	struct trawl_diagnosis *diagnosis;
	int status = cli_diagnose_job(&diagnosis, job, &c->ranks);

	if (status == CLI_DONE)
		status = report_job(c, job, diagnosis);
	trawl_diagnosis_free(diagnosis);
	return status;
}

#define AT(member) offsetof(struct collectives_command, member)

static const struct cli_option own_options[] = {
	{ "align", 0, &cli_align, "HOW", AT(align), CLI_ALIGN_HELP },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_NO_XLSX(AT(reporting)),
	CLI_NO_CSV(AT(reporting)),
	CLI_GRAPHS(AT(reporting)),
	CLI_RANKS(AT(ranks)),
	CLI_VIEW(AT(reporting)),
	CLI_OUTPUT(AT(reporting.common)),
	CLI_COMMON(AT(reporting.common)),
	{ 0 },
};

static int collectives(const struct cli_command *command, int argc, char **argv)
{
	struct collectives_command c = { .align = TRAWL_ALIGN_AUTO };
	int count, status;

	cli_reporting_init(&c.reporting);
	c.ranks = (struct cli_ranks){
		.common = &c.reporting.common,
		.options = { .report = &c.reporting.options,
			     .collectives_only = true,
			     .findings = true },
	};
	status = cli_begin(command, &c, argc, argv, &count);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing RANKS argument (a directory, a pattern "
						"or a list of traces)");
	status = cli_reporting_view(&c.reporting, command);
	if (status >= 0)
		return status;
	status = cli_list_sources(&c.reporting, &c.ranks.options);
	if (status != CLI_DONE)
		return status;
	return cli_for_each_job(&c.ranks, (const char *const *)argv, (size_t)count, analyse_job,
				&c);
}

const struct cli_command cli_command_collectives = {
	"collectives",
	"RANKS",
	"collectives over all ranks: waits, stragglers, bandwidth",
	"RANKS is a directory, a pattern or a list of the traces of one job, one per rank. "
	"Writes\n"
	"collective_all_ranks.html (verdict, charts and tables on a page), .xlsx,\n"
	"collective_all_ranks_csvs/*.csv and, for all_to_allv, all2allv_heatmap.png into the output\n"
	"directory (default: analysis_output beside the traces), and prints a summary. Exit status 3:\n"
	"a rank is missing or was skipped.\n"
	"\n"
	"  trawl collectives traces/ -o collectives --gpus-per-node 8\n",
	options,
	collectives,
};
