/* Quantizations, collectives of inference libraries, grouped products. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models.h"

#define BF16 "c10::BFloat16"
#define FP8 "c10::Float8_e4m3fn"
#define BF16_4 "['" BF16 "', '" BF16 "', '" BF16 "', '" BF16 "']"

/* The example of src/model/families/quant.c. */
static void example(void **state)
{
	(void)state;
	model("aiter::dynamic_per_token_scaled_quant", "[[4, 32], [4, 32], [4, 1], []]",
	      "['" FP8 "', '" BF16 "', 'float', '']", "[]");
	expect_work(332, 400, "vector_bf16");
	expect_parameter("shape_in1", "(4, 32)");
	expect_parameter("shape_in2", "(4, 1)");
	expect_parameter("dtype_in1_in2_out", "('c10::BFloat16', 'float', 'c10::Float8_e4m3fn')");
	model("aiter::dynamic_per_tensor_quant", "[[4, 32], [4, 32], [1]]",
	      "['" FP8 "', '" BF16 "', 'float']", "[]");
	expect_work(332, 128 + 256 + 4, "vector_bf16");
	model("aiter::dynamic_per_tensor_quant", "[[4, 32]]", "['" FP8 "']", "[]");
	expect_failure("input and output");
}

static void groups_of_a_row(void **state)
{
	(void)state;
	/* rows of 200 in groups of 128: two scales */
	model("vllm::triton_per_token_group_quant_fp8", "[[2, 3, 200], []]",
	      "['" BF16 "', 'Scalar']", "['', '128']");
	expect_work(6 * 1200, 2400 + 1200 + 6 * 2 * 4, "vector_bf16");
	expect_parameter("group_size", "128");
	model("vllm::triton_per_token_group_quant_fp8", "[[2, 3, 200], []]",
	      "['" BF16 "', 'Scalar']", "[]");
	expect_work(6 * 1200, NAN, "vector_bf16");
	model("vllm::triton_per_token_group_quant_fp8", "[[], []]", "['', 'Scalar']", "[]");
	expect_failure("not a tensor");
}

/* Half a byte a value and a byte for 32 of them. */
static void mxfp4(void **state)
{
	const double flops = 2 * 4 * 64, bytes = 512 + 128 + 8;

	(void)state;
	model("sglang_profiler::quant_dynamic_mxfp4_quant", "[[4, 64], []]",
	      "['" BF16 "', 'Scalar']", "[]");
	expect_work(flops, bytes, "vector_bf16");
	model("aiter::dynamic_per_group_scaled_quant_fp4", "[[4, 32], [4, 64], [4, 2], []]",
	      "['unsigned char', '" BF16 "', 'c10::Float8_e8m0fnu', 'Scalar']", "[]");
	expect_work(flops, bytes, "vector_bf16");
	expect_parameter("op_shape", "(4, 64)");
	model("aiter::fused_dynamic_mx_quant_moe_sort_hip",
	      "[[4, 32], [32, 8], [4, 64], [100], [2], [], []]",
	      "['c10::Float4_e2m1fn_x2', 'unsigned char', 'c10::Half', 'int', 'int', 'Scalar', "
	      "'Scalar']",
	      "[]");
	expect_work(flops, bytes, "vector_fp16");
	model("sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant", "[[4, 2, 32]]",
	      "['" BF16 "']", "[]");
	expect_work(flops, bytes, "vector_bf16");
	model("aiter::dynamic_per_group_scaled_quant_fp4", "[[4, 32], [4, 2]]",
	      "['unsigned char', 'unsigned char']", "[]");
	expect_failure("no tensor to quantize");
}

