"""The work of finding what limits a run grows with its events, not with their square.

The processor time of a run is bounded, far beyond what it needs and below what comparing all with all took.
"""
import os
import pathlib
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import DUMP, MS, US, Findings, Rank, meet
from support import FULL, SANITIZED, environment

SECONDS = 5


@unittest.skipIf(SANITIZED, "instrumented programs need more of everything")
@unittest.skipUnless(FULL, "large inputs are for the long run")
class Scaling(Findings):
    def findings(self, *ranks):
        """The kinds that are found, in bounded processor time."""
        def confine():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

        paths = [self.write(r.document(), f"rank{k}.json") for k, r in enumerate(ranks)]
        with open(self.tmp / "findings.csv", "wb") as out:
            child = subprocess.Popen([DUMP, *paths], stdout=out, stderr=subprocess.DEVNULL,
                                     env=environment(), preexec_fn=confine)
            _, status, _ = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0, f"over {SECONDS} s of processor time?")
        return [line.split(",")[1] for line in (self.tmp / "findings.csv").read_text().splitlines()[1:]]

    def test_recomputed_activations(self):
        r = Rank()
        for _ in range(70_000):
            with r.op("CheckpointFunctionBackward"):
                r.run("aten::mm", 5 * US)
                with r.op("autograd::engine::evaluate_function: MmBackward0"):
                    r.run("aten::mm", 5 * US)
        self.assertIn("activation_recompute", self.findings(r))

    def test_uneven_dispatches(self):
        ranks = [Rank(0, 2), Rank(1, 2)]
        for _ in range(20_000):
            meet(ranks, "all_to_allv", 100, 20 * US, out=[150, 50])
            for r in ranks:
                r.run("aten::mm", 300 * US if r.rank else 900 * US)
            meet(ranks, "all_to_allv", [150, 50], 20 * US, out=100)
        self.assertIn("moe_imbalance", self.findings(*ranks))

    def test_operators_in_one_another(self):
        """Each launches, and none has shapes."""
        r, depth = Rank(), []
        for _ in range(40_000):
            depth.append(r.op("aten::contiguous" if not depth else "op", lead=0, tail=0))
            depth[-1].__enter__()
            r.launch("kernel", US)
        while depth:
            depth.pop().__exit__(None, None, None)
        self.assertIn("layout_copies", self.findings(r))

    def test_pauses(self):
        r = Rank()
        for number in range(20):
            with r.step(number):
                for k in range(5000):
                    with r.frame(f"model.py({k % 100}): forward"):
                        r.run(f"aten::op{k}", 3 * US)
                    r.busy(3 * MS if k % 10 == number // 2 and number % 2 else US)
        self.assertIn("host_pause", self.findings(r))

    def test_steps_with_gradients(self):
        ranks = [Rank(0, 2), Rank(1, 2)]
        for number in range(5000):
            steps = [r.step(number) for r in ranks]
            for context, r in zip(steps, ranks):
                context.__enter__()
                with r.op("autograd::engine::evaluate_function: MmBackward0"):
                    r.run("aten::mm", 100 * US)
                with r.op("torch::autograd::AccumulateGrad", [[1000]]):
                    pass
            meet(ranks, "allreduce", 1001, 50 * US)
            for context in steps:
                context.__exit__(None, None, None)
        self.findings(*ranks)

    def test_threads_with_frames(self):
        r = Rank()
        for k in range(10_000):
            with r.thread(1000 + k):
                with r.frame("worker.py(3): run"):
                    for _ in range(5):
                        r.run("aten::mm", 3 * US)
        self.findings(r)


if __name__ == "__main__":
    unittest.main()
