"""Findings of what no profiler should write, or few do: no crash, nothing undefined, gains that are shares of the run."""
import csv
import math
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import DUMP, MS, US, Findings, Rank, meet, steps
from support import FULL, ROOT, SLOWER, environment


def training(**more):
    """Three steps that wait for a batch, for a value and once for nothing."""
    r = Rank(**more)
    for number in range(3):
        with r.step(number):
            with r.inside("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                r.busy(MS)
            with r.frame("model.py(3): forward"):
                r.run("aten::mm", 500 * US, [[8192, 8192], [8192, 8192]])
            with r.op("aten::item", [[]]):
                r.sync()
            r.run("aten::relu", 100 * US, [[64, 64]])
            r.busy(5 * MS if number == 1 else 100)
            r.run("aten::relu", 100 * US, [[64, 64]])
    return r


class Odd(Findings):
    def sane(self, *ranks):
        """The rows; shares are shares, and those together never decrease."""
        rows, before = self.table(*ranks), 0
        for row in rows:
            for column in ("gain_ms", "gain_percent", "gain_together_percent"):
                self.assertTrue(row[column] == "" or math.isfinite(float(row[column])), row)
            if row["gain_percent"]:
                self.assertLessEqual(float(row["gain_percent"]), 100)
                self.assertLessEqual(float(row["gain_together_percent"]), 100)
                self.assertGreaterEqual(float(row["gain_together_percent"]), before)
                before = float(row["gain_together_percent"])
            self.assertLessEqual(row["where"].count(";"), 2)
        return rows

    def test_times_near_the_limits(self):
        for off in (-1e6, 9.2e15, 9.22e15, -9.2e15, 4e18, 9.2e18, -9.2e18, 1e300):
            for part in (slice(None), slice(0, 9), slice(9, None)):
                with self.subTest(off=off, part=part):
                    r = training()
                    for event in r.events[part]:
                        event["ts"] += off
                    self.sane(r)

    def test_durations(self):
        for dur in (0, -5, 9.2e15, 1e18, 1e300):
            for category in ("kernel", "cpu_op", "cuda_runtime", "user_annotation", "python_function"):
                with self.subTest(dur=dur, category=category):
                    r = training()
                    for event in r.events:
                        if event["cat"] == category:
                            event["dur"] = dur
                    self.sane(r)

    def test_nothing_takes_time(self):
        r = training()
        for event in r.events:
            event["ts"], event["dur"] = 100, 0
        self.sane(r)

    def test_shapes(self):
        huge = 2**63 - 1
        for dims in ([[huge, huge]], [[10**18] * 3], [[0, 0]], [[-1, 5]], [[2**53 + 1, 8192]], [["x"]], [[[]]]):
            for op in ("aten::mm", "aten::relu", "aten::bmm", "aten::pow", "aten::sum"):
                with self.subTest(dims=dims, op=op):
                    def body(r):
                        for _ in range(5):
                            r.run(op, 50 * US, dims * 2)
                        for name in ("neg", "cat", "mul", "mul", "add", "pow", "mean", "rsqrt", "mul"):
                            r.run(f"aten::{name}", 30 * US, dims)
                    self.sane(steps(body, 2))

    def test_sizes_of_collectives(self):
        for elements in (0, -5, 2**63 - 1, 1e30, "x"):
            for size in (0, 1, -3, 2**63 - 1):
                with self.subTest(elements=elements, size=size):
                    ranks = [Rank(0, 2), Rank(1, 2)]
                    for _ in range(2):
                        for r in ranks:
                            with r.op("autograd::engine::evaluate_function: MmBackward0"):
                                r.run("aten::mm", 20 * US)
                        for name in ("allreduce", "all_to_allv", "send", "recv", "_allgather_base"):
                            for event in meet(ranks, name, elements, 5 * MS):
                                event["args"]["Group size"] = size
                    self.sane(*ranks)

    def test_names_in_places(self):
        """No character is cut, a name does not end a place, and one that begins another is a place too."""
        for name in ("é" * 300, "aé" * 300, "😀" * 100, "a;b; c", "x" * 100_000, ""):
            with self.subTest(name=name[:9]):
                def body(r):
                    with r.frame(f"{name}.py(3): f"):
                        with r.op("aten::contiguous", [[8]]):
                            r.launch(name, 300 * US)
                    begin = r.now
                    r.call("cudaGraphLaunch", 5 * US)
                    for _ in range(3):
                        r.work("kernel", name, 20 * US, 7, begin, r.correlation, gap=40 * US)
                for row in self.sane(steps(body)):
                    self.assertNotIn("\ufffd", row["where"] + row["call_site"] + row["operation"])
        ranks = [Rank(k, 13) for k in range(13)]
        for _ in range(3):
            for r in ranks:
                r.run("rank 1", (900 if r.rank == 12 else 500) * US, [[8, 8]])
            meet(ranks, "allreduce", 1000, 20 * US)
        row = next(r for r in self.sane(*ranks) if r["kind"] == "straggler_compute")
        self.assertEqual((row["rank"], row["where"].split("; ")[:2]), ("12", ["rank 12", "rank 1_kernel"]))

    def test_what_is_missing(self):
        self.assertEqual([row["kind"] for row in self.sane(Rank())], ["nothing_found"])
        r = training()
        r.events = [e for e in r.events if e["cat"] not in ("kernel", "gpu_memcpy")]
        self.assertEqual([row["kind"] for row in self.sane(r)], ["nothing_found"])
        for left in ({"kernel"}, {"kernel", "cpu_op"}, {"kernel", "cuda_runtime"}, {"kernel", "user_annotation"}):
            r = training()
            r.events = [e for e in r.events if e["cat"] in left]
            self.sane(r)

    def test_several_devices(self):
        r = training()
        for k, event in enumerate(r.events):
            if event["cat"] == "kernel":
                event["pid"] = event["args"]["device"] = k % 3
        self.sane(r)

    def test_ranks_that_have_nothing_in_common(self):
        self.sane(*[training(rank=k, ranks=3) for k in range(3)])
        self.sane(training(rank=0, ranks=2), Rank(1, 2))

    def test_steps_that_end_in_another_order(self):
        """What the first step launched on a stream of its own ends last."""
        r = Rank()
        for number in range(3):
            with r.step(number):
                r.run("aten::mm", 100 * US)
                if not number:
                    r.launch("long", 50 * MS, stream=13)
                with r.op("aten::contiguous", [[8]]):
                    r.launch("copy", 100 * US)
        self.sane(r)

    def test_exports_of_nsight_systems(self):
        """One process of several, with and without ranges: the table is there, and its shares are shares."""
        for schema in ("2021", "2022", "2024", "2026"):
            for more in (["--ops"], ["--trainer", "steps"], ["--trainer", "bare"]):
                with self.subTest(schema=schema, more=more):
                    path = self.tmp / f"{schema}{len(more)}{more[-1]}.sqlite"
                    subprocess.run([sys.executable, ROOT / "tests/gen/nsys_export.py", "-o", path, "--schema", schema,
                                    "--ranks", "2", *more], check=True, capture_output=True)
                    done = subprocess.run([DUMP, path], capture_output=True, text=True, timeout=60 * SLOWER,
                                          env=environment())
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    rows = list(csv.DictReader(done.stdout.splitlines()))
                    self.assertTrue(rows)
                    for row in rows:
                        self.assertLessEqual(float(row["gain_percent"] or 0), 100)

    def test_cut_and_shaken(self):
        for seed in range(200 if FULL else 20):
            random_ = random.Random(seed)
            ranks = [training(rank=k, ranks=2) for k in range(2)]
            for r in ranks:
                how = random_.choice(("drop", "shuffle", "double", "times", "ids", "names"))
                if how == "drop":
                    r.events = [e for e in r.events if random_.random() < 0.7]
                elif how == "shuffle":
                    random_.shuffle(r.events)
                elif how == "double":
                    r.events += random_.sample(r.events, len(r.events) // 3)
                for e in r.events:
                    if how == "times" and random_.random() < 0.2:
                        e["ts"] += random_.choice((-1e3, 1e3, 1e6, -50, 50))
                        e["dur"] = random_.choice((0, 1e6, e["dur"] * 3))
                    if how == "ids" and "correlation" in e.get("args", {}) and random_.random() < 0.3:
                        e["args"]["correlation"] = random_.randrange(1000, 1020)
                    if how == "names" and random_.random() < 0.3:
                        e["name"] = random_.choice(r.events)["name"]
            with self.subTest(seed=seed):
                self.sane(*ranks)


if __name__ == "__main__":
    unittest.main()
