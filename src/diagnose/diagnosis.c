#include "diagnose/diagnosis.h"

#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/search.h"
#include "data/limits.h"
#include "os/thread.h"
#include "text/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one kind */

struct work {
	struct tw_diagnosis *d;
	struct tw_finding *found; /* by kind */
	bool *is_found;
};

static void look_at_kind(void *context, size_t number)
{
	struct work *w = context;
	struct tw_diagnosis *d = w->d;
	const struct tw_kind *kind = tw_kind_list[number];
	struct tw_finding *f = &w->found[number];

	f->kind = (enum tw_finding_kind)number;
	f->gain_ns = f->gain_percent = NAN;
	if (kind->seen)
		return;
	tw_scenario_init(&f->scenario, d->path, d->allocator);
	if (kind->share) {
		double share = kind->share(d, f);

		f->gain_percent = 100 * share;
		f->gain_ns = share * (isnan(d->step_ns) ? (double)d->window_ns : d->step_ns);
		w->is_found[number] = f->changed && !isnan(share);
		return;
	}
	if (kind->change ? !kind->change(d, &f->scenario, f) : !tw_apply_claims(d, f))
		return;
	d->failed |= f->scenario.failed;
	w->is_found[number] =
		!tw_gain_of(d, &f->scenario, kind->of_window, &f->gain_ns, &f->gain_percent);
}

/* ---- all */

#define SAME_NS 1000

static int larger_gain_first(const void *a, const void *b)
{
	const struct tw_finding *const *x = a, *const *y = b;
	double one = floor((*x)->gain_ns / SAME_NS), other = floor((*y)->gain_ns / SAME_NS);

	if (one != other)
		return one > other ? -1 : 1;
	/* Of what gains the same, that which names a rank tells more. */
	if (!*(*x)->ranks != !*(*y)->ranks)
		return *(*x)->ranks ? -1 : 1;
	return (*x)->kind < (*y)->kind ? -1 : (*x)->kind > (*y)->kind;
}

/* Findings worth a row, the largest gain first. */
static void collect(struct work *w)
{
	struct tw_finding *list[TW_FINDING_KINDS];
	size_t i, n = 0;

	for (i = 0; i < TW_FINDING_KINDS; i++)
		if (w->is_found[i] &&
		    w->found[i].gain_percent * 10 >= TW_LIMIT_FINDING_TOLD_PERCENT)
			list[n++] = &w->found[i];
		else if (w->found[i].scenario.path)
			tw_scenario_release(&w->found[i].scenario);
	qsort(list, n, sizeof(list[0]), larger_gain_first);
	for (i = 0; i < n; i++)
		w->d->failed |= !TW_LIST_ADD(&w->d->findings, list[i], w->d->allocator);
}

/* What each and all before it gain together: never less than before, never more than all. */
static void add_together(struct tw_diagnosis *d)
{
	struct tw_scenario all;
	double best = 0, ns, percent;
	size_t i;

	tw_scenario_init(&all, d->path, d->allocator);
	for (i = 0; i < d->findings.count && !d->failed; i++) {
		struct tw_finding *f = &d->findings.at[i];

		if (f->scenario.rule) {
			all.rule = f->scenario.rule;
			all.context = f->scenario.context;
		}
		tw_scenario_join(&all, &f->scenario);
		if (tw_gain_of(d, &all, tw_kind_list[f->kind]->of_window, &ns, &percent))
			break;
		/* What is no replay is in no scenario. */
		if (tw_kind_list[f->kind]->share && f->gain_percent > percent)
			percent = f->gain_percent;
		best = percent > best ? percent : best;
		f->together_percent = best;
	}
	tw_scenario_release(&all);
}

static void add_observations(struct tw_diagnosis *d)
{
	size_t i;

	for (i = 0; i < TW_FINDING_KINDS && !d->failed; i++) {
		struct tw_finding f = { .kind = (enum tw_finding_kind)i,
					.gain_ns = NAN,
					.gain_percent = NAN,
					.together_percent = NAN };

		if (tw_kind_list[i]->seen && tw_kind_list[i]->seen(d, &f))
			d->failed |= !TW_LIST_ADD(&d->findings, &f, d->allocator);
	}
}

static void measure(struct tw_diagnosis *d)
{
	uint32_t i;

	d->times = tw_path_times(d->path);
	d->failed |= !d->times;
	if (!d->times)
		return;
	d->window_ns = tw_window_ns(d->path, d->times);
	d->step_ns = tw_step_ns(d->path, d->times);
	for (i = 0; i < d->rank_count; i++)
		if (d->path->ranks[i].step_count > d->steps)
			d->steps = d->path->ranks[i].step_count;
}

int tw_diagnose(struct tw_diagnosis *d, struct tw_path *path, struct tw_claims *claims,
		unsigned threads, const struct trawl_allocator *allocator)
{
	struct work w = { .d = d };

	*d = (struct tw_diagnosis){ .allocator = allocator,
				    .path = path,
				    .claims = claims,
				    .rank_count = path->rank_count };
	w.found = tw_alloc_array(allocator, TW_FINDING_KINDS, sizeof(*w.found));
	w.is_found = tw_alloc_array(allocator, TW_FINDING_KINDS, sizeof(*w.is_found));
	d->failed = !w.found || !w.is_found;
	if (!d->failed)
		measure(d);
	if (!d->failed) {
		tw_parallel(threads, TW_FINDING_KINDS, look_at_kind, &w);
		collect(&w);
		add_together(d);
		add_observations(d);
	}
	tw_free(allocator, w.found, TW_FINDING_KINDS * sizeof(*w.found));
	tw_free(allocator, w.is_found, TW_FINDING_KINDS * sizeof(*w.is_found));
	return d->failed ? TRAWL_ENOMEM : 0;
}

void tw_diagnosis_release(struct tw_diagnosis *d)
{
	size_t i;

	if (!d->allocator)
		return;
	for (i = 0; i < d->findings.count; i++)
		if (d->findings.at[i].scenario.path)
			tw_scenario_release(&d->findings.at[i].scenario);
	TW_LIST_FREE(&d->findings, d->allocator);
	if (d->times)
		tw_path_times_free(d->path, d->times);
	for (i = 0; i < d->rank_count; i++)
		tw_claims_release(&d->claims[i]);
	tw_free(d->allocator, d->claims, ((size_t)d->rank_count + 1) * sizeof(*d->claims));
	tw_path_free(d->path);
	memset(d, 0, sizeof(*d));
}
