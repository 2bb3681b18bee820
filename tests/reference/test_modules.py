"""Modules, call sites and recomputation against an independent program and against the truth of made traces: equal
to the nanosecond.

TRAWL_SHARED/refs/modules has what that program says of recorded traces, made traces with their truth, and
refs/tools the program.
"""
import collections
import csv
import gzip
import importlib
import json
import pathlib
import re
import statistics
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import FULL, ROOT, SHARED, Case, Report, read_csv, trawl

REFS = SHARED / "refs/modules"
NONE, UNLINKED = "(none)", "(unlinked)"
MOST_OPERATORS = 8


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


def class_of(path):
    return " > ".join(re.sub(r"_\d+$", "", name) for name in path.split(" > "))


def inner_frames():
    """The patterns of data/frames.tsv as a regular expression."""
    patterns = [line.split("\t")[0] for line in (ROOT / "data/frames.tsv").read_text().splitlines()
                if not line.startswith("#") and line.split("\t")[1] != "passing"]
    return re.compile("|".join("^" + ".*".join(map(re.escape, p.split("*"))) + "$" for p in patterns), re.I)


def folded(text):
    """{stack: ns}, without names of users."""
    out = collections.Counter()
    for line in text.splitlines():
        stack, time = line.rsplit(" ", 1)
        out[re.sub(r"/(home|Users)/[^/;]+/", r"/\1/user/", stack)] += int(time)
    return out


