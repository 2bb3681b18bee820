/* trawl collectives: from the traces of all ranks to what their collectives cost, and why. */
#include "cli/ranks/collectives.h"
#include "cli/ranks/ranks.h"
#include "cli/screen.h"
#include "cli/trace/reporting.h"

#include <stddef.h>
#include <string.h>

#define HEAT_MAP "all2allv_heatmap.png"

struct collectives_command {
	struct cli_reporting reporting;
	struct cli_ranks ranks;
	enum tw_align align;
};

/* Nobody asked for the picture: without it, the rest is as good. */
static void draw_heat_map(const struct cli_reporting *r, const struct tw_job_tables *t,
			  struct cli_outputs *o)
{
	struct trawl_error err;
	int status = cli_draw_all_to_all(t, cli_below(o->dir, HEAT_MAP), &err);

	if (!status)
		o->picture = HEAT_MAP;
	else if (status != TRAWL_ENODATA && !r->common.quiet)
		cli_message("%s", err.message);
}

/* Files of what this job has nothing to say about. */
static void tell_stale(const struct cli_outputs *o, const struct tw_job_tables *t)
{
	static const char what[] = "run: this job has nothing for it";
	size_t i;

	for (i = 0; i < tw_ranks_table_count; i++)
		if (!tw_job_table(t, tw_ranks_tables[i]->table.name))
			cli_tell_stale_table(o, tw_ranks_tables[i]->table.name, what);
	if (!o->picture && !o->r->common.quiet && !(o->r->no_csv && o->r->no_xlsx))
		cli_tell_stale(cli_below(o->dir, HEAT_MAP), what);
}

static int print_result(const struct tw_job_tables *t, const char *heat_map, enum tw_format format)
{
	/* Those that are small however many collectives there are, in the order of the workbook. */
	static const char *const names[] = {
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
			shown[count] = tw_job_table(t, names[i]);
			count += shown[count] != NULL;
		}
		return cli_print_tables(shown, count, format, "collectives", 0);
	}
	cli_screen_init(&s);
	cli_summarise_collectives(t, heat_map, &s);
	return cli_screen_print(&s);
}

static int write_and_print(const struct cli_reporting *r, const struct tw_job_tables *t)
{
	struct cli_outputs o = { r, cli_job_dir(t->in.job, &r->common), "collective_all_ranks_csvs",
				 "collective_all_ranks.xlsx", NULL };
	struct trawl_error err;
	int status, failed = cli_write_tables(&o, (const struct trawl_table *const *)t->tables,
					      t->count, &err);

	if (failed && failed != TRAWL_EIO)
		return cli_fail(&err);
	if (!failed && (!r->no_csv || !r->no_xlsx))
		draw_heat_map(r, t, &o);
	/* What was found out is printed all the same where it cannot be written. */
	status = print_result(t, o.picture, r->common.format);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		cli_tell_outputs(&o, t->count);
		tell_stale(&o, t);
	}
	return status;
}

static int analyse_job(const struct collectives_command *c, const struct tw_job *job)
{
	static const struct tw_job_wanted all = { 0 };
	const struct cli_common *common = &c->reporting.common;
	double start = cli_seconds();
	struct tw_job_tables t;
	struct trawl_error err;
	int status = tw_job_tables_make(&t, job, c->align, &all, common->threads,
					trawl_allocator_default(), &err);

	if (status)
		status = cli_fail(&err);
	if (common->verbose)
		cli_message("matched in %.3f s", cli_seconds() - start);
	if (status == CLI_DONE)
		status = write_and_print(&c->reporting, &t);
	tw_job_tables_release(&t);
	return status;
}

#define AT(member) offsetof(struct collectives_command, member)

static const struct cli_option own_options[] = {
	{ "align", 0, &cli_align, "HOW", AT(align), CLI_ALIGN_HELP },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },	  CLI_NO_XLSX(AT(reporting)),
	CLI_NO_CSV(AT(reporting)),	  CLI_RANKS(AT(ranks)),
	CLI_VIEW(AT(reporting)),	  CLI_OUTPUT(AT(reporting.common)),
	CLI_COMMON(AT(reporting.common)), { 0 },
};

static int collectives(const struct cli_command *command, int argc, char **argv)
{
	struct collectives_command c = { .align = TW_ALIGN_AUTO };
	const struct tw_job *at;
	struct tw_job job;
	int count, status, loaded;

	cli_reporting_init(&c.reporting);
	c.ranks =
		(struct cli_ranks){ .common = &c.reporting.common, .report = &c.reporting.options };
	status = cli_begin(command, &c, argc, argv, &count);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "which traces? a directory, a pattern or a list");
	status = cli_reporting_view(&c.reporting, command);
	if (status >= 0)
		return status;
	loaded = cli_load_job(&job, &c.ranks, (const char *const *)argv, (size_t)count);
	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	for (at = &job, status = CLI_DONE; at && status == CLI_DONE; at = at->next)
		status = analyse_job(&c, at);
	tw_job_release(&job);
	return status == CLI_DONE ? loaded : status;
}

const struct cli_command cli_collectives = {
	"collectives",
	"RANKS",
	"collectives over all ranks: who waits for whom, and how long",
	"RANKS is a directory, a pattern or a list of the traces of one job, one a rank. Writes\n"
	"collective_all_ranks.xlsx, collective_all_ranks_csvs/*.csv and, where there are all_to_allv,\n"
	"all2allv_heatmap.png into the output directory (default: analysis_output beside the\n"
	"traces), and prints a summary. The exit status is 3 when a rank is missing or left out.\n\n"
	"  trawl collectives traces/ -o collectives --gpus-per-node 8\n",
	options,
	collectives,
};
