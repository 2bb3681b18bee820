/*
 * Stragglers: wait caused by each rank, over all collectives that end together, the largest first,
 * with a possible reason.
 */
#include "job/collectives/lateness.h"
#include "job/tables/tables.h"

#include "analysis/order.h"

enum {
	RANK,
	NODE,
	LAST,
	LAST_SHARE,
	CAUSED,
	CAUSED_SHARE,
	CAUSED_MOST,
	PASSED,
	TIMES_PASSED,
	WAIT,
	COUNT,
	COMPUTING,
	MEDIAN,
	HOST
};

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!>=0"),
	[NODE] = TW_COLUMN_NODE_ID,
	[LAST] = TW_INTEGER(TW_COL_TIMES_LAST, 8,
			    "collectives in which it was last; lowest rank of equals",
			    .values = ">=0"),
	[LAST_SHARE] = TW_PERCENT_1("last (%)", 8, "share of its collectives in which it was last",
				    .values = ">=0"),
	[CAUSED] = TW_DECIMAL(TW_COL_CAUSED_WAIT_US, "µs", 3, 1, 14,
			      "wait of all other ranks where it was last", .values = ">=0"),
	[CAUSED_SHARE] = TW_PERCENT_1(TW_COL_CAUSED_WAIT_PERCENT, 8,
				      "share of the wait of all ranks", .values = ">=0"),
	[CAUSED_MOST] = TW_DECIMAL("largest caused wait (us)", "µs", 3, 1, 14,
				   "max wait of another rank for it", .values = ">=0"),
	[PASSED] = TW_DECIMAL(
		TW_COL_PASSED_ON_US, "µs", 3, 1, 14,
		"propagated part of the caused wait: the rank itself waited longer for others "
		"than the waiting rank did, since their last common collective, and is late by "
		"the difference",
		.values = ">=0"),
	[TIMES_PASSED] =
		TW_INTEGER("times passed on", 8,
			   "times it was last with more than half of the caused wait propagated",
			   .values = ">=0"),
	[WAIT] = TW_DECIMAL(TW_COL_OWN_WAIT_US, "µs", 3, 1, 14,
			    "wait for the last rank, at most its kernel time", .values = ">=0"),
	[COUNT] = TW_INTEGER("collectives", 10, "its synchronizing collectives", .values = ">=0"),
	[COMPUTING] = TW_DECIMAL(TW_COL_COMPUTING_US, "µs", 3, 1, 14,
				 "compute time of its GPU (computation_time of rank_timeline)",
				 .values = ">=0"),
	[MEDIAN] = TW_DECIMAL(TW_COL_MEDIAN_COMPUTING_US, "µs", 4, 1, 14, "median of it over ranks",
			      .values = ">=0"),
	[HOST] = TW_TEXT("host", 12, "host name, where recorded"),
};

struct work {
	const struct tw_ranks_input *in;
	struct tw_lateness lateness;
};

static int add_straggler_row(void *context, struct trawl_table *table, uint32_t r)
{
	const struct work *w = context;
	const struct tw_lateness *l = &w->lateness;
	const struct tw_late_rank *of = &l->of[r];
	const struct trawl_job *job = w->in->job;
	const struct tw_rank *rank = &job->ranks[r];
	size_t row;

	if (!of->count)
		return 0;
	row = tw_table_add_row(table);
	tw_table_set_integer(table, row, RANK, rank->rank);
	tw_set_node(table, row, NODE, job, rank->rank);
	tw_table_set_integer(table, row, LAST, (int64_t)of->last);
	tw_set_percent(table, row, LAST_SHARE, (double)of->last, (double)of->count);
	tw_set_sum(table, row, CAUSED, of->caused_ns);
	tw_set_percent(table, row, CAUSED_SHARE, (double)of->caused_ns, (double)l->wait_ns);
	tw_table_set_integer(table, row, CAUSED_MOST, of->caused_most_ns);
	tw_set_sum(table, row, PASSED, of->passed_ns);
	tw_table_set_integer(table, row, TIMES_PASSED, (int64_t)of->passed);
	tw_set_sum(table, row, WAIT, of->wait_ns);
	tw_table_set_integer(table, row, COUNT, (int64_t)of->count);
	if (rank->gpu_events) {
		tw_table_set_integer(table, row, COMPUTING, rank->timeline.compute_ns);
		/* Half of it, with one digit more. */
		tw_set_sum(table, row, MEDIAN, l->median2_ns * 5);
	}
	if (rank->host[0])
		tw_table_set_str(table, row, HOST, rank->host);
	return 0;
}

static struct tw_order by_caused_wait(void *context, uint32_t r)
{
	const struct work *w = context;

	return (struct tw_order){ .value = w->lateness.of[r].caused_ns, .tie = r };
}

static int add_stragglers(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, by_caused_wait, add_straggler_row, NULL };

	if (tw_lateness_build(&w.lateness, in))
		return TRAWL_ENOMEM;
	tw_note_unsound(table, w.lateness.unsound);
	return tw_add_in_order(table, (uint32_t)w.lateness.ranks, &rows, in->allocator);
}

const struct tw_ranks_table tw_ranks_table_stragglers = {
	TW_TABLE("stragglers",
		 "wait caused by each rank, over all synchronizing collectives, all_to_allv "
		 "included",
		 columns, .keep_empty = true),
	.fill = add_stragglers,
};
