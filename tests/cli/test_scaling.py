"""Work and memory grow with what is in a trace, not with its square.

Time is bounded by the processor time that a run may take, far beyond what it needs and far below what
comparing all with all takes; memory by what more rows need more. The full run also counts instructions.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import FULL, SANITIZED, TRAWL, Case, document, environment, kernel, launch, op

SECONDS = 15
# The report's tables alone are about 6 kB of cells and texts for a row with shapes of its own.
BYTES_A_ROW = 16_000
# Of the instructions that twice as many rows need more, to those that the rows before needed: 2, a little
# more by sorting, 4 where all is compared with all. Six instructions a pair of rows are seen.
MOST_GROWTH = 2.1


def operations(count, name="aten::mm", us=1.0, kernels="gemm_{}"):
    """Each with shapes and a kernel of its own."""
    events = []
    for i in range(1, count + 1):
        at = 3 * us * i
        events += [op(name.format(i), at, us, **{
                       "External id": i, "Input Dims": [[i, 2], [2, i]],
                       "Input type": ["float", "float"], "Input Strides": [[2, 1], [i, 1]],
                       "Concrete Inputs": ["", ""]}),
                   launch(at + us / 4, us / 4, i, **{"External id": i}),
                   kernel(kernels.format(i), at + us, us, i)]
    return events


def gaps(count):
    """Short operators of one name, each with a kernel after which the GPU is idle."""
    events = []
    for i in range(1, count + 1):
        at = 10 * i
        events += [op("aten::add", at, 8, **{"External id": i, "Input Dims": [[4], [4]]}),
                   launch(at + 2, 1, i, **{"External id": i}), kernel("add", at + 4, 1, i)]
    return events


@unittest.skipIf(SANITIZED, "instrumented programs need more of everything")
class Scaling(Case):
    def run_limited(self, *args):
        """Its peak of memory in bytes."""
        def confine():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

        child = subprocess.Popen([TRAWL, *map(str, args)], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=environment(), preexec_fn=confine)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(child.returncode, (0, 3), f"{args}: over {SECONDS} s of processor time?")
        return used.ru_maxrss * 1024

    def analysis(self, events, name):
        return ("analyze", self.write(document(events), name), "-o", self.tmp / "out", "-q", "-j",
                "1", "--no-xlsx", "--platform", "H100 SXM")

    def analyze(self, events, name="trace.json"):
        return self.run_limited(*self.analysis(events, name))

    def instructions(self, events, name):
        done = subprocess.run(
            ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
             TRAWL, *map(str, self.analysis(events, name))], capture_output=True, text=True,
            env=environment(TRAWL_HASH_SEED=1))
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))

    def check_growth(self, events_of, count):
        if not FULL:
            self.skipTest("instructions are counted in the full run: a minute under valgrind")
        if not shutil.which("valgrind"):
            self.skipTest("no valgrind: instructions were not counted")
        n = [self.instructions(events_of(count * k), f"{k}.json") for k in (1, 2, 4)]
        self.assertLess((n[2] - n[1]) / (n[1] - n[0]), MOST_GROWTH, n)

    def test_instructions_of_shapes(self):
        self.check_growth(operations, 2500)

    def test_instructions_of_gaps(self):
        self.check_growth(gaps, 25_000)

    def test_memory_of_a_row(self):
        few, many = 4000, 16000
        peaks = [self.analyze(operations(n), f"{n}.json") for n in (few, many)]
        self.assertLess((peaks[1] - peaks[0]) / (many - few), BYTES_A_ROW)

    def test_names_that_look_the_same_as_files(self):
        self.analyze(operations(7000, name="x" * 300 + "_{}"))


if __name__ == "__main__":
    unittest.main()
