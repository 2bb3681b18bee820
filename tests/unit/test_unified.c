/* unified_perf_summary on small traces: which calls make rows, and their figures by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIFIED "unified_perf_summary"
#define KERNEL_SUM "Kernel Time (µs)_sum"
#define ENGINE "autograd::engine::evaluate_function: "

#define TWO(type) "\"Input type\":[\"" type "\",\"" type "\"]"
/* 2 x 4096^3 = 137438953472 FLOPs, 3 x 4096^2 x 2 = 100663296 bytes = 96 MB. */
#define LARGE "\"Input Dims\":[[4096,4096],[4096,4096]]," TWO("c10::BFloat16")
/* 2 x 8 x 4 x 16 = 1024 FLOPs, (128 + 64 + 32) x 4 = 896 bytes. */
#define SMALL "\"Input Dims\":[[8,16],[16,4]]," TWO("float")
/* As above, with a bias: 1024 + 8 x 4 = 1056 FLOPs. */
#define SMALL_ADDMM                                      \
	"\"Input Dims\":[[4],[8,16],[16,4],[],[]],"      \
	"\"Input type\":[\"float\",\"float\",\"float\"," \
	"\"Scalar\",\"Scalar\"]"
#define SMALL_LINEAR \
	"\"Input Dims\":[[8,16],[4,16],[4]],\"Input type\":[\"float\",\"float\",\"float\"]"
/* Attention of (B, N, H, D) = (2, 8, 4, 16): backward 81920 FLOPs, 7 x 1024 x 2 = 14336 bytes. */
#define ATTENTION                                                                \
	"\"Input Dims\":[[2,8,4,16],[2,8,4,16],[2,8,4,16],[],[],[]],"            \
	"\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"," \
	"\"Scalar\",\"Scalar\",\"Scalar\"],"                                     \
	"\"Concrete Inputs\":[\"\",\"\",\"\",\"0.\",\"0.25\",\"False\"]"

struct fixture {
	struct trawl_trace *trace;
	struct trawl_report *report;
};

static struct fixture report(struct script *s, const char *platform)
{
	struct trawl_report_options options;
	struct fixture f = { script_read(s), NULL };

	trawl_report_options_init(&options);
	options.platform = platform;
	f.report = report_of(f.trace, &options);
	return f;
}

static void release(struct fixture *f)
{
	trawl_report_free(f->report);
	trawl_trace_free(f->trace);
}

static const char *cell(const struct fixture *f, const char *name, const char *header)
{
	return cell_of(f->report, UNIFIED, "name", name, header);
}

static void assert_cell(const struct fixture *f, const char *name, const char *header,
			const char *text)
{
	assert_string_equal(cell(f, name, header), text);
}

static void assert_number(const struct fixture *f, const char *name, const char *header,
			  double wanted)
{
	const char *text = cell(f, name, header);

	if (!*text || !(fabs(strtod(text, NULL) - wanted) <= 1e-12 * fabs(wanted)))
		fail_msg("%s of %s is '%s', not %.17g", header, name, text, wanted);
}

static bool has(const struct fixture *f, const char *name)
{
	return has_row(f->report, UNIFIED, "name", name);
}

static size_t rows(const struct fixture *f)
{
	return rows_of(f->report, UNIFIED);
}

/* The only note that has `words`, fails without one. */
static const char *note(const struct fixture *f, const char *words)
{
	const struct trawl_table *table = trawl_report_find(f->report, UNIFIED);
	size_t i;

	for (i = 0; i < trawl_table_notes(table); i++)
		if (strstr(trawl_table_note(table, i), words))
			return trawl_table_note(table, i);
	fail_msg("no note has '%s'", words);
	return "";
}

static bool has_note(const struct fixture *f, const char *words)
{
	const struct trawl_table *table = trawl_report_find(f->report, UNIFIED);
	size_t i;

	for (i = 0; i < trawl_table_notes(table); i++)
		if (strstr(trawl_table_note(table, i), words))
			return true;
	return false;
}

/* ---- figures */

/* Two kernels, 20 to 170 and 120 to 270 µs: 250 µs in which one ran. */
static void add_large(struct script *s)
{
	script_begin(s);
	script_op_us(s, "aten::mm", 0, 10, LARGE);
	script_launch_us(s, 1, 1, "gemm_a", 20, 150);
	script_call(s, "cudaLaunchKernel", 3000, 1000, 2);
	script_kernel(s, "gemm_b", 8, 120000, 150000, 2);
}

