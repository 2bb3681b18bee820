/*
 * Attention of inference servers: tokens of many requests at once, against a cache of keys and
 * values.  The arguments do not say how long the requests are; the annotation around the step
 * does (requests.h): c_ of those whose prompt is read, causally, g_ of those that write.
 *
 *	FLOPs = HQ (2 c_sqsk - c_sqsq) (dqk + dv) + 2 HQ g_sqsk (dqk + dv)
 *	bytes = (c_sq + g_sq) (HQ + HKV) (dqk + dv) q + (c_sk - c_sq + g_sk - g_sq) HKV (dqk + dv) kv
 *
 * q, kv: bytes of an element of queries and of keys.  Queries, output and new keys and values
 * move once a step, what was in the cache once a request.  A decode moves what is in the cache
 * and reads the requests that write, a prefill those whose prompt is read.
 *
 * MLA keeps one vector of dqk for a token, whose first dv are its value: it moves once, so that
 * a token of the cache is HKV dqk.  Sparse attention sees a given number of keys for each query:
 *
 *	FLOPs = 2 pairs HQ (dqk + dv)	bytes = N HQ (dqk + dv) q + pairs d kv
 *
 * DeepSeek-V4's sees the last 128 tokens (SWA), and of all before one key for four tokens, as many
 * as its indexer picks, 512 or 1024 (CSA), or one for 128 tokens (HCA).
 *
 * Gated delta rule: 7 dv dk operations for a token and head (decay, two products with the
 * state, update), bytes = tokens HV (dk + 2 dv + 2) q.
 *
 * Sources: the definitions; operands as in vLLM, SGLang, aiter and ATOM; TraceLens 0.1.
 *
 * Example: one request that writes, 3 tokens in its cache and this one: sq 1, sk 4, sqsq 1, sqsk 4;
 * 2 heads, 1 of keys, of size 8, in bf16: 2 x 2 x 4 x 16 = 256 FLOPs; 3 x 16 x 2 bytes for
 * its token and 3 x 16 x 2 from the cache, 192.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

#define V4_WINDOW 128
#define V4_FEWEST_PICKED 512
#define V4_MOST_PICKED 1024
#define MLA_VALUE 512

struct heads {
	double h_q, h_kv, d_qk, d_v;
	const struct tw_operand *q, *kv;
	bool latent; /* one vector is key and value */
};

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

/* A size from the end: 1 is the last. */
static double last(const struct tw_dims *dims, unsigned from_end)
{
	return (double)dims->size[dims->rank - from_end];
}

static void add_parameters(const struct heads *h, const struct tw_requests *r, struct tw_work *work)
{
	const struct tw_operand *types[2] = { h->q, h->kv };

	tw_param_integer(work, "N_Q", h->q->dims.rank ? (double)h->q->dims.size[0] : NAN);
	tw_param_integer(work, "H_Q", h->h_q);
	tw_param_integer(work, "H_KV", h->h_kv);
	tw_param_integer(work, "d_h_qk", h->d_qk);
	tw_param_integer(work, "d_h_v", h->d_v);
	tw_param_types(work, "dtype_A_B", types, 2);
	if (!r->known)
		return;
	tw_param_integer(work, "c_sq", r->context_sq);
	tw_param_integer(work, "c_sk", r->context_sk);
	tw_param_integer(work, "c_sqsq", r->context_sqsq);
	tw_param_integer(work, "c_sqsk", r->context_sqsk);
	tw_param_integer(work, "g_sq", r->generation_sq);
	tw_param_integer(work, "g_sk", r->generation_sk);
	tw_param_integer(work, "g_sqsq", r->generation_sqsq);
	tw_param_integer(work, "g_sqsk", r->generation_sqsk);
}

