#include "study/compare/changes.h"

#include "analysis/stats.h"
#include "base/alloc.h"
#include "base/list.h"
#include "data/limits.h"
#include "study/compare/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOTAL "total_time"

/* Which kinds of items a side has in a configuration, a bit each. */
struct has {
	unsigned kinds[2];
};

struct work {
	struct tw_changes *changes;
	const struct tw_samples *samples;
	int64_t *values[2]; /* room for the samples of a side */
	int64_t *totals2;   /* twice the baseline's total time by configuration, -1: not known */
	struct has *has;    /* by configuration */
	bool several;	    /* configurations */
};

static const char *text(const struct tw_samples *samples, uint32_t id)
{
	return tw_pool_text(&samples->texts, id, NULL);
}

static struct tw_change *append(struct tw_changes *changes, struct tw_change_list *list)
{
	if (!tw_list_grow(&list->items, &list->capacity, list->count, sizeof(*list->items),
			  changes->samples->allocator))
		return NULL;
	return &list->items[list->count++];
}

/* ---- one item in one configuration */

static bool same_item(const struct tw_sample *a, const struct tw_sample *b)
{
	return a->kind == b->kind && a->name == b->name;
}

/* Samples of one item, configuration and side, by rank. */
struct run {
	const struct tw_sample *items;
	size_t count;
};

static struct run take_run(const struct tw_samples *samples, size_t *at, size_t end,
			   uint32_t config, uint32_t side)
{
	struct run run = { &samples->items[*at], 0 };

	while (*at < end && samples->items[*at].config == config &&
	       samples->items[*at].side == side) {
		run.count++;
		++*at;
	}
	return run;
}

/*
 * Ranks of both sides, where there are any, are what is compared: those of a pipeline differ in
 * what they do.  True: `a` and `b` are of one rank.
 */
static bool next_pair(const struct run runs[2], size_t *a, size_t *b)
{
	while (*a < runs[0].count && *b < runs[1].count) {
		int64_t x = runs[0].items[*a].rank, y = runs[1].items[*b].rank;

		if (x == y)
			return true;
		*a += x < y;
		*b += x > y;
	}
	return false;
}

