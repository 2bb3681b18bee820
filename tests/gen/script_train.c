/*
 * One data-parallel training step of a small transformer: copy of the batch,
 * forward, loss, backward on the autograd thread with an allreduce for each
 * layer's gradients, clipping, AdamW. Backward scripts undo the forward ones
 * node by node, in the opposite order.
 *
 * B batch, S sequence, H hidden, A heads, D head size, F feed-forward, V vocabulary.
 */
#include "script.h"

/* clang-format off: a line of a script is a line here */

#define X "B,S,H"

/* ---- forward ---------------------------------------------------------- */

#define LAYER_NORM(d, off)                                                                    \
	MOD(d, "LayerNorm", 2, off), PY((d) + 1, "<built-in function layer_norm>"),           \
		SEQ((d) + 2, "aten::layer_norm", "b[" X "] L=[H] b[H] b[H] s=1e-05 s=True"),  \
		GRAD((d) + 3, "aten::native_layer_norm", "b[" X "] L=[H] b[H] b[H] s=1e-05"), \
		EMPTY_LIKE((d) + 4, X), EMPTY((d) + 4, "BS"), EMPTY((d) + 4, "BS"),           \
		KERN((d) + 4, "ln"), OP((d) + 4, "aten::view", "f[BS] L=[B,S,1]"),            \
		OP((d) + 4, "aten::view", "f[BS] L=[B,S,1]")

#define LINEAR(d, off, in, out, key)                                                        \
	MOD(d, "Linear", 4, off), PY((d) + 1, "<built-in function linear>"),                \
		SEQ((d) + 2, "aten::linear", "b[B,S," in "] b[" out "," in "] b[" out "]"), \
		TRANSPOSE2((d) + 3, F_SEQ | F_GRAD, out, in),                               \
		GRAD((d) + 3, "aten::view", "b[B,S," in "] L=[BS," in "]"),                 \
		GRAD((d) + 3, "aten::addmm",                                                \
		     "b[" out "] b[BS," in "] b[" in "," out "]T s=1 s=1"),                 \
		CALL((d) + 4, API_FUNC_ATTR), KERN((d) + 4, key),                           \
		GRAD((d) + 3, "aten::view", "b[BS," out "] L=[B,S," out "]")

#define HEADS(d)                                                  \
	GRAD(d, "aten::view", "b[" X "] L=[B,S,A,D]"),            \
		GRAD(d, "aten::transpose", "b[B,S,A,D] s=1 s=2"), \
		OP((d) + 1, "aten::as_strided", "b[B,S,A,D] L=[B,A,S,D] L=[SH,D,H,1] s=0")

#define NARROW(d)                                                        \
	OP(d, "aten::narrow", "b[B,S,3H] s=2 s=0 d=H"),                  \
		OP((d) + 1, "aten::slice", "b[B,S,3H] s=2 s=0 d=H s=1"), \
		OP((d) + 2, "aten::as_strided", "b[B,S,3H] L=[" X "] L=[3SH,3H,1] s=0")

#define DROPOUT(d, off)                                                         \
	MOD(d, "Dropout", 2, off), PY((d) + 1, "<built-in function dropout>"),  \
		SEQ((d) + 2, "aten::dropout", "b[" X "] s=0.1 s=True"),         \
		GRAD((d) + 3, "aten::native_dropout", "b[" X "] s=0.1 s=True"), \
		EMPTY_LIKE((d) + 4, X), EMPTY((d) + 4, X), KERN((d) + 4, "dropout")

#define RESIDUAL(d) GRAD(d, "aten::add", "b[" X "] b[" X "] s=1"), KERN((d) + 1, "add")