def made_ns(modules):
    return sum(t for path, t in modules.items() if path != UNLINKED)


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

    def hold_modules(self, report, folder):
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
            return
        self.assertEqual(self.modules(report), expected)
        sums = {r["quantity"]: int(r["time ns"]) for r in report.table("reconciliation")}
        self.assertEqual(sums["modules"], json.loads((folder / "summary.json").read_text())["gpu_ns"])
        self.assertEqual(sums["modules_difference"], 0)
        self.hold_classes(report, folder)

    def hold_classes(self, report, folder):
        expected = {r["class_path"]: r for r in reference(folder, "module_classes")}
        made = {r["module_class"]: r for r in report.table("module_classes")}
        self.assertEqual(set(made), set(expected))
        for name, e in expected.items():
            m = made[name]
            self.assertEqual((ns(m["self GPU time (ms)"]), ns(m["GPU time (ms)"])),
                             (int(e["gpu_self_ns"]), int(e["gpu_total_ns"])), name)
            if name in (NONE, UNLINKED):
                continue
            self.assertEqual([int(m["instances"]), int(m["calls"]),
                              *(ns(m[f"{what} (ms)"]) for what in ("min", "median", "max"))],
                             [int(e[c]) for c in ("instances", "calls", "min_ns", "median_low_ns", "max_ns")], name)
            # Several may be as far away.
            self.assertEqual(bool(m["farthest instance"]), bool(e["its_ns"]), name)
            if e["its_ns"] and ns(m["its GPU time (ms)"]) != int(e["its_ns"]):
                times = [ns(r["GPU time (ms)"]) for r in report.table("modules")
                         if class_of(r["module"]) == name]
                middle = statistics.median(times)
                self.assertEqual(abs(ns(m["its GPU time (ms)"]) - middle), abs(int(e["its_ns"]) - middle), name)

    def hold_sites(self, report, folder, expected):
        """`expected`: {site: (events, ns, forward, backward, recompute, operators)}."""
        if set(expected) <= {NONE, UNLINKED}:
            self.assertFalse(report.has("call_sites"))
            return
        made = {}
        for r in report.table("call_sites"):
            made[r["call_site"]] = (int(r["GPU events"]),
                                    *(ns(r[f"{what} (ms)"]) for what in
                                      ("GPU time", "forward", "backward", "recompute")), r["operators"])
        self.assertEqual({k: v[:5] for k, v in made.items()}, {k: v[:5] for k, v in expected.items()})
        for site, row in made.items():
            if site == UNLINKED:
                continue
            names = expected[site][5]
            shown = row[5].split("; ")
            more = [f"{len(names) - MOST_OPERATORS} more"] if len(names) > MOST_OPERATORS else []
            self.assertEqual(shown[MOST_OPERATORS:], more, site)
            self.assertEqual(set(shown[:MOST_OPERATORS]) - set(names), set(), site)
            if not more:
                self.assertEqual(sorted(shown), sorted(names), site)

    def sites(self, folder):
        out = {}
        for r in reference(folder, "call_sites"):
            row = [int(r[c]) for c in ("gpu_events", "gpu_ns", "forward_ns", "backward_ns", "recompute_ns")]
            if r["site"] == UNLINKED:
                row[2] = 0
            out[r["site"]] = (*row, r["operations"].split("; "))
        return out

    def hold_recompute(self, report, folder):
        expected = {r["operation"]: (int(r["forward_ns"]), int(r["recompute_ns"]))
                    for r in reference(folder, "recompute_ops") if int(r["recompute_ns"])}
        made = {}
        if expected or report.has("recompute"):
            made = {r["operator"]: (ns(r["forward (ms)"]), ns(r["recompute (ms)"]))
                    for r in report.table("recompute")}
        self.assertEqual(made, expected)

    def test_recorded_traces(self):
        inner = inner_frames()
        for folder, trace in recorded().items():
            with self.subTest(trace=folder.name):
                report = self.report(trace)
                self.hold_modules(report, folder)
                self.hold_recompute(report, folder)
                sites = self.sites(folder)
                if any(inner.match(s) for s in sites):
                    # data/frames.tsv has more than the other program: it is run again with those.
                    if not FULL:
                        continue
                    sites = self.sites(self.again(trace, inner))
                self.hold_sites(report, folder, sites)

    def again(self, trace, inner):
        sys.path.insert(0, str(SHARED / "refs/tools"))
        try:
            oracle = importlib.import_module("modules_oracle")
        finally:
            sys.path.pop(0)
        own = oracle.FRAMEWORK
        oracle.FRAMEWORK = re.compile(f"{own.pattern}|{inner.pattern}", re.I)
        out = self.tmp / "oracle" / trace.parent.name
        try:
            oracle.main(str(trace), str(out))
        finally:
            oracle.FRAMEWORK = own
        return out

    def hold_stacks(self, trace, folder, how):
        out = self.tmp / "stacks" / trace.parent.name
        done = trawl("report", "-q", "--no-xlsx", "--no-csv", "--stacks", how, "-o", out, trace, timeout=240)
        self.assertEqual(done.rc, 0, done)
        if not (out / "stacks.folded").exists():
            self.assertNotIn("python_function", gzip.open(trace).read().decode("utf-8", "replace"))
            return
        with gzip.open(folder / f"stacks_{how}.folded.gz") as f:
            self.assertEqual(folded((out / "stacks.folded").read_text()), folded(f.read().decode()))

    def test_stacks_of_recorded_traces(self):
        for folder, trace in recorded().items():
            for how in ("modules", "full"):
                with self.subTest(trace=folder.name, how=how):
                    self.hold_stacks(trace, folder, how)

    def test_entry_points_as_in_tracelens(self):
        """It takes every _number out of names."""
        compared = 0
        for folder, trace in recorded().items():
            path = folder / "tracelens/unified_perf_summary.csv"
            if not path.exists():
                continue
            out = self.tmp / "entries" / folder.name
            report = Report(trawl("report", "-q", "--no-xlsx", "--call-stack", "-o", out, trace), out)
            made = {(r["name"], r["Input Dims"], r["Input type"], r["Concrete Inputs"]):
                    re.sub(r"_\d+", "", r["entry_point"]) for r in report.table("unified_perf_summary")}
            for r in read_csv(path):
                key = r["name"], r["Input Dims"], r["Input type"], r["Concrete Inputs"]
                self.assertEqual(made[key], r["entry_point"], (folder.name, key))
                compared += 1
        self.assertGreater(compared, 20)

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
                if any(s != NONE for s in truth["sites_ns"]):
                    sites = {r["call_site"]: ns(r["GPU time (ms)"]) for r in report.table("call_sites")} \
                        if report.has("call_sites") else {NONE: made_ns(made), UNLINKED: made.get(UNLINKED, 0)}
                    self.assertEqual({s: t for s, t in sites.items() if t}, truth["sites_ns"])
                for p in ("backward", "recompute"):
                    self.assertEqual(sum(ns(r[f"{p} (ms)"]) for r in report.table("modules")
                                         if r["depth"] in ("", "1")),
                                     sum(v[p] for v in truth["modules_self_ns"].values()), p)


if __name__ == "__main__":
    unittest.main()
