/*
 * Events that were recorded twice: by two profilers at once, or by a trace that was joined with
 * itself.  One of each counts.
 */
#ifndef TW_DERIVE_REPEATS_H
#define TW_DERIVE_REPEATS_H

#include "store/trace.h"

/*
 * Drops from a list of events, sorted by start, those that are an earlier one again, and counts
 * them: GPU events of one stream with the same name, times and correlation id; operations, calls and
 * functions of Python of one thread with the same name, times and id; where times are not whole
 * microseconds, ranges and calls without an id, if they last.  Ends of arrows with the same
 * place and id are dropped, too.  GPU events without length in a trace of whole microseconds stay,
 * since nodes of a graph look so; events with different graph nodes stay too.  0, or -1: out of
 * memory.
 */
int tw_repeats_drop(const struct trawl_trace *trace, uint32_t *list, uint64_t *count,
		    struct tw_quality *quality,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/*
 * The first of two or more events of a list in order of start, from `from` on, that start
 * together; *end is after the last of them.  Both are `count` when there are none.
 */
uint64_t tw_find_tie(const struct trawl_trace *trace, const uint32_t *list, uint64_t from,
		     uint64_t count, uint64_t *end);

#endif
