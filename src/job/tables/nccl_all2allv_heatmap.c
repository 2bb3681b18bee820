/*
 * all_to_allv data sent between ranks. Source: TraceLens, except that the destination is the global
 * rank, not the index in the process group, where the group's ranks are recorded.
 */
#include "job/collectives/exchange.h"

#include "analysis/groups.h"
#include "analysis/order.h"
#include "text/rank_list.h"
#include "job/tables/tables.h"

#include <string.h>

enum { SOURCE, DESTINATION, TOTAL, MEAN, COUNT, SPAN };

static const struct trawl_column columns[] = {
	[SOURCE] = TW_INTEGER(TW_COL_SRC_RANK, 8, "sending rank"),
	[DESTINATION] =
		TW_INTEGER(TW_COL_DST_RANK, 8,
			   "receiving rank; its index in the process group where the group's "
			   "ranks are not recorded"),
	[TOTAL] = TW_REAL(TW_COL_TOTAL_SENT_MB, "MB", 3, 14,
			  "sum of In split size x bytes of the type / 2^20"),
	[MEAN] = TW_REAL("avg_sent_MB", "MB", 3, 14, "mean of one all_to_allv"),
	[COUNT] = TW_INTEGER("count", 8, "number of all_to_allv"),
	[SPAN] = TW_TEXT(TW_COL_NODE_SPAN, 12,
			 "intra_node, inter_node, or unknown: whether both are on one node"),
};

struct pair {
	int64_t source, destination;
};

struct sent {
	double megabytes;
	uint64_t count;
};

struct work {
	const struct tw_ranks_input *in;
	struct tw_groups pairs;
	bool unplaced; /* a group's ranks are not recorded, or not as many as there are splits */
};

static int add_splits(struct work *w, const struct tw_rank *rank, const struct tw_collective *c)
{
	size_t dtype_len, split_len, i;
	const char *dtype = tw_collective_text(rank, c, TW_COLLECTIVE_DTYPE, &dtype_len);
	const char *split = tw_collective_text(rank, c, TW_COLLECTIVE_IN_SPLIT, &split_len);
	double bytes = tw_dtype_bytes(dtype, dtype_len);
	struct tw_rank_list splits, ranks;
	int status = 0;

	tw_rank_list_parse(&splits, split, w->in->allocator);
	tw_rank_list_parse(&ranks, tw_collective_text(rank, c, TW_COLLECTIVE_GROUP_RANKS, NULL),
			   w->in->allocator);
	if (splits.failed || ranks.failed)
		status = TRAWL_ENOMEM;
	for (i = 0; !status && splits.whole && bytes > 0 && i < splits.count; i++) {
		bool placed = ranks.whole && ranks.count == splits.count;
		struct pair pair = { rank->rank, placed ? ranks.ranks[i] : (int64_t)i };
		uint32_t p = tw_groups_add(&w->pairs, &pair);
		struct sent *sent;

		w->unplaced |= !placed;
		if (p == TW_NO_GROUP) {
			status = TRAWL_ENOMEM;
			break;
		}
		sent = tw_groups_value(&w->pairs, p);
		sent->megabytes += (double)splits.ranks[i] * bytes / 1048576;
		sent->count++;
	}
	tw_rank_list_release(&splits);
	tw_rank_list_release(&ranks);
	return status;
}

static int add_all(struct work *w)
{
	const struct trawl_job *job = w->in->job;
	uint64_t i;
	size_t r;
	int status = 0;

	for (r = 0; !status && r < job->count; r++)
		for (i = 0; !status && i < job->ranks[r].collective_count; i++) {
			const struct tw_collective *c = &job->ranks[r].collectives[i];

			if (tw_is_all_to_allv(&job->ranks[r], c))
				status = add_splits(w, &job->ranks[r], c);
		}
	return status;
}

static int add_pair_row(void *context, struct trawl_table *table, uint32_t p)
{
	struct work *w = context;
	const struct pair *pair = tw_groups_key(&w->pairs, p);
	const struct sent *sent = tw_groups_value(&w->pairs, p);
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, SOURCE, pair->source);
	tw_table_set_integer(table, row, DESTINATION, pair->destination);
	tw_table_set_real(table, row, TOTAL, sent->megabytes);
	tw_table_set_real(table, row, MEAN, sent->megabytes / (double)sent->count);
	tw_table_set_integer(table, row, COUNT, (int64_t)sent->count);
	tw_table_set_str(table, row, SPAN,
			 w->unplaced ? "unknown" :
				       tw_job_span(w->in->job, pair->source, pair->destination));
	return 0;
}

/* Destinations of a source may be added out of order; pairs are distinct. */
static struct tw_order by_source_and_destination(void *context, uint32_t p)
{
	struct work *w = context;
	const struct pair *pair = tw_groups_key(&w->pairs, p);

	return (struct tw_order){ .value = -pair->source, .tie = (uint64_t)pair->destination };
}

static int add_pairs(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, by_source_and_destination, add_pair_row, NULL };

	if (in->job->count > TW_EXCHANGE_PAIRS_RANKS)
		return 0;
	tw_groups_init_values(&w.pairs, sizeof(struct pair), sizeof(struct sent), in->allocator);
	if (add_all(&w))
		return TRAWL_ENOMEM;
	if (w.unplaced)
		tw_table_add_note(table, "process group ranks not recorded: using indices in the "
					 "group");
	return tw_add_in_order(table, w.pairs.count, &rows, in->allocator);
}

const struct tw_ranks_table tw_ranks_table_nccl_all2allv_heatmap = {
	TW_TABLE("nccl_all2allv_heatmap", "all_to_allv data sent between ranks", columns),
	.fill = add_pairs,
};
