"""Options of report and check: views, thresholds, formats."""
import csv
import io
import json
import pathlib
import re
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (BASE, BASE_HEAD, NCCL, SHARED, Case, base_events, document, event, kernel, launch,
                     number, op, trawl)


def steps():
    """Two profiler steps: [100,300) and [300,500) us, and a range of each kind of annotation."""
    return base_events() + [
        event("X", "user_annotation", "ProfilerStep#4", 31, 32, 100, 200),
        event("X", "user_annotation", "ProfilerStep#5", 31, 32, 300, 200),
        event("X", "user_annotation", "forward pass", 31, 32, 180, 40)]


class Views(Case):
    def test_window_clips_at_its_edges(self):
        # [220,310) us: gemm [220,250), collective [220,300), copy [290,310).
        rep = self.report(base_events(), "--start", 220000, "--end", 310000)
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"compute": 30, "comm": 80, "memcpy": 20, "exposed_comm": 50,
                                 "exposed_memcpy": 10, "busy": 90, "total": 90, "idle": 0})
        self.assertTimelineCloses(rep)
        self.assertReconciles(rep)

    def test_window_names_itself(self):
        rep = self.report(base_events(), "--start", 220000, "--end", 310000)
        self.assertRegex(rep.out, r"220")
        self.assertRegex(rep.out, r"310")

    def test_open_windows(self):
        rep = self.report(base_events(), "--end", 340000)
        self.assertFigures(rep, BASE_HEAD)
        rep = self.report(base_events(), "--start", 400000)
        self.assertFigures(rep, {"busy": 30, "compute": 30, "total": 30, "idle": 0, "comm": 0})

    def test_window_without_gpu_events(self):
        rep = self.report(base_events(), "--start", 350000, "--end", 390000)
        self.assertExit(rep, 0)
        self.assertRegex(rep.out, "no GPU events in this view")
        # [340,400) is idle; so are all 40 us of the window.
        self.assertFigures(rep, {"compute": 0, "comm": 0, "memcpy": 0, "exposed_comm": 0,
                                 "exposed_memcpy": 0, "busy": 0, "total": 40, "idle": 40})
        self.assertReconciles(rep)

    def test_step(self):
        # Step 5 is [300,500): copy [300,340) and the last kernel [400,430).
        rep = self.report(steps(), "--step", 5, "--by", "time")
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"busy": 70, "compute": 30, "memcpy": 40, "comm": 0})
        both = self.report(steps(), "--step", "4-5", "--by", "time")
        self.assertFigures(both, {"busy": 220, "compute": 130, "memcpy": 50, "comm": 100})
        self.assertReconciles(rep)

    def test_range(self):
        # [180,220): gemm over all of it, the collective from 200.
        rep = self.report(steps(), "--range", "forward pass", "--by", "time")
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"busy": 40, "compute": 40, "comm": 20, "exposed_comm": 0})

    def test_step_by_launch(self):
        """Steps 4 [100,300) and 5 [300,500) on the host: all four calls are before 300."""
        for options in ((), ("--by", "launch")):
            rep = self.report(steps(), "--step", 4, *options)
            self.assertExit(rep, 0)
            self.assertFigures(rep, BASE)
            self.assertReconciles(rep)
            self.assertRegex(rep.out, "view: step 4, by launch\nlaunched in it: 0.220 ms of GPU "
                             r"work, 0.070 ms of it \(31.8 %\) after it ended on the host")
        for wrong in (("--step", 4, "--by", "x"), ("--by", "time")):
            self.assertExit(self.report(steps(), *wrong), 2)

    @unittest.skipUnless(SHARED.is_dir(), "needs the given cases")
    def test_given_steps_of_a_gpu_one_behind(self):
        trace = SHARED / "cases/found/kineto-31c-step-one-behind/trace.json"
        ops = {0: ("aten::mm", 900), 1: ("aten::add", 800), 2: ("aten::mul", 700), 3: ("aten::sum", 600)}
        for step, (name, us) in ops.items():
            rep = self.report(trace, "--step", step)
            self.assertEqual(rep.ops(), {name: (1, us, us)})
            self.assertFigures(rep, {"busy": us, "total": us, "idle": 0})
        rep = self.report(trace, "--step", 1, "--by", "time")
        self.assertEqual(rep.direct("aten::mm"), 900)

    def test_annotations_do_not_change_the_report(self):
        rep = self.report(steps())
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_views_join(self):
        events = [kernel("a", 100, 50, 1, device=0), kernel("b", 120, 50, 2, device=1)]
        rep = self.report(events, "--device=1", "--start=130000")
        self.assertFigures(rep, {"busy": 40, "total": 40})

    def test_linked_only(self):
        rep = self.report(base_events() + [kernel("orphan", 500, 100, 99)], "--linked-only")
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.kernels()["orphan"][0], 1)
        for r in rep.table("kernel_summary"):
            if r["Kernel name"] == "orphan":
                self.assertAlmostEqual(float(r["Percent of total time (%)"]), 100 * 100 / 280)