static void test_kernel_time_is_a_union(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	add_large(&s);
	f = report(&s, "MI300X");
	assert_int_equal(rows(&f), 1);
	assert_cell(&f, "aten::mm", "op category", "GEMM");
	assert_cell(&f, "aten::mm", "has_perf_model", "True");
	assert_cell(&f, "aten::mm", "ex_UID", "0");
	assert_number(&f, "aten::mm", "operation_count", 1);
	assert_number(&f, "aten::mm", "total_duration_us", 10);
	assert_number(&f, "aten::mm", KERNEL_SUM, 250);
	assert_number(&f, "aten::mm", "Kernel Time (µs)_mean", 250);
	assert_number(&f, "aten::mm", "Kernel Time (µs)_max", 250);
	assert_number(&f, "aten::mm", "Percentage (%)", 100);
	release(&f);
}

static void test_figures_of_a_call(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	add_large(&s);
	f = report(&s, "MI300X");
	assert_number(&f, "aten::mm", "GFLOPS", 137.438953472);
	assert_number(&f, "aten::mm", "Data Moved (MB)", 96);
	assert_number(&f, "aten::mm", "FLOPS/Byte", 137438953472. / 100663296);
	assert_cell(&f, "aten::mm", "Compute Spec", "matrix_bf16");
	/* 137438953472 / 250e-6 s / 10^12 */
	assert_number(&f, "aten::mm", "TFLOPS/s_mean", 549.755813888);
	assert_number(&f, "aten::mm", "TB/s_mean", .402653184);
	/* 708 TFLOP/s: 194.12 µs; 5300 GB/s: 18.99 µs. */
	assert_number(&f, "aten::mm", "Roofline Time (µs)_first", 137438.953472 / 708);
	assert_cell(&f, "aten::mm", "Roofline Bound", "COMPUTE_BOUND");
	assert_number(&f, "aten::mm", "Pct Roofline_mean", 137438.953472 / 708 / 250 * 100);
	note(&f, "roofline peaks: MI300X");
	assert_false(has_note(&f, "no FLOP/byte estimate"));
	assert_false(has_note(&f, "over 110 %"));
	release(&f);
}

static void test_memory_bound(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, SMALL);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	f = report(&s, "MI300X");
	/* 896 / 5300e9 s = 0.000169 µs, and 1024 / 163e12 s less. */
	assert_number(&f, "aten::mm", "Roofline Time (µs)_first", .896 / 5300);
	assert_cell(&f, "aten::mm", "Roofline Bound", "MEMORY_BOUND");
	assert_number(&f, "aten::mm", "Pct Roofline_mean", .896 / 5300 / 4 * 100);
	assert_number(&f, "aten::mm", "TB/s_mean", .000224);
	release(&f);
}

static void test_no_platform(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	add_large(&s);
	f = report(&s, NULL);
	assert_number(&f, "aten::mm", "TFLOPS/s_mean", 549.755813888);
	assert_cell(&f, "aten::mm", "Roofline Time (µs)_first", "");
	assert_cell(&f, "aten::mm", "Roofline Bound", "");
	assert_cell(&f, "aten::mm", "Pct Roofline_mean", "");
	note(&f, "no roofline: unknown platform");
	release(&f);
}

/* The statistics of two calls: kernels of 250 and 500 µs. */
static void test_statistics_of_calls(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, LARGE);
	script_launch_us(&s, 1, 1, "gemm", 20, 250);
	script_op_us(&s, "aten::mm", 20, 30, LARGE);
	script_launch_us(&s, 21, 2, "gemm", 300, 500);
	f = report(&s, "MI300X");
	assert_int_equal(rows(&f), 1);
	assert_number(&f, "aten::mm", "operation_count", 2);
	assert_number(&f, "aten::mm", "total_duration_us", 40);
	assert_number(&f, "aten::mm", "mean_duration_us", 20);
	assert_number(&f, "aten::mm", "duration_us_max", 30);
	assert_number(&f, "aten::mm", KERNEL_SUM, 750);
	assert_number(&f, "aten::mm", "Kernel Time (µs)_median", 375);
	/* Half of the difference times the square root of 2. */
	assert_number(&f, "aten::mm", "Kernel Time (µs)_std", 125 * M_SQRT2);
	/* Of one call, not of both. */
	assert_number(&f, "aten::mm", "GFLOPS", 137.438953472);
	/* The mean of the calls' rates, not the rate of the sums. */
	assert_number(&f, "aten::mm", "TFLOPS/s_mean", 549.755813888 * .75);
	assert_number(&f, "aten::mm", "TFLOPS/s_min", 549.755813888 / 2);
	assert_number(&f, "aten::mm", "TFLOPS/s_max", 549.755813888);
	assert_number(&f, "aten::mm", "Pct Roofline_max", 137438.953472 / 708 / 250 * 100);
	release(&f);
}

