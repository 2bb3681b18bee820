/*
 * Where the time of the GPU goes: computing, communication and copies that nothing hides, idle.
 *
 * Busy is the union of all GPU events; computing the union of kernels that neither communicate
 * nor copy; exposed communication what of the union of communication lies outside computing;
 * exposed copies what lies outside both.  Idle is the rest of the total.  The total runs from the
 * first start to the last end, or over the windows of a view.  In a view by launch what other work
 * does in them is apart, neither busy nor idle.  Source: the definitions of TraceLens' gpu_timeline.
 */
#include "analysis/analysis.h"

#include "base/scope.h"

struct sets {
	struct tw_intervals buckets[TW_BUCKETS];
	struct tw_intervals busy, span, exposed, rest, gaps, others, other_alone;
};

static void sets_init(struct sets *s, const struct trawl_allocator *allocator)
{
	struct tw_intervals *all = &s->buckets[0];
	size_t i;

	for (i = 0; i < sizeof(*s) / sizeof(*all); i++)
		tw_intervals_init(&all[i], allocator);
}

static bool sets_failed(const struct sets *s)
{
	const struct tw_intervals *all = &s->buckets[0];
	bool failed = false;
	size_t i;

	for (i = 0; i < sizeof(*s) / sizeof(*all); i++)
		failed |= all[i].failed;
	return failed;
}

/*
 * The stretch that counts as total: windows of the view, without open ends, else the busy span.
 * Where nothing is busy an open end is that of what was recorded.
 */
static void find_span(const struct tw_derived *d, struct sets *s)
{
	const struct tw_intervals *windows = &d->view.windows;
	int64_t first, last;
	size_t i;

	if (!s->busy.count && !d->view.limited)
		return;
	first = s->busy.count ? s->busy.items[0].start_ns : d->view.recorded.start_ns;
	last = s->busy.count ? s->busy.items[s->busy.count - 1].end_ns : d->view.recorded.end_ns;
	if (!d->view.limited) {
		tw_intervals_add(&s->span, first, last);
		return;
	}
	for (i = 0; i < windows->count; i++) {
		struct tw_interval w = windows->items[i];

		w.start_ns -= d->view.skipped_ns[i];
		w.end_ns -= d->view.skipped_ns[i];
		if (w.start_ns <= INT64_MIN / 4)
			w.start_ns = first;
		if (w.end_ns >= INT64_MAX / 4)
			w.end_ns = last;
		if (w.start_ns < w.end_ns)
			tw_intervals_add(&s->span, w.start_ns, w.end_ns);
	}
}

/* A gap ends where its window does, though the clock of the view runs on there. */
static void visit_gaps(const struct tw_view *view, const struct tw_intervals *gaps,
		       tw_visit_gap *visit, void *context)
{
	size_t i, window = 1;

	for (i = 0; i < gaps->count; i++) {
		int64_t from = gaps->items[i].start_ns, to = gaps->items[i].end_ns;

		for (; window < view->windows.count && tw_view_window_start(view, window) < to;
		     window++) {
			int64_t edge = tw_view_window_start(view, window);

			if (edge <= from)
				continue;
			visit(context, from, edge);
			from = edge;
		}
		visit(context, from, to);
	}
}

struct idle {
	struct tw_timeline *timeline;
	int64_t micro_idle_ns;
};

static void add_gap(void *context, int64_t from_ns, int64_t to_ns)
{
	const struct idle *idle = context;

	if (to_ns - from_ns < idle->micro_idle_ns)
		idle->timeline->micro_idle_ns += to_ns - from_ns;
	else
		idle->timeline->macro_idle_ns += to_ns - from_ns;
}

/* What other work there is in the stretch. */
static void fill_others(struct sets *s, const struct tw_derived *d, tw_code device,
			bool linked_only)
{
	const struct tw_gpu *gpu = &d->gpu;
	uint64_t i;

	for (i = 0; i < gpu->other_count; i++) {
		const struct tw_other *other = &gpu->others[i];

		if ((device == TW_CODE_NONE || gpu->queues[other->queue].device == device) &&
		    (other->launched || !linked_only))
			tw_intervals_add(&s->others, other->start_ns, other->end_ns);
	}
	tw_intervals_subtract(&s->others, &s->busy, &s->other_alone);
}

/* The events, and the time that they cover. */
static void fill_sets(struct sets *s, const struct tw_derived *d, const uint32_t *list,
		      uint64_t count, tw_code device, bool linked_only, uint64_t *events)
{
	const struct tw_gpu *gpu = &d->gpu;
	uint64_t i;

	for (i = 0; i < count; i++) {
		uint64_t g = list ? list[i] : i;

		if (linked_only && gpu->launch[g] == TW_NONE)
			continue;
		(*events)++;
		tw_intervals_add(&s->busy, gpu->start_ns[g], gpu->end_ns[g]);
		tw_intervals_add(&s->buckets[gpu->bucket[g]], gpu->start_ns[g], gpu->end_ns[g]);
	}
	find_span(d, s);
	if (!d->gpu.other_count) {
		tw_intervals_subtract(&s->span, &s->busy, &s->gaps);
		return;
	}
	fill_others(s, d, device, linked_only);
	tw_intervals_subtract(&s->span, &s->busy, &s->rest);
	tw_intervals_subtract(&s->rest, &s->other_alone, &s->gaps);
	s->rest.count = 0;
}

