#include "json/writer.h"
#include "text/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What is gathered before it is drained. */
#define DRAIN_BYTES ((size_t)128 << 10)

void tw_json_init(struct tw_json *json, struct tw_str *out)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
}

static void new_line(struct tw_json *json)
{
	unsigned i;

	tw_str_add_char(json->out, '\n');
	for (i = 0; i < json->depth; i++)
		tw_str_add(json->out, "  ", 2);
}

/* The text between the value before and the next value or key. */
static void separate(struct tw_json *json)
{
	unsigned top = json->depth - 1;

	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth == 0)
		return;
	if (!json->level[top].empty)
		tw_str_add_char(json->out, ',');
	if (!json->level[top].inlined)
		new_line(json);
	else if (!json->level[top].empty)
		tw_str_add_char(json->out, ' ');
	json->level[top].empty = false;
}

static void begin(struct tw_json *json, bool object, enum tw_json_layout layout)
{
	bool inlined = layout == TW_JSON_INLINE;

	separate(json);
	assert(json->depth < TW_JSON_DEPTH);
	if (json->depth > 0 && json->level[json->depth - 1].inlined)
		inlined = true;
	json->level[json->depth].object = object;
	json->level[json->depth].inlined = inlined;
	json->level[json->depth].empty = true;
	json->depth++;
	tw_str_add_char(json->out, object ? '{' : '[');
}

void tw_json_object(struct tw_json *json, enum tw_json_layout layout)
{
	begin(json, true, layout);
}

void tw_json_array(struct tw_json *json, enum tw_json_layout layout)
{
	begin(json, false, layout);
}

void tw_json_end(struct tw_json *json)
{
	assert(json->depth > 0 && !json->after_key);
	json->depth--;
	if (!json->level[json->depth].empty && !json->level[json->depth].inlined)
		new_line(json);
	tw_str_add_char(json->out, json->level[json->depth].object ? '}' : ']');
	if (json->drain && json->out->len >= DRAIN_BYTES)
		json->drain(json->drain_context, json->out);
}

void tw_json_finish(struct tw_json *json)
{
	assert(json->depth == 0);
	tw_str_add_char(json->out, '\n');
}

void tw_json_key(struct tw_json *json, const char *key)
{
	assert(json->depth > 0 && json->level[json->depth - 1].object && !json->after_key);
	separate(json);
	tw_json_quote(json->out, key, strlen(key));
	tw_str_add(json->out, ": ", 2);
	json->after_key = true;
}

void tw_json_string(struct tw_json *json, const char *text, size_t len)
{
	separate(json);
	tw_json_quote(json->out, text, len);
}

void tw_json_cstr(struct tw_json *json, const char *text)
{
	if (text)
		tw_json_string(json, text, strlen(text));
	else
		tw_json_null(json);
}

void tw_json_integer(struct tw_json *json, int64_t value)
{
	separate(json);
	tw_str_add_int(json->out, value);
}

void tw_json_decimal(struct tw_json *json, int64_t value, unsigned scale)
{
	separate(json);
	tw_str_add_decimal(json->out, value, scale);
}

void tw_json_real(struct tw_json *json, double value)
{
	if (!isfinite(value)) {
		tw_json_null(json);
		return;
	}
	separate(json);
	tw_str_add_real(json->out, value);
}

void tw_json_rounded(struct tw_json *json, double value, unsigned digits)
{
	size_t point;

	if (!isfinite(value)) {
		tw_json_null(json);
		return;
	}
	separate(json);
	point = json->out->len;
	tw_str_add_real_fixed(json->out, value, digits);
	if (json->out->failed || !memchr(json->out->ptr + point, '.', json->out->len - point))
		return;
	while (json->out->ptr[json->out->len - 1] == '0')
		json->out->len--;
	json->out->len -= json->out->ptr[json->out->len - 1] == '.';
	json->out->ptr[json->out->len] = 0;
	if (!strcmp(json->out->ptr + point, "-0")) {
		json->out->ptr[point] = '0';
		json->out->ptr[--json->out->len] = 0;
	}
}

void tw_json_number_as_written(struct tw_json *json, const char *text, size_t len)
{
	separate(json);
	tw_str_add(json->out, text, len);
}

void tw_json_bool(struct tw_json *json, bool value)
{
	separate(json);
	tw_str_add_cstr(json->out, value ? "true" : "false");
}

void tw_json_null(struct tw_json *json)
{
	separate(json);
	tw_str_add_cstr(json->out, "null");
}

static void add_escaped(struct tw_str *out, uint32_t code)
{
	switch (code) {
	case '\n':
		tw_str_add(out, "\\n", 2);
		return;
	case '\r':
		tw_str_add(out, "\\r", 2);
		return;
	case '\t':
		tw_str_add(out, "\\t", 2);
		return;
	case '"':
		tw_str_add(out, "\\\"", 2);
		return;
	case '\\':
		tw_str_add(out, "\\\\", 2);
		return;
	}
	if (code >= 0x10000) {
		tw_str_addf(out, "\\u%04x", 0xD800 + (unsigned)((code - 0x10000) >> 10));
		code = 0xDC00 + ((code - 0x10000) & 0x3FF);
	}
	tw_str_addf(out, "\\u%04x", (unsigned)code);
}

/*
 * Beyond what JSON asks for, characters are escaped that a terminal or an editor would obey.  The
 * value is the same.
 */
void tw_json_quote(struct tw_str *out, const char *text, size_t len)
{
	size_t i = 0, clean = 0;

	tw_str_add_char(out, '"');
	while (i < len) {
		uint32_t code;
		size_t step = tw_utf8_next(text + i, len - i, &code);

		if (code == TW_UTF8_BAD || code == '"' || code == '\\' || tw_utf8_is_unsafe(code)) {
			tw_str_add(out, text + clean, i - clean);
			if (code == TW_UTF8_BAD)
				tw_str_add(out, "\xEF\xBF\xBD", 3);
			else
				add_escaped(out, code);
			clean = i + step;
		}
		i += step;
	}
	if (clean < len)
		tw_str_add(out, text + clean, len - clean);
	tw_str_add_char(out, '"');
}
