/* trawl nsys ranges: the GPU time of NVTX ranges, of exports and of any other trace. */
#include "cli/reporting.h"

#include "store/trace.h"
#include "table/table.h"

#include <string.h>

struct ranges_command {
	struct cli_reporting reporting;
	const char *rank; /* NULL: all processes */
};

/*
 * The process whose rank this is; false when none says so.  A trace of one process says of which
 * rank it is.
 */
static bool find_process(const struct trawl_trace *trace, int64_t rank, tw_code *pid)
{
	/* Labels of ranks in exports (src/nsys/) go here, where trace->by_process. */
	uint64_t i;

	if (trace->rank != rank)
		return false;
	for (i = 0; i < trace->events.count; i++)
		if (tw_class(trace, i) == TRAWL_CLASS_ANNOTATION) {
			*pid = trace->tracks[trace->events.track[i]].pid;
			return true;
		}
	return false;
}

/* The rows of one process, with the notes. */
static struct trawl_table *rows_of_process(const struct trawl_table *table,
					   const struct trawl_trace *trace, tw_code pid)
{
	const struct tw_table_spec *spec = &tw_analysis_nvtx_ranges.table;
	struct trawl_table *of = tw_table_new(spec, trawl_allocator_default());
	size_t row, column, i, to, len;
	char buffer[24];
	const char *text = tw_code_text(trace, pid, buffer, &len);

	for (row = 0; of && row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = tw_table_cell(table, row, "pid");

		if (cell.state != TRAWL_CELL_VALUE || cell.text_len != len ||
		    memcmp(cell.text, text, len))
			continue;
		to = tw_table_add_row(of);
		for (column = 0; column < trawl_table_columns(table); column++)
			tw_table_copy_cell(of, to, column, table, row, column);
	}
	for (i = 0; of && i < trawl_table_notes(table); i++)
		tw_table_add_note(of, "%s", trawl_table_note(table, i));
	if (of && tw_table_finish(of, NULL)) {
		tw_table_free(of);
		return NULL;
	}
	return of;
}

static int print_table(const struct ranges_command *c, const struct trawl_table *table)
{
	return cli_print_tables(&table, 1, c->reporting.common.format, "nsys_ranges", cli_width());
}

static int print_ranges(void *context, const struct trawl_report *report,
			const struct trawl_trace *trace)
{
	const struct ranges_command *c = context;
	const struct trawl_table *table = trawl_report_find(report, "nvtx_ranges");
	struct trawl_table *of;
	int64_t rank = 0;
	const char *p;
	tw_code pid;
	int status;

	if (!c->rank)
		return print_table(c, table);
	for (p = c->rank; *p; p++)
		rank = 10 * rank + (*p - '0');
	if (!find_process(trace, rank, &pid)) {
		cli_message("%s: no process says that it is rank %s", c->reporting.path, c->rank);
		return CLI_USAGE;
	}
	of = rows_of_process(table, trace, pid);
	if (!of) {
		cli_message("out of memory");
		return CLI_FAILED;
	}
	status = print_table(c, of);
	tw_table_free(of);
	return status;
}

int cli_nsys_ranges(const struct cli_command *command, int argc, char **argv)
{
	struct ranges_command c = { .rank = NULL };
	struct cli_reporting *r = &c.reporting;
	struct cli_option unused[8], view[8], common[8];
	const struct cli_option own[] = {
		{ "rank", 0, CLI_TEXT, "N", &c.rank, "only the process of this rank" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option *const tables[] = { own, view, common };
	int status;

	cli_reporting_init(r, unused, view, common);
	cli_common_options(&r->common, false, common);
	r->only = &tw_analysis_nvtx_ranges;
	status = cli_reporting_begin(r, command, tables, 3, argc, argv, false);
	if (status >= 0)
		return status;
	if (c.rank &&
	    (!c.rank[0] || strspn(c.rank, "0123456789") != strlen(c.rank) || strlen(c.rank) > 9))
		return cli_usage_error(command, "--rank takes a number, not '%.60s'", c.rank);
	if ((r->options.start_ns == TRAWL_TIME_NONE) != (r->options.end_ns == TRAWL_TIME_NONE))
		return cli_usage_error(command, "--start and --end: both or neither");
	return cli_reporting_run(r, false, print_ranges, &c);
}
