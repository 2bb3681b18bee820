#include "json/python.h"

#include "json/writer.h"
#include "text/scan.h"
#include "text/utf8.h"

#include <string.h>

struct literal {
	const char *p, *end;
	struct tw_str *out;
	bool comma; /* seen, and written when something follows: Python allows one at the end */
};

static void value_begins(struct literal *l)
{
	if (l->comma)
		tw_str_add_cstr(l->out, ", ");
	l->comma = false;
}

/* `digits` hexadecimal ones as a character; false when they are not there. */
static bool add_code(struct literal *l, size_t digits, struct tw_str *plain)
{
	uint32_t code = 0;
	char bytes[4];
	size_t i;

	for (i = 0; i < digits; i++) {
		static const char hex[] = "0123456789abcdefABCDEF";
		const char *at = NULL;

		if (l->p + i < l->end && l->p[i])
			at = strchr(hex, l->p[i]);
		if (!at || code > 0x10ffff)
			return false;
		code = code * 16 + (uint32_t)(at - hex - (at - hex > 15 ? 6 : 0));
	}
	l->p += digits;
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = TW_UTF8_REPLACEMENT;
	tw_str_add(plain, bytes, tw_utf8_put(bytes, code));
	return true;
}

/* The text after a backslash; p is after it. */
static void add_escape(struct literal *l, struct tw_str *plain)
{
	static const char from[] = "nrtabfv0", to[] = "\n\r\t\a\b\f\v";
	char c = *l->p++;
	size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	const char *at = strchr(from, c);

	if (digits && add_code(l, digits, plain))
		return;
	if (c && at)
		c = to[at - from];
	else if (c != '\\' && c != '\'' && c != '"')
		tw_str_add_char(plain, '\\');
	tw_str_add_char(plain, c);
}

static void add_string(struct literal *l)
{
	char quote = *l->p++;
	struct tw_str plain;

	tw_str_init(&plain, l->out->allocator);
	while (l->p < l->end && *l->p != quote) {
		if (*l->p == '\\' && l->p + 1 < l->end) {
			l->p++;
			add_escape(l, &plain);
		} else {
			tw_str_add_char(&plain, *l->p++);
		}
	}
	tw_json_quote(l->out, plain.ptr ? plain.ptr : "", plain.len);
	l->out->failed |= plain.failed;
	tw_str_release(&plain);
	/* Never closed: no literal. */
	if (l->p == l->end)
		tw_str_add_char(l->out, '"');
	else
		l->p++;
}

/* The number as it is written, with a digit on both sides of the point, as JSON wants it. */
static void add_number(const char *text, size_t len, struct tw_str *out)
{
	const char *end = text + len, *p = text + (len > 1 && *text == '+');

	for (; p < end; p++) {
		bool digit_before = p > text && tw_is_digit(p[-1]);
		bool digit_after = p + 1 < end && tw_is_digit(p[1]);

		if (*p == '.' && !digit_before)
			tw_str_add_char(out, '0');
		tw_str_add_char(out, *p);
		if (*p == '.' && !digit_after)
			tw_str_add_char(out, '0');
	}
}

static void add_word(struct literal *l)
{
	static const struct {
		const char *python, *json;
	} words[] = { { "None", "null" },    { "True", "true" },	{ "False", "false" },
		      { "inf", "\"inf\"" },  { "-inf", "\"-inf\"" },	{ "nan", "\"nan\"" },
		      { "-nan", "\"nan\"" }, { "Infinity", "\"inf\"" }, { "NaN", "\"nan\"" } };
	const char *start = l->p;
	size_t len, i;

	while (l->p < l->end && (!*l->p || !strchr(",:()[]{}'\" \t\r\n", *l->p)))
		l->p++;
	len = (size_t)(l->p - start);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].python) == len && !memcmp(words[i].python, start, len)) {
			tw_str_add_cstr(l->out, words[i].json);
			return;
		}
	}
	add_number(start, len, l->out);
}

void tw_json_from_python(const char *text, size_t len, struct tw_str *out)
{
	struct literal l = { text, text + len, out, false };

	while (l.p < l.end) {
		char c = *l.p;

		switch (c) {
		case ' ':
		case '\t':
		case '\r':
		case '\n':
			l.p++;
			break;
		case '(':
		case '[':
		case '{':
			value_begins(&l);
			tw_str_add_char(out, c == '{' ? '{' : '[');
			l.p++;
			break;
		case ')':
		case ']':
		case '}':
			l.comma = false;
			tw_str_add_char(out, c == '}' ? '}' : ']');
			l.p++;
			break;
		case ',':
			/* Two of them are a mistake that shall be seen. */
			value_begins(&l);
			l.comma = true;
			l.p++;
			break;
		case ':':
			tw_str_add_cstr(out, ": ");
			l.p++;
			break;
		case '\'':
		case '"':
			value_begins(&l);
			add_string(&l);
			break;
		default:
			value_begins(&l);
			add_word(&l);
		}
	}
}
