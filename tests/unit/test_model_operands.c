/*
 * What an operand is in memory: elements that strides make one, values that are packed into one,
 * and models of every family that read such operands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

#define BF16 "c10::BFloat16"
#define MOST_ADDRESSES 100000

static struct tw_operand tensor(unsigned rank, const int64_t *size, const int64_t *stride)
{
	struct tw_operand operand = { .strides_recorded = true };

	operand.dims.rank = operand.strides.rank = rank;
	memcpy(operand.dims.size, size, rank * sizeof(*size));
	memcpy(operand.strides.size, stride, rank * sizeof(*stride));
	return operand;
}

/* By marking every address that an index leads to. */
static double marked(unsigned rank, const int64_t *size, const int64_t *stride)
{
	static bool seen[MOST_ADDRESSES];
	int64_t index[TW_MAX_DIMS] = { 0 }, at;
	double count = 0;
	unsigned i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < rank; i++)
		if (!size[i])
			return 0;
	for (;;) {
		for (at = 0, i = 0; i < rank; i++)
			at += index[i] * stride[i];
		assert_true(at < MOST_ADDRESSES);
		count += !seen[at];
		seen[at] = true;
		for (i = 0; i < rank && ++index[i] == size[i]; i++)
			index[i] = 0;
		if (i == rank)
			return count;
	}
}

static void expect_distinct(unsigned rank, const int64_t *size, const int64_t *stride)
{
	struct tw_operand operand = tensor(rank, size, stride);

	assert_true(tw_distinct(&operand) == marked(rank, size, stride));
}

