/* A comparison from its sides to its tables; what a page shows of it. */
#ifndef TW_STUDY_COMPARE_COMPARISON_H
#define TW_STUDY_COMPARE_COMPARISON_H

#include "study/compare/answer.h"
#include "study/compare/sides.h"
#include "trawl/compare.h"

/* A side against the first, the baseline. */
struct tw_pair {
	const struct tw_side *sides[2];
	const char *labels[2];
	struct tw_samples samples;
	struct tw_changes changes;
	struct trawl_table *tables[TW_COMPARE_TABLES]; /* NULL: not there */
	struct tw_answer answer;
	struct tw_str uneven; /* "": they are comparable */
};

struct trawl_comparison {
	const struct trawl_allocator *allocator;
	struct trawl_compare_options options;
	struct trawl_report_options report; /* where the options have none */
	struct tw_side_options reading;
	struct tw_side sides[TRAWL_COMPARE_MOST_SIDES];
	struct tw_samples times[TRAWL_COMPARE_MOST_SIDES]; /* of each side */
	size_t side_count, opened;
	const char *labels[TRAWL_COMPARE_MOST_SIDES];
	struct tw_pair pairs[TRAWL_COMPARE_MOST_SIDES - 1];
	size_t pair_count;
	/* Of several pairs in one, by enum tw_compare_table; NULL: not there. */
	struct trawl_table *stacked[TW_COMPARE_TABLES];
	struct trawl_table *findings; /* of all sides; NULL: of none */
	const struct trawl_table *tables[TW_COMPARE_TABLES + 1];
	size_t table_count;
	bool incomplete;
};

/* As SVG; false, and nothing added: modules are not known of both sides. */
bool tw_difference_chart(const struct tw_pair *pair, struct tw_str *out);

/*
 * The tables of several pairs in one: behind a column `test` the rows of each.  The summary has a row
 * for each side.  NULL where none has it; *status: out of memory.
 */
struct trawl_table *tw_stack_tables(const struct tw_pair *pairs, size_t count,
				    enum tw_compare_table which, int *status);

/*
 * The findings of all sides, of `times`, behind columns of the side and its configuration.  NULL where
 * none has any; *status: out of memory.
 */
struct trawl_table *tw_stack_findings(const struct tw_samples *times, const char *const *labels,
				      size_t count, int *status);

#endif
