/*
 * Scaled dot product attention, softmax(Q K^T) V, and its backward pass, by head: q (NQ, dqk),
 * k (NKV, dqk), v (NKV, dv); HQ heads of queries share HKV heads of keys and values, HQ/HKV each.
 *
 *	pairs    = B NQ NKV, or when causal those where the query sees the key (below)
 *	FLOPs    = 2 HQ pairs (dqk + dv)			Q K^T, P V
 *	backward = 2 HQ pairs (2 dqk + 2 dv + (dqk when flash))	dV, dP, dQ, dK, and Q K^T again
 *		   + B NKV (HQ - HKV) (dqk + dv)		gradients of a group's heads, added up
 *	bytes    = q + k + v + out;  backward: q + k + v + dout + dq + dk + dv
 *
 * Every tensor moves once, in elements of its own type; out and gradients have the type of what
 * they belong to, 16 bits where that has 8.  Softmax, masks, biases and sliding windows are not
 * counted.  Sources: T. Dao et al., FlashAttention, arXiv 2205.14135 and 2307.08691; operands
 * as in PyTorch's native_functions.yaml, flash_attn, aiter and DeepSpeed.
 *
 * Causal: for NQ = NKV half of NQ NKV, as is usual.  Else what is visible is counted: flash
 * attention aligns the corner at the bottom right (query i of 0 .. NQ-1 sees the keys up to
 * NKV - NQ + i), PyTorch's is_causal in its other implementations at the top left (up to i).
 *
 * Of sequences of several lengths packed one after another only the number, the sum and the
 * longest are known: one has the longest length, the others share the rest evenly, rounded down.
 * Where their number was not recorded only the bytes are known.
 *
 * Example: q, k, v of bf16 (2, 4, 8, 16) as B, H, N, D: 2 x 4 x 2 x 8 x 8 x 32 = 32768 FLOPs,
 * 4 x 1024 x 2 = 8192 bytes; backward by flash attention 2 x 4 x 128 x 80 = 81920 FLOPs, 7 x 1024
 * x 2 = 14336 bytes.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

#include "text/scan.h"

enum align { BOTTOM_RIGHT, TOP_LEFT };

/* Where an operation has what.  Position 0 is never one of these but q: 0 is "nowhere". */
struct layout {
	unsigned q;	  /* k and v follow it */
	bool heads_first; /* (B, H, N, D), else (B, N, H, D) */
	unsigned dropout, causal;
	bool causal_type; /* `causal` holds 0, 1 (top left) or 2 (bottom right) */
	enum align align;
	unsigned lengths; /* where the sequences of q begin; those of k follow */
	unsigned longest; /* the longest of q; that of k follows */
	bool packed;	  /* always; else when `lengths` is given */
	bool flash, strides;
};

struct attention {
	double batch, n_q, h_q, n_kv, h_kv, d_qk, d_v;
	double dropout;
	bool causal, packed;
	enum align align;
	double sequences_q, sequences_kv, longest_q, longest_kv;
	double pairs; /* of all sequences, for one head */
	const struct tw_operand *q, *k, *v;
};

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

/* ---- concrete values */

/* False when nothing of that kind was recorded. */
static bool read_flag(const struct tw_call *call, unsigned position, bool *flag)
{
	int64_t integer = tw_value_integer(call, position, -1);

	*flag = tw_value_true(call, position, integer == 1);
	return integer == 0 || *flag == tw_value_true(call, position, true);
}

/* ---- query-key pairs */

static double visible(double n_q, double n_kv, enum align align)
{
	double least = n_q < n_kv ? n_q : n_kv;
	double triangle = least * (least + 1) / 2;

	if (align == TOP_LEFT)
		return triangle + (n_q - least) * n_kv;
	return triangle + least * (n_kv - least);
}

static double count_pairs(const struct attention *a, double n_q, double n_kv)
{
	if (!a->causal)
		return n_q * n_kv;
	return n_q == n_kv ? n_q * n_kv / 2 : visible(n_q, n_kv, a->align);
}

