/* Rows of a table of time differences as points of its pictures. */
#ifndef TW_STUDY_VARIANCE_POINTS_H
#define TW_STUDY_VARIANCE_POINTS_H

#include "base/arena.h"
#include "render/charts/variance_plots.h"
#include "study/sweep/sweep.h"
#include "table/table.h"

struct tw_variance_points {
	struct tw_variance_point *points;
	size_t count;
	size_t skipped; /* rows that cannot be used, which is noted */
};

/*
 * Of columns threads, channel, rank and time_diff_us, in `arena`; `name` is of the table, for
 * messages, and `filter` NULL takes all rows.  TRAWL_EFORMAT: a column is not there; TRAWL_ENODATA:
 * no row is left.  Notes of tw_str_note().
 */
int tw_variance_points_of(const struct trawl_table *table, const char *name,
			  const struct trawl_sweep_filter *filter, struct tw_arena *arena,
			  struct tw_variance_points *out, struct tw_str *notes,
			  struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
