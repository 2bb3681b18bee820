#include "analysis/who/span_work.h"

#include "analysis/ops/op_work.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lengths of these unions give all parts: what is exposed of one is what it adds to those before. */
enum { COMPUTE, KERNELS, ALL, COMMUNICATION, UNIONS };

/* In which of them an event is, by bucket. */
static const bool is_in[TW_BUCKETS][UNIONS] = {
	[TW_COMPUTE] = { [COMPUTE] = true, [KERNELS] = true, [ALL] = true },
	[TW_COMMUNICATION] = { [KERNELS] = true, [ALL] = true, [COMMUNICATION] = true },
	[TW_COPY] = { [ALL] = true },
};

struct unions {
	struct tw_union of[UNIONS];
};

struct measuring {
	const struct tw_derived *d;
	const struct trawl_allocator *a;
	const struct tw_spans *spans;
	const uint32_t *owner;
	struct tw_spans_work *work;
	struct tw_intervals sets[UNIONS];
	struct tw_intervals unlinked; /* computing without a recorded launch */
};

static struct tw_busy busy_of(const int64_t *length)
{
	return (struct tw_busy){
		.busy_ns = length[ALL],
		.computing_ns = length[COMPUTE],
		.exposed_communication_ns = length[KERNELS] - length[COMPUTE],
		.exposed_copy_ns = length[ALL] - length[KERNELS],
		.communication_ns = length[COMMUNICATION],
	};
}

/* ---- by launch */

static void add_event(struct measuring *m, struct tw_span_work *work, uint64_t g,
		      const struct tw_span *span)
{
	const struct tw_gpu *gpu = &m->d->gpu;
	int64_t start_ns = gpu->start_ns[g], end_ns = gpu->end_ns[g];

	if (!work->events++)
		work->first_ns = start_ns;
	if (work->events == 1 || end_ns > work->last_ns)
		work->last_ns = end_ns;
	work->gpu_ns += end_ns - start_ns;
	if (gpu->bucket[g] == TW_COMPUTE)
		work->compute_ns += end_ns - start_ns;
	if (span && tw_view_real_start(&m->d->view, start_ns) >= span->end_ns)
		work->after_ns += end_ns - start_ns;
}

/* GPU events come by start, so the unions of all spans can be made side by side. */
static int measure_launched(struct measuring *m)
{
	const struct tw_gpu *gpu = &m->d->gpu;
	struct tw_spans_work *work = m->work;
	uint64_t i, g, n = m->spans->count + 2;
	struct unions *unions = tw_alloc(m->a, n * sizeof(*unions));
	uint8_t *seen = tw_alloc_array(m->a, m->d->host.count + 1, 1);
	int u;

	if (!unions || !seen)
		return -1;
	for (i = 0; i < n; i++)
		for (u = 0; u < UNIONS; u++)
			unions[i].of[u] = (struct tw_union)TW_UNION_INIT;
	for (g = 0; g < gpu->count; g++) {
		uint32_t launch = gpu->launch[g];
		uint64_t at = launch == TW_NONE	     ? m->spans->count + 1 :
			      m->owner[g] == TW_NONE ? m->spans->count :
						       m->owner[g];

		add_event(m, &work->items[at], g,
			  at < m->spans->count ? &m->spans->items[at] : NULL);
		for (u = 0; u < UNIONS; u++) {
			if (!is_in[gpu->bucket[g]][u])
				continue;
			tw_union_add(&unions[at].of[u], gpu->start_ns[g], gpu->end_ns[g]);
			tw_intervals_add(&m->sets[u], gpu->start_ns[g], gpu->end_ns[g]);
		}
		if (launch == TW_NONE) {
			if (gpu->bucket[g] == TW_COMPUTE)
				tw_intervals_add(&m->unlinked, gpu->start_ns[g], gpu->end_ns[g]);
			continue;
		}
		work->has_launches = true;
		work->items[at].launches += !seen[launch];
		seen[launch] = 1;
	}
	tw_intervals_sum(&m->unlinked);
	for (i = 0; i < n && !m->unlinked.failed; i++) {
		struct tw_span_work *item = &work->items[i];
		int64_t length[UNIONS];

		for (u = 0; u < UNIONS; u++)
			length[u] = unions[i].of[u].length_ns;
		item->launched = busy_of(length);
		item->unlinked_ns =
			tw_intervals_covered(&m->unlinked, item->first_ns, item->last_ns);
	}
	work->has_launches |= !gpu->count;
	tw_free(m->a, seen, m->d->host.count + 1);
	return m->unlinked.failed ? -1 : 0;
}

