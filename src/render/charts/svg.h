/*
 * Pictures as SVG: sizes in pixels from the upper left corner, readable at the width of a phone.  The
 * same input gives the same bytes.
 */
#ifndef TW_RENDER_CHARTS_SVG_H
#define TW_RENDER_CHARTS_SVG_H

#include "text/str.h"

/* So narrow that text of 13 pixels has 9 on a phone. */
#define TW_SVG_WIDTH 520
#define TW_SVG_EDGE 16

/* Width of a cell of text, in sizes of its font, of any font without serifs. */
#define TW_SVG_CELL 0.62

/* `title` is what readers of the screen say. */
void tw_svg_begin(struct tw_str *out, double height, const char *title);
void tw_svg_end(struct tw_str *out);

enum tw_svg_align { TW_SVG_LEFT, TW_SVG_CENTER, TW_SVG_RIGHT };

struct tw_svg_font {
	double size;
	const char *colour; /* "222222" */
	enum tw_svg_align align;
	bool bold;
	double turned; /* degrees, clockwise around (x, y) */
};

/* A line of any text around the height y, shortened in the middle to `cells` (0: whole). */
void tw_svg_text(struct tw_str *out, double x, double y, const struct tw_svg_font *font,
		 const char *text, size_t cells);
void tw_svg_box(struct tw_str *out, double left, double top, double right, double bottom,
		const char *colour);
void tw_svg_line(struct tw_str *out, double x1, double y1, double x2, double y2, double width,
		 const char *colour);
/* What is between is one thing: pointing at it shows any text, whole. */
void tw_svg_told_begin(struct tw_str *out, const char *text);
void tw_svg_told_end(struct tw_str *out);
/* A number of a path or an attribute, with `before` in front. */
void tw_svg_number(struct tw_str *out, const char *before, double value);

#endif
