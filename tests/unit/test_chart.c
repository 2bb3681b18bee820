/* The roofline chart as SVG, whatever the names; gnuplot: failures that say what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/charts/gnuplot.h"
#include "render/charts/heat_map.h"
#include "render/charts/roofline_chart.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct scratch scratch;

static const struct tw_chart_ceiling ceilings[] = {
	{ "matrix_bf16", 708 }, { "matrix_fp16", 708 }, { "matrix_fp8", 1273 },
	{ "vector_bf16", 163 }, { "vector_fp32", NAN },
};

/* Names that shells, gnuplot or a reader's eye would obey. */
static const struct tw_chart_point points[] = {
	{ "aten::mm", "8944x1024,1024x2816", 692.8, 428, 0.4, 3, "matrix_bf16" },
	{ "`touch pwned`", "'; !touch pwned", 600, 300, 0.1, 3, "matrix_fp16" },
	{ "'; system('touch pwned'); '", "", 1000, 1100, 0.1, 3, "matrix_fp8" },
	{ "it's \"quoted\" \\n {^_@x} $(touch pwned)", "", 0.08, 0.3, 0.1, 3, "vector_bf16" },
	{ "two\nlines\nEOD\n! touch pwned", "", 0.08, 0.31, 0.1, 3, "vector_fp32" },
	{ "\xFF\xE2\x80\xAE", "", 0.09, 0.3, 0.05, 3, "matrix_xx" },
	{ "", "", 0.2, 1e-9, 0.05, 3, "" },
	{ "nowhere", "", NAN, 1, 0.05, 3, "" },
	{ "no time", "", 1, INFINITY, 0.05, 3, "" },
	{ "no bytes", "", 0, 1, 0.05, 3, "" },
};

static const struct tw_roofline_chart chart = {
	.title = "Roofline 'of' `a` trace",
	.platform = "MI300X",
	.mem_bw_gbps = 5300,
	.ceilings = ceilings,
	.ceiling_count = sizeof(ceilings) / sizeof(ceilings[0]),
	.points = points,
	.point_count = sizeof(points) / sizeof(points[0]),
};

static int draw(const struct tw_roofline_chart *what, const char *path, struct trawl_error *err)
{
	return tw_render_roofline_chart(what, path, trawl_allocator_default(), err);
}

