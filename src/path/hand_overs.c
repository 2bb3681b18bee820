/*
 * Threads that hand work to each other: a point of one at which it had nothing open follows what the
 * other did last.  Only where the trace shows that they are connected: by the arrows from forward
 * to backward operations, else by sequence numbers.  Threads that merely poll are not.
 */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/ids.h"
#include "base/search.h"
#include "base/sort.h"

#include <string.h>

/* ---- groups of tracks: a forest, the root of each is its number */

static uint32_t root_of(uint32_t *group, uint32_t track)
{
	for (; group[track] != track; track = group[track])
		group[track] = group[group[track]];
	return track;
}

static bool has_points(const struct tw_rank_build *b, uint32_t track)
{
	const struct tw_path_rank *r = b->rank;
	size_t t = TW_LOWER_BOUND(at, 0, r->thread_count, r->threads[at].track < track);

	return t < r->thread_count && r->threads[t].track == track;
}

static void connect(struct tw_rank_build *b, uint32_t x, uint32_t y)
{
	uint32_t a = root_of(b->group, x), c = root_of(b->group, y);

	if (a != c && has_points(b, x) && has_points(b, y))
		b->group[a < c ? c : a] = a < c ? a : c;
}

/* ---- arrows */

static bool is_arrow(const struct trawl_trace *trace, uint64_t i)
{
	unsigned char phase = trace->events.phase[i];

	return (phase == 's' || phase == 'f') && trace->events.correlation[i] != TW_CODE_NONE &&
	       !strcmp(trace->texts.entries[trace->categories[trace->events.category[i]].name].ptr,
		       "fwdbwd");
}

static void connect_by_arrows(struct tw_rank_build *b)
{
	const struct trawl_trace *trace = b->d->trace;
	const struct tw_events *e = &trace->events;
	struct tw_ids starts = { 0 };
	uint64_t i;
	uint32_t track;

	for (i = 0; i < e->count && !b->failed; i++)
		if (e->phase[i] == 's' && is_arrow(trace, i) &&
		    tw_ids_get(&starts, e->correlation[i]) == TW_IDS_NONE)
			b->failed |=
				!tw_ids_put(&starts, e->correlation[i], e->track[i], b->scratch);
	for (i = 0; i < e->count && !b->failed && starts.count; i++) {
		if (e->phase[i] != 'f' || !is_arrow(trace, i))
			continue;
		track = tw_ids_get(&starts, e->correlation[i]);
		if (track != TW_IDS_NONE && track != e->track[i])
			connect(b, track, e->track[i]);
	}
	tw_ids_release(&starts, b->scratch);
}

/* ---- sequence numbers: an operation that names its forward thread, and the one that has its number there */

static int64_t argument(const struct tw_rank_build *b, uint32_t node, uint32_t key)
{
	struct trawl_argument arg;

	return trawl_event_argument(b->d->trace, b->d->host.event[node], key, &arg) &&
			       arg.kind == TRAWL_VALUE_INTEGER ?
		       arg.integer :
		       -1;
}

static bool is_backward(const struct tw_rank_build *b, uint32_t node)
{
	uint32_t name = b->d->trace->events.name[b->d->host.event[node]];

	return strstr(b->d->trace->texts.entries[name].ptr, "Backward");
}

static void connect_by_sequence(struct tw_rank_build *b)
{
	const struct tw_host *host = &b->d->host;
	struct tw_ids forward = { 0 };
	uint32_t i, track;
	int pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < host->count && !b->failed; i++) {
			int64_t sequence;

			if (tw_node_class(b->d, i) != TRAWL_CLASS_CPU_OP)
				continue;
			sequence = argument(b, i, TW_KEY_sequence_number);
			if (sequence < 0 ||
			    (argument(b, i, TW_KEY_forward_thread) > 0) != (pass == 1))
				continue;
			track = tw_ids_get(&forward, sequence);
			if (pass && track != TW_IDS_NONE && track != tw_node_track(b, i))
				connect(b, track, tw_node_track(b, i));
			else if (!pass && track == TW_IDS_NONE && !is_backward(b, i))
				b->failed |= !tw_ids_put(&forward, sequence, tw_node_track(b, i),
							 b->scratch);
		}
	tw_ids_release(&forward, b->scratch);
}

/* ---- points of a group in order of time */

static uint64_t time_key(const void *points, uint32_t point)
{
	return tw_sort_key(((const struct tw_path_point *)points)[point].time_ns);
}

static uint32_t thread_of(const struct tw_rank_build *b, uint32_t point)
{
	const struct tw_path_rank *r = b->rank;

	return (uint32_t)TW_LOWER_BOUND(at, 0, r->thread_count,
					r->threads[at].first + r->threads[at].count <= point);
}

static void hand_over_in(struct tw_rank_build *b, uint32_t group, uint32_t *list, uint32_t *open)
{
	uint32_t count = 0, i, t, last = 0, last_point = TW_NO_POINT, threads = 0;

	for (t = 0; t < b->rank->thread_count; t++) {
		const struct tw_path_thread *thread = &b->rank->threads[t];

		open[t] = 0;
		if (root_of(b->group, thread->track) != group)
			continue;
		threads++;
		for (i = 0; i < thread->count; i++)
			list[count++] = thread->first + i;
	}
	if (threads < 2)
		return;
	b->failed |= tw_sort(list, count, time_key, b->points.at, b->scratch);
	for (i = 0; i < count && !b->failed; i++) {
		const struct tw_path_point *p = &b->points.at[list[i]];

		t = thread_of(b, list[i]);
		if (last_point != TW_NO_POINT && last != t && !open[t])
			tw_add_edge(b, list[i], last_point, TW_CAUSE_HANDOVER);
		if (tw_kind_of(p) != TW_POINT_STEP)
			open[t] += tw_is_end(p) ? -1u : 1;
		last = t;
		last_point = list[i];
	}
}

void tw_hand_overs(struct tw_rank_build *b)
{
	uint32_t tracks = b->d->trace->track_count, t;
	uint32_t *list, *open;

	b->group = tw_build_array(b, tracks, sizeof(*b->group));
	list = tw_build_array(b, b->points.count, sizeof(*list));
	open = tw_build_array(b, b->rank->thread_count, sizeof(*open));
	if (b->failed)
		return;
	for (t = 0; t < tracks; t++)
		b->group[t] = t;
	connect_by_arrows(b);
	connect_by_sequence(b);
	for (t = 0; t < b->rank->thread_count && !b->failed; t++)
		if (root_of(b->group, b->rank->threads[t].track) == b->rank->threads[t].track)
			hand_over_in(b, b->rank->threads[t].track, list, open);
	tw_free(b->scratch, list, (b->points.count + 1) * sizeof(*list));
}
