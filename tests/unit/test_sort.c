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

#define MOST 70000

static struct tw_sort_item items[MOST], expected[MOST], scratch[MOST];
static uint64_t seed = 7;

static uint64_t draw(void)
{
	seed = tw_hash_u64(seed);
	return seed;
}

static int compare(const void *a, const void *b)
{
	const struct tw_sort_item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Values are positions, so that order among equal keys can be seen. */
static void check(size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		items[i].value = i;
	memcpy(expected, items, count * sizeof(*items));
	if (count)
		qsort(expected, count, sizeof(*expected), compare);
	tw_sort(items, scratch, count);
	if (count)
		assert_memory_equal(items, expected, count * sizeof(*items));
}

/* 64 is where the way of sorting changes. */
static const size_t counts[] = { 0, 1, 2, 3, 63, 64, 65, 1000, MOST };

static void any_keys(void **state)
{
	static const unsigned shifts[] = { 0, 1, 20, 40, 56, 62, 63 };
	size_t c, s, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++) {
			for (i = 0; i < counts[c]; i++)
				items[i].key = draw() >> shifts[s];
			check(counts[c]);
		}
	}
}

static void keys_far_from_zero_and_close_together(void **state)
{
	size_t c, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (i = 0; i < counts[c]; i++)
			items[i].key = UINT64_MAX - (draw() >> 52);
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			items[i].key = (uint64_t)1716239022123456789 + (draw() >> 60 << 11);
		check(counts[c]);
	}
}

static void sorted_reversed_and_equal(void **state)
{
	size_t c, i;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (i = 0; i < counts[c]; i++)
			items[i].key = i / 3;
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			items[i].key = UINT64_MAX - i * 1000003;
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			items[i].key = 5;
		check(counts[c]);
		/* One key out of place, at either end. */
		for (i = 0; i < counts[c]; i++)
			items[i].key = i ? i : UINT64_MAX;
		check(counts[c]);
		for (i = 0; i < counts[c]; i++)
			items[i].key = i + 1 < counts[c] ? i + 1 : 0;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_keys),
		cmocka_unit_test(keys_far_from_zero_and_close_together),
		cmocka_unit_test(sorted_reversed_and_equal),
		cmocka_unit_test(signed_times_keep_their_order_as_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
