/* Short kernels by operation, arguments and name: candidates for fusing. */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "analysis/signature.h"
#include "base/alloc.h"

#include <string.h>

enum { PARENT, DIMS, STRIDES, CONCRETE, NAME, SUM, COUNT, MEAN, OF_TOTAL };

static const struct trawl_column columns[] = {
	[PARENT] = TW_TEXT("Parent cpu_op", 32,
			   "operation it belongs to, else the launch call; empty: not recorded",
			   .over_ranks = TRAWL_KEY),
	[DIMS] = TW_TEXT("Input dims", 36, "shapes of its inputs", .over_ranks = TRAWL_KEY),
	[STRIDES] = TW_TEXT("Input strides", 30, "strides of its inputs", .over_ranks = TRAWL_KEY),
	[CONCRETE] = TW_TEXT("Concrete Inputs", 30, "values of inputs that are no tensors",
			     .over_ranks = TRAWL_KEY),
	[NAME] = TW_TEXT("Kernel name", 60, "name of the kernel", .over_ranks = TRAWL_KEY),
	[SUM] = TW_US("Short Kernel duration (µs) sum", 14, "time of all",
		      .over_ranks = TRAWL_TIME),
	[COUNT] = TW_INTEGER("Short Kernel count", 10, "how many", .over_ranks = TRAWL_COUNT),
	[MEAN] = TW_MEAN_US("Short Kernel duration (µs) mean", 14, "mean time",
			    .over_ranks = TRAWL_MEAN),
	[OF_TOTAL] = TW_REAL("Short Kernel duration (µs) percent of total time", "%", 3, 14,
			     "share of total_time of gpu_timeline", .over_ranks = TRAWL_SHARE),
};

struct key {
	uint32_t parent, name;
	struct tw_signature signature;
};

/* What makes a key, in numbers at hand: asked for every kernel, where a key is made once. */
struct seen {
	uint32_t parent, name, signature;
};

struct sum {
	tw_wide ns;
	int64_t count;
	uint64_t first; /* event number of the first, to order ties */
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_signatures signatures;
	struct tw_groups groups;
	struct tw_groups seen; /* each with its group */
	uint32_t *of;
	struct sum *sums;
};

static uint32_t group_of(struct work *w, const struct seen *seen)
{
	const struct tw_groups *signatures = &w->in->modelled->signatures;
	struct key key = { .parent = seen->parent, .name = seen->name };

	key.signature =
		tw_signature_repr(&w->signatures, tw_groups_key(signatures, seen->signature));
	/* Types tell nothing more here. */
	key.signature.types = 0;
	return tw_groups_add(&w->groups, &key);
}

static int group_kernels(struct work *w)
{
	const struct tw_events *events = &w->in->trace->events;
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		struct tw_parent parent;
		struct seen seen = { 0 };
		uint32_t before = w->seen.count, at;

		w->of[g] = TW_NO_GROUP;
		if (tw_class(w->in->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL ||
		    gpu->end_ns[g] - gpu->start_ns[g] >= w->in->options->short_kernel_ns)
			continue;
		parent = tw_parent_of(w->in->parents, g);
		seen.name = events->name[gpu->event[g]];
		if (parent.node != TW_NONE) {
			seen.parent = events->name[parent.event];
			seen.signature = tw_signature_at(w->in->modelled, parent.node);
		}
		at = tw_groups_add(&w->seen, &seen);
		if (w->seen.failed)
			return -1;
		if (w->seen.count != before)
			*(uint32_t *)tw_groups_value(&w->seen, at) = group_of(w, &seen);
		w->of[g] = *(const uint32_t *)tw_groups_value(&w->seen, at);
	}
	return w->groups.failed || tw_signatures_failed(&w->signatures) ? -1 : 0;
}

static void add_up(struct work *w)
{
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		struct sum *sum;

		if (w->of[g] == TW_NO_GROUP)
			continue;
		sum = &w->sums[w->of[g]];
		if (!sum->count || gpu->event[g] < sum->first)
			sum->first = gpu->event[g];
		sum->ns += gpu->end_ns[g] - gpu->start_ns[g];
		sum->count++;
	}
}

static void add_row(const struct work *w, struct trawl_table *table, uint32_t group)
{
	const struct key *key = tw_groups_key(&w->groups, group);
	const uint32_t texts[] = { key->signature.dims, key->signature.strides,
				   key->signature.concrete };
	const struct sum *sum = &w->sums[group];
	size_t row = tw_table_add_row(table), i, len;

	tw_set_name(table, row, PARENT, w->in->trace, key->parent);
	for (i = 0; i < 3; i++) {
		const char *text = tw_pool_text(&w->signatures.texts, texts[i], &len);

		if (texts[i])
			tw_table_set_text(table, row, DIMS + i, text, len);
	}
	tw_set_name(table, row, NAME, w->in->trace, key->name);
	tw_set_sum(table, row, SUM, sum->ns);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_us(table, row, MEAN, (double)sum->ns / (double)sum->count);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->ns, (double)w->in->timeline->total_ns);
}

static int fill(struct work *w, struct trawl_table *table)
{
	const struct trawl_allocator *a = w->in->allocator;
	uint32_t count = w->groups.count, g;
	struct tw_order *order = tw_alloc_array(a, (size_t)count + 1, sizeof(*order));

	if (!order)
		return -1;
	for (g = 0; g < count; g++)
		order[g] = (struct tw_order){ .value = w->sums[g].ns,
					      .tie = w->sums[g].first,
					      .index = g };
	tw_order_sort(order, count, NULL);
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
	tw_groups_init_values(&w.seen, sizeof(struct seen), sizeof(uint32_t), a);
	w.of = tw_alloc(a, of_bytes);
	if (w.of && !tw_signatures_init(&w.signatures, in->trace) && !group_kernels(&w)) {
		w.sums = tw_alloc_array(a, (size_t)w.groups.count + 1, sizeof(*w.sums));
		if (w.sums) {
			add_up(&w);
			status = fill(&w, table) ? TRAWL_ENOMEM : 0;
		}
		tw_free(a, w.sums, ((size_t)w.groups.count + 1) * sizeof(*w.sums));
	}
	tw_signatures_release(&w.signatures);
	tw_groups_release(&w.groups);
	tw_groups_release(&w.seen);
	tw_free(a, w.of, of_bytes);
	return status;
}

const struct tw_analysis tw_analysis_short_kernels_summary = {
	TW_TABLE("short_kernels_summary", "short kernels by operation, arguments and name", columns,
		 .keep_empty = true),
	.needs = TW_NEEDS_GPU | TW_NEEDS_MODELS,
	.run = run,
};
