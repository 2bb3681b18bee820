#include "text/text.h"

#include "text/scan.h"
#include "text/utf8.h"

static void add_code_point(struct tw_str *out, uint32_t c)
{
	char bytes[4];

	tw_str_add(out, bytes, tw_utf8_put(bytes, c));
}

/* Four hex digits at p, -1 when they are not. */
static int32_t hex4(const char *p, const char *end)
{
	int32_t v = 0;
	int i, digit;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		digit = tw_hex_digit(p[i]);
		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

/*
 * \uXXXX at p (after the backslash and the u), maybe a pair: what it means in *code.
 * Returns after it, NULL: not hex.
 */
static const char *read_unicode(const char *p, const char *end, uint32_t *code, unsigned *flaws)
{
	int32_t c = hex4(p, end), low;

	if (c < 0)
		return NULL;
	p += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		low = hex4(p + 2, end);
		if (low >= 0xdc00 && low < 0xe000) {
			*code = 0x10000 + (((uint32_t)c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
			return p + 6;
		}
	}
	if (c >= 0xd800 && c < 0xe000) {
		*flaws |= TW_TEXT_SURROGATE;
		c = TW_UTF8_REPLACEMENT;
	}
	*code = (uint32_t)c;
	return p;
}

/* The escape at p (a backslash); returns after what was used. */
static const char *decode_escape(const char *p, const char *end, struct tw_str *out,
				 unsigned *flaws)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found, *after;
	uint32_t code;

	if (p + 1 < end && p[1] == 'u') {
		after = read_unicode(p + 2, end, &code, flaws);
		if (after) {
			add_code_point(out, code);
			return after;
		}
	} else if (p + 1 < end && p[1] && (found = strchr(from, p[1]))) {
		tw_str_add_char(out, to[found - from]);
		return p + 2;
	}
	/* As in a Windows path: the backslash is meant. */
	*flaws |= TW_TEXT_ESCAPE;
	tw_str_add_char(out, '\\');
	return p + 1;
}

unsigned tw_text_decode(const char *p, size_t len, struct tw_str *out)
{
	const char *end = p + len, *plain;
	unsigned flaws = 0;
	uint32_t code;
	size_t n;

	while (p < end) {
		for (plain = p; p < end && *p != '\\' && *(const signed char *)p >= ' ';)
			p++;
		tw_str_add(out, plain, (size_t)(p - plain));
		if (p == end)
			break;
		if (*p == '\\') {
			p = decode_escape(p, end, out, &flaws);
		} else if (*(const signed char *)p >= 0) {
			flaws |= TW_TEXT_CONTROL;
			tw_str_add_char(out, *p++);
		} else {
			n = tw_utf8_next(p, (size_t)(end - p), &code);
			if (code == TW_UTF8_BAD) {
				flaws |= TW_TEXT_UTF8;
				add_code_point(out, TW_UTF8_REPLACEMENT);
			} else {
				tw_str_add(out, p, n);
			}
			p += n;
		}
	}
	return flaws;
}

/* Flaws of the string at p (after its quote); returns after the closing one. */
static const char *check_string(const char *p, const char *end, unsigned *flaws)
{
	const char *after;
	uint32_t code;

	while (p < end && *p != '"') {
		if (*p == '\\') {
			if (p + 1 < end && p[1] == 'u' &&
			    (after = read_unicode(p + 2, end, &code, flaws)))
				p = after;
			else if (p + 1 < end && p[1] && strchr("\"\\/bfnrt", p[1]))
				p += 2;
			else {
				*flaws |= TW_TEXT_ESCAPE;
				p++;
			}
		} else if (*(const signed char *)p >= ' ') {
			p++;
		} else if (*(const signed char *)p >= 0) {
			*flaws |= TW_TEXT_CONTROL;
			p++;
		} else {
			p += tw_utf8_next(p, (size_t)(end - p), &code);
			if (code == TW_UTF8_BAD)
				*flaws |= TW_TEXT_UTF8;
		}
	}
	if (p == end) {
		*flaws |= TW_TEXT_SYNTAX;
		return end;
	}
	return p + 1;
}

void tw_text_mend_surrogates(const char *p, size_t len, struct tw_str *out)
{
	const char *end = p + len, *plain = p, *after;
	uint32_t code;

	while (p < end) {
		unsigned flaws = 0;

		if (*p != '\\' || end - p < 2) {
			p++;
			continue;
		}
		after = p[1] == 'u' ? read_unicode(p + 2, end, &code, &flaws) : NULL;
		if (flaws) {
			tw_str_add(out, plain, (size_t)(p - plain));
			tw_str_add_cstr(out, "\\ufffd");
			plain = after;
		}
		p = after ? after : p + 2;
	}
	tw_str_add(out, plain, (size_t)(p - plain));
}

static bool starts_with(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

static const char *skip_space_to(const char *p, const char *end)
{
	while (p < end && tw_is_space(*p))
		p++;
	return p;
}

/* A key and its colon at p; returns the place of the value, NULL when they are not there. */
static const char *check_key(const char *p, const char *end, unsigned *flaws)
{
	if (*p != '"')
		return NULL;
	p = skip_space_to(check_string(p + 1, end, flaws), end);
	if (p == end || *p != ':')
		return NULL;
	p = skip_space_to(p + 1, end);
	return p < end ? p : NULL;
}

static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && tw_is_digit(*p))
		p++;
	return p;
}

