/*
 * What changed in what limits the runs: findings of both sides, matched by kind and place, that
 * appeared, went, or changed in gain.
 */
#ifndef TW_STUDY_COMPARE_CAUSES_H
#define TW_STUDY_COMPARE_CAUSES_H

#include "base/list.h"
#include "study/compare/samples.h"
#include "study/compare/verdict.h"

/* A finding of a side: a row of its table, which has it by header. */
struct tw_side_cause {
	const struct trawl_table *findings; /* NULL: the side has no such finding */
	size_t row;
	double gain_ms; /* 0: the side has none */
};

struct tw_cause_change {
	uint32_t config;
	struct tw_side_cause of[2];
	double difference_ms;	 /* test - baseline */
	enum tw_verdict verdict; /* TW_SAME, TW_BETTER or TW_WORSE */
};

struct tw_cause_changes {
	TW_LIST(struct tw_cause_change) list; /* what differs, then the largest difference first */
	size_t known;			      /* configurations whose findings both sides have */
	size_t lacking[2]; /* configurations of both sides whose findings a side does not have */
};

/* Of finished samples.  TRAWL_ENOMEM; _release is due either way. */
int tw_cause_changes_make(struct tw_cause_changes *changes,
			  const struct tw_samples *samples) TRAWL_MUST_CHECK;
void tw_cause_changes_release(struct tw_cause_changes *changes, const struct tw_samples *samples);

/* The side that shows it: the test where it has it. */
const struct tw_side_cause *tw_cause_shown(const struct tw_cause_change *change);
/* A text of it, "": none. */
const char *tw_cause_text(const struct tw_side_cause *cause, const char *header);

/* Why the verdict of a change is what it is. */
const char *tw_cause_why(const struct tw_cause_change *change);

#endif
