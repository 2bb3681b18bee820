/* Order of rows, statistics, groups, reused memory, the notation of Python: against slower ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/signature.h"
#include "analysis/stats.h"
#include "base/alloc.h"
#include "base/reuse.h"
#include "os/thread.h"
#include "failing.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

static uint64_t random_number(uint64_t *at)
{
	*at = *at * 6364136223846793005u + 1442695040888963407u;
	return *at >> 31;
}

static uint64_t random_below(uint64_t n)
{
	return random_number(&random_state) % n;
}

/* ---- sorting */

static void test_order(void **state)
{
	struct tw_order order[] = {
		{ .value = 5, .tie = 9, .index = 0 },
		{ .value = -7, .tie = 1, .index = 1 },
		{ .value = 5, .tie = 2, .index = 2 },
		{ .value = 8, .tie = 7, .index = 3 },
		{ .value = INT64_MIN, .index = 4 },
		{ .value = INT64_MAX, .index = 5 },
		{ .value = 5, .tie = UINT64_MAX, .index = 6 },
	};
	static const uint32_t expected[] = { 5, 3, 2, 0, 6, 1, 4 };
	size_t i;

	tw_order_sort(order, 7, NULL);
	for (i = 0; i < 7; i++)
		assert_int_equal(order[i].index, expected[i]);
	tw_order_sort(order, 0, NULL);
}

/* Texts in the order of their bytes, a beginning before what it begins. */
static void test_order_by_texts(void **state)
{
	static const char *const texts[] = { "b", "a", "ab", "B", "\xc3\xa4", "" };
	static const uint32_t expected[] = { 5, 3, 1, 2, 0, 4 };
	struct tw_order order[6];
	struct tw_pool pool;
	uint32_t i;

	assert_int_equal(tw_pool_init(&pool, trawl_allocator_default()), 0);
	for (i = 0; i < 6; i++)
		order[i] = (struct tw_order){
			.value = 1,
			.texts = { *texts[i] ? tw_pool_intern_cstr(&pool, texts[i]) : 0 },
			.index = i
		};
	tw_order_sort(order, 6, &pool);
	for (i = 0; i < 6; i++)
		assert_int_equal(order[i].index, expected[i]);
	/* The second text decides between equal first ones, the number between equal texts. */
	order[0] = (struct tw_order){ .texts = { 1, 2 }, .tie = 0, .index = 0 };
	order[1] = (struct tw_order){ .texts = { 1, 1 }, .tie = 5, .index = 1 };
	order[2] = (struct tw_order){ .texts = { 1, 1 }, .tie = 4, .index = 2 };
	tw_order_sort(order, 3, &pool);
	assert_string_equal(tw_pool_text(&pool, 1, NULL), "b");
	assert_string_equal(tw_pool_text(&pool, 2, NULL), "a");
	assert_int_equal(order[0].index, 0);
	assert_int_equal(order[1].index, 2);
	assert_int_equal(order[2].index, 1);
	tw_pool_release(&pool);
}

/* ---- statistics */

static int compare_values(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void expect_near(double got, long double expected, double tolerance)
{
	if (fabsl((long double)got - expected) > tolerance * (fabsl(expected) + 1e-9L))
		fail_msg("%.17g, not %.21Lg", got, expected);
}

/* With long doubles and a sorted list; adding up doubles may cost half a bit each time. */
static void compare_stats(int64_t *values, uint64_t count)
{
	int64_t *sorted = malloc(count * sizeof(*sorted)), sum = 0;
	double tolerance = 1e-12 + (double)count * DBL_EPSILON;
	long double mean, squares = 0, median;
	struct tw_stats s;
	uint64_t i;

	assert_non_null(sorted);
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_values);
	for (i = 0; i < count; i++)
		sum += sorted[i];
	mean = (long double)sum / (long double)count;
	for (i = 0; i < count; i++)
		squares += ((long double)sorted[i] - mean) * ((long double)sorted[i] - mean);
	median = count % 2 ?
			 (long double)sorted[count / 2] :
			 ((long double)sorted[count / 2 - 1] + (long double)sorted[count / 2]) / 2;

	s = tw_stats_of(values, count);
	assert_int_equal(s.count, count);
	assert_int_equal(s.sum, sum);
	assert_int_equal(s.min, sorted[0]);
	assert_int_equal(s.max, sorted[count - 1]);
	expect_near(s.mean, mean, 1e-15);
	expect_near(s.median, median, 1e-15);
	expect_near(s.population_std, sqrtl(squares / (long double)count), tolerance);
	if (count > 1)
		expect_near(s.std, sqrtl(squares / (long double)(count - 1)), tolerance);
	else
		assert_true(isnan(s.std));
	/* Reordered, but still the same values. */
	qsort(values, count, sizeof(*values), compare_values);
	assert_memory_equal(values, sorted, count * sizeof(*values));
	free(sorted);
}