static void test_other_arguments_other_row(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, LARGE);
	script_launch_us(&s, 1, 1, "gemm", 20, 100);
	script_op_us(&s, "aten::mm", 20, 10, SMALL);
	script_launch_us(&s, 21, 2, "gemm", 120, 300);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 2);
	/* Most kernel time first. */
	assert_string_equal(cell_at(f.report, UNIFIED, 0, "Input Dims"), "((8, 16), (16, 4))");
	assert_string_equal(cell_at(f.report, UNIFIED, 0, "Percentage (%)"), "75");
	assert_string_equal(cell_at(f.report, UNIFIED, 0, "GFLOPS"), "1.024e-06");
	assert_string_equal(cell_at(f.report, UNIFIED, 1, "Cumulative Percentage (%)"), "100");
	release(&f);
}

static void test_unknown_type_has_no_bytes(void **state)
{
	static const char *const missing[] = {
		"Data Moved (MB)",	    "FLOPS/Byte",     "Compute Spec",	  "TB/s_mean",
		"Roofline Time (µs)_first", "Roofline Bound", "Pct Roofline_mean"
	};
	struct script s;
	struct fixture f;
	size_t i;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, "\"Input Dims\":[[8,16],[16,4]]," TWO("c10::Mystery"));
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	f = report(&s, "MI300X");
	assert_number(&f, "aten::mm", "GFLOPS", 1.024e-6);
	assert_number(&f, "aten::mm", "TFLOPS/s_mean", 1024 / 4e-6 / 1e12);
	for (i = 0; i < sizeof(missing) / sizeof(*missing); i++)
		assert_cell(&f, "aten::mm", missing[i], "");
	assert_cell(&f, "aten::mm", "has_perf_model", "True");
	release(&f);
}

static void test_unusable_arguments(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, NULL);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	script_op_us(&s, "aten::mm", 20, 10, SMALL);
	script_launch_us(&s, 21, 2, "gemm", 30, 12);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 2);
	assert_string_equal(cell_at(f.report, UNIFIED, 1, KERNEL_SUM), "4");
	assert_string_equal(cell_at(f.report, UNIFIED, 1, "GFLOPS"), "");
	assert_string_equal(cell_at(f.report, UNIFIED, 1, "TFLOPS/s_mean"), "");
	assert_string_equal(note(&f, "have no FLOP/byte estimate"),
			    "1 of 2 rows (1 calls, 25.0 % of kernel time) have no FLOP/byte "
			    "estimate: no "
			    "cost model, or shapes not recorded (record_shapes=True)");
	release(&f);
}

static void test_more_than_the_roofline(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, LARGE);
	/* 194.1228 µs at least: 194 %. */
	script_launch_us(&s, 1, 1, "gemm", 20, 100);
	/* 107.8 %: not over 110. */
	script_op_us(&s, "aten::mm", 20, 10, LARGE ",\"Input Strides\":[[4096,1],[1,4096]]");
	script_launch_us(&s, 21, 2, "gemm", 200, 180);
	f = report(&s, "MI300X");
	assert_int_equal(rows(&f), 2);
	assert_non_null(strstr(note(&f, "over 110 % of the roofline"),
			       "1 row is over 110 % of the roofline, max 194 %"));
	/* Each is named, the one below it too. */
	assert_string_equal(note(&f, "row 2,"), "row 2, aten::mm: 194.1 % of the compute peak");
	assert_string_equal(note(&f, "row 1,"), "row 1, aten::mm: 107.8 % of the compute peak");
	release(&f);
}

/* ---- which calls make rows */

