#include "job/merge/rank_events.h"

#include "base/alloc.h"

static void release(struct tw_one *one)
{
	const struct trawl_allocator *a = one->allocator;
	size_t events = one->trace->events.count + 1, tracks = (size_t)one->trace->track_count + 1;
	uint32_t i;

	for (i = 0; i < one->lane_count; i++)
		tw_free(a, one->lanes[i].stack,
			one->lanes[i].capacity * sizeof(*one->lanes[i].stack));
	tw_free(a, one->lanes, one->lane_capacity * sizeof(*one->lanes));
	tw_free(a, one->ends, one->end_capacity * sizeof(*one->ends));
	tw_free(a, one->categories, one->trace->category_count * sizeof(*one->categories));
	tw_free(a, one->order, events * sizeof(*one->order));
	tw_free(a, one->lane_of, events * sizeof(*one->lane_of));
	tw_free(a, one->processes, tracks * sizeof(*one->processes));
	tw_free(a, one->places, tracks * sizeof(*one->places));
	tw_free(a, one->place_of, tracks * sizeof(*one->place_of));
	tw_free(a, one->by_thread, tracks * sizeof(*one->by_thread));
	tw_free(a, one->thread_first, tracks * sizeof(*one->thread_first));
	tw_names_release(&one->names);
	tw_merge_texts_release(&one->texts);
}

int tw_one_merge(struct tw_one *one, struct tw_lines *lines, struct trawl_error *err)
{
	int status = 0;

	if (tw_merge_texts_init(&one->texts, one->trace, one->rank, lines, one->allocator))
		status = tw_no_memory(err);
	if (!status)
		status = tw_one_choose(one, err);
	if (!status)
		status = tw_one_place(one, err);
	if (!status)
		status = tw_one_lay(one, err);
	if (!status)
		status = tw_one_join(one, err);
	if (!status) {
		tw_one_write(one);
		if (one->texts.failed || lines->failed)
			status = tw_no_memory(err);
	}
	release(one);
	return status;
}
