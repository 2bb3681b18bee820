"""trawl analyze and category: what they print, their exit statuses, what they leave behind."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, base_events, document, op, trawl

SAMPLE = ROOT / "examples/sample.json.gz"
REPORTS = ["standalone_analysis_fair.html", "standalone_analysis_fair.md",
           "standalone_analysis_rough.md"]


class Analyze(Case):
    def analyze(self, *options, trace=SAMPLE, name="out", **keywords):
        result = trawl("analyze", trace, "-o", self.tmp / name, "--no-plots", *options, **keywords)
        self.assertAlive(result)
        return result

    def json(self, name):
        return json.loads((self.tmp / "out" / name).read_text(encoding="utf-8"))

    def test_a_newcomers_run(self):
        trace = self.tmp / "sample.json.gz"
        shutil.copy(SAMPLE, trace)
        result = trawl("analyze", trace)
        self.assertExit(result, 0)
        out = self.tmp / "analysis_output"
        files = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
        manifest = json.loads((out / "category_manifest.json").read_text())
        want = {"perf_report.xlsx", "perf_report_csvs/gpu_timeline.csv", "priority_data.json",
                "category_manifest.json", "category_data/category_manifest.json", *REPORTS}
        for category in manifest["categories"]:
            folder = "system" if category["tier"] == "system" else "category"
            want |= {f"category_data/{category['name']}_metrics.json",
                     f"metadata/{category['name']}_metadata.json",
                     f"{folder}_findings/{category['name']}_findings.md"}
        self.assertEqual(want - files, set())
        self.assertTrue(manifest["platform_guessed"])
        self.assertRegex(result.out, rf"{manifest['platform']}, from the device in the trace.*"
                                     r"override with --platform")
        # What limits the run is said as the reports recommend it.
        said = result.out.split("largest gain first\n")[1].split("\n\n")[0]
        data = json.loads((out / "priority_data.json").read_text())
        self.assertTrue(data["optimizations"])
        for change, (number, title) in zip(data["optimizations"],
                                           re.findall(r"^ +(\d+)\. (.*?)(?: \(|: gain)", said, re.M)):
            self.assertEqual((change["id"], change["title"]), (f"P{number}", title))
        self.assertIn(str(out), result.err)

    def test_files_of_an_earlier_analysis_are_told(self):
        result = self.analyze()
        self.assertNotIn("earlier analysis", result.err)
        left = self.tmp / "out/category_data/quantum_metrics.json"
        left.write_text("{}")
        os.utime(left, (1e9, 1e9))
        result = self.analyze()
        self.assertExit(result, 0)
        self.assertRegex(result.err, r"1 file is in .* of an earlier analysis "
                                     r"\(category_data/quantum_metrics\.json\)")
        self.assertTrue(left.exists())

    def test_other_files_beside_a_trace_are_no_ranks(self):
        """A directory of one trace is that trace; of files that are none one is named."""
        place = self.tmp / "run"
        place.mkdir()
        trace = self.write(document(base_events()), "run/trace.json")
        lone = self.analyze(trace=trace, name="lone")
        self.assertExit(lone, 0)
        for count, line in ((1, r"a0\.json: skipped: .*not a profiler trace"),
                            (2, r"a0\.json and 1 other file: skipped: not profiler traces"),
                            (3, r"a0\.json and 2 other files: skipped: not profiler traces")):
            self.write('{"a": 1}', f"run/a{count - 1}.json")
            beside = self.analyze(trace=place, name=f"beside{count}")
            self.assertExit(beside, 0)
            self.assertEqual(beside.out, lone.out)
            self.assertNotRegex(beside.err, r"\brank")
            self.assertEqual(len(beside.lines("skipped")), 1, str(beside))
            self.assertRegex(beside.err, line)
            self.assertEqual({p.name for p in (self.tmp / f"beside{count}").iterdir()},
                             {p.name for p in (self.tmp / "lone").iterdir()})

    def test_a_rank_of_several_is_one(self):
        """Others of the job are missing: its findings are those of a job."""
        (self.tmp / "run").mkdir()
        self.write(document(base_events(), distributedInfo={"rank": 1, "world_size": 2}), "run/trace.json")
        result = self.analyze(trace=self.tmp / "run")
        self.assertExit(result, 3)
        self.assertIn("missing rank 0 (the job has 2)", result.err)
        self.assertIn("1 of 2 ranks: findings are of it alone", result.err)

    def test_recommendations_are_the_findings(self):
        result = self.analyze("--format", "json", "--platform", "MI300X")
        self.assertExit(result, 0)
        tables = {t["name"]: [dict(zip((c["id"] for c in t["columns"]), r)) for r in t["rows"]]
                  for t in json.loads(result.out)["tables"]}
        data = self.json("priority_data.json")
        keys = [("title", "title"), ("kind", "kind"), ("expected_gain_ms", "gain_ms"),
                ("expected_gain_percent", "gain_percent"),
                ("gain_together_percent", "gain_together_percent"), ("issue", "evidence"), ("action", "remedy"),
                ("where", "where"), ("confidence", "confidence"), ("priority", "priority")]
        self.assertEqual([[x[k] for k, _ in keys] for x in data["optimizations"]],
                         [[x[k] for _, k in keys] for x in tables["findings"]
                          if x["gain_percent"] is not None])
        self.assertEqual(data["most_valuable"], [x["id"] for x in data["optimizations"][:3]])
        (about,) = tables["analysis"]
        self.assertEqual((about["platform"], about["platform_by"], about["trace"]),
                         ("MI300X", "option", SAMPLE.name))
        self.assertEqual(sorted(x["category"] for x in tables["categories"]), sorted(
            x["name"] for x in self.json("category_manifest.json")["categories"]))
        times = [x["time"] for x in tables["categories"] if x["time"] is not None]
        self.assertEqual(times, sorted(times, reverse=True))
        used = self.json("category_manifest.json")["gpu_utilization"]
        (idle,) = (x["time"] for x in tables["categories"] if x["category"] == "cpu_idle")
        self.assertAlmostEqual(idle, used["idle_time_ms"], delta=6e-4)
        self.assertEqual({x["status"] for x in tables["categories"]} - {"done", "no data"}, set())

    def test_forms_of_the_result(self):
        result = self.analyze("--format", "csv")
        parts = result.out.split("\n\n")
        self.assertEqual([p.splitlines()[0] for p in parts],
                         ["# verdict", "# findings", "# analysis", "# categories"])
        self.assertEqual(len(list(csv.reader(io.StringIO(parts[2])))), 3)
        self.assertRegex(self.analyze("--format", "markdown").out, r"(?m)^\|[-:| ]+\|$")

    def test_a_part_of_the_trace_is_named(self):
        result = self.analyze("--step", "12")
        self.assertExit(result, 0)
        self.assertIn(" of step 12, by launch: ", result.out)

    def test_model(self):
        self.analyze("--model", "My Model")
        for name in REPORTS[1:]:
            head = (self.tmp / "out" / name).read_text(encoding="utf-8").splitlines()[0]
            self.assertRegex(head, r"^# My Model - ")

    def test_a_common_name_says_where_it_is(self):
        (self.tmp / "my_run").mkdir()
        shutil.copy(SAMPLE, self.tmp / "my_run/trace.json.gz")
        self.analyze(trace=self.tmp / "my_run/trace.json.gz")
        head = (self.tmp / "out" / REPORTS[1]).read_text(encoding="utf-8").splitlines()[0]
        self.assertRegex(head, r"^# my_run/trace\.json\.gz - ")

    def test_from_standard_input(self):
        result = self.analyze(trace="-", stdin=SAMPLE.read_bytes())
        self.assertExit(result, 0)
        self.assertTrue((self.tmp / "out" / REPORTS[1]).exists())

    def test_replay(self):
        packages = self.tmp / "out/replay_packages"
        self.assertExit(self.analyze("--no-replay"), 0)
        self.assertFalse(packages.exists())
        self.assertExit(self.analyze("--replay", "aten::mm,aten::addmm", "--replay=aten::sum"), 0)
        self.assertEqual(sorted(p.name for p in packages.iterdir()), [
            f"{x}_replay_package.zip" for x in ("aten_addmm", "aten_mm", "aten_sum")])
        # A name with commas in its brackets is one name.
        result = self.analyze("--replay", "f->void g<1, h<2>, 3>(int, char),aten::mm")
        self.assertRegex(result.err, r"'f->void g<1, h<2>, 3>\(int, char\)'")
        result = self.analyze("--replay", "aten::nothing")
        self.assertExit(result, 2)
        self.assertRegex(result.err, "aten::nothing")

    def test_a_place_that_cannot_be_written(self):
        """Found before the trace is read, which is not even there."""
        (self.tmp / "out").write_text("a file")
        result = self.analyze(trace=self.tmp / "absent.json")
        self.assertExit(result, 1)
        self.assertOneLine(result, "directory", file=self.tmp / "out")

    def test_without_gpu_work(self):
        result = self.analyze(trace=self.write(document([op("aten::mm", 1, 5)])))
        self.assertExit(result, 0)
        self.assertIn("platform: unknown", result.out)

    def test_what_was_lost(self):
        events = document(base_events()).replace("\n  ]\n", ",\n  {\"ph\": \"X\", \"cat\": \"kernel\"")
        result = self.analyze(trace=self.write(events))
        self.assertExit(result, 3)
        self.assertExit(self.analyze("--strict", trace=self.write(events)), 1)

    def test_quiet(self):
        result = self.analyze("-q")
        self.assertEqual((result.rc, result.err), (0, ""))


class Category(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prepared = None

    def setUp(self):
        super().setUp()
        self.dir = self.tmp / "out"
        self.assertExit(trawl("prepare", SAMPLE, "-o", self.dir, "--platform", "MI300X"), 0)

    def category(self, name, *options, directory=None):
        result = trawl("category", name, directory or self.dir, *options)
        self.assertAlive(result)
        return result

    def test_done(self):
        for name, folder in (("gemm", "category_findings"), ("multi_kernel", "system_findings"),
                             ("cpu_idle", "system_findings")):
            result = self.category(name, "--format", "csv")
            self.assertExit(result, 0)
            (row,) = csv.DictReader(io.StringIO(result.out))
            self.assertEqual((row["category"], row["status"]), (name, "done"))
            self.assertTrue((self.dir / folder / f"{name}_findings.md").exists())

    def test_row_says_what_the_metrics_say(self):
        result = self.category("gemm", "--format", "csv")
        (row,) = csv.DictReader(io.StringIO(result.out))
        metrics = json.loads((self.dir / "category_data/gemm_metrics.json").read_text())
        self.assertEqual([float(row["time"]), int(row["bottlenecks"])],
                         [metrics["total_time_ms"], len(metrics["bottlenecks"])])

    def test_nothing_of_it(self):
        """A category that the trace does not have, or whose data is gone, is no failure."""
        result = self.category("convolution")
        self.assertExit(result, 0)
        self.assertIn("no data", result.out)
        (self.dir / "category_data/gemm_ops.csv").unlink()
        result = self.category("gemm")
        self.assertExit(result, 0)
        self.assertIn("no data", result.out)
        self.assertTrue((self.dir / "category_findings/gemm_findings.md").exists())

    def test_failed(self):
        (self.dir / "category_data/gemm_ops.csv").write_text('name,"count\n')
        result = self.category("gemm")
        self.assertExit(result, 3)
        self.assertIn("failed", result.out)
        self.assertRegex(result.err, "gemm")
        findings = (self.dir / "category_findings/gemm_findings.md").read_text(encoding="utf-8")
        self.assertRegex(findings, r"Status\W*: \W*ERROR")

    def test_directories_without_data(self):
        (self.tmp / "empty").mkdir()
        for name in ("empty", "absent"):
            result = self.category("gemm", directory=self.tmp / name)
            self.assertExit(result, 1)
            self.assertOneLine(result, "trawl prepare", file=self.tmp / name)

    def test_cannot_be_written(self):
        (self.dir / "category_data/gemm_metrics.json").mkdir()
        self.assertExit(self.category("gemm"), 1)

    def test_usage(self):
        for args in (["gem", self.dir], ["../gemm", self.dir], ["gemm"], [],
                     ["gemm", self.dir, "more"]):
            result = trawl("category", *args)
            self.assertExit(result, 2)
            self.assertOneLine(result)
        self.assertRegex(self.category("gem").err, "cpu_idle.*gemm.*multi_kernel")


if __name__ == "__main__":
    unittest.main()
