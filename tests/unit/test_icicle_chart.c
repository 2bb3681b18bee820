/* Times within times: where rectangles begin and end, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "failing.h"
#include "render/charts/icicle_chart.h"

#include <string.h>

#define PART(of_path, of_name, of_around, of_ms, of_kind)                                \
	{                                                                                \
		.path = of_path, .name = of_name, .around = of_around, .time_ms = of_ms, \
		.kind = of_kind                                                          \
	}

static struct tw_str svg;

static bool draw(const struct tw_icicle_part *parts, size_t count)
{
	const struct tw_icicle_chart chart = { .title = "Time <by> module",
					       .subtitle = "s",
					       .note = "n",
					       .parts = parts,
					       .count = count,
					       .kinds = { NULL, "Block", "<Linear>" },
					       .kind_count = 3 };

	tw_str_init(&svg, trawl_allocator_default());
	return tw_icicle_chart(&chart, &svg);
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
 * 8 ms are 488 pixels, from 16 to 504; rows are 26 apart, from 84 on, rectangles half a pixel narrower and a
 * pixel lower.
 */
static void test_parts_are_in_those_around(void **state)
{
	static const struct tw_icicle_part parts[] = {
		PART("all", "all", 0, 8, 0),	   PART("A", "A", 0, 6, 1),
		PART("A > B", "B", 1, 3, 2),	   PART("A > C", "C", 1, 0.25, 2),
		PART("A > B > D", "D", 2, 1.5, 1), PART("other", "other", 0, 2, 0),
	};

	assert_true(draw(parts, 6));
	has("<g><title>all: 8.000 ms, 100.00 %</title><rect x=\"16\" y=\"84\" width=\"487.5\" "
	    "height=\"25\" fill=\"#dddddd\"/>");
	has("<title>A: 6.000 ms, 75.00 %</title><rect x=\"16\" y=\"110\" width=\"365.5\"");
	has("<title>A &gt; B: 3.000 ms, 37.50 %</title><rect x=\"16\" y=\"136\" width=\"182.5\"");
	/* 488 / 32 = 15.25, to 214.25: a tenth is 214.3. */
	has("<title>A &gt; C: 0.250 ms, 3.12 %</title><rect x=\"199\" y=\"136\" width=\"14.8\"");
	has("B &gt; D: 1.500 ms, 18.75 %</title><rect x=\"16\" y=\"162\" width=\"91\"");
	has("<title>other: 2.000 ms, 25.00 %</title><rect x=\"382\" y=\"110\" width=\"121.5\"");
	has(">A  75.0 %</text>");
	/* Of 13 letters with its share, where (122 - 8) / 9.3 = 12 fit. */
	has(">other</text>");
	has("Time &lt;by&gt; module</title>");
	has(">Block</text>");
	has(">&lt;Linear&gt;</text>");
	/* Its 6.8 pixels within the edges have no room for a name. */
	has_not(">C");
	tw_str_release(&svg);
}

/* Four letters of 15 pixels need 4 * 15 * 0.62 + 8 = 45.2 pixels; 1000 ms are 488: 92.623 ms. */
static void test_names_where_they_fit(void **state)
{
	static const struct tw_icicle_part parts[] = {
		PART("all", "all", 0, 1000, 0),
		PART("abcdefgh", "abcdefgh", 0, 92.5, 1),
		PART("ijkl", "ijkl", 0, 93, 1),
		PART("mnopqrst", "mnopqrst", 0, 93, 1),
	};

	assert_true(draw(parts, 4));
	has("<title>abcdefgh: ");
	has_not("h</text>");
	has_not(">ab\xe2\x80\xa6");
	has(">ijkl</text>");
	has(">mn\xe2\x80\xa6t</text>");
	has_not("93.0 %");
	tw_str_release(&svg);
}

/* Any text; more than there is room for ends with what it is in. */
static void test_odd_parts(void **state)
{
	static const struct tw_icicle_part odd[] = {
		PART("all", "all", 0, 1, 0),
		PART("<script>\"&\n\xff", "<script>\"&\n\xff", 0, 0.75, 1),
		PART("more", "more", 0, 0.75, 1),
	};
	static const struct tw_icicle_part nothing[] = { PART("all", "all", 0, 0, 0) };

	assert_true(draw(odd, 3));
	has("<title>&lt;script&gt;&quot;&amp;\\n\xef\xbf\xbd: 0.750 ms");
	has(">&lt;script&gt;&quot;&amp;\\n\xef\xbf\xbd  75.0 %</text>");
	has_not("<script");
	has("<rect x=\"382\" y=\"110\" width=\"121.5\"");
	tw_str_release(&svg);
	assert_false(draw(nothing, 1));
	assert_int_equal(svg.len, 0);
	assert_false(draw(nothing, 0));
	tw_str_release(&svg);
}

static void test_no_memory(void **state)
{
	static const struct tw_icicle_part parts[] = { PART("all", "all", 0, 2, 0),
						       PART("A", "A", 0, 2, 1) };
	const struct tw_icicle_chart chart = { .title = "t",
					       .subtitle = "s",
					       .note = "n",
					       .parts = parts,
					       .count = 2,
					       .kinds = { NULL, "A" },
					       .kind_count = 2 };
	long n;

	for (n = 0;; n++) {
		struct failing failing;
		struct tw_str out;

		failing_init(&failing, n);
		tw_str_init(&out, &failing.allocator);
		tw_icicle_chart(&chart, &out);
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
		cmocka_unit_test(test_parts_are_in_those_around),
		cmocka_unit_test(test_names_where_they_fit),
		cmocka_unit_test(test_odd_parts),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
