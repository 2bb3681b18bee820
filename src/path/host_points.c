/* Points of the host: calls, outermost operations, fetches, steps; what a thread does in order. */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/ids.h"
#include "base/median.h"
#include "base/search.h"
#include "base/sort.h"
#include "derive/view_names.h"

#include <string.h>

static const char step_prefix[] = "ProfilerStep";

void *tw_build_array(struct tw_rank_build *b, size_t count, size_t size)
{
	void *array = tw_alloc_array(b->scratch, count + 1, size);

	b->failed |= !array;
	return array;
}

unsigned tw_build_kinds(struct tw_rank_build *b, uint32_t text)
{
	enum { ASKED = 1u << 31 };
	const struct tw_pool_entry *name = &b->d->trace->texts.entries[text];

	if (!b->kinds[text])
		b->kinds[text] = tw_host_kinds_of(name->ptr, name->len) | ASKED;
	return b->kinds[text] & ~ASKED;
}

void tw_add_edge(struct tw_rank_build *b, uint32_t point, uint32_t from, enum tw_cause code)
{
	struct tw_path_edge edge = { point, from, code };

	b->failed |= !TW_LIST_ADD(&b->edges, &edge, b->scratch);
}

/* ---- what has points: events of the host, of one thread at a time */

struct item {
	int64_t start_ns, end_ns;
	uint32_t event, node; /* node TW_NONE: an annotation */
	unsigned kind;	      /* enum tw_point_kind */
};

struct walk {
	struct tw_rank_build *b;
	TW_LIST(struct item) items; /* of the thread, in order */
	TW_LIST(uint32_t) open;	    /* a stack of them */
	TW_LIST(uint32_t) seq;	    /* 2 x item + (end ? 1 : 0), in order of time */
	uint32_t *annotations;	    /* events, by track, then start, the longest first */
	uint32_t annotation_count, next;
	uint32_t loading;	  /* ranges of data loading that are open */
	TW_LIST(int64_t) fetches; /* durations of those that did not wait */
};

static bool is_profiler_step(const struct trawl_trace *trace, uint64_t event)
{
	const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[event]];

	return name->len >= sizeof(step_prefix) - 1 &&
	       !memcmp(name->ptr, step_prefix, sizeof(step_prefix) - 1);
}

/* Where the profiler marked none, ranges of the program are steps by their names. */
static bool is_step(const struct tw_rank_build *b, uint64_t event)
{
	return is_profiler_step(b->d->trace, event) ||
	       (b->named_steps && tw_step_of(b->d->trace, event) >= 0);
}

static bool is_annotation(struct tw_rank_build *b, uint64_t i)
{
	const struct trawl_trace *trace = b->d->trace;

	return tw_is_range(trace, i, TRAWL_CLASS_ANNOTATION) &&
	       (is_step(b, i) || tw_build_kinds(b, trace->events.name[i]) & TW_HOST_DATA_LOADING);
}

static bool has_profiler_steps(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		if (tw_is_range(trace, i, TRAWL_CLASS_ANNOTATION) && is_profiler_step(trace, i))
			return true;
	return false;
}

static uint64_t track_key(const void *events, uint32_t event)
{
	return ((const struct tw_events *)events)->track[event];
}

static uint64_t shorter_key(const void *events, uint32_t event)
{
	return ~(uint64_t)((const struct tw_events *)events)->dur_ns[event];
}

static void list_annotations(struct walk *w)
{
	struct tw_rank_build *b = w->b;
	const struct tw_events *events = &b->d->trace->events;
	uint64_t i, n = 0;

	b->named_steps = !has_profiler_steps(b->d->trace);
	for (i = 0; i < events->count; i++)
		n += is_annotation(b, i);
	w->annotations = tw_build_array(b, n, sizeof(*w->annotations));
	if (b->failed)
		return;
	for (i = 0; i < events->count && w->annotation_count < n; i++)
		if (is_annotation(b, i))
			w->annotations[w->annotation_count++] = (uint32_t)i;
	b->failed |= tw_sort(w->annotations, n, shorter_key, events, b->scratch) ||
		     tw_sort(w->annotations, n, tw_events_start_key, events, b->scratch) ||
		     tw_sort(w->annotations, n, track_key, events, b->scratch);
}

