/*
 * Inference of a decoder-only model: eager with attention written out in
 * batched products, and decoding with one graph launch a step. Where the job
 * has several ranks they are tensor parallel: an allreduce after attention and
 * after the feed-forward part of each layer.
 *
 * B batch, S sequence, H hidden, A heads, D head size, F feed-forward, V vocabulary.
 */
#include "script.h"

/* clang-format off: a line of a script is a line here */

#define X "B,S,H"

/* ---- eager ------------------------------------------------------------ */

#define TO_FLOAT(d)                                                                             \
	OP(d, "aten::to", "b[" X "] s=6 s=False s=False -"),                                    \
		OP((d) + 1, "aten::_to_copy", "b[" X "] s=6 - - - s=False -"),                  \
		OP((d) + 2, "aten::empty_strided", "L=[" X "] L=[SH,H,1] s=6 s=0 s=0 s=False"), \
		OP((d) + 2, "aten::copy_", "f[" X "] b[" X "] s=False"), KERN((d) + 3, "to_float")

#define RMS_NORM(d, off)                                                                           \
	MOD(d, "LlamaRMSNorm", 2, off), TO_FLOAT((d) + 1),                                         \
		OP((d) + 1, "aten::pow", "f[" X "] s=2"), EMPTY((d) + 2, X), KERN((d) + 2, "pow"), \
		OP((d) + 1, "aten::mean", "f[" X "] L=[-1] s=True -"), KERN((d) + 2, "mean"),      \
		OP((d) + 1, "aten::add", "f[B,S,1] s=1e-06 s=1"), KERN((d) + 2, "addf"),           \
		OP((d) + 1, "aten::rsqrt", "f[B,S,1]"), KERN((d) + 2, "rsqrt"),                    \
		OP((d) + 1, "aten::mul", "b[" X "] b[B,S,1]"), KERN((d) + 2, "mul"),               \
		OP((d) + 1, "aten::mul", "b[H] b[" X "]"), KERN((d) + 2, "mul")

#define LINEAR(d, off, in, out, key)                                              \
	MOD(d, "Linear", 7, off), PY((d) + 1, "<built-in function linear>"),      \
		OP((d) + 2, "aten::linear", "b[B,S," in "] b[" out "," in "] -"), \
		TRANSPOSE2((d) + 3, 0, out, in),                                  \
		OP((d) + 3, "aten::matmul", "b[B,S," in "] b[" in "," out "]T"),  \
		OP((d) + 4, "aten::view", "b[B,S," in "] L=[BS," in "]"),         \
		OP((d) + 4, "aten::mm", "b[BS," in "] b[" in "," out "]T"),       \
		CALL((d) + 5, API_DEVICE_ATTR), KERN((d) + 5, key),               \
		OP((d) + 4, "aten::_unsafe_view", "b[BS," out "] L=[B,S," out "]")

#define HEADS(d)                                                \
	OP(d, "aten::view", "b[" X "] L=[B,S,A,D]"),            \
		OP(d, "aten::transpose", "b[B,S,A,D] s=1 s=2"), \
		OP((d) + 1, "aten::as_strided", "b[B,S,A,D] L=[B,A,S,D] L=[SH,D,H,1] s=0")

#define ROTATE_HALF(d)                                                                       \
	OP(d, "aten::slice", "b[B,A,S,D]M s=3 s=0 d=D s=2"),                                 \
		OP((d) + 1, "aten::as_strided", "b[B,A,S,D]M L=[B,A,S,D] L=[SH,D,H,1] s=0"), \
		OP(d, "aten::neg", "b[B,A,S,D]M"), KERN((d) + 1, "neg"),                     \
		OP(d, "aten::cat", "2*b[B,A,S,D] s=-1"), EMPTY((d) + 1, "B,A,S,D"),          \
		KERN((d) + 1, "cat")

