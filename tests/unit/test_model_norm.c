#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models.h"

#define FLOAT5 "['float', 'float', 'float', 'float', 'float']"

/* The example of src/model/families/norm.c. */
static void example(void **state)
{
	(void)state;
	model("aten::batch_norm", "[[2, 3, 4, 5], [3], [3], [3], [3]]", FLOAT5,
	      "['', '', '', '', '', 'True', '0.1', '1e-05', 'True']");
	expect_work(618, 1032, "vector_fp32");
	expect_parameter("op_shape", "(2, 3, 4, 5)");
	expect_parameter("dtype_in_out", "('float', None)");
	expect_parameter("stride_output", "None");
	expect_parameter("num_channels", "3");
	expect_parameter("has_bias", "True");
	expect_parameter("is_affine", "True");
	expect_parameter("is_training", "True");
	model("aten::batch_norm", "[[2, 3, 4, 5], [3], [3], [3], [3]]", FLOAT5,
	      "['', '', '', '', '', 'False', '0.1', '1e-05', 'True']");
	expect_work(258, 1008, "vector_fp32");
	expect_parameter("is_training", "False");
}

/* The flag was read as a text once, and every text is true. */
static void training_is_parsed(void **state)
{
	(void)state;
	/* 6 C + 2 n and no more */
	model("aten::instance_norm", "[[8, 16, 32, 32], [16], [16]]", "['float', 'float', 'float']",
	      "['', '', '', '', '', 'False', '0.1', '1e-05', 'True']");
	expect_work(6 * 16 + 2 * 131072, 2 * 131072 * 4 + 16 * 4 * 4, "vector_fp32");
	/* eval mode: 3 C + 4 n, the gradient of the output in, that of the input out */
	model("aten::native_batch_norm_backward",
	      "[[2, 3, 4, 5], [2, 3, 4, 5], [3], [3], [3], [], [], [], [], []]", FLOAT5,
	      "['', '', '', '', '', '', '', 'False', '1e-05', '[True, True, True]']");
	expect_work(9 + 480, 2 * 480 + 3 * 4, "vector_fp32");
	expect_parameter("output_mask", "[True]");
	model("aten::native_batch_norm_backward",
	      "[[2, 3, 4, 5], [2, 3, 4, 5], [3], [3], [3], [3], [3], [], [], []]", FLOAT5,
	      "['', '', '', '', '', '', '', 'True', '1e-05', '[True, True, True]']");
	expect_work(9 * 120, 3 * 480 + 3 * 4 * (1 + 1 + 2), "vector_fp32");
	model("aten::batch_norm", "[[2, 3, 4, 5], [3], [3], [3], [3]]", FLOAT5, "[]");
	expect_failure("training mode");
}

/* A weight that was not given is recorded as an empty shape. */
static void affine_is_what_was_given(void **state)
{
	(void)state;
	model("aten::native_layer_norm", "[[4, 6], [], [6], [6], []]",
	      "['c10::BFloat16', 'ScalarList', 'c10::BFloat16', 'c10::BFloat16', 'Scalar']",
	      "['', '[6]', '', '', '1e-05']");
	/* 4 rows have a mean and a deviation each, of float */
	expect_work(24 + 5 * 24, 2 * (2 * 24 + 6 * 2) + 2 * 4 * 4, "vector_bf16");
	model("aten::native_layer_norm", "[[4, 6], [], [], [], []]",
	      "['c10::BFloat16', 'ScalarList', '', '', 'Scalar']", "['', '[6]', '', '', '1e-05']");
	expect_work(24 + 5 * 24, 2 * 2 * 24 + 2 * 4 * 4, "vector_bf16");
	expect_parameter("has_bias", "False");
	expect_parameter("is_affine", "False");
	/* a weight alone */
	model("aten::layer_norm", "[[4, 6], [], [6], [], [], []]",
	      "['c10::BFloat16', 'ScalarList', 'c10::BFloat16', '', 'Scalar', 'Scalar']",
	      "['', '[6]', '', '', '1e-05', 'True']");
	expect_work(24 + 5 * 24, 2 * (2 * 24 + 6) + 2 * 4 * 4, "vector_bf16");
	model("aten::native_batch_norm", "[[2, 3, 4, 5], [], [], [3], [3], [], [], []]",
	      "['float', '', '', 'float', 'float', 'Scalar', 'Scalar', 'Scalar']",
	      "['', '', '', '', '', 'True', '0.1', '1e-05']");
	expect_work(618, 960 + 3 * 4 * 4, "vector_fp32");
	model("aten::_fused_rms_norm", "[[4, 6], [], [], []]", "['float', 'ScalarList', '', '']",
	      "['', '[6]', '', '']");
	expect_work(4 * 14 + 24, 2 * 96, "vector_fp32");
}

