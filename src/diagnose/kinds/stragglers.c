/*
 * One rank for which the others wait: straggler_compute, that which computes longest (without: at each
 * place the duration of the next slowest rank, that one's own), straggler_host, that whose host works
 * longest (without: as the next one's).
 */
#include "diagnose/kinds.h"

#include "data/limits.h"
#include "data/tables.h"

#include "analysis/groups.h"
#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* As many functions, those with most time of their own, are held against the other rank's. */
#define MOST_FUNCTIONS 50

struct total {
	uint32_t rank;
	int64_t ns;
};

static int more_first(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	return TW_COMPARE(y->ns, x->ns) ?: TW_ORDER_BY(x, y, rank);
}

static struct total *totals_of(struct tw_diagnosis *d,
			       int64_t (*of)(const struct tw_diagnosis *d, uint32_t rank))
{
	struct total *list = tw_alloc_array(d->allocator, (size_t)d->rank_count + 1, sizeof(*list));
	uint32_t i;

	d->failed |= !list;
	for (i = 0; list && i < d->rank_count; i++)
		list[i] = (struct total){ i, of(d, i) };
	if (list)
		qsort(list, d->rank_count, sizeof(*list), more_first);
	return list;
}

static void free_totals(struct tw_diagnosis *d, struct total *list)
{
	tw_free(d->allocator, list, ((size_t)d->rank_count + 1) * sizeof(*list));
}

static bool have_collectives(const struct tw_diagnosis *d)
{
	return d->rank_count > 1 && d->path->first_hub < d->path->point_count;
}

/* ---- computing */

struct place {
	uint64_t place;
	int64_t step;
	uint64_t nth;
};

/* Visits computing work by place: the n-th of its kind in a step. */
static void visit_places(struct tw_diagnosis *d, uint32_t rank,
			 void (*visit)(void *context, const struct place *place, uint32_t gpu),
			 void *context)
{
	const struct tw_path_rank *r = &d->path->ranks[rank];
	const struct tw_claims *c = &d->claims[rank];
	struct tw_groups counts;
	uint32_t i;

	tw_groups_init_values(&counts, sizeof(struct place), sizeof(uint64_t), d->allocator);
	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];
		struct place place = { c->place[g], r->step[g], 0 };
		uint64_t *count;

		if (!c->place[g])
			continue;
		count = tw_groups_at(&counts, &place);
		if (!count)
			break;
		place.nth = (*count)++;
		visit(context, &place, g);
	}
	d->failed |= counts.failed;
	tw_groups_release(&counts);
}

struct alike {
	struct tw_diagnosis *d;
	struct tw_scenario *s;
	const struct tw_path_rank *rank;
	struct tw_groups ns; /* by place: of the reference */
	uint64_t changed;
};

static int64_t ns_of(const struct tw_path *path, const struct tw_path_rank *r, uint32_t g)
{
	return path->points[tw_gpu_end(r, g)].time_ns - path->points[tw_gpu_start(r, g)].time_ns;
}

static void note_place(void *context, const struct place *place, uint32_t g)
{
	struct alike *a = context;
	int64_t *ns = tw_groups_at(&a->ns, place);

	if (ns)
		*ns = ns_of(a->d->path, a->rank, g) + 1;
}

static void change_place(void *context, const struct place *place, uint32_t g)
{
	struct alike *a = context;
	int64_t *ns = tw_groups_at(&a->ns, place), own = ns_of(a->d->path, a->rank, g);

	if (!ns || !*ns || *ns - 1 >= own)
		return;
	tw_scenario_duration(a->s, a->rank, g, (double)(*ns - 1));
	a->changed++;
}

