/*
 * Matrix products of inference libraries, each of A (5, 32) and a weight of (7, 32) values: 2 x 5 x
 * 7 x 32 = 2240 FLOPs; 160 values of A, 224 of the weight, 35 of the result.
 */
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
#define FLOPS 2240

/* Whatever A and the weight are of, the result is in 16 bits. */
static void eight_bits(void **state)
{
	(void)state;
	model("aiter::gemm_a8w8_blockscale_ck", "[[5, 32], [7, 32]]", "['" FP8 "', '" FP8 "']",
	      "[]");
	expect_work(FLOPS, 160 + 224 + 35 * 2, "matrix_fp8");
	expect_parameter("B", "1");
	expect_parameter("M", "5");
	expect_parameter("N", "7");
	expect_parameter("K", "32");
	model("aiter::gemm_a8w8_ck", "[[5, 32], [7, 32]]", "['" BF16 "', '" FP8 "']", "[]");
	expect_work(FLOPS, 160 * 2 + 224 + 35 * 2, "matrix_bf16");
	model("aiter::gemm_a8w8_ck", "[[5, 32], [7, 31]]", "['" FP8 "', '" FP8 "']", "[]");
	expect_failure("inner matrix sizes");
	model("aten::_weight_int8pack_mm", "[[5, 32], [7, 32], [7]]",
	      "['" BF16 "', 'signed char', '" BF16 "']", "[]");
	expect_work(FLOPS, 160 * 2 + 224 + 35 * 2 + 7 * 2, "matrix_bf16");
}

static void sixteen_bits(void **state)
{
	(void)state;
	model("aiter::gemm_a16w16", "[[5, 32], [7, 32], []]", "['" BF16 "', 'float', '']", "[]");
	expect_work(FLOPS, 160 * 2 + 224 * 4 + 35 * 2, "matrix_bf16");
	expect_parameter("B", "1");
	/* with a bias, a sum for each result */
	model("aiter::gemm_a16w16", "[[5, 32], [7, 32], [7]]", "['" BF16 "', 'float', 'float']",
	      "[]");
	expect_work(FLOPS + 35, 160 * 2 + 224 * 4 + 35 * 2 + 7 * 4, "matrix_bf16");
	/* the result is of the weight's type, or of the bias' */
	model("vllm::rocm_unquantized_gemm", "[[5, 32], [7, 32], []]", "['" BF16 "', 'float', '']",
	      "[]");
	expect_work(FLOPS, 160 * 2 + 224 * 4 + 35 * 4, "matrix_bf16");
	model("vllm::rocm_unquantized_gemm", "[[5, 32], [7, 32], [7]]",
	      "['" BF16 "', 'float', '" BF16 "']", "[]");
	expect_work(FLOPS + 35, 160 * 2 + 224 * 4 + 35 * 2 + 7 * 2, "matrix_bf16");
}

/* The result is what was given for it, else as A. */
static void into_a_tensor(void **state)
{
	static const char types[] = "['" BF16 "', '" BF16 "', 'float', 'float']";

	(void)state;
	model("aiter::gemm_a16w16_atomic_", "[[5, 32], [7, 32], [5, 7], []]", types, "[]");
	expect_work(FLOPS, 160 * 2 + 224 * 2 + 35 * 4, "matrix_bf16");
	model("aiter::gemm_a16w16_atomic_", "[[5, 32], [7, 32], [], [5, 7]]", types, "[]");
	expect_work(FLOPS, 160 * 2 + 224 * 2 + 35 * 4, "matrix_bf16");
	model("aiter::gemm_a16w16_atomic_", "[[5, 32], [7, 32], [], []]", types, "[]");
	expect_work(FLOPS, 160 * 2 + 224 * 2 + 35 * 2, "matrix_bf16");
	model("aiter::gemm_a16w16_atomic_", "[[5, 32], [7, 32], [7], []]", types, "[]");
	expect_work(FLOPS, 160 * 2 + 224 * 2 + 35 * 2, "matrix_bf16");
}

