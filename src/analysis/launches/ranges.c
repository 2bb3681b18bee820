/*
 * One pass over the ranges and launches of each thread, both in order of start.  Sums of the GPU
 * events by launch make a range two places in a list and a difference; the innermost range
 * around each launch comes from base/innermost.h.  Then the same for each process, with what its
 * threads have left over.
 */
#define _GNU_SOURCE
#include "analysis/launches/ranges.h"

#include "analysis/groups.h"
#include "base/alloc.h"
#include "base/innermost.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/tables.h"
#include "derive/repeats.h"

#include <stdlib.h>
#include <string.h>

struct work {
	const struct tw_derived *d;
	const struct trawl_allocator *a;
	struct tw_ranges *out;
	/* Tracks by process: place of each, track at each, process of each place. */
	uint32_t *place, *track_at, *process_at;
	uint32_t places;
	uint32_t *range; /* events, by place, then start, then number */
	uint64_t range_room;
	uint32_t *row; /* by index in range */
	uint64_t *first_range;
	struct tw_members launched; /* GPU events by track of their launch, then by its start */
	uint64_t launched_count;
	uint64_t *first_launched;	/* by track */
	uint32_t *device;		/* by queue */
	struct tw_intervals *computing; /* by device */
	uint32_t device_count;
	struct tw_interval *reach; /* by index in range: first start and last end of its events */
	uint32_t lists;		   /* of launches, so far */
};

/* ---- what is where */

static int64_t end_of(const struct tw_events *events, uint32_t event)
{
	return events->start_ns[event] + events->dur_ns[event];
}

static uint32_t launch_event(const struct work *w, uint32_t g)
{
	return w->d->host.event[w->d->gpu.launch[g]];
}

static int64_t launch_time(const struct work *w, uint32_t g)
{
	return w->d->trace->events.start_ns[launch_event(w, g)];
}

static int compare_tracks(const void *a, const void *b, void *context)
{
	const struct trawl_trace *trace = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	tw_code p = trace->tracks[x].pid, q = trace->tracks[y].pid;
	int order = p == q ? 0 : tw_code_compare(trace, p, q);

	return order ? order : (x > y) - (x < y);
}

/* Gives tracks their places, and processes their numbers. */
static int place_tracks(struct work *w)
{
	union {
		const struct trawl_trace *in;
		void *out;
	} context = { .in = w->d->trace };
	const struct tw_track *tracks = w->d->trace->tracks;
	struct tw_ranges *out = w->out;
	size_t n = (size_t)w->places + 1;
	uint32_t i;

	w->place = tw_alloc_array(w->a, n, sizeof(*w->place));
	w->track_at = tw_alloc_array(w->a, n, sizeof(*w->track_at));
	w->process_at = tw_alloc_array(w->a, n, sizeof(*w->process_at));
	out->processes = tw_alloc_array(w->a, n, sizeof(*out->processes));
	out->process_room = n;
	if (!w->place || !w->track_at || !w->process_at || !out->processes)
		return -1;
	for (i = 0; i < w->places; i++)
		w->track_at[i] = i;
	qsort_r(w->track_at, w->places, sizeof(*w->track_at), compare_tracks, context.out);
	for (i = 0; i < w->places; i++) {
		tw_code pid = tracks[w->track_at[i]].pid;

		w->place[w->track_at[i]] = i;
		if (!i || pid != out->processes[out->process_count - 1])
			out->processes[out->process_count++] = pid;
		w->process_at[i] = out->process_count - 1;
	}
	w->process_at[w->places] = out->process_count;
	out->processes[out->process_count++] = TW_CODE_NONE;
	return 0;
}

static bool is_range(const struct trawl_trace *trace, uint64_t i)
{
	enum trawl_class class = tw_class(trace, i);

	return trace->events.phase[i] == 'X' &&
	       (class == TRAWL_CLASS_ANNOTATION ||
		(class == TRAWL_CLASS_CPU_OP && trace->by_process));
}

