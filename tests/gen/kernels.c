/*
 * The kernels, copies and fills that scripts launch, under the names that the
 * libraries of either vendor give them, and the runtime calls.
 */
#include "model.h"

/* clang-format off: long names, broken where their parts end */

#define NS "at::native::"
#define ANON "at::native::(anonymous namespace)::"
#define BF "c10::BFloat16"
#define BF3 BF ", " BF ", " BF
#define PTR BF "*"
#define CPTR BF " const*"
#define ARR(n) "std::array<char*, " n "ul>"
#define ITER "at::TensorIteratorBase&"
#define INFO(t) "at::cuda::detail::TensorInfo<" t ", unsigned int>"

#define VEC(w, f, n)                                                                \
	"void " NS "vectorized_elementwise_kernel<" w ", " f ", " ARR(n) " >"       \
									 "(int, " f \
									 ", " ARR(n) ")"
#define NOCAST(f) NS "gpu_kernel_impl_nocast<" f " >(" ITER ", " f " const&)::{lambda(int)#1}"
#define ELEM(t, w, f) \
	"void " NS "elementwise_kernel<" t ", " w ", " NOCAST(f) ">(int, " NOCAST(f) ")"
#define UNROLL(f) \
	"void " NS "elementwise_kernel_manual_unroll<128, 8, " NOCAST(f) ">(int, " NOCAST(f) ")"
#define LAMBDA(t, n)                                                               \
	"::{lambda()#" n "}::operator()() const::{lambda()#4}::operator()() const" \
	"::{lambda(" t ")#1}"

#define F_MULF NS "binary_internal::MulFunctor<float>"
#define F_ADD NS "CUDAFunctor_add<" BF ">"
#define F_ADDF NS "CUDAFunctorOnSelf_add<float>"
#define F_MUL NS "BinaryFunctor<" BF3 ", " F_MULF " >"
#define F_SCALE NS "AUnaryFunctor<" BF3 ", " F_MULF " >"
#define F_COPY NS "direct_copy_kernel_cuda(" ITER ")" LAMBDA(BF, "3")
#define F_COPYF NS "bfloat16_copy_kernel_cuda(" ITER ")::{lambda(float)#1}"
#define F_GELU NS "GeluCUDAKernelImpl(" ITER ", " NS "GeluType)" LAMBDA(BF, "2")
#define F_GELUB NS "GeluBackwardCUDAKernelImpl(" ITER ", " NS "GeluType)" LAMBDA(BF ", " BF, "2")
#define F_SILU ANON "silu_kernel(" ITER ")" LAMBDA(BF, "1")
#define F_NEG NS "neg_kernel_cuda(" ITER ")" LAMBDA(BF, "2")
#define F_RSQRT NS "rsqrt_kernel_cuda(" ITER ")" LAMBDA("float", "2")
#define F_POW ANON "pow_tensor_scalar_kernel_impl<float, float>(" ITER ", float)::{lambda(float)#1}"
#define F_FILL NS "FillFunctor<" BF ">"
#define SCALAR "c10::Scalar const&"
#define F_ARANGE \
	NS "arange_cuda_out(" SCALAR ", " SCALAR ", " SCALAR ", at::Tensor&)" LAMBDA("long", "1")

#define REDUCE_OP(op, t) NS "ReduceOp<" t ", " op ", unsigned int, " t ", 4, 4>"
#define REDUCE(op, t) \
	"void " NS "reduce_kernel<512, 1, " REDUCE_OP(op, t) " >(" REDUCE_OP(op, t) ")"
#define R_SUM                                                                            \
	NS "func_wrapper_t<" BF ", " NS "sum_functor<" BF ", float, " BF ">::operator()" \
	   "(at::TensorIterator&)::{lambda(float, float)#1}>"
#define R_MEAN NS "MeanOps<float, float, float, float>"
#define R_ARGMAX NS "ArgMaxOps<float>"

