"""trawl path on small traces whose path, windows and gains are worked out by hand (in the comments, in
microseconds), and its options.
"""
import json
import pathlib
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (NCCL, SANITIZED, Case, copy, document, event, kernel, launch, op, read_csv, tracegen,
                     trawl)


class Path(Case):
    def path(self, traces, *options, codes=(0,)):
        """{table: rows} of one trace, a list of events, or of ranks, a list of such lists."""
        if not isinstance(traces[0], list):
            traces = [traces]
        self._runs += 1
        place = self.tmp / f"run{self._runs}"
        place.mkdir()
        files = []
        for rank, events in enumerate(traces):
            info = {"distributedInfo": {"rank": rank, "world_size": len(traces)}}
            files.append(place / f"rank{rank}.json")
            files[-1].write_text(document(events, **(info if len(traces) > 1 else {})))
        self.result = trawl("path", *files, "-o", place / "out", "--no-xlsx", *options)
        self.assertExit(self.result, *codes)
        return {p.stem: read_csv(p) for p in (place / "out/path_csvs").glob("*.csv")}

    def windows(self, tables):
        """{scenario: us}"""
        return {r["scenario"]: Decimal(r["ms after"]) * 1000 for r in tables["what_if"]}

    def segments(self, tables):
        return [(r["class"], Decimal(r["duration (µs)"]), r["cause"]) for r in tables["critical_path"]]

    def note(self, words):
        """The number at the end of a line of the summary, None: there is none."""
        text = " ".join(self.result.out.split())
        at = text.find(words)
        return None if at < 0 else int(text[at:].split(": ")[1].split()[0])

    # ---- one rank

    def test_a_launch_and_its_kernel(self):
        # Calls at 0-5 and 5-10; the first kernel starts 7 after its launch, the second right after it.
        events = [op("aten::mm", 0, 6), launch(0, 5, 1), op("aten::add", 6, 6), launch(6, 4, 2),
                  kernel("gemm", 7, 20, 1), kernel("add", 28, 10, 2)]
        tables = self.path(events)
        self.assertEqual(self.segments(tables), [
            ("compute", 20, "duration"), ("stream gap", 1, "stream order"), ("compute", 10, "duration")])
        self.assertEqual([(r["operator"], Decimal(r["ms on the path"])) for r in tables["critical_ops"]],
                         [("aten::mm", Decimal("0.02")), ("aten::add", Decimal("0.01"))])
        windows = self.windows(tables)
        # The GPU takes no time: kernels as soon as launched, at 7 and 6 + the usual latency, 7 where L binds.
        self.assertEqual(windows["gpu_free"], 6)
        # Without host time both are launched at 0: 20, a gap of 1, and 10.
        self.assertEqual(windows["host_free"], 31)
        self.assertEqual(windows["launches_free"], 31)
        # A tenth less of the first: 2.
        self.assertEqual([Decimal(r["gain at -10 % (ms)"]) for r in tables["critical_ops"]],
                         [Decimal("0.002"), Decimal("0.001")])

    def test_dependent_launch(self):
        # The second kernel starts 5 before the first ends: the overlap stays where the first gets shorter.
        events = [launch(0, 2, 1), launch(2, 2, 2), kernel("first", 5, 20, 1), kernel("second", 20, 10, 2)]
        tables = self.path(events, "--scale", "kernel:first=0.5")
        self.assertEqual(sum(s[1] for s in self.segments(tables)), 25)
        self.assertEqual(self.note("GPU events that start before the one before"), 1)
        # First 5 to 15; second from 15 - 5 = 10 to 20.
        self.assertEqual(self.windows(tables)["asked"], 15)
        # It begins not before its launch at 2 and the 5 that launches take here, however short the first is.
        self.assertEqual(self.windows(self.path(events, "--scale", "kernel:first=0"))["asked"], 7 + 10 - 5)
        # Nor before the first, which is gone from 0 on.
        self.assertEqual(self.windows(self.path(events, "--remove", "kernel:first"))["asked"], 7 + 10)

    def test_kernels_without_a_launch(self):
        # The second has no launch: it follows its stream with the gap of 3, not in the window at its end.
        events = [launch(0, 2, 1), kernel("a", 5, 10, 1), kernel("b", 18, 4), kernel("c", 23, 4, 2),
                  launch(3, 2, 2), kernel("d", 30, 5)]
        tables = self.path(events, "--scale", "kernel:a=0.5")
        self.assertEqual(self.note("GPU events without a recorded launch"), 2)
        self.assertEqual(self.windows(tables)["asked"], 27 - 5 - 5)
        whole = self.path(events, "--whole", "--scale", "kernel:a=0.5")
        self.assertEqual(self.windows(whole)["asked"], 35 - 5 - 5)
        # Nothing is launched: all of it is the window.
        alone = self.path([kernel("a", 5, 10), kernel("b", 18, 4)])
        self.assertEqual(self.segments(alone), [
            ("compute", 10, "duration"), ("stream gap", 3, "stream order"), ("compute", 4, "duration")])

    def test_work_launched_before_the_recording(self):
        # The only launch is of the last kernel, which waits for work from before: that is 'unknown' before
        # the window, which begins with it.
        events = [kernel("before", 0, 50), launch(10, 2, 1), kernel("own", 51, 9, 1)]
        tables = self.path(events)
        self.assertEqual(self.segments(tables), [("compute", 9, "duration")])
        self.assertEqual(self.windows(tables)["gpu_free"], 0)

    def test_several_devices(self):
        # Streams 7 of two devices are two streams.
        events = [launch(0, 2, 1), launch(2, 2, 2), kernel("a", 5, 40, 1), kernel("b", 8, 10, 2, device=1)]
        tables = self.path(events, "--scale", "kernel:a=0.1")
        self.assertEqual(self.windows(tables)["asked"], 18 - 5)
        self.assertEqual(tables["critical_path"][-1]["track"], "device 0 stream 7")

    def test_only_the_host(self):
        result = trawl("path", self.write(document([op("aten::mm", 0, 6)])), "--no-csv", "--no-xlsx")
        self.assertExit(result, 1)
        self.assertIn("no GPU work", result.err)

    def test_events_of_no_length(self):
        events = [launch(9, 0, 1), op("aten::mm", 9, 0), kernel("a", 9, 0, 1), kernel("b", 9, 0, 2), launch(9, 0, 2)]
        tables = self.path(events)
        self.assertEqual({*self.windows(tables).values()}, {0})

    def test_polling_threads(self):
        # A watchdog on a thread of its own: what it does is no cause of what the other one does.
        events = [op("aten::mm", 0, 6), launch(0, 5, 1), kernel("a", 7, 20, 1), op("aten::add", 40, 6),
                  launch(41, 4, 2), kernel("b", 47, 10, 2)]
        alone = self.windows(self.path(events))
        events += [launch(t, 1, None, "cudaEventQuery", tid=99) for t in range(0, 60, 2)]
        self.assertEqual(self.windows(self.path(events)), alone)

    def test_a_call_that_waits(self):
        # The call ends 2 after the kernel: launch 0-5, wait 6-30, kernel 8-28; then a launch at 31.
        events = [launch(0, 5, 1), launch(6, 24, None, "cudaDeviceSynchronize"), kernel("a", 8, 20, 1),
                  launch(31, 3, 2), kernel("b", 36, 4, 2)]
        tables = self.path(events, "--scale", "kernel:a=0.5")
        self.assertEqual(self.segments(tables), [
            ("compute", 20, "duration"), ("return of a synchronisation", 2, "synchronisation"),
            ("host between operators", 1, "host order"), ("launch latency", 5, "launch"),
            ("compute", 4, "duration")])
        self.assertEqual(self.windows(tables)["asked"], 32 - 10)

    def test_a_copy_whose_call_waited(self):
        # EDGE_OF(TW_LIMIT_PATH_COPY_CALL_NS): a copy of 5 within its call, which lasts longer than 20 or not.
        for dur, waited in ((20.001, True), (20, False)):
            events = [launch(0, dur, 1, "cudaMemcpyAsync"), copy(3, 5, 1), launch(dur + 1, 2, 2),
                      kernel("a", dur + 4, 5, 2)]
            causes = [s[2] for s in self.segments(self.path(events))]
            self.assertEqual("synchronisation" in causes, waited, dur)

    def test_a_call_that_waited_implicitly(self):
        # EDGE_OF(TW_LIMIT_PATH_IMPLICIT_WAIT_NS): a load of a module longer than 100 that ends as the work does.
        # EDGE_OF(TW_LIMIT_PATH_IMPLICIT_RETURN_NS): or at most 50 later.
        for dur, later, waited in ((100.001, 1, True), (100, 1, False), (200, 50, True), (200, 50.001, False)):
            end = 10 + dur
            events = [launch(0, 2, 1), kernel("a", 5, end - later - 5, 1), launch(10, dur, None, "cuModuleLoadData"),
                      launch(end + 1, 2, 2), kernel("b", end + 4, 5, 2)]
            causes = [s[2] for s in self.segments(self.path(events))]
            self.assertEqual("synchronisation" in causes, waited, (dur, later))

    def test_a_pause_begins_at_five_milliseconds(self):
        # EDGE_OF(TW_LIMIT_PATH_PAUSE_NS)
        for gap, name in ((5000, "host between operators"), (Decimal("5000.001"), "pause")):
            at = 12 + gap
            events = [launch(0, 5, 1), launch(6, 6, None, "cudaDeviceSynchronize"), kernel("a", 8, 2, 1),
                      launch(float(at), 3, 2), kernel("b", float(at + 5), 4, 2)]
            segments = self.segments(self.path(events))
            self.assertIn((name, gap, "host order"), segments)

    def test_a_queue_that_fills_only_in_the_scenario(self):
        # 1026 launches of 1 each, kernels of 1 from 5 on; then one on another stream that lasts: 1032 to 11032.
        # Where the first kernel takes 3000, kernel 1 starts at 3005: with 1024 launches after it the queue
        # is full, and the last of them returns then; the next call is 1 later, its kernel 5 after that.
        n = 1026
        events = [launch(i, 1, i + 1) for i in range(n)] + [launch(n + 1, 1, n + 1)]
        events += [kernel("first" if not i else "short", 5 + i, 1, i + 1) for i in range(n)]
        events += [kernel("last", n + 6, 10000, n + 1, stream=9)]
        tables = self.path(events, "--scale", "kernel:first=3000")
        self.assertEqual(sum(s[1] for s in self.segments(tables)), n + 6 + 10000 - 5)
        self.assertEqual(self.windows(tables)["asked"], 3005 + 1 + 5 + 10000 - 5)

    def test_a_queue_that_is_full_in_the_recording(self):
        # As before with 3000 recorded: the last of 1026 calls returns at 3005. Without the first kernel the queue
        # of what is left is never full: the call takes 1, as others do.
        n = 1026
        events = [launch(i, 1, i + 1) for i in range(n - 1)] + [launch(n - 1, 3005 - (n - 1), n)]
        events += [launch(3006, 1, n + 1), kernel("first", 5, 3000, 1)]
        events += [kernel("short", 3004 + i, 1, i + 1) for i in range(1, n)]
        events += [kernel("last", 3011, 10000, n + 1, stream=9)]
        tables = self.path(events, "--remove", "kernel:first")
        self.assertIn("full queue", [s[2] for s in self.segments(tables)])
        self.assertEqual(sum(s[1] for s in self.segments(tables)), 3011 + 10000 - 5)
        # What is gone was launched at 0; the last kernel starts 1 + 5 after call 1025 ends at 1026.
        self.assertEqual(self.windows(tables)["asked"], 1026 + 1 + 5 + 10000)

    def test_waits_between_streams_are_inferred(self):
        # An event after a; stream 9 waits for it, so b starts as a ends although it was launched before.
        events = [launch(0, 2, 1), launch(3, 1, None, "cudaEventRecord"),
                  launch(5, 1, None, "cudaStreamWaitEvent"), launch(7, 2, 2),
                  kernel("a", 4, 30, 1), kernel("b", 35, 5, 2, stream=9)]
        tables = self.path(events, "--scale", "kernel:a=0.5")
        self.assertEqual(self.segments(tables)[-2:], [
            ("stream gap", 1, "event (inferred)"), ("compute", 5, "duration")])
        self.assertEqual([r["inferred"] for r in tables["critical_path"]], ["False", "True", "False"])
        self.assertEqual(self.windows(tables)["asked"], 36 - 15)
        # All of the path but b is there because of it: 31 of 36.
        row = next(r for r in tables["what_if"] if r["scenario"] == "host_free")
        self.assertAlmostEqual(float(row["inferred (%)"]), 100 * 31 / 36)

    # ---- ranks

    def meeting(self, start, end, seq=1, size=2, name="allreduce", **more):
        args = {"Collective name": name, "Process Group Name": "0", "Process Group Ranks":
                "[" + ", ".join(map(str, range(size))) + "]", "Group size": size, "Seq": seq,
                "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "dtype": "Float", **more}
        return kernel(NCCL, start, end - start, 1000 + seq, stream=9, **args)

    def rank(self, computes, end, seq=1, **more):
        """One kernel of `computes` and a collective that ends at `end`."""
        return [launch(0, 2, 1), kernel("gemm", 5, computes, 1, stream=9), launch(3, 2, 1000 + seq),
                self.meeting(6 + computes, end, seq, **more)]

    def test_the_last_rank_to_arrive(self):
        # Rank 1 computes 80 longer; the transfer is 20 after its arrival.
        ranks = [self.rank(20, 126), self.rank(100, 126)]
        tables = self.path(ranks, "--align", "none")
        self.assertEqual([(r["rank"], r["class"], Decimal(r["duration (µs)"])) for r in tables["critical_path"]],
                         [("1", "compute", 100), ("1", "stream gap", 1), ("0", "transfer", 20)])
        windows = self.windows(tables)
        self.assertEqual(windows["transfers_free"], 101)
        self.assertEqual(windows["slowest_as_next"], 41)
        # Median of two: the lower, for both.
        self.assertEqual(windows["ranks_as_median"], 41)
        self.assertEqual(self.windows(self.path(ranks, "--align", "none", "--rank", "1=median"))["asked"], 41)
        self.assertEqual(self.windows(self.path(ranks, "--align", "none", "--scale", "rank:1/kernel:gemm=0.5"))
                         ["asked"], 71)

    def test_a_bandwidth_is_asked_for(self):
        # 4 MiB by two ranks of an allreduce: 4 MiB over the bus. At 1 GiB/s: 4 / 1024 s = 3906.25.
        tables = self.path([self.rank(20, 126), self.rank(100, 126)], "--align", "none", "--busbw", "1")
        self.assertEqual(self.windows(tables)["asked"], 101 + Decimal("3906.25"))

    def test_a_collective_with_ranks_missing(self):
        # Two of four ranks have traces: the ends are kept, whatever the ranks that are there do.
        ranks = [self.rank(20, 126, size=4), self.rank(100, 126, size=4)]
        tables = self.path(ranks, "--align", "none", "--remove", "kernel:gemm/rank:1", codes=(0, 3))
        self.assertEqual(self.note("collectives without all ranks of their group"), 1)
        # Rank 0's collective ends at 126 by itself; what is gone was launched at 0.
        self.assertEqual(self.windows(tables)["asked"], 126)
        self.assertIn("waiting for a rank", [s[0] for s in self.segments(tables)])

    def test_one_rank_alone_waits_for_an_unknown_time(self):
        tables = self.path(self.rank(20, 126))
        self.assertEqual(self.segments(tables)[-1], ("waiting for a rank", 100, "duration"))
        self.assertEqual(self.windows(tables)["unmatched_free"], 21)
        self.assertEqual(self.windows(tables)["no_waiting"], 121)

    def test_a_rank_that_ends_before_another_starts(self):
        # Clocks agree by what ended before; then rank 1 starts 46 after rank 0 has ended, beyond the 20 that clocks
        # can be off, and is no cause of that end.
        before = [self.meeting(-100 * i, -100 * i + 10, seq=70 - i) for i in range(60, 1, -1)]
        ranks = [before + self.rank(20, 60, seq=99), before + self.rank(100, 126, seq=99)]
        tables = self.path(ranks, "--align", "none", "--scale", "kernel:gemm/rank:1=0")
        self.assertEqual(self.note("ends of collectives before other ranks"), 1)
        # Rank 0 is as recorded and ends at 60; rank 1 arrives at 6, so that rank 0 is the last at 26; 20 more.
        self.assertEqual(self.windows(tables)["asked"], 60 - 5)

    def test_what_clocks_may_be_off(self):
        # EDGE_OF(TW_LIMIT_PATH_CLOCKS_LEAST_NS): clocks agree to the ns; a start 20 after another rank's end is
        # still a cause of it, one 21 after it is none.
        # EDGE_OF(TW_LIMIT_PATH_ENDS_APART_NS): ends 1000 apart are of one collective, 1001 apart of two.
        # EDGE_OF(TW_LIMIT_PATH_CLOCKS_MOST_NS): clocks that scatter by 600 are off by 1000 at most: of ends
        # 4001 apart, 4000 are allowed.
        before = [self.meeting(-9000 * i, -9000 * i + 10, seq=70 - i) for i in range(60, 1, -1)]
        apart = [self.meeting(-9000 * i - 700, -9000 * i + 10 + 600 * (i % 3 - 1), seq=70 - i)
                 for i in range(60, 1, -1)]
        for other, start, end, words in ((before, 80, 90, None), (before, 81, 90, "ends of collectives before"),
                                         (before, 70, 1060, None), (before, 70, 1061, "collectives not matched"),
                                         (apart, 70, 4060, None), (apart, 70, 4061, "collectives not matched")):
            ranks = [before + self.rank(20, 60, seq=99), other + self.rank(start - 6, end, seq=99)]
            self.path(ranks, "--align", "none")
            for words_of in ("ends of collectives before", "collectives not matched"):
                self.assertEqual(self.note(words_of), 1 if words == words_of else None, (start, end, words_of))

    def test_sends_that_cross(self):
        # Rank 0 sends, then receives; rank 1 receives, then sends: pairs that wait for each other in turn.
        pair = {"Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Group size": 2, "dtype": "Float",
                "In msg nelems": 1024, "Out msg nelems": 1024}

        def side(name, seq, ts, end, src, dst, corr):
            return kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", ts, end - ts, corr, stream=9,
                          **{"Collective name": name, "Seq": seq, "Src Rank": src, "Dst Rank": dst, **pair})
        # On rank 1 the second begins before the first has ended, and ends before it: a circle.
        ranks = [[launch(0, 1, 1), launch(1, 1, 2), side("send", 1, 10, 40, 0, 1, 1), side("recv", 2, 41, 50, 1, 0, 2)],
                 [launch(0, 1, 1), launch(1, 1, 2), side("send", 2, 5, 50, 1, 0, 1), side("recv", 1, 51, 52, 0, 1, 2)]]
        tables = self.path(ranks, "--align", "none")
        self.assertEqual(sum(s[1] for s in self.segments(tables)), 47)

    def test_the_window_cuts_a_collective(self):
        # Of step 1 only: the collective of step 0 reaches into it, and its work is not of the window.
        def steps(events):
            return [event("X", "user_annotation", "ProfilerStep#0", 31, 32, 0, 30),
                    event("X", "user_annotation", "ProfilerStep#1", 31, 32, 30, 100), *events]
        ranks = [steps(self.rank(20, 126) + [launch(31, 2, 7), kernel("next", 127, 10, 7, stream=9)]),
                 steps(self.rank(100, 126) + [launch(31, 2, 7), kernel("next", 127, 30, 7, stream=9)])]
        tables = self.path(ranks, "--align", "none", "--step", "1")
        self.assertEqual(sum(s[1] for s in self.segments(tables)), 30)
        self.assertExit(trawl("path", self.write(document(ranks[0])), "--step", "9", "--no-csv", "--no-xlsx"), 2)

    def test_a_step_is_that_of_the_table_of_steps(self):
        """It goes on to the next one of its process, the last one to its own end, which is not in it."""
        launches = ((10, "first", 12), (40, "between", 100), (50, "edge", 120), (79, "last", 130), (80, "after", 140))
        for category in ("user_annotation", "cpu_op"):
            for other in ((), (event("X", category, "ProfilerStep#7", 41, 42, 20, 500),)):
                events = [event("X", category, "ProfilerStep#0", 31, 32, 0, 30),
                          event("X", category, "ProfilerStep#1", 31, 32, 50, 30), *other]
                for at, name, start in launches:
                    events += [launch(at, 0.5, at), kernel(name, start, 8, at)]
                trace = self.write(document(events))
                spans = {r["name"]: r["span (ms)"] for r in self.report(trace).table("steps")}
                for step, window, kernels in ((0, 96, ["between"]), (1, 18, ["edge", "last"])):
                    with self.subTest(category=category, other=bool(other), step=step):
                        tables = self.path([events], "--step", str(step))
                        self.assertEqual(sum(s[1] for s in self.segments(tables)), window)
                        self.assertEqual(float(spans[f"ProfilerStep#{step}"]) * 1000, window)
                        self.assertEqual([r["name"] for r in tables["critical_path"] if r["class"] == "compute"],
                                         kernels)

    def test_operators_at_a_share_of_their_roofline(self):
        # EDGE_OF(TW_LIMIT_PATH_ROOFLINE_PERCENT): 1024 x 1024 by 1024 x 1024 in fp32 reads and writes 12 MiB and has
        # 2^31 FLOPs: at 1000 TFLOP/s and 1000 GB/s 12.582912 us, at 80 % 15.729. A kernel of 30 gets 14.271
        # shorter; one of 15 is better than that. None gets shorter than the shortest kernel.
        platform = self.tmp / "gpu.json"
        platform.write_text(json.dumps({"name": "T", "mem_bw_gbps": 1000, "max_achievable_tflops": {
            "matrix_fp32": 1000, "matrix_tf32": 1000, "vector_fp32": 1000}}))
        mm = {"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["float", "float"]}
        for dur, least, gain in ((30, 1, "14.271"), (15.73, 1, "0.001"), (15.729, 1, None), (30, 20, "10")):
            events = [op("aten::mm", 0, 6, **mm), launch(1, 4, 1), kernel("gemm", 7, dur, 1),
                      op("MyOp", 2, 6, tid=33), launch(3, 4, 2, tid=33), kernel("other", 7 + dur, least, 2)]
            tables = self.path(events, "--platform", platform)
            rows = [r for r in tables["what_if"] if r["kind"] == "roofline"]
            self.assertEqual(len(rows), gain is not None, dur)
            for row in rows:
                self.assertEqual(row["scenario"], "roofline: aten::mm ((1024, 1024), (1024, 1024))")
                self.assertEqual(Decimal(row["gain (ms)"]) * 1000, Decimal(gain), dur)

    # ---- selections and options

    def test_selections(self):
        events = [op("aten::mm", 0, 6), launch(0, 5, 1), op("aten::add", 6, 6), launch(6, 4, 2),
                  kernel("gemm_x", 7, 20, 1), kernel("a/b[0]", 28, 10, 2), launch(13, 1, 3, "cudaMemcpyAsync"),
                  copy(39, 5, 3, stream=7)]
        for selection, after in (("kernel:gemm*", 27), ("op:aten::add", 32), ("kernel:a/b[0]", 32),
                                 ("op:aten::*/kernel:gemm*", 27), ("rank:0", Decimal("19.5")),
                                 ("category:copy", Decimal("34.5")), ("kernel:gemm?x/rank:0", 27)):
            tables = self.path(events, "--scale", f"{selection}=0.5")
            self.assertEqual(self.windows(tables)["asked"], after, selection)
        self.assertEqual(self.windows(self.path(events, "--scale", "kernel:*=1"))["asked"], 37)

    def test_parts_of_the_host(self):
        # Two kernels of 1, launched 100 apart: what lies between is an operator of 90.
        events = [launch(0, 5, 1), kernel("a", 7, 1, 1), op("aten::slow", 6, 90), launch(100, 5, 2),
                  kernel("b", 107, 1, 2)]
        self.assertEqual(self.windows(self.path(events, "--remove", "host:aten::slow"))["asked"], 11)
        self.assertEqual(self.windows(self.path(events, "--scale", "host:aten::slow=0.5"))["asked"], 101 - 45)

    def test_what_is_wrong_is_said(self):
        path = self.write(document([launch(0, 5, 1), kernel("a", 7, 1, 1)]))
        for options, words in ((["--scale", "kernel:b*=1"], "nothing is selected"),
                               (["--scale", "kernel:a"], "SELECTION=FACTOR"),
                               (["--scale", "kernel:a=-1"], "SELECTION=FACTOR"),
                               (["--scale", "a=1"], "is not a selection"),
                               (["--remove", "kernel:"], "is not a selection"),
                               (["--rank", "1"], "RANK=median"), (["--rank", "3=next"], "no other rank"),
                               (["--busbw", "0"], "bandwidth"), (["--busbw", "5"], "no collective")):
            result = trawl("path", path, "--no-csv", "--no-xlsx", *options)
            self.assertExit(result, 2)
            self.assertIn(words, result.err)

    def test_the_same_bytes_for_any_number_of_threads(self):
        place = self.tmp / "job"
        subprocess.run([tracegen(), "--ranks", "3", "--steps", "2", "--straggler", "1:1.3", "-o", place],
                       check=True, capture_output=True)
        made = []
        for threads in ("1", "2", "5"):
            out = self.tmp / threads
            result = trawl("path", place, "-j", threads, "-o", out, "--no-xlsx")
            self.assertExit(result, 0)
            made.append([result.out] + [p.read_bytes() for p in sorted((out / "path_csvs").iterdir())])
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], made[2])

    def test_many_of_everything_take_linear_time(self):
        # 100,000 kernels without length at one time, as many threads, and as many calls that wait.
        n = 2000 if SANITIZED else 100000
        launches = [launch(i, 1, i + 1, tid=32 + (i if many else 0)) for many in (0,) for i in range(n)]
        for events in (launches + [kernel("k", n, 0, i + 1) for i in range(n)],
                       [launch(i, 1, i + 1, tid=32 + i) for i in range(n)] +
                       [kernel("k", i + 1, 1, i + 1) for i in range(n)],
                       [launch(0, 1, 1), kernel("k", 2, 3 * n, 1)] +
                       [launch(3 + 2 * i, 1, None, "cudaStreamSynchronize") for i in range(n)]):
            path = self.write(document(events))
            result = trawl("path", path, "--no-csv", "--no-xlsx", "-q", timeout=30)
            self.assertExit(result, 0)


if __name__ == "__main__":
    unittest.main()
