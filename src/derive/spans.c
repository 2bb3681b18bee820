#include "derive/spans.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"
#include "derive/view_names.h"

#define NO_SPAN UINT32_MAX

static tw_code pid_of(const struct trawl_trace *trace, uint32_t event)
{
	return trace->tracks[trace->events.track[event]].pid;
}

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

void tw_spans_release(struct tw_spans *spans)
{
	const struct trawl_allocator *a = spans->allocator;
	size_t n = spans->count + 1;

	if (!a)
		return;
	tw_free(a, spans->items, n * sizeof(*spans->items));
	tw_free(a, spans->segments, 2 * n * sizeof(*spans->segments));
	tw_free(a, spans->processes, n * sizeof(*spans->processes));
}

/* ---- the innermost at a time */

static void add_segment(struct tw_spans *s, int64_t start_ns, uint32_t span)
{
	struct tw_span_segment *last = s->segment_count ? &s->segments[s->segment_count - 1] : NULL;

	if (last && s->segment_count > s->processes[s->process_count - 1].first &&
	    last->start_ns == start_ns)
		last->span = span;
	else
		s->segments[s->segment_count++] = (struct tw_span_segment){ start_ns, span };
}

/* Closes spans that end by a time: then the one around them goes on. */
static size_t close_until(struct tw_spans *s, const uint32_t *open, size_t depth, int64_t time_ns)
{
	while (depth && s->items[open[depth - 1]].end_ns <= time_ns) {
		int64_t end_ns = s->items[open[--depth]].end_ns;

		while (depth && s->items[open[depth - 1]].end_ns <= end_ns)
			depth--;
		add_segment(s, end_ns, depth ? open[depth - 1] : NO_SPAN);
	}
	return depth;
}

struct by_process {
	const struct tw_spans *spans;
	const struct trawl_trace *trace;
};

static uint64_t pid_key(const void *context, uint32_t span)
{
	const struct by_process *by = context;

	return pid_of(by->trace, by->spans->items[span].event);
}

/* Spans by process, in order of start; `open` has room for all of them. */
static void make_segments(struct tw_spans *s, const struct trawl_trace *trace,
			  const uint32_t *sorted, uint32_t *open)
{
	size_t depth = 0;
	uint64_t i;

	for (i = 0; i < s->count; i++) {
		const struct tw_span *span = &s->items[sorted[i]];
		tw_code pid = pid_of(trace, span->event);

		if (!s->process_count || s->processes[s->process_count - 1].pid != pid) {
			if (s->process_count) {
				depth = close_until(s, open, depth, INT64_MAX);
				s->processes[s->process_count - 1].end = s->segment_count;
			}
			s->processes[s->process_count++] =
				(struct tw_span_process){ .pid = pid, .first = s->segment_count };
		}
		depth = close_until(s, open, depth, span->start_ns);
		add_segment(s, span->start_ns, sorted[i]);
		open[depth++] = sorted[i];
	}
	close_until(s, open, depth, INT64_MAX);
	if (s->process_count)
		s->processes[s->process_count - 1].end = s->segment_count;
}

/* Numbers of spans by process, those of one in order of start; NULL: out of memory. */
static uint32_t *sort_by_process(const struct tw_spans *s, const struct trawl_trace *trace)
{
	uint32_t *sorted = tw_alloc(s->allocator, (s->count + 1) * sizeof(*sorted));
	uint64_t i;

	for (i = 0; sorted && i < s->count; i++)
		sorted[i] = (uint32_t)i;
	if (sorted &&
	    tw_sort(sorted, s->count, pid_key, &(struct by_process){ s, trace }, s->allocator)) {
		tw_free(s->allocator, sorted, (s->count + 1) * sizeof(*sorted));
		return NULL;
	}
	return sorted;
}

int tw_spans_index(struct tw_spans *s, const struct trawl_trace *trace)
{
	const struct trawl_allocator *a = s->allocator;
	size_t n = s->count + 1;
	uint32_t *sorted = sort_by_process(s, trace);
	uint32_t *open = tw_alloc(a, n * sizeof(*open));
	int status = -1;

	s->segments = tw_alloc(a, 2 * n * sizeof(*s->segments));
	s->processes = tw_alloc(a, n * sizeof(*s->processes));
	if (sorted && open && s->segments && s->processes) {
		make_segments(s, trace, sorted, open);
		status = 0;
	}
	tw_free(a, sorted, n * sizeof(*sorted));
	tw_free(a, open, n * sizeof(*open));
	return status;
}

static const struct tw_span_process *find_process(const struct tw_spans *s, tw_code pid)
{
	size_t i;

	if (s->process_count == 1)
		return s->processes;
	i = TW_LOWER_BOUND(at, 0, s->process_count, s->processes[at].pid < pid);
	return i < s->process_count && s->processes[i].pid == pid ? &s->processes[i] : NULL;
}

uint32_t tw_span_at(const struct tw_spans *s, tw_code pid, int64_t time_ns)
{
	const struct tw_span_process *process = find_process(s, pid);
	size_t after;

	if (!process)
		return NO_SPAN;
	after = TW_LOWER_BOUND(at, process->first, process->end,
			       s->segments[at].start_ns <= time_ns);
	return after > process->first ? s->segments[after - 1].span : NO_SPAN;
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
	sorted = sort_by_process(s, trace);
	for (i = 1; sorted && i < count; i++) {
		struct tw_span *last = &s->items[sorted[i - 1]];
		const struct tw_span *next = &s->items[sorted[i]];

		if (pid_of(trace, last->event) == pid_of(trace, next->event))
			last->end_ns = next->start_ns;
	}
	tw_free(allocator, sorted, (count + 1) * sizeof(*sorted));
	return sorted ? tw_spans_index(s, trace) : -1;
}
