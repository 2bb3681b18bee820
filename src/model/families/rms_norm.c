/*
 * RMS norm in the kernels of inference libraries: rows of C elements, C the length of the weight,
 * n elements in all, b bytes of an element.
 *
 *	FLOPs = (n / C) (2 C + 2) + 2 n + n [residual added] + 2 n [result quantized]
 *	bytes = n b + C b + n b [residual read] + n b [sum written] + what the result takes
 *
 * A row takes C squares, their sum, a mean and 1 / sqrt; an element a scaling and a weight;
 * quantizing takes the greatest magnitude and a division.  The result takes
 *
 *	n b				as it is, or rows padded to a multiple of some width
 *	n + (n / C) 4 groups		in 8 bits, a scale of 4 bytes for each group of a row
 *	n / 2 + n / 32			as MXFP4, a scale of a byte for each 32
 *	the recorded result and scales	where they are arguments that have a name
 *
 * Source: TraceLens 0.1; operands as in the Python signatures of aiter (ops/rmsnorm.py) and of
 * vLLM's and SGLang's wrappers.  The sum that is written beside a quantized result is counted.
 *
 * Example: aiter::rmsnorm2d_fwd_ck of bf16 (4, 8) with a weight of 8: n = 32, 4 rows:
 * 4 x 18 + 64 = 136 FLOPs, 64 + 16 + 64 = 144 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>

struct rms {
	const struct tw_operand *input, *weight;
	const struct tw_operand *out; /* NULL: it is no argument */
	double n, c, rows, b;
	bool add, quantize;
};

static int take(const struct tw_call *call, unsigned input, unsigned weight, struct rms *r,
		struct tw_work *work)
{
	const struct tw_dims *dims;

	*r = (struct rms){ .input = tw_operand(call, input),
			   .weight = tw_operand(call, weight),
			   .out = input ? tw_operand(call, 0) : NULL };
	dims = &r->input->dims;
	if (!dims->rank || r->weight->dims.rank != 1)
		return tw_work_fail(work, "it has no input and weight");
	if (dims->size[dims->rank - 1] != r->weight->dims.size[0])
		return tw_work_fail(work, "its weight does not fit its rows");
	r->n = tw_elements(dims);
	r->c = tw_elements(&r->weight->dims);
	r->rows = r->c > 0 ? r->n / r->c : 0;
	r->b = tw_element_bytes(r->input);
	return 0;
}

static int finish(struct tw_work *work, const struct rms *r, double result_bytes)
{
	const struct tw_operand *types[2] = { r->input, r->out };

	work->flops = r->rows * (2 * r->c + 2) + 2 * r->n + (r->add ? r->n : 0) +
		      (r->quantize ? 2 * r->n : 0);
	work->bytes = (r->n * ((r->add ? 2 : 0) + tw_distinct_share(r->input)) + r->c) * r->b +
		      result_bytes;
	work->precision = tw_precision(r->input);
	tw_param_dims(work, "op_shape", &r->input->dims);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_strides(work, "stride_input", r->input);
	if (r->out)
		tw_param_strides(work, "stride_output", r->out);
	else
		tw_param_none(work, "stride_output");
	tw_param_integer(work, "num_channels", r->c);
	tw_param_bool(work, "has_bias", false);
	tw_param_bool(work, "is_affine", true);
	tw_param_bool(work, "is_training", false);
	return 0;
}

/* rmsnorm(out, input, weight, eps) */
static int rms_norm_into(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	return take(call, 1, 2, &r, work) ? -1 : finish(work, &r, r.n * r.b);
}

/* rmsnorm2d_fwd_ck(input, weight, eps, ...); with the output in front in some versions. */
static int rms_norm_2d(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	if (tw_operand(call, 1)->dims.rank > 1)
		return rms_norm_into(call, work);
	return take(call, 0, 1, &r, work) ? -1 : finish(work, &r, r.n * r.b);
}

/* add_rmsnorm(out, input, residual_in, residual_out, weight, eps) */
static int rms_norm_add(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	if (take(call, 1, 4, &r, work))
		return -1;
	r.add = true;
	return finish(work, &r, r.n * r.b);
}

