/* Time of kernels by name, stream and the operation they belong to: all kernels, communication
 * and those without a recorded launch included. */
#include "analysis/analysis.h"

#include "analysis/groups.h"
#include "analysis/order.h"

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
	KIND
};

static const struct trawl_column columns[] = {
	[CATEGORY] = TW_TEXT("Parent op category", 18,
			     "kind of the operation it belongs to; empty: launch not recorded",
			     .over_ranks = TRAWL_KEY),
	[PARENT] = TW_TEXT("Parent cpu_op", 32, "operation it belongs to, else the launch call",
			   .over_ranks = TRAWL_KEY),
	[NAME] = TW_TEXT("Kernel name", 60, "name of the kernel", .over_ranks = TRAWL_KEY),
	[STREAM] = TW_ID("Kernel stream", 10, "stream it ran on", .over_ranks = TRAWL_KEY),
	[SUM] = TW_US("Kernel duration (µs)_sum", 16, "time of all", .over_ranks = TRAWL_TIME),
	[COUNT] =
		TW_INTEGER("Kernel duration (µs)_count", 10, "how many", .over_ranks = TRAWL_COUNT),
	[MEAN] = TW_MEAN_US("Kernel duration (µs)_mean", 14, "mean time", .over_ranks = TRAWL_MEAN),
	[MIN] = TW_US("Kernel duration (µs)_min", 14, "shortest", .over_ranks = TRAWL_LEAST),
	[MAX] = TW_US("Kernel duration (µs)_max", 14, "longest", .over_ranks = TRAWL_MOST),
	[OF_KERNELS] = TW_PERCENT_2("Percent of kernels time (%)", 12,
				    "share of the time of all kernels", .over_ranks = TRAWL_SHARE),
	[OF_TOTAL] = TW_PERCENT_2("Percent of total time (%)", 12,
				  "share of total_time of gpu_timeline; streams overlap",
				  .over_ranks = TRAWL_SHARE),
	[DEVICE] = TW_ID("Kernel device", 8, "device it ran on"),
	[KIND] = TW_TEXT("Kernel category", 14,
			 "what the kernel does, by its name; communication as in gpu_timeline",
			 .over_ranks = TRAWL_SAME),
};

struct key {
	const char *category; /* NULL: none; one of the library's texts, compared as pointers */
	uint32_t parent, name, queue, kind;
};

struct sum {
	tw_wide ns;
	int64_t count, min_ns, max_ns;
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_groups groups; /* kernels by key, each with its sum */
	tw_wide total_ns;
};

static void add_kernel(struct work *w, uint64_t g)
{
	const struct tw_events *events = &w->in->trace->events;
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	struct tw_parent parent = tw_parent_of(w->in->parents, g);
	int64_t ns = gpu->end_ns[g] - gpu->start_ns[g];
	const struct key key = {
		.category = parent.category,
		.parent = parent.event == TW_NONE ? 0 : events->name[parent.event],
		.name = events->name[gpu->event[g]],
		.queue = gpu->queue[g],
		.kind = tw_gpu_category(w->in->derived, g),
	};
	uint32_t group = tw_groups_add(&w->groups, &key);
	struct sum *sum;

	if (group == TW_NO_GROUP)
		return;
	sum = tw_groups_value(&w->groups, group);
	if (!sum->count || ns < sum->min_ns)
		sum->min_ns = ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	sum->ns += ns;
	sum->count++;
	w->total_ns += ns;
}

static int add_kernels_row(void *context, struct trawl_table *table, uint32_t group)
{
	struct work *w = context;
	const struct key *key = tw_groups_key(&w->groups, group);
	const struct tw_queue *queue = &w->in->derived->gpu.queues[key->queue];
	const struct sum *sum = tw_groups_value(&w->groups, group);
	size_t row = tw_table_add_row(table);

	if (key->category)
		tw_table_set_str(table, row, CATEGORY, key->category);
	tw_set_name(table, row, PARENT, w->in->trace, key->parent);
	tw_set_name(table, row, NAME, w->in->trace, key->name);
	tw_set_code(table, row, STREAM, w->in->trace, queue->stream);
	tw_set_sum(table, row, SUM, sum->ns);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_us(table, row, MEAN, (double)sum->ns / (double)sum->count);
	tw_table_set_integer(table, row, MIN, sum->min_ns);
	tw_table_set_integer(table, row, MAX, sum->max_ns);
	tw_set_percent(table, row, OF_KERNELS, (double)sum->ns, (double)w->total_ns);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->ns, (double)w->in->timeline->total_ns);
	tw_set_code(table, row, DEVICE, w->in->trace, queue->device);
	tw_table_set_str(table, row, KIND, tw_kernel_category_names[key->kind]);
	return 0;
}

/* Streams come in order: groups of equal texts keep theirs. */
static struct tw_order describe(void *context, uint32_t group)
{
	struct work *w = context;
	const struct key *key = tw_groups_key(&w->groups, group);
	const struct sum *sum = tw_groups_value(&w->groups, group);

	return (struct tw_order){ .value = sum->ns,
				  .texts = { key->name, key->parent },
				  .tie = key->queue };
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, describe, add_kernels_row, &in->trace->texts };
	uint64_t g;

	tw_groups_init_values(&w.groups, sizeof(struct key), sizeof(struct sum), in->allocator);
	for (g = 0; g < in->derived->gpu.count; g++)
		if (tw_class(in->trace, in->derived->gpu.event[g]) == TRAWL_CLASS_KERNEL)
			add_kernel(&w, g);
	return w.groups.failed ? TRAWL_ENOMEM :
				 tw_add_in_order(table, w.groups.count, &rows, in->allocator);
}

const struct tw_analysis tw_analysis_kernel_summary = {
	TW_TABLE("kernel_summary", "time of kernels by name, stream and operation", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
