/* Statistics and groups that analyses build on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/stats.h"
#include "base/hash.h"
#include "failing.h"

static void near(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-12 * fabs(expected)))
		fail_msg("%.17g, not %.17g", got, expected);
}

static void by_hand(void **state)
{
	int64_t odd[] = { 9, 2, 4 }, even[] = { 8, 2, 4, 4 }, one[] = { -7 }, same[] = { 5, 5, 5 };
	struct tw_stats s = tw_stats_of(odd, 3);

	assert_int_equal(s.count, 3);
	assert_int_equal(s.sum, 15);
	assert_int_equal(s.min, 2);
	assert_int_equal(s.max, 9);
	near(s.mean, 5);
	near(s.median, 4);
	/* 16 + 9 + 1 = 26 */
	near(s.std, sqrt(26.0 / 2));
	near(s.population_std, sqrt(26.0 / 3));
	s = tw_stats_of(even, 4);
	near(s.median, 4);
	near(s.mean, 4.5);
	/* 12.25 + 6.25 + 0.25 + 0.25 = 19 */
	near(s.std, sqrt(19.0 / 3));
	s = tw_stats_of(one, 1);
	assert_int_equal(s.sum, -7);
	near(s.median, -7);
	assert_true(isnan(s.std));
	assert_true(s.population_std == 0);
	s = tw_stats_of(same, 3);
	assert_true(s.std == 0 && s.population_std == 0);
	s = tw_stats_of(one, 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.sum, 0);
	assert_true(s.mean == 0 && s.median == 0 && isnan(s.std));
}

/* Times since 1970 that differ by nanoseconds: nothing is lost in their squares. */
static void reals_by_hand(void **state)
{
	double values[] = { 8, NAN, 1, 3 }, one[] = { NAN, 2.5 }, none[] = { NAN };
	int64_t times[] = { 4, 0, 2, -1, 8 };
	struct tw_real_stats s = tw_real_stats_of(values, 4);

	near(s.mean, 4);
	near(s.median, 3);
	near(s.min, 1);
	near(s.max, 8);
	/* 9 + 1 + 16 = 26 */
	near(s.std, sqrt(26.0 / 2));
	s = tw_scaled(&s, 2);
	near(s.mean, 8);
	near(s.max, 16);
	near(s.std, 2 * sqrt(13));
	s = tw_real_stats_of(one, 2);
	near(s.mean, 2.5);
	assert_true(isnan(s.std));
	assert_true(isnan(tw_real_stats_of(none, 1).mean));
	/* 1/2, 1/4 and 1/8: 7/24 on average */
	s = tw_rate_stats_of(times, 5);
	near(s.mean, 7.0 / 24);
	near(s.median, 0.25);
	near(s.min, 0.125);
	near(s.max, 0.5);
}

