/* Points of GPU work: its duration, its launch, the order of its stream, full queues. */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/ids.h"
#include "base/search.h"
#include "base/sort.h"
#include "derive/spans.h"
#include "derive/view_names.h"

#include <string.h>

/*
 * The start of the call that launched a GPU event.  Where no call is recorded but the operation is,
 * the start of the outermost one.
 */
static uint32_t launch_node(const struct tw_rank_build *b, uint64_t g)
{
	uint32_t node = b->d->gpu.launch[g];

	while (node != TW_NONE && b->start_of[node] == TW_NO_POINT)
		node = b->d->host.parent[node];
	return node;
}

static void add_points(struct tw_rank_build *b)
{
	const struct tw_gpu *gpu = &b->d->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count && !b->failed; g++) {
		struct tw_path_point p = { .time_ns = gpu->start_ns[g],
					   .label = gpu->event[g],
					   .kind = TW_POINT_GPU };

		if (gpu->bucket[g] == TW_COMMUNICATION)
			p.flags |= TW_POINT_COMMUNICATION;
		if (tw_class(b->d->trace, gpu->event[g]) == TRAWL_CLASS_MEMSET)
			p.flags |= TW_POINT_FILL;
		if (tw_class(b->d->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL)
			p.flags |= TW_POINT_COPY;
		b->points.at[2 * g] = p;
		p.time_ns = gpu->end_ns[g];
		p.kind++;
		b->points.at[2 * g + 1] = p;
		tw_add_edge(b, (uint32_t)(2 * g + 1), (uint32_t)(2 * g), TW_CAUSE_DURATION);
	}
}

/* ---- launches */

static uint64_t launch_key(const void *build, uint32_t gpu)
{
	const struct tw_rank_build *b = build;

	return tw_sort_key(b->points.at[b->rank->launch[gpu]].time_ns);
}

/* A launch that ends up after its work is none: ids of another program. */
static void find_launches(struct tw_rank_build *b)
{
	struct tw_path_rank *r = b->rank;
	const struct tw_gpu *gpu = &b->d->gpu;
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++) {
		uint32_t node = launch_node(b, g);

		if (node != TW_NONE && tw_node_start(b, node) > gpu->end_ns[g])
			node = TW_NONE;
		b->launch_node[g] = node;
		r->launch[g] = node == TW_NONE ? TW_NO_POINT : b->start_of[node];
		r->launch_end[g] = node == TW_NONE ? TW_NO_POINT : b->end_of[node];
		r->queue[g] = gpu->queue[g];
		if (r->launch[g] == TW_NO_POINT) {
			r->notes.without_launch++;
			continue;
		}
		r->launched[r->launched_count++] = g;
		b->points.at[2 * g].flags |= TW_POINT_LAUNCHED;
		b->points.at[2 * g + 1].flags |= TW_POINT_LAUNCHED;
		b->points.at[r->launch[g]].flags |= TW_POINT_LAUNCHED;
		b->points.at[r->launch_end[g]].flags |= TW_POINT_LAUNCHED;
	}
	b->failed |= tw_sort(r->launched, r->launched_count, launch_key, b, b->scratch);
}

/*
 * The annotations of steps; of those that the program names, which may be in others, the outer ones.
 * of_span: by span its step.  How many.
 */
static uint32_t list_steps(const struct tw_rank_build *b, const struct tw_spans *spans,
			   struct tw_path_step *steps, int32_t *of_span)
{
	const struct tw_events *e = &b->d->trace->events;
	uint32_t count = 0;
	uint64_t i;

	for (i = 0; i < spans->count; i++) {
		uint32_t event = spans->items[i].event;
		int64_t start_ns = e->start_ns[event];

		if (!b->named_steps || !count || start_ns >= steps[count - 1].end_ns)
			steps[count++] = (struct tw_path_step){ start_ns,
								start_ns + e->dur_ns[event],
								tw_step_of(b->d->trace, event) };
		of_span[i] = (int32_t)count - 1;
	}
	return count;
}

/* As the table `steps` has it: what is launched after a step, before the next one, is the step's. */
static int32_t step_of(const struct tw_rank_build *b, const struct tw_spans *spans,
		       const int32_t *of_span, uint32_t g)
{
	uint32_t span;

	if (b->rank->launch[g] == TW_NO_POINT)
		return -1;
	span = tw_span_at(spans, b->d->trace, b->d->host.event[b->launch_node[g]]);
	return span == UINT32_MAX ? -1 : of_span[span];
}

