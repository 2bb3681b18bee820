#include "trawl/events.h"

#include "store/trace.h"
#include "text/text.h"

static struct trawl_id id_of(const struct trawl_trace *trace, tw_code code)
{
	struct trawl_id id = { TRAWL_ID_NONE, 0 };
	const char *text, *digits;
	size_t len;

	if (code == TW_CODE_NONE)
		return id;
	if (!(code & TW_CODE_TEXT)) {
		id.number = code;
		return id;
	}
	/* A number of more than 31 bits is kept as its digits; "007" is a text. */
	text = tw_pool_text(&trace->texts, code & ~TW_CODE_TEXT, &len);
	digits = text + (*text == '-');
	if (*digits < '1' || *digits > '9' || !tw_text_integer(text, len, &id.number)) {
		id.number = TRAWL_ID_NONE;
		id.text = code & ~TW_CODE_TEXT;
	}
	return id;
}

struct trawl_event trawl_trace_event(const struct trawl_trace *trace, uint64_t event)
{
	const struct tw_events *e = &trace->events;
	const struct tw_track *track = &trace->tracks[e->track[event]];
	const struct tw_category *category = &trace->categories[e->category[event]];
	tw_code correlation = e->correlation[event], external = e->external[event];

	return (struct trawl_event){
		.start_ns = e->start_ns[event],
		.dur_ns = e->dur_ns[event],
		.name = e->name[event],
		.category = category->name,
		.kind = category->class,
		.phase = (char)e->phase[event],
		.track = e->track[event],
		.process = id_of(trace, track->pid),
		.thread = id_of(trace, track->tid),
		.device = id_of(trace, track->device),
		.stream = id_of(trace, track->stream),
		.correlation = id_of(trace, correlation ? correlation : TW_CODE_NONE),
		.external = id_of(trace, external ? external : TW_CODE_NONE),
	};
}

uint32_t trawl_trace_tracks(const struct trawl_trace *trace)
{
	return trace->track_count;
}

uint32_t trawl_trace_find_text(const struct trawl_trace *trace, const char *text)
{
	return tw_pool_find(&trace->texts, text, strlen(text));
}

bool trawl_event_next_argument(const struct trawl_trace *trace, uint64_t event, size_t *at,
			       struct trawl_argument *argument)
{
	if (!*at)
		*at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	return *at && tw_args_next(&trace->args, at, argument);
}
