/*
 * Times by group with their spread: a row a group has count, sum, share of all GPU work, mean,
 * median, min, max and standard deviation.
 */
#ifndef TW_ANALYSIS_SPREAD_H
#define TW_ANALYSIS_SPREAD_H

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"

struct tw_spread_sum {
	tw_wide ns;
	const char *category; /* of the first of them, NULL: none */
};

struct tw_spread {
	const struct tw_analysis_input *in;
	struct tw_groups groups; /* keys, with values that begin with a struct tw_spread_sum */
	uint32_t *of;		 /* by time: its group */
	int64_t *ns;
	uint64_t count, room;
	tw_wide work_ns; /* sum of the durations of all GPU events */
};

/* For up to `room` times; what it takes is left to the allocator's scope. */
int tw_spread_init(struct tw_spread *spread, const struct tw_analysis_input *in, size_t key_size,
		   size_t value_size, uint64_t room) TRAWL_MUST_CHECK;
/* Adds a time of a key: the key's value, or NULL when out of memory. */
void *tw_spread_add(struct tw_spread *spread, const void *key, tw_wide ns);

/* The columns that each such table has, from `at` on, before and behind its own. */
enum {
	TW_SPREAD_TOTAL,
	TW_SPREAD_SHARE,
	TW_SPREAD_MEAN,
	TW_SPREAD_MEDIAN,
	TW_SPREAD_MIN,
	TW_SPREAD_MAX,
	TW_SPREAD_STD,
	TW_SPREAD_COLUMNS
};
#define TW_SPREAD_COLUMN_LIST(at, of)                                                            \
	[(at) + TW_SPREAD_TOTAL] = TW_MS(TW_COL_SUM_MS, 12, "sum of durations",                  \
					 .over_ranks = TRAWL_TIME, .values = "!>=0"),            \
		[(at) + TW_SPREAD_SHARE] = TW_PERCENT_1(                                         \
			TW_COL_SHARE_PERCENT, 8, "share of the summed duration of all GPU work", \
			.over_ranks = TRAWL_SHARE, .values = "0..100"),                          \
		[(at) + TW_SPREAD_MEAN] = TW_MEAN_US(TW_COL_MEAN_US, 10, "mean " of,             \
						     .over_ranks = TRAWL_MEAN, .values = ">=0"), \
		[(at) + TW_SPREAD_MEDIAN] =                                                      \
			TW_MEAN_US(TW_COL_MEDIAN_US, 10, "median " of, .values = ">=0"),         \
		[(at) + TW_SPREAD_MIN] = TW_US(TW_COL_MIN_US, 10, "min " of,                     \
					       .over_ranks = TRAWL_MIN, .values = ">=0"),        \
		[(at) + TW_SPREAD_MAX] = TW_US(TW_COL_MAX_US, 10, "max " of,                     \
					       .over_ranks = TRAWL_MAX, .values = ">=0"),        \
		[(at) + TW_SPREAD_STD] =                                                         \
			TW_MEAN_US(TW_COL_STD_US, 10,                                            \
				   "sample standard deviation (n - 1) of that; empty of one",    \
				   .values = ">=0")

/* Sum and share alone, of what has no spread. */
void tw_spread_set_total(const struct tw_spread *spread, struct trawl_table *table, size_t row,
			 size_t column, tw_wide ns);

/*
 * Adds the rows, those of most time first, then by the text that `text` gives and by the order of
 * keys; the columns of spreads begin at `column`, and `set` sets the others.
 */
struct tw_spread_rows {
	uint32_t (*text)(const void *key);
	void (*set)(const struct tw_spread *spread, struct trawl_table *table, size_t row,
		    const void *key, const void *value, uint64_t count);
	size_t column;
};
int tw_spread_add_rows(struct tw_spread *spread, struct trawl_table *table,
		       const struct tw_spread_rows *rows) TRAWL_MUST_CHECK;

#endif
