#include "derive/spans.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"
#include "derive/view_names.h"

#define NO_SPAN UINT32_MAX

int tw_spans_of(struct tw_spans *spans, const struct trawl_trace *trace, const uint32_t *list,
		uint64_t count, const struct trawl_allocator *allocator)
{
	const struct tw_events *events = &trace->events;
	uint64_t i;

	*spans = (struct tw_spans){ .allocator = allocator };
	spans->items = tw_alloc_array(allocator, count + 1, sizeof(*spans->items));
	if (!spans->items)
		return -1;
	spans->count = count;
	for (i = 0; i < count; i++)
		spans->items[i] = (struct tw_span){
			.event = list[i],
			.start_ns = events->start_ns[list[i]],
			.end_ns = events->start_ns[list[i]] + events->dur_ns[list[i]],
		};
	return 0;
}

static void release_index(struct tw_span_index *index, size_t n, const struct trawl_allocator *a)
{
	tw_free(a, index->segments, 2 * n * sizeof(*index->segments));
	tw_free(a, index->places, n * sizeof(*index->places));
}

void tw_spans_release(struct tw_spans *spans)
{
	const struct trawl_allocator *a = spans->allocator;
	size_t n = spans->count + 1;

	if (!a)
		return;
	tw_free(a, spans->items, n * sizeof(*spans->items));
	release_index(&spans->by_thread, n, a);
	release_index(&spans->by_process, n, a);
}

/* ---- the innermost at a time */

static void add_segment(struct tw_span_index *x, int64_t start_ns, uint32_t span)
{
	struct tw_span_segment *last = x->segment_count ? &x->segments[x->segment_count - 1] : NULL;

	if (last && x->segment_count > x->places[x->count - 1].first && last->start_ns == start_ns)
		last->span = span;
	else
		x->segments[x->segment_count++] = (struct tw_span_segment){ start_ns, span };
}

/* Closes spans that end by a time: then the one around them goes on. */
static size_t close_until(struct tw_span_index *x, const struct tw_span *items,
			  const uint32_t *open, size_t depth, int64_t time_ns)
{
	while (depth && items[open[depth - 1]].end_ns <= time_ns) {
		int64_t end_ns = items[open[--depth]].end_ns;

		while (depth && items[open[depth - 1]].end_ns <= end_ns)
			depth--;
		add_segment(x, end_ns, depth ? open[depth - 1] : NO_SPAN);
	}
	return depth;
}

typedef uint32_t place_of(const struct trawl_trace *trace, uint32_t event);

static uint32_t track_of(const struct trawl_trace *trace, uint32_t event)
{
	return trace->events.track[event];
}

static uint32_t pid_of(const struct trawl_trace *trace, uint32_t event)
{
	return trace->tracks[track_of(trace, event)].pid;
}

struct by_place {
	const struct tw_spans *spans;
	const struct trawl_trace *trace;
	place_of *place;
};

static uint64_t place_key(const void *context, uint32_t span)
{
	const struct by_place *by = context;

	return by->place(by->trace, by->spans->items[span].event);
}

/* Numbers of spans by place, those of one in order of start; NULL: out of memory. */
static uint32_t *sort_by_place(const struct tw_spans *s, const struct trawl_trace *trace,
			       place_of *place)
{
	uint32_t *sorted = tw_alloc(s->allocator, (s->count + 1) * sizeof(*sorted));
	uint64_t i;

	for (i = 0; sorted && i < s->count; i++)
		sorted[i] = (uint32_t)i;
	if (sorted && tw_sort(sorted, s->count, place_key, &(struct by_place){ s, trace, place },
			      s->allocator)) {
		tw_free(s->allocator, sorted, (s->count + 1) * sizeof(*sorted));
		return NULL;
	}
	return sorted;
}

static void end_place(struct tw_span_index *x, const struct tw_span *items, const uint32_t *open,
		      size_t depth)
{
	close_until(x, items, open, depth, INT64_MAX);
	if (x->count)
		x->places[x->count - 1].end = x->segment_count;
}

