"""Steps and phases against an independent program and its results on recorded traces, to the nanosecond; odd
steps; made cases, whose truth was written with them; what names of annotations say.

TRAWL_SHARED/refs/steps has the results, refs/tools the program.
"""
import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import FULL, SHARED, Case, read_csv, tracegen, trawl

REFS = SHARED / "refs/steps"
ORACLE = SHARED / "refs/tools/steps_oracle.py"

# Columns of the reference and of the table, with the digits of a nanosecond in it.
BY_TIME = {
    "start_ns": ("host start (µs)", 3), "wall_ns": ("wall (ms)", 6), "busy_ns": ("busy by time (ms)", 6),
    "computing_ns": ("computing by time (ms)", 6), "idle_ns": ("idle by time (ms)", 6),
    "exposed_comm_ns": ("exposed communication by time (ms)", 6), "host_busy_ns": ("host (ms)", 6),
    "exposed_copy_ns": ("exposed copies by time (ms)", 6), "sync_ns": ("waiting (ms)", 6),
    "comm_ns": ("communication by time (ms)", 6),
}
BY_LAUNCH = {
    "gpu_events": ("GPU events", 0), "launching_calls": ("launches", 0), "span_ns": ("span (ms)", 6),
    "first_start_ns": ("first start (µs)", 3), "busy_ns": ("busy (ms)", 6), "comm_ns": ("communication (ms)", 6),
    "computing_ns": ("computing (ms)", 6), "exposed_comm_ns": ("exposed communication (ms)", 6),
    "exposed_copy_ns": ("exposed copies (ms)", 6), "gpu_sum_ns": ("GPU time (ms)", 6),
    "first_start_after_step_start_ns": ("start after host (ms)", 6),
    "last_end_after_step_end_ns": ("end after host (ms)", 6),
    "gpu_sum_started_after_end_ns": ("started after end (ms)", 6),
}
SERVED = {"phase": "phase", "family": "family", "prefill_requests": "prefill requests", "tokens": "tokens",
          "decode_requests": "decode requests", "prefill_tokens": "prefill tokens", "decode_tokens": "decode tokens"}


def whole(cell, digits):
    """A cell in whole nanoseconds, or events."""
    value = Decimal(cell) * 10 ** digits
    assert value == int(value), cell
    return int(value)


def traces():
    """Name of the reference: trace."""
    found = {}
    for line in (SHARED / "refs/origins.tsv").read_text(encoding="utf-8").splitlines():
        name, trace, *_ = line.split("\t")
        if name.startswith("steps/"):
            pattern = trace.removeprefix("shared/").replace("(.gz)", "*")
            found[name.removeprefix("steps/")] = sorted(SHARED.glob(pattern))[0]
    return found


def numbered(rows, name):
    """Rows by name, and which of that name: names of annotations come again."""
    seen, out = collections.Counter(), {}
    for row in rows:
        out[row[name], seen[row[name]]] = row
        seen[row[name]] += 1
    return out


def farthest(values):
    """The index of the value that stands out, None: none does."""
    if len(values) < 4:
        return None
    median = statistics.median(values)
    deviations = [abs(v - median) for v in values]
    far = max(deviations)
    stands_out = far > 3 * 1.4826 * statistics.median(deviations) and far > 0.05 * median
    return deviations.index(far) if stands_out else None


