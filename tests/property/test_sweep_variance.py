"""trawl sweep variance, timestamps and overlap on made-up jobs against a slow second computation: the
calls of each matrix product, which is the shortest and which the longest, where they and their main
kernel ran, and how much of the longest lies beside communication."""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
from support import FULL, SANITIZED, Case, read_csv, tracegen, trawl

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm")
JOBS = [("train", "amd", 31), ("train", "nvidia", 32), ("infer", "amd", 33), ("compile", "nvidia", 34)]
JOBS = JOBS[:1] if SANITIZED else JOBS * 3 if FULL else JOBS
NAME = "top1000_gemm_kernels_time_variance"


# What kernels of these libraries tell of transposed inputs makes rows of their own.
TRANSPOSED = re.compile(r"Cijk_(A[il][il]k_B[jl][jl]k)|nvjet_.*_([TN]{2})[TN](?:_|$)")


def ns(us):
    return int(Decimal(us) * 1000)



def listed(value):
    """As a sheet has it."""
    return str(value) if value else ""


class Call:
    def __init__(self, event, gpu):
        self.event, self.gpu = event, sorted(gpu, key=lambda g: (g.ts, g.index))
        self.time = oracle.length([g.span for g in gpu])

    def main(self, name):
        """The longest run of a kernel, the first of equals."""
        runs = [g for g in self.gpu if g.name == name]
        return max(runs, key=lambda g: (g.dur, -g.ts)) if runs else None


def transposed(gpu):
    for g in gpu:
        found = TRANSPOSED.search(g.name)
        if found:
            return found[1] or found[2]
    return None


