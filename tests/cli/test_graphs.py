"""report --capture, --map: made replays with the truth, files that do not help, bounded time."""
import collections
import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from generated import Generated
from support import FULL, Case, load_module, trawl, tracegen

CAPTURES = load_module(pathlib.Path(__file__).resolve().parent.parent / "gen" / "captures.py")
SEEDS = range(1, 9 if FULL else 4)


def ns(text, digits):
    whole, _, part = text.partition(".")
    return int(whole + part.ljust(digits, "0"))


class Graphs(Case):
    def made(self, vendor="amd", seed=1, steps=3):
        path = self.tmp / f"{vendor}{seed}.json"
        subprocess.run([tracegen(), "--kind", "decode", "--vendor", vendor, "--steps", str(steps),
                        "--seed", str(seed), "-o", path], check=True)
        return path, CAPTURES.launches(json.loads(path.read_text())["traceEvents"])

    def capture(self, nodes, how, rows=8, name="capture.json"):
        return self.write(json.dumps(CAPTURES.capture(nodes, how, rows)), name)

    def by(self, rep, column):
        sums = collections.Counter()
        for row in rep.table("graph_nodes"):
            if row[column]:
                sums[row[column]] += ns(row["GPU time (ms)"], 6)
        return sums

    def sources(self, rep):
        return {row["source"] for row in rep.table("graphs")}


class Made(Graphs):
    def check(self, rep, truth):
        self.assertReconciles(rep)
        self.assertEqual(self.by(rep, "operator"), truth["ops_ns"])
        self.assertEqual(self.by(rep, "module"), truth["modules_ns"])
        kernels = collections.Counter()
        for row in rep.table("kernel_summary"):
            if row["via"] == "graph":
                kernels[row["Parent cpu_op"], row["Kernel name"]] += ns(
                    row["Kernel duration (µs)_sum"], 3)
        want = {(op, k): v for op, k, v in truth["kernels_ns"] if op.startswith("made::kernel")}
        self.assertEqual(kernels, want)
        modules = {r["module"]: ns(r["self GPU time (ms)"], 6) for r in rep.table("modules")
                   if r["module"].startswith("Layer_") and " > " in r["module"]}
        self.assertEqual(modules, truth["modules_ns"])

    def test_captures_and_eager_runs_of_made_replays(self):
        for vendor in ("amd", "nvidia"):
            for seed in SEEDS:
                for how in ("named", "warm", "eager"):
                    with self.subTest(vendor=vendor, seed=seed, how=how):
                        path, nodes = self.made(vendor, seed)
                        other = self.capture(nodes[0], how)
                        rep = self.report(path, "--map" if how == "eager" else "--capture", other)
                        self.assertEqual(self.sources(rep),
                                         {"eager run" if how == "eager" else "capture"})
                        self.check(rep, CAPTURES.truth(nodes))
                        self.assertEqual({r["matched (%)"] for r in rep.table("graphs")}, {"100"})

    def test_counts_alone(self):
        path, nodes = self.made("nvidia", 5)
        other = self.capture(nodes[0], "nameless")
        rep = self.report(path, "--capture", other)
        self.assertEqual(self.sources(rep), {"capture by count only"})
        self.assertFalse([r for r in rep.table("ops_summary") if r["name"].startswith("made::")])
        self.assertIn("--accept-count", rep.out)
        rep = self.report(path, "--capture", other, "--accept-count")
        self.assertReconciles(rep)
        self.assertTrue([r for r in rep.table("ops_summary") if r["name"].startswith("made::")])

    def test_a_step_has_its_launch(self):
        path, nodes = self.made("amd", 2)
        rep = self.report(path, "--capture", self.capture(nodes[0], "named"), "--step", "13")
        self.assertReconciles(rep)
        self.assertEqual([r["launches"] for r in rep.table("graphs")], ["1"])
        made = [r for r in rep.table("ops_unique_args") if r["name"].startswith("made::")]
        self.assertEqual({r["via"] for r in made}, {"graph"})

    def test_another_model_is_refused(self):
        path, nodes = self.made("amd", 3)
        other = [dict(n, name="k" + n["name"]) if i % 50 == 0 and n["cat"] == "kernel" else n
                 for i, n in enumerate(nodes[0])]
        rep = self.report(path, "--capture", self.capture(other, "named"))
        self.assertEqual(self.sources(rep), {"kernel names"})
        self.assertIn("refused", rep.table("graphs")[0]["note"])
        self.assertIn("nothing that was given matches", rep.out)

    def test_same_bytes_with_any_number_of_threads(self):
        path, nodes = self.made("amd", 4)
        other = self.capture(nodes[0], "named")
        outputs = []
        for threads in ("1", "4"):
            rep = self.report(path, "--capture", other, "--jobs", threads)
            outputs.append({f.name: f.read_bytes() for f in
                            sorted((rep.dir / "perf_report_csvs").iterdir())})
        self.assertEqual(*outputs)


