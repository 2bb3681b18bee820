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
#include "model/families/attention.h"

#include "model/arguments.h"

#include <math.h>
#include <string.h>

enum {
	HEADS_FIRST = 1, /* (B, H, N, D), else (B, N, H, D) */
	TOP_LEFT = 2,	 /* what is causal, else at the bottom right */
	PACKED = 4,	 /* always; else when lengths are given */
	FLASH = 8,
	STRIDES = 16,  /* among the parameters */
	BACKWARD = 32, /* it is a backward pass itself */
};

/*
 * An operation's arguments in their order, of which these count: q with k and v after it; dropout;
 * causal, or mask_type, which is 0, 1 (top left) or 2 (bottom right); lengths_q, where the sequences
 * of q begin, with those of k after it; longest_q, the longest of them, and that of k after it.
 */
struct layout {
	const char *arguments;
	unsigned flags;
};

/* Of queries, of keys or of values. */
struct sizes {
	double batch, n, h, d;
};

struct attention {
	struct sizes q, k, v;
	double dropout;
	bool causal, packed;
	bool top_left;
	double sequences, longest_q, longest_kv;
	double pairs;			     /* of all sequences, for one head */
	const struct tw_operand *operand[3]; /* q, k, v */
};

/* A truth value; false when nothing of that kind was recorded. */
static bool read_flag(const struct tw_call *call, unsigned position, bool *flag)
{
	int64_t integer = tw_value_integer(call, position, -1);

	*flag = tw_value_true(call, position, integer == 1);
	return integer == 0 || *flag == tw_value_true(call, position, true);
}

/* ---- query-key pairs */

static double visible(double n_q, double n_kv, bool top_left)
{
	double least = n_q < n_kv ? n_q : n_kv;
	double triangle = least * (least + 1) / 2;

	if (top_left)
		return triangle + (n_q - least) * n_kv;
	return triangle + least * (n_kv - least);
}

static double count_pairs(const struct attention *a, double n_q, double n_kv)
{
	if (!a->causal)
		return n_q * n_kv;
	return n_q == n_kv ? n_q * n_kv / 2 : visible(n_q, n_kv, a->top_left);
}

static int take_packed(struct attention *a, const struct tw_call *call, const struct layout *l,
		       struct tw_work *work)
{
	unsigned lengths = tw_place(l->arguments, "lengths_q");
	unsigned longest = tw_place(l->arguments, "longest_q");
	const struct tw_dims *q = &tw_operand(call, lengths)->dims;
	const struct tw_dims *kv = &tw_operand(call, lengths + 1)->dims;
	double others, rest_q = 0, rest_kv = 0;

	if (q->rank != 1 || kv->rank != 1 || q->size[0] < 2 || q->size[0] != kv->size[0])
		return tw_work_fail(work, "invalid number of sequences");
	a->sequences = (double)(q->size[0] - 1);
	a->longest_q = (double)tw_value_integer(call, longest, -1);
	a->longest_kv = (double)tw_value_integer(call, longest + 1, -1);
	if (a->longest_q < 0 || a->longest_kv < 0)
		return tw_work_fail(work, "max sequence length not recorded");
	if (a->longest_q > a->q.n || a->longest_kv > a->k.n)
		return tw_work_fail(work, "max sequence length exceeds the total length");
	others = a->sequences - 1;
	if (others > 0) {
		rest_q = floor((a->q.n - a->longest_q) / others);
		rest_kv = floor((a->k.n - a->longest_kv) / others);
	}
	a->pairs = count_pairs(a, a->longest_q, a->longest_kv) +
		   others * count_pairs(a, rest_q, rest_kv);
	return 0;
}

/* ---- sizes */

/* False: the rank does not fit. */
static bool take_sizes(const struct tw_operand *x, const struct layout *l, bool packed,
		       struct sizes *s)
{
	bool has_lengths = tw_place(l->arguments, "lengths_q") != TW_NOWHERE;
	unsigned rank = x->dims.rank, i;

	*s = (struct sizes){ 1, 0, 1, tw_size(x, -1) };
	if (l->flags & HEADS_FIRST) {
		/* Three dimensions are batches of one head. */
		s->n = tw_size(x, -2);
		s->h = rank > 3 ? tw_size(x, -3) : 1;
		for (i = 0; rank > 2 && i < (rank > 3 ? rank - 3 : 1); i++)
			s->batch *= tw_size(x, (int)i);
		return rank >= 2;
	}
	if (rank != 4 && !((packed || has_lengths) && rank == 3))
		return false;
	if (rank == 4)
		s->batch = tw_size(x, 0);
	s->n = tw_size(x, -3);
	s->h = tw_size(x, -2);
	return !packed || s->batch == 1;
}

