/*
 * What says nothing of which collective it is: by order within its lane.  Calls of a rank after
 * the other are laid beside those that are known, and what is new among them is put in.
 */
#include "job/match/match_align.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "job/match/match_limits.h"

#include <string.h>

/* Calls that are known, in their order, times on the clock of the anchor. */
struct column {
	uint64_t draft;
	int64_t end, sequence;
	uint32_t signature;
};

struct lane {
	struct tw_match_work *work;
	uint32_t id, anchor;
	bool unsure;	       /* of some rank ends tell nothing */
	const uint32_t *items; /* of the lane that have no draft, by rank and start */
	size_t count;
	struct column *columns, *spare;
	size_t column_count, column_capacity, spare_capacity;
};

static int64_t sequence_of(const struct lane *lane, uint32_t item)
{
	return lane->work->restarted[lane->id] ? tw_match_collective(lane->work, item)->sequence :
						 -1;
}

static enum tw_match_rule rule_of(const struct lane *lane, uint32_t item)
{
	return sequence_of(lane, item) >= 0 ? TW_MATCH_BY_SEQUENCE : TW_MATCH_BY_ORDER;
}

static int side_init(struct tw_align_side *side, size_t count, const struct trawl_allocator *a)
{
	side->count = (uint32_t)count;
	side->signature = tw_alloc_array(a, count, sizeof(*side->signature));
	side->sequence = tw_alloc_array(a, count, sizeof(*side->sequence));
	side->end = tw_alloc_array(a, count, sizeof(*side->end));
	side->by_end = tw_alloc_array(a, count, sizeof(*side->by_end));
	return side->signature && side->sequence && side->end && side->by_end ? 0 : TRAWL_ENOMEM;
}

static void side_release(struct tw_align_side *side, const struct trawl_allocator *a)
{
	tw_free(a, side->signature, side->count * sizeof(*side->signature));
	tw_free(a, side->sequence, side->count * sizeof(*side->sequence));
	tw_free(a, side->end, side->count * sizeof(*side->end));
	tw_free(a, side->by_end, side->count * sizeof(*side->by_end));
}

static uint64_t end_key(const void *context, uint32_t i)
{
	return tw_sort_key(((const struct tw_align_side *)context)->end[i]);
}

static int sort_by_end(struct tw_align_side *side, const struct trawl_allocator *a)
{
	uint32_t i;

	for (i = 0; i < side->count; i++)
		side->by_end[i] = i;
	return side->count && tw_sort(side->by_end, side->count, end_key, side, a) ? TRAWL_ENOMEM :
										     0;
}

static int side_of_columns(struct tw_align_side *side, const struct lane *lane)
{
	const struct trawl_allocator *a = lane->work->allocator;
	uint32_t i;

	if (side_init(side, lane->column_count, a))
		return TRAWL_ENOMEM;
	for (i = 0; i < side->count; i++) {
		side->signature[i] = lane->columns[i].signature;
		side->sequence[i] = lane->columns[i].sequence;
		side->end[i] = lane->columns[i].end;
	}
	return sort_by_end(side, a);
}

static int side_of_items(struct tw_align_side *side, const struct lane *lane, const uint32_t *items,
			 size_t count)
{
	const struct trawl_allocator *a = lane->work->allocator;
	uint32_t i;

	if (side_init(side, count, a))
		return TRAWL_ENOMEM;
	for (i = 0; i < side->count; i++) {
		side->signature[i] = tw_match_kind_of(lane->work, items[i]).signature;
		side->sequence[i] = sequence_of(lane, items[i]);
		side->end[i] = tw_match_end(lane->work, items[i]);
	}
	return sort_by_end(side, a);
}

static int reserve(struct lane *lane, size_t count)
{
	struct column *grown;

	if (lane->spare_capacity >= count)
		return 0;
	count += count / 4;
	grown = tw_realloc(lane->work->allocator, lane->spare,
			   lane->spare_capacity * sizeof(*grown), count * sizeof(*grown));
	if (!grown)
		return TRAWL_ENOMEM;
	lane->spare = grown;
	lane->spare_capacity = count;
	return 0;
}

