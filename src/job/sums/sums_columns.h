/* Which columns of the ranks' tables are keys, which are measured, and what becomes of them. */
#ifndef TW_JOB_SUMS_SUMS_COLUMNS_H
#define TW_JOB_SUMS_SUMS_COLUMNS_H

#include "job/set/job.h"

/* What a measured column becomes, beside each other. */
enum { TW_SUM_OF_MEAN, TW_SUM_OF_MEDIAN, TW_SUM_OF_MIN, TW_SUM_OF_MAX, TW_SUM_OF_TOTAL };

struct tw_sum_column {
	const struct trawl_column *column; /* of the first rank that has it */
	size_t out;			   /* where it begins in the table over ranks */
	size_t found;			   /* before how many others */
	size_t *at;			   /* by source: its column, SIZE_MAX where it has none */
};

struct tw_sum_source {
	const struct trawl_table *table;
	int64_t rank;
};

struct tw_sum_columns {
	const struct trawl_allocator *allocator;
	const struct tw_sum_source *sources; /* of the caller */
	size_t source_count;
	struct tw_sum_column *columns; /* keys first */
	size_t count, capacity, key_count;
	size_t lead, weight; /* what rows stand by, what weighs; SIZE_MAX: none */
	size_t ranks_out, slowest_out;
};

/* 0 or TRAWL_ENOMEM.  The tables must live as long. */
int tw_sum_columns_find(struct tw_sum_columns *columns, const struct tw_sum_source *sources,
			size_t source_count,
			const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_sum_columns_release(struct tw_sum_columns *columns);

/* An empty table over ranks with what becomes of them; NULL when out of memory. */
struct trawl_table *tw_sum_columns_table(const struct tw_sum_columns *columns);

static inline bool tw_sum_leads(enum trawl_over_ranks role)
{
	return role == TRAWL_TIME || role == TRAWL_LEAD;
}

static inline bool tw_sum_has_total(enum trawl_over_ranks role)
{
	return tw_sum_leads(role) || role == TRAWL_TOTAL || role == TRAWL_COUNT;
}

static inline bool tw_sum_is_measured(enum trawl_over_ranks role)
{
	return role != TRAWL_KEY && role != TRAWL_SAME;
}

#endif