static void test_stats_random(void **state)
{
	int64_t values[400];
	unsigned round;
	uint64_t i;

	random_state = 2;
	for (round = 0; round < 3000; round++) {
		uint64_t count = 1 + random_below(round % 10 ? 12 : 400);
		int64_t base = round % 3 ? 0 : (int64_t)random_below((uint64_t)1 << 33) * 1000;
		uint64_t spread = 1 + random_below(round % 2 ? 5 : 1000000000);

		for (i = 0; i < count; i++)
			values[i] = base + (int64_t)random_below(spread) - (int64_t)(spread / 2);
		compare_stats(values, count);
	}
}

/* No order of the input takes long: sorted, reversed, equal, two values in turn. */
static void test_stats_of_many(void **state)
{
	enum { COUNT = 200001 };
	int64_t *values = malloc(COUNT * sizeof(*values));
	int shape, i;

	assert_non_null(values);
	for (shape = 0; shape < 4; shape++) {
		for (i = 0; i < COUNT; i++)
			values[i] = shape == 0 ? i :
				    shape == 1 ? COUNT - i :
				    shape == 2 ? 7 :
						 i % 2;
		compare_stats(values, COUNT);
	}
	free(values);
}

static void test_stats_by_hand(void **state)
{
	int64_t four[] = { 8, 2, 4, 6 }, three[] = { 100, 1, 1 }, one[] = { -5 };
	struct tw_stats s = tw_stats_of(four, 4);

	assert_true(s.mean == 5 && s.median == 5 && s.sum == 20 && s.min == 2 && s.max == 8);
	assert_true(s.std == sqrt(20 / 3.) && s.population_std == sqrt(5));
	s = tw_stats_of(three, 3);
	assert_true(s.mean == 34 && s.median == 1);
	s = tw_stats_of(one, 1);
	assert_true(s.mean == -5 && s.median == -5 && s.population_std == 0 && isnan(s.std));
	s = tw_stats_of(NULL, 0);
	assert_true(s.count == 0 && s.sum == 0 && s.mean == 0 && s.median == 0 && isnan(s.std));
}

/* ---- groups and members */

struct key {
	uint32_t a, b, c;
};

static void test_groups(void **state)
{
	enum { ADDED = 3000 };
	struct key *seen = malloc(ADDED * sizeof(*seen));
	struct tw_groups groups;
	unsigned round;
	int i;

	assert_non_null(seen);
	random_state = 3;
	for (round = 0; round < 10; round++) {
		uint64_t range = 2 + random_below(40);
		uint32_t count = 0, at;

		tw_groups_init(&groups, sizeof(struct key), trawl_allocator_default());
		for (i = 0; i < ADDED; i++) {
			struct key key = { (uint32_t)random_below(range),
					   (uint32_t)random_below(range), 0 };

			for (at = 0; at < count && memcmp(&seen[at], &key, sizeof(key)); at++)
				;
			if (at == count)
				seen[count++] = key;
			assert_int_equal(tw_groups_add(&groups, &key), at);
			assert_int_equal(groups.count, count);
		}
		for (at = 0; at < count; at++)
			assert_memory_equal(tw_groups_key(&groups, at), &seen[at], sizeof(*seen));
		assert_false(groups.failed);
		tw_groups_release(&groups);
	}
	free(seen);
}

