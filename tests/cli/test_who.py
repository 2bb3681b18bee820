"""Who a trace is: its rank, its group, its process, in every command that looks at several."""
import gzip
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from merged import faults, load
from support import NCCL, ROOT, SHARED, Case, read_csv, tracegen, trawl

FOUND = SHARED / "cases/found"


def step(ts, compute, wait, **args):
    """A GEMM, then an allreduce that all ranks leave together: events of one rank."""
    return [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": args["pid"], "tid": 1, "ts": ts,
         "dur": 20, "args": {"External id": ts}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": args["pid"],
         "tid": 1, "ts": ts + 5, "dur": 5, "args": {"correlation": ts}},
        {"ph": "X", "cat": "kernel", "name": args.get("gemm", "gemm"), "pid": 0, "tid": 7,
         "ts": ts + 20, "dur": compute,
         "args": {"correlation": ts, "device": 0, "stream": 7}},
        {"ph": "X", "cat": "kernel", "name": NCCL, "pid": 0, "tid": 20, "ts": ts + 20 + compute,
         "dur": wait, "args": {"device": 0, "stream": 20, **args["collective"]}},
    ]


def recorded(rank, members, name="allreduce", sequence=0, default=False):
    """The arguments that PyTorch records: the rank in the group, and the group's ranks."""
    out = {"Collective name": name, "dtype": "Float", "In msg nelems": 1 << 20,
           "Out msg nelems": 1 << 20, "Process Group Name": "3", "Seq": sequence}
    if members is not None:
        out.update({"Group size": len(members), "Process Group Ranks": str(members)})
    if rank is not None:
        out["Rank"] = rank
    if default:
        out["Process Group Description"] = "default_pg"
    return out


def rank_trace(rank=None, members=None, compute=100, start=1000, pid=100, steps=4, base=None,
               told=None, default=False, gemm="gemm", more=()):
    events = []
    for i in range(steps):
        events += step(start + 1000 * i, compute, 500 - compute, pid=pid, gemm=gemm,
                       collective=recorded(rank, members, sequence=i, default=default)
                       if members is not None or rank is not None else {})
    out = {"schemaVersion": 1, "traceEvents": events + list(more)}
    if base is not None:
        out["baseTimeNanoseconds"] = base
    if told:
        out["distributedInfo"] = {"rank": told[0], "world_size": told[1]}
    return out


