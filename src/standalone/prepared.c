#include "standalone/prepared.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "os/file.h"
#include "os/inputs.h"
#include "standalone/manifest.h"
#include "table/csv.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Larger ones were not written here. */
#define FILE_LIMIT ((size_t)1 << 30)

void tw_prepared_init(struct tw_prepared *prepared, const char *dir,
		      const struct trawl_allocator *allocator)
{
	*prepared = (struct tw_prepared){ .allocator = allocator, .dir = dir };
	tw_arena_init(&prepared->arena, allocator);
}

void tw_prepared_again(struct tw_prepared *prepared, const struct tw_prepared *of)
{
	tw_prepared_init(prepared, of->dir, of->allocator);
	prepared->manifest = of->manifest;
}

/* In the arena. */
struct tw_prepared_table {
	struct trawl_table *table;
	struct tw_prepared_table *next;
};

void tw_prepared_release(struct tw_prepared *prepared)
{
	for (; prepared->tables; prepared->tables = prepared->tables->next)
		trawl_table_free(prepared->tables->table);
	tw_arena_release(&prepared->arena);
}

void tw_prepared_path(const struct tw_prepared *prepared, const char *folder, const char *name,
		      struct tw_str *out)
{
	tw_str_clear(out);
	tw_str_addf(out, "%s/%s%s%s", prepared->dir, folder, *folder ? "/" : "", name);
}

bool tw_prepared_has(const struct tw_prepared *prepared, const char *folder, const char *name)
{
	struct tw_str path;
	bool there;

	tw_str_init(&path, prepared->allocator);
	tw_prepared_path(prepared, folder, name, &path);
	/* Without memory the reading says so. */
	there = path.failed || !access(path.ptr, F_OK);
	tw_str_release(&path);
	return there;
}

/* The file's text in `text`, its path in `path`: both the caller's, initialised. */
static int read_text(const struct tw_prepared *prepared, const char *folder, const char *name,
		     struct tw_str *path, struct tw_str *text, struct trawl_error *err)
{
	tw_prepared_path(prepared, folder, name, path);
	if (path->failed)
		return tw_no_memory(err);
	tw_inputs_note(path->ptr);
	return tw_file_read_found(path->ptr, FILE_LIMIT, text, err);
}

const struct tw_json_value *tw_prepared_json(struct tw_prepared *prepared, const char *folder,
					     const char *name, struct trawl_error *err)
{
	const struct tw_json_value *value = NULL;
	struct tw_str path, text;

	tw_str_init(&path, prepared->allocator);
	tw_str_init(&text, prepared->allocator);
	if (!read_text(prepared, folder, name, &path, &text, err))
		value = tw_json_parse(&prepared->arena, text.ptr, text.len, path.ptr, err);
	tw_str_release(&path);
	tw_str_release(&text);
	return value;
}

/* ---- the operations of a category */

/* Rows of a table. */
struct ops {
	const struct trawl_table *table;
	const size_t *rows; /* NULL: all in order */
	size_t count;
	const char *file; /* for messages */
};

static int read_table(struct tw_prepared *prepared, const char *name, struct trawl_table **table,
		      struct trawl_error *err)
{
	struct tw_str path, text;
	struct tw_arena arena;
	struct tw_csv csv;
	int status;

	tw_str_init(&path, prepared->allocator);
	tw_str_init(&text, prepared->allocator);
	tw_arena_init(&arena, prepared->allocator);
	status = read_text(prepared, TW_CATEGORY_DATA, name, &path, &text, err);
	if (!status)
		status = tw_csv_parse(&csv, &arena, text.ptr, text.len, path.ptr, err);
	tw_str_release(&text);
	if (!status)
		status = tw_csv_table(&csv, &tw_analysis_unified_perf_summary.table,
				      prepared->allocator, table, err);
	tw_arena_release(&arena);
	tw_str_release(&path);
	return status;
}

/* Of the report while it is there. */
static bool find_ops(const struct tw_manifest *manifest, const char *category, struct ops *ops)
{
	size_t i;

	for (i = 0; manifest && i < manifest->categories.count; i++) {
		const struct tw_prepared_category *c = &manifest->categories.at[i];

		if (strcmp(c->name, category) || tw_category_is_system(c))
			continue;
		ops->table = manifest->table;
		ops->rows = c->rows;
		ops->count = c->ops_count;
		return true;
	}
	return false;
}

