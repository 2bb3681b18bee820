"""Figures of a reference that are not right, worked out a second time from the trace: times of launches
without an arrow, categories, shares that follow from them, rows that the other program drops. An allowance
with such a reason stands for that value and no other. Slow and plain: tests/property/oracle.py.
"""
import ast
import collections
import csv
import fnmatch
import math
import re
import statistics

import oracle
from test_unified import Rows

# Of data/op_categories.tsv: where TraceLens has "other".
CATEGORIES = {"aten::_flash_attention_forward": "SDPA_fwd"}
CATEGORY_COLUMNS = {"kernel_summary": ("Parent op category", "Parent cpu_op"), "ops_unique_args": ("op category", "name")}
ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
SHORT_NS = 10_000
TYPES = {"computation_time": "compute", "exposed_comm_time": "exposed_comm", "busy_time": "busy",
         "exposed_memcpy_time": "exposed_memcpy", "idle_time": "idle", "total_time": "total",
         "total_comm_time": "comm", "total_memcpy_time": "memcpy"}
STATISTICS = {"mean": statistics.fmean, "median": statistics.median, "min": min, "max": max, "sum": sum,
              "std": lambda v: statistics.stdev(v) if len(v) > 1 else math.nan}
REASONS = {"flash-attention-category", "launches-without-flow", "short-kernels-without-arguments",
           "binary-rounding", "convolution-gradients", "order-of-equal-times", "nested-models"}


def value(text):
    """A cell of arguments: lists and tuples are one; texts as they are."""
    def plain(v):
        return tuple(plain(x) for x in v) if isinstance(v, (list, tuple)) else v
    return plain(ast.literal_eval(text)) if text not in ("", "nan", "None") else ()


def arguments(source, suffix=""):
    """Of a row, or of an event."""
    if isinstance(source, dict):
        return tuple(value(source.get(c + suffix, "")) for c in ARGUMENTS)
    if not hasattr(source, "as_values"):
        source.as_values = tuple(value(repr(source.args[k])) if source.args.get(k) else () for k in ARGUMENTS)
    return source.as_values


def place(source):
    """Name, arguments and thread: what makes a row."""
    if isinstance(source, dict):
        thread = re.match(r"thread (\d+)", source["thread_name"])
        return source["name"], arguments(source), thread and thread[1]
    return source.name, arguments(source), str(source.tid)


def convolution_backward(row):
    """How many gradients of input and weight are asked for, FLOPs and bytes of one; no groups."""
    dims, types, _, concrete = arguments(row) if "Input Dims" in row else arguments(row, "_first")
    out, x, weight = (math.prod(d) for d in dims[:3])
    size = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4}[types[0]]
    return sum(ast.literal_eval(concrete[-1])[:2]), 2 * math.prod(dims[2][1:]) * out, (out + x + weight) * size


def moved(row, suffix):
    """Bytes as the reference has them, which knows some types not."""
    if row["Data Moved (MB)" + suffix] or row["name"] != "aten::copy_":
        return float(row["Data Moved (MB)" + suffix]) * 2**20
    dims, types = arguments(row, suffix)[:2]
    sizes = {"bool": 1, "unsigned char": 1, "short int": 2, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "float": 4,
             "long int": 8, "double": 8}
    return math.prod(dims[0]) * sum(sizes[t] for t in types[:2])


def statistic(column, values):
    """Of "Kernel Time (µs)_mean" and the like; None where the column is no statistic."""
    for name, of in STATISTICS.items():
        if column.endswith("_" + name):
            return of(values) if values else None
    return None


