#include "study/sweep/configurations.h"

#include "analysis/stats.h"
#include "base/alloc.h"
#include "data/limits.h"
#include "diagnose/diagnosis.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the parts of a timeline, in their order (tw_timeline_part_names). */
enum { COMPUTING, EXPOSED_COMM, EXPOSED_COPY, BUSY, IDLE, TOTAL, COMM, COPY };

#define TOLD_PERCENT TW_LIMIT_TEXT(TW_LIMIT_SWEEP_TOLD_PERCENT)

/* ---- one configuration */

/* Reorders `values`; `room` is as long. */
static double spread_of(double *values, double *room, size_t count)
{
	double median = tw_real_stats_of(values, count).median;
	size_t i;

	if (count < 2)
		return NAN;
	for (i = 0; i < count; i++)
		room[i] = fabs(values[i] - median);
	return TW_SPREAD_PER_10000 / 10000.0 * tw_real_stats_of(room, count).median;
}

static int64_t steps_of(const struct trawl_job *job)
{
	int64_t steps = -1;
	size_t i;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];
		int64_t its = rank->last_step - rank->first_step + 1;

		if (rank->first_step < 0 || (i && its != steps))
			return -1;
		steps = its;
	}
	return steps;
}

/* Damaged traces are used only where no others exist. */
static bool counts(const struct tw_rank *rank, bool damaged)
{
	return rank->gpu_events && (rank->state == TRAWL_RANK_DAMAGED) == damaged;
}

int tw_configuration_of(struct tw_configuration *out, const struct trawl_job *job,
			const struct trawl_allocator *allocator)
{
	double *values = tw_alloc_array(allocator, 2 * job->count + 1, sizeof(*values));
	size_t part, i, n, whole = 0;

	if (!values)
		return TRAWL_ENOMEM;
	out->damaged = 0;
	for (i = 0; i < job->count; i++) {
		whole += counts(&job->ranks[i], false);
		out->damaged += counts(&job->ranks[i], true);
	}
	out->ranks = whole ? whole : out->damaged;
	for (part = 0; part < TW_TIMELINE_PARTS; part++) {
		for (i = n = 0; i < job->count; i++)
			if (counts(&job->ranks[i], !whole))
				values[n++] =
					(double)tw_timeline_part(&job->ranks[i].timeline, part) /
					1e6;
		if (part == TOTAL)
			out->spread_ms = spread_of(values, values + job->count, n);
		out->part_ms[part] = tw_real_stats_of(values, n).median;
	}
	out->steps = steps_of(job);
	tw_free(allocator, values, (2 * job->count + 1) * sizeof(*values));
	return 0;
}

/* ---- their order */

/* Whether steps are told of all that have ranks, and are not the same: then steps compare. */
static bool by_step(const struct tw_configuration *list, size_t count)
{
	const struct tw_configuration *first = NULL;
	bool differ = false;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!list[i].ranks)
			continue;
		if (list[i].steps <= 0)
			return false;
		if (!first)
			first = &list[i];
		differ |= list[i].steps != first->steps;
	}
	return differ;
}

/* What configurations are compared by. */
static double time_of(const struct tw_configuration *c, bool step)
{
	return step ? c->part_ms[TOTAL] / (double)c->steps : c->part_ms[TOTAL];
}

/* 0: it can be the best. */
static int class_of(const struct tw_configuration *c)
{
	return !c->ranks ? 2 : c->ended ? 1 : 0;
}

struct ordered {
	const struct tw_configuration *of;
	double time_ms; /* what it is compared by */
};

