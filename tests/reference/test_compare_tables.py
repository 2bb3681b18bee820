"""Reports side by side against the comparisons that another program made of the same reports, and
against a slow join of what is in them.
"""
import csv
import json
import math
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, SHARED, Case

INPUTS = SHARED / "cases/compare/inputs_28ch"
REFERENCES = [INPUTS / "reference/compare_28ch_rank0_across_threads_csvs",
              SHARED / "cases/compare/compare_256_512_ops_csvs"]
SWEEP = SHARED / "cases/sweep/e2e_tracelens/out/sweep/tracelens_analysis"
US = "Kernel Time (µs)"


def read(path):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    return rows[0], [dict(zip(rows[0], r)) for r in rows[1:]]


def sheets_of(path):
    """{sheet: (header, rows)} of a report."""
    if path.is_dir():
        return {p.stem: read(p) for p in path.glob("*.csv")}
    done = subprocess.run([BUILD / "tools/book_dump", path], capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        sheet = json.loads(line)
        rows = sheet.get("rows") or [[]]
        found[sheet["name"]] = rows[0], [dict(zip(rows[0], r)) for r in rows[1:]]
    return found


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Compare(Case):
    def compare(self, *sides, rc=0):
        """The tables of (name, report) pairs; what was told."""
        self._runs += 1
        out = self.tmp / f"c{self._runs}"
        done = subprocess.run([BUILD / "tools/compare_dump", out, *[str(x) for s in sides
                                                                    for x in s]],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, rc, done.stderr)
        self.told = done.stderr
        return {p.stem: read(p) for p in out.glob("*.csv")}

    def same(self, theirs, ours, key, ordered):
        self.assertEqual(ours[0], theirs[0])
        if not ordered:
            theirs, ours = [(h, sorted(r, key=lambda x: x[key])) for h, r in (theirs, ours)]
        self.assertEqual([r[key] for r in ours[1]], [r[key] for r in theirs[1]])
        for a, b in zip(theirs[1], ours[1]):
            for column in a:
                if a[column] == b[column]:
                    continue
                x, y = number(a[column]), number(b[column])
                self.assertIsNotNone(x, f"{a[key]} {column}: {a[column]!r} and {b[column]!r}")
                self.assertIsNotNone(y, f"{a[key]} {column}: {a[column]!r} and {b[column]!r}")
                self.assertTrue(math.isclose(x, y, rel_tol=1e-12), f"{a[key]} {column}: {x} {y}")

    def given(self):
        if not INPUTS.exists():
            self.skipTest("given material absent: cases/compare (TRAWL_SHARED)")
        return [(t, INPUTS / t / "perf_28ch_rank0_perf_report_csvs")
                for t in ("256thread", "512thread")]

    def test_timeline_and_operations(self):
        """The two sheets of the reference; theirs has the timeline in the order of the alphabet,
        ours in that of the reports."""
        sides = self.given()
        ours = self.compare(*sides)
        for reference in REFERENCES:
            self.same(read(reference / "gpu_timeline.csv"), ours["gpu_timeline"], "type", False)
            self.same(read(reference / "ops_summary.csv"), ours["ops_summary"], "name", True)
        self.assertEqual([r["type"] for r in ours["gpu_timeline"][1]],
                         [r["type"] for r in sheets_of(sides[0][1])["gpu_timeline"][1]])

    def test_workbooks(self):
        """Sixteen pairs of workbooks, in the order of another program."""
        references = sorted((SWEEP / "comparisons").glob("*.xlsx"))
        if not references:
            self.skipTest("given material absent: comparisons of a sweep (TRAWL_SHARED)")
        for reference in references:
            _, channels, rank, _, _ = reference.stem.split("_")
            ours = self.compare(*[
                (t, SWEEP / t / f"individual_reports/perf_{channels}_{rank}.xlsx")
                for t in ("256thread", "512thread")])
            theirs = sheets_of(reference)
            self.assertEqual(set(theirs), {"gpu_timeline", "ops_summary"})
            self.same(theirs["gpu_timeline"], ours["gpu_timeline"], "type", True)
            self.same(theirs["ops_summary"], ours["ops_summary"], "name", True)

    def three(self, sheet, keys, total, differences, ours, theirs):
        """A sheet in its three tables against a join of both."""
        base, variant = [{tuple(r[k] for k in keys): r for r in s[sheet][1]} for s in theirs]
        self.assertEqual([len(base), len(variant)], [len(s[sheet][1]) for s in theirs],
                         "keys are unique in these")
        expected = {
            "intersect": sorted((k for k in base if k in variant),
                                key=lambda k: -float(base[k][total])),
            "only_baseline": sorted((k for k in base if k not in variant),
                                    key=lambda k: -float(base[k][total])),
            "only_variant": sorted((k for k in variant if k not in base),
                                   key=lambda k: -float(variant[k][total])),
        }
        seen = 0
        for part, wanted in expected.items():
            head, rows = ours.get(f"{sheet}_{part}_512thread", ([], []))
            self.assertEqual([tuple(r[k] for k in keys) for r in rows], wanted)
            seen += len(rows)
            for row, key in zip(rows, wanted):
                for side, name in ((base, "256thread"), (variant, "512thread")):
                    for column, text in side.get(key, {}).items():
                        self.cell(row, keys, f"{name}::{column}", column, text)
                for d in differences if part == "intersect" else []:
                    b, v = float(base[key][d]), float(variant[key][d])
                    self.assertEqual(float(row[f"{d}__512thread_diff"]), v - b)
                    # Of next to nothing many times as much is no percentage here.
                    if b * 1000 < max(float(r[d]) for r in base.values()) and v > 11 * b:
                        self.assertEqual(row[f"{d}__512thread_pct"], "")
                    elif b:
                        self.assertAlmostEqual(float(row[f"{d}__512thread_pct"]),
                                               100 * (v - b) / b, delta=1e-9)
            self.assertEqual(head[:len(keys)], keys if rows else [])
        return seen

    def cell(self, row, keys, header, column, text):
        if column in keys:
            self.assertEqual(row[column], text)
        elif header in row:
            if row[header] != text:
                self.assertEqual(number(row[header]), number(text), header)
        else:
            self.assertEqual(text, "", header)  # a column without values is left out

    def test_all_operations(self):
        """Sheets that have three tables each, by a join of all rows."""
        sides = self.given()
        ours, theirs = self.compare(*sides), [sheets_of(p) for _, p in sides]
        keys = ["name", "Input type", "Input Dims", "Input Strides", "Concrete Inputs"]
        self.assertGreater(self.three(
            "ops_unique_args", keys, "total_direct_kernel_time_sum",
            ["total_direct_kernel_time_sum", "total_direct_kernel_time_mean", "operation_count"],
            ours, theirs), 100)
        for sheet in ("GEMM", "SDPA_fwd", "SDPA_bwd", "UnaryElementwise", "BinaryElementwise"):
            head = theirs[0][sheet][0]
            self.three(sheet, ["name"] + [h for h in head if h.startswith("param: ")],
                       f"{US}_sum", [f"{US}_sum", f"{US}_mean", "name_count"], ours, theirs)

    def test_kernels_by_name(self):
        """Rows of the same kernel are added up before they are joined; no row is lost."""
        sides = self.given()
        head, rows = self.compare(*sides)["kernel_summary"]
        dur = "Kernel duration (µs)"
        self.assertNotIn(f"256thread::{dur}_min", head)
        self.assertEqual(len({r["Kernel name"] for r in rows}), len(rows))
        for name, path in sides:
            theirs = sheets_of(path)["kernel_summary"][1]
            for row in rows:
                of = [r for r in theirs if r["Kernel name"] == row["Kernel name"]]
                if not of:
                    self.assertEqual(row[f"{name}::{dur}_sum"], "")
                    continue
                total = sum(float(r[f"{dur}_sum"]) for r in of)
                count = sum(int(r[f"{dur}_count"]) for r in of)
                self.assertAlmostEqual(float(row[f"{name}::{dur}_sum"]), total, places=6)
                self.assertEqual(int(row[f"{name}::{dur}_count"]), count)
                self.assertAlmostEqual(float(row[f"{name}::{dur}_mean"]), total / count, places=6)

    def test_with_itself(self):
        """No difference at all."""
        sides = self.given()
        tables = self.compare(("a", sides[0][1]), ("b", sides[0][1]))
        self.assertFalse([t for t in tables if "_only_" in t])
        self.assertEqual(self.told, "")
        for head, rows in tables.values():
            for column in head:
                if column.endswith("__b_diff"):
                    self.assertEqual({r[column] for r in rows} - {""}, {"0"}, column)


if __name__ == "__main__":
    unittest.main()
