/* Steps 2 to 5: what the analysis of each category needs, in files of its own. */
#include "standalone/standalone.h"

#include "base/alloc.h"
#include "render/render.h"
#include "standalone/manifest.h"
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
				     const struct tw_prepared_category *category, size_t first,
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
	for (i = 0; table && i < PART_ROWS && first + i < category->ops_count; i++) {
		tw_table_add_row(table);
		for (column = 0; column < columns; column++)
			tw_table_copy_cell(table, i, column, all, category->rows[first + i],
					   column);
		tw_table_set_str(table, i, columns, category->name);
		tw_table_set_str(table, i, columns + 1, category->title);
	}
	return table;
}

static int write_part(struct tw_prepared_text *file, const struct trawl_table *all,
		      const struct tw_prepared_category *category, size_t first,
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
		     const struct tw_prepared_category *category, struct trawl_error *err)
{
	struct tw_prepared_text file;
	int status = tw_prepared_open(prepared, TW_CATEGORY_DATA, category->name, "_ops.csv", &file,
				      err);
	size_t first = 0;

	do {
		if (!status)
			status = write_part(&file, all, category, first, prepared->allocator, err);
		first += PART_ROWS;
	} while (!status && first < category->ops_count);
	return tw_prepared_close(&file, status, err);
}

static int write_metadata(struct tw_prepared *prepared, const struct tw_manifest *manifest,
			  const struct tw_prepared_category *category, struct trawl_error *err)
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
			  const struct tw_prepared_category *category, struct trawl_error *err)
{
	struct tw_str text;
	int status = write_metadata(prepared, manifest, category, err);

	if (status || tw_category_is_system(category))
		return status;
	tw_str_init(&text, prepared->allocator);
	status = write_ops(prepared, manifest->table, category, err);
	if (!status) {
		tw_trees_json(&text, category);
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
	int status = tw_fields_write(prepared, TW_CATEGORY_DATA, TW_MANIFEST, &tw_manifest_fields,
				     manifest, err);

	return status ? status :
			tw_fields_write(prepared, "", TW_MANIFEST, &tw_manifest_fields, manifest,
					err);
}

/* What is analysed next is the table itself, unless its files hold other texts: then a table of these. */
static int find_table(struct tw_prepared *prepared, const struct trawl_report *report,
		      const struct trawl_table **table, struct trawl_error *err)
{
	struct trawl_table *other = NULL;

	*table = trawl_report_find(report, "unified_perf_summary");
	if (*table && tw_table_safe(*table, prepared->allocator, &other, err))
		return err->status;
	if (!other)
		return 0;
	*table = other;
	return tw_prepared_own(prepared, other, err);
}

int tw_prepare(struct tw_prepared *prepared, const struct trawl_report *report,
	       const char *trace_name, struct trawl_error *err)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	struct tw_manifest *m = tw_arena_array(&prepared->arena, 1, sizeof(*m));
	const struct trawl_table *table;
	int status;
	size_t i;

	if (!m)
		return tw_no_memory(err);
	status = find_table(prepared, report, &table, err);
	if (!status)
		status = tw_manifest_make(m, &prepared->arena, report, table, trace_name, err);
	if (!status)
		status = tw_manifest_trees(m, &prepared->arena, report, err);
	for (i = 0; !status && i < m->categories.count; i++)
		status = write_category(prepared, m, &m->categories.at[i], err);
	if (!status)
		status = tw_prepare_multi_kernel(prepared, in, err);
	if (!status)
		status = tw_prepare_cpu_idle(prepared, in, err);
	if (!status)
		status = write_manifest(prepared, m, err);
	prepared->manifest = m;
	return status;
}
