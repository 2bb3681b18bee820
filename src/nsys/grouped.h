/*
 * Answers over ranks: the rows of a query added up by stage, by purpose, by rank, or by the place
 * of the rank along a kind of parallelism.
 */
#ifndef TW_NSYS_GROUPED_H
#define TW_NSYS_GROUPED_H

#include "nsys/nsys.h"

struct tw_nsys_source;

/* Whether the rows of a query can be added up by that column of its table or of setup's. */
bool tw_nsys_can_group(enum tw_nsys_query query, const char *by);
/* "stage, rank, pp, ..." of a query; "" where none is. */
const char *tw_nsys_groupings(enum tw_nsys_query query);

/*
 * A new table with a row for each value, in *out: of `overlap` those with the least overlap first,
 * of `streams` by value.  `setup` tells where each rank is; the notes of `table` stay.
 */
int tw_nsys_group(struct trawl_table **out, enum tw_nsys_query query, const char *by,
		  const struct trawl_table *table, const struct trawl_table *setup,
		  const struct tw_nsys_source *source, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
