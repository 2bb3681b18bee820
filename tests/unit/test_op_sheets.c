/* The tables of families of modelled operations, on small traces: which calls, which parameters. */
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

#define KERNEL_SUM "Kernel Time (µs)_sum"
#define ENGINE "autograd::engine::evaluate_function: "

/* 1024 FLOPs, 896 bytes. */
#define MM                                                                     \
	"\"Input Dims\":[[8,16],[16,4]],\"Input type\":[\"float\",\"float\"]," \
	"\"Input Strides\":[[16,1],[4,1]],\"Concrete Inputs\":[\"\",\"\"]"
#define BMM                                                                        \
	"\"Input Dims\":[[3,8,16],[3,16,4]],\"Input type\":[\"float\",\"float\"]," \
	"\"Input Strides\":[[128,16,1],[64,4,1]]"
/* x (1, 2, 5, 5), w (3, 2, 3, 3), padding 1: 2700 FLOPs, and 5400 back. */
#define CONVOLUTION                                                                       \
	"\"Input Dims\":[[1,2,5,5],[3,2,3,3],[],[],[],[],[],[],[]],"                      \
	"\"Input type\":[\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\","         \
	"\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"],"                           \
	"\"Concrete Inputs\":[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\"," \
	"\"[0, 0]\",\"1\"]"
#define CONVOLUTION_BACKWARD                                                                \
	"\"Input Dims\":[[1,3,5,5],[1,2,5,5],[3,2,3,3],[],[],[],[],[],[],[],[]],"           \
	"\"Input type\":[\"float\",\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\"," \
	"\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\",\"ScalarList\"],"              \
	"\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\","        \
	"\"False\",\"[0, 0]\",\"1\",\"[True, True, False]\"]"
/* 128 elements to one: 128 FLOPs, 129 x 4 bytes. */
#define MEAN                                                                              \
	"\"Input Dims\":[[8,16],[]],\"Input type\":[\"float\",\"\"],\"Concrete Inputs\":" \
	"[\"\",\"\"]"

struct fixture {
	struct trawl_trace *trace;
	struct trawl_report *report;
};

static struct fixture report(struct script *s)
{
	struct fixture f = { script_read(s), NULL };

	f.report = report_of(f.trace, NULL);
	return f;
}

static void release(struct fixture *f)
{
	trawl_report_free(f->report);
	trawl_trace_free(f->trace);
}

static void assert_text(const struct fixture *f, const char *sheet, size_t row, const char *header,
			const char *text)
{
	assert_string_equal(cell_at(f->report, sheet, row, header), text);
}

static void assert_number(const struct fixture *f, const char *sheet, size_t row,
			  const char *header, double wanted)
{
	const char *text = cell_at(f->report, sheet, row, header);

	if (!*text || !(fabs(strtod(text, NULL) - wanted) <= 1e-12 * fabs(wanted)))
		fail_msg("%s in row %zu of %s is '%s', not %.17g", header, row, sheet, text,
			 wanted);
}

static bool has_column(const struct fixture *f, const char *sheet, const char *header)
{
	const struct trawl_table *table = trawl_report_find(f->report, sheet);
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++)
		if (!strcmp(trawl_table_column(table, i)->header, header))
			return true;
	return false;
}

/* ---- parameters */

