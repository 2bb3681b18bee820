"""trawl report of several ranks against the reports of the single ranks, put together here."""
import csv
import gzip
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from fractions import Fraction

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (SHARED, TRAWL, Case, Report, base_events, document, kernel, launch, op,
                     read_csv, trawl, tracegen)

CASES = SHARED / "cases/ranks"
DLRM = SHARED / "traces_odd/dlrm_8rank_v100"
BAD_RANK = SHARED / "cases/kineto/104-one-bad-rank"

ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
FAMILY = {
    "keys": ("name", "param: *"), "by": "Kernel Time (µs)_sum", "count": "name_count",
    "same": ("GFLOPS_first", "Data Moved (MB)_first", "FLOPS/Byte_first", "Compute Spec",
             "Roofline Time (µs)_first", "Roofline Bound_first"),
    "mean": ("Kernel Time (µs)_mean", "TB/s_mean", "TFLOPS/s_mean", "Pct Roofline_mean"),
    "least": ("Kernel Time (µs)_min",), "most": ("Kernel Time (µs)_max",),
}
# What belongs together in tables over ranks: keys; the time that rows stand by; the number that
# means are over; what is added within a rank and over ranks; shares, added within a rank only.
TABLES = {
    "gpu_timeline": {"keys": ("type",), "by": "time ms", "share": ("percent",), "in order": True},
    "step_work": {
        "keys": ("annotation",), "by": "busy (ms)", "count": "GPU events", "in order": True,
        "added": ("after its end (ms)", "other work (ms)", "GPU busy during it (ms)",
                  "own during it (ms)"),
        "share": ("after its end (%)",)},
    "ops_summary_by_category": {
        "keys": ("op category",), "by": "total_direct_kernel_time_ms", "count": "Count",
        "share": ("Percentage (%)",)},
    "ops_summary": {
        "keys": ("name",), "by": "total_direct_kernel_time_ms", "count": "Count",
        "added": ("total_subtree_kernel_time_ms",), "share": ("Percentage (%)",),
        "same": ("Categories",)},
    "ops_unique_args": {
        "keys": ("name", "op category", *ARGUMENTS), "by": "total_direct_kernel_time_sum",
        "count": "operation_count", "added": ("total_subtree_kernel_time_sum",),
        "mean": ("total_direct_kernel_time_mean",), "least": ("total_direct_kernel_time_min",),
        "most": ("total_direct_kernel_time_max",), "share": ("Percentage (%)",)},
    "unified_perf_summary": {
        "keys": ("name", "op category", *ARGUMENTS), "by": "Kernel Time (µs)_sum",
        "count": "operation_count", "added": ("total_duration_us",),
        "mean": ("Kernel Time (µs)_mean", "TB/s_mean", "TFLOPS/s_mean", "Pct Roofline_mean"),
        "least": ("Kernel Time (µs)_min",), "most": ("Kernel Time (µs)_max",),
        "share": ("Percentage (%)",),
        "same": ("GFLOPS", "Data Moved (MB)", "FLOPS/Byte", "Compute Spec", "Roofline Bound",
                 "Roofline Time (µs)_first", "has_perf_model")},
    "kernel_categories": {
        "keys": ("kernel category",), "by": "kernel time (ms)", "count": "kernels",
        "added": ("without operation (ms)",), "share": ("Percentage (%)",)},
    "kernel_summary": {
        "same": ("Kernel category",),
        "keys": ("Parent op category", "Parent cpu_op", "Kernel name", "Kernel stream"),
        "by": "Kernel duration (µs)_sum", "count": "Kernel duration (µs)_count",
        "mean": ("Kernel duration (µs)_mean",), "least": ("Kernel duration (µs)_min",),
        "most": ("Kernel duration (µs)_max",),
        "share": ("Percent of kernels time (%)", "Percent of total time (%)")},
    "short_kernels_summary": {
        "keys": ("Parent cpu_op", "Input dims", "Input strides", "Concrete Inputs", "Kernel name"),
        "by": "Short Kernel duration (µs) sum", "count": "Short Kernel count",
        "mean": ("Short Kernel duration (µs) mean",),
        "share": ("Short Kernel duration (µs) percent of total time",)},
    "streams": {
        "keys": ("stream",), "by": "busy (ms)", "share": ("busy (% of total)",),
        "added": ("kernels", "copies", "memsets", "communication kernels", "sum (ms)")},
    "launches": {
        "keys": ("launch",), "by": "call time (ms)", "count": "calls",
        "added": ("GPU events", "calls without kernel", "queued (ms)"),
        "mean": ("call mean (µs)", "delay mean (µs)"), "least": ("delay min (µs)",),
        "most": ("delay max (µs)",)},
    "unlinked": {
        "keys": ("name", "kind", "stream"), "by": "time (ms)", "count": "count",
        "share": ("time (% of total)",)},
    "cpu_ops": {
        "keys": ("name",), "by": "self host time (ms)", "count": "Count",
        "added": ("total host time (ms)",), "mean": ("mean (µs)",), "least": ("min (µs)",),
        "most": ("max (µs)",), "share": ("Percentage (%)",)},
    "quality": {"keys": ("kind", "class"), "by": "count", "same": ("meaning",), "in order": True},
}
# One for each family of operations has its columns; these are of other things.
COLLECTIVES = ["verdict", "nccl_summary_implicit_sync", "nccl_summary_long", "straggler_summary",
               "stragglers", "collective_waits"]