/* Keys of any size, with values that have to be aligned. */
static void test_groups_with_values(void **state)
{
	size_t key_size;

	for (key_size = 1; key_size <= 40; key_size++) {
		struct tw_groups groups;
		char key[40] = { 0 };
		int i;

		tw_groups_init_values(&groups, key_size, sizeof(uint64_t),
				      trawl_allocator_default());
		for (i = 0; i < 200; i++) {
			uint32_t group;

			key[key_size - 1] = (char)(i % 100);
			group = tw_groups_add(&groups, key);
			assert_int_equal(group, i % 100);
			assert_int_equal((uintptr_t)tw_groups_value(&groups, group) %
						 alignof(max_align_t),
					 0);
			*(uint64_t *)tw_groups_value(&groups, group) += (uint64_t)i;
		}
		for (i = 0; i < 100; i++) {
			key[key_size - 1] = (char)i;
			assert_memory_equal(tw_groups_key(&groups, (uint32_t)i), key, key_size);
			assert_int_equal(*(uint64_t *)tw_groups_value(&groups, (uint32_t)i),
					 2 * i + 100);
		}
		tw_groups_release(&groups);
	}
}

static void test_groups_out_of_memory(void **state)
{
	struct failing failing;
	long n;

	for (n = 0;; n++) {
		struct tw_groups groups;
		uint32_t i, got = 0;

		failing_init(&failing, n);
		tw_groups_init(&groups, sizeof(i), &failing.allocator);
		for (i = 0; i < 300; i++) {
			uint32_t group = tw_groups_add(&groups, &i);

			assert_true(group == i || group == TW_NO_GROUP);
			got += group == i;
		}
		assert_int_equal(groups.failed, failing.failed);
		assert_int_equal(groups.failed, got < 300);
		/* What is there is still found. */
		for (i = 0; i < groups.count; i++)
			assert_int_equal(*(const uint32_t *)tw_groups_key(&groups, i), i);
		tw_groups_release(&groups);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 2);
}

static void test_members(void **state)
{
	unsigned round;

	random_state = 4;
	for (round = 0; round < 500; round++) {
		uint64_t count = random_below(60), i;
		uint32_t groups = 1 + (uint32_t)random_below(10), of[60], g;
		struct tw_members members;
		uint64_t at = 0;

		for (i = 0; i < count; i++)
			of[i] = random_below(4) ? (uint32_t)random_below(groups) : TW_NO_GROUP;
		assert_int_equal(tw_members_build(&members, of, count, groups,
						  trawl_allocator_default()),
				 0);
		for (g = 0; g < groups; g++) {
			assert_int_equal(members.first[g], at);
			for (i = 0; i < count; i++)
				if (of[i] == g)
					assert_int_equal(members.list[at++], i);
			assert_int_equal(members.first[g + 1], at);
		}
		tw_members_release(&members);
	}
}

static void test_no_members(void **state)
{
	struct tw_members members;

	assert_int_equal(tw_members_build(&members, NULL, 0, 0, trawl_allocator_default()), 0);
	assert_int_equal(members.first[0], 0);
	tw_members_release(&members);
	tw_members_release(&members);
}

/* ---- reused memory */

#define MB ((size_t)1 << 20)

static void test_reuse_gives_the_same_block_again(void **state)
{
	struct failing failing;
	const struct trawl_allocator *a;
	struct tw_reuse *reuse;
	char *block, *other;
	long before, bytes;

	failing_init(&failing, -1);
	reuse = tw_reuse_new(&failing.allocator);
	assert_non_null(reuse);
	a = tw_reuse_allocator(reuse);
	block = tw_alloc(a, 4 * MB);
	memset(block, 1, 4 * MB);
	other = tw_alloc(a, 4 * MB);
	assert_ptr_not_equal(block, other);
	tw_free(a, other, 4 * MB);
	tw_free(a, block, 4 * MB);
	before = failing.live_blocks;
	bytes = failing.live_bytes;
	/* Both are at hand, for as much or less; what is much less gives back the rest. */
	block = tw_alloc(a, 4 * MB);
	other = tw_alloc(a, 3 * MB);
	assert_ptr_not_equal(block, other);
	assert_int_equal(failing.live_blocks, before);
	assert_int_equal(failing.live_bytes, bytes - (long)MB);
	memset(block, 2, 4 * MB);
	memset(other, 3, 3 * MB);
	tw_free(a, other, 3 * MB);
	tw_free(a, block, 4 * MB);
	/* More than is at hand is had anew. */
	block = tw_alloc(a, 5 * MB);
	memset(block, 4, 5 * MB);
	assert_int_equal(failing.live_blocks, before + 1);
	/* One that shrinks to little leaves its block to the next. */
	other = tw_realloc(a, block, 5 * MB, 200);
	assert_int_equal(other[199], 4);
	assert_ptr_equal(tw_alloc(a, 5 * MB), block);
	assert_int_equal(failing.live_blocks, before + 2);
	tw_free(a, other, 200);
	tw_free(a, block, 5 * MB);
	/* Small ones go straight through. */
	block = tw_alloc(a, 100);
	assert_int_equal(failing.live_blocks, before + 2);
	tw_free(a, block, 100);
	assert_int_equal(failing.live_blocks, before + 1);
	tw_reuse_free(reuse);
	assert_int_equal(failing.live_blocks, 0);
	assert_false(failing.wrong_size);
}

