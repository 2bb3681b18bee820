/* Members of JSON objects: a key and its value in one call. */
#ifndef TW_STANDALONE_JSON_FIELDS_H
#define TW_STANDALONE_JSON_FIELDS_H

#include "base/wide.h"
#include "json/value.h"
#include "json/writer.h"

void tw_field_text(struct tw_json *json, const char *key, const char *text);	  /* NULL: null */
void tw_field_some_text(struct tw_json *json, const char *key, const char *text); /* "": null too */
void tw_field_count(struct tw_json *json, const char *key, uint64_t count);
void tw_field_bool(struct tw_json *json, const char *key, bool value);
/* Rounded to `digits`; NaN: null. */
void tw_field_real(struct tw_json *json, const char *key, double value, unsigned digits);
/* Nanoseconds as exact microseconds. */
void tw_field_us(struct tw_json *json, const char *key, int64_t ns);
/* A sum over many events: exact where it fits 64 bits. */
void tw_field_sum_us(struct tw_json *json, const char *key, tw_wide ns);
/* A value that was read, as it stands there; `key` NULL: an element of an array. */
void tw_field_copy(struct tw_json *json, const char *key, const struct tw_json_value *value);

#endif
