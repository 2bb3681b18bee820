#include "trace/pairs.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "trace/reader.h"

#include <stdlib.h>

struct edge {
	tw_code pid, tid;
	int64_t time_ns;
	uint64_t event;
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return TW_ORDER_BY(x, y, pid, tid, time_ns, event);
}

static bool is_edge(const struct tw_events *events, uint64_t i)
{
	return events->phase[i] == 'B' || events->phase[i] == 'E';
}

static void leave_open(struct trawl_trace *trace, uint64_t event)
{
	bool gpu = tw_class_is_gpu(tw_class(trace, event));

	tw_quality_add(&trace->quality, gpu ? TW_DEFECT_gpu_open : TW_DEFECT_open_event, 1, -1,
		       (int64_t)event);
	trace->events.phase[event] = 'x';
}

/* Makes a begin event a slice, when its times can be used. */
static void close_event(struct trawl_trace *trace, uint64_t event, int64_t end_ns)
{
	int64_t start_ns = trace->events.start_ns[event];
	bool gpu = tw_class_is_gpu(tw_class(trace, event));

	if (end_ns - start_ns > TW_LONGEST_DURATION_NS) {
		tw_quality_add(&trace->quality, gpu ? TW_DEFECT_gpu_overflow : TW_DEFECT_overflow,
			       1, -1, (int64_t)event);
		trace->events.dur_ns[event] = TRAWL_TIME_NONE;
		trace->events.phase[event] = 'x';
		return;
	}
	trace->events.dur_ns[event] = end_ns - start_ns;
	trace->events.phase[event] = 'X';
}

/* Walks edges in order of thread and time; `stack` holds positions of open begins. */
static void match_edges(struct trawl_trace *trace, const struct edge *edges, uint64_t count,
			uint64_t *stack)
{
	struct tw_events *events = &trace->events;
	uint64_t i, depth = 0;

	for (i = 0; i < count; i++) {
		const struct edge *edge = &edges[i];

		if (i && (edge->pid != edges[i - 1].pid || edge->tid != edges[i - 1].tid))
			while (depth)
				leave_open(trace, stack[--depth]);
		if (edge->time_ns == TRAWL_TIME_NONE) {
			leave_open(trace, edge->event);
		} else if (events->phase[edge->event] == 'B') {
			stack[depth++] = edge->event;
		} else if (depth) {
			close_event(trace, stack[--depth], edge->time_ns);
		} else {
			leave_open(trace, edge->event);
		}
	}
	while (depth)
		leave_open(trace, stack[--depth]);
}

int tw_pairs_match(struct trawl_trace *trace)
{
	struct tw_events *events = &trace->events;
	uint64_t i, n = 0, *stack;
	struct edge *edges;

	for (i = 0; i < events->count; i++)
		n += is_edge(events, i);
	if (!n)
		return 0;
	edges = tw_alloc_array(trace->allocator, n, sizeof(*edges));
	stack = tw_alloc_array(trace->allocator, n, sizeof(*stack));
	if (edges && stack) {
		uint64_t count = 0;

		for (i = 0; i < events->count; i++) {
			const struct tw_track *track = &trace->tracks[events->track[i]];

			if (is_edge(events, i))
				edges[count++] = (struct edge){ track->pid, track->tid,
								events->start_ns[i], i };
		}
		qsort(edges, n, sizeof(*edges), compare_edges);
		match_edges(trace, edges, n, stack);
	}
	tw_free(trace->allocator, edges, n * sizeof(*edges));
	tw_free(trace->allocator, stack, n * sizeof(*stack));
	return edges && stack ? 0 : -1;
}