class Files(Graphs):
    def setUp(self):
        super().setUp()
        self.path, self.nodes = self.made()

    def run_report(self, *options):
        return trawl("report", self.path, "-o", self.tmp / "out", "--no-xlsx", *options)

    def test_no_trace(self):
        result = self.run_report("--capture", self.write("hello", "x.json"))
        self.assertExit(result, 1)
        self.assertOneLine(result, file="x.json")

    def test_no_such_file(self):
        result = self.run_report("--capture", self.tmp / "none.json")
        self.assertExit(result, 1)
        self.assertOneLine(result, file="none.json")

    def test_no_captures(self):
        result = self.run_report("--capture", self.path)
        self.assertExit(result, 1)
        self.assertOneLine(result, "no graph capture", file=self.path.name)

    def test_no_eager_run(self):
        only = [e for e in CAPTURES.capture(self.nodes[0], "nameless") if e["cat"] != "kernel"]
        result = self.run_report("--map", self.write(json.dumps(only), "nothing.json"))
        self.assertExit(result, 1)
        self.assertOneLine(result, "eager run", file="nothing.json")

    def test_directory(self):
        folder = self.tmp / "captures"
        folder.mkdir()
        self.capture(self.nodes[0][:100], "named", name="captures/a.json")
        self.capture(self.nodes[0], "named", name="captures/b.json")
        self.write(json.dumps([e for e in json.loads(self.path.read_text())["traceEvents"]]),
                   "captures/c.json")
        self.write("{}", "captures/d.json")
        rep = self.report(self.path, "--capture", folder)
        self.assertEqual([r["capture"] for r in rep.table("graphs")], ["b.json #0"])

    def test_notice(self):
        result = self.run_report()
        self.assertExit(result, 0)
        self.assertIn("of GPU time runs in GPU graphs, with no operator known", result.out)
        done = json.loads(trawl("report", self.path, "-o", self.tmp / "out", "--no-xlsx",
                                "--format", "json").out)
        self.assertEqual(done["tables"][0]["name"], "graphs")


class Ranks(Generated):
    """Captures of the ranks of a job: each takes its own."""

    def setUp(self):
        super().setUp()
        self.job, self.captures, facts = (self.tmp / name for name in ("job", "captures", "facts"))
        subprocess.run([tracegen(), "--kind", "decode", "--vendor", "amd", "--ranks", "3", "--steps", "2", "--stacks",
                        "--capture", self.captures, "--truth", facts, "-o", self.job], check=True)
        self.truths = [json.loads((facts / f"rank{rank}.json").read_text()) for rank in range(3)]
        # What tells them apart, though they match as well.
        for rank in (1, 2):
            path = self.captures / f"rank{rank}_capture.json"
            path.write_text(path.read_text().replace("DecodeModel_0", f"DecodeModel_{rank}"))

    def models(self, report):
        """How many ranks have each model, and its time."""
        rows = {r["module"]: r for r in report.table("modules")}
        return {m: (int(r["ranks"]), ns(r["GPU time (ms)_total"], 6)) for m, r in rows.items()
                if m.startswith("DecodeModel_") and ">" not in m}

    def times(self, *ranks):
        return sum(self.truths[rank]["graphs"]["sum_ns"] for rank in ranks)

    def lines(self, result, pattern):
        return [line for line in result.err.splitlines() if pattern in line]

    def test_each_rank_takes_its_own(self):
        report = self.report(self.job, "--capture", self.captures)
        self.assertExit(report, 0)
        self.assertEqual(self.models(report), {f"DecodeModel_{r}": (1, self.times(r)) for r in range(3)})
        self.assertEqual(self.lines(report, "captures"), [])

    def test_one_file_is_for_all(self):
        report = self.report(self.job, "--capture", self.captures / "rank1_capture.json")
        self.assertEqual(self.models(report), {"DecodeModel_1": (3, self.times(0, 1, 2))})
        self.assertEqual(self.lines(report, "captures"), [])

    def test_a_rank_without_one_takes_what_matches(self):
        (self.captures / "rank2_capture.json").unlink()
        (self.captures / "rank0_capture.json").unlink()
        report = self.report(self.job, "--capture", self.captures)
        self.assertEqual(self.models(report), {"DecodeModel_1": (3, self.times(0, 1, 2))})
        self.assertEqual([line.rsplit("/", 1)[1] for line in self.lines(report, "captures")],
                         [f"rank{rank}_trace.json: no capture of rank {rank}: its GPU graphs are matched with the "
                          "captures of 1 rank" for rank in (0, 2)])

    def test_captures_without_a_rank_are_for_all(self):
        other = self.tmp / "other"
        other.mkdir()
        one = json.loads((self.captures / "rank1_capture.json").read_text())
        del one["distributedInfo"]
        (other / "capture.json").write_text(json.dumps(one))
        report = self.report(self.job, "--capture", other)
        self.assertEqual(self.models(report), {"DecodeModel_1": (3, self.times(0, 1, 2))})
        self.assertEqual(self.lines(report, "captures"), [])

    def test_a_trace_of_a_rank_takes_its_own_too(self):
        report = self.report(self.job / "rank1_trace.json", "--capture", self.captures)
        self.assertEqual({r["capture"] for r in report.table("graphs")}, {"rank1_capture.json #0"})
        self.assertEqual([r["module"] for r in report.table("modules") if r["depth"] == "1"], ["DecodeModel_1"])
        unknown = self.tmp / "unknown.json"
        trace = json.loads((self.job / "rank1_trace.json").read_text())
        del trace["distributedInfo"]
        unknown.write_text(json.dumps(trace))
        report = self.report(unknown, "--capture", self.captures)
        self.assertEqual([line.rsplit("/", 1)[1] for line in self.lines(report, "captures")],
                         ["unknown.json: rank unknown: its GPU graphs are matched with the captures of 3 ranks"])

    def test_an_eager_run_is_for_all(self):
        nodes = CAPTURES.launches(json.loads((self.job / "rank0_trace.json").read_text())["traceEvents"])
        other = self.write(json.dumps(CAPTURES.capture(nodes[0], "eager")), "eager.json")
        report = self.report(self.job, "--map", other)
        self.assertExit(report, 0)
        made = [r for r in report.table("ops_summary") if r["name"].startswith("made::")]
        self.assertEqual({r["ranks"] for r in made}, {"3"})

    def test_a_directory_without_captures(self):
        result = trawl("report", self.job, "--capture", self.job, "-o", self.tmp / "out", "--no-xlsx")
        self.assertExit(result, 0)
        self.assertEqual(len(self.lines(result, "none of the 1 traces found for --capture has a graph capture")), 3)

    def test_a_file_without_captures(self):
        for command in ("report", "collectives", "analyze"):
            with self.subTest(command):
                result = trawl(command, self.job, "--capture", self.job / "rank0_trace.json", "-o", self.tmp / "out")
                self.assertExit(result, 1)
                self.assertOneLine(result, "no graph capture", file="rank0_trace.json")

    def test_a_broken_capture_of_one_rank(self):
        (self.captures / "rank1_capture.json").write_text('{"traceEvents": [{"ph": "X", "rank": nonsense')
        result = trawl("report", self.job, "--capture", self.captures, "-o", self.tmp / "out", "--no-xlsx")
        self.assertExit(result, 0)
        line, = self.lines(result, "none of the 1 traces found for --capture has a graph capture")
        self.assertIn("rank1_trace.json: ", line)

    def hides(self, command, *options):
        out = self.tmp / f"{command}{len(options)}"
        result = trawl(command, self.job, "-o", out, *options, timeout=120)
        self.assertExit(result, 0)
        return "GPU graphs hide their operators" in result.out

    def test_other_commands_take_them(self):
        for command in ("report", "collectives", "analyze"):
            with self.subTest(command):
                self.assertTrue(self.hides(command))
                self.assertFalse(self.hides(command, "--capture", self.captures))


