"""What counts as communication, seen from outside: the given cases and more of their kinds, each
with its right value worked out by hand, in all tables that tell of it alike."""
import json
import pathlib
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, document, kernel, launch, op, read_csv, trawl

CASES = SHARED / "cases/found"
PEER = "Memcpy PtoP (Device -> Device)"
LOCAL = "Memcpy DtoD (Device -> Device)"


def gather(name="_allgather_base", **more):
    """Arguments of a collective of 8 ranks: 2048 bytes go in, 16384 come out."""
    return {"Collective name": name, "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 8192,
            "Group size": 8, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", **more}


def call(n, work, around=(), name="cudaLaunchKernel", cat="cuda_runtime"):
    """Operations (name, arguments), outermost first, the n-th call and its GPU work (name, us, category, arguments)."""
    at = 1000 * n
    kind = work[2] if len(work) > 2 else "kernel"
    return [op(o[0], at + i, 50 - 2 * i, cat=o[2] if len(o) > 2 else "cpu_op", **(o[1] or {}))
            for i, o in enumerate(around)] + \
        [launch(at + 10, 5, n, name, cat=cat),
         kernel(work[0], at + 200, work[1], n, cat=kind, **(work[3] if len(work) > 3 else {}))]


class Communication(Case):
    def assertTimes(self, rep, **times):
        """Figures of the timeline in us; communication is the same wherever else it stands."""
        self.assertExit(rep, 0)
        figures = rep.figures()
        for row, us in times.items():
            self.assertEqual(figures[row], Decimal(us), f"{row}\n{rep}")
        self.assertReconciles(rep)
        self.assertEqual(rep.reconciliation()["communication"], figures["comm"] * 1000)
        self.assertEqual(sum(Decimal(r["dur_sum"]) for r in rep.table("coll_analysis"))
                         if rep.has("coll_analysis") else 0, figures["comm"])

    def given(self, name):
        found = list(CASES.glob(name + "-*")) if CASES.exists() else []
        if not found:
            self.skipTest(f"no case {name}: TRAWL_SHARED is not there")
        return self.report(found[0] / "trace.json")

    def test_given_cases(self):
        for name, times in (("kineto-01", dict(comm=400, exposed_comm=400, compute=100)),
                            ("kineto-09", dict(comm=400, memcpy=0, compute=100)),
                            ("kineto-22", dict(comm=400, compute=100)),
                            ("kineto-24", dict(comm=0))):
            with self.subTest(case=name):
                self.assertTimes(self.given(name), **times)

    def test_given_names(self):
        counts = {}
        for r in self.given("kineto-23").table("coll_analysis"):
            counts[r["Library"]] = counts.get(r["Library"], 0) + int(r["operation_count"])
        for library, least in (("DeepEP", 5), ("UCCL", 2), ("oneCCL", 1), ("MCCL (Moore Threads)", 1),
                               ("torchcomms, RCCL", 1), ("TensorRT-LLM, vLLM", 2)):
            self.assertGreaterEqual(counts.get(library, 0), least, f"{library}: {counts}")

    # ---- more of each kind

    def test_operations_of_vendors(self):
        for name, of, cat, collective in (
                ("xccl:broadcast", "urEnqueueKernelLaunch", "xpu_runtime", "broadcast"),
                ("mccl:all_reduce", "musaLaunchKernel", "musa_runtime", "allreduce"),
                ("hccl:reduce_scatter", "launchRecipe", "hpu_op", "reduce_scatter"),
                ("oneccl_bindings_for_pytorch::alltoall", "zeCommandListAppendLaunchKernel", "xpu_driver", "all_to_all")):
            with self.subTest(op=name):
                rep = self.report(call(1, ("gemm", 100), [("aten::mm", None)], of, cat) +
                                  call(2, ("unheard_of<float>", 300), [(name, None)], of, cat))
                self.assertTimes(rep, comm=300, exposed_comm=300, compute=100)
                row, = rep.table("coll_analysis")
                self.assertEqual((row["Collective type"], row["Evidence"]), (collective, "operation"))
                self.assertEqual(rep.flaws(), [])

    def test_ranges_of_the_host(self):
        rep = self.report(call(1, ("unheard_of", 40), [("hccl:all_gather", None, "user_annotation")]) +
                          call(2, ("copy", 30), [("nccl:all_gather", None, "user_annotation"), ("aten::copy_", None)]))
        self.assertTimes(rep, comm=40, compute=30)

    def test_copies_by_the_copy_engine(self):
        """Seven peers and the rank's own part.  A copy of other size is ordinary, as is that of a list form."""
        events = []
        for n in range(1, 9):
            events += call(n, (LOCAL if n == 1 else PEER, 50, "gpu_memcpy", {"bytes": 2048}),
                           [("record_param_comms", gather(Seq=4))])
        events += call(9, ("Memcpy HtoD (Pinned -> Device)", 30, "gpu_memcpy", {"bytes": 64}),
                       [("record_param_comms", gather(Seq=5))])
        events += call(10, (PEER, 40, "gpu_memcpy", {"bytes": 2048}),
                       [("c10d::allgather_", None), ("aten::copy_", None)])
        rep = self.report(events)
        self.assertTimes(rep, comm=400, memcpy=70)
        row, = rep.table("coll_analysis")
        self.assertEqual([row[c] for c in ("operation_count", "Collective type", "dtype", "Evidence")],
                         ["8", "allgather", "BFloat16", "operation"])
        self.assertEqual(sum(int(r["communication kernels"]) for r in rep.table("streams")), 0)

    def test_copies_of_one_operation(self):
        """Three copies of each of two operations are two collectives, as long as their copies."""
        events = []
        for seq, at in enumerate((1000, 2000)):
            events.append(op("record_param_comms", at, 60, **gather(Seq=seq)))
            for i, dur in enumerate((20, 30, 40 + seq)):
                n = 3 * seq + i + 1
                events += [launch(at + 5 + 10 * i, 5, n, "cudaMemcpyAsync"),
                           kernel(PEER, at + 100 + 50 * i, dur, n, 7 + i, cat="gpu_memcpy", bytes=2048)]
        rep = self.report(events)
        self.assertTimes(rep, comm=181)
        row, = rep.table("coll_analysis")
        self.assertEqual([row[c] for c in ("operation_count", "dur_sum", "dur_min", "dur_max", "stream")],
                         ["2", "181", "90", "91", "7"])

    def test_fills_of_the_collective(self):
        around = [("record_param_comms", gather())]
        rep = self.report(call(1, ("Memset (Device)", 10, "gpu_memset", {"bytes": 16384}), around) +
                          call(2, ("Memset (Device)", 20, "gpu_memset", {"bytes": 4}), around))
        self.assertTimes(rep, comm=10, compute=20)

    def test_arguments_on_events_of_any_name(self):
        rep = self.report([kernel("their::thing<1>", 1000, 70, 1, **gather("allreduce")),
                           kernel("triton_poi_fused_add_0", 2000, 30, 2, **gather()),
                           kernel("triton_poi_fused_all_reduce_0", 3000, 10, 3)])
        self.assertTimes(rep, comm=100, compute=10)
        self.assertEqual({r["Evidence"] for r in rep.table("coll_analysis")}, {"arguments"})

    def test_computing_by_its_name(self):
        rep = self.report(call(1, ("void at::native::elementwise<4>(int)", 25), [("c10d::allreduce_", None)]) +
                          call(2, ("void c10d::checkForNaN<float>(float*, unsigned long)", 5, "kernel", gather()),
                               [("record_param_comms", gather())]) +
                          call(3, ("scale", 7), [("c10d::allreduce_", None)]))
        self.assertTimes(rep, comm=7, compute=30)

    def test_arguments_of_the_operation(self):
        row, = self.report(call(1, ("ncclDevKernel_Generic", 80), [("record_param_comms", gather(Seq=3))])) \
            .table("coll_analysis")
        self.assertEqual([row[c] for c in ("Collective name", "Group size", "In msg size (MB)_first",
                                           "Out msg nelems", "Process Group Name")],
                         ["_allgather_base", "8", "0.001953125", "8192", "0"])

    def test_across_ranks(self):
        """The same decision: copies that one operation launched are one collective, with its Seq."""
        place = self.tmp / "job"
        place.mkdir()
        for rank in range(2):
            events = [op("record_param_comms", 1000, 9000, **gather(Seq=9))]
            for n in range(1, 9):
                events += call(n, (PEER, 50 + n, "gpu_memcpy", {"bytes": 2048}))
            events += call(20, ("unheard_of", 100 + rank), [("xccl:all_reduce", None)], "urEnqueueKernelLaunch",
                           "xpu_runtime")
            (place / f"rank{rank}.json").write_text(
                document(events, distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2}))
        out = self.tmp / "out"
        # The group of the gather has eight ranks: six have no trace.
        self.assertExit(trawl("collectives", place, "-o", out, "--no-xlsx"), 3)
        rows = read_csv(out / "collective_all_ranks_csvs/nccl_long.csv")
        self.assertEqual([[r[c] for c in ("rank", "Collective type", "Seq", "dtype", "dur", "evidence", "match")]
                          for r in sorted(rows, key=lambda r: (r["Seq"], r["rank"]))],
                         [["0", "allreduce", "", "", "100", "operation", "whole"],
                          ["1", "allreduce", "", "", "101", "operation", "whole"],
                          # From 1200 to the end of the last: 8200 + 58.
                          ["0", "allgather", "9", "BFloat16", "7058", "operation", "whole"],
                          ["1", "allgather", "9", "BFloat16", "7058", "operation", "whole"]])


