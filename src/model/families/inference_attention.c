/*
 * Attention of inference servers: tokens of many requests at once, against a cache of keys and
 * values.  Request lengths are not in the arguments; the annotation around the step
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
#include "model/families/attention.h"

#include <math.h>

#define V4_WINDOW 128
#define V4_FEWEST_PICKED 512
#define V4_MOST_PICKED 1024
#define MLA_VALUE 512

struct heads {
	double h_q, h_kv, d_qk, d_v;
	const struct tw_operand *q, *kv;
	bool latent; /* one vector is key and value */
};

static const struct tw_request_sums none = { 0, 0, 0, 0 };
static const struct tw_requests not_known = { .known = false };

static const char no_heads[] = "operands are not queries, keys and values";
static const char no_cache[] = "operands are not queries and a cache";
static const char no_work[] = "no active request in the step";

static void describe_heads(const struct heads *h, const struct tw_requests *r, struct tw_work *work)
{
	const struct tw_request_sums *c = &r->context, *g = &r->generation;

	TW_PARAM_INTEGERS(work, { "N_Q", tw_size(h->q, 0) }, { "H_Q", h->h_q }, { "H_KV", h->h_kv },
			  { "d_h_qk", h->d_qk }, { "d_h_v", h->d_v });
	TW_PARAM_TYPES(work, "dtype_A_B", h->q, h->kv);
	if (r->known)
		TW_PARAM_INTEGERS(work, { "c_sq", c->sq }, { "c_sk", c->sk }, { "c_sqsq", c->sqsq },
				  { "c_sqsk", c->sqsk }, { "g_sq", g->sq }, { "g_sk", g->sk },
				  { "g_sqsq", g->sqsq }, { "g_sqsk", g->sqsk });
}

static int count_attention(const struct heads *h, const struct tw_requests *r, struct tw_work *work)
{
	const struct tw_request_sums *c = &r->context, *g = &r->generation;
	double width = h->d_qk + h->d_v, token = h->h_kv * (h->latent ? h->d_qk : width);
	double now = c->sq + g->sq, before = c->sk + g->sk - now;

	if (now == 0)
		return tw_work_fail(work, no_work);
	if (before < 0)
		return tw_work_fail(work, "requests attend to fewer tokens than they add");
	describe_heads(h, r, work);
	return tw_work_set(work,
			   h->h_q * (2 * c->sqsk - c->sqsq) * width + 2 * h->h_q * g->sqsk * width,
			   now * (h->h_q * width + token) * tw_element_bytes(h->q) +
				   before * token * tw_element_bytes(h->kv),
			   h->q);
}

/* Which requests of a step an operation is for; when there are none of them it is for the others. */
enum served { ALL, GENERATION_ALONE, GENERATION_FIRST, CONTEXT_FIRST };

static int take_requests(const struct tw_call *call, enum served served, struct tw_requests *r,
			 struct tw_work *work)
{
	*r = call->requests;
	if (!r->known)
		return tw_work_fail(work, "requests of the step unknown");
	if (served == GENERATION_ALONE || (served == GENERATION_FIRST && r->generation.sq > 0))
		r->context = none;
	if (served == CONTEXT_FIRST && r->context.sq > 0)
		r->generation = none;
	return 0;
}

/* q (N, H, d); k and v (..., H, d), or pages of vectors: (pages, H, d / x, page, x). */
static int take_heads(struct heads *h, const struct tw_call *call, unsigned q_at, unsigned k_at,
		      struct tw_work *work)
{
	const struct tw_operand *q = tw_operand(call, q_at), *k = tw_operand(call, k_at);
	const struct tw_operand *v = tw_operand(call, k_at + 1);

