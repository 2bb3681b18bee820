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
#include <string.h>

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

static bool is_named(const struct tw_call *call, const char *part)
{
	size_t len = strlen(part), i;

	for (i = 0; i + len <= call->name.len; i++)
		if (!memcmp(call->name.ptr + i, part, len))
			return true;
	return false;
}

static bool is_in_place(const struct tw_slice *name)
{
	return name->len && name->ptr[name->len - 1] == '_';
}

static bool is_number(const struct tw_operand *operand)
{
	return operand->type.len == 6 && !memcmp(operand->type.ptr, "Scalar", 6);
}

/* Of two inputs, behind a factor where there is one; NULL: none was given. */
static const struct tw_operand *given_output(const struct tw_call *call)
{
	return tw_has_tensor(call, 2) ? at(call, 2) : tw_has_tensor(call, 3) ? at(call, 3) : NULL;
}

/* Bytes of an output element: of the given output, else of the wider input. */
static double output_bytes(const struct tw_call *call)
{
	double a = tw_element_bytes(at(call, 0)), b = tw_element_bytes(at(call, 1));

	if (given_output(call))
		return tw_element_bytes(given_output(call));
	/* In place it has the type of the first. */
	if (is_number(at(call, 1)) || is_in_place(&call->name))
		return a;
	/* A tensor without dimensions does not widen the other. */
	if (tw_has_tensor(call, 0) != tw_has_tensor(call, 1))
		return tw_has_tensor(call, 0) ? a : b;
	if (isnan(a) || isnan(b))
		return NAN;
	return a > b ? a : b;
}

/* ---- unary */

static void describe_unary(const struct tw_operand *in, const struct tw_operand *out,
			   struct tw_work *work)
{
	const struct tw_operand *types[] = { in, out };

	work->precision = tw_precision(in);
	tw_param_dims(work, "op_shape", &in->dims);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_strides(work, "stride_input", in);
	if (out)
		tw_param_strides(work, "stride_output", out);
	else
		tw_param_none(work, "stride_output");
}

/* Whether the second operand is a second input: an exponent or limits by element. */
static bool has_second_input(const struct tw_call *call)
{
	return tw_has_tensor(call, 1) && (is_named(call, "pow") || is_named(call, "clamp"));
}

/* The output follows where one is given; else it is like the input. */
static int unary(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = at(call, 0);
	const struct tw_operand *out = tw_has_tensor(call, 1) ? at(call, 1) : NULL;
	double n = tw_elements(&in->dims);
	bool second = has_second_input(call);

	if (isnan(n))
		return tw_work_fail(work, "its sizes are larger than any memory");
	work->flops = n;
	work->bytes = tw_bytes(in);
	if (second)
		work->bytes += tw_bytes(out) + n * output_bytes(call);
	else
		work->bytes += n * tw_element_bytes(out ? out : in);
	describe_unary(in, second ? NULL : out, work);
	return 0;
}

/*
 * copy_(to, from): what is copied may be smaller, and is repeated then; numbers are tensors
 * without dimensions.
 */
static int copy(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *to = at(call, 0), *from = at(call, 1);
	double n = tw_elements(&to->dims);

	if (isnan(n))
		return tw_work_fail(work, "its sizes are larger than any memory");
	work->flops = n;
	/* What was not recorded is as large as its copy. */
	work->bytes = n * tw_element_bytes(to) +
		      (from->type.len ? tw_bytes(from) : n * tw_element_bytes(to));
	describe_unary(to, tw_has_tensor(call, 1) ? from : NULL, work);
	return 0;
}

const struct tw_model tw_model_copy = {
	.name = "copy",
	.sheet = "UnaryElementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = copy,
};

const struct tw_model tw_model_unary = {
	.name = "unary",
	.sheet = "UnaryElementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = unary,
};

/* An output of another size than the input: every output element is written once. */
static int resize(const struct tw_operand *in, const struct tw_dims *out, struct tw_work *work)
{
	const struct tw_operand *types[] = { in, in };
	double outputs = tw_elements(out);

	if (isnan(outputs) || outputs < 0)
		return tw_work_fail(work, "its output sizes make no sense");
	work->flops = outputs;
	work->bytes = tw_bytes(in) + outputs * tw_element_bytes(in);
	work->precision = tw_precision(in);
	tw_param_dims(work, "op_shape", out);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_strides(work, "stride_input", in);
	tw_param_none(work, "stride_output");
	tw_param_dims(work, "input_shape", &in->dims);
	tw_param_dims(work, "output_shape", out);
	return 0;
}

