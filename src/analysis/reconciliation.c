/*
 * Whether the tables account for all the time: the rows of ops_summary, communication, copies
 * and kernels without a recorded launch, less what overlaps, must be the busy time; busy and
 * idle must be the total; the rows of steps must be the GPU time.
 *
 * The overlap is measured, not taken as the remainder: a sweep over the starts and ends of all
 * the pieces counts, at every moment, how many run beyond the first.  So the sum can fail, and
 * the last row has the difference (0).
 */
#include "analysis/analysis.h"

#include "analysis/who/span_work.h"
#include "base/alloc.h"
#include "base/sort.h"

enum { QUANTITY, TIME, MEANING };

static const struct trawl_column columns[] = {
	[QUANTITY] = TW_TEXT("quantity", 18, "part of the time"),
	[TIME] = TW_NS("time ns", 18, "duration"),
	[MEANING] = TW_TEXT("meaning", 60, "definition"),
};

/* Pieces of time that are counted once each. */
struct pieces {
	int64_t *start_ns, *end_ns;
	uint32_t *by_start, *by_end;
	uint64_t count;
};

struct amounts {
	tw_wide operations, communication, copies, unlinked, overlap;
	tw_wide durations, modules; /* the latter only where modules are recorded */
};

static void add_piece(struct pieces *p, int64_t start_ns, int64_t end_ns)
{
	p->start_ns[p->count] = start_ns;
	p->end_ns[p->count] = end_ns;
	p->by_start[p->count] = p->by_end[p->count] = (uint32_t)p->count;
	p->count++;
}

/* The GPU events of one launcher, joined where they overlap or touch; returns their length. */
static tw_wide add_launcher(const struct tw_analysis_input *in, uint64_t launcher, struct pieces *p)
{
	const struct tw_members *members = &in->launchers->gpu;
	const struct tw_gpu *gpu = &in->derived->gpu;
	uint64_t i = members->first[launcher], end = members->first[launcher + 1];
	tw_wide length = 0;

	while (i < end) {
		int64_t start_ns = gpu->start_ns[members->list[i]];
		int64_t end_ns = gpu->end_ns[members->list[i]];

		for (i++; i < end && gpu->start_ns[members->list[i]] <= end_ns; i++)
			if (gpu->end_ns[members->list[i]] > end_ns)
				end_ns = gpu->end_ns[members->list[i]];
		add_piece(p, start_ns, end_ns);
		length += end_ns - start_ns;
	}
	return length;
}

static void add_pieces(const struct tw_analysis_input *in, struct pieces *p, struct amounts *a)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	uint64_t i;

	if (in->who)
		a->modules = in->who->gpu_ns;
	for (i = 0; i < in->launchers->count; i++)
		a->operations += add_launcher(in, i, p);
	for (i = 0; i < gpu->count; i++) {
		int64_t ns = gpu->end_ns[i] - gpu->start_ns[i];

		a->durations += ns;
		if (in->launchers->of_gpu[i] != TW_NO_GROUP)
			continue;
		if (gpu->bucket[i] == TW_COMMUNICATION)
			a->communication += ns;
		else if (gpu->bucket[i] == TW_COPY)
			a->copies += ns;
		else
			a->unlinked += ns;
		add_piece(p, gpu->start_ns[i], gpu->end_ns[i]);
	}
}

/* Time during which pieces run beyond the first, each counted. */
static tw_wide measure_overlap(const struct pieces *p)
{
	uint64_t s = 0, e = 0;
	tw_wide overlap = 0;
	int64_t open = 0;
	int64_t before = 0;

	while (e < p->count) {
		int64_t end_ns = p->end_ns[p->by_end[e]];
		int64_t start_ns = s < p->count ? p->start_ns[p->by_start[s]] : INT64_MAX;
		bool starts = s < p->count && start_ns <= end_ns;
		int64_t now = starts ? start_ns : end_ns;

		if (open > 1)
			overlap += (open - 1) * ((tw_wide)now - before);
		before = now;
		if (starts) {
			open++;
			s++;
		} else {
			open--;
			e++;
		}
	}
	return overlap;
}

static void add_row(struct trawl_table *table, const char *quantity, tw_wide ns,
		    const char *meaning)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, QUANTITY, quantity);
	tw_set_sum(table, row, TIME, ns);
	tw_table_set_str(table, row, MEANING, meaning);
}

enum { ALWAYS, BY_LAUNCH, WITH_MODULES, WITH_SUMS };

