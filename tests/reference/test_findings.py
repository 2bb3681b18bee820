"""The findings of made runs whose faults, and what each costs, are known exactly."""
import csv
import gzip
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "gen"))
import runs
from support import BUILD, FULL, SHARED, SLOWER, Case, environment, load_module

CASES = SHARED / "cases/diag"
TOOL = SHARED / "tools/check_findings.py"
DUMP = BUILD / "tools/findings_dump"

# What of the answers to each question must be right at least; one that is nearly right counts half.
WANTED = {"kind": 0.95, "where": 0.93, "gain": 0.93, "must_not": 1, "excess": 1, "order": 1, "note": 1}
WORTH = {"ok": 1, "near": 0.5, "-": 1, "NO": 0}


@unittest.skipUnless(CASES.is_dir() and TOOL.exists(), "no runs with a known answer")
class Findings(Case):
    def findings(self, case):
        """The rows of the table, also as the file that is judged."""
        traces = sorted(p for p in case.glob("*.json*") if p.name != "truth.json")
        done = subprocess.run([DUMP, *traces], capture_output=True, text=True,
                              timeout=60 * SLOWER, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""), case.name)
        return self.write(done.stdout, f"{case.name}.csv")

    def judge(self, cases):
        """How often each question was asked, what was right of it, and what was wrong."""
        check = load_module(TOOL)
        asked, right, wrong = dict.fromkeys(WANTED, 0), dict.fromkeys(WANTED, 0), []
        for case in cases:
            truth = json.loads((case / "truth.json").read_text(encoding="utf-8"))
            rows = check.read(self.findings(case), truth["steps"], False, truth["step_ms_with"])
            for question, verdict, why in check.judge(rows, truth):
                asked[question] += 1
                right[question] += WORTH[verdict]
                if verdict != "ok":
                    wrong.append(f"{case.name} {question} {verdict} {why}")
        low = {q: right[q] for q, least in WANTED.items() if right[q] < least * asked[q]}
        self.assertEqual(low, {}, "\n".join(wrong))
        return asked

    def test_faults_places_and_gains(self):
        asked = self.judge(sorted(p.parent for p in CASES.glob("*/truth.json")))
        self.assertEqual(asked, {"kind": 41, "where": 30, "gain": 30, "must_not": 41, "excess": 30, "order": 3,
                                 "note": 6})

    def test_made_runs(self):
        """Faults that the project's own generator makes; those held out were fixed before the rules."""
        names = list(runs.SCENARIOS) if FULL else list(runs.HELD_OUT)
        for name in names:
            runs.make(runs.SCENARIOS[name], self.tmp)
        cases = [self.tmp / name for name in names]
        asked = self.judge(cases)
        self.assertEqual((asked["kind"], asked["must_not"]), (len(names), len(names)))
        if FULL:
            self.judge([self.tmp / name for name in runs.HELD_OUT])

    def test_together_never_decreases(self):
        check = load_module(TOOL)
        for case in sorted(p.parent for p in CASES.glob("*/truth.json")):
            with open(self.findings(case), newline="", encoding="utf-8") as f:
                rows = [r for r in csv.DictReader(f) if r["gain_percent"]]
            together = [float(r["gain_together_percent"]) for r in rows]
            self.assertEqual(together, sorted(together), case.name)


class Parts(Case):
    """What is found in a part of a run: its gains, and nothing that lies outside."""

    # Of these the gain is that of the window by its steps, of which the first is one.
    OF_SOME_STEPS = {"host_pause", "checkpoint_save"}
    # A whole has more to choose the rank from that a straggler is held against.
    TOLERANCE = 0.02

    def found(self, traces, *options):
        done = subprocess.run([DUMP, *options, *traces], capture_output=True, text=True, timeout=60 * SLOWER,
                              env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {r["kind"]: r for r in csv.DictReader(done.stdout.splitlines()) if r["gain_ms"]}

    def make(self, name):
        """The traces, the truth, and the numbers of the steps."""
        truth = runs.make(runs.SCENARIOS[name], self.tmp)
        traces = sorted(p for p in (self.tmp / name).glob("*.json*") if p.name != "truth.json")
        with gzip.open(traces[0], "rt", encoding="utf-8") as f:
            steps = {int(n) for n in re.findall(r'"ProfilerStep#(\d+)"', f.read())}
        return traces, truth, sorted(steps)

    def test_all_steady_steps_are_the_whole(self):
        for name in runs.SCENARIOS if FULL else runs.HELD_OUT:
            with self.subTest(name):
                traces, _, steps = self.make(name)
                if len(steps) < 2:
                    continue
                whole, part = self.found(traces), self.found(traces, "--step", f"{steps[1]}-{steps[-1]}")
                # What is in some steps only may be in the first alone, and is in the part only if it is in the whole.
                self.assertEqual(whole.keys() - self.OF_SOME_STEPS, part.keys() - self.OF_SOME_STEPS)
                self.assertLessEqual(part.keys(), whole.keys())
                for kind in part.keys() - self.OF_SOME_STEPS:
                    self.assertAlmostEqual(float(whole[kind]["gain_percent"]), float(part[kind]["gain_percent"]),
                                           delta=self.TOLERANCE, msg=kind)

    def test_a_fault_of_one_step_is_in_its_step_alone(self):
        for name in "pause_in_one_step", "checkpoint_in_one_step":
            traces, truth, steps = self.make(name)
            for step in steps:
                with self.subTest(name, step=step):
                    part = self.found(traces, "--step", f"{step}-{step}")
                    if step == truth["where"]["step"]:
                        row = part[truth["kind"]]
                        # Nearly all of it is in this step: the next one begins with an empty queue.
                        self.assertAlmostEqual(float(row["gain_ms"]), len(steps) * truth["gain_ms_per_step"],
                                               delta=0.1 * len(steps) * truth["gain_ms_per_step"])
                    else:
                        self.assertNotIn(truth["kind"], part)


if __name__ == "__main__":
    unittest.main()
