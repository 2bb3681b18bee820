#include "analysis/gpu/memory_copies.h"

#include "analysis/groups.h"
#include "analysis/launches/enclosing.h"
#include "analysis/launches/host_names.h"
#include "analysis/order.h"
#include "base/alloc.h"
#include "base/scope.h"

struct key {
	uint32_t direction, operation, python;
};

struct work {
	const struct tw_derived *d;
	const uint8_t *directions;
	const struct trawl_allocator *a; /* of a scope */
	struct tw_host_names names;
	struct tw_groups callers; /* struct tw_copy_caller, by struct key */
	uint32_t *copies;	  /* GPU events: those to find callers of */
	uint32_t *launches;	  /* calls of those that have one recorded */
	uint8_t *wanted;	  /* by text id: a function of the program */
	uint64_t count, launch_count;
};

static void add_copy(struct tw_memory_copies *copies, const struct tw_derived *d, uint64_t g,
		     unsigned direction)
{
	struct tw_copy_sum *sum = &copies->sums[direction];
	int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];
	struct trawl_argument arg;

	sum->count++;
	sum->total_ns += ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	if (trawl_event_argument(d->trace, d->gpu.event[g], TW_KEY_bytes, &arg) &&
	    arg.kind == TRAWL_VALUE_INTEGER && arg.integer >= 0) {
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

static int list_copies(struct work *w, uint64_t most)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	uint32_t t;
	uint64_t g;

	w->copies = tw_alloc(w->a, (most + 1) * sizeof(*w->copies));
	w->launches = tw_alloc(w->a, (most + 1) * sizeof(*w->launches));
	if (!w->copies || !w->launches || tw_host_names_init(&w->names, w->d->trace, w->a))
		return -1;
	w->wanted = tw_alloc(w->a, (size_t)w->names.count + 1);
	if (!w->wanted)
		return -1;
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
	return 0;
}

static int charge_copies(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	struct tw_enclosing around;
	uint64_t i, launch = 0;

	tw_groups_init_values(&w->callers, sizeof(struct key), sizeof(struct tw_copy_caller), w->a);
	if (tw_enclosing_init_wanted(&around, w->d->trace, w->launches, w->launch_count,
				     TW_CLASS_BIT(TRAWL_CLASS_PYTHON), w->wanted, 1, w->a))
		return -1;
	for (i = 0; i < w->count; i++) {
		uint32_t g = w->copies[i], node = gpu->launch[g], python;
		struct key key = { w->directions[g], 0, 0 };
		struct tw_copy_caller *caller;

		if (node != TW_NONE) {
			python = tw_enclosing_at(&around, launch++, 0);
			key.operation = operation_of(w, node);
			if (python != TW_NOT_ENCLOSED)
				key.python = w->d->trace->events.name[python];
		}
		caller = tw_groups_at(&w->callers, &key);
		if (!caller)
			return -1;
		if (!caller->count++)
			caller->first = gpu->event[g];
		caller->operation = key.operation;
		caller->python = key.python;
		caller->total_ns += gpu->end_ns[g] - gpu->start_ns[g];
	}
	return 0;
}

/* The callers of a direction, most time first. */
static int order_callers(const struct work *w, struct tw_memory_copies *copies, uint32_t direction)
{
	struct tw_copy_sum *sum = &copies->sums[direction];
	struct tw_order *order = tw_alloc_array(w->a, (size_t)w->callers.count + 1, sizeof(*order));
	size_t n = 0, i;
	uint32_t group;

	if (!order)
		return -1;
	for (group = 0; group < w->callers.count; group++) {
		const struct key *key = tw_groups_key(&w->callers, group);
		const struct tw_copy_caller *caller = tw_groups_value(&w->callers, group);

		if (key->direction == direction)
			order[n++] = (struct tw_order){ .value = caller->total_ns,
							.tie = caller->first,
							.index = group };
	}
	if (!n)
		return 0;
	sum->callers = tw_alloc_array(copies->allocator, n, sizeof(*sum->callers));
	if (!sum->callers)
		return -1;
	tw_order_sort(order, n, NULL);
	for (i = 0; i < n; i++)
		sum->callers[i] = *(const struct tw_copy_caller *)tw_groups_value(&w->callers,
										  order[i].index);
	sum->caller_count = n;
	return 0;
}

int tw_memory_copies_init(struct tw_memory_copies *copies, const struct tw_derived *d,
			  const uint8_t *directions, const struct trawl_allocator *allocator)
{
	struct tw_scope scope;
	struct work w = { .d = d, .directions = directions, .a = &scope.allocator };
	uint64_t most, g;
	int status = 0;

	*copies = (struct tw_memory_copies){ .allocator = allocator };
	for (g = 0; g < d->gpu.count; g++)
		if (d->gpu.bucket[g] == TW_COPY)
			add_copy(copies, d, g, directions[g]);
	most = copies->sums[TW_COPY_D2H].count + copies->sums[TW_COPY_H2D].count;
	if (!most)
		return 0;
	tw_scope_begin(&scope, allocator);
	if (list_copies(&w, most) || charge_copies(&w) || order_callers(&w, copies, TW_COPY_D2H) ||
	    order_callers(&w, copies, TW_COPY_H2D))
		status = -1;
	tw_scope_end(&scope);
	return status;
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
