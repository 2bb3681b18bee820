/*
 * The GPU work of the view: which events, clipped how, on which stream.
 */
#define _GNU_SOURCE
#include "derive/derived.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/tables.h"
#include "derive/repeats.h"

#include <stdlib.h>
#include <string.h>

static int alloc_gpu(struct tw_derived *d, uint64_t count)
{
	const struct trawl_allocator *a = d->allocator;
	struct tw_gpu *gpu = &d->gpu;

	gpu->event = tw_alloc(a, (count + 1) * sizeof(*gpu->event));
	gpu->start_ns = tw_alloc(a, (count + 1) * sizeof(*gpu->start_ns));
	gpu->end_ns = tw_alloc(a, (count + 1) * sizeof(*gpu->end_ns));
	gpu->launch = tw_alloc(a, (count + 1) * sizeof(*gpu->launch));
	gpu->queue = tw_alloc(a, (count + 1) * sizeof(*gpu->queue));
	gpu->bucket = tw_alloc(a, (count + 1) * sizeof(*gpu->bucket));
	gpu->count = gpu->allocated = count;
	return gpu->event && gpu->start_ns && gpu->end_ns && gpu->launch && gpu->queue &&
			       gpu->bucket ?
		       0 :
		       -1;
}

static bool is_gpu_slice(const struct trawl_trace *trace, uint64_t i)
{
	return trace->events.phase[i] == 'X' && tw_class_is_gpu(tw_class(trace, i));
}

static bool is_looked_at(const struct tw_derived *d, uint64_t i)
{
	const struct trawl_trace *trace = d->trace;

	return is_gpu_slice(trace, i) &&
	       (d->view.device == TW_CODE_NONE ||
		trace->tracks[trace->events.track[i]].device == d->view.device);
}

/* GPU events of the selected device, by start; ties in the order of the input. */
static int list_events(struct tw_derived *d)
{
	const struct tw_events *events = &d->trace->events;
	struct tw_gpu *gpu = &d->gpu;
	uint64_t n = 0, i;

	for (i = 0; i < events->count; i++)
		n += is_looked_at(d, i);
	if (alloc_gpu(d, n))
		return -1;
	for (i = 0, n = 0; i < events->count; i++)
		if (is_looked_at(d, i))
			gpu->event[n++] = (uint32_t)i;
	if (tw_sort(gpu->event, n, tw_events_start_key, events, d->allocator) ||
	    tw_repeats_drop(d->trace, gpu->event, &n, &gpu->quality, d->allocator))
		return -1;
	gpu->count = n;
	for (i = 0; i < n; i++) {
		gpu->start_ns[i] = events->start_ns[gpu->event[i]];
		gpu->end_ns[i] = gpu->start_ns[i] + events->dur_ns[gpu->event[i]];
		gpu->launch[i] = TW_NONE;
	}
	return 0;
}

/* ---- streams */

static int compare_queues(const struct trawl_trace *trace, const struct tw_queue *a,
			  const struct tw_queue *b)
{
	int order = tw_code_compare(trace, a->device, b->device);

	return order ? order : tw_code_compare(trace, a->stream, b->stream);
}

/* Position of a queue in the sorted list, or where it belongs. */
static uint32_t find_queue(const struct tw_derived *d, const struct tw_queue *queue)
{
	return TW_LOWER_BOUND(at, 0, d->gpu.queue_count,
			      compare_queues(d->trace, &d->gpu.queues[at], queue) < 0);
}

static int compare_for_sort(const void *a, const void *b, void *trace)
{
	return compare_queues(trace, a, b);
}

/* Distinct (device, stream) pairs of the trace in order; `of_track` maps tracks to them. */
static int list_queues(struct tw_derived *d, uint32_t *of_track)
{
	union {
		const struct trawl_trace *in;
		void *out;
	} context = { .in = d->trace };
	uint32_t count = d->trace->track_count, t, n = 0;
	struct tw_gpu *gpu = &d->gpu;

	gpu->queues = tw_alloc_array(d->allocator, count + 1, sizeof(*gpu->queues));
	if (!gpu->queues)
		return -1;
	for (t = 0; t < count; t++)
		gpu->queues[t] =
			(struct tw_queue){ d->trace->tracks[t].device, d->trace->tracks[t].stream };
	qsort_r(gpu->queues, count, sizeof(*gpu->queues), compare_for_sort, context.out);
	for (t = 0; t < count; t++)
		if (!n || compare_queues(d->trace, &gpu->queues[n - 1], &gpu->queues[t]))
			gpu->queues[n++] = gpu->queues[t];
	gpu->queue_count = n;
	for (t = 0; t < count; t++)
		of_track[t] = find_queue(d, &(struct tw_queue){ d->trace->tracks[t].device,
								d->trace->tracks[t].stream });
	return 0;
}

