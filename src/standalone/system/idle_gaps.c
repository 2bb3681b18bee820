#include "standalone/system/idle_gaps.h"

#include "analysis/launches/host_names.h"
#include "analysis/launches/overlap.h"
#include "base/alloc.h"
#include "base/list.h"
#include "findings/findings.h"

const struct tw_idle_cause_info tw_idle_cause_known[TW_IDLE_CAUSES] = {
	[TW_IDLE_LAUNCH_BOUND] = { "launch_bound", "Launch bound",
				   "the host launched the next work too late" },
	[TW_IDLE_SYNCHRONISATION] = { "synchronisation", "Synchronisation",
				      "the host waited for the GPU, and launched again only then" },
	[TW_IDLE_DATA_WAIT] = { "data_wait", "Data wait",
				"the host was making or copying input data" },
	[TW_IDLE_GRAPH_GAP] = { "graph_gap", "Graph gap",
				"inside a GPU graph that had been launched already" },
	[TW_IDLE_QUEUED] = { "queued_work", "Queued work",
			     "the next work had been launched in time and started late" },
	[TW_IDLE_UNKNOWN] = { "unknown", "Unknown", "no launch is recorded for what follows" },
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_idle_gaps *gaps;
	struct tw_host_names names;
	struct tw_stretches waiting, loading;
	uint64_t next;	 /* GPU event to look at */
	uint32_t before; /* of those looked at, the one that ends last */
};

/* The call that ends a gap, on the clock of the trace. */
struct launch {
	uint64_t event;
	uint32_t track;
	int64_t start_ns, end_ns;
};

static bool is_counted(const struct work *w, uint64_t g)
{
	return !w->in->options->linked_only || w->in->derived->gpu.launch[g] != TW_NONE;
}

/* Moves on to the first event that starts at `to`, or behind it. */
static void find_neighbours(struct work *w, int64_t from_ns, int64_t to_ns, struct tw_gap *gap)
{
	const struct tw_derived *d = w->in->derived;
	const struct tw_gpu *gpu = &d->gpu;

	for (; w->next < gpu->count && gpu->start_ns[w->next] < to_ns; w->next++)
		if (is_counted(w, w->next) && gpu->end_ns[w->next] <= from_ns &&
		    (w->before == TW_NONE || gpu->end_ns[w->next] >= gpu->end_ns[w->before]))
			w->before = (uint32_t)w->next;
	while (w->next < gpu->count && !is_counted(w, w->next))
		w->next++;
	gap->before = gap->after = TW_NONE;
	/* At the edges of a window what came before, and what follows, belong to another time. */
	if (w->before != TW_NONE && gpu->end_ns[w->before] == from_ns &&
	    tw_view_real_end(&d->view, from_ns - 1, from_ns) == gap->start_ns)
		gap->before = w->before;
	if (w->next < gpu->count && gpu->start_ns[w->next] == to_ns &&
	    tw_view_real_start(&d->view, to_ns) == gap->start_ns + gap->dur_ns)
		gap->after = (uint32_t)w->next;
}

static bool is_copy(const struct work *w, uint32_t g)
{
	return g != TW_NONE && w->in->derived->gpu.bucket[g] == TW_COPY;
}

static bool is_input_copy(const struct work *w, uint32_t g)
{
	return is_copy(w, g) && tw_copy_direction_of(w->in->derived, g) == TW_COPY_H2D;
}

/* Whether the device took longer from the call to the start than such a call takes. */
static bool started_late(int64_t delay_ns)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_launch_delay_us] = (double)delay_ns / 1000;
	return tw_level_is_yes("launch_delay", &facts);
}

static struct launch launch_of(const struct tw_derived *d, uint32_t node)
{
	const struct tw_events *events = &d->trace->events;
	struct launch l = { .event = d->host.event[node] };

	l.track = events->track[l.event];
	l.start_ns = events->start_ns[l.event];
	l.end_ns = l.start_ns + (events->phase[l.event] == 'X' ? events->dur_ns[l.event] : 0);
	return l;
}

/* Whether the launching thread was held until the GPU had done something, when the gap began. */
static bool was_waiting(const struct work *w, const struct tw_gap *gap, uint32_t track)
{
	const struct tw_derived *d = w->in->derived;
	struct launch copy;

	if (tw_stretches_hold(&w->waiting, track, gap->start_ns))
		return true;
	/* A copy from or to memory that is not pinned holds its call, whatever the call's name. */
	if (!is_copy(w, gap->before) || d->gpu.launch[gap->before] == TW_NONE)
		return false;
	copy = launch_of(d, d->gpu.launch[gap->before]);
	return copy.track == track && copy.end_ns > gap->start_ns;
}

