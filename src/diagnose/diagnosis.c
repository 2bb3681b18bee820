#include "diagnose/diagnosis.h"

#include "diagnose/edges.h"
#include "diagnose/kinds.h"
#include "diagnose/pieces.h"

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
	bool *is_found, replayed[TW_FINDING_KINDS];
	struct tw_finding *list[TW_FINDING_KINDS]; /* to be replayed, in batches */
	unsigned first[TW_FINDING_KINDS + 1];
};

/*
 * Whether a remedy changes anything of the part that is looked at.  It works in all of the recording, as a
 * run that has it would, and what it gains in the part is its gain; a rule is in all steps.
 */
static bool changes_part(const struct tw_diagnosis *d, const struct tw_scenario *s)
{
	uint32_t i;

	if (!tw_is_parted(d->path) || s->rule)
		return true;
	for (i = 0; s->touched && i < d->path->point_count; i++)
		if (s->touched[i / 64] >> i % 64 & 1 && tw_in_part(d->path, i))
			return true;
	return false;
}

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
	w->replayed[number] = !f->scenario.failed && changes_part(d, &f->scenario);
}

/* Findings that are replayed at once. */
static void replay_batch(void *context, size_t number)
{
	struct work *w = context;
	struct tw_finding **list = w->list + w->first[number];
	unsigned count = w->first[number + 1] - w->first[number], k;
	struct tw_scenario s[TW_LANES];
	struct tw_gain gains[TW_LANES][2];

	for (k = 0; k < count; k++)
		s[k] = list[k]->scenario;
	if (!tw_gains_of(w->d, s, count, gains, list))
		for (k = 0; k < count; k++) {
			const struct tw_gain *gain =
				&gains[k][tw_kind_list[list[k]->kind]->of_window];

			list[k]->gain_ns = gain->ns;
			list[k]->gain_percent = gain->percent;
			list[k]->inferred_percent = gain->inferred_percent;
			w->is_found[list[k]->kind] = true;
		}
	/* Queues are part of them now. */
	for (k = 0; k < count; k++)
		list[k]->scenario = s[k];
}

/* Those with a rule, which is asked at every point, are replayed alone. */
static void replay(struct work *w, unsigned threads)
{
	unsigned n = 0, batches = 0, i;
	int ruled;

	for (ruled = 0; ruled < 2; ruled++)
		for (i = 0; i < TW_FINDING_KINDS; i++) {
			if (!w->replayed[i] || (w->found[i].scenario.rule != NULL) != ruled)
				continue;
			if (!batches || ruled || n - w->first[batches - 1] == TW_LANES)
				w->first[batches++] = n;
			w->list[n++] = &w->found[i];
		}
	w->first[batches] = n;
	tw_parallel(threads, batches, replay_batch, w);
}

/* ---- all */

static int larger_gain_first(const void *a, const void *b)
{
	const struct tw_finding *const *x = a, *const *y = b;
	double one = floor((*x)->gain_ns / TW_LIMIT_SAME_GAIN_NS),
	       other = floor((*y)->gain_ns / TW_LIMIT_SAME_GAIN_NS);

	if (one != other)
		return one > other ? -1 : 1;
	/* Of what gains the same, that which is about one rank tells more. */
	if (tw_kind_list[(*x)->kind]->of_rank != tw_kind_list[(*y)->kind]->of_rank)
		return tw_kind_list[(*x)->kind]->of_rank ? -1 : 1;
	return (*x)->kind < (*y)->kind ? -1 : (*x)->kind > (*y)->kind;
}

/* Findings worth a row, the largest gain first. */
static void collect(struct work *w)
{
	struct tw_finding *list[TW_FINDING_KINDS];
	size_t i, n = 0;

	for (i = 0; i < TW_FINDING_KINDS; i++)
		if (w->is_found[i] &&
		    w->found[i].gain_percent * 10 >= TW_LIMIT_FINDING_ROW_PERMILLE)
			list[n++] = &w->found[i];
		else if (w->found[i].scenario.path)
			tw_scenario_release(&w->found[i].scenario);
	qsort(list, n, sizeof(list[0]), larger_gain_first);
	for (i = 0; i < n; i++) {
		if (TW_LIST_ADD(&w->d->findings, list[i], w->d->allocator))
			continue;
		w->d->failed = true;
		if (list[i]->scenario.path)
			tw_scenario_release(&list[i]->scenario);
	}
}

/* Each finding with all before it. */
static void put_together(struct tw_diagnosis *d, size_t first, unsigned count,
			 struct tw_scenario *s)
{
	size_t i;

