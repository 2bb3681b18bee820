/* A picture of who sends how much to whom: a cell a pair, the darker the more. */
#ifndef TW_RENDER_CHARTS_HEAT_MAP_H
#define TW_RENDER_CHARTS_HEAT_MAP_H

#include "text/str.h"
#include "trawl/error.h"

struct tw_heat_map {
	const char *title;
	const char *unit;		    /* of the values */
	const char *row_axis, *column_axis; /* what they are */
	const int64_t *rows, *columns;	    /* their labels */
	size_t row_count, column_count;
	const double *values; /* by row, then column; NaN: no cell */
};

/* gnuplot's commands for it. */
void tw_heat_map_script(const struct tw_heat_map *map, struct tw_str *script);

/* As a PNG at `path`, whole or not at all. */
int tw_render_heat_map(const struct tw_heat_map *map, const char *path,
		       const struct trawl_allocator *allocator,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