static int finish(const struct heads *h, const struct tw_requests *r, struct tw_work *work)
{
	double width = h->d_qk + h->d_v, token = h->h_kv * (h->latent ? h->d_qk : width);
	double now = r->context_sq + r->generation_sq;
	double before = r->context_sk + r->generation_sk - now;

	if (now == 0)
		return tw_work_fail(work, "no request is at work in its step");
	if (before < 0)
		return tw_work_fail(work, "its requests attend to less than they bring");
	work->flops = h->h_q * (2 * r->context_sqsk - r->context_sqsq) * width +
		      2 * h->h_q * r->generation_sqsk * width;
	work->bytes = now * (h->h_q * width + token) * tw_element_bytes(h->q) +
		      before * token * tw_element_bytes(h->kv);
	work->precision = tw_precision(h->q);
	add_parameters(h, r, work);
	return 0;
}

static int take_requests(const struct tw_call *call, struct tw_requests *r, struct tw_work *work)
{
	*r = call->requests;
	return r->known ? 0 : tw_work_fail(work, "the requests of its step are not known");
}

static void only_generation(struct tw_requests *r)
{
	r->context_sq = r->context_sk = r->context_sqsq = r->context_sqsk = 0;
}

static void only_context(struct tw_requests *r)
{
	r->generation_sq = r->generation_sk = r->generation_sqsq = r->generation_sqsk = 0;
}

/* q (N, H, d); k and v (..., H, d), or pages of vectors: (pages, H, d / x, page, x). */
static int take_heads(struct heads *h, const struct tw_call *call, unsigned q, unsigned k,
		      struct tw_work *work)
{
	const struct tw_dims *qd = &at(call, q)->dims, *kd = &at(call, k)->dims;
	const struct tw_dims *vd = &at(call, k + 1)->dims;

	*h = (struct heads){ .q = at(call, q), .kv = at(call, k) };
	if (qd->rank != 3 || kd->rank < 3 || vd->rank < 3)
		return tw_work_fail(work, "its operands are no queries, keys and values");
	h->h_q = last(qd, 2);
	h->d_qk = last(qd, 1);
	if (kd->rank == 5 && (double)kd->size[2] * (double)kd->size[4] == h->d_qk &&
	    kd->size[1] == vd->size[1] && vd->rank > 3) {
		h->h_kv = (double)kd->size[1];
		/* (pages, H, d, page), or (pages, H, page / x, d, x) */
		h->d_v = (double)vd->size[vd->rank == 4 ? 2 : 3];
	} else if (last(kd, 1) == h->d_qk && last(kd, 2) == last(vd, 2)) {
		h->h_kv = last(kd, 2);
		h->d_v = last(vd, 1);
	} else {
		return tw_work_fail(work, "its keys do not fit its queries");
	}
	if (h->h_kv < 1 || fmod(h->h_q, h->h_kv) != 0)
		return tw_work_fail(work, "its heads cannot be shared evenly");
	return 0;
}

static int attention_at(const struct tw_call *call, unsigned q, unsigned k, struct tw_work *work)
{
	struct tw_requests r;
	struct heads h;

	if (take_heads(&h, call, q, k, work) || take_requests(call, &r, work))
		return -1;
	return finish(&h, &r, work);
}

/*
 * (q, k, v, ...): aiter's mha_varlen_fwd, fmha_v3_varlen_fwd and mha_batch_prefill.
 */
static int plain(const struct tw_call *call, struct tw_work *work)
{
	return attention_at(call, 0, 1, work);
}

/* attention_paged_attention_ragged(out, workspace, query, key_cache, value_cache, ...) */
static int paged_ragged(const struct tw_call *call, struct tw_work *work)
{
	return attention_at(call, 2, 3, work);
}

/* Not more than `most` keys for a query. */
static void limit_keys(struct tw_requests *r, double most)
{
	r->generation_sk = fmin(r->generation_sk, r->generation_sq * most);
	r->generation_sqsk = fmin(r->generation_sqsk, r->generation_sq * most);
}

