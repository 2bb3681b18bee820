"""trawl compare: sweeps, reports and traces side by side, with expectations worked out by hand."""
import csv
import html
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (SANITIZED, Case, document, event, kernel, launch, op, trawl)

SHEETS = ("comparison_summary", "configuration_changes", "timeline_changes", "operation_changes",
          "kernel_changes", "collective_changes", "rank_changes")
SPLIT = "difference_split"


def trace(mm, comm=50, rank=0, extra=(), steps=1, world=2):
    """A rank: a matrix product of `mm` µs, an allreduce behind it, `steps` times."""
    events = []
    for i in range(steps):
        at, corr = 1000 * (i + 1), 10 * i
        events += [op("aten::mm", at, 20, **{"External id": corr + 1}),
                   launch(at + 5, 5, corr + 1, **{"External id": corr + 1}),
                   kernel("gemm", at + 30, mm, corr + 1),
                   kernel("ncclDevKernel_AllReduce", at + 30 + mm, comm, corr + 2, stream=9,
                          **{"Collective name": "allreduce", "dtype": "Float",
                             "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": world,
                             "Process Group Name": "0", "Process Group Ranks":
                             str(list(range(world))), "Seq": i})]
    return document(events + list(extra),
                    distributedInfo={"rank": rank, "world_size": world})


class Compare(Case):
    def setUp(self):
        super().setUp()
        self.page = self.tmp / "page.html"

    def compare(self, *arguments, codes=(0,), page=True, **keywords):
        output = ("-o", self.page) if page else ()
        result = trawl("compare", *arguments, *output, **keywords)
        self.assertAlive(result)
        self.assertExit(result, *codes)
        return result

    def said(self, *arguments, **keywords):
        return " ".join(self.compare(*arguments, **keywords).out.split())

    def tables(self, *arguments, codes=(0,)):
        """{table: [row as a dict]}"""
        self.result = self.compare(*arguments, "--format", "json", codes=codes)
        return {t["name"]: [dict(zip([c["header"] for c in t["columns"]], r)) for r in t["rows"]]
                for t in json.loads(self.result.out)["tables"]}

    def job(self, name, times, **keywords):
        """A directory of traces, one a rank."""
        for rank, mm in enumerate(times):
            path = self.tmp / name / f"rank{rank}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(trace(mm, rank=rank, world=len(times), **keywords))
        return self.tmp / name

    def sweep(self, name, points, **keywords):
        """{(threads, channels): times of the ranks}"""
        for (threads, channels), times in points.items():
            for rank, mm in enumerate(times):
                path = (self.tmp / name / f"{threads}thread/nccl_{channels}channels" /
                        f"torch_profiler/rank{rank}/trace.json")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(trace(mm, rank=rank, world=len(times), **keywords))
        return self.tmp / name

    def csvs(self, name, timeline, ops=(), kernels=()):
        """A report as CSV files."""
        place = self.tmp / name
        place.mkdir(parents=True)

        def put(sheet, header, rows):
            with open(place / f"{sheet}.csv", "w", newline="", encoding="utf-8") as f:
                csv.writer(f).writerows([header, *rows])
        put("gpu_timeline", ["type", "time ms", "percent"], [(*r, 1) for r in timeline])
        if ops:
            put("ops_summary", ["name", "Count", "total_direct_kernel_time_ms"], ops)
        if kernels:
            put("kernel_summary", ["Kernel name", "Kernel duration (µs)_sum",
                                   "Kernel duration (µs)_count"], kernels)
        return place

    def by(self, rows, name, key="type"):
        found = [r for r in rows if r[key] == name]
        self.assertEqual(len(found), 1, rows)
        return found[0]


