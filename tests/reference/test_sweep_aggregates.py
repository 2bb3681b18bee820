"""Reports of a sweep in one table each, against the tables that another program made of the same
reports, and against a slow computation from the reports themselves.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, SHARED, Case, trawl

CASES = SHARED / "cases/sweep"
CASE = CASES / "gpu_timeline_and_comms"
# One rank's report is no report: theirs counts its file, ours the ranks that could be read.
READABLE = {"512thread_28ch": "7"}
# One rank has 0 there: theirs takes 1e-10 for it in a geometric mean, ours the others alone.
WITH_ZERO = {("512thread_28ch", "exposed_memcpy_time"), ("512thread_28ch", "total_memcpy_time")}


def book(path):
    """{sheet: rows as lists} of a report."""
    done = subprocess.run([BUILD / "tools/book_dump", path], capture_output=True, text=True)
    sheets = [json.loads(x) for x in done.stdout.splitlines()]
    return {s["name"]: s.get("rows", []) for s in sheets}


def rows_of(sheet):
    return [dict(zip(sheet[0], r)) for r in sheet[1:]]


def reference(name):
    with open(CASE / "out/sweep/tracelens_analysis" / name, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


class Aggregates(Case):
    def aggregate(self, sweep, *codes):
        if not sweep.exists():
            self.skipTest(f"given material absent: {sweep.name} (TRAWL_SHARED)")
        self.result = trawl("sweep", "aggregate", sweep, "-o", self.tmp / "out")
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        self.out = self.tmp / "out/tracelens_analysis"

    def close(self, theirs, ours, what):
        if theirs == ours:
            return
        self.assertTrue(math.isclose(float(theirs), float(ours), rel_tol=1e-12),
                        f"{what}: {theirs} and {ours}")

    def timelines(self):
        """{(configuration, type): {rank: (ms, percent)}}, from the reports."""
        found = {}
        for path in (CASE / "in/sweep/tracelens_analysis").rglob("perf_*.xlsx"):
            threads = path.parent.parent.name
            channels, rank = path.stem.split("_")[1:]
            for row in rows_of(book(path).get("gpu_timeline", [[]])):
                of = found.setdefault((f"{threads}_{channels}", row["type"]), {})
                of[int(rank[4:])] = (float(row["time ms"]), float(row["percent"]))
        return found

    def test_timelines(self):
        """Each value of All_Data, Summary_By_Config and the pivots, both means."""
        self.aggregate(CASE / "in/sweep", 3)
        self.assertRegex(self.result.err, "512thread/.*perf_28ch_rank3.*gpu_timeline")
        for mean in ("mean", "geomean"):
            sheets = book(self.out / f"gpu_timeline_all_configs_{mean}.xlsx")
            stem = f"gpu_timeline_all_configs_{mean}."
            ours = rows_of(sheets["All_Data"])
            theirs = reference(stem + "All_Data.csv")
            self.assertEqual(sheets["All_Data"][0][:9], list(theirs[0]))
            self.assertEqual([(r["full_config"], r["type"]) for r in ours],
                             [(r["full_config"], r["type"]) for r in theirs])
            different = set()
            for a, b in zip(theirs, ours):
                key = a["full_config"], a["type"]
                for column in a:
                    if column == "num_ranks":
                        self.assertEqual(READABLE.get(key[0], a[column]), b[column])
                    elif mean == "geomean" and key in WITH_ZERO and \
                            column in ("time ms", "percent"):
                        different.add(key)
                    else:
                        self.close(a[column], b[column], (mean, key, column))
            self.assertEqual(different, WITH_ZERO if mean == "geomean" else set())
            self.pivots(sheets, stem, mean)

    def pivots(self, sheets, stem, mean):
        for name in ("Pivot_Time_ms", "Pivot_Percent", "Summary_By_Config"):
            theirs, ours = reference(f"{stem}{name}.csv"), rows_of(sheets[name])
            self.assertEqual(sheets[name][0], list(theirs[0]))
            self.assertEqual(len(theirs), len(ours))
            for a, b in zip(theirs, ours):
                for column in a:
                    if column == "num_ranks":
                        self.assertEqual(READABLE.get(a["full_config"], a[column]), b[column])
                    elif mean == "mean" or (column, a.get("type")) not in WITH_ZERO:
                        self.close(a[column], b[column], (name, a, column))

    def test_what_is_behind(self):
        """Spread, worst rank and zeros, and the means where a rank has 0, by hand."""
        self.aggregate(CASE / "in/sweep", 3)
        found = self.timelines()
        for mean in ("mean", "geomean"):
            sheets = book(self.out / f"gpu_timeline_all_configs_{mean}.xlsx")
            for row in rows_of(sheets["All_Data"]):
                ranks = found.pop((row["full_config"], row["type"])) if mean == "geomean" else \
                    found[row["full_config"], row["type"]]
                ms = [ranks[r][0] for r in sorted(ranks)]
                above = [x for x in ms if x > 0]
                expected = {
                    "ranks_used": len(ms), "time ms_min": min(ms), "time ms_max": max(ms),
                    "time ms_std": statistics.stdev(ms), "zeros": len(ms) - len(above),
                    "worst_rank": min(r for r in ranks if ranks[r][0] == max(ms)),
                    "time ms": statistics.fmean(ms) if mean == "mean" else
                    math.exp(statistics.fmean(map(math.log, above))),
                }
                for column, value in expected.items():
                    self.assertTrue(
                        math.isclose(float(row[column]), value, rel_tol=1e-9, abs_tol=1e-12),
                        f"{row['full_config']} {row['type']} {column}: {row[column]} not {value}")
        self.assertFalse(found)

    def test_collectives(self):
        """The master table, its 36 columns in order, as CSV and as a workbook."""
        self.aggregate(CASE / "in/sweep", 3)
        theirs = reference("nccl_master_all_configs.csv")
        with open(self.out / "nccl_master_all_configs.csv", newline="", encoding="utf-8") as f:
            ours = list(csv.DictReader(f))
        self.assertEqual(list(ours[0]), list(theirs[0]))
        self.assertEqual(len(ours[0]), 36)
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(theirs, ours):
            for column in a:
                self.close(a[column], b[column], (a["operation_id"], a["full_config"], column))
        sheet = rows_of(book(self.out / "nccl_master_all_configs.xlsx")["NCCL_Data"])
        self.assertEqual(len(sheet), len(ours))
        for a, b in zip(ours, sheet):
            for column in a:
                self.close(a[column], b[column], column)

    def test_digest(self):
        """The best configurations are those that another program printed."""
        self.aggregate(CASE / "in/sweep", 3)
        self.assertRegex(self.result.out, r"busy_time +10\.102 ms 512thread_56ch")
        self.assertRegex(self.result.out, r"OP_01 _allgather_base BFloat16 16\.00 MB: "
                                          r"185\.856 µs 512thread_56ch")
        self.assertRegex(self.result.out, r"OP_02 .* 326\.603 µs 512thread_56ch")
        self.assertRegex(self.result.out, r"all collectives: 3\.497 ms 512thread_56ch")

    def test_no_collectives(self):
        """Two ranks without any: the timeline is made, and what is not is said."""
        case = CASES / "no_collectives"
        self.aggregate(case / "out/sweep", 0)
        self.assertRegex(self.result.err, "nccl_master_all_configs skipped")
        self.assertEqual(sorted(p.name for p in self.out.iterdir()),
                         ["gpu_timeline_all_configs_geomean.xlsx",
                          "gpu_timeline_all_configs_mean.xlsx"])
        ours = rows_of(book(self.out / "gpu_timeline_all_configs_mean.xlsx")["All_Data"])
        theirs = rows_of(next(iter(book(
            case / "out/sweep/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx").values())))
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(theirs, ours):
            for column in a:
                self.close(a[column], b[column], column)


if __name__ == "__main__":
    unittest.main()
