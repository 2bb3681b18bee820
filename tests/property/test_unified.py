"""unified_perf_summary and the tables of families against a slow second computation: which calls
make rows, their kernel times, and the work of matrix products."""
import collections
import json
import pathlib
import re
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
from random_trace import random_trace
from support import FULL, ROOT, SANITIZED, Case, tracegen

KINDS = ("train", "infer", "decode", "compile")
VENDORS = ("nvidia", "amd")
SEEDS = (21,) if SANITIZED else range(21, 27) if FULL else (21, 22)
RANDOM_SEEDS = 4 if SANITIZED else 120 if FULL else 30

MODELLED = {line.split("\t")[0] for line in
            (ROOT / "data/op_models.tsv").read_text().splitlines()[1:] if line[:1] not in ("#", "")}
COMPILED = re.compile(r"triton_(poi|red|per)_fused_.+_\d+")
# Made of others, which make the rows where they were recorded.
COMPOSITES = {"aten::linear", "aten::matmul", "aten::softmax", "aten::log_softmax",
              "aten::embedding", "aten::index_select", "aten::rms_norm", "aten::scaled_dot_product_attention",
              "aten::_scaled_dot_product_attention_math"}


def ns(us):
    return int(Decimal(us) * 1000)


def known(e):
    return e.cat == "cpu_op" and (e.name in MODELLED or COMPILED.fullmatch(e.name) is not None)


class Rows:
    """Calls that make rows: [(name, event, GPU events)], by a walk down from each thread's top.

    Passes back that autograd alone ties to a modelled operation are not worked out: what these
    traces run backward is modelled itself, or its forward operation tells nothing of it.
    """

    def __init__(self, trace):
        self.children, self.launched = collections.defaultdict(list), collections.defaultdict(list)
        for e in trace.host:
            self.children[self.above(e)].append(e)
        for g in trace.gpu:
            if g.launch:
                self.launched[g.launch].append(g)
        self.rows, taken = [], set()
        for e in self.children[None]:
            self.visit(e)
        for _, _, gpu in self.rows:
            for g in gpu:
                assert id(g) not in taken, "in two rows"
                taken.add(id(g))
        for g in trace.gpu:
            if g.launch and g.kind() != "communication" and id(g) not in taken:
                at = trace.parent_op(g) or g.launch
                self.rows.append((f"{at.name}->{g.name} (Synthetic Op)", at, [g]))

    @staticmethod
    def above(e):
        """The parent, python frames passed over."""
        at = e.parent
        while at is not None and at.cat == "python_function":
            at = at.parent
        return at

    def below(self, e):
        for child in self.children[e]:
            yield child
            yield from self.below(child)

    def gpu(self, e):
        return [g for at in (e, *self.below(e)) for g in self.launched[at]]

    def has_model(self, e):
        if not known(e) or (e.name not in MODELLED and not e.args.get("Input Dims")):
            return False
        return e.name not in COMPOSITES or not any(known(b) for b in self.below(e))

    def visit(self, e):
        if e.cat == "python_function":
            return
        gpu = self.gpu(e)
        if e.cat != "cpu_op" or not gpu:
            return
        if self.has_model(e):
            self.rows.append((e.name, e, gpu))
        elif any(self.has_model(b) and self.gpu(b) for b in self.below(e)) or \
                not self.is_leaf(e):
            for child in self.children[e]:
                self.visit(child)
        elif not any(g.kind() == "communication" for g in gpu):
            self.rows.append((e.name, e, gpu))

    def is_leaf(self, e):
        """Whether a call that launches something is right below, or below another call there."""
        calls = [c for c in self.children[e] if c.cat != "cpu_op"]
        while calls:
            call = calls.pop()
            if self.launched[call]:
                return True
            calls += [c for c in self.children[call] if c.cat != "cpu_op"]
        return False


def as_tuples(value):
    return tuple(as_tuples(v) for v in value) if isinstance(value, list) else value


def dims_of(e):
    dims = e.args.get("Input Dims")
    return repr(as_tuples(dims)) if dims else ""


def product(e):
    """FLOPs of a matrix product."""
    dims = e.args["Input Dims"]
    if e.name == "aten::addmm":
        (m, k), n = dims[1], dims[2][1]
        return 2 * m * n * k + m * n
    if e.name == "aten::bmm":
        b, m, k = dims[0]
        return 2 * b * m * k * dims[1][2]
    (m, k), n = dims[0], dims[1][1]
    return 2 * m * n * k


PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm")


