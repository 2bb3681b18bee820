"""Every row of data/aten_ops.tsv with made-up operands, against bytes and operations that are
counted here: addresses read, elements written, one by one.

Three forms of an operation are tried where it has them: as it is, in place and over lists; and each
once with operands that are expanded, of which the elements in memory are fewer.
"""
import collections
import itertools
import math
import re
import sys
import pathlib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, document, kernel, launch, op

Row = collections.namedtuple("Row", "op inputs result at types operations")
SIZE = {"float": 4, "c10::Half": 2, "c10::BFloat16": 2, "bool": 1, "long int": 8, "double": 8,
        "int": 4, "unsigned char": 1}
NUMBER = {"3": 4, "5": 2, "7": 8}  # types by number: int, half, double


def table():
    for line in (ROOT / "data/aten_ops.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, inputs, result, types, operations, _ = line.split("\t")
            kind, _, at = result.partition(":")
            yield Row(name, inputs, kind, int(at or 0), types, int(operations))


class Tensor:
    """A tensor by its sizes and strides: what it has in memory is counted address by address."""

    def __init__(self, dims, dtype="float", strides=None):
        self.dims, self.dtype = tuple(dims), dtype
        self.strides = strides
        if strides is None:
            self.strides = tuple(math.prod(self.dims[i + 1:]) for i in range(len(self.dims)))

    def expanded(self):
        """The first dimension repeats one row."""
        return Tensor(self.dims, self.dtype, (0,) + self.strides[1:]) if self.dims else self

    @property
    def n(self):
        return math.prod(self.dims)

    def addresses(self):
        return {sum(i * s for i, s in zip(index, self.strides))
                for index in itertools.product(*map(range, self.dims))}

    @property
    def read(self):
        return len(self.addresses()) * SIZE[self.dtype]


class List(list):
    """A list of tensors of one type, which only the kernel's name shows."""
    dtype = "TensorList"

    def __init__(self, *tensors):
        super().__init__(tensors)
        self.element = SIZE[tensors[0].dtype]

    @property
    def n(self):
        return sum(t.n for t in self)

    @property
    def read(self):
        return sum(t.read for t in self)

    def expanded(self):
        return List(*(t.expanded() for t in self))


def size(operand):
    return operand.element if isinstance(operand, List) else SIZE[operand.dtype]


# ---- operands

def dimensions(name):
    """Over how many dimensions a window goes: the digit before the d."""
    found = re.search(r"([123])d", name)
    return int(found[1]) if found else 2


def first_shape(row):
    d = dimensions(row.op)
    return {"pool": (2, 3) + (9, 8, 7)[:d], "avgpool": (2, 3) + (9, 8, 7)[:d],
            "spatial": (2, 3) + (4, 5, 6)[:d], "grid": (2, 3) + (4, 5, 6)[:d],
            "repeat": (4, 6), "triangle": (2, 4, 6), "pad": (4, 6)}.get(row.result, (4, 6))


def values(row):
    """Concrete values by position, as text."""
    p, d = row.at, dimensions(row.op)
    return {
        "dims": {p: "[1]", p + 1: "True"}, "axis": {p: "1", p + 1: "False"}, "last": {p: "0"},
        "list": {p: "[3, 5]"}, "number": {p: "7"}, "times": {p: "5"}, "repeat": {p: "[2, 1, 3]"},
        "interleave": {1: "2"}, "triangle": {p: "1"}, "pad": {p: "[1, 2]"},
        "spatial": {p: str(list((8, 10, 3)[:d]))},
        "pool": {p: str([3] * d), p + 1: str([2] * d), p + 2: str([1] * d), p + 3: str([1] * d),
                 p + 4: "False"},
        "avgpool": {p: str([2] * d), p + 1: str([3] * d), p + 2: str([1] * d), p + 3: "True"},
        "loss": {p: "0"}, "topk": {p: "2", p + 1: "1"}, "rows": {p: "3"}, "along": {1: "1"},
        "bag": {7: "False"}, "table": {p: "9"},
    }.get(row.result, {})


def shape_of(row, i, role):
    d = dimensions(row.op)
    if i == 0:
        return first_shape(row)
    if row.result == "grid" and i == row.at:
        return (2,) + (6, 7, 2)[:d] + (d,)
    if row.result == "loss":
        return (4,) if role == "a" and i == 1 else (6,)
    if row.result in ("index", "put"):
        return (5,) if i == 1 else (5, 6)
    if row.result == "along":
        return (5,)
    if row.result == "bag":
        return {1: (7,), 2: (3,)}.get(i, (1,))
    if row.result == "at" and i == row.at:
        return (3, 5)
    return {"r": (6,), "c": (4, 1), "g": (4, 5)}.get(role, (3, 2))


def type_of(row, i, role):
    if role == "c":
        return "bool"
    if i and role == "a" and row.result in ("loss", "index", "put", "along", "bag", "at"):
        return "long int"
    return "c10::Half" if i == 0 else "float" if i == 1 else "c10::Half"


def operands(row):
    """Tensors, lists and texts of numbers, by position."""
    texts, out = values(row), []
    if row.result == "range":
        return ["0", "10", "3", Tensor((0,), "long int")]
    if row.op == "index":
        return [Tensor((4, 6), "c10::Half"), Tensor((5,), "long int")]
    for i, role in enumerate(row.inputs):
        if i in texts and role in "-ra":
            out.append(texts[i])
        elif role == "-" and row.result == "put" and i == row.at:
            out.append(Tensor((3,), "long int"))
        elif role == "-":
            out.append(None)
        elif role in "RAMO":
            out.append(List(Tensor((4, 6), "c10::Half"), Tensor((3, 6), "c10::Half")))
        else:
            out.append(Tensor(shape_of(row, i, role), type_of(row, i, role)))
    return out


# ---- what must come out

def broadcast(tensors):
    shape = []
    for t in tensors:
        dims = [1] * (len(shape) - len(t.dims)) + list(t.dims)
        shape = [1] * (len(dims) - len(shape)) + shape
        shape = [max(a, b) for a, b in zip(dims, shape)]
    return math.prod(shape)


def windows(row, given):
    """How many windows begin at a place where one may: counted by stepping."""
    d, shape, count = dimensions(row.op), given[0].dims, 1
    for size_ in shape[-d:]:
        k, s, p, up = (3, 2, 1, False) if row.result == "pool" else (2, 3, 1, True)
        starts = 0
        place = -p
        while place + k <= size_ + p or (up and place < size_):
            starts += 1
            place += s
        count *= starts
    return math.prod(shape[:-d]) * count, (3 if row.result == "pool" else 2) ** d


def results(row, given):
    """(elements of a result, elements looked up, elements of a window, elements read of the first)"""
    x = given[0] if given and not isinstance(given[0], (str, type(None))) else None
    kind, p = row.result, row.at
    n = x.n if x else 0
    if kind == "same":
        lists = [g for g in given if isinstance(g, List)]
        shapes = [g for g, r in zip(given, row.inputs) if isinstance(g, Tensor) and r in "rc"]
        return (lists[0].n if lists else broadcast(shapes)), None, 1, None
    if kind in ("pool", "avgpool"):
        count, window = windows(row, given)
        return count, None, window, None
    if kind == "triangle":
        lower = row.op == "tril"
        kept = sum(1 for i in range(4) for j in range(6) if (j <= i + 1 if lower else j >= i + 1))
        return n, None, 1, 2 * kept
    if kind == "loss":
        return 4, 4, 1, None
    if kind == "bag":
        return 3 * 6, 7 * 6, 1, None
    d = dimensions(row.op)
    return {
        "none": 0, "one": 1, "at": given[p].n if kind == "at" else 0, "dims": 4, "axis": 4,
        "last": 6, "list": 15, "number": 7, "range": 4, "sum": n, "each": 2, "half": 12,
        "times": 5 * n, "repeat": 6 * n, "interleave": 2 * n, "pad": 4 * 9,
        "spatial": 6 * math.prod((8, 10, 3)[:d]), "grid": 6 * math.prod((6, 7, 2)[:d]),
        "topk": 4 * 2, "rows": 4 * 3, "index": 5 * 6, "along": 4 * 5, "put": 3 * 6,
        "table": 9 * 6,
    }[kind], None, 1, None


def promoted(row, given):
    """In which size results are: bool, integer, floating types, the wider of one kind."""
    sizes = [(("bool", "long int", "c10::Half", "float").index(g.dtype), size(g))
             for g, r in zip(given, row.inputs) if isinstance(g, Tensor) and r in "rgx"]
    lists = [size(g) for g in given if isinstance(g, List)]
    return lists[0] if lists else max(sizes)[1] if sizes else None


def type_sizes(row, given):
    out = []
    for t in row.types.split(","):
        if t == "-":
            continue
        if t[0] == "n":
            at = int(t[1:])
            if at < len(given) and given[at] in NUMBER:
                return out + [NUMBER[given[at]]]
            continue
        fixed = {"bool": 1, "byte": 1, "long": 8, "f": 4}
        out.append(fixed[t] if t in fixed else size(given[int(t)]) if t.isdigit() else
                   promoted(row, given) * (2 if t == "pair" else 1))
        if row.types.startswith("n"):
            break
    return out


def expected(row, given, in_place=False, output=None):
    count, picked, window, read_first = results(row, given)
    picked = count if picked is None else picked
    total, first = 0, given[0] if given else None
    for i, (g, role) in enumerate(zip(given, row.inputs)):
        if isinstance(g, (str, type(None))):
            continue
        if role == "-" and row.result != "put":
            continue
        if role in "rcaRA-":
            read = g.read if row.result != "triangle" else min(g.read, read_first * size(g))
            total += read
        elif role in "mMO":
            total += 2 * g.read
        elif role == "w":
            total += g.n * size(g)
        elif role == "g":
            total += min((picked if i == 0 else count) * size(g), g.read)
        elif role == "x":
            if not in_place:
                total += g.read
            elif row.operations:
                total += min(count, g.n) * size(g)
    if row.op == "index":
        total += given[1].read
    if in_place:
        total += (min(count, first.n) if row.inputs[0] == "x" else first.n) * size(first)
    elif row.inputs[:1] == "x":
        total += first.n * size(first)
    else:
        sizes = type_sizes(row, given)
        if output is not None:
            sizes = sizes[:-1] + [output]
        if row.result == "range":
            sizes = [8]
        total += count * sum(sizes)
    if row.result in ("none", "one", "dims", "axis", "last", "each", "number"):
        computed = first.n if first is not None and not isinstance(first, str) else 0
    elif row.result == "loss":
        computed = picked if row.inputs[0] == "g" else first.n
    elif row.result == "bag":
        computed = picked
    else:
        computed = first.n if in_place and row.inputs[0] != "x" else count * window
    return total, row.operations * computed


# ---- the trace

def arguments(given):
    dims, types, strides, concrete = [], [], [], []
    for g in given:
        tensors = isinstance(g, List)
        dims.append([list(t.dims) for t in g] if tensors else
                    list(g.dims) if isinstance(g, Tensor) else [])
        strides.append([list(t.strides) for t in g] if tensors else
                       list(g.strides) if isinstance(g, Tensor) else [])
        types.append("" if g is None else "Scalar" if isinstance(g, str) else g.dtype)
        concrete.append(g if isinstance(g, str) else "")
    return {"Input Dims": dims, "Input type": types, "Input Strides": strides,
            "Concrete Inputs": concrete}


FAMILIES = {line.split("\t")[0] for line in
            (ROOT / "data/op_models.tsv").read_text().splitlines() if line[:1] != "#"}
KERNEL = "multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor<c10::Half, 1, 1, 1>>(int)"


class AtenOperations(Case):
    @classmethod
    def setUpClass(cls):
        cls.rows = {r.op: r for r in table()}

    def forms(self):
        """(name, row, operands, in place, size of a given output) of each form of each row."""
        for row in self.rows.values():
            given = operands(row)
            yield row.op, row, given, False, None
            yield row.op, row, [g.expanded() if isinstance(g, (Tensor, List)) and r in "rcag" else g
                                for g, r in itertools.zip_longest(given, row.inputs,
                                                                  fillvalue="-")], False, None
            pointwise = row.result == "same" and row.inputs[0] == "r" and row.inputs[-1:] != "_"
            if (pointwise or row.inputs[0] == "x") and row.op + "_" not in self.rows and \
                    not row.op.endswith("_"):
                yield row.op + "_", row, given, True, None
            if pointwise and "," not in row.types and row.op + "_" not in self.rows:
                full = given + [None] * (len(row.inputs) - len(given))
                yield row.op + ".out", row, full + [Tensor((0,), "double")], False, 8
            if pointwise and set(row.inputs) <= {"r", "-"} and row.types == "in" and \
                    row.op + "_" not in self.rows and not row.op.startswith("_"):
                lists = [List(Tensor((4, 6), "c10::Half"), Tensor((3,), "c10::Half"))
                         if r == "r" else g for g, r in zip(given, row.inputs)]
                yield "_foreach_" + row.op, row, lists, False, None
                yield "_foreach_" + row.op + "_", row, lists, True, None

    def test_every_row_in_all_forms(self):
        # Some have a model of a family, which is tested apart.
        forms, events = [f for f in self.forms() if "aten::" + f[0].split(".")[0] not in FAMILIES], []
        for i, (name, _, given, _, _) in enumerate(forms):
            ts = 1000 + 100 * i
            events += [op("aten::" + name, ts, 40, **arguments(given)), launch(ts + 5, 5, i + 1),
                       kernel(KERNEL, ts + 50, 10, i + 1)]
        self.assertGreater(len(forms), 2 * len(self.rows))
        rep = self.report(document(events))
        found = collections.defaultdict(list)
        for r in rep.table("unified_perf_summary"):
            found[int(r["ex_UID"]) // 3].append(r)
        wrong = []
        for i, (name, row, given, in_place, output) in enumerate(forms):
            # Equal forms share a row, by the first of them.
            want = expected(row, given, in_place, output)
            (r,) = found.get(i) or found[min(k for k in range(len(forms)) if k in found and
                                             forms[k][0] == name and arguments(forms[k][2]) ==
                                             arguments(given))]
            have = tuple(None if r[c] == "" else round(float(r[c]) * unit)
                         for c, unit in (("Data Moved (MB)", 1 << 20), ("GFLOPS", 10**9)))
            if have != want:
                wrong.append(f"{name} {arguments(given)}: {have}, not {want}")
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(forms)}")

    def test_rows_are_of_operations(self):
        for row in self.rows.values():
            self.assertRegex(row.op, r"^_{0,2}[a-z][a-z0-9_]*$")
            self.assertLessEqual(len(row.inputs), 12)
            # A type by position is that of an operand.
            for t in row.types.split(","):
                if t.isdigit():
                    self.assertIn(row.inputs[int(t)], "rcamswgx", row.op)


if __name__ == "__main__":
    unittest.main()
