/*
 * Operations of ATen by the rows of data/aten_ops.tsv: figures worked out by hand, one or two of
 * each kind of row. tests/property/test_aten_ops.py has every row against a slow count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models.h"

#define BF16 "c10::BFloat16"

static void set_list_bytes(struct tw_call *call, const void *context)
{
	memcpy(call->list_bytes, context, sizeof(call->list_bytes));
}

static void lists(const char *op, const char *dims, const char *types, const char *concrete,
		  double first, double others)
{
	const double bytes[2] = { first, others };

	model_with(op, dims, types, concrete, set_list_bytes, bytes);
}

/* The examples of src/model/families/aten.c. */
static void examples(void **state)
{
	(void)state;
	model("aten::where", "[[4, 1], [4, 8], []]", "['bool', 'float', 'Scalar']",
	      "['', '', '0.']");
	expect_work(0, 4 + 128 + 128, "vector_fp32");
	model("aten::topk", "[[4, 100], [], [], [], []]",
	      "['c10::Half', 'Scalar', 'Scalar', 'Scalar', 'Scalar']",
	      "['', '3', '-1', 'True', 'True']");
	expect_work(0, 800 + 12 * 2 + 12 * 8, "vector_fp16");
}

static void element_by_element(void **state)
{
	(void)state;
	model("aten::gelu", "[[1, 141, 2048], []]", "['" BF16 "', '']", "['', '']");
	expect_work(288768, 2 * 288768 * 2, "vector_bf16");
	/* two inputs that broadcast: 6 + 5 read, 30 written */
	model("aten::sub", "[[6, 1], [5], []]", "['float', 'float', 'Scalar']", "['', '', '1']");
	expect_work(30, 4 * (6 + 5 + 30), "vector_fp32");
	/* comparisons write bytes; a number is not read */
	model("aten::eq", "[[1, 141], []]", "['long int', 'Scalar']", "['', '1']");
	expect_work(141, 141 * 8 + 141, "");
	/* integers to float */
	model("aten::exp", "[[10]]", "['long int']", "['']");
	expect_work(10, 80 + 40, "");
	model("aten::sub", "[[6, 1], [4, 5], []]", "['float', 'float', 'Scalar']", "['', '', '1']");
	expect_failure("do not match");
	model("aten::relu", "[[8]]", "['Mystery']", "['']");
	expect_work(8, NAN, "");
}

/* torch.result_type: dimensions before none before numbers, kinds before widths. */
static void types_of_results(void **state)
{
	(void)state;
	/* float16 and float32: float32 */
	model("aten::sub", "[[8], [8], []]", "['c10::Half', 'float', 'Scalar']", "['', '', '1']");
	expect_work(8, 16 + 32 + 32, "vector_fp16");
	/* float16 and bfloat16: float32 */
	model("aten::maximum", "[[8], [8]]", "['c10::Half', '" BF16 "']", "['', '']");
	expect_work(8, 16 + 16 + 32, "vector_fp16");
	/* a double without dimensions does not widen a half, but it does an integer */
	model("aten::sub", "[[8], [], []]", "['c10::Half', 'double', 'Scalar']", "['', '', '1']");
	expect_work(8, 16 + 8 + 16, "vector_fp16");
	model("aten::sub", "[[8], [], []]", "['int', 'double', 'Scalar']", "['', '', '1']");
	expect_work(8, 32 + 8 + 64, "vector_fp64");
	/* a number with a point makes floats of integers, one without does not */
	model("aten::sub", "[[8], [], []]", "['long int', 'Scalar', 'Scalar']", "['', '0.5', '1']");
	expect_work(8, 64 + 32, "");
	model("aten::sub", "[[8], [], []]", "['short int', 'Scalar', 'Scalar']", "['', '3', '1']");
	expect_work(8, 16 + 16, "");
	/* bool and int */
	model("aten::bitwise_and", "[[8], [8]]", "['bool', 'int']", "['', '']");
	expect_work(8, 8 + 32 + 32, "");
	model("aten::complex", "[[8], [8]]", "['float', 'float']", "['', '']");
	expect_work(0, 32 + 32 + 64, "vector_fp32");
}

