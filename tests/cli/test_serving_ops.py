"""Operations of inference servers and of newer PyTorch: each is of its category and has its work.

FLOPs and bytes stand beside each call as sums that were worked out by hand from the definition of
the operation. Run alone it prints how much of the operations' kernel time has bytes.
"""
import collections
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, document, kernel, launch, op

BF16, FP16, FP32, FP8, INT8, BYTE, INT32, INT64 = (
    "c10::BFloat16", "c10::Half", "float", "c10::Float8_e4m3fn", "signed char", "unsigned char", "int", "long int")


def t(kind, *shape):
    return list(shape), kind, ""


def n(value):
    """A number, a truth value or a text that was passed."""
    return [], "Scalar", str(value)


def lists(value):
    return [], "ScalarList", str(value)


NONE = ([], "", "")
TENSORS = ([], "TensorList", "")

Call = collections.namedtuple("Call", "name category flops bytes operands")
UNKNOWN = None
calls = []


def call(name, category, flops, data, *operands):
    calls.append(Call(name, category, flops, data, operands))


# ---- norms: a row takes 2 C + 2, an element 2, a residual 1, quantizing 2

M, C = 4096, 4096
NORM = M * (2 * C + 2) + 2 * M * C
x = t(BF16, M, C)
w = t(BF16, C)
eps = n(1e-6)
call("_C::rms_norm", "RMSNorm", NORM, 2 * M * C * 2 + C * 2, x, x, w, eps)
call("_C::rms_norm.default", "RMSNorm", NORM, 2 * M * C * 2 + C * 2, x, x, w, eps)
call("_C::fused_add_rms_norm", "RMSNorm", NORM + M * C, 4 * M * C * 2 + C * 2, x, x, w, eps)
call("_C::rms_norm_static_fp8_quant", "RMSNorm", NORM + 2 * M * C, 3 * M * C + C * 2 + 4,
     t(FP8, M, C), x, w, t(FP32, 1), eps)
call("_C::fused_add_rms_norm_static_fp8_quant", "RMSNorm", NORM + 3 * M * C, 7 * M * C + C * 2 + 4,
     t(FP8, M, C), x, x, w, t(FP32, 1), eps)
call("_C::rms_norm_dynamic_per_token_quant", "RMSNorm", NORM + 2 * M * C, 3 * M * C + C * 2 + 4 * M,
     t(FP8, M, C), x, w, t(FP32, M, 1), eps, NONE, NONE)
call("_C::rms_norm_dynamic_per_token_quant", "RMSNorm", NORM + 3 * M * C, 7 * M * C + C * 2 + 4 * M,
     t(FP8, M, C), x, w, t(FP32, M, 1), eps, NONE, x)
call("sgl_kernel::rmsnorm", "RMSNorm", NORM, 2 * M * C * 2 + C * 2, x, x, w, eps, n("False"))
call("sgl_kernel::gemma_fused_add_rmsnorm", "RMSNorm", NORM + M * C, 4 * M * C * 2 + C * 2, x, x, w, eps, n("True"))
call("flashinfer::rmsnorm", "RMSNorm", NORM, 2 * M * C * 2 + C * 2, x, x, w, eps, NONE)
call("trtllm::flashinfer_rmsnorm", "RMSNorm", NORM, 2 * M * C * 2 + C * 2, x, w, eps)

# ---- rotary embedding: 3 an element that is turned, read and written

q, k = t(BF16, M, 4096), t(BF16, M, 1024)
call("_C::rotary_embedding", "RoPE_fwd", 3 * M * 5120, 2 * M * 5120 * 2,
     t(INT64, M), q, k, n(128), t(BF16, 8192, 128), n("True"))
# of heads of 128 the first 64 only
call("_C::rotary_embedding", "RoPE_fwd", 3 * M * 2560, 2 * M * 2560 * 2,
     t(INT64, M), q, k, n(128), t(BF16, 8192, 64), n("True"))
call("vllm::flashinfer_rotary_embedding", "RoPE_fwd", 3 * M * 5120, 2 * M * 5120 * 2,
     t(INT64, M), q, k, n(128), t(FP32, 8192, 128), n("True"))
call("sgl_kernel::apply_rope_pos_ids_cos_sin_cache", "RoPE_fwd", 3 * M * 5120, 2 * M * 5120 * 2,
     t(BF16, M, 32, 128), t(BF16, M, 8, 128), t(BF16, M, 32, 128), t(BF16, M, 8, 128), t(FP32, 8192, 128), t(INT64, M),
     n("False"), n(0))
call("_C::fused_qk_norm_rope", "RoPE_fwd", M * 40 * (4 * 128 + 2 + 3 * 128), 2 * M * 40 * 128 * 2 + 2 * 128 * 2,
     t(BF16, M, 6144), n(32), n(8), n(8), n(128), eps, t(BF16, 128), t(BF16, 128), t(BF16, 8192, 128), n("True"),
     t(INT64, M))

