"""The share of operations' kernel time that has bytes, on each real trace; the figures are printed.

Left out by evidence are what a GPU graph launched, what an operation without recorded arguments
launched (regions of compiled code, custom operations) and what was launched outside operations.
"""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, report

TRACES = SHARED / "traces"
GRAPH = re.compile(r"(cuda|hip|cu)GraphLaunch")
LAUNCH = re.compile(r"(cuda|hip|cu)\w*Launch\w*->")
# Of the operations that launched something, at least.
LEAST = 0.99


def launched_by_operation(row):
    """A row of an operation whose arguments were recorded."""
    name = row["name"]
    return not GRAPH.match(name) and not LAUNCH.match(name) and bool(row["Input Dims"])


class Coverage(Case):
    def of(self, directory):
        return report(directory / "trace.json.gz", self.tmp / directory.name, timeout=120)

    def test_time_that_has_bytes(self):
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED); no coverage was measured")
        low = []
        for directory in sorted(p for p in TRACES.iterdir() if p.is_dir()):
            rep = self.of(directory)
            rows = rep.table("unified_perf_summary") if rep.has("unified_perf_summary") else []
            all_us = have = share_of_all = 0
            for row in rows:
                time = float(row["Kernel Time (µs)_sum"])
                share_of_all += time
                if launched_by_operation(row):
                    all_us += time
                    have += time if row["Data Moved (MB)"] else 0
            if not all_us:
                print(f"{directory.name}: no operation with arguments launched anything")
                continue
            print(f"{directory.name}: {100 * have / all_us:.2f} % of {all_us:.0f} us that "
                  f"operations launched have bytes ({100 * have / share_of_all:.2f} % of all)")
            if have / all_us < LEAST:
                low.append(f"{directory.name}: {have / all_us:.4f}")
        self.assertEqual(low, [])

    def test_what_is_over_the_bandwidth_is_named(self):
        """Each row whose bytes would need more than its time is in the notes of the table, and over
        110 % of the roofline in the summary."""
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED); no row was looked at")
        over = 0
        for directory in sorted(p for p in TRACES.iterdir() if p.is_dir()):
            rep = self.of(directory)
            rows = rep.table("unified_perf_summary") if rep.has("unified_perf_summary") else []
            words = " ".join(rep.out.split())
            for number, row in enumerate(rows, 1):
                percent = float(row["Pct Roofline_mean"] or 0)
                if percent > 110:
                    over += 1
                    self.assertIn(f"(row {number}) {percent:.0f} %", words, directory.name)
        print(f"{over} rows over 110 % of the roofline, each named")


if __name__ == "__main__":
    unittest.main()