#define ROPE(d)                                                                             \
	OP(d, "aten::mul", "b[B,A,S,D]M b[1,1,S,D]"), KERN((d) + 1, "mul"), ROTATE_HALF(d), \
		OP(d, "aten::mul", "b[B,A,S,D] b[1,1,S,D]"), KERN((d) + 1, "mul"),          \
		OP(d, "aten::add", "b[B,A,S,D]M b[B,A,S,D] s=1"), KERN((d) + 1, "add")

#define MATMUL(d, a, b, fold_a, fold_b, key)                                         \
	OP(d, "aten::matmul", "b[" a "] b[" b "]"),                                  \
		OP((d) + 1, "aten::expand", "b[" a "] L=[" a "] s=False"),           \
		OP((d) + 1, "aten::reshape", "b[" a "] L=[" fold_a "]"),             \
		OP((d) + 2, "aten::clone", "b[" a "]M s=0"), EMPTY_LIKE((d) + 3, a), \
		OP((d) + 3, "aten::copy_", "b[" a "] b[" a "]M s=False"),            \
		KERN((d) + 4, "copy_slow"),                                          \
		OP((d) + 1, "aten::expand", "b[" b "] L=[" b "] s=False"),           \
		OP((d) + 1, "aten::bmm", "b[" fold_a "] b[" fold_b "]"), KERN((d) + 2, key)

#define RESIDUAL(d) \
	OP(d, "aten::add", "b[" X "] b[" X "] s=1"), EMPTY((d) + 1, X), KERN((d) + 1, "add")

static const struct line attention[] = {
	HOLD_MOD("LlamaDecoderLayer", 1, 0),
	RMS_NORM(0, 0),
	MOD(0, "LlamaAttention", 1, 0),
	LINEAR(1, 0, "H", "H", "gemm_proj"),
	LINEAR(1, 1, "H", "H", "gemm_proj"),
	LINEAR(1, 2, "H", "H", "gemm_proj"),
	HEADS(1),
	HEADS(1),
	HEADS(1),
	PROG(1, "transformers/models/llama/modeling_llama.py(151): apply_rotary_pos_emb"),
	ROPE(2),
	ROPE(2),
	PROG(1, "transformers/models/llama/modeling_llama.py(190): eager_attention_forward"),
	MATMUL(2, "B,A,S,D", "B,A,D,S", "BA,S,D", "BA,D,S", "bmm_qk"),
	OP(2, "aten::mul", "b[B,A,S,S] s=0.08838834764831845"),
	KERN(3, "scale"),
	OP(2, "aten::softmax", "b[B,A,S,S] s=-1 s=6"),
	OP(3, "aten::_softmax", "b[B,A,S,S] s=-1 s=False"),
	EMPTY_LIKE(4, "B,A,S,S"),
	KERN(4, "softmax"),
	MATMUL(2, "B,A,S,S", "B,A,S,D", "BA,S,S", "BA,S,D", "bmm_av"),
	OP(2, "aten::transpose", "b[B,A,S,D] s=1 s=2"),
	OP(3, "aten::as_strided", "b[B,A,S,D] L=[B,S,A,D] L=[SH,D,SD,1] s=0"),
	OP(2, "aten::contiguous", "b[B,S,A,D]M s=0"),
	OP(3, "aten::clone", "b[B,S,A,D]M s=0"),
	EMPTY_LIKE(4, "B,S,A,D"),
	OP(4, "aten::copy_", "b[B,S,A,D] b[B,S,A,D]M s=False"),
	KERN(5, "copy"),
	LINEAR(1, 3, "H", "H", "gemm_proj"),
};

