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

#include <string.h>

#define PLACE_BYTES 8

static bool contains(const struct tw_slice *text, const char *part)
{
	size_t len = strlen(part), i;

	for (i = 0; i + len <= text->len; i++)
		if (!memcmp(text->ptr + i, part, len))
			return true;
	return false;
}

static const char *reduce_type(const struct tw_slice *name)
{
	static const char *const types[] = { "mean", "max", "min", "norm" };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (contains(name, types[i]))
			return types[i];
	return "sum";
}

/* Whether a tensor stands there, were it one without dimensions. */
static bool is_tensor(const struct tw_operand *operand)
{
	return operand->type.len && !contains(&operand->type, "Scalar") && !operand->is_list;
}

/* The elements that are left, -1: the dimensions do not fit. */
static double left(const struct tw_dims *dims, const struct tw_dims *reduced)
{
	/* A number is as a vector of one. */
	int64_t rank = dims->rank ? dims->rank : 1;
	struct tw_dims rest = *dims;
	unsigned i;
	bool seen[TW_MOST_DIMS] = { false };

	for (i = 0; i < reduced->rank; i++) {
		int64_t d = reduced->size[i] < 0 ? reduced->size[i] + rank : reduced->size[i];

		if (d < 0 || d >= rank || seen[d])
			return -1;
		seen[d] = true;
		rest.size[d] = 1;
	}
	return tw_elements(&rest);
}

/* norm and linalg_norm have their order first. */
static unsigned position_of_dims(const struct tw_slice *name)
{
	return contains(name, "norm") ? 2 : 1;
}

/* max and min themselves; amax and amin tell no places. */
static bool picks(const struct tw_call *call)
{
	return contains(&call->name, "::max") || contains(&call->name, "::min");
}

/* How many results, and how many places of them, or why it cannot be said. */
static int count_results(const struct tw_call *call, double *results, double *places,
			 struct tw_work *work)
{
	const struct tw_dims *dims = &tw_operand(call, 0)->dims;
	unsigned position = position_of_dims(&call->name);
	struct tw_dims reduced;
	int64_t dim;

	*results = 1;
	*places = 0;
	if (contains(&call->name, "::cum")) {
		*results = tw_elements(dims);
		return 0;
	}
	if (!tw_value_list(call, position, &reduced)) {
		/* One dimension by its number only in max and min: elsewhere a number is a type. */
		dim = tw_value_integer(call, position, INT64_MIN);
		if (dim == INT64_MIN || !picks(call))
			return 0;
		reduced.rank = 1;
		reduced.size[0] = dim;
	}
	if (!reduced.rank)
		return 0;
	*results = left(dims, &reduced);
	*places = picks(call) ? *results : 0;
	return *results < 0 ? tw_work_fail(work, "its dimensions do not fit its input") : 0;
}

static void add_parameters(const struct tw_call *call, struct tw_work *work, double results)
{
	const struct tw_operand *types[2] = { tw_operand(call, 0), NULL };

	work->precision = tw_precision(types[0]);
	tw_param_integer(work, "num_input_elems", tw_elements(&types[0]->dims));
	tw_param_integer(work, "num_output_elems", results);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_text(work, "reduce_type", reduce_type(&call->name));
}

/* The product of both shapes' dimensions as they broadcast, -1: they do not. */
static double broadcast(const struct tw_dims *a, const struct tw_dims *b)
{
	struct tw_dims out = { .rank = a->rank > b->rank ? a->rank : b->rank };
	unsigned i;

	/* From the last dimension. */
	for (i = 0; i < out.rank; i++) {
		int64_t x = i < a->rank ? a->size[a->rank - 1 - i] : 1;
		int64_t y = i < b->rank ? b->size[b->rank - 1 - i] : 1;

		if (x != y && x != 1 && y != 1)
			return -1;
		out.size[i] = x == 1 ? y : x;
	}
	return tw_elements(&out);
}

/* max(a, b) of two tensors */
static int of_two(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *a = tw_operand(call, 0), *b = tw_operand(call, 1);
	double results = broadcast(&a->dims, &b->dims);

	if (results < 0)
		return tw_work_fail(work, "its inputs do not broadcast");
	work->flops = results;
	work->bytes = tw_bytes(a) + tw_bytes(b) + results * tw_element_bytes(a);
	add_parameters(call, work, results);
	return 0;
}

static int reduce(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *input = tw_operand(call, 0);
	double results, places;

	if (!is_tensor(input))
		return tw_work_fail(work, "its input is no tensor");
	if (is_tensor(tw_operand(call, 1)) && picks(call))
		return of_two(call, work);
	if (count_results(call, &results, &places, work))
		return -1;
	work->flops = tw_elements(&input->dims);
	work->bytes = tw_bytes(input) + results * tw_element_bytes(input) + places * PLACE_BYTES;
	add_parameters(call, work, results);
	return 0;
}

/* As much is read as was written, and written as was read. */
static int reduce_backward(const struct tw_call *call, struct tw_work *work)
{
	return reduce(call, work);
}

const struct tw_model tw_model_reduce = {
	.name = "reduce",
	.sheet = "Reduce",
	.unit = TW_UNIT_VECTOR,
	.forward = reduce,
	.backward = reduce_backward,
};