static void take_pairs(struct work *w, const struct run runs[2], struct tw_change *change)
{
	size_t a = 0, b = 0;

	while (next_pair(runs, &a, &b)) {
		w->values[0][change->paired] = runs[0].items[a].ns;
		w->values[1][change->paired] = runs[1].items[b].ns;
		change->slower += runs[1].items[b].ns > runs[0].items[a].ns;
		change->paired++;
		a++;
		b++;
	}
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of the rank in the middle, by how often it was called. */
static int64_t middle_calls(int64_t *values, const struct run *run, const struct run *other)
{
	const struct run runs[2] = { *run, *other };
	size_t a = 0, b = 0, n = 0, i;

	for (; next_pair(runs, &a, &b); a++, b++)
		values[n++] = run->items[a].calls;
	for (i = 0; !n && i < run->count; i++)
		values[i] = run->items[i].calls;
	n = n ? n : run->count;
	qsort(values, n, sizeof(*values), compare_times);
	return n ? values[(n - 1) / 2] : TW_NO_CALLS;
}

double tw_spread_ns(int64_t mad4)
{
	return mad4 < 0 ? (double)NAN : (double)mad4 / 4 * (TW_SPREAD_PER_10000 / 10000.0);
}

static struct tw_spread spread_of(struct work *w, const struct run runs[2], unsigned side,
				  size_t paired)
{
	size_t i;

	if (paired)
		return tw_spread_of(w->values[side], paired);
	for (i = 0; i < runs[side].count; i++)
		w->values[side][i] = runs[side].items[i].ns;
	return tw_spread_of(w->values[side], runs[side].count);
}

/* Judges as if the test had as many calls as the baseline. */
static void judge_by_call(const struct tw_spread spreads[2], int64_t total2,
			  struct tw_change *change)
{
	struct tw_spread test = spreads[1];

	change->by_call = true;
	change->ratio = change->ns[0] > 0 ? change->call_ns[1] / change->call_ns[0] : (double)NAN;
	test.median2 = (int64_t)llround(change->call_ns[1] * (double)change->calls[0] * 2);
	change->judged = tw_judge(&spreads[0], &test, total2);
}

static enum tw_compared_kind kind_of(const struct run runs[2])
{
	const struct run *run = &runs[!runs[0].count];

	return run->count ? (enum tw_compared_kind)run->items[0].kind : TW_TIMELINE_PART;
}

/* Twice what a kind's times are a part of, of the baseline: of stages their window; -1: not known. */
static int64_t whole2(const struct work *w, enum tw_compared_kind kind, uint32_t config)
{
	int64_t window_ns = w->samples->configs[config].window_ns[0];

	if (kind < TW_STAGE)
		return w->totals2[config];
	return window_ns > 0 && window_ns < TW_LONGEST_COMPARED_NS ? 2 * window_ns : -1;
}

static void compare_runs(struct work *w, const struct run runs[2], uint32_t config,
			 struct tw_change *change)
{
	int64_t total2 = whole2(w, kind_of(runs), config);
	struct tw_spread spreads[2];
	unsigned side;

	*change = (struct tw_change){ .config = config, .worst_config = TW_ALL_CONFIGS };
	change->of_window = kind_of(runs) >= TW_STAGE;
	take_pairs(w, runs, change);
	for (side = 0; side < 2; side++) {
		change->unranked |= runs[side].count && runs[side].items[0].rank == TW_NO_RANK;
		spreads[side] = spread_of(w, runs, side, change->paired);
		change->ranks[side] = spreads[side].count;
		change->ns[side] = spreads[side].count ? (double)spreads[side].median2 / 2 :
							 (double)NAN;
		change->spread_ns[side] = tw_spread_ns(spreads[side].mad4);
		change->calls[side] = middle_calls(w->values[side], &runs[side], &runs[!side]);
		change->call_ns[side] = change->calls[side] > 0 ?
						change->ns[side] / (double)change->calls[side] :
						(double)NAN;
	}
	change->judged = tw_judge(&spreads[0], &spreads[1], total2);
	change->noise_ns = tw_spread_ns(change->judged.noise4);
	change->ratio = change->ns[0] > 0 ? change->ns[1] / change->ns[0] : (double)NAN;
	change->configs = spreads[0].count && spreads[1].count;
	if (change->configs && runs[0].items[0].kind == TW_COLLECTIVE_SYNC &&
	    change->calls[0] > 0 && change->calls[1] > 0 && change->calls[0] != change->calls[1])
		judge_by_call(spreads, total2, change);
}

/* ---- one item over all configurations */

struct over_all {
	double ns[2], call_ns[2], totals, noises, noisy_ns;
	size_t n, one_sided[2];
};

static void add_config(struct over_all *o, const struct tw_change *c, struct tw_change *all,
		       int64_t total2)
{
	all->ranks[0] += c->ranks[0];
	all->ranks[1] += c->ranks[1];
	all->unranked |= c->unranked;
	all->of_window |= c->of_window;
	all->by_call |= c->by_call;
	all->paired += c->paired;
	all->slower += c->slower;
	all->better += c->judged.verdict == TW_BETTER;
	all->worse += c->judged.verdict == TW_WORSE;
	if (!c->configs) {
		o->one_sided[c->ranks[0] ? 0 : 1]++;
		o->ns[c->ranks[0] ? 0 : 1] += c->ns[c->ranks[0] ? 0 : 1];
		return;
	}
	if (!o->n)
		o->ns[0] = o->ns[1] = 0;
	o->n++;
	o->ns[0] += c->ns[0];
	o->ns[1] += c->ns[1];
	o->call_ns[0] += c->call_ns[0];
	o->call_ns[1] += c->call_ns[1];
	o->totals += total2 < 0 ? (double)NAN : (double)total2 / 2;
	if (!isnan(c->noise_ns)) {
		o->noises += c->noise_ns;
		o->noisy_ns += c->ns[0];
	}
	if (!isnan(c->ratio) &&
	    (all->worst_config == TW_ALL_CONFIGS || c->ratio > all->worst_ratio)) {
		all->worst_config = c->config;
		all->worst_ratio = c->ratio;
	}
}

/* Noise as a share of the time that it is the noise of; where that is unknown, so is the rest. */
static double noise_share(const struct over_all *o)
{
	return o->noisy_ns > 0 ? o->noises / o->noisy_ns : (double)NAN;
}

/* Times are means, and so is what they are compared by: sums and percentages agree. */
static void judge_means(const struct over_all *o, struct tw_change *all)
{
	double times[2] = { all->ns[0], all->ns[1] }, total = o->totals / (double)o->n;

	if (all->by_call && all->call_ns[0] > 0) {
		all->ratio = all->call_ns[1] / all->call_ns[0];
		times[1] = times[0] * all->ratio;
	} else {
		all->ratio = times[0] > 0 ? times[1] / times[0] : (double)NAN;
	}
	all->noise_ns = noise_share(o) * times[0];
	/* Where nothing differs anywhere, none is the worst. */
	if (!(all->worst_ratio > 1 || all->ratio < 1))
		all->worst_config = TW_ALL_CONFIGS;
	/* The baseline takes no time anywhere: only what it adds can be told. */
	all->judged = tw_judge_ratio(!isnan(all->ratio) ? all->ratio :
				     times[1] > 0	? 2 :
							  1,
				     noise_share(o), times, total);
}

/* Where it is in some configurations only on one side, those in which it is on both count. */
static void judge_all(const struct over_all *o, struct tw_change *all)
{
	double n = (double)(o->n ? o->n : o->one_sided[0] + o->one_sided[1]);

	all->configs = o->n;
	all->call_ns[0] = o->n ? o->call_ns[0] / n : (double)NAN;
	all->call_ns[1] = o->n ? o->call_ns[1] / n : (double)NAN;
	all->noise_ns = all->ratio = (double)NAN;
	all->spread_ns[0] = all->spread_ns[1] = (double)NAN;
	all->ns[0] = o->n || o->one_sided[0] ? o->ns[0] / n : (double)NAN;
	all->ns[1] = o->n || o->one_sided[1] ? o->ns[1] / n : (double)NAN;
	if (o->n) {
		judge_means(o, all);
		return;
	}
	all->judged =
		(struct tw_judgement){ o->one_sided[0] ? TW_GONE : TW_NEW, TW_WHY_ONE_SIDE, -1 };
	if (o->one_sided[0] && o->one_sided[1])
		all->judged.verdict = TW_SAME;
}

/* ---- all items */

static int add_item(struct work *w, size_t first, size_t end)
{
	const struct tw_sample *s = w->samples->items;
	struct tw_changes *changes = w->changes;
	uint32_t kind = s[first].kind;
	struct tw_change all = { .name = s[first].name, .worst_config = TW_ALL_CONFIGS }, *to;
	struct over_all over = { 0 };
	size_t at = first, seen = 0;
	struct tw_change change = all;

	all.config = TW_ALL_CONFIGS;
	while (at < end) {
		uint32_t config = s[at].config;
		const struct run first_side = take_run(w->samples, &at, end, config, 0);
		const struct run runs[2] = { first_side,
					     take_run(w->samples, &at, end, config, 1) };

		if (!(w->has[config].kinds[0] & w->has[config].kinds[1] & 1u << kind))
			continue;
		compare_runs(w, runs, config, &change);
		/* Parts that only some versions of a report have are not new. */
		if (kind == TW_TIMELINE_PART && !change.configs)
			continue;
		change.name = all.name;
		add_config(&over, &change, &all, whole2(w, (enum tw_compared_kind)kind, config));
		seen++;
		if (w->several) {
			to = append(changes, &changes->each[kind]);
			if (!to)
				return TRAWL_ENOMEM;
			*to = change;
		}
	}
	if (!seen)
		return 0;
	to = append(changes, &changes->all[kind]);
	if (!to)
		return TRAWL_ENOMEM;
	if (w->several) {
		all.calls[0] = all.calls[1] = TW_NO_CALLS;
		judge_all(&over, &all);
		*to = all;
	} else {
		*to = change;
		to->config = TW_ALL_CONFIGS;
	}
	return 0;
}

/* A report without a sheet says nothing of what would be in it: that is not gone. */
static int add_items(struct work *w)
{
	const struct tw_samples *s = w->samples;
	size_t first, end;
	int status = 0;

	size_t count = s->count;

	/* Of the kinds after these nothing is compared by itself. */
	while (count && s->items[count - 1].kind >= TW_COMPARED_KINDS)
		count--;
	for (first = 0; first < count; first++)
		w->has[s->items[first].config].kinds[s->items[first].side] |=
			1u << s->items[first].kind;
	first = 0;
	for (; first < count && !status; first = end) {
		for (end = first; end < count && same_item(&s->items[first], &s->items[end]); end++)
			;
		if (!tw_is_summed(s->items[first].kind))
			status = add_item(w, first, end);
	}
	return status;
}

/* ---- totals of configurations, which thresholds and the best configuration follow from */

/* Where the total times begin among the samples, and *end; nowhere: both are the same. */
static size_t find_totals(const struct tw_samples *s, size_t *end)
{
	uint32_t name = tw_pool_find(&s->texts, TOTAL, strlen(TOTAL));
	size_t i = 0;

	while (i < s->count && (s->items[i].kind != TW_TIMELINE_PART || s->items[i].name != name))
		i++;
	for (*end = i; *end < s->count && same_item(&s->items[i], &s->items[*end]); ++*end)
		;
	return name ? i : *end;
}

static bool is_better(const struct tw_changes *changes, size_t candidate, unsigned side)
{
	const struct tw_change *items = changes->totals.items;
	size_t best = changes->best[side];

	return !isnan(items[candidate].ns[side]) &&
	       (best == SIZE_MAX || items[candidate].ns[side] < items[best].ns[side]);
}

static int add_totals(struct work *w)
{
	struct tw_changes *changes = w->changes;
	const struct tw_samples *s = w->samples;
	double sums[2] = { 0, 0 };
	size_t end, at = find_totals(s, &end), known = 0, i;
	uint32_t config;

	changes->best[0] = changes->best[1] = SIZE_MAX;
	for (config = 0; config < s->config_count; config++) {
		const struct run first = take_run(s, &at, end, config, 0);
		const struct run runs[2] = { first, take_run(s, &at, end, config, 1) };
		struct tw_change *change = append(changes, &changes->totals);

		if (!change)
			return TRAWL_ENOMEM;
		w->totals2[config] = -1;
		compare_runs(w, runs, config, change);
		change->name = tw_pool_find(&s->texts, TOTAL, strlen(TOTAL));
		if (runs[0].count)
			w->totals2[config] = (int64_t)(change->ns[0] * 2);
		changes->common += s->configs[config].there[0] && s->configs[config].there[1];
		if (change->configs) {
			known++;
			sums[0] += change->ns[0];
			sums[1] += change->ns[1];
		}
	}
	for (i = 0; i < changes->totals.count; i++) {
		if (is_better(changes, i, 0))
			changes->best[0] = i;
		if (is_better(changes, i, 1))
			changes->best[1] = i;
	}
	changes->total_ns[0] = known ? sums[0] / (double)known : (double)NAN;
	changes->total_ns[1] = known ? sums[1] / (double)known : (double)NAN;
	return 0;
}

/* ---- idle time */

/*
 * What is faster leaves more idle time in the same total, which is no loss: idle time is worse only
 * where the total is, and better only where the total is not worse.
 */
static void judge_idle(const struct tw_samples *samples, struct tw_change_list *list)
{
	size_t i, k;

	for (i = 0; i < list->count; i++) {
		struct tw_change *idle = &list->items[i];
		const struct tw_change *total = NULL;

		if (!strstr(text(samples, idle->name), "idle_time"))
			continue;
		for (k = 0; k < list->count && !total; k++)
			if (list->items[k].config == idle->config &&
			    !strcmp(text(samples, list->items[k].name), TOTAL))
				total = &list->items[k];
		if (!total ||
		    !((idle->judged.verdict == TW_WORSE && total->judged.verdict != TW_WORSE) ||
		      (idle->judged.verdict == TW_BETTER && total->judged.verdict == TW_WORSE)))
			continue;
		idle->judged.verdict = TW_SAME;
		idle->judged.why = TW_WHY_TOTAL;
	}
}

/* ---- order */

struct keyed {
	struct tw_change change;
	double size; /* what it differs by */
	const char *name;
	size_t part;
};

static size_t part_of(const char *name)
{
	size_t i;

	for (i = 0; tw_compared_parts[i] && strcmp(tw_compared_parts[i], name); i++)
		;
	return i;
}

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->change.config != y->change.config)
		return x->change.config < y->change.config ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	/* What does not differ comes last. */
	if ((x->change.judged.verdict == TW_SAME) != (y->change.judged.verdict == TW_SAME))
		return x->change.judged.verdict == TW_SAME ? 1 : -1;
	if (x->size > y->size || x->size < y->size)
		return x->size > y->size ? -1 : 1;
	return strcmp(x->name, y->name);
}

