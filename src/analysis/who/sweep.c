#include "analysis/who/sweep.h"

#include "base/alloc.h"
#include "base/list.h"

struct level {
	int64_t end_ns;
	struct tw_around around;
};

struct work {
	const struct tw_sweep *sweep;
	struct tw_by_thread frames;
	TW_LIST(struct level) stack;
};

static int64_t end_of(const struct tw_events *events, uint64_t i)
{
	return events->start_ns[i] + (events->phase[i] == 'X' ? events->dur_ns[i] : 0);
}

/* Puts an event below the innermost one that holds it: its state so far is that of what is around. */
static bool push(struct work *w, uint32_t event, struct tw_around **around)
{
	const struct tw_events *events = &w->sweep->derived->trace->events;
	struct level level = { .end_ns = end_of(events, event) };
	int64_t start_ns = events->start_ns[event];
	size_t n = w->stack.count;

	while (n && w->stack.at[n - 1].end_ns <= start_ns)
		n--;
	while (n && w->stack.at[n - 1].end_ns < level.end_ns)
		n--;
	if (n)
		level.around = w->stack.at[n - 1].around;
	w->stack.count = n;
	if (!TW_LIST_ADD(&w->stack, &level, w->sweep->allocator))
		return false;
	*around = &w->stack.at[n].around;
	return true;
}

/* Whether a frame comes before a node: of what begins together the longer one, of equal ones the frame. */
static bool is_before(const struct tw_events *e, uint32_t frame, uint32_t node)
{
	if (e->start_ns[frame] != e->start_ns[node])
		return e->start_ns[frame] < e->start_ns[node];
	return end_of(e, frame) >= end_of(e, node);
}

/* Frames and nodes of one thread, [from, to) each. */
static int sweep_thread(struct work *w, uint64_t frame, uint64_t frames_end, uint32_t node,
			uint32_t nodes_end)
{
	const struct tw_sweep *s = w->sweep;
	const uint32_t *frames = w->frames.event, *nodes = s->derived->host.event;
	struct tw_around *around;

	w->stack.count = 0;
	while (frame < frames_end || node < nodes_end) {
		bool is_frame = frame < frames_end &&
				(node == nodes_end ||
				 is_before(&s->derived->trace->events, frames[frame], nodes[node]));

		if (!push(w, is_frame ? frames[frame] : nodes[node], &around))
			return -1;
		if (is_frame ? s->frame(s->context, around, frames[frame++]) :
			       s->node(s->context, around, node++))
			return -1;
	}
	return 0;
}

static int sweep_threads(struct work *w)
{
	const struct tw_derived *d = w->sweep->derived;
	const uint32_t *track = d->trace->events.track, *nodes = d->host.event;
	const uint32_t *frames = w->frames.event;
	uint64_t f = 0, frames_end;
	uint32_t n = 0, nodes_end, t;

	for (t = 0; t < d->trace->track_count; t++) {
		for (frames_end = f; frames_end < w->frames.count && track[frames[frames_end]] == t;
		     frames_end++)
			;
		for (nodes_end = n; nodes_end < d->host.count && track[nodes[nodes_end]] == t;
		     nodes_end++)
			;
		if (sweep_thread(w, f, frames_end, n, nodes_end))
			return -1;
		f = frames_end;
		n = nodes_end;
	}
	return 0;
}

static bool is_frame(const struct trawl_trace *trace, uint64_t event)
{
	return trace->events.phase[event] == 'X' &&
	       tw_class(trace, event) ==
		       (trace->by_process ? TRAWL_CLASS_ANNOTATION : TRAWL_CLASS_PYTHON);
}

bool tw_has_frames(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		if (is_frame(trace, i))
			return true;
	return false;
}

int tw_sweep_run(const struct tw_sweep *sweep)
{
	struct work w = { .sweep = sweep };
	struct tw_quality ignored = { 0 };

	return tw_order_by_thread(sweep->derived, is_frame, &w.frames, &ignored,
				  sweep->allocator) ||
			       sweep_threads(&w) ?
		       -1 :
		       0;
}
