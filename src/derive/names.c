#include "derive/names.h"

#include "base/alloc.h"

#include <string.h>

static uint32_t text_arg(const struct trawl_trace *trace, uint64_t event, uint32_t key)
{
	struct tw_arg arg;

	if (!tw_trace_arg(trace, event, key, &arg))
		return 0;
	return arg.kind == TW_ARG_TEXT || arg.kind == TW_ARG_JSON || arg.kind == TW_ARG_NUMBER ?
		       arg.text :
		       0;
}

/* Process names hold for every thread of the process, thread names for the one. */
static void apply(struct tw_names *names, const struct trawl_trace *trace, uint64_t event)
{
	const struct tw_track *at = &trace->tracks[trace->events.track[event]];
	uint32_t name = trace->events.name[event], text, i;

	text = text_arg(trace, event,
			name == TW_KEY_process_labels ? TW_KEY_arg_labels : TW_KEY_name);
	for (i = 0; i < trace->track_count; i++) {
		if (trace->tracks[i].pid != at->pid)
			continue;
		if (name == TW_KEY_process_name)
			names->tracks[i].process = text;
		else if (name == TW_KEY_process_labels)
			names->tracks[i].labels = text;
		else if (trace->tracks[i].tid == at->tid)
			names->tracks[i].thread = text;
	}
}

int tw_names_build(struct tw_names *names, const struct trawl_trace *trace)
{
	const struct tw_events *events = &trace->events;
	uint64_t i;

	names->allocator = trace->allocator;
	names->count = trace->track_count;
	names->tracks = tw_alloc_array(names->allocator, names->count + 1, sizeof(*names->tracks));
	if (!names->tracks)
		return -1;
	for (i = 0; i < events->count; i++) {
		if (events->phase[i] != 'M')
			continue;
		if (events->name[i] == TW_KEY_process_name ||
		    events->name[i] == TW_KEY_process_labels ||
		    events->name[i] == TW_KEY_thread_name)
			apply(names, trace, i);
	}
	return 0;
}

void tw_names_release(struct tw_names *names)
{
	if (names->allocator)
		tw_free(names->allocator, names->tracks,
			(names->count + 1) * sizeof(*names->tracks));
	memset(names, 0, sizeof(*names));
}