static uint32_t place_of(const struct work *w, uint32_t event)
{
	return w->place[w->d->trace->events.track[event]];
}

/* Counts ranges by place, and makes room for them. */
static int count_ranges(struct work *w)
{
	const struct trawl_trace *trace = w->d->trace;
	uint64_t i, n = 0;

	w->first_range = tw_alloc_array(w->a, (size_t)w->places + 1, sizeof(*w->first_range));
	if (!w->first_range)
		return -1;
	for (i = 0; i < trace->events.count; i++)
		if (is_range(trace, i)) {
			w->first_range[place_of(w, (uint32_t)i)]++;
			n++;
		}
	w->range_room = n + 1;
	w->range = tw_alloc(w->a, w->range_room * sizeof(*w->range));
	return w->range ? 0 : -1;
}

/*
 * Puts the ranges of each place in order of start, then of the input, one of those recorded twice.
 * first[p], where those of place p end, becomes where they begin.
 */
static int order_ranges(struct work *w, uint64_t *first)
{
	const struct trawl_trace *trace = w->d->trace;
	struct tw_quality ignored = { 0 };
	uint64_t begin = 0, count, kept = 0, end;
	uint32_t p;

	for (p = 0; p <= w->places; p++, begin = end, kept += count) {
		end = first[p];
		first[p] = kept;
		count = end - begin;
		memmove(w->range + kept, w->range + begin, count * sizeof(*w->range));
		if (tw_sort(w->range + kept, count, tw_events_start_key, &trace->events, w->a) ||
		    tw_repeats_drop(trace, w->range + kept, &count, &ignored, w->a))
			return -1;
		w->out->repeated += end - begin - count;
	}
	w->out->ranges = kept;
	return 0;
}

/* Ranges by place. */
static int list_ranges(struct work *w)
{
	const struct trawl_trace *trace = w->d->trace;
	uint64_t i, n = 0, count, *first;
	uint32_t p;

	if (count_ranges(w))
		return -1;
	first = w->first_range;
	for (p = 0; p <= w->places; p++) {
		count = first[p];
		first[p] = n;
		n += count;
	}
	for (i = 0; i < trace->events.count; i++)
		if (is_range(trace, i))
			w->range[first[place_of(w, (uint32_t)i)]++] = (uint32_t)i;
	if (order_ranges(w, first))
		return -1;
	w->row = tw_alloc(w->a, (w->out->ranges + 1) * sizeof(*w->row));
	return w->row ? 0 : -1;
}

static uint64_t launch_key(const void *context, uint32_t g)
{
	return tw_sort_key(launch_time(context, g));
}

/* GPU events by node of their launch: nodes are in order of track, then of start. */
static int list_launched(struct work *w)
{
	const struct tw_derived *d = w->d;
	uint64_t i, n = 0, count;
	uint32_t t;

	w->first_launched = tw_alloc_array(w->a, (size_t)w->places + 1, sizeof(*w->first_launched));
	if (!w->first_launched || tw_members_build(&w->launched, d->gpu.launch, d->gpu.count,
						   (uint32_t)d->host.count, w->a))
		return -1;
	w->launched_count = w->launched.first[d->host.count];
	for (i = 0; i < w->launched_count; i++)
		w->first_launched[d->trace->events.track[launch_event(w, w->launched.list[i])]]++;
	for (t = 0; t <= w->places; t++) {
		count = w->first_launched[t];
		w->first_launched[t] = n;
		n += count;
	}
	w->out->linked = n > 0;
	return 0;
}

/* ---- rows */

/* The name of the domain, which only exports have. */
static uint32_t domain_of(const struct trawl_trace *trace, uint32_t event)
{
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	struct tw_arg_keys keys = { { 0, 0 } };

	tw_arg_keys_add(&keys, TW_KEY_domain);
	if (!at || !trace->by_process || !tw_args_seek(&trace->args, &at, &keys))
		return 0;
	return tw_args_take_text(&trace->args, &at);
}

