"""Whose time a finding's remedy saves: modules, call sites, passes, phases; siblings; launch-bound places."""
import contextlib
import csv
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gen"))
import runs
from made_runs import AHEAD, DUMP, MI300X, MS, US, Findings, Rank, meet, ranks_of, steps
from support import SLOWER, environment, trawl

LONG = [2048, 4096]
PRODUCT = [[512, 512], [512, 512]]
ENGINE = "autograd::engine::evaluate_function: CloneBackward0"


def module(r, name):
    return r.frame(f"nn.Module: {name}")


def copy(r, dur):
    """A layout copy, whose removal gains dur + 1 us."""
    with r.op("aten::contiguous", [LONG]):
        r.launch("copy", dur)


class Whose(Findings):
    def copies(self, *parts, finding="layout_copies"):
        """Of steps with these copies: a range around each, and its time."""
        def body(r):
            for name, cat, dur in parts:
                with r.inside(name, cat):
                    copy(r, dur)
        return self.find(steps(body))[finding]

    def test_passes(self):  # EDGE_OF(TW_LIMIT_SHARE_LEAST_PERCENT)
        forward = ("model.py(4): forward", "python_function")
        row = self.copies((*forward, 94 * US), (ENGINE, "cpu_op", 4 * US))
        self.assertEqual(row["pass"], "forward 95 %, backward 5 %")
        row = self.copies((*forward, 94 * US), (ENGINE, "cpu_op", 4 * US - 10))
        self.assertEqual(row["pass"], "forward")
        row = self.copies((*forward, 24 * US), (ENGINE, "cpu_op", 74 * US))
        self.assertEqual(row["pass"], "backward 75 %, forward 25 %")
        self.assertEqual(row["phase"], "")

    def test_optimizer(self):
        row = self.copies(("Optimizer.step#AdamW.step", "user_annotation", 40 * US))
        self.assertEqual(row["pass"], "optimizer")

    def test_recomputation(self):
        row = self.copies(("torch/utils/checkpoint.py(1500): recompute_fn", "python_function", 40 * US))
        self.assertEqual(row["pass"], "recompute")

    def test_phases(self):
        row = self.copies(("step[EXTEND bs=1 toks=64]", "user_annotation", 24 * US),
                          ("step[DECODE bs=2]", "user_annotation", 74 * US))
        self.assertEqual(row["phase"], "decode 75 %, prefill 25 %")
        row = self.copies(("step[DECODE bs=2]", "user_annotation", 59 * US), ("between", "user_annotation", 39 * US))
        self.assertEqual(row["phase"], "decode 60 %, outside 40 %")

    def test_a_phase_is_printed(self):
        def body(r):
            with r.inside("step[DECODE bs=2]"):
                copy(r, 74 * US)
        path = self.write(steps(body).document(), "served.json")
        done = trawl("analyze", path, "--no-replay", "--no-plots", "--no-xlsx", "-o", self.tmp / "out")
        self.assertIn(" of a step, in decode\n", done.out)

    def test_work_of_unknown_pass(self):
        def body(r):
            for k in range(40):
                r.launch("copy", 10 * US, gap=(50 if k == 20 else 1) * US)
        row = self.find(steps(body))["queued_gap"]
        self.assertEqual((row["pass"], row["module"], row["call_site"]), ("", "", ""))

    def test_a_rank(self):
        """Of a rank's finding its own work counts, not how long the others wait."""
        def body(ranks):
            for k, r in enumerate(ranks):
                with module(r, f"Part_{k}"), r.frame(f"model.py({k}): forward"):
                    r.run("model::head", (100, 400)[k] * US)
            meet(ranks, "allreduce", 1000, 20 * US)
        row = self.find(*ranks_of(2, body))["straggler_compute"]
        self.assertEqual((row["rank"], row["module"], row["call_site"], row["pass"]),
                         ("1", "Part_1", "model.py(1): forward", "forward"))

    def gaps(self, modules, last=50 * US):
        """Steps with a long gap in each of some modules, which the kind itself does not name."""
        def body(r):
            for k in range(100):
                r.run("aten::mm", 10 * US)
            for k in range(modules):
                with module(r, f"Layer_{k}"), r.frame(f"model.py({k}): forward"):
                    with r.op("aten::mul"):
                        r.launch("mul", 10 * US, gap=last if k else 50 * US)
        return self.find(steps(body, ahead=3 * MS))["queued_gap"]

    def test_the_most_of_all_ranks(self):
        """A gap of 49 us more than usual in one rank, one of 899 us in another."""
        def body(ranks):
            for r, gaps in zip(ranks, ((50, 1), (1, 900))):
                for _ in range(100):
                    r.run("aten::mm", 10 * US)
                for name, gap in zip(("Small_0", "Big_0"), gaps):
                    with module(r, name), r.frame(f"{name}.py(1): forward"), r.op("aten::mul"):
                        r.launch("mul", 10 * US, gap=gap * US)
        row = self.find(*ranks_of(2, body, ahead=3 * MS))["queued_gap"]
        self.assertEqual((row["module"], row["call_site"]), ("Big_0", "Big_0.py(1): forward"))

    def test_the_place_with_the_most(self):  # EDGE_OF(TW_LIMIT_WHOSE_LEAST_PERCENT)
        row = self.gaps(10)
        self.assertEqual((row["module"], row["call_site"], row["pass"]),
                         ("Layer_0", "model.py(0): forward", "forward"))
        self.assertEqual(self.gaps(10, 51 * US)["module"], "Layer_1")
        # A share of 1 / 11: the class has all of it.
        self.assertEqual((self.gaps(11)["module"], self.gaps(11)["call_site"]), ("Layer_*", ""))
        self.assertEqual(self.gaps(10, 50 * US)["evidence"].split()[0], "1.960")


