/* Which ends of arrows belong together, and the ids that tell. */
#include "job/merge/rank_events.h"

#include "base/alloc.h"
#include "base/list.h"

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

	if (x->category != y->category)
		return x->category < y->category ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static uint8_t phase_of(const struct tw_one *one, uint32_t end)
{
	return one->trace->events.phase[one->ends[end].event];
}

/* A copy of a start, for one more arrow from there. */
static int add_copy(struct tw_one *one, uint32_t start, int64_t id)
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
static int join(struct tw_one *one, const struct mark *marks, size_t count, bool launch)
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
		one->arrows++;
	}
	for (steps = 0; steps < count && first >= 0; steps++)
		if (phase_of(one, marks[steps].end) == 't' &&
		    one->ends[marks[steps].end].lane != TW_NOWHERE)
			one->ends[marks[steps].end].id = first;
	return 0;
}

static int join_all(struct tw_one *one, struct mark *marks, uint32_t count)
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
		if (join(one, marks + first, i - first,
			 one->categories[marks[first].category].launches))
			return -1;
	}
	for (i = 0; i < count; i++)
		one->loose += one->ends[i].id < 0;
	return 0;
}

int tw_one_join(struct tw_one *one, struct trawl_error *err)
{
	uint32_t count = one->end_count;
	struct mark *marks;
	int status;

	if (!count)
		return 0;
	marks = tw_alloc_array(one->allocator, count, sizeof(*marks));
	status = marks ? join_all(one, marks, count) : -1;
	tw_free(one->allocator, marks, count * sizeof(*marks));
	return status ? tw_no_memory(err) : 0;
}
