"""trawl sweep: what lies in a sweep is found, and every stage's files are there."""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from page import Page
from support import (BUILD, ROOT, Case, NCCL, document, kernel, launch, op, read_csv, tracegen,
                     trawl)

TIMES = {(256, 28): 100, (256, 56): 90, (512, 28): 95, (512, 56): 80}


def events(gemm_us, rank=0, collective=True, calls=4):
    """`calls` matrix products of growing length, the last under a collective."""
    out, at = [], 1000
    for call in range(calls):
        out += [op("aten::mm", at, 20, **{"External id": 10 + call,
                                          "Input Dims": [[64, 32], [32, 16]],
                                          "Input type": ["float", "float"],
                                          "Input Strides": [[32, 1], [16, 1]],
                                          "Concrete Inputs": ["", ""]}),
                launch(at + 5, 4, 10 + call, **{"External id": 10 + call}),
                kernel("gemm_kernel", at + 30, gemm_us + 5 * call + rank, 10 + call)]
        at += gemm_us + 100
    if collective:
        out += [op("c10d::allreduce_", at - 78, 12, **{"External id": 90}),
                launch(at - 75, 4, 90, **{"External id": 90}),
                kernel(NCCL, at - 60, 80, 90, stream=9, **{
                    "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024,
                    "Group size": 2, "dtype": "Float", "Process Group Name": "0",
                    "Process Group Ranks": "[0, 1]", "Process Group Description": "default_pg"})]
    return out


