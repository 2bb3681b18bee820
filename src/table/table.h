/*
 * Building tables.  A struct trawl_table owns its cells in one arena; columns are declared once
 * by a static array of struct trawl_column, which CSV, workbooks, terminal and documentation
 * all follow.  Allocation failure is sticky: tw_table_finish() reports it, and until then rows
 * and cells that found no room are dropped silently.
 *
 * Cells lie in columns: 8 bytes a number, 16 a text besides its bytes, and a bit for missing.
 * Setting is O(1), adding a row amortised O(1).
 */
#ifndef TW_TABLE_TABLE_H
#define TW_TABLE_TABLE_H

#include "base/arena.h"
#include "table/columns.h"
#include "text/str.h"
#include "trawl/table.h"

/*
 * Declarations of columns: header, preferred width, meaning, then what else there is, by name:
 * TW_TEXT("name", 40, "name of the operation", .over_ranks = TRAWL_KEY).
 */
#define TW_COLUMN(of_type, of_header, of_unit, of_scale, of_digits, of_width, ...)                \
	{                                                                                         \
		.header = of_header, .type = TRAWL_COLUMN_##of_type, .unit = of_unit,             \
		.scale = of_scale, .digits = of_digits, .width = of_width, .meaning = __VA_ARGS__ \
	}
#define TW_TEXT(header, width, ...) TW_COLUMN(TEXT, header, "", 0, 0, width, __VA_ARGS__)
#define TW_ID(header, width, ...) TW_COLUMN(ID, header, "", 0, 0, width, __VA_ARGS__)
#define TW_INTEGER(header, width, ...) TW_COLUMN(INTEGER, header, "", 0, 0, width, __VA_ARGS__)
#define TW_NS(header, width, ...) TW_COLUMN(INTEGER, header, "ns", 0, 0, width, __VA_ARGS__)
/* Exact times: integer nanoseconds. */
#define TW_US(header, width, ...) TW_COLUMN(DECIMAL, header, "µs", 3, 3, width, __VA_ARGS__)
#define TW_MS(header, width, ...) TW_COLUMN(DECIMAL, header, "ms", 6, 3, width, __VA_ARGS__)
#define TW_DECIMAL(header, unit, scale, digits, width, ...) \
	TW_COLUMN(DECIMAL, header, unit, scale, digits, width, __VA_ARGS__)
#define TW_MEAN_US(header, width, ...) TW_REAL(header, "µs", 3, width, __VA_ARGS__)
#define TW_MEAN_MS(header, width, ...) TW_REAL(header, "ms", 3, width, __VA_ARGS__)
#define TW_PERCENT_1(header, width, ...) TW_REAL(header, "%", 1, width, __VA_ARGS__)
#define TW_PERCENT_2(header, width, ...) TW_REAL(header, "%", 2, width, __VA_ARGS__)
#define TW_REAL(header, unit, digits, width, ...) \
	TW_COLUMN(REAL, header, unit, 0, digits, width, __VA_ARGS__)

static inline bool tw_column_is_number(const struct trawl_column *column)
{
	return column->type != TRAWL_COLUMN_TEXT && column->type != TRAWL_COLUMN_ID;
}

/* What a table is, independent of data. */
struct tw_table_spec {
	const char *name;
	const char *meaning;
	const struct trawl_column *columns;
	size_t column_count;
	bool keep_empty; /* written even without rows */
	bool in_order;	 /* over ranks rows keep the order of the ranks, not by time */
	/*
	 * Of a comparison: the column whose "better" and "worse" colour a row, and the text in it of
	 * rows that are folded away; static texts, NULL: none.
	 */
	const char *verdict, *folded;
};

static inline struct trawl_table_declaration tw_declaration(const struct tw_table_spec *spec)
{
	return (struct trawl_table_declaration){ spec->name, spec->meaning, spec->columns,
						 spec->column_count };
}

/* Of an array of columns; what else there is, by name: .keep_empty = true. */
#define TW_SPEC(of_name, of_meaning, of_columns, ...)                                     \
	{                                                                                 \
		.name = of_name, .meaning = of_meaning, .columns = of_columns,            \
		.column_count = sizeof(of_columns) / sizeof((of_columns)[0]), __VA_ARGS__ \
	}

/* `spec` and its strings must outlive the table. NULL when out of memory. */
struct trawl_table *tw_table_new(const struct tw_table_spec *spec,
				 const struct trawl_allocator *allocator);

/*
 * A table whose columns are chosen at run time: `columns` is copied (the strings it points to
 * are not).  Otherwise as tw_table_new.
 */
struct trawl_table *tw_table_new_columns(const struct tw_table_spec *spec,
					 const struct trawl_column *columns, size_t column_count,
					 const struct trawl_allocator *allocator);

/* The same with columns of texts before those of `spec`: whose the rows are. */
struct trawl_table *tw_table_new_keyed(const struct tw_table_spec *spec,
				       const struct trawl_column *keys, size_t key_count,
				       const struct trawl_allocator *allocator);
