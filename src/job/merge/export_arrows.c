/*
 * Exports record no arrows, but calls and GPU work have the ids that tell which launched which:
 * arrows from a launch to its work, as PyTorch's profiler writes them.
 */
#include "job/merge/merge_state.h"

#include "base/alloc.h"
#include "derive/derived.h"
#include "store/parts.h"

static void add_end(struct trawl_trace *trace, uint64_t event, uint8_t phase, unsigned category,
		    tw_code id)
{
	struct tw_events *events = &trace->events;
	uint64_t i = events->count++;

	events->start_ns[i] = events->start_ns[event];
	events->dur_ns[i] = TRAWL_TIME_NONE;
	events->name[i] = trace->categories[category].name;
	events->track[i] = events->track[event];
	events->correlation[i] = id;
	events->external[i] = TW_CODE_NONE;
	events->args[i] = 0;
	events->category[i] = (uint16_t)category;
	events->phase[i] = phase;
}

/* A start for each call that launched something, a finish for each of its works. */
static void add_arrows(struct trawl_trace *trace, const struct tw_derived *d, unsigned category,
		       bool *started)
{
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		uint32_t node = d->gpu.launch[g];
		tw_code id;

		if (node == TW_NONE)
			continue;
		id = trace->events.correlation[d->host.event[node]];
		if (!started[node])
			add_end(trace, d->host.event[node], 's', category, id);
		started[node] = true;
		add_end(trace, d->gpu.event[g], 'f', category, id);
	}
}

int tw_merge_add_arrows(struct trawl_trace *trace, struct trawl_error *err)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	unsigned category = 0;
	struct tw_derived *d;
	size_t room;
	bool *started;
	int status;

	if (!trace->by_process)
		return 0;
	while (category < trace->category_count &&
	       (!trace->categories[category].name ||
		strcmp(tw_pool_text(&trace->texts, trace->categories[category].name, NULL),
		       TW_EXPORT_ARROWS)))
		category++;
	if (category == trace->category_count)
		return 0;
	status = tw_derive(&d, trace, &options, err);
	if (status)
		return status;
	room = d->host.count + 1;
	started = tw_alloc_array(trace->allocator, room, sizeof(*started));
	if (started && !tw_events_reserve(&trace->events, 2 * d->gpu.count + 1, trace->allocator))
		add_arrows(trace, d, category, started);
	else
		status = tw_no_memory(err);
	tw_free(trace->allocator, started, room * sizeof(*started));
	tw_derived_free(d);
	return status;
}
