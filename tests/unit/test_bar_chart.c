/* Bars on one axis: where they begin and end, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "failing.h"
#include "render/charts/bar_chart.h"

#include <math.h>
#include <string.h>

static const struct tw_bar_part parts[] = { { "computing", "0072b2" }, { "waiting", "d55e00" } };

static struct tw_str svg;

static bool draw(const struct tw_bar_row *rows, size_t count, bool apart)
{
	const struct tw_bar_chart chart = { .title = "Time <by> rank",
					    .subtitle = "2 ranks",
					    .unit = "ms",
					    .parts = parts,
					    .part_count = 2,
					    .rows = rows,
					    .row_count = count,
					    .apart = apart };

	tw_str_init(&svg, trawl_allocator_default());
	return tw_bar_chart(&chart, &svg);
}

static void has(const char *what)
{
	if (!strstr(svg.ptr, what))
		fail_msg("not there: %s\n%s", what, svg.ptr);
}

static void has_not(const char *what)
{
	assert_null(strstr(svg.ptr, what));
}

/*
 * Names of one cell: bars from 16 + 13 * 0.62 + 8 = 32.06 to 520 - 16 - 74 = 430, which is 397.94
 * for 8 ms; the first row is at 72 + 22 = 94, the next 13 + 9 lower.
 */
static void test_parts_add_up(void **state)
{
	static const struct tw_bar_row rows[] = { { "a", { 2, 6 } }, { "b", { 4, 0 } } };

	assert_true(draw(rows, 2, false));
	/* 2 of 8: to 32.06 + 99.485; 6 from there to the end of the axis. */
	has("<rect x=\"32.1\" y=\"94\" width=\"99.5\" height=\"13\" fill=\"#0072b2\"/>");
	has("<rect x=\"131.5\" y=\"94\" width=\"298.5\" height=\"13\" fill=\"#d55e00\"/>");
	has("<rect x=\"32.1\" y=\"116\" width=\"199\" height=\"13\" fill=\"#0072b2\"/>");
	has(">8.000</text>");
	has(">4.000</text>");
	/* At most five parts: by 2, not by 1. */
	has(">6</text>");
	has_not(">5</text>");
	has(">ms</text>");
	has(">2 ranks</text>");
	has(">computing</text>");
	has("Time &lt;by&gt; rank");
	tw_str_release(&svg);
}

static void test_parts_are_compared(void **state)
{
	static const struct tw_bar_row rows[] = { { "a", { 0.5, 0.25 } }, { "b", { NAN, 0.125 } } };

	assert_true(draw(rows, 2, true));
	has("<rect x=\"32.1\" y=\"94\" width=\"397.9\" height=\"13\" fill=\"#0072b2\"/>");
	has("<rect x=\"32.1\" y=\"109\" width=\"199\" height=\"13\" fill=\"#d55e00\"/>");
	/* Two bars and the room between them and rows: 13 + 2 + 13 + 9 lower; unknown: no bar, a dash. */
	has("<rect x=\"32.1\" y=\"146\" width=\"99.5\" height=\"13\" fill=\"#d55e00\"/>");
	has(">-</text>");
	has(">0.125</text>");
	has(">0.1</text>");
	has(">0.5</text>");
	tw_str_release(&svg);
}

/* Zeros are known: an axis without bars.  Digits by the longest bar. */
static void test_ends(void **state)
{
	static const struct tw_bar_row zero[] = { { "a", { 0, 0 } } };
	static const struct tw_bar_row unknown[] = { { "a", { NAN, -1 } } };
	static const struct tw_bar_row long_one[] = { { "a", { 12345.678, NAN } } };

	assert_true(draw(zero, 1, false));
	has(">0.000</text>");
	has_not("height=\"13\"");
	tw_str_release(&svg);
	assert_false(draw(unknown, 1, false));
	assert_int_equal(svg.len, 0);
	tw_str_release(&svg);
	assert_false(draw(NULL, 0, true));
	tw_str_release(&svg);
	assert_true(draw(long_one, 1, false));
	has(">12346</text>");
	has(">10000</text>");
	tw_str_release(&svg);
}

static void test_no_memory(void **state)
{
	static const struct tw_bar_row rows[] = { { "a", { 2, 6 } }, { "b", { 4, NAN } } };
	struct tw_bar_chart chart = { "t", "s", "ms", parts, 2, rows, 2, true };
	long n;

	for (n = 0;; n++) {
		struct failing failing;
		struct tw_str out;

		failing_init(&failing, n);
		tw_str_init(&out, &failing.allocator);
		tw_bar_chart(&chart, &out);
		assert_int_equal(out.failed, failing.failed);
		tw_str_release(&out);
		assert_int_equal(failing.live_blocks, 0);
		if (!failing.failed)
			break;
	}
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_add_up),
		cmocka_unit_test(test_parts_are_compared),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
