/* Whether both sides show as many steps of the same program: otherwise their times say nothing. */
#ifndef TW_STUDY_COMPARE_STEPS_H
#define TW_STUDY_COMPARE_STEPS_H

#include "study/compare/changes.h"

/*
 * Fills changes->uneven from the rest of `changes`.  Traces that tell their steps are believed; of
 * others the common factor of the numbers of calls counts.  TRAWL_ENOMEM.
 */
int tw_changes_find_uneven(struct tw_changes *changes) TRAWL_MUST_CHECK;
void tw_uneven_release(struct tw_changes *changes);

#endif
