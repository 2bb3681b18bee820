/*
 * Where trawl's numbers differ from TraceLens' on purpose: one test for each heading of
 * docs/DEVIATIONS.md, with the right value worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/reader.h"
#include "trawl/report.h"

#include <string.h>

#define EVENT(cat, name, pid, tid, ts, dur, args)                                              \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid \
	",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}}"
#define OP(name, ts, dur) EVENT("cpu_op", name, "1", "1", ts, dur, "\"x\":0")
#define CALL(cat, name, ts, dur, id) EVENT(cat, name, "1", "1", ts, dur, "\"correlation\":" id)
#define GPU(cat, name, ts, dur, args) \
	EVENT(cat, name, "0", "7", ts, dur, "\"device\":0,\"stream\":7" args)

struct fixture {
	struct trawl_trace *trace;
	struct trawl_report *report;
};

static struct fixture report_of(const char *text, bool linked_only)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	const struct trawl_read_options read = { .allocator = allocator, .threads = 1 };
	const struct tw_feed_options feed_options = { .allocator = allocator, .end = -1 };
	struct fixture f = { tw_trace_new(allocator), NULL };
	struct trawl_report_options options;
	struct tw_feed *feed;

	assert_int_equal(tw_feed_open_memory(&feed, text, strlen(text), &feed_options, NULL), 0);
	assert_int_equal(tw_kineto_read(f.trace, feed, &read, NULL), 0);
	assert_int_equal(tw_trace_finish(f.trace), 0);
	trawl_report_options_init(&options);
	options.linked_only = linked_only;
	assert_int_equal(trawl_report_new(&f.report, f.trace, &options, NULL), 0);
	return f;
}

static void release(struct fixture *f)
{
	trawl_report_free(f->report);
	trawl_trace_free(f->trace);
}

static size_t column_of(const struct trawl_table *table, const char *header)
{
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++)
		if (!strcmp(trawl_table_column(table, i)->header, header))
			return i;
	fail_msg("no column '%s'", header);
	return 0;
}

static struct trawl_cell cell_of(const struct fixture *f, const char *name, size_t row,
				 const char *header)
{
	const struct trawl_table *table = trawl_report_find(f->report, name);

	assert_non_null(table);
	assert_true(row < trawl_table_rows(table));
	return trawl_table_cell(table, row, column_of(table, header));
}

static void assert_text(const struct fixture *f, const char *name, size_t row, const char *header,
			const char *text)
{
	struct trawl_cell cell = cell_of(f, name, row, header);

	assert_int_equal(cell.text_len, strlen(text));
	assert_memory_equal(cell.text, text, strlen(text));
}

static size_t rows_of(const struct fixture *f, const char *name)
{
	const struct trawl_table *table = trawl_report_find(f->report, name);

	return table ? trawl_table_rows(table) : 0;
}

static void test_deviation_flash_attention_category(void **state)
{
	struct fixture f = report_of("[" OP("aten::_flash_attention_forward", "0", "20") "," CALL(
					     "cuda_runtime", "cudaLaunchKernel", "1", "5",
					     "1") "," GPU("kernel", "flash_fwd_kernel", "10", "30",
							  ",\"correlation\":1") "]",
				     false);

	(void)state;
	assert_text(&f, "ops_summary", 0, "Categories", "['SDPA_fwd']");
	assert_text(&f, "ops_summary_by_category", 0, "op category", "SDPA_fwd");
	release(&f);
}

static void test_deviation_short_kernels_without_arguments(void **state)
{
	struct fixture f = report_of("[" GPU("kernel", "leftover", "10", "3",
					     "") "," GPU("kernel", "long", "20", "30", "") "]",
				     false);

	(void)state;
	assert_int_equal(rows_of(&f, "short_kernels_summary"), 1);
	assert_int_equal(cell_of(&f, "short_kernels_summary", 0, "Parent cpu_op").state,
			 TRAWL_CELL_MISSING);
	assert_int_equal(
		cell_of(&f, "short_kernels_summary", 0, "Short Kernel duration (µs) sum").integer,
		3000);
	release(&f);
}

static void test_deviation_collectives_without_arguments(void **state)
{
	struct fixture f = report_of(
		"[" GPU("kernel", "ncclDevKernel_Generic", "10", "30", ",\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":1024") "," GPU(
			"kernel", "ncclDevKernel_Generic", "50", "7", "") "]",
		false);

	(void)state;
	assert_int_equal(rows_of(&f, "coll_analysis"), 2);
	assert_text(&f, "coll_analysis", 0, "Collective name", "allreduce");
	assert_int_equal(cell_of(&f, "coll_analysis", 1, "Collective name").state,
			 TRAWL_CELL_MISSING);
	assert_int_equal(cell_of(&f, "coll_analysis", 1, "dur_sum").integer, 7000);
	release(&f);
}

static void test_deviation_launches_without_flow(void **state)
{
	struct fixture f = report_of("[" OP("aten::zero_", "0", "20") "," CALL(
					     "cuda_runtime", "hipMemsetAsync", "1", "5",
					     "9") "," GPU("gpu_memset", "Memset (Device)", "10",
							  "4", ",\"correlation\":9") "]",
				     true);

	(void)state;
	assert_text(&f, "ops_summary", 0, "name", "aten::zero_");
	assert_int_equal(cell_of(&f, "ops_summary", 0, "total_direct_kernel_time_ms").integer,
			 4000);
	/* --linked-only counts it, since its launch is recorded. */
	assert_text(&f, "gpu_timeline", 3, "type", "busy_time");
	assert_int_equal(cell_of(&f, "gpu_timeline", 3, "time ms").integer, 4000);
	release(&f);
}

