/*
 * Operations element by element.
 *
 *	unary:   FLOPs = n		bytes = n (in + out)
 *	copy:    FLOPs = n_to		bytes = n_to to + n_from from
 *	binary:  FLOPs = n_out		bytes = n1 in1 + n2 in2 + n_out out
 *
 * n: elements, of what is read those that are distinct in memory: an expanded operand (stride 0)
 * counts as one of the smaller shape does; in, out: bytes of an element; n_out by broadcasting the two shapes.  A number
 * passed by value counts as one element of four bytes.  An operation on an element is one FLOP
 * whatever it costs the GPU.  Source: TraceLens' conventions; operands as in
 * PyTorch's native_functions.yaml.
 *
 * Example: mul of float (4, 1, 8) and (5, 1): 4 x 5 x 8 = 160 FLOPs,
 * (32 + 5 + 160) x 4 = 788 bytes.
 */
#include "model/model.h"

#include <math.h>

static const char too_large[] = "sizes exceed any memory";
static const char no_sizes[] = "invalid output sizes";

static bool is_in_place(const struct tw_slice *name)
{
	return name->len && name->ptr[name->len - 1] == '_';
}

/* Of two inputs, after a factor where there is one; NULL: none was given. */
static const struct tw_operand *given_output(const struct tw_call *call)
{
	unsigned position = tw_has_tensor(call, 2) ? 2 : 3;

	return tw_has_tensor(call, position) ? tw_operand(call, position) : NULL;
}

/* Bytes of an output element: of the given output, else of the wider input. */
static double output_bytes(const struct tw_call *call)
{
	const struct tw_operand *second = tw_operand(call, 1);
	double a = tw_element_bytes(tw_operand(call, 0)), b = tw_element_bytes(second);

	if (given_output(call))
		return tw_element_bytes(given_output(call));
	/* In place it has the type of the first. */
	if (tw_slice_is(&second->type, "Scalar") || is_in_place(&call->name))
		return a;
	/* A tensor without dimensions does not widen the other. */
	if (tw_has_tensor(call, 0) != tw_has_tensor(call, 1))
		return tw_has_tensor(call, 0) ? a : b;
	if (isnan(a) || isnan(b))
		return NAN;
	return a > b ? a : b;
}

/* ---- unary */

/* Whether the second operand is a second input: an exponent or limits by element. */
static bool has_second_input(const struct tw_call *call)
{
	return tw_has_tensor(call, 1) &&
	       (tw_slice_contains(&call->name, "pow") || tw_slice_contains(&call->name, "clamp"));
}

/* The output follows where one is given; else it is like the input. */
static int unary(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = tw_operand(call, 0);
	const struct tw_operand *other = tw_has_tensor(call, 1) ? tw_operand(call, 1) : NULL;
	double n = tw_elements(&in->dims);

	if (isnan(n))
		return tw_work_fail(work, too_large);
	if (has_second_input(call)) {
		tw_param_in_out(work, in, NULL);
		return tw_work_set(work, n,
				   tw_bytes(in) + (tw_bytes(other) + n * output_bytes(call)), in);
	}
	tw_param_in_out(work, in, other);
	return tw_work_set(work, n, tw_bytes(in) + n * tw_element_bytes(other ? other : in), in);
}

/*
 * copy_(to, from): what is copied may be smaller, and is repeated then; numbers are tensors
 * without dimensions.  What was not recorded is as large as its copy.
 */
static int copy(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *to = tw_operand(call, 0), *from = tw_operand(call, 1);
	double n = tw_elements(&to->dims), written = n * tw_element_bytes(to);

	if (isnan(n))
		return tw_work_fail(work, too_large);
	tw_param_in_out(work, to, tw_is_tensor(from) ? from : NULL);
	return tw_work_set(work, n, written + (from->type.len ? tw_bytes(from) : written), to);
}

