"""trawl sweep variance, timestamps and overlap against the given cases: which operations differ most,
where the shortest and the longest call of each ran, to the nanosecond, and what communicated then."""
import ast
import pathlib
import re
import shutil
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, read_csv, shared, trawl

NAME = "top5_gemm_kernels_time_variance"
TIMES, OVERLAP = NAME + "_with_timestamps", NAME + "_with_collective_overlap"


def key(row):
    return tuple(row[k] for k in ("threads", "channel", "rank"))


class Variance(Case):
    def sweep(self, stage, directory, *options, out=None, codes=(0,)):
        """Runs a stage into `out`; the rows of its file."""
        out = out or self.tmp / "out"
        self.result = trawl("sweep", stage, directory, "-o", out, *options, timeout=120)
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        suffix = {"variance": "", "timestamps": "_with_timestamps",
                  "overlap": "_with_collective_overlap"}[stage]
        self.file = out / "tracelens_analysis" / f"{NAME}{suffix}.csv"
        return read_csv(self.file) if self.file.exists() else None

    def locations(self):
        rows = read_csv(shared("cases/sweep/e2e_pipeline/corrected/locations.csv"))
        self.assertEqual(len(rows), 128)
        return {(key(r), r["op"], r["input_dims"]): r for r in rows}

    def assertLocations(self, rows):
        """Every operation where and when it should be, to the last digit."""
        want = self.locations()
        same = {
            "op_time_min_us": "min_call_time_us", "op_time_max_us": "max_call_time_us",
            "min_op_start_us": "min_call_start_us", "max_op_start_us": "max_call_start_us",
            "max_op_end_us": "max_call_end_us", "min_main_dur_us": "min_duration_found_us",
            "max_main_dur_us": "max_duration_found_us",
        }
        self.assertEqual(len(rows), len(want))
        for row in rows:
            r = want.pop((key(row), row["col_name"], row["col_Input Dims_first"]))
            for theirs, ours in same.items():
                self.assertEqual(Decimal(r[theirs]), Decimal(row[ours]), (theirs, r, row))
            for which in ("min", "max"):
                ms = row[f"{which}_duration_timestamp_ms"]
                self.assertRegex(ms, r"^\d+\.\d{6}$")
                self.assertEqual(Decimal(r[f"{which}_main_ts_us"]), Decimal(ms) * 1000, r)
            self.assertEqual(Decimal(row["time_between_min_max_ms"]) * 1000,
                             abs(Decimal(r["max_main_ts_us"]) - Decimal(r["min_main_ts_us"])))
            self.assertEqual(row["main_kernel"], r["main_kernel"])
            self.assertEqual(row["matched_by"], "operation")
        self.assertEqual(want, {})

    def assertOverlaps(self, rows):
        want = self.locations()
        for row in rows:
            r = want.pop((key(row), row["col_name"], row["col_Input Dims_first"]))
            names = [n for n in row["overlapping_collective_names"].split(";") if n]
            theirs = [n for n in r["collectives_overlapping_max_op"].split(";") if n]
            self.assertEqual(sorted(set(names)), sorted(set(theirs)), row)
            self.assertEqual(int(row["overlapping_collective_count"]), len(names))
            self.assertEqual(Decimal(row["total_overlap_duration_ms"]) * 1000,
                             Decimal(r["unique_overlap_us"]), row)
            # Four digits of a ratio of doubles of microseconds.
            self.assertAlmostEqual(float(row["total_overlap_percentage"]),
                                   float(r["overlap_percent_of_op_span"]), delta=1e-3)
            self.assertLessEqual(float(row["max_overlap_percentage"]),
                                 float(row["total_overlap_percentage"]) + 1e-9)
            self.assertEqual(row["max_overlap_collective"] in names, bool(names))
        self.assertEqual(want, {})

    def test_from_traces(self):
        sweep = shared("cases/sweep/e2e_tracelens/in/sweep")
        rows = self.sweep("variance", sweep)
        self.assertEqual(len(rows), 128)
        times = self.sweep("timestamps", sweep)
        self.assertLocations(times)
        self.assertEqual({r["match_status"] for r in times}, {"exact"})
        for row, before in zip(times, rows):
            self.assertEqual({k: row[k] for k in before}, before, "columns pass through")
            self.assertEqual(row["kernel_name"], row["main_kernel"])
        overlap = self.sweep("overlap", sweep)
        for row, before in zip(overlap, times):
            self.assertEqual({k: row[k] for k in before}, before)
        self.assertOverlaps(overlap)

    def test_from_reports_of_tracelens(self):
        sweep = shared("cases/sweep/e2e_tracelens/in/sweep")
        reports = shared("cases/sweep/e2e_tracelens/out/sweep/tracelens_analysis")
        out = self.tmp / "out"
        for path in reports.glob("*thread/*_reports/*.xlsx"):
            to = out / "tracelens_analysis" / path.relative_to(reports)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
        rows = self.sweep("variance", sweep, out=out)
        self.assertEqual(len(rows), 128)
        self.assertIn("col_Compute Spec", rows[0], "it is the layout of TraceLens today")
        times = self.sweep("timestamps", sweep, out=out)
        self.assertLocations(times)
        self.assertEqual({r["match_status"] for r in times}, {"exact"})
        self.assertOverlaps(self.sweep("overlap", sweep, out=out))
        # Without traces the collective reports tell the same, but for the rounding of doubles.
        exact = {(key(r), r["col_name"], r["col_Input Dims_first"]): r for r in read_csv(self.file)}
        alone = self.tmp / "alone"
        shutil.copytree(out / "tracelens_analysis", alone)
        result = trawl("sweep", "overlap", alone, "--input-csv",
                       out / "tracelens_analysis" / f"{TIMES}.csv",
                       "--output-csv", self.tmp / "reports.csv")
        self.assertExit(result, 0)
        for row in read_csv(self.tmp / "reports.csv"):
            want = exact[key(row), row["col_name"], row["col_Input Dims_first"]]
            self.assertEqual(row["overlapping_collective_names"],
                             want["overlapping_collective_names"])
            self.assertAlmostEqual(float(row["total_overlap_duration_ms"]),
                                   float(want["total_overlap_duration_ms"]), delta=2e-6)

    def test_from_files_of_the_originals(self):
        """Their variance file names the first kernel; the operations are told, and are found."""
        sweep = shared("cases/sweep/e2e_tracelens/in/sweep")
        theirs = shared("cases/sweep/e2e_pipeline/as_is", f"{NAME}.csv")
        rows = self.sweep("timestamps", sweep, "--input-csv", theirs)
        self.assertLocations(rows)
        self.assertEqual({r["match_status"] for r in rows}, {"exact"})
        before = read_csv(theirs)
        for row, old in zip(rows, before):
            self.assertEqual({k: row[k] for k in old}, old)

    def test_overlap_of_a_file_of_the_originals(self):
        """From their timestamps, the interval is that of their kernel; so far they are right."""
        sweep = shared("cases/sweep/e2e_tracelens/in/sweep")
        theirs = shared("cases/sweep/e2e_pipeline/as_is", f"{TIMES}.csv")
        want = read_csv(shared("cases/sweep/e2e_pipeline/as_is", f"{OVERLAP}.csv"))
        rows = self.sweep("overlap", sweep, "--input-csv", theirs)
        self.assertEqual(len(rows), len(want))
        for row, old in zip(rows, want):
            self.assertEqual(row["overlapping_collective_count"],
                             old["overlapping_collective_count"])
            self.assertEqual(sorted(row["overlapping_collective_names"].split(";")),
                             sorted(old["overlapping_collective_names"].split(";")))
            # Their stamps are doubles of milliseconds.
            self.assertAlmostEqual(float(row["total_overlap_duration_ms"]),
                                   float(old["total_overlap_duration_ms"]), delta=2e-6)
            self.assertAlmostEqual(float(row["max_overlap_percentage"]),
                                   float(old["max_overlap_percentage"]), delta=1e-3)

    # ---- real reports of an older layout

    def main_kernel(self, cell):
        """The kernel of most time, read another way than by trawl."""
        total = {}
        for kernel in ast.literal_eval(re.sub(r"np\.float64\(([^)]*)\)", r"\1", cell)):
            total[kernel["name"]] = total.get(kernel["name"], 0) + kernel["total_duration_us"]
        return min(total, key=lambda name: (-round(total[name], 3), name))

    def compare_variance(self, rows, want):
        self.assertEqual(len(rows), len(want))
        columns = list(want[0])
        self.assertEqual(list(rows[0])[:len(columns)], columns)
        renamed = 0
        for row, old in zip(rows, want):
            for column in columns:
                if column == "kernel_name":
                    main = self.main_kernel(old["col_kernel_details__summarize_kernel_stats"])
                    self.assertEqual(row[column], main)
                    renamed += main != old[column]
                elif row[column] != old[column]:
                    self.assertEqual(float(row[column]), float(old[column]), column)
        return renamed

    def test_real_reports(self):
        case = shared("cases/sweep/variance_tracelens_ref")
        rows = self.sweep("variance", case / "in/tracelens_analysis")
        # Directories of reports alone are a sweep too; their results lie among them.
        self.assertIsNone(rows)
        path = self.tmp / "out" / f"{NAME}.csv"
        rows = read_csv(path)
        renamed = self.compare_variance(rows, read_csv(case / f"out/ta/{NAME}.csv"))
        self.assertEqual(renamed, 0)

        trawl("sweep", "variance", case / "in/tracelens_analysis", "--top-k", "1000",
              "--output-csv", self.tmp / "all.csv")
        want = read_csv(case / "out/ta/all.csv")
        ours = read_csv(self.tmp / "all.csv")
        # Theirs was made with 512 threads first, which shows only where differences are equal.
        order = {r["time_diff_us"]: i for i, r in enumerate(want)}
        self.assertEqual(len(order), len(want), "no two differences are equal")
        self.assertGreater(self.compare_variance(ours, want), 0,
                           "some are named after another kernel than the one that counts")

        result = trawl("sweep", "variance", case / "in/tracelens_analysis", "--threads", "256,512",
                       "--channels", "28,42", "--ranks", "0,1", "--top-k", "1",
                       "--output-csv", self.tmp / "sub/dir/top1.csv")
        self.assertExit(result, 3)
        self.assertRegex(result.err, "no configuration of 42 channels")
        self.assertRegex(result.err, r"256thread_28ch: missing rank 1")
        self.compare_variance(read_csv(self.tmp / "sub/dir/top1.csv"),
                              read_csv(case / "out/ta/sub/dir/top1.csv"))

    def test_without_collectives(self):
        case = shared("cases/sweep/no_collectives")
        sweep = self.tmp / "sweep"
        shutil.copytree(case / "in/sweep", sweep)
        shutil.copytree(case / "out/sweep/tracelens_analysis", sweep / "tracelens_analysis")
        own = self.tmp / "var.csv"
        shutil.copy(case / "out/var.csv", own)
        result = trawl("sweep", "timestamps", sweep, "--input-csv", own)
        self.assertExit(result, 0)
        row, = read_csv(self.tmp / "var_with_timestamps.csv")
        old, = read_csv(case / "out/var_with_timestamps.csv")
        # 200 and 230 were made up: the nearest operation with that kernel is told as such.
        self.assertEqual((row["match_status"], row["matched_by"]), ("nearest", "kernel"))
        self.assertEqual(row["min_duration_found_us"], old["min_duration_found_us"])
        self.assertEqual(row["max_duration_found_us"], old["max_duration_found_us"])
        self.assertAlmostEqual(float(row["min_duration_timestamp_ms"]),
                               float(old["min_duration_timestamp_ms"]), delta=1e-5)
        result = trawl("sweep", "overlap", sweep, "--input-csv",
                       self.tmp / "var_with_timestamps.csv")
        self.assertExit(result, 0)
        row, = read_csv(self.tmp / "var_with_collective_overlap.csv")
        self.assertEqual([row["overlapping_collective_count"], row["overlapping_collective_names"],
                          float(row["max_overlap_percentage"]), row["max_overlap_collective"],
                          float(row["total_overlap_duration_ms"])], ["0", "", 0, "", 0])
        self.assertRegex(result.out, "pure computation")


if __name__ == "__main__":
    unittest.main()
