"""Made runs with known faults (tests/gen/runs.py): what is true of them, by the simulation that
made them, is what their traces hold."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "gen"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import runs
from support import Case, report

ROWS = {"total": "total_time", "busy": "busy_time", "idle": "idle_time", "compute": "computation_time",
        "exposed_comm": "exposed_comm_time", "exposed_memcpy": "exposed_memcpy_time", "comm": "total_comm_time",
        "memcpy": "total_memcpy_time"}


class Runs(Case):
    def one(self, name):
        """Its traces and truth: the report reads every trace without a defect, and the timeline is
        the simulation's to the nanosecond."""
        facts = runs.make(runs.SCENARIOS[name], self.tmp)
        traces = sorted((self.tmp / name).glob("*.json.gz"), key=lambda p: (len(p.name), p.name))
        self.assertEqual(len(traces), facts["ranks"])
        for trace, truth in zip(traces, facts["gpu_timeline_ns"]):
            rep = report(trace, self.tmp / "out" / trace.stem)
            self.assertAlive(rep)
            self.assertClean(rep)
            self.assertReconciles(rep)
            self.assertEqual({k: int(v * 1000) for k, v in rep.figures().items()},
                             {k: truth[v] for k, v in ROWS.items()})


def add_tests():
    for name in runs.SCENARIOS:
        setattr(Runs, f"test_{name}", lambda self, n=name: self.one(n))


add_tests()

if __name__ == "__main__":
    unittest.main()