class Thresholds(Case):
    EVENTS = [kernel("a", 100, 5, 1), kernel("b", 107, "10", 2), kernel("c", 130, 9.999, 3),
              kernel("d", 200, 20, 4), kernel("a", 230, 3, 5)]

    def test_short_kernels(self):
        rep = self.report(self.EVENTS)
        rows = rep.table("short_kernels_summary")
        got = {r["Kernel name"]: (number(r["Short Kernel duration (µs) sum"]),
                                  r["Short Kernel count"]) for r in rows}
        # Below 10 us: 10 is not.
        self.assertEqual(got, {"a": (8, "2"), "c": (Decimal("9.999"), "1")})
        bins = rep.table("short_kernel_histogram")
        self.assertEqual(len(bins), 100)
        self.assertEqual(sum(int(r["count"]) for r in bins), 3)
        self.assertEqual([float(bins[0]["bin_start"]), float(bins[-1]["bin_end"])], [3, 9.999])

    def test_short_kernel_threshold(self):
        rep = self.report(self.EVENTS, "--short-kernel-us", "4")
        self.assertEqual([r["Kernel name"] for r in rep.table("short_kernels_summary")], ["a"])
        rep = self.report(self.EVENTS, "--short-kernel-us=1000")
        self.assertEqual(sum(int(r["Short Kernel count"])
                             for r in rep.table("short_kernels_summary")), 5)

    def test_micro_idle(self):
        # Gaps: [105,107) 2, [117,130) 13, [139.999,200) 60.001, [220,230) 10.
        rep = self.report(self.EVENTS, "--micro-idle-us", "10")
        rows = {r["type"]: number(r["time ms"]) * 1000 for r in rep.table("gpu_timeline")}
        self.assertNotIn("idle_time", rows)
        self.assertEqual(rows["micro_idle_time"], 2)
        self.assertEqual(rows["macro_idle_time"], Decimal("83.001"))
        self.assertEqual(list(rows)[3:7], ["busy_time", "micro_idle_time", "macro_idle_time",
                                           "total_time"])

    def test_order_of_timeline_rows(self):
        rows = [r["type"] for r in self.report(self.EVENTS).table("gpu_timeline")]
        self.assertEqual(rows, ["computation_time", "exposed_comm_time", "exposed_memcpy_time",
                                "busy_time", "idle_time", "total_time", "total_comm_time",
                                "total_memcpy_time"])

    def test_top_ops(self):
        events = []
        for i in range(15):
            events += [op(f"op_{i:02d}", 1000 * i, 100), launch(1000 * i + 10, 5, i + 1),
                       kernel("k", 1000 * i + 200, 10 + i, i + 1)]
        shown = re.findall(r"op_\d\d", self.report(events).out)
        self.assertEqual(shown, [f"op_{i:02d}" for i in range(14, 4, -1)])
        shown = re.findall(r"op_\d\d", self.report(events, "--top-ops", "3").out)
        self.assertEqual(shown, ["op_14", "op_13", "op_12"])

    def test_no_csv(self):
        rep = self.report(self.EVENTS, "--no-csv", xlsx=True)
        self.assertEqual(rep.files(), ["perf_report.xlsx"])
        rep = self.report(self.EVENTS)
        self.assertNotIn("perf_report.xlsx", rep.files())


class Cells(Case):
    """How numbers stand in CSV files."""

    def test_exact_decimals(self):
        rep = self.report([kernel("k", 100, 0.001, 1), kernel("k", 200, 0.002, 2)])
        (row,) = [r for r in rep.table("kernel_summary") if r["Kernel name"] == "k"]
        self.assertEqual([row["Kernel duration (µs)_sum"], row["Kernel duration (µs)_count"],
                          row["Kernel duration (µs)_min"]], ["0.003", "2", "0.001"])
        rows = {r["type"]: r["time ms"] for r in rep.table("gpu_timeline")}
        self.assertEqual(rows["busy_time"], "0.000003")

    def test_absent_values_are_empty(self):
        rep = self.report([kernel(NCCL, 100, 5, 1)])
        for r in rep.table("kernel_summary"):
            self.assertEqual(r["Parent cpu_op"] if "Parent cpu_op" in r else "", "")

    def test_headers_and_line_ends(self):
        rep = self.report(base_events())
        for path in rep.csvs.glob("*.csv"):
            data = path.read_bytes()
            self.assertNotIn(b"\r", data, path.name)
            self.assertTrue(data.endswith(b"\n"), path.name)
            self.assertFalse(data.startswith(b"\xef\xbb\xbf"), path.name)
            rows = list(csv.reader(io.StringIO(data.decode())))
            self.assertEqual(len(set(rows[0])), len(rows[0]), f"{path.name}: {rows[0]}")
            self.assertEqual({len(r) for r in rows}, {len(rows[0])}, path.name)

    def test_quality_row_names_the_place(self):
        text = document(base_events() + [kernel("lost", 0, 0, 9)])
        rep = self.report(text)
        (row,) = [r for r in rep.quality() if r["class"] == "lost"]
        begin = text.index('{"ph": "X", "cat": "kernel", "name": "lost"')
        self.assertTrue(begin - 1 <= int(row["first byte"]) <= begin + 150, str(row))
        self.assertEqual(row["first event"], "12")
        self.assertEqual(row["count"], "1")