static void test_reuse_in_use_at_the_end(void **state)
{
	struct failing failing;
	struct tw_reuse *reuse;

	failing_init(&failing, -1);
	reuse = tw_reuse_new(&failing.allocator);
	assert_non_null(reuse);
	assert_non_null(tw_alloc(tw_reuse_allocator(reuse), 2 * MB));
	tw_reuse_free(reuse);
	tw_reuse_free(NULL);
	assert_int_equal(failing.live_blocks, 0);
}

/* A block that its owner knows by its bytes. */
struct owned {
	unsigned char *ptr;
	size_t size;
	unsigned char mark;
};

/* First, last and some bytes in between: filling megabytes whole would take long. */
static void mark(struct owned *o, unsigned char value)
{
	size_t i;

	o->mark = value;
	for (i = 0; i < o->size; i += 4001)
		o->ptr[i] = (unsigned char)(value + i / 4001);
	if (o->size)
		o->ptr[o->size - 1] = value;
}

static bool is_marked(const struct owned *o, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += 4001)
		if (i != o->size - 1 && o->ptr[i] != (unsigned char)(o->mark + i / 4001))
			return false;
	return size < o->size || !size || o->ptr[size - 1] == o->mark;
}

/* Takes, resizes and gives back blocks at random; false when contents were lost. */
static bool exercise(const struct trawl_allocator *a, uint64_t seed, unsigned rounds)
{
	struct owned owned[40] = { { NULL, 0, 0 } };
	bool good = true;
	size_t i;

	while (rounds--) {
		struct owned *o = &owned[random_number(&seed) % 40];
		size_t size = random_number(&seed) % 3 ? random_number(&seed) % 5000 + 1 :
							 random_number(&seed) % (3 * MB) + 1;
		unsigned char *moved;

		good &= !o->ptr || is_marked(o, o->size);
		if (o->ptr && random_number(&seed) % 3 == 0) {
			tw_free(a, o->ptr, o->size);
			*o = (struct owned){ NULL, 0, 0 };
			continue;
		}
		moved = tw_realloc(a, o->ptr, o->size, size);
		if (!moved)
			continue;
		o->ptr = moved;
		good &= is_marked(o, size < o->size ? size : o->size);
		o->size = size;
		mark(o, (unsigned char)random_number(&seed));
	}
	for (i = 0; i < 40; i++) {
		good &= !owned[i].ptr || is_marked(&owned[i], owned[i].size);
		tw_free(a, owned[i].ptr, owned[i].size);
	}
	return good;
}

static void test_reuse_growing_and_shrinking(void **state)
{
	struct failing failing;
	struct tw_reuse *reuse;

	failing_init(&failing, -1);
	reuse = tw_reuse_new(&failing.allocator);
	assert_non_null(reuse);
	assert_true(exercise(tw_reuse_allocator(reuse), 5, 1500));
	tw_reuse_free(reuse);
	assert_int_equal(failing.live_blocks, 0);
	assert_int_equal(failing.live_bytes, 0);
	assert_false(failing.wrong_size);
}

