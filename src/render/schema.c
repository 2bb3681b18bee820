#define _GNU_SOURCE
/*
 * The JSON Schema (draft 2020-12) of what json.c makes of the same tables: names, columns and the
 * order of both are fixed, cells are what the columns' declarations allow.
 */
#include "base/alloc.h"
#include "json/writer.h"
#include "render/cell.h"
#include "render/column_ids.h"
#include "render/render.h"

#include <stdlib.h>
#include <string.h>

static void add_pair(struct tw_json *json, const char *key, const char *value)
{
	tw_json_key(json, key);
	tw_json_cstr(json, value);
}

/* {"const": VALUE} under a key. */
static void add_const(struct tw_json *json, const char *key, const char *value)
{
	tw_json_key(json, key);
	tw_json_object(json, TW_JSON_INLINE);
	add_pair(json, "const", value);
	tw_json_end(json);
}

static void add_string(struct tw_json *json, const char *key)
{
	tw_json_key(json, key);
	tw_json_object(json, TW_JSON_INLINE);
	add_pair(json, "type", "string");
	tw_json_end(json);
}

/* An object that has just these members; the caller adds them and ends it twice. */
static void begin_object(struct tw_json *json, enum tw_json_layout layout,
			 const char *const *members, size_t count)
{
	size_t i;

	tw_json_object(json, layout);
	add_pair(json, "type", "object");
	tw_json_key(json, "additionalProperties");
	tw_json_bool(json, false);
	tw_json_key(json, "required");
	tw_json_array(json, TW_JSON_INLINE);
	for (i = 0; i < count; i++)
		tw_json_cstr(json, members[i]);
	tw_json_end(json);
	tw_json_key(json, "properties");
	tw_json_object(json, layout);
}

/* A list of just these items, which the caller adds before he ends the first of its two levels. */
static void begin_list(struct tw_json *json)
{
	tw_json_object(json, TW_JSON_LINES);
	add_pair(json, "type", "array");
	tw_json_key(json, "prefixItems");
	tw_json_array(json, TW_JSON_LINES);
}

static void end_list(struct tw_json *json, size_t count)
{
	tw_json_end(json);
	tw_json_key(json, "items");
	tw_json_bool(json, false);
	tw_json_key(json, "minItems");
	tw_json_integer(json, (int64_t)count);
	tw_json_end(json);
}

/* ---- cells */

static void add_choice(struct tw_json *json, const char *values, bool may_be_missing)
{
	const char *end;

	tw_json_key(json, "enum");
	tw_json_array(json, TW_JSON_INLINE);
	for (end = strchrnul(values, '|'); *end; end = strchrnul(values, '|')) {
		tw_json_string(json, values, (size_t)(end - values));
		values = end + 1;
	}
	tw_json_cstr(json, values);
	if (may_be_missing)
		tw_json_null(json);
	tw_json_end(json);
}

/* In objects numbers beyond doubles are text. */
static void add_type(struct tw_json *json, enum trawl_column_type type, bool may_be_missing,
		     bool objects)
{
	static const char *const types[] = {
		[TRAWL_COLUMN_TEXT] = "string",	   [TRAWL_COLUMN_INTEGER] = "integer",
		[TRAWL_COLUMN_DECIMAL] = "number", [TRAWL_COLUMN_REAL] = "number",
		[TRAWL_COLUMN_ID] = "integer",
	};

	tw_json_key(json, "type");
	tw_json_array(json, TW_JSON_INLINE);
	tw_json_cstr(json, types[type]);
	if (type == TRAWL_COLUMN_ID ||
	    (objects && (type == TRAWL_COLUMN_INTEGER || type == TRAWL_COLUMN_DECIMAL)))
		tw_json_cstr(json, "string");
	if (may_be_missing)
		tw_json_cstr(json, "null");
	tw_json_end(json);
}

static void add_limit(struct tw_json *json, const char *key, const char *number)
{
	tw_json_key(json, key);
	tw_json_number_as_written(json, number, strspn(number, "-0123456789"));
}

static void add_cell(struct tw_json *json, const struct trawl_column *column, bool objects)
{
	const char *values = column->values ? column->values : "", *to;
	bool may_be_missing = *values != '!';

	values += !may_be_missing;
	tw_json_object(json, TW_JSON_INLINE);
	to = strstr(values, "..");
	if (*values == '~' || *values == '>' || to || !*values) {
		add_type(json, column->type, may_be_missing, objects);
		if (*values == '~')
			add_pair(json, "pattern", values + 1);
		else if (!strncmp(values, ">=", 2))
			add_limit(json, "minimum", values + 2);
		else if (*values == '>')
			add_limit(json, "exclusiveMinimum", values + 1);
		else if (to) {
			add_limit(json, "minimum", values);
			add_limit(json, "maximum", to + 2);
		}
	} else {
		add_choice(json, values, may_be_missing);
	}
	tw_json_end(json);
}

/* ---- tables */

