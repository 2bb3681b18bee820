/*
 * Tables: what analyses produce and renderers show.  A table has typed columns, each with a
 * unit and a meaning, rows of cells, and notes (sentences a reader of the table needs).  A cell
 * that is not known is missing, which is not 0.
 */
#ifndef TRAWL_TABLE_H
#define TRAWL_TABLE_H

#include "trawl/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum trawl_column_type {
	TRAWL_COLUMN_TEXT,
	TRAWL_COLUMN_INTEGER,
	TRAWL_COLUMN_DECIMAL, /* an exact decimal: integer x 10^-scale, as times in µs or ms are */
	TRAWL_COLUMN_REAL,    /* a ratio or mean, in double precision */
	TRAWL_COLUMN_ID, /* what names or counts something: a number where it is one, else text */
};

/*
 * What becomes of a column in a table over the ranks of a job.  Numbers of devices, processes and
 * threads are no keys, because ranks differ in them.
 */
enum trawl_over_ranks {
	TRAWL_NOT_SUMMED, /* no meaning over ranks: event numbers, standard deviations */
	TRAWL_KEY,	  /* rows of ranks with the same keys are one row */
	TRAWL_SAME,	  /* shown where all ranks that have the row agree, else missing */
	TRAWL_TIME,	  /* measured, also its total; sorts rows, has a slowest rank */
	TRAWL_LEAD,	  /* the same of what is no time */
	TRAWL_TOTAL,	  /* measured, also its total */
	TRAWL_COUNT,	  /* the same, and the weight of means */
	TRAWL_MEAN,	  /* measured; a mean over TRAWL_COUNT */
	TRAWL_SHARE,	  /* measured; a part of something */
	TRAWL_MIN,	  /* measured; the least of something */
	TRAWL_MAX,	  /* measured; the most of something */
};

/* One column's declaration; the strings live as long as the library. */
struct trawl_column {
	const char *header; /* as written in CSV and workbooks */
	enum trawl_column_type type;
	const char *unit;     /* "ns", "µs", "ms", "%", "MB", ""; "bool" of TEXT: True or False */
	unsigned char scale;  /* DECIMAL: digits after the point in the exact value */
	unsigned char digits; /* digits after the point where people read: terminal, workbook */
	unsigned char width;  /* preferred width in a workbook, in characters; 0: by contents */
	const char *meaning;  /* one sentence */
	/*
	 * What cells may be: "a|b" one of these, ">=0", ">0", "0..100", "~" and a regular expression;
	 * "!" in front: never missing.  NULL: whatever the type allows.
	 */
	const char *values;
	enum trawl_over_ranks over_ranks;
	signed char place; /* among measured columns over ranks: the least first, then as here */
};

/* What a table is, whatever it is made from; strings and columns live as long as the library. */
struct trawl_table_declaration {
	const char *name, *meaning;
	const struct trawl_column *columns; /* those that it always has */
	size_t column_count;
};

enum trawl_cell_state { TRAWL_CELL_MISSING, TRAWL_CELL_VALUE };

/*
 * One value; which field holds it follows from the column's type.  A row or column that the
 * table does not have gives a missing cell.
 */
struct trawl_cell {
	enum trawl_cell_state state;
	int64_t integer;  /* INTEGER, and DECIMAL before its scale */
	double real;	  /* REAL */
	const char *text; /* TEXT, ID: UTF-8, not NUL-terminated, borrowed from the table */
	size_t text_len;
};

struct trawl_table;

/* The table's name: file name of its CSV and name of its sheet. */
TRAWL_API const char *trawl_table_name(const struct trawl_table *table);
/* One sentence: what a row is. */
TRAWL_API const char *trawl_table_meaning(const struct trawl_table *table);
TRAWL_API size_t trawl_table_rows(const struct trawl_table *table);
TRAWL_API size_t trawl_table_columns(const struct trawl_table *table);
TRAWL_API const struct trawl_column *trawl_table_column(const struct trawl_table *table,
							size_t column);
/* The first column with that header; their number, where all cells are missing: there is none. */
TRAWL_API size_t trawl_table_find_column(const struct trawl_table *table, const char *header);
TRAWL_API struct trawl_cell trawl_table_cell(const struct trawl_table *table, size_t row,
					     size_t column);
TRAWL_API size_t trawl_table_notes(const struct trawl_table *table);
TRAWL_API const char *trawl_table_note(const struct trawl_table *table, size_t note);

/* Of a table that a function gave through a `struct trawl_table **`; NULL is nothing. */
TRAWL_API void trawl_table_free(struct trawl_table *table);

#ifdef __cplusplus
}
#endif

#endif
