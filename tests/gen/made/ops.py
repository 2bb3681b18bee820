"""Operators of PyTorch: their events, nested as ATen nests them, their kernels, and what autograd
does for them in the backward pass.

An operator that autograd undoes puts (name, closure, parameters) on the rank's tape;
`backward()` runs the tape from its end on the thread of the backward pass."""
from contextlib import nullcontext

from . import kernels
from .device import SIZE, Tensor
from .noise import mix, word


def undo(rank, event, name, closure, *params):
    """What the autograd node of this operator does."""
    if rank.grad:
        place = mix(mix(rank.place, word("undo " + name)), rank.count("undo " + name))
        rank.tape.append((name, event.seq if event is not None else None, place, list(rank.path),
                          closure, params))


def backward(rank, frames=True):
    """loss.backward(): the tape from its end, on the backward thread."""
    tape, rank.tape = rank.tape, []
    with rank.frame("torch/_tensor.py(570): backward") if frames else nullcontext():
        with rank.frame("torch/autograd/__init__.py(242): backward") if frames else nullcontext():
            with rank.on(rank.backward_thread):
                grad, rank.grad = rank.grad, False
                for entry in reversed(tape):
                    undo_one(rank, *entry)
                if rank.hooks is not None:
                    rank.hooks.end(rank)
                rank.grad = grad


def undo_one(rank, name, seq, place, path, closure, params):
    with rank.at(place, path + [name]):
        with rank.op("autograd::engine::evaluate_function: " + name, seq=seq, fwd=1):
            with rank.op(name, seq=seq, fwd=1):
                closure()
        for p in params:
            accumulate(rank, p)


def accumulate(rank, param):
    """The gradient becomes that of the parameter (no kernel: it is taken over)."""
    with rank.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"):
        with rank.op("torch::autograd::AccumulateGrad", param):
            pass
        if rank.hooks is not None:
            rank.hooks.ready(rank, param)


# ---- GEMMs --------------------------------------------------------------------------------------

def mm(rank, a, b, at=None, back=None, tf32=True, align=8, trans="TN"):
    """aten::mm of (m, k) and (k, n)."""
    (m, k), n = a.shape, b.shape[-1]
    with rank.op("aten::mm", a, b, back=back) as e:
        kernels.gemm(rank, 1, m, n, k, a.dtype, tf32, at, align, trans)
    return Tensor((m, n), a.dtype), e


