#include "text/suggestions.h"

#include "text/utf8.h"

#include <stdint.h>
#include <string.h>

#define LONGEST_NAME 128
#define LONGEST_SHOWN 64

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Letters to change, add or remove to make one name of the other; case does not matter. */
static size_t letters_between(const char *a, const char *b)
{
	size_t row[LONGEST_NAME + 1], a_len = strlen(a), b_len = strlen(b), i, k, diagonal, best;

	if (a_len > LONGEST_NAME || b_len > LONGEST_NAME)
		return SIZE_MAX;
	for (k = 0; k <= b_len; k++)
		row[k] = k;
	for (i = 1; i <= a_len; i++) {
		diagonal = row[0];
		row[0] = i;
		for (k = 1; k <= b_len; k++) {
			best = diagonal + (lower(a[i - 1]) != lower(b[k - 1]));
			diagonal = row[k];
			if (best > row[k] + 1)
				best = row[k] + 1;
			if (best > row[k - 1] + 1)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[b_len];
}

static size_t unlikeness(const char *asked, const char *known)
{
	const char *a = strstr(asked, "::"), *b = strstr(known, "::");
	size_t whole = letters_between(asked, known) * 2;
	size_t bare = letters_between(a ? a + 2 : asked, b ? b + 2 : known) * 2 + 1;

	return whole < bare ? whole : bare;
}

void tw_nearest_add(struct tw_nearest *nearest, const char *asked, const char *known)
{
	size_t distance_to = unlikeness(asked, known), k;

	if (nearest->count == TW_NEAREST && distance_to >= nearest->distance[TW_NEAREST - 1])
		return;
	k = nearest->count < TW_NEAREST ? nearest->count++ : TW_NEAREST - 1;
	for (; k && nearest->distance[k - 1] > distance_to; k--) {
		nearest->distance[k] = nearest->distance[k - 1];
		nearest->name[k] = nearest->name[k - 1];
	}
	nearest->distance[k] = distance_to;
	nearest->name[k] = known;
}

void tw_nearest_describe(const struct tw_nearest *nearest, const char *asked, struct tw_str *out)
{
	size_t most = 2 * (strlen(asked) / 3 + 1), i;
	char shown[LONGEST_SHOWN];

	for (i = 0; i < nearest->count && nearest->distance[i] <= most; i++) {
		tw_cut_into(shown, sizeof(shown), nearest->name[i], strlen(nearest->name[i]));
		tw_str_addf(out, "%s'%s'", i ? ", " : "; did you mean ", shown);
	}
	if (i)
		tw_str_add_char(out, '?');
}
