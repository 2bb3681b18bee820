"""The share of operations' kernel time that has bytes, on each real trace; the figures are printed.

Left out by evidence are what a GPU graph launched, what an operation without recorded arguments
launched (regions of compiled code, custom operations) and what was launched outside operations.
"""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, report

TRACES = SHARED / "traces"
GRAPH = re.compile(r"(cuda|hip|cu)GraphLaunch")
LAUNCH = re.compile(r"(cuda|hip|cu)\w*Launch\w*->")
# Of the operations that launched something, at least.
LEAST = 0.99


def launched_by_operation(row):
    """A row of an operation whose arguments were recorded."""
    name = row["name"]
    return not GRAPH.match(name) and not LAUNCH.match(name) and bool(row["Input Dims"])


def bandwidths():
    """GB/s by platform."""
    lines = (ROOT / "data/platforms.tsv").read_text(encoding="utf-8").splitlines()
    cells = [x.split("\t") for x in lines if not x.startswith("#")]
    return {c[0]: float(c[2]) for c in cells if c[1] == "mem_bw_gbps"}


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
        """Each row over 100 % of the roofline, or whose bytes need more than its time at the
        bandwidth, is in the summary."""
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED); no row was looked at")
        over = rows_seen = 0
        gbps = bandwidths()
        for directory in sorted(p for p in TRACES.iterdir() if p.is_dir()):
            rep = self.of(directory)
            rows = rep.table("unified_perf_summary") if rep.has("unified_perf_summary") else []
            words = " ".join(rep.out.split())
            platform = re.search(r"^roofline peaks: (.*?)(?: \(|$)", rep.out, re.M)
            for number, row in enumerate(rows if platform else [], 1):
                percent = float(row["Pct Roofline_mean"] or 0)
                moved_gb = float(row["Data Moved (MB)"] or 0) * 2**20 / 1e9
                us = float(row["Kernel Time (µs)_mean"] or 0)
                rows_seen += 1
                if percent > 100 or moved_gb > us / 1e6 * gbps[platform[1]] > 0:
                    over += 1
                    self.assertRegex(words, rf"\(row {number}\) [\d.]+ %", directory.name)
        self.assertGreater(rows_seen, 500)
        print(f"{over} of {rows_seen} rows over the roofline or the bandwidth, each named")


if __name__ == "__main__":
    unittest.main()
