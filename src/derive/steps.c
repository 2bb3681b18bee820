#include "derive/steps.h"

#include "derive/derived.h"
#include "derive/spans.h"
#include "derive/unlaunched.h"

#include "base/alloc.h"
#include "base/order.h"
#include "derive/view_names.h"

#include <stdlib.h>
#include <string.h>

struct work {
	struct tw_derived *d;
	const struct tw_view_options *options;
	struct tw_steps *steps;
	struct tw_spans spans;	   /* of the steps: which of them a call is in */
	uint32_t *owner;	   /* by GPU event: its step, TW_NONE: none */
	struct tw_interval *reach; /* by step: from first start to last end of its events */
	struct tw_intervals all;   /* GPU busy */
	struct tw_intervals own;   /* busy with what was launched in any step */
};

/* A step goes on to the next one, as in the table of steps; a range ends where it ends. */
static int span_steps(struct work *w, const uint32_t *list, uint64_t count)
{
	struct tw_derived *d = w->d;
	struct tw_spans all;
	uint64_t i, k = 0;
	int status = tw_spans_of(&w->spans, d->trace, list, count, d->allocator);

	if (status || w->options->range)
		return status;
	status = tw_spans_of_steps(&all, d->trace, d->allocator);
	for (i = 0; i < count && !status; i++) {
		while (k < all.count && all.items[k].event != list[i])
			k++;
		if (k < all.count)
			w->spans.items[i].end_ns = all.items[k].end_ns;
	}
	tw_spans_release(&all);
	return status;
}

static int list_steps(struct work *w)
{
	struct tw_derived *d = w->d;
	const struct tw_events *events = &d->trace->events;
	struct tw_steps *steps = w->steps;
	uint64_t count, i;
	uint32_t *list;
	int status = tw_view_annotations(d->trace, w->options, TRAWL_CLASS_ANNOTATION, TW_CODE_NONE,
					 &d->quality, &list, &count);

	if (!status)
		status = span_steps(w, list, count) || tw_spans_index(&w->spans, d->trace);
	if (!status)
		steps->items = tw_alloc_array(d->allocator, count + 1, sizeof(*steps->items));
	if (steps->items) {
		steps->count = count;
		for (i = 0; i < count; i++)
			steps->items[i] = (struct tw_step){
				.event = list[i],
				.start_ns = events->start_ns[list[i]],
				.end_ns = events->start_ns[list[i]] + events->dur_ns[list[i]],
			};
	}
	tw_free(d->trace->allocator, list, (count + 1) * sizeof(*list));
	return steps->items ? 0 : -1;
}

/* ---- whose each GPU event is */

static void find_owners(struct work *w)
{
	struct tw_derived *d = w->d;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		w->owner[g] = TW_NONE;
		if (d->gpu.launch[g] == TW_NONE)
			continue;
		w->steps->has_launches = true;
		w->owner[g] = tw_span_at(&w->spans, d->trace, d->host.event[d->gpu.launch[g]]);
	}
}

/* ---- how it lies */

/* Adds the part of an interval that is within [from, to). */
static void add_within(struct tw_union *u, int64_t start_ns, int64_t end_ns, int64_t from_ns,
		       int64_t to_ns)
{
	start_ns = start_ns < from_ns ? from_ns : start_ns;
	end_ns = end_ns > to_ns ? to_ns : end_ns;
	if (start_ns < end_ns)
		tw_union_add(u, start_ns, end_ns);
}

