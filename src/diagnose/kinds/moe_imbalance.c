/*
 * Experts of a rank get more tokens: all-to-all whose elements are uneven over the ranks.  Without: with even
 * tokens the experts' kernels take mean / own of their time, from the dispatch to the way back, and
 * transfers mean / largest.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"

#include <math.h>

struct member {
	uint32_t rank, number, gpu; /* number: of the rank's collectives */
};

/* Collectives by GPU event, of all ranks. */
struct numbers {
	uint32_t **of; /* by rank and GPU event: its number + 1 */
	struct launches *to_all;
};

/* When a rank launched its all-to-alls, in order. */
struct launches {
	int64_t *at;
	size_t count;
};

static void free_numbers(struct tw_diagnosis *d, struct numbers *n)
{
	uint32_t i;

	for (i = 0; n->of && i < d->rank_count; i++)
		tw_free(d->allocator, n->of[i],
			((size_t)d->path->ranks[i].gpu_count + 1) * sizeof(**n->of));
	for (i = 0; n->to_all && i < d->rank_count; i++)
		tw_free(d->allocator, n->to_all[i].at,
			((size_t)d->path->ranks[i].collective_count + 1) * sizeof(int64_t));
	tw_free(d->allocator, n->to_all, ((size_t)d->rank_count + 1) * sizeof(*n->to_all));
	tw_free(d->allocator, n->of, ((size_t)d->rank_count + 1) * sizeof(*n->of));
}

static bool number_rank(struct tw_diagnosis *d, struct numbers *n, uint32_t rank)
{
	const struct tw_path_rank *r = &d->path->ranks[rank];
	struct launches *to_all = &n->to_all[rank];
	uint32_t k, launch;

	n->of[rank] = tw_alloc_array(d->allocator, (size_t)r->gpu_count + 1, sizeof(**n->of));
	to_all->at =
		tw_alloc_array(d->allocator, (size_t)r->collective_count + 1, sizeof(*to_all->at));
	if (!n->of[rank] || !to_all->at)
		return false;
	for (k = 0; k < r->collective_count; k++) {
		n->of[rank][r->collectives[k].first] = k + 1;
		launch = r->launch[r->collectives[k].first];
		if (d->claims[rank].collectives[k].to_all && launch != TW_NO_POINT)
			to_all->at[to_all->count++] = d->path->points[launch].time_ns;
	}
	tw_sort_numbers(to_all->at, to_all->count);
	return true;
}

static bool make_numbers(struct tw_diagnosis *d, struct numbers *n)
{
	uint32_t i;

	n->of = tw_alloc_array(d->allocator, (size_t)d->rank_count + 1, sizeof(*n->of));
	n->to_all = tw_alloc_array(d->allocator, (size_t)d->rank_count + 1, sizeof(*n->to_all));
	if (!n->of || !n->to_all) {
		d->failed = true;
		return false;
	}
	for (i = 0; i < d->rank_count; i++)
		if (!number_rank(d, n, i)) {
			d->failed = true;
			return false;
		}
	return true;
}

/* The member of a hub by its cause. */
static struct member member_of(const struct tw_diagnosis *d, const struct numbers *n,
			       uint32_t cause)
{
	uint32_t start = d->path->from[cause], rank = d->path->points[start].rank;
	uint32_t gpu = (start - d->path->ranks[rank].first) / 2;

	return (struct member){ rank, n->of[rank][gpu] - 1, gpu };
}

struct tokens {
	double largest, out_mean, out_largest;
	uint32_t most; /* the rank with the most */
};

/* Elements of an all-to-all over its ranks; false: it is none, or they are not recorded. */
static bool count_tokens(const struct tw_diagnosis *d, const struct numbers *n, uint32_t hub,
			 struct tokens *t)
{
	const struct tw_path_point *p = &d->path->points[hub];
	double sum = 0;
	uint32_t cause;

