/*
 * One pass over the ranges and launches of each thread, both in order of start.  Sums of the GPU
 * events by launch make a range two places in a list and a difference; the innermost range
 * around each launch comes from base/innermost.h.  Then the same for each process, with what its
 * threads have left over.
 */
#define _GNU_SOURCE
#include "analysis/launches/ranges.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/innermost.h"
#include "base/list.h"
#include "base/scope.h"
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
	uint32_t *row;	 /* by index in range */
	uint64_t *first_range;
	struct tw_members launched; /* GPU events by track of their launch, then by its start */
	uint64_t launched_count;
	uint32_t *device;		/* by queue */
	struct tw_intervals *computing; /* by device */
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

static uint64_t place_key(const void *work, uint32_t event)
{
	return place_of(work, event);
}

/* Of the ranges of each place, one of those recorded twice; the list is in order of place. */
static int drop_repeated(struct work *w, uint64_t listed)
{
	struct tw_quality ignored = { 0 };
	uint64_t begin = 0, kept = 0, count, end;
	uint32_t p;

	for (p = 0; p <= w->places; p++, begin = end, kept += count) {
		w->first_range[p] = kept;
		for (end = begin; end < listed && place_of(w, w->range[end]) == p; end++)
			;
		count = end - begin;
		memmove(w->range + kept, w->range + begin, count * sizeof(*w->range));
		if (tw_repeats_drop(w->d->trace, w->range + kept, &count, &ignored, w->a))
			return -1;
		w->out->repeated += end - begin - count;
	}
	w->out->ranges = kept;
	return 0;
}

/* Ranges by place, in order of start, then of the input. */
static int list_ranges(struct work *w)
{
	const struct trawl_trace *trace = w->d->trace;
	uint64_t i, n = 0, capacity = 0;

	for (i = 0; i < trace->events.count; i++) {
		if (!is_range(trace, i))
			continue;
		if (!tw_list_grow(&w->range, &capacity, n, sizeof(*w->range), w->a))
			return -1;
		w->range[n++] = (uint32_t)i;
	}
	if (!n)
		return 0;
	w->first_range = tw_alloc_array(w->a, (size_t)w->places + 1, sizeof(*w->first_range));
	if (!w->first_range || tw_sort(w->range, n, tw_events_start_key, &trace->events, w->a) ||
	    tw_sort(w->range, n, place_key, w, w->a) || drop_repeated(w, n))
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

	if (tw_members_build(&w->launched, d->gpu.launch, d->gpu.count, (uint32_t)d->host.count,
			     w->a))
		return -1;
	w->launched_count = w->launched.first[d->host.count];
	w->out->linked = w->launched_count > 0;
	return 0;
}