static int check_sizes(const struct attention *a, struct tw_work *work)
{
	if (a->q.batch != a->k.batch || a->k.batch != a->v.batch)
		return tw_work_fail(work, "batches differ");
	if (a->k.n != a->v.n || a->k.h != a->v.h)
		return tw_work_fail(work, "keys and values differ in number");
	if (a->q.d != a->k.d)
		return tw_work_fail(work, "queries and keys differ in size");
	if (a->k.h < 1 || fmod(a->q.h, a->k.h) != 0)
		return tw_work_fail(work, "query heads are not a multiple of key heads");
	return 0;
}

static int take_causal(struct attention *a, const struct tw_call *call, const struct layout *l,
		       struct tw_work *work)
{
	unsigned causal = tw_place(l->arguments, "causal");
	unsigned type_at = tw_place(l->arguments, "mask_type");
	int64_t type = tw_value_integer(call, type_at, -1);

	a->top_left = l->flags & TOP_LEFT || type == 1;
	if (type_at != TW_NOWHERE) {
		if (type < 0 || type > 2)
			return tw_work_fail(work, "mask unknown");
		a->causal = type != 0;
	} else if (causal != TW_NOWHERE && !read_flag(call, causal, &a->causal)) {
		return tw_work_fail(work, "causal flag not recorded");
	}
	return 0;
}

static int take_operands(struct attention *a, const struct tw_call *call, const struct layout *l,
			 struct tw_work *work)
{
	unsigned q = tw_place(l->arguments, "q"), dropout = tw_place(l->arguments, "dropout");
	unsigned lengths = tw_place(l->arguments, "lengths_q"), i;
	struct sizes *sizes[] = { &a->q, &a->k, &a->v };

	*a = (struct attention){ .packed = l->flags & PACKED || tw_has_tensor(call, lengths) };
	for (i = 0; i < 3; i++) {
		a->operand[i] = tw_operand(call, q + i);
		if (!take_sizes(a->operand[i], l, a->packed, sizes[i]))
			return tw_work_fail(work, "operands are not queries, keys and values");
	}
	if (check_sizes(a, work))
		return -1;
	/* Sequences one after another whose lengths are not recorded: what moves is known. */
	if (lengths != TW_NOWHERE && !a->packed && a->operand[0]->dims.rank == 3) {
		a->pairs = NAN;
		return 0;
	}
	if (take_causal(a, call, l, work))
		return -1;
	a->dropout = dropout == TW_NOWHERE ? 0 : tw_value_real(call, dropout);
	if (a->packed)
		return take_packed(a, call, l, work);
	a->pairs = a->q.batch * count_pairs(a, a->q.n, a->k.n);
	return 0;
}

/* ---- work */

static void describe_attention(struct tw_work *work, const struct attention *a,
			       const struct layout *l)
{
	TW_PARAM_INTEGERS(work, { "B", a->q.batch }, { "N_Q", a->q.n }, { "H_Q", a->q.h },
			  { "N_KV", a->k.n }, { "H_KV", a->k.h }, { "d_h_qk", a->q.d },
			  { "d_h_v", a->v.d });
	if (l->flags & STRIDES) {
		tw_param_strides(work, "q_stride", a->operand[0]);
		tw_param_strides(work, "k_stride", a->operand[1]);
		tw_param_strides(work, "v_stride", a->operand[2]);
	}
	tw_param_real(work, "dropout", a->dropout);
	tw_param_bool(work, "causal", a->causal);
	tw_param_bool(work, "flash_impl", l->flags & FLASH);
	TW_PARAM_TYPES(work, "dtype_A_B", a->operand[0], a->operand[1]);
	if (a->packed)
		TW_PARAM_INTEGERS(work, { "num_seqs_q", a->sequences },
				  { "num_seqs_kv", a->sequences }, { "max_seqlen_q", a->longest_q },
				  { "max_seqlen_kv", a->longest_kv });
}

/* Bytes of what is like an operand and written: with that size of the last dimension. */
static double written(const struct sizes *s, double d, const struct tw_operand *like)
{
	return s->batch * s->n * s->h * d * tw_result_bytes(like);
}