/* More large blocks at a time than are kept. */
static void test_reuse_of_many_blocks(void **state)
{
	struct owned owned[100];
	struct failing failing;
	struct tw_reuse *reuse;
	unsigned round;
	size_t i;

	failing_init(&failing, -1);
	reuse = tw_reuse_new(&failing.allocator);
	assert_non_null(reuse);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 100; i++) {
			owned[i].size = MB + 1000 * (i + round);
			owned[i].ptr = tw_alloc(tw_reuse_allocator(reuse), owned[i].size);
			assert_non_null(owned[i].ptr);
			mark(&owned[i], (unsigned char)i);
		}
		for (i = 0; i < 100; i++)
			assert_true(is_marked(&owned[i], owned[i].size));
		/* Some grow, some shrink below what is kept. */
		for (i = 0; i < 100; i++) {
			size_t size = i % 2 ? 2 * MB : 5000;

			owned[i].ptr = tw_realloc(tw_reuse_allocator(reuse), owned[i].ptr,
						  owned[i].size, size);
			assert_true(is_marked(&owned[i], size < MB ? size : MB));
			owned[i].size = size;
		}
		for (i = 0; i < 100; i++)
			tw_free(tw_reuse_allocator(reuse), owned[i].ptr, owned[i].size);
	}
	tw_reuse_free(reuse);
	assert_int_equal(failing.live_blocks, 0);
	assert_false(failing.wrong_size);
}

static void test_reuse_out_of_memory(void **state)
{
	struct failing failing;
	long n;

	failing_init(&failing, 0);
	assert_null(tw_reuse_new(&failing.allocator));
	for (n = 1; n < 60; n += 1 + n / 10) {
		struct tw_reuse *reuse;

		failing_init(&failing, n);
		reuse = tw_reuse_new(&failing.allocator);
		assert_non_null(reuse);
		assert_true(exercise(tw_reuse_allocator(reuse), (uint64_t)n, 100));
		tw_reuse_free(reuse);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
	}
}

struct crowd {
	const struct trawl_allocator *allocator;
	atomic_int bad, calls[64];
};

static void exercise_one(void *context, size_t i)
{
	struct crowd *crowd = context;

	atomic_fetch_add(&crowd->calls[i], 1);
	if (!exercise(crowd->allocator, 1000 + i, 120))
		atomic_fetch_add(&crowd->bad, 1);
}

static void test_reuse_by_many_threads(void **state)
{
	struct tw_reuse *reuse = tw_reuse_new(trawl_allocator_default());
	struct crowd crowd = { 0 };
	int i;

	assert_non_null(reuse);
	crowd.allocator = tw_reuse_allocator(reuse);
	tw_parallel(8, 16, exercise_one, &crowd);
	tw_reuse_free(reuse);
	assert_int_equal(atomic_load(&crowd.bad), 0);
	for (i = 0; i < 64; i++)
		assert_int_equal(atomic_load(&crowd.calls[i]), i < 16);
}

/* ---- threads */

static void count_call(void *context, size_t i)
{
	struct crowd *crowd = context;

	atomic_fetch_add(&crowd->calls[i], 1);
}

static void test_parallel(void **state)
{
	static const unsigned threads[] = { 0, 1, 2, 7, 64, 1000 };
	static const int counts[] = { 0, 1, 3, 64 };
	size_t t, c;
	int i;

	assert_true(tw_thread_count() >= 1);
	for (t = 0; t < sizeof(threads) / sizeof(threads[0]); t++)
		for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			struct crowd crowd = { 0 };

			tw_parallel(threads[t], (size_t)counts[c], count_call, &crowd);
			for (i = 0; i < 64; i++)
				assert_int_equal(atomic_load(&crowd.calls[i]), i < counts[c]);
		}
}

/* ---- the notation of Python */