/* pa_decode_gluon(output, query, key_cache, value_cache, ..., 19 sliding_window, ...) */
static int decode_gluon(const struct tw_call *call, struct tw_work *work)
{
	int64_t window = tw_value_integer(call, 19, 0);
	struct tw_requests r;
	struct heads h;

	if (take_heads(&h, call, 1, 2, work) || take_requests(call, &r, work))
		return -1;
	only_generation(&r);
	/* fmin() takes the known one of two: what is not known stays so. */
	if (window > 0 && !isnan(r.generation_sk) && !isnan(r.generation_sqsk))
		limit_keys(&r, (double)window);
	return finish(&h, &r, work);
}

/* ---- MLA */

/* The size of values from the output (N, HQ, dv) or its parts (..., HQ, dv), 0: not found. */
static double latent_value(const struct tw_call *call, const struct heads *h)
{
	unsigned rank, i;

	for (rank = 3; rank < 5; rank++)
		for (i = call->count; i-- > 2;) {
			const struct tw_dims *d = &call->operand[i].dims;

			if (d->rank == rank && last(d, 2) == h->h_q && last(d, 1) > 1 &&
			    last(d, 1) <= h->d_qk)
				return last(d, 1);
		}
	return 0;
}

/* mla_decode_stage1_asm_fwd(q (N, HQ, dqk), kv (pages, page, HKV, dqk), ..., output (N, HQ, dv)) */
static int mla_decode(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_dims *q = &at(call, 0)->dims, *kv = &at(call, 1)->dims;
	struct heads h = { .q = at(call, 0), .kv = at(call, 1), .latent = true };
	struct tw_requests r;

	if (q->rank != 3 || kv->rank < 3 || last(q, 1) != last(kv, 1))
		return tw_work_fail(work, "its operands are no queries and cache");
	h.h_q = last(q, 2);
	h.d_qk = last(q, 1);
	h.h_kv = last(kv, 2);
	h.d_v = latent_value(call, &h);
	if (h.d_v == 0)
		return tw_work_fail(work, "the size of its values is not known");
	if (take_requests(call, &r, work))
		return -1;
	if (r.generation_sq > 0)
		only_generation(&r);
	return finish(&h, &r, work);
}

/* mla_prefill_ps_asm_fwd(q (N, HQ, dqk), k (N, HKV, dqk), v (N, HKV, dv), ...) */
static int mla_prefill(const struct tw_call *call, struct tw_work *work)
{
	struct tw_requests r;
	struct heads h;

	if (take_heads(&h, call, 0, 1, work) || take_requests(call, &r, work))
		return -1;
	if (r.context_sq > 0)
		only_context(&r);
	return finish(&h, &r, work);
}

/* ---- sparse attention: one head of keys that are values too */

static int finish_sparse(const struct heads *h, double queries, double pairs,
			 const struct tw_requests *r, struct tw_work *work)
{
	double width = h->d_qk + h->d_v;

	work->flops = 2 * pairs * h->h_q * width;
	work->bytes = queries * h->h_q * width * tw_element_bytes(h->q) +
		      pairs * h->d_qk * tw_element_bytes(h->kv);
	work->precision = tw_precision(h->q);
	add_parameters(h, r, work);
	tw_param_integer(work, "num_pairs", pairs);
	return 0;
}

/* q (N, HQ, d), kv (..., d); values as large as keys. */
static int take_latent(struct heads *h, const struct tw_call *call, struct tw_work *work)
{
	const struct tw_dims *q = &at(call, 0)->dims, *kv = &at(call, 1)->dims;

	*h = (struct heads){ .h_kv = 1, .q = at(call, 0), .kv = at(call, 1), .latent = true };
	if (q->rank != 3)
		return tw_work_fail(work, "its first operand are no queries");
	if (!kv->rank || last(kv, 1) != last(q, 1))
		return tw_work_fail(work, "its second operand are no keys");
	h->h_q = last(q, 2);
	h->d_qk = h->d_v = last(q, 1);
	return 0;
}

enum compression { SWA, CSA, HCA };

/* How many keys the indexer picks at most: a number among the arguments. */
static double picked(const struct tw_call *call)
{
	unsigned i;

	for (i = 0; i < call->count; i++) {
		int64_t value = tw_value_integer(call, i, 0);

		if (value == V4_FEWEST_PICKED || value == V4_MOST_PICKED)
			return (double)value;
	}
	return NAN;
}