/* A column of what no other rank has had yet. */
static int add_column(struct lane *lane, size_t at, const struct tw_align_side *side, uint32_t i,
		      uint32_t item, int64_t offset, bool sure)
{
	uint64_t draft = tw_match_draft(lane->work, lane->id, rule_of(lane, item));

	if (draft == TW_MATCH_NONE)
		return TRAWL_ENOMEM;
	lane->work->drafts[draft].doubtful = !sure;
	tw_match_join(lane->work, draft, item);
	lane->spare[at] = (struct column){
		.draft = draft,
		.end = tw_match_minus(side->end[i], offset),
		.sequence = side->sequence[i],
		.signature = side->signature[i],
	};
	return 0;
}

/* Pairs join what they are paired with; what is left comes between, by its end if that is told. */
static int take_in(struct lane *lane, const struct tw_alignment *a, const uint32_t *items)
{
	size_t at = 0, next = 0, pair, capacity;
	struct column *columns;
	uint32_t i, ahead = 0;

	if (reserve(lane, lane->column_count + a->other->count))
		return TRAWL_ENOMEM;
	for (i = 0; i < a->other->count; i++) {
		uint32_t known = a->to[i];

		for (ahead = ahead < i ? i : ahead;
		     ahead < a->other->count && a->to[ahead] == TW_ALIGN_NONE;)
			ahead++;
		pair = ahead < a->other->count ? a->to[ahead] : lane->column_count;
		if (known != TW_ALIGN_NONE) {
			struct tw_match_draft *draft =
				&lane->work->drafts[lane->columns[known].draft];

			while (next <= known)
				lane->spare[at++] = lane->columns[next++];
			draft->doubtful |= !a->sure[i];
			tw_match_join(lane->work, lane->columns[known].draft, items[i]);
			continue;
		}
		while (a->ends && next < pair &&
		       lane->columns[next].end < tw_match_minus(a->other->end[i], a->local[i]))
			lane->spare[at++] = lane->columns[next++];
		if (add_column(lane, at++, a->other, i, items[i], a->local[i], a->ends))
			return TRAWL_ENOMEM;
	}
	while (next < lane->column_count)
		lane->spare[at++] = lane->columns[next++];
	columns = lane->columns;
	capacity = lane->column_capacity;
	lane->columns = lane->spare;
	lane->column_capacity = lane->spare_capacity;
	lane->column_count = at;
	lane->spare = columns;
	lane->spare_capacity = capacity;
	return 0;
}

static int align_rank(struct lane *lane, const uint32_t *items, size_t count)
{
	struct tw_match_work *work = lane->work;
	const struct trawl_allocator *allocator = work->allocator;
	struct tw_align_side known = { 0 }, other = { 0 };
	struct tw_alignment a = { .work = work, .known = &known, .other = &other };
	uint32_t rank = tw_match_rank_of(work, items[0]);
	int status = TRAWL_ENOMEM;

	a.to = tw_alloc_array(allocator, count, sizeof(*a.to));
	a.sure = tw_alloc_array(allocator, count, sizeof(*a.sure));
	a.local = tw_alloc_array(allocator, count, sizeof(*a.local));
	a.found = tw_alloc_array(allocator, count, sizeof(*a.found));
	a.scratch = tw_alloc_array(allocator, count, sizeof(*a.scratch));
	if (a.to && a.sure && a.local && a.found && a.scratch && !side_of_columns(&known, lane) &&
	    !side_of_items(&other, lane, items, count)) {
		a.hinted = tw_match_offset(work, rank, lane->anchor, &a.hint);
		status = tw_align(&a);
		if (!status)
			status = take_in(lane, &a, items);
	}
	if (!status && a.ends && a.natural && a.agree >= TW_MATCH_FEWEST_SAMPLES)
		tw_match_learn(work, rank, lane->anchor, a.offset);
	lane->unsure |= !a.ends;
	side_release(&known, allocator);
	side_release(&other, allocator);
	tw_free(allocator, a.to, count * sizeof(*a.to));
	tw_free(allocator, a.sure, count * sizeof(*a.sure));
	tw_free(allocator, a.local, count * sizeof(*a.local));
	tw_free(allocator, a.found, count * sizeof(*a.found));
	tw_free(allocator, a.scratch, count * sizeof(*a.scratch));
	return status;
}

