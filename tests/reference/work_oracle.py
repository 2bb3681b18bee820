"""FLOPs and bytes of operations from their recorded arguments, worked out a second time, for the
rows of real traces in which trawl differs from TraceLens on purpose or has figures where that has
none. Slow and obvious: a formula for each operation, from the definition.
"""
import ast
import collections
import math
import re

SIZES = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "double": 8, "long int": 8, "int": 4,
         "bool": 1, "unsigned char": 1, "long": 8}
Tensor = collections.namedtuple("Tensor", "dims strides dtype")


def distinct(t):
    """Elements in memory: those of an expanded dimension are one. Nothing overlaps otherwise."""
    if len(t.strides) != len(t.dims):
        return math.prod(t.dims)
    return math.prod(d for d, s in zip(t.dims, t.strides) if s or not d)


def read(*tensors):
    return sum(distinct(t) * SIZES[t.dtype] for t in tensors)


def elements(*tensors):
    """Of the shape that they broadcast to."""
    rank = max(len(t.dims) for t in tensors)
    shapes = [(1,) * (rank - len(t.dims)) + t.dims for t in tensors]
    return math.prod(max(sizes) if 0 not in sizes else 0 for sizes in zip(*shapes))


def widest(*tensors):
    """Those with dimensions decide, where there are any."""
    shaped = [t for t in tensors if t.dims] or tensors
    return max(SIZES[t.dtype] for t in shaped)


