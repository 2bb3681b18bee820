"""What findings make of a recording that lacks something, or holds more than the program: its edge, its stacks, its
graphs, operators and shapes that are not recorded. Gains and windows are worked out by hand: made_runs.py has the times.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import GAP, MEMORY, MS, STEPS, US, Findings, Rank, steps
from support import trawl

PRODUCT = [[8192, 8192], [8192, 8192]]


class Edges(Findings):
    def work(self, r):
        """A window of 600 us, of which the copy and the gap before it are 100 us."""
        r.run("aten::mm", 500 * US)
        with r.op("aten::contiguous", [[64, 64]]):
            r.launch("copy", 99 * US)

    def test_without_steps_the_window_is_without_the_edge(self):
        for before in (True, False):
            r = Rank()
            if before:
                r.run("aten::mm", 10 * US)
                r.busy(100 * MS)
            self.work(r)
            if not before:
                r.busy(100 * MS)
                r.run("aten::mm", 10 * US)
            found = self.find(r)
            self.assertEqual(found["layout_copies"]["gain_percent"], "16.67")
            self.assertIn("the window of 0.600 ms is without", found["recording_edge"]["evidence"])

    def test_with_steps_too(self):
        r = Rank()
        r.run("aten::mm", 10 * US)
        r.busy(50 * MS)
        with r.step(1):
            self.work(r)
        r.busy(50 * MS)
        r.run("aten::mm", 10 * US)
        found = self.find(r)
        self.assertEqual(found["layout_copies"]["gain_percent"], "16.67")
        self.assertRegex(found["recording_edge"]["evidence"], "^[0-9.]+ ms idle outside all steps; the window of 0.600 ms")

    def test_launches_in_the_window_are_weighed_without_the_edge(self):
        """The long wait for a copy before the gap is no reason that the host is not slow behind it."""
        r = Rank()
        r.copy("DtoH (Device -> Pageable)", 10 * US, 8, waits=True)
        r.busy(100 * MS)
        r.sync()
        for _ in range(100):
            r.run("aten::mm", US)
            r.busy(20 * US)
        self.assertIn("launch_bound", self.find(r))

    def test_work_of_the_host_before_the_first_launch(self):
        r = Rank()
        with r.step(1):
            with r.frame("torch/nn/modules/module.py(3): call"), r.frame("video.py(3): decode"):
                r.busy(9 * MS)
            self.work(r)
        row = self.find(r)["host_before_work"]
        self.assertEqual((row["where"], row["call_site"]), ("video.py(3): decode", "video.py(3): decode"))


class Modes(Findings):
    def remedy(self, kernel, operator=False):
        """Of a launch-bound run of kernels of this name."""
        r = Rank()
        for _ in range(100):
            if operator:
                r.run("aten::mm", US)
            r.launch(kernel, US)
            r.busy(20 * US)
        row = self.find(r)["launch_bound"]
        return row["remedy"], row["where"]

    def test_by_kernels_where_operators_are_not_recorded(self):
        for kernel in ("batch_norm_backward_kernel", "void flash_bwd_dq_dk_dv_loop_kernel<x>", "cudnn_wgrad_128",
                       "igemm_wrw_gtcx2_nhwc", "multi_tensor_apply_kernel<FusedAdamMathFunctor>"):
            with self.subTest(kernel):
                self.assertRegex(self.remedy(kernel)[0], "^Launch less")

    def test_not_known(self):
        self.assertRegex(self.remedy("gemm")[0], "^If it trains: Launch less.*In inference: Capture the step")
        self.assertRegex(self.remedy("gemm", True)[0], "^Capture the step")

    def test_places_without_operators_are_kernels(self):
        self.assertEqual(self.remedy("void my::kernel<int>(float*)")[1], "my::kernel<int>(float*)")


class Places(Findings):
    def test_a_function_and_operators(self):
        """Where the GPU waits longest for launches, and for what the host did then."""
        r = Rank()
        for _ in range(50):
            with r.frame("model.py(3): forward"), r.frame("torch/nn/functional.py(9): linear"):
                with r.op("aten::linear", lead=50 * US):
                    r.run("aten::mm", US)
            with r.frame("model.py(8): norm"):
                with r.op("aten::layer_norm", lead=20 * US):
                    r.launch("norm", US)
        row = self.find(r)["launch_bound"]
        self.assertEqual(row["where"], "model.py(3): forward; aten::linear; aten::layer_norm")
        self.assertEqual((row["call_site"], row["operation"]), ("model.py(3): forward", "aten::linear"))

    def test_what_a_fetch_does(self):
        def body(r):
            with r.inside("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                with r.frame("data.py(3): __getitem__"):
                    r.busy(MS)
                    with r.frame("scipy/ndimage.py(7): zoom"):
                        r.busy(9 * MS)
        row = self.find(steps(body))["data_loading"]
        self.assertEqual(row["call_site"], "scipy/ndimage.py(7): zoom")

    def test_long_names(self):
        """One rule for all: a readable part that is found in the trace."""
        name = "void at::native::elementwise_kernel<" + ", ".join(f"at::native::Functor{k}" for k in range(30)) + ">(int)"
        r = Rank()
        for _ in range(100):
            r.launch(name, US)
            r.busy(20 * US)
        place = self.find(r)["launch_bound"]["where"]
        self.assertLessEqual(len(place), 100)
        self.assertRegex(place, r"^at::native::elementwise_kernel<at::native::Functor0.*[0-9],?\.\.\.$")
        self.assertIn(place[:-3], name)


class Stalls(Findings):
    def stall(self, inside, before=0, steps=1, frame="prepare.py(3): prepare"):
        """A python function that runs `before` the GPU falls idle, and `inside` the gap; no more of the host."""
        r = Rank()
        for number in range(steps):
            with r.step(number):
                r.run("aten::mm", before + 100 * US)
                r.busy(95 * US)
                with r.frame(frame):
                    with r.frame("torch/nn/modules/module.py(3): named_modules"):
                        r.busy(before // 2)
                    for _ in range(10):
                        with r.frame("<built-in method next>"):
                            r.busy((before - before // 2 + inside) // 10)
                r.run("aten::mm", 100 * US)
        return self.find(r)

    def test_a_function_that_launches_nothing(self):
        found = self.stall(5 * MS)
        row = found["host_pause"]
        self.assertEqual((row["where"], row["call_site"]), ("prepare.py(3): prepare", "prepare.py(3): prepare"))
        self.assertIn("runs Python for long", row["title"])
        # All but what it runs beside the GPU.
        self.assertAlmostEqual(float(row["gain_ms"]), 5, delta=0.02)

    def test_as_long_in_each_step(self):
        found = self.stall(5 * MS, steps=STEPS)
        # In the steps after the first the GPU has 100 us more to do as it begins.
        self.assertAlmostEqual(float(found["host_pause"]["gain_ms"]), 5 - 3 * 0.1 / 4, delta=0.02)

    def test_short_ones_are_launches(self):
        self.assertNone(self.stall(900 * US), "host_pause")

    def test_most_of_it_beside_the_gpu(self):
        self.assertNone(self.stall(3 * MS, before=4 * MS), "host_pause")
        self.assertIn("host_pause", self.stall(5 * MS, before=4 * MS))

    def test_functions_of_the_framework(self):
        self.assertNone(self.stall(5 * MS, frame="torch/autograd/profiler.py(3): step"), "host_pause")

    def test_functions_that_launch_are_none(self):
        r = Rank()
        for number in range(STEPS):
            with r.step(number), r.frame("train.py(3): step"):
                r.run("aten::mm", 100 * US)
                r.busy(3 * MS)
                r.run("aten::mm", 100 * US)
                r.busy(3 * MS)
        self.assertNone(self.find(r), "host_pause")

    def test_steps_of_which_events_are_missing_are_not_compared(self):
        """Each step waits shortly, then long; one of them is recorded without the first."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                for busy in (50 * US, 3 * MS)[number == 2:]:
                    r.run("aten::mm", 10 * US)
                    r.busy(busy)
                    r.run("aten::relu", 10 * US)
        self.assertNone(self.find(r), "host_pause")

    def test_shares_of_one_thing(self):
        """A pause is of the window, and so is all that it gains together with the rest."""
        found = self.stall(5 * MS, steps=STEPS)
        rows = [r for r in found.values() if r["gain_percent"]]
        self.assertEqual(rows[0]["gain_percent"], rows[0]["gain_together_percent"])