static void test_products(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	script_op_us(&s, "aten::mm", 20, 10, MM);
	script_launch_us(&s, 21, 2, "gemm", 30, 8);
	script_op_us(&s, "aten::bmm", 40, 10, BMM);
	script_launch_us(&s, 41, 3, "gemm", 50, 5);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "GEMM"), 2);
	assert_text(&f, "GEMM", 0, "name", "aten::mm");
	assert_text(&f, "GEMM", 0, "param: M", "8");
	assert_text(&f, "GEMM", 0, "param: N", "4");
	assert_text(&f, "GEMM", 0, "param: K", "16");
	assert_text(&f, "GEMM", 0, "param: bias", "False");
	assert_text(&f, "GEMM", 0, "param: stride_A", "(16, 1)");
	assert_text(&f, "GEMM", 0, "param: dtype_A_B", "('float', 'float')");
	assert_text(&f, "GEMM", 0, "Input Dims_first", "[[8, 16], [16, 4]]");
	assert_number(&f, "GEMM", 0, "GFLOPS_first", 1.024e-6);
	assert_number(&f, "GEMM", 0, "Data Moved (MB)_first", 896. / 1048576);
	assert_number(&f, "GEMM", 0, KERNEL_SUM, 12);
	assert_number(&f, "GEMM", 0, "name_count", 2);
	assert_number(&f, "GEMM", 0, "UID_first", 0);
	assert_number(&f, "GEMM", 0, "Kernel Time (µs)_mean", 6);
	assert_number(&f, "GEMM", 0, "Kernel Time (µs)_median", 6);
	assert_number(&f, "GEMM", 0, "Kernel Time (µs)_std", sqrt(8));
	assert_number(&f, "GEMM", 0, "Kernel Time (µs)_min", 4);
	assert_number(&f, "GEMM", 0, "Kernel Time (µs)_max", 8);
	/* The mean of 1024 / 4 µs and 1024 / 8 µs. */
	assert_number(&f, "GEMM", 0, "TFLOPS/s_mean", 192e-6);
	assert_number(&f, "GEMM", 0, "TFLOPS/s_min", 128e-6);
	assert_number(&f, "GEMM", 0, "TFLOPS/s_max", 256e-6);
	assert_text(&f, "GEMM", 1, "name", "aten::bmm");
	assert_text(&f, "GEMM", 1, "param: B", "3");
	assert_number(&f, "GEMM", 1, "GFLOPS_first", 3.072e-6);
	release(&f);
}

#define ADD \
	"\"Input Dims\":[[1,3,5,5],[1,3,5,5],[]],\"Input type\":[\"float\",\"float\",\"Scalar\"]"

/* Of one family the outer call counts; of another one the inner call has its own row too. */
static void test_calls_inside_others(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::convolution", 0, 30, CONVOLUTION);
	script_op_us(&s, "aten::miopen_convolution", 1, 10, CONVOLUTION);
	script_launch_us(&s, 2, 1, "conv", 40, 7);
	script_op_us(&s, "aten::add_", 15, 10, ADD);
	script_launch_us(&s, 16, 2, "vectorized", 50, 2);
	script_op_us(&s, "aten::add_", 60, 10, ADD);
	script_launch_us(&s, 61, 3, "vectorized", 70, 3);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "CONV_fwd"), 1);
	assert_text(&f, "CONV_fwd", 0, "name", "aten::convolution");
	assert_number(&f, "CONV_fwd", 0, KERNEL_SUM, 9);
	assert_int_equal(rows_of(f.report, "BinaryElementwise"), 1);
	assert_number(&f, "BinaryElementwise", 0, "name_count", 2);
	assert_number(&f, "BinaryElementwise", 0, KERNEL_SUM, 5);
	/* Every kernel once: 9 in the convolution, 3 in the addition outside it. */
	assert_int_equal(rows_of(f.report, "unified_perf_summary"), 2);
	assert_number(&f, "unified_perf_summary", 0, KERNEL_SUM, 9);
	assert_number(&f, "unified_perf_summary", 1, KERNEL_SUM, 3);
	release(&f);
}

/* The outer call has no arguments: what the inner one has counts, in both kinds of table. */
static void test_parts_of_a_call_without_arguments(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::addmm", 0, 30, NULL);
	script_op_us(&s, "aten::mm", 1, 10, MM);
	script_launch_us(&s, 2, 1, "gemm", 40, 7);
	script_op_us(&s, "aten::addmm", 60, 10, NULL);
	script_launch_us(&s, 61, 2, "gemm", 80, 4);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "GEMM"), 1);
	assert_text(&f, "GEMM", 0, "name", "aten::mm");
	assert_number(&f, "GEMM", 0, KERNEL_SUM, 7);
	assert_int_equal(rows_of(f.report, "unified_perf_summary"), 2);
	assert_text(&f, "unified_perf_summary", 0, "name", "aten::mm");
	assert_number(&f, "unified_perf_summary", 0, "GFLOPS", 1.024e-6);
	assert_text(&f, "unified_perf_summary", 1, "name", "aten::addmm");
	assert_text(&f, "unified_perf_summary", 1, "GFLOPS", "");
	release(&f);
}

