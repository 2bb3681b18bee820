#include "derive/when.h"

#include "base/alloc.h"
#include "base/sort.h"

static bool is_served(const void *context, const struct trawl_trace *trace, uint64_t event)
{
	const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[event]];
	struct tw_served_step step;

	(void)context;
	return tw_served_step_read(&step, name->ptr, name->len);
}

static uint64_t shorter_key(const void *events, uint32_t event)
{
	return ~(uint64_t)((const struct tw_events *)events)->dur_ns[event];
}

/* Without those of a thread that lie within another one. */
static int keep_outermost(const struct trawl_trace *trace, uint32_t *list, uint64_t *count,
			  const struct trawl_allocator *a)
{
	const struct tw_events *e = &trace->events;
	int64_t *until = tw_alloc(a, ((size_t)trace->track_count + 1) * sizeof(*until));
	uint64_t i, n = 0;
	uint32_t t;

	if (!until || tw_sort(list, *count, shorter_key, e, a) ||
	    tw_sort(list, *count, tw_events_start_key, e, a))
		return -1;
	for (t = 0; t < trace->track_count; t++)
		until[t] = INT64_MIN;
	for (i = 0; i < *count; i++) {
		uint32_t event = list[i];
		int64_t *last_ns = &until[e->track[event]];
		int64_t end_ns = e->start_ns[event] + e->dur_ns[event];

		if (e->start_ns[event] < *last_ns && end_ns <= *last_ns)
			continue;
		*last_ns = end_ns;
		list[n++] = event;
	}
	*count = n;
	return 0;
}

static int find_served(struct tw_when *w, const struct trawl_allocator *a)
{
	const struct trawl_trace *trace = w->trace;
	struct tw_quality ignored = { 0 };
	uint64_t all, count, i;
	uint32_t *list;
	int status = tw_annotations(trace, TRAWL_CLASS_ANNOTATION, is_served, NULL, &ignored, &list,
				    &all);

	count = all;
	if (!status)
		status = keep_outermost(trace, list, &count, a) ||
			 tw_spans_of(&w->served, trace, list, count, a) ||
			 tw_spans_index(&w->served, trace);
	tw_free(trace->allocator, list, (all + 1) * sizeof(*list));
	w->serving = tw_alloc(a, (count + 1) * sizeof(*w->serving));
	if (status || !w->serving)
		return -1;
	for (i = 0; i < count; i++) {
		uint32_t text = trace->events.name[w->served.items[i].event];
		const struct tw_pool_entry *name = &trace->texts.entries[text];

		tw_served_step_read(&w->serving[i], name->ptr, name->len);
	}
	return 0;
}

/* By GPU event the span of its launch; NULL in *out where there are no spans. */
static int find_spans(uint32_t **out, const struct tw_spans *spans, const struct tw_derived *d,
		      const struct trawl_allocator *a)
{
	uint64_t g;

	if (!spans->count)
		return 0;
	*out = tw_alloc(a, (d->gpu.count + 1) * sizeof(**out));
	for (g = 0; *out && g < d->gpu.count; g++) {
		uint32_t launch = d->gpu.launch[g];

		(*out)[g] = launch == TW_NONE ? TW_NONE :
						tw_span_at(spans, d->trace, d->host.event[launch]);
	}
	return *out ? 0 : -1;
}

int tw_when_build(struct tw_when *w, const struct tw_derived *d, const struct trawl_allocator *a)
{
	*w = (struct tw_when){ .trace = d->trace };
	return tw_spans_of_steps(&w->steps, d->trace, a) || find_served(w, a) ||
			       find_spans(&w->step, &w->steps, d, a) ||
			       find_spans(&w->phase, &w->served, d, a) ?
		       -1 :
		       0;
}