def products(trace):
    """(name, arguments) -> calls by transposition, in the order of the trace."""
    under = collections.defaultdict(list)
    for g in trace.gpu:
        at = g.launch
        while at is not None:
            under[at.index].append(g)
            at = at.parent
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for e in sorted(trace.host, key=lambda e: e.index):
        if e.cat == "cpu_op" and e.name in PRODUCTS:
            key = (e.name, *(listed(e.args.get(k)) for k in
                             ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")))
            found[key][transposed(under[e.index])].append(Call(e, under[e.index]))
    return found


class Variance(Case):
    def sweep(self, kind, vendor, seed):
        """Two configurations of two ranks."""
        self._runs += 1
        place = self.tmp / f"sweep{self._runs}"
        for i, threads in enumerate((256, 512)):
            made = self.tmp / f"made{self._runs}_{threads}"
            subprocess.run([str(tracegen()), "--kind", kind, "--vendor", vendor, "--ranks", "2",
                            "--steps", "3", "--seed", str(seed + 100 * i), "-o", str(made),
                            "--truth", str(self.tmp / f"truth{self._runs}_{threads}")],
                           check=True, capture_output=True)
            for rank in range(2):
                to = place / f"{threads}thread/nccl_28channels/torch_profiler/rank{rank}"
                to.mkdir(parents=True)
                found = sorted(made.glob(f"rank{rank}*"))
                self.assertEqual(len(found), 1)
                shutil.move(found[0], to / "trace.json")
        return place

    def run_stage(self, stage, place):
        result = trawl("sweep", stage, place, "--top-k", "1000", timeout=120)
        self.assertAlive(result)
        self.assertExit(result, 0)
        suffix = {"variance": "", "timestamps": "_with_timestamps",
                  "overlap": "_with_collective_overlap"}[stage]
        return read_csv(place / "tracelens_analysis" / f"{NAME}{suffix}.csv")

    def check_call(self, row, which, call, main):
        first, last = min(g.ts for g in call.gpu), max(g.end for g in call.gpu)
        run = call.main(main)
        self.assertEqual(ns(row[f"{which}_call_time_us"]), call.time)
        self.assertEqual(ns(row[f"{which}_call_start_us"]), first)
        self.assertEqual(ns(row[f"{which}_call_end_us"]), last)
        self.assertEqual(int(row[f"{which}_call_event"]), call.event.index)
        self.assertEqual(row[f"{which}_duration_timestamp_ms"],
                         f"{run.ts // 10**6}.{run.ts % 10**6:06d}" if run else "")
        self.assertEqual(row[f"{which}_duration_found_us"] and
                         ns(row[f"{which}_duration_found_us"]), run.dur if run else "")

    def check_overlap(self, row, trace, call):
        lo, hi = min(g.ts for g in call.gpu), max(g.end for g in call.gpu)
        inside = sorted((g for g in oracle.cut(trace.gpu, lo, hi)
                         if g.kind() == "communication" and g.dur > 0), key=lambda g: g.ts)
        self.assertEqual(int(row["overlapping_collective_count"]), len(inside))
        together = oracle.length([g.span for g in inside])
        self.assertEqual(int(Decimal(row["total_overlap_duration_ms"]) * 10**6), together)
        self.assertAlmostEqual(float(row["total_overlap_percentage"]), 100 * together / (hi - lo))
        self.assertAlmostEqual(float(row["max_overlap_percentage"]),
                               100 * max([g.dur for g in inside], default=0) / (hi - lo))

    def check_row(self, row, trace, calls):
        totals = collections.Counter()
        for call in calls:
            for g in call.gpu:
                totals[g.name] += g.dur
        main = min(totals, key=lambda name: (-totals[name], name))
        self.assertEqual(row["main_kernel"], main)
        self.assertEqual(int(row["col_name_count"]), len(calls))
        self.assertEqual(int(row["col_UID_first"]), calls[0].event.index)
        # A call whose GPU work was not recorded took no time that is known.
        shortest = min([c for c in calls if c.gpu], key=lambda c: (c.time, c.event.index))
        longest = max(calls, key=lambda c: (c.time, c.event.index))
        self.assertEqual(ns(row["kernel_time_min_us"]), shortest.time)
        self.assertEqual(ns(row["kernel_time_max_us"]), longest.time)
        self.assertEqual(ns(row["time_diff_us"]), longest.time - shortest.time)
        self.assertEqual((row["match_status"], row["matched_by"]), ("exact", "operation"))
        self.check_call(row, "max", longest, main)
        self.check_call(row, "min", shortest, main)
        self.check_overlap(row, trace, longest)

    def test_made_up_jobs(self):
        overlapping = 0
        for kind, vendor, seed in JOBS:
            with self.subTest(kind=kind, vendor=vendor, seed=seed):
                place = self.sweep(kind, vendor, seed)
                rows = self.run_stage("variance", place)
                times = self.run_stage("timestamps", place)
                overlap = self.run_stage("overlap", place)
                self.assertEqual([{k: r[k] for k in rows[0]} for r in overlap], rows)
                self.assertEqual([{k: r[k] for k in times[0]} for r in overlap], times)
                self.assertEqual([ns(r["time_diff_us"]) for r in rows],
                                 sorted((ns(r["time_diff_us"]) for r in rows), reverse=True))
                by_rank = collections.defaultdict(list)
                for r in overlap:
                    by_rank[r["threads"], r["rank"]].append(r)
                    overlapping += r["overlapping_collective_count"] != "0"
                self.assertEqual(len(by_rank), 4)
                for (threads, rank), found in by_rank.items():
                    trace = oracle.Trace(place / f"{threads}thread/nccl_28channels/torch_profiler"
                                         / f"rank{rank}/trace.json")
                    want = {}
                    for k, groups in products(trace).items():
                        for calls in groups.values():
                            if any(x.gpu for x in calls):
                                want[k, calls[0].event.index] = calls
                    self.assertEqual(len(found), len(want))
                    for row in found:
                        key = (row["col_name"], row["col_Input Dims_first"],
                               row["col_Input type_first"], row["col_Input Strides_first"],
                               row["col_Concrete Inputs_first"])
                        self.check_row(row, trace, want.pop((key, int(row["col_UID_first"]))))
        self.assertGreater(overlapping, 0)


if __name__ == "__main__":
    unittest.main()