int tw_prepared_own(struct tw_prepared *prepared, struct trawl_table *table,
		    struct trawl_error *err)
{
	struct tw_prepared_table *own = tw_arena_alloc(&prepared->arena, sizeof(*own));

	if (!own) {
		trawl_table_free(table);
		return tw_no_memory(err);
	}
	*own = (struct tw_prepared_table){ table, prepared->tables };
	prepared->tables = own;
	return 0;
}

static int find_all(struct tw_prepared *prepared, const char *category, struct ops *ops,
		    struct trawl_error *err)
{
	struct trawl_table *table;
	int status;

	if (find_ops(prepared->manifest, category, ops))
		return 0;
	status = read_table(prepared, ops->file, &table, err);
	if (!status)
		status = tw_prepared_own(prepared, table, err);
	if (status)
		return status;
	ops->table = table;
	ops->count = trawl_table_rows(table);
	return 0;
}

static size_t row_of(const struct ops *ops, size_t at)
{
	return ops->rows ? ops->rows[at] : at;
}

/* Where a column is that rows are sorted by. */
struct key {
	const struct ops *ops;
	size_t column;
};

static uint64_t largest_first(const void *context, uint32_t at)
{
	const struct key *key = context;
	double number = tw_table_number(key->ops->table, row_of(key->ops, at), key->column);

	/* A cell may hold any number, or none. */
	return UINT64_MAX - (uint64_t)(fmax(fmin(number, 1e15), 0) * 1e3);
}

/* A number, or nothing; never text, and nothing is not enough where a number is needed. */
static int read_number(const struct ops *ops, size_t at, size_t column,
		       const struct tw_ops_column *wanted, double *value, struct trawl_error *err)
{
	struct tw_str text;

	*value = tw_table_number(ops->table, row_of(ops, at), column);
	if ((isfinite(*value) && *value >= 0) ||
	    (!wanted->needed && tw_table_text_is(ops->table, row_of(ops, at), column, "")))
		return 0;
	tw_str_init(&text, trawl_allocator_default());
	tw_table_add_text(&text, ops->table, row_of(ops, at), column);
	trawl_error_set(err, TRAWL_EFORMAT, "%s: row %zu: '%.40s' is no number for '%s'", ops->file,
			at + 1, text.ptr ? text.ptr : "", wanted->header);
	tw_str_release(&text);
	return TRAWL_EFORMAT;
}

/* It lives as long as the prepared; NULL when out of memory. */
static const char *read_ops_text(struct tw_prepared *prepared, const struct ops *ops, size_t at,
				 size_t column)
{
	const struct trawl_column *declared = trawl_table_column(ops->table, column);

	return declared && tw_column_is_number(declared) ?
		       tw_table_copy_text(ops->table, row_of(ops, at), column, &prepared->arena) :
		       tw_table_own_text(ops->table, row_of(ops, at), column);
}

static int read_column(struct tw_prepared *prepared, const struct ops *ops, const uint32_t *order,
		       const struct tw_ops_column *wanted, size_t size, char *rows,
		       struct trawl_error *err)
{
	size_t column = trawl_table_find_column(ops->table, wanted->header), i;

	if (wanted->needed && column == trawl_table_columns(ops->table))
		return trawl_error_set(err, TRAWL_EFORMAT, "%s: no column '%s'", ops->file,
				       wanted->header);
	for (i = 0; i < ops->count; i++) {
		void *at = rows + i * size + wanted->at;

		if (!wanted->is_text) {
			if (read_number(ops, order[i], column, wanted, at, err))
				return err->status;
			continue;
		}
		*(const char **)at = read_ops_text(prepared, ops, order[i], column);
		if (!*(const char **)at)
			return tw_no_memory(err);
	}
	return 0;
}

