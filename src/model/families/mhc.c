/*
 * Manifold-constrained hyper-connections: M tokens have n residual streams of C each, which are
 * mixed around every layer.
 *
 *	post		out[j] = post[j] x + sum over i of comb[i][j] residual[i]
 *			FLOPs = 2 M n C (n + 1)
 *	pre, product	all streams (n C = K) by fn (hc3, K), hc3 = n (n + 2), and their squares' sum
 *			FLOPs = 2 M hc3 K
 *	pre, the rest	the layer's input, a weighted sum of the streams, normalised
 *			FLOPs = 2 M C n + 5 M C
 *	fused		post and the product of the next pre: the sum of both
 *
 * bytes: every operand, results are among them, moves once.  Operands are found by their shapes:
 * the streams are the largest of (M, n, C).  The sum of squares and mixing weights are not counted.
 *
 * Sources: Z. Xie et al., mHC, arXiv 2512.24880; operands as in aiter (mhc.py); TraceLens 0.1.
 *
 * Example: post of M = 2, n = 4, C = 8 in bf16 with float weights: out and residual (2, 4, 8), x
 * (2, 8), post (2, 4, 1), comb (2, 4, 4): 2 x 2 x 4 x 8 x 5 = 640 FLOPs, 128 + 128 + 32 + 32 + 128 =
 * 448 bytes.
 */
#include "model/model.h"

struct streams {
	double m, n, c;
	const struct tw_operand *tensor;
};

/* The largest operand of three dimensions; fails unless some other is (M, C). */
static int take_streams(struct streams *s, const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *o, *end = call->operand + call->count, *best = NULL;

	for (o = call->operand; o < end; o++)
		if (o->dims.rank == 3 &&
		    (!best || tw_elements(&o->dims) > tw_elements(&best->dims)))
			best = o;
	if (!best)
		return tw_work_fail(work, "no streams");
	*s = (struct streams){ tw_size(best, 0), tw_size(best, 1), tw_size(best, 2), best };
	for (o = call->operand; o < end; o++)
		if (o->dims.rank == 2 && tw_size(o, 0) == s->m && tw_size(o, 1) == s->c)
			return 0;
	return tw_work_fail(work, "no operand matches the streams");
}

/* The matrix (hc3, K) that streams are multiplied by. */
static const struct tw_operand *find_fn(const struct tw_call *call, double k)
{
	unsigned i;

	for (i = call->count; i-- > 0;)
		if (call->operand[i].dims.rank == 2 && tw_size(&call->operand[i], 1) == k)
			return &call->operand[i];
	return NULL;
}

static void describe_streams(const struct streams *s, struct tw_work *work)
{
	TW_PARAM_INTEGERS(work, { "M", s->m }, { "n", s->n }, { "C", s->c });
}

static double post_flops(const struct streams *s)
{
	return 2 * s->m * s->n * s->c * (s->n + 1);
}

/* mhc_post(out (M, n, C), x (M, C), residual (M, n, C), post (M, n, 1), comb (M, n, n)) */
static int post(const struct tw_call *call, struct tw_work *work)
{
	struct streams s;

	if (take_streams(&s, call, work))
		return -1;
	describe_streams(&s, work);
	return tw_work_set(work, post_flops(&s), tw_call_bytes(call), s.tensor);
}

/* mhc_pre_gemm_sqrsum(out (parts, M, hc3), sqrsum (parts, M), x (M, ...), fn (hc3, K), ...) */
static int pre_gemm(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 2), *fn = tw_operand(call, 3);
	double m, k, hc3;

	if (x->dims.rank < 2 || fn->dims.rank != 2)
		return tw_work_fail(work, "operands are not streams and a matrix");
	m = tw_size(x, 0);
	hc3 = tw_size(fn, 0);
	k = tw_size(fn, 1);
	if (tw_elements(&x->dims) != m * k)
		return tw_work_fail(work, "matrix does not match the streams");
	TW_PARAM_INTEGERS(work, { "M", m }, { "hc3", hc3 }, { "K", k });
	return tw_work_set(work, 2 * m * hc3 * k, tw_call_bytes(call), x);
}

/* mhc_pre_big_fuse_rmsnorm(..., layer_input (M, C), ..., residual (M, n, C), ...) */
static int big_fuse(const struct tw_call *call, struct tw_work *work)
{
	struct streams s;

	if (take_streams(&s, call, work))
		return -1;
	describe_streams(&s, work);
	return tw_work_set(work, 2 * s.m * s.c * s.n + 5 * s.m * s.c, tw_call_bytes(call),
			   s.tensor);
}

/* mhc_fused_post_pre_gemm_sqrsum: the operands of both. */
static int fused_post_pre(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *fn;
	struct streams s;

	if (take_streams(&s, call, work))
		return -1;
	fn = find_fn(call, s.n * s.c);
	if (!fn)
		return tw_work_fail(work, "no matrix for the streams");
	describe_streams(&s, work);
	tw_param_integer(work, "hc3", tw_size(fn, 0));
	return tw_work_set(work, post_flops(&s) + 2 * s.m * tw_size(fn, 0) * s.n * s.c,
			   tw_call_bytes(call), s.tensor);
}

#define MHC(id, unit, function) TW_MODEL(id, "mHC", unit, .forward = function)

const struct tw_model tw_family_mhc[] = {
	MHC(mhc_post, VECTOR, post),
	MHC(mhc_pre_gemm_sqrsum, MATRIX, pre_gemm),
	MHC(mhc_pre_big_fuse_rmsnorm, VECTOR, big_fuse),
	MHC(mhc_fused_post_pre_gemm_sqrsum, MATRIX, fused_post_pre),
	{ .name = NULL },
};