class Launches(Case):
    """A call of the driver within one of the runtime with its correlation id is the same launch."""

    def test_given_case(self):
        found = list(CASES.glob("kineto-05-*")) if CASES.exists() else []
        if not found:
            self.skipTest("no case kineto-05: TRAWL_SHARED is not there")
        rep = self.report(found[0] / "trace.json")
        self.assertEqual(rep.quality(), [], str(rep))
        self.assertEqual(rep.direct("aten::mm"), 100)

    def test_driver_within_runtime(self):
        for runtime, driver, cat in (("cudaLaunchKernel", "cuLaunchKernel", "cuda"),
                                     ("musaLaunchKernel", "muLaunchKernel", "musa"),
                                     ("launchIt", "launchItNow", "privateuse1")):
            with self.subTest(of=cat):
                rep = self.report([op("aten::mm", 1000, 100), launch(1010, 50, 4, runtime, cat=cat + "_runtime"),
                                   launch(1020, 30, 4, driver, cat=cat + "_driver"), kernel("gemm", 1100, 70, 4)])
                self.assertEqual(rep.quality(), [], str(rep))
                self.assertEqual(rep.direct("aten::mm"), 70)
                self.assertIn(runtime, rep.launches() or runtime)

    def test_beside_it_they_are_two(self):
        """Another id within it, the same id behind it, the driver within the driver."""
        runtime, driver = "cuda_runtime", "cuda_driver"
        first = launch(1010, 50, 4, cat=runtime)
        for second, kind in ((launch(1020, 30, 5, "cuLaunchKernel", cat=driver), "launch_without_kernel"),
                             (launch(1070, 10, 4, "cuLaunchKernel", cat=driver), "duplicate_correlation"),
                             (launch(1020, 30, 4, cat=runtime), "duplicate_correlation")):
            rep = self.report([op("aten::mm", 1000, 100), first, second, kernel("gemm", 1100, 70, 4)])
            self.assertEqual(rep.counted(kind), 1, f"{second}\n{rep}")


