/* Collectives that say themselves which they are: by an id, by a sequence number. */
#include "job/match/match_work.h"

#include "base/sort.h"
#include "job/match/match_limits.h"

#include <string.h>

static uint64_t id_key(const void *context, uint32_t item)
{
	return tw_match_collective(context, item)->comms_id;
}

static uint64_t sequence_key(const void *context, uint32_t item)
{
	return (uint64_t)tw_match_collective(context, item)->sequence;
}

/* Whether the group of a lane has a name of its own. */
static bool is_known(const struct tw_match_work *work, uint32_t lane)
{
	const struct tw_match_group *group =
		&work->out->groups[tw_match_lane(work, lane)->group - 1];

	return group->ranks[0] || strcmp(group->name, TW_MATCH_UNKNOWN_GROUP);
}

/*
 * Items of one key, by rank and start: the k-th of each rank are one collective, for what is
 * coalesced into one has one key.
 */
static int join_run(struct tw_match_work *work, const uint32_t *items, size_t count,
		    enum tw_match_rule rule)
{
	uint64_t base = work->draft_count, nth = 0;
	uint32_t rank = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		uint32_t lane = tw_match_kind_of(work, items[i]).lane;
		uint32_t of = work->rank_of[items[i]];

		nth = i && of == rank ? nth + 1 : 0;
		rank = of;
		if (base + nth == work->draft_count &&
		    tw_match_draft(work, lane, rule) == TW_MATCH_NONE)
			return TRAWL_ENOMEM;
		if (!is_known(work, work->drafts[base + nth].lane) && is_known(work, lane)) {
			work->drafts[base + nth].lane = lane;
			work->drafts[base + nth].group = tw_match_lane(work, lane)->group;
		}
		tw_match_join(work, base + nth, items[i]);
	}
	return 0;
}

static bool has_key(const struct tw_match_work *work, uint32_t item, bool by_id)
{
	const struct tw_collective *c = tw_match_collective(work, item);

	return by_id ? c->comms_id != 0 : c->sequence >= 0;
}

/*
 * Whether keys tell what is one in a lane: not where a rank records none of them at all, for its
 * calls are those that others number.
 */
static bool is_keyed(const struct tw_match_work *work, uint32_t lane, bool by_id)
{
	size_t end = work->lane_first[lane + 1], from, to, i;

	for (from = work->lane_first[lane]; from < end; from = to) {
		to = tw_match_rank_end(work, work->by_lane, from, end);
		for (i = from; i < to && !has_key(work, work->by_lane[i], by_id);)
			i++;
		if (i == to)
			return false;
	}
	return true;
}

/* Items without a draft that have an id, or else a sequence number, in order; NULL: out of memory. */
static uint32_t *pick(struct tw_match_work *work, size_t *picked, bool by_id)
{
	uint32_t items = work->first[work->job->count], lane, item;
	uint32_t *list = tw_arena_array(&work->arena, items, sizeof(*list));
	bool *keyed = tw_arena_array(&work->arena, work->lanes.count, sizeof(*keyed));

	*picked = 0;
	if (!list || !keyed)
		return NULL;
	for (lane = 1; lane < work->lanes.count; lane++)
		keyed[lane] = is_keyed(work, lane, by_id);
	for (item = 0; item < items; item++) {
		if (*tw_match_draft_of(work, item) == TW_MATCH_NONE &&
		    keyed[tw_match_lane_key(work, item)] && has_key(work, item, by_id))
			list[(*picked)++] = item;
	}
	return list;
}

/*
 * Which lanes count anew within a trace: a number comes again after one that is higher by two or
 * more.  (Coalesced collectives share a number, and streams may swap two.)
 */
static int find_restarts(struct tw_match_work *work, const uint32_t *list, size_t count)
{
	struct counting {
		uint32_t rank; /* whose numbers these are, from 1 */
		int64_t highest;
		bool back;
	} *lanes = tw_arena_array(&work->arena, work->lanes.count, sizeof(*lanes));
	uint32_t item;
	size_t i;

	if (!lanes)
		return TRAWL_ENOMEM;
	for (item = 0; item < work->first[work->job->count]; item++) {
		const struct tw_collective *c = tw_match_collective(work, item);
		struct counting *lane = &lanes[tw_match_lane_key(work, item)];
		uint32_t rank = work->rank_of[item] + 1;

		if (c->sequence < 0 || *tw_match_draft_of(work, item) != TW_MATCH_NONE)
			continue;
		if (lane->rank != rank || c->sequence > lane->highest)
			lane->highest = c->sequence;
		else if (c->sequence < lane->highest - 1)
			lane->back = true;
		lane->rank = rank;
	}
	for (i = 1; i < count; i++) {
		uint64_t lane = tw_match_lane_key(work, list[i]);

		if (lanes[lane].back && lane == tw_match_lane_key(work, list[i - 1]) &&
		    sequence_key(work, list[i]) == sequence_key(work, list[i - 1]) &&
		    work->rank_of[list[i]] == work->rank_of[list[i - 1]])
			work->restarted[lane] = true;
	}
	return 0;
}

