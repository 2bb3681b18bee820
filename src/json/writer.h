/*
 * JSON text into a growing string.  The writer puts commas, indentation and escapes; the caller
 * says what comes.  Every text comes out as valid UTF-8 (broken sequences become U+FFFD) and
 * without raw control or direction-changing characters; every number is one that JSON has.
 * Failure is that of the string, sticky.
 *
 *	struct tw_json json;
 *	tw_json_init(&json, &out);
 *	tw_json_object(&json, TW_JSON_LINES);
 *	tw_json_key(&json, "name");
 *	tw_json_cstr(&json, "mm");
 *	tw_json_end(&json);
 *	tw_json_finish(&json);
 */
#ifndef TW_JSON_WRITER_H
#define TW_JSON_WRITER_H

#include "text/str.h"

#define TW_JSON_DEPTH 64

/* How the members of an object or array are laid out; inside INLINE everything is INLINE. */
enum tw_json_layout {
	TW_JSON_LINES,	/* one a line, indented by two blanks a level */
	TW_JSON_INLINE, /* all on one line */
};

struct tw_json {
	struct tw_str *out;
	/* Takes what was written so far, now and then, and clears it; NULL: `out` has all of it. */
	void (*drain)(void *context, struct tw_str *out);
	void *drain_context;
	unsigned depth;
	bool after_key; /* the value belongs after a key: no comma, no new line */
	struct {
		bool object, inlined, empty;
	} level[TW_JSON_DEPTH];
};

void tw_json_init(struct tw_json *json, struct tw_str *out);
void tw_json_object(struct tw_json *json, enum tw_json_layout layout);
void tw_json_array(struct tw_json *json, enum tw_json_layout layout);
/* Ends the innermost object or array. */
void tw_json_end(struct tw_json *json);
/* A new line after the complete document. */
void tw_json_finish(struct tw_json *json);

void tw_json_key(struct tw_json *json, const char *key);
void tw_json_string(struct tw_json *json, const char *text, size_t len);
/* NULL is written as null. */
void tw_json_cstr(struct tw_json *json, const char *text);
void tw_json_integer(struct tw_json *json, int64_t value);
/* value x 10^-scale, exact. */
void tw_json_decimal(struct tw_json *json, int64_t value, unsigned scale);
/* NaN and infinities are written as null. */
void tw_json_real(struct tw_json *json, double value);
/* Rounded to `digits` after the point, without zeros at the end; NaN and infinities: null. */
void tw_json_rounded(struct tw_json *json, double value, unsigned digits);
/* A number that was read before, not one digit changed. */
void tw_json_number_as_written(struct tw_json *json, const char *text, size_t len);
void tw_json_bool(struct tw_json *json, bool value);
void tw_json_null(struct tw_json *json);

/* The quoted, escaped string alone, for writers with a layout of their own. */
void tw_json_quote(struct tw_str *out, const char *text, size_t len);

#endif
