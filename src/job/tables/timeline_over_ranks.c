/*
 * The parts of the GPU timeline over the ranks: how long they take in the middle and at the ends,
 * and which ranks those are.
 */
#include "job/tables/tables.h"

#include "analysis/stats.h"
#include "base/alloc.h"

enum { TYPE, RANKS, MEAN, MEDIAN, MIN, MAX, MIN_RANK, MAX_RANK, SPREAD };

#define EXACT(header, meaning) TW_DECIMAL(header, "ms", 6, 4, 14, meaning, .values = ">=0")

static const struct trawl_column columns[] = {
	[TYPE] = TW_TEXT("type", 22, "part of the GPU time"),
	[RANKS] = TW_INTEGER("ranks", 6, "ranks with GPU events", .values = ">=0"),
	[MEAN] = TW_REAL(TW_COL_TIME_MS_MEAN, "ms", 4, 14, "mean over ranks", .values = ">=0"),
	[MEDIAN] =
		TW_REAL(TW_COL_TIME_MS_MEDIAN, "ms", 4, 14, "median over ranks", .values = ">=0"),
	[MIN] = EXACT(TW_COL_TIME_MS_MIN, "min over ranks"),
	[MAX] = EXACT(TW_COL_TIME_MS_MAX, "max over ranks"),
	[MIN_RANK] = TW_INTEGER("rank of min", 8, "rank with the min, lowest of equals",
				.values = ">=0"),
	[MAX_RANK] = TW_INTEGER(TW_COL_SLOWEST_RANK, 8, "rank with the max, lowest of equals",
				.values = ">=0"),
	[SPREAD] = TW_PERCENT_2("spread %", 10, "(max - min) / median", .values = ">=0"),
};

const char *const tw_timeline_part_names[TW_TIMELINE_PARTS] = {
	"computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time",
	"idle_time",	    "total_time",	 "total_comm_time",	"total_memcpy_time",
};

int64_t tw_timeline_part(const struct tw_timeline *t, size_t part)
{
	const int64_t parts[TW_TIMELINE_PARTS] = {
		t->compute_ns,	     t->exposed_communication_ns,
		t->exposed_copy_ns,  t->busy_ns,
		t->idle_ns,	     t->total_ns,
		t->communication_ns, t->copy_ns,
	};

	return parts[part];
}

static void add_part(struct trawl_table *table, const struct trawl_job *job, size_t part,
		     int64_t *values)
{
	size_t row = tw_table_add_row(table), i, n = 0;
	const struct tw_rank *least = NULL, *most = NULL;
	struct tw_stats stats;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];

		if (!rank->gpu_events)
			continue;
		values[n] = tw_timeline_part(&rank->timeline, part);
		if (!least || values[n] < tw_timeline_part(&least->timeline, part))
			least = rank;
		if (!most || values[n] > tw_timeline_part(&most->timeline, part))
			most = rank;
		n++;
	}
	tw_table_set_str(table, row, TYPE, tw_timeline_part_names[part]);
	tw_table_set_integer(table, row, RANKS, (int64_t)n);
	if (!n)
		return;
	stats = tw_stats_of(values, n);
	tw_table_set_real(table, row, MEAN, stats.mean / 1e6);
	tw_table_set_real(table, row, MEDIAN, stats.median / 1e6);
	tw_table_set_integer(table, row, MIN, stats.min);
	tw_table_set_integer(table, row, MAX, stats.max);
	tw_table_set_integer(table, row, MIN_RANK, least->rank);
	tw_table_set_integer(table, row, MAX_RANK, most->rank);
	tw_set_percent(table, row, SPREAD, (double)stats.max - (double)stats.min, stats.median);
}

static int add_parts(const struct tw_ranks_input *in, struct trawl_table *table)
{
	int64_t *values = tw_alloc_array(in->allocator, in->job->count, sizeof(*values));
	size_t part;

	if (!values)
		return TRAWL_ENOMEM;
	for (part = 0; part < TW_TIMELINE_PARTS; part++)
		add_part(table, in->job, part, values);
	return 0;
}

const struct tw_ranks_table tw_ranks_table_timeline_over_ranks = {
	TW_TABLE("timeline_over_ranks", "GPU time over ranks", columns),
	.fill = add_parts,
};