class Unified(Case):
    def check(self, rep, trace):
        """The rows, by name and shapes: how many calls, time on the host and on the GPU."""
        want, flops = {}, {}
        for name, e, gpu in Rows(trace).rows:
            key = (name, dims_of(e))
            calls, host, kernel = want.get(key, (0, 0, 0))
            want[key] = (calls + 1, host + e.dur, kernel + oracle.length([g.span for g in gpu]))
            if name in PRODUCTS and e.args.get("Input Dims"):
                flops[key] = product(e)
        rows = rep.table("unified_perf_summary") if rep.has("unified_perf_summary") else []
        got = {}
        for r in rows:
            key = (r["name"], r["Input Dims"])
            calls, host, kernel = got.get(key, (0, 0, 0))
            got[key] = (calls + int(r["operation_count"]), host + ns(r["total_duration_us"]),
                        kernel + ns(r["Kernel Time (µs)_sum"]))
            if key in flops:
                self.assertEqual(round(float(r["GFLOPS"]) * 1e9), flops[key], str(r))
        self.assertEqual({k: v for k, v in got.items() if want.get(k) != v},
                         {k: v for k, v in want.items() if got.get(k) != v})
        self.shares(rows)
        self.families(rep, rows)

    def shares(self, rows):
        times = [ns(r["Kernel Time (µs)_sum"]) for r in rows]
        self.assertEqual(times, sorted(times, reverse=True))
        if sum(times):
            for i, r in enumerate(rows):
                self.assertAlmostEqual(float(r["Percentage (%)"]), 100 * times[i] / sum(times), 9)
                self.assertAlmostEqual(float(r["Cumulative Percentage (%)"]),
                                       100 * sum(times[:i + 1]) / sum(times), 9)

    def families(self, rep, rows):
        """Each modelled call is in its family's table, with the time it has in the unified one."""
        unified, families = collections.Counter(), collections.Counter()
        calls, counted = collections.Counter(), collections.Counter()
        for r in rows:
            # Those of the general model (data/aten_ops.tsv) are in no family.
            if r["has_perf_model"] == "True" and r["GFLOPS"] and \
                    (r["name"] in MODELLED or COMPILED.fullmatch(r["name"])):
                unified[r["name"]] += ns(r["Kernel Time (µs)_sum"])
                calls[r["name"]] += int(r["operation_count"])
        for path in sorted(rep.csvs.glob("*.csv")):
            first = path.read_text(encoding="utf-8").split("\n", 1)[0]
            if "name_count" not in first:
                continue
            for r in rep.table(path.stem):
                # The pass back of a forward call is no call.
                if path.stem.endswith("_bwd") and "backward" not in r["name"].lower():
                    continue
                families[r["name"]] += ns(r["Kernel Time (µs)_sum"])
                counted[r["name"]] += int(r["name_count"])
        self.assertEqual({n: t for n, t in families.items() if t}, {n: t for n, t in unified.items() if t})
        for name, count in calls.items():
            self.assertGreaterEqual(counted[name], count, name)

    def generated(self, *options):
        path, facts = self.tmp / "trace.json", self.tmp / "truth.json"
        done = subprocess.run([str(tracegen()), *options, "--truth", str(facts), "-o", str(path)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, json.loads(facts.read_text())

    def one(self, *options):
        path, facts = self.generated(*options)
        trace = oracle.Trace(path)
        rep = self.report(path)
        self.assertExit(rep, 0)
        self.check(rep, trace)
        # The generator's own count of all products, launched or not.
        gemm = rep.table("GEMM") if rep.has("GEMM") else []
        self.assertEqual(sum(round(float(r["GFLOPS_first"]) * 1e9) * int(r["name_count"])
                             for r in gemm if r["name"] in PRODUCTS), facts["flops"])
        self.window(path, trace)

    def window(self, path, trace):
        """A stretch of time: kernels are cut at its edges in all these tables."""
        first, last = min(g.ts for g in trace.gpu), max(g.end for g in trace.gpu)
        lo, hi = first + (last - first) // 3, first + (last - first) * 2 // 3
        trace.gpu = oracle.cut(trace.gpu, lo, hi)
        rep = self.report(path, "--start", lo, "--end", hi)
        self.assertExit(rep, 0)
        self.check(rep, trace)

    def random(self, seed):
        text = random_trace(seed)
        trace = oracle.Trace(text)
        rep = self.report(text)
        self.assertExit(rep, 0)
        self.check(rep, trace)
        path = self.write(text)
        self.window(path, trace)

    def test_steps_add_up(self):
        """Calls and kernel times of each step's report are those of both steps' together."""
        path, facts = self.generated("--kind", "train", "--steps", "2", "--seed", "5")
        both = collections.Counter()
        first = facts["first_step"]
        for step in (first, first + 1):
            rep = self.report(path, "--step", step)
            self.assertExit(rep, 0)
            self.families(rep, rep.table("unified_perf_summary"))
            both.update(self.times(rep))
        self.assertEqual(both, self.times(self.report(path, "--step", f"{first}-{first + 1}")))

    @staticmethod
    def times(rep):
        out = collections.Counter()
        for r in rep.table("GEMM"):
            out[r["name"], r["Input Dims_first"]] += ns(r["Kernel Time (µs)_sum"])
        return out


def add_tests():
    for kind in KINDS:
        for vendor in VENDORS:
            for seed in SEEDS:
                options = ("--kind", kind, "--vendor", vendor, "--seed", str(seed), "--steps", "1")
                setattr(Unified, f"test_{kind}_{vendor}_{seed}",
                        lambda self, o=options: self.one(*o))
    for seed in range(RANDOM_SEEDS):
        setattr(Unified, f"test_random_{seed:03d}", lambda self, s=seed: self.random(s))


add_tests()

if __name__ == "__main__":
    unittest.main()
