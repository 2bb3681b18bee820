/* Items, drafts, and what is known of clocks while matching. */
#include "job/match/match_work.h"

#include "base/alloc.h"
#include "base/list.h"

const struct tw_collective *tw_match_collective(const struct tw_match_work *work, uint32_t item)
{
	uint32_t r = tw_match_rank_of(work, item);

	return &work->job->ranks[r].collectives[item - work->first[r]];
}

struct tw_match_kind tw_match_kind_of(const struct tw_match_work *work, uint32_t item)
{
	uint32_t r = tw_match_rank_of(work, item);

	return work->kinds[r][work->job->ranks[r].collectives[item - work->first[r]].kind];
}

uint64_t *tw_match_draft_of(const struct tw_match_work *work, uint32_t item)
{
	uint32_t r = tw_match_rank_of(work, item);

	return &work->out->index_of[r][item - work->first[r]];
}

int64_t tw_match_end(const struct tw_match_work *work, uint32_t item)
{
	uint32_t r = tw_match_rank_of(work, item);

	return tw_match_plus(work->job->ranks[r].collectives[item - work->first[r]].end_ns,
			     work->shift_ns[r]);
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
