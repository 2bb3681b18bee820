#include "job/match/match.h"

#include "base/alloc.h"
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

/* ---- clocks */

/* Base times count where all ranks have one. */
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
	const struct trawl_job *job = work->job;
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

int tw_matches_build(struct tw_matches *matches, const struct trawl_job *job,
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
