/*
 * From samples to changes: what each item takes on both sides, by configuration and over all that
 * both sides have, with a verdict.
 */
#ifndef TW_STUDY_COMPARE_CHANGES_H
#define TW_STUDY_COMPARE_CHANGES_H

#include "study/compare/causes.h"
#include "study/compare/rank_changes.h"
#include "study/compare/samples.h"
#include "study/compare/split.h"
#include "study/compare/verdict.h"

#define TW_ALL_CONFIGS UINT32_MAX

struct tw_change {
	uint32_t name;	 /* id of the samples' texts */
	uint32_t config; /* TW_ALL_CONFIGS: over all */
	size_t ranks[2]; /* that have it, of those that count */
	/*
	 * Medians over the ranks, in ns; over configurations their mean.  NaN: not there.  Of kinds that are
	 * summed their sum over ranks and configurations, 0: not there.
	 */
	double ns[2];
	double spread_ns[2]; /* over the ranks; NaN: not known */
	/* The larger of them; over configurations their share of the mean time; NaN: not known. */
	double noise_ns;
	double whole_ns;   /* of kinds that are summed all items of the baseline; 0: of others */
	double ratio;	   /* test / baseline, what the verdict is of; NaN */
	int64_t calls[2];  /* of the rank in the middle; TW_NO_CALLS: not told */
	double call_ns[2]; /* ns a call; over configurations the mean; NaN: not known */
	/*
	 * Which collectives of ranks belong together is not always known, so that one side may have
	 * more of the same: then ratio and verdict are of the time per call.
	 */
	bool by_call;
	bool of_window;	       /* of a stage: measured by its window, not by the total time */
	bool unranked;	       /* values are not of ranks, or of which is not known */
	size_t paired, slower; /* ranks of both sides, and those where the test takes longer */
	struct tw_judgement judged;
	/* Over configurations. */
	size_t configs;	       /* in which both sides have it */
	size_t better, worse;  /* of these */
	uint32_t worst_config; /* with the largest ratio; TW_ALL_CONFIGS: none */
	double worst_ratio;
};

struct tw_change_list {
	struct tw_change *items;
	size_t count, capacity;
};

struct tw_changes {
	const struct tw_samples *samples;
	/*
	 * Over all configurations, what differs first, the largest difference first; timeline parts in
	 * their order.
	 */
	struct tw_change_list all[TW_COMPARED_KINDS];
	/* By configuration, then the same; only where both sides have more than one. */
	struct tw_change_list each[TW_COMPARED_KINDS];
	/* The total time of each configuration that a side has, in their order. */
	struct tw_change_list totals;
	size_t common;	    /* configurations of both sides */
	double total_ns[2]; /* mean over these of the medians of total_time; NaN: not known */
	size_t best[2];	    /* index of `totals` with the least total time, SIZE_MAX: not known */
	struct tw_rank_changes ranks;
	struct tw_split split;
	struct tw_cause_changes causes;
	struct {
		double ns[2];
		size_t ranks[2];   /* that are summed; of each configuration for itself */
	} sums[TW_COMPARED_KINDS]; /* of kinds that are summed, over all items */
	/* Configurations whose sides do not show the same number of steps (steps.h). */
	struct {
		double *ratios; /* by configuration: how many times as many the test has; NaN */
		size_t count;	/* that are not NaN */
	} uneven;
};

/* Of finished samples, which it needs from then on.  TRAWL_ENOMEM; _release is due either way. */
int tw_changes_make(struct tw_changes *changes, const struct tw_samples *samples,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_changes_release(struct tw_changes *changes);

/* places/sum_changes.c: items of kinds that are summed, into `all`.  TRAWL_ENOMEM. */
int tw_sum_changes_make(struct tw_changes *changes) TRAWL_MUST_CHECK;

/* The deviation of a spread (mad4) in ns; NaN: not known. */
double tw_spread_ns(int64_t mad4);

/* The row of all configurations of a part of the timeline, NULL: there is none. */
const struct tw_change *tw_changes_part(const struct tw_changes *changes, const char *name);

/*
 * How much less time the test takes, in percent of the baseline: positive is faster.  NaN also where
 * it takes more than TW_LIMIT_TOLD_PERCENT_MOST more: a factor says that better.
 */
double tw_faster_percent(double baseline, double test);
double tw_change_faster(const struct tw_change *change);

/*
 * Of another kind the item of the same name, over all; NULL: there is none.  Of a stage the share of
 * communication that is overlapped on a side, in percent; NaN.
 */
const struct tw_change *tw_changes_same(const struct tw_changes *changes,
					enum tw_compared_kind kind, const struct tw_change *change);
double tw_stage_overlap(const struct tw_changes *changes, const struct tw_change *stage,
			unsigned side);

/* Collectives are compared by what the sides have: latencies, else times on ranks. */
enum tw_compared_kind tw_changes_collectives(const struct tw_changes *changes);

#endif