static void whole_tensors(void **state)
{
	(void)state;
	model("primus_turbo::quantize_fp8_tensorwise", "[[4, 8], []]", "['" BF16 "', 'Scalar']",
	      "[]");
	expect_work(32, 64 + 32, "vector_bf16");
	/* (33, 3): 99 values, 50 bytes each way; a scale a row of 3, two a column of 33 */
	model("primus_turbo::quantize_mxfp4_dual", "[[33, 3]]", "['" BF16 "']", "[]");
	expect_work(99, 198 + 100 + 33 + 3 * 2, "vector_bf16");
	model("primus_turbo::quantize_mxfp4_dual", "[[33]]", "['" BF16 "']", "[]");
	expect_failure("not a matrix");
	model("primus_turbo::quantize_fp8_tensorwise", "[[4, 8], []]", "['UnknownT', '']", "[]");
	expect_work(32, NAN, "");
}

/* Each of these grows with the elements of its input alone. */
static void scales_with_each_size(void **state)
{
	static const char *const names[] = { "primus_turbo::quantize_fp8_tensorwise",
					     "sglang_profiler::quant_dynamic_mxfp4_quant" };
	double flops, bytes;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		model(names[i], "[[32, 64]]", "['" BF16 "']", "[]");
		flops = model_flops();
		bytes = model_bytes();
		model(names[i], "[[64, 64]]", "['" BF16 "']", "[]");
		assert_true(model_flops() == 2 * flops && model_bytes() == 2 * bytes);
		model(names[i], "[[32, 128]]", "['" BF16 "']", "[]");
		assert_true(model_flops() == 2 * flops && model_bytes() == 2 * bytes);
	}
}

/* The example of src/model/families/collective.c. */
static void collectives(void **state)
{
	(void)state;
	model("_C_custom_ar::all_reduce", "[[], [4, 8], [4, 8], [], []]",
	      "['Scalar', '" BF16 "', '" BF16 "', 'Scalar', 'Scalar']", "[]");
	expect_work(0, 128, "");
	expect_parameter("shape_in", "(4, 8)");
	model("aiter::fused_allreduce_rmsnorm", "[[], [4, 8], [4, 8], [4, 8], [4, 8], [8], []]",
	      "['Scalar', '" BF16 "', '" BF16 "', '" BF16 "', '" BF16 "', '" BF16 "', 'Scalar']",
	      "[]");
	expect_work(168, 272, "");
	model("aiter::fused_allreduce_rmsnorm_", "[[2, 4, 8], [2, 4, 8], [8]]", BF16_4, "[]");
	expect_work(64 + 8 * 18 + 128, 4 * 128 + 16, "");
	/* 8 ranks */
	model("aiter::all_gather_reg", "[[], [4, 8], [32, 8]]",
	      "['Scalar', 'c10::Half', 'c10::Half']", "[]");
	expect_work(0, 64 + 512, "");
	expect_parameter("shape_out", "(32, 8)");
	model("sglang::reg_all_gather_into_tensor", "[[32, 8], [4, 8], []]",
	      "['c10::Half', 'c10::Half', '']", "[]");
	expect_work(0, 64 + 512, "");
	expect_parameter("shape_in", "(4, 8)");
	model("aiter::reduce_scatter", "[[32, 8], [4, 8]]", "['c10::Half', 'c10::Half']", "[]");
	expect_work(0, 64 + 512, "");
	expect_parameter("shape_in", "(32, 8)");
	model("aiter::reduce_scatter", "[[], [32, 8]]", "['Scalar', 'c10::Half']", "[]");
	expect_failure("input and output");
	model("_C_custom_ar::all_reduce", "[[], []]", "['Scalar', 'Scalar']", "[]");
	expect_failure("no tensor");
	model("_C_custom_ar::all_reduce", "[[], [4, 8]]", "['Scalar', 'UnknownT']", "[]");
	expect_work(0, NAN, "");
}

/* ---- grouped products */

/* Row by row: which group a row is of does not matter to its work. */
static double rows_by_loops(int rows, int k, int n)
{
	double flops = 0;
	int t, i, j;

	for (t = 0; t < rows; t++)
		for (i = 0; i < n; i++)
			for (j = 0; j < k; j++)
				flops += 2;
	return flops;
}