static void measure_sets(struct tw_timeline *t, struct sets *s, const struct tw_view *view,
			 int64_t micro_idle_ns)
{
	t->compute_ns = tw_intervals_length(&s->buckets[TW_COMPUTE]);
	t->communication_ns = tw_intervals_length(&s->buckets[TW_COMMUNICATION]);
	t->copy_ns = tw_intervals_length(&s->buckets[TW_COPY]);
	t->busy_ns = tw_intervals_length(&s->busy);
	t->total_ns = tw_intervals_length(&s->span);
	t->other_ns = tw_intervals_length(&s->other_alone);
	t->idle_ns = t->total_ns - t->busy_ns - t->other_ns;
	tw_intervals_subtract(&s->buckets[TW_COMMUNICATION], &s->buckets[TW_COMPUTE], &s->exposed);
	t->exposed_communication_ns = tw_intervals_length(&s->exposed);
	tw_intervals_subtract(&s->buckets[TW_COPY], &s->buckets[TW_COMPUTE], &s->rest);
	s->exposed.count = 0;
	tw_intervals_subtract(&s->rest, &s->buckets[TW_COMMUNICATION], &s->exposed);
	t->exposed_copy_ns = tw_intervals_length(&s->exposed);
	visit_gaps(view, &s->gaps, add_gap, &(struct idle){ t, micro_idle_ns });
}

int tw_timeline_of(struct tw_timeline *out, const struct tw_derived *d, const uint32_t *list,
		   uint64_t count, tw_code device, bool linked_only, int64_t micro_idle_ns)
{
	struct tw_scope scope;
	struct sets s;

	*out = (struct tw_timeline){ 0 };
	tw_scope_begin(&scope, d->allocator);
	sets_init(&s, &scope.allocator);
	fill_sets(&s, d, list, count, device, linked_only, &out->events);
	measure_sets(out, &s, &d->view, micro_idle_ns);
	tw_scope_end(&scope);
	return sets_failed(&s) ? TRAWL_ENOMEM : 0;
}

int tw_timeline_gaps(const struct tw_derived *d, bool linked_only, tw_visit_gap *visit,
		     void *context)
{
	uint64_t events = 0;
	struct tw_scope scope;
	struct sets s;

	tw_scope_begin(&scope, d->allocator);
	sets_init(&s, &scope.allocator);
	fill_sets(&s, d, NULL, d->gpu.count, TW_CODE_NONE, linked_only, &events);
	visit_gaps(&d->view, &s.gaps, visit, context);
	tw_scope_end(&scope);
	return sets_failed(&s) ? TRAWL_ENOMEM : 0;
}

int tw_timeline_exposed(const struct tw_derived *d, bool linked_only, struct tw_intervals *exposed)
{
	uint64_t events = 0;
	struct tw_scope scope;
	struct sets s;

	tw_scope_begin(&scope, d->allocator);
	sets_init(&s, &scope.allocator);
	fill_sets(&s, d, NULL, d->gpu.count, TW_CODE_NONE, linked_only, &events);
	tw_intervals_subtract(&s.buckets[TW_COMMUNICATION], &s.buckets[TW_COMPUTE], exposed);
	tw_scope_end(&scope);
	return sets_failed(&s) || exposed->failed ? TRAWL_ENOMEM : 0;
}

enum { TYPE, TIME, PERCENT };

static const struct trawl_column columns[] = {
	[TYPE] = TW_TEXT(
		"type", 22, "part of the timeline", .over_ranks = TRAWL_KEY,
		.values =
			"!computation_time|exposed_comm_time|exposed_memcpy_time|busy_time|other_work_time|idle_time|micro_idle_time|macro_idle_time|total_time|total_comm_time|total_memcpy_time"),
	[TIME] = TW_MS(TW_COL_TIME_MS, 14, "duration", .over_ranks = TRAWL_TIME, .values = "!>=0"),
	[PERCENT] = TW_PERCENT_1("percent", 10, "share of total_time", .over_ranks = TRAWL_SHARE,
				 .values = ">=0"),
};

void tw_add_timeline_rows(struct trawl_table *table, size_t column, const struct tw_timeline *t,
			  bool by_launch, bool split_idle)
{
	const struct {
		const char *type;
		int64_t ns;
		bool shown;
	} rows[] = {
		{ "computation_time", t->compute_ns, true },
		{ "exposed_comm_time", t->exposed_communication_ns, true },
		{ "exposed_memcpy_time", t->exposed_copy_ns, true },
		{ "busy_time", t->busy_ns, true },
		{ "other_work_time", t->other_ns, by_launch },
		{ "idle_time", t->idle_ns, !split_idle },
		{ "micro_idle_time", t->micro_idle_ns, split_idle },
		{ "macro_idle_time", t->macro_idle_ns, split_idle },
		{ "total_time", t->total_ns, true },
		{ "total_comm_time", t->communication_ns, true },
		{ "total_memcpy_time", t->copy_ns, true },
	};
	size_t i, row;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].shown)
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, column + TYPE, rows[i].type);
		tw_table_set_integer(table, row, column + TIME, rows[i].ns);
		tw_set_percent(table, row, column + PERCENT, (double)rows[i].ns,
			       (double)t->total_ns);
	}
}

static int run_gpu_timeline(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_report_options *options = in->options;
	const struct tw_timeline *t = in->timeline;

	if (!t->events && !in->derived->view.limited)
		return 0;
	tw_add_timeline_rows(table, TYPE, t, in->derived->steps.by_launch,
			     options->micro_idle_ns >= 0);
	if (options->linked_only && t->events < in->derived->gpu.count)
		tw_table_add_note(table,
				  "%llu of %llu GPU events have no matching launch: not counted "
				  "(--linked-only)",
				  (unsigned long long)(in->derived->gpu.count - t->events),
				  (unsigned long long)in->derived->gpu.count);
	return 0;
}

const struct tw_analysis tw_analysis_gpu_timeline = {
	TW_TABLE("gpu_timeline", "GPU time, all devices combined", columns, .in_order = true),
	.needs = TW_NEEDS_GPU,
	.run = run_gpu_timeline,
};