static void in_place_and_into(void **state)
{
	(void)state;
	model("aten::relu_", "[[8]]", "['float']", "['']");
	expect_work(8, 64, "vector_fp32");
	/* self is half whatever is added to it */
	model("aten::sub_", "[[4, 8], [8], []]", "['c10::Half', 'float', 'Scalar']",
	      "['', '', '1']");
	expect_work(32, 64 + 32 + 64, "vector_fp16");
	/* into a tensor that has no size yet, and by the name of an overload */
	model("aten::abs", "[[512, 512], [0]]", "['long int', 'long int']", "['', '']");
	expect_work(262144, 2 * 262144 * 8, "");
	model("aten::abs.out", "[[512, 512], [0]]", "['float', 'double']", "['', '']");
	expect_work(262144, 262144 * (4 + 8), "vector_fp32");
	model("aten::masked_fill_", "[[5, 5], [5, 1], []]", "['float', 'bool', 'Scalar']",
	      "['', '', '0']");
	expect_work(0, 100 + 5 + 100, "vector_fp32");
}

static void written_alone(void **state)
{
	(void)state;
	model("aten::fill_", "[[10, 1000], []]", "['" BF16 "', 'Scalar']", "['', '0']");
	expect_work(0, 20000, "vector_bf16");
	model("aten::zero_", "[[10, 1000]]", "['float']", "['']");
	expect_work(0, 40000, "vector_fp32");
	model("aten::normal_", "[[8, 16], [], [], []]", "['float', 'Scalar', 'Scalar', '']",
	      "['', '0.', '1.', '']");
	expect_work(0, 512, "vector_fp32");
	/* 0, 3, 6, 9 into a tensor of long */
	model("aten::arange", "[[], [], [], [0]]", "['Scalar', 'Scalar', 'Scalar', 'long int']",
	      "['0', '10', '3', '']");
	expect_work(0, 32, "");
	model("aten::arange", "[[], [0]]", "['Scalar', 'float']", "['2.5', '']");
	expect_work(0, 12, "");
	/* of the type with number 15 */
	model("aten::zeros", "[[], [], [], [], []]", "['ScalarList', 'Scalar', '', '', '']",
	      "['[3, 5]', '15', '', '', '']");
	expect_work(0, 30, "");
	model("aten::zeros", "[[], [], [], [], []]", "['ScalarList', '', '', '', '']",
	      "['[3, 5]', '', '', '', '']");
	expect_work(0, 60, "");
}

static void copies(void **state)
{
	(void)state;
	model("aten::_to_copy", "[[3, 5], []]", "['float', 'Scalar']", "['', '15']");
	expect_work(0, 60 + 30, "vector_fp32");
	model("aten::clone", "[[3, 5], []]", "['c10::Half', '']", "['', '']");
	expect_work(0, 60, "vector_fp16");
	model("aten::_local_scalar_dense", "[[]]", "['bool']", "['']");
	expect_work(0, 2, "");
}

static void reductions(void **state)
{
	(void)state;
	model("aten::argmax", "[[32, 1000], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '-1', 'False']");
	expect_work(32000, 128000 + 32 * 8, "vector_fp32");
	model("aten::all", "[[1, 141]]", "['bool']", "['']");
	expect_work(141, 142, "");
	model("aten::linalg_vector_norm", "[[6, 8], [], [], [], []]",
	      "['float', 'Scalar', 'ScalarList', 'Scalar', '']", "['', '2', '[0]', 'False', '']");
	expect_work(48, 192 + 8 * 4, "vector_fp32");
	/* prod(x, type) is over all */
	model("aten::prod", "[[6, 8], []]", "['float', 'Scalar']", "['', '6']");
	expect_work(48, 192 + 4, "vector_fp32");
	model("aten::prod", "[[6, 8], [], [], []]", "['float', 'Scalar', 'Scalar', '']",
	      "['', '0', 'False', '']");
	expect_work(48, 192 + 32, "vector_fp32");
	model("aten::cummax", "[[6, 8], []]", "['float', 'Scalar']", "['', '0']");
	expect_work(48, 192 + 192 + 48 * 8, "vector_fp32");
	model("aten::argmax", "[[32, 1000], [], []]", "['float', 'Scalar', 'Scalar']", "[]");
	expect_failure("dimensions not recorded");
	model("aten::argmax", "[[32, 1000], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '2', 'False']");
	expect_failure("do not match");
}

static void joined(void **state)
{
	static const char dims[] = "[[[4, 1, 768], [4, 196, 768]], []]";

	(void)state;
	/* The types of a list are what the kernel's name shows. */
	lists("aten::cat", dims, "['TensorList', 'Scalar']", "['', '1']", 2, 2);
	expect_work(0, 2 * 2 * 4 * 197 * 768, "");
	lists("aten::stack", "[[[5], [5], [5]], []]", "['TensorList', 'Scalar']", "['', '0']", 8,
	      8);
	expect_work(0, 240, "");
	/* they are known by the output, or not at all; or the shapes are not */
	lists("aten::cat", dims, "['TensorList', 'Scalar']", "['', '1']", NAN, NAN);
	expect_failure("not recorded");
	lists("aten::cat", "[[], []]", "['TensorList', 'Scalar']", "['', '0']", 2, 2);
	expect_failure("not recorded");
}