static void layer_norm_backward(void **state)
{
	(void)state;
	model("aten::native_layer_norm_backward",
	      "[[4, 6], [4, 6], [], [4, 1], [4, 1], [6], [6], []]",
	      "['float', 'float', 'ScalarList', 'float', 'float', 'float', 'float', 'ScalarList']",
	      "['', '', '[6]', '', '', '', '', '[True, True, True]']");
	/* weight, its gradient and that of the bias; 4 means and deviations */
	expect_work(9 * 24, 4 * (3 * 24 + 6 * 3 + 8), "vector_fp32");
	expect_parameter("output_mask", "[True, True, True]");
	model("aten::native_layer_norm_backward",
	      "[[4, 6], [4, 6], [], [4, 1], [4, 1], [6], [6], []]",
	      "['float', 'float', 'ScalarList', 'float', 'float', 'float', 'float', 'ScalarList']",
	      "['', '', '[6]', '', '', '', '', '[False, True, False]']");
	expect_work(6 * 24, 4 * (2 * 24 + 6 * 2 + 8), "vector_fp32");
	expect_parameter("output_mask", "[False, True, False]");
	model("aten::native_layer_norm_backward",
	      "[[4, 6], [4, 6], [], [4, 1], [4, 1], [6], [6], []]", FLOAT5,
	      "['', '', '[6]', '', '', '', '', '']");
	expect_failure("output mask");
	model("aten::native_layer_norm_backward",
	      "[[4, 6], [4, 6], [], [4, 1], [4, 1], [6], [6], []]", FLOAT5,
	      "['', '', '[6]', '', '', '', '', '[True, True']");
	expect_failure("output mask");
}

/* By counting: a mean and a deviation for each group of each sample, five steps an element. */
static void group_norm_by_loops(int samples, int channels, int groups, int pixels, double *flops,
				double *bytes)
{
	int s, g, c, p;

	*flops = *bytes = 0;
	for (s = 0; s < samples; s++)
		for (g = 0; g < groups; g++) {
			for (c = 0; c < channels / groups; c++)
				for (p = 0; p < pixels; p++) {
					*flops += 5;
					*bytes += 8;
				}
			*flops += 6;
			*bytes += 8;
		}
	for (c = 0; c < channels; c++)
		*bytes += 8;
}

static void group_norm(void **state)
{
	char dims[100], values[100];
	double flops, bytes;
	int samples, groups;

	(void)state;
	for (samples = 1; samples < 4; samples++)
		for (groups = 1; groups <= 12; groups += groups == 1 ? 2 : 9) {
			group_norm_by_loops(samples, 12, groups, 20, &flops, &bytes);
			snprintf(dims, sizeof(dims), "[[%d, 12, 4, 5], [], [12], [12], []]",
				 samples);
			snprintf(values, sizeof(values), "['', '%d', '', '', '1e-05', 'True']",
				 groups);
			model("aten::group_norm", dims,
			      "['float', 'Scalar', 'float', 'float', 'Scalar']", values);
			expect_work(flops, bytes, "vector_fp32");
			model("aiter::_groupnorm_run", dims,
			      "['float', 'Scalar', 'float', 'float', 'Scalar']", values);
			expect_work(flops, bytes, "vector_fp32");
			snprintf(dims, sizeof(dims), "[[%d, 12, 4, 5], [12], [12]]", samples);
			snprintf(values, sizeof(values),
				 "['', '', '', '%d', '12', '20', '%d', '1e-05']", samples, groups);
			model("aten::native_group_norm", dims, "['float', 'float', 'float']",
			      values);
			expect_work(flops, bytes, "vector_fp32");
			expect_parameter("num_channels", "12");
		}
	model("aten::group_norm", "[[2, 12, 20], [], [], []]", "['float', 'Scalar', '', '']",
	      "['', '5', '', '']");
	expect_failure("not divisible");
	model("aten::native_group_norm", "[[2, 12, 20], [], [], []]", "['float', '', '', '']",
	      "[]");
	expect_failure("number of groups");
}

