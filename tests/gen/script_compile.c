/*
 * A training step of a compiled model: one region, Triton kernels launched
 * through the driver between library matrix products, and a compiled backward.
 * With several ranks each step ends in an allreduce of all gradients.
 *
 * B batch, S sequence, H hidden, A heads, D head size, F feed-forward, V vocabulary.
 */
#include "script.h"

/* clang-format off: a line of a script is a line here */

#define X "B,S,H"
#define GRAPH_HASH "fq3x7oabd2tzvuk5mwl6c4ernh2ysjpgi3b7kdqv5oxa2cwmrtne"

/* A generated kernel: its launcher is recorded as an op of the same name. */
#define TRITON(d, key, name, in) OP(d, "triton_" name, in), KERN((d) + 1, key)

#define MM(d, m, k, n, key)                                                                \
	OP(d, "aten::mm", "b[" m "," k "] b[" k "," n "]T"), CALL((d) + 1, API_FUNC_ATTR), \
		KERN((d) + 1, key)

static const struct line compiled_begin[] = {
	HOLD_ANN("ProfilerStep#" T_NUM),
	HOLD_PROG("train_compiled.py(71): step"),
	IDLE(22),
	OP(0, "aten::copy_", "l[B,S] l[B,S] s=True"),
	KERN(1, "h2d"),
	WAIT(ST_MAIN, ST_COPY),
	OP(0, "TorchDynamo Cache Lookup", NULL),
	HOLD_OP("Torch-Compiled Region: 0/0", NULL),
	HOLD_PY("torch/_dynamo/eval_frame.py(838): compile_wrapper"),
	{ 0, L_OP, F_HOLD | F_SEQ | F_GRAD, "CompiledFunction", "l[B,S] b[V,H] b[H] b[3H,H] b[H,H]",
	  0, 0 },
	HOLD_ANN("## Call CompiledFxGraph " GRAPH_HASH " ##"),
	OP(0, "aten::embedding", "b[V,H] l[B,S] s=-1 s=False s=False"),
	KERN(1, "embed"),
};

static const struct line compiled_layer[] = {
	TRITON(0, "t_rms", "red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
	       "b[" X "] b[H] b[" X "] d=BS d=H"),
	MM(0, "BS", "H", "3H", "gemm_qkv"),
	TRITON(0, "t_rope", "poi_fused_add_cat_cos_mul_neg_sin_slice_1",
	       "b[BS,3H] b[S,D] b[S,D] d=BSH"),
	OP(0, "aten::_scaled_dot_product_flash_attention",
	   "b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M s=0. s=True s=False -"),
	EMPTY_LIKE(1, "B,S,A,D"),
	EMPTY(1, "B,A,S"),
	KERN(1, "flash"),
	MM(0, "BS", "H", "H", "gemm_proj"),
	TRITON(0, "t_res", "red_fused__to_copy_add_mean_mul_pow_rsqrt_2",
	       "b[" X "] b[" X "] b[H] b[" X "] d=BS d=H"),
	MM(0, "BS", "H", "F", "gemm_fc1"),
	MM(0, "BS", "H", "F", "gemm_fc1"),
	TRITON(0, "t_act", "poi_fused_mul_silu_3", "b[BS,F] b[BS,F] b[BS,F] d=BSF"),
	MM(0, "BS", "F", "H", "gemm_fc2"),
};

static const struct line compiled_loss[] = {
	MM(0, "BS", "H", "V", "gemm_head"),
	TRITON(0, "t_loss", "per_fused__log_softmax_nll_loss_forward_4",
	       "b[BS,V] l[BS] f[BS] d=BS d=V"),
	CLOSE,
	CLOSE,
	CLOSE,
	CLOSE,
	HOLD_PY("torch/_tensor.py(595): backward"),
	HOLD_PY("<built-in method run_backward of torch._C._EngineBase object at 0x7f21c80b1ad0>"),
};

static const struct line compiled_backward_begin[] = {
	{ 0, L_OP, F_BWD | F_HOLD, "autograd::engine::evaluate_function: CompiledFunctionBackward",
	  NULL, 0, 0 },
	{ 0, L_OP, F_BWD | F_NODE | F_HOLD, "CompiledFunctionBackward", "f[]", 0, 0 },
	HOLD_ANN("## Call CompiledFxGraph " GRAPH_HASH "_backward ##"),
	MM(0, "BS", "V", "H", "gemm_head"),
	MM(0, "H", "BS", "V", "gemm_head"),
};

