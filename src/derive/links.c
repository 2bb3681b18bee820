/*
 * Launches to GPU work.  By correlation id; GPU events without one by External id; those without
 * either by the flow arrows that the profiler drew.  A graph launch may have many kernels.
 */
#include "derive/derived.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/sort.h"

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
	uint64_t *nodes;
	uint64_t size;		    /* a power of two */
	struct shared_call *shared; /* calls that share an id with an earlier one */
	uint64_t shared_count, shared_capacity;
};

static int map_init(struct id_map *map, uint64_t count, const struct trawl_allocator *allocator)
{
	uint64_t i;

	*map = (struct id_map){ .allocator = allocator, .size = 16 };
	while (map->size < 2 * count)
		map->size *= 2;
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
	uint64_t at = tw_hash_u64(id) & (map->size - 1);

	while (map->ids[at] != TW_CODE_NONE && map->ids[at] != id)
		at = (at + 1) & (map->size - 1);
	return at;
}

static int add_shared(struct id_map *map, const struct shared_call *call)
{
	if (map->shared_count == map->shared_capacity) {
		uint64_t capacity = map->shared_capacity ? map->shared_capacity * 2 : 64;
		struct shared_call *shared = tw_realloc(map->allocator, map->shared,
							map->shared_capacity * sizeof(*shared),
							capacity * sizeof(*shared));

		if (!shared)
			return -1;
		map->shared = shared;
		map->shared_capacity = capacity;
	}
	map->shared[map->shared_count++] = *call;
	return 0;
}

static int64_t node_start(const struct tw_derived *d, uint64_t node)
{
	return d->trace->events.start_ns[d->host.event[node]];
}

/* Adds a launch node; 1 when the id was there before, -1 out of memory. */
static int map_add(const struct tw_derived *d, struct id_map *map, tw_code id, uint64_t node)
{
	uint64_t at = map_slot(map, id);

	if (map->ids[at] == TW_CODE_NONE) {
		map->ids[at] = id;
		map->nodes[at] = node;
		return 0;
	}
	return add_shared(map, &(struct shared_call){ id, node_start(d, node), node }) ? -1 : 1;
}

