/*
 * Writing Markdown from JSON that was written before: numbers stand as they stand there, so that a
 * figure of a report can be found in its data; text is escaped.
 */
#ifndef TW_STANDALONE_MARKDOWN_H
#define TW_STANDALONE_MARKDOWN_H

#include "json/value.h"

/* What stands for a value that is not known. */
#define TW_MD_UNKNOWN "n/a"

/* Text, escaped; what stands between backticks is code. */
void tw_md_text(struct tw_str *out, const char *text);
/* Cuts a longer text in the middle to about `most` bytes, and never a character. */
void tw_md_cut(struct tw_str *text, size_t most);
/* Text as code, safe in a table too; longer ones are cut in the middle to `most` characters (0: whole). */
void tw_md_code(struct tw_str *out, const char *text, size_t most);
/* A number as it was written, with `unit` behind it ("" or " ms"); unknown: TW_MD_UNKNOWN. */
void tw_md_number(struct tw_str *out, const struct tw_json_value *value, const char *unit);

#endif
