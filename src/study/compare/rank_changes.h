/*
 * Ranks whose computing changed far more than that of the others: in a job whose ranks meet in
 * collectives the others wait for the one that takes longer, which medians over ranks do not show.
 */
#ifndef TW_STUDY_COMPARE_RANK_CHANGES_H
#define TW_STUDY_COMPARE_RANK_CHANGES_H

#include "study/compare/samples.h"

/* The computing of one rank that both sides have, in one configuration. */
struct tw_rank_change {
	uint32_t config;
	int64_t rank;
	int64_t ns[2];
	double ratio;	  /* test / baseline; NaN: the baseline has none */
	double others_ns; /* median of test - baseline of the other ranks; NaN: there is none */
	double apart_ns;  /* what it takes more than with the median ratio of the ranks */
	bool more, less;  /* it stands out */
};

struct tw_rank_changes {
	struct tw_rank_change *items; /* by configuration, then rank */
	size_t count, capacity;
	size_t odd; /* that stand out */
};

/* Of finished samples.  TRAWL_ENOMEM; _release is due either way. */
int tw_rank_changes_make(struct tw_rank_changes *changes,
			 const struct tw_samples *samples) TRAWL_MUST_CHECK;
void tw_rank_changes_release(struct tw_rank_changes *changes, const struct tw_samples *samples);

#endif