static const struct line feed_forward[] = {
	RESIDUAL(0),
	RMS_NORM(0, 1),
	MOD(0, "LlamaMLP", 1, 0),
	WAIT(ST_SIDE, ST_MAIN),
	LINEAR(1, 5, "H", "F", "gemm_side"),
	LINEAR(1, 4, "H", "F", "gemm_fc2"),
	MOD(1, "SiLU", 1, 0),
	OP(2, "aten::silu", "b[B,S,F]"),
	EMPTY_LIKE(3, "B,S,F"),
	KERN(3, "silu"),
	WAIT(ST_MAIN, ST_SIDE),
	OP(1, "aten::mul", "b[B,S,F] b[B,S,F]"),
	KERN(2, "mul"),
	LINEAR(1, 6, "F", "H", "gemm_fc2"),
};

static const struct line layer_end[] = { RESIDUAL(0), CLOSE };

static const struct line all_reduce[] = {
	OP(0, "c10d::allreduce_", "1*b[" X "] - - - s=False s=-1"),
	COLLECTIVE(1, "tp_attn"),
};

static const struct line all_gather[] = {
	OP(0, "c10d::_allgather_base_", "b[WB,V] b[B,V] - s=False s=-1"),
	COLLECTIVE(1, "tp_head"),
};

static const struct line eager_begin[] = {
	HOLD_ANN("ProfilerStep#" T_NUM),
	HOLD_PROG("generate.py(92): forward_step"),
	IDLE(35),
	OP(0, "aten::to", "l[B,S] s=4 s=0 s=False s=False -"),
	OP(1, "aten::_to_copy", "l[B,S] s=4 s=0 s=0 - s=False -"),
	OP(2, "aten::empty_strided", "L=[B,S] L=[S,1] s=4 s=0 s=0 s=False"),
	OP(2, "aten::copy_", "l[B,S] l[B,S] s=False"),
	KERN(3, "h2d"),
	WAIT(ST_MAIN, ST_COPY),
	HOLD_MOD("LlamaForCausalLM", 0, 0),
	MOD(0, "Embedding", 0, 0),
	OP(1, "aten::embedding", "b[V,H] l[B,S] s=-1 s=False s=False"),
	OP(2, "aten::index_select", "b[V,H] s=0 l[BS]"),
	KERN(3, "embed"),
	OP(0, "aten::arange", "s=0 d=S s=4 - s=cuda:0 s=False"),
	EMPTY(1, "S"),
	KERN(1, "arange"),
};

static const struct line eager_head[] = {
	RMS_NORM(0, 100),
	LINEAR(0, 700, "H", "V", "gemm_head"),
};

static const struct line eager_end[] = {
	CLOSE,
	OP(0, "aten::argmax", "b[B,S,V] s=-1 s=False"),
	KERN(1, "argmax"),
	OP(0, "aten::clone", "b[B,S] -"),
	EMPTY_LIKE(1, "B,S"),
	OP(1, "aten::copy_", "l[B,S] l[B,S] s=False"),
	KERN(2, "d2d"),
	OP(0, "aten::item", "l[]"),
	OP(1, "aten::_local_scalar_dense", "l[]"),
	KERN(2, "d2h"),
	CALL(2, API_STREAM_SYNC),
	IDLE(7),
	CALL(0, API_DEVICE_SYNC),
	CLOSE,
	CLOSE,
};

static void set_dims(struct model *m, int64_t b, int64_t s)
{
	m->dims.v['B' - 'A'] = b;
	m->dims.v['S' - 'A'] = s;
	m->dims.v['H' - 'A'] = 2048;
	m->dims.v['A' - 'A'] = 16;
	m->dims.v['D' - 'A'] = 128;
	m->dims.v['F' - 'A'] = 5632;
	m->dims.v['V' - 'A'] = 32000;
}

