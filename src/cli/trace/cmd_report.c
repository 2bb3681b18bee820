/* trawl report: from a trace to its tables, as files and as a summary; of ranks report_ranks.c. */
#include "cli/ranks/report_ranks.h"
#include "cli/ranks/report_tables.h"
#include "cli/screen.h"

#include "cli/processes.h"
#include "io/sink.h"
#include "job/merge/peek.h"
#include "job/set/set.h"
#include "os/inputs.h"
#include "table/table.h"

#include <stddef.h>
#include <string.h>

#define ROOFLINE "roofline.svg"
#define STACKS "stacks.folded"

struct report_command {
	struct cli_reporting reporting;
	struct cli_ranks ranks;
	struct cli_tables tables;
	unsigned top_ops;
	bool plots, each;
	unsigned stacks;
};

/* A report with nothing to draw is done without the picture. */
static int draw_plots(const struct report_command *c, const struct cli_trace_report *made,
		      struct cli_outputs *o, struct trawl_error *err)
{
	int status = cli_draw_roofline(made->report, made->trace, cli_below(o->dir, ROOFLINE), err);

	if (!status)
		o->picture = ROOFLINE;
	if (status != TRAWL_ENODATA)
		return status;
	if (!c->reporting.common.quiet)
		cli_message("%s", err->message);
	return 0;
}

static void write_text(void *sink, const char *text, size_t len)
{
	tw_sink_write(sink, text, len);
}

/* By module where there are any, unless something else is asked for. */
static int write_stacks(const struct report_command *c, const struct trawl_report *report,
			struct cli_outputs *o, struct trawl_error *err)
{
	bool asked = c->stacks > CLI_STACKS_NONE;
	struct tw_sink *sink;
	int status;

	if (c->stacks == CLI_STACKS_NONE || (!asked && c->reporting.no_csv))
		return 0;
	status = tw_sink_open(&sink, cli_below(o->dir, STACKS), trawl_allocator_default(), err);
	if (status)
		return status;
	status = trawl_report_stacks(
		report, c->stacks == CLI_STACKS_FULL ? TRAWL_STACKS_FULL : TRAWL_STACKS_BY_MODULE,
		write_text, sink, err);
	if (!status) {
		o->stacks = STACKS;
		return tw_sink_commit(sink, err);
	}
	tw_sink_abort(sink);
	if (status != TRAWL_ENODATA)
		return status;
	if (asked && !c->reporting.common.quiet)
		cli_message("no " STACKS ": %s", err->message);
	return 0;
}

/* Files of tables that this trace does not have, from an earlier report. */
static void tell_stale(const struct report_command *c, const struct trawl_report *report,
		       const struct cli_outputs *o)
{
	const char *name;
	size_t i;

	for (i = 0; (name = trawl_report_table_name(i)); i++)
		if (!trawl_report_find(report, name))
			cli_tell_stale_table(o, name, "report: no such table for this trace");
	if (c->plots && !o->picture && !c->reporting.common.quiet)
		cli_tell_stale(cli_below(o->dir, ROOFLINE), "report: no such plot for this trace");
	if (!o->stacks && !c->reporting.common.quiet)
		cli_tell_stale(cli_below(o->dir, STACKS), "report: no such stacks for this trace");
}

/* The tables that are small however long the trace is, those that it has, in the order of the workbook. */
static void print_tables(const struct report_command *c, const struct trawl_report *report,
			 struct tw_str *out)
{
	static const char *const names[] = { "gpu_timeline",   "step_work", "steps",
					     "phases_summary", "phases",    "modules",
					     "call_sites" };
	const struct trawl_table *tables[sizeof(names) / sizeof(names[0]) + 4];
	const struct trawl_table *graphs = trawl_report_find(report, "graphs");
	struct trawl_table *top = cli_top_operations(report, c->top_ops, false);
	bool first = graphs && trawl_table_notes(graphs);
	size_t count = 0, i;

	/* First where most of the GPU time is in no operator. */
	tables[count] = graphs;
	count += first;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		tables[count] = trawl_report_find(report, names[i]);
		count += tables[count] != NULL;
	}
	tables[count] = graphs;
	count += graphs && !first;
	tables[count] = top;
	count += top != NULL;
	tables[count] = trawl_report_find(report, "quality");
	count += tables[count] != NULL;
	tw_render(tables, count, c->reporting.common.format, "report", 0, out);
	out->failed |= !top;
	trawl_table_free(top);
}

