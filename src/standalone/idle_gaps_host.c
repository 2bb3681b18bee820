/* What the launching thread does in the largest gaps: one pass over the events that are long enough. */
#include "standalone/idle_gaps.h"

#include "analysis/launches/host_names.h"

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

int tw_gap_hosts(struct tw_gap_host *hosts, size_t count, const struct tw_analysis_input *in)
{
	const struct tw_derived *d = in->derived;
	const struct tw_events *events = &in->trace->events;
	struct work w = { .trace = in->trace };
	int64_t shortest_ns = INT64_MAX;
	uint64_t event;
	size_t i, known = 0;
	int status = tw_host_names_init(&w.names, in->trace, in->allocator);

	for (i = 0; i < count; i++) {
		uint32_t after = hosts[i].gap->after;

		hosts[i].call = hosts[i].operation = hosts[i].python = TW_NONE;
		hosts[i].track = TW_NONE;
		if (after == TW_NONE || d->gpu.launch[after] == TW_NONE)
			continue;
		hosts[i].track = events->track[d->host.event[d->gpu.launch[after]]];
		if (hosts[i].gap->dur_ns < shortest_ns)
			shortest_ns = hosts[i].gap->dur_ns;
		known++;
	}
	for (event = 0; !status && known && event < events->count; event++) {
		if (events->phase[event] != 'X' || events->dur_ns[event] <= shortest_ns / 2)
			continue;
		for (i = 0; i < count; i++)
			if (hosts[i].track != TW_NONE)
				look_at(&w, event, &hosts[i]);
	}
	tw_host_names_release(&w.names);
	return status;
}