struct key {
	uint32_t process, domain, name, kind;
};

static struct key key_of(const struct work *w, uint32_t event)
{
	const struct trawl_trace *trace = w->d->trace;
	uint32_t kind = tw_class(trace, event) == TRAWL_CLASS_CPU_OP ? TW_RANGE_OPERATION :
								       TW_RANGE;

	return (struct key){ w->process_at[place_of(w, event)], domain_of(trace, event),
			     trace->events.name[event], kind };
}

/* The row for what of a process is in no range, or has no launch. */
static struct tw_range_row *rest_row(const struct work *w, uint32_t process, bool launched)
{
	return &w->out->rows[w->out->range_rows + 2 * process + !launched];
}

/* An operation or a library's call that happens to run on another thread has launched nothing. */
static uint32_t holds_of(const struct work *w, const struct key *key)
{
	size_t len;
	const char *name = tw_pool_text(&w->d->trace->texts, key->name, &len);

	if (key->kind == TW_RANGE_OPERATION ||
	    tw_host_kinds_of(name, len) & TW_HOST_FRAMEWORK_RANGE)
		return TW_HOLDS_OWN;
	return key->domain ? TW_HOLDS_LEFT : TW_HOLDS_PROCESS;
}

static int make_rows(struct work *w, const struct tw_groups *groups)
{
	struct tw_ranges *out = w->out;
	uint32_t i;

	out->range_rows = groups->count;
	out->count = groups->count + 2 * out->process_count;
	out->rows = tw_alloc_array(w->a, out->count, sizeof(*out->rows));
	if (!out->rows)
		return -1;
	for (i = 0; i < groups->count; i++) {
		const struct key *key = tw_groups_key(groups, i);

		out->rows[i].process = key->process;
		out->rows[i].domain = key->domain;
		out->rows[i].name = key->name;
		out->rows[i].kind = key->kind;
		out->rows[i].holds = holds_of(w, key);
	}
	for (i = 0; i < out->process_count; i++) {
		rest_row(w, i, true)->process = rest_row(w, i, false)->process = i;
		rest_row(w, i, true)->kind = TW_RANGE_OUTSIDE;
		rest_row(w, i, false)->kind = TW_RANGE_UNLAUNCHED;
	}
	return 0;
}

/* Puts ranges in rows, and counts those of the view. */
static int assign_rows(struct work *w)
{
	const struct tw_events *events = &w->d->trace->events;
	struct tw_groups groups;
	uint64_t i;
	int status;

	tw_groups_init(&groups, sizeof(struct key), w->a);
	for (i = 0; i < w->out->ranges && !groups.failed; i++) {
		struct key key = key_of(w, w->range[i]);

		w->row[i] = tw_groups_add(&groups, &key);
	}
	status = groups.failed ? -1 : make_rows(w, &groups);
	tw_groups_release(&groups);
	for (i = 0; i < w->out->ranges && !status; i++) {
		struct tw_range_row *row = &w->out->rows[w->row[i]];
		int64_t start = events->start_ns[w->range[i]], end = end_of(events, w->range[i]);

		if (!tw_view_clip(tw_host_view(w->d), &start, &end))
			continue;
		row->instances++;
		row->host_ns += end - start;
	}
	return status;
}

/* ---- what an event adds */

