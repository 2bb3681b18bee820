#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "failing.h"

static void blocks_are_aligned_and_apart(void **state)
{
	struct failing failing;
	struct tw_arena arena;
	char *blocks[3000];
	size_t i, j;

	failing_init(&failing, -1);
	tw_arena_init(&arena, &failing.allocator);
	for (i = 0; i < 3000; i++) {
		size_t size = i * 7 % 300;

		blocks[i] = tw_arena_alloc(&arena, size);
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % 8, 0);
		memset(blocks[i], (int)(i & 0x7F), size);
	}
	for (i = 0; i < 3000; i++)
		for (j = 0; j < i * 7 % 300; j++)
			assert_int_equal(blocks[i][j], i & 0x7F);
	/* Few blocks, not one for each. */
	assert_in_range(failing.live_blocks, 1, 12);
	tw_arena_release(&arena);
	assert_int_equal(failing.live_blocks, 0);
	assert_int_equal(failing.live_bytes, 0);
	assert_false(failing.wrong_size);
}

/* Small and large blocks, in the block at hand and in new ones. */
static void rewound_to_a_mark(void **state)
{
	struct failing failing;
	struct tw_arena arena, mark;
	char *before, *after;
	size_t round, i, live;

	failing_init(&failing, -1);
	tw_arena_init(&arena, &failing.allocator);
	mark = tw_arena_mark(&arena);
	assert_non_null(tw_arena_alloc(&arena, 10));
	tw_arena_rewind(&arena, &mark);
	assert_int_equal(failing.live_blocks, 0);
	before = tw_arena_copy(&arena, "kept", 4);
	live = failing.live_bytes;
	for (round = 0; round < 10; round++) {
		mark = tw_arena_mark(&arena);
		after = tw_arena_alloc(&arena, 8);
		for (i = 0; i < 300; i++)
			assert_non_null(tw_arena_alloc(&arena, i % 7 ? i : 5000 + i));
		tw_arena_rewind(&arena, &mark);
		assert_int_equal(failing.live_bytes, live);
		assert_ptr_equal(tw_arena_alloc(&arena, 8), after);
		assert_string_equal(before, "kept");
	}
	tw_arena_release(&arena);
	assert_int_equal(failing.live_blocks, 0);
	assert_false(failing.wrong_size);
}

static void nothing_is_something(void **state)
{
	struct tw_arena arena;

	tw_arena_init(&arena, trawl_allocator_default());
	assert_non_null(tw_arena_alloc(&arena, 0));
	assert_non_null(tw_arena_copy(&arena, NULL, 0));
	assert_string_equal(tw_arena_copy(&arena, "", 0), "");
	tw_arena_release(&arena);
}

static void large_blocks_leave_the_current_one_in_use(void **state)
{
	struct failing failing;
	struct tw_arena arena;
	char *small, *large, *next;

	failing_init(&failing, -1);
	tw_arena_init(&arena, &failing.allocator);
	small = tw_arena_alloc(&arena, 16);
	large = tw_arena_alloc(&arena, 3 << 20);
	next = tw_arena_alloc(&arena, 16);
	memset(large, 1, 3 << 20);
	assert_ptr_equal(next, small + 16);
	assert_int_equal(failing.live_blocks, 2);
	tw_arena_release(&arena);
	/* A large block first. */
	large = tw_arena_alloc(&arena, 3 << 20);
	memset(large, 1, 3 << 20);
	small = tw_arena_alloc(&arena, 16);
	memset(small, 2, 16);
	assert_int_equal(large[(3 << 20) - 1], 1);
	tw_arena_release(&arena);
	assert_int_equal(failing.live_blocks, 0);
}

static void copies_end_with_nul(void **state)
{
	struct tw_arena arena;
	char *copy;

	tw_arena_init(&arena, trawl_allocator_default());
	copy = tw_arena_copy(&arena, "kernel name", 6);
	assert_string_equal(copy, "kernel");
	copy = tw_arena_copy(&arena, "a\0b", 3);
	assert_memory_equal(copy, "a\0b", 4);
	tw_arena_release(&arena);
}

static void failure_is_null_and_leaks_nothing(void **state)
{
	struct failing failing;
	struct tw_arena arena;
	long n;
	int i;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		tw_arena_init(&arena, &failing.allocator);
		for (i = 0; i < 100; i++) {
			char *p = tw_arena_alloc(&arena, (size_t)i * 50);

			assert_true(p || failing.failed);
			if (p)
				memset(p, 1, (size_t)i * 50);
		}
		tw_arena_release(&arena);
		assert_int_equal(failing.live_blocks, 0);
		if (!failing.failed)
			break;
	}
	assert_true(n > 2);
	tw_arena_init(&arena, trawl_allocator_default());
	assert_null(tw_arena_alloc(&arena, SIZE_MAX));
	assert_null(tw_arena_alloc(&arena, SIZE_MAX - 7));
	assert_null(tw_arena_copy(&arena, "", SIZE_MAX));
	tw_arena_release(&arena);
}

/* Where others stood before, and in blocks of their own; what does not fit is remembered. */
static void arrays_are_zero(void **state)
{
	static const size_t counts[] = { 0, 1, 7, 100, 5000 };
	struct failing failing;
	struct tw_arena arena, mark;
	size_t i, k;

	failing_init(&failing, -1);
	tw_arena_init(&arena, &failing.allocator);
	mark = tw_arena_mark(&arena);
	memset(tw_arena_alloc(&arena, 900), 1, 900);
	tw_arena_rewind(&arena, &mark);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		int64_t *values = tw_arena_array(&arena, counts[i], sizeof(*values));

		assert_non_null(values);
		for (k = 0; k < counts[i]; k++)
			assert_int_equal(values[k], 0);
		memset(values, 1, counts[i] * sizeof(*values));
	}
	assert_false(arena.failed);
	assert_null(tw_arena_array(&arena, SIZE_MAX / 4, 8));
	assert_true(arena.failed);
	tw_arena_release(&arena);
	assert_false(arena.failed);
	assert_int_equal(failing.live_blocks, 0);
	assert_false(failing.wrong_size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_aligned_and_apart),
		cmocka_unit_test(rewound_to_a_mark),
		cmocka_unit_test(nothing_is_something),
		cmocka_unit_test(large_blocks_leave_the_current_one_in_use),
		cmocka_unit_test(copies_end_with_nul),
		cmocka_unit_test(failure_is_null_and_leaks_nothing),
		cmocka_unit_test(arrays_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
