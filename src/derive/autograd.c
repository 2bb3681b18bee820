#include "derive/autograd.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <string.h>

static const char engine_prefix[] = "autograd::engine::evaluate_function:";

static bool has_sequence(const struct tw_derived *d, uint64_t node, int64_t *sequence)
{
	struct tw_arg arg;

	if (tw_node_class(d, node) != TRAWL_CLASS_CPU_OP ||
	    !tw_trace_arg(d->trace, d->host.event[node], TW_KEY_sequence_number, &arg) ||
	    arg.kind != TW_ARG_INTEGER || arg.integer < 0)
		return false;
	*sequence = arg.integer;
	return true;
}

static const char *name_of(const struct tw_derived *d, uint64_t node)
{
	return d->trace->texts.entries[d->trace->events.name[d->host.event[node]]].ptr;
}

static bool is_engine(const struct tw_derived *d, uint64_t node)
{
	return !strncmp(name_of(d, node), engine_prefix, sizeof(engine_prefix) - 1);
}

/* Operations with sequence numbers: key the number, value the host node. */
struct numbers {
	struct tw_sort_item *list;
	uint64_t count, capacity;
};

/* The forward operation of a backward one among those of its number, TW_NONE: none. */
static uint64_t find_forward(const struct tw_derived *d, const struct tw_sort_item *list,
			     uint64_t count, uint64_t backward)
{
	const struct tw_events *events = &d->trace->events;
	uint64_t backward_event = d->host.event[backward], best = TW_NONE, i;
	bool best_elsewhere = false;

	for (i = 0; i < count; i++) {
		uint64_t node = list[i].value, event = d->host.event[node], best_event;
		bool elsewhere = events->track[event] != events->track[backward_event];

		if (node == backward || is_engine(d, node) ||
		    (!elsewhere && events->start_ns[event] >= events->start_ns[backward_event]))
			continue;
		best_event = best == TW_NONE ? 0 : d->host.event[best];
		if (best == TW_NONE || (elsewhere && !best_elsewhere) ||
		    (elsewhere == best_elsewhere &&
		     (events->start_ns[event] > events->start_ns[best_event] ||
		      (events->start_ns[event] == events->start_ns[best_event] &&
		       event < best_event)))) {
			best = node;
			best_elsewhere = elsewhere;
		}
	}
	return best;
}

static int add_pair(struct tw_autograd *a, int64_t sequence, uint64_t forward, uint64_t backward)
{
	if (a->count == a->capacity) {
		uint64_t capacity = a->capacity ? a->capacity * 2 : 64;
		struct tw_autograd_pair *pairs = tw_realloc(a->allocator, a->pairs,
							    a->capacity * sizeof(*pairs),
							    capacity * sizeof(*pairs));

		if (!pairs)
			return -1;
		a->pairs = pairs;
		a->capacity = capacity;
	}
	a->pairs[a->count++] = (struct tw_autograd_pair){ sequence, forward, backward };
	return 0;
}

static int pair_all(struct tw_autograd *a, const struct tw_derived *d, const struct numbers *n)
{
	uint64_t first, end, i;

	for (first = 0; first < n->count; first = end) {
		uint64_t backward = TW_NONE, forward;

		for (end = first; end < n->count && n->list[end].key == n->list[first].key; end++)
			;
		for (i = first; i < end; i++) {
			uint64_t node = n->list[i].value;

			if (is_engine(d, node) &&
			    (backward == TW_NONE || d->host.event[node] < d->host.event[backward]))
				backward = node;
		}
		if (backward == TW_NONE)
			continue;
		forward = find_forward(d, n->list + first, end - first, backward);
		if (forward != TW_NONE &&
		    add_pair(a, (int64_t)n->list[first].key, forward, backward))
			return -1;
	}
	return 0;
}

static int grow(struct numbers *n, const struct trawl_allocator *allocator)
{
	uint64_t capacity = n->capacity ? n->capacity * 2 : 1024;
	struct tw_sort_item *list = tw_realloc(allocator, n->list, n->capacity * sizeof(*list),
					       capacity * sizeof(*list));

	if (!list)
		return -1;
	n->list = list;
	n->capacity = capacity;
	return 0;
}

/* All that have one, by number. */
static int list_numbers(struct numbers *n, const struct tw_derived *d)
{
	struct tw_sort_item *scratch;
	uint64_t node;
	int64_t sequence;

	for (node = 0; node < d->host.count; node++) {
		if (!has_sequence(d, node, &sequence))
			continue;
		if (n->count == n->capacity && grow(n, d->allocator))
			return -1;
		n->list[n->count++] = (struct tw_sort_item){ (uint64_t)sequence, node };
	}
	scratch = tw_alloc(d->allocator, (n->count + 1) * sizeof(*scratch));
	if (!scratch)
		return -1;
	tw_sort(n->list, scratch, n->count);
	tw_free(d->allocator, scratch, (n->count + 1) * sizeof(*scratch));
	return 0;
}

static bool has_engine(const struct tw_derived *d)
{
	uint64_t node;

	for (node = 0; node < d->host.count; node++)
		if (tw_node_class(d, node) == TRAWL_CLASS_CPU_OP && is_engine(d, node))
			return true;
	return false;
}

int tw_autograd_build(struct tw_autograd *a, const struct tw_derived *d)
{
	struct numbers numbers = { 0 };
	int status = 0;

	*a = (struct tw_autograd){ .allocator = d->allocator };
	if (has_engine(d))
		status = list_numbers(&numbers, d) || pair_all(a, d, &numbers) ? -1 : 0;
	tw_free(d->allocator, numbers.list, numbers.capacity * sizeof(*numbers.list));
	return status;
}

void tw_autograd_release(struct tw_autograd *a)
{
	if (a->allocator)
		tw_free(a->allocator, a->pairs, a->capacity * sizeof(*a->pairs));
	memset(a, 0, sizeof(*a));
}

void tw_recompute_mark(const struct tw_derived *d, uint8_t *marks)
{
	uint64_t node;

	/* Parents come before their children. */
	for (node = 0; node < d->host.count; node++) {
		uint64_t parent = d->host.parent[node];
		const char *name;

		marks[node] = parent != TW_NONE && marks[parent];
		if (marks[node] || tw_node_class(d, node) != TRAWL_CLASS_PYTHON)
			continue;
		name = name_of(d, node);
		marks[node] = strstr(name, "torch/utils/checkpoint.py") &&
			      strstr(name, "recompute_fn");
	}
}

size_t tw_module_stack(const struct tw_derived *d, uint64_t node, uint32_t *names, size_t most)
{
	size_t count = 0, i;

	for (; node != TW_NONE && count < most; node = d->host.parent[node])
		if (!strncmp(name_of(d, node), "nn.Module: ", 11))
			names[count++] = d->trace->events.name[d->host.event[node]];
	for (i = 0; i < count / 2; i++) {
		uint32_t name = names[i];

		names[i] = names[count - 1 - i];
		names[count - 1 - i] = name;
	}
	return count;
}
