/* What the answer says of where GPU time changed: the step, phase, module and call site with most of the difference. */
#include "study/compare/answer.h"

#include "analysis/who/attributions.h"
#include "data/limits.h"

#include <math.h>
#include <string.h>

static const char *name_of(const struct tw_changes *changes, const struct tw_change *c)
{
	return tw_pool_text(&changes->samples->texts, c->name, NULL);
}

static bool is_below(const char *path, const char *around)
{
	size_t len = strlen(around);

	return !strncmp(path, around, len) &&
	       !strncmp(path + len, TW_MODULE_SEPARATOR, strlen(TW_MODULE_SEPARATOR));
}

static double difference(const double ns[2])
{
	return ns[1] - ns[0];
}

/* What items that do not nest differ by, whichever way. */
static double apart(const struct tw_change_list *list)
{
	double ns = 0;
	size_t i;

	for (i = 0; i < list->count; i++)
		ns += fabs(difference(list->items[i].ns));
	return ns;
}

/*
 * The item with most of what changes, the way that the whole does, though not with most of the time; of modules within
 * each other the innermost.  What is in none is no place.  NULL: there is none.
 */
static const struct tw_change *find_place(const struct tw_changes *changes,
					  enum tw_compared_kind kind, enum tw_compared_kind flat)
{
	const struct tw_change_list *list = &changes->all[kind];
	const double *whole = changes->sums[flat].ns;
	double all = difference(whole) < 0 ? -apart(&changes->all[flat]) :
					     apart(&changes->all[flat]);
	const struct tw_change *found = NULL;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct tw_change *c = &list->items[i];
		const char *name = name_of(changes, c);

		if (name[0] == '(' || !(difference(c->ns) / all * 100 >= TW_LIMIT_PLACE_PERCENT) ||
		    c->ns[0] * 100 >= whole[0] * TW_LIMIT_PLACE_PERCENT ||
		    (found && !is_below(name, name_of(changes, found))))
			continue;
		found = c;
	}
	return found;
}

void tw_add_summed_over(struct tw_str *out, const struct tw_changes *changes,
			enum tw_compared_kind kind)
{
	const size_t *ranks = changes->sums[kind].ranks;

	if (ranks[0] <= 1 && ranks[1] <= 1)
		return;
	tw_str_addf(out, ", summed over %zu", ranks[0]);
	if (ranks[0] != ranks[1])
		tw_str_addf(out, " and %zu", ranks[1]);
	tw_str_add_cstr(out, " ranks");
	if (changes->common > 1)
		tw_str_addf(out, " of %zu configurations", changes->common);
}

void tw_say_places(const struct tw_changes *changes, struct tw_answer *answer)
{
	static const struct {
		enum tw_compared_kind kind, whole;
		const char *what;
	} places[] = {
		{ TW_STEP, TW_STEP, "step " },
		{ TW_PHASE, TW_PHASE, "" },
		{ TW_MODULE_TOTAL, TW_MODULE, "module " },
		{ TW_MODULE_CLASS, TW_MODULE_CLASS, "modules " },
		{ TW_CALL_SITE, TW_CALL_SITE, "" },
	};
	struct tw_str *out = NULL;
	bool module = false;
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const double *whole = changes->sums[places[i].whole].ns;
		const struct tw_change *c;

		/* Of one module its class is no more. */
		if (!(fabs(difference(whole)) * 100 >= whole[0] * TW_LIMIT_SAME_BELOW_PERCENT) ||
		    (places[i].kind == TW_MODULE_CLASS && module))
			continue;
		c = find_place(changes, places[i].kind, places[i].whole);
		if (!c)
			continue;
		module |= places[i].kind == TW_MODULE_TOTAL;
		if (!out) {
			out = tw_answer_line(answer);
			tw_str_add_cstr(out, "Most of the change in GPU time (");
			tw_add_signed(out, difference(whole));
			tw_add_summed_over(out, changes, places[i].whole);
			tw_str_add_cstr(out, ") is in ");
		} else {
			tw_str_add_cstr(out, ", in ");
		}
		tw_str_add_cstr(out, places[i].what);
		tw_answer_add_name(out, changes, &changes->all[places[i].kind], c);
		tw_str_add_cstr(out, " (");
		tw_add_signed(out, difference(c->ns));
		tw_str_add_char(out, ')');
	}
	if (out)
		tw_str_add_char(out, '.');
}
