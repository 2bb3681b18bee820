/* trawl check: the data-quality record alone. */
#include "cli/cli.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "cli/exporting.h"
#include "render/escape.h"
#include "table/table.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const struct trawl_column trace_column = TW_TEXT("trace", 24, "the file", .values = "!");

static const struct tw_table_spec spec = { .name = "quality",
					   .meaning = "what is odd in the traces, worst first",
					   .keep_empty = true };

struct check_command {
	struct cli_common common;
	bool timing;
	struct trawl_table *table;
	struct tw_str text; /* the same for people */
	int read;	    /* traces that could be read */
};

/* The columns of the quality table behind one for the trace; NULL when out of memory. */
static struct trawl_table *new_table(void)
{
	const struct tw_table_spec *quality = &tw_analysis_quality.table;
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t count = 1 + quality->column_count;
	struct trawl_column *columns = tw_alloc_array(a, count, sizeof(*columns));
	struct trawl_table *table;

	if (!columns)
		return NULL;
	columns[0] = trace_column;
	memcpy(columns + 1, quality->columns, quality->column_count * sizeof(*columns));
	table = tw_table_new_columns(&spec, columns, count, a);
	tw_free(a, columns, count * sizeof(*columns));
	return table;
}

static void add_rows(struct trawl_table *table, const char *path,
		     const struct trawl_defect *defects, size_t count)
{
	size_t i, row;

	for (i = 0; i < count; i++) {
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, path);
		tw_set_defect(table, row, 1, &defects[i]);
	}
}

static void add_lines(struct check_command *c, const char *path, const struct trawl_defect *defects,
		      size_t count)
{
	tw_escape_terminal(&c->text, path, strlen(path));
	tw_str_add_cstr(&c->text, count ? "\n" : ": nothing odd found\n");
	cli_add_defects(defects, count, cli_width(), cli_colour(), &c->text);
}

/* The trace's own record and what its links and nesting show. */
static int all_defects(const struct trawl_trace *trace, struct trawl_defect *defects, size_t *count,
		       struct trawl_error *err)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct tw_quality quality = trace->quality;
	struct tw_derived *derived;
	int status = tw_derive(&derived, trace, &options, err);

	if (status)
		return status;
	tw_quality_append(&quality, &derived->quality, 0);
	*count = tw_trace_list_defects(trace, &quality, defects);
	tw_derived_free(derived);
	return 0;
}

static void tell_timing(double load_seconds)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "load_seconds=%.6f peak_rss_bytes=%lld\n", load_seconds,
		(long long)usage.ru_maxrss * 1024);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int check_trace(struct check_command *c, const char *path)
{
	struct cli_progress progress;
	struct trawl_read_options read = {
		.threads = c->common.threads,
		.block_size = cli_block_size(),
		.progress = cli_progress_update,
		.progress_context = &progress,
	};
	struct trawl_defect defects[TW_DEFECT_COUNT];
	struct trawl_trace *trace;
	struct trawl_error err;
	struct cli_exported exported;
	double start = seconds();
	size_t count = 0;
	int status = cli_export(&exported, path, &c->common, &err);

	if (status)
		return cli_fail(&err);
	cli_progress_begin(&progress, path, c->common.quiet);
	status = trawl_trace_read(&trace, exported.path, &read, &err);
	cli_progress_end(&progress);
	if (status && exported.path != path)
		trawl_error_context(&err, status, "%s, exported", path);
	cli_export_end(&exported);
	if (status)
		return cli_fail(&err);
	c->read++;
	if (c->common.verbose)
		cli_message("%s: %.1f MB, %llu events read in %.3f s", path,
			    (double)trace->bytes / 1e6,
			    (unsigned long long)trawl_trace_events(trace), seconds() - start);
	if (c->timing)
		tell_timing(seconds() - start);
	if (!c->timing && all_defects(trace, defects, &count, &err)) {
		status = cli_fail(&err);
	} else {
		add_rows(c->table, path, defects, count);
		add_lines(c, path, defects, count);
		if (c->common.strict)
			status = cli_strict_status(path, defects, count);
		if (!status)
			status = cli_defects_status(defects, count);
	}
	trawl_trace_free(trace);
	return status;
}

static int print_table(const struct check_command *c)
{
	const struct trawl_table *tables[] = { c->table };
	struct tw_str out;
	int status = CLI_FAILED;

	tw_str_init(&out, trawl_allocator_default());
	if (c->common.format == TW_FORMAT_TABLE)
		tw_str_add(&out, c->text.ptr, c->text.len);
	else
		tw_render(tables, 1, c->common.format, "check", cli_width(), &out);
	if (!out.failed && !c->text.failed)
		status = cli_print(out.ptr ? out.ptr : "", out.len);
	tw_str_release(&out);
	return status;
}

/* One status for several traces: strictness fails, an unreadable one among others is left out. */
static int combine(const struct check_command *c, int worst, int count)
{
	if (worst == CLI_FAILED && !c->common.strict && c->read && c->read < count)
		return CLI_INCOMPLETE;
	return worst;
}

int cli_check(const struct cli_command *command, int argc, char **argv)
{
	struct check_command c = { 0 };
	struct cli_option common[8];
	const struct cli_option own[] = {
		{ "timing", 0, CLI_FLAG, NULL, &c.timing, NULL },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct cli_option *const tables[] = { own, common };
	int count, status, i, worst = CLI_DONE;

	cli_common_options(&c.common, false, common);
	status = cli_begin(command, tables, 2, argc, argv, &count);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "which trace?");
	tw_str_init(&c.text, trawl_allocator_default());
	c.table = new_table();
	if (!c.table)
		return cli_no_memory();
	for (i = 0; i < count; i++) {
		status = check_trace(&c, argv[i]);
		if (status == CLI_FAILED || worst == CLI_DONE)
			worst = status;
	}
	status = tw_table_finish(c.table, NULL) ? CLI_FAILED : CLI_DONE;
	if (!status && !c.timing && c.read)
		status = print_table(&c);
	tw_table_free(c.table);
	tw_str_release(&c.text);
	return status ? status : combine(&c, worst, count);
}
