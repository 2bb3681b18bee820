/*
 * Where trawl's cost models differ from TraceLens' on purpose: one test for each heading of
 * docs/DEVIATIONS.md about them, with the right value worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "model/roofline.h"
#include "models.h"
#include "traces.h"

#define LIST9 "['', '', '', '[1, 1]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1']"

/* An operation in another, and the kernel that the inner one launches. */
static struct trawl_report *nested_report(struct trawl_trace **trace)
{
	static const char args[] =
		"\"Input Dims\":[[4,8],[],[8],[8],[],[]],"
		"\"Input type\":[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\",\"Scalar\"],"
		"\"Concrete Inputs\":[\"\",\"[8]\",\"\",\"\",\"1e-5\",\"True\"]";
	struct trawl_report *report;
	struct script s;

	script_begin(&s);
	script_slice(&s, "cpu_op", "aten::layer_norm", 1, 1, 0, 10000, args);
	script_slice(&s, "cpu_op", "aten::native_layer_norm", 1, 1, 1000, 8000, args);
	script_call(&s, "cudaLaunchKernel", 2000, 1000, 7);
	script_kernel(&s, "norm_kernel", 7, 20000, 5000, 7);
	*trace = script_read(&s);
	assert_int_equal(trawl_report_new(&report, *trace, NULL, NULL), 0);
	return report;
}