static int take_packed(struct attention *a, const struct tw_call *call, const struct layout *l,
		       struct tw_work *work)
{
	const struct tw_dims *q = &at(call, l->lengths)->dims,
			     *kv = &at(call, l->lengths + 1)->dims;
	double others, rest_q = 0, rest_kv = 0;

	if (q->rank != 1 || kv->rank != 1 || q->size[0] < 2 || q->size[0] != kv->size[0])
		return tw_work_fail(work, "the number of its sequences makes no sense");
	a->sequences_q = a->sequences_kv = (double)(q->size[0] - 1);
	a->longest_q = (double)tw_value_integer(call, l->longest, -1);
	a->longest_kv = (double)tw_value_integer(call, l->longest + 1, -1);
	if (a->longest_q < 0 || a->longest_kv < 0)
		return tw_work_fail(work, "the length of its longest sequence was not recorded");
	if (a->longest_q > a->n_q || a->longest_kv > a->n_kv)
		return tw_work_fail(work, "its longest sequence is longer than all together");
	others = a->sequences_q - 1;
	if (others > 0) {
		rest_q = floor((a->n_q - a->longest_q) / others);
		rest_kv = floor((a->n_kv - a->longest_kv) / others);
	}
	a->pairs = count_pairs(a, a->longest_q, a->longest_kv) +
		   others * count_pairs(a, rest_q, rest_kv);
	return 0;
}

/* ---- sizes */

/* batch, n, h, d of an operand; false: its rank does not fit. */
static bool take_sizes(const struct tw_dims *dims, const struct layout *l, bool packed, double s[4])
{
	const int64_t *size = dims->size;
	unsigned r = dims->rank, i;

	s[0] = s[2] = 1;
	if (l->heads_first) {
		if (r < 2)
			return false;
		s[1] = (double)size[r - 2];
		s[3] = (double)size[r - 1];
		/* Three dimensions are batches of one head. */
		if (r > 3)
			s[2] = (double)size[r - 3];
		for (i = 0; r > 2 && i < (r > 3 ? r - 3 : 1); i++)
			s[0] *= (double)size[i];
		return true;
	}
	if (r != 4 && !((packed || l->lengths) && r == 3))
		return false;
	if (r == 4)
		s[0] = (double)size[0];
	s[1] = (double)size[r - 3];
	s[2] = (double)size[r - 2];
	s[3] = (double)size[r - 1];
	return !packed || s[0] == 1;
}

static int check_sizes(struct attention *a, const double q[4], const double k[4], const double v[4],
		       struct tw_work *work)
{
	if (q[0] != k[0] || k[0] != v[0])
		return tw_work_fail(work, "its batches differ");
	if (k[1] != v[1] || k[2] != v[2])
		return tw_work_fail(work, "its keys and values differ in number");
	if (q[3] != k[3])
		return tw_work_fail(work, "its queries and keys differ in size");
	if (k[2] < 1 || fmod(q[2], k[2]) != 0)
		return tw_work_fail(work, "its heads cannot be shared evenly");
	a->batch = q[0];
	a->n_q = q[1];
	a->h_q = q[2];
	a->d_qk = q[3];
	a->n_kv = k[1];
	a->h_kv = k[2];
	a->d_v = v[3];
	return 0;
}

static int take_causal(struct attention *a, const struct tw_call *call, const struct layout *l,
		       struct tw_work *work)
{
	int64_t type;

	a->align = l->align;
	if (l->causal_type) {
		type = tw_value_integer(call, l->causal, -1);
		if (type < 0 || type > 2)
			return tw_work_fail(work, "its mask is not known");
		a->causal = type != 0;
		a->align = type == 1 ? TOP_LEFT : BOTTOM_RIGHT;
	} else if (l->causal && !read_flag(call, l->causal, &a->causal)) {
		return tw_work_fail(work, "whether it is causal was not recorded");
	}
	return 0;
}

