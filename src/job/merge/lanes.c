/*
 * Slices of a thread or stream nest or stand after each other: a viewer draws nothing else.  What
 * partly overlaps goes to another lane.  An end of an arrow goes with the slice that it lies on.
 */
#include "job/merge/rank_events.h"

#include "base/alloc.h"
#include "base/list.h"

/* Lanes that are looked at for a slice to nest in; after them only those that are empty count. */
#define NESTING_LANES 32
/* Lanes, and tracks, that are looked at for the slice that an end of an arrow lies on. */
#define ARROW_LANES 1024

struct laying {
	struct tw_rank_events *one;
	/* Lanes after the first NESTING_LANES of their place, as heaps by when they are empty. */
	struct free_lanes {
		uint32_t *heap;
		size_t count, capacity;
	} * rest; /* by place */
};

static uint32_t add_lane(struct tw_rank_events *one, uint32_t place, uint32_t number)
{
	struct tw_merge_place *at = &one->places[place];
	struct tw_merge_lane *lane;

	if (!tw_list_grow(&one->lanes, &one->lane_capacity, one->lane_count, sizeof(*one->lanes),
			  one->allocator))
		return TW_NOWHERE;
	lane = &one->lanes[one->lane_count];
	*lane = (struct tw_merge_lane){
		.place = place,
		.number = number,
		.next = TW_NOWHERE,
		.tid = number ? one->next_tid++ : at->tid,
	};
	if (at->last_lane == TW_NOWHERE)
		at->first_lane = one->lane_count;
	else
		one->lanes[at->last_lane].next = one->lane_count;
	at->last_lane = one->lane_count;
	return one->lane_count++;
}

/* What has ended by `start` is no longer open; true when there is room for a slice up to `end`. */
static bool has_room(struct tw_merge_lane *lane, int64_t start, int64_t end)
{
	while (lane->depth && lane->stack[lane->depth - 1].end_ns <= start)
		lane->depth--;
	return !lane->depth || lane->stack[lane->depth - 1].end_ns >= end;
}

static int push_open(const struct tw_rank_events *one, struct tw_merge_lane *lane, int64_t end,
		     uint64_t event)
{
	if (!tw_list_grow(&lane->stack, &lane->capacity, lane->depth, sizeof(*lane->stack),
			  one->allocator))
		return -1;
	lane->stack[lane->depth++] = (struct tw_open){ end, event };
	return 0;
}

/* ---- lanes beyond those looked at: each holds one slice at a time */

static int64_t empty_at(const struct tw_rank_events *one, uint32_t lane)
{
	return one->lanes[lane].depth ? one->lanes[lane].stack[0].end_ns : INT64_MIN;
}

static void sink_down(const struct tw_rank_events *one, struct free_lanes *rest)
{
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < rest->count; at = child) {
		uint32_t lane = rest->heap[at];

		if (child + 1 < rest->count &&
		    empty_at(one, rest->heap[child + 1]) < empty_at(one, rest->heap[child]))
			child++;
		if (empty_at(one, lane) <= empty_at(one, rest->heap[child]))
			return;
		rest->heap[at] = rest->heap[child];
		rest->heap[child] = lane;
	}
}

static void rise(const struct tw_rank_events *one, struct free_lanes *rest)
{
	size_t at = rest->count - 1;

	for (; at; at = (at - 1) / 2) {
		uint32_t lane = rest->heap[at], *up = &rest->heap[(at - 1) / 2];

		if (empty_at(one, *up) <= empty_at(one, lane))
			return;
		rest->heap[at] = *up;
		*up = lane;
	}
}

static uint32_t lay_in_rest(struct laying *l, uint32_t place, uint64_t event, int64_t start,
			    int64_t end)
{
	struct free_lanes *rest = &l->rest[place];
	struct tw_rank_events *one = l->one;
	uint32_t lane;

	if (rest->count && empty_at(one, rest->heap[0]) <= start) {
		lane = rest->heap[0];
		one->lanes[lane].depth = 0;
		if (push_open(one, &one->lanes[lane], end, event))
			return TW_NOWHERE;
		sink_down(one, rest);
		return lane;
	}
	if (!tw_list_grow(&rest->heap, &rest->capacity, rest->count, sizeof(*rest->heap),
			  one->allocator))
		return TW_NOWHERE;
	lane = add_lane(one, place, NESTING_LANES + (uint32_t)rest->count);
	if (lane == TW_NOWHERE || push_open(one, &one->lanes[lane], end, event))
		return TW_NOWHERE;
	rest->heap[rest->count++] = lane;
	rise(one, rest);
	return lane;
}

