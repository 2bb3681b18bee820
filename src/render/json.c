/*
 * JSON: {"schema": "trawl.x/1", "tables": [...]}.  A table names its columns once, with an id
 * that does not change, and lists its rows as arrays in that order, or as objects keyed by these ids:
 * exact numbers, null where a value is missing.
 */
#include "base/alloc.h"
#include "json/writer.h"
#include "render/cell.h"
#include "render/column_ids.h"
#include "render/render.h"

#include <string.h>

/* --- tables ------------------------------------------------------------------------------- */

static void add_columns(struct tw_json *json, const struct trawl_table *table,
			const struct tw_column_ids *ids)
{
	size_t i;

	tw_json_key(json, "columns");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < ids->count; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);

		tw_json_object(json, TW_JSON_INLINE);
		tw_json_key(json, "id");
		tw_json_cstr(json, ids->text.ptr + ids->begin[i]);
		tw_json_key(json, "header");
		tw_json_cstr(json, column->header);
		tw_json_key(json, "unit");
		tw_json_cstr(json, column->unit ? column->unit : "");
		tw_json_key(json, "type");
		tw_json_cstr(json, tw_column_type_name(column));
		tw_json_key(json, "meaning");
		tw_json_cstr(json, column->meaning ? column->meaning : "");
		tw_json_end(json);
	}
	tw_json_end(json);
}

static void add_cell(struct tw_json *json, const struct trawl_column *column,
		     const struct trawl_cell *cell)
{
	int64_t id;

	if (cell->state == TRAWL_CELL_MISSING) {
		tw_json_null(json);
		return;
	}
	switch (column->type) {
	case TRAWL_COLUMN_ID:
	case TRAWL_COLUMN_TEXT:
		if (tw_id_is_number(column, cell, &id))
			tw_json_integer(json, id);
		else
			tw_json_string(json, cell->text, cell->text_len);
		break;
	case TRAWL_COLUMN_INTEGER:
		tw_json_integer(json, cell->integer);
		break;
	case TRAWL_COLUMN_DECIMAL:
		tw_json_decimal(json, cell->integer, column->scale);
		break;
	case TRAWL_COLUMN_REAL:
		tw_json_real(json, cell->real);
		break;
	}
}

/* Beyond these a double is not the number that was written: 2^53, and 15 digits. */
#define LARGEST_INTEGER 9007199254740992
#define LARGEST_DECIMAL 999999999999999

static bool fits_doubles(const struct trawl_table *table, size_t column)
{
	enum trawl_column_type type = trawl_table_column(table, column)->type;
	int64_t largest = type == TRAWL_COLUMN_DECIMAL ? LARGEST_DECIMAL : LARGEST_INTEGER;
	size_t row;

	if (type != TRAWL_COLUMN_DECIMAL && type != TRAWL_COLUMN_INTEGER)
		return true;
	for (row = 0; row < trawl_table_rows(table); row++) {
		int64_t value = trawl_table_cell(table, row, column).integer;

		if (value > largest || value < -largest)
			return false;
	}
	return true;
}