static int v4_decode(const struct tw_call *call, enum compression kind, struct tw_work *work)
{
	double context, keys, few, most;
	struct tw_requests r;
	struct heads h;

	if (take_latent(&h, call, work) || take_requests(call, &r, work))
		return -1;
	only_generation(&r);
	if (r.generation_sq == 0)
		return tw_work_fail(work, "no request is at work in its step");
	context = r.generation_sqsk / r.generation_sq; /* of a query, on average */
	keys = isnan(context) ? NAN : fmin(context, V4_WINDOW);
	if (kind == HCA)
		keys += ceil(context / 128);
	if (kind == CSA) {
		few = ceil(context / 4);
		most = few > V4_FEWEST_PICKED ? picked(call) : V4_FEWEST_PICKED;
		if (isnan(most))
			return tw_work_fail(work, "how many keys its indexer picks is not known");
		keys += few > most ? most : few;
	}
	return finish_sparse(&h, r.generation_sq, r.generation_sq * keys, &r, work);
}

static int v4_swa(const struct tw_call *call, struct tw_work *work)
{
	return v4_decode(call, SWA, work);
}

static int v4_csa(const struct tw_call *call, struct tw_work *work)
{
	return v4_decode(call, CSA, work);
}

static int v4_hca(const struct tw_call *call, struct tw_work *work)
{
	return v4_decode(call, HCA, work);
}

/*
 * pa_sparse_prefill_opus_fwd(q, kv, indices, ..., 5 indices, ...): two lists of the keys that are
 * seen, of all queries one after another.
 */
static int sparse_prefill(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_dims *first = &at(call, 2)->dims, *second = &at(call, 5)->dims;
	static const struct tw_requests none = { false };
	struct heads h;
	double pairs;

	if (take_latent(&h, call, work))
		return -1;
	if (first->rank != 1 || second->rank > 1)
		return tw_work_fail(work, "its indices are no lists");
	pairs = (double)first->size[0] + (second->rank ? (double)second->size[0] : 0);
	return finish_sparse(&h, (double)h.q->dims.size[0], pairs, &none, work);
}

/* tilelang_sparse_fwd(q (N, HQ, dqk), kv (..., 1, dqk), indices (N, 1, topk), scale, d_v = 512) */
static int tilelang_sparse(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_dims *indices = &at(call, 2)->dims;
	const struct tw_requests *r = &call->requests;
	struct heads h;
	double n, pairs;

	if (take_latent(&h, call, work))
		return -1;
	h.d_v = (double)tw_value_integer(call, 4, MLA_VALUE);
	if (h.d_v < 0 || h.d_v > h.d_qk)
		return tw_work_fail(work, "its values are larger than what is kept");
	n = (double)h.q->dims.size[0];
	if (indices->rank < 2 || (double)indices->size[0] != n)
		return tw_work_fail(work, "its indices do not fit its queries");
	pairs = n * last(indices, 1);
	if (r->known) /* fewer where fewer are to be seen */
		pairs = fmin(pairs, r->context_sqsk - r->context_sqsq / 2 + r->generation_sqsk);
	return finish_sparse(&h, n, pairs, r, work);
}

/* ---- by the names of arguments */

#define NAMES_Q "query|q|q_nope|ql_nope"
#define NAMES_K "key_cache|k_cache|key|k"
#define NAMES_CACHE "kv_c_and_k_pe_cache|kv_cache|kcache|k_cache|ckv_cache"
#define NAMES_OUT "out|output|o"

/* What another model said, which cannot know enough. */
static void forget(struct tw_work *work)
{
	enum tw_unit unit = work->unit;

	tw_work_clear(work);
	work->unit = unit;
}

/* Queries and a result of N heads by dv; what is cached is not counted: nobody knows how much. */
static int at_least(const struct tw_arguments *a, const struct heads *h, double bytes,
		    struct tw_work *work)
{
	static const struct tw_requests none = { false };
	const struct tw_operand *out = tw_argument(a, NAMES_OUT);

