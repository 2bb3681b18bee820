"""What prepare writes: categories, exposed time, callers, callees and neighbours of operations."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, base_events, document, environment, event, kernel, launch, op, read_csv, trawl

EXPOSED = "Exposed Kernel Time (µs)_sum"


def python(name, ts, dur, tid=32):
    return event("X", "python_function", name, 31, tid, ts, dur)


def call(name, ts, correlation, gpu_name, gpu_ts, gpu_dur, stream=7, tid=32, **args):
    """An operation of 10 µs that launches one kernel."""
    args.setdefault("Input Dims", [[64, 64], [64, 64]])
    args.setdefault("Input type", ["float", "float"])
    return [op(name, ts, 10, tid=tid, **args), launch(ts + 2, 4, correlation, tid=tid),
            kernel(gpu_name, gpu_ts, gpu_dur, correlation, stream=stream)]


class Prepare(Case):
    def prepare(self, events, *options, rc=0):
        self.out = self.tmp / "out"
        done = trawl("prepare", self.write(document(events)), "-o", self.out, *options)
        self.assertExit(done, rc)
        return done

    def json(self, name):
        return json.loads((self.out / name).read_text(encoding="utf-8"))

    def tree(self, category, name):
        found = [t for t in self.json(f"category_data/{category}_tree_data.json").values()
                 if t["op"] == name]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_manifest(self):
        self.prepare(base_events())
        manifest = self.json("category_manifest.json")
        self.assertEqual(manifest, self.json("category_data/category_manifest.json"))
        self.assertEqual([c["name"] for c in manifest["categories"]],
                         ["cpu_idle", "gemm", "elementwise", "multi_kernel"])
        # BASE: total 280 µs, computing 130, exposed communication 50, copies 40, idle 60.
        u = manifest["gpu_utilization"]
        self.assertEqual(u["total_time_ms"], 0.28)
        self.assertEqual(u["computation_time_percent"], round(100 * 130 / 280, 6))
        self.assertEqual(u["exposed_comm_time_percent"], round(100 * 50 / 280, 6))
        self.assertEqual(u["idle_time_percent"], round(100 * 60 / 280, 6))
        self.assertIs(manifest["cpu_idle_critical"], False)
        self.assertIsNone(manifest["platform"])
        self.assertEqual(manifest["trace_path"], "trace.json")
        top = manifest["top_operations"]
        self.assertEqual([t["rank"] for t in top], list(range(1, len(top) + 1)))
        self.assertEqual(top[0]["name"], "aten::linear")
        self.assertEqual(top[0]["percent_of_compute"], round(100 * 100 / 130, 2))

    def test_the_shortest_kernel_is_no_copy(self):
        self.prepare([*call("aten::mm", 100, 1, "a", 200, 7), *call("aten::mm", 120, 2, "b", 220, 3),
                      *call("aten::mm", 140, 3, "c", 240, 5), op("aten::copy_", 160, 10),
                      launch(162, 4, 4), event("X", "gpu_memcpy", "Memcpy DtoD", 0, 7, 260, 1, correlation=4,
                                               device=0, stream=7)])
        self.assertEqual(self.json("category_manifest.json")["shortest_kernel_us"], 3)

    def test_ten_operations_are_the_top(self):
        """EDGE_OF(TW_LIMIT_TOP_OPERATIONS)"""
        for count, top in ((9, 9), (10, 10), (11, 10)):
            with self.subTest(count):
                self.prepare([e for i in range(count) for e in call(
                    f"aten::op{i}", 100 + 20 * i, i + 1, f"k{i}", 1000 + 100 * i, 50 + i)])
                self.assertEqual([t["name"] for t in self.json("category_manifest.json")["top_operations"]],
                                 [f"aten::op{i}" for i in reversed(range(count))][:top])

    def test_no_path_of_the_machine(self):
        self.prepare(base_events())
        for path in self.out.rglob("*"):
            if path.is_file() and path.suffix in (".json", ".csv"):
                self.assertNotIn(str(self.tmp), path.read_text(encoding="utf-8"), path)

    def test_critical_idle_time_is_over_half(self):
        for gap, critical in ((100, False), (102, True)):
            with self.subTest(gap):
                self.prepare(call("aten::mm", 100, 1, "k", 200, 50) +
                             call("aten::mm", 120, 2, "k", 250 + gap, 50))
                self.assertIs(self.json("category_manifest.json")["cpu_idle_critical"], critical)

    def test_exposed_time(self):
        """The second product runs half of its time beside an addition on another stream."""
        self.prepare(call("aten::mm", 100, 1, "a", 200, 100) +
                     call("aten::mm", 120, 2, "b", 300, 100) +
                     call("aten::add", 140, 3, "c", 350, 80, stream=8))
        gemm = read_csv(self.out / "category_data/gemm_ops.csv")
        self.assertEqual([(r["name"], r["Kernel Time (µs)_sum"], r[EXPOSED]) for r in gemm],
                         [("aten::mm", "200", "150")])
        add = read_csv(self.out / "category_data/elementwise_ops.csv")
        self.assertEqual([(r["Kernel Time (µs)_sum"], r[EXPOSED]) for r in add], [("80", "30")])
        self.assertEqual(gemm[0]["enhanced_category"], "gemm")
        self.assertEqual(gemm[0]["display_name"], "GEMM")

    def test_work_without_a_launch_exposes_nobody(self):
        """Also where memory is zero before it is written."""
        trace = self.write(document([kernel("lost", 150, 30, 8)] + call("aten::mm", 100, 1, "k", 200, 50)))
        done = trawl("prepare", trace, "-o", self.tmp / "out", 
                     env=environment(MALLOC_PERTURB_=255, GLIBC_TUNABLES="glibc.malloc.tcache_count=0"))
        self.assertExit(done, 0)
        row, = read_csv(self.tmp / "out/category_data/gemm_ops.csv")
        self.assertEqual(row[EXPOSED], "50")

    def test_a_report_has_no_exposed_time(self):
        path = self.write(document(base_events()))
        trawl("report", path, "-o", self.tmp / "r")
        self.assertNotIn(EXPOSED, read_csv(self.tmp / "r/perf_report_csvs/unified_perf_summary.csv")[0])

    def test_work_that_nothing_launched_is_added_up(self):
        """A kernel of 30 us and a copy of 20 us, behind a linked kernel of 50 us."""
        self.prepare(call("aten::mm", 100, 1, "k", 200, 50) +
                     [kernel("lost", 250, 30, 8),
                      kernel("Memcpy HtoD (Pageable -> Device)", 280, 20, 9, cat="gpu_memcpy")])
        self.assertEqual(self.json("category_manifest.json")["unlinked"],
                         {"count": 2, "time_ms": 0.05, "percent_of_total": 50,
                          "compute_time_ms": 0.03, "percent_of_compute": 37.5})

    def test_norms_are_split(self):
        self.prepare(call("aten::native_batch_norm", 100, 1, "a", 200, 10) +
                     call("aten::native_layer_norm", 120, 2, "b", 300, 10) +
                     call("aten::convolution", 140, 3, "c", 400, 10))
        names = [c["name"] for c in self.json("category_manifest.json")["categories"]]
        self.assertEqual(sorted(names), ["batchnorm", "convolution", "cpu_idle", "multi_kernel", "norm"])

    def test_callers_up_to_the_outermost_module(self):
        self.prepare([python("train.py(1): main", 90, 200), python("nn.Module: Net_0", 95, 100),
                      python("net.py(7): forward", 96, 90), python("nn.Module: Linear_0", 98, 30)] +
                     call("aten::mm", 100, 1, "k", 300, 10))
        chain = self.tree("gemm", "aten::mm")["parent_chain"]
        self.assertEqual([(c["name"], c["type"]) for c in chain],
                         [("nn.Module: Linear_0", "module"), ("net.py(7): forward", "python"),
                          ("nn.Module: Net_0", "module")])

    def test_backward_operations_have_the_modules_of_their_forward_pass(self):
        forward = call("aten::mm", 100, 1, "k", 300, 10, **{"Sequence number": 5})
        engine = op("autograd::engine::evaluate_function: MmBackward0", 400, 60, tid=33,
                    **{"Sequence number": 5, "Fwd thread id": 1})
        backward = call("aten::mm", 420, 2, "kb", 500, 10, tid=33,
                        **{"Input Dims": [[8, 64], [64, 64]]})
        self.prepare([python("nn.Module: Net_0", 95, 100), *forward, engine,
                      op("MmBackward0", 410, 40, tid=33, **{"Sequence number": 5}), *backward])
        chains = [[(c["name"], c["type"]) for c in t["parent_chain"]]
                  for t in self.json("category_data/gemm_tree_data.json").values()]
        self.assertIn([("MmBackward0", "operation"),
                       ("autograd::engine::evaluate_function: MmBackward0", "operation"),
                       ("aten::mm", "forward"), ("nn.Module: Net_0", "module")], chains)

    def test_subtree(self):
        self.prepare([op("aten::matmul", 98, 20, **{"Input Dims": [[64, 64], [64, 64]]}),
                      *call("aten::mm", 100, 1, "gemm_kernel", 300, 10)])
        tree = self.tree("gemm", "aten::mm")
        self.assertEqual([(s["name"], s["type"], s["depth"], s["dur_us"]) for s in tree["subtree"]],
                         [("aten::mm", "operation", 0, 10), ("cudaLaunchKernel", "runtime", 1, 4),
                          ("gemm_kernel", "kernel", 2, 10)])
        self.assertEqual(tree["subtree"][0]["input_dims"], "((64, 64), (64, 64))")
        self.assertEqual(tree["parent_chain"], [{"name": "aten::matmul", "type": "operation"}])

    def test_neighbours(self):
        events = [python("nn.Module: Norm_0", 95, 100)]
        for i, name in enumerate(("aten::pow", "aten::add", "aten::mul")):
            events += call(name, 100 + 12 * i, i + 1,
                           "void at::native::vectorized_elementwise_kernel<4>", 300 + 20 * i, 10)
        events += call("aten::mm", 140, 9, "gemm", 400, 10)
        self.prepare(events)
        tree = self.tree("elementwise", "aten::add")
        self.assertEqual([s["name"] for s in tree["siblings"]],
                         ["aten::pow", "aten::add", "aten::mul", "aten::mm"])
        self.assertEqual([s.get("self", False) for s in tree["siblings"]], [False, True, False, False])

    def test_callers_however_deep(self):
        """The outermost module counts, 64 callers away and more; beyond 1024 it is said."""
        for depth in (64, 65, 1024, 1025):
            with self.subTest(depth):
                frames = [python("nn.Module: Net_0", 1, 9000)] + \
                    [python(f"f.py({i}): f", 2 + i, 8000 - 2 * i) for i in range(depth - 1)]
                self.prepare(frames + call("aten::mm", 2000, 1, "k", 9100, 10))
                tree = self.tree("gemm", "aten::mm")
                self.assertEqual(len(tree["parent_chain"]), min(depth, 1024))
                self.assertEqual(tree["parent_chain"][-1]["type"], "module" if depth < 1025 else "python")
                self.assertEqual([n for n in tree["notes"] if "callers" in n],
                                 ["the callers may go on: the 1024 innermost are looked at"]
                                 if depth > 1023 else [])

    def test_siblings_beyond_those_looked_at(self):
        for before, behind, more in ((24, 23, 0), (24, 24, 1), (25, 24, 2)):
            with self.subTest(before=before, behind=behind):
                events = [python("nn.Module: Net_0", 95, 2000)]
                for i in range(before + 1 + behind):
                    events += call("aten::mm" if i == before else "aten::add", 100 + 12 * i, i + 1,
                                   "k", 3000 + 20 * i, 10)
                self.prepare(events)
                tree = self.tree("gemm", "aten::mm")
                self.assertEqual(len(tree["siblings"]), 48)
                self.assertEqual([n for n in tree["notes"] if "siblings" in n],
                                 [f"the siblings go on: {more} more with GPU work"] if more else [])

    def test_attention_that_is_not_fused(self):
        events = [python("nn.Module: Attention_0", 95, 100)]
        for i, name in enumerate(("aten::bmm", "aten::_softmax", "aten::bmm")):
            events += call(name, 100 + 12 * i, i + 1, f"k{i}", 300 + 20 * i, 10)
        self.prepare(events)
        self.assertIs(self.tree("gemm", "aten::bmm")["unfused_attention"], True)

    def test_trees_of_the_operations_over_a_tenth_of_their_category(self):
        """Of 1000 µs: 880, 101, 19; the last is below 10 %."""
        events = []
        for i, (n, dur) in enumerate(((8, 880), (16, 101), (32, 19))):
            events += call("aten::mm", 100 + 12 * i, i + 1, "k", 1000 * (i + 1), dur,
                           **{"Input Dims": [[n, 64], [64, 64]]})
        self.prepare(events)
        trees = self.json("category_data/gemm_tree_data.json").values()
        self.assertEqual([t["time_ms"] for t in trees], [0.88, 0.101])

    def test_trees_of_the_top_five_where_none_is_over_a_tenth(self):
        events = []
        for i in range(20):
            events += call("aten::mm", 100 + 12 * i, i + 1, "k", 1000 * (i + 1), 50 + i,
                           **{"Input Dims": [[8 * (i + 1), 64], [64, 64]]})
        self.prepare(events)
        trees = self.json("category_data/gemm_tree_data.json").values()
        self.assertEqual([t["time_ms"] for t in trees], [0.069, 0.068, 0.067, 0.066, 0.065])

    def test_traces_without_gpu_work(self):
        self.prepare([op("aten::add", 1, 5)])
        manifest = self.json("category_manifest.json")
        self.assertIsNone(manifest["gpu_utilization"]["total_time_ms"])
        self.assertEqual([c["name"] for c in manifest["categories"]], ["cpu_idle", "multi_kernel"])

    def test_same_bytes_for_any_number_of_threads(self):
        files = {}
        for jobs in (1, 2, 5):
            self.prepare(base_events(), "-j", jobs)
            found = {p.relative_to(self.out): p.read_bytes() for p in self.out.rglob("*")
                     if p.is_file()}
            self.assertEqual(files or found, found)
            files = found

    def test_standard_input(self):
        out = self.tmp / "out"
        done = trawl("prepare", "-", "-o", out, stdin=document(base_events()).encode())
        self.assertExit(done, 0)
        self.assertEqual(json.loads((out / "category_manifest.json").read_text())["trace_path"],
                         "stdin")

    def test_an_output_that_is_a_file_is_refused_before_reading(self):
        target = self.write("", "file")
        done = trawl("prepare", self.write(document(base_events())), "-o", target)
        self.assertExit(done, 1)
        self.assertOneLine(done, "not a directory")


if __name__ == "__main__":
    unittest.main()