/* ---- by time */

/* Its annotation, that is, which may end before the next one starts. */
static bool is_whole(const struct tw_derived *d, uint64_t annotation)
{
	int64_t first_ns = d->trace->events.start_ns[annotation], start_ns = first_ns;
	int64_t last_ns = first_ns + d->trace->events.dur_ns[annotation], end_ns = last_ns;

	return tw_view_clip(tw_host_view(d), &start_ns, &end_ns) &&
	       end_ns - start_ns == last_ns - first_ns;
}

static int measure_windows(struct measuring *m)
{
	const struct tw_spans *spans = m->spans;
	int64_t busy_ns = tw_intervals_length(&m->sets[ALL]), sum_ns = 0, inside_ns = 0;
	struct tw_intervals windows;
	uint64_t i;
	int u;

	tw_intervals_init(&windows, m->a);
	for (u = 0; u < UNIONS; u++) {
		tw_intervals_sum(&m->sets[u]);
		if (m->sets[u].failed)
			return -1;
	}
	for (i = 0; i < spans->count; i++) {
		struct tw_span_work *work = &m->work->items[i];
		int64_t start_ns = spans->items[i].start_ns, end_ns = spans->items[i].end_ns;
		int64_t length[UNIONS];

		work->whole = is_whole(m->d, spans->items[i].event);
		work->window_ns = -1;
		/* A view by launch is of those that launched it. */
		if ((m->d->steps.by_launch && !work->events) ||
		    !tw_view_clip(&m->d->view, &start_ns, &end_ns))
			continue;
		for (u = 0; u < UNIONS; u++)
			length[u] = tw_intervals_covered(&m->sets[u], start_ns, end_ns);
		work->window_ns = end_ns - start_ns;
		work->during = busy_of(length);
		sum_ns += work->window_ns;
		tw_intervals_add(&windows, start_ns, end_ns);
	}
	for (i = 0; i < windows.count; i++)
		inside_ns += tw_intervals_covered(&m->sets[ALL], windows.items[i].start_ns,
						  windows.items[i].end_ns);
	m->work->outside_ns = busy_ns - inside_ns;
	m->work->apart = tw_intervals_length(&windows) == sum_ns;
	return windows.failed ? -1 : 0;
}

/* ---- on the host */

/* Spans of a thread with the time in which something runs there, which comes by start. */
struct sweep {
	const uint32_t *spans; /* numbers, by start */
	size_t count, next;
	int64_t end_ns;
};

/* Adds to each span of a thread, which do not overlap there, what it has of an interval. */
static void sweep_over(struct measuring *m, struct sweep *s, int64_t start_ns, int64_t end_ns,
		       bool waiting)
{
	size_t k;

	if (start_ns < s->end_ns)
		start_ns = s->end_ns;
	if (end_ns <= start_ns)
		return;
	s->end_ns = end_ns;
	while (s->next < s->count && m->spans->items[s->spans[s->next]].end_ns <= start_ns)
		s->next++;
	for (k = s->next; k < s->count; k++) {
		const struct tw_span *span = &m->spans->items[s->spans[k]];
		struct tw_span_work *work = &m->work->items[s->spans[k]];
		int64_t from = span->start_ns > start_ns ? span->start_ns : start_ns;
		int64_t to = span->end_ns < end_ns ? span->end_ns : end_ns;

		if (span->start_ns >= end_ns)
			return;
		if (from < to && waiting)
			work->waiting_ns += to - from;
		else if (from < to)
			work->host_ns += to - from;
	}
}

