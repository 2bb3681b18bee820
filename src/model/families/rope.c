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

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

static double size(const struct tw_operand *operand, unsigned dimension)
{
	return (double)operand->dims.size[dimension];
}

/* One or two tensors that are turned; the second may be absent. */
static int turn(const struct tw_call *call, unsigned first, unsigned second, struct tw_work *work)
{
	const struct tw_operand *q = at(call, first), *k = at(call, second);

	if (!q->dims.rank)
		return tw_work_fail(work, "it has no tensor to turn");
	work->flops = 3 * tw_elements(&q->dims);
	work->bytes = 2 * tw_bytes(q);
	if (second != first && k->dims.rank) {
		work->flops += 3 * tw_elements(&k->dims);
		work->bytes += 2 * tw_bytes(k);
	}
	work->precision = tw_precision(q);
	tw_param_dims(work, "op_shape", &q->dims);
	if (second != first)
		tw_param_dims(work, "k_shape", &k->dims);
	return 0;
}

/* FusedRoPEFunc(t, freqs, ...) */
static int fused_rope(const struct tw_call *call, struct tw_work *work)
{
	return turn(call, 0, 0, work);
}

/* rope_cached_positions_2c_fwd_impl(output_x, output_y, input_x, input_y, cos, sin, ...) */
static int cached_positions(const struct tw_call *call, struct tw_work *work)
{
	return turn(call, 2, 3, work);
}

/*
 * By the names of arguments: the cache has a cosine and a sine for each pair that is turned, and
 * a head more elements than that where its size is known.
 */
static int rope_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *cache = tw_argument(&a, "cos_sin_cache");
	unsigned q = tw_argument_at(&a, "query|q"), k = tw_argument_at(&a, "key|k");
	double head = tw_argument_integer(&a, "head_size|head_dim", NAN), turned;

	if (turn(call, q, k, work))
		return -1;
	if (!(head > 0) && at(call, q)->dims.rank > 2)
		head = size(at(call, q), at(call, q)->dims.rank - 1);
	if (!(head > 0) || cache->dims.rank != 2 ||
	    tw_has_tensor(call, tw_argument_at(&a, "q_rope|q_out")))
		return 0;
	turned = size(cache, 1);
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
	const struct tw_operand *qkv = tw_argument(&a, "qkv"), *cache;
	double q = tw_argument_integer(&a, "num_heads_q", NAN);
	double k = tw_argument_integer(&a, "num_heads_k", NAN);
	double head = tw_argument_integer(&a, "head_dim", NAN), rows, turned;

	cache = tw_argument(&a, "cos_sin_cache");
	if (!qkv->dims.rank || !(q + k > 0) || !(head > 0))
		return tw_work_fail(work, "its heads were not recorded");
	turned = cache->dims.rank == 2 && size(cache, 1) < head ? size(cache, 1) : head;
	rows = tw_elements(&qkv->dims) / size(qkv, qkv->dims.rank - 1) * (q + k);
	work->flops = rows * (4 * head + 2 + 3 * turned);
	work->bytes = 2 * rows * head * tw_element_bytes(qkv) +
		      tw_argument_bytes(&a, "q_weight|k_weight");
	work->precision = tw_precision(qkv);
	tw_param_dims(work, "op_shape", &qkv->dims);
	return 0;
}

/*
 * fused_qk_rope_concat_and_cache_mla(q_nope (T, QH, D), q_pe (T, QH, D_pe), kv_c (T, D_kv) or
 * (T, KH, D_kv), k_pe alike, kv_cache, q_out, ...); the one named cat has q_out elsewhere, and
 * what is at its place is no matrix of heads.
 */
static int qk_rope_cache(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *q = at(call, 0), *q_pe = at(call, 1), *kv = at(call, 2);
	const struct tw_operand *k_pe = at(call, 3), *cache = at(call, 4), *out = at(call, 5);
	unsigned rank = k_pe->dims.rank;
	double t, q_heads, k_heads, turned;

	if (q->dims.rank != 3 || q_pe->dims.rank != 3 || rank < 2 || rank > 3 ||
	    kv->dims.rank != rank)
		return tw_work_fail(work, "its operands are no queries and keys");
	t = size(q_pe, 0);
	q_heads = size(q_pe, 1);
	k_heads = rank == 3 ? size(k_pe, 1) : 1;
	turned = size(q_pe, 2);
	if (size(q, 0) != t || size(q, 1) != q_heads || size(k_pe, rank - 1) != turned ||
	    size(kv, 0) != size(k_pe, 0))
		return tw_work_fail(work, "its queries and keys differ in size");
	if (out->dims.rank != 3)
		out = q;
	work->flops = 3 * t * turned * (q_heads + k_heads);
	work->bytes = tw_bytes(q) + tw_bytes(q_pe) + tw_bytes(kv) + tw_bytes(k_pe) +
		      t * q_heads * (size(q, 2) + turned) * tw_element_bytes(out) +
		      t * k_heads * (size(kv, rank - 1) + turned) * tw_element_bytes(cache);
	work->precision = tw_precision(q);
	tw_param_integer(work, "num_tokens", t);
	tw_param_integer(work, "H_Q", q_heads);
	tw_param_integer(work, "H_KV", k_heads);
	tw_param_integer(work, "d_nope", size(q, 2));
	tw_param_integer(work, "d_pe", turned);
	tw_param_integer(work, "d_kv", size(kv, rank - 1));
	return 0;
}

#define ROPE(id, in_sheet, function)                                    \
	const struct tw_model tw_model_##id = { .name = #id,            \
						.sheet = in_sheet,      \
						.unit = TW_UNIT_VECTOR, \
						.forward = function }

ROPE(fused_rope, "RoPE", fused_rope);
ROPE(rope_cached_positions, "RoPE", cached_positions);
ROPE(rope_named, "RoPE", rope_named);
ROPE(qk_norm_rope, "RoPE", qk_norm_rope);
ROPE(qk_rope_cache_mla, "FusedRoPE", qk_rope_cache);
