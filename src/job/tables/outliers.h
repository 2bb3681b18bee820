/* Outlier ranks: a part of their timeline is longer than that of the others. */
#ifndef TW_JOB_TABLES_OUTLIERS_H
#define TW_JOB_TABLES_OUTLIERS_H

#include "job/tables/tables.h"

extern const struct tw_ranks_table tw_ranks_table_rank_outliers;

#endif
