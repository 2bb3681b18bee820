"""What changed in the causes: runs with a fault against the same without it, whose gain is known by the
simulation (tests/gen/runs.py), and findings written by hand."""
import csv
import json
import pathlib
import shutil
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "gen")]
import runs
from made import record
from made.job import Job
from made.truth import times
from made_runs import US, steps
from page import Page
from support import FULL, Case, read_csv, trawl

# One of each sort: of a host, of the GPU, over ranks; in the long run every run with one fault.
PAIRS = ["item_in_layers", "loading_exposed", "slow_gemm", "straggler_two_ranks", "hip_allocations_in_layers",
         "decode_one_by_one"]
# Idle time that a fault makes.
IDLE = {"item_in_layers": "synchronization", "decode_one_by_one": "launching",
        "loading_exposed": "data loading", "hip_allocations_in_layers": "allocation"}


class Comparison(Case):
    def made(self, name, with_faults, place):
        """A side: a trace, or a directory of ranks; the time of its step."""
        s = runs.SCENARIOS[name]
        job = Job(s, {**(s.faults if with_faults else {}), **s.hidden})
        place = self.tmp / place
        place.mkdir()
        record.write(job, place)
        step, window = times(job)
        return place if s.ranks > 1 else place / "trace.json.gz", \
            window / s.steps if s.measure == "window" else step

    def tables(self, *sides, codes=(0,), more=()):
        self.page = self.tmp / "page.html"
        result = trawl("compare", *sides, *more, "-o", self.page, "--format", "json", timeout=120)
        self.assertExit(result, *codes)
        return {t["name"]: [dict(zip([c["header"] for c in t["columns"]], r)) for r in t["rows"]]
                for t in json.loads(result.out)["tables"]}

    def answer(self, *sides):
        """The answer; pages have it too."""
        result = trawl("compare", *sides, "-o", self.tmp / "answer.html", "-q", timeout=120)
        self.assertExit(result, 0)
        return " ".join(result.out.split("\n\ntimeline")[0].split())


