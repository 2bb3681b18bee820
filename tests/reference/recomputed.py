"""Figures of a reference that are not right, worked out a second time from the traces: times of launches
without an arrow, categories, work and what follows from it, rows that the other program drops or groups
otherwise, collectives. An allowance stands for that value and no other; where none can be worked out it is
an error. Slow and plain: tests/property/oracle.py, work_oracle.py.
"""
import ast
import collections
import csv
import fnmatch
import math
import statistics

import oracle
import work_oracle
from test_unified import Rows

# Of data/op_categories.tsv: where TraceLens has "other".
CATEGORIES = {"aten::_flash_attention_forward": "SDPA_fwd"}
CATEGORY_COLUMNS = {"kernel_summary": ("Parent op category", "Parent cpu_op"), "ops_unique_args": ("op category", "name")}
ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
TYPES = {"computation_time": "compute", "exposed_comm_time": "exposed_comm", "busy_time": "busy",
         "exposed_memcpy_time": "exposed_memcpy", "idle_time": "idle", "total_time": "total",
         "total_comm_time": "comm", "total_memcpy_time": "memcpy"}
STATISTICS = {"mean": statistics.fmean, "median": statistics.median, "min": min, "max": max, "sum": sum,
              "std": lambda v: statistics.stdev(v) if len(v) > 1 else math.nan}
# Of MI300X, in 10^12 a second, as the reference's file of that platform has them.
PEAKS = {"matrix_fp64": 81, "matrix_fp32": 163, "matrix_fp16": 654, "matrix_bf16": 708, "matrix_fp8": 1273,
         "matrix_int8": 2600, "vector_fp64": 40, "vector_fp32": 81, "vector_fp16": 163, "vector_bf16": 163, "bytes": 5.3}
# Bytes are taken for numbers of 8 bits, which have no peak as vectors.
PRECISIONS = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64", "unsigned char": "fp8"}
# Worked out values agree with those of a report to this, which is what sums of doubles leave.
EXACT = 1e-12


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


def statistic(column, values):
    """Of "Kernel Time (µs)_mean" and the like; None where the column is no statistic."""
    for name, of in STATISTICS.items():
        if column.endswith("_" + name):
            return of(values) if values else None
    return None


