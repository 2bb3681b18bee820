/*
 * A picture of operations under the roofline of a GPU: FLOPs per byte against TFLOP/s, both
 * logarithmic, the area of a point its share of the time.  gnuplot draws it; the same input gives
 * the same bytes with the same gnuplot and fonts.
 */
#ifndef TW_RENDER_CHARTS_ROOFLINE_CHART_H
#define TW_RENDER_CHARTS_ROOFLINE_CHART_H

#include "text/str.h"
#include "trawl/error.h"

#define TW_CHART_WIDTH 1200
#define TW_CHART_HEIGHT 800
/* The largest points are numbered and named beside the picture. */
#define TW_CHART_NAMED 10

struct tw_chart_point {
	const char *name;   /* any text, as the next */
	const char *detail; /* distinguishes points of the same name: a separate line; "": none */
	double flops_per_byte, tflops_per_s;
	double time_frac; /* of the time of all points */
	const char *spec; /* "matrix_bf16"; "": not known */
};

struct tw_chart_ceiling {
	const char *spec;
	double tflops; /* NaN: not known, not drawn */
};

struct tw_roofline_chart {
	const char *title;
	const char *platform;
	double mem_bw_gbps;			 /* NaN: not known, no line */
	const struct tw_chart_ceiling *ceilings; /* drawn where a point has the same spec */
	size_t ceiling_count;
	const struct tw_chart_point *points; /* those that have no place on such axes are skipped */
	size_t point_count;
};

/*
 * Writes a PNG of TW_CHART_WIDTH x TW_CHART_HEIGHT; it appears whole or not at all.
 * TRAWL_ENODATA when no point can be drawn; TRAWL_EIO, with what to do, when there is no gnuplot
 * or it fails.
 */
int tw_render_roofline_chart(const struct tw_roofline_chart *chart, const char *path,
			     const struct trawl_allocator *allocator,
			     struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The script for it alone, for who draws it with others; to be shown with tw_gnuplot_begin().
 * `path` is for the message.
 */
int tw_roofline_chart_script(const struct tw_roofline_chart *chart, const char *path,
			     struct tw_str *script, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