#define MTA(meta, functor) \
	"void " ANON "multi_tensor_apply_kernel<" meta ", " functor ">(" meta ", " functor ")"
#define META(n) ANON "TensorListMetadata<" n ">"
#define META_ADAM ANON "FusedOptimizerTensorListMetadata<4>"
#define ADAM_MODE "(" NS "ADAM_MODE)1"
#define M_ADAM                                            \
	ANON "FusedAdamMathFunctor<" BF ", 4, " ADAM_MODE \
	     ", false>, float const*, double, double, "   \
	     "double, double, double, bool, float*, float*, " ADAM_MODE
#define M_NORM ANON "LpNormFunctor<" BF ", (" NS "NormType)1, " BF ", 1, 1, 0>, float*, int"
#define M_SCALE \
	ANON "BinaryOpScalarTensorFunctor<" BF ", 1, 1, 0>, std::multiplies<float>, " PTR ", float"

#define LN_FWD                                                                              \
	"void " ANON "vectorized_layer_norm_kernel<" BF ", float, false>(int, float, " CPTR \
	", " CPTR ", " CPTR ", float*, float*, " PTR ")"
#define LN_GRAD                                                                            \
	"void " ANON "layer_norm_grad_input_kernel_vectorized<" BF ", float, false>(" CPTR \
	", " CPTR ", float const*, float const*, " CPTR ", " PTR ", int)"
#define LN_GAMMA                                               \
	"void " ANON "GammaBetaBackwardCUDAKernelTemplate<" BF \
	", float, 64u, 1u, 64u, true, true, "                  \
	"false>(long, long, " CPTR ", " CPTR ", float const*, float const*, " PTR ", " PTR ")"
#define DROPOUT                                                                                 \
	"void " ANON "fused_dropout_kernel_vec<" BF ", float, unsigned int, 1, 8, bool>(" INFO( \
		BF " const") ", " INFO(BF) ", " INFO("bool") ", unsigned int, float, "          \
							     "at::PhiloxCudaState)"
#define SOFTMAX(x, e)                                                                         \
	"void " ANON "cunn_SoftMax" x "<8, " BF ", float, " BF ", " ANON e ">(" PTR ", " CPTR \
	", int)"
#define NLL(x)                                                                               \
	"void " NS "nll_loss_" x "_reduce_cuda_kernel_2d<" BF ", float, long>(" PTR ", " PTR \
	", " CPTR ", long const*, " CPTR ", bool, long, long, long, long)"
#define EMBED                                                                               \
	"void " ANON "indexSelectLargeIndex<" BF                                            \
	", long, unsigned int, 2, 2, -2, true>(" INFO(BF) ", " INFO(BF " const") ", " INFO( \
		"long const") ", int, int, unsigned int, unsigned int, long)"
#define EMBED_BWD                                                                                \
	"void " ANON "embedding_backward_feature_kernel<" BF ", float, long>(long const*, " CPTR \
	", " PTR ", int, long, int)"
#define OPAQUE ANON "OpaqueType<2u>"
#define CAT                                                                                 \
	"void " ANON "CatArrayBatchedCopy_aligned16_contig<" OPAQUE                         \
	", unsigned int, 4, 128, 1>(" OPAQUE "*, " ANON "CatArrInputTensorMetadata<" OPAQUE \
	", unsigned int, 128, 1>, " ANON "TensorSizeStride<unsigned int, 4u>, int, unsigned int)"

#define FLASH_TRAITS(x, m, n)                                    \
	"pytorch_flash::Flash_" x "_kernel_traits<64, " m ", " n \
	", 8, false, false, cutlass::bfloat16_t>"
#define FLASH(x, tr, flags)                                                                 \
	"void pytorch_flash::flash_" x "_kernel<" tr ", " flags ">(pytorch_flash::Flash_" x \
	"_params)"

#define XMMA(t)                                                                             \
	"sm90_xmma_gemm_bf16bf16_bf16f32_f32_" t "_n_tilesize128x128x64_warpgroupsize1x1x1" \
	"_execute_segment_k_off_kernel__5x_cublas"
