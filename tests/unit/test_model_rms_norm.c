#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models.h"

#define BF16 "c10::BFloat16"
#define BF16_5 "['" BF16 "', '" BF16 "', '" BF16 "', '" BF16 "', '" BF16 "']"
#define FP8_OUT "['c10::Float8_e4m3fn', '" BF16 "', 'float', '" BF16 "', 'Scalar', 'Scalar']"

/* The example of src/model/families/rms_norm.c. */
static void example(void **state)
{
	(void)state;
	model("aiter::rmsnorm2d_fwd_ck", "[[4, 8], [8], []]", "['" BF16 "', '" BF16 "', 'Scalar']",
	      "['', '', '1e-06']");
	expect_work(136, 144, "vector_bf16");
	expect_parameter("op_shape", "(4, 8)");
	expect_parameter("num_channels", "8");
	expect_parameter("dtype_in_out", "('c10::BFloat16', None)");
}

static void with_output(void **state)
{
	(void)state;
	model("aiter::rmsnorm", "[[4, 8], [4, 8], [8], []]", BF16_5, "[]");
	expect_work(136, 144, "vector_bf16");
	expect_parameter("dtype_in_out", "('c10::BFloat16', 'c10::BFloat16')");
	model("aiter::rms_norm", "[[4, 8], [4, 8], [8], []]", BF16_5, "[]");
	expect_work(136, 144, "vector_bf16");
	/* one more operation an element; residual in, sum out */
	model("aiter::add_rmsnorm", "[[4, 8], [4, 8], [4, 8], [4, 8], [8], []]", BF16_5, "[]");
	expect_work(136 + 32, 144 + 128, "vector_bf16");
}

static void padded(void **state)
{
	(void)state;
	/* rows of 8 become rows of 12 */
	model("aiter::fused_add_rmsnorm_pad_", "[[4, 8], [8], [], [4, 8], []]", BF16_5,
	      "['', '', '1e-05', '', '6']");
	expect_work(136 + 32, 64 + 16 + 128 + 4 * 12 * 2, "vector_bf16");
	model("vllm::rocm_aiter_triton_add_rmsnorm_pad", "[[4, 8], [8], [], [4, 8], []]", BF16_5,
	      "['', '', '1e-05', '', '4']");
	expect_work(136 + 32, 144 + 128, "vector_bf16");
	model("aiter::fused_add_rmsnorm_pad_", "[[4, 8], [8], [], [], []]", BF16_5,
	      "['', '', '1e-05', '', '0']");
	expect_work(136, 144, "vector_bf16");
}

static void quantized(void **state)
{
	(void)state;
	/* a byte an element and a scale a row */
	model("aiter::rmsnorm2d_fwd_with_dynamicquant_ck", "[[4, 8], [4, 8], [4, 1], [8], [], []]",
	      FP8_OUT, "[]");
	expect_work(136 + 64, 64 + 16 + 32 + 16, "vector_bf16");
	model("aiter::rmsnorm_quant", "[[4, 8], [4, 8], [4, 1], [8], [], []]", FP8_OUT,
	      "['', '', '', '', '1e-06', '0']");
	expect_work(136 + 64, 64 + 16 + 32 + 16, "vector_bf16");
	/* groups of 3: three a row */
	model("aiter::rmsnorm_quant", "[[4, 8], [4, 8], [4, 3], [8], [], []]", FP8_OUT,
	      "['', '', '', '', '1e-06', '3']");
	expect_work(136 + 64, 64 + 16 + 32 + 48, "vector_bf16");
	model("vllm::rocm_aiter_rmsnorm_fp8_group_quant", "[[4, 8], [8], [], []]", BF16_5,
	      "['', '', '1e-06', '4']");
	expect_work(136 + 64, 64 + 16 + 32 + 32, "vector_bf16");
	model("vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant", "[[4, 8], [4, 8], [8], [], []]",
	      BF16_5, "['', '', '', '1e-06', '4']");
	expect_work(136 + 64 + 32, 64 + 16 + 128 + 32 + 32, "vector_bf16");
	/* without the size of its groups the bytes are unknown */
	model("vllm::rocm_aiter_rmsnorm_fp8_group_quant", "[[4, 8], [8], [], []]", BF16_5, "[]");
	expect_work(136 + 64, NAN, "vector_bf16");
	/* 4 rows of 64: two scales each */
	model("aiter::_fuse_rmsnorm_fp4_quant", "[[4, 64], [64], []]", BF16_5, "[]");
	expect_work(4 * 130 + 4 * 256, 512 + 128 + 128 + 8, "vector_bf16");
}

static void scales_with_each_size(void **state)
{
	double flops, bytes;

	(void)state;
	model("aiter::rmsnorm2d_fwd_ck", "[[2, 64, 32], [32]]", BF16_5, "[]");
	flops = model_flops();
	bytes = model_bytes();
	model("aiter::rmsnorm2d_fwd_ck", "[[4, 64, 32], [32]]", BF16_5, "[]");
	assert_true(model_flops() == 2 * flops && model_bytes() == 2 * bytes - 64);
	model("aiter::rmsnorm2d_fwd_ck", "[[2, 128, 32], [32]]", BF16_5, "[]");
	assert_true(model_flops() == 2 * flops && model_bytes() == 2 * bytes - 64);
	model("aiter::rmsnorm2d_fwd_ck", "[[2, 64, 64], [64]]", BF16_5, "[]");
	/* the mean and 1 / sqrt of a row stay two */
	assert_true(model_flops() == 2 * flops - 2 * 128 && model_bytes() == 2 * bytes);
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("aiter::rmsnorm2d_fwd_ck", "[[4, 8], [7]]", BF16_5, "[]");
	expect_failure("does not match");
	model("aiter::rmsnorm2d_fwd_ck", "[[4, 8]]", BF16_5, "[]");
	expect_failure("no input and weight");
	model("aiter::rmsnorm", "[[4, 8], [4, 8]]", BF16_5, "[]");
	expect_failure("no input and weight");
	model("aiter::rmsnorm2d_fwd_ck", "[[4, 0], [0]]", BF16_5, "[]");
	expect_work(0, 0, "vector_bf16");
	model("aiter::rmsnorm2d_fwd_ck", "[[4, 8], [8]]", "['UnknownT', 'UnknownT']", "[]");
	expect_work(136, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(with_output),
		cmocka_unit_test(padded),
		cmocka_unit_test(quantized),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
