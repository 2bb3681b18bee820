#include "derive/autograd.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"
#include "base/sort.h"
#include "derive/derived.h"

#include <string.h>

static const char engine_prefix[] = "autograd::engine::evaluate_function:";

static bool has_sequence(const struct tw_derived *d, uint64_t node, int64_t *sequence)
{
	struct trawl_argument arg;

	if (tw_node_class(d, node) != TRAWL_CLASS_CPU_OP ||
	    !trawl_event_argument(d->trace, d->host.event[node], TW_KEY_sequence_number, &arg) ||
	    arg.kind != TRAWL_VALUE_INTEGER || arg.integer < 0)
		return false;
	*sequence = arg.integer;
	return true;
}

/* Calls of the engine by sequence number, with the forward operations found so far. */
struct numbers {
	const struct tw_derived *d;
	uint8_t *engine; /* as in struct tw_autograd */
	struct tw_autograd_pair *items;
	uint32_t count, capacity;
	uint32_t *slots; /* open addressing; 0: free, else item + 1 */
	uint64_t slot_count;
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

/* The slot of a number, or the free one where it belongs. */
static uint32_t *slot_of(const struct numbers *n, int64_t sequence)
{
	return &n->slots[TW_SLOT(at, n->slot_count, tw_hash_id((uint64_t)sequence),
				 !n->slots[at] || n->items[n->slots[at] - 1].sequence == sequence)];
}

static int make_slots(struct numbers *n)
{
	uint32_t i;

	for (i = 0; i < n->d->host.count; i++)
		n->capacity += is_engine(n, i);
	n->slot_count = tw_slots_for(n->capacity);
	n->items = tw_alloc(n->d->allocator, ((size_t)n->capacity + 1) * sizeof(*n->items));
	n->slots = tw_alloc_array(n->d->allocator, n->slot_count, sizeof(*n->slots));
	return n->items && n->slots ? 0 : -1;
}

static void find_backward(struct numbers *n)
{
	const uint32_t *event = n->d->host.event;
	uint32_t node;
	int64_t sequence;

	for (node = 0; node < n->d->host.count; node++) {
		struct tw_autograd_pair *item;
		uint32_t *slot;

		if (!is_engine(n, node) || !has_sequence(n->d, node, &sequence))
			continue;
		slot = slot_of(n, sequence);
		if (!*slot) {
			n->items[n->count] = (struct tw_autograd_pair){ sequence, TW_NONE, node };
			*slot = ++n->count;
		}
		item = &n->items[*slot - 1];
		if (event[node] < event[item->backward])
			item->backward = node;
	}
}

static uint32_t track_of(const struct tw_derived *d, uint32_t node)
{
	return d->trace->events.track[d->host.event[node]];
}

static int64_t start_of(const struct tw_derived *d, uint32_t node)
{
	return d->trace->events.start_ns[d->host.event[node]];
}

/* Whether an operation is a nearer forward one than what was found before, if any. */
static bool is_nearer(const struct tw_derived *d, uint32_t node,
		      const struct tw_autograd_pair *than)
{
	uint32_t track = track_of(d, than->backward);
	bool elsewhere = track_of(d, node) != track;

	if (!elsewhere && start_of(d, node) >= start_of(d, than->backward))
		return false;
	if (than->forward == TW_NONE)
		return true;
	if (elsewhere != (track_of(d, than->forward) != track))
		return elsewhere;
	if (start_of(d, node) != start_of(d, than->forward))
		return start_of(d, node) > start_of(d, than->forward);
	return d->host.event[node] < d->host.event[than->forward];
}

static void find_forward(struct numbers *n)
{
	uint32_t node, found;
	int64_t sequence;

	for (node = 0; node < n->d->host.count; node++) {
		if (is_engine(n, node) || !has_sequence(n->d, node, &sequence))
			continue;
		found = *slot_of(n, sequence);
		if (found && is_nearer(n->d, node, &n->items[found - 1]))
			n->items[found - 1].forward = node;
	}
}

static uint64_t sequence_key(const void *items, uint32_t i)
{
	return (uint64_t)((const struct tw_autograd_pair *)items)[i].sequence;
}

static int take_pairs(struct tw_autograd *a, const struct numbers *n)
{
	size_t bytes = ((size_t)n->count + 1) * sizeof(uint32_t);
	uint32_t *order = tw_alloc(a->allocator, bytes), i, paired = 0;
	int status = -1;

	a->capacity = (uint64_t)n->count + 1;
	a->pairs = tw_alloc(a->allocator, a->capacity * sizeof(*a->pairs));
	if (a->pairs && order) {
		for (i = 0; i < n->count; i++)
			if (n->items[i].forward != TW_NONE)
				order[paired++] = i;
		status = tw_sort(order, paired, sequence_key, n->items, a->allocator);
		for (i = 0; i < paired; i++)
			a->pairs[i] = n->items[order[i]];
		a->count = paired;
	}
	tw_free(a->allocator, order, bytes);
	return status;
}

int tw_autograd_build(struct tw_autograd *a, const struct tw_derived *d)
{
	struct numbers n = { .d = d };
	int status = -1;

	*a = (struct tw_autograd){ .allocator = d->allocator, .text_count = d->trace->texts.count };
	n.engine = a->engine = tw_alloc(a->allocator, a->text_count);
	if (!n.engine)
		return -1;
	if (!find_engine_names(&n)) {
		status = 0;
	} else if (!make_slots(&n)) {
		find_backward(&n);
		find_forward(&n);
		status = take_pairs(a, &n);
	}
	tw_free(d->allocator, n.items, ((size_t)n.capacity + 1) * sizeof(*n.items));
	tw_free(d->allocator, n.slots, n.slot_count * sizeof(*n.slots));
	return status;
}

void tw_autograd_release(struct tw_autograd *a)
{
	if (!a->allocator)
		return;
	tw_free(a->allocator, a->pairs, a->capacity * sizeof(*a->pairs));
	tw_free(a->allocator, a->engine, a->text_count);
	memset(a, 0, sizeof(*a));
}
