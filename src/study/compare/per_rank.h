/*
 * Two runs of one configuration, rank by rank: the sheets of the comparison of single
 * configurations.  percent_change is positive where the test is better, in all of them; status is
 * the verdict that every other table has.
 */
#ifndef TW_STUDY_COMPARE_PER_RANK_H
#define TW_STUDY_COMPARE_PER_RANK_H

#include "study/compare/changes.h"
#include "table/table.h"

/* Summary_Dashboard, GPU_Summary_Cmp, GPU_ByRank_Cmp, NCCL_ImplicitSyncCmp, NCCL_LongCmp. */
#define TW_SINGLE_TABLES 5

struct tw_single_side {
	const char *label;			/* in the columns; they are different */
	const struct trawl_table *sync, *longs; /* nccl_summary_implicit_sync, _long; NULL: none */
};

/*
 * Of changes with one configuration on each side.  Those that have nothing to say are NULL.  The
 * tables depend on nothing; the caller frees them, also after a failure (TRAWL_ENOMEM).
 */
int tw_single_tables(const struct tw_changes *changes, const struct tw_single_side sides[2],
		     struct trawl_table *tables[TW_SINGLE_TABLES],
		     struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