/* The lane of a slice, TW_NOWHERE: out of memory. */
static uint32_t lay_slice(struct laying *l, uint32_t place, uint64_t event)
{
	struct tw_rank_events *one = l->one;
	int64_t start = one->trace->events.start_ns[event];
	int64_t end = start + one->trace->events.dur_ns[event];
	uint32_t lane = one->places[place].first_lane, number = 0;

	for (; lane != TW_NOWHERE && number < NESTING_LANES; number++) {
		if (has_room(&one->lanes[lane], start, end))
			break;
		lane = one->lanes[lane].next;
	}
	if (number == NESTING_LANES)
		return lay_in_rest(l, place, event, start, end);
	if (lane == TW_NOWHERE)
		lane = add_lane(one, place, number);
	if (lane == TW_NOWHERE || push_open(one, &one->lanes[lane], end, event))
		return TW_NOWHERE;
	return lane;
}

/* ---- arrows */

/* How well a slice fits an end of an arrow: 0 not at all. */
static unsigned arrow_fit(const struct tw_events *events, const struct tw_open *open, uint64_t end)
{
	int64_t time = events->start_ns[end];

	if (open->end_ns < time)
		return 0;
	return 1 + 2u * (events->start_ns[open->event] == time) +
	       4u * (events->correlation[open->event] == events->correlation[end]);
}

/*
 * Whether an end belongs to the slice that begins with it.  Where operations are not kept, others
 * than launches have lost theirs, and what is around them is none of it.
 */
static bool is_exact(const struct tw_rank_events *one, uint64_t end)
{
	return !one->keep_all && !one->categories[one->trace->events.category[end]].launches;
}

/* The lane of the slice that an end lies on, TW_NOWHERE: there is none. */
static uint32_t lane_under(const struct tw_rank_events *one, uint64_t end)
{
	const struct trawl_trace *trace = one->trace;
	uint32_t track = trace->events.track[end], best_lane = TW_NOWHERE, lane;
	uint32_t i = one->thread_first[track], first = i;
	unsigned best = is_exact(one, end) ? 2 : 0, looked_at = 0, fits;

	for (; i < trace->track_count && one->thread_first[one->by_thread[i]] == first &&
	       looked_at < ARROW_LANES;
	     i++) {
		uint32_t place = one->place_of[one->by_thread[i]];

		looked_at++;
		lane = place == TW_NOWHERE ? TW_NOWHERE : one->places[place].first_lane;
		for (; lane != TW_NOWHERE && looked_at < ARROW_LANES;
		     lane = one->lanes[lane].next) {
			const struct tw_merge_lane *at = &one->lanes[lane];

			looked_at++;
			if (!at->depth)
				continue;
			fits = arrow_fit(&trace->events, &at->stack[at->depth - 1], end);
			if (fits > best) {
				best = fits;
				best_lane = lane;
			}
		}
	}
	return best_lane;
}

static int add_end(struct tw_rank_events *one, uint64_t position)
{
	if (!tw_list_grow(&one->ends, &one->end_capacity, one->end_count, sizeof(*one->ends),
			  one->allocator))
		return -1;
	one->lane_of[position] = one->end_count;
	one->ends[one->end_count++] = (struct tw_merge_end){
		.event = one->order[position],
		.lane = lane_under(one, one->order[position]),
		.also = TW_NOWHERE,
		.id = -1,
	};
	return 0;
}

/* ---- all of it */

/* Instants and others stand on the first lane. */
static uint32_t lay_other(struct tw_rank_events *one, uint32_t place)
{
	uint32_t lane = one->places[place].first_lane;

	return lane == TW_NOWHERE ? add_lane(one, place, 0) : lane;
}

static int lay_events(struct laying *l)
{
	struct tw_rank_events *one = l->one;
	const struct tw_events *events = &one->trace->events;
	uint64_t n;

	for (n = 0; n < one->count; n++) {
		uint32_t event = one->order[n], place = one->place_of[events->track[event]], lane;

		if (tw_merge_is_end(events->phase[event])) {
			if (add_end(one, n))
				return -1;
			continue;
		}
		lane = events->phase[event] == 'X' ? lay_slice(l, place, event) :
						     lay_other(one, place);
		if (lane == TW_NOWHERE)
			return -1;
		one->lane_of[n] = lane;
		if (events->phase[event] != 'X')
			one->counts.others++;
		else if (one->places[place].gpu)
			one->counts.gpu_slices++;
		else
			one->counts.host_slices++;
		one->counts.moved += one->lanes[lane].number != 0;
	}
	return 0;
}

int tw_lay_lanes(struct tw_rank_events *one)
{
	struct laying l = { .one = one };
	uint32_t i;
	int status;

	l.rest = tw_arena_array(&one->arena, one->place_count, sizeof(*l.rest));
	if (!l.rest)
		return -1;
	status = lay_events(&l);
	for (i = 0; i < one->place_count; i++)
		tw_free(one->allocator, l.rest[i].heap,
			l.rest[i].capacity * sizeof(*l.rest[i].heap));
	return status;
}