/* aten::replication_padNd(input, padding): before and after, from the last dimension on. */
static int replication_pad(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = at(call, 0);
	struct tw_dims padding, out = in->dims;
	unsigned i;

	if (!tw_value_list(call, 1, &padding) || padding.rank % 2 || padding.rank / 2 > out.rank)
		return tw_work_fail(work, "its padding was not recorded");
	for (i = 0; i < padding.rank; i += 2)
		if (__builtin_add_overflow(out.size[out.rank - 1 - i / 2], padding.size[i],
					   &out.size[out.rank - 1 - i / 2]) ||
		    __builtin_add_overflow(out.size[out.rank - 1 - i / 2], padding.size[i + 1],
					   &out.size[out.rank - 1 - i / 2]))
			return tw_work_fail(work, "its output sizes make no sense");
	return resize(in, &out, work);
}

const struct tw_model tw_model_replication_pad = {
	.name = "replication_pad",
	.sheet = "UnaryElementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = replication_pad,
};

/*
 * aten::upsample_nearestNd(input (N, C, ...), output_size, scales...), or with the factors as a list
 * in the third place where no size is given.
 */
static int upsample_nearest(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = at(call, 0);
	struct tw_dims size, out = in->dims;
	double factors[TW_MOST_DIMS];
	unsigned i, spatial = out.rank > 2 ? out.rank - 2 : 0;

	if (spatial && tw_value_list(call, 1, &size) && size.rank == spatial) {
		for (i = 0; i < spatial; i++)
			out.size[2 + i] = size.size[i];
		return resize(in, &out, work);
	}
	if (!spatial || tw_value_reals(call, 2, factors, TW_MOST_DIMS) != spatial)
		return tw_work_fail(work, "its output size was not recorded");
	for (i = 0; i < spatial; i++) {
		double scaled = floor((double)out.size[2 + i] * factors[i]);

		if (!(scaled >= 0 && scaled < 0x1p53))
			return tw_work_fail(work, "its output sizes make no sense");
		out.size[2 + i] = (int64_t)scaled;
	}
	return resize(in, &out, work);
}

const struct tw_model tw_model_upsample_nearest = {
	.name = "upsample_nearest",
	.sheet = "UnaryElementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = upsample_nearest,
};

/* ---- binary */

/* The shape of the result; false when the two do not fit each other. */
static bool broadcast(const struct tw_dims *a, const struct tw_dims *b, struct tw_dims *out)
{
	unsigned rank = a->rank > b->rank ? a->rank : b->rank, i;

	out->rank = rank;
	for (i = 1; i <= rank; i++) {
		int64_t x = i <= a->rank ? a->size[a->rank - i] : 1;
		int64_t y = i <= b->rank ? b->size[b->rank - i] : 1;

		if (x != y && x != 1 && y != 1)
			return false;
		out->size[rank - i] = x == 1 ? y : x;
	}
	return true;
}

static int two_inputs(const struct tw_call *call, double flops_each, struct tw_work *work)
{
	const struct tw_operand *a = at(call, 0), *b = at(call, 1);
	const struct tw_operand *out = given_output(call);
	const struct tw_operand *types[] = { a, b, out };
	struct tw_dims shape;
	double n;

	if (!broadcast(&a->dims, &b->dims, &shape))
		return tw_work_fail(work, "its shapes do not fit each other");
	n = tw_elements(&shape);
	if (isnan(n))
		return tw_work_fail(work, "its sizes are larger than any memory");
	work->flops = flops_each * n;
	work->bytes = tw_bytes(a) + tw_bytes(b) + n * output_bytes(call);
	work->precision = tw_precision(a);
	tw_param_dims(work, "shape_in1", &a->dims);
	tw_param_dims(work, "shape_in2", &b->dims);
	tw_param_types(work, "dtype_in1_in2_out", types, 3);
	tw_param_strides(work, "stride_input1", a);
	tw_param_strides(work, "stride_input2", b);
	if (out)
		tw_param_strides(work, "stride_output", out);
	else
		tw_param_none(work, "stride_output");
	return 0;
}

static int binary(const struct tw_call *call, struct tw_work *work)
{
	return two_inputs(call, 1, work);
}

/* silu(a) b: four operations for silu, one for the product. */
static int silu_mul(const struct tw_call *call, struct tw_work *work)
{
	return two_inputs(call, 5, work);
}

const struct tw_model tw_model_binary = {
	.name = "binary",
	.sheet = "BinaryElementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = binary,
};
const struct tw_model tw_model_silu_mul = {
	.name = "silu_mul",
	.sheet = "BinaryElementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = silu_mul,
};