static void test_python_repr(void **state)
{
	static const struct {
		const char *json, *python;
	} cases[] = {
		{ "[]", "()" },
		{ "[1]", "(1,)" },
		{ "[[]]", "((),)" },
		{ "[[1]]", "((1,),)" },
		{ "[8,16]", "(8, 16)" },
		{ "[[8,16],[]]", "((8, 16), ())" },
		{ "[[],[8]]", "((), (8,))" },
		{ "[ [ 8 , 16 ] ,\n\t[ ] ]", "((8, 16), ())" },
		{ "[[[1,2],[3]],[]]", "(((1, 2), (3,)), ())" },
		{ "[1,[2,[3,[4]]]]", "(1, (2, (3, (4,))))" },
		{ "[[[1],2],3]", "(((1,), 2), 3)" },
		{ "[null,true,false]", "(None, True, False)" },
		{ "[-1,0.5,1e-05]", "(-1, 0.5, 1e-05)" },
		{ "[\"float\",\"\"]", "('float', '')" },
		{ "[\"\"]", "('',)" },
		{ "[\"it's\"]", "(\"it's\",)" },
		{ "[\"\\\"x\\\"\"]", "('\"x\"',)" },
		{ "[\"it's \\\"x\\\"\"]", "('it\\'s \"x\"',)" },
		{ "[\"a\\\\b\"]", "('a\\\\b',)" },
		{ "[\"a\\nb\\tc\\rd\"]", "('a\\nb\\tc\\rd',)" },
		{ "[\"\\u0001\\u007f\"]", "('\\x01\\x7f',)" },
		{ "[\"\\u00e4\\ud83d\\ude00\"]", "('\xc3\xa4\xf0\x9f\x98\x80',)" },
		{ "[\"[1, 2]\",\"{\",\",\"]", "('[1, 2]', '{', ',')" },
		{ "{\"a\":1}", "{'a': 1}" },
		{ "[{\"a\":[1],\"b\":null}]", "({'a': (1,), 'b': None},)" },
		{ "[{}]", "({},)" },
		{ "5", "5" },
		{ "\"x\"", "'x'" },
		{ "", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_str out;

		tw_str_init(&out, trawl_allocator_default());
		tw_python_repr(cases[i].json, strlen(cases[i].json), &out);
		assert_false(out.failed);
		if (strcmp(out.ptr ? out.ptr : "", cases[i].python))
			fail_msg("%s: %s, not %s", cases[i].json, out.ptr, cases[i].python);
		tw_str_release(&out);
	}
}

/* What is no JSON gives some text, and an end. */
static void test_python_repr_of_anything(void **state)
{
	static const char letters[] = "[]{},:\"\\ a1";
	unsigned round;
	size_t i;

	random_state = 6;
	for (round = 0; round < 20000; round++) {
		size_t len = random_below(12);
		char *json = malloc(len + 1);
		struct tw_str out;

		assert_non_null(json);
		for (i = 0; i < len; i++)
			json[i] = letters[random_below(sizeof(letters) - 1)];
		json = realloc(json, len ? len : 1); /* so that reading past it is seen */
		assert_non_null(json);
		tw_str_init(&out, trawl_allocator_default());
		tw_python_repr(json, len, &out);
		assert_false(out.failed);
		tw_str_release(&out);
		free(json);
	}
}

/* Lists in lists, 60 deep: each has one element. */
static void test_python_repr_deep(void **state)
{
	enum { DEPTH = 60 };
	char json[2 * DEPTH + 2], python[3 * DEPTH + 2];
	struct tw_str out;
	int i;

	memset(json, '[', DEPTH);
	json[DEPTH] = '1';
	memset(json + DEPTH + 1, ']', DEPTH);
	json[2 * DEPTH + 1] = '\0';
	memset(python, '(', DEPTH);
	python[DEPTH] = '1';
	for (i = 0; i < DEPTH; i++)
		memcpy(python + DEPTH + 1 + 2 * i, ",)", 2);
	python[3 * DEPTH + 1] = '\0';
	tw_str_init(&out, trawl_allocator_default());
	tw_python_repr(json, strlen(json), &out);
	assert_string_equal(out.ptr, python);
	tw_str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_by_texts),
		cmocka_unit_test(test_stats_random),
		cmocka_unit_test(test_stats_of_many),
		cmocka_unit_test(test_stats_by_hand),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_with_values),
		cmocka_unit_test(test_groups_out_of_memory),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_no_members),
		cmocka_unit_test(test_reuse_gives_the_same_block_again),
		cmocka_unit_test(test_reuse_in_use_at_the_end),
		cmocka_unit_test(test_reuse_growing_and_shrinking),
		cmocka_unit_test(test_reuse_of_many_blocks),
		cmocka_unit_test(test_reuse_out_of_memory),
		cmocka_unit_test(test_reuse_by_many_threads),
		cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_python_repr),
		cmocka_unit_test(test_python_repr_of_anything),
		cmocka_unit_test(test_python_repr_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