static int attention(const struct tw_call *call, const struct layout *l, struct tw_work *work)
{
	const struct tw_operand *const *x;
	double flops, bytes, d;
	struct attention a;

	if (take_operands(&a, call, l, work))
		return -1;
	x = a.operand;
	d = a.q.d + a.v.d;
	flops = 2 * a.q.h * a.pairs * d;
	bytes = tw_bytes(x[0]) + tw_bytes(x[1]) + tw_bytes(x[2]) + written(&a.q, a.v.d, x[0]);
	if (work->backward || l->flags & BACKWARD) {
		flops = 2 * a.q.h * a.pairs * (2 * d + (l->flags & FLASH ? a.q.d : 0)) +
			a.q.batch * a.k.n * (a.q.h - a.k.h) * d;
		bytes += written(&a.q, a.q.d, x[0]) + written(&a.k, a.q.d, x[1]) +
			 written(&a.k, a.v.d, x[2]);
	}
	describe_attention(work, &a, l);
	return tw_work_set(work, flops, bytes, x[0]);
}

static int by_layout(const struct tw_call *call, struct tw_work *work)
{
	return attention(call, work->model->variant, work);
}

/* ---- operations whose arguments moved between versions */

/* flash_attn::_flash_attn_backward */
static int flash_attn_backward(const struct tw_call *call, struct tw_work *work)
{
	/* TraceLens 0.1 has them one earlier, where the scale is: that is no truth value. */
	static const struct layout usual = { "dout q k v out lse dq dk dv dropout scale causal",
					     BACKWARD | FLASH | STRIDES };
	static const struct layout earlier = { "dout q k v out lse dq dk dropout scale causal",
					       BACKWARD | FLASH | STRIDES };
	bool flag;

	return attention(call, read_flag(call, 10, &flag) ? &earlier : &usual, work);
}

/* aten::_efficient_attention_forward; older versions have no max_seqlen_k. */
static int efficient(const struct tw_call *call, struct tw_work *work)
{
	static const struct layout usual = {
		"q k v bias lengths_q lengths_kv longest_q longest_kv dropout mask_type", 0
	};
	static const struct layout older = {
		"q k v bias lengths_q lengths_kv longest_q dropout mask_type", 0
	};
	bool flag, old = tw_value_integer(call, 9, -1) < 0 && read_flag(call, 9, &flag);

	return attention(call, old ? &older : &usual, work);
}

/* flash_attn_3::fwd */
int tw_flash_attention_3(const struct tw_call *call, struct tw_work *work)
{
	static const struct layout usual = {
		"q k v k_new v_new q_v out lengths_q lengths_kv cu_seqlens_k_new seqused_q "
		"seqused_k longest_q longest_kv page_table kv_batch_idx leftpad_k rotary_cos "
		"rotary_sin seqlens_rotary q_descale k_descale v_descale scale causal",
		FLASH
	};
	/* As one operation around it has it, of queries, keys and values alone: nothing masked. */
	static const struct layout bare = {
		"q k v k_new v_new q_v out lengths_q lengths_kv - - - longest_q longest_kv", FLASH
	};

	if (tw_has_tensor(call, 5))
		return tw_work_fail(work, "values have the shape of queries");
	if (tw_has_tensor(call, 3) || tw_has_tensor(call, 11) || tw_has_tensor(call, 14))
		return tw_work_fail(work, "lengths of the cached keys unknown");
	return attention(call, call->count == 3 ? &bare : &usual, work);
}

/* EvoformerAttention(q, k, v, bias, bias): (B, S, N, H, D), B S batches, nothing causal. */
static int evoformer(const struct tw_call *call, struct tw_work *work)
{
	static const struct layout l = { "q k v", 0 };
	struct tw_call four;
	unsigned i;

	four.count = 3;
	for (i = 0; i < 3; i++) {
		struct tw_dims *d;

		four.operand[i] = *tw_operand(call, tw_has_tensor(call, i) ? i : 0);
		d = &four.operand[i].dims;
		if (d->rank != 5)
			return tw_work_fail(work, "operands are not 5-dimensional");
		if (__builtin_mul_overflow(d->size[0], d->size[1], &d->size[0]))
			return tw_work_fail(work, "too many batches");
		memmove(&d->size[1], &d->size[2], 3 * sizeof(d->size[0]));
		d->rank = 4;
	}
	return attention(&four, &l, work);
}

/* ---- models */

#define SDPA(id, ...) TW_MODEL(id, "SDPA", MATRIX, __VA_ARGS__)
#define BOTH_WAYS(function) \
	.forward = function, .backward = function, .backward_category = "SDPA_bwd"
#define LAYOUT(...)                       \
	.variant = &(const struct layout) \
	{                                 \
		__VA_ARGS__               \
	}
/* An operation that goes forward, and back by the same arguments; one that is a backward pass. */
#define FORWARD(id, ...) SDPA(id, BOTH_WAYS(by_layout), LAYOUT(__VA_ARGS__))
#define BACK(id, list, flags) SDPA(id, .forward = by_layout, LAYOUT(list, BACKWARD | (flags)))