static void looked_up(void **state)
{
	(void)state;
	/* 3 rows of 8 by a vector of indices, which is read */
	model("aten::index", "[[100, 8], [3]]", "['float', 'long int']", "['', '']");
	expect_work(0, 96 + 96 + 24, "vector_fp32");
	model("aten::index", "[[100, 8], []]", "['float', '']", "['', '']");
	expect_failure("index sizes not recorded");
	/* 3 rows written: their indices and values are read */
	model("aten::index_put_", "[[100, 8], [3], [3, 8], []]",
	      "['float', 'long int', 'float', 'Scalar']", "['', '', '', 'False']");
	expect_work(0, 24 + 96 + 96, "vector_fp32");
	/* added: read first */
	model("aten::index_put_", "[[100, 8], [3], [3, 8], []]",
	      "['float', 'long int', 'float', 'Scalar']", "['', '', '', 'True']");
	expect_work(0, 24 + 96 + 96 + 96, "vector_fp32");
	model("aten::index_add_", "[[100, 8], [], [3], [3, 8], []]",
	      "['float', 'Scalar', 'long int', 'float', 'Scalar']", "['', '0', '', '', '1']");
	expect_work(24, 24 + 3 * 96, "vector_fp32");
	/* into a copy: all of it is read and written */
	model("aten::index_copy", "[[100, 8], [], [3], [3, 8]]",
	      "['float', 'Scalar', 'long int', 'float']", "['', '0', '', '']");
	expect_work(0, 2 * 3200 + 24 + 96, "vector_fp32");
	/* indices of which many are the same cannot write more than there is */
	model("aten::scatter_add_", "[[4], [], [100], [100]]",
	      "['float', 'Scalar', 'long int', 'float']", "['', '0', '', '']");
	expect_work(100, 16 + 16 + 800 + 400, "vector_fp32");
	model("aten::_embedding_bag", "[[1000, 16], [40], [10], [], [], [], [], [], []]",
	      "['float', 'long int', 'long int', 'Scalar', 'Scalar', 'Scalar', '', 'Scalar', "
	      "'Scalar']",
	      "['', '', '', 'False', '0', 'False', '', 'False', '-1']");
	expect_work(640, 640 * 4 + 320 + 80 + 640, "vector_fp32");
}

static void losses(void **state)
{
	(void)state;
	model("aten::mse_loss", "[[10, 10], [10, 10], []]", "['float', 'float', 'Scalar']",
	      "['', '', '1']");
	expect_work(200, 1200, "vector_fp32");
	/* a gradient of one number for all */
	model("aten::mse_loss_backward", "[[], [10, 10], [10, 10], []]",
	      "['float', 'float', 'float', 'Scalar']", "['', '', '', '1']");
	expect_work(300, 4 + 1200, "vector_fp32");
	/* one of 1000 of each row is read; the mean and the sum of weights are written */
	model("aten::nll_loss_forward", "[[64, 1000], [64], [], [], []]",
	      "['float', 'long int', '', 'Scalar', 'Scalar']", "['', '', '', '1', '-100']");
	expect_work(64, 64 * 4 + 64 * 8 + 8, "vector_fp32");
	model("aten::nll_loss_backward", "[[], [64, 1000], [64], [], [], [], []]",
	      "['float', 'float', 'long int', '', 'Scalar', 'Scalar', 'float']",
	      "['', '', '', '', '1', '-100', '']");
	expect_work(64000, 4 + 512 + 4 + 256000, "vector_fp32");
}