static void test_parameters_of_other_models(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "nvjet_hsh_128x64_64x8_v_bz_TN", 20, 9);
	/* No kernel says how its matrices lie. */
	script_op_us(&s, "aten::bmm", 40, 10, BMM);
	script_launch_us(&s, 41, 3, "gemm", 50, 5);
	f = report(&s);
	assert_text(&f, "GEMM", 0, "param: transpose", "(True, False)");
	assert_text(&f, "GEMM", 1, "param: transpose", "");
	release(&f);
}

static void test_transposition_by_kernel_name(void **state)
{
	static const struct {
		const char *kernel, *transpose;
	} cases[] = {
		{ "Cijk_Alik_Bljk_HHS_BH_MT128x128", "(True, False)" },
		{ "Cijk_Ailk_Bljk_HHS_BH_MT128x128", "(False, False)" },
		{ "Cijk_Ailk_Bjlk_HHS_BH_MT128x128", "(False, True)" },
		{ "Cijk_Alik_Bjlk_HHS_BH_MT128x128", "(True, True)" },
		{ "nvjet_hsh_128x64_64x8_v_bz_TN", "(True, False)" },
		{ "nvjet_hsh_128x64_64x8_v_bz_NN", "(False, False)" },
		{ "nvjet_hsh_128x64_64x8_v_bz_NT", "(False, True)" },
		{ "nvjet_hsh_128x64_64x8_v_bz_TT", "(True, True)" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct script s;
		struct fixture f;

		script_begin(&s);
		script_op_us(&s, "aten::mm", 0, 10, MM);
		script_launch_us(&s, 1, 1, "copy first", 20, 4);
		script_launch_us(&s, 3, 2, cases[i].kernel, 30, 4);
		f = report(&s);
		assert_text(&f, "GEMM", 0, "param: transpose", cases[i].transpose);
		release(&f);
	}
}

/* The column is there: columns are those of src/model/sheets.def, whatever the trace holds. */
static void test_no_transposition_known(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	f = report(&s);
	assert_true(has_column(&f, "GEMM", "param: M"));
	assert_text(&f, "GEMM", 0, "param: transpose", "");
	release(&f);
}

/* Other transposition, other row; the unified table goes by arguments alone. */
static void test_transposition_tells_rows_apart(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "nvjet_hsh_a_TN", 20, 4);
	script_op_us(&s, "aten::mm", 20, 10, MM);
	script_launch_us(&s, 21, 2, "nvjet_hsh_a_NN", 30, 8);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "GEMM"), 2);
	assert_int_equal(rows_of(f.report, "unified_perf_summary"), 1);
	release(&f);
}

/* ---- which calls */

static void test_nested_calls_count_once(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(
		&s, "aten::layer_norm", 0, 50,
		"\"Input Dims\":[[8,16],[],[16],[16],[],[]],\"Input type\":[\"float\",\"ScalarList\","
		"\"float\",\"float\",\"Scalar\",\"Scalar\"],\"Concrete Inputs\":[\"\",\"[16]\",\"\","
		"\"\",\"1e-05\",\"True\"]");
	script_op_us(
		&s, "aten::native_layer_norm", 5, 20,
		"\"Input Dims\":[[8,16],[],[16],[16],[]],\"Input type\":[\"float\",\"ScalarList\","
		"\"float\",\"float\",\"Scalar\"],\"Concrete Inputs\":[\"\",\"[16]\",\"\",\"\","
		"\"1e-05\"]");
	script_launch_us(&s, 6, 1, "norm", 20, 4);
	script_op_us(&s, "aten::linear", 100, 50,
		     "\"Input Dims\":[[8,16],[4,16],[]],\"Input type\":[\"float\",\"float\",\"\"]");
	script_op_us(&s, "aten::mm", 105, 20, MM);
	script_launch_us(&s, 106, 2, "gemm", 120, 4);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "Normalization"), 1);
	assert_text(&f, "Normalization", 0, "name", "aten::layer_norm");
	assert_number(&f, "Normalization", 0, "name_count", 1);
	assert_number(&f, "Normalization", 0, KERNEL_SUM, 4);
	assert_int_equal(rows_of(f.report, "GEMM"), 1);
	assert_text(&f, "GEMM", 0, "name", "aten::mm");
	assert_number(&f, "GEMM", 0, KERNEL_SUM, 4);
	release(&f);
}

