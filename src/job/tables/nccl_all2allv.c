/*
 * all_to_allv: one row each, then what each rank sent and received.
 * Source: TraceLens.
 */
#include "job/collectives/exchange.h"
#include "job/tables/tables.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>

#define COLUMNS_MOST 16384 /* of a workbook's sheet */
#define RANK_CELLS_MOST ((uint64_t)1 << 24)

enum {
	ID,
	GROUP,
	GROUP_RANKS,
	NAME,
	GROUP_SIZE,
	DTYPE,
	STREAM,
	TOTAL_MB,
	NELEMS,
	WALL,
	LONGEST,
	SHORTEST,
	MEAN,
	RATE,
	RATE_MOST,
	RATE_LEAST,
	IMBALANCE,
	START_SKEW,
	END_SKEW,
	RANKS_HERE, /* columns of the ranks: sizes of each, then skews of each */
	SPAN = RANKS_HERE,
	MOST_RANK,
	MATCH,
	RULE,
	SURENESS,
	RECEIVE_IMBALANCE,
	RECEIVES_MOST,
	COLUMNS
};

static const struct trawl_column columns[] = {
	[ID] = TW_COLUMN_COLLECTIVE_ID,
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[NAME] = TW_COLUMN_NAME,
	[GROUP_SIZE] = TW_COLUMN_GROUP_SIZE,
	[DTYPE] = TW_COLUMN_DTYPE,
	[STREAM] = TW_ID("stream", 8, "stream on the lowest rank"),
	[TOTAL_MB] = TW_REAL("total data communicated (MB)", "MB", 3, 14, "sent by all ranks"),
	[NELEMS] = TW_INTEGER("total nelems communicated", 14, "elements sent by all ranks"),
	[WALL] = TW_US("wall_time (us)", 14, "last end - first start, on the aligned clock"),
	[LONGEST] = TW_US(TW_COL_MAX_RANK_DUR_US, 14, "max duration over ranks"),
	[SHORTEST] = TW_US("min_rank_dur (us)", 14, "min duration over ranks"),
	[MEAN] = TW_MEAN_US("avg_rank_dur (us)", 14, "mean duration over ranks"),
	[RATE] = TW_REAL("throughput (GB/s)", "GB/s", 3, 12, "total data / 1024 / wall time"),
	[RATE_MOST] = TW_REAL("max_rank_throughput (GB/s)", "GB/s", 3, 12,
			      "max over ranks of size sent / 1024 / duration"),
	[RATE_LEAST] = TW_REAL("min_rank_throughput (GB/s)", "GB/s", 3, 12,
			       "min over ranks of size sent / 1024 / duration"),
	[IMBALANCE] = TW_REAL("size_imbalance", "", 3, 12, "max sent by a rank / mean over ranks"),
	[START_SKEW] = TW_US(TW_COL_SKEW_IN_START_TIME, 14,
			     "last start - first start, on the aligned clock"),
	[END_SKEW] =
		TW_US(TW_COL_SKEW_IN_END_TIME, 14, "last end - first end, on the aligned clock"),
	[SPAN] = TW_COLUMN_NODE_SPAN,
	[MOST_RANK] = TW_INTEGER("rank that sends most", 10,
				 "lowest of equals; empty where sizes are unknown"),
	[MATCH] = TW_TEXT("match", 10, "whole, or partial: not on every traced rank of the group"),
	[RULE] = TW_TEXT("matched by", 10, "id, sequence or order (see nccl_long)"),
	[SURENESS] =
		TW_TEXT("sureness", 10, "certain, likely, doubtful or different (see nccl_long)"),
	[RECEIVE_IMBALANCE] = TW_REAL(TW_COL_RECEIVE_IMBALANCE, "", 3, 12,
				      "max received by a rank / mean over ranks"),
	[RECEIVES_MOST] = TW_INTEGER(TW_COL_RANK_THAT_RECEIVES_MOST, 10, "lowest of equals"),
};

/* Of each rank, beside each other. */
enum { R_TS, R_DUR, R_IN_NELEMS, R_OUT_NELEMS, R_IN_MB, R_OUT_MB, R_IN_SPLIT, R_OUT_SPLIT, SIZES };

