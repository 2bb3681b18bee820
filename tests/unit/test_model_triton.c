#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

#define BF16 "c10::BFloat16"

static const char *model_name(const char *op)
{
	const struct tw_model *found = tw_model_of(op, strlen(op));

	return found ? found->name : "";
}

/* The example of src/model/families/triton.c. */
static void example(void **state)
{
	(void)state;
	model("triton_red_fused_add_mean_mul_pow_rsqrt_0", "[[4, 8], [8], [4, 8], [], []]",
	      "['" BF16 "', '" BF16 "', '" BF16 "', 'Scalar', 'Scalar']", "['', '', '', '4', '8']");
	expect_work(224, 144, "vector_bf16");
	expect_parameter("fused_ops", "aten.add, aten.mean, aten.mul, aten.pow, aten.rsqrt");
	expect_parameter("xnumel", "4");
	expect_parameter("rnumel", "8");
}

static void kinds(void **state)
{
	(void)state;
	assert_string_equal(model_name("triton_poi_fused_add_3"), "triton_pointwise");
	assert_string_equal(model_name("triton_red_fused_add_3"), "triton_reduction");
	assert_string_equal(model_name("triton_per_fused_add_12"), "triton_reduction");
	assert_string_equal(model_name("triton_for_fused_add_3"), "");
	assert_string_equal(model_name("triton_poi_fused_3"), "");
	assert_string_equal(model_name("triton_poi_fused__3"), "");
	assert_string_equal(model_name("triton_poi_fused_add"), "");
	assert_string_equal(model_name("triton_poi_fused_add_3x"), "");
	assert_string_equal(model_name("triton_poi_fused_add_"), "");
	assert_string_equal(model_name("triton_poi_fused_"), "");
	assert_string_equal(model_name("triton_poi"), "");
	assert_string_equal(model_name("Triton_poi_fused_add_3"), "");
}

/* A pointwise kernel writes what is not among its tensors. */
static void pointwise(void **state)
{
	(void)state;
	/* 4 + 1 operations of 64 elements; 2 x 64 read, 64 written */
	model("triton_poi_fused__unsafe_view_mul_silu_2", "[[2, 4, 8], [8, 8], []]",
	      "['" BF16 "', '" BF16 "', 'Scalar']", "['', '', '64']");
	expect_work(5 * 64, 3 * 128, "vector_bf16");
	expect_parameter("fused_ops", "aten._unsafe_view, aten.mul, aten.silu");
	expect_parameter("rnumel", "1");
	/* of several numbers the last is the size */
	model("triton_poi_fused_add_0", "[[8, 8], [], []]", "['" BF16 "', 'Scalar', 'Scalar']",
	      "['', '7', '64']");
	expect_work(64, 2 * 128, "vector_bf16");
	/* a reduction of one number */
	model("triton_red_fused_sum_0", "[[64], [1], []]", "['float', 'float', 'Scalar']",
	      "['', '', '64']");
	expect_work(64, 256 + 4, "vector_fp32");
	expect_parameter("xnumel", "64");
}

/* float counted as nothing once, and no precision was one that peaks are given for. */
static void types(void **state)
{
	(void)state;
	model("triton_poi_fused_add_0", "[[64], []]", "['float', 'Scalar']", "['', '64']");
	expect_work(64, 2 * 256, "vector_fp32");
	model("triton_poi_fused_add_0", "[[64], [64], []]", "['double', 'long int', 'Scalar']",
	      "['', '', '64']");
	expect_work(64, 3 * 512, "vector_fp64");
	model("triton_poi_fused_add_0", "[[64], []]", "['UnknownT', 'Scalar']", "['', '64']");
	expect_work(64, NAN, "");
}

