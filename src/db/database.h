/*
 * SQLite databases, read only: tables and columns by name, rows in the order of their rowids.
 *
 * Nothing is written, created or repaired, also not beside the file.  What a database may not do
 * to its reader it cannot do: views are not followed and its functions are not trusted.  A handle
 * and its scans belong to one thread at a time; threads that read the same file each have a handle
 * of their own (tw_database_open_again()).
 */
#ifndef TW_DB_DATABASE_H
#define TW_DB_DATABASE_H

#include "trawl/error.h"

struct tw_database;

/*
 * Opens a database and reads its list of tables.  TRAWL_EIO: it is not there, is a directory, or
 * another program is writing it; TRAWL_EFORMAT: empty, no SQLite database, one whose writer was
 * interrupted.  Messages have the remedy, not the file name.
 */
int tw_database_open(struct tw_database **out, const char *path,
		     const struct trawl_allocator *allocator,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
/* Another handle of the same file. */
int tw_database_open_again(struct tw_database **out, const struct tw_database *database,
			   struct trawl_error *err) TRAWL_MUST_CHECK;
/* NULL is allowed.  Scans of it are closed before. */
void tw_database_close(struct tw_database *database);

/* Bytes of the file. */
int64_t tw_database_size(const struct tw_database *database);
/* The file is shorter than it says it is; what is missing shows as failing scans. */
bool tw_database_cut(const struct tw_database *database);

/* Its tables that are real ones, in the order of their making. */
size_t tw_database_tables(const struct tw_database *database);
const char *tw_database_table(const struct tw_database *database, size_t index);
bool tw_database_has_table(const struct tw_database *database, const char *table);
/* Whether a table is there and has the column. */
bool tw_database_has_column(struct tw_database *database, const char *table, const char *column);

/*
 * The smallest and largest rowid: 1; 0 when there is no such table or it has no rows.  Cheap:
 * rowids between need not all be there.  TRAWL_EFORMAT: an end cannot be read, and is set to the
 * least or most there can be.
 */
int tw_database_range(struct tw_database *database, const char *table, int64_t *first,
		      int64_t *last, struct trawl_error *err) TRAWL_MUST_CHECK;
/* The same for who needs not know whether they cannot be read. */
bool tw_database_rowids(struct tw_database *database, const char *table, int64_t *first,
			int64_t *last);

/* ---- scans */

#define TW_SCAN_COLUMNS 32 /* at most */

struct tw_scan;

/*
 * Rows of a table with rowids from `first` to `last`, both included, and of them `count` columns;
 * a column that the table does not have, or that was not asked for, is absent in each row.  A table
 * that is not there is one without rows.
 */
int tw_scan_open(struct tw_scan **out, struct tw_database *database, const char *table,
		 const char *const *columns, size_t count, int64_t first, int64_t last,
		 struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_scan_close(struct tw_scan *scan);

/*
 * On to the next row: 1, 0 after the last one.  TRAWL_EFORMAT: the file is damaged here, and the
 * scan is over; the message names the table and the row before.
 */
int tw_scan_next(struct tw_scan *scan, struct trawl_error *err) TRAWL_MUST_CHECK;

/* The rowid of the present row. */
int64_t tw_scan_rowid(const struct tw_scan *scan);

enum tw_value {
	TW_VALUE_ABSENT, /* NULL, or no such column */
	TW_VALUE_GIVEN,
	TW_VALUE_ODD, /* something else: text where a number belongs, a fraction */
};

/* Column number `column` of those asked for; *value is 0 unless GIVEN.  Text of digits is a number. */
enum tw_value tw_scan_integer(const struct tw_scan *scan, size_t column, int64_t *value);
/*
 * Several columns at once, those whose bits are set: bit i of the result says that values[i] is a
 * number, that of *odd that there is something else.
 */
uint32_t tw_scan_integers(const struct tw_scan *scan, uint32_t columns, int64_t *values,
			  uint32_t *odd);
/* NaN unless there is a number. */
double tw_scan_real(const struct tw_scan *scan, size_t column);
/* NULL when absent or no text; borrowed until the next row, not checked for UTF-8. */
const char *tw_scan_text(const struct tw_scan *scan, size_t column, size_t *len);

/*
 * The text in `column` of the row of `table` whose column "id" is `id` (its rowid, in tables of
 * texts as they are exported), into the buffer of the database until the next call; NULL: no such row, or no text there.
 */
const char *tw_database_text(struct tw_database *database, const char *table, const char *column,
			     int64_t id, size_t *len);
/* Whether one was not had for another reason than that it is not there. */
bool tw_database_text_failed(const struct tw_database *database);

#endif
