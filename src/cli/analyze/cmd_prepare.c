/* trawl prepare: the first steps of the standalone analysis, for who does the others by themselves. */
#include "cli/analyze/prepare.h"

#include "os/file.h"
#include "table/table.h"

#include <stdio.h>
#include <string.h>

const char *cli_trace_name(const char *path)
{
	return strcmp(path, "-") ? tw_file_name(path) : "stdin";
}

int cli_prepare_files(const struct cli_reporting *r, const struct trawl_report *report,
		      struct tw_prepared *prepared, struct trawl_error *err)
{
	int status = cli_write_report(r, report, err);

	return status ? status : tw_prepare(prepared, report, cli_trace_name(r->path), err);
}

static const struct trawl_column columns[] = {
	TW_TEXT("category", 20, "name, as its files have it", .values = "!~^[a-z0-9_]+$"),
	TW_INTEGER("operations", 10, "by name and arguments", .values = "!>=0"),
	TW_MEAN_MS("time", 12, "kernel time", .values = ">=0"),
	TW_PERCENT_2("of compute", 10, "kernel time to the computing time", .values = ">=0"),
	TW_TEXT("skill", 24, "what analyses it", .values = "!"),
};

static const struct tw_table_spec spec =
	TW_SPEC("categories", "categories that were prepared", columns, .keep_empty = true);

static void add_row(struct trawl_table *table, const struct tw_json_value *category)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, 0, tw_json_text(tw_json_get(category, "name")));
	tw_table_set_integer(table, row, 1,
			     (int64_t)tw_json_number(tw_json_get(category, "ops_count")));
	tw_table_set_real(table, row, 2,
			  tw_json_number(tw_json_get(category, "gpu_kernel_time_ms")));
	tw_table_set_real(table, row, 3,
			  tw_json_number(tw_json_get(category, "percent_of_compute")));
	tw_table_set_str(table, row, 4, tw_json_text(tw_json_get(category, "skill")));
}

static int print_categories(const struct cli_reporting *r, struct tw_prepared *prepared)
{
	struct trawl_error err;
	const struct tw_json_value *manifest = tw_prepared_json(prepared, "", TW_MANIFEST, &err),
				   *category;
	struct trawl_table *table;
	const struct trawl_table *list[1];
	int status = CLI_FAILED;

	if (!manifest)
		return cli_fail(&err);
	table = tw_table_new(&spec, trawl_allocator_default());
	if (table) {
		for (category = tw_json_get(manifest, "categories")->first; category;
		     category = category->next)
			add_row(table, category);
		list[0] = table;
		if (!tw_table_finish(table, NULL))
			status =
				cli_print_tables(list, 1, r->common.format, "prepare", cli_width());
	}
	if (status)
		cli_message("out of memory");
	tw_table_free(table);
	return status;
}

static int prepare(void *context, const struct trawl_report *report,
		   const struct trawl_trace *trace)
{
	const struct cli_reporting *r = context;
	struct tw_prepared prepared;
	struct trawl_error err;
	struct tw_str dir;
	int status;

	status = cli_one_device(report, trace, r->path, &r->common);
	if (status >= 0)
		return status;
	tw_str_init(&dir, trawl_allocator_default());
	cli_output_path(r, NULL, &dir);
	if (dir.failed) {
		cli_message("out of memory");
		tw_str_release(&dir);
		return CLI_FAILED;
	}
	tw_prepared_init(&prepared, dir.ptr, trawl_allocator_default());
	if (cli_prepare_files(r, report, &prepared, &err))
		status = cli_fail(&err);
	else
		status = print_categories(r, &prepared);
	if (status == CLI_DONE && !r->common.quiet)
		cli_message("prepared in %s/", dir.ptr);
	tw_prepared_release(&prepared);
	tw_str_release(&dir);
	return status;
}

int cli_prepare(const struct cli_command *command, int argc, char **argv)
{
	struct cli_option counting[8], view[8], common[8];
	struct cli_reporting r;
	const struct cli_option own[] = { CLI_NO_XLSX(&r),
					  { NULL, 0, CLI_FLAG, NULL, NULL, NULL } };
	const struct cli_option *const tables[] = { own, counting, view, common };
	int status;

	cli_reporting_init(&r, counting, view, common);
	r.options.exposed_time = true;
	status = cli_reporting_begin(&r, command, tables, 4, argc, argv, false);
	return status >= 0 ? status : cli_reporting_run(&r, true, prepare, &r);
}
