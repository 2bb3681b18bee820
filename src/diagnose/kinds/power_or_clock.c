/*
 * Kernels of the same place get slower in some steps: those that take most of a step's computing, by 5 % and more.  Of
 * one kernel alone its own data may be the reason.  Without: the rate of the fastest step.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "analysis/groups.h"
#include "base/alloc.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

struct of_step {
	uint64_t place;
	int64_t step;
};

struct sum {
	double ns;
	uint64_t count;
	bool viewed;
};

/* Of a place: the mean of its fastest step, and how many steps it is in. */
struct fastest {
	double ns;
	uint64_t steps;
};

/* How much slower a step is than its fastest kernels, and whether any of it is looked at. */
struct rate {
	double times;
	bool viewed;
};

struct rates {
	struct tw_diagnosis *d;
	const struct tw_path_rank *r;
	struct tw_groups by_step; /* struct of_step -> struct sum */
	struct tw_groups fastest; /* place -> struct fastest */
	struct tw_groups rate;	  /* step -> struct rate */
};

static void add_up(struct rates *x, uint32_t rank)
{
	const struct tw_claims *c = &x->d->claims[rank];
	uint32_t i;

	for (i = 0; i < x->r->launched_count; i++) {
		uint32_t g = x->r->launched[i];
		struct of_step key = { c->place[g], x->r->step[g] };
		struct sum *sum;

		if (!key.place || key.step < 0)
			continue;
		sum = tw_groups_at(&x->by_step, &key);
		if (!sum)
			return;
		sum->ns += (double)(x->d->path->points[tw_gpu_end(x->r, g)].time_ns -
				    x->d->path->points[tw_gpu_start(x->r, g)].time_ns);
		sum->count++;
		sum->viewed |= tw_in_part(x->d->path, tw_gpu_start(x->r, g));
	}
}

static void find_fastest(struct rates *x)
{
	uint32_t i;

	for (i = 0; i < x->by_step.count; i++) {
		const struct of_step *key = tw_groups_key(&x->by_step, i);
		const struct sum *sum = tw_groups_value(&x->by_step, i);
		struct fastest *fastest = tw_groups_at(&x->fastest, &key->place);
		double mean = sum->ns / (double)sum->count;

		if (!fastest)
			return;
		if (!fastest->steps++ || mean < fastest->ns)
			fastest->ns = mean;
	}
}

/* How much slower a place is in a step than in its fastest one, and how long it takes there. */
struct slower {
	int64_t step;
	double times, ns;
	bool viewed;
};

static int by_step_and_times(const void *a, const void *b)
{
	const struct slower *x = a, *y = b;

	return TW_ORDER_BY(x, y, step, times);
}

/* Of those that other steps have too; their number. */
static size_t list_slower(struct rates *x, struct slower *list)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < x->by_step.count; i++) {
		const struct of_step *key = tw_groups_key(&x->by_step, i);
		const struct sum *sum = tw_groups_value(&x->by_step, i);
		const struct fastest *fastest = tw_groups_at(&x->fastest, &key->place);

		if (fastest && fastest->ns > 0 && fastest->steps > 1)
			list[n++] = (struct slower){ key->step,
						     sum->ns / (double)sum->count / fastest->ns,
						     sum->ns, sum->viewed };
	}
	return n;
}

/* How much slower each step is: the median over the time of its kernels. */
static void find_rates(struct rates *x)
{
	size_t room = (size_t)x->by_step.count + 1, n, i, k, end;
	struct slower *list = tw_alloc_array(x->d->allocator, room, sizeof(*list));

	x->d->failed |= !list;
	n = list ? list_slower(x, list) : 0;
	if (n)
		qsort(list, n, sizeof(*list), by_step_and_times);
	for (i = 0; i < n; i = end) {
		struct rate *rate = tw_groups_at(&x->rate, &list[i].step);
		double all = 0, seen = 0;
		bool viewed = false;

		for (end = i; end < n && list[end].step == list[i].step; end++) {
			all += list[end].ns;
			viewed |= list[end].viewed;
		}
		for (k = i; k < end && seen * 2 < all; k++)
			seen += list[k].ns;
		if (rate)
			*rate = (struct rate){ list[k > i ? k - 1 : i].times, viewed };
	}
	tw_free(x->d->allocator, list, room * sizeof(*list));
}

