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

/* Bytes of an element of a type by its number, `otherwise` where it is none. */
static double type_bytes(const struct tw_call *call, unsigned position, double otherwise)
{
	const struct tw_dtype *dtype = tw_dtype_of_number(tw_value_integer(call, position, -1));

	return dtype ? dtype->bits / 8.0 : otherwise;
}

static int describe_softmax(const struct tw_call *call, unsigned dim_at, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	int64_t number = tw_value_integer(call, dim_at, INT64_MIN);
	int dim = tw_dimension(&x->dims, number);
	bool known = number != INT64_MIN;

	if (!tw_is_tensor(x))
		return tw_work_fail(work, "input is not a tensor");
	if (known && dim < 0)
		return tw_work_fail(work, "dimension does not match the input");
	tw_param_in_out(work, x, NULL);
	tw_param_integer(work, "dim", known ? dim : NAN);
	return 0;
}

/* _softmax(x, dim, half_to_float), softmax(x, dim, type), and the gradient of their results. */
static int softmax(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	double n = tw_elements(&x->dims), in_bytes = tw_element_bytes(x);
	/* Half to float, or the type that was asked for. */
	double out_bytes = type_bytes(call, 2, tw_value_true(call, 2, false) ? 4 : in_bytes);

	if (describe_softmax(call, 1, work))
		return -1;
	if (work->backward)
		return tw_work_set(work, 4 * n, n * (2 * out_bytes + in_bytes), x);
	return tw_work_set(work, 5 * n, tw_bytes(x) + n * out_bytes, x);
}

/* _softmax_backward_data(dy, y, dim, type of x) */
static int softmax_backward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *dy = tw_operand(call, 0), *y = tw_operand(call, 1);
	double n = tw_elements(&dy->dims);

	if (describe_softmax(call, 2, work))
		return -1;
	if (n != tw_elements(&y->dims))
		return tw_work_fail(work, "gradient does not match the result");
	return tw_work_set(
		work, 4 * n,
		tw_bytes(dy) + tw_bytes(y) + n * type_bytes(call, 3, tw_element_bytes(dy)), dy);
}

#define SOFTMAX(id, ...) TW_MODEL(id, "Softmax", VECTOR, __VA_ARGS__)

const struct tw_model tw_family_softmax[] = {
	SOFTMAX(softmax, .forward = softmax, .backward = softmax),
	SOFTMAX(softmax_backward, .forward = softmax_backward),
	/* softmax and log_softmax, which call the above. */
	SOFTMAX(softmax_composite, .forward = softmax, .backward = softmax, .composite = true),
	{ .name = NULL },
};
