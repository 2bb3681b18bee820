/*
 * Whether a time differs between two sides, or only scatters: medians and spreads over ranks, and
 * the verdict from them.  docs/METRICS.md has the definitions.
 *
 * Medians are doubled and deviations fourfold, so that everything is an integer and equality is
 * exact: the middle of two numbers need not be one, nor its distance from a third.
 */
#ifndef TW_STUDY_COMPARE_VERDICT_H
#define TW_STUDY_COMPARE_VERDICT_H

#include "trawl/api.h"

#include <stdbool.h>

/* Largest time that is taken, in ns: a hundred days, and doubles have them exactly. */
#define TW_LONGEST_COMPARED_NS ((int64_t)9000000000000000)

struct tw_spread {
	size_t count;	 /* ranks; 0: nothing is there */
	int64_t median2; /* twice the median */
	int64_t mad4; /* four times the median absolute deviation; -1: of one rank it is unknown */
};

/* Reorders `values`, each of 0 to TW_LONGEST_COMPARED_NS. */
struct tw_spread tw_spread_of(int64_t *values, size_t count);

enum tw_verdict { TW_SAME, TW_BETTER, TW_WORSE, TW_NEW, TW_GONE, TW_VERDICTS };

extern const char *const tw_verdict_names[TW_VERDICTS];

enum tw_why {
	TW_WHY_EQUAL,	       /* not a nanosecond apart */
	TW_WHY_NOISE,	       /* within the noise of the ranks */
	TW_WHY_SMALL,	       /* below TW_LIMIT_SAME_BELOW_PERCENT */
	TW_WHY_SMALL_OF_TOTAL, /* below TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE */
	TW_WHY_OVER_NOISE,
	TW_WHY_NO_NOISE, /* over the thresholds; a side of one rank tells no noise */
	TW_WHY_ONE_SIDE,
	TW_WHY_TOTAL, /* idle time follows the total */
};

struct tw_judgement {
	enum tw_verdict verdict;
	enum tw_why why;
	int64_t noise4; /* four times the larger deviation (mad4) of the two, -1: neither is known */
};

/*
 * Less time is better.  `total2` is twice the total time of the baseline, -1: not known.  A side
 * without values makes NEW or GONE; one of them has some.
 */
struct tw_judgement tw_judge(const struct tw_spread *baseline, const struct tw_spread *test,
			     int64_t total2);

/*
 * The same over several configurations: `times` are the means of both sides, `ratio` is theirs,
 * `noise` that of the configurations as a share of the baseline (NaN: not known) and `total` the
 * mean of the baseline's total time (NaN: not known).
 */
struct tw_judgement tw_judge_ratio(double ratio, double noise, const double times[2], double total);

#endif