static void windows(void **state)
{
	(void)state;
	/* (10, 64, 112, 112): windows of 3, steps of 2, 1 around: 56 */
	model("aten::max_pool2d_with_indices", "[[10, 64, 112, 112], [], [], [], [], []]",
	      "['" BF16 "', 'ScalarList', 'ScalarList', 'ScalarList', 'ScalarList', 'Scalar']",
	      "['', '[3, 3]', '[2, 2]', '[1, 1]', '[1, 1]', 'False']");
	expect_work(9. * 2007040, 8028160. * 2 + 2007040. * 10, "vector_bf16");
	model("aten::max_pool2d_with_indices_backward",
	      "[[10, 64, 56, 56], [10, 64, 112, 112], [], [], [], [], [], [10, 64, 56, 56]]",
	      "['" BF16 "', '" BF16 "', 'ScalarList', 'ScalarList', 'ScalarList', 'ScalarList', "
	      "'Scalar', 'long int']",
	      "['', '', '[3, 3]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '']");
	expect_work(8028160, 2007040. * 2 + 2007040. * 8 + 8028160. * 2, "vector_bf16");
	/* (1, 2, 5, 5), windows of 2, rounded up: 3 of 2, the steps being those of the windows */
	model("aten::avg_pool2d", "[[1, 2, 5, 5], [], [], [], [], [], []]",
	      "['float', 'ScalarList', 'ScalarList', 'ScalarList', 'Scalar', 'Scalar', '']",
	      "['', '[2, 2]', '[]', '[0, 0]', 'True', 'True', '']");
	expect_work(4 * 18, 200 + 72, "vector_fp32");
	model("aten::upsample_bilinear2d", "[[1, 2, 4, 5], [], [], [], []]",
	      "['float', 'ScalarList', 'Scalar', '', '']", "['', '[8, 10]', 'False', '', '']");
	expect_work(7 * 160, 160 + 640, "vector_fp32");
	model("aten::upsample_bilinear2d_backward", "[[1, 2, 8, 10], [], [], [], [], []]",
	      "['float', 'ScalarList', 'ScalarList', 'Scalar', '', '']",
	      "['', '[8, 10]', '[1, 2, 4, 5]', 'False', '', '']");
	expect_work(7 * 40, 640 + 160, "vector_fp32");
	/* Without sizes by factors, rounded down: 2 * 4 and 1.5 * 5 = 7.5. */
	model("aten::upsample_bilinear2d", "[[1, 2, 4, 5], [], [], []]",
	      "['float', '', 'Scalar', 'ScalarList']", "['', '', 'False', '[2., 1.5]']");
	expect_work(7 * 112, 160 + 448, "vector_fp32");
	model("aten::upsample_linear1d", "[[2, 3, 5], [], [], []]",
	      "['float', '', 'Scalar', 'ScalarList']", "['', '', 'False', '[1.5]']");
	expect_work(3 * 42, 120 + 168, "vector_fp32");
	model("aten::upsample_bilinear2d", "[[1, 2, 4, 5], [], [], []]",
	      "['float', '', 'Scalar', 'ScalarList']", "['', '', 'False', '[2.]']");
	expect_failure("result sizes not recorded");
	model("aten::reflection_pad2d", "[[1, 2, 4, 5], []]", "['float', 'ScalarList']",
	      "['', '[1, 2, 0, 3]']");
	expect_work(0, 160 + 4 * 112, "vector_fp32");
	model("aten::max_pool2d_with_indices", "[[10, 64, 112, 112]]", "['float']", "['']");
	expect_failure("windows not recorded");
}

static void sorted_and_shaped(void **state)
{
	(void)state;
	model("aten::sort", "[[4, 100], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '1', 'False']");
	expect_work(0, 1600 + 1600 + 3200, "vector_fp32");
	/* of 4 x 6 above the diagonal: 6 + 5 + 4 + 3 are read, all are written */
	model("aten::triu", "[[4, 6], []]", "['float', 'Scalar']", "['', '0']");
	expect_work(0, 4 * (18 + 24), "vector_fp32");
	/* on and below it 1 + 2 + 3 + 4 */
	model("aten::tril", "[[4, 6], []]", "['float', 'Scalar']", "['', '0']");
	expect_work(0, 4 * (10 + 24), "vector_fp32");
	model("aten::repeat", "[[4, 6], []]", "['float', 'ScalarList']", "['', '[2, 3, 1]']");
	expect_work(0, 96 + 576, "vector_fp32");
	model("aten::native_dropout", "[[4, 6], [], []]", "['c10::Half', 'Scalar', 'Scalar']",
	      "['', '0.1', 'True']");
	expect_work(48, 48 + 48 + 24, "vector_fp16");
}

#define FIVE_LISTS "['TensorList', 'TensorList', 'TensorList', 'TensorList', 'TensorList', "

