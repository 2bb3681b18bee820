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
}

/* 2 samples x 4 groups of (2, 8, 3): 8 statistics, 6 operations each; 5 for each of 48 numbers. */
static void test_deviation_group_norm_statistics(void **state)
{
	(void)state;
	model("aten::group_norm", "[[2, 8, 3], [], [8], [8], [], []]",
	      "['float', 'Scalar', 'float', 'float', 'Scalar', 'Scalar']",
	      "['', '4', '', '', '1e-5', 'True']");
	expect_work(6 * 8 + 5 * 48, 4 * (48 + 48 + 8 + 8 + 2 * 8), "vector_fp32");
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