void plan_infer(struct model *m)
{
	const int layers = 6;

	set_dims(m, 2, 256);
	MODEL_ADD(m, eager_begin, TH_MAIN, 0, 0);
	for (int i = 0; i < layers; i++) {
		MODEL_ADD(m, attention, TH_MAIN, i, 0);
		if (m->world > 1)
			MODEL_ADD(m, all_reduce, TH_MAIN, i, 0);
		MODEL_ADD(m, feed_forward, TH_MAIN, i, 0);
		if (m->world > 1)
			MODEL_ADD(m, all_reduce, TH_MAIN, i, 0);
		MODEL_ADD(m, layer_end, TH_MAIN, i, 0);
	}
	MODEL_ADD(m, eager_head, TH_MAIN, 0, 0);
	if (m->world > 1)
		MODEL_ADD(m, all_gather, TH_MAIN, 0, 0);
	MODEL_ADD(m, eager_end, TH_MAIN, 0, 0);
}

/* ---- decoding with graphs --------------------------------------------- */

static const struct line decode_begin[] = {
	HOLD_ANN("ProfilerStep#" T_NUM),
	HOLD_PROG("serve/model_runner.py(1210): execute_model"),
	HOLD_ANN("step[DECODE bs=32]"),
	IDLE(60),
	OP(0, "aten::arange", "s=0 d=B s=4 - s=cuda:0 s=False"),
	EMPTY(1, "B"),
	KERN(1, "arange"),
	OP(0, "aten::slice", "l[512] s=0 s=0 d=B s=1"),
	OP(1, "aten::as_strided", "l[512] L=[B] L=[1] s=0"),
	OP(0, "aten::copy_", "l[B] l[B] s=True"),
	KERN(1, "h2d"),
	WAIT(ST_MAIN, ST_COPY),
	OP(0, "aten::copy_", "l[B] l[B] s=True"),
	KERN(1, "d2d"),
	OP(0, "aten::index_select", "b[V,H] s=0 l[B]"),
	KERN(1, "embed"),
	PROG(0, "serve/cuda_graph_runner.py(612): replay"),
	PY(1, "torch/cuda/graphs.py(88): replay"),
	{ 0, L_GRAPH, F_HOLD, NULL, NULL, 0, 0 },
};

/*
 * What is captured: modules and operators are those of the run that does it, a replay has the
 * kernels alone.
 */
#define TAKES(d, op, in, key) OP(d, op, in), GKERN((d) + 1, key)

static const struct line graph_begin[] = {
	HOLD_MOD("DecodeModel", 0, 0),
	TAKES(0, "aten::fill_", "b[B,H] s=0", "fill_kernel"),
	TAKES(0, "aten::copy_", "b[B,H] b[B,H] s=False", "copy_kernel"),
};

static const struct line graph_attention[] = {
	HOLD_MOD("DecodeLayer", 1, 0),
	MOD(0, "RMSNorm", 2, 0),
	TAKES(1, "_C::fused_add_rms_norm", "b[B,H] b[B,H] b[H] s=1e-06", "rms_fused"),
	MOD(0, "PagedAttention", 1, 0),
	MOD(1, "QKVLinear", 1, 0),
	TAKES(2, "aten::mm", "b[B,H] b[H,3H]T", "gemm_small"),
	TAKES(1, "_C::rotary_embedding", "l[B] b[B,H] b[B,H] d=D", "rope"),
	PROG(1, "serve/kv_cache.py(90): store"),
	TAKES(2, "_C_cache_ops::reshape_and_cache_flash", "b[B,A,D] b[B,A,D]", "kv_store"),
	OP(1, "_C::paged_attention_v2", "b[B,A,D] b[B,A,D] s=512"),
	GKERN(2, "paged"),
	GKERN(2, "paged_reduce"),
	MOD(1, "OutLinear", 1, 0),
	TAKES(2, "aten::mm", "b[B,H] b[H,H]T", "gemm_small"),
};

static const struct line graph_reduce[] = {
	OP(0, "_C_custom_ar::all_reduce", "b[B,H] b[B,H]"),
	{ 1, L_COLL, 0, "tp_graph", NULL, 0, 0 },
};

