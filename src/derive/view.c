#include "derive/view.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/limits.h"
#include "data/tables.h"
#include "derive/repeats.h"
#include "derive/view_names.h"
#include "text/wildcard.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char step_prefix[] = "ProfilerStep#";

/* Where the number begins of an NVTX range around a step, "iteration 12", "step_12"; 0: it is none. */
static size_t named_step(const struct tw_pool_entry *name)
{
	size_t at = name->len, end;

	while (at && name->ptr[at - 1] >= '0' && name->ptr[at - 1] <= '9')
		at--;
	for (end = at; end && at < name->len && strchr(" _#:-", name->ptr[end - 1]); end--)
		;
	return at < name->len && end && tw_is_step_name(name->ptr, end) ? at : 0;
}

int64_t tw_step_of(const struct trawl_trace *trace, uint64_t i)
{
	const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[i]];
	int64_t step = 0;
	size_t at = sizeof(step_prefix) - 1;

	if (name->len <= at || *name->ptr != *step_prefix || strncmp(name->ptr, step_prefix, at))
		at = trace->by_process ? named_step(name) : 0;
	if (!at)
		return -1;
	for (; at < name->len; at++) {
		if (name->ptr[at] < '0' || name->ptr[at] > '9' || step > INT32_MAX)
			return -1;
		step = step * 10 + (name->ptr[at] - '0');
	}
	return step;
}

bool tw_is_range(const struct trawl_trace *trace, uint64_t i, enum trawl_class class)
{
	return trace->events.phase[i] == 'X' && tw_class(trace, i) == class;
}

enum trawl_class tw_step_class(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		if (tw_is_range(trace, i, TRAWL_CLASS_ANNOTATION) && tw_step_of(trace, i) >= 0)
			return TRAWL_CLASS_ANNOTATION;
	return TRAWL_CLASS_CPU_OP;
}

/* Whether the name of a range is one with wildcards: an annotation of exactly this name wins. */
static bool is_pattern(const struct trawl_trace *trace, const char *range)
{
	uint32_t name = tw_pool_find(&trace->texts, range, strlen(range));
	uint64_t i;

	for (i = 0; i < trace->events.count && name; i++)
		if (trace->events.name[i] == name &&
		    (tw_is_range(trace, i, TRAWL_CLASS_ANNOTATION) ||
		     tw_is_range(trace, i, TRAWL_CLASS_GPU_ANNOTATION)))
			return false;
	return true;
}

static bool wanted(const struct trawl_trace *trace, uint64_t i, const struct tw_view_options *o,
		   bool pattern)
{
	const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[i]];

	if (o->range)
		return pattern ? tw_wildcard_matches(o->range, name->ptr, name->len) :
				 !strcmp(name->ptr, o->range);
	return tw_step_of(trace, i) >= o->step_first && tw_step_of(trace, i) <= o->step_last &&
	       tw_step_of(trace, i) >= 0;
}

int tw_annotations(const struct trawl_trace *trace, enum trawl_class class,
		   tw_wants_annotation *wants, const void *context, struct tw_quality *quality,
		   uint32_t **list, uint64_t *count)
{
	const struct trawl_allocator *a = trace->allocator;
	TW_LIST(uint32_t) found = { 0 };
	uint64_t i, kept;
	uint32_t *shrunk;
	bool failed = false;

	*list = NULL;
	*count = 0;
	for (i = 0; i < trace->events.count && !failed; i++)
		if (tw_is_range(trace, i, class) && wants(context, trace, i))
			failed = !TW_LIST_ADD(&found, &(uint32_t){ (uint32_t)i }, a);
	kept = found.count;
	if (!failed && !tw_sort(found.at, kept, tw_events_start_key, &trace->events, a) &&
	    !tw_repeats_drop(trace, found.at, &kept, quality, a)) {
		shrunk = tw_realloc(a, found.at, found.capacity * sizeof(*shrunk),
				    (kept + 1) * sizeof(*shrunk));
		if (shrunk) {
			*list = shrunk;
			*count = kept;
			return 0;
		}
	}
	tw_free(a, found.at, found.capacity * sizeof(*shrunk));
	return -1;
}

/* What a view asks for; of annotations on a GPU only those of the selected device. */
struct asked {
	const struct tw_view_options *options;
	enum trawl_class class;
	tw_code device;
	bool pattern;
};

static bool is_asked_for(const void *context, const struct trawl_trace *trace, uint64_t i)
{
	const struct asked *asked = context;

	return wanted(trace, i, asked->options, asked->pattern) &&
	       (asked->class != TRAWL_CLASS_GPU_ANNOTATION || asked->device == TW_CODE_NONE ||
		trace->tracks[trace->events.track[i]].device == asked->device);
}

