/* Ranks that stand out: a part of their timeline is longer than that of the others. */
#ifndef TW_JOB_TABLES_OUTLIERS_H
#define TW_JOB_TABLES_OUTLIERS_H

#include "job/tables/tables.h"

/* Over the median of the ranks by more than this share of it ... */
#define TW_OUTLIER_PERCENT 5
/* ... and by this share of the median total time: twice nothing is nothing. */
#define TW_OUTLIER_OF_TOTAL_PERCENT 1

extern const struct tw_ranks_table tw_ranks_table_rank_outliers;

#endif
