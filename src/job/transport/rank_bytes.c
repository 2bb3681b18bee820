#include "job/transport/rank_bytes.h"

#include "table/pack.h"

#include <string.h>

/* Changes with the layout below or struct tw_rank. */
#define FORMAT "trawl rank 9"

/* What the collectives of a rank have; what none has takes no bytes. */
enum { HAS_IDS = 1, HAS_SEQUENCES = 2, HAS_ALL = HAS_IDS | HAS_SEQUENCES };
/* Fewest bytes of a kind, and of a collective without ids and sequences. */
enum { KIND_BYTES = TW_COLLECTIVE_ARGS + 6, COLLECTIVE_BYTES = 3 };

#define FIELD(member) TW_WIRE_FIELD(struct tw_rank, member)
#define FIELD_UP_TO(member, max) TW_WIRE_FIELD_UP_TO(struct tw_rank, member, max)

static const struct tw_wire_field rank_fields[] = {
	FIELD(rank),
	FIELD_UP_TO(rule, TRAWL_RANK_BY_ORDER),
	FIELD_UP_TO(state, TRAWL_RANK_NOT_A_TRACE),
	FIELD_UP_TO(worst, TRAWL_NOTE),
	FIELD(status),
	FIELD(file),
	FIELD(name_rank),
	FIELD(world_size),
	FIELD(base_time_ns),
	FIELD(device_count),
	FIELD(first_step),
	FIELD(last_step),
	FIELD(who.part),
	FIELD(who.labelled),
	FIELD(who.recorded_rank),
	FIELD(who.recorded_world),
	FIELD(who.pid),
	FIELD(who.first_ns),
	FIELD(who.last_ns),
	FIELD(who.members),
	FIELD(bytes),
	FIELD(events),
	FIELD(gpu_events),
	FIELD(first_ns),
	FIELD(last_ns),
	FIELD(timeline.compute_ns),
	FIELD(timeline.exposed_communication_ns),
	FIELD(timeline.exposed_copy_ns),
	FIELD(timeline.busy_ns),
	FIELD(timeline.idle_ns),
	FIELD(timeline.total_ns),
	FIELD(timeline.communication_ns),
	FIELD(timeline.copy_ns),
	FIELD(timeline.micro_idle_ns),
	FIELD(timeline.macro_idle_ns),
	FIELD(timeline.other_ns),
	FIELD(timeline.events),
	FIELD(launched_ns),
	FIELD(elsewhere_ns),
	FIELD(host),
	FIELD(device_name),
	FIELD(gpu),
	FIELD(view),
	FIELD(message),
};

static void pass_sketch(struct tw_wire *wire, struct tw_sketch *sketch)
{
	uint32_t i;

	sketch->count = (uint32_t)tw_wire_number(wire, sketch->count, TW_SKETCH);
	for (i = 0; i < sketch->count; i++)
		sketch->hashes[i] = tw_wire_fixed(wire, sketch->hashes[i]);
}

static uint32_t pass_id(struct tw_wire *wire, uint32_t id)
{
	return (uint32_t)tw_wire_number(wire, id, wire->texts->count - 1);
}

static void pass_kinds(struct tw_wire *wire, struct tw_rank *rank)
{
	size_t count = rank->kind_count, i, k;

	tw_wire_list(wire, &rank->kinds, &count, sizeof(*rank->kinds), KIND_BYTES, rank->allocator);
	rank->kind_count = (uint32_t)count;
	for (i = 0; i < rank->kind_count; i++) {
		struct tw_collective_kind *kind = &rank->kinds[i];

		for (k = 0; k < TW_COLLECTIVE_ARGS; k++)
			kind->args[k] = pass_id(wire, kind->args[k]);
		kind->kernel = pass_id(wire, kind->kernel);
		kind->device = pass_id(wire, kind->device);
		kind->stream = pass_id(wire, kind->stream);
		kind->operation = pass_id(wire, kind->operation);
		kind->evidence = (uint32_t)tw_wire_number(wire, kind->evidence, TW_EVIDENCES - 1);
		kind->copies = (uint32_t)tw_wire_number(wire, kind->copies, 1);
	}
}

/* ---- collectives, each as what differs from the one before it */

static unsigned what_they_have(const struct tw_rank *rank)
{
	unsigned has = 0;
	uint64_t i;

	for (i = 0; i < rank->collective_count; i++)
		has |= (rank->collectives[i].comms_id ? HAS_IDS : 0u) |
		       (rank->collectives[i].sequence != -1 ? HAS_SEQUENCES : 0u);
	return has;
}

