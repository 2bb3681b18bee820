/* Sets of time against a slow picture of them: one byte a nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intervals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 200
#define MOST 24

/* The cells of time that a set covers. */
struct picture {
	uint8_t cell[CELLS];
};

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

static int compare_starts(const void *a, const void *b)
{
	const struct tw_interval *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Up to MOST intervals by start; lengths from 0, so that some are empty, touch, nest, repeat. */
static size_t random_intervals(struct tw_interval *list)
{
	size_t n = random_below(MOST + 1), i;
	uint32_t longest = 1 + random_below(40);

	for (i = 0; i < n; i++) {
		list[i].start_ns = random_below(CELLS - 40);
		list[i].end_ns = list[i].start_ns + random_below(longest);
	}
	qsort(list, n, sizeof(*list), compare_starts);
	return n;
}

static void paint(struct picture *p, const struct tw_interval *list, size_t n)
{
	size_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < n; i++)
		memset(p->cell + list[i].start_ns, 1, (size_t)(list[i].end_ns - list[i].start_ns));
}

static int64_t painted(const struct picture *p)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < CELLS; i++)
		sum += p->cell[i];
	return sum;
}

static void fill(struct tw_intervals *set, const struct tw_interval *list, size_t n)
{
	size_t i;

	tw_intervals_init(set, trawl_allocator_default());
	for (i = 0; i < n; i++)
		tw_intervals_add(set, list[i].start_ns, list[i].end_ns);
}

/* Sorted, disjoint, not even touching, and covering just the cells of the picture. */
static void expect_picture(const struct tw_intervals *set, const struct picture *p)
{
	struct picture got;
	size_t i;

	assert_false(set->failed);
	for (i = 0; i < set->count; i++) {
		assert_true(set->items[i].start_ns <= set->items[i].end_ns);
		if (i)
			assert_true(set->items[i - 1].end_ns < set->items[i].start_ns);
	}
	paint(&got, set->items, set->count);
	assert_memory_equal(&got, p, sizeof(got));
	assert_int_equal(tw_intervals_length(set), painted(p));
}

static void test_add_and_union(void **state)
{
	struct tw_interval list[MOST];
	unsigned round;

	random_state = 1;
	for (round = 0; round < 3000; round++) {
		struct tw_union sum = TW_UNION_INIT;
		struct tw_intervals set;
		struct picture p;
		size_t n = random_intervals(list), i;

		paint(&p, list, n);
		fill(&set, list, n);
		expect_picture(&set, &p);
		for (i = 0; i < n; i++)
			tw_union_add(&sum, list[i].start_ns, list[i].end_ns);
		assert_int_equal(sum.length_ns, painted(&p));
		tw_intervals_release(&set);
	}
}

static void test_subtract(void **state)
{
	struct tw_interval one[MOST], two[MOST];
	unsigned round;
	size_t i;

	random_state = 2;
	for (round = 0; round < 3000; round++) {
		struct tw_intervals a, b, out;
		struct picture p, q;
		size_t n = random_intervals(one), m = random_intervals(two);

		paint(&p, one, n);
		paint(&q, two, m);
		for (i = 0; i < CELLS; i++)
			p.cell[i] &= !q.cell[i];
		fill(&a, one, n);
		fill(&b, two, m);
		tw_intervals_init(&out, trawl_allocator_default());
		tw_intervals_subtract(&a, &b, &out);
		expect_picture(&out, &p);
		tw_intervals_release(&a);
		tw_intervals_release(&b);
		tw_intervals_release(&out);
	}
}

static void test_touching_are_one(void **state)
{
	static const struct tw_interval list[] = { { -5, 0 }, { 0, 10 }, { 3, 7 }, { 10, 12 } };
	struct tw_intervals set;

	fill(&set, list, 4);
	assert_int_equal(set.count, 1);
	assert_int_equal(set.items[0].start_ns, -5);
	assert_int_equal(set.items[0].end_ns, 12);
	assert_int_equal(tw_intervals_length(&set), 17);
	tw_intervals_add(&set, 13, 14);
	assert_int_equal(set.count, 2);
	assert_int_equal(tw_intervals_length(&set), 18);
	tw_intervals_release(&set);
	assert_int_equal(set.count, 0);
	tw_intervals_release(&set);
}

