#include "derive/autograd.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const char engine_prefix[] = "autograd::engine::evaluate_function:";

/* An operation with a sequence number. */
struct numbered {
	int64_t sequence;
	uint64_t node, event;
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

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

/* The forward operation of a backward one among those of its number, NULL: none. */
static const struct numbered *find_forward(const struct tw_derived *d, const struct numbered *list,
					   uint64_t count, const struct numbered *backward)
{
	const struct tw_events *events = &d->trace->events;
	const struct numbered *best = NULL;
	bool best_elsewhere = false;
	uint64_t i;

	for (i = 0; i < count; i++) {
		bool elsewhere = events->track[list[i].event] != events->track[backward->event];

		if (&list[i] == backward || is_engine(d, list[i].node) ||
		    (!elsewhere &&
		     events->start_ns[list[i].event] >= events->start_ns[backward->event]))
			continue;
		if (!best || (elsewhere && !best_elsewhere) ||
		    (elsewhere == best_elsewhere &&
		     events->start_ns[list[i].event] > events->start_ns[best->event])) {
			best = &list[i];
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

static int pair_all(struct tw_autograd *a, const struct tw_derived *d, const struct numbered *list,
		    uint64_t count)
{
	uint64_t first, end, i;

	for (first = 0; first < count; first = end) {
		const struct numbered *backward = NULL, *forward;

		for (end = first; end < count && list[end].sequence == list[first].sequence; end++)
			;
		for (i = first; i < end && !backward; i++)
			if (is_engine(d, list[i].node))
				backward = &list[i];
		forward = backward ? find_forward(d, list + first, end - first, backward) : NULL;
		if (forward && add_pair(a, list[first].sequence, forward->node, backward->node))
			return -1;
	}
	return 0;
}

int tw_autograd_build(struct tw_autograd *a, const struct tw_derived *d)
{
	uint64_t node, n = 0, count = 0;
	struct numbered *list;
	int64_t sequence;
	int status;

	*a = (struct tw_autograd){ .allocator = d->allocator };
	for (node = 0; node < d->host.count; node++)
		count += has_sequence(d, node, &sequence);
	list = tw_alloc_array(d->allocator, count + 1, sizeof(*list));
	if (!list)
		return -1;
	for (node = 0; node < d->host.count; node++)
		if (has_sequence(d, node, &sequence))
			list[n++] = (struct numbered){ sequence, node, d->host.event[node] };
	qsort(list, n, sizeof(*list), compare_numbered);
	status = pair_all(a, d, list, n);
	tw_free(d->allocator, list, (count + 1) * sizeof(*list));
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
