/* Of ranges of time that may nest and cross, the innermost one around a moment. */
#ifndef TW_BASE_INNERMOST_H
#define TW_BASE_INNERMOST_H

#include "base/intervals.h"

#define TW_INNERMOST_NONE UINT32_MAX

/*
 * found[i] is the index of the shortest span that holds moments[i], both ends included; of equally long ones that with
 * the later start, then the later index; TW_INNERMOST_NONE: none does.  Spans are in order of
 * start, moments ascending.  O((spans + moments) log spans).  0 or -1: out of memory.
 */
int tw_innermost(const struct tw_interval *spans, uint32_t span_count, const int64_t *moments,
		 size_t moment_count, uint32_t *found, const struct trawl_allocator *allocator);

#endif
