/* Steps 2 to 5: what the analysis of each category needs, in files of its own. */
#include "standalone/standalone.h"

#include "base/alloc.h"
#include "render/render.h"
#include "standalone/manifest.h"
#include "standalone/tree_data.h"
#include "table/table.h"

#include <string.h>

/* Columns behind those of unified_perf_summary. */
static const struct trawl_column added_columns[] = {
	TW_TEXT("enhanced_category", 14, "category of the standalone analysis"),
	TW_TEXT("display_name", 14, "the category's name for people"),
};
#define ADDED (sizeof(added_columns) / sizeof(added_columns[0]))

static const struct tw_table_spec ops_spec = { .name = "ops",
					       .meaning = "operations of a category",
					       .columns = NULL,
					       .column_count = 0,
					       .keep_empty = true };

/* Rows of a category that are in memory as a table of their own at a time. */
#define PART_ROWS 256

/* A part of the rows of a category as a table; NULL when out of memory. */
static struct trawl_table *ops_table(const struct trawl_table *all,
				     const struct tw_category_rows *category, size_t first,
				     const struct trawl_allocator *allocator)
{
	size_t columns = trawl_table_columns(all), i, column;
	struct trawl_column *list = tw_alloc_array(allocator, columns + ADDED, sizeof(*list));
	struct trawl_table *table;

	if (!list)
		return NULL;
	for (i = 0; i < columns; i++)
		list[i] = *trawl_table_column(all, i);
	memcpy(list + columns, added_columns, sizeof(added_columns));
	table = tw_table_new_columns(&ops_spec, list, columns + ADDED, allocator);
	tw_free(allocator, list, (columns + ADDED) * sizeof(*list));
	for (i = 0; table && i < PART_ROWS && first + i < category->count; i++) {
		tw_table_add_row(table);
		for (column = 0; column < columns; column++)
			tw_table_copy_cell(table, i, column, all, category->rows[first + i],
					   column);
		tw_table_set_str(table, i, columns, category->name);
		tw_table_set_str(table, i, columns + 1, category->display_name);
	}
	return table;
}

static int write_part(struct tw_prepared_text *file, const struct trawl_table *all,
		      const struct tw_category_rows *category, size_t first,
		      const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct trawl_table *table = ops_table(all, category, first, allocator);
	int status = 0;

	if (!table || tw_table_finish(table, NULL)) {
		status = tw_no_memory(err);
	} else {
		tw_render_csv_from(table, first, &file->text);
		tw_prepared_drain(file, &file->text);
	}
	trawl_table_free(table);
	return status;
}

static int write_ops(struct tw_prepared *prepared, const struct trawl_table *all,
		     const struct tw_category_rows *category, struct trawl_error *err)
{
	struct tw_prepared_text file;
	int status = tw_prepared_open(prepared, TW_CATEGORY_DATA, category->name, "_ops.csv", &file,
				      err);
	size_t first = 0;

	do {
		if (!status)
			status = write_part(&file, all, category, first, prepared->allocator, err);
		first += PART_ROWS;
	} while (!status && first < category->count);
	return tw_prepared_close(&file, status, err);
}

static int write_metadata(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			  const struct tw_category_rows *category, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, prepared->allocator);
	tw_metadata_json(&text, manifest, category);
	status = tw_prepared_write_of(prepared, TW_METADATA, category->name, "_metadata.json",
				      &text, err);
	tw_str_release(&text);
	return status;
}

static int write_category(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			  const struct tw_trees *trees, const struct tw_category_rows *category,
			  struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, prepared->allocator);
	status = write_ops(prepared, manifest->categories.table, category, err);
	if (!status)
		status = write_metadata(prepared, manifest, category, err);
	if (!status) {
		tw_trees_json(&text, trees, category);
		status = tw_prepared_write_of(prepared, TW_CATEGORY_DATA, category->name,
					      "_tree_data.json", &text, err);
	}
	tw_str_release(&text);
	return status;
}

/* The manifest comes last: where it stands, everything it names does. */
static int write_manifest(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			  struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, prepared->allocator);
	tw_manifest_json(&text, manifest);
	status = tw_prepared_write(prepared, TW_CATEGORY_DATA, TW_MANIFEST, &text, err);
	if (!status)
		status = tw_prepared_write(prepared, "", TW_MANIFEST, &text, err);
	tw_str_release(&text);
	return status;
}

static int write_system(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			struct trawl_error *err)
{
	const struct tw_analysis_input *in = tw_report_input(manifest->report);
	int status = write_metadata(prepared, manifest, &tw_cpu_idle_area, err);

	if (!status)
		status = write_metadata(prepared, manifest, &tw_multi_kernel_area, err);
	if (!status)
		status = tw_prepare_multi_kernel(prepared, in, err);
	if (!status)
		status = tw_prepare_cpu_idle(prepared, in, err);
	return status;
}

/* What is analysed next is the table itself, unless its files hold other texts. */
static int keep_categories(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			   struct trawl_error *err)
{
	struct tw_report_categories *kept = tw_arena_alloc(&prepared->arena, sizeof(*kept));
	struct trawl_table *other = NULL;

	if (!kept)
		return tw_no_memory(err);
	*kept = manifest->categories;
	if (kept->table && tw_table_safe(kept->table, prepared->allocator, &other, err))
		return err->status;
	prepared->categories = other ? NULL : kept;
	trawl_table_free(other);
	return 0;
}

int tw_prepare(struct tw_prepared *prepared, const struct trawl_report *report,
	       const char *trace_name, struct trawl_error *err)
{
	struct tw_manifest manifest;
	struct tw_trees trees;
	int status;
	size_t i;

	status = tw_manifest_init(&manifest, &prepared->arena, report, trace_name, err);
	if (!status)
		status = tw_trees_init(&trees, &prepared->arena, &manifest, err);
	if (status)
		return status;
	for (i = 0; !status && i < manifest.categories.count; i++)
		status = write_category(prepared, &manifest, &trees, &manifest.categories.items[i],
					err);
	tw_trees_release(&trees);
	if (!status)
		status = keep_categories(prepared, &manifest, err);
	if (!status)
		status = write_system(prepared, &manifest, err);
	if (!status)
		status = write_manifest(prepared, &manifest, err);
	return status;
}
