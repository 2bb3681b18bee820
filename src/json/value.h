/*
 * A JSON document as a tree in memory, for small files that are looked at from several sides.
 * Asking for what is not there gives a null value, so that questions can be chained:
 *
 *	tw_json_number(tw_json_get(tw_json_get(doc, "gpu_utilization"), "total_time_ms"))
 *
 * The tree lives in the arena it was made in, and may be read by several threads.
 */
#ifndef TW_JSON_VALUE_H
#define TW_JSON_VALUE_H

#include "base/arena.h"
#include "json/reader.h"
#include "json/writer.h"

struct tw_json_value {
	enum tw_json_token type; /* OBJECT, ARRAY, STRING, NUMBER, BOOL or NULL */
	const char *key;	 /* of a member of an object, else NULL */
	/* STRING: its text; NUMBER: as it was written.  NUL-terminated. */
	const char *text;
	size_t text_len;
	double number;
	bool boolean;
	const struct tw_json_value *first, *next; /* children; the sibling after this one */
	size_t count;				  /* children */
};

/* NULL with an error that names `name` and the place when the text is no JSON. */
const struct tw_json_value *tw_json_parse(struct tw_arena *arena, const char *text, size_t len,
					  const char *name, struct trawl_error *err);

/* The member of an object, a null value when there is none; `value` may be NULL. */
const struct tw_json_value *tw_json_get(const struct tw_json_value *value, const char *key);
/* NaN when it is no number. */
double tw_json_number(const struct tw_json_value *value);
/* "" when it is no string. */
const char *tw_json_text(const struct tw_json_value *value);
/* false when it is none. */
bool tw_json_true(const struct tw_json_value *value);
static inline bool tw_json_is_null(const struct tw_json_value *value)
{
	return value->type == TW_JSON_NULL;
}

#endif
