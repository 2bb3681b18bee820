"""Random small traces against a slow second computation (oracle.py)."""
import pathlib
import random
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
from random_trace import random_trace
from support import FULL, SANITIZED, Case

SEEDS = 4 if SANITIZED else 120 if FULL else 30


def ns(us):
    return None if us is None else int(us * 1000)


def kernels(rep):
    """In nanoseconds; a window may hold none (copies alone), and has no table then."""
    return {n: (c, *map(ns, t)) for n, (c, *t) in rep.kernels().items()} \
        if rep.has("kernel_summary") else {}


class Random(Case):
    def one(self, seed, **options):
        text = random_trace(seed, **options)
        truth = oracle.Trace(text)
        rep = self.report(text)
        self.assertExit(rep, 0)
        self.assertOutputsSane(rep)
        self.timelines(rep, truth)
        self.kernels(rep, truth)
        self.operations(rep, truth)
        self.tracks(rep, truth)
        self.calls(rep, truth)
        self.balance(rep, truth)
        self.evidence(rep, truth)
        self.window(text, truth, seed)
        self.windows(text, truth, seed)
        self.launched(text, truth, seed)
        linked = [g for g in truth.gpu if g.launch]
        if linked:
            again = self.report(text, "--linked-only")
            self.assertEqual({k: ns(v) for k, v in again.figures().items()},
                             oracle.timeline(linked))

    def window(self, text, truth, seed):
        """A window of time cuts what reaches over its edges, and is the total."""
        first, last = min(g.ts for g in truth.gpu), max(g.end for g in truth.gpu)
        lo = first + (last - first) * (seed % 7) // 10
        hi = lo + (last - lo) * (1 + seed % 5) // 5
        inside = oracle.cut(truth.gpu, lo, hi)
        if not inside:
            return
        rep = self.report(text, "--start", lo, "--end", hi)
        self.assertExit(rep, 0)
        want = oracle.timeline(inside)
        want.update(total=hi - lo, idle=hi - lo - want["busy"])
        self.assertEqual({k: ns(v) for k, v in rep.figures().items()}, want)
        self.assertEqual(kernels(rep), oracle.kernel_sums(inside))
        self.assertReconciles(rep)

    def windows(self, text, truth, seed):
        """Of several windows an event has its part in each, and is one event."""
        r = random.Random(seed)
        first, last = min(g.ts for g in truth.gpu), max(g.end for g in truth.gpu)
        edges = sorted(r.sample(range(first, last + 20), 2 * r.choice([2, 3, 5])))
        windows = list(zip(edges[::2], edges[1::2]))
        parts = [p for lo, hi in windows for p in oracle.cut(truth.gpu, lo, hi)]
        more = "".join(',\n{"ph":"X","cat":"user_annotation","name":"part","pid":31,"tid":1,'
                       f'"ts":{Decimal(lo) / 1000:f},"dur":{Decimal(hi - lo) / 1000:f}}}'
                       for lo, hi in windows)
        rep = self.report(text.removesuffix("\n]}\n") + more + "\n]}\n", "--range", "part", "--by", "time")
        self.assertExit(rep, 0)
        want = oracle.timeline(parts) if parts else dict.fromkeys(oracle.timeline(truth.gpu), 0)
        total = sum(hi - lo for lo, hi in windows)
        want.update(total=total, idle=total - want["busy"])
        self.assertEqual({k: ns(v) for k, v in rep.figures().items()}, want)
        self.assertReconciles(rep)
        whole = {}
        for p in parts:
            if p.index in whole:
                whole[p.index].dur += p.dur
            else:
                whole[p.index] = p
        got = kernels(rep)
        self.assertEqual(got, oracle.kernel_sums(whole.values()))

    def evidence(self, rep, truth):
        """Why GPU events are communication, by count and time."""
        want, got = {}, {}
        for evidence, dur in truth.collectives():
            c, d = want.get(evidence, (0, 0))
            want[evidence] = (c + 1, d + dur)
        for r in rep.table("coll_analysis") if rep.has("coll_analysis") else []:
            key = r["Evidence"].replace("kernel ", "")
            c, d = got.get(key, (0, 0))
            got[key] = (c + int(r["operation_count"]), d + ns(Decimal(r["dur_sum"])))
        self.assertEqual(got, want)

    def launched(self, text, truth, seed):
        """What calls within some ranges launched, whenever it ran; the rest of the time is apart."""
        r = random.Random(seed + 1000)
        first = min([h.ts for h in truth.host] + [g.ts for g in truth.gpu])
        last = max([h.end for h in truth.host] + [g.end for g in truth.gpu])
        windows = []
        for _ in range(r.choice([1, 2, 4])):
            lo, hi = sorted(r.sample(range(first, last + 20), 2))
            windows.append((lo, hi))
        path = text.removesuffix("\n]}\n") + "".join(
            ',\n{"ph":"X","cat":"user_annotation","name":"part","pid":31,"tid":1,'
            f'"ts":{Decimal(lo) / 1000:f},"dur":{Decimal(hi - lo) / 1000:f}}}'
            for lo, hi in windows) + "\n]}\n"
        want = oracle.launched(truth, windows)
        rep = self.report(path, "--range", "part")
        self.assertExit(rep, 0)
        rows = {k: ns(v) for k, v in rep.timeline().items()}
        if want is None:
            self.assertIn("by time (no launches recorded)", rep.out)
            return
        self.assertIn("by launch", rep.out)
        own, spans, figures, table = want
        self.assertEqual({k: rows[v] for k, v in (
            ("busy", "busy_time"), ("compute", "computation_time"), ("comm", "total_comm_time"),
            ("memcpy", "total_memcpy_time"), ("exposed_comm", "exposed_comm_time"),
            ("exposed_memcpy", "exposed_memcpy_time"), ("other", "other_work_time"),
            ("idle", "idle_time"), ("total", "total_time"))}, figures, (seed, windows))
        got = kernels(rep)
        self.assertEqual(got, oracle.kernel_sums(own))
        self.assertReconciles(rep)
        self.assertEqual([(ns(Decimal(x["host start (µs)"])), int(x["GPU events"]),
                           *(int(Decimal(x[c]) * 1000000) for c in (
                               "busy (ms)", "after its end (ms)", "other work (ms)",
                               "GPU busy during it (ms)", "own during it (ms)")))
                          for x in rep.table("step_work")], table, (seed, windows))

    def timelines(self, rep, truth):
        self.assertEqual({k: ns(v) for k, v in rep.figures().items()}, oracle.timeline(truth.gpu))
        self.assertPercents(rep)
        for device in {g.device for g in truth.gpu}:
            self.assertEqual({k: ns(v) for k, v in rep.figures(device).items()},
                             oracle.timeline([g for g in truth.gpu if g.device == device]))

    def kernels(self, rep, truth):
        self.assertEqual(kernels(rep), oracle.kernel_sums(truth.gpu))
        want = {}
        for g in truth.gpu:
            if g.cat == "kernel":
                above = truth.parent_op(g) or g.launch
                key = (above.name if above else "", g.name, str(g.device), str(g.stream))
                c, s = want.get(key, (0, 0))
                want[key] = (c + 1, s + g.dur)
        got = {}
        for r in rep.table("kernel_summary"):
            key = (r["Parent cpu_op"], r["Kernel name"], r["Kernel device"], r["Kernel stream"])
            # An operation without a category of its own takes its first kernel's: more rows.
            c, s = got.get(key, (0, 0))
            got[key] = (c + int(r["Kernel duration (µs)_count"]),
                        s + ns(Decimal(r["Kernel duration (µs)_sum"])))
        self.assertEqual({k: v for k, v in got.items() if want.get(k) != v},
                         {k: v for k, v in want.items() if got.get(k) != v})

    def operations(self, rep, truth):
        self.assertEqual({n: (c, ns(d), ns(s)) for n, (c, d, s) in rep.ops().items()},
                         oracle.ops(truth))

    def tracks(self, rep, truth):
        self.assertEqual({(r["device"], r["stream"]): (int(r["kernels"]), int(r["copies"]))
                          for r in rep.table("streams")},
                         {k: v[:2] for k, v in oracle.streams(truth.gpu).items()})

    def calls(self, rep, truth):
        """Each launch's GPU events, and launches that started nothing."""
        started = {}
        for g in truth.gpu:
            if g.launch:
                started[g.launch.index] = started.get(g.launch.index, 0) + 1
        want = {}
        for h in truth.host:
            if h.cat in ("cuda_runtime", "cuda_driver"):
                n = started.get(h.index, 0)
                c, k, z = want.get(h.name, (0, 0, 0))
                want[h.name] = (c + 1, k + n, z + (n == 0))
        got = {r["launch"]: tuple(int(r[c]) for c in ("calls", "GPU events", "calls without kernel"))
               for r in rep.table("launches")}
        self.assertEqual(got, want)

    def balance(self, rep, truth):
        self.assertReconciles(rep)
        q = rep.reconciliation()
        rows = sum(d for _, d, _ in oracle.ops(truth).values())
        t = oracle.timeline(truth.gpu)
        self.assertEqual([q["op_rows"], q["busy"], q["idle"], q["total"]],
                         [rows, t["busy"], t["idle"], t["total"]])


def add_tests():
    for seed in range(SEEDS):
        setattr(Random, f"test_seed_{seed:03d}", lambda self, s=seed: self.one(s))
        if seed % 5 == 0:
            setattr(Random, f"test_seed_{seed:03d}_external_id",
                    lambda self, s=seed: self.one(s, external_only=True))


class Oracle(unittest.TestCase):
    """The oracle itself, on times that a person can add up."""

    def test_union_and_difference(self):
        self.assertEqual(oracle.length([(0, 10), (10, 12), (5, 8), (20, 21)]), 13)
        self.assertEqual(oracle.minus([(0, 10), (20, 30)], [(5, 25)]), 10)
        self.assertEqual(oracle.minus([(0, 10)], [(0, 10)]), 0)
        self.assertEqual(oracle.minus([(0, 10)], []), 10)
        self.assertEqual(oracle.minus([], [(0, 10)]), 0)

    def test_rounding(self):
        self.assertEqual([oracle.to_ns(Decimal(t)) for t in
                          ("1.0004999999999999999999999999999", "1.0005", "1712169098001100.001")],
                         [1000, 1001, 1712169098001100001])


add_tests()

if __name__ == "__main__":
    unittest.main()
