"""The statistics of variance tables against what another program printed for them."""
import csv
import io
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, trawl

CASE = SHARED / "cases/sweep/plots_odd_data"
LINE = re.compile(r"^  (?:Rank )?(\d+)(?: threads|ch)?: mean=(.*)us, median=(.*)us, max=(.*)us, n=(\d+)$")


class SweepPlots(Case):
    def setUp(self):
        super().setUp()
        if not CASE.exists():
            self.skipTest("given material absent: cases/sweep/plots_odd_data (TRAWL_SHARED)")
        if not shutil.which("gnuplot"):
            self.skipTest("no gnuplot: no picture was drawn")

    def printed(self):
        """Table -> rows that the other program printed for it."""
        out, name = {}, None
        for line in (CASE / "out/stdout.txt").read_text().splitlines():
            if line.startswith("Input CSV: in/"):
                name = line[len("Input CSV: in/"):]
                out[name] = []
            elif line.startswith("By "):
                by = {"By Thread Count:": "threads", "By Channel Count:": "channels",
                      "By Rank:": "rank"}[line]
            elif LINE.match(line):
                out[name].append((by, *LINE.match(line).groups()))
        return out

    def test_statistics(self):
        want = self.printed()
        self.assertEqual(len(want), 4)
        for name, code in (("three_threads_five_channels", 0), ("single_row", 0), ("bad_rows", 3),
                           ("empty", 1)):
            result = trawl("sweep", "plots", "--input-csv", CASE / "in" / f"{name}.csv", "-o",
                           self.tmp / name, "--format", "csv")
            self.assertExit(result, code)
            got = [(r["by"], r["number"], *(f"{float(r[k]):.2f}" for k in
                                            ("mean us", "median us", "max us")), r["n"])
                   for r in csv.DictReader(io.StringIO(result.out))]
            self.assertEqual(got, want[f"{name}.csv"], name)
            files = {p.name for p in (self.tmp / name).glob("*")}
            theirs = CASE / "out" / name
            self.assertEqual(files, {p.name for p in theirs.glob("*")}, name)


if __name__ == "__main__":
    unittest.main()