/* Calls that wait for the GPU and do nothing else, by text id; 0: not asked. */
enum { WAITS = 1, WAITS_NOT = 2 };

static bool is_waiting(const struct trawl_trace *trace, uint8_t *known, uint32_t name)
{
	const struct tw_pool_entry *text = &trace->texts.entries[name];
	unsigned kinds;

	if (!known[name]) {
		kinds = tw_host_kinds_of(text->ptr, text->len);
		known[name] = kinds & (TW_HOST_WAITS_FOR_DEVICE | TW_HOST_WAITS_FOR_STREAM) &&
					      !(kinds & TW_HOST_ALLOCATION) ?
				      WAITS :
				      WAITS_NOT;
	}
	return known[name] == WAITS;
}

static uint64_t track_key(const void *context, uint32_t span)
{
	const struct measuring *m = context;

	return m->d->trace->events.track[m->spans->items[span].event];
}

/* A function of Python, or a step that is an operation itself: no work of the host. */
static bool is_around(const struct tw_derived *d, uint64_t node, bool steps_are_ops)
{
	return tw_node_class(d, node) == TRAWL_CLASS_PYTHON ||
	       (steps_are_ops && tw_step_of(d->trace, d->host.event[node]) >= 0);
}

/* Operations and calls that no other one holds, which are those that count, in order of thread. */
static bool is_outer(const struct tw_derived *d, uint64_t node, bool steps_are_ops)
{
	uint32_t parent = d->host.parent[node];

	return (parent == TW_NONE || is_around(d, parent, steps_are_ops)) &&
	       !is_around(d, node, steps_are_ops);
}

static struct sweep begin_thread(const struct measuring *m, const uint32_t *sorted, uint64_t track)
{
	size_t n = m->spans->count;
	size_t first = TW_LOWER_BOUND(at, 0, n, track_key(m, sorted[at]) < track);
	size_t end = TW_LOWER_BOUND(at, first, n, track_key(m, sorted[at]) == track);

	return (struct sweep){ sorted + first, end - first, 0, INT64_MIN };
}

/* Of nodes in order of thread: all that are outer, or the calls that wait. */
static void measure_nodes(struct measuring *m, const uint32_t *sorted, uint8_t *waits)
{
	const struct tw_events *events = &m->d->trace->events;
	const struct tw_host *host = &m->d->host;
	uint64_t i, count = waits ? host->call_count : host->count;
	bool steps_are_ops = tw_class(m->d->trace, m->spans->items[0].event) == TRAWL_CLASS_CPU_OP;
	uint32_t track = UINT32_MAX;
	struct sweep sweep = { 0 };

	for (i = 0; i < count; i++) {
		uint64_t node = waits ? host->call[i] : i;
		uint32_t e = host->event[node];

		if (waits ? !is_waiting(m->d->trace, waits, events->name[e]) :
			    !is_outer(m->d, node, steps_are_ops))
			continue;
		if (events->phase[e] != 'X')
			continue;
		if (events->track[e] != track)
			sweep = begin_thread(m, sorted, events->track[e]);
		track = events->track[e];
		sweep_over(m, &sweep, events->start_ns[e], events->start_ns[e] + events->dur_ns[e],
			   waits != NULL);
	}
}

int tw_spans_measure_host(struct tw_spans_work *work, const struct tw_analysis_input *in,
			  const struct tw_spans *spans)
{
	struct measuring m = { .d = in->derived, .spans = spans, .work = work };
	const struct trawl_allocator *a = in->allocator;
	uint32_t *sorted = tw_alloc(a, (spans->count + 1) * sizeof(*sorted));
	uint8_t *waits = tw_alloc_array(a, in->trace->texts.count, 1);
	uint64_t i;

	for (i = 0; sorted && i < spans->count; i++)
		sorted[i] = (uint32_t)i;
	if (!sorted || !waits || tw_sort(sorted, spans->count, track_key, &m, a))
		return -1;
	measure_nodes(&m, sorted, NULL);
	measure_nodes(&m, sorted, waits);
	tw_free(a, waits, in->trace->texts.count);
	return 0;
}