static void test_outermost_modelled_operation(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::layer_norm", 0, 50,
		     "\"Input Dims\":[[8,16],[],[16],[16],[],[]],\"Input "
		     "type\":[\"float\",\"ScalarList\","
		     "\"float\",\"float\",\"Scalar\",\"Scalar\"],\"Concrete "
		     "Inputs\":[\"\",\"[16]\",\"\","
		     "\"\",\"1e-05\",\"True\"]");
	script_op_us(
		&s, "aten::native_layer_norm", 5, 20,
		"\"Input Dims\":[[8,16],[],[16],[16],[]],\"Input type\":[\"float\",\"ScalarList\","
		"\"float\",\"float\",\"Scalar\"],\"Concrete Inputs\":[\"\",\"[16]\",\"\",\"\","
		"\"1e-05\"]");
	script_launch_us(&s, 6, 1, "norm", 20, 4);
	/* A kernel of the outer operation is part of the call. */
	script_launch_us(&s, 40, 2, "scale", 50, 3);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_cell(&f, "aten::layer_norm", "op category", "NORM_fwd");
	assert_number(&f, "aten::layer_norm", "operation_count", 1);
	assert_number(&f, "aten::layer_norm", KERNEL_SUM, 7);
	/* 6 x 16 + 5 x 128 */
	assert_number(&f, "aten::layer_norm", "GFLOPS", 688e-9);
	release(&f);
}

static void test_composite_gives_way(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::linear", 0, 50, SMALL_LINEAR);
	script_op_us(&s, "aten::addmm", 5, 20, SMALL_ADDMM);
	script_launch_us(&s, 6, 1, "gemm", 20, 4);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_cell(&f, "aten::addmm", "has_perf_model", "True");
	assert_number(&f, "aten::addmm", "GFLOPS", 1056e-9);
	assert_number(&f, "aten::addmm", "operation_count", 1);
	release(&f);

	script_begin(&s);
	script_op_us(&s, "aten::linear", 0, 50, SMALL_LINEAR);
	script_launch_us(&s, 6, 1, "gemm", 20, 4);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_cell(&f, "aten::linear", "has_perf_model", "True");
	assert_number(&f, "aten::linear", "GFLOPS", 1056e-9);
	release(&f);
}

static void test_leaf_without_model(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "outer", 0, 60, NULL);
	script_op_us(&s, "my::op", 5, 40, NULL);
	script_launch_us(&s, 6, 1, "a", 20, 4);
	/* What is below belongs to it. */
	script_op_us(&s, "my::part", 10, 20, NULL);
	script_launch_us(&s, 11, 2, "b", 30, 2);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_number(&f, "my::op", KERNEL_SUM, 6);
	assert_cell(&f, "my::op", "has_perf_model", "False");
	assert_cell(&f, "my::op", "op category", "other");
	assert_cell(&f, "my::op", "GFLOPS", "");
	assert_cell(&f, "my::op", "perf_params", "");
	note(&f, "1 of 1 rows (1 calls, 100.0 % of kernel time) have no FLOP/byte estimate");
	release(&f);
}

static void test_kernels_left_over(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	/* A kernel beside a modelled part. */
	script_op_us(&s, "block", 0, 60, NULL);
	script_op_us(&s, "aten::mm", 5, 20, SMALL);
	script_launch_us(&s, 6, 1, "gemm", 20, 4);
	script_launch_us(&s, 40, 2, "extra", 50, 3);
	script_launch_us(&s, 45, 3, "extra", 55, 2);
	/* Under no operation at all. */
	script_launch_us(&s, 80, 4, "alone", 90, 1);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 3);
	assert_number(&f, "aten::mm", KERNEL_SUM, 4);
	assert_number(&f, "block->extra (Synthetic Op)", KERNEL_SUM, 5);
	assert_number(&f, "block->extra (Synthetic Op)", "operation_count", 2);
	assert_cell(&f, "block->extra (Synthetic Op)", "has_perf_model", "False");
	assert_cell(&f, "block->extra (Synthetic Op)", "ex_UID", "0");
	assert_number(&f, "cudaLaunchKernel->alone (Synthetic Op)", KERNEL_SUM, 1);
	release(&f);
}

static void test_driver_launches(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "my::compiled", 0, 20, NULL);
	script_slice(&s, "cuda_driver", "cuLaunchKernel", 1, 1, 1000, 1000, "\"correlation\":1");
	script_kernel(&s, "k", 7, 20000, 4000, 1);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_number(&f, "my::compiled", KERNEL_SUM, 4);
	release(&f);
}

