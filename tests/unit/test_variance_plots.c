/*
 * Quartiles, whiskers and densities against numbers that a slow script made with fractions and the
 * formulas as they are written in textbooks; what is in the commands for the pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "failing.h"
#include "render/charts/panel.h"
#include "render/charts/variance_plots.h"
#include "scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 1e-12

static const struct set {
	size_t count;
	double values[10];
	double mean, median, low, high, low_whisker, high_whisker;
	double density[5]; /* at fifths; 0: there is none */
} sets[] = {
	{ 1, { 3 }, 3, 3, 3, 3, 3, 3, { 0 } },
	{ 2,
	  { 1, 2 },
	  1.5,
	  1.5,
	  1.25,
	  1.75,
	  1,
	  2,
	  { 0.881255435938906, 0.971398097626123, 1, 0.971398097626123, 0.881255435938906 } },
	{ 4,
	  { 4, 2, 3, 1 },
	  2.5,
	  2.5,
	  1.75,
	  3.25,
	  1,
	  4,
	  { 0.727452456947454, 0.938395180709551, 1, 0.938395180709552, 0.727452456947454 } },
	{ 5,
	  { 10, 20, 1000, 30, 40 },
	  220,
	  30,
	  20,
	  40,
	  10,
	  40,
	  { 1, 0.778588584918055, 0.389374975679211, 0.254974270947297, 0.258617962564101 } },
	{ 5,
	  { -5, 100, -5, 101, -5 },
	  37.2,
	  -5,
	  -5,
	  100,
	  -5,
	  101,
	  { 1, 0.905841176598662, 0.732444461690458, 0.69541141497957, 0.68799847310359 } },
	{ 10,
	  { 2.5, 7.25, 7.25, 9, 11.125, 40, 41, 0.5, 3, 3 },
	  12.4625,
	  7.25,
	  3,
	  10.59375,
	  0.5,
	  11.125,
	  { 1, 0.987762851489439, 0.399176325420922, 0.2297269758334, 0.300966938252704 } },
	{ 4, { 1, 1, 1, 1 }, 1, 1, 1, 1, 1, 1, { 0 } },
};

static void test_distribution(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const struct set *s = &sets[i];
		double values[10];
		struct tw_distribution d;

		memcpy(values, s->values, sizeof(values));
		d = tw_distribution_of(values, s->count);
		assert_int_equal(d.count, s->count);
		assert_true(fabs(d.mean - s->mean) < NEAR * fabs(s->mean));
		assert_true(d.median == s->median);
		assert_true(d.low == s->low);
		assert_true(d.high == s->high);
		assert_true(d.low_whisker == s->low_whisker);
		assert_true(d.high_whisker == s->high_whisker);
		assert_true(d.min == values[0] && d.max == values[s->count - 1]);
	}
}

static void test_density(void **state)
{
	size_t i, k;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const struct set *s = &sets[i];
		double values[10], density[5];

		memcpy(values, s->values, sizeof(values));
		tw_distribution_of(values, s->count);
		assert_int_equal(tw_density(values, s->count, density, 5), s->density[0] != 0);
		for (k = 0; k < 5 && s->density[0] != 0; k++)
			assert_true(fabs(density[k] - s->density[k]) < NEAR);
	}
}

/* Differences so small that their squares are nothing. */
static void test_no_density(void **state)
{
	double values[] = { 0, 1e-200 }, density[3];

	assert_false(tw_density(values, 2, density, 3));
}

static const struct tw_variance_point points[] = {
	{ 512, 56, 1, 4 },   { 256, 28, 0, 10 }, { 256, 28, 1, 30 },
	{ 256, 70, 0, 5.5 }, { 512, 28, 0, -2 }, { 512, 42, 10, 7 },
};
#define POINTS (sizeof(points) / sizeof(points[0]))

static void test_groups(void **state)
{
	struct tw_variance_group *g;
	struct tw_arena arena;
	size_t count;

	tw_arena_init(&arena, trawl_allocator_default());
	g = tw_variance_groups(points, POINTS, TW_BY_CHANNELS, &arena, &count);
	assert_non_null(g);
	assert_int_equal(count, 4);
	assert_int_equal(g[0].number, 28);
	assert_int_equal(g[0].spread.count, 3);
	assert_true(g[0].values[0] == -2 && g[0].values[1] == 10 && g[0].values[2] == 30);
	assert_int_equal(g[1].number, 42);
	assert_int_equal(g[3].number, 70);
	g = tw_variance_groups(points, POINTS, TW_BY_THREADS, &arena, &count);
	assert_int_equal(count, 2);
	assert_int_equal(g[1].number, 512);
	assert_true(g[1].spread.mean == 3);
	g = tw_variance_groups(points, POINTS, TW_BY_RANK, &arena, &count);
	assert_int_equal(count, 3);
	assert_int_equal(g[2].number, 10);
	tw_arena_release(&arena);
}

