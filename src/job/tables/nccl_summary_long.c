/*
 * Communication kernels of all ranks by rank, process group, collective, type, size and stream.
 * Source: TraceLens.  Unlike there, what is not recorded stays empty and keeps its row.
 */
#include "job/collectives/facts.h"
#include "job/tables/tables.h"

#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/alloc.h"

#include <string.h>

enum {
	RANK,
	GROUP,
	GROUP_RANKS,
	NAME,
	GROUP_SIZE,
	DTYPE,
	IN_NELEMS,
	OUT_NELEMS,
	IN_SPLIT,
	OUT_SPLIT,
	STREAM,
	IN_MB,
	OUT_MB,
	SUM,
	MEAN,
	STD,
	MIN,
	MAX,
	COUNT,
	NODE,
	SPAN,
	KIND,
	DEVICE,
	KERNEL
};

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank of the kernels"),
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[NAME] = TW_COLUMN_NAME,
	[GROUP_SIZE] = TW_COLUMN_GROUP_SIZE,
	[DTYPE] = TW_COLUMN_DTYPE,
	[IN_NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent"),
	[OUT_NELEMS] = TW_ID(TW_COL_OUT_MSG_NELEMS, 14, "elements received"),
	[IN_SPLIT] = TW_TEXT("In split size", 14, "elements sent to each rank"),
	[OUT_SPLIT] = TW_TEXT("Out split size", 14, "elements received from each rank"),
	[STREAM] = TW_ID("stream", 8, "stream"),
	[IN_MB] = TW_REAL("In msg size (MB)_first", "MB", 3, 12,
			  "elements sent x bytes of the type / 2^20"),
	[OUT_MB] = TW_REAL("Out msg size (MB)_first", "MB", 3, 12,
			   "elements received x bytes of the type / 2^20"),
	[SUM] = TW_US(TW_COL_DUR_SUM, 14, "total duration"),
	[MEAN] = TW_MEAN_US(TW_COL_DUR_MEAN, 14, "mean duration"),
	[STD] = TW_MEAN_US("dur_std", 14, "sample standard deviation"),
	[MIN] = TW_US(TW_COL_DUR_MIN, 14, "shortest"),
	[MAX] = TW_US(TW_COL_DUR_MAX, 14, "longest"),
	[COUNT] = TW_INTEGER(TW_COL_OPERATION_COUNT, 10, "number of kernels"),
	[NODE] = TW_COLUMN_NODE_ID,
	[SPAN] = TW_COLUMN_NODE_SPAN,
	[KIND] = TW_COLUMN_KIND,
	[DEVICE] = TW_ID("device", 8, "device"),
	[KERNEL] = TW_TEXT("kernel", 40, "name of the first kernel"),
};

/* What has a column; a kernel's name counts only where no name of the collective is recorded. */
struct key {
	_Alignas(tw_wide) uint32_t rank; /* index */
	uint32_t group;			 /* of the matches */
	uint32_t args[TW_COLLECTIVE_OUT_SPLIT + 1];
	uint32_t stream, device;
	const char *kind;
};

struct sum {
	tw_wide ns;
	uint64_t first; /* collective of the rank */
	uint64_t count;
	uint64_t next; /* place among the durations */
};

struct work {
	const struct tw_ranks_input *in;
	struct tw_groups groups;
	int64_t *durs; /* of all, by group */
	uint64_t count;
};

static struct key key_of(const struct work *w, uint32_t r, uint64_t i)
{
	const struct tw_rank *rank = &w->in->job->ranks[r];
	const struct tw_collective *c = &rank->collectives[i];
	const struct tw_collective_kind *kind = &rank->kinds[c->kind];
	struct key key;

	memset(&key, 0, sizeof(key));
	key.rank = r;
	key.group = w->in->matches->matches[w->in->matches->index_of[r][i]].group;
	memcpy(key.args, kind->args, sizeof(key.args));
	key.stream = kind->stream;
	key.device = kind->device;
	key.kind = kind->args[TW_COLLECTIVE_NAME] ? NULL : tw_collective_type(rank, c);
	return key;
}

