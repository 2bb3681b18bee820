/* The default allocator keeps contents over every way to grow and shrink. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)

static void fill(unsigned char *block, size_t from, size_t to)
{
	size_t i;

	for (i = from; i < to; i++)
		block[i] = (unsigned char)(i * 131 >> 3);
}

static void check(const unsigned char *block, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (block[i] != (unsigned char)(i * 131 >> 3))
			fail_msg("byte %zu of %zu has changed", i, size);
}

/* Small blocks come from the heap, large ones are mapped: 2 MB is where that changes. */
static void contents_survive_every_change_of_size(void **state)
{
	static const size_t sizes[] = { 1,	    100,	2 * MB - 1, 2 * MB,
					2 * MB + 1, 3 * MB,	7 * MB + 5, 4 * MB,
					2 * MB,	    2 * MB - 1, 64 * KB,    1,
					9 * MB,	    10,		0,	    5 };
	const struct trawl_allocator *a = trawl_allocator_default();
	unsigned char *block = NULL;
	size_t size = 0, i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t kept = size < sizes[i] ? size : sizes[i];

		block = tw_realloc(a, block, size, sizes[i]);
		assert_non_null(block);
		check(block, kept);
		fill(block, kept, sizes[i]);
		size = sizes[i];
	}
	tw_free(a, block, size);
}

static void large_blocks_are_apart(void **state)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	unsigned char *blocks[6];
	size_t i;

	for (i = 0; i < 6; i++) {
		blocks[i] = tw_alloc(a, 2 * MB + i);
		assert_non_null(blocks[i]);
		memset(blocks[i], (int)i, 2 * MB + i);
	}
	/* One in the middle has to move to grow. */
	blocks[2] = tw_realloc(a, blocks[2], 2 * MB + 2, 6 * MB);
	assert_non_null(blocks[2]);
	for (i = 0; i < 6; i++) {
		assert_int_equal(blocks[i][0], i);
		assert_int_equal(blocks[i][2 * MB + i - 1], i);
	}
	for (i = 0; i < 6; i++)
		tw_free(a, blocks[i], i == 2 ? 6 * MB : 2 * MB + i);
}

static void arrays_are_zero(void **state)
{
	static const size_t counts[] = { 0, 1, 1000, 300000 };
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t i, j;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t *array = tw_alloc_array(a, counts[i], sizeof(*array));

		assert_non_null(array);
		for (j = 0; j < counts[i]; j++)
			assert_true(array[j] == 0);
		memset(array, 1, counts[i] * sizeof(*array));
		tw_free(a, array, counts[i] * sizeof(*array));
	}
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	volatile size_t most = SIZE_MAX;

	assert_null(tw_alloc_array(a, most, 2));
	assert_null(tw_alloc_array(a, most / 8 + 1, 8));
	assert_null(tw_alloc_array(a, 3, most / 2));
	tw_free(a, NULL, 100);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void more_than_there_can_be(void **state)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	unsigned char *block = tw_alloc(a, 4 * MB);
	volatile size_t most = SIZE_MAX;

	assert_non_null(block);
	fill(block, 0, 4 * MB);
	assert_null(tw_alloc(a, most));
	assert_null(tw_alloc(a, most - MB));
	assert_null(tw_alloc(a, most / 2));
	/* The old block stays valid. */
	assert_null(tw_realloc(a, block, 4 * MB, most - MB));
	assert_null(tw_realloc(a, block, 4 * MB, most / 2));
	check(block, 4 * MB);
	tw_free(a, block, 4 * MB);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_survive_every_change_of_size),
		cmocka_unit_test(large_blocks_are_apart),
		cmocka_unit_test(arrays_are_zero),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(more_than_there_can_be),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
