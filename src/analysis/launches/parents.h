/*
 * What a kernel belongs to, for tables by kernel: the nearest operation above its launch call,
 * else the call itself.
 */
#ifndef TW_ANALYSIS_LAUNCHES_PARENTS_H
#define TW_ANALYSIS_LAUNCHES_PARENTS_H

#include "analysis/launches/launchers.h"

struct tw_parents {
	const struct tw_derived *derived;
	const struct tw_categories *categories;
	uint32_t *first_gpu; /* by host node: its first GPU event that does not communicate */
	bool *is_graph;	     /* by text id, of host events: named as a launch of a graph */
};

struct tw_parent {
	uint32_t node;	/* operation or call, TW_NONE: no recorded launch */
	uint32_t event; /* its event */
	bool is_op;
	const char *category; /* NULL: no recorded launch */
};

/*
 * `launchers` must outlive *parents, which may then be asked by several threads; what they take is
 * left to the allocator's scope.
 */
int tw_parents_init(struct tw_parents *parents, const struct tw_derived *derived,
		    const struct tw_launchers *launchers,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
struct tw_parent tw_parent_of(const struct tw_parents *parents, uint64_t gpu);

#endif