class Truth:
    """What a trace says, GPU events with a recorded launch alone; kernels below `short_ns` are short."""

    def __init__(self, path, short_ns=10_000):
        self.short_ns = short_ns
        self.trace = oracle.Trace(path)
        self.every = list(self.trace.gpu)
        self.names = {(m["name"], m["pid"], m.get("tid") if m["name"] == "thread_name" else None):
                      m["args"].get("labels" if m["name"] == "process_labels" else "name")
                      for m in self.trace.metadata}
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
                self.by_arguments[self.place(c[0])].append(c)
        self.by_name = collections.defaultdict(list)
        for e in self.trace.host:
            if e.cat == "cpu_op":
                self.by_name[e.name].append(e)
        self.rows = Rows(self.trace)
        self.unified = collections.defaultdict(list)
        for name, e, gpu in self.rows.rows:
            self.unified[name, *self.place(e)[1:]].append(oracle.length([g.span for g in gpu]))
        self.unified_sums = [sum(calls) for calls in self.unified.values()]
        self.outer, self.generated = {}, {}

    def place(self, source):
        """What makes a row: name, arguments, and thread, where it has a name."""
        if isinstance(source, dict):
            return source["name"], arguments(source), source["thread_name"].replace("Unknown", "")
        return source.name, arguments(source), self.names.get(("thread_name", source.pid, source.tid), "")

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
        calls = self.by_arguments[self.place(row)]
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
        calls = self.unified[self.place(row)]
        if column == "Percentage (%)":
            return 100 * sum(calls) / sum(self.unified_sums)
        if column == "Cumulative Percentage (%)":
            return self.cumulative(self.unified_sums, sum(calls))
        return self.measured(row, column, calls, "")

    def measured(self, row, column, ns, suffix):
        """Figures that follow from work that the row has by now, in the time that calls have."""
        ran = [t for t in ns if t]
        if column.startswith("Kernel Time"):
            return statistic(column, [t / 1e3 for t in ns])
        if "" in (row["GFLOPS" + suffix], row["Data Moved (MB)" + suffix]):
            return None
        flops, moved = float(row["GFLOPS" + suffix]) * 1e9, float(row["Data Moved (MB)" + suffix]) * 2**20
        peak = PEAKS.get(row["Compute Spec"], math.nan) if flops and row["Compute Spec"] else math.inf
        if math.isnan(peak) and "Roofline" in column:
            return math.nan
        computing = flops / peak
        least = max(computing, moved / PEAKS["bytes"]) / 1e6  # in us
        for prefix, rate in (("TB/s_", lambda t: moved / t / 1e3), ("TFLOPS/s_", lambda t: flops / t / 1e3),
                             ("Pct Roofline_", lambda t: least * 1e5 / t)):
            if column.startswith(prefix):
                return statistic(column, [rate(t) for t in ran]) if ran else math.nan
        return {"FLOPS/Byte" + suffix: flops / moved, "Roofline Time (µs)_first": least, "has_perf_model": "True",
                "Roofline Bound" + suffix: "COMPUTE_BOUND" if computing * PEAKS["bytes"] >= moved else "MEMORY_BOUND",
                }.get(column)

    @staticmethod
    def spec(row, suffix):
        """Unit and precision: convolutions are products of matrices."""
        types = [t for t in arguments(row, suffix)[1] if t in work_oracle.SIZES]
        types = types[1:] if row["name"] == "aten::where" else types  # a condition is none of the values
        precision = PRECISIONS.get(types[0] if types else "")
        return f"{'matrix' if 'convolution' in row['name'] else 'vector'}_{precision}" if precision else ""

    def work(self, row, column, suffix):
        """Of the arguments alone; None: not that column, or not known."""
        if column == "Compute Spec":
            return self.spec(row, suffix)
        if column not in ("GFLOPS" + suffix, "Data Moved (MB)" + suffix):
            return None
        found = work_oracle.work(row)
        return found and (found[0] / 1e9 if column.startswith("G") else found[1] / 2**20)

    def passes_back(self, e):
        """GPU events of what autograd ran for a forward call: it has its sequence number, on another thread."""
        number = e.args.get("Sequence number")
        return [g for b in self.trace.host if number is not None and b.args.get("Sequence number") == number
                and b.tid != e.tid and (b.parent is None or b.parent.args.get("Sequence number") != number)
                for g in self.rows.gpu(b)]

    def family_rows(self, sheet, name, family):
        """Rows of an operation in the table of a family, by what work_oracle takes for its parameters."""
        if (sheet, name) not in self.generated:
            groups = collections.defaultdict(list)
            back = sheet.endswith("_bwd") and "backward" not in name
            every = [c for calls in self.calls_in_family(name, family).values() for c in calls]
            for e, gpu in sorted(every, key=lambda c: c[0].index):
                gpu = self.passes_back(e) if back else gpu
                source = {"name": name} | {c: repr(e.args.get(c) or []) for c in ARGUMENTS}
                found = work_oracle.parameters(source)
                if found is not None and (gpu or not back):
                    groups[repr(found)].append((e, source, found, gpu))
            self.generated[sheet, name] = [self.family_row(calls) for calls in groups.values()]
        return self.generated[sheet, name]

    def family_row(self, calls):
        e, source, found, _ = calls[0]
        row = {"name": e.name} | {f"param: {k}": v if isinstance(v, str) else repr(v) for k, v in found.items()}
        row |= {c + "_first": source[c] for c in ARGUMENTS}
        row |= {"process_name_first": self.names.get(("process_name", e.pid, None), ""),
                "process_label_first": self.names.get(("process_labels", e.pid, None), ""),
                "thread_name_first": self.names.get(("thread_name", e.pid, e.tid), ""), "name_count": len(calls)}
        return row | {"times": [oracle.length([g.span for g in gpu]) for *_, gpu in calls]}

    def calls_in_family(self, name, family):
        """Calls that are not inside another one of the family, with their GPU events, by shapes, types and strides."""
        key = name, frozenset(family)
        if key not in self.outer:
            self.outer[key] = collections.defaultdict(list)
            for e in self.by_name[name]:
                at = e.parent
                while at is not None and not (at.cat == "cpu_op" and at.name in family):
                    at = at.parent
                if at is None:
                    self.outer[key][arguments(e)[:3]].append((e, self.rows.gpu(e)))
        return self.outer[key]

    def family_calls(self, row, family):
        """Times of the calls of a row of a family's table."""
        return [oracle.length([g.span for g in gpu])
                for _, gpu in self.calls_in_family(row["name"], family)[arguments(row, "_first")[:3]]]

    def short_kernels(self, head, linked):
        """Rows of short kernels that lack an argument of the operation, or the operation."""
        sums, counts = collections.Counter(), collections.Counter()
        for g in self.every:
            at = self.trace.parent_op(g) or g.launch
            args = [at.args.get(k) if at else None for k in ("Input Dims", "Input Strides", "Concrete Inputs")]
            if g.cat == "kernel" and g.dur < self.short_ns and not all(args):
                key = (at.name if at else "", *(repr(self.tuples(a)) if a else "" for a in args), g.name)
                sums[key] += g.dur
                counts[key] += 1
        total = (self.timeline if linked else oracle.timeline(self.every))["total"]
        for key, ns in sums.items():
            yield dict(zip(head, (*key, ns / 1e3, counts[key], ns / 1e3 / counts[key], 100 * ns / total)))

    @classmethod
    def tuples(cls, v):
        return tuple(cls.tuples(x) for x in v) if isinstance(v, list) else v


    def others(self, sheet, head, corrected):
        """Rows that the reference has not, where they are allowed."""
        if sheet == "short_kernels_summary":
            yield from self.short_kernels(head, "unlinked" not in corrected.reference.name)
        elif sheet == "coll_analysis":
            yield from undescribed([g for g in self.every if g.kind() == "communication"], head, {"rank": 0})
        elif sheet == "ops_summary_by_category":
            there = {r["op category"] for r in corrected.rows(sheet, corrected.reference)[1]}
            for category in sorted(set(CATEGORIES.values()) - there):
                row = {"op category": category}
                if self.ops_summary_by_category(row, "Count"):
                    yield row | {c: self.ops_summary_by_category(row, c) for c in head[1:]}


