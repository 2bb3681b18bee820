/* Calls of the host that wait for GPU work: from its end to theirs. */
#define _GNU_SOURCE
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/ids.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/limits.h"

#include <string.h>

/* So many launches back a call may have waited for. */
#define LAUNCHES_BACK 200

struct syncs {
	struct tw_rank_build *b;
	uint32_t *ends;	     /* places in rank->launched, by end of the work */
	uint32_t *latest;    /* by place in by_queue: the place of the launch of the stream up to it
				that ends last */
	uint32_t *last_copy; /* by host node of a call: the last copy that it launched, + 1 */
	struct tw_ids
		streams; /* by correlation id of a call: the number of the stream it waits for */
};

static int64_t end_of_place(const struct tw_rank_build *b, uint32_t place)
{
	return b->points.at[2 * b->rank->launched[place] + 1].time_ns;
}

static uint64_t end_key(const void *build, uint32_t place)
{
	return tw_sort_key(end_of_place(build, place));
}

static void index_ends(struct syncs *s)
{
	struct tw_rank_build *b = s->b;
	const struct tw_path_rank *r = b->rank;
	uint32_t i, q;

	s->ends = tw_build_array(b, r->launched_count, sizeof(*s->ends));
	s->latest = tw_build_array(b, r->launched_count, sizeof(*s->latest));
	s->last_copy = tw_build_array(b, b->d->host.count, sizeof(*s->last_copy));
	if (b->failed)
		return;
	for (i = 0; i < r->launched_count; i++) {
		s->ends[i] = i;
		if (tw_class(b->d->trace, b->d->gpu.event[r->launched[i]]) == TRAWL_CLASS_MEMCPY)
			s->last_copy[b->launch_node[r->launched[i]]] = r->launched[i] + 1;
	}
	b->failed |= tw_sort(s->ends, r->launched_count, end_key, b, b->scratch);
	for (q = 0; q < r->queue_count; q++)
		for (i = b->first_of_queue[q]; i < b->first_of_queue[q + 1]; i++)
			s->latest[i] = i > b->first_of_queue[q] &&
						       end_of_place(b, s->latest[i - 1]) >
							       end_of_place(b, b->by_queue[i]) ?
					       s->latest[i - 1] :
					       b->by_queue[i];
}

/* Which stream a call waits for, where that is recorded. */
static void list_streams(struct syncs *s)
{
	static const char name[] = "Stream Sync";
	const struct trawl_trace *trace = s->b->d->trace;
	const struct tw_events *e = &trace->events;
	struct trawl_argument arg;
	uint64_t i;

	for (i = 0; i < e->count && !s->b->failed; i++) {
		int64_t stream = trace->tracks[e->track[i]].stream;

		if (e->phase[i] != 'X' || tw_class(trace, i) != TRAWL_CLASS_OTHER ||
		    !strstr(trace->texts.entries[e->name[i]].ptr, name) ||
		    !tw_is_link_id(e->correlation[i]))
			continue;
		if (stream >= (int64_t)TW_CODE_TEXT) {
			if (!trawl_event_argument(trace, i, TW_KEY_stream, &arg) ||
			    arg.kind != TRAWL_VALUE_INTEGER)
				continue;
			stream = arg.integer;
		}
		if (stream >= 0 && stream < (int64_t)TW_CODE_TEXT &&
		    tw_ids_get(&s->streams, e->correlation[i]) == TW_IDS_NONE)
			s->b->failed |= !tw_ids_put(&s->streams, e->correlation[i],
						    (uint32_t)stream, s->b->scratch);
	}
}

/* The call waits for GPU work at a place, if that ends before it. */
static void add_sync(struct syncs *s, uint32_t node, uint32_t place)
{
	struct tw_rank_build *b = s->b;

	if (place != TW_NO_POINT && end_of_place(b, place) <= tw_node_end(b, node))
		tw_add_edge(b, b->end_of[node], 2 * b->rank->launched[place] + 1, TW_CAUSE_SYNC);
}

/* The device: the last work of each stream. */
static void wait_for_device(struct syncs *s, uint32_t node, uint32_t before)
{
	const struct tw_rank_build *b = s->b;
	uint32_t q;

	for (q = 0; q < b->rank->queue_count; q++) {
		uint32_t first = b->first_of_queue[q];
		size_t end = TW_LOWER_BOUND(at, first, b->first_of_queue[q + 1],
					    b->by_queue[at] < before);

		if (end > first)
			add_sync(s, node, s->latest[end - 1]);
	}
}

/* The latest end inside a call of work launched before it. */
static uint32_t latest_inside(const struct syncs *s, uint32_t node, uint32_t before)
{
	const struct tw_rank_build *b = s->b;
	uint32_t n = b->rank->launched_count;
	size_t low =
		TW_LOWER_BOUND(at, 0, n, end_of_place(b, s->ends[at]) <= tw_node_start(b, node));
	size_t high =
		TW_LOWER_BOUND(at, low, n, end_of_place(b, s->ends[at]) <= tw_node_end(b, node));

	while (high-- > low)
		if (s->ends[high] < before)
			return s->ends[high];
	return TW_NO_POINT;
}

