/* Made from data/rules.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_rule tw_rules[] = {
	{ "gemm", "tiny_batched", "{count} calls of {mean_us} µs each: the GPU cannot parallelize work this small",
	  "Batch GEMMs together using torch.bmm or grouped operations",
	  "If batching is more than 5x slower than expected, investigate kernel issues",
	  2, { { TW_FACT_count, TW_OVER, 1000 }, { TW_FACT_mean_us, TW_BELOW, 10 } } },
	{ "fusion", "chain", "{chain_count} elementwise, reducing or normalizing operations next to each other take {chain_us} µs",
	  NULL,
	  NULL,
	  1, { { TW_FACT_chain_count, TW_AT_LEAST, 3 } } },
	{ "fusion", "unfused_attention", "a softmax between two matrix products: attention that is not fused",
	  NULL,
	  NULL,
	  1, { { TW_FACT_unfused_attention, TW_IS, 1 } } },
};

const size_t tw_rule_count = 3;
