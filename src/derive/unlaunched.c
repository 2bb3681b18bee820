#include "derive/unlaunched.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"
#include "store/parts.h"

/* The recorded call with the lowest id: ids are given in the order of calls. */
struct first_call {
	tw_code id; /* TW_CODE_NONE: none */
	int64_t start_ns;
};

struct work {
	struct tw_derived *d;
	struct first_call *first; /* by part of the trace */
	uint32_t *sorted;	  /* steps that launched, by start of that work */
	uint64_t sorted_count;
};

static uint64_t start_of_work(const void *context, uint32_t step)
{
	const struct tw_derived *d = context;

	return tw_sort_key(d->steps.items[step].first_ns);
}

static int sort_steps(struct work *w)
{
	const struct tw_steps *steps = &w->d->steps;
	uint64_t i;

	w->sorted = tw_alloc_array(w->d->allocator, steps->count + 1, sizeof(*w->sorted));
	if (!w->sorted)
		return -1;
	for (i = 0; i < steps->count; i++)
		if (steps->items[i].launched)
			w->sorted[w->sorted_count++] = (uint32_t)i;
	return tw_sort(w->sorted, w->sorted_count, start_of_work, w->d, w->d->allocator);
}

static int find_first_calls(struct work *w)
{
	const struct trawl_trace *trace = w->d->trace;
	const struct tw_host *host = &w->d->host;
	uint64_t i;

	w->first = tw_alloc_array(w->d->allocator, tw_part_count(trace), sizeof(*w->first));
	if (!w->first)
		return -1;
	for (i = 0; i < tw_part_count(trace); i++)
		w->first[i].id = TW_CODE_NONE;
	for (i = 0; i < host->call_count; i++) {
		uint64_t e = host->event[host->call[i]];
		uint32_t part = tw_part_of(trace, e);
		tw_code id = trace->events.correlation[e];

		if (part != TW_NO_PART && tw_is_link_id(id) &&
		    (w->first[part].id == TW_CODE_NONE ||
		     tw_code_compare(trace, id, w->first[part].id) < 0))
			w->first[part] = (struct first_call){ id, trace->events.start_ns[e] };
	}
	return 0;
}

/* Whether an event was launched before the recording of calls began, and that after a time. */
static bool is_earlier(const struct work *w, uint64_t g, int64_t time_ns)
{
	const struct trawl_trace *trace = w->d->trace;
	uint32_t part = tw_part_of(trace, w->d->gpu.event[g]);
	tw_code id = trace->events.correlation[w->d->gpu.event[g]];

	return part != TW_NO_PART && tw_is_link_id(id) && w->first[part].id != TW_CODE_NONE &&
	       w->first[part].start_ns < time_ns &&
	       tw_code_compare(trace, id, w->first[part].id) < 0;
}

/* The window of the view that a time is in, NULL: none. */
static const struct tw_interval *window_at(const struct tw_view *view, int64_t time_ns)
{
	const struct tw_intervals *windows = &view->windows;
	size_t low = TW_LOWER_BOUND(at, 0, windows->count, windows->items[at].start_ns <= time_ns);

	return low && time_ns < windows->items[low - 1].end_ns ? &windows->items[low - 1] : NULL;
}

/* Of the host: the step that began last before a time, or the first of all. */
static uint32_t step_before(const struct tw_steps *steps, int64_t time_ns)
{
	uint64_t low = TW_LOWER_BOUND(at, 0, steps->count, steps->items[at].start_ns <= time_ns);

	return low ? (uint32_t)(low - 1) : 0;
}

/* The step whose launched work began last before a time, TW_NONE: none did. */
static uint32_t work_before(const struct work *w, int64_t time_ns)
{
	const struct tw_step *items = w->d->steps.items;
	uint64_t low =
		TW_LOWER_BOUND(at, 0, w->sorted_count, items[w->sorted[at]].first_ns < time_ns);

	return low ? w->sorted[low - 1] : TW_NONE;
}

/*
 * The step of an event that starts in a window.  A window of the host begins with an annotation;
 * one of the GPU, which lags, is of the step whose work it covers.
 */
static uint32_t step_in(const struct work *w, const struct tw_interval *window, int64_t time_ns)
{
	const struct tw_steps *steps = &w->d->steps;
	uint32_t step = work_before(w, window->end_ns), last;

	if (steps->items[step_before(steps, window->start_ns)].start_ns != window->start_ns &&
	    step != TW_NONE && steps->items[step].last_ns > window->start_ns)
		return step;
	/* The innermost around it. */
	last = step = step_before(steps, time_ns);
	while (step && steps->items[step].end_ns <= time_ns)
		step--;
	return steps->items[step].end_ns > time_ns ? step : last;
}

static void take(const struct work *w, uint32_t *owner, struct tw_interval *reach)
{
	struct tw_derived *d = w->d;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		int64_t start_ns = d->gpu.start_ns[g];
		const struct tw_interval *window;
		uint32_t step;

		if (d->gpu.launch[g] != TW_NONE)
			continue;
		window = window_at(&d->view, start_ns);
		if (!window)
			continue;
		step = step_in(w, window, start_ns);
		if (is_earlier(w, g, d->steps.items[step].end_ns)) {
			d->steps.earlier++;
			continue;
		}
		d->steps.by_start++;
		owner[g] = step;
		tw_interval_cover(&reach[step],
				  &(struct tw_interval){ start_ns, d->gpu.end_ns[g] });
	}
}

int tw_take_unlaunched(struct tw_derived *d, uint32_t *owner, struct tw_interval *reach)
{
	struct work w = { .d = d };
	int status = sort_steps(&w) || find_first_calls(&w) ? -1 : 0;

	if (!status)
		take(&w, owner, reach);
	tw_free(d->allocator, w.sorted, (d->steps.count + 1) * sizeof(*w.sorted));
	tw_free(d->allocator, w.first, tw_part_count(d->trace) * sizeof(*w.first));
	return status;
}