class Siblings(Findings):
    def layers(self, times, number=4, dims=None, slow_step=None):
        """Layers of one product each, of these times; `slow_step`: the last one is as the first in all others."""
        def body(r):
            with module(r, "Model_0"):
                for k, dur in enumerate(times):
                    with module(r, f"Layer_{k}"), r.frame("model.py(7): forward"):
                        once = slow_step is not None and k == len(times) - 1 and body.step != slow_step
                        r.run("aten::mm", times[0] if once else dur, (dims or {}).get(k, PRODUCT))
            body.step += 1
        body.step = 0
        return self.find(steps(body, number))

    def test_a_slow_one(self):
        found = self.layers([10 * US] * 5 + [18 * US] + [10 * US] * 2)
        row = found["slow_module"]
        self.assertGain(found, "slow_module", 8 * US)
        self.assertEqual(row["where"], "Layer_5; aten::mm (512, 512) x (512, 512); model.py(7): forward")
        self.assertEqual((row["module"], row["operation"], row["call_site"], row["pass"]),
                         ("Layer_5", "aten::mm (512, 512) x (512, 512)", "model.py(7): forward", "forward"))
        self.assertEqual(row["evidence"], "0.018 ms in a step, its 7 siblings 0.010 ms in the median, "
                                          "with the same kernels and shapes")
        self.assertNone(self.layers([10 * US] * 8), "slow_module")
        # One that is faster is no fault of the others.
        self.assertNone(self.layers([10 * US] * 5 + [2 * US] + [10 * US] * 2), "slow_module")

    def test_a_typical_step(self):
        """In the first step it takes 150 us, in the others 18: the evidence is of one of those, the lower of two."""
        def body(r):
            with module(r, "Model_0"):
                for k in range(8):
                    with module(r, f"Layer_{k}"):
                        r.run("aten::mm", (10 if k != 5 else 18 if body.step else 150) * US, PRODUCT)
            body.step += 1
        for number in 2, 4:
            body.step = 0
            self.assertEqual(self.find(steps(body, number))["slow_module"]["evidence"],
                             "0.018 ms in a step, its 7 siblings 0.010 ms in the median, "
                             "with the same kernels and shapes")

    def test_other_work(self):
        """One with other shapes is compared with nothing."""
        times = [10 * US] * 5 + [18 * US] + [10 * US] * 2
        self.assertNone(self.layers(times, dims={5: [[512, 1024], [1024, 512]]}), "slow_module")

    def without_shapes(self, args):
        """Layers of one kernel each, the sixth slower; `args`: its and the others' arguments of the launch."""
        def body(r):
            for k in range(8):
                with module(r, f"Layer_{k}"), r.op("aten::mm"):
                    r.launch("mm_kernel", (18 if k == 5 else 10) * US, **args[k != 5])
        return self.find(steps(body))

    def test_grids(self):
        """Without recorded shapes the grid and block say what is the same work, and nothing does without a grid."""
        grid, block = {"grid": [128, 1, 1]}, {"block": [256, 1, 1]}
        self.assertEqual(self.without_shapes((grid, grid))["slow_module"]["module"], "Layer_5")
        self.assertIn("slow_module", self.without_shapes(({**grid, **block}, {**grid, **block})))
        self.assertNone(self.without_shapes(({"grid": [512, 1, 1]}, grid)), "slow_module")
        self.assertNone(self.without_shapes(({**grid, "block": [64, 1, 1]}, {**grid, **block})), "slow_module")
        self.assertNone(self.without_shapes((block, block)), "slow_module")
        self.assertNone(self.without_shapes(({}, {})), "slow_module")

    def test_number(self):  # EDGE_OF(TW_LIMIT_SIBLINGS_LEAST)
        self.assertIn("slow_module", self.layers([10 * US] * 4 + [18 * US]))
        self.assertNone(self.layers([10 * US] * 3 + [18 * US]), "slow_module")

    def test_steps(self):  # EDGE_OF(TW_LIMIT_SIBLING_STEPS)
        times = [10 * US] * 7 + [30 * US]
        self.assertIn("slow_module", self.layers(times, 2))
        self.assertNone(self.layers(times, 1), "slow_module")
        # In half of the steps, and in one of several.
        self.assertNone(self.layers(times, 2, slow_step=0), "slow_module")

    def test_spread(self):  # EDGE_OF(TW_LIMIT_SIBLING_MADS)
        # A median of 100 us, from which 2 us are the median deviation: 3 x 1.4826 x 2 us = 8.8956 us.
        times = [96 * US, 98 * US, 100 * US, 102 * US, 104 * US]
        self.assertIn("slow_module", self.layers([*times, 108896]))
        self.assertNone(self.layers([*times, 108895]), "slow_module")

    def test_share(self):  # EDGE_OF(TW_LIMIT_SIBLING_PERCENT)
        self.assertIn("slow_module", self.layers([200 * US] * 5 + [210001]))
        self.assertNone(self.layers([200 * US] * 5 + [210000]), "slow_module")

    def test_several(self):  # EDGE_OF(TW_LIMIT_SIBLINGS_SLOW_SHARE)
        found = self.layers([20 * US] * 18 + [40 * US] * 2)
        self.assertGain(found, "slow_module", 40 * US)
        self.assertIn("its 18 siblings 0.020 ms", found["slow_module"]["evidence"])
        self.assertNone(self.layers([20 * US] * 17 + [40 * US] * 2), "slow_module")

    def test_inside_each_other(self):
        """The outermost one that is slow, and the kernels that are, each as those of the others at its place."""
        def body(r):
            for k in range(6):
                with module(r, f"Layer_{k}"):
                    with module(r, f"Attention_{k}"):
                        r.run("aten::mm", 20 * US, PRODUCT)
                    with module(r, f"MLP_{k}"):
                        r.run("aten::relu", (31 if k == 3 else 13) * US, [LONG])
        found = self.find(steps(body))
        self.assertEqual(found["slow_module"]["where"], "Layer_3; aten::relu (2048, 4096)")
        self.assertGain(found, "slow_module", 18 * US)
        # What is slow there is no slow kernel besides: 33.6 MB need 11.8 us.
        self.assertNone(found, "low_efficiency_elementwise")

    def test_served_steps(self):
        """Without steps of the profiler those of an inference server."""
        r = Rank()
        r.run("aten::mm", AHEAD)
        for _ in range(2):
            with r.inside("step[DECODE bs=2]"):
                for k in range(6):
                    with module(r, f"Layer_{k}"):
                        r.run("aten::mm", (90 if k == 2 else 30) * US, PRODUCT)
        row = self.find(r)["slow_module"]
        self.assertEqual((row["module"], row["phase"]), ("Layer_2", "decode"))


