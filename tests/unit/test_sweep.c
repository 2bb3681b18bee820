/* What lies in a sweep, and which of its configurations is the best. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edges.h"
#include "failing.h"
#include "io/sink.h"
#include "scratch.h"
#include "study/sweep/configurations.h"
#include "study/sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct scratch scratch;

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

/* An empty file, with the directories above it. */
static void put(const char *name)
{
	char *path = strdup(scratch_path(&scratch, name));
	struct trawl_error err;
	char *slash = strrchr(path, '/');

	*slash = 0;
	assert_int_equal(tw_make_directories(path, &err), 0);
	scratch_write(&scratch, name, "");
	free(path);
}

static int find(struct trawl_sweep *sweep, const char *output, const struct trawl_allocator *a)
{
	static const struct trawl_sweep_filter all;
	struct trawl_error err;

	return tw_sweep_find(sweep, scratch.dir, output ? scratch_path(&scratch, output) : NULL,
			     &all, a, &err);
}

static const char *name_in(const char *path)
{
	return path ? path + strlen(scratch.dir) + 1 : "";
}

static bool is_noted(const struct trawl_sweep *sweep, const char *what)
{
	size_t i;

	for (i = 0; i < sweep->note_count; i++)
		if (strstr(sweep->notes[i], what))
			return true;
	return false;
}

#define RUN "256thread/nccl_28channels/torch_profiler/"

/* ---- what is there */

static void test_order_is_by_number(void **state)
{
	struct trawl_sweep sweep;

	put("1024thread/nccl_4channels/torch_profiler/rank10/trace.json");
	put("256thread/nccl_112channels/torch_profiler/rank_2/trace.json.gz");
	put("256thread/nccl_28channels/torch_profiler/rank-0/trace.json");
	put("256thread/nccl_28channels/torch_profiler/rank12/trace.json");
	put("256thread/nccl_28channels/torch_profiler/rank2/trace.json");
	put("xthread/nccl_1channels/torch_profiler/rank0/trace.json");
	assert_int_equal(find(&sweep, NULL, trawl_allocator_default()), 0);
	assert_int_equal(sweep.count, 3);
	assert_string_equal(sweep.points[0].name, "256thread_28ch");
	assert_string_equal(sweep.points[1].name, "256thread_112ch");
	assert_string_equal(sweep.points[2].name, "1024thread_4ch");
	assert_int_equal(sweep.points[0].rank_count, 3);
	assert_int_equal(sweep.points[0].ranks[0].rank, 0);
	assert_int_equal(sweep.points[0].ranks[1].rank, 2);
	assert_int_equal(sweep.points[0].ranks[2].rank, 12);
	assert_int_equal(sweep.points[2].ranks[0].rank, 10);
	assert_true(sweep.incomplete);
	assert_true(is_noted(&sweep, "no configuration of 1024 threads and 28 channels"));
	assert_true(is_noted(&sweep, "256thread_112ch: missing ranks 0, 12"));
	tw_sweep_release(&sweep);
}

static void test_which_of_several_traces(void **state)
{
	struct trawl_sweep sweep;

	put(RUN "rank0/zz.json");
	put(RUN "rank0/my_trace.json");
	put(RUN "rank0/host_1.pt.trace.json");
	put(RUN "rank0/trace_step9.json");
	put(RUN "rank0/trace_step19.json");
	put(RUN "rank1/customer_trace_step3.json");
	put(RUN "rank1/trace_step19.json");
	put(RUN "rank2/trace/pt.trace.json");
	assert_int_equal(find(&sweep, NULL, trawl_allocator_default()), 0);
	assert_string_equal(name_in(sweep.points[0].ranks[0].trace), RUN "rank0/trace_step19.json");
	assert_int_equal(sweep.points[0].ranks[0].other_traces, 4);
	assert_string_equal(name_in(sweep.points[0].ranks[1].trace),
			    RUN "rank1/customer_trace_step3.json");
	assert_string_equal(name_in(sweep.points[0].ranks[2].trace),
			    RUN "rank2/trace/pt.trace.json");
	assert_true(is_noted(&sweep, "rank 0 has 5 traces"));
	assert_false(sweep.incomplete);
	tw_sweep_release(&sweep);
}

