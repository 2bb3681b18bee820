/*
 * Idle time of the GPU by what the launching thread did meanwhile; of it what a python function takes that launches
 * nothing for long (host_pause).
 */
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/intervals.h"
#include "base/order.h"
#include "base/search.h"
#include "data/limits.h"
#include "data/tables.h"

#include <stdlib.h>

struct mark {
	int64_t start_ns, end_ns;
	enum tw_idle_cause cause;
};

struct marks {
	struct tw_look *look;
	TW_LIST(struct mark) list;
	int64_t *latest_ns;	    /* by mark: the latest end so far */
	struct tw_ranges explained; /* ranges that have findings of their own */
	struct tw_intervals gaps;   /* that end with a launch made in them */
	struct tw_launch_gaps launch_gaps;
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

	return TW_ORDER_BY(x, y, start_ns, end_ns);
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

/* What did the host in an idle gap that GPU work ends. */
static enum tw_idle_cause cause_of(const struct marks *m, int64_t from_ns, int64_t to_ns)
{
	int64_t used[TW_IDLE_LAUNCH] = { 0 };
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
		return (enum tw_idle_cause)best;
	return used[TW_IDLE_WAITING] ? TW_IDLE_WAITING : TW_IDLE_LAUNCH;
}

/*
 * A python function of the program in which the thread is for most of a long gap, and that is nearly all in it: without
 * that time of it the launch would come so much earlier.  False: there is none.
 */
static bool is_stalled(struct marks *m, int64_t from_ns, uint32_t gpu)
{
	struct tw_look *look = m->look;
	uint32_t call = look->d->gpu.launch[gpu], track = tw_look_track(look, call);
	int64_t to_ns = tw_look_start(look, call), inside;
	const struct tw_frame *f;

	if (to_ns - from_ns <= TW_LIMIT_PAUSE_LEAST_US * 1000)
		return false;
	if (tw_range_at(&look->pauses, track, from_ns + (to_ns - from_ns) / 2))
		return true;
	f = tw_function_in(look, track, from_ns, to_ns);
	if (!f || tw_range_at(&m->explained, track, f->start_ns))
		return false;
	from_ns = f->start_ns > from_ns ? f->start_ns : from_ns;
	to_ns = f->end_ns < to_ns ? f->end_ns : to_ns;
	inside = to_ns - from_ns;
	if ((double)inside * 100 <
	    (double)(f->end_ns - f->start_ns) * TW_LIMIT_PAUSE_SILENT_PERCENT)
		return false;
	tw_claim_host(look, TW_KIND_host_pause, track, from_ns, to_ns, 0);
	tw_claim_spot_at(look, TW_KIND_host_pause, f->event, TW_NONE, f->event, inside);
	look->claims->of[TW_KIND_host_pause].figure += (double)inside;
	return true;
}

static void add_gap(struct marks *m, int64_t from_ns, int64_t to_ns, uint32_t gpu)
{
	enum tw_idle_cause cause = cause_of(m, from_ns, to_ns);
	int64_t *of_phase;

	if (cause == TW_IDLE_LAUNCH && is_stalled(m, from_ns, gpu))
		cause = TW_IDLE_OTHER;
	m->look->claims->idle_ns[cause] += to_ns - from_ns;
	of_phase = m->look->claims->phase_idle_ns[tw_when_phase(m->look->when, gpu)];
	of_phase[0] += cause == TW_IDLE_LAUNCH ? to_ns - from_ns : 0;
	of_phase[1] += to_ns - from_ns;
	if (cause != TW_IDLE_LAUNCH)
		return;
	tw_claim_launch(m->look, TW_KIND_launch_bound, gpu, to_ns - from_ns);
	tw_intervals_add(&m->gaps, from_ns, to_ns);
	m->look->failed |= !TW_LIST_ADD(
		&m->launch_gaps.list,
		&((struct tw_launch_gap){ from_ns, to_ns, gpu,
					  tw_attribution_of_gpu(m->look->who, gpu)->path,
					  m->look->part->rank.step[gpu] }),
		m->look->scratch);
}

/* Outermost operators of threads that launch, by their time in gaps. */
static void claim_operators(struct marks *m)
{
	struct tw_look *look = m->look;
	const struct tw_host *host = &look->d->host;
	bool *inside = tw_alloc_array(look->scratch, (size_t)host->count + 1, sizeof(*inside));
	uint32_t i, thread;

	tw_intervals_sum(&m->gaps);
	look->failed |= !inside || m->gaps.failed;
	for (i = 0; i < host->count && !look->failed; i++) {
		uint32_t parent = host->parent[i];
		int64_t ns;

		inside[i] = tw_node_class(look->d, i) == TRAWL_CLASS_CPU_OP ||
			    (parent != TW_NONE && inside[parent]);
		thread = tw_look_thread(look, tw_look_track(look, i));
		if (!inside[i] || (parent != TW_NONE && inside[parent]) || thread == UINT32_MAX ||
		    !look->threads[thread].count)
			continue;
		ns = tw_intervals_covered(&m->gaps, tw_look_start(look, i), tw_look_end(look, i));
		if (ns > 0)
			tw_claim_operator(look, TW_KIND_launch_bound, i, ns);
	}
}

void tw_idle_by_cause(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	const struct tw_path_point *points = look->part->points;
	struct marks m = { .look = look };
	int64_t end_ns = INT64_MIN;
	uint32_t g;

	tw_intervals_init(&m.gaps, look->scratch);
	list_marks(&m);
	tw_ranges_of_kind(look, TW_HOST_CHECKPOINTING | TW_HOST_COMPILATION, &m.explained);
	for (g = 0; g < r->gpu_count && !look->failed; g++) {
		if (r->launch[g] == TW_NO_POINT || g < look->edge.before ||
		    g >= r->gpu_count - look->edge.after)
			continue;
		if (end_ns != INT64_MIN && points[2 * g].time_ns > end_ns &&
		    tw_is_gpu_viewed(look, g) && points[r->launch_end[g]].time_ns > end_ns)
			add_gap(&m, end_ns, points[2 * g].time_ns, g);
		if (points[2 * g + 1].time_ns > end_ns)
			end_ns = points[2 * g + 1].time_ns;
	}
	claim_operators(&m);
	tw_claim_launch_place(look, &m.launch_gaps);
}
