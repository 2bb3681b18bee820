/*
 * Traces of several ranks in one input: exports that recorded several processes, and merged traces
 * whose process ids begin with a mark for each rank, such as "[TP01] 4242".  Ids of launches and
 * arrows count within a part; numbers of GPUs and streams may do so too.
 */
#ifndef TW_STORE_PARTS_H
#define TW_STORE_PARTS_H

#include "store/trace.h"

/* Tracks of no part: what an export recorded of processes that are no ranks. */
#define TW_NO_PART UINT32_MAX

/* The category that exports have for the arrows that they do not record. */
#define TW_EXPORT_ARROWS "ac2g"

/*
 * Finds the parts of a merged trace by the marks of its processes, and gives devices that several
 * parts have names of their own.  Before the trace is finished; 0 or -1.
 */
int tw_trace_find_parts(struct trawl_trace *trace);

/* Room for parts and the part of each track, all TW_NO_PART; 0 or -1. */
int tw_trace_new_parts(struct trawl_trace *trace, uint32_t count);

/*
 * One part of a finished trace as a trace of its own, which shares texts and arguments with it and
 * has to go first: tw_trace_free_part().  NULL: out of memory.
 */
struct trawl_trace *tw_trace_part(const struct trawl_trace *trace, uint32_t part);
void tw_trace_free_part(struct trawl_trace *part);

/* The part of an event, 0 where the trace has only one. */
static inline uint32_t tw_part_of(const struct trawl_trace *trace, uint64_t event)
{
	return trace->part_of_track ? trace->part_of_track[trace->events.track[event]] : 0;
}

/* Number of parts to go through: one of a trace that has no others. */
static inline uint32_t tw_part_count(const struct trawl_trace *trace)
{
	return trace->part_count ? trace->part_count : 1;
}

#endif
