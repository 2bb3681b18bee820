/*
 * Launches of a trace in which several processes use the same correlation ids, as ranks merged
 * into one file do.  The process of a GPU event is the one that its arrow comes from, else the one
 * that its arguments or its pid name; else the one that launched all else on its stream.
 */
#include "derive/flows.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/search.h"
#include "store/parts.h"

#include <stdlib.h>

struct process_call {
	tw_code id, pid;
	int64_t start_ns;
	uint64_t node;
};

/* Which process the events of a track were launched by. */
struct owner {
	tw_code pid; /* TW_CODE_NONE: not known */
	bool several;
};

struct work {
	struct tw_derived *d;
	uint32_t part;		    /* of a merged trace */
	struct process_call *calls; /* by id, process, start, node */
	uint64_t count;
	struct tw_flows flows;
	struct owner *owners; /* by track */
};

static int compare_calls(const void *a, const void *b)
{
	const struct process_call *x = a, *y = b;

	return TW_ORDER_BY(x, y, id, pid, start_ns, node);
}

/* Number of calls before `key`. */
static uint64_t count_before(const struct work *w, struct process_call key)
{
	return TW_LOWER_BOUND(at, 0, w->count, compare_calls(&w->calls[at], &key) < 0);
}

/* Of a process, the call with this id that starts last at or before a time, else the first. */
static uint64_t find_call(const struct work *w, tw_code id, tw_code pid, int64_t start_ns)
{
	uint64_t first = count_before(w, (struct process_call){ id, pid, INT64_MIN, 0 });
	uint64_t after;

	if (pid == TW_CODE_NONE || first == w->count || w->calls[first].id != id ||
	    w->calls[first].pid != pid)
		return TW_NONE;
	after = count_before(w, (struct process_call){ id, pid, start_ns, UINT64_MAX });
	return w->calls[after > first ? after - 1 : first].node;
}

static int list_calls(struct work *w)
{
	struct tw_derived *d = w->d;
	const struct tw_events *events = &d->trace->events;
	uint64_t i;

	w->calls = tw_alloc(d->allocator, (d->host.count + 1) * sizeof(*w->calls));
	if (!w->calls)
		return -1;
	for (i = 0; i < d->host.count; i++) {
		uint64_t e = d->host.event[i];

		if (tw_class_is_launch(tw_class(d->trace, e)) &&
		    tw_part_of(d->trace, e) == w->part && tw_is_link_id(events->correlation[e]) &&
		    !tw_is_inner_call(d, i))
			w->calls[w->count++] =
				(struct process_call){ events->correlation[e],
						       d->trace->tracks[events->track[e]].pid,
						       events->start_ns[e], i };
	}
	qsort(w->calls, w->count, sizeof(*w->calls), compare_calls);
	for (i = 1; i < w->count; i++)
		if (w->calls[i].id == w->calls[i - 1].id && w->calls[i].pid == w->calls[i - 1].pid)
			tw_quality_add(&d->quality, TW_DEFECT_duplicate_correlation, 1, -1,
				       (int64_t)d->host.event[w->calls[i].node]);
	return 0;
}

/* Whether calls of one process only have an id; true also when none has. */
static bool is_of_one_process(const struct work *w, tw_code id)
{
	uint64_t first = count_before(w, (struct process_call){ id, 0, INT64_MIN, 0 });
	uint64_t after =
		count_before(w, (struct process_call){ id, TW_CODE_NONE, INT64_MAX, UINT64_MAX });

	return first == after || w->calls[first].pid == w->calls[after - 1].pid;
}

static tw_code pid_of_args(const struct trawl_trace *trace, uint64_t event)
{
	struct trawl_argument arg;

	if (!trawl_event_argument(trace, event, TW_KEY_pid, &arg) ||
	    arg.kind != TRAWL_VALUE_INTEGER || arg.integer < 0 || arg.integer >= TW_CODE_TEXT)
		return TW_CODE_NONE;
	return (tw_code)arg.integer;
}