static double size_of(const struct tw_change *c)
{
	double from = isnan(c->ns[0]) ? 0 : c->ns[0], to = isnan(c->ns[1]) ? 0 : c->ns[1];

	return fabs(to - from);
}

static int sort_list(const struct tw_samples *samples, struct tw_change_list *list, bool timeline)
{
	const struct trawl_allocator *a = samples->allocator;
	struct keyed *keyed = tw_alloc_array(a, list->count + 1, sizeof(*keyed));
	size_t i;

	if (!keyed)
		return TRAWL_ENOMEM;
	for (i = 0; i < list->count; i++) {
		const char *name = text(samples, list->items[i].name);

		keyed[i] = (struct keyed){ list->items[i], size_of(&list->items[i]), name,
					   timeline ? part_of(name) : 0 };
	}
	qsort(keyed, list->count, sizeof(*keyed), compare_keyed);
	for (i = 0; i < list->count; i++)
		list->items[i] = keyed[i].change;
	tw_free(a, keyed, (list->count + 1) * sizeof(*keyed));
	return 0;
}

/* ---- the whole */

static int make(struct work *w)
{
	struct tw_changes *changes = w->changes;
	size_t kind;
	int status = add_totals(w);

	w->several = changes->common > 1;
	if (!status)
		status = add_items(w);
	if (!status)
		status = tw_sum_changes_make(changes);
	if (status)
		return status;
	judge_idle(w->samples, &changes->all[TW_TIMELINE_PART]);
	judge_idle(w->samples, &changes->each[TW_TIMELINE_PART]);
	for (kind = 0; kind < TW_COMPARED_KINDS && !status; kind++) {
		status = sort_list(w->samples, &changes->all[kind], kind == TW_TIMELINE_PART);
		if (!status)
			status = sort_list(w->samples, &changes->each[kind],
					   kind == TW_TIMELINE_PART);
	}
	return status;
}