int tw_prepared_rows(struct tw_prepared *prepared, const char *category,
		     const struct tw_ops_list *list, struct tw_ops_rows *rows,
		     struct trawl_error *err)
{
	struct ops ops = { .file = tw_prepared_name(prepared, category, "_ops.csv") };
	struct key key = { &ops, 0 };
	uint32_t *order;
	size_t i;
	int status = ops.file ? find_all(prepared, category, &ops, err) : tw_no_memory(err);

	*rows = (struct tw_ops_rows){ 0 };
	if (status)
		return status;
	order = tw_arena_array(&prepared->arena, ops.count + 1, sizeof(*order));
	rows->at = tw_arena_array(&prepared->arena, ops.count + 1, list->size);
	if (!order || !rows->at)
		return tw_no_memory(err);
	for (i = 0; i < ops.count; i++)
		order[i] = (uint32_t)i;
	key.column = trawl_table_find_column(ops.table, list->largest_first);
	if (key.column < trawl_table_columns(ops.table) &&
	    tw_sort(order, ops.count, largest_first, &key, prepared->allocator))
		return tw_no_memory(err);
	for (i = 0; i < list->count && !status; i++)
		status = read_column(prepared, &ops, order, &list->columns[i], list->size, rows->at,
				     err);
	rows->count = ops.count;
	return status;
}

/* ---- writing */

int tw_prepared_write(const struct tw_prepared *prepared, const char *folder, const char *name,
		      const struct tw_str *text, struct trawl_error *err)
{
	struct tw_str path;
	int status;

	tw_str_init(&path, prepared->allocator);
	tw_prepared_path(prepared, folder, name, &path);
	if (path.failed)
		status = tw_no_memory(err);
	else
		status = tw_sink_write_text(path.ptr, text, prepared->allocator, err);
	tw_str_release(&path);
	return status;
}

int tw_fields_write(const struct tw_prepared *prepared, const char *folder, const char *name,
		    const struct tw_fields *fields, const void *object, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, prepared->allocator);
	tw_fields_document(&text, fields, object);
	status = tw_prepared_write(prepared, folder, name, &text, err);
	tw_str_release(&text);
	return status;
}

int tw_prepared_open(const struct tw_prepared *prepared, const char *folder, const char *category,
		     const char *ending, struct tw_prepared_text *file, struct trawl_error *err)
{
	struct tw_str name, path;
	int status;

	*file = (struct tw_prepared_text){ .sink = NULL };
	tw_str_init(&file->text, prepared->allocator);
	tw_str_init(&name, prepared->allocator);
	tw_str_init(&path, prepared->allocator);
	tw_str_addf(&name, "%s%s", category, ending);
	if (!name.failed)
		tw_prepared_path(prepared, folder, name.ptr, &path);
	if (name.failed || path.failed)
		status = tw_no_memory(err);
	else
		status = tw_sink_open(&file->sink, path.ptr, prepared->allocator, err);
	tw_str_release(&name);
	tw_str_release(&path);
	return status;
}

void tw_prepared_drain(void *file, struct tw_str *text)
{
	struct tw_prepared_text *own = file;

	if (text->failed)
		return;
	tw_sink_write(own->sink, text->ptr, text->len);
	tw_str_clear(text);
}

int tw_prepared_close(struct tw_prepared_text *file, int status, struct trawl_error *err)
{
	if (!status && file->text.failed)
		status = tw_no_memory(err);
	if (status) {
		tw_sink_abort(file->sink);
	} else {
		tw_prepared_drain(file, &file->text);
		status = tw_sink_commit(file->sink, err);
	}
	tw_str_release(&file->text);
	return status;
}

const char *tw_prepared_name(struct tw_prepared *prepared, const char *category, const char *ending)
{
	size_t len = strlen(category), rest = strlen(ending);
	char *name = tw_arena_alloc(&prepared->arena, len + rest + 1);

	if (!name)
		return NULL;
	memcpy(name, category, len);
	memcpy(name + len, ending, rest + 1);
	return name;
}

int tw_prepared_write_of(struct tw_prepared *prepared, const char *folder, const char *category,
			 const char *ending, const struct tw_str *text, struct trawl_error *err)
{
	const char *name = tw_prepared_name(prepared, category, ending);

	if (!name)
		return tw_no_memory(err);
	return tw_prepared_write(prepared, folder, name, text, err);
}