static void add_item(struct walk *w, const struct item *item)
{
	w->b->failed |= !TW_LIST_ADD(&w->items, item, w->b->scratch);
}

/* Annotations of a track that begin before a node, or with it, as they hold it. */
static void add_annotations(struct walk *w, uint32_t track, int64_t until_ns)
{
	const struct trawl_trace *trace = w->b->d->trace;
	const struct tw_events *e = &trace->events;

	for (; w->next < w->annotation_count; w->next++) {
		uint32_t event = w->annotations[w->next];

		if (e->track[event] > track ||
		    (e->track[event] == track && e->start_ns[event] > until_ns))
			return;
		if (e->track[event] == track)
			add_item(w, &(struct item){ e->start_ns[event],
						    e->start_ns[event] + e->dur_ns[event], event,
						    TW_NONE,
						    is_step(w->b, event) ? TW_POINT_STEP :
									   TW_POINT_LOADER });
	}
}

/* ---- their starts and ends in order */

static void put(struct walk *w, uint32_t item, bool end)
{
	uint32_t entry = 2 * item + end;

	w->b->failed |= !TW_LIST_ADD(&w->seq, &entry, w->b->scratch);
}

static void close_until(struct walk *w, int64_t time_ns)
{
	while (w->open.count && w->items.at[w->open.at[w->open.count - 1]].end_ns <= time_ns)
		put(w, w->open.at[--w->open.count], true);
}

static uint64_t entry_key(const void *items, uint32_t entry)
{
	const struct item *item = (const struct item *)items + entry / 2;

	return tw_sort_key(entry & 1 ? item->end_ns : item->start_ns);
}

static void order_items(struct walk *w)
{
	uint32_t i;

	w->seq.count = w->open.count = 0;
	for (i = 0; i < w->items.count && !w->b->failed; i++) {
		close_until(w, w->items.at[i].start_ns);
		put(w, i, false);
		w->b->failed |= !TW_LIST_ADD(&w->open, &i, w->b->scratch);
	}
	close_until(w, INT64_MAX);
	if (!w->b->failed)
		w->b->failed |=
			tw_sort(w->seq.at, w->seq.count, entry_key, w->items.at, w->b->scratch);
}

static unsigned flags_of(struct walk *w, const struct item *item, bool end)
{
	unsigned kinds = tw_build_kinds(w->b, w->b->d->trace->events.name[item->event]), flags = 0;

	if (item->kind == TW_POINT_CALL && kinds & TW_HOST_ALLOCATION)
		flags |= TW_POINT_IS_ALLOCATION;
	if (item->kind == TW_POINT_CALL &&
	    kinds & (TW_HOST_WAITS_FOR_DEVICE | TW_HOST_WAITS_FOR_STREAM))
		flags |= TW_POINT_WAITS;
	if (end && item->kind == TW_POINT_OP)
		flags |= TW_POINT_IN_OP;
	if (item->node != TW_NONE && w->b->in_op[item->node])
		flags |= TW_POINT_IN_OP;
	/* The start of a fetch is not in it. */
	if (w->loading)
		flags |= TW_POINT_IN_LOADER;
	return flags;
}

static bool waits_for_workers(struct walk *w, const struct item *item, bool end)
{
	return end && tw_build_kinds(w->b, w->b->d->trace->events.name[item->event]) &
			      TW_HOST_WORKER_LOADING;
}

/* The end of a fetch: not before the batch before, whose worker went on meanwhile. */
static void add_batch(struct walk *w, uint32_t point, const struct item *item, uint32_t *last)
{
	int64_t took_ns = item->end_ns - item->start_ns;

	if (took_ns <= w->b->delays->fetch_waits) {
		w->b->failed |= !TW_LIST_ADD(&w->fetches, &took_ns, w->b->scratch);
	} else if (*last != TW_NO_POINT) {
		tw_add_edge(w->b, point, *last, TW_CAUSE_BATCH);
		w->b->points.at[point].flags |= TW_POINT_FETCH;
	}
	*last = point;
}