/* Numbers devices by queue; queues are in order of device. */
static int list_computing(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	uint64_t g;
	uint32_t q;

	w->device = tw_alloc_array(w->a, (size_t)gpu->queue_count + 1, sizeof(*w->device));
	w->computing = tw_alloc_array(w->a, (size_t)gpu->queue_count + 1, sizeof(*w->computing));
	if (!w->device || !w->computing)
		return -1;
	for (q = 0; q < gpu->queue_count; q++) {
		if (!q || gpu->queues[q].device != gpu->queues[q - 1].device)
			tw_intervals_init(&w->computing[w->device_count++], w->a);
		w->device[q] = w->device_count - 1;
	}
	for (g = 0; g < gpu->count; g++)
		if (gpu->bucket[g] == TW_COMPUTE)
			tw_intervals_add(&w->computing[w->device[gpu->queue[g]]], gpu->start_ns[g],
					 gpu->end_ns[g]);
	for (q = 0; q < w->device_count; q++) {
		tw_intervals_sum(&w->computing[q]);
		if (w->computing[q].failed)
			return -1;
	}
	return 0;
}

static void add_event(const struct work *w, struct tw_gpu_sum *sum, uint32_t g)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	int64_t start = gpu->start_ns[g], end = gpu->end_ns[g];

	sum->events++;
	sum->kernels += tw_class(w->d->trace, gpu->event[g]) == TRAWL_CLASS_KERNEL;
	sum->gpu_ns += end - start;
	if (gpu->bucket[g] == TW_COMMUNICATION) {
		const struct tw_intervals *computing = &w->computing[w->device[gpu->queue[g]]];

		sum->communication_ns += end - start;
		sum->exposed_ns += end - start - tw_intervals_covered(computing, start, end);
	}
}

static void add_difference(struct tw_gpu_sum *to, const struct tw_gpu_sum *after,
			   const struct tw_gpu_sum *before)
{
	to->events += after->events - before->events;
	to->kernels += after->kernels - before->kernels;
	to->gpu_ns += after->gpu_ns - before->gpu_ns;
	to->communication_ns += after->communication_ns - before->communication_ns;
	to->exposed_ns += after->exposed_ns - before->exposed_ns;
}

/* ---- ranges around launches */

/* Some ranges, in order of start, and GPU events, in order of launch. */
struct scope {
	struct tw_interval *spans;
	uint32_t *range; /* by span: index in the list of ranges */
	uint32_t span_count;
	const uint32_t *launched;
	uint32_t count;
	int64_t *time_ns; /* by launch */
	uint32_t *found;  /* by launch: the innermost span */
	/* Sums of the launches before each. */
	struct tw_gpu_sum *sums;
	/* First start and last end: of launch i at count + i, above those of two at i / 2. */
	struct tw_interval *reach;
};

static void scope_release(const struct work *w, struct scope *s)
{
	size_t spans = (size_t)s->span_count + 1, count = (size_t)s->count + 1;

	tw_free(w->a, s->spans, spans * sizeof(*s->spans));
	tw_free(w->a, s->range, spans * sizeof(*s->range));
	tw_free(w->a, s->time_ns, count * sizeof(*s->time_ns));
	tw_free(w->a, s->found, count * sizeof(*s->found));
	tw_free(w->a, s->sums, count * sizeof(*s->sums));
	tw_free(w->a, s->reach, 2 * count * sizeof(*s->reach));
}

static const struct tw_interval nothing = { INT64_MAX, INT64_MIN };

/* Room for the lists; the spans are the caller's to fill in. */
static int scope_init(const struct work *w, struct scope *s)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	size_t spans = (size_t)s->span_count + 1, count = (size_t)s->count + 1;
	uint32_t i;

	s->spans = tw_alloc(w->a, spans * sizeof(*s->spans));
	s->range = tw_alloc(w->a, spans * sizeof(*s->range));
	s->time_ns = tw_alloc(w->a, count * sizeof(*s->time_ns));
	s->found = tw_alloc(w->a, count * sizeof(*s->found));
	s->sums = tw_alloc(w->a, count * sizeof(*s->sums));
	s->reach = tw_alloc(w->a, 2 * count * sizeof(*s->reach));
	if (!s->spans || !s->range || !s->time_ns || !s->found || !s->sums || !s->reach)
		return -1;
	s->sums[0] = (struct tw_gpu_sum){ 0 };
	for (i = 0; i < s->count; i++) {
		uint32_t g = s->launched[i];

		s->time_ns[i] = launch_time(w, g);
		s->sums[i + 1] = s->sums[i];
		add_event(w, &s->sums[i + 1], g);
		s->reach[s->count + i] = (struct tw_interval){ gpu->start_ns[g], gpu->end_ns[g] };
	}
	for (i = s->count; i-- > 1;) {
		s->reach[i] = s->reach[2 * i];
		tw_interval_cover(&s->reach[i], &s->reach[2 * i + 1]);
	}
	return 0;
}

