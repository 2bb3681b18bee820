/* Kernels by name, whichever stream and operator they belong to. */
#include "analysis/spread.h"
#include "analysis/who/grouping.h"

enum { NAME, COUNT, SPREAD, CATEGORY = SPREAD + TW_SPREAD_COLUMNS };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("kernel", 60, "kernel name", .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER("count", 8, "kernels of this name", .over_ranks = TRAWL_COUNT,
			     .values = "!>=1"),
	TW_SPREAD_COLUMN_LIST(SPREAD, "duration"),
	[CATEGORY] = TW_TEXT("category", 14, "category of the first of them, from the name",
			     .over_ranks = TRAWL_SAME),
};

struct key {
	uint32_t name, group;
};

static uint32_t name_of(const void *key)
{
	return ((const struct key *)key)->name;
}

static void set_kernels(const struct tw_spread *spread, struct trawl_table *table, size_t row,
			const void *of_key, const void *value, uint64_t count)
{
	const struct tw_spread_sum *sum = value;
	const struct key *key = of_key;

	tw_set_name(table, row, NAME, spread->in->trace, key->name);
	tw_table_set_integer(table, row, COUNT, (int64_t)count);
	tw_table_set_str(table, row, CATEGORY, sum->category);
	tw_set_group(spread->in, table, row, key->group);
}

static int run_kernels(const struct tw_analysis_input *in, struct trawl_table *table)
{
	static const struct tw_spread_rows rows = { name_of, set_kernels, SPREAD };
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct tw_spread spread;
	uint64_t g;

	if (tw_spread_init(&spread, in, sizeof(struct key), sizeof(struct tw_spread_sum),
			   gpu->count))
		return TRAWL_ENOMEM;
	for (g = 0; g < gpu->count; g++) {
		const struct key key = { in->trace->events.name[gpu->event[g]],
					 tw_group_of_gpu(in, g) };
		struct tw_spread_sum *sum;

		if (tw_class(in->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL)
			continue;
		sum = tw_spread_add(&spread, &key, gpu->end_ns[g] - gpu->start_ns[g]);
		if (sum && !sum->category)
			sum->category = tw_kernel_category_names[tw_gpu_category(in->derived, g)];
	}
	return tw_spread_add_rows(&spread, table, &rows);
}

const struct tw_analysis tw_analysis_kernels = {
	TW_TABLE("kernels", "kernels by name", columns),
	.needs = TW_NEEDS_GPU | TW_GROUPS,
	.run = run_kernels,
};
