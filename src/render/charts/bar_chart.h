/*
 * Bars on one axis: a row for each rank or kind, its parts one after the other or each a bar of its
 * own, with the numbers beside them.
 */
#ifndef TW_RENDER_CHARTS_BAR_CHART_H
#define TW_RENDER_CHARTS_BAR_CHART_H

#include "text/str.h"

/* Parts of a row at most. */
#define TW_BAR_CHART_PARTS 4

struct tw_bar_part {
	const char *name, *colour; /* colour: "0072b2" */
};

struct tw_bar_row {
	const char *name;		   /* any text */
	double values[TW_BAR_CHART_PARTS]; /* NaN or negative: unknown, no bar */
};

struct tw_bar_chart {
	const char *title, *subtitle; /* any text; the sample size is in the second */
	const char *unit;	      /* of the axis */
	const struct tw_bar_part *parts;
	size_t part_count;
	const struct tw_bar_row *rows; /* drawn in this order, from the top */
	size_t row_count;
	bool apart; /* parts are compared: a bar each; else they add up: one bar */
};

/* As SVG; false, and nothing added, when there is no bar to draw. */
bool tw_bar_chart(const struct tw_bar_chart *chart, struct tw_str *out);

#endif