static void grouped(void **state)
{
	(void)state;
	model("primus_turbo::grouped_gemm", "[[6, 8], [2, 8, 4], [2], [3]]",
	      "['" BF16 "', '" BF16 "', 'long int', 'long int']", "[]");
	expect_work(384, 272, "matrix_bf16");
	expect_work(rows_by_loops(6, 8, 4), 272, "matrix_bf16");
	expect_parameter("M", "6");
	expect_parameter("N", "4");
	expect_parameter("K", "8");
	expect_parameter("G", "2");
	/* the matrices transposed */
	model("primus_turbo_cpp_extension::ck_grouped_gemm", "[[6, 8], [2, 4, 8], [2], [3]]",
	      "['" BF16 "', '" BF16 "', 'long int', 'long int']", "[]");
	expect_work(384, 272, "matrix_bf16");
	/* two products; (6, 4) twice, (6, 8) and 2 (8, 4) in and out */
	model_backward("primus_turbo::grouped_gemm", "[[6, 8], [2, 8, 4], [2], [3]]",
		       "['" BF16 "', '" BF16 "', 'long int', 'long int']", "[]");
	expect_work(2 * 384, 2 * (2 * 24 + 2 * 48 + 2 * 64), "matrix_bf16");
	/* 8 bits in, 16 out */
	model("primus_turbo::grouped_gemm", "[[6, 8], [2, 8, 4], [2], [3]]",
	      "['" FP8 "', '" FP8 "', 'long int', 'long int']", "[]");
	expect_work(384, 48 + 64 + 2 * 24, "matrix_fp8");
	model_backward("primus_turbo::grouped_gemm", "[[6, 8], [2, 8, 4], [2], [3]]",
		       "['" FP8 "', '" FP8 "', 'long int', 'long int']", "[]");
	expect_work(768, 48 + 64 + 2 * 2 * 24 + 2 * (48 + 64), "matrix_fp8");
}

static void grouped_variable_k(void **state)
{
	(void)state;
	/* 9 rows in 3 groups of any length: 3 results of (4, 5) */
	model("primus_turbo::grouped_gemm_variable_k", "[[9, 4], [9, 5], [3], [4]]",
	      "['" BF16 "', '" BF16 "', 'long int', 'long int']", "[]");
	expect_work(rows_by_loops(2, 4, 5) + rows_by_loops(3, 4, 5) + rows_by_loops(4, 4, 5),
		    2 * (36 + 45 + 60), "matrix_bf16");
	expect_parameter("K", "9");
	expect_parameter("G", "3");
	model_backward("primus_turbo::grouped_gemm_variable_k", "[[9, 4], [9, 5], [3], [4]]",
		       "['" BF16 "', '" BF16 "', 'long int', 'long int']", "[]");
	expect_work(2 * 360, 2 * 2 * (36 + 45 + 60), "matrix_bf16");
}

static void grouped_that_make_no_sense(void **state)
{
	(void)state;
	model("primus_turbo::grouped_gemm", "[[6, 8], [2, 7, 4]]", BF16_4, "[]");
	expect_failure("inner matrix sizes");
	model("primus_turbo::grouped_gemm", "[[6, 8], [8, 4]]", BF16_4, "[]");
	expect_failure("each group");
	model("primus_turbo::grouped_gemm", "[[[6, 8], [6, 8]], [[8, 4], [8, 4]]]",
	      "['TensorList', 'TensorList']", "[]");
	expect_failure("lists");
	model("primus_turbo::grouped_gemm_variable_k", "[[9, 4], [8, 5], [3]]", BF16_4, "[]");
	expect_failure("number of rows");
	model("primus_turbo::grouped_gemm_variable_k", "[[9, 4], [9, 5]]", BF16_4, "[]");
	expect_failure("lengths");
	model("primus_turbo::grouped_gemm", "[[6, 8], [2, 8, 4]]", "['UnknownT', 'UnknownT']",
	      "[]");
	expect_work(384, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(groups_of_a_row),
		cmocka_unit_test(mxfp4),
		cmocka_unit_test(whole_tensors),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(collectives),
		cmocka_unit_test(grouped),
		cmocka_unit_test(grouped_variable_k),
		cmocka_unit_test(grouped_that_make_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