class Causes(Comparison):
    def check_pair(self, name):
        s = runs.SCENARIOS[name]
        (kind,) = s.kinds.values()
        (before, short), (after, long) = self.made(name, False, "before"), self.made(name, True, "after")
        tables = self.tables(before, after)
        rows = tables["finding_changes"]
        # Of a straggler there is a row by rank; some faults are there in both, one of them small.
        row = max((r for r in rows if r["kind"] == kind), key=lambda r: r["difference ms"])
        was = row["baseline ms"]
        small = "" if row["difference ms"] >= 0.01 * long else ", below 1 % of a step"
        self.assertEqual(row["verdict"], "same" if small else "worse")
        self.assertEqual(row["why"], ("larger gain" if was else "new in the test") + small)
        # The finding's gain is that of a step of the window, which has the first step too.
        gain = long - short
        self.assertAlmostEqual(row["difference ms"], gain, delta=max(0.25 * gain, 0.01 * long))
        self.assertAlmostEqual(row["difference ms"], row["test ms"] - (was or 0), places=6)
        self.assertLessEqual({r["kind"] for r in rows if r["verdict"] == "worse"}, {kind, *s.also_ok})
        # What it is shown by says the same.
        found = [r["gain_ms"] for r in tables["findings"] if r["side"] == "after" and r["kind"] == kind]
        self.assertIn(row["test ms"], found)
        shown = Page(self.page.read_text()).rows("Causes")
        self.assertIn(row["test ms"], [float(r["test ms"] or 0) for r in shown if r.get("title") == row["title"]])
        text = self.answer(before, after)
        if not small:
            self.assertIn(f'{"larger" if was else "new"} "{row["title"]}"', text)
            self.assertIn(f"{row['test ms']:.3f} ms)", text)
        # The other way round it is gone.
        back = min((r for r in self.tables(after, before)["finding_changes"] if r["kind"] == kind),
                   key=lambda r: r["difference ms"])
        self.assertEqual((back["test ms"], back["verdict"], back["why"]),
                         (was, "same" if small else "better",
                          ("smaller gain" if was else "gone in the test") + small))
        # Against itself nothing changed.
        same = self.tables(after, after)
        self.assertEqual({(r["verdict"], r["difference ms"]) for r in same["finding_changes"]}, {("same", 0)})
        self.assertIn("Causes: no finding appeared, went or changed by 1 % of a step.",
                      self.answer(after, after))

    def test_a_cause_that_appeared(self):
        names = [n for n, s in runs.SCENARIOS.items() if len(s.faults) == 1] if FULL else PAIRS
        for name in names:
            with self.subTest(run=name):
                try:
                    self.check_pair(name)
                finally:
                    for side in ("before", "after"):
                        shutil.rmtree(self.tmp / side)

    def test_idle_time_by_cause_adds_up(self):
        for name, cause in IDLE.items():
            with self.subTest(run=name):
                (a, _), (b, _) = (self.made(name, k, f"{name}{k}") for k in (False, True))
                tables = self.tables(a, b)
                rows = tables["difference_split"]
                idle = [r for r in rows if r["part"] == "idle"]
                most = max(idle, key=lambda r: r["difference ms"])
                self.assertEqual(most["cause"], cause)
                self.assertGreater(most["difference ms"],
                                   0.9 * sum(r["difference ms"] for r in idle))
                part = {r["type"]: r for r in tables["timeline_changes"]}
                for column in ("baseline ms", "test ms"):
                    ns = [round(r[column] * 1e6) for r in rows]
                    self.assertEqual(sum(ns[:-1]), ns[-1])
                    self.assertEqual(ns[-1], round(part["total_time"][column] * 1e6))
                    self.assertEqual(sum(round(r[column] * 1e6) for r in idle),
                                     round(part["idle_time"][column] * 1e6))
                self.assertIn(f" ({cause} +", self.answer(a, b))

    def test_several_sides(self):
        """Each against the first; the findings of all in one table."""
        first, second, third = (self.made(n, f, p)[0] for n, f, p in (
            ("item_in_layers", False, "plain"), ("item_in_layers", True, "reads"),
            ("straggler_two_ranks", True, "late")))
        labels = [x for n in ("plain", "reads", "late") for x in ("--label", n)]
        tables = self.tables(first, second, third, more=labels)
        changed = {(r["test"], r["kind"]) for r in tables["finding_changes"] if r["verdict"] == "worse"}
        self.assertEqual(changed, {("reads", "host_sync"), ("late", "straggler_compute")})
        findings = tables["findings"]
        self.assertEqual([r["side"] for r in findings if r["gain_ms"]], ["reads", "late"])
        page = Page(self.page.read_text())
        rows = page.rows("Findings of Each Side")
        self.assertEqual([(r["side"], float(r["gain_ms (ms)" if "gain_ms (ms)" in r else "gain_ms"]))
                          for r in rows if r.get("title") in {f["title"] for f in findings if f["gain_ms"]}],
                         [(f["side"], f["gain_ms"]) for f in findings if f["gain_ms"]])

    # ---- where findings come from

    def test_reports_and_traces_say_the_same(self):
        (before, _), (after, _) = (self.made("straggler_two_ranks", k, f"job{k}") for k in (False, True))
        reports = []
        for k, job in enumerate((before, after)):
            reports.append(self.tmp / f"report{k}")
            self.assertExit(trawl("report", job, "-o", reports[k], timeout=120), 0)
            done = trawl("analyze", job, "-o", self.tmp / f"analysis{k}", "--no-plots", "--no-replay",
                         timeout=120)
            self.assertExit(done, 0)
        rows = self.tables(before, after)
        self.assertEqual(self.tables(*reports)["finding_changes"], rows["finding_changes"])
        want = [{k: v or None for k, v in r.items()} for k in range(2)
                for r in read_csv(self.tmp / f"analysis{k}/findings.csv")]
        got = [{k: None if v is None else str(v) for k, v in r.items() if k not in ("side", "configuration")}
               for r in rows["findings"]]
        self.assertEqual([(r["kind"], r["where"], r["evidence"]) for r in got],
                         [(r["kind"], r["where"], r["evidence"]) for r in want])
        self.assertEqual([float(r["gain_ms"] or -1) for r in got], [float(r["gain_ms"] or -1) for r in want])

    def test_not_known(self):
        """A part of a run, and a report without the table."""
        def body(r):
            r.run("aten::relu", 100 * US)
        trace = self.write(steps(body).document(), "trace.json")
        self.assertIn("Causes: no finding appeared", self.answer(trace, trace))
        result = trawl("compare", trace, trace, "--step", "2", "-o", self.tmp / "p.html", "-q",
                       "--label", "a", "--label", "b")
        self.assertIn("Causes are not compared: a and b have no findings.", " ".join(result.out.split()))
        self.assertExit(trawl("report", trace, "-o", self.tmp / "plain"), 0)
        text = self.answer(trace, self.tmp / "plain")
        self.assertIn("Causes are not compared: plain has no findings.", text)
        rows = self.tables(trace, self.tmp / "plain")
        self.assertEqual(rows["finding_changes"], [])
        self.assertEqual({r["side"] for r in rows["findings"]}, {"trace.json"})
        # Of idle time no cause is known on both sides.
        self.assertEqual({r["cause"] for r in rows["difference_split"]}, {None})


