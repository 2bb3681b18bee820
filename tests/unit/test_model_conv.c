#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models.h"

#define TYPES "['float', 'float', '', '', '', '', '', '', '']"

/* The example of src/model/families/conv.c. */
static void example(void **state)
{
	(void)state;
	model("aten::convolution", "[[1, 2, 5, 5], [3, 2, 3, 3], [], [], [], [], [], [], []]",
	      TYPES, "['', '', '', '[1, 1]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '1']");
	expect_work(2700, 716, "matrix_fp32");
	expect_parameter("convNd", "conv2d");
	expect_parameter("bias", "False");
	expect_parameter("stride", "(1, 1)");
	expect_parameter("groups", "1");
	expect_parameter("transposed_conv", "False");
}

struct shape {
	int n, c, x, k, filter, stride, padding, dilation, groups;
};

/* Outputs of one dimension, counted: places where the filter's reach fits. */
static int outputs(const struct shape *s)
{
	int place, count = 0;

	for (place = -s->padding; place + s->dilation * (s->filter - 1) < s->x + s->padding;
	     place += s->stride)
		count++;
	return count;
}

/* Two operations for every output, input channel of its group, and element of the filter. */
static double count_products(const struct shape *s)
{
	double flops = 0;
	int out = outputs(s), image, channel, i, j, in, a, b;

	for (image = 0; image < s->n; image++)
		for (channel = 0; channel < s->k; channel++)
			for (i = 0; i < out; i++)
				for (j = 0; j < out; j++)
					for (in = 0; in < s->c / s->groups; in++)
						for (a = 0; a < s->filter; a++)
							for (b = 0; b < s->filter; b++)
								flops += 2;
	return flops;
}

static const struct shape shapes[] = {
	{ 1, 2, 5, 3, 3, 1, 1, 1, 1 }, { 2, 4, 7, 6, 3, 2, 1, 1, 2 }, { 1, 4, 9, 4, 3, 1, 0, 2, 4 },
	{ 3, 1, 4, 2, 1, 1, 0, 1, 1 }, { 1, 6, 8, 6, 5, 3, 2, 1, 3 }, { 2, 2, 6, 2, 2, 2, 0, 1, 2 },
};

static void agrees_with_loops(void **state)
{
	char dims[200], values[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];
		double out = outputs(s), flops = count_products(s);
		double x = s->n * s->c * s->x * s->x;
		double w = s->k * (s->c / s->groups) * s->filter * s->filter;
		double o = s->n * s->k * out * out;

		snprintf(values, sizeof(values),
			 "['', '', '', '[%d, %d]', '[%d]', '[%d, %d]', 'False', '[0, 0]', '%d']",
			 s->stride, s->stride, s->padding, s->dilation, s->dilation, s->groups);
		snprintf(dims, sizeof(dims), "[[%d, %d, %d, %d], [%d, %d, %d, %d], []]", s->n, s->c,
			 s->x, s->x, s->k, s->c / s->groups, s->filter, s->filter);
		model("aten::convolution", dims, TYPES, values);
		expect_work(flops, 4 * (x + w + o), "matrix_fp32");
		/* Each gradient is a convolution of the same products. */
		model_backward("aten::convolution", dims, TYPES, values);
		expect_work(2 * flops, 4 * 2 * (x + w + o), "matrix_fp32");
		/* With a bias: an addition an output, and one number a channel. */
		snprintf(dims, sizeof(dims), "[[%d, %d, %d, %d], [%d, %d, %d, %d], [%d]]", s->n,
			 s->c, s->x, s->x, s->k, s->c / s->groups, s->filter, s->filter, s->k);
		model("aten::convolution", dims, TYPES, values);
		expect_work(flops + o, 4 * (x + w + o + s->k), "matrix_fp32");
		expect_parameter("bias", "True");
	}
}

/*
 * x (1, 4, 5, 5), w (4, 3, 3, 3), stride 2, padding 1, output padding 1, groups 2: 6 channels of
 * (5 - 1) 2 - 2 + 2 + 1 + 1 = 10 x 10; every input meets 3 x 9 weights.
 */
static void transposed(void **state)
{
	(void)state;
	model("aten::convolution", "[[1, 4, 5, 5], [4, 3, 3, 3], []]", TYPES,
	      "['', '', '', '[2, 2]', '[1, 1]', '[1, 1]', 'True', '[1, 1]', '2']");
	expect_work(2. * 27 * 100, 4. * (100 + 108 + 600), "matrix_fp32");
}