	*h = (struct heads){ .q = q, .kv = k };
	if (q->dims.rank != 3 || k->dims.rank < 3 || v->dims.rank < 3)
		return tw_work_fail(work, no_heads);
	h->h_q = tw_size(q, 1);
	h->d_qk = tw_size(q, 2);
	if (k->dims.rank == 5 && tw_size(k, 2) * tw_size(k, 4) == h->d_qk &&
	    tw_size(k, 1) == tw_size(v, 1) && v->dims.rank > 3) {
		h->h_kv = tw_size(k, 1);
		/* (pages, H, d, page), or (pages, H, page / x, d, x) */
		h->d_v = tw_size(v, v->dims.rank == 4 ? 2 : 3);
	} else if (tw_size(k, -1) == h->d_qk && tw_size(k, -2) == tw_size(v, -2)) {
		h->h_kv = tw_size(k, -2);
		h->d_v = tw_size(v, -1);
	} else {
		return tw_work_fail(work, "keys do not match the queries");
	}
	if (h->h_kv < 1 || fmod(h->h_q, h->h_kv) != 0)
		return tw_work_fail(work, "query heads are not a multiple of key heads");
	return 0;
}

/* ---- keys and values in a place, values after keys */

/*
 * An operation's arguments in their order, of which these count: q; k with v after it; window, the
 * number that limits the keys of a query.
 */
struct layout {
	const char *arguments;
	enum served served;
};

/* fmin() takes the known one of two: what is not known stays so. */
static void limit_keys(struct tw_request_sums *g, double most)
{
	if (isnan(g->sk) || isnan(g->sqsk))
		return;
	g->sk = fmin(g->sk, g->sq * most);
	g->sqsk = fmin(g->sqsk, g->sq * most);
}

static int attention(const struct tw_call *call, struct tw_work *work)
{
	const struct layout *l = work->model->variant;
	int64_t window = tw_value_integer(call, tw_place(l->arguments, "window"), 0);
	unsigned q = tw_place(l->arguments, "q"), k = tw_place(l->arguments, "k");
	struct tw_requests r;
	struct heads h;

	if (take_heads(&h, call, q, k, work) || take_requests(call, l->served, &r, work))
		return -1;
	if (window > 0)
		limit_keys(&r.generation, (double)window);
	return count_attention(&h, &r, work);
}

/* ---- MLA */

/* The size of values from the output (N, HQ, dv) or its parts (..., HQ, dv), 0: not found. */
static double latent_value(const struct tw_call *call, const struct heads *h)
{
	unsigned rank, i;

	for (rank = 3; rank < 5; rank++)
		for (i = call->count; i-- > 2;) {
			const struct tw_operand *o = &call->operand[i];

			if (o->dims.rank == rank && tw_size(o, -2) == h->h_q &&
			    tw_size(o, -1) > 1 && tw_size(o, -1) <= h->d_qk)
				return tw_size(o, -1);
		}
	return 0;
}

/* mla_decode_stage1_asm_fwd(q (N, HQ, dqk), kv (pages, page, HKV, dqk), ..., output (N, HQ, dv)) */
static int mla_decode(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *q = tw_operand(call, 0), *kv = tw_operand(call, 1);
	struct heads h = { .q = q, .kv = kv, .latent = true };
	struct tw_requests r;

	if (q->dims.rank != 3 || kv->dims.rank < 3 || tw_size(q, -1) != tw_size(kv, -1))
		return tw_work_fail(work, no_cache);
	h.h_q = tw_size(q, 1);
	h.d_qk = tw_size(q, 2);
	h.h_kv = tw_size(kv, -2);
	h.d_v = latent_value(call, &h);
	if (h.d_v == 0)
		return tw_work_fail(work, "value size unknown");
	return take_requests(call, GENERATION_FIRST, &r, work) ? -1 : count_attention(&h, &r, work);
}

/* ---- sparse attention: one head of keys that are values too */

static int count_sparse(const struct heads *h, double queries, double pairs,
			const struct tw_requests *r, struct tw_work *work)
{
	double width = h->d_qk + h->d_v;

	describe_heads(h, r, work);
	tw_param_integer(work, "num_pairs", pairs);
	return tw_work_set(work, 2 * pairs * h->h_q * width,
			   queries * h->h_q * width * tw_element_bytes(h->q) +
				   pairs * h->d_qk * tw_element_bytes(h->kv),
			   h->q);
}