/* *last: the sequence number before it in its process group, where these count. */
static void pass_sequence(struct tw_wire *wire, int64_t *sequence, int64_t *last)
{
	int64_t step = (int64_t)((uint64_t)*sequence - (uint64_t)*last);

	step = tw_wire_signed(wire, step);
	*sequence = *last = (int64_t)((uint64_t)*last + (uint64_t)step);
}

static void pass_times(struct tw_wire *wire, struct tw_collective *c, bool first)
{
	int64_t before = first ? 0 : c[-1].start_ns, length;
	uint64_t distance;

	/* Differences without sign, so that those of any two times fit. */
	if (first) {
		c->start_ns = tw_wire_signed(wire, c->start_ns);
	} else {
		distance = (uint64_t)c->start_ns - (uint64_t)before;
		distance = tw_wire_number(wire, distance, UINT64_MAX);
		if (__builtin_add_overflow(before, distance, &c->start_ns))
			tw_wire_fail(wire, TRAWL_EFORMAT);
	}
	length = tw_wire_signed(wire, (int64_t)((uint64_t)c->end_ns - (uint64_t)c->start_ns));
	c->end_ns = (int64_t)((uint64_t)c->start_ns + (uint64_t)length);
}

static void pass_collectives(struct tw_wire *wire, struct tw_rank *rank)
{
	/* By the id of a group's name. */
	size_t groups = (size_t)rank->texts.count + 1, count = rank->collective_count, i;
	unsigned has = (unsigned)tw_wire_number(wire, what_they_have(rank), HAS_ALL);
	int64_t *last = tw_alloc_array(rank->allocator, groups, sizeof(*last));

	tw_wire_list(wire, &rank->collectives, &count, sizeof(*rank->collectives), COLLECTIVE_BYTES,
		     rank->allocator);
	rank->collective_count = count;
	if (!last)
		tw_wire_fail(wire, TRAWL_ENOMEM);
	else if (count && !rank->kind_count)
		tw_wire_fail(wire, TRAWL_EFORMAT);
	for (i = 0; i < count && !wire->status; i++) {
		struct tw_collective *c = &rank->collectives[i];
		uint32_t group;

		pass_times(wire, c, i == 0);
		c->kind = (uint32_t)tw_wire_number(wire, c->kind, rank->kind_count - 1);
		group = rank->kinds[c->kind].args[TW_COLLECTIVE_GROUP];
		if (!wire->out)
			c->sequence = -1;
		if (has & HAS_IDS)
			c->comms_id = tw_wire_fixed(wire, c->comms_id);
		if (has & HAS_SEQUENCES)
			pass_sequence(wire, &c->sequence, &last[group]);
	}
	/* What none has is not told. */
	if (!wire->status && what_they_have(rank) != has)
		tw_wire_fail(wire, TRAWL_EFORMAT);
	tw_free(rank->allocator, last, groups * sizeof(*last));
}

static void pass_tables(struct tw_wire *wire, struct tw_rank *rank)
{
	size_t count = rank->table_count, i, used;
	int status;

	tw_wire_list(wire, &rank->tables, &count, sizeof(struct trawl_table *), 1, rank->allocator);
	if (!wire->out) {
		rank->table_capacity = count;
		rank->table_count = 0;
	}
	for (i = 0; i < count && !wire->status; i++) {
		if (wire->out) {
			tw_table_pack(rank->tables[i], wire->out);
			continue;
		}
		status = tw_table_unpack(&rank->tables[i], (const char *)wire->at,
					 (size_t)(wire->end - wire->at), &used, rank->allocator,
					 NULL);
		if (status) {
			tw_wire_fail(wire, status);
			continue;
		}
		rank->table_count++;
		wire->at += used;
	}
}

static void pass_rank(struct tw_wire *wire, struct tw_rank *rank)
{
	wire->texts = &rank->texts;
	tw_wire_same(wire, FORMAT);
	tw_wire_pool(wire);
	TW_WIRE_FIELDS(wire, rank, rank_fields);
	pass_sketch(wire, &rank->who.names);
	pass_sketch(wire, &rank->who.groups);
	pass_kinds(wire, rank);
	pass_collectives(wire, rank);
	pass_tables(wire, rank);
}

void tw_rank_pack(struct tw_rank *rank, struct tw_str *out)
{
	struct tw_wire wire = tw_wire_to(out);

	pass_rank(&wire, rank);
	out->failed |= rank->texts.failed || wire.status;
}

void tw_rank_unpack(struct tw_rank *rank, struct tw_wire *wire,
		    const struct trawl_allocator *allocator)
{
	if (tw_rank_init(rank, allocator))
		tw_wire_fail(wire, TRAWL_ENOMEM);
	else
		pass_rank(wire, rank);
}
