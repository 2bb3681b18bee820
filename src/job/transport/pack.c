#include "job/transport/pack.h"

#include "base/alloc.h"
#include "table/pack.h"

#include <string.h>

/* "trawl rank", and a number that changes with the layout below or struct tw_rank. */
#define MAGIC "twrk"
#define VERSION 8u
#define MAGIC_BYTES 4u
#define ID_BYTES 8u

/* What the collectives of a rank have; what none has takes no bytes. */
enum { HAS_IDS = 1, HAS_SEQUENCES = 2, HAS_ALL = HAS_IDS | HAS_SEQUENCES };
/* Fewest bytes of a kind, and of a collective without ids and sequences. */
enum { KIND_BYTES = TW_COLLECTIVE_ARGS + 5, COLLECTIVE_BYTES = 3 };

/* ---- numbers and texts ------------------------------------------------------------------- */

void tw_pack_number(struct tw_str *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value >= 128; value >>= 7)
		bytes[n++] = (char)(value | 128);
	bytes[n++] = (char)value;
	tw_str_add(out, bytes, n);
}

void tw_pack_signed(struct tw_str *out, int64_t value)
{
	tw_pack_number(out, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void tw_pack_text(struct tw_str *out, const char *text, size_t len)
{
	tw_pack_number(out, len);
	tw_str_add(out, text, len);
}

static uint64_t refuse(struct tw_unpacking *in)
{
	in->failed = true;
	in->at = in->end;
	return 0;
}

uint64_t tw_unpack_number(struct tw_unpacking *in)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		uint64_t bits = *in->at & 127u;
		bool last = *in->at++ < 128;

		value |= bits << shift;
		/* One number has one form, and 64 bits. */
		if ((shift == 63 && bits > 1) || (last && !bits && shift))
			break;
		if (last)
			return value;
	}
	return refuse(in);
}

