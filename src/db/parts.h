/*
 * Tables read in parts, by several threads.  Where a part begins depends on the table alone, and
 * parts are joined in their order: what comes of it is the same for any number of threads, damaged
 * files included.
 */
#ifndef TW_DB_PARTS_H
#define TW_DB_PARTS_H

#include "base/scope.h"
#include "db/database.h"

/* What one thread reads of a table: the first member of what a reader keeps of it, zeroed. */
struct tw_table_part {
	const struct tw_table_reader *reader;
	void *context;				 /* of the reading */
	const struct trawl_allocator *allocator; /* of what is given back with the part */
	struct tw_scope scope;
	struct tw_database *database; /* a handle of the part's own, while its rows are read */
	struct tw_scan *scan;
	size_t number;	     /* of the parts of its table */
	int64_t first, last; /* rowids */

	int64_t values[TW_SCAN_COLUMNS]; /* of the present row: the whole numbers that it has */
	uint32_t given, odd; /* bits by column: there is one; something else is in its place */
	int64_t row;	     /* its rowid, -1 before the first */

	bool damaged; /* rows after `row` cannot be read, and why is in `error` */
	int status;
	struct trawl_error error;
};

struct tw_table_reader {
	const char *table;
	const char *const *columns;
	unsigned column_count;
	uint32_t integers; /* bits of those that are whole numbers, for part->values */
	size_t part_size;  /* of the structure that begins with struct tw_table_part */
	/* Each is 0 or a failure, which ends the reading; `begin` and `end` may be NULL. */
	int (*begin)(void *part);
	int (*row)(void *part);
	int (*end)(void *part); /* after its last row, on the same thread */
	/* Hands over what was read: one part at a time, in their order. */
	int (*join)(void *part);
	void (*release)(void *part); /* what is not of part->allocator; may be NULL */
};

struct tw_tables_reading {
	const struct tw_table_reader *const *readers; /* one after the other */
	size_t count;
	void *context;
	uint64_t part_rows; /* at least so many rowids are a part */
	unsigned threads;   /* 0: one a core */
	/* Rows read and total rows, one call at a time; not 0: stop.  NULL: none. */
	int (*progress)(void *context, uint64_t rows, uint64_t of);
	bool texts_failed; /* set: a text was not had, see tw_database_text_failed() */
};

/* A table that is not there has no part.  TRAWL_ECANCELED: `progress` said so. */
int tw_tables_read(struct tw_tables_reading *reading, struct tw_database *database,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

static inline bool tw_part_has(const struct tw_table_part *part, unsigned column)
{
	return part->given >> column & 1;
}

#endif
