"""Causes of idle time, copies by direction and who asked for them, against a slow second
computation that shares only the rules in docs/METRICS.md with trawl."""
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
from random_trace import Maker, text, us
from support import FULL, SANITIZED, Case, read_csv, tracegen, trawl

KINDS = ("train", "infer", "decode", "compile")
SEEDS = (31,) if SANITIZED else range(31, 36) if FULL else (31,)
RANDOM_SEEDS = 3 if SANITIZED else 80 if FULL else 25

WAITS = re.compile(r"(cuda|hip)(Device|Stream|Event)Synchronize|cudaMemcpy|cudaMemcpy2D|(cuda|hip)Free|hipMemcpy"
                   r"|hipMemcpyDtoH|hipMemcpyWithStream|aten::item|aten::_local_scalar_dense"
                   r"|cu(Ctx|Stream|Event)Synchronize", re.I)
LOADS = re.compile(r"enumerate\(DataLoader\)|DataLoaderIter\.__next__|torch/utils/data/dataloader\.py\(\d+\): __next__")
LATE_NS = 100_000
INTERNAL = re.compile(r"^(torch|triton)/|/(torch|triton)/|^(contextlib|functools|threading)\.py\(")
CONTAINER = re.compile(r"execute$|Torch-Compiled Region|CompiledFxGraph|## Call CompiledFxGraph|CompiledFunction"
                       r"|autograd::engine::evaluate_function|ProfilerStep|Optimizer\.|.*DataParallel\.forward$"
                       r"|enumerate\(DataLoader\)", re.I)


class Second:
    def __init__(self, path):
        self.trace = oracle.Trace(path)
        self.threads = collections.defaultdict(list)
        for index, raw in enumerate(oracle.load(path)):
            if isinstance(raw, dict) and raw.get("ph") == "X" and raw.get("cat") not in oracle.GPU_CATS \
                    and raw.get("cat") != "gpu_user_annotation" and raw.get("dur") is not None:
                self.threads[(raw.get("pid"), raw.get("tid"))].append(oracle.Event(index, raw))
        self.gpu = sorted(self.trace.gpu, key=lambda g: (g.ts, g.index))
        self.gaps = self.find_gaps()

    def find_gaps(self):
        merged = oracle.union([g.span for g in self.gpu])
        gaps = []
        for (_, begin), (end, _) in zip(merged, merged[1:]):
            after = next(g for g in self.gpu if g.ts == end)
            before = [g for g in self.gpu if g.end == begin]
            gaps.append((begin, end, before[-1], after, self.cause(begin, end, before[-1], after)))
        return gaps

    def on(self, call):
        return self.threads[(call.pid, call.tid)]

    def direction(self, g):
        if g.kind() != "copy":
            return None
        name = g.name.lower()
        for key, words in (("D2H", ("dtoh", "device_to_host")), ("H2D", ("htod", "host_to_device")),
                           ("D2D", ("dtod", "ptop", "device_to_device"))):
            if any(w in name for w in words):
                return key
        return "other"

    def waited(self, begin, call, before):
        if any(WAITS.fullmatch(e.name) and e.ts <= begin < e.end for e in self.on(call)):
            return True
        return before.kind() == "copy" and before.launch is not None and before.launch.end > begin and \
            (before.launch.pid, before.launch.tid) == (call.pid, call.tid)

    def cause(self, begin, end, before, after):
        call = after.launch
        if call is None:
            return "unknown"
        if call.ts <= begin and "graphlaunch" in call.name.lower():
            return "graph_gap"
        if call.ts <= begin and call.end <= begin:
            return "queued_work"
        if end - call.end > call.end - begin and end - call.end > LATE_NS:
            return "queued_work"
        if call.ts <= begin:
            return "launch_bound"
        until = min(call.ts, end)
        loading = oracle.length([(max(e.ts, begin), min(e.end, until)) for e in self.on(call)
                                 if LOADS.search(e.name) and e.ts < until and e.end > begin])
        waited = self.waited(begin, call, before)
        if 2 * loading > until - begin or self.direction(after) == "H2D" or \
                (waited and self.direction(before) == "H2D"):
            return "data_wait"
        return "synchronisation" if waited else "launch_bound"

    def sums(self):
        found = {}
        for begin, end, _, _, cause in self.gaps:
            count, total, largest = found.get(cause, (0, 0, 0))
            found[cause] = count + 1, total + end - begin, max(largest, end - begin)
        return found

    def python(self, call):
        around = [e for e in self.on(call) if e.cat == "python_function" and ".py(" in e.name
                  and not INTERNAL.search(e.name) and e.ts <= call.ts < e.end and
                  (e.ts < call.ts or e.end >= call.end)]
        return max(around, key=lambda e: (e.ts, -e.end, e.index)).name if around else None

    @staticmethod
    def is_call(e):
        return e.cat in ("cuda_runtime", "cuda_driver")

    @staticmethod
    def is_operation(e):
        return e.cat == "cpu_op" and not CONTAINER.match(e.name)

    @staticmethod
    def is_program(e):
        return e.cat == "python_function" and ".py(" in e.name and not INTERNAL.search(e.name)

    def running(self, begin, end, after, wanted):
        """The shortest event that fills more than half of a gap, of those the last of the input."""
        if after.launch is None:
            return None
        filling = [e for e in self.on(after.launch) if wanted(e)
                   and 2 * (min(e.end, end) - max(e.ts, begin)) > end - begin]
        return min(filling, key=lambda e: (e.dur, -e.index)).name if filling else None

    def callers(self, direction):
        found = collections.Counter()
        for g in self.gpu:
            if self.direction(g) != direction:
                continue
            name = python = None
            if g.launch is not None:
                around = [e for e in self.on(g.launch) if e.cat == "cpu_op" and not CONTAINER.match(e.name)
                          and e.ts <= g.launch.ts and g.launch.end <= e.end]
                outermost = min(around, key=lambda e: (e.ts, -e.end, e.index)) if around else g.launch
                name, python = outermost.name, shown(self.python(g.launch))
            found[name, python] += g.dur
        return found