def kind_of(g):
    """What its name tells of a kernel of communication."""
    return "allreduce" if "cross_device_reduce" in g.name else ""


def undescribed(gpu, head, known):
    """Rows of communication without arguments, by stream; the kind is told by the kernel's name, if at all."""
    groups = collections.defaultdict(list)
    for g in gpu:
        if not g.has_collective():
            groups[g.stream, kind_of(g)].append(g.dur / 1e3)
    for (stream, kind), times in groups.items():
        row = dict.fromkeys(head, "") | {"stream": stream, "operation_count": len(times)} | known
        row["Collective name"] = kind
        yield row | {c: statistic(c, times) for c in head if c.startswith("dur_")}


class Job:
    """What the traces of several ranks, {rank: path}, say of collectives; those of a group are in one order."""

    def __init__(self, traces):
        self.gpu = {rank: list(self.communication(path)) for rank, path in traces.items()}
        self.matched = collections.defaultdict(list)  # by process group and index in it
        for gpu in self.gpu.values():
            index = collections.Counter()
            for g in sorted(gpu, key=lambda g: g.ts):
                group = self.told(g, "Process Group Name")
                self.matched[f"{group}_{index[group]}"].append(g)
                index[group] += 1

    @staticmethod
    def communication(path):
        """By arguments and names alone: no copies take part."""
        for i, raw in enumerate(oracle.load(path)):
            if raw.get("cat") == "kernel" and oracle.usable(raw):
                g = oracle.Event(i, raw)
                if g.has_collective() or oracle.COMMUNICATION.search(g.name):
                    yield g

    def others(self, sheet, head, _):
        if sheet == "nccl_summary_long":
            for rank, gpu in self.gpu.items():
                yield from undescribed(gpu, head, {"rank": rank, "Process Group Name": "Unknown_Group"})

    @staticmethod
    def told(g, name):
        others = {"Process Group Name": "Unknown_Group", "Collective name": kind_of(g)}
        return str(g.args.get(name, others.get(name, "Unknown")))

    def like(self, row, *names):
        """Collectives with the arguments of a row."""
        return [c for c in self.matched.values()
                if all(self.told(c[0], n) == row[n].removesuffix(".0") for n in names)]

    def nccl_summary_implicit_sync(self, row, column):
        calls = self.like(row, "Process Group Name", "Collective name", "dtype", "In msg nelems")
        shortest = [min(g.dur for g in c) for c in calls]
        if column == "Total comm latency (ms)":
            return sum(shortest) / 1e6
        return statistic(column, shortest) / 1e3 if column.startswith("comm_latency_") else None

    @staticmethod
    def exchange(calls):
        """Of an all_to_allv: what each rank sends, in which time."""
        size = oracle.ELEMENT[calls[0].args["dtype"]] / 2**30
        sent = [g.args["In msg nelems"] * size for g in calls]
        wall = max(g.end for g in calls) - min(g.ts for g in calls)
        rates = [s / g.dur * 1e9 for s, g in zip(sent, calls)]
        return {"wall_time (us)": wall / 1e3, "throughput (GB/s)": sum(sent) / wall * 1e9,
                "max_rank_throughput (GB/s)": max(rates), "min_rank_throughput (GB/s)": min(rates),
                "avg_rank_dur (us)": statistics.fmean(g.dur for g in calls) / 1e3,
                "max_rank_dur (us)": max(g.dur for g in calls) / 1e3,
                "size_imbalance": max(sent) / statistics.fmean(sent)}

    def nccl_all2allv(self, row, column):
        return self.exchange(self.matched[row["collective_id"]]).get(column)

    def nccl_summary_all2allv(self, row, column):
        every = [self.exchange(c) for c in self.like(row, "Process Group Name", "Collective name", "dtype")]
        if column.startswith("Total wall_time"):
            return sum(e["wall_time (us)"] for e in every) / (1e3 if "(ms)" in column else 1)
        name = column.rpartition("_")[0]
        return statistic(column, [e[name] for e in every]) if name in every[0] else None