/* Two values a byte, whether the type says so or not. */
static void four_bits(void **state)
{
	(void)state;
	model("aiter::gemm_afp4wfp4_", "[[5, 16], [7, 16]]", "['unsigned char', 'unsigned char']",
	      "[]");
	expect_work(FLOPS, 160 / 2 + 224 / 2 + 35 * 2, "matrix_fp4");
	expect_parameter("K", "32");
	model("aiter::gemm_afp4wfp4_", "[[5, 16], [7, 16]]",
	      "['c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2']", "[]");
	expect_work(FLOPS, 160 / 2 + 224 / 2 + 35 * 2, "matrix_fp4");
	expect_parameter("M", "5");
	expect_parameter("K", "32");
	/* words of eight values; seven columns by their scales, else by how many values there are */
	model("aten::_weight_int4pack_mm", "[[5, 32], [7, 4], [], [1, 7, 2]]",
	      "['" BF16 "', 'int', 'Scalar', '" BF16 "']", "[]");
	expect_work(FLOPS, 160 * 2 + 224 / 2 + 35 * 2 + 7 * 2 * 2, "matrix_bf16");
	model("aten::_weight_int4pack_mm", "[[5, 32], [7, 4], []]", "['" BF16 "', 'int', 'Scalar']",
	      "[]");
	expect_work(FLOPS, 160 * 2 + 224 / 2 + 35 * 2, "matrix_bf16");
	model("aten::_weight_int4pack_mm", "[[5, 33], [7, 4], []]", "['" BF16 "', 'int', 'Scalar']",
	      "[]");
	expect_failure("does not match");
}

/* Words of four values in tiles: the call says how many columns, else, or where it says 0, scales. */
static void columns_that_are_said(void **state)
{
	static const char types[] = "['" BF16 "', 'int', '" BF16 "', 'int', 'Scalar', 'Scalar', "
				    "'Scalar', 'Scalar']";
	static const char dims[] = "[[5, 32], [2, 28], [1, 7], [64], [], [], [], []]";
	static const char *const values[] = { "['', '', '', '', '8', '5', '7', '32']",
					      "['', '', '', '', '8', '5', '0', '32']" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		model("_C::fp8_marlin_gemm", dims, types, values[i]);
		expect_work(FLOPS, 160 * 2 + 224 + 35 * 2 + 7 * 2, "matrix_bf16");
	}
}

static void batches(void **state)
{
	static const char *const a[] = { "[[3, 5, 32], [3, 7, 32]]", "[[5, 3, 32], [3, 7, 32]]" };
	size_t i;

	(void)state;
	model("aiter::batched_gemm_a16wfp4_", "[[3, 5, 32], [3, 7, 16]]",
	      "['" BF16 "', 'unsigned char']", "[]");
	expect_work(3 * FLOPS, 3 * (160 * 2 + 224 / 2 + 35 * 2), "matrix_fp4");
	expect_parameter("B", "3");
	for (i = 0; i < 2; i++) {
		model("sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_"
		      "tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_"
		      "tensor_quant",
		      a[i], "['" BF16 "', '" FP8 "']", "[]");
		expect_work(3 * FLOPS, 3 * (160 * 2 + 224 + 35 * 2), "matrix_fp8");
		expect_parameter("B", "3");
		expect_parameter("M", "5");
	}
	model("aiter::batched_gemm_a16wfp4_", "[[3, 5, 32], [7, 16]]",
	      "['" BF16 "', 'unsigned char']", "[]");
	expect_failure("not batches");
}

/* A size that only a double holds is written as Python writes 2.0 ** 62. */
static void sizes_beyond_integers(void **state)
{
	(void)state;
	model("aten::mm", "[[4611686018427387904, 2], [2, 3]]", "['float', 'float']", "[]");
	expect_parameter("M", "4.611686018427388e+18");
	model("aten::mm", "[[4611686018427387392, 2], [2, 3]]", "['float', 'float']", "[]");
	expect_parameter("M", "4611686018427387392");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_bits),
		cmocka_unit_test(sixteen_bits),
		cmocka_unit_test(into_a_tensor),
		cmocka_unit_test(four_bits),
		cmocka_unit_test(columns_that_are_said),
		cmocka_unit_test(batches),
		cmocka_unit_test(sizes_beyond_integers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
