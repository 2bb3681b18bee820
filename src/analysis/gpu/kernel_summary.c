/* Time of kernels by name, stream and the operation they belong to: all kernels, communication
 * and those without a recorded launch included. */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "base/alloc.h"

#include <string.h>

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
	struct tw_groups groups;
	uint32_t *of; /* by GPU event: its row, TW_NO_GROUP: no kernel */
	struct sum *sums;
	tw_wide total_ns;
};

static int group_kernels(struct work *w)
{
	const struct tw_events *events = &w->in->trace->events;
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		struct tw_parent parent;
		struct key key;

		w->of[g] = TW_NO_GROUP;
		if (tw_class(w->in->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL)
			continue;
		parent = tw_parent_of(w->in->parents, g);
		key = (struct key){
			.category = parent.category,
			.parent = parent.event == TW_NONE ? 0 : events->name[parent.event],
			.name = events->name[gpu->event[g]],
			.queue = gpu->queue[g],
			.kind = tw_gpu_category(w->in->derived, g),
		};
		w->of[g] = tw_groups_add(&w->groups, &key);
	}
	return w->groups.failed ? -1 : 0;
}

static void add_up(struct work *w)
{
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		int64_t ns = gpu->end_ns[g] - gpu->start_ns[g];
		struct sum *sum;

		if (w->of[g] == TW_NO_GROUP)
			continue;
		sum = &w->sums[w->of[g]];
		if (!sum->count || ns < sum->min_ns)
			sum->min_ns = ns;
		if (ns > sum->max_ns)
			sum->max_ns = ns;
		sum->ns += ns;
		sum->count++;
		w->total_ns += ns;
	}
}

static void add_row(const struct work *w, struct trawl_table *table, uint32_t group)
{
	const struct key *key = tw_groups_key(&w->groups, group);
	const struct tw_queue *queue = &w->in->derived->gpu.queues[key->queue];
	const struct sum *sum = &w->sums[group];
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
}

static int fill(struct work *w, struct trawl_table *table)
{
	const struct trawl_allocator *a = w->in->allocator;
	uint32_t count = w->groups.count, g;
	struct tw_order *order = tw_alloc_array(a, (size_t)count + 1, sizeof(*order));

	if (!order)
		return -1;
	for (g = 0; g < count; g++) {
		const struct key *key = tw_groups_key(&w->groups, g);

		/* Streams come in order: groups of equal texts keep theirs. */
		order[g] = (struct tw_order){ .value = w->sums[g].ns,
					      .texts = { key->name, key->parent },
					      .tie = key->queue,
					      .index = g };
	}
	tw_order_sort(order, count, &w->in->trace->texts);
	tw_table_reserve(table, count);
	for (g = 0; g < count; g++)
		add_row(w, table, order[g].index);
	tw_free(a, order, ((size_t)count + 1) * sizeof(*order));
	return 0;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	size_t of_bytes = (in->derived->gpu.count + 1) * sizeof(uint32_t);
	struct work w = { .in = in };
	int status = TRAWL_ENOMEM;

	tw_groups_init(&w.groups, sizeof(struct key), a);
	w.of = tw_alloc(a, of_bytes);
	if (w.of && !group_kernels(&w)) {
		w.sums = tw_alloc_array(a, (size_t)w.groups.count + 1, sizeof(*w.sums));
		if (w.sums) {
			add_up(&w);
			status = fill(&w, table) ? TRAWL_ENOMEM : 0;
		}
		tw_free(a, w.sums, ((size_t)w.groups.count + 1) * sizeof(*w.sums));
	}
	tw_groups_release(&w.groups);
	tw_free(a, w.of, of_bytes);
	return status;
}

const struct tw_analysis tw_analysis_kernel_summary = {
	TW_TABLE("kernel_summary", "time of kernels by name, stream and operation", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
