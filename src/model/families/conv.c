/*
 * Convolutions of 1 to 3 dimensions, plain and transposed, with groups and bias.
 *
 * x (N, C, X...), weight w (K, C/groups, k...) [transposed: (C, K/groups, k...)], output
 * o (N, K, O...) with O = floor((X + 2 pad - dilation (k - 1) - 1) / stride) + 1 [transposed:
 * (X - 1) stride - 2 pad + dilation (k - 1) + output_pad + 1].
 *
 *	forward FLOPs = 2 P(w[1:]) P(o)	[transposed: 2 P(w[1:]) P(x)]	(+ P(o) with a bias)
 *	forward bytes = (P(x) + P(w) + P(o) (+ K)) b
 *
 * P: product; b: bytes of an element.  Every output takes P(w[1:]) multiplies and adds, as w[1]
 * is what one group sees.  The backward pass has two convolutions as large as the forward one,
 * one for the gradient of x and one for that of w, whatever the groups, and a sum over o for that
 * of the bias:
 *
 *	backward FLOPs = 2 x 2 P(w[1:]) P(o) [transposed: P(x)]	(+ P(o))
 *	backward bytes = 2 (P(o) + P(w) + P(x)) b	(+ (P(o) + K) b)
 *
 * Of the three gradients only those count that output_mask asks for, all where it was not recorded:
 * each of the two products is half of the FLOPs, and P(o) + P(w) + P(x) elements.  The first layer of
 * a network needs none for its x.  Source: the definition; operands as in PyTorch's
 * native_functions.yaml.
 *
 * Example: conv2d of float x (1, 2, 5, 5), w (3, 2, 3, 3), padding 1: o (1, 3, 5, 5),
 * 2 x 18 x 75 = 2700 FLOPs, (50 + 54 + 75) x 4 = 716 bytes.
 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_SPATIAL 3

struct conv {
	const struct tw_operand *x, *w;
	unsigned spatial; /* dimensions */
	struct tw_dims stride, padding, dilation, output_padding;
	bool transposed, bias;
	const struct tw_operand *dy;	  /* of the pass back, NULL: not recorded */
	bool gradient_x, gradient_w;	  /* what is asked for */
	const struct tw_dims *bias_sizes; /* of the pass back, which is told them; else NULL */
	int64_t groups;
	struct tw_dims out;
};