static int compare_configurations(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int class = class_of(x->of);

	if (class != class_of(y->of))
		return class - class_of(y->of);
	if (class < 2 && x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

/* The best first, of equals in the order of the list; NULL: no memory. */
static struct ordered *in_order(const struct tw_configuration *list, size_t count, bool step,
				const struct trawl_allocator *allocator)
{
	struct ordered *order = tw_alloc_array(allocator, count + 1, sizeof(*order));
	size_t i;

	for (i = 0; order && i < count; i++)
		order[i] = (struct ordered){ &list[i], time_of(&list[i], step) };
	if (order && count)
		qsort(order, count, sizeof(*order), compare_configurations);
	return order;
}

/* ---- the table */

enum {
	NAME,
	TOTAL_MS,
	BEHIND,
	SPREAD_MS,
	COMPUTING_MS,
	EXPOSED_COMM_MS,
	IDLE_MS,
	BLOCKED,
	DIFFERENCE_US,
	COMM_MS,
	RANKS,
	STRAGGLER,
	STEPS,
	RUN,
	THREADS,
	CHANNELS,
	FINDING,
	GAIN_MS,
	GAIN,
	ALL_GAINS
};

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("configuration", 18, "threads and channels", .values = "!"),
	[TOTAL_MS] =
		TW_MEAN_MS("total ms", 12, "first GPU start to last GPU end, median over ranks"),
	[BEHIND] = TW_PERCENT_2(
		TW_COL_BEHIND_BEST_PERCENT, 10,
		"slowdown against the best configuration; per step where step counts are known "
		"and differ"),
	[SPREAD_MS] = TW_MEAN_MS(
		TW_COL_SPREAD_MS, 10,
		"rank-to-rank noise of the total time: 1.4826 x median absolute deviation"),
	[COMPUTING_MS] =
		TW_MEAN_MS(TW_COL_MEDIAN_COMPUTE_MS, 12, "compute time, median over ranks"),
	[EXPOSED_COMM_MS] =
		TW_MEAN_MS(TW_COL_MEDIAN_EXPOSED_COMM_MS, 12,
			   "communication not overlapped by compute, median over ranks"),
	[IDLE_MS] =
		TW_MEAN_MS(TW_COL_MEDIAN_IDLE_MS, 10, "time without GPU work, median over ranks"),
	[BLOCKED] = TW_INTEGER("blocked", 8,
			       "high-variance GEMMs whose longest call overlaps collectives "
			       "for more than half of it"),
	[DIFFERENCE_US] = TW_REAL(TW_COL_GEMM_MAX_MIN_US, "µs", 1, 12,
				  "max - min call time, mean over the high-variance GEMMs"),
	[COMM_MS] = TW_MEAN_MS(TW_COL_MEDIAN_COMM_MS, 10, "communication time, median over ranks"),
	[RANKS] = TW_INTEGER("ranks", 6, "ranks used: with GPU work and, if any, undamaged traces",
			     .values = "!"),
	[STRAGGLER] =
		TW_TEXT(TW_COL_WAITS_FOR_RANK, 8, "straggler ranks, from the collective report"),
	[STEPS] = TW_INTEGER("steps", 6, "profiler steps in the trace of each rank"),
	[RUN] = TW_TEXT("run", 12, "status of the run, if known and not success"),
	[THREADS] = TW_INTEGER("threads", 8, "RCCL threads per block", .values = "!"),
	[CHANNELS] = TW_INTEGER("channels", 9, "max NCCL channels", .values = "!"),
	[FINDING] = TW_TEXT(TW_COL_LARGEST_FINDING, 40,
			    "finding with the largest gain; empty: none, or not known"),
	[GAIN_MS] = TW_REAL(TW_COL_LARGEST_GAIN_MS, "ms", 3, 10,
			    "shorter step with its remedy; without steps the window"),
	[GAIN] = TW_REAL(TW_COL_LARGEST_GAIN_PERCENT, "%", 2, 10, "gain / step, or / window"),
	[ALL_GAINS] = TW_REAL(TW_COL_ALL_GAINS_PERCENT, "%", 2, 10,
			      "gain of all remedies together: what the configuration has left"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"configurations", "configurations of a sweep, fastest first", columns, .keep_empty = true);

/* Findings come by gain: the first is the largest, the last with a gain has what all gain together. */
static size_t gains_of(const struct tw_configuration *c)
{
	size_t n = 0;

	while (c->findings && n < trawl_table_rows(c->findings) &&
	       tw_table_cell(c->findings, n, TW_COL_GAIN_MS).state == TRAWL_CELL_VALUE)
		n++;
	return n;
}

static void add_gains(struct trawl_table *table, size_t row, const struct tw_configuration *c)
{
	static const char *const first[] = { TW_COL_FINDING_TITLE, TW_COL_GAIN_MS,
					     TW_COL_GAIN_PERCENT };
	size_t n = gains_of(c), i;

	if (!n)
		return;
	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		tw_table_copy_cell(table, row, FINDING + i, c->findings, 0,
				   trawl_table_find_column(c->findings, first[i]));
	tw_table_copy_cell(table, row, ALL_GAINS, c->findings, n - 1,
			   trawl_table_find_column(c->findings, TW_COL_GAIN_TOGETHER_PERCENT));
}

static void add_row(struct trawl_table *table, const struct tw_configuration *c,
		    const struct tw_configuration *best, bool step)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, NAME, c->name);
	tw_table_set_integer(table, row, THREADS, c->threads);
	tw_table_set_integer(table, row, CHANNELS, c->channels);
	tw_table_set_integer(table, row, RANKS, (int64_t)c->ranks);
	tw_table_set_real(table, row, TOTAL_MS, c->part_ms[TOTAL]);
	tw_table_set_real(table, row, SPREAD_MS, c->spread_ms);
	if (c->ranks)
		tw_table_set_real(table, row, BEHIND,
				  100 * (time_of(c, step) / time_of(best, step) - 1));
	tw_table_set_real(table, row, COMPUTING_MS, c->part_ms[COMPUTING]);
	tw_table_set_real(table, row, EXPOSED_COMM_MS, c->part_ms[EXPOSED_COMM]);
	tw_table_set_real(table, row, IDLE_MS, c->part_ms[IDLE]);
	tw_table_set_real(table, row, COMM_MS, c->part_ms[COMM]);
	tw_table_set_real(table, row, DIFFERENCE_US, c->gemm_difference_us);
	if (c->gemm_rows)
		tw_table_set_integer(table, row, BLOCKED, (int64_t)c->gemm_blocked);
	tw_table_set_str(table, row, STRAGGLER, c->straggler);
	if (c->steps >= 0)
		tw_table_set_integer(table, row, STEPS, c->steps);
	tw_table_set_str(table, row, RUN, c->ended);
	add_gains(table, row, c);
}

