/* From drafts to matches: in order of time within their group, and how sure each is. */
#include "job/match/match_work.h"

#include "base/search.h"
#include "base/sort.h"

#include <string.h>

#define UNSEEN UINT64_MAX

struct finishing {
	struct tw_match_work *work;
	uint32_t *by_group;	  /* items by group, rank and start */
	uint64_t *place;	  /* by draft: in the group's order so far, UNSEEN */
	uint32_t *stamp;	  /* by draft: the last rank (from 1) that was seen to have it */
	uint64_t *order, *merged; /* drafts of the group, in order */
	int64_t *time;		  /* by draft: start on the clock of the rank that had it first */
	uint64_t count;
	uint64_t *after; /* by new draft of a rank: how many of the order come before it */
	uint64_t *fresh;
	uint64_t *final; /* drafts of all groups, in order */
	uint64_t final_count;
	uint32_t *expected; /* by group: ranks in it that have a trace */
	uint32_t root;	    /* rank whose clock `time` is on */
};

static uint32_t group_of(const struct tw_match_work *work, uint32_t item)
{
	return work->drafts[*tw_match_draft_of(work, item)].group;
}

static uint64_t group_key(const void *context, uint32_t item)
{
	return group_of(context, item);
}

static int64_t start_of(const struct finishing *f, uint32_t item)
{
	uint32_t rank = f->work->rank_of[item];
	int64_t start = tw_match_plus(tw_match_collective(f->work, item)->start_ns,
				      f->work->shift_ns[rank]);
	int64_t ahead;

	return tw_match_offset(f->work, rank, f->root, &ahead) ? tw_match_minus(start, ahead) :
								 start;
}

/*
 * Puts what a rank has, in its order, into the order of the group: beside what it shares with
 * ranks before, and by time among what it does not.
 */
static void merge_rank(struct finishing *f, const uint32_t *items, size_t count)
{
	struct tw_match_work *work = f->work;
	uint32_t stamp = work->rank_of[items[0]] + 1;
	uint64_t reached = 0, fresh = 0, from, at = 0, k = 0;
	size_t i;

	for (i = 0; i < count; i++)
		f->stamp[*tw_match_draft_of(work, items[i])] = stamp;
	for (i = 0; i < count; i++) {
		uint64_t draft = *tw_match_draft_of(work, items[i]);
		int64_t start;

		if (f->place[draft] != UNSEEN) {
			if (f->place[draft] + 1 > reached)
				reached = f->place[draft] + 1;
			continue;
		}
		start = start_of(f, items[i]);
		while (reached < f->count && f->stamp[f->order[reached]] != stamp &&
		       f->time[f->order[reached]] < start)
			reached++;
		f->time[draft] = start;
		f->fresh[fresh] = draft;
		f->after[fresh++] = reached;
	}
	if (!fresh)
		return;
	for (from = 0; from <= f->count; from++) {
		while (k < fresh && f->after[k] == from)
			f->merged[at++] = f->fresh[k++];
		if (from < f->count)
			f->merged[at++] = f->order[from];
	}
	for (from = 0; from < at; from++)
		f->place[f->merged[from]] = from;
	f->count = at;
	uint64_t *order = f->order;
	f->order = f->merged;
	f->merged = order;
}

/* Whether a list of ranks is all of them: long ones are cut short by who writes them. */
static bool is_whole_list(const char *ranks)
{
	return ranks[0] && !strstr(ranks, "...");
}

static bool has_trace(const struct trawl_job *job, int64_t rank)
{
	size_t low = TW_LOWER_BOUND(at, 0, job->count, job->ranks[at].rank < rank);

	return low < job->count && job->ranks[low].rank == rank;
}

/* Ranks of a list that have a trace. */
static uint32_t count_listed(const struct trawl_job *job, const char *ranks)
{
	uint32_t count = 0;
	int64_t rank = -1;

	for (;; ranks++) {
		if (*ranks >= '0' && *ranks <= '9') {
			rank = rank < 0 ? 0 : rank;
			rank = rank > INT64_MAX / 16 ? rank : rank * 10 + (*ranks - '0');
			continue;
		}
		count += rank >= 0 && has_trace(job, rank);
		rank = -1;
		if (!*ranks)
			return count;
	}
}

/* The group's drafts in order, the rank that has most of them first. */
static void order_group(struct finishing *f, uint32_t group, size_t start, size_t end)
{
	const struct tw_match_group *shown = &f->work->out->groups[group - 1];
	struct tw_match_run most = tw_match_longest_run(f->work, f->by_group, start, end);
	size_t from, to;
	uint64_t i;

	f->expected[group] =
		is_whole_list(shown->ranks) ? count_listed(f->work->job, shown->ranks) : most.ranks;
	f->count = 0;
	f->root = f->work->rank_of[f->by_group[most.from]];
	merge_rank(f, f->by_group + most.from, most.to - most.from);
	for (from = start; from < end; from = to) {
		to = tw_match_rank_end(f->work, f->by_group, from, end);
		if (from != most.from)
			merge_rank(f, f->by_group + from, to - from);
	}
	for (i = 0; i < f->count; i++)
		f->final[f->final_count++] = f->order[i];
}

