#include "job/match/match.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "job/match/match_work.h"
#include "os/times.h"

#include <string.h>

static uint64_t lane_key(const void *context, uint32_t item)
{
	return tw_match_kind_of(context, item).lane;
}

/* Items lane by lane. */
static int sort_by_lane(struct tw_match_work *work)
{
	uint32_t items = work->first[work->job->count], i, lane;
	size_t at = 0;

	for (i = 0; i < items; i++)
		work->by_lane[i] = i;
	if (tw_sort(work->by_lane, items, lane_key, work, work->allocator))
		return TRAWL_ENOMEM;
	for (lane = 0; lane <= work->lanes.count; lane++) {
		while (at < items && lane_key(work, work->by_lane[at]) < lane)
			at++;
		work->lane_first[lane] = at;
	}
	return 0;
}

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
	out->index_block = tw_alloc_array(work->allocator, count, sizeof(*out->index_block));
	if (!out->index_block && count)
		return TRAWL_ENOMEM;
	out->member_count = count;
	for (r = 0; r < job->count; r++)
		out->index_of[r] = out->index_block + work->first[r];
	if (count)
		memset(out->index_block, 0xff, count * sizeof(*out->index_block));
	return 0;
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

static int match_items(struct tw_match_work *work)
{
	size_t items = work->first[work->job->count], lanes = work->lanes.count;
	uint32_t r, item;
	int status;

	work->rank_of = tw_alloc_array(work->allocator, items, sizeof(*work->rank_of));
	work->by_lane = tw_alloc_array(work->allocator, items, sizeof(*work->by_lane));
	work->lane_first = tw_alloc_array(work->allocator, lanes + 1, sizeof(*work->lane_first));
	work->restarted = tw_alloc_array(work->allocator, lanes, sizeof(*work->restarted));
	if (!work->rank_of || !work->by_lane || !work->lane_first || !work->restarted)
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

static void release_work(struct tw_match_work *work)
{
	const struct trawl_allocator *a = work->allocator;
	size_t count = work->job->count, lanes = work->lanes.count, r, kinds = 1;
	size_t items = work->first ? work->first[count] : 0;

	for (r = 0; r < count; r++) {
		kinds += work->job->ranks[r].kind_count;
		if (work->kinds)
			tw_free(a, work->kinds[r],
				work->job->ranks[r].kind_count * sizeof(**work->kinds));
	}
	tw_free(a, work->kinds, count * sizeof(*work->kinds));
	tw_free(a, work->natures, kinds * sizeof(*work->natures));
	tw_free(a, work->rank_of, items * sizeof(*work->rank_of));
	tw_free(a, work->by_lane, items * sizeof(*work->by_lane));
	tw_free(a, work->lane_first, (lanes + 1) * sizeof(*work->lane_first));
	tw_free(a, work->restarted, lanes * sizeof(*work->restarted));
	tw_free(a, work->first, (count + 1) * sizeof(*work->first));
	tw_free(a, work->frames, count * sizeof(*work->frames));
	tw_free(a, work->shift_ns, count * sizeof(*work->shift_ns));
	tw_free(a, work->drafts, work->draft_capacity * sizeof(*work->drafts));
	tw_pool_release(&work->texts);
	tw_pool_release(&work->signatures);
	tw_pool_release(&work->lanes);
}

static int build(struct tw_match_work *work)
{
	const struct trawl_allocator *a = work->allocator;
	size_t count = work->job->count;
	int status;

	work->out->rank_count = (uint32_t)count;
	work->out->index_of = tw_alloc_array(a, count, sizeof(*work->out->index_of));
	work->first = tw_alloc_array(a, count + 1, sizeof(*work->first));
	work->frames = tw_alloc_array(a, count, sizeof(*work->frames));
	work->shift_ns = tw_alloc_array(a, count, sizeof(*work->shift_ns));
	if (tw_pool_init(&work->texts, a) || tw_pool_init(&work->signatures, a) ||
	    tw_pool_init(&work->lanes, a) || !work->out->index_of || !work->first ||
	    !work->frames || !work->shift_ns)
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
	matches->allocator = allocator;
	tw_str_init(&matches->names, allocator);
	if (!job->count)
		return 0;
	status = build(&work);
	release_work(&work);
	if (status)
		tw_matches_release(matches);
	return status;
}

void tw_matches_release(struct tw_matches *matches)
{
	const struct trawl_allocator *a = matches->allocator;

	if (!a)
		return;
	tw_free(a, matches->groups, matches->group_count * sizeof(*matches->groups));
	tw_free(a, matches->matches, matches->count * sizeof(*matches->matches));
	tw_free(a, matches->members, matches->member_count * sizeof(*matches->members));
	tw_free(a, matches->index_of, matches->rank_count * sizeof(*matches->index_of));
	tw_free(a, matches->index_block, matches->member_count * sizeof(*matches->index_block));
	tw_str_release(&matches->names);
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

bool tw_rank_tells_base(const struct tw_rank *rank)
{
	/* A time beyond what times can be leaves no room for sums. */
	return rank->base_time_ns != TRAWL_TIME_NONE && rank->base_time_ns < TW_LATEST_TIME_NS &&
	       rank->base_time_ns > -TW_LATEST_TIME_NS;
}
