/* What a trace holds where no GPU event was recognised, so that silence is not taken for zero. */
#ifndef TW_ANALYSIS_NO_GPU_EVENTS_H
#define TW_ANALYSIS_NO_GPU_EVENTS_H

#include "derive/derived.h"
#include "text/str.h"

/*
 * "events with a duration: cpu_op 12, mtia_ccp_events 2, 3 without a category on process 'x'",
 * most frequent first; nothing when there are none.
 */
void tw_describe_found(const struct tw_derived *derived, struct tw_str *out);

#endif
