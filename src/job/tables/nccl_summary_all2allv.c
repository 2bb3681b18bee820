/* all_to_allv by process group and type.  Source: TraceLens. */
#include "job/collectives/exchange.h"
#include "job/tables/tables.h"

#include "analysis/groups.h"
#include "analysis/order.h"
#include "base/alloc.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum {
	GROUP,
	DTYPE,
	TOTAL_MB,
	WALL = TOTAL_MB + 4,
	TOTAL_WALL = WALL + 4,
	RATE,
	IMBALANCE = RATE + 4,
	LONGEST = IMBALANCE + 2,
	START_SKEW = LONGEST + 2,
	END_SKEW = START_SKEW + 2,
	COUNT = END_SKEW + 2,
	GROUP_RANKS,
	NAME,
	GROUP_SIZE,
	TOTAL_WALL_MS,
	SPAN,
	RECEIVE_IMBALANCE,
	RECEIVES_MOST = RECEIVE_IMBALANCE + 2,
	RECEIVED
};

#define TIMES(at, name, what)                                                  \
	[at] = TW_MEAN_US(name "_mean", 12, "mean of " what, .values = ">=0"), \
	[(at) + 1] = TW_US(name "_max", 12, "max of " what, .values = ">=0")

static const struct trawl_column columns[] = {
	[GROUP] = TW_COLUMN_GROUP,
	[DTYPE] = TW_COLUMN_DTYPE,
	TW_COLUMNS_OF_REALS(TOTAL_MB, "total data communicated (MB)", "MB",
			    "data sent by all ranks"),
	[WALL] = TW_MEAN_US("wall_time (us)_mean", 12, "mean of last end - first start",
			    .values = ">=0"),
	[WALL + 1] = TW_MEAN_US("wall_time (us)_median", 12, "median of it", .values = ">=0"),
	[WALL + 2] = TW_US("wall_time (us)_min", 12, "min of it", .values = ">=0"),
	[WALL + 3] = TW_US("wall_time (us)_max", 12, "max of it", .values = ">=0"),
	[TOTAL_WALL] = TW_US("Total wall_time (us)", 14, "sum of it", .values = ">=0"),
	TW_COLUMNS_OF_REALS(RATE, "throughput (GB/s)", "GB/s", "total data / 1024 / wall time"),
	[IMBALANCE] = TW_REAL(TW_COL_SIZE_IMBALANCE_MEAN, "", 3, 12,
			      "mean of max sent by a rank / mean over ranks", .values = ">=0"),
	[IMBALANCE + 1] = TW_REAL("size_imbalance_max", "", 3, 12, "max of it", .values = ">=0"),
	TIMES(LONGEST, TW_COL_MAX_RANK_DUR_US, "max duration over ranks"),
	TIMES(START_SKEW, TW_COL_SKEW_IN_START_TIME, "last start - first start"),
	TIMES(END_SKEW, TW_COL_SKEW_IN_END_TIME, "last end - first end"),
	[COUNT] = TW_INTEGER("count", 10, "number of collectives", .values = ">=0"),
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[NAME] = TW_COLUMN_NAME,
	[GROUP_SIZE] = TW_COLUMN_GROUP_SIZE,
	[TOTAL_WALL_MS] = TW_MS(TW_COL_TOTAL_WALL_TIME_MS, 14, "total in ms", .values = ">=0"),
	[SPAN] = TW_COLUMN_NODE_SPAN,
	[RECEIVE_IMBALANCE] = TW_REAL(TW_COL_RECEIVE_IMBALANCE_MEAN, "", 3, 12,
				      "mean of max received by a rank / mean over ranks",
				      .values = ">=0"),
	[RECEIVE_IMBALANCE + 1] =
		TW_REAL("receive imbalance_max", "", 3, 12, "max of it", .values = ">=0"),
	[RECEIVES_MOST] = TW_INTEGER(TW_COL_RANK_THAT_RECEIVES_MOST, 10,
				     "in total; lowest of equals; empty where sizes are unknown",
				     .values = ">=0"),
	[RECEIVED] = TW_REAL("that it receives (MB)", "MB", 3, 12, "total received by that rank",
			     .values = ">=0"),
};

struct key {
	uint32_t group, dtype; /* ids of `texts` */
};