static int print_result(const struct report_command *c, const struct trawl_report *report,
			const struct trawl_trace *trace)
{
	struct cli_screen s;

	cli_screen_init(&s);
	if (c->reporting.common.format == TW_FORMAT_TABLE)
		cli_summarise(report, trace, c->top_ops, &s);
	else
		print_tables(c, report, &s.out);
	return cli_screen_print(&s);
}

static int write_and_print(const struct report_command *c, const struct cli_trace_report *made)
{
	const struct cli_reporting *r = &c->reporting;
	struct cli_outputs o = cli_report_outputs(r, cli_output_dir(r));
	struct trawl_error err;
	double start = cli_seconds();
	int status, failed;

	failed = cli_write_report(r, made->report, NULL, &err);
	if (!failed && c->plots)
		failed = draw_plots(c, made, &o, &err);
	if (!failed)
		failed = write_stacks(c, made->report, &o, &err);
	if (r->common.verbose)
		cli_message("written in %.3f s", cli_seconds() - start);
	/* What was found out is printed all the same where it cannot be written. */
	if (failed && failed != TRAWL_EIO)
		return cli_fail(&err);
	status = print_result(c, made->report, made->trace);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		cli_tell_outputs(&o, trawl_report_tables(made->report));
		tell_stale(c, made->report, &o);
	}
	return status;
}

static int report_trace(const struct report_command *c)
{
	const struct cli_reporting *r = &c->reporting;
	struct cli_trace_report made;
	int status = cli_report_make(&made, r, !r->no_csv || !r->no_xlsx || c->plots);

	if (status == CLI_DONE)
		status = write_and_print(c, &made);
	return cli_report_end(&made, status);
}

/* ---- each trace of several by itself */

/* A path without what the kind of its file adds: how long that is. */
static size_t stem_len(const char *path)
{
	static const char *const endings[] = { ".gz", ".zst", ".sqlite", ".json", ".trace", ".pt" };
	size_t len = strlen(path), i;

	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && !memcmp(path + len - n, endings[i], n))
			len -= n;
	}
	return len;
}

/* The name of a trace below the directory of all; with its ending where others have the same. */
static char *trace_name(const struct tw_rank_set *set, size_t number)
{
	const char *path = set->files[number].path;
	size_t above = strlen(set->directory), len = stem_len(path), i;

	for (i = 0; i < set->count; i++)
		if (i != number && stem_len(set->files[i].path) == len &&
		    !memcmp(set->files[i].path, path, len))
			break;
	if (i < set->count)
		len = strlen(path);
	if (strncmp(path, set->directory, above))
		above = 0;
	above += strspn(path + above, "/");
	return cli_text("%.*s", (int)(len - above), path + above);
}

/* One of them, into a directory of its own; *unread: there is no report of it. */
static int report_one_of(struct report_command *c, const struct tw_rank_set *set, size_t i,
			 size_t *unread)
{
	struct cli_reporting *r = &c->reporting;
	const char *asked = r->common.output;
	struct tw_peek peek;
	struct trawl_error err;
	int status;

	r->path = set->files[i].path;
	if (!set->files[i].named &&
	    !tw_peek_file(&peek, r->path, trawl_allocator_default(), &err) && !peek.is_trace) {
		if (!r->common.quiet)
			cli_message("%s: skipped: not a profiler trace", r->path);
		return CLI_DONE;
	}
	r->common.output = cli_text("%s/%s%s", asked ? asked : set->directory,
				    asked ? "" : "analysis_output/", trace_name(set, i));
	if (r->common.format == TW_FORMAT_TABLE && i)
		cli_print("\n", 1);
	status = report_trace(c);
	r->common.output = asked;
	*unread += status == CLI_FAILED;
	return status == CLI_FAILED ? CLI_INCOMPLETE : status;
}

static int report_each(struct report_command *c, const char *const *arguments, size_t count)
{
	struct tw_rank_set set = { 0 };
	struct trawl_error err;
	int status = CLI_DONE, one;
	size_t i, unread = 0;

	if (cli_is_led())
		return CLI_LED;
	if (tw_rank_set_find(&set, arguments, count, trawl_allocator_default(), &err))
		return cli_fail(&err);
	for (i = 0; i < set.count; i++)
		tw_inputs_note(set.files[i].path);
	for (i = 0; i < set.count && status != CLI_USAGE; i++) {
		one = report_one_of(c, &set, i, &unread);
		status = one == CLI_DONE ? status : one;
	}
	if (unread == set.count)
		status = CLI_FAILED;
	tw_rank_set_release(&set);
	return status;
}