static void kinds_of_strides(void **state)
{
	static const struct {
		unsigned rank;
		int64_t size[6], stride[6];
		double distinct;
	} tensors[] = {
		{ 2, { 4, 6 }, { 6, 1 }, 24 },		      /* as it is */
		{ 2, { 6, 4 }, { 1, 6 }, 24 },		      /* transposed */
		{ 2, { 4, 6 }, { 12, 2 }, 24 },		      /* every second of both */
		{ 2, { 4, 6 }, { 0, 1 }, 6 },		      /* one row, four times */
		{ 2, { 4, 6 }, { 1, 0 }, 4 },		      /* one column */
		{ 3, { 4, 5, 6 }, { 0, 0, 0 }, 1 },	      /* one number */
		{ 3, { 2, 1, 6 }, { 6, 999, 1 }, 12 },	      /* a size of 1 has any stride */
		{ 2, { 8, 3 }, { 1, 1 }, 10 },		      /* windows of 3 over 10 */
		{ 2, { 4, 3 }, { 2, 1 }, 9 },		      /* every second of them */
		{ 2, { 4, 3 }, { 3, 1 }, 12 },		      /* side by side */
		{ 4, { 8, 3, 8, 3 }, { 10, 10, 1, 1 }, 100 }, /* of 3 x 3 over 10 x 10 */
		{ 4, { 4, 3, 4, 3 }, { 22, 11, 2, 1 }, 81 },  /* every second, in rows of 11 */
		{ 5, { 2, 4, 3, 4, 3 }, { 0, 22, 11, 2, 1 }, 81 },
		{ 2, { 0, 6 }, { 6, 1 }, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
		struct tw_operand operand =
			tensor(tensors[i].rank, tensors[i].size, tensors[i].stride);

		assert_true(tw_distinct(&operand) == tensors[i].distinct);
		expect_distinct(tensors[i].rank, tensors[i].size, tensors[i].stride);
	}
}

/* Without overlaps the count is exact; with them it is neither too small nor above the bounds. */
static void random_strides(void **state)
{
	unsigned round, i, exact = 0;

	(void)state;
	srand(5);
	for (round = 0; round < 3000; round++) {
		int64_t size[4], stride[4];
		unsigned rank = 1 + (unsigned)rand() % 4;
		double found, real, all = 1, span = 1;
		struct tw_operand operand;

		for (i = 0; i < rank; i++) {
			size[i] = 1 + rand() % 5;
			stride[i] = rand() % 13;
			all *= (double)size[i];
			span += (double)((size[i] - 1) * stride[i]);
		}
		operand = tensor(rank, size, stride);
		found = tw_distinct(&operand);
		real = marked(rank, size, stride);
		assert_true(found >= real && found <= all && found <= span);
		exact += found == real;
	}
	assert_true(exact > 1500);
}

static void not_recorded(void **state)
{
	const int64_t size[2] = { 4, 6 }, stride[1] = { 1 };
	struct tw_operand operand = tensor(2, size, size), other = tensor(1, stride, stride);

	(void)state;
	operand.strides = other.strides;
	assert_true(tw_distinct(&operand) == 24);
	assert_true(tw_distinct_share(&operand) == 1);
}

/* 15360 rows of 4096, the index of one column: 2 x 15360 x 4096 x 2 bytes and 15360 x 8. */
static void gather_by_an_expanded_index(void **state)
{
	(void)state;
	model_strided("aten::gather", "[[1, 15360, 4096], [], [1, 15360, 4096], []]",
		      "['" BF16 "', 'Scalar', 'long int', 'Scalar']",
		      "[[62914560, 4096, 1], [], [15360, 1, 0], []]", "['', '1', '', 'False']");
	expect_work(0, 2. * 15360 * 4096 * 2 + 15360 * 8, "vector_bf16");
	/* half of it, the index being a row */
	model_strided("aten::gather", "[[8, 16], [], [8, 16], []]",
		      "['float', 'Scalar', 'long int', 'Scalar']", "[[16, 1], [], [0, 1], []]",
		      "['', '0', '', 'False']");
	expect_work(0, 2 * 128 * 4 + 16 * 8, "vector_fp32");
	/* three times the same two rows */
	model_strided("aten::embedding", "[[10, 4], [3, 2]]", "['float', 'long int']",
		      "[[4, 1], [0, 1]]", "['', '']");
	expect_work(0, 8 * 4 + 24 * 4 + 2 * 8, "vector_fp32");
}

/* Expanded or of the smaller shape, it is the same. */
static void broadcast_by_stride_or_shape(void **state)
{
	double bytes;

	(void)state;
	model_strided("aten::mul", "[[1, 5184, 1024], [1, 5184, 1024]]", "['" BF16 "', '" BF16 "']",
		      "[[5308416, 1024, 1], [1024, 0, 1]]", "['', '']");
	expect_work(5308416, (2. * 5308416 + 1024) * 2, "vector_bf16");
	bytes = model_bytes();
	model("aten::mul", "[[1, 5184, 1024], [1, 1, 1024]]", "['" BF16 "', '" BF16 "']",
	      "['', '']");
	assert_true(bytes == model_bytes());
	/* one number of each of 64 pages, to 4194304 */
	model_strided("aten::copy_", "[[64, 8192, 8], [64, 8192, 8], []]",
		      "['" BF16 "', '" BF16 "', 'Scalar']", "[[65536, 8, 1], [1, 0, 0], []]",
		      "['', '', 'False']");
	expect_work(4194304, 2. * (4194304 + 64), "vector_bf16");
	model("aten::copy_", "[[64, 8192, 8], [64, 1, 1], []]",
	      "['" BF16 "', '" BF16 "', 'Scalar']", "['', '', 'False']");
	expect_work(4194304, 2. * (4194304 + 64), "vector_bf16");
	/* a tensor without dimensions */
	model("aten::copy_", "[[4, 8], [], []]", "['float', 'double', 'Scalar']",
	      "['', '', 'False']");
	expect_work(32, 128 + 8, "vector_fp32");
}

static void in_every_family(void **state)
{
	(void)state;
	/* one B of (16, 4) for 3 batches */
	model_strided("aten::bmm", "[[3, 8, 16], [3, 16, 4]]", "['float', 'float']",
		      "[[128, 16, 1], [0, 4, 1]]", "['', '']");
	expect_work(3 * 2 * 8 * 4 * 16, 4 * (3 * 128 + 64 + 3 * 32), "matrix_fp32");
	model_strided("aten::sum", "[[6, 8]]", "['float']", "[[0, 1]]", "['']");
	expect_work(48, 4 * (8 + 1), "vector_fp32");
	model_strided("aten::_softmax", "[[4, 8], [], []]", "['float', 'Scalar', 'Scalar']",
		      "[[0, 1], [], []]", "['', '-1', 'False']");
	expect_work(160, 4 * (8 + 32), "vector_fp32");
	model_strided("aten::native_layer_norm", "[[4, 6], [], [], [], []]",
		      "['float', 'ScalarList', '', '', 'Scalar']", "[[0, 1], [], [], [], []]",
		      "['', '[6]', '', '', '1e-05']");
	expect_work(24 + 120, 4 * (6 + 24 + 8), "vector_fp32");
	/* the gradient of a mean is one number: 8 x 2 x 2 of the others */
	model_strided(
		"aten::convolution_backward",
		"[[1, 8, 2, 2], [1, 3, 4, 4], [8, 3, 3, 3], [], [], [], [], [], [], [], []]",
		"['float', 'float', 'float', '', '', '', '', '', '', '', '']",
		"[[0, 0, 0, 0], [48, 16, 4, 1], [27, 9, 3, 1], [], [], [], [], [], [], [], []]",
		"['', '', '', '[0]', '[1, 1]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1', "
		"'[True, True, False]']");
	expect_work(2 * 2 * 27 * 32, 4 * (2 * (1 + 216 + 48)), "matrix_fp32");
	/* keys and values of one head for all four */
	model_strided("aten::_scaled_dot_product_flash_attention",
		      "[[1, 4, 16, 8], [1, 4, 16, 8], [1, 4, 16, 8], [], [], []]",
		      "['c10::Half', 'c10::Half', 'c10::Half', 'Scalar', 'Scalar', 'Scalar']",
		      "[[512, 128, 8, 1], [128, 0, 8, 1], [128, 0, 8, 1], [], [], []]",
		      "['', '', '', '0.', 'False', 'False']");
	assert_true(model_bytes() == 2 * (512 + 128 + 128 + 512));
}

/* Two values in a byte along K: M 64, K 256 and N 32. */
static void packed_values(void **state)
{
	static const char types[] = "['c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2', "
				    "'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', '', '', 'Scalar', "
				    "'Scalar']";

	(void)state;
	model("aten::_scaled_mm",
	      "[[4096, 2048], [2048, 8192], [4096, 256], [8192, 256], [], [], [], []]", types,
	      "['', '', '', '', '', '', '15', 'False']");
	expect_work(2. * 4096 * 8192 * 4096,
		    (4096. * 2048 + 2048 * 8192.) + 256. * (4096 + 8192) + 2. * 4096 * 8192,
		    "matrix_fp4");
	expect_parameter("K", "4096");
	/* a result in float */
	model("aten::_scaled_mm", "[[64, 128], [128, 32], [64, 8], [32, 8], [], [], [], []]", types,
	      "['', '', '', '', '', '', '6', 'False']");
	expect_work(2 * 64 * 32 * 256, 64 * 128 + 128 * 32 + 8 * 96 + 4 * 64 * 32, "matrix_fp4");
	/* both ways to say so have one K */
	model("aiter::gemm_a4w4", "[[64, 128], [32, 128], [64, 8], [32, 8]]",
	      "['c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2', 'unsigned char', 'unsigned "
	      "char']",
	      "[]");
	expect_parameter("K", "256");
	model("aiter::gemm_a4w4", "[[64, 128], [32, 128], [64, 8], [32, 8]]",
	      "['unsigned char', 'unsigned char', 'unsigned char', 'unsigned char']", "[]");
	expect_parameter("K", "256");
	model("aten::mm", "[[64, 128], [128, 32]]",
	      "['c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2']", "[]");
	expect_parameter("K", "256");
	model("aten::mm", "[[64, 256], [128, 32]]", "['" BF16 "', 'c10::Float4_e2m1fn_x2']", "[]");
	expect_parameter("K", "256");
	model("aten::mm", "[[64, 128], [128, 32]]", "['" BF16 "', 'c10::Float4_e2m1fn_x2']", "[]");
	expect_failure("inner matrix sizes");
}

/* Four-bit weights of (N 64, K 128): 1024 words of eight, or 4096 bytes of two values. */
static void packed_weights(void **state)
{
	(void)state;
	model("aten::_weight_int4pack_mm", "[[16, 128], [8, 1, 32, 4], [], [4, 64, 2]]",
	      "['" BF16 "', 'int', 'Scalar', '" BF16 "']", "['', '', '32', '']");
	expect_work(2 * 16 * 64 * 128, 2 * 16 * 128 + 4096 + 1024 + 2 * 16 * 64, "matrix_bf16");
	expect_parameter("N", "64");
	model("aten::_weight_int4pack_mm", "[[16, 128], [64, 64], [], [4, 64, 2]]",
	      "['" BF16 "', 'unsigned char', 'Scalar', '" BF16 "']", "['', '', '32', '']");
	expect_parameter("N", "64");
	model("aten::_weight_int4pack_mm", "[[16, 100], [64, 64], [], []]",
	      "['" BF16 "', 'unsigned char', 'Scalar', '']", "['', '', '32', '']");
	expect_failure("does not match");
	model("aten::_weight_int8pack_mm", "[[16, 128], [64, 128], [64]]",
	      "['" BF16 "', 'signed char', '" BF16 "']", "[]");
	expect_work(2 * 16 * 64 * 128, 2 * 16 * 128 + 64 * 128 + 128 + 2 * 16 * 64, "matrix_bf16");
}

static void strides_that_were_not_recorded(void **state)
{
	(void)state;
	model("aten::mm", "[[64, 128], [128, 32]]", "['float', 'float']", "[]");
	expect_empty_parameter("stride_A");
	expect_empty_parameter("stride_B");
	model_strided("aten::mm", "[[64, 128], [128, 32]]", "['float', 'float']",
		      "[[128, 1], [32, 1]]", "[]");
	expect_parameter("stride_A", "(128, 1)");
	/* of a number they are recorded, and there are none */
	model_strided("aten::neg", "[[]]", "['float']", "[[]]", "['']");
	expect_parameter("stride_input", "()");
	model("aten::neg", "[[]]", "['float']", "['']");
	expect_empty_parameter("stride_input");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_strides),
		cmocka_unit_test(random_strides),
		cmocka_unit_test(not_recorded),
		cmocka_unit_test(gather_by_an_expanded_index),
		cmocka_unit_test(broadcast_by_stride_or_shape),
		cmocka_unit_test(in_every_family),
		cmocka_unit_test(packed_values),
		cmocka_unit_test(packed_weights),
		cmocka_unit_test(strides_that_were_not_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
