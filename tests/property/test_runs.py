"""Made runs with known faults (tests/gen/runs.py): what is true of them, by the simulation that
made them, is what their traces hold."""
import hashlib
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "gen"))
import runs
from support import Case, FULL, report, trawl

ROWS = {"total": "total_time", "busy": "busy_time", "idle": "idle_time", "compute": "computation_time",
        "exposed_comm": "exposed_comm_time", "exposed_memcpy": "exposed_memcpy_time",
        "comm": "total_comm_time", "memcpy": "total_memcpy_time"}


class Runs(Case):
    made = {}

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory(prefix="trawl-runs-")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()
        cls.made.clear()

    def make(self, name):
        """Truth and traces of a run, made once."""
        if name not in self.made:
            facts = runs.make(runs.SCENARIOS[name], self.kept.name)
            self.made[name] = facts, traces_of(pathlib.Path(self.kept.name) / name)
        return self.made[name]

    def one(self, name):
        """The report reads every trace without a defect, and the timeline is the simulation's to
        the nanosecond."""
        facts, traces = self.make(name)
        self.assertEqual(len(traces), facts["ranks"])
        for trace, of_rank in zip(traces, facts["gpu_timeline_ns"]):
            rep = report(trace, self.tmp / "out" / trace.stem)
            self.assertAlive(rep)
            self.assertClean(rep)
            self.assertReconciles(rep)
            self.assertEqual({k: int(v * 1000) for k, v in rep.figures().items()},
                             {k: of_rank[v] for k, v in ROWS.items()})
        self.assertExit(trawl("check", "--strict", *traces), 0)

    def test_held_out_truths_stay(self):
        """Runs whose truth was fixed before the rules that are judged by it."""
        for name, digest in runs.HELD_OUT.items():
            facts = self.make(name)[0]
            text = json.dumps({k: facts[k] for k in sorted(facts)})
            self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], digest, name)


def some(every=3):
    """Names of runs: all in the long run."""
    return list(runs.SCENARIOS)[::1 if FULL else every]


def traces_of(directory):
    return sorted(directory.glob("*.json.gz"), key=lambda p: (len(p.name), p.name))


def add_tests():
    for name in some():
        setattr(Runs, f"test_run_{name}", lambda self, n=name: self.one(n))


add_tests()

if __name__ == "__main__":
    unittest.main()
