/*
 * A stream that waits for an event of another: E where the record says which streams, else W: the
 * last work that was launched before the preceding record of an event, by any thread, and the next
 * that is launched after the wait by the waiting thread or one connected with it.
 */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/ids.h"
#include "base/median.h"
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

/*
 * ---- starts that come later after their launch than launches take, and that nothing explains: work of
 * another stream of the device that ended just before.  Shown as inferred.
 */

/* Of a GPU event: its latest cause, and whether only the launch explains its start. */
struct start {
	int64_t latest_ns;
	bool has_cause, launch_alone;
};

static struct start *list_starts(struct tw_rank_build *b)
{
	const struct tw_path_rank *r = b->rank;
	struct start *starts = tw_build_array(b, r->gpu_count, sizeof(*starts));
	size_t i;

	for (i = 0; starts && i < r->gpu_count; i++)
		starts[i] = (struct start){ INT64_MIN, false, true };
	for (i = 0; starts && i < b->edges.count; i++) {
		const struct tw_path_edge *edge = &b->edges.at[i];
		int64_t time = b->points.at[edge->from].time_ns;
		uint32_t g = edge->point / 2;
		struct start *s;

		if (g >= r->gpu_count || edge->point & 1)
			continue;
		s = &starts[g];
		s->has_cause = true;
		if (time > s->latest_ns)
			s->latest_ns = time;
		if (edge->code != TW_CAUSE_LAUNCH && r->launch[g] != TW_NO_POINT &&
		    time > b->points.at[r->launch[g]].time_ns)
			s->launch_alone = false;
	}
	return starts;
}

/* The larger of what launches take on such devices, and twice what they take here. */
static void find_late(struct tw_rank_build *b, const struct start *starts)
{
	struct tw_path_rank *r = b->rank;
	int64_t *latency = tw_build_array(b, r->gpu_count, sizeof(*latency)), usual = 0;
	size_t n = 0;
	uint32_t g;

	if (b->failed)
		return;
	for (g = 0; g < r->gpu_count; g++)
		if (r->launch[g] != TW_NO_POINT && starts[g].launch_alone)
			latency[n++] =
				b->points.at[2 * g].time_ns - b->points.at[r->launch[g]].time_ns;
	usual = n ? 2 * tw_middle_of(latency, n).lower : 0;
	r->late_ns = usual > b->delays->late ? usual : b->delays->late;
}

/* GPU events by device, then end: where those of a device begin is by number of the device. */
struct ends {
	uint32_t *gpu;
	uint32_t *other; /* the place before of another stream of the device, TW_NO_POINT */
	uint32_t *first; /* by device */
};

static uint64_t end_key(const void *build, uint32_t g)
{
	return tw_sort_key(((const struct tw_rank_build *)build)->points.at[2 * g + 1].time_ns);
}

static void list_ends(struct tw_rank_build *b, struct ends *ends)
{
	const struct tw_path_rank *r = b->rank;
	uint32_t *sorted = tw_build_array(b, r->gpu_count, sizeof(*sorted)), *next, g, i, d;

	ends->gpu = tw_build_array(b, r->gpu_count, sizeof(*ends->gpu));
	ends->other = tw_build_array(b, r->gpu_count, sizeof(*ends->other));
	ends->first = tw_build_array(b, r->queue_count + 1, sizeof(*ends->first));
	next = tw_build_array(b, r->queue_count, sizeof(*next));
	if (b->failed)
		return;
	for (g = 0; g < r->gpu_count; g++) {
		sorted[g] = g;
		ends->first[r->device[r->queue[g]] + 1]++;
	}
	b->failed |= tw_sort(sorted, r->gpu_count, end_key, b, b->scratch);
	for (d = 0; d < r->device_count; d++) {
		ends->first[d + 1] += ends->first[d];
		next[d] = ends->first[d];
	}
	for (i = 0; i < r->gpu_count; i++) {
		uint32_t place = next[r->device[r->queue[sorted[i]]]]++;

		ends->gpu[place] = sorted[i];
		ends->other[place] = place == ends->first[r->device[r->queue[sorted[i]]]] ?
					     TW_NO_POINT :
				     r->queue[ends->gpu[place - 1]] != r->queue[sorted[i]] ?
					     place - 1 :
					     ends->other[place - 1];
	}
}

static void explain(struct tw_rank_build *b, const struct ends *ends, uint32_t g)
{
	const struct tw_path_rank *r = b->rank;
	int64_t start_ns = b->points.at[2 * g].time_ns;
	uint32_t d = r->device[r->queue[g]], first = ends->first[d], place;

	place = (uint32_t)TW_LOWER_BOUND(at, first, ends->first[d + 1],
					 b->points.at[2 * ends->gpu[at] + 1].time_ns <= start_ns);
	if (place == first) {
		b->rank->notes.unexplained++;
		return;
	}
	place--;
	if (r->queue[ends->gpu[place]] == r->queue[g])
		place = ends->other[place];
	if (place != TW_NO_POINT &&
	    b->points.at[2 * ends->gpu[place] + 1].time_ns >= start_ns - r->late_ns)
		tw_add_edge(b, 2 * g, 2 * ends->gpu[place] + 1, TW_CAUSE_INFERRED);
	else
		b->rank->notes.unexplained++;
}

void tw_late_starts(struct tw_rank_build *b)
{
	const struct start *starts = list_starts(b);
	struct ends ends = { 0 };
	uint32_t g;

	if (!b->failed)
		find_late(b, starts);
	if (!b->failed)
		list_ends(b, &ends);
	for (g = 0; g < b->rank->gpu_count && !b->failed; g++)
		if (b->rank->launch[g] != TW_NO_POINT && starts[g].has_cause &&
		    b->points.at[2 * g].time_ns - starts[g].latest_ns > b->rank->late_ns)
			explain(b, &ends, g);
}