static uint32_t add_point(struct walk *w, const struct item *item, bool end)
{
	struct tw_rank_build *b = w->b;
	uint32_t number = (uint32_t)b->points.count;
	struct tw_path_point point = {
		.time_ns = end ? item->end_ns : item->start_ns,
		.label = item->event,
		.kind = (uint8_t)(item->kind + end),
		.flags = (uint8_t)flags_of(w, item, end),
	};

	b->failed |= !TW_LIST_ADD(&b->points, &point, b->allocator);
	if (item->node != TW_NONE)
		(end ? b->end_of : b->start_of)[item->node] = number;
	return number;
}

/* A call with nothing inside lasts by itself; all else follows what the thread did before. */
static enum tw_cause cause_of(const struct walk *w, size_t place)
{
	uint32_t entry = w->seq.at[place];

	return entry & 1 && w->seq.at[place - 1] == entry - 1 &&
			       w->items.at[entry / 2].kind == TW_POINT_CALL ?
		       TW_CAUSE_DURATION :
		       TW_CAUSE_HOST;
}

static void add_thread(struct walk *w, uint32_t track)
{
	struct tw_rank_build *b = w->b;
	struct tw_path_thread *thread = &b->rank->threads[b->rank->thread_count];
	uint32_t first = (uint32_t)b->points.count, last_fetch = TW_NO_POINT, point;
	size_t i;

	w->loading = 0;
	order_items(w);
	for (i = 0; i < w->seq.count && !b->failed; i++) {
		const struct item *item = &w->items.at[w->seq.at[i] / 2];
		bool end = w->seq.at[i] & 1;

		point = add_point(w, item, end);
		if (b->failed)
			return;
		if (item->kind == TW_POINT_LOADER)
			w->loading += end ? -1u : 1;
		if (i)
			tw_add_edge(b, point, point - 1, cause_of(w, i));
		if (waits_for_workers(w, item, end))
			add_batch(w, point, item, &last_fetch);
	}
	if (!w->seq.count)
		return;
	*thread = (struct tw_path_thread){ track, first, (uint32_t)b->points.count - first };
	b->rank->thread_count++;
}

static bool is_own(struct tw_rank_build *b, uint32_t node)
{
	enum trawl_class class = tw_node_class(b->d, node);

	return tw_class_is_launch(class) || (class == TRAWL_CLASS_CPU_OP && !b->in_op[node]);
}

static void mark_in_op(struct tw_rank_build *b)
{
	const struct tw_host *host = &b->d->host;
	uint32_t i;

	for (i = 0; i < host->count; i++) {
		uint32_t parent = host->parent[i];

		b->start_of[i] = b->end_of[i] = TW_NO_POINT;
		b->in_op[i] =
			parent != TW_NONE &&
			(b->in_op[parent] || tw_node_class(b->d, parent) == TRAWL_CLASS_CPU_OP);
	}
}

/* The next thread with nodes or annotations, UINT32_MAX: none is left. */
static uint32_t next_track(const struct walk *w, uint32_t node)
{
	const struct tw_derived *d = w->b->d;
	uint32_t a = node < d->host.count ? tw_node_track(w->b, node) : UINT32_MAX;
	uint32_t b = w->next < w->annotation_count ?
			     d->trace->events.track[w->annotations[w->next]] :
			     UINT32_MAX;

	return a < b ? a : b;
}

static void walk_threads(struct walk *w)
{
	struct tw_rank_build *b = w->b;
	const struct tw_host *host = &b->d->host;
	uint32_t node = 0, track;

	while (!b->failed && (track = next_track(w, node)) != UINT32_MAX) {
		w->items.count = 0;
		for (; node < host->count && tw_node_track(b, node) == track; node++) {
			if (!is_own(b, node))
				continue;
			add_annotations(w, track, tw_node_start(b, node));
			add_item(w,
				 &(struct item){ tw_node_start(b, node), tw_node_end(b, node),
						 host->event[node], node,
						 tw_node_class(b->d, node) == TRAWL_CLASS_CPU_OP ?
							 TW_POINT_OP :
							 TW_POINT_CALL });
		}
		add_annotations(w, track, INT64_MAX);
		add_thread(w, track);
	}
}

