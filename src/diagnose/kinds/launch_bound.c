/*
 * The host launches slower than the GPU works: at least half of the idle time is in gaps that end with a
 * launch made in the gap, without fetch, wait, allocation or module load.  Without: one GPU graph: the
 * host inside steps takes no time, but for those, and for what takes over a millisecond.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/search.h"
#include "data/tables.h"

#include <stdlib.h>

/* ---- idle time by what the launching thread did meanwhile */

struct mark {
	int64_t start_ns, end_ns;
	enum tw_idle_cause cause;
};

struct marks {
	struct tw_look *look;
	TW_LIST(struct mark) list;
	int64_t *latest_ns; /* by mark: the latest end so far */
};

/* As many marks of a gap are looked at. */
#define MOST_MARKS 250

static void add_mark(struct marks *m, int64_t start_ns, int64_t end_ns, enum tw_idle_cause cause)
{
	struct mark mark = { start_ns, end_ns, cause };

	m->look->failed |= !TW_LIST_ADD(&m->list, &mark, m->look->scratch);
}

static int by_start(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void list_marks(struct marks *m)
{
	struct tw_look *look = m->look;
	const struct tw_host *host = &look->d->host;
	struct tw_ranges loading = { 0 };
	uint64_t i;

	tw_ranges_of_kind(look, TW_HOST_DATA_LOADING, &loading);
	for (i = 0; i < loading.list.count; i++)
		add_mark(m, loading.list.at[i].start_ns, loading.list.at[i].end_ns,
			 TW_IDLE_LOADING);
	for (i = 0; i < host->call_count; i++) {
		uint32_t node = host->call[i], copy = look->last_copy[node];
		unsigned kinds = tw_look_node_kinds(look, node);
		int64_t start = tw_look_start(look, node), end = tw_look_end(look, node);

		if (kinds & (TW_HOST_WAITS_FOR_DEVICE | TW_HOST_WAITS_FOR_STREAM) ||
		    (copy && tw_waits_for_copy(look, node, copy - 1)))
			add_mark(m, start, end, TW_IDLE_WAITING);
		else if (kinds & (TW_HOST_IMPLICIT_WAIT | TW_HOST_ALLOCATION))
			add_mark(m, start, end, TW_IDLE_OTHER);
	}
	if (m->list.count)
		qsort(m->list.at, m->list.count, sizeof(*m->list.at), by_start);
	m->latest_ns = tw_alloc_array(look->scratch, m->list.count + 1, sizeof(*m->latest_ns));
	look->failed |= !m->latest_ns;
	for (i = 0; i < m->list.count && m->latest_ns; i++)
		m->latest_ns[i] = i && m->latest_ns[i - 1] > m->list.at[i].end_ns ?
					  m->latest_ns[i - 1] :
					  m->list.at[i].end_ns;
}

static void add_gap(struct marks *m, int64_t from_ns, int64_t to_ns)
{
	int64_t used[TW_IDLE_LAUNCH] = { 0 }, *idle = m->look->claims->idle_ns;
	size_t i = TW_LOWER_BOUND(at, 0, m->list.count, m->latest_ns[at] <= from_ns);
	size_t end = i + MOST_MARKS < m->list.count ? i + MOST_MARKS : m->list.count;
	unsigned best = 0, k;

	for (; i < end && m->list.at[i].start_ns < to_ns; i++) {
		const struct mark *mark = &m->list.at[i];
		int64_t from = mark->start_ns > from_ns ? mark->start_ns : from_ns;
		int64_t to = mark->end_ns < to_ns ? mark->end_ns : to_ns;

		used[mark->cause] += to > from ? to - from : 0;
	}
	for (k = 1; k < TW_IDLE_LAUNCH; k++)
		best = used[k] > used[best] ? k : best;
	if ((double)used[best] * 100 > (double)(to_ns - from_ns) * TW_LIMIT_IDLE_CAUSE_PERCENT)
		idle[best] += to_ns - from_ns;
	else
		idle[used[TW_IDLE_WAITING] ? TW_IDLE_WAITING : TW_IDLE_LAUNCH] += to_ns - from_ns;
}

void tw_idle_by_cause(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	const struct tw_path_point *points = look->part->points;
	struct marks m = { .look = look };
	int64_t end_ns = INT64_MIN;
	uint32_t g;

	list_marks(&m);
	for (g = 0; g < r->gpu_count && !look->failed; g++) {
		if (r->launch[g] == TW_NO_POINT)
			continue;
		if (end_ns != INT64_MIN && points[2 * g].time_ns > end_ns &&
		    tw_is_gpu_viewed(look, g) && points[r->launch_end[g]].time_ns > end_ns)
			add_gap(&m, end_ns, points[2 * g].time_ns);
		if (points[2 * g + 1].time_ns > end_ns)
			end_ns = points[2 * g + 1].time_ns;
	}
}

/* ---- one graph */

/* Which calls take their time in a graph too, or for another reason than the host's. */
static void look_at_calls(struct tw_look *look)
{
	enum { WAITS = TW_HOST_MODULE_LOAD | TW_HOST_IMPLICIT_WAIT };
	const struct tw_path_rank *r = &look->part->rank;
	struct tw_claims *c = look->claims;
	uint32_t i;

	c->label_count = r->label_count;
	c->loads_or_waits = tw_alloc_array(c->allocator, (size_t)c->label_count + 1, 1);
	look->failed |= !c->loads_or_waits;
	for (i = 0; i < c->label_count && !look->failed; i++) {
		size_t len;
		const char *name = tw_pool_text(&r->texts, r->labels[i].name, &len);
		uint32_t text = tw_pool_find(&look->trace->texts, name, len);

		/* Names of the trace were looked up before. */
		c->loads_or_waits[i] =
			((text ? tw_look_kinds(look, text) : tw_host_kinds_of(name, len)) &
			 WAITS) != 0;
	}
}

/*
 * The gap before a kernel that was launched just before it is as much its launch's as its stream's: in a
 * graph it is a stream's.
 */
static int64_t gap_in_a_graph(const struct tw_path *path, uint32_t point, int64_t delay_ns)
{
	const struct tw_path_point *p = &path->points[point];
	const struct tw_path_rank *r = &path->ranks[p->rank];
	int64_t usual = tw_delays[r->vendor].stream;
	uint32_t cause;

	for (cause = p->causes; cause < p[1].causes; cause++)
		if (path->from[cause] != TW_NO_POINT &&
		    tw_path_code(path, cause) == TW_CAUSE_LAUNCH &&
		    p->time_ns - path->points[path->from[cause]].time_ns <= r->late_ns)
			return delay_ns < usual ? delay_ns : usual;
	return delay_ns;
}

static int64_t in_a_graph(const struct tw_path *path, uint32_t point, uint32_t cause,
			  int64_t delay_ns, const void *context)
{
	const struct tw_path_point *p = &path->points[point];
	enum tw_cause code = tw_path_code(path, cause);

	const struct tw_claims *claims = context;

	if (code == TW_CAUSE_LAUNCH)
		return 0;
	if (code == TW_CAUSE_STREAM)
		return gap_in_a_graph(path, point, delay_ns);
	if (tw_is_gpu_point(p) || p->kind >= TW_POINT_HUB || tw_kind_of(p) == TW_POINT_LOADER ||
	    p->flags & (TW_POINT_IN_LOADER | TW_POINT_WAITS | TW_POINT_IS_ALLOCATION) ||
	    delay_ns > TW_LIMIT_GRAPH_LONGEST_US * 1000 ||
	    (tw_kind_of(p) == TW_POINT_CALL && claims[p->rank].loads_or_waits[p->label]))
		return delay_ns;
	return code == TW_CAUSE_HOST || code == TW_CAUSE_DURATION || code == TW_CAUSE_HANDOVER ?
		       0 :
		       delay_ns;
}

/* What the host's time that is gone was spent in: operators and calls. */
static int64_t host_time(const struct tw_diagnosis *d, uint32_t point, const struct tw_scenario *s)
{
	const struct tw_path_point *p = &d->path->points[point];
	uint32_t cause = tw_path_binding(d->path, point);
	int64_t ns;

	if (tw_is_gpu_point(p) || tw_kind_of(p) == TW_POINT_STEP || cause == TW_NO_POINT)
		return 0;
	ns = tw_path_delay(d->path, point, cause);
	return ns - s->rule(d->path, point, cause, ns, s->context);
}

static bool set_graph(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	int64_t launch = 0, all = 0;
	uint32_t i;
	int k;

	for (i = 0; i < d->rank_count; i++) {
		launch += d->claims[i].idle_ns[TW_IDLE_LAUNCH];
		for (k = 0; k <= TW_IDLE_LAUNCH; k++)
			all += d->claims[i].idle_ns[k];
	}
	if (launch < all - launch || (double)launch * 100 < TW_LIMIT_LAUNCH_IDLE_PERCENT *
								    (double)d->window_ns *
								    d->rank_count)
		return false;
	s->rule = in_a_graph;
	s->context = d->claims;
	f->changed = 1;
	tw_add_heaviest(f, d, 0, host_time, s);
	tw_evidence(f, "%.1f ms of %.1f ms idle time end with a launch made meanwhile",
		    (double)launch / 1e6, (double)all / 1e6);
	return true;
}

const struct tw_kind tw_kind_launch_bound = { .look = look_at_calls, .change = set_graph };