#define CUTLASS(s)                                                         \
	"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_" s ">" \
	"(cutlass_80_tensorop_bf16_s16816gemm_" s "::Params)"
#define CIJK(ab, mt, rest)                                                                         \
	"Cijk_" ab "_BBS_BH_Bias_HA_S_SAV_UserArgs_MT" mt "_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1"   \
	"_ASEM1_CLR1_CADS0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA942_IU1_K1_LBSPPA512"     \
	"_LBSPPB256_LPA16_LPB16_LPM0_LRVW8_MIAV0_MO40_NTn1_NTA0_NTB0_NTC0_NTD4_PGR2_PLR1_SIA3_SS1" \
	"_SPO0_SRVW0_SSO0_TLDS1_USFGROn1_VSn1" rest "_WS64_WG64_4_1"

#define NCCL(op) "ncclDevKernel_" op "(ncclDevKernelArgsStorage<4096ul>)"
#define NCCL_AMD NCCL("Generic")

#define VLLM(name, t, args) "void vllm::" name "<" t ">(" args ")"
#define ROPE_ARGS "long const*, " PTR ", " PTR ", " CPTR ", int, long, long, int, int, int"
#define KV_ARGS(t) \
	t " const*, " t " const*, " t "*, " t "*, long const*, long, long, long, int, int, int"
#define FP8_NONE "(vllm::Fp8KVCacheDataType)0"
#define CUSTOM_AR(t)                                \
	VLLM("cross_device_reduce_1stage", t ", 2", \
	     "vllm::RankData*, vllm::RankSignals, " \
	     "vllm::Signal*, " t "*, int, int")

/* Compute kernels: pct of the device's peak, or, without an op that tells the work, ns. */
#define KERNEL(key, nv, amd, api, stream, pct, ns, gx, gy, block, regs, shmem)                     \
	{                                                                                          \
		key, nv, amd, CAT_KERNEL, CLS_COMPUTE, api, stream, pct, ns, { gx, gy, 1 }, block, \
			regs, shmem, 0                                                             \
	}
/* Names that both vendors share, or not. */
#define K2(key, nv, amd, api, stream, pct, gx, gy, block, regs, shmem) \
	KERNEL(key, nv, amd, api, stream, pct, 0, gx, gy, block, regs, shmem)
#define K(key, name, pct, gx, block, regs, shmem) \
	K2(key, name, name, API_LAUNCH, ST_MAIN, pct, gx, 1, block, regs, shmem)
#define GEMM(key, nv, amd, pct, gx, gy) \
	K2(key, nv, amd, API_EX, ST_MAIN, pct, gx, gy, 384, 168, 213248)
#define TRITON(key, name, pct, gx, block, shmem) \
	K2(key, name, name, API_DRIVER, ST_MAIN, pct, gx, 1, block, 48, shmem)
/* Of graphs only. */
#define G2(key, nv, amd, ns, gx, gy, block, regs, shmem) \
	KERNEL(key, nv, amd, API_LAUNCH, ST_MAIN, 0, ns, gx, gy, block, regs, shmem)
#define G(key, name, ns, gx, block, regs, shmem) G2(key, name, name, ns, gx, 1, block, regs, shmem)
#define GRAPH_GEMM(key, nv, amd, stream, ns, gx, shmem) \
	KERNEL(key, nv, amd, API_EX, stream, 0, ns, gx, 1, 384, 168, shmem)
#define COMM(key, nv, api)                                                                      \
	{                                                                                       \
		key, nv, NCCL_AMD, CAT_KERNEL, CLS_COMM, api, ST_COMM, 0, 0, { 24, 1, 1 }, 544, \
			96, 0, 0                                                                \
	}
#define COPY(key, nv, amd, stream, ns, bytes)                                                    \
	{                                                                                        \
		key, nv, amd, CAT_MEMCPY, CLS_MEMCPY, API_MEMCPY, stream, 0, ns, { 1, 1, 1 }, 1, \
			0, 0, bytes                                                              \
	}