# ---- gated activations of 14336

F = 14336
gate, act = t(BF16, M, 2 * F), t(BF16, M, F)
for name, each in (("_C::silu_and_mul", 5), ("_C::mul_and_silu", 5), ("_C::gelu_and_mul", 8), ("_C::gelu_tanh_and_mul", 10),
                   ("_C::swigluoai_and_mul", 10), ("_C::fatrelu_and_mul", 2), ("sgl_kernel::gelu_and_mul", 8),
                   ("flashinfer::silu_and_mul", 5)):
    call(name, "elementwise", each * M * F, 3 * M * F * 2, act, gate,
         *([n(0.5)] if "fatrelu" in name else [n(1.702), n(7.0)] if "swiglu" in name else []))
call("trtllm::flashinfer_silu_and_mul", "elementwise", 5 * M * F, 3 * M * F * 2, gate)
call("_C::gelu_quick", "elementwise", M * F, 2 * M * F * 2, act, act)

# ---- quantization: 83/32 an element, 1 where the scale is given

DYNAMIC = 83 * M * C // 32
f8 = t(FP8, M, C)
call("_C::static_scaled_fp8_quant", "GroupQuant", M * C, 3 * M * C + 4, f8, x, t(FP32, 1))
call("_C::dynamic_scaled_fp8_quant", "GroupQuant", DYNAMIC, 3 * M * C + 4, f8, x, t(FP32, 1))
call("_C::dynamic_per_token_scaled_fp8_quant", "GroupQuant", DYNAMIC, 3 * M * C + 4 * M, f8, x, t(FP32, M, 1), NONE)
call("_C::dynamic_scaled_int8_quant", "GroupQuant", DYNAMIC, 3 * M * C + 4 * M, t(INT8, M, C), x, t(FP32, M, 1), NONE)
call("_C::per_token_group_fp8_quant", "GroupQuant", DYNAMIC, 3 * M * C + 4 * M * 32, x, f8, t(FP32, M, 32), n(128),
     n(1e-10), n(-448.0), n(448.0), n("False"))
