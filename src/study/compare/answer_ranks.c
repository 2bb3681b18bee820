/* What the answer says of single ranks: outliers, stragglers that one side alone has. */
#include "study/compare/answer.h"

#include "base/alloc.h"
#include "data/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks named in a sentence. */
#define MAX_NAMED 3

/* ---- ranks whose computing changed far more than that of others */

static int compare_apart(const void *a, const void *b)
{
	const struct tw_rank_change *x = *(const struct tw_rank_change *const *)a;
	const struct tw_rank_change *y = *(const struct tw_rank_change *const *)b;

	if (fabs(x->apart_ns) > fabs(y->apart_ns) || fabs(x->apart_ns) < fabs(y->apart_ns))
		return fabs(x->apart_ns) > fabs(y->apart_ns) ? -1 : 1;
	return x->config != y->config ? (x->config < y->config ? -1 : 1) :
	       x->rank != y->rank     ? (x->rank < y->rank ? -1 : 1) :
					0;
}

static void add_rank(struct tw_str *out, const struct tw_rank_change *c, bool first)
{
	double longer = (c->ratio - 1) * 100;

	tw_str_addf(out, "%s %lld computes ", first ? "ank" : ", rank", (long long)c->rank);
	if (fabs(longer) < TW_LIMIT_SAME_BELOW_PERCENT) {
		tw_str_add_cstr(out, "as long as before");
	} else {
		tw_add_percent(out, longer);
		tw_str_add_cstr(out, longer > 0 ? " longer" : " less");
	}
	tw_str_add_cstr(out, " (");
	tw_add_ms(out, (double)c->ns[0]);
	tw_str_add_cstr(out, " -> ");
	tw_add_ms(out, (double)c->ns[1]);
	tw_str_add_char(out, ')');
}

/* Whether the exposed communication is waiting for a rank. */
static void add_waiting(struct tw_str *out, const struct tw_changes *changes,
			const struct tw_rank_change *c)
{
	const struct tw_change_list *list = changes->common > 1 ? &changes->each[TW_TIMELINE_PART] :
								  &changes->all[TW_TIMELINE_PART];
	double apart = 0;
	size_t i;

	for (i = 0; i < list->count; i++)
		if ((changes->common < 2 || list->items[i].config == c->config) &&
		    !strcmp(tw_pool_text(&changes->samples->texts, list->items[i].name, NULL),
			    "exposed_comm_time"))
			apart = list->items[i].ns[1] - list->items[i].ns[0];
	if (!(apart * c->apart_ns > 0))
		return;
	tw_str_addf(out, ": they wait %s for it", c->more ? "longer" : "less");
	if (fabs(c->apart_ns) * 2 < fabs(apart))
		return;
	tw_str_addf(out, ", which is most of the %s exposed communication (%c",
		    c->more ? "longer" : "shorter", apart > 0 ? '+' : '-');
	tw_add_ms(out, apart);
	tw_str_add_char(out, ')');
}

/* Outliers of the configuration with the largest one. */
static void add_odd_ranks(struct tw_str *out, const struct tw_changes *changes,
			  const struct tw_rank_change *const *odd, size_t count)
{
	const struct tw_rank_change *first = odd[0];
	size_t named = 0, here = 0, i;

	if (changes->common > 1)
		tw_str_addf(out, "In %s r", changes->samples->configs[first->config].name);
	else
		tw_str_add_char(out, 'R');
	for (i = 0; i < count; i++) {
		if (odd[i]->config != first->config)
			continue;
		if (named < MAX_NAMED) {
			add_rank(out, odd[i], !named);
			named++;
		}
		here++;
	}
	if (here > named)
		tw_str_addf(out, " and %zu more", here - named);
	if (fabs(first->others_ns) * 100 < (double)first->ns[0] * TW_LIMIT_SAME_BELOW_PERCENT) {
		tw_str_add_cstr(out, ", the others as long as before");
	} else {
		tw_str_addf(out, ", the others %c", first->others_ns > 0 ? '+' : '-');
		tw_add_ms(out, first->others_ns);
		tw_str_add_cstr(out, " (median)");
	}
	add_waiting(out, changes, first);
	tw_str_add_char(out, '.');
	if (count > here)
		tw_str_addf(out, " Other configurations have %zu more outlier rank%s.",
			    count - here, count - here == 1 ? "" : "s");
}

