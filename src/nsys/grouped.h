/*
 * Answers over ranks: the rows of a query added up by stage, by purpose, by rank, or by the place
 * of the rank along a kind of parallelism.
 */
#ifndef TW_NSYS_GROUPED_H
#define TW_NSYS_GROUPED_H

#include "trawl/nsys.h"

struct tw_nsys_source;

/*
 * A new table with a row for each value, in *out: of `overlap` those with the least overlap first,
 * of `streams` by value.  `setup` tells where each rank is; the notes of `table` stay.
 */
int tw_nsys_group(struct trawl_table **out, enum trawl_nsys_table query, const char *by,
		  const struct trawl_table *table, const struct trawl_table *setup,
		  const struct tw_nsys_source *source, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
