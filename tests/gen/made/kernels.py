"""Kernels of operators: their names (kernel_names.tsv), and how long they take.

A kernel takes a start of 1.5 us and its FLOPs or bytes at a share of the peak that is drawn once
for each operator and shape of a run; `at` overrides it (a fault)."""
import pathlib
import string

from .device import SIZE
from .noise import choose, mix, uniform, word

START_US = 1.5
NAMES = {}
for _line in pathlib.Path(__file__).with_name("kernel_names.tsv").read_text().splitlines():
    if not _line.startswith("#"):
        _key, _name = _line.split("\t")
        NAMES[_key] = string.Template(_name)


def named(key, dtype="float", **words):
    """The name of a kernel; `t` is the type of its operands."""
    return NAMES[key].substitute(t="float" if dtype not in SIZE or "c10" not in dtype else dtype,
                                 **words)


def share(rank, what, shape, low, high):
    return uniform(mix(mix(rank.job.seed, word(what)), word(str(shape))), low, high)


def memory_us(rank, nbytes, what, at=None):
    at = at or share(rank, what, nbytes, *rank.dev.mem)
    return START_US + nbytes / (rank.dev.bw * 1e3 * at)


# ---- GEMMs --------------------------------------------------------------------------------------

def gemm_us(rank, b, m, n, k, dtype, tf32=True, at=None):
    """A GEMM at its share of the roofline."""
    dev = rank.dev
    math = 2e-6 * b * m * n * k / dev.peak(dtype, tf32)
    moved = b * SIZE[dtype] * (m * k + k * n + m * n) / (dev.bw * 1e3)
    if at:
        return START_US + max(math, moved) / at
    return START_US + max(math / share(rank, "gemm", (m, n, k), *dev.math),
                          moved / share(rank, "gemm bytes", (m, n, k), *dev.mem))


def tile(m, n):
    return (256 if m >= 2048 else 128 if m >= 256 else 64, 128 if n >= 1024 else 64)


def gemm_name(rank, m, n, dtype, tf32=True, align=8, trans="TN"):
    """Name, call, threads of a GEMM's kernel."""
    a, b = tile(m, n)
    dev, lower, half = rank.dev, trans.lower(), dtype == "c10::Half"
    if dev.amd:
        kind = "SS_BS" if dtype == "float" else "HHS_BH" if half else "BBS_BH"
        rows = {"TN": "Alik_Bljk", "NN": "Ailk_Bljk", "NT": "Ailk_Bjlk"}[trans]
        return named("gemm_amd", rows=rows, kind=kind, a=a, b=b), "hipExtModuleLaunchKernel", 256
    if dtype == "float" and not tf32:
        family = "cutlass_80_simt_sgemm" if dev.gemm == "sm100" else "ampere_sgemm"
        name = named("gemm_fp32", family=family, a=min(a, 128), b=b, trans=lower)
        return name, "cudaLaunchKernel", 256
    if align < 8:
        kind = "f16_s16816gemm_f16" if half else "bf16_s16816gemm_bf16"
        name = named("gemm_unaligned", kind=kind, b=b, trans=lower, align=align)
        return name, "cudaLaunchKernel", 128
    if dev.gemm == "sm80":
        kind = "fp16_s16816gemm_fp16" if half else "bf16_s16816gemm_bf16"
        key = "gemm_sm80_tf32" if dtype == "float" else "gemm_sm80"
        return named(key, kind=kind, a=a, b=b, trans=lower), "cudaLaunchKernel", 256
    if dtype == "float":
        return named("gemm_sm90_tf32", a=a // 2, b=b, trans=lower), "cudaLaunchKernelExC", 384
    arch = "nvjet_sm100" if dev.gemm == "sm100" else "nvjet"
    return (named("gemm_nvjet", arch=arch, kind="hsh" if half else "tst",
                  a=a // 2 if m < 8192 else a, b=b, trans=trans), "cudaLaunchKernelExC", 384)


def gemm(rank, b, m, n, k, dtype, tf32=True, at=None, align=8, trans="TN"):
    """Launches it."""
    name, api, threads = gemm_name(rank, m, n, dtype, tf32, align, trans)
    x, y = tile(m, n)
    rank.launch(name, gemm_us(rank, b, m, n, k, dtype, tf32, at), api=api, block=(threads, 1, 1),
                grid=(-(-m // x), -(-n // y), b), regs=168, shared=98304)


# ---- pointwise operators and reductions ---------------------------------------------------------

# Functors of at::native's elementwise kernels, by operator.
FUNCTORS = {
    "add": "CUDAFunctor_add", "mul": "BinaryFunctor", "div": "BinaryFunctor",
    "sigmoid": "sigmoid_kernel_cuda", "tanh": "tanh_kernel_cuda", "pow": "pow_tensor_scalar",
    "rsqrt": "rsqrt_kernel_cuda", "neg": "neg_kernel_cuda", "copy": "direct_copy_kernel_cuda",
    "masked_fill": "masked_fill_kernel", "exp": "exp_kernel_cuda", "sqrt": "sqrt_kernel_cuda",
    "addcdiv": "addcdiv_cuda_kernel", "addcmul": "addcmul_cuda_kernel",
    "lerp": "lerp_scalar_kernel", "relu": "launch_clamp_scalar", "square": "pow_tensor_scalar",
    "log": "log_kernel_cuda",
    "tanh_backward": "tanh_backward_kernel_cuda", "masked_scale": "masked_scale_kernel"}


def elementwise(rank, what, dtype, operands, nbytes, at=None, strided=False):
    scalar = {"long int": "long"}.get(dtype, dtype)
    functor = f"at::native::{FUNCTORS[what]}<{scalar}>"
    width = 8 if rank.dev.amd or rank.dev.gemm == "sm100" else 4
    key = "elementwise_strided" if strided else "elementwise"
    n = max(1, nbytes // (operands * SIZE[dtype]))
    rank.launch(named(key, f=functor, width=width, n=operands), memory_us(rank, nbytes, what, at),
                grid=(-(-n // 512), 1, 1), block=(256 if rank.dev.amd else 128, 1, 1), regs=26)


def reduce(rank, what, x, at=None):
    rank.launch(named("reduce", x.dtype, what=what), memory_us(rank, x.bytes, "reduce", at),
                grid=(max(1, x.n // 65536), 1, 1), block=(32, 16, 1), regs=36)


def triton(rank, name, us, blocks, warps=4):
    nvidia = choose(rank.job.seed, ["cuLaunchKernel", "cuLaunchKernelEx"])
    rank.launch(name, us, api="hipModuleLaunchKernel" if rank.dev.amd else nvidia,
                grid=(blocks, 1, 1), block=(warps * (64 if rank.dev.amd else 32), 1, 1), regs=40)
