/*
 * Rotary position embedding: pairs of elements (x, y) become (x cos - y sin, x sin + y cos).
 *
 *	FLOPs = 3 n		two products and a sum for each of n elements
 *	bytes = 2 n b		read and written; cosines and sines are few and shared
 *
 * n counts queries and keys where an operation turns both; where only the first elements of a head
 * are turned in place, these.  With an RMS norm of each head before, 4 n + 2 a head FLOPs more, n
 * then all elements.  The fused one writes the query and the
 * compressed key of MLA to where they are kept, QH and KH heads of T tokens, D_pe turned elements:
 *
 *	FLOPs = 3 T D_pe (QH + KH)
 *	bytes = reads of q_nope, q_pe, kv and k_pe + T QH (D_nope + D_pe) q + T KH (D_kv + D_pe) kv
 *
 * Sources: J. Su et al., RoFormer, arXiv 2104.09864; operands as in Transformer Engine, aiter and
 * sgl-kernel; TraceLens 0.1.
 *
 * Example: FusedRoPEFunc of bf16 (16, 2, 4, 8): n = 1024, 3072 FLOPs, 4096 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>

/* One or two tensors that are turned; without the second its shape is no parameter. */
static int turn(const struct tw_operand *q, const struct tw_operand *k, struct tw_work *work)
{
	bool both = k && tw_is_tensor(k);

	if (!tw_is_tensor(q))
		return tw_work_fail(work, "no tensor to rotate");
	tw_param_dims(work, "op_shape", &q->dims);
	if (k)
		tw_param_dims(work, "k_shape", &k->dims);
	return tw_work_set(work, 3 * tw_elements(&q->dims) + (both ? 3 * tw_elements(&k->dims) : 0),
			   2 * tw_bytes(q) + (both ? 2 * tw_bytes(k) : 0), q);
}

/* FusedRoPEFunc(t, freqs, ...) */
static int fused_rope(const struct tw_call *call, struct tw_work *work)
{
	return turn(tw_operand(call, 0), NULL, work);
}

/* rope_cached_positions_2c_fwd_impl(output_x, output_y, input_x, input_y, cos, sin, ...) */
static int cached_positions(const struct tw_call *call, struct tw_work *work)
{
	return turn(tw_operand(call, 2), tw_operand(call, 3), work);
}

/*
 * By the names of arguments: the cache has a cosine and a sine for each pair that is turned, and
 * a head more elements than that where its size is known.
 */
static int rope_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *cache = tw_argument(&a, "cos_sin_cache");
	const struct tw_operand *q = tw_argument(&a, "query|q");
	double head = tw_argument_integer(&a, "head_size|head_dim", NAN), turned;

	if (turn(q, tw_argument(&a, "key|k"), work))
		return -1;
	if (!(head > 0) && q->dims.rank > 2)
		head = tw_size(q, -1);
	if (!(head > 0) || cache->dims.rank != 2 || tw_argument_tensor(&a, "q_rope|q_out"))
		return 0;
	turned = tw_size(cache, 1);
	if (turned < head) {
		work->flops *= turned / head;
		work->bytes *= turned / head;
	}
	return 0;
}

/* fused_qk_norm_rope(qkv, heads of q, of k, of v, their size, ...): of q and k in place. */
static int qk_norm_rope(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *qkv = tw_argument(&a, "qkv");
	const struct tw_operand *cache = tw_argument(&a, "cos_sin_cache");
	double heads = tw_argument_integer(&a, "num_heads_q", NAN) +
		       tw_argument_integer(&a, "num_heads_k", NAN);
	double head = tw_argument_integer(&a, "head_dim", NAN), rows, turned;

	if (!tw_is_tensor(qkv) || !(heads > 0) || !(head > 0))
		return tw_work_fail(work, "heads not recorded");
	turned = cache->dims.rank == 2 && tw_size(cache, 1) < head ? tw_size(cache, 1) : head;
	rows = tw_elements(&qkv->dims) / tw_size(qkv, -1) * heads;
	tw_param_dims(work, "op_shape", &qkv->dims);
	return tw_work_set(work, rows * (4 * head + 2 + 3 * turned),
			   2 * rows * head * tw_element_bytes(qkv) +
				   tw_argument_bytes(&a, "q_weight|k_weight"),
			   qkv);
}

/*
 * fused_qk_rope_concat_and_cache_mla(q_nope (T, QH, D), q_pe (T, QH, D_pe), kv_c (T, D_kv) or
 * (T, KH, D_kv), k_pe alike, kv_cache, q_out, ...); the one named cat has q_out elsewhere, and
 * what is at its place is no matrix of heads.
 */
static int qk_rope_cache(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *q = tw_operand(call, 0), *q_pe = tw_operand(call, 1);
	const struct tw_operand *kv = tw_operand(call, 2), *k_pe = tw_operand(call, 3);
	const struct tw_operand *cache = tw_operand(call, 4), *out = tw_operand(call, 5);
	double t, q_heads, k_heads, turned, written;

	if (q->dims.rank != 3 || q_pe->dims.rank != 3 || k_pe->dims.rank < 2 ||
	    k_pe->dims.rank > 3 || kv->dims.rank != k_pe->dims.rank)
		return tw_work_fail(work, "operands are not queries and keys");
	t = tw_size(q_pe, 0);
	q_heads = tw_size(q_pe, 1);
	k_heads = k_pe->dims.rank == 3 ? tw_size(k_pe, 1) : 1;
	turned = tw_size(q_pe, 2);
	if (tw_size(q, 0) != t || tw_size(q, 1) != q_heads || tw_size(k_pe, -1) != turned ||
	    tw_size(kv, 0) != tw_size(k_pe, 0))
		return tw_work_fail(work, "queries and keys differ in size");
	written = t * q_heads * (tw_size(q, 2) + turned) *
			  tw_element_bytes(out->dims.rank == 3 ? out : q) +
		  t * k_heads * (tw_size(kv, -1) + turned) * tw_element_bytes(cache);
	TW_PARAM_INTEGERS(work, { "num_tokens", t }, { "H_Q", q_heads }, { "H_KV", k_heads },
			  { "d_nope", tw_size(q, 2) }, { "d_pe", turned },
			  { "d_kv", tw_size(kv, -1) });
	return tw_work_set(work, 3 * t * turned * (q_heads + k_heads),
			   tw_bytes(q) + tw_bytes(q_pe) + tw_bytes(kv) + tw_bytes(k_pe) + written,
			   q);
}

#define ROPE(id, sheet, function) TW_MODEL(id, sheet, VECTOR, .forward = function)

const struct tw_model tw_family_rope[] = {
	ROPE(fused_rope, "RoPE", fused_rope),
	ROPE(rope_cached_positions, "RoPE", cached_positions),
	ROPE(rope_named, "RoPE", rope_named),
	ROPE(qk_norm_rope, "RoPE", qk_norm_rope),
	ROPE(qk_rope_cache_mla, "FusedRoPE", qk_rope_cache),
	{ .name = NULL },
};