static void test_subtract_by_hand(void **state)
{
	static const struct tw_interval long_one[] = { { 0, 100 } };
	static const struct tw_interval holes[] = { { -10, 5 },
						    { 20, 30 },
						    { 50, 50 },
						    { 90, 200 } };
	struct tw_intervals a, b, out;

	fill(&a, long_one, 1);
	fill(&b, holes, 4);
	tw_intervals_init(&out, trawl_allocator_default());
	tw_intervals_subtract(&a, &b, &out);
	assert_int_equal(out.count, 2);
	assert_int_equal(out.items[0].start_ns, 5);
	assert_int_equal(out.items[0].end_ns, 20);
	assert_int_equal(out.items[1].start_ns, 30);
	assert_int_equal(out.items[1].end_ns, 90);
	out.count = 0;
	tw_intervals_subtract(&b, &a, &out);
	assert_int_equal(tw_intervals_length(&out), 10 + 100);
	tw_intervals_release(&a);
	tw_intervals_release(&b);
	tw_intervals_release(&out);
}

/* More than one block of items, times far apart. */
static void test_many_and_large(void **state)
{
	const int64_t far = INT64_MAX / 4;
	struct tw_intervals set, other, out;
	int64_t i;

	tw_intervals_init(&set, trawl_allocator_default());
	tw_intervals_init(&other, trawl_allocator_default());
	tw_intervals_init(&out, trawl_allocator_default());
	tw_intervals_add(&set, -far, -far + 1);
	for (i = 0; i < 100000; i++) {
		tw_intervals_add(&set, i * 10, i * 10 + 6);
		tw_intervals_add(&other, i * 10 + 5, i * 10 + 10);
	}
	tw_intervals_add(&set, far, far + 3);
	assert_int_equal(set.count, 100002);
	assert_int_equal(tw_intervals_length(&set), 600004);
	tw_intervals_subtract(&set, &other, &out);
	assert_int_equal(out.count, 100002);
	assert_int_equal(tw_intervals_length(&out), 500004);
	tw_intervals_release(&set);
	tw_intervals_release(&other);
	tw_intervals_release(&out);
}

struct limited {
	size_t left; /* bytes */
};

static void *limited_realloc(void *context, void *block, size_t old_size, size_t size)
{
	struct limited *l = context;

	if (size > old_size && size - old_size > l->left)
		return NULL;
	l->left -= size - old_size;
	return realloc(block, size);
}

static void limited_free(void *context, void *block, size_t size)
{
	struct limited *l = context;

	l->left += size;
	free(block);
}

static void test_out_of_memory_is_sticky(void **state)
{
	struct limited limit = { 10000 };
	const struct trawl_allocator allocator = { limited_realloc, limited_free, &limit };
	struct tw_intervals set, empty, out;
	int64_t i;

	tw_intervals_init(&set, &allocator);
	tw_intervals_init(&empty, &allocator);
	tw_intervals_init(&out, trawl_allocator_default());
	for (i = 0; i < 2000; i++)
		tw_intervals_add(&set, 2 * i, 2 * i + 1);
	assert_true(set.failed);
	tw_intervals_subtract(&set, &empty, &out);
	assert_true(out.failed);
	tw_intervals_release(&set);
	tw_intervals_release(&out);
	assert_int_equal(limit.left, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_union),
		cmocka_unit_test(test_subtract),
		cmocka_unit_test(test_touching_are_one),
		cmocka_unit_test(test_subtract_by_hand),
		cmocka_unit_test(test_many_and_large),
		cmocka_unit_test(test_out_of_memory_is_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
