/*
 * The call tree of the host: nesting of events on each thread.
 *
 * An event that ends after the event it began in (profilers round, and some calls are recorded
 * late) is placed under the nearest one that holds it whole; the ones it outlives are over for
 * the rest of the walk, so nothing is dropped.
 */
#include "derive/derived.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "derive/repeats.h"

#include <string.h>

/* Real trees are a few dozen deep: from here on asking each node's ancestors takes too long. */
#define DEEP 100

static bool is_node(const struct trawl_trace *trace, uint64_t i)
{
	const struct tw_events *events = &trace->events;
	enum trawl_class class = tw_class(trace, i);

	return (events->phase[i] == 'X' || events->phase[i] == 'x') &&
	       (class == TRAWL_CLASS_CPU_OP || tw_class_is_launch(class)) &&
	       events->start_ns[i] != TRAWL_TIME_NONE;
}

/* The end of a host event; one without a usable duration takes no time. */
static int64_t end_of(const struct tw_events *events, uint64_t i)
{
	return events->start_ns[i] + (events->phase[i] == 'X' ? events->dur_ns[i] : 0);
}

/* Events that start together, the longest first, since it holds the others; few at a time. */
static void order_few(const struct tw_events *events, uint32_t *event, uint64_t count)
{
	uint64_t i, j;

	for (i = 1; i < count; i++) {
		uint32_t e = event[i];

		for (j = i; j && end_of(events, event[j - 1]) < end_of(events, e); j--)
			event[j] = event[j - 1];
		event[j] = e;
	}
}

static uint64_t longest_key(const void *events, uint32_t event)
{
	return ~tw_sort_key(end_of(events, event));
}

/* Puts the events of one thread that start together in order: such runs are short, mostly. */
static int order_ties(const struct tw_derived *d, uint32_t *event, uint64_t count,
		      const struct trawl_allocator *a)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t first, end;

	for (first = 0; first < count; first = end) {
		first = tw_find_tie(d->trace, event, first, count, &end);
		if (end - first <= 32)
			order_few(events, event + first, end - first);
		else if (tw_sort(event + first, end - first, longest_key, events, a))
			return -1;
	}
	return 0;
}

/*
 * Events by thread, in the order of the input: counts for each track, then places.  On return
 * first[t] is where the events of track t end.
 */
static int group_by_thread(const struct tw_derived *d, tw_is_event *is_it, struct tw_by_thread *out,
			   uint64_t *first, const struct trawl_allocator *a)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t i, n, sum = 0;
	uint32_t t;

	for (i = 0; i < events->count; i++)
		first[events->track[i]] += is_it(d->trace, i);
	for (t = 0; t < d->trace->track_count; t++) {
		n = first[t];
		first[t] = sum;
		sum += n;
	}
	out->count = out->room = sum;
	out->event = tw_alloc(a, (sum + 1) * sizeof(*out->event));
	if (!out->event)
		return -1;
	for (i = 0; i < events->count; i++)
		if (is_it(d->trace, i))
			out->event[first[events->track[i]]++] = (uint32_t)i;
	return 0;
}

/* The events of one thread in order; what was recorded twice is dropped. */
static int order_thread(const struct tw_derived *d, uint32_t *event, uint64_t *count,
			struct tw_quality *quality, const struct trawl_allocator *a)
{
	if (tw_sort(event, *count, tw_events_start_key, &d->trace->events, a) ||
	    order_ties(d, event, *count, a))
		return -1;
	return tw_repeats_drop(d->trace, event, count, quality, a);
}

int tw_order_by_thread(const struct tw_derived *d, tw_is_event *is_it, struct tw_by_thread *out,
		       struct tw_quality *quality, const struct trawl_allocator *a)
{
	size_t tracks = (size_t)d->trace->track_count + 1;
	uint64_t *first = tw_alloc_array(a, tracks, sizeof(*first));
	uint64_t begin = 0, kept = 0;
	uint32_t t;
	int status = first ? group_by_thread(d, is_it, out, first, a) : -1;

	for (t = 0; t < d->trace->track_count && !status; begin = first[t++]) {
		uint32_t *event = out->event + begin;
		uint64_t count = first[t] - begin;

		status = order_thread(d, event, &count, quality, a);
		if (kept != begin)
			memmove(out->event + kept, event, count * sizeof(*event));
		kept += count;
	}
	tw_free(a, first, tracks * sizeof(*first));
	out->count = kept;
	return status;
}

