/* trawl report: from a trace to its tables, as files and as a summary; of ranks report_ranks.c. */
#include "cli/ranks/report_ranks.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "cli/processes.h"
#include "job/merge/peek.h"
#include "os/inputs.h"
#include "table/table.h"

#include <string.h>
#include <unistd.h>

#define ROOFLINE "roofline.png"

struct report_command {
	struct cli_reporting reporting;
	unsigned top_ops;
	bool plots, each;
};

/* A report with nothing to draw is done without the picture. */
static int draw_plots(const struct report_command *c, const struct trawl_report *report,
		      const struct trawl_trace *trace, bool *drawn, struct trawl_error *err)
{
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	cli_output_path(&c->reporting, ROOFLINE, &path);
	status = path.failed ? tw_no_memory(err) : cli_draw_roofline(report, trace, path.ptr, err);
	*drawn = !status;
	if (status == TRAWL_ENODATA) {
		if (!c->reporting.common.quiet)
			cli_message("%s", err->message);
		status = 0;
	}
	tw_str_release(&path);
	return status;
}

static void tell_if_there(const struct tw_str *path, const char *what)
{
	if (!path->failed && !access(path->ptr, F_OK))
		cli_message("%s is of an earlier report: this trace has no such %s", path->ptr,
			    what);
}

/*
 * Files of what this trace has nothing to say about, left from an earlier report: nothing is
 * deleted here, but they are not of this trace.
 */
static void tell_stale(const struct report_command *c, const struct trawl_report *report,
		       bool drawn)
{
	struct tw_str path;
	size_t i;

	if (c->reporting.common.quiet)
		return;
	tw_str_init(&path, trawl_allocator_default());
	for (i = 0; i < tw_analysis_count && !c->reporting.no_csv; i++) {
		const char *name = tw_analyses[i]->table.name;

		if (trawl_report_find(report, name))
			continue;
		cli_output_path(&c->reporting, "perf_report_csvs", &path);
		tw_str_addf(&path, "/%s.csv", name);
		tell_if_there(&path, "table");
	}
	if (c->plots && !drawn) {
		cli_output_path(&c->reporting, ROOFLINE, &path);
		tell_if_there(&path, "picture");
	}
	tw_str_release(&path);
}

static void tell_where(const struct report_command *c, const struct trawl_report *report,
		       bool drawn)
{
	const char *names[3];
	struct tw_str path, list;
	size_t count = 0, i;

	if (!c->reporting.no_xlsx)
		names[count++] = "perf_report.xlsx";
	if (!c->reporting.no_csv)
		names[count++] = "perf_report_csvs/";
	if (drawn)
		names[count++] = ROOFLINE;
	if (c->reporting.common.quiet || !count)
		return;
	tw_str_init(&path, trawl_allocator_default());
	tw_str_init(&list, trawl_allocator_default());
	cli_output_path(&c->reporting, NULL, &path);
	for (i = 0; i < count; i++)
		tw_str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	if (!path.failed && !list.failed && c->reporting.no_csv && c->reporting.no_xlsx)
		cli_message("%s written to %s/", list.ptr, path.ptr);
	else if (!path.failed && !list.failed)
		cli_message("%zu tables written to %s/ (%s)", trawl_report_tables(report), path.ptr,
			    list.ptr);
	tw_str_release(&list);
	tw_str_release(&path);
}

static int print_result(const struct report_command *c, const struct trawl_report *report,
			const struct trawl_trace *trace)
{
	const struct trawl_table *tables[4];
	struct trawl_table *top = NULL;
	struct tw_str out;
	size_t count = 0;

	tw_str_init(&out, trawl_allocator_default());
	if (c->reporting.common.format == TW_FORMAT_TABLE) {
		cli_summarise(report, trace, c->top_ops, cli_width(), cli_colour(), &out);
	} else {
		top = cli_top_operations(report, c->top_ops, true);
		tables[count] = trawl_report_find(report, "gpu_timeline");
		count += tables[count] != NULL;
		tables[count] = trawl_report_find(report, "step_work");
		count += tables[count] != NULL;
		tables[count] = top;
		count += top != NULL;
		tables[count] = trawl_report_find(report, "quality");
		count += tables[count] != NULL;
		tw_render(tables, count, c->reporting.common.format, "report", 0, &out);
		out.failed |= !top;
	}
	tw_table_free(top);
	return cli_print_str(&out);
}