def shown(python):
    """A function as results call it: no absolute path."""
    return python.split("/")[-1] if python and python[0] in "/." else python


def ns(value):
    return int(Decimal(str(value)) * 1000)


class IdleCauses(Case):
    def check(self, path, *options):
        out = self.tmp / "out"
        self.assertExit(trawl("prepare", path, "-o", out, "-q", *options), 0, 3)
        second = Second(path)
        self.check_idle(out, second)
        self.check_copies(out, second)

    def check_idle(self, out, second):
        data = json.loads((out / "category_data/cpu_idle_data.json").read_text(), parse_float=Decimal)
        expected = second.sums()
        for cause, ours in data["causes"].items():
            self.assertEqual((ours["count"], ns(ours["total_time_us"]), ns(ours["largest_us"])),
                             expected.get(cause, (0, 0, 0)), cause)
        self.assertEqual(sum(ns(c["total_time_us"]) for c in data["causes"].values()),
                         ns(data["idle_analysis"]["idle_time_us"]))
        rows = read_csv(out / "category_data/cpu_idle_ops.csv")
        largest = sorted(second.gaps, key=lambda g: (g[0] - g[1], g[0]))[:100]
        self.assertEqual(len(rows), len(largest))
        for row, (begin, end, before, after, cause) in zip(rows, largest):
            self.assertEqual((ns(row["start_us"]), ns(row["duration_us"]), row["cause"]),
                             (begin, end - begin, cause))
            self.assertEqual(row["kernel_after"].lstrip("'"), after.name)
            self.assertEqual(row["launch_call"], after.launch.name if after.launch else "")
            if after.launch:
                self.assertEqual(row["python_function"], shown(second.python(after.launch)) or "")
        self.check_largest(data, second, largest)
        kernels = [g for g in second.gpu if g.cat == "kernel"]
        analysis = data["kernel_analysis"]
        self.assertEqual(analysis["total_kernel_count"], len(kernels))
        self.assertEqual(analysis["short_kernel_count"], sum(g.dur < 10000 for g in kernels))
        self.assertEqual(sum(analysis["kernel_count_by_category"].values()), len(kernels))

    def check_largest(self, data, second, largest):
        for ours, (begin, end, before, after, _) in zip(data["largest_gaps"], largest):
            for key, name in (("running_call", second.running(begin, end, after, second.is_call)),
                              ("running_operation", second.running(begin, end, after, second.is_operation)),
                              ("running_python_function", shown(second.running(begin, end, after, second.is_program)))):
                self.assertEqual(ours[key], name, key)
        for cause, ours in data["causes"].items():
            gaps = [end - begin for begin, end, _, _, why in largest if why == cause]
            if ours["count"] != len(gaps):
                continue  # not all of them are among the largest
            fewest = next(n for n in range(len(gaps) + 1) if 100 * sum(gaps[:n]) >= 80 * sum(gaps))
            self.assertEqual(ours["gaps_of_80_percent"], fewest, cause)

    def check_copies(self, out, second):
        data = json.loads((out / "category_data/multi_kernel_data.json").read_text(), parse_float=Decimal)
        by = collections.defaultdict(list)
        for g in second.gpu:
            if g.kind() == "copy":
                by[second.direction(g)].append(g)
        self.assertEqual(set(data["memcpy_summary"]["by_direction"]), set(by))
        others = [g.span for g in second.gpu if g.kind() != "copy"]
        for direction, ours in data["memcpy_summary"]["by_direction"].items():
            copies = by[direction]
            self.assertEqual((ours["count"], ns(ours["total_time_us"]), ns(ours["max_time_us"])),
                             (len(copies), sum(g.dur for g in copies), max(g.dur for g in copies)))
            self.assertEqual(ns(ours["exposed_time_us"]), oracle.minus([g.span for g in copies], others))
            sizes = [g.args["bytes"] for g in copies if "bytes" in g.args]
            self.assertEqual(ours["total_bytes"], sum(sizes) if sizes else None)
            if direction in ("D2H", "H2D"):
                expected = second.callers(direction)
                self.assertEqual(ours["caller_count"], len(expected))
                for caller in ours["callers"]:
                    self.assertEqual(ns(caller["total_time_us"]), expected[caller["operation"], caller["python"]])
        communication = [g for g in second.gpu if g.kind() == "communication"]
        summary = data["nccl_summary"]
        self.assertEqual((summary["total_count"], ns(summary["total_time_us"])),
                         (len(communication), sum(g.dur for g in communication)))
        top = sorted(communication, key=lambda g: (-g.dur, g.index))[:10]
        self.assertEqual([(t["name"], ns(t["duration_us"])) for t in summary["top_ops"]],
                         [(g.name, g.dur) for g in top])
        times = oracle.timeline(second.gpu)
        overlap = data["overlap_analysis"]
        for ours, theirs in (("total_time_us", "total"), ("computation_time_us", "compute"),
                             ("total_comm_time_us", "comm"),
                             ("exposed_comm_time_us", "exposed_comm"),
                             ("total_memcpy_time_us", "memcpy"),
                             ("exposed_memcpy_time_us", "exposed_memcpy")):
            self.assertEqual(ns(overlap[ours]), times[theirs], ours)


    def test_generated(self):
        for kind in KINDS:
            for vendor in ("nvidia", "amd"):
                for seed in SEEDS:
                    with self.subTest(kind=kind, vendor=vendor, seed=seed):
                        path = self.tmp / "trace.json"
                        done = subprocess.run([str(tracegen()), "--kind", kind, "--vendor", vendor, "--seed", str(seed),
                                               "--steps", "2", "-o", str(path)], capture_output=True, timeout=60)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.check(path)

    def test_random(self):
        for seed in range(RANDOM_SEEDS):
            with self.subTest(seed=seed):
                self.check(self.write(busy_host(seed)))


