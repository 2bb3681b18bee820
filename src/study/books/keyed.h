/* A table of a report with one row a key, and rows found by their key. */
#ifndef TW_STUDY_BOOKS_KEYED_H
#define TW_STUDY_BOOKS_KEYED_H

#include "store/pool.h"
#include "table/table.h"

#define TW_KEYED_MOST 64
#define TW_KEYED_NO_ROW UINT32_MAX

struct tw_keyed {
	const struct trawl_table *table; /* every key once, in the order of their first rows */
	size_t keys[TW_KEYED_MOST];	 /* columns that are the key */
	size_t key_count;
	size_t added_up; /* rows that went into one before them */
	uint32_t *ids;	 /* by row: its key in the pool */
	uint32_t *rows;	 /* by id of a key: its row + 1, 0: none */
	size_t id_count;
};

/*
 * Everything lies in memory of the scope (base/scope.h), and in `from`.  Rows with the same key
 * become one: times, counts and percents are added up, means follow from both, of minima and maxima
 * the outermost is taken, what else is the same in all is kept, and what differs is missing.  The
 * columns named by `keys` must be there.  Those of which one is looked up in another share a pool.
 */
int tw_keyed_of(struct tw_keyed *keyed, const struct trawl_table *from, const char *const *keys,
		size_t key_count, struct tw_pool *pool, const struct trawl_allocator *scope,
		struct trawl_error *err) TRAWL_MUST_CHECK;

/* The row of `keyed` that has the key of a row of `other`; TW_KEYED_NO_ROW: none. */
uint32_t tw_keyed_find(const struct tw_keyed *keyed, const struct tw_keyed *other, size_t row);

#endif
