"""No output of any command replaces what it reads: wherever it writes there lies, once, a link to
each of its inputs."""
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import FULL, ROOT, SANITIZED, Case, document, trawl
from test_sweep import events
from test_sweep_tools import RANGES, line

REFUSED = r"'.*':? (it )?is one of the (inputs|traces)"
# Every so many of the pairs of an output and an input are tried.
EVERY = 1000 if SANITIZED else 1 if FULL else 5


def files(place):
    return {p: p.stat().st_mtime_ns for p in place.rglob("*") if p.is_file()}


class Inputs(Case):
    def setUp(self):
        super().setUp()
        self.made, self.out = self.tmp / "made", self.tmp / "out"
        self.made.mkdir()

    def below(self, pattern):
        return [str(p.relative_to(self.made)) for p in sorted(self.made.glob(pattern))]

    def untouched(self, pattern, *args, codes=(0,), refused=2):
        """Inputs lie in `made`, where they match the pattern; outputs in `out` or in `made`."""
        inputs, begin = self.below(pattern), self.tmp / "begin"
        self.assertTrue(inputs, pattern)
        shutil.rmtree(begin, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self.made, begin)
        before = files(self.tmp)
        self.assertExit(trawl(*args, cwd=self.tmp), *codes)
        written = sorted(str(p.relative_to(self.tmp)) for p, when in files(self.tmp).items()
                         if before.get(p) != when)
        self.assertTrue(written, args)
        pairs = [(w, i) for w in written for i in inputs if w != f"made/{i}"]
        for output, given in pairs[::EVERY]:
            with self.subTest(args=[str(a) for a in args], output=output, input=given):
                for place in (self.made, self.out):
                    shutil.rmtree(place, ignore_errors=True)
                shutil.copytree(begin, self.made)
                path, source = self.tmp / output, self.made / given
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                path.symlink_to(source)
                done = trawl(*args, cwd=self.tmp)
                self.assertAlive(done)
                self.assertEqual(source.read_bytes(), (begin / given).read_bytes(), str(done))
                self.assertRegex(done.err, REFUSED)
                self.assertExit(done, refused)
        for place in (self.made, self.out):
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(begin, self.made)

    def trace(self, name, us, rank, ranks=2):
        path = self.made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(events(us, rank), distributedInfo={
            "backend": "nccl", "rank": rank, "world_size": ranks}))

    def ranks(self):
        for rank in range(2):
            self.trace(f"rank{rank}.json", 100, rank)

    def sweep(self):
        for threads in (256, 512):
            for rank in range(2):
                self.trace(f"{threads}thread/nccl_28channels/torch_profiler/rank{rank}/trace.json",
                           100 + threads // 64, rank)

    # ---- single traces and ranks

    def test_report(self):
        self.trace("trace.json", 100, 0, 1)
        self.untouched("*.json", "report", "made/trace.json", "-o", "out", "--plots",
                       "--platform", "MI300X")

    def test_report_of_ranks(self):
        self.ranks()
        self.untouched("*.json", "report", "made", "-o", "out")
        self.untouched("*.json", "report", "made", "-o", "out", "--each")
        self.untouched("*.json", "collectives", "made", "-o", "out")
        self.untouched("*.json", "merge", "made", "-o", "out/merged.json")

    def test_merge_as_another_program(self):
        for rank in range(2):
            self.trace(f"rank{rank}/own.json", 100, rank)
        self.untouched("*/own.json", "merge", "made", "-o", "out/merged.json", "--compat",
                       "--trace-name", "own.json")

    def test_analysis(self):
        self.trace("trace.json", 100, 0, 1)
        self.untouched("*.json", "prepare", "made/trace.json", "-o", "out", "--platform", "MI300X")
        self.untouched("*.json", "analyze", "made/trace.json", "-o", "out", "--platform", "MI300X",
                       codes=(0, 3))

    def test_analysis_of_what_is_prepared(self):
        self.trace("trace.json", 100, 0, 1)
        self.assertExit(trawl("prepare", self.made / "trace.json", "-o", self.made, "--platform",
                              "MI300X"), 0)
        self.untouched("category_data/gemm_ops.csv", "category", "gemm", "made")
        self.untouched("category_data/gemm_ops.csv", "replay", "made", "--ops", "aten::mm")

    def test_export(self):
        shutil.copy(ROOT / "examples/sample.sqlite", self.made / "sample.sqlite")
        self.untouched("*", "report", "made/sample.sqlite", "-o", "out", "--device", "0")

    def test_rules_and_platforms(self):
        """Files that options name."""
        self.trace("trace.json", 100, 0, 1)
        (self.made / "own.json").write_text(json.dumps({
            "name": "own", "mem_bw_gbps": 1000, "max_achievable_tflops": {"matrix_bf16": 100}}))
        self.untouched("*.json", "report", "made/trace.json", "-o", "out", "--platform",
                       "made/own.json", "--no-xlsx")

    # ---- two sides

    def test_compare(self):
        self.ranks()
        self.untouched("*.json", "compare", "made/rank0.json", "made/rank1.json", "-o",
                       "out/page.html", "--xlsx", "out/book.xlsx")

    def test_compare_reports(self):
        self.ranks()
        for rank in range(2):
            self.assertExit(trawl("report", self.made / f"rank{rank}.json", "-o",
                                  self.made / f"r{rank}"), 0)
        self.untouched("r*/perf_report.xlsx", "compare", "made/r0/perf_report.xlsx",
                       "made/r1/perf_report.xlsx", "-o", "out/page.html", "--xlsx", "out/book.xlsx")

    # ---- sweeps

    def test_sweep_of_traces(self):
        self.sweep()
        traces = "*thread/**/trace.json"
        self.untouched(traces, "sweep", "report", "made", "-o", "out")
        self.untouched(traces, "sweep", "report", "made")
        self.untouched(traces, "sweep", "merge", "made", "-o", "out")
        self.untouched(traces, "sweep", "all", "made", "-o", "out", "--no-plots")

    def test_stages_of_a_sweep(self):
        """Each reads what the one before has written."""
        self.sweep()
        self.assertExit(trawl("sweep", "report", self.made), 0)
        self.untouched("tracelens_analysis/*/individual_reports/*.xlsx", "sweep", "variance", "made",
                       "-o", "out")
        self.untouched("tracelens_analysis/*/*/*.xlsx", "sweep", "aggregate", "made", "-o", "out")
        self.assertExit(trawl("sweep", "variance", self.made), 0)
        table = "tracelens_analysis/top5_gemm_kernels_time_variance.csv"
        self.untouched(table, "sweep", "timestamps", "made")
        self.untouched("*thread/**/trace.json", "sweep", "timestamps", "made")
        self.assertExit(trawl("sweep", "timestamps", self.made), 0)
        self.untouched("tracelens_analysis/*timestamps.csv", "sweep", "overlap", "made")
        self.untouched("*thread/**/trace.json", "sweep", "overlap", "made")
        self.untouched(table, "sweep", "plots", "made", "-o", "out", refused=3)

    def test_table_that_a_stage_goes_on_from(self):
        self.sweep()
        for stage in ("report", "variance", "timestamps"):
            self.assertExit(trawl("sweep", stage, self.made), 0)
        base = "made/tracelens_analysis/top5_gemm_kernels_time_variance"
        for stage, table in (("timestamps", f"{base}.csv"), ("overlap", f"{base}_with_timestamps.csv")):
            before = (self.tmp / table).read_bytes()
            done = trawl("sweep", stage, "made", "--input-csv", table, "--output-csv", table,
                         cwd=self.tmp)
            self.assertExit(done, 2)
            self.assertRegex(done.err, REFUSED)
            self.assertEqual((self.tmp / table).read_bytes(), before)

    def test_trainer_s_own_files(self):
        (self.made / "rank_00_metrics.jsonl").write_text(line(5, *RANGES))
        self.untouched("*.jsonl", "sweep", "timeline", "made", "-o", "out/picture.png")
        for number in range(2):
            (self.made / f"trial_{number}").mkdir()
            (self.made / f"trial_{number}/trial_metrics.json").write_text(
                json.dumps({"overlap_ratio": 0.5 + number / 10}))
            (self.made / f"trial_{number}/config.yaml").write_text("")
        self.untouched("trial_*/*.json", "sweep", "trials", "made")

    def test_configuration_of_the_trainer(self):
        """A log of an earlier run is put aside, whatever it is a link to."""
        config = self.made / "own.yaml"
        config.write_text("steps: 1\n")
        run = self.made / "256thread/nccl_28channels"
        run.mkdir(parents=True)
        for name in ("run_output.log", "run_status.json"):
            (run / name).symlink_to(config)
        done = trawl("sweep", "run", "made", "-c", "28", "-t", "256", "-q", "-n", "-f", config,
                     "--", "true", cwd=self.tmp)
        self.assertAlive(done)
        self.assertEqual(config.read_text(), "steps: 1\n", str(done))


if __name__ == "__main__":
    unittest.main()
