/* trawl check: the data-quality record alone. */
#include "cli/trace/reporting.h"
#include "cli/screen.h"

#include "analysis/analysis.h"
#include "render/escape.h"
#include "table/table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct trawl_column trace_column = TW_TEXT("trace", 24, "trace file", .values = "!");

static const struct tw_table_spec spec = { .name = "quality",
					   .meaning = "defects of the traces, most severe first",
					   .keep_empty = true };

struct check_command {
	struct cli_common common;
	bool timing;
	struct trawl_table *table;
	struct cli_screen screen; /* the same for people */
	int read;		  /* traces that could be read */
};

/* The columns of the quality table after one for the trace; NULL when out of memory. */
static struct trawl_table *new_table(void)
{
	const struct tw_table_spec *quality = &tw_analysis_quality.table;
	size_t count = 1 + quality->column_count;
	struct trawl_column *columns = cli_alloc(count, sizeof(*columns));

	columns[0] = trace_column;
	memcpy(columns + 1, quality->columns, quality->column_count * sizeof(*columns));
	return tw_table_new_columns(&spec, columns, count, trawl_allocator_default());
}

static void add_defect_rows(struct trawl_table *table, const char *path,
			    const struct trawl_defect *defects, size_t count)
{
	size_t i, row;

	for (i = 0; i < count; i++) {
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, path);
		tw_set_defect(table, row, 1, &defects[i]);
	}
}

static void add_defect_lines(struct check_command *c, const char *path,
			     const struct trawl_defect *defects, size_t count)
{
	tw_escape_terminal(&c->screen.out, path, strlen(path));
	tw_str_add_cstr(&c->screen.out, count ? "\n" : ": no defects\n");
	cli_add_defects(defects, count, &c->screen);
}

/* The trace's own record and what its links and nesting show. */
static int all_defects(const struct trawl_trace *trace, struct trawl_defect **defects,
		       size_t *count, struct trawl_error *err)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	int status;

	trawl_report_options_init(&options);
	options.only = tw_analysis_quality.table.name;
	status = trawl_report_new(&report, trace, &options, err);
	if (status)
		return status;
	*defects = cli_report_defects(report, count);
	trawl_report_free(report);
	return 0;
}

static void tell_timing(double load_seconds)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "load_seconds=%.6f peak_rss_bytes=%lld\n", load_seconds,
		(long long)usage.ru_maxrss * 1024);
}

static int check_trace(struct check_command *c, const char *path)
{
	struct trawl_defect *defects = NULL;
	struct trawl_trace *trace;
	struct trawl_error err;
	double start = cli_seconds();
	size_t count = 0;
	int status = cli_read_trace(&trace, path, &c->common, NULL, false);

	if (status)
		return status;
	c->read++;
	if (c->timing)
		tell_timing(cli_seconds() - start);
	if (!c->timing && all_defects(trace, &defects, &count, &err)) {
		status = cli_fail(&err);
	} else {
		add_defect_rows(c->table, path, defects, count);
		add_defect_lines(c, path, defects, count);
		if (c->common.strict)
			status = cli_strict_status(path, defects, count);
		if (!status)
			status = cli_defects_status(defects, count);
	}
	trawl_trace_free(trace);
	return status;
}

static int print_defects(struct check_command *c)
{
	int status;

	if (c->common.format == TW_FORMAT_TABLE) {
		trawl_table_free(c->table);
		return cli_screen_print(&c->screen);
	}
	status = cli_print_table(c->table, c->common.format, "check");
	tw_str_release(&c->screen.out);
	return status;
}

/* One status for several traces: strictness fails, an unreadable one among others is skipped. */
static int combine(const struct check_command *c, int worst, int count)
{
	if (worst == CLI_FAILED && !c->common.strict && c->read && c->read < count)
		return CLI_INCOMPLETE;
	return worst;
}

#define AT(member) offsetof(struct check_command, member)

static const struct cli_option own_options[] = {
	{ "timing", 0, &cli_flag, NULL, AT(timing), NULL },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_COMMON(AT(common)),
	{ 0 },
};

static int check(const struct cli_command *command, int argc, char **argv)
{
	struct check_command c = { 0 };
	int count, status, i, worst = CLI_DONE;

	status = cli_begin(command, &c, argc, argv, &count);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing TRACE argument");
	cli_screen_init(&c.screen);
	c.table = new_table();
	for (i = 0; i < count; i++) {
		status = check_trace(&c, argv[i]);
		if (status == CLI_FAILED || worst == CLI_DONE)
			worst = status;
	}
	c.table = tw_table_finished(c.table);
	status = CLI_DONE;
	if (!c.table)
		status = cli_no_memory();
	else if (!c.timing && c.read)
		status = print_defects(&c);
	else
		trawl_table_free(c.table);
	return status ? status : combine(&c, worst, count);
}

const struct cli_command cli_command_check = {
	"check",
	"TRACE...",
	"data quality of traces: repairs, losses, suspect events",
	"Prints the data-quality record of each trace, most severe first. Writes no file. Exit\n"
	"status 3: data was lost.\n"
	"\n"
	"  trawl check --strict rank0.json.gz rank1.json.gz\n",
	options,
	check,
};
