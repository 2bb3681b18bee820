/* trawl category: one category of the standalone analysis, on prepared data. */
#include "cli/analyze/analysing.h"

#include "data/tables.h"
#include "standalone/manifest.h"
#include "table/table.h"

#include <string.h>

/* What was prepared; *manifest is NULL where nobody wrote down what. */
static int find_manifest(struct tw_prepared *prepared, const struct tw_manifest **manifest,
			 struct trawl_error *err)
{
	*manifest = tw_manifest_read(prepared, err);
	if (*manifest)
		return 0;
	if (err->status != TRAWL_ENODATA)
		return err->status;
	if (tw_prepared_has(prepared, "", TW_CATEGORY_DATA))
		return 0;
	return trawl_error_set(err, TRAWL_EIO, "no data in '%s': run 'trawl prepare TRACE -o DIR'",
			       prepared->dir);
}

/* One that the analysis knows, or that the trace has. */
static bool is_category(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			const char *name)
{
	const char *file = tw_prepared_name(prepared, name, "_ops.csv");
	size_t i;

	if (file && !strchr(name, '/') && tw_prepared_has(prepared, TW_CATEGORY_DATA, file))
		return true;
	for (i = 0; manifest && i < manifest->categories.count; i++)
		if (!strcmp(manifest->categories.at[i].name, name))
			return true;
	for (i = 0; i < tw_analysis_category_count; i++)
		if (!strcmp(tw_analysis_categories[i].name, name))
			return true;
	return !strcmp(name, "multi_kernel") || !strcmp(name, "cpu_idle");
}

static int tell_unknown(const struct cli_command *command, const struct tw_manifest *manifest,
			const char *name)
{
	struct tw_str list;
	size_t i;
	int status;

	tw_str_init(&list, trawl_allocator_default());
	for (i = 0; manifest && i < manifest->categories.count; i++)
		tw_str_addf(&list, "%s%s", i ? ", " : "", manifest->categories.at[i].name);
	status = cli_usage_error(command, "unknown category '%.60s'; categories: %s", name,
				 list.failed || !list.len ? "none" : list.ptr);
	tw_str_release(&list);
	return status;
}

static int analyse_category(const struct cli_command *command, struct tw_prepared *prepared,
			    const char *name, enum tw_format format)
{
	struct tw_category_result result = { .status = TW_CATEGORY_DONE };
	const struct tw_manifest *manifest;
	struct trawl_table *table;
	struct trawl_error err;
	int status;

	if (find_manifest(prepared, &manifest, &err))
		return cli_fail(&err);
	if (!is_category(prepared, manifest, name))
		return tell_unknown(command, manifest, name);
	if (tw_category_analyse(prepared, name, &result, &err))
		return cli_fail(&err);
	if (result.status == TW_CATEGORY_FAILED)
		cli_message("category %s: %s", name, result.message);
	table = cli_category_table();
	if (table)
		cli_add_category(table, name, &result);
	status = cli_print_table(table, format, "category");
	return status == CLI_DONE && result.status == TW_CATEGORY_FAILED ? CLI_INCOMPLETE : status;
}

static const struct cli_options options[] = { CLI_TABLE(0), { 0 } };

static int category(const struct cli_command *command, int argc, char **argv)
{
	struct cli_common common = { 0 };
	struct tw_prepared prepared;
	int count, status = cli_begin(command, &common, argc, argv, &count);

	if (status >= 0)
		return status;
	if (count != 2)
		return cli_usage_error(command,
				       "expected a category and a directory, got %d argument%s",
				       count, count == 1 ? "" : "s");
	tw_prepared_init(&prepared, argv[1], trawl_allocator_default());
	status = analyse_category(command, &prepared, argv[0], common.format);
	tw_prepared_release(&prepared);
	return status;
}

const struct cli_command cli_command_category = {
	"category",
	"NAME DIR",
	"analysis of one category, from prepared data",
	"Writes category_data/NAME_metrics.json and the findings of the category into DIR, where\n"
	"'trawl prepare' or 'trawl analyze' has written its data, and prints the result.\n\n"
	"  trawl category gemm run/analysis_output\n",
	options,
	category,
};
