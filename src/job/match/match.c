#include "job/match/match.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/search.h"
#include "base/sort.h"
#include "job/match/match_work.h"

#include <string.h>

/* ---- items and drafts */

/* Items lane by lane. */
static int sort_by_lane(struct tw_match_work *work)
{
	uint32_t items = work->first[work->job->count], i, lane;
	size_t at = 0;

	for (i = 0; i < items; i++)
		work->by_lane[i] = i;
	if (tw_sort(work->by_lane, items, tw_match_lane_key, work, work->allocator))
		return TRAWL_ENOMEM;
	for (lane = 0; lane <= work->lanes.count; lane++) {
		while (at < items && tw_match_lane_key(work, work->by_lane[at]) < lane)
			at++;
		work->lane_first[lane] = at;
	}
	return 0;
}

size_t tw_match_rank_end(const struct tw_match_work *work, const uint32_t *items, size_t from,
			 size_t end)
{
	uint32_t past = work->first[work->rank_of[items[from]] + 1];

	return TW_LOWER_BOUND(at, from, end, items[at] < past);
}

struct tw_match_run tw_match_longest_run(const struct tw_match_work *work, const uint32_t *items,
					 size_t from, size_t end)
{
	struct tw_match_run longest = { from, from, 0 };
	size_t to;

	for (; from < end; from = to) {
		to = tw_match_rank_end(work, items, from, end);
		longest.ranks++;
		if (to - from > longest.to - longest.from) {
			longest.from = from;
			longest.to = to;
		}
	}
	return longest;
}

uint64_t tw_match_draft(struct tw_match_work *work, uint32_t lane, enum tw_match_rule rule)
{
	if (!tw_list_grow(&work->drafts, &work->draft_capacity, work->draft_count,
			  sizeof(*work->drafts), work->allocator))
		return TW_MATCH_NONE;
	work->drafts[work->draft_count] = (struct tw_match_draft){
		.lane = lane,
		.group = tw_match_lane(work, lane)->group,
		.rule = rule,
	};
	return work->draft_count++;
}

void tw_match_join(struct tw_match_work *work, uint64_t draft, uint32_t item)
{
	*tw_match_draft_of(work, item) = draft;
	work->drafts[draft].count++;
}

int tw_match_leave_alone(struct tw_match_work *work, uint32_t lane, enum tw_match_rule rule,
			 const uint32_t *items, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t draft = tw_match_draft(work, lane, rule);

		if (draft == TW_MATCH_NONE)
			return TRAWL_ENOMEM;
		work->drafts[draft].doubtful = true;
		tw_match_join(work, draft, items[i]);
	}
	return 0;
}

/* ---- clocks */

/* The tree that a rank's clock is in; *offset: what it is ahead of the root's. */
static uint32_t root_of(const struct tw_match_work *work, uint32_t rank, int64_t *offset)
{
	*offset = 0;
	while (work->frames[rank].parent != rank) {
		*offset = tw_match_plus(*offset, work->frames[rank].offset);
		rank = work->frames[rank].parent;
	}
	return rank;
}

bool tw_match_offset(const struct tw_match_work *work, uint32_t a, uint32_t b, int64_t *offset)
{
	int64_t of_a, of_b;

	if (root_of(work, a, &of_a) != root_of(work, b, &of_b))
		return false;
	*offset = tw_match_minus(of_a, of_b);
	return true;
}

void tw_match_learn(struct tw_match_work *work, uint32_t a, uint32_t b, int64_t offset)
{
	int64_t of_a, of_b;
	uint32_t root_a = root_of(work, a, &of_a), root_b = root_of(work, b, &of_b);

	if (root_a == root_b)
		return;
	/* a = root_a + of_a = b + offset = root_b + of_b + offset */
	work->frames[root_a].parent = root_b;
	work->frames[root_a].offset = tw_match_minus(tw_match_plus(of_b, offset), of_a);
}

/* Base times count where all ranks tell one. */
static void set_frames(struct tw_match_work *work)
{
	size_t r;
	bool told = true;

	for (r = 0; r < work->job->count; r++) {
		work->frames[r].parent = (uint32_t)r;
		told &= tw_rank_tells_base(&work->job->ranks[r]);
	}
	for (r = 0; r < work->job->count; r++)
		work->shift_ns[r] = told ? work->job->ranks[r].base_time_ns : 0;
}