static int write_and_print(void *context, const struct trawl_report *report,
			   const struct trawl_trace *trace)
{
	const struct report_command *c = context;
	struct trawl_error err;
	double start = cli_seconds();
	bool drawn = false;
	int status, failed;

	status = cli_write_report(&c->reporting, report, &err);
	if (!status && c->plots)
		status = draw_plots(c, report, trace, &drawn, &err);
	if (c->reporting.common.verbose)
		cli_message("written in %.3f s", cli_seconds() - start);
	/* What was found out is printed all the same where it cannot be written. */
	if (status && status != TRAWL_EIO)
		return cli_fail(&err);
	failed = status;
	status = print_result(c, report, trace);
	if (failed)
		return cli_fail_output(&err);
	if (status == CLI_DONE) {
		tell_where(c, report, drawn);
		tell_stale(c, report, drawn);
	}
	return status;
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
static void add_trace_name(struct tw_str *out, const struct tw_rank_set *set, size_t number)
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
	tw_str_add(out, path + above, len - above);
}

/* One of them, into a directory of its own; *wrong: there is no report of it. */
static int report_one_of(struct report_command *c, const struct tw_rank_set *set, size_t i,
			 bool *wrong)
{
	struct cli_reporting *r = &c->reporting;
	const char *asked = r->common.output;
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_peek peek;
	struct trawl_error err;
	struct tw_str path;
	int status;

	r->path = set->files[i].path;
	if (!set->files[i].named && !tw_peek_file(&peek, r->path, a, &err) && !peek.is_trace) {
		if (!r->common.quiet)
			cli_message("%s: skipped: not a profiler trace", r->path);
		return CLI_DONE;
	}
	tw_str_init(&path, a);
	if (asked)
		tw_str_addf(&path, "%s/", asked);
	else
		tw_str_addf(&path, "%s/analysis_output/", set->directory);
	add_trace_name(&path, set, i);
	if (path.failed) {
		tw_str_release(&path);
		return cli_no_memory();
	}
	r->common.output = path.ptr;
	if (r->common.format == TW_FORMAT_TABLE && i)
		cli_print("\n", 1);
	status = cli_reporting_run(r, !r->no_csv || !r->no_xlsx || c->plots, write_and_print, c);
	r->common.output = asked;
	tw_str_release(&path);
	*wrong |= status == CLI_FAILED;
	return status == CLI_FAILED ? CLI_INCOMPLETE : status;
}

static int report_each(struct report_command *c, const char *const *arguments, size_t count)
{
	struct tw_rank_set set = { 0 };
	struct trawl_error err;
	int status = CLI_DONE, one;
	size_t i, failed = 0;

	if (cli_is_led())
		return CLI_LED;
	if (tw_rank_set_find(&set, arguments, count, trawl_allocator_default(), &err))
		return cli_fail(&err);
	for (i = 0; i < set.count; i++)
		tw_inputs_note(set.files[i].path);
	for (i = 0; i < set.count; i++) {
		bool wrong = false;

		one = report_one_of(c, &set, i, &wrong);
		failed += wrong;
		if (one != CLI_DONE && one != CLI_INCOMPLETE) {
			status = one;
			break;
		}
		status = one == CLI_DONE ? status : one;
	}
	if (failed == set.count)
		status = CLI_FAILED;
	tw_rank_set_release(&set);
	return status;
}

static int run_report(struct report_command *c, struct cli_ranks *ranks,
		      const struct cli_command *command, const char *const *arguments, size_t count)
{
	struct cli_reporting *r = &c->reporting;
	int status = cli_reporting_view(r, command);

	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "which trace, or which ranks? (none given)");
	if (c->each)
		return report_each(c, arguments, count);
	if (cli_is_rank_set(arguments, count)) {
		if (c->plots)
			return cli_usage_error(command, "--plots draws one trace, and not ranks");
		return cli_report_ranks(r, ranks, arguments, count, c->top_ops);
	}
	r->path = arguments[0];
	return cli_reporting_run(r, !r->no_csv || !r->no_xlsx || c->plots, write_and_print, c);
}

int cli_report(const struct cli_command *command, int argc, char **argv)
{
	struct report_command c = { .top_ops = 10 };
	struct cli_reporting *r = &c.reporting;
	struct cli_ranks ranks = { 0 };
	struct cli_option counting[8], view[8], common[8], of_ranks[4];
	const struct cli_option own[] = {
		{ "top-ops", 0, CLI_COUNT, "N", &c.top_ops,
		  "operations in the summary (default 10)" },
		{ "plots", 0, CLI_FLAG, NULL, &c.plots, "draw " ROOFLINE " too, with gnuplot" },
		{ "each", 0, CLI_FLAG, NULL, &c.each,
		  "report each trace by itself, in a directory of its name" },
		CLI_NO_XLSX(r),
		CLI_NO_CSV(r),
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option *const tables[] = { counting, own, of_ranks, view, common };
	int status, count;

	cli_reporting_init(r, counting, view, common);
	cli_ranks_options(&ranks, of_ranks);
	status = cli_begin(command, tables, 5, argc, argv, &count);
	if (status >= 0)
		return status;
	return run_report(&c, &ranks, command, (const char *const *)argv, (size_t)count);
}
