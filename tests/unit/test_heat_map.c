/* The commands of the all-to-all picture: its cells, and what large ones leave out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "render/charts/heat_map.h"

#include <math.h>
#include <string.h>

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word))) {
		count++;
		text += strlen(word);
	}
	return count;
}

static struct tw_str script_of(const int64_t *labels, const double *values, size_t side)
{
	const struct tw_heat_map map = {
		.title = "it's a `title`",
		.unit = "MB",
		.row_axis = "from",
		.column_axis = "to",
		.rows = labels,
		.columns = labels,
		.row_count = side,
		.column_count = side,
		.values = values,
	};
	struct tw_str script;

	tw_str_init(&script, trawl_allocator_default());
	tw_heat_map_script(&map, &script);
	assert_false(script.failed);
	return script;
}

static void test_cells(void **state)
{
	static const int64_t labels[] = { 1, 30 };
	static const double values[] = { 0.5, NAN, 12.5, 0 };
	struct tw_str script = script_of(labels, values, 2);

	assert_non_null(strstr(script.ptr, "EOD\n0 0 0.5\n1 0 NaN\n0 1 12.5\n1 1 0\nEOD\n"));
	assert_non_null(strstr(script.ptr, "set xtics ('1' 0, '30' 1)"));
	assert_non_null(strstr(script.ptr, "set cbrange [0:12.5]"));
	assert_int_equal(count_of(script.ptr, "set label "), 3);
	assert_non_null(strstr(script.ptr, "set label '12.50' at first 0, first 1"));
	/* No quote of a title ends its text. */
	assert_null(strstr(script.ptr, "it's"));
	tw_str_release(&script);
}

static void test_large(void **state)
{
	enum { SIDE = 100 };
	static int64_t labels[SIDE];
	static double values[SIDE * SIDE];
	struct tw_str script;
	size_t i;

	for (i = 0; i < SIDE; i++)
		labels[i] = (int64_t)i;
	script = script_of(labels, values, SIDE);
	assert_int_equal(count_of(script.ptr, "set label "), 0);
	/* A label in five, on both axes. */
	assert_int_equal(count_of(script.ptr, "'95' 95"), 2);
	assert_int_equal(count_of(script.ptr, "'96' 96"), 0);
	/* Nothing was sent: the scale has a length all the same. */
	assert_non_null(strstr(script.ptr, "set cbrange [0:1]"));
	tw_str_release(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
