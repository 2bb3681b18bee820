/*
 * Changes of items that add up to all GPU time: sums over the ranks that both sides have (all, if there is none)
 * and the configurations of both; what a rank lacks takes no time there.
 */
#include "study/compare/changes.h"

#include "base/alloc.h"
#include "base/list.h"

#include <math.h>
#include <string.h>

/* Ranks that have the table of a kind, in one configuration. */
struct ranks {
	size_t of[2], both;
};

struct work {
	struct tw_changes *changes;
	const struct tw_samples *samples;
	struct ranks *ranks; /* by configuration */
	int64_t *values;     /* room for the ranks of a side */
	uint32_t table;	     /* name of the kind's, of the samples' texts */
	size_t counted[2];   /* ranks that are summed */
	double total_ns;     /* their total time, of the baseline; NaN: not known */
};

static bool has_table(const struct work *w, uint32_t config, uint32_t side, int64_t rank)
{
	const struct tw_sample place = { TW_SUMMED_TABLE, w->table, config, side, rank, 0, 0 };

	return tw_samples_find(w->samples, &place) != NULL;
}

static bool counts(const struct work *w, const struct tw_sample *s)
{
	const struct ranks *r = &w->ranks[s->config];

	return r->of[0] && r->of[1] && (!r->both || has_table(w, s->config, !s->side, s->rank));
}

static size_t count_of(const struct ranks *r, unsigned side)
{
	return r->both ? r->both : r->of[0] && r->of[1] ? r->of[side] : 0;
}

static void find_ranks(struct work *w, enum tw_compared_kind kind)
{
	const struct tw_samples *s = w->samples;
	const char *table = tw_compared_tables[kind]->name;
	size_t i;

	w->table = tw_pool_find(&s->texts, table, strlen(table));
	w->counted[0] = w->counted[1] = 0;
	w->total_ns = 0;
	memset(w->ranks, 0, s->config_count * sizeof(*w->ranks));
	/* These come last. */
	for (i = s->count; i-- && s->items[i].kind == TW_SUMMED_TABLE;) {
		const struct tw_sample *t = &s->items[i];

		if (t->name != w->table)
			continue;
		w->ranks[t->config].of[t->side]++;
		w->ranks[t->config].both += t->side && has_table(w, t->config, 0, t->rank);
	}
	for (i = 0; i < s->config_count; i++) {
		w->counted[0] += count_of(&w->ranks[i], 0);
		w->counted[1] += count_of(&w->ranks[i], 1);
		if (count_of(&w->ranks[i], 0))
			w->total_ns += w->changes->totals.items[i].ns[0] *
				       (double)count_of(&w->ranks[i], 0);
	}
}

/*
 * Adds the samples of one side in one configuration, from *at on.  The noise of a sum is as much of it as the spread of
 * the ranks is of one of them.
 */
static void add_side(struct work *w, size_t *at, size_t end, struct tw_change *change, bool *there)
{
	const struct tw_sample *items = w->samples->items;
	const uint32_t config = items[*at].config, side = items[*at].side;
	size_t room = count_of(&w->ranks[config], side), n = 0;
	struct tw_spread spread;

	for (; *at < end && items[*at].config == config && items[*at].side == side; ++*at) {
		if (!counts(w, &items[*at]))
			continue;
		w->values[n++] = items[*at].ns;
		change->ns[side] += (double)items[*at].ns;
		if (items[*at].calls != TW_NO_CALLS)
			change->calls[side] += items[*at].calls + (change->calls[side] < 0);
	}
	there[side] |= n > 0;
	while (n < room)
		w->values[n++] = 0;
	spread = tw_spread_of(w->values, room);
	if (spread.mad4 < 0)
		return;
	change->spread_ns[side] = (isnan(change->spread_ns[side]) ? 0 : change->spread_ns[side]) +
				  tw_spread_ns(spread.mad4) * (double)room;
}

