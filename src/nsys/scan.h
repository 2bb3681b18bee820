/*
 * Scans of one table in parts, on several threads.  Where a part begins depends on the table
 * alone, so that results put together in the order of the parts are the same for any number of
 * threads, damaged files included.
 */
#ifndef TW_NSYS_SCAN_H
#define TW_NSYS_SCAN_H

#include "db/database.h"
#include "text/str.h"

/* Tables of which it has been said what is wrong with them: several scans may find it. */
#define TW_NSYS_TOLD 16

struct tw_nsys_told {
	const char *table;
	bool damage, odd;
};

/* What is read, and what was found wrong on the way. */
struct tw_nsys_source {
	struct tw_database *database;
	const struct trawl_allocator *allocator;
	unsigned threads;
	struct tw_str troubles; /* a line for each thing that was left out */
	bool texts_told;	/* that texts cannot be read is among them */
	struct tw_nsys_told told[TW_NSYS_TOLD];
};

/* The first member of what a scan collects of one part. */
struct tw_nsys_part {
	const struct trawl_allocator *allocator;
	struct tw_database *database; /* of this part: for texts, while its rows are read */
	const void *context;
	int64_t odd,
		odd_row; /* rows left out: no numbers where numbers belong; the first of them */
	/* Of the rows that tw_nsys_is_again() was asked of: what they hold; in the last look, which
	 * of them are an earlier one again. */
	uint64_t *hashes;
	size_t asked, hash_capacity, again_count;
	const bool *again;
	bool close; /* the columns of a closer look are read too */
	int status;
	struct trawl_error error;
};

struct tw_nsys_scan {
	const char *table;
	const char *const *columns;
	size_t column_count;
	size_t close_columns; /* behind them: those that only tell equal rows apart */
	const void *context;  /* into each part */
	size_t part_size;     /* of a structure that begins with struct tw_nsys_part */
	/* A row: 0 or a failure, which ends the query.  TRAWL_EFORMAT is for the table's damage. */
	int (*row)(void *part, const struct tw_scan *scan);
	/* Behind the last row of a part, on its thread; NULL: nothing to do. */
	int (*finish)(void *part);
	void (*release)(void *part);
};

/*
 * Reads the table: *parts is an array of *count parts, for tw_nsys_scan_free().  A table that is
 * not there has no part.  What could not be read is in source->troubles.
 */
int tw_nsys_scan(struct tw_nsys_source *source, const struct tw_nsys_scan *scan, void **parts,
		 size_t *count, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_nsys_scan_free(struct tw_nsys_source *source, const struct tw_nsys_scan *scan, void *parts,
		       size_t count);

/* A row whose column holds something else than a number: counted, left out.  Returns 0. */
int tw_nsys_odd(struct tw_nsys_part *part, const struct tw_scan *scan);

/*
 * Whether a row is an earlier one of the table again, by a hash of all that makes it one: such rows
 * count once.  That is known when the table has been read; where there are such rows it is read
 * anew, with new parts, also for what a closer look has to tell them apart.  To be asked of the
 * same rows each time.  False: out of memory.
 */
bool tw_nsys_is_again(struct tw_nsys_part *part, uint64_t hash, bool *again) TRAWL_MUST_CHECK;

/* Out of memory, for row() and finish(). */
int tw_nsys_no_memory(struct tw_nsys_part *part);

/* The text of an id in StringIds, as tw_database_text() has it. */
const char *tw_nsys_text(struct tw_database *database, int64_t id, size_t *len);

/*
 * The process of a global id, with the bits of its host, as a whole number; its number for people.
 * With `compat` as the original scripts compute it, sign and all.
 */
static inline int64_t tw_nsys_process(int64_t gid, bool compat)
{
	return compat ? gid / 0x1000000 % 0x1000000 : (int64_t)((uint64_t)gid >> 24);
}

static inline int64_t tw_nsys_pid(int64_t process)
{
	return process & 0xffffff;
}

#endif
