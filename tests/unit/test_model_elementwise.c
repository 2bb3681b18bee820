#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models.h"

/* The example of src/model/families/elementwise.c. */
static void example(void **state)
{
	(void)state;
	model("aten::mul", "[[4, 1, 8], [5, 1]]", "['float', 'float']", "['', '']");
	expect_work(160, 788, "vector_fp32");
	expect_parameter("shape_in1", "(4, 1, 8)");
	expect_parameter("shape_in2", "(5, 1)");
	expect_parameter("dtype_in1_in2_out", "('float', 'float', None)");
	expect_parameter("stride_output", "None");
}

static void unary(void **state)
{
	(void)state;
	model("aten::neg", "[[3, 5]]", "['float']", "['']");
	expect_work(15, 120, "vector_fp32");
	expect_parameter("dtype_in_out", "('float', None)");
	/* to bf16 from float */
	model("aten::copy_", "[[3, 5], [3, 5], []]", "['c10::BFloat16', 'float', 'Scalar']",
	      "['', '', 'False']");
	expect_work(15, 15 * 2 + 15 * 4, "vector_bf16");
	expect_parameter("dtype_in_out", "('c10::BFloat16', 'float')");
	model("aten::pow", "[[8], []]", "['double', 'Scalar']", "['', '2']");
	expect_work(8, 128, "vector_fp64");
	/* An exponent an element is read too and is not the output. */
	model("aten::pow", "[[8], [8]]", "['double', 'float']", "['', '']");
	expect_work(8, 64 + 64 + 32, "vector_fp64");
	/* types whose size other tools do not know */
	model("aten::neg", "[[6]]", "['bool']", "['']");
	expect_work(6, 12, "");
	model("aten::neg", "[[6]]", "['c10::complex<float>']", "['']");
	expect_work(6, 96, "");
	model("aten::neg", "[[6]]", "['Mystery']", "['']");
	expect_work(6, NAN, "");
	/* empty, and a tensor without dimensions */
	model("aten::neg", "[[0, 5]]", "['float']", "['']");
	expect_work(0, 0, "vector_fp32");
	model("aten::neg", "[[]]", "['float']", "['']");
	expect_work(1, 8, "vector_fp32");
}

/* Elements of a broadcast result, counted. */
static int broadcast_count(const int *a, const int *b)
{
	int i, j, count = 0;

	for (i = 0; i < (a[0] > b[0] ? a[0] : b[0]); i++)
		for (j = 0; j < (a[1] > b[1] ? a[1] : b[1]); j++)
			count++;
	return count;
}

static void binary_agrees_with_loops(void **state)
{
	static const int pairs[][4] = { { 3, 5, 3, 5 },
					{ 3, 1, 1, 5 },
					{ 1, 5, 3, 1 },
					{ 1, 1, 4, 2 },
					{ 7, 2, 1, 2 } };
	char dims[100];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const int *p = pairs[i];
		int n = broadcast_count(p, p + 2);

		snprintf(dims, sizeof(dims), "[[%d, %d], [%d, %d], []]", p[0], p[1], p[2], p[3]);
		model("aten::add", dims, "['float', 'c10::Half', 'Scalar']", "['', '', '1']");
		expect_work(n, p[0] * p[1] * 4 + p[2] * p[3] * 2 + n * 4, "vector_fp32");
	}
	/* into a tensor of doubles, behind alpha: 24 x 2 and 6 x 4 read, 24 x 8 written */
	model("aten::add.out", "[[4, 6], [6], [], [4, 6]]",
	      "['c10::Half', 'float', 'Scalar', 'double']", "['', '', '1', '']");
	expect_work(24, 48 + 24 + 192, "vector_fp16");
	model("aten::add", "[[3, 5], [3, 4]]", "['float', 'float']", "[]");
	expect_failure("do not match");
}

