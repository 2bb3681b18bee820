/*
 * State space models.
 *
 * Causal depthwise convolution of x (B, C, T) by C filters of k:
 *
 *	FLOPs = 2 B C T k	bytes = (2 B C T + C k + C when there is a bias) b
 *
 * Mamba 2's layer, from its projected input (B, T, 2 H P + 2 G N + H) on: convolution of cc = H P
 * + 2 G N channels by filters of d, then the scan in chunks of C, H heads of P, G groups of
 * states of N:
 *
 *	FLOPs = 2 B cc T d + 2 B G T C N + 2 B H T C P + 4 B H T N P
 *	bytes = (B T dim + cc d + cc + B T H P) b + bytes of dt's bias, A and D
 *
 * the products of C and B and of what they give with x within a chunk, the states that chunks
 * make, and what the states give.
 *
 * Mamba 1's selective scan of u (B, D, L), or of all sequences (D, L), with states of N:
 *
 *	FLOPs = 9 B L D N + B L D each for D and for a gate
 *	bytes = what is read, a result like u and the states that B sequences leave
 *
 * Sources: A. Gu and T. Dao, Mamba, arXiv 2312.00752, and its count of operations; T. Dao and A. Gu, Transformers are SSMs, arXiv 2405.21060; operands as in causal_conv1d
 * and mamba_ssm (MambaSplitConv1dScanCombinedFn); TraceLens 0.1.
 *
 * Example: convolution of bf16 (2, 4, 16) by filters of 4 with a bias: 2 x 2 x 4 x 16 x 4 = 1024
 * FLOPs, (256 + 16 + 4) x 2 = 552 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

static double size(const struct tw_operand *operand, unsigned dimension)
{
	return (double)operand->dims.size[dimension];
}

/* _causal_conv1d_fwd_cpp(x (B, C, T), weight (C, k), bias, ...) */
static int causal_conv1d(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = at(call, 0), *weight = at(call, 1);
	bool bias = tw_has_tensor(call, 2);
	double n, channels, width;

	if (x->dims.rank != 3 || weight->dims.rank != 2)
		return tw_work_fail(work, "its operands are no sequences and filters");
	channels = size(weight, 0);
	width = size(weight, 1);
	if (size(x, 1) != channels)
		return tw_work_fail(work, "its filters do not fit its channels");
	n = tw_elements(&x->dims);
	work->flops = 2 * n * width;
	work->bytes = 2 * tw_bytes(x) + tw_bytes(weight) + (bias ? tw_bytes(at(call, 2)) : 0);
	work->precision = tw_precision(x);
	tw_param_integer(work, "B", size(x, 0));
	tw_param_integer(work, "C", channels);
	tw_param_integer(work, "T", size(x, 2));
	tw_param_integer(work, "kernel_width", width);
	tw_param_bool(work, "bias", bias);
	return 0;
}

struct scan {
	double batch, t, dim, channels, width, heads, p, groups, n, chunk;
};

/*
 * H from dt's bias; H P is what the projection has more than channels and heads; G, 1 unless
 * given, and the chunk's size from the concrete values.
 */
static int take_scan(struct scan *s, const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *input = at(call, 0), *weight = at(call, 1), *dt = at(call, 3);

	if (input->dims.rank != 3 || weight->dims.rank != 2 || dt->dims.rank != 1)
		return tw_work_fail(work, "its operands are no input, filters and bias");
	s->batch = size(input, 0);
	s->t = size(input, 1);
	s->dim = size(input, 2);
	s->channels = size(weight, 0);
	s->width = size(weight, 1);
	s->heads = size(dt, 0);
	s->chunk = (double)tw_value_integer(call, 6, 0);
	s->groups = (double)tw_value_integer(call, 16, 1);
	if (s->chunk < 1 || s->groups < 1)
		return tw_work_fail(work, "its chunks and groups are not known");
	s->p = s->heads > 0 ? (s->dim - s->channels - s->heads) / s->heads : 0;
	s->n = (s->channels - s->heads * s->p) / (2 * s->groups);
	if (s->p <= 0 || s->n <= 0 || s->p != floor(s->p) || s->n != floor(s->n))
		return tw_work_fail(work, "its heads and states do not fit its input");
	return 0;
}

/*
 * MambaSplitConv1dScanCombinedFn(zxbcdt, conv weight, conv bias, dt bias, A, D, 6 chunk size,
 * initial states, seq_idx, (dt_limit, not recorded), ..., 15 headdim, 16 ngroups, ...)
 */