const struct tw_model tw_family_attention[] = {
	/* FlashAttnFunc and _flash_attn_forward */
	FORWARD(flash_attention, "q k v dropout scale causal", FLASH | STRIDES),
	SDPA(flash_attention_backward, .forward = flash_attn_backward),
	FORWARD(flash_attention_varlen,
		"q k v lengths_q lengths_kv longest_q longest_kv dropout scale causal",
		PACKED | FLASH | STRIDES),
	BACK(flash_attention_varlen_backward,
	     "dout q k v out lse dq dk dv lengths_q lengths_kv longest_q longest_kv dropout scale "
	     "causal",
	     PACKED | FLASH | STRIDES),

	FORWARD(sdpa_flash, "q k v dropout causal return_debug_mask scale", HEADS_FIRST | FLASH),
	BACK(sdpa_flash_backward,
	     "dout q k v out lse cum_seq_q cum_seq_k max_q max_k dropout causal seed offset scale",
	     HEADS_FIRST | FLASH),
	FORWARD(sdpa_efficient, "q k v attn_bias compute_log_sumexp dropout causal",
		HEADS_FIRST | TOP_LEFT),
	BACK(sdpa_efficient_backward,
	     "dout q k v bias out lse seed offset dropout grad_input_mask causal scale",
	     HEADS_FIRST | TOP_LEFT),
	FORWARD(sdpa_cudnn, "q k v attn_bias compute_log_sumexp dropout causal",
		HEADS_FIRST | TOP_LEFT),
	BACK(sdpa_cudnn_backward,
	     "dout q k v out lse seed offset bias cum_seq_q cum_seq_k max_q max_k dropout causal",
	     HEADS_FIRST | TOP_LEFT),
	FORWARD(sdpa_overrideable, "q k v attn_bias dropout causal return_debug_mask scale",
		HEADS_FIRST | TOP_LEFT),
	BACK(sdpa_overrideable_backward,
	     "dout q k v attn_bias grad_input_mask out lse cum_seq_q cum_seq_k max_q max_k dropout "
	     "causal seed offset scale",
	     HEADS_FIRST | TOP_LEFT),
	/* What calls these: aten::scaled_dot_product_attention and its _math. */
	SDPA(sdpa, BOTH_WAYS(by_layout),
	     LAYOUT("q k v attn_mask dropout causal", HEADS_FIRST | TOP_LEFT), .composite = true),

	FORWARD(aten_cudnn_attention,
		"q k v attn_bias cum_seq_q cum_seq_k max_q max_k compute_log_sumexp dropout causal",
		HEADS_FIRST | TOP_LEFT),
	FORWARD(aten_flash_attention,
		"q k v lengths_q lengths_kv longest_q longest_kv dropout causal", FLASH),
	BACK(aten_flash_attention_backward,
	     "dout q k v out lse lengths_q lengths_kv longest_q longest_kv dropout causal seed",
	     FLASH),
	SDPA(aten_efficient_attention, BOTH_WAYS(efficient)),
	BACK(aten_efficient_attention_backward,
	     "dout q k v bias out lengths_q lengths_kv longest_q longest_kv lse dropout seed "
	     "offset "
	     "mask_type",
	     0),
	/*
	 * Compiled flex attention: the masked blocks are data on the GPU, so that all
	 * pairs are counted.
	 */
	FORWARD(flex_attention, "q k v lse", HEADS_FIRST | FLASH),
	BACK(flex_attention_backward, "q k v lse", HEADS_FIRST | FLASH),

	FORWARD(aiter_flash_attention, "q k v dropout scale causal", FLASH),
	BACK(aiter_flash_attention_backward,
	     "dout q k v out lse dq dk dv dbias dropout scale causal", FLASH),
	FORWARD(aiter_fmha_v3_wrapper, "- q k v dropout - causal", FLASH),
	BACK(aiter_fmha_v3_wrapper_backward, "- q k v - - - dropout - causal", FLASH),
	BACK(aiter_mha_backward, "dout q k v out lse dropout scale causal", FLASH),
	SDPA(flash_attention_3, BOTH_WAYS(tw_flash_attention_3)),
	BACK(flash_attention_3_backward,
	     "dout q k v out lse dq dk dv lengths_q lengths_kv seqused_q seqused_k longest_q "
	     "longest_kv scale causal",
	     FLASH),
	SDPA(evoformer_attention, BOTH_WAYS(evoformer)),
	{ .name = NULL },
};