static void test_no_communication(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "c10d::allreduce_", 0, 20, NULL);
	script_launch_us(&s, 1, 1, "ncclDevKernel_AllReduce", 20, 100);
	/* The rest of such an operation has its row. */
	script_op_us(&s, "my::gather", 30, 30, NULL);
	script_launch_us(&s, 31, 2, "ncclDevKernel_AllGather", 120, 50);
	script_launch_us(&s, 40, 3, "pack", 170, 3);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_number(&f, "my::gather->pack (Synthetic Op)", KERNEL_SUM, 3);
	release(&f);
}

static void test_no_unlinked_kernels(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, SMALL);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	script_kernel(&s, "nobody's", 7, 30000, 9000, 77);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_number(&f, "aten::mm", KERNEL_SUM, 4);
	assert_number(&f, "aten::mm", "Percentage (%)", 100);
	release(&f);
}

/* ---- passes back */

#define BACKWARD "FlashAttnFuncBackward"

/* FlashAttnFunc and what autograd runs for it, from 100 to 200 µs; more may be added there. */
static void begin_backward(struct script *s)
{
	script_begin(s);
	script_op_us(s, "FlashAttnFunc", 0, 20, ATTENTION ",\"Sequence number\":5");
	script_launch_us(s, 1, 1, "fwd", 20, 10);
	script_backward_op_us(s, ENGINE BACKWARD, 100, 100, "\"Sequence number\":5");
}

static void test_pass_back(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	begin_backward(&s);
	script_backward_op_us(&s, BACKWARD, 110, 40, "\"Sequence number\":5");
	script_backward_launch_us(&s, 111, 2, "bwd", 300, 20);
	f = report(&s, "MI300X");
	assert_int_equal(rows(&f), 2);
	assert_number(&f, "FlashAttnFunc", "GFLOPS", 32768e-9);
	assert_cell(&f, "FlashAttnFunc", "op category", "SDPA_fwd");
	assert_cell(&f, BACKWARD, "op category", "SDPA_bwd");
	assert_cell(&f, BACKWARD, "has_perf_model", "True");
	assert_number(&f, BACKWARD, "GFLOPS", 81920e-9);
	assert_number(&f, BACKWARD, "Data Moved (MB)", 14336. / 1048576);
	assert_number(&f, BACKWARD, "TFLOPS/s_mean", 81920 / 20e-6 / 1e12);
	assert_number(&f, BACKWARD, KERNEL_SUM, 20);
	assert_false(has_note(&f, "no FLOP/byte estimate"));
	release(&f);
}

static void test_pass_back_in_two_operations(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	begin_backward(&s);
	script_backward_op_us(&s, BACKWARD, 110, 20, NULL);
	script_backward_launch_us(&s, 111, 2, "bwd", 300, 20);
	script_backward_op_us(&s, BACKWARD, 140, 20, NULL);
	script_backward_launch_us(&s, 141, 3, "bwd", 330, 20);
	f = report(&s, NULL);
	assert_cell(&f, BACKWARD, "operation_count", "2");
	/* Neither alone is the pass back. */
	assert_cell(&f, BACKWARD, "GFLOPS", "");
	assert_cell(&f, BACKWARD, "has_perf_model", "False");
	release(&f);
}

static void test_pass_back_with_its_own_model(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	begin_backward(&s);
	script_backward_op_us(&s, BACKWARD, 110, 60, NULL);
	script_backward_op_us(&s, "aten::mm", 115, 10, SMALL);
	script_backward_launch_us(&s, 116, 2, "gemm", 300, 20);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 2);
	assert_false(has(&f, BACKWARD));
	assert_number(&f, "aten::mm", "GFLOPS", 1.024e-6);
	release(&f);
}

/* The work of the pass back is that of one operation, not of all that the engine runs for it. */
static void test_pass_back_has_its_work_once(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	begin_backward(&s);
	script_backward_op_us(&s, BACKWARD, 110, 40, NULL);
	script_backward_launch_us(&s, 111, 2, "bwd", 300, 20);
	script_backward_op_us(&s, "my::accumulate", 160, 20, NULL);
	script_backward_launch_us(&s, 161, 3, "fill", 330, 2);
	f = report(&s, NULL);
	assert_number(&f, BACKWARD, "GFLOPS", 81920e-9);
	assert_number(&f, BACKWARD, KERNEL_SUM, 20);
	assert_cell(&f, "my::accumulate", "GFLOPS", "");
	assert_cell(&f, "my::accumulate", "has_perf_model", "False");
	release(&f);
}