struct work {
	const struct tw_ranks_input *in;
	struct trawl_table *table;
	struct tw_exchange *list;
	size_t count;
	struct tw_pool texts;
	struct tw_groups groups;
	uint32_t *of;
	struct tw_members members;
	int64_t *times;
	double *reals;
	double *received; /* by index of the rank */
};

static int group(struct work *w)
{
	size_t i;

	for (i = 0; i < w->count; i++) {
		const struct tw_match *match = w->list[i].match;
		const struct tw_match_member *m = tw_match_members(w->in, match);
		struct key key;
		size_t len;
		const char *dtype = tw_collective_text(tw_member_rank(w->in, m),
						       tw_member_collective(w->in, m),
						       TW_COLLECTIVE_DTYPE, &len);

		key.group =
			tw_pool_intern_cstr(&w->texts, w->in->matches->groups[match->group].name);
		key.dtype = len ? tw_pool_intern(&w->texts, dtype, len) : 0;
		w->of[i] = tw_groups_add(&w->groups, &key);
	}
	return w->groups.failed || w->texts.failed ? TRAWL_ENOMEM : 0;
}

typedef double real_of(const struct tw_exchange *x);

static double total_of(const struct tw_exchange *x)
{
	return x->total_mb;
}

static double rate_of(const struct tw_exchange *x)
{
	return tw_gigabytes_per_second(x->total_mb, x->wall_ns);
}

/* Of a field of struct tw_exchange. */
static struct tw_stats times_of(struct work *w, uint32_t g, size_t field)
{
	uint64_t first = w->members.first[g], n = w->members.first[g + 1] - first, i;

	for (i = 0; i < n; i++)
		memcpy(&w->times[i], (const char *)&w->list[w->members.list[first + i]] + field,
		       sizeof(*w->times));
	return tw_stats_of(w->times, n);
}

static struct tw_real_stats reals_of(struct work *w, uint32_t g, real_of *real)
{
	uint64_t first = w->members.first[g], n = w->members.first[g + 1] - first, i;

	for (i = 0; i < n; i++)
		w->reals[i] = real(&w->list[w->members.list[first + i]]);
	return tw_real_stats_of(w->reals, n);
}

static void set_mean_and_largest(struct work *w, size_t row, size_t column, uint32_t g,
				 size_t field)
{
	struct tw_stats times = times_of(w, g, field);

	tw_set_us(w->table, row, column, times.mean);
	tw_table_set_integer(w->table, row, column + 1, times.max);
}

static void set_imbalance(struct work *w, size_t row, size_t column, uint32_t g, real_of *imbalance)
{
	struct tw_real_stats reals = reals_of(w, g, imbalance);

	tw_table_set_real(w->table, row, column, reals.mean);
	tw_table_set_real(w->table, row, column + 1, reals.max);
}

static void set_statistics(struct work *w, size_t row, uint32_t g)
{
	struct tw_real_stats total = reals_of(w, g, total_of), rate;
	struct tw_stats wall = times_of(w, g, offsetof(struct tw_exchange, wall_ns));

	tw_set_reals(w->table, row, TOTAL_MB, &total);
	tw_set_times(w->table, row, WALL, &wall);
	tw_set_sum(w->table, row, TOTAL_WALL, wall.sum);
	tw_set_sum(w->table, row, TOTAL_WALL_MS, wall.sum);
	tw_table_set_integer(w->table, row, COUNT, (int64_t)wall.count);
	rate = reals_of(w, g, rate_of);
	tw_set_reals(w->table, row, RATE, &rate);
	set_imbalance(w, row, IMBALANCE, g, tw_exchange_send_imbalance);
	set_mean_and_largest(w, row, LONGEST, g, offsetof(struct tw_exchange, longest_ns));
	set_mean_and_largest(w, row, START_SKEW, g, offsetof(struct tw_exchange, start_skew_ns));
	set_mean_and_largest(w, row, END_SKEW, g, offsetof(struct tw_exchange, end_skew_ns));
}

