/*
 * What activation checkpointing costs: operators of forward passes that are run again in the backward
 * pass, beside their time in the forward pass.
 */
#include "analysis/sums.h"

enum { OPERATOR, FIRST, AGAIN, OF_GPU, EVENTS };

static const struct trawl_column columns[] = {
	[OPERATOR] = TW_TEXT("operator", 40, "operator that launched it, or call",
			     .over_ranks = TRAWL_KEY),
	[FIRST] = TW_MS(TW_COL_FORWARD_MS, 14,
			"sum of GPU events of the operator in forward passes, of all modules",
			.over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[AGAIN] = TW_MS(TW_COL_RECOMPUTE_MS, 14, "the same in forward passes that are run again",
			.over_ranks = TRAWL_TIME, .values = ">=0"),
	[OF_GPU] = TW_PERCENT_2(TW_COL_GPU_TIME_PERCENT, 12,
				"share of recompute in the durations of all GPU events",
				.over_ranks = TRAWL_SHARE, .values = "0..100"),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10, "kernels, copies and memsets that ran again",
			      .over_ranks = TRAWL_COUNT, .values = ">=0"),
};

struct operator
{
	struct tw_sum again;
	tw_wide first_ns;
};

static void set_operator(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			 const void *key, const void *value)
{
	const struct operator* op = value;

	tw_set_name(table, row, OPERATOR, sums->in->trace, *(const uint32_t *)key);
	tw_set_sum(table, row, FIRST, op->first_ns);
	tw_set_sum(table, row, AGAIN, op->again.ns);
	tw_set_percent(table, row, OF_GPU, (double)op->again.ns, (double)sums->in->who->gpu_ns);
	tw_table_set_integer(table, row, EVENTS, op->again.count);
}

static int run_recompute(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_derived *d = in->derived;
	struct tw_sums sums;
	uint64_t g;

	tw_sums_init(&sums, in, sizeof(uint32_t), sizeof(struct operator));
	for (g = 0; g < d->gpu.count; g++) {
		const struct tw_attribution *a = tw_attribution_of_gpu(in->who, g);
		int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];
		struct operator* op;
		uint32_t name;

		if (!a || a->pass == TW_PASS_BACKWARD)
			continue;
		name = tw_launching_name(d, g);
		if (a->pass == TW_PASS_RECOMPUTE)
			tw_sums_add(&sums, &name, ns, d->gpu.event[g]);
		else if ((op = tw_groups_at(&sums.groups, &name)))
			op->first_ns += ns;
	}
	return tw_sums_add_rows(&sums, table, set_operator, NULL);
}

const struct tw_analysis tw_analysis_recompute = {
	TW_TABLE("recompute",
		 "GPU time of forward passes that are run again (activation checkpointing)",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_WHO,
	.run = run_recompute,
};
