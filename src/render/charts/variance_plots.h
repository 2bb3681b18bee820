/*
 * The five pictures of how the time differences of operations are spread in a sweep: box plots,
 * violins, and means of threads over channels.
 */
#ifndef TW_RENDER_CHARTS_VARIANCE_PLOTS_H
#define TW_RENDER_CHARTS_VARIANCE_PLOTS_H

#include "base/arena.h"
#include "base/distribution.h"
#include "text/str.h"
#include "trawl/error.h"

/* A row of the variance table. */
struct tw_variance_point {
	int64_t threads, channels, rank;
	double difference_us; /* a number, not beyond TW_VARIANCE_MOST_US either way */
};

/* Thirty years; axes have numbers to there. */
#define TW_VARIANCE_MOST_US 1e15

enum tw_variance_plot {
	TW_PLOT_THREADS,     /* variance_by_threads_boxplot */
	TW_PLOT_CHANNELS,    /* variance_by_channels_boxplot */
	TW_PLOT_RANKS,	     /* variance_by_ranks_boxplot */
	TW_PLOT_VIOLINS,     /* variance_violin_combined */
	TW_PLOT_INTERACTION, /* variance_thread_channel_interaction */
	TW_VARIANCE_PLOTS,
};

/* Without directory and ending. */
extern const char *const tw_variance_plot_names[TW_VARIANCE_PLOTS];
/* On pages. */
extern const char *const tw_variance_plot_headings[TW_VARIANCE_PLOTS];

/*
 * All five as DIR/<name>.png of 300 dots an inch, or .svg; done[i] says whether one is there.  As
 * many gnuplot run at the same time as there are threads.  A failure of one leaves the others; the
 * error is that of the first.  TRAWL_ENODATA without points.
 */
int tw_render_variance_plots(const struct tw_variance_point *points, size_t count, const char *dir,
			     bool svg, unsigned threads, bool done[TW_VARIANCE_PLOTS],
			     const struct trawl_allocator *allocator,
			     struct trawl_error *err) TRAWL_MUST_CHECK;

/* The commands for one of them, at least one point; out->failed: out of memory. */
void tw_variance_plot_script(enum tw_variance_plot plot, const struct tw_variance_point *points,
			     size_t count, bool svg, struct tw_str *out);

/* ---- the groups that they show */

enum tw_variance_by { TW_BY_THREADS, TW_BY_CHANNELS, TW_BY_RANK };

struct tw_variance_group {
	int64_t number;	      /* of threads, of channels, of the rank */
	const double *values; /* in order, spread.count of them */
	struct tw_distribution spread;
};

/* By number; they and their values are in the arena.  NULL when out of memory. */
struct tw_variance_group *tw_variance_groups(const struct tw_variance_point *points, size_t count,
					     enum tw_variance_by by, struct tw_arena *arena,
					     size_t *group_count);

#endif