static struct tw_str script_of(enum tw_variance_plot plot, const struct tw_variance_point *list,
			       size_t count, bool svg)
{
	struct tw_str script;

	tw_str_init(&script, trawl_allocator_default());
	tw_variance_plot_script(plot, list, count, svg, &script);
	assert_false(script.failed);
	/* Nothing that is no number got in. */
	assert_null(strstr(script.ptr, "nan"));
	assert_null(strstr(script.ptr, "inf"));
	assert_null(strstr(script.ptr, ",,"));
	return script;
}

static void has(const struct tw_str *script, const char *what)
{
	if (!strstr(script->ptr, what))
		fail_msg("not there: %s\n%s", what, script->ptr);
}

static void test_box_script(void **state)
{
	struct tw_str s = script_of(TW_PLOT_THREADS, points, POINTS, false);

	has(&s, "pngcairo enhanced size 3000,1800 ");
	has(&s, "('256 threads' 1, '512 threads' 2)");
	has(&s, "{/:Bold GEMM Kernel Time Variance by Thread Count}");
	has(&s, "{/:Bold Thread Configuration}");
	has(&s, "{/:Bold Time Difference (us)}");
	has(&s, "'n = 3 each; solid line: median, dashed: mean, ");
	/* 5.5 10 30: quartiles 7.75 and 20, filled with light blue. */
	has(&s, "$boxes << EOD\n1 10 0.78 1.22 7.75 20 11393254\n2 4 1.78 2.22 1 5.5 15761536\n");
	tw_str_release(&s);
	s = script_of(TW_PLOT_RANKS, points, POINTS, true);
	has(&s, "svg enhanced size 1008,432 ");
	has(&s, "('Rank 0' 1, 'Rank 1' 2, 'Rank 10' 3)");
	has(&s, "'n = 1 to 3; solid line: ");
	/* 1008 points show as much as 720 do: 1.4 times as large. */
	has(&s, " fontscale 1.4 linewidth 1.4\n");
	tw_str_release(&s);
}

static void test_fliers(void **state)
{
	struct tw_variance_point list[6];
	struct tw_str s;
	size_t i;

	for (i = 0; i < 6; i++)
		list[i] = (struct tw_variance_point){ 1, 2, 3, i == 5 ? 100 : (double)i };
	s = script_of(TW_PLOT_CHANNELS, list, 6, false);
	has(&s, "$fliers << EOD\n1 100 \nEOD\n");
	has(&s, "$fliers with points pt 6");
	tw_str_release(&s);
	s = script_of(TW_PLOT_CHANNELS, list, 5, false);
	assert_null(strstr(s.ptr, "$fliers with"));
	tw_str_release(&s);
}

/* No value where a combination is missing: the line is broken there. */
static void test_interaction(void **state)
{
	struct tw_str s = script_of(TW_PLOT_INTERACTION, points, POINTS, false);

	has(&s, "size 3600,2100 ");
	has(&s, "('28ch' 1, '42ch' 2, '56ch' 3, '70ch' 4)");
	has(&s, "$lines << EOD\n1 20 2062260\n\n4 5.5 2062260\n\n1 -2 16744206\n2 7 16744206\n"
		"3 4 16744206\nEOD\n");
	has(&s, "$circles << EOD\n1 20 2062260\n4 5.5 2062260\nEOD\n");
	has(&s, "'256 threads'");
	has(&s, "'512 threads'");
	/* Two of 256 threads and 28 channels, one of all others. */
	has(&s, "'n = 1 to 2'");
	tw_str_release(&s);
}

static void test_violins(void **state)
{
	struct tw_str s = script_of(TW_PLOT_VIOLINS, points, POINTS, false);

	has(&s, "size 6000,1800 ");
	has(&s, "{/:Bold GEMM Kernel Time Variance Distribution}");
	has(&s, "('256t' 1, '512t' 2)");
	has(&s, "('28ch' 1");
	has(&s, "('R0' 1, 'R1' 2, 'R10' 3)");
	has(&s, "transparent solid 0.7");
	has(&s, "'n = 3 each'");
	has(&s, "'n = 1 to 3'");
	tw_str_release(&s);
	/* One value: lines alone. */
	s = script_of(TW_PLOT_VIOLINS, points, 1, false);
	assert_null(strstr(s.ptr, "$bodies with"));
	has(&s, "'n = 1'");
	tw_str_release(&s);
}