/* A list by spatial dimension: one number stands for all, none for `fallback`. */
static bool take_list(const struct tw_call *call, unsigned position, unsigned spatial,
		      int64_t fallback, struct tw_dims *list)
{
	int64_t all = fallback;
	unsigned i;

	if (tw_value_list(call, position, list) && list->rank == spatial)
		return true;
	if (list->rank > 1)
		return false;
	if (list->rank == 1)
		all = list->size[0];
	else
		all = tw_value_integer(call, position, fallback);
	list->rank = spatial;
	for (i = 0; i < spatial; i++)
		list->size[i] = all;
	return true;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* The output's size in one dimension, -1 when it has none. */
static int64_t output_size(const struct conv *c, unsigned i)
{
	__int128 x = c->x->dims.size[2 + i], k = c->w->dims.size[2 + i];
	__int128 reach = c->dilation.size[i] * (k - 1), padding = (__int128)2 * c->padding.size[i];
	__int128 size;

	if (c->transposed) {
		size = (x - 1) * c->stride.size[i] - padding + reach + c->output_padding.size[i] +
		       1;
		return size < 0 || size > INT64_MAX ? -1 : (int64_t)size;
	}
	size = x + padding - reach - 1;
	if (size < 0 || size > INT64_MAX)
		return -1;
	return floor_divide((int64_t)size, c->stride.size[i]) + 1;
}

/* Whether the lists make sense: strides and dilations of at least 1. */
static bool steps_are_positive(const struct conv *c)
{
	unsigned i;

	for (i = 0; i < c->spatial; i++)
		if (c->stride.size[i] < 1 || c->dilation.size[i] < 1 || c->padding.size[i] < 0)
			return false;
	return true;
}

static int find_output(struct conv *c, struct tw_work *work)
{
	unsigned i;

	if (c->x->dims.rank != c->w->dims.rank || c->x->dims.rank < 3 ||
	    c->x->dims.rank > 2 + MOST_SPATIAL)
		return tw_work_fail(work, "its input and weight are no batch of images and filter");
	if (!steps_are_positive(c) || c->groups < 1)
		return tw_work_fail(work, "its strides, dilations or groups make no sense");
	c->out.rank = c->x->dims.rank;
	c->out.size[0] = c->x->dims.size[0];
	if (c->transposed) {
		if (__builtin_mul_overflow(c->w->dims.size[1], c->groups, &c->out.size[1]))
			return tw_work_fail(work, "its sizes are larger than any memory");
	} else {
		c->out.size[1] = c->w->dims.size[0];
	}
	for (i = 0; i < c->spatial; i++) {
		c->out.size[2 + i] = output_size(c, i);
		if (c->out.size[2 + i] < 0)
			return tw_work_fail(work, "its filter is larger than its input");
	}
	return 0;
}

/* Lists from position `first` on: stride, padding, dilation, transposed, output padding, groups. */
static int take_conv(struct conv *c, const struct tw_call *call, unsigned x, unsigned first,
		     struct tw_work *work)
{
	memset(c, 0, sizeof(*c));
	c->gradient_x = c->gradient_w = true;
	c->x = tw_operand(call, x);
	c->w = tw_operand(call, x + 1);
	c->spatial = c->x->dims.rank > 2 ? c->x->dims.rank - 2 : 0;
	c->transposed = tw_value_true(call, first + 3, false);
	c->groups = tw_value_integer(call, first + 5, 1);
	if (c->spatial > MOST_SPATIAL || !take_list(call, first, c->spatial, 1, &c->stride) ||
	    !take_list(call, first + 1, c->spatial, 0, &c->padding) ||
	    !take_list(call, first + 2, c->spatial, 1, &c->dilation) ||
	    !take_list(call, first + 4, c->spatial, 0, &c->output_padding))
		return tw_work_fail(work, "its strides or paddings cannot be read");
	return find_output(c, work);
}

/* Of a pass back its sizes, "[64]", or "[]" without one; else whether there is one. */
static void describe_bias(const struct conv *c, struct tw_work *work)
{
	char text[TW_MOST_DIMS * 24 + 4];
	size_t len = 1;
	unsigned i;

	if (!c->bias_sizes) {
		tw_param_bool(work, "bias", c->bias);
		return;
	}
	text[0] = '[';
	for (i = 0; c->bias && i < c->bias_sizes->rank; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld", i ? ", " : "",
					(long long)c->bias_sizes->size[i]);
	snprintf(text + len, sizeof(text) - len, "]");
	tw_param_text(work, "bias", text);
}

static void describe(const struct conv *c, struct tw_work *work)
{
	static const char *const names[] = { "conv1d", "conv2d", "conv3d" };
	const struct tw_operand *types[] = { c->x, c->w };

	work->precision = tw_precision(c->x);
	tw_param_text(work, "convNd", names[c->spatial - 1]);
	tw_param_dims(work, "input_shape", &c->x->dims);
	tw_param_dims(work, "filter_shape", &c->w->dims);
	tw_param_types(work, "dtype_input_weight", types, 2);
	tw_param_strides(work, "input_stride", c->x);
	tw_param_strides(work, "weight_stride", c->w);
	describe_bias(c, work);
	tw_param_dims(work, "stride", &c->stride);
	tw_param_dims(work, "padding", &c->padding);
	tw_param_dims(work, "dilation", &c->dilation);
	tw_param_bool(work, "transposed_conv", c->transposed);
	tw_param_dims(work, "output_padding", &c->output_padding);
	tw_param_integer(work, "groups", (double)c->groups);
}

/* Multiplies and adds of one pass over the filter. */
static double products(const struct conv *c)
{
	double filter = 1;
	unsigned i;

	for (i = 1; i < c->w->dims.rank; i++)
		filter *= (double)c->w->dims.size[i];
	return 2 * filter * tw_elements(c->transposed ? &c->x->dims : &c->out);
}

static int forward_work(const struct conv *c, struct tw_work *work)
{
	double out = tw_elements(&c->out), bias = c->bias ? (double)c->out.size[1] : 0;

	work->flops = products(c) + (c->bias ? out : 0);
	work->bytes = (tw_distinct(c->x) + tw_distinct(c->w) + out + bias) * tw_element_bytes(c->x);
	if (isnan(work->flops))
		return tw_work_fail(work, "its sizes are larger than any memory");
	describe(c, work);
	return 0;
}

static int backward_work(const struct conv *c, struct tw_work *work)
{
	double out = tw_elements(&c->out), dy = out * (c->dy ? tw_distinct_share(c->dy) : 1);
	double moved = c->bias ? dy + (double)c->out.size[1] : 0;

	work->flops = (c->gradient_x + c->gradient_w) * products(c) + (c->bias ? out : 0);
	if (c->gradient_x)
		moved += dy + tw_distinct(c->w) + tw_elements(&c->x->dims);
	if (c->gradient_w)
		moved += dy + tw_distinct(c->x) + tw_elements(&c->w->dims);
	work->bytes = moved * tw_element_bytes(c->x);
	if (isnan(work->flops))
		return tw_work_fail(work, "its sizes are larger than any memory");
	describe(c, work);
	return 0;
}

/* aten::convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups) */
static int take_convolution(struct conv *c, const struct tw_call *call, struct tw_work *work)
{
	if (take_conv(c, call, 0, 3, work))
		return -1;
	c->bias = tw_has_tensor(call, 2);
	return 0;
}

static int convolution(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	return take_convolution(&c, call, work) ? -1 : forward_work(&c, work);
}

static int convolution_gradients(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	return take_convolution(&c, call, work) ? -1 : backward_work(&c, work);
}

/* Whether a gradient is asked for: "[False, True, False]", of x, w and the bias. */
static bool is_asked_for(const struct tw_slice *mask, unsigned which)
{
	const char *p = mask->ptr, *end = tw_slice_end(mask);

	for (; which && p < end; p++)
		which -= *p == ',';
	while (p < end && (*p == ' ' || *p == '['))
		p++;
	return which || end - p < 5 || memcmp(p, "False", 5);
}

/*
 * aten::convolution_backward(grad, x, w, bias_sizes, stride, padding, dilation, transposed,
 * output_padding, groups, output_mask)
 */
static int convolution_backward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_slice *mask = &tw_operand(call, 10)->value;
	struct tw_dims sizes = { 0 };
	struct conv c;

	if (take_conv(&c, call, 1, 4, work))
		return -1;
	c.bias = tw_value_list(call, 3, &sizes) && sizes.rank && sizes.size[0];
	c.bias_sizes = &sizes;
	c.bias = c.bias && is_asked_for(mask, 2);
	c.gradient_x = is_asked_for(mask, 0);
	c.gradient_w = is_asked_for(mask, 1);
	c.dy = tw_operand(call, 0);
	return backward_work(&c, work);
}

