/* The innermost range around a moment, against looking at all of them. */
#include "base/innermost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t by_looking(const struct tw_interval *spans, uint32_t count, int64_t moment)
{
	uint32_t best = TW_INNERMOST_NONE, i;

	for (i = 0; i < count; i++) {
		if (spans[i].start_ns > moment || spans[i].end_ns < moment)
			continue;
		if (best == TW_INNERMOST_NONE || spans[i].end_ns - spans[i].start_ns <=
							 spans[best].end_ns - spans[best].start_ns)
			best = i;
	}
	return best;
}

static int by_start(const void *a, const void *b)
{
	const struct tw_interval *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Few distinct times, so that starts, ends and lengths tie often; some spans end before they start. */
static void test_same_as_looking(void **state)
{
	struct tw_interval spans[60];
	int64_t moments[80];
	uint32_t found[80];
	uint64_t seed;

	for (seed = 1; seed <= 300; seed++) {
		uint64_t random = seed;
		uint32_t count = (uint32_t)(next(&random) % 60), i;

		for (i = 0; i < count; i++) {
			spans[i].start_ns = (int64_t)(next(&random) % 40) - 10;
			spans[i].end_ns = spans[i].start_ns + (int64_t)(next(&random) % 20) - 2;
		}
		qsort(spans, count, sizeof(*spans), by_start);
		for (i = 0; i < 80; i++)
			moments[i] = (int64_t)(next(&random) % 60) - 15;
		qsort(moments, 80, sizeof(*moments), by_value);
		assert_int_equal(tw_innermost(spans, count, moments, 80, found,
					      trawl_allocator_default()),
				 0);
		for (i = 0; i < 80; i++)
			assert_int_equal(found[i], by_looking(spans, count, moments[i]));
	}
}

/* Ranges that reach over all time, as open ones do. */
static void test_extremes(void **state)
{
	const struct tw_interval spans[] = {
		{ INT64_MIN, INT64_MAX },
		{ -5, INT64_MAX },
		{ 0, 0 },
	};
	const int64_t moments[] = { INT64_MIN, -6, -5, 0, 1, INT64_MAX };
	const uint32_t expected[] = { 0, 0, 1, 2, 1, 1 };
	uint32_t found[6], i;

	assert_int_equal(tw_innermost(spans, 3, moments, 6, found, trawl_allocator_default()), 0);
	for (i = 0; i < 6; i++)
		assert_int_equal(found[i], expected[i]);
	assert_int_equal(tw_innermost(spans, 0, moments, 1, found, trawl_allocator_default()), 0);
	assert_int_equal(found[0], TW_INNERMOST_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_looking),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
