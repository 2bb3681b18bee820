"""trawl collectives on made-up jobs whose stragglers, waits and clocks are known."""
import json
import pathlib
import re
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, document, environment, kernel, read_csv, tracegen, trawl

CHECKER = pathlib.Path(__file__).resolve().parent / "check_xlsx.py"
PYTHON = "/usr/bin/python3"  # openpyxl is Debian's
ALLREDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GENERIC = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"


def microseconds(ns):
    return Decimal(ns) / 1000


class Collectives(Case):
    def job(self, *options, kind="infer", ranks=4, steps=2, seed=7):
        """A made-up job: its directory and the facts about it."""
        self._runs += 1
        place, truth = self.tmp / f"job{self._runs}", self.tmp / f"truth{self._runs}"
        subprocess.run([tracegen(), "--kind", kind, "--ranks", str(ranks), "--steps", str(steps),
                        "--seed", str(seed), "--truth", truth, "-o", place, *options], check=True,
                       capture_output=True)
        return place, json.loads((truth / "job.json").read_text())

    def traces(self, *ranks, size=None, **top):
        """A directory of traces, a list of events each."""
        self._runs += 1
        place = self.tmp / f"traces{self._runs}"
        place.mkdir()
        for rank, events in enumerate(ranks):
            info = {"distributedInfo": {"backend": "nccl", "rank": rank,
                                        "world_size": size or len(ranks)}, **top}
            (place / f"rank{rank}.json").write_text(document(events, **info))
        return place

    def run_on(self, *arguments, codes=(0,), xlsx=False, **keywords):
        """{table: rows} of the CSV files."""
        self._runs += 1
        out = self.tmp / f"out{self._runs}"
        self.result = trawl("collectives", *arguments, "-o", out,
                            *([] if xlsx else ["--no-xlsx"]), timeout=120, **keywords)
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        self.out = out
        return {p.stem: read_csv(p) for p in (out / "collective_all_ranks_csvs").glob("*.csv")}

    # ---- stragglers and clocks

    def test_straggler_is_found(self):
        place, truth = self.job("--straggler", "2:1.3")
        rows = self.run_on(place, "--align", "none")["straggler_summary"]
        self.assertEqual(rows[0]["rank"], "2")
        self.assertGreater(Decimal(rows[0]["caused_wait_time_us"]),
                           sum(Decimal(r["caused_wait_time_us"]) for r in rows[1:]))
        last = max(truth["collectives"], key=lambda c: c["n_last"])
        self.assertEqual(last["rank"], 2)

    def test_waits_are_exact(self):
        """Without skew, with the waits that the generator knows to the nanosecond."""
        for kind in ("infer", "compile"):
            place, truth = self.job("--straggler", "1:1.2", kind=kind)
            tables = self.run_on(place, "--align", "none")
            rows = {int(r["rank"]): r for r in tables["straggler_summary"]}
            for c in truth["collectives"]:
                row = rows[c["rank"]]
                self.assertEqual(int(row["num_collectives"]), c["n"], kind)
                self.assertEqual(Decimal(row["total_wait_time_us"]), microseconds(c["wait_ns"]))
                self.assertEqual(int(row["times_arrived_last"]), c["n_last"])

    def test_who_waits_for_whom(self):
        """Waits by pair add up to those of the rank, and to what others cause."""
        place, truth = self.job("--straggler", "1:1.2")
        tables = self.run_on(place, "--align", "none")
        for c in truth["collectives"]:
            pairs = [r for r in tables["collective_waits"] if int(r["waiting rank"]) == c["rank"]]
            self.assertEqual(sum(Decimal(r["total wait (us)"]) for r in pairs),
                             microseconds(c["wait_ns"]))
            self.assertNotIn(str(c["rank"]), [r["late rank"] for r in pairs])
            row = next(r for r in tables["straggler_summary"] if int(r["rank"]) == c["rank"])
            caused = [r for r in tables["collective_waits"] if int(r["late rank"]) == c["rank"]]
            self.assertEqual(sum(Decimal(r["total wait (us)"]) for r in caused),
                             Decimal(row["caused_wait_time_us"]))

    def test_clock_offsets_are_recovered(self):
        place, truth = self.job("--straggler", "3:1.2", "--clock-skew-us", "700")
        offsets = truth["clock_offsets_ns"]
        clocks = self.run_on(place, "--align", "collectives")["clocks"]
        self.assertEqual(len(clocks), 4)
        for row in clocks[1:]:
            want = microseconds(offsets[int(row["rank"])] - offsets[0])
            off = abs(Decimal(row["offset (us)"]) - want)
            self.assertLessEqual(off, Decimal(row["uncertainty (us)"]), str(row))
            self.assertLess(Decimal(row["uncertainty (us)"]), 50, str(row))

    def test_waits_after_alignment(self):
        """Skewed clocks: waits are those of the job's clock, within what is said to be uncertain."""
        place, truth = self.job("--straggler", "3:1.2", "--clock-skew-us", "700")
        tables = self.run_on(place, "--align", "collectives")
        most = max(Decimal(r["uncertainty (us)"]) for r in tables["clocks"][1:])
        rows = {int(r["rank"]): r for r in tables["straggler_summary"]}
        self.assertEqual(tables["straggler_summary"][0]["rank"], "3")
        for c in truth["collectives"]:
            got = Decimal(rows[c["rank"]]["total_wait_time_us"])
            self.assertLessEqual(abs(got - microseconds(c["wait_ns"])), 2 * most * c["n"] + 1)
        self.assertRegex(self.result.out, "aligned by collective end times")

    def test_raw_clocks_are_told(self):
        place, _ = self.job("--clock-skew-us", "700")
        self.run_on(place, "--align", "none")
        self.assertRegex(self.result.out, "clocks differ")

    def test_stragglers_are_exact(self):
        """Times last, own waits and their sum as the generator knows them; most caused first."""
        for kind in ("infer", "compile"):
            place, truth = self.job("--straggler", "1:1.2", kind=kind)
            tables = self.run_on(place, "--align", "none")
            rows = {int(r["rank"]): r for r in tables["stragglers"]}
            for c in truth["collectives"]:
                row = rows[c["rank"]]
                self.assertEqual((int(row["collectives"]), int(row["times last"])),
                                 (c["n"], c["n_last"]), kind)
                self.assertEqual(Decimal(row["own wait (us)"]), microseconds(c["wait_ns"]))
                facts = json.loads((pathlib.Path(str(place).replace("job", "truth")) /
                                    f"rank{c['rank']}.json").read_text())
                self.assertEqual(Decimal(row["computing (us)"]),
                                 microseconds(facts["compute_ns"]))
            caused = [Decimal(r["caused wait (us)"]) for r in tables["stragglers"]]
            self.assertEqual(sum(caused),
                             microseconds(sum(c["wait_ns"] for c in truth["collectives"])))
            self.assertEqual(caused, sorted(caused, reverse=True))
            self.assertEqual(tables["stragglers"][0]["rank"], "1")
            # One group: whoever is late is so by itself.
            self.assertEqual({r["passed on (us)"] for r in tables["stragglers"]}, {"0"})

    # ---- the verdict

    def verdict(self, tables):
        return {r["finding"]: r for r in tables["verdict"]}

    def test_verdict_names_the_straggler(self):
        place, truth = self.job("--straggler", "2:1.5")
        tables = self.run_on(place, "--align", "none")
        said = self.verdict(tables)
        self.assertEqual(said["straggler"]["ranks"], "2")
        facts = {c["rank"]: c for c in truth["collectives"]}
        self.assertIn(f"last in {facts[2]['n_last']} of {facts[2]['n']} collectives",
                      said["straggler"]["text"])
        found = {r["kind"]: r for r in tables["findings"]}["straggler_compute"]
        self.assertEqual(found["rank"], "2")
        self.assertEqual(said["reason"]["text"], "reason: {title}: {evidence}".format(**found))
        self.assertIn(f"gain {float(found['gain_ms']):.3f} ms of a step", said["straggler"]["text"])
        text = self.result.out
        self.assertRegex(text, "^what limits the run")
        self.assertRegex(text, r"(?ms)^4 of 4 ranks.*^rank 2 is the straggler: gain [\d.]+ ms of a step \([\d.]+ %\)")

    def groups(self, *calls, size=4):
        """Traces of calls (name, ranks, starts, end): all members end together."""
        ranks, counts = [[] for _ in range(size)], {}
        for name, members, starts, end in calls:
            seq = counts[name, tuple(members)] = counts.get((name, tuple(members)), -1) + 1
            for rank, start in zip(members, starts):
                ranks[rank].append(kernel(ALLREDUCE, start, end - start, len(ranks[rank]) + 1,
                                          stream={"tp": 8, "dp": 9}.get(name, 7), **{
                    "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1 << 20,
                    "Out msg nelems": 1 << 20, "Group size": len(members), "Seq": seq,
                    "Process Group Name": name, "Process Group Ranks": str(members)}))
        return self.traces(*ranks)

    def late(self, *calls):
        """{rank: (times last, caused, passed on, times passed on, own wait)}"""
        tables = self.run_on(self.groups(*calls), "--align", "none")
        return {int(r["rank"]): tuple(int(r[c]) for c in (
            "times last", "caused wait (us)", "passed on (us)", "times passed on",
            "own wait (us)")) for r in tables["stragglers"]}, self.verdict(tables)

    def test_delay_is_passed_on(self):
        """Rank 0 waits 300 µs for rank 1 in tp, and so comes late in dp, where 2 waits for it."""
        world = ("w", [0, 1, 2, 3], [0, 0, 0, 0], 10)
        tp = [("tp", [0, 1], [100, 400], 420), ("tp", [2, 3], [100, 100], 120)]
        rows, said = self.late(world, *tp, ("dp", [0, 2], [500, 190], 510))
        # All of the 300 of 310 that it waited; 10 are its own.
        self.assertEqual(rows[0], (2, 310, 300, 1, 300))  # of the world's equals the first
        self.assertEqual(rows[1], (1, 300, 0, 0, 0))
        self.assertEqual(rows[2], (1, 0, 0, 0, 310))
        self.assertEqual(said["straggler"]["ranks"], "1")
        self.assertEqual(said["passed on"]["ranks"], "0")
        self.assertIn("0.300 ms of the 0.310 ms", said["passed on"]["text"])

    def test_what_both_waited_is_not_passed_on(self):
        """Rank 2 waited as well, for rank 3: only what rank 0 waited longer than that."""
        rows, _ = self.late(("tp", [0, 1], [100, 400], 420), ("tp", [2, 3], [100, 220], 240),
                            ("dp", [0, 2], [700, 400], 710))
        self.assertEqual(rows[0], (1, 300, 180, 1, 300))

    def test_what_was_before_a_shared_collective_is_not_passed_on(self):
        """All left it together: what is late behind it is so by itself."""
        rows, said = self.late(("tp", [0, 1], [100, 400], 420),
                               ("w", [0, 1, 2, 3], [430, 430, 430, 430], 450),
                               ("dp", [0, 2], [800, 500], 810))
        self.assertEqual(rows[0], (2, 300, 0, 0, 300))
        self.assertNotIn("passed on", said)

    def test_what_runs_beside_is_not_passed_on(self):
        """The wait in tp had not ended when dp began."""
        rows, _ = self.late(("w", [0, 1, 2, 3], [0, 0, 0, 0], 10),
                            ("tp", [0, 1], [100, 900], 920), ("dp", [0, 2], [500, 200], 510))
        self.assertEqual(rows[0][:4], (2, 300, 0, 0))
        # Nor has a shared collective been left that still runs: what was before it counts.
        rows, _ = self.late(("w", [0, 1, 2, 3], [0, 0, 0, 0], 10),
                            ("tp", [0, 1], [100, 400], 420),
                            ("w", [0, 1, 2, 3], [430, 430, 430, 430], 900),
                            ("dp", [0, 2], [500, 190], 510))
        self.assertEqual(rows[0][:4], (3, 310, 300, 1))

    def test_two_stragglers(self):
        """Ranks 2 and 5 of eight in turn: neither alone causes enough, both together do."""
        calls = [("w", list(range(8)), [1000 * i + (200 if r == (2, 5)[i % 2] else 0)
                                        for r in range(8)], 1000 * i + 250) for i in range(4)]
        said = self.verdict(self.run_on(self.groups(*calls, size=8), "--align", "none"))
        self.assertEqual(said["straggler"]["ranks"], "2, 5")
        self.assertIn("last in 4 of 4 collectives, caused 5.60 ms of wait (100 % of "
                      "all wait, in allreduce 4 MB)", said["straggler"]["text"])

    def test_no_straggler(self):
        """Waits of 4 % of communication, then of 44 % that every rank causes alike."""
        calls = [("w", [0, 1, 2, 3], [1000 * i + (40 if r == 1 else 0) for r in range(4)],
                  1000 * i + 760) for i in range(3)]
        said = self.verdict(self.run_on(self.groups(*calls), "--align", "none"))
        self.assertNotIn("straggler", said)
        # 3 of 4 ranks wait 40 of 760 µs; the fourth runs 720.
        self.assertIn("no straggler: wait is 4.0 % of communication time, most of it caused by rank 1",
                      said["no straggler"]["text"])
        self.assertIn("96 % of communication time is transfer (total 9.00 ms, all ranks), most in "
                      "allreduce 4 MB (8.64 ms, bus bandwidth 8.14 GB/s)",
                      said["transfers"]["text"])
        calls = [("w", [0, 1, 2, 3], [1000 * i + (300 if r == i % 4 else 0) for r in range(4)],
                  1000 * i + 500) for i in range(4)]
        said = self.verdict(self.run_on(self.groups(*calls), "--align", "none"))
        self.assertIn("wait is 53 % of communication time, spread over ranks (max: "
                      "rank 0, 25 % of all wait)", said["no straggler"]["text"])
        self.assertIn("53 % of communication time is waiting for late ranks", said["waiting"]["text"])

    def test_verdict_doubts_clocks(self):
        place, _ = self.job("--clock-skew-us", "700")
        said = self.verdict(self.run_on(place, "--align", "none"))
        self.assertIn("clocks differ and are not aligned", said["clocks"]["text"])
        self.assertNotIn("clocks", self.verdict(self.run_on(place, "--align", "collectives")))

    def test_matches_and_clocks_in_words(self):
        """How sure matches are; clocks that agree are not called aligned."""
        calls = [("w", [0, 1], [1000 * i, 1000 * i], 1000 * i + 100) for i in range(5)]
        self.run_on(self.groups(*calls, size=2), "--align", "collectives")
        words = " ".join(self.result.out.split())
        self.assertIn("matched: 5 by sequence number, all certain", words)
        self.assertRegex(words, r"clocks: agree within their uncertainty, no shift applied; "
                         r"max offset: rank 1, 0\.0 ± [\d.]+ µs from rank 0")
        self.assertNotIn("aligned", words)
        place, truth = self.job("--clock-skew-us", "700")
        self.run_on(place, "--align", "collectives")
        off = [o - truth["clock_offsets_ns"][0] for o in truth["clock_offsets_ns"]]
        most = max(range(4), key=lambda r: abs(off[r]))
        words = " ".join(self.result.out.split())
        self.assertRegex(words, r"clocks: aligned by collective end times; max offset: rank "
                         rf"{most}, -?[\d.]+ ± [\d.]+ µs from rank 0")

    # ---- what does not match

    def allreduce(self, ts, dur, index, ranks="[0, 1, 2]", **args):
        return kernel(ALLREDUCE, ts, dur, index + 1, **{
            "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024 + index,
            "Out msg nelems": 1024 + index, "Group size": 3, "Process Group Name": "0",
            "Process Group Ranks": ranks, **args})

    def test_dropped_collective(self):
        """Of one collective one rank has no kernel: all others still match."""
        def rank(r):
            return [self.allreduce(1000 * i + 10 * r, 200 - 10 * r, i, Seq=i)
                    for i in range(8) if (r, i) != (1, 3)]
        for drop in ((), ("Seq",)):
            place = self.traces(*(([{**e, "args": {k: v for k, v in e["args"].items()
                                                   if k not in drop}} for e in rank(r)])
                                  for r in range(3)))
            tables = self.run_on(place, "--align", "none")
            rows = tables["nccl_implicit_sync"]
            self.assertEqual(len(rows), 8)
            self.assertEqual([r["skew in start time"] for r in rows], ["20"] * 8)
            self.assertEqual([r["ranks missing"] for r in rows],
                             ["", "", "", "1", "", "", "", ""])
            problem = tables["collective_mismatches"]
            self.assertEqual([(r["problem"], r["ranks"], r["ranks missing"], r["count"])
                              for r in problem], [("missing", "0, 2", "1", "1")])
            match = tables["collective_matches"][0]
            self.assertEqual((match["whole"], match["partial"], match["alone"]), ("7", "1", "0"))

    def test_what_ranks_record_differs(self):
        ranks = [[self.allreduce(1000, 50, 0, Seq=0), self.allreduce(2000, 50, 1, Seq=1)],
                 [self.allreduce(1000, 50, 0, Seq=0),
                  self.allreduce(2000, 50, 1, Seq=1, dtype="Half")],
                 [self.allreduce(1000, 50, 0, Seq=0), self.allreduce(2000, 50, 1, Seq=1)]]
        tables = self.run_on(self.traces(*ranks), "--align", "none")
        self.assertEqual([(r["problem"], r["what differs"], r["count"])
                          for r in tables["collective_mismatches"]],
                         [("different", "dtype: Float (0, 2), Half (1)", "1")])
        self.assertEqual([r["sureness"] for r in tables["nccl_implicit_sync"]],
                         ["certain", "different"])

    def test_kinds_by_kernels_differ(self):
        """What is recorded for no kernel may differ by their names."""
        gather = ALLREDUCE.replace("AllReduce_Sum_f32", "AllGather")
        seq = {"Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 4}
        place = self.traces([kernel(ALLREDUCE, 1000, 50, 1, **seq)],
                            [kernel(gather, 1000, 50, 1, **seq)])
        tables = self.run_on(place, "--align", "none")
        self.assertEqual([(r["problem"], r["what differs"])
                          for r in tables["collective_mismatches"]],
                         [("different", "name: allreduce (0), allgather (1)")])

    def test_other_names(self):
        """Spellings that TraceLens does not know are rows of the same kind."""
        ranks = [[kernel(GENERIC, 1000 + 5 * r, 100 - 5 * r, 1, **{
            "Collective name": "all_gather_into_tensor", "dtype": "Float8_e4m3fn",
            "In msg nelems": 1 << 20, "Out msg nelems": 2 << 20, "Group size": 2,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1]"})] for r in range(2)]
        row = self.run_on(self.traces(*ranks), "--align", "none")["nccl_implicit_sync"][0]
        self.assertEqual((row["Full msg size (MB)"], row["comm_latency"],
                          row["earliest arrival rank"], row["slowest rank"]),
                         ("2", "95", "0", "1"))
        # 2 MB in 95 µs; of the bus half of it.
        self.assertAlmostEqual(float(row["algo bw (GB/s)"]), 2 / 1024 / 95e-6, places=9)
        self.assertAlmostEqual(float(row["bus bw (GB/s)"]), 1 / 1024 / 95e-6, places=9)

    def test_custom_kernels(self):
        """Kernels that describe nothing are matched, and known by their names."""
        names = [("void vllm::cross_device_reduce_1stage<float, 4>(vllm::RankData*)", "allreduce"),
                 ("multimem_all_reduce_kernel<float>", "allreduce"),
                 ("quickreduce::allreduce_prototype_twoshot<float>", "allreduce"),
                 ("void deep_ep::intranode::dispatch<8, 768>(int4*)", "all_to_all"),
                 ("void deep_ep::intranode::combine<float, 8, 768>(int4*)", "all_to_all"),
                 ("mscclKernel_Sum_half", ""),
                 ("nvshmemi_barrier_all_kernel", "barrier"),
                 ("rcclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "")]
        ranks = [[kernel(name, 1000 * (i + 1) + 30 * r, 100 - 30 * r, i + 1, stream=9)
                  for i, (name, _) in enumerate(names)] for r in range(2)]
        tables = self.run_on(self.traces(*ranks), "--align", "none")
        self.assertEqual([(r["kernel"], r["Collective type"], r["match"], r["matched by"])
                          for r in tables["nccl_long"] if r["rank"] == "1"],
                         [(name, kind, "whole", "order") for name, kind in names])
        self.assertEqual([(r["Collective name"], r["skew in start time"], r["comm_latency"])
                          for r in tables["nccl_implicit_sync"]],
                         [(kind, "30", "70") for _, kind in names])

    def test_copies_wait_for_nobody(self):
        """By kernels ends that are 150 apart are those of clocks; copies end each by itself."""
        def rank(r, name, cat):
            return [kernel(name, 1000 * (i + 1) + 150 * (r == 2), 90, i + 1, cat=cat, **{
                "Collective name": "_allgather_base", "dtype": "Float", "In msg nelems": 1024,
                "Out msg nelems": 3072, "Group size": 3, "Process Group Name": "0",
                "Process Group Ranks": "[0, 1, 2]", "Seq": i}) for i in range(5)]
        for name, cat, offset in ((GENERIC, "kernel", "150"), ("Memcpy PtoP (Device -> Device)", "gpu_memcpy", "")):
            tables = self.run_on(self.traces(*(rank(r, name, cat) for r in range(3))))
            self.assertEqual(tables["collective_matches"][0]["whole"], "5")
            self.assertEqual([r["offset (us)"] for r in tables["clocks"] if r["rank"] == "2"], [offset], cat)
            self.assertEqual("nccl_implicit_sync" in tables, cat == "kernel")
            self.assertEqual("5 on copy engines" in self.result.out, cat != "kernel")
            self.assertEqual("aligned" in self.result.out, cat == "kernel")

    def transfer(self, rank, ts, dur, seq):
        return kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", ts, dur, seq + 1,
                      stream=9, **{
                          "Collective name": "recv" if rank else "send", "dtype": "Float",
                          "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,
                          "Process Group Name": "pp", "Process Group Ranks": "[0, 1]", "Seq": seq,
                          "Src Rank": 0, "Dst Rank": 1})

    def test_times_of_transfers(self):
        """Whoever comes last, from then until both are done is the time of 4000 bytes."""
        times = [((1000, 100), (1040, 50)), ((2040, 50), (2000, 100)), ((3000, 100), (3000, 100))]
        rows = self.run_on(self.traces(*([self.transfer(r, *both[r], i)
                                          for i, both in enumerate(times)] for r in range(2))),
                           "--align", "none")["transfers"]
        self.assertEqual([(r["bytes"], r["start skew (us)"], r["waiting rank"], r["time (us)"],
                           r["end skew (us)"]) for r in rows],
                         [("4000", "40", "0", "60", "10"), ("4000", "40", "1", "60", "10"),
                          ("4000", "0", "", "100", "0")])

    def test_a_name_of_another_rank(self):
        """The trace counts, also where its name says rank 0."""
        for name in (0, 5):
            place = self.traces([kernel("k", 1000, 10, 1)], [kernel("k", 1000, 10, 1)])
            (place / "rank1.json").rename(place / "x.json")
            (place / "rank0.json").rename(place / f"rank{1 - name if name else 7}.json")
            (place / "x.json").rename(place / f"rank{name}.json")
            rows = {r["rank"]: r for r in self.run_on(place, "--align", "none")["ranks"]}
            self.assertEqual(rows["1"]["rank in name"], str(name))
            self.assertIn("different rank in the file name", rows["1"]["remark"])

    # ---- all_to_allv

    def all_to_allv(self, ts, dur, splits, ranks):
        return kernel(GENERIC, ts, dur, 1, **{
            "Collective name": "all_to_allv", "dtype": "Float", "In msg nelems": sum(splits),
            "Out msg nelems": sum(splits), "In split size": json.dumps(splits),
            "Out split size": json.dumps(splits), "Group size": 2, "Process Group Name": "ep",
            "Process Group Ranks": json.dumps(ranks)})

    def test_heat_map_of_a_group(self):
        """Ranks 1 and 3 are the group: destinations are those, not places 0 and 1."""
        mega = 1 << 18  # floats of 1 MB
        ranks = [[kernel("k", 1000, 10, 1)] for _ in range(4)]
        ranks[1] = [self.all_to_allv(1000, 100, [mega, 2 * mega], [1, 3])]
        ranks[3] = [self.all_to_allv(1020, 90, [3 * mega, 4 * mega], [1, 3])]
        place = self.traces(*ranks)
        tables = self.run_on(place, "--align", "none")
        self.assertEqual([(r["src_rank"], r["dst_rank"], r["total_sent_MB"], r["count"])
                          for r in tables["nccl_all2allv_heatmap"]],
                         [("1", "1", "1", "1"), ("1", "3", "2", "1"), ("3", "1", "3", "1"),
                          ("3", "3", "4", "1")])
        row = tables["nccl_all2allv"][0]
        # 10 MB from 1000 to 1110 µs; rank 3 sends 7 MB of a mean of 5 MB.
        self.assertEqual((row["total data communicated (MB)"], row["wall_time (us)"],
                          row["size_imbalance"], row["rank_3_skew in start time"],
                          row["rank_1_skew in end time"], row["rank that sends most"]),
                         ("10", "110", "1.4", "20", "10", "3"))
        self.assertNotIn("nccl_implicit_sync", [t for t in tables if tables[t]])
        picture = self.out / "all2allv_heatmap.png"
        if "gnuplot" not in self.result.err:
            first = picture.read_bytes()
            self.assertEqual(first[:8], b"\x89PNG\r\n\x1a\n")
            self.run_on(place, "--align", "none")
            self.assertEqual((self.out / "all2allv_heatmap.png").read_bytes(), first)
        else:
            self.assertFalse(picture.exists())

    def test_heat_map_of_more_splits_than_ranks(self):
        """Which split is whose is not known then: places stand for ranks, and nodes are not told."""
        mega = 1 << 18
        ranks = [[self.all_to_allv(1000 + r, 100, [mega, 2 * mega, 3 * mega], [1, 0])]
                 for r in range(2)]
        tables = self.run_on(self.traces(*ranks), "--align", "none")
        self.assertEqual([(r["src_rank"], r["dst_rank"], r["total_sent_MB"])
                          for r in tables["nccl_all2allv_heatmap"]],
                         [(str(source), str(place), str(place + 1))
                          for source in range(2) for place in range(3)])
        self.assertEqual({r["node_span"] for r in tables["nccl_all2allv_heatmap"]}, {"unknown"})

    def exchange(self, ts, dur, seq, sent, received):
        ranks = list(range(len(sent)))
        return kernel(GENERIC, ts, dur, seq + 1, **{
            "Collective name": "all_to_allv", "dtype": "Float", "In msg nelems": sum(sent),
            "Out msg nelems": sum(received), "In split size": json.dumps(sent), "Seq": seq,
            "Out split size": json.dumps(received), "Group size": len(sent),
            "Process Group Name": "ep", "Process Group Ranks": json.dumps(ranks)})

    def test_waits_in_all_to_allv(self):
        """Rank 2 receives most and is late by 500 µs in every call, as in a job of experts."""
        mega = 1 << 18  # floats of 1 MB
        sent = [1 * mega, 1 * mega, 4 * mega]
        ranks = [[self.exchange(2000 * i + (500 if r == 2 else 0), 600 - (500 if r == 2 else 0), i,
                                sent, [sent[r]] * 3) for i in range(4)] for r in range(3)]
        tables = self.run_on(self.traces(*ranks), "--align", "none")
        self.assertNotIn("nccl_implicit_sync", tables)
        self.assertEqual(tables["straggler_summary"], [])
        self.assertEqual([(r["waiting rank"], r["late rank"], r["times"], r["total wait (us)"])
                          for r in tables["collective_waits"]],
                         [("0", "2", "4", "2000"), ("1", "2", "4", "2000")])
        self.assertEqual([(r["rank"], r["times last"], r["last (%)"], r["caused wait (us)"],
                           r["own wait (us)"]) for r in tables["stragglers"]],
                         [("2", "4", "100", "4000", "0"), ("0", "0", "0", "0", "2000"),
                          ("1", "0", "0", "0", "2000")])
        # Each receives 3, 3 and 12 MB of a mean of 6; all send 6.
        self.assertEqual({(r["size_imbalance"], r["receive imbalance"],
                           r["rank that sends most"], r["rank that receives most"])
                          for r in tables["nccl_all2allv"]}, {("1", "2", "0", "2")})
        total, = tables["nccl_summary_all2allv"]
        self.assertEqual([total[c] for c in ("receive imbalance_mean", "receive imbalance_max",
                                             "rank that receives most", "that it receives (MB)",
                                             "size_imbalance_max")], ["2", "2", "2", "48", "1"])
        said = self.verdict(tables)
        self.assertIn("rank 2 is the straggler: last in 4 of 4 collectives, caused "
                      "4.00 ms of wait (100 % of all wait, in all_to_allv)",
                      said["straggler"]["text"])
        self.assertEqual(said["imbalance"]["ranks"], "2")
        self.assertIn("max received is 2.00x the mean", said["imbalance"]["text"])
        # Milliseconds on the terminal; the pointer to the picture.
        self.assertRegex(self.result.out, r"(?m)^ +2 +4 +4 +4\.000 +100\.0 ")
        self.assertRegex(self.result.out, r"(?m)^ +0 +2 +4 +2\.000 +0\.500 +ep_0")
        drawn = (self.out / "all2allv_heatmap.png").exists()
        self.assertRegex(self.result.out, "bytes sent between ranks: " +
                         ("all2allv_heatmap.png" if drawn else "table nccl_all2allv_heatmap"))

    def test_no_wait_is_longer_than_its_kernel(self):
        """Rank 0 had nothing to do with rank 1, and was gone before that came."""
        ranks = [[self.exchange(1000, 30, 0, [1, 0], [1, 0])],
                 [self.exchange(1100, 30, 0, [0, 1], [0, 1])]]
        tables = self.run_on(self.traces(*ranks), "--align", "none")
        self.assertEqual([r["caused wait (us)"] for r in tables["stragglers"]], ["30", "0"])
        self.assertEqual(tables["collective_waits"][0]["total wait (us)"], "30")

    def test_without_gnuplot(self):
        """The picture is missing, the rest is there."""
        place = self.traces([self.all_to_allv(1000, 100, [1, 2], [0, 1])],
                            [self.all_to_allv(1000, 100, [3, 4], [0, 1])])
        tables = self.run_on(place, env=environment(PATH="/nonexistent"))
        self.assertIn("nccl_all2allv", tables)
        self.assertRegex(self.result.err, "all2allv_heatmap.png.*gnuplot is not on the PATH")
        self.assertFalse((self.out / "all2allv_heatmap.png").exists())

    def test_more_ranks_than_a_picture_shows(self):
        splits = [1] * 5000
        place = self.traces([self.all_to_allv(1000, 100, splits, [])],
                            [self.all_to_allv(1000, 100, splits, [])])
        tables = self.run_on(place)
        self.assertEqual(len(tables["nccl_all2allv_heatmap"]), 10000)
        self.assertRegex(self.result.err, "cannot draw.*more than 4096 sending")
        self.assertFalse((self.out / "all2allv_heatmap.png").exists())

    def test_more_ranks_than_pairs_are_told_of(self):
        for count in (1024, 1025):
            place = self.traces(*[[self.all_to_allv(1000, 100, [1, 2], [r & ~1, r | 1])]
                                  for r in range(count)])
            # The partner of the last of 1025 is missing.
            tables = self.run_on(place, "--align", "none", "--format", "json", codes=(0, 3))
            pairs = len(tables.get("nccl_all2allv_heatmap", []))
            said = "no rank-to-rank sizes above 1024 ranks (1025 here)" in self.result.out
            self.assertEqual((pairs, said), (2 * count, False) if count == 1024 else (0, True))

    # ---- ranks, statuses, output

    def test_number_of_ranks_that_is_broken(self):
        """Millions of ranks are told as missing, but not one by one."""
        place = self.traces([kernel(ALLREDUCE, 1, 2)], size=10000000)
        tables = self.run_on(place, codes=(3,))
        self.assertRegex(self.result.err, "missing ranks 1-9999999 ")
        self.assertEqual([r["state"] for r in tables["ranks"]], ["read"] + ["missing"] * 65536)

    def test_traces_of_jobs_of_other_sizes(self):
        place = self.traces([kernel(ALLREDUCE, 1, 2)], [kernel(ALLREDUCE, 1, 2)], size=2)
        self.run_on(place)
        self.assertEqual(self.result.err.count("different jobs"), 0)
        trace = sorted(place.iterdir())[1]
        text = trace.read_text()
        trace.write_text(re.sub(r'"world_size": *2', '"world_size": 1000', text))
        self.run_on(place, codes=(3,))
        self.assertRegex(self.result.err, "rank 0 has world size 2, another rank 1000; using 1000")
        trace.write_text(re.sub(r'"rank": *1\b', '"rank": 7', text))
        self.run_on(place, codes=(3,))
        self.assertRegex(self.result.err, "rank 7 is outside the world size of 2")

    def test_missing_and_double_ranks(self):
        place, _ = self.job(ranks=3)
        (place / "rank1_trace.json").unlink()
        self.run_on(place, codes=(3,))
        self.assertRegex(self.result.err, "missing rank 1")
        (place / "again_trace.json").write_bytes((place / "rank0_trace.json").read_bytes())
        (place / "rank2_trace.json").write_text('{"traceEvents": [{"ph": "X", "ts"')
        self.run_on(place, codes=(3,))
        self.assertRegex(self.result.err, "again_trace.json|rank0_trace.json")
        self.assertRegex(self.result.err, "rank2_trace.json")

    def test_strict(self):
        place, _ = self.job(ranks=2)
        trace = place / "rank1_trace.json"
        trace.write_bytes(trace.read_bytes()[:-200])
        self.run_on(place, codes=(3,))
        result = trawl("collectives", place, "-o", self.tmp / "strict", "--strict")
        self.assertExit(result, 1)
        self.assertRegex(result.err, "rank1_trace.json")
        self.assertFalse((self.tmp / "strict").exists())

    def test_usage(self):
        for arguments in ((), ("x", "--align", "clock"), ("x", "--gpus-per-node", "-1"),
                          ("x", "--max-memory", "much")):
            self.assertExit(trawl("collectives", *arguments), 2)
        self.assertExit(trawl("collectives", self.tmp / "absent"), 1)

    def test_no_communication(self):
        tables = self.run_on(self.traces([kernel("a", 1, 5)], [kernel("a", 1, 5)]))
        self.assertEqual(tables["straggler_summary"], [])
        self.assertRegex(self.result.out, "no communication kernels")

    def test_same_bytes(self):
        place, _ = self.job("--straggler", "1:1.2", "--clock-skew-us", "300", kind="train",
                            ranks=5, steps=1)
        first = None
        for jobs in ("1", "2", "5"):
            self.run_on(place, "-j", jobs, "--align", "collectives", xlsx=True)
            files = {str(p.relative_to(self.out)): p.read_bytes()
                     for p in sorted(self.out.rglob("*")) if p.is_file()}
            got = (files, self.result.out)
            self.assertIn("collective_all_ranks.xlsx", files)
            first = first or got
            self.assertEqual(first[0].keys(), got[0].keys())
            self.assertEqual([n for n in files if files[n] != first[0][n]], [], jobs)
            self.assertEqual(first[1], got[1])

    def test_workbook(self):
        """It opens in a reader that is not ours, and says what the CSV files say."""
        if subprocess.run([PYTHON, "-c", "import openpyxl"], capture_output=True).returncode:
            self.skipTest(f"no openpyxl for {PYTHON}: the workbook was not read back")
        place, _ = self.job(ranks=2, kind="train")
        tables = self.run_on(place, xlsx=True)
        book = self.out / "collective_all_ranks.xlsx"
        done = subprocess.run([PYTHON, str(CHECKER), str(book),
                               str(self.out / "collective_all_ranks_csvs")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[:3000] + done.stderr[-2000:])
        names = subprocess.run([PYTHON, "-c", "import openpyxl, sys; "
                                "print(*openpyxl.load_workbook(sys.argv[1]).sheetnames)", book],
                               capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(set(names), {*tables, "about"})
        order = ["ranks", "rank_timeline", "timeline_over_ranks", "nccl_summary_implicit_sync",
                 "nccl_summary_long", "nccl_long", "nccl_implicit_sync", "straggler_summary",
                 "collective_matches", "clocks"]
        self.assertEqual([n for n in names if n in order], order)

    def test_summary_fits(self):
        """Lines end at the terminal's edge."""
        place, _ = self.job("--straggler", "2:1.3", "--clock-skew-us", "300", kind="train")
        for width in (80, 140):
            result = trawl("collectives", place, "--no-csv", "--no-xlsx",
                           env=environment(COLUMNS=str(width)))
            self.assertExit(result, 0)
            self.assertLessEqual(max(map(len, result.out.splitlines())), width)
            for words in ("4 of 4 ranks", "clocks:", "by transfer time", "stragglers",
                          "top waits by rank pair"):
                self.assertIn(words, result.out)
        self.assertFalse((place / "analysis_output").exists())

    def test_default_output(self):
        place, _ = self.job(ranks=2)
        self.assertExit(trawl("collectives", place, "--no-xlsx"), 0)
        self.assertTrue((place / "analysis_output/collective_all_ranks_csvs/ranks.csv").exists())
        # What was written there is not taken for traces of the job.
        again = trawl("collectives", place, "--no-xlsx")
        self.assertExit(again, 0)
        self.assertNotIn("skipped", again.err)

    def test_what_an_earlier_run_left(self):
        place = self.traces([self.all_to_allv(1000, 100, [1, 2], [0, 1])],
                            [self.all_to_allv(1000, 100, [3, 4], [0, 1])])
        self.run_on(place)
        out = self.out
        (out / "all2allv_heatmap.png").write_bytes(b"")
        lone = self.traces([kernel("k", 1, 5)], [kernel("k", 1, 5)])
        result = trawl("collectives", lone, "-o", out, "--no-xlsx")
        self.assertExit(result, 0)
        for name in ("nccl_all2allv.csv", "all2allv_heatmap.png"):
            self.assertRegex(result.err, f"{name} is of an earlier run")
        self.assertNotRegex(result.err, "ranks.csv is of")

    def test_formats(self):
        place, _ = self.job(ranks=2)
        names = ["findings", "ranks", "verdict", "rank_timeline", "timeline_over_ranks",
                 "nccl_summary_implicit_sync", "straggler_summary", "stragglers",
                 "collective_matches", "collective_waits", "clocks"]
        for form in ("json", "csv", "markdown"):
            result = trawl("collectives", place, "--no-csv", "--no-xlsx", "--format", form)
            self.assertExit(result, 0)
            if form == "json":
                data = json.loads(result.out)
                self.assertEqual(data["schema"], "trawl.collectives/1")
                self.assertEqual([t["name"] for t in data["tables"]], names)
            else:
                mark = {"csv": "# ", "markdown": "### "}[form]
                found = re.findall(rf"^{mark}(\w+)$", result.out, re.M)
                self.assertEqual(found, names)

    def test_a_part(self):
        """One step of the two: half of the collectives."""
        place, _ = self.job(kind="compile", steps=2)
        whole = self.run_on(place, "--align", "none")["nccl_implicit_sync"]
        step = re.search(r"ProfilerStep#(\d+)", (place / "rank0_trace.json").read_text())[1]
        part = self.run_on(place, "--align", "none", "--step", step)["nccl_implicit_sync"]
        self.assertEqual(len(whole), 2 * len(part))


if __name__ == "__main__":
    unittest.main()