/* A number at p; returns after it, NULL when it is none. */
static const char *check_number(const char *p, const char *end)
{
	const char *digits;

	if (p < end && *p == '-')
		p++;
	digits = p;
	p = skip_digits(p, end);
	if (p == digits || (*digits == '0' && p - digits > 1))
		return NULL;
	if (p < end && *p == '.') {
		digits = ++p;
		p = skip_digits(p, end);
		if (p == digits)
			return NULL;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		digits = p;
		p = skip_digits(p, end);
		if (p == digits)
			return NULL;
	}
	return p;
}

/* A number or literal at p; returns after it, NULL when it is none. */
static const char *check_scalar(const char *p, const char *end, unsigned *flaws)
{
	static const char *const words[] = { "true", "false", "null" };
	static const char *const nans[] = { "NaN",  "nan",  "Infinity",	 "inf",
					    "-NaN", "-nan", "-Infinity", "-inf" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (starts_with(p, end, words[i]))
			return p + strlen(words[i]);
	for (i = 0; i < sizeof(nans) / sizeof(nans[0]); i++) {
		if (starts_with(p, end, nans[i])) {
			*flaws |= TW_TEXT_NAN;
			return p + strlen(nans[i]);
		}
	}
	return check_number(p, end);
}

/* Levels of nesting of which it is known whether they are objects or lists: a bit each. */
#define TOLD_LEVELS 64

/*
 * A grammar check with a state instead of a stack: whether a value, a separator or a key may
 * come next.  Kinds of brackets are not checked beyond TOLD_LEVELS.
 */
unsigned tw_text_check(const char *p, size_t len)
{
	const char *end = p + len;
	unsigned flaws = 0;
	uint64_t objects = 0; /* bit i: level i is an object; newest lowest */
	size_t depth = 0;
	enum { VALUE, FIRST, AFTER } state = VALUE;

	for (;;) {
		p = skip_space_to(p, end);
		if (p == end)
			break;
		if (state != AFTER && *p != '}' && *p != ']' && depth && depth <= TOLD_LEVELS &&
		    (objects & 1)) {
			p = check_key(p, end, &flaws);
			if (!p)
				return flaws | TW_TEXT_SYNTAX;
			state = VALUE;
		}
		if (state == AFTER) {
			if (depth && (*p == ',' || (depth > TOLD_LEVELS && *p == ':'))) {
				p++;
				state = VALUE;
				continue;
			}
			if (!depth || (*p != '}' && *p != ']'))
				return flaws | TW_TEXT_SYNTAX;
		}
		switch (*p) {
		case '{':
		case '[':
			if (depth++ < TOLD_LEVELS)
				objects = objects << 1 | (*p == '{');
			p++;
			state = FIRST;
			break;
		case '}':
		case ']':
			if (!depth || state == VALUE ||
			    (depth <= TOLD_LEVELS && (*p == '}') != (objects & 1)))
				return flaws | TW_TEXT_SYNTAX;
			if (depth-- <= TOLD_LEVELS)
				objects >>= 1;
			p++;
			state = AFTER;
			break;
		case '"':
			p = check_string(p + 1, end, &flaws);
			state = AFTER;
			break;
		default:
			p = check_scalar(p, end, &flaws);
			if (!p)
				return flaws | TW_TEXT_SYNTAX;
			state = AFTER;
		}
	}
	if (depth || state != AFTER)
		flaws |= TW_TEXT_SYNTAX;
	return flaws;
}

/* After the value at p, NULL when it does not end before `end`. */
static const char *skip_value(const char *p, const char *end)
{
	if (p < end && (*p == '{' || *p == '[')) {
		size_t depth = 0;

		while (p < end) {
			if (*p == '"') {
				for (p++; p < end && *p != '"'; p++)
					if (*p == '\\')
						p++;
			} else if (*p == '{' || *p == '[') {
				depth++;
			} else if ((*p == '}' || *p == ']') && --depth == 0) {
				return p + 1;
			}
			p++;
		}
		return NULL;
	}
	if (p < end && *p == '"') {
		for (p++; p < end && *p != '"'; p++)
			if (*p == '\\')
				p++;
		return p < end ? p + 1 : NULL;
	}
	while (p < end && *p != ',' && *p != '}' && *p != ']' && !tw_is_space(*p))
		p++;
	return p;
}

const char *tw_text_member(const char *text, size_t len, const char *key, size_t *value_len)
{
	const char *p = skip_space_to(text, text + len), *end = text + len, *name, *after;
	size_t key_len = strlen(key), name_len;

	if (p == end || *p++ != '{')
		return NULL;
	for (;;) {
		p = skip_space_to(p, end);
		if (p == end || *p != '"')
			return NULL;
		name = p + 1;
		p = skip_value(p, end);
		if (!p)
			return NULL;
		name_len = (size_t)(p - 1 - name);
		p = skip_space_to(p, end);
		if (p == end || *p != ':')
			return NULL;
		p = skip_space_to(p + 1, end);
		after = skip_value(p, end);
		if (!after || after == p)
			return NULL;
		if (name_len == key_len && !memcmp(name, key, key_len)) {
			*value_len = (size_t)(after - p);
			return p;
		}
		p = skip_space_to(after, end);
		if (p == end || *p++ != ',')
			return NULL;
	}
}

const char *tw_text_element(const char *text, size_t len, size_t n, size_t *value_len)
{
	const char *p = skip_space_to(text, text + len), *end = text + len, *after;

	if (p == end || *p++ != '[')
		return NULL;
	for (;; n--) {
		p = skip_space_to(p, end);
		if (p == end || *p == ']')
			return NULL;
		after = skip_value(p, end);
		if (!after || after == p)
			return NULL;
		if (!n) {
			*value_len = (size_t)(after - p);
			return p;
		}
		p = skip_space_to(after, end);
		if (p == end || *p++ != ',')
			return NULL;
	}
}

bool tw_text_integer(const char *value, size_t len, int64_t *out)
{
	bool negative;
	size_t i;

	if (len >= 2 && value[0] == '"') {
		value++;
		len -= 2;
	}
	negative = len && value[0] == '-';
	if (len == (size_t)negative)
		return false;
	*out = 0;
	for (i = negative; i < len; i++)
		if (!tw_is_digit(value[i]) || __builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, value[i] - '0', out))
			return false;
	if (negative)
		*out = -*out;
	return true;
}

/* Also in their full-width forms, which some spreadsheets fold. */
bool tw_text_begins_formula(const char *text, size_t len)
{
	uint32_t code;

	tw_utf8_next(text, len, &code);
	switch (code) {
	case '=':
	case '+':
	case '-':
	case '@':
	case '\t':
	case '\n':
	case 0xFF1D:
	case 0xFF0B:
	case 0xFF0D:
	case 0xFF20:
		return true;
	}
	return false;
}
