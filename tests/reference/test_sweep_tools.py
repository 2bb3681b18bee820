"""trawl sweep timeline and trials against aorta's visualize_timeline.py and analyze_sweep_results.py.

Differences, all of them meant (docs/DEVIATIONS.md):
- overlap is the time with both compute and communication, each moment once; the original adds up all
  pairs of ranges;
- messages about files go to standard error;
- broken lines and trials that are left out give exit status 3.
"""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, trawl

CASE = SHARED / "cases/sweep/timeline_text_and_sweep"
COMPUTE, COMMUNICATION = ("forward", "backward"), ("all_gather", "reduce_scatter", "all_reduce")


def steps():
    out = {}
    for line in (CASE / "in/rank_00_metrics.jsonl").read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        out[record["step"]] = record["profile"]["ranges"]
    return out


def overlap_ms(ranges):
    """By cutting the time at every start and end, and looking at each piece."""
    def of(words):
        return [(r["start_ms"], r["end_ms"]) for r in ranges
                if any(w in r["tag"].lower() for w in words)]
    compute, communication = of(COMPUTE), of(COMMUNICATION)
    cuts = sorted({t for pair in compute + communication for t in pair})
    total = 0.0
    for a, b in zip(cuts, cuts[1:]):
        if any(s <= a and b <= e for s, e in compute) and \
                any(s <= a and b <= e for s, e in communication):
            total += b - a
    return total, sum(e - s for s, e in compute)


@unittest.skipUnless(CASE.is_dir(), "no reference cases")
class TestTimeline(Case):
    def test_text(self):
        done = trawl("sweep", "timeline", CASE / "in", "--text-only", "--num-steps", "2")
        self.assertEqual(done.rc, 3, done)
        expected = (CASE / "out/timeline_text.txt").read_text()
        expected = expected[expected.index("=" * 100):].rstrip("\n").split("\n")
        got = done.out.rstrip("\n").split("\n")
        changed = [i for i, (a, b) in enumerate(zip(expected, got)) if a != b]
        self.assertEqual(len(expected), len(got))
        self.assertEqual([got[i].split(":")[0] for i in changed],
                         ["  Overlap time", "  Overlap ratio"] * 2)
        ranges = steps()
        for step, at in zip((5, 6), changed[::2]):
            overlap, compute = overlap_ms(ranges[step])
            self.assertEqual(got[at], f"  Overlap time: {overlap:.2f} ms")
            ratio = overlap / compute
            self.assertEqual(got[at + 1], f"  Overlap ratio: {ratio:.4f} ({100 * ratio:.2f}%)")

    def test_table(self):
        done = trawl("sweep", "timeline", CASE / "in", "--text-only", "--start-step", "0",
                     "--num-steps", "10", "--format", "csv")
        rows = [r.split(",") for r in done.out.splitlines()[1:]]
        ranges = steps()
        self.assertEqual([int(r[0]) for r in rows], sorted(ranges))
        for r in rows:
            overlap, compute = overlap_ms(ranges[int(r[0])])
            self.assertAlmostEqual(float(r[5]), overlap, places=5)
            self.assertAlmostEqual(float(r[3]), compute, places=5)

    def test_broken_line_is_named(self):
        done = trawl("sweep", "timeline", CASE / "in", "--text-only")
        self.assertTrue(done.lines(r"rank_00_metrics\.jsonl:11:|FILE.*:11:"), done)

    def test_nothing_there(self):
        for options in (("--rank", "1"), ("--start-step", "50")):
            done = trawl("sweep", "timeline", CASE / "in", *options)
            self.assertEqual((done.rc, done.out), (1, ""), done)

    def test_picture(self):
        done = trawl("sweep", "timeline", CASE / "in", "--start-step", "0", "--num-steps", "3", "-o",
                     self.tmp / "t.png")
        self.assertEqual(done.rc, 3, done)
        png = (self.tmp / "t.png").read_bytes()
        size = [int.from_bytes(png[i:i + 4], "big") for i in (16, 20)]
        # 14 inches at 150 dots; 3 inches a panel, and the legend.
        self.assertEqual(size, [2100, 3 * 450 + 50])


@unittest.skipUnless(CASE.is_dir(), "no reference cases")
class TestTrials(Case):
    def test_all_of_it(self):
        done = trawl("sweep", "trials", CASE / "in/optuna", "--top-n", "4", "-o", self.tmp / "o")
        self.assertEqual(done.rc, 3, done)
        expected = (CASE / "out/sweep_results.txt").read_text()
        expected = expected[expected.index("=" * 80):expected.index("\nDetailed")]
        self.assertEqual(done.out, expected)
        self.assertEqual(json.loads((self.tmp / "o/analysis_summary.json").read_text()),
                         json.loads((CASE / "out/analysis_summary.json").read_text()))
        self.assertEqual([re.search(r"trial_\d+", x).group() for x in done.err.splitlines() if "skipped" in x],
                         ["trial_0003", "trial_0004"])


if __name__ == "__main__":
    unittest.main()