class Who(Case):
    def job(self, **traces):
        """A directory of traces by name (without .json)."""
        directory = self.tmp / "job"
        shutil.rmtree(directory, ignore_errors=True)
        for name, trace in traces.items():
            path = directory / (name + ".json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(trace))
        return directory

    def run_one(self, command, where, *options, rc=0):
        out = self.tmp / "out" / command
        shutil.rmtree(out, ignore_errors=True)
        if command == "merge":
            out.mkdir(parents=True)
            out = out / "merged.json"
        done = trawl(command, where, "-o", out, *options,
                     *(("--no-xlsx",) if command in ("report", "collectives") else ()))
        self.assertAlive(done)
        self.assertExit(done, *([rc] if isinstance(rc, int) else rc))
        return done

    def ranks(self, command, group=""):
        """What the table of ranks has: rank -> (file, rank from), of those that are analysed."""
        folder = {"report": "perf_report_csvs", "collectives": "collective_all_ranks_csvs"}[command]
        rows = read_csv(self.tmp / "out" / command / group / folder / "ranks.csv")
        return {int(r["rank"]): (r["file"], r["rank from"]) for r in rows if r["rank from"]}

    def merged(self, done):
        """rank -> rank from, as merge prints it, and the merged trace."""
        trace = load(self.tmp / "out/merge/merged.json")
        self.assertEqual(faults(trace), [], str(done))
        return trace

    def everywhere(self, where, want, rc=0, says=(), source=None):
        """The three commands that take ranks: their numbers, and what each says."""
        for command in ("report", "collectives", "merge"):
            with self.subTest(command=command):
                done = self.run_one(command, where, rc=rc)
                for words in says:
                    self.assertRegex(done.err, words)
                if command == "merge":
                    trace = self.merged(done)
                    files = {r["rank"]: r["file"] for r in trace["ranks"]}
                    self.assertEqual(files, want)
                else:
                    ranks = self.ranks(command)
                    self.assertEqual({r: pathlib.Path(f).name for r, (f, _) in ranks.items()}, want)
                    if source:
                        self.assertEqual({s for _, s in ranks.values()}, {source})


class Collectives(Who):
    def test_rank_in_the_group_of_the_job(self):
        """Ranks 4 to 7 count 0 to 3 in their group; names say nothing, and stand the other way."""
        self.job(**{"d": rank_trace(0, [4, 5, 6, 7]), "c": rank_trace(1, [4, 5, 6, 7]),
                    "b": rank_trace(2, [4, 5, 6, 7], compute=300),
                    "a": rank_trace(3, [4, 5, 6, 7])})
        self.everywhere(self.tmp / "job", {4: "d.json", 5: "c.json", 6: "b.json", 7: "a.json"},
                        source="collectives")
        done = self.run_one("report", self.tmp / "job")
        self.assertIn("4 ranks (from recorded collectives): 4-7", done.out)
        self.assertIn("rank 6 is the straggler", done.out)

    def test_roots_and_peers_are_others(self):
        """A broadcast has the rank of its root: six of them, and four allreduces that count."""
        traces = {}
        for rank in range(2):
            more = [dict(e, ts=e["ts"] + 50000, args={**e["args"], **recorded(0, [0, 1], name)})
                    for name in ("broadcast", "send", "recv")
                    for e in rank_trace(0, [0, 1], steps=2)["traceEvents"] if e["name"] == NCCL]
            traces["ba"[rank]] = rank_trace(rank, [0, 1], more=more)
        self.everywhere(self.job(**traces), {0: "b.json", 1: "a.json"}, source="collectives")

    def test_the_trace_itself_counts_more(self):
        self.job(a=rank_trace(0, [0, 1], told=(1, 2)), b=rank_trace(1, [0, 1], told=(0, 2)))
        self.everywhere(self.tmp / "job", {0: "b.json", 1: "a.json"}, source="metadata")

    def test_names_count_less(self):
        self.job(rank0=rank_trace(1, [0, 1]), rank1=rank_trace(0, [0, 1]))
        self.everywhere(self.tmp / "job", {0: "rank1.json", 1: "rank0.json"}, source="collectives",
                        says=("rank0.json: rank 0 in the file name, 1 in the trace",))

    def test_equal_results_are_told(self):
        """Two traces that say rank 0: some versions of PyTorch record 0 for all ranks."""
        self.job(a=rank_trace(0, [0, 1, 2]), b=rank_trace(0, [0, 1, 2]),
                 c=rank_trace(1, [0, 1, 2]))
        self.everywhere(self.tmp / "job", {0: "a.json", 1: "c.json", 2: "b.json"}, says=(
            "2 traces have the same rank as others", "2 of 3 ranks numbered by file order",))
        members = list(range(4))
        self.job(**{f"TP-{n}": rank_trace(0, members) for n in range(4)})
        self.everywhere(self.tmp / "job", {n: f"TP-{n}.json" for n in range(4)}, source="order",
                        says=("4 traces have the same rank as others",))
        self.job(**{f"host-rank{3 - n}": rank_trace(0, members) for n in range(4)})
        self.everywhere(self.tmp / "job", {n: f"host-rank{n}.json" for n in range(4)},
                        source="name")

    def test_half_of_the_collectives_decide_nothing(self):
        """As many say one rank as say another: the name does."""
        more = [dict(e, ts=e["ts"] + 50000, args={**e["args"], **recorded(3, list(range(8)))})
                for e in rank_trace(0, list(range(8)))["traceEvents"] if e["name"] == NCCL]
        self.job(rank5=rank_trace(1, list(range(8)), more=more))
        self.assertIn("1 of 8 ranks (from file names): 5",
                      self.run_one("report", self.tmp / "job", rc=3).out)

    def test_a_zero_that_all_record(self):
        self.job(rank5=rank_trace(0, list(range(8))))
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertIn("1 of 8 ranks (from file names): 5", done.out)
        self.assertIn("missing ranks 0-4, 6, 7", done.err)

    def test_order_is_a_guess(self):
        job = self.job(a=rank_trace(), b=rank_trace())
        self.everywhere(job, {0: "a.json", 1: "b.json"}, source="order", says=(
            "2 of 2 ranks numbered by file order",))
        done = self.run_one("report", job)
        self.assertIn("2 ranks (from file order): 0, 1", done.out)
        shutil.copytree(job, self.tmp / "other")
        done = trawl("compare", job, self.tmp / "other", "-o", self.tmp / "page.html")
        self.assertExit(done, 0)
        self.assertIn("numbered by file order", done.err)
        # Of one trace alone there is nothing to guess.
        done = self.run_one("report", self.job(a=rank_trace()))
        self.assertNotIn("file order", done.err)


class Missing(Who):
    def test_of_a_default_group(self):
        members = [0, 1, 2, 3]
        self.job(a=rank_trace(3, members, default=True), b=rank_trace(1, members, default=True))
        self.everywhere(self.tmp / "job", {1: "b.json", 3: "a.json"}, rc=3,
                        says=(r"missing ranks 0, 2 \(.*4\)",))

    def test_of_a_default_group_whose_list_is_not_recorded(self):
        job = self.job(b=rank_trace(0, default=True), a=rank_trace(1, default=True))
        self.everywhere(job, {0: "b.json", 1: "a.json"}, source="collectives")

    def test_of_a_long_group(self):
        """The profiler shortens long lists; the default group's size tells how many there are."""
        args = {**recorded(1, list(range(40)), default=True),
                "Process Group Ranks": "[0, 1, 2, ..., 39]"}
        trace = {"traceEvents": step(1000, 100, 400, pid=1, collective=args)}
        self.job(only=trace)
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertIn("1 of 40 ranks (from recorded collectives): 1", done.out)
        self.assertIn("missing ranks 0, 2-39 (the job has 40)", done.err)

    def test_a_long_group_of_some_is_not_the_job(self):
        """The size of a group that is not the default one is no size of the job."""
        args = {**recorded(1, list(range(40))), "Process Group Ranks": "[0, 1, 2, ..., 39]"}
        self.job(rank1={"traceEvents": step(1000, 100, 400, pid=1, collective=args)})
        done = self.run_one("report", self.tmp / "job", rc=(0, 3))
        self.assertNotIn("the job has 40", done.err)
        self.assertNotIn("of 40 ranks", done.out)

    def test_of_a_group_of_some(self):
        """One trace tells the group [4..7] of a job whose size nobody tells."""
        self.job(rank4=rank_trace(), rank5=rank_trace(1, [4, 5, 6, 7]))
        self.everywhere(self.tmp / "job", {4: "rank4.json", 5: "rank5.json"}, rc=3,
                        says=(r"missing ranks 6, 7 \(in recorded process groups\)",))

    def test_a_world_of_no_ranks_tells_nothing(self):
        self.job(rank4=rank_trace(), rank5=rank_trace(1, [4, 5, 6, 7], told=(5, 0)))
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertIn("missing ranks 6, 7 (in recorded process groups)", done.err)

    def test_worlds_that_do_not_fit(self):
        self.job(a=rank_trace(told=(0, 2)), b=rank_trace(told=(1, 4)), c=rank_trace(told=(5, 4)))
        self.everywhere(self.tmp / "job", {0: "a.json", 1: "b.json", 5: "c.json"}, rc=3, says=(
            "from different jobs: rank 0 has world size 2, another rank 4",
            "rank 5 is outside the world size of 4", r"missing ranks 2, 3"))


class Captures(Who):
    def test_cycles_of_a_process_by_name(self):
        """As torch.profiler.tensorboard_trace_handler names them."""
        self.job(**{"node7_4711.1751410836123.pt.trace": rank_trace(start=1000),
                    "node7_4711.1751410841456.pt.trace": rank_trace(start=9000000)})
        self.everywhere(self.tmp / "job", {0: "node7_4711.1751410841456.pt.trace.json"}, rc=3, says=(
            r"836123\.pt\.trace\.json: skipped: an earlier capture",))

    def test_cycles_of_two_processes(self):
        """Two cycles of two processes of a host are two ranks: the last cycle of each."""
        self.job(**{f"node7_{pid}.{1751410836000 + cycle * 5000 + pid}.pt.trace":
                    rank_trace(start=1000 + 5000000 * cycle, pid=pid, base=10 ** 18)
                    for pid in (40, 41) for cycle in (0, 1)})
        self.everywhere(self.tmp / "job", {0: "node7_40.1751410841040.pt.trace.json",
                                           1: "node7_41.1751410841041.pt.trace.json"}, rc=3)
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertEqual(len(re.findall("an earlier capture", done.err)), 2)

    def test_one_process_by_its_id(self):
        self.job(a=rank_trace(start=9000000, pid=77), b=rank_trace(start=1000, pid=77))
        self.everywhere(self.tmp / "job", {0: "a.json"}, rc=3)

    def test_the_process_with_most_events_over_its_threads(self):
        """16 of 77 and of 78 on two threads each, 12 of process 5 beside both: it is not theirs."""
        def beside(pid):
            return [{"ph": "X", "cat": "cpu_op", "name": "more", "pid": p, "tid": 2,
                     "ts": 1000 + 50 * i, "dur": 1} for p, n in ((pid, 8), (5, 12)) for i in range(n)]
        traces = {name: rank_trace(pid=pid, more=beside(pid)) for name, pid in (("a", 77), ("b", 78))}
        host = [e for e in traces["a"]["traceEvents"] if e["pid"] == 77 and e["tid"] != 2]
        self.assertEqual(len(host), 8)
        self.job(**traces)
        self.everywhere(self.tmp / "job", {0: "a.json", 1: "b.json"})

    def test_times_apart(self):
        """Processes that never ran at the same time; where times can be compared."""
        self.job(a=rank_trace(start=1000, pid=1, base=10 ** 18),
                 b=rank_trace(start=1000, pid=2, base=10 ** 18 + 10 ** 10))
        self.everywhere(self.tmp / "job", {0: "b.json"}, rc=3, says=(
            "an earlier capture of a different process than '.*b.json'",))
        self.job(a=rank_trace(start=1000, pid=1), b=rank_trace(start=9000000, pid=2))
        self.everywhere(self.tmp / "job", {0: "a.json", 1: "b.json"})

    def test_a_rank_without_the_last_capture(self):
        """The last that all ranks have: what others captured after it was of other steps."""
        def cycles(told):
            return {f"step_{c}/{'ab'[r]}{c}": rank_trace(
                        r, [0, 1], pid=100 + r, start=1000 + 5000000 * c, base=10 ** 18,
                        told=(r, 2) if told else None)
                    for r, n in ((0, 4), (1, 3)) for c in range(n)}
        for told in (False, True):
            self.job(**cycles(told))
            self.everywhere(self.tmp / "job", {0: "a2.json", 1: "b2.json"}, rc=3, says=(
                r"a3\.json: skipped: a later capture of the process of '.*a2\.json', the last "
                "capture common to all ranks", r"a0\.json: skipped: an earlier capture .*a2\.json"))

    def test_ranks_of_different_times(self):
        self.job(rank0=rank_trace(base=10 ** 18), rank1=rank_trace(base=10 ** 18, start=9000000))
        self.everywhere(self.tmp / "job", {0: "rank0.json", 1: "rank1.json"}, says=(
            r"traces from different times: rank 0 ends 8\.\d+ s before rank 1 starts",))

    def test_one_rank_that_is_told(self):
        self.job(a=rank_trace(start=1000, told=(0, 2)), b=rank_trace(start=9000000, told=(0, 2)),
                 c=rank_trace(start=9000000, told=(1, 2), pid=101))
        self.everywhere(self.tmp / "job", {0: "b.json", 1: "c.json"}, rc=3)

    def test_same_pids_in_containers(self):
        """Each container has a process 100: at the same time it is another."""
        self.job(a=rank_trace(pid=100), b=rank_trace(pid=100), c=rank_trace(pid=100))
        self.everywhere(self.tmp / "job", {0: "a.json", 1: "b.json", 2: "c.json"})

    def test_containers_with_one_name(self):
        """Containers on one host have its name, and the same process ids."""
        for told in ((0, 2), (1, 2)), (None, None):
            members = None if told[0] else [0, 1]
            self.job(**{f"localhost_7.{1751410836123 + 17 * r}.pt.trace":
                        rank_trace(r if members else None, members, pid=7, base=10 ** 18,
                                   told=told[r]) for r in (0, 1)})
            self.everywhere(self.tmp / "job", {0: "localhost_7.1751410836123.pt.trace.json",
                                               1: "localhost_7.1751410836140.pt.trace.json"})
        # Nothing but that they ran at the same time.
        self.job(**{f"localhost_7.{1751410836123 + 17 * r}.pt.trace":
                    rank_trace(pid=7, base=10 ** 18, compute=100 + r) for r in (0, 1)})
        self.everywhere(self.tmp / "job", {0: "localhost_7.1751410836123.pt.trace.json",
                                           1: "localhost_7.1751410836140.pt.trace.json"})

    def test_stages_of_a_process(self):
        """Names of one time, but for the stage; of times of their own, and numbers of names."""
        for names, members, told in (("1741234567.89-TP-{r}-{s}", [0, 1], False),
                                     ("1741234567.89-TP-{r}-{s}", None, True),
                                     ("{t}-rank{r}-{s}", None, False)):
            stages = {(r, s): names.format(r=r, s=s, t=1741234567 + i) for r in (0, 1)
                      for i, s in enumerate(("EXTEND", "DECODE"))}
            self.job(**{name: rank_trace(r if members else None, members, pid=100 + r,
                                         start=1000 + 5000000 * (s == "DECODE"), base=10 ** 18,
                                         told=(r, 2) if told else None)
                        for (r, s), name in stages.items()})
            self.everywhere(self.tmp / "job",
                            {r: stages[r, "DECODE"] + ".json" for r in (0, 1)}, rc=3,
                            says=(r"EXTEND\.json: skipped: an earlier capture .*DECODE",))

    def test_each(self):
        job = self.job(**{"node7_4711.1751410836123.pt.trace": rank_trace(start=1000, steps=2),
                          "node7_4711.1751410841456.pt.trace": rank_trace(start=9000000, steps=3)})
        (job / "settings.json").write_text('{"a": 1}')
        done = trawl("report", job, "--each", "-o", self.tmp / "each", "--no-xlsx")
        self.assertExit(done, 0)
        self.assertRegex(done.err, "settings.json: skipped")
        for name, steps in (("node7_4711.1751410836123", 2), ("node7_4711.1751410841456", 3)):
            alone = trawl("report", job / (name + ".pt.trace.json"), "-o", self.tmp / "alone",
                          "--no-xlsx")
            self.assertExit(alone, 0)
            one, other = (p / "perf_report_csvs" for p in
                          (self.tmp / "each" / name, self.tmp / "alone"))
            self.assertEqual(sorted(p.name for p in one.iterdir()),
                             sorted(p.name for p in other.iterdir()))
            for path in one.iterdir():
                self.assertEqual(path.read_bytes(), (other / path.name).read_bytes(), path.name)
            rows = {r["name"]: r["Count"] for r in read_csv(one / "ops_summary.csv")}
            self.assertEqual(rows["aten::mm"], str(steps))
            shutil.rmtree(self.tmp / "alone")
        # One without a report does not keep the others from theirs.
        (job / "broken.json").write_text('{"traceEvents": [')
        done = trawl("report", job, "--each", "-o", self.tmp / "each", "--no-xlsx")
        self.assertExit(done, 3)


class Groups(Who):
    def check_groups(self, groups, ranks=(0, 1)):
        for command in ("report", "collectives"):
            done = self.run_one(command, self.tmp / "job")
            for group in groups:
                self.assertIn(f"group {group}: ", done.out)
                self.assertEqual(tuple(self.ranks(command, group)), ranks, group)
            self.assertRegex(done.err, "2 groups of traces have the same ranks and no collective")
        done = self.run_one("merge", self.tmp / "job", rc=3)
        left_out = [line for line in done.err.splitlines() if "skipped: group" in line]
        self.assertEqual(len(left_out), len(ranks))
        for line in left_out:
            # It is the file of that group.
            path, text = line.split("skipped: ")
            self.assertIn(groups[1], path)
            self.assertIn(f"group {groups[1]} has", text)

    def test_replicas_by_a_word(self):
        self.job(**{f"run-DP-{d}-TP-{t}": rank_trace(t, [0, 1], pid=10 * d + t, compute=100 + 50 * d)
                    for d in (0, 1) for t in (0, 1)})
        self.check_groups(("DP-0", "DP-1"))
        means = []
        for group in ("DP-0", "DP-1"):
            rows = read_csv(self.tmp / "out/report" / group / "perf_report_csvs/gpu_timeline.csv")
            means += [r["time ms_mean"] for r in rows if r["type"] == "computation_time"]
        self.assertEqual(means, ["0.4", "0.6"])

    def test_replicas_by_directory(self):
        self.job(**{f"{d}/worker_rank{r}": rank_trace(pid=1000 + r) for d in ("one", "two")
                    for r in (0, 1)})
        self.check_groups(("one", "two"))

    def test_replicas_of_nodes(self):
        self.job(**{f"replica{d}/node{r}/rank{r}": rank_trace(told=(r, 2), pid=10 * d + r)
                    for d in (0, 1) for r in (0, 1)})
        self.check_groups(("replica0", "replica1"))

    def test_a_replica_by_directory_that_is_not_whole(self):
        self.job(**{f"replica{d}/rank{r}": rank_trace(told=(r, 2), pid=10 * d + r)
                    for d, r in ((0, 0), (0, 1), (1, 0))})
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertIn("missing rank 1 (group replica1 has 2)", done.err)
        self.assertIn("group replica1: 1 of 2 ranks", done.out)

    def test_nodes_of_one_job(self):
        """Names, or the traces themselves, count ranks within their node; they share a group."""
        members = list(range(4))
        where = [(n, r) for n in (0, 1) for r in (0, 1)]
        files = {2 * n + r: f"node{n}_rank{r}.json" for n, r in where}
        for rank in (None, 0):
            self.job(**{f"node{n}_rank{r}": rank_trace(rank, members, pid=10 * n + r, base=10 ** 18)
                        for n, r in where})
            self.everywhere(self.tmp / "job", files, source="order", says=(
                "4 of 4 ranks numbered by file order",))
        self.job(**{f"node{n}/x{n}{r}": rank_trace(2 * n + r, members, pid=10 * n + r, told=(r, 4))
                    for n, r in where})
        self.everywhere(self.tmp / "job", {2 * n + r: f"x{n}{r}.json" for n, r in where},
                        source="collectives")
        # An hour apart they are runs.
        self.job(**{f"run{n}/rank{r}": rank_trace(told=(r, 4), pid=10 * n + r,
                                                  base=10 ** 18 + n * 3600 * 10 ** 9)
                    for n, r in where})
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertIn("group run1: 2 of 4 ranks", done.out)

    def test_a_replica_that_is_not_whole(self):
        self.job(**{f"dp{d}_rank{r}": rank_trace(r, [0, 1], pid=10 * d + r)
                    for d, r in ((0, 0), (0, 1), (1, 1))})
        done = self.run_one("report", self.tmp / "job", rc=3)
        self.assertIn("missing rank 0 (group dp1 has 2)", done.err)
        self.assertIn("group dp1: 1 of 2 ranks", done.out)


class Names(Who):
    def test_words_of_rank(self):
        """That of the job, whatever other ranks the name has; what is no rank of a process."""
        for pattern, source in (("trace_global_rank_{r}_local_rank_{l}", "name"),
                                ("rank{r}_local_rank{l}", "name"),
                                ("tp_rank{l}_rank{r}", "name"), ("rank{r}/trace_tp_rank{l}", "name"),
                                ("dp0_rank{r}", "name"), ("pp_rank{n}_tp_rank{l}", "order"),
                                ("lora_rank16_gpu{r}", "order"), ("low-rank-4-part{r}", "order")):
            with self.subTest(pattern):
                names = [pattern.format(r=2 * n + l, l=l, n=n) for n in (0, 1) for l in (0, 1)]
                self.job(**{name: rank_trace() for name in names})
                self.run_one("report", self.tmp / "job")
                self.assertEqual([(r, f) for r, (f, _) in self.ranks("report").items()],
                                 [(r, name + ".json") for r, name in enumerate(names)])
                self.assertEqual({s for _, s in self.ranks("report").values()}, {source})
        # Of one dimension: it may be all there is.
        for word in ("local_rank", "tp_rank_"):
            self.job(**{f"x_{word}{r}": rank_trace() for r in (1, 3)})
            self.run_one("report", self.tmp / "job", rc=(0, 3))
            self.assertEqual({r: s for r, (_, s) in self.ranks("report").items()},
                             {1: "name", 3: "name"})


class Unlike(Who):
    def different(self, **more):
        def ops(names):
            return [{"ph": "X", "cat": "cpu_op", "name": f"aten::{n}", "pid": 100, "tid": 1,
                     "ts": 8000 + i, "dur": 1, "args": {}} for i, n in enumerate(names)]
        return (rank_trace(gemm="conv_kernel", more=ops("abcdef"), **more),
                rank_trace(gemm="attention_kernel", more=ops("uvwxyz"), **more))

    def test_traces_of_two_programs(self):
        resnet, bert = self.different()
        job = self.job(resnet=resnet, bert=bert)
        for command in ("report", "collectives"):
            done = self.run_one(command, job, rc=1)
            self.assertRegex(done.err, "do not match as ranks of one job: '.*bert.json' and "
                             "'.*resnet.json' share no process group and \\d+ %")
            self.assertIn("--each", done.err)
            self.assertFalse((self.tmp / "out" / command).exists())
            done = self.run_one(command, job, "--as-ranks")
            self.assertRegex(done.err, "do not match as ranks of one job")
        done = self.run_one("merge", job)
        self.assertRegex(done.err, "do not match as ranks of one job.*report --each")

    def test_stages_of_a_pipeline_share_a_group(self):
        first, last = self.different()
        for rank, trace in enumerate((first, last)):
            for e in trace["traceEvents"]:
                if e["name"] == NCCL:
                    e["args"].update(recorded(rank, [0, 1]))
        self.everywhere(self.job(a=first, b=last), {0: "a.json", 1: "b.json"})

    def refused(self, job):
        for command in ("report", "collectives"):
            done = self.run_one(command, job, rc=1)
            self.assertRegex(done.err, "do not match as ranks of one job")
            self.assertFalse((self.tmp / "out" / command).exists())
            self.run_one(command, job, "--as-ranks", rc=(0, 3))
        done = self.run_one("merge", job, rc=(0, 3))
        self.assertRegex(done.err, "do not match as ranks of one job")

    def test_jobs_that_say_what_they_are(self):
        """Each says of what job it is: of other sizes, of another day, with other groups."""
        with self.subTest("sizes"):
            first, last = self.different()
            first["distributedInfo"] = {"rank": 0, "world_size": 8}
            last["distributedInfo"] = {"rank": 1, "world_size": 2}
            self.refused(self.job(a=first, b=last))
        with self.subTest("days"):
            first, last = self.different()
            for rank, trace in enumerate((first, last)):
                trace["distributedInfo"] = {"rank": rank, "world_size": 2}
                trace["baseTimeNanoseconds"] = 10 ** 18 + rank * 3600 * 10 ** 9
            self.refused(self.job(a=first, b=last))
        with self.subTest("groups"):
            first, last = self.different()
            for rank, (trace, members) in enumerate(((first, [0, 1]), (last, [0, 1, 2, 3]))):
                for e in trace["traceEvents"]:
                    if e["name"] == NCCL:
                        e["args"].update(recorded(rank, members))
            self.refused(self.job(a=first, b=last))

    def test_stages_with_groups_of_their_own(self):
        """What is recorded of stages 0 and 1 are the groups of their replicas alone."""
        stages = []
        for rank in range(4):
            trace = self.different(base=10 ** 18)[rank // 2]
            for e in trace["traceEvents"]:
                if e["name"] == NCCL:
                    e["args"].update(recorded(rank % 2, [rank // 2 * 2, rank // 2 * 2 + 1]))
            stages.append(trace)
        self.everywhere(self.job(a=stages[0], b=stages[1], c=stages[2], d=stages[3]),
                        dict(enumerate(("a.json", "b.json", "c.json", "d.json"))))

    def test_stages_that_say_their_world(self):
        first, last = self.different()
        first["distributedInfo"] = {"rank": 0, "world_size": 2}
        last["distributedInfo"] = {"rank": 1, "world_size": 2}
        self.everywhere(self.job(a=first, b=last), {0: "a.json", 1: "b.json"})

    def test_a_rank_without_gpu(self):
        host = {"traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 1,
             "ts": 1000 * i, "dur": 10, "args": recorded(1, [0, 1], sequence=i)}
            for i in range(1, 4)]}
        done = self.run_one("report", self.job(a=rank_trace(0, [0, 1]), b=host), rc=3)
        self.assertIn("2 of 2 ranks (from recorded collectives): 0, 1", done.out)


class Merged(Who):
    def test_report_of_what_merge_wrote(self):
        self.run_one("merge", self.job(rank0=rank_trace(0, [0, 1]), rank1=rank_trace(1, [0, 1])))
        for command in ("report", "analyze"):
            done = trawl(command, self.tmp / "out/merge/merged.json", "-o", self.tmp / "o")
            self.assertAlive(done)
            self.assertRegex(done.err, r"merged\.json: merged trace.* report the traces of "
                             "the ranks")
            done = trawl(command, self.tmp / "job/rank0.json", "-o", self.tmp / "o")
            self.assertNotIn("merged", done.err)


class Directories(Who):
    def test_merge_names_what_is_no_trace(self):
        job = self.job(rank0=rank_trace(), rank1=rank_trace())
        (job / "config.json").write_text('{"lr": 0.1}')
        done = self.run_one("merge", job)
        self.assertRegex(done.err, r"config\.json: skipped")


class MarkedProcesses(Who):
    """Ranks in one file, each with a mark before its process ids and ids as in the others."""

    def make(self, mark, arrows=True):
        subprocess.run([tracegen(), "--ranks", "2", "--equal-ids", "--steps", "1", "--seed", "3",
                        "--kind", "infer", "-o", self.tmp / "ranks"], check=True)
        self.single = [json.loads((self.tmp / f"ranks/rank{i}_trace.json").read_text())
                       for i in range(2)]
        events = []
        for rank, trace in enumerate(self.single):
            trace.pop("distributedInfo", None)
            events += [dict(e, pid=mark.format(rank) + str(e["pid"])) for e in trace["traceEvents"]
                       if (arrows or e["ph"] not in "sf") and isinstance(e.get("pid"), int)]
        return self.write(json.dumps({"traceEvents": events}))

    def check(self, mark, arrows=True):
        path = self.make(mark, arrows)
        apart = [self.report(json.dumps(t), name=f"rank{i}.json")
                 for i, t in enumerate(self.single)]
        want = {}
        for one in apart:
            self.assertExit(one, 0)
            for name, row in one.ops().items():
                want[name] = tuple(map(sum, zip(want.get(name, (0, 0, 0)), row)))
        whole = self.report(path)
        self.assertExit(whole, 0)
        self.assertReconciles(whole)
        self.assertEqual(whole.ops(), want)
        self.assertEqual(whole.counted("ambiguous_link", "duplicate_correlation"), 0)
        # Two GPUs, whatever they are called in each rank, with the streams that each has.
        self.assertEqual(len(whole.streams()), sum(len(one.streams()) for one in apart))
        return path, apart

    def test_links(self):
        self.check("[TP0{}] ")

    def test_links_without_arrows(self):
        self.check("rank{}/", arrows=False)

    def test_links_of_several_marks(self):
        self.check("[TP0{}-DP00] ")

    def test_ranks(self):
        path, apart = self.check("[TP0{}] ")
        done = trawl("collectives", path, "-o", self.tmp / "c", "--no-xlsx")
        self.assertAlive(done)
        self.assertIn(done.rc, (0, 3))
        rows = read_csv(self.tmp / "c/collective_all_ranks_csvs/rank_timeline.csv")
        self.assertEqual([r["rank"] for r in rows], ["0", "1"])
        for row, one in zip(rows, apart):
            self.assertEqual(float(row["busy_time ms"]) * 1000, float(one.timeline()["busy_time"]))
        done = trawl("merge", path, "-o", self.tmp / "m.json")
        self.assertAlive(done)
        trace = load(self.tmp / "m.json")
        self.assertEqual(faults(trace), [])
        for rank in (0, 1):
            alone = trawl("merge", self.tmp / f"ranks/rank{rank}_trace.json", "-o",
                          self.tmp / f"m{rank}.json")
            self.assertAlive(alone)
            kernels = [{(e["name"].split("] ", 1)[1], e["dur"], e["args"]["stream"])
                        for e in t["traceEvents"]
                        if e.get("cat") == "kernel" and e["args"]["rank"] == rank}
                       for t in (trace, load(self.tmp / f"m{rank}.json"))]
            self.assertEqual(*kernels)
            self.assertGreater(len(kernels[0]), 3)

    def test_what_is_no_mark(self):
        """The processes "CPU 1" and "GPU 0" are one rank: launches have their work."""
        subprocess.run([tracegen(), "--steps", "1", "--seed", "3", "--kind", "infer", "-o",
                        self.tmp / "plain.json"], check=True)
        plain = json.loads((self.tmp / "plain.json").read_text())
        gpus = {e["pid"] for e in plain["traceEvents"] if e.get("cat") == "kernel"}
        renamed = dict(plain, traceEvents=[
            dict(e, pid=("GPU " if e["pid"] in gpus else "CPU ") + str(e["pid"]))
            if isinstance(e.get("pid"), int) else e for e in plain["traceEvents"]])
        self.assertEqual(self.report(json.dumps(renamed)).ops(),
                         self.report(json.dumps(plain)).ops())


class Exports(Who):
    def export(self, name="node.sqlite", shift=None, **options):
        path = self.tmp / name
        arguments = [x for k, v in options.items() for x in (f"--{k}", str(v))]
        subprocess.run([sys.executable, ROOT / "tests/gen/nsys_export.py", *arguments, "-o", path],
                       check=True, capture_output=True)
        if shift is not None:
            self.relabel(path, shift)
        return path

    def relabel(self, path, of):
        """Other numbers in the labels of processes."""
        def name(text):
            return re.sub(r"^rank=(\d+)", lambda m: f"rank={of(int(m[1]))}", text)
        with sqlite3.connect(path) as db:
            for table, column in (("NVTX_EVENTS", "text"), ("StringIds", "value")):
                rows = db.execute(f"SELECT rowid, {column} FROM {table} "
                                  f"WHERE {column} LIKE 'rank=%'").fetchall()
                for row, text in rows:
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?",
                               (name(text), row))

    def events(self, path):
        """What `report` counts of the whole export."""
        rep = self.report(path)
        self.assertAlive(rep)
        return int(re.search(r"([\d,]+) events", rep.out)[1].replace(",", ""))

    def setup_of(self, path):
        done = trawl("nsys", "setup", path, "--format", "csv")
        self.assertExit(done, 0)
        lines = [x.split(",") for x in done.out.splitlines()]
        at = lines[0].index("rank")
        return sorted(int(x[at]) for x in lines[1:])

    def test_labels_number_ranks(self):
        path = self.export(ranks=4, pipeline=2, shift=lambda n: 11 - n)
        self.assertEqual(self.setup_of(path), [8, 9, 10, 11])
        for command in ("report", "collectives"):
            done = trawl(command, path, path, "-o", self.tmp / command, "--no-xlsx")
            self.assertAlive(done)
            self.assertIn("4 ranks (from process labels)", done.out)
        rows = read_csv(self.tmp / "collectives/collective_all_ranks_csvs/ranks.csv")
        self.assertEqual([r["rank"] for r in rows], ["8", "9", "10", "11"])
        # Each event is of one process.
        self.assertEqual(sum(int(r["events"]) for r in rows), self.events(path))

    def check_export(self, path, want, rc=0):
        """rank -> where its number comes from; no event and no kernel of any is lost."""
        done = trawl("collectives", path, "-o", self.tmp / "c", "--no-xlsx")
        self.assertExit(done, rc)
        rows = read_csv(self.tmp / "c/collective_all_ranks_csvs/ranks.csv")
        self.assertEqual({int(r["rank"]): r["rank from"] for r in rows}, want)
        self.assertEqual(sum(int(r["events"]) for r in rows), self.events(path))
        guessed = list(want.values()).count("order")
        self.assertIn(f"{guessed} of {len(want)} ranks numbered by file order", done.err)
        done = trawl("merge", path, "-o", self.tmp / "m.json")
        self.assertExit(done, rc)
        with sqlite3.connect(path) as db:
            kernels = dict(db.execute("SELECT globalPid, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                                      "GROUP BY globalPid"))
        got = {}
        for e in load(self.tmp / "m.json")["traceEvents"]:
            if e.get("cat") == "kernel":
                got[e["args"]["rank"]] = got.get(e["args"]["rank"], 0) + 1
        self.assertEqual(sorted(got), sorted(want))
        self.assertEqual(sorted(got.values()), sorted(kernels.values()))

    def unlabel(self, path, those):
        with sqlite3.connect(path) as db:
            db.execute(f"DELETE FROM NVTX_EVENTS WHERE coalesce(text, (SELECT value FROM StringIds "
                       f"WHERE id = textId)) LIKE 'rank=%' AND NOT ({those})",)

    def test_a_process_without_a_label(self):
        path = self.export(ranks=4, pipeline=2)
        self.unlabel(path, "text NOT LIKE 'rank=2%'")
        self.check_export(path, {0: "label", 1: "label", 2: "order", 3: "label"})

    def test_one_process_with_a_label(self):
        path = self.export(ranks=4, pipeline=2)
        self.unlabel(path, "text LIKE 'rank=2%'")
        self.check_export(path, {0: "order", 1: "order", 2: "label", 3: "order"})

    def test_one_label_in_all(self):
        path = self.export(ranks=4, pipeline=2, shift=lambda n: 0)
        self.check_export(path, dict.fromkeys(range(4), "order"))

    def begin_later(self, path, seconds):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + ?",
                       (seconds * 10 ** 9,))

    def test_captures(self):
        """Two sessions of the same processes: times of each count from its begin."""
        paths = [self.export(f"session{n}.sqlite", ranks=2) for n in (0, 1)]
        self.begin_later(paths[0], 100)
        for command in ("report", "collectives"):
            done = trawl(command, *paths, "-o", self.tmp / command, "--no-xlsx")
            self.assertExit(done, 3)
            self.assertIn("2 ranks (from process labels)", done.out)
            self.assertEqual(re.findall(r"(\w+)\.sqlite: skipped: an earlier capture", done.err),
                             ["session1"])
        done = trawl("merge", *paths, "-o", self.tmp / "m.json")
        self.assertExit(done, 3)
        self.assertEqual(done.err.count("an earlier capture"), 1)
        self.assertEqual([(r["rank"], r["file"]) for r in load(self.tmp / "m.json")["ranks"]],
                         [(0, "session0.sqlite"), (1, "session0.sqlite")])

    def test_report_of_one_export(self):
        path = self.export(ranks=4, pipeline=2)
        rep = self.report(path)
        self.assertAlive(rep)
        self.assertIn(", ranks 0-3 together, ", rep.out)
        rows = read_csv(rep.csvs / "coll_analysis.csv")
        self.assertEqual({r["rank"] for r in rows}, {"0", "1", "2", "3"})
        self.unlabel(path, "text NOT LIKE 'rank=2%'")
        rep = self.report(path)
        self.assertIn(", 4 ranks together, ", rep.out)
        rows = read_csv(rep.csvs / "coll_analysis.csv")
        self.assertEqual({r["rank"] for r in rows}, {"0", "1", "3", ""})

    def test_labels_against_the_database(self):
        """Kernels of a rank are those of the process that has its label."""
        path = self.export(ranks=4, pipeline=2, shift=lambda n: 3 - n)
        done = trawl("collectives", path, "-o", self.tmp / "c", "--no-xlsx")
        self.assertAlive(done)
        with sqlite3.connect(path) as db:
            pids = dict(db.execute(
                "SELECT n.globalTid >> 24, coalesce(n.text, s.value) FROM NVTX_EVENTS n "
                "LEFT JOIN StringIds s ON s.id = n.textId "
                "WHERE coalesce(n.text, s.value) LIKE 'rank=%'").fetchall())
            want = {}
            for pid, label in pids.items():
                kernels, = db.execute("SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                                      "WHERE globalPid >> 24 = ?", (pid,)).fetchone(),
                want[label.split(";")[0][5:]] = kernels
        self.assertEqual(sorted(want), ["0", "1", "2", "3"])
        done = trawl("merge", path, "-o", self.tmp / "m.json")
        self.assertExit(done, 0)
        got = {}
        for e in load(self.tmp / "m.json")["traceEvents"]:
            if e.get("cat") == "kernel":
                rank = str(e["args"]["rank"])
                got[rank] = got.get(rank, 0) + round(e["dur"] * 1000)
        self.assertEqual(got, {k: v[0] for k, v in want.items()})

    def test_arrows(self):
        path = self.export(ranks=2)
        done = trawl("merge", path, "-o", self.tmp / "m.json")
        self.assertExit(done, 0)
        trace = load(self.tmp / "m.json")
        self.assertEqual(faults(trace), [])
        slices = {}
        for e in trace["traceEvents"]:
            if e["ph"] == "X" and "correlation" in e.get("args", {}):
                slices.setdefault((e["pid"], e["tid"], e["ts"]), set()).add(
                    e["args"]["correlation"])
        starts = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "s"}
        ends = [e for e in trace["traceEvents"] if e["ph"] == "f"]
        gpu = sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
                  for e in trace["traceEvents"])
        self.assertGreater(len(ends), 100)
        # All work whose call is recorded, and no arrow between what has not the same id.
        with sqlite3.connect(path) as db:
            linked = 0
            for table in ("KERNEL", "MEMCPY", "MEMSET"):
                there = db.execute("SELECT count(*) FROM sqlite_master WHERE name = ?",
                                   (f"CUPTI_ACTIVITY_KIND_{table}",)).fetchone()[0]
                if there:
                    linked += db.execute(
                        f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{table} k WHERE EXISTS ("
                        "SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME r WHERE "
                        "r.correlationId = k.correlationId AND r.globalTid >> 24 = "
                        "k.globalPid >> 24)").fetchone()[0]
        self.assertEqual(len(ends), linked)
        self.assertLessEqual(len(ends), gpu)
        for end in ends:
            start = starts[end["id"]]
            self.assertTrue(slices[start["pid"], start["tid"], start["ts"]] &
                            slices[end["pid"], end["tid"], end["ts"]])

    def test_several_nodes(self):
        nodes = [self.export("node0.sqlite", ranks=2, shift=lambda n: n),
                 self.export("node1.sqlite", ranks=2, seed=2, shift=lambda n: n + 2)]
        for command in ("report", "collectives"):
            done = trawl(command, *nodes, "-o", self.tmp / command, "--no-xlsx")
            self.assertAlive(done)
            self.assertIn("4 ranks (from process labels)", done.out)
        done = trawl("merge", *reversed(nodes), "-o", self.tmp / "m.json")
        self.assertAlive(done)
        trace = load(self.tmp / "m.json")
        self.assertEqual([(r["rank"], r["file"]) for r in trace["ranks"]],
                         [(0, "node0.sqlite"), (1, "node0.sqlite"),
                          (2, "node1.sqlite"), (3, "node1.sqlite")])

    def test_without_labels(self):
        path = self.export(ranks=2, trainer="bare")
        done = trawl("collectives", path, "-o", self.tmp / "c", "--no-xlsx")
        self.assertAlive(done)
        rows = read_csv(self.tmp / "c/collective_all_ranks_csvs/ranks.csv")
        self.assertEqual([(r["rank"], r["rank from"]) for r in rows], [("0", "order"), ("1", "order")])
        self.assertEqual(sum(int(r["events"]) for r in rows), self.events(path))


class Given(Who):
    """The cases of the given material."""

    def case(self, name):
        where = next(FOUND.glob(name + "-*"), None) if FOUND.is_dir() else None
        if not where:
            self.skipTest("no given material")
        return where

    def test_kineto_20(self):
        done = self.run_one("report", self.case("kineto-20"))
        self.assertIn("4 of 4 ranks (from recorded collectives)", done.out)
        self.assertIn("rank 2 is the straggler", done.out)
        self.assertIn("TP-0-DP-1", self.ranks("report")[2][0])

    def test_kineto_26(self):
        where = self.case("kineto-26")
        done = self.run_one("report", where, rc=3)
        self.assertIn("rank 3 is the straggler", done.out)
        self.everywhere(where, {n: f"1741234567.89-TP-{n}.trace.json" for n in (0, 1, 3)}, rc=3,
                        says=("missing rank 2",))

    def test_kineto_44(self):
        rep = self.report(self.case("kineto-44") / "trace.json")
        self.assertExit(rep, 0)
        self.assertEqual({k: float(v[1]) for k, v in rep.ops().items()},
                         {"aten::mm": 300, "aten::add": 300})
        self.assertEqual(rep.counted("ambiguous_link"), 0)

    def test_kineto_53(self):
        done = self.run_one("report", self.case("kineto-53"))
        for group in ("dp0", "dp1"):
            self.assertEqual(set(self.ranks("report", group)), {0, 1})
            self.assertIn(f"group {group}: 2 of 2 ranks", done.out)
            for _, (file, _) in self.ranks("report", group).items():
                self.assertTrue(file.startswith(group), file)

    def test_nsys_02(self):
        path = self.tmp / "input.sqlite"
        path.write_bytes(gzip.decompress((self.case("nsys-02") / "input.sqlite.gz").read_bytes()))
        done = trawl("collectives", path, "-o", self.tmp / "c", "--no-xlsx")
        self.assertAlive(done)
        rows = read_csv(self.tmp / "c/collective_all_ranks_csvs/ranks.csv")
        self.assertEqual([int(r["rank"]) for r in rows], list(range(8, 16)))
        self.assertEqual(sum(int(r["events"]) for r in rows), 158056)
        computing = read_csv(self.tmp / "c/collective_all_ranks_csvs/rank_timeline.csv")
        self.assertEqual(max(computing, key=lambda r: float(r["computation_time ms"]))["rank"], "10")
        done = trawl("merge", path, "-o", self.tmp / "m.json")
        self.assertExit(done, 0)
        trace = load(self.tmp / "m.json")
        self.assertEqual([r["rank"] for r in trace["ranks"]], list(range(8, 16)))
        self.assertGreater(sum(e["ph"] == "f" for e in trace["traceEvents"]), 1000)

    def test_ranks_07(self):
        done = self.run_one("report", self.case("ranks-07"), rc=3)
        self.assertRegex(done.err, "836123.*an earlier capture")
        self.assertEqual([f for f, _ in self.ranks("report").values()],
                         ["gpuhost_4711.1751410841456.pt.trace.json.gz"])


if __name__ == "__main__":
    unittest.main()
