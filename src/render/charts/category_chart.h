/*
 * A picture of where the time went: a bar for each category of operations and for the time in
 * which nothing is computed, with milliseconds and the share of the whole.
 */
#ifndef TW_RENDER_CHARTS_CATEGORY_CHART_H
#define TW_RENDER_CHARTS_CATEGORY_CHART_H

#include "text/str.h"

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

/* Colours that are distinguishable with color blindness (Okabe and Ito), and what they are called. */
struct tw_bar_look {
	const char *colour, *name;
};

extern const struct tw_bar_look tw_bar_looks[TW_BAR_KINDS];

struct tw_category_bar {
	const char *name; /* any text */
	enum tw_bar_kind kind;
	double time_ms, percent; /* NaN: unknown, no bar */
};

struct tw_category_chart {
	const char *title, *subtitle;	    /* any text; a line each, as the next */
	const char *note;		    /* what the numbers are */
	const struct tw_category_bar *bars; /* drawn in this order, from the top */
	size_t count;
};

/* As SVG; false, and nothing added, when there is no bar to draw. */
bool tw_category_chart(const struct tw_category_chart *chart, struct tw_str *out);

#endif
