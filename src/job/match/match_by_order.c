/*
 * What says nothing of which collective it is: by order within its lane.  Calls of a rank after
 * the other are laid beside those that are known, and what is new among them is put in.
 */
#include "job/match/call_alignment.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "job/match/match_limits.h"

/* What is known of a lane so far: a draft for each call, in their order, on the anchor's clock. */
struct known {
	struct tw_align_call *calls;
	uint64_t *drafts;
	size_t count, capacity;
};

struct lane {
	struct tw_match_work *work;
	uint32_t id, anchor;
	bool unsure;	       /* of some rank ends tell nothing */
	const uint32_t *items; /* of the lane that have no draft, by rank and start */
	size_t count;
	struct known known, next;
	struct tw_arena arena; /* of what is needed for one rank */
};

static int64_t sequence_of(const struct lane *lane, uint32_t item)
{
	return lane->work->restarted[lane->id] ? tw_match_collective(lane->work, item)->sequence :
						 -1;
}

static struct tw_align_call call_of(const struct lane *lane, uint32_t item)
{
	return (struct tw_align_call){
		.signature = tw_match_kind_of(lane->work, item).signature,
		.sequence = sequence_of(lane, item),
		.end = tw_match_end(lane->work, item),
	};
}

static uint64_t end_key(const void *context, uint32_t i)
{
	return tw_sort_key(((const struct tw_align_side *)context)->calls[i].end);
}

static int side_of_calls(struct tw_align_side *side, struct lane *lane,
			 const struct tw_align_call *calls, size_t count)
{
	uint32_t i;

	*side = (struct tw_align_side){ .count = (uint32_t)count, .calls = calls };
	side->by_end = tw_arena_array(&lane->arena, count, sizeof(*side->by_end));
	if (!side->by_end)
		return TRAWL_ENOMEM;
	for (i = 0; i < side->count; i++)
		side->by_end[i] = i;
	return tw_sort(side->by_end, count, end_key, side, lane->work->allocator) ? TRAWL_ENOMEM :
										    0;
}

static int side_of_items(struct tw_align_side *side, struct lane *lane, const uint32_t *items,
			 size_t count)
{
	struct tw_align_call *calls = tw_arena_array(&lane->arena, count, sizeof(*calls));
	size_t i;

	if (!calls)
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++)
		calls[i] = call_of(lane, items[i]);
	return side_of_calls(side, lane, calls, count);
}

static void free_known(struct known *known, const struct trawl_allocator *a)
{
	tw_free(a, known->calls, known->capacity * sizeof(*known->calls));
	tw_free(a, known->drafts, known->capacity * sizeof(*known->drafts));
}

/* What is in it is not needed any more. */
static int reserve(struct lane *lane, struct known *known, size_t count)
{
	const struct trawl_allocator *a = lane->work->allocator;

	known->count = 0;
	if (known->capacity >= count)
		return 0;
	free_known(known, a);
	known->capacity = count + count / 4;
	known->calls = tw_alloc_array(a, known->capacity, sizeof(*known->calls));
	known->drafts = tw_alloc_array(a, known->capacity, sizeof(*known->drafts));
	return known->calls && known->drafts ? 0 : TRAWL_ENOMEM;
}

static void add_call(struct known *known, const struct tw_align_call *call, uint64_t draft)
{
	known->calls[known->count] = *call;
	known->drafts[known->count++] = draft;
}

/* A call that no other rank has had yet. */
static int add_new_call(struct lane *lane, struct tw_align_call call, uint32_t item, int64_t offset,
			bool sure)
{
	uint64_t draft =
		tw_match_draft(lane->work, lane->id,
			       call.sequence >= 0 ? TW_MATCH_BY_SEQUENCE : TW_MATCH_BY_ORDER);

	if (draft == TW_MATCH_NONE)
		return TRAWL_ENOMEM;
	lane->work->drafts[draft].doubtful = !sure;
	tw_match_join(lane->work, draft, item);
	call.end = tw_match_minus(call.end, offset);
	add_call(&lane->next, &call, draft);
	return 0;
}

/* Known calls up to one that is not among them. */
static size_t keep_known(struct lane *lane, size_t from, size_t to)
{
	for (; from < to; from++)
		add_call(&lane->next, &lane->known.calls[from], lane->known.drafts[from]);
	return from;
}

/* Pairs join what they are paired with; what is left comes between, by its end if that is told. */
static int take_in(struct lane *lane, const struct tw_alignment *a, const uint32_t *items)
{
	struct known before = lane->known;
	size_t next = 0, pair;
	uint32_t i, ahead = 0;

	if (reserve(lane, &lane->next, before.count + a->other->count))
		return TRAWL_ENOMEM;
	for (i = 0; i < a->other->count; i++) {
		const struct tw_align_call *call = &a->other->calls[i];
		uint32_t known = a->to[i];

		for (ahead = ahead < i ? i : ahead;
		     ahead < a->other->count && a->to[ahead] == TRAWL_ALIGN_NONE;)
			ahead++;
		pair = ahead < a->other->count ? a->to[ahead] : before.count;
		if (known != TRAWL_ALIGN_NONE) {
			next = keep_known(lane, next, known + 1);
			lane->work->drafts[before.drafts[known]].doubtful |= !a->sure[i];
			tw_match_join(lane->work, before.drafts[known], items[i]);
			continue;
		}
		while (a->ends && next < pair &&
		       before.calls[next].end < tw_match_minus(call->end, a->local[i]))
			next = keep_known(lane, next, next + 1);
		if (add_new_call(lane, *call, items[i], a->local[i], a->ends))
			return TRAWL_ENOMEM;
	}
	keep_known(lane, next, before.count);
	lane->known = lane->next;
	lane->next = before;
	return 0;
}

