#include "job/merge/json_errors.h"

#include "text/scan.h"

#include <string.h>

/* Python gives up at about a thousand. */
#define MOST_DEPTH 1000

struct scanning {
	const char *text, *end, *p;
	const char *problem, *at; /* NULL: nothing is wrong */
	size_t depth;
};

static bool complain(struct scanning *s, const char *problem, const char *at)
{
	s->problem = problem;
	s->at = at;
	return false;
}

static void skip_space(struct scanning *s)
{
	while (s->p < s->end && tw_is_space(*s->p))
		s->p++;
}

static bool is_hex(char c)
{
	return tw_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* The escape at p, its backslash. */
static bool scan_escape(struct scanning *s, const char *begin)
{
	const char *p = s->p + 1;
	int i;

	if (p == s->end)
		return complain(s, "Unterminated string starting at", begin);
	if (*p != 'u') {
		if (!*p || !strchr("\"\\/bfnrt", *p))
			return complain(s, "Invalid \\escape", s->p);
		s->p = p + 1;
		return true;
	}
	if (s->end - p <= 5)
		return complain(s, "Invalid \\uXXXX escape", p);
	for (i = 1; i <= 4; i++)
		if (!is_hex(p[i]))
			return complain(s, "Invalid \\uXXXX escape", p);
	s->p = p + 5;
	return true;
}

static bool scan_string(struct scanning *s)
{
	const char *begin = s->p++;

	while (s->p < s->end && *s->p != '"') {
		if (*s->p == '\\') {
			if (!scan_escape(s, begin))
				return false;
		} else if ((unsigned char)*s->p < ' ') {
			return complain(s, "Invalid control character at", s->p);
		} else {
			s->p++;
		}
	}
	if (s->p == s->end)
		return complain(s, "Unterminated string starting at", begin);
	s->p++;
	return true;
}

static void scan_digits(struct scanning *s)
{
	while (s->p < s->end && tw_is_digit(*s->p))
		s->p++;
}

/* A number, or one of the words; as far as it goes. */
static bool scan_plain(struct scanning *s)
{
	static const char *const words[] = {
		"null", "true", "false", "NaN", "Infinity", "-Infinity"
	};
	const char *begin = s->p;
	size_t i, left = (size_t)(s->end - s->p);

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (left < strlen(words[i]) || memcmp(begin, words[i], strlen(words[i])))
			continue;
		s->p += strlen(words[i]);
		return true;
	}
	if (s->p < s->end && *s->p == '-')
		s->p++;
	if (s->p == s->end || !tw_is_digit(*s->p))
		return complain(s, "Expecting value", begin);
	if (*s->p == '0')
		s->p++;
	else
		scan_digits(s);
	if (s->end - s->p > 1 && *s->p == '.' && tw_is_digit(s->p[1])) {
		s->p++;
		scan_digits(s);
	}
	if (s->end - s->p > 1 && (*s->p | 0x20) == 'e') {
		const char *digits = s->p + 1 + (s->p[1] == '-' || s->p[1] == '+');

		if (digits < s->end && tw_is_digit(*digits)) {
			s->p = digits;
			scan_digits(s);
		}
	}
	return true;
}

/* A key with its colon, up to the value. */
static bool scan_key(struct scanning *s)
{
	skip_space(s);
	if (s->p == s->end || *s->p != '"')
		return complain(s, "Expecting property name enclosed in double quotes", s->p);
	if (!scan_string(s))
		return false;
	skip_space(s);
	if (s->p == s->end || *s->p != ':')
		return complain(s, "Expecting ':' delimiter", s->p);
	s->p++;
	skip_space(s);
	return true;
}

static bool is_at(const struct scanning *s, char c)
{
	return s->p < s->end && *s->p == c;
}

static bool scan_value(struct scanning *s);

/* An object or list; keys with their colons stand before the values of an object. */
static bool scan_nested(struct scanning *s)
{
	bool object = *s->p++ == '{';
	char close = object ? '}' : ']';

	skip_space(s);
	if (is_at(s, close)) {
		s->p++;
		return true;
	}
	if (s->depth == MOST_DEPTH)
		return complain(s, "maximum recursion depth exceeded", s->p);
	for (s->depth++;; skip_space(s)) {
		if ((object && !scan_key(s)) || !scan_value(s))
			return false;
		skip_space(s);
		if (is_at(s, close))
			break;
		if (!is_at(s, ','))
			return complain(s, "Expecting ',' delimiter", s->p);
		s->p++;
	}
	s->p++;
	s->depth--;
	return true;
}

static bool scan_value(struct scanning *s)
{
	if (s->p == s->end)
		return complain(s, "Expecting value", s->p);
	if (*s->p == '"')
		return scan_string(s);
	return *s->p == '{' || *s->p == '[' ? scan_nested(s) : scan_plain(s);
}

static bool scan_document(struct scanning *s)
{
	if (s->end - s->p >= 3 && !memcmp(s->p, "\xEF\xBB\xBF", 3))
		return complain(s, "Unexpected UTF-8 BOM (decode using utf-8-sig)", s->p);
	skip_space(s);
	if (!scan_value(s))
		return false;
	skip_space(s);
	return s->p == s->end || complain(s, "Extra data", s->p);
}

bool tw_python_complaint(const char *text, size_t len, struct tw_str *out)
{
	struct scanning s = { .text = text, .end = text + len, .p = text };
	size_t line = 1, column = 1, chars = 0;
	const char *p;

	if (scan_document(&s))
		return false;
	/* Characters, and ends of lines of one, as Python reads files. */
	for (p = text; p < s.at; p++) {
		if (((unsigned char)*p & 0xc0) == 0x80 ||
		    (*p == '\r' && p + 1 < s.at && p[1] == '\n'))
			continue;
		chars++;
		column++;
		if (*p == '\n') {
			line++;
			column = 1;
		}
	}
	tw_str_addf(out, "%s: line %zu column %zu (char %zu)", s.problem, line, column, chars);
	return true;
}