class Verdicts(Compare):
    def test_medians_spreads_and_verdicts_over_ranks(self):
        first, second = [100, 104, 102, 120], [80, 83, 82, 81]
        t = self.tables(self.job("a", first), self.job("b", second))
        row = self.by(t["operation_changes"], "aten::mm", "name")

        def spread(values):
            middle = statistics.median(values)
            return 1.4826 * statistics.median(abs(v - middle) for v in values)
        self.assertEqual(row["baseline ms"], 0.103)
        self.assertEqual(row["test ms"], 0.0815)
        self.assertAlmostEqual(row["baseline spread ms"], spread(first) / 1000, delta=1e-15)
        self.assertAlmostEqual(row["test spread ms"], spread(second) / 1000, delta=1e-15)
        self.assertEqual(row["noise ms"], max(row["baseline spread ms"], row["test spread ms"]))
        self.assertAlmostEqual(row["faster (%)"], (103 - 81.5) / 103 * 100, delta=1e-12)
        self.assertEqual(row["verdict"], "better")
        self.assertEqual((row["baseline ranks"], row["test ranks"], row["ranks slower"]),
                         (4, 4, 0))
        total = self.by(t["timeline_changes"], "total_time")
        self.assertEqual((total["baseline ms"], total["test ms"]), (0.153, 0.1315))
        self.assertEqual(total["of total (%)"], 100)
        self.assertRegex(self.compare(self.tmp / "a", self.tmp / "b").out,
                         r"b is 14\.1 % faster than a: .*median of 4\s+ranks")

    def test_within_noise_is_the_same(self):
        t = self.tables(self.job("a", [100, 110, 120]), self.job("b", [104, 114, 124]))
        row = self.by(t["operation_changes"], "aten::mm", "name")
        self.assertEqual(row["verdict"], "same")
        self.assertIn("within rank-to-rank noise", row["why"])
        self.assertEqual(row["ranks slower"], 3)

    def test_single_traces_go_by_thresholds(self):
        paths = [self.write(trace(mm, world=1), name) for mm, name in
                 ((1000, "a.json"), (1009, "b.json"), (1011, "c.json"))]
        self.assertEqual(self.by(self.tables(*paths[:2])["operation_changes"], "aten::mm",
                                 "name")["verdict"], "same")
        row = self.by(self.tables(paths[0], paths[2])["operation_changes"], "aten::mm", "name")
        self.assertEqual(row["verdict"], "worse")
        self.assertIsNone(row["noise ms"])
        self.assertIn("noise unknown", row["why"])

    def test_ranks_that_one_side_lacks_do_not_count(self):
        first = self.job("a", [100, 100, 900])
        second = self.job("b", [100, 100, 900])
        (second / "rank2.json").unlink()
        t = self.tables(first, second, codes=(3,))
        row = self.by(t["operation_changes"], "aten::mm", "name")
        self.assertEqual((row["baseline ms"], row["baseline ranks"]), (0.1, 2))
        self.assertIn("missing rank 2", self.result.err)

    def test_new_and_gone(self):
        first = self.write(document([kernel("old", 1, 50), kernel("k", 100, 50)]), "a.json")
        second = self.write(document([kernel("new", 1, 50), kernel("k", 100, 50)]), "b.json")
        t = self.tables(first, second)
        self.assertEqual({r["Kernel name"]: r["verdict"] for r in t["kernel_changes"]},
                         {"old": "gone", "new": "new", "k": "same"})
        self.assertIsNone(self.by(t["kernel_changes"], "new", "Kernel name")["baseline ms"])
        self.assertIn("Kernels on one side only", self.compare(first, second).out)

    def waiting(self, name, times):
        """A job whose ranks end their collective together: others wait for the longest."""
        for rank, mm in enumerate(times):
            path = self.tmp / name / f"rank{rank}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(trace(mm, comm=max(times) + 50 - mm, rank=rank, world=len(times)))
        return self.tmp / name

    def test_the_rank_that_others_wait_for(self):
        a, b = self.waiting("a", [100] * 5), self.waiting("b", [100, 100, 160, 100, 100])
        text = " ".join(self.compare(a, b).out.split())
        self.assertIn("Rank 2 computes 60.0 % longer (0.1000 ms -> 0.1600 ms), the others as long "
                      "as before: they wait longer for it, which is most of the longer exposed "
                      "communication (+0.0600 ms).", text)
        page = self.page.read_text()
        self.assertIn("Rank 2 computes 60.0 % longer", page)
        self.assertIn("Compute Time by Rank", page)
        rows = self.tables(a, b)["rank_changes"]
        self.assertEqual([(r["rank"], r["baseline ms"], r["test ms"], r["others difference ms"],
                           r["verdict"]) for r in rows],
                         [(i, 0.1, 0.16 if i == 2 else 0.1, 0, "worse" if i == 2 else "same")
                          for i in range(5)])
        # The other way round nobody waits any more.
        text = " ".join(self.compare(b, a).out.split())
        self.assertIn("Rank 2 computes 37.5 % less (0.1600 ms -> 0.1000 ms), the others as long as "
                      "before: they wait less for it", text)
        self.assertEqual(self.tables(b, a)["rank_changes"][2]["verdict"], "better")
        # All of them longer: no one stands out.
        c = self.waiting("c", [160] * 5)
        self.assertNotIn("Rank", self.compare(a, c).out)
        self.assertNotIn("Compute Time by Rank", self.page.read_text())

    def test_a_nanosecond_is_of_its_part(self):
        """Each in its own part, of one GPU: 1 and 3 ns of exposed communication."""
        a, b = (self.write(trace(100, comm), f"{comm}.json") for comm in (0.001, 0.003))
        row = self.by(self.tables(a, b)[SPLIT], "exposed communication", "part")
        self.assertEqual((row["baseline ms"], row["test ms"]), (1e-6, 3e-6))

    def test_the_difference_by_part_and_rank(self):
        """Rank 2 of 5 computes 60 us longer: it is 1/5 of the mean, what the others wait 4/5."""
        a, b = self.waiting("a", [100] * 5), self.waiting("b", [100, 100, 160, 100, 100])
        text = self.said(a, b)
        self.assertIn("Breakdown of +0.0600 ms (mean over 5 ranks): waiting for rank 2 +0.0480 ms, "
                      "compute of rank 2 +0.0120 ms.", text)
        # Products alone have launches: its gain is 60 of 160 us.
        self.assertIn("New straggler in b: rank 2 is the straggler: gain 0.060 ms (37.5 %); last in 1 of "
                      "1 collectives, caused 0.240 ms of wait", text)
        self.assertIn("; reason: One rank computes longer than the others, which wait for it: it computes "
                      "0.160 ms, the next slowest rank 0 0.100 ms.", text)
        self.assertIn('Causes: new "One rank computes longer than the others, which wait for it" at rank 2 '
                      "(gain 0.060 ms).", text)
        rows = self.tables(a, b)[SPLIT]
        self.assertEqual([(r["part"], r["rank"]) for r in rows[:2]], [("waiting", 2), ("computing", 2)])
        self.assertAlmostEqual(rows[0]["difference ms"], 0.048, delta=1e-12)
        self.assertEqual(rows[-1]["part"], "total")
        for column in ("baseline ms", "test ms", "difference ms"):
            self.assertAlmostEqual(sum(r[column] for r in rows[:-1]), rows[-1][column], delta=1e-12)
        self.assertAlmostEqual(rows[-1]["change of total (%)"], 40, delta=1e-9)
        page = self.page.read_text()
        self.assertIn("New straggler in b", page)
        self.assertIn("Breakdown of the Difference", page)
        text = self.said(b, a)
        self.assertIn("No straggler any more in a; in b: rank 2 is the straggler", text)
        # Another one, as long.
        text = self.said(b, self.waiting("c", [160, 100, 100, 100, 100]))
        self.assertIn("New straggler in c: rank 0 is the straggler", text)
        self.assertIn("; in b it was rank 2.", text)
        self.assertNotIn("traggler in b", self.said(b, b))
        # In each run some rank is last: what the others wait must have changed by 1 % of the total.
        long = self.waiting("e", [1000] * 5)
        for late, there in ((1013.13, True), (1013.12, False)):
            text = self.said(long, self.waiting(f"d{there}", [1000, 1000, late, 1000, 1000]))
            self.assertEqual("New straggler" in text, there, text)
        # What the verdict of a job says is in its reports too.
        for name in "ab":
            out = self.tmp / f"reports_{name}"
            out.mkdir()
            for rank in range(5):
                self.assertExit(trawl("report", self.tmp / name / f"rank{rank}.json", "-o",
                                      self.tmp / "one", "--no-csv"), 0)
                (out / "individual_reports").mkdir(exist_ok=True)
                shutil.move(self.tmp / "one/perf_report.xlsx",
                            out / f"individual_reports/perf_rank{rank}.xlsx")
            (out / "collective_reports").mkdir()
            self.assertExit(trawl("collectives", self.tmp / name, "-o", self.tmp / "all",
                                  "--no-csv"), 0)
            shutil.move(self.tmp / "all/collective_all_ranks.xlsx", out / "collective_reports")
        self.assertIn("New straggler in reports_b: rank 2", self.said(self.tmp / "reports_a",
                                                                      self.tmp / "reports_b"))

    def test_a_straggler_of_two_ranks_that_is_idle(self):
        """Its kernel begins 70 us later: no computing tells it."""
        def job(name, idle):
            for rank in range(2):
                late = idle if rank else 0
                events = [kernel("begin", 0, 10), kernel("gemm", 30 + late, 100),
                          kernel("ncclDevKernel_AllReduce", 130 + late, 50 + idle - late, stream=9,
                                 **{"Collective name": "allreduce", "dtype": "Float",
                                    "In msg nelems": 4, "Out msg nelems": 4, "Group size": 2,
                                    "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                                    "Seq": 0})]
                self.write(document(events, distributedInfo={"rank": rank, "world_size": 2}),
                           f"{name}/rank{rank}.json")
            return self.tmp / name
        for name in "ab":
            (self.tmp / name).mkdir()
        text = self.said(job("a", 0), job("b", 70))
        self.assertIn("New straggler in b: rank 1 is the straggler", text)
        self.assertIn("reason: host-bound", text)
        self.assertIn("Breakdown of +0.0700 ms (mean over 2 ranks): waiting for rank 1 +0.0350 ms, "
                      "idle time of rank 1 +0.0350 ms.", text)

    def test_more_idle_time_in_the_same_total_is_no_loss(self):
        first = self.write(document([kernel("k", 0, 90), kernel("end", 95, 5)]), "a.json")
        second = self.write(document([kernel("k", 0, 40), kernel("end", 95, 5)]), "b.json")
        idle = self.by(self.tables(first, second)["timeline_changes"], "idle_time")
        self.assertEqual((idle["verdict"], idle["baseline ms"], idle["test ms"]),
                         ("same", 0.005, 0.055))
        self.assertIn("total_time is not worse", idle["why"])
        # The other way round nothing is faster: idle time goes, work comes.
        text = self.compare(second, first).out
        self.assertIn("Changed parts: compute +0.0500 ms, idle time -0.0500 ms.", text)

    def test_what_the_difference_is_made_of(self):
        a = self.csvs("a", [("computation_time", 5), ("exposed_comm_time", 3),
                            ("exposed_memcpy_time", 1), ("idle_time", 1), ("total_time", 10)],
                      ops=[("mm", 1, 1), ("add", 1, 2)])
        b = self.csvs("b", [("computation_time", 5.04), ("exposed_comm_time", 4.5),
                            ("exposed_memcpy_time", 1), ("idle_time", 1.46), ("total_time", 12)],
                      ops=[("mm", 1, 2), ("add", 1, 1.5)])
        text = self.said(a, b)
        self.assertIn(". Breakdown of +2.00 ms: exposed communication +1.50 ms, idle time +0.4600 ms, "
                      "compute +0.0400 ms (below 1 %). Causes are not compared: a and b have no findings. "
                      "Slower: operators mm (+1.00 ms). Faster: operators add (-0.5000 ms). timeline", text)
        text = self.said(b, a)
        self.assertIn("Breakdown of -2.00 ms: exposed communication -1.50 ms, idle time -0.4600 ms, "
                      "compute -0.0400 ms (below 1 %). Causes are not compared: b and a have no findings. "
                      "Slower: operators add (+0.5000 ms). Faster: "
                      "operators mm (-1.00 ms).", text)
        # Medians 110 and 114 that scatter by 10, communication 50 and 90.
        text = self.said(self.job("c", [100, 110, 120]), self.job("d", [104, 114, 124], comm=90))
        self.assertIn("Breakdown of +0.0440 ms (mean over 3 ranks): transfer +0.0400 ms, compute "
                      "+0.004000 ms (within noise).", text)
        a = self.csvs("e", [("computation_time", 5), ("total_time", 10)])
        b = self.csvs("f", [("computation_time", 6), ("total_time", 13)])
        self.assertIn("Breakdown of +3.00 ms: compute +1.00 ms; +2.00 ms unattributed.", self.said(a, b))
        # Computing 100, 100, 140 and communication 92, 52, 52: medians 100, 52 and 192, which do not
        # add up; of the means 113.3 and 65.3 do.  Of 126 us of communication 40 are waiting.
        self.job("g", [100, 100, 100])
        for rank, (mm, comm) in enumerate(((100, 92), (100, 92), (140, 52))):
            path = self.tmp / f"h/rank{rank}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(trace(mm, comm=comm, rank=rank, world=3))
        self.assertIn("Breakdown of +0.0420 ms (mean over 3 ranks): waiting for rank 2 +0.0267 ms, "
                      "compute of rank 2 +0.0133 ms, transfer +0.002000 ms.",
                      self.said(self.tmp / "g", self.tmp / "h"))

    def test_names_that_are_cut_differ(self):
        """Two that differ behind what 60 cells show, two whose middle nothing shows."""
        near = ["n" * 35 + f"<{n}>" + "m" * 70 for n in ("128", "256")]
        far = ["a" * 70 + f"<{n}>" + "b" * 70 for n in ("64x32", "32x64")]
        alone = "c" * 100
        rows = [(n, 1000 * (i + 1), 1) for i, n in enumerate([*near, *far, alone])]
        a = self.csvs("a", [("total_time", 100)], kernels=rows)
        b = self.csvs("b", [("total_time", 120)], kernels=[(n, us * 2, 1) for n, us, _ in rows])
        result = self.compare(a, b, "--fail-on", "5", codes=(4,))
        shown = re.findall(r"kernel (\S+) is 100 % slower", result.err)
        self.assertEqual(shown, ["c" * 30 + "…" + "c" * 29, far[1], far[0],
                                 *(n[:45] + "…" + n[-44:] for n in reversed(near))])
        self.assertIn("Slower: kernels " + shown[0], " ".join(result.out.split()))

    def test_different_work_is_said(self):
        """Of three kernels one runs three times: no factor that all have."""
        first, second = (self.write(document([kernel(n, i * 100, 50) for i, n in enumerate(names)]),
                                    name) for names, name in (("abc", "a.json"),
                                                              ("abccc", "b.json")))
        result = self.compare(first, second)
        self.assertRegex(result.out,
                         r"work\s+differs: b\.json ran\s+the\s+common\s+kernels\s+1\.67 times\s+as\s+"
                         "often")
        self.assertNotIn("number of steps", result.out + result.err)

    def test_different_numbers_of_steps(self):
        first, second = self.job("a", [100, 100]), self.job("b", [100, 100], steps=3)
        said = ("a and b probably have different step counts: b calls the common operators and "
                "kernels 3.00 times as often. Times are not comparable: compare the same steps "
                "with --step.")
        result = self.compare(first, second)
        # Before everything else.
        self.assertEqual(" ".join(result.out.split("\n\n")[1].split())[:len(said)], said)
        self.assertIn(f"trawl: {said}\n", result.err)
        self.assertNotIn("same work", result.out)
        self.assertIn(said, html.unescape(self.page.read_text()))
        result = self.compare(first, second, "-q")
        self.assertEqual(result.err, "")
        # The gate does not pretend to know.
        result = self.compare(first, second, "--fail-on", "5", "-q", codes=(1,))
        self.assertEqual(result.err, f"trawl: --fail-on: no decision: {said}\n")
        self.compare(second, first, "--fail-on", "5", codes=(1,))
        # Three times as many collectives of the same length are not slower ones.
        row = self.tables(first, second)["collective_changes"][0]
        self.assertEqual((row["verdict"], row["baseline calls"], row["test calls"]),
                         ("same", 1, 3))
        self.assertEqual((row["baseline per call"], row["test per call"]), (50, 50))

    def test_steps_that_traces_tell(self):
        def steps(name, count, start=12, mm=100):
            events = []
            for i in range(count):
                at = 1000 * (i + 1)
                events += [event("X", "user_annotation", f"ProfilerStep#{start + i}", 1, 1, at,
                                 900),
                           op("aten::mm", at, 20, **{"External id": 10 * i + 1}),
                           launch(at + 5, 5, 10 * i + 1, **{"External id": 10 * i + 1}),
                           kernel("gemm", at + 30, mm, 10 * i + 1)]
            return self.write(document(events), name)
        one, two = steps("one.json", 1), steps("two.json", 2)
        result = self.compare(one, two)
        self.assertIn("trawl: one.json has 1 step (12), two.json has 2 steps (12-13). Times are "
                      "not comparable", result.err)
        # The same ones, asked for; others, but as many.
        self.compare(one, two, "--step", "12", "--fail-on", "5")
        self.compare(one, steps("later.json", 1, start=40), "--fail-on", "5")
        result = self.compare(one, steps("slow.json", 1, mm=200), "--fail-on", "5", codes=(4,))
        self.assertNotIn("step", result.err)

    def test_collectives_by_name_type_and_size(self):
        t = self.tables(self.job("a", [100, 100], comm=50), self.job("b", [100, 100], comm=60))
        row = t["collective_changes"][0]
        self.assertEqual([row[k] for k in ("Collective name", "dtype", "In msg nelems", "verdict",
                                           "baseline ms", "test ms")],
                         ["allreduce", "Float", 1024, "worse", 0.05, 0.06])
        self.assertAlmostEqual(row["faster (%)"], -20, delta=1e-12)

    def test_the_same_twice_is_the_same(self):
        job = self.job("a", [100, 104])
        t = self.tables(job, job, "--fail-on", "0")
        for name in SHEETS[2:]:
            self.assertEqual({r["verdict"] for r in t[name]}, {"same"}, name)
        labels = [r["label"] for r in t["comparison_summary"]]
        self.assertEqual(labels, ["a", "a (2)"])


class Sides(Compare):
    def test_all_kinds_say_the_same_of_one_job(self):
        """Traces, the report of one, its CSV files, its directory: nothing differs."""
        path = self.write(trace(100, world=1), "rank0.json")
        self.assertExit(trawl("report", path, "-o", self.tmp / "out"), 0)
        for other in (self.tmp / "out", self.tmp / "out/perf_report.xlsx",
                      self.tmp / "out/perf_report_csvs", path):
            t = self.tables(path, other, "--fail-on", "0")
            for name in ("timeline_changes", "operation_changes", "kernel_changes",
                         "collective_changes"):
                self.assertTrue(t[name], (name, other))
                self.assertEqual({r["verdict"] for r in t[name]}, {"same"}, (name, other))

    def test_reports_over_ranks_have_each_rank(self):
        job, other = self.job("a", [100, 110, 104]), self.job("b", [140, 150, 145])
        self.assertExit(trawl("report", job, "-o", self.tmp / "ra"), 0)
        self.assertExit(trawl("report", other, "-o", self.tmp / "rb"), 0)
        want = self.tables(job, other)
        got = self.tables(self.tmp / "ra", self.tmp / "rb")
        self.assertEqual(got["timeline_changes"], want["timeline_changes"])
        for a, b in zip(got["kernel_changes"], want["kernel_changes"]):
            self.assertEqual((a["Kernel name"], a["baseline ms"], a["test ms"]),
                             (b["Kernel name"], b["baseline ms"], b["test ms"]))

    def test_reports_of_ranks_in_a_directory(self):
        for name, times in (("a", [100, 108]), ("b", [90, 96])):
            job = self.job(name, times)
            for rank in range(2):
                out = self.tmp / f"reports_{name}"
                self.assertExit(trawl("report", job / f"rank{rank}.json", "-o",
                                      self.tmp / "one", "--no-csv"), 0)
                out.mkdir(exist_ok=True)
                shutil.move(self.tmp / "one/perf_report.xlsx", out / f"perf_rank{rank}.xlsx")
        t = self.tables(self.tmp / "reports_a", self.tmp / "reports_b")
        row = self.by(t["operation_changes"], "aten::mm", "name")
        self.assertEqual((row["baseline ms"], row["test ms"], row["test ranks"]),
                         (0.104, 0.093, 2))
        self.assertEqual(t["comparison_summary"][0]["what"], "reports")

    def test_a_sheet_that_one_side_lacks_is_told(self):
        a = self.csvs("a", [("total_time", 10)], ops=[("mm", 1, 5)])
        b = self.csvs("b", [("total_time", 10)])
        t = self.tables(a, b)
        self.assertEqual(t["operation_changes"], [])
        self.assertIn("b has no ops_summary: operations not compared", self.result.err)

    def test_odd_cells_of_reports(self):
        a = self.csvs("a", [("total_time", 10), ("busy_time", ""), ("x", "abc"), ("y", -4)])
        b = self.csvs("b", [("total_time", "1e1"), ("busy_time", 3), ("x", 1), ("y", 1)])
        t = self.tables(a, b)
        self.assertEqual([r["type"] for r in t["timeline_changes"]], ["total_time"])
        self.assertEqual(t["timeline_changes"][0]["verdict"], "same")

    def test_damaged_traces_do_not_count(self):
        """Of 100, 100 and a third that ends early."""
        a, b = self.job("a", [100] * 3), self.job("b", [100] * 3)
        whole = trace(900, rank=2, world=3)
        (b / "rank2.json").write_text(whole[:whole.rindex("ncclDevKernel")])
        t = self.tables(a, b, codes=(3,))
        self.assertIn("trawl: b: rank 2 is damaged (incomplete trace): skipped\n", self.result.err)
        total = self.by(t["timeline_changes"], "total_time")
        self.assertEqual((total["test ms"], total["baseline ranks"], total["test ranks"]),
                         (0.15, 2, 2))
        # Of the only one they do.
        result = self.compare(a / "rank2.json", b / "rank2.json", codes=(3,))
        self.assertIn("trawl: b: rank 2 is damaged (incomplete trace): times are lower "
                      "bounds\n", result.err)
        self.assertIn("0.9000 ms instead of 0.1500 ms", result.out)
        # And in reports of both kinds.
        self.assertExit(trawl("report", b / "rank2.json", "-o", self.tmp / "one"), 3)
        result = self.compare(a / "rank2.json", self.tmp / "one", codes=(3,))
        self.assertRegex(result.err, "one: .* is damaged \\(incomplete trace\\): times are "
                                     "lower bounds\n")
        self.assertExit(trawl("report", b, "-o", self.tmp / "all"), 3)
        t = self.tables(a, self.tmp / "all", codes=(3,))
        self.assertIn("all: rank 2 is damaged (incomplete trace): skipped\n", self.result.err)
        self.assertEqual(self.by(t["timeline_changes"], "total_time")["test ranks"], 2)
        self.compare(a / "rank2.json", self.tmp / "one", self.tmp / "one", "--xlsx",
                     self.tmp / "w.xlsx", codes=(3,))

    def test_damaged_reports_of_ranks(self):
        for name in ("a", "b"):
            for rank in range(3):
                place = self.csvs(f"{name}/perf_rank{rank}_csvs", [("total_time", 10)])
        (place / "quality.csv").write_text("kind,class,count\nx,note,1\nend,lost,1\n")
        (place / "gpu_timeline.csv").write_text("type,time ms\ntotal_time,1\n")
        t = self.tables(self.tmp / "a", self.tmp / "b", codes=(3,))
        self.assertIn("b: rank 2 is damaged", self.result.err)
        self.assertEqual(t["timeline_changes"][0]["test ranks"], 2)
        # What only looks odd is whole.
        (place / "quality.csv").write_text("kind,class,count\nx,note,1\nend,defect,1\n")
        self.tables(self.tmp / "a", self.tmp / "b")

    def test_broken_reports(self):
        good = self.csvs("good", [("total_time", 10)])
        bad = self.write(b"PK\x03\x04 this is no workbook", "bad.xlsx")
        result = self.compare(good, bad, codes=(1,))
        self.assertIn("bad.xlsx", result.err)
        self.assertFalse(self.page.exists())
        (self.tmp / "ragged").mkdir()
        self.write("type,time ms\ntotal_time,1,2\n", "ragged/gpu_timeline.csv")
        result = self.compare(good, self.tmp / "ragged", codes=(1,))
        self.assertIn("gpu_timeline", result.err)
        (self.tmp / "other").mkdir()
        self.write("kind,ms\ntotal_time,1\n", "other/gpu_timeline.csv")
        result = self.compare(good, self.tmp / "other", codes=(1,))
        self.assertIn("no column 'type'", result.err)

    def test_what_is_not_there(self):
        good = self.write(trace(10, world=1))
        (self.tmp / "empty").mkdir()
        for bad in ("no-such", "empty"):
            result = self.compare(good, self.tmp / bad, codes=(1,))
            self.assertIn(bad, result.err)
            self.assertEqual(result.out, "")
            self.assertFalse(self.page.exists())

    def test_without_gpu_work_there_is_nothing_to_compare(self):
        host = self.write(document([op("aten::mm", 1, 5)]), "host.json")
        result = self.compare(self.write(trace(10, world=1)), host, codes=(1,))
        self.assertIn("nothing to compare", result.err)

    def test_labels_come_from_what_differs(self):
        for run in ("before", "after"):
            out = self.tmp / run / "analysis_output"
            self.assertExit(trawl("report", self.write(trace(10, world=1)), "-o", out), 0)
        t = self.tables(self.tmp / "before/analysis_output",
                        self.tmp / "after/analysis_output/perf_report.xlsx")
        self.assertEqual([r["label"] for r in t["comparison_summary"]], ["before", "after"])
        t = self.tables(self.tmp / "before/analysis_output/", self.tmp / "after/analysis_output",
                        "--label1", "x", "--label2", "x")
        self.assertEqual([r["label"] for r in t["comparison_summary"]], ["x", "x (2)"])

    def test_labels_of_configurations(self):
        for name in ("s", "t"):
            self.sweep(name, {(256, 28): [10, 10], (512, 56): [10, 10]})

        def labels(a, b):
            head = self.compare(self.tmp / a, self.tmp / b).out.split("\n\n")[0]
            return [line.split(":", 1)[1].strip() for line in head.splitlines()]
        few, many = "256thread/nccl_28channels", "512thread/nccl_56channels"
        below = "/torch_profiler"
        self.assertEqual(labels(f"s/{few}{below}", f"s/{many}{below}"),
                         ["256thread_28ch", "512thread_56ch"])
        self.assertEqual(labels(f"s/{few}/", f"s/{many}{below}/rank0/trace.json"),
                         ["256thread_28ch", "trace.json"])
        self.assertEqual(labels(f"s/{few}{below}/rank1/trace.json",
                                f"s/{many}{below}/rank1/trace.json"),
                         ["256thread_28ch", "512thread_56ch"])
        # The same configuration of two sweeps is told apart by what is above.
        self.assertEqual(labels(f"s/{few}{below}", f"t/{few}{below}"), ["s", "t"])
        # What only looks like one.
        for place in ("256threads/nccl_28channels", "xthread/nccl_28channels", "nccl_28channels"):
            shutil.copytree(self.tmp / "s" / few, self.tmp / "odd" / place)
            self.assertEqual(labels(f"odd/{place}", f"s/{many}"),
                             ["nccl_28channels", "512thread_56ch"])

    def test_labels_of_dots(self):
        self.job("a/b", [10, 10])
        self.job("c", [10, 10])
        result = self.compare(".", "../../c//", cwd=self.tmp / "a/b")
        self.assertIn("baseline: b\ntest:     c\n", result.out)
        result = self.compare("..", "../../c", cwd=self.tmp / "a/b")
        self.assertIn("baseline: a\n", result.out)

    def test_odd_names(self):
        name = "=1+1 <b>'\"|`\x1b[31m\u202e, void k<int>(*)"
        first = self.write(document([kernel(name, 1, 50)]), "a b.json")
        second = self.write(document([kernel(name, 1, 80)]), "c\u00e9.json")
        label = "<script>alert(1)</script>\"'=2+3\x1b[2J"
        result = self.compare(first, second, "--label1", label, "--xlsx", self.tmp / "w.xlsx")
        self.assertNotIn("\x1b", result.out)
        text = self.page.read_text()
        self.assertNotIn("<script>alert", text)
        self.assertNotIn("\x1b", text)
        self.assertIn(html.escape("<script>alert(1)</script>", quote=True), text)
        with zipfile.ZipFile(self.tmp / "w.xlsx") as z:
            for part in z.namelist():
                self.assertNotIn(b"<f>", z.read(part), part)

    def test_usage(self):
        a = self.write(trace(10, world=1))
        for arguments in ((), (a,), (a,) * 17, (a, a, "--fail-on", "x"), (a, a, "--fail-on", "-1"),
                          (a, a, *("--label", "x") * 3),
                          (a, a, "--fail-on", ""),
                          (a, a, "--fail-on", "1e3"), (a, a, "--fail-on", "."),
                          (a, a, "--fail-on", "5%%"), (a, a, "--sheets", "gpu_timeline"),
                          (a, a, "--xlsx", "w.xlsx", "--sheets", "gpu"),
                          (a, a, "-o", "both", "--xlsx", "both"),
                          (a, a, "--xlsx", "sweep_comparison_report.html"),
                          (a, a, "--threads", "x"), (a, a, "--step", "1", "--range", "x")):
            result = trawl("compare", *arguments, cwd=self.tmp)
            self.assertExit(result, 2)
            self.assertEqual(len(result.err.splitlines()), 1, str(result))
        for name in ("sweep_comparison_report.html", "both"):
            self.assertFalse((self.tmp / name).exists())

    def test_a_part_of_the_traces(self):
        first, second = (self.write(document(
            [kernel("k", 0, 10), kernel("k", 100, mm)]), name) for mm, name in
            ((50, "a.json"), (70, "b.json")))
        t = self.tables(first, second, "--end", "50000")
        self.assertEqual(self.by(t["kernel_changes"], "k", "Kernel name")["verdict"], "same")
        t = self.tables(first, second)
        self.assertEqual(self.by(t["kernel_changes"], "k", "Kernel name")["verdict"], "worse")

    def test_a_directory_that_cannot_be_written(self):
        if os.geteuid() == 0:
            place = pathlib.Path("/proc")
        else:
            place = self.tmp / "closed"
            place.mkdir(mode=0o555)
        a = self.write(trace(10, world=1))
        result = self.compare(a, a, page=False, codes=(1,), cwd=place)
        self.assertIn("sweep_comparison_report.html", result.err)
        # What was found is not lost.
        self.assertIn("take the same time", result.out)

    def test_same_bytes_for_any_number_of_threads(self):
        first, second = self.job("a", [100, 104, 99]), self.job("b", [90, 94, 97])
        seen = set()
        for jobs in ("1", "2", "7"):
            result = self.compare(first, second, "-j", jobs, "--xlsx", self.tmp / "w.xlsx",
                                  "--format", "csv")
            seen.add((result.raw, self.page.read_bytes(), (self.tmp / "w.xlsx").read_bytes()))
        self.assertEqual(len(seen), 1)

    def test_no_path_of_the_machine_in_the_results(self):
        first, second = self.job("a", [100, 104]), self.job("b", [90, 94])
        result = self.compare(first, second, "--xlsx", self.tmp / "w.xlsx", "--format", "json")
        self.assertNotIn(str(self.tmp), result.out)
        self.assertNotIn(str(self.tmp), self.page.read_text())
        with zipfile.ZipFile(self.tmp / "w.xlsx") as z:
            for part in z.namelist():
                self.assertNotIn(str(self.tmp).encode(), z.read(part))

    def test_it_compares_on_the_terminal_width(self):
        first, second = self.job("a", [100, 104]), self.job("b", [90, 94])
        for width in (80, 140):
            env = dict(os.environ, COLUMNS=str(width), LC_ALL="C")
            for line in self.compare(first, second, env=env).out.splitlines():
                self.assertLessEqual(len(line), width)


class Sweeps(Compare):
    points = {(256, 28): [100, 102], (256, 56): [80, 82], (512, 28): [120, 121],
              (512, 56): [110, 112]}

    def test_the_mean_and_the_worst_configuration(self):
        a = self.sweep("a", self.points)
        b = self.sweep("b", {(256, 28): [50, 51], (256, 56): [160, 164], (512, 28): [120, 121],
                             (512, 56): [110, 112]})
        t = self.tables(a, b)
        row = self.by(t["operation_changes"], "aten::mm", "name")
        # 101, 81, 120.5, 111 us on one side, 50.5, 162, 120.5, 111 on the other.
        self.assertEqual((row["baseline ms"], row["test ms"]), (413.5 / 4 / 1000, 444 / 4 / 1000))
        self.assertAlmostEqual(row["faster (%)"], -(444 - 413.5) / 413.5 * 100, delta=1e-9)
        self.assertEqual((row["configurations"], row["worst configuration"]),
                         (4, "256thread_56ch"))
        self.assertAlmostEqual(row["worst faster (%)"], -100, delta=1e-9)
        each = {(r["configuration"], r["verdict"]) for r in t["operations_by_configuration"]}
        self.assertEqual(each, {("256thread_28ch", "better"), ("256thread_56ch", "worse"),
                                ("512thread_28ch", "same"), ("512thread_56ch", "same")})
        best = {r["best of"]: r["configuration"] for r in t["configuration_changes"]}
        self.assertEqual((best["baseline"], best["test"]), ("256thread_56ch", "256thread_28ch"))
        text = self.compare(a, b).out
        self.assertRegex(text, r"Best configuration of a: 256thread_56ch")

    def test_sums_agree_with_percentages(self):
        """Two configurations of three ranks, 10 -> 4.5 ms and 100 -> 200 ms: of the geometric means
        it was 5.1 % faster, beside 55 ms that became 102 (given case compare-01)."""
        a = self.sweep("A", {(256, 28): [9950] * 3, (512, 28): [99950] * 3})
        b = self.sweep("B", {(256, 28): [4450] * 3, (512, 28): [199950] * 3})
        text = self.said(a, b)
        self.assertIn("B is 85.9 % slower than A: 102.2 ms instead of 55.00 ms of total time, mean of "
                      "2 configurations", text)
        for name, rows in self.tables(a, b).items():
            for r in (r for r in rows if r.get("difference ms") is not None and name != SPLIT):
                self.assertAlmostEqual((r["faster (%)"] or 0) / 100 * r["baseline ms"],
                                       r["baseline ms"] - r["test ms"], delta=1e-9, msg=(name, r))
                self.assertAlmostEqual(r["difference ms"], r["test ms"] - r["baseline ms"],
                                       delta=1e-12, msg=(name, r))

    def test_ranks_that_stand_out_by_configuration(self):
        """The largest is named with its configuration; the others there beside it, and elsewhere."""
        points = {(256, 28): [100] * 9, (512, 28): [100] * 9}
        a = self.sweep("a", points)
        points[(256, 28)][8] = 120
        points[(512, 28)][1:5] = [150, 160, 170, 180]
        b = self.sweep("b", points)
        text = " ".join(self.compare(a, b).out.split())
        self.assertIn("In 512thread_28ch rank 4 computes 80.0 % longer (0.1000 ms -> 0.1800 ms), "
                      "rank 3 computes 70.0 % longer (0.1000 ms -> 0.1700 ms), rank 2 computes "
                      "60.0 % longer (0.1000 ms -> 0.1600 ms) and 1 more, the others as long as "
                      "before. Other configurations have 1 more outlier rank.", text)
        rows = self.tables(a, b)["rank_changes"]
        self.assertEqual([(r["configuration"], r["rank"]) for r in rows if r["verdict"] == "worse"],
                         [("256thread_28ch", 8), *(("512thread_28ch", i) for i in range(1, 5))])

    def test_steps_of_one_configuration(self):
        a = self.sweep("a", self.points)
        b = self.sweep("b", {k: v for k, v in self.points.items() if k != (512, 28)})
        self.sweep("b", {(512, 28): self.points[(512, 28)]}, steps=2)
        result = self.compare(a, b)
        self.assertIn("b calls the common operators and kernels 2.00 times as often "
                      "(512thread_28ch). Times are not comparable", result.err)
        result = self.compare(a, b, "--fail-on", "5", codes=(1,))
        self.assertNotIn("over the limit", result.err)
        self.compare(a, b, "--fail-on", "5", "--threads", "256")

    def test_configurations_of_one_side_alone(self):
        a = self.sweep("a", self.points)
        b = self.sweep("b", {(256, 28): [100, 102], (1024, 28): [50, 51], (256, 56): [80, 82],
                             (1024, 56): [50, 51]})
        t = self.tables(a, b)
        rows = {r["configuration"]: r for r in t["configuration_changes"]}
        self.assertEqual(list(rows), [f"{x}thread_{c}ch" for x in (256, 512, 1024)
                                      for c in (28, 56)])
        self.assertEqual(rows["512thread_28ch"]["verdict"], "gone")
        self.assertEqual(rows["1024thread_28ch"]["verdict"], "new")
        self.assertEqual([r["only here"] for r in t["comparison_summary"]],
                         ["512thread_28ch, 512thread_56ch",
                          "1024thread_28ch, 1024thread_56ch"])
        self.assertEqual([r["in both"] for r in t["comparison_summary"]], [2, 2])

    def test_no_common_configuration(self):
        a = self.sweep("a", self.points)
        b = self.sweep("b", {(1024, 28): [50, 51], (1024, 56): [40, 41]})
        result = self.compare(a, b, codes=(3,))
        self.assertIn("a and b have no configuration in common", result.out)
        self.assertIn("Best configuration", result.out)
        result = self.compare(a, b, "--fail-on", "5", codes=(1,))
        self.assertIn("no configuration in common", result.err)
        # One of each is a comparison.
        t = self.tables(self.sweep("c", {(256, 28): [100, 102]}),
                        self.sweep("d", {(1024, 28): [50, 51]}))
        row = t["configuration_changes"][0]
        self.assertEqual((row["configuration"], row["test configuration"], row["verdict"]),
                         ("256thread_28ch", "1024thread_28ch", "better"))

    def test_filters(self):
        a, b = self.sweep("a", self.points), self.sweep("b", self.points)
        t = self.tables(a, b, "--threads", "256", "--channels", "56", "--ranks", "1")
        self.assertEqual([(r["configuration"], r["baseline ranks"])
                          for r in t["configuration_changes"]], [("256thread_56ch", 1)])
        result = self.compare(a, b, "--threads", "7", codes=(1,))
        self.assertIn("no configuration selected", result.err)

    def test_a_rank_that_one_configuration_lacks(self):
        a, b = self.sweep("a", self.points), self.sweep("b", self.points)
        (b / "256thread/nccl_28channels/torch_profiler/rank1/trace.json").unlink()
        t = self.tables(a, b, codes=(3,))
        rows = {r["configuration"]: r for r in t["configuration_changes"]}
        self.assertEqual(rows["256thread_28ch"]["baseline ranks"], 1)
        self.assertEqual(rows["256thread_56ch"]["baseline ranks"], 2)

    def test_a_broken_trace_leaves_the_others(self):
        a, b = self.sweep("a", self.points), self.sweep("b", self.points)
        for rank in range(2):
            self.write("no trace", f"b/256thread/nccl_28channels/torch_profiler/rank{rank}/"
                                   "trace.json")
        t = self.tables(a, b, codes=(3,))
        rows = {r["configuration"]: r["verdict"] for r in t["configuration_changes"]}
        self.assertEqual(rows, {"256thread_28ch": "gone", "256thread_56ch": "same",
                                "512thread_28ch": "same", "512thread_56ch": "same"})
        self.assertIn("256thread_28ch", self.result.err)
        self.compare(a, b, "--strict", codes=(1,))

    def reports(self, sweep):
        """As an earlier stage leaves them."""
        for place in sweep.glob("*thread/nccl_*channels"):
            threads = place.parent.name
            channels = re.search(r"\d+", place.name).group()
            out = sweep / "tracelens_analysis" / threads / "individual_reports"
            out.mkdir(parents=True, exist_ok=True)
            for rank in range(2):
                self.assertExit(trawl("report", place / f"torch_profiler/rank{rank}/trace.json",
                                      "-o", self.tmp / "one", "--no-csv"), 0)
                shutil.move(self.tmp / "one/perf_report.xlsx",
                            out / f"perf_{channels}ch_rank{rank}.xlsx")
            group = out.parent / "collective_reports"
            group.mkdir(exist_ok=True)
            self.assertExit(trawl("collectives", place, "-o", self.tmp / "all", "--no-csv"), 0)
            shutil.move(self.tmp / "all/collective_all_ranks.xlsx",
                        group / f"collective_{channels}ch.xlsx")

    def test_reports_of_a_sweep_are_as_good_as_its_traces(self):
        a = self.sweep("a", self.points)
        b = self.sweep("b", {k: [v * 1.3 for v in times] for k, times in self.points.items()})
        want = self.tables(a, b)
        for s in (a, b):
            self.reports(s)
        self.tables(a, b)
        self.assertNotIn("older", self.result.err)
        # A run that was done again after its report was made.
        later = time.time() + 100
        os.utime(b / "256thread/nccl_28channels/torch_profiler/rank0/trace.json", (later, later))
        self.tables(a, b)
        self.assertIn("b: 1 report is older than the traces", self.result.err)
        for s in (a, b):
            for place in s.glob("*thread"):
                shutil.rmtree(place)
        # Reports do not say who waits for whom beside what runs meanwhile.
        got = self.tables(a, b)
        self.assertEqual({k: v for k, v in got.items() if k != SPLIT},
                         {k: v for k, v in want.items() if k != SPLIT})
        self.assertEqual(got[SPLIT][-1], want[SPLIT][-1])
        parts = [{r["part"] for r in t[SPLIT]} for t in (got, want)]
        self.assertIn("exposed communication", parts[0])
        self.assertLessEqual({"waiting", "transfer"}, parts[1])
        # What one report lacks is told, and the rest compared.
        broken = b / "tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx"
        broken.write_bytes(b"PK\x03\x04junk")
        self.tables(a, b, codes=(3,))
        self.assertIn("perf_28ch_rank0.xlsx", self.result.err)
        self.compare(a, b, "--strict", codes=(1,))

    def test_thread_counts_of_one_sweep(self):
        """Their directories of reports: what they have in common is the channels."""
        place = self.sweep("a", self.points) / "tracelens_analysis"
        self.reports(self.tmp / "a")
        t = self.tables(place / "256thread", place / "512thread")
        rows = {r["configuration"]: r for r in t["configuration_changes"]}
        self.assertEqual(list(rows), ["28ch", "56ch"])
        self.assertEqual(rows["56ch"]["baseline ms"], 0.131)
        self.assertEqual(rows["56ch"]["test ms"], 0.161)
        self.assertTrue(t["collectives_by_configuration"])
        t = self.tables(place / "256thread/individual_reports", place / "512thread",
                        "--channels", "28")
        self.assertEqual([r["configuration"] for r in t["configuration_changes"]], ["28ch"])

    def test_the_page_of_sweeps(self):
        a = self.sweep("a", self.points)
        b = self.sweep("b", {k: [v * 2 for v in times] for k, times in self.points.items()})
        result = self.compare(a, b, "--label1", "Base <ROCm>", "--label2", "ROCm 7.0")
        self.assertIn("plots missing", result.err)
        text = self.page.read_text()
        self.assertIn("<title>GEMM Kernel Variance - Sweep Comparison</title>", text)
        for heading in ("Sweep Information", "Variance by Thread Count",
                        "Variance by Channel Count", "Variance by Rank",
                        "Variance Distribution (Violin Plots)", "Thread-Channel Interaction",
                        "Data Files Information"):
            self.assertIn(heading, text)
        self.assertLess(text.index("Timeline"), text.index("Variance by Rank"))
        self.assertIn("Base &lt;ROCm&gt;", text)
        self.assertNotIn("<ROCm>", text)
        self.assertIn("aten::mm", text)
        plots = a / "tracelens_analysis/plots"
        plots.mkdir(parents=True)
        (plots / "variance_by_ranks_boxplot.png").write_bytes(b"no picture")
        result = self.compare(a, b, codes=(3,))
        self.assertIn("variance_by_ranks_boxplot.png", result.err)

    def test_a_sweep_against_a_run(self):
        a = self.sweep("a", self.points)
        result = self.compare(a, self.job("b", [100, 102]), codes=(1,))
        self.assertIn("choose one of each with --threads and --channels", result.err)
        t = self.tables(a, self.tmp / "b", "--threads", "256", "--channels", "28")
        self.assertEqual(self.by(t["operation_changes"], "aten::mm", "name")["verdict"], "same")


class Browser(Compare):
    """The page of a whole run; test_compare_page.py looks at the page itself more closely."""

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    @unittest.skipUnless(shutil.which("chromium"), "no chromium: the page was not looked at")
    def test_nothing_is_said_and_nothing_is_too_wide(self):
        names = [f"void at::native::vectorized_elementwise_kernel<{i}, at::native::CUDAFunctor_add"
                 f"<float>, std::array<char*, 3ul> >(int, {'x' * 200})" for i in range(60)]
        for side, factor in (("a", 1), ("b", 1.4)):
            events = [kernel(name, 1000 * i, (50 + i) * factor) for i, name in enumerate(names)]
            self.write(document(events), f"{side}.json")
        self.compare(self.tmp / "a.json", self.tmp / "b.json", "--label2", "<b>&\"'" + "w" * 90)
        text = self.page.read_text()
        policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
        self.assertEqual(len(policy.findall(text)), 1)
        script = ("addEventListener('load', () => parent.postMessage("
                  "document.documentElement.scrollWidth - document.documentElement.clientWidth,"
                  " '*'))")
        self.write(policy.sub("", text).replace("</body>", f"<script>{script}</script></body>"),
                   "inner.html")
        said = self.chromium(self.page)
        self.assertNotIn("CONSOLE", said.stderr)
        self.assertIn('aria-sort="none"', said.stdout)
        for width in (390, 1280):
            probe = self.write("<title></title><script>addEventListener('message', e => "
                               "document.title = 'wider by ' + e.data)</script><iframe "
                               f"src='inner.html' width='{width}' height='900'></iframe>",
                               "probe.html")
            self.assertIn("<title>wider by 0</title>", self.chromium(probe).stdout, width)

    def chromium(self, page):
        return subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                               "--enable-logging=stderr", "--window-size=2000,1000",
                               f"--user-data-dir={self.tmp / 'profile'}", "--dump-dom",
                               page.as_uri()], check=True, timeout=120, capture_output=True,
                              text=True)


class Gate(Compare):
    def test_statuses(self):
        a, b = self.job("a", [1000, 1000]), self.job("b", [1100, 1100])
        result = self.compare(a, b, "--fail-on", "5", codes=(4,))
        for what in ("total_time", "aten::mm", "gemm"):
            self.assertRegex(result.err, rf"regression above the limit: [a-z ]+ {what} is \d")
        self.assertIn("9.5 % slower", result.err)
        self.compare(a, b, "--fail-on", "12%")
        self.compare(b, a, "--fail-on", "0")
        self.compare(a, b)

    def test_quiet_still_names_what_failed(self):
        a, b = self.job("a", [1000, 1000]), self.job("b", [1100, 1100])
        result = self.compare(a, b, "--fail-on", "2.5", "-q", codes=(4,))
        self.assertIn("total_time", result.err)

    def test_a_total_time_that_one_side_lacks_does_not_pass(self):
        a, b = self.csvs("a", [("total_time", "1e308"), ("busy_time", 1)]), \
            self.csvs("b", [("total_time", 10), ("busy_time", 1)])
        result = self.compare(a, b, "--fail-on", "5", codes=(3,))
        self.assertIn("total time not checked: missing on one side", result.err)
        self.compare(a, b)

    def test_from_nothing_to_something(self):
        b = self.csvs("b", [("total_time", 10)])
        for name, value, said in (("none", 0, "b is slower than none: "),
                                  ("hardly", "0.00001", "b takes over 1000 times as long as hardly: ")):
            result = self.compare(self.csvs(name, [("total_time", value)]), b,
                                  "--fail-on", "5", codes=(4,))
            self.assertIn(said, result.out)

    def test_small_items_have_no_percentages_of_thousands(self):
        """A microsecond that becomes a millisecond, of 100."""
        a = self.csvs("a", [("exposed_memcpy_time", 0.001), ("total_time", 100)])
        b = self.csvs("b", [("exposed_memcpy_time", 1), ("total_time", 101)])
        row = self.by(self.tables(a, b)["timeline_changes"], "exposed_memcpy_time")
        self.assertIsNone(row["faster (%)"])
        self.assertEqual(row["verdict"], "worse")
        self.assertRegex(row["why"], "; over 1000 times the baseline$")
        for text in (self.said(a, b), self.page.read_text()):
            self.assertNotRegex(text, r"\b99[,.]?900\b")
        # The other way round less than nothing is not possible.
        row = self.by(self.tables(b, a)["timeline_changes"], "exposed_memcpy_time")
        self.assertAlmostEqual(row["faster (%)"], 99.9, delta=1e-9)

    def test_small_items_and_noise_do_not_fail(self):
        a = self.csvs("a", [("total_time", 100)], kernels=[("small", 900, 1), ("large", 1000, 1)])
        b = self.csvs("b", [("total_time", 100)], kernels=[("small", 1800, 1), ("large", 1000, 1)])
        self.compare(a, b, "--fail-on", "0")
        self.compare(self.job("c", [1000, 1100, 1200]), self.job("d", [1050, 1150, 1250]),
                     "--fail-on", "0")

    def test_one_configuration_of_a_sweep_fails(self):
        a = self.sweep("a", {(256, 28): [1000, 1000], (512, 28): [1000, 1000]})
        b = self.sweep("b", {(256, 28): [500, 500], (512, 28): [1500, 1500]})
        result = self.compare(a, b, "--fail-on", "10", codes=(4,))
        self.assertIn("total_time in 512thread_28ch", result.err)


class Workbook(Compare):
    def sheets(self, path):
        with zipfile.ZipFile(path) as z:
            return re.findall(r'<sheet name="([^"]+)"', z.read("xl/workbook.xml").decode())

    def test_two_runs_of_several_ranks(self):
        a, b = self.job("a", [100, 104]), self.job("b", [90, 110])
        self.compare(a, b, "--xlsx", self.tmp / "w.xlsx")
        names = self.sheets(self.tmp / "w.xlsx")
        for name in (*SHEETS, "Summary_Dashboard", "GPU_Summary_Cmp", "GPU_ByRank_Cmp",
                     "NCCL_ImplicitSyncCmp", "NCCL_LongCmp"):
            self.assertIn(name, names)

    def test_two_traces(self):
        """Sheets that are made for the workbook alone are of both traces."""
        a, b = (self.write(trace(mm, world=1), name) for mm, name in ((100, "a.json"),
                                                                      (150, "b.json")))
        self.compare(a, b, "--xlsx", self.tmp / "w.xlsx")
        names = self.sheets(self.tmp / "w.xlsx")
        for name in ("gpu_timeline", "ops_summary", "kernel_summary"):
            self.assertIn(name, names)
        self.assertTrue([n for n in names if n.startswith("ops_unique_args")], names)

    def test_two_reports(self):
        a = self.csvs("a", [("total_time", 10)], ops=[("mm", 1, 5)], kernels=[("k", 5000, 2)])
        b = self.csvs("b", [("total_time", 11)], ops=[("mm", 1, 6)], kernels=[("k", 6000, 2)])
        self.compare(a, b, "--xlsx", self.tmp / "w.xlsx", "--sheets", "gpu_timeline,ops_summary")
        names = self.sheets(self.tmp / "w.xlsx")
        self.assertIn("gpu_timeline", names)
        self.assertIn("ops_summary", names)
        self.assertNotIn("kernel_summary", names)
        self.assertNotIn("Summary_Dashboard", names)

    def test_what_differs_is_red_or_green_and_the_rest_folded(self):
        a = self.csvs("a", [("busy_time", 30), ("total_time", 100)],
                      kernels=[("slow", 10000, 1), ("fast", 10000, 1), ("one", 9000, 1),
                               ("two", 8000, 1), ("old", 5000, 1)])
        b = self.csvs("b", [("busy_time", 30), ("total_time", 90)],
                      kernels=[("slow", 12000, 1), ("fast", 7000, 1), ("one", 9000, 1),
                               ("two", 8010, 1)])
        self.compare(a, b, "--xlsx", self.tmp / "w.xlsx")
        with zipfile.ZipFile(self.tmp / "w.xlsx") as z:
            sheet = z.read(f"xl/worksheets/sheet{1 + self.sheets(self.tmp / 'w.xlsx').index('kernel_changes')}.xml").decode()
            styles = z.read("xl/styles.xml").decode()
        fills = re.findall(r"<fill>(.*?)</fill>", styles)
        formats = re.findall(r"<xf [^>]*fillId=\"(\d+)\"", re.search(
            "<cellXfs.*?</cellXfs>", styles).group())
        rows = re.findall(r"<row r=\"(\d+)\"([^>]*)>(.*?)(?:</row>|(?=<row))|<row r=\"\d+\"[^>]*/>", sheet)
        order = [r["Kernel name"] for r in self.tables(a, b)["kernel_changes"]]
        self.assertEqual(order, ["old", "fast", "slow", "two", "one"])
        for (_, options, cells), name in zip(rows[1:], order):
            colours = {fills[int(formats[int(s)])] for s in re.findall(r' s="(\d+)"', cells)}
            folded = 'hidden="1"' in options and 'outlineLevel="1"' in options
            self.assertEqual(folded, name in ("one", "two"), name)
            self.assertEqual("FFE4F5E9" in str(colours), name == "fast", name)
            self.assertEqual("FFFDECEB" in str(colours), name == "slow", name)
        self.assertIn('collapsed="1"', sheet)
        # The page folds them too, without a script.
        page = self.page.read_text()
        self.assertRegex(page, "(?s)<details class=\"folded\"><summary>2 of 5 without a difference"
                               "</summary>.*>two<.*>one<.*</details>")
        self.assertLess(page.index(">slow<"), page.index("2 of 5 without"))

    def test_reports_of_three_sides(self):
        paths = [self.csvs(name, [("total_time", 10)], kernels=[("k", ms, 2)]) for name, ms in
                 (("a", 10), ("b", 20), ("c", 30))]
        self.compare(*paths, "--xlsx", self.tmp / "w.xlsx")
        self.assertIn("gpu_timeline", self.sheets(self.tmp / "w.xlsx"))
        self.assertIn("kernel_changes", self.sheets(self.tmp / "w.xlsx"))


class ManySides(Compare):
    """Each against the first."""

    def test_jobs(self):
        sides = [self.job(name, times) for name, times in
                 (("a", [1000, 1000]), ("b", [900, 900]), ("c", [1000, 1000]), ("d", [2000, 2000]))]
        t = self.tables(*sides, "--xlsx", self.tmp / "w.xlsx")
        rows = t["comparison_summary"]
        self.assertEqual([(r["side"], r["label"], r["verdict"]) for r in rows],
                         [("baseline", "a", None), ("test", "b", "better"), ("test", "c", "same"),
                          ("test", "d", "worse")])
        self.assertEqual([r["total ms"] for r in rows], [None, 0.95, 1.05, 2.05])
        # As of two sides.
        for name in "bcd":
            pair = self.tables(self.tmp / "a", self.tmp / name)
            for table in SHEETS[1:]:
                self.assertEqual([{k: v for k, v in r.items() if k != "test"} for r in t[table]
                                  if r["test"] == name], pair[table], (name, table))
        text = self.said(*sides)
        self.assertRegex(text, r"baseline: a test: b test: c test: d b is 9\.5 % faster than a: .*"
                               r"c and a take the same time: .*d is 95\.2 % slower than a: .*"
                               r"b against a .*c against a .*d against a")
        page = self.page.read_text()
        for name in "bcd":
            self.assertIn(f">{name} against a</h2>", page)
        self.assertEqual(page.count(">Timeline</h2>"), 3)

    def test_sweeps_and_another_that_has_nothing_in_common(self):
        sweeps = [self.sweep(name, {(256, 28): [100 * n] * 2, (512, 28): [100 * n] * 2})
                  for n, name in enumerate("abc", 1)]
        t = self.tables(*sweeps)
        self.assertEqual({(r["test"], r["configuration"]) for r in t["timeline_by_configuration"]},
                         {(s, f"{n}thread_28ch") for s in "bc" for n in (256, 512)})
        host = self.write(document([op("aten::mm", 1, 5)]), "host.json")
        t = self.tables(sweeps[0], host, sweeps[1], codes=(3,))
        self.assertIn("trawl: skipped: nothing to compare: a and host.json have no configuration in "
                      "common", self.result.err)
        self.assertEqual({r["test"] for r in t["timeline_changes"]}, {"b"})
        self.compare(sweeps[0], host, host, codes=(1,))

    def test_the_gate_is_of_each(self):
        sides = [self.job(name, times, **more) for name, times, more in
                 (("a", [1000, 1000], {}), ("b", [1100, 1100], {}), ("c", [1000, 1000], {}),
                  ("d", [1000, 1000], {"steps": 3}))]
        result = self.compare(*sides[:3], "--fail-on", "5", codes=(4,))
        self.assertIn("regression above the limit: b: timeline part total_time is 9.5 % slower",
                      result.err)
        self.assertNotIn("c: ", result.err)
        self.compare(*sides[:3], "--fail-on", "20")
        # One of which the steps differ is not decided on, the others are.
        result = self.compare(sides[0], sides[2], sides[3], "--fail-on", "5", codes=(1,))
        self.assertIn("no decision: a and d probably have different step counts", result.err)
        self.compare(*sides, "--fail-on", "5", codes=(4,))

    def test_labels(self):
        sides = [self.job(name, [100, 100]) for name in "abc"]
        t = self.tables(*sides, "--label", "one", "--label", "two", "--label2", "2")
        self.assertEqual([r["label"] for r in t["comparison_summary"]], ["one", "2", "c"])

    def test_damage_of_the_baseline_is_told_once(self):
        sides = [self.job(name, [100] * 3) for name in "abc"]
        whole = trace(900, rank=2, world=3)
        (sides[0] / "rank2.json").write_text(whole[:whole.rindex("ncclDevKernel")])
        self.assertEqual(self.compare(*sides, codes=(3,)).err.count("a: rank 2 is damaged"), 1)


if __name__ == "__main__":
    unittest.main()
