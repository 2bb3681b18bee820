/*
 * Synchronizing collectives: one row each, then the columns of each rank.
 * Source: TraceLens.
 */
#include "job/collectives/syncing.h"

#include "base/alloc.h"
#include "job/collectives/absent_ranks.h"
#include "job/tables/tables.h"

#include <stdio.h>
#include <string.h>

/* A sheet of a workbook has no more columns than this, and a table of all ranks has its limit. */
#define COLUMNS_MOST 16384
#define RANK_CELLS_MOST ((uint64_t)1 << 24)

enum {
	ID,
	GROUP,
	GROUP_RANKS,
	NAME,
	GROUP_SIZE,
	DTYPE,
	IN_NELEMS,
	OUT_NELEMS,
	IN_MB,
	OUT_MB,
	FULL_MB,
	LATENCY,
	START_SKEW,
	EARLIEST,
	MEAN_WAIT,
	END_SKEW,
	BANDWIDTH,
	BUS_BANDWIDTH,
	RANKS_HERE, /* columns of the ranks: ts and dur of each, then waits of each */
	SPAN = RANKS_HERE,
	LAST,
	TRANSFER,
	TOTAL_WAIT,
	LONGEST,
	LACKING,
	RULE,
	SURENESS,
	KIND,
	KERNEL,
	COLUMNS
};

