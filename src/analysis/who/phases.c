/*
 * Steps of inference servers, by their annotations: what each serves, and its GPU work by launch and by
 * time; by phase, their sums.
 */
#include "analysis/who/span_table.h"

#include "base/alloc.h"
#include "base/median.h"
#include "derive/when.h"

#include <string.h>

/* What a step serves, from a first column on; in the order of `served_of`. */
enum {
	SERVED_CONTEXT,
	SERVED_GENERATION,
	SERVED_READ,
	SERVED_WRITTEN,
	SERVED_TOKENS,
	SERVED_COLUMNS
};

#define SERVED_COLUMN_LIST(first, total)                                                         \
	[(first) + SERVED_CONTEXT] = TW_INTEGER("prefill requests", 10,                          \
						"requests whose prompt it reads",                \
						.over_ranks = (total), .values = ">=0"),         \
		   [(first) + SERVED_GENERATION] =                                               \
			   TW_INTEGER("decode requests", 10, "requests that it writes for",      \
				      .over_ranks = (total), .values = ">=0"),                   \
		   [(first) + SERVED_READ] = TW_INTEGER("prefill tokens", 12,                    \
							"new tokens of the former",              \
							.over_ranks = (total), .values = ">=0"), \
		   [(first) + SERVED_WRITTEN] =                                                  \
			   TW_INTEGER("decode tokens", 12, "new tokens of the latter",           \
				      .over_ranks = (total), .values = ">=0"),                   \
		   [(first) + SERVED_TOKENS] = TW_INTEGER("tokens", 12, "new tokens of both",    \
							  .over_ranks = (total), .values = ">=0")

#define RATE_COLUMN(share)                                                           \
	TW_REAL(TW_COL_TOKENS_PER_S, "1/s", 1, 12, "tokens per second of busy time", \
		.over_ranks = (share), .values = ">=0")

/* -1: not known, and stays so in sums. */
static void add_served(int64_t *sums, const struct tw_served_step *step)
{
	const int64_t values[SERVED_COLUMNS] = {
		[SERVED_CONTEXT] = step->context[TW_SERVED],
		[SERVED_GENERATION] = step->generation[TW_SERVED],
		[SERVED_READ] = step->context[TW_SERVED_SQ],
		[SERVED_WRITTEN] = step->generation[TW_SERVED_SQ],
		[SERVED_TOKENS] = tw_served_tokens(step),
	};
	int i;

	for (i = 0; i < SERVED_COLUMNS; i++)
		if (sums[i] >= 0 &&
		    (values[i] < 0 || __builtin_add_overflow(sums[i], values[i], &sums[i])))
			sums[i] = -1;
}

static void set_served(struct trawl_table *table, size_t row, size_t first, const int64_t *sums)
{
	int i;

	for (i = 0; i < SERVED_COLUMNS; i++)
		if (sums[i] >= 0)
			tw_table_set_integer(table, row, first + (size_t)i, sums[i]);
}

static void set_rate(struct trawl_table *table, size_t row, size_t column, const int64_t *sums,
		     int64_t busy_ns)
{
	if (sums[SERVED_TOKENS] >= 0 && busy_ns > 0)
		tw_table_set_real(table, row, column,
				  (double)sums[SERVED_TOKENS] * 1e9 / (double)busy_ns);
}

/* ---- one by one */

enum {
	NAME,
	FAMILY,
	PHASE,
	START,
	WALL,
	SERVED,
	SPAN_COLUMNS = SERVED + SERVED_COLUMNS,
	BY_TIME = SPAN_COLUMNS + TW_SPAN_COLUMNS,
	HOST = BY_TIME + TW_BUSY_COLUMNS,
	WAITING,
	RATE
};

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 40,
			 "annotation; (outside): in the time of none, (launched outside): by calls "
			 "in none, (no launch): no matching launch",
			 .values = "!"),
	[FAMILY] = TW_TEXT("family", 12, "program that writes such annotations"),
	[PHASE] = TW_TEXT("phase", 12, "what it does with its requests",
			  .values = "prefill|decode|mixed|diffusion"),
	[START] = TW_US("host start (µs)", 20, "start on the host, trace clock"),
	[WALL] = TW_MS("wall (ms)", 14, "duration on the host", .values = ">=0"),
	SERVED_COLUMN_LIST(SERVED, TRAWL_NOT_SUMMED),
	/* Over ranks phases_summary has their sums. */
	TW_SPAN_COLUMN_LIST(SPAN_COLUMNS, TRAWL_NOT_SUMMED, TRAWL_NOT_SUMMED),
	TW_BUSY_COLUMN_LIST(BY_TIME, " by time (ms)", "in its time", TRAWL_NOT_SUMMED,
			    TRAWL_NOT_SUMMED, TRAWL_NOT_SUMMED),
	[HOST] = TW_MS("host (ms)", 14, "operators and calls on its thread, in its time",
		       .values = ">=0"),
	[WAITING] = TW_MS("waiting (ms)", 14,
			  "calls on its thread that wait for the GPU (synchronization)",
			  .values = ">=0"),
	[RATE] = RATE_COLUMN(TRAWL_NOT_SUMMED),
};