int tw_view_annotations(const struct trawl_trace *trace, const struct tw_view_options *o,
			enum trawl_class class, tw_code device, struct tw_quality *quality,
			uint32_t **list, uint64_t *count)
{
	const struct asked asked = { o, class, device,
				     o->range && tw_has_wildcards(o->range) &&
					     is_pattern(trace, o->range) };

	if (class == TRAWL_CLASS_ANNOTATION && !o->range)
		class = tw_step_class(trace);
	return tw_annotations(trace, class, is_asked_for, &asked, quality, list, count);
}

/* The time of an annotation that is asked for. */
struct asked_time {
	int64_t step; /* 0 of a range */
	bool host;
	struct tw_interval at;
};

struct asked_times {
	TW_LIST(struct asked_time) list;
};

static int by_step(const void *a, const void *b)
{
	const struct asked_time *x = a, *y = b;

	return TW_ORDER_BY(x, y, step, host, at.start_ns, at.end_ns);
}

static int list_times(struct asked_times *times, const struct tw_view *view,
		      const struct trawl_trace *trace, const struct tw_view_options *o,
		      enum trawl_class class)
{
	const struct tw_events *events = &trace->events;
	struct tw_quality ignored = { 0 }; /* whose work it is (steps.c) counts them */
	uint64_t i, n;
	uint32_t *list;
	int status = tw_view_annotations(trace, o, class, view->device, &ignored, &list, &n);

	for (i = 0; i < n && !status; i++) {
		int64_t start_ns = events->start_ns[list[i]];
		struct asked_time time = {
			.step = o->range ? 0 : tw_step_of(trace, list[i]),
			.host = class == TRAWL_CLASS_ANNOTATION,
			.at = { start_ns, start_ns + events->dur_ns[list[i]] },
		};

		status = TW_LIST_ADD(&times->list, &time, trace->allocator) ? 0 : -1;
	}
	tw_free(trace->allocator, list, (n + 1) * sizeof(*list));
	return status;
}

/*
 * Windows of a range, or of one step.  Those on the GPU count where there are any: work that a
 * step launched runs after it on the host's clock.  Else those of the host; also where those on
 * the GPU cover next to nothing of it: then few of its kernels are linked, or the GPU waits for
 * most of the range, and that is what there is to see.
 */
static int put_windows(struct tw_intervals *windows, const struct asked_time *times, size_t count)
{
	struct tw_intervals of[2];
	const struct tw_intervals *use;
	size_t i;
	int status;

	tw_intervals_init(&of[false], windows->allocator);
	tw_intervals_init(&of[true], windows->allocator);
	for (i = 0; i < count; i++)
		tw_intervals_add(&of[times[i].host], times[i].at.start_ns, times[i].at.end_ns);
	use = &of[!of[false].count ||
		  tw_intervals_length(&of[false]) <
			  tw_intervals_length(&of[true]) / TW_LIMIT_GPU_RANGE_SHARE];
	for (i = 0; i < use->count; i++)
		tw_intervals_put(windows, use->items[i].start_ns, use->items[i].end_ns);
	status = of[false].failed || of[true].failed ? -1 : 0;
	tw_intervals_release(&of[false]);
	tw_intervals_release(&of[true]);
	return status;
}

/* Windows of each step in turn: one may have an annotation on the GPU and the next none. */
static int make_windows(struct tw_view *view, const struct trawl_trace *trace,
			const struct tw_view_options *o)
{
	struct asked_times times = { 0 };
	size_t first = 0, i;
	int status = list_times(&times, view, trace, o, TRAWL_CLASS_GPU_ANNOTATION) ||
				     list_times(&times, view, trace, o, TRAWL_CLASS_ANNOTATION) ?
			     -1 :
			     0;

	if (times.list.count)
		qsort(times.list.at, times.list.count, sizeof(*times.list.at), by_step);
	for (i = 1; i <= times.list.count && !status; i++) {
		if (i < times.list.count && times.list.at[i].step == times.list.at[first].step)
			continue;
		status = put_windows(&view->windows, times.list.at + first, i - first);
		first = i;
	}
	TW_LIST_FREE(&times.list, trace->allocator);
	tw_intervals_unite(&view->windows);
	return status || view->windows.failed ? -1 : 0;
}

/* Whether the first and the last of the steps asked for are in the trace. */
static bool has_steps(const struct trawl_trace *trace, const struct tw_view_options *o)
{
	enum trawl_class class = tw_step_class(trace);
	bool first = false, last = false;
	uint64_t i;

	for (i = 0; i < trace->events.count; i++) {
		if (!tw_is_range(trace, i, class) &&
		    !tw_is_range(trace, i, TRAWL_CLASS_GPU_ANNOTATION))
			continue;
		first |= tw_step_of(trace, i) == o->step_first;
		last |= tw_step_of(trace, i) == o->step_last;
	}
	return first && last;
}

