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
#include <string.h>

#define MAX_SPATIAL 3

struct conv {
	const struct tw_operand *x, *w;
	unsigned spatial; /* dimensions */
	struct tw_dims stride, padding, dilation, output_padding;
	bool transposed, bias;
	const struct tw_operand *dy; /* of the pass back, NULL: not recorded */
	bool gradients[3];	     /* of x, w and the bias: what is asked for */
	const struct tw_dims
		*bias_sizes; /* of the backward pass, whose argument they are; else NULL */
	int64_t groups;
	struct tw_dims out;
};

static const char no_filter[] = "input and weight are not a batch of images and a filter";
static const char too_large[] = "sizes exceed any memory";

/* ---- sizes */

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* The output's size in one dimension, -1 when it has none. */
static int64_t output_size(const struct conv *c, unsigned i)
{
	__int128 x = c->x->dims.size[2 + i], k = c->w->dims.size[2 + i];
	__int128 reach = c->dilation.size[i] * (k - 1), padding = (__int128)2 * c->padding.size[i];
	__int128 size = c->transposed ? (x - 1) * c->stride.size[i] - padding + reach +
						c->output_padding.size[i] + 1 :
					x + padding - reach - 1;

	if (size < 0 || size > INT64_MAX)
		return -1;
	return c->transposed ? (int64_t)size : floor_divide((int64_t)size, c->stride.size[i]) + 1;
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
	    c->x->dims.rank > 2 + MAX_SPATIAL)
		return tw_work_fail(work, no_filter);
	if (!steps_are_positive(c) || c->groups < 1)
		return tw_work_fail(work, "invalid strides, dilations or groups");
	c->out.rank = c->x->dims.rank;
	c->out.size[0] = c->x->dims.size[0];
	c->out.size[1] = c->w->dims.size[0];
	if (c->transposed && __builtin_mul_overflow(c->w->dims.size[1], c->groups, &c->out.size[1]))
		return tw_work_fail(work, too_large);
	for (i = 0; i < c->spatial; i++) {
		c->out.size[2 + i] = output_size(c, i);
		if (c->out.size[2 + i] < 0)
			return tw_work_fail(work, "filter larger than the input");
	}
	return 0;
}

static void take_operands(struct conv *c, const struct tw_call *call, unsigned x)
{
	*c = (struct conv){ .x = tw_operand(call, x),
			    .w = tw_operand(call, x + 1),
			    .gradients = { true, true, true },
			    .groups = 1 };
	c->spatial = c->x->dims.rank > 2 ? c->x->dims.rank - 2 : 0;
}

/* One number for all spatial dimensions. */
static struct tw_dims all_alike(unsigned spatial, int64_t size)
{
	struct tw_dims list = { .rank = spatial };
	unsigned i;

	for (i = 0; i < spatial; i++)
		list.size[i] = size;
	return list;
}

/* A list by spatial dimension: one number applies to all, none for `fallback`. */
static bool take_list(const struct tw_call *call, unsigned position, unsigned spatial,
		      int64_t fallback, struct tw_dims *list)
{
	if (tw_value_list(call, position, list) && list->rank == spatial)
		return true;
	if (list->rank > 1)
		return false;
	*list = all_alike(spatial,
			  list->rank ? list->size[0] : tw_value_integer(call, position, fallback));
	return true;
}

/* Lists from position `first` on: stride, padding, dilation, transposed, output padding, groups. */
static int take_conv(struct conv *c, const struct tw_call *call, unsigned x, unsigned first,
		     struct tw_work *work)
{
	take_operands(c, call, x);
	c->transposed = tw_value_true(call, first + 3, false);
	c->groups = tw_value_integer(call, first + 5, 1);
	if (c->spatial > MAX_SPATIAL || !take_list(call, first, c->spatial, 1, &c->stride) ||
	    !take_list(call, first + 1, c->spatial, 0, &c->padding) ||
	    !take_list(call, first + 2, c->spatial, 1, &c->dilation) ||
	    !take_list(call, first + 4, c->spatial, 0, &c->output_padding))
		return tw_work_fail(work, "unreadable strides or paddings");
	return find_output(c, work);
}

/* ---- work */

