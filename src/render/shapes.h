/* Shapes of tensors for the eye. */
#ifndef TW_RENDER_SHAPES_H
#define TW_RENDER_SHAPES_H

#include "text/str.h"

/*
 * As trawl model takes them: "8944x1024,1024x2816" of "((8944, 1024), (1024, 2816), ())"; an
 * absent one between others is "-", those at the end go.
 */
void tw_short_shapes(struct tw_str *out, const char *dims, size_t len);

#endif
