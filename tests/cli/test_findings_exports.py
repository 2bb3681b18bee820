"""Findings of exports of Nsight Systems: those of the same run as the profiler of PyTorch records it.

Where both have the evidence the gain is the same; what only one of them has (types of tensors, python functions)
is no finding of the other.
"""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import made_exports
from support import read_csv, trawl
from made_runs import MS, US, Findings, Rank, steps


def loads(r):
    with r.inside("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        r.busy(3 * MS)
    r.run("aten::relu", 700 * US)


def waits(r):
    with r.op("aten::item"):
        r.run("aten::_local_scalar_dense", 10 * US)
        r.sync()
    r.busy(400 * US)
    r.run("aten::relu", 100 * US)


def allocates(r):
    r.sync()
    r.call("cudaMalloc", 900 * US)
    r.run("aten::relu", 300 * US)


def copies(r):
    with r.op("aten::copy_"):
        r.copy("HtoD (Pageable -> Device)", 800 * US, bytes=8 << 20, waits=True)
    r.run("aten::relu", 300 * US)


def copies_late(r):
    r.copy("HtoD (Pinned -> Device)", 600 * US, bytes=16 << 20)
    r.run("aten::relu", 300 * US)


def makes_contiguous(r):
    with r.op("aten::contiguous"):
        r.run("aten::copy_", 250 * US)
    r.run("aten::relu", 300 * US)


RUNS = {"data_loading": loads, "host_sync": waits, "allocator_calls": allocates, "pageable_copy": copies,
        "exposed_copy": copies_late, "layout_copies": makes_contiguous}


class Exports(Findings):
    def found(self, path, *options):
        done = trawl("analyze", path, "-o", self.tmp / "out", "--no-replay", "--no-plots", *options)
        self.assertExit(done, 0)
        self.printed = done.out
        return {r["kind"]: r for r in read_csv(self.tmp / "out/findings.csv")}

    def both(self, run, *options, schema="2024"):
        """{kind: row} of the export, and of the trace."""
        path = self.tmp / f"run{schema}.sqlite"
        path.unlink(missing_ok=True)
        made_exports.write(run, path, schema)
        return self.found(path, *options), self.found(self.write(run.document(), "run.json"), *options)

    def assertAlike(self, export, trace, kind):
        self.assertIn(kind, trace)
        self.assertIn(kind, export)
        for column in "gain_ms", "gain_percent", "gain_how":
            self.assertEqual(export[kind][column], trace[kind][column], column)

    def test_the_same_kinds_and_gains(self):
        for kind, body in RUNS.items():
            with self.subTest(kind):
                export, trace = self.both(steps(body))
                self.assertAlike(export, trace, kind)
                self.assertEqual(export.keys(), trace.keys())

    def test_launches_of_small_kernels(self):
        def body(r):
            for _ in range(60):
                r.run("aten::add", 2 * US)
        export, trace = self.both(steps(body, ahead=20 * US))
        self.assertAlike(export, trace, "launch_bound")

    def test_of_every_schema(self):
        for schema in "2021", "2022", "2024", "2026":
            with self.subTest(schema):
                export, trace = self.both(steps(allocates), schema=schema)
                self.assertAlike(export, trace, "allocator_calls")

    def test_places(self):
        export, _ = self.both(steps(waits))
        self.assertTrue(export["host_sync"]["where"].startswith("aten::item"), export["host_sync"]["where"])
        self.assertIn("cudaStreamSynchronize", export["host_sync"]["where"])

    def test_gains_are_of_a_step(self):
        """Ranges that the program named so are its steps."""
        run = steps(allocates, count=5)
        made_exports.write(run, self.tmp / "run.sqlite")
        heads = []
        for path in self.tmp / "run.sqlite", self.write(run.document(), "run.json"):
            self.found(path)
            heads.append(next(line for line in self.printed.splitlines() if "what limits" in line))
        self.assertEqual(heads[0], heads[1])
        self.assertRegex(heads[0], r"\(window [\d.]+ ms, step [\d.]+ ms\)")

    def test_a_pause_in_one_step(self):
        number = 0

        def body(r):
            nonlocal number
            number += 1
            r.sync()
            r.busy((9 * MS if number == 3 else 100 * US))
            r.run("aten::relu", 300 * US)
        export, trace = self.both(steps(body, count=5))
        self.assertAlike(export, trace, "host_pause")
        self.assertTrue(export["host_pause"]["where"].startswith("step 3"), export["host_pause"]["where"])

    def test_a_part(self):
        number = 0

        def body(r):
            nonlocal number
            number += 1
            r.sync()
            if number == 3:
                r.call("cudaMalloc", 2 * MS)
            r.run("aten::relu", 300 * US)
        run = steps(body)
        export, trace = self.both(run, "--step", "3")
        self.assertGain(export, "allocator_calls", 2 * MS)
        self.assertAlike(export, trace, "allocator_calls")
        self.assertNone(self.both(run, "--step", "2")[0], "allocator_calls")

    def test_inner_steps_are_of_the_outer_one(self):
        r = Rank()
        for number in range(1, 5):
            with r.inside(f"iteration {number}"):
                for k in range(3):
                    with r.inside(f"Step {3 * number + k}"):
                        r.run("aten::relu", 200 * US)
                        r.sync()
        made_exports.write(r, self.tmp / "inner.sqlite")
        found = self.found(self.tmp / "inner.sqlite")
        # 4 of the outer ones, each of 3 x 200 us and what lies between.
        step = float(re.search(r"step ([\d.]+) ms", self.printed)[1])
        self.assertTrue(0.6 < step < 0.7, step)
        self.assertIn("host_sync", found)

    def test_other_ranges_with_numbers_are_no_steps(self):
        r = Rank()
        for number in range(1, 5):
            with r.inside(f"layer {number}"):
                r.run("aten::relu", 200 * US)
        made_exports.write(r, self.tmp / "layers.sqlite")
        self.found(self.tmp / "layers.sqlite")
        self.assertRegex(self.printed, r"what limits the run \(window [\d.]+ ms\)")

    def test_the_query(self):
        made_exports.write(steps(allocates), self.tmp / "run.sqlite")
        self.found(self.tmp / "run.sqlite")
        done = trawl("nsys", "findings", self.tmp / "run.sqlite", "--format", "csv")
        self.assertExit(done, 0)
        self.assertEqual(done.out.split("\n", 1)[1] if done.out.startswith("#") else done.out,
                         (self.tmp / "out/findings.csv").read_text())
        self.assertIn("what limits the run", trawl("nsys", "findings", self.tmp / "run.sqlite").out)
        for option in ("--rank", "0"), ("--compat",):
            self.assertExit(trawl("nsys", "findings", self.tmp / "run.sqlite", *option), 2)


if __name__ == "__main__":
    unittest.main()