/* add_rmsnorm_pad(x, weight, eps, residual, multiple): rows of the result are padded. */
static int add_rms_norm_pad(const struct tw_call *call, struct tw_work *work)
{
	int64_t multiple = tw_value_integer(call, 4, 0);
	struct rms r;
	double width;

	if (take(call, 0, 1, &r, work))
		return -1;
	r.add = tw_has_tensor(call, 3);
	width = multiple > 0 ? ceil(r.c / (double)multiple) * (double)multiple : r.c;
	return finish(work, &r, r.rows * width * r.b);
}

/* Bytes of a result in 8 bits with a scale for each group of a row, 0: one a row. */
static double quantized(const struct rms *r, int64_t group)
{
	double groups = group > 0 ? ceil(r->c / (double)group) : 1;

	return r->n + r->rows * groups * 4;
}

/* rmsnorm2d_fwd_with_dynamicquant_ck(out, input, scale, weight, eps, ...) */
static int rms_norm_dynamic_quant(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	if (take(call, 1, 3, &r, work))
		return -1;
	r.quantize = true;
	return finish(work, &r, quantized(&r, 0));
}

/* rmsnorm_quant(out, input, scale, weight, eps, group size, ...) */
static int rms_norm_quant(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	if (take(call, 1, 3, &r, work))
		return -1;
	r.quantize = true;
	return finish(work, &r, quantized(&r, tw_value_integer(call, 5, 0)));
}

/* With a group size that has no default: NaN bytes where it was not recorded. */
static int finish_groups(const struct tw_call *call, unsigned position, struct rms *r,
			 struct tw_work *work)
{
	int64_t group = tw_value_integer(call, position, 0);

	r->quantize = true;
	return finish(work, r, group > 0 ? quantized(r, group) : NAN);
}

/* rmsnorm_fp8_group_quant(x, weight, eps, group size) */
static int rms_norm_group_quant(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	return take(call, 0, 1, &r, work) ? -1 : finish_groups(call, 3, &r, work);
}

/* rmsnorm_with_add_fp8_group_quant(x, residual, weight, eps, group size) */
static int rms_norm_add_group_quant(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	if (take(call, 0, 2, &r, work))
		return -1;
	r.add = true;
	return finish_groups(call, 4, &r, work);
}

/* fused_rms_mxfp4_quant(x, weight, eps, ...): a second input is not counted. */
static int rms_norm_mxfp4_quant(const struct tw_call *call, struct tw_work *work)
{
	struct rms r;

	if (take(call, 0, 1, &r, work))
		return -1;
	r.quantize = true;
	return finish(work, &r, r.n / 2 + floor(r.n / 32));
}

/*
 * By the names of arguments: a residual is added and written back, a result in fewer bits is
 * quantized, with one scale for all or with those that it writes; the result may be the input.
 */
static int rms_norm_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out = tw_argument(&a, "result|output|out");
	const struct tw_operand *scales = tw_argument(&a, "scale|scales|output_scale");
	struct rms r;
	double result;

	if (take(call, tw_argument_at(&a, "input|x|hidden_states|inp"),
		 tw_argument_at(&a, "weight|gamma|norm_weight"), &r, work))
		return -1;
	r.out = out->dims.rank ? out : NULL;
	r.add = tw_has_tensor(call, tw_argument_at(&a, "residual|residual_in"));
	r.quantize = r.out && tw_element_bytes(out) < r.b;
	result = r.out ? tw_bytes(out) : r.n * r.b;
	return finish(work, &r, result + (scales->dims.rank ? tw_bytes(scales) : 0));
}

#define RMS_NORM(id)                                                    \
	const struct tw_model tw_model_##id = { .name = #id,            \
						.sheet = "RMSNorm",     \
						.unit = TW_UNIT_VECTOR, \
						.forward = id }

RMS_NORM(rms_norm_2d);
RMS_NORM(rms_norm_into);
RMS_NORM(rms_norm_add);
RMS_NORM(add_rms_norm_pad);
RMS_NORM(rms_norm_dynamic_quant);
RMS_NORM(rms_norm_group_quant);
RMS_NORM(rms_norm_add_group_quant);
RMS_NORM(rms_norm_mxfp4_quant);
RMS_NORM(rms_norm_quant);
RMS_NORM(rms_norm_named);
