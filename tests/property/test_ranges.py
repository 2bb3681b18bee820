"""GPU time of ranges on random traces, against a slow second computation (ranges_oracle.py)."""
import csv
import io
import pathlib
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
import ranges_oracle
from random_trace import Maker, text
from support import FULL, SANITIZED, SHARED, Case, trawl

SEEDS = 6 if SANITIZED else 200 if FULL else 60
TRACES = SHARED / "traces"
COLUMNS = {"gpu": "GPU time (ms)", "communication": "communication (ms)",
           "exposed": "exposed communication (ms)"}
COUNTS = {"events": "GPU events", "kernels": "kernels"}


def ns(ms):
    return None if ms == "" else int(Decimal(ms) * 1000000)


def annotated(seed):
    """A random trace with annotations that nest, cross, and begin and end together."""
    maker = Maker(seed)
    events = maker.make()
    r = maker.r
    for e in events:  # a second process
        if e["tid"] == 102:
            e["pid"] = 32
    places = [(e["pid"], e["tid"], e["ts"]) for e in events if "cuda" in e["cat"]]
    # Edges at launches, beside them, and few of them, so that they meet.
    edges = sorted({int(Decimal(ts.strip("@")) * 1000) - maker.origin + r.choice([-1, 0, 0, 0, 1])
                    for _, _, ts in r.choices(places, k=r.choice([4, 12, 40]))} | {0, 10**6}) \
        if places else [0, 10**6]
    names = r.sample(["step", "forward", "backward", "layer.0", "layer.1", "loss", "",
                      "nccl:all_reduce", "FSDP::pre_backward"],
                     r.choice([1, 2, 5, 8]))
    threads = [*{(p, t) for p, t, _ in places}, (31, 900)]
    threads = r.sample(sorted(threads), r.randrange(1, len(threads) + 1))
    for _ in range(r.choice([0, 1, 5, 30, 80])):
        lo, hi = sorted(r.choices(edges, k=2))
        pid, tid = r.choice(threads)
        maker.put("user_annotation", r.choice(names), pid, tid, lo, hi - lo, {})
    r.shuffle(maker.events)
    return text(maker.events)


class Ranges(Case):
    def ranges(self, path, *options):
        """Rows by (pid, kind, range)."""
        done = trawl("nsys", "ranges", path, "--format", "csv", *options)
        self.assertExit(done, 0)
        out = {}
        for row in csv.DictReader(io.StringIO(done.out)):
            key = (int(row["pid"]) if row["pid"] else None, row["kind"], row["range"])
            self.assertNotIn(key, out)
            out[key] = row
        return out

    def same(self, row, want, prefix=""):
        self.assertEqual({k: ns(row[prefix + c]) for k, c in COLUMNS.items()},
                         {k: want[k] for k in COLUMNS})

    def compare(self, got, want, linked):
        self.assertEqual(set(got), set(want))
        for key, row in got.items():
            truth = want[key]
            if key[1] != "range":
                self.same(row, truth.own)
                self.same(row, truth.own, "self ")
                continue
            self.assertEqual((int(row["instances"]), ns(row["host time (ms)"])),
                             (truth.instances, truth.host))
            if not linked:
                self.assertEqual(row["GPU time (ms)"], "")
                continue
            self.same(row, truth.all)
            self.same(row, truth.own, "self ")
            self.assertEqual({k: int(row[c]) for k, c in COUNTS.items()},
                             {k: truth.all[k] for k in COUNTS})
            self.assertEqual(ns(row["projected (ms)"]),
                             truth.projected if truth.all["events"] else None)

    def one(self, seed):
        source = annotated(seed)
        truth = oracle.Trace(source)
        want = ranges_oracle.rows(truth, source)
        got = self.ranges(self.write(source))
        if not any(kind == "range" for _, kind, _ in want):
            self.assertEqual(got, {})
            return
        self.compare(got, want, any(g.launch for g in truth.gpu))
        self.order(got)

    def order(self, got):
        """By process, then GPU time, then name; what is in no range last."""
        last = {"range": 0, "outside": 1, "unlaunched": 2}
        keys = [(pid is None, pid or 0, last[kind], -(ns(row["GPU time (ms)"]) or 0),
                 name.encode()) for (pid, kind, name), row in got.items()]
        self.assertEqual([k if k[2] == 0 else k[:3] for k in keys],
                         [k if k[2] == 0 else k[:3] for k in sorted(keys)])

    @unittest.skipUnless(TRACES.is_dir(), f"no {TRACES}")
    def test_real_traces_add_up(self):
        """The self times of all rows are all GPU time; a name has no more than there is."""
        with_ranges = 0
        for path in sorted(TRACES.glob("*/trace.json.gz")):
            with self.subTest(trace=path.parent.name):
                got = self.ranges(path)
                if not got:
                    continue
                with_ranges += 1
                rep = self.report(path, "--no-xlsx")
                total = sum(sum(ns(r[c]) for r in rep.table("streams")) for c in ("sum (ms)",))
                self.assertEqual(sum(ns(r["self GPU time (ms)"] or "0") for r in got.values()),
                                 total)
                for row in got.values():
                    if row["GPU time (ms)"]:
                        self.assertLessEqual(ns(row["self GPU time (ms)"]),
                                             ns(row["GPU time (ms)"]))
        self.assertGreater(with_ranges, 3)


def add_tests():
    for seed in range(SEEDS):
        setattr(Ranges, f"test_seed_{seed:03d}", lambda self, s=seed: self.one(s))


add_tests()

if __name__ == "__main__":
    unittest.main()
