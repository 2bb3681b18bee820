/*
 * Look-ups in a table: embedding, index_select, gather, and the gradient of an embedding.
 * m: elements of the result, p: elements of the table, i: bytes of the indices, b: of an element.
 *
 *	look-up	 FLOPs = 0		bytes = min(m, p) b + m b + i
 *	backward FLOPs = n		bytes = n b + V H b + i		n: elements of the gradient
 *
 * What is looked up twice is read once: a table is read whole at most, and of indices or a table
 * that are expanded (stride 0) what is distinct in memory.  The backward pass adds
 * every row of the gradient to a row of a table of V rows of H, which is written once.  Derived
 * from the definitions; operands as in PyTorch's native_functions.yaml, where embedding is made of
 * index_select.
 *
 * Example: embedding of 6 indices (2, 3) of long int in a table of float (10, 4): m = 24:
 * 96 + 96 + 48 = 240 bytes, no FLOPs.
 */
#include "model/model.h"

#include <math.h>

/* `different` elements of the table are looked up at most. */
static int finish(const struct tw_operand *table, const struct tw_operand *indices, double results,
		  double different, struct tw_work *work)
{
	const struct tw_operand *types[2] = { table, indices };

	work->flops = 0;
	work->bytes = (fmin(different, tw_distinct(table)) + results) * tw_element_bytes(table) +
		      tw_bytes(indices);
	work->precision = tw_precision(table);
	tw_param_dims(work, "op_shape", &table->dims);
	tw_param_dims(work, "index_shape", &indices->dims);
	tw_param_types(work, "dtype_table_index", types, 2);
	tw_param_integer(work, "num_output_elems", results);
	return 0;
}

/* embedding(table, indices, ...): a row for each index. */
static int embedding(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *table = tw_operand(call, 0), *indices = tw_operand(call, 1);

	if (table->dims.rank != 2)
		return tw_work_fail(work, "its table has no rows");
	return finish(table, indices, tw_elements(&indices->dims) * (double)table->dims.size[1],
		      tw_distinct(indices) * (double)table->dims.size[1], work);
}

/* index_select(x, dim, indices): what the indices say replaces one dimension. */
static int index_select(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *table = tw_operand(call, 0), *indices = tw_operand(call, 2);
	int64_t dim = tw_value_integer(call, 1, INT64_MIN), rank = table->dims.rank;
	struct tw_dims rest = table->dims;

	if (!rank)
		return tw_work_fail(work, "its input is no tensor");
	if (dim < -rank || dim >= rank)
		return tw_work_fail(work, "its dimension does not fit its input");
	if (indices->dims.rank > 1)
		return tw_work_fail(work, "its indices are no vector");
	rest.size[dim < 0 ? dim + rank : dim] = 1;
	return finish(table, indices, tw_elements(&rest) * tw_elements(&indices->dims),
		      tw_elements(&rest) * tw_distinct(indices), work);
}

/* gather(x, dim, indices, ...): an element for each index. */
static int gather(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *table = tw_operand(call, 0), *indices = tw_operand(call, 2);

	if (table->dims.rank != indices->dims.rank)
		return tw_work_fail(work, "its indices do not fit its input");
	return finish(table, indices, tw_elements(&indices->dims), tw_elements(&indices->dims),
		      work);
}

/* embedding_dense_backward(gradient, indices, rows of the table, ...) */
static int embedding_backward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *gradient = tw_operand(call, 0);
	const struct tw_operand *indices = tw_operand(call, 1),
				*types[2] = { gradient, indices };
	int64_t rows = tw_value_integer(call, 2, -1);
	unsigned rank = gradient->dims.rank;
	double n = tw_elements(&gradient->dims), width;

	if (!rank)
		return tw_work_fail(work, "its gradient is no tensor");
	width = (double)gradient->dims.size[rank - 1];
	if (tw_elements(&indices->dims) * width != n)
		return tw_work_fail(work, "its indices do not fit its gradient");
	work->flops = n;
	work->bytes = (tw_distinct(gradient) + (rows < 0 ? NAN : (double)rows) * width) *
			      tw_element_bytes(gradient) +
		      tw_bytes(indices);
	work->precision = tw_precision(gradient);
	tw_param_dims(work, "op_shape", &gradient->dims);
	tw_param_dims(work, "index_shape", &indices->dims);
	tw_param_types(work, "dtype_table_index", types, 2);
	tw_param_integer(work, "num_output_elems", rows < 0 ? NAN : (double)rows * width);
	return 0;
}

#define EMBEDDING(id, function, is_composite)                           \
	const struct tw_model tw_model_##id = { .name = #id,            \
						.sheet = "Embedding",   \
						.unit = TW_UNIT_VECTOR, \
						.forward = function,    \
						.composite = is_composite }

EMBEDDING(embedding, embedding, true);
/* On GPUs it is a gather. */
EMBEDDING(index_select, index_select, true);
EMBEDDING(gather, gather, false);
EMBEDDING(embedding_backward, embedding_backward, false);
