/*
 * A picture of times within times: a rectangle for each part, as wide as its time, below the part that it
 * is in.  Pointing at one shows its whole path.
 */
#ifndef TW_RENDER_CHARTS_ICICLE_CHART_H
#define TW_RENDER_CHARTS_ICICLE_CHART_H

#include "text/str.h"

/* Smaller shares of the width cannot be seen or pointed at; deeper rows make no picture of a screen. */
#define TW_ICICLE_LEAST_PERCENT 0.3
#define TW_ICICLE_ROWS 24
/* Kinds with a colour of their own; further ones share one, as the kind after them. */
#define TW_ICICLE_KINDS 10

struct tw_icicle_part {
	const char *path, *name; /* any text; the name is written where it fits */
	size_t around;		 /* the part that it is in, one before it; of the first: itself */
	double time_ms;
	size_t kind; /* parts of a kind have one colour, below the chart with its name; 0: none */
	const char *value; /* beside the name, any text; NULL: the share of the whole */
	const char *told;  /* behind the path where one points; NULL: time and share */
};

struct tw_icicle_chart {
	const char *title, *subtitle; /* any text; a line each, as the next */
	const char *note;
	const struct tw_icicle_part *parts; /* the first is the whole; from the left in this order */
	size_t count;
	const char *kinds[TW_ICICLE_KINDS + 2]; /* any text; [0] has none */
	size_t kind_count;			/* that has names: the last, and 1 */
};

/* Parts by their paths: room for all, and for as many depths.  The first, the whole, is there. */
struct tw_icicle_tree {
	struct tw_icicle_part *parts;
	size_t *depths; /* of the whole 0 */
	size_t count;
	const char *between; /* names of a path */
};

/*
 * Adds the part of a path of `depth` names; those around it come before.  NULL: it is too deep, or below what is not
 * there.
 */
struct tw_icicle_part *tw_icicle_add_path(struct tw_icicle_tree *tree, const char *path,
					  size_t depth, double time_ms);

/* As SVG; false, and nothing added, when there is nothing in the whole. */
bool tw_icicle_chart(const struct tw_icicle_chart *chart, struct tw_str *out);

#endif