/* Twice over all kernels: to count, then to lay their times beside each other. */
static int gather(struct work *w)
{
	const struct trawl_job *job = w->in->job;
	uint64_t i, place = 0;
	uint32_t r, g;

	for (r = 0; r < job->count; r++)
		for (i = 0; i < job->ranks[r].collective_count; i++) {
			struct key key = key_of(w, r, i);
			struct sum *sum;

			g = tw_groups_add(&w->groups, &key);
			if (g == TW_NO_GROUP)
				return TRAWL_ENOMEM;
			sum = tw_groups_value(&w->groups, g);
			if (!sum->count++)
				sum->first = i;
			w->count++;
		}
	w->durs = tw_alloc(w->in->allocator, (w->count + 1) * sizeof(*w->durs));
	if (!w->durs)
		return TRAWL_ENOMEM;
	for (g = 0; g < w->groups.count; g++) {
		struct sum *sum = tw_groups_value(&w->groups, g);

		sum->next = place;
		place += sum->count;
	}
	for (r = 0; r < job->count; r++)
		for (i = 0; i < job->ranks[r].collective_count; i++) {
			const struct tw_collective *c = &job->ranks[r].collectives[i];
			struct key key = key_of(w, r, i);
			struct sum *sum =
				tw_groups_value(&w->groups, tw_groups_add(&w->groups, &key));

			w->durs[sum->next++] = c->end_ns - c->start_ns;
			sum->ns += c->end_ns - c->start_ns;
		}
	return 0;
}

static void set_recorded(const struct work *w, struct trawl_table *table, size_t row,
			 const struct key *key, const struct tw_collective *c)
{
	static const int arg_columns[] = {
		[TW_COLLECTIVE_GROUP_SIZE] = GROUP_SIZE, [TW_COLLECTIVE_DTYPE] = DTYPE,
		[TW_COLLECTIVE_IN_NELEMS] = IN_NELEMS,	 [TW_COLLECTIVE_OUT_NELEMS] = OUT_NELEMS,
		[TW_COLLECTIVE_IN_SPLIT] = IN_SPLIT,	 [TW_COLLECTIVE_OUT_SPLIT] = OUT_SPLIT,
	};
	const struct tw_rank *rank = &w->in->job->ranks[key->rank];
	const struct tw_match_group *group = &w->in->matches->groups[key->group];
	const char *kind = tw_collective_type(rank, c);
	size_t arg;

	tw_table_set_integer(table, row, RANK, rank->rank);
	tw_table_set_text_borrowed(table, row, GROUP, group->name, strlen(group->name));
	tw_set_collective_arg(table, row, GROUP_RANKS, rank, c, TW_COLLECTIVE_GROUP_RANKS);
	tw_set_collective_label(table, row, NAME, rank, c);
	for (arg = TW_COLLECTIVE_GROUP_SIZE; arg <= TW_COLLECTIVE_OUT_SPLIT; arg++)
		tw_set_collective_arg(table, row, (size_t)arg_columns[arg], rank, c,
				      (enum tw_collective_arg)arg);
	tw_set_rank_text(table, row, STREAM, rank, key->stream);
	tw_set_rank_text(table, row, DEVICE, rank, key->device);
	tw_set_rank_text(table, row, KERNEL, rank, rank->kinds[c->kind].kernel);
	if (kind)
		tw_table_set_text_borrowed(table, row, KIND, kind, strlen(kind));
	tw_table_set_real(table, row, IN_MB, tw_collective_size(rank, c, TW_COLLECTIVE_IN_NELEMS));
	tw_table_set_real(table, row, OUT_MB,
			  tw_collective_size(rank, c, TW_COLLECTIVE_OUT_NELEMS));
	tw_set_node(table, row, NODE, w->in->job, rank->rank);
	tw_table_set_str(table, row, SPAN, group->span);
}

static int add_kernels_row(void *context, struct trawl_table *table, uint32_t g)
{
	struct work *w = context;
	const struct key *key = tw_groups_key(&w->groups, g);
	const struct sum *sum = tw_groups_value(&w->groups, g);
	struct tw_stats stats = tw_stats_of(&w->durs[sum->next - sum->count], sum->count);
	size_t row = tw_table_add_row(table);

	set_recorded(w, table, row, key, &w->in->job->ranks[key->rank].collectives[sum->first]);
	tw_set_sum(table, row, SUM, stats.sum);
	tw_set_us(table, row, MEAN, stats.mean);
	tw_set_us(table, row, STD, stats.std);
	tw_table_set_integer(table, row, MIN, stats.min);
	tw_table_set_integer(table, row, MAX, stats.max);
	tw_table_set_integer(table, row, COUNT, (int64_t)stats.count);
	return 0;
}

static struct tw_order by_time(void *context, uint32_t g)
{
	struct work *w = context;
	const struct sum *sum = tw_groups_value(&w->groups, g);

	return (struct tw_order){ .value = sum->ns, .tie = g };
}

static int add_kernels(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, by_time, add_kernels_row, NULL };

	tw_groups_init_values(&w.groups, sizeof(struct key), sizeof(struct sum), in->allocator);
	return gather(&w) ? TRAWL_ENOMEM :
			    tw_add_in_order(table, w.groups.count, &rows, in->allocator);
}

const struct tw_ranks_table tw_ranks_table_nccl_summary_long = {
	TW_TABLE("nccl_summary_long", "communication kernels by rank, collective, size and stream",
		 columns),
	.fill = add_kernels,
};
