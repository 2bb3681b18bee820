/*
 * Times added up by key, and a table with a row for each key: most tables by name, stream or
 * arguments are no more than that.
 */
#ifndef TW_ANALYSIS_SUMS_H
#define TW_ANALYSIS_SUMS_H

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/order.h"

struct tw_sum {
	tw_wide ns;
	int64_t count, min_ns, max_ns;
	uint64_t first; /* the least of their numbers */
};

/* Adds a time; `number` is one of an event, or what else orders rows of equal time. */
static inline void tw_sum_add(struct tw_sum *sum, int64_t ns, uint64_t number)
{
	if (!sum->count || ns < sum->min_ns)
		sum->min_ns = ns;
	if (!sum->count || ns > sum->max_ns)
		sum->max_ns = ns;
	if (!sum->count || number < sum->first)
		sum->first = number;
	sum->ns += ns;
	sum->count++;
}

struct tw_sums {
	const struct tw_analysis_input *in;
	void *context;		      /* the caller's */
	struct tw_groups groups;      /* keys, with values that begin with a struct tw_sum */
	tw_wide total_ns, running_ns; /* of all; of the rows so far */
};

void tw_sums_init(struct tw_sums *sums, const struct tw_analysis_input *in, size_t key_size,
		  size_t value_size);
/* Adds a time of a key: the key's value, or NULL when out of memory. */
void *tw_sums_add(struct tw_sums *sums, const void *key, int64_t ns, uint64_t number);
/* Keys that are the numbers below `count`, which then are their groups too; rows have those with a time. */
int tw_sums_init_numbers(struct tw_sums *sums, const struct tw_analysis_input *in, uint32_t count,
			 size_t value_size) TRAWL_MUST_CHECK;
void *tw_sums_add_number(struct tw_sums *sums, uint32_t number, int64_t ns);

/*
 * Adds the rows, those of most time first, then by the least number; `set` sets the cells of one, of
 * a key and its value.  `order`, where it is not NULL, sets texts and tie of a key instead.
 */
typedef void tw_set_sum_row(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			    const void *key, const void *value);
typedef void tw_order_sum(const struct tw_sums *sums, const void *key, struct tw_order *order);

int tw_sums_add_rows(struct tw_sums *sums, struct trawl_table *table, tw_set_sum_row *set,
		     tw_order_sum *order) TRAWL_MUST_CHECK;

#endif
