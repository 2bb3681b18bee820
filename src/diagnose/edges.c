/*
 * The edge of a recording: with steps the work outside all of them, where idle time lies between, without steps
 * what a gap longer than all the rest separates, if it is a few events.
 */
#include "diagnose/edges.h"

#include "data/limits.h"

struct span {
	int64_t begin_ns, end_ns; /* of all GPU work */
};

static int64_t start_of(const struct tw_path_point *points, const struct tw_path_rank *r,
			uint32_t g)
{
	return points[tw_gpu_start(r, g)].time_ns;
}

static int64_t end_of(const struct tw_path_point *points, const struct tw_path_rank *r, uint32_t g)
{
	return points[tw_gpu_end(r, g)].time_ns;
}

/* Idle time before the first step and after the last one. */
static int64_t idle_outside(const struct tw_path_point *points, const struct tw_path_rank *r)
{
	int64_t first = tw_ns_sum(r->steps[0].start_ns, r->shift_ns), idle = 0, end = INT64_MIN,
		last;
	uint32_t g;

	last = tw_ns_sum(r->steps[r->step_count - 1].end_ns, r->shift_ns);
	for (g = 0; g < r->gpu_count; g++) {
		int64_t start = start_of(points, r, g);

		if (end != INT64_MIN && start > end) {
			if (end < first)
				idle = tw_ns_sum(idle,
						 tw_ns_between(end, start < first ? start : first));
			/* What a step launched may run after it. */
			if (start > last && r->step[g] < 0)
				idle = tw_ns_sum(idle,
						 tw_ns_between(end > last ? end : last, start));
		}
		end = end_of(points, r, g) > end ? end_of(points, r, g) : end;
	}
	return idle;
}

static struct tw_edge outside_steps(const struct tw_path_point *points,
				    const struct tw_path_rank *r)
{
	struct tw_edge edge = { .idle_ns = idle_outside(points, r) };
	uint32_t first = 0, last = r->gpu_count;

	while (first < r->gpu_count && r->step[first] < 0)
		first++;
	while (last > first && r->step[last - 1] < 0)
		last--;
	if (first < last) {
		edge.before = first;
		edge.after = r->gpu_count - last;
	}
	return edge;
}

/* A first or last gap that is longer than the rest, with few events beyond. */
static struct tw_edge beyond_a_gap(const struct tw_path_point *points, const struct tw_path_rank *r,
				   const struct span *span)
{
	int64_t end = INT64_MIN, gap;
	struct tw_edge edge = { 0 };
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++) {
		bool first = g < r->gpu_count - g;

		gap = end == INT64_MIN ? 0 : tw_ns_between(end, start_of(points, r, g));
		if (gap > edge.idle_ns && (first ? g : r->gpu_count - g) < TW_LIMIT_EDGE_EVENTS)
			edge = (struct tw_edge){ gap, first ? g : 0, first ? 0 : r->gpu_count - g };
		end = end_of(points, r, g) > end ? end_of(points, r, g) : end;
	}
	return edge.idle_ns > tw_ns_between(span->begin_ns, span->end_ns) - edge.idle_ns ?
		       edge :
		       (struct tw_edge){ 0 };
}

struct tw_edge tw_edge_of(const struct tw_path_point *points, const struct tw_path_rank *r)
{
	struct span span = { INT64_MAX, INT64_MIN };
	struct tw_edge edge;
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++) {
		if (start_of(points, r, g) < span.begin_ns)
			span.begin_ns = start_of(points, r, g);
		if (end_of(points, r, g) > span.end_ns)
			span.end_ns = end_of(points, r, g);
	}
	if (!r->gpu_count)
		return (struct tw_edge){ 0 };
	edge = r->step_count ? outside_steps(points, r) : beyond_a_gap(points, r, &span);
	if (edge.idle_ns < TW_LIMIT_EDGE_IDLE_US * 1000 ||
	    (double)edge.idle_ns * 100 <
		    TW_LIMIT_EDGE_IDLE_PERCENT * (double)tw_ns_between(span.begin_ns, span.end_ns))
		return (struct tw_edge){ 0 };
	return edge;
}
