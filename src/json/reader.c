#include "json/reader.h"

#include "text/scan.h"
#include "text/text.h"

#include <math.h>
#include <string.h>

/* What may come next. */
enum state {
	VALUE,	     /* a value */
	FIRST_VALUE, /* a value or the end of the array */
	FIRST_KEY,   /* a key or the end of the object */
	KEY,	     /* a key, after a comma */
	AFTER,	     /* a comma, an end, or the end of the text */
};

/* Zeros after a number, for tw_parse_real(), which reads eight digits at once. */
#define NUMBER_TAIL 16

void tw_json_reader_init(struct tw_json_reader *r, const char *text, size_t len,
			 const struct trawl_allocator *allocator)
{
	memset(r, 0, sizeof(*r));
	r->text = r->p = len ? text : "";
	r->end = r->text + len;
	r->state = VALUE;
	tw_str_init(&r->buffer, allocator);
	if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
		r->p += 3;
}

static enum tw_json_token bad_at(struct tw_json_reader *r, const char *at, const char *problem)
{
	if (!r->problem) {
		r->problem = problem;
		r->at = (size_t)(at - r->text);
	}
	return TW_JSON_BAD;
}

static enum tw_json_token bad(struct tw_json_reader *r, const char *problem)
{
	return bad_at(r, r->p, r->p == r->end ? "unexpected end of text" : problem);
}

static enum tw_json_token no_memory(struct tw_json_reader *r)
{
	r->failed = true;
	return bad(r, "out of memory");
}

static void skip_blanks(struct tw_json_reader *r)
{
	while (r->p < r->end && tw_is_space(*r->p))
		r->p++;
}

/* ---- strings */

static const char *flaw_text(unsigned flaws)
{
	if (flaws & TW_TEXT_CONTROL)
		return "control character in a string: write it as an escape";
	if (flaws & TW_TEXT_ESCAPE)
		return "invalid escape";
	if (flaws & TW_TEXT_SURROGATE)
		return "unpaired surrogate escape";
	return "invalid UTF-8";
}

/* The string at its opening quote, decoded into string, string_len. */
static bool take_string(struct tw_json_reader *r)
{
	const char *begin = ++r->p;
	unsigned flaws;

	while (r->p < r->end && *r->p != '"')
		r->p += *r->p == '\\' && r->end - r->p > 1 ? 2 : 1;
	if (r->p == r->end) {
		bad_at(r, begin - 1, "unterminated string");
		return false;
	}
	tw_str_clear(&r->buffer);
	flaws = tw_text_decode(begin, (size_t)(r->p - begin), &r->buffer);
	tw_str_add(&r->buffer, "", 0);
	if (flaws) {
		bad_at(r, begin - 1, flaw_text(flaws));
		return false;
	}
	if (!tw_str_reserve(&r->buffer, 1)) {
		no_memory(r);
		return false;
	}
	r->buffer.ptr[r->buffer.len] = '\0';
	r->string = r->buffer.ptr;
	r->string_len = r->buffer.len;
	r->p++;
	return true;
}

/* ---- numbers */

static const char *digits_end(const char *p, const char *end)
{
	while (p < end && tw_is_digit(*p))
		p++;
	return p;
}

/* After the number at p by the grammar of JSON, NULL when it is none. */
static const char *number_end(const char *p, const char *end, bool *is_integer)
{
	const char *digits;

	p += p < end && *p == '-';
	digits = p;
	p = digits_end(p, end);
	if (p == digits || (*digits == '0' && p - digits > 1))
		return NULL;
	*is_integer = true;
	if (p < end && *p == '.') {
		*is_integer = false;
		digits = ++p;
		p = digits_end(p, end);
		if (p == digits)
			return NULL;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		*is_integer = false;
		p++;
		p += p < end && (*p == '+' || *p == '-');
		digits = p;
		p = digits_end(p, end);
		if (p == digits)
			return NULL;
	}
	return p;
}

static enum tw_json_token take_number(struct tw_json_reader *r)
{
	static const char zeros[NUMBER_TAIL] = "";
	const char *begin = r->p, *after = number_end(begin, r->end, &r->is_integer);

	if (!after)
		return bad_at(r, begin, "not a JSON value");
	tw_str_clear(&r->buffer);
	tw_str_add(&r->buffer, begin, (size_t)(after - begin));
	tw_str_add(&r->buffer, zeros, sizeof(zeros));
	if (r->buffer.failed)
		return no_memory(r);
	if (!tw_parse_real(r->buffer.ptr, &r->number) || !isfinite(r->number))
		return bad_at(r, begin, "number out of range");
	r->is_integer = r->is_integer &&
			tw_text_integer(begin, (size_t)(after - begin), &r->integer);
	r->p = after;
	return TW_JSON_NUMBER;
}

/* ---- tokens */

static bool take_word(struct tw_json_reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->p) < len || memcmp(r->p, word, len))
		return false;
	r->p += len;
	return true;
}