/* GPU events come by start, so the unions of each step can be made side by side. */
static int measure_own(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	struct sums {
		struct tw_union busy, during, after;
	} *sums = tw_alloc(w->d->allocator, (w->steps->count + 1) * sizeof(*sums));
	uint64_t i, g;

	for (i = 0; sums && i < w->steps->count; i++)
		sums[i] = (struct sums){ TW_UNION_INIT, TW_UNION_INIT, TW_UNION_INIT };
	for (g = 0; sums && g < gpu->count; g++) {
		int64_t start = gpu->start_ns[g], end = gpu->end_ns[g];
		struct tw_step *step;
		struct sums *sum;

		tw_intervals_add(&w->all, start, end);
		if (w->owner[g] == TW_NONE)
			continue;
		step = &w->steps->items[w->owner[g]];
		sum = &sums[w->owner[g]];
		tw_intervals_add(&w->own, start, end);
		if (!step->launched++)
			step->first_ns = start;
		if (step->launched == 1 || end > step->last_ns)
			step->last_ns = end;
		tw_union_add(&sum->busy, start, end);
		add_within(&sum->during, start, end, step->start_ns, step->end_ns);
		add_within(&sum->after, start, end, step->end_ns, INT64_MAX);
	}
	for (i = 0; sums && i < w->steps->count; i++) {
		w->steps->items[i].busy_ns = sums[i].busy.length_ns;
		w->steps->items[i].during_ns = sums[i].during.length_ns;
		w->steps->items[i].after_ns = sums[i].after.length_ns;
		w->steps->launched += w->steps->items[i].launched;
	}
	tw_free(w->d->allocator, sums, (w->steps->count + 1) * sizeof(*sums));
	return sums && !w->all.failed && !w->own.failed ? 0 : -1;
}

/* What any work does at the time of a step, and at that of its own. */
static int measure_all(struct work *w)
{
	struct tw_steps *steps = w->steps;
	size_t i;

	tw_intervals_sum(&w->all);
	if (w->all.failed)
		return -1;
	for (i = 0; i < steps->count; i++) {
		struct tw_step *step = &steps->items[i];

		step->gpu_ns = tw_intervals_covered(&w->all, step->start_ns, step->end_ns);
		if (step->launched)
			step->other_ns =
				tw_intervals_covered(&w->all, step->first_ns, step->last_ns) -
				step->busy_ns;
	}
	return 0;
}

/* Length of the part of `a` outside of `b`; -1: out of memory. */
static int64_t length_outside(const struct tw_intervals *a, const struct tw_intervals *b)
{
	struct tw_intervals rest;
	int64_t length;

	tw_intervals_init(&rest, a->allocator);
	tw_intervals_subtract(a, b, &rest);
	length = rest.failed ? -1 : tw_intervals_length(&rest);
	tw_intervals_release(&rest);
	return length;
}

/* The annotations of the GPU, and the part of the work outside of them. */
static int compare_annotations(struct work *w)
{
	struct tw_derived *d = w->d;
	const struct tw_events *events = &d->trace->events;
	struct tw_intervals set;
	uint64_t count, i;
	uint32_t *list;
	int status = tw_view_annotations(d->trace, w->options, TRAWL_CLASS_GPU_ANNOTATION,
					 d->view.device, &d->quality, &list, &count);

	tw_intervals_init(&set, d->allocator);
	for (i = 0; i < count && !status; i++)
		tw_intervals_add(&set, events->start_ns[list[i]],
				 events->start_ns[list[i]] + events->dur_ns[list[i]]);
	tw_free(d->trace->allocator, list, (count + 1) * sizeof(*list));
	w->steps->annotated = set.count;
	w->steps->outside_ns = set.count ? length_outside(&w->own, &set) : 0;
	if (set.failed || w->steps->outside_ns < 0)
		status = -1;
	tw_intervals_release(&set);
	return status;
}

/* Times of the annotations on the host, as the view of the host has them. */
static int make_host_view(struct work *w)
{
	struct tw_view *host = &w->d->host_view;
	uint64_t i;

	host->limited = true;
	host->device = TW_CODE_NONE;
	host->recorded = w->d->view.recorded;
	for (i = 0; i < w->steps->count; i++)
		tw_intervals_add(&host->windows, w->steps->items[i].start_ns,
				 w->steps->items[i].end_ns);
	return host->windows.failed ? -1 : 0;
}

static int measure(struct work *w)
{
	struct tw_steps *steps = w->steps;
	const struct tw_intervals *host = &w->d->host_view.windows;
	int64_t own_outside, all_outside;

	if (measure_own(w) || measure_all(w) || compare_annotations(w) || make_host_view(w))
		return -1;
	own_outside = length_outside(&w->own, host);
	all_outside = length_outside(&w->all, host);
	steps->busy_ns = tw_intervals_length(&w->own);
	steps->during_ns = steps->busy_ns - own_outside;
	steps->gpu_ns = tw_intervals_length(&w->all) - all_outside;
	return own_outside < 0 || all_outside < 0 ? -1 : 0;
}

