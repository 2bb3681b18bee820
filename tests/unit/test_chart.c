/* The roofline chart: a PNG by gnuplot, whatever the names; failures that say what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/charts/gnuplot.h"
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
	{ "aten::mm", "8944x1024,1024x2816", 692.8, 428, 0.4, "matrix_bf16" },
	{ "`touch pwned`", "'; !touch pwned", 600, 300, 0.1, "matrix_fp16" },
	{ "'; system('touch pwned'); '", "", 1000, 1100, 0.1, "matrix_fp8" },
	{ "it's \"quoted\" \\n {^_@x} $(touch pwned)", "", 0.08, 0.3, 0.1, "vector_bf16" },
	{ "two\nlines\nEOD\n! touch pwned", "", 0.08, 0.31, 0.1, "vector_fp32" },
	{ "\xFF\xE2\x80\xAE", "", 0.09, 0.3, 0.05, "matrix_xx" },
	{ "", "", 0.2, 1e-9, 0.05, "" },
	{ "nowhere", "", NAN, 1, 0.05, "" },
	{ "no time", "", 1, INFINITY, 0.05, "" },
	{ "no bytes", "", 0, 1, 0.05, "" },
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

static unsigned big_endian(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (unsigned)b[0] << 24 | (unsigned)b[1] << 16 | (unsigned)b[2] << 8 | b[3];
}

/* The whole PNG, of the right size. */
static char *read_png(const char *path, size_t *len)
{
	char *png = scratch_read(path, len);

	assert_non_null(png);
	assert_true(*len > 1000);
	assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
	assert_int_equal(big_endian(png + 16), TW_CHART_WIDTH);
	assert_int_equal(big_endian(png + 20), TW_CHART_HEIGHT);
	assert_memory_equal(png + *len - 8, "IEND", 4);
	return png;
}

static void test_picture(void **state)
{
	const char *path = scratch_path(&scratch, "made/chart.png");
	struct trawl_error err;
	char *first, *second;
	size_t first_len, second_len;

	if (!have_gnuplot())
		skip();
	if (draw(&chart, path, &err))
		fail_msg("%s", err.message);
	first = read_png(path, &first_len);
	assert_int_equal(draw(&chart, path, &err), 0);
	second = read_png(path, &second_len);
	assert_int_equal(first_len, second_len);
	assert_memory_equal(first, second, first_len);
	free(first);
	free(second);
	assert_int_equal(scratch_count(&scratch, "made"), 1);
	assert_false(scratch_exists(&scratch, "pwned"));
}

/* No line of memory, no ceilings, one point; more points than have names. */
static void test_little_and_much(void **state)
{
	static struct tw_chart_point many[500];
	struct tw_roofline_chart other = { .title = "",
					   .platform = "",
					   .mem_bw_gbps = NAN,
					   .points = points,
					   .point_count = 1 };
	const char *path = scratch_path(&scratch, "other.png");
	struct trawl_error err;
	size_t i, len;

	if (!have_gnuplot())
		skip();
	if (draw(&other, path, &err))
		fail_msg("%s", err.message);
	free(read_png(path, &len));
	/* All at one place: there is no room for their numbers. */
	for (i = 0; i < 500; i++)
		many[i] = (struct tw_chart_point){ "same", "", 10, 10, 1.0 / 500, "matrix_bf16" };
	other.points = many;
	other.point_count = 500;
	assert_int_equal(draw(&other, path, &err), 0);
	free(read_png(path, &len));
}

static void test_nothing_to_draw(void **state)
{
	struct tw_roofline_chart empty = chart;
	struct trawl_error err;

	empty.points = points + 7;
	empty.point_count = 3;
	assert_int_equal(draw(&empty, scratch_path(&scratch, "none.png"), &err), TRAWL_ENODATA);
	assert_false(scratch_exists(&scratch, "none.png"));
}

static void test_no_gnuplot(void **state)
{
	char *path = strdup(getenv("PATH"));
	struct trawl_error err;

	assert_non_null(path);
	setenv("PATH", scratch.dir, 1);
	assert_int_equal(draw(&chart, scratch_path(&scratch, "absent.png"), &err), TRAWL_EIO);
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
	assert_int_equal(draw(&chart, scratch_path(&scratch, "file/chart.png"), &err), TRAWL_EIO);
}

static int setup(void **state)
{
	scratch_make(&scratch);
	/* Where a command in a name would leave its mark. */
	return chdir(scratch.dir);
}

static int teardown(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picture),		cmocka_unit_test(test_little_and_much),
		cmocka_unit_test(test_nothing_to_draw), cmocka_unit_test(test_no_gnuplot),
		cmocka_unit_test(test_gnuplot_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