class Rules:
    """The allowances of a trace; `used`: those that changed anything."""

    def __init__(self, path):
        lines = path.read_text().splitlines() if path.exists() else []
        self.lines = [l.split("\t") for l in lines if l.strip() and l[0] != "#"]
        self.used = set()

    def of(self, sheet, key, column):
        text = " | ".join(key)
        for i, (in_sheet, keys, columns, _) in enumerate(self.lines):
            fits = columns == column if "*row*" in (columns, column) else fnmatch.fnmatchcase(column, columns)
            if in_sheet == sheet and fits and fnmatch.fnmatchcase(text, keys):
                return i
        return None

    def unused(self):
        return ["\t".join(l[:3]) for i, l in enumerate(self.lines) if i not in self.used]


class Corrected:
    """A copy of a directory of reference tables with what is worked out in place of what is not right;
    `wrong`: cells of the report that are allowed to differ, and are not what is worked out."""

    def __init__(self, tool, truth, rules, reference, own, place):
        self.tool, self.truth, self.rules, self.reference, self.own = tool, truth, rules, reference, own
        self.place, self.wrong, self.changed = place, [], 0
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
        self.family = {r["name"] for r in rows} if "name_count" in head else None
        pool = collections.defaultdict(list)
        for r in self.rows(sheet, self.own)[1]:
            pool[self.key(r)].append(r)
        out = []
        for row, made, line in self.changed_rows(sheet, head, rows):
            own = pool[self.key(row)].pop(0) if pool[self.key(row)] else {}
            for column in head if own else ():
                if column not in self.tool.SKIP and column not in self.keys:
                    self.cell(sheet, row, column, made, own, line)
            out.append(row)
        with open(self.place / f"{sheet}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, head)
            writer.writeheader()
            writer.writerows(out)

    def key(self, row):
        return tuple(self.tool.norm(str(row.get(k, ""))) for k in self.keys)

    def worked_out(self, sheet, row, column, made):
        """A value, several of which one is right, or None: not known."""
        if made and column in made:
            return made[column]
        if self.family is None and sheet != "unified_perf_summary":
            return getattr(self.truth, sheet)(row, column)
        suffix = "" if self.family is None else "_first"
        found = self.truth.work(made or row, column, suffix)
        if found is not None:
            return found
        if self.family is None:
            return self.truth.unified_perf_summary(row, column)
        times = made["times"] if made else self.truth.family_calls(row, self.family)
        return len(times) if column == "name_count" else self.truth.measured(row, column, times, suffix)

    def agrees(self, found, own):
        if isinstance(found, (int, float)) and not isinstance(found, bool) and not math.isnan(found):
            value = self.tool.num(own)
            return value is not None and math.isclose(value, found, rel_tol=EXACT, abs_tol=EXACT * EXACT)
        return self.tool.norm(str(found)) == self.tool.norm(own)

    def cell(self, sheet, row, column, made, own, line):
        """`line`: the allowance of the whole row."""
        new = line is not None
        line = line if new else self.rules.of(sheet, self.key(row), column)
        if line is None:
            return
        found = self.worked_out(sheet, row, column, made)
        if found is None:
            if new or not self.tool.same(sheet, column, row[column], own.get(column, "")):
                self.wrong.append(f"{sheet}, {self.key(row)}, {column}: allowed, but not worked out")
            return
        if isinstance(found, list):
            found = min(found, key=lambda v: abs(v - (self.tool.num(own.get(column)) or 0)))
        text = found if isinstance(found, str) else repr(found)
        have = own.get(column, "")
        if new or not all(self.tool.same(sheet, column, row[column], x) for x in (text, have)):
            self.rules.used.add(line)
            self.changed += 1
            row[column] = have if self.agrees(found, have) else text
            if row[column] != have:
                self.wrong.append(f"{sheet}, {self.key(row)}, {column}: {have}, worked out {text}")

    def allowed(self, sheet, row):
        """The allowance of a row that the reference has and that should not be, or the other way round."""
        line = self.rules.of(sheet, self.key(row), "*row*")
        if line is not None:
            self.rules.used.add(line)
        return line

    def changed_rows(self, sheet, head, rows):
        """(row, what is known of it, the allowance of a row that the reference lacks)"""
        made = {}
        for name in sorted(self.family or ()):
            for row in self.truth.family_rows(sheet, name, self.family):
                made.setdefault(self.key(row), []).append(row)
        there = {r["name"] for rows in made.values() for r in rows}
        for row in rows:
            key = self.key(row)
            if made.get(key):
                yield row, made[key].pop(0), None
            elif row.get("name") in there or self.rules.of(sheet, key, "*row*") is None:
                if row.get("name") not in there or self.allowed(sheet, row) is None:
                    yield row, None, None
            else:
                yield from self.row(sheet, row)
        for row in (r for rows in made.values() for r in rows):
            yield from self.added(sheet, head, row)
        for row in self.truth.others(sheet, head, self):
            yield from self.added(sheet, head, row)

    def row(self, sheet, row):
        """A row that is allowed to be missing, or is of another category."""
        if self.family:
            # Its calls may all be inside another one of the family.
            if self.truth.family_calls(row, self.family) or self.allowed(sheet, row) is None:
                yield row, None, None
        elif sheet in CATEGORY_COLUMNS:
            column, name = CATEGORY_COLUMNS[sheet]
            self.allowed(sheet, row)
            row[column] = CATEGORIES[row[name]]
            yield row, None, None
        elif self.truth.ops_summary_by_category(row, "Count") or self.allowed(sheet, row) is None:
            yield row, None, None

    def added(self, sheet, head, made):
        row = {c: str(made.get(c, "")) for c in head}
        line = self.allowed(sheet, row)
        if line is not None:
            yield row, made, line
