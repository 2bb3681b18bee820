#include "derive/repeats.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/sort.h"

#include <string.h>

/* Of so many events that start together each is compared with each. */
#define FEW 16

#define NO_ID UINT64_MAX

static uint64_t known(tw_code id)
{
	return id && id != TW_CODE_NONE ? id : NO_ID;
}

struct work {
	const struct trawl_trace *trace;
	struct tw_quality *quality;
	const struct trawl_allocator *allocator;
	int whole_us; /* whether GPU times are whole microseconds; -1: not looked yet */
};

/* Old profilers wrote whole microseconds: what is shorter has no length. */
static bool is_of_whole_us(struct work *w)
{
	const struct tw_events *events = &w->trace->events;
	uint64_t i;

	if (w->whole_us >= 0)
		return w->whole_us;
	w->whole_us = true;
	for (i = 0; i < events->count && w->whole_us; i++)
		if (events->phase[i] == 'X' && tw_class_is_gpu(tw_class(w->trace, i)))
			w->whole_us = !(events->start_ns[i] % 1000) && !(events->dur_ns[i] % 1000);
	return w->whole_us;
}

static bool has_graph_node(const struct trawl_trace *trace, uint32_t event,
			   struct trawl_argument *arg)
{
	return trawl_event_argument(trace, event, TW_KEY_graph_node, arg) &&
	       arg->kind == TRAWL_VALUE_INTEGER;
}

static bool are_two_gpu_events(struct work *w, uint32_t a, uint32_t b)
{
	struct trawl_argument x, y;

	if (!w->trace->events.dur_ns[a] && is_of_whole_us(w))
		return true;
	return has_graph_node(w->trace, a, &x) && has_graph_node(w->trace, b, &y) &&
	       x.integer != y.integer;
}

/* An operation has an id of its own, a call or an arrow a correlation id, a function of Python its. */
static uint64_t id_of(const struct trawl_trace *trace, uint32_t event)
{
	const struct tw_events *events = &trace->events;
	enum trawl_class class = tw_class(trace, event);
	struct trawl_argument arg;

	if (class == TRAWL_CLASS_CPU_OP)
		return known(events->external[event]);
	if (class == TRAWL_CLASS_PYTHON)
		return trawl_event_argument(trace, event, TW_KEY_python_id, &arg) &&
				       arg.kind == TRAWL_VALUE_INTEGER ?
			       (uint64_t)arg.integer :
			       NO_ID;
	return known(events->correlation[event]);
}

/* The operations of an export are ranges. */
static bool is_range(const struct trawl_trace *trace, enum trawl_class class)
{
	return class == TRAWL_CLASS_ANNOTATION || class == TRAWL_CLASS_GPU_ANNOTATION ||
	       (class == TRAWL_CLASS_CPU_OP && trace->by_process);
}

/* The end of an arrow. */
static bool is_arrow(const struct trawl_trace *trace, uint32_t event)
{
	uint8_t phase = trace->events.phase[event];

	return phase == 's' || phase == 't' || phase == 'f';
}

/* Whether `b` is `a` again; they start together. */
static bool is_again(struct work *w, uint32_t a, uint32_t b)
{
	const struct tw_events *e = &w->trace->events;
	enum trawl_class class = tw_class(w->trace, a);
	bool arrow = is_arrow(w->trace, a);

	if (e->track[a] != e->track[b] || e->name[a] != e->name[b] || e->phase[a] != e->phase[b] ||
	    (e->phase[a] != 'X' && !arrow) || class != tw_class(w->trace, b))
		return false;
	/* Of nodes of a graph without length each has an arrow. */
	if (arrow)
		return e->category[a] == e->category[b] && id_of(w->trace, a) != NO_ID &&
		       id_of(w->trace, a) == id_of(w->trace, b) && !is_of_whole_us(w);
	if (e->dur_ns[a] != e->dur_ns[b])
		return false;
	if (tw_class_is_gpu(class))
		return e->correlation[a] == e->correlation[b] && !are_two_gpu_events(w, a, b);
	if (id_of(w->trace, a) != id_of(w->trace, b))
		return false;
	/* A range has no id, and not every call has one: then the time decides, where it is exact. */
	return id_of(w->trace, a) != NO_ID ||
	       ((is_range(w->trace, class) || tw_class_is_launch(class)) && e->dur_ns[a] &&
		!is_of_whole_us(w));
}