class LaunchBound(Findings):
    def run_of(self, last, busy=0, around=(), deep=0):
        """A kernel, eight in an encoder, two outside, all of 1 us but the last: each waits 5 us for its launch."""
        r = Rank()

        def run(count, dur=US):
            for _ in range(count):
                r.run("aten::mul", dur)
        for name in around:
            r.inside(f"nn.Module: {name}", "python_function").__enter__()
        run(1)
        with module(r, "TextEncoder_0"):
            run(8)
        r.busy(busy)
        run(1)
        run(1, last)
        return self.find(r)["launch_bound"]

    def test_share(self):  # EDGE_OF(TW_LIMIT_LAUNCH_PLACE_PERCENT)
        row = self.run_of(100 * US)
        self.assertEqual((row["where"], row["module"]), ("TextEncoder_0; aten::mul", "TextEncoder_0"))
        self.assertTrue(row["evidence"].endswith("; 80 % of that in TextEncoder_0: 0.001 to 0.048 ms of 0.160 ms"),
                        row["evidence"])
        self.assertNotIn("TextEncoder_0:", self.run_of(100 * US, 10)["evidence"])

    def test_time(self):  # EDGE_OF(TW_LIMIT_LAUNCH_PLACE_TIME_PERCENT)
        # 47 us from the first of its gaps to the last, of 60 us until the last kernel begins and that.
        self.assertIn("0.001 to 0.048 ms of 0.094 ms", self.run_of(34 * US)["evidence"])
        self.assertNotIn("TextEncoder_0:", self.run_of(34 * US - 10)["evidence"])

    def encoders(self, *frames):
        """Encoders before the model that the GPU limits, in a module around all; `frames`: functions around blocks."""
        r = Rank()
        for number in range(3):
            with r.step(number), module(r, "Pipeline_0"):
                for name in "CLIP_0", "T5_0":
                    with module(r, name):
                        for k in range(10):
                            with contextlib.ExitStack() as stack:
                                for frame in frames:
                                    stack.enter_context(r.frame(frame))
                                stack.enter_context(module(r, f"Block_{k}"))
                                r.run("aten::mul", US)
                with module(r, "Denoiser_0"):
                    r.run("aten::mm", 300 * US)
                r.sync()
        return self.find(r)["launch_bound"]

    def test_several_in_each_step(self):
        row = self.encoders()
        self.assertTrue(row["where"].startswith("CLIP_0, T5_0; "), row["where"])
        self.assertRegex(row["evidence"], r"; 9\d % of that in CLIP_0, T5_0: 0\.1\d\d ms of a step's 0\.4\d\d ms$")
        # A function in them is named besides, and no module in which it is.
        row = self.encoders("model.py(7): forward")
        self.assertTrue(row["where"].startswith("CLIP_0, T5_0; model.py(7): forward"), row["where"])
        self.assertEqual((row["module"], row["call_site"]), ("CLIP_0, T5_0", "model.py(7): forward"))

    def in_two_of_three(self):
        """Steps 0 and 2 with an encoder of 20 kernels, each launched 6 us after the one before; all with a product."""
        r = Rank()
        for number in range(3):
            with r.step(number), module(r, "Pipeline_0"):
                with module(r, "Encoder_0"):
                    for _ in range(0 if number == 1 else 20):
                        r.run("aten::mul", US)
                r.run("aten::mm", 300 * US)
                r.sync()
        return r

    def test_steps_without_such_gaps(self):
        """They are steps too: 1156 us from the first kernel to the end of the last, and twice 113 us of gaps."""
        row = self.find(self.in_two_of_three())["launch_bound"]
        self.assertRegex(row["evidence"], "; 95 % of that in Encoder_0: 0.075 ms of a step's 0.385 ms$")

    def viewed(self, r, *options):
        out = self.tmp / "viewed"
        done = trawl("analyze", self.write(r.document(), "trace.json"), *options, "--no-replay", "--no-plots", "--no-xlsx",
                     "-o", out)
        self.assertExit(done, 0)
        with open(out / "findings.csv", newline="", encoding="utf-8") as f:
            return {row["kind"]: row for row in csv.DictReader(f)}["launch_bound"]

    def test_of_one_step(self):
        """The time is that of the step: from the end of the work before, at 734 us, to 1162 us."""
        row = self.viewed(self.in_two_of_three(), "--step", "2")
        self.assertRegex(row["evidence"], " in Encoder_0: 0.009 to 0.122 ms of 0.428 ms$")
        r = Rank()
        for number in range(5):
            with r.step(number):
                with module(r, "Model_0"):
                    for _ in range(60):
                        r.run("aten::mul", US)
                r.run("aten::relu", US)
        self.assertNotIn(" of that in ", self.viewed(r, "--step", "3")["evidence"])

    def test_at_most_three(self):
        def encoders(count, prefix="Encoder"):
            r = Rank()
            r.run("aten::mul", US)
            for k in range(count):
                with module(r, f"{prefix}{k}_0"):
                    for _ in range(12):
                        r.run("aten::mul", US)
            r.run("aten::mm", MS)
            return self.find(r)["launch_bound"]
        where = encoders(3)["where"]
        self.assertTrue(where.startswith("Encoder0_0, Encoder1_0, Encoder2_0; "), where)
        self.assertNotIn("Encoder", encoders(4)["where"])
        # Of 200 bytes three are the dots; characters of two bytes are not cut.
        self.assertIn(f" in {'é' * 98}...: ", encoders(3, "é" * 300)["evidence"])
        self.assertIn(f" in a{'é' * 98}...: ", encoders(3, "a" + "é" * 300)["evidence"])

    def serve(self, malloc, steps=3, beside=None):
        """A server's steps: prompts with an allocation and some late launches, then tokens whose launches are late;
        `beside`: another thread's step in those."""
        r = Rank()
        for _ in range(steps):
            with r.inside("step[EXTEND bs=1 toks=64]"):
                r.run("aten::mm", 100 * US)
                r.call("cudaMalloc", malloc)
                for _ in range(100):
                    r.run("aten::mul", US)
                r.run("aten::mm", 100 * US)
                r.sync()
            begin = r.now
            with r.inside("step[DECODE bs=2]"):
                for _ in range(300):
                    r.run("aten::mul", US)
                r.sync()
            if beside:
                with r.thread(200, at=begin + 10 * US), r.inside(beside):
                    r.busy(6 * US)
        return self.find(r)

    def test_decode_alone(self):
        """A phase that is launch-bound is found where the whole is not, and the others stay as they are."""
        found = self.serve(6 * MS)
        row = found["launch_bound"]
        self.assertEqual((row["phase"], row["pass"]), ("decode", "forward"))
        # 100 and 300 gaps of 5 us, and 5.906 ms from the end of the first kernel to the launch after the allocation.
        self.assertRegex(row["evidence"], r"^6\.0 ms of 23\.7 ms idle time end with a launch made meanwhile: "
                                          r"1\.5 of 19\.2 ms in prefill, 4\.5 of 4\.5 ms in decode$")
        # Of each token's 300 kernels, 6 us apart: 1 us of each and a gap of 1 us stay.
        self.assertAlmostEqual(float(row["gain_ms"]), 3 * 300 * 4e-3, delta=0.1)
        # Another thread's step of 6 us takes at most the two launches from it.
        other = self.serve(6 * MS, beside="step[EXTEND bs=1 toks=7]")["launch_bound"]
        self.assertEqual(other["phase"], "decode")
        self.assertAlmostEqual(float(other["gain_ms"]), float(row["gain_ms"]), delta=3 * 2 * 5e-3)
        # As a whole: launches of prompts are gone too, but for 25 that the first kernel hides (100 us + 25 x 2 us are
        # 25 x 6 us).
        row = self.serve(US)["launch_bound"]
        self.assertRegex(row["phase"], "^decode (79|80) %, prefill (20|21) %$")
        self.assertAlmostEqual(float(row["gain_ms"]), 3 * 375 * 4e-3, delta=0.2)

    def test_everywhere(self):
        """No place where launches are late in all of it."""
        def body(r):
            with module(r, "Model_0"):
                for k in range(50):
                    with module(r, f"Layer_{k}"):
                        r.run("aten::mul", US)
        self.assertNotIn(" of that in ", self.find(steps(body, ahead=US))["launch_bound"]["evidence"])