class Truth:
    """What a trace says, GPU events with a recorded launch alone."""

    def __init__(self, path):
        self.trace = oracle.Trace(path)
        self.every = list(self.trace.gpu)
        self.trace.gpu = [g for g in self.trace.gpu if g.launch]
        self.timeline = oracle.timeline(self.trace.gpu)
        self.calls = collections.defaultdict(list)  # by launcher's name: (event, direct, subtree)
        launchers = oracle.launchers(self.trace)
        under = {id(at): [] for at, _ in launchers}
        for g in self.trace.gpu:
            node = g.launch
            while node is not None:
                if id(node) in under:
                    under[id(node)].append(g.span)
                node = node.parent
        for at, own in launchers:
            self.calls[at.name].append((at, oracle.length([g.span for g in own]), oracle.length(under[id(at)])))
        self.own = {n: sum(c[1] for c in calls) for n, calls in self.calls.items()}
        self.total = sum(self.own.values())
        self.by_arguments = collections.defaultdict(list)
        for name, calls in self.calls.items():
            for c in calls:
                self.by_arguments[place(c[0])].append(c)
        self.by_name = collections.defaultdict(list)
        for e in self.trace.host:
            if e.cat == "cpu_op":
                self.by_name[e.name].append(e)
        self.rows = Rows(self.trace)
        self.unified = collections.defaultdict(list)
        for name, e, gpu in self.rows.rows:
            self.unified[name, *place(e)[1:]].append(oracle.length([g.span for g in gpu]))

    # ---- tables

    def gpu_timeline(self, row, column):
        ns = self.timeline.get(TYPES.get(row["type"]))
        if ns is None:
            return None
        return ns / 1e6 if column == "time ms" else 100 * ns / self.timeline["total"]

    def times(self, calls, column):
        which = 1 if "direct" in column else 2
        ns = [c[which] for c in calls]
        return sum(ns) / 1e6 if column.endswith("_ms") else statistic(column, [v / 1e3 for v in ns])

    @staticmethod
    def cumulative(sums, own):
        """Of rows of equal time only which values there are is known, not whose."""
        over, total = sum(s for s in sums if s > own), sum(sums)
        return [100 * (over + k * own) / total for k in range(1, 1 + sums.count(own))]

    def ops_summary(self, row, column):
        calls = self.calls[row["name"]]
        if column == "Percentage (%)":
            return 100 * sum(c[1] for c in calls) / self.total
        if column == "Cumulative Percentage (%)":
            # Equal times stand by name.
            own = (-self.own[row["name"]], row["name"])
            return 100 * sum(s for n, s in self.own.items() if (-s, n) <= own) / self.total
        if column == "Categories" and row["name"] in CATEGORIES:
            return f"['{CATEGORIES[row['name']]}']"
        return self.times(calls, column) if column.startswith("total_") else None

    def ops_unique_args(self, row, column):
        calls = self.by_arguments[place(row)]
        if column == "Percentage (%)":
            return 100 * sum(c[1] for c in calls) / self.total
        if column == "Cumulative Percentage (%)":
            return self.cumulative([sum(c[1] for c in v) for v in self.by_arguments.values()],
                                   sum(c[1] for c in calls))
        return self.times(calls, column) if column.startswith("total_") else None

    def ops_summary_by_category(self, row, column):
        sums, counts = collections.Counter(), collections.Counter()
        for name, calls in self.calls.items():
            for c in calls:
                category = CATEGORIES.get(name) or self.category_of[name, arguments(c[0])]
                sums[category] += c[1]
                counts[category] += 1
        own = sums[row["op category"]]
        return {"Count": counts[row["op category"]], "total_direct_kernel_time_ms": own / 1e6,
                "Percentage (%)": 100 * own / self.total,
                "Cumulative Percentage (%)": 100 * sum(s for s in sums.values() if s >= own) / self.total,
                }.get(column)

    def unified_perf_summary(self, row, column):
        calls = self.unified[place(row)]
        sums = [sum(c) for c in self.unified.values()]
        if column == "Percentage (%)":
            return 100 * sum(calls) / sum(sums)
        if column == "Cumulative Percentage (%)":
            return self.cumulative(sums, sum(calls))
        return self.measured(row, column, calls, "")

    def measured(self, row, column, ns, suffix):
        """Rates of the work that the reference has, in the time that calls have."""
        ran = [t for t in ns if t]
        for prefix, amount in (("TB/s_", lambda: moved(row, suffix)),
                               ("TFLOPS/s_", lambda: float(row["GFLOPS" + suffix]) * 1e9)):
            if column.startswith(prefix):
                return statistic(column, [amount() / t / 1e3 for t in ran]) if ran else math.nan
        if column.startswith("Pct Roofline"):
            return statistic(column, [float(row["Roofline Time (µs)_first"]) * 1e5 / t for t in ran])
        return statistic(column, [t / 1e3 for t in ns]) if column.startswith("Kernel Time") else None

    def family_calls(self, row, family):
        """Times of the calls of a row of a family's table, those inside another of the family aside."""
        out = []
        wanted = arguments(row, "_first")[:3]
        for e in self.by_name[row["name"]]:
            if arguments(e)[:3] != wanted:
                continue
            at = e.parent
            while at is not None and not (at.cat == "cpu_op" and at.name in family):
                at = at.parent
            if at is None:
                out.append(oracle.length([g.span for g in self.rows.gpu(e)]))
        return out

    def short_kernels(self, head, linked):
        """Rows of short kernels that lack an argument of the operation, or the operation."""
        sums, counts = collections.Counter(), collections.Counter()
        for g in self.every:
            at = self.trace.parent_op(g) or g.launch
            args = [at.args.get(k) if at else None for k in ("Input Dims", "Input Strides", "Concrete Inputs")]
            if g.cat == "kernel" and g.dur < SHORT_NS and not all(args):
                key = (at.name if at else "", *(repr(self.tuples(a)) if a else "" for a in args), g.name)
                sums[key] += g.dur
                counts[key] += 1
        total = (self.timeline if linked else oracle.timeline(self.every))["total"]
        for key, ns in sums.items():
            yield dict(zip(head, (*key, ns / 1e3, counts[key], ns / 1e3 / counts[key], 100 * ns / total)))

    @classmethod
    def tuples(cls, v):
        return tuple(cls.tuples(x) for x in v) if isinstance(v, list) else v


