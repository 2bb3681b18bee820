/* JSON strings and small documents that lie in memory as a whole. */
#ifndef TW_TEXT_TEXT_H
#define TW_TEXT_TEXT_H

#include "text/str.h"

/* What was wrong with a string or a value; bits. */
enum tw_text_flaw {
	TW_TEXT_CONTROL = 1,   /* raw control character */
	TW_TEXT_ESCAPE = 2,    /* backslash that begins no escape */
	TW_TEXT_UTF8 = 4,      /* bytes that are no UTF-8 */
	TW_TEXT_SURROGATE = 8, /* half a surrogate pair */
	TW_TEXT_SYNTAX = 16,   /* no valid JSON value */
	TW_TEXT_NAN = 32,      /* NaN, Infinity */
};

/*
 * Appends the contents of a JSON string (without its quotes) to `out`, escapes decoded, bad
 * UTF-8 as U+FFFD, control characters and broken escapes kept unchanged.  Returns flaws.
 */
unsigned tw_text_decode(const char *text, size_t len, struct tw_str *out);

/* Appends the JSON text to `out` with U+FFFD as an escape where half a surrogate pair stands. */
void tw_text_mend_surrogates(const char *text, size_t len, struct tw_str *out);

/* Flaws of a JSON value, without recursion. */
unsigned tw_text_check(const char *text, size_t len);

/*
 * The value of `key` in the JSON object `text` (only its own keys, the first that matches):
 * NULL when absent.  The key must have no escapes.
 */
const char *tw_text_member(const char *text, size_t len, const char *key, size_t *value_len);

/* The n-th element of a JSON array, NULL past its end. */
const char *tw_text_element(const char *text, size_t len, size_t n, size_t *value_len);

/* A JSON integer or a string of one; false when the value is neither. */
bool tw_text_integer(const char *value, size_t len, int64_t *out);

/* Whether spreadsheets take text that begins so for a formula: = + - @, tab, line feed. */
bool tw_text_begins_formula(const char *text, size_t len);

#endif