static void add_phase_row(const struct tw_analysis_input *in, struct trawl_table *table,
			  const struct tw_spans_work *work, uint32_t i)
{
	const struct tw_span *span = &in->when->served.items[i];
	const struct tw_served_step *step = &in->when->serving[i];
	const struct tw_span_work *w = &work->items[i];
	int64_t sums[SERVED_COLUMNS] = { 0 };
	size_t row = tw_table_add_row(table);

	add_served(sums, step);
	tw_set_name(table, row, NAME, in->trace, in->trace->events.name[span->event]);
	tw_table_set_str(table, row, FAMILY, step->family);
	tw_table_set_str(table, row, PHASE, tw_phase_names[step->phase]);
	tw_table_set_integer(table, row, START, span->start_ns);
	tw_table_set_integer(table, row, WALL, span->end_ns - span->start_ns);
	set_served(table, row, SERVED, sums);
	tw_set_span_work(table, row, SPAN_COLUMNS, in->derived, w, span, work->has_launches);
	tw_set_span_during(table, row, BY_TIME, w);
	tw_table_set_integer(table, row, HOST, w->host_ns);
	tw_table_set_integer(table, row, WAITING, w->waiting_ns);
	if (work->has_launches)
		set_rate(table, row, RATE, sums, w->launched.busy_ns);
}

static int run_phases(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_when *when = in->when;
	struct tw_spans_work work;
	uint32_t i;

	if (!when->served.count)
		return 0;
	if (tw_spans_measure(&work, in, &when->served, when->phase) ||
	    tw_spans_measure_host(&work, in, &when->served))
		return TRAWL_ENOMEM;
	for (i = 0; i < when->served.count; i++)
		if (tw_is_span_in_view(&work.items[i]))
			add_phase_row(in, table, &work, i);
	tw_add_rest_rows(table, in->derived, &work,
			 &(struct tw_rest_columns){ NAME, SPAN_COLUMNS, BY_TIME });
	return 0;
}

const struct tw_analysis tw_analysis_phases = {
	TW_TABLE("phases",
		 "steps of inference servers: what each serves, the GPU work that it launched and "
		 "what ran in its time",
		 columns, .in_order = true),
	.needs = TW_NEEDS_NOTHING,
	.run = run_phases,
};

/* ---- by phase */

enum {
	SUM_PHASE,
	SUM_FAMILY,
	SUM_STEPS,
	SUM_SERVED,
	SUM_EVENTS = SUM_SERVED + SERVED_COLUMNS,
	SUM_GPU,
	SUM_BUSY,
	SUM_SHARE,
	SUM_COMPUTING,
	SUM_EXPOSED,
	SUM_IDLE,
	SUM_MEDIAN,
	SUM_MOST,
	SUM_RATE
};

static const struct trawl_column sum_columns[] = {
	[SUM_PHASE] = TW_TEXT("phase", 12, "what the steps do with their requests",
			      .over_ranks = TRAWL_KEY, .values = "!prefill|decode|mixed|diffusion"),
	[SUM_FAMILY] = TW_TEXT("family", 12, "program that writes such annotations",
			       .over_ranks = TRAWL_KEY, .values = "!"),
	[SUM_STEPS] = TW_INTEGER("steps", 8, "annotations, of nested ones the outermost",
				 .over_ranks = TRAWL_COUNT, .values = "!>=1"),
	SERVED_COLUMN_LIST(SUM_SERVED, TRAWL_TOTAL),
	[SUM_EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10, "GPU events launched in them",
				  .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SUM_GPU] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of their durations",
			  .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SUM_BUSY] = TW_MS(TW_COL_BUSY_MS, 14, "their union, by step", .over_ranks = TRAWL_TOTAL,
			   .values = ">=0"),
	[SUM_SHARE] = TW_PERCENT_1(TW_COL_BUSY_PERCENT, 10, "share of the GPU busy time",
				   .over_ranks = TRAWL_SHARE, .values = ">=0"),
	[SUM_COMPUTING] = TW_MS("computing (ms)", 14, "part of busy that computes",
				.over_ranks = TRAWL_TIME, .values = ">=0"),
	[SUM_EXPOSED] = TW_MS(TW_COL_EXPOSED_COMMUNICATION_MS, 14, "communication less computing",
			      .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SUM_IDLE] = TW_MS(TW_COL_IDLE_MS, 14, "from first start to last end of each, less busy",
			   .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SUM_MEDIAN] = TW_REAL(TW_COL_MEDIAN_BUSY_MS, "ms", 3, 14, "busy time of a step, median",
			       .over_ranks = TRAWL_SHARE, .values = ">=0"),
	[SUM_MOST] = TW_MS("max busy (ms)", 14, "the same, max", .over_ranks = TRAWL_MAX,
			   .values = ">=0"),
	[SUM_RATE] = RATE_COLUMN(TRAWL_SHARE),
};