static int align_rank(struct lane *lane, const uint32_t *items, size_t count)
{
	struct tw_match_work *work = lane->work;
	struct tw_arena mark = tw_arena_mark(&lane->arena);
	struct tw_align_side known, other;
	struct tw_alignment a = { .work = work,
				  .arena = &lane->arena,
				  .known = &known,
				  .other = &other };
	uint32_t rank = work->rank_of[items[0]];
	int status = TRAWL_ENOMEM;

	if (!side_of_calls(&known, lane, lane->known.calls, lane->known.count) &&
	    !side_of_items(&other, lane, items, count)) {
		a.hinted = tw_match_offset(work, rank, lane->anchor, &a.hint);
		status = tw_align(&a);
	}
	if (!status)
		status = take_in(lane, &a, items);
	if (!status && a.ends && a.natural && a.agree >= TW_MATCH_FEWEST_SAMPLES)
		tw_match_learn(work, rank, lane->anchor, a.offset);
	lane->unsure |= !a.ends;
	tw_arena_rewind(&lane->arena, &mark);
	return status;
}

static int begin_with(struct lane *lane, const uint32_t *items, size_t count)
{
	int status = reserve(lane, &lane->next, count);
	size_t i;

	for (i = 0; !status && i < count; i++)
		status = add_new_call(lane, call_of(lane, items[i]), items[i], 0, true);
	lane->known = lane->next;
	lane->next = (struct known){ 0 };
	lane->anchor = lane->work->rank_of[items[0]];
	return status;
}

static int match_lane(struct lane *lane)
{
	struct tw_match_work *work = lane->work;
	const struct tw_match_lane *is = tw_match_lane(work, lane->id);
	struct tw_match_run most;
	size_t from, to, i;
	int status;

	/* Transfers of which nobody knows between whom. */
	if (is->transfer && !is->source)
		return tw_match_leave_alone(work, lane->id, TW_MATCH_BY_ORDER, lane->items,
					    lane->count);
	most = tw_match_longest_run(work, lane->items, 0, lane->count);
	status = begin_with(lane, lane->items + most.from, most.to - most.from);
	for (from = 0; !status && from < lane->count; from = to) {
		to = tw_match_rank_end(work, lane->items, from, lane->count);
		if (from != most.from)
			status = align_rank(lane, lane->items + from, to - from);
	}
	/* What has no partner may have one among what could not be matched for sure. */
	for (i = 0; !status && lane->unsure && i < lane->known.count; i++) {
		struct tw_match_draft *draft = &work->drafts[lane->known.drafts[i]];

		draft->doubtful |= draft->count == 1;
	}
	free_known(&lane->known, work->allocator);
	free_known(&lane->next, work->allocator);
	tw_arena_release(&lane->arena);
	return status;
}

struct plan {
	struct tw_match_work *work;
	uint32_t *items; /* without a draft, by lane */
	uint32_t *lanes; /* those with such items */
	uint64_t *first; /* by lane: where its items begin */
	size_t count, lane_count;
};

/* The largest first: their ends tell what is known of clocks for the others. */
static uint64_t size_key(const void *context, uint32_t lane)
{
	const struct plan *plan = context;

	return ~(plan->first[lane + 1] - plan->first[lane]);
}

static int make_plan(struct plan *plan)
{
	struct tw_match_work *work = plan->work;
	uint32_t lane;
	uint64_t i;

	for (lane = 1; lane < work->lanes.count; lane++) {
		plan->first[lane] = plan->count;
		for (i = work->lane_first[lane]; i < work->lane_first[lane + 1]; i++) {
			if (*tw_match_draft_of(work, work->by_lane[i]) == TW_MATCH_NONE)
				plan->items[plan->count++] = work->by_lane[i];
		}
		if (plan->count > plan->first[lane])
			plan->lanes[plan->lane_count++] = lane;
	}
	plan->first[lane] = plan->count;
	return plan->lane_count && tw_sort(plan->lanes, plan->lane_count, size_key, plan,
					   work->allocator) ?
		       TRAWL_ENOMEM :
		       0;
}

int tw_match_by_order(struct tw_match_work *work)
{
	size_t lanes = work->lanes.count, i;
	struct plan plan = { .work = work };
	int status;

	plan.items =
		tw_arena_array(&work->arena, work->first[work->job->count], sizeof(*plan.items));
	plan.lanes = tw_arena_array(&work->arena, lanes, sizeof(*plan.lanes));
	plan.first = tw_arena_array(&work->arena, lanes + 1, sizeof(*plan.first));
	if (work->arena.failed)
		return TRAWL_ENOMEM;
	status = make_plan(&plan);
	for (i = 0; !status && i < plan.lane_count; i++) {
		uint32_t id = plan.lanes[i];
		struct lane lane = {
			.work = work,
			.id = id,
			.items = plan.items + plan.first[id],
			.count = plan.first[id + 1] - plan.first[id],
		};

		tw_arena_init(&lane.arena, work->allocator);
		status = match_lane(&lane);
	}
	return status;
}