static int take(struct attention *a, const struct tw_call *call, const struct layout *l,
		struct tw_work *work)
{
	double q[4], k[4], v[4];

	memset(a, 0, sizeof(*a));
	a->q = at(call, l->q);
	a->k = at(call, l->q + 1);
	a->v = at(call, l->q + 2);
	a->packed = l->packed || (l->lengths && tw_has_tensor(call, l->lengths));
	if (!take_sizes(&a->q->dims, l, a->packed, q) ||
	    !take_sizes(&a->k->dims, l, a->packed, k) || !take_sizes(&a->v->dims, l, a->packed, v))
		return tw_work_fail(work, "its operands are no queries, keys and values");
	if (check_sizes(a, q, k, v, work))
		return -1;
	/* Sequences one after another whose lengths are not recorded: what moves is known. */
	if (l->lengths && !a->packed && a->q->dims.rank == 3) {
		a->pairs = NAN;
		return 0;
	}
	if (take_causal(a, call, l, work))
		return -1;
	a->dropout = l->dropout ? tw_value_real(call, l->dropout) : 0;
	if (a->packed)
		return take_packed(a, call, l, work);
	a->pairs = a->batch * count_pairs(a, a->n_q, a->n_kv);
	return 0;
}

/* ---- work */

static void add_parameters(struct tw_work *work, const struct attention *a, const struct layout *l)
{
	const struct tw_operand *types[2] = { a->q, a->k };

	tw_param_integer(work, "B", a->batch);
	tw_param_integer(work, "N_Q", a->n_q);
	tw_param_integer(work, "H_Q", a->h_q);
	tw_param_integer(work, "N_KV", a->n_kv);
	tw_param_integer(work, "H_KV", a->h_kv);
	tw_param_integer(work, "d_h_qk", a->d_qk);
	tw_param_integer(work, "d_h_v", a->d_v);
	if (l->strides) {
		tw_param_strides(work, "q_stride", a->q);
		tw_param_strides(work, "k_stride", a->k);
		tw_param_strides(work, "v_stride", a->v);
	}
	tw_param_real(work, "dropout", a->dropout);
	tw_param_bool(work, "causal", a->causal);
	tw_param_bool(work, "flash_impl", l->flash);
	tw_param_types(work, "dtype_A_B", types, 2);
	if (a->packed) {
		tw_param_integer(work, "num_seqs_q", a->sequences_q);
		tw_param_integer(work, "num_seqs_kv", a->sequences_kv);
		tw_param_integer(work, "max_seqlen_q", a->longest_q);
		tw_param_integer(work, "max_seqlen_kv", a->longest_kv);
	}
}

/* What results are written in: 8-bit inputs give 16-bit outputs. */
static double result_bytes(const struct tw_operand *operand)
{
	double bytes = tw_element_bytes(operand);

	return bytes == 1 ? 2 : bytes;
}

static int finish(const struct attention *a, const struct layout *l, bool backward,
		  struct tw_work *work)
{
	double rows_q = a->batch * a->n_q * a->h_q, rows_kv = a->batch * a->n_kv * a->h_kv;
	double out = rows_q * a->d_v * result_bytes(a->q);

	work->bytes = tw_bytes(a->q) + tw_bytes(a->k) + tw_bytes(a->v) + out;
	if (!backward) {
		work->flops = 2 * a->h_q * a->pairs * (a->d_qk + a->d_v);
	} else {
		work->flops = 2 * a->h_q * a->pairs *
				      (2 * a->d_qk + 2 * a->d_v + (l->flash ? a->d_qk : 0)) +
			      a->batch * a->n_kv * (a->h_q - a->h_kv) * (a->d_qk + a->d_v);
		work->bytes += rows_q * a->d_qk * result_bytes(a->q) +
			       rows_kv * a->d_qk * result_bytes(a->k) +
			       rows_kv * a->d_v * result_bytes(a->v);
	}
	work->precision = tw_precision(a->q);
	add_parameters(work, a, l);
	return 0;
}

