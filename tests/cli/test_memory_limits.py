"""Memory that runs out: exit status 1, "out of memory" in one line, nothing half-written, whatever
the limit. Where a run ends well, its files are those of a run without a limit.
"""
import hashlib
import pathlib
import resource
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SANITIZED, TRAWL, Case, base_events, document, kernel, launch, op, trawl

MB = 1 << 20


def events(count):
    """Operations of many shapes, so that tables and workbook are larger than the program."""
    out = []
    for i in range(count):
        at = 1000 + 40 * i
        out += [op("aten::mm", at, 12, **{"External id": i + 1,
                                          "Input Dims": [[64 + i, 32], [32, 16]],
                                          "Input type": ["float", "float"],
                                          "Concrete Inputs": ["", ""]}),
                launch(at + 2, 4, i + 1, **{"External id": i + 1}),
                kernel(f"gemm_{i}_{'x' * 60}", at + 15, 20, i + 1)]
    return out


@unittest.skipIf(SANITIZED, "instrumented programs need address space of their own")
class Limits(Case):
    COUNT = 400

    def setUp(self):
        super().setUp()
        self.trace = self.write(document(events(self.COUNT)))
        self.out = self.tmp / "out"

    def run_in(self, limit, *args):
        """Under a limit of the address space in bytes; what it wrote as digests."""
        shutil.rmtree(self.out, True)
        self.out.mkdir()

        def confine():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        done = trawl(*args, timeout=120, preexec_fn=confine)
        return done, {str(p.relative_to(self.out)): hashlib.sha256(p.read_bytes()).hexdigest()
                      for p in self.out.rglob("*") if p.is_file()}

    def check(self, *args, steps=14):
        """From what is too little to start, to what is enough."""
        good, files = self.run_in(None, *args)
        self.assertAlive(good)
        self.assertTrue(files, str(good))
        # Below, the system kills what it cannot load.
        least = 4 * MB + TRAWL.stat().st_size
        low, high, failures = least, 400 * MB, 0
        while high - low > MB:
            middle = (low + high) // 2
            done, written = self.run_in(middle, *args)
            failures += self.verify(middle, done, written, good, files)
            low, high = (low, middle) if done.rc == good.rc else (middle, high)
        for limit in range(max(least, high - 20 * MB), high + 4 * MB, 24 * MB // steps):
            done, written = self.run_in(limit, *args)
            failures += self.verify(limit, done, written, good, files)
        self.assertGreater(failures, 1, "no limit was too low")

    def verify(self, limit, done, written, good, files):
        """1 where memory was out, as it should be."""
        with self.subTest(done.args[1], limit=limit // 1024):
            if done.rc == 127 or done.rc == good.rc and written == files:
                return 0  # the system could not start it; or enough
            self.assertEqual(done.rc, 1, str(done))
            self.assertRegex(done.err, "out of memory|[Cc]annot allocate memory", str(done))
            self.assertEqual([f for f in written if "trawl-" in f], [], str(done))
            self.assertEqual([f for f in written if f in files and written[f] != files[f]
                              and not f.endswith((".md", ".html"))], [], str(done))
        return 1

    def test_report(self):
        self.check("report", self.trace, "-o", self.out, "-q")

    def test_least(self):
        """There is a message however little is left for it where the program can just start."""
        low, high = 4 * MB, 400 * MB
        while high - low > 4096:
            middle = (low + high) // 2
            done, _ = self.run_in(middle, "--version")
            low, high = (low, middle) if done.rc == 0 else (middle, high)
        for limit in range(high, high + MB, 8192):
            done, written = self.run_in(limit, "report", self.trace, "-o", self.out, "-q")
            if done.rc != 127:
                self.assertEqual((done.rc, written), (1, {}), str(done))
                self.assertRegex(done.err, "out of memory", str(done))

    def test_analyze(self):
        self.check("analyze", self.trace, "-o", self.out, "-q", "--platform", "MI300X")

    def test_analyze_without_a_workbook(self):
        self.check("analyze", self.trace, "-o", self.out, "-q", "--platform", "MI300X",
                   "--no-xlsx", steps=8)

    def test_compare(self):
        for side in "ab":
            self.assertExit(trawl("report", self.trace, "-o", self.tmp / side, "-q"), 0)
        self.check("compare", self.tmp / "a/perf_report.xlsx", self.tmp / "b", "-q", "-o",
                   self.out / "page.html", "--xlsx", self.out / "book.xlsx")

    def test_ranks(self):
        ranks = self.tmp / "ranks"
        ranks.mkdir()
        for rank in range(2):
            (ranks / f"rank{rank}.json").write_text(document(
                events(100) + base_events(), distributedInfo={"rank": rank, "world_size": 2}))
        self.check("report", ranks, "-o", self.out, "-q", "-j2", steps=8)
        self.check("collectives", ranks, "-o", self.out, "-q", "-j2", steps=8)
        self.check("merge", ranks, "-o", self.out / "merged.json.gz", "-q", "-j2", steps=8)

    def test_sweep(self):
        place = self.tmp / "sweep"
        for channels in (28, 56):
            for rank in range(2):
                directory = place / f"256thread/nccl_{channels}channels/torch_profiler/rank{rank}"
                directory.mkdir(parents=True)
                (directory / "trace.json").write_text(document(
                    events(60) + base_events(), distributedInfo={"rank": rank, "world_size": 2}))
        self.check("sweep", "report", place, "-o", self.out, "-q", "-j2", steps=8)


class Options(Case):
    def test_no_workbook(self):
        """One option, the same in every command that writes one, and said in the notes."""
        trace = self.write(document(base_events()))
        for command in ("report", "analyze", "prepare"):
            for options in ((), ("--no-xlsx",)):
                out = self.tmp / f"{command}{len(options)}"
                done = trawl(command, trace, "-o", out, *options)
                self.assertExit(done, 0, 3)
                self.assertEqual((out / "perf_report.xlsx").exists(), not options, str(done))
                self.assertTrue((out / "perf_report_csvs/kernel_summary.csv").exists())
                if command == "analyze":
                    notes = (out / "standalone_analysis_rough.md").read_text()
                    self.assertEqual("`perf_report.xlsx`" in notes, not options)
                    self.assertEqual("perf_report.xlsx" in done.err, not options, done.err)


if __name__ == "__main__":
    unittest.main()