class Steps(Case):
    @classmethod
    def setUpClass(cls):
        if not ORACLE.exists():
            raise unittest.SkipTest("given material absent: refs/steps (TRAWL_SHARED)")

    def tables(self, trace):
        self.count = getattr(self, "count", 0) + 1
        out = self.tmp / f"out{self.count}"
        result = trawl("report", trace, "-o", out, "--no-xlsx", "-q", timeout=300)
        self.assertExit(result, 0, 3)
        return out / "perf_report_csvs"

    def check_rows(self, rows, expected, columns):
        """Each row of the reference; what is all zero has no row, or no number where nothing is known."""
        count = 0
        for key, want in numbered(expected, "step").items():
            row = rows.get(key)
            for theirs, (ours, digits) in columns.items():
                if not want.get(theirs):
                    continue
                if row is None or (row[ours] == "" and int(want[theirs]) == 0):
                    self.assertEqual(int(want[theirs]), 0, (want["step"], theirs))
                    continue
                self.assertEqual(whole(row[ours], digits), int(want[theirs]), (want["step"], theirs))
                count += 1
        return count

    def check(self, refs, trace):
        csvs = self.tables(trace)
        count = 0
        for kind, table in (("steps", "steps"), ("serving", "phases")):
            if not (refs / f"{kind}_window.csv").exists():
                self.assertFalse((csvs / f"{table}.csv").exists(), table)
                continue
            rows = numbered(read_csv(csvs / f"{table}.csv"), "name")
            count += self.check_rows(rows, read_csv(refs / f"{kind}_window.csv"), BY_TIME)
            count += self.check_rows(rows, read_csv(refs / f"{kind}_launch.csv"), BY_LAUNCH)
        if (refs / "phases.csv").exists():
            rows = numbered(read_csv(csvs / "phases.csv"), "name")
            for key, want in numbered(read_csv(refs / "phases.csv"), "annotation").items():
                row = rows[key]
                self.assertEqual({k: row[v] for k, v in SERVED.items()}, {k: want[k] for k in SERVED})
                if want["tokens_per_s_of_launched_busy"]:
                    self.assertAlmostEqual(float(row["tokens/busy s"]), float(want["tokens_per_s_of_launched_busy"]), 3)
        self.check_odd(csvs, refs)
        for row in read_csv(csvs / "reconciliation.csv") if (csvs / "reconciliation.csv").exists() else ():
            if row["quantity"].startswith("step_difference"):
                self.assertEqual(row["time ns"], "0", row)
        return count

    def check_odd(self, csvs, refs):
        """By busy time of what was launched; by wall time, which of the last step ends early, without it."""
        if not (refs / "steps_window.csv").exists():
            return
        rows = [row for row in read_csv(csvs / "steps.csv") if row["step"]]
        busy = [int(row["busy_ns"]) for row in read_csv(refs / "steps_launch.csv")][:len(rows)]
        wall = [int(row["wall_ns"]) for row in read_csv(refs / "steps_window.csv")[:len(rows) - 1]]
        odd = {farthest(busy), farthest(wall)} - {None}
        self.assertEqual({i for i, row in enumerate(rows) if row["odd"]}, odd)
        summary = json.loads((refs / "summary.json").read_text())
        expected = next((i for i, row in enumerate(rows) if row["name"] == summary["odd_by_busy_launched"]), None)
        self.assertEqual(farthest(busy), expected)

    def test_recorded_traces(self):
        """More than 800 cells."""
        found = traces()
        names = sorted(found) if FULL else sorted(n for n in found if "worker" not in n or n.endswith("1"))
        self.assertGreater(sum(self.check(REFS / name, found[name]) for name in names), 500)

    def against_the_program(self, trace):
        refs = self.tmp / f"refs{getattr(self, 'count', 0)}"
        done = subprocess.run([sys.executable, ORACLE, trace, refs], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.check(refs, trace)

    def test_generated_traces(self):
        """Training, inference, graphs, and steps that run long after their launches."""
        for options in (("--kind", "train", "--steps", "6"), ("--kind", "infer", "--steps", "3"),
                        ("--kind", "decode", "--steps", "5", "--vendor", "amd"), ("--kind", "compile", "--steps", "2")):
            trace = self.tmp / "trace.json"
            subprocess.run([tracegen(), *options, "-o", trace], check=True)
            self.assertGreater(self.against_the_program(trace), 20)

    def test_traces_without_kept_results(self):
        for name in ("mi300_timesformer", "h100_bert", "mi300_bert") if FULL else ("h100_bert",):
            self.assertGreater(self.against_the_program(SHARED / "traces" / name / "trace.json.gz"), 20)

    def test_made_run_ahead(self):
        truth = json.loads((REFS / "t01-run-ahead/truth.json").read_text())
        rows = read_csv(self.tables(REFS / "t01-run-ahead/trace.json") / "steps.csv")
        steps = [row for row in rows if row["step"]]
        for column, key in (("busy by time (ms)", "window_busy_us"), ("busy (ms)", "launch_busy_us"),
                            ("span (ms)", "launch_span_us"), ("GPU events", "launches"), ("wall (ms)", "wall_us")):
            scale = 1 if column == "GPU events" else 1000
            self.assertEqual([Decimal(row[column]) * scale for row in steps], truth[key], column)
        outside = next(row for row in rows if row["name"] == "(outside)")
        self.assertEqual(Decimal(outside["busy by time (ms)"]) * 1000, truth["outside_busy_us"])

    def test_made_edges(self):
        truth = json.loads((REFS / "t02-edges-and-comm/truth.json").read_text())
        csvs = self.tables(REFS / "t02-edges-and-comm/trace.json")
        steps = [row for row in read_csv(csvs / "steps.csv") if row["step"]]
        for of, suffix in (("window", " by time (ms)"), ("launch", " (ms)")):
            for key, values in truth[of].items():
                name = {"exposed_comm_us": "exposed communication"}.get(key, key.removesuffix("_us"))
                column = f"{name} (ms)" if name in ("wall", "span") else name + suffix
                self.assertEqual([Decimal(row[column]) * 1000 for row in steps], values, (of, key))

    def test_made_nested_annotations(self):
        truth = json.loads((REFS / "t03-nested-annotations/truth.json").read_text())
        csvs = self.tables(REFS / "t03-nested-annotations/trace.json")
        rows = [row for row in read_csv(csvs / "phases.csv") if row["phase"]]
        self.assertEqual(len(rows), len(truth["steps"]))
        for row, want in zip(rows, truth["steps"]):
            self.assertTrue(row["name"].startswith(want["name"].removesuffix("...")), row["name"])
            self.assertEqual(int(row["tokens"]), want["tokens"])
            self.assertEqual(Decimal(row["busy (ms)"]) * 1000, want["launch_busy_us"])
            self.assertEqual(Decimal(row["busy by time (ms)"]) * 1000, want["window_busy_us"])
        self.assertEqual(sum(int(row["tokens"]) for row in read_csv(csvs / "phases_summary.csv")), truth["tokens"])

    def test_what_names_say(self):
        """Each as the only annotation of a trace of one kernel."""
        names = list(csv.DictReader(open(REFS / "annotation_strings.tsv", encoding="utf-8"), delimiter="\t"))
        events = []
        for i, name in enumerate(names):
            at = 1000 * i
            events += [
                {"ph": "X", "cat": "user_annotation", "name": name["annotation"], "pid": 1, "tid": 1, "ts": at,
                 "dur": 900},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5,
                 "dur": 5, "args": {"correlation": i + 1}},
                {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": at + 20, "dur": 10,
                 "args": {"correlation": i + 1, "device": 0, "stream": 7}}]
        trace = self.tmp / "trace.json"
        trace.write_text(json.dumps({"traceEvents": events}))
        rows = {row["name"]: row for row in read_csv(self.tables(trace) / "phases.csv")}
        for name in names:
            row = rows.get(name["annotation"])
            self.assertEqual(row is not None, bool(name["family"]), name["annotation"])
            for theirs, ours in SERVED.items():
                if row and theirs != "tokens":
                    self.assertEqual(row[ours], name[theirs], (name["annotation"], ours))


if __name__ == "__main__":
    unittest.main()
