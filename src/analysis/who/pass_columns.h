/* GPU time by pass: columns that tables of modules and call sites share. */
#ifndef TW_ANALYSIS_WHO_PASS_COLUMNS_H
#define TW_ANALYSIS_WHO_PASS_COLUMNS_H

#include "analysis/analysis.h"
#include "analysis/who/attributions.h"

#define TW_OF_GPU_TIME_COLUMN                                                                 \
	TW_PERCENT_2(TW_COL_GPU_TIME_PERCENT, 12, "share of the durations of all GPU events", \
		     .over_ranks = TRAWL_SHARE, .values = "0..100")

/* As enum tw_pass, from a first column on. */
#define TW_PASS_COLUMN_LIST(first)                                                               \
	[(first) + TW_PASS_FORWARD] = TW_MS(TW_COL_FORWARD_MS, 14,                               \
					    "part of GPU time in forward passes",                \
					    .over_ranks = TRAWL_TOTAL, .values = ">=0"),         \
		   [(first) + TW_PASS_BACKWARD] =                                                \
			   TW_MS(TW_COL_BACKWARD_MS, 14,                                         \
				 "part of GPU time in backward passes, by the forward operator", \
				 .over_ranks = TRAWL_TOTAL, .values = ">=0"),                    \
		   [(first) + TW_PASS_RECOMPUTE] =                                               \
			   TW_MS(TW_COL_RECOMPUTE_MS, 14,                                        \
				 "part of GPU time in forward passes that are run again",        \
				 .over_ranks = TRAWL_TOTAL, .values = ">=0")

static inline void tw_set_passes(struct trawl_table *table, size_t row, size_t first,
				 const tw_wide *ns)
{
	unsigned pass;

	for (pass = 0; pass < TW_PASS_COUNT; pass++)
		tw_set_sum(table, row, first + pass, ns[pass]);
}

#endif