class Sweep(Case):
    def sweep(self, points=None, ranks=2, name="trace_step9.json", place=None, **keywords):
        """A sweep of small traces, in a directory of its own."""
        self._runs += 1
        place = self.tmp / (place or f"sweep{self._runs}")
        for threads, channels in points or TIMES:
            for rank in range(ranks):
                directory = place / f"{threads}thread/nccl_{channels}channels/torch_profiler" \
                    / f"rank{rank}"
                directory.mkdir(parents=True)
                info = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}}
                (directory / name).write_text(document(
                    events(TIMES[threads, channels], rank, **keywords), **info))
        return place

    def files(self, place):
        return sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file())

    def run_on(self, stage, place, *options, codes=(0,), **keywords):
        result = trawl("sweep", stage, place, *options, timeout=120, **keywords)
        self.assertAlive(result)
        self.assertExit(result, *codes)
        return result

    # ---- the page, and the answer in JSON

    def page(self, place):
        return Page((place / "tracelens_analysis/sweep.html").read_text(encoding="utf-8"))

    def test_page_has_the_answer_and_its_figures(self):
        place = self.sweep()
        result = self.run_on("all", place, "--format", "json")
        page = self.page(place)
        page.check_self_contained(self)
        tables = {t["name"]: t for t in json.loads(result.out)["tables"]}
        self.assertEqual([r[0] for r in tables["verdict"]["rows"]], page.answer)
        self.assertRegex(page.answer[0], r"^Best: 512thread_56ch, 0\.710 ms of GPU time")
        rows = page.rows("Configurations")
        self.assertEqual([r["configuration"] for r in rows],
                         ["512thread_56ch", "256thread_56ch", "512thread_28ch", "256thread_28ch"])
        # From 1030 to 1740; 80 + 85 + 90 + 95, and 1 more for each call of rank 1; the last calls end 5
        # and 6 after the collective of 80 starts.
        self.assertEqual([float(rows[0][c]) for c in ("total ms", "compute ms", "exposed comm ms", "idle ms")],
                         [0.710, 0.352, 0.0745, 0.2835])
        chart = page.charts["Configurations"]
        self.assertIn(">4 configurations, medians of 2 ranks</text>", chart)
        for number in ("0.710", "0.352", "0.790"):
            self.assertIn(f">{number}</text>", chart)
        (variance,) = [h for h in page.tables if h.startswith("Operators")]
        self.assertEqual({float(r["time_diff_us (µs)" if "time_diff_us (µs)" in r else "time_diff_us"])
                          for r in page.rows(variance)}, {15})
        plots = {p.read_bytes() for p in (place / "tracelens_analysis/plots").glob("*.png")}
        self.assertEqual(set(page.pictures.values()), plots)

    def test_page_without_plots(self):
        place = self.sweep(points=[(256, 28), (512, 28)])
        self.run_on("all", place)
        self.run_on("all", place, "--no-plots")
        page = self.page(place)
        self.assertEqual((page.charts, page.pictures), ({}, {}))
        self.assertEqual(len(page.rows("Configurations")), 2)

    # ---- reports

    def test_reports_lie_where_the_layout_says(self):
        place = self.sweep()
        before = self.files(place)
        result = self.run_on("report", place)
        self.assertIn(": 8 rank reports, 4 collective reports, 4 comparisons, ", result.err)
        written = set(self.files(place)) - set(before)
        for threads, channels in TIMES:
            base = f"tracelens_analysis/{threads}thread"
            self.assertIn(f"{base}/collective_reports/collective_{channels}ch.xlsx", written)
            for rank in range(2):
                self.assertIn(f"{base}/individual_reports/perf_{channels}ch_rank{rank}.xlsx",
                              written)
                self.assertIn("tracelens_analysis/comparisons/"
                              f"compare_{channels}ch_rank{rank}_across_threads.xlsx", written)
        self.assertTrue(set(before) <= set(self.files(place)), "traces are not moved")

    def test_short_kernels_are_those_below_50_us(self):
        """EDGE_OF(TW_LIMIT_SWEEP_SHORT_KERNEL_US)"""
        rank = self.tmp / "edge/256thread/nccl_28channels/torch_profiler/rank0"
        rank.mkdir(parents=True)
        (rank / "trace_step9.json").write_text(document(
            [launch(100, 4, 1), kernel("below", 200, 49.999, 1),
             launch(110, 4, 2), kernel("at", 300, 50, 2)]))
        self.run_on("report", self.tmp / "edge")
        book = self.tmp / "edge/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx"
        done = subprocess.run([BUILD / "tools/book_dump", book], capture_output=True, text=True,
                              check=True)
        sheets = {sheet["name"]: sheet["rows"] for sheet in map(json.loads, done.stdout.splitlines())}
        header, *rows = sheets["short_kernels_summary"]
        self.assertEqual([row[header.index("Kernel name")] for row in rows], ["below"])

    def test_best_configuration_is_named(self):
        result = self.run_on("report", self.sweep())
        self.assertIn("Best: 512thread_56ch", result.out)

    def test_steps_of_configurations_are_compared(self):
        """Ranks of 256thread_56ch show one and two steps; 512thread_56ch was interrupted."""
        place = self.sweep(points=[(256, 28), (256, 56), (512, 28)])
        (place / "512thread/nccl_56channels").mkdir()

        def add_steps(threads, channels, rank, steps):
            trace = place / f"{threads}thread/nccl_{channels}channels/torch_profiler" \
                / f"rank{rank}/trace_step9.json"
            data = json.loads(trace.read_text())
            data["traceEvents"] += [
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
                 "tid": 1, "ts": 1000 + 200 * step, "dur": 200} for step in range(steps)]
            trace.write_text(json.dumps(data))

        for threads, channels in ((256, 28), (256, 56), (512, 28)):
            for rank in range(2):
                add_steps(threads, channels, rank, 1)
        same = self.run_on("report", place, "-o", self.tmp / "same", codes=(3,))
        self.assertNotIn("number of steps", same.out)
        add_steps(256, 56, 1, 2)
        unlike = self.run_on("report", place, "-o", self.tmp / "unlike", codes=(3,))
        self.assertIn("Step counts differ (256thread_28ch 1, 256thread_56ch unknown)",
                      " ".join(unlike.out.split()))

    def test_second_run_gives_the_same(self):
        place, out = self.sweep(), self.tmp / "out"
        self.run_on("report", place, "-o", out)
        first = {f: (out / f).read_bytes() for f in self.files(out)}
        self.run_on("report", place, "-o", out, "-j", "1")
        self.assertEqual(first, {f: (out / f).read_bytes() for f in self.files(out)})

    def test_results_go_elsewhere(self):
        place, out = self.sweep(), self.tmp / "else where"
        before = {f: (place / f).stat().st_mtime_ns for f in self.files(place)}
        self.run_on("report", place, "-o", out)
        self.assertEqual(before, {f: (place / f).stat().st_mtime_ns for f in self.files(place)})
        self.assertTrue((out / "tracelens_analysis/256thread/individual_reports"
                         / "perf_28ch_rank0.xlsx").exists())

    # ---- what is not there, or odd

    def test_missing_rank_is_named(self):
        place = self.sweep()
        shutil.rmtree(place / "512thread/nccl_56channels/torch_profiler/rank1")
        result = self.run_on("report", place, codes=(3,))
        self.assertIn("512thread_56ch: missing rank 1", result.err)

    def test_corrupt_trace_is_named(self):
        place = self.sweep()
        bad = place / "256thread/nccl_28channels/torch_profiler/rank1/trace_step9.json"
        bad.write_bytes(b"\x00\x01\x02 no trace")
        for stage in ("report", "merge", "all"):
            result = self.run_on(stage, place, codes=(3,))
            self.assertIn("rank1/trace_step9.json: skipped", result.err)
        shutil.copy(bad, place / "256thread/nccl_28channels/torch_profiler/rank0" / bad.name)
        for stage in ("merge", "all"):
            result = self.run_on(stage, place, codes=(3,))
            self.assertIn("256thread_28ch: no merged timeline: ", result.err)

    def test_damaged_trace_does_not_win(self):
        """What is shorter since the end of a trace is lost counts in no time."""
        place = self.sweep(ranks=3)
        trace = place / "256thread/nccl_28channels/torch_profiler/rank1/trace_step9.json"
        trace.write_text(trace.read_text()[:1400])
        result = self.run_on("all", place, "--no-plots", codes=(3,))
        self.assertIn("256thread_28ch: damaged traces of 1 of 3 ranks: skipped.", result.out)
        self.assertIn("512thread_56ch, 0.", result.out)
        rows = {r["configuration"]: r for r in csv.DictReader(
            self.run_on("report", place, "--format", "csv", codes=(3,)).out.splitlines())}
        self.assertEqual(rows["256thread_28ch"]["ranks"], "2")
        # Of ranks 0 and 2: the first kernel starts at 1030, the collective ends 20 after the last.
        self.assertEqual(rows["256thread_28ch"]["total ms"], "0.79")
        result = self.run_on("aggregate", place, codes=(3,))
        self.assertIn("perf_28ch_rank1.xlsx: skipped: damaged trace", result.err)
        result = self.run_on("variance", place, codes=(3,))
        self.assertIn("perf_28ch_rank1.xlsx: damaged trace", result.err)

    def test_failed_run_does_not_win(self):
        place = self.sweep()
        (place / "512thread/nccl_56channels/run_status.json").write_text(
            '{"schema": "trawl.sweep_run/1", "status": "FAILED"}')
        result = self.run_on("report", place, codes=(3,))
        self.assertIn("512thread_56ch: run status FAILED", result.err)
        self.assertIn("Best of the comparable configurations: 256thread_56ch", result.out)

    def test_files_of_the_run_are_no_traces(self):
        place = self.sweep(points=[(256, 28), (256, 56)])
        half = place / "256thread/nccl_56channels"
        shutil.rmtree(half)
        half.mkdir()
        (half / "run_status.json").write_text('{"status": "INTERRUPTED"}')
        result = self.run_on("report", place, codes=(3,))
        self.assertNotIn("run_status.json: skipped", result.err)
        self.assertIn("nccl_56channels: no traces", result.err)

    def test_missing_configuration_is_named(self):
        place = self.sweep(points=[(256, 28), (256, 56), (512, 28)])
        result = self.run_on("report", place, codes=(3,))
        self.assertIn("no configuration of 512 threads and 56 channels", result.err)

    def test_interrupted_sweep(self):
        """The run was ended: its directory has a log, and no traces."""
        place = self.sweep(points=[(256, 28), (256, 56), (512, 28)])
        half = place / "512thread/nccl_56channels"
        half.mkdir(parents=True)
        (half / "run_output.log").write_text("Traceback")
        result = self.run_on("all", place, codes=(3,))
        self.assertIn("512thread/nccl_56channels: no traces", result.err)
        self.assertIn("Best of the comparable configurations: 256thread_56ch", result.out)

    def test_one_configuration(self):
        result = self.run_on("report", self.sweep(points=[(256, 28)]))
        self.assertIn("no other configuration to compare", result.out)

    def test_one_thread_count_has_no_comparisons(self):
        place = self.sweep(points=[(256, 28), (256, 56)])
        self.run_on("report", place)
        self.assertFalse((place / "tracelens_analysis/comparisons").exists())

    def test_no_collectives(self):
        place = self.sweep(collective=False)
        result = self.run_on("all", place)
        self.assertIn("no collectives", result.err)
        self.assertIn("Best:", result.out)

    def test_names_with_blanks(self):
        place = self.sweep(name="trace step 9.json", place="my sweep 'x' $(y)")
        self.run_on("all", place)
        self.assertTrue((place / "merged_traces/256thread_28ch_merged.json").exists())

    def test_several_traces_of_a_rank(self):
        """Of those that trainers name the latest step is taken, and said; none is touched."""
        place = self.sweep(points=[(256, 28)])
        rank = place / "256thread/nccl_28channels/torch_profiler/rank0"
        old = (rank / "trace_step9.json").read_bytes()
        (rank / "trace_step19.json").write_bytes(old)
        (rank / "host_1.2.pt.trace.json").write_bytes(b"{}")
        (rank / "zzz_trace.json").write_bytes(b"{}")
        result = self.run_on("report", place)
        self.assertRegex(result.err, r"rank 0 has 4 traces: using .*rank0/trace_step19\.json")
        self.assertEqual((rank / "trace_step9.json").read_bytes(), old)

    def test_export_of_several_gpus(self):
        """A rank is one GPU: of an export of a host the first one is taken, which is said."""
        place = self.tmp / "sweep"
        rank = place / "256thread/nccl_28channels/torch_profiler/rank0"
        rank.mkdir(parents=True)
        subprocess.run([sys.executable, str(ROOT / "tests/gen/nsys_export.py"), "--ranks", "2", "-o",
                        str(rank / "export.sqlite")], check=True, capture_output=True)
        result = self.run_on("report", place, codes=(3,))
        self.assertRegex(result.err, r"export\.sqlite: trace of several GPUs")

    def test_ranks_have_their_exact_numbers(self):
        """rank1 is not rank10, and rank1 above the sweep is no rank at all."""
        place = self.sweep(points=[(256, 28)], ranks=11, place="rank1/sweep")
        self.run_on("report", place)
        reports = place / "tracelens_analysis/256thread/individual_reports"
        self.assertEqual(len(list(reports.iterdir())), 11)

    def test_clocks_that_differ_are_told(self):
        """Unless it was asked for that they are aligned."""
        made, place = self.tmp / "skewed_job", self.tmp / "skewed"
        subprocess.run([str(tracegen()), "--kind", "infer", "--ranks", "2", "--steps", "2",
                        "--seed", "7", "--clock-skew-us", "700", "-o", made], check=True,
                       capture_output=True)
        for rank in range(2):
            to = place / f"256thread/nccl_28channels/torch_profiler/rank{rank}"
            to.mkdir(parents=True)
            shutil.move(next(made.glob(f"rank{rank}*")), to / "trace.json")
        told = "256thread_28ch: rank clocks differ (from collective ends)"
        self.assertIn(told, self.run_on("report", place).err)
        for how in ("collectives", "none"):
            self.assertNotIn(told, self.run_on("report", place, "--align", how).err)

    def test_filters(self):
        place, out = self.sweep(), self.tmp / "out"
        self.run_on("report", place, "-o", out, "--threads", "512", "--channels=28",
                    "--ranks", "1-1")
        self.assertEqual([f for f in self.files(out) if "individual" in f],
                         ["tracelens_analysis/512thread/individual_reports/perf_28ch_rank1.xlsx"])
        result = self.run_on("report", place, "-o", out, "--threads", "512,1024", codes=(3,))
        self.assertIn("no configuration of 1024 threads", result.err)
        self.run_on("report", place, "-o", out, "--ranks", "0-1999", codes=(3,))
        self.assertIn("more than", trawl("sweep", "report", place, "--ranks", "0-5000").err)
        for bad in ("x", "1-", "5-3", "1,,2", "99999999999", "-1", "0-5000"):
            self.assertExit(trawl("sweep", "report", place, f"--ranks={bad}"), 2)

    def test_no_sweep(self):
        empty = self.tmp / "empty"
        empty.mkdir()
        self.assertIn("no configuration in",
                      self.run_on("report", empty, codes=(1,)).err)
        self.run_on("report", self.tmp / "absent", codes=(1,))
        self.assertExit(trawl("sweep"), 2)
        self.assertExit(trawl("sweep", "nonsense", empty), 2)
        self.assertExit(trawl("sweep", "report"), 2)

    def test_nothing_can_be_read(self):
        place = self.sweep(points=[(256, 28)])
        for trace in place.rglob("*.json"):
            trace.write_text("nothing")
        result = self.run_on("report", place, codes=(1,))
        self.assertIn("no readable trace", result.err)

    def test_strict(self):
        place = self.sweep(points=[(256, 28)])
        self.run_on("report", place, "--strict")
        bad = place / "256thread/nccl_28channels/torch_profiler/rank1/trace_step9.json"
        bad.write_text(bad.read_text()[:-40])
        self.run_on("report", place, "--strict", codes=(1,))

    def test_calls_without_recorded_work_are_not_the_shortest(self):
        """Of three products of 100, 105 and 110 us a fourth has no kernel: its 0 is no time."""
        place = self.sweep(points=[(256, 28)], ranks=1)
        trace = place / "256thread/nccl_28channels/torch_profiler/rank0/trace_step9.json"
        kept = [e for e in events(100)
                if not (e["cat"] == "kernel" and e["args"].get("correlation") == 13)]
        trace.write_text(document(kept))
        name = "tracelens_analysis/top5_gemm_kernels_time_variance.csv"
        for stages in (("all",), ("report", "variance")):
            out = self.tmp / "-".join(stages)
            for stage in stages:
                # The recorded groups have a second rank.
                self.run_on(stage, place, "-o", out, codes=(0, 3))
            row = read_csv(out / name)[0]
            self.assertEqual((row["kernel_time_min_us"], row["kernel_time_max_us"],
                              row["time_diff_us"]), ("100", "110", "10"))

    # ---- merged timelines

    def test_merged_timelines(self):
        place = self.sweep()
        self.run_on("merge", place)
        for threads, channels in TIMES:
            merged = json.loads((place / f"merged_traces/{threads}thread_{channels}ch_merged.json")
                                .read_text())
            names = {e["name"] for e in merged["traceEvents"] if e["ph"] == "X"}
            self.assertIn("[R1] gemm_kernel", names)

    def test_merged_as_by_the_command(self):
        """Also where the traces are read once for everything."""
        place = self.sweep(points=[(256, 28)])
        one = self.tmp / "one.json"
        self.assertExit(trawl("merge", place / "256thread/nccl_28channels/torch_profiler",
                              "-o", one), 0)
        for stage in ("merge", "all"):
            out = self.tmp / stage
            self.run_on(stage, place, "-o", out)
            self.assertEqual((out / "merged_traces/256thread_28ch_merged.json").read_bytes(),
                             one.read_bytes())


if __name__ == "__main__":
    unittest.main()