static void test_calls_without_kernels(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_op_us(&s, "other", 20, 10, NULL);
	script_launch_us(&s, 21, 1, "k", 30, 4);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "GEMM"), 1);
	assert_number(&f, "GEMM", 0, "name_count", 1);
	assert_text(&f, "GEMM", 0, KERNEL_SUM, "0");
	assert_text(&f, "GEMM", 0, "TFLOPS/s_mean", "");
	assert_text(&f, "GEMM", 0, "TB/s_mean", "");
	assert_text(&f, "GEMM", 0, "kernel_details__summarize_kernel_stats", "[]");
	assert_number(&f, "GEMM", 0, "GFLOPS_first", 1.024e-6);
	/* Not a row of the unified table, which has kernels. */
	assert_false(has_row(f.report, "unified_perf_summary", "name", "aten::mm"));
	release(&f);
}

/* What an inference server's step holds, its annotation says: an operation named so is none. */
static void test_steps_of_servers_are_annotations(void **state)
{
	static const char *const categories[] = { "user_annotation", "cpu_op" };
	static const char op[] = "vllm::unified_attention_with_output";
	struct script s;
	struct fixture f;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		script_begin(&s);
		script_slice(&s, categories[i],
			     "execute_1_context_0(sq0sk0sqsq0sqsk0)_generation_1(sq1sk4sqsq1sqsk4)",
			     1, 1, 0, 50000, NULL);
		script_op_us(&s, op, 1, 20,
			     "\"Input Dims\":[[1,2,8],[1,1,8],[1,1,8]],\"Input type\":"
			     "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"]");
		script_launch_us(&s, 2, 1, "k", 30, 4);
		f = report(&s);
		assert_string_equal(cell_of(f.report, "unified_perf_summary", "name", op, "GFLOPS"),
				    i ? "" : "2.56e-07");
		release(&f);
	}
}

/* A call without kernels changes no rate of the others. */
static void test_rates_of_calls_with_kernels(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_op_us(&s, "aten::mm", 20, 10, MM);
	script_launch_us(&s, 21, 1, "k", 30, 4);
	f = report(&s);
	assert_number(&f, "GEMM", 0, "name_count", 2);
	assert_number(&f, "GEMM", 0, "Kernel Time (µs)_mean", 2);
	assert_number(&f, "GEMM", 0, "TFLOPS/s_mean", 256e-6);
	assert_number(&f, "GEMM", 0, "TFLOPS/s_min", 256e-6);
	release(&f);
}

static void test_calls_with_unusable_arguments(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, NULL);
	script_launch_us(&s, 1, 1, "k", 30, 4);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "GEMM"), 0);
	assert_true(has_row(f.report, "unified_perf_summary", "name", "aten::mm"));
	release(&f);
}

/* A compiled kernel may be named after parts of a pass back; its family has one table. */
static void test_compiled_backward_parts(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "triton_poi_fused_add_slice_backward_7", 0, 10,
		     "\"Input Dims\":[[8,16],[8,16],[]],\"Input type\":[\"float\",\"float\","
		     "\"Scalar\"],\"Concrete Inputs\":[\"\",\"\",\"128\"]");
	script_launch_us(&s, 1, 1, "triton_poi_fused_add_slice_backward_7", 20, 4);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "Triton_fwd"), 1);
	assert_number(&f, "Triton_fwd", 0, KERNEL_SUM, 4);
	release(&f);
}

