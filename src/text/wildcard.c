#include "text/wildcard.h"

#include <string.h>

bool tw_has_wildcards(const char *pattern)
{
	return pattern[strcspn(pattern, "*?")] != 0;
}

/* The place after a character: bytes 10xxxxxx go on with it. */
static size_t after(const char *text, size_t len, size_t at)
{
	do
		at++;
	while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80);
	return at;
}

bool tw_wildcard_matches(const char *pattern, const char *text, size_t len)
{
	const char *star = NULL; /* the last one, which may take more */
	size_t at = 0, taken = 0;

	while (at < len) {
		if (*pattern == '*') {
			star = pattern++;
			taken = at;
		} else if (*pattern == '?') {
			pattern++;
			at = after(text, len, at);
		} else if (*pattern && *pattern == text[at]) {
			pattern++;
			at++;
		} else if (star) {
			pattern = star + 1;
			at = taken = after(text, len, taken);
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
