#include "sweep/configurations.h"

#include "analysis/stats.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of the parts of a timeline, in their order (tw_timeline_part_names). */
enum { COMPUTING, EXPOSED_COMM, EXPOSED_COPY, BUSY, IDLE, TOTAL, COMM, COPY };

/* A difference below this share of the total time is not worth a word. */
#define WORTH_TELLING 0.01
/* From the median absolute deviation to the standard deviation of a normal distribution. */
#define MAD_TO_SIGMA 1.4826

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
	return MAD_TO_SIGMA * tw_real_stats_of(room, count).median;
}

static int64_t steps_of(const struct tw_job *job)
{
	int64_t steps = -1;
	size_t i;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];
		int64_t its = rank->first_step < 0 ? -1 : rank->last_step - rank->first_step + 1;

		if (its < 0 || (steps >= 0 && its != steps))
			return -1;
		steps = its;
	}
	return steps;
}

int tw_configuration_of(struct tw_configuration *out, const struct tw_job *job,
			const struct trawl_allocator *allocator)
{
	double *values = tw_alloc_array(allocator, 2 * job->count + 1, sizeof(*values));
	size_t part, i, n = 0;

	if (!values)
		return TRAWL_ENOMEM;
	for (part = 0; part < TW_TIMELINE_PARTS; part++) {
		for (i = n = 0; i < job->count; i++)
			if (job->ranks[i].gpu_events)
				values[n++] =
					(double)tw_timeline_part(&job->ranks[i].timeline, part) /
					1e6;
		if (part == TOTAL)
			out->spread_ms = spread_of(values, values + job->count, n);
		out->part_ms[part] = tw_real_stats_of(values, n).mean;
	}
	out->ranks = n;
	out->steps = steps_of(job);
	tw_free(allocator, values, (2 * job->count + 1) * sizeof(*values));
	return 0;
}

/* ---- their order */

/* Number of the configuration in `place`, by total time; those without GPU work are the last. */
static size_t in_place(const struct tw_configuration *list, size_t count, size_t place)
{
	size_t i, k;

	for (i = 0; i < count; i++) {
		double time = list[i].part_ms[TOTAL];
		size_t before = 0;

		for (k = 0; k < count; k++) {
			double other = list[k].part_ms[TOTAL];

			if (isnan(time) ? !isnan(other) || k < i :
					  other < time || (other == time && k < i))
				before++;
		}
		if (before == place)
			return i;
	}
	return 0;
}

/* ---- the table */

enum {
	NAME,
	THREADS,
	CHANNELS,
	RANKS,
	TOTAL_MS,
	SPREAD_MS,
	BEHIND,
	COMPUTING_MS,
	EXPOSED_COMM_MS,
	IDLE_MS,
	COMM_MS,
	DIFFERENCE_US,
	BLOCKED
};

static const struct trawl_column columns[] = {
	[NAME] = { "configuration", TRAWL_COLUMN_TEXT, "", 0, 0, 18, "threads and channels" },
	[THREADS] = { "threads", TRAWL_COLUMN_INTEGER, "", 0, 0, 8, "RCCL threads a block" },
	[CHANNELS] = { "channels", TRAWL_COLUMN_INTEGER, "", 0, 0, 9, "most NCCL channels" },
	[RANKS] = { "ranks", TRAWL_COLUMN_INTEGER, "", 0, 0, 6, "ranks with GPU work" },
	[TOTAL_MS] = { "total ms", TRAWL_COLUMN_REAL, "ms", 0, 3, 12,
		       "time from the first to the last GPU work, mean over the ranks" },
	[SPREAD_MS] = { "spread ms", TRAWL_COLUMN_REAL, "ms", 0, 3, 10,
			"noise of that: 1.4826 times the median absolute deviation over the "
			"ranks" },
	[BEHIND] = { "behind best %", TRAWL_COLUMN_REAL, "%", 0, 2, 10,
		     "total time above that of the best configuration" },
	[COMPUTING_MS] = { "compute ms", TRAWL_COLUMN_REAL, "ms", 0, 3, 12,
			   "computation time, mean over the ranks" },
	[EXPOSED_COMM_MS] = { "exposed comm ms", TRAWL_COLUMN_REAL, "ms", 0, 3, 12,
			      "communication that no computing hides, mean over the ranks" },
	[IDLE_MS] = { "idle ms", TRAWL_COLUMN_REAL, "ms", 0, 3, 10,
		      "time without any GPU work, mean over the ranks" },
	[COMM_MS] = { "comm ms", TRAWL_COLUMN_REAL, "ms", 0, 3, 10,
		      "time with communication, mean over the ranks" },
	[DIFFERENCE_US] = { "GEMM max-min us", TRAWL_COLUMN_REAL, "us", 0, 1, 12,
			    "longest less shortest call, mean over the operations that differ "
			    "most" },
	[BLOCKED] = { "blocked", TRAWL_COLUMN_INTEGER, "", 0, 0, 8,
		      "of those operations: longest call over half in collectives" },
};

static const struct tw_table_spec spec = {
	.name = "configurations",
	.meaning = "the configurations of a sweep, the fastest first",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(columns[0]),
	.keep_empty = true,
};