/* q (N, HQ, d), kv (..., d); values as large as keys. */
static int take_latent(struct heads *h, const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *q = tw_operand(call, 0), *kv = tw_operand(call, 1);

	*h = (struct heads){ .h_kv = 1, .q = q, .kv = kv, .latent = true };
	if (q->dims.rank != 3)
		return tw_work_fail(work, "first operand is not queries");
	if (!tw_is_tensor(kv) || tw_size(kv, -1) != tw_size(q, -1))
		return tw_work_fail(work, "second operand is not keys");
	h->h_q = tw_size(q, 1);
	h->d_qk = h->d_v = tw_size(q, 2);
	return 0;
}

enum compression { SWA, CSA, HCA };

/* Max number of keys picked by the indexer: one of the arguments. */
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

static int v4_decode(const struct tw_call *call, struct tw_work *work)
{
	const enum compression *kind = work->model->variant;
	double context, keys, few, most;
	struct tw_requests r;
	struct heads h;

	if (take_latent(&h, call, work) || take_requests(call, GENERATION_ALONE, &r, work))
		return -1;
	if (r.generation.sq == 0)
		return tw_work_fail(work, no_work);
	context = r.generation.sqsk / r.generation.sq; /* of a query, on average */
	keys = isnan(context) ? NAN : fmin(context, V4_WINDOW);
	if (*kind == HCA)
		keys += ceil(context / 128);
	if (*kind == CSA) {
		few = ceil(context / 4);
		most = few > V4_FEWEST_PICKED ? picked(call) : V4_FEWEST_PICKED;
		if (isnan(most))
			return tw_work_fail(work, "number of keys chosen by the indexer unknown");
		keys += few > most ? most : few;
	}
	return count_sparse(&h, r.generation.sq, r.generation.sq * keys, &r, work);
}

/*
 * pa_sparse_prefill_opus_fwd(q, kv, indices, ..., 5 indices, ...): two lists of the keys that are
 * seen, of all queries one after another.
 */
static int sparse_prefill(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *first = tw_operand(call, 2), *second = tw_operand(call, 5);
	struct heads h;
	double pairs;

	if (take_latent(&h, call, work))
		return -1;
	if (first->dims.rank != 1 || second->dims.rank > 1)
		return tw_work_fail(work, "indices are not lists");
	pairs = tw_size(first, 0) + (tw_is_tensor(second) ? tw_size(second, 0) : 0);
	return count_sparse(&h, tw_size(h.q, 0), pairs, &not_known, work);
}

/* tilelang_sparse_fwd(q (N, HQ, dqk), kv (..., 1, dqk), indices (N, 1, topk), scale, d_v = 512) */
static int tilelang_sparse(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *indices = tw_operand(call, 2);
	const struct tw_requests *r = &call->requests;
	struct heads h;
	double n, pairs;

	if (take_latent(&h, call, work))
		return -1;
	h.d_v = (double)tw_value_integer(call, 4, MLA_VALUE);
	if (h.d_v < 0 || h.d_v > h.d_qk)
		return tw_work_fail(work, "values larger than the stored ones");
	n = tw_size(h.q, 0);
	if (indices->dims.rank < 2 || tw_size(indices, 0) != n)
		return tw_work_fail(work, "indices do not match the queries");
	pairs = n * tw_size(indices, -1);
	if (r->known) /* fewer where fewer are to be seen */
		pairs = fmin(pairs, r->context.sqsk - r->context.sqsq / 2 + r->generation.sqsk);
	return count_sparse(&h, n, pairs, r, work);
}

/* ---- by the names of arguments */

#define NAMES_Q "query|q|q_nope|ql_nope"
#define NAMES_K "key_cache|k_cache|key|k"
#define NAMES_CACHE "kv_c_and_k_pe_cache|kv_cache|kcache|k_cache|ckv_cache"
#define NAMES_OUT "out|output|o"

