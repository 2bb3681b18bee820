/*
 * Processes that a run has started and that have not ended: found through /proc, whatever process
 * group or session they have moved to.  Without /proc none is found.
 */
#ifndef TW_STUDY_RUNS_DESCENDANTS_H
#define TW_STUDY_RUNS_DESCENDANTS_H

#include "trawl/api.h"

#include <sys/types.h>

/* Children that this process had before; theirs are not touched. */
struct tw_children {
	const struct trawl_allocator *allocator;
	pid_t *pids;
	size_t count, capacity;
};

/*
 * Those that are there now.  What is found no room for would be taken for a run's: -1 when out of
 * memory.  _release is due in any case.
 */
int tw_children_note(struct tw_children *before,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_children_release(struct tw_children *before);

/*
 * Sends a signal (0: none) to every descendant of this process but those that come from `before`,
 * and buries the dead among its children, save `keep`.  How many were alive.
 */
size_t tw_descendants_signal(const struct tw_children *before, pid_t keep, int signal_number);

#endif
