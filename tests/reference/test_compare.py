"""trawl compare on reports that another program made: its differences, and medians worked out here
from its reports; traces against the reports of the same traces.
"""
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, read_csv, trawl

CASE = SHARED / "cases/compare"
SWEEP = SHARED / "cases/sweep/e2e_tracelens"
PLOTS = SHARED / "cases/sweep/e2e_pipeline/as_is"
MODULES = SHARED / "refs/modules"
HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # openpyxl is Debian's
# Their times are doubles of microseconds since the epoch; here they are whole nanoseconds.
NS = 1e-6


class Compare(Case):
    def tables(self, *arguments, codes=(0,)):
        self.result = trawl("compare", *arguments, "-o", self.tmp / "page.html", "--format",
                            "json")
        self.assertExit(self.result, *codes)
        return {t["name"]: [dict(zip([c["header"] for c in t["columns"]], r)) for r in t["rows"]]
                for t in json.loads(self.result.out)["tables"]}

    def needs(self, place):
        if not place.exists():
            self.skipTest(f"given material absent: {place.relative_to(SHARED)} (TRAWL_SHARED)")

    def sheets(self, *workbooks):
        """[{sheet: rows}] of workbooks."""
        out = self.tmp / "csvs"
        subprocess.run([PYTHON, str(HERE / "xlsx_csvs.py"), str(out), *map(str, workbooks)],
                       check=True)
        return [{p.stem: read_csv(p) for p in (out / w.stem).glob("*.csv")} for w in workbooks]


class TwoReports(Compare):
    def setUp(self):
        super().setUp()
        self.needs(CASE)
        self.sides = [CASE / f"inputs_28ch/{t}thread/perf_28ch_rank0_perf_report_csvs"
                      for t in (256, 512)]

    def check(self, ours, theirs, key, column):
        rows = {r[key]: r for r in theirs}
        seen = 0
        for r in ours:
            want = rows[r[key]]
            if not want[f"{column}__512thread_diff"]:
                self.assertIn(r["verdict"], ("new", "gone"))
                continue
            seen += 1
            for mine, other in (("baseline ms", f"256thread::{column}"),
                                ("test ms", f"512thread::{column}"),
                                ("difference ms", f"{column}__512thread_diff")):
                self.assertAlmostEqual(r[mine], float(want[other]), delta=2 * NS, msg=r)
            if float(want[f"{column}__512thread_pct"]) > 1000:
                self.assertIsNone(r["faster (%)"], r)
            elif r["baseline ms"] > 0.1:
                self.assertAlmostEqual(-r["faster (%)"], float(want[f"{column}__512thread_pct"]),
                                       delta=0.01, msg=r)
        self.assertEqual(seen, sum(1 for r in theirs if r[f"{column}__512thread_diff"]))

    def test_differences_are_theirs(self):
        t = self.tables(*self.sides)
        theirs = CASE / "compare_256_512_ops_csvs"
        self.check(t["timeline_changes"], read_csv(theirs / "gpu_timeline.csv"), "type",
                   "time ms")
        self.check(t["operation_changes"], read_csv(theirs / "ops_summary.csv"), "name",
                   "total_direct_kernel_time_ms")

    def test_labels_and_gate(self):
        result = trawl("compare", *self.sides, "-o", self.tmp / "page.html", "--fail-on", "50")
        self.assertExit(result, 4)
        self.assertIn("512thread is 75.3 % slower than 256thread", result.out)
        self.assertIn("total_time is 75.3 % slower", result.err)
        # Slower by 45.6 %: below the limit.
        self.assertNotIn("part busy_time", result.err)

    def test_the_workbook_has_their_sheets(self):
        out = self.tmp / "w.xlsx"
        result = trawl("compare", *self.sides, "-o", self.tmp / "page.html", "--xlsx", out)
        self.assertExit(result, 0)
        sheets, = self.sheets(out)
        for name in ("gpu_timeline", "ops_summary"):
            theirs = read_csv(CASE / f"compare_256_512_ops_csvs/{name}.csv")
            self.assertEqual(set(theirs[0]) - set(sheets[name][0]), set(), name)
            self.assertEqual(len(theirs), len(sheets[name]), name)