static void test_reports_of_the_output_come_first(void **state)
{
	const char *in = "tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx";
	const char *out = "up/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx";
	struct trawl_sweep sweep;

	put(RUN "rank0/trace.json");
	put(RUN "rank1/trace.json");
	put(in);
	put("tracelens_analysis/256thread/individual_reports/perf_28ch_rank1_csvs/GEMM.csv");
	put("tracelens_analysis/256thread/collective_reports/collective_28ch.xlsx");
	assert_int_equal(find(&sweep, NULL, trawl_allocator_default()), 0);
	assert_string_equal(name_in(sweep.points[0].ranks[0].report), in);
	assert_string_equal(name_in(sweep.points[0].ranks[1].report),
			    "tracelens_analysis/256thread/individual_reports/perf_28ch_rank1_csvs");
	assert_string_equal(name_in(sweep.points[0].collective_report),
			    "tracelens_analysis/256thread/collective_reports/collective_28ch.xlsx");
	tw_sweep_release(&sweep);

	/* Also where its name is behind that of the sweep's own. */
	put(out);
	assert_int_equal(find(&sweep, "up", trawl_allocator_default()), 0);
	assert_string_equal(name_in(sweep.points[0].ranks[0].report), out);
	/* What the output lacks is taken from the sweep. */
	assert_non_null(sweep.points[0].collective_report);
	tw_sweep_release(&sweep);
}

static void test_reports_alone(void **state)
{
	struct trawl_sweep sweep;
	struct tw_str path;

	put("512thread/individual_reports/perf_56ch_rank3.xlsx");
	assert_int_equal(find(&sweep, NULL, trawl_allocator_default()), 0);
	assert_true(sweep.only_reports);
	assert_int_equal(sweep.points[0].ranks[0].rank, 3);
	assert_null(sweep.points[0].ranks[0].trace);
	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_analysis_path(&sweep, "x.csv", &path);
	assert_string_equal(name_in(path.ptr), "x.csv");
	tw_str_release(&path);
	tw_sweep_release(&sweep);
}

static void test_nothing_there(void **state)
{
	struct trawl_sweep sweep;

	assert_int_equal(find(&sweep, NULL, trawl_allocator_default()), TRAWL_ENODATA);
	tw_sweep_release(&sweep);
}

static void test_out_of_memory(void **state)
{
	long n;

	put(RUN "rank0/trace.json");
	put(RUN "rank0/trace2.json");
	put("512thread/nccl_56channels/torch_profiler/rank1/trace.json");
	put("tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx");
	for (n = 0;; n++) {
		struct failing failing;
		struct trawl_sweep sweep;
		int status;

		failing_init(&failing, n);
		status = find(&sweep, "out", &failing.allocator);
		assert_true(status == 0 || status == TRAWL_ENOMEM);
		if (!failing.failed)
			assert_int_equal(status, 0);
		tw_sweep_release(&sweep);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
}

/* ---- which is the best */

/* computing, exposed comm, exposed copies, busy, idle, total, comm, copies */
#define CONFIGURATION(name_, ranks_, computing, exposed, idle, total, spread)                    \
	{                                                                                        \
		.name = name_, .ranks = ranks_,                                                  \
		.part_ms = { computing, exposed, 0, 0, idle, total, 0, 0 }, .spread_ms = spread, \
		.steps = 1, .gemm_difference_us = NAN                                            \
	}

static void assert_answer(const struct tw_configuration *list, size_t count, const char *expected)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_configurations_answer(list, count, &out);
	assert_string_equal(out.len ? out.ptr : "", expected);
	tw_str_release(&out);
}

static void test_answer(void **state)
{
	const struct tw_configuration list[] = {
		CONFIGURATION("a", 8, 80, 15, 5, 100, 1),
		CONFIGURATION("b", 8, 82, 8, 0, 90, 2),
		CONFIGURATION("c", 8, 80, 40, 0, 120, 1),
	};

	assert_answer(list, 3,
		      "Best: b, 90.000 ms of GPU time (median of 8 ranks): 10.0 % (10.000 ms) "
		      "less than a (next best), 25.0 % (30.000 ms) less than c (slowest).\n"
		      "The difference to the next best is 5.0x rank-to-rank noise (2.000 ms); "
		      "run-to-run noise may be larger.\n"
		      "Trade-off: 2.000 ms more compute than a.\n");
}

#define NO_TRADE_OFF                                                                            \
	"No trade-off: no other configuration has less compute, exposed communication or idle " \
	"time by 1 % of the total time.\n"

