/*
 * Launch calls by name: how many, how long the host spends in them, how long the GPU work then
 * waits, and after what.
 *
 * Delay: from the start of the call to the start of the (first) GPU event it launched.  Queued:
 * the part of the time between the end of the call and the start of the GPU event in which its
 * stream was still at work on earlier events.  A negative delay is a defect of the clocks.
 */
#include "analysis/stats.h"
#include "analysis/sums.h"
#include "base/alloc.h"

#include <string.h>

enum {
	NAME,
	CALLS,
	EVENTS,
	WITHOUT,
	TIME,
	MEAN,
	DELAY_MEAN,
	DELAY_MEDIAN,
	DELAY_MIN,
	DELAY_MAX,
	QUEUED,
	NEGATIVE
};

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("launch", 32, "launch call", .over_ranks = TRAWL_KEY),
	[CALLS] = TW_INTEGER("calls", 10, "number of calls", .over_ranks = TRAWL_COUNT),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 12, "GPU events launched; a graph launch has many",
			      .over_ranks = TRAWL_TOTAL),
	[WITHOUT] = TW_INTEGER("calls without kernel", 12,
			       "launch calls with no GPU event in the trace",
			       .over_ranks = TRAWL_TOTAL),
	[TIME] = TW_MS("call time (ms)", 14, "sum of durations on the host",
		       .over_ranks = TRAWL_TIME),
	[MEAN] = TW_MEAN_US("call mean (µs)", 12, "mean duration of a call",
			    .over_ranks = TRAWL_MEAN),
	[DELAY_MEAN] = TW_MEAN_US("delay mean (µs)", 14,
				  "mean launch delay: start of the call to start of its GPU event",
				  .over_ranks = TRAWL_MEAN),
	[DELAY_MEDIAN] = TW_MEAN_US("delay median (µs)", 14, "median launch delay"),
	[DELAY_MIN] = TW_US("delay min (µs)", 14, "min launch delay", .over_ranks = TRAWL_MIN),
	[DELAY_MAX] = TW_US("delay max (µs)", 14, "max launch delay", .over_ranks = TRAWL_MAX),
	[QUEUED] =
		TW_MS("queued (ms)", 14,
		      "queue delay: part of the delay after the call in which earlier work of the "
		      "stream ran",
		      .over_ranks = TRAWL_TOTAL),
	[NEGATIVE] = TW_INTEGER("negative delays", 10,
				"GPU events that start before their launch call (clock mismatch)"),
};

/* A launch call and what it set off. */
struct call {
	uint32_t node;
	uint32_t events;
	int64_t delay_ns; /* of its first GPU event */
	int64_t queued_ns;
};

struct sum {
	struct tw_sum time;
	tw_wide queued_ns;
	int64_t events, without, negative;
};

struct work {
	struct tw_sums sums; /* by name */
	uint32_t *call_of;   /* by host node: its call, TW_NO_GROUP: none */
	struct call *calls;
	uint64_t count;
	struct tw_members members; /* calls by name */
	int64_t *values;
};

static int64_t node_end(const struct tw_derived *d, uint64_t node)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t e = d->host.event[node];

	return events->start_ns[e] + (events->phase[e] == 'X' ? events->dur_ns[e] : 0);
}

/* Calls that launched something in the view, and those in it that should have, by their name. */
static int find_launch_calls(struct work *w)
{
	const struct tw_derived *d = w->sums.in->derived;
	const struct tw_host *host = &d->host;
	uint64_t i, n = 0;

	memset(w->call_of, 0xff, host->count * sizeof(*w->call_of));
	for (i = 0; i < d->gpu.count; i++)
		if (d->gpu.launch[i] != TW_NONE)
			w->call_of[d->gpu.launch[i]] = 0;
	for (i = 0; i < host->call_count; i++) {
		uint32_t node = host->call[i];
		int64_t start = d->trace->events.start_ns[host->event[node]];
		int64_t end = node_end(d, node);

		if (tw_is_launch_call(d, node) && tw_view_clip(tw_host_view(d), &start, &end))
			w->call_of[node] = 0;
	}
	/* What launched need not be a call: an External id may lead to an operation. */
	for (i = 0; i < host->count; i++)
		n += w->call_of[i] == 0;
	w->calls = tw_alloc_array(w->sums.in->allocator, n + 1, sizeof(*w->calls));
	w->count = n;
	if (!w->calls)
		return -1;
	for (i = 0, n = 0; i < host->count; i++) {
		if (w->call_of[i] == TW_NO_GROUP)
			continue;
		w->calls[n].node = (uint32_t)i;
		w->call_of[i] = (uint32_t)n++;
	}
	return 0;
}