static void add_columns(struct tw_json *json, const struct trawl_table *table,
			const struct tw_column_ids *ids)
{
	size_t i;

	tw_json_key(json, "columns");
	begin_list(json);
	for (i = 0; i < ids->count; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);

		tw_json_object(json, TW_JSON_INLINE);
		add_pair(json, "$ref", "#/$defs/column");
		tw_json_key(json, "properties");
		tw_json_object(json, TW_JSON_INLINE);
		add_const(json, "id", ids->text.ptr + ids->begin[i]);
		add_const(json, "header", column->header);
		add_const(json, "unit", column->unit ? column->unit : "");
		add_const(json, "type", tw_column_type_name(column));
		tw_json_end(json);
		tw_json_end(json);
	}
	end_list(json, ids->count);
}

static void add_rows(struct tw_json *json, const struct trawl_table *table)
{
	size_t columns = trawl_table_columns(table), i;

	tw_json_key(json, "rows");
	tw_json_object(json, TW_JSON_LINES);
	add_pair(json, "type", "array");
	tw_json_key(json, "items");
	begin_list(json);
	for (i = 0; i < columns; i++)
		add_cell(json, trawl_table_column(table, i), false);
	end_list(json, columns);
	tw_json_end(json);
}

static void add_objects(struct tw_json *json, const struct trawl_table *table,
			const struct tw_column_ids *ids)
{
	const char **members = tw_alloc(json->out->allocator, (ids->count + 1) * sizeof(*members));
	size_t i;

	tw_json_key(json, "rows");
	tw_json_object(json, TW_JSON_LINES);
	add_pair(json, "type", "array");
	tw_json_key(json, "items");
	for (i = 0; members && i < ids->count; i++)
		members[i] = ids->text.ptr + ids->begin[i];
	begin_object(json, TW_JSON_LINES, members, members ? ids->count : 0);
	for (i = 0; members && i < ids->count; i++) {
		tw_json_key(json, members[i]);
		add_cell(json, trawl_table_column(table, i), true);
	}
	tw_json_end(json);
	tw_json_end(json);
	tw_json_end(json);
	json->out->failed |= !members;
	tw_free(json->out->allocator, members, (ids->count + 1) * sizeof(*members));
}

static void add_table(struct tw_json *json, const struct trawl_table *table, bool objects)
{
	static const char *const members[] = { "name", "meaning", "columns", "rows", "notes" };
	struct tw_column_ids ids;

	begin_object(json, TW_JSON_LINES, members, 5);
	add_const(json, "name", trawl_table_name(table));
	add_string(json, "meaning");
	if (tw_column_ids_make(&ids, table, json->out->allocator))
		add_columns(json, table, &ids);
	else
		json->out->failed = true;
	if (objects && !json->out->failed)
		add_objects(json, table, &ids);
	else
		add_rows(json, table);
	tw_column_ids_release(&ids, json->out->allocator);
	tw_json_key(json, "notes");
	tw_json_object(json, TW_JSON_INLINE);
	add_pair(json, "type", "array");
	add_string(json, "items");
	tw_json_end(json);
	tw_json_end(json);
	tw_json_end(json);
}

/* What all columns are. */
static void add_column(struct tw_json *json)
{
	static const char *const members[] = { "id", "header", "unit", "type", "meaning" };
	size_t i;

	tw_json_key(json, "$defs");
	tw_json_object(json, TW_JSON_LINES);
	tw_json_key(json, "column");
	begin_object(json, TW_JSON_LINES, members, 5);
	for (i = 0; i < 5; i++)
		add_string(json, members[i]);
	tw_json_end(json);
	tw_json_end(json);
	tw_json_end(json);
}

static void add_document(const struct trawl_table *const *tables, size_t count, const char *schema,
			 bool objects, struct tw_str *out)
{
	static const char *const members[] = { "schema", "tables" };
	struct tw_json json;
	struct tw_str name;
	size_t i;

	tw_str_init(&name, out->allocator);
	tw_str_addf(&name, "trawl.%s/1", schema);
	tw_json_init(&json, out);
	begin_object(&json, TW_JSON_LINES, members, 2);
	add_const(&json, "schema", name.failed ? "" : name.ptr);
	tw_json_key(&json, "tables");
	begin_list(&json);
	for (i = 0; i < count && !out->failed; i++)
		add_table(&json, tables[i], objects);
	end_list(&json, count);
	tw_json_end(&json);
	add_column(&json);
	tw_json_end(&json);
	tw_json_finish(&json);
	out->failed = out->failed || name.failed;
	tw_str_release(&name);
}

void tw_render_schema(const struct trawl_table *const *tables, size_t count, const char *schema,
		      struct tw_str *out)
{
	add_document(tables, count, schema, false, out);
}

void tw_render_schema_objects(const struct trawl_table *const *tables, size_t count,
			      const char *schema, struct tw_str *out)
{
	add_document(tables, count, schema, true, out);
}