static int assign_queues(struct tw_derived *d)
{
	size_t bytes = (d->trace->track_count + 1) * sizeof(uint32_t);
	uint32_t *of_track = tw_alloc(d->allocator, bytes);
	int status = of_track ? list_queues(d, of_track) : -1;
	uint64_t g;

	for (g = 0; !status && g < d->gpu.count; g++)
		d->gpu.queue[g] = of_track[d->trace->events.track[d->gpu.event[g]]];
	tw_free(d->allocator, of_track, bytes);
	return status;
}

/* ---- classified by name */

static int find_known_name(struct tw_derived *d, uint32_t name)
{
	const struct tw_pool_entry *text = &d->trace->texts.entries[name];
	const struct tw_kernel_name *known = tw_kernel_name(text->ptr, text->len);
	int category = tw_kernel_category(text->ptr, text->len, d->allocator);

	d->gpu.known_name[name] = known ? (uint16_t)(known - tw_kernel_names + 1) : 0;
	d->gpu.category[name] = (uint8_t)category;
	return category < 0 ? -1 : 0;
}

/* Looks up the name of every GPU event, each name once. */
static int find_known_names(struct tw_derived *d)
{
	const struct tw_pool *texts = &d->trace->texts;
	uint8_t *asked = tw_alloc_array(d->allocator, texts->count, 1);
	int status;
	uint64_t g;

	d->gpu.known_name = tw_alloc_array(d->allocator, texts->count, sizeof(*d->gpu.known_name));
	d->gpu.category = tw_alloc_array(d->allocator, texts->count, 1);
	status = asked && d->gpu.known_name && d->gpu.category ? 0 : -1;
	for (g = 0; !status && g < d->gpu.count; g++) {
		uint32_t name = d->trace->events.name[d->gpu.event[g]];

		if (!asked[name])
			status = find_known_name(d, name);
		asked[name] = 1;
	}
	tw_free(d->allocator, asked, texts->count);
	return status;
}

/* ---- ends that run over */

/* Of a stream: the event that ends last so far, as recorded. */
struct outermost {
	uint64_t event;
	int64_t end_ns;
	bool counted; /* it holds a later event whole */
};

/*
 * A kernel during which the next one of its stream starts and ends was not running all that
 * time: the recorded end came late.  (Neighbours that merely overlap are a feature of the GPU.)
 * Counted, and ended at the next start when asked for.
 */
static int find_overruns(struct tw_derived *d, bool clip)
{
	struct tw_gpu *gpu = &d->gpu;
	size_t bytes = (gpu->queue_count + 1) * sizeof(struct outermost);
	struct outermost *list = tw_alloc(d->allocator, bytes), *outer;
	uint64_t g;
	uint32_t q;

	if (!list)
		return -1;
	for (q = 0; q < gpu->queue_count; q++)
		list[q] = (struct outermost){ TW_NONE, INT64_MIN, false };
	for (g = 0; g < gpu->count; g++) {
		int64_t start = gpu->start_ns[g], end = gpu->end_ns[g];

		outer = &list[gpu->queue[g]];
		if (end > outer->end_ns) {
			*outer = (struct outermost){ g, end, false };
			continue;
		}
		if (outer->counted || end == start || start == gpu->start_ns[outer->event])
			continue;
		outer->counted = true;
		tw_quality_add(&gpu->quality, TW_DEFECT_kernel_overrun, 1, -1,
			       (int64_t)gpu->event[outer->event]);
		if (clip)
			gpu->end_ns[outer->event] = start;
	}
	tw_free(d->allocator, list, bytes);
	return 0;
}

int tw_gpu_build(struct tw_derived *d, bool clip_overruns)
{
	if (list_events(d) || assign_queues(d) || find_overruns(d, clip_overruns))
		return -1;
	return find_known_names(d);
}
