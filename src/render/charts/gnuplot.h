/* Pictures by gnuplot, which is run as a program: without a shell, its script on its stdin. */
#ifndef TW_RENDER_CHARTS_GNUPLOT_H
#define TW_RENDER_CHARTS_GNUPLOT_H

#include "text/str.h"
#include "trawl/error.h"

/*
 * A text in quotes that gnuplot takes literally (no escapes, no commands), made safe as for a
 * terminal, with ’ for ', and shortened in the middle to `width` cells (0: whole).
 */
void tw_gnuplot_quote(struct tw_str *out, const char *text, size_t width);

/*
 * Runs the script, whose output (no "set output" in it) must be a PNG or SVG, and puts that at
 * `path`, whole or not at all.  Several threads may draw at the same time.  gnuplot does not
 * outlive this program.
 */
int tw_gnuplot_draw(const struct tw_str *script, const char *path,
		    const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- several pictures by one gnuplot, which costs half of one each, while other work goes on */

#define TW_GNUPLOT_MOST 2

struct tw_gnuplot {
	size_t count;
	int script, messages, pictures[TW_GNUPLOT_MOST]; /* files in memory */
	int failure;					 /* another: the errno if it does not run */
	int pid;
	int error; /* an errno: it does not run */
};

/*
 * Starts drawing, until _end on the same thread; scripts as for tw_gnuplot_draw().  A failure is
 * told by _end.
 */
void tw_gnuplot_begin(struct tw_gnuplot *drawing, const struct tw_str *const *scripts,
		      size_t count);
/*
 * Waits, and puts what was drawn at `paths`; done[i] says whether.  The error is that of the
 * first that failed.
 */
int tw_gnuplot_end(struct tw_gnuplot *drawing, const char *const *paths, bool *done,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* Ends it without a picture. */
void tw_gnuplot_abandon(struct tw_gnuplot *drawing);

#endif