/* What no axis should fail at. */
static void test_odd_values(void **state)
{
	static const double values[][3] = {
		{ 0, 0, 0 },	       { 1e15, -1e15, 0 },   { 1e-300, 0, 0 },
		{ 5e-324, 5e-324, 0 }, { 1e15, 1e15, 1e15 }, { 1e15, 1e15 - 0.125, 1e15 },
		{ 1e-7, 2e-7, 3e-7 },  { -1, -1, -1 },
	};
	struct tw_variance_point list[3];
	size_t i, k;
	int plot;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (k = 0; k < 3; k++)
			list[k] = (struct tw_variance_point){ INT64_MAX, INT64_MIN, (int64_t)k,
							      values[i][k] };
		for (plot = 0; plot < TW_VARIANCE_PLOTS; plot++) {
			struct tw_str s = script_of((enum tw_variance_plot)plot, list, 3, plot % 2);

			assert_null(strstr(s.ptr, "set ytics ()"));
			tw_str_release(&s);
		}
	}
}

static void test_labels_fit(void **state)
{
	struct tw_panel_labels l = tw_panel_fit(8, 6, 900, 16);

	assert_false(l.turned);
	assert_true(l.size == 16);
	assert_int_equal(l.step, 1);
	l = tw_panel_fit(16, 7, 1000, 16);
	assert_false(l.turned);
	assert_true(l.size == 12);
	l = tw_panel_fit(64, 7, 1000, 16);
	assert_true(l.turned);
	assert_int_equal(l.step, 1);
	l = tw_panel_fit(1000, 8, 1000, 16);
	assert_true(l.turned);
	assert_int_equal(l.step, 15);
}

static void test_nothing(void **state)
{
	bool done[TW_VARIANCE_PLOTS];
	struct trawl_error err;

	assert_int_equal(tw_render_variance_plots(points, 0, "nowhere", false, 1, done,
						  trawl_allocator_default(), &err),
			 TRAWL_ENODATA);
	assert_false(done[0]);
}

static void test_no_memory(void **state)
{
	struct failing failing;
	long n;
	int plot;

	for (plot = 0; plot < TW_VARIANCE_PLOTS; plot++) {
		for (n = 0;; n++) {
			struct tw_str script;

			failing_init(&failing, n);
			tw_str_init(&script, &failing.allocator);
			tw_variance_plot_script((enum tw_variance_plot)plot, points, POINTS, false,
						&script);
			assert_int_equal(script.failed, failing.failed);
			tw_str_release(&script);
			assert_int_equal(failing.live_blocks, 0);
			assert_false(failing.wrong_size);
			if (!failing.failed)
				break;
		}
		assert_true(n > 2);
	}
}

/* Where gnuplot is not, each picture is missing, and the first is named. */
static void test_no_gnuplot(void **state)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
	bool done[TW_VARIANCE_PLOTS];
	struct scratch scratch;
	struct trawl_error err;
	int status;

	scratch_make(&scratch);
	setenv("PATH", scratch.dir, 1);
	status = tw_render_variance_plots(points, POINTS, scratch.dir, false, 2, done,
					  trawl_allocator_default(), &err);
	setenv("PATH", path, 1);
	free(path);
	assert_int_equal(status, TRAWL_EIO);
	assert_non_null(strstr(err.message, "variance_by_threads_boxplot.png"));
	assert_non_null(strstr(err.message, "gnuplot"));
	assert_false(done[0] || done[1] || done[2] || done[3] || done[4]);
	assert_int_equal(scratch_count(&scratch, ""), 0);
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distribution), cmocka_unit_test(test_density),
		cmocka_unit_test(test_no_density),   cmocka_unit_test(test_groups),
		cmocka_unit_test(test_box_script),   cmocka_unit_test(test_fliers),
		cmocka_unit_test(test_interaction),  cmocka_unit_test(test_violins),
		cmocka_unit_test(test_odd_values),   cmocka_unit_test(test_labels_fit),
		cmocka_unit_test(test_nothing),	     cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_gnuplot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