/* `open` has room for all of them. */
static void make_segments(struct tw_span_index *x, const struct tw_spans *s,
			  const struct trawl_trace *trace, place_of *place_of_event,
			  const uint32_t *sorted, uint32_t *open)
{
	size_t depth = 0;
	uint64_t i;

	for (i = 0; i < s->count; i++) {
		const struct tw_span *span = &s->items[sorted[i]];
		uint32_t place = place_of_event(trace, span->event);

		if (!x->count || x->places[x->count - 1].place != place) {
			end_place(x, s->items, open, depth);
			depth = 0;
			x->places[x->count++] =
				(struct tw_span_place){ place, x->segment_count, 0 };
		}
		depth = close_until(x, s->items, open, depth, span->start_ns);
		add_segment(x, span->start_ns, sorted[i]);
		open[depth++] = sorted[i];
	}
	end_place(x, s->items, open, depth);
}

static int make_index(struct tw_span_index *x, const struct tw_spans *s,
		      const struct trawl_trace *trace, place_of *place)
{
	const struct trawl_allocator *a = s->allocator;
	size_t n = s->count + 1;
	uint32_t *sorted = sort_by_place(s, trace, place);
	uint32_t *open = tw_alloc(a, n * sizeof(*open));
	int status = -1;

	x->segments = tw_alloc(a, 2 * n * sizeof(*x->segments));
	x->places = tw_alloc(a, n * sizeof(*x->places));
	if (sorted && open && x->segments && x->places) {
		make_segments(x, s, trace, place, sorted, open);
		status = 0;
	}
	tw_free(a, sorted, n * sizeof(*sorted));
	tw_free(a, open, n * sizeof(*open));
	return status;
}

int tw_spans_index(struct tw_spans *s, const struct trawl_trace *trace)
{
	return make_index(&s->by_thread, s, trace, track_of) ||
			       make_index(&s->by_process, s, trace, pid_of) ?
		       -1 :
		       0;
}

static uint32_t span_in(const struct tw_span_index *x, const struct tw_span_place *place,
			int64_t time_ns)
{
	size_t after =
		TW_LOWER_BOUND(at, place->first, place->end, x->segments[at].start_ns <= time_ns);

	return after > place->first ? x->segments[after - 1].span : NO_SPAN;
}

static const struct tw_span_place *find_place(const struct tw_span_index *x, uint32_t place)
{
	size_t i = TW_LOWER_BOUND(at, 0, x->count, x->places[at].place < place);

	return i < x->count && x->places[i].place == place ? &x->places[i] : NULL;
}

uint32_t tw_span_at(const struct tw_spans *s, const struct trawl_trace *trace, uint32_t event)
{
	int64_t time_ns = trace->events.start_ns[event];
	const struct tw_span_place *thread = find_place(&s->by_thread, track_of(trace, event));
	const struct tw_span_place *process = s->by_process.places;
	uint32_t span = thread ? span_in(&s->by_thread, thread, time_ns) : NO_SPAN;

	if (span != NO_SPAN)
		return span;
	if (s->by_process.count > 1)
		process = find_place(&s->by_process, pid_of(trace, event));
	return process ? span_in(&s->by_process, process, time_ns) : NO_SPAN;
}

/* ---- steps */

static bool is_step(const void *context, const struct trawl_trace *trace, uint64_t event)
{
	(void)context;
	return tw_step_of(trace, event) >= 0;
}

int tw_spans_of_steps(struct tw_spans *s, const struct trawl_trace *trace,
		      const struct trawl_allocator *allocator)
{
	struct tw_quality ignored = { 0 }; /* repeats are counted where work is selected by them */
	uint64_t count, i;
	uint32_t *list, *sorted;
	int status =
		tw_annotations(trace, tw_step_class(trace), is_step, NULL, &ignored, &list, &count);

	*s = (struct tw_spans){ 0 };
	if (!status)
		status = tw_spans_of(s, trace, list, count, allocator);
	tw_free(trace->allocator, list, (count + 1) * sizeof(*list));
	if (status)
		return -1;
	sorted = sort_by_place(s, trace, pid_of);
	for (i = 1; sorted && i <= count; i++) {
		struct tw_span *step = &s->items[sorted[i - 1]];
		const struct tw_span *next = i < count ? &s->items[sorted[i]] : NULL;

		step->last = !next || pid_of(trace, step->event) != pid_of(trace, next->event);
		if (!step->last)
			step->end_ns = next->start_ns;
	}
	tw_free(allocator, sorted, (count + 1) * sizeof(*sorted));
	return sorted ? tw_spans_index(s, trace) : -1;
}
