/*
 * What a kernel belongs to, for tables by kernel: the nearest operation above its launch call,
 * else the call itself.
 */
#ifndef TW_ANALYSIS_PARENTS_H
#define TW_ANALYSIS_PARENTS_H

#include "analysis/analysis.h"

struct tw_parents {
	const struct tw_analysis_input *in;
	uint64_t *first_gpu; /* by host node: its first GPU event that does not communicate */
};

struct tw_parent {
	uint64_t event; /* operation or call, TW_NONE: no recorded launch */
	bool is_op;
	const char *category; /* NULL: no recorded launch */
};

int tw_parents_init(struct tw_parents *parents,
		    const struct tw_analysis_input *in) TRAWL_MUST_CHECK;
void tw_parents_release(struct tw_parents *parents);
struct tw_parent tw_parent_of(const struct tw_parents *parents, uint64_t gpu);

#endif