static void set_span(const struct work *w, struct scope *s, uint32_t span, uint64_t range)
{
	const struct tw_events *events = &w->d->trace->events;
	uint32_t event = w->range[range];

	s->range[span] = (uint32_t)range;
	s->spans[span] = (struct tw_interval){ events->start_ns[event], end_of(events, event) };
}

/* The first launch in [low, count) behind a time, in steps that grow: most ranges have few. */
static uint32_t first_behind(const struct scope *s, uint32_t low, int64_t time_ns)
{
	uint64_t at = low, behind = low, step = 1;

	for (; behind < s->count && s->time_ns[behind] <= time_ns; step *= 2) {
		at = behind + 1;
		behind += step;
	}
	if (behind > s->count)
		behind = s->count;
	return (uint32_t)TW_LOWER_BOUND(i, at, behind, s->time_ns[i] <= time_ns);
}

/* First start and last end of launches [first, behind). */
static void add_reach(const struct scope *s, uint32_t first, uint32_t behind,
		      struct tw_interval *reach)
{
	size_t low = (size_t)first + s->count, high = (size_t)behind + s->count;

	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			tw_interval_cover(reach, &s->reach[low++]);
		if (high & 1)
			tw_interval_cover(reach, &s->reach[--high]);
	}
}

/* Adds to each row of those sorts what its ranges have in them; what they share counts once. */
static void add_inclusive(struct work *w, const struct scope *s, unsigned holds)
{
	uint32_t span, next = 0;

	w->lists++;
	for (span = 0; span < s->span_count; span++) {
		struct tw_range_row *row = &w->out->rows[w->row[s->range[span]]];
		uint32_t first, behind;

		if (!(row->holds & holds))
			continue;
		while (next < s->count && s->time_ns[next] < s->spans[span].start_ns)
			next++;
		if (next == s->count)
			break;
		behind = first_behind(s, next, s->spans[span].end_ns);
		if (row->list != w->lists) {
			row->list = w->lists;
			row->done = 0;
		}
		first = next > row->done ? next : row->done;
		if (first >= behind)
			continue;
		add_difference(&row->all, &s->sums[behind], &s->sums[first]);
		add_reach(s, first, behind, &w->reach[s->range[span]]);
		row->done = behind;
	}
}

static unsigned holds(const struct work *w, uint64_t range)
{
	return w->out->rows[w->row[range]].holds;
}

/* Launches of a thread that ranges of other threads may hold as well. */
struct left {
	uint32_t *launched; /* in order of thread, then of time, until they are sorted */
	uint32_t count;
	uint8_t *charged; /* by GPU event: its thread has some range there */
};

/* What a thread leaves to its process: launches that no range of it hides.  The others: hidden. */
static void leave(const struct work *w, const struct scope *s, struct left *left,
		  struct left *hidden)
{
	int64_t hidden_until = INT64_MIN;
	uint32_t i, span = 0;

	for (i = 0; i < s->count; i++) {
		for (; span < s->span_count && s->spans[span].start_ns <= s->time_ns[i]; span++)
			if (holds(w, s->range[span]) == TW_HOLDS_PROCESS &&
			    s->spans[span].end_ns > hidden_until)
				hidden_until = s->spans[span].end_ns;
		if (hidden_until >= s->time_ns[i]) {
			hidden->launched[hidden->count++] = s->launched[i];
			continue;
		}
		left->charged[s->launched[i]] = s->found[i] != TW_INNERMOST_NONE;
		left->launched[left->count++] = s->launched[i];
	}
}

