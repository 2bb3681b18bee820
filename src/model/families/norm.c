/*
 * Normalizations: y = (x - mean) / sqrt(variance + eps) * weight + bias, the statistics of each
 * channel, row or group.  n: elements, C: channels, b: bytes of an element; [x] is 1 where x holds.
 *
 * Batch and instance norm (C: channels of the input; S: statistics, C, or samples x C of an instance
 * norm that trains, which has those of each sample):
 *
 *	forward	 FLOPs = 6 S + 3 n [training] + 2 n
 *		 bytes = 2 n b + 2 S b
 *			 + C b ([weight] + [weight and bias] + 2 [training and running statistics])
 *	backward FLOPs = 3 C [inference] + 4 n + (input gradient ? 5 n [training] : 2 n)
 *		 bytes = n b + n b (input gradient and training ? 2 : 1) + C b [training]
 *			 + [weight] (C b + [training] C b (1 + [bias]))
 *
 * 3 n add up sum and squares, 2 n scale and shift, 6 S make mean, 1 / deviation, scale and shift.
 * A training pass writes its statistics and updates the running ones.  Source: TraceLens 0.1; the
 * flag of training is the recorded one, weight, bias and running statistics count when they were
 * given.  The backward
 * passes of MIOpen and cuDNN are those of training: PyTorch takes them for nothing else
 * (_batch_norm_impl_index_backward in aten/src/ATen/native/Normalization.cpp).
 *
 * Group norm has S = samples x groups statistics, layer norm one for each of S rows; each is over
 * n / S elements, and mean and 1 / deviation of each are kept, in s bytes, for the backward pass.
 * With weight and bias of C elements, the channels or the normalized shape:
 *
 *	forward	 FLOPs = 6 S + 3 n + 2 n
 *		 bytes = 2 n b + 2 S s + C b ([weight] + [weight and bias])
 *	backward FLOPs = 4 n + (input gradient ? 5 n : 2 n)
 *		 bytes = n b + n b (input gradient ? 2 : 1) + 2 S s
 *			 + C b ([weight] + [its gradient] + [gradient of the bias])
 *
 * s = b for group norm, for layer norm 4, of double 8: its statistics are of the type in which it
 * adds up (aten/src/ATen/native/cuda/layer_norm_kernel.cu).  Derived from the above: the same
 * operations of an element, the statistics counted where they are.  An input that is expanded is
 * read once.
 *
 * RMS norm, y = x / sqrt(mean(x^2) + eps) * weight over rows of C elements, n / C rows:
 *
 *	forward	 FLOPs = (n / C) (2 C + 2) + n (1 + [weight]): squares and their sum, 1 / sqrt,
 *			 scaling
 *		 bytes = 2 n b + C b [weight]
 *	backward FLOPs = n + n [weight] + 6 n [input gradient]
 *			 + [weight gradient] (n + n [more than one row])
 *		 bytes = 3 n b + 2 C b [weight]
 *
 * Layer norm with modulation (primus), x (T, B, H), scale and shift (B, H), mean and 1 / deviation
 * of each of T B rows in 4 bytes: 12 n FLOPs, 2 n b + 2 B H b + 8 T B bytes; backward 15 n,
 * 3 n b + 3 B H b + 8 T B.
 *
 * Source: TraceLens 0.1; operands as in PyTorch's native_functions.yaml.
 *
 * Example: batch_norm of float (2, 3, 4, 5) with weight and bias, training: n = 120, C = 3:
 * 18 + 600 = 618 FLOPs, 960 + 12 x 6 = 1032 bytes; inference: 18 + 240 = 258 FLOPs,
 * 960 + 12 x 4 = 1008 bytes.
 */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

struct norm {
	const struct tw_operand *input;
	double n, channels, b;
	double statistics, statistic_bytes; /* means, and bytes of each; of group and layer norm */
	double read;			    /* share of the input that is distinct in memory */
	bool affine, bias, training, running;
	bool mask[3]; /* gradients that are asked for: of input, weight, bias */
	unsigned mask_count;
};

static int take_mask(const struct tw_call *call, unsigned position, struct norm *norm,
		     struct tw_work *work)
{
	if (!tw_value_flags(call, position, norm->mask, 3, &norm->mask_count))
		return tw_work_fail(work, "output mask not recorded");
	return 0;
}

static int take_input(const struct tw_call *call, unsigned position, struct norm *norm,
		      struct tw_work *work)
{
	*norm = (struct norm){ .input = tw_operand(call, position) };
	norm->n = tw_elements(&norm->input->dims);
	norm->b = tw_element_bytes(norm->input);
	norm->read = tw_distinct_share(norm->input);
	return tw_is_tensor(norm->input) ? 0 : tw_work_fail(work, "no input tensor");
}