static void find_steps(struct tw_rank_build *b)
{
	struct tw_path_rank *r = b->rank;
	struct tw_path_step *steps;
	struct tw_spans spans;
	int32_t *of_span;
	uint32_t g;

	if (tw_spans_of_steps(&spans, b->d->trace, b->scratch)) {
		b->failed = true;
		return;
	}
	steps = tw_build_array(b, spans.count, sizeof(*steps));
	of_span = tw_build_array(b, spans.count, sizeof(*of_span));
	if (!b->failed)
		r->step_count = list_steps(b, &spans, steps, of_span);
	r->steps = tw_alloc_array(b->allocator, (size_t)r->step_count + 1, sizeof(*r->steps));
	b->failed |= !r->steps;
	if (!b->failed)
		memcpy(r->steps, steps, r->step_count * sizeof(*steps));
	for (g = 0; g < r->gpu_count && !b->failed; g++)
		r->step[g] = step_of(b, &spans, of_span, g);
}

/* ---- where launches lie: of a stream, and of another one */

static void index_launches(struct tw_rank_build *b)
{
	const struct tw_path_rank *r = b->rank;
	uint32_t i, q, *next;

	b->launch_ns = tw_build_array(b, r->launched_count, sizeof(*b->launch_ns));
	b->other = tw_build_array(b, r->launched_count, sizeof(*b->other));
	b->by_queue = tw_build_array(b, r->launched_count, sizeof(*b->by_queue));
	b->first_of_queue = tw_build_array(b, r->queue_count, sizeof(*b->first_of_queue));
	next = tw_build_array(b, r->queue_count, sizeof(*next));
	if (b->failed)
		return;
	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];

		b->launch_ns[i] = b->points.at[r->launch[g]].time_ns;
		b->first_of_queue[r->queue[g] + 1]++;
		b->other[i] = !i					  ? TW_NO_POINT :
			      r->queue[r->launched[i - 1]] != r->queue[g] ? i - 1 :
									    b->other[i - 1];
	}
	for (q = 0; q < r->queue_count; q++)
		b->first_of_queue[q + 1] += b->first_of_queue[q];
	for (q = 0; q < r->queue_count; q++)
		next[q] = b->first_of_queue[q];
	for (i = 0; i < r->launched_count; i++)
		b->by_queue[next[r->queue[r->launched[i]]]++] = i;
}

uint32_t tw_launches_before(const struct tw_rank_build *b, int64_t time_ns)
{
	return (uint32_t)TW_LOWER_BOUND(at, 0, b->rank->launched_count, b->launch_ns[at] < time_ns);
}

uint32_t tw_last_of_queue(const struct tw_rank_build *b, uint32_t queue, uint32_t before)
{
	uint32_t first = b->first_of_queue[queue];
	size_t at_ =
		TW_LOWER_BOUND(at, first, b->first_of_queue[queue + 1], b->by_queue[at] < before);

	return at_ == first ? TW_NO_POINT : b->by_queue[at_ - 1];
}

/* ---- causes of starts */

/* Launches seen so far: by point the first stream of each, + 1, and others of launches on several. */
struct roots {
	uint32_t *queue;
	struct tw_ids more;
};

/*
 * Of a launch, such as that of a GPU graph, one event on each stream follows the launch; the
 * others follow what is before them on the stream.
 */
static bool is_root(struct tw_rank_build *b, struct roots *roots, uint32_t g)
{
	const struct tw_path_rank *r = b->rank;
	uint32_t *queue = &roots->queue[r->launch[g]];
	int64_t key = (int64_t)r->launch[g] * r->queue_count + r->queue[g];

	if (!*queue) {
		*queue = r->queue[g] + 1;
		return true;
	}
	if (*queue == r->queue[g] + 1 || tw_ids_get(&roots->more, key) != TW_IDS_NONE)
		return false;
	b->failed |= !tw_ids_put(&roots->more, key, 0, b->scratch);
	return true;
}

static void add_launch(struct tw_rank_build *b, struct roots *roots, uint32_t g)
{
	struct tw_path_rank *r = b->rank;

	if (r->launch[g] == TW_NO_POINT || !is_root(b, roots, g))
		return;
	if (b->points.at[r->launch[g]].time_ns <= b->points.at[2 * g].time_ns)
		tw_add_edge(b, 2 * g, r->launch[g], TW_CAUSE_LAUNCH);
	else
		r->notes.before_launch++;
}