static void large_values_that_are_close_together(void **state)
{
	int64_t values[1000];
	struct tw_stats s;
	size_t i;

	for (i = 0; i < 1000; i++)
		values[i] = 600000000000000 + (int64_t)(i * 7919 % 1000);
	s = tw_stats_of(values, 1000);
	assert_true(s.sum == (int64_t)600000000000000 * 1000 + 499500);
	assert_int_equal(s.min, 600000000000000);
	assert_int_equal(s.max, 600000000000999);
	/* Of 0 to n - 1: variance (n^2 - 1) / 12. */
	if (fabs(s.population_std / sqrt(999999.0 / 12) - 1) > 1e-9)
		fail_msg("%.17g", s.population_std);
	near(s.median, 600000000000499.5);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Lists of every length and many orders: few values, sorted, reversed, an organ pipe. */
static int64_t value_of(int order, int64_t i, int64_t n, uint64_t random)
{
	switch (order) {
	case 0:
		return (int64_t)(random % 3);
	case 1:
		return i;
	case 2:
		return n - i;
	case 3:
		return i < n / 2 ? i : n - i;
	case 4:
		return i ? 5 : -5;
	case 5:
		return (int64_t)(random % 1000000) - 500000;
	default:
		return i % 2 ? INT64_MAX / 1000 - i : -i;
	}
}

static void medians_and_limits(void **state)
{
	static int64_t values[400], sorted[400];
	uint64_t seed = 1;
	int64_t i, n, sum;
	struct tw_stats s;
	int order;

	for (n = 1; n < 400; n += n < 40 ? 1 : 23) {
		for (order = 0; order < 7; order++) {
			for (i = 0, sum = 0; i < n; i++) {
				seed = tw_hash_u64(seed);
				values[i] = sorted[i] = value_of(order, i, n, seed >> 20);
				sum += values[i];
			}
			qsort(sorted, (size_t)n, sizeof(*sorted), compare);
			s = tw_stats_of(values, (uint64_t)n);
			assert_true(s.sum == sum && s.min == sorted[0] && s.max == sorted[n - 1]);
			near(s.median,
			     n % 2 ? (double)sorted[n / 2] :
				     ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2);
			/* Reordered at most. */
			qsort(values, (size_t)n, sizeof(*values), compare);
			assert_memory_equal(values, sorted, (size_t)n * sizeof(*values));
		}
	}
}

struct key {
	uint32_t a, b;
	uint64_t c;
};

static struct key key_of(uint32_t i)
{
	return (struct key){ i % 1000, i / 1000 % 10, i / 10000 % 5 };
}

static void groups_in_order_of_appearance(void **state)
{
	struct tw_groups groups;
	uint32_t i;

	tw_groups_init(&groups, sizeof(struct key), trawl_allocator_default());
	for (i = 0; i < 150000; i++) {
		struct key key = key_of(i);

		assert_int_equal(tw_groups_add(&groups, &key), i % 50000);
	}
	assert_int_equal(groups.count, 50000);
	for (i = 0; i < 50000; i++) {
		struct key key = key_of(i);

		assert_memory_equal(tw_groups_key(&groups, i), &key, sizeof(key));
	}
	assert_false(groups.failed);
	tw_groups_release(&groups);
}

static void members_in_order(void **state)
{
	static const uint32_t of[] = { 2, 0, TW_NO_GROUP, 2, 2, 0, TW_NO_GROUP, 4 };
	static const uint32_t first[] = { 0, 2, 2, 5, 5, 6 }, list[] = { 1, 5, 0, 3, 4, 7 };
	struct tw_members m;

	assert_int_equal(tw_members_build(&m, of, 8, 5, trawl_allocator_default()), 0);
	assert_memory_equal(m.first, first, sizeof(first));
	assert_memory_equal(m.list, list, sizeof(list));
	tw_members_release(&m);
	/* Nobody, and no groups. */
	assert_int_equal(tw_members_build(&m, of, 0, 3, trawl_allocator_default()), 0);
	assert_int_equal(m.first[0], 0);
	assert_int_equal(m.first[3], 0);
	tw_members_release(&m);
	assert_int_equal(tw_members_build(&m, of, 0, 0, trawl_allocator_default()), 0);
	tw_members_release(&m);
}

static void members_of_many_groups(void **state)
{
	enum { COUNT = 100000, GROUPS = 777 };
	uint32_t *of = malloc(COUNT * sizeof(*of)), g;
	uint64_t seed = 1, i, seen = 0;
	struct tw_members m;

	assert_non_null(of);
	for (i = 0; i < COUNT; i++) {
		seed = tw_hash_u64(seed);
		of[i] = seed % 10 ? (uint32_t)(seed / 16 % GROUPS) : TW_NO_GROUP;
	}
	assert_int_equal(tw_members_build(&m, of, COUNT, GROUPS, trawl_allocator_default()), 0);
	for (g = 0; g < GROUPS; g++) {
		for (i = m.first[g]; i < m.first[g + 1]; i++) {
			assert_int_equal(of[m.list[i]], g);
			if (i > m.first[g])
				assert_true(m.list[i - 1] < m.list[i]);
			seen++;
		}
	}
	for (i = 0; i < COUNT; i++)
		seen += of[i] == TW_NO_GROUP;
	assert_int_equal(seen, COUNT);
	tw_members_release(&m);
	free(of);
}

static void groups_without_memory(void **state)
{
	struct failing failing;
	struct tw_groups groups;
	struct tw_members m;
	uint32_t of[10] = { 0 };
	long n;

	for (n = 0;; n++) {
		uint32_t i, group;

		failing_init(&failing, n);
		tw_groups_init(&groups, sizeof(struct key), &failing.allocator);
		for (i = 0; i < 1000; i++) {
			struct key key = key_of(i);

			group = tw_groups_add(&groups, &key);
			assert_true(group == i || (group == TW_NO_GROUP && groups.failed));
		}
		if (tw_members_build(&m, of, 10, 1, &failing.allocator))
			assert_true(failing.failed);
		tw_members_release(&m);
		tw_groups_release(&groups);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(reals_by_hand),
		cmocka_unit_test(large_values_that_are_close_together),
		cmocka_unit_test(medians_and_limits),
		cmocka_unit_test(groups_in_order_of_appearance),
		cmocka_unit_test(members_in_order),
		cmocka_unit_test(members_of_many_groups),
		cmocka_unit_test(groups_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