struct trawl_table *tw_configurations_table(const struct tw_configuration *list, size_t count,
					    const struct trawl_allocator *allocator)
{
	bool step = by_step(list, count);
	struct ordered *order = in_order(list, count, step, allocator);
	struct trawl_table *table = order ? tw_table_new(&spec, allocator) : NULL;
	size_t i;

	for (i = 0; table && i < count; i++)
		add_row(table, order[i].of, order[0].of, step);
	tw_free(allocator, order, (count + 1) * sizeof(*order));
	return tw_table_finished(table);
}

struct trawl_table *tw_configurations_findings(const struct tw_configuration *list, size_t count,
					       const struct trawl_allocator *allocator)
{
	struct ordered *order = in_order(list, count, by_step(list, count), allocator);
	struct trawl_table *table =
		order ? tw_table_new_keyed(&tw_findings_spec, &columns[NAME], 1, allocator) : NULL;
	size_t i;

	for (i = 0; table && i < count; i++)
		if (order[i].of->findings)
			tw_table_add_keyed(table, &order[i].of->name, 1, order[i].of->findings);
	tw_free(allocator, order, (count + 1) * sizeof(*order));
	return tw_table_finished(table);
}

/* ---- the answer */

/* Number of candidates for the best; without any, failed runs are used. */
static size_t candidates(const struct tw_configuration *list, size_t count)
{
	size_t i, n = 0, ended = 0;

	for (i = 0; i < count; i++) {
		n += class_of(&list[i]) == 0;
		ended += class_of(&list[i]) == 1;
	}
	return n ? n : ended;
}

static size_t all_ranks(const struct tw_configuration *c)
{
	return c->ranks == c->damaged ? c->ranks : c->ranks + c->damaged;
}

static void add_its_steps(struct tw_str *out, const struct tw_configuration *c)
{
	if (c->steps < 0)
		tw_str_addf(out, "%s unknown", c->name);
	else
		tw_str_addf(out, "%s %" PRId64, c->name, c->steps);
}

/* Where step counts are unknown, or differ between ranks, total times are compared. */
static void add_steps(struct tw_str *out, const struct tw_configuration *list, size_t count)
{
	const struct tw_configuration *first = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!list[i].ranks)
			continue;
		first = first ? first : &list[i];
		if (list[i].steps == first->steps)
			continue;
		tw_str_add_cstr(out, "Step counts differ (");
		add_its_steps(out, first);
		tw_str_add_cstr(out, ", ");
		add_its_steps(out, &list[i]);
		tw_str_add_cstr(out, "): times are not comparable.\n");
		return;
	}
}