static void add_row(struct trawl_table *table, const struct tw_configuration *c,
		    const struct tw_configuration *best)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, NAME, c->name);
	tw_table_set_integer(table, row, THREADS, c->threads);
	tw_table_set_integer(table, row, CHANNELS, c->channels);
	tw_table_set_integer(table, row, RANKS, (int64_t)c->ranks);
	tw_table_set_real(table, row, TOTAL_MS, c->part_ms[TOTAL]);
	tw_table_set_real(table, row, SPREAD_MS, c->spread_ms);
	tw_table_set_real(table, row, BEHIND, 100 * (c->part_ms[TOTAL] / best->part_ms[TOTAL] - 1));
	tw_table_set_real(table, row, COMPUTING_MS, c->part_ms[COMPUTING]);
	tw_table_set_real(table, row, EXPOSED_COMM_MS, c->part_ms[EXPOSED_COMM]);
	tw_table_set_real(table, row, IDLE_MS, c->part_ms[IDLE]);
	tw_table_set_real(table, row, COMM_MS, c->part_ms[COMM]);
	tw_table_set_real(table, row, DIFFERENCE_US, c->gemm_difference_us);
	if (c->gemm_rows)
		tw_table_set_integer(table, row, BLOCKED, (int64_t)c->gemm_blocked);
}

struct trawl_table *tw_configurations_table(const struct tw_configuration *list, size_t count,
					    const struct trawl_allocator *allocator)
{
	struct trawl_table *table = tw_table_new(&spec, allocator);
	size_t i;

	for (i = 0; table && i < count; i++)
		add_row(table, &list[in_place(list, count, i)], &list[in_place(list, count, 0)]);
	if (table && tw_table_finish(table, NULL)) {
		tw_table_free(table);
		return NULL;
	}
	return table;
}

/* ---- the answer */

/* How many have GPU work. */
static size_t counted(const struct tw_configuration *list, size_t count)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		n += list[i].ranks > 0;
	return n;
}

static void add_less(struct tw_str *out, const struct tw_configuration *best,
		     const struct tw_configuration *other)
{
	double less = other->part_ms[TOTAL] - best->part_ms[TOTAL];

	tw_str_addf(out, "%.1f %% (%.3f ms) less than %s",
		    other->part_ms[TOTAL] > 0 ? 100 * less / other->part_ms[TOTAL] : 0, less,
		    other->name);
}

static void add_noise(struct tw_str *out, const struct tw_configuration *best,
		      const struct tw_configuration *next)
{
	double noise = fmax(best->spread_ms, next->spread_ms); /* NaN: the other one */
	double less = next->part_ms[TOTAL] - best->part_ms[TOTAL];

	if (isnan(noise))
		tw_str_add_cstr(out, "With one rank each, how much of that is noise is not "
				     "known.\n");
	else if (less <= noise)
		tw_str_addf(out,
			    "The difference to the next is within the noise of the ranks "
			    "(%.3f ms): either will do.\n",
			    noise);
	else if (noise > 0)
		tw_str_addf(out,
			    "The difference to the next is %.1f times the noise of the ranks.\n",
			    less / noise);
}

/* Parts in which another configuration does better by what is worth telling. */
static void add_trades(struct tw_str *out, const struct tw_configuration *list, size_t count,
		       const struct tw_configuration *best)
{
	static const struct {
		size_t part;
		const char *name;
	} parts[] = { { COMPUTING, "computing" },
		      { EXPOSED_COMM, "exposed communication" },
		      { IDLE, "idle" } };
	bool any = false;
	size_t p, i;

	for (p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		const struct tw_configuration *least = best;
		double more;

		for (i = 0; i < count; i++)
			if (list[i].part_ms[parts[p].part] < least->part_ms[parts[p].part])
				least = &list[i];
		more = best->part_ms[parts[p].part] - least->part_ms[parts[p].part];
		if (more <= WORTH_TELLING * best->part_ms[TOTAL])
			continue;
		tw_str_addf(out, "%s%.3f ms more %s than %s", any ? ", " : "It trades ", more,
			    parts[p].name, least->name);
		any = true;
	}
	tw_str_add_cstr(out, any ? ".\n" :
				   "It trades nothing: no other has less computing, exposed "
				   "communication or idle time worth telling.\n");
}

static void add_its_steps(struct tw_str *out, const struct tw_configuration *c)
{
	if (c->steps < 0)
		tw_str_addf(out, "%s not told", c->name);
	else
		tw_str_addf(out, "%s %" PRId64, c->name, c->steps);
}

/* Configurations without GPU work are told elsewhere. */
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
		tw_str_add_cstr(out, "Their traces do not show the same number of steps (");
		add_its_steps(out, first);
		tw_str_add_cstr(out, ", ");
		add_its_steps(out, &list[i]);
		tw_str_add_cstr(out, "): total times compare badly.\n");
		return;
	}
}

void tw_configurations_answer(const struct tw_configuration *list, size_t count, struct tw_str *out)
{
	const struct tw_configuration *best = count ? &list[in_place(list, count, 0)] : NULL;
	size_t n = counted(list, count);
	const struct tw_configuration *next, *last;

	if (!n)
		return;
	tw_str_addf(out, "Best: %s, %.3f ms of GPU time (mean of %zu rank%s)", best->name,
		    best->part_ms[TOTAL], best->ranks, best->ranks == 1 ? "" : "s");
	if (n < 2) {
		tw_str_add_cstr(out, "; there is no other to compare with.\n");
		return;
	}
	next = &list[in_place(list, count, 1)];
	last = &list[in_place(list, count, n - 1)];
	tw_str_add_cstr(out, ": ");
	add_less(out, best, next);
	if (n > 2) {
		tw_str_add_cstr(out, ", the next, and ");
		add_less(out, best, last);
		tw_str_add_cstr(out, ", the slowest");
	}
	tw_str_add_cstr(out, ".\n");
	add_noise(out, best, next);
	add_trades(out, list, count, best);
	add_steps(out, list, count);
}
