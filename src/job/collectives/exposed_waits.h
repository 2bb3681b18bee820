/*
 * Exposed communication of each rank, split: time in which it only waits for a rank that has not come
 * yet, and the rest, in which data moves.  Of ranks that were loaded with their exposed stretches.
 */
#ifndef TW_JOB_COLLECTIVES_EXPOSED_WAITS_H
#define TW_JOB_COLLECTIVES_EXPOSED_WAITS_H

#include "job/collectives/syncing.h"

/* `ns` that one waits for another in all; both are indexes of job->ranks. */
typedef void tw_visit_exposed_wait(void *context, uint32_t waiting, uint32_t late, int64_t ns);

/*
 * Visits the pairs, by waiting rank, then late rank.  Where collectives run side by side, a rank waits
 * as long as none transfers, and for whom it will wait longest.  0 or TRAWL_ENOMEM.
 */
int tw_exposed_waits(const struct tw_ranks_input *in, tw_visit_exposed_wait *visit,
		     void *context) TRAWL_MUST_CHECK;

#endif
