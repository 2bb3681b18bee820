/*
 * A stream that waits for an event of another: E where the record says which streams, else W: the
 * last work that was launched before the preceding record of an event, by any thread, and the next
 * that is launched after the wait by the waiting thread or one connected with it.
 */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/ids.h"
#include "base/search.h"
#include "base/sort.h"

#include <string.h>

/* ---- waits whose streams are recorded: events of the category cuda_sync */

struct keys {
	uint32_t source_stream, record; /* text ids of the arguments */
};

static bool is_recorded_wait(const struct trawl_trace *trace, uint64_t i)
{
	const struct tw_events *e = &trace->events;
	static const char wait[] = "Stream Wait";

	return e->phase[i] == 'X' &&
	       !strcmp(trace->texts.entries[trace->categories[e->category[i]].name].ptr,
		       "cuda_sync") &&
	       !strncmp(trace->texts.entries[e->name[i]].ptr, wait, sizeof(wait) - 1);
}

static bool integer_argument(const struct trawl_trace *trace, uint64_t event, uint32_t key,
			     int64_t *value)
{
	struct trawl_argument arg;

	if (!key || !trawl_event_argument(trace, event, key, &arg) ||
	    arg.kind != TRAWL_VALUE_INTEGER)
		return false;
	*value = arg.integer;
	return true;
}

/* The stream of a queue as a number, -1: it is none. */
static int64_t stream_of(const struct tw_rank_build *b, uint32_t queue)
{
	tw_code stream = b->d->gpu.queues[queue].stream;

	return stream < TW_CODE_TEXT ? (int64_t)stream : -1;
}

/* The last launched on a stream with this number before a place. */
static uint32_t last_on_stream(const struct tw_rank_build *b, int64_t stream, uint32_t before)
{
	uint32_t best = TW_NO_POINT, q, at;

	for (q = 0; q < b->rank->queue_count; q++) {
		if (stream_of(b, q) != stream)
			continue;
		at = tw_last_of_queue(b, q, before);
		if (at != TW_NO_POINT && (best == TW_NO_POINT || at > best))
			best = at;
	}
	return best;
}

static uint32_t first_on_stream(const struct tw_rank_build *b, int64_t stream, uint32_t from)
{
	const struct tw_path_rank *r = b->rank;
	uint32_t best = TW_NO_POINT, q;

	for (q = 0; q < r->queue_count; q++) {
		size_t at_, end = b->first_of_queue[q + 1];

		if (stream_of(b, q) != stream)
			continue;
		at_ = TW_LOWER_BOUND(at, b->first_of_queue[q], end, b->by_queue[at] < from);
		if (at_ < end && b->by_queue[at_] < best)
			best = b->by_queue[at_];
	}
	return best;
}

/* Calls by correlation id: the first, which holds others of it. */
static bool list_calls(struct tw_rank_build *b, struct tw_ids *calls)
{
	const struct tw_derived *d = b->d;
	uint64_t i;

	for (i = 0; i < d->host.call_count && !b->failed; i++) {
		tw_code id = d->trace->events.correlation[d->host.event[d->host.call[i]]];

		if (tw_is_link_id(id) && tw_ids_get(calls, id) == TW_IDS_NONE)
			b->failed |= !tw_ids_put(calls, id, d->host.call[i], b->scratch);
	}
	return calls->count;
}

/* Whether the wait's streams and calls are recorded; then it adds what follows. */
static bool add_recorded(struct tw_rank_build *b, const struct tw_ids *calls,
			 const struct keys *keys, uint64_t event)
{
	const struct trawl_trace *trace = b->d->trace;
	int64_t from, record, to = trace->tracks[trace->events.track[event]].stream;
	uint32_t record_node, wait_node, source, target;

	if (!integer_argument(trace, event, keys->source_stream, &from) || from < 0 ||
	    !integer_argument(trace, event, keys->record, &record))
		return false;
	if (to >= (int64_t)TW_CODE_TEXT && !integer_argument(trace, event, TW_KEY_stream, &to))
		return false;
	record_node = tw_ids_get(calls, record);
	wait_node = tw_ids_get(calls, trace->events.correlation[event]);
	if (from == to || record_node == TW_IDS_NONE || wait_node == TW_IDS_NONE)
		return false;
	source = last_on_stream(b, from, tw_launches_before(b, tw_node_start(b, record_node)));
	target = first_on_stream(b, to, tw_launches_before(b, tw_node_start(b, wait_node)));
	if (source == TW_NO_POINT || target == TW_NO_POINT)
		return false;
	source = b->rank->launched[source];
	target = b->rank->launched[target];
	if (b->points.at[2 * source + 1].time_ns <= b->points.at[2 * target].time_ns)
		tw_add_edge(b, 2 * target, 2 * source + 1, TW_CAUSE_EVENT);
	return true;
}

