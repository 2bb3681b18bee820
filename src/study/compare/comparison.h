/* A comparison from its sides to its tables; what a page shows of it. */
#ifndef TW_STUDY_COMPARE_COMPARISON_H
#define TW_STUDY_COMPARE_COMPARISON_H

#include "study/compare/answer.h"
#include "study/compare/sides.h"
#include "trawl/compare.h"

#define TW_COMPARE_MOST_SIDES 16

struct trawl_comparison {
	const struct trawl_allocator *allocator;
	struct trawl_compare_options options;
	struct trawl_report_options report; /* where the options have none */
	struct tw_side_options reading;
	struct tw_samples samples;
	struct tw_side sides[TW_COMPARE_MOST_SIDES];
	size_t side_count, opened;
	const char *labels[TW_COMPARE_MOST_SIDES];
	struct tw_changes changes;
	struct trawl_table *all[TW_COMPARE_TABLES]; /* by enum tw_compare_table, NULL: not there */
	const struct trawl_table *tables[TW_COMPARE_TABLES];
	size_t table_count;
	struct tw_answer answer;
	struct tw_str uneven; /* "": they are comparable */
	bool incomplete;
};

#endif
