/*
 * Reports read back: a workbook (.xlsx), a directory of CSV files, one CSV file, or tables that are
 * still in memory, all as tables by name.  Columns are found by their headers, never by their place.
 *
 * Numbers of a workbook come as the shortest text that reads back to the same double, whole ones
 * without a point; booleans as True and False; formulas as the value that was stored with them;
 * errors as their text (#DIV/0!); dates as their numbers.  The header is the first row that has a
 * cell.  Which types columns get of that: tw_csv_table().  A sheet is read when it is first asked
 * for; one thread at a time.
 *
 * What is read is bounded, and a file that is beyond it TRAWL_EFORMAT: 1 GB of a part of a workbook
 * or of a CSV file, 2^26 cells of a sheet, of which more than a few must hold something.
 */
#ifndef TW_BOOK_BOOK_H
#define TW_BOOK_BOOK_H

#include "table/table.h"

struct tw_book;

/*
 * Opens by content, not by name.  TRAWL_EIO when it is not there, TRAWL_EFORMAT when it is none of
 * these or is damaged; `path` is named in the message.
 */
int tw_book_open(struct tw_book **out, const char *path, const struct trawl_allocator *allocator,
		 struct trawl_error *err) TRAWL_MUST_CHECK;
/* The same of tables, which the caller keeps until the book is freed. */
int tw_book_of_tables(struct tw_book **out, const char *name,
		      const struct trawl_table *const *tables, size_t count,
		      const struct trawl_allocator *allocator,
		      struct trawl_error *err) TRAWL_MUST_CHECK;
/* A workbook as bytes, which the caller keeps until the book is freed. */
int tw_book_of_bytes(struct tw_book **out, const char *name, const char *bytes, size_t len,
		     const struct trawl_allocator *allocator,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_book_free(struct tw_book *book);

/* Its path, or the name of tables. */
const char *tw_book_name(const struct tw_book *book);
size_t tw_book_sheets(const struct tw_book *book);
const char *tw_book_sheet_name(const struct tw_book *book, size_t index);
/*
 * The table of the name of `spec` (case counts), with the types of its columns, of those that are
 * not declared there by what is in them; *table NULL when there is none.  Tables that were given are
 * as they are, but that their texts are safe (tw_escape_cell()).  It belongs to the book.  A sheet
 * that is damaged, or one of two that have the name, is TRAWL_EFORMAT; others of the book can still
 * be read.  A sheet without cells has no columns.
 */
int tw_book_table(struct tw_book *book, const struct tw_table_spec *spec,
		  const struct trawl_table **table, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Whether a report's own record of its trace (sheet quality) has lost parts: *damaged is false
 * for a report without such a record.
 */
int tw_book_is_damaged(struct tw_book *book, bool *damaged,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