void tw_say_ranks(const struct tw_changes *changes, struct tw_answer *answer)
{
	const struct trawl_allocator *a = changes->samples->allocator;
	const struct tw_rank_changes *ranks = &changes->ranks;
	const struct tw_rank_change **odd;
	size_t count = 0, i;

	if (!ranks->odd)
		return;
	odd = tw_alloc_array(a, ranks->odd, sizeof(*odd));
	for (i = 0; odd && i < ranks->count; i++)
		if (ranks->items[i].more || ranks->items[i].less)
			odd[count++] = &ranks->items[i];
	if (odd) {
		qsort(odd, count, sizeof(*odd), compare_apart);
		add_odd_ranks(tw_answer_line(answer), changes, odd, count);
	} else {
		tw_answer_line(answer)->failed = true;
	}
	tw_free(a, odd, ranks->odd * sizeof(*odd));
}

/* ---- ranks that others wait for, by the verdicts on both jobs */

/* Whether a rank is in a list such as "3, 5". */
static bool is_listed(const char *ranks, int64_t rank)
{
	while (*ranks) {
		char *end;

		if (strtoll(ranks, &end, 10) == rank)
			return true;
		ranks = end + strspn(end, ", ");
	}
	return false;
}

/*
 * What ranks wait more for these, in the mean; where that is not known, what communication takes
 * more.  By chance another rank is the last one in each run: that is no news.
 */
static bool waits_apart(const struct tw_split *split, const char *ranks, bool more)
{
	double apart = tw_split_difference(split, TW_SPLIT_COMMUNICATION);
	size_t i;

	for (i = 0; i < split->by_rank.count; i++) {
		const struct tw_split_row *row = &split->by_rank.at[i];

		if (row->part == TW_SPLIT_WAITING && is_listed(ranks, row->rank))
			apart += row->ns[1] - row->ns[0];
	}
	return (more ? apart : -apart) * 100 >=
	       split->total_ns[0] * TW_LIMIT_RANK_APART_TOTAL_PERCENT;
}

/* Whether the stragglers of a configuration, by the verdicts on both jobs, are others than before. */
static bool has_other_stragglers(const struct tw_changes *changes, const struct tw_sample_config *c)
{
	bool now = c->stragglers[1] && c->stragglers[1][0];

	return c->stragglers[0] && c->stragglers[1] &&
	       strcmp(c->stragglers[0], c->stragglers[1]) != 0 &&
	       waits_apart(&changes->split, c->stragglers[now], now);
}

void tw_say_stragglers(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_answer *answer)
{
	const struct tw_samples *s = changes->samples;
	const struct tw_sample_config *first = NULL;
	struct tw_str *out;
	size_t more = 0, i;
	bool now;

	for (i = 0; i < s->config_count; i++) {
		if (!has_other_stragglers(changes, &s->configs[i]))
			continue;
		more += first != NULL;
		first = first ? first : &s->configs[i];
	}
	if (!first)
		return;
	out = tw_answer_line(answer);
	now = first->stragglers[1][0];
	tw_str_addf(out, "%s in %s", now ? "New straggler" : "No straggler any more", labels[1]);
	if (changes->common > 1)
		tw_str_addf(out, ", %s", first->name);
	if (now)
		tw_str_addf(out, ": %s", first->because[1]);
	if (now && first->stragglers[0][0])
		tw_str_addf(out, "; in %s it was rank%s %s", labels[0],
			    strchr(first->stragglers[0], ',') ? "s" : "", first->stragglers[0]);
	else if (!now)
		tw_str_addf(out, "; in %s: %s", labels[0], first->because[0]);
	tw_str_add_char(out, '.');
	if (more)
		tw_str_addf(out, " So in %zu more configuration%s.", more, more == 1 ? "" : "s");
}
