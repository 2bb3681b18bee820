/* Finding the way in damaged text: where a string was meant to end, where the next event is. */
#include "trace/kineto.h"

#include "text/scan.h"

/* Keys of events, which are after a string that ends. */
static const char *const event_keys[] = { "ph",	 "cat",	 "name", "pid", "tid", "ts",
					  "dur", "args", "id",	 "bp",	"s" };

enum answer { NO, YES, CUT };

/* Whether `"key":` is at p; any key up to 64 characters without quotes.  CUT: `end` is first. */
static enum answer key_at(const char *p, const char *end, const char **after)
{
	const char *start;

	if (p >= end)
		return CUT;
	if (*p != '"')
		return NO;
	for (start = ++p; p < end && *p != '"' && *p != '\n' && p - start < 64; p++)
		;
	if (p >= end)
		return CUT;
	if (*p != '"' || p == start)
		return NO;
	p = tw_skip_space(p + 1);
	*after = p;
	if (p >= end)
		return CUT;
	return *p == ':' ? YES : NO;
}

static bool is_key(const char *p, const char *end, const char **after)
{
	return key_at(p, end, after) == YES;
}

/* Whether a key of events is at p that has lost its opening quote, or both: `tid": 0`. */
static bool is_bare_key(const char *p, const char *end)
{
	size_t i, len;

	if (p >= end)
		return false;
	for (i = 0; i < sizeof(event_keys) / sizeof(event_keys[0]); i++) {
		const char *after;

		len = strlen(event_keys[i]);
		if ((size_t)(end - p) <= len || memcmp(p, event_keys[i], len))
			continue;
		after = p + len;
		if (*after == '"')
			after++;
		after = tw_skip_space(after);
		if (after < end && *after == ':')
			return true;
	}
	return false;
}

/* Whether a string value may end with the quote before p: the event goes on after it. */
static bool value_ends(const char *p, const char *end)
{
	const char *after;

	p = tw_skip_space(p);
	if (p >= end)
		return false;
	if (*p == '}' || *p == ']')
		return true;
	if (*p != ',')
		return is_key(p, end, &after);
	p = tw_skip_space(p + 1);
	return is_key(p, end, &after) || is_bare_key(p, end) || (p < end && *p == '}');
}

/* Whether the object at p (its brace) begins like an event. */
static enum answer event_at(const char *p, const char *end)
{
	const char *far = (size_t)(end - p) > TW_KEY_REACH ? p + TW_KEY_REACH : end, *after;
	const char *key = tw_skip_space(p + 1);
	enum answer answer = key_at(key, far, &after);
	size_t i, len;

	if (answer != YES)
		return far < end ? NO : answer;
	for (i = 0; i < sizeof(event_keys) / sizeof(event_keys[0]); i++) {
		len = strlen(event_keys[i]);
		if (!strncmp(key + 1, event_keys[i], len) && key[1 + len] == '"')
			return YES;
	}
	return NO;
}

bool tw_kineto_begins_event(const char *p, const char *end)
{
	return *p == '{' && event_at(p, end) == YES;
}

/* Whether the quote at p has a backslash of its own: after an even number it is a plain one. */
static bool is_escaped(const char *start, const char *p)
{
	const char *q = p;

	while (q > start && q[-1] == '\\')
		q--;
	return (p - q) % 2;
}

/*
 * Whether a comma and a whole key are at p, after a quote with a backslash.  Where that quote
 * is none, the next one ends the string, and no letter can follow it: so this one is.
 */
static bool key_follows(const char *p, const char *end)
{
	const char *after, *q;

	p = tw_skip_space(p);
	if (p >= end || *p != ',')
		return false;
	p = tw_skip_space(p + 1);
	if (!is_key(p, end, &after) || (unsigned char)((p[1] | 0x20) - 'a') >= 26)
		return false;
	for (q = p + 1; *q != '"'; q++)
		if (*q == '\\')
			return false;
	return true;
}

const char *tw_kineto_string_end(struct tw_kineto *k, const char *p, bool key)
{
	const char *start = p, *first = NULL;
	const char *end = k->limit;

	for (; p < end; p++) {
		const char *after;

		/* Never over the start of the next event: that would make one of two. */
		if (tw_kineto_begins_event(p, end))
			break;
		if (*p != '"')
			continue;
		if (is_escaped(start, p)) {
			if (key || !key_follows(p + 1, end))
				continue;
			/* Going on would make one field of two. */
			if (!k->beside)
				break;
			if (first)
				tw_kineto_flaw(k, TW_DEFECT_unescaped_quote, start);
			return p;
		}
		after = tw_skip_space(p + 1);
		if (!first)
			first = p;
		/* The text after it is in the next window. */
		if (after >= end) {
			p = end;
			break;
		}
		if (key ? *after == ':' : value_ends(p + 1, end)) {
			if (first != p)
				tw_kineto_flaw(k, TW_DEFECT_unescaped_quote, start);
			return p;
		}
		/* A key holds no quotes: a longer one would be two with the text between. */
		if (key)
			break;
	}
	k->failed_at = p;
	return NULL;
}

const char *tw_kineto_find_event(const char *begin, char previous, const char *p, const char *end,
				 const char **cut)
{
	*cut = NULL;
	for (; (p = memchr(p, '{', (size_t)(end - p))); p++) {
		const char *before = p;
		enum answer answer;
		char c;

		/* Not the value of a field: those are after a colon. */
		while (before > begin && tw_is_space(before[-1]))
			before--;
		c = before > begin ? before[-1] : previous;
		if (!c || c == ':')
			continue;
		answer = event_at(p, end);
		if (answer == YES)
			return p;
		if (answer == CUT) {
			*cut = p;
			return NULL;
		}
	}
	return NULL;
}

const char *tw_kineto_end_before_event(const char *p, const char *end)
{
	static const char ph[] = "\"ph\"";
	const char *start = p;

	for (; (p = memchr(p, '{', (size_t)(end - p))); p++) {
		const char *key = tw_skip_space(p + 1), *before = p;

		if (end - key <= (long)sizeof(ph) || memcmp(key, ph, sizeof(ph) - 1))
			continue;
		/* After an object and a comma, as the elements of a list stand. */
		while (before > start && (tw_is_space(before[-1]) || before[-1] == ','))
			before--;
		if (before > start && before[-1] == '}')
			return before;
	}
	return NULL;
}