static int compare_shared(const void *a, const void *b)
{
	const struct shared_call *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* How many shared calls come before (id, start_ns] in their order. */
static uint64_t count_shared(const struct id_map *map, tw_code id, int64_t start_ns)
{
	uint64_t low = 0, high = map->shared_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const struct shared_call *call = &map->shared[middle];

		if (call->id < id || (call->id == id && call->start_ns <= start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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

static bool is_id(tw_code id)
{
	return id != TW_CODE_NONE && id != 0;
}

/* ---- correlation */

static int link_by_correlation(struct tw_derived *d)
{
	const struct tw_events *events = &d->trace->events;
	struct id_map map;
	uint64_t n = 0, i;
	int status = -1;

	for (i = 0; i < d->host.count; i++)
		n += tw_class_is_launch(tw_node_class(d, i)) &&
		     is_id(events->correlation[d->host.event[i]]);
	if (map_init(&map, n, d->allocator))
		goto out;
	for (i = 0; i < d->host.count; i++) {
		uint64_t e = d->host.event[i];
		int added;

		if (!tw_class_is_launch(tw_class(d->trace, e)) || !is_id(events->correlation[e]))
			continue;
		added = map_add(d, &map, events->correlation[e], i);
		if (added < 0)
			goto out;
		if (added)
			tw_quality_add(&d->quality, TW_DEFECT_duplicate_correlation, 1, -1,
				       (int64_t)e);
	}
	if (map.shared_count)
		qsort(map.shared, map.shared_count, sizeof(*map.shared), compare_shared);
	for (i = 0; i < d->gpu.count; i++) {
		tw_code id = events->correlation[d->gpu.event[i]];

		if (is_id(id))
			d->gpu.launch[i] = map_find(d, &map, id, events->start_ns[d->gpu.event[i]]);
	}
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

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
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

static bool needs_external(const struct tw_derived *d, uint64_t g)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t e = d->gpu.event[g];

	return d->gpu.launch[g] == TW_NONE && !is_id(events->correlation[e]) &&
	       is_id(events->external[e]);
}

/* One pass with the calls, or with the operations themselves where no call is recorded. */
static int link_by_external(struct tw_derived *d, bool operations)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t work_count = 0, call_count = 0, i, n;
	struct external *work = NULL, *calls = NULL;
	int status = -1;

	for (i = 0; i < d->gpu.count; i++)
		work_count += needs_external(d, i);
	if (!work_count)
		return 0;
	work = tw_alloc_array(d->allocator, work_count, sizeof(*work));
	calls = tw_alloc_array(d->allocator, d->host.count + 1, sizeof(*calls));
	if (!work || !calls)
		goto out;
	for (i = 0, n = 0; i < d->gpu.count; i++)
		if (needs_external(d, i))
			work[n++] = (struct external){ events->external[d->gpu.event[i]],
						       d->gpu.start_ns[i], i };
	for (i = 0; i < d->host.count; i++) {
		uint64_t e = d->host.event[i];

		if (is_id(events->external[e]) &&
		    tw_class_is_launch(tw_class(d->trace, e)) == !operations)
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

struct flow_end {
	tw_code pid, tid, id;
	int64_t time_ns;
	uint64_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct flow_end *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int compare_ids(const void *a, const void *b)
{
	const struct flow_end *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct flow_end flow_end_of(const struct tw_derived *d, uint64_t event, uint64_t index)
{
	const struct tw_events *events = &d->trace->events;
	const struct tw_track *track = &d->trace->tracks[events->track[event]];

	return (struct flow_end){ track->pid, track->tid, events->correlation[event],
				  events->start_ns[event], index };
}

static bool is_launch_flow(const struct trawl_trace *trace, uint64_t i)
{
	const char *name;

	if (trace->events.phase[i] != 's' && trace->events.phase[i] != 'f')
		return false;
	name = trace->texts.entries[trace->categories[trace->events.category[i]].name].ptr;
	return !strcmp(name, "ac2g") || !strcmp(name, "async_cpu_to_gpu") ||
	       !strcmp(name, "async_gpu");
}

static bool needs_flow(const struct tw_derived *d, uint64_t g)
{
	return d->gpu.launch[g] == TW_NONE && !is_id(d->trace->events.correlation[d->gpu.event[g]]);
}

struct flow_lists {
	struct flow_end *starts, *ends, *calls;
	uint64_t start_count, end_count, call_count, capacity;
};

/* An arrow's end at the GPU event, its start by id, the call at the start. */
static void follow_flows(struct tw_derived *d, const struct flow_lists *f)
{
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		struct flow_end place, *end, *start, *call;

		if (!needs_flow(d, g))
			continue;
		place = flow_end_of(d, d->gpu.event[g], g);
		end = bsearch(&place, f->ends, f->end_count, sizeof(place), compare_places);
		start = end ? bsearch(end, f->starts, f->start_count, sizeof(place), compare_ids) :
			      NULL;
		call = start ? bsearch(start, f->calls, f->call_count, sizeof(place),
				       compare_places) :
			       NULL;
		if (call)
			d->gpu.launch[g] = call->index;
	}
}

static int link_by_flow(struct tw_derived *d)
{
	const struct tw_events *events = &d->trace->events;
	struct flow_lists f = { 0 };
	uint64_t i, work = 0;
	size_t bytes;

	for (i = 0; i < d->gpu.count; i++)
		work += needs_flow(d, i);
	for (i = 0; work && i < events->count; i++)
		f.capacity += is_launch_flow(d->trace, i);
	if (!f.capacity)
		return 0;
	bytes = f.capacity * sizeof(*f.starts);
	f.starts = tw_alloc(d->allocator, bytes);
	f.ends = tw_alloc(d->allocator, bytes);
	f.calls = tw_alloc(d->allocator, (d->host.count + 1) * sizeof(*f.calls));
	if (f.starts && f.ends && f.calls) {
		for (i = 0; i < events->count; i++) {
			if (!is_launch_flow(d->trace, i))
				continue;
			if (events->phase[i] == 's')
				f.starts[f.start_count++] = flow_end_of(d, i, i);
			else
				f.ends[f.end_count++] = flow_end_of(d, i, i);
		}
		for (i = 0; i < d->host.count; i++)
			if (tw_class_is_launch(tw_node_class(d, i)))
				f.calls[f.call_count++] = flow_end_of(d, d->host.event[i], i);
		qsort(f.starts, f.start_count, sizeof(*f.starts), compare_ids);
		qsort(f.ends, f.end_count, sizeof(*f.ends), compare_places);
		qsort(f.calls, f.call_count, sizeof(*f.calls), compare_places);
		follow_flows(d, &f);
	}
	tw_free(d->allocator, f.starts, bytes);
	tw_free(d->allocator, f.ends, bytes);
	tw_free(d->allocator, f.calls, (d->host.count + 1) * sizeof(*f.calls));
	return f.starts && f.ends && f.calls ? 0 : -1;
}

/* Whether calls of this name should have GPU work. */
static bool is_launch_name(const struct tw_pool_entry *name)
{
	/* Building a graph copies nothing, and a function of the host is no GPU work. */
	static const char *const others[] = { "*launchhostfunc*", "*graphadd*", "*graphexec*",
					      "*setparams*", "*getparams*" };
	static const char *const launches[] = { "*launch*", "*memcpy*", "*memset*" };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (tw_name_matches(others[i], name->ptr, name->len))
			return false;
	for (i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		if (tw_name_matches(launches[i], name->ptr, name->len))
			return true;
	return false;
}

/* Asks about each name once. */
static int find_launch_names(struct tw_derived *d)
{
	const struct tw_pool *texts = &d->trace->texts;
	uint8_t *asked = tw_alloc_array(d->allocator, texts->count, 1);
	uint64_t node;

	d->host.launch_name = tw_alloc_array(d->allocator, texts->count, 1);
	for (node = 0; asked && d->host.launch_name && node < d->host.count; node++) {
		uint32_t name = d->trace->events.name[d->host.event[node]];

		if (asked[name])
			continue;
		asked[name] = 1;
		d->host.launch_name[name] = is_launch_name(&texts->entries[name]);
	}
	tw_free(d->allocator, asked, texts->count);
	return asked && d->host.launch_name ? 0 : -1;
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

/* Launch calls without GPU work; where only a part is looked at, it may lie outside. */
static int count_barren_launches(struct tw_derived *d)
{
	uint8_t *used;
	uint64_t i;

	if (d->view.limited || d->view.device != TW_CODE_NONE || !d->gpu.count)
		return 0;
	used = tw_alloc_array(d->allocator, d->host.count + 1, 1);
	if (!used)
		return -1;
	for (i = 0; i < d->gpu.count; i++)
		if (d->gpu.launch[i] != TW_NONE)
			used[d->gpu.launch[i]] = 1;
	for (i = 0; i < d->host.count; i++)
		if (!used[i] && tw_is_launch_call(d, i))
			tw_quality_add(&d->quality, TW_DEFECT_launch_without_kernel, 1, -1,
				       (int64_t)d->host.event[i]);
	tw_free(d->allocator, used, d->host.count + 1);
	return 0;
}

int tw_links_build(struct tw_derived *d)
{
	if (find_launch_names(d) || link_by_correlation(d) || link_by_external(d, false) ||
	    link_by_external(d, true) || link_by_flow(d))
		return -1;
	count_gpu_links(d);
	return count_barren_launches(d);
}