static void count_again(struct work *w, uint32_t event)
{
	bool gpu = tw_class_is_gpu(tw_class(w->trace, event));

	if (!is_arrow(w->trace, event))
		tw_quality_add(w->quality, gpu ? TW_DEFECT_repeated_gpu : TW_DEFECT_repeated_host,
			       1, -1, (int64_t)event);
}

static uint64_t drop_of_few(struct work *w, uint32_t *list, uint64_t count)
{
	uint64_t i, j, kept = 1;

	for (i = 1; i < count; i++) {
		for (j = 0; j < kept && !is_again(w, list[j], list[i]); j++)
			;
		if (j < kept)
			count_again(w, list[i]);
		else
			list[kept++] = list[i];
	}
	return kept;
}

/* Places of a list, for sorting. */
struct places {
	const struct trawl_trace *trace;
	const uint32_t *list;
};

static uint64_t hash_of(const void *context, uint32_t place)
{
	const struct places *p = context;
	const struct tw_events *e = &p->trace->events;
	uint32_t event = p->list[place];
	bool gpu = tw_class_is_gpu(tw_class(p->trace, event));
	uint64_t what = (uint64_t)e->track[event] << 32 | e->name[event];
	uint64_t id = gpu ? e->correlation[event] : id_of(p->trace, event);
	uint64_t dur = is_arrow(p->trace, event) ? 0 : (uint64_t)e->dur_ns[event];

	return tw_hash_mix(what ^ TW_HASH_K0, tw_hash_u64(dur) + id + e->phase[event]);
}

/* No event has this number. */
#define DROPPED UINT32_MAX

/* Sorted by a hash of what is compared, an event and those that are it again follow each other. */
static int drop_of_many(struct work *w, uint32_t *list, uint64_t *count)
{
	struct places context = { w->trace, list };
	size_t bytes = *count * sizeof(uint32_t);
	uint32_t *places = tw_alloc(w->allocator, bytes);
	uint64_t i, last = 0, kept = 0;
	int status = -1;

	if (!places)
		return -1;
	for (i = 0; i < *count; i++)
		places[i] = (uint32_t)i;
	if (!tw_sort(places, *count, hash_of, &context, w->allocator)) {
		status = 0;
		for (i = 1; i < *count; i++) {
			if (is_again(w, list[places[last]], list[places[i]])) {
				count_again(w, list[places[i]]);
				list[places[i]] = DROPPED;
			} else {
				last = i;
			}
		}
		for (i = 0; i < *count; i++)
			if (list[i] != DROPPED)
				list[kept++] = list[i];
		*count = kept;
	}
	tw_free(w->allocator, places, bytes);
	return status;
}

uint64_t tw_find_tie(const struct trawl_trace *trace, const uint32_t *list, uint64_t from,
		     uint64_t count, uint64_t *end)
{
	const int64_t *start_ns = trace->events.start_ns;
	int64_t before, start = from < count ? start_ns[list[from]] : 0;
	uint64_t i;

	for (i = from + 1; i < count; i++) {
		before = start;
		start = start_ns[list[i]];
		if (start == before)
			break;
	}
	if (i >= count)
		return *end = count;
	for (*end = i + 1; *end < count && start_ns[list[*end]] == start; ++*end)
		;
	return i - 1;
}

int tw_repeats_drop(const struct trawl_trace *trace, uint32_t *list, uint64_t *count,
		    struct tw_quality *quality, const struct trawl_allocator *allocator)
{
	struct work w = { trace, quality, allocator, -1 };
	uint64_t from, tie, end, n, kept = 0;

	for (from = 0; from < *count; from = end) {
		tie = tw_find_tie(trace, list, from, *count, &end);
		n = end - tie;
		if (n > FEW && drop_of_many(&w, list + tie, &n))
			return -1;
		if (n > 1 && n <= FEW)
			n = drop_of_few(&w, list + tie, n);
		/* The text before the tie, and what is left of it. */
		n += tie - from;
		if (kept != from)
			memmove(list + kept, list + from, n * sizeof(*list));
		kept += n;
	}
	*count = kept;
	return 0;
}
