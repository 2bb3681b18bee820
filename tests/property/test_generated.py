"""Whose work it is and when, of generated traces: modules, call sites, passes, steps, phases and graphs are what
the generator built in, to the nanosecond."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from generated import Generated
from support import FULL, SANITIZED, tracegen

SEEDS = (1,) if SANITIZED else range(1, 9) if FULL else range(1, 3)
VENDORS = ("nvidia", "amd")


class Who(Generated):
    def check_all(self, report, truth):
        self.assertReconciles(report)
        self.check_who(report, truth)
        self.check_steps(report, truth)

    def each(self, *options):
        for vendor in VENDORS:
            for seed in SEEDS:
                yield vendor, seed, ("--stacks", "--vendor", vendor, "--seed", str(seed), "--steps", str(1 + seed % 3),
                                     *options)

    def test_backward_of_another_thread(self):
        for kind in ("train", "infer", "compile"):
            for vendor, seed, options in self.each("--kind", kind):
                with self.subTest(kind=kind, vendor=vendor, seed=seed):
                    trace, truth = self.generate(*options)
                    self.check_all(self.report(trace), truth)

    def test_layers_computed_again(self):
        for how in ("recompute", "reentrant"):
            for vendor, seed, options in self.each("--checkpoint", how):
                with self.subTest(how=how, vendor=vendor, seed=seed):
                    trace, truth = self.generate(*options)
                    self.assertTrue(truth["recompute"])
                    self.check_all(self.report(trace), truth)

    def test_stages_of_a_pipeline(self):
        """Each rank, and their sums."""
        for seed in SEEDS:
            for ranks, how in ((2, "none"), (3, "recompute")):
                with self.subTest(seed=seed, ranks=ranks):
                    job, facts = self.tmp / f"job{seed}{ranks}", self.tmp / f"facts{seed}{ranks}"
                    subprocess.run([tracegen(), "--stacks", "--ranks", str(ranks), "--pipeline", "--checkpoint", how,
                                    "--steps", "2", "--seed", str(seed), "--truth", facts, "-o", job], check=True)
                    truths = [json.loads((facts / f"rank{r}.json").read_text()) for r in range(ranks)]
                    for rank, truth in enumerate(truths):
                        self.check_all(self.report(job / f"rank{rank}_trace.json"), truth)
                    self.check_sums(self.report(job, timeout=120), truths)

    def check_sums(self, report, truths):
        want = {}
        for truth in truths:
            for facts in truth["modules"]:
                want[facts["module"]] = want.get(facts["module"], 0) + facts["ns"]
        have = {row["module"]: row["GPU time (ms)_total"] for row in report.table("modules")}
        self.assertEqual({m: int(round(float(have[m]) * 1e6)) for m in want}, want)

    def test_graphs_by_their_capture(self):
        for vendor, seed, options in self.each("--kind", "decode"):
            with self.subTest(vendor=vendor, seed=seed):
                capture = self.tmp / "capture.json"
                trace, truth = self.generate(*options, "--capture", capture)
                report = self.report(trace)
                self.check_all(report, truth)
                self.check_phases(report, truth)
                report = self.report(trace, "--capture", capture)
                self.check_graphs(report, truth)
                self.check_steps(report, truth)
                self.check_phases(report, truth)


if __name__ == "__main__":
    unittest.main()
