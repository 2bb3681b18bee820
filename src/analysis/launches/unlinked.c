/* GPU work without a recorded launch: it belongs to no operation, but it takes time. */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "base/alloc.h"

enum { NAME, KIND, DEVICE, STREAM, COUNT, SUM, OF_TOTAL };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 60, "name of the GPU event", .over_ranks = TRAWL_KEY),
	[KIND] = TW_TEXT("kind", 14, "compute, communication or copy", .over_ranks = TRAWL_KEY),
	[DEVICE] = TW_ID("device", 8, "device it ran on"),
	[STREAM] = TW_ID("stream", 8, "stream it ran on", .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER("count", 10, "how many", .over_ranks = TRAWL_COUNT),
	[SUM] = TW_MS("time (ms)", 14, "time of all", .over_ranks = TRAWL_TIME),
	[OF_TOTAL] = TW_PERCENT_2("time (% of total)", 12, "share of total_time of gpu_timeline",
				  .over_ranks = TRAWL_SHARE),
};

struct key {
	uint32_t name, queue, bucket;
};

struct sum {
	tw_wide ns;
	int64_t count;
	uint64_t first;
};

static struct key key_of(const struct tw_analysis_input *in, uint64_t g)
{
	const struct tw_gpu *gpu = &in->derived->gpu;

	return (struct key){ in->trace->events.name[gpu->event[g]], gpu->queue[g], gpu->bucket[g] };
}

static void add_row(const struct tw_analysis_input *in, struct trawl_table *table,
		    const struct key *key, const struct sum *sum)
{
	static const char *const kinds[TW_BUCKETS] = { "compute", "communication", "copy" };
	const struct tw_queue *queue = &in->derived->gpu.queues[key->queue];
	size_t row = tw_table_add_row(table);

	tw_set_name(table, row, NAME, in->trace, key->name);
	tw_table_set_str(table, row, KIND, kinds[key->bucket]);
	tw_set_code(table, row, DEVICE, in->trace, queue->device);
	tw_set_code(table, row, STREAM, in->trace, queue->stream);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_sum(table, row, SUM, sum->ns);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->ns, (double)in->timeline->total_ns);
}

static int fill(const struct tw_analysis_input *in, struct trawl_table *table,
		struct tw_groups *groups)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	size_t n = (size_t)groups->count + 1;
	struct sum *sums = tw_alloc_array(in->allocator, n, sizeof(*sums));
	struct tw_order *order = tw_alloc_array(in->allocator, n, sizeof(*order));
	uint64_t g;
	uint32_t i;

	if (sums && order) {
		for (g = 0; g < gpu->count; g++) {
			struct key key = key_of(in, g);
			struct sum *sum;

			if (gpu->launch[g] != TW_NONE)
				continue;
			sum = &sums[tw_groups_add(groups, &key)];
			if (!sum->count++ || gpu->event[g] < sum->first)
				sum->first = gpu->event[g];
			sum->ns += gpu->end_ns[g] - gpu->start_ns[g];
		}
		for (i = 0; i < groups->count; i++)
			order[i] = (struct tw_order){ .value = sums[i].ns,
						      .tie = sums[i].first,
						      .index = i };
		tw_order_sort(order, groups->count, NULL);
		for (i = 0; i < groups->count; i++)
			add_row(in, table, tw_groups_key(groups, order[i].index),
				&sums[order[i].index]);
	}
	tw_free(in->allocator, sums, n * sizeof(*sums));
	tw_free(in->allocator, order, n * sizeof(*order));
	return sums && order ? 0 : TRAWL_ENOMEM;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct tw_groups groups;
	int status;
	uint64_t g;

	tw_groups_init(&groups, sizeof(struct key), in->allocator);
	for (g = 0; g < gpu->count; g++) {
		struct key key = key_of(in, g);

		if (gpu->launch[g] == TW_NONE)
			tw_groups_add(&groups, &key);
	}
	status = groups.failed ? TRAWL_ENOMEM : fill(in, table, &groups);
	tw_groups_release(&groups);
	return status;
}

const struct tw_analysis tw_analysis_unlinked = {
	TW_TABLE("unlinked", "GPU work without a recorded launch", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
