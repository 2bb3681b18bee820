/* A rank's part of the graph as bytes and back, for processes that read traces for another. */
#include "path/job_path.h"

#include "base/alloc.h"
#include "job/transport/wire.h"
#include "path/rank_build.h"

#include <string.h>

#define FORMAT "trawl path 1"

/* Fewest bytes of a point, and of a GPU event. */
enum { POINT_BYTES = 5, GPU_BYTES = 6 };

struct passing {
	struct tw_wire *wire;
	struct tw_path_part *part;
};

/* `count` numbers below `limit`, with `none` TW_NO_POINT too; their array has one more place. */
static void pass_numbers(struct passing *p, uint32_t **array, size_t count, uint64_t limit,
			 bool none)
{
	size_t i;

	if (!p->wire->out)
		*array = tw_alloc_array(p->part->allocator, count + 1, sizeof(**array));
	if (!*array)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	if (count && !limit && !none)
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
	for (i = 0; i < count && !p->wire->status; i++) {
		/* TW_NO_POINT is 0, others are one more. */
		uint32_t number = (uint32_t)tw_wire_number(p->wire, (uint32_t)((*array)[i] + none),
							   none ? limit : limit - !!limit);

		(*array)[i] = number - none;
	}
}

static uint32_t pass_count(struct passing *p, uint32_t count, size_t each)
{
	return (uint32_t)tw_wire_count(p->wire, count, each);
}

static void pass_point(struct passing *p, uint32_t number, int64_t *last)
{
	struct tw_path_point *point = &p->part->points[number];
	bool gpu = number < 2 * (uint64_t)p->part->rank.gpu_count;
	uint64_t step = (uint64_t)point->time_ns - (uint64_t)*last;

	step = (uint64_t)tw_wire_signed(p->wire, (int64_t)step);
	point->time_ns = *last = (int64_t)((uint64_t)*last + step);
	point->label =
		(uint32_t)tw_wire_number(p->wire, point->label, p->part->rank.label_count - 1);
	point->kind = (uint8_t)tw_wire_number(p->wire, point->kind, TW_POINT_STEP + 1);
	point->flags = (uint8_t)tw_wire_number(p->wire, point->flags, UINT8_MAX);
	if (gpu ? point->kind != TW_POINT_GPU + (number & 1) : tw_is_gpu_point(point))
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
}

/* Where the causes of a point begin, as their number. */
static void pass_causes(struct passing *p, uint32_t point, uint32_t *begun)
{
	struct tw_path_part *part = p->part;
	struct tw_path_point *at = &part->points[point];
	uint32_t count = p->wire->out ? at[1].causes - at->causes : 0;

	count = (uint32_t)tw_wire_number(p->wire, count, part->cause_count - *begun);
	at->causes = *begun;
	*begun += count;
	at[1].causes = *begun;
	/* The end of GPU work has one: collectives take its place. */
	if (point < 2 * (uint64_t)part->rank.gpu_count && point & 1 && count != 1)
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
}

static void pass_points(struct passing *p)
{
	struct tw_path_part *part = p->part;
	struct tw_path_rank *r = &part->rank;
	const struct trawl_allocator *a = part->allocator;
	uint32_t i, begun = 0;
	int64_t last = 0;

	r->count = pass_count(p, r->count, POINT_BYTES);
	part->cause_count = pass_count(p, part->cause_count, 2);
	if (!p->wire->out) {
		part->points = tw_alloc_array(a, (size_t)r->count + 1, sizeof(*part->points));
		part->code = tw_alloc_array(a, (size_t)part->cause_count + 1, 1);
	}
	if (!part->points || !part->code)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	if (2 * (uint64_t)r->gpu_count > r->count || (r->count && !r->label_count))
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
	for (i = 0; i < r->count && !p->wire->status; i++) {
		pass_point(p, i, &last);
		pass_causes(p, i, &begun);
	}
	if (begun != part->cause_count)
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
	for (i = 0; i < part->cause_count && !p->wire->status; i++)
		part->code[i] = (uint8_t)tw_wire_number(p->wire, part->code[i], TW_CAUSES - 1);
	pass_numbers(p, &part->from, part->cause_count, r->count, false);
}