class Call:
    """The arguments of a row: tensors by position, None elsewhere; values as text."""

    def __init__(self, row, suffix):
        cell = {c: ast.literal_eval(row[c + suffix] or "()")
                for c in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")}
        dims, strides = cell["Input Dims"], cell["Input Strides"]
        self.name = row["name"].split("->")[0].split("::")[-1]
        self.values, self.types = cell["Concrete Inputs"], cell["Input type"]
        self.dims, self.strides = dims, strides
        self.tensors = [Tensor(tuple(d), strides[i] if i < len(strides) else (), t)
                        if t in SIZES else None
                        for i, (d, t) in enumerate(zip(dims, self.types))]
        details = row.get("kernel_details_summary") or \
            row.get("kernel_details__summarize_kernel_stats") or ""
        self.sizes = [int(x) for x in re.findall(r"OpaqueType<(\d+)", details)[:1]] or \
            [SIZES[x] for y in re.findall(r"(?:Copy|Op)Functor<([\w:]+)(?:, (long|int|float))?",
                                          details)[:1] for x in y if x in SIZES]

    def given(self, *positions):
        return [self.tensors[p] for p in positions
                if p < len(self.tensors) and self.tensors[p]]

    def lists(self, position):
        return [math.prod(d) for d in self.dims[position]], \
            [distinct(Tensor(d, s, None))
             for d, s in zip(self.dims[position], self.strides[position])]


# Operations of an element, and bytes of one of the result (None: as the inputs).
POINTWISE = {"gelu": (1, None), "tanh": (1, None), "exp": (1, None), "cos": (1, None),
             "sin": (1, None), "log": (1, None), "elu": (1, None), "clamp": (1, None),
             "abs": (1, None), "sub": (1, None), "eq": (1, 1), "lt": (1, 1), "gt": (1, 1),
             "mse_loss": (2, None), "mse_loss_backward": (3, None), "mul": (1, None),
             "add": (1, None), "div": (1, None)}


def pointwise(name, call):
    inputs = call.given(*range(3 if name.startswith("mse_loss_b") else 2))
    if name == "abs":
        inputs = inputs[:1]
    n, (flops, size) = elements(*inputs), POINTWISE[name.rstrip("_")]
    size = SIZES[inputs[0].dtype] if name.endswith("_") else size or widest(*inputs)
    # A number passed by value counts as TraceLens does in its own models.
    number = 4 if name.rstrip("_") in ("mul", "add", "div") and len(inputs) == 1 else 0
    return flops * n, read(*inputs) + number + n * size


def copy(call):
    to, source = call.given(0, 1)
    n = math.prod(to.dims)
    return n, n * SIZES[to.dtype] + read(source)


def where(call):
    inputs, values = call.given(0, 1, 2), call.given(1, 2)
    return 0, read(*inputs) + elements(*inputs) * widest(*values)


def masked_fill(call):
    x, mask = call.given(0, 1)
    return 0, 2 * read(x) + read(mask)


def written(call):
    x = call.given(0)[0]
    return 0, math.prod(x.dims) * SIZES[x.dtype]


def cat(call):
    n, own = call.lists(0)
    return (0, (sum(n) + sum(own)) * call.sizes[0]) if n else None


def foreach_copy(call):
    n, _ = call.lists(0)
    return (0, sum(n) * (call.sizes[0] + call.sizes[-1])) if n else None


def arange(call):
    start, end, step = (float(v) for v in call.values[:3])
    return 0, math.ceil((end - start) / step) * SIZES[call.types[3]]


def reduced(call, size, dim_at):
    x = call.given(0)[0]
    dim = call.values[dim_at] if dim_at < len(call.values) else ""
    left = math.prod(x.dims) // x.dims[int(dim)] if dim else 1
    return math.prod(x.dims), read(x) + left * size


def scalar(call):
    x = call.given(0)[0]
    return 0, 2 * SIZES[x.dtype]


def pool(call):
    x = call.given(0)[0]
    n = math.prod(x.dims[:-2])
    window, stride, padding = (ast.literal_eval(v) for v in call.values[1:4])
    for size, k, s, p in zip(x.dims[-2:], window, stride, padding):
        n *= (size + 2 * p - k) // s + 1
    return n * math.prod(window), read(x) + n * (SIZES[x.dtype] + 8)


def pool_backward(call):
    gradient, x, indices = call.given(0, 1, 7)
    n = math.prod(x.dims)
    return n, read(gradient, indices) + n * SIZES[x.dtype]


def looked_up(call, picks):
    table, indices = call.given(0, 2)
    n = picks(table, indices)
    most = min(n, distinct(table))
    return 0, (most + n) * SIZES[table.dtype] + read(indices)


def index_select(call):
    dim = int(call.values[1])
    return looked_up(call, lambda t, i: math.prod(t.dims) // t.dims[dim] * math.prod(i.dims))


def softmax(call):
    x = call.given(0)[0]
    n = math.prod(x.dims)
    size = 4 if call.values[2] == "True" else SIZES[x.dtype]
    return 5 * n, read(x) + n * size


def reduction(call):
    """Number of elements left, and the work; max and min of two tensors are a comparison for each result."""
    inputs = call.given(0, 1)
    x, picks = inputs[0], call.name in ("max", "min")
    if picks and len(inputs) == 2:
        n = elements(*inputs)
        return n, n, read(*inputs) + n * SIZES[x.dtype]
    at = 2 if "norm" in call.name else 1
    text = call.values[at] if at < len(call.values) else ""
    dims = ast.literal_eval(text) if text[:1] == "[" else [int(text)] if text and picks else []
    kept = [d for i, d in enumerate(x.dims) if i not in [k % len(x.dims) for k in dims]] if dims else []
    left = math.prod(x.dims if call.name.startswith("cum") else kept)
    # Where they were is a result of those of one dimension, too.
    return left, math.prod(x.dims), read(x) + left * (SIZES[x.dtype] + 8 * (picks and len(dims) > 0))


def convolution(call):
    """Each output is a product over the weight's other dimensions; not transposed."""
    x, weight, *bias = call.given(0, 1, 2)
    stride, padding, dilation = (ast.literal_eval(v) for v in call.values[3:6])
    assert call.values[6] == "False"
    sizes = [(size + 2 * p - d * (k - 1) - 1) // s + 1
             for size, k, s, p, d in zip(x.dims[2:], weight.dims[2:], stride, padding, dilation)]
    n = x.dims[0] * weight.dims[0] * math.prod(sizes)
    return 2 * math.prod(weight.dims[1:]) * n + n * len(bias), read(x, weight, *bias) + n * SIZES[x.dtype]


def convolution_backward(call):
    """A product as large as the forward one, and all three tensors, for each of the gradients that are asked for."""
    out, x, weight = call.given(0, 1, 2)
    asked = ast.literal_eval(call.values[-1])
    assert not asked[2] and call.values[9] == "1"
    return 2 * sum(asked) * math.prod(weight.dims[1:]) * math.prod(out.dims), sum(asked) * read(out, x, weight)


class Norm:
    """A normalization: what is normalized, its weight, bias, flag of training, gradients that are asked for."""

    def __init__(self, call):
        self.name, self.tensors, backward = call.name, call.given, call.name.endswith("backward")
        library = call.name.startswith(("miopen", "cudnn"))
        self.batch = "batch_norm" in call.name or call.name == "instance_norm"
        self.rms = "rms" in call.name
        self.dy = call.given(1 if library else 0) if backward else []
        self.x, = call.given(1 if backward and not library else 0)
        self.n, self.c = math.prod(self.x.dims), self.x.dims[1]
        first = {"layer_norm": (2, 3), "native_layer_norm": (2, 3), "group_norm": (2, 3), "_groupnorm_run": (2, 3),
                 "native_layer_norm_backward": (5, 6), "native_group_norm_backward": (4,),
                 "native_batch_norm_backward": (2,), "_fused_rms_norm": (2,), "_fused_rms_norm_backward": (4,),
                 "miopen_batch_norm_backward": (2,)}.get(call.name, (1, 2))
        self.affine = len(call.given(first[0]))
        self.bias = len(call.given(first[1])) if len(first) > 1 else self.affine * (not self.rms)
        self.running, self.training, self.mask = len(call.given(3)), not self.rms, []
        if "layer" in self.name or self.rms:
            self.c = math.prod(ast.literal_eval(call.values[2 if backward else 1]))
        if self.batch:
            self.training = library and backward or call.values[7 if backward else 5] == "True"
        if backward:
            self.mask = [True] * 3 if library else ast.literal_eval(call.values[-1])
        if "group" in call.name:
            self.statistics = self.x.dims[0] * int(call.values[{"native_group_norm": 6,
                                                                "native_group_norm_backward": 8}.get(call.name, 1)])
            self.bias = self.mask[2] if backward else self.bias
        else:
            self.statistics = self.c if self.batch else self.n // self.c
        if call.name == "instance_norm" and self.training:
            self.statistics *= self.x.dims[0]

    def forward(self):
        """Sum and sum of squares are three operations of an element, scaling and shifting two; six a statistic."""
        n, affine = self.n, self.affine + self.affine * self.bias
        if self.rms:
            return 3 * n + 2 * self.statistics + n * self.affine, (n + self.c * self.affine, 0)
        flops = (5 if self.training else 2) * n + 6 * self.statistics
        # Running statistics are updated where there are any; without training they are what is read.
        running = 2 * self.c * (self.batch and self.training and self.running > 0)
        return flops, (n + self.c * affine + running, 2 * self.statistics)

    def backward(self):
        n, asked = self.n, self.mask[0]
        if self.rms:
            weight = self.affine * n + (len(self.mask) > 1 and self.mask[1]) * n * (1 + (self.statistics > 1))
            return n + weight + 6 * n * asked, (asked * n + self.c * (self.affine + self.mask[1]), 0)
        assert self.training
        if self.batch:
            # Weight and its and the bias's gradients come together; one statistic of each channel is read.
            vectors, kept = 3 * self.affine, self.statistics
        else:
            vectors, kept = self.affine + self.mask[1] + self.mask[2], 2 * self.statistics
        return (9 if asked else 6) * n, (asked * n + self.c * vectors, kept)

    def work(self):
        flops, (others, kept) = self.backward() if self.mask else self.forward()
        size = SIZES[self.x.dtype]
        # Layer norm keeps its statistics in float at least.
        own = max(4, size) if "layer" in self.name else size
        return flops, read(self.x, *self.dy) + others * size + kept * own

    def parameters(self):
        mask = self.mask[:1] if self.batch else self.mask
        return {"op_shape": self.x.dims, "dtype_in_out": (self.x.dtype, None),
                "stride_input": tuple(self.x.strides), "stride_output": None, "num_channels": self.c,
                "has_bias": bool(self.bias), "is_affine": bool(self.affine), "is_training": bool(self.training),
                "output_mask": mask or ""}


def upsampled(call):
    """Input, and shape of the result: by its sizes, or by factors."""
    x = call.given(0)[0]
    sizes = ast.literal_eval(call.values[1] or "[]") or \
        [int(d * f) for d, f in zip(x.dims[2:], ast.literal_eval(call.values[2]))]
    return x, (*x.dims[:2], *sizes)


def upsample(call):
    x, shape = upsampled(call)
    return math.prod(shape), read(x) + math.prod(shape) * SIZES[x.dtype]


def parameters(row):
    """What makes a row of a table of a family, beside the name; None: not known."""
    call = Call(row, "")
    if call.name in REDUCTIONS:
        x = call.given(0)[0]
        return {"num_input_elems": math.prod(x.dims), "num_output_elems": reduction(call)[0],
                "dtype_in_out": (x.dtype, None),
                "reduce_type": next((t for t in ("mean", "max", "min", "norm") if t in call.name), "sum")}
    if call.name == "convolution":
        x, weight = call.given(0, 1)
        stride, padding, dilation, transposed, output_padding, groups = map(ast.literal_eval, call.values[3:9])
        return {"convNd": f"conv{len(x.dims) - 2}d", "input_shape": x.dims, "filter_shape": weight.dims,
                "dtype_input_weight": (x.dtype, weight.dtype), "input_stride": tuple(x.strides),
                "weight_stride": tuple(weight.strides), "bias": len(call.given(2)) > 0, "stride": tuple(stride),
                "padding": tuple(padding), "dilation": tuple(dilation), "transposed_conv": transposed,
                "output_padding": tuple(output_padding), "groups": groups}
    if call.name.startswith("upsample_nearest"):
        x, shape = upsampled(call)
        return {"op_shape": shape, "dtype_in_out": (x.dtype, x.dtype), "stride_input": tuple(x.strides),
                "stride_output": None, "input_shape": x.dims, "output_shape": shape}
    return Norm(call).parameters() if call.name in NORMS else None


NORMS = {"batch_norm", "native_batch_norm", "miopen_batch_norm", "instance_norm", "layer_norm", "native_layer_norm",
         "group_norm", "native_group_norm", "_groupnorm_run", "_fused_rms_norm", "native_batch_norm_backward",
         "miopen_batch_norm_backward", "native_layer_norm_backward", "native_group_norm_backward",
         "_fused_rms_norm_backward"}
REDUCTIONS = {"sum", "mean", "max", "min", "linalg_norm", "cumsum"}


OTHERS = {"copy_": copy, "where": where, "masked_fill_": masked_fill, "fill_": written,
          "normal_": written, "cat": cat, "_foreach_copy_": foreach_copy, "arange": arange,
          "all": lambda c: reduced(c, 1, 1), "argmax": lambda c: reduced(c, 8, 1),
          "_local_scalar_dense": scalar, "max_pool2d_with_indices": pool,
          "max_pool2d_with_indices_backward": pool_backward, "index_select": index_select,
          "gather": lambda c: looked_up(c, lambda t, i: math.prod(i.dims)), "_softmax": softmax,
          "convolution": convolution, "convolution_backward": convolution_backward,
          "upsample_nearest1d": upsample, "upsample_nearest2d": upsample,
          **dict.fromkeys(REDUCTIONS, lambda c: reduction(c)[1:]), **dict.fromkeys(NORMS, lambda c: Norm(c).work())}


def work(row):
    """(FLOPs, bytes) of a row of unified_perf_summary or a table of a family; None: not known."""
    name = row["name"].split("->")[0]
    call = Call(row, "" if "Input Dims" in row else "_first")
    if name.startswith("triton_poi_fused__unsafe_view_add_"):
        x = call.given(*range(3))
        return math.prod(x[0].dims), read(*x)
    name = name.split("::")[-1]
    if name.rstrip("_") in POINTWISE:
        return pointwise(name, call)
    return OTHERS[name](call) if name in OTHERS else None
