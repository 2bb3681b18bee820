"""What compilers and libraries fuse, done by single operators."""
from . import kernels, ops
from .device import Tensor
from .kernels import named

SCALE = "11.313708498984761"
CASTS = {"float": "6", "c10::BFloat16": "15", "c10::Half": "5"}


# ---- attention ----------------------------------------------------------------------------------

def softmax_kernel(rank, x, way):
    key = "softmax_short" if x.shape[-1] <= 1024 else "softmax_long"
    name = kernels.NAMES[key].substitute(t=x.dtype, way=way, Way=way.title())
    nbytes = (3 if way == "backward" else 2) * x.bytes
    rank.launch(name, kernels.memory_us(rank, nbytes, "softmax"), grid=(x.n // x.shape[-1], 1, 1))


def softmax(rank, x):
    with rank.op("aten::softmax", x, "-1", ""):
        with rank.op("aten::_softmax", x, "-1", "False", back="SoftmaxBackward0") as e:
            softmax_kernel(rank, x, "forward")

    def undo():
        with rank.op("aten::_softmax_backward_data", x, x, "-1", ""):
            softmax_kernel(rank, x, "backward")
    ops.undo(rank, e, "SoftmaxBackward0", undo)


def dropout(rank, x, p):
    mask, node = Tensor(x.shape, "bool"), "NativeDropoutBackward0"
    with rank.op("aten::dropout", x, f"{p:g}", "True"):
        with rank.op("aten::native_dropout", x, f"{p:g}", "True", back=node) as e:
            rank.launch(named("dropout", x.dtype),
                        kernels.memory_us(rank, 2 * x.bytes + mask.bytes, "dropout"),
                        grid=(-(-x.n // 2048), 1, 1), block=(256, 1, 1))

    def undo():
        with rank.op("aten::native_dropout_backward", x, mask, "1.1111111111111112"):
            kernels.elementwise(rank, "masked_scale", x.dtype, 3, 2 * x.bytes + mask.bytes)
    ops.undo(rank, e, node, undo)


def hand_attention(rank, q, k, fault, frame):
    """softmax(q k' / sqrt(d)) v by single operators, with what masks and dropout the model has."""
    b, h, s, d = q.shape
    keys = k.shape[2]
    scores, flat = Tensor((b, h, s, keys), q.dtype), Tensor((b * h, keys, d), q.dtype)
    with rank.frame(frame):
        with rank.op("aten::matmul", q, k.t()):
            ops.bmm(rank, Tensor((b * h, s, d), q.dtype), flat.t(), "BmmBackward0")
        if fault.get("scale", True):
            ops.pointwise(rank, "div", scores, SCALE, back=("DivBackward0", ("div", scores, SCALE)))
        if fault.get("mask") == "masked_fill":
            mask = Tensor((1, 1, s, keys), "bool")
            ops.pointwise(rank, "masked_fill", scores, mask, "-inf",
                          back=("MaskedFillBackward0", ("masked_fill", scores, mask, "0")))
        elif fault.get("mask") == "add":
            ops.pointwise(rank, "add", scores, Tensor((b, 1, s, keys), q.dtype), "1",
                          back=("AddBackward0",))
        softmax(rank, scores)
        if fault.get("dropout"):
            dropout(rank, scores, fault["dropout"])
        with rank.op("aten::matmul", scores, k):
            ops.bmm(rank, Tensor((b * h, s, keys), q.dtype), flat, "BmmBackward0")


# ---- norms, rotary embeddings, activations ------------------------------------------------------

def cast(rank, x, dtype):
    """x.to(dtype)."""
    out, code, node = Tensor(x.shape, dtype), CASTS[dtype], "ToCopyBackward0"

    def move(a, b):
        with rank.op("aten::copy_", b, a, "False"):
            kernels.elementwise(rank, "copy", x.dtype, 2, x.bytes + out.bytes)
    with rank.op("aten::to", x, code, "False", "False", ""):
        with rank.op("aten::_to_copy", x, code, "", "", "", "False", "", back=node) as e:
            move(x, out)
    ops.undo(rank, e, node, lambda: move(out, x))


def hand_norm(rank, x, frame):
    """RMSNorm in fp32 by single operators."""
    f, row = Tensor(x.shape, "float"), Tensor(x.shape[:-1] + (1,), "float")
    w = Tensor(x.shape[-1:], x.dtype)
    with rank.frame(frame):
        cast(rank, x, "float")
        ops.pointwise(rank, "pow", f, "2", back=(
            "PowBackward0", ("mul", f, "2"), ("mul", f, f), ("add", f, f, "1")))
        ops.reduction(rank, "mean", f, back=("MeanBackward1", ("div", f, "4096")))
        ops.pointwise(rank, "add", row, "1e-06", "1", back=("AddBackward0",))
        ops.pointwise(rank, "rsqrt", row, back=(
            "RsqrtBackward0", ("pow", row, "3"), ("mul", row, row)))
        ops.pointwise(rank, "mul", f, row, back=("MulBackward0", ("mul", f, row), ("mul", f, f)))
        cast(rank, f, x.dtype)
        ops.pointwise(rank, "mul", w, x, back=("MulBackward0", ("mul", x, w), ("mul", x, x)))
    return x


def hand_rope(rank, t, frame):
    """x cos + rotate_half(x) sin."""
    b, h, s, d = t.shape
    half, table = Tensor((b, h, s, d // 2), t.dtype), Tensor((1, 1, s, d), t.dtype)
    with rank.frame(frame):
        ops.pointwise(rank, "mul", t, table, back=("MulBackward0", ("mul", t, table)))
        with rank.frame(frame.split("(")[0] + "(63): rotate_half"):
            ops.pointwise(rank, "neg", half, back=("NegBackward0", ("neg", half)))
            with rank.op("aten::cat", [half, half], "-1", back="CatBackward0") as e:
                rank.launch(named("cat"), kernels.memory_us(rank, 2 * t.bytes, "cat"),
                            grid=(264, 2, 1), block=(512, 1, 1))
        ops.undo(rank, e, "CatBackward0", lambda: None)
        ops.pointwise(rank, "mul", t, table, back=("MulBackward0", ("mul", t, table)))
        ops.pointwise(rank, "add", t, t, "1", back=("AddBackward0",))


# Activations written by hand: (operator, second operand); x is the tensor itself.
CHAINS = {
    "gelu_new": [("pow", "3"), ("mul", "0.044715"), ("add", "x"), ("mul", "0.79788456080286541"),
                 ("tanh", None), ("add", "1"), ("mul", "x"), ("mul", "0.5")],
    "mish": [("exp", None), ("add", "1"), ("log", None), ("tanh", None), ("mul", "x")],
    "squared_relu": [("relu", None), ("square", None), ("mul", "x")],
}
NODES = {"pow": "PowBackward0", "mul": "MulBackward0", "add": "AddBackward0", "exp": "ExpBackward0",
         "tanh": "TanhBackward0", "log": "LogBackward0", "relu": "ReluBackward0",
         "square": "PowBackward0"}


def chain(rank, h, form, frame):
    with rank.frame(frame):
        for what, other in CHAINS[form]:
            args = (h,) if other is None else (h, h) if other == "x" else (h, other)
            if what == "add":
                own, args = [], args + ("1",)
            elif what == "tanh":
                own = [("tanh_backward", h, h)]
            elif what == "mul":
                own = [("mul", *args)]
            else:
                own = [("mul", h, h)]
            if what == "mul" and other == "x":
                own += [("mul", h, h), ("add", h, h, "1")]
            ops.pointwise(rank, what, *args, back=(NODES[what], *own))


# ---- layouts, optimizers ------------------------------------------------------------------------

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
    file = f"torch/optim/{name.lower()}.py"
    with rank.range(f"Optimizer.step#{name}.step"):
        with rank.frame("torch/optim/optimizer.py(501): wrapper"), rank.frame(f"{file}(231): step"):
            with rank.frame(f"{file}(388): _single_tensor_{name.lower()}"):
                for p in params:
                    ops.pointwise(rank, "mul", p, "0.99999", name="mul_")
                    ops.pointwise(rank, "lerp", p, p, "0.1", name="lerp_")
                    ops.pointwise(rank, "mul", p, "0.95", name="mul_")
                    ops.pointwise(rank, "addcmul", p, p, p, "0.05", name="addcmul_")
                    ops.pointwise(rank, "sqrt", p)
                    ops.pointwise(rank, "div", p, "0.9", name="div_")
                    ops.pointwise(rank, "add", p, "1e-08", "1", name="add_")
                    ops.pointwise(rank, "addcdiv", p, p, p, "-0.001", name="addcdiv_")