def busy_host(seed):
    """A random trace whose host also waits for the GPU, loads data and runs python."""
    r = random.Random(seed)
    events = Maker(seed).make()
    launched = {e["args"].get("correlation") for e in events if e["cat"] in oracle.GPU_CATS}
    more = []
    for e in events:
        if e["cat"] == "cpu_op" and r.random() < 0.3:
            e["name"] = "aten::item"
        if e["cat"] == "gpu_memcpy" and r.random() < 0.5:
            e["args"]["bytes"] = r.randrange(10**6)
        if e["cat"] not in ("cuda_runtime", "cuda_driver"):
            continue
        if e["args"].get("correlation") not in launched:
            e["name"] = "cudaStreamSynchronize"
        for cat, name, odds in (("user_annotation", "enumerate(DataLoader)#x", 3), ("python_function", "torch/a.py(1): f", 2),
                                ("python_function", "/home/x/train.py(1): step", 2),
                                ("python_function", "model/net.py(1): forward", 3)):
            if r.randrange(odds) == 0:
                ts = int(float(e["ts"].strip("@")) * 1000) - r.randrange(60000)
                more.append({"ph": "X", "cat": cat, "name": name, "pid": e["pid"], "tid": e["tid"], "ts": us(ts),
                             "dur": us(r.randrange(1, 70000)), "args": {}})
    return text(events + more)


if __name__ == "__main__":
    unittest.main()
