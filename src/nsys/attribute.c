#include "nsys/attribute.h"

#include "base/alloc.h"
#include "base/innermost.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/sort.h"
#include "nsys/capture.h"

#define NO_THREAD UINT32_MAX
#define NO_KEY UINT32_MAX

#define NO_PROCESS UINT32_MAX /* it has no ranges */

struct work {
	struct tw_nsys_capture *capture;
	const struct trawl_allocator *allocator;
	struct tw_nsys_attribution *attribution;
	uint32_t *moment_order, *marker_order;
	struct tw_interval *spans;
	int64_t *times;
	uint32_t *found;
	size_t marker_count; /* in marker_order: those that can be around a moment */
};

/*
 * When and where a kernel was launched takes the place of its start and correlation, for there may
 * be millions: a time; the process in ranges, and below it the key of its launch, in the end the
 * thread.
 */
static struct tw_nsys_comm *moment(const struct work *w, size_t number)
{
	return &w->capture->kernels.comm.at[w->attribution->list.at[number].comm];
}

static void set_place(struct tw_nsys_comm *moment, uint32_t process, uint32_t key_or_thread)
{
	moment->correlation = (int64_t)((uint64_t)process << 32 | key_or_thread);
}

static uint32_t process_of(const struct tw_nsys_comm *moment)
{
	return (uint32_t)((uint64_t)moment->correlation >> 32);
}

/* ---- launches */

static bool want_launches(struct work *w)
{
	struct tw_nsys_capture *c = w->capture;
	struct tw_nsys_kernels *k = &c->kernels;
	bool calls = tw_database_has_table(c->source->database, TW_NSYS_CALLS);
	uint32_t key, process;
	size_t i, n = 0;

	for (i = 0; i < k->comm.count; i++) {
		struct tw_nsys_comm *comm = &k->comm.at[i];
		const struct tw_nsys_stream *s = &k->streams.at[comm->stream];
		const struct tw_nsys_rank *rank = &c->ranks.at[c->rank_of_window[s->window]];

		if (s->compute_count)
			continue;
		key = NO_KEY;
		if (comm->linked && calls) {
			key = tw_nsys_launches_want(&c->launches, rank->process, comm->correlation);
			if (key == NO_KEY)
				return false;
		}
		process = tw_ids_get(&c->ranges.process_ids, rank->process);
		set_place(comm, process, key);
		w->attribution->list.at[n++].comm = (uint32_t)i;
	}
	w->attribution->list.count = n;
	return true;
}

/* Of the calls of a key the earliest launch, else the earliest. */
static bool is_better(const struct tw_nsys_launch *call, const struct tw_nsys_launch *best)
{
	if (call->is_launch != best->is_launch)
		return call->is_launch;
	return call->start_ns < best->start_ns;
}

static bool set_moments(struct work *w)
{
	const struct tw_nsys_launches *l = &w->capture->launches;
	uint32_t *best = tw_alloc_array(w->allocator, l->keys.count + 1, sizeof(*best));
	size_t i;

	if (!best)
		return false;
	for (i = 0; i < l->calls.count; i++) {
		uint32_t *of = &best[l->calls.at[i].key];

		if (!*of || is_better(&l->calls.at[i], &l->calls.at[*of - 1]))
			*of = (uint32_t)i + 1;
	}
	for (i = 0; i < w->attribution->list.count; i++) {
		struct tw_nsys_comm *m = moment(w, i);
		uint32_t key = (uint32_t)m->correlation, call = key == NO_KEY ? 0 : best[key];

		set_place(m, process_of(m), call ? l->calls.at[call - 1].tid : NO_THREAD);
		if (call)
			m->gpu_start_ns = l->calls.at[call - 1].start_ns;
		else
			w->attribution->without_launch++;
	}
	return true;
}

/* ---- markers around moments, thread by thread, then process by process */

static uint64_t moment_time(const void *context, uint32_t number)
{
	return tw_sort_key(moment(context, number)->gpu_start_ns);
}

static uint64_t moment_thread(const void *context, uint32_t number)
{
	return (uint64_t)moment(context, number)->correlation;
}

static uint64_t moment_process(const void *context, uint32_t number)
{
	return process_of(moment(context, number));
}

static const struct tw_nsys_marker *marker(const void *context, uint32_t number)
{
	return &((const struct work *)context)->capture->ranges.markers.at[number];
}

static uint64_t marker_start(const void *context, uint32_t number)
{
	return tw_sort_key(marker(context, number)->start_ns);
}

static uint64_t marker_thread(const void *context, uint32_t number)
{
	return (uint64_t)marker(context, number)->process << 32 | marker(context, number)->tid;
}

static uint64_t marker_process(const void *context, uint32_t number)
{
	return marker(context, number)->process;
}

