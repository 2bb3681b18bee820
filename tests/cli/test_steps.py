"""Steps and phases of generated traces, whose truth was written with them."""
import json
import pathlib
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import FULL, Case, read_csv, tracegen, trawl

TIMES = {"busy_ns": "busy (ms)", "compute_ns": "computing (ms)", "exposed_comm_ns": "exposed communication (ms)",
         "exposed_memcpy_ns": "exposed copies (ms)", "total_comm_ns": "communication (ms)", "span_ns": "span (ms)",
         "idle_ns": "idle (ms)", "sum_ns": "GPU time (ms)"}


class Steps(Case):
    def generated(self, *options):
        trace, truth = self.tmp / "trace.json", self.tmp / "truth.json"
        subprocess.run([tracegen(), *options, "--truth", truth, "-o", trace], check=True)
        return self.report(trace), json.loads(truth.read_text())

    def check(self, row, facts):
        self.assertEqual(int(row["GPU events"]), facts["n"])
        self.assertEqual({k: Decimal(row[v]) * 10**6 for k, v in TIMES.items()}, {k: facts[k] for k in TIMES})

    def check_steps(self, report, truth):
        rows = {row["name"]: row for row in report.table("steps")}
        for facts in truth["steps"]:
            self.check(rows[f"ProfilerStep#{facts['step']}"], facts)
        unlinked = rows.get("(no launch)", {"GPU events": 0})
        self.assertEqual(int(unlinked["GPU events"]), truth["n_unlinked"])
        sums = {row["quantity"]: int(row["time ns"]) for row in report.table("reconciliation")}
        self.assertEqual(sums["step_difference"], 0)
        self.assertEqual(sums["step_difference_by_time"], 0)
        by_time = sum(Decimal(row["busy by time (ms)"] or 0) for row in rows.values())
        self.assertEqual(by_time * 10**6, truth["busy_ns"])
        return rows

    def test_steps_have_what_they_launched(self):
        for kind in ("train", "infer", "decode", "compile") if FULL else ("train", "infer", "decode"):
            for vendor in ("nvidia", "amd"):
                with self.subTest(kind=kind, vendor=vendor):
                    self.check_steps(*self.generated("--kind", kind, "--vendor", vendor, "--steps", "4"))

    def test_steps_whose_gpu_lags(self):
        """By launch they are the same; by time the first has nothing, and most is outside."""
        report, truth = self.generated("--kind", "train", "--steps", "3", "--run-ahead-us", "100000")
        rows = self.check_steps(report, truth)
        first = rows[f"ProfilerStep#{truth['first_step']}"]
        self.assertEqual(first["busy by time (ms)"], "0")
        self.assertEqual(first["started after end (ms)"], first["GPU time (ms)"])
        self.assertEqual(Decimal(rows["(outside)"]["busy by time (ms)"]) * 10**6, truth["busy_ns"])
        step = trawl("report", self.tmp / "trace.json", "-o", self.tmp / "one", "--no-xlsx", "-q",
                     "--step", truth["first_step"])
        self.assertExit(step, 0)
        self.assertIn("100.0 %) after it ended on the host", step.out)

    def test_only_whole_steps_have_an_mfu(self):
        report, truth = self.generated("--kind", "train", "--steps", "3")
        whole = {r["step"]: r for r in report.table("steps")}
        number = str(truth["first_step"] + 1)
        start = round(Decimal(whole[number]["host start (µs)"]) * 1000)
        end = start + round(Decimal(whole[number]["wall (ms)"]) * 10**6)
        trace = self.tmp / "trace.json"
        self.assertTrue(whole[number]["MFU (%)"])
        for options, mfu in ((("--step", number), whole[number]["MFU (%)"]),
                             (("--step", number, "--end", end - 10**6), "")):
            out = self.tmp / f"part{len(options)}"
            self.assertExit(trawl("report", trace, "-o", out, "--no-xlsx", "-q", *options), 0)
            (row,) = [r for r in read_csv(out / "perf_report_csvs/steps.csv") if r["step"] == number]
            self.assertEqual(row["MFU (%)"], mfu)

    def test_phases_have_what_they_launched(self):
        for vendor in ("nvidia", "amd"):
            report, truth = self.generated("--kind", "decode", "--vendor", vendor, "--steps", "3", "--run-ahead-us",
                                           "700")
            rows = [row for row in report.table("phases") if row["phase"]]
            self.assertEqual(len(rows), truth["n_steps"])
            for row, facts in zip(rows, truth["steps"]):
                self.check(row, facts)
                for key in ("phase", "family", "prefill_requests", "decode_requests", "tokens"):
                    self.assertEqual(row[key.replace("_", " ")], str(facts[key]))
            total, = report.table("phases_summary")
            self.assertEqual(int(total["tokens"]), sum(f["tokens"] for f in truth["steps"]))
            self.assertEqual(Decimal(total["busy (ms)"]) * 10**6, sum(f["busy_ns"] for f in truth["steps"]))
            self.assertEqual({row["tokens"] for row in report.table("steps") if row["step"]},
                             {str(f["tokens"]) for f in truth["steps"]})

    def test_steps_of_a_job_name_the_slowest_rank(self):
        """By computing: the others wait, in kernels of communication that are longer."""
        job = self.tmp / "job"
        subprocess.run([tracegen(), "--ranks", "4", "--steps", "3", "--straggler", "2:1.3", "-o", job], check=True)
        result = trawl("report", job, "-o", self.tmp / "out", "--no-xlsx", "-q", timeout=200)
        self.assertExit(result, 0)
        rows = [r for r in read_csv(self.tmp / "out/perf_report_csvs/steps.csv") if r["step"]]
        self.assertEqual([r["slowest rank"] for r in rows], ["2"] * 3)
        self.assertEqual([r["ranks"] for r in rows], ["4"] * 3)

    def test_summary(self):
        report, truth = self.generated("--kind", "train", "--steps", "5")
        self.assertRegex(" ".join(report.out.split()),
                         r"profiler steps 5 steps \(\d+-\d+\) without the last: median [\d.]+ ms "
                         r"\([\d.]+ to [\d.]+\), MFU [\d.]+ % \(peaks: H100 SXM\)")
        report, truth = self.generated("--kind", "decode", "--steps", "5")
        self.assertRegex(report.out, r"inference steps by phase.*\n(.*\n)+decode +5 +160 ")


if __name__ == "__main__":
    unittest.main()