class ByHand(Comparison):
    """Findings as a report has them."""

    def side(self, name, *findings):
        place = self.tmp / name
        place.mkdir()
        with open(place / "gpu_timeline.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([["type", "time ms", "percent"], ["total_time", 100, 100]])
        header = ["n", "kind", "title", "gain_ms", "gain_percent", "where", "rank"]
        with open(place / "findings.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([header, *([i + 1, kind, f"title of {kind}", *more]
                                               for i, (kind, *more) in enumerate(findings))])
        return place

    def changes(self, before, after):
        self.n = getattr(self, "n", 0) + 1
        a, b = self.side(f"a{self.n}", *before), self.side(f"b{self.n}", *after)
        return [(r["kind"], r["baseline ms"], r["test ms"], r["verdict"], r["why"])
                for r in self.tables(a, b)["finding_changes"]]

    def test_one_percent_of_a_step(self):  # EDGE_OF(TW_LIMIT_FINDING_TOLD_PERCENT)
        # A gain of 10 ms is 50 % of a step of 20 ms: 1 % of it is 0.2 ms.
        before = [("host_sync", 10, 50, "aten::item", "")]
        for ms, verdict, why in ((10.199, "same", "larger gain, below 1 % of a step"),
                                 (10.201, "worse", "larger gain"), (10, "same", "no difference"),
                                 (9.801, "same", "smaller gain, below 1 % of a step"),
                                 (9.799, "better", "smaller gain")):
            after = [("host_sync", ms, 50, "aten::item", "")]
            self.assertEqual(self.changes(before, after), [("host_sync", 10, ms, verdict, why)])
        # On one side only: of its own step.
        for ms, percent, verdict in ((0.199, 0.99, "same"), (0.201, 1.01, "worse")):
            rows = self.changes([], [("host_sync", ms, percent, "aten::item", "")])
            self.assertEqual([r[3] for r in rows], [verdict])
            self.assertIn("new in the test", rows[0][4])

    def test_the_same_place(self):
        """Lines, shapes and tiles change with a program; the operator and the function are its place."""
        def alike(one, other, ranks=("", ""), kind="host_sync"):
            return len(self.changes([(kind, 10, 50, one, ranks[0])], [(kind, 10, 50, other, ranks[1])])) == 1
        self.assertTrue(alike("aten::item; a.py(3): f", "aten::nonzero; a.py(17): f"))
        self.assertTrue(alike("aten::mm (8, 4) x (4, 2)", "aten::mm (16, 4) x (4, 32)"))
        self.assertTrue(alike("gemm_128x64_tn", "x; gemm_256x128_tn"))
        self.assertTrue(alike("aten::item", "") and alike("", ""))
        self.assertFalse(alike("aten::item; a.py(3): f", "aten::nonzero; a.py(3): g"))
        self.assertFalse(alike("aten::mm", "aten::mm_out"))
        # A step, and a rank, is no place: two pauses elsewhere are two causes.
        self.assertFalse(alike("step 3; a.py(1): f", "step 3; a.py(1): g"))
        self.assertTrue(alike("step 3; a.py(1): f", "step 4; a.py(9): f"))
        # The whole run is launch-bound, wherever most of it is.
        self.assertTrue(alike("aten::mm", "aten::add", kind="launch_bound"))
        self.assertFalse(alike("aten::mm", "aten::add", kind="low_efficiency_gemm"))
        # Of ranks the rank counts.
        self.assertTrue(alike("rank 1; gemm", "rank 1; other", ("1", "1")))
        self.assertTrue(alike("gemm", "gemm", ("1, 3", "3")))
        self.assertFalse(alike("rank 1; gemm", "rank 2; gemm", ("1", "2")))
        self.assertFalse(alike("gemm", "gemm", ("1", "11")))
        self.assertTrue(alike("gemm", "gemm", ("", "2")))

    def test_order_and_numbers(self):
        before = [("host_sync", 10, 50, "a", ""), ("allocator_calls", 3, 15, "b", ""),
                  ("queued_gap", 1, 5, "c", ""), ("nothing_found", "", "", "", "")]
        after = [("host_sync", 4, 20, "a", ""), ("queued_gap", 1, 5, "c", ""),
                 ("fusible_chain", 0.5, 2.5, "d", ""), ("clock_skew", "", "", "", "")]
        self.assertEqual(self.changes(before, after), [
            ("host_sync", 10, 4, "better", "smaller gain"),
            ("allocator_calls", 3, None, "better", "gone in the test"),
            ("fusible_chain", None, 0.5, "worse", "new in the test"),
            ("queued_gap", 1, 1, "same", "no difference")])
        self.assertIn('Causes: smaller "title of host_sync" at a (gain 10.000 ms -> 4.000 ms); gone "title of '
                      'allocator_calls" at b (gain was 3.000 ms); new "title of fusible_chain" at d (gain '
                      "0.500 ms).", self.answer(self.tmp / "a1", self.tmp / "b1"))

    def test_damaged_tables(self):
        good = self.side("good", ("host_sync", 10, 50, "a", ""))
        for k, text in enumerate(("", "kind,gain_ms\n", "x\n1\n", "kind,gain_ms,where,rank\n7,much,;;,\",,-1\"\n",
                                  "kind,gain_ms\nhost_sync,1e308\nhost_sync,-1e308\nhost_sync,nan\n")):
            bad = self.side(f"bad{k}")
            (bad / "findings.csv").write_text(text)
            for pair in ((good, bad), (bad, good), (bad, bad)):
                done = trawl("compare", *pair, "-o", self.tmp / "p.html", "--xlsx", self.tmp / "w.xlsx")
                self.assertAlive(done)
                self.assertExit(done, 0, 3)


if __name__ == "__main__":
    unittest.main()
