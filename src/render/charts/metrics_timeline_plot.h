/* A picture of what happened when: a panel a step, in it a lane a stream, in that bars. */
#ifndef TW_RENDER_CHARTS_METRICS_TIMELINE_PLOT_H
#define TW_RENDER_CHARTS_METRICS_TIMELINE_PLOT_H

#include "text/str.h"
#include "trawl/error.h"

#define TW_LANE_KINDS 5 /* compute, communication, optimizer, prefetch, other */
#define TW_LANE_PANELS_MOST 40

struct tw_lane_bar {
	size_t lane;
	unsigned kind;		  /* less than TW_LANE_KINDS */
	int64_t start_ns, end_ns; /* from 0 on */
	const char *label;
};

struct tw_lane_panel {
	const char *title;
	const char *const *lanes; /* from below */
	size_t lane_count;
	const struct tw_lane_bar *bars;
	size_t bar_count;
	int64_t total_ns;
};

/* gnuplot's commands for it; of at most TW_LANE_PANELS_MOST panels. */
void tw_lanes_script(const struct tw_lane_panel *panels, size_t count, struct tw_str *script);

/* As a PNG at `path`, whole or not at all. */
int tw_render_lanes(const struct tw_lane_panel *panels, size_t count, const char *path,
		    const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
