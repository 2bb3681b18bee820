/*
 * What the difference of the total time is made of: computing, waiting for which rank, transfers,
 * copies, idle time by cause.  Means over the ranks that both sides have, and over configurations; unlike
 * medians they add up to the mean of the total time.
 */
#ifndef TW_STUDY_COMPARE_SPLIT_H
#define TW_STUDY_COMPARE_SPLIT_H

#include "study/compare/samples.h"

enum tw_split_part {
	TW_SPLIT_COMPUTING,
	TW_SPLIT_WAITING,	/* exposed, for the rank of the row */
	TW_SPLIT_TRANSFER,	/* exposed communication that does not wait */
	TW_SPLIT_COMMUNICATION, /* exposed, where it is not known who waits for whom */
	TW_SPLIT_COPIES,
	TW_SPLIT_IDLE,
	TW_SPLIT_OTHER, /* other work, in a view by launch */
	TW_SPLIT_REST,	/* parts that a report lacks */
	TW_SPLIT_PARTS,
};

extern const char *const tw_split_names[TW_SPLIT_PARTS];

/* What the host did while the GPU was idle. */
enum tw_split_cause {
	TW_SPLIT_NO_CAUSE, /* and of other parts */
	TW_SPLIT_LOADING,
	TW_SPLIT_SYNC,
	TW_SPLIT_ALLOCATION,
	TW_SPLIT_LAUNCHING,
	TW_SPLIT_OTHER_CAUSE, /* work was queued, or its launch is not recorded */
	TW_SPLIT_CAUSES,
};

/* The first is empty. */
extern const char *const tw_split_causes[TW_SPLIT_CAUSES];

struct tw_split_row {
	enum tw_split_part part;
	int64_t rank; /* whose work, or for whom they wait; TW_NO_RANK: of none, or not known */
	enum tw_split_cause cause;
	double ns[2];
};

struct tw_split_rows {
	struct tw_split_row *at; /* largest difference first; none that both sides lack */
	size_t count, room;
};

struct tw_split {
	struct tw_split_rows rows;
	struct tw_split_rows by_rank; /* the same, all causes of a rank together */
	double total_ns[2];	      /* sums of the rows */
	size_t ranks; /* of the configuration with the most; 0: there is no total time */
};

/* Of finished samples.  TRAWL_ENOMEM; _release is due either way. */
int tw_split_make(struct tw_split *split, const struct tw_samples *samples) TRAWL_MUST_CHECK;
void tw_split_release(struct tw_split *split, const struct tw_samples *samples);

/* The difference of a part over all its rows. */
double tw_split_difference(const struct tw_split *split, enum tw_split_part part);
/* The same of a cause of idle time. */
double tw_split_cause_difference(const struct tw_split *split, enum tw_split_cause cause);
/*
 * The row of by_rank with most of what a part differs by, NULL where none has
 * TW_LIMIT_SPLIT_RANK_PERCENT of it, or there is one rank only.  *all: whether it is nearly all.
 */
const struct tw_split_row *tw_split_main_rank(const struct tw_split *split, enum tw_split_part part,
					      bool *all);

#endif
