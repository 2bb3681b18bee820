/* Who waits for whom: pairs of ranks, over the collectives that end together. */
#include "job/collectives/syncing.h"
#include "job/tables/tables.h"

#include "analysis/groups.h"
#include "analysis/order.h"
#include "base/alloc.h"

#include <string.h>

enum { WAITING, LATE, TIMES, TOTAL, MEAN, LARGEST, LARGEST_ID, SAME_NODE };

static const struct trawl_column columns[] = {
	[WAITING] = TW_INTEGER("waiting rank", 8, "rank that waits", .values = ">=0"),
	[LATE] = TW_INTEGER("late rank", 8,
			    "rank that it waits for: the one that came last; of equals the lowest",
			    .values = ">=0"),
	[TIMES] = TW_INTEGER("times", 8, "collectives it did so in", .values = ">=0"),
	[TOTAL] = TW_DECIMAL(
		"total wait (us)", "µs", 3, 1, 14,
		"sum of last start - own start, of no more than its kernel's time, on the "
		"clock that all ranks share",
		.values = ">=0"),
	[MEAN] = TW_REAL("mean wait (us)", "µs", 1, 14, "mean of that", .values = ">=0"),
	[LARGEST] =
		TW_DECIMAL("largest wait (us)", "µs", 3, 1, 14, "largest of that", .values = ">=0"),
	[LARGEST_ID] =
		TW_TEXT("largest in", 16, "collective_id of the largest; of equals the first"),
	[SAME_NODE] = TW_TEXT("node_span", 12,
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
	uint64_t unsound; /* collectives left out */
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

static const char *span_of(const struct tw_job *job, int64_t a, int64_t b)
{
	int64_t node = tw_job_node(job, a);

	if (node < 0)
		return "unknown";
	return node == tw_job_node(job, b) ? "intra_node" : "inter_node";
}

static void add_row(struct work *w, struct trawl_table *table, uint32_t p)
{
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
	tw_table_set_str(table, row, SAME_NODE, span_of(w->in->job, waiting, late));
}

static int fill(struct work *w, struct trawl_table *table)
{
	uint32_t count = w->pairs.count, p;
	size_t size = ((size_t)count + 1) * sizeof(struct tw_order);
	struct tw_order *order = tw_alloc(w->in->allocator, size);

	if (!order)
		return TRAWL_ENOMEM;
	for (p = 0; p < count; p++) {
		const struct pair *pair = tw_groups_key(&w->pairs, p);
		const struct wait *wait = tw_groups_value(&w->pairs, p);

		order[p] = (struct tw_order){
			.value = wait->total_ns,
			.tie = (uint64_t)pair->waiting << 32 | pair->late,
			.index = p,
		};
	}
	tw_order_sort(order, count, NULL);
	for (p = 0; p < count; p++)
		add_row(w, table, order[p].index);
	tw_free(w->in->allocator, order, size);
	return 0;
}

static int make(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
		const struct trawl_allocator *keep, struct trawl_table **table)
{
	struct work w = { .in = in };
	int status;

	tw_groups_init_values(&w.pairs, sizeof(struct pair), sizeof(struct wait), in->allocator);
	*table = tw_table_new(&self->table, keep);
	status = *table ? tw_visit_waits(in, add_sync, &w) : TRAWL_ENOMEM;
	if (!status)
		status = fill(&w, *table);
	if (!status)
		tw_note_unsound(*table, w.unsound);
	tw_groups_release(&w.pairs);
	return status;
}

const struct tw_ranks_table tw_ranks_table_collective_waits = {
	TW_TABLE("collective_waits", "which rank waits for which, and how long", columns),
	.make = make,
};