static void group_norm_backward(void **state)
{
	const char *types = "['float', 'float', 'float', 'float', 'float']";

	(void)state;
	/* 480 elements; 2 samples x 3 groups */
	model("aten::native_group_norm_backward",
	      "[[2, 12, 4, 5], [2, 12, 4, 5], [2, 3], [2, 3], [12], [], [], [], [], []]", types,
	      "['', '', '', '', '', '2', '12', '20', '3', '[True, True, True]']");
	expect_work(9 * 480, 4 * (3 * 480 + 2 * 6 + 3 * 12), "vector_fp32");
	expect_parameter("num_channels", "12");
	model("aten::native_group_norm_backward",
	      "[[2, 12, 4, 5], [2, 12, 4, 5], [2, 3], [2, 3], [], [], [], [], [], []]", types,
	      "['', '', '', '', '', '2', '12', '20', '3', '[True, False, False]']");
	expect_work(9 * 480, 4 * (3 * 480 + 2 * 6), "vector_fp32");
	expect_parameter("is_affine", "False");
	model("aten::native_group_norm_backward",
	      "[[2, 12, 4, 5], [2, 12, 4, 5], [2, 3], [2, 3], [12], [], [], [], [], []]", types,
	      "['', '', '', '', '', '2', '12', '20', '3', '[False, True, True]']");
	expect_work(6 * 480, 4 * (2 * 480 + 2 * 6 + 3 * 12), "vector_fp32");
}

static void rms_norm(void **state)
{
	(void)state;
	/* 4 rows of 6: 14 for a row, 2 for an element */
	model("aten::_fused_rms_norm", "[[4, 2, 3], [], [2, 3], []]",
	      "['float', 'ScalarList', 'float', '']", "['', '[2, 3]', '', '']");
	expect_work(4 * 14 + 48, 2 * 96 + 24, "vector_fp32");
	expect_parameter("has_bias", "False");
	expect_parameter("is_training", "False");
	model("aten::_fused_rms_norm_backward", "[[4, 6], [4, 6], [], [4, 1], [6], []]", FLOAT5,
	      "['', '', '[6]', '', '', '[True, True]']");
	expect_work(10 * 24, 3 * 96 + 48, "vector_fp32");
	expect_parameter("output_mask", "[True, True]");
	/* one row needs no sum over rows */
	model("aten::_fused_rms_norm_backward", "[[1, 6], [1, 6], [], [1, 1], [6], []]", FLOAT5,
	      "['', '', '[6]', '', '', '[True, True]']");
	expect_work(9 * 6, 3 * 24 + 48, "vector_fp32");
	model("aten::_fused_rms_norm_backward", "[[4, 6], [4, 6], [], [4, 1], [6], []]", FLOAT5,
	      "['', '', '[6]', '', '', '[True, False]']");
	expect_work(8 * 24, 3 * 96 + 48, "vector_fp32");
	model("aten::_fused_rms_norm_backward", "[[4, 6], [4, 6], [], [4, 1], [], []]",
	      "['float', 'float', 'ScalarList', 'float', '', '']",
	      "['', '', '[6]', '', '', '[True, False]']");
	expect_work(7 * 24, 3 * 96, "vector_fp32");
}