/* ---- passes back */

static void test_convolutions_by_pass(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::convolution", 0, 20, CONVOLUTION ",\"Sequence number\":5");
	script_launch_us(&s, 1, 1, "fwd", 20, 10);
	script_backward_op_us(&s, ENGINE "ConvolutionBackward0", 100, 100, "\"Sequence number\":5");
	script_backward_op_us(&s, "ConvolutionBackward0", 110, 60, "\"Sequence number\":5");
	script_backward_op_us(&s, "aten::convolution_backward", 120, 40, CONVOLUTION_BACKWARD);
	script_backward_launch_us(&s, 121, 2, "wgrad", 300, 20);
	script_backward_launch_us(&s, 131, 3, "dgrad", 320, 30);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "CONV_fwd"), 1);
	assert_text(&f, "CONV_fwd", 0, "name", "aten::convolution");
	assert_number(&f, "CONV_fwd", 0, "GFLOPS_first", 2700e-9);
	assert_number(&f, "CONV_fwd", 0, KERNEL_SUM, 10);
	/* It is recorded itself: not once more for its forward call. */
	assert_int_equal(rows_of(f.report, "CONV_bwd"), 1);
	assert_text(&f, "CONV_bwd", 0, "name", "aten::convolution_backward");
	assert_number(&f, "CONV_bwd", 0, "name_count", 1);
	assert_number(&f, "CONV_bwd", 0, "GFLOPS_first", 5400e-9);
	assert_number(&f, "CONV_bwd", 0, KERNEL_SUM, 50);
	release(&f);
}

static void test_pass_back_by_pair(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mean", 0, 20, MEAN ",\"Sequence number\":5");
	script_launch_us(&s, 1, 1, "reduce", 20, 10);
	script_backward_op_us(&s, ENGINE "MeanBackward0", 100, 100, "\"Sequence number\":5");
	script_backward_op_us(&s, "MeanBackward0", 110, 60, "\"Sequence number\":5");
	script_backward_op_us(&s, "my::expand", 120, 40, NULL);
	script_backward_launch_us(&s, 121, 2, "expand", 300, 20);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "Reduce_fwd"), 1);
	assert_number(&f, "Reduce_fwd", 0, "GFLOPS_first", 128e-9);
	assert_number(&f, "Reduce_fwd", 0, KERNEL_SUM, 10);
	assert_int_equal(rows_of(f.report, "Reduce_bwd"), 1);
	assert_text(&f, "Reduce_bwd", 0, "name", "aten::mean");
	assert_number(&f, "Reduce_bwd", 0, "GFLOPS_first", 128e-9);
	assert_number(&f, "Reduce_bwd", 0, "Data Moved (MB)_first", 129 * 4. / 1048576);
	assert_number(&f, "Reduce_bwd", 0, KERNEL_SUM, 20);
	assert_text(&f, "Reduce_bwd", 0, "UID_first", "0");
	assert_text(&f, "Reduce_bwd", 0, "param: num_input_elems", "128");
	release(&f);
}

static void test_no_pass_back_without_a_pair(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mean", 0, 20, MEAN);
	script_launch_us(&s, 1, 1, "reduce", 20, 10);
	f = report(&s);
	assert_int_equal(rows_of(f.report, "Reduce_fwd"), 1);
	assert_int_equal(rows_of(f.report, "Reduce_bwd"), 0);
	assert_null(trawl_report_find(f.report, "Reduce_bwd"));
	release(&f);
}

/* ---- views */

/* A call in each of two steps, the kernel of the first 6 µs long of which 2 reach into the second. */
static struct trawl_trace *two_steps(void)
{
	struct script s;

