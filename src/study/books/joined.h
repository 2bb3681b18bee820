/* Sheets of several reports, joined by their keys, as a table. */
#ifndef TW_STUDY_BOOKS_JOINED_H
#define TW_STUDY_BOOKS_JOINED_H

#include "study/books/keyed.h"
#include "table/table.h"

enum tw_joined_rows {
	TW_JOINED_ALL,		 /* of any side: those of the first, then what others have beside */
	TW_JOINED_BOTH,		 /* of both sides */
	TW_JOINED_ONLY_BASELINE, /* that the second lacks */
	TW_JOINED_ONLY_VARIANT,	 /* that the first lacks */
};

/* What is joined, and how. */
struct tw_join {
	const char *name;    /* of the table */
	const char *meaning; /* what a row is */
	const struct tw_keyed *const *sides;
	const char *const *names; /* of the sides; the first is the baseline */
	size_t side_count;
	const char *const *keys; /* as each side of `sides` has them */
	size_t key_count;
	const char *const *differences; /* columns that get differences to the baseline */
	size_t difference_count;
	/* Whether a column of a side (0: the baseline) is left out; NULL: none is. */
	bool (*left_out)(size_t side, const char *header);
	enum tw_joined_rows rows;
	const char *order;     /* by this column of the side that has the rows, the largest first */
	bool no_empty_columns; /* columns without a value are left out */
};

/* NULL in *table when there is no such row.  The table depends on nothing. */
int tw_join_table(const struct tw_join *join, struct trawl_table **table,
		  const struct trawl_allocator *allocator,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