/* The second dimension of the input. */
static int take_channels(struct norm *norm, struct tw_work *work)
{
	if (norm->input->dims.rank < 2)
		return tw_work_fail(work, "input has no channels");
	norm->channels = tw_size(norm->input, 1);
	return 0;
}

/*
 * The elements of the normalized shape, which are the last dimensions of the input; where the list
 * was not recorded it is the shape of the weight.
 */
static int take_normalized(const struct tw_call *call, unsigned position, unsigned weight,
			   struct norm *norm, struct tw_work *work)
{
	const struct tw_dims *dims = &norm->input->dims;
	struct tw_dims shape;

	if (!tw_value_list(call, position, &shape) && !tw_operand(call, position)->value.len)
		shape = tw_operand(call, weight)->dims;
	if (!shape.rank)
		return tw_work_fail(work, "normalized shape not recorded");
	if (shape.rank > dims->rank || memcmp(shape.size, dims->size + dims->rank - shape.rank,
					      shape.rank * sizeof(shape.size[0])))
		return tw_work_fail(work, "normalized shape does not match the input");
	norm->channels = tw_elements(&shape);
	return 0;
}

/* Whether weight and bias were given; they have an element a channel. */
static int take_affine(const struct tw_call *call, unsigned weight, unsigned bias,
		       struct norm *norm, struct tw_work *work)
{
	const struct tw_operand *w = tw_operand(call, weight), *b = tw_operand(call, bias);

	norm->affine = tw_is_tensor(w);
	norm->bias = tw_is_tensor(b);
	if ((norm->affine && tw_elements(&w->dims) != norm->channels) ||
	    (norm->bias && tw_elements(&b->dims) != norm->channels))
		return tw_work_fail(work, "weight or bias does not match the channels");
	return 0;
}

/* Whether the statistics are those of the input. */
static int take_training(const struct tw_call *call, unsigned position, struct norm *norm,
			 struct tw_work *work)
{
	norm->training = tw_value_true(call, position, false);
	if (norm->training != tw_value_true(call, position, true))
		return tw_work_fail(work, "training mode not recorded");
	return 0;
}

static void add_mask(struct tw_work *work, const struct norm *norm)
{
	char text[32] = "";
	unsigned i;

	for (i = 0; i < norm->mask_count; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s", i ? ", " : "[",
			 norm->mask[i] ? "True" : "False");
	}
	text[strlen(text)] = ']';
	tw_param_text(work, "output_mask", text);
}

static int count_norm(struct tw_work *work, const struct norm *norm, double flops, double bytes)
{
	tw_param_in_out(work, norm->input, NULL);
	tw_param_integer(work, "num_channels", norm->channels);
	tw_param_bool(work, "has_bias", norm->bias);
	tw_param_bool(work, "is_affine", norm->affine);
	tw_param_bool(work, "is_training", norm->training);
	if (norm->mask_count)
		add_mask(work, norm);
	return tw_work_set(work, flops, bytes, norm->input);
}

/* Vectors of the channels that a forward pass reads for scale and shift. */
static int scale_and_shift(const struct norm *norm)
{
	return norm->affine + (norm->affine && norm->bias);
}

/* ---- batch and instance norm */

/* (input, weight, bias, running_mean, running_var, training, ...), with statistics of samples */
static int by_channels(const struct tw_call *call, struct tw_work *work)
{
	const bool *by_samples = work->model->variant;
	double s, vectors;
	struct norm norm;

	if (take_input(call, 0, &norm, work) || take_channels(&norm, work) ||
	    take_affine(call, 1, 2, &norm, work) || take_training(call, 5, &norm, work))
		return -1;
	norm.running = tw_has_tensor(call, 3);
	s = norm.channels * (*by_samples && norm.training ? tw_size(norm.input, 0) : 1);
	vectors = scale_and_shift(&norm) + 2 * (norm.training && norm.running);
	return count_norm(work, &norm, 6 * s + (norm.training ? 3 * norm.n : 0) + 2 * norm.n,
			  ((1 + norm.read) * norm.n + 2 * s + norm.channels * vectors) * norm.b);
}

/*
 * native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean,
 * save_invstd, train, eps, output_mask); MIOpen's and cuDNN's have the input first and no flag,
 * as they are for training alone.  Weight and bias come and go together.
 */