	for (i = first; i < first + count; i++) {
		struct tw_scenario *own = &s[i - first];
		const struct tw_scenario *before = i > first ? own - 1 :
						   i	     ? &s[TW_LANES - 1] :
							       NULL;
		tw_scenario_rule *rule = before ? before->rule : NULL;
		const void *context = before ? before->context : NULL;

		*own = d->findings.at[i].scenario;
		own->under = i ? &d->findings.at[i - 1].scenario : NULL;
		d->findings.at[i].scenario.under = own->under;
		if (!own->rule) {
			own->rule = rule;
			own->context = context;
		}
	}
}

/*
 * What each and all before it gain together: never less than before, never more than all.  All of one thing: of
 * a step, or of the window where one of them is; what is no replay is in no scenario.
 */
static void add_together(struct tw_diagnosis *d)
{
	double so_far = 0, model = 0;
	struct tw_gain gains[TW_LANES][2];
	struct tw_scenario s[TW_LANES];
	bool of_window = false;
	size_t i, n = d->findings.count;

	for (i = 0; i < n; i++)
		of_window |= tw_kind_list[d->findings.at[i].kind]->of_window;
	for (i = 0; i < n && !d->failed; i++) {
		struct tw_finding *f = &d->findings.at[i];
		unsigned count = n - i < TW_LANES ? (unsigned)(n - i) : TW_LANES;

		if (i % TW_LANES == 0) {
			put_together(d, i, count, s);
			if (tw_gains_of(d, s, count, gains, NULL))
				break;
		}
		if (tw_kind_list[f->kind]->share)
			model = fmax(model, f->gain_percent);
		so_far = fmax(so_far, fmax(gains[i % TW_LANES][of_window].percent, model));
		f->together_percent = so_far;
	}
	if (n && !d->failed)
		so_far = fmax(model, gains[(n - 1) % TW_LANES][of_window].percent);
	for (i = 0; i < n; i++) {
		d->findings.at[i].together_percent =
			fmin(d->findings.at[i].together_percent, so_far);
		d->findings.at[i].scenario.under = NULL;
	}
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

/* The last end of GPU work by the step that launched it, INT64_MIN: it launched none. */
static void find_ends(const struct tw_diagnosis *d, int64_t *end)
{
	const struct tw_path_point *points = d->path->points;
	uint32_t i, g;

	for (i = 0; i < d->steps; i++)
		end[i] = INT64_MIN;
	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		for (g = 0; g < r->gpu_count; g++)
			if (r->step[g] >= 0 && points[tw_gpu_end(r, g)].time_ns > end[r->step[g]])
				end[r->step[g]] = points[tw_gpu_end(r, g)].time_ns;
	}
}

/*
 * Whether the first step ends first and the last one last.  Else what lies between their ends is not
 * the time of those after the first, and gains are of the window.
 */
static bool steps_follow(struct tw_diagnosis *d)
{
	size_t bytes = ((size_t)d->steps + 1) * sizeof(int64_t);
	int64_t *end = tw_alloc_array(d->allocator, bytes, 1);
	uint32_t i, first = UINT32_MAX, last = 0;
	bool follow = true;

	d->failed |= !end;
	if (!end)
		return false;
	find_ends(d, end);
	for (i = 0; i < d->steps; i++)
		if (end[i] != INT64_MIN) {
			first = first == UINT32_MAX ? i : first;
			last = i;
		}
	for (i = 0; i < d->steps; i++)
		follow &= end[i] == INT64_MIN || (end[first] <= end[i] && end[i] <= end[last]);
	tw_free(d->allocator, end, bytes);
	return follow;
}

static void measure(struct tw_diagnosis *d)
{
	const struct tw_times recorded = tw_recorded(d->path);
	uint32_t i;

	for (i = 0; i < d->rank_count; i++)
		if (d->path->ranks[i].step_count > d->steps)
			d->steps = d->path->ranks[i].step_count;
	for (i = 0; i < d->rank_count && !tw_is_parted(d->path); i++) {
		struct tw_edge edge = tw_edge_of(d->path->points, &d->path->ranks[i]);

		d->path->ranks[i].edge_before = edge.before;
		d->path->ranks[i].edge_after = edge.after;
	}
	d->window_ns = tw_measured_ns(d, recorded);
	d->failed |= d->window_ns < 0;
	d->gain_steps = tw_is_parted(d->path) ? tw_chosen_steps(d->path) : d->steps;
	d->step_ns = tw_is_parted(d->path) ? d->gain_steps && d->window_ns > 0 ?
					     (double)d->window_ns / d->gain_steps :
					     NAN :
		     steps_follow(d)	   ? tw_step_ns(d->path, recorded) :
					     NAN;
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
		replay(&w, threads);
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
	for (i = 0; i < d->rank_count; i++)
		tw_claims_release(&d->claims[i]);
	tw_free(d->allocator, d->claims, ((size_t)d->rank_count + 1) * sizeof(*d->claims));
	tw_path_free(d->path);
	memset(d, 0, sizeof(*d));
}
