/*
 * A picture of operations under the roofline of a GPU: FLOPs per byte against TFLOP/s, both
 * logarithmic, the area of a point its share of the time; below it the largest by name.
 */
#ifndef TW_RENDER_CHARTS_ROOFLINE_CHART_H
#define TW_RENDER_CHARTS_ROOFLINE_CHART_H

#include "text/str.h"
#include "trawl/error.h"

/* The largest points are numbered and named. */
#define TW_CHART_NAMED 10

struct tw_chart_point {
	const char *name;   /* any text, as the next */
	const char *detail; /* distinguishes points of the same name; "": none */
	double flops_per_byte, tflops_per_s;
	double time_frac; /* of the time of all points */
	uint64_t calls;	  /* of which it is the mean */
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

/* As SVG; TRAWL_ENODATA, and nothing added, when no point can be drawn. */
int tw_roofline_chart(const struct tw_roofline_chart *chart, struct tw_str *out,
		      struct trawl_error *err) TRAWL_MUST_CHECK;
/* The same into a file, which appears whole or not at all. */
int tw_render_roofline_chart(const struct tw_roofline_chart *chart, const char *path,
			     const struct trawl_allocator *allocator,
			     struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