/* ---- matching */

/* The places of items, and of what is found for them. */
static int count_items(struct tw_match_work *work)
{
	struct tw_matches *out = work->out;
	const struct tw_job *job = work->job;
	uint64_t count = 0;
	size_t r;

	for (r = 0; r < job->count; r++) {
		work->first[r] = (uint32_t)count;
		count += job->ranks[r].collective_count;
		if (count >= UINT32_MAX)
			return TRAWL_ENOMEM; /* items are numbered in 32 bits */
	}
	work->first[r] = (uint32_t)count;
	work->index = tw_arena_array(&out->arena, count, sizeof(*work->index));
	if (!work->index)
		return TRAWL_ENOMEM;
	for (r = 0; r < job->count; r++)
		out->index_of[r] = work->index + work->first[r];
	memset(work->index, 0xff, count * sizeof(*work->index));
	return 0;
}

static int match_items(struct tw_match_work *work)
{
	size_t items = work->first[work->job->count], lanes = work->lanes.count;
	struct tw_arena *arena = &work->arena;
	uint32_t r, item;
	int status;

	work->rank_of = tw_arena_array(arena, items, sizeof(*work->rank_of));
	work->by_lane = tw_arena_array(arena, items, sizeof(*work->by_lane));
	work->lane_first = tw_arena_array(arena, lanes + 1, sizeof(*work->lane_first));
	work->restarted = tw_arena_array(arena, lanes, sizeof(*work->restarted));
	if (arena->failed)
		return TRAWL_ENOMEM;
	for (r = 0; r < work->job->count; r++) {
		for (item = work->first[r]; item < work->first[r + 1]; item++)
			work->rank_of[item] = r;
	}
	status = sort_by_lane(work);
	if (!status)
		status = tw_match_by_id(work);
	if (!status)
		status = tw_match_by_sequence(work);
	if (!status)
		status = tw_match_learn_clocks(work);
	if (!status)
		status = tw_match_by_order(work);
	return status ? status : tw_match_finish(work);
}

static int build_matches(struct tw_match_work *work)
{
	struct tw_matches *out = work->out;
	size_t count = work->job->count;
	int status;

	out->index_of = tw_arena_array(&out->arena, count, sizeof(*out->index_of));
	work->first = tw_arena_array(&work->arena, count + 1, sizeof(*work->first));
	work->frames = tw_arena_array(&work->arena, count, sizeof(*work->frames));
	work->shift_ns = tw_arena_array(&work->arena, count, sizeof(*work->shift_ns));
	if (tw_pool_init(&work->texts, work->allocator) ||
	    tw_pool_init(&work->signatures, work->allocator) ||
	    tw_pool_init(&work->lanes, work->allocator) || work->arena.failed || out->arena.failed)
		return TRAWL_ENOMEM;
	status = count_items(work);
	if (status || !work->first[count])
		return status;
	set_frames(work);
	status = tw_match_groups(work);
	return status ? status : match_items(work);
}

int tw_matches_build(struct tw_matches *matches, const struct tw_job *job,
		     const struct trawl_allocator *allocator)
{
	struct tw_match_work work = { .job = job, .allocator = allocator, .out = matches };
	int status;

	memset(matches, 0, sizeof(*matches));
	tw_arena_init(&matches->arena, allocator);
	if (!job->count)
		return 0;
	tw_arena_init(&work.arena, allocator);
	status = build_matches(&work);
	tw_free(allocator, work.drafts, work.draft_capacity * sizeof(*work.drafts));
	tw_pool_release(&work.texts);
	tw_pool_release(&work.signatures);
	tw_pool_release(&work.lanes);
	tw_arena_release(&work.arena);
	if (status)
		tw_matches_release(matches);
	return status;
}

void tw_matches_release(struct tw_matches *matches)
{
	tw_arena_release(&matches->arena);
	memset(matches, 0, sizeof(*matches));
}

void tw_match_id(const struct tw_matches *matches, const struct tw_match *match, struct tw_str *out)
{
	const struct tw_match_group *group = &matches->groups[match->group];

	if (!matches->simplified) {
		tw_str_add_cstr(out, group->name);
		if (group->shared_name)
			tw_str_add_cstr(out, group->ranks);
		tw_str_add_char(out, '_');
	}
	tw_str_addf(out, "%llu", (unsigned long long)match->index);
}