static const struct line layer_forward[] = {
	MOD(0, "Block", 1, 0),
	LAYER_NORM(1, 0),
	MOD(1, "SelfAttention", 1, 0),
	LINEAR(2, 0, "H", "3H", "gemm_qkv"),
	GRAD(2, "aten::split", "b[B,S,3H] d=H s=2"),
	NARROW(3),
	NARROW(3),
	NARROW(3),
	HEADS(2),
	HEADS(2),
	HEADS(2),
	PY(2, "<built-in function scaled_dot_product_attention>"),
	SEQ(3, "aten::scaled_dot_product_attention",
	    "b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M - s=0. s=True - s=False"),
	GRAD(4, "aten::_scaled_dot_product_flash_attention",
	     "b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M s=0. s=True s=False -"),
	OP(5, "aten::transpose", "b[B,A,S,D]M s=1 s=2"),
	OP(6, "aten::as_strided", "b[B,A,S,D]M L=[B,S,A,D] L=[SH,H,D,1] s=0"),
	OP(5, "aten::_flash_attention_forward",
	   "b[B,S,A,D] b[B,S,A,D] b[B,S,A,D] - - d=S d=S s=0. s=True s=False - - -"),
	EMPTY_LIKE(6, "B,S,A,D"),
	EMPTY(6, "B,A,S"),
	CALL(6, API_FUNC_ATTR),
	KERN(6, "flash"),
	GRAD(2, "aten::transpose", "b[B,A,S,D]M s=1 s=2"),
	OP(3, "aten::as_strided", "b[B,A,S,D]M L=[B,S,A,D] L=[SH,H,D,1] s=0"),
	GRAD(2, "aten::view", "b[B,S,A,D] L=[" X "]"),
	LINEAR(2, 1, "H", "H", "gemm_proj"),
	DROPOUT(1, 0),
	RESIDUAL(1),
	LAYER_NORM(1, 1),
	MOD(1, "FeedForward", 1, 0),
	LINEAR(2, 2, "H", "F", "gemm_fc1"),
	MOD(2, "GELU", 1, 0),
	PY(3, "<built-in function gelu>"),
	GRAD(4, "aten::gelu", "b[B,S,F] s=none"),
	KERN(5, "gelu"),
	LINEAR(2, 3, "F", "H", "gemm_fc2"),
	DROPOUT(1, 1),
	RESIDUAL(1),
};

/* ---- backward --------------------------------------------------------- */