static void names_are_cut(void **state)
{
	static const char *const pairs[][2] = {
		{ "add__to_copy", "aten.add, aten._to_copy" },
		{ "_to_copy", "aten._to_copy" },
		{ "empty_like_zeros", "aten.empty_like, aten.zeros" },
		{ "native_layer_norm_backward", "aten.native_layer_norm_backward" },
		{ "native_layer_norm_native_layer_norm_backward",
		  "aten.native_layer_norm, aten.native_layer_norm_backward" },
		/* the last name is as long as can be */
		{ "max_pool2d_with_indices_backward", "aten.max_pool2d_with_indices_backward" },
		{ "mul_sigmoid_backward", "aten.mul, aten.sigmoid_backward" },
		{ "var_mean", "aten.var_mean" },
		{ "split_with_sizes_sub", "aten.split_with_sizes, aten.sub" },
	};
	char name[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		snprintf(name, sizeof(name), "triton_poi_fused_%s_1", pairs[i][0]);
		model(name, "[[8], []]", "['float', 'Scalar']", "['', '8']");
		expect_parameter("fused_ops", pairs[i][1]);
	}
	/* what is no operation leaves the FLOPs unknown, not the bytes */
	model("triton_poi_fused_constant_pad_nd_moe_forward_0", "[[8], []]", "['float', 'Scalar']",
	      "['', '8']");
	expect_work(NAN, 64, "vector_fp32");
	expect_parameter("fused_ops", "None");
}

/* Far more names than any kernel has. */
static void long_names(void **state)
{
	char name[2000], list[2200] = "aten.reciprocal";
	size_t len, i;

	(void)state;
	len = (size_t)snprintf(name, sizeof(name), "triton_poi_fused_reciprocal");
	for (i = 1; i < 100; i++) {
		len += (size_t)snprintf(name + len, sizeof(name) - len, "_reciprocal");
		strcat(list, ", aten.reciprocal");
	}
	snprintf(name + len, sizeof(name) - len, "_5");
	model(name, "[[8], []]", "['float', 'Scalar']", "['', '8']");
	expect_work(2 * 100 * 8, 64, "vector_fp32");
	expect_parameter("fused_ops", list);
	for (; i < 128; i++) {
		len += (size_t)snprintf(name + len, sizeof(name) - len, "_add");
		strcat(list, ", aten.add");
	}
	snprintf(name + len, sizeof(name) - len, "_5");
	model(name, "[[8], []]", "['float', 'Scalar']", "['', '8']");
	expect_work((2 * 100 + 28) * 8, 64, "vector_fp32");
	/* one more operation than a cut of 128 parts holds */
	snprintf(name + len, sizeof(name) - len, "_mul_5");
	strcat(list, ", aten.mul");
	model(name, "[[8], []]", "['float', 'Scalar']", "['', '8']");
	expect_work((2 * 100 + 29) * 8, 64, "vector_fp32");
	expect_parameter("fused_ops", list);
}

static void scales_with_each_size(void **state)
{
	(void)state;
	model("triton_per_fused_add_gelu_1", "[[8, 16], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '8', '16']");
	expect_work(9 * 128, 512, "vector_fp32");
	model("triton_per_fused_add_gelu_1", "[[16, 16], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '16', '16']");
	expect_work(9 * 256, 1024, "vector_fp32");
	model("triton_per_fused_add_gelu_1", "[[8, 32], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '8', '32']");
	expect_work(9 * 256, 1024, "vector_fp32");
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("triton_poi_fused_add_0", "[[8], []]", "['float', 'Scalar']", "[]");
	expect_failure("sizes");
	model("triton_poi_fused_add_0", "[[8], []]", "['float', 'Scalar']", "['', '-8']");
	expect_failure("sizes");
	model("triton_poi_fused_add_0", "[[], []]", "['', 'Scalar']", "['', '8']");
	expect_failure("no tensor");
	model("triton_poi_fused_add_0", "", "", "");
	expect_failure("not recorded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(kinds),
		cmocka_unit_test(pointwise),
		cmocka_unit_test(types),
		cmocka_unit_test(names_are_cut),
		cmocka_unit_test(long_names),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