static bool have_gnuplot(void)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t len;

	for (; path && *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/gnuplot", (int)len, path);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static char *read_svg(const char *path)
{
	size_t len;
	char *svg = scratch_read(path, &len);

	assert_non_null(svg);
	assert_memory_equal(svg, "<svg xmlns=", 11);
	assert_string_equal(svg + len - 7, "</svg>\n");
	return svg;
}

static void test_picture(void **state)
{
	const char *path = scratch_path(&scratch, "made/chart.svg");
	struct trawl_error err;
	char *first, *second;

	if (draw(&chart, path, &err))
		fail_msg("%s", err.message);
	first = read_svg(path);
	assert_int_equal(draw(&chart, path, &err), 0);
	second = read_svg(path);
	assert_string_equal(first, second);
	assert_int_equal(scratch_count(&scratch, "made"), 1);
	/* Seven that have a place, none so small that it is a dot; three lines of a list each. */
	assert_int_equal(count(first, "<circle"), 7);
	assert_int_equal(count(first, "h0"), 0);
	assert_int_equal(count(first, ", 3 calls, "), 7);
	assert_non_null(strstr(first, ">40.0 % of time, 3 calls, 428 TFLOP/s, 693 FLOP/byte<"));
	assert_non_null(strstr(first, ">3 without known FLOPs, 15.0 % of time<"));
	/* Two precisions of one peak are one ceiling; one without a peak has none. */
	assert_non_null(strstr(first, ">matrix bf16, matrix fp16: 708 TFLOP/s<"));
	assert_non_null(strstr(first, ">matrix fp8: 1273 TFLOP/s<"));
	assert_non_null(strstr(first, ">vector fp32 (no roof)<"));
	assert_non_null(strstr(first, ">memory: 5300 GB/s<"));
	/* Text is text. */
	assert_non_null(strstr(first, ">Roofline &#39;of&#39; `a` trace</text>"));
	assert_non_null(strstr(first, ">two\\nlines\\n…"));
	assert_non_null(strstr(first, "\xEF\xBF\xBD\\u202e"));
	free(first);
	free(second);
}

/* Of FLOPs per byte 1 and 100, TFLOP/s 1 and 100: where a point is on such axes. */
static void test_places(void **state)
{
	static const struct tw_chart_point corners[] = {
		{ "low", "", 1, 1, 0.25, 1, "" },
		{ "high", "", 100, 100, 0.75, 1, "" },
	};
	struct tw_roofline_chart other = { .title = "",
					   .platform = "",
					   .mem_bw_gbps = NAN,
					   .points = corners,
					   .point_count = 2 };
	struct trawl_error err;
	struct tw_str svg;

	tw_str_init(&svg, trawl_allocator_default());
	assert_int_equal(tw_roofline_chart(&other, &svg, &err), 0);
	/*
	 * 1/1.5 to 150 ends at half decades: 10^-0.5 to 10^2.5, three decades of 438 pixels from
	 * 66 on: 1 at 66 + 438/6 = 139, 100 at 66 + 438*5/6 = 431.  Up to 200 the same on the left:
	 * 428 - 360/6 = 368 and 428 - 360*5/6 = 128.  Radii 32*sqrt(0.25), 32*sqrt(0.75) = 27.7.
	 */
	assert_non_null(strstr(svg.ptr, "<circle cx=\"139\" cy=\"368\" r=\"16\""));
	assert_non_null(strstr(svg.ptr, "<circle cx=\"431\" cy=\"128\" r=\"27.7\""));
	/* Lines at 1, 10 and 100 of each: at 139, 285 and 431; at 368, 248 and 128. */
	assert_non_null(strstr(svg.ptr, "\"M66 368H504M66 248H504M66 128H504"
					"M139 68V428M285 68V428M431 68V428\""));
	assert_non_null(strstr(svg.ptr, ", 1 call, 1 TFLOP/s, 1 FLOP/byte<"));
	tw_str_release(&svg);
}

/* What no axis should fail at: it is left out. */
static void test_odd_numbers(void **state)
{
	static const double odd[] = { 0, -1, 5e-324, 1e-30, 1e30, 1.7e308, INFINITY, NAN };
	static const double most[] = { 2e-30, 9e29 };
	struct tw_chart_ceiling ceiling = { "matrix_bf16", 0 };
	struct tw_chart_point both[] = { { "", "", 2e-30, 9e29, 0.5, 1, "matrix_bf16" },
					 { "", "", 9e29, 2e-30, 0.5, 1, "matrix_bf16" } };
	struct tw_roofline_chart other = { .title = "",
					   .platform = "",
					   .ceilings = &ceiling,
					   .ceiling_count = 1,
					   .points = both,
					   .point_count = 2 };
	struct trawl_error err;
	struct tw_str svg;
	size_t i;

	tw_str_init(&svg, trawl_allocator_default());
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		tw_str_clear(&svg);
		ceiling.tflops = other.mem_bw_gbps = odd[i];
		assert_int_equal(tw_roofline_chart(&other, &svg, &err), 0);
		assert_int_equal(count(svg.ptr, "<circle"), 2);
		/* The name of the axis alone. */
		assert_int_equal(count(svg.ptr, "TFLOP/s<") + count(svg.ptr, "GB/s<"), 1);
		assert_null(strstr(svg.ptr, "=\"-2147"));
		both[1].tflops_per_s = odd[i];
		tw_str_clear(&svg);
		assert_int_equal(tw_roofline_chart(&other, &svg, &err), 0);
		assert_int_equal(count(svg.ptr, "<circle"), 1);
		both[1].tflops_per_s = 2e-30;
	}
	for (i = 0; i < 2; i++) {
		tw_str_clear(&svg);
		ceiling.tflops = most[i];
		other.mem_bw_gbps = most[!i];
		assert_int_equal(tw_roofline_chart(&other, &svg, &err), 0);
		assert_int_equal(count(svg.ptr, "TFLOP/s<") + count(svg.ptr, "GB/s<"), 3);
	}
	tw_str_release(&svg);
}

