"""The findings of made runs whose faults, and what each costs, are known exactly."""
import csv
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, SHARED, SLOWER, Case, environment, load_module

CASES = SHARED / "cases/diag"
TOOL = SHARED / "tools/check_findings.py"
DUMP = BUILD / "tools/findings_dump"

# Of each question how many runs must be judged right, and of how many; nearly right counts half.
WANTED = {"kind": (39, 41), "where": (28, 30), "gain": (28, 30), "must_not": (41, 41),
          "excess": (30, 30), "order": (3, 3), "note": (6, 6)}
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

    def test_faults_places_and_gains(self):
        check = load_module(TOOL)
        asked, right, wrong = dict.fromkeys(WANTED, 0), dict.fromkeys(WANTED, 0), []
        for case in sorted(p.parent for p in CASES.glob("*/truth.json")):
            truth = json.loads((case / "truth.json").read_text(encoding="utf-8"))
            rows = check.read(self.findings(case), truth["steps"], False, truth["step_ms_with"])
            for question, verdict, why in check.judge(rows, truth):
                asked[question] += 1
                right[question] += WORTH[verdict]
                if verdict != "ok":
                    wrong.append(f"{case.name} {question} {verdict} {why}")
        self.assertEqual(asked, {question: count for question, (_, count) in WANTED.items()})
        low = {q: right[q] for q, (least, _) in WANTED.items() if right[q] < least}
        self.assertEqual(low, {}, "\n".join(wrong))

    def test_together_never_decreases(self):
        check = load_module(TOOL)
        for case in sorted(p.parent for p in CASES.glob("*/truth.json")):
            with open(self.findings(case), newline="", encoding="utf-8") as f:
                rows = [r for r in csv.DictReader(f) if r["gain_percent"]]
            together = [float(r["gain_together_percent"]) for r in rows]
            self.assertEqual(together, sorted(together), case.name)


if __name__ == "__main__":
    unittest.main()
