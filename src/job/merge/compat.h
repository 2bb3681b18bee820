/*
 * The merge of merge_gpu_trace_ranks.py, event for event, with what is wrong with it
 * (docs/DEVIATIONS.md): for those who compare with what it wrote.
 */
#ifndef TW_JOB_MERGE_COMPAT_H
#define TW_JOB_MERGE_COMPAT_H

#include "text/str.h"
#include "trawl/error.h"

/* Ranks that it looks for when not told. */
#define TW_MERGE_COMPAT_RANKS 8

struct tw_merge_compat {
	const char *directory, *output, *trace_name;
	unsigned ranks;
};

/* What it says goes to `said`, also when it fails.  The output is none of the traces. */
int tw_merge_compat(const struct tw_merge_compat *compat, struct tw_str *said,
		    const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