static void judge(const struct work *w, struct tw_change *c, const bool there[2])
{
	c->noise_ns = fmax(c->spread_ns[0], c->spread_ns[1]);
	c->ratio = c->ns[0] > 0 ? c->ns[1] / c->ns[0] : (double)NAN;
	if (there[0] != there[1] && c->ns[0] + c->ns[1] > 0)
		c->judged =
			(struct tw_judgement){ there[0] ? TW_GONE : TW_NEW, TW_WHY_ONE_SIDE, -1 };
	else
		c->judged = tw_judge_ratio(!isnan(c->ratio) ? c->ratio :
					   c->ns[1] > 0	    ? 2 :
							      1,
					   c->ns[0] > 0 ? c->noise_ns / c->ns[0] : (double)NAN,
					   c->ns, w->total_ns);
}

static int add_item(struct work *w, size_t first, size_t end)
{
	const struct tw_sample *s = &w->samples->items[first];
	struct tw_change c = { .name = s->name,
			       .config = TW_ALL_CONFIGS,
			       .worst_config = TW_ALL_CONFIGS,
			       .spread_ns = { (double)NAN, (double)NAN },
			       .calls = { TW_NO_CALLS, TW_NO_CALLS } };
	struct tw_change_list *list;
	bool there[2] = { false, false };
	size_t at = first;
	unsigned side;

	while (at < end)
		add_side(w, &at, end, &c, there);
	if (!there[0] && !there[1])
		return 0;
	judge(w, &c, there);
	c.configs = w->changes->common;
	for (side = 0; side < 2; side++) {
		c.ranks[side] = there[side] ? w->counted[side] : 0;
		c.call_ns[side] = c.calls[side] > 0 ? c.ns[side] / (double)c.calls[side] :
						      (double)NAN;
	}
	list = &w->changes->all[s->kind];
	return tw_list_append(&list->items, &list->capacity, &list->count, &c, sizeof(c),
			      w->samples->allocator) ?
		       0 :
		       TRAWL_ENOMEM;
}

static void sum_up(struct tw_changes *changes, uint32_t kind)
{
	const struct tw_change_list *list = &changes->all[kind];
	size_t i;

	if (!tw_is_summed(kind))
		return;
	for (i = 0; i < list->count; i++) {
		changes->sums[kind].ns[0] += list->items[i].ns[0];
		changes->sums[kind].ns[1] += list->items[i].ns[1];
	}
	for (i = 0; i < list->count; i++)
		list->items[i].whole_ns = changes->sums[kind].ns[0];
}

int tw_sum_changes_make(struct tw_changes *changes)
{
	const struct tw_samples *s = changes->samples;
	struct work w = { .changes = changes, .samples = s };
	size_t first, end;
	uint32_t kind = TW_COMPARED_KINDS;
	int status = 0;

	w.ranks = tw_alloc_array(s->allocator, s->config_count + 1, sizeof(*w.ranks));
	w.values = tw_alloc_array(s->allocator, s->count + 1, sizeof(*w.values));
	if (!w.ranks || !w.values)
		status = TRAWL_ENOMEM;
	for (first = 0; first < s->count && !status; first = end) {
		const struct tw_sample *item = &s->items[first];

		for (end = first; end < s->count && s->items[end].kind == item->kind &&
				  s->items[end].name == item->name;
		     end++)
			;
		if (!tw_is_summed(item->kind))
			continue;
		if (item->kind != kind) {
			find_ranks(&w, (enum tw_compared_kind)item->kind);
			memcpy(changes->sums[item->kind].ranks, w.counted, sizeof(w.counted));
		}
		kind = item->kind;
		status = add_item(&w, first, end);
	}
	for (kind = 0; kind < TW_COMPARED_KINDS; kind++)
		sum_up(changes, kind);
	tw_free(s->allocator, w.ranks, (s->config_count + 1) * sizeof(*w.ranks));
	tw_free(s->allocator, w.values, (s->count + 1) * sizeof(*w.values));
	return status;
}
