/* What was claimed of a rank as bytes and back, for processes that read traces for another. */
#include "diagnose/claims.h"

#include "base/alloc.h"
#include "job/transport/wire.h"
#include "path/graph.h"

#include <string.h>

#define FORMAT "trawl claims 3"

/* Fewest bytes of a change, a place, a function. */
enum {
	CHANGE_BYTES = 7 + 8,
	SPOT_BYTES = 9,
	FUNCTION_BYTES = 2,
	WHOSE_BYTES = 6,
	SERVED_BYTES = 3
};

struct passing {
	struct tw_wire *wire;
	struct tw_claims *claims;
	const struct tw_path_rank *rank; /* that they are of */
};

static void pass_real(struct passing *p, double *value)
{
	uint64_t bits;

	memcpy(&bits, value, sizeof(bits));
	bits = tw_wire_fixed(p->wire, bits);
	memcpy(value, &bits, sizeof(bits));
}

static uint32_t pass_text(struct passing *p, uint32_t text)
{
	return (uint32_t)tw_wire_number(p->wire, text, p->claims->texts.count - 1);
}

/* Room for as many as there are, and one more. */
static void *make_room(struct passing *p, void *there, size_t count, size_t each)
{
	void *array = there;

	if (!p->wire->out)
		array = tw_alloc_array(p->claims->allocator, count + 1, each);
	if (!array)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	return array;
}

/* A list that grows: its items, all zero where it is read. */
#define PASS_LIST(p, list, each)                                                                \
	do {                                                                                    \
		tw_wire_list((p)->wire, &(list)->at, &(list)->count, sizeof(*(list)->at), each, \
			     (p)->claims->allocator);                                           \
		if (!(p)->wire->out)                                                            \
			(list)->capacity = (list)->count;                                       \
	} while (0)

/* A number of something of which the rank has so many; 0 where it has none. */
static uint32_t pass_below(struct passing *p, uint32_t number, uint32_t count)
{
	return (uint32_t)tw_wire_number(p->wire, number, count ? count - 1 : 0);
}

/* Whether the rank has what a change is of. */
static bool is_there(const struct tw_remedy_part *c, const struct tw_path_rank *r)
{
	if (c->kind == TW_REMEDY_HOST)
		return c->thread < r->thread_count;
	if (c->kind == TW_REMEDY_POINT)
		return c->gpu < r->count;
	return c->gpu < r->gpu_count;
}

static void pass_change(struct passing *p, struct tw_remedy_part *c)
{
	const struct tw_path_rank *r = p->rank;
	struct tw_wire *wire = p->wire;

	c->kind = (enum tw_remedy_kind)tw_wire_number(wire, c->kind, TW_REMEDY_BANDWIDTH);
	c->gpu = pass_below(p, c->gpu, c->kind == TW_REMEDY_POINT ? r->count : r->gpu_count);
	c->other = pass_below(p, c->other, r->gpu_count);
	c->thread = pass_below(p, c->thread, r->thread_count);
	c->from_ns = tw_wire_signed(wire, c->from_ns);
	c->to_ns = tw_wire_signed(wire, c->to_ns);
	c->ns = tw_wire_signed(wire, c->ns);
	pass_real(p, &c->factor);
	if (!is_there(c, r))
		tw_wire_fail(wire, TRAWL_EFORMAT);
}

static void pass_spot(struct passing *p, struct tw_spot *s)
{
	s->operation = pass_text(p, s->operation);
	s->call = pass_text(p, s->call);
	s->site = pass_text(p, s->site);
	s->module = pass_text(p, s->module);
	s->note = pass_text(p, s->note);
	s->step = tw_wire_signed(p->wire, s->step);
	s->count = tw_wire_number(p->wire, s->count, UINT64_MAX);
	s->ns = tw_wire_signed(p->wire, s->ns);
	s->event = tw_wire_number(p->wire, s->event, UINT64_MAX);
}

static void pass_claim(struct passing *p, struct tw_claim *claim)
{
	size_t i;

	claim->count = tw_wire_number(p->wire, claim->count, UINT64_MAX);
	claim->host_ns = tw_wire_signed(p->wire, claim->host_ns);
	claim->gpu_ns = tw_wire_signed(p->wire, claim->gpu_ns);
	pass_real(p, &claim->figure);
	PASS_LIST(p, &claim->remedy.list, CHANGE_BYTES);
	for (i = 0; i < claim->remedy.list.count && !p->wire->status; i++)
		pass_change(p, &claim->remedy.list.at[i]);
	PASS_LIST(p, &claim->spots, SPOT_BYTES);
	for (i = 0; i < claim->spots.count && !p->wire->status; i++)
		pass_spot(p, &claim->spots.at[i]);
}

