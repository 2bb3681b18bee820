#include "study/compare/verdict.h"

#include "analysis/stats.h"
#include "base/median.h"
#include "data/limits.h"

#include <math.h>

const char *const tw_verdict_names[TW_VERDICTS] = {
	[TW_SAME] = "same", [TW_BETTER] = "better", [TW_WORSE] = "worse",
	[TW_NEW] = "new",   [TW_GONE] = "gone",
};

struct tw_spread tw_spread_of(int64_t *values, size_t count)
{
	struct tw_spread spread = { .count = count, .mad4 = -1 };
	size_t i;

	if (!count)
		return spread;
	spread.median2 = (int64_t)tw_twice_the_median(values, count);
	if (count < 2)
		return spread;
	for (i = 0; i < count; i++) {
		int64_t away = values[i] * 2 - spread.median2;

		values[i] = away < 0 ? -away : away;
	}
	spread.mad4 = (int64_t)tw_twice_the_median(values, count);
	return spread;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct tw_judgement tw_judge(const struct tw_spread *baseline, const struct tw_spread *test,
			     int64_t total2)
{
	struct tw_judgement j = { TW_SAME, TW_WHY_EQUAL, larger(baseline->mad4, test->mad4) };
	int64_t apart2 = test->median2 - baseline->median2;
	tw_wide size2 = apart2 < 0 ? -apart2 : apart2;

	if (!baseline->count || !test->count) {
		j.verdict = baseline->count ? TW_GONE : TW_NEW;
		j.why = TW_WHY_ONE_SIDE;
	} else if (!size2) {
		;
	} else if (j.noise4 >= 0 && size2 * 2 * 10000 <= (tw_wide)j.noise4 * TW_SPREAD_PER_10000) {
		j.why = TW_WHY_NOISE;
	} else if (size2 * 100 < (tw_wide)baseline->median2 * TW_LIMIT_SAME_BELOW_PERCENT) {
		j.why = TW_WHY_SMALL;
	} else if (total2 >= 0 &&
		   size2 * 1000 < (tw_wide)total2 * TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE) {
		j.why = TW_WHY_SMALL_OF_TOTAL;
	} else {
		j.verdict = apart2 < 0 ? TW_BETTER : TW_WORSE;
		j.why = j.noise4 < 0 ? TW_WHY_NO_NOISE : TW_WHY_OVER_NOISE;
	}
	return j;
}

struct tw_judgement tw_judge_ratio(double ratio, double noise, const double times[2], double total)
{
	struct tw_judgement j = { TW_SAME, TW_WHY_EQUAL, -1 };
	double apart = fabs(ratio - 1), difference = fabs(times[1] - times[0]);

	if (!(apart > 0)) {
		;
	} else if (apart <= noise) {
		j.why = TW_WHY_NOISE;
	} else if (apart < TW_LIMIT_SAME_BELOW_PERCENT / 100.0) {
		j.why = TW_WHY_SMALL;
	} else if (difference < total * (TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE / 1000.0)) {
		j.why = TW_WHY_SMALL_OF_TOTAL;
	} else {
		j.verdict = ratio < 1 ? TW_BETTER : TW_WORSE;
		j.why = isnan(noise) ? TW_WHY_NO_NOISE : TW_WHY_OVER_NOISE;
	}
	return j;
}
