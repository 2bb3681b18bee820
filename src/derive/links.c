/*
 * Launches to GPU work.  By correlation id; GPU events without one by External id; those without
 * either by the flow arrows that the profiler drew.  Where the call of a correlation id was not
 * recorded, an External id that is sure to name an operation names it.  A graph launch may have
 * many kernels.  All that within each part of a merged trace.
 */
#include "derive/flows.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/order.h"
#include "base/search.h"
#include "base/slots.h"
#include "base/sort.h"
#include "store/parts.h"

#include <stdlib.h>

struct shared_call {
	tw_code id;
	int64_t start_ns;
	uint64_t node;
};

/* Launch nodes by id, open addressing. */
struct id_map {
	const struct trawl_allocator *allocator;
	tw_code *ids; /* TW_CODE_NONE: free */
	uint32_t *nodes;
	uint64_t size;		    /* a power of two */
	struct shared_call *shared; /* calls that share an id with an earlier one */
	uint64_t shared_count, shared_capacity;
	bool several_processes; /* calls of several processes share an id */
};

static int map_init(struct id_map *map, uint64_t count, const struct trawl_allocator *allocator)
{
	uint64_t i;

	*map = (struct id_map){ .allocator = allocator, .size = tw_slots_for(count) };
	map->ids = tw_alloc(allocator, map->size * sizeof(*map->ids));
	map->nodes = tw_alloc(allocator, map->size * sizeof(*map->nodes));
	if (!map->ids || !map->nodes)
		return -1;
	for (i = 0; i < map->size; i++)
		map->ids[i] = TW_CODE_NONE;
	return 0;
}

static void map_release(struct id_map *map)
{
	if (!map->allocator)
		return;
	tw_free(map->allocator, map->ids, map->size * sizeof(*map->ids));
	tw_free(map->allocator, map->nodes, map->size * sizeof(*map->nodes));
	tw_free(map->allocator, map->shared, map->shared_capacity * sizeof(*map->shared));
}

static uint64_t map_slot(const struct id_map *map, tw_code id)
{
	return TW_SLOT(at, map->size, tw_hash_id(id),
		       map->ids[at] == TW_CODE_NONE || map->ids[at] == id);
}

static int add_shared(struct id_map *map, const struct shared_call *call)
{
	if (!tw_list_grow(&map->shared, &map->shared_capacity, map->shared_count,
			  sizeof(*map->shared), map->allocator))
		return -1;
	map->shared[map->shared_count++] = *call;
	return 0;
}

static int64_t node_start(const struct tw_derived *d, uint64_t node)
{
	return d->trace->events.start_ns[d->host.event[node]];
}

static tw_code node_pid(const struct tw_derived *d, uint64_t node)
{
	return d->trace->tracks[d->trace->events.track[d->host.event[node]]].pid;
}

/* Adds a launch node; 1 when the id was there before, -1 out of memory. */
static int map_add(const struct tw_derived *d, struct id_map *map, tw_code id, uint64_t node)
{
	uint64_t at = map_slot(map, id);

	if (map->ids[at] == TW_CODE_NONE) {
		map->ids[at] = id;
		map->nodes[at] = (uint32_t)node;
		return 0;
	}
	map->several_processes |= node_pid(d, map->nodes[at]) != node_pid(d, node);
	return add_shared(map, &(struct shared_call){ id, node_start(d, node), node }) ? -1 : 1;
}

static int compare_shared(const void *a, const void *b)
{
	const struct shared_call *x = a, *y = b;

	return TW_ORDER_BY(x, y, id, start_ns, node);
}

/* How many shared calls come before (id, start_ns] in their order. */
static uint64_t count_shared(const struct id_map *map, tw_code id, int64_t start_ns)
{
	return TW_LOWER_BOUND(at, 0, map->shared_count,
			      map->shared[at].id < id || (map->shared[at].id == id &&
							  map->shared[at].start_ns <= start_ns));
}

/* The call with this id that starts last before `start_ns`; the first when none does. */
static uint64_t map_find(const struct tw_derived *d, const struct id_map *map, tw_code id,
			 int64_t start_ns)
{
	uint64_t at = map_slot(map, id), first, before;
	const struct shared_call *last;

	if (map->ids[at] == TW_CODE_NONE)
		return TW_NONE;
	first = map->nodes[at];
	before = count_shared(map, id, start_ns);
	last = before ? &map->shared[before - 1] : NULL;
	if (last && last->id == id &&
	    (last->start_ns > node_start(d, first) || node_start(d, first) > start_ns))
		return last->node;
	return first;
}

/* ---- correlation */