/* Of all GPU events, labels and collectives of the rank: their numbers are known. */
static void pass_arrays(struct passing *p)
{
	struct tw_claims *c = p->claims;
	uint32_t i;

	if (!p->wire->out) {
		c->gpu_count = p->rank->gpu_count;
		c->label_count = p->rank->label_count;
		c->collective_count = p->rank->collective_count;
	}
	c->place = make_room(p, c->place, c->gpu_count, sizeof(*c->place));
	c->pass = make_room(p, c->pass, c->gpu_count, 1);
	c->whose_of = make_room(p, c->whose_of, c->gpu_count, sizeof(*c->whose_of));
	c->loads_or_waits = make_room(p, c->loads_or_waits, c->label_count, 1);
	c->collectives = make_room(p, c->collectives, c->collective_count, sizeof(*c->collectives));
	for (i = 0; i < c->gpu_count && !p->wire->status; i++) {
		c->place[i] = tw_wire_fixed(p->wire, c->place[i]);
		c->pass[i] = (uint8_t)tw_wire_number(p->wire, c->pass[i], UINT8_MAX);
		c->whose_of[i] = pass_below(p, c->whose_of[i], (uint32_t)c->whose.count);
	}
	for (i = 0; i < c->label_count && !p->wire->status; i++)
		c->loads_or_waits[i] =
			(uint8_t)tw_wire_number(p->wire, c->loads_or_waits[i], UINT8_MAX);
}

static void pass_collective(struct passing *p, struct tw_collective_size *c)
{
	pass_real(p, &c->in);
	pass_real(p, &c->out);
	pass_real(p, &c->bus_bytes);
	pass_real(p, &c->expected_gbps);
	c->name = pass_text(p, c->name);
	c->group = pass_text(p, c->group);
	c->to_all = (uint8_t)tw_wire_number(p->wire, c->to_all, UINT8_MAX);
	c->pair = (uint8_t)tw_wire_number(p->wire, c->pair, UINT8_MAX);
	c->reduces = (uint8_t)tw_wire_number(p->wire, c->reduces, UINT8_MAX);
}

static void pass_functions(struct passing *p)
{
	struct tw_claims *c = p->claims;
	size_t i;

	PASS_LIST(p, &c->functions, FUNCTION_BYTES);
	for (i = 0; i < c->functions.count && !p->wire->status; i++) {
		struct tw_function *f = &c->functions.at[i];

		f->text = pass_text(p, f->text);
		f->self_ns = tw_wire_signed(p->wire, f->self_ns);
	}
}

static void pass_whose(struct passing *p)
{
	struct tw_claims *c = p->claims;
	size_t i;

	PASS_LIST(p, &c->whose, WHOSE_BYTES);
	if (!c->whose.count)
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
	for (i = 0; i < c->whose.count && !p->wire->status; i++) {
		struct tw_whose *w = &c->whose.at[i];

		w->module = pass_text(p, w->module);
		w->modules = pass_text(p, w->modules);
		w->site = pass_text(p, w->site);
		w->pass = pass_below(p, w->pass, TW_WHOSE_PASSES);
		w->phase = pass_below(p, w->phase, TW_PHASES + 1);
		w->captured = pass_below(p, w->captured, 2);
	}
}

static void pass_served(struct passing *p)
{
	struct tw_claims *c = p->claims;
	size_t i;

	for (i = 0; i < TW_PHASES + 1; i++) {
		c->phase_idle_ns[i][0] = tw_wire_signed(p->wire, c->phase_idle_ns[i][0]);
		c->phase_idle_ns[i][1] = tw_wire_signed(p->wire, c->phase_idle_ns[i][1]);
	}
	PASS_LIST(p, &c->served, SERVED_BYTES);
	for (i = 0; i < c->served.count && !p->wire->status; i++) {
		struct tw_served_time *s = &c->served.at[i];

		s->start_ns = tw_wire_signed(p->wire, s->start_ns);
		s->end_ns = tw_wire_signed(p->wire, s->end_ns);
		s->phase = pass_below(p, s->phase, TW_PHASES);
	}
}

static const struct tw_wire_field fields[] = {
	TW_WIRE_FIELD(struct tw_claims, warm_ns),      TW_WIRE_FIELD(struct tw_claims, trains),
	TW_WIRE_FIELD(struct tw_claims, mode_unknown), TW_WIRE_FIELD(struct tw_claims, amd),
	TW_WIRE_FIELD(struct tw_claims, failed),
};

void tw_claims_pass(struct tw_wire *wire, struct tw_claims *claims, const struct tw_path_rank *rank)
{
	struct passing p = { wire, claims, rank };
	struct tw_pool *texts = wire->texts;
	size_t i;

	if (!wire->out && tw_pool_init(&claims->texts, claims->allocator))
		tw_wire_fail(wire, TRAWL_ENOMEM);
	wire->texts = &claims->texts;
	tw_wire_same(wire, FORMAT);
	if (!wire->status)
		tw_wire_pool(wire);
	TW_WIRE_FIELDS(wire, claims, fields);
	for (i = 0; i < sizeof(claims->idle_ns) / sizeof(claims->idle_ns[0]); i++)
		claims->idle_ns[i] = tw_wire_signed(wire, claims->idle_ns[i]);
	for (i = 0; i < sizeof(claims->computing_ns) / sizeof(claims->computing_ns[0]); i++)
		claims->computing_ns[i] = tw_wire_signed(wire, claims->computing_ns[i]);
	claims->stack_events = tw_wire_number(wire, claims->stack_events, UINT64_MAX);
	for (i = 0; i < TW_FINDING_KINDS && !wire->status; i++)
		pass_claim(&p, &claims->of[i]);
	if (!wire->status)
		pass_whose(&p);
	if (!wire->status)
		pass_served(&p);
	if (!wire->status)
		pass_arrays(&p);
	for (i = 0; i < claims->collective_count && !wire->status; i++)
		pass_collective(&p, &claims->collectives[i]);
	if (!wire->status)
		pass_functions(&p);
	wire->texts = texts;
}
