"""Operators of PyTorch: their events, nested as ATen nests them, their kernels, and what autograd
does for them in the backward pass.

An operator that autograd undoes puts (name, closure, parameters) on the rank's tape;
`backward()` runs the tape from its end on the thread of the backward pass."""
from contextlib import nullcontext

from . import kernels
from .device import SIZE, Tensor
from .kernels import named
from .noise import mix, word

ENGINE = "autograd::engine::evaluate_function: "


# ---- autograd -----------------------------------------------------------------------------------

def undo(rank, event, name, closure, *params):
    """What the autograd node of this operator does."""
    if rank.grad:
        place = mix(mix(rank.place, word("undo " + name)), rank.count("undo " + name))
        seq = event.seq if event is not None else None
        rank.tape.append((name, seq, place, list(rank.path), closure, params))


def backward(rank):
    """loss.backward(): the tape from its end, on the backward thread."""
    tape, rank.tape = rank.tape, []
    with rank.frame("torch/_tensor.py(570): backward"):
        with rank.frame("torch/autograd/__init__.py(242): backward"), rank.on(rank.backward_thread):
            grad, rank.grad = rank.grad, False
            for entry in reversed(tape):
                undo_one(rank, *entry)
            if rank.hooks is not None:
                rank.hooks.end(rank)
            rank.grad = grad


def undo_one(rank, name, seq, place, path, closure, params):
    with rank.at(place, path + [name]):
        with rank.op(ENGINE + name, seq=seq, fwd=1):
            with rank.op(name, seq=seq, fwd=1):
                closure()
        for p in params:
            accumulate(rank, p)


def accumulate(rank, param):
    """The gradient becomes that of the parameter (no kernel: it is taken over)."""
    with rank.op(ENGINE + "torch::autograd::AccumulateGrad"):
        with rank.op("torch::autograd::AccumulateGrad", param):
            pass
        if rank.hooks is not None:
            rank.hooks.ready(rank, param)


def undo_by(rank, event, back):
    """`back`: the node's name, then pointwise operators that it runs: (what, operands...)."""
    if back:
        undo(rank, event, back[0], lambda: [pointwise(rank, w, *args) for w, *args in back[1:]])


# ---- GEMMs --------------------------------------------------------------------------------------

def mm(rank, a, b, at=None, back=None, tf32=True, align=8, trans="TN"):
    """aten::mm of (m, k) and (k, n)."""
    (m, k), n = a.shape, b.shape[-1]
    with rank.op("aten::mm", a, b, back=back) as e:
        kernels.gemm(rank, 1, m, n, k, a.dtype, tf32, at, align, trans)
    return e


