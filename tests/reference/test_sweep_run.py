"""trawl sweep run against the runner of aorta (run_train_various_channels.sh): environment, command
lines, statuses, log and summary of the case run_train_stub.

Differences, all of them meant (docs/DEVIATIONS.md):
- one --override with both settings, since the trainer's parser keeps the last one alone;
- a failed run gives exit status 3, not 0, and wrong usage 2, not 1;
- no pause of 5 s behind each run, and no line about it;
- the log has no escapes of terminals, and no hint at a script that is not there;
- only runs that have succeeded are skipped.
"""
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, environment, trawl

CASE = SHARED / "cases/sweep/run_train_stub"
OVERRIDES = re.compile(r"--override (profiling\.tensorboard=false) --override ")
TIME = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ")


def ours(text):
    """What we run where the original runs this."""
    return OVERRIDES.sub(r"--override \1 ", text)


def log_lines(text):
    """Lines of a log without times, escapes, separators and what is left out on purpose."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", x) for x in text.splitlines()]
    lines = [re.sub(r"duration: \d+s", "duration: Ns", TIME.sub("", x)) for x in lines]
    lines = [re.sub(r"_\d{8}_\d{6}", "_STAMP", x) for x in lines]
    return [x for x in lines if not re.match(
        r"=+$|SUMMARY REPORT|Waiting 5 seconds|To compare|  To filter kernels|\[INFO\]", x)]


def summary(text):
    """Without the date; durations are those of the day."""
    lines = text.splitlines()
    lines[1] = re.sub(r"Generated: .*", "Generated: DATE", lines[1])
    return [re.sub(r"(SUCCESS|FAILED)( +)\d+ ", r"\1\2N ", x) for x in lines]


@unittest.skipUnless(CASE.is_dir(), "no reference cases")
class TestStub(Case):
    def setUp(self):
        super().setUp()
        (self.tmp / "in").symlink_to(CASE / "in")
        self.env = environment(PATH=f"{CASE / 'in/bin'}:{os.environ['PATH']}")

    def run_sweep(self, *args):
        return trawl("sweep", "run", *args, cwd=self.tmp, env=self.env)

    def compare_outputs(self, sweep, points):
        for point in points:
            with self.subTest(sweep=sweep, point=point):
                path = f"{sweep}/{point}/run_output.log"
                self.assertEqual((self.tmp / "out" / path).read_text(),
                                 ours((CASE / "out" / path).read_text()))

    def newest(self, sweep, pattern):
        return sorted((self.tmp / "out" / sweep).glob(pattern))[-1].read_text()

    def test_sweep_and_what_is_missing_of_it(self):
        points = [f"{t}thread/nccl_{c}channels" for t in (256, 512) for c in (28, 42)]
        done = self.run_sweep("--channels", "28,42", "--threads", "256,512", "--output-dir",
                              "out/sweep", "--config", "cfg.yaml", "--nproc", "4")
        self.assertEqual(done.rc, 3, done)
        originals = sorted((CASE / "out/sweep").glob("nccl_thread_sweep_summary_*"))
        self.assertEqual(summary(self.newest("sweep", "*summary*")),
                         summary(originals[0].read_text()))
        log = sorted((CASE / "out/sweep").glob("nccl_thread_sweep_2*"))[0].read_text()
        expected = [re.sub(r"^=== Testing", "=== Testing", x) for x in log_lines(log)]
        self.assertEqual(log_lines(self.newest("sweep", "nccl_thread_sweep_2*.log")), expected)
        shutil.rmtree(self.tmp / "out/sweep/256thread/nccl_42channels")
        done = self.run_sweep("-c", "28,42", "-t", "256", "-o", "out/sweep", "-s")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(summary(self.newest("sweep", "*summary*")),
                         summary(originals[1].read_text()))
        self.compare_outputs("sweep", points)

    def test_rocprof(self):
        for sweep, options in (("sweep_roc", ("--rocprof", "--stats", "-n")),
                               ("sweep_roc2", ("-r", "--rocprof-input", "in.yaml", "-n"))):
            done = self.run_sweep("-c", "28", "-t", "256", "-o", f"out/{sweep}", *options)
            self.assertEqual(done.rc, 0, done)
            self.compare_outputs(sweep, ["256thread/nccl_28channels"])
            self.assertEqual(list((self.tmp / "out" / sweep).glob("*summary*")), [])

    def test_wrong_option(self):
        self.assertEqual(self.run_sweep("-x").rc, 2)

    def test_original_sweep_is_skipped(self):
        shutil.copytree(CASE / "out/sweep", self.tmp / "out/sweep")
        done = self.run_sweep("-c", "28,42", "-t", "256,512", "-o", "out/sweep", "-s")
        self.assertEqual(len(done.lines(r"\] .*: SKIPPED")), 4, done)
        self.assertEqual(len(done.lines("assumed done")), 4, done)


if __name__ == "__main__":
    unittest.main()