/* The first `count` of the ranks compute as the one after them. */
static uint64_t compute_as_next(struct tw_diagnosis *d, struct tw_scenario *s,
				const struct total *order, uint32_t count)
{
	struct alike a = { d, s, &d->path->ranks[order[count].rank], { 0 }, 0 };
	uint32_t i;

	tw_groups_init_values(&a.ns, sizeof(struct place), sizeof(int64_t), d->allocator);
	visit_places(d, order[count].rank, note_place, &a);
	for (i = 0; i < count; i++) {
		a.rank = &d->path->ranks[order[i].rank];
		visit_places(d, order[i].rank, change_place, &a);
	}
	d->failed |= a.ns.failed;
	tw_groups_release(&a.ns);
	return a.changed;
}

/* Two that are nearly equal, and both longer than the others. */
static bool are_two(const struct tw_diagnosis *d, const struct total *order)
{
	return d->rank_count > 2 && order[1].ns > order[2].ns &&
	       order[0].ns - order[1].ns < order[1].ns - order[2].ns;
}

/* What the first ranks gain as the one after them, in % of a step; 0: it cannot be said. */
static struct tw_gain gain_of_first(struct tw_diagnosis *d, const struct total *order,
				    uint32_t count)
{
	struct tw_gain gain = { 0 };
	struct tw_scenario s;

	tw_scenario_init(&s, d->path, d->allocator);
	compute_as_next(d, &s, order, count);
	if (tw_gain_of(d, &s, false, &gain))
		gain = (struct tw_gain){ 0 };
	tw_scenario_release(&s);
	return gain;
}

/* The row is of the first, and says what both gain. */
static void add_second(struct tw_diagnosis *d, const struct total *order, struct tw_finding *f)
{
	struct tw_gain gain = gain_of_first(d, order, 2);

	tw_set_ranks(f, d, (const uint32_t[]){ order[0].rank, order[1].rank }, 2);
	tw_add_evidence(f,
			"; rank %lld is nearly as late: both as rank %lld gain %.3f ms of a "
			"step (%.2f %%) together",
			(long long)d->path->ranks[order[1].rank].rank,
			(long long)d->path->ranks[order[2].rank].rank, gain.ns / 1e6, gain.percent);
}

/* Whether only both together gain what is worth a row, which is of both then. */
static bool is_of_both(struct tw_diagnosis *d, const struct total *order)
{
	return are_two(d, order) &&
	       gain_of_first(d, order, 1).percent * 10 < TW_LIMIT_FINDING_ROW_PERMILLE &&
	       gain_of_first(d, order, 2).percent * 10 >= TW_LIMIT_FINDING_ROW_PERMILLE;
}

/* How much longer a kernel takes than it would. */
static int64_t excess(const struct tw_diagnosis *d, uint32_t point, const struct tw_scenario *s)
{
	const struct tw_path_point *p = &d->path->points[point];

	return p->kind != TW_POINT_GPU + 1 || p->causes == p[1].causes ?
		       0 :
		       tw_path_delay(d->path, point, p->causes) -
			       tw_scenario_delay(s, point, p->causes);
}

static void name_first(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f,
		       const struct total *order)
{
	f->changed = compute_as_next(d, s, order, 1);
	tw_set_ranks(f, d, &order[0].rank, 1);
	tw_add_evidence(f, "it computes %.3f ms, the next slowest rank %lld %.3f ms",
			(double)order[0].ns / 1e6, (long long)d->path->ranks[order[1].rank].rank,
			(double)order[1].ns / 1e6);
	tw_add_place(f, "rank %lld", (long long)d->path->ranks[order[0].rank].rank);
	if (are_two(d, order))
		add_second(d, order, f);
}

static void name_both(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f,
		      const struct total *order)
{
	f->words = &tw_words_straggler_compute_two;
	f->changed = compute_as_next(d, s, order, 2);
	tw_set_ranks(f, d, (const uint32_t[]){ order[0].rank, order[1].rank }, 2);
	tw_add_evidence(
		f,
		"they compute %.3f and %.3f ms, the next slowest rank %lld %.3f ms: the gain "
		"is of both together",
		(double)order[0].ns / 1e6, (double)order[1].ns / 1e6,
		(long long)d->path->ranks[order[2].rank].rank, (double)order[2].ns / 1e6);
	tw_add_place(f, "rank %lld", (long long)d->path->ranks[order[0].rank].rank);
	tw_add_place(f, "rank %lld", (long long)d->path->ranks[order[1].rank].rank);
}

