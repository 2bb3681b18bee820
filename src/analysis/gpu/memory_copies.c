#include "analysis/gpu/memory_copies.h"

#include "analysis/groups.h"
#include "analysis/launches/enclosing.h"
#include "analysis/launches/host_names.h"
#include "analysis/order.h"
#include "base/alloc.h"

struct key {
	uint32_t direction, operation, python;
};

struct work {
	const struct tw_derived *d;
	const uint8_t *directions;
	const struct trawl_allocator *allocator;
	struct tw_host_names names;
	struct tw_groups groups;	/* of struct key */
	struct tw_copy_caller *callers; /* by group */
	uint32_t *copies;		/* GPU events: those to find callers of */
	uint32_t *of;			/* their groups */
	uint32_t *launches;		/* calls of those that have one recorded */
	uint8_t *wanted;		/* by text id: a function of the program */
	uint64_t count, launch_count;
};

static void add_up(struct tw_memory_copies *copies, const struct tw_derived *d, uint64_t g,
		   unsigned direction)
{
	struct tw_copy_sum *sum = &copies->sums[direction];
	int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];
	struct tw_arg arg;

	sum->count++;
	sum->total_ns += ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	if (tw_trace_arg(d->trace, d->gpu.event[g], TW_KEY_bytes, &arg) &&
	    arg.kind == TW_ARG_INTEGER && arg.integer >= 0) {
		sum->with_bytes++;
		sum->bytes += arg.integer;
	}
}

static bool crosses(const struct work *w, uint64_t g)
{
	return w->d->gpu.bucket[g] == TW_COPY &&
	       (w->directions[g] == TW_COPY_D2H || w->directions[g] == TW_COPY_H2D);
}

/* The outermost operation around a call that is more than a container, else the call. */
static uint32_t operation_of(const struct work *w, uint32_t node)
{
	const struct tw_host *host = &w->d->host;
	uint32_t found = node, at;

	for (at = host->parent[node]; at != TW_NONE; at = host->parent[at])
		if (tw_node_class(w->d, at) == TRAWL_CLASS_CPU_OP &&
		    !(tw_host_kinds(&w->names, host->event[at]) & TW_HOST_CONTAINER))
			found = at;
	return w->d->trace->events.name[host->event[found]];
}

static void list_copies(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	uint32_t t;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		if (!crosses(w, g))
			continue;
		w->copies[w->count++] = (uint32_t)g;
		if (gpu->launch[g] != TW_NONE)
			w->launches[w->launch_count++] = w->d->host.event[gpu->launch[g]];
	}
	for (t = 0; t < w->names.count; t++)
		w->wanted[t] = w->names.kinds[t] & TW_HOST_PYTHON_CODE &&
			       !(w->names.kinds[t] & TW_HOST_PYTHON_INTERNAL);
}

static int group_copies(struct work *w)
{
	const struct trawl_trace *trace = w->d->trace;
	struct tw_enclosing around;
	int status = tw_enclosing_init_wanted(&around, trace, w->launches, w->launch_count,
					      TW_CLASS_BIT(TRAWL_CLASS_PYTHON), w->wanted, 1,
					      w->allocator);
	uint64_t i, launch = 0;

	for (i = 0; !status && i < w->count; i++) {
		struct key key = { w->directions[w->copies[i]], 0, 0 };
		uint32_t node = w->d->gpu.launch[w->copies[i]], python;

		if (node != TW_NONE) {
			python = tw_enclosing_at(&around, launch++, 0);
			key.operation = operation_of(w, node);
			if (python != TW_NOT_ENCLOSED)
				key.python = trace->events.name[python];
		}
		w->of[i] = tw_groups_add(&w->groups, &key);
	}
	tw_enclosing_release(&around);
	return status || w->groups.failed ? -1 : 0;
}