/* Where those begin that a track, or one after it, launched. */
static const uint32_t *launched_from(const struct work *w, uint32_t track)
{
	const uint32_t *tracks = w->d->trace->events.track, *list = w->launched.list;

	return list +
	       TW_LOWER_BOUND(at, 0, w->launched_count, tracks[launch_event(w, list[at])] < track);
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

/* A row for each key; those of what is in no range are after the others. */
static int make_rows(struct work *w, struct tw_groups *groups)
{
	struct tw_ranges *out = w->out;
	uint32_t i;

	out->range_rows = groups->count;
	for (i = 0; i < out->process_count; i++) {
		tw_groups_add(groups, &(struct key){ i, 0, 0, TW_RANGE_OUTSIDE });
		tw_groups_add(groups, &(struct key){ i, 0, 0, TW_RANGE_UNLAUNCHED });
	}
	out->count = groups->count;
	out->rows = tw_alloc_array(w->a, (size_t)out->count + 1, sizeof(*out->rows));
	if (groups->failed || !out->rows)
		return -1;
	for (i = 0; i < out->count; i++) {
		const struct key *key = tw_groups_key(groups, i);

		out->rows[i] = (struct tw_range_row){ .process = key->process,
						      .kind = key->kind,
						      .domain = key->domain,
						      .name = key->name,
						      .holds = holds_of(w, key) };
	}
	return 0;
}

/* Puts ranges in rows, and counts those of the view. */
static int assign_rows(struct work *w)
{
	const struct tw_events *events = &w->d->trace->events;
	struct tw_groups groups;
	uint64_t i;

	tw_groups_init(&groups, sizeof(struct key), w->a);
	for (i = 0; i < w->out->ranges; i++) {
		struct key key = key_of(w, w->range[i]);

		w->row[i] = tw_groups_add(&groups, &key);
	}
	if (make_rows(w, &groups))
		return -1;
	for (i = 0; i < w->out->ranges; i++) {
		struct tw_range_row *row = &w->out->rows[w->row[i]];
		int64_t start = events->start_ns[w->range[i]], end = end_of(events, w->range[i]);

		if (!tw_view_clip(tw_host_view(w->d), &start, &end))
			continue;
		row->instances++;
		row->host_ns += end - start;
	}
	return 0;
}

/* ---- what an event adds */

static int list_computing(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	uint32_t q, devices;
	uint64_t g;

	w->device = tw_alloc_array(w->a, (size_t)gpu->queue_count + 1, sizeof(*w->device));
	w->computing = tw_alloc_array(w->a, (size_t)gpu->queue_count + 1, sizeof(*w->computing));
	if (!w->device || !w->computing)
		return -1;
	devices = tw_number_devices(gpu, w->device);
	for (q = 0; q < devices; q++)
		tw_intervals_init(&w->computing[q], w->a);
	for (g = 0; g < gpu->count; g++)
		if (gpu->bucket[g] == TW_COMPUTE)
			tw_intervals_add(&w->computing[w->device[gpu->queue[g]]], gpu->start_ns[g],
					 gpu->end_ns[g]);
	for (q = 0; q < devices; q++) {
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
struct pass {
	struct tw_scope memory;
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

static const struct tw_interval nothing = { INT64_MAX, INT64_MIN };

/* Of these launches; the caller lists up to so many ranges, and ends the memory. */
static int begin_pass(const struct work *w, struct pass *p, const uint32_t *launched,
		      uint32_t count, uint64_t most_ranges)
{
	*p = (struct pass){ .launched = launched, .count = count };
	tw_scope_begin(&p->memory, w->a);
	p->range = tw_alloc(&p->memory.allocator, (most_ranges + 1) * sizeof(*p->range));
	return p->range ? 0 : -1;
}

static uint64_t range_key(const void *context, uint32_t range)
{
	const struct work *w = context;

	return tw_events_start_key(&w->d->trace->events, w->range[range]);
}

/* Puts the ranges in order, and fills in what is known of them and of the launches. */
static int lay_out(const struct work *w, struct pass *p)
{
	const struct trawl_allocator *a = &p->memory.allocator;
	const struct tw_events *events = &w->d->trace->events;
	const struct tw_gpu *gpu = &w->d->gpu;
	size_t count = (size_t)p->count + 1;
	uint32_t i;

	p->spans = tw_alloc(a, ((size_t)p->span_count + 1) * sizeof(*p->spans));
	p->time_ns = tw_alloc(a, count * sizeof(*p->time_ns));
	p->found = tw_alloc(a, count * sizeof(*p->found));
	p->sums = tw_alloc(a, count * sizeof(*p->sums));
	p->reach = tw_alloc(a, 2 * count * sizeof(*p->reach));
	if (!p->spans || !p->time_ns || !p->found || !p->sums || !p->reach ||
	    tw_sort(p->range, p->span_count, range_key, w, a))
		return -1;
	for (i = 0; i < p->span_count; i++) {
		uint32_t event = w->range[p->range[i]];

		p->spans[i] =
			(struct tw_interval){ events->start_ns[event], end_of(events, event) };
	}
	p->sums[0] = (struct tw_gpu_sum){ 0 };
	for (i = 0; i < p->count; i++) {
		uint32_t g = p->launched[i];

		p->time_ns[i] = launch_time(w, g);
		p->sums[i + 1] = p->sums[i];
		add_event(w, &p->sums[i + 1], g);
		p->reach[p->count + i] = (struct tw_interval){ gpu->start_ns[g], gpu->end_ns[g] };
	}
	for (i = p->count; i-- > 1;) {
		p->reach[i] = p->reach[2 * i];
		tw_interval_cover(&p->reach[i], &p->reach[2 * i + 1]);
	}
	return 0;
}

/* The innermost span around each launch. */
static int find_innermost(struct pass *p)
{
	return tw_innermost(p->spans, p->span_count, p->time_ns, p->count, p->found,
			    &p->memory.allocator);
}

static struct tw_range_row *row_of(const struct work *w, uint32_t range)
{
	return &w->out->rows[w->row[range]];
}

/* The first launch in [low, count) after a time, in steps that grow: most ranges have few. */
static uint32_t first_after(const struct pass *p, uint32_t low, int64_t time_ns)
{
	uint64_t at = low, after = low, step = 1;

	for (; after < p->count && p->time_ns[after] <= time_ns; step *= 2) {
		at = after + 1;
		after += step;
	}
	if (after > p->count)
		after = p->count;
	return (uint32_t)TW_LOWER_BOUND(i, at, after, p->time_ns[i] <= time_ns);
}

/* First start and last end of launches [first, after). */
static void add_reach(const struct pass *p, uint32_t first, uint32_t after,
		      struct tw_interval *reach)
{
	size_t low = (size_t)first + p->count, high = (size_t)after + p->count;

	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			tw_interval_cover(reach, &p->reach[low++]);
		if (high & 1)
			tw_interval_cover(reach, &p->reach[--high]);
	}
}

/* Adds to each row of those sorts what its ranges have in them; what they share counts once. */
static void add_inclusive(struct work *w, const struct pass *p, unsigned holds)
{
	uint32_t span, next = 0;

	w->lists++;
	for (span = 0; span < p->span_count; span++) {
		struct tw_range_row *row = row_of(w, p->range[span]);
		uint32_t first, after;

		if (!(row->holds & holds))
			continue;
		while (next < p->count && p->time_ns[next] < p->spans[span].start_ns)
			next++;
		if (next == p->count)
			break;
		after = first_after(p, next, p->spans[span].end_ns);
		if (row->list != w->lists) {
			row->list = w->lists;
			row->done = 0;
		}
		first = next > row->done ? next : row->done;
		if (first >= after)
			continue;
		add_difference(&row->all, &p->sums[after], &p->sums[first]);
		add_reach(p, first, after, &w->reach[p->range[span]]);
		row->done = after;
	}
}

/* Launches of a thread that ranges of other threads may hold as well. */
struct left {
	uint32_t *launched; /* in order of thread, then of time, until they are sorted */
	uint32_t count;
	uint8_t *charged; /* by GPU event: its thread has some range there */
};

/* What a thread leaves to its process: launches that no range of it hides.  The others: hidden. */
static void leave(const struct work *w, const struct pass *p, struct left *left,
		  struct left *hidden)
{
	int64_t hidden_until = INT64_MIN;
	uint32_t i, span = 0;

	for (i = 0; i < p->count; i++) {
		for (; span < p->span_count && p->spans[span].start_ns <= p->time_ns[i]; span++)
			if (row_of(w, p->range[span])->holds == TW_HOLDS_PROCESS &&
			    p->spans[span].end_ns > hidden_until)
				hidden_until = p->spans[span].end_ns;
		if (hidden_until >= p->time_ns[i]) {
			hidden->launched[hidden->count++] = p->launched[i];
			continue;
		}
		left->charged[p->launched[i]] = p->found[i] != TW_INNERMOST_NONE;
		left->launched[left->count++] = p->launched[i];
	}
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
			if (row_of(w, (uint32_t)i)->holds == TW_HOLDS_PROCESS &&
			    (p == place || !works_for_another(w, p)))
				range[n++] = (uint32_t)i;
	return n;
}

/* Adds launches to them. */
static int add_hidden(struct work *w, uint32_t place, const struct left *hidden)
{
	struct pass p;
	int status = begin_pass(w, &p, hidden->launched, hidden->count, w->out->ranges);

	if (!status) {
		p.span_count = list_waiting(w, place, p.range);
		status = lay_out(w, &p);
	}
	if (!status)
		add_inclusive(w, &p, TW_HOLDS_PROCESS);
	tw_scope_end(&p.memory);
	return status;
}

/* Charges launches to the innermost ranges of their thread, and adds them to all around them. */
static int charge_thread(struct work *w, struct pass *p, uint32_t place, struct left *left)
{
	unsigned own = TW_HOLDS_OWN | TW_HOLDS_LEFT;
	bool shared = works_for_another(w, place);
	struct left hidden = { .launched = tw_alloc(&p->memory.allocator,
						    (p->count + 1) * sizeof(uint32_t)) };
	uint32_t i;

	if (!hidden.launched || lay_out(w, p) || find_innermost(p))
		return -1;
	for (i = 0; i < p->count; i++)
		if (p->found[i] != TW_INNERMOST_NONE)
			add_event(w, &row_of(w, p->range[p->found[i]])->self, p->launched[i]);
	add_inclusive(w, p, shared ? own : own | TW_HOLDS_PROCESS);
	leave(w, p, left, &hidden);
	return shared && hidden.count ? add_hidden(w, place, &hidden) : 0;
}

static int do_thread(struct work *w, uint32_t place, struct left *left)
{
	uint64_t first = w->first_range[place], count = w->first_range[place + 1] - first;
	const uint32_t *launched = launched_from(w, w->track_at[place]);
	const uint32_t *end = launched_from(w, w->track_at[place] + 1);
	struct pass p;
	int status;

	if (!count) {
		while (launched < end)
			left->launched[left->count++] = *launched++;
		return 0;
	}
	if (launched == end)
		return 0;
	status = begin_pass(w, &p, launched, (uint32_t)(end - launched), count);
	if (!status) {
		while (p.span_count < count)
			p.range[p.span_count++] = (uint32_t)first++;
		status = charge_thread(w, &p, place, left);
	}
	tw_scope_end(&p.memory);
	return status;
}

/* Charges launches without a range of their own to the innermost of the process. */
static int charge_process(struct work *w, struct pass *p, struct tw_range_row *outside)
{
	uint32_t i;

	if (find_innermost(p))
		return -1;
	for (i = 0; i < p->count; i++) {
		struct tw_range_row *row = outside;

		if (p->found[i] != TW_INNERMOST_NONE)
			row = row_of(w, p->range[p->found[i]]);
		add_event(w, &row->self, p->launched[i]);
	}
	return 0;
}

/*
 * Adds what the threads at places [first, after) have left to ranges of any of them, of rows of
 * those sorts; what has no range on its own thread, when that is all there is, to the innermost.
 */
static int do_left(struct work *w, uint32_t first, uint32_t after, const struct left *left,
		   unsigned to, bool bare)
{
	uint64_t range = w->first_range[first], end = w->first_range[after];
	struct pass p;
	int status;

	if (!left->count)
		return 0;
	status = begin_pass(w, &p, left->launched, left->count, end - range);
	for (; range < end && !status; range++)
		if (row_of(w, (uint32_t)range)->holds != TW_HOLDS_OWN)
			p.range[p.span_count++] = (uint32_t)range;
	if (!status)
		status = lay_out(w, &p);
	if (!status && bare)
		status = charge_process(w, &p, rest_row(w, w->process_at[first], true));
	if (!status)
		add_inclusive(w, &p, to);
	tw_scope_end(&p.memory);
	return status;
}

static int do_process(struct work *w, uint32_t first, uint32_t after, struct left *left)
{
	unsigned to = TW_HOLDS_PROCESS | TW_HOLDS_LEFT;
	uint32_t i, bare = 0;

	if (tw_sort(left->launched, left->count, launch_key, w, w->a))
		return -1;
	for (i = 0; i < left->count; i++)
		if (left->charged[left->launched[i]])
			to = TW_HOLDS_LEFT;
	if (to == TW_HOLDS_LEFT && do_left(w, first, after, left, TW_HOLDS_PROCESS, false))
		return -1;
	for (i = 0; i < left->count; i++)
		if (!left->charged[left->launched[i]])
			left->launched[bare++] = left->launched[i];
	left->count = bare;
	if (do_left(w, first, after, left, to, true))
		return -1;
	left->count = 0;
	return 0;
}

static void add_projected(struct work *w)
{
	uint64_t i;

	for (i = 0; i < w->out->ranges; i++)
		if (w->reach[i].start_ns <= w->reach[i].end_ns)
			row_of(w, (uint32_t)i)->projected_ns +=
				w->reach[i].end_ns - w->reach[i].start_ns;
}

/* Process by process: its threads, then what they leave. */
static int do_processes(struct work *w)
{
	struct left left = {
		.launched = tw_alloc(w->a, (w->launched_count + 1) * sizeof(*left.launched)),
		.charged = tw_alloc_array(w->a, w->d->gpu.count + 1, 1),
	};
	uint32_t place, first = 0;
	uint64_t i;

	w->reach = tw_alloc(w->a, (w->out->ranges + 1) * sizeof(*w->reach));
	if (!left.launched || !left.charged || !w->reach)
		return -1;
	for (i = 0; i < w->out->ranges; i++)
		w->reach[i] = nothing;
	for (place = 0; place < w->places; place++) {
		if (do_thread(w, place, &left))
			return -1;
		if (w->process_at[place + 1] == w->process_at[place])
			continue;
		if (do_process(w, first, place + 1, &left))
			return -1;
		first = place + 1;
	}
	add_projected(w);
	return 0;
}

/* In an export GPU work has a process, whoever launched it. */
static void add_unlaunched(struct work *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	const struct trawl_trace *trace = w->d->trace;
	uint32_t unknown = w->out->process_count - 1, g;

	for (g = 0; g < gpu->count; g++) {
		uint32_t place = w->place[trace->events.track[gpu->event[g]]];
		uint32_t process = trace->by_process ? w->process_at[place] : unknown;

		if (gpu->launch[g] == TW_NONE)
			add_event(w, &rest_row(w, process, false)->self, g);
	}
}

int tw_ranges_build(struct tw_ranges *ranges, const struct tw_derived *derived,
		    const struct trawl_allocator *allocator)
{
	struct work w = {
		.d = derived,
		.a = allocator,
		.out = ranges,
		.places = derived->trace->track_count,
	};

	*ranges = (struct tw_ranges){ 0 };
	if (place_tracks(&w) || list_ranges(&w))
		return -1;
	if (!ranges->ranges)
		return 0;
	if (list_launched(&w) || list_computing(&w) || assign_rows(&w) || do_processes(&w))
		return -1;
	add_unlaunched(&w);
	return 0;
}