static int by_annotation(struct tw_view *view, const struct trawl_trace *trace,
			 const struct tw_view_options *o, struct trawl_error *err)
{
	if (!o->range && !has_steps(trace, o))
		return tw_no_such_annotation(trace, o, err);
	if (make_windows(view, trace, o))
		return tw_no_memory(err);
	if (!view->windows.count)
		return tw_no_such_annotation(trace, o, err);
	if (o->range)
		tw_view_say(view, "range '%s'", o->range);
	else if (o->step_first == o->step_last)
		tw_view_say(view, "step %lld", (long long)o->step_first);
	else
		tw_view_say(view, "steps %lld-%lld", (long long)o->step_first,
			    (long long)o->step_last);
	return 0;
}

/* First start and last end of anything recorded. */
static bool find_recorded(const struct trawl_trace *trace, struct tw_interval *recorded)
{
	const struct tw_events *events = &trace->events;
	uint64_t i;

	*recorded = (struct tw_interval){ INT64_MAX, INT64_MIN };
	for (i = 0; i < events->count; i++) {
		if (events->phase[i] != 'X' || tw_class(trace, i) == TRAWL_CLASS_OTHER)
			continue;
		if (events->start_ns[i] < recorded->start_ns)
			recorded->start_ns = events->start_ns[i];
		if (events->start_ns[i] + events->dur_ns[i] > recorded->end_ns)
			recorded->end_ns = events->start_ns[i] + events->dur_ns[i];
	}
	return recorded->start_ns <= recorded->end_ns;
}

static void label_time(struct tw_view *view, const struct tw_view_options *o)
{
	if (o->start_ns == TRAWL_TIME_NONE)
		tw_view_say(view, "before %lld ns", (long long)o->end_ns);
	else if (o->end_ns == TRAWL_TIME_NONE)
		tw_view_say(view, "from %lld ns", (long long)o->start_ns);
	else
		tw_view_say(view, "%lld to %lld ns", (long long)o->start_ns, (long long)o->end_ns);
}

void tw_view_cut(struct tw_view *view, const struct tw_view_options *o)
{
	size_t i, kept = 0;

	for (i = 0; i < view->windows.count; i++) {
		struct tw_interval w = view->windows.items[i];

		if (o->start_ns != TRAWL_TIME_NONE && w.start_ns < o->start_ns)
			w.start_ns = o->start_ns;
		if (o->end_ns != TRAWL_TIME_NONE && w.end_ns > o->end_ns)
			w.end_ns = o->end_ns;
		if (w.start_ns < w.end_ns)
			view->windows.items[kept++] = w;
	}
	view->windows.count = kept;
}

/*
 * Cuts the windows, or the whole of time, to [start, end).  A bound outside what was recorded is
 * moved to its edge: nothing is known of the time beyond.
 */
static int by_time(struct tw_view *view, const struct trawl_trace *trace,
		   const struct tw_view_options *o, struct trawl_error *err)
{
	int64_t start = o->start_ns != TRAWL_TIME_NONE ? o->start_ns : INT64_MIN / 4;
	int64_t end = o->end_ns != TRAWL_TIME_NONE ? o->end_ns : INT64_MAX / 4;
	struct tw_interval recorded;

	if (start >= end)
		return trawl_error_set(err, TRAWL_EUSAGE, "--start must be before --end");
	if (find_recorded(trace, &recorded)) {
		view->recorded = recorded;
		if (start >= recorded.end_ns || end <= recorded.start_ns)
			return trawl_error_set(err, TRAWL_EUSAGE,
					       "no events in that time: the trace runs "
					       "from %lld to %lld ns",
					       (long long)recorded.start_ns,
					       (long long)recorded.end_ns);
		if (o->start_ns != TRAWL_TIME_NONE && start < recorded.start_ns)
			start = recorded.start_ns;
		if (o->end_ns != TRAWL_TIME_NONE && end > recorded.end_ns)
			end = recorded.end_ns;
	}
	if (!view->windows.count)
		tw_intervals_add(&view->windows, start, end);
	tw_view_cut(view, o);
	label_time(view, o);
	return view->windows.failed ? tw_no_memory(err) : 0;
}

static int by_device(struct tw_view *view, const struct trawl_trace *trace,
		     const struct tw_view_options *o, struct trawl_error *err)
{
	char buffer[24];
	size_t len;
	uint32_t t;

	for (t = 0; t < trace->track_count; t++) {
		tw_code device = trace->tracks[t].device;
		const char *text = tw_code_text(trace, device, buffer, &len);

		if (device == TW_CODE_NONE || strlen(o->device) != len ||
		    memcmp(text, o->device, len))
			continue;
		view->device = device;
		tw_view_say(view, "device %s", o->device);
		return 0;
	}
	return tw_no_such_device(trace, o->device, err);
}