OTHERS = {"ranks", "rank_timeline", "rank_outliers", *COLLECTIVES}


def is_known(name, rows):
    """Whether what becomes of a table is written down here: TABLES, or a family of operations."""
    return name in TABLES or bool(rows) and "Kernel Time (µs)_mean" in rows[0]


def cells(rows, column):
    return [r[column] for r in rows if r.get(column)]


def added(rows, column):
    found = cells(rows, column)
    return sum(map(Fraction, found)) if found else None


def of_rank(spec, column, rows):
    """What one rank says of a measure, in rows that have the same keys."""
    found = cells(rows, column)
    if not found:
        return None
    if column in spec.get("mean", ()):
        if len(found) == 1:
            return Fraction(found[0])
        weighted = [(Fraction(r[column]), int(r[spec["count"]])) for r in rows if r[column]]
        return sum(v * n for v, n in weighted) / sum(n for _, n in weighted)
    if column in spec.get("least", ()):
        return min(map(Fraction, found))
    if column in spec.get("most", ()):
        return max(map(Fraction, found))
    return added(rows, column)


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


class Ranks(Case):
    def needs(self, path):
        if not path.exists():
            self.skipTest(f"{path} is not there")

    def write(self, data, name="trace.json"):
        (self.tmp / name).parent.mkdir(parents=True, exist_ok=True)
        return super().write(data, name)

    def over_ranks(self, *arguments, rc=0, out="over"):
        directory = self.tmp / out
        result = Report(trawl("report", *arguments, "-o", directory, "--no-xlsx"), directory)
        self.assertExit(result, rc)
        return result

    def singles(self, traces, *options):
        """The tables of each rank's own report: rank -> table -> rows."""
        found = {}
        for rank, trace in traces.items():
            out = self.tmp / f"single{rank}"
            shutil.rmtree(out, ignore_errors=True)
            self.assertExit(trawl("report", trace, "-o", out, "--no-xlsx", *options), 0, 3)
            found[rank] = {p.stem: read_csv(p) for p in (out / "perf_report_csvs").glob("*.csv")}
        return found

    def check_row(self, where, spec, columns, row, ranks):
        """One row over ranks against the rows of the ranks with its keys: rank -> rows."""
        self.assertEqual(row["ranks"], str(len(ranks)), where)
        for column in spec.get("same", ()):
            said = {r[column] for rows in ranks.values() for r in rows if r.get(column)}
            if column in columns:
                self.assertEqual(row[column], said.pop() if len(said) == 1 else "", where)
        totals = [spec["by"], *spec.get("added", ()), *([spec["count"]] if "count" in spec else ())]
        others = [c for kind in ("mean", "least", "most", "share") for c in spec.get(kind, ())]
        for column in totals + others:
            values = {k: of_rank(spec, column, rows) for k, rows in ranks.items()}
            values = {k: v for k, v in values.items() if v is not None}
            at = f"{where}: {column}"
            if not values:
                self.assertEqual({row.get(f"{column}_{s}", "") for s in
                                  ("mean", "median", "min", "max")}, {""}, at)
                continue
            expected = {"mean": sum(values.values()) / len(values),
                        "median": median(values.values()),
                        "min": min(values.values()), "max": max(values.values())}
            if column in totals:
                expected["total"] = sum(values.values())
            # Those of families are in double precision.
            real = column in others and (spec is FAMILY or column not in
                                         spec.get("least", ()) + spec.get("most", ()))
            for name, value in expected.items():
                shown = row[f"{column}_{name}"]
                if real or name == "mean":
                    self.assertTrue(math.isclose(float(shown), float(value), rel_tol=1e-9,
                                                 abs_tol=1e-12), f"{at}_{name}: {shown}")
                else:
                    self.assertEqual(Fraction(shown), value, f"{at}_{name}")
            if column == spec["by"]:
                slowest = min(k for k, v in values.items() if v == max(values.values()))
                name = "rank of most" if spec.get("in order") and column == "count" \
                    else "slowest rank"
                self.assertEqual(row[name], str(slowest), at)

    def check_table(self, name, spec, over, single):
        keys = [k for k in spec["keys"] if not k.endswith("*")]
        for pattern in set(spec["keys"]) - set(keys):
            keys += [c for c in over[0] if c.startswith(pattern[:-1])] if over else []
        expected = {}
        for rank in sorted(single):
            for row in single[rank].get(name, []):
                key = tuple(row.get(k, "") for k in keys)
                expected.setdefault(key, {}).setdefault(rank, []).append(row)
        shown = [tuple(row[k] for k in keys) for row in over]
        self.assertEqual(len(set(shown)), len(shown), f"{name}: rows with the same keys")
        self.assertEqual(set(shown), set(expected), name)
        for key, row in zip(shown, over):
            self.check_row(f"{name} {key}", spec, over[0].keys(), row, expected[key])
        if spec.get("in order"):
            return
        order = [(-Fraction(row[f"{spec['by']}_total"] or 0), [t.encode() for t in key])
                 for key, row in zip(shown, over)]
        self.assertEqual(order, sorted(order), f"{name}: order")

    def check_all(self, over, single, least):
        """Every table that was written, each cell; `least`: that many with rows."""
        names = {name for tables in single.values() for name, rows in tables.items()
                 if is_known(name, rows)}
        written = {p.stem for p in over.csvs.glob("*.csv")} - OTHERS
        self.assertLessEqual(names, written)
        with_rows = 0
        for name in sorted(names):
            rows = over.table(name)
            with_rows += bool(rows)
            self.check_table(name, TABLES.get(name, FAMILY), rows, single)
        self.assertGreaterEqual(with_rows, least)

    def check_timeline_of_ranks(self, over, single):
        rows = over.table("rank_timeline")
        self.assertEqual([int(r["rank"]) for r in rows], sorted(single))
        for row in rows:
            for part in single[int(row["rank"])].get("gpu_timeline", []):
                self.assertEqual(Fraction(row[f"{part['type']} ms"]), Fraction(part["time ms"]))

    def generate(self, *options, ranks=4):
        subprocess.run([tracegen(), "--ranks", str(ranks), *options, "-o", self.tmp / "job",
                        "--truth", self.tmp / "truth"], check=True)
        return {i: self.tmp / f"job/rank{i}_trace.json" for i in range(ranks)}

    # ---- the numbers

    def test_generated_ranks(self):
        for kind in ("train", "decode", "infer"):
            with self.subTest(kind):
                shutil.rmtree(self.tmp / "job", ignore_errors=True)
                traces = self.generate("--kind", kind, "--steps", "2", "--seed", "5",
                                       "--straggler", "2:1.3")
                over = self.over_ranks(self.tmp / "job", out=kind)
                single = self.singles(traces)
                self.check_all(over, single, 8)
                self.check_timeline_of_ranks(over, single)

    def test_straggler_is_the_slowest(self):
        self.generate("--steps", "2", "--straggler", "2:1.3")
        over = self.over_ranks(self.tmp / "job")
        compute = next(r for r in over.table("gpu_timeline") if r["type"] == "computation_time")
        self.assertEqual(compute["slowest rank"], "2")
        truth = [json.loads((self.tmp / f"truth/rank{i}.json").read_text())["compute_ns"]
                 for i in range(4)]
        self.assertEqual(Fraction(compute["time ms_max"]) * 10**6, truth[2])
        self.assertEqual(Fraction(compute["time ms_total"]) * 10**6, sum(truth))
        found = [(r["rank"], r["type"]) for r in over.table("rank_outliers")]
        self.assertIn(("2", "computation_time"), found)
        self.assertNotIn(("0", "computation_time"), found)
        self.assertRegex(over.out, r"rank 2 +computing .* ms above median \(\+\d+\.\d %\)")

    def test_given_ranks(self):
        self.needs(CASES / "synth_4rank")
        folder = CASES / "synth_4rank"
        over = self.over_ranks(folder)
        single = self.singles({i: folder / f"rank{i}_trace.json" for i in range(4)})
        self.check_all(over, single, 3)
        self.check_timeline_of_ranks(over, single)

    def test_resnet(self):
        self.needs(CASES / "resnet_ddp_8rank")
        folder = CASES / "resnet_ddp_8rank"
        over = self.over_ranks(folder)
        single = self.singles({i: folder / f"rank{i}_trace.json.gz" for i in range(8)})
        self.check_all(over, single, 8)

    def test_collectives_are_those_of_collectives(self):
        self.generate("--straggler", "1:1.3", ranks=3)
        over = self.over_ranks(self.tmp / "job")
        out = self.tmp / "collectives"
        done = trawl("collectives", self.tmp / "job", "-o", out, "-q", "--no-xlsx")
        self.assertEqual(done.rc, 0, done)
        for name in COLLECTIVES:
            self.assertEqual((over.csvs / f"{name}.csv").read_bytes(),
                             (out / f"collective_all_ranks_csvs/{name}.csv").read_bytes(), name)

    def test_dlrm(self):
        self.needs(DLRM)
        over = self.over_ranks(DLRM)
        traces = {int(re.match(r"worker(\d+)", p.name)[1]): p for p in DLRM.glob("*.json")}
        self.assertEqual(sorted(traces), list(range(8)))
        self.check_all(over, self.singles(traces), 8)
        # DLRM_REFERENCE.md: fills count as memory there; by our terms its notes tell what differs.
        text = (DLRM.parent / "DLRM_REFERENCE.md").read_text()
        want = {int(r): {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)\.000", line)}
                for r, line in re.findall(r"^- dlrm_8rank_v100/worker(\d)\S* (.*)$", text, re.M)}
        self.assertEqual(len(want), 8)
        want[3].update(compute=1250, memcpy=18, exposed_comm=9440, exposed_memcpy=18)
        want[4].update(compute=1133, memcpy=19, exposed_memcpy=19)
        names = {"total": "total_time", "busy": "busy_time", "compute": "computation_time",
                 "comm": "total_comm_time", "exposed_comm": "exposed_comm_time",
                 "exposed_memcpy": "exposed_memcpy_time", "idle": "idle_time"}
        for row in over.table("rank_timeline"):
            for short, name in names.items():
                self.assertEqual(Fraction(row[f"{name} ms"]) * 1000,
                                 want[int(row["rank"])][short], f"rank {row['rank']} {name}")

    def test_who_is_waited_for(self):
        """The first line names the culprit; those that stand out for waiting say for whom."""
        self.needs(DLRM)
        done = trawl("report", DLRM, "--no-csv", "--no-xlsx")
        self.assertExit(done, 0)
        # By DLRM_REFERENCE.md, whose table has the last and the total wait of each collective.
        text = (DLRM.parent / "DLRM_REFERENCE.md").read_text()
        rows = re.findall(r"^\| \d \| nccl\w+ \| \d+ \| \d+ \| (\d) [^|]*\| \d+ \| \d+ "
                          r"\| (\d+) \|$", text, re.M)
        waited = [int(wait) for rank, wait in rows if rank == "7"]
        self.assertEqual((len(rows), len(waited)), (8, 5))
        words = " ".join(done.out.split())
        # The first collective, in which most is waited, says when recording began: no straggler costs a step that.
        share = 100 * sum(waited) / sum(int(wait) for _, wait in rows)
        self.assertIn(f"of communication time, {share:.0f} % of it for rank 7", words)
        self.assertLess(done.out.index("no straggler"), done.out.index("GPU time over"))
        for rank in (1, 3):
            self.assertRegex(words, rf"rank {rank} exposed communication [\d.]+ ms, [\d.]+ ms above "
                             r"median \(\+[\d.]+ %\): waits for rank 7 \([\d.]+ ms\)")
        self.assertRegex(done.out, r"(?m)^stragglers: .*\n(?:.*\n){3,5}[- ]+\n +7 +5 +8 ")

    # ---- which ranks

    def test_one_bad_rank(self):
        self.needs(BAD_RANK)
        over = self.over_ranks(BAD_RANK, rc=3)
        for name, word in (("rank-1", "truncated"), ("rank-2", "no GPU"), ("rank-3", "empty")):
            self.assertTrue(any(name in x and word in x for x in over.err.splitlines()), over.err)
        self.assertIn("missing rank 3", over.err)
        zero = next(r for r in over.table("rank_timeline") if r["rank"] == "0")
        self.assertEqual([Fraction(zero[f"{p} ms"]) * 1000 for p in
                          ("total_time", "busy_time", "computation_time", "total_comm_time",
                           "exposed_comm_time", "idle_time")], [580, 380, 150, 230, 230, 200])
        # The rank without GPU work has no time, and not a time of 0.
        two = next(r for r in over.table("rank_timeline") if r["rank"] == "2")
        self.assertEqual({v for k, v in two.items() if k != "rank"}, {""})
        total = next(r for r in over.table("gpu_timeline") if r["type"] == "total_time")
        self.assertEqual((total["ranks"], total["time ms_mean"]), ("2", "0.32"))

    def test_trace_without_events(self):
        """A rank of which nothing is left is left out, and not passed over."""
        ranks = self.tmp / "job"
        ranks.mkdir()
        (ranks / "rank0.json").write_text(document([kernel("k", 1, 2, 1)]))
        (ranks / "rank1.json").write_text('{"traceEvents": [')
        over = self.over_ranks(ranks, rc=3)
        self.assertRegex(over.err, "rank1.json: skipped: no GPU events")

    def test_only_hosts(self):
        for rank in (0, 1):
            self.write(document([op("a", 1, 5 + rank)]), f"job/rank{rank}.json")
        over = self.over_ranks(self.tmp / "job", rc=3)
        row, = over.table("cpu_ops")
        self.assertEqual((row["total host time (ms)_max"], row["slowest rank"]), ("0.006", "1"))
        self.assertFalse(over.has("gpu_timeline"))
        self.assertIn("no rank has GPU events", over.out)
        self.assertIn("top operators by host time", over.out)

    def test_the_gpu_of_a_rank_where_the_trace_tells(self):
        for rank, devices in ((0, [{"id": 0, "name": "Test GPU"}]), (1, [])):
            self.write(document(base_events(), deviceProperties=devices), f"job/rank{rank}.json")
        over = self.over_ranks(self.tmp / "job")
        self.assertEqual([(r["rank"], r["device name"], r["host"]) for r in over.table("ranks")],
                         [("0", "Test GPU", ""), ("1", "", "")])

    def test_the_same_rank_twice(self):
        events = document(base_events())
        for name in ("rank0.json", "rank1.json", "again/rank1.json"):
            self.write(events, f"job/{name}")
        over = self.over_ranks(self.tmp / "job", rc=3)
        self.assertRegex(over.err, r"rank1\.json: skipped: .*rank 1")
        self.assertEqual([r["rank"] for r in over.table("rank_timeline")], ["0", "1"])

    def test_what_is_one_trace(self):
        """One file is a report of a trace, whatever it is called; a directory of one is not."""
        path = self.write(document(base_events()), "job/rank0.json")
        self.assertExit(trawl("report", path, "-o", self.tmp / "one", "--no-xlsx"), 0)
        self.assertTrue((self.tmp / "one/perf_report_csvs/reconciliation.csv").exists())
        over = self.over_ranks(self.tmp / "job")
        self.assertFalse(over.has("reconciliation"))
        self.assertEqual(over.table("ranks")[0]["rank"], "0")
        again = self.over_ranks(self.tmp / "job/rank*.json", out="pattern")
        self.assertEqual(again.out, over.out)
        odd = self.write(document(base_events()), "odd[1].json")
        self.assertExit(trawl("report", odd, "-o", self.tmp / "odd", "--no-xlsx"), 0)
        self.assertTrue((self.tmp / "odd/perf_report_csvs/reconciliation.csv").exists())

    def test_a_row_that_one_rank_has(self):
        for rank, more in ((0, ()), (1, ()), (2, ("rare",))):
            events = base_events() + [kernel(name, 600, 7, None) for name in more]
            self.write(document(events), f"job/rank{rank}.json")
        over = self.over_ranks(self.tmp / "job")
        row = next(r for r in over.table("kernel_summary") if r["Kernel name"] == "rare")
        self.assertEqual([row[c] for c in ("ranks", "Kernel duration (µs)_sum_mean",
                                           "Kernel duration (µs)_sum_min", "slowest rank",
                                           "Kernel duration (µs)_sum_total")],
                         ["1", "7", "7", "2", "7"])

    # ---- options

    def test_options_reach_every_rank(self):
        traces = self.generate("--steps", "3", ranks=2)
        for options in (("--step", "12"), ("--linked-only",), ("--short-kernel-us", "3"),
                        ("--platform", "MI300X"), ("--micro-idle-us", "5")):
            with self.subTest(options):
                shutil.rmtree(self.tmp / "over", ignore_errors=True)
                over = self.over_ranks(self.tmp / "job", *options)
                self.check_all(over, self.singles(traces, *options), 8)
        self.assertIn("view: step 12", self.over_ranks(self.tmp / "job", "--step", "12").out)
        self.assertNotIn("view: ", self.over_ranks(self.tmp / "job").out)

    def test_whose_work_a_step_is(self):
        """Each rank's step 1 launches 300 µs; of rank 1's, 200 µs run after its end."""
        for rank, late in ((0, 0), (1, 200)):
            events = [op(f"ProfilerStep#{i}", 1000 + 1000 * i, 900, cat="user_annotation")
                      for i in range(3 - rank)]
            events += [launch(2100, 5, 1), kernel("k", 2600 + late, 300, 1)]
            self.write(document(events, distributedInfo={"rank": rank, "world_size": 2}),
                       f"job/rank{rank}.json")
        said = self.over_ranks(self.tmp / "job", "--step", "1").out
        self.assertIn("view: step 1, by launch\n", said)
        self.assertIn("launched in it, all ranks: 0.600 ms of GPU work, 0.200 ms (33.3 %) of it running "
                      "outside\nits host time; max on rank 1 (66.7 %)\n", said)
        # Both have the step that is looked at: others do not matter.
        result = trawl("collectives", self.tmp / "job", "--step", "1", "-o", self.tmp / "c")
        self.assertIn("view: step 1, by launch\n", result.out)
        self.assertNotIn("different steps", result.err)
        self.assertIn("different steps", trawl("report", self.tmp / "job", "-o",
                                                     self.tmp / "d", "--no-xlsx").err)
        result = trawl("collectives", self.tmp / "job", "--step", "2", "-o", self.tmp / "c")
        self.assertExit(result, 3)
        self.assertIn("1 trace skipped: no such step or range\n", result.out)
        self.assertNotIn("unreadable", result.out)
        self.assertIn("view: step 1, by time\n",
                      self.over_ranks(self.tmp / "job", "--step", "1", "--by", "time").out)

    def test_wrong_use(self):
        path = self.write(document(base_events()), "job/rank0.json")
        for args, rc, words in (
                (("--plots", self.tmp / "job"), 2, "--plots needs one trace"),
                (("--stacks", "full", self.tmp / "job"), 2, "--stacks needs one trace"),
                ((), 2, "missing TRACE argument"),
                ((path, self.tmp / "absent"), 1, "absent"),
                ((self.tmp / "no*match",), 1, "no*match"),
                (("--platform", "absent", self.tmp / "job"), 2, "absent"),
                ((self.tmp / "job", "-o", path), 1, "not a directory")):
            with self.subTest(args):
                done = trawl("report", *args)
                self.assertExit(done, rc)
                self.assertIn(words, done.err)
                self.assertEqual(done.out, "")
        self.assertEqual(sorted(p.name for p in (self.tmp / "job").iterdir()), ["rank0.json"])

    def test_strict(self):
        self.write(document(base_events()), "job/rank0.json")
        self.write(document(base_events())[:-40], "job/rank1.json")
        done = trawl("report", self.tmp / "job", "--strict", "-o", self.tmp / "out")
        self.assertExit(done, 1)
        self.assertIn("rank1.json", done.err)
        self.assertFalse((self.tmp / "out").exists())

    def test_quiet_and_no_files(self):
        self.write(document(base_events()), "job/rank0.json")
        done = trawl("report", self.tmp / "job", "-q", "--no-csv", "--no-xlsx", "--top-ops", "0")
        self.assertExit(done, 0)
        self.assertEqual(done.err, "")
        self.assertNotIn("operations with the most", done.out)
        self.assertEqual(sorted(p.name for p in (self.tmp / "job").iterdir()), ["rank0.json"])

    def test_where_it_is_written(self):
        for rank in (0, 1):
            self.write(document(base_events()), f"job/rank{rank}.json")
        self.assertExit(trawl("report", self.tmp / "job"), 0)
        out = self.tmp / "job/analysis_output"
        self.assertTrue((out / "perf_report.xlsx").exists())
        # What was written there is no rank of the next run.
        again = trawl("report", self.tmp / "job")
        self.assertExit(again, 0)
        self.assertIn("2 ranks (from file names): 0, 1", again.out)

    def test_stale_tables_are_named(self):
        path = self.write(document(base_events()), "job/rank0.json")
        self.assertExit(trawl("report", path, "-o", self.tmp / "out"), 0)
        done = trawl("report", self.tmp / "job", "-o", self.tmp / "out")
        self.assertRegex(done.err, r"reconciliation\.csv is of an earlier report")

    def test_same_bytes_for_any_threads(self):
        self.generate("--steps", "2", "--straggler", "1:1.2", ranks=5)
        packed = self.tmp / "job/rank3_trace.json"
        with gzip.open(f"{packed}.gz", "wb") as f:
            f.write(packed.read_bytes())
        packed.unlink()
        (self.tmp / "job/rank4_trace.json").write_text("[")
        seen = set()
        for jobs in (1, 2, 5):
            for memory in ("1K", "8G"):
                out = self.tmp / f"out{jobs}{memory}"
                done = trawl("report", self.tmp / "job", "-o", out, "-j", jobs,
                             "--max-memory", memory)
                self.assertExit(done, 3)
                seen.add((done.out, done.err.replace(str(out), "OUT"),
                          tuple((p.name, p.read_bytes()) for p in sorted(out.rglob("*"))
                                if p.is_file())))
        self.assertEqual(len(seen), 1)

    def test_fits_the_terminal(self):
        self.generate("--steps", "1", "--straggler", "3:1.5", ranks=6)
        for width in (80, 140):
            # As wide as the terminal that it is told of.
            done = subprocess.run(
                ["script", "-qec", f"stty cols {width}; {TRAWL} report {self.tmp}/job "
                 "--no-csv --no-xlsx", "/dev/null"], capture_output=True, text=True, check=False)
            if done.returncode == 127:
                self.skipTest("no script(1)")
            text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
            self.assertIn("rank 3", text)
            self.assertLessEqual(max(len(x.rstrip("\r")) for x in text.split("\n")), width)

    def test_machine_readable(self):
        self.generate("--steps", "1", ranks=2)
        done = trawl("report", self.tmp / "job", "--no-csv", "--no-xlsx", "--format", "json")
        self.assertExit(done, 0)
        data = json.loads(done.out)
        self.assertEqual(data["schema"], "trawl.report_ranks/1")
        self.assertEqual([t["name"] for t in data["tables"]],
                         ["findings", "ranks", "verdict", "gpu_timeline", "rank_timeline", "rank_outliers",
                          "stragglers", "steps", "top_operations", "quality"])
        done = trawl("report", self.tmp / "job", "--no-csv", "--no-xlsx", "--format", "csv")
        blocks = re.findall(r"^# (\w+)\n(.*)$", done.out, re.M)
        self.assertEqual([b[0] for b in blocks], [t["name"] for t in data["tables"]])
        for (_, header), table in zip(blocks, data["tables"]):
            self.assertEqual(next(csv.reader([header])), [c["header"] for c in table["columns"]])


if __name__ == "__main__":
    unittest.main()
