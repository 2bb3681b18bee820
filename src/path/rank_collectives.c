/* The collectives of a rank, as the job lists them: which GPU events each is. */
#include "path/rank_build.h"

#include "analysis/groups.h"
#include "analysis/ops/collective_args.h"
#include "base/alloc.h"

static int64_t root_of(const struct tw_rank_build *b, uint64_t g)
{
	struct trawl_argument arg;

	return trawl_event_argument(b->d->trace, b->d->gpu.event[g], TW_KEY_rank, &arg) &&
			       arg.kind == TRAWL_VALUE_INTEGER ?
		       arg.integer :
		       -1;
}

static void add_piece(struct tw_rank_build *b, struct tw_path_event *of, uint32_t g)
{
	if (b->points.at[2 * g + 1].time_ns > b->points.at[2 * of->last + 1].time_ns)
		of->last = g;
}

void tw_path_collectives(struct tw_rank_build *b)
{
	struct tw_path_rank *r = b->rank;
	struct tw_collective_facts facts;
	struct tw_groups begun;
	uint32_t g;

	r->collectives =
		tw_alloc_array(b->allocator, (size_t)r->gpu_count + 1, sizeof(*r->collectives));
	b->failed |= !r->collectives;
	TW_COLLECTIVES_BEGUN_INIT(&begun, b->scratch);
	for (g = 0; g < r->gpu_count && !b->failed; g++) {
		const uint64_t *of;

		if (b->d->gpu.bucket[g] != TW_COMMUNICATION)
			continue;
		tw_collective_facts_of(b->d, g, &facts);
		of = tw_collective_begun(&begun, b->d, g, &facts, r->collective_count);
		if (of)
			add_piece(b, &r->collectives[*of], g);
		else
			r->collectives[r->collective_count++] =
				(struct tw_path_event){ g, g, root_of(b, g) };
	}
	b->failed |= begun.failed;
	tw_groups_release(&begun);
}