static bool set_computing(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	struct total *order;

	if (!have_collectives(d))
		return false;
	order = totals_of(d, tw_computing_ns);
	if (order && is_of_both(d, order))
		name_both(d, s, f, order);
	else if (order && order[0].ns > order[1].ns)
		name_first(d, s, f, order);
	if (f->changed)
		tw_add_heaviest(f, d, order[0].rank, excess, s);
	free_totals(d, order);
	return f->changed;
}

/* ---- the host */

static bool is_work(const struct tw_path *path, uint32_t p)
{
	uint32_t cause = tw_path_binding(path, p);
	enum tw_cause code;

	if (cause == TW_NO_POINT || tw_is_gpu_point(&path->points[p]) ||
	    path->points[p].flags & TW_POINT_WAITS)
		return false;
	code = tw_path_code(path, cause);
	return code == TW_CAUSE_HOST || code == TW_CAUSE_DURATION;
}

static int64_t host_ns(const struct tw_diagnosis *d, uint32_t rank)
{
	const struct tw_path_rank *r = &d->path->ranks[rank];
	int64_t sum = 0;
	uint32_t p;

	for (p = r->first; p < r->first + r->count; p++)
		if (is_work(d->path, p) && tw_in_part(d->path, p))
			sum += tw_path_delay(d->path, p, tw_path_binding(d->path, p));
	return sum;
}

/* The next point of a rank's host that is work, from one on. */
static uint32_t next_work(const struct tw_path *path, const struct tw_path_rank *r, uint32_t p)
{
	while (p < r->first + r->count && !is_work(path, p))
		p++;
	return p;
}

/* Point by point, where both ranks did the same; false: they did not. */
static bool work_as(struct tw_diagnosis *d, struct tw_scenario *s, const struct tw_path_rank *r,
		    const struct tw_path_rank *as, bool apply)
{
	const struct tw_path *path = d->path;
	uint32_t p = next_work(path, r, r->first), q = next_work(path, as, as->first);

	while (p < r->first + r->count && q < as->first + as->count) {
		int64_t own, other;

		if (path->points[p].kind != path->points[q].kind)
			return false;
		own = tw_path_delay(path, p, tw_path_binding(path, p));
		other = tw_path_delay(path, q, tw_path_binding(path, q));
		if (apply && other < own)
			tw_scenario_set(s, p, tw_path_binding(path, p), other);
		p = next_work(path, r, p + 1);
		q = next_work(path, as, q + 1);
	}
	return p >= r->first + r->count && q >= as->first + as->count;
}

/* A fetch of a thread. */
struct fetch {
	uint32_t thread;
	int64_t from_ns, to_ns;
};

struct fetches {
	TW_LIST(struct fetch) list;
};

static void list_fetches(struct tw_diagnosis *d, const struct tw_path_rank *r, struct fetches *out)
{
	uint32_t t, p, depth;

	for (t = 0; t < r->thread_count; t++)
		for (p = r->threads[t].first, depth = 0;
		     p < r->threads[t].first + r->threads[t].count; p++) {
			const struct tw_path_point *point = &d->path->points[p];

			if (tw_kind_of(point) != TW_POINT_LOADER)
				continue;
			if (!tw_is_end(point) && !depth++) {
				struct fetch fetch = { t, point->time_ns, 0 };

				d->failed |= !TW_LIST_ADD(&out->list, &fetch, d->allocator);
			} else if (tw_is_end(point) && depth && !--depth && out->list.count) {
				out->list.at[out->list.count - 1].to_ns = point->time_ns;
			}
		}
}

