/* Which known names may have been meant by one that is not known. */
#ifndef TW_TEXT_SUGGESTIONS_H
#define TW_TEXT_SUGGESTIONS_H

#include "text/str.h"

#define TW_NEAREST 3

/* Begins as zeros; the first of equally near ones stays. */
struct tw_nearest {
	const char *name[TW_NEAREST]; /* the nearest first, NULL after `count` */
	size_t distance[TW_NEAREST];
	size_t count;
};

/*
 * By letters to change, case aside.  The library in front of a name, as in "aten::mm", is easily
 * forgotten or wrong, and counts little.  `known` is kept, not copied.
 */
void tw_nearest_add(struct tw_nearest *nearest, const char *asked, const char *known);

/*
 * "; did you mean 'NAME', 'NAME'?" of those that come near: with at most a third of the letters of
 * `asked` changed.  Nothing where none does.
 */
void tw_nearest_describe(const struct tw_nearest *nearest, const char *asked, struct tw_str *out);

#endif
