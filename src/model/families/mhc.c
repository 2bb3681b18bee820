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

static double size(const struct tw_operand *operand, unsigned dimension)
{
	return (double)operand->dims.size[dimension];
}

/* The largest operand of three dimensions; fails unless some other is (M, C). */
static int take_streams(struct streams *s, const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *best = NULL;
	unsigned i;

	for (i = 0; i < call->count; i++) {
		const struct tw_operand *o = tw_operand(call, i);

		if (o->dims.rank == 3 &&
		    (!best || tw_elements(&o->dims) > tw_elements(&best->dims)))
			best = o;
	}
	if (!best)
		return tw_work_fail(work, "it has no streams");
	*s = (struct streams){ size(best, 0), size(best, 1), size(best, 2), best };
	for (i = 0; i < call->count; i++) {
		const struct tw_operand *o = tw_operand(call, i);

		if (o->dims.rank == 2 && size(o, 0) == s->m && size(o, 1) == s->c)
			return 0;
	}
	return tw_work_fail(work, "nothing fits its streams");
}

/* The matrix (hc3, K) that streams are multiplied by. */
static const struct tw_operand *find_fn(const struct tw_call *call, double k)
{
	unsigned i;

	for (i = call->count; i-- > 0;)
		if (call->operand[i].dims.rank == 2 && size(&call->operand[i], 1) == k)
			return &call->operand[i];
	return NULL;
}

static int finish(const struct tw_call *call, const struct tw_operand *streams, double flops,
		  struct tw_work *work)
{
	unsigned i;

	work->flops = flops;
	work->bytes = 0;
	for (i = 0; i < call->count; i++)
		if (call->operand[i].dims.rank)
			work->bytes += tw_bytes(&call->operand[i]);
	work->precision = tw_precision(streams);
	return 0;
}

static void add_sizes(const struct streams *s, struct tw_work *work)
{
	tw_param_integer(work, "M", s->m);
	tw_param_integer(work, "n", s->n);
	tw_param_integer(work, "C", s->c);
}

static double post_flops(const struct streams *s)
{
	return 2 * s->m * s->n * s->c * (s->n + 1);
}

/* mhc_post(out (M, n, C), x (M, C), residual (M, n, C), post (M, n, 1), comb (M, n, n)) */
static int post(const struct tw_call *call, struct tw_work *work)
{
	struct streams s = { 0 };

	if (take_streams(&s, call, work))
		return -1;
	add_sizes(&s, work);
	return finish(call, s.tensor, post_flops(&s), work);
}

/* mhc_pre_gemm_sqrsum(out (parts, M, hc3), sqrsum (parts, M), x (M, ...), fn (hc3, K), ...) */
static int pre_gemm(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 2), *fn = tw_operand(call, 3);
	double m, k;

	if (x->dims.rank < 2 || fn->dims.rank != 2)
		return tw_work_fail(work, "its operands are no streams and matrix");
	m = size(x, 0);
	k = size(fn, 1);
	if (tw_elements(&x->dims) != m * k)
		return tw_work_fail(work, "its matrix does not fit its streams");
	tw_param_integer(work, "M", m);
	tw_param_integer(work, "hc3", size(fn, 0));
	tw_param_integer(work, "K", k);
	return finish(call, x, 2 * m * size(fn, 0) * k, work);
}

/* mhc_pre_big_fuse_rmsnorm(..., layer_input (M, C), ..., residual (M, n, C), ...) */
static int big_fuse(const struct tw_call *call, struct tw_work *work)
{
	struct streams s = { 0 };

	if (take_streams(&s, call, work))
		return -1;
	add_sizes(&s, work);
	return finish(call, s.tensor, 2 * s.m * s.c * s.n + 5 * s.m * s.c, work);
}

/* mhc_fused_post_pre_gemm_sqrsum: the operands of both. */
static int fused_post_pre(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *fn;
	struct streams s = { 0 };

	if (take_streams(&s, call, work))
		return -1;
	fn = find_fn(call, s.n * s.c);
	if (!fn)
		return tw_work_fail(work, "it has no matrix for its streams");
	add_sizes(&s, work);
	tw_param_integer(work, "hc3", size(fn, 0));
	return finish(call, s.tensor, post_flops(&s) + 2 * s.m * size(fn, 0) * s.n * s.c, work);
}

#define MHC(id, which, function)                                \
	const struct tw_model tw_model_##id = { .name = #id,    \
						.sheet = "mHC", \
						.unit = which,  \
						.forward = function }

MHC(mhc_post, TW_UNIT_VECTOR, post);
MHC(mhc_pre_gemm_sqrsum, TW_UNIT_MATRIX, pre_gemm);
MHC(mhc_pre_big_fuse_rmsnorm, TW_UNIT_VECTOR, big_fuse);
MHC(mhc_fused_post_pre_gemm_sqrsum, TW_UNIT_MATRIX, fused_post_pre);