int tw_changes_make(struct tw_changes *changes, const struct tw_samples *samples,
		    struct trawl_error *err)
{
	const struct trawl_allocator *a = samples->allocator;
	struct work w = { .changes = changes, .samples = samples };
	size_t room = samples->count + 1, configs = samples->config_count + 1;
	int status = TRAWL_ENOMEM;

	*changes = (struct tw_changes){ .samples = samples };
	w.values[0] = tw_alloc_array(a, room, sizeof(**w.values));
	w.values[1] = tw_alloc_array(a, room, sizeof(**w.values));
	w.totals2 = tw_alloc_array(a, configs, sizeof(*w.totals2));
	w.has = tw_alloc_array(a, configs, sizeof(*w.has));
	if (w.values[0] && w.values[1] && w.totals2 && w.has)
		status = make(&w);
	if (!status)
		status = tw_rank_changes_make(&changes->ranks, samples);
	if (!status)
		status = tw_split_make(&changes->split, samples);
	if (!status)
		status = tw_cause_changes_make(&changes->causes, samples);
	if (!status)
		status = tw_changes_find_uneven(changes);
	tw_free(a, w.values[0], room * sizeof(**w.values));
	tw_free(a, w.values[1], room * sizeof(**w.values));
	tw_free(a, w.totals2, configs * sizeof(*w.totals2));
	tw_free(a, w.has, configs * sizeof(*w.has));
	return status ? trawl_error_set(err, status, "out of memory") : 0;
}

