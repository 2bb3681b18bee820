/* Which columns of the ranks' tables are keys, which are measured, and what becomes of them. */
#ifndef TW_JOB_SUMS_SUMS_COLUMNS_H
#define TW_JOB_SUMS_SUMS_COLUMNS_H

#include "job/set/job.h"

enum tw_sum_role {
	TW_SUM_KEY,
	TW_SUM_SAME,
	TW_SUM_TIME,
	TW_SUM_LEAD,
	TW_SUM_TOTAL,
	TW_SUM_COUNT,
	TW_SUM_MEAN,
	TW_SUM_SHARE,
	TW_SUM_LEAST,
	TW_SUM_MOST,
	TW_SUM_BEGIN,	       /* of the declarations: a table begins, its rows by time ... */
	TW_SUM_BEGIN_IN_ORDER, /* ... or as ranks have them */
};

struct tw_sum_declared {
	enum tw_sum_role role;
	const char *header; /* of the column, or the table's name */
};

/* The declarations of the table of that name, its BEGIN first; NULL: it is not summed. */
const struct tw_sum_declared *tw_sum_declared_of(const char *table);
/* Whether it is one of that table's columns, and not the next table. */
bool tw_sum_is_column(const struct tw_sum_declared *declared);

/* Whether what is declared of a table has this column. */
bool tw_sum_declares(const struct tw_sum_declared *declared, const char *header);

/* What a measured column becomes, beside each other. */
enum { TW_SUM_OF_MEAN, TW_SUM_OF_MEDIAN, TW_SUM_OF_MIN, TW_SUM_OF_MAX, TW_SUM_OF_TOTAL };

struct tw_sum_column {
	enum tw_sum_role role;
	const struct trawl_column *column; /* of the first rank that has it */
	size_t out;			   /* where it begins in the table over ranks */
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
	struct tw_sum_column *columns; /* keys first, then the others as declared */
	size_t count, capacity, key_count;
	size_t lead, weight; /* which is TIME or LEAD, which COUNT; SIZE_MAX: none */
	size_t ranks_out, slowest_out;
};

/* 0 or TRAWL_ENOMEM.  The tables must live as long. */
int tw_sum_columns_find(struct tw_sum_columns *columns, const struct tw_sum_declared *declared,
			const struct tw_sum_source *sources, size_t source_count,
			const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_sum_columns_release(struct tw_sum_columns *columns);

/* An empty table over ranks with what becomes of them; NULL when out of memory. */
struct trawl_table *tw_sum_columns_table(const struct tw_sum_columns *columns);

static inline bool tw_sum_has_total(enum tw_sum_role role)
{
	return role == TW_SUM_TIME || role == TW_SUM_LEAD || role == TW_SUM_TOTAL ||
	       role == TW_SUM_COUNT;
}

static inline bool tw_sum_is_measured(enum tw_sum_role role)
{
	return role != TW_SUM_KEY && role != TW_SUM_SAME;
}

#endif