static const struct trawl_column size_columns[SIZES] = {
	[R_TS] = TW_US("ts", 20, "start, on the clock of this rank's trace"),
	[R_DUR] = TW_US("dur", 12, "duration on this rank"),
	[R_IN_NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent by this rank"),
	[R_OUT_NELEMS] = TW_ID(TW_COL_OUT_MSG_NELEMS, 14, "elements received by this rank"),
	[R_IN_MB] = TW_REAL("In msg size (MB)", "MB", 3, 12, "size sent"),
	[R_OUT_MB] = TW_REAL("Out msg size (MB)", "MB", 3, 12, "size received"),
	[R_IN_SPLIT] = TW_TEXT("In split size", 14, "elements sent to each rank of the group"),
	[R_OUT_SPLIT] =
		TW_TEXT("Out split size", 14, "elements received from each rank of the group"),
};

/* Of each rank, after those of all. */
enum { R_START_SKEW, R_END_SKEW, SKEWS };

static const struct trawl_column skew_columns[SKEWS] = {
	[R_START_SKEW] = TW_US(TW_COL_SKEW_IN_START_TIME, 14, "start of this rank - first start"),
	[R_END_SKEW] = TW_US(TW_COL_SKEW_IN_END_TIME, 14, "last end - end of this rank"),
};

struct work {
	const struct tw_ranks_input *in;
	const struct trawl_allocator *keep;
	struct trawl_table *table;
	size_t ranks; /* that have columns: all or none */
};

static size_t at(const struct work *w, size_t column)
{
	return column < RANKS_HERE ? column : column + (SIZES + SKEWS) * w->ranks;
}

static size_t size_at(size_t rank, size_t column)
{
	return RANKS_HERE + SIZES * rank + column;
}

static size_t skew_at(const struct work *w, size_t rank, size_t column)
{
	return RANKS_HERE + SIZES * w->ranks + SKEWS * rank + column;
}

static void name_columns(const struct work *w)
{
	char prefix[40];
	size_t r, i;

	for (r = 0; r < w->ranks; r++) {
		snprintf(prefix, sizeof(prefix), "rank_%lld_",
			 (long long)w->in->job->ranks[r].rank);
		for (i = 0; i < SIZES; i++)
			tw_table_name_column(w->table, size_at(r, i), prefix,
					     size_columns[i].header);
		for (i = 0; i < SKEWS; i++)
			tw_table_name_column(w->table, skew_at(w, r, i), prefix,
					     skew_columns[i].header);
	}
}

static int new_table(struct work *w, const struct tw_ranks_table *self)
{
	size_t count = COLUMNS + (SIZES + SKEWS) * w->ranks, r, i;
	struct trawl_column *all = tw_alloc_array(w->in->allocator, count, sizeof(*all));

	if (!all)
		return TRAWL_ENOMEM;
	for (i = 0; i < COLUMNS; i++)
		all[at(w, i)] = columns[i];
	for (r = 0; r < w->ranks; r++) {
		for (i = 0; i < SIZES; i++)
			all[size_at(r, i)] = size_columns[i];
		for (i = 0; i < SKEWS; i++)
			all[skew_at(w, r, i)] = skew_columns[i];
	}
	w->table = tw_table_new_columns(&self->table, all, count, w->keep);
	if (w->table)
		name_columns(w);
	return w->table ? 0 : TRAWL_ENOMEM;
}

static void set_rank(const struct work *w, size_t row, const struct tw_exchange *x,
		     const struct tw_match_member *m)
{
	const struct tw_rank *rank = tw_member_rank(w->in, m);
	const struct tw_collective *c = tw_member_collective(w->in, m);
	struct trawl_table *t = w->table;

	tw_table_set_integer(t, row, size_at(m->rank, R_TS), c->start_ns);
	tw_table_set_integer(t, row, size_at(m->rank, R_DUR), c->end_ns - c->start_ns);
	tw_set_collective_arg(t, row, size_at(m->rank, R_IN_NELEMS), rank, c,
			      TW_COLLECTIVE_IN_NELEMS);
	tw_set_collective_arg(t, row, size_at(m->rank, R_OUT_NELEMS), rank, c,
			      TW_COLLECTIVE_OUT_NELEMS);
	tw_table_set_real(t, row, size_at(m->rank, R_IN_MB),
			  tw_collective_size(rank, c, TW_COLLECTIVE_IN_NELEMS));
	tw_table_set_real(t, row, size_at(m->rank, R_OUT_MB),
			  tw_collective_size(rank, c, TW_COLLECTIVE_OUT_NELEMS));
	tw_set_collective_arg(t, row, size_at(m->rank, R_IN_SPLIT), rank, c,
			      TW_COLLECTIVE_IN_SPLIT);
	tw_set_collective_arg(t, row, size_at(m->rank, R_OUT_SPLIT), rank, c,
			      TW_COLLECTIVE_OUT_SPLIT);
	tw_table_set_integer(t, row, skew_at(w, m->rank, R_START_SKEW),
			     tw_member_start(w->in, m) - x->first_start_ns);
	tw_table_set_integer(t, row, skew_at(w, m->rank, R_END_SKEW),
			     x->first_start_ns + x->wall_ns - tw_member_end(w->in, m));
}

/* Rates and times over the ranks. */
static void set_ranks(const struct work *w, size_t row, const struct tw_exchange *x)
{
	const struct tw_match_member *members = tw_match_members(w->in, x->match);
	double rate_most = -1, rate_least = -1, sum = 0;
	uint32_t i;

	for (i = 0; i < x->match->count; i++) {
		const struct tw_match_member *m = &members[i];
		const struct tw_rank *rank = tw_member_rank(w->in, m);
		double megabytes = tw_collective_size(rank, tw_member_collective(w->in, m),
						      TW_COLLECTIVE_IN_NELEMS);
		double rate = tw_gigabytes_per_second(megabytes, tw_member_dur(w->in, m));

		if (w->ranks)
			set_rank(w, row, x, m);
		sum += (double)tw_member_dur(w->in, m);
		if (rate > rate_most)
			tw_table_set_real(w->table, row, RATE_MOST, rate_most = rate);
		if (rate >= 0 && (rate_least < 0 || rate < rate_least))
			tw_table_set_real(w->table, row, RATE_LEAST, rate_least = rate);
	}
	tw_set_us(w->table, row, MEAN, sum / x->match->count);
}

/* Who sends and receives most, where that is known. */
static void set_most(const struct work *w, size_t row, const struct tw_exchange *x)
{
	const struct tw_match_member *members = tw_match_members(w->in, x->match);

	if (!isnan(x->total_mb))
		tw_table_set_integer(w->table, row, at(w, MOST_RANK),
				     tw_member_rank(w->in, &members[x->sends_most])->rank);
	if (isnan(x->received_mb))
		return;
	tw_table_set_integer(w->table, row, at(w, RECEIVES_MOST),
			     tw_member_rank(w->in, &members[x->receives_most])->rank);
	tw_table_set_real(w->table, row, at(w, RECEIVE_IMBALANCE),
			  tw_exchange_receive_imbalance(x));
}

static void add_exchange_row(const struct work *w, const struct tw_exchange *x)
{
	const struct tw_match_member *first = tw_match_members(w->in, x->match);
	const struct tw_rank *rank = tw_member_rank(w->in, first);
	const struct tw_collective *c = tw_member_collective(w->in, first);
	struct trawl_table *t = w->table;
	size_t row = tw_table_add_row(t);

	tw_set_match_id(t, row, ID, w->in, x->match);
	tw_set_match_group(t, row, GROUP, w->in, x->match);
	tw_set_collective_label(t, row, NAME, rank, c);
	tw_set_collective_arg(t, row, GROUP_SIZE, rank, c, TW_COLLECTIVE_GROUP_SIZE);
	tw_set_collective_arg(t, row, DTYPE, rank, c, TW_COLLECTIVE_DTYPE);
	tw_set_rank_text(t, row, STREAM, rank, rank->kinds[c->kind].stream);
	tw_table_set_real(t, row, TOTAL_MB, x->total_mb);
	if (x->nelems >= 0)
		tw_table_set_integer(t, row, NELEMS, x->nelems);
	tw_table_set_integer(t, row, WALL, x->wall_ns);
	tw_table_set_integer(t, row, LONGEST, x->longest_ns);
	tw_table_set_integer(t, row, SHORTEST, x->shortest_ns);
	tw_table_set_real(t, row, RATE, tw_gigabytes_per_second(x->total_mb, x->wall_ns));
	tw_table_set_real(t, row, IMBALANCE, tw_exchange_send_imbalance(x));
	tw_table_set_integer(t, row, START_SKEW, x->start_skew_ns);
	tw_table_set_integer(t, row, END_SKEW, x->end_skew_ns);
	set_ranks(w, row, x);
	set_most(w, row, x);
	tw_table_set_str(t, row, at(w, SPAN), w->in->matches->groups[x->match->group].span);
	tw_table_set_str(t, row, at(w, MATCH), tw_match_state_name(x->match->state));
	tw_table_set_str(t, row, at(w, RULE), tw_match_rule_name(x->match->rule));
	tw_table_set_str(t, row, at(w, SURENESS), tw_match_sureness_name(x->match->sureness));
}

static int make_exchanges(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
			  const struct trawl_allocator *keep, struct trawl_table **table)
{
	struct work w = { .in = in, .keep = keep, .ranks = in->job->count };
	struct tw_exchange *list;
	size_t count, i;
	int status = tw_exchanges_list(in, &list, &count);

	if (status || !count)
		return status;
	if (COLUMNS + (SIZES + SKEWS) * w.ranks > COLUMNS_MOST ||
	    (SIZES + SKEWS) * count * w.ranks > RANK_CELLS_MOST)
		w.ranks = 0;
	status = new_table(&w, self);
	for (i = 0; !status && i < count; i++)
		add_exchange_row(&w, &list[i]);
	if (!status && !w.ranks)
		tw_table_add_note(w.table,
				  "no columns by rank for %zu ranks: sizes are in nccl_long",
				  in->job->count);
	*table = w.table;
	return status;
}

const struct tw_ranks_table tw_ranks_table_nccl_all2allv = {
	TW_TABLE("nccl_all2allv", "all_to_allv, with data sent and received by rank", columns),
	.make = make_exchanges,
};