/* Transfers of which nobody knows between whom: with more than two members nothing is sure. */
static int join_sequence(struct tw_match_work *work, const uint32_t *items, size_t count)
{
	uint32_t lane = tw_match_lane_key(work, items[0]);
	const struct tw_match_lane *l = tw_match_lane(work, lane);

	if (!l->transfer || l->source || count == 2)
		return join_run(work, items, count, TW_MATCH_BY_SEQUENCE);
	return tw_match_leave_alone(work, lane, TW_MATCH_BY_SEQUENCE, items, count);
}

static bool same_key(const struct tw_match_work *work, uint32_t a, uint32_t b, bool by_id)
{
	return by_id ? id_key(work, a) == id_key(work, b) :
		       sequence_key(work, a) == sequence_key(work, b) &&
			       tw_match_lane_key(work, a) == tw_match_lane_key(work, b);
}

/* Items with keys, those of one beside each other; in order of rank and start. */
static int sort_by_key(struct tw_match_work *work, uint32_t *list, size_t count, bool by_id)
{
	const struct trawl_allocator *a = work->allocator;

	if (by_id)
		return tw_sort(list, count, id_key, work, a) ? TRAWL_ENOMEM : 0;
	if (tw_sort(list, count, sequence_key, work, a) ||
	    tw_sort(list, count, tw_match_lane_key, work, a))
		return TRAWL_ENOMEM;
	return find_restarts(work, list, count);
}

static int match_by_key(struct tw_match_work *work, bool by_id)
{
	struct tw_arena mark = tw_arena_mark(&work->arena);
	size_t count, from, to;
	uint32_t *list = pick(work, &count, by_id);
	int status = list ? sort_by_key(work, list, count, by_id) : TRAWL_ENOMEM;

	for (from = 0; !status && from < count; from = to) {
		for (to = from + 1; to < count && same_key(work, list[from], list[to], by_id);)
			to++;
		if (by_id)
			status = join_run(work, list + from, to - from, TW_MATCH_BY_ID);
		else if (!work->restarted[tw_match_lane_key(work, list[from])])
			status = join_sequence(work, list + from, to - from);
	}
	tw_arena_rewind(&work->arena, &mark);
	return status;
}

int tw_match_by_id(struct tw_match_work *work)
{
	return match_by_key(work, true);
}

int tw_match_by_sequence(struct tw_match_work *work)
{
	return match_by_key(work, false);
}

/* What the members of a lane tell of clocks: of each rank against that with most members. */
struct learning {
	struct tw_match_work *work;
	int64_t *end;	   /* by draft: of the anchor */
	uint32_t *lane_of; /* by draft: whose end that is */
};

static bool tells_clocks(const struct tw_match_work *work, uint32_t item)
{
	return *tw_match_draft_of(work, item) != TW_MATCH_NONE &&
	       work->natures[tw_match_kind_of(work, item).signature].together;
}

static void learn_rank(const struct learning *l, uint32_t lane, uint32_t anchor, size_t from,
		       size_t to)
{
	struct tw_match_work *work = l->work;
	int64_t samples[TW_MATCH_CLOCK_SAMPLES], middle;
	size_t count = 0, agree = 0, i;

	for (i = from; i < to && count < TW_MATCH_CLOCK_SAMPLES; i++) {
		uint32_t item = work->by_lane[i];

		if (tells_clocks(work, item) && l->lane_of[*tw_match_draft_of(work, item)] == lane)
			samples[count++] = tw_match_minus(tw_match_end(work, item),
							  l->end[*tw_match_draft_of(work, item)]);
	}
	if (count < TW_MATCH_FEWEST_SAMPLES)
		return;
	tw_sort_numbers(samples, count);
	middle = samples[count / 2];
	for (i = 0; i < count; i++)
		agree += tw_match_apart(samples[i], middle) <= TW_MATCH_END_NOISE_NS;
	if (agree * 2 >= count)
		tw_match_learn(work, work->rank_of[work->by_lane[from]], anchor, middle);
}

static void learn_lane(const struct learning *l, uint32_t lane)
{
	struct tw_match_work *work = l->work;
	size_t start = work->lane_first[lane], end = work->lane_first[lane + 1], from, to;
	struct tw_match_run most = tw_match_longest_run(work, work->by_lane, start, end);
	uint32_t anchor;

	if (start == end)
		return;
	anchor = work->rank_of[work->by_lane[most.from]];
	for (from = most.from; from < most.to; from++) {
		uint32_t item = work->by_lane[from];

		if (!tells_clocks(work, item))
			continue;
		l->end[*tw_match_draft_of(work, item)] = tw_match_end(work, item);
		l->lane_of[*tw_match_draft_of(work, item)] = lane;
	}
	for (from = start; from < end; from = to) {
		to = tw_match_rank_end(work, work->by_lane, from, end);
		if (from != most.from)
			learn_rank(l, lane, anchor, from, to);
	}
}

int tw_match_learn_clocks(struct tw_match_work *work)
{
	struct tw_arena mark = tw_arena_mark(&work->arena);
	struct learning l = { .work = work };
	uint32_t lane;
	bool failed;

	l.end = tw_arena_array(&work->arena, work->draft_count, sizeof(*l.end));
	l.lane_of = tw_arena_array(&work->arena, work->draft_count, sizeof(*l.lane_of));
	failed = !l.end || !l.lane_of;
	for (lane = 1; !failed && lane < work->lanes.count; lane++)
		learn_lane(&l, lane);
	tw_arena_rewind(&work->arena, &mark);
	return failed ? TRAWL_ENOMEM : 0;
}
