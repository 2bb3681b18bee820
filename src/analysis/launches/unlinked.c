/* GPU work without a recorded launch: it belongs to no operation, but it takes time. */
#include "analysis/sums.h"

enum { NAME, KIND, DEVICE, STREAM, COUNT, SUM, OF_TOTAL };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 60, "GPU event name", .over_ranks = TRAWL_KEY),
	[KIND] = TW_TEXT("kind", 14, "compute, communication or copy", .over_ranks = TRAWL_KEY),
	[DEVICE] = TW_ID("device", 8, "device"),
	[STREAM] = TW_ID("stream", 8, "stream", .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER("count", 10, "number of events", .over_ranks = TRAWL_COUNT),
	[SUM] = TW_MS(TW_COL_TIME_IN_MS, 14, "sum of durations", .over_ranks = TRAWL_TIME),
	[OF_TOTAL] = TW_PERCENT_2("time (% of total)", 12, "share of total_time of gpu_timeline",
				  .over_ranks = TRAWL_SHARE),
};

struct key {
	uint32_t name, queue, bucket;
};

static void set_events(const struct tw_sums *sums, struct trawl_table *table, size_t row,
		       const void *of_key, const void *value)
{
	static const char *const kinds[TW_BUCKETS] = { "compute", "communication", "copy" };
	const struct tw_analysis_input *in = sums->in;
	const struct key *key = of_key;
	const struct tw_queue *queue = &in->derived->gpu.queues[key->queue];
	const struct tw_sum *sum = value;

	tw_set_name(table, row, NAME, in->trace, key->name);
	tw_table_set_str(table, row, KIND, kinds[key->bucket]);
	tw_set_code(table, row, DEVICE, in->trace, queue->device);
	tw_set_code(table, row, STREAM, in->trace, queue->stream);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_sum(table, row, SUM, sum->ns);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->ns, (double)in->timeline->total_ns);
}

static int run_unlinked(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct tw_sums sums;
	uint64_t g;

	tw_sums_init(&sums, in, sizeof(struct key), sizeof(struct tw_sum));
	for (g = 0; g < gpu->count; g++) {
		const struct key key = { in->trace->events.name[gpu->event[g]], gpu->queue[g],
					 gpu->bucket[g] };

		if (gpu->launch[g] == TW_NONE)
			tw_sums_add(&sums, &key, gpu->end_ns[g] - gpu->start_ns[g], gpu->event[g]);
	}
	return tw_sums_add_rows(&sums, table, set_events, NULL);
}

const struct tw_analysis tw_analysis_unlinked = {
	TW_TABLE("unlinked", "GPU events with no matching launch", columns),
	.needs = TW_NEEDS_GPU,
	.run = run_unlinked,
};