/* Gives back the room of what was dropped. */
static int take_nodes(struct tw_derived *d, const struct tw_by_thread *nodes)
{
	size_t size = sizeof(*d->host.event);
	uint32_t *event = nodes->event;

	if (nodes->count < nodes->room)
		event = tw_realloc(d->allocator, event, (nodes->room + 1) * size,
				   (nodes->count + 1) * size);
	d->host.event = event ? event : nodes->event;
	d->host.count = d->host.all = event ? nodes->count : nodes->room;
	return event ? 0 : -1;
}

static int find_nodes(struct tw_derived *d)
{
	struct tw_by_thread nodes = { 0 };
	int status = tw_order_by_thread(d, is_node, &nodes, &d->host.quality, d->allocator);
	uint64_t i;

	if (take_nodes(d, &nodes) || status)
		return -1;
	d->host.name = tw_alloc_array(d->allocator, d->trace->texts.count, 1);
	for (i = 0; d->host.name && i < d->host.count; i++)
		d->host.name[d->trace->events.name[d->host.event[i]]] = TW_NAMES_NODES;
	return d->host.name ? 0 : -1;
}

/* The stack is the chain of parents of the last event placed: no memory of its own. */
static void nest(struct tw_derived *d)
{
	const struct tw_events *events = &d->trace->events;
	struct tw_host *host = &d->host;
	uint32_t i, top = TW_NONE;
	uint64_t depth = 0;

	for (i = 0; i < host->count; i++) {
		uint32_t e = host->event[i];
		int64_t start = events->start_ns[e], end = end_of(events, e);

		if (i && events->track[e] != events->track[host->event[i - 1]]) {
			top = TW_NONE;
			depth = 0;
		}
		for (; top != TW_NONE && end_of(events, host->event[top]) <= start; depth--)
			top = host->parent[top];
		if (top != TW_NONE && end > end_of(events, host->event[top])) {
			tw_quality_add(&d->host.quality, TW_DEFECT_overrun_parent, 1, -1,
				       (int64_t)e);
			for (; top != TW_NONE && end > end_of(events, host->event[top]); depth--)
				top = host->parent[top];
		}
		host->parent[i] = top;
		top = i;
		if (++depth > host->depth)
			host->depth = depth;
	}
}

static bool is_launching_op(const struct tw_derived *d, uint64_t node, bool pass_execute)
{
	static const char execute[] = "execute";
	const struct tw_pool_entry *name;

	if (tw_node_class(d, node) != TRAWL_CLASS_CPU_OP)
		return false;
	name = &d->trace->texts.entries[d->trace->events.name[d->host.event[node]]];
	return !pass_execute || name->len != sizeof(execute) - 1 ||
	       memcmp(name->ptr, execute, sizeof(execute) - 1);
}

/* Finds the operation above every node at once: parents come before their children. */
static int find_ops(struct tw_derived *d)
{
	struct tw_host *host = &d->host;
	uint64_t node;
	int pass;

	for (pass = 0; pass < 2; pass++) {
		host->op[pass] =
			tw_alloc(d->allocator, (host->count + 1) * sizeof(*host->op[pass]));
		if (!host->op[pass])
			return -1;
		for (node = 0; node < host->count; node++) {
			uint64_t parent = host->parent[node];

			if (is_launching_op(d, node, pass))
				host->op[pass][node] = (uint32_t)node;
			else
				host->op[pass][node] = parent == TW_NONE ? TW_NONE :
									   host->op[pass][parent];
		}
	}
	return 0;
}

static int list_calls(struct tw_derived *d)
{
	uint64_t node, n = 0;

	for (node = 0; node < d->host.count; node++)
		d->host.call_count += tw_class_is_launch(tw_node_class(d, node));
	d->host.call = tw_alloc(d->allocator, (d->host.call_count + 1) * sizeof(*d->host.call));
	if (!d->host.call)
		return -1;
	for (node = 0; node < d->host.count; node++)
		if (tw_class_is_launch(tw_node_class(d, node)))
			d->host.call[n++] = (uint32_t)node;
	return 0;
}

int tw_host_build(struct tw_derived *d)
{
	if (find_nodes(d))
		return -1;
	d->host.parent = tw_alloc(d->allocator, (d->host.count + 1) * sizeof(*d->host.parent));
	if (!d->host.parent || list_calls(d))
		return -1;
	nest(d);
	return d->host.depth > DEEP ? find_ops(d) : 0;
}

uint64_t tw_launching_op(const struct tw_derived *d, uint64_t launch, bool pass_execute)
{
	uint64_t node = launch;

	if (d->host.op[pass_execute] && launch < d->host.count)
		return d->host.op[pass_execute][launch];
	while (node != TW_NONE && !is_launching_op(d, node, pass_execute))
		node = d->host.parent[node];
	return node;
}