static void modulated(void **state)
{
	(void)state;
	model("primus::fused_ln_modulate", "[[5, 2, 8], [2, 8], [2, 8]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]");
	expect_work(12 * 80, 2 * 160 + 2 * 32 + 8 * 10, "vector_bf16");
	model("primus::fused_ln_modulate_backward", "[[5, 2, 8], [5, 2, 8]]",
	      "['c10::BFloat16', 'c10::BFloat16']", "[]");
	expect_work(15 * 80, 3 * 160 + 3 * 32 + 8 * 10, "vector_bf16");
	model("primus::fused_ln_modulate", "[[5, 8]]", "['float']", "[]");
	expect_failure("hidden");
}

/* Twice as many elements: what does not depend on them is in the difference. */
static void scales_with_each_size(void **state)
{
	static const char *const dims[] = { "[[2, 4, 6, 10], [4], [4], [4], [4]]",
					    "[[4, 4, 6, 10], [4], [4], [4], [4]]",
					    "[[2, 4, 12, 10], [4], [4], [4], [4]]",
					    "[[2, 4, 6, 20], [4], [4], [4], [4]]",
					    "[[2, 8, 6, 10], [8], [8], [8], [8]]" };
	double flops = 0, bytes = 0;
	int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		model("aten::miopen_batch_norm", dims[i], FLOAT5,
		      "['', '', '', '', '', 'True', '0.1', '1e-05']");
		if (!i) {
			flops = model_flops();
			bytes = model_bytes();
		} else if (i < 4) {
			assert_true(model_flops() - flops == 5 * 480);
			assert_true(model_bytes() - bytes == 8 * 480);
		}
	}
	/* more channels scale everything */
	assert_true(model_flops() == 2 * flops && model_bytes() == 2 * bytes);
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("aten::batch_norm", "[[], [3]]", FLOAT5, "['', '', '', '', '', 'True']");
	expect_failure("no input");
	model("aten::batch_norm", "[[7], [7]]", FLOAT5, "['', '', '', '', '', 'True']");
	expect_failure("no channels");
	model("aten::batch_norm", "[[2, 3, 4], [4]]", FLOAT5, "['', '', '', '', '', 'True']");
	expect_failure("does not match");
	model("aten::layer_norm", "[[4, 6], [], [6]]", FLOAT5, "['', '[5]', '']");
	expect_failure("normalized shape");
	model("aten::layer_norm", "[[4, 6], [], [6]]", FLOAT5, "['', '[]', '']");
	expect_failure("normalized shape");
	model("aten::layer_norm", "[[4, 6], [], []]", FLOAT5, "[]");
	expect_failure("normalized shape");
	model("aten::instance_norm_backward", "[[2, 3, 4], [2, 3, 4]]", FLOAT5, "[]");
	expect_failure("unknown");
	model_backward("aten::batch_norm", "[[2, 3, 4]]", FLOAT5, "['', '', '', '', '', 'True']");
	expect_failure("no cost model");
	/* no elements are no work, save what each channel needs */
	model("aten::batch_norm", "[[0, 3, 4]]", "['float']", "['', '', '', '', '', 'True']");
	expect_work(18, 24, "vector_fp32");
	model("aten::_fused_rms_norm", "[[4, 0], [], [0], []]", "['float', '', 'float']",
	      "['', '[0]', '', '']");
	expect_work(0, 0, "vector_fp32");
}

/* Of an unknown type the bytes are unknown, the FLOPs are not. */
static void unknown_types(void **state)
{
	(void)state;
	model("aten::batch_norm", "[[2, 3, 4, 5], [3], [3], [3], [3]]", "['UnknownT']",
	      "['', '', '', '', '', 'True']");
	expect_work(618, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(training_is_parsed),
		cmocka_unit_test(affine_is_what_was_given),
		cmocka_unit_test(layer_norm_backward),
		cmocka_unit_test(group_norm),
		cmocka_unit_test(group_norm_backward),
		cmocka_unit_test(rms_norm),
		cmocka_unit_test(modulated),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(what_makes_no_sense),
		cmocka_unit_test(unknown_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