def linear(rank, x, n, bias=False, at=None, at_back=None, tf32=True, align=8):
    """F.linear: all leading dimensions of x as rows; returns the output."""
    k = x.shape[-1]
    rows, w, b = Tensor((x.n // k, k), x.dtype), Tensor((n, k), x.dtype), Tensor((n,), x.dtype)
    with rank.op("aten::linear", x, w, b if bias else ""):
        with rank.op("aten::t", w), rank.op("aten::transpose", w, "0", "1"):
            pass
        if bias:
            name = "AddmmBackward0"
            with rank.op("aten::addmm", b, rows, w.t(), "1", "1", back=name) as e:
                kernels.gemm(rank, 1, rows.shape[0], n, k, x.dtype, tf32, at, align)
        else:
            name = "MmBackward0"
            with rank.op("aten::matmul", x, w.t()):
                e = mm(rank, rows, w.t(), at, name, tf32, align)
        undo(rank, e, name, lambda: linear_backward(rank, rows, w, bias, at_back, tf32, align),
             *([w, b] if bias else [w]))
    return Tensor(x.shape[:-1] + (n,), x.dtype)


def linear_backward(rank, rows, w, bias, at, tf32, align):
    g = Tensor((rows.shape[0], w.shape[0]), rows.dtype)
    mm(rank, g, w, at, tf32=tf32, align=align, trans="NN")
    mm(rank, g.t(), rows, at, tf32=tf32, align=align, trans="NT")
    if bias:
        with rank.op("aten::sum", g, "[0]", "True", ""):
            kernels.reduce(rank, "sum", g)


def bmm(rank, a, b, back=None, at=None):
    """aten::bmm of (b, m, k) and (b, k, n)."""
    (batch, m, k), n = a.shape, b.shape[-1]
    with rank.op("aten::bmm", a, b, back=back) as e:
        kernels.gemm(rank, batch, m, n, k, a.dtype, at=at)
    out = Tensor((batch, m, n), a.dtype)
    if back:
        undo(rank, e, back, lambda: (bmm(rank, a.t(), out), bmm(rank, out, b.t())))


# ---- pointwise operators, reductions, norms -----------------------------------------------------

def pointwise(rank, what, *inputs, back=None, at=None, name=None, strided=False):
    """aten::WHAT of these; the output is like the largest input."""
    ts = [x for x in inputs if isinstance(x, Tensor)]
    out = Tensor(max(ts, key=lambda t: t.n).shape, ts[0].dtype)
    with rank.op("aten::" + (name or what), *inputs, back=back and back[0]) as e:
        nbytes = sum(t.bytes for t in ts) + out.bytes
        kernels.elementwise(rank, what, ts[0].dtype, len(ts) + 1, nbytes, at, strided)
    undo_by(rank, e, back)


def reduction(rank, what, x, dims="[-1]", keep="True", at=None, back=None):
    with rank.op("aten::" + what, x, dims, keep, "", back=back and back[0]) as e:
        kernels.reduce(rank, what, x, at)
    undo_by(rank, e, back)


def layer_rows(x):
    return {"grid": (x.n // x.shape[-1], 1, 1), "block": (32, 4, 1)}


def rms_norm(rank, x):
    """The fused operator."""
    size, w = f"[{x.shape[-1]}]", Tensor(x.shape[-1:], x.dtype)
    with rank.op("aten::rms_norm", x, size, w, ""):
        with rank.op("aten::_fused_rms_norm", x, size, w, "", back="FusedRmsNormBackward0") as e:
            rank.launch(named("rms_norm", x.dtype), kernels.memory_us(rank, 2 * x.bytes, "norm"),
                        **layer_rows(x))
    undo(rank, e, "FusedRmsNormBackward0", lambda: rms_norm_backward(rank, x, size), w)
    return x


def rms_norm_backward(rank, x, size):
    scale = Tensor(x.shape[:-1] + (1,), "float")
    with rank.op("aten::_fused_rms_norm_backward", x, x, size, scale):
        rank.launch(named("norm_input_gradient", x.dtype),
                    kernels.memory_us(rank, 3 * x.bytes, "norm back"), **layer_rows(x))
        rank.launch(named("norm_weight_gradient", x.dtype),
                    kernels.memory_us(rank, 2 * x.bytes, "norm gamma"),
                    grid=(x.shape[-1] // 64, 1, 1), block=(32, 32, 1))


def compiled(rank, name, inputs, out, back=None, reduces=False):
    """A kernel that Inductor made: reads its inputs once, writes its outputs once. `back`: the
    kernel of its backward pass, its inputs and outputs."""
    moved = sum(t.bytes for t in inputs) + sum(t.bytes for t in out)
    warps = 8 if reduces else 4
    args = {"kernel_backend": "triton", "num_warps": str(warps), "num_stages": "1",
            "kernel_file": "/tmp/torchinductor_user/" + name[-9:] + ".py"}
    node = "CompiledFunctionBackward"
    with rank.op(name, *inputs, *out, str(out[0].n), back=back and node, args=args) as e:
        blocks = out[0].n // out[0].shape[-1] if reduces else -(-out[0].n // 1024)
        kernels.triton(rank, name, kernels.memory_us(rank, moved, name), blocks, warps)
    if back:
        undo(rank, e, node, lambda: compiled(rank, *back))
    return out[0]


# ---- attention ----------------------------------------------------------------------------------

def attention_us(rank, q, k, causal, backward=False, at=None):
    """Twice two GEMMs forward, five backward; half of them where it is causal."""
    b, h, s, d = q.shape
    low, high = (x - 0.04 * backward for x in rank.dev.attention)
    what = "attention back" if backward else "attention"
    at = at or kernels.share(rank, what, (s, k.shape[2], d), low, high)
    flops = 4e-6 * b * h * s * k.shape[2] * d * (2.5 if backward else 1) * (0.53 if causal else 1)
    moved = (2 * q.bytes + 2 * k.bytes) * (2 if backward else 1)
    return kernels.START_US + max(flops / (rank.dev.half * at), moved / (rank.dev.bw * 800))


def flash_kernel(rank, d, dtype, backward, causal):
    """Name and call."""
    if rank.dev.amd:
        return "bwd_kernel_fuse" if backward else "attn_fwd", "hipModuleLaunchKernel"
    if rank.dev.gemm == "sm100":
        way = "bprop" if backward else "fprop"
        return named("cudnn_attention", sm=rank.dev.gemm[2:], way=way, d=d), "cuLaunchKernelEx"
    t = "cutlass::bfloat16_t" if dtype == "c10::BFloat16" else "cutlass::half_t"
    key = "flash_backward" if backward else "flash_forward"
    return (kernels.NAMES[key].substitute(t=t, d=d, causal="true" if causal else "false"),
            "cudaLaunchKernel")


def attention(rank, q, k, causal=True, dropout=0.0, at=None):
    """F.scaled_dot_product_attention, flash; q is (batch, heads, s, d)."""
    b, h, s, d = q.shape
    p, c = f"{dropout:g}" if dropout else "0.", str(causal)
    node = "ScaledDotProductFlashAttentionBackward0"
    with rank.op("aten::scaled_dot_product_attention", q, k, k, "", p, c, "", "False"):
        with rank.op("aten::_scaled_dot_product_flash_attention", q, k, k, p, c, "False", "",
                     back=node) as e:
            rows = [Tensor((t.shape[0], t.shape[2], t.shape[1], d), t.dtype) for t in (q, k, k)]
            with rank.op("aten::_flash_attention_forward", *rows, "", "", str(s), str(k.shape[2]),
                         p, c, "False", ""):
                name, api = flash_kernel(rank, d, q.dtype, False, causal)
                rank.launch(name, attention_us(rank, q, k, causal, at=at), api=api,
                            grid=(-(-s // 128), b, h), regs=255, shared=81920)
    undo(rank, e, node, lambda: attention_backward(rank, q, k, causal, p, at))


def attention_backward(rank, q, k, causal, p, at):
    b, h, s, d = q.shape
    with rank.op("aten::_scaled_dot_product_flash_attention_backward", q, q, k, k, q,
                 Tensor((b, h, s), "float"), "", "", str(s), str(k.shape[2]), p, str(causal)):
        name, api = flash_kernel(rank, d, q.dtype, True, causal)
        rank.launch(name, attention_us(rank, q, k, causal, True, at), api=api,
                    grid=(-(-s // 128), b, h), regs=255, shared=147456)


# ---- memory, input, loss, optimizer -------------------------------------------------------------

def to_device(rank, x, pinned=True, stream=None, blocking=False, rate=None):
    """batch.to(device)."""
    free = str(not blocking)
    with rank.op("aten::to", x, "", "", free, "False"):
        with rank.op("aten::_to_copy", x, "", "", "", "", free, ""):
            with rank.op("aten::copy_", x, x, free):
                rank.copy("HtoD", x.bytes, pinned, blocking, stream, rate)
                if blocking and not rank.dev.amd:
                    rank.sync_stream(stream)


def to_host(rank, x):
    """x.cpu(): to pageable memory, and the host waits."""
    with rank.op("aten::to", x, "cpu", "", "False", "False", ""):
        with rank.op("aten::_to_copy", x, "", "", "cpu", "", "False", ""):
            with rank.op("aten::copy_", x, x, "False"):
                rank.copy("DtoH", x.bytes, pinned=False, blocking=True)
                if not rank.dev.amd:
                    rank.sync_stream()


def item(rank):
    """tensor.item(): a copy to the host that the thread waits for."""
    x = Tensor((), "float")
    with rank.op("aten::item", x), rank.op("aten::_local_scalar_dense", x):
        rank.copy("DtoH", x.bytes, True, blocking=rank.dev.amd)
        if not rank.dev.amd:
            rank.sync_stream()


def embedding(rank, ids, rows, d, dtype, at=None):
    """nn.Embedding."""
    w, out = Tensor((rows, d), dtype), Tensor(ids.shape + (d,), dtype)
    node = "EmbeddingBackward0"
    with rank.op("aten::embedding", w, ids, "-1", "False", "False", back=node) as e:
        with rank.op("aten::index_select", w, "0", Tensor((ids.n,), "long int")):
            rank.launch(named("index_select", dtype),
                        kernels.memory_us(rank, 2 * out.bytes, "embedding", at),
                        grid=(max(1, out.n // 512), 1, 1))
    undo(rank, e, node, lambda: embedding_backward(rank, out, ids, rows), w)
    return out


def embedding_backward(rank, out, ids, rows):
    with rank.op("aten::embedding_backward", out, ids, str(rows), "-1", "False", "False"):
        with rank.op("aten::embedding_dense_backward", out, ids, str(rows), "-1", "False"):
            rank.memset(rows * out.shape[-1] * SIZE[out.dtype])
            rank.launch(named("embedding_backward", out.dtype),
                        kernels.memory_us(rank, 2 * out.bytes, "embedding back"),
                        grid=(max(1, out.n // 4096), 1, 1))


def cross_entropy(rank, logits):
    """Compiled: a softmax and its loss in one pass, the same backward."""
    rows = Tensor((logits.n // logits.shape[-1],), "float")
    back = "triton_poi_fused_nll_loss_backward__log_softmax_1", [logits], [logits]
    compiled(rank, "triton_red_fused__log_softmax_nll_loss_forward_0", [logits], [rows], back,
             reduces=True)


def fused_optimizer(rank, params, name="AdamW"):
    """optimizer.step() with fused=True: some kernels over lists of parameters."""
    total, parts = sum(p.bytes for p in params), -(-len(params) // 48)
    with rank.range(f"Optimizer.step#{name}.step"):
        with rank.frame("torch/optim/optimizer.py(501): wrapper"):
            with rank.frame(f"torch/optim/{name.lower()}.py(231): step"):
                rank.spend(24, "gather")
                lists = [list(params[:24])] * 4
                with rank.op(f"aten::_fused_{name.lower()}_", *lists, [], [], "0.0003"):
                    rank.spend(0.15 * len(params), "lists")
                    for _ in range(parts):
                        rank.launch(named("fused_adam"),
                                    kernels.memory_us(rank, 7 * total / parts, "optimizer"),
                                    grid=(320, 1, 1), block=(512, 1, 1), regs=64)


def zero_grad(rank, name="AdamW"):
    with rank.range(f"Optimizer.zero_grad#{name}.zero_grad"):
        rank.spend(7.5, "set to none")
