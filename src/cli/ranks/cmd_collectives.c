/* trawl collectives: from the traces of all ranks to what their collectives cost, and why. */
#include "cli/ranks/collectives.h"
#include "cli/ranks/ranks.h"
#include "cli/trace/reporting.h"

#include "base/alloc.h"
#include "job/tables/all_tables.h"

#include <string.h>
#include <unistd.h>

#define WORKBOOK "collective_all_ranks.xlsx"
#define CSVS "collective_all_ranks_csvs"
#define HEAT_MAP "all2allv_heatmap.png"

struct collectives_command {
	const struct cli_command *command;
	struct cli_reporting reporting;
	struct cli_ranks ranks;
	const char *align;
	bool drawn;
};

/* What is made of the traces. */
struct results {
	const struct tw_job *job;
	struct tw_matches matches;
	struct tw_clocks clocks;
	struct tw_ranks_input in;
	struct trawl_table **tables;
	size_t count;
};

const struct trawl_table *cli_collectives_table(const struct cli_collectives *c, const char *name)
{
	return tw_ranks_tables_find(c->tables, c->count, name);
}

/* ---- files */

static int write_tables(const struct collectives_command *c, const struct results *r,
			struct trawl_error *err)
{
	const struct trawl_table *const *tables = (const struct trawl_table *const *)r->tables;
	const struct cli_common *common = &c->reporting.common;
	struct tw_str csvs, xlsx;

	tw_str_init(&csvs, trawl_allocator_default());
	tw_str_init(&xlsx, trawl_allocator_default());
	cli_job_path(r->job, common, CSVS, &csvs);
	cli_job_path(r->job, common, WORKBOOK, &xlsx);
	return cli_write_tables(&c->reporting, tables, r->count, &csvs, &xlsx, err);
}

/* Nobody asked for the picture: without it, the rest is as good. */
static void draw(struct collectives_command *c, const struct cli_collectives *made)
{
	struct trawl_error err;
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	cli_job_path(made->in->job, &c->reporting.common, HEAT_MAP, &path);
	status = path.failed ? tw_no_memory(&err) : cli_draw_all_to_all(made, path.ptr, &err);
	c->drawn = !status;
	if (status && status != TRAWL_ENODATA && !c->reporting.common.quiet)
		cli_message("%s", err.message);
	tw_str_release(&path);
}

static void tell_where(const struct collectives_command *c, const struct results *r)
{
	const char *names[3];
	struct tw_str path;
	size_t count = 0;

	if (!c->reporting.no_xlsx)
		names[count++] = WORKBOOK;
	if (!c->reporting.no_csv)
		names[count++] = CSVS "/";
	if (c->drawn)
		names[count++] = HEAT_MAP;
	if (c->reporting.common.quiet || !count)
		return;
	tw_str_init(&path, trawl_allocator_default());
	cli_job_path(r->job, &c->reporting.common, NULL, &path);
	if (!path.failed)
		cli_message("%zu tables written to %s/ (%s%s%s%s%s)", r->count, path.ptr, names[0],
			    count > 1 ? ", " : "", count > 1 ? names[1] : "", count > 2 ? ", " : "",
			    count > 2 ? names[2] : "");
	tw_str_release(&path);
}

static void tell_if_there(const struct tw_str *path)
{
	if (!path->failed && !access(path->ptr, F_OK))
		cli_message("%s is of an earlier run: this job has nothing for it", path->ptr);
}

/* Files of what this job has nothing to say about: nothing is deleted here. */
static void tell_stale(const struct collectives_command *c, const struct results *r)
{
	const struct cli_common *common = &c->reporting.common;
	struct tw_str path;
	size_t i;

	if (common->quiet)
		return;
	tw_str_init(&path, trawl_allocator_default());
	for (i = 0; i < tw_ranks_table_count && !c->reporting.no_csv; i++) {
		const char *name = tw_ranks_tables[i]->table.name;

		if (tw_ranks_tables_find(r->tables, r->count, name))
			continue;
		cli_job_path(r->job, common, CSVS, &path);
		tw_str_addf(&path, "/%s.csv", name);
		tell_if_there(&path);
	}
	cli_job_path(r->job, common, HEAT_MAP, &path);
	if (!c->drawn && !(c->reporting.no_csv && c->reporting.no_xlsx))
		tell_if_there(&path);
	tw_str_release(&path);
}

/* ---- what is printed */

