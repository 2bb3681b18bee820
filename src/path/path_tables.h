/* Tables of the dependencies of a run. */
#ifndef TW_PATH_PATH_TABLES_H
#define TW_PATH_PATH_TABLES_H

#include "path/critical.h"
#include "path/scenarios.h"
#include "table/table.h"

enum tw_path_table {
	TW_PATH_SUMMARY,
	TW_PATH_WHAT_IF,
	TW_PATH_OPS,
	TW_PATH_SLACK,
	TW_PATH_SEGMENTS,
	TW_PATH_TABLES,
};

/* Their declarations, in the order of a workbook. */
extern const struct tw_table_spec *const tw_path_tables[TW_PATH_TABLES];

/* What they are made from. */
struct tw_path_result {
	const struct tw_path *path;
	struct tw_critical critical;
	int64_t *slack; /* by point */
	struct tw_path_ops ops;
	struct tw_path_op_sums *sums; /* by operator */
	const struct tw_what_if *scenarios;
	size_t scenario_count;
};

/* One of them; texts of the critical path stay those of the ranks.  NULL: out of memory. */
struct trawl_table *tw_path_table_make(const struct tw_path_result *r, enum tw_path_table which,
				       const struct trawl_allocator *allocator);

#endif
