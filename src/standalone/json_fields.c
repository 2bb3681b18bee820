#include "standalone/json_fields.h"

void tw_field_text(struct tw_json *json, const char *key, const char *text)
{
	tw_json_key(json, key);
	tw_json_cstr(json, text);
}

void tw_field_count(struct tw_json *json, const char *key, uint64_t count)
{
	tw_json_key(json, key);
	tw_json_integer(json, (int64_t)count);
}

void tw_field_bool(struct tw_json *json, const char *key, bool value)
{
	tw_json_key(json, key);
	tw_json_bool(json, value);
}

void tw_field_real(struct tw_json *json, const char *key, double value, unsigned digits)
{
	tw_json_key(json, key);
	tw_json_rounded(json, value, digits);
}

void tw_field_us(struct tw_json *json, const char *key, int64_t ns)
{
	tw_json_key(json, key);
	tw_json_decimal(json, ns, 3);
}

void tw_field_sum_us(struct tw_json *json, const char *key, tw_wide ns)
{
	if (tw_wide_fits(ns))
		tw_field_us(json, key, (int64_t)ns);
	else
		tw_field_real(json, key, (double)ns / 1000, 3);
}

/* Objects and arrays of scalars stand on one line. */
static enum tw_json_layout layout_of(const struct tw_json_value *value)
{
	const struct tw_json_value *child;

	for (child = value->first; child; child = child->next)
		if (child->type == TW_JSON_OBJECT || child->type == TW_JSON_ARRAY)
			return TW_JSON_LINES;
	return value->key ? TW_JSON_LINES : TW_JSON_INLINE;
}

/* Deeper ones were not written here. */
#define DEEPEST 16

static void copy(struct tw_json *json, const struct tw_json_value *value, unsigned depth)
{
	const struct tw_json_value *child;

	switch (value->type) {
	case TW_JSON_OBJECT:
		tw_json_object(json, layout_of(value));
		for (child = value->first; child && depth < DEEPEST; child = child->next) {
			tw_json_key(json, child->key);
			copy(json, child, depth + 1);
		}
		tw_json_end(json);
		break;
	case TW_JSON_ARRAY:
		tw_json_array(json, layout_of(value));
		for (child = value->first; child && depth < DEEPEST; child = child->next)
			copy(json, child, depth + 1);
		tw_json_end(json);
		break;
	case TW_JSON_STRING:
		tw_json_string(json, value->text, value->text_len);
		break;
	case TW_JSON_NUMBER:
		tw_json_real(json, value->number);
		break;
	case TW_JSON_BOOL:
		tw_json_bool(json, value->boolean);
		break;
	default:
		tw_json_null(json);
	}
}

void tw_field_copy(struct tw_json *json, const char *key, const struct tw_json_value *value)
{
	if (key)
		tw_json_key(json, key);
	copy(json, value, 0);
}
