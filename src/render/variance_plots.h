/*
 * Pictures of how the times of operations vary over the configurations and ranks of a sweep: box
 * plots, violins, and means of threads over channels.
 */
#ifndef TW_RENDER_VARIANCE_PLOTS_H
#define TW_RENDER_VARIANCE_PLOTS_H

#include "base/str.h"
#include "trawl/error.h"

/* A row of the variance table. */
struct tw_variance_point {
	int64_t threads, channels, rank;
	double difference_us; /* a number */
};

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

/*
 * All five as DIR/<name>.png, or .svg.  Several gnuplot run at the same time.  A failure of one
 * leaves the others; the error is that of the first.  TRAWL_ENODATA without points.
 */
int tw_render_variance_plots(const struct tw_variance_point *points, size_t count, const char *dir,
			     bool svg, unsigned threads, const struct trawl_allocator *allocator,
			     struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
