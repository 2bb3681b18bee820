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

static int count_look_up(const struct tw_operand *table, const struct tw_operand *indices,
			 double results, double flops, double bytes, struct tw_work *work)
{
	tw_param_dims(work, "op_shape", &table->dims);
	tw_param_dims(work, "index_shape", &indices->dims);
	TW_PARAM_TYPES(work, "dtype_table_index", table, indices);
	tw_param_integer(work, "num_output_elems", results);
	return tw_work_set(work, flops, bytes + tw_bytes(indices), table);
}

/* `different` elements of the table are looked up at most. */
static int look_up(const struct tw_operand *table, const struct tw_operand *indices, double results,
		   double different, struct tw_work *work)
{
	double moved = fmin(different, tw_distinct(table)) + results;

	return count_look_up(table, indices, results, 0, moved * tw_element_bytes(table), work);
}

/* embedding(table, indices, ...): a row for each index. */
static int embedding(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *table = tw_operand(call, 0), *indices = tw_operand(call, 1);

	if (table->dims.rank != 2)
		return tw_work_fail(work, "table has no rows");
	return look_up(table, indices, tw_elements(&indices->dims) * tw_size(table, 1),
		       tw_distinct(indices) * tw_size(table, 1), work);
}

/* index_select(x, dim, indices): what the indices say replaces one dimension. */
static int index_select(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *table = tw_operand(call, 0), *indices = tw_operand(call, 2);
	int dim = tw_dimension(&table->dims, tw_value_integer(call, 1, INT64_MIN));
	struct tw_dims rest = table->dims;

	if (!tw_is_tensor(table))
		return tw_work_fail(work, "input is not a tensor");
	if (dim < 0)
		return tw_work_fail(work, "dimension does not match the input");
	if (indices->dims.rank > 1)
		return tw_work_fail(work, "indices are not a vector");
	rest.size[dim] = 1;
	return look_up(table, indices, tw_elements(&rest) * tw_elements(&indices->dims),
		       tw_elements(&rest) * tw_distinct(indices), work);
}

/* gather(x, dim, indices, ...): an element for each index. */
static int gather(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *table = tw_operand(call, 0), *indices = tw_operand(call, 2);
	double n = tw_elements(&indices->dims);

	if (table->dims.rank != indices->dims.rank)
		return tw_work_fail(work, "indices do not match the input");
	return look_up(table, indices, n, n, work);
}

/* embedding_dense_backward(gradient, indices, rows of the table, ...) */
static int embedding_backward(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *gradient = tw_operand(call, 0), *indices = tw_operand(call, 1);
	int64_t rows = tw_value_integer(call, 2, -1);
	double n = tw_elements(&gradient->dims), width, results;

	if (!tw_is_tensor(gradient))
		return tw_work_fail(work, "gradient is not a tensor");
	width = tw_size(gradient, -1);
	if (tw_elements(&indices->dims) * width != n)
		return tw_work_fail(work, "indices do not match the gradient");
	results = rows < 0 ? NAN : (double)rows * width;
	return count_look_up(gradient, indices, results, n,
			     (tw_distinct(gradient) + results) * tw_element_bytes(gradient), work);
}

#define EMBEDDING(id, ...) TW_MODEL(id, "Embedding", VECTOR, .forward = id, __VA_ARGS__)

const struct tw_model tw_family_embedding[] = {
	EMBEDDING(embedding, .composite = true),
	/* On GPUs it is a gather. */
	EMBEDDING(index_select, .composite = true),
	EMBEDDING(gather),
	EMBEDDING(embedding_backward),
	{ .name = NULL },
};
