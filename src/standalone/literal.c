#include "standalone/literal.h"

#include "text/scan.h"

#include <math.h>
#include <string.h>

/* Deeper nesting is not what a report writes. */
#define DEPTH_LIMIT 32

struct reader {
	struct tw_arena *arena;
	const char *p;
	unsigned depth;
	bool wrong, no_memory;
};

static struct tw_json_value *read_value(struct reader *r);

static void skip_blanks(struct reader *r)
{
	while (*r->p == ' ')
		r->p++;
}

static struct tw_json_value *make(struct reader *r, enum tw_json_token type)
{
	struct tw_json_value *value = tw_arena_alloc(r->arena, sizeof(*value));

	if (!value) {
		r->no_memory = true;
		return NULL;
	}
	*value = (struct tw_json_value){ .type = type, .number = NAN };
	return value;
}

static struct tw_json_value *make_text(struct reader *r, enum tw_json_token type, const char *text,
				       size_t len)
{
	struct tw_json_value *value = make(r, type);

	if (!value)
		return NULL;
	value->text = tw_arena_copy(r->arena, text, len);
	value->text_len = len;
	r->no_memory |= !value->text;
	return value->text ? value : NULL;
}

/* Of escapes the report writes \\ and quotes; the letters of others stay as they are. */
static struct tw_json_value *read_string(struct reader *r)
{
	char quote = *r->p++;
	const char *start = r->p;
	struct tw_json_value *value;
	char *text;
	size_t i, len = 0, raw;

	while (*r->p && *r->p != quote)
		r->p += r->p[0] == '\\' && r->p[1] ? 2 : 1;
	raw = (size_t)(r->p - start);
	if (!*r->p) {
		r->wrong = true;
		return NULL;
	}
	r->p++;
	value = make(r, TW_JSON_STRING);
	text = value ? tw_arena_copy(r->arena, start, raw) : NULL;
	if (!text) {
		r->no_memory = true;
		return NULL;
	}
	for (i = 0; i < raw; i++) {
		if (text[i] == '\\' && i + 1 < raw && strchr("\\'\"", text[i + 1]))
			i++;
		text[len++] = text[i];
	}
	text[len] = '\0';
	value->text = text;
	value->text_len = len;
	return value;
}

static struct tw_json_value *read_word(struct reader *r)
{
	size_t len = strcspn(r->p, ",)]}: '\"([{");
	char copy[64] = "";
	struct tw_json_value *value;
	const char *word = r->p;
	double number;

	if (!len) {
		r->wrong = true;
		return NULL;
	}
	r->p += len;
	/* tw_parse_real() looks at eight bytes at once. */
	if (len <= sizeof(copy) - 9) {
		memcpy(copy, word, len);
		if (tw_parse_real(copy, &number) == copy + len) {
			value = make_text(r, TW_JSON_NUMBER, word, len);
			if (value)
				value->number = number;
			return value;
		}
	}
	if (!strcmp(copy, "None"))
		return make(r, TW_JSON_NULL);
	if (!strcmp(copy, "True") || !strcmp(copy, "False")) {
		value = make(r, TW_JSON_BOOL);
		if (value)
			value->boolean = *copy == 'T';
		return value;
	}
	return make_text(r, TW_JSON_STRING, word, len);
}

static void append(struct tw_json_value *parent, struct tw_json_value **last,
		   struct tw_json_value *child)
{
	if (*last)
		(*last)->next = child;
	else
		parent->first = child;
	*last = child;
	parent->count++;
}

/* The key of a dict in front of a value; NULL when it has none. */
static const char *read_key(struct reader *r)
{
	struct tw_json_value *key = *r->p == '\'' || *r->p == '"' ? read_string(r) : NULL;

	skip_blanks(r);
	if (!key || *r->p != ':') {
		r->wrong = true;
		return NULL;
	}
	r->p++;
	skip_blanks(r);
	return key->text;
}

/* Whether a comma follows that ends no entry of a dict: what is behind it is no key. */
static bool goes_on(const struct reader *r)
{
	const char *p = r->p;

	if (*p != ',')
		return false;
	for (p++; *p == ' '; p++)
		;
	return *p && *p != '\'' && *p != '"' && *p != '}';
}

/* The value of a key; words without brackets, as in "'ops': aten.mul, aten.add", are an array. */
static struct tw_json_value *read_entry(struct reader *r)
{
	struct tw_json_value *value = read_value(r), *list, *last = NULL;

	skip_blanks(r);
	if (!value || !goes_on(r))
		return value;
	list = make(r, TW_JSON_ARRAY);
	while (list && value) {
		append(list, &last, value);
		if (!goes_on(r))
			return list;
		r->p++;
		value = read_value(r);
	}
	return NULL;
}

static struct tw_json_value *read_list(struct reader *r)
{
	char open = *r->p++, close = open == '(' ? ')' : open == '[' ? ']' : '}';
	struct tw_json_value *list = make(r, open == '{' ? TW_JSON_OBJECT : TW_JSON_ARRAY);
	struct tw_json_value *last = NULL;

	if (++r->depth > DEPTH_LIMIT)
		r->wrong = true;
	skip_blanks(r);
	while (list && !r->wrong && !r->no_memory && *r->p != close) {
		const char *key = open == '{' ? read_key(r) : NULL;
		struct tw_json_value *child = NULL;

		if (open != '{')
			child = read_value(r);
		else if (key)
			child = read_entry(r);
		if (!child)
			break;
		child->key = key;
		append(list, &last, child);
		skip_blanks(r);
		if (*r->p == ',')
			r->p++;
		else if (*r->p != close)
			r->wrong = true;
		skip_blanks(r);
	}
	r->depth--;
	if (!list || r->wrong || r->no_memory)
		return NULL;
	r->p++;
	return list;
}

static struct tw_json_value *read_value(struct reader *r)
{
	skip_blanks(r);
	if (*r->p == '(' || *r->p == '[' || *r->p == '{')
		return read_list(r);
	if (*r->p == '\'' || *r->p == '"')
		return read_string(r);
	return read_word(r);
}

const struct tw_json_value *tw_literal_parse(struct tw_arena *arena, const char *text)
{
	struct reader r = { .arena = arena, .p = text };
	struct tw_json_value *value;

	if (!*text)
		return tw_json_get(NULL, "");
	value = read_value(&r);
	skip_blanks(&r);
	if (r.no_memory)
		return NULL;
	return !value || *r.p ? tw_json_get(NULL, "") : value;
}
