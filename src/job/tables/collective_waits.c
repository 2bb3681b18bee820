/* Waits by pair of ranks, over the collectives that end together. */
#include "job/collectives/syncing.h"
#include "job/tables/tables.h"

#include "analysis/groups.h"
#include "analysis/order.h"

#include <string.h>

enum { WAITING, LATE, TIMES, TOTAL, MEAN, LARGEST, LARGEST_ID, SAME_NODE };

static const struct trawl_column columns[] = {
	[WAITING] = TW_INTEGER(TW_COL_WAITING_RANK, 8, "rank that waits", .values = ">=0"),
	[LATE] = TW_INTEGER(TW_COL_LATE_RANK, 8,
			    "rank it waits for: the last to start; lowest of equals",
			    .values = ">=0"),
	[TIMES] = TW_INTEGER("times", 8, "number of collectives with this wait", .values = ">=0"),
	[TOTAL] = TW_DECIMAL(
		TW_COL_TOTAL_WAIT_US, "µs", 3, 1, 14,
		"sum of last start - own start, at most its kernel time, on the aligned clock",
		.values = ">=0"),
	[MEAN] = TW_REAL("mean wait (us)", "µs", 1, 14, "mean of these waits", .values = ">=0"),
	[LARGEST] = TW_DECIMAL(TW_COL_LARGEST_WAIT_US, "µs", 3, 1, 14, "max of these waits",
			       .values = ">=0"),
	[LARGEST_ID] = TW_TEXT(TW_COL_LARGEST_IN, 16, "collective_id of the max; first of equals"),
	[SAME_NODE] = TW_TEXT(TW_COL_NODE_SPAN, 12,
			      "intra_node, inter_node, or unknown: whether both are on one node"),
};

struct pair {
	_Alignas(tw_wide) uint32_t waiting; /* these are indexes of ranks */
	uint32_t late;
};

struct wait {
	tw_wide total_ns;
	int64_t largest_ns;
	uint64_t largest; /* match */
	uint64_t count;
};

struct work {
	const struct tw_ranks_input *in;
	uint64_t unsound; /* skipped collectives */
	struct tw_groups pairs;
};

static int add_sync(void *context, const struct tw_sync *sync)
{
	struct work *w = context;
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	struct pair pair;
	uint32_t i;

	if (!sync->sound) {
		w->unsound++;
		return 0;
	}
	memset(&pair, 0, sizeof(pair));
	pair.late = members[sync->last].rank;
	for (i = 0; i < sync->match->count; i++) {
		int64_t ns = tw_member_wait(w->in, &members[i], sync->last_start_ns);
		struct wait *wait;
		uint32_t p;

		pair.waiting = members[i].rank;
		if (ns <= 0 || pair.waiting == pair.late)
			continue;
		p = tw_groups_add(&w->pairs, &pair);
		if (p == TW_NO_GROUP)
			return TRAWL_ENOMEM;
		wait = tw_groups_value(&w->pairs, p);
		wait->total_ns += ns;
		wait->count++;
		if (ns > wait->largest_ns) {
			wait->largest_ns = ns;
			wait->largest = (uint64_t)(sync->match - w->in->matches->matches);
		}
	}
	return 0;
}

static int add_pair_row(void *context, struct trawl_table *table, uint32_t p)
{
	struct work *w = context;
	const struct pair *pair = tw_groups_key(&w->pairs, p);
	const struct wait *wait = tw_groups_value(&w->pairs, p);
	int64_t waiting = w->in->job->ranks[pair->waiting].rank;
	int64_t late = w->in->job->ranks[pair->late].rank;
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, WAITING, waiting);
	tw_table_set_integer(table, row, LATE, late);
	tw_table_set_integer(table, row, TIMES, (int64_t)wait->count);
	tw_set_sum(table, row, TOTAL, wait->total_ns);
	tw_set_us(table, row, MEAN, (double)wait->total_ns / (double)wait->count);
	tw_table_set_integer(table, row, LARGEST, wait->largest_ns);
	tw_set_match_id(table, row, LARGEST_ID, w->in, &w->in->matches->matches[wait->largest]);
	tw_table_set_str(table, row, SAME_NODE, tw_job_span(w->in->job, waiting, late));
	return 0;
}

static struct tw_order longest_wait_first(void *context, uint32_t p)
{
	struct work *w = context;
	const struct pair *pair = tw_groups_key(&w->pairs, p);
	const struct wait *wait = tw_groups_value(&w->pairs, p);

	return (struct tw_order){ .value = wait->total_ns,
				  .tie = (uint64_t)pair->waiting << 32 | pair->late };
}

static int add_pairs(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, longest_wait_first, add_pair_row, NULL };

	tw_groups_init_values(&w.pairs, sizeof(struct pair), sizeof(struct wait), in->allocator);
	if (tw_visit_waits(in, add_sync, &w))
		return TRAWL_ENOMEM;
	tw_note_unsound(table, w.unsound);
	return tw_add_in_order(table, w.pairs.count, &rows, in->allocator);
}

const struct tw_ranks_table tw_ranks_table_collective_waits = {
	TW_TABLE("collective_waits", "wait time by pair of ranks", columns),
	.fill = add_pairs,
};
