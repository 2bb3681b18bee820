/* What the launching thread does in the largest gaps: one pass over the events that are long enough. */
#include "standalone/system/idle_gaps.h"

#include "analysis/launches/host_names.h"
#include "base/alloc.h"
#include "base/search.h"

#include <stdlib.h>

struct work {
	const struct trawl_trace *trace;
	struct tw_host_names names;
};

/* Which of the three an event may be; NULL: none. */
static uint32_t *place_of(const struct work *w, uint64_t event, struct tw_gap_host *host)
{
	unsigned kinds = tw_host_kinds(&w->names, event);

	switch (tw_class(w->trace, event)) {
	case TRAWL_CLASS_RUNTIME:
	case TRAWL_CLASS_DRIVER:
		return &host->call;
	case TRAWL_CLASS_CPU_OP:
		return kinds & TW_HOST_CONTAINER ? NULL : &host->operation;
	case TRAWL_CLASS_PYTHON:
		return kinds & TW_HOST_PYTHON_CODE && !(kinds & TW_HOST_PYTHON_INTERNAL) ?
			       &host->python :
			       NULL;
	default:
		return NULL;
	}
}

/* Whether an event runs for more than half of a gap. */
static bool fills(const struct tw_events *events, uint64_t event, const struct tw_gap *gap)
{
	int64_t start_ns = events->start_ns[event], end_ns = start_ns + events->dur_ns[event];
	int64_t gap_end_ns = gap->start_ns + gap->dur_ns;

	if (start_ns < gap->start_ns)
		start_ns = gap->start_ns;
	if (end_ns > gap_end_ns)
		end_ns = gap_end_ns;
	return end_ns - start_ns > gap->dur_ns / 2;
}

static void look_at(const struct work *w, uint64_t event, struct tw_gap_host *host)
{
	const struct tw_events *events = &w->trace->events;
	uint32_t *place;

	if (events->track[event] != host->track || !fills(events, event, host->gap))
		return;
	place = place_of(w, event, host);
	/* Of those inside one another the innermost. */
	if (place && (*place == TW_NONE || events->dur_ns[event] <= events->dur_ns[*place]))
		*place = (uint32_t)event;
}

static int64_t middle_of(const struct tw_gap *gap)
{
	return gap->start_ns + gap->dur_ns / 2;
}

static int compare_starts(const void *a, const void *b)
{
	const struct tw_gap *p = (*(struct tw_gap_host *const *)a)->gap;
	const struct tw_gap *q = (*(struct tw_gap_host *const *)b)->gap;

	return (p->start_ns > q->start_ns) - (p->start_ns < q->start_ns);
}

/* Those with a recorded launch, by time; how many. */
static size_t sort_known(struct tw_gap_host *hosts, size_t count, const struct tw_derived *d,
			 struct tw_gap_host **by_time)
{
	size_t i, known = 0;

	for (i = 0; i < count; i++) {
		uint32_t after = hosts[i].gap->after;

		hosts[i].call = hosts[i].operation = hosts[i].python = TW_NONE;
		hosts[i].track = TW_NONE;
		if (after == TW_NONE || d->gpu.launch[after] == TW_NONE)
			continue;
		hosts[i].track = d->trace->events.track[d->host.event[d->gpu.launch[after]]];
		by_time[known++] = &hosts[i];
	}
	if (known)
		qsort(by_time, known, sizeof(*by_time), compare_starts);
	return known;
}

/* What runs for more than half of a gap runs in its middle; gaps do not overlap. */
static void look_at_gaps(const struct work *w, struct tw_gap_host *const *by_time, size_t known)
{
	const struct tw_events *events = &w->trace->events;
	uint64_t event;

	for (event = 0; event < events->count; event++) {
		int64_t start_ns = events->start_ns[event], end_ns;
		size_t i;

		if (events->phase[event] != 'X')
			continue;
		end_ns = start_ns + events->dur_ns[event];
		i = TW_LOWER_BOUND(at, 0, known, middle_of(by_time[at]->gap) < start_ns);
		for (; i < known && middle_of(by_time[i]->gap) < end_ns; i++)
			look_at(w, event, by_time[i]);
	}
}

int tw_gap_hosts(struct tw_gap_host *hosts, size_t count, const struct tw_analysis_input *in)
{
	struct tw_gap_host **by_time = tw_alloc_array(in->allocator, count + 1, sizeof(*by_time));
	struct work w = { .trace = in->trace };
	size_t known = by_time ? sort_known(hosts, count, in->derived, by_time) : 0;
	int status = tw_host_names_init(&w.names, in->trace, in->allocator);

	if (by_time && !status && known)
		look_at_gaps(&w, by_time, known);
	tw_host_names_release(&w.names);
	tw_free(in->allocator, by_time, (count + 1) * sizeof(*by_time));
	return by_time ? status : -1;
}