static int batch_norm_backward(const struct tw_call *call, struct tw_work *work)
{
	bool library = tw_slice_starts(&call->name, "aten::miopen_") ||
		       tw_slice_starts(&call->name, "aten::cudnn_");
	double n, c, flops, tensors, vectors;
	struct norm norm;
	bool training, gradient = tw_has_tensor(call, 0);

	if (take_input(call, library ? 0 : 1, &norm, work) || take_channels(&norm, work) ||
	    take_affine(call, 2, 2, &norm, work) ||
	    (!library && take_training(call, 7, &norm, work)))
		return -1;
	training = norm.training |= library;
	norm.mask[norm.mask_count++] = gradient;
	n = norm.n;
	c = norm.channels;
	flops = (training ? 0 : 3 * c) + 4 * n + (gradient ? (training ? 5 * n : 0) : 2 * n);
	/* The input is read where it trains. */
	tensors = tw_distinct_share(tw_operand(call, library ? 1 : 0)) + gradient +
		  (training || !gradient ? norm.read : 0);
	vectors = training;
	if (norm.affine)
		vectors += 1 + (training ? 1 + norm.bias : 0);
	return count_norm(work, &norm, flops, tensors * n * norm.b + c * norm.b * vectors);
}

/* PyTorch has no such operation: autograd goes through batch norm. */
static int instance_norm_backward(const struct tw_call *call, struct tw_work *work)
{
	(void)call;
	return tw_work_fail(work, "arguments unknown");
}

/* ---- layer and group norm */

/* `tensors` of n elements move, and `vectors` of the channels. */
static int count_with_statistics(struct tw_work *work, const struct norm *norm, double flops,
				 double tensors, double vectors)
{
	return count_norm(work, norm, flops,
			  (tensors * norm->n + norm->channels * vectors) * norm->b +
				  2 * norm->statistics * norm->statistic_bytes);
}

static int count_forward(struct tw_work *work, const struct norm *norm)
{
	return count_with_statistics(work, norm, 6 * norm->statistics + 3 * norm->n + 2 * norm->n,
				     1 + norm->read, scale_and_shift(norm));
}

/* From the gradient in the first place. */
static int count_backward(struct tw_work *work, const struct norm *norm, const struct tw_call *call,
			  double vectors)
{
	double tensors = tw_distinct_share(tw_operand(call, 0)) + norm->read + norm->mask[0];

	return count_with_statistics(work, norm, 4 * norm->n + (norm->mask[0] ? 5 : 2) * norm->n,
				     tensors, vectors);
}

static void take_rows(struct norm *norm)
{
	norm->training = true;
	norm->statistics = norm->channels > 0 ? norm->n / norm->channels : 0;
	norm->statistic_bytes = norm->b == 8 ? 8 : 4;
}

/* layer_norm(input, normalized_shape, weight, bias, eps, ...) */
static int layer_norm(const struct tw_call *call, struct tw_work *work)
{
	struct norm norm;

	if (take_input(call, 0, &norm, work) || take_normalized(call, 1, 2, &norm, work) ||
	    take_affine(call, 2, 3, &norm, work))
		return -1;
	take_rows(&norm);
	return count_forward(work, &norm);
}

/* native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, mask) */
static int layer_norm_backward(const struct tw_call *call, struct tw_work *work)
{
	struct norm norm;

	if (take_input(call, 1, &norm, work) || take_normalized(call, 2, 5, &norm, work) ||
	    take_mask(call, 7, &norm, work))
		return -1;
	norm.affine = norm.mask[1];
	norm.bias = norm.mask[2];
	take_rows(&norm);
	return count_backward(work, &norm, call, tw_has_tensor(call, 5) + norm.affine + norm.bias);
}

/* Sets the number of means, one for each group of each sample. */
static int take_groups(const struct tw_call *call, unsigned position, struct norm *norm,
		       struct tw_work *work)
{
	int64_t groups = tw_value_integer(call, position, 0);

	if (groups <= 0)
		return tw_work_fail(work, "number of groups not recorded");
	if (norm->input->dims.size[1] % groups)
		return tw_work_fail(work, "channels are not divisible by groups");
	norm->statistics = tw_size(norm->input, 0) * (double)groups;
	norm->statistic_bytes = norm->b;
	norm->training = true;
	return 0;
}

/*
 * group_norm and aiter's _groupnorm_run (input, groups, weight, bias, eps, ...), and
 * native_group_norm(input, weight, bias, N, C, HxW, groups, eps), whose second is no number.
 */
static int group_norm(const struct tw_call *call, struct tw_work *work)
{
	bool native = !tw_operand(call, 1)->value.len;
	struct norm norm;

	if (take_input(call, 0, &norm, work) || take_channels(&norm, work) ||
	    take_affine(call, native ? 1 : 2, native ? 2 : 3, &norm, work) ||
	    take_groups(call, native ? 6 : 1, &norm, work))
		return -1;
	return count_forward(work, &norm);
}

