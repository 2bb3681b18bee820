"""Ranks merged into one file: their processes use the same correlation ids."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, tracegen


class MergedRanks(Case):
    def setUp(self):
        super().setUp()
        subprocess.run([tracegen(), "--ranks", "2", "--equal-ids", "--steps", "1", "--seed", "3",
                        "--kind", "infer", "-o", self.tmp / "ranks"], check=True)
        self.ranks = [json.loads((self.tmp / f"ranks/rank{i}_trace.json").read_text())
                      ["traceEvents"] for i in range(2)]

    def merged(self, arrows):
        """One list; ids of arrows are made distinct, as who merges has to."""
        out = []
        for rank, events in enumerate(self.ranks):
            for e in events:
                if e["ph"] in "sf":
                    if not arrows:
                        continue
                    e = dict(e, id=e["id"] * 2 + rank)
                out.append(e)
        return {"traceEvents": out}

    def launch_ids(self, rank):
        return {e["args"]["correlation"] for e in self.ranks[rank]
                if e.get("cat") in ("cuda_runtime", "cuda_driver")}

    def test_lost_launches_are_of_neither_rank(self):
        # Else a kernel whose launch is lost has the id of a call of the other rank: whose is not known.
        for rank in range(2):
            lost = {e["args"].get("correlation") for e in self.ranks[rank]
                    if e.get("cat") == "kernel"} - self.launch_ids(rank)
            self.assertEqual(lost & self.launch_ids(1 - rank), set())

    def test_same_ids_in_two_processes(self):
        both = self.launch_ids(0) & self.launch_ids(1)
        self.assertGreater(len(both), 100, "the ranks shall use the same ids")
        apart = [self.report(json.dumps({"traceEvents": r})) for r in self.ranks]
        for rep in apart:
            self.assertExit(rep, 0)
        rep = self.report(json.dumps(self.merged(arrows=True)))
        self.assertExit(rep, 0)
        self.assertReconciles(rep)
        self.assertEqual(rep.counted("ambiguous_link", "duplicate_correlation"), 0)
        # What each operation launched is what it launched in its own rank.
        want = {}
        for one in apart:
            for name, row in one.ops().items():
                want[name] = tuple(map(sum, zip(want.get(name, (0, 0, 0)), row)))
        self.assertEqual(rep.ops(), want)

    def test_same_ids_without_arrows(self):
        # Nothing says whose kernels they are: that is counted, and none is lost.
        rep = self.report(json.dumps(self.merged(arrows=False)))
        self.assertExit(rep, 0)
        self.assertReconciles(rep)
        self.assertGreater(rep.counted("ambiguous_link"), 100)
        self.assertEqual(rep.counted("unlinked_gpu"), sum(
            self.report(json.dumps({"traceEvents": r})).counted("unlinked_gpu")
            for r in self.ranks))


if __name__ == "__main__":
    unittest.main()