/* Of a gap that a launch ended which began in it: what the host did before. */
static enum tw_idle_cause why_late(const struct work *w, const struct tw_gap *gap,
				   const struct launch *l)
{
	int64_t end_ns = gap->start_ns + gap->dur_ns;
	int64_t until = l->start_ns < end_ns ? l->start_ns : end_ns;
	int64_t loading = tw_stretches_within(&w->loading, l->track, gap->start_ns, until);
	bool waited = was_waiting(w, gap, l->track);

	if (loading > until - gap->start_ns - loading || is_input_copy(w, gap->after) ||
	    (waited && is_input_copy(w, gap->before)))
		return TW_IDLE_DATA_WAIT;
	return waited ? TW_IDLE_SYNCHRONISATION : TW_IDLE_LAUNCH_BOUND;
}

static enum tw_idle_cause cause_of(const struct work *w, const struct tw_gap *gap)
{
	const struct tw_derived *d = w->in->derived;
	int64_t end_ns = gap->start_ns + gap->dur_ns;
	struct launch l;

	if (gap->after == TW_NONE || d->gpu.launch[gap->after] == TW_NONE)
		return TW_IDLE_UNKNOWN;
	l = launch_of(d, d->gpu.launch[gap->after]);
	if (l.start_ns <= gap->start_ns) {
		if (tw_host_kinds(&w->names, l.event) & TW_HOST_GRAPH_LAUNCH)
			return TW_IDLE_GRAPH_GAP;
		if (l.end_ns <= gap->start_ns)
			return TW_IDLE_QUEUED;
	}
	if (end_ns - l.end_ns > l.end_ns - gap->start_ns && started_late(end_ns - l.end_ns))
		return TW_IDLE_QUEUED;
	return l.start_ns > gap->start_ns ? why_late(w, gap, &l) : TW_IDLE_LAUNCH_BOUND;
}

static struct tw_gap *add_gap(struct tw_idle_gaps *gaps)
{
	if (!tw_list_grow(&gaps->items, &gaps->capacity, gaps->count, sizeof(*gaps->items),
			  gaps->allocator)) {
		gaps->failed = true;
		return NULL;
	}
	return &gaps->items[gaps->count++];
}

static void visit(void *context, int64_t from_ns, int64_t to_ns)
{
	struct work *w = context;
	const struct tw_view *view = &w->in->derived->view;
	struct tw_gap *gap = add_gap(w->gaps);
	struct tw_idle_sum *sum;

	if (!gap)
		return;
	gap->start_ns = tw_view_real_start(view, from_ns);
	gap->dur_ns = to_ns - from_ns;
	find_neighbours(w, from_ns, to_ns, gap);
	gap->cause = cause_of(w, gap);
	sum = &w->gaps->sums[gap->cause];
	sum->count++;
	sum->total_ns += gap->dur_ns;
	if (gap->dur_ns > sum->largest_ns)
		sum->largest_ns = gap->dur_ns;
}

int tw_idle_gaps_init(struct tw_idle_gaps *gaps, const struct tw_analysis_input *in)
{
	struct work w = { .in = in, .gaps = gaps, .before = TW_NONE };
	int status = TRAWL_ENOMEM;

	*gaps = (struct tw_idle_gaps){ .allocator = in->allocator };
	if (!tw_host_names_init(&w.names, in->trace, in->allocator) &&
	    !tw_stretches_init(&w.waiting, &w.names, TW_HOST_SYNCHRONISING) &&
	    !tw_stretches_init(&w.loading, &w.names, TW_HOST_DATA_LOADING) &&
	    !tw_timeline_gaps(in->derived, in->options->linked_only, visit, &w) && !gaps->failed)
		status = 0;
	tw_stretches_release(&w.loading);
	tw_stretches_release(&w.waiting);
	tw_host_names_release(&w.names);
	return status;
}

void tw_idle_gaps_release(struct tw_idle_gaps *gaps)
{
	tw_free(gaps->allocator, gaps->items, gaps->capacity * sizeof(*gaps->items));
	gaps->items = NULL;
}