static void optimizers(void **state)
{
	static const char dims[] = "[[[8, 16], [16]], [[8, 16], [16]], [[8, 16], [16]], "
				   "[[8, 16], [16]], [], [[], []]]";

	(void)state;
	/* 144 numbers: four read, three written; two counts of steps */
	lists("aten::_fused_adamw_", dims, FIVE_LISTS "'TensorList']", "['', '', '', '', '', '']",
	      4, 4);
	expect_work(14 * 144, 4 * 144 * 7 + 2 * 4, "");
	/* with the greatest second moments: one more of each */
	lists("aten::_fused_adam_", "[[[8]], [[8]], [[8]], [[8]], [[8]], [[]]]",
	      FIVE_LISTS "'TensorList']", "['', '', '', '', '', '']", 4, 4);
	expect_work(15 * 8, 4 * 8 * 9 + 4, "");
	lists("aten::_foreach_add_", "[[[128, 128], [128]], [[128, 128], [128]], []]",
	      "['TensorList', 'TensorList', 'Scalar']", "['', '', '-0.001']", 4, 4);
	expect_work(16512, 3 * 16512 * 4, "");
	/* from half to float */
	lists("aten::_foreach_copy_", "[[[32], [8]], [[32], [8]], []]",
	      "['TensorList', 'TensorList', 'Scalar']", "['', '', 'False']", 4, 2);
	expect_work(0, 40 * 6, "");
	lists("aten::_foreach_norm", "[[[32], [8], []], [], []]", "['TensorList', 'Scalar', '']",
	      "['', '2', '']", 4, 4);
	expect_work(41, 41 * 4 + 3 * 4, "");
	/* lists that were too long to be recorded */
	lists("aten::_foreach_add_", "[[], [], []]", "['TensorList', 'TensorList', 'Scalar']",
	      "['', '', '1']", 4, 4);
	expect_failure("not recorded");
}

/* What a kernel's name shows of its elements. */
static void names_of_kernels(void **state)
{
	static const struct {
		const char *name;
		unsigned bytes[2];
	} kernels[] = {
		{ "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, "
		  "3>",
		  { 2, 2 } },
		{ "CatArrayBatchedCopy_aligned16_contig<float, unsigned int, 1, 128, 1>",
		  { 4, 4 } },
		{ "multi_tensor_apply_kernel<TensorListMetadata<2>, CopyFunctor<int, long, 2, 1, "
		  "1>>",
		  { 4, 8 } },
		{ "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
		  "FusedAdamMathFunctor<double, 4>>",
		  { 8, 8 } },
		{ "multi_tensor_apply_kernel<TensorListMetadata<1>, UnaryOpFunctor<c10::BFloat16, "
		  "1>>",
		  { 2, 2 } },
		{ "Memcpy DtoD (Device -> Device)", { 0, 0 } },
		{ "OpaqueType<x>", { 0, 0 } },
		{ "Functor", { 0, 0 } },
		{ "Functor<", { 0, 0 } },
	};
	unsigned bytes[2];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		tw_element_bytes_of_kernel(kernels[i].name, bytes);
		assert_int_equal(bytes[0], kernels[i].bytes[0]);
		assert_int_equal(bytes[1], kernels[i].bytes[1]);
	}
}

static void names_of_operations(void **state)
{
	bool in_place;

	(void)state;
	assert_string_equal(tw_aten_op("aten::relu_", 11, &in_place)->op, "relu");
	assert_true(in_place);
	assert_string_equal(tw_aten_op("aten::relu", 10, &in_place)->op, "relu");
	assert_false(in_place);
	assert_string_equal(tw_aten_op("aten::fill_", 11, &in_place)->op, "fill_");
	assert_false(in_place);
	assert_string_equal(tw_aten_op("aten::__and__", 13, &in_place)->op, "__and__");
	assert_string_equal(tw_aten_op("aten::_foreach_zero_", 20, &in_place)->op, "zero_");
	assert_string_equal(tw_aten_op("aten::sub.Tensor", 16, &in_place)->op, "sub");
	assert_null(tw_aten_op("aten::nonsense", 14, &in_place));
	assert_null(tw_aten_op("aten::", 6, &in_place));
	assert_null(tw_aten_op("aten::_", 7, &in_place));
	assert_null(tw_aten_op("relu", 4, &in_place));
	assert_null(tw_aten_op("my::relu", 8, &in_place));
	assert_true(tw_aten_takes_lists("aten::_foreach_add_", 19));
	assert_true(tw_aten_takes_lists("aten::cat", 9));
	assert_false(tw_aten_takes_lists("aten::relu", 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),
		cmocka_unit_test(element_by_element),
		cmocka_unit_test(types_of_results),
		cmocka_unit_test(in_place_and_into),
		cmocka_unit_test(written_alone),
		cmocka_unit_test(copies),
		cmocka_unit_test(reductions),
		cmocka_unit_test(joined),
		cmocka_unit_test(looked_up),
		cmocka_unit_test(losses),
		cmocka_unit_test(windows),
		cmocka_unit_test(sorted_and_shaped),
		cmocka_unit_test(optimizers),
		cmocka_unit_test(names_of_kernels),
		cmocka_unit_test(names_of_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
