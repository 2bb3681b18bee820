"""Work and memory grow with what is in a trace, not with its square.

Time is bounded by the processor time that a run may take, far beyond what it needs and far below what
comparing all with all takes; memory by what more rows need more.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SANITIZED, TRAWL, Case, document, environment, kernel, launch, op

SECONDS = 15
# The report's tables alone are about 6 kB of cells and texts for a row with shapes of its own.
BYTES_A_ROW = 16_000


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


def collectives(count, ranks, groups):
    """`groups` lists of `ranks` ranks, each event with one of them."""
    lists = ["[" + ", ".join(map(str, (r for r in range(ranks) if r != g))) + "]"
             for g in range(groups)]
    return [kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10 * i, 8, i + 1, **{
                "Collective name": "allreduce", "In msg nelems": 1000 + i,
                "Out msg nelems": 1000 + i, "dtype": "Float", "Group size": ranks - 1,
                "Process Group Name": f"g{i % groups}", "Process Group Ranks": lists[i % groups]})
            for i in range(count)]


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

    def analyze(self, events, name="trace.json"):
        return self.run_limited("analyze", self.write(document(events), name), "-o",
                                self.tmp / "out", "-q", "-j", "1", "--no-plots", "--no-xlsx",
                                "--platform", "H100 SXM")

    def test_memory_of_a_row(self):
        few, many = 4000, 16000
        peaks = [self.analyze(operations(n), f"{n}.json") for n in (few, many)]
        self.assertLess((peaks[1] - peaks[0]) / (many - few), BYTES_A_ROW)

    def test_every_row_is_a_bottleneck(self):
        self.analyze(operations(14000, us=60000))

    def test_names_that_look_the_same_as_files(self):
        self.analyze(operations(8000, name="x" * 300 + "_{}"))

    def test_long_lists_of_ranks(self):
        """What is kept of them is each rank once, not each list."""
        peaks = []
        for groups in (100, 400):
            ranks = self.tmp / f"ranks{groups}"
            ranks.mkdir()
            (ranks / "rank0.json").write_text(json.dumps({
                "distributedInfo": {"rank": 0, "world_size": 4000},
                "traceEvents": collectives(groups, 4000, groups)}))
            peaks.append(self.run_limited("merge", ranks, "-o", self.tmp / "merged.json", "-q",
                                          "-j", "1"))
            size = (ranks / "rank0.json").stat().st_size
        self.assertLess((peaks[1] - peaks[0]) / (size * 300 / 400), 4)


if __name__ == "__main__":
    unittest.main()