static double rate_of(struct rates *x, int64_t step)
{
	const struct rate *rate = tw_groups_at(&x->rate, &step);

	return rate && rate->times > 0 ? rate->times : NAN;
}

/* What a kernel takes at the rate of the fastest step, but no less than in its own fastest step. */
static double share_of(struct rates *x, const struct of_step *key, double least, double rate)
{
	const struct sum *sum = tw_groups_at(&x->by_step, key);
	const struct fastest *fastest = tw_groups_at(&x->fastest, &key->place);

	return sum && sum->count && fastest && fastest->steps > 1 ?
		       fmin(1, fmax(least / rate, fastest->ns * (double)sum->count / sum->ns)) :
		       least / rate;
}

static uint64_t level(struct rates *x, struct tw_scenario *s, uint32_t rank, double least)
{
	uint64_t changed = 0;
	uint32_t i;

	for (i = 0; i < x->r->launched_count; i++) {
		uint32_t g = x->r->launched[i];
		struct of_step key = { x->d->claims[rank].place[g], x->r->step[g] };
		double rate = key.step < 0 ? NAN : rate_of(x, key.step);
		double ns = (double)(x->d->path->points[tw_gpu_end(x->r, g)].time_ns -
				     x->d->path->points[tw_gpu_start(x->r, g)].time_ns);

		if (!key.place || !(rate > least))
			continue;
		tw_scenario_duration(s, x->r, g, ns * share_of(x, &key, least, rate));
		changed++;
	}
	return changed;
}

static uint64_t look_at_rank(struct tw_diagnosis *d, struct tw_scenario *s, uint32_t rank,
			     double *worst)
{
	struct rates x = { .d = d, .r = &d->path->ranks[rank] };
	double least = INFINITY, most = 0;
	uint64_t changed = 0;
	uint32_t i;

	tw_groups_init_values(&x.by_step, sizeof(struct of_step), sizeof(struct sum), d->allocator);
	tw_groups_init_values(&x.fastest, sizeof(uint64_t), sizeof(struct fastest), d->allocator);
	tw_groups_init_values(&x.rate, sizeof(int64_t), sizeof(struct rate), d->allocator);
	add_up(&x, rank);
	find_fastest(&x);
	find_rates(&x);
	for (i = 0; i < x.rate.count; i++) {
		double rate = rate_of(&x, *(const int64_t *)tw_groups_key(&x.rate, i));

		least = fmin(least, rate);
		if (((const struct rate *)tw_groups_value(&x.rate, i))->viewed)
			most = fmax(most, rate);
	}
	if (x.rate.count > 1 && most >= TW_LIMIT_CLOCK_SLOWER_PERCENT / 100.0 * least)
		changed = level(&x, s, rank, least);
	*worst = changed ? fmax(*worst, most / least) : *worst;
	d->failed |= x.by_step.failed || x.fastest.failed || x.rate.failed;
	tw_groups_release(&x.by_step);
	tw_groups_release(&x.fastest);
	tw_groups_release(&x.rate);
	return changed;
}

/* What a kernel takes less. */
static int64_t levelled(const struct tw_diagnosis *d, uint32_t point, const struct tw_scenario *s)
{
	const struct tw_path_point *p = &d->path->points[point];

	return p->kind == TW_POINT_GPU + 1 ? tw_path_delay(d->path, point, p->causes) -
						     tw_scenario_delay(s, point, p->causes) :
					     0;
}

static bool set_level(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	double worst = 1, before;
	uint32_t i, slowest = 0, ranks = 0;

	for (i = 0; i < d->rank_count && d->steps > 1; i++) {
		uint64_t changed;

		before = worst;
		changed = look_at_rank(d, s, i, &worst);
		f->changed += changed;
		ranks += changed != 0;
		slowest = worst > before ? i : slowest;
	}
	if (!f->changed)
		return false;
	if (ranks < d->rank_count)
		tw_set_ranks(f, d, &slowest, 1);
	tw_add_heaviest(f, d, slowest, levelled, s);
	tw_add_evidence(f, "the slowest step takes %.1f %% longer for the same kernels",
			100 * (worst - 1));
	return true;
}

const struct tw_kind tw_kind_power_or_clock = { .change = set_level };