/* Marks the waiting calls whose streams are recorded. */
static void add_all_recorded(struct tw_rank_build *b, uint8_t *done)
{
	const struct trawl_trace *trace = b->d->trace;
	const struct keys keys = { trawl_trace_find_text(trace, "wait_on_stream"),
				   trawl_trace_find_text(trace,
							 "wait_on_cuda_event_record_corr_id") };
	struct tw_ids calls = { 0 };
	uint64_t i;

	if (keys.source_stream && keys.record && list_calls(b, &calls))
		for (i = 0; i < trace->events.count && !b->failed; i++)
			if (is_recorded_wait(trace, i) && add_recorded(b, &calls, &keys, i))
				done[tw_ids_get(&calls, trace->events.correlation[i])] = 1;
	tw_ids_release(&calls, b->scratch);
}

/* ---- waits whose streams are not: inferred from the order of launches */

/* Launches of a group of threads, in order: places in rank->launched. */
struct group {
	uint32_t *places, *first; /* `first` by track */
};

static uint32_t group_of_launch(const struct tw_rank_build *b, uint32_t place)
{
	uint32_t node = b->launch_node[b->rank->launched[place]];

	return b->group[tw_node_track(b, node)];
}

static void list_groups(struct tw_rank_build *b, struct group *g)
{
	uint32_t tracks = b->d->trace->track_count, n = b->rank->launched_count, i, *next;

	g->places = tw_build_array(b, n, sizeof(*g->places));
	g->first = tw_build_array(b, tracks + 1, sizeof(*g->first));
	next = tw_build_array(b, tracks, sizeof(*next));
	if (b->failed)
		return;
	for (i = 0; i < n; i++)
		g->first[group_of_launch(b, i) + 1]++;
	for (i = 0; i < tracks; i++) {
		g->first[i + 1] += g->first[i];
		next[i] = g->first[i];
	}
	for (i = 0; i < n; i++)
		g->places[next[group_of_launch(b, i)]++] = i;
}

static void add_inferred(struct tw_rank_build *b, const struct group *groups,
			 const int64_t *records, size_t record_count, uint32_t node)
{
	const struct tw_path_rank *r = b->rank;
	int64_t wait_ns = tw_node_start(b, node);
	uint32_t group = b->group[tw_node_track(b, node)], end = groups->first[group + 1];
	size_t k = TW_LOWER_BOUND(at, 0, record_count, records[at] < wait_ns);
	size_t j = TW_LOWER_BOUND(at, groups->first[group], end,
				  b->launch_ns[groups->places[at]] < wait_ns);
	uint32_t source, target;

	if (!k || j == end)
		return;
	target = r->launched[groups->places[j]];
	source = tw_launches_before(b, records[k - 1]);
	if (!source--)
		return;
	if (r->queue[r->launched[source]] == r->queue[target])
		source = b->other[source];
	if (source == TW_NO_POINT)
		return;
	source = r->launched[source];
	if (b->points.at[2 * source + 1].time_ns <= b->points.at[2 * target].time_ns)
		tw_add_edge(b, 2 * target, 2 * source + 1, TW_CAUSE_WAIT);
	else
		b->rank->notes.refuted++;
}

static void add_all_inferred(struct tw_rank_build *b, const uint8_t *done)
{
	const struct tw_host *host = &b->d->host;
	int64_t *records = tw_build_array(b, host->call_count, sizeof(*records));
	struct group groups = { 0 };
	size_t n = 0;
	uint64_t i;

	if (b->failed)
		return;
	for (i = 0; i < host->call_count; i++)
		if (tw_node_kinds(b, host->call[i]) & TW_HOST_EVENT_RECORD)
			records[n++] = tw_node_start(b, host->call[i]);
	tw_sort_numbers(records, n);
	list_groups(b, &groups);
	for (i = 0; i < host->call_count && !b->failed; i++)
		if (tw_node_kinds(b, host->call[i]) & TW_HOST_EVENT_WAIT && !done[host->call[i]])
			add_inferred(b, &groups, records, n, host->call[i]);
}

void tw_stream_waits(struct tw_rank_build *b)
{
	uint8_t *done = tw_build_array(b, b->d->host.count, 1);

	if (b->failed)
		return;
	add_all_recorded(b, done);
	if (!b->failed)
		add_all_inferred(b, done);
}