/* No line of memory, no ceilings, one point; as many points as a trace has. */
static void test_little_and_much(void **state)
{
	static struct tw_chart_point many[20000];
	struct tw_roofline_chart other = { .title = "",
					   .platform = "",
					   .mem_bw_gbps = NAN,
					   .points = points,
					   .point_count = 1 };
	const char *path = scratch_path(&scratch, "other.svg");
	struct trawl_error err;
	char *svg;
	size_t i;

	if (draw(&other, path, &err))
		fail_msg("%s", err.message);
	free(read_svg(path));
	/* All at one place: there is no room for all of their numbers. */
	for (i = 0; i < 20000; i++)
		many[i] = (struct tw_chart_point){
			"same", "", 10, 10, 1.0 / 20000, 1, i % 2 ? "matrix_bf16" : "vector_fp32"
		};
	other.points = many;
	other.point_count = 20000;
	assert_int_equal(draw(&other, path, &err), 0);
	svg = read_svg(path);
	/* Each is drawn, in few bytes. */
	assert_int_equal(count(svg, "<circle"), 0);
	assert_int_equal(count(svg, "h0"), 20000);
	assert_int_equal(count(svg, "stroke-linecap"), 2);
	assert_true(strlen(svg) < 20000 * 15);
	assert_non_null(strstr(svg, ">19990 more, "));
	free(svg);
}

static void test_nothing_to_draw(void **state)
{
	struct tw_roofline_chart empty = chart;
	struct trawl_error err;

	empty.points = points + 7;
	empty.point_count = 3;
	assert_int_equal(draw(&empty, scratch_path(&scratch, "none.svg"), &err), TRAWL_ENODATA);
	assert_false(scratch_exists(&scratch, "none.svg"));
}

/* A map of one cell. */
static int draw_map(const char *path, struct trawl_error *err)
{
	static const int64_t labels[] = { 0 };
	static const double values[] = { 1 };
	static const struct tw_heat_map map = { "t",	"MB", "from", "to",  labels,
						labels, 1,    1,      values };

	return tw_render_heat_map(&map, path, trawl_allocator_default(), err);
}

static void test_no_gnuplot(void **state)
{
	char *path = strdup(getenv("PATH"));
	struct trawl_error err;

	assert_non_null(path);
	setenv("PATH", scratch.dir, 1);
	assert_int_equal(draw_map(scratch_path(&scratch, "absent.png"), &err), TRAWL_EIO);
	setenv("PATH", path, 1);
	free(path);
	assert_non_null(strstr(err.message, "gnuplot is not on the PATH"));
	assert_non_null(strstr(err.message, "absent.png"));
	assert_false(scratch_exists(&scratch, "absent.png"));
}

/* What gnuplot says reaches the user, and no half picture is left. */
static void test_gnuplot_fails(void **state)
{
	const char *path = scratch_path(&scratch, "failed.png");
	struct trawl_error err;
	struct tw_str script;

	if (!have_gnuplot())
		skip();
	tw_str_init(&script, trawl_allocator_default());
	tw_str_add_cstr(&script, "set nonsense\n");
	assert_int_equal(tw_gnuplot_draw(&script, path, trawl_allocator_default(), &err),
			 TRAWL_EIO);
	assert_non_null(strstr(err.message, "gnuplot failed: "));
	assert_non_null(strstr(err.message, "line 0"));
	/* It ends well, and has drawn nothing. */
	tw_str_clear(&script);
	tw_str_add_cstr(&script, "x = 1\n");
	assert_int_equal(tw_gnuplot_draw(&script, path, trawl_allocator_default(), &err),
			 TRAWL_EIO);
	assert_non_null(strstr(err.message, "no output"));
	tw_str_release(&script);
	assert_false(scratch_exists(&scratch, "failed.png"));
	/* A place that cannot be. */
	scratch_write(&scratch, "file", "x");
	assert_int_equal(draw_map(scratch_path(&scratch, "file/map.png"), &err), TRAWL_EIO);
	assert_int_equal(draw(&chart, scratch_path(&scratch, "file/chart.svg"), &err), TRAWL_EIO);
}

static int setup(void **state)
{
	scratch_make(&scratch);
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picture),		cmocka_unit_test(test_places),
		cmocka_unit_test(test_little_and_much), cmocka_unit_test(test_nothing_to_draw),
		cmocka_unit_test(test_odd_numbers),	cmocka_unit_test(test_no_gnuplot),
		cmocka_unit_test(test_gnuplot_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
