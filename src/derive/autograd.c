#include "derive/derived.h"

#include "base/alloc.h"
#include "base/hash.h"
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

/* What has a number: the first call of the engine by order of the input, and what it goes back to. */
struct numbered {
	int64_t sequence; /* -1: free */
	uint32_t backward, forward;
	bool elsewhere; /* the forward one is on another thread */
};

/* By number, open addressing. */
struct numbers {
	const struct tw_derived *d;
	uint8_t *engine; /* by text id: 1: name of an engine call */
	struct numbered *slots;
	uint64_t slot_count; /* a power of two */
	uint64_t count;
};

/* Marks the names of engine calls; whether there are any. */
static bool find_engine_names(struct numbers *n)
{
	const struct tw_pool *texts = &n->d->trace->texts;
	bool found = false;
	uint32_t i;

	for (i = 0; i < texts->count; i++) {
		n->engine[i] =
			texts->entries[i].len >= sizeof(engine_prefix) - 1 &&
			!memcmp(texts->entries[i].ptr, engine_prefix, sizeof(engine_prefix) - 1);
		found |= n->engine[i];
	}
	return found;
}

static bool is_engine(const struct numbers *n, uint64_t node)
{
	return n->engine[n->d->trace->events.name[n->d->host.event[node]]];
}

static struct numbered *slot_of(const struct numbers *n, int64_t sequence)
{
	uint64_t at = tw_hash_id((uint64_t)sequence) & (n->slot_count - 1);

	while (n->slots[at].sequence >= 0 && n->slots[at].sequence != sequence)
		at = (at + 1) & (n->slot_count - 1);
	return &n->slots[at];
}

static int make_slots(struct numbers *n)
{
	uint64_t calls = 0, i;

	for (i = 0; i < n->d->host.count; i++)
		calls += is_engine(n, i);
	if (calls > UINT32_MAX / 4)
		return -1;
	for (n->slot_count = 16; n->slot_count < 2 * calls;)
		n->slot_count *= 2;
	n->slots = tw_alloc(n->d->allocator, n->slot_count * sizeof(*n->slots));
	for (i = 0; n->slots && i < n->slot_count; i++)
		n->slots[i] = (struct numbered){ -1, TW_NONE, TW_NONE, false };
	return n->slots ? 0 : -1;
}

static void find_backward(struct numbers *n)
{
	const uint32_t *event = n->d->host.event;
	uint32_t node;
	int64_t sequence;

	for (node = 0; node < n->d->host.count; node++) {
		struct numbered *slot;

		if (!is_engine(n, node) || !has_sequence(n->d, node, &sequence))
			continue;
		slot = slot_of(n, sequence);
		n->count += slot->sequence < 0;
		slot->sequence = sequence;
		if (slot->backward == TW_NONE || event[node] < event[slot->backward])
			slot->backward = node;
	}
}

/* Whether one forward operation is nearer to its backward one than another, if any. */
static bool is_nearer(const struct tw_derived *d, uint32_t node, bool elsewhere,
		      const struct numbered *than)
{
	const struct tw_events *events = &d->trace->events;
	uint32_t event = d->host.event[node], other;

	if (than->forward == TW_NONE || elsewhere != than->elsewhere)
		return than->forward == TW_NONE || elsewhere;
	other = d->host.event[than->forward];
	if (events->start_ns[event] != events->start_ns[other])
		return events->start_ns[event] > events->start_ns[other];
	return event < other;
}

static void find_forward(struct numbers *n)
{
	const struct tw_derived *d = n->d;
	const struct tw_events *events = &d->trace->events;
	uint32_t node;
	int64_t sequence;

	for (node = 0; node < d->host.count; node++) {
		struct numbered *slot;
		uint32_t event = d->host.event[node], backward;
		bool elsewhere;

		if (is_engine(n, node) || !has_sequence(d, node, &sequence))
			continue;
		slot = slot_of(n, sequence);
		if (slot->sequence < 0)
			continue;
		backward = d->host.event[slot->backward];
		elsewhere = events->track[event] != events->track[backward];
		if ((elsewhere || events->start_ns[event] < events->start_ns[backward]) &&
		    is_nearer(d, node, elsewhere, slot)) {
			slot->forward = node;
			slot->elsewhere = elsewhere;
		}
	}
}

static uint64_t sequence_key(const void *slots, uint32_t i)
{
	return (uint64_t)((const struct numbered *)slots)[i].sequence;
}

static int take_pairs(struct tw_autograd *a, const struct numbers *n)
{
	size_t bytes = (n->count + 1) * sizeof(uint32_t);
	uint32_t *order = tw_alloc(a->allocator, bytes), i, paired = 0;
	int status = -1;

	a->capacity = n->count + 1;
	a->pairs = tw_alloc(a->allocator, a->capacity * sizeof(*a->pairs));
	if (a->pairs && order) {
		for (i = 0; i < n->slot_count; i++)
			if (n->slots[i].forward != TW_NONE)
				order[paired++] = i;
		status = tw_sort(order, paired, sequence_key, n->slots, a->allocator);
		for (i = 0; i < paired; i++)
			a->pairs[i] = (struct tw_autograd_pair){ n->slots[order[i]].sequence,
								 n->slots[order[i]].forward,
								 n->slots[order[i]].backward };
		a->count = paired;
	}
	tw_free(a->allocator, order, bytes);
	return status;
}

int tw_autograd_build(struct tw_autograd *a, const struct tw_derived *d)
{
	struct numbers n = { .d = d };
	int status = -1;

	*a = (struct tw_autograd){ .allocator = d->allocator };
	n.engine = tw_alloc(d->allocator, d->trace->texts.count);
	if (!n.engine)
		return -1;
	if (!find_engine_names(&n)) {
		status = 0;
	} else if (!make_slots(&n)) {
		find_backward(&n);
		find_forward(&n);
		status = take_pairs(a, &n);
	}
	tw_free(d->allocator, n.slots, n.slot_count * sizeof(*n.slots));
	tw_free(d->allocator, n.engine, d->trace->texts.count);
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