static void add_amounts(struct trawl_table *table, const struct amounts *a,
			const struct tw_timeline *t, const struct tw_analysis_input *in)
{
	const bool modules = in->who && in->who->modules;
	const bool when[] = { [ALWAYS] = true,
			      [BY_LAUNCH] = in->derived->steps.by_launch,
			      [WITH_MODULES] = modules,
			      [WITH_SUMS] = modules || in->when->steps.count };
	const struct {
		unsigned when;
		const char *quantity;
		tw_wide ns;
		const char *meaning;
	} rows[] = {
		{ ALWAYS, "op_rows", a->operations,
		  "GPU work launched by operators, copies included: the sum of ops_summary" },
		{ ALWAYS, "communication", a->communication, "communication" },
		{ ALWAYS, "copies", a->copies, "copies with no matching launch" },
		{ ALWAYS, "unlinked", a->unlinked, "other GPU events with no matching launch" },
		{ ALWAYS, "overlap", a->overlap,
		  "time counted in more than one row (overlap), from a sweep; subtracted" },
		{ ALWAYS, "busy", t->busy_ns, "union of all GPU events" },
		{ BY_LAUNCH, "other_work", t->other_ns,
		  "time in which only other work ran; for views that attribute work by its launch" },
		{ ALWAYS, "idle", t->idle_ns, "total - busy - other work" },
		{ ALWAYS, "total", t->total_ns,
		  "first start to last end, or the windows of the view" },
		{ ALWAYS, "difference",
		  a->operations + a->communication + a->copies + a->unlinked - a->overlap -
			  t->busy_ns,
		  "op_rows + communication + copies + unlinked - overlap - busy: must be 0" },
		{ WITH_SUMS, "gpu_time", a->durations, "sum of the durations of all GPU events" },
		{ WITH_MODULES, "modules", a->modules,
		  "self GPU time of all modules, of (none) and (unlinked): the sum of modules" },
		{ WITH_MODULES, "modules_difference", a->modules - a->durations,
		  "modules - gpu_time: must be 0" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (when[rows[i].when])
			add_row(table, rows[i].quantity, rows[i].ns, rows[i].meaning);
}

/* The rows of steps against all GPU events; by time only where no two steps overlap. */
static int add_steps(const struct tw_analysis_input *in, struct trawl_table *table, tw_wide all_ns,
		     int64_t busy_ns)
{
	const struct tw_when *when = in->when;
	struct tw_spans_work work;
	tw_wide rows_ns = 0, during_ns;
	uint64_t i;

	if (!when->steps.count)
		return 0;
	if (tw_spans_measure(&work, in, &when->steps, when->step))
		return -1;
	during_ns = work.outside_ns;
	for (i = 0; i < when->steps.count + 2; i++) {
		rows_ns += work.items[i].gpu_ns;
		during_ns += work.items[i].during.busy_ns;
	}
	add_row(table, "step_rows", rows_ns,
		"GPU time of the rows of steps, (launched outside) and (no launch)");
	add_row(table, "step_difference", rows_ns - all_ns, "step_rows - gpu_time: must be 0");
	if (!work.apart)
		return 0;
	add_row(table, "step_rows_by_time", during_ns,
		"busy by time of the rows of steps and (outside)");
	add_row(table, "step_difference_by_time", during_ns - busy_ns,
		"step_rows_by_time - busy: must be 0");
	return 0;
}

static uint64_t time_key(const void *times, uint32_t piece)
{
	return tw_sort_key(((const int64_t *)times)[piece]);
}

static int run_reconciliation(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	size_t n = in->derived->gpu.count + 1;
	struct pieces p = {
		.start_ns = tw_alloc(a, n * sizeof(*p.start_ns)),
		.end_ns = tw_alloc(a, n * sizeof(*p.end_ns)),
		.by_start = tw_alloc(a, n * sizeof(*p.by_start)),
		.by_end = tw_alloc(a, n * sizeof(*p.by_end)),
	};
	struct amounts amounts = { 0 };
	struct tw_timeline timeline = *in->timeline;

	if (!p.start_ns || !p.end_ns || !p.by_start || !p.by_end ||
	    (in->options->linked_only &&
	     tw_timeline_of(&timeline, in->derived, NULL, in->derived->gpu.count, TW_CODE_NONE,
			    false, -1)))
		return TRAWL_ENOMEM;
	add_pieces(in, &p, &amounts);
	if (tw_sort(p.by_start, p.count, time_key, p.start_ns, a) ||
	    tw_sort(p.by_end, p.count, time_key, p.end_ns, a))
		return TRAWL_ENOMEM;
	amounts.overlap = measure_overlap(&p);
	add_amounts(table, &amounts, &timeline, in);
	return add_steps(in, table, amounts.durations, timeline.busy_ns) ? TRAWL_ENOMEM : 0;
}

const struct tw_analysis tw_analysis_reconciliation = {
	TW_TABLE("reconciliation", "checks that the tables account for all GPU time", columns),
	.needs = TW_NEEDS_GPU | TW_USES_WHO,
	.run = run_reconciliation,
};