/* The last work that the thread itself launched and that had ended. */
static uint32_t latest_of_thread(const struct syncs *s, uint32_t node, uint32_t before)
{
	const struct tw_rank_build *b = s->b;
	uint32_t i;

	for (i = 1; i <= LAUNCHES_BACK && i <= before; i++) {
		uint32_t place = before - i, call = b->launch_node[b->rank->launched[place]];

		if (tw_node_track(b, call) == tw_node_track(b, node) &&
		    end_of_place(b, place) <= tw_node_end(b, node))
			return place;
	}
	return TW_NO_POINT;
}

static uint32_t last_on_stream(const struct tw_rank_build *b, uint32_t stream, uint32_t before)
{
	uint32_t best = TW_NO_POINT, q, at;

	for (q = 0; q < b->rank->queue_count; q++) {
		if (b->d->gpu.queues[q].stream != stream)
			continue;
		at = tw_last_of_queue(b, q, before);
		if (at != TW_NO_POINT && (best == TW_NO_POINT || at > best))
			best = at;
	}
	return best;
}

static void wait_for_stream(struct syncs *s, uint32_t node, uint32_t before)
{
	const struct tw_rank_build *b = s->b;
	tw_code id = b->d->trace->events.correlation[b->d->host.event[node]];
	uint32_t stream = tw_is_link_id(id) ? tw_ids_get(&s->streams, id) : TW_IDS_NONE, place;

	if (stream != TW_IDS_NONE) {
		add_sync(s, node, last_on_stream(b, stream, before));
		return;
	}
	place = latest_inside(s, node, before);
	add_sync(s, node, place != TW_NO_POINT ? place : latest_of_thread(s, node, before));
}

static void wait_implicitly(struct syncs *s, uint32_t node, uint32_t before)
{
	const struct tw_rank_build *b = s->b;
	uint32_t place = latest_inside(s, node, before);
	int64_t end = tw_node_end(b, node);

	if (place != TW_NO_POINT &&
	    end - end_of_place(b, place) <= TW_LIMIT_PATH_IMPLICIT_RETURN_NS &&
	    end - tw_node_start(b, node) > TW_LIMIT_PATH_IMPLICIT_WAIT_NS)
		add_sync(s, node, place);
}

bool tw_is_blocking_copy(const struct tw_derived *d, unsigned kinds, uint32_t node, uint32_t gpu)
{
	const struct trawl_trace *trace = d->trace;
	const struct tw_events *e = &trace->events;
	uint32_t copy = d->gpu.event[gpu], call = d->host.event[node];
	int64_t call_ns = e->phase[call] == 'X' ? e->dur_ns[call] : 0;

	if (tw_class(trace, copy) != TRAWL_CLASS_MEMCPY ||
	    !strcasestr(trace->texts.entries[e->name[call]].ptr, "memcpy") ||
	    e->start_ns[call] + call_ns < d->gpu.end_ns[gpu])
		return false;
	return kinds & TW_HOST_BLOCKING_COPY ||
	       strstr(trace->texts.entries[e->name[copy]].ptr, "Pageable") ||
	       (call_ns >= d->gpu.end_ns[gpu] - d->gpu.start_ns[gpu] &&
		call_ns > TW_LIMIT_PATH_COPY_CALL_NS);
}

static void add_syncs(struct syncs *s, uint32_t node)
{
	struct tw_rank_build *b = s->b;
	unsigned kinds = tw_node_kinds(b, node);
	uint32_t copy = s->last_copy[node], before;

	if (copy && tw_is_blocking_copy(b->d, kinds, node, copy - 1)) {
		tw_add_edge(b, b->end_of[node], 2 * (copy - 1) + 1, TW_CAUSE_SYNC);
		return;
	}
	before = tw_launches_before(b, tw_node_start(b, node));
	if (kinds & TW_HOST_WAITS_FOR_DEVICE)
		wait_for_device(s, node, before);
	else if (kinds & TW_HOST_WAITS_FOR_STREAM)
		wait_for_stream(s, node, before);
	else if (kinds & TW_HOST_IMPLICIT_WAIT)
		wait_implicitly(s, node, before);
}

void tw_syncs(struct tw_rank_build *b)
{
	const struct tw_host *host = &b->d->host;
	struct syncs s = { .b = b };
	uint64_t i;

	index_ends(&s);
	if (!b->failed)
		list_streams(&s);
	for (i = 0; i < host->call_count && !b->failed; i++)
		if (b->end_of[host->call[i]] != TW_NO_POINT)
			add_syncs(&s, host->call[i]);
	tw_ids_release(&s.streams, b->scratch);
}
