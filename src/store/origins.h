/*
 * Where the events of a database come from: event numbers are of no use to who looks into it with
 * SQL, tables and rows are.  Kept as runs, in which both numbers go up by one.
 */
#ifndef TW_STORE_ORIGINS_H
#define TW_STORE_ORIGINS_H

#include "trawl/api.h"

struct tw_origin {
	uint64_t event;	   /* first of the run */
	int64_t row;	   /* its rowid */
	const char *table; /* kept as is; NULL: of no table */
};

struct tw_origins {
	const struct trawl_allocator *allocator;
	struct tw_origin *runs; /* in order of event */
	size_t count, capacity;
};

/* The next event, `event`, is row `row` of `table`: 0 or -1. */
int tw_origins_add(struct tw_origins *origins, uint64_t event, const char *table, int64_t row);
/* Adds `more`, whose events come after `events` others: 0 or -1. */
int tw_origins_append(struct tw_origins *origins, const struct tw_origins *more, uint64_t events);
/* False: the event is of no table. */
bool tw_origins_find(const struct tw_origins *origins, uint64_t event, const char **table,
		     int64_t *row);
void tw_origins_release(struct tw_origins *origins);

#endif