class Sweeps(Compare):
    def setUp(self):
        super().setUp()
        self.needs(SWEEP)

    def test_traces_and_reports_of_the_same_sweep(self):
        t = self.tables(SWEEP / "out/sweep", SWEEP / "in/sweep", "--fail-on", "0")
        for name in ("timeline_changes", "operation_changes", "kernel_changes",
                     "collective_changes", "configuration_changes", "timeline_by_configuration"):
            self.assertTrue(t[name], name)
            self.assertEqual({r["verdict"] for r in t[name]}, {"same"}, name)
        for r in t["timeline_by_configuration"] + t["operation_changes"] + t["kernel_changes"]:
            self.assertAlmostEqual(r["baseline ms"], r["test ms"], delta=2 * NS, msg=r)

    def test_medians_and_noise_of_their_reports(self):
        place = SWEEP / "out/sweep/tracelens_analysis"
        times = {}
        for threads in (256, 512):
            books = [place / f"{threads}thread/individual_reports/perf_56ch_rank{r}.xlsx"
                     for r in range(8)]
            shutil.rmtree(self.tmp / "csvs", ignore_errors=True)
            for sheets in self.sheets(*books):
                for r in sheets["gpu_timeline"]:
                    times.setdefault((threads, r["type"]), []).append(float(r["time ms"]))
        sides = [SWEEP / f"in/sweep/{t}thread/nccl_56channels" for t in (256, 512)]
        t = self.tables(*sides)
        self.assertEqual(len(t["timeline_changes"]), 8)
        for row in t["timeline_changes"]:
            spreads = []
            for threads, column in ((256, "baseline"), (512, "test")):
                values = times[threads, row["type"]]
                self.assertEqual(len(values), 8)
                middle = statistics.median(values)
                spreads.append(1.4826 * statistics.median(abs(v - middle) for v in values))
                self.assertAlmostEqual(row[f"{column} ms"], middle, delta=2 * NS)
                self.assertAlmostEqual(row[f"{column} spread ms"], spreads[-1], delta=4 * NS)
            self.assertAlmostEqual(row["noise ms"], max(spreads), delta=4 * NS)
        total = next(r for r in t["timeline_changes"] if r["type"] == "total_time")
        self.assertEqual(total["verdict"], "better")

    def test_ranks_of_two_configurations_in_the_workbook(self):
        out = self.tmp / "w.xlsx"
        sides = [SWEEP / f"in/sweep/{t}thread/nccl_56channels" for t in (256, 512)]
        self.assertExit(trawl("compare", *sides, "-o", self.tmp / "page.html", "--xlsx", out), 0)
        sheets, = self.sheets(out)
        rows = [r for r in sheets["GPU_ByRank_Cmp"] if r["type"] == "total_time"]
        self.assertEqual([int(float(r["rank"])) for r in rows], list(range(8)))
        for r in rows:
            a, b = float(r["256thread_56ch_time_ms"]), float(r["512thread_56ch_time_ms"])
            self.assertAlmostEqual(float(r["percent_change"]), (a - b) / a * 100, delta=1e-9)
            self.assertEqual(r["status"], "Better" if a - b >= a / 100 else "Similar")
        mean = {r["type"]: r for r in sheets["GPU_Summary_Cmp"]}["total_time"]
        self.assertAlmostEqual(float(mean["256thread_56ch_time_ms"]), statistics.mean(
            float(r["256thread_56ch_time_ms"]) for r in rows), delta=1e-9)
        self.assertEqual(sheets["Summary_Dashboard"][0]["Metric"], "GPU_computation_time")
        self.assertTrue(sheets["NCCL_ImplicitSyncCmp"])
        self.assertTrue(sheets["NCCL_LongCmp"])

    def test_pictures_of_both_sides(self):
        self.needs(PLOTS)
        for side in ("a", "b"):
            shutil.copytree(SWEEP / "out/sweep", self.tmp / side / "sweep",
                            copy_function=shutil.copy)
            plots = self.tmp / side / "sweep/tracelens_analysis/plots"
            plots.mkdir()
            for picture in PLOTS.glob("*.png"):
                shutil.copy(picture, plots)
        result = trawl("compare", self.tmp / "a/sweep", self.tmp / "b/sweep", "-o",
                       self.tmp / "page.html")
        self.assertExit(result, 0)
        self.assertNotIn("pictures", result.err)
        self.assertEqual((self.tmp / "page.html").read_text().count("data:image/png;base64,"), 10)


class Places(Compare):
    """GPU time by place on both sides against the truth of made traces, to the ns."""

    def expected(self, truth):
        sums = {}
        for k in truth["kernels"]:
            lone = k["path"] == "(unlinked)"
            key = (k["path"], k["path"] if lone else k["dir"], k["path"] if lone else k["op"])
            sums[key] = sums.get(key, 0) + k["ns"]
        return sums

    def test_operators_within_modules(self):
        self.needs(MODULES)
        cases = sorted(p.parent for p in MODULES.glob("m*/truth.json"))
        for i, case in enumerate(cases):
            other = cases[i - 1]
            truths = [json.loads((c / "truth.json").read_text()) for c in (case, other)]
            with self.subTest(case.name):
                tables = self.tables(case / "trace.json", other / "trace.json", codes=(0, 3))
                if "module_operation_changes" not in tables:
                    continue
                rows = tables["module_operation_changes"]
                baseline = {(r["module"], r["pass"], r["name"]): round(r["baseline ms"] * 1e6) for r in rows}
                self.assertEqual({k: v for k, v in baseline.items() if v}, self.expected(truths[0]))
                names = {r["module"]: r["test name"] or r["module"] for r in tables["module_changes"]}
                test = {(names[r["module"]], r["pass"], r["name"]): round(r["test ms"] * 1e6) for r in rows}
                self.assertEqual({k: v for k, v in test.items() if v}, self.expected(truths[1]))
                for name, side in (("baseline ms", 0), ("test ms", 1)):
                    for table in ("module_changes", "module_class_changes", "module_operation_changes"):
                        self.assertEqual(sum(round(r[name] * 1e6) for r in tables[table]), truths[side]["gpu_ns"])


if __name__ == "__main__":
    unittest.main()
