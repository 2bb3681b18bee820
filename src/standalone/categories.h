/*
 * The operations of a report in the categories of the standalone analysis: rows of
 * unified_perf_summary, split by category and, where norms are concerned, by name.
 */
#ifndef TW_STANDALONE_CATEGORIES_H
#define TW_STANDALONE_CATEGORIES_H

#include "base/arena.h"
#include "base/wide.h"
#include "trawl/report.h"

struct tw_category_rows {
	const char *name, *display_name, *skill;
	size_t *rows; /* of the table, in its order */
	size_t count;
	tw_wide kernel_ns, host_ns;
	/* Of operations that take much longer on the host than their kernels: the time beyond. */
	tw_wide sync_ns;
	size_t sync_operations;
	bool sync_bottleneck;
};

struct tw_report_categories {
	const struct trawl_table *table; /* NULL: no operation has GPU work */
	struct tw_category_rows *items;	 /* in order of their first row */
	size_t count;
	size_t *of_row; /* category by row of the table */
};

/* Everything lies in the arena. */
int tw_categories_of_report(struct tw_report_categories *categories, struct tw_arena *arena,
			    const struct trawl_report *report,
			    struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
