"""Kernels of operators: names as the libraries have them, and how long they take.

A kernel takes a start of 1.5 us and its FLOPs or bytes at a share of the peak that is drawn once
for each operator and shape of a run; `share` overrides it (a fault)."""
from .device import KERNEL_TYPE, SIZE
from .noise import choose, mix, uniform, word

START_US = 1.5


def share(rank, what, shape, low, high):
    return uniform(mix(mix(rank.job.seed, word(what)), word(str(shape))), low, high)


def gemm_us(rank, b, m, n, k, dtype, tf32=True, at=None):
    """(us, share of the peak): a GEMM at the roofline's share."""
    dev = rank.dev
    at = at or share(rank, "gemm", (m, n, k), *dev.math)
    math = 2e-6 * b * m * n * k / (dev.peak(dtype, tf32) * at)
    moved = b * SIZE[dtype] * (m * k + k * n + m * n) / (dev.bw * 1e3)
    return START_US + max(math, moved / share(rank, "gemm bytes", (m, n, k), *dev.mem))


def memory_us(rank, nbytes, what, at=None):
    return START_US + nbytes / (rank.dev.bw * 1e3 * (at or share(rank, what, nbytes, *rank.dev.mem)))


def tile(m, n):
    return (256 if m >= 2048 else 128 if m >= 256 else 64, 128 if n >= 1024 else 64)


def gemm_name(rank, m, n, k, dtype, tf32=True, align=8, trans="TN"):
    """Name, call, threads of a GEMM's kernel."""
    a, b = tile(m, n)
    dev, lower = rank.dev, trans.lower()
    if dev.amd:
        kind = {"c10::BFloat16": "BBS_BH", "c10::Half": "HHS_BH", "float": "SS_BS"}[dtype]
        rows = "Alik_Bljk" if trans == "TN" else "Ailk_Bljk" if trans == "NN" else "Ailk_Bjlk"
        name = f"Cijk_{rows}_{kind}_Bias_HA_S_SAV_UserArgs_MT{a}x{b}x64_MI16x16x1_SN_LDSB1_AFC1_GSUAMB_WSGRA0_WG32_8_1"
        return name, "hipExtModuleLaunchKernel", 256
    if dtype == "float" and not tf32:
        family = "ampere_sgemm" if dev.gemm != "sm100" else "cutlass_80_simt_sgemm"
        return f"{family}_{min(a, 128)}x{b}_{lower}", "cudaLaunchKernel", 256
    if align < 8:
        kind = {"c10::BFloat16": "bf16_s16816gemm_bf16", "c10::Half": "f16_s16816gemm_f16"}[dtype]
        name = f"cutlass_80_tensorop_{kind}_{b}x128_32x4_{lower}_align{align}"
        return f"void cutlass::Kernel2<{name}>({name}::Params)", "cudaLaunchKernel", 128
    if dev.gemm == "sm80":
        kind = "bf16_s16816gemm_bf16" if dtype == "c10::BFloat16" else "fp16_s16816gemm_fp16"
        if dtype == "float":
            name = f"sm80_xmma_gemm_f32f32_tf32f32_f32_{lower}_n_tilesize{a}x{b}x16_stage4_warpsize2x2x1_tensor16x8x8_kernel"
            return name, "cudaLaunchKernel", 256
        return f"ampere_{kind}_{a}x{b}_ldg8_f2f_stages_64x3_{lower}", "cudaLaunchKernel", 256
    if dtype == "float":
        return (f"sm90_xmma_gemm_f32f32_tf32f32_f32_{lower}_n_tilesize{a // 2}x{b}x32_warpgroupsize1x1x1"
                "_execute_segment_k_off_kernel__5x_cublas", "cudaLaunchKernelExC", 384)
    arch = "nvjet_sm100" if dev.gemm == "sm100" else "nvjet"
    kind = "tst" if dtype == "c10::BFloat16" else "hsh"
    return f"{arch}_{kind}_{a // 2 if m < 8192 else a}x{b}_64x5_1x2_h_bz_{trans}T", "cudaLaunchKernelExC", 384


def gemm(rank, b, m, n, k, dtype, tf32=True, at=None, align=8, trans="TN"):
    """Launches it."""
    name, api, threads = gemm_name(rank, m, n, k, dtype, tf32, align, trans)
    x, y = tile(m, n)
    rank.launch(name, gemm_us(rank, b, m, n, k, dtype, tf32, at), api=api, block=(threads, 1, 1),
                grid=(-(-m // x), -(-n // y), b), regs=168, shared=98304)


# Functors of at::native's elementwise kernels, by operator.
FUNCTORS = {"add": "CUDAFunctor_add", "sub": "CUDAFunctor_add", "mul": "BinaryFunctor",
            "div": "BinaryFunctor", "silu": "silu_kernel", "sigmoid": "sigmoid_kernel_cuda",
            "gelu": "GeluCUDAKernelImpl", "tanh": "tanh_kernel_cuda", "pow": "pow_tensor_scalar",
            "rsqrt": "rsqrt_kernel_cuda", "neg": "neg_kernel_cuda", "copy": "direct_copy_kernel_cuda",
            "masked_fill": "masked_fill_kernel", "exp": "exp_kernel_cuda", "fill": "FillFunctor",
            "where": "where_kernel_impl", "sqrt": "sqrt_kernel_cuda", "addcdiv": "addcdiv_cuda_kernel",
            "addcmul": "addcmul_cuda_kernel", "lerp": "lerp_scalar_kernel", "clamp": "clamp_scalar",
            "relu": "launch_clamp_scalar", "softplus": "softplus_kernel", "eq": "CompareEqFunctor",
            "square": "pow_tensor_scalar", "abs": "abs_kernel_cuda", "log": "log_kernel_cuda",
            "tanh_backward": "tanh_backward_kernel_cuda", "silu_backward": "silu_backward_kernel",
            "sigmoid_backward": "sigmoid_backward_kernel_cuda", "erf": "erf_kernel_cuda"}
SCALARS = {"c10::BFloat16": "c10::BFloat16", "c10::Half": "c10::Half", "float": "float",
           "long int": "long", "bool": "bool", "int": "int"}


def elementwise_name(rank, what, dtype, operands, strided=False):
    functor = f"at::native::{FUNCTORS.get(what, what + '_kernel_cuda')}<{SCALARS.get(dtype, 'float')}>"
    if strided:
        return (f"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{functor} >"
                f"(at::TensorIteratorBase&, {functor} const&)::{{lambda(int)#1}}>(int, {functor})")
    width = 8 if rank.dev.amd or rank.dev.gemm == "sm100" else 4
    array = f"std::array<char*, {operands}ul>"
    return f"void at::native::vectorized_elementwise_kernel<{width}, {functor}, {array} >(int, {functor}, {array})"


def elementwise(rank, what, dtype, operands, nbytes, at=None, strided=False):
    n = max(1, nbytes // (operands * SIZE[dtype]))
    rank.launch(elementwise_name(rank, what, dtype, operands, strided), memory_us(rank, nbytes, what, at),
                grid=(-(-n // 512), 1, 1), block=(128 if not rank.dev.amd else 256, 1, 1), regs=26)


def triton(rank, name, us, blocks, warps=4):
    rank.launch(name, us, api="hipModuleLaunchKernel" if rank.dev.amd else
                choose(rank.job.seed, ["cuLaunchKernel", "cuLaunchKernelEx"]),
                grid=(blocks, 1, 1), block=(warps * (64 if rank.dev.amd else 32), 1, 1), regs=40)


def kernel_type(dtype):
    return KERNEL_TYPE[dtype]