class IdleTime(Findings):
    """Column "idle caused (ms)" of the table `modules`."""

    def caused(self, r):
        done = trawl("report", self.write(r.document(), "trace.json"), "--no-xlsx", "-o", self.tmp / "report")
        self.assertExit(done, 0)
        with open(self.tmp / "report/perf_report_csvs/modules.csv", newline="", encoding="utf-8") as f:
            return {row["module"]: round(float(row["idle caused (ms)"] or 0) * MS) for row in csv.DictReader(f)}

    def test_late_launches(self):
        """Kernels of 1 us, each launched 6 us after the one before."""
        r = Rank()
        r.run("aten::mul", US)
        with module(r, "Model_0"):
            r.run("aten::mul", US)
            for k in range(2):
                with module(r, f"Layer_{k}"):
                    for _ in range(1 + k):
                        r.run("aten::mul", US)
        r.busy(20 * US)
        r.run("aten::mul", US)
        r.work("kernel", "unlinked", US, 9, r.now + 9 * US, None)
        self.assertEqual(self.caused(r), {"Model_0": 4 * 5 * US, "Model_0 > Layer_0": 5 * US,
                                          "Model_0 > Layer_1": 10 * US, "(none)": 25 * US, "(unlinked)": 0})

    def test_queued_work(self):
        """A call that ends as the GPU falls idle was not late; one that ends later was."""
        for dur, want in ((8 * US - 1, 2 * US + 1), (8 * US, 0)):
            r = Rank()
            with module(r, "Model_0"):
                # The first runs from 5 us on; the second call ends at 13 us, and its work begins at 15 us.
                r.launch("first", dur)
                r.busy(5 * US)
                begin = r.now
                r.call("cudaLaunchKernel", 4 * US)
                r.work("kernel", "second", US, 9, begin + US, r.correlation)
            self.assertEqual(self.caused(r)["Model_0"], want)


