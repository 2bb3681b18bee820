/* Which names of two sides are of the same thing. */
#ifndef TW_STUDY_COMPARE_ALIGN_H
#define TW_STUDY_COMPARE_ALIGN_H

#include "study/compare/samples.h"

/*
 * Of samples of both sides, not finished yet: gives those of the test the names that the baseline has for the same.
 *
 * Modules are matched from the root: below one module those of a class, where both sides have as many, are the same in
 * the order of their numbers; else those of the same name.  So are call sites, by file and function, in the order of
 * their lines.  Steps are matched by number where both sides have one in common, else in order.  TRAWL_ENOMEM.
 */
int tw_samples_align(struct tw_samples *samples, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