void tw_changes_release(struct tw_changes *changes)
{
	size_t i;

	if (!changes->samples)
		return;
	for (i = 0; i < TW_COMPARED_KINDS; i++) {
		tw_free(changes->samples->allocator, changes->all[i].items,
			changes->all[i].capacity * sizeof(struct tw_change));
		tw_free(changes->samples->allocator, changes->each[i].items,
			changes->each[i].capacity * sizeof(struct tw_change));
	}
	tw_rank_changes_release(&changes->ranks, changes->samples);
	tw_split_release(&changes->split, changes->samples);
	tw_cause_changes_release(&changes->causes, changes->samples);
	tw_uneven_release(changes);
	tw_free(changes->samples->allocator, changes->totals.items,
		changes->totals.capacity * sizeof(struct tw_change));
	*changes = (struct tw_changes){ 0 };
}

const struct tw_change *tw_changes_part(const struct tw_changes *changes, const char *name)
{
	const struct tw_change_list *list = &changes->all[TW_TIMELINE_PART];
	size_t i;

	for (i = 0; i < list->count; i++)
		if (!strcmp(text(changes->samples, list->items[i].name), name))
			return &list->items[i];
	return NULL;
}

double tw_faster_percent(double baseline, double test)
{
	double percent = baseline > 0 ? (baseline - test) / baseline * 100 : (double)NAN;

	return percent < -TW_LIMIT_TOLD_PERCENT_MOST ? (double)NAN : percent;
}

double tw_change_faster(const struct tw_change *change)
{
	return tw_faster_percent(change->ns[0], change->ns[1]);
}

const struct tw_change *tw_changes_same(const struct tw_changes *changes,
					enum tw_compared_kind kind, const struct tw_change *change)
{
	const struct tw_change_list *list = &changes->all[kind];
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->items[i].name == change->name)
			return &list->items[i];
	return NULL;
}

double tw_stage_overlap(const struct tw_changes *changes, const struct tw_change *stage,
			unsigned side)
{
	const struct tw_change *all = tw_changes_same(changes, TW_STAGE_COMM, stage);
	/* Medians of both are of different ranks where they scatter. */
	double overlap = all && all->ns[side] > 0 ? (1 - stage->ns[side] / all->ns[side]) * 100 :
						    (double)NAN;

	return overlap < 0 ? 0 : overlap;
}

enum tw_compared_kind tw_changes_collectives(const struct tw_changes *changes)
{
	return changes->all[TW_COLLECTIVE_SYNC].count ? TW_COLLECTIVE_SYNC : TW_COLLECTIVE_RANK;
}