class Attention(Findings):
    Q, SCORES = [16, 512, 64], [16, 512, 512]

    def test_copies_of_its_operands_are_part_of_it(self):
        def copy(r, dims, dur):
            with r.op("aten::contiguous", [dims]):
                r.launch("copy", dur)

        def body(r):
            copy(r, [128, 512], 30 * US)
            r.run("aten::relu", 5 * US, [[8, 8]])
            copy(r, self.Q, 20 * US)
            with r.op("aten::matmul", [self.Q, [16, 64, 512]]):
                copy(r, [16, 64, 512], 20 * US)
                r.run("aten::bmm", 40 * US, [self.Q, [16, 64, 512]])
            r.run("aten::_softmax", 20 * US, [self.SCORES, []])
            r.run("aten::bmm", 40 * US, [self.SCORES, self.Q])
            copy(r, self.Q, 20 * US)
        found = self.find(steps(body))
        fused = 2 * 16 * 4 * 512 * 64 / MEMORY
        self.assertGain(found, "unfused_attention", 160 * US - fused + 5 * GAP)
        self.assertGain(found, "layout_copies", 30 * US + GAP)
        self.assertNotIn("channels_last", found["layout_copies"]["remedy"])

    def test_transposes_around_convolutions(self):
        def body(r):
            with r.op("aten::cudnn_convolution", [[8, 64, 56, 56], [64, 64, 3, 3]]):
                r.launch("void cudnn::ops::nchwToNhwcKernel<float>", 100 * US)
                r.launch("conv", 100 * US)
        self.assertIn("channels_last", self.find(steps(body))["layout_copies"]["remedy"])


