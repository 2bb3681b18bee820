/*
 * Kernels of the same place get slower in some steps, by 5 % and more over all of them.  Without: the rate of
 * the fastest step.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "analysis/groups.h"

#include <math.h>

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

struct rates {
	struct tw_diagnosis *d;
	const struct tw_path_rank *r;
	struct tw_groups by_step; /* struct of_step -> struct sum */
	struct tw_groups fastest; /* place -> struct fastest */
	struct tw_groups rate;	  /* step -> struct { weighted, ns, of it looked at } */
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

/* How much slower each step is, weighted by the time of its kernels: of those that other steps have too. */
static void find_rates(struct rates *x)
{
	uint32_t i;

	for (i = 0; i < x->by_step.count; i++) {
		const struct of_step *key = tw_groups_key(&x->by_step, i);
		const struct sum *sum = tw_groups_value(&x->by_step, i);
		const struct fastest *fastest = tw_groups_at(&x->fastest, &key->place);
		double *rate = tw_groups_at(&x->rate, &key->step);

		if (!fastest || !rate || fastest->ns <= 0 || fastest->steps < 2)
			continue;
		rate[0] += sum->ns / (double)sum->count / fastest->ns * sum->ns;
		rate[1] += sum->ns;
		rate[2] += sum->viewed;
	}
}

static double rate_of(struct rates *x, int64_t step)
{
	const double *rate = tw_groups_at(&x->rate, &step);

	return rate && rate[1] > 0 ? rate[0] / rate[1] : NAN;
}

static uint64_t level(struct rates *x, struct tw_scenario *s, uint32_t rank, double least)
{
	uint64_t changed = 0;
	uint32_t i;

	for (i = 0; i < x->r->launched_count; i++) {
		uint32_t g = x->r->launched[i];
		double rate = x->r->step[g] < 0 ? NAN : rate_of(x, x->r->step[g]);
		double ns = (double)(x->d->path->points[tw_gpu_end(x->r, g)].time_ns -
				     x->d->path->points[tw_gpu_start(x->r, g)].time_ns);

		if (!x->d->claims[rank].place[g] || !(rate > least))
			continue;
		tw_scenario_duration(s, x->r, g, ns * least / rate);
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
	tw_groups_init_values(&x.rate, sizeof(int64_t), 3 * sizeof(double), d->allocator);
	add_up(&x, rank);
	find_fastest(&x);
	find_rates(&x);
	for (i = 0; i < x.rate.count; i++) {
		double rate = rate_of(&x, *(const int64_t *)tw_groups_key(&x.rate, i));

		least = fmin(least, rate);
		if (((const double *)tw_groups_value(&x.rate, i))[2] > 0)
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
	tw_evidence(f, "the slowest step takes %.1f %% longer for the same kernels",
		    100 * (worst - 1));
	return true;
}

const struct tw_kind tw_kind_power_or_clock = { .change = set_level };
