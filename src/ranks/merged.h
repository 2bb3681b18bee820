/* Traces that a merge of ranks has written, which are of no rank. */
#ifndef TW_RANKS_MERGED_H
#define TW_RANKS_MERGED_H

#include "store/trace.h"

/* By the names of its processes, which `trawl merge` and the script that it replaces give. */
bool tw_is_merged_trace(const struct trawl_trace *trace);

/* What is said of one where a trace of a rank is wanted. */
#define TW_MERGED_TRACE "it is a merged trace, and no trace of one rank"

#endif
