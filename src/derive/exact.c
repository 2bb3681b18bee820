/*
 * Launches of traces with a process for every event: a GPU event belongs to the call of its
 * process with its correlation id, and to no other.  Of several such calls it is the earliest that
 * is a launch: the runtime calls the driver under the same id.
 */
#include "derive/derived.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"

struct call {
	tw_code pid, id; /* id TW_CODE_NONE: free */
	uint32_t node;
};

struct calls {
	struct call *slots; /* open addressing */
	uint64_t size;	    /* a power of two */
};

static struct call *find(const struct calls *calls, tw_code pid, tw_code id)
{
	/* Ids of a process come in runs. */
	return &calls->slots[TW_SLOT(at, calls->size, tw_hash_id(id) + tw_hash_id(pid),
				     calls->slots[at].id == TW_CODE_NONE ||
					     (calls->slots[at].id == id &&
					      calls->slots[at].pid == pid))];
}

static tw_code pid_of(const struct tw_derived *d, uint64_t event)
{
	return d->trace->tracks[d->trace->events.track[event]].pid;
}

/* Whether call `b` is to be preferred to `a`, which comes before it in the list of nodes. */
static bool is_better(const struct tw_derived *d, uint32_t a, uint32_t b)
{
	const int64_t *start = d->trace->events.start_ns;
	bool launch = tw_is_launch_call(d, b);

	if (tw_is_launch_call(d, a) != launch)
		return launch;
	return start[d->host.event[b]] < start[d->host.event[a]];
}

static void add_call(struct tw_derived *d, struct calls *calls, uint32_t node)
{
	uint64_t event = d->host.event[node];
	tw_code id = d->trace->events.correlation[event], pid = pid_of(d, event);
	struct call *slot;

	if (!tw_is_link_id(id))
		return;
	slot = find(calls, pid, id);
	if (slot->id == TW_CODE_NONE) {
		*slot = (struct call){ pid, id, node };
		return;
	}
	if (!tw_is_inner_call(d, node))
		tw_quality_add(&d->quality, TW_DEFECT_duplicate_call, 1, -1, (int64_t)event);
	if (is_better(d, slot->node, node))
		slot->node = node;
}

int tw_links_exact(struct tw_derived *d)
{
	const struct tw_events *events = &d->trace->events;
	struct calls calls = { .size = tw_slots_for(d->host.call_count) };
	uint64_t i;

	calls.slots = tw_alloc(d->allocator, calls.size * sizeof(*calls.slots));
	if (!calls.slots)
		return -1;
	for (i = 0; i < calls.size; i++)
		calls.slots[i].id = TW_CODE_NONE;
	for (i = 0; i < d->host.call_count; i++)
		add_call(d, &calls, d->host.call[i]);
	for (i = 0; i < d->gpu.count; i++) {
		uint64_t event = d->gpu.event[i];
		const struct call *call;

		if (!tw_is_link_id(events->correlation[event]))
			continue;
		call = find(&calls, pid_of(d, event), events->correlation[event]);
		if (call->id != TW_CODE_NONE)
			d->gpu.launch[i] = call->node;
	}
	tw_free(d->allocator, calls.slots, calls.size * sizeof(*calls.slots));
	return 0;
}
