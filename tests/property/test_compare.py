"""trawl compare on random reports, worked out a second time, slowly and with exact numbers."""
import csv
import json
import pathlib
import random
import sys
import unittest
from fractions import Fraction

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import FULL, Case, trawl

SPREAD = Fraction(14826, 10000)


def middle(values):
    values = sorted(values)
    n = len(values)
    return Fraction(values[(n - 1) // 2] + values[n // 2], 2)


def spread(values):
    return SPREAD * middle([abs(v - middle(values)) for v in values]) if len(values) > 1 else None


def verdict(first, second, total):
    """As docs/METRICS.md has it: times of ranks in ns, total of the baseline."""
    if not first or not second:
        return "gone" if first else "new"
    a, b = middle(first), middle(second)
    noises = [s for s in (spread(first), spread(second)) if s is not None]
    if a == b or (noises and abs(b - a) <= max(noises)) or abs(b - a) < a / 100 or \
            abs(b - a) < total / 1000:
        return "same"
    return "better" if b < a else "worse"


class Random(Case):
    def make(self, r, side):
        """Reports of ranks: {rank: {kernel: ns}}, and the directory of them."""
        place = self.tmp / side
        ranks = {}
        for rank in sorted(r.sample(range(6), r.randint(1, 5))):
            scale = r.choice((1, 1, 1, 0.99, 1.02, 1.3))
            ranks[rank] = {f"k{i}": round(1000 * 3 ** i * scale * r.uniform(0.97, 1.03))
                           for i in range(10) if r.random() < 0.9}
            out = place / f"perf_rank{rank}_csvs"
            out.mkdir(parents=True)
            with open(out / "gpu_timeline.csv", "w", newline="") as f:
                total = sum(ranks[rank].values())
                csv.writer(f).writerows([["type", "time ms"], ["total_time", f"{total / 1e6:.6f}"]])
            with open(out / "kernel_summary.csv", "w", newline="", encoding="utf-8") as f:
                rows = [["Kernel duration (µs)_sum", "Kernel name"]]
                for name, ns in ranks[rank].items():
                    # Two streams of the same kernel.
                    part = r.randint(0, ns)
                    rows += [[f"{v / 1e3:.3f}", name] for v in (part, ns - part)]
                csv.writer(f).writerows(rows[:1] + r.sample(rows[1:], len(rows) - 1))
        return place, ranks

    def test_verdicts(self):
        seen = set()
        for seed in range(400 if FULL else 40):
            r = random.Random(seed)
            (a, first), (b, second) = self.make(r, f"a{seed}"), self.make(r, f"b{seed}")
            result = trawl("compare", a, b, "-o", self.tmp / "page.html", "--format", "json", "-q")
            self.assertExit(result, 0)
            table = next(t for t in json.loads(result.out)["tables"]
                         if t["name"] == "kernel_changes")
            headers = [c["header"] for c in table["columns"]]
            rows = {row["Kernel name"]: row for row in
                    (dict(zip(headers, x)) for x in table["rows"])}
            common = first.keys() & second.keys()
            total = middle([sum(v.values()) for k, v in first.items()
                            if k in common or not common])
            names = {k for ranks in (first, second) for v in ranks.values() for k in v}
            self.assertEqual(rows.keys(), names)
            for name in names:
                x = {k: v[name] for k, v in first.items() if name in v}
                y = {k: v[name] for k, v in second.items() if name in v}
                both = x.keys() & y.keys()
                x, y = ([v for k, v in z.items() if k in both or not both] for z in (x, y))
                want = verdict(x, y, total)
                row = rows[name]
                self.assertEqual(row["verdict"], want, (seed, name, x, y, total))
                seen.add((want, row["why"].split(" (")[0].split(";")[0][-20:]))
                for values, column in ((x, "baseline"), (y, "test")):
                    got = row[f"{column} ms"]
                    self.assertEqual(got, float(middle(values) / 10 ** 6) if values else None)
                    self.assertEqual(row[f"{column} ranks"], len(values))
        self.assertGreaterEqual({v for v, _ in seen}, {"same", "better", "worse", "new", "gone"})
        self.assertGreaterEqual(len(seen), 8)


if __name__ == "__main__":
    unittest.main()
