/*
 * The profiler's steps: by launch the GPU work of each, whenever it ran, beside it what ran in its
 * time; its host, FLOPs, memory and tokens; and the step that stands out.
 */
#include "analysis/who/odd_step.h"

#include "analysis/who/span_table.h"
#include "base/alloc.h"
#include "base/median.h"
#include "data/limits.h"

#include <math.h>
#include <string.h>

enum {
	NAME,
	STEP,
	START,
	WALL,
	SPAN_COLUMNS,
	BY_TIME = SPAN_COLUMNS + TW_SPAN_COLUMNS,
	HOST = BY_TIME + TW_BUSY_COLUMNS,
	WAITING,
	GFLOP,
	COVERED,
	MFU,
	ALLOCATED,
	TOKENS,
	ODD,
};

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 24,
			 "ProfilerStep#N; (outside): in the time of no step, (launched outside): "
			 "by calls in no step, (no launch): no matching launch",
			 .over_ranks = TRAWL_KEY, .values = "!"),
	[STEP] = TW_INTEGER("step", 8, "its number", .over_ranks = TRAWL_SAME),
	[START] = TW_US("host start (µs)", 20, "start on the host, trace clock"),
	[WALL] = TW_MS("wall (ms)", 14,
		       "time to the next step of the process; of the last one to its own end",
		       .over_ranks = TRAWL_MAX, .values = ">=0"),
	TW_SPAN_COLUMN_LIST(SPAN_COLUMNS, TRAWL_TIME, TRAWL_TOTAL),
	TW_BUSY_COLUMN_LIST(BY_TIME, " by time (ms)", "in its time", TRAWL_NOT_SUMMED, TRAWL_TOTAL,
			    TRAWL_NOT_SUMMED),
	[HOST] = TW_MS("host (ms)", 14, "operators and calls on its thread, in its time",
		       .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[WAITING] = TW_MS("waiting (ms)", 14,
			  "calls on its thread that wait for the GPU (synchronization)",
			  .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[GFLOP] = TW_REAL("GFLOP", "GFLOP", 3, 14,
			  "floating-point operations of the operators launched in it, as far as "
			  "known, in 10^9",
			  .over_ranks = TRAWL_SHARE, .values = ">=0"),
	[COVERED] = TW_PERCENT_1("FLOPs known (%)", 10,
				 "part of the time of its computing kernels, and of those with no "
				 "matching launch from its first start to its last end, under "
				 "operators with a FLOP estimate",
				 .over_ranks = TRAWL_SHARE, .values = "0..100"),
	[MFU] = TW_PERCENT_1("MFU (%)", 10,
			     "FLOPs by precision over the dense peak of that precision, of its "
			     "wall time; empty where less than " TW_LIMIT_TEXT(
				     TW_LIMIT_MFU_COVERED_PERCENT) " % has a FLOP estimate",
			     .over_ranks = TRAWL_SHARE, .values = ">=0"),
	[ALLOCATED] = TW_INTEGER("max allocated (bytes)", 18,
				 "largest Total Allocated of a device recorded in its time",
				 .over_ranks = TRAWL_MAX, .values = ">=0"),
	[TOKENS] = TW_INTEGER("tokens", 10, "of the inference steps that start in it (phases)",
			      .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[ODD] = TW_TEXT("odd", 60, "of the step that stands out: by what, and what differs"),
};

/* What does not come from GPU events and host events. */
struct extra {
	int64_t allocated, tokens; /* -1: not recorded, -2: not known of all */
};

/* ---- memory and tokens */

static const char memory_event[] = "[memory]";

static int64_t device_memory(const struct trawl_trace *trace, uint64_t event)
{
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	int64_t allocated = -1, device = 0;
	struct tw_arg_keys keys = { 0 };
	struct trawl_argument arg;

	tw_arg_keys_add(&keys, TW_KEY_total_allocated);
	tw_arg_keys_add(&keys, TW_KEY_device_type);
	while (at && tw_args_seek(&trace->args, &at, &keys) &&
	       tw_args_next(&trace->args, &at, &arg))
		if (arg.kind == TRAWL_VALUE_INTEGER)
			*(arg.key == TW_KEY_device_type ? &device : &allocated) = arg.integer;
	return device ? allocated : -1; /* 0: the host */
}

static void find_allocated(const struct tw_when *when, struct extra *extra)
{
	const struct trawl_trace *trace = when->trace;
	const struct tw_events *e = &trace->events;
	uint32_t name = tw_pool_find(&trace->texts, memory_event, sizeof(memory_event) - 1);
	uint64_t i;

	for (i = 0; i < e->count && name; i++) {
		int64_t bytes;
		uint32_t step;

		if (e->name[i] != name || e->start_ns[i] == TRAWL_TIME_NONE)
			continue;
		step = tw_span_at(&when->steps, trace, (uint32_t)i);
		if (step == TW_NONE)
			continue;
		bytes = device_memory(trace, i);
		if (bytes > extra[step].allocated)
			extra[step].allocated = bytes;
	}
}

static void find_tokens(const struct tw_when *when, struct extra *extra)
{
	const struct trawl_trace *trace = when->trace;
	uint64_t i;

	for (i = 0; i < when->served.count; i++) {
		const struct tw_span *span = &when->served.items[i];
		uint32_t step = tw_span_at(&when->steps, trace, span->event);
		int64_t tokens = tw_served_tokens(&when->serving[i]);

		if (step == TW_NONE || extra[step].tokens == -2)
			continue;
		if (extra[step].tokens < 0)
			extra[step].tokens = 0;
		if (tokens < 0 ||
		    __builtin_add_overflow(extra[step].tokens, tokens, &extra[step].tokens))
			extra[step].tokens = -2;
	}
}

/* ---- the table */

static void add_step_row(const struct tw_analysis_input *in, struct trawl_table *table,
			 const struct tw_spans_work *work, uint32_t i, const struct extra *extra)
{
	const struct tw_span *span = &in->when->steps.items[i];
	const struct tw_span_work *w = &work->items[i];
	int64_t wall_ns = span->end_ns - span->start_ns;
	size_t row = tw_table_add_row(table);

	tw_set_name(table, row, NAME, in->trace, in->trace->events.name[span->event]);
	tw_table_set_integer(table, row, STEP, tw_step_of(in->trace, span->event));
	tw_table_set_integer(table, row, START, span->start_ns);
	tw_table_set_integer(table, row, WALL, wall_ns);
	tw_set_span_work(table, row, SPAN_COLUMNS, in->derived, w, span, work->has_launches);
	tw_set_span_during(table, row, BY_TIME, w);
	tw_table_set_integer(table, row, HOST, w->host_ns);
	tw_table_set_integer(table, row, WAITING, w->waiting_ns);
	if (w->counted_ns)
		tw_table_set_real(table, row, GFLOP, w->flops / 1e9);
	if (work->has_launches)
		tw_set_percent(table, row, COVERED, (double)w->counted_ns,
			       (double)w->compute_ns + (double)w->unlinked_ns);
	tw_table_set_real(table, row, MFU, tw_span_mfu(w, wall_ns));
	if (extra->allocated >= 0)
		tw_table_set_integer(table, row, ALLOCATED, extra->allocated);
	if (extra->tokens >= 0)
		tw_table_set_integer(table, row, TOKENS, extra->tokens);
}

/* ---- the odd ones, and the notes that the summary has */

static uint32_t row_of(const struct tw_spans_work *work, uint32_t span)
{
	uint32_t i, row = 0;

	for (i = 0; i < span; i++)
		row += tw_is_span_in_view(&work->items[i]);
	return row;
}

static int add_odd(const struct tw_analysis_input *in, struct trawl_table *table,
		   const struct tw_spans_work *work)
{
	enum tw_odd_by by;
	int status = 0;

	for (by = work->has_launches ? 0 : TW_ODD_BY_WALL; by < TW_ODD_BYS && !status; by++) {
		struct tw_odd_step odd;
		struct tw_str text;
		size_t row;

		status = tw_odd_step_find(&odd, by, in->when, work, in->allocator);
		if (status || odd.span == TW_NONE)
			continue;
		tw_str_init(&text, in->allocator);
		row = row_of(work, odd.span);
		/* By both: the first says what differs. */
		if (trawl_table_cell(table, row, ODD).state != TRAWL_CELL_VALUE) {
			status = tw_odd_step_describe(&text, &odd, by, in, work) || text.failed;
			if (!status) {
				tw_table_set_text(table, row, ODD, text.ptr, text.len);
				tw_table_add_note(table, "step %lld is odd: %s",
						  (long long)tw_step_of(
							  in->trace,
							  in->when->steps.items[odd.span].event),
						  text.ptr);
			}
		}
		tw_str_release(&text);
	}
	return status ? -1 : 0;
}

struct summary {
	int64_t *walls; /* of those that are compared */
	double *mfus;
	size_t count, compared, mfu_count;
	int64_t first, last, shortest_ns, longest_ns;
};

/* Wall times without those of last steps, which end with their own annotation, unless there are no others. */
static void take_walls(struct summary *s, const struct tw_spans *steps,
		       const struct tw_spans_work *work, bool last)
{
	uint64_t i;

	s->shortest_ns = INT64_MAX;
	for (i = 0; i < steps->count; i++) {
		int64_t wall_ns = steps->items[i].end_ns - steps->items[i].start_ns;

		if (!tw_is_span_in_view(&work->items[i]) || (steps->items[i].last && !last))
			continue;
		s->walls[s->compared++] = wall_ns;
		s->shortest_ns = wall_ns < s->shortest_ns ? wall_ns : s->shortest_ns;
		s->longest_ns = wall_ns > s->longest_ns ? wall_ns : s->longest_ns;
	}
}

static void summarise(struct summary *s, const struct tw_analysis_input *in,
		      const struct tw_spans_work *work)
{
	const struct tw_spans *steps = &in->when->steps;
	uint64_t i;

	for (i = 0; i < steps->count; i++) {
		const struct tw_span *step = &steps->items[i];
		int64_t number = tw_step_of(in->trace, step->event);
		double mfu = tw_span_mfu(&work->items[i], step->end_ns - step->start_ns);

		if (!tw_is_span_in_view(&work->items[i]))
			continue;
		s->first = s->count && s->first < number ? s->first : number;
		s->last = s->count && s->last > number ? s->last : number;
		if (!isnan(mfu))
			s->mfus[s->mfu_count++] = mfu;
		s->count++;
	}
	take_walls(s, steps, work, false);
	if (!s->compared)
		take_walls(s, steps, work, true);
}

/* "4 steps (15-18) without the last: median 102.1 ms (101.9 to 104.5), MFU 31.2 % (peaks: MI300X)" */
static void add_summary(const struct tw_analysis_input *in, struct trawl_table *table,
			const struct tw_spans_work *work)
{
	size_t n = in->when->steps.count + 1;
	struct summary s = { .walls = tw_alloc(in->allocator, n * sizeof(*s.walls)),
			     .mfus = tw_alloc(in->allocator, n * sizeof(*s.mfus)) };
	struct tw_str text;

	tw_str_init(&text, in->allocator);
	if (!s.walls || !s.mfus)
		return;
	summarise(&s, in, work);
	tw_str_addf(&text, "%zu step%s (%lld", s.count, s.count == 1 ? "" : "s",
		    (long long)s.first);
	if (s.last > s.first)
		tw_str_addf(&text, "-%lld", (long long)s.last);
	tw_str_addf(&text, ")%s: %s", s.compared < s.count ? " without the last" : "",
		    s.compared > 1 ? "median " : "");
	tw_str_add_real_fixed(&text, (double)tw_twice_the_median(s.walls, s.compared) / 2e6, 3);
	tw_str_add_cstr(&text, " ms");
	if (s.compared > 1) {
		tw_str_add_cstr(&text, " (");
		tw_str_add_real_fixed(&text, (double)s.shortest_ns / 1e6, 3);
		tw_str_add_cstr(&text, " to ");
		tw_str_add_real_fixed(&text, (double)s.longest_ns / 1e6, 3);
		tw_str_add_cstr(&text, ")");
	}
	if (s.mfu_count) {
		tw_str_add_cstr(&text, ", MFU ");
		tw_str_add_real_fixed(&text, tw_real_median(s.mfus, s.mfu_count), 1);
		tw_str_addf(&text, " %% (peaks: %s)", in->platform ? in->platform->name : "");
	}
	if (s.count && !text.failed)
		tw_table_add_note(table, "%s", text.ptr);
	tw_str_release(&text);
}

static int run_steps(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_when *when = in->when;
	struct tw_spans_work work;
	struct extra *extra;
	uint32_t i;

	if (!when->steps.count)
		return 0;
	extra = tw_alloc(in->allocator, when->steps.count * sizeof(*extra));
	if (!extra || tw_spans_measure(&work, in, &when->steps, when->step) ||
	    tw_spans_measure_host(&work, in, &when->steps) ||
	    tw_spans_measure_flops(&work, in, when->step))
		return TRAWL_ENOMEM;
	for (i = 0; i < when->steps.count; i++)
		extra[i] = (struct extra){ -1, -1 };
	find_allocated(when, extra);
	find_tokens(when, extra);
	for (i = 0; i < when->steps.count; i++)
		if (tw_is_span_in_view(&work.items[i]))
			add_step_row(in, table, &work, i, &extra[i]);
	add_summary(in, table, &work);
	if (add_odd(in, table, &work))
		return TRAWL_ENOMEM;
	tw_add_rest_rows(table, in->derived, &work,
			 &(struct tw_rest_columns){ NAME, SPAN_COLUMNS, BY_TIME });
	return 0;
}

const struct tw_analysis tw_analysis_steps = {
	TW_TABLE("steps",
		 "profiler steps: the GPU work that each launched, what ran in its time, "
		 "its host, FLOPs, memory and tokens",
		 columns, .in_order = true),
	.needs = TW_NEEDS_MODELS,
	.run = run_steps,
};