bool tw_is_inner_call(const struct tw_derived *d, uint64_t node)
{
	tw_code id = d->trace->events.correlation[d->host.event[node]];
	uint32_t at;

	if (tw_node_class(d, node) != TRAWL_CLASS_DRIVER || !tw_is_link_id(id))
		return false;
	for (at = d->host.parent[node]; at != TW_NONE; at = d->host.parent[at]) {
		enum trawl_class class = tw_node_class(d, at);

		if (class == TRAWL_CLASS_RUNTIME)
			return d->trace->events.correlation[d->host.event[at]] == id;
		if (class != TRAWL_CLASS_DRIVER)
			break;
	}
	return false;
}

/*
 * Whether an event is of the part that is being linked: ids of launches count within a part.
 */
static bool is_of(const struct tw_derived *d, uint32_t part, uint64_t event)
{
	return !d->trace->part_of_track || tw_part_of(d->trace, event) == part;
}

static int link_by_correlation(struct tw_derived *d, uint32_t part)
{
	const struct tw_events *events = &d->trace->events;
	struct id_map map;
	uint64_t n = 0, i, first_shared = UINT64_MAX;
	int status = -1;

	for (i = 0; i < d->host.call_count; i++)
		n += is_of(d, part, d->host.event[d->host.call[i]]) &&
		     tw_is_link_id(events->correlation[d->host.event[d->host.call[i]]]);
	if (map_init(&map, n, d->allocator))
		goto out;
	for (i = 0; i < d->host.call_count; i++) {
		uint64_t e = d->host.event[d->host.call[i]];
		int added;

		if (!is_of(d, part, e) || !tw_is_link_id(events->correlation[e]) ||
		    tw_is_inner_call(d, d->host.call[i]))
			continue;
		added = map_add(d, &map, events->correlation[e], d->host.call[i]);
		if (added < 0)
			goto out;
		if (added && e < first_shared)
			first_shared = e;
	}
	if (map.shared_count)
		qsort(map.shared, map.shared_count, sizeof(*map.shared), compare_shared);
	for (i = 0; i < d->gpu.count; i++) {
		tw_code id = events->correlation[d->gpu.event[i]];

		if (is_of(d, part, d->gpu.event[i]) && tw_is_link_id(id))
			d->gpu.launch[i] = map_find(d, &map, id, events->start_ns[d->gpu.event[i]]);
	}
	if (map.several_processes) {
		status = tw_links_by_process(d, part);
		goto out;
	}
	tw_quality_add(&d->quality, TW_DEFECT_duplicate_correlation, (int64_t)map.shared_count, -1,
		       (int64_t)first_shared);
	status = 0;
out:
	map_release(&map);
	return status;
}

/* ---- External id */

struct external {
	tw_code id;
	int64_t start_ns;
	uint64_t index; /* host node, or GPU event number */
};

static int compare_external(const void *a, const void *b)
{
	const struct external *x = a, *y = b;

	return TW_ORDER_BY(x, y, id, start_ns, index);
}

/* An event whose call was not recorded goes to the only operation of its id, if that began before. */
static bool is_for(const struct tw_derived *d, const struct external *work,
		   const struct external *calls, uint64_t call_count)
{
	return !tw_is_link_id(d->trace->events.correlation[d->gpu.event[work->index]]) ||
	       (call_count == 1 && calls[0].start_ns <= work->start_ns);
}

/*
 * Calls and GPU events of one External id: in order when there are as many of each, else each
 * event to the last call before it.
 */
static void pair_external(struct tw_derived *d, const struct external *calls, uint64_t call_count,
			  const struct external *work, uint64_t work_count)
{
	uint64_t i, c = 0;

	for (i = 0; i < work_count; i++) {
		if (!is_for(d, &work[i], calls, call_count))
			continue;
		if (call_count == work_count) {
			c = i;
		} else {
			while (c + 1 < call_count && calls[c + 1].start_ns <= work[i].start_ns)
				c++;
			if (call_count > 1)
				tw_quality_add(&d->quality, TW_DEFECT_ambiguous_link, 1, -1,
					       (int64_t)d->gpu.event[work[i].index]);
		}
		d->gpu.launch[work[i].index] = calls[c].index;
	}
}

/* Walks both lists, each by id and start. */
static void merge_external(struct tw_derived *d, const struct external *calls, uint64_t call_count,
			   const struct external *work, uint64_t work_count)
{
	uint64_t c = 0, w = 0;

	while (c < call_count && w < work_count) {
		uint64_t c_end = c, w_end = w;

		if (calls[c].id < work[w].id) {
			c++;
			continue;
		}
		if (calls[c].id > work[w].id) {
			w++;
			continue;
		}
		while (c_end < call_count && calls[c_end].id == calls[c].id)
			c_end++;
		while (w_end < work_count && work[w_end].id == work[w].id)
			w_end++;
		pair_external(d, calls + c, c_end - c, work + w, w_end - w);
		c = c_end;
		w = w_end;
	}
}

