/* trawl nsys ranges: the GPU time of NVTX ranges, of exports and of any other trace. */
#include "cli/nsys/nsys_ranges.h"

#include "cli/exporting.h"
#include "table/table.h"

#include <stdio.h>
#include <string.h>

struct ranges_query {
	const struct cli_command *command;
	const struct cli_reporting *reporting;
	int64_t rank; /* -1: all */
	char pid[24]; /* of an export: the process that is the rank; else "" */
};

/* The rows of one process, with the notes. */
static struct trawl_table *rows_of_process(const struct trawl_table *table, const char *pid)
{
	struct trawl_table *of = tw_table_new(tw_table_spec(table), trawl_allocator_default());
	size_t row, column, i, to, len = strlen(pid);

	for (row = 0; of && row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = tw_table_cell(table, row, "pid");

		if (cell.state != TRAWL_CELL_VALUE || cell.text_len != len ||
		    memcmp(cell.text, pid, len))
			continue;
		to = tw_table_add_row(of);
		for (column = 0; column < trawl_table_columns(table); column++)
			tw_table_copy_cell(of, to, column, table, row, column);
	}
	if (of && !trawl_table_rows(of))
		tw_table_add_note(
			of,
			"no rows for pid %s of this rank; where hosts share pids, process names "
			"end with the host",
			pid);
	for (i = 0; of && i < trawl_table_notes(table); i++)
		tw_table_add_note(of, "%s", trawl_table_note(table, i));
	return tw_table_finished(of);
}

static int print_ranges(const struct ranges_query *q, const struct trawl_report *report,
			const struct trawl_trace *trace)
{
	const struct trawl_table *table = trawl_report_find(report, "nvtx_ranges");
	struct trawl_table *of = NULL;
	int status;

	/* A trace that is not an export has one rank, if recorded. */
	if (q->rank >= 0 && !*q->pid && trawl_trace_rank(trace) != q->rank)
		return cli_usage_error(q->command, "%s: not recorded as rank %lld",
				       q->reporting->path, (long long)q->rank);
	if (*q->pid) {
		of = rows_of_process(table, q->pid);
		if (!of)
			return cli_no_memory();
		table = of;
	}
	status = cli_print_tables(&table, 1, q->reporting->common.format, "nsys_ranges",
				  cli_width());
	trawl_table_free(of);
	return status;
}

/*
 * Of an export: which process the rank is; -1 to go on, else the exit status.  Another kind of
 * trace, which is no database, is left to its own reader.
 */
static int find_process(struct ranges_query *q, const struct trawl_nsys_options *options)
{
	struct trawl_table *setup = NULL;
	struct trawl_error err;
	int status;

	if (!trawl_nsys_is_export(q->reporting->path))
		return -1;
	status = trawl_nsys_query(&setup, TRAWL_NSYS_SETUP, q->reporting->path, options, &err);
	if (status == TRAWL_EUSAGE)
		return cli_usage_error(q->command, "%s", err.message);
	if (status) {
		trawl_error_context(&err, status, "%s", q->reporting->path);
		return cli_fail(&err);
	}
	snprintf(q->pid, sizeof(q->pid), "%lld", (long long)tw_table_cell(setup, 0, "pid").integer);
	trawl_table_free(setup);
	return -1;
}

static int report_ranges(const struct ranges_query *q)
{
	struct cli_trace_report made;
	int status = cli_report_make(&made, q->reporting, false);

	if (status == CLI_DONE)
		status = print_ranges(q, made.report, made.trace);
	return cli_report_end(&made, status);
}

int cli_nsys_ranges(const struct cli_command *command, struct cli_reporting *r,
		    const struct trawl_nsys_options *options)
{
	struct ranges_query q = { .command = command, .reporting = r, .rank = options->rank };
	struct cli_exported exported;
	struct trawl_error err;
	int status = cli_reporting_view(r, command);

	if (status >= 0)
		return status;
	r->options.only = "nvtx_ranges";
	if (q.rank < 0)
		return report_ranges(&q);
	/* The process of the rank is taken from the export that is reported. */
	if (cli_export(&exported, r->path, &r->common, &err))
		return cli_fail(&err);
	r->path = exported.path;
	status = find_process(&q, options);
	if (status < 0)
		status = report_ranges(&q);
	cli_export_end(&exported);
	return status;
}