	script_begin(&s);
	script_slice(&s, "user_annotation", "ProfilerStep#1", 1, 1, 0, 100000, NULL);
	script_slice(&s, "user_annotation", "ProfilerStep#2", 1, 1, 100000, 100000, NULL);
	script_op_us(&s, "aten::mm", 10, 20, MM);
	script_launch_us(&s, 11, 1, "gemm", 96, 6);
	script_op_us(&s, "aten::mm", 40, 20, MM);
	script_launch_us(&s, 41, 2, "gemm", 80, 3);
	script_op_us(&s, "aten::bmm", 110, 20, BMM);
	script_launch_us(&s, 111, 3, "gemm", 130, 5);
	script_op_us(&s, "aten::mm", 140, 20, MM);
	return script_read(&s);
}

static void test_kernels_are_cut_by_a_view(void **state)
{
	struct trawl_report_options options;
	struct fixture f = { two_steps(), NULL };

	(void)state;
	trawl_report_options_init(&options);
	options.start_ns = 100000;
	options.end_ns = 200000;
	f.report = report_of(f.trace, &options);
	assert_int_equal(rows_of(f.report, "GEMM"), 2);
	assert_string_equal(cell_of(f.report, "GEMM", "name", "aten::bmm", KERNEL_SUM), "5");
	assert_string_equal(cell_of(f.report, "GEMM", "name", "aten::mm", KERNEL_SUM), "2");
	assert_string_equal(
		cell_of(f.report, "unified_perf_summary", "name", "aten::mm", KERNEL_SUM), "2");
	assert_string_equal(
		cell_of(f.report, "unified_perf_summary", "name", "aten::bmm", KERNEL_SUM), "5");
	release(&f);
}

/* Calls that have nothing in the view, neither themselves nor their kernels, are not in it. */
static void test_calls_outside_the_view(void **state)
{
	struct trawl_report_options options;
	struct fixture f = { two_steps(), NULL };

	(void)state;
	trawl_report_options_init(&options);
	options.start_ns = 100000;
	options.end_ns = 200000;
	f.report = report_of(f.trace, &options);
	/* The first for its kernel, the third for itself; not the second. */
	assert_string_equal(cell_of(f.report, "GEMM", "name", "aten::mm", "name_count"), "2");
	assert_string_equal(cell_of(f.report, "unified_perf_summary", "name", "aten::mm",
				    "operation_count"),
			    "1");
	release(&f);
}

static void test_a_view_of_a_step(void **state)
{
	struct trawl_report_options options;
	struct fixture f = { two_steps(), NULL };
	size_t i;

	(void)state;
	for (i = 1; i <= 2; i++) {
		trawl_report_options_init(&options);
		options.by_time = true;
		options.step_first = options.step_last = (int64_t)i;
		f.report = report_of(f.trace, &options);
		assert_string_equal(cell_of(f.report, "GEMM", "name", "aten::mm", KERNEL_SUM),
				    i == 1 ? "7" : "2");
		assert_string_equal(cell_of(f.report, "unified_perf_summary", "name", "aten::mm",
					    KERNEL_SUM),
				    i == 1 ? "7" : "2");
		assert_int_equal(has_row(f.report, "GEMM", "name", "aten::bmm"), i == 2);
		trawl_report_free(f.report);
	}
	trawl_trace_free(f.trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_calls_inside_others),
		cmocka_unit_test(test_parts_of_a_call_without_arguments),
		cmocka_unit_test(test_parameters_of_other_models),
		cmocka_unit_test(test_transposition_by_kernel_name),
		cmocka_unit_test(test_no_transposition_known),
		cmocka_unit_test(test_transposition_tells_rows_apart),
		cmocka_unit_test(test_nested_calls_count_once),
		cmocka_unit_test(test_calls_without_kernels),
		cmocka_unit_test(test_steps_of_servers_are_annotations),
		cmocka_unit_test(test_rates_of_calls_with_kernels),
		cmocka_unit_test(test_calls_with_unusable_arguments),
		cmocka_unit_test(test_compiled_backward_parts),
		cmocka_unit_test(test_convolutions_by_pass),
		cmocka_unit_test(test_pass_back_by_pair),
		cmocka_unit_test(test_no_pass_back_without_a_pair),
		cmocka_unit_test(test_kernels_are_cut_by_a_view),
		cmocka_unit_test(test_calls_outside_the_view),
		cmocka_unit_test(test_a_view_of_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