/* native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, groups, mask) */
static int group_norm_backward(const struct tw_call *call, struct tw_work *work)
{
	struct norm norm;

	if (take_input(call, 1, &norm, work) || take_channels(&norm, work) ||
	    take_affine(call, 4, 4, &norm, work) || take_groups(call, 8, &norm, work) ||
	    take_mask(call, 9, &norm, work))
		return -1;
	norm.bias = norm.affine && norm.mask[2];
	return count_backward(work, &norm, call, norm.affine ? 2 + norm.bias : 0);
}

/* ---- RMS norm */

/* _fused_rms_norm(input, normalized_shape, weight, eps) */
static int rms_norm(const struct tw_call *call, struct tw_work *work)
{
	double n, c, rows;
	struct norm norm;

	if (take_input(call, 0, &norm, work) || take_normalized(call, 1, 2, &norm, work) ||
	    take_affine(call, 2, TW_CALL_MOST_OPERANDS, &norm, work))
		return -1;
	n = norm.n;
	c = norm.channels;
	rows = c > 0 ? n / c : 0;
	return count_norm(work, &norm, rows * (2 * c + 2) + n * (1 + norm.affine),
			  ((1 + norm.read) * n + norm.affine * c) * norm.b);
}

/* _fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask) */
static int rms_norm_backward(const struct tw_call *call, struct tw_work *work)
{
	double n, flops, tensors;
	struct norm norm;

	if (take_input(call, 1, &norm, work) || take_normalized(call, 2, 4, &norm, work) ||
	    take_affine(call, 4, TW_CALL_MOST_OPERANDS, &norm, work) ||
	    take_mask(call, 5, &norm, work))
		return -1;
	n = norm.n;
	flops = n * (1 + norm.affine) + (norm.mask[0] ? 6 * n : 0);
	if (norm.affine && norm.mask[1])
		flops += n + (n > norm.channels ? n : 0);
	tensors = 1 + norm.read + tw_distinct_share(tw_operand(call, 0));
	return count_norm(work, &norm, flops,
			  (tensors * n + norm.affine * 2 * norm.channels) * norm.b);
}

/* ---- layer norm with modulation */

struct modulation {
	int flops_each;
	int tensors; /* that move, of (T, B, H) */
};

/* The first operand is (T, B, H). */
static int modulate(const struct tw_call *call, struct tw_work *work)
{
	const struct modulation *kind = work->model->variant;
	double vector, elements;
	struct norm norm;

	if (take_input(call, 0, &norm, work))
		return -1;
	if (norm.input->dims.rank != 3)
		return tw_work_fail(work, "input is not (time, batch, hidden)");
	norm.channels = tw_size(norm.input, 2);
	norm.affine = norm.bias = norm.training = true;
	/* As many vectors (B, H) as tensors (T, B, H): shift, scale and, backward, its gradients. */
	vector = tw_size(norm.input, 1) * norm.channels;
	elements = kind->tensors * (norm.n + vector) - norm.n * (1 - norm.read);
	return count_norm(work, &norm, kind->flops_each * norm.n,
			  elements * norm.b + 8 * tw_size(norm.input, 0) * tw_size(norm.input, 1));
}

#define NORM(id, ...)                                                          \
	TW_MODEL(id, "Normalization", VECTOR, .backward_category = "NORM_bwd", \
		 .forward = __VA_ARGS__)

const struct tw_model tw_family_norm[] = {
	NORM(batch_norm, by_channels, .variant = &(const bool){ false }),
	NORM(batch_norm_backward, batch_norm_backward),
	NORM(instance_norm, by_channels, .variant = &(const bool){ true }),
	NORM(instance_norm_backward, instance_norm_backward),
	NORM(layer_norm, layer_norm),
	NORM(layer_norm_backward, layer_norm_backward),
	NORM(group_norm, group_norm),
	NORM(group_norm_backward, group_norm_backward),
	NORM(rms_norm, rms_norm),
	NORM(rms_norm_backward, rms_norm_backward),
	/* Made of others, or of _fused_rms_norm, where those were recorded. */
	NORM(rms_norm_composite, rms_norm, .composite = true),
	NORM(fused_ln_modulate, modulate, .variant = &(const struct modulation){ 12, 2 }),
	NORM(fused_ln_modulate_backward, modulate, .variant = &(const struct modulation){ 15, 3 }),
	{ .name = NULL },
};
