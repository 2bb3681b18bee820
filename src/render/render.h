/*
 * Renderers: tables in, bytes out.  They compute nothing.  All escaping of text that came from a
 * trace happens in escape.h, once per target.  Same tables, same bytes.
 */
#ifndef TW_RENDER_RENDER_H
#define TW_RENDER_RENDER_H

#include "io/sink.h"
#include "text/str.h"
#include "trawl/table.h"

enum tw_format {
	TW_FORMAT_TABLE,
	TW_FORMAT_CSV,
	TW_FORMAT_JSON,
	TW_FORMAT_MARKDOWN,
	TW_FORMAT_SCHEMA,
	TW_FORMAT_JSONL,
};

/* One table into `out`, whose sticky flag is the failure. */
void tw_render_csv(const struct trawl_table *table, struct tw_str *out);
/* The same of a table that is rendered in parts: the header only in front of row 0. */
void tw_render_csv_from(const struct trawl_table *table, size_t first, struct tw_str *out);
void tw_render_markdown(const struct trawl_table *table, struct tw_str *out);
/* Aligned columns cut to `width` terminal cells (0: no limit); `max_rows` 0: all. */
void tw_render_text(const struct trawl_table *table, struct tw_str *out, unsigned width,
		    size_t max_rows);
/* The same below its name and meaning. */
void tw_render_table(const struct trawl_table *table, struct tw_str *out, unsigned width,
		     size_t max_rows);
/* Fixed widths, everything to the left, no notes: for readers by program (fixed.c). */
void tw_render_fixed(const struct trawl_table *table, struct tw_str *out);
/* {"schema":"trawl.<schema>/1","tables":[...]} over several tables. */
void tw_render_json(const struct trawl_table *const *tables, size_t count, const char *schema,
		    struct tw_str *out);
/*
 * JSON Lines: a row a line, an object keyed by the ids of columns; of several tables with the name of
 * the table first.  All numbers of a column are texts where one is more than a double holds exactly.
 */
void tw_render_jsonl(const struct trawl_table *const *tables, size_t count, struct tw_str *out);
/* As tw_render_json(), rows being such objects. */
void tw_render_json_objects(const struct trawl_table *const *tables, size_t count,
			    const char *schema, struct tw_str *out);
/* The JSON Schemas of tw_render_json() and tw_render_json_objects(). */
void tw_render_schema(const struct trawl_table *const *tables, size_t count, const char *schema,
		      struct tw_str *out);
void tw_render_schema_objects(const struct trawl_table *const *tables, size_t count,
			      const char *schema, struct tw_str *out);
/*
 * Any of them.  TABLE and MARKDOWN put name and meaning above each table, CSV a line "# NAME" when
 * there are several; a blank line is between tables.  `width` is for TABLE, `schema` for JSON.
 */
void tw_render(const struct trawl_table *const *tables, size_t count, enum tw_format format,
	       const char *schema, unsigned width, struct tw_str *out);

/*
 * A table as it would read back from a file: its texts safe (tw_escape_cell()).  *own, which the
 * caller frees, is NULL where that is the table as it is.
 */
int tw_table_safe(const struct trawl_table *table, const struct trawl_allocator *allocator,
		  struct trawl_table **own, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * A table that came from a file as a CSV file again: minimal quotes, a line feed after each row,
 * texts byte for byte as they are, but for the apostrophe before what spreadsheets would take for a
 * formula (which tw_csv_parse() takes away); a number such as -5.3 has none.
 */
void tw_render_csv_exact(const struct trawl_table *table, struct tw_str *out);
/* The same into a file, which appears whole or not at all. */
int tw_write_csv_exact(const struct trawl_table *table, const char *path,
		       const struct trawl_allocator *allocator,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * DIR/<table name>.csv for each; each file appears whole or not at all, none if one fails.  Other
 * files in DIR stay.
 */
int tw_render_csv_directory(const struct trawl_table *const *tables, size_t count, const char *dir,
			    const struct trawl_allocator *allocator,
			    struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * One workbook, one sheet per table, in that order, and "about" after them.  The same tables give
 * the same bytes; the date of creation is SOURCE_DATE_EPOCH, else 1980-01-01.
 */
int tw_render_xlsx(const struct trawl_table *const *tables, size_t count, const char *path,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