/* Which GPU events a pass by External id is about. */
enum external_pass {
	BY_CALL,      /* calls that the id names, for events without a correlation id */
	BY_OPERATION, /* operations that it names, for the same events */
	BY_ANY,	      /* operations, also for events whose call was not recorded */
};

static bool needs_external(const struct tw_derived *d, uint32_t part, uint64_t g,
			   enum external_pass pass)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t e = d->gpu.event[g];

	return d->gpu.launch[g] == TW_NONE && is_of(d, part, e) &&
	       tw_is_link_id(events->external[e]) &&
	       (pass == BY_ANY || !tw_is_link_id(events->correlation[e]));
}

/* Whether the call of a GPU event, or the operation it is in, has the event's External id. */
static bool agrees(const struct tw_derived *d, uint64_t g)
{
	const tw_code *external = d->trace->events.external;
	tw_code id = external[d->gpu.event[g]];
	uint64_t launch = d->gpu.launch[g], op = tw_launching_op(d, launch, false);

	return external[d->host.event[launch]] == id ||
	       (op != TW_NONE && external[d->host.event[op]] == id);
}

/*
 * External ids of GPU events name operations with most exporters; with some they repeat the
 * correlation id, or count something else.  What links are known decides, and where none are,
 * whether the two ids are one.
 */
static bool names_operations(const struct tw_derived *d, uint32_t part)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t g, agreeing = 0, linked = 0, unlike = 0;

	for (g = 0; g < d->gpu.count && !needs_external(d, part, g, BY_ANY); g++)
		;
	/* Where nothing is without a link, nothing is asked. */
	if (g == d->gpu.count)
		return false;
	for (g = 0; g < d->gpu.count; g++) {
		uint64_t e = d->gpu.event[g];

		if (!is_of(d, part, e) || !tw_is_link_id(events->external[e]) ||
		    !tw_is_link_id(events->correlation[e]))
			continue;
		unlike += events->external[e] != events->correlation[e];
		if (d->gpu.launch[g] != TW_NONE) {
			linked++;
			agreeing += agrees(d, g);
		}
	}
	return linked ? agreeing > linked - agreeing : unlike;
}

static int link_by_external(struct tw_derived *d, uint32_t part, enum external_pass pass)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t work_count = 0, call_count = 0, i, n;
	struct external *work = NULL, *calls = NULL;
	int status = -1;

	for (i = 0; i < d->gpu.count; i++)
		work_count += needs_external(d, part, i, pass);
	if (!work_count)
		return 0;
	work = tw_alloc_array(d->allocator, work_count, sizeof(*work));
	calls = tw_alloc_array(d->allocator, d->host.count + 1, sizeof(*calls));
	if (!work || !calls)
		goto out;
	for (i = 0, n = 0; i < d->gpu.count; i++)
		if (needs_external(d, part, i, pass))
			work[n++] = (struct external){ events->external[d->gpu.event[i]],
						       d->gpu.start_ns[i], i };
	for (i = 0; i < d->host.count; i++) {
		uint64_t e = d->host.event[i];

		if (is_of(d, part, e) && tw_is_link_id(events->external[e]) &&
		    tw_class_is_launch(tw_class(d->trace, e)) == (pass == BY_CALL))
			calls[call_count++] =
				(struct external){ events->external[e], events->start_ns[e], i };
	}
	qsort(work, work_count, sizeof(*work), compare_external);
	qsort(calls, call_count, sizeof(*calls), compare_external);
	merge_external(d, calls, call_count, work, work_count);
	status = 0;
out:
	tw_free(d->allocator, work, work_count * sizeof(*work));
	tw_free(d->allocator, calls, (d->host.count + 1) * sizeof(*calls));
	return status;
}

/* ---- flow arrows */

static bool needs_flow(const struct tw_derived *d, uint32_t part, uint64_t g)
{
	return d->gpu.launch[g] == TW_NONE && is_of(d, part, d->gpu.event[g]) &&
	       !tw_is_link_id(d->trace->events.correlation[d->gpu.event[g]]);
}

/* An arrow's end at the GPU event, its start by id, the call at the start. */
static void follow_flows(struct tw_derived *d, uint32_t part, const struct tw_flows *flows,
			 const struct tw_flow_end *calls, uint64_t call_count)
{
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		const struct tw_flow_end *start, *call;
		struct tw_flow_end place;

		if (!needs_flow(d, part, g))
			continue;
		place = tw_flow_place(d, d->gpu.event[g], g);
		start = tw_flows_start_of(flows, &place);
		call = start ? tw_flow_find_place(calls, call_count, start) : NULL;
		if (call)
			d->gpu.launch[g] = call->index;
	}
}