static size_t end_of_rank(const struct lane *lane, size_t from)
{
	uint32_t past = lane->work->first[tw_match_rank_of(lane->work, lane->items[from]) + 1];

	while (from < lane->count && lane->items[from] < past)
		from++;
	return from;
}

static int begin_with(struct lane *lane, size_t from, size_t to)
{
	struct tw_align_side side = { 0 };
	int status = side_of_items(&side, lane, lane->items + from, to - from);
	size_t i;

	if (!status)
		status = reserve(lane, to - from);
	for (i = 0; !status && i < to - from; i++)
		status = add_column(lane, i, &side, (uint32_t)i, lane->items[from + i], 0, true);
	side_release(&side, lane->work->allocator);
	lane->columns = lane->spare;
	lane->column_capacity = lane->spare_capacity;
	lane->column_count = status ? 0 : to - from;
	lane->spare = NULL;
	lane->spare_capacity = 0;
	lane->anchor = tw_match_rank_of(lane->work, lane->items[from]);
	return status;
}

/* Transfers of which nobody knows between whom stay alone. */
static int leave_alone(struct lane *lane)
{
	size_t i;

	for (i = 0; i < lane->count; i++) {
		uint64_t draft = tw_match_draft(lane->work, lane->id, TW_MATCH_BY_ORDER);

		if (draft == TW_MATCH_NONE)
			return TRAWL_ENOMEM;
		lane->work->drafts[draft].doubtful = true;
		tw_match_join(lane->work, draft, lane->items[i]);
	}
	return 0;
}

static int match_lane(struct lane *lane)
{
	const struct tw_match_lane *is = tw_match_lane(lane->work, lane->id);
	size_t from, to, best = 0, best_end = 0, i;
	int status;

	if (is->transfer && !is->source)
		return leave_alone(lane);
	for (from = 0; from < lane->count; from = to) {
		to = end_of_rank(lane, from);
		if (to - from > best_end - best) {
			best = from;
			best_end = to;
		}
	}
	status = begin_with(lane, best, best_end);
	for (from = 0; !status && from < lane->count; from = to) {
		to = end_of_rank(lane, from);
		if (from != best)
			status = align_rank(lane, lane->items + from, to - from);
	}
	/* What has no partner may have one among what could not be matched for sure. */
	for (i = 0; !status && lane->unsure && i < lane->column_count; i++) {
		struct tw_match_draft *draft = &lane->work->drafts[lane->columns[i].draft];

		draft->doubtful |= draft->count == 1;
	}
	tw_free(lane->work->allocator, lane->columns,
		lane->column_capacity * sizeof(struct column));
	tw_free(lane->work->allocator, lane->spare, lane->spare_capacity * sizeof(struct column));
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
	const struct trawl_allocator *a = work->allocator;
	size_t room = work->first[work->job->count], lanes = work->lanes.count, i;
	struct plan plan = { .work = work };
	int status = TRAWL_ENOMEM;

	plan.items = tw_alloc_array(a, room, sizeof(*plan.items));
	plan.lanes = tw_alloc_array(a, lanes, sizeof(*plan.lanes));
	plan.first = tw_alloc_array(a, lanes + 1, sizeof(*plan.first));
	if (plan.items && plan.lanes && plan.first)
		status = make_plan(&plan);
	for (i = 0; !status && i < plan.lane_count; i++) {
		uint32_t id = plan.lanes[i];
		struct lane lane = {
			.work = work,
			.id = id,
			.items = plan.items + plan.first[id],
			.count = plan.first[id + 1] - plan.first[id],
		};

		status = match_lane(&lane);
	}
	tw_free(a, plan.items, room * sizeof(*plan.items));
	tw_free(a, plan.lanes, lanes * sizeof(*plan.lanes));
	tw_free(a, plan.first, (lanes + 1) * sizeof(*plan.first));
	return status;
}