static void pass_labels(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;
	uint64_t texts = r->texts.count - 1;
	uint32_t i;

	r->label_count = pass_count(p, r->label_count, 7);
	if (!p->wire->out)
		r->labels = tw_alloc_array(p->part->allocator, (size_t)r->label_count + 1,
					   sizeof(*r->labels));
	if (!r->labels)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	for (i = 0; i < r->label_count && !p->wire->status; i++) {
		struct tw_path_label *l = &r->labels[i];
		uint32_t *const ids[] = { &l->name, &l->operation, &l->shapes, &l->track,
					  &l->module };
		size_t k;

		for (k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
			*ids[k] = (uint32_t)tw_wire_number(p->wire, *ids[k], texts);
		l->category =
			(uint32_t)tw_wire_number(p->wire, l->category, tw_kernel_category_count);
		l->replayed = (uint32_t)tw_wire_number(p->wire, l->replayed, 1);
	}
}

static void pass_events(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;
	uint32_t i, *steps = (uint32_t *)r->step;

	pass_numbers(p, &steps, r->gpu_count, r->step_count, true);
	r->step = (int32_t *)steps;
	pass_numbers(p, &r->launch, r->gpu_count, r->count, true);
	pass_numbers(p, &r->launch_end, r->gpu_count, r->count, true);
	pass_numbers(p, &r->queue, r->gpu_count, r->queue_count, false);
	pass_numbers(p, &r->target_ns, r->gpu_count, (uint64_t)UINT32_MAX + 1, false);
	r->launched_count = (uint32_t)tw_wire_number(p->wire, r->launched_count, r->gpu_count);
	if (!p->wire->out)
		r->launched = tw_alloc_array(p->part->allocator, (size_t)r->gpu_count + 1,
					     sizeof(*r->launched));
	if (!r->launched)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	for (i = 0; i < r->launched_count && !p->wire->status; i++) {
		r->launched[i] =
			(uint32_t)tw_wire_number(p->wire, r->launched[i], r->gpu_count - 1);
		if (r->launch[r->launched[i]] == TW_NO_POINT ||
		    r->launch_end[r->launched[i]] == TW_NO_POINT)
			tw_wire_fail(p->wire, TRAWL_EFORMAT);
	}
}

static void pass_collectives(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;
	uint32_t i;

	r->collective_count = (uint32_t)tw_wire_number(p->wire, r->collective_count, r->gpu_count);
	if (!p->wire->out)
		r->collectives = tw_alloc_array(p->part->allocator, (size_t)r->gpu_count + 1,
						sizeof(*r->collectives));
	if (!r->collectives)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	for (i = 0; i < r->collective_count && !p->wire->status; i++) {
		struct tw_path_event *e = &r->collectives[i];

		e->first = (uint32_t)tw_wire_number(p->wire, e->first, r->gpu_count - 1);
		e->last = (uint32_t)tw_wire_number(p->wire, e->last, r->gpu_count - 1);
		e->root = tw_wire_signed(p->wire, e->root);
	}
}

static void pass_threads(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;
	uint32_t i;

	r->thread_count = pass_count(p, r->thread_count, 3);
	if (!p->wire->out) {
		r->thread_room = r->thread_count + 1;
		r->threads =
			tw_alloc_array(p->part->allocator, r->thread_room, sizeof(*r->threads));
	}
	if (!r->threads)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	for (i = 0; i < r->thread_count && !p->wire->status; i++) {
		struct tw_path_thread *t = &r->threads[i];

		t->track = (uint32_t)tw_wire_number(p->wire, t->track, UINT32_MAX);
		t->first = (uint32_t)tw_wire_number(p->wire, t->first, r->count);
		t->count = (uint32_t)tw_wire_number(p->wire, t->count, r->count - t->first);
	}
}

#define FIELD(member) TW_WIRE_FIELD(struct tw_path_rank, member)

static const struct tw_wire_field fields[] = {
	FIELD(rank),
	TW_WIRE_FIELD_UP_TO(struct tw_path_rank, vendor, TW_VENDORS - 1),
	FIELD(late_ns),
	FIELD(fetch_ns),
	FIELD(device_count),
	FIELD(notes.without_launch),
	FIELD(notes.before_launch),
	FIELD(notes.overlaps),
	FIELD(notes.unexplained),
	FIELD(notes.refuted),
	FIELD(chosen_steps),
	FIELD(by_time),
	FIELD(from_ns),
	FIELD(to_ns),
};

static void pass_steps(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;
	uint32_t i;

	r->step_count = pass_count(p, r->step_count, 3);
	if (!p->wire->out)
		r->steps = tw_alloc_array(p->part->allocator, (size_t)r->step_count + 1,
					  sizeof(*r->steps));
	if (!r->steps)
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	for (i = 0; i < r->step_count && !p->wire->status; i++) {
		r->steps[i].start_ns = tw_wire_signed(p->wire, r->steps[i].start_ns);
		r->steps[i].end_ns = tw_wire_signed(p->wire, r->steps[i].end_ns);
		r->steps[i].number = tw_wire_signed(p->wire, r->steps[i].number);
	}
}

/* Which points are in the part that is looked at. */
static void pass_pieces(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;

	if (tw_wire_number(p->wire, r->piece != NULL, 1) && !p->wire->status) {
		r->piece_count = pass_count(p, r->piece_count, 1);
		pass_numbers(p, &r->piece, r->count, r->piece_count, true);
	}
}

static void pass_rank(struct passing *p)
{
	struct tw_path_rank *r = &p->part->rank;

	if (!p->wire->out && tw_pool_init(&r->texts, p->part->allocator))
		tw_wire_fail(p->wire, TRAWL_ENOMEM);
	p->wire->texts = &r->texts;
	tw_wire_same(p->wire, FORMAT);
	if (!p->wire->status)
		tw_wire_pool(p->wire);
	TW_WIRE_FIELDS(p->wire, r, fields);
	r->gpu_count = pass_count(p, r->gpu_count, GPU_BYTES);
	r->queue_count = pass_count(p, r->queue_count, 1);
	if (!p->wire->out && r->device_count > r->queue_count)
		tw_wire_fail(p->wire, TRAWL_EFORMAT);
	pass_labels(p);
	pass_points(p);
	pass_steps(p);
	pass_numbers(p, &r->device, r->queue_count, r->device_count, false);
	pass_events(p);
	pass_collectives(p);
	pass_threads(p);
	pass_pieces(p);
}

void tw_path_pass_part(struct tw_wire *wire, struct tw_path_part *part)
{
	struct passing p = { wire, part };
	struct tw_pool *texts = wire->texts;

	pass_rank(&p);
	wire->texts = texts;
}

void tw_path_pass(struct tw_wire *wire, struct tw_rank *rank)
{
	struct tw_path_part *part = rank->attached;

	if (!tw_wire_number(wire, part != NULL, 1) || wire->status)
		return;
	if (!wire->out) {
		part = tw_alloc_array(rank->allocator, 1, sizeof(*part));
		if (!part) {
			tw_wire_fail(wire, TRAWL_ENOMEM);
			return;
		}
		part->allocator = rank->allocator;
		rank->attached = part;
		rank->free_attached = tw_path_free_attached;
	}
	tw_path_pass_part(wire, part);
	if (part->rank.collective_count != rank->collective_count)
		tw_wire_fail(wire, TRAWL_EFORMAT);
}