/* ---- the view */

static int compare_intervals(const void *a, const void *b)
{
	const struct tw_interval *x = a, *y = b;

	return TW_ORDER_BY(x, y, start_ns, end_ns);
}

static int reach_of_launched(struct work *w)
{
	uint64_t i;

	w->reach = tw_alloc_array(w->d->allocator, w->steps->count + 1, sizeof(*w->reach));
	for (i = 0; w->reach && i < w->steps->count; i++) {
		const struct tw_step *step = &w->steps->items[i];

		w->reach[i] = (struct tw_interval){ INT64_MAX, INT64_MIN };
		if (step->launched)
			w->reach[i] = (struct tw_interval){ step->first_ns, step->last_ns };
	}
	return w->reach ? 0 : -1;
}

/*
 * Whether a step goes on where one before it ended: then the time between them is of both.  So it is of
 * annotations of one step that overlap, but not where a number comes back later.
 */
static bool follows(const struct work *w, const struct tw_step *last, const struct tw_step *next)
{
	int64_t by;

	if (!last || w->options->range)
		return false;
	by = tw_step_of(w->d->trace, next->event) - tw_step_of(w->d->trace, last->event);
	return by == 1 || (by == 0 && next->start_ns < last->end_ns);
}

/* The time of the annotations' work, with that between steps that follow each other. */
static uint64_t list_spans(struct work *w, struct tw_interval *list)
{
	const struct tw_step *last = NULL;
	uint64_t n = 0, i;

	for (i = 0; i < w->steps->count; i++) {
		const struct tw_step *step = &w->steps->items[i];

		if (w->reach[i].start_ns > w->reach[i].end_ns)
			continue;
		if (follows(w, last, step))
			tw_interval_cover(&list[n - 1], &w->reach[i]);
		else
			list[n++] = w->reach[i];
		last = step;
	}
	/* A window has a length. */
	for (i = 0; i < n; i++)
		list[i].end_ns += list[i].start_ns == list[i].end_ns;
	return n;
}

/* The windows by launch: spans of the steps' work.  Where there is none their time stays. */
static int make_windows(struct work *w)
{
	struct tw_intervals *windows = &w->d->view.windows;
	size_t bytes = (w->steps->count + 1) * sizeof(struct tw_interval);
	struct tw_interval *list = tw_alloc(w->d->allocator, bytes);
	uint64_t n, i;

	if (!list)
		return -1;
	n = list_spans(w, list);
	qsort(list, n, sizeof(*list), compare_intervals);
	if (n)
		windows->count = 0;
	for (i = 0; i < n; i++)
		tw_intervals_add(windows, list[i].start_ns, list[i].end_ns);
	tw_free(w->d->allocator, list, bytes);
	tw_view_cut(&w->d->view, w->options);
	return windows->failed ? -1 : 0;
}

static void keep_event(struct tw_gpu *gpu, uint64_t to, uint64_t from, int64_t start_ns,
		       int64_t end_ns)
{
	gpu->event[to] = gpu->event[from];
	gpu->start_ns[to] = start_ns;
	gpu->end_ns[to] = end_ns;
	gpu->queue[to] = gpu->queue[from];
	gpu->launch[to] = gpu->launch[from];
	if (gpu->origin)
		gpu->origin[to] = gpu->origin[from];
	if (gpu->graph_node)
		gpu->graph_node[to] = gpu->graph_node[from];
	gpu->bucket[to] = gpu->bucket[from];
}

/* A moment at the end of what was launched is part of it, though outside of its half-open window. */
static bool clip_moment(const struct work *w, int64_t *start_ns, int64_t *end_ns)
{
	int64_t before = *start_ns - 1;

	if (*start_ns != *end_ns ||
	    (w->options->end_ns != TRAWL_TIME_NONE && *start_ns >= w->options->end_ns) ||
	    !tw_view_clip(&w->d->view, &before, end_ns))
		return false;
	*start_ns = *end_ns;
	return true;
}

