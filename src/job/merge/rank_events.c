#include "job/merge/rank_events.h"

#include "base/alloc.h"

static void release_events(struct tw_rank_events *one)
{
	const struct trawl_allocator *a = one->allocator;
	uint32_t i;

	for (i = 0; i < one->lane_count; i++)
		tw_free(a, one->lanes[i].stack,
			one->lanes[i].capacity * sizeof(*one->lanes[i].stack));
	tw_free(a, one->lanes, one->lane_capacity * sizeof(*one->lanes));
	tw_free(a, one->ends, one->end_capacity * sizeof(*one->ends));
	tw_names_release(&one->names);
	tw_str_release(&one->texts.scratch);
	tw_arena_release(&one->arena);
}

int tw_merge_rank_events(struct tw_rank_events *one, struct tw_lines *lines,
			 struct trawl_error *err)
{
	int status;

	tw_arena_init(&one->arena, one->allocator);
	tw_merge_texts_init(&one->texts, one->trace, one->rank, lines, &one->arena);
	status = tw_choose_events(one, err);
	if (!status)
		status = tw_place_events(one, err);
	if (!status && (tw_lay_lanes(one) || tw_pair_arrows(one)))
		status = tw_no_memory(err);
	if (!status) {
		tw_write_events(one);
		if (one->arena.failed || one->texts.scratch.failed || lines->failed)
			status = tw_no_memory(err);
	}
	release_events(one);
	return status;
}
