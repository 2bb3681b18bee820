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

struct activation {
	int parts;	/* inputs for a result */
	int flops_each; /* for each result */
};

static int activation(const struct tw_call *call, struct tw_work *work)
{
	const struct activation *kind = work->model->variant;
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *in = tw_argument(&a, NAMES_IN),
				*out = tw_argument_tensor(&a, NAMES_OUT);
	double results = tw_elements(&in->dims) / kind->parts;

	if (!tw_is_tensor(in))
		return tw_work_fail(work, "input is not a tensor");
	tw_param_in_out(work, in, out);
	return tw_work_set(work, kind->flops_each * results,
			   tw_bytes(in) + (out ? tw_bytes(out) : results * tw_element_bytes(in)),
			   in);
}

/* Written, and read by its name; what is named otherwise is only a result. */
static bool is_in_place(const struct tw_arguments *a, unsigned position)
{
	return position == tw_argument_at(a, "logits|" NAMES_IN) &&
	       strchr(tw_op_argument_list[a->known->first + position].type, '!');
}

static int moved_operands(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *first = tw_first_tensor(call);
	double most = 0, bytes = 0;
	unsigned i;

	if (!first)
		return tw_work_fail(work, "no tensor");
	for (i = 0; i < call->count; i++) {
		if (!tw_has_tensor(call, i))
			continue;
		most = fmax(most, tw_elements(&call->operand[i].dims));
		bytes += tw_bytes(&call->operand[i]) * (is_in_place(&a, i) ? 2 : 1);
	}
	tw_param_in_out(work, first, tw_argument_tensor(&a, NAMES_OUT));
	return tw_work_set(work, most, bytes, first);
}

static int whole_layer(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *first = tw_first_tensor(call);

	if (!first)
		return tw_work_fail(work, "no tensor");
	work->at_least = true;
	tw_param_dims(work, "op_shape", &first->dims);
	return tw_work_set(work, NAN,
			   tw_call_bytes(call) +
				   (tw_argument_tensor(&a, NAMES_OUT) ? 0 : tw_bytes(first)),
			   first);
}

#define ACTIVATION(id, parts_of_input, flops)                                    \
	TW_MODEL(id, "UnaryElementwise", VECTOR, .forward = activation,          \
		 .variant = &(const struct activation){ .parts = parts_of_input, \
							.flops_each = flops })
#define MOVED(id, sheet) TW_MODEL(id, sheet, VECTOR, .forward = moved_operands)
#define LAYER(id, sheet) TW_MODEL(id, sheet, MATRIX, .forward = whole_layer)

const struct tw_model tw_family_serving[] = {
	ACTIVATION(activation_into, 1, 1),
	ACTIVATION(silu_and_mul, 2, 5),
	ACTIVATION(gelu_and_mul, 2, 8),
	ACTIVATION(gelu_tanh_and_mul, 2, 10),
	ACTIVATION(gated_threshold, 2, 2),
	ACTIVATION(gated_swiglu_limited, 2, 10),
	MOVED(moved_operands, "UnaryElementwise"),
	MOVED(moved_experts, "MoE_aux"),
	MOVED(moved_attention, "InferenceAttention"),
	LAYER(moe_layer, "MoE_fused"),
	LAYER(ssm_layer, "SSM"),
	LAYER(attention_layer, "InferenceAttention"),
	{ .name = NULL },
};