static uint64_t range_key(const void *context, uint32_t range)
{
	const struct work *w = context;

	return tw_events_start_key(&w->d->trace->events, w->range[range]);
}

/* A thread that works for another one, whose ranges hold what it does. */
static bool works_for_another(const struct work *w, uint32_t place)
{
	uint32_t name = w->d->names.tracks[w->track_at[place]].thread;
	size_t len;
	const char *text = tw_pool_text(&w->d->trace->texts, name, &len);

	return tw_host_kinds_of(text, len) & TW_HOST_AUTOGRAD_THREAD;
}

/* Ranges that hold what the thread at `place` does: its own, and those of threads that wait. */
static uint32_t list_waiting(const struct work *w, uint32_t place, uint32_t *range)
{
	uint32_t process = w->process_at[place], p = place, n = 0;
	uint64_t i;

	while (p && w->process_at[p - 1] == process)
		p--;
	for (; p < w->places && w->process_at[p] == process; p++)
		for (i = w->first_range[p]; i < w->first_range[p + 1]; i++)
			if (holds(w, i) == TW_HOLDS_PROCESS &&
			    (p == place || !works_for_another(w, p)))
				range[n++] = (uint32_t)i;
	return n;
}

/* Adds launches to them. */
static int do_hidden(struct work *w, uint32_t place, const struct left *hidden)
{
	size_t bytes = ((size_t)w->out->ranges + 1) * sizeof(uint32_t);
	uint32_t *range = tw_alloc(w->a, bytes), i;
	struct scope s = { .launched = hidden->launched, .count = hidden->count };
	int status = -1;

	if (range) {
		s.span_count = list_waiting(w, place, range);
		status = tw_sort(range, s.span_count, range_key, w, w->a);
	}
	if (!status)
		status = scope_init(w, &s);
	if (!status) {
		for (i = 0; i < s.span_count; i++)
			set_span(w, &s, i, range[i]);
		add_inclusive(w, &s, TW_HOLDS_PROCESS);
	}
	scope_release(w, &s);
	tw_free(w->a, range, bytes);
	return status;
}

/* Charges launches to the innermost ranges of their thread, and adds them to all around them. */
static int do_scope(struct work *w, struct scope *s, uint32_t place, struct left *left)
{
	struct left hidden = { .launched = tw_alloc(w->a, (s->count + 1) * sizeof(uint32_t)) };
	unsigned own = TW_HOLDS_OWN | TW_HOLDS_LEFT;
	bool shared = works_for_another(w, place);
	uint32_t i;
	int status = -1;

	if (hidden.launched &&
	    !tw_innermost(s->spans, s->span_count, s->time_ns, s->count, s->found, w->a)) {
		status = 0;
		for (i = 0; i < s->count; i++)
			if (s->found[i] != TW_INNERMOST_NONE)
				add_event(w, &w->out->rows[w->row[s->range[s->found[i]]]].self,
					  s->launched[i]);
		add_inclusive(w, s, shared ? own : own | TW_HOLDS_PROCESS);
		leave(w, s, left, &hidden);
		if (shared && hidden.count)
			status = do_hidden(w, place, &hidden);
	}
	tw_free(w->a, hidden.launched, (s->count + 1) * sizeof(uint32_t));
	return status;
}

