/*
 * GPU events without a recorded launch in a view by launch: they go by the time of their start,
 * unless their ids show that they were launched before that.
 */
#ifndef TW_DERIVE_UNLAUNCHED_H
#define TW_DERIVE_UNLAUNCHED_H

#include "derive/derived.h"

/*
 * Gives each such event that starts in the view by time to a step: `owner` by GPU event, `reach` by
 * step, which is of what was launched and grows.  0 or -1.
 */
int tw_take_unlaunched(struct tw_derived *d, uint32_t *owner,
		       struct tw_interval *reach) TRAWL_MUST_CHECK;

#endif