/* ---- FLOPs */

struct counting {
	const struct tw_analysis_input *in;
	const uint32_t *owner;
	struct tw_spans_work *work;
	double *peak_s; /* by work of the models: its time at the peak, NaN: unknown; -1: not asked */
};

/* The dense peak of the precision of "vector_bf16", or of the unit itself; TFLOP/s, NaN: unknown. */
static double dense_peak(const struct tw_platform *platform, const char *spec)
{
	const char *precision = strchr(spec, '_');
	char matrix[32];
	double peak;

	if (!platform || !precision)
		return NAN;
	snprintf(matrix, sizeof(matrix), "matrix%s", precision);
	peak = tw_platform_peak(platform, matrix, NULL);
	return isnan(peak) ? tw_platform_peak(platform, spec, NULL) : peak;
}

static void add_operation(void *context, uint64_t node, uint32_t work, const char *category)
{
	struct counting *c = context;
	const struct tw_gpu *gpu = &c->in->derived->gpu;
	const struct tw_op_work *w;
	struct tw_span_work *of;
	uint64_t count, i;
	const uint32_t *under = tw_gpu_under(c->in->modelled, node, &count);

	(void)category;
	if (work == TW_NO_GROUP || isnan(c->in->modelled->works[work].flops))
		return;
	w = &c->in->modelled->works[work];
	if (c->peak_s[work] < 0)
		c->peak_s[work] =
			w->flops > 0 ? w->flops / dense_peak(c->in->platform, w->spec) / 1e12 : 0;
	for (i = 0; i < count; i++) {
		int64_t ns = gpu->end_ns[under[i]] - gpu->start_ns[under[i]];

		if (c->owner[under[i]] == TW_NONE || gpu->bucket[under[i]] != TW_COMPUTE)
			continue;
		of = &c->work->items[c->owner[under[i]]];
		of->counted_ns += ns;
		of->peak_ns += isnan(c->peak_s[work]) ? 0 : ns;
	}
	if (!count || c->owner[under[0]] == TW_NONE)
		return;
	of = &c->work->items[c->owner[under[0]]];
	of->flops += w->flops;
	of->peak_s += isnan(c->peak_s[work]) ? 0 : c->peak_s[work];
}

int tw_spans_measure_flops(struct tw_spans_work *work, const struct tw_analysis_input *in,
			   const uint32_t *owner)
{
	size_t n = (size_t)in->modelled->keys.count + 1, i;
	struct counting c = { in, owner, work, tw_alloc(in->allocator, n * sizeof(double)) };

	for (i = 0; c.peak_s && i < n; i++)
		c.peak_s[i] = -1;
	return c.peak_s ? tw_op_work_visit(in->derived, in->modelled, add_operation, &c,
					   in->allocator) :
			  -1;
}

double tw_span_mfu(const struct tw_span_work *work, int64_t wall_ns)
{
	double all_ns = (double)work->compute_ns + (double)work->unlinked_ns;

	if (wall_ns <= 0 || !work->whole || !work->compute_ns ||
	    (double)work->peak_ns * 100 < all_ns * TW_LIMIT_MFU_COVERED_PERCENT)
		return NAN;
	return work->peak_s * 1e9 / (double)wall_ns * 100;
}

int tw_spans_measure(struct tw_spans_work *work, const struct tw_analysis_input *in,
		     const struct tw_spans *spans, const uint32_t *owner)
{
	struct measuring m = {
		.d = in->derived,
		.a = in->allocator,
		.spans = spans,
		.owner = owner,
		.work = work,
	};
	int u;

	*work = (struct tw_spans_work){ 0 };
	work->items = tw_alloc_array(m.a, spans->count + 2, sizeof(*work->items));
	if (!work->items)
		return -1;
	work->outside = work->items + spans->count;
	work->rest = work->outside + 1;
	for (u = 0; u < UNIONS; u++)
		tw_intervals_init(&m.sets[u], m.a);
	tw_intervals_init(&m.unlinked, m.a);
	return measure_launched(&m) || measure_windows(&m) ? -1 : 0;
}