struct sum {
	int64_t served[SERVED_COLUMNS], *busy_ns;
	size_t steps;
	uint64_t events;
	tw_wide gpu_ns, total_ns, computing_ns, exposed_ns, idle_ns;
};

static void add_to_sum(struct sum *s, const struct tw_served_step *step,
		       const struct tw_span_work *w)
{
	add_served(s->served, step);
	s->busy_ns[s->steps++] = w->launched.busy_ns;
	s->events += w->events;
	s->gpu_ns += w->gpu_ns;
	s->total_ns += w->launched.busy_ns;
	s->computing_ns += w->launched.computing_ns;
	s->exposed_ns += w->launched.exposed_communication_ns;
	if (w->events)
		s->idle_ns += w->last_ns - w->first_ns - w->launched.busy_ns;
}

static void add_sum_row(const struct tw_analysis_input *in, struct trawl_table *table,
			const struct tw_served_step *step, struct sum *s, bool has_launches)
{
	size_t row = tw_table_add_row(table), i;
	int64_t most = 0;

	tw_table_set_str(table, row, SUM_PHASE, tw_phase_names[step->phase]);
	tw_table_set_str(table, row, SUM_FAMILY, step->family);
	tw_table_set_integer(table, row, SUM_STEPS, (int64_t)s->steps);
	set_served(table, row, SUM_SERVED, s->served);
	if (!has_launches)
		return;
	for (i = 0; i < s->steps; i++)
		most = s->busy_ns[i] > most ? s->busy_ns[i] : most;
	tw_table_set_integer(table, row, SUM_EVENTS, (int64_t)s->events);
	tw_set_sum(table, row, SUM_GPU, s->gpu_ns);
	tw_set_sum(table, row, SUM_BUSY, s->total_ns);
	tw_set_percent(table, row, SUM_SHARE, (double)s->total_ns, (double)in->timeline->busy_ns);
	tw_set_sum(table, row, SUM_COMPUTING, s->computing_ns);
	tw_set_sum(table, row, SUM_EXPOSED, s->exposed_ns);
	tw_set_sum(table, row, SUM_IDLE, s->idle_ns);
	tw_table_set_real(table, row, SUM_MEDIAN,
			  (double)tw_twice_the_median(s->busy_ns, s->steps) / 2e6);
	tw_table_set_integer(table, row, SUM_MOST, most);
	if (tw_wide_fits(s->total_ns))
		set_rate(table, row, SUM_RATE, s->served, (int64_t)s->total_ns);
}

static bool is_of(const struct tw_served_step *a, const struct tw_served_step *b)
{
	return a->phase == b->phase && !strcmp(a->family, b->family);
}

static int run_phases_summary(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_when *when = in->when;
	int64_t *busy_ns = tw_alloc(in->allocator, (when->served.count + 1) * sizeof(*busy_ns));
	struct tw_spans_work work;
	size_t r;
	unsigned phase;
	uint32_t i;

	if (!when->served.count)
		return 0;
	if (!busy_ns || tw_spans_measure(&work, in, &when->served, when->phase))
		return TRAWL_ENOMEM;
	for (phase = 0; phase < TW_PHASES; phase++) {
		for (r = 0; r < tw_phase_rule_count; r++) {
			const struct tw_served_step of = { .family = tw_phase_rules[r].family,
							   .phase = phase };
			struct sum sum = { .busy_ns = busy_ns };

			/* Rules of a family follow each other. */
			if (r && !strcmp(of.family, tw_phase_rules[r - 1].family))
				continue;
			for (i = 0; i < when->served.count; i++)
				if (is_of(&when->serving[i], &of) &&
				    tw_is_span_in_view(&work.items[i]))
					add_to_sum(&sum, &when->serving[i], &work.items[i]);
			if (sum.steps)
				add_sum_row(in, table, &of, &sum, work.has_launches);
		}
	}
	return 0;
}

const struct tw_analysis tw_analysis_phases_summary = {
	TW_TABLE("phases_summary", "steps of inference servers by phase: prefill, decode, mixed",
		 sum_columns, .in_order = true),
	.needs = TW_NEEDS_NOTHING,
	.run = run_phases_summary,
};
