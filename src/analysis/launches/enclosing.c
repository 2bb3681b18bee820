#include "analysis/launches/enclosing.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/sort.h"

#include <string.h>

struct work {
	const struct trawl_trace *trace;
	const uint32_t *targets;
	uint32_t *order; /* numbers of targets, by track, then start */
	uint64_t *first; /* by track: its first place in order; one more for the end */
	unsigned classes;
	const uint8_t *wanted;
};

static int64_t end_of(const struct tw_events *events, uint32_t event)
{
	return events->start_ns[event] + events->dur_ns[event];
}

/* Whether a lies inside b, of two that enclose the same moment. */
static bool is_inner(const struct tw_events *events, uint32_t a, uint32_t b)
{
	int64_t a_end = end_of(events, a), b_end = end_of(events, b);

	if (events->start_ns[a] != events->start_ns[b])
		return events->start_ns[a] > events->start_ns[b];
	return a_end != b_end ? a_end < b_end : a > b;
}

/* Puts an event among those around a target. */
static void put(struct tw_enclosing *enclosing, const struct tw_events *events, uint32_t target,
		uint32_t event)
{
	uint32_t *around = enclosing->around + (uint64_t)target * enclosing->most;
	unsigned i = enclosing->most;

	while (i && (around[i - 1] == TW_NOT_ENCLOSED || is_inner(events, event, around[i - 1]))) {
		i--;
		if (i + 1 < enclosing->most)
			around[i + 1] = around[i];
		around[i] = event;
	}
}

static uint64_t target_key(const void *context, uint32_t number)
{
	const struct work *w = context;

	return tw_events_start_key(&w->trace->events, w->targets[number]);
}

static uint64_t track_key(const void *context, uint32_t number)
{
	const struct work *w = context;

	return w->trace->events.track[w->targets[number]];
}

/* Numbers of targets by track, then start. */
static int order_targets(struct work *w, uint64_t count, const struct trawl_allocator *a)
{
	const uint32_t *track = w->trace->events.track;
	uint32_t tracks = w->trace->track_count, t;
	uint64_t i;

	w->order = tw_alloc(a, (count + 1) * sizeof(*w->order));
	w->first = tw_alloc_array(a, (size_t)tracks + 1, sizeof(*w->first));
	if (!w->order || !w->first)
		return -1;
	for (i = 0; i < count; i++) {
		w->order[i] = (uint32_t)i;
		w->first[track[w->targets[i]] + 1]++;
	}
	for (t = 0; t < tracks; t++)
		w->first[t + 1] += w->first[t];
	return tw_sort(w->order, count, target_key, w, a) ||
	       tw_sort(w->order, count, track_key, w, a);
}

/* The first place in [low, high) of the order whose target starts at or after a time. */
static uint64_t find(const struct work *w, uint64_t low, uint64_t high, int64_t start_ns)
{
	return TW_LOWER_BOUND(at, low, high,
			      w->trace->events.start_ns[w->targets[w->order[at]]] < start_ns);
}

/* Of an event that begins at or before the target, and ends after its start. */
static bool is_around(const struct tw_events *events, uint32_t event, uint32_t target)
{
	return event != target && (events->start_ns[event] < events->start_ns[target] ||
				   events->phase[target] != 'X' || is_inner(events, target, event));
}

static bool is_asked_for(const struct work *w, uint64_t i)
{
	const struct tw_events *events = &w->trace->events;

	return events->phase[i] == 'X' && w->classes & TW_CLASS_BIT(tw_class(w->trace, i)) &&
	       (!w->wanted || w->wanted[events->name[i]]);
}

static void look_around(const struct work *w, struct tw_enclosing *enclosing)
{
	const struct tw_events *events = &w->trace->events;
	uint64_t i, at;

	for (i = 0; i < events->count; i++) {
		uint64_t low = w->first[events->track[i]], high = w->first[events->track[i] + 1];

		if (low == high || !is_asked_for(w, i))
			continue;
		for (at = find(w, low, high, events->start_ns[i]); at < high; at++) {
			uint32_t target = w->order[at];

			if (events->start_ns[w->targets[target]] >= end_of(events, (uint32_t)i))
				break;
			if (is_around(events, (uint32_t)i, w->targets[target]))
				put(enclosing, events, target, (uint32_t)i);
		}
	}
}

int tw_enclosing_init_wanted(struct tw_enclosing *enclosing, const struct trawl_trace *trace,
			     const uint32_t *targets, uint64_t count, unsigned classes,
			     const uint8_t *wanted, unsigned most,
			     const struct trawl_allocator *allocator)
{
	struct work w = { .trace = trace, .targets = targets, .classes = classes, .wanted = wanted };
	struct tw_scope scope;
	bool failed;

	*enclosing = (struct tw_enclosing){ .allocator = allocator, .count = count, .most = most };
	enclosing->around = tw_alloc(allocator, (count * most + 1) * sizeof(uint32_t));
	tw_scope_begin(&scope, allocator);
	failed = !enclosing->around || order_targets(&w, count, &scope.allocator);
	if (!failed) {
		memset(enclosing->around, 0xff, count * most * sizeof(uint32_t));
		look_around(&w, enclosing);
	}
	tw_scope_end(&scope);
	return failed ? -1 : 0;
}

int tw_enclosing_init(struct tw_enclosing *enclosing, const struct trawl_trace *trace,
		      const uint32_t *targets, uint64_t count, unsigned classes, unsigned most,
		      const struct trawl_allocator *allocator)
{
	return tw_enclosing_init_wanted(enclosing, trace, targets, count, classes, NULL, most,
					allocator);
}

void tw_enclosing_release(struct tw_enclosing *enclosing)
{
	tw_free(enclosing->allocator, enclosing->around,
		(enclosing->count * enclosing->most + 1) * sizeof(uint32_t));
	enclosing->around = NULL;
}
