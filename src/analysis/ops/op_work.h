/*
 * Which operations account for GPU work, each GPU event under at most one: the outermost that has a
 * cost model, else the one that launches.  Source: TraceLens' unified table.
 */
#ifndef TW_ANALYSIS_OPS_OP_WORK_H
#define TW_ANALYSIS_OPS_OP_WORK_H

#include "analysis/ops/modelled.h"

/* A host node with all GPU events under it; `category` NULL: by its name. */
typedef void tw_op_work_row(void *context, uint64_t node, uint32_t work, const char *category);

/* In order of the host; what it takes is left to the allocator's scope.  0 or -1: out of memory. */
int tw_op_work_visit(const struct tw_derived *derived, const struct tw_modelled *modelled,
		     tw_op_work_row *row, void *context,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