/* Limitations of the answer. */
static void add_caveats(struct tw_str *out, const struct tw_configuration *list, size_t count)
{
	size_t max_ranks = 0, i;

	for (i = 0; i < count; i++)
		max_ranks = all_ranks(&list[i]) > max_ranks ? all_ranks(&list[i]) : max_ranks;

	for (i = 0; i < count; i++) {
		const struct tw_configuration *c = &list[i];

		if (!c->ranks)
			tw_str_addf(out, "%s: no readable trace.\n", c->name);
		else if (c->ended)
			tw_str_addf(out, "%s: excluded, run status %s.\n", c->name, c->ended);
		else if (c->damaged)
			tw_str_addf(out, "%s: damaged traces of %zu of %zu ranks: %s.\n", c->name,
				    c->damaged, all_ranks(c),
				    c->ranks == c->damaged ? "times are lower bounds" : "skipped");
		if (c->ranks && all_ranks(c) < max_ranks)
			tw_str_addf(out, "%s: %zu rank%s, other configurations up to %zu.\n",
				    c->name, all_ranks(c), all_ranks(c) == 1 ? "" : "s", max_ranks);
	}
	if (by_step(list, count))
		tw_str_add_cstr(out, "Step counts differ: times per step are compared.\n");
	else
		add_steps(out, list, count);
}

static void add_less(struct tw_str *out, const struct tw_configuration *best,
		     const struct tw_configuration *other, bool step)
{
	double less = time_of(other, step) - time_of(best, step);
	double percent = time_of(other, step) > 0 ? 100 * less / time_of(other, step) : 0;

	if (percent < TW_LIMIT_NO_DIFFERENCE_PERCENT)
		tw_str_addf(out, "as fast as %s", other->name);
	else
		tw_str_addf(out, "%.1f %% (%.3f ms) less than %s", percent, less, other->name);
}

static void add_noise(struct tw_str *out, const struct tw_configuration *best,
		      const struct tw_configuration *next, bool step)
{
	double noise = fmax(best->spread_ms, next->spread_ms); /* NaN: the other one */
	double less = time_of(next, step) - time_of(best, step);

	if (step)
		noise = fmax(best->spread_ms / (double)best->steps,
			     next->spread_ms / (double)next->steps);
	if (less * 100 < TW_LIMIT_SWEEP_TOLD_PERCENT * time_of(best, step))
		tw_str_add_cstr(out, "The difference to the next best is below " TOLD_PERCENT
				     " %, within run-to-run noise: a tie.\n");
	else if (isnan(noise))
		tw_str_add_cstr(out, "Noise unknown: one rank per configuration.\n");
	else if (less <= noise)
		tw_str_addf(out,
			    "The difference to the next best is within rank-to-rank noise "
			    "(%.3f ms): a tie.\n",
			    noise);
	else if (noise > 0)
		tw_str_addf(out,
			    "The difference to the next best is %.*fx rank-to-rank noise (%.3f "
			    "ms); run-to-run noise may be larger.\n",
			    less / noise >= 10 ? 0 : 1, less / noise, noise);
}

/* Parts in which another configuration is better by more than the threshold. */
static void add_trades(struct tw_str *out, const struct tw_configuration *list, size_t count,
		       const struct tw_configuration *best)
{
	static const struct {
		size_t part;
		const char *name;
	} parts[] = { { COMPUTING, "compute" },
		      { EXPOSED_COMM, TW_LABEL_EXPOSED_COMMUNICATION },
		      { IDLE, "idle time" } };
	bool any = false;
	size_t p, i;

	for (p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		const struct tw_configuration *min = best;
		double more;

		for (i = 0; i < count; i++)
			if (class_of(&list[i]) == class_of(best) &&
			    list[i].part_ms[parts[p].part] < min->part_ms[parts[p].part])
				min = &list[i];
		more = best->part_ms[parts[p].part] - min->part_ms[parts[p].part];
		if (more * 100 <= TW_LIMIT_SWEEP_TOLD_PERCENT * best->part_ms[TOTAL])
			continue;
		tw_str_addf(out, "%s%.3f ms more %s than %s", any ? ", " : "Trade-off: ", more,
			    parts[p].name, min->name);
		any = true;
	}
	tw_str_add_cstr(out, any ? ".\n" :
				   "No trade-off: no other configuration has less compute, "
				   "exposed communication or idle time by " TOLD_PERCENT
				   " % of the total time.\n");
}

