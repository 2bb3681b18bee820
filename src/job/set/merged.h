/* What is read as a trace and is of no rank: what a merge has written, lists of other things. */
#ifndef TW_JOB_SET_MERGED_H
#define TW_JOB_SET_MERGED_H

#include "store/trace.h"
#include "trawl/merge.h"

/* A JSON list in which nothing is an event, such as one of metrics; a broken one may be a trace. */
bool tw_is_other_list(const struct trawl_trace *trace);

/* The message where the trace of one rank is required. */
#define TW_MERGED_TRACE "merged trace, not the trace of one rank"
#define TW_OTHER_LIST "a JSON list without events: not a profiler trace"

#endif