/* ConvBias_(x, w, bias, stride, padding): of Apex. */
static int take_conv_bias(struct conv *c, const struct tw_call *call, unsigned padding,
			  unsigned stride, struct tw_work *work)
{
	unsigned i;

	memset(c, 0, sizeof(*c));
	c->gradient_x = c->gradient_w = true;
	c->x = tw_operand(call, 0);
	c->w = tw_operand(call, 1);
	c->spatial = c->x->dims.rank > 2 ? c->x->dims.rank - 2 : 0;
	c->groups = 1;
	c->bias = true;
	if (c->spatial > MOST_SPATIAL)
		return tw_work_fail(work, "its input and weight are no batch of images and filter");
	c->stride.rank = c->padding.rank = c->dilation.rank = c->output_padding.rank = c->spatial;
	for (i = 0; i < c->spatial; i++) {
		c->stride.size[i] = tw_value_integer(call, stride, 1);
		c->padding.size[i] = tw_value_integer(call, padding, 0);
		c->dilation.size[i] = 1;
	}
	return find_output(c, work);
}

static int conv_bias(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	return take_conv_bias(&c, call, 4, 3, work) ? -1 : forward_work(&c, work);
}

static int conv_bias_gradients(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	return take_conv_bias(&c, call, 4, 3, work) ? -1 : backward_work(&c, work);
}

/* Its own arguments do not tell the shapes: those of the forward call do. */
static int conv_bias_backward(const struct tw_call *call, struct tw_work *work)
{
	if (!call->forward)
		return tw_work_fail(work, "its forward call was not recorded");
	return conv_bias_gradients(call->forward, work);
}

const struct tw_model tw_model_convolution = {
	.name = "convolution",
	.sheet = "CONV",
	.unit = TW_UNIT_MATRIX,
	.forward = convolution,
	.backward = convolution_gradients,
	.backward_category = "CONV_bwd",
};
const struct tw_model tw_model_convolution_backward = {
	.name = "convolution_backward",
	.sheet = "CONV",
	.unit = TW_UNIT_MATRIX,
	.forward = convolution_backward,
	.backward_category = "CONV_bwd",
};
const struct tw_model tw_model_conv_bias = {
	.name = "conv_bias",
	.sheet = "CONV",
	.unit = TW_UNIT_MATRIX,
	.forward = conv_bias,
	.backward = conv_bias_gradients,
	.backward_category = "CONV_bwd",
};
const struct tw_model tw_model_conv_bias_backward = {
	.name = "conv_bias_backward",
	.sheet = "CONV",
	.unit = TW_UNIT_MATRIX,
	.forward = conv_bias_backward,
	.backward_category = "CONV_bwd",
};
