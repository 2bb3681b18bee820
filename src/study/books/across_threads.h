/* comparisons/ of a sweep: the reports of one rank and channel count over all thread counts. */
#ifndef TW_STUDY_BOOKS_ACROSS_THREADS_H
#define TW_STUDY_BOOKS_ACROSS_THREADS_H

#include "study/sweep/point_analysis.h"

struct tw_across_threads {
	size_t written;	     /* files */
	struct tw_str notes; /* of tw_str_note(), the caller's to initialise and to release */
	bool incomplete;     /* something was left out */
};

/* Where one fails the others are written all the same. */
int tw_compare_across_threads(const struct tw_point_analysis *points,
			      const struct trawl_sweep *sweep, unsigned threads,
			      struct tw_across_threads *out,
			      struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