static const struct line graph_mlp[] = {
	MOD(0, "RMSNorm", 2, 1),
	TAKES(1, "_C::fused_add_rms_norm", "b[B,H] b[B,H] b[H] s=1e-06", "rms_fused"),
	MOD(0, "SharedExpert", 1, 0),
	WAIT(ST_SIDE, ST_MAIN),
	TAKES(1, "aten::mm", "b[B,H] b[H,D]T", "shared_up"),
	MOD(0, "MLP", 1, 0),
	TAKES(1, "aten::mm", "b[B,H] b[H,F]T", "gemm_big"),
	TAKES(1, "_C::silu_and_mul", "b[B,F] b[B,F]", "act_mul"),
	TAKES(1, "aten::mm", "b[B,F] b[F,H]T", "gemm_big"),
	WAIT(ST_MAIN, ST_SIDE),
};

static const struct line graph_layer_end[] = { CLOSE };

static const struct line graph_end[] = {
	MOD(0, "RMSNorm", 0, 700),
	TAKES(1, "_C::fused_add_rms_norm", "b[B,H] b[B,H] b[H] s=1e-06", "rms_fused"),
	MOD(0, "LMHead", 0, 0),
	TAKES(1, "aten::mm", "b[B,H] b[H,V]T", "gemm_big"),
	CLOSE,
};

static const struct line decode_end[] = {
	CLOSE,
	OP(0, "aten::softmax", "f[B,V] s=-1 -"),
	OP(1, "aten::_softmax", "f[B,V] s=-1 s=False"),
	EMPTY_LIKE(2, "B,V"),
	KERN(2, "softmax"),
	OP(0, "aten::argmax", "f[B,V] s=-1 s=False"),
	KERN(1, "argmax"),
	OP(0, "aten::to", "l[B] s=4 s=cpu s=False s=False -"),
	OP(1, "aten::_to_copy", "l[B] s=4 s=0 s=cpu - s=False -"),
	OP(2, "aten::copy_", "l[B] l[B] s=False"),
	KERN(3, "d2h"),
	CALL(3, API_STREAM_SYNC),
	CALL(0, API_DEVICE_SYNC),
	CLOSE,
	CLOSE,
	CLOSE,
};

#define DECODE_LAYERS 28

static void add_graph(struct model *m)
{
	MODEL_ADD(m, graph_begin, TH_MAIN, 0, 0);
	for (int i = 0; i < DECODE_LAYERS; i++) {
		MODEL_ADD(m, graph_attention, TH_MAIN, i, 0);
		if (m->world > 1)
			MODEL_ADD(m, graph_reduce, TH_MAIN, i, 0);
		MODEL_ADD(m, graph_mlp, TH_MAIN, i, 0);
		if (m->world > 1)
			MODEL_ADD(m, graph_reduce, TH_MAIN, i, 0);
		MODEL_ADD(m, graph_layer_end, TH_MAIN, i, 0);
	}
	MODEL_ADD(m, graph_end, TH_MAIN, 0, 0);
}

void plan_decode(struct model *m)
{
	set_dims(m, 32, 1);
	MODEL_ADD(m, decode_begin, TH_MAIN, 0, 0);
	add_graph(m);
	MODEL_ADD(m, decode_end, TH_MAIN, 0, 0);
}

/* ---- the run that captures them: once to warm up, once for the graph ---- */

static const struct line warm_up[] = {
	HOLD_PROG(CAPTURE_FRAME),
	IDLE(150),
};
static const struct line begin_capture[] = {
	CALL(0, API_DEVICE_SYNC),
	CALL(0, API_BEGIN_CAPTURE),
};
static const struct line end_capture[] = {
	CALL(0, API_END_CAPTURE),
	CLOSE,
};

void plan_capture(struct model *m)
{
	set_dims(m, 32, 1);
	MODEL_ADD(m, warm_up, TH_MAIN, 0, 0);
	add_graph(m);
	MODEL_ADD(m, begin_capture, TH_MAIN, 0, 0);
	add_graph(m);
	MODEL_ADD(m, end_capture, TH_MAIN, 0, 0);
}

/* clang-format on */