static int run(const struct tw_call *call, const struct layout *l, bool backward,
	       struct tw_work *work)
{
	struct attention a;

	return take(&a, call, l, work) ? -1 : finish(&a, l, backward, work);
}

/* ---- operations whose arguments moved between versions */

/* flash_attn::_flash_attn_backward(dout, q, k, v, out, lse, dq, dk, dv, dropout, scale, causal) */
static int flash_attn_backward(const struct tw_call *call, struct tw_work *work)
{
	struct layout l = { .q = 1, .dropout = 9, .causal = 11, .flash = true, .strides = true };
	bool flag;

	/* TraceLens 0.1 has them one earlier, where the scale is: that is no truth value. */
	if (read_flag(call, 10, &flag)) {
		l.dropout = 8;
		l.causal = 10;
	}
	return run(call, &l, true, work);
}

/*
 * aten::_efficient_attention_forward(q, k, v, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
 * max_seqlen_k, dropout, custom_mask_type, compute_log_sumexp, ...); older versions
 * have no max_seqlen_k.
 */
static int efficient(const struct tw_call *call, bool backward, struct tw_work *work)
{
	struct layout l = { .dropout = 8,
			    .causal = 9,
			    .causal_type = true,
			    .lengths = 4,
			    .longest = 6 };
	bool flag;

	if (tw_value_integer(call, 9, -1) < 0 && read_flag(call, 9, &flag)) {
		l.dropout = 7;
		l.causal = 8;
	}
	return run(call, &l, backward, work);
}

static int efficient_forward(const struct tw_call *call, struct tw_work *work)
{
	return efficient(call, false, work);
}

static int efficient_backward_of_forward(const struct tw_call *call, struct tw_work *work)
{
	return efficient(call, true, work);
}

/*
 * flash_attn_3::fwd(q, k, v, k_new, v_new, q_v, out, cu_seqlens_q, cu_seqlens_k, cu_seqlens_k_new,
 * seqused_q, seqused_k, max_seqlen_q, max_seqlen_k, page_table, ..., 24 is_causal, ...)
 */
static int flash_3(const struct tw_call *call, bool backward, struct tw_work *work)
{
	struct layout l = { .causal = 24, .lengths = 7, .longest = 12, .flash = true };

	/* As one operation around it has it, of queries, keys and values alone: nothing masked. */
	if (call->count == 3)
		l.causal = 0;
	if (tw_has_tensor(call, 5))
		return tw_work_fail(work, "it has values of queries");
	if (tw_has_tensor(call, 3) || tw_has_tensor(call, 11) || tw_has_tensor(call, 14))
		return tw_work_fail(work, "the lengths of its cached keys are not known");
	return run(call, &l, backward, work);
}

static int flash_3_forward(const struct tw_call *call, struct tw_work *work)
{
	return flash_3(call, false, work);
}

static int flash_3_backward(const struct tw_call *call, struct tw_work *work)
{
	return flash_3(call, true, work);
}

/* EvoformerAttention(q, k, v, bias, bias): (B, S, N, H, D), B S batches, nothing causal. */
static int evoformer(const struct tw_call *call, bool backward, struct tw_work *work)
{
	static const struct layout l = { .q = 0 };
	struct tw_call four;
	unsigned i;

	four.count = 3;
	for (i = 0; i < 3; i++) {
		struct tw_dims *d;

		four.operand[i] = *at(call, tw_has_tensor(call, i) ? i : 0);
		d = &four.operand[i].dims;
		if (d->rank != 5)
			return tw_work_fail(work, "its operands have no five dimensions");
		if (__builtin_mul_overflow(d->size[0], d->size[1], &d->size[0]))
			return tw_work_fail(work, "its batches are too many");
		memmove(&d->size[1], &d->size[2], 3 * sizeof(d->size[0]));
		d->rank = 4;
	}
	return run(&four, &l, backward, work);
}

