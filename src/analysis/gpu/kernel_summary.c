/* Time of kernels by name, stream and the operation they belong to: all kernels, communication
 * and those without a recorded launch included. */
#include "analysis/sums.h"
#include "analysis/who/grouping.h"

enum {
	CATEGORY,
	PARENT,
	NAME,
	STREAM,
	SUM,
	COUNT,
	MEAN,
	MIN,
	MAX,
	OF_KERNELS,
	OF_TOTAL,
	DEVICE,
	KIND,
	VIA
};

static const struct trawl_column columns[] = {
	[CATEGORY] = TW_TEXT("Parent op category", 18,
			     "category of the parent operator; empty: no matching launch",
			     .over_ranks = TRAWL_KEY),
	[PARENT] = TW_TEXT("Parent cpu_op", 32, "parent operator, else the launch call",
			   .over_ranks = TRAWL_KEY),
	[NAME] = TW_TEXT(TW_COL_KERNEL_NAME, 60, "kernel name", .over_ranks = TRAWL_KEY),
	[STREAM] = TW_ID("Kernel stream", 10, "stream", .over_ranks = TRAWL_KEY),
	[SUM] = TW_US(TW_COL_KERNEL_DURATION_US_SUM, 16, "sum of durations",
		      .over_ranks = TRAWL_TIME),
	[COUNT] = TW_INTEGER(TW_COL_KERNEL_DURATION_US_COUNT, 10, "number of kernels",
			     .over_ranks = TRAWL_COUNT),
	[MEAN] = TW_MEAN_US(TW_COL_KERNEL_DURATION_US_MEAN, 14, "mean duration",
			    .over_ranks = TRAWL_MEAN),
	[MIN] = TW_US("Kernel duration (µs)_min", 14, "min duration", .over_ranks = TRAWL_MIN),
	[MAX] = TW_US("Kernel duration (µs)_max", 14, "max duration", .over_ranks = TRAWL_MAX),
	[OF_KERNELS] = TW_PERCENT_2(TW_COL_PERCENT_OF_KERNELS_TIME, 12, "share of all kernel time",
				    .over_ranks = TRAWL_SHARE),
	[OF_TOTAL] = TW_PERCENT_2("Percent of total time (%)", 12,
				  "share of total_time of gpu_timeline; streams overlap",
				  .over_ranks = TRAWL_SHARE),
	[DEVICE] = TW_ID("Kernel device", 8, "device"),
	[KIND] = TW_TEXT(TW_COL_CATEGORY_OF_KERNEL, 14,
			 "kernel category, from the kernel name; communication as in gpu_timeline",
			 .over_ranks = TRAWL_SAME),
	[VIA] = TW_VIA_COLUMN,
};

struct key {
	const char *category; /* NULL: none; one of the library's texts, compared as pointers */
	uint32_t parent, name, queue, kind, graph, group;
};

static void add_kernel(struct tw_sums *sums, uint64_t g)
{
	const struct tw_events *events = &sums->in->trace->events;
	const struct tw_gpu *gpu = &sums->in->derived->gpu;
	struct tw_parent parent = tw_parent_of(sums->in->parents, g);
	const struct key key = {
		.category = parent.category,
		.parent = parent.event == TW_NONE ? 0 : events->name[parent.event],
		.name = events->name[gpu->event[g]],
		.queue = gpu->queue[g],
		.kind = tw_gpu_category(sums->in->derived, g),
		.graph = tw_is_replayed(sums->in->derived, g),
		.group = tw_group_of_gpu(sums->in, g),
	};

	tw_sums_add(sums, &key, gpu->end_ns[g] - gpu->start_ns[g], 0);
}

static void set_kernels(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			const void *of_key, const void *value)
{
	const struct tw_analysis_input *in = sums->in;
	const struct key *key = of_key;
	const struct tw_queue *queue = &in->derived->gpu.queues[key->queue];
	const struct tw_sum *sum = value;

	if (key->category)
		tw_table_set_str(table, row, CATEGORY, key->category);
	tw_set_name(table, row, PARENT, in->trace, key->parent);
	tw_set_name(table, row, NAME, in->trace, key->name);
	tw_set_code(table, row, STREAM, in->trace, queue->stream);
	tw_set_sum(table, row, SUM, sum->ns);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_us(table, row, MEAN, (double)sum->ns / (double)sum->count);
	tw_table_set_integer(table, row, MIN, sum->min_ns);
	tw_table_set_integer(table, row, MAX, sum->max_ns);
	tw_set_percent(table, row, OF_KERNELS, (double)sum->ns, (double)sums->total_ns);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->ns, (double)in->timeline->total_ns);
	tw_set_code(table, row, DEVICE, in->trace, queue->device);
	tw_table_set_str(table, row, KIND, tw_kernel_category_names[key->kind]);
	tw_set_via(in, table, row, VIA, key->graph);
	tw_set_group(in, table, row, key->group);
}

/* Streams come in order: groups of equal texts keep theirs. */
static void order_kernels(const struct tw_sums *sums, const void *of_key, struct tw_order *order)
{
	const struct key *key = of_key;

	(void)sums;
	order->texts[0] = key->name;
	order->texts[1] = key->parent;
	order->tie = (uint64_t)key->queue << 1 | key->graph;
}

static int run_kernel_summary(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct tw_sums sums;
	uint64_t g;

	tw_sums_init(&sums, in, sizeof(struct key), sizeof(struct tw_sum));
	for (g = 0; g < in->derived->gpu.count; g++)
		if (tw_class(in->trace, in->derived->gpu.event[g]) == TRAWL_CLASS_KERNEL)
			add_kernel(&sums, g);
	return tw_sums_add_rows(&sums, table, set_kernels, order_kernels);
}

const struct tw_analysis tw_analysis_kernel_summary = {
	TW_TABLE("kernel_summary", "kernel time by kernel, stream and operator", columns),
	.needs = TW_NEEDS_GPU | TW_GROUPS,
	.run = run_kernel_summary,
};
