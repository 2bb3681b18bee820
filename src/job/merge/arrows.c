/* Which ends of arrows belong together, and the ids that tell. */
#include "job/merge/rank_events.h"

#include "base/list.h"
#include "base/order.h"

#include <stdlib.h>

/* An end in the order of pairing: by kind of arrow, id, then place in time. */
struct mark {
	uint32_t category;
	tw_code id;
	uint32_t end; /* index of ends */
};

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return TW_ORDER_BY(x, y, category, id, end);
}

static uint8_t phase_of(const struct tw_rank_events *one, uint32_t end)
{
	return one->trace->events.phase[one->ends[end].event];
}

/* A copy of a start, for one more arrow from there. */
static int add_copy(struct tw_rank_events *one, uint32_t start, int64_t id)
{
	struct tw_merge_end copy = one->ends[start];

	if (!tw_list_grow(&one->ends, &one->end_capacity, one->end_count, sizeof(*one->ends),
			  one->allocator))
		return -1;
	copy.id = id;
	one->ends[start].also = one->end_count;
	one->ends[one->end_count++] = copy;
	return 0;
}

/*
 * Arrows of one kind and id: the first start goes with the first finish and so on; where there are
 * fewer starts, as of a launch of several kernels, the last one has several arrows.
 */
static int pair_ends(struct tw_rank_events *one, const struct mark *marks, size_t count,
		     bool launch)
{
	size_t s = 0, f = 0, steps;
	uint32_t start = TW_NOWHERE;
	int64_t first = -1, id;

	for (; f < count; f++) {
		uint32_t finish = marks[f].end;

		if (phase_of(one, finish) != 'f' || one->ends[finish].lane == TW_NOWHERE)
			continue;
		while (s < count && (phase_of(one, marks[s].end) != 's' ||
				     one->ends[marks[s].end].lane == TW_NOWHERE))
			s++;
		if (s == count && start == TW_NOWHERE)
			break;
		id = first < 0 && launch ? tw_merge_id(&one->texts, marks[0].id) :
					   tw_merge_fresh_id(&one->texts);
		if (first < 0)
			first = id;
		one->ends[finish].id = id;
		if (s < count) {
			start = marks[s++].end;
			one->ends[start].id = id;
		} else if (add_copy(one, start, id)) {
			return -1;
		}
		one->counts.arrows++;
	}
	for (steps = 0; steps < count && first >= 0; steps++)
		if (phase_of(one, marks[steps].end) == 't' &&
		    one->ends[marks[steps].end].lane != TW_NOWHERE)
			one->ends[marks[steps].end].id = first;
	return 0;
}

static int pair_all_ends(struct tw_rank_events *one, struct mark *marks, uint32_t count)
{
	const struct tw_events *events = &one->trace->events;
	uint32_t i, first;

	for (i = 0; i < count; i++) {
		uint64_t event = one->ends[i].event;

		marks[i] = (struct mark){ events->category[event], events->correlation[event], i };
	}
	qsort(marks, count, sizeof(*marks), compare_marks);
	for (first = 0; first < count; first = i) {
		for (i = first + 1; i < count && marks[i].category == marks[first].category &&
				    marks[i].id == marks[first].id;
		     i++)
			;
		if (pair_ends(one, marks + first, i - first,
			      one->categories[marks[first].category].launches))
			return -1;
	}
	for (i = 0; i < count; i++)
		one->counts.loose += one->ends[i].id < 0;
	return 0;
}

int tw_pair_arrows(struct tw_rank_events *one)
{
	struct tw_arena mark = tw_arena_mark(&one->arena);
	struct mark *marks = tw_arena_array(&one->arena, one->end_count, sizeof(*marks));
	int status = marks ? pair_all_ends(one, marks, one->end_count) : -1;

	tw_arena_rewind(&one->arena, &mark);
	return status;
}