/* Who receives most in sum, and how uneven it is. */
static void set_receiving(struct work *w, size_t row, uint32_t g)
{
	size_t ranks = w->in->job->count, most = 0, r;
	uint64_t i;
	uint32_t k;

	set_imbalance(w, row, RECEIVE_IMBALANCE, g, tw_exchange_receive_imbalance);
	memset(w->received, 0, ranks * sizeof(*w->received));
	for (i = w->members.first[g]; i < w->members.first[g + 1]; i++) {
		const struct tw_match *match = w->list[w->members.list[i]].match;
		const struct tw_match_member *m = tw_match_members(w->in, match);

		for (k = 0; k < match->count; k++)
			w->received[m[k].rank] += tw_collective_size(
				tw_member_rank(w->in, &m[k]), tw_member_collective(w->in, &m[k]),
				TW_COLLECTIVE_OUT_NELEMS);
	}
	for (r = 0; r < ranks; r++) {
		if (isnan(w->received[r]))
			return;
		if (w->received[r] > w->received[most])
			most = r;
	}
	if (!(w->received[most] > 0))
		return;
	tw_table_set_integer(w->table, row, RECEIVES_MOST, w->in->job->ranks[most].rank);
	tw_table_set_real(w->table, row, RECEIVED, w->received[most]);
}

/* Of the first in order of the matches: those of a group are sorted by data. */
static int add_exchanges_row(void *context, struct trawl_table *table, uint32_t g)
{
	struct work *w = context;
	const struct tw_match *match = NULL;
	const struct tw_match_group *of;
	const struct tw_match_member *m;
	size_t row = tw_table_add_row(table);
	uint64_t i;

	for (i = w->members.first[g]; i < w->members.first[g + 1]; i++)
		if (!match || w->list[w->members.list[i]].match < match)
			match = w->list[w->members.list[i]].match;
	of = &w->in->matches->groups[match->group];
	m = tw_match_members(w->in, match);
	tw_table_set_text_borrowed(w->table, row, GROUP, of->name, strlen(of->name));
	if (of->ranks[0])
		tw_table_set_text_borrowed(w->table, row, GROUP_RANKS, of->ranks,
					   strlen(of->ranks));
	tw_set_collective_arg(w->table, row, DTYPE, tw_member_rank(w->in, m),
			      tw_member_collective(w->in, m), TW_COLLECTIVE_DTYPE);
	tw_set_collective_label(w->table, row, NAME, tw_member_rank(w->in, m),
				tw_member_collective(w->in, m));
	tw_set_collective_arg(w->table, row, GROUP_SIZE, tw_member_rank(w->in, m),
			      tw_member_collective(w->in, m), TW_COLLECTIVE_GROUP_SIZE);
	tw_table_set_str(w->table, row, SPAN, of->span);
	set_statistics(w, row, g);
	set_receiving(w, row, g);
	return 0;
}

static struct tw_order by_wall_time(void *context, uint32_t g)
{
	struct work *w = context;

	return (struct tw_order){ .value =
					  times_of(w, g, offsetof(struct tw_exchange, wall_ns)).sum,
				  .tie = g };
}

static int add_exchanges(const struct tw_ranks_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	struct work w = { .in = in, .table = table };
	const struct tw_order_rows rows = { &w, by_wall_time, add_exchanges_row, NULL };

	if (tw_exchanges_list(in, &w.list, &w.count))
		return TRAWL_ENOMEM;
	if (!w.count)
		return 0;
	w.of = tw_alloc_array(a, w.count, sizeof(*w.of));
	w.times = tw_alloc_array(a, w.count, sizeof(*w.times));
	w.reals = tw_alloc_array(a, w.count, sizeof(*w.reals));
	w.received = tw_alloc_array(a, in->job->count, sizeof(*w.received));
	tw_groups_init(&w.groups, sizeof(struct key), a);
	if (!w.of || !w.times || !w.reals || !w.received || tw_pool_init(&w.texts, a) ||
	    group(&w) || tw_members_build(&w.members, w.of, w.count, w.groups.count, a))
		return TRAWL_ENOMEM;
	if (in->job->count > TW_EXCHANGE_PAIRS_RANKS)
		tw_table_add_note(table,
				  "no rank-to-rank sizes above %d ranks (%zu here): see 'In split "
				  "size' in nccl_long",
				  TW_EXCHANGE_PAIRS_RANKS, in->job->count);
	return tw_add_in_order(table, w.groups.count, &rows, a);
}

const struct tw_ranks_table tw_ranks_table_nccl_summary_all2allv = {
	TW_TABLE("nccl_summary_all2allv", "all_to_allv by process group and type", columns),
	.fill = add_exchanges,
};