class Hostile(Graphs):
    """Many captures and launches that are nearly the same, and do not match: bounded work."""

    def write_pair(self, launches, captures, nodes):
        replay, other = [], []
        t = 1000
        for n in range(launches):
            replay.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1,
                           "tid": 1, "ts": t, "dur": 1, "args": {"correlation": n + 1}})
            for k in range(nodes):
                replay.append({"ph": "X", "cat": "kernel", "name": f"k{(k * (n + 3)) % 7}",
                               "pid": 0, "tid": 7, "ts": t + 2 + k, "dur": 1,
                               "args": {"stream": 7, "correlation": n + 1}})
            t += nodes + 10
        t = 1000
        for n in range(captures):
            other.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamBeginCapture",
                          "pid": 1, "tid": 1, "ts": t, "dur": 1})
            for k in range(nodes):
                other.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                              "pid": 1, "tid": 1, "ts": t + 2 + k, "dur": 1,
                              "args": {"correlation": n * nodes + k + 1,
                                       "kernel": f"k{(k * (n + 2)) % 5}"}})
            other.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamEndCapture",
                          "pid": 1, "tid": 1, "ts": t + nodes + 3, "dur": 1})
            t += nodes + 10
        return (self.write(json.dumps(replay), "replay.json"),
                self.write(json.dumps(other), "captures.json"))

    def check(self, *sizes):
        replay, other = self.write_pair(*sizes)
        start = time.monotonic()
        rep = self.report(replay, "--capture", other, timeout=120)
        self.assertReconciles(rep)
        return rep, time.monotonic() - start

    def test_many_of_both(self):
        self.check(1500, 1500, 20)

    def test_long_ones(self):
        self.check(3, 3, 20000)

    def test_begun_and_never_ended(self):
        path, _ = self.made()
        events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamBeginCapture", "pid": 1,
                   "tid": n, "ts": n, "dur": 1} for n in range(20000)]
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                    "tid": 50000 + n, "ts": 30000 + n, "dur": 1} for n in range(20000)]
        rep = self.report(path, "--capture", self.write(json.dumps(events), "begun.json"),
                          timeout=60)
        self.assertReconciles(rep)


if __name__ == "__main__":
    unittest.main()