static int mamba_ssd(const struct tw_call *call, struct tw_work *work)
{
	double b = tw_element_bytes(at(call, 0)), rows, inner;
	struct scan s = { 0 };

	if (take_scan(&s, call, work))
		return -1;
	rows = s.batch * s.t;
	inner = s.heads * s.p;
	work->flops = 2 * rows * s.channels * s.width + 2 * rows * s.groups * s.chunk * s.n +
		      2 * rows * inner * s.chunk + 4 * rows * inner * s.n;
	work->bytes = (rows * s.dim * tw_distinct_share(at(call, 0)) + s.channels * s.width +
		       s.channels + rows * inner) *
			      b +
		      s.heads * (tw_element_bytes(at(call, 3)) + tw_element_bytes(at(call, 4)) +
				 tw_element_bytes(at(call, 5)));
	work->precision = tw_precision(at(call, 0));
	tw_param_integer(work, "B", s.batch);
	tw_param_integer(work, "T", s.t);
	tw_param_integer(work, "H", s.heads);
	tw_param_integer(work, "P", s.p);
	tw_param_integer(work, "G", s.groups);
	tw_param_integer(work, "N", s.n);
	tw_param_integer(work, "chunk_size", s.chunk);
	tw_param_integer(work, "d_conv", s.width);
	return 0;
}

/* ---- by the names of arguments */

/* Sequences: as many as u has, or as the starts of all are for. */
static double sequences(const struct tw_arguments *a, const struct tw_operand *u)
{
	const struct tw_operand *starts = tw_argument(a, "query_start_loc");

	if (u->dims.rank == 3)
		return size(u, 0);
	return starts->dims.rank == 1 ? size(starts, 0) - 1 : NAN;
}

static int selective_scan(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *u = tw_argument(&a, "u"), *states = tw_argument(&a, "A");
	double n = tw_elements(&u->dims), count = sequences(&a, u), width, left;
	double extra =
		(tw_argument(&a, "D_")->dims.rank > 0) + (tw_argument(&a, "z_")->dims.rank > 0);

	if (u->dims.rank < 2 || u->dims.rank > 3)
		return tw_work_fail(work, "its first operand is no sequence");
	work->precision = tw_precision(u);
	tw_param_dims(work, "op_shape", &u->dims);
	if (states->dims.rank != 2) {
		work->bytes = 2 * tw_bytes(u);
		work->at_least = true;
		return 0;
	}
	width = size(states, 1);
	left = count * size(states, 0) * width *
	       tw_element_bytes(tw_argument(&a, "ssm_states")->dims.rank ?
					tw_argument(&a, "ssm_states") :
					u);
	work->flops = n * (9 * width + extra);
	work->bytes = 2 * tw_bytes(u) + tw_bytes(states) + (isnan(left) ? 0 : left);
	work->bytes += tw_argument_bytes(&a, "delta|z_");
	work->bytes += tw_bytes(tw_argument(&a, "B")) + tw_bytes(tw_argument(&a, "C"));
	if (tw_argument(&a, "D_")->dims.rank)
		work->bytes += tw_bytes(tw_argument(&a, "D_"));
	tw_param_integer(work, "N", width);
	return 0;
}

/* Of an update, the last inputs of each channel are read and written too. */
static int causal_conv1d_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *x = tw_argument(&a, "x"), *weight = tw_argument(&a, "weight");
	const struct tw_operand *state = tw_argument(&a, "conv_state");
	double n = tw_elements(&x->dims), width;

	if (x->dims.rank < 2 || weight->dims.rank != 2)
		return tw_work_fail(work, "its operands are no sequences and filters");
	width = size(weight, 1);
	work->flops = 2 * n * width;
	work->bytes = 2 * tw_bytes(x) + tw_bytes(weight) + tw_argument_bytes(&a, "bias");
	if (state->dims.rank == 3)
		work->bytes +=
			2 * size(x, 0) * size(weight, 0) * (width - 1) * tw_element_bytes(state);
	work->precision = tw_precision(x);
	tw_param_dims(work, "op_shape", &x->dims);
	tw_param_integer(work, "kernel_width", width);
	tw_param_bool(work, "bias", tw_has_tensor(call, tw_argument_at(&a, "bias_")));
	return 0;
}

const struct tw_model tw_model_selective_scan = {
	.name = "selective_scan",
	.sheet = "SSM",
	.unit = TW_UNIT_VECTOR,
	.forward = selective_scan,
};
const struct tw_model tw_model_causal_conv1d_named = {
	.name = "causal_conv1d_named",
	.sheet = "SSM",
	.unit = TW_UNIT_MATRIX,
	.forward = causal_conv1d_named,
};
const struct tw_model tw_model_causal_conv1d = {
	.name = "causal_conv1d",
	.sheet = "SSM",
	.unit = TW_UNIT_MATRIX,
	.forward = causal_conv1d,
};
const struct tw_model tw_model_mamba_ssd = {
	.name = "mamba_ssd",
	.sheet = "SSM",
	.unit = TW_UNIT_MATRIX,
	.forward = mamba_ssd,
	.backward_category = "SSM_bwd",
};
