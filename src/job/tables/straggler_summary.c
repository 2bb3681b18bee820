/*
 * How long each rank waits for others, the one that waits least first: it is waited for.
 * Source: TraceLens.
 */
#include "job/collectives/syncing.h"
#include "job/tables/tables.h"

#include "analysis/order.h"
#include "base/alloc.h"

enum {
	RANK,
	TOTAL_WAIT,
	MEAN_WAIT,
	LAST,
	FIRST,
	LAST_SHARE,
	COUNT,
	DURATION,
	NODE,
	CAUSED,
	CAUSED_MOST,
	HOST
};

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!>=0"),
	[TOTAL_WAIT] = TW_DECIMAL("total_wait_time_us", "µs", 3, 1, 14,
				  "wait for the last rank, over all collectives of "
				  "nccl_implicit_sync",
				  .values = "!>=0"),
	[MEAN_WAIT] = TW_REAL("mean_wait_time_us", "µs", 1, 14, "mean wait per collective",
			      .values = ">=0"),
	[LAST] = TW_INTEGER("times_arrived_last", 10,
			    "collectives in which it was last; lowest rank of equals",
			    .values = "!>=0"),
	[FIRST] = TW_INTEGER("times_arrived_first", 10,
			     "collectives in which it was first; highest rank of equals",
			     .values = "!>=0"),
	[LAST_SHARE] = TW_PERCENT_1("pct_arrived_last", 10,
				    "share of its collectives in which it was last",
				    .values = ">=0"),
	[COUNT] = TW_INTEGER("num_collectives", 10, "number of its collectives", .values = "!>=0"),
	[DURATION] = TW_DECIMAL("total_nccl_dur_us", "µs", 3, 1, 14,
				"time of all its communication kernels, wait included",
				.values = ">=0"),
	[NODE] = TW_COLUMN_NODE_ID,
	[CAUSED] = TW_DECIMAL("caused_wait_time_us", "µs", 3, 1, 14,
			      "wait of all other ranks where it was last", .values = ">=0"),
	[CAUSED_MOST] = TW_DECIMAL("largest_caused_wait_us", "µs", 3, 1, 14,
				   "max wait of another rank for it", .values = ">=0"),
	[HOST] = TW_TEXT("host", 12, "host name, where recorded"),
};

struct waits {
	tw_wide wait_ns, caused_ns;
	int64_t caused_most_ns;
	uint64_t last, first, count;
};

struct work {
	const struct tw_ranks_input *in;
	uint64_t unsound; /* skipped collectives */
	struct waits *of; /* by index of the rank */
};

static int add_sync(void *context, const struct tw_sync *sync)
{
	struct work *w = context;
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	struct waits *last = &w->of[members[sync->last].rank];
	uint32_t i;

	if (!sync->sound) {
		w->unsound++;
		return 0;
	}
	for (i = 0; i < sync->match->count; i++) {
		struct waits *of = &w->of[members[i].rank];

		of->wait_ns += sync->last_start_ns - tw_member_start(w->in, &members[i]);
		of->count++;
	}
	w->of[members[sync->earliest].rank].first++;
	last->last++;
	last->caused_ns += sync->wait_ns;
	if (sync->start_skew_ns > last->caused_most_ns)
		last->caused_most_ns = sync->start_skew_ns;
	return 0;
}

static tw_wide duration_of(const struct tw_rank *rank)
{
	tw_wide sum = 0;
	uint64_t i;

	for (i = 0; i < rank->collective_count; i++)
		sum += rank->collectives[i].end_ns - rank->collectives[i].start_ns;
	return sum;
}

/* A rank without such collectives waits for nobody, and is no straggler. */
static int add_waits_row(void *context, struct trawl_table *table, uint32_t r)
{
	const struct work *w = context;
	const struct waits *of = &w->of[r];
	const struct tw_rank *rank = &w->in->job->ranks[r];
	size_t row;

	if (!of->count)
		return 0;
	row = tw_table_add_row(table);
	tw_table_set_integer(table, row, RANK, rank->rank);
	tw_set_sum(table, row, TOTAL_WAIT, of->wait_ns);
	tw_set_us(table, row, MEAN_WAIT, (double)of->wait_ns / (double)of->count);
	tw_table_set_integer(table, row, LAST, (int64_t)of->last);
	tw_table_set_integer(table, row, FIRST, (int64_t)of->first);
	tw_set_percent(table, row, LAST_SHARE, (double)of->last, (double)of->count);
	tw_table_set_integer(table, row, COUNT, (int64_t)of->count);
	tw_set_sum(table, row, DURATION, duration_of(rank));
	tw_set_node(table, row, NODE, w->in->job, rank->rank);
	tw_set_sum(table, row, CAUSED, of->caused_ns);
	tw_table_set_integer(table, row, CAUSED_MOST, of->caused_most_ns);
	if (rank->host[0])
		tw_table_set_str(table, row, HOST, rank->host);
	return 0;
}

static struct tw_order least_wait_first(void *context, uint32_t r)
{
	const struct work *w = context;

	return (struct tw_order){ .value = -w->of[r].wait_ns, .tie = r };
}

static int add_waits(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, least_wait_first, add_waits_row, NULL };

	w.of = tw_alloc_array(in->allocator, in->job->count + 1, sizeof(*w.of));
	if (!w.of)
		return TRAWL_ENOMEM;
	tw_visit_syncs(in, add_sync, &w);
	tw_note_unsound(table, w.unsound);
	return tw_add_in_order(table, (uint32_t)in->job->count, &rows, in->allocator);
}

const struct tw_ranks_table tw_ranks_table_straggler_summary = {
	TW_TABLE("straggler_summary", "wait of each rank for others; a straggler waits least",
		 columns, .keep_empty = true),
	.fill = add_waits,
};
