/*
 * UTF-8, one character at a time.  Text from traces is not trusted to be valid: a broken
 * sequence is reported, never skipped silently and never read beyond its end.
 */
#ifndef TW_TEXT_UTF8_H
#define TW_TEXT_UTF8_H

#include "trawl/api.h"

/* What tw_utf8_next() gives for a broken sequence; no character has this number. */
#define TW_UTF8_BAD UINT32_MAX
/* U+FFFD, shown in place of a broken sequence. */
#define TW_UTF8_REPLACEMENT 0xFFFDu

/*
 * The character at `text` (len > 0): its length in bytes; *code is its number.  Overlong forms,
 * surrogates and numbers above U+10FFFF are broken; a broken sequence is as long as the longest
 * beginning of a valid one (Unicode 3.9, as Python and browsers count), at least 1.
 */
size_t tw_utf8_next(const char *text, size_t len, uint32_t *code);

/*
 * A character that a terminal, an editor or a reader's eye would obey instead of seeing: controls
 * (C0, DEL, C1), line and paragraph separators, direction changes (bidi), invisible marks, tags
 * and non-characters.  Line feed and tab are among them.
 */
bool tw_utf8_is_unsafe(uint32_t code);

/*
 * Copies a text into `size` bytes (4 at least), with a NUL; of a longer one what fits of it, never a
 * part of a character, with "..." after it.
 */
void tw_cut_into(char *to, size_t size, const char *text, size_t len);

/* Writes up to 4 bytes, gives their number; code is not checked. */
size_t tw_utf8_put(char out[4], uint32_t code);

#endif
