"""Modules, call sites, passes and stacks of made-up runs, against what was written down while they were made."""
import collections
import json
import pathlib
import sys
import tempfile
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from module_run import made_run
from support import FULL, SANITIZED, Case, Report, trawl

SEEDS = 6 if SANITIZED else 300 if FULL else 40
PASSES = ("forward", "backward", "recompute")


def ns(milliseconds):
    return int(Decimal(milliseconds or 0).scaleb(6))


def named(path):
    return " > ".join(path) or "(none)"


class Modules(Case):
    def report_of(self, text, *options):
        place = pathlib.Path(tempfile.mkdtemp(dir=self.tmp))
        trace, out = place / "trace.json", place / "out"
        trace.write_text(text)
        report = Report(trawl("report", "-q", "--no-xlsx", "-o", out, *options, trace), out)
        self.assertEqual(report.rc, 0, report)
        return report

    def modules(self, report, run):
        expected = collections.defaultdict(lambda: [0] * 4)
        for path, which, _, _, _, time in run.kernels:
            for depth in range(1, len(path) + 1) if path else (0,):
                expected[named(path[:depth])][PASSES.index(which)] += time
            expected[named(path)][3] += time
        for path in run.calls:
            expected[named(path)]  # has a row
        rows = {r["module"]: r for r in report.table("modules")}
        self.assertEqual({p: [*(ns(r[f"{w} (ms)"]) for w in PASSES), ns(r["self GPU time (ms)"])]
                          for p, r in rows.items()}, dict(expected))
        self.assertEqual({p: (int(r["calls"]), int(r["recomputed"])) for p, r in rows.items() if p != "(none)"},
                         {named(p): (run.calls[p], run.recomputed[p]) for p in run.calls})

    def sites(self, report, run):
        expected = collections.defaultdict(lambda: [0] * 3)
        for _, which, site, _, _, time in run.kernels:
            expected[site or "(none)"][PASSES.index(which)] += time
        self.assertEqual({r["call_site"]: [ns(r[f"{w} (ms)"]) for w in PASSES] for r in report.table("call_sites")},
                         dict(expected))

    def again(self, report, run):
        expected = collections.defaultdict(lambda: [0, 0])
        for _, which, _, op, _, time in run.kernels:
            if which != "backward":
                expected[op][which == "recompute"] += time
        expected = {op: times for op, times in expected.items() if times[1]}
        rows = report.table("recompute") if report.has("recompute") else []
        self.assertEqual({r["operator"]: [ns(r["forward (ms)"]), ns(r["recompute (ms)"])] for r in rows}, expected)

    def stacks(self, report, run):
        expected = collections.Counter()
        for path, which, _, op, kernel, time in run.kernels:
            expected[";".join(([f"[{which}]"] if which != "forward" else []) +
                              [*(path or ("(none)",)), op, kernel])] += time
        made = dict(line.rsplit(" ", 1) for line in (report.dir / "stacks.folded").read_text().splitlines())
        self.assertEqual({s: int(t) for s, t in made.items()}, dict(expected))

    def without_frames(self, text, run):
        """As a trace in which no frames were recorded."""
        rest = json.loads(text, parse_float=str)
        kept = [line for line in text.splitlines() if '"python_function"' not in line]
        plain = "\n".join(kept).replace(",\n]}", "\n]}")
        self.assertLess(len(json.loads(plain)["traceEvents"]), len(rest["traceEvents"]))
        skipped = self.report_of(text, "--no-python")
        tables = {p.name: p.read_text() for p in skipped.csvs.glob("*.csv") if p.name != "quality.csv"}
        removed = self.report_of(plain)
        self.assertFalse(skipped.has("modules"))
        self.assertEqual(tables, {n: (removed.csvs / n).read_text() for n in tables})

    def test_made_runs(self):
        seen = collections.Counter()
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                run = made_run(seed)
                if not run.kernels:
                    continue
                text = run.text()
                report = self.report_of(text)
                self.modules(report, run)
                self.sites(report, run)
                self.again(report, run)
                self.stacks(report, run)
                seen.update(which for _, which, *_ in run.kernels)
                seen["threads"] += len(run.forward_threads) > 1
                if seed % 10 == 0:
                    self.without_frames(text, run)
        self.assertTrue(all(seen[what] for what in (*PASSES, "threads")), seen)


if __name__ == "__main__":
    unittest.main()
