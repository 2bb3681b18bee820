/*
 * A picture of where the time went: a bar for each category of operations and for the time in
 * which nothing is computed, with milliseconds and the share of the whole.
 */
#ifndef TW_RENDER_CHARTS_CATEGORY_CHART_H
#define TW_RENDER_CHARTS_CATEGORY_CHART_H

#include "text/str.h"

#define TW_CATEGORY_CHART_WIDTH 1200
/* Further ones are one bar together. */
#define TW_CATEGORY_CHART_MOST 14

enum tw_bar_kind {
	TW_BAR_COMPUTE,
	TW_BAR_UNLINKED, /* in no category */
	TW_BAR_COMMUNICATION,
	TW_BAR_COPY,
	TW_BAR_IDLE,
	TW_BAR_KINDS,
};

struct tw_category_bar {
	const char *name; /* any text */
	enum tw_bar_kind kind;
	double time_ms, percent; /* NaN: unknown, no bar */
};

struct tw_category_chart {
	const char *title, *subtitle;
	const struct tw_category_bar *bars; /* drawn in this order, from the top */
	size_t count;
};

/* Height of the picture in pixels; 0: there is no bar to draw. */
unsigned tw_category_chart_height(const struct tw_category_chart *chart);
/* The script for tw_gnuplot_draw() or tw_gnuplot_begin(). */
void tw_category_chart_script(const struct tw_category_chart *chart, struct tw_str *script);

#endif