static int order_all(struct finishing *f)
{
	struct tw_match_work *work = f->work;
	uint32_t items = work->first[work->job->count], i;
	size_t from, to;

	for (i = 0; i < items; i++)
		f->by_group[i] = i;
	memset(f->place, 0xff, work->draft_count * sizeof(*f->place));
	if (items && tw_sort(f->by_group, items, group_key, work, work->allocator))
		return TRAWL_ENOMEM;
	for (from = 0; from < items; from = to) {
		uint32_t group = group_of(work, f->by_group[from]);

		for (to = from + 1; to < items && group_of(work, f->by_group[to]) == group;)
			to++;
		order_group(f, group, from, to);
	}
	return 0;
}

/* Members in order of rank; index_of[] goes from drafts to matches. */
static void place_members(struct finishing *f)
{
	struct tw_match_work *work = f->work;
	struct tw_matches *out = work->out;
	uint64_t members = 0, i, c;
	uint32_t r;

	for (i = 0; i < f->final_count; i++) {
		const struct tw_match_draft *draft = &work->drafts[f->final[i]];
		struct tw_match *match = &out->matches[i];

		match->group = draft->group - 1;
		match->index = out->groups[match->group].count++;
		match->first = members;
		match->rule = draft->rule;
		match->sureness = draft->doubtful		   ? TW_MATCH_DOUBTFUL :
				  draft->rule == TW_MATCH_BY_ORDER ? TW_MATCH_LIKELY :
								     TW_MATCH_CERTAIN;
		members += draft->count;
		f->place[f->final[i]] = i;
	}
	for (r = 0; r < work->job->count; r++) {
		for (c = 0; c < work->job->ranks[r].collective_count; c++) {
			uint64_t index = f->place[out->index_of[r][c]];
			struct tw_match *match = &out->matches[index];

			out->members[match->first + match->count++] =
				(struct tw_match_member){ .rank = r, .collective = c };
			out->index_of[r][c] = index;
		}
	}
	out->count = f->final_count;
	out->member_count = members;
}

static uint32_t signature_of(const struct tw_match_work *work, const struct tw_match_member *m)
{
	const struct tw_rank *rank = &work->job->ranks[m->rank];

	return work->kinds[m->rank][rank->collectives[m->collective].kind].signature;
}

/* Ranks that have a trace and should take part. */
static uint32_t expected_of(const struct finishing *f, const struct tw_match *match)
{
	const struct tw_match_work *work = f->work;
	const struct tw_match_member *m = &work->out->members[match->first];
	uint32_t kind = work->job->ranks[m->rank].collectives[m->collective].kind;
	const struct tw_match_lane *lane = tw_match_lane(work, work->kinds[m->rank][kind].lane);
	const char *source, *destination;

	if (!lane->transfer)
		return f->expected[match->group + 1];
	if (!lane->source)
		return f->expected[match->group + 1] < 2 ? 1 : 2;
	source = tw_pool_text(&work->texts, lane->source, NULL);
	destination = tw_pool_text(&work->texts, lane->destination, NULL);
	return count_listed(work->job, source) + count_listed(work->job, destination);
}

static void judge_matches(struct finishing *f)
{
	struct tw_match_work *work = f->work;
	struct tw_matches *out = work->out;
	uint64_t i;
	uint32_t k;

	for (i = 0; i < out->count; i++) {
		struct tw_match *match = &out->matches[i];
		const struct tw_match_member *members = &out->members[match->first];
		uint32_t expected = expected_of(f, match), first = signature_of(work, members);

		match->together = work->natures[first].together;
		for (k = 1; k < match->count; k++) {
			uint32_t other = signature_of(work, &members[k]);

			match->together &= work->natures[other].together;
			if (tw_match_conflict(work, first, other))
				match->sureness = TW_MATCH_DIFFERENT;
		}
		if (match->count == 1)
			match->state = expected > 1 ? TW_MATCH_ALONE : TW_MATCH_LOCAL;
		else
			match->state = match->count >= expected ? TW_MATCH_WHOLE : TW_MATCH_PARTIAL;
	}
}

int tw_match_finish(struct tw_match_work *work)
{
	struct tw_arena *arena = &work->arena, *kept = &work->out->arena;
	size_t drafts = work->draft_count, items = work->first[work->job->count];
	struct finishing f = { .work = work };

	f.by_group = tw_arena_array(arena, items, sizeof(*f.by_group));
	f.place = tw_arena_array(arena, drafts, sizeof(*f.place));
	f.stamp = tw_arena_array(arena, drafts, sizeof(*f.stamp));
	f.time = tw_arena_array(arena, drafts, sizeof(*f.time));
	f.order = tw_arena_array(arena, drafts, sizeof(*f.order));
	f.merged = tw_arena_array(arena, drafts, sizeof(*f.merged));
	f.after = tw_arena_array(arena, drafts, sizeof(*f.after));
	f.fresh = tw_arena_array(arena, drafts, sizeof(*f.fresh));
	f.final = tw_arena_array(arena, drafts, sizeof(*f.final));
	f.expected = tw_arena_array(arena, work->out->group_count + 1, sizeof(*f.expected));
	if (arena->failed || order_all(&f))
		return TRAWL_ENOMEM;
	work->out->matches = tw_arena_array(kept, f.final_count, sizeof(*work->out->matches));
	work->out->members = tw_arena_array(kept, items, sizeof(*work->out->members));
	if (kept->failed)
		return TRAWL_ENOMEM;
	place_members(&f);
	judge_matches(&f);
	return 0;
}
