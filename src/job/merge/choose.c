/* Which events of a rank go into the merged trace, in order of time. */
#include "job/merge/rank_events.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "derive/repeats.h"

#include <strings.h>

/* With --keep gpu, beside what classes tell. */
static const char *const gpu_categories[] = { "fwdbwd", "cpu_instant_event" };
static const char *const launch_categories[] = { "ac2g", "async_cpu_to_gpu", "async_gpu" };

static bool is_one_of(const struct trawl_trace *trace, const struct tw_category *category,
		      const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count && category->name; i++)
		if (!strcasecmp(tw_pool_text(&trace->texts, category->name, NULL), names[i]))
			return true;
	return false;
}

static bool is_for_gpu(const struct trawl_trace *trace, const struct tw_category *category)
{
	return tw_class_is_gpu(category->class) || tw_class_is_launch(category->class) ||
	       category->class == TRAWL_CLASS_ANNOTATION ||
	       category->class == TRAWL_CLASS_GPU_ANNOTATION ||
	       is_one_of(trace, category, gpu_categories,
			 sizeof(gpu_categories) / sizeof(gpu_categories[0]));
}

/* Names of processes and threads are made anew. */
static bool is_naming(const struct trawl_trace *trace, uint64_t i)
{
	uint32_t name = trace->events.name[i];

	return name >= TW_KEY_process_name && name <= TW_KEY_thread_sort_index;
}

static bool is_kept(struct tw_rank_events *one, uint64_t i)
{
	const struct tw_events *events = &one->trace->events;
	uint8_t phase = events->phase[i];

	/* Begins have become slices with the ends that they found. */
	if (!phase || phase == '?' || phase == 'E' || !one->categories[events->category[i]].kept)
		return false;
	if (phase == 'M')
		return one->keep_all && !is_naming(one->trace, i);
	return phase != 'x' && events->start_ns[i] != TRAWL_TIME_NONE;
}

static uint64_t start_of(const void *context, uint32_t event)
{
	const struct tw_events *events = context;

	/* Without a time, as metadata may be, before all others. */
	return tw_sort_key(events->start_ns[event]);
}

/* At one moment: slices, the longest first, so that those inside follow; then the others. */
static uint64_t order_at_start(const void *context, uint32_t event)
{
	const struct tw_events *events = context;

	return ~tw_sort_key(events->phase[event] == 'X' ? events->dur_ns[event] : -1);
}

/* What begins at the same time, sorted by start already. */
static int sort_ties(struct tw_rank_events *one)
{
	const struct tw_events *events = &one->trace->events;
	uint64_t first, behind;

	for (first = 0; first < one->count; first = behind) {
		int64_t start = events->start_ns[one->order[first]];

		for (behind = first + 1;
		     behind < one->count && events->start_ns[one->order[behind]] == start; behind++)
			;
		if (behind - first > 1 && tw_sort(one->order + first, behind - first,
						  order_at_start, events, one->allocator))
			return -1;
	}
	return 0;
}

int tw_choose_events(struct tw_rank_events *one, struct trawl_error *err)
{
	const struct tw_events *events = &one->trace->events;
	uint64_t i;
	unsigned c;

	if (events->count >= UINT32_MAX)
		return trawl_error_set(err, TRAWL_ELIMIT, "more than %u events", UINT32_MAX);
	one->categories =
		tw_arena_array(&one->arena, one->trace->category_count, sizeof(*one->categories));
	one->order = tw_arena_alloc(&one->arena, events->count * sizeof(*one->order));
	one->lane_of = tw_arena_alloc(&one->arena, events->count * sizeof(*one->lane_of));
	if (one->arena.failed)
		return tw_no_memory(err);
	for (c = 0; c < one->trace->category_count; c++) {
		const struct tw_category *category = &one->trace->categories[c];
		bool launches = is_one_of(one->trace, category, launch_categories,
					  sizeof(launch_categories) / sizeof(launch_categories[0]));

		one->categories[c].launches = launches;
		one->categories[c].kept = one->keep_all || launches ||
					  is_for_gpu(one->trace, category);
	}
	for (i = 0; i < events->count; i++)
		if (is_kept(one, i))
			one->order[one->count++] = (uint32_t)i;
	if (tw_sort(one->order, one->count, start_of, events, one->allocator) || sort_ties(one) ||
	    tw_repeats_drop(one->trace, one->order, &one->count, &one->quality, one->allocator))
		return tw_no_memory(err);
	return 0;
}
