/*
 * The kernels of a group of operations, position by position, as a list in Python's notation:
 * what TraceLens writes as kernel_details_summary and trunc_kernel_details.
 */
#ifndef TW_ANALYSIS_OPS_KERNEL_DETAILS_H
#define TW_ANALYSIS_OPS_KERNEL_DETAILS_H

#include "analysis/groups.h"
#include "derive/derived.h"
#include "text/str.h"

/*
 * Over the operations `list[0..count)`, whose GPU events are the members of `gpu`: those with as
 * many as the first that has any are compared position by position.  `full` and `short_form` get the two texts.  0, or -1 out of memory.
 */
int tw_kernel_details(const struct tw_derived *derived, const struct tw_members *gpu,
		      const uint32_t *list, uint64_t count, struct tw_str *full,
		      struct tw_str *short_form) TRAWL_MUST_CHECK;

#endif