static const struct trawl_column columns[] = {
	[ID] = TW_COLUMN_COLLECTIVE_ID,
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[NAME] = TW_COLUMN_NAME,
	[GROUP_SIZE] = TW_COLUMN_GROUP_SIZE,
	[DTYPE] = TW_COLUMN_DTYPE,
	[IN_NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent"),
	[OUT_NELEMS] = TW_ID(TW_COL_OUT_MSG_NELEMS, 14, "elements received"),
	[IN_MB] = TW_REAL("In msg size (MB)", "MB", 3, 12,
			  "elements sent x bytes of the type / 2^20"),
	[OUT_MB] = TW_REAL("Out msg size (MB)", "MB", 3, 12,
			   "elements received x bytes of the type / 2^20"),
	[FULL_MB] = TW_REAL(TW_COL_FULL_MSG_SIZE_MB, "MB", 3, 12,
			    "data received of an allgather, else sent"),
	[LATENCY] = TW_US("comm_latency", 14, "min duration over ranks: transfer without wait"),
	[START_SKEW] = TW_US(TW_COL_SKEW_IN_START_TIME, 14,
			     "last start - first start, on the aligned clock"),
	[EARLIEST] = TW_INTEGER("earliest arrival rank", 10,
				"rank with the longest wait; last of equals"),
	[MEAN_WAIT] = TW_MEAN_US("avg_wait_time", 14, "mean over ranks of last start - own start"),
	[END_SKEW] =
		TW_US(TW_COL_SKEW_IN_END_TIME, 14, "last end - first end, on the aligned clock"),
	[BANDWIDTH] = TW_REAL("algo bw (GB/s)", "GB/s", 3, 12, "full size / 1024 / comm_latency"),
	[BUS_BANDWIDTH] =
		TW_REAL("bus bw (GB/s)", "GB/s", 3, 12,
			"algo bw x (n - 1) / n, twice that of an allreduce; n: group size"),
	[SPAN] = TW_COLUMN_NODE_SPAN,
	[LAST] = TW_INTEGER(TW_COL_SLOWEST_RANK, 10, "last rank to start; first of equals"),
	[TRANSFER] = TW_US("last end - last start", 14, "duration after all ranks have started"),
	[TOTAL_WAIT] = TW_US("total wait time", 14, "sum over ranks of last start - own start"),
	[LONGEST] = TW_US("longest", 14, "max duration over ranks"),
	[LACKING] = TW_TEXT(TW_COL_RANKS_MISSING, 14,
			    "traced ranks of the group without this collective"),
	[RULE] = TW_TEXT(
		"matched by", 10,
		"id: common id of all ranks; sequence: process group and Seq; order: order in the "
		"group, name, type, size and ends"),
	[SURENESS] =
		TW_TEXT("sureness", 10,
			"certain, likely, doubtful, or different: records differ between ranks, "
			"the row shows the lowest rank"),
	[KIND] = TW_COLUMN_KIND,
	[KERNEL] = TW_COLUMN_KERNEL,
};

/* Those of a rank, the first two beside each other. */
static const struct trawl_column ts_column =
	TW_US("ts", 20, "start, on the clock of this rank's trace");
static const struct trawl_column dur_column =
	TW_US("dur", 12, "duration on this rank, wait included");
static const struct trawl_column wait_column =
	TW_US("wait_time", 12, "last start - start of this rank");

struct work {
	const struct tw_ranks_input *in;
	const struct trawl_allocator *keep;
	struct trawl_table *table;
	struct tw_absent_ranks absent;
	struct tw_str scratch;
	size_t ranks;	/* that have columns: all or none */
	uint64_t shown; /* rows */
};

/* A column's place once those of the ranks are there. */
static size_t at(const struct work *w, size_t column)
{
	return column < RANKS_HERE ? column : column + 3 * w->ranks;
}

static int count_sync(void *context, const struct tw_sync *sync)
{
	struct work *w = context;

	(void)sync;
	w->shown++;
	return 0;
}

static void name_columns(const struct work *w)
{
	char prefix[40];
	size_t r;

	for (r = 0; r < w->ranks; r++) {
		snprintf(prefix, sizeof(prefix), "rank_%lld_",
			 (long long)w->in->job->ranks[r].rank);
		tw_table_name_column(w->table, RANKS_HERE + 2 * r, prefix, ts_column.header);
		tw_table_name_column(w->table, RANKS_HERE + 2 * r + 1, prefix, dur_column.header);
		tw_table_name_column(w->table, RANKS_HERE + 2 * w->ranks + r, prefix,
				     wait_column.header);
	}
}

static int new_table(struct work *w, const struct tw_ranks_table *self)
{
	size_t count = COLUMNS + 3 * w->ranks, i;
	struct trawl_column *all = tw_alloc_array(w->in->allocator, count, sizeof(*all));

	if (!all)
		return TRAWL_ENOMEM;
	for (i = 0; i < COLUMNS; i++)
		all[at(w, i)] = columns[i];
	for (i = 0; i < w->ranks; i++) {
		all[RANKS_HERE + 2 * i] = ts_column;
		all[RANKS_HERE + 2 * i + 1] = dur_column;
		all[RANKS_HERE + 2 * w->ranks + i] = wait_column;
	}
	w->table = tw_table_new_columns(&self->table, all, count, w->keep);
	if (w->table)
		name_columns(w);
	return w->table ? 0 : TRAWL_ENOMEM;
}

static void set_recorded(struct work *w, size_t row, const struct tw_sync *sync)
{
	const struct tw_match_member *m = tw_match_members(w->in, sync->match);
	const struct tw_rank *rank = tw_member_rank(w->in, m);
	const struct tw_collective *c = tw_member_collective(w->in, m);
	struct trawl_table *t = w->table;

	tw_set_match_id(t, row, ID, w->in, sync->match);
	tw_set_match_group(t, row, GROUP, w->in, sync->match);
	tw_set_collective_label(t, row, NAME, rank, c);
	tw_set_collective_arg(t, row, GROUP_SIZE, rank, c, TW_COLLECTIVE_GROUP_SIZE);
	tw_set_collective_arg(t, row, DTYPE, rank, c, TW_COLLECTIVE_DTYPE);
	tw_set_collective_arg(t, row, IN_NELEMS, rank, c, TW_COLLECTIVE_IN_NELEMS);
	tw_set_collective_arg(t, row, OUT_NELEMS, rank, c, TW_COLLECTIVE_OUT_NELEMS);
	tw_table_set_real(t, row, IN_MB, tw_collective_size(rank, c, TW_COLLECTIVE_IN_NELEMS));
	tw_table_set_real(t, row, OUT_MB, tw_collective_size(rank, c, TW_COLLECTIVE_OUT_NELEMS));
	tw_table_set_real(t, row, FULL_MB, tw_sync_megabytes(w->in, sync));
	if (sync->kind)
		tw_table_set_text_borrowed(t, row, at(w, KIND), sync->kind, strlen(sync->kind));
	tw_set_rank_text(t, row, at(w, KERNEL), rank, rank->kinds[c->kind].kernel);
}

static void set_ranks(struct work *w, size_t row, const struct tw_sync *sync)
{
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	uint32_t i;

	for (i = 0; w->ranks && i < sync->match->count; i++) {
		const struct tw_match_member *m = &members[i];
		size_t column = RANKS_HERE + 2 * (size_t)m->rank;

		tw_table_set_integer(w->table, row, column,
				     tw_member_collective(w->in, m)->start_ns);
		tw_table_set_integer(w->table, row, column + 1, tw_member_dur(w->in, m));
		tw_table_set_integer(w->table, row, RANKS_HERE + 2 * w->ranks + m->rank,
				     sync->last_start_ns - tw_member_start(w->in, m));
	}
}

static int add_sync_row(void *context, const struct tw_sync *sync)
{
	struct work *w = context;
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	struct trawl_table *t = w->table;
	size_t row = tw_table_add_row(t);
	int64_t longest = 0;
	uint32_t i;

	set_recorded(w, row, sync);
	set_ranks(w, row, sync);
	for (i = 0; i < sync->match->count; i++)
		if (tw_member_dur(w->in, &members[i]) > longest)
			longest = tw_member_dur(w->in, &members[i]);
	tw_table_set_integer(t, row, LATENCY, sync->latency_ns);
	tw_table_set_integer(t, row, START_SKEW, sync->start_skew_ns);
	tw_table_set_integer(t, row, EARLIEST,
			     tw_member_rank(w->in, &members[sync->earliest])->rank);
	tw_set_us(t, row, MEAN_WAIT, (double)sync->wait_ns / sync->match->count);
	tw_table_set_integer(t, row, END_SKEW, sync->end_skew_ns);
	tw_table_set_real(t, row, BANDWIDTH, tw_sync_bandwidth(w->in, sync));
	tw_table_set_real(t, row, BUS_BANDWIDTH, tw_sync_bus_bandwidth(w->in, sync));
	tw_table_set_str(t, row, at(w, SPAN), w->in->matches->groups[sync->match->group].span);
	tw_table_set_integer(t, row, at(w, LAST),
			     tw_member_rank(w->in, &members[sync->last])->rank);
	tw_table_set_integer(t, row, at(w, TRANSFER), sync->transfer_ns);
	tw_set_sum(t, row, at(w, TOTAL_WAIT), sync->wait_ns);
	tw_table_set_integer(t, row, at(w, LONGEST), longest);
	tw_str_clear(&w->scratch);
	tw_absent_ranks_add(&w->absent, sync->match, &w->scratch);
	if (w->scratch.len)
		tw_table_set_text(t, row, at(w, LACKING), w->scratch.ptr, w->scratch.len);
	tw_table_set_str(t, row, at(w, RULE), tw_match_rule_name(sync->match->rule));
	tw_table_set_str(t, row, at(w, SURENESS), tw_match_sureness_name(sync->match->sureness));
	return 0;
}

static int make_syncs(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
		      const struct trawl_allocator *keep, struct trawl_table **table)
{
	struct work w = { .in = in, .keep = keep };
	int status = tw_absent_ranks_build(&w.absent, in);

	tw_str_init(&w.scratch, in->allocator);
	tw_visit_syncs(in, count_sync, &w);
	w.ranks = in->job->count;
	if (COLUMNS + 3 * w.ranks > COLUMNS_MOST || w.shown * 3 * w.ranks > RANK_CELLS_MOST)
		w.ranks = 0;
	if (!status)
		status = new_table(&w, self);
	if (!status)
		tw_visit_syncs(in, add_sync_row, &w);
	if (!status && !w.ranks && in->job->count)
		tw_table_add_note(w.table,
				  "no columns by rank for %zu ranks: times are in nccl_long",
				  in->job->count);
	if (w.scratch.failed)
		status = TRAWL_ENOMEM;
	*table = w.table;
	return status;
}

const struct tw_ranks_table tw_ranks_table_nccl_implicit_sync = {
	TW_TABLE("nccl_implicit_sync", "synchronizing collectives, with times of every rank",
		 columns),
	.make = make_syncs,
};