static int print_result(const struct collectives_command *c, const struct cli_collectives *made)
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
	const struct cli_common *common = &c->reporting.common;
	struct tw_str out;
	size_t count = 0, i;

	if (common->format != TW_FORMAT_TABLE) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			shown[count] = cli_collectives_table(made, names[i]);
			count += shown[count] != NULL;
		}
		return cli_print_tables(shown, count, common->format, "collectives", 0);
	}
	tw_str_init(&out, trawl_allocator_default());
	cli_summarise_collectives(made, cli_width(), cli_colour(), &out);
	return cli_print_str(&out);
}

/* ---- the steps */

static int look_across(struct results *r, enum tw_align align, unsigned threads,
		       struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();

	r->in = (struct tw_ranks_input){ r->job, &r->matches, &r->clocks, a };
	if (tw_matches_build(&r->matches, r->job, a) ||
	    tw_clocks_measure(&r->clocks, r->job, &r->matches, align, a))
		return tw_no_memory(err);
	r->tables = tw_alloc_array(a, tw_ranks_table_count, sizeof(struct trawl_table *));
	if (!r->tables)
		return tw_no_memory(err);
	return tw_ranks_tables_make(&r->in, threads, r->tables, &r->count, err);
}

static int write_and_print(struct collectives_command *c, const struct results *r)
{
	struct cli_collectives made = { &r->in, r->tables, r->count, NULL };
	struct trawl_error err;
	int failed = write_tables(c, r, &err), status;

	if (failed && failed != TRAWL_EIO)
		return cli_fail(&err);
	if (!failed && (!c->reporting.no_csv || !c->reporting.no_xlsx))
		draw(c, &made);
	made.heat_map = c->drawn ? HEAT_MAP : NULL;
	status = print_result(c, &made);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		tell_where(c, r);
		tell_stale(c, r);
	}
	return status;
}

static void release(struct results *r)
{
	const struct trawl_allocator *a = trawl_allocator_default();

	if (r->tables)
		tw_ranks_tables_free(r->tables, r->count);
	tw_free(a, r->tables, tw_ranks_table_count * sizeof(struct trawl_table *));
	tw_clocks_release(&r->clocks);
	tw_matches_release(&r->matches);
}

static int analyse_job(struct collectives_command *c, enum tw_align align, const struct tw_job *job)
{
	struct results r = { .job = job };
	double start = cli_seconds();
	struct trawl_error err;
	int status;

	status = look_across(&r, align, c->reporting.common.threads, &err) ? cli_fail(&err) :
									     CLI_DONE;
	if (c->reporting.common.verbose)
		cli_message("matched in %.3f s", cli_seconds() - start);
	if (status == CLI_DONE)
		status = write_and_print(c, &r);
	release(&r);
	return status;
}

static int analyse(struct collectives_command *c, enum tw_align align, char **arguments,
		   size_t count)
{
	const struct tw_job *at;
	struct tw_job job;
	int loaded, status = CLI_DONE;

	loaded = cli_load_job(&job, &c->ranks, (const char *const *)arguments, count);
	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	for (at = &job; at && status == CLI_DONE; at = at->next)
		status = analyse_job(c, align, at);
	tw_job_release(&job);
	return status == CLI_DONE ? loaded : status;
}

int cli_collectives(const struct cli_command *command, int argc, char **argv)
{
	struct collectives_command c = { .command = command };
	struct cli_reporting *r = &c.reporting;
	struct cli_option counting[8], view[8], common[8], of_ranks[4];
	const struct cli_option own[] = {
		{ "align", 0, CLI_TEXT, "HOW", &c.align,
		  "clocks of ranks: collectives (measured from their ends), base-time or none "
		  "(default: collectives for several hosts or where clocks differ, else "
		  "base-time)" },
		CLI_NO_XLSX(r),
		CLI_NO_CSV(r),
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option *const tables[] = { own, of_ranks, view, common };
	enum tw_align align = TW_ALIGN_AUTO;
	int count, status;

	cli_reporting_init(r, counting, view, common);
	cli_ranks_options(&c.ranks, of_ranks);
	status = cli_begin(command, tables, 4, argc, argv, &count);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "which traces? a directory, a pattern or a list");
	status = cli_reporting_view(r, command);
	if (status >= 0)
		return status;
	status = cli_read_align(command, c.align, &align);
	if (status >= 0)
		return status;
	c.ranks.common = &r->common;
	c.ranks.groups = true;
	c.ranks.report = &r->options;
	return analyse(&c, align, argv, (size_t)count);
}
