/*
 * Grouped matrix products, as in a mixture of experts: T rows in G groups, each with a matrix of
 * its own; a, b, out: bytes of an element.
 *
 *	grouped_gemm	 out (T, N) = A (T, K) B[group] (K, N)
 *		FLOPs = 2 T K N			bytes = T K a + G K N b + T N out
 *	variable K	 out[group] (M, N) = A[group]^T B[group], A (T, M), B (T, N)
 *		FLOPs = 2 T M N			bytes = T M a + T N b + G M N out
 *	backward of both: two products of as many FLOPs; A, B and the gradient of the result are
 *		read by one of them each, or two, and two gradients are written: everything twice
 *
 * Source: TraceLens 0.1 for the forward passes, the definition for the backward ones; operands as
 * in Primus-Turbo (A, B, group lengths, group offsets, ...).  B may be stored transposed: its
 * shape tells.  Products of 8 bits are written in 16.
 *
 * Example: grouped_gemm of bf16 (6, 8) by 2 matrices (8, 4): 2 x 6 x 8 x 4 = 384 FLOPs,
 * (48 + 64 + 24) x 2 = 272 bytes.
 */
#include "model/model.h"

#include <math.h>

struct grouped {
	const struct tw_operand *a, *b;
	double m, n, k, groups;
	double a_elements, b_elements, out_elements;
};

static int finish(struct tw_work *work, const struct grouped *g, bool backward)
{
	double a_bytes = tw_element_bytes(g->a), b_bytes = tw_element_bytes(g->b);
	double out_bytes = a_bytes == 1 ? 2 : a_bytes;
	const struct tw_operand *types[2] = { g->a, g->b };

	work->flops = 2 * g->m * g->n * g->k;
	work->bytes = g->a_elements * a_bytes * tw_distinct_share(g->a) +
		      g->b_elements * b_bytes * tw_distinct_share(g->b) +
		      g->out_elements * out_bytes;
	if (backward) {
		work->flops *= 2;
		/* Gradients of A and B are as wide as results are. */
		work->bytes += (g->a_elements + g->b_elements + g->out_elements) * out_bytes;
	}
	work->precision = tw_precision(g->a);
	tw_param_integer(work, "M", g->m);
	tw_param_integer(work, "N", g->n);
	tw_param_integer(work, "K", g->k);
	tw_param_integer(work, "G", g->groups);
	tw_param_strides(work, "stride_A", g->a);
	tw_param_strides(work, "stride_B", g->b);
	tw_param_types(work, "dtype_A_B", types, 2);
	return 0;
}

static int take(const struct tw_call *call, struct grouped *g, struct tw_work *work)
{
	*g = (struct grouped){ .a = tw_operand_of(call, 0), .b = tw_operand_of(call, 1) };
	if (g->a->is_list || g->b->is_list)
		return tw_work_fail(work, "its operands are lists of tensors");
	if (g->a->dims.rank != 2)
		return tw_work_fail(work, "its first operand is no matrix");
	return 0;
}

static int fixed(const struct tw_call *call, struct tw_work *work, bool backward)
{
	struct grouped g;
	const int64_t *size;

	if (take(call, &g, work))
		return -1;
	if (g.b->dims.rank != 3)
		return tw_work_fail(work, "its second operand has no matrix for each group");
	size = g.b->dims.size;
	if (size[1] != g.a->dims.size[1] && size[2] != g.a->dims.size[1])
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g.m = (double)g.a->dims.size[0];
	g.k = (double)g.a->dims.size[1];
	g.n = (double)(size[1] == g.a->dims.size[1] ? size[2] : size[1]);
	g.groups = (double)size[0];
	g.a_elements = g.m * g.k;
	g.b_elements = g.groups * g.k * g.n;
	g.out_elements = g.m * g.n;
	return finish(work, &g, backward);
}

static int variable(const struct tw_call *call, struct tw_work *work, bool backward)
{
	const struct tw_operand *lengths = tw_operand_of(call, 2);
	struct grouped g;

	if (take(call, &g, work))
		return -1;
	if (g.b->dims.rank != 2 || g.a->dims.size[0] != g.b->dims.size[0])
		return tw_work_fail(work, "its operands have not as many rows");
	if (lengths->dims.rank != 1)
		return tw_work_fail(work, "the lengths of its groups were not recorded");
	g.k = (double)g.a->dims.size[0];
	g.m = (double)g.a->dims.size[1];
	g.n = (double)g.b->dims.size[1];
	g.groups = (double)lengths->dims.size[0];
	g.a_elements = g.k * g.m;
	g.b_elements = g.k * g.n;
	g.out_elements = g.groups * g.m * g.n;
	return finish(work, &g, backward);
}

static int fixed_forward(const struct tw_call *call, struct tw_work *work)
{
	return fixed(call, work, false);
}

static int fixed_backward(const struct tw_call *call, struct tw_work *work)
{
	return fixed(call, work, true);
}

static int variable_forward(const struct tw_call *call, struct tw_work *work)
{
	return variable(call, work, false);
}

static int variable_backward(const struct tw_call *call, struct tw_work *work)
{
	return variable(call, work, true);
}

const struct tw_model tw_model_grouped_gemm = {
	.name = "grouped_gemm",
	.sheet = "GroupedGEMM",
	.unit = TW_UNIT_MATRIX,
	.forward = fixed_forward,
	.backward = fixed_backward,
	.backward_category = "GroupedGEMM_bwd",
};
const struct tw_model tw_model_grouped_gemm_variable_k = {
	.name = "grouped_gemm_variable_k",
	.sheet = "GroupedGEMM",
	.unit = TW_UNIT_MATRIX,
	.forward = variable_forward,
	.backward = variable_backward,
	.backward_category = "GroupedGEMM_bwd",
};