const struct kern_def kern_defs[] = {
	COPY("h2d", "Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Host -> Device)", ST_COPY,
	     41000, 1048576),
	COPY("d2h", "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Host)", ST_MAIN, 2100,
	     4),
	COPY("d2d", "Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)", ST_MAIN,
	     4300, 4194304),
	{ "memset",
	  "Memset (Device)",
	  "Memset (Device)",
	  CAT_MEMSET,
	  CLS_COMPUTE,
	  API_MEMSET,
	  ST_MAIN,
	  0,
	  2400,
	  { 1, 1, 1 },
	  1,
	  0,
	  0,
	  4194304 },

	K("embed", EMBED, 60, 8192, 128, 32, 0),
	K("embed_bwd", EMBED_BWD, 45, 128, 512, 40, 12288),
	K("ln", LN_FWD, 70, 4096, 128, 40, 24),
	K("ln_bwd", LN_GRAD, 72, 4096, 128, 48, 128),
	K("ln_gamma", LN_GAMMA, 22, 32, 512, 56, 8448),
	K("dropout", DROPOUT, 62, 528, 256, 40, 0),
	K("add", VEC("4", F_ADD, "3"), 80, 4096, 128, 32, 0),
	K("mul", VEC("4", F_MUL, "3"), 78, 4096, 128, 32, 0),
	K("scale", VEC("4", F_SCALE, "2"), 80, 2048, 128, 20, 0),
	/* of an embedding table */
	K("scale_table", VEC("4", F_SCALE, "2"), 80, 64000, 128, 20, 0),
	K("gelu", VEC("4", F_GELU, "2"), 78, 16384, 128, 24, 0),
	K("gelu_bwd", VEC("4", F_GELUB, "3"), 80, 16384, 128, 32, 0),
	K("copy", ELEM("128", "4", F_COPY), 58, 8192, 128, 26, 0),
	K("copy_slow", UNROLL(F_COPY), 36, 4096, 128, 30, 0),
	K("to_float", VEC("4", F_COPYF, "2"), 70, 512, 128, 18, 0),
	K("fill", VEC("4", F_FILL, "1"), 80, 2048, 128, 16, 0),
	K("bias_sum", REDUCE(R_SUM, BF), 66, 96, 512, 32, 16),
	K("log_softmax", SOFTMAX("Forward", "LogSoftMaxForwardEpilogue"), 72, 4096, 1024, 34, 128),
	K("log_softmax_bwd", SOFTMAX("Backward", "LogSoftMaxBackwardEpilogue"), 78, 4096, 1024, 34,
	  128),
	K("nll", NLL("forward"), 8, 1, 32, 32, 0),
	K("nll_bwd", NLL("backward"), 8, 1, 32, 32, 0),
	K("norm", MTA(META("1"), M_NORM), 62, 320, 512, 40, 2048),
	K("clip", MTA(META("1"), M_SCALE), 70, 320, 512, 32, 0),
	K("adam", MTA(META_ADAM, M_ADAM), 30, 320, 512, 62, 0),
	K("pow", VEC("4", F_POW, "2"), 76, 512, 128, 18, 0),
	K("mean", REDUCE(R_MEAN, "float"), 64, 128, 512, 32, 2048),
	K("addf", VEC("4", F_ADDF, "2"), 70, 1, 128, 16, 0),
	K("rsqrt", VEC("4", F_RSQRT, "2"), 70, 1, 128, 18, 0),
	K("silu", VEC("4", F_SILU, "2"), 78, 1408, 128, 24, 0),
	K("neg", VEC("4", F_NEG, "2"), 76, 256, 128, 18, 0),
	K("cat", CAT, 74, 512, 128, 30, 0),
	K("softmax", SOFTMAX("Forward", "SoftMaxForwardEpilogue"), 66, 2048, 256, 34, 512),
	K("argmax", REDUCE(R_ARGMAX, "float"), 60, 1, 512, 40, 8192),
	K("arange",
	  "void (anonymous namespace)::elementwise_kernel_with_index<int, " F_ARANGE
	  ">(int, " F_ARANGE ", function_traits<" F_ARANGE ">::result_type*)",
	  70, 1, 64, 16, 0),

	K2("flash",
	   FLASH("fwd", FLASH_TRAITS("fwd", "128", "64"),
		 "false, true, false, false, true, true, false"),
	   "attn_fwd.kd", API_LAUNCH, ST_MAIN, 38, 4, 128, 256, 255, 81920),
	K2("flash_dot", FLASH("bwd_dot_do_o", FLASH_TRAITS("bwd", "64", "128"), "true"),
	   "bwd_preprocess.kd", API_LAUNCH, ST_MAIN, 74, 8, 128, 256, 48, 0),
	K2("flash_bwd",
	   FLASH("bwd_dq_dk_dv_loop_seqk_parallel", FLASH_TRAITS("bwd", "64", "128"),
		 "false, true, false, false, true, true, false"),
	   "bwd_kernel_dk_dv.kd", API_LAUNCH, ST_MAIN, 14, 4, 128, 256, 255, 147456),
	K2("flash_dq", FLASH("bwd_convert_dq", FLASH_TRAITS("bwd", "64", "128"), "true"),
	   "bwd_kernel_dq.kd", API_LAUNCH, ST_MAIN, 70, 8, 128, 256, 96, 16384),

	GEMM("gemm_qkv", XMMA("tn"), CIJK("Alik_Bljk", "256x192x64", "_VWA4"), 63, 24, 32),
	GEMM("gemm_proj", CUTLASS("relu_bf16_128x256_32x3_tn_align8"),
	     CIJK("Alik_Bljk", "256x128x64", "_VWA4"), 46, 8, 32),
	GEMM("gemm_fc1", XMMA("tn"), CIJK("Alik_Bljk", "256x256x64", "_VWA4"), 67, 32, 32),
	GEMM("gemm_fc2", XMMA("tn"), CIJK("Alik_Bljk", "256x128x64", "_VWA8"), 62, 8, 32),
	GEMM("gemm_head", "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
	     CIJK("Alik_Bljk", "256x256x32", "_VWA8"), 71, 250, 32),
	GEMM("gemm_dgrad", XMMA("nn"), CIJK("Ailk_Bljk", "256x192x64", "_VWA4"), 61, 8, 32),
	GEMM("gemm_wgrad", "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_NTN",
	     CIJK("Ailk_Bjlk", "256x160x64", "_VWA4"), 36, 16, 16),
	GEMM("bmm_qk", CUTLASS("bf16_128x128_64x3_tn_align8"),
	     CIJK("Alik_Bljk", "64x64x64", "_VWA2"), 42, 2, 32),
	GEMM("bmm_av", CUTLASS("bf16_64x64_64x6_nn_align8"), CIJK("Ailk_Bljk", "64x64x64", "_VWA2"),
	     44, 2, 32),
	K2("gemm_side", "nvjet_tst_64x64_64x13_1x1_h_bz_TNT",
	   CIJK("Alik_Bljk", "64x96x128", "_VWA1"), API_EX, ST_SIDE, 57, 44, 4, 384, 168, 180224),

	/* Kernels inside decode graphs. */
	GRAPH_GEMM("gemm_small", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
		   CIJK("Alik_Bljk", "32x32x256", "_VWA1"), ST_MAIN, 11600, 32, 213248),
	GRAPH_GEMM("gemm_big", "nvjet_tst_128x8_64x12_2x1_v_bz_TNT",
		   CIJK("Alik_Bljk", "64x32x256", "_VWA1"), ST_MAIN, 22400, 88, 213248),
	G("rms_fused",
	  VLLM("fused_add_rms_norm_kernel", BF ", 8", PTR ", " PTR ", " CPTR ", float, int, int"),
	  3900, 32, 256, 40, 0),
	G("rope", VLLM("rotary_embedding_kernel", BF ", true", ROPE_ARGS), 2700, 32, 512, 32, 0),
	G2("kv_store",
	   VLLM("reshape_and_cache_flash_kernel", "__nv_bfloat16, __nv_bfloat16, " FP8_NONE,
		KV_ARGS("__nv_bfloat16")),
	   VLLM("reshape_and_cache_flash_kernel", "__hip_bfloat16, __hip_bfloat16, " FP8_NONE,
		KV_ARGS("__hip_bfloat16")),
	   2300, 32, 1, 512, 24, 0),
	G2("paged",
	   VLLM("paged_attention_v2_kernel",
		"__nv_bfloat16, 128, 16, 128, " FP8_NONE ", false, 512",
		"float*, float*, __nv_bfloat16*, __nv_bfloat16 const*, int, float"),
	   "paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, 1, 128, 256, false, 4>",
	   34800, 512, 1, 128, 128, 2112),
	G2("paged_reduce",
	   VLLM("paged_attention_v2_reduce_kernel", "__nv_bfloat16, 128, 128, 512",
		"__nv_bfloat16*, float const*, float const*, int const*, int"),
	   "paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128, 128, 256, 1>", 4100, 32, 16,
	   128, 40, 4096),
	G("act_mul",
	  VLLM("act_and_mul_kernel",
	       BF ", &(" BF " vllm::silu_kernel<" BF ">(" BF " const&)), true",
	       PTR ", " CPTR ", int"),
	  3100, 32, 1024, 28, 0),
	GRAPH_GEMM("shared_up", "nvjet_tst_64x16_64x13_1x1_h_bz_TNT",
		   CIJK("Alik_Bljk", "16x16x256", "_VWA1"), ST_SIDE, 9700, 44, 0),
	/* A copy made by a kernel, known by its name only, and a fill alike. */
	G2("copy_kernel", "void at::native::copy_device_to_device_kernel(char*, char const*, long)",
	   "__amd_rocclr_copyBuffer", 3600, 64, 1, 256, 16, 0),
	G2("fill_kernel", VEC("4", F_FILL, "1"), "__amd_rocclr_fillBufferAligned", 2900, 64, 1, 256,
	   16, 0),

	TRITON("t_rms", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", 68, 4096, 512, 4096),
	TRITON("t_rope", "triton_poi_fused_add_cat_cos_mul_neg_sin_slice_1", 62, 8192, 128, 0),
	TRITON("t_res", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2", 71, 4096, 512, 4096),
	TRITON("t_act", "triton_poi_fused_mul_silu_3", 78, 16384, 256, 0),
	TRITON("t_loss", "triton_per_fused__log_softmax_nll_loss_forward_4", 70, 4096, 1024, 8192),
	TRITON("t_act_bwd", "triton_poi_fused_add_mul_sigmoid_silu_sub_5", 66, 16384, 256, 0),
	TRITON("t_rms_bwd", "triton_red_fused__to_copy_add_div_mul_pow_sum_6", 58, 4096, 512, 8192),
	TRITON("t_rope_bwd", "triton_poi_fused_add_mul_neg_slice_backward_7", 44, 8192, 128, 0),

	COMM("allreduce", NCCL("AllReduce_Sum_bf16_RING_LL"), API_COMM),
	COMM("broadcast", NCCL("Broadcast_RING_LL"), API_COMM),
	COMM("allgather", NCCL("AllGather_RING_LL"), API_COMM),
	COMM("sendrecv", NCCL("SendRecv"), API_COMM),
	{ "custom_ar",
	  CUSTOM_AR("__nv_bfloat16"),
	  CUSTOM_AR("__hip_bfloat16"),
	  CAT_KERNEL,
	  CLS_COMM,
	  API_LAUNCH,
	  ST_MAIN,
	  0,
	  0,
	  { 36, 1, 1 },
	  512,
	  40,
	  0,
	  0 },
};

const size_t n_kern_defs = ARRAY_LEN(kern_defs);

const struct api_def api_defs[N_APIS] = {
	[API_LAUNCH] = { "cudaLaunchKernel", 211, false, "hipLaunchKernel", 107, 4600 },
	[API_EX] = { "cudaLaunchKernelExC", 430, false, "hipExtModuleLaunchKernel", 65, 5200 },
	[API_DRIVER] = { "cuLaunchKernel", 307, true, "hipModuleLaunchKernel", 169, 5900 },
	[API_COMM] = { "cudaLaunchKernelExC", 430, false, "hipExtLaunchKernel", 62, 7800 },
	[API_MEMCPY] = { "cudaMemcpyAsync", 41, false, "hipMemcpyWithStream", 153, 6700 },
	[API_MEMSET] = { "cudaMemsetAsync", 51, false, "hipMemsetAsync", 159, 4300 },
	[API_GRAPH] = { "cudaGraphLaunch", 311, false, "hipGraphLaunch", 215, 9000 },
	[API_EVENT_RECORD] = { "cudaEventRecord", 135, false, "hipEventRecord", 58, 1500 },
	[API_STREAM_WAIT] = { "cudaStreamWaitEvent", 147, false, "hipStreamWaitEvent", 200, 1700 },
	[API_IS_CAPTURING] = { "cudaStreamIsCapturing", 317, false, "hipStreamIsCapturing", 290,
			       700 },
	[API_FUNC_ATTR] = { "cudaFuncSetAttribute", 273, false, "hipFuncSetAttribute", 82, 900 },
	[API_DEVICE_ATTR] = { "cudaDeviceGetAttribute", 200, false, "hipGetDevicePropertiesR0600",
			      370, 500 },
	[API_STREAM_SYNC] = { "cudaStreamSynchronize", 131, false, "hipStreamSynchronize", 199,
			      1900 },
	[API_DEVICE_SYNC] = { "cudaDeviceSynchronize", 165, false, "hipDeviceSynchronize", 48,
			      2600 },
	[API_BEGIN_CAPTURE] = { "cudaStreamBeginCapture", 316, false, "hipStreamBeginCapture", 188,
				3100 },
	[API_END_CAPTURE] = { "cudaStreamEndCapture", 318, false, "hipStreamEndCapture", 190,
			      9400 },
};

/* Elements in dimension letters; see the plans. W is the number of ranks. */
const struct coll_def coll_defs[] = {
	{ "ddp_layer", "allreduce", "allreduce", "nccl:all_reduce", "12HH", "12HH", "0",
	  "default_pg", false, false, 110 },
	{ "ddp_embed", "allreduce", "allreduce", "nccl:all_reduce", "VH", "VH", "0", "default_pg",
	  false, false, 130 },
	{ "ddp_buffers", "broadcast", "broadcast", "nccl:broadcast", "64H", "64H", "0",
	  "default_pg", true, false, 40 },
	{ "tp_attn", "allreduce", "allreduce", "nccl:all_reduce", "BSH", "BSH", "1",
	  "tensor_parallel", true, false, 60 },
	{ "tp_head", "allgather", "_allgather_base", "nccl:_all_gather_base", "BV", "WBV", "1",
	  "tensor_parallel", true, false, 60 },
	{ "pp_send", "sendrecv", "send", "nccl:send", "BSH", "BSH", "0", "default_pg", true, false,
	  40 },
	{ "pp_recv", "sendrecv", "recv", "nccl:recv", "BSH", "BSH", "0", "default_pg", true, false,
	  40 },
	{ "tp_graph", "custom_ar", "allreduce", NULL, "BSH", "BSH", "1", "tensor_parallel", true,
	  true, 30 },
};

const size_t n_coll_defs = ARRAY_LEN(coll_defs);

/* clang-format on */
