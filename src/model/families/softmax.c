/*
 * Softmax and its logarithm over one dimension; n elements.
 *
 *	forward	 y = exp(x - max) / sum: 5 n FLOPs: maximum, difference, exponential, sum, division;
 *		 log: x - max - log(sum): 5 n: maximum, difference, exponential, sum, difference
 *		 bytes = n b_in + n b_out
 *	backward dx = (dy - sum(dy y)) y: 4 n FLOPs: product, sum, difference, product;
 *		 log: dx = dy - exp(y) sum(dy): 4 n: sum, exponential, product, difference
 *		 bytes = n b_dy + n b_y + n b_dx
 *
 * The one logarithm of a row is not counted.  Every element moves once.  Derived from the
 * definitions; operands as in PyTorch's native_functions.yaml, where softmax and log_softmax are
 * made of _softmax and _log_softmax.
 *
 * Example: _softmax of bf16 (4, 8) over -1: 160 FLOPs, 64 + 64 bytes; its backward pass 128 FLOPs,
 * 192 bytes.
 */
#include "model/model.h"

#include <math.h>

static double bytes_of_type(int64_t number, double fallback)
{
	const struct tw_dtype *dtype = tw_dtype_of_number(number);

	return dtype ? dtype->bits / 8.0 : fallback;
}

static int take(const struct tw_call *call, unsigned dim_at, struct tw_work *work)
{
	const struct tw_operand *types[2] = { tw_operand_of(call, 0), NULL };
	int64_t dim = tw_value_integer(call, dim_at, INT64_MIN), rank = types[0]->dims.rank;
	bool known = dim != INT64_MIN;

	if (!rank)
		return tw_work_fail(work, "its input is no tensor");
	if (known && (dim < -rank || dim >= rank))
		return tw_work_fail(work, "its dimension does not fit its input");
	work->precision = tw_precision(types[0]);
	tw_param_dims(work, "op_shape", &types[0]->dims);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_strides(work, "stride_input", types[0]);
	tw_param_none(work, "stride_output");
	tw_param_integer(work, "dim", known ? (double)(dim < 0 ? dim + rank : dim) : NAN);
	return 0;
}

/* Bytes of an element of the result: half to float, or of the type that was asked for. */
static double out_bytes(const struct tw_call *call, double in)
{
	return bytes_of_type(tw_value_integer(call, 2, -1), tw_value_true(call, 2, false) ? 4 : in);
}

/* _softmax(x, dim, half_to_float), softmax(x, dim, type) */
static int forward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand_of(call, 0);
	double b = tw_element_bytes(x);

	if (take(call, 1, work))
		return -1;
	work->flops = 5 * tw_elements(&x->dims);
	work->bytes = tw_bytes(x) + tw_elements(&x->dims) * out_bytes(call, b);
	return 0;
}

/* The gradient of a forward call's result gives that of its input. */
static int backward_of_forward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand_of(call, 0);
	double b = tw_element_bytes(x);

	if (take(call, 1, work))
		return -1;
	work->flops = 4 * tw_elements(&x->dims);
	work->bytes = tw_elements(&x->dims) * (2 * out_bytes(call, b) + b);
	return 0;
}

/* _softmax_backward_data(dy, y, dim, type of x) */
static int backward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *dy = tw_operand_of(call, 0), *y = tw_operand_of(call, 1);
	double b = tw_element_bytes(dy);

	if (take(call, 2, work))
		return -1;
	if (tw_elements(&dy->dims) != tw_elements(&y->dims))
		return tw_work_fail(work, "its gradient does not fit its result");
	work->flops = 4 * tw_elements(&dy->dims);
	work->bytes = tw_bytes(dy) + tw_bytes(y) +
		      tw_elements(&dy->dims) * bytes_of_type(tw_value_integer(call, 3, -1), b);
	return 0;
}

const struct tw_model tw_model_softmax = {
	.name = "softmax",
	.sheet = "Softmax",
	.unit = TW_UNIT_VECTOR,
	.forward = forward,
	.backward = backward_of_forward,
};
const struct tw_model tw_model_softmax_backward = {
	.name = "softmax_backward",
	.sheet = "Softmax",
	.unit = TW_UNIT_VECTOR,
	.forward = backward,
};
/* softmax and log_softmax, which call the above. */
const struct tw_model tw_model_softmax_composite = {
	.name = "softmax_composite",
	.sheet = "Softmax",
	.unit = TW_UNIT_VECTOR,
	.forward = forward,
	.backward = backward_of_forward,
	.composite = true,
};
