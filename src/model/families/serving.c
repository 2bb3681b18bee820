/*
 * What inference servers have beside products, attention and experts, by the names of arguments.
 *
 *	activations		n FLOPs, of gated ones c for each of n results: silu 4, gelu 7, by tanh
 *				9, a threshold 1, SwiGLU with limits 9, and the product 1 each
 *	moved operands		each is read or written once, twice when changed in place; an operation
 *				for each element of the largest
 *	layers			what is recorded of a whole layer and a result like its first operand: a
 *				lower bound, for weights, caches and states are not among the arguments
 *
 * Sources: the definitions; arguments as in vLLM, SGLang, FlashInfer and TensorRT-LLM.
 *
 * Example: _C::gelu_new of bf16 (4, 8): 32 FLOPs, 128 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

#define NAMES_OUT "out|output|result"
#define NAMES_IN "input|x|inp|hidden_states"

static void describe(const struct tw_operand *in, const struct tw_operand *out,
		     struct tw_work *work)
{
	const struct tw_operand *types[] = { in, out->dims.rank ? out : NULL };

	work->precision = tw_precision(in);
	tw_param_dims(work, "op_shape", &in->dims);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_strides(work, "stride_input", in);
	if (out->dims.rank)
		tw_param_strides(work, "stride_output", out);
	else
		tw_param_none(work, "stride_output");
}

/* With `parts` inputs for a result, `flops_each` for each of them. */
static int activation(const struct tw_call *call, double parts, double flops_each,
		      struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *in = tw_argument(&a, NAMES_IN), *out = tw_argument(&a, NAMES_OUT);
	double results = tw_elements(&in->dims) / parts;

	if (!in->dims.rank)
		return tw_work_fail(work, "its input is no tensor");
	work->flops = flops_each * results;
	work->bytes =
		tw_bytes(in) + (out->dims.rank ? tw_bytes(out) : results * tw_element_bytes(in));
	describe(in, out, work);
	return 0;
}

static int activation_into(const struct tw_call *call, struct tw_work *work)
{
	return activation(call, 1, 1, work);
}

static int silu_and_mul(const struct tw_call *call, struct tw_work *work)
{
	return activation(call, 2, 5, work);
}

static int gelu_and_mul(const struct tw_call *call, struct tw_work *work)
{
	return activation(call, 2, 8, work);
}

static int gelu_tanh_and_mul(const struct tw_call *call, struct tw_work *work)
{
	return activation(call, 2, 10, work);
}

static int gated_threshold(const struct tw_call *call, struct tw_work *work)
{
	return activation(call, 2, 2, work);
}

static int gated_swiglu_limited(const struct tw_call *call, struct tw_work *work)
{
	return activation(call, 2, 10, work);
}

/* ---- operands that only move */

/* Written, and read by its name; what is named otherwise is only a result. */
static bool is_in_place(const struct tw_arguments *a, unsigned position)
{
	return position == tw_argument_at(a, "logits|" NAMES_IN) &&
	       strchr(tw_op_argument_list[a->known->first + position].type, '!');
}

static int moved_operands(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *first = NULL;
	double most = 0, bytes = 0;
	unsigned i;

	for (i = 0; i < call->count; i++) {
		const struct tw_operand *operand = &call->operand[i];

		if (!operand->dims.rank)
			continue;
		first = first ? first : operand;
		most = fmax(most, tw_elements(&operand->dims));
		bytes += tw_bytes(operand) * (is_in_place(&a, i) ? 2 : 1);
	}
	if (!first)
		return tw_work_fail(work, "it has no tensor");
	work->flops = most;
	work->bytes = bytes;
	describe(first, tw_argument(&a, NAMES_OUT), work);
	return 0;
}

/* ---- whole layers */

static int layer(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out = tw_argument(&a, NAMES_OUT), *first = NULL;
	unsigned i;

	work->bytes = 0;
	work->at_least = true;
	for (i = 0; i < call->count; i++) {
		if (!call->operand[i].dims.rank)
			continue;
		first = first ? first : &call->operand[i];
		work->bytes += tw_bytes(&call->operand[i]);
	}
	if (!first)
		return tw_work_fail(work, "it has no tensor");
	if (!out->dims.rank)
		work->bytes += tw_bytes(first);
	work->precision = tw_precision(first);
	tw_param_dims(work, "op_shape", &first->dims);
	return 0;
}

#define SERVING(id, in_sheet, which, function)                     \
	const struct tw_model tw_model_##id = { .name = #id,       \
						.sheet = in_sheet, \
						.unit = which,     \
						.forward = function }

SERVING(activation_into, "UnaryElementwise", TW_UNIT_VECTOR, activation_into);
SERVING(silu_and_mul, "UnaryElementwise", TW_UNIT_VECTOR, silu_and_mul);
SERVING(gelu_and_mul, "UnaryElementwise", TW_UNIT_VECTOR, gelu_and_mul);
SERVING(gelu_tanh_and_mul, "UnaryElementwise", TW_UNIT_VECTOR, gelu_tanh_and_mul);
SERVING(gated_threshold, "UnaryElementwise", TW_UNIT_VECTOR, gated_threshold);
SERVING(gated_swiglu_limited, "UnaryElementwise", TW_UNIT_VECTOR, gated_swiglu_limited);
SERVING(moved_operands, "UnaryElementwise", TW_UNIT_VECTOR, moved_operands);
SERVING(moved_experts, "MoE_aux", TW_UNIT_VECTOR, moved_operands);
SERVING(moved_attention, "InferenceAttention", TW_UNIT_VECTOR, moved_operands);
SERVING(moe_layer, "MoE_fused", TW_UNIT_MATRIX, layer);
SERVING(ssm_layer, "SSM", TW_UNIT_MATRIX, layer);
SERVING(attention_layer, "InferenceAttention", TW_UNIT_MATRIX, layer);
