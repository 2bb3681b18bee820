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
        self.assertRegex(self.result.out, "aligned by the ends of collectives")

    def test_raw_clocks_are_told(self):
        place, _ = self.job("--clock-skew-us", "700")
        self.run_on(place, "--align", "none")
        self.assertRegex(self.result.out, "clocks differ")

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

    def test_without_gnuplot(self):
        """The picture is missing, the rest is there."""
        place = self.traces([self.all_to_allv(1000, 100, [1, 2], [0, 1])],
                            [self.all_to_allv(1000, 100, [3, 4], [0, 1])])
        tables = self.run_on(place, env=environment(PATH="/nonexistent"))
        self.assertIn("nccl_all2allv", tables)
        self.assertRegex(self.result.err, "all2allv_heatmap.png.*no gnuplot")
        self.assertFalse((self.out / "all2allv_heatmap.png").exists())

    # ---- ranks, statuses, output

    def test_missing_and_double_ranks(self):
        place, _ = self.job(ranks=3)
        (place / "rank1_trace.json").unlink()
        self.run_on(place, codes=(3,))
        self.assertRegex(self.result.err, "no trace of rank 1")
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
            for words in ("4 ranks of 4", "clocks:", "the longest transfers", "stragglers",
                          "who waits for whom"):
                self.assertIn(words, result.out)
        self.assertFalse((place / "analysis_output").exists())

    def test_default_output(self):
        place, _ = self.job(ranks=2)
        self.assertExit(trawl("collectives", place, "--no-xlsx"), 0)
        self.assertTrue((place / "analysis_output/collective_all_ranks_csvs/ranks.csv").exists())
        # What was written there is not taken for traces of the job.
        again = trawl("collectives", place, "--no-xlsx")
        self.assertExit(again, 0)
        self.assertNotIn("passed over", again.err)

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
        names = ["ranks", "verdict", "rank_timeline", "timeline_over_ranks",
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
                mark = {"csv": "# ", "markdown": "## "}[form]
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
