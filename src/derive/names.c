#include "derive/names.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* Tracks in order of process, then thread, so that those a name is for are adjacent. */
struct place {
	tw_code pid, tid;
	uint32_t track;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return TW_ORDER_BY(x, y, pid, tid, track);
}

/* First place at or after (pid, tid). */
static uint32_t find_place(const struct place *places, uint32_t count, tw_code pid, tw_code tid)
{
	return TW_LOWER_BOUND(at, 0, count,
			      places[at].pid < pid ||
				      (places[at].pid == pid && places[at].tid < tid));
}

static uint32_t text_arg(const struct trawl_trace *trace, uint64_t event, uint32_t key)
{
	struct trawl_argument arg;

	if (!trawl_event_argument(trace, event, key, &arg))
		return 0;
	return arg.kind == TRAWL_VALUE_TEXT || arg.kind == TRAWL_VALUE_JSON ||
			       arg.kind == TRAWL_VALUE_NUMBER ?
		       arg.text :
		       0;
}

/*
 * Names of threads go to their tracks; those of processes to the first track of the process, from
 * where spread_process_names() takes them to the others.
 */
static void apply(struct tw_names *names, const struct trawl_trace *trace,
		  const struct place *places, uint64_t event)
{
	const struct tw_track *at = &trace->tracks[trace->events.track[event]];
	bool thread = trace->events.name[event] == TW_KEY_thread_name;
	bool labels = trace->events.name[event] == TW_KEY_process_labels;
	uint32_t text = text_arg(trace, event, labels ? TW_KEY_arg_labels : TW_KEY_name);
	uint32_t i = find_place(places, names->count, at->pid, thread ? at->tid : 0);

	if (!thread) {
		if (labels)
			names->tracks[places[i].track].labels = text;
		else
			names->tracks[places[i].track].process = text;
		return;
	}
	for (; i < names->count && places[i].pid == at->pid && places[i].tid == at->tid; i++)
		names->tracks[places[i].track].thread = text;
}

static void spread_process_names(struct tw_names *names, const struct place *places)
{
	uint32_t i, first = 0;

	for (i = 0; i < names->count; i++) {
		if (places[i].pid != places[first].pid)
			first = i;
		names->tracks[places[i].track].process = names->tracks[places[first].track].process;
		names->tracks[places[i].track].labels = names->tracks[places[first].track].labels;
	}
}

int tw_names_build(struct tw_names *names, const struct trawl_trace *trace)
{
	const struct tw_events *events = &trace->events;
	uint32_t count = trace->track_count, t;
	struct place *places = tw_alloc_array(trace->allocator, count + 1, sizeof(*places));
	uint64_t i;

	names->allocator = trace->allocator;
	names->count = count;
	names->tracks = tw_alloc_array(names->allocator, count + 1, sizeof(*names->tracks));
	for (t = 0; places && t < count; t++)
		places[t] = (struct place){ trace->tracks[t].pid, trace->tracks[t].tid, t };
	if (places && names->tracks) {
		qsort(places, count, sizeof(*places), compare_places);
		for (i = 0; i < events->count; i++)
			if (events->phase[i] == 'M' && (events->name[i] == TW_KEY_process_name ||
							events->name[i] == TW_KEY_process_labels ||
							events->name[i] == TW_KEY_thread_name))
				apply(names, trace, places, i);
		spread_process_names(names, places);
	}
	tw_free(trace->allocator, places, (count + 1) * sizeof(*places));
	return places && names->tracks ? 0 : -1;
}

void tw_names_release(struct tw_names *names)
{
	if (names->allocator && names->tracks)
		tw_free(names->allocator, names->tracks,
			(names->count + 1) * sizeof(*names->tracks));
	memset(names, 0, sizeof(*names));
}