/* An output of another size than the input: every output element is written once. */
static int resize(const struct tw_operand *in, const struct tw_dims *out, struct tw_work *work)
{
	double n = tw_elements(out);

	if (isnan(n) || n < 0)
		return tw_work_fail(work, no_sizes);
	tw_param_dims(work, "op_shape", out);
	TW_PARAM_TYPES(work, "dtype_in_out", in, in);
	tw_param_strides(work, "stride_input", in);
	tw_param_none(work, "stride_output");
	tw_param_dims(work, "input_shape", &in->dims);
	tw_param_dims(work, "output_shape", out);
	return tw_work_set(work, n, tw_bytes(in) + n * tw_element_bytes(in), in);
}

/* aten::replication_padNd(input, padding): before and after, from the last dimension on. */
static int replication_pad(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = tw_operand(call, 0);
	struct tw_dims padding, out = in->dims;
	unsigned i;

	if (!tw_value_list(call, 1, &padding) || padding.rank % 2 || padding.rank / 2 > out.rank)
		return tw_work_fail(work, "padding not recorded");
	for (i = 0; i < padding.rank; i++) {
		int64_t *size = &out.size[out.rank - 1 - i / 2];

		if (__builtin_add_overflow(*size, padding.size[i], size))
			return tw_work_fail(work, no_sizes);
	}
	return resize(in, &out, work);
}

/*
 * aten::upsample_nearestNd(input (N, C, ...), output_size, scales...), or with the factors as a list
 * in the third place where no size is given.
 */
static int upsample_nearest(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = tw_operand(call, 0);
	struct tw_dims size, out = in->dims;
	double factors[TW_MAX_DIMS];
	unsigned i, spatial = out.rank > 2 ? out.rank - 2 : 0;

	if (spatial && tw_value_list(call, 1, &size) && size.rank == spatial) {
		for (i = 0; i < spatial; i++)
			out.size[2 + i] = size.size[i];
		return resize(in, &out, work);
	}
	if (!spatial || tw_value_reals(call, 2, factors, TW_MAX_DIMS) != spatial)
		return tw_work_fail(work, "output size not recorded");
	for (i = 0; i < spatial; i++) {
		double scaled = floor((double)out.size[2 + i] * factors[i]);

		if (!(scaled >= 0 && scaled < 0x1p53))
			return tw_work_fail(work, no_sizes);
		out.size[2 + i] = (int64_t)scaled;
	}
	return resize(in, &out, work);
}

/* ---- binary */

/* With as many operations for an element of the result as the variant says. */
static int binary(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *a = tw_operand(call, 0), *b = tw_operand(call, 1);
	const struct tw_operand *out = given_output(call);
	const int *flops_each = work->model->variant;
	struct tw_dims shape = a->dims;
	double n;

	if (!tw_broadcast(&shape, &b->dims))
		return tw_work_fail(work, "shapes do not match");
	n = tw_elements(&shape);
	if (isnan(n))
		return tw_work_fail(work, too_large);
	tw_param_dims(work, "shape_in1", &a->dims);
	tw_param_dims(work, "shape_in2", &b->dims);
	TW_PARAM_TYPES(work, "dtype_in1_in2_out", a, b, out);
	tw_param_strides(work, "stride_input1", a);
	tw_param_strides(work, "stride_input2", b);
	tw_param_strides(work, "stride_output", out);
	return tw_work_set(work, *flops_each * n,
			   tw_bytes(a) + tw_bytes(b) + n * output_bytes(call), a);
}

#define UNARY(id) TW_MODEL(id, "UnaryElementwise", VECTOR, .forward = id)
#define BINARY(id, flops)                                            \
	TW_MODEL(id, "BinaryElementwise", VECTOR, .forward = binary, \
		 .variant = &(const int){ flops })

const struct tw_model tw_family_elementwise[] = {
	UNARY(unary),
	UNARY(copy),
	UNARY(replication_pad),
	UNARY(upsample_nearest),
	BINARY(binary, 1),
	/* silu(a) b: four operations for silu, one for the product */
	BINARY(silu_mul, 5),
	{ .name = NULL },
};