class Rules:
    """The allowances of a trace whose values are worked out; `used`: those that changed anything."""

    def __init__(self, path, wanted):
        lines = [l for l in path.read_text().splitlines() if l.strip() and l[0] != "#"] if path.exists() else []
        self.lines = [l.split("\t") for l in lines]
        self.own = [l for l in self.lines if wanted and l[3] in REASONS]
        self.used = set()

    def of(self, sheet, key, column):
        text = " | ".join(key)
        for i, (in_sheet, keys, columns, reason) in enumerate(self.own):
            if in_sheet == sheet and fnmatch.fnmatchcase(text, keys) and fnmatch.fnmatchcase(column, columns):
                return i, reason
        return None, None

    def rest(self, path):
        """Those that the comparison still has to let pass."""
        path.write_text("".join("\t".join(l) + "\n" for l in self.lines if l not in self.own))
        return path

    def unused(self):
        return ["\t".join(l[:3]) for i, l in enumerate(self.own) if i not in self.used]


class Corrected:
    """A copy of a directory of reference tables with what is worked out in place of what is not right."""

    def __init__(self, tool, truth, rules, reference, own, place):
        self.tool, self.truth, self.rules, self.reference, self.own = tool, truth, rules, reference, own
        self.place = place
        truth.category_of = {(r["name"], arguments(r)): r["op category"]
                             for r in self.rows("ops_unique_args", self.reference)[1]}

    def rows(self, sheet, directory):
        path = directory / f"{sheet}.csv"
        return self.tool.read(str(path)) if path.exists() else ([], [])

    def write(self, sheet):
        head, rows = self.rows(sheet, self.reference)
        if not head:
            return
        self.keys = self.tool.keys_of(sheet, head)
        family = {r["name"] for r in rows} if "name_count" in head else None
        pool = collections.defaultdict(list)
        for r in self.rows(sheet, self.own)[1]:
            pool[self.key(r)].append(r)
        rows = list(self.changed_rows(sheet, head, rows, family))
        for row in rows:
            own = pool[self.key(row)].pop(0) if pool[self.key(row)] else {}
            for column in head if own else ():
                if column not in self.tool.SKIP and column not in self.keys:
                    self.cell(sheet, row, column, family, own)
        with open(self.place / f"{sheet}.csv", "w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, head)
            writer.writeheader()
            writer.writerows(rows)

    def key(self, row):
        return tuple(self.tool.norm(row.get(k, "")) for k in self.keys)

    def worked_out(self, sheet, row, column, family):
        if column in ("GFLOPS", "GFLOPS_first", "Data Moved (MB)", "Data Moved (MB)_first"):
            asked, flops, moved = convolution_backward(row)
            return asked * flops / 1e9 if column.startswith("GFLOPS") else asked * moved / 2**20
        if column == "Roofline Time (µs)_first" and row["name"] == "aten::convolution_backward":
            # TraceLens takes both for asked: FLOPs and bytes are a half where one is.
            return float(row[column]) * convolution_backward(row)[0] / 2
        if family is None:
            return getattr(self.truth, sheet)(row, column)
        times = self.truth.family_calls(row, family)
        return len(times) if column == "name_count" else self.truth.measured(row, column, times, "_first")

    def cell(self, sheet, row, column, family, own):
        line, _ = self.rules.of(sheet, self.key(row), column)
        if line is None:
            return
        found = self.worked_out(sheet, row, column, family)
        if found is None and column.startswith(("Roofline", "Compute Spec")):
            return  # of the work alone, which is not in question
        if found is None:
            raise AssertionError(f"{sheet}, {self.key(row)}, {column}: allowed, but not worked out")
        if isinstance(found, list):
            found = min(found, key=lambda v: abs(v - (self.tool.num(own.get(column)) or 0)))
        text = found if isinstance(found, str) else repr(found)
        if not self.tool.same(sheet, column, row[column], text):
            row[column] = text
            self.rules.used.add(line)

    def changed_rows(self, sheet, head, rows, family):
        """Rows of other categories, less those of calls inside others, and those that were dropped."""
        for row in rows:
            line, reason = self.rules.of(sheet, self.key(row), "*row*")
            if line is None:
                yield row
            elif reason == "nested-models":
                # Its calls are all inside another one of the family.
                if self.truth.family_calls(row, family):
                    yield row
                else:
                    self.rules.used.add(line)
            elif sheet in CATEGORY_COLUMNS:
                column, name = CATEGORY_COLUMNS[sheet]
                row[column] = CATEGORIES[row[name]]
                self.rules.used.add(line)
                yield row
            elif self.truth.ops_summary_by_category(row, "Count"):
                yield row
            else:
                self.rules.used.add(line)
        if sheet == "short_kernels_summary":
            for row in self.truth.short_kernels(head, "unlinked" not in self.reference.name):
                line, _ = self.rules.of(sheet, self.key(row), "*row*")
                if line is not None:
                    self.rules.used.add(line)
                    yield row
        if sheet == "ops_summary_by_category":
            for category in set(CATEGORIES.values()) - {r["op category"] for r in rows}:
                row = {"op category": category}
                line, _ = self.rules.of(sheet, (category,), "*row*")
                if line is not None and self.truth.ops_summary_by_category(row, "Count"):
                    self.rules.used.add(line)
                    yield row | {c: self.truth.ops_summary_by_category(row, c) for c in head[1:]}