static void test_answer_within_noise(void **state)
{
	struct tw_configuration list[] = {
		CONFIGURATION("a", 2, 80, 15, 5, 102, 3),
		CONFIGURATION("b", 2, 80, 14, 5, 100, 0.5),
	};

	assert_answer(list, 2,
		      "Best: b, 100.000 ms of GPU time (median of 2 ranks): 2.0 % (2.000 ms) "
		      "less than a.\n"
		      "The difference to the next best is within rank-to-rank noise (3.000 "
		      "ms): a tie.\n" NO_TRADE_OFF);
	list[0].part_ms[5] = 100.9;
	list[0].spread_ms = 0.1;
	assert_answer(list, 2,
		      "Best: b, 100.000 ms of GPU time (median of 2 ranks): 0.9 % (0.900 ms) "
		      "less than a.\n"
		      "The difference to the next best is below 1 %, within run-to-run noise: "
		      "a tie.\n" NO_TRADE_OFF);
}

static bool is_answered(const struct tw_configuration *list, size_t count, const char *words)
{
	struct tw_str out;
	bool found;

	tw_str_init(&out, trawl_allocator_default());
	tw_configurations_answer(list, count, &out);
	found = strstr(out.ptr, words);
	tw_str_release(&out);
	return found;
}

/* Of 100 ms: how far the next is, and what of computing is a trade. */
static void test_one_per_cent_is_told(void **state)
{
	struct tw_configuration list[] = {
		CONFIGURATION("a", 2, 80, 15, 5, 100, 0.1),
		CONFIGURATION("b", 2, 79, 15, 5, 100.999, 0.1),
	};

	EDGE_OF(TW_LIMIT_SWEEP_TOLD_PERCENT);
	assert_true(is_answered(list, 2, "is below 1 %, within run-to-run noise"));
	assert_true(is_answered(list, 2, "No trade-off: "));
	list[1].part_ms[5] = 101;
	list[1].part_ms[0] = 78.999;
	assert_true(is_answered(list, 2, "is 10x rank-to-rank noise"));
	assert_true(is_answered(list, 2, "Trade-off: 1.001 ms more compute than b"));
}

/* 0.05 % is 0.5 of 1000. */
static void test_what_rounds_to_nothing_is_none(void **state)
{
	struct tw_configuration list[] = {
		CONFIGURATION("a", 2, 80, 15, 5, 999.501, 0.1),
		CONFIGURATION("b", 2, 80, 15, 5, 1000, 0.1),
	};

	EDGE_OF(TW_LIMIT_NO_DIFFERENCE_PERCENT);
	assert_true(is_answered(list, 2, ": as fast as b."));
	list[0].part_ms[5] = 999.499;
	assert_true(is_answered(list, 2, ": 0.1 % (0.501 ms) less than b."));
}

static void test_answer_of_few(void **state)
{
	const struct tw_configuration list[] = {
		CONFIGURATION("a", 1, 80, 15, 5, 100, NAN),
		CONFIGURATION("b", 1, 80, 15, 5, 110, NAN),
	};

	assert_answer(list, 0, "");
	assert_answer(list, 1,
		      "Best: a, 100.000 ms of GPU time (median of 1 rank); no other "
		      "configuration to compare with.\n");
	assert_answer(list, 2,
		      "Best: a, 100.000 ms of GPU time (median of 1 rank): 9.1 % (10.000 ms) less "
		      "than b.\n"
		      "Noise unknown: one rank per configuration.\n" NO_TRADE_OFF);
}

/* What is shorter since less of it was recorded, or since it failed, is not the best. */
static void test_what_cannot_be_the_best(void **state)
{
	struct tw_configuration list[] = {
		CONFIGURATION("whole", 8, 80, 15, 5, 100, 1),
		CONFIGURATION("failed", 8, 40, 5, 0, 45, 1),
		CONFIGURATION("none", 0, NAN, NAN, NAN, NAN, NAN),
		CONFIGURATION("damaged", 7, 90, 15, 5, 110, 1),
	};

	list[1].ended = "TIMEOUT";
	list[3].damaged = 1;
	assert_answer(
		list, 4,
		"failed: excluded, run status TIMEOUT.\n"
		"none: no readable trace.\n"
		"damaged: damaged traces of 1 of 8 ranks: skipped.\n"
		"Best of the comparable configurations: whole, 100.000 ms of GPU time (median "
		"of 8 ranks): 9.1 % (10.000 ms) less than damaged.\n"
		"The difference to the next best is 10x rank-to-rank noise (1.000 ms); "
		"run-to-run noise may be larger.\n" NO_TRADE_OFF);
	list[3].ranks = list[3].damaged = 1;
	assert_answer(list + 2, 2,
		      "none: no readable trace.\n"
		      "damaged: damaged traces of 1 of 1 ranks: times are lower bounds.\n"
		      "Best of the comparable configurations: damaged, 110.000 ms of GPU time "
		      "(median of 1 rank); no other configuration to compare with.\n");
}

