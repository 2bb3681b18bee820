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
	double scale_bytes;
};

static const char inner_sizes[] = "inner matrix sizes differ";

static int count_grouped(struct tw_work *work, const struct grouped *g)
{
	double a_bytes = tw_element_bytes(g->a), b_bytes = tw_element_bytes(g->b);
	double out_bytes = g->out ? tw_element_bytes(g->out) : tw_result_bytes(g->a);
	double flops = 2 * g->m * g->n * g->k;
	double bytes = g->a_elements * a_bytes * tw_distinct_share(g->a) +
		       g->b_elements * b_bytes * tw_distinct_share(g->b) +
		       g->out_elements * out_bytes;

	if (work->backward) {
		flops *= 2;
		/* Gradients of A and B are as wide as results are. */
		bytes += (g->a_elements + g->b_elements + g->out_elements) * out_bytes;
	}
	TW_PARAM_INTEGERS(work, { "M", g->m }, { "N", g->n }, { "K", g->k }, { "G", g->groups });
	tw_param_strides(work, "stride_A", g->a);
	tw_param_strides(work, "stride_B", g->b);
	TW_PARAM_TYPES(work, "dtype_A_B", g->a, g->b);
	return tw_work_set(work, flops, bytes + g->scale_bytes, g->a);
}

static int take_matrices(const struct tw_call *call, struct grouped *g, struct tw_work *work)
{
	*g = (struct grouped){ .a = tw_operand(call, 0), .b = tw_operand(call, 1) };
	if (g->a->is_list || g->b->is_list)
		return tw_work_fail(work, "operands are lists of tensors");
	if (g->a->dims.rank != 2)
		return tw_work_fail(work, "first operand is not a matrix");
	return 0;
}

/* N is what B has beside K, in the order (K, N) or (N, K); NaN: it has no such size. */
static double beside(double k, double rows, double columns)
{
	return rows == k ? columns : columns == k ? rows : NAN;
}

/* Primus-Turbo's (A, B, group lengths, group offsets, ...): a row of A goes to one group. */
static int grouped_gemm(const struct tw_call *call, struct tw_work *work)
{
	struct grouped g;

	if (take_matrices(call, &g, work))
		return -1;
	if (g.b->dims.rank != 3)
		return tw_work_fail(work, "second operand has no matrix for each group");
	g.m = tw_size(g.a, 0);
	g.k = tw_size(g.a, 1);
	g.n = beside(g.k, tw_size(g.b, 1), tw_size(g.b, 2));
	if (isnan(g.n))
		return tw_work_fail(work, inner_sizes);
	g.groups = tw_size(g.b, 0);
	g.a_elements = g.m * g.k;
	g.b_elements = g.groups * g.k * g.n;
	g.out_elements = g.m * g.n;
	return count_grouped(work, &g);
}

/* The same arguments: a row of A and that of B go to the product of one group. */
static int variable_k(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *lengths = tw_operand(call, 2);
	struct grouped g;

	if (take_matrices(call, &g, work))
		return -1;
	if (g.b->dims.rank != 2 || tw_size(g.a, 0) != tw_size(g.b, 0))
		return tw_work_fail(work, "operands differ in number of rows");
	if (lengths->dims.rank != 1)
		return tw_work_fail(work, "group lengths not recorded");
	g.k = tw_size(g.a, 0);
	g.m = tw_size(g.a, 1);
	g.n = tw_size(g.b, 1);
	g.groups = tw_size(lengths, 0);
	g.a_elements = g.k * g.m;
	g.b_elements = g.k * g.n;
	g.out_elements = g.groups * g.m * g.n;
	return count_grouped(work, &g);
}

/* ---- by the names of arguments */

#define NAMES_A "a|a_tensors|self|mat_a|mat1|x|input|act|A|lhs"
#define NAMES_B "b|b_tensors|mat2|mat_b|weight|weights|B|rhs|b_q_weight"
#define NAMES_OUT "out|output|d|out_tensors|D|c"
#define NAMES_GROUPS "offs|expert_offsets|m_indices|masked_m|problem_sizes"

