/*
 * A CSV file read back: what render/csv.c wrote, or another program for it (RFC 4180).  Cells are
 * text; the apostrophe that keeps spreadsheets from taking text for a formula is taken away.
 */
#ifndef TW_TABLE_CSV_H
#define TW_TABLE_CSV_H

#include "base/arena.h"
#include "table/table.h"
#include "trawl/error.h"

struct tw_csv {
	size_t columns, rows; /* rows without the header */
	const char **cells;   /* (1 + rows) x columns, the header first; "": an empty cell */
};

/*
 * Everything lies in the arena.  TRAWL_EFORMAT, with `name` and the line, when a row has more or
 * less cells than the header, or a quote is never closed.  No text at all is a file without
 * columns.
 */
int tw_csv_parse(struct tw_csv *csv, struct tw_arena *arena, const char *text, size_t len,
		 const char *name, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The same as a table of the name and meaning of `spec`: a column that is declared there has its
 * type, others have that of what is in them.  Numbers are kept as such where they are written as a
 * table of that type writes them (a decimal as a real, where there are more digits than it has);
 * where a cell is anything else, the column is TRAWL_COLUMN_ID and keeps the text.  Empty cells are
 * missing.  The table depends on nothing.
 */
int tw_csv_table(const struct tw_csv *csv, const struct tw_table_spec *spec,
		 const struct trawl_allocator *allocator, struct trawl_table **table,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/* "" for a column or row that is not there. */
const char *tw_csv_text(const struct tw_csv *csv, size_t row, size_t column);

#endif