static const struct line compiled_layer_backward[] = {
	MM(0, "BS", "H", "F", "gemm_dgrad"),
	MM(0, "H", "BS", "F", "gemm_wgrad"),
	TRITON(0, "t_act_bwd", "poi_fused_add_mul_sigmoid_silu_sub_5",
	       "b[BS,F] b[BS,F] b[BS,F] b[BS,F] d=BSF"),
	MM(0, "BS", "F", "H", "gemm_dgrad"),
	MM(0, "F", "BS", "H", "gemm_wgrad"),
	MM(0, "BS", "F", "H", "gemm_dgrad"),
	MM(0, "F", "BS", "H", "gemm_wgrad"),
	TRITON(0, "t_rms_bwd", "red_fused__to_copy_add_div_mul_pow_sum_6",
	       "b[" X "] b[" X "] b[H] f[BS] b[" X "] d=BS d=H"),
	MM(0, "BS", "H", "H", "gemm_dgrad"),
	MM(0, "H", "BS", "H", "gemm_wgrad"),
	OP(0, "aten::_scaled_dot_product_flash_attention_backward",
	   "b[B,A,S,D] b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M b[B,A,S,D]M f[B,A,S] "
	   "- - d=S d=S s=0. s=True l[] l[] -"),
	KERN(1, "flash_dot"),
	KERN(1, "flash_bwd"),
	KERN(1, "flash_dq"),
	TRITON(0, "t_rope_bwd", "poi_fused_add_mul_neg_slice_backward_7",
	       "b[BS,H] b[S,D] b[S,D] d=BSH"),
	MM(0, "BS", "3H", "H", "gemm_dgrad"),
	MM(0, "3H", "BS", "H", "gemm_wgrad"),
	TRITON(0, "t_rms_bwd", "red_fused__to_copy_add_div_mul_pow_sum_6",
	       "b[" X "] b[" X "] b[H] f[BS] b[" X "] d=BS d=H"),
};

static const struct line compiled_backward_end[] = {
	OP(0, "aten::embedding_dense_backward", "b[" X "] l[B,S] d=V s=-1 s=False"),
	OP(1, "aten::zero_", "b[V,H]"),
	KERN(2, "fill"),
	KERN(1, "embed_bwd"),
	CLOSE,
	CLOSE,
	CLOSE,
	OP(0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL),
	OP(1, "torch::autograd::AccumulateGrad", "b[V,H]"),
	OP(1, "aten::detach", "b[V,H]"),
	OP(2, "detach", "b[V,H]"),
};

static const struct line reduce_all[] = { COLLECTIVE(0, "ddp_embed") };

static const struct line compiled_end[] = {
	CLOSE,
	CLOSE,
	WAIT(ST_MAIN, ST_COMM),
	ANN(0, "Optimizer.step#AdamW.step"),
	OP(1, "aten::_fused_adamw_",
	   "4*b[H,H] 4*b[H,H] 4*b[H,H] 4*b[H,H] - 4*f[] "
	   "s=0.0003 s=0.9 s=0.95 s=0.1 s=1e-08 s=False"),
	KERN(2, "adam"),
	KERN(2, "adam"),
	KERN(2, "adam"),
	OP(0, "aten::item", "f[]"),
	OP(1, "aten::_local_scalar_dense", "f[]"),
	KERN(2, "d2h"),
	CALL(2, API_STREAM_SYNC),
	CALL(0, API_DEVICE_SYNC),
	CLOSE,
	CLOSE,
};

void plan_compile(struct model *m)
{
	const int layers = 6;

	m->dims.v['B' - 'A'] = 4;
	m->dims.v['S' - 'A'] = 1024;
	m->dims.v['H' - 'A'] = 1024;
	m->dims.v['A' - 'A'] = 16;
	m->dims.v['D' - 'A'] = 64;
	m->dims.v['F' - 'A'] = 2816;
	m->dims.v['V' - 'A'] = 32000;
	MODEL_ADD(m, compiled_begin, TH_MAIN, 0, 0);
	for (int i = 0; i < layers; i++)
		MODEL_ADD(m, compiled_layer, TH_MAIN, i, 0);
	MODEL_ADD(m, compiled_loss, TH_MAIN, 0, 0);
	MODEL_ADD(m, compiled_backward_begin, TH_BWD, 0, SEG_ENTER_BWD);
	for (int i = layers - 1; i >= 0; i--)
		MODEL_ADD(m, compiled_layer_backward, TH_BWD, i, 0);
	MODEL_ADD(m, compiled_backward_end, TH_BWD, 0, 0);
	if (m->world > 1)
		MODEL_ADD(m, reduce_all, TH_BWD, 0, 0);
	MODEL_ADD(m, compiled_end, TH_MAIN, 0, SEG_LEAVE_BWD);
}

/* clang-format on */