/* Groups by one B each: N is what B has beside K, whose size it also may have. */
static int take_groups(struct grouped *g, const struct tw_arguments *a, double values,
		       struct tw_work *work)
{
	double inner = tw_size(g->a, -1);

	g->k = inner * values;
	g->groups = tw_size(g->b, 0);
	g->m = g->k > 0 ? tw_elements(&g->a->dims) / inner : 0;
	g->n = g->out ? tw_size(g->out, -1) : beside(inner, tw_size(g->b, -1), tw_size(g->b, -2));
	if (isnan(g->n))
		return tw_work_fail(work, inner_sizes);
	g->a_elements = tw_elements(&g->a->dims);
	g->b_elements = tw_elements(&g->b->dims) / g->groups * fmin(g->groups, g->m);
	if (g->a->dims.rank == 3) {
		double expected = tw_argument_integer(a, "expected_m", NAN) * g->groups;

		if (expected > 0 && expected <= g->m) {
			g->a_elements *= expected / g->m;
			g->m = expected;
		}
	}
	g->out_elements = g->m * g->n;
	return 0;
}

/* The groups are those of the inner size, or of B's columns. */
static int take_shared(struct grouped *g, const struct tw_arguments *a, struct tw_work *work)
{
	const struct tw_operand *offsets = tw_argument(a, NAMES_GROUPS);

	g->groups = tw_size(g->a->dims.rank == 3 ? g->a : offsets, 0);
	if (isnan(g->groups))
		return tw_work_fail(work, "number of groups not recorded");
	if (tw_size(g->a, -1) != tw_size(g->b, -2))
		return tw_work_fail(work, inner_sizes);
	g->m = tw_size(g->a, -2);
	g->k = tw_size(g->a, -1);
	g->n = tw_size(g->b, -1);
	g->a_elements = tw_elements(&g->a->dims);
	g->b_elements = g->k * g->n;
	g->out_elements = g->m * g->n * (g->a->dims.rank == 3 ? 1 : g->groups);
	return 0;
}

static int by_names(const struct tw_call *call, struct tw_work *work)
{
	const bool *four_bits = work->model->variant;
	struct tw_arguments a = tw_arguments_of(call);
	struct grouped g = { .a = tw_argument(&a, NAMES_A),
			     .b = tw_argument(&a, NAMES_B),
			     .out = tw_argument_tensor(&a, NAMES_OUT) };
	double values = *four_bits ? 2 : tw_packed_values(g.a);

	if (g.a->dims.rank < 2 || g.a->dims.rank > 3 || g.b->dims.rank < 2 || g.b->dims.rank > 3)
		return tw_work_fail(work, "operands are not matrices in groups");
	if (g.b->dims.rank == 3 ? take_groups(&g, &a, values, work) : take_shared(&g, &a, work))
		return -1;
	if (*four_bits) {
		work->precision = "fp4";
		g.scale_bytes = tw_argument_bytes(&a, "scale");
	}
	return count_grouped(work, &g);
}

#define GROUPED(id, ...) TW_MODEL(id, "GroupedGEMM", MATRIX, __VA_ARGS__)
#define BOTH_WAYS(function) \
	.forward = function, .backward = function, .backward_category = "GroupedGEMM_bwd"

const struct tw_model tw_family_grouped_gemm[] = {
	GROUPED(grouped_gemm, BOTH_WAYS(grouped_gemm)),
	GROUPED(grouped_gemm_variable_k, BOTH_WAYS(variable_k)),
	GROUPED(grouped_mm, .forward = by_names, .variant = &(const bool){ false }),
	GROUPED(grouped_fp4_mm, .forward = by_names, .variant = &(const bool){ true }),
	{ .name = NULL },
};