static void describe_convolution(const struct conv *c, struct tw_work *work)
{
	static const char *const names[] = { "conv1d", "conv2d", "conv3d" };
	static const struct tw_dims no_sizes = { 0 };

	tw_param_text(work, "convNd", names[c->spatial - 1]);
	tw_param_dims(work, "input_shape", &c->x->dims);
	tw_param_dims(work, "filter_shape", &c->w->dims);
	TW_PARAM_TYPES(work, "dtype_input_weight", c->x, c->w);
	tw_param_strides(work, "input_stride", c->x);
	tw_param_strides(work, "weight_stride", c->w);
	/* Of a pass back its sizes, "[64]", or "[]" without one; else whether there is one. */
	if (c->bias_sizes)
		tw_param_list(work, "bias", c->bias ? c->bias_sizes : &no_sizes);
	else
		tw_param_bool(work, "bias", c->bias);
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
		filter *= tw_size(c->w, (int)i);
	return 2 * filter * tw_elements(c->transposed ? &c->x->dims : &c->out);
}

/* `moved`: elements */
static int count_convolution(const struct conv *c, double flops, double moved, struct tw_work *work)
{
	if (isnan(flops))
		return tw_work_fail(work, too_large);
	describe_convolution(c, work);
	return tw_work_set(work, flops, moved * tw_element_bytes(c->x), c->x);
}

static int count_forward(const struct conv *c, struct tw_work *work)
{
	double out = tw_elements(&c->out), bias = c->bias ? (double)c->out.size[1] : 0;

	return count_convolution(c, products(c) + (c->bias ? out : 0),
				 tw_distinct(c->x) + tw_distinct(c->w) + out + bias, work);
}

static int count_backward(const struct conv *c, struct tw_work *work)
{
	double out = tw_elements(&c->out), dy = out * (c->dy ? tw_distinct_share(c->dy) : 1);
	double moved = c->bias ? dy + (double)c->out.size[1] : 0;

	if (c->gradients[0])
		moved += dy + tw_distinct(c->w) + tw_elements(&c->x->dims);
	if (c->gradients[1])
		moved += dy + tw_distinct(c->x) + tw_elements(&c->w->dims);
	return count_convolution(
		c, (c->gradients[0] + c->gradients[1]) * products(c) + (c->bias ? out : 0), moved,
		work);
}

/* aten::convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups) */
static int convolution(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	if (take_conv(&c, call, 0, 3, work))
		return -1;
	c.bias = tw_has_tensor(call, 2);
	return work->backward ? count_backward(&c, work) : count_forward(&c, work);
}

/*
 * aten::convolution_backward(grad, x, w, bias_sizes, stride, padding, dilation, transposed,
 * output_padding, groups, output_mask)
 */
static int convolution_backward(const struct tw_call *call, struct tw_work *work)
{
	struct tw_dims sizes;
	struct conv c;
	unsigned known;

	if (take_conv(&c, call, 1, 4, work))
		return -1;
	tw_value_flags(call, 10, c.gradients, 3, &known);
	c.bias_sizes = &sizes;
	c.bias = tw_value_list(call, 3, &sizes) && sizes.rank && sizes.size[0] && c.gradients[2];
	c.dy = tw_operand(call, 0);
	return count_backward(&c, work);
}

/* ---- ConvBias_ and ConvBiasReLU_ (x, w, bias, stride, padding): of Apex */

static int take_conv_bias(struct conv *c, const struct tw_call *call, struct tw_work *work)
{
	take_operands(c, call, 0);
	if (c->spatial > MAX_SPATIAL)
		return tw_work_fail(work, no_filter);
	c->bias = true;
	c->stride = all_alike(c->spatial, tw_value_integer(call, 3, 1));
	c->padding = all_alike(c->spatial, tw_value_integer(call, 4, 0));
	c->dilation = all_alike(c->spatial, 1);
	c->output_padding = all_alike(c->spatial, 0);
	return find_output(c, work);
}

static int conv_bias(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	if (take_conv_bias(&c, call, work))
		return -1;
	return work->backward ? count_backward(&c, work) : count_forward(&c, work);
}

/* The shapes are those of the forward call, not in its own arguments. */
static int conv_bias_backward(const struct tw_call *call, struct tw_work *work)
{
	struct conv c;

	if (!call->forward)
		return tw_work_fail(work, "forward call not recorded");
	return take_conv_bias(&c, call->forward, work) ? -1 : count_backward(&c, work);
}

#define CONV(id, ...) \
	TW_MODEL(id, "CONV", MATRIX, .forward = id, .backward_category = "CONV_bwd", __VA_ARGS__)

const struct tw_model tw_family_conv[] = {
	CONV(convolution, .backward = convolution),
	CONV(convolution_backward),
	CONV(conv_bias, .backward = conv_bias),
	CONV(conv_bias_backward, .by_forward_call = true),
	{ .name = NULL },
};