/*
 * The work before on the stream, that which ends last.  With programmatic dependent launch work
 * begins before that has ended, but not before it has begun.
 */
static void add_stream_order(struct tw_rank_build *b, uint32_t *last, uint32_t g)
{
	const struct tw_path_point *points = b->points.at;
	uint32_t *before = &last[b->rank->queue[g]];

	if (*before != TW_NO_POINT) {
		tw_add_edge(b, 2 * g, 2 * *before + 1, TW_CAUSE_STREAM);
		if (points[2 * *before + 1].time_ns > points[2 * g].time_ns) {
			tw_add_edge(b, 2 * g, 2 * *before, TW_CAUSE_STREAM);
			b->rank->notes.overlaps++;
		}
	}
	if (*before == TW_NO_POINT || points[2 * *before + 1].time_ns <= points[2 * g + 1].time_ns)
		*before = g;
}

/* A stream takes so many launches before a call blocks until the first of them has begun. */
static void add_full_queues(struct tw_rank_build *b)
{
	const struct tw_path_rank *r = b->rank;
	uint32_t depth = b->delays->depth, *nth, *places, g;

	nth = tw_build_array(b, r->queue_count, sizeof(*nth));
	places = tw_build_array(b, r->launched_count, sizeof(*places));
	if (b->failed || !depth)
		return;
	for (g = 0; g < r->gpu_count && !b->failed; g++) {
		uint32_t q = r->queue[g], n, first = b->first_of_queue[q], end;

		if (r->launch[g] == TW_NO_POINT)
			continue;
		n = nth[q]++;
		places[first + n] = g;
		end = r->launch_end[g];
		if (n >= depth && b->points.at[2 * places[first + n - depth]].time_ns <=
					  b->points.at[end].time_ns)
			tw_add_edge(b, end, 2 * places[first + n - depth], TW_CAUSE_QUEUE);
	}
}

static void add_starts(struct tw_rank_build *b)
{
	uint32_t *last = tw_build_array(b, b->rank->queue_count, sizeof(*last)), q, g;
	struct roots roots = { tw_build_array(b, b->points.count, sizeof(*roots.queue)), { 0 } };

	if (b->failed)
		return;
	for (q = 0; q < b->rank->queue_count; q++)
		last[q] = TW_NO_POINT;
	for (g = 0; g < b->rank->gpu_count && !b->failed; g++) {
		add_launch(b, &roots, g);
		add_stream_order(b, last, g);
	}
	tw_ids_release(&roots.more, b->scratch);
	tw_free(b->scratch, roots.queue, (b->points.count + 1) * sizeof(*roots.queue));
}

static int alloc_rank(struct tw_rank_build *b)
{
	struct tw_path_rank *r = b->rank;
	size_t n = r->gpu_count + 1;

	r->step = tw_alloc_array(b->allocator, n, sizeof(*r->step));
	r->launch = tw_alloc_array(b->allocator, n, sizeof(*r->launch));
	r->launch_end = tw_alloc_array(b->allocator, n, sizeof(*r->launch_end));
	r->queue = tw_alloc_array(b->allocator, n, sizeof(*r->queue));
	r->launched = tw_alloc_array(b->allocator, n, sizeof(*r->launched));
	r->device = tw_alloc_array(b->allocator, (size_t)r->queue_count + 1, sizeof(*r->device));
	b->launch_node = tw_build_array(b, n, sizeof(*b->launch_node));
	return r->step && r->launch && r->launch_end && r->queue && r->launched && r->device ? 0 :
											       -1;
}

static void number_devices(struct tw_rank_build *b)
{
	const struct tw_queue *queues = b->d->gpu.queues;
	struct tw_path_rank *r = b->rank;
	uint32_t q;

	for (q = 0; q < r->queue_count; q++) {
		r->device_count += !q || queues[q].device != queues[q - 1].device;
		r->device[q] = r->device_count - 1;
	}
}

void tw_gpu_points(struct tw_rank_build *b)
{
	b->failed |= alloc_rank(b);
	if (!b->failed) {
		number_devices(b);
		add_points(b);
	}
	if (!b->failed)
		find_launches(b);
	if (!b->failed)
		find_steps(b);
	if (!b->failed)
		index_launches(b);
	if (!b->failed)
		add_starts(b);
	if (!b->failed)
		add_full_queues(b);
}
