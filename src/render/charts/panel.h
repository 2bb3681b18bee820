/*
 * Commands for gnuplot that lay a picture out to the point: axes with labels of our own, text where
 * it is wanted.  Sizes are in points (1/72 inch) from the lower left corner, and the same in a PNG
 * of 300 dots an inch and in SVG.  Texts are the program's own, without { } ^ _ @ & ~ and quotes.
 */
#ifndef TW_RENDER_CHARTS_PANEL_H
#define TW_RENDER_CHARTS_PANEL_H

#include "text/str.h"

struct tw_picture {
	struct tw_str *out;
	double width, height;
	double zoom; /* everything, these too, is that much larger in the file */
	bool svg;
};

/* The terminal and what all pictures have. */
void tw_picture_begin(const struct tw_picture *p);

enum tw_picture_align { TW_TEXT_LEFT, TW_TEXT_CENTER };

struct tw_picture_text {
	double x, y, size;
	enum tw_picture_align align;
	bool bold, turned; /* turned: upwards */
};

void tw_picture_text(const struct tw_picture *p, const char *text, struct tw_picture_text place);
/* gnuplot's size of a point with that radius. */
double tw_picture_point_size(const struct tw_picture *p, double radius);
/* " screen x,y" */
void tw_picture_at(const struct tw_picture *p, double x, double y);

/* Axes; numbers of groups, from 1 on, on one of them, numbers on the other. */
struct tw_panel {
	double left, right, bottom, top; /* of the axes */
	double low, high;		 /* numbers at the bottom and at the top */
	double size;			 /* of labels */
	double digits_width;		 /* of the widest label on the left */
	bool only_horizontal;		 /* the lines of the grid */
};

/* From the least to the greatest number and a little more; sets low, high and digits_width. */
void tw_panel_range(const struct tw_picture *p, struct tw_panel *panel, double least,
		    double greatest);

/* Labels below the axes, as they fit: smaller, turned, or only every `step`-th. */
struct tw_panel_labels {
	double size, room; /* room: of their height */
	bool turned;
	size_t step;
};

/* `letters`: of the longest. */
struct tw_panel_labels tw_panel_fit(size_t count, size_t letters, double width, double size);

/* All but the data: follows with the frame, grid and labels "<before><number><after>". */
void tw_panel_frame(const struct tw_picture *p, const struct tw_panel *panel,
		    const struct tw_panel_labels *labels, const char *before, const char *after,
		    const int64_t *numbers, size_t count);

#endif
