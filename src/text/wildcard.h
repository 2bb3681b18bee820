/* Names with wildcards. */
#ifndef TW_TEXT_WILDCARD_H
#define TW_TEXT_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a name has any: * and ?; nothing else is special. */
bool tw_has_wildcards(const char *pattern);

/* Whether a text is as the pattern, in which * is any text and ? any one character of UTF-8. */
bool tw_wildcard_matches(const char *pattern, const char *text, size_t len);

#endif
