/* What the ranks measured for one row: a value a rank, and what becomes of them. */
#ifndef TW_JOB_SUMS_SUMS_VALUES_H
#define TW_JOB_SUMS_SUMS_VALUES_H

#include "job/sums/sums_columns.h"

/* A row of a rank's table. */
struct tw_sum_entry {
	uint32_t source, row;
};

/* Values of one column, of the ranks that have one: room for as many as there are sources. */
struct tw_sum_values {
	size_t count;
	uint32_t *source;
	int64_t *integer; /* of INTEGER and DECIMAL columns */
	double *real;	  /* of REAL ones */
};

/*
 * The values of a column in `count` entries, which stand in order of source: one a source, as its
 * role says where a source has several rows.
 */
void tw_sum_values_of(struct tw_sum_values *values, const struct tw_sum_columns *columns,
		      const struct tw_sum_column *column, const struct tw_sum_entry *entries,
		      const uint32_t *list, size_t count);

/* Their statistics into the cells of a row; reorders the values. */
void tw_sum_values_set(struct tw_sum_values *values, const struct tw_sum_column *column,
		       struct trawl_table *table, size_t row);

#endif
