#include "job/collectives/absent_ranks.h"

#include "base/alloc.h"
#include "base/search.h"
#include "text/rank_list.h"

#include <string.h>

#define BITS 64

static uint64_t *set_of(const struct tw_absent_ranks *l, uint32_t group)
{
	return &l->sets[group * l->words];
}

static void mark(const struct tw_absent_ranks *l, uint32_t group, size_t rank)
{
	set_of(l, group)[rank / BITS] |= (uint64_t)1 << rank % BITS;
}

/* The place of a rank among those of the job, which are in order; their number when it has none. */
static size_t place_of(const struct trawl_job *job, int64_t rank)
{
	size_t low = TW_LOWER_BOUND(at, 0, job->count, job->ranks[at].rank < rank);

	return low < job->count && job->ranks[low].rank == rank ? low : job->count;
}

static int mark_listed(struct tw_absent_ranks *l, uint32_t group)
{
	const struct tw_ranks_input *in = l->in;
	struct tw_rank_list list;
	size_t i, place;

	tw_rank_list_parse(&list, in->matches->groups[group].ranks, in->allocator);
	l->listed[group] = list.whole;
	for (i = 0; list.whole && i < list.count; i++) {
		place = place_of(in->job, list.ranks[i]);
		if (place < in->job->count)
			mark(l, group, place);
	}
	return list.failed ? TRAWL_ENOMEM : 0;
}

int tw_absent_ranks_build(struct tw_absent_ranks *l, const struct tw_ranks_input *in)
{
	const struct tw_matches *matches = in->matches;
	const struct trawl_allocator *a = in->allocator;
	uint64_t m;
	uint32_t g, i;

	*l = (struct tw_absent_ranks){ .in = in, .words = (in->job->count + BITS - 1) / BITS };
	l->sets = tw_alloc_array(a, matches->group_count * l->words + 1, sizeof(*l->sets));
	l->listed = tw_alloc_array(a, matches->group_count + (size_t)1, sizeof(*l->listed));
	l->ranks = tw_alloc_array(a, in->job->count + 1, sizeof(*l->ranks));
	l->here = tw_alloc_array(a, in->job->count + 1, sizeof(*l->here));
	if (!l->sets || !l->listed || !l->ranks || !l->here)
		return TRAWL_ENOMEM;
	for (g = 0; g < matches->group_count; g++)
		if (mark_listed(l, g))
			return TRAWL_ENOMEM;
	for (m = 0; m < matches->count; m++) {
		const struct tw_match *match = &matches->matches[m];

		for (i = 0; !l->listed[match->group] && i < match->count; i++)
			mark(l, match->group, tw_match_members(in, match)[i].rank);
	}
	return 0;
}

void tw_absent_ranks_add(struct tw_absent_ranks *l, const struct tw_match *match,
			 struct tw_str *out)
{
	const struct tw_match_member *members = tw_match_members(l->in, match);
	const uint64_t *set = set_of(l, match->group);
	size_t count = 0, r;
	uint32_t i;

	if (match->state == TW_MATCH_WHOLE)
		return;
	for (i = 0; i < match->count; i++)
		l->here[members[i].rank] = true;
	for (r = 0; r < l->in->job->count; r++)
		if (set[r / BITS] >> r % BITS & 1 && !l->here[r])
			l->ranks[count++] = l->in->job->ranks[r].rank;
	for (i = 0; i < match->count; i++)
		l->here[members[i].rank] = false;
	tw_rank_list_add(out, l->ranks, count);
}

void tw_present_ranks_add(struct tw_absent_ranks *l, const struct tw_match *match,
			  struct tw_str *out)
{
	const struct tw_match_member *members = tw_match_members(l->in, match);
	size_t count = 0;
	uint32_t i;

	for (i = 0; i < match->count; i++)
		if (!i || members[i].rank != members[i - 1].rank)
			l->ranks[count++] = tw_member_rank(l->in, &members[i])->rank;
	tw_rank_list_add(out, l->ranks, count);
}
