"""Findings of a sweep: configurations with a fault and without, whose gain is known by the simulation
(tests/gen/runs.py)."""
import csv
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "gen")]
import runs
from made import record
from made.job import Job
from made.truth import times
from page import Page
from support import Case, read_csv, trawl

RUN = runs.SCENARIOS["straggler_two_ranks"]
CONFIGURATIONS = {"256thread_28ch": RUN.faults, "512thread_28ch": {}}
ANALYSIS = "tracelens_analysis"


def rows_of(table):
    return [dict(zip([c["header"] for c in table["columns"]], r)) for r in table["rows"]]


class Findings(Case):
    def sweep(self, configurations):
        """{configuration: faults} as a sweep; the steps of each."""
        place, step = self.tmp / "sweep", {}
        for name, faults in configurations.items():
            job, made = Job(RUN, faults), self.tmp / name
            made.mkdir()
            record.write(job, made)
            for rank in range(RUN.ranks):
                to = self.ranks(place, name) / f"rank{rank}"
                to.mkdir(parents=True)
                (made / f"rank{rank}.json.gz").rename(to / "trace.json.gz")
            step[name] = times(job)[0]
        return place, step

    def ranks(self, place, name):
        threads, channels = name.split("_")
        return place / threads / f"nccl_{channels[:-2]}channels/torch_profiler"

    def run_on(self, stage, place, *options):
        result = trawl("sweep", stage, place, *options, timeout=120)
        self.assertExit(result, 0)
        return result

    def test_each_configuration_has_its_findings(self):
        place, step = self.sweep(CONFIGURATIONS)
        gain = step["256thread_28ch"] - step["512thread_28ch"]
        result = self.run_on("all", place, "--no-plots", "--format", "json")
        tables = {t["name"]: t for t in json.loads(result.out)["tables"]}
        rows = {r["configuration"]: r for r in rows_of(tables["configurations"])}
        slow, fast = rows["256thread_28ch"], rows["512thread_28ch"]
        self.assertAlmostEqual(slow["its gain ms"], gain, delta=max(0.2 * gain, 0.01 * step["256thread_28ch"]))
        self.assertEqual((fast["largest finding"], fast["its gain ms"], fast["all gains (%)"]), (None,) * 3)
        # The slower one alone has a straggler.
        self.assertEqual((slow["waits for rank"], fast["waits for rank"]), ("1", None))
        answer = [r["text"] for r in rows_of(tables["verdict"])]
        self.assertIn("Findings: nothing in the best configuration gains 1 %.", answer)
        self.assertIn("In 256thread_28ch ranks wait for rank 1 (straggler, see the collective report).", answer)
        # As the collectives of the configuration alone have them.
        findings = read_csv(place / ANALYSIS / "findings.csv")
        for name in CONFIGURATIONS:
            out = self.tmp / f"out_{name}"
            self.assertExit(trawl("collectives", self.ranks(place, name), "-o", out, timeout=120), 0)
            self.assertEqual([{k: v for k, v in r.items() if k != "configuration"} for r in findings
                              if r["configuration"] == name],
                             read_csv(out / "collective_all_ranks_csvs/findings.csv"))
        shown = [r for r in rows_of(tables["findings"]) if r["gain_ms"] is not None]
        self.assertEqual([(r["configuration"], r["kind"], r["gain_ms"], r["gain_percent"]) for r in shown],
                         [("256thread_28ch", "straggler_compute", slow["its gain ms"], slow["its gain (%)"])])
        self.check_page(place, answer, slow, findings)
        self.check_reports(place, slow["its gain ms"])

    def check_page(self, place, answer, slow, findings):
        page = Page((place / ANALYSIS / "sweep.html").read_text(encoding="utf-8"))
        self.assertEqual(page.answer, answer)
        rows = page.rows("Findings")
        self.assertEqual([(r["configuration"], r["title"], r["gain_ms"]) for r in rows],
                         [(r["configuration"], r["title"], r["gain_ms"]) for r in findings])
        last = page.rows("Configurations")[-1]
        self.assertEqual((last["configuration"], last["largest finding"], float(last["its gain ms"])),
                         ("256thread_28ch", slow["largest finding"], slow["its gain ms"]))

    def check_reports(self, place, gain):
        """The reports of a configuration have them too: a comparison of two sweeps reads them there."""
        for name in CONFIGURATIONS:
            threads = name.split("_")[0]
            self.assertTrue((place / ANALYSIS / threads / "collective_reports/collective_28ch.xlsx").exists())
        result = trawl("compare", place / ANALYSIS, place / ANALYSIS, "-o", self.tmp / "p.html", "--format",
                       "json", timeout=120)
        self.assertExit(result, 0)
        tables = {t["name"]: rows_of(t) for t in json.loads(result.out)["tables"]}
        self.assertEqual([(r["configuration"], r["kind"], r["baseline ms"], r["test ms"], r["verdict"])
                          for r in tables["finding_changes"]],
                         [("256thread_28ch", "straggler_compute", gain, gain, "same")])

    def test_what_the_best_has_left(self):
        place, step = self.sweep({"256thread_28ch": RUN.faults})
        text = " ".join(self.run_on("report", place).out.split())
        rows = list(csv.DictReader(self.run_on("report", place, "--format", "csv").out.splitlines()))
        gain, percent = float(rows[0]["its gain ms"]), float(rows[0]["its gain (%)"])
        self.assertAlmostEqual(gain / percent * 100, step["256thread_28ch"], delta=0.02)
        self.assertIn(f'Largest finding in the best configuration: "{rows[0]["largest finding"]}" at rank 1, '
                      f"gain {gain:.3f} ms of a step ({percent:.1f} %).", text)
        self.assertIn("largest finding of each configuration, and what all gain together", text)


if __name__ == "__main__":
    unittest.main()