static void test_deviation_order_of_equal_times(void **state)
{
	struct fixture f = report_of(
		"[" OP("aten::lt", "0", "20") "," CALL("cuda_runtime", "cudaLaunchKernel", "1", "5", "1") "," OP(
			"aten::abs", "30",
			"20") "," CALL("cuda_runtime", "cudaLaunchKernel", "31", "5",
				       "2") "," GPU("kernel", "a", "10", "2.5",
						    ",\"correlation\":1") "," GPU("kernel", "b",
										  "40", "2.5",
										  ",\"correlation\":2") "]",
		false);

	(void)state;
	assert_text(&f, "ops_summary", 0, "name", "aten::abs");
	assert_text(&f, "ops_summary", 1, "name", "aten::lt");
	release(&f);
}

/* As doubles, starts near 1.7e15 µs are multiples of 0.25 µs: the sum would be 0 or 0.5. */
static void test_deviation_binary_rounding(void **state)
{
	struct fixture f = report_of(
		"[" OP("aten::mm", "1712169098001150.000", "20") "," CALL(
			"cuda_runtime", "cudaLaunchKernel", "1712169098001151.000", "5",
			"1") "," GPU("kernel", "k", "1712169098001160.101", "0.123",
				     ",\"correlation\":1") "," GPU("kernel", "k",
								   "1712169098001160.301", "0.124",
								   ",\"correlation\":1") "]",
		false);

	(void)state;
	assert_int_equal(cell_of(&f, "ops_summary", 0, "total_direct_kernel_time_ms").integer, 247);
	assert_int_equal(cell_of(&f, "gpu_timeline", 5, "time ms").integer, 324);
	release(&f);
}

static void test_deviation_overruns_keep_their_kernels(void **state)
{
	/* aten::mm ends 5 µs after the operation it began in. */
	struct fixture f =
		report_of("[" OP("outer", "0", "100") "," OP("inner", "10", "20") "," OP(
				  "aten::mm", "20",
				  "15") "," CALL("cuda_runtime", "cudaLaunchKernel", "21", "5",
						 "1") "," GPU("kernel", "k", "40", "8",
							      ",\"correlation\":1") "]",
			  false);

	(void)state;
	assert_text(&f, "ops_summary", 0, "name", "aten::mm");
	assert_int_equal(cell_of(&f, "ops_summary", 0, "total_direct_kernel_time_ms").integer,
			 8000);
	release(&f);
}

static void test_deviation_driver_launches_like_runtime_ones(void **state)
{
	struct fixture f = report_of("[" OP("triton_poi_fused_add_0", "0", "20") "," CALL(
					     "cuda_driver", "cuLaunchKernel", "1", "5",
					     "1") "," GPU("kernel", "triton_poi_fused_add_0", "10",
							  "6", ",\"correlation\":1") "]",
				     false);

	(void)state;
	assert_text(&f, "ops_summary", 0, "name", "triton_poi_fused_add_0");
	assert_text(&f, "ops_summary", 0, "Categories", "['triton']");
	release(&f);
}

static void test_deviation_unknown_metadata_is_ignored(void **state)
{
	struct fixture f = report_of(
		"[{\"ph\":\"M\",\"name\":\"process_uptime_seconds\",\"pid\":1,\"tid\":0,\"ts\":0,"
		"\"args\":{\"uptime\":\"10\"}}," GPU("kernel", "k", "40", "8", "") "]",
		false);

	(void)state;
	assert_int_equal(rows_of(&f, "kernel_summary"), 1);
	release(&f);
}

static void test_deviation_both_link_keys_are_tried(void **state)
{
	struct fixture f = report_of(
		"[" OP("aten::mm", "0", "20") "," EVENT("cuda_runtime", "cudaLaunchKernel", "1", "1", "1", "5", "\"External id\":4,\"correlation\":77") "," OP(
			"aten::add", "30",
			"20") "," CALL("cuda_runtime", "cudaLaunchKernel", "31", "5",
				       "2") "," GPU("kernel", "by_external", "10", "6",
						    ",\"External id\":4") "," GPU("kernel",
										  "by_correlation",
										  "40", "5",
										  ",\"correlation\":2") "]",
		false);

	(void)state;
	assert_int_equal(rows_of(&f, "ops_summary"), 2);
	assert_text(&f, "ops_summary", 0, "name", "aten::mm");
	assert_text(&f, "ops_summary", 1, "name", "aten::add");
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deviation_flash_attention_category),
		cmocka_unit_test(test_deviation_short_kernels_without_arguments),
		cmocka_unit_test(test_deviation_collectives_without_arguments),
		cmocka_unit_test(test_deviation_launches_without_flow),
		cmocka_unit_test(test_deviation_order_of_equal_times),
		cmocka_unit_test(test_deviation_binary_rounding),
		cmocka_unit_test(test_deviation_overruns_keep_their_kernels),
		cmocka_unit_test(test_deviation_driver_launches_like_runtime_ones),
		cmocka_unit_test(test_deviation_unknown_metadata_is_ignored),
		cmocka_unit_test(test_deviation_both_link_keys_are_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
