/* Python functions of the threads that launch: what they are in, whose they are, who called a launch. */
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/innermost.h"
#include "base/order.h"
#include "base/search.h"
#include "data/limits.h"

#include <stdlib.h>

int tw_frame_order(const void *a, const void *b)
{
	const struct tw_frame *x = a, *y = b;

	return TW_ORDER_BY(x, y, track, start_ns)	?:
		       TW_COMPARE(y->end_ns, x->end_ns) ?:
							  TW_ORDER_BY(x, y, event);
}

static void *array(struct tw_look *look, size_t count, size_t size)
{
	void *made = tw_alloc_array(look->scratch, count + 1, size);

	look->failed |= !made;
	return made;
}

bool tw_is_program(struct tw_look *look, uint32_t text)
{
	unsigned kinds = tw_look_kinds(look, text);

	return kinds & TW_HOST_PYTHON_CODE && !(kinds & TW_HOST_PYTHON_INTERNAL);
}

/* All python functions; NULL: there are none. */
static struct tw_frame *list_frames(struct tw_look *look, size_t *count)
{
	const struct tw_events *e = &look->trace->events;
	struct tw_frame *frames;
	size_t n = 0;
	uint64_t i;

	for (i = 0; i < e->count; i++)
		n += e->phase[i] == 'X' && tw_class(look->trace, i) == TRAWL_CLASS_PYTHON;
	frames = n ? array(look, n, sizeof(*frames)) : NULL;
	for (i = 0, *count = 0; frames && i < e->count; i++)
		if (e->phase[i] == 'X' && tw_class(look->trace, i) == TRAWL_CLASS_PYTHON)
			frames[(*count)++] =
				(struct tw_frame){ e->start_ns[i], e->start_ns[i] + e->dur_ns[i],
						   (uint32_t)i,	   e->track[i],
						   TW_NONE,	   TW_NONE };
	if (frames)
		qsort(frames, n, sizeof(*frames), tw_frame_order);
	return frames;
}

/* What each frame of a thread is in, and the nearest function of the program at or above it. */
static void find_parents(struct tw_look *look, const struct tw_leaves *thread)
{
	struct tw_frame *frames = thread->frames;
	uint32_t i, up = TW_NONE;

	for (i = 0; i < thread->frame_count; i++) {
		while (up != TW_NONE && frames[up].end_ns <= frames[i].start_ns)
			up = frames[up].parent;
		frames[i].parent = up;
		frames[i].program = tw_is_program(look, look->trace->events.name[frames[i].event]) ?
					    i :
				    up == TW_NONE ? TW_NONE :
						    frames[up].program;
		up = i;
	}
}

/* Callers of the leaves of one thread. */
static void find_callers_of(struct tw_look *look, const struct tw_leaves *thread)
{
	struct tw_interval *spans = array(look, thread->frame_count, sizeof(*spans));
	int64_t *moments = array(look, thread->count, sizeof(*moments));
	uint32_t *found = array(look, thread->count, sizeof(*found)), i;
	size_t first = (size_t)(thread->at - look->leaves);

	if (look->failed)
		return;
	for (i = 0; i < thread->frame_count; i++)
		spans[i] = (struct tw_interval){ thread->frames[i].start_ns,
						 thread->frames[i].end_ns };
	for (i = 0; i < thread->count; i++) {
		moments[i] = tw_look_start(look, thread->at[i].node);
		/* Leaves are in the order of their launches, which nest no differently. */
		if (i && moments[i] < moments[i - 1])
			moments[i] = moments[i - 1];
	}
	if (tw_innermost(spans, thread->frame_count, moments, thread->count, found,
			 look->scratch)) {
		look->failed = true;
		return;
	}
	for (i = 0; i < thread->count; i++) {
		uint32_t program;

		if (found[i] == TW_INNERMOST_NONE)
			continue;
		look->caller[first + i] = thread->frames[found[i]].event;
		program = thread->frames[found[i]].program;
		if (program != TW_NONE)
			look->site[first + i] = thread->frames[program].event;
	}
}

void tw_find_callers(struct tw_look *look)
{
	size_t n = 0, k, first, end;
	struct tw_frame *frames = list_frames(look, &n);
	uint32_t t;

	if (!frames)
		return;
	look->caller = array(look, look->leaf_count, sizeof(*look->caller));
	look->site = array(look, look->leaf_count, sizeof(*look->site));
	for (k = 0; !look->failed && k < look->leaf_count; k++)
		look->caller[k] = look->site[k] = TW_NONE;
	for (t = 0; t < look->part->rank.thread_count && !look->failed; t++) {
		struct tw_leaves *thread = &look->threads[t];

		if (!thread->count)
			continue;
		first = TW_LOWER_BOUND(at, 0, n, frames[at].track < thread->track);
		end = TW_LOWER_BOUND(at, first, n, frames[at].track <= thread->track);
		thread->frames = frames + first;
		thread->frame_count = (uint32_t)(end - first);
		if (!thread->frame_count)
			continue;
		find_parents(look, thread);
		find_callers_of(look, thread);
	}
}

static bool is_most_of(const struct tw_frame *f, int64_t from_ns, int64_t to_ns)
{
	int64_t from = f->start_ns > from_ns ? f->start_ns : from_ns;
	int64_t to = f->end_ns < to_ns ? f->end_ns : to_ns;

	return (double)(to - from) * 100 >
	       (double)(to_ns - from_ns) * TW_LIMIT_PAUSE_SILENT_PERCENT;
}

const struct tw_frame *tw_function_in(const struct tw_look *look, uint32_t track, int64_t from_ns,
				      int64_t to_ns)
{
	uint32_t t = tw_look_thread(look, track), i, k;
	const struct tw_frame *frames, *best = NULL;

	if (t == UINT32_MAX || !look->threads[t].frame_count || to_ns <= from_ns)
		return NULL;
	frames = look->threads[t].frames;
	k = (uint32_t)TW_LOWER_BOUND(at, 0, look->threads[t].frame_count,
				     frames[at].start_ns <= from_ns);
	for (i = k ? frames[k - 1].program : TW_NONE; i != TW_NONE && !best;
	     i = frames[i].parent == TW_NONE ? TW_NONE : frames[frames[i].parent].program)
		best = is_most_of(&frames[i], from_ns, to_ns) ? &frames[i] : NULL;
	/* Of two that are most of it one is in the other: that which begins later. */
	for (i = k; i < look->threads[t].frame_count && frames[i].start_ns < to_ns; i++)
		if (frames[i].program == i && is_most_of(&frames[i], from_ns, to_ns))
			best = &frames[i];
	return best;
}