static void test_steps_compare_where_their_numbers_differ(void **state)
{
	struct tw_configuration list[] = {
		CONFIGURATION("one", 2, 80, 15, 5, 100, 1),
		CONFIGURATION("two", 2, 160, 20, 0, 180, 2),
	};

	list[1].steps = 2;
	assert_answer(
		list, 2,
		"Step counts differ: times per step are compared.\n"
		"Best: two, 90.000 ms of GPU time per step (median of 2 ranks): 10.0 % (10.000 "
		"ms) less than one.\n"
		"The difference to the next best is 10x rank-to-rank noise (1.000 ms); "
		"run-to-run noise may be larger.\n");
}

static void test_answer_out_of_memory(void **state)
{
	const struct tw_configuration list[] = {
		CONFIGURATION("a", 8, 80, 15, 5, 100, 1),
		CONFIGURATION("b", 8, 80, 15, 5, 90, 1),
	};
	long n;

	for (n = 0;; n++) {
		struct failing failing;
		struct trawl_table *table;
		struct tw_str out;

		failing_init(&failing, n);
		tw_str_init(&out, &failing.allocator);
		tw_configurations_answer(list, 2, &out);
		table = tw_configurations_table(list, 2, &failing.allocator);
		assert_int_equal(failing.failed, out.failed || !table);
		trawl_table_free(table);
		tw_str_release(&out);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 2);
}

static void test_whom_ranks_wait_for(void **state)
{
	struct tw_configuration list[] = {
		CONFIGURATION("a", 8, 80, 15, 5, 100, 1),
		CONFIGURATION("b", 8, 80, 15, 5, 120, 1),
		CONFIGURATION("c", 8, 80, 15, 5, 130, 1),
	};
	struct tw_str out;

	list[0].straggler = list[2].straggler = "3";
	tw_str_init(&out, trawl_allocator_default());
	tw_configurations_answer(list, 3, &out);
	assert_non_null(strstr(out.ptr, "In a, c ranks wait for rank 3 ("));
	tw_str_clear(&out);
	list[1].straggler = "1, 4";
	tw_configurations_answer(list, 3, &out);
	assert_non_null(strstr(out.ptr, "In b ranks wait for ranks 1, 4 ("));
	tw_str_clear(&out);
	list[1].straggler = "3";
	tw_configurations_answer(list, 3, &out);
	assert_non_null(strstr(out.ptr, "In all configurations ranks wait for rank 3 ("));
	tw_str_release(&out);
}

static void test_ranks_that_others_have(void **state)
{
	const struct tw_configuration list[] = {
		CONFIGURATION("a", 8, 80, 15, 5, 100, 1),
		CONFIGURATION("b", 7, 80, 15, 5, 120, 1),
	};
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_configurations_answer(list, 2, &out);
	assert_non_null(strstr(out.ptr, "b: 7 ranks, other configurations up to 8.\n"));
	tw_str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order_is_by_number, setup, teardown),
		cmocka_unit_test_setup_teardown(test_which_of_several_traces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reports_of_the_output_come_first, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_reports_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_answer_within_noise),
		cmocka_unit_test(test_one_per_cent_is_told),
		cmocka_unit_test(test_what_rounds_to_nothing_is_none),
		cmocka_unit_test(test_answer_of_few),
		cmocka_unit_test(test_what_cannot_be_the_best),
		cmocka_unit_test(test_steps_compare_where_their_numbers_differ),
		cmocka_unit_test(test_answer_out_of_memory),
		cmocka_unit_test(test_whom_ranks_wait_for),
		cmocka_unit_test(test_ranks_that_others_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