static void add_number_text(struct tw_json *json, const struct trawl_column *column,
			    const struct trawl_cell *cell)
{
	struct tw_str text;

	tw_str_init(&text, json->out->allocator);
	tw_number_exact(&text, column, cell);
	tw_json_string(json, text.len ? text.ptr : "", text.len);
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

/* Ids of columns, and of which numbers are to be text. */
struct keys {
	struct tw_column_ids ids;
	bool *exact;
};

static void keys_release(struct keys *keys, const struct trawl_allocator *a)
{
	tw_free(a, keys->exact, keys->ids.count * sizeof(*keys->exact));
	tw_column_ids_release(&keys->ids, a);
}

static bool keys_make(struct keys *keys, const struct trawl_table *table,
		      const struct trawl_allocator *a)
{
	size_t columns = trawl_table_columns(table), i;
	bool made = tw_column_ids_make(&keys->ids, table, a);

	keys->exact = tw_alloc_array(a, columns, sizeof(*keys->exact));
	for (i = 0; i < columns && keys->exact; i++)
		keys->exact[i] = fits_doubles(table, i);
	return made && keys->exact;
}

/* A row by its keys; `name`: the table's, first, NULL: without. */
static void add_object(struct tw_json *json, const struct trawl_table *table, size_t row,
		       const struct keys *keys, const char *name)
{
	size_t i;

	tw_json_object(json, TW_JSON_INLINE);
	if (name) {
		tw_json_key(json, "table");
		tw_json_cstr(json, name);
	}
	for (i = 0; i < keys->ids.count; i++) {
		struct trawl_cell cell = trawl_table_cell(table, row, i);

		tw_json_key(json, keys->ids.text.ptr + keys->ids.begin[i]);
		if (keys->exact[i] || cell.state == TRAWL_CELL_MISSING)
			add_cell(json, trawl_table_column(table, i), &cell);
		else
			add_number_text(json, trawl_table_column(table, i), &cell);
	}
	tw_json_end(json);
}

static void add_array(struct tw_json *json, const struct trawl_table *table, size_t row)
{
	size_t i;

	tw_json_array(json, TW_JSON_INLINE);
	for (i = 0; i < trawl_table_columns(table); i++) {
		struct trawl_cell cell = trawl_table_cell(table, row, i);

		add_cell(json, trawl_table_column(table, i), &cell);
	}
	tw_json_end(json);
}

/* By `keys`, NULL: arrays in the order of the columns. */
static void add_rows(struct tw_json *json, const struct trawl_table *table, const struct keys *keys)
{
	size_t row;

	tw_json_key(json, "rows");
	tw_json_array(json, TW_JSON_LINES);
	for (row = 0; row < trawl_table_rows(table) && !json->out->failed; row++) {
		if (keys)
			add_object(json, table, row, keys, NULL);
		else
			add_array(json, table, row);
	}
	tw_json_end(json);
}

static void add_table(struct tw_json *json, const struct trawl_table *table, bool objects)
{
	const struct trawl_allocator *a = json->out->allocator;
	size_t notes = trawl_table_notes(table), i;
	struct keys keys;

	tw_json_object(json, TW_JSON_LINES);
	tw_json_key(json, "name");
	tw_json_cstr(json, trawl_table_name(table));
	tw_json_key(json, "meaning");
	tw_json_cstr(json, trawl_table_meaning(table));
	if (keys_make(&keys, table, a)) {
		add_columns(json, table, &keys.ids);
		add_rows(json, table, objects ? &keys : NULL);
	} else {
		json->out->failed = true;
	}
	keys_release(&keys, a);
	tw_json_key(json, "notes");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < notes; i++)
		tw_json_cstr(json, trawl_table_note(table, i));
	tw_json_end(json);
	tw_json_end(json);
}

static void add_document(const struct trawl_table *const *tables, size_t count, const char *schema,
			 bool objects, struct tw_str *out)
{
	struct tw_json json;
	struct tw_str name;
	size_t i;

	tw_str_init(&name, out->allocator);
	tw_str_addf(&name, "trawl.%s/1", schema);
	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_json_key(&json, "schema");
	tw_json_string(&json, name.ptr, name.len);
	tw_json_key(&json, "tables");
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < count && !out->failed; i++)
		add_table(&json, tables[i], objects);
	tw_json_end(&json);
	tw_json_end(&json);
	tw_json_finish(&json);
	out->failed = out->failed || name.failed;
	tw_str_release(&name);
}

void tw_render_json(const struct trawl_table *const *tables, size_t count, const char *schema,
		    struct tw_str *out)
{
	add_document(tables, count, schema, false, out);
}

void tw_render_json_objects(const struct trawl_table *const *tables, size_t count,
			    const char *schema, struct tw_str *out)
{
	add_document(tables, count, schema, true, out);
}

static void add_lines(struct tw_json *json, const struct trawl_table *table, bool named)
{
	const struct trawl_allocator *a = json->out->allocator;
	struct keys keys;
	bool made = keys_make(&keys, table, a);
	size_t row;

	for (row = 0; row < trawl_table_rows(table) && made && !json->out->failed; row++) {
		add_object(json, table, row, &keys, named ? trawl_table_name(table) : NULL);
		tw_json_finish(json);
	}
	json->out->failed |= !made;
	keys_release(&keys, a);
}

void tw_render_jsonl(const struct trawl_table *const *tables, size_t count, struct tw_str *out)
{
	struct tw_json json;
	size_t i;

	tw_json_init(&json, out);
	for (i = 0; i < count && !out->failed; i++)
		add_lines(&json, tables[i], count > 1);
}
