"""Traces of the generator against the truth that it wrote beside them: what it built in, in
nanoseconds, is what trawl reports."""
import gzip
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
from support import FULL, ROOT, SANITIZED, Case, number, report, tracegen

KINDS = ("train", "infer", "decode", "compile")
VENDORS = ("nvidia", "amd")
SEEDS = (1,) if SANITIZED else range(1, 13) if FULL else range(1, 4)
ROWS = {"total": "span_ns", "busy": "busy_ns", "idle": "idle_ns", "compute": "compute_ns",
        "exposed_comm": "exposed_comm_ns", "exposed_memcpy": "exposed_memcpy_ns",
        "comm": "total_comm_ns", "memcpy": "total_memcpy_ns"}


def ns(us):
    return int(us * 1000)


class Truth(Case):
    def generate(self, *options):
        """A trace and its truth."""
        trace, truth = self.tmp / "trace.json", self.tmp / "truth.json"
        done = subprocess.run([str(tracegen()), *options, "--truth", str(truth), "-o", str(trace)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return trace, json.loads(truth.read_text())

    def reported(self, trace, *options):
        rep = report(trace, self.tmp / ("out" + "".join(options)), *options, timeout=120)
        self.assertAlive(rep)
        self.assertExit(rep, 0)
        return rep

    def one(self, *options):
        trace, truth = self.generate(*options)
        rep = self.reported(trace)
        self.assertOutputsSane(rep)
        self.assertEqual([r for r in rep.flaws() if r["class"] == "lost"], [], str(rep))
        self.assertTruth(rep, truth)
        linked = self.reported(trace, "--linked-only")
        self.assertTimeline(linked, truth["linked_only"])
        return trace, truth, rep

    def assertTimeline(self, rep, truth):
        self.assertEqual({k: ns(v) for k, v in rep.figures().items()},
                         {k: truth[v] for k, v in ROWS.items()})

    def assertTruth(self, rep, truth):
        self.assertTimeline(rep, truth)
        self.assertPercents(rep)
        self.assertReconciles(rep)
        self.assertEqual({n: (c, *map(ns, t)) for n, (c, *t) in rep.kernels().items()},
                         {k["name"]: (k["count"], k["sum_ns"], k["min_ns"], k["max_ns"])
                          for k in truth["kernels"]})
        self.assertEqual(rep.kernel_count(), truth["n_kernels"])
        self.assertEqual({n: (c, ns(d)) for n, (c, d, _) in rep.ops().items()},
                         {o["name"]: (o["count"], o["direct_ns"]) for o in truth["ops"]})
        self.assertEqual({(r["device"], r["stream"]) for r in rep.table("streams")},
                         {(str(s["device"]), str(s["stream"])) for s in truth["streams"]})
        launches = rep.table("launches")
        self.assertEqual(sum(int(r["calls without kernel"]) for r in launches),
                         truth["n_launches_without_kernel"], str(launches))
        self.assertEqual(sum(int(r["GPU events"]) for r in launches), truth["n_links"], str(launches))
        self.assertPossible(rep)
        self.assertSummary(rep, truth)

    def assertPossible(self, rep):
        """No op is faster than the device (the median: of some calls a kernel is not recorded)."""
        for row in rep.table("unified_perf_summary"):
            self.assertLessEqual(number(row["Pct Roofline_median"]) or 0, 90, row["name"])

    def assertSummary(self, rep, truth):
        """The console summary names the device and the rank."""
        self.assertIn(truth["device_name"], rep.out)
        if truth["world_size"] > 1:
            self.assertRegex(rep.out, rf"(?i)rank\D{{0,3}}{truth['rank']}\b")

    def test_generator_says_the_same_twice(self):
        for options in (("--kind", "train"), ("--kind", "decode", "--vendor", "amd")):
            first = self.generate(*options, "--seed", "9")
            one = first[0].read_bytes()
            second = self.generate(*options, "--seed", "9")
            self.assertEqual(one, second[0].read_bytes())
            self.assertEqual(first[1], second[1])

    def test_truth_by_the_oracle(self):
        """The generator's truth itself, by the slow reader."""
        for kind in KINDS:
            with self.subTest(kind):
                trace, truth = self.generate("--kind", kind, "--steps", "1", "--seed", "77")
                slow = oracle.Trace(trace)
                self.assertEqual(oracle.timeline(slow.gpu), {k: truth[v] for k, v in ROWS.items()})
                self.assertEqual({n: (c, d) for n, (c, d, _) in oracle.ops(slow).items()},
                                 {o["name"]: (o["count"], o["direct_ns"]) for o in truth["ops"]})

    def test_layouts_agree(self):
        outs = {}
        for layout in ("native", "compact", "indent"):
            trace, _ = self.generate("--layout", layout, "--steps", "1")
            rep = report(trace, self.tmp / layout)
            self.assertExit(rep, 0)
            outs[layout] = {f: (rep.dir / f).read_bytes() for f in rep.files()
                            if "quality" not in f}
        self.assertEqual(outs["native"], outs["compact"])
        self.assertEqual(outs["native"], outs["indent"])

    def test_epoch_times(self):
        self.one("--epoch", "--steps", "1", "--seed", "5")

    def test_stacks(self):
        self.one("--stacks", "--steps", "1", "--seed", "6")

    def test_many_steps(self):
        if SANITIZED:
            self.skipTest("a long trace: not on instrumented builds")
        self.one("--size", "40M", "--seed", "8")

    def test_sample_is_the_generator_s(self):
        """The sample under examples/ can be made again, and its report is the truth."""
        trace, truth = self.generate("--kind", "train", "--steps", "2")
        sample = ROOT / "examples/sample.json.gz"
        made = subprocess.run([str(tracegen()), "--kind", "train", "--steps", "2", "--seed", "1",
                               "-o", "-"], capture_output=True, check=True).stdout
        self.assertEqual(gzip.decompress(sample.read_bytes()), made)

    def test_ranks(self):
        where, facts = self.tmp / "job", self.tmp / "facts"
        done = subprocess.run([str(tracegen()), "--ranks", "2", "--steps", "1", "--straggler",
                               "1:1.3", "--clock-skew-us", "50", "--truth", str(facts), "-o",
                               str(where)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in (0, 1):
            rep = report(where / f"rank{rank}_trace.json", self.tmp / f"out{rank}")
            self.assertExit(rep, 0)
            self.assertTruth(rep, json.loads((facts / f"rank{rank}.json").read_text()))


def add_tests():
    for kind in KINDS:
        for vendor in VENDORS:
            for seed in SEEDS:
                options = ("--kind", kind, "--vendor", vendor, "--seed", str(seed), "--steps",
                           str(1 + seed % 3))
                setattr(Truth, f"test_{kind}_{vendor}_{seed}",
                        lambda self, o=options: self.one(*o))


add_tests()

if __name__ == "__main__":
    unittest.main()