static enum tw_json_token open_level(struct tw_json_reader *r, bool is_object)
{
	if (r->depth == TW_JSON_READ_DEPTH)
		return bad(r, "nested too deeply");
	r->is_object[r->depth++] = is_object;
	r->p++;
	r->state = is_object ? FIRST_KEY : FIRST_VALUE;
	return is_object ? TW_JSON_OBJECT : TW_JSON_ARRAY;
}

static enum tw_json_token close_level(struct tw_json_reader *r)
{
	r->p++;
	r->state = AFTER;
	return r->is_object[--r->depth] ? TW_JSON_OBJECT_END : TW_JSON_ARRAY_END;
}

static enum tw_json_token take_value(struct tw_json_reader *r)
{
	r->state = AFTER;
	switch (*r->p) {
	case '{':
	case '[':
		return open_level(r, *r->p == '{');
	case '"':
		return take_string(r) ? TW_JSON_STRING : TW_JSON_BAD;
	case 't':
	case 'f':
		r->boolean = *r->p == 't';
		if (take_word(r, r->boolean ? "true" : "false"))
			return TW_JSON_BOOL;
		break;
	case 'n':
		if (take_word(r, "null"))
			return TW_JSON_NULL;
		break;
	default:
		return take_number(r);
	}
	return bad(r, "not a JSON value");
}

/* A key and its colon. */
static enum tw_json_token take_key(struct tw_json_reader *r)
{
	if (*r->p != '"')
		return bad(r, "expected a quoted key");
	if (!take_string(r))
		return TW_JSON_BAD;
	skip_blanks(r);
	if (r->p == r->end || *r->p != ':')
		return bad(r, "expected ':'");
	r->p++;
	r->state = VALUE;
	return TW_JSON_KEY;
}

/* After a value: the comma, if there is one; false when the token is decided. */
static bool take_comma(struct tw_json_reader *r, enum tw_json_token *token)
{
	bool in_object = r->depth && r->is_object[r->depth - 1];

	if (!r->depth) {
		*token = r->p == r->end ? TW_JSON_END :
					  bad(r, "text after the end of the document");
		return false;
	}
	if (r->p < r->end && *r->p == (in_object ? '}' : ']')) {
		*token = close_level(r);
		return false;
	}
	if (r->p == r->end || *r->p != ',') {
		*token = bad(r, in_object ? "expected ',' or '}'" : "expected ',' or ']'");
		return false;
	}
	r->p++;
	skip_blanks(r);
	r->state = in_object ? KEY : VALUE;
	return true;
}

static enum tw_json_token next(struct tw_json_reader *r)
{
	enum tw_json_token token;

	if (r->problem)
		return TW_JSON_BAD;
	skip_blanks(r);
	if (r->state == AFTER && !take_comma(r, &token)) {
		if (token != TW_JSON_BAD && token != TW_JSON_END)
			r->at = (size_t)(r->p - 1 - r->text);
		return token;
	}
	if (r->p == r->end)
		return bad(r, "");
	r->at = (size_t)(r->p - r->text);
	switch ((enum state)r->state) {
	case FIRST_KEY:
		if (*r->p == '}')
			return close_level(r);
		return take_key(r);
	case KEY:
		return take_key(r);
	case FIRST_VALUE:
		if (*r->p == ']')
			return close_level(r);
		break;
	case VALUE:
	case AFTER:
		break;
	}
	return take_value(r);
}

enum tw_json_token tw_json_next(struct tw_json_reader *r)
{
	r->string = "";
	r->string_len = 0;
	r->token = next(r);
	return r->token;
}

void tw_json_skip(struct tw_json_reader *r)
{
	unsigned depth;

	if (r->token == TW_JSON_KEY)
		tw_json_next(r);
	if (r->token != TW_JSON_OBJECT && r->token != TW_JSON_ARRAY)
		return;
	depth = r->depth - 1;
	while (tw_json_next(r) != TW_JSON_BAD && r->depth > depth)
		;
}

bool tw_json_is(const struct tw_json_reader *r, const char *text)
{
	return r->string && r->string_len == strlen(text) &&
	       !memcmp(r->string, text, r->string_len);
}

void tw_json_place(const struct tw_json_reader *r, size_t *line, size_t *column)
{
	const char *at = r->text + r->at, *p, *begin = r->text;

	*line = 1;
	for (p = r->text; p < at; p++) {
		if (*p == '\n') {
			++*line;
			begin = p + 1;
		}
	}
	*column = (size_t)(at - begin) + 1;
}

void tw_json_reject(struct tw_json_reader *r, const char *problem)
{
	bad_at(r, r->text + r->at, problem);
	r->token = TW_JSON_BAD;
}

int tw_json_reader_end(struct tw_json_reader *r, const char *name, struct trawl_error *err)
{
	size_t line, column;
	int status = 0;

	while (!r->problem && tw_json_next(r) != TW_JSON_END)
		;
	if (r->failed) {
		status = trawl_error_set(err, TRAWL_ENOMEM, "%s: out of memory", name);
	} else if (r->problem) {
		tw_json_place(r, &line, &column);
		status = trawl_error_set_at(err, TRAWL_EFORMAT, (int64_t)r->at, "%s:%zu:%zu: %s",
					    name, line, column, r->problem);
	}
	tw_str_release(&r->buffer);
	return status;
}
