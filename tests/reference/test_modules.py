"""Modules, call sites and recomputation against an independent program and against the truth of made traces: equal
to the nanosecond.

TRAWL_SHARED/refs/modules has what that program says of recorded traces, made traces with their truth, and
refs/tools the program.
"""
import csv
import json
import pathlib
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, Report, read_csv, trawl

REFS = SHARED / "refs/modules"
NONE, UNLINKED = "(none)", "(unlinked)"


def ns(milliseconds):
    """A cell in ms as whole ns; an empty one is 0."""
    return int(Decimal(milliseconds or 0).scaleb(6))


def reference(folder, table):
    with open(folder / f"{table}.csv", newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def recorded():
    """{folder: trace} of the recorded traces."""
    out = {}
    for line in (SHARED / "refs/origins.tsv").read_text().splitlines():
        name, where = line.split("\t")[:2]
        if name.startswith("modules/"):
            path = SHARED / where.replace("shared/", "", 1).replace("(.gz)", "")
            out[SHARED / "refs" / name] = path if path.exists() else path.with_name(path.name + ".gz")
    return out


class Modules(Case):
    @classmethod
    def setUpClass(cls):
        if not REFS.exists():
            raise unittest.SkipTest("given material absent: refs/modules (TRAWL_SHARED)")

    def report(self, trace):
        out = self.tmp / "out" / trace.parent.name
        report = Report(trawl("report", "-q", "--no-xlsx", "-o", out, trace, timeout=240), out)
        self.assertEqual(report.rc, 0, report)
        return report

    def modules(self, report):
        """{path: (depth, calls, recomputed, events, self ns, total ns, by pass, host ns)}."""
        return {r["module"]: (int(r["depth"] or 1), int(r["calls"] or 0), int(r["recomputed"] or 0),
                              int(r["self GPU events"]), int(r["GPU events"]),
                              *(ns(r[f"{what} (ms)"]) for what in
                                ("self GPU time", "GPU time", "forward", "backward", "recompute", "host time")))
                for r in report.table("modules")}

    def test_modules_of_recorded_traces(self):
        for folder, trace in recorded().items():
            with self.subTest(trace=folder.name):
                report = self.report(trace)
                expected = {}
                for r in reference(folder, "modules"):
                    row = [int(r[c]) for c in (
                        "depth", "calls", "calls_recompute", "gpu_events_self", "gpu_events_total", "gpu_self_ns",
                        "gpu_total_ns", "forward_total_ns", "backward_total_ns", "recompute_total_ns", "host_ns")]
                    if r["path"] == UNLINKED:
                        row[7] = 0  # The pass of what has no launch is not known.
                    expected[r["path"]] = tuple(row)
                if set(expected) <= {NONE, UNLINKED}:
                    self.assertFalse(report.has("modules"))
                    continue
                self.assertEqual(self.modules(report), expected)
                sums = {r["quantity"]: int(r["time ns"]) for r in report.table("reconciliation")}
                self.assertEqual(sums["modules"], json.loads((folder / "summary.json").read_text())["gpu_ns"])
                self.assertEqual(sums["modules_difference"], 0)

    def test_modules_of_made_traces(self):
        folders = sorted(REFS.glob("m*-*"))
        self.assertTrue(folders)
        for folder in folders:
            with self.subTest(trace=folder.name):
                truth = json.loads((folder / "truth.json").read_text())
                report = self.report(folder / "trace.json")
                made = {r["module"]: ns(r["self GPU time (ms)"]) for r in report.table("modules")}
                expected = {path: sum(passes.values()) for path, passes in truth["modules_self_ns"].items()}
                self.assertEqual({p: t for p, t in made.items() if t}, expected)
                self.assertEqual(sum(made.values()), truth["gpu_ns"])
                for p in ("backward", "recompute"):
                    self.assertEqual(sum(ns(r[f"{p} (ms)"]) for r in report.table("modules")
                                         if r["depth"] in ("", "1")),
                                     sum(v[p] for v in truth["modules_self_ns"].values()), p)


if __name__ == "__main__":
    unittest.main()