/* The rows of a table of that kind, by its headers; an empty key is a missing cell. */
void tw_table_add_keyed(struct trawl_table *to, const char *const *keys, size_t key_count,
			const struct trawl_table *from);

/* A table that depends on nothing: its spec, columns and all their strings are copied. */
struct trawl_table *tw_table_new_owning(const struct tw_table_spec *spec,
					const struct trawl_allocator *allocator);

/* Names a column of such a table; the text is copied. */
void tw_table_name_column(struct trawl_table *table, size_t column, const char *prefix,
			  const char *name);

/* Whether a row has a value in the column. */
bool tw_table_has_values(const struct trawl_table *table, size_t column);

/*
 * The rows and notes of `from`, with those of the named columns that it has and that have a value, in
 * the order of the names; it borrows the strings of `from`'s columns.  NULL when out of memory.
 */
struct trawl_table *tw_table_narrow(const struct trawl_table *from, const char *const *headers,
				    size_t count, const struct trawl_allocator *allocator);

/*
 * Columns and rows of `from` by their numbers, in that order (`rows` NULL: the first ones), and its
 * notes; it borrows the strings of `from`'s columns and its name.  NULL when out of memory.
 */
struct trawl_table *tw_table_pick(const struct trawl_table *from, const size_t *columns,
				  size_t column_count, const size_t *rows, size_t row_count,
				  const struct trawl_allocator *allocator);
/*
 * Puts numbers of rows in the order of a column: missing cells last, ids that are numbers by number,
 * equal ones as they were.  -1: out of memory.
 */
int tw_table_sort_rows(const struct trawl_table *table, size_t column, bool descending,
		       size_t *rows, size_t count,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Makes room for as many rows in all, and not for more. */
void tw_table_reserve(struct trawl_table *table, size_t rows);
/* Adds a row of missing cells and returns its number. */
size_t tw_table_add_row(struct trawl_table *table);
/* For INTEGER and DECIMAL columns alike: the stored integer. */
void tw_table_set_integer(struct trawl_table *table, size_t row, size_t column, int64_t value);
/* NaN and infinities leave the cell missing. */
void tw_table_set_real(struct trawl_table *table, size_t row, size_t column, double value);
/* Copies the text. NULL leaves the cell missing. */
void tw_table_set_text(struct trawl_table *table, size_t row, size_t column, const char *text,
		       size_t len);
void tw_table_set_str(struct trawl_table *table, size_t row, size_t column, const char *text);
/* Keeps the pointer: the caller guarantees that `text` ends with a NUL and outlives the table. */
void tw_table_set_text_borrowed(struct trawl_table *table, size_t row, size_t column,
				const char *text, size_t len);
/* The cell of one table into one of another, whose column has the same type, or holds text. */
void tw_table_copy_cell(struct trawl_table *to, size_t row, size_t column,
			const struct trawl_table *from, size_t from_row, size_t from_column);
void tw_table_add_note(struct trawl_table *table, const char *format, ...) TRAWL_PRINTF(2, 3);

/* Asked once after filling: 0, or TRAWL_ENOMEM when anything above failed. */
int tw_table_finish(struct trawl_table *table, struct trawl_error *err) TRAWL_MUST_CHECK;
/* The same: the table, or NULL, and it is freed.  Of NULL it is NULL. */
struct trawl_table *tw_table_finished(struct trawl_table *table);

/*
 * Headers are the same whichever of its two letters micro is written with (U+00B5, U+03BC), or
 * with u: files have any.
 */
bool tw_same_header(const char *a, const char *b);
bool tw_table_has_column(const struct trawl_table *table, const char *header);
/* The cell under a header, missing when there is no such column, row or table (NULL). */
struct trawl_cell tw_table_cell(const struct trawl_table *table, size_t row, const char *header);

/* Integers and exact decimals as they are, reals as the shortest text that reads back, texts. */
void tw_number_exact(struct tw_str *out, const struct trawl_column *column,
		     const struct trawl_cell *cell);
/*
 * A cell of any type as a text, "" when it is missing; it lives in `scratch`.  As a number, NaN when
 * it is missing or none: of texts that are one the nearest double, and of exact decimals too.
 */
void tw_table_add_text(struct tw_str *out, const struct trawl_table *table, size_t row,
		       size_t column);
const char *tw_table_text(const struct trawl_table *table, size_t row, size_t column,
			  struct tw_str *scratch);
/* In the arena; NULL when out of memory. */
const char *tw_table_copy_text(const struct trawl_table *table, size_t row, size_t column,
			       struct tw_arena *arena);
double tw_table_number(const struct trawl_table *table, size_t row, size_t column);
/* Of a column of texts: the cell, "" when it is missing; it is the table's and ends with a NUL. */
const char *tw_table_own_text(const struct trawl_table *table, size_t row, size_t column);
/* Whether a cell holds this text, "": whether it is missing or empty. */
bool tw_table_text_is(const struct trawl_table *table, size_t row, size_t column, const char *text);

/* Its declaration; the columns as the table has them. */
const struct tw_table_spec *tw_table_spec(const struct trawl_table *table);

#endif