static int evoformer_forward(const struct tw_call *call, struct tw_work *work)
{
	return evoformer(call, false, work);
}

static int evoformer_backward(const struct tw_call *call, struct tw_work *work)
{
	return evoformer(call, true, work);
}

/* ---- models */

#define MODEL(id, forward_function, backward_function, category)               \
	const struct tw_model tw_model_##id = { .name = #id,                   \
						.sheet = "SDPA",               \
						.unit = TW_UNIT_MATRIX,        \
						.forward = forward_function,   \
						.backward = backward_function, \
						.backward_category = category }

#define RUN(id, pass, is_backward)                                               \
	static int id##_##pass(const struct tw_call *call, struct tw_work *work) \
	{                                                                        \
		return run(call, &id##_layout, is_backward, work);               \
	}

/* An operation that goes forward. */
#define FORWARD(id, ...)                                          \
	static const struct layout id##_layout = { __VA_ARGS__ }; \
	RUN(id, forward, false)                                   \
	RUN(id, backward, true)                                   \
	MODEL(id, id##_forward, id##_backward, "SDPA_bwd")

/* An operation that is a backward pass. */
#define BACKWARD(id, ...)                                         \
	static const struct layout id##_layout = { __VA_ARGS__ }; \
	RUN(id, backward, true)                                   \
	MODEL(id, id##_backward, NULL, NULL)

/* FlashAttnFunc and _flash_attn_forward(q, k, v, dropout, scale, causal, ...) */
FORWARD(flash_attention, .dropout = 3, .causal = 5, .flash = true, .strides = true);
MODEL(flash_attention_backward, flash_attn_backward, NULL, NULL);
/* (q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout, scale, causal, ...) */
FORWARD(flash_attention_varlen, .dropout = 7, .causal = 9, .lengths = 3, .longest = 5,
	.packed = true, .flash = true, .strides = true);
/*
 * (dout, q, k, v, out, lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
 * dropout, scale, causal, ...)
 */
BACKWARD(flash_attention_varlen_backward, .q = 1, .dropout = 13, .causal = 15, .lengths = 9,
	 .longest = 11, .packed = true, .flash = true, .strides = true);

/* (q, k, v, dropout, is_causal, return_debug_mask, scale) */
FORWARD(sdpa_flash, .heads_first = true, .dropout = 3, .causal = 4, .flash = true);
/* (q, k, v, attn_bias, compute_log_sumexp, dropout, is_causal, ...) */
FORWARD(sdpa_efficient, .heads_first = true, .dropout = 5, .causal = 6, .align = TOP_LEFT);
FORWARD(sdpa_cudnn, .heads_first = true, .dropout = 5, .causal = 6, .align = TOP_LEFT);
/*
 * (dout, q, k, v, out, lse, cum_seq_q, cum_seq_k, max_q, max_k, dropout, is_causal, seed, offset,
 * scale)
 */
BACKWARD(sdpa_flash_backward, .q = 1, .heads_first = true, .dropout = 10, .causal = 11,
	 .flash = true);
/* (dout, q, k, v, bias, out, lse, seed, offset, dropout, grad_input_mask, is_causal, scale) */
BACKWARD(sdpa_efficient_backward, .q = 1, .heads_first = true, .dropout = 9, .causal = 11,
	 .align = TOP_LEFT);
/*
 * (dout, q, k, v, out, lse, seed, offset, bias, cum_seq_q, cum_seq_k, max_q, max_k, dropout,
 * is_causal, scale)
 */
BACKWARD(sdpa_cudnn_backward, .q = 1, .heads_first = true, .dropout = 13, .causal = 14,
	 .align = TOP_LEFT);

/* (q, k, v, attn_bias, dropout, is_causal, return_debug_mask, scale) */
FORWARD(sdpa_overrideable, .heads_first = true, .dropout = 4, .causal = 5, .align = TOP_LEFT);
/*
 * (dout, q, k, v, attn_bias, grad_input_mask, out, lse, cum_seq_q, cum_seq_k, max_q, max_k,
 * dropout, is_causal, seed, offset, scale)
 */
BACKWARD(sdpa_overrideable_backward, .q = 1, .heads_first = true, .dropout = 12, .causal = 13,
	 .align = TOP_LEFT);
/*
 * (q, k, v, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, compute_log_sumexp, dropout, is_causal,
 * ...)
 */
FORWARD(aten_cudnn_attention, .heads_first = true, .dropout = 9, .causal = 10, .align = TOP_LEFT);
/*
 * Compiled flex attention (q, k, v, lse, ...): which blocks its mask leaves out is data on the
 * GPU, so that all pairs are counted.
 */
FORWARD(flex_attention, .heads_first = true, .flash = true);
BACKWARD(flex_attention_backward, .heads_first = true, .flash = true);

/* (q, k, v, cum_seq_q, cum_seq_k, max_q, max_k, dropout, is_causal, return_debug_mask, ...) */
FORWARD(aten_flash_attention, .dropout = 7, .causal = 8, .lengths = 3, .longest = 5, .flash = true);
/* as sdpa_flash_backward, but (B, N, H, D) */
BACKWARD(aten_flash_attention_backward, .q = 1, .dropout = 10, .causal = 11, .lengths = 6,
	 .longest = 8, .flash = true);
MODEL(aten_efficient_attention, efficient_forward, efficient_backward_of_forward, "SDPA_bwd");
/*
 * (dout, q, k, v, bias, out, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, lse, dropout,
 * seed, offset, custom_mask_type, ...)
 */
BACKWARD(aten_efficient_attention_backward, .q = 1, .dropout = 11, .causal = 14,
	 .causal_type = true, .lengths = 6, .longest = 8);

/* (q, k, v, dropout, scale, is_causal, ...) */
FORWARD(aiter_flash_attention, .dropout = 3, .causal = 5, .flash = true);
/* (dout, q, k, v, out, lse, dq, dk, dv, dbias, dropout, scale, causal, ...) */
BACKWARD(aiter_flash_attention_backward, .q = 1, .dropout = 10, .causal = 12, .flash = true);
FORWARD(aiter_fmha_v3_wrapper, .q = 1, .dropout = 4, .causal = 6, .flash = true);
BACKWARD(aiter_fmha_v3_wrapper_backward, .q = 1, .dropout = 7, .causal = 9, .flash = true);
/* (dout, q, k, v, out, lse, dropout, scale, is_causal, ...) */
BACKWARD(aiter_mha_backward, .q = 1, .dropout = 6, .causal = 8, .flash = true);
MODEL(flash_attention_3, flash_3_forward, flash_3_backward, "SDPA_bwd");
/*
 * (dout, q, k, v, out, lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k,
 * max_seqlen_q, max_seqlen_k, scale, is_causal, ...)
 */
BACKWARD(flash_attention_3_backward, .q = 1, .causal = 16, .lengths = 9, .longest = 13,
	 .flash = true);
MODEL(evoformer_attention, evoformer_forward, evoformer_backward, "SDPA_bwd");

/*
 * What calls the others: aten::scaled_dot_product_attention and _scaled_dot_product_attention_math
 * (q, k, v, attn_mask, dropout, is_causal, ...).
 */
static const struct layout sdpa_layout = {
	.heads_first = true, .dropout = 4, .causal = 5, .align = TOP_LEFT
};
RUN(sdpa, forward, false)
RUN(sdpa, backward, true)

const struct tw_model tw_model_sdpa = {
	.name = "sdpa",
	.sheet = "SDPA",
	.unit = TW_UNIT_MATRIX,
	.forward = sdpa_forward,
	.backward = sdpa_backward,
	.backward_category = "SDPA_bwd",
	.composite = true,
};