/* The markers and moments of one thread or process: those with the same key. */
static int match_group(struct work *w, size_t first_marker, size_t last_marker, size_t first_moment,
		       size_t last_moment)
{
	size_t i, n = 0;

	/* Each thread's are often in order already. */
	if (tw_sort(w->moment_order + first_moment, last_moment - first_moment, moment_time, w,
		    w->allocator) ||
	    tw_sort(w->marker_order + first_marker, last_marker - first_marker, marker_start, w,
		    w->allocator))
		return -1;
	for (i = first_marker; i < last_marker; i++) {
		const struct tw_nsys_marker *m = marker(w, w->marker_order[i]);

		w->spans[i - first_marker] = (struct tw_interval){ m->start_ns, m->end_ns };
	}
	for (i = first_moment; i < last_moment; i++)
		w->times[n++] = moment(w, w->moment_order[i])->gpu_start_ns;
	if (tw_innermost(w->spans, (uint32_t)(last_marker - first_marker), w->times, n, w->found,
			 w->allocator))
		return -1;
	for (i = first_moment; i < last_moment; i++) {
		uint32_t found = w->found[i - first_moment];

		if (found != TW_INNERMOST_NONE)
			w->attribution->list.at[w->moment_order[i]].mark =
				marker(w, w->marker_order[first_marker + found])->mark;
	}
	return 0;
}

static int match_all(struct work *w, size_t moments, tw_sort_key_of *moment_key,
		     tw_sort_key_of *marker_key)
{
	const uint32_t *markers = w->marker_order;
	size_t first, last = 0, begin, end;

	if (tw_sort(w->moment_order, moments, moment_key, w, w->allocator) ||
	    tw_sort(w->marker_order, w->marker_count, marker_key, w, w->allocator))
		return -1;
	for (first = 0; first < moments; first = last) {
		uint64_t key = moment_key(w, w->moment_order[first]);

		while (last < moments && moment_key(w, w->moment_order[last]) == key)
			last++;
		begin = TW_LOWER_BOUND(at, 0, w->marker_count, marker_key(w, markers[at]) < key);
		end = TW_LOWER_BOUND(at, begin, w->marker_count, marker_key(w, markers[at]) <= key);
		if (begin < end && match_group(w, begin, end, first, last))
			return -1;
	}
	return 0;
}

/* Markers that have a part in the time between the first and the last moment. */
static void select_markers(struct work *w)
{
	const struct tw_nsys_ranges *r = &w->capture->ranges;
	int64_t first = INT64_MAX, last = INT64_MIN;
	size_t i;

	for (i = 0; i < w->attribution->list.count; i++) {
		int64_t time_ns = moment(w, i)->gpu_start_ns;

		if (time_ns < first)
			first = time_ns;
		if (time_ns > last)
			last = time_ns;
	}
	for (i = 0; i < r->markers.count; i++)
		if (r->markers.at[i].start_ns <= last && r->markers.at[i].end_ns >= first)
			w->marker_order[w->marker_count++] = (uint32_t)i;
}

static int match(struct work *w)
{
	size_t count = w->attribution->list.count, left = 0, i;

	select_markers(w);
	for (i = 0; i < count; i++)
		w->moment_order[i] = (uint32_t)i;
	if (match_all(w, count, moment_thread, marker_thread))
		return -1;
	for (i = 0; i < count; i++)
		if (!w->attribution->list.at[i].mark)
			w->moment_order[left++] = (uint32_t)i;
	return left ? match_all(w, left, moment_process, marker_process) : 0;
}

static bool allocate(struct work *w, size_t most)
{
	size_t markers = w->capture->ranges.markers.count + 1;

	w->moment_order = tw_alloc_array(w->allocator, most, sizeof(*w->moment_order));
	w->times = tw_alloc_array(w->allocator, most, sizeof(*w->times));
	w->found = tw_alloc_array(w->allocator, most, sizeof(*w->found));
	w->marker_order = tw_alloc_array(w->allocator, markers, sizeof(*w->marker_order));
	w->spans = tw_alloc_array(w->allocator, markers, sizeof(*w->spans));
	return w->moment_order && w->times && w->found && w->marker_order && w->spans;
}

/* Kernels on streams that compute nothing. */
static size_t count_kernels(const struct tw_nsys_kernels *k)
{
	size_t count = 0, i;

	for (i = 0; i < k->comm.count; i++)
		count += !k->streams.at[k->comm.at[i].stream].compute_count;
	return count;
}

static int read_launches(struct work *w, struct trawl_error *err)
{
	struct tw_nsys_capture *c = w->capture;
	bool wanted = c->launches.keys.count > 0;
	int status;

	status = wanted ? tw_nsys_launches_read(&c->launches, c->source, err) : 0;
	return status ? status : tw_nsys_capture_end(c, false, !wanted, err);
}

static int attribute(struct work *w, size_t most, struct trawl_error *err)
{
	struct tw_nsys_capture *c = w->capture;
	int status;

	if (!allocate(w, most) || !want_launches(w))
		return tw_no_memory(err);
	status = read_launches(w, err);
	if (status)
		return status;
	if (!set_moments(w))
		return tw_no_memory(err);
	/* Room for what sorting needs. */
	tw_nsys_launches_release(&c->launches);
	return match(w) ? tw_no_memory(err) : 0;
}

int tw_nsys_attribute(struct tw_nsys_capture *c, struct trawl_error *err)
{
	size_t most = count_kernels(&c->kernels) + 1;
	struct tw_scope scope;
	struct work w = { .capture = c,
			  .allocator = &scope.allocator,
			  .attribution = &c->attribution };
	int status;

	w.attribution->list.at =
		tw_alloc_array(c->source->allocator, most, sizeof(*w.attribution->list.at));
	if (!w.attribution->list.at)
		return tw_no_memory(err);
	tw_scope_begin(&scope, c->source->allocator);
	status = attribute(&w, most, err);
	tw_scope_end(&scope);
	return status;
}
