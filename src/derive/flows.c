#include "derive/flows.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/search.h"
#include "store/parts.h"

#include <stdlib.h>
#include <string.h>

static int compare_place(const struct tw_flow_end *x, const struct tw_flow_end *y)
{
	return TW_ORDER_BY(x, y, pid, tid, time_ns);
}

static int compare_id(const struct tw_flow_end *x, const struct tw_flow_end *y)
{
	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_index(const struct tw_flow_end *x, const struct tw_flow_end *y)
{
	return x->index < y->index ? -1 : x->index > y->index;
}

/* For sorting: what is at one place, or of one id, in the order of the input. */
static int compare_places(const void *a, const void *b)
{
	int order = compare_place(a, b);

	return order ? order : compare_index(a, b);
}

static int compare_ids(const void *a, const void *b)
{
	int order = compare_id(a, b);

	return order ? order : compare_index(a, b);
}

/* The first of a sorted list that equals `key`, NULL: none. */
static const struct tw_flow_end *find_first(const struct tw_flow_end *list, uint64_t count,
					    const struct tw_flow_end *key,
					    int (*compare)(const struct tw_flow_end *x,
							   const struct tw_flow_end *y))
{
	uint64_t low = TW_LOWER_BOUND(at, 0, count, compare(&list[at], key) < 0);

	return low < count && !compare(&list[low], key) ? &list[low] : NULL;
}

static bool is_launch_flow(const struct trawl_trace *trace, uint32_t part, uint64_t i)
{
	const char *name;

	if (trace->events.phase[i] != 's' && trace->events.phase[i] != 'f')
		return false;
	if (tw_part_of(trace, i) != part)
		return false;
	name = trace->texts.entries[trace->categories[trace->events.category[i]].name].ptr;
	return !strcmp(name, "ac2g") || !strcmp(name, "async_cpu_to_gpu") ||
	       !strcmp(name, "async_gpu");
}

static void mark_mixed(struct tw_flow_end *starts, uint64_t count)
{
	uint64_t first = 0, i;

	for (i = 1; i < count; i++) {
		if (starts[i].id != starts[first].id)
			first = i;
		else if (starts[i].pid != starts[first].pid)
			starts[first].mixed = true;
	}
}

int tw_flows_build(struct tw_flows *flows, const struct tw_derived *d, uint32_t part)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t i;

	*flows = (struct tw_flows){ .allocator = d->allocator };
	for (i = 0; i < events->count; i++)
		flows->capacity += is_launch_flow(d->trace, part, i);
	if (!flows->capacity)
		return 0;
	flows->starts = tw_alloc(d->allocator, flows->capacity * sizeof(*flows->starts));
	flows->ends = tw_alloc(d->allocator, flows->capacity * sizeof(*flows->ends));
	if (!flows->starts || !flows->ends)
		return -1;
	for (i = 0; i < events->count; i++) {
		if (!is_launch_flow(d->trace, part, i))
			continue;
		if (events->phase[i] == 's')
			flows->starts[flows->start_count++] = tw_flow_place(d, i, i);
		else
			flows->ends[flows->end_count++] = tw_flow_place(d, i, i);
	}
	qsort(flows->starts, flows->start_count, sizeof(*flows->starts), compare_ids);
	tw_flow_sort_places(flows->ends, flows->end_count);
	mark_mixed(flows->starts, flows->start_count);
	return 0;
}

void tw_flows_release(struct tw_flows *flows)
{
	if (!flows->allocator)
		return;
	tw_free(flows->allocator, flows->starts, flows->capacity * sizeof(*flows->starts));
	tw_free(flows->allocator, flows->ends, flows->capacity * sizeof(*flows->ends));
	memset(flows, 0, sizeof(*flows));
}

struct tw_flow_end tw_flow_place(const struct tw_derived *d, uint64_t event, uint64_t index)
{
	const struct tw_events *events = &d->trace->events;
	const struct tw_track *track = &d->trace->tracks[events->track[event]];

	return (struct tw_flow_end){
		.pid = track->pid,
		.tid = track->tid,
		.id = events->correlation[event],
		.time_ns = events->start_ns[event],
		.index = index,
	};
}

void tw_flow_sort_places(struct tw_flow_end *list, uint64_t count)
{
	qsort(list, count, sizeof(*list), compare_places);
}

const struct tw_flow_end *tw_flow_find_place(const struct tw_flow_end *list, uint64_t count,
					     const struct tw_flow_end *place)
{
	return find_first(list, count, place, compare_place);
}

const struct tw_flow_end *tw_flows_start_of(const struct tw_flows *flows,
					    const struct tw_flow_end *place)
{
	const struct tw_flow_end *stop = tw_flow_find_place(flows->ends, flows->end_count, place);

	return stop ? find_first(flows->starts, flows->start_count, stop, compare_id) : NULL;
}
