"""What compilers and libraries fuse, done by single operators."""
from . import kernels, ops
from .device import Tensor


def softmax_kernel(rank, x, backward=False):
    t, way = "c10::BFloat16" if x.dtype == "c10::BFloat16" else "c10::Half" if "Half" in x.dtype else "float", "backward" if backward else "forward"
    if x.shape[-1] <= 1024:
        name = f"void (anonymous namespace)::softmax_warp_{way}<{t}, {t}, float, 10, false, false>({t}*, {t} const*, int, int, int)"
    else:
        name = (f"void at::native::(anonymous namespace)::cunn_SoftMax{way.title()}Gmem<4, {t}, float, {t}, "
                f"at::native::(anonymous namespace)::SoftMax{way.title()}Epilogue, long>({t}*, {t} const*, long)")
    rank.launch(name, kernels.memory_us(rank, (3 if backward else 2) * x.bytes, "softmax"),
                grid=(x.n // x.shape[-1], 1, 1))


def softmax(rank, x):
    with rank.op("aten::softmax", x, "-1", ""):
        with rank.op("aten::_softmax", x, "-1", "False", back="SoftmaxBackward0") as e:
            softmax_kernel(rank, x)

    def undo():
        with rank.op("aten::_softmax_backward_data", x, x, "-1", ""):
            softmax_kernel(rank, x, True)
    ops.undo(rank, e, "SoftmaxBackward0", undo)


def dropout(rank, x, p):
    mask = Tensor(x.shape, "bool")
    with rank.op("aten::dropout", x, f"{p:g}", "True"):
        with rank.op("aten::native_dropout", x, f"{p:g}", "True", back="NativeDropoutBackward0") as e:
            rank.launch("void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, "
                        "1, 8, bool>(at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>)",
                        kernels.memory_us(rank, 2 * x.bytes + mask.bytes, "dropout"), grid=(-(-x.n // 2048), 1, 1), block=(256, 1, 1))

    def undo():
        with rank.op("aten::native_dropout_backward", x, mask, "1.1111111111111112"):
            kernels.elementwise(rank, "masked_scale", x.dtype, 3, 2 * x.bytes + mask.bytes)
    ops.undo(rank, e, "NativeDropoutBackward0", undo)


def hand_attention(rank, q, k, fault, frame):
    """softmax(q k' / sqrt(d)) v by single operators, with what masks and dropout the model has."""
    b, h, s, d = q.shape
    flat = Tensor((b * h, s, d), q.dtype)
    scores = Tensor((b, h, s, k.shape[2]), q.dtype)
    with rank.frame(frame):
        with rank.op("aten::matmul", q, k.t()):
            ops.bmm(rank, flat, Tensor((b * h, k.shape[2], d), q.dtype).t(), "BmmBackward0")
        if fault.get("scale", True):
            ops.pointwise(rank, "div", scores, "11.313708498984761", back=("DivBackward0", ("div", scores, "11.313708498984761")))
        if fault.get("mask") == "masked_fill":
            mask = Tensor((1, 1, s, k.shape[2]), "bool")
            ops.pointwise(rank, "masked_fill", scores, mask, "-inf", back=("MaskedFillBackward0", ("masked_fill", scores, mask, "0")))
        elif fault.get("mask") == "add":
            ops.pointwise(rank, "add", scores, Tensor((b, 1, s, k.shape[2]), q.dtype), "1", back=("AddBackward0",))
        softmax(rank, scores)
        if fault.get("dropout"):
            dropout(rank, scores, fault["dropout"])
        with rank.op("aten::matmul", scores, k):
            ops.bmm(rank, Tensor((b * h, s, k.shape[2]), q.dtype), Tensor((b * h, k.shape[2], d), q.dtype), "BmmBackward0")


def hand_norm(rank, x, frame):
    """RMSNorm in fp32 by single operators."""
    f, row = Tensor(x.shape, "float"), Tensor(x.shape[:-1] + (1,), "float")
    w = Tensor(x.shape[-1:], x.dtype)
    with rank.frame(frame):
        cast(rank, x, "float")
        ops.pointwise(rank, "pow", f, "2", back=("PowBackward0", ("mul", f, "2"), ("mul", f, f), ("add", f, f, "1")))
        ops.reduction(rank, "mean", f, back=("MeanBackward1", ("div", f, "4096")))
        ops.pointwise(rank, "add", row, "1e-06", "1", back=("AddBackward0",))
        ops.pointwise(rank, "rsqrt", row, back=("RsqrtBackward0", ("pow", row, "3"), ("mul", row, row)))
        ops.pointwise(rank, "mul", f, row, back=("MulBackward0", ("mul", f, row), ("mul", f, f)))
        cast(rank, f, x.dtype)
        ops.pointwise(rank, "mul", w, x, back=("MulBackward0", ("mul", x, w), ("mul", x, x)))
    return x


def cast(rank, x, dtype):
    out = Tensor(x.shape, dtype)
    with rank.op("aten::to", x, "6" if dtype == "float" else "15", "False", "False", ""):
        with rank.op("aten::_to_copy", x, "6" if dtype == "float" else "15", "", "", "", "False", "", back="ToCopyBackward0") as e:
            with rank.op("aten::copy_", out, x, "False"):
                kernels.elementwise(rank, "copy", x.dtype, 2, x.bytes + out.bytes)

    def undo():
        with rank.op("aten::copy_", x, out, "False"):
            kernels.elementwise(rank, "copy", x.dtype, 2, x.bytes + out.bytes)
    ops.undo(rank, e, "ToCopyBackward0", undo)


def hand_rope(rank, t, frame):
    """x cos + rotate_half(x) sin."""
    b, h, s, d = t.shape
    half, table = Tensor((b, h, s, d // 2), t.dtype), Tensor((1, 1, s, d), t.dtype)
    with rank.frame(frame):
        ops.pointwise(rank, "mul", t, table, back=("MulBackward0", ("mul", t, table)))
        with rank.frame(frame.split("(")[0] + "(63): rotate_half"):
            ops.pointwise(rank, "neg", half, back=("NegBackward0", ("neg", half)))
            with rank.op("aten::cat", [half, half], "-1", back="CatBackward0") as e:
                rank.launch("void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous "
                            "namespace)::OpaqueType<2u>, unsigned int, 4, 128, 1>(at::native::(anonymous namespace)::OpaqueType<2u>*)",
                            kernels.memory_us(rank, 2 * t.bytes, "cat"), grid=(264, 2, 1), block=(512, 1, 1))
        ops.undo(rank, e, "CatBackward0", lambda: None)
        ops.pointwise(rank, "mul", t, table, back=("MulBackward0", ("mul", t, table)))
        ops.pointwise(rank, "add", t, t, "1", back=("AddBackward0",))
    return t


# Activations written by hand: (operator, second operand) forward, then what autograd does.
CHAINS = {
    "gelu_new": [("pow", "3"), ("mul", "0.044715"), ("add", "x"), ("mul", "0.79788456080286541"), ("tanh", None),
                 ("add", "1"), ("mul", "x"), ("mul", "0.5")],
    "mish": [("exp", None), ("add", "1"), ("log", None), ("tanh", None), ("mul", "x")],
    "squared_relu": [("relu", None), ("square", None), ("mul", "x")],
}


def chain(rank, h, kind, frame):
    with rank.frame(frame):
        for what, other in CHAINS[kind]:
            args = (h,) if other is None else (h, h) if other == "x" else (h, other)
            if what == "add":
                args += ("1",)
            grads = {"tanh": ("tanh_backward", h, h), "mul": ("mul", *args), "pow": ("mul", h, h)}.get(what)
            more = [("mul", h, h), ("add", h, h, "1")] if other == "x" and what == "mul" else []
            name = {"pow": "PowBackward0", "mul": "MulBackward0", "add": "AddBackward0", "tanh": "TanhBackward0",
                    "exp": "ExpBackward0", "log": "LogBackward0", "relu": "ReluBackward0", "square": "PowBackward0"}[what]
            own = [grads] if grads else [] if what == "add" else [("mul", h, h)]
            ops.pointwise(rank, what, *args, back=(name, *own, *more))


def contiguous(rank, tensors, share, frame):
    """Copies that only change the layout."""
    with rank.frame(frame):
        for t in tensors:
            b, h, s, d = t.shape
            moved = Tensor(t.shape, t.dtype, [s * h * d, d, h * d, 1])
            with rank.op("aten::contiguous", moved, "0"), rank.op("aten::clone", moved, "0"):
                with rank.op("aten::copy_", t, moved, "False"):
                    kernels.elementwise(rank, "copy", t.dtype, 2, 2 * t.bytes, share, strided=True)


def optimizer_loop(rank, params, name):
    """Adam, one parameter after the other, one operator after the other."""
    with rank.range(f"Optimizer.step#{name}.step"), rank.frame("torch/optim/optimizer.py(501): wrapper"):
        with rank.frame(f"torch/optim/{name.lower()}.py(231): step"):
            with rank.frame(f"torch/optim/{name.lower()}.py(388): _single_tensor_{name.lower()}"):
                for p in params:
                    f = Tensor(p.shape, p.dtype)
                    ops.pointwise(rank, "mul", f, "0.99999", name="mul_")
                    ops.pointwise(rank, "lerp", f, f, "0.1", name="lerp_")
                    ops.pointwise(rank, "mul", f, "0.95", name="mul_")
                    ops.pointwise(rank, "addcmul", f, f, f, "0.05", name="addcmul_")
                    ops.pointwise(rank, "sqrt", f)
                    ops.pointwise(rank, "div", f, "0.9", name="div_")
                    ops.pointwise(rank, "add", f, "1e-08", "1", name="add_")
                    ops.pointwise(rank, "addcdiv", f, f, f, "-0.001", name="addcdiv_")
