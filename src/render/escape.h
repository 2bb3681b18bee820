/*
 * Text that came from a trace, made safe for what it is written into.  This is the one place
 * where that happens; a renderer never adds such text in another way.
 *
 * For every target alike:
 * - Bytes that are no UTF-8 become U+FFFD, one for each broken sequence.
 * - Characters that would be obeyed instead of seen (tw_utf8_is_unsafe(): controls, direction
 *   changes, line separators, invisible marks) are written as Python would: \x1b, \u202e,
 *   \U000e0041.  A backslash of the text itself is not doubled: the result is for eyes; the JSON
 *   renderer, which escapes by itself, is exact.
 * What happens to line feed and tab, and what else is escaped, is said below.
 */
#ifndef TW_RENDER_ESCAPE_H
#define TW_RENDER_ESCAPE_H

#include "text/str.h"

/* What is read back from a cell of a CSV file or workbook: line feed and tab stay. */
void tw_escape_cell(struct tw_str *out, const char *text, size_t len);

/*
 * A cell of a CSV file (RFC 4180).  Line feed and tab stay.  Quoted only when it holds a comma,
 * a quote or a line feed.
 *
 * Spreadsheets take text that begins with = + - @ or a tab for a formula.  Such text gets an
 * apostrophe in front, which they hide.  Left alone, because nothing can come of them: a single
 * character, and a plain number such as -5 or +1e-3.  Text that begins with apostrophes and
 * then one of these gets one more, so that taking one away always gives the original.
 */
void tw_escape_csv(struct tw_str *out, const char *text, size_t len);

/*
 * The same for a cell that came from a file and goes into another: quoted as needed, with the
 * apostrophe, and otherwise byte for byte what it is.
 */
void tw_escape_csv_exact(struct tw_str *out, const char *text, size_t len);

/* A line of a terminal: line feed and tab are \n and \t. */
void tw_escape_terminal(struct tw_str *out, const char *text, size_t len);

/*
 * A cell of a Markdown table, or inline text: | \ ` * ~ $ get a backslash, & < > become
 * entities, line feed and tab a blank, `_` a backslash where it could begin emphasis (not inside
 * a word) and `]` where it could end a link.
 */
void tw_escape_markdown(struct tw_str *out, const char *text, size_t len);

/* Text or a quoted attribute value of HTML: & < > " ' become entities; line feed and tab stay. */
void tw_escape_html(struct tw_str *out, const char *text, size_t len);

/* What a cell of a workbook can hold, in UTF-16 units. */
#define TW_XLSX_TEXT_LIMIT 32767

/*
 * A string cell of a workbook, without the XML escapes, which the library does.  Line feed and
 * tab stay; _x0041_, which spreadsheets would read as an escape, is written _x005F_x0041_.  Cut,
 * with "…" at the end, to TW_XLSX_TEXT_LIMIT.
 */
void tw_escape_xlsx(struct tw_str *out, const char *text, size_t len);

#endif