class InGraphs(Findings):
    """Six layers in a graph: in each a copy of the layout and a product, in the fourth a slow one."""

    def operators(self, r, launch):
        with module(r, "Model_0"):
            for k in range(6):
                with module(r, f"Layer_{k}"), r.frame("engine/model.py(9): forward"):
                    with r.op("aten::contiguous", [LONG]):
                        launch("copy_kernel", 20 * US)
                    with r.op("aten::mm", PRODUCT):
                        launch("mm_kernel", (150 if k == 3 else 100) * US)

    def replays(self):
        r = Rank(device=MI300X)
        for number in range(3):
            with r.step(number):
                begin = r.now
                r.call("hipGraphLaunch", 30 * US)
                correlation = r.correlation
                self.operators(Rank(), lambda name, dur: r.work("kernel", name, dur, 7, begin, correlation))
                r.sync("hipStreamSynchronize")
        return self.write(r.document(), "replay.json")

    def capture(self):
        r = Rank(device=MI300X)

        def launch(name, dur):
            r.call("hipLaunchKernel")
            r.events[-1]["args"]["kernel"] = name
        r.call("hipStreamBeginCapture")
        self.operators(r, launch)
        r.call("hipStreamEndCapture")
        return self.write(r.document(), "capture.json")

    def eager(self):
        r = Rank(device=MI300X)
        self.operators(r, r.launch)
        return self.write(r.document(), "eager.json")

    def found(self, *options):
        out = self.tmp / "out"
        done = trawl("analyze", self.replays(), "--no-replay", "--no-plots", "--no-xlsx", "-o", out, *options)
        self.assertExit(done, 0)
        with open(out / "findings.csv", newline="", encoding="utf-8") as f:
            return {row["kind"]: row for row in csv.DictReader(f)}

    def test_without_a_source(self):
        found = self.found()
        self.assertIn("--capture", found["graph_hides_operations"]["remedy"])
        self.assertIn("--map", found["graph_hides_operations"]["remedy"])
        self.assertNone(found, "layout_copies", "slow_module")

    def check(self, found):
        self.assertNone(found, "graph_hides_operations")
        row = found["layout_copies"]
        self.assertEqual((row["operation"], row["module"], row["call_site"], row["pass"]),
                         ("aten::contiguous (2048, 4096)", "Layer_0", "engine/model.py(9): forward", "forward"))
        # The copies of a step and the gaps before five of them; before the first the launch's delay of 5 us.  No time
        # of the host goes with them.
        self.assertGain(found, "layout_copies", 6 * 20 * US + 5 * US + 5 * US)
        self.assertIn("18 occurrences", row["evidence"])
        row = found["slow_module"]
        self.assertEqual((row["module"], row["operation"]), ("Layer_3", "aten::mm (512, 512) x (512, 512)"))
        self.assertGain(found, "slow_module", 50 * US)

    def test_with_a_capture(self):
        self.check(self.found("--capture", self.capture()))
        self.check(self.found("--capture", self.tmp))

    def test_with_an_eager_run(self):
        self.check(self.found("--map", self.eager()))

    def test_numbers_of_events(self):
        """An operator of a capture is no event of the trace: its launch is."""
        trace = json.loads(self.replays().read_text())["traceEvents"]
        number = int(self.found("--capture", self.capture())["layout_copies"]["evidence"].split("event ")[1].split()[0])
        self.assertEqual(trace[number]["name"], "hipGraphLaunch")

    def test_launch_bound_beside_graphs(self):
        """What is in a graph already is not to be captured: half of the GPU time is the edge."""
        def step(r, graph_us):
            begin = r.now
            r.call("hipGraphLaunch", 30 * US)
            r.work("kernel", "node", graph_us * US, 7, begin, r.correlation)
            for _ in range(20):
                with r.op("aten::add", [LONG]):
                    r.call("pause", 100 * US, cat="cpu_op")
                    r.launch("beside", 10 * US)
        others = 200 + AHEAD // US
        for graph_us, said in ((others + 1, "in GPU graphs already"), (others, "Capture the step")):
            with self.subTest(graph_us=graph_us):
                row = self.find(steps(lambda r, us=graph_us: step(r, us)))["launch_bound"]
                self.assertIn(said, row["remedy"])

    def test_a_capture_that_is_not_there(self):
        self.assertExit(trawl("analyze", self.replays(), "--capture", self.tmp / "none.json"), 1)