class Check(Case):
    def setUp(self):
        super().setUp()
        self.good = self.write(document(base_events()), "good.json")
        self.bad = self.write(document(base_events() + [kernel("lost", 0, 0, 9)]).replace(
            "\n  ]\n", ",\n  ]\n"), "bad.json")

    def test_status(self):
        self.assertExit(trawl("check", self.good), 0)
        self.assertExit(trawl("check", self.bad), 3)
        self.assertExit(trawl("check", "--strict", self.bad), 1)
        self.assertExit(trawl("check", self.tmp / "absent"), 1)

    def test_several_traces(self):
        result = trawl("check", self.good, self.bad)
        self.assertExit(result, 3)
        self.assertRegex(result.out, "bad.json")

    def test_json(self):
        result = trawl("check", self.bad, "--format", "json")
        record = json.loads(result.out)
        self.assertRegex(record["schema"], r"^[a-z.]+/\d+$")
        rows = self.rows(record)
        want = {(r["kind"], r["class"]): int(r["count"])
                for r in self.report(self.bad).quality()}
        self.assertEqual({(r["kind"], r["class"]): r["count"] for r in rows}, want)
        self.assertTrue(all(isinstance(r["count"], int) for r in rows))

    def rows(self, document):
        """Rows of the only table as objects."""
        (table,) = document["tables"]
        ids = [c["id"] for c in table["columns"]]
        return [dict(zip(ids, r)) for r in table["rows"]]

    def test_csv(self):
        result = trawl("check", self.bad, "--format=csv")
        rows = list(csv.DictReader(io.StringIO(result.out)))
        want = [(r["kind"], r["count"]) for r in self.report(self.bad).quality()]
        self.assertEqual([(r["kind"], r["count"]) for r in rows], want)

    def test_markdown(self):
        result = trawl("check", self.bad, "--format=markdown")
        lines = [x for x in result.out.splitlines() if x.startswith("|")]
        self.assertGreaterEqual(len(lines), 3, str(result))
        self.assertRegex(lines[1], r"^\|[-:| ]+\|$")

    def test_writes_nothing(self):
        before = sorted(self.tmp.rglob("*"))
        trawl("check", self.good, cwd=self.tmp)
        self.assertEqual(sorted(self.tmp.rglob("*")), before)

    def test_no_colour_off_a_terminal(self):
        self.assertNotIn("\x1b", trawl("check", self.bad).out)


class Listing(Case):
    """`help --options`, which completions and the manual page are made from."""

    def setUp(self):
        super().setUp()
        result = trawl("help", "--options")
        self.assertExit(result, 0)
        self.rows = [line.split("\t") for line in result.out.splitlines()]

    def test_has_what_help_shows(self):
        self.assertEqual({len(row) for row in self.rows}, {7})
        for command in sorted({row[0] for row in self.rows}):
            shown = re.findall(r"^  (?:-(\w), |    )--([a-z0-9-]+)(?: (\S+))? *  (.*)$",
                               trawl("help", *command.split()).out, re.M)
            listed = [(letter, name, argument, told)
                      for c, _, letter, name, argument, _, told in self.rows if c == command]
            self.assertEqual(listed, [o for o in shown if o[1] != "help"], command)

    def test_words_are_taken_and_no_others(self):
        with_words = [row for row in self.rows if row[5]]
        self.assertIn("align", {row[3] for row in with_words})
        for command, _, _, name, _, words, _ in with_words:
            for word in words.split():
                self.assertExit(trawl(*command.split(), f"--{name}", word, "--help"), 0)
            refused = trawl(*command.split(), f"--{name}", "another")
            self.assertExit(refused, 2)
            *first, last = words.split()
            self.assertIn(f"--{name}: 'another' is not {', '.join(first)} or {last}", refused.err)


if __name__ == "__main__":
    unittest.main()
