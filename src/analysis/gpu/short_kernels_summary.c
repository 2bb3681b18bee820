/* Short kernels by operation, arguments and name: candidates for fusing. */
#include "analysis/signature.h"
#include "analysis/sums.h"

enum { PARENT, DIMS, STRIDES, CONCRETE, NAME, SUM, COUNT, MEAN, OF_TOTAL };

static const struct trawl_column columns[] = {
	[PARENT] = TW_TEXT("Parent cpu_op", 32,
			   "parent operator, else the launch call; empty: no matching launch",
			   .over_ranks = TRAWL_KEY),
	[DIMS] = TW_TEXT("Input dims", 36, "shapes of the operator's inputs",
			 .over_ranks = TRAWL_KEY),
	[STRIDES] = TW_TEXT("Input strides", 30, "strides of the operator's inputs",
			    .over_ranks = TRAWL_KEY),
	[CONCRETE] = TW_TEXT(TW_COL_CONCRETE_INPUTS, 30, "values of non-tensor inputs",
			     .over_ranks = TRAWL_KEY),
	[NAME] = TW_TEXT(TW_COL_KERNEL_NAME, 60, "kernel name", .over_ranks = TRAWL_KEY),
	[SUM] = TW_US("Short Kernel duration (µs) sum", 14, "sum of durations",
		      .over_ranks = TRAWL_TIME),
	[COUNT] = TW_INTEGER("Short Kernel count", 10, "number of kernels",
			     .over_ranks = TRAWL_COUNT),
	[MEAN] = TW_MEAN_US("Short Kernel duration (µs) mean", 14, "mean duration",
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

struct work {
	struct tw_sums sums;
	struct tw_signatures signatures;
	struct tw_groups seen; /* each with its key */
};

static struct key short_kernel_key(struct work *w, const struct seen *seen)
{
	const struct tw_groups *signatures = &w->sums.in->modelled->signatures;
	struct key key = { .parent = seen->parent, .name = seen->name };

	key.signature =
		tw_signature_repr(&w->signatures, tw_groups_key(signatures, seen->signature));
	/* Types add no distinction here. */
	key.signature.types = 0;
	return key;
}

static void add_short_kernel(struct work *w, uint64_t g, int64_t ns)
{
	const struct tw_analysis_input *in = w->sums.in;
	const uint32_t *names = in->trace->events.name, *event = in->derived->gpu.event;
	struct tw_parent parent = tw_parent_of(in->parents, g);
	struct seen seen = { .name = names[event[g]] };
	struct key *key;

	if (parent.node != TW_NONE) {
		seen.parent = names[parent.event];
		seen.signature = tw_signature_at(in->modelled, parent.node);
	}
	key = tw_groups_at(&w->seen, &seen);
	if (!key)
		return;
	if (!key->name)
		*key = short_kernel_key(w, &seen);
	tw_sums_add(&w->sums, key, ns, event[g]);
}

static void set_short_kernels(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			      const void *of_key, const void *value)
{
	const struct work *w = sums->context;
	const struct key *key = of_key;
	const struct tw_sum *sum = value;

	tw_set_name(table, row, PARENT, sums->in->trace, key->parent);
	tw_set_pool_text(table, row, DIMS, &w->signatures.texts, key->signature.dims);
	tw_set_pool_text(table, row, STRIDES, &w->signatures.texts, key->signature.strides);
	tw_set_pool_text(table, row, CONCRETE, &w->signatures.texts, key->signature.concrete);
	tw_set_name(table, row, NAME, sums->in->trace, key->name);
	tw_set_sum(table, row, SUM, sum->ns);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_us(table, row, MEAN, (double)sum->ns / (double)sum->count);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->ns, (double)sums->in->timeline->total_ns);
}

static int run_short_kernels_summary(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct work w;
	uint64_t g;

	tw_sums_init(&w.sums, in, sizeof(struct key), sizeof(struct tw_sum));
	w.sums.context = &w;
	tw_groups_init_values(&w.seen, sizeof(struct seen), sizeof(struct key), in->allocator);
	if (tw_signatures_init(&w.signatures, in->trace, in->allocator))
		return TRAWL_ENOMEM;
	for (g = 0; g < gpu->count; g++) {
		int64_t ns = gpu->end_ns[g] - gpu->start_ns[g];

		if (ns < in->options->short_kernel_ns &&
		    tw_class(in->trace, gpu->event[g]) == TRAWL_CLASS_KERNEL)
			add_short_kernel(&w, g, ns);
	}
	if (w.seen.failed || tw_signatures_failed(&w.signatures))
		return TRAWL_ENOMEM;
	return tw_sums_add_rows(&w.sums, table, set_short_kernels, NULL);
}

const struct tw_analysis tw_analysis_short_kernels_summary = {
	TW_TABLE("short_kernels_summary", "short kernels by operator, arguments and kernel",
		 columns, .keep_empty = true),
	.needs = TW_NEEDS_GPU | TW_NEEDS_MODELS,
	.run = run_short_kernels_summary,
};
