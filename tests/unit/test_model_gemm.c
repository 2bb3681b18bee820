#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models.h"

/* The example of src/model/families/gemm.c. */
static void example(void **state)
{
	(void)state;
	model("aten::mm", "[[8, 16], [16, 4]]", "['float', 'float']", "['', '']");
	expect_work(1024, 896, "matrix_fp32");
	expect_parameter("M", "8");
	expect_parameter("N", "4");
	expect_parameter("K", "16");
	expect_parameter("B", "1");
	expect_parameter("bias", "False");
	expect_parameter("dtype_A_B", "('float', 'float')");
}

/* By counting: two operations for every step of the innermost loop, every element once. */
static double loop_flops(int batch, int m, int n, int k, bool bias)
{
	double flops = 0;
	int b, i, j, l;

	for (b = 0; b < batch; b++)
		for (i = 0; i < m; i++)
			for (j = 0; j < n; j++) {
				for (l = 0; l < k; l++)
					flops += 2;
				flops += bias;
			}
	return flops;
}

static void agrees_with_loops(void **state)
{
	int m, n, k;
	char dims[200];

	(void)state;
	for (m = 1; m < 6; m += 2)
		for (n = 1; n < 9; n += 3)
			for (k = 0; k < 7; k += 3) {
				snprintf(dims, sizeof(dims), "[[%d, %d], [%d, %d]]", m, k, k, n);
				model("aten::mm", dims, "['c10::Half', 'c10::Half']", "[]");
				expect_work(loop_flops(1, m, n, k, false),
					    2. * (m * k + k * n + m * n), "matrix_fp16");
				snprintf(dims, sizeof(dims), "[[%d], [%d, %d], [%d, %d]]", n, m, k,
					 k, n);
				model("aten::addmm", dims, "['double', 'double', 'double']", "[]");
				expect_work(loop_flops(1, m, n, k, true),
					    8. * (m * k + k * n + m * n + n), "matrix_fp64");
				snprintf(dims, sizeof(dims), "[[3, %d, %d], [3, %d, %d]]", m, k, k,
					 n);
				model("aten::bmm", dims, "['float', 'float']", "[]");
				expect_work(loop_flops(3, m, n, k, false),
					    12. * (m * k + k * n + m * n), "matrix_fp32");
			}
}

static void scales_with_each_size(void **state)
{
	double flops;

	(void)state;
	model("aten::mm", "[[64, 32], [32, 16]]", "['float', 'float']", "[]");
	flops = model_flops();
	model("aten::mm", "[[128, 32], [32, 16]]", "['float', 'float']", "[]");
	assert_true(model_flops() == 2 * flops);
	model("aten::mm", "[[64, 64], [64, 16]]", "['float', 'float']", "[]");
	assert_true(model_flops() == 2 * flops);
	model("aten::mm", "[[64, 32], [32, 32]]", "['float', 'float']", "[]");
	assert_true(model_flops() == 2 * flops);
}

static void scaled(void **state)
{
	(void)state;
	/* fp8 in, bf16 out: 64 x 128 x 1 + 128 x 32 x 1 + 64 x 32 x 2 bytes */
	model("aten::_scaled_mm", "[[64, 128], [128, 32], [], [], [], [], []]",
	      "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'float', 'float', '', '', '']", "[]");
	expect_work(2. * 64 * 128 * 32, 8192 + 4096 + 4096, "matrix_fp8");
	/* with a bias of 32 bf16 */
	model("aten::_scaled_mm", "[[64, 128], [128, 32], [], [], [32], [], []]",
	      "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'float', 'float', 'c10::BFloat16', '', "
	      "'']",
	      "[]");
	expect_work(2. * 64 * 128 * 32 + 64 * 32, 8192 + 4096 + 4096 + 64, "matrix_fp8");
	/* int8 weights kept as (N, K); the result in 16 bits */
	model("bitsandbytes::int8_linear_matmul", "[[4, 128], [32, 128]]",
	      "['signed char', 'signed char']", "[]");
	expect_work(2. * 4 * 128 * 32, 512 + 4096 + 256, "matrix_int8");
	expect_parameter("N", "32");
	model("aten::_int_mm", "[[32, 64], [64, 16]]", "['signed char', 'signed char']", "[]");
	expect_work(2. * 32 * 64 * 16, 2048 + 1024 + 2048, "matrix_int8");
}

/* Two values a byte: 32 x 64 bytes of A are 32 x 128 values, with a scale for each 32. */
static void four_bits(void **state)
{
	(void)state;
	model("aiter::gemm_a4w4", "[[32, 64], [16, 64], [32, 4], [16, 4]]",
	      "['unsigned char', 'unsigned char', 'unsigned char', 'unsigned char']", "[]");
	expect_work(2. * 32 * 16 * 128, 32 * 64 + 16 * 64 + (32 + 16) * 4 + 2 * 32 * 16,
		    "matrix_fp4");
	expect_parameter("K", "128");
}

static void linear_and_matmul(void **state)
{
	(void)state;
	/* (2 x 5 rows of 16) by a weight of 4 x 16 with a bias */
	model("aten::linear", "[[2, 5, 16], [4, 16], [4]]", "['float', 'float', 'float']", "[]");
	expect_work(2. * 10 * 16 * 4 + 40, 4 * (160 + 64 + 40 + 4), "matrix_fp32");
	model("aten::matmul", "[[2, 3, 5, 7], [2, 3, 7, 4]]", "['float', 'float']", "[]");
	expect_work(2. * 6 * 5 * 7 * 4, 4. * 6 * (35 + 28 + 20), "matrix_fp32");
	model("aten::matmul", "[[2, 3, 5, 7], [7, 4]]", "['float', 'float']", "[]");
	expect_work(2. * 30 * 7 * 4, 4. * (210 + 28 + 120), "matrix_fp32");
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("aten::mm", "[[8, 16], [15, 4]]", "['float', 'float']", "[]");
	expect_failure("inner matrix sizes");
	model("aten::mm", "[[8, 16]]", "['float']", "[]");
	expect_failure("not matrices");
	model("aten::mm", "", "", "");
	expect_failure("not recorded");
	model("aten::mm", "[[8, -16], [-16, 4]]", "['float', 'float']", "[]");
	expect_failure("unreadable shapes");
	model("aten::mm", "[[8, 99999999999999999999], [16, 4]]", "['float', 'float']", "[]");
	expect_failure("unreadable shapes");
	model("aten::mm", "[[[[[[[[8, 16]]]]]]]", "['float', 'float']", "[]");
	expect_failure("unreadable shapes");
	/* zero sizes are sizes */
	model("aten::mm", "[[0, 16], [16, 4]]", "['float', 'float']", "[]");
	expect_work(0, 256, "matrix_fp32");
}

/* Of an unknown type the bytes are unknown, the FLOPs are not. */
static void unknown_types(void **state)
{
	(void)state;
	model("aten::mm", "[[64, 64], [64, 64]]", "['UnknownT', 'UnknownT']", "[]");
	expect_work(524288, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(agrees_with_loops),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(scaled),
		cmocka_unit_test(four_bits),
		cmocka_unit_test(linear_and_matmul),
		cmocka_unit_test(what_makes_no_sense),
		cmocka_unit_test(unknown_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
