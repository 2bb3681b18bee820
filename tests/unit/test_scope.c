/* Memory of a piece of work: all of it is given back, whatever was freed before. */
#include "base/scope.h"

#include "base/alloc.h"
#include "failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void all_is_given_back(void **state)
{
	struct failing failing;
	struct tw_scope scope;
	char *a, *b, *c;

	failing_init(&failing, 100);
	tw_scope_begin(&scope, &failing.allocator);
	a = tw_alloc(&scope.allocator, 10);
	b = tw_alloc_array(&scope.allocator, 3, 100);
	c = tw_alloc(&scope.allocator, 7);
	assert_true(a && b && c);
	assert_int_equal((uintptr_t)a % 16, 0);
	memset(a, 1, 10);
	memset(c, 3, 7);
	a = tw_realloc(&scope.allocator, a, 10, 5000);
	assert_int_equal(a[9], 1);
	tw_free(&scope.allocator, b, 300);
	assert_int_equal(c[6], 3);
	tw_scope_end(&scope);
	assert_int_equal(failing.live_bytes, 0);
	assert_false(failing.wrong_size);
	tw_scope_end(&scope);
}

static void the_first_the_last_and_one_between_are_freed(void **state)
{
	struct failing failing;
	struct tw_scope scope;
	void *block[5];
	size_t gone, i;

	for (gone = 0; gone < 5; gone++) {
		failing_init(&failing, 100);
		tw_scope_begin(&scope, &failing.allocator);
		for (i = 0; i < 5; i++)
			block[i] = tw_alloc(&scope.allocator, i + 1);
		tw_free(&scope.allocator, block[gone], gone + 1);
		assert_int_equal(failing.live_blocks, 4);
		tw_scope_end(&scope);
		assert_int_equal(failing.live_bytes, 0);
	}
}

/* A block that cannot grow stays, and is given back. */
static void growing_may_fail(void **state)
{
	struct failing failing;
	struct tw_scope scope;
	char *a;

	failing_init(&failing, 1);
	tw_scope_begin(&scope, &failing.allocator);
	a = tw_alloc(&scope.allocator, 4);
	assert_non_null(a);
	a[3] = 5;
	assert_null(tw_realloc(&scope.allocator, a, 4, 1000));
	assert_int_equal(a[3], 5);
	assert_null(tw_alloc(&scope.allocator, SIZE_MAX - 8));
	tw_scope_end(&scope);
	assert_int_equal(failing.live_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_given_back),
		cmocka_unit_test(the_first_the_last_and_one_between_are_freed),
		cmocka_unit_test(growing_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
