/* Where events stand in the merged trace: processes by what their events are, not by their pid. */
#include "job/merge/rank_events.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>

/* What a track of the trace holds of events that are kept; bits. */
enum holds {
	HOLDS_ANY = 1,	/* anything but ends of arrows */
	HOLDS_HOST = 2, /* what only a host does */
	HOLDS_WORK = 4, /* what only a GPU does */
	HOLDS_NOTE = 8, /* annotations of a GPU */
};

struct placing {
	struct tw_rank_events *one;
	uint8_t *holds; /* by track */
	uint32_t *same; /* by track: the one whose place it shares, itself else */
	struct key {
		tw_code code, tid;
		uint32_t track;
		const struct trawl_trace *trace;
	} * keys; /* room for one a track */
};

static bool is_host_class(enum trawl_class class)
{
	return class == TRAWL_CLASS_CPU_OP || class == TRAWL_CLASS_PYTHON ||
	       class == TRAWL_CLASS_ANNOTATION || tw_class_is_launch(class);
}

static void look_at_events(struct placing *p)
{
	const struct trawl_trace *trace = p->one->trace;
	const struct tw_events *events = &trace->events;
	uint64_t n;

	for (n = 0; n < p->one->count; n++) {
		uint32_t i = p->one->order[n];
		enum trawl_class class = tw_class(trace, i);
		uint8_t *holds = &p->holds[events->track[i]];

		if (tw_merge_is_end(events->phase[i]))
			continue;
		*holds |= HOLDS_ANY;
		if (tw_class_is_gpu(class))
			*holds |= HOLDS_WORK;
		if (class == TRAWL_CLASS_GPU_ANNOTATION)
			*holds |= HOLDS_NOTE;
	}
	/* Calls that are not kept tell too whose a thread is. */
	for (n = 0; n < events->count; n++)
		if (events->phase[n] == 'X' && is_host_class(tw_class(trace, n)))
			p->holds[events->track[n]] |= HOLDS_HOST;
}

/* ---- tracks of one pid and tid */

static int compare_threads(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return TW_ORDER_BY(x, y, code, tid, track);
}

static void group_by_thread(struct placing *p)
{
	const struct trawl_trace *trace = p->one->trace;
	uint32_t count = trace->track_count, i, first = 0;

	for (i = 0; i < count; i++)
		p->keys[i] = (struct key){ trace->tracks[i].pid, trace->tracks[i].tid, i, trace };
	qsort(p->keys, count, sizeof(*p->keys), compare_threads);
	for (i = 0; i < count; i++) {
		if (p->keys[i].code != p->keys[first].code || p->keys[i].tid != p->keys[first].tid)
			first = i;
		p->one->by_thread[i] = p->keys[i].track;
		p->one->thread_first[p->keys[i].track] = first;
	}
}

/*
 * Events of other kinds on a stream (waiting, annotations that do not name their stream) have a
 * track of their own, and belong to the work there; not so where a thread of the host has the same
 * pid and tid by chance.
 */
static void join_tracks(struct placing *p)
{
	const uint32_t *tracks = p->one->by_thread, *first = p->one->thread_first;
	uint32_t count = p->one->trace->track_count, begin, end, i, work;

	for (begin = 0; begin < count; begin = end) {
		work = TW_NOWHERE;
		for (end = begin; end < count && first[tracks[end]] == begin; end++)
			if (work == TW_NOWHERE && p->holds[tracks[end]] & HOLDS_WORK)
				work = tracks[end];
		for (i = begin; i < end; i++)
			p->same[tracks[i]] = work == TW_NOWHERE ||
							     p->holds[tracks[i]] &
								     (HOLDS_WORK | HOLDS_HOST) ?
						     tracks[i] :
						     work;
	}
}

/* ---- processes */

static int compare_codes(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return x->code != y->code ? tw_code_compare(x->trace, x->code, y->code) :
				    TW_ORDER_BY(x, y, track);
}

static bool is_gpu(const struct placing *p, uint32_t track)
{
	/* Not each tells its device. */
	return p->one->trace->tracks[track].device != TW_CODE_NONE ||
	       p->holds[track] & (HOLDS_WORK | HOLDS_NOTE);
}

/* One process for each device, or for each pid of the host, in their order. */
static int add_processes(struct placing *p, bool gpu, struct trawl_error *err)
{
	struct tw_rank_events *one = p->one;
	const struct trawl_trace *trace = one->trace;
	int64_t pid = one->rank * TW_MERGE_PIDS + (gpu ? 0 : TW_MERGE_HOST_PIDS), first = pid;
	uint32_t count = 0, t, i;

	for (t = 0; t < trace->track_count; t++)
		if (p->holds[t] & HOLDS_ANY && p->same[t] == t && is_gpu(p, t) == gpu)
			p->keys[count++] =
				(struct key){ gpu ? trace->tracks[t].device : trace->tracks[t].pid,
					      0, t, trace };
	qsort(p->keys, count, sizeof(*p->keys), compare_codes);
	for (i = 0; i < count; i++) {
		struct tw_merge_process *process = &one->processes[one->process_count];

		if (!i || p->keys[i].code != p->keys[i - 1].code) {
			if (pid - first == TW_MERGE_HOST_PIDS)
				return trawl_error_set(err, TRAWL_ELIMIT,
						       "more than %d %s in one trace",
						       TW_MERGE_HOST_PIDS,
						       gpu ? "GPUs" : "processes");
			*process = (struct tw_merge_process){ p->keys[i].code, pid++, gpu, 0 };
			one->process_count++;
		}
		one->places[one->place_count] = (struct tw_merge_place){
			.track = p->keys[i].track,
			.process = one->process_count - 1,
			.code = gpu ? trace->tracks[p->keys[i].track].stream :
				      trace->tracks[p->keys[i].track].tid,
			.first_lane = TW_NOWHERE,
			.last_lane = TW_NOWHERE,
			.gpu = gpu,
		};
		one->place_of[p->keys[i].track] = one->place_count++;
	}
	return 0;
}

