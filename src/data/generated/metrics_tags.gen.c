/* Made from data/metrics_tags.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_metrics_tag tw_metrics_tags[] = {
	{ "forward", TW_METRICS_COMPUTE },
	{ "backward", TW_METRICS_COMPUTE },
	{ "all_gather", TW_METRICS_COMMUNICATION },
	{ "reduce_scatter", TW_METRICS_COMMUNICATION },
	{ "all_reduce", TW_METRICS_COMMUNICATION },
	{ "optimizer", TW_METRICS_OPTIMIZER },
	{ "grad_clip", TW_METRICS_OPTIMIZER },
	{ "prefetch", TW_METRICS_PREFETCH },
};

const size_t tw_metrics_tag_count = 8;