/* The result of another model, which lacks information. */
static void forget(struct tw_work *work)
{
	enum tw_unit unit = work->unit;

	tw_work_clear(work);
	work->unit = unit;
}

/* Queries and a result of N heads by dv; cached data is not counted: its size is unknown. */
static int count_at_least(const struct tw_arguments *a, const struct heads *h, double bytes,
			  struct tw_work *work)
{
	const struct tw_operand *out = tw_argument_tensor(a, NAMES_OUT);
	double result = tw_elements(&h->q->dims) / h->d_qk * h->d_v * tw_result_bytes(h->q);

	work->at_least = true;
	describe_heads(h, &not_known, work);
	return tw_work_set(work, NAN, tw_bytes(h->q) + bytes + (out ? tw_bytes(out) : result),
			   h->q);
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
		if (count_attention(&h, &call->requests, work))
			return -1;
		if (!isnan(work->flops) || !isnan(work->bytes))
			return 0;
		forget(work);
	}
	/* What is in pages is the whole cache. */
	return count_at_least(
		&a, &h,
		h.kv->dims.rank > 3 ? 0 : tw_bytes(h.kv) + tw_bytes(tw_operand(call, k + 1)), work);
}

/* Flash attention 3: without a cache it is attention of sequences whose lengths are recorded. */
static int flash_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	bool cached = tw_argument_tensor(&a, "page_table|block_table|block_table_") ||
		      tw_argument_tensor(&a, "seqused_k|k_new");
	int status;

	if (!call->requests.known && !cached && !tw_flash_attention_3(call, work))
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
	struct tw_requests r;
	struct heads h;

	if (take_heads(&h, call, tw_argument_at(&a, NAMES_Q), tw_argument_at(&a, NAMES_K), work))
		return -1;
	if (!call->requests.known)
		return count_at_least(&a, &h, 0, work);
	return take_requests(call, GENERATION_ALONE, &r, work) ? -1 : count_attention(&h, &r, work);
}

/* Decode of MLA: q (B, HQ, d) or (B, S, HQ, d), with the turned part in it or apart. */
static int latent_decode(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *q = tw_argument(&a, NAMES_Q), *kv = tw_argument(&a, NAMES_CACHE);
	const struct tw_operand *out = tw_argument_tensor(&a, NAMES_OUT);
	struct heads h = { .h_kv = 1, .q = q, .kv = kv, .latent = true };
	struct tw_requests r;

	if (q->dims.rank < 3 || kv->dims.rank < 2)
		return tw_work_fail(work, no_cache);
	h.h_q = tw_size(q, -2);
	h.d_qk = tw_size(kv, -1);
	h.d_v = tw_argument_integer(&a, "head_size_v|d_v", tw_size(out ? out : q, -1));
	if (!call->requests.known)
		return count_at_least(&a, &h, tw_given_bytes(tw_argument(&a, "q_pe")), work);
	return take_requests(call, GENERATION_FIRST, &r, work) ? -1 : count_attention(&h, &r, work);
}

/* ---- not attention proper */

static int count_store(const struct tw_operand *keys, double bytes, struct tw_work *work)
{
	tw_param_dims(work, "op_shape", &keys->dims);
	return tw_work_set(work, 0, bytes, keys);
}

/* Keys and values, or their compressed form: read, and written in the type of the cache. */
static int store_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *k = tw_argument(&a, "key|k|kv_c");
	const struct tw_operand *v = tw_argument(&a, "value|v|k_pe");
	const struct tw_operand *cache = tw_argument(&a, "key_cache|k_cache|kv_cache");
	double n = tw_elements(&k->dims) + (tw_is_tensor(v) ? tw_elements(&v->dims) : 0);

	if (!tw_is_tensor(k) || !tw_is_tensor(cache))
		return tw_work_fail(work, "operands are not keys and a cache");
	return count_store(k, tw_bytes(k) + tw_given_bytes(v) + n * tw_element_bytes(cache), work);
}

