/* trawl prepare: first steps of the standalone analysis, for those who run the others themselves. */
#include "cli/analyze/analysing.h"

#include "standalone/manifest.h"
#include "table/table.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct trawl_column columns[] = {
	TW_TEXT("category", 20, "category, as in the file names", .values = "!~^[a-z0-9_]+$"),
	TW_INTEGER("operations", 10, "number of operators, by name and arguments",
		   .values = "!>=0"),
	TW_MEAN_MS("time", 12, "sum of kernel durations", .values = ">=0"),
	TW_PERCENT_2("of compute", 10, "kernel time / compute time", .values = ">=0"),
	TW_TEXT("skill", 24, "analysis of the category", .values = "!"),
};

static const struct tw_table_spec spec =
	TW_SPEC("categories", "prepared categories", columns, .keep_empty = true);

static void add_category_row(struct trawl_table *table, const struct tw_prepared_category *category)
{
	bool system = tw_category_is_system(category);
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, 0, category->name);
	tw_table_set_integer(table, row, 1, (int64_t)category->ops_count);
	tw_table_set_real(table, row, 2,
			  system ? (double)NAN : tw_as_written(category->kernel_ms, 3));
	tw_table_set_real(table, row, 3,
			  system ? (double)NAN : tw_as_written(category->percent_of_compute, 2));
	tw_table_set_str(table, row, 4, category->skill);
}

static int print_categories(const struct cli_reporting *r, const struct tw_manifest *manifest)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; table && i < manifest->categories.count; i++)
		add_category_row(table, &manifest->categories.at[i]);
	return cli_print_table(table, r->common.format, "prepare");
}

static int write_and_print(const struct cli_reporting *r, const struct trawl_report *report)
{
	const char *dir = cli_output_dir(r);
	struct tw_prepared prepared;
	struct trawl_error err;
	int status;

	tw_prepared_init(&prepared, dir, trawl_allocator_default());
	if (cli_write_report(r, report, NULL, &err) ||
	    tw_prepare(&prepared, report, cli_trace_name(r->path), &err))
		status = cli_fail(&err);
	else
		status = print_categories(r, prepared.manifest);
	if (status == CLI_DONE && !r->common.quiet)
		cli_message("prepared in %s/", dir);
	tw_prepared_release(&prepared);
	return status;
}

#define AT(member) offsetof(struct cli_reporting, member)

static const struct cli_options options[] = {
	CLI_NO_XLSX(0),		CLI_COUNTING(0),	CLI_VIEW(0),
	CLI_OUTPUT(AT(common)), CLI_COMMON(AT(common)), { 0 },
};

static int prepare(const struct cli_command *command, int argc, char **argv)
{
	struct cli_trace_report made;
	struct cli_reporting r;
	int status;

	cli_reporting_init(&r);
	r.options.exposed_time = true;
	status = cli_reporting_begin(&r, command, &r, argc, argv, false);
	if (status >= 0)
		return status;
	status = cli_report_make(&made, &r, true);
	if (status == CLI_DONE)
		status = cli_one_device(&made);
	if (status == CLI_DONE)
		status = write_and_print(&r, made.report);
	return cli_report_end(&made, status);
}

const struct cli_command cli_command_prepare = {
	"prepare",
	"TRACE",
	"prepare the data of a standalone analysis, by category",
	"Writes the report and, into the same directory (default: analysis_output beside the trace),\n"
	"category_manifest.json and for each category its operators (category_data/), tree data and\n"
	"metadata (metadata/). Prints the categories.\n\n"
	"  trawl prepare trace.json.gz -o analysis --platform MI300X\n",
	options,
	prepare,
};
