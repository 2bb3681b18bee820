#include "standalone/json_fields.h"

void tw_field_text(struct tw_json *json, const char *key, const char *text)
{
	tw_json_key(json, key);
	tw_json_cstr(json, text);
}

void tw_field_some_text(struct tw_json *json, const char *key, const char *text)
{
	tw_field_text(json, key, text && *text ? text : NULL);
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

void tw_field_copy(struct tw_json *json, const char *key, const struct tw_json_value *value)
{
	if (key)
		tw_json_key(json, key);
	tw_json_copy(json, value);
}