static bool waits_alike(const struct tw_configuration *a, const struct tw_configuration *b)
{
	return a->straggler && b->straggler && !strcmp(a->straggler, b->straggler);
}

static bool is_listed(const struct tw_configuration *list, size_t i)
{
	size_t k;

	for (k = 0; k < i && !waits_alike(&list[k], &list[i]); k++)
		;
	return k < i;
}

/* Stragglers and their configurations, a line each. */
static void add_stragglers(struct tw_str *out, const struct tw_configuration *list, size_t count)
{
	size_t i, k, n;
	bool first;

	for (i = 0; i < count; i++) {
		if (!list[i].straggler || is_listed(list, i))
			continue;
		for (k = n = 0; k < count; k++)
			n += waits_alike(&list[k], &list[i]);
		tw_str_add_cstr(out, n == count && n > 1 ? "In all configurations" : "In ");
		for (k = 0, first = true; k < count && (n < count || n == 1); k++)
			if (waits_alike(&list[k], &list[i])) {
				tw_str_addf(out, "%s%s", first ? "" : ", ", list[k].name);
				first = false;
			}
		tw_str_addf(out,
			    " ranks wait for %s %s (straggler, see the collective "
			    "report).\n",
			    strpbrk(list[i].straggler, ",-") ? "ranks" : "rank", list[i].straggler);
	}
}

/* What the best has left to gain. */
static void add_left(struct tw_str *out, const struct tw_configuration *best)
{
	size_t n = gains_of(best);

	if (!best->findings)
		return;
	if (!n || tw_table_cell(best->findings, 0, TW_COL_GAIN_PERCENT).real <
			  TW_LIMIT_FINDING_TOLD_PERCENT) {
		tw_str_add_cstr(out,
				"Findings: nothing in the best configuration gains " TW_LIMIT_TEXT(
					TW_LIMIT_FINDING_TOLD_PERCENT) " %.\n");
		return;
	}
	tw_str_add_cstr(out, "Largest finding in the best configuration: ");
	tw_finding_add_name(out, best->findings, 0);
	tw_str_add_cstr(out, ", gain ");
	tw_finding_add_gain(out, best->findings, 0);
	tw_str_addf(out, "%s (%.1f %%)", best->gains_of_step ? " of a step" : "",
		    tw_table_cell(best->findings, 0, TW_COL_GAIN_PERCENT).real);
	if (n > 1)
		tw_str_addf(
			out, "; all %zu findings together %.1f %%", n,
			tw_table_cell(best->findings, n - 1, TW_COL_GAIN_TOGETHER_PERCENT).real);
	tw_str_add_cstr(out, ".\n");
}

/* `order` has the `n` candidates first; `list` has all. */
static void add_best(struct tw_str *out, const struct ordered *order, size_t n,
		     const struct tw_configuration *list, size_t count, bool step)
{
	const struct tw_configuration *best = order[0].of;

	tw_str_addf(out, "Best%s: %s, %.3f ms of GPU time%s (median of %zu rank%s)",
		    n < count ? " of the comparable configurations" : "", best->name,
		    order[0].time_ms, step ? " per step" : "", best->ranks,
		    best->ranks == 1 ? "" : "s");
	if (n < 2) {
		tw_str_add_cstr(out, "; no other configuration to compare with.\n");
		return;
	}
	tw_str_add_cstr(out, ": ");
	add_less(out, best, order[1].of, step);
	if (n > 2) {
		tw_str_add_cstr(out, " (next best), ");
		add_less(out, best, order[n - 1].of, step);
		tw_str_add_cstr(out, " (slowest)");
	}
	tw_str_add_cstr(out, ".\n");
	add_noise(out, best, order[1].of, step);
	if (!step)
		add_trades(out, list, count, best);
}

void tw_configurations_answer(const struct tw_configuration *list, size_t count, struct tw_str *out)
{
	bool step = by_step(list, count);
	size_t n = candidates(list, count);
	struct ordered *order;

	if (!n)
		return;
	order = in_order(list, count, step, out->allocator);
	if (!order) {
		out->failed = true;
		return;
	}
	add_caveats(out, list, count);
	add_best(out, order, n, list, count, step);
	add_left(out, order[0].of);
	add_stragglers(out, list, count);
	tw_free(out->allocator, order, (count + 1) * sizeof(*order));
}