class MadeRuns(Findings):
    """Programs of the generator, whose faults and gains are known (tests/gen/runs.py)."""

    def made(self, name):
        """The path of the trace, the truth and the findings."""
        truth = runs.make(runs.SCENARIOS[name], self.tmp)
        path = self.tmp / name / "trace.json.gz"
        done = subprocess.run([DUMP, path], capture_output=True, text=True, timeout=60 * SLOWER, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return path, truth, {r["kind"]: r for r in csv.DictReader(done.stdout.splitlines())}

    def test_a_slow_layer(self):
        _, truth, found = self.made("one_layer_slow")
        self.assertEqual(next(iter(found)), "slow_module")
        self.assertEqual((found["slow_module"]["module"], found["slow_module"]["pass"]), ("DecoderLayer_5", "forward"))
        self.assertAlmostEqual(float(found["slow_module"]["gain_percent"]), truth["gain_percent"], delta=0.1)
        self.assertNone(self.made("layers_alike")[2], "slow_module")

    def test_launch_bound_encoders(self):
        _, truth, found = self.made("encoders_one_by_one")
        row = found["launch_bound"]
        self.assertEqual(row["module"], "TextEncoder_0")
        self.assertRegex(row["evidence"], r"in TextEncoder_0: 1\.\d{3} ms of a step's 6\.\d{3} ms$")
        self.assertAlmostEqual(float(row["gain_percent"]), truth["gain_percent"], delta=1)
        self.assertNone(self.made("encoder_in_a_graph")[2], "launch_bound")

    def test_decode_and_prefill(self):
        _, _, found = self.made("serving_decode_one_by_one")
        self.assertEqual(found["launch_bound"]["phase"], "decode")
        _, _, other = self.made("serving_in_a_graph")
        self.assertLess(float(other["launch_bound"]["gain_percent"]) * 10, float(found["launch_bound"]["gain_percent"]))

    def test_recomputation(self):
        """It costs what the table says."""
        path, _, found = self.made("layers_run_again")
        done = trawl("report", path, "--no-xlsx", "-o", self.tmp / "report")
        self.assertExit(done, 0)
        with open(self.tmp / "report/perf_report_csvs/recompute.csv", newline="", encoding="utf-8") as f:
            again = sum(float(r["recompute (ms)"]) for r in csv.DictReader(f))
        self.assertGreater(again, 1)
        self.assertTrue(found["activation_recompute"]["evidence"].endswith(f"; {again:.3f} ms of GPU time run again"))
        self.assertEqual(found["activation_recompute"]["pass"], "recompute")


if __name__ == "__main__":
    unittest.main()
