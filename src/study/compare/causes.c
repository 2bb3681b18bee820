#include "study/compare/causes.h"

#include "data/limits.h"
#include "data/tables.h"
#include "diagnose/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BELOW ", below " TW_LIMIT_TEXT(TW_LIMIT_FINDING_TOLD_PERCENT) " % of a step"

const char *tw_cause_text(const struct tw_side_cause *cause, const char *header)
{
	return tw_table_own_text(cause->findings, cause->row,
				 trawl_table_find_column(cause->findings, header));
}

static double number_of(const struct tw_side_cause *cause, const char *header)
{
	return tw_table_number(cause->findings, cause->row,
			       trawl_table_find_column(cause->findings, header));
}

const struct tw_side_cause *tw_cause_shown(const struct tw_cause_change *change)
{
	return &change->of[change->of[1].findings != NULL];
}

/* ---- the same finding */

/* Whether two lists such as "1, 3" have one in common. */
static bool share_rank(const char *a, const char *b)
{
	const char *p, *q;
	char *end, *other;

	for (p = a; *p; p = end + strspn(end, ", ")) {
		long long rank = strtoll(p, &end, 10);

		for (q = b; *q && end > p; q = other + strspn(other, ", ")) {
			if (strtoll(q, &other, 10) == rank && other > q)
				return true;
			if (other == q)
				break;
		}
		if (end == p)
			break;
	}
	return false;
}

/* Numbers of lines, shapes and tiles of kernels differ between versions of a program. */
static const char *skip_numbers(const char *p, const char *end)
{
	return p < end ? p + strspn(p, "0123456789 ,()") : p;
}

static bool is_same_place(const char *a, size_t a_len, const char *b, size_t b_len)
{
	const char *a_end = a + a_len, *b_end = b + b_len;

	for (;; a++, b++) {
		a = skip_numbers(a, a_end);
		b = skip_numbers(b, b_end);
		if (a >= a_end || b >= b_end)
			return a >= a_end && b >= b_end;
		if (*a != *b)
			return false;
	}
}

/* "step 7" and "rank 3" are no places of a program. */
static bool is_place(const char *text)
{
	return strncmp(text, "step ", 5) != 0 && strncmp(text, "rank ", 5) != 0;
}

/* Whether lists parted by "; " have a place in common, or one of them has none. */
static bool share_place(const char *a, const char *b)
{
	size_t a_len, b_len, seen[2] = { 0, 0 };
	const char *p, *q;

	for (p = a; *p; p += a_len + strspn(p + a_len, "; ")) {
		a_len = strcspn(p, ";");
		seen[0] += is_place(p);
		for (q = b; *q; q += b_len + strspn(q + b_len, "; ")) {
			b_len = strcspn(q, ";");
			seen[1] += is_place(q);
			if (is_place(p) && is_place(q) && is_same_place(p, a_len, q, b_len))
				return true;
		}
	}
	return !*a || !*b || !seen[0] || !seen[1];
}

/* What changes in all of the run has no place of its own: its places are where most of it is. */
static bool is_of_run(const char *code)
{
	size_t i;

	for (i = 0; i < TW_FINDING_KINDS; i++)
		if (!strcmp(code, tw_finding_words[i].code))
			return tw_kind_list[i]->change || tw_kind_list[i]->share;
	return false;
}

/* Of the same kind on the same rank, else of all the run, or where they have a place in common. */
static bool is_same_cause(const struct tw_side_cause *a, const struct tw_side_cause *b)
{
	const char *kind = tw_cause_text(a, TW_COL_FINDING_KIND);
	const char *ranks[] = { tw_cause_text(a, TW_COL_FINDING_RANK),
				tw_cause_text(b, TW_COL_FINDING_RANK) };

	if (strcmp(kind, tw_cause_text(b, TW_COL_FINDING_KIND)) != 0)
		return false;
	if (*ranks[0] && *ranks[1])
		return share_rank(ranks[0], ranks[1]);
	return is_of_run(kind) || share_place(tw_cause_text(a, TW_COL_FINDING_WHERE),
					      tw_cause_text(b, TW_COL_FINDING_WHERE));
}

/* ---- how much it changed */

/* A step, by a gain of it and its share; 0: not known. */
static double step_ms(const struct tw_side_cause *cause)
{
	double percent = cause->findings ? number_of(cause, TW_COL_GAIN_PERCENT) : 0;

	return percent > 0 ? cause->gain_ms * 100 / percent : 0;
}

