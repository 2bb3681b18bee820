/* Whether both sides show as many steps of the same program: otherwise their times say nothing. */
#ifndef TW_STUDY_COMPARE_STEPS_H
#define TW_STUDY_COMPARE_STEPS_H

#include "study/compare/changes.h"

/* Calls that are this much more on one side, in hundredths: not the same number of steps. */
#define TW_UNEVEN_CALLS_PERCENT 120
/* More than half of what both sides call is by no more than this from the factor of the middle. */
#define TW_UNEVEN_SAME_PERCENT 5
/* Of fewer operations and kernels a factor is not common. */
#define TW_UNEVEN_LEAST 2

/*
 * Fills changes->uneven from the rest of `changes`.  Traces that tell their steps are believed; of
 * others the common factor of the numbers of calls counts.  TRAWL_ENOMEM.
 */
int tw_changes_find_uneven(struct tw_changes *changes) TRAWL_MUST_CHECK;
void tw_uneven_release(struct tw_changes *changes);

#endif