/* store_cache(k, v, k_cache, v_cache, indices): k and v are read and written, nothing computed. */
static int store_cache(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *k = tw_operand(call, 0), *v = tw_operand(call, 1);

	if (!tw_is_tensor(k) || !tw_is_tensor(v))
		return tw_work_fail(work, "operands are not keys and values");
	return count_store(k, 2 * (tw_bytes(k) + tw_bytes(v)), work);
}

/*
 * gdn_attention_core(mixed_qkv (T, 2 HK dk + HV dv), b (T, HV), a (T, HV), out (T, HV, dv), ...).
 * dk is not among them: it is dv in all models that have this layer.
 */
static int gated_delta_net(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *mixed = tw_operand(call, 0), *out = tw_operand(call, 3);
	double tokens = tw_size(mixed, 0), heads = tw_size(out, -2), d = tw_size(out, -1), keys;

	if (mixed->dims.rank != 2 || out->dims.rank < 3)
		return tw_work_fail(work, "operands are not mixed queries and output");
	keys = tw_size(mixed, 1) - heads * d;
	if (d < 1 || keys < 2 * d || fmod(keys, 2 * d) != 0)
		return tw_work_fail(work, "key size unknown");
	TW_PARAM_INTEGERS(work, { "num_tokens", tokens }, { "H_V", heads }, { "d_h_k", d },
			  { "d_h_v", d });
	return tw_work_set(work, 7 * tokens * heads * d * d,
			   tokens * heads * (d + 2 * d + 2) * tw_element_bytes(mixed), mixed);
}

#define INFERENCE(id, ...) TW_MODEL(id, "InferenceAttention", MATRIX, __VA_ARGS__)
#define LAYOUT(...)                                             \
	.forward = attention, .variant = &(const struct layout) \
	{                                                       \
		__VA_ARGS__                                     \
	}
#define V4(kind)                                                   \
	.forward = v4_decode, .variant = &(const enum compression) \
	{                                                          \
		kind                                               \
	}
#define STORE(id) TW_MODEL(id, "InferenceAttention", VECTOR, .forward = id)

const struct tw_model tw_family_inference_attention[] = {
	/* aiter's mha_varlen_fwd, fmha_v3_varlen_fwd and mha_batch_prefill */
	INFERENCE(mha_varlen, LAYOUT("q k v", ALL)),
	INFERENCE(mha_batch_prefill, LAYOUT("q k v", ALL)),
	INFERENCE(paged_attention_ragged, LAYOUT("out workspace q k v", ALL)),
	/* mla_prefill_ps_asm_fwd(q (N, HQ, dqk), k (N, HKV, dqk), v (N, HKV, dv), ...) */
	INFERENCE(mla_prefill, LAYOUT("q k v", CONTEXT_FIRST)),
	INFERENCE(pa_decode_gluon,
		  LAYOUT("out q k v - - - - - - - - - - - - - - - window", GENERATION_ALONE)),
	INFERENCE(mla_decode, .forward = mla_decode),
	INFERENCE(v4_paged_decode_swa, V4(SWA)),
	INFERENCE(v4_paged_decode_csa, V4(CSA)),
	INFERENCE(v4_paged_decode_hca, V4(HCA)),
	INFERENCE(sparse_prefill, .forward = sparse_prefill),
	INFERENCE(mla_tilelang_sparse, .forward = tilelang_sparse),
	INFERENCE(layer_attention, .forward = layer_attention),
	INFERENCE(flash_attention_named, .forward = flash_named),
	INFERENCE(paged_decode, .forward = paged_decode),
	INFERENCE(latent_decode, .forward = latent_decode),
	INFERENCE(gated_delta_net, .forward = gated_delta_net),
	STORE(store_named),
	STORE(store_cache),
	{ .name = NULL },
};