static int link_by_flow(struct tw_derived *d, uint32_t part)
{
	struct tw_flows flows = { 0 };
	struct tw_flow_end *calls = NULL;
	uint64_t i, n = 0, work = 0;
	int status;

	for (i = 0; i < d->gpu.count; i++)
		work += needs_flow(d, part, i);
	if (!work)
		return 0;
	status = tw_flows_build(&flows, d, part);
	if (!status && flows.capacity) {
		calls = tw_alloc(d->allocator, (d->host.count + 1) * sizeof(*calls));
		status = calls ? 0 : -1;
	}
	if (!status && flows.capacity) {
		for (i = 0; i < d->host.call_count; i++)
			calls[n++] =
				tw_flow_place(d, d->host.event[d->host.call[i]], d->host.call[i]);
		tw_flow_sort_places(calls, n);
		follow_flows(d, part, &flows, calls, n);
	}
	tw_free(d->allocator, calls, (d->host.count + 1) * sizeof(*calls));
	tw_flows_release(&flows);
	return status;
}

/* Classes of host event names, each looked up once. */
static void find_host_names(struct tw_derived *d)
{
	const struct tw_pool *texts = &d->trace->texts;
	uint32_t name;

	for (name = 0; name < texts->count; name++) {
		unsigned kinds;

		if (!d->host.name[name])
			continue;
		kinds = tw_host_kinds_of(texts->entries[name].ptr, texts->entries[name].len);
		if (kinds & TW_HOST_LAUNCH && !(kinds & TW_HOST_NO_LAUNCH))
			d->host.name[name] |= TW_NAMES_LAUNCH;
		if (kinds & TW_HOST_COMMUNICATION && !(kinds & TW_HOST_ORDINARY))
			d->host.name[name] |= TW_NAMES_COMMUNICATION;
		if (kinds & TW_HOST_PEER_COPY)
			d->host.name[name] |= TW_NAMES_PEER_COPY;
		if (kinds & TW_HOST_GRAPH_LAUNCH)
			d->host.name[name] |= TW_NAMES_GRAPH;
		if (kinds & TW_HOST_CAPTURE_BEGIN)
			d->host.name[name] |= TW_NAMES_CAPTURE;
	}
}

static void count_gpu_links(struct tw_derived *d)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		uint64_t e = d->gpu.event[g];

		if (d->gpu.launch[g] == TW_NONE)
			tw_quality_add(&d->quality, TW_DEFECT_unlinked_gpu, 1, -1, (int64_t)e);
		else if (events->start_ns[e] < node_start(d, d->gpu.launch[g]))
			tw_quality_add(&d->quality, TW_DEFECT_kernel_before_launch, 1, -1,
				       (int64_t)e);
	}
}

/* Launch calls without GPU work; in a view of a part, it may lie outside. */
static int count_barren_launches(struct tw_derived *d)
{
	uint8_t *used;
	uint64_t i;

	if (d->view.limited || d->view.device != TW_CODE_NONE)
		return 0;
	used = tw_alloc_array(d->allocator, d->host.count + 1, 1);
	if (!used)
		return -1;
	for (i = 0; i < d->gpu.count; i++)
		if (d->gpu.launch[i] != TW_NONE)
			used[d->gpu.launch[i]] = 1;
	for (i = 0; i < d->host.call_count; i++)
		if (!used[d->host.call[i]] && tw_is_launch_call(d, d->host.call[i]) &&
		    !tw_is_inner_call(d, d->host.call[i]))
			tw_quality_add(&d->quality, TW_DEFECT_launch_without_kernel, 1, -1,
				       (int64_t)d->host.event[d->host.call[i]]);
	tw_free(d->allocator, used, d->host.count + 1);
	return 0;
}

/* Profilers omit one or the other. */
static int link_loosely(struct tw_derived *d)
{
	uint32_t part;

	for (part = 0; part < tw_part_count(d->trace); part++)
		if (link_by_correlation(d, part) || link_by_external(d, part, BY_CALL) ||
		    link_by_external(d, part, names_operations(d, part) ? BY_ANY : BY_OPERATION) ||
		    link_by_flow(d, part))
			return -1;
	return 0;
}

int tw_links_build(struct tw_derived *d)
{
	find_host_names(d);
	return d->trace->by_process ? tw_links_exact(d) : link_loosely(d);
}

int tw_links_count(struct tw_derived *d)
{
	count_gpu_links(d);
	return count_barren_launches(d);
}