class Waiting(Case):
    """A host that waits for the device explains idle time, whoever made the device."""

    def causes(self, path):
        out = self.tmp / f"analysis{self._runs}"
        self._runs += 1
        self.assertExit(trawl("analyze", path, "-o", out), 0)
        idle = json.loads((out / "category_data/cpu_idle_data.json").read_text())
        return {name: c["total_time_us"] for name, c in idle["causes"].items() if c["count"]}

    def test_given_case(self):
        found = list(CASES.glob("kineto-04-*")) if CASES.exists() else []
        if not found:
            self.skipTest("no case kineto-04: TRAWL_SHARED is not there")
        self.assertEqual(self.causes(found[0] / "trace.json"), {"synchronisation": 910})

    def test_calls_of_vendors(self):
        """From 1120 to 2030 the device is idle, and the host in the call from 1030 to 2000."""
        for name, launching, cat, cause in (
                ("zeCommandListHostSynchronize", "zeCommandListAppendLaunchKernel", "xpu_driver", "synchronisation"),
                ("musaStreamSynchronize", "musaLaunchKernel", "musa_runtime", "synchronisation"),
                ("aclrtSynchronizeStreamWithTimeout", "aclrtLaunchKernel", "privateuse1_runtime", "synchronisation"),
                ("synStreamSynchronize", "synLaunch", "hpu_op", "synchronisation"),
                ("synchronizeStream", "runFunction launch", "mtia_runtime", "synchronisation"),
                ("urQueueFlush", "urEnqueueKernelLaunch", "xpu_runtime", "launch_bound")):
            with self.subTest(call=name):
                path = self.write(document([
                    op("aten::mm", 1000, 20), launch(1005, 5, 1, launching, cat=cat), kernel("gemm", 1020, 100, 1),
                    launch(1030, 970, None, name, cat=cat),
                    op("aten::mm", 2010, 20), launch(2015, 5, 2, launching, cat=cat), kernel("gemm", 2030, 100, 2)]))
                self.assertEqual(self.causes(path), {cause: 910})


class Devices(Case):
    """Work of devices of other makers is in the tables."""

    def test_mtia(self):
        rep = self.report([
            launch(1000, 10, 1, "runFunction", cat="mtia_runtime"),
            kernel("remote", 1100, 50, 1, cat="mtia_ccp_events", stream=101, device=17),
            kernel("dma_request", 1200, 20, None, cat="mtia_ccp_events", stream=101, device=17),
            kernel("event_wait", 1000, 5000, None, cat="mtia_ccp_events", stream=102, device=17),
            kernel("event_record", 1250, 1, None, cat="mtia_ccp_events", stream=101, device=17)])
        self.assertExit(rep, 0)
        figures = rep.figures()
        self.assertEqual([figures[k] for k in ("compute", "memcpy", "busy", "total", "idle")], [50, 20, 70, 120, 50])
        self.assertEqual(rep.counted("unknown_gpu_category"), 0, str(rep))
        self.assertEqual(set(rep.streams()), {("17", "101")})

    def test_given_mtia_trace(self):
        path = SHARED / "traces_odd/hta_mtia_inference.json.gz"
        if not path.exists():
            self.skipTest("TRAWL_SHARED is not there")
        rep = self.report(path)
        # By the file: 24 pe_exe, 37 remote, 36 merge; 877 DMA requests; 339 events of waiting are no work.
        self.assertEqual(sum(int(r["kernels"]) for r in rep.table("streams")), 97)
        self.assertEqual(sum(int(r["copies"]) for r in rep.table("streams")), 877)
        self.assertReconciles(rep)


if __name__ == "__main__":
    unittest.main()
