/*
 * Exposed time: when GPU events of one owner, such as an operator, run and no other GPU work does.
 * Only that time is won when the owner takes less.
 */
#ifndef TW_ANALYSIS_LAUNCHES_EXPOSED_H
#define TW_ANALYSIS_LAUNCHES_EXPOSED_H

#include "derive/derived.h"

/*
 * `owner` of each GPU event is below `owners`, or TW_NONE: it hides others and is nobody's.
 * exposed_ns[owner] is set for all; 0 or -1, out of memory.
 */
int tw_exposed_times(const struct tw_derived *derived, const uint32_t *owner, uint32_t owners,
		     int64_t *exposed_ns) TRAWL_MUST_CHECK;

#endif
