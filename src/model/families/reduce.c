/*
 * Reductions: sum, mean, norm, std, var, logsumexp, max and min over all elements or over some
 * dimensions, and cumulative sums and products.  n: elements read, m: results, b: bytes.
 *
 *	forward	 FLOPs = n		bytes = n b + m b
 *	backward FLOPs = n		bytes = m b + n b: a gradient of a result for each element
 *	max and min over a dimension	bytes + 8 m: where each was, written, or read by the pass back
 *
 * m is the product of the dimensions that are not reduced; a cumulative operation has n results.
 * The dimensions are those that the call recorded: "[0]", "[-1, -2]", "1"; none or "[]" are all.
 * Max and min of two tensors are no reduction: each result, of the shape both broadcast to, is a
 * comparison, and three tensors move.
 *
 * Source: TraceLens 0.1, whose m is always 1; positions from PyTorch's native_functions.yaml.
 * Results count as large as the input's elements.
 *
 * Example: sum of float (3, 4, 5) over [-1, 0]: 60 FLOPs, 4 results, 60 x 4 + 4 x 4 = 256 bytes.
 */
#include "model/model.h"

#define PLACE_BYTES 8

static const char *reduce_type(const struct tw_slice *name)
{
	static const char *const types[] = { "mean", "max", "min", "norm" };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (tw_slice_contains(name, types[i]))
			return types[i];
	return "sum";
}

/* Whether a tensor is there, were it one without dimensions. */
static bool stands_there(const struct tw_operand *operand)
{
	return operand->type.len && !tw_slice_contains(&operand->type, "Scalar") &&
	       !operand->is_list;
}

/* The elements that are left, -1: the dimensions do not fit. */
static double left(const struct tw_dims *dims, const struct tw_dims *reduced)
{
	struct tw_dims rest = *dims;
	bool seen[TW_MAX_DIMS] = { false };
	unsigned i;

	for (i = 0; i < reduced->rank; i++) {
		int d = tw_dimension(dims, reduced->size[i]);

		if (d < 0 || seen[d])
			return -1;
		seen[d] = true;
		rest.size[d] = 1;
	}
	return tw_elements(&rest);
}

/* norm and linalg_norm have their order first. */
static unsigned position_of_dims(const struct tw_slice *name)
{
	return tw_slice_contains(name, "norm") ? 2 : 1;
}

/* max and min themselves; amax and amin return no indices. */
static bool picks(const struct tw_call *call)
{
	return tw_slice_contains(&call->name, "::max") || tw_slice_contains(&call->name, "::min");
}

/* Which dimensions go; false: all. */
static bool take_dims(const struct tw_call *call, struct tw_dims *reduced)
{
	unsigned position = position_of_dims(&call->name);
	int64_t dim;

	if (tw_value_list(call, position, reduced))
		return reduced->rank;
	/* One dimension by its number only in max and min: elsewhere a number is a type. */
	dim = tw_value_integer(call, position, INT64_MIN);
	*reduced = (struct tw_dims){ 1, { dim } };
	return dim != INT64_MIN && picks(call);
}

static int count_reduction(const struct tw_operand *input, double flops, double bytes,
			   double results, struct tw_work *work)
{
	TW_PARAM_INTEGERS(work, { "num_input_elems", tw_elements(&input->dims) },
			  { "num_output_elems", results });
	TW_PARAM_TYPES(work, "dtype_in_out", input, NULL);
	return tw_work_set(work, flops, bytes + results * tw_element_bytes(input), input);
}

/* max(a, b) of two tensors */
static int of_two(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *a = tw_operand(call, 0), *b = tw_operand(call, 1);
	struct tw_dims shape = a->dims;
	double results;

	if (!tw_broadcast(&shape, &b->dims))
		return tw_work_fail(work, "inputs do not broadcast");
	results = tw_elements(&shape);
	return count_reduction(a, results, tw_bytes(a) + tw_bytes(b), results, work);
}

static int of_dimensions(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *input = tw_operand(call, 0);
	double n = tw_elements(&input->dims), results = 1, places = 0;
	struct tw_dims reduced;

	if (tw_slice_contains(&call->name, "::cum")) {
		results = n;
	} else if (take_dims(call, &reduced)) {
		results = left(&input->dims, &reduced);
		places = picks(call) ? results : 0;
	}
	if (results < 0)
		return tw_work_fail(work, "dimensions do not match the input");
	return count_reduction(input, n, tw_bytes(input) + places * PLACE_BYTES, results, work);
}

/* Of the backward pass too: as much is read as was written, and written as was read. */
static int reduce(const struct tw_call *call, struct tw_work *work)
{
	int status;

	if (!stands_there(tw_operand(call, 0)))
		return tw_work_fail(work, "input is not a tensor");
	status = stands_there(tw_operand(call, 1)) && picks(call) ? of_two(call, work) :
								    of_dimensions(call, work);
	tw_param_text(work, "reduce_type", reduce_type(&call->name));
	return status;
}

const struct tw_model tw_family_reduce[] = {
	TW_MODEL(reduce, "Reduce", VECTOR, .forward = reduce, .backward = reduce),
	{ .name = NULL },
};