/* ---- the command */

#define AT(member) offsetof(struct report_command, member)

static const struct cli_option own_options[] = {
	{ "top-ops", 0, &cli_count, "N", AT(top_ops), "operators in the summary (default 10)" },
	{ "plots", 0, &cli_flag, NULL, AT(plots), "draw " ROOFLINE },
	{ "stacks", 0, &cli_stacks, "HOW", AT(stacks),
	  STACKS " for flame graphs: modules (default), full or none" },
	{ "call-stack", 0, &cli_flag, NULL, AT(reporting.options.call_stack),
	  "add call stacks to the tables of operators by arguments" },
	{ "group-by", 0, &cli_string, "WHAT", AT(reporting.options.group_by),
	  "rows of operators and kernels for each module, site, pass, step, phase or stream" },
	{ "no-python", 0, &cli_flag, NULL, AT(reporting.options.no_python),
	  "skip Python functions: faster, without modules and call sites" },
	{ "each", 0, &cli_flag, NULL, AT(each),
	  "report each trace separately, in a directory of its name" },
	{ 0 },
};

static const struct cli_options options[] = {
	CLI_COUNTING(AT(reporting)),
	{ .list = own_options },
	CLI_TABLES(AT(tables)),
	CLI_GRAPHS(AT(reporting)),
	CLI_NO_XLSX(AT(reporting)),
	CLI_NO_CSV(AT(reporting)),
	CLI_RANKS(AT(ranks)),
	CLI_VIEW(AT(reporting)),
	CLI_OUTPUT(AT(reporting.common)),
	CLI_COMMON(AT(reporting.common)),
	{ 0 },
};

/* With --table nothing but tables is made, without it there is nothing to choose rows of. */
static int check_tables(const struct report_command *c, const struct cli_command *command)
{
	const struct cli_tables *t = &c->tables;

	if (!t->names)
		return t->top != CLI_TOP_SCREEN || t->sort || t->columns ?
			       cli_usage_error(command,
					       "--top, --sort and --columns need --table") :
			       -1;
	return c->plots || c->each || c->stacks || c->reporting.common.output ?
		       cli_usage_error(command, "--table writes no files: without -o, --plots, "
						"--stacks and --each") :
		       -1;
}

static int report(const struct cli_command *command, int argc, char **argv)
{
	struct report_command c = { .top_ops = 10, .tables = { .top = CLI_TOP_SCREEN } };
	struct cli_reporting *r = &c.reporting;
	const char *const *arguments = (const char *const *)argv;
	int status, count;

	cli_reporting_init(r);
	status = cli_begin(command, &c, argc, argv, &count);
	if (status < 0)
		status = cli_reporting_view(r, command);
	if (status < 0)
		status = check_tables(&c, command);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing TRACE argument");
	status = cli_list_sources(r, &c.ranks.options);
	if (status != CLI_DONE)
		return status;
	if (c.tables.names)
		return cli_report_tables(&c.tables, r, &c.ranks, arguments, (size_t)count);
	if (c.each)
		return report_each(&c, arguments, (size_t)count);
	if (!cli_is_rank_set(arguments, (size_t)count)) {
		r->path = argv[0];
		return report_trace(&c);
	}
	if (c.plots || c.stacks > CLI_STACKS_NONE)
		return cli_usage_error(command, "%s needs one trace, not ranks",
				       c.plots ? "--plots" : "--stacks");
	return cli_report_ranks(r, &c.ranks, arguments, (size_t)count, c.top_ops);
}

const struct cli_command cli_command_report = {
	"report",
	"TRACE...",
	"performance report: where GPU time goes",
	"Writes perf_report.xlsx and perf_report_csvs/*.csv into the output directory (default:\n"
	"analysis_output beside the trace) and prints a summary. TRACE is a PyTorch profiler "
	"trace:\n"
	"JSON, plain or compressed with gzip or zstd; '-' reads standard input. --plots adds\n"
	"roofline.svg. Several traces, a directory or a pattern are the ranks of a job: the same\n"
	"tables over all ranks, with mean, min, max and slowest rank.\n"
	"\n"
	"  trawl report trace.json.gz -o report --step 3\n"
	"  trawl report trace.json.gz --table steps,streams --format csv\n"
	"  trawl report run/profiles -o report --gpus-per-node 8\n",
	options,
	report,
};