	work->bytes = tw_bytes(h->q) + bytes;
	if (out->dims.rank)
		work->bytes += tw_bytes(out);
	else
		work->bytes += tw_elements(&h->q->dims) / h->d_qk * h->d_v *
			       (tw_element_bytes(h->q) == 1 ? 2 : tw_element_bytes(h->q));
	work->at_least = true;
	work->precision = tw_precision(h->q);
	add_parameters(h, &none, work);
	return 0;
}

/*
 * Queries (N, HQ, d) of all requests, and keys and values that are new (N, HKV, d) or in pages: of
 * the step's requests, else a lower bound.
 */
static int layer_attention(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	unsigned k = tw_argument_at(&a, NAMES_K);
	struct heads h;

	if (take_heads(&h, call, tw_argument_at(&a, NAMES_Q), k, work))
		return -1;
	if (call->requests.known) {
		if (finish(&h, &call->requests, work))
			return -1;
		if (!isnan(work->flops) || !isnan(work->bytes))
			return 0;
		forget(work);
	}
	/* What is in pages is the whole cache. */
	return at_least(&a, &h,
			h.kv->dims.rank > 3 ? 0 : tw_bytes(h.kv) + tw_bytes(at(call, k + 1)), work);
}

/* Flash attention 3: without a cache it is attention of sequences whose lengths are recorded. */
static int flash_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	bool cached =
		tw_has_tensor(call, tw_argument_at(&a, "page_table|block_table|block_table_")) ||
		tw_has_tensor(call, tw_argument_at(&a, "seqused_k|k_new"));
	int status;

	if (!call->requests.known && !cached && !tw_model_flash_attention_3.forward(call, work))
		return 0;
	forget(work);
	status = layer_attention(call, work);
	if (!status && !cached && !call->requests.known)
		work->at_least = false;
	return status;
}

/* paged_attention_v1 and _v2: of requests that write. */
static int paged_decode(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	struct tw_requests r = call->requests;
	struct heads h;

	if (take_heads(&h, call, tw_argument_at(&a, NAMES_Q), tw_argument_at(&a, NAMES_K), work))
		return -1;
	if (!r.known)
		return at_least(&a, &h, 0, work);
	only_generation(&r);
	return finish(&h, &r, work);
}

/* Decode of MLA: q (B, HQ, d) or (B, S, HQ, d), with the turned part in it or apart. */
static int latent_decode(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *pe = tw_argument(&a, "q_pe"), *out = tw_argument(&a, NAMES_OUT);
	struct heads h = { .h_kv = 1,
			   .q = tw_argument(&a, NAMES_Q),
			   .kv = tw_argument(&a, NAMES_CACHE),
			   .latent = true };
	struct tw_requests r = call->requests;

	if (h.q->dims.rank < 3 || h.kv->dims.rank < 2)
		return tw_work_fail(work, "its operands are no queries and cache");
	h.h_q = last(&h.q->dims, 2);
	h.d_qk = last(&h.kv->dims, 1);
	h.d_v = tw_argument_integer(&a, "head_size_v|d_v", NAN);
	if (isnan(h.d_v))
		h.d_v = last(out->dims.rank ? &out->dims : &h.q->dims, 1);
	if (!r.known)
		return at_least(&a, &h, pe->dims.rank ? tw_bytes(pe) : 0, work);
	if (r.generation_sq > 0)
		only_generation(&r);
	return finish(&h, &r, work);
}

/* Keys and values, or their compressed form: read, and written in the type of the cache. */
static int store_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *k = tw_argument(&a, "key|k|kv_c");
	const struct tw_operand *v = tw_argument(&a, "value|v|k_pe");
	const struct tw_operand *cache = tw_argument(&a, "key_cache|k_cache|kv_cache");
	double n = tw_elements(&k->dims) + (v->dims.rank ? tw_elements(&v->dims) : 0);

	if (!k->dims.rank || !cache->dims.rank)
		return tw_work_fail(work, "its operands are no keys and cache");
	work->flops = 0;
	work->bytes = tw_bytes(k) + (v->dims.rank ? tw_bytes(v) : 0) + n * tw_element_bytes(cache);
	work->precision = tw_precision(k);
	tw_param_dims(work, "op_shape", &k->dims);
	return 0;
}