void tw_host_points(struct tw_rank_build *b)
{
	const struct trawl_trace *trace = b->d->trace;
	struct walk w = { .b = b };
	uint32_t nodes = (uint32_t)b->d->host.count;

	b->kinds = tw_build_array(b, trace->texts.count, sizeof(*b->kinds));
	b->start_of = tw_build_array(b, nodes, sizeof(*b->start_of));
	b->end_of = tw_build_array(b, nodes, sizeof(*b->end_of));
	b->in_op = tw_build_array(b, nodes, 1);
	b->rank->thread_room = trace->track_count + 1;
	b->rank->threads =
		tw_alloc_array(b->allocator, b->rank->thread_room, sizeof(*b->rank->threads));
	b->failed |= !b->rank->threads;
	if (b->failed)
		return;
	mark_in_op(b);
	list_annotations(&w);
	walk_threads(&w);
	TW_LIST_FREE(&w.items, b->scratch);
	TW_LIST_FREE(&w.open, b->scratch);
	TW_LIST_FREE(&w.seq, b->scratch);
	b->rank->fetch_ns = w.fetches.count ? tw_middle_of(w.fetches.at, w.fetches.count).lower :
					      b->delays->fetch;
}

/*
 * ---- threads that hand work to each other: a point of one at which it had nothing open follows what
 * the other did last.  Only where the trace shows that they are connected: by the arrows from forward
 * to backward operations, else by sequence numbers.  Threads that merely poll are not.
 */

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

/* Whether there are any. */
static bool connect_by_arrows(struct tw_rank_build *b)
{
	const struct trawl_trace *trace = b->d->trace;
	const struct tw_events *e = &trace->events;
	struct tw_ids starts = { 0 };
	uint64_t i;
	uint32_t track;
	bool found;

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
	found = starts.count;
	tw_ids_release(&starts, b->scratch);
	return found;
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

/* ---- points of a group in order of time: a heap of its threads, by the next point of each */

struct cursor {
	int64_t time_ns;
	uint32_t thread, point, end;
	uint32_t open; /* ranges and calls that have begun, steps aside */
};

static bool is_before(const struct cursor *a, const struct cursor *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->thread < b->thread);
}

static void sift_down(struct cursor *heap, uint32_t count, uint32_t at)
{
	struct cursor moved = heap[at];
	uint32_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static void hand_over_in(struct tw_rank_build *b, struct cursor *heap, uint32_t count)
{
	uint32_t last = TW_NO_POINT, last_point = TW_NO_POINT, i;

	for (i = count / 2; i--;)
		sift_down(heap, count, i);
	while (count && !b->failed) {
		struct cursor *c = heap;
		const struct tw_path_point *p = &b->points.at[c->point];

		if (last_point != TW_NO_POINT && last != c->thread && !c->open)
			tw_add_edge(b, c->point, last_point, TW_CAUSE_HANDOVER);
		if (tw_kind_of(p) != TW_POINT_STEP)
			c->open += tw_is_end(p) ? -1u : 1;
		last = c->thread;
		last_point = c->point;
		if (++c->point < c->end)
			c->time_ns = b->points.at[c->point].time_ns;
		else
			*c = heap[--count];
		sift_down(heap, count, 0);
	}
}

static uint64_t group_key(const void *build, uint32_t thread)
{
	const struct tw_rank_build *b = build;

	return b->group[b->rank->threads[thread].track];
}

void tw_hand_overs(struct tw_rank_build *b)
{
	uint32_t tracks = b->d->trace->track_count, n = b->rank->thread_count, t, next;
	uint32_t *order = tw_build_array(b, n, sizeof(*order));
	struct cursor *heap = tw_build_array(b, n, sizeof(*heap));

	b->group = tw_build_array(b, tracks, sizeof(*b->group));
	if (b->failed)
		return;
	for (t = 0; t < tracks; t++)
		b->group[t] = t;
	if (!connect_by_arrows(b))
		connect_by_sequence(b);
	for (t = 0; t < n; t++)
		order[t] = t;
	for (t = 0; t < tracks; t++)
		b->group[t] = root_of(b->group, t);
	b->failed |= tw_sort(order, n, group_key, b, b->scratch);
	for (t = 0; t < n && !b->failed; t = next) {
		for (next = t; next < n && group_key(b, order[next]) == group_key(b, order[t]);
		     next++) {
			const struct tw_path_thread *thread = &b->rank->threads[order[next]];

			heap[next - t] = (struct cursor){ b->points.at[thread->first].time_ns,
							  order[next], thread->first,
							  thread->first + thread->count, 0 };
		}
		if (next - t > 1)
			hand_over_in(b, heap, next - t);
	}
}
