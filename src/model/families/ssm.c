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

static const char no_filters[] = "operands are not sequences and filters";

/* _causal_conv1d_fwd_cpp(x (B, C, T), weight (C, k), bias, ...) */
static int causal_conv1d(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0), *weight = tw_operand(call, 1);
	const struct tw_operand *bias = tw_operand(call, 2);
	double channels = tw_size(weight, 0), width = tw_size(weight, 1);

	if (x->dims.rank != 3 || weight->dims.rank != 2)
		return tw_work_fail(work, no_filters);
	if (tw_size(x, 1) != channels)
		return tw_work_fail(work, "filters do not match the channels");
	TW_PARAM_INTEGERS(work, { "B", tw_size(x, 0) }, { "C", channels }, { "T", tw_size(x, 2) },
			  { "kernel_width", width });
	tw_param_bool(work, "bias", tw_is_tensor(bias));
	return tw_work_set(work, 2 * tw_elements(&x->dims) * width,
			   2 * tw_bytes(x) + tw_bytes(weight) + tw_given_bytes(bias), x);
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
	const struct tw_operand *input = tw_operand(call, 0), *weight = tw_operand(call, 1);
	const struct tw_operand *dt = tw_operand(call, 3);

	if (input->dims.rank != 3 || weight->dims.rank != 2 || dt->dims.rank != 1)
		return tw_work_fail(work, "operands are not input, filters and bias");
	*s = (struct scan){ .batch = tw_size(input, 0),
			    .t = tw_size(input, 1),
			    .dim = tw_size(input, 2),
			    .channels = tw_size(weight, 0),
			    .width = tw_size(weight, 1),
			    .heads = tw_size(dt, 0),
			    .chunk = (double)tw_value_integer(call, 6, 0),
			    .groups = (double)tw_value_integer(call, 16, 1) };
	if (s->chunk < 1 || s->groups < 1)
		return tw_work_fail(work, "chunks and groups unknown");
	s->p = s->heads > 0 ? (s->dim - s->channels - s->heads) / s->heads : 0;
	s->n = (s->channels - s->heads * s->p) / (2 * s->groups);
	if (s->p <= 0 || s->n <= 0 || s->p != floor(s->p) || s->n != floor(s->n))
		return tw_work_fail(work, "heads and states do not match the input");
	return 0;
}

/*
 * MambaSplitConv1dScanCombinedFn(zxbcdt, conv weight, conv bias, dt bias, A, D, 6 chunk size,
 * initial states, seq_idx, (dt_limit, not recorded), ..., 15 headdim, 16 ngroups, ...)
 */
static int mamba_ssd(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *input = tw_operand(call, 0);
	double rows, inner, flops, elements, vectors;
	struct scan s;

	if (take_scan(&s, call, work))
		return -1;
	rows = s.batch * s.t;
	inner = s.heads * s.p;
	flops = 2 * rows * s.channels * s.width + 2 * rows * s.groups * s.chunk * s.n +
		2 * rows * inner * s.chunk + 4 * rows * inner * s.n;
	elements = rows * s.dim * tw_distinct_share(input) + s.channels * s.width + s.channels +
		   rows * inner;
	vectors = tw_element_bytes(tw_operand(call, 3)) + tw_element_bytes(tw_operand(call, 4)) +
		  tw_element_bytes(tw_operand(call, 5));
	TW_PARAM_INTEGERS(work, { "B", s.batch }, { "T", s.t }, { "H", s.heads }, { "P", s.p },
			  { "G", s.groups }, { "N", s.n }, { "chunk_size", s.chunk },
			  { "d_conv", s.width });
	return tw_work_set(work, flops, elements * tw_element_bytes(input) + s.heads * vectors,
			   input);
}

/* ---- by the names of arguments */

/* Sequences: as many as u has, or as the starts of all are for. */
static double sequences(const struct tw_arguments *a, const struct tw_operand *u)
{
	const struct tw_operand *starts = tw_argument(a, "query_start_loc");

	if (u->dims.rank == 3)
		return tw_size(u, 0);
	return starts->dims.rank == 1 ? tw_size(starts, 0) - 1 : NAN;
}

static int selective_scan(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *u = tw_argument(&a, "u"), *states = tw_argument(&a, "A");
	const struct tw_operand *kept = tw_argument_tensor(&a, "ssm_states");
	const struct tw_operand *d = tw_argument(&a, "D_");
	double width = tw_size(states, 1), left, moved;
	int extra = tw_is_tensor(d) + tw_is_tensor(tw_argument(&a, "z_"));

	if (u->dims.rank < 2 || u->dims.rank > 3)
		return tw_work_fail(work, "first operand is not a sequence");
	tw_param_dims(work, "op_shape", &u->dims);
	if (states->dims.rank != 2) {
		work->at_least = true;
		return tw_work_set(work, NAN, 2 * tw_bytes(u), u);
	}
	left = sequences(&a, u) * tw_size(states, 0) * width * tw_element_bytes(kept ? kept : u);
	moved = 2 * tw_bytes(u) + tw_bytes(states) + (isnan(left) ? 0 : left);
	moved += tw_argument_bytes(&a, "delta|z_");
	moved += tw_bytes(tw_argument(&a, "B")) + tw_bytes(tw_argument(&a, "C"));
	tw_param_integer(work, "N", width);
	return tw_work_set(work, tw_elements(&u->dims) * (9 * width + extra),
			   moved + tw_given_bytes(d), u);
}

/* Of an update, the last inputs of each channel are read and written too. */
static int causal_conv1d_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *x = tw_argument(&a, "x"), *weight = tw_argument(&a, "weight");
	const struct tw_operand *state = tw_argument(&a, "conv_state");
	double width = tw_size(weight, 1), moved;

	if (x->dims.rank < 2 || weight->dims.rank != 2)
		return tw_work_fail(work, no_filters);
	moved = 2 * tw_bytes(x) + tw_bytes(weight) + tw_argument_bytes(&a, "bias");
	if (state->dims.rank == 3)
		moved += 2 * tw_size(x, 0) * tw_size(weight, 0) * (width - 1) *
			 tw_element_bytes(state);
	tw_param_dims(work, "op_shape", &x->dims);
	tw_param_integer(work, "kernel_width", width);
	tw_param_bool(work, "bias", tw_argument_tensor(&a, "bias_"));
	return tw_work_set(work, 2 * tw_elements(&x->dims) * width, moved, x);
}

#define SSM(id, unit, ...) TW_MODEL(id, "SSM", unit, .forward = id, __VA_ARGS__)

const struct tw_model tw_family_ssm[] = {
	SSM(causal_conv1d, MATRIX),
	SSM(mamba_ssd, MATRIX, .backward_category = "SSM_bwd"),
	SSM(selective_scan, VECTOR),
	SSM(causal_conv1d_named, MATRIX),
	{ .name = NULL },
};