def linear(rank, x, n, bias=False, at=None, at_back=None, tf32=True, align=8):
    """F.linear: all leading dimensions of x as rows; returns the output."""
    k = x.shape[-1]
    rows = Tensor((x.n // k, k), x.dtype)
    w = Tensor((n, k), x.dtype)
    b = Tensor((n,), x.dtype)
    with rank.op("aten::linear", x, w, b if bias else ""):
        with rank.op("aten::t", w):
            with rank.op("aten::transpose", w, "0", "1"):
                pass
        if bias:
            with rank.op("aten::addmm", b, rows, w.t(), "1", "1", back="AddmmBackward0") as e:
                kernels.gemm(rank, 1, rows.shape[0], n, k, x.dtype, tf32, at, align)
        else:
            with rank.op("aten::matmul", x, w.t()):
                _, e = mm(rank, rows, w.t(), at, "MmBackward0", tf32, align)
        undo(rank, e, "AddmmBackward0" if bias else "MmBackward0",
             lambda: linear_backward(rank, rows, w, bias, at_back, tf32, align), *([w, b] if bias else [w]))
    return Tensor(x.shape[:-1] + (n,), x.dtype)


def linear_backward(rank, rows, w, bias, at, tf32, align):
    g = Tensor((rows.shape[0], w.shape[0]), rows.dtype)
    mm(rank, g, w, at, tf32=tf32, align=align, trans="NN")
    mm(rank, g.t(), rows, at, tf32=tf32, align=align, trans="NT")
    if bias:
        with rank.op("aten::sum", g, "[0]", "True", ""):
            reduce_kernel(rank, "sum", g)


def bmm(rank, a, b, back=None, at=None):
    """aten::bmm of (b, m, k) and (b, k, n)."""
    (batch, m, k), n = a.shape, b.shape[-1]
    with rank.op("aten::bmm", a, b, back=back) as e:
        kernels.gemm(rank, batch, m, n, k, a.dtype, at=at)
    out = Tensor((batch, m, n), a.dtype)
    if back:
        undo(rank, e, back, lambda: bmm_backward(rank, a, b, out))
    return out


def bmm_backward(rank, a, b, out):
    bmm(rank, a.t(), out)
    bmm(rank, out, b.t())


# ---- pointwise operators, reductions, norms -----------------------------------------------------

def pointwise(rank, what, *inputs, back=None, at=None, name=None, strided=False, dtype=None):
    """aten::WHAT of these; the output is like the largest input."""
    ts = [x for x in inputs if isinstance(x, Tensor)]
    out = Tensor(max(ts, key=lambda t: t.n).shape, dtype or ts[0].dtype)
    with rank.op("aten::" + (name or what), *inputs, back=back[0] if back else None) as e:
        kernels.elementwise(rank, what, ts[0].dtype, len(ts) + 1, sum(t.bytes for t in ts) + out.bytes,
                            at, strided)
    if back:
        undo(rank, e, back[0], lambda: [pointwise(rank, w, *args) for w, *args in back[1:]])
    return out


def reduce_kernel(rank, what, x, at=None):
    t = {"c10::BFloat16": "c10::BFloat16", "c10::Half": "c10::Half"}.get(x.dtype, "float")
    rank.launch(f"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<{t}, at::native::func_wrapper_t<{t}, "
                f"at::native::{what}_functor<{t}, float, {t}> >, unsigned int, {t}, 4, 4> >(at::native::ReduceOp<{t}>)",
                kernels.memory_us(rank, x.bytes, "reduce", at), grid=(max(1, x.n // 65536), 1, 1),
                block=(32, 16, 1), regs=36)


def reduction(rank, what, x, dims="[-1]", keep="True", at=None, back=None, dtype=None):
    out = Tensor(x.shape[:-1] + (1,), x.dtype)
    with rank.op("aten::" + what, x, dims, keep, "", back=back and back[0]) as e:
        reduce_kernel(rank, what, x, at)
    if back:
        undo(rank, e, back[0], lambda: [pointwise(rank, w, *args) for w, *args in back[1:]])
    return out


def layer_norm(rank, x, at=None):
    """The fused kernel."""
    d = x.shape[-1]
    w = Tensor((d,), x.dtype)
    with rank.op("aten::layer_norm", x, f"[{d}]", w, w, "1.0000000000000001e-05", "True"):
        with rank.op("aten::native_layer_norm", x, f"[{d}]", w, w, "1.0000000000000001e-05",
                     back="NativeLayerNormBackward0") as e:
            t = "c10::BFloat16" if x.dtype == "c10::BFloat16" else "c10::Half" if "Half" in x.dtype else "float"
            rank.launch(f"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<{t}, float>(int, float, "
                        f"{t} const*, {t} const*, {t} const*, float*, float*, {t}*)",
                        kernels.memory_us(rank, 2 * x.bytes, "norm", at), grid=(x.n // d, 1, 1), block=(32, 4, 1))
    undo(rank, e, "NativeLayerNormBackward0", lambda: norm_backward(rank, x, "native_layer_norm_backward"), w, w)
    return x


def norm_backward(rank, x, name):
    with rank.op("aten::" + name, x, x, f"[{x.shape[-1]}]", Tensor(x.shape[:-1] + (1,), "float")):
        rank.launch("void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, "
                    "float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, "
                    "c10::BFloat16 const*, c10::BFloat16*, int)",
                    kernels.memory_us(rank, 3 * x.bytes, "norm back"), grid=(x.n // x.shape[-1], 1, 1))
        rank.launch("void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16, float, "
                    "64u, 1u, 32u, true, true, false>(long, long, c10::BFloat16 const*)",
                    kernels.memory_us(rank, 2 * x.bytes, "norm gamma"), grid=(x.shape[-1] // 64, 1, 1), block=(32, 32, 1))


def rms_norm(rank, x, at=None):
    d = x.shape[-1]
    w = Tensor((d,), x.dtype)
    with rank.op("aten::rms_norm", x, f"[{d}]", w, ""):
        with rank.op("aten::_fused_rms_norm", x, f"[{d}]", w, "", back="FusedRmsNormBackward0") as e:
            t = "c10::BFloat16" if x.dtype == "c10::BFloat16" else "c10::Half"
            rank.launch(f"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<{t}, float, true>(int, "
                        f"float, {t} const*, {t} const*, {t} const*, float*, float*, {t}*)",
                        kernels.memory_us(rank, 2 * x.bytes, "norm", at), grid=(x.n // d, 1, 1), block=(32, 4, 1))
    undo(rank, e, "FusedRmsNormBackward0", lambda: norm_backward(rank, x, "_fused_rms_norm_backward"), w)
    return x


def compiled(rank, name, inputs, out, at=None, back=None, reduces=False):
    """A kernel that Inductor made: reads its inputs once, writes its outputs once."""
    moved = sum(t.bytes for t in inputs) + sum(t.bytes for t in out)
    args = {"kernel_backend": "triton", "num_warps": "8" if reduces else "4", "num_stages": "1",
            "kernel_file": rank.job.config.get("cache", "/tmp/torchinductor_user") + "/" + name[-9:] + ".py"}
    with rank.op(name, *inputs, *out, str(out[0].n), back=back and back[0], args=args) as e:
        kernels.triton(rank, name, kernels.memory_us(rank, moved, name, at),
                       -(-out[0].n // 1024) if not reduces else out[0].n // out[0].shape[-1], 8 if reduces else 4)
    if back:
        undo(rank, e, back[0], lambda: compiled(rank, back[1], back[2], back[3]))
    return out[0]


# ---- attention ----------------------------------------------------------------------------------

def attention_us(rank, q, k, causal, backward=False, at=None):
    b, h, s, d = q.shape
    at = at or kernels.share(rank, "attention" + " back" * backward, (s, k.shape[2], d),
                             *(x - 0.04 * backward for x in rank.dev.attention))
    flops = 4e-6 * b * h * s * k.shape[2] * d * (2.5 if backward else 1) * (0.53 if causal else 1)
    moved = (2 * q.bytes + 2 * k.bytes) * (2 if backward else 1)
    return kernels.START_US + max(flops / (rank.dev.half * at), moved / (rank.dev.bw * 800))


def flash_kernel(rank, d, dtype, backward, causal):
    t = "cutlass::bfloat16_t" if dtype == "c10::BFloat16" else "cutlass::half_t"
    if rank.dev.amd:
        return ("bwd_kernel_fuse", "hipModuleLaunchKernel") if backward else ("attn_fwd", "hipModuleLaunchKernel")
    if rank.dev.gemm == "sm100" or rank.job.config.get("attention") == "cudnn":
        kind = "bprop" if backward else "fprop"
        return (f"cudnn_generated_fort_native_sdpa_sm{rank.dev.gemm[2:]}_flash_{kind}_wgmma_f16_knob_7_64x{d}x{d}"
                f"_4x1x1_kernel0_0", "cuLaunchKernelEx")
    way, dirs = ("bwd_dq_dk_dv_loop_seqk_parallel", "bwd") if backward else ("fwd", "fwd")
    traits = f"pytorch_flash::Flash_{dirs}_kernel_traits<{d}, 64, 128, 4, false, false, {t}>"
    return (f"void pytorch_flash::flash_{way}_kernel<{traits}, false, {'true' if causal else 'false'}, false, false, "
            f"true, true, false>(pytorch_flash::Flash_{dirs}_params)", "cudaLaunchKernel")


def attention(rank, q, k, causal=True, dropout=0.0, at=None, at_back=None):
    """F.scaled_dot_product_attention, flash; q is (batch, heads, s, d)."""
    b, h, s, d = q.shape
    p, c = f"{dropout:g}" if dropout else "0.", str(causal)
    with rank.op("aten::scaled_dot_product_attention", q, k, k, "", p, c, "", "False"):
        with rank.op("aten::_scaled_dot_product_flash_attention", q, k, k, p, c, "False", "",
                     back="ScaledDotProductFlashAttentionBackward0") as e:
            rows = [Tensor((t.shape[0], t.shape[2], t.shape[1], t.shape[3]), t.dtype) for t in (q, k, k)]
            with rank.op("aten::_flash_attention_forward", *rows, "", "", str(s), str(k.shape[2]), p, c, "False", ""):
                name, api = flash_kernel(rank, d, q.dtype, False, causal)
                rank.launch(name, attention_us(rank, q, k, causal, at=at), api=api, grid=(-(-s // 128), b, h),
                            regs=255, shared=81920)
    undo(rank, e, "ScaledDotProductFlashAttentionBackward0",
         lambda: attention_backward(rank, q, k, causal, p, at_back))
    return q


def attention_backward(rank, q, k, causal, p, at):
    b, h, s, d = q.shape
    with rank.op("aten::_scaled_dot_product_flash_attention_backward", q, q, k, k, q,
                 Tensor((b, h, s), "float"), "", "", str(s), str(k.shape[2]), p, str(causal)):
        name, api = flash_kernel(rank, d, q.dtype, True, causal)
        rank.launch(name, attention_us(rank, q, k, causal, True, at), api=api, grid=(-(-s // 128), b, h), regs=255,
                    shared=147456)


# ---- memory, input, loss, optimizer -------------------------------------------------------------

def to_device(rank, x, frame="", pinned=True, stream=None, blocking=False, rate=None):
    """batch.to(device)."""
    with rank.frame(frame) if frame else nullcontext():
        with rank.op("aten::to", x, "", "", "True" if not blocking else "False", "False"):
            with rank.op("aten::_to_copy", x, "", "", "", "", "True" if not blocking else "False", ""):
                with rank.op("aten::copy_", x, x, "True" if not blocking else "False"):
                    rank.copy("HtoD", x.bytes, pinned, blocking, stream, rate)
                    if blocking and not rank.dev.amd:
                        rank.sync_stream(stream)


def embedding(rank, ids, rows, d, dtype, at=None):
    """nn.Embedding."""
    w, out = Tensor((rows, d), dtype), Tensor(ids.shape + (d,), dtype)
    with rank.op("aten::embedding", w, ids, "-1", "False", "False", back="EmbeddingBackward0") as e:
        with rank.op("aten::index_select", w, "0", Tensor((ids.n,), "long int")):
            rank.launch("void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned "
                        "int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)",
                        kernels.memory_us(rank, 2 * out.bytes, "embedding", at), grid=(max(1, out.n // 512), 1, 1))
    undo(rank, e, "EmbeddingBackward0", lambda: embedding_backward(rank, out, ids, rows), w)
    return out


def embedding_backward(rank, out, ids, rows):
    with rank.op("aten::embedding_backward", out, ids, str(rows), "-1", "False", "False"):
        with rank.op("aten::embedding_dense_backward", out, ids, str(rows), "-1", "False"):
            rank.memset(rows * out.shape[-1] * SIZE[out.dtype])
            rank.launch("void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16, float, "
                        "long>(long const*, c10::BFloat16 const*, c10::BFloat16*, int, long, int)",
                        kernels.memory_us(rank, 2 * out.bytes, "embedding back"), grid=(max(1, out.n // 4096), 1, 1))


def cross_entropy(rank, logits):
    """Compiled: a softmax and its loss in one pass, the same backward."""
    loss = Tensor((), "float")
    compiled(rank, "triton_red_fused__log_softmax_nll_loss_forward_0", [logits], [Tensor((logits.n // logits.shape[-1],), "float")],
             reduces=True, back=("CompiledFunctionBackward", "triton_poi_fused_nll_loss_backward__log_softmax_1",
                                 [logits], [logits]))
    return loss


def fused_optimizer(rank, params, name="AdamW"):
    """optimizer.step() with fused=True: some kernels over lists of parameters."""
    with rank.range(f"Optimizer.step#{name}.step"):
        with rank.frame("torch/optim/optimizer.py(501): wrapper"):
            with rank.frame(f"torch/optim/{name.lower()}.py(231): step"):
                rank.spend(24, "gather")
                total, part = sum(p.bytes for p in params), -(-len(params) // 48)
                lists = [[p for p in params[:24]]] * 4
                with rank.op(f"aten::_fused_{name.lower()}_", *lists, [], [], "0.0003"):
                    rank.spend(0.15 * len(params), "lists")
                    for i in range(part):
                        rank.launch("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
                                    "(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::"
                                    "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false> >",
                                    kernels.memory_us(rank, 7 * total / part, "optimizer"), grid=(320, 1, 1),
                                    block=(512, 1, 1), regs=64)


def zero_grad(rank, name="AdamW"):
    with rank.range(f"Optimizer.zero_grad#{name}.zero_grad"):
        rank.spend(7.5, "set to none")


def item(rank, dtype="float"):
    """tensor.item(): a copy to the host that the thread waits for."""
    x = Tensor((), dtype)
    with rank.op("aten::item", x):
        with rank.op("aten::_local_scalar_dense", x):
            if rank.dev.amd:
                rank.copy("DtoH", x.bytes, True, blocking=True)
            else:
                rank.copy("DtoH", x.bytes, True)
                rank.sync_stream()