call("sgl_kernel::sgl_per_token_quant_fp8", "GroupQuant", DYNAMIC, 3 * M * C + 4 * M, x, f8, t(FP32, M, 1))
call("_C::scaled_fp4_quant", "GroupQuant", DYNAMIC, M * C * 2 + M * C // 2 + M * C // 16,
     t(BYTE, M, C // 2), x, t(BYTE, M, C // 16), t(FP32, 1), n("True"))
call("sgl_kernel::scaled_fp4_quant", "GroupQuant", DYNAMIC, M * C * 2 + M * C // 2 + M * C // 16,
     t(BYTE, M, C // 2), x, t(BYTE, M, C // 16), t(FP32, 1))
call("_C::silu_and_mul_quant", "GroupQuant", 5 * M * F + 83 * M * F // 32, M * F * 4 + M * F + 4, t(FP8, M, F), gate,
     t(FP32, 1))
call("trtllm::fp8_quantize_1x128", "GroupQuant", DYNAMIC, 3 * M * C, x)

# ---- products

N, K = 8192, 4096
PRODUCT = 2 * M * N * K
a8, b8, out = t(FP8, M, K), t(FP8, K, N), t(BF16, M, N)
scale = t(FP32, 1)
# a scale for each row of both, or for 128 elements of a row of A and 128 x 128 of B
ROWS = 4 * (M + N)
BLOCKS = 4 * (M * K // 128 + K // 128 * (N // 128))
call("_C::cutlass_scaled_mm", "GEMM", PRODUCT, M * K + K * N + 2 * M * N + 8, out, a8, b8, scale, scale, NONE)
call("_C::cutlass_scaled_mm", "GEMM", PRODUCT + M * N, M * K + K * N + 2 * M * N + 2 * N + 8, out, a8, b8, scale, scale,
     t(BF16, N))
call("_C::cutlass_scaled_mm_azp", "GEMM", PRODUCT, M * K + K * N + 2 * M * N + ROWS, out, t(INT8, M, K), t(INT8, K, N),
     t(FP32, M, 1), t(FP32, N, 1), t(INT32, N), NONE, NONE)
call("sgl_kernel::fp8_scaled_mm", "GEMM", PRODUCT, M * K + K * N + 2 * M * N + ROWS, a8, b8, t(FP32, M, 1), t(FP32, N, 1), n(15),
     NONE)
call("sgl_kernel::int8_scaled_mm", "GEMM", PRODUCT, M * K + K * N + 4 * M * N + ROWS, t(INT8, M, K), t(INT8, K, N),
     t(FP32, M, 1), t(FP32, N, 1), n(6), NONE)
call("sgl_kernel::fp8_blockwise_scaled_mm", "GEMM", PRODUCT, M * K + K * N + 2 * M * N + BLOCKS, a8, b8, t(FP32, M, K // 128),
     t(FP32, K // 128, N // 128), n(15))
call("vllm::w8a8_triton_block_scaled_mm_func", "GEMM", PRODUCT, M * K + K * N + 2 * M * N + BLOCKS, a8, t(FP8, N, K),
     t(FP32, M, K // 128), t(FP32, N // 128, K // 128), lists("[128, 128]"), n(15))
call("deep_gemm::fp8_gemm_nt", "GEMM", PRODUCT, M * K + K * N + 2 * M * N, a8, t(FP8, N, K))
call("trtllm::fp8_block_scaling_gemm", "GEMM", PRODUCT, M * K + K * N + 2 * M * N + BLOCKS, a8, t(FP8, N, K), t(FP32, 32, M),
     t(FP32, 64, 32))
call("sgl_kernel::bmm_fp8", "GEMM", 2 * 128 * 64 * 512 * 128, 128 * (64 * 128 + 128 * 512 + 64 * 512 * 2) + 8,
     t(FP8, 128, 64, 128), t(FP8, 128, 128, 512), t(BF16, 128, 64, 512), scale, scale, t(BYTE, 1 << 25), n(1), n(0))
FP4 = M * K // 2 + N * K // 2 + 2 * M * N + M * K // 16 + N * K // 16
call("_C::cutlass_scaled_fp4_mm", "GEMM", PRODUCT, FP4, out, t(BYTE, M, K // 2), t(BYTE, N, K // 2), t(FP8, M, K // 16),
     t(FP8, N, K // 16), scale)
call("trtllm::nvfp4_gemm", "GEMM", PRODUCT, FP4, t(BYTE, M, K // 2), t(BYTE, N, K // 2), t(BYTE, M * K // 16),
     t(BYTE, N * K // 16), scale, n(15), n("False"))
# weights of four bits, eight of them in 32: with their scales and zeros
S4, Z4 = 2 * 32 * N, 32 * N // 2
call("_C::awq_gemm", "GEMM", 2 * 16 * N * K, 2 * 16 * K + K * N // 2 + 2 * 16 * N + S4 + Z4,
     t(FP16, 16, K), t(INT32, K, N // 8), t(FP16, 32, N), t(INT32, 32, N // 8), n(8))
call("_C::gptq_gemm", "GEMM", 2 * 16 * N * K, 2 * 16 * K + K * N // 2 + 2 * 16 * N + S4 + Z4,
     t(FP16, 16, K), t(INT32, K // 8, N), t(INT32, 32, N // 8), t(FP16, 32, N), t(INT32, K), n("True"), n("False"), n(4))
call("_C::gptq_marlin_gemm", "GEMM", 2 * 16 * N * K, 2 * 16 * K + K * N // 2 + 2 * 16 * N + S4,
     t(FP16, 16, K), NONE, t(INT32, K // 16, N * 2), NONE, t(FP16, 32, N), NONE, NONE, NONE, NONE, t(INT32, 1056), n(1),
     n(16), n(N), n(K), n("True"), n("False"), n("True"), n("False"))
call("_C::machete_mm", "GEMM", 2 * 16 * N * K, 2 * 16 * K + K * N // 2 + 2 * 16 * N + S4,
     t(BF16, 16, K), t(INT32, K // 8, N), n(1), NONE, t(BF16, 32, N), NONE, n(128), NONE, NONE, NONE)
# PyTorch's own
call("aten::_scaled_mm_v2", "GEMM", PRODUCT, M * K + K * N + 2 * M * N, a8, b8, TENSORS, lists("[0]"), lists("[0]"), TENSORS,
     lists("[0]"), lists("[0]"), NONE, n(15), lists("[]"), n("True"))
call("aten::_int_mm", "GEMM", PRODUCT, M * K + K * N + 4 * M * N, t(INT8, M, K), t(INT8, K, N))
call("aten::_int_mm.out", "GEMM", PRODUCT, M * K + K * N + 4 * M * N, t(INT8, M, K), t(INT8, K, N), t(INT32, M, N))
call("aten::_weight_int4pack_mm", "GEMM", 2 * 16 * 4096 * 4096, 2 * 16 * 4096 + 4096 * 2048 + 2 * 16 * 4096 + 32 * 4096 * 4,
     t(BF16, 16, 4096), t(INT32, 512, 32, 32, 4), n(128), t(BF16, 32, 4096, 2))
call("aten::_weight_int8pack_mm", "GEMM", 2 * 16 * N * K, 2 * 16 * K + N * K + 2 * 16 * N + 2 * N, t(BF16, 16, K),
     t(INT8, N, K), t(BF16, N))
call("triton_tem_fused_addmm_relu_3", "GEMM", 2 * M * N * K, 2 * (N + M * K + K * N + M * N), t(BF16, N), t(BF16, M, K),
     t(BF16, K, N), t(BF16, M, N))
call("triton_tem_fused_bmm_7", "GEMM", 2 * 16 * 512 * 512 * 64, 2 * 16 * (2 * 512 * 64 + 512 * 512), t(BF16, 16, 512, 64),
     t(BF16, 16, 64, 512), t(BF16, 16, 512, 512))

# ---- products in groups

T, G, GK, GN = 16384, 8, 2048, 1408
GROUPED = 2 * T * GK * GN
call("aten::_grouped_mm", "GroupedGEMM_fwd", GROUPED, 2 * (T * GK + G * GK * GN + T * GN),
     t(BF16, T, GK), t(BF16, G, GK, GN), t(INT32, G), NONE, NONE)
call("aten::_grouped_mm.default", "GroupedGEMM_fwd", GROUPED, 2 * (T * GK + T * GN + G * GK * GN),
     t(BF16, GK, T), t(BF16, T, GN), t(INT32, G), NONE, NONE)
call("aten::_scaled_grouped_mm", "GroupedGEMM_fwd", GROUPED, T * GK + G * GK * GN + 2 * T * GN,
     t(FP8, T, GK), t(FP8, G, GK, GN), t(FP32, T), t(FP32, G, GN), t(INT32, G), NONE, NONE, n(15), n("True"))
call("aten::_scaled_grouped_mm_v2", "GroupedGEMM_fwd", GROUPED, T * GK + G * GK * GN + 2 * T * GN,
     t(FP8, T, GK), t(FP8, G, GK, GN), TENSORS, lists("[1]"), lists("[0]"), TENSORS, lists("[1]"), lists("[0]"), t(INT32, G),
     NONE, n(15), lists("[]"), n("True"))
call("_C::cutlass_moe_mm", "GroupedGEMM_fwd", GROUPED, T * GK + G * GK * GN + 2 * T * GN,
     t(BF16, T, GN), t(FP8, T, GK), t(FP8, G, GK, GN), t(FP32, T, 1), t(FP32, G, GN, 1), t(INT32, G), t(INT32, G, 3),
     t(INT64, G), t(INT64, G), t(INT64, G), n("True"), n("True"))
call("_C::cutlass_fp4_group_mm", "GroupedGEMM_fwd", GROUPED,
     (T * GK + G * GK * GN) // 2 + 2 * T * GN + (T * GK + G * GK * GN) // 16,
     t(BF16, T, GN), t(BYTE, T, GK // 2), t(BYTE, G, GN, GK // 2), t(FP8, T, GK // 16), t(FP8, G, GN, GK // 16), t(FP32, G),
     t(INT32, G, 3), t(INT32, G), t(INT32, G))
call("sgl_kernel::fp8_blockwise_scaled_grouped_mm", "GroupedGEMM_fwd", GROUPED, T * GK + G * GK * GN + 2 * T * GN,
     t(BF16, T, GN), *[t(INT64, G)] * 5, t(FP8, T, GK), t(FP8, G, GK, GN), t(FP32, T, 16), t(FP32, G, 16, 11), t(INT64, G),
     t(INT64, G), t(INT64, G), t(INT32, G, 5), t(INT32, G, 5), t(INT32, G, 3), t(INT32, G), t(BYTE, 90000))
call("deep_gemm::m_grouped_fp8_gemm_nt_contiguous", "GroupedGEMM_fwd", GROUPED, T * GK + G * GK * GN + 2 * T * GN,
     t(FP8, T, GK), t(FP8, G, GN, GK), t(BF16, T, GN), t(INT32, T))
# four rows reach four of the eight matrices at most
call("deep_gemm::m_grouped_fp8_gemm_nt_contiguous", "GroupedGEMM_fwd", 2 * 4 * GK * GN, 4 * GK + 4 * GK * GN + 2 * 4 * GN,
     t(FP8, 4, GK), t(FP8, G, GN, GK), t(BF16, 4, GN), t(INT32, 4))
# 8 groups of up to 1024 rows, 96 of which are expected to be used
call("deep_gemm::m_grouped_fp8_gemm_nt_masked", "GroupedGEMM_fwd", 2 * G * 96 * GK * GN,
     G * 96 * GK + G * GK * GN + 2 * G * 96 * GN,
     t(FP8, G, 1024, GK), t(FP8, G, GN, GK), t(BF16, G, 1024, GN), t(INT32, G), n(96))

# ---- experts: 64 of 1408, of which a token has 6

E, I, TOPK = 64, 1408, 6
EXPERTS = 3 * 2 * M * TOPK * K * I + M * K * (2 * TOPK - 1)
W1, W2 = E * 2 * I * K, E * K * I
for name in ("vllm::outplace_fused_experts", "vllm::inplace_fused_experts", "sglang::outplace_fused_experts"):
    call(name, "MoE_fused", EXPERTS, 2 * (2 * M * K + W1 + W2), t(BF16, M, K), t(BF16, E, 2 * I, K), t(BF16, E, K, I),
         t(FP32, M, TOPK), t(INT32, M, TOPK), n("silu"), n("False"))
call("vllm::fused_marlin_moe", "MoE_fused", EXPERTS, 2 * 2 * M * K + (W1 + W2) // 2,
     t(BF16, M, K), t(INT32, E, K // 16, 2 * I * 2), t(INT32, E, I // 16, K * 2), t(BF16, E, 32, 2 * I), t(BF16, E, 11, K),
     t(FP32, M, E), t(FP32, M, TOPK), t(INT32, M, TOPK))
call("trtllm::fused_moe", "MoE_fused", EXPERTS, 2 * (2 * M * K + W1 + W2), t(BF16, M, K), t(INT32, M, TOPK),
     t(FP32, M, TOPK), t(BF16, E, 2 * I, K), NONE, t(BF16, E, K, I), NONE, n(15))
call("trtllm::fp8_block_scale_moe_runner", "MoE_fused", EXPERTS, M * K + 2 * M * K + W1 + W2,
     t(FP32, M, E), t(BF16, E), t(FP8, M, K), t(FP32, 32, M), t(FP8, E, 2 * I, K), t(FP32, E, 22, 32), t(FP8, E, K, I),
     t(FP32, E, 32, 11), n(E), n(TOPK))
# one of both products: 4096 rows by the up weights of 6 experts each
call("_moe_C::moe_wna16_marlin_gemm", "MoE_unfused", 2 * M * TOPK * K * 2 * I, 2 * M * K + W1 // 2 + 2 * M * TOPK * 2 * I,
     t(BF16, M, K), t(BF16, M * TOPK, 2 * I), t(INT32, E, K // 16, 2 * I * 2), t(BF16, E, 32, 2 * I), NONE, NONE, NONE,
     t(INT32, 528), t(INT32, 28672), t(INT32, 448), t(INT32, 1), t(FP32, M, TOPK), n(64), n(TOPK), n("False"), n("False"),
     n(1), n(M), n(2 * I), n(K), n("True"), n("False"), n("True"), n("False"))
# the weights are not among the arguments: tokens, logits and the result
call("vllm::moe_forward", "MoE_fused", UNKNOWN, 2 * (2 * M * K + M * E), t(BF16, M, K), t(BF16, M, E), n("layers.0"))
call("_moe_C::topk_softmax", "MoE_aux", M * E, 4 * (3 * M * TOPK + M * E), t(FP32, M, TOPK), t(INT32, M, TOPK),
     t(INT32, M, TOPK), t(FP32, M, E))
call("sgl_kernel::topk_softmax", "MoE_aux", M * E, 4 * (2 * M * TOPK + M * E), t(FP32, M, TOPK), t(INT32, M, TOPK),
     t(FP32, M, E), n("True"))
call("_moe_C::moe_align_block_size", "MoE_aux", 28672, 4 * (M * TOPK + 28672 + 448 + 1), t(INT32, M, TOPK), n(E), n(64),
     t(INT32, 28672), t(INT32, 448), t(INT32, 1))
call("_moe_C::moe_sum", "MoE_aux", M * TOPK * K, 2 * (M * TOPK * K + M * K), t(BF16, M, TOPK, K), t(BF16, M, K))

# ---- attention

HEADS, KV, D = 32, 8, 128
NEW = 2 * M * (2 * HEADS + 2 * KV) * D  # queries, result, keys and values that are new
qh, kh = t(BF16, M, HEADS, D), t(BF16, M, KV, D)
call("vllm::unified_attention", "InferenceAttention", UNKNOWN, NEW, qh, kh, kh, n("layers.0"))
call("vllm::unified_attention_with_output", "InferenceAttention", UNKNOWN, NEW, qh, kh, kh, qh, n("layers.0"), NONE, NONE)
# by pages, of which nobody knows how many are in use: queries and result
PAGES = t(BF16, 9000, 16, KV, D)
call("sgl_kernel::fwd", "InferenceAttention", UNKNOWN, 2 * 2 * M * HEADS * D, qh, PAGES, PAGES, NONE, NONE, NONE, NONE,
     t(INT32, 9), NONE, NONE, NONE, t(INT32, 8), n(512), NONE, t(INT32, 8, 64), *[NONE] * 8, n(0.08), n("True"), n(-1), n(-1),
     n(0.0), n("True"), NONE, n(0), NONE, n(0))
# eight sequences of 512 each, without a cache: half of the pairs
call("_vllm_fa3_C::fwd", "InferenceAttention", 2 * HEADS * 8 * 512 * 512 // 2 * 2 * D, NEW, qh, kh, kh, NONE, NONE, NONE, NONE,
     t(INT32, 9), t(INT32, 9), NONE, NONE, NONE, n(512), n(512), NONE, *[NONE] * 8, n(0.08), n("True"), n(-1), n(-1), n(0.0),
     n("True"), NONE, n(0), NONE, n(0))
# only queries, keys and values are recorded
call("sgl_kernel::fwd", "InferenceAttention", UNKNOWN, NEW, qh, kh, kh)
call("_C::paged_attention_v1", "InferenceAttention", UNKNOWN, 2 * 2 * 64 * HEADS * D, t(BF16, 64, HEADS, D),
     t(BF16, 64, HEADS, D), t(BF16, 9000, KV, 16, 16, 8), t(BF16, 9000, KV, D, 16), n(KV), n(0.08), t(INT32, 64, 128),
     t(INT32, 64), n(16), n(2048), NONE, n("auto"), t(FP32, 1), t(FP32, 1), n(0), n(0), n(0), n(64), n(0))
call("sgl_kernel::cutlass_mla_decode", "InferenceAttention", UNKNOWN, 2 * 64 * 128 * (512 + 512 + 64),
     t(BF16, 64, 128, 512), t(BF16, 64, 128, 512), t(BF16, 64, 128, 64), t(BF16, 9000, 64, 576), t(INT32, 64),
     t(INT32, 64, 64), t(BYTE, 1 << 20), n(0.1), n(1))
call("_C::merge_attn_states", "InferenceAttention", M * HEADS * D, 2 * 3 * M * HEADS * D + 4 * 2 * M * HEADS, qh, NONE, qh,
     t(FP32, HEADS, M), qh, t(FP32, HEADS, M))
call("_C_cache_ops::reshape_and_cache_flash", "InferenceAttention", 0, 2 * M * KV * D * (2 + 1), kh, kh,
     t(FP8, 9000, 16, KV, D), t(FP8, 9000, 16, KV, D), t(INT64, M), n("fp8"), t(FP32, 1), t(FP32, 1))
call("_C_cache_ops::concat_and_cache_mla", "InferenceAttention", 0, 2 * 2 * M * 576, t(BF16, M, 512), t(BF16, M, 64),
     t(BF16, 9000, 64, 576), t(INT64, M), n("auto"), t(FP32, 1))
# PyTorch's own, of two batches of 16 heads and 2048 tokens of 64; causal: half of the pairs
B, H, L, DH = 2, 16, 2048, 64
PAIRS = 2 * B * H * L * L * 2 * DH
FOUR = 4 * B * H * L * DH * 2
bh = t(BF16, B, H, L, DH)
call("aten::_scaled_dot_product_fused_attention_overrideable", "SDPA_fwd", PAIRS // 2, FOUR, bh, bh, bh, NONE, n(0.0),
     n("True"), n("False"), NONE)
call("aten::_scaled_dot_product_fused_attention_overrideable_backward", "SDPA_bwd", 2 * PAIRS, FOUR // 4 * 7, bh, bh, bh, bh,
     NONE, lists("[True, True, True, False]"), bh, t(FP32, B, H, L), NONE, NONE, n(L), n(L), n(0.0), n("False"), NONE, NONE,
     NONE)
call("flash_attn_3::_flash_attn_forward", "SDPA_fwd", PAIRS, FOUR, *[t(BF16, B, L, H, DH)] * 3)
call("triton_tem_fused_flex_attention_0", "SDPA_fwd", PAIRS, FOUR, bh, bh, bh)
call("triton_tem_fused_flex_attention_backward_clone_2", "SDPA_bwd", PAIRS // 2 * 5, FOUR // 4 * 7, bh, bh, bh)

# ---- state space models

call("_C::selective_scan_fwd", "SSM_fwd", 4096 * 8192 * (9 * 16 + 1),
     2 * 3 * 4096 * 8192 + 4 * 8192 * 16 + 2 * 2 * 16 * 4096 + 4 * 8192 + 2 * 4 * 8192 * 16,
     t(BF16, 8192, 4096), t(BF16, 8192, 4096), t(FP32, 8192, 16), t(BF16, 1, 16, 4096), t(BF16, 1, 16, 4096), t(FP32, 8192),
     NONE, NONE, n("True"), t(INT32, 5), NONE, NONE, t(BF16, 100, 8192, 16), n(-1))
call("mamba_ssm::selective_scan_fwd", "SSM_fwd", UNKNOWN, 2 * 2 * 8 * 4096 * 1024, t(BF16, 8, 4096, 1024))
call("sgl_kernel::causal_conv1d_fwd", "SSM_fwd", 2 * 8 * 4096 * 1024 * 4, 2 * 2 * 8 * 4096 * 1024 + 2 * 4096 * 5,
     t(BF16, 8, 4096, 1024), t(BF16, 4096, 4), t(BF16, 4096), NONE, NONE, NONE, NONE, n("True"), n(-1))
call("vllm::mamba_mixer2", "SSM_fwd", UNKNOWN, 2 * 2 * M * C, x, x, n("layers.0"))

# ---- sampling

V = 128256
call("sgl_kernel::top_k_top_p_sampling_from_probs", "elementwise", 64 * V, 4 * (64 * V + 3 * 64), t(FP32, 64, V),
     t(INT32, 64), NONE, t(INT32, 64), n(0.0), t(FP32, 64), n(1.0), n("True"), NONE)
call("_C::apply_repetition_penalties_", "elementwise", 64 * V, 2 * 4 * 64 * V + 2 * 64 * V + 4 * 64, t(FP32, 64, V),
     t("bool", 64, V), t("bool", 64, V), t(FP32, 64))


def trace():
    """A launch and a kernel of 100 µs for each call; no two rows are alike."""
    events, at = [], 1000
    for number, one in enumerate(calls, 1):
        dims, types, values = zip(*one.operands)
        events += [op(one.name, at, 20, **{"External id": number, "Input Dims": dims, "Input type": types,
                                           "Concrete Inputs": values}),
                   launch(at + 5, 5, number, **{"External id": number}),
                   kernel(f"kernel_{number}", at + 30, 100, number)]
        at += 200
    return document(events)


def figure(row, column, unit):
    return None if row[column] == "" else round(float(row[column]) * unit)


class Serving(Case):
    def rows(self, rep):
        self.assertExit(rep, 0)
        return rep.table("unified_perf_summary")

    def test_every_operation(self):
        rows = {int(r["ex_UID"]): r for r in self.rows(self.report(trace()))}
        for number, one in enumerate(calls):
            with self.subTest(one.name, call=number):
                # Three events for each call, after one of metadata or none.
                row = rows[3 * number]
                self.assertEqual(row["name"], one.name)
                self.assertEqual(row["op category"], one.category)
                self.assertEqual(row["has_perf_model"], "True")
                self.assertEqual(figure(row, "GFLOPS", 1e9), one.flops)
                self.assertEqual(figure(row, "Data Moved (MB)", 1 << 20), one.bytes)

    def test_coverage(self):
        rows = self.rows(self.report(trace()))
        whole = sum(float(r["Kernel Time (µs)_sum"]) for r in rows)
        known = sum(float(r["Kernel Time (µs)_sum"]) for r in rows if r["Data Moved (MB)"])
        print(f"serving operations: {len(rows)} rows, bytes for {100 * known / whole:.1f} % of {whole:.0f} µs of kernel time")
        self.assertGreaterEqual(known, 0.99 * whole)

    def test_lower_bounds_have_no_rates(self):
        """What moves besides is not known: no bandwidth, no share of the roofline, and it is said."""
        rep = self.report(trace(), "--platform", "H100 SXM")
        found = [r for r in self.rows(rep) if r["name"] in ("vllm::moe_forward", "vllm::unified_attention", "vllm::mamba_mixer2")]
        self.assertEqual(len(found), 3)
        for row in found:
            self.assertTrue(row["Data Moved (MB)"])
            self.assertEqual((row["TB/s_mean"], row["Pct Roofline_mean"], row["Roofline Bound"]), ("", "", ""))

    def test_parts_before_a_lower_bound(self):
        """A layer of which little is known gives way to the operations that it is made of."""
        x, w1, w2 = t(BF16, 64, 256), t(BF16, 8, 128, 256), t(BF16, 8, 256, 64)
        def made(name, at, dur, ident, operands):
            dims, types, values = zip(*operands)
            return op(name, at, dur, **{"External id": ident, "Input Dims": dims, "Input type": types,
                                        "Concrete Inputs": values})
        events = [made("vllm::moe_forward", 100, 90, 1, [x, t(BF16, 64, 8), n("layers.0")]),
                  made("vllm::inplace_fused_experts", 110, 70, 2, [x, w1, w2, t(FP32, 64, 2), t(INT32, 64, 2)]),
                  launch(120, 5, 1, **{"External id": 2}), kernel("fused_moe_kernel", 130, 40, 1)]
        rows = self.rows(self.report(document(events)))
        self.assertEqual([r["name"] for r in rows], ["vllm::inplace_fused_experts"])
        # 64 tokens of 256, two of eight experts of 64 each: nearly all experts are reached
        self.assertEqual(figure(rows[0], "GFLOPS", 1e9), 3 * 2 * 64 * 2 * 256 * 64 + 64 * 256 * 3)


    def test_a_layer_that_launches_is_one_row(self):
        """Its own kernels are in no part: the lower bound is that of all."""
        def made(name, at, dur, ident, operands):
            dims, types, values = zip(*operands)
            return op(name, at, dur, **{"External id": ident, "Input Dims": dims, "Input type": types,
                                        "Concrete Inputs": values})
        events = [made("vllm::moe_forward", 100, 90, 1, [t(BF16, 64, 256), t(BF16, 64, 8), n("layers.0")]),
                  made("_moe_C::topk_softmax", 105, 10, 2, [t(FP32, 64, 2), t(INT32, 64, 2), t(INT32, 64, 2), t(FP32, 64, 8)]),
                  launch(107, 5, 1, **{"External id": 2}), kernel("topk", 130, 4, 1),
                  launch(120, 5, 2, **{"External id": 1}), kernel("fused_moe_kernel", 140, 40, 2)]
        rows = self.rows(self.report(document(events)))
        self.assertEqual([(r["name"], r["Kernel Time (µs)_sum"]) for r in rows], [("vllm::moe_forward", "44")])
        self.assertEqual(figure(rows[0], "Data Moved (MB)", 1 << 20), 2 * (2 * 64 * 256 + 64 * 8))


@unittest.skipUnless((SHARED / "cases/found").is_dir(), "without the given cases")
class Given(Case):
    """The given traces: what is named there has its category and its bytes."""
    CATEGORIES = {
        "kineto-06-overload-names": {"aten::mm.out": "GEMM", "aten::add.Tensor": "elementwise", "aten::mm": "GEMM",
                                     "aten::sum.dim_IntList": "reduce", "aten::convolution.default": "CONV_fwd"},
        "kineto-07-new-ops": {
            "aten::_grouped_mm": "GroupedGEMM_fwd", "aten::_scaled_grouped_mm": "GroupedGEMM_fwd",
            "aten::_scaled_mm_v2": "GEMM", "aten::_int_mm": "GEMM", "aten::_weight_int4pack_mm": "GEMM",
            "aten::_scaled_dot_product_fused_attention_overrideable": "SDPA_fwd", "_C::cutlass_scaled_mm": "GEMM",
            "triton_tem_fused_flex_attention_0": "SDPA_fwd", "flash_attn_3::_flash_attn_forward": "SDPA_fwd"},
        "kineto-47-serving-ops": {
            "_C::rms_norm": "RMSNorm", "_C::fused_add_rms_norm": "RMSNorm", "_C::rotary_embedding": "RoPE_fwd",
            "_C::static_scaled_fp8_quant": "GroupQuant", "_C::dynamic_scaled_fp8_quant": "GroupQuant",
            "vllm::moe_forward": "MoE_fused", "vllm::outplace_fused_experts": "MoE_fused",
            "vllm::unified_attention": "InferenceAttention", "sgl_kernel::fwd": "InferenceAttention",
            "sgl_kernel::fp8_scaled_mm": "GEMM", "deep_gemm::fp8_gemm_nt": "GEMM",
            "mamba_ssm::selective_scan_fwd": "SSM_fwd"},
    }
    # By hand, as above: the sizes are those of the trace.
    FIGURES = {
        "aten::mm": (2 << 30, 6 << 20), "aten::mm.out": (2 << 30, 6 << 20), "aten::add.Tensor": (1 << 20, 6 << 20),
        "aten::convolution.default": (2 * 8 * 56 * 56 * 64 * 64 * 9, 4 * (2 * 8 * 64 * 56 * 56 + 64 * 64 * 9)),
        "aten::_softmax.out": (5 << 20, 8 << 20), "aten::_flash_attention_forward": (None, 80 << 20),
        "aten::_grouped_mm": (GROUPED, 152 << 20), "aten::_scaled_grouped_mm": (GROUPED, 98 << 20),
        "aten::_scaled_mm_v2": (PRODUCT, 112 << 20), "_C::cutlass_scaled_mm": (PRODUCT, (112 << 20) + 8),
        "sgl_kernel::fp8_scaled_mm": (PRODUCT, 112 << 20), "deep_gemm::fp8_gemm_nt": (PRODUCT, 112 << 20),
        "triton_tem_fused_flex_attention_0": (PAIRS, 32 << 20), "flash_attn_3::_flash_attn_forward": (PAIRS, 32 << 20),
        "vllm::outplace_fused_experts": (EXPERTS, 2 * (2 * M * K + W1 + W2)), "aten::_weight_int4pack_mm": (2 * 16 * 4096 * 4096, 2 * 2 * 16 * 4096 + 4 * 512 * 128 * 32 * 4 + 2 * 32 * 4096 * 2),
        "_C::rms_norm": (NORM, 2 * M * C * 2 + C * 2),
    }

    def test_given(self):
        for name, categories in self.CATEGORIES.items():
            path = SHARED / "cases/found" / name / "trace.json"
            rep = self.report(path.read_bytes(), name=name + ".json")
            rows = {r["name"]: r for r in rep.table("unified_perf_summary")}
            for one, category in categories.items():
                with self.subTest(one):
                    self.assertEqual(rows[one]["op category"], category)
                    self.assertTrue(rows[one]["Data Moved (MB)"])
            for one in rows.keys() & self.FIGURES.keys():
                with self.subTest(one):
                    row = rows[one]
                    self.assertEqual((figure(row, "GFLOPS", 1e9), figure(row, "Data Moved (MB)", 1 << 20)), self.FIGURES[one])


if __name__ == "__main__":
    unittest.main()