static void fetch_as(struct tw_diagnosis *d, struct tw_scenario *s, const struct tw_path_rank *r,
		     const struct tw_path_rank *as)
{
	struct fetches own = { 0 }, other = { 0 };
	int64_t least = 0;
	size_t i;

	list_fetches(d, r, &own);
	list_fetches(d, as, &other);
	for (i = 0; i < other.list.count; i++) {
		int64_t ns = other.list.at[i].to_ns - other.list.at[i].from_ns;

		least = !i || ns < least ? ns : least;
	}
	for (i = 0; i < own.list.count; i++) {
		const struct fetch *f = &own.list.at[i];
		int64_t ns = f->to_ns - f->from_ns;
		int64_t as_ns = i < other.list.count ?
					other.list.at[i].to_ns - other.list.at[i].from_ns :
					least;

		tw_scenario_free_host(s, &r->threads[f->thread], f->from_ns, f->to_ns,
				      as_ns < ns ? as_ns : ns);
	}
	TW_LIST_FREE(&own.list, d->allocator);
	TW_LIST_FREE(&other.list, d->allocator);
}

/* The function of the program that takes so much longer than on the other rank; "": none. */
static const char *slow_function(const struct tw_diagnosis *d, uint32_t rank, uint32_t as)
{
	const struct tw_claims *own = &d->claims[rank], *other = &d->claims[as];
	const char *found = "";
	int64_t most = TW_LIMIT_STRAGGLER_HOST_LEAST_US * 1000;
	size_t i, k;

	for (i = 0; i < own->functions.count && i < MOST_FUNCTIONS; i++) {
		const char *name = tw_pool_text(&own->texts, own->functions.at[i].text, NULL);
		int64_t excess = own->functions.at[i].self_ns;

		for (k = 0; k < other->functions.count; k++)
			if (!strcmp(name,
				    tw_pool_text(&other->texts, other->functions.at[k].text, NULL)))
				excess -= other->functions.at[k].self_ns;
		if (excess > most) {
			most = excess;
			found = name;
		}
	}
	return found;
}

static void cut_batches(struct tw_scenario *s, const struct tw_path_rank *r)
{
	uint32_t p, cause;

	for (p = r->first; p < r->first + r->count; p++)
		for (cause = s->path->points[p].causes; cause < s->path->points[p + 1].causes;
		     cause++)
			if (tw_path_code(s->path, cause) == TW_CAUSE_BATCH)
				tw_scenario_cut(s, p, cause);
}

static bool is_longer_host(const struct total *a, const struct total *b)
{
	return (double)a->ns * 100 >= TW_LIMIT_STRAGGLER_HOST_PERCENT * (double)b->ns +
					      TW_LIMIT_STRAGGLER_HOST_LEAST_US * 1e5;
}

static bool set_host(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	struct total *order;
	bool found = false;

	if (!have_collectives(d))
		return false;
	order = totals_of(d, host_ns);
	if (order && is_longer_host(&order[0], &order[1])) {
		const struct tw_path_rank *r = &d->path->ranks[order[0].rank];
		const struct tw_path_rank *as = &d->path->ranks[order[1].rank];

		if (work_as(d, s, r, as, false))
			work_as(d, s, r, as, true);
		else
			fetch_as(d, s, r, as);
		cut_batches(s, r);
		f->changed = s->edits.count;
		tw_set_ranks(f, d, &order[0].rank, 1);
		tw_add_evidence(f, "its host works %.3f ms, that of the next, rank %lld, %.3f ms",
				(double)order[0].ns / 1e6, (long long)as->rank,
				(double)order[1].ns / 1e6);
		tw_add_place(f, "rank %lld", (long long)r->rank);
		if (*slow_function(d, order[0].rank, order[1].rank))
			tw_add_place(f, "%s", slow_function(d, order[0].rank, order[1].rank));
		tw_places_of(f, d, order[0].rank, TW_KIND_data_loading);
		found = f->changed;
	}
	free_totals(d, order);
	return found;
}

const struct tw_kind tw_kind_straggler_compute = { .change = set_computing, .of_rank = true };
const struct tw_kind tw_kind_straggler_host = { .change = set_host, .of_rank = true };