static void judge(struct tw_cause_change *c)
{
	double step = step_ms(&c->of[0]), apart;

	step = step > 0 ? step : step_ms(&c->of[1]);
	c->difference_ms = c->of[1].gain_ms - c->of[0].gain_ms;
	apart = fabs(c->difference_ms);
	c->verdict = !(apart > 0) || apart * 100 < step * TW_LIMIT_FINDING_TOLD_PERCENT ? TW_SAME :
		     c->difference_ms > 0						? TW_WORSE :
											  TW_BETTER;
}

const char *tw_cause_why(const struct tw_cause_change *c)
{
	bool same = c->verdict == TW_SAME;

	if (!c->of[0].findings)
		return same ? "new in the test" BELOW : "new in the test";
	if (!c->of[1].findings)
		return same ? "gone in the test" BELOW : "gone in the test";
	if (!(fabs(c->difference_ms) > 0))
		return "no difference";
	if (c->difference_ms > 0)
		return same ? "larger gain" BELOW : "larger gain";
	return same ? "smaller gain" BELOW : "smaller gain";
}

/* ---- all of them */

/* What has no gain is an observation. */
static bool has_gain(const struct trawl_table *findings, size_t row, struct tw_side_cause *cause)
{
	*cause = (struct tw_side_cause){ findings, row, 0 };
	cause->gain_ms = number_of(cause, TW_COL_GAIN_MS);
	return !isnan(cause->gain_ms);
}

static int add_finding(struct tw_cause_changes *changes, const struct tw_samples *samples,
		       uint32_t config, unsigned side, size_t first,
		       const struct tw_side_cause *cause)
{
	struct tw_cause_change added = { .config = config };
	size_t i;

	for (i = first; side && i < changes->list.count; i++) {
		struct tw_cause_change *c = &changes->list.at[i];

		if (c->of[0].findings && !c->of[1].findings && is_same_cause(&c->of[0], cause)) {
			c->of[1] = *cause;
			return 0;
		}
	}
	added.of[side] = *cause;
	return TW_LIST_ADD(&changes->list, &added, samples->allocator) ? 0 : TRAWL_ENOMEM;
}

static int add_config(struct tw_cause_changes *changes, const struct tw_samples *samples,
		      uint32_t config)
{
	const struct tw_sample_config *c = &samples->configs[config];
	size_t first = changes->list.count, row;
	struct tw_side_cause cause;
	unsigned side;
	int status = 0;

	for (side = 0; side < 2 && !status; side++)
		for (row = 0; row < trawl_table_rows(c->findings[side]) && !status; row++)
			if (has_gain(c->findings[side], row, &cause))
				status = add_finding(changes, samples, config, side, first, &cause);
	return status;
}

static int compare_changes(const void *a, const void *b)
{
	const struct tw_cause_change *x = a, *y = b;
	double p = fabs(x->difference_ms), q = fabs(y->difference_ms);
	const struct tw_side_cause *one = tw_cause_shown(x), *other = tw_cause_shown(y);
	int kinds;

	if ((x->verdict == TW_SAME) != (y->verdict == TW_SAME))
		return x->verdict == TW_SAME ? 1 : -1;
	if (p > q || p < q)
		return p > q ? -1 : 1;
	if (x->config != y->config)
		return x->config < y->config ? -1 : 1;
	kinds = strcmp(tw_cause_text(one, TW_COL_FINDING_KIND),
		       tw_cause_text(other, TW_COL_FINDING_KIND));
	return kinds ? kinds : one->row < other->row ? -1 : one->row > other->row;
}

int tw_cause_changes_make(struct tw_cause_changes *changes, const struct tw_samples *samples)
{
	uint32_t i;
	size_t k;
	int status = 0;

	*changes = (struct tw_cause_changes){ 0 };
	for (i = 0; i < samples->config_count && !status; i++) {
		const struct tw_sample_config *c = &samples->configs[i];
		bool both = c->findings[0] && c->findings[1];

		if (!c->there[0] || !c->there[1])
			continue;
		changes->known += both;
		for (k = 0; k < 2; k++)
			changes->lacking[k] += !c->findings[k];
		if (both)
			status = add_config(changes, samples, i);
	}
	for (k = 0; k < changes->list.count; k++)
		judge(&changes->list.at[k]);
	if (changes->list.count)
		qsort(changes->list.at, changes->list.count, sizeof(*changes->list.at),
		      compare_changes);
	return status;
}

void tw_cause_changes_release(struct tw_cause_changes *changes, const struct tw_samples *samples)
{
	TW_LIST_FREE(&changes->list, samples->allocator);
}