/* Goes through the GPU events by start: what each waited for. */
static int follow_gpu(struct work *w)
{
	const struct tw_derived *d = w->sums.in->derived;
	const struct tw_gpu *gpu = &d->gpu;
	int64_t *busy_until = tw_alloc_array(w->sums.in->allocator, (size_t)gpu->queue_count + 1,
					     sizeof(*busy_until));
	uint32_t q;
	uint64_t g;

	if (!busy_until)
		return -1;
	for (q = 0; q < gpu->queue_count; q++)
		busy_until[q] = INT64_MIN;
	for (g = 0; g < gpu->count; g++) {
		int64_t start = tw_view_real_start(&d->view, gpu->start_ns[g]);
		int64_t stop = tw_view_real_end(&d->view, gpu->start_ns[g], gpu->end_ns[g]);
		int64_t *until = &busy_until[gpu->queue[g]];
		uint64_t node = gpu->launch[g];

		if (node != TW_NONE) {
			struct call *call = &w->calls[w->call_of[node]];
			int64_t called = d->trace->events.start_ns[d->host.event[node]];
			int64_t waited_to = *until < start ? *until : start;

			/* As recorded: a view cuts the event, not its delay. */
			if (!call->events++)
				call->delay_ns = d->trace->events.start_ns[gpu->event[g]] - called;
			if (call->events == 1 && waited_to > node_end(d, node))
				call->queued_ns = waited_to - node_end(d, node);
		}
		if (stop > *until)
			*until = stop;
	}
	return 0;
}

/* Adds up the calls by name. */
static int add_calls(struct work *w)
{
	const struct trawl_allocator *a = w->sums.in->allocator;
	const struct tw_derived *d = w->sums.in->derived;
	const struct tw_events *events = &d->trace->events;
	uint32_t *of = tw_alloc(a, (w->count + 1) * sizeof(*of));
	uint64_t i;

	if (!of)
		return -1;
	for (i = 0; i < w->count; i++) {
		const struct call *call = &w->calls[i];
		uint32_t event = d->host.event[call->node];
		struct sum *sum = tw_sums_add(&w->sums, &events->name[event],
					      node_end(d, call->node) - events->start_ns[event],
					      event);

		if (!sum)
			return -1;
		of[i] = tw_groups_number(&w->sums.groups, sum);
		sum->events += call->events;
		sum->without += !call->events;
		sum->negative += call->events && call->delay_ns < 0;
		sum->queued_ns += call->queued_ns;
	}
	return tw_members_build(&w->members, of, w->count, w->sums.groups.count, a);
}

/* Of the calls of a name that launched something. */
static struct tw_stats measure_delays(const struct work *w, uint32_t group)
{
	uint64_t i, n = 0;

	for (i = w->members.first[group]; i < w->members.first[group + 1]; i++)
		if (w->calls[w->members.list[i]].events)
			w->values[n++] = w->calls[w->members.list[i]].delay_ns;
	return tw_stats_of(w->values, n);
}

static void set_launch_calls(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			     const void *name, const void *value)
{
	const struct sum *sum = value;
	struct tw_stats delay =
		measure_delays(sums->context, tw_groups_number(&sums->groups, value));

	tw_set_name(table, row, NAME, sums->in->trace, *(const uint32_t *)name);
	tw_table_set_integer(table, row, CALLS, sum->time.count);
	tw_table_set_integer(table, row, EVENTS, sum->events);
	tw_table_set_integer(table, row, WITHOUT, sum->without);
	tw_set_sum(table, row, TIME, sum->time.ns);
	tw_set_us(table, row, MEAN, (double)sum->time.ns / (double)sum->time.count);
	tw_table_set_integer(table, row, NEGATIVE, sum->negative);
	if (!delay.count)
		return;
	tw_set_us(table, row, DELAY_MEAN, delay.mean);
	tw_set_us(table, row, DELAY_MEDIAN, delay.median);
	tw_table_set_integer(table, row, DELAY_MIN, delay.min);
	tw_table_set_integer(table, row, DELAY_MAX, delay.max);
	tw_set_sum(table, row, QUEUED, sum->queued_ns);
}

static int run_launches(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	struct work w = { .count = 0 };

	tw_sums_init(&w.sums, in, sizeof(uint32_t), sizeof(struct sum));
	w.sums.context = &w;
	w.call_of = tw_alloc(a, (in->derived->host.count + 1) * sizeof(*w.call_of));
	if (!w.call_of || find_launch_calls(&w) || follow_gpu(&w) || add_calls(&w))
		return TRAWL_ENOMEM;
	w.values = tw_alloc(a, (w.count + 1) * sizeof(*w.values));
	return w.values ? tw_sums_add_rows(&w.sums, table, set_launch_calls, NULL) : TRAWL_ENOMEM;
}

const struct tw_analysis tw_analysis_launches = {
	TW_TABLE("launches", "launch calls: host cost and launch delay of GPU work", columns),
	.needs = TW_NEEDS_HOST,
	.run = run_launches,
};
