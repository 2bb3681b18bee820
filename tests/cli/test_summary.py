"""The roofline in the summary of report."""
import csv
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, document, environment, kernel, launch, op, trawl


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


if __name__ == "__main__":
    unittest.main()
