/*
 * Collectives that make ranks wait for each other, by name, type and size.
 * Source: TraceLens.
 */
#include "job/collectives/syncing.h"
#include "job/tables/tables.h"

#include "analysis/groups.h"
#include "analysis/order.h"
#include "base/alloc.h"

#include <stddef.h>
#include <string.h>

#define UNKNOWN "Unknown" /* TraceLens' word for a key that is not recorded */
#define STATISTICS 4

enum {
	NAME,
	DTYPE,
	IN_NELEMS,
	GROUP,
	GROUP_SIZE,
	FULL_MB,
	LATENCY,
	START_SKEW = LATENCY + STATISTICS,
	END_SKEW = START_SKEW + STATISTICS,
	BANDWIDTH = END_SKEW + STATISTICS,
	BUS_BANDWIDTH = BANDWIDTH + STATISTICS,
	COUNT = BUS_BANDWIDTH + STATISTICS,
	TOTAL_LATENCY,
	TOTAL_WAIT,
	TOTAL_TIME,
	WAIT_SHARE,
	MEAN_TRANSFER,
	KIND,
	KERNEL
};

static const struct trawl_column columns[] = {
	[NAME] = TW_COLUMN_NAME,
	[DTYPE] = TW_TEXT("dtype", 12, "element type; Unknown: not recorded"),
	[IN_NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent; Unknown: not recorded"),
	[GROUP] = TW_TEXT(TW_COL_PROCESS_GROUP_NAME, 14, "process group of the first"),
	[GROUP_SIZE] = TW_ID("Group size", 10, "ranks of the group"),
	[FULL_MB] = TW_REAL(TW_COL_FULL_MSG_SIZE_MB, "MB", 3, 12,
			    "of the first: data received of an allgather, else sent",
			    .values = ">=0"),
	TW_COLUMNS_OF_TIMES(LATENCY, 14, "comm_latency", "min duration over ranks"),
	TW_COLUMNS_OF_TIMES(START_SKEW, 14, TW_COL_SKEW_IN_START_TIME, "last start - first start"),
	TW_COLUMNS_OF_TIMES(END_SKEW, 14, TW_COL_SKEW_IN_END_TIME, "last end - first end"),
	TW_COLUMNS_OF_REALS(BANDWIDTH, "algo bw (GB/s)", "GB/s", "full size / 1024 / comm_latency"),
	TW_COLUMNS_OF_REALS(BUS_BANDWIDTH, "bus bw (GB/s)", "GB/s",
			    "bandwidth on the links (see nccl_implicit_sync)"),
	[COUNT] = TW_INTEGER("count", 10, "number of collectives", .values = "!>=0"),
	[TOTAL_LATENCY] =
		TW_MS(TW_COL_TOTAL_COMM_LATENCY_MS, 14, "sum of comm_latency", .values = ">=0"),
	[TOTAL_WAIT] = TW_MS(TW_COL_TOTAL_WAIT_TIME_MS, 14,
			     "sum of waits over ranks and collectives", .values = ">=0"),
	[TOTAL_TIME] = TW_MS(TW_COL_TOTAL_RANK_TIME_MS, 14,
			     "sum of kernel times over ranks and collectives", .values = ">=0"),
	[WAIT_SHARE] = TW_PERCENT_2(TW_COL_WAITING_PERCENT, 10, "total wait time / total rank time",
				    .values = ">=0"),
	[MEAN_TRANSFER] = TW_MEAN_US("last end - last start_mean", 14,
				     "mean duration after all ranks have started"),
	[KIND] = TW_COLUMN_KIND,
	[KERNEL] = TW_COLUMN_KERNEL,
};

struct key {
	_Alignas(tw_wide) uint32_t name; /* these are ids of `texts` */
	uint32_t dtype, nelems;
};

struct sum {
	tw_wide latency_ns, wait_ns, dur_ns, transfer_ns;
	uint64_t first; /* match */
	uint64_t count;
};

struct work {
	const struct tw_ranks_input *in;
	uint64_t unsound; /* skipped collectives */
	struct tw_pool texts;
	struct tw_groups groups;
	uint32_t *of;	       /* by collective that counts: its group */
	struct tw_sync *syncs; /* those */
	uint64_t count, capacity;
	struct tw_members members;
	int64_t *times;
	double *rates;
};

static uint32_t known(struct work *w, const char *text, size_t len)
{
	return len ? tw_pool_intern(&w->texts, text, len) : tw_pool_intern_cstr(&w->texts, UNKNOWN);
}

static int count_sync(void *context, const struct tw_sync *sync)
{
	struct work *w = context;

	(void)sync;
	w->capacity++;
	return 0;
}

static int add_sync(void *context, const struct tw_sync *sync)
{
	struct work *w = context;
	const struct tw_match_member *m = tw_match_members(w->in, sync->match);
	const struct tw_rank *rank = tw_member_rank(w->in, m);
	const struct tw_collective *c = tw_member_collective(w->in, m);
	const char *text;
	struct sum *sum;
	struct key key;
	uint32_t g;
	size_t len;

	if (!sync->sound) {
		w->unsound++;
		return 0;
	}
	memset(&key, 0, sizeof(key));
	text = tw_collective_label(rank, c, &len);
	key.name = len ? tw_pool_intern(&w->texts, text, len) : 0;
	text = tw_collective_text(rank, c, TW_COLLECTIVE_DTYPE, &len);
	key.dtype = known(w, text, len);
	text = tw_collective_text(rank, c, TW_COLLECTIVE_IN_NELEMS, &len);
	key.nelems = known(w, text, len);
	g = tw_groups_add(&w->groups, &key);
	if (g == TW_NO_GROUP || w->texts.failed)
		return TRAWL_ENOMEM;
	sum = tw_groups_value(&w->groups, g);
	if (!sum->count++)
		sum->first = w->count;
	sum->latency_ns += sync->latency_ns;
	sum->wait_ns += sync->wait_ns;
	sum->dur_ns += sync->dur_ns;
	sum->transfer_ns += sync->transfer_ns;
	w->of[w->count] = g;
	w->syncs[w->count++] = *sync;
	return 0;
}

static void set_times(struct work *w, struct trawl_table *table, size_t row, size_t column,
		      uint32_t g, size_t field)
{
	uint64_t first = w->members.first[g], n = w->members.first[g + 1] - first, i;
	struct tw_stats stats;

	for (i = 0; i < n; i++)
		memcpy(&w->times[i], (const char *)&w->syncs[w->members.list[first + i]] + field,
		       sizeof(*w->times));
	stats = tw_stats_of(w->times, n);
	tw_set_times(table, row, column, &stats);
}

static void set_rates(struct work *w, struct trawl_table *table, size_t row, size_t column,
		      uint32_t g,
		      double (*rate)(const struct tw_ranks_input *, const struct tw_sync *))
{
	uint64_t first = w->members.first[g], n = w->members.first[g + 1] - first, i;
	struct tw_real_stats stats;

	for (i = 0; i < n; i++)
		w->rates[i] = rate(w->in, &w->syncs[w->members.list[first + i]]);
	stats = tw_real_stats_of(w->rates, n);
	tw_set_reals(table, row, column, &stats);
}

static void set_key(const struct work *w, struct trawl_table *table, size_t row, size_t column,
		    uint32_t id)
{
	size_t len;
	const char *text = tw_pool_text(&w->texts, id, &len);

	if (len)
		tw_table_set_text(table, row, column, text, len);
}

static int add_kind_row(void *context, struct trawl_table *table, uint32_t g)
{
	struct work *w = context;
	const struct key *key = tw_groups_key(&w->groups, g);
	const struct sum *sum = tw_groups_value(&w->groups, g);
	const struct tw_sync *first = &w->syncs[sum->first];
	const struct tw_match_member *m = tw_match_members(w->in, first->match);
	const struct tw_rank *rank = tw_member_rank(w->in, m);
	const struct tw_collective *c = tw_member_collective(w->in, m);
	const char *group = w->in->matches->groups[first->match->group].name;
	size_t row = tw_table_add_row(table);

	set_key(w, table, row, NAME, key->name);
	set_key(w, table, row, DTYPE, key->dtype);
	set_key(w, table, row, IN_NELEMS, key->nelems);
	tw_table_set_text_borrowed(table, row, GROUP, group, strlen(group));
	tw_set_collective_arg(table, row, GROUP_SIZE, rank, c, TW_COLLECTIVE_GROUP_SIZE);
	tw_table_set_real(table, row, FULL_MB, tw_sync_megabytes(w->in, first));
	set_times(w, table, row, LATENCY, g, offsetof(struct tw_sync, latency_ns));
	set_times(w, table, row, START_SKEW, g, offsetof(struct tw_sync, start_skew_ns));
	set_times(w, table, row, END_SKEW, g, offsetof(struct tw_sync, end_skew_ns));
	set_rates(w, table, row, BANDWIDTH, g, tw_sync_bandwidth);
	set_rates(w, table, row, BUS_BANDWIDTH, g, tw_sync_bus_bandwidth);
	tw_table_set_integer(table, row, COUNT, (int64_t)sum->count);
	tw_set_sum(table, row, TOTAL_LATENCY, sum->latency_ns);
	tw_set_sum(table, row, TOTAL_WAIT, sum->wait_ns);
	tw_set_sum(table, row, TOTAL_TIME, sum->dur_ns);
	tw_set_percent(table, row, WAIT_SHARE, (double)sum->wait_ns, (double)sum->dur_ns);
	tw_set_us(table, row, MEAN_TRANSFER, (double)sum->transfer_ns / (double)sum->count);
	if (first->kind)
		tw_table_set_text_borrowed(table, row, KIND, first->kind, strlen(first->kind));
	tw_set_rank_text(table, row, KERNEL, rank, rank->kinds[c->kind].kernel);
	return 0;
}

static struct tw_order by_latency(void *context, uint32_t g)
{
	struct work *w = context;
	const struct sum *sum = tw_groups_value(&w->groups, g);

	return (struct tw_order){ .value = sum->latency_ns, .tie = g };
}

static int collect(struct work *w)
{
	const struct trawl_allocator *a = w->in->allocator;
	size_t room;
	int status;

	tw_visit_syncs(w->in, count_sync, w);
	room = w->capacity + 1;
	w->of = tw_alloc_array(a, room, sizeof(*w->of));
	w->syncs = tw_alloc_array(a, room, sizeof(*w->syncs));
	w->times = tw_alloc_array(a, room, sizeof(*w->times));
	w->rates = tw_alloc_array(a, room, sizeof(*w->rates));
	if (!w->of || !w->syncs || !w->times || !w->rates)
		return TRAWL_ENOMEM;
	status = tw_visit_syncs(w->in, add_sync, w);
	if (!status && tw_members_build(&w->members, w->of, w->count, w->groups.count, a))
		status = TRAWL_ENOMEM;
	return status;
}

static int add_kinds(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, by_latency, add_kind_row, NULL };

	tw_groups_init_values(&w.groups, sizeof(struct key), sizeof(struct sum), in->allocator);
	if (tw_pool_init(&w.texts, in->allocator) || collect(&w))
		return TRAWL_ENOMEM;
	tw_note_unsound(table, w.unsound);
	return tw_add_in_order(table, w.groups.count, &rows, in->allocator);
}

const struct tw_ranks_table tw_ranks_table_nccl_summary_implicit_sync = {
	TW_TABLE("nccl_summary_implicit_sync", "synchronizing collectives, by name, type and size",
		 columns, .keep_empty = true),
	.fill = add_kinds,
};
