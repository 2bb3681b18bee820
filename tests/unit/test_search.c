/* Searches, middles and places, against looking at everything. */
#include "base/median.h"
#include "base/search.h"
#include "base/slots.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 40

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Few different values, so that many are equal. */
static void draw(int64_t *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		values[i] = rand() % 12 - 6;
}

static void test_lower_bound(void **state)
{
	int64_t values[MOST], wanted;
	size_t count, first;

	(void)state;
	for (count = 0; count < MOST; count++) {
		draw(values, count);
		qsort(values, count, sizeof(*values), compare);
		for (wanted = -7; wanted <= 7; wanted++) {
			for (first = 0; first < count && values[first] < wanted; first++)
				;
			assert_int_equal(TW_LOWER_BOUND(at, 0, count, values[at] < wanted), first);
			/* From a place on; of a range that is none, its beginning. */
			assert_int_equal(TW_LOWER_BOUND(at, count / 2, count, values[at] < wanted),
					 first > count / 2 ? first : count / 2);
			assert_int_equal(TW_LOWER_BOUND(at, count + 1, count, values[at] < wanted),
					 count + 1);
		}
	}
}

static void test_middles(void **state)
{
	int64_t values[MOST], sorted[MOST];
	size_t count, k, round;

	(void)state;
	for (round = 0; round < 20; round++)
		for (count = 1; count < MOST; count++) {
			struct tw_middle middle;

			draw(values, count);
			memcpy(sorted, values, sizeof(values));
			qsort(sorted, count, sizeof(*sorted), compare);
			for (k = 0; k < count; k++)
				assert_int_equal(tw_nth_value(values, count, k), sorted[k]);
			draw(values, count);
			memcpy(sorted, values, sizeof(values));
			qsort(sorted, count, sizeof(*sorted), compare);
			middle = tw_middle_of(values, count);
			assert_int_equal(middle.lower, sorted[(count - 1) / 2]);
			assert_int_equal(middle.upper, sorted[count / 2]);
			assert_true(tw_twice_the_median(values, count) ==
				    sorted[(count - 1) / 2] + sorted[count / 2]);
		}
}

static void test_extreme_middles(void **state)
{
	int64_t values[] = { INT64_MAX, INT64_MAX - 1 };
	double reals[] = { 3, 1, 2, 10 };

	(void)state;
	assert_true(tw_twice_the_median(values, 2) == (tw_wide)INT64_MAX * 2 - 1);
	assert_true(tw_twice_the_median(values, 0) == 0);
	assert_true(tw_real_median(reals, 4) == 2.5);
	assert_true(tw_real_median(reals, 3) == 2);
	assert_true(isnan(tw_real_median(reals, 0)));
}

static void test_places(void **state)
{
	uint32_t slots[64] = { 0 }, value, at;

	(void)state;
	assert_int_equal(tw_slots_for(0), 16);
	assert_int_equal(tw_slots_for(8), 16);
	assert_int_equal(tw_slots_for(9), 32);
	/* All belong to the last place but one: they go round, and are found again. */
	for (value = 1; value <= 32; value++) {
		at = (uint32_t)TW_SLOT(i, 64, 62, !slots[i] || slots[i] == value);
		assert_int_equal(slots[at], 0);
		assert_int_equal(at, (61 + value) % 64);
		slots[at] = value;
	}
	for (value = 1; value <= 32; value++)
		assert_int_equal(slots[TW_SLOT(i, 64, 62, !slots[i] || slots[i] == value)], value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lower_bound),
		cmocka_unit_test(test_middles),
		cmocka_unit_test(test_extreme_middles),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
