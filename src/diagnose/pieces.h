/*
 * The part of a recording that a report looks at, in one piece or several: points are in it or not, and
 * it takes as long as it delays the GPU.  A piece is from the last end of what was launched before it
 * to the last end of what was launched until its own last; of a part by time, of what started before.
 */
#ifndef TW_DIAGNOSE_PIECES_H
#define TW_DIAGNOSE_PIECES_H

#include "path/scenario.h"

/*
 * The whole of what a view is a part of, NULL: the view is no part.  To be freed by tw_derived_free(). 0
 * or TRAWL_ENOMEM.
 */
int tw_pieces_recording(struct tw_derived **own, const struct tw_derived *view) TRAWL_MUST_CHECK;
/* Which points of a rank are in a view of its trace; all where it is no part.  0 or TRAWL_ENOMEM. */
int tw_pieces_choose(struct tw_path_part *part, const struct tw_derived *whole,
		     const struct tw_derived *view) TRAWL_MUST_CHECK;

/* Profiler steps of the part, 0: it is not made of steps. */
uint32_t tw_chosen_steps(const struct tw_path *path);
/* How long the part takes at these times, -1: out of memory. */
int64_t tw_pieces_ns(const struct tw_path *path, struct tw_times times) TRAWL_MUST_CHECK;

#endif