/* Where a modelled operation below carries it out, what stands beside that is not the pass back. */
static void test_beside_a_modelled_pass_back(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	begin_backward(&s);
	script_backward_op_us(&s, BACKWARD, 110, 60, NULL);
	script_backward_op_us(&s, "my::zero", 112, 3, NULL);
	script_backward_launch_us(&s, 113, 3, "fill", 290, 2);
	script_backward_op_us(&s, "aten::mm", 120, 10, SMALL);
	script_backward_launch_us(&s, 121, 2, "gemm", 300, 20);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 3);
	assert_cell(&f, "my::zero", "GFLOPS", "");
	assert_cell(&f, "my::zero", "op category", "other");
	release(&f);
}

static void test_no_pass_back_without_a_forward(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_backward_op_us(&s, ENGINE BACKWARD, 100, 100, "\"Sequence number\":5");
	script_backward_op_us(&s, BACKWARD, 110, 40, NULL);
	script_backward_launch_us(&s, 111, 2, "bwd", 300, 20);
	f = report(&s, NULL);
	assert_int_equal(rows(&f), 1);
	assert_cell(&f, BACKWARD, "GFLOPS", "");
	release(&f);
}

/* ---- all together */

/* Nothing overlaps: the rows are the kernels with a launch, without the communication. */
static void test_each_gpu_event_once(void **state)
{
	struct script s;
	struct fixture f;
	double sum = 0;
	size_t i;

	(void)state;
	begin_backward(&s);
	script_backward_op_us(&s, BACKWARD, 110, 40, NULL);
	script_backward_launch_us(&s, 111, 2, "bwd", 300, 20);
	script_op_us(&s, "block", 400, 200, NULL);
	script_op_us(&s, "aten::linear", 410, 40, SMALL_LINEAR);
	script_op_us(&s, "aten::addmm", 415, 20, SMALL_ADDMM);
	script_launch_us(&s, 416, 3, "gemm", 420, 4);
	script_launch_us(&s, 440, 4, "epilogue", 445, 8);
	script_op_us(&s, "my::op", 460, 20, NULL);
	script_launch_us(&s, 461, 5, "x", 470, 16);
	script_op_us(&s, "c10d::allreduce_", 490, 20, NULL);
	script_launch_us(&s, 491, 6, "ncclDevKernel_AllReduce", 500, 64);
	script_call(&s, "cudaMemcpyAsync", 520000, 1000, 7);
	script_copy(&s, "Memcpy HtoD", 7, 570000, 32000, 7);
	script_launch_us(&s, 700, 8, "alone", 710, 128);
	script_kernel(&s, "unlinked", 7, 900000, 256000, 99);
	f = report(&s, NULL);
	for (i = 0; i < rows(&f); i++)
		sum += strtod(cell_at(f.report, UNIFIED, i, KERNEL_SUM), NULL);
	/* 10 + 20 of attention, and 4 + 8 + 16 + 32 + 128. */
	assert_true(sum == 218);
	assert_number(&f, "aten::linear->epilogue (Synthetic Op)", KERNEL_SUM, 8);
	assert_number(&f, "block->Memcpy HtoD (Synthetic Op)", KERNEL_SUM, 32);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_time_is_a_union),
		cmocka_unit_test(test_figures_of_a_call),
		cmocka_unit_test(test_memory_bound),
		cmocka_unit_test(test_no_platform),
		cmocka_unit_test(test_statistics_of_calls),
		cmocka_unit_test(test_other_arguments_other_row),
		cmocka_unit_test(test_unknown_type_has_no_bytes),
		cmocka_unit_test(test_unusable_arguments),
		cmocka_unit_test(test_more_than_the_roofline),
		cmocka_unit_test(test_outermost_modelled_operation),
		cmocka_unit_test(test_composite_gives_way),
		cmocka_unit_test(test_leaf_without_model),
		cmocka_unit_test(test_kernels_left_over),
		cmocka_unit_test(test_driver_launches),
		cmocka_unit_test(test_no_communication),
		cmocka_unit_test(test_no_unlinked_kernels),
		cmocka_unit_test(test_pass_back),
		cmocka_unit_test(test_pass_back_in_two_operations),
		cmocka_unit_test(test_pass_back_with_its_own_model),
		cmocka_unit_test(test_pass_back_has_its_work_once),
		cmocka_unit_test(test_beside_a_modelled_pass_back),
		cmocka_unit_test(test_no_pass_back_without_a_forward),
		cmocka_unit_test(test_each_gpu_event_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