static int do_thread(struct work *w, uint32_t place, struct left *left)
{
	uint64_t first = w->first_range[place];
	const uint64_t *launched = w->first_launched + w->track_at[place];
	struct scope s = {
		.span_count = (uint32_t)(w->first_range[place + 1] - first),
		.launched = w->launched.list + launched[0],
		.count = (uint32_t)(launched[1] - launched[0]),
	};
	uint32_t i;
	int status;

	if (!s.count)
		return 0;
	if (!s.span_count) {
		for (i = 0; i < s.count; i++)
			left->launched[left->count++] = s.launched[i];
		return 0;
	}
	status = scope_init(w, &s);
	for (i = 0; i < s.span_count && !status; i++)
		set_span(w, &s, i, first + i);
	if (!status)
		status = do_scope(w, &s, place, left);
	scope_release(w, &s);
	return status;
}

/* Those of ranges [first, behind) that may hold launches of other threads, in order of start. */
static int set_process_spans(const struct work *w, struct scope *s, uint64_t first, uint64_t behind)
{
	uint32_t n = 0, i;
	uint64_t range;

	for (range = first; range < behind; range++)
		if (holds(w, range) != TW_HOLDS_OWN)
			s->range[n++] = (uint32_t)range;
	if (tw_sort(s->range, n, range_key, w, w->a))
		return -1;
	for (i = 0; i < n; i++)
		set_span(w, s, i, s->range[i]);
	return 0;
}

/* Charges launches without a range of their own to the innermost of the process. */
static int add_to_innermost(struct work *w, struct scope *s, struct tw_range_row *outside)
{
	uint32_t i;

	if (tw_innermost(s->spans, s->span_count, s->time_ns, s->count, s->found, w->a))
		return -1;
	for (i = 0; i < s->count; i++) {
		struct tw_range_row *row = outside;

		if (s->found[i] != TW_INNERMOST_NONE)
			row = &w->out->rows[w->row[s->range[s->found[i]]]];
		add_event(w, &row->self, s->launched[i]);
	}
	return 0;
}

/*
 * Adds what the threads at places [first, behind) have left to ranges of any of them, of rows of
 * those sorts; what has no range on its own thread, when that is all there is, to the innermost.
 */
static int do_left(struct work *w, uint32_t first, uint32_t behind, const struct left *left,
		   unsigned to, bool bare)
{
	uint64_t range, ranges = w->first_range[first], end = w->first_range[behind];
	struct scope s = { .launched = left->launched, .count = left->count };
	int status;

	if (!left->count)
		return 0;
	for (range = ranges; range < end; range++)
		s.span_count += holds(w, range) != TW_HOLDS_OWN;
	status = scope_init(w, &s);
	if (!status)
		status = set_process_spans(w, &s, ranges, end);
	if (!status && bare)
		status = add_to_innermost(w, &s, rest_row(w, w->process_at[first], true));
	if (!status)
		add_inclusive(w, &s, to);
	scope_release(w, &s);
	return status;
}

static int do_process(struct work *w, uint32_t first, uint32_t behind, struct left *left)
{
	unsigned to = TW_HOLDS_PROCESS | TW_HOLDS_LEFT;
	uint32_t i, charged = 0, bare = 0;

	if (tw_sort(left->launched, left->count, launch_key, w, w->a))
		return -1;
	for (i = 0; i < left->count; i++)
		charged += left->charged[left->launched[i]];
	if (charged) {
		to = TW_HOLDS_LEFT;
		if (do_left(w, first, behind, left, TW_HOLDS_PROCESS, false))
			return -1;
	}
	for (i = 0; i < left->count; i++)
		if (!left->charged[left->launched[i]])
			left->launched[bare++] = left->launched[i];
	left->count = bare;
	if (do_left(w, first, behind, left, to, true))
		return -1;
	left->count = 0;
	return 0;
}

static void add_projected(struct work *w)
{
	uint64_t i;

	for (i = 0; i < w->out->ranges; i++)
		if (w->reach[i].start_ns <= w->reach[i].end_ns)
			w->out->rows[w->row[i]].projected_ns +=
				w->reach[i].end_ns - w->reach[i].start_ns;
}