/* Keeps events in the view, with edges clipped: by launch those that have an owner. */
static void select_events(const struct work *w, bool by_launch)
{
	struct tw_gpu *gpu = &w->d->gpu;
	uint64_t g, kept = 0;

	for (g = 0; g < gpu->count; g++) {
		int64_t start = gpu->start_ns[g], end = gpu->end_ns[g];

		if (by_launch && w->owner[g] == TW_NONE)
			continue;
		if (tw_view_clip(&w->d->view, &start, &end) ||
		    (by_launch && clip_moment(w, &start, &end)))
			keep_event(gpu, kept++, g, start, end);
	}
	gpu->count = kept;
}

/* The time of other work in the view. */
static int keep_others(struct work *w)
{
	struct tw_gpu *gpu = &w->d->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++)
		gpu->others_allocated += w->owner[g] == TW_NONE;
	gpu->others = tw_alloc(w->d->allocator, (gpu->others_allocated + 1) * sizeof(*gpu->others));
	if (!gpu->others)
		return -1;
	for (g = 0; g < gpu->count; g++) {
		struct tw_other other = { gpu->start_ns[g], gpu->end_ns[g], gpu->queue[g],
					  gpu->launch[g] != TW_NONE };

		if (w->owner[g] == TW_NONE &&
		    tw_view_clip(&w->d->view, &other.start_ns, &other.end_ns))
			gpu->others[gpu->other_count++] = other;
	}
	return 0;
}

static int apply_by_launch(struct work *w)
{
	struct tw_derived *d = w->d;

	if (reach_of_launched(w) || tw_take_unlaunched(d, w->owner, w->reach))
		return -1;
	tw_view_unsettle(&d->view);
	if (make_windows(w) || tw_view_settle(&d->view))
		return -1;
	tw_view_cut(&d->host_view, w->options);
	if (tw_view_settle(&d->host_view) || keep_others(w))
		return -1;
	select_events(w, true);
	return 0;
}

static int apply(struct work *w)
{
	struct tw_steps *steps = w->steps;

	if (list_steps(w))
		return -1;
	w->owner = tw_alloc(w->d->allocator, (w->d->gpu.count + 1) * sizeof(*w->owner));
	if (!w->owner)
		return -1;
	find_owners(w);
	steps->by_launch = !w->options->by_time && steps->count && steps->has_launches;
	tw_view_say(&w->d->view, "%s",
		    steps->by_launch	 ? "by launch" :
		    w->options->by_time	 ? "by time" :
		    !steps->has_launches ? "by time (no launches recorded)" :
					   "by time (no host annotation of that name)");
	if (measure(w))
		return -1;
	if (steps->by_launch)
		return apply_by_launch(w);
	select_events(w, false);
	return 0;
}

int tw_steps_apply(struct tw_derived *d, const struct tw_view_options *options)
{
	const struct trawl_allocator *a = d->allocator;
	struct work w = { .d = d, .options = options, .steps = &d->steps };
	uint64_t events = d->gpu.count;
	size_t n;
	int status = 0;

	if (!d->view.limited)
		return 0;
	tw_intervals_init(&w.all, a);
	tw_intervals_init(&w.own, a);
	tw_intervals_init(&d->host_view.windows, a);
	if (tw_view_asks_for_annotation(options))
		status = apply(&w);
	else
		select_events(&w, false);
	n = d->steps.count + 1;
	tw_spans_release(&w.spans);
	tw_free(a, w.owner, (events + 1) * sizeof(*w.owner));
	tw_free(a, w.reach, n * sizeof(*w.reach));
	tw_intervals_release(&w.all);
	tw_intervals_release(&w.own);
	return status;
}

void tw_steps_release(struct tw_derived *d)
{
	const struct trawl_allocator *a = d->allocator;

	if (d->steps.items)
		tw_free(a, d->steps.items, (d->steps.count + 1) * sizeof(*d->steps.items));
	if (d->gpu.others)
		tw_free(a, d->gpu.others, (d->gpu.others_allocated + 1) * sizeof(*d->gpu.others));
	tw_view_release(&d->host_view);
}