static int charge_copies(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	uint64_t i;

	w->callers = tw_alloc_array(w->allocator, (size_t)w->groups.count + 1, sizeof(*w->callers));
	for (i = 0; w->callers && i < w->count; i++) {
		const struct key *key = tw_groups_key(&w->groups, w->of[i]);
		struct tw_copy_caller *caller = &w->callers[w->of[i]];
		uint32_t g = w->copies[i];

		if (!caller->count++)
			caller->first = gpu->event[g];
		caller->operation = key->operation;
		caller->python = key->python;
		caller->total_ns += gpu->end_ns[g] - gpu->start_ns[g];
	}
	return w->callers ? 0 : -1;
}

/* The callers of a direction, most time first. */
static int order_callers(struct work *w, struct tw_copy_sum *sum, uint32_t direction)
{
	const struct trawl_allocator *a = w->allocator;
	size_t room = (size_t)w->groups.count + 1, n = 0, i;
	struct tw_order *order = tw_alloc_array(a, room, sizeof(*order));
	uint32_t group;

	for (group = 0; order && group < w->groups.count; group++) {
		const struct key *key = tw_groups_key(&w->groups, group);

		if (key->direction == direction)
			order[n++] = (struct tw_order){ .value = w->callers[group].total_ns,
							.tie = w->callers[group].first,
							.index = group };
	}
	if (n)
		sum->callers = tw_alloc_array(a, n, sizeof(*sum->callers));
	if (sum->callers) {
		tw_order_sort(order, n, NULL);
		for (i = 0; i < n; i++)
			sum->callers[i] = w->callers[order[i].index];
		sum->caller_count = n;
	}
	tw_free(a, order, room * sizeof(*order));
	return order && (!n || sum->callers) ? 0 : -1;
}

static int find_callers(struct tw_memory_copies *copies, struct work *w)
{
	const struct trawl_allocator *a = w->allocator;
	uint64_t most = copies->sums[TW_COPY_D2H].count + copies->sums[TW_COPY_H2D].count;
	size_t bytes = (most + 1) * sizeof(uint32_t);
	int status = -1;

	if (!most)
		return 0;
	tw_groups_init(&w->groups, sizeof(struct key), a);
	w->copies = tw_alloc(a, bytes);
	w->launches = tw_alloc(a, bytes);
	w->of = tw_alloc(a, bytes);
	if (!tw_host_names_init(&w->names, w->d->trace, a))
		w->wanted = tw_alloc(a, (size_t)w->names.count + 1);
	if (w->copies && w->launches && w->of && w->wanted) {
		list_copies(w);
		if (!group_copies(w) && !charge_copies(w) &&
		    !order_callers(w, &copies->sums[TW_COPY_D2H], TW_COPY_D2H) &&
		    !order_callers(w, &copies->sums[TW_COPY_H2D], TW_COPY_H2D))
			status = 0;
	}
	tw_free(a, w->wanted, (size_t)w->names.count + 1);
	tw_free(a, w->copies, bytes);
	tw_free(a, w->launches, bytes);
	tw_free(a, w->of, bytes);
	tw_free(a, w->callers, ((size_t)w->groups.count + 1) * sizeof(*w->callers));
	tw_host_names_release(&w->names);
	tw_groups_release(&w->groups);
	return status;
}

int tw_memory_copies_init(struct tw_memory_copies *copies, const struct tw_derived *d,
			  const uint8_t *directions, const struct trawl_allocator *allocator)
{
	struct work w = { .d = d, .directions = directions, .allocator = allocator };
	uint64_t g;

	*copies = (struct tw_memory_copies){ .allocator = allocator };
	for (g = 0; g < d->gpu.count; g++)
		if (d->gpu.bucket[g] == TW_COPY)
			add_up(copies, d, g, directions[g]);
	return find_callers(copies, &w);
}

void tw_memory_copies_release(struct tw_memory_copies *copies)
{
	int i;

	for (i = 0; i < TW_COPY_DIRECTIONS; i++) {
		struct tw_copy_sum *sum = &copies->sums[i];

		tw_free(copies->allocator, sum->callers, sum->caller_count * sizeof(*sum->callers));
		sum->callers = NULL;
	}
}