/* ---- threads */

static int compare_places_by_code(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return TW_ORDER_BY(x, y, tid) ?: compare_codes(a, b);
}

/* Places of a process stand in the order of their threads. */
static void sort_places(struct placing *p, struct tw_merge_place *sorted)
{
	struct tw_rank_events *one = p->one;
	uint32_t i;

	for (i = 0; i < one->place_count; i++)
		p->keys[i] =
			(struct key){ one->places[i].code, one->places[i].process, i, one->trace };
	qsort(p->keys, one->place_count, sizeof(*p->keys), compare_places_by_code);
	for (i = 0; i < one->place_count; i++)
		sorted[i] = one->places[p->keys[i].track];
	for (i = 0; i < one->place_count; i++) {
		one->places[i] = sorted[i];
		one->place_of[sorted[i].track] = i;
	}
}

/* Threads that are numbers a viewer can take: 32 bits with or without sign. */
static bool number_of(const struct trawl_trace *trace, tw_code code, int64_t *number)
{
	char buffer[24];
	const char *text;
	size_t len, i;
	bool negative;

	*number = 0;
	if (code == TW_CODE_NONE)
		return true;
	text = tw_code_text(trace, code, buffer, &len);
	negative = len && text[0] == '-';
	if (len == negative || len > 11)
		return false;
	for (i = negative; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*number = *number * 10 + (text[i] - '0');
	}
	if (negative)
		*number = -*number;
	return *number >= INT32_MIN && *number <= UINT32_MAX;
}

struct tid {
	uint32_t process, place;
	int64_t tid;
	bool renumbered; /* it has no number that a viewer can take */
};

static int compare_tids(const void *a, const void *b)
{
	const struct tid *x = a, *y = b;

	return TW_ORDER_BY(x, y, process, renumbered, tid, place);
}

/*
 * Threads keep their number; one that has none, or one that another of its process has, gets one
 * that is free: above all that there are.
 */
static int64_t number_threads(struct tw_rank_events *one, struct tid *tids)
{
	int64_t next = INT64_C(1000000000);
	uint32_t i;

	for (i = 0; i < one->place_count; i++) {
		tids[i].process = one->places[i].process;
		tids[i].place = i;
		tids[i].renumbered = !number_of(one->trace, one->places[i].code, &tids[i].tid);
		if (!tids[i].renumbered && tids[i].tid >= next)
			next = tids[i].tid + 1;
	}
	qsort(tids, one->place_count, sizeof(*tids), compare_tids);
	for (i = 0; i < one->place_count; i++) {
		bool taken = i && tids[i].process == tids[i - 1].process &&
			     !tids[i - 1].renumbered && tids[i].tid == tids[i - 1].tid;

		one->places[tids[i].place].tid = tids[i].renumbered || taken ? next++ : tids[i].tid;
	}
	return next;
}

/* ---- all of it */

static int place_tracks(struct placing *p, struct trawl_error *err)
{
	struct tw_rank_events *one = p->one;
	uint32_t count = one->trace->track_count, t;
	struct tw_merge_place *sorted;
	struct tid *tids;
	int status;

	look_at_events(p);
	group_by_thread(p);
	join_tracks(p);
	/* Work that shares a track has to be there for it. */
	for (t = 0; t < count; t++)
		if (p->holds[t] & HOLDS_ANY)
			p->holds[p->same[t]] |= HOLDS_ANY;
	status = add_processes(p, true, err);
	if (!status)
		status = add_processes(p, false, err);
	if (status)
		return status;
	sorted = tw_arena_array(&one->arena, one->place_count, sizeof(*sorted));
	tids = tw_arena_array(&one->arena, one->place_count, sizeof(*tids));
	if (!sorted || !tids)
		return tw_no_memory(err);
	sort_places(p, sorted);
	one->next_tid = number_threads(one, tids);
	for (t = 0; t < count; t++)
		one->place_of[t] = one->place_of[p->same[t]];
	return 0;
}

/* The labels of a process are on any of its tracks. */
static void take_labels(struct tw_rank_events *one)
{
	uint32_t i;

	for (i = 0; i < one->place_count; i++) {
		uint32_t labels = one->names.tracks[one->places[i].track].labels;

		if (!one->processes[one->places[i].process].labels)
			one->processes[one->places[i].process].labels = labels;
	}
}

int tw_place_events(struct tw_rank_events *one, struct trawl_error *err)
{
	struct tw_arena *arena = &one->arena;
	size_t count = one->trace->track_count, t;
	struct placing p = { .one = one };
	int status;

	p.holds = tw_arena_array(arena, count, sizeof(*p.holds));
	p.same = tw_arena_array(arena, count, sizeof(*p.same));
	p.keys = tw_arena_array(arena, count, sizeof(*p.keys));
	one->processes = tw_arena_array(arena, count, sizeof(*one->processes));
	one->places = tw_arena_array(arena, count, sizeof(*one->places));
	one->place_of = tw_arena_array(arena, count, sizeof(*one->place_of));
	one->by_thread = tw_arena_array(arena, count, sizeof(*one->by_thread));
	one->thread_first = tw_arena_array(arena, count, sizeof(*one->thread_first));
	if (arena->failed || tw_names_build(&one->names, one->trace))
		return tw_no_memory(err);
	for (t = 0; t < count; t++)
		one->place_of[t] = TW_NOWHERE;
	status = place_tracks(&p, err);
	if (!status)
		take_labels(one);
	return status;
}