int64_t tw_unpack_signed(struct tw_unpacking *in)
{
	uint64_t value = tw_unpack_number(in);

	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint64_t tw_unpack_up_to(struct tw_unpacking *in, uint64_t most)
{
	uint64_t value = tw_unpack_number(in);

	return value <= most ? value : refuse(in);
}

size_t tw_unpack_count(struct tw_unpacking *in, size_t each)
{
	uint64_t count = tw_unpack_number(in);

	return count <= (size_t)(in->end - in->at) / each ? (size_t)count : (size_t)refuse(in);
}

const char *tw_unpack_text(struct tw_unpacking *in, size_t *len)
{
	const char *text;

	*len = tw_unpack_count(in, 1);
	text = (const char *)in->at;
	in->at += *len;
	return text;
}

/* ---- packing ----------------------------------------------------------------------------- */

/* The id of a text that is kept in the pool; ids are never those of an empty text but 0. */
static uint32_t id_of(const struct tw_rank *rank, const char *text)
{
	return text && *text ? tw_pool_find(&rank->texts, text, strlen(text)) : 0;
}

static void pack_id(uint64_t id, struct tw_str *out)
{
	char bytes[ID_BYTES];
	size_t i;

	for (i = 0; i < ID_BYTES; i++)
		bytes[i] = (char)(id >> 8 * i);
	tw_str_add(out, bytes, sizeof(bytes));
}

static void pack_sketch(const struct tw_sketch *sketch, struct tw_str *out)
{
	uint32_t i;

	tw_pack_number(out, sketch->count);
	for (i = 0; i < sketch->count; i++)
		pack_id(sketch->hashes[i], out);
}

static void pack_facts(const struct tw_rank *rank, struct tw_str *out)
{
	const struct tw_timeline *t = &rank->timeline;
	const int64_t times[] = {
		rank->rank,
		rank->name_rank,
		rank->world_size,
		rank->base_time_ns,
		rank->device_count,
		rank->first_ns,
		rank->last_ns,
		t->compute_ns,
		t->exposed_communication_ns,
		t->exposed_copy_ns,
		t->busy_ns,
		t->idle_ns,
		t->total_ns,
		t->communication_ns,
		t->copy_ns,
		t->micro_idle_ns,
		t->macro_idle_ns,
		rank->first_step,
		rank->last_step,
		rank->who.recorded_rank,
		rank->who.recorded_world,
		rank->who.pid,
		rank->who.first_ns,
		rank->who.last_ns,
		t->other_ns,
		rank->launched_ns,
		rank->elsewhere_ns,
	};
	size_t i;

	tw_pack_number(out, rank->rule);
	tw_pack_number(out, rank->state);
	tw_pack_number(out, rank->worst);
	tw_pack_number(out, (uint64_t)-rank->status);
	tw_pack_number(out, rank->file);
	tw_pack_number(out, rank->bytes);
	tw_pack_number(out, rank->events);
	tw_pack_number(out, rank->gpu_events);
	tw_pack_number(out, t->events);
	for (i = 0; i < sizeof(times) / sizeof(*times); i++)
		tw_pack_signed(out, times[i]);
	tw_pack_number(out, id_of(rank, rank->host));
	tw_pack_number(out, id_of(rank, rank->device_name));
	tw_pack_number(out, id_of(rank, rank->message));
	tw_pack_number(out, id_of(rank, rank->view));
	tw_pack_number(out, id_of(rank, rank->who.members));
	tw_pack_number(out, rank->who.part);
	tw_pack_number(out, rank->who.labelled);
	pack_sketch(&rank->who.names, out);
	pack_sketch(&rank->who.groups, out);
}

static void pack_texts(const struct tw_pool *texts, struct tw_str *out)
{
	uint32_t id;
	size_t len;

	tw_pack_number(out, texts->count ? texts->count - 1 : 0);
	for (id = 1; id < texts->count; id++) {
		const char *text = tw_pool_text(texts, id, &len);

		tw_pack_text(out, text, len);
	}
}

static void pack_kinds(const struct tw_rank *rank, struct tw_str *out)
{
	uint32_t i;
	size_t k;

	tw_pack_number(out, rank->kind_count);
	for (i = 0; i < rank->kind_count; i++) {
		const struct tw_collective_kind *kind = &rank->kinds[i];

		for (k = 0; k < TW_COLLECTIVE_ARGS; k++)
			tw_pack_number(out, kind->args[k]);
		tw_pack_number(out, kind->kernel);
		tw_pack_number(out, kind->device);
		tw_pack_number(out, kind->stream);
		tw_pack_number(out, kind->operation);
		tw_pack_number(out, kind->evidence);
		tw_pack_number(out, kind->copies);
	}
}

/*
 * Sequence numbers count in a process group, so they are told as the difference from the last of
 * the same group: an array of those by the id of the group's name, all 0 at first.
 */
static int64_t *last_sequences(const struct tw_rank *rank)
{
	return tw_alloc_array(rank->allocator, (size_t)rank->texts.count + 1, sizeof(int64_t));
}

static void free_sequences(const struct tw_rank *rank, int64_t *last)
{
	tw_free(rank->allocator, last, ((size_t)rank->texts.count + 1) * sizeof(*last));
}

static void pack_collectives(const struct tw_rank *rank, struct tw_str *out)
{
	int64_t *last = last_sequences(rank);
	uint64_t i, before = 0;
	unsigned has = 0;

	if (!last) {
		out->failed = true;
		return;
	}
	for (i = 0; i < rank->collective_count; i++)
		has |= (rank->collectives[i].comms_id ? HAS_IDS : 0u) |
		       (rank->collectives[i].sequence != -1 ? HAS_SEQUENCES : 0u);
	tw_pack_number(out, rank->collective_count);
	tw_pack_number(out, has);
	for (i = 0; i < rank->collective_count; i++) {
		const struct tw_collective *c = &rank->collectives[i];
		int64_t *sequence = &last[rank->kinds[c->kind].args[TW_COLLECTIVE_GROUP]];

		/* Differences without sign, so that those of any two times fit. */
		if (i)
			tw_pack_number(out, (uint64_t)c->start_ns - before);
		else
			tw_pack_signed(out, c->start_ns);
		before = (uint64_t)c->start_ns;
		tw_pack_signed(out, (int64_t)((uint64_t)c->end_ns - before));
		tw_pack_number(out, c->kind);
		if (has & HAS_IDS)
			pack_id(c->comms_id, out);
		if (has & HAS_SEQUENCES) {
			tw_pack_signed(out, (int64_t)((uint64_t)c->sequence - (uint64_t)*sequence));
			*sequence = c->sequence;
		}
	}
	free_sequences(rank, last);
}

void tw_rank_pack(const struct tw_rank *rank, struct tw_str *out)
{
	size_t i;

	tw_str_add(out, MAGIC, MAGIC_BYTES);
	tw_pack_number(out, VERSION);
	pack_texts(&rank->texts, out);
	pack_facts(rank, out);
	pack_kinds(rank, out);
	pack_collectives(rank, out);
	tw_pack_number(out, rank->table_count);
	for (i = 0; i < rank->table_count; i++)
		tw_table_pack(rank->tables[i], out);
	if (rank->texts.failed)
		out->failed = true;
}

/* ---- unpacking --------------------------------------------------------------------------- */

/* 0, or TRAWL_ENOMEM; what is no rank only fails `in`, as everywhere below. */
static int unpack_texts(struct tw_unpacking *in, struct tw_rank *rank)
{
	size_t count = tw_unpack_count(in, 1), i, len;

	for (i = 1; i <= count && !in->failed; i++) {
		const char *text = tw_unpack_text(in, &len);
		uint32_t id;

		if (in->failed)
			break;
		id = tw_pool_intern(&rank->texts, text, len);
		if (!id)
			return TRAWL_ENOMEM;
		if (id != i) /* twice there */
			refuse(in);
	}
	return 0;
}

static uint32_t unpack_id(struct tw_unpacking *in, const struct tw_rank *rank)
{
	return (uint32_t)tw_unpack_up_to(in, rank->texts.count - 1);
}

/* A text of the pool that is one of C, and not empty unless its id is 0. */
static const char *unpack_kept(struct tw_unpacking *in, const struct tw_rank *rank)
{
	uint32_t id = unpack_id(in, rank);
	size_t len;
	const char *text = tw_pool_text(&rank->texts, id, &len);

	if (id && (!len || memchr(text, 0, len)))
		refuse(in);
	return text;
}

static uint64_t unpack_fixed(struct tw_unpacking *in)
{
	uint64_t id = 0;
	size_t i;

	if ((size_t)(in->end - in->at) < ID_BYTES)
		return refuse(in);
	for (i = 0; i < ID_BYTES; i++)
		id |= (uint64_t)in->at[i] << 8 * i;
	in->at += ID_BYTES;
	return id;
}

static void unpack_sketch(struct tw_unpacking *in, struct tw_sketch *sketch)
{
	uint32_t i;

	sketch->count = (uint32_t)tw_unpack_up_to(in, TW_SKETCH);
	for (i = 0; i < sketch->count; i++)
		sketch->hashes[i] = unpack_fixed(in);
}

static void unpack_facts(struct tw_unpacking *in, struct tw_rank *rank)
{
	struct tw_timeline *t = &rank->timeline;
	int64_t *const times[] = {
		&rank->rank,
		&rank->name_rank,
		&rank->world_size,
		&rank->base_time_ns,
		&rank->device_count,
		&rank->first_ns,
		&rank->last_ns,
		&t->compute_ns,
		&t->exposed_communication_ns,
		&t->exposed_copy_ns,
		&t->busy_ns,
		&t->idle_ns,
		&t->total_ns,
		&t->communication_ns,
		&t->copy_ns,
		&t->micro_idle_ns,
		&t->macro_idle_ns,
		&rank->first_step,
		&rank->last_step,
		&rank->who.recorded_rank,
		&rank->who.recorded_world,
		&rank->who.pid,
		&rank->who.first_ns,
		&rank->who.last_ns,
		&t->other_ns,
		&rank->launched_ns,
		&rank->elsewhere_ns,
	};
	size_t i;

	rank->rule = (enum tw_rank_rule)tw_unpack_up_to(in, TW_RANK_BY_ORDER);
	rank->state = (enum tw_rank_state)tw_unpack_up_to(in, TW_RANK_NOT_A_TRACE);
	rank->worst = (enum trawl_severity)tw_unpack_up_to(in, TRAWL_NOTE);
	rank->status = -(int)tw_unpack_up_to(in, -TRAWL_ECANCELED);
	rank->file = (uint32_t)tw_unpack_up_to(in, UINT32_MAX);
	rank->bytes = tw_unpack_number(in);
	rank->events = tw_unpack_number(in);
	rank->gpu_events = tw_unpack_number(in);
	t->events = tw_unpack_number(in);
	for (i = 0; i < sizeof(times) / sizeof(*times); i++)
		*times[i] = tw_unpack_signed(in);
	rank->host = unpack_kept(in, rank);
	rank->device_name = unpack_kept(in, rank);
	rank->message = unpack_kept(in, rank);
	rank->view = unpack_kept(in, rank);
	rank->who.members = unpack_kept(in, rank);
	rank->who.part = (uint32_t)tw_unpack_up_to(in, UINT32_MAX);
	rank->who.labelled = tw_unpack_up_to(in, true);
	unpack_sketch(in, &rank->who.names);
	unpack_sketch(in, &rank->who.groups);
}

static int unpack_kinds(struct tw_unpacking *in, struct tw_rank *rank)
{
	size_t count = tw_unpack_count(in, KIND_BYTES), i, k;

	if (!count)
		return 0;
	if (count > UINT32_MAX) {
		refuse(in);
		return 0;
	}
	rank->kinds = tw_alloc_array(rank->allocator, count, sizeof(*rank->kinds));
	if (!rank->kinds)
		return TRAWL_ENOMEM;
	rank->kind_count = (uint32_t)count;
	for (i = 0; i < count; i++) {
		struct tw_collective_kind *kind = &rank->kinds[i];

		for (k = 0; k < TW_COLLECTIVE_ARGS; k++)
			kind->args[k] = unpack_id(in, rank);
		kind->kernel = unpack_id(in, rank);
		kind->device = unpack_id(in, rank);
		kind->stream = unpack_id(in, rank);
		kind->operation = unpack_id(in, rank);
		kind->evidence = (uint32_t)tw_unpack_up_to(in, TW_EVIDENCES - 1);
		kind->copies = (uint32_t)tw_unpack_up_to(in, 1);
	}
	return 0;
}

/* The next collective behind one that starts at `before`. */
static void unpack_collective(struct tw_unpacking *in, const struct tw_rank *rank, bool first,
			      int64_t before, unsigned has, int64_t *last, struct tw_collective *c)
{
	uint64_t distance;
	int64_t *sequence;

	if (first) {
		c->start_ns = tw_unpack_signed(in);
	} else {
		distance = tw_unpack_number(in);
		if (__builtin_add_overflow(before, distance, &c->start_ns))
			refuse(in);
	}
	c->end_ns = (int64_t)((uint64_t)c->start_ns + (uint64_t)tw_unpack_signed(in));
	c->kind = (uint32_t)tw_unpack_up_to(in, rank->kind_count - 1);
	c->comms_id = has & HAS_IDS ? unpack_fixed(in) : 0;
	c->sequence = -1;
	if (has & HAS_SEQUENCES) {
		sequence = &last[rank->kinds[c->kind].args[TW_COLLECTIVE_GROUP]];
		c->sequence = *sequence =
			(int64_t)((uint64_t)*sequence + (uint64_t)tw_unpack_signed(in));
	}
}

static int unpack_collectives(struct tw_unpacking *in, struct tw_rank *rank)
{
	uint64_t count = tw_unpack_count(in, COLLECTIVE_BYTES), i;
	unsigned has = (unsigned)tw_unpack_up_to(in, HAS_ALL), seen = 0;
	int64_t *last;

	if (!count || !rank->kind_count) {
		if (count || has)
			refuse(in);
		return 0;
	}
	rank->collectives = tw_alloc_array(rank->allocator, count, sizeof(*rank->collectives));
	last = last_sequences(rank);
	rank->collective_count = rank->collectives ? count : 0;
	for (i = 0; i < rank->collective_count && last && !in->failed; i++) {
		struct tw_collective *c = &rank->collectives[i];

		unpack_collective(in, rank, i == 0, i ? c[-1].start_ns : 0, has, last, c);
		seen |= (c->comms_id ? HAS_IDS : 0u) | (c->sequence != -1 ? HAS_SEQUENCES : 0u);
	}
	/* What none has is not told. */
	if (last && seen != has)
		refuse(in);
	free_sequences(rank, last);
	return last && rank->collectives ? 0 : TRAWL_ENOMEM;
}

static int unpack_tables(struct tw_unpacking *in, struct tw_rank *rank, struct trawl_error *err)
{
	size_t count = tw_unpack_count(in, 1), used;
	int status;

	if (!count)
		return 0;
	rank->tables = tw_alloc_array(rank->allocator, count, sizeof(struct trawl_table *));
	if (!rank->tables)
		return TRAWL_ENOMEM;
	rank->table_capacity = count;
	for (; rank->table_count < count; rank->table_count++) {
		status = tw_table_unpack(&rank->tables[rank->table_count], (const char *)in->at,
					 (size_t)(in->end - in->at), &used, rank->allocator, err);
		if (status == TRAWL_EFORMAT) {
			refuse(in);
			return 0;
		}
		if (status)
			return status;
		in->at += used;
	}
	return 0;
}

static int unpack_parts(struct tw_unpacking *in, struct tw_rank *rank, struct trawl_error *err)
{
	int status;

	if (in->end - in->at < (ptrdiff_t)MAGIC_BYTES || memcmp(in->at, MAGIC, MAGIC_BYTES)) {
		refuse(in);
		return 0;
	}
	in->at += MAGIC_BYTES;
	if (tw_unpack_number(in) != VERSION)
		refuse(in);
	status = unpack_texts(in, rank);
	if (status || in->failed)
		return status;
	unpack_facts(in, rank);
	status = unpack_kinds(in, rank);
	if (!status)
		status = unpack_collectives(in, rank);
	if (!status)
		status = unpack_tables(in, rank, err);
	return status;
}

int tw_rank_unpack(struct tw_rank *rank, const char *bytes, size_t len, size_t *used,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	const uint8_t *from = (const uint8_t *)bytes;
	struct tw_unpacking in = { from, from + len, false };
	int status = TRAWL_ENOMEM;

	*used = 0;
	if (!tw_rank_init(rank, allocator))
		status = unpack_parts(&in, rank, err);
	if (status == TRAWL_ENOMEM)
		return trawl_error_set(err, status, "out of memory");
	if (in.failed)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "what another process sent is no rank of this version");
	*used = (size_t)(in.at - from);
	return status;
}
