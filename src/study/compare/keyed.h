/* A sheet of a report with one row a key, and rows found by their key. */
#ifndef TW_STUDY_COMPARE_KEYED_H
#define TW_STUDY_COMPARE_KEYED_H

#include "base/arena.h"
#include "table/csv.h"
#include "trawl/error.h"

#define TW_KEYED_MOST 64
#define TW_KEYED_NO_ROW UINT32_MAX

struct tw_keyed {
	struct tw_csv csv;	    /* every key once, in the order of their first rows */
	size_t keys[TW_KEYED_MOST]; /* columns that are the key */
	size_t key_count;
	size_t added_up; /* rows of the sheet that went into one before them */
	uint32_t *slots; /* row + 1 by the hash of its key, 0: free */
	size_t slot_count;
};

/*
 * Everything lies in the arena, the cells partly in that of `from`.  Rows with the same key become
 * one: times, counts and percents are added up, means follow from both, of minima and maxima the
 * outermost is taken, what else is the same in all is kept, and what differs is "".  The columns
 * named by `keys` must be there.
 */
int tw_keyed_of(struct tw_keyed *keyed, const struct tw_csv *from, const char *const *keys,
		size_t key_count, struct tw_arena *arena, struct trawl_error *err) TRAWL_MUST_CHECK;

/* The row of `keyed` that has the key of a row of `other`; TW_KEYED_NO_ROW: none. */
uint32_t tw_keyed_find(const struct tw_keyed *keyed, const struct tw_keyed *other, size_t row);

#endif