/* The call of the event's own process, TW_NONE: unknown. */
static uint64_t find_by_event(const struct work *w, uint64_t event)
{
	const struct trawl_trace *trace = w->d->trace;
	struct tw_flow_end place = tw_flow_place(w->d, event, event);
	const struct tw_flow_end *start = tw_flows_start_of(&w->flows, &place);
	uint64_t node = TW_NONE;

	if (start && !start->mixed)
		node = find_call(w, place.id, start->pid, place.time_ns);
	if (node == TW_NONE)
		node = find_call(w, place.id, pid_of_args(trace, event), place.time_ns);
	/* The pid of a GPU event may be the number of its device. */
	if (node == TW_NONE && place.pid != trace->tracks[trace->events.track[event]].device)
		node = find_call(w, place.id, place.pid, place.time_ns);
	return node;
}

static void note_owner(struct work *w, uint64_t event, uint64_t node)
{
	const struct trawl_trace *trace = w->d->trace;
	struct owner *owner = &w->owners[trace->events.track[event]];
	tw_code pid = trace->tracks[trace->events.track[w->d->host.event[node]]].pid;

	if (owner->pid != TW_CODE_NONE && owner->pid != pid)
		owner->several = true;
	owner->pid = pid;
}

/* Links events that have a process, and records the process of each stream. */
static void link_the_sure(struct work *w)
{
	struct tw_derived *d = w->d;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		uint64_t e = d->gpu.event[g];
		tw_code id = d->trace->events.correlation[e];

		if (!tw_is_link_id(id) || d->gpu.launch[g] == TW_NONE ||
		    tw_part_of(d->trace, e) != w->part)
			continue;
		if (!is_of_one_process(w, id)) {
			d->gpu.launch[g] = find_by_event(w, e);
			if (d->gpu.launch[g] == TW_NONE)
				continue;
		}
		note_owner(w, e, d->gpu.launch[g]);
	}
}

/* The rest: by what else is on the stream, else to the nearest call before, whosever it is. */
static void link_the_rest(struct work *w, const uint32_t *nearest)
{
	struct tw_derived *d = w->d;
	const struct tw_events *events = &d->trace->events;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		uint64_t e = d->gpu.event[g];
		const struct owner *owner = &w->owners[events->track[e]];

		if (d->gpu.launch[g] != TW_NONE || nearest[g] == TW_NONE ||
		    tw_part_of(d->trace, e) != w->part)
			continue;
		if (!owner->several)
			d->gpu.launch[g] = find_call(w, events->correlation[e], owner->pid,
						     events->start_ns[e]);
		if (d->gpu.launch[g] != TW_NONE)
			continue;
		d->gpu.launch[g] = nearest[g];
		tw_quality_add(&d->quality, TW_DEFECT_ambiguous_link, 1, -1, (int64_t)e);
	}
}

int tw_links_by_process(struct tw_derived *d, uint32_t part)
{
	size_t owner_bytes = (d->trace->track_count + 1) * sizeof(struct owner);
	size_t bytes = (d->gpu.count + 1) * sizeof(uint32_t);
	uint32_t *nearest = tw_alloc(d->allocator, bytes), t;
	struct work w = { .d = d, .part = part, .owners = tw_alloc(d->allocator, owner_bytes) };
	int status = -1;
	uint64_t g;

	if (nearest && w.owners && !list_calls(&w) && !tw_flows_build(&w.flows, d, part)) {
		for (t = 0; t < d->trace->track_count; t++)
			w.owners[t] = (struct owner){ TW_CODE_NONE, false };
		for (g = 0; g < d->gpu.count; g++)
			nearest[g] = d->gpu.launch[g];
		link_the_sure(&w);
		link_the_rest(&w, nearest);
		status = 0;
	}
	tw_flows_release(&w.flows);
	tw_free(d->allocator, w.calls, (d->host.count + 1) * sizeof(*w.calls));
	tw_free(d->allocator, w.owners, owner_bytes);
	tw_free(d->allocator, nearest, bytes);
	return status;
}
