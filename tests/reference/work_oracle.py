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


def layer_norm(call):
    x = call.given(0)[0]
    shape = ast.literal_eval(call.values[1])
    n, c = math.prod(x.dims), math.prod(shape)
    rows, affine = n // c, len(call.given(2, 3))
    return 5 * n + 6 * rows, read(x) + (n + c * affine) * SIZES[x.dtype] + 8 * rows


def layer_norm_backward(call):
    gradient, x = call.given(0, 1)
    shape, mask = ast.literal_eval(call.values[2]), ast.literal_eval(call.values[7])
    n, c = math.prod(x.dims), math.prod(shape)
    vectors = len(call.given(5)) + mask[1] + mask[2]
    return (9 if mask[0] else 6) * n, read(gradient, x) + \
        (mask[0] * n + c * vectors) * SIZES[x.dtype] + 8 * (n // c)


def library_batch_norm_backward(call):
    x, gradient = call.given(0, 1)
    n, c = math.prod(x.dims), x.dims[1]
    affine = 3 * len(call.given(2))
    return 9 * n, read(x, gradient) + (n + c * (1 + affine)) * SIZES[x.dtype]


OTHERS = {"copy_": copy, "where": where, "masked_fill_": masked_fill, "fill_": written,
          "normal_": written, "cat": cat, "_foreach_copy_": foreach_copy, "arange": arange,
          "all": lambda c: reduced(c, 1, 1), "argmax": lambda c: reduced(c, 8, 1),
          "_local_scalar_dense": scalar, "max_pool2d_with_indices": pool,
          "max_pool2d_with_indices_backward": pool_backward, "index_select": index_select,
          "gather": lambda c: looked_up(c, lambda t, i: math.prod(i.dims)), "_softmax": softmax,
          "layer_norm": layer_norm, "native_layer_norm": layer_norm,
          "native_layer_norm_backward": layer_norm_backward,
          "miopen_batch_norm_backward": library_batch_norm_backward}


def work(row):
    """(FLOPs, bytes) of a row of unified_perf_summary or a table of a family; None: not known."""
    name = row["name"].split("->")[0]
    call = Call(row, "" if "Input Dims" in row else "_first")
    if name.startswith("triton_poi_fused__unsafe_view_add_"):
        x = call.given(*range(3))
        return math.prod(x[0].dims), read(*x)
    name = name.removeprefix("aten::")
    if name.rstrip("_") in POINTWISE:
        return pointwise(name, call)
    return OTHERS[name](call) if name in OTHERS else None


def is_right(row, found):
    """Whether the figures of a row are those."""
    suffix = "" if "Data Moved (MB)" in row else "_first"
    have = (row["GFLOPS" + suffix], row["Data Moved (MB)" + suffix])
    return "" not in have and round(float(have[0]) * 1e9) == found[0] and \
        round(float(have[1]) * (1 << 20)) == found[1]