/* Process by process: its threads, then what they leave. */
static int do_processes(struct work *w)
{
	uint64_t gpu_count = w->d->gpu.count, i;
	struct left left = {
		.launched = tw_alloc(w->a, (w->launched_count + 1) * sizeof(*left.launched)),
		.charged = tw_alloc_array(w->a, gpu_count + 1, 1),
	};
	uint32_t place, first = 0;
	int status = -1;

	w->reach = tw_alloc(w->a, (w->out->ranges + 1) * sizeof(*w->reach));
	if (left.launched && left.charged && w->reach) {
		status = 0;
		for (i = 0; i < w->out->ranges; i++)
			w->reach[i] = nothing;
	}
	for (place = 0; place < w->places && !status; place++) {
		status = do_thread(w, place, &left);
		if (status || w->process_at[place + 1] == w->process_at[place])
			continue;
		status = do_process(w, first, place + 1, &left);
		first = place + 1;
	}
	if (!status)
		add_projected(w);
	tw_free(w->a, left.launched, (w->launched_count + 1) * sizeof(*left.launched));
	tw_free(w->a, left.charged, gpu_count + 1);
	return status;
}

/* An export tells the process of GPU work, whoever launched it. */
static void add_unlaunched(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	const struct trawl_trace *trace = w->d->trace;
	uint32_t unknown = w->out->process_count - 1, g;

	for (g = 0; g < gpu->count; g++) {
		uint32_t track = trace->events.track[gpu->event[g]];

		if (gpu->launch[g] == TW_NONE)
			add_event(w,
				  &rest_row(w,
					    trace->by_process ? w->process_at[w->place[track]] :
								unknown,
					    false)
					   ->self,
				  g);
	}
}

static void release_work(struct work *w)
{
	size_t n = (size_t)w->places + 1, queues = (size_t)w->d->gpu.queue_count + 1;
	uint64_t ranges = w->out->ranges;
	uint32_t i;

	for (i = 0; w->computing && i < w->device_count; i++)
		tw_intervals_release(&w->computing[i]);
	tw_free(w->a, w->computing, queues * sizeof(*w->computing));
	tw_free(w->a, w->device, queues * sizeof(*w->device));
	tw_free(w->a, w->place, n * sizeof(*w->place));
	tw_free(w->a, w->track_at, n * sizeof(*w->track_at));
	tw_free(w->a, w->process_at, n * sizeof(*w->process_at));
	tw_free(w->a, w->range, w->range_room * sizeof(*w->range));
	tw_free(w->a, w->row, (ranges + 1) * sizeof(*w->row));
	tw_free(w->a, w->reach, (ranges + 1) * sizeof(*w->reach));
	tw_free(w->a, w->first_range, n * sizeof(*w->first_range));
	tw_members_release(&w->launched);
	tw_free(w->a, w->first_launched, n * sizeof(*w->first_launched));
}

int tw_ranges_build(struct tw_ranges *ranges, const struct tw_derived *derived)
{
	struct work w = {
		.d = derived,
		.a = derived->allocator,
		.out = ranges,
		.places = derived->trace->track_count,
	};
	int status;

	*ranges = (struct tw_ranges){ .allocator = derived->allocator };
	status = place_tracks(&w) || list_ranges(&w);
	if (!status && ranges->ranges) {
		status = list_launched(&w) || list_computing(&w) || assign_rows(&w) ||
			 do_processes(&w);
		if (!status)
			add_unlaunched(&w);
	}
	release_work(&w);
	return status ? -1 : 0;
}

void tw_ranges_release(struct tw_ranges *ranges)
{
	if (!ranges->allocator)
		return;
	tw_free(ranges->allocator, ranges->rows, ranges->count * sizeof(*ranges->rows));
	tw_free(ranges->allocator, ranges->processes, ranges->process_room * sizeof(tw_code));
	*ranges = (struct tw_ranges){ 0 };
}