void tw_view_say(struct tw_view *view, const char *format, ...)
{
	va_list args;

	if (view->label.len)
		tw_str_add_cstr(&view->label, ", ");
	va_start(args, format);
	tw_str_addv(&view->label, format, args);
	va_end(args);
}

int tw_view_init(struct tw_view *view, const struct trawl_trace *trace,
		 const struct tw_view_options *o, struct trawl_error *err)
{
	int status = 0;

	memset(view, 0, sizeof(*view));
	view->device = TW_CODE_NONE;
	tw_intervals_init(&view->windows, trace->allocator);
	tw_str_init(&view->label, trace->allocator);
	if (o->device)
		status = by_device(view, trace, o, err);
	if (!status && tw_view_asks_for_annotation(o))
		status = by_annotation(view, trace, o, err);
	if (!status && (o->start_ns != TRAWL_TIME_NONE || o->end_ns != TRAWL_TIME_NONE))
		status = by_time(view, trace, o, err);
	view->limited = view->windows.count || tw_view_asks_for_annotation(o) ||
			o->start_ns != TRAWL_TIME_NONE || o->end_ns != TRAWL_TIME_NONE;
	if (!status && (tw_view_settle(view) || view->label.failed))
		status = tw_no_memory(err);
	if (status)
		tw_view_release(view);
	return status;
}

int tw_view_settle(struct tw_view *view)
{
	struct tw_interval *windows = view->windows.items;
	size_t count = 0, i;

	/* Nothing lies in a window without length. */
	for (i = 0; i < view->windows.count; i++)
		if (windows[i].start_ns < windows[i].end_ns)
			windows[count++] = windows[i];
	view->windows.count = count;
	if (!count)
		return 0;
	view->skipped_ns =
		tw_alloc_array(view->windows.allocator, count, sizeof(*view->skipped_ns));
	if (!view->skipped_ns)
		return -1;
	for (i = 1; i < count; i++)
		view->skipped_ns[i] =
			view->skipped_ns[i - 1] + windows[i].start_ns - windows[i - 1].end_ns;
	return 0;
}

void tw_view_unsettle(struct tw_view *view)
{
	if (view->windows.allocator)
		tw_free(view->windows.allocator, view->skipped_ns,
			view->windows.count * sizeof(*view->skipped_ns));
	view->skipped_ns = NULL;
}

void tw_view_release(struct tw_view *view)
{
	tw_view_unsettle(view);
	tw_intervals_release(&view->windows);
	tw_str_release(&view->label);
}

/* The first window that ends after a time. */
static size_t window_after(const struct tw_view *view, int64_t time_ns)
{
	return TW_LOWER_BOUND(at, 0, view->windows.count,
			      view->windows.items[at].end_ns <= time_ns);
}

/* The last window from `low` on that begins before a time; `low` when none does. */
static size_t window_before(const struct tw_view *view, size_t low, int64_t time_ns)
{
	return TW_LOWER_BOUND(at, low + 1, view->windows.count,
			      view->windows.items[at].start_ns < time_ns) -
	       1;
}

bool tw_view_clip_to_windows(const struct tw_view *view, int64_t *start_ns, int64_t *end_ns)
{
	const struct tw_interval *windows = view->windows.items;
	size_t first, last;

	first = window_after(view, *start_ns);
	if (first == view->windows.count)
		return false;
	/* A moment at the start of a window is in it. */
	if (windows[first].start_ns > *start_ns && windows[first].start_ns >= *end_ns)
		return false;
	last = window_before(view, first, *end_ns);
	if (*start_ns < windows[first].start_ns)
		*start_ns = windows[first].start_ns;
	if (*end_ns > windows[last].end_ns)
		*end_ns = windows[last].end_ns;
	*start_ns -= view->skipped_ns[first];
	*end_ns -= view->skipped_ns[last];
	return true;
}

/* The last window that begins before a time of the view, or at it; the first when none does. */
static size_t window_of_view_time(const struct tw_view *view, int64_t time_ns, bool or_at)
{
	return TW_LOWER_BOUND(at, 1, view->windows.count,
			      tw_view_window_start(view, at) < time_ns ||
				      (or_at && tw_view_window_start(view, at) == time_ns)) -
	       1;
}

int64_t tw_view_real_start(const struct tw_view *view, int64_t start_ns)
{
	if (view->windows.count < 2)
		return start_ns;
	return start_ns + view->skipped_ns[window_of_view_time(view, start_ns, true)];
}

int64_t tw_view_real_end(const struct tw_view *view, int64_t start_ns, int64_t end_ns)
{
	if (view->windows.count < 2)
		return end_ns;
	return end_ns + view->skipped_ns[window_of_view_time(view, end_ns, start_ns == end_ns)];
}