/* Gradient of a parameter: the reducer scales it into its bucket. */
#define ACCUMULATE(d, dims) ACCUMULATE_BY(d, dims, "scale")
#define ACCUMULATE_BY(d, dims, key)                                                       \
	{ d,	  L_OP,                                                                   \
	  F_UNDO, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", \
	  NULL,	  0,                                                                      \
	  0 },                                                                            \
		OP((d) + 1, "torch::autograd::AccumulateGrad", "b[" dims "]"),            \
		OP((d) + 1, "torch::distributed::reducer::mul_out", "b[" dims "]"),       \
		OP((d) + 2, "aten::mul", "b[" dims "] s=0.125 b[" dims "]"), KERN((d) + 3, key)

#define VIEW_BWD(d, from, to)                                           \
	BWD(d, "ViewBackward0", "b[" from "]"),                         \
		OP((d) + 2, "aten::reshape", "b[" from "] L=[" to "]"), \
		OP((d) + 3, "aten::view", "b[" from "] L=[" to "]")

#define ADDMM_BWD(d, in, out, wkey)                                                               \
	BWD(d, "AddmmBackward0", "b[BS," out "]"), TRANSPOSE2((d) + 2, 0, in, out),               \
		OP((d) + 2, "aten::mm", "b[BS," out "] b[" out "," in "]"),                       \
		CALL((d) + 3, API_FUNC_ATTR), KERN((d) + 3, "gemm_dgrad"),                        \
		TRANSPOSE2((d) + 2, 0, "BS", in),                                                 \
		OP((d) + 2, "aten::mm", "b[" in ",BS]T b[BS," out "]"), KERN((d) + 3, "memset"),  \
		KERN((d) + 3, wkey), OP((d) + 2, "aten::sum", "b[BS," out "] L=[0] s=True -"),    \
		KERN((d) + 3, "bias_sum"), OP((d) + 2, "aten::view", "b[1," out "] L=[" out "]"), \
		ACCUMULATE((d) + 1, out)

#define LINEAR_BWD(d, in, out, wkey)                                                         \
	VIEW_BWD(d, "B,S," out, "BS," out), ADDMM_BWD(d, in, out, wkey),                     \
		VIEW_BWD(d, "BS," in, "B,S," in), BWD(d, "TBackward0", "b[" in "," out "]"), \
		TRANSPOSE2((d) + 2, 0, in, out), ACCUMULATE(d, out "," in)

#define LAYER_NORM_BWD(d)                                                                   \
	BWD(d, "NativeLayerNormBackward0", "b[" X "] f[BS] f[BS]"),                         \
		OP((d) + 2, "aten::native_layer_norm_backward",                             \
		   "b[" X "] b[" X "] L=[H] f[B,S,1] f[B,S,1] b[H] b[H] m=[1,1,1]"),        \
		EMPTY_LIKE((d) + 3, X), EMPTY_LIKE((d) + 3, "H"), EMPTY_LIKE((d) + 3, "H"), \
		KERN((d) + 3, "ln_bwd"), KERN((d) + 3, "ln_gamma"), ACCUMULATE(d, "H"),     \
		ACCUMULATE(d, "H")

#define ADD_BWD(d) BWD(d, "AddBackward0", "b[" X "]")

#define DROPOUT_BWD(d)                                        \
	BWD(d, "NativeDropoutBackward0", "b[" X "]"),         \
		OP((d) + 2, "aten::native_dropout_backward",  \
		   "b[" X "] c[" X "] s=1.1111111111111112"), \
		EMPTY_LIKE((d) + 3, X), KERN((d) + 3, "mul")

/* Two branches of the residual meet. */
#define ACCUMULATE_BRANCH(d) OP(d, "aten::add", "b[" X "] b[" X "] s=1"), KERN((d) + 1, "add")

#define HEADS_BWD(d)                                                                         \
	BWD(d, "TransposeBackward0", "b[B,A,S,D]"),                                          \
		OP((d) + 2, "aten::transpose", "b[B,A,S,D] s=1 s=2"),                        \
		OP((d) + 3, "aten::as_strided", "b[B,A,S,D] L=[B,S,A,D] L=[SH,D,SD,1] s=0"), \
		VIEW_BWD(d, "B,S,A,D", X)

static const struct line last_backward[] = { ADD_BWD(0) };

static const struct line layer_backward[] = {
	DROPOUT_BWD(0),
	LINEAR_BWD(0, "F", "H", "gemm_wgrad"),
	BWD(0, "GeluBackward0", "b[B,S,F]"),
	OP(2, "aten::gelu_backward", "b[B,S,F] b[B,S,F] s=none"),
	EMPTY_LIKE(3, "B,S,F"),
	KERN(3, "gelu_bwd"),
	LINEAR_BWD(0, "H", "F", "gemm_wgrad"),
	LAYER_NORM_BWD(0),
	ACCUMULATE_BRANCH(0),
	ADD_BWD(0),
	DROPOUT_BWD(0),
	LINEAR_BWD(0, "H", "H", "gemm_wgrad"),
	VIEW_BWD(0, X, "B,S,A,D"),
	BWD(0, "TransposeBackward0", "b[B,S,A,D]"),
	OP(2, "aten::transpose", "b[B,S,A,D] s=1 s=2"),
	OP(3, "aten::as_strided", "b[B,S,A,D] L=[B,A,S,D] L=[SH,D,H,1] s=0"),
	BWD(0, "ScaledDotProductFlashAttentionBackward0", "b[B,A,S,D]"),
	OP(2, "aten::_scaled_dot_product_flash_attention_backward",
	   "b[B,A,S,D] b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M f[B,A,S] "
	   "- - d=S d=S s=0. s=True l[] l[] -"),
	OP(3, "aten::_flash_attention_backward",
	   "b[B,S,A,D] b[B,S,A,D] b[B,S,A,D] b[B,S,A,D] b[B,S,A,D] f[B,A,S] "
	   "- - d=S d=S s=0. s=True l[] l[] -"),
	EMPTY_LIKE(4, "B,S,A,D"),
	EMPTY_LIKE(4, "B,S,A,D"),
	EMPTY_LIKE(4, "B,S,A,D"),
	EMPTY(4, "B,A,S"),
	KERN(4, "flash_dot"),
	OP(4, "aten::zero_", "f[B,S,A,D]"),
	KERN(5, "fill"),
	KERN(4, "flash_bwd"),
	KERN(4, "flash_dq"),
	HEADS_BWD(0),
	HEADS_BWD(0),
	HEADS_BWD(0),
	BWD(0, "SplitBackward0", "b[" X "] b[" X "] b[" X "]"),
	OP(2, "aten::cat", "3*b[" X "] s=2"),
	EMPTY(3, "B,S,3H"),
	KERN(3, "cat"),
	LINEAR_BWD(0, "H", "3H", "gemm_wgrad"),
	LAYER_NORM_BWD(0),
	ACCUMULATE_BRANCH(0),
};

static const struct line reduce_layer[] = { COLLECTIVE(0, "ddp_layer") };
static const struct line reduce_embed[] = { COLLECTIVE(0, "ddp_embed") };

/* ---- the rest of the step --------------------------------------------- */

static const struct line step_begin[] = {
	HOLD_ANN("ProfilerStep#" T_NUM),
	HOLD_PROG("train.py(58): train_step"),
	IDLE(18),
	PY(0, "torch/utils/data/dataloader.py(701): __next__"),
	ANN(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
	IDLE(40),
	OP(0, "aten::to", "l[B,S] s=4 s=0 s=True s=False -"),
	OP(1, "aten::_to_copy", "l[B,S] s=4 s=0 s=0 s=True s=False -"),
	OP(2, "aten::empty_strided", "L=[B,S] L=[S,1] s=4 s=0 s=0 s=True"),
	OP(2, "aten::copy_", "l[B,S] l[B,S] s=True"),
	KERN(3, "h2d"),
	WAIT(ST_MAIN, ST_COPY),
	ANN(0, "Optimizer.zero_grad#AdamW.zero_grad"),
	IDLE(9),
};

static const struct line ddp_begin[] = {
	HOLD_ANN("DistributedDataParallel.forward"),
	HOLD_MOD("DistributedDataParallel", 0, 0),
};

static const struct line sync_buffers[] = { COLLECTIVE(0, "ddp_buffers") };

static const struct line model_begin[] = { HOLD_MOD("Transformer", 0, 0) };

static const struct line embed_forward[] = {
	MOD(0, "Embedding", 0, 0),
	PY(1, "<built-in method embedding>"),
	GRAD(2, "aten::embedding", "b[V,H] l[B,S] s=-1 s=False s=False"),
	OP(3, "aten::reshape", "l[B,S] L=[BS]"),
	OP(4, "aten::view", "l[B,S] L=[BS]"),
	OP(3, "aten::index_select", "b[V,H] s=0 l[BS]"),
	EMPTY(4, "BS,H"),
	KERN(4, "embed"),
	OP(3, "aten::view", "b[BS,H] L=[" X "]"),
	/* The next batch is fetched while the layers compute. */
	PROG(0, "train.py(31): prefetch"),
	OP(1, "aten::copy_", "l[B,S] l[B,S] s=True"),
	KERN(2, "h2d"),
};

static const struct line head[] = {
	LAYER_NORM(0, 100),
	MOD(0, "Linear", 0, 100),
	PY(1, "<built-in function linear>"),
	SEQ(2, "aten::linear", "b[" X "] b[V,H]"),
	TRANSPOSE2(3, F_SEQ | F_GRAD, "V", "H"),
	SEQ(3, "aten::matmul", "b[" X "] b[H,V]T"),
	GRAD(4, "aten::view", "b[" X "] L=[BS,H]"),
	GRAD(4, "aten::mm", "b[BS,H] b[H,V]T"),
	KERN(5, "gemm_head"),
	GRAD(4, "aten::_unsafe_view", "b[BS,V] L=[B,S,V]"),
};

static const struct line close_1[] = { CLOSE };
static const struct line close_2[] = { CLOSE, CLOSE };
static const struct line close_3[] = { CLOSE, CLOSE, CLOSE };
static const struct line close_5[] = { CLOSE, CLOSE, CLOSE, CLOSE, CLOSE };

static const struct line loss[] = {
	GRAD(0, "aten::view", "b[B,S,V] L=[BS,V]"),
	PY(0, "torch/nn/functional.py(3404): cross_entropy"),
	SEQ(1, "aten::cross_entropy_loss", "b[BS,V] l[BS] - s=1 s=-100 s=0."),
	SEQ(2, "aten::log_softmax", "b[BS,V] s=1 -"),
	GRAD(3, "aten::_log_softmax", "b[BS,V] s=1 s=False"),
	EMPTY_LIKE(4, "BS,V"),
	KERN(4, "log_softmax"),
	SEQ(2, "aten::nll_loss_nd", "b[BS,V] l[BS] - s=1 s=-100"),
	GRAD(3, "aten::nll_loss_forward", "b[BS,V] l[BS] - s=1 s=-100"),
	KERN(4, "nll"),
};

static const struct line backward_begin[] = {
	HOLD_PY("torch/_tensor.py(595): backward"),
	HOLD_PY("torch/autograd/__init__.py(358): backward"),
	HOLD_PY("<built-in method run_backward of torch._C._EngineBase object at 0x7f21c80b1ad0>"),
};

static const struct line loss_backward[] = {
	BWD(0, "NllLossBackward0", "b[]"),
	OP(2, "aten::nll_loss_backward", "b[] b[BS,V] l[BS] - s=1 s=-100 f[]"),
	EMPTY_LIKE(3, "BS,V"),
	OP(3, "aten::zero_", "b[BS,V]"),
	KERN(4, "fill"),
	KERN(3, "nll_bwd"),
	BWD(0, "LogSoftmaxBackward0", "b[BS,V]"),
	OP(2, "aten::_log_softmax_backward_data", "b[BS,V] b[BS,V] s=1 s=15"),
	EMPTY_LIKE(3, "BS,V"),
	KERN(3, "log_softmax_bwd"),
	VIEW_BWD(0, "BS,V", "B,S,V"),
	BWD(0, "UnsafeViewBackward0", "b[B,S,V]"),
	OP(2, "aten::reshape", "b[B,S,V] L=[BS,V]"),
	OP(3, "aten::view", "b[B,S,V] L=[BS,V]"),
	BWD(0, "MmBackward0", "b[BS,V]"),
	TRANSPOSE2(2, 0, "BS", "H"),
	OP(2, "aten::mm", "b[H,BS]T b[BS,V]"),
	KERN(3, "gemm_head"),
	TRANSPOSE2(2, 0, "H", "V"),
	OP(2, "aten::mm", "b[BS,V] b[V,H]"),
	KERN(3, "gemm_head"),
	VIEW_BWD(0, "BS,H", X),
	BWD(0, "TBackward0", "b[H,V]"),
	TRANSPOSE2(2, 0, "H", "V"),
	ACCUMULATE_BY(0, "V,H", "scale_table"),
	LAYER_NORM_BWD(0),
};

static const struct line embed_backward[] = {
	BWD(0, "EmbeddingBackward0", "b[" X "]"),
	OP(2, "aten::embedding_backward", "b[" X "] l[B,S] d=V s=-1 s=False s=False"),
	OP(3, "aten::embedding_dense_backward", "b[" X "] l[B,S] d=V s=-1 s=False"),
	OP(4, "aten::zero_", "b[V,H]"),
	KERN(5, "fill"),
	KERN(4, "embed_bwd"),
	ACCUMULATE_BY(0, "V,H", "scale_table"),
};

static const struct line optimize[] = {
	WAIT(ST_MAIN, ST_COMM),
	PY(0, "torch/nn/utils/clip_grad.py(206): clip_grad_norm_"),
	OP(1, "aten::_foreach_norm", "4*b[H,H] s=2 -"),
	KERN(2, "norm"),
	KERN(2, "norm"),
	KERN(2, "norm"),
	OP(1, "aten::_foreach_mul_", "4*b[H,H] b[]"),
	KERN(2, "clip"),
	KERN(2, "clip"),
	KERN(2, "clip"),
	PY(0, "torch/optim/optimizer.py(485): wrapper"),
	ANN(1, "Optimizer.step#AdamW.step"),
	PY(2, "torch/optim/adamw.py(211): step"),
	OP(3, "aten::_foreach_add_", "4*f[] s=1"),
	KERN(4, "addf"),
	OP(3, "aten::_fused_adamw_",
	   "4*b[H,H] 4*b[H,H] 4*b[H,H] 4*b[H,H] - 4*f[] "
	   "s=0.0003 s=0.9 s=0.95 s=0.1 s=1e-08 s=False"),
	KERN(4, "adam"),
	KERN(4, "adam"),
	KERN(4, "adam"),
	KERN(4, "adam"),
	KERN(4, "adam"),
	OP(0, "aten::item", "b[]"),
	OP(1, "aten::_local_scalar_dense", "b[]"),
	KERN(2, "d2h"),
	CALL(2, API_STREAM_SYNC),
	IDLE(12),
	CALL(0, API_DEVICE_SYNC),
	CLOSE,
	CLOSE,
};

/* ---- layers that are computed again ----------------------------------- */

#define CHECKPOINT "torch/utils/checkpoint.py"

static const struct line checkpoint[] = { HOLD_PY(CHECKPOINT "(496): checkpoint") };

static const struct line checkpoint_reentrant[] = {
	HOLD_PY(CHECKPOINT "(496): checkpoint"),
	{ 0, L_OP, F_HOLD | F_SEQ | F_GRAD, "CheckpointFunction", "b[" X "]", 0, 0 },
};

/* The last op of the layer asks for what it saved. */
static const struct line again[] = {
	{ 0, L_OP, F_BWD | F_HOLD, "autograd::engine::evaluate_function: AddBackward0", NULL, 0,
	  0 },
	{ 0, L_OP, F_BWD | F_NODE | F_HOLD, "AddBackward0", "b[" X "]", 0, 0 },
	{ 0, L_PY, F_AGAIN | F_HOLD, CHECKPOINT "(1116): recompute_fn", NULL, 0, 0 },
};

static const struct line again_reentrant[] = {
	{ 0, L_OP, F_BWD | F_HOLD,
	  "autograd::engine::evaluate_function: CheckpointFunctionBackward", NULL, 0, 0 },
	{ 0, L_OP, F_BWD | F_NODE | F_HOLD | F_AGAIN, "CheckpointFunctionBackward", "b[" X "]", 0,
	  0 },
	HOLD_PY(CHECKPOINT "(285): backward"),
};

static const struct line backward_of_again[] = {
	HOLD_PY("torch/autograd/__init__.py(358): backward"),
	HOLD_PY("<built-in method run_backward of torch._C._EngineBase object at 0x7f21c80b1ad0>"),
};

static void add_forward(struct model *m, int layer)
{
	if (m->checkpoint == CHECKPOINT_RECOMPUTE)
		MODEL_ADD(m, checkpoint, TH_MAIN, layer, SEG_CHECKPOINT);
	if (m->checkpoint == CHECKPOINT_REENTRANT)
		MODEL_ADD(m, checkpoint_reentrant, TH_MAIN, layer, SEG_CHECKPOINT);
	MODEL_ADD(m, layer_forward, TH_MAIN, layer,
		  m->checkpoint == CHECKPOINT_REENTRANT ? SEG_NO_GRAD : 0);
	if (m->checkpoint == CHECKPOINT_RECOMPUTE)
		MODEL_ADD(m, close_1, TH_MAIN, layer, 0);
	if (m->checkpoint == CHECKPOINT_REENTRANT)
		MODEL_ADD(m, close_2, TH_MAIN, layer, 0);
}

static void add_backward(struct model *m, int layer)
{
	if (m->checkpoint == CHECKPOINT_RECOMPUTE) {
		MODEL_ADD(m, again, TH_BWD, layer, 0);
		MODEL_ADD(m, layer_forward, TH_BWD, layer, SEG_AGAIN);
		MODEL_ADD(m, close_3, TH_BWD, layer, 0);
	} else if (m->checkpoint == CHECKPOINT_REENTRANT) {
		MODEL_ADD(m, again_reentrant, TH_BWD, layer, 0);
		MODEL_ADD(m, layer_forward, TH_BWD, layer, 0);
		MODEL_ADD(m, backward_of_again, TH_BWD, layer, 0);
	}
	if (m->checkpoint != CHECKPOINT_RECOMPUTE)
		MODEL_ADD(m, last_backward, TH_BWD, layer, 0);
	MODEL_ADD(m, layer_backward, TH_BWD, layer, 0);
	if (m->checkpoint == CHECKPOINT_REENTRANT)
		MODEL_ADD(m, close_5, TH_BWD, layer, 0);
}

/* ---- a pipeline: two layers a rank, all microbatches forward, then all backward ---- */

#define STAGE_LAYERS 2
#define MICROBATCHES 2

static const struct line stage_begin[] = {
	HOLD_PROG("train.py(77): forward_stage"),
	HOLD_MOD("PipelineStage", 1, 0),
};
static const struct line send[] = { COLLECTIVE(0, "pp_send") };
static const struct line receive[] = { COLLECTIVE(0, "pp_recv") };

static void on_ranks(struct model *m, int first, int last)
{
	m->first_rank = first;
	m->last_rank = last;
}

/* Between a rank and the next one, in either direction. */
static void add_transfer(struct model *m, int rank, bool forward)
{
	on_ranks(m, rank, rank);
	if (forward)
		MODEL_ADD(m, send, TH_MAIN, 0, SEG_WAITS);
	else
		MODEL_ADD(m, receive, TH_MAIN, 0, SEG_WAITS);
	on_ranks(m, rank + 1, rank + 1);
	if (forward)
		MODEL_ADD(m, receive, TH_MAIN, 0, SEG_ANSWERS);
	else
		MODEL_ADD(m, send, TH_MAIN, 0, SEG_ANSWERS);
}

static void add_stage_forward(struct model *m, int stage)
{
	bool last = stage == m->ranks - 1;

	on_ranks(m, stage, stage);
	MODEL_ADD(m, stage_begin, TH_MAIN, stage, 0);
	if (!stage)
		MODEL_ADD(m, embed_forward, TH_MAIN, 0, 0);
	for (int i = 0; i < STAGE_LAYERS; i++)
		add_forward(m, stage * STAGE_LAYERS + i);
	if (last)
		MODEL_ADD(m, head, TH_MAIN, 0, 0);
	MODEL_ADD(m, close_2, TH_MAIN, 0, 0);
	if (last)
		MODEL_ADD(m, loss, TH_MAIN, 0, 0);
	else
		add_transfer(m, stage, true);
}

static const struct line wake[] = { IDLE(2) };

static void add_stage_backward(struct model *m, int stage)
{
	on_ranks(m, stage, stage);
	MODEL_ADD(m, backward_begin, TH_MAIN, 0, 0);
	MODEL_ADD(m, wake, TH_BWD, 0, SEG_ENTER_BWD);
	if (stage == m->ranks - 1)
		MODEL_ADD(m, loss_backward, TH_BWD, 0, 0);
	for (int i = STAGE_LAYERS - 1; i >= 0; i--)
		add_backward(m, stage * STAGE_LAYERS + i);
	if (!stage)
		MODEL_ADD(m, embed_backward, TH_BWD, 0, 0);
	MODEL_ADD(m, close_3, TH_MAIN, 0, SEG_LEAVE_BWD);
	if (stage)
		add_transfer(m, stage - 1, false);
}

static void plan_pipeline(struct model *m)
{
	MODEL_ADD(m, step_begin, TH_MAIN, 0, 0);
	for (int k = 0; k < MICROBATCHES; k++)
		for (int stage = 0; stage < m->ranks; stage++)
			add_stage_forward(m, stage);
	for (int k = 0; k < MICROBATCHES; k++)
		for (int stage = m->ranks - 1; stage >= 0; stage--)
			add_stage_backward(m, stage);
	on_ranks(m, 0, m->ranks);
	MODEL_ADD(m, optimize, TH_MAIN, 0, 0);
}

void plan_train(struct model *m)
{
	const int layers = 4;

	m->dims.v['B' - 'A'] = 8;
	m->dims.v['S' - 'A'] = 512;
	m->dims.v['H' - 'A'] = 1024;
	m->dims.v['A' - 'A'] = 16;
	m->dims.v['D' - 'A'] = 64;
	m->dims.v['F' - 'A'] = 4096;
	m->dims.v['V' - 'A'] = 32000;
	if (m->pipeline) {
		plan_pipeline(m);
		return;
	}
	MODEL_ADD(m, step_begin, TH_MAIN, 0, 0);
	MODEL_ADD(m, ddp_begin, TH_MAIN, 0, 0);
	MODEL_ADD(m, sync_buffers, TH_MAIN, 0, 0);
	MODEL_ADD(m, model_begin, TH_MAIN, 0, 0);
	MODEL_ADD(m, embed_forward, TH_MAIN, 0, 0);
	for (int i = 0; i < layers; i++)
		add_forward(m, i);
	MODEL_ADD(m, head, TH_MAIN, 0, 0);
	MODEL_ADD(m, close_3, TH_MAIN, 0, 0);
	MODEL_ADD(m, loss, TH_MAIN, 0, 0);
	MODEL_ADD(m, backward_begin, TH_MAIN, 0, 0);
	MODEL_ADD(m, loss_backward, TH_BWD, 0, SEG_ENTER_BWD);
	for (int i = layers - 1; i >= 0; i--) {
		add_backward(m, i);
		MODEL_ADD(m, reduce_layer, TH_BWD, i, 0);
	}
	MODEL_ADD(m, embed_backward, TH_BWD, 0, 0);
	MODEL_ADD(m, reduce_embed, TH_BWD, 0, 0);
	MODEL_ADD(m, close_3, TH_MAIN, 0, SEG_LEAVE_BWD);
	MODEL_ADD(m, optimize, TH_MAIN, 0, 0);
}

/* clang-format on */
