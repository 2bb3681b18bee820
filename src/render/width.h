/* Terminal cells of a text: 2 for East Asian wide characters, 0 for marks. */
#ifndef TW_RENDER_WIDTH_H
#define TW_RENDER_WIDTH_H

#include "text/str.h"

unsigned tw_char_width(uint32_t code);
/* Of UTF-8 text without control characters. */
size_t tw_text_width(const char *text, size_t len);
/*
 * The text, or what tells most of it in `width` cells, with "…": of a kernel "void ..." its name, then the beginning
 * of its template arguments; of a path with a line the end; else the beginning and the end.
 */
void tw_shorten(struct tw_str *out, const char *text, size_t len, size_t width);
/* Any text made safe as for a terminal and shortened so (0: whole). */
void tw_shown_text(struct tw_str *out, const char *text, size_t width);
/*
 * Text in lines of `width` (0: one line) and a line feed, broken at blanks, those after the first
 * indented; before the first, `indent` cells are taken.
 */
void tw_add_wrapped(struct tw_str *out, const char *text, size_t width, size_t indent);

#endif