static void test_deviation_nested_models(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *report = nested_report(&trace);
	const struct trawl_table *table = trawl_report_find(report, "Normalization");
	struct trawl_cell name;

	(void)state;
	assert_non_null(table);
	assert_int_equal(trawl_table_rows(table), 1);
	name = trawl_table_cell(table, 0, 0);
	assert_int_equal(name.text_len, strlen("aten::layer_norm"));
	assert_memory_equal(name.text, "aten::layer_norm", name.text_len);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* 2 x 3 numbers: maximum, difference, exponential, sum and quotient of each. */
static void test_deviation_more_models(void **state)
{
	(void)state;
	model("aten::_softmax", "[[2, 3], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '-1', 'False']");
	expect_work(5 * 6, 2 * 6 * 4, "vector_fp32");
}

/* A row of 6 numbers, 4 times: 24 sums, and 4 x 6 bytes are not read again. */
static void test_deviation_expanded_operands(void **state)
{
	(void)state;
	model_strided("aten::add", "[[4, 6], [4, 6], []]", "['float', 'float', 'Scalar']",
		      "[[6, 1], [0, 1], []]", "['', '', '1']");
	expect_work(24, 4 * (24 + 6 + 24), "vector_fp32");
	model("aten::copy_", "[[4, 6], [1], []]", "['float', 'float', 'Scalar']",
	      "['', '', 'False']");
	expect_work(24, 4 * (24 + 1), "vector_fp32");
}

/* 8 halves and a float without dimensions give halves; in place they stay what they are. */
static void test_deviation_result_types(void **state)
{
	(void)state;
	model("aten::mul", "[[], [8]]", "['float', 'c10::Half']", "['', '']");
	expect_work(8, 4 + 16 + 16, "vector_fp32");
	model("aten::mul_", "[[8], [8]]", "['c10::Half', 'float']", "['', '']");
	expect_work(8, 16 + 32 + 16, "vector_fp16");
}

/* 8 rows of 16384: 5 n + 6 x 8 operations, 8 means and deviations of 4 bytes. */
static void test_deviation_layer_norm_statistics(void **state)
{
	(void)state;
	model("aten::layer_norm", "[[8, 16, 32, 32], [], [], [], [], []]",
	      "['float', 'ScalarList', '', '', 'Scalar', 'Scalar']",
	      "['', '[16, 32, 32]', '', '', '1e-05', 'True']");
	expect_work(655408, 1048576 + 64, "vector_fp32");
	/* as many of bf16, in float all the same, and of double */
	model("aten::native_layer_norm", "[[32, 10], [], [10], [10], []]",
	      "['c10::BFloat16', 'ScalarList', 'c10::BFloat16', 'c10::BFloat16', 'Scalar']",
	      "['', '[10]', '', '', '1e-05']");
	expect_work(6 * 32 + 5 * 320, 2 * 640 + 2 * 20 + 8 * 32, "vector_bf16");
	model("aten::native_layer_norm", "[[2, 3, 10], [], [], [], []]",
	      "['double', 'ScalarList', '', '', 'Scalar']", "['', '[10]', '', '', '1e-05']");
	expect_work(6 * 6 + 5 * 60, 8 * 120 + 16 * 6, "vector_fp64");
}

#define BACKWARD_TYPES "['float', 'float', 'float', 'float', 'float', 'float', 'float', "

/* 9 n operations; dy, x and dx, the weight, its gradient and that of the bias, a statistic. */
static void test_deviation_library_batch_norm_backward(void **state)
{
	static const char *const names[] = { "aten::cudnn_batch_norm_backward",
					     "aten::miopen_batch_norm_backward" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		model(names[i], "[[2, 3, 4], [2, 3, 4], [3], [3], [3], [3], [3], [], [0]]",
		      BACKWARD_TYPES "'Scalar', 'unsigned char']",
		      "['', '', '', '', '', '', '', '1e-05', '']");
		expect_work(9 * 24, 4 * (3 * 24 + 4 * 3), "vector_fp32");
		expect_parameter("is_training", "True");
	}
	model("aten::native_batch_norm_backward",
	      "[[2, 3, 4], [2, 3, 4], [3], [3], [3], [3], [3], [], [], []]",
	      BACKWARD_TYPES "'Scalar', 'Scalar', '']",
	      "['', '', '', '', '', '', '', 'True', '1e-05', '[True, True, True]']");
	expect_work(9 * 24, 4 * (3 * 24 + 4 * 3), "vector_fp32");
}

static void test_deviation_triton_sizes(void **state)
{
	(void)state;
	/* two that are joined, and the result, which is the third */
	model("triton_poi_fused_cat_transpose_view_1", "[[10, 8], [6, 8], [2, 8, 8], []]",
	      "['float', 'float', 'float', 'Scalar']", "['', '', '', '128']");
	expect_work(0, 4 * (80 + 48 + 128), "vector_fp32");
	/* 48 of 200 are read for 48 */
	model("triton_poi_fused_clone_slice_2", "[[2, 10, 10], [6, 8], []]",
	      "['float', 'float', 'Scalar']", "['', '', '48']");
	expect_work(0, 4 * (48 + 48), "vector_fp32");
	/* y and x; two inputs of one addition that are all tensors: one is the result too */
	model("triton_poi_fused_add_3", "[[4, 6], [4, 6], [], []]",
	      "['float', 'float', 'Scalar', 'Scalar']", "['', '', '4', '6']");
	expect_work(24, 4 * 3 * 24, "vector_fp32");
	/* a bias of 6 is no reason to take x alone */
	model("triton_poi_fused_add_3", "[[4, 6], [6], [4, 6], [], []]",
	      "['float', 'float', 'float', 'Scalar', 'Scalar']", "['', '', '', '4', '6']");
	expect_work(24, 4 * (24 + 6 + 24), "vector_fp32");
	/* x and two of the reduction */
	model("triton_red_fused_add_mul_4", "[[12, 10], [4, 3], [], [], []]",
	      "['c10::BFloat16', 'float', 'Scalar', 'Scalar', 'Scalar']",
	      "['', '', '4', '3', '10']");
	expect_work(2 * 120, 2 * 120 + 4 * 12, "vector_bf16");
	/* a symbol before x is none of the sizes */
	model("triton_poi_fused_relu_5", "[[7, 6], [7, 6], [], []]",
	      "['float', 'float', 'Scalar', 'Scalar']", "['', '', '7', '42']");
	expect_work(42, 4 * 84, "vector_fp32");
}

/* 512 MB looked up in 20 us of 203: 1013 %. */
static void test_deviation_roofline_by_bandwidth(void **state)
{
	struct tw_platform p;
	struct tw_roofline r;

	(void)state;
	assert_true(tw_platform_find("MI300X", &p));
	model("aten::index_select", "[[151936, 4096], [], [65536]]",
	      "['c10::BFloat16', 'Scalar', 'long int']", "['', '0', '']");
	expect_work(0, 2. * 2 * 65536 * 4096 + 8 * 65536, "vector_bf16");
	tw_roofline(&r, &p, 0, model_bytes(), "vector_bf16", 20000);
	assert_true(fabs(r.percent - 1013.4585962264) < 1e-6 && r.anomaly);
	assert_string_equal(r.bound, "MEMORY_BOUND");
}

/* Output (1, 3, 3, 3) by 2 x 9 weights, and an addition each. */
static void test_deviation_convolution_bias(void **state)
{
	(void)state;
	model("aten::convolution", "[[1, 2, 5, 5], [3, 2, 3, 3], [3], [], [], [], [], [], []]",
	      "['float', 'float', 'float', '', '', '', '', '', '']", LIST9);
	expect_work(2 * 18 * 27 + 27, 4 * (50 + 54 + 27 + 3), "matrix_fp32");
	expect_parameter("bias", "True");
}

/* The last of (2, 3, 4): 6 numbers are left. */
static void test_deviation_reduce_outputs(void **state)
{
	(void)state;
	model("aten::mean", "[[2, 3, 4], [], [], []]", "['float', 'ScalarList', 'Scalar', '']",
	      "['', '[-1]', 'True', '']");
	expect_work(24, 4 * (24 + 6), "vector_fp32");
	expect_parameter("num_output_elems", "6");
	/* where the greatest of each row stands is written, too */
	model("aten::max", "[[2, 3, 4], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '-1', 'False']");
	expect_work(24, 4 * (24 + 6) + 8 * 6, "vector_fp32");
}

/* One product of 2 x 54 x 25, not two: x needs no gradient. */
static void test_deviation_convolution_gradients(void **state)
{
	(void)state;
	model("aten::convolution_backward",
	      "[[1, 3, 5, 5], [1, 2, 5, 5], [3, 2, 3, 3], [], [], [], [], [], [], [], []]",
	      "['float', 'float', 'float', '', '', '', '', '', '', '', '']",
	      "['', '', '', '[0]', '[1, 1]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '1', '[False, "
	      "True, False]']");
	expect_work(2700, 4. * (75 + 54 + 50), "matrix_fp32");
}

/* Without weight and bias: in and out, and mean and deviation by the formula's C = 8. */
static void test_deviation_norm_parameters(void **state)
{
	double with;

	(void)state;
	model("aten::layer_norm", "[[4, 8], [], [8], [8], [], []]",
	      "['float', 'ScalarList', 'float', 'float', 'Scalar', 'Scalar']",
	      "['', '[8]', '', '', '1e-5', 'True']");
	with = model_bytes();
	expect_parameter("is_affine", "True");
	model("aten::layer_norm", "[[4, 8], [], [], [], [], []]",
	      "['float', 'ScalarList', '', '', 'Scalar', 'Scalar']",
	      "['', '[8]', '', '', '1e-5', 'True']");
	expect_parameter("is_affine", "False");
	expect_parameter("has_bias", "False");
	/* eight weights and eight biases of four bytes are not read */
	assert_true(with - model_bytes() == 64);
	/* three means and deviations are written; there are no running ones to update */
	model("aten::batch_norm", "[[2, 3, 4, 5], [], [], [], [], []]",
	      "['float', '', '', '', '', 'Scalar']", "['', '', '', '', '', 'True']");
	expect_work(6 * 3 + 5 * 120, 4 * (2 * 120 + 2 * 3), "vector_fp32");
}

/* 2 samples x 4 groups of (2, 8, 3): 8 statistics, 6 operations each; 5 for each of 48 numbers. */
static void test_deviation_group_norm_statistics(void **state)
{
	(void)state;
	model("aten::group_norm", "[[2, 8, 3], [], [8], [8], [], []]",
	      "['float', 'Scalar', 'float', 'float', 'Scalar', 'Scalar']",
	      "['', '4', '', '', '1e-5', 'True']");
	expect_work(6 * 8 + 5 * 48, 4 * (48 + 48 + 8 + 8 + 2 * 8), "vector_fp32");
	/* 2 samples x 3 channels have statistics of their own */
	model("aten::instance_norm", "[[2, 3, 4, 5], [], [], [], [], []]",
	      "['float', '', '', '', '', 'Scalar']", "['', '', '', '', '', 'True']");
	expect_work(6 * 6 + 5 * 120, 4 * (2 * 120 + 2 * 6), "vector_fp32");
}

static void test_deviation_sizes_of_all_types(void **state)
{
	(void)state;
	model("aten::copy_", "[[5], [5], []]", "['bool', 'short int', 'Scalar']",
	      "['', '', 'False']");
	expect_work(5, 5 * 1 + 5 * 2, "");
}

static void test_deviation_sizes_by_factors(void **state)
{
	(void)state;
	model("aten::upsample_nearest2d", "[[1, 2, 4, 5], [], []]", "['float', '', 'ScalarList']",
	      "['', '', '[2., 2.]']");
	expect_work(160, 4 * (40 + 160), "vector_fp32");
}

/* (8) + (8): one addition each; two inputs, and the result as large as the first. */
static void test_deviation_triton_precision(void **state)
{
	(void)state;
	model("triton_poi_fused_add_0", "[[8], [8], []]",
	      "['c10::BFloat16', 'c10::BFloat16', 'Scalar']", "['', '', '8']");
	expect_work(8, 2 * 8 * 3, "vector_bf16");
	model("triton_poi_fused_add_0", "[[8], [8], []]", "['float', 'float', 'Scalar']",
	      "['', '', '8']");
	expect_work(8, 4 * 8 * 3, "vector_fp32");
}

static const char *category_in(const struct trawl_report *report, const char *name)
{
	const struct trawl_table *table = trawl_report_find(report, name);
	static char text[64];
	struct trawl_cell cell;

	assert_non_null(table);
	cell = trawl_table_cell(table, 0, 1);
	assert_true(cell.text_len < sizeof(text));
	memcpy(text, cell.text, cell.text_len);
	text[cell.text_len] = '\0';
	return text;
}

static void test_deviation_category_by_kernels(void **state)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	(void)state;
	script_begin(&s);
	script_op(&s, "custom::pool_backward", 0, 10000);
	script_call(&s, "cudaLaunchKernel", 2000, 1000, 7);
	script_kernel(&s, "void at::native::vectorized_elementwise_kernel<4>", 7, 20000, 5000, 7);
	trace = script_read(&s);
	assert_int_equal(trawl_report_new(&report, trace, NULL, NULL), 0);
	assert_string_equal(category_in(report, "ops_unique_args"), "elementwise");
	assert_string_equal(category_in(report, "unified_perf_summary"), "elementwise");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deviation_nested_models),
		cmocka_unit_test(test_deviation_expanded_operands),
		cmocka_unit_test(test_deviation_result_types),
		cmocka_unit_test(test_deviation_layer_norm_statistics),
		cmocka_unit_test(test_deviation_library_batch_norm_backward),
		cmocka_unit_test(test_deviation_triton_sizes),
		cmocka_unit_test(test_deviation_roofline_by_bandwidth),
		cmocka_unit_test(test_deviation_more_models),
		cmocka_unit_test(test_deviation_convolution_bias),
		cmocka_unit_test(test_deviation_convolution_gradients),
		cmocka_unit_test(test_deviation_reduce_outputs),
		cmocka_unit_test(test_deviation_norm_parameters),
		cmocka_unit_test(test_deviation_group_norm_statistics),
		cmocka_unit_test(test_deviation_sizes_of_all_types),
		cmocka_unit_test(test_deviation_sizes_by_factors),
		cmocka_unit_test(test_deviation_triton_precision),
		cmocka_unit_test(test_deviation_category_by_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
