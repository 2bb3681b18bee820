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
 *	by name		 the rows of A, in groups one after another (T, K) or apart (G, M, K), by B (G,
 *		K, N) or (G, N, K); or A (M, T) by B (T, N), or (G, M, K) by (K, T), in G groups of T
 *		FLOPs = 2 T K N, of groups apart G expected rows where those are given, else G M
 *		bytes = A + B of min(G, T) groups + result; with four bits the scales too
 *
 * Which rows go to which group, and how many of (G, M) are in use, is data on the GPU: B is counted
 * whole unless there are fewer rows than groups, and rows that only pad are counted.
 *
 * Source: TraceLens 0.1 for the forward passes, the definition for the backward ones; operands as
 * in Primus-Turbo (A, B, group lengths, group offsets, ...).  B may be stored transposed: its
 * shape tells.  Products of 8 bits are written in 16.
 *
 * Example: grouped_gemm of bf16 (6, 8) by 2 matrices (8, 4): 2 x 6 x 8 x 4 = 384 FLOPs,
 * (48 + 64 + 24) x 2 = 272 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>

struct grouped {
	const struct tw_operand *a, *b;
	const struct tw_operand *out; /* NULL: it is no argument */
	double m, n, k, groups;
	double a_elements, b_elements, out_elements;
};

static int finish(struct tw_work *work, const struct grouped *g, bool backward)
{
	double a_bytes = tw_element_bytes(g->a), b_bytes = tw_element_bytes(g->b);
	double out_bytes = g->out ? tw_element_bytes(g->out) : a_bytes == 1 ? 2 : a_bytes;
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
	*g = (struct grouped){ .a = tw_operand(call, 0), .b = tw_operand(call, 1) };
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
	const struct tw_operand *lengths = tw_operand(call, 2);
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

/* ---- by the names of arguments */

#define NAMES_A "a|a_tensors|self|mat_a|mat1|x|input|act|A|lhs"
#define NAMES_B "b|b_tensors|mat2|mat_b|weight|weights|B|rhs|b_q_weight"
#define NAMES_OUT "out|output|d|out_tensors|D|c"
#define NAMES_GROUPS "offs|expert_offsets|m_indices|masked_m|problem_sizes"

static double dim(const struct tw_operand *operand, unsigned from_end)
{
	return (double)operand->dims.size[operand->dims.rank - from_end];
}

/* Groups by one B each: N is what B has beside K, whose size it also may have. */
static int take_groups(struct grouped *g, const struct tw_arguments *a,
		       const struct tw_operand *out, unsigned values, struct tw_work *work)
{
	double inner = dim(g->a, 1);

	g->k = inner * values;
	g->groups = (double)g->b->dims.size[0];
	g->m = g->k > 0 ? tw_elements(&g->a->dims) / inner : 0;
	if (out->dims.rank)
		g->n = dim(out, 1);
	else if (dim(g->b, 2) == inner || dim(g->b, 1) == inner)
		g->n = dim(g->b, 2) == inner ? dim(g->b, 1) : dim(g->b, 2);
	else
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g->a_elements = tw_elements(&g->a->dims);
	g->b_elements = tw_elements(&g->b->dims) / g->groups * fmin(g->groups, g->m);
	if (g->a->dims.rank == 3) {
		double expected = tw_argument_integer(a, "expected_m", NAN);

		if (expected > 0 && expected * g->groups <= g->m) {
			g->a_elements *= expected * g->groups / g->m;
			g->m = expected * g->groups;
		}
	}
	g->out_elements = g->m * g->n;
	return 0;
}

/* The groups are those of the inner size, or of B's columns. */
static int take_shared(struct grouped *g, const struct tw_arguments *a, struct tw_work *work)
{
	const struct tw_operand *offsets = tw_argument(a, NAMES_GROUPS);

	g->groups = g->a->dims.rank == 3 ? (double)g->a->dims.size[0] :
		    offsets->dims.rank	 ? (double)offsets->dims.size[0] :
					   NAN;
	if (isnan(g->groups))
		return tw_work_fail(work, "the number of its groups was not recorded");
	if (dim(g->a, 1) != dim(g->b, 2))
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g->m = dim(g->a, 2);
	g->k = dim(g->a, 1);
	g->n = dim(g->b, 1);
	g->a_elements = tw_elements(&g->a->dims);
	g->b_elements = g->k * g->n;
	g->out_elements = g->m * g->n * (g->a->dims.rank == 3 ? 1 : g->groups);
	return 0;
}

static int named(const struct tw_call *call, bool four_bits, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out = tw_argument(&a, NAMES_OUT);
	struct grouped g = { .a = tw_argument(&a, NAMES_A), .b = tw_argument(&a, NAMES_B) };
	unsigned values = four_bits ? 2 : (unsigned)tw_packed_values(g.a);
	int status;

	if (g.a->dims.rank < 2 || g.a->dims.rank > 3 || g.b->dims.rank < 2 || g.b->dims.rank > 3)
		return tw_work_fail(work, "its operands are no matrices in groups");
	status = g.b->dims.rank == 3 ? take_groups(&g, &a, out, values, work) :
				       take_shared(&g, &a, work);
	g.out = out->dims.rank ? out : NULL;
	if (status || finish(work, &g, false))
		return -1;
	if (four_bits) {
		work->precision = "fp4";
		work->bytes += tw_argument_bytes(&a, "scale");
	}
	return 0;
}

static int grouped_mm(const struct tw_call *call, struct tw_work *work)
{
	return named(call, false, work);
}

static int grouped_fp4_mm(const struct tw_call *call, struct tw_work *work)
{
	return named(call, true, work);
}

const struct tw_model tw_model_grouped_mm = {
	.name = "grouped_mm",
	.sheet = "GroupedGEMM",
	.unit = TW_UNIT_MATRIX,
	.forward = grouped_mm,
};
const struct tw_model tw_model_grouped_fp4_mm = {
	.name = "grouped_fp4_mm",
	.sheet = "GroupedGEMM",
	.unit = TW_UNIT_MATRIX,
	.forward = grouped_fp4_mm,
};
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
