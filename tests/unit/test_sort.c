/* The radix sort against the C library's, with positions to make that one stable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sort.h"
#include "failing.h"

#define MOST 70000

static uint64_t keys[MOST];
static uint32_t list[MOST], expected[MOST];
static uint64_t seed = 7;

static uint64_t draw(void)
{
	seed = tw_hash_u64(seed);
	return seed;
}

/* Numbers far apart leave a packed key less room. */
static uint32_t spread = 1;

static uint64_t key_of(const void *context, uint32_t number)
{
	return ((const uint64_t *)context)[number / spread];
}

/* Numbers ascend, so that order among equal keys can be seen. */
static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (key_of(keys, x) != key_of(keys, y))
		return key_of(keys, x) < key_of(keys, y) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void check(size_t count)
{
	static const uint32_t spreads[] = { 1, UINT32_MAX / MOST };
	size_t i, s;

	for (s = 0; s < 2; s++) {
		spread = spreads[s];
		for (i = 0; i < count; i++)
			list[i] = expected[i] = (uint32_t)i * spread;
		if (count)
			qsort(expected, count, sizeof(*expected), compare);
		assert_int_equal(tw_sort(list, count, key_of, keys, trawl_allocator_default()), 0);
		if (count)
			assert_memory_equal(list, expected, count * sizeof(*list));
	}
}

/* 64 is where the way of sorting changes. */
static const size_t counts[] = { 0, 1, 2, 3, 63, 64, 65, 1000, MOST };

static void any_keys(void **state)
{
	static const unsigned shifts[] = { 0, 1, 20, 40, 52, 53, 56, 62, 63 };
	size_t c, s, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++) {
			for (i = 0; i < counts[c]; i++)
				keys[i] = draw() >> shifts[s];
			check(counts[c]);
		}
	}
}

static void keys_far_from_zero_and_close_together(void **state)
{
	size_t c, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (i = 0; i < counts[c]; i++)
			keys[i] = UINT64_MAX - (draw() >> 52);
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			keys[i] = (uint64_t)1716239022123456789 + (draw() >> 60 << 11);
		check(counts[c]);
	}
}

static void sorted_reversed_and_equal(void **state)
{
	size_t c, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (i = 0; i < counts[c]; i++)
			keys[i] = i / 3;
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			keys[i] = UINT64_MAX - i * 1000003;
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			keys[i] = 5;
		check(counts[c]);
		/* One key out of place, at either end. */
		for (i = 0; i < counts[c]; i++)
			keys[i] = i ? i : UINT64_MAX;
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			keys[i] = i + 1 < counts[c] ? i + 1 : 0;
		check(counts[c]);
	}
}

static void signed_times_keep_their_order_as_keys(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1000,	  -1,	    0,
					 1,	    1000,	   INT64_MAX - 1, INT64_MAX };
	size_t i;

	for (i = 1; i < sizeof(times) / sizeof(times[0]); i++)
		assert_true(tw_sort_key(times[i - 1]) < tw_sort_key(times[i]));
}

/* As many runs as are merged, one fewer, and one more; of any lengths, with ties across them. */
static void a_few_sorted_runs(void **state)
{
	size_t c, runs, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (runs = 1; runs <= 10; runs++) {
			for (i = 0; i < counts[c]; i++)
				keys[i] = i % (counts[c] / runs + 1) / 2;
			check(counts[c]);
			for (i = 0; i < counts[c]; i++)
				keys[i] = i < counts[c] / 9 ? 40000 + i : i * runs % (MOST + 1) / 3;
			check(counts[c]);
		}
	}
}

/* The order of the list itself counts among equal keys, not the size of its numbers. */
static void equal_keys_keep_the_order_of_the_list(void **state)
{
	static const uint64_t same_or_not[] = { 9, 9, 9, 1 };
	uint32_t four[] = { 2, 0, 1, 3 };

	spread = 1;
	assert_int_equal(tw_sort(four, 4, key_of, same_or_not, trawl_allocator_default()), 0);
	assert_int_equal(four[0], 3);
	assert_int_equal(four[1], 2);
	assert_int_equal(four[2], 0);
	assert_int_equal(four[3], 1);
}

/* Without memory the list is as it was; in order already, none is needed. */
static void memory_that_fails(void **state)
{
	struct failing failing;
	const struct trawl_allocator *a = &failing.allocator;
	size_t i;

	failing_init(&failing, 0);
	spread = 1;
	for (i = 0; i < 1000; i++) {
		keys[i] = 1000 - i;
		list[i] = (uint32_t)i;
	}
	assert_int_equal(tw_sort(list, 1000, key_of, keys, a), -1);
	for (i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	for (i = 0; i < 1000; i++)
		keys[i] = i / 2;
	assert_int_equal(tw_sort(list, 1000, key_of, keys, a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_keys),
		cmocka_unit_test(keys_far_from_zero_and_close_together),
		cmocka_unit_test(sorted_reversed_and_equal),
		cmocka_unit_test(a_few_sorted_runs),
		cmocka_unit_test(equal_keys_keep_the_order_of_the_list),
		cmocka_unit_test(memory_that_fails),
		cmocka_unit_test(signed_times_keep_their_order_as_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