/* ---- not attention proper */

/*
 * gdn_attention_core(mixed_qkv (T, 2 HK dk + HV dv), b (T, HV), a (T, HV), out (T, HV, dv), ...).
 * dk is not among them: it is dv in all models that have this layer.
 */
static int gated_delta_net(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_dims *mixed = &at(call, 0)->dims, *out = &at(call, 3)->dims;
	double tokens, heads, d_v, d_k, keys;

	if (mixed->rank != 2 || out->rank < 3)
		return tw_work_fail(work, "its operands are no mixed queries and output");
	tokens = (double)mixed->size[0];
	heads = last(out, 2);
	d_k = d_v = last(out, 1);
	keys = (double)mixed->size[1] - heads * d_v;
	if (d_k < 1 || keys < 2 * d_k || fmod(keys, 2 * d_k) != 0)
		return tw_work_fail(work, "the size of its keys is not known");
	work->flops = 7 * tokens * heads * d_v * d_k;
	work->bytes = tokens * heads * (d_k + 2 * d_v + 2) * tw_element_bytes(at(call, 0));
	work->precision = tw_precision(at(call, 0));
	tw_param_integer(work, "num_tokens", tokens);
	tw_param_integer(work, "H_V", heads);
	tw_param_integer(work, "d_h_k", d_k);
	tw_param_integer(work, "d_h_v", d_v);
	return 0;
}

/* store_cache(k, v, k_cache, v_cache, indices): k and v are read and written, nothing computed. */
static int store_cache(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *k = at(call, 0), *v = at(call, 1);

	if (!k->dims.rank || !v->dims.rank)
		return tw_work_fail(work, "its operands are no keys and values");
	work->flops = 0;
	work->bytes = 2 * (tw_bytes(k) + tw_bytes(v));
	work->precision = tw_precision(k);
	tw_param_dims(work, "op_shape", &k->dims);
	return 0;
}

#define INFERENCE(id, function, which)                                         \
	const struct tw_model tw_model_##id = { .name = #id,                   \
						.sheet = "InferenceAttention", \
						.unit = which,                 \
						.forward = function }

INFERENCE(mha_varlen, plain, TW_UNIT_MATRIX);
INFERENCE(mha_batch_prefill, plain, TW_UNIT_MATRIX);
INFERENCE(paged_attention_ragged, paged_ragged, TW_UNIT_MATRIX);
INFERENCE(mla_decode, mla_decode, TW_UNIT_MATRIX);
INFERENCE(mla_prefill, mla_prefill, TW_UNIT_MATRIX);
INFERENCE(pa_decode_gluon, decode_gluon, TW_UNIT_MATRIX);
INFERENCE(v4_paged_decode_swa, v4_swa, TW_UNIT_MATRIX);
INFERENCE(v4_paged_decode_csa, v4_csa, TW_UNIT_MATRIX);
INFERENCE(v4_paged_decode_hca, v4_hca, TW_UNIT_MATRIX);
INFERENCE(sparse_prefill, sparse_prefill, TW_UNIT_MATRIX);
INFERENCE(mla_tilelang_sparse, tilelang_sparse, TW_UNIT_MATRIX);
INFERENCE(gated_delta_net, gated_delta_net, TW_UNIT_MATRIX);
INFERENCE(layer_attention, layer_attention, TW_UNIT_MATRIX);
INFERENCE(flash_attention_named, flash_named, TW_UNIT_MATRIX);
INFERENCE(paged_decode, paged_decode, TW_UNIT_MATRIX);
INFERENCE(latent_decode, latent_decode, TW_UNIT_MATRIX);
INFERENCE(store_named, store_named, TW_UNIT_VECTOR);
INFERENCE(store_cache, store_cache, TW_UNIT_VECTOR);