static void numbers(void **state)
{
	(void)state;
	/* 8 x 2 in, a number of 4 bytes, 8 x 2 out */
	model("aten::mul", "[[8], []]", "['c10::Half', 'Scalar']", "['', '0.5']");
	expect_work(8, 16 + 4 + 16, "vector_fp16");
	/* a double without dimensions does not widen */
	model("aten::mul", "[[8], []]", "['c10::Half', 'double']", "['', '']");
	expect_work(8, 16 + 8 + 16, "vector_fp16");
	/* nor does one that comes first */
	model("aten::mul", "[[], [8]]", "['float', 'c10::Half']", "['', '']");
	expect_work(8, 4 + 16 + 16, "vector_fp32");
	/* in place it is half whatever is added */
	model("aten::add_", "[[8], [8], []]", "['c10::Half', 'float', 'Scalar']", "['', '', '1']");
	expect_work(8, 16 + 32 + 16, "vector_fp16");
	/* into a given output */
	model("aten::div", "[[8], [8], [8]]", "['float', 'float', 'c10::Half']", "['', '', '']");
	expect_work(8, 32 + 32 + 16, "vector_fp32");
	model("aten::mul", "[[4611686018427387904, 8], []]", "['float', 'Scalar']", "[]");
	expect_failure("exceed any memory");
}

static void gated(void **state)
{
	(void)state;
	/* out (4, 8) of bf16 from (4, 16) of float: reads 64 x 4, writes 32 x 2 */
	model("_C::silu_and_mul", "[[4, 8], [4, 16]]", "['c10::BFloat16', 'float']", "[]");
	expect_work(5 * 32, 256 + 64, "vector_fp32");
	model("aiter::gelu_and_mul", "[[4, 8], [4, 16]]", "['float', 'float']", "[]");
	expect_work(8 * 32, 256 + 128, "vector_fp32");
	model("aiter::gelu_tanh_and_mul", "[[4, 8], [4, 16]]", "['float', 'float']", "[]");
	expect_work(10 * 32, 256 + 128, "vector_fp32");
	model("LigerSiLUMulFunction", "[[4, 8], [4, 8]]", "['float', 'float']", "[]");
	expect_work(5 * 32, 3 * 128, "vector_fp32");
}

static void other_sizes(void **state)
{
	(void)state;
	/* (1, 2, 4, 5) padded by 1 and 2 left and right, 0 and 3 above and below: (1, 2, 7, 8) */
	model("aten::replication_pad2d", "[[1, 2, 4, 5], []]", "['float', 'ScalarList']",
	      "['', '[1, 2, 0, 3]']");
	expect_work(112, 4 * (40 + 112), "vector_fp32");
	/* cut by 1 on each side: nothing is left of 2, and less than nothing of 1 */
	model("aten::replication_pad1d", "[[1, 2, 2], []]", "['float', 'ScalarList']",
	      "['', '[-1, -1]']");
	expect_work(0, 16, "vector_fp32");
	model("aten::replication_pad1d", "[[1, 2, 1], []]", "['float', 'ScalarList']",
	      "['', '[-1, -1]']");
	expect_failure("invalid output sizes");
	model("aten::upsample_nearest2d", "[[1, 2, 4, 5], [], [], []]",
	      "['c10::Half', 'ScalarList', '', '']", "['', '[8, 10]', '', '']");
	expect_work(160, 2 * (40 + 160), "vector_fp16");
	expect_parameter("op_shape", "(1, 2, 8, 10)");
	/* by factors: 4 x 2 and 5 x 1.5, rounded down */
	model("aten::upsample_nearest2d", "[[1, 2, 4, 5], [], []]",
	      "['c10::Half', '', 'ScalarList']", "['', '', '[2., 1.5]']");
	expect_work(112, 2 * (40 + 112), "vector_fp16");
	model("aten::upsample_nearest2d", "[[1, 2, 4, 5], [], []]",
	      "['c10::Half', '', 'ScalarList']", "['', '', '[2., -1]']");
	expect_failure("invalid");
	model("aten::upsample_nearest2d", "[[1, 2, 4, 5], []]", "['c10::Half', '']", "['', '']");
	expect_failure("not recorded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(unary),
		cmocka_unit_test(binary_agrees_with_loops),
		cmocka_unit_test(numbers),
		cmocka_unit_test(gated),
		cmocka_unit_test(other_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
