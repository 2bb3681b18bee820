"""The roofline in the summary of report."""
import csv
import io
import json
import pathlib
import re
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, document, environment, kernel, launch, op, report, trawl


def products(*calls):
    """Products of float matrices: (M, N, K, kernel time in microseconds) each."""
    events = []
    for i, (m, n, k, dur) in enumerate(calls, 1):
        at = 1000 * i
        events += [
            op("aten::mm", at, 40, **{"External id": i, "Input Dims": [[m, k], [k, n]],
                                      "Input type": ["float", "float"]}),
            launch(at + 10, 5, i, **{"External id": i}),
            kernel("gemm", at + 50, dur, i)]
    return events


def least_us(m, n, k, gbps, tflops):
    return max(2 * m * n * k / tflops / 1e6, 4 * (m * k + k * n + m * n) / gbps / 1e3)


class Roofline(Case):
    # Of MI300X: GB/s, and TFLOP/s of matrix fp32.
    PEAKS = (5300, 163)

    def top(self, events, *options):
        path = self.write(document(events))
        result = trawl("report", path, "--no-csv", "--no-xlsx", "--format", "csv", *options)
        self.assertExit(result, 0)
        text = result.out.split("# top_operations\n")[1].split("\n\n")[0]
        return list(csv.DictReader(io.StringIO(text)))

    def test_weighted_by_time(self):
        calls = ((4096, 4096, 4096, 2000), (512, 512, 512, 10))
        least = sum(least_us(*c[:3], *self.PEAKS) for c in calls)
        (row,) = self.top(products(*calls), "--platform", "MI300X")
        self.assertAlmostEqual(float(row["roofline (%)"]) / (least / 2010 * 100), 1, 12)

    def test_without_a_platform(self):
        (row,) = self.top(products((64, 64, 64, 10)))
        self.assertNotIn("roofline (%)", row)

    def test_without_a_model(self):
        events = [op("my::op", 100, 40), launch(110, 5, 1), kernel("k", 150, 100, 1)]
        (row,) = self.top(events, "--platform", "MI300X")
        self.assertEqual(row["roofline (%)"], "")

    def test_over_the_roofline(self):
        fast = products((4096, 4096, 4096, 100), (64, 64, 64, 10))
        percent = least_us(4096, 4096, 4096, *self.PEAKS)
        for width in (80, 140):
            result = trawl("report", self.write(document(fast)), "--no-csv", "--no-xlsx",
                           "--platform", "MI300X", env=environment(COLUMNS=width))
            self.assertRegex(" ".join(result.out.split()),
                             r"\b1 row of unified_perf_summary over 110 % of the roofline, up to "
                             rf"{percent:.0f} %")
            self.assertLessEqual(max(map(len, result.out.splitlines())), width)
        slow = self.report(products((64, 64, 64, 10)), "--platform", "MI300X")
        self.assertNotIn("over 110", slow.out)

    def additions(self, *percents):
        """Additions at those percentages of the bandwidth: 12 bytes an element, in and out."""
        events, gbps = [], self.PEAKS[0]
        for i, percent in enumerate(percents, 1):
            elements = gbps * 1000 * 1000 // 12 + i
            us, at = round(12 * elements / gbps / 1e3 * 100 / percent, 3), 10000 * i
            events += [op("aten::add", at, 40, **{"External id": i,
                                                  "Input Dims": [[elements], [elements], []],
                                                  "Input type": ["float", "float", "Scalar"]}),
                       launch(at + 10, 5, i, **{"External id": i}), kernel("k", at + 50, us, i)]
        return self.write(document(events))

    def test_just_below_and_just_over(self):
        """Over 110 % of the bandwidth is wrong, over 100 % is named, what is below is not."""
        path = self.additions(99.9, 100.1, 109.9, 110.1)
        wrong = (r"1 row of unified_perf_summary over 110 % of the roofline, up to 110\.1 %: "
                 r"aten::add \(row 4\) 110\.1 % \(")
        little = (r"2 rows of unified_perf_summary at 100 to 110 % of the roofline: aten::add "
                  r"\(row 2\) 100\.1 %, aten::add \(row 3\) 109\.9 %")
        for form in ("table", "json", "markdown"):
            rep = report(path, self.tmp / form, "--platform", "MI300X", "--format", form,
                         xlsx=form == "table")
            words = " ".join(rep.out.split())
            self.assertEqual([round(float(r["Pct Roofline_mean"]), 2)
                              for r in rep.table("unified_perf_summary")],
                             [99.9, 100.1, 109.9, 110.1])
            self.assertRegex(words, wrong)
            self.assertRegex(words, little)
            self.assertNotIn("(row 1)", words)
        texts = zipfile.ZipFile(self.tmp / "table/perf_report.xlsx").read("xl/sharedStrings.xml")
        self.assertEqual(re.findall(rb"row (\d), aten::add: ([\d.]+) % of the memory bandwidth", texts),
                         [(b"2", b"100.1"), (b"3", b"109.9"), (b"4", b"110.1")])

    def test_only_little_over(self):
        rep = self.report(self.additions(109.9).read_bytes(), "--platform", "MI300X")
        self.assertRegex(rep.out, r"(?m)^1 row of unified_perf_summary at 100 to 110 % of the "
                         "roofline: aten::add")
        self.assertNotIn("over 110", rep.out)

    def test_over_the_bandwidth_without_a_peak(self):
        """What is known of a platform is enough: its bandwidth, where it has no peak."""
        own = self.write(json.dumps({"name": "own", "mem_bw_gbps": self.PEAKS[0]}), "own.json")
        rep = report(self.additions(105), self.tmp / "out", "--platform", own)
        self.assertExit(rep, 0)
        self.assertRegex(rep.out, r"at 100 to 110 % of the roofline: aten::add \(row 1\) 105\.0 %")


if __name__ == "__main__":
    unittest.main()