static void one_and_three_dimensions(void **state)
{
	(void)state;
	/* 8 outputs of 2 channels, 3 x 5 weights each */
	model("aten::convolution", "[[1, 3, 8], [2, 3, 5], []]", TYPES,
	      "['', '', '', '[1]', '[2]', '[1]', 'False', '[0]', '1']");
	expect_work(2. * 15 * 16, 4. * (24 + 30 + 16), "matrix_fp32");
	expect_parameter("convNd", "conv1d");
	/* 2 x 2 x 2 outputs of 1 channel, 8 weights each */
	model("aten::convolution", "[[1, 1, 4, 4, 4], [1, 1, 2, 2, 2], []]", TYPES,
	      "['', '', '', '[2, 2, 2]', '[0, 0, 0]', '[1, 1, 1]', 'False', '[0, 0, 0]', '1']");
	expect_work(2. * 8 * 8, 4. * (64 + 8 + 8), "matrix_fp32");
	expect_parameter("convNd", "conv3d");
}

#define BACKWARD_TYPES "['c10::Half', 'c10::Half', 'c10::Half', '', '', '', '', '', '', '', '']"

/* Of groups: the products of the forward pass twice, as each group sees its channels only. */
static void backward(void **state)
{
	(void)state;
	model("aten::convolution_backward",
	      "[[2, 6, 4, 4], [2, 4, 7, 7], [6, 2, 3, 3], [], [], [], [], [], [], [], []]",
	      BACKWARD_TYPES,
	      "['', '', '', '[0]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2', '[True, "
	      "True, False]']");
	expect_work(2 * count_products(&shapes[1]), 2. * 2 * (192 + 392 + 108), "matrix_fp16");
	expect_parameter("bias", "[]");
	model("aten::convolution_backward",
	      "[[2, 6, 4, 4], [2, 4, 7, 7], [6, 2, 3, 3], [], [], [], [], [], [], [], []]",
	      BACKWARD_TYPES,
	      "['', '', '', '[6]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2', '[True, "
	      "True, True]']");
	expect_work(2 * count_products(&shapes[1]) + 192, 2. * (2 * (192 + 392 + 108) + 192 + 6),
		    "matrix_fp16");
	expect_parameter("bias", "[6]");
}

/* Only what output_mask asks for: of a first layer the gradient of w, half of the products. */
static void gradients_asked_for(void **state)
{
	static const char dims[] =
		"[[2, 6, 4, 4], [2, 4, 7, 7], [6, 2, 3, 3], [], [], [], [], [], [], [], []]";
	double one = count_products(&shapes[1]);

	(void)state;
	model("aten::convolution_backward", dims, BACKWARD_TYPES,
	      "['', '', '', '[6]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2', '[False, "
	      "True, False]']");
	expect_work(one, 2. * (192 + 392 + 108), "matrix_fp16");
	model("aten::convolution_backward", dims, BACKWARD_TYPES,
	      "['', '', '', '[6]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2', '[False, "
	      "False, True]']");
	expect_work(192, 2. * (192 + 6), "matrix_fp16");
	/* not recorded: all */
	model("aten::convolution_backward", dims, BACKWARD_TYPES,
	      "['', '', '', '[0]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2', '']");
	expect_work(2 * one, 2. * 2 * (192 + 392 + 108), "matrix_fp16");
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("aten::convolution", "[[1, 2, 2, 2], [3, 2, 3, 3], []]", TYPES,
	      "['', '', '', '[1, 1]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1']");
	expect_failure("larger than the input");
	model("aten::convolution", "[[1, 2, 5, 5], [3, 2, 3, 3], []]", TYPES,
	      "['', '', '', '[0, 1]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1']");
	expect_failure("invalid");
	model("aten::convolution", "[[1, 2, 5, 5], [3, 2, 3, 3], []]", TYPES,
	      "['', '', '', '[1, 1, 1, 1]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1']");
	expect_failure("unreadable");
	model("aten::convolution", "[[1, 2], [3, 2]]", TYPES, "[]");
	expect_failure("not a batch of images");
	model("ConvBias_Backward", "[[1, 2, 5, 5]]", TYPES, "[]");
	expect_failure("forward call");
}

static void conv_bias(void **state)
{
	(void)state;
	/* stride 2, padding 1: 3 x 3 outputs of 4 channels, 2 x 9 weights each, and a bias */
	model("ConvBias_", "[[1, 2, 5, 5], [4, 2, 3, 3], [4], [], []]",
	      "['c10::Half', 'c10::Half', 'c10::Half', 'Scalar', 'Scalar']",
	      "['', '', '', '2', '1']");
	expect_work(2. * 18 * 36 + 36, 2. * (50 + 72 + 36 + 4), "matrix_fp16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(agrees_with_loops),
		cmocka_unit_test(transposed),
		cmocka_unit_test(one_and_three_dimensions),
		cmocka_unit_test(backward),
		cmocka_unit_test(what_makes_no_sense),
		cmocka_unit_test(gradients_asked_for),
		cmocka_unit_test(conv_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
