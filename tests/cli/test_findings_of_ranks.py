"""The findings of a job in each command over its ranks: the same table, and a verdict by the largest one.

What a straggler costs is worked out by hand, as in test_findings_kinds.py: made_runs.py has the times.
"""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import read_csv, trawl
from made_runs import US, Findings, meet, ranks_of

CSVS = {"collectives": "collective_all_ranks_csvs", "report": "perf_report_csvs"}


class Commands(Findings):
    def job(self, *times, transfer=20 * US):
        """A directory of ranks that compute so long in each step, then meet."""
        def body(ranks):
            for r, ns in zip(ranks, times):
                r.run("aten::relu", ns)
            meet(ranks, "allreduce", 1000, transfer)
        place = self.tmp / "job"
        place.mkdir()
        for k, r in enumerate(ranks_of(len(times), body)):
            (place / f"rank{k}.json").write_text(r.document())
        return place

    def run_all(self, place):
        """{command: (result, directory of its tables)}; the findings of each are the same bytes."""
        done = trawl("analyze", place, "-o", self.tmp / "analyze", "--no-replay", "--no-plots")
        self.assertExit(done, 0)
        want, made = (self.tmp / "analyze/findings.csv").read_bytes(), {}
        for command, csvs in CSVS.items():
            out = self.tmp / command
            made[command] = (trawl(command, place, "-o", out), out / csvs)
            self.assertExit(made[command][0], 0)
            self.assertEqual((out / csvs / "findings.csv").read_bytes(), want, command)
        return made

    def verdicts(self, *times, **more):
        """The verdict, {finding: row}, which both commands have alike, and the findings."""
        made = self.run_all(self.job(*times, **more))
        rows = [read_csv(csvs / "verdict.csv") for _, csvs in made.values()]
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(len({r["finding"] for r in rows[0]}), len(rows[0]))
        findings = read_csv(made["collectives"][1] / "findings.csv")
        return {r["finding"]: r for r in rows[0]}, {r["kind"]: r for r in findings}

    def test_a_straggler(self):
        said, found = self.verdicts(600 * US, 900 * US, 620 * US)
        # As the next rank: 280 us of each step.
        self.assertGain(found, "straggler_compute", 280 * US)
        percent = float(found["straggler_compute"]["gain_percent"])
        self.assertEqual(said["straggler"]["ranks"], "1")
        self.assertIn(f"rank 1 is the straggler: gain 0.280 ms of a step ({percent:.1f} %); last in ",
                      said["straggler"]["text"])
        self.assertEqual(said["reason"]["text"], "reason: {title}: {evidence}".format(**found["straggler_compute"]))
        self.assertNotIn("limits", said)

    def test_a_cause_that_is_no_straggler(self):
        # 8 steps of a transfer of 3 ms of 2 kB: it costs most; rank 1 costs 280 us besides.
        said, found = self.verdicts(600 * US, 900 * US, 620 * US, transfer=3000 * US)
        first = min(found.values(), key=lambda r: int(r["n"]))
        self.assertNotEqual(first["kind"], "straggler_compute")
        self.assertIn(f"{first['title']}: gain ", said["limits"]["text"])
        self.assertIn(f" {float(first['gain_ms']):.3f} ms of a step ({float(first['gain_percent']):.1f} %)",
                      said["limits"]["text"])
        self.assertEqual(said["limits"]["share (%)"], first["gain_percent"])
        self.assertEqual(said["straggler"]["ranks"], "1")
        self.assertIn("gain 0.280 ms of a step", said["straggler"]["text"])

    def test_a_gain_below_one_percent_is_no_straggler(self):
        # A step is what the slowest rank computes, its gaps and what it does before; 1 % of it is a little more than 10 us.
        said, found = self.verdicts(600 * US, 900 * US, 892 * US)
        self.assertLess(float(found["straggler_compute"]["gain_percent"]), 1)
        self.assertNotIn("straggler", said)
        self.assertIn("no straggler: no rank costs 1 % by itself; wait is ", said["no straggler"]["text"])
        # Rank 0 waits 300 us a step for rank 1, and rank 2 waits 8 us.
        self.assertIn("100 % of it for rank 1", said["no straggler"]["text"])

    def test_two_that_gain_only_together_are_two(self):
        # Rank 1 alone gains 1 us of a step.
        said, found = self.verdicts(600 * US, 900 * US, 899 * US)
        self.assertGain(found, "straggler_compute", 300 * US)
        self.assertEqual(said["straggler"]["ranks"], "1, 2")

    def test_a_gain_above_one_percent_is_one(self):
        said, found = self.verdicts(600 * US, 600 * US, 620 * US)
        self.assertGreater(float(found["straggler_compute"]["gain_percent"]), 1)
        self.assertGain(found, "straggler_compute", 20 * US)
        self.assertEqual(said["straggler"]["ranks"], "2")

    def test_nothing_to_change(self):
        said, found = self.verdicts(600 * US, 600 * US, 600 * US, transfer=5 * US)
        if "nothing_found" in found:
            self.assertEqual(said["limits"]["text"], found["nothing_found"]["title"])
        self.assertNotIn("straggler", said)

    def test_printed(self):
        place = self.job(600 * US, 900 * US, 620 * US)
        for command in CSVS:
            with self.subTest(command):
                text = trawl(command, place, "--no-csv", "--no-xlsx").out
                lines = text.splitlines()
                self.assertRegex(lines[0], r"^what limits the run \(window [\d.]+ ms, step [\d.]+ ms\), largest gain first$")
                self.assertRegex(text, r"  \d\. One rank computes longer than the others, which wait for it \(rank 1\): gain ")
                self.assertLess(text.index("One rank computes longer"), text.index("3 of 3 ranks"))
                printed = json.loads(trawl(command, place, "--no-csv", "--no-xlsx", "--format", "json").out)
                table = printed["tables"][0]
                self.assertEqual(table["name"], "findings")
                analysed = json.loads(trawl("analyze", place, "-o", self.tmp / "a", "--no-replay", "--no-plots",
                                            "--format", "json").out)
                self.assertEqual(table, next(t for t in analysed["tables"] if t["name"] == "findings"))


if __name__ == "__main__":
    unittest.main()