class Copies(Findings):
    def back(self, dur, nbytes=1_100_000):
        """A link of 55 GB/s needs 20 us for 1.1 MB."""
        def body(r):
            with r.frame("results.py(3): collect"), r.op("aten::copy_", [[8], [8]]):
                r.copy("DtoH (Device -> Pageable)", dur, nbytes, waits=True)
        return self.find(steps(body))

    def test_to_pageable_memory(self):
        found = self.back(400 * US)
        self.assertGain(found, "pageable_copy", 380 * US)
        self.assertNone(found, "host_sync")
        self.assertRegex(found["pageable_copy"]["remedy"], "^Copy results into pinned memory")
        self.assertIn("results.py(3): collect", found["pageable_copy"]["where"])

    def test_at_the_speed_of_the_link(self):  # EDGE_OF(TW_LIMIT_SLOW_TRANSFER_TIMES)
        found = self.back(40 * US)
        self.assertNone(found, "pageable_copy")
        self.assertIn("host_sync", found)
        self.assertIn("pageable_copy", self.back(40 * US + 10))

    def test_a_value_that_is_read_back(self):
        found = self.back(2 * US, 4)
        self.assertNone(found, "pageable_copy")
        self.assertIn("host_sync", found)


class Unknown(Findings):
    def graph(self, inside):
        def body(r):
            begin = r.now
            r.call("cudaGraphLaunch", 20 * US)
            r.work("kernel", "node", inside, 7, begin, r.correlation)
        return steps(body)

    def test_graphs_come_first(self):
        rows = self.table(self.graph(600 * US))
        self.assertEqual([r["kind"] for r in rows], ["graph_hides_operations", "nothing_found"])
        self.assertIn("in the part that is known", rows[1]["title"])
        path = self.write(self.graph(600 * US).document(), "trace.json")
        done = trawl("analyze", path, "--format", "json", "-o", self.tmp / "out")
        self.assertIn("GPU graphs hide their operators: 5", done.out)

    def test_without_shapes(self):
        rows = self.table(steps(lambda r: r.run("aten::mm", 500 * US)))
        self.assertEqual([r["kind"] for r in rows], ["efficiency_unknown", "nothing_found"])
        self.assertIn("100.0 % no recorded shapes", rows[0]["evidence"])
        self.assertIn("in the part that is known", rows[1]["title"])

    def mixed(self, known):
        def body(r):
            r.run("aten::mm", known, PRODUCT)
            with r.op("aten::relu", [[8192, 8192]]):
                pass
        return self.find(steps(body, ahead=1500 * US))

    def test_half_of_the_window(self):
        # Of no shapes 1500 us a step, of known efficiency the rest; a gap of 1 us before each.
        self.assertIn("efficiency_unknown", self.mixed(1495 * US))
        self.assertNone(self.mixed(1505 * US), "efficiency_unknown")

    def test_without_gpu_work(self):
        r = Rank()
        with r.op("aten::mm", PRODUCT):
            pass
        self.assertIn("No GPU work is recorded", self.find(r)["nothing_found"]["title"])

    def test_operators_that_are_not_recorded(self):
        r = Rank()
        for _ in range(9):
            r.launch("gemm", 100 * US)
        self.assertIn("100.0 % has no recorded operator", self.find(r)["efficiency_unknown"]["evidence"])


class Stacks(Findings):
    def run_of(self, kernel, frame=True):
        r = Rank()
        for _ in range(100):
            if frame:
                with r.frame("model.py(3): forward"):
                    r.run("aten::mm", kernel)
            else:
                r.run("aten::mm", kernel)
        return self.find(r)

    def test_told_where_the_host_limits(self):
        self.assertIn("1.0 per launched GPU event", self.run_of(500)["stacks_recorded"]["evidence"])

    def test_not_where_the_gpu_limits_or_none_are_recorded(self):
        self.assertNone(self.run_of(500 * US), "stacks_recorded")
        self.assertNone(self.run_of(500, False), "stacks_recorded")


class Clocks(Findings):
    def run_of(self, *kernels):
        """Kernels: times in the first two steps and in the others."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                for k, times in enumerate(kernels):
                    r.run(f"model::op{k}", times[number >= 2])
        return self.find(r)

    def test_one_kernel_of_several(self):
        self.assertNone(self.run_of((500 * US, 500 * US), (200 * US, 400 * US)), "power_or_clock")

    def test_most_kernels(self):
        found = self.run_of((500 * US, 600 * US), (200 * US, 240 * US), (100 * US, 100 * US))
        # Steps after the first: two of three are slower by 140 us.
        self.assertGain(found, "power_or_clock", round(280 * US / 3))


if __name__ == "__main__":
    unittest.main()
