#include "job/match/match_work.h"

#include "base/list.h"
#include "base/search.h"

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