	*t = (struct tokens){ 0 };
	for (cause = p->causes; cause < p[1].causes; cause++) {
		struct member m = member_of(d, n, cause);
		const struct tw_collective_size *c;

		if (m.number == UINT32_MAX)
			return false;
		c = &d->claims[m.rank].collectives[m.number];
		if (!c->to_all || c->out <= 0)
			return false;
		sum += c->out;
		t->largest = fmax(t->largest, fmax(c->in, c->out));
		if (c->out > t->out_largest) {
			t->out_largest = c->out;
			t->most = m.rank;
		}
	}
	t->out_mean = sum / (p[1].causes - p->causes);
	return t->out_mean > 0 &&
	       t->largest >= TW_LIMIT_TOKENS_UNEVEN_PERCENT / 100.0 * t->out_mean;
}

/* Computing launched after a dispatch and before the next all-to-all. */
static uint64_t even_experts(struct tw_diagnosis *d, struct tw_scenario *s, const struct numbers *n,
			     const struct member *m, double factor)
{
	const struct tw_path *path = d->path;
	const struct tw_path_rank *r = &path->ranks[m->rank];
	const struct tw_claims *c = &d->claims[m->rank];
	const struct launches *to_all = &n->to_all[m->rank];
	uint64_t changed = 0;
	int64_t from, to;
	size_t next;
	uint32_t i;

	if (r->launch[m->gpu] == TW_NO_POINT)
		return 0;
	from = path->points[r->launch[m->gpu]].time_ns;
	next = TW_LOWER_BOUND(at, 0, to_all->count, to_all->at[at] <= from);
	to = next < to_all->count ? to_all->at[next] : INT64_MAX;
	for (i = tw_first_launched_after(path, r, from); i < r->launched_count; i++) {
		uint32_t g = r->launched[i];
		double ns = (double)(path->points[tw_gpu_end(r, g)].time_ns -
				     path->points[tw_gpu_start(r, g)].time_ns);

		if (path->points[r->launch[g]].time_ns >= to)
			break;
		if (!c->place[g])
			continue;
		tw_scenario_duration(s, r, g, ns * factor);
		changed++;
	}
	return changed;
}

static void even_out(struct tw_diagnosis *d, struct tw_scenario *s, const struct numbers *n,
		     uint32_t hub, const struct tokens *t, struct tw_finding *f)
{
	const struct tw_path *path = d->path;
	const struct tw_path_point *p = &path->points[hub];
	uint32_t cause;

	for (cause = p->causes; cause < p[1].causes; cause++) {
		struct member m = member_of(d, n, cause);
		const struct tw_path_rank *r = &path->ranks[m.rank];
		uint32_t last = r->collectives[m.number].last, end = tw_gpu_end(r, last);

		tw_scenario_duration(s, r, last,
				     (double)tw_path_delay(path, end, path->points[end].causes) *
					     t->out_mean / t->largest);
		/* The dispatch: its experts work until the way back. */
		if (t->out_largest >= TW_LIMIT_TOKENS_UNEVEN_PERCENT / 100.0 * t->out_mean)
			f->changed += even_experts(
				d, s, n, &m,
				t->out_mean / d->claims[m.rank].collectives[m.number].out);
	}
}

static bool set_even(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	struct numbers n = { 0 };
	struct tokens t, worst = { 0 };
	uint32_t hub, most[2] = { 0 };

	if (d->rank_count < 2 || d->path->first_hub == d->path->point_count)
		return false;
	if (make_numbers(d, &n))
		for (hub = d->path->first_hub; hub < d->path->point_count; hub++) {
			if (!count_tokens(d, &n, hub, &t))
				continue;
			even_out(d, s, &n, hub, &t, f);
			if (t.out_largest / t.out_mean >
			    worst.out_largest / fmax(1, worst.out_mean))
				worst = t;
		}
	free_numbers(d, &n);
	if (!f->changed)
		return false;
	most[0] = worst.most;
	tw_set_ranks(f, d, most, 1);
	tw_add_place(f, "all_to_allv");
	tw_add_evidence(f, "rank %lld gets %.2f times the mean of the tokens",
			(long long)d->path->ranks[worst.most].rank,
			worst.out_largest / worst.out_mean);
	return true;
}

const struct tw_kind tw_kind_moe_imbalance = { .change = set_even, .of_rank = true };
