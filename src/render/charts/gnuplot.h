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

#endif
