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

/* What a result takes. */
enum result { AS_INPUT, PADDED, EIGHT_BITS, MXFP4 };

/*
 * An operation's arguments in their order, of which these count: input, after the output where that
 * is the first; weight; residual, which is always added, or "residual?", which is where it is given;
 * group, how many elements share a scale, or "group?", without which a row does, or to a multiple of
 * which rows are padded.
 */
struct layout {
	const char *arguments;
	enum result result;
};

struct rms {
	const struct tw_operand *input, *weight;
	const struct tw_operand *out; /* NULL: it is no argument */
	double n, c, rows, b;
	bool add, quantize;
};

static int take_rows(const struct tw_call *call, unsigned input, unsigned weight, struct rms *r,
		     struct tw_work *work)
{
	*r = (struct rms){ .input = tw_operand(call, input),
			   .weight = tw_operand(call, weight),
			   .out = input ? tw_operand(call, 0) : NULL };
	if (!tw_is_tensor(r->input) || r->weight->dims.rank != 1)
		return tw_work_fail(work, "no input and weight");
	if (tw_size(r->input, -1) != tw_size(r->weight, 0))
		return tw_work_fail(work, "weight does not match the rows");
	r->n = tw_elements(&r->input->dims);
	r->c = tw_elements(&r->weight->dims);
	r->rows = r->c > 0 ? r->n / r->c : 0;
	r->b = tw_element_bytes(r->input);
	return 0;
}

static int count_rms_norm(struct tw_work *work, const struct rms *r, double result_bytes)
{
	double flops = r->rows * (2 * r->c + 2) + 2 * r->n + (r->add ? r->n : 0) +
		       (r->quantize ? 2 * r->n : 0);
	double tensors = (r->add ? 2 : 0) + tw_distinct_share(r->input);

	tw_param_in_out(work, r->input, r->out);
	tw_param_integer(work, "num_channels", r->c);
	tw_param_bool(work, "has_bias", false);
	tw_param_bool(work, "is_affine", true);
	tw_param_bool(work, "is_training", false);
	return tw_work_set(work, flops, (r->n * tensors + r->c) * r->b + result_bytes, r->input);
}

/* Bytes of the result, with groups of that many elements of a row; NaN: a row is one. */
static double result_bytes(const struct rms *r, enum result result, double group)
{
	double groups = isnan(group) ? 1 : ceil(r->c / group);

	switch (result) {
	case PADDED:
		return r->rows * (isnan(group) ? r->c : groups * group) * r->b;
	case EIGHT_BITS:
		return r->n + r->rows * groups * 4;
	case MXFP4:
		return r->n / 2 + floor(r->n / 32);
	default:
		return r->n * r->b;
	}
}

static int rms_norm(const struct tw_call *call, struct tw_work *work)
{
	const struct layout *l = work->model->variant;
	const char *list = l->arguments;
	int64_t needed = tw_value_integer(call, tw_place(list, "group"), 0);
	int64_t group = tw_value_integer(call, tw_place(list, "group?"), needed);
	struct rms r;

	if (take_rows(call, tw_place(list, "input"), tw_place(list, "weight"), &r, work))
		return -1;
	r.add = tw_place(list, "residual") != TW_NOWHERE ||
		tw_has_tensor(call, tw_place(list, "residual?"));
	r.quantize = l->result == EIGHT_BITS || l->result == MXFP4;
	if (needed <= 0 && tw_place(list, "group") != TW_NOWHERE)
		return count_rms_norm(work, &r, NAN);
	return count_rms_norm(work, &r,
			      result_bytes(&r, l->result, group > 0 ? (double)group : NAN));
}

/* rmsnorm2d_fwd_ck(input, weight, eps, ...); with the output in front in some versions. */
static int rms_norm_2d(const struct tw_call *call, struct tw_work *work)
{
	unsigned input = tw_operand(call, 1)->dims.rank > 1;
	struct rms r;

	return take_rows(call, input, input + 1, &r, work) ? -1 :
							     count_rms_norm(work, &r, r.n * r.b);
}

/*
 * By the names of arguments: a residual is added and written back, a result in fewer bits is
 * quantized, with one scale for all or with those that it writes; the result may be the input.
 */
static int rms_norm_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	struct rms r;

	if (take_rows(call, tw_argument_at(&a, "input|x|hidden_states|inp"),
		      tw_argument_at(&a, "weight|gamma|norm_weight"), &r, work))
		return -1;
	r.out = tw_argument_tensor(&a, "result|output|out");
	r.add = tw_is_tensor(tw_argument(&a, "residual|residual_in"));
	r.quantize = r.out && tw_element_bytes(r.out) < r.b;
	return count_rms_norm(work, &r,
			      (r.out ? tw_bytes(r.out) : r.n * r.b) +
				      tw_given_bytes(tw_argument(&a, "scale|scales|output_scale")));
}

#define NAMED(id, function) TW_MODEL(id, "RMSNorm", VECTOR, .forward = function)
#define RMS_NORM(id, ...)                                    \
	TW_MODEL(id, "RMSNorm", VECTOR, .forward = rms_norm, \
		 .variant = &(const struct layout){ __VA_ARGS__ })

const struct tw_model tw_family_rms_norm[] = {
	NAMED(rms_norm_2d, rms_norm_2d),
	NAMED(rms_norm_named, rms_norm_named),
	/* rmsnorm, add_rmsnorm */
	RMS_NORM(rms_norm_into, "out input weight eps", AS_INPUT),
	RMS_NORM(rms_norm_add, "out input residual residual_out weight eps", AS_INPUT),
	RMS_NORM(add_rms_norm_pad, "input weight eps residual? group?", PADDED),
	/* rmsnorm2d_fwd_with_dynamicquant_ck, rmsnorm_quant */
	RMS_NORM(rms_norm_dynamic_quant, "out input scale weight eps", EIGHT_BITS),
	RMS_NORM(rms_norm_quant, "out input scale weight eps group?", EIGHT_BITS),
	/* rmsnorm_fp8_group_quant, rmsnorm_with_add_fp8_group_quant */
	RMS_NORM(rms_norm_group_quant, "input weight eps group", EIGHT_BITS),
	RMS_NORM(rms_norm_add_group_quant, "input residual weight eps group", EIGHT_BITS),
	/* fused_rms_mxfp4_quant: a second input is not counted. */
	RMS_NORM(rms_norm_mxfp4_quant, "input weight eps", MXFP4),
	{ .name = NULL },
};
