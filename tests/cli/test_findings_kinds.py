"""Each kind of finding in a small run in which it is, and in one that lacks the evidence; its gain worked out by hand.

In a run in which the GPU limits, a step takes what its GPU work takes and a gap before each: made_runs.py has the times.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT
from made_runs import (AHEAD, BF16, PEAK, GAP, LAUNCH, MEMORY, MS, STEPS, TF32, US, Findings, Rank, meet, ranks_of, steps)

ROWS = [2048, 4096]


class Chains(Findings):
    def rope(self, *last):
        def body(r):
            r.run("aten::neg", 20 * US, [ROWS])
            r.run("aten::cat", 20 * US, [[ROWS, ROWS], []])
            for name in last:
                r.run(name, 30 * US, [ROWS, ROWS])
        return self.find(steps(body))

    def test_a_rotary_embedding_is_one_finding(self):
        found = self.rope("aten::mul", "aten::mul", "aten::add")
        # Read and written once at the rate of the last operator, which moves 3 tensors in 30 us: 20 us for 130 us.
        self.assertGain(found, "rope_unfused", 110 * US + 4 * GAP)
        self.assertNone(found, "fusible_chain")

    def test_without_its_sum_it_is_none(self):
        found = self.rope("aten::mul", "aten::mul")
        self.assertNone(found, "rope_unfused")

    def chain(self, *parts, frames=None):
        """Operators of 20 us: a name, dimensions, types, values of what is no tensor."""
        def run(r, name, dims, types=None, values=None):
            args = {"Concrete Inputs": values} if values else {}
            r.run(f"aten::{name}", 20 * US, dims, types=types, **args)

        def body(r):
            if frames:
                for frame, part in zip(frames, parts):
                    with r.frame(frame):
                        run(r, *part)
                return
            with r.frame("model.py(7): forward"):
                for part in parts:
                    run(r, *part)
        return self.find(steps(body))

    def test_a_chain(self):
        found = self.chain(("mul", [ROWS, []]), ("tanh", [ROWS]), ("add", [ROWS, ROWS]))
        # 2 + 2 + 3 tensors in 60 us: one read and one written are 60 * 2 / 7 us.
        self.assertGain(found, "fusible_chain", 60 * US - round(60 * US * 2 / 7) + 2 * GAP)
        self.assertEqual(found["fusible_chain"]["where"], "aten::mul, aten::tanh, aten::add; model.py(7): forward")

    def test_independent_tensors_are_no_chain(self):
        fp32, bf16 = ["float"], ["c10::BFloat16"]
        for what, parts in {
                "other shapes": (("mul", [ROWS, []]), ("tanh", [[4096, 2048]])),
                "other types": (("mul", [ROWS], bf16), ("tanh", [ROWS], fp32)),
                "the same of two": (("mul", [ROWS, []], ["c10::BFloat16", "Scalar"], ["", "0.5"]),
                                    ("mul", [ROWS, []], ["c10::BFloat16", "Scalar"], ["", "0.5"])),
                "the same in place": (("neg_", [ROWS]), ("neg_", [ROWS]), ("neg_", [ROWS]))}.items():
            with self.subTest(what):
                self.assertNone(self.chain(*parts), "fusible_chain")

    def test_the_same_operator_with_other_values_is_one(self):
        types = ["c10::BFloat16", "Scalar"]
        self.assertIn("fusible_chain", self.chain(("mul", [ROWS, []], types, ["", "0.5"]), ("mul", [ROWS, []], types, ["", "3.0"])))

    def test_operators_of_other_functions_are_no_chain(self):
        frames = ["model.py(7): forward", "train.py(9): loss"]
        self.assertNone(self.chain(("mul", [ROWS, []]), ("tanh", [ROWS]), frames=frames), "fusible_chain")

    def test_in_the_optimizer_is_none(self):
        def body(r):
            with r.inside("Optimizer.step#SGD.step"):
                for name in ("mul_", "add_"):
                    r.run(f"aten::{name}", 20 * US, [ROWS, []])
        self.assertNone(self.find(steps(body)), "fusible_chain")

    def norm(self, *names):
        def body(r):
            for name in names:
                r.run(f"aten::{name}", 10 * US if name in ("add", "rsqrt") else 30 * US,
                      [[2048, 1]] if name in ("add", "rsqrt") else [ROWS, [2048, 1]] if name == "mul" else [ROWS])
        return self.find(steps(body))

    def test_a_norm_is_one_finding(self):
        found = self.norm("pow", "mean", "add", "rsqrt", "mul")
        # pow moves 2 tensors in 30 us, as one pass does, and mul a little more in 30 us: it is the fastest.
        moved, row = 2 * 2048 * 4096 + 2048, 2048 * 4096
        fused = round(30 * US * 2 * row / moved)
        self.assertGain(found, "norm_unfused", 110 * US - fused + 4 * GAP)
        self.assertNone(found, "fusible_chain", "rope_unfused")

    def test_two_norms_in_a_row_are_two(self):
        one = self.norm("pow", "mean", "add", "rsqrt", "mul")["norm_unfused"]
        two = self.norm(*["pow", "mean", "add", "rsqrt", "mul"] * 2)["norm_unfused"]
        self.assertAlmostEqual(float(two["gain_ms"]), 2 * float(one["gain_ms"]), delta=0.002)

    def test_a_copy_of_another_layout_is_no_part_of_a_norm(self):
        def body(r):
            with r.op("aten::contiguous", [ROWS]):
                r.run("aten::copy_", 40 * US, [ROWS, ROWS])
            for name in ("pow", "mean", "rsqrt", "mul"):
                r.run(f"aten::{name}", 30 * US, [ROWS])
        found = self.find(steps(body))
        self.assertGain(found, "layout_copies", 40 * US + GAP)
        self.assertGain(found, "norm_unfused", 90 * US + 3 * GAP)

    def test_without_a_mean_it_is_none(self):
        self.assertNone(self.norm("pow", "add", "rsqrt", "mul"), "norm_unfused")


class Kernels(Findings):
    def slower(self, usual, slow, odd=()):
        """Steps of one kernel, in the second half of them slow; `odd`: of kernels that only one step has, by step."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", usual if number < STEPS // 2 else slow)
                for rows in odd[number:number + 1]:
                    r.run("aten::relu", 220 * US, [[rows, 8]])
        return self.find(r)

    def test_kernels_that_get_slower(self):
        found = self.slower(500 * US, 550 * US)
        # Two of three steps after the first take 50 us less.
        self.assertGain(found, "power_or_clock", round(100 * US / 3))
        self.assertEqual(found["power_or_clock"]["where"], "aten_mm_kernel")

    def test_slower_by_five_percent(self):
        self.assertIn("power_or_clock", self.slower(500 * US, 525 * US))
        self.assertNone(self.slower(500 * US, 524 * US), "power_or_clock")

    def test_kernels_of_one_step_show_no_rate(self):
        found = self.slower(500 * US, 550 * US, (8, 9, 10, 11))
        # They run at the rate that the others show: 20 of 220 us less too.
        self.assertGain(found, "power_or_clock", round(140 * US / 3))


class Neighbours(Findings):
    """Times in microseconds, as old profilers record them: what begins as another ends is not in it."""

    def test_an_operator_right_after_the_optimizer(self):
        def body(r):
            with r.inside("Optimizer.step#SGD.step"):
                r.run("aten::add_", 10 * US, [[8, 8]])
            r.run("aten::relu", 100 * US, [[1024, 1024]])
        # 4 MB at 85 % of 3350 GB/s; the fault would be to take it for a part of the optimizer.
        self.assertGain(self.find(steps(body)), "low_efficiency_elementwise",
                        100 * US - round(2 * 2 * 1024 * 1024 / (3350 * 0.85)))

    def test_a_launch_right_after_a_recomputation(self):
        def body(r):
            with r.op("CheckpointFunctionBackward"):
                r.run("aten::mm", 50 * US)
            r.launch("next", 100 * US)
        self.assertGain(self.find(steps(body)), "activation_recompute", 50 * US + GAP)


FLOAT = ["float", "float"]
PRODUCT = [[8192, 8192], [8192, 8192]]


def product_ns(m, n, k, flops_a_ns=BF16, bytes_=2):
    """What a matrix product takes at the targets."""
    return max(2 * m * n * k / flops_a_ns, bytes_ * (m * k + k * n + m * n) / MEMORY)


class Products(Findings):
    def product(self, dims, dur, types=None, kernel="gemm", stream=7, busy=0):
        def body(r):
            with r.op("aten::mm", dims, types):
                r.launch(kernel, dur, stream)
            r.busy(busy)
        return self.find(steps(body))

    def test_a_slow_product(self):
        self.assertGain(self.product(PRODUCT, 2 * MS), "low_efficiency_gemm", 2 * MS - product_ns(8192, 8192, 8192))

    def test_a_good_product(self):
        self.assertNone(self.product(PRODUCT, 1450 * US), "low_efficiency_gemm", "misaligned_gemm",
                        "fp32_gemm_without_tf32")

    def test_a_slow_product_that_nothing_waits_for(self):
        found = self.product(PRODUCT, 400 * US, stream=13)
        self.assertNone(found, "low_efficiency_gemm")

    def test_a_slow_product_while_the_host_limits(self):
        self.assertNone(self.product(PRODUCT, 2 * MS, busy=5 * MS), "low_efficiency_gemm")

    def test_a_dimension_that_is_not_aligned(self):
        found = self.product([[8192, 8192], [8192, 8193]], 3 * MS)
        self.assertGain(found, "misaligned_gemm", 3 * MS - product_ns(8192, 8256, 8192))
        self.assertNone(found, "low_efficiency_gemm")
        self.assertEqual(found["misaligned_gemm"]["where"], "aten::mm (8192, 8192) x (8192, 8193)")

    def test_fp32_on_the_vector_units(self):
        found = self.product([[4096, 4096], [4096, 4096]], 3 * MS, FLOAT, "ampere_sgemm_128x128_nn")
        self.assertGain(found, "fp32_gemm_without_tf32", 3 * MS - product_ns(4096, 4096, 4096, TF32, 4))

    def test_fp32_on_tensor_cores(self):
        found = self.product([[4096, 4096], [4096, 4096]], 3 * MS, FLOAT, "cutlass_80_tensorop_s1688gemm_128x128")
        self.assertNone(found, "fp32_gemm_without_tf32")

    def small(self, count, dur=5 * US, apart=0):
        def body(r):
            for _ in range(count):
                r.run("aten::mm", dur, [[64, 64], [64, 64]])
                r.busy(apart)
        return self.find(steps(body))

    def test_small_products_in_a_row(self):
        # One call for all, of 2 us.
        self.assertGain(self.small(6), "small_gemms", 28 * US + 5 * GAP)

    def test_a_few_small_products(self):
        self.assertNone(self.small(3), "small_gemms")


class SlowOperators(Findings):
    def operator(self, name, dims, dur, types=None, **args):
        def body(r):
            with r.op(name, dims, types, **args):
                r.launch("kernel", dur)
        return self.find(steps(body))

    def test_pointwise(self):
        bytes_ = 2 * 2 * 8192 * 8192
        for name in ("aten::relu", "aten::gelu", "aten::exp"):
            found = self.operator(name, [[8192, 8192]], 200 * US)
            self.assertGain(found, "low_efficiency_elementwise", 200 * US - bytes_ / MEMORY)
            self.assertNone(self.operator(name, [[8192, 8192]], 120 * US), "low_efficiency_elementwise")

    def test_reduction(self):
        args = {"Concrete Inputs": ["", "[0]", "False", ""]}
        found = self.operator("aten::sum", [[8192, 8192], [], [], []], 200 * US, **args)
        self.assertGain(found, "low_efficiency_reduction", 200 * US - 2 * (8192 * 8192 + 8192) / MEMORY)
        self.assertNone(self.operator("aten::sum", [[8192, 8192], [], [], []], 50 * US, **args),
                        "low_efficiency_reduction")

    def test_convolution(self):
        dims = [[256, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []]
        types = ["c10::BFloat16"] * 2 + ["", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"]
        args = {"Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]}
        flops = 2 * 256 * 56 * 56 * 64 * 64 * 9
        found = self.operator("aten::convolution", dims, 500 * US, types, **args)
        # EDGE_OF(TW_LIMIT_TARGET_CONVOLUTION_PERCENT): at 64 % or 66 % it takes 1.4 us more or less.
        self.assertGain(found, "low_efficiency_convolution", 500 * US - flops / (PEAK * 0.65))
        self.assertNone(self.operator("aten::convolution", dims, 110 * US, types, **args),
                        "low_efficiency_convolution")

    def test_attention(self):
        q = [4, 16, 2048, 64]
        dims = [q, q, q, [], [], [], []]
        types = ["c10::BFloat16"] * 3 + ["Scalar"] * 4
        args = {"Concrete Inputs": ["", "", "", "0.", "False", "False", ""]}
        flops = 4 * 4 * 16 * 2048 * 2048 * 64
        found = self.operator("aten::_scaled_dot_product_flash_attention", dims, 500 * US, types, **args)
        # EDGE_OF(TW_LIMIT_TARGET_ATTENTION_PERCENT): at 74 % or 76 % it takes 1.2 us more or less.
        self.assertGain(found, "low_efficiency_attention", 500 * US - flops / (PEAK * 0.75))
        self.assertNone(self.operator("aten::_scaled_dot_product_flash_attention", dims, 100 * US, types, **args),
                        "low_efficiency_attention")

    def test_other(self):
        found = self.operator("aten::sort", [[8192, 8192], [], []], 2 * MS)
        self.assertIn("low_efficiency_other", found)
        self.assertNone(self.operator("model::mystery", [[8192, 8192]], 2 * MS), "low_efficiency_other")


class Attention(Findings):
    Q, SCORES = [16, 512, 64], [16, 512, 512]

    def attention(self, *between, backward=False):
        def body(r):
            number = r.now * 10
            parts = [("aten::bmm", [self.Q, [16, 64, 512]], 40 * US), *[(n, [self.SCORES, []], 20 * US) for n in between],
                     ("aten::bmm", [self.SCORES, self.Q], 40 * US)]
            for k, (name, dims, dur) in enumerate(parts):
                with r.op(name, dims, **{"Sequence number": number + k}):
                    r.launch(name, dur)
            for k in range(len(parts) - 1, -1, -1) if backward else ():
                with r.op("autograd::engine::evaluate_function: Backward0", **{"Sequence number": number + k}):
                    with r.op("Backward0", [self.SCORES], **{"Sequence number": number + k}):
                        r.launch("backward", 50 * US)
        return self.find(steps(body))

    # 4 b m n k operations take less than q, k, v and o from and to memory.
    FUSED = 2 * 16 * 4 * 512 * 64 / MEMORY

    def test_unfused(self):
        found = self.attention("aten::mul", "aten::_softmax")
        self.assertGain(found, "unfused_attention", 120 * US - self.FUSED + 3 * GAP)
        self.assertNone(found, "fusible_chain", "low_efficiency_gemm", "low_efficiency_elementwise")

    def test_its_backward_pass(self):
        found = self.attention("aten::mul", "aten::_softmax", backward=True)
        # 2.5 times the operations; gradients of q, k, v and o are moved besides them.
        backward = max(2 * self.FUSED, 2.5 * 4 * 16 * 512 * 512 * 64 / (PEAK * 0.58))
        self.assertGain(found, "unfused_attention", 320 * US - self.FUSED - backward + 6 * GAP)

    def test_products_without_a_softmax(self):
        self.assertNone(self.attention("aten::mul"), "unfused_attention")


class Copies(Findings):
    def copies(self, kind, waits, nbytes=11_000_000, dur=400 * US, **more):
        r = Rank(**more)
        for number in range(STEPS):
            with r.step(number):
                with r.op("aten::copy_", [[8], [8]]):
                    r.copy(kind, dur, nbytes, waits=waits)
                r.run("aten::mm", 100 * US)
        return self.find(r)

    def test_from_pageable_memory(self):
        found = self.copies("HtoD (Pageable -> Device)", True)
        # The copy, 2 us until its call returns, 1 us of its operator, 1 us until the launch, 5 us until the kernel of
        # 100 us, a gap. At 55 GB/s copies need 200 us, half of which the kernel hides: 100 us and 100 us, one gap.
        self.assertGain(found, "pageable_copy", 510 * US - 201 * US)
        self.assertEqual(found["pageable_copy"]["where"], "aten::copy_ (8) x (8); cudaMemcpyAsync")
        self.assertNone(found, "exposed_copy")

    def test_from_pinned_memory_that_nothing_hides(self):
        found = self.copies("HtoD (Pinned -> Device)", False)
        self.assertGain(found, "exposed_copy", 502 * US - 201 * US)
        self.assertNone(found, "pageable_copy")
        self.assertNotRegex(found["exposed_copy"]["remedy"], "(?i)pin_memory=True")

    def test_to_the_host_is_neither(self):
        self.assertNone(self.copies("DtoH (Device -> Pinned)", False), "exposed_copy", "pageable_copy")

    def test_hidden_by_computing(self):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.copy("HtoD (Pinned -> Device)", 400 * US, 11_000_000, stream=11)
                r.run("aten::mm", 500 * US)
        self.assertNone(self.find(r), "exposed_copy")

    def test_a_layout_copy(self):
        def body(r, name):
            with r.op(name, [ROWS]):
                with r.op("aten::copy_", [ROWS, ROWS]):
                    r.launch("copy", 200 * US)
        found = self.find(steps(lambda r: body(r, "aten::contiguous")))
        self.assertGain(found, "layout_copies", 200 * US + GAP)
        self.assertEqual(found["layout_copies"]["gain_how"], "bound")
        # It is far below the bandwidth, but belongs to one finding.
        self.assertNone(found, "low_efficiency_elementwise")
        found = self.find(steps(lambda r: body(r, "model::update")))
        self.assertNone(found, "layout_copies")
        self.assertIn("low_efficiency_elementwise", found)


class Optimizer(Findings):
    def optimizer(self, count, dur=3 * US, size=1024, names=("addcdiv_",), name="Optimizer.step#AdamW.step", ahead=AHEAD):
        """Steps of `count` parameters of size x size elements in fp32, `names` for each."""
        def body(r):
            with r.inside(name):
                for _ in range(count):
                    for op in names:
                        r.run(f"aten::{op}", dur, [[size, size]] * 3, types=["float"] * 3)
        return self.find(steps(body, ahead=ahead))

    def test_a_kernel_for_each_parameter(self):
        found = self.optimizer(100)
        moved = 7 * 4 * 100 * 1024 * 1024 / MEMORY
        self.assertGreater(moved, 300 * US)    # this one gains nothing: 7 passes take longer than what is there
        self.assertNone(found, "optimizer_unfused")
        found = self.optimizer(100, size=64)
        # 100 kernels of 3 us and their gaps become one of 7 x 4 x 64 x 64 bytes for each parameter.
        self.assertGain(found, "optimizer_unfused", 300 * US + 99 * GAP - 7 * 4 * 100 * 64 * 64 / MEMORY)

    def test_outside_an_optimizer(self):
        self.assertNone(self.optimizer(100, size=64, name="train"), "optimizer_unfused")


class Recomputation(Findings):
    def checkpoint(self, name):
        def body(r):
            with r.op(name):
                r.run("aten::mm", 80 * US)
                with r.op("autograd::engine::evaluate_function: MmBackward0"):
                    r.run("aten::mm", 90 * US)
        return self.find(steps(body))

    def test_what_runs_before_the_first_backward_node(self):
        found = self.checkpoint("CheckpointFunctionBackward")
        self.assertGain(found, "activation_recompute", 80 * US + GAP)

    def test_a_forward_pass_is_none(self):
        self.assertNone(self.checkpoint("CheckpointFunction"), "activation_recompute")

    def compiling(self, first):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 100 * US)
                if number >= first:
                    with r.frame("torch/_dynamo/convert_frame.py(50): compile_inner"):
                        r.busy(MS)
                r.run("aten::relu", 100 * US)
            if number < first:
                r.busy(MS)
        return self.find(r)

    def test_compiling_in_steady_steps(self):
        found = self.compiling(0)
        # A step takes the host 1012 us; without, the GPU needs 2 x 100.9 us, as no gap here shows less. Step 1 ends with
        # its own compilation all the same, so that the next one follows what it launched.
        self.assertGain(found, "recompilation", 1012 * US - 201800)

    def test_compiling_in_the_first_step(self):
        self.assertNone(self.compiling(STEPS), "recompilation")


class Gaps(Findings):
    def graph(self, name, gap):
        def body(r):
            begin = r.now
            r.call(name, 20 * US)
            for k in range(5):
                r.work("kernel", f"node{k}", 20 * US, 7, begin, r.correlation, gap=gap)
        return self.find(steps(body))

    def test_between_nodes_of_a_graph(self):
        found = self.graph("cudaGraphLaunch", 3 * US)
        # The first node's is one before the graph.
        self.assertGain(found, "graph_gap", 12 * US)

    def test_between_kernels_of_other_launches(self):
        self.assertNone(self.graph("cudaLaunchKernel", 3 * US), "graph_gap")

    def queued(self, gap, usual=GAP, ahead=True):
        def body(r):
            for k in range(9):
                begin = r.now
                if not ahead and k == 8:
                    r.now = begin = r.end() - 2 * US
                r.call("cudaLaunchKernel")
                r.work("kernel", f"k{k}", 20 * US, 7, begin, r.correlation, gap=gap if k == 8 else usual)
        return self.find(steps(body))

    def test_before_queued_work(self):
        found = self.queued(30 * US)
        self.assertGain(found, "queued_gap", 29 * US)
        self.assertEqual(found["queued_gap"]["where"], "k8")

    def test_before_work_that_was_not_queued(self):
        self.assertNone(self.queued(30 * US, ahead=False), "queued_gap")


class Loading(Findings):
    def loading(self, ns, tid=None, name="enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                if tid:
                    with r.thread(tid):
                        with r.inside(name):
                            r.busy(ns)
                    r.busy(ns)
                else:
                    with r.inside(name):
                        r.busy(ns)
                r.run("aten::mm", 300 * US)
        return self.find(r)

    def test_a_fetch_in_the_step(self):
        # 1006 us of the host; with 80 us for a batch the GPU's 300 us limit, and a gap of 0.9 us as none here shows one.
        self.assertGain(self.loading(MS), "data_loading", 1006 * US - 300900)

    def test_a_fetch_that_is_there(self):
        self.assertNone(self.loading(80 * US), "data_loading")

    def test_a_thread_that_launches_nothing(self):
        self.assertNone(self.loading(MS, tid=77), "data_loading")

    def test_a_fetch_behind_computing(self):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 2 * MS)
                with r.inside("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                    r.busy(MS)
        self.assertNone(self.find(r), "data_loading")

    def allocating(self, first, last):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 500 * US)
                if first <= number < last:
                    r.call("cudaMalloc", MS)
                else:
                    r.busy(MS)
                r.run("aten::relu", 100 * US)
        return self.find(r)

    def test_memory_taken_in_steady_steps(self):
        # In the last of four: its kernel of 500 us begins 1 us after that of 100 us before, which ends 100 us after the
        # step began; the other ends 1112 us after that, without the allocation 702 us.
        self.assertGain(self.allocating(3, 4), "allocator_calls", 410 * US / 3)

    def test_memory_taken_in_the_first_step(self):
        self.assertNone(self.allocating(0, 1), "allocator_calls")


class Communication(Findings):
    SIZES = (5_000_000, 3_000_000)

    def gradients(self, count=2, early=False, accumulated=SIZES, sizes=SIZES):
        """Steps of a forward kernel and two backward ones of 200 us, and two allreduces of 150 us behind them, or the
        first of them after the first kernel; 905 us, or 754 us."""
        ranks = [Rank(k, count) for k in range(max(2, count))]

        def reduce(k):
            for r in ranks:
                r.wait_event()
            meet(ranks, "allreduce", sizes[k], 150 * US, stream=9, after=[r.end() + GAP for r in ranks])

        for number in range(STEPS):
            begun = [r.step(number) for r in ranks]
            for context, r in zip(begun, ranks):
                context.__enter__()
                with r.op("aten::mm"):
                    r.wait_event()
                    r.launch("forward", 200 * US, after=r.end(9) + GAP)
            for k in range(2):
                for r in ranks:
                    with r.op("autograd::engine::evaluate_function: MmBackward0"):
                        r.run("aten::mm", 200 * US)
                    with r.op("torch::autograd::AccumulateGrad", [[accumulated[k]]]):
                        pass
                if early and k == 0:
                    reduce(0)
            for k in range(1 if early else 0, 2):
                reduce(k)
            for context in begun:
                context.__exit__(None, None, None)
        return self.find(*ranks[:count])

    def test_gradients_reduced_after_the_backward_pass(self):
        # The first one's are there after the first backward kernel, and the second hides it; a gap goes with it. The
        # second begins 1 us after its kernel as before: EDGE_OF(TW_LIMIT_GRADIENTS_READY_NS), at 2 us it gains 1 us less.
        self.assertGain(self.gradients(), "exposed_communication", 151 * US)

    def test_gradients_by_their_share(self):
        # No run of gradients has as many elements: after 5/8 and 8/8 of the backward pass, which is after its end.
        self.assertNone(self.gradients(accumulated=(1, 1)), "exposed_communication")
        # After 3/8 of it, so in its first kernel.
        self.assertGain(self.gradients(accumulated=(1, 1), sizes=(3_000_000, 5_000_000)), "exposed_communication", 151 * US)

    def test_sizes_that_are_not_recorded(self):
        self.assertGain(self.gradients(sizes=(0, 0)), "exposed_communication", 151 * US)

    def test_gradients_reduced_meanwhile(self):
        self.assertNone(self.gradients(early=True), "exposed_communication")

    def test_one_rank_alone(self):
        found = self.gradients(count=1)
        self.assertEqual(found["exposed_communication"]["gain_how"], "bound")
        # Whether it waits, or is slow, or is launched late, one rank does not tell.
        self.assertRegex(found["exposed_communication"]["remedy"], "^Analyze all ranks together")
        self.assertRegex(found["exposed_communication"]["evidence"], r"GB/s .*slow links, or waiting")

    def collective(self, name, elements, transfer, count=2, times=1, **more):
        def body(ranks):
            for _ in range(times):
                meet(ranks, name, elements, transfer, **more)
            for r in ranks:
                r.busy(300 * US)
        return self.find(*ranks_of(count, body))

    def test_a_slow_link(self):
        # 100 MB, of which two ranks carry as many over the link; at 338 GB/s, and 10 us.
        found = self.collective("allreduce", 50_000_000, 700 * US)
        self.assertGain(found, "low_bandwidth_collective", 690 * US - 100_000_000 / 338)
        self.assertNone(self.collective("allreduce", 50_000_000, 500 * US), "low_bandwidth_collective")

    def test_what_links_carry(self):
        """nccl-tests doc/PERFORMANCE.md: of n ranks' s bytes 2 (n - 1) / n in an allreduce, n - 1 of what each gives in
        an allgather, (n - 1) / n in a reduce-scatter and an all-to-all, which reaches 70 % of it."""
        bytes_ = 2 * 20_000_000
        for name, carried in (("allreduce", 2 * 3 / 4), ("_allgather_base", 3), ("_reduce_scatter_base", 3 / 4),
                              ("all_to_allv", 3 / 4 / 0.7), ("broadcast", 1)):
            with self.subTest(name):
                ns = bytes_ * carried / 338
                found = self.collective(name, 20_000_000, round(2.2 * ns) + 100 * US, count=4)
                self.assertGain(found, "low_bandwidth_collective", round(2.2 * ns) + 90 * US - ns)

    def test_no_claim_for_pairs(self):
        for name in ("send", "recv"):
            self.assertNone(self.collective(name, 50_000_000, 5 * MS), "low_bandwidth_collective", "small_collectives")

    def test_no_claim_for_a_link_that_is_not_known(self):
        def body(ranks):
            meet(ranks, "allreduce", 50_000_000, 5 * MS)
        ranks = ranks_of(2, body)
        for r in ranks:
            r.device = "Some GPU"
        self.assertNone(self.find(*ranks), "low_bandwidth_collective")

    def test_many_small_ones(self):
        # 2000 bytes take no time, so all but the first of six are gone.
        self.assertGain(self.collective("allreduce", 1000, 30 * US, times=6), "small_collectives", 150 * US)

    def test_a_few_small_ones(self):
        self.assertNone(self.collective("allreduce", 1000, 30 * US, times=3), "small_collectives")

    def test_some_in_each_step_are_no_row(self):
        def body(ranks):
            for _ in range(2):
                meet(ranks, "allreduce", 1000, 30 * US)
            for r in ranks:
                r.busy(300 * US)
        self.assertNone(self.find(*ranks_of(2, body, number=9)), "small_collectives")


class Ranks(Findings):
    def computing(self, *times):
        def body(ranks):
            for r, ns in zip(ranks, times):
                r.run("aten::relu", ns, [[8, 8]])
            meet(ranks, "allreduce", 1000, 20 * US)
        return self.find(*ranks_of(len(times), body))

    def test_a_rank_that_computes_longer(self):
        found = self.computing(600 * US, 900 * US, 620 * US)
        # As the next one.
        self.assertGain(found, "straggler_compute", 280 * US)
        self.assertEqual(found["straggler_compute"]["rank"], "1")

    def test_two_ranks_that_compute_longer(self):
        found = self.computing(600 * US, 900 * US, 890 * US)
        self.assertGain(found, "straggler_compute", 10 * US)
        self.assertEqual(found["straggler_compute"]["rank"], "1, 2")
        self.assertIn("gain 0.300 ms", found["straggler_compute"]["evidence"])

    def test_two_ranks_that_compute_longer_by_as_much(self):
        """Neither alone gains anything: the row is of both."""
        row = self.computing(600 * US, 900 * US, 900 * US)
        self.assertGain(row, "straggler_compute", 300 * US)
        row = row["straggler_compute"]
        self.assertEqual((row["rank"], row["where"].split("; ")[:2]), ("1, 2", ["rank 1", "rank 2"]))
        self.assertIn("Two ranks", row["title"])

    def test_ranks_that_compute_alike(self):
        self.assertNone(self.computing(600 * US, 600 * US, 600 * US), "straggler_compute")

    def test_ranks_that_nothing_joins(self):
        ranks = [steps(lambda r: r.run("aten::relu", (600 + 300 * k) * US), rank=k, ranks=2) for k in range(2)]
        self.assertNone(self.find(*ranks), "straggler_compute", "straggler_host")

    def host(self, *times):
        def body(ranks):
            for r, ns in zip(ranks, times):
                r.busy(ns)
                r.run("aten::relu", 100 * US)
            meet(ranks, "allreduce", 1000, 20 * US)
        return self.find(*ranks_of(len(times), body, ahead=US))

    def test_a_rank_whose_host_is_late(self):
        found = self.host(2 * MS, 5 * MS, 2100 * US)
        self.assertGain(found, "straggler_host", 2900 * US)
        self.assertEqual(found["straggler_host"]["rank"], "1")
        self.assertNone(found, "straggler_compute")

    def test_hosts_that_are_alike(self):
        self.assertNone(self.host(2 * MS, 2 * MS), "straggler_host")

    def experts(self, *tokens):
        """Dispatch and way back of 60 us, and between them 1 us for each token."""
        def body(ranks):
            mean = sum(tokens) // len(tokens)
            meet(ranks, "all_to_allv", mean, 60 * US, out=tokens)
            for r, n in zip(ranks, tokens):
                r.run("aten::relu", n * US)
            meet(ranks, "all_to_allv", tokens, 60 * US, out=mean)
        return self.find(*ranks_of(len(tokens), body))

    def test_experts_with_more_tokens(self):
        found = self.experts(150, 50)
        # Both ways take 100 / 150 of their time, and so do the experts of the rank with the most.
        self.assertGain(found, "moe_imbalance", 20 * US + 50 * US + 20 * US)
        self.assertEqual(found["moe_imbalance"]["rank"], "0")

    def test_experts_with_as_many_tokens(self):
        self.assertNone(self.experts(100, 100), "moe_imbalance")


def schedule_ns(stages, batches, forward, backward, transfer):
    """When all are done of a schedule that goes back as soon as it can, each stage with as many forward passes ahead as
    stages follow it: by looking again and again at what can be done next."""
    order = []
    for stage in range(stages):
        ahead = min(batches, stages - 1 - stage)
        turns = [("f", i) for i in range(ahead)]
        for i in range(batches - ahead):
            turns += [("f", ahead + i), ("b", i)]
        order.append(turns + [("b", i) for i in range(batches - ahead, batches)])
    done, free = {}, [0] * stages
    while any(order):
        for stage in range(stages):
            if not order[stage]:
                continue
            what, i = order[stage][0]
            source = stage - 1 if what == "f" else stage + 1
            if 0 <= source < stages:
                if (what, source, i) not in done:
                    continue
                free[stage] = max(free[stage], done[what, source, i] + transfer)
            free[stage] += forward if what == "f" else backward
            done[what, stage, i] = free[stage]
            order[stage].pop(0)
    return max(free)


class Pipeline(Findings):
    FORWARD, BACKWARD = 100 * US, 200 * US

    def moved(self, source, target, kind="recv", stream=9, early=False):
        """Send and receive, which end 10 us after both have begun; one that is early waits for no kernel."""
        made = []
        self.sent = getattr(self, "sent", 0) + 1
        ranks = f"[{min(source.rank, target.rank)}, {max(source.rank, target.rank)}]"
        for r, name in ((source, "send"), (target, kind)):
            begin = r.now
            peer = {"Dst Rank": target.rank} if r is source else {"Src Rank": source.rank}
            r.call("cudaLaunchKernelExC")
            made.append((r, r.work("kernel", "ncclDevKernel_SendRecv", 0, stream, begin, r.correlation,
                                   after=0 if early and r is target else r.end() + GAP, **{
                                       "Collective name": name, "In msg nelems": 1000, "Out msg nelems": 1000,
                                       "dtype": "BFloat16", "Group size": 2, "Seq": self.sent,
                                       "Process Group Name": f"{source.rank} to {target.rank}",
                                       "Process Group Ranks": ranks, **peer})))
        last = max(round(e["ts"] * US) for _, e in made) + 10 * US
        for r, e in made:
            e["dur"] = last / US - e["ts"]
            r.ended[stream] = last
        return last + GAP

    def part(self, r, backward, after=0):
        name = "autograd::engine::evaluate_function: MmBackward0" if backward else "aten::mm"
        with r.op(name):
            r.launch(name, self.BACKWARD if backward else self.FORWARD, after=after)

    def one_microbatch(self, *pairs, kind="recv", late=0):
        """Stages of two ranks each, one of which has the other's result; a step of 600 us, transfers and gaps."""
        ranks = sorted({r for pair in pairs for r in pair}, key=lambda r: r.rank)
        for number in range(STEPS):
            begun = [r.step(number) for r in ranks]
            for context in begun:
                context.__enter__()
            for first, last in pairs:
                first.busy(late)
                self.part(first, False)
                self.part(last, False, self.moved(first, last, kind))
                self.part(last, True)
                self.part(first, True, self.moved(last, first, kind))
            for context in begun:
                context.__exit__(None, None, None)
        return self.find(*ranks)

    # Each part has one kernel and the gap before it, 1 us as none here shows one: EDGE_OF(TW_LIMIT_UNSEEN_GAP_NS); 2 us
    # are 3 us less of a gain. Transfers keep their 10 us of latency. EDGE_OF(TW_LIMIT_MICROBATCHES_TIMES): with three or
    # five times as many, another 15 us or 7 us.
    NOW = schedule_ns(2, 1, 101 * US, 201 * US, 10 * US)
    FOUR = schedule_ns(2, 4, 26 * US, 51 * US, 10 * US)

    def test_one_microbatch(self):
        found = self.one_microbatch([Rank(0, 2), Rank(1, 2)])["pipeline_bubble"]
        self.assertEqual(self.NOW, 624 * US)
        # A step takes 626 us: the kernels and transfers, and a gap after each.
        self.assertIn("takes 0.624 ms, a step 0.626 ms", found["evidence"])
        self.assertGain({"pipeline_bubble": found}, "pipeline_bubble", self.NOW - self.FOUR)
        self.assertEqual(found["gain_how"], "estimate")
        self.assertIn("1 microbatches in 2 stages, forward and backward in turn", found["evidence"])

    def test_a_step_that_the_model_does_not_have(self):  # EDGE_OF(TW_LIMIT_PIPELINE_MODEL_PERCENT)
        # The first stage's host makes a step of 832 us of 624 us, 25 % less.
        host = 2 * 6 * US + 2 * 4 * US
        found = self.one_microbatch([Rank(0, 2), Rank(1, 2)], late=832 * US - host)
        self.assertIn("takes 0.624 ms, a step 0.832 ms", found["pipeline_bubble"]["evidence"])
        self.assertNone(self.one_microbatch([Rank(0, 2), Rank(1, 2)], late=832 * US - host + 10), "pipeline_bubble")

    def test_several_pipelines(self):
        ranks = [Rank(k, 4) for k in range(4)]
        found = self.one_microbatch(ranks[:2], ranks[2:])
        self.assertGain(found, "pipeline_bubble", self.NOW - self.FOUR)
        self.assertIn("in 2 stages", found["pipeline_bubble"]["evidence"])

    def test_no_pairs(self):
        self.assertNone(self.one_microbatch([Rank(0, 2), Rank(1, 2)], kind="send"), "pipeline_bubble")

    def test_a_ring_is_no_pipeline(self):
        ranks = [Rank(k, 4) for k in range(4)]
        for number in range(STEPS):
            begun = [r.step(number) for r in ranks]
            for context in begun:
                context.__enter__()
            for backward in (False, True):
                for _ in range(4):
                    for r in ranks:
                        self.part(r, backward)
                    for k, r in enumerate(ranks):
                        self.moved(r, ranks[(k + 1) % 4], "recv", stream=9 + k)
            for context in begun:
                context.__exit__(None, None, None)
        self.assertNone(self.find(*ranks), "pipeline_bubble")

    def test_a_receive_that_begins_early(self):
        """The last stage launches its send first: it goes back at once, though its second receive begins before that."""
        first, last = ranks = [Rank(0, 2), Rank(1, 2)]
        for number in range(STEPS):
            begun = [r.step(number) for r in ranks]
            for context in begun:
                context.__enter__()
            self.part(first, False)
            self.part(last, False, self.moved(first, last, early=True))
            self.part(last, True)
            self.part(first, False)
            back = self.moved(last, first, stream=19, early=True)
            there = self.moved(first, last, early=True)
            self.part(first, True, back)
            self.part(last, False, there)
            self.part(last, True)
            self.part(first, True, self.moved(last, first, stream=19, early=True))
            for context in begun:
                context.__exit__(None, None, None)
        found = self.find(*ranks)
        self.assertIn("2 microbatches in 2 stages, forward and backward in turn", found["pipeline_bubble"]["evidence"])
        now, more = (schedule_ns(2, 2 * k, 100 * US / k + GAP, 200 * US / k + GAP, 10 * US) for k in (1, 4))
        self.assertGain(found, "pipeline_bubble", now - more)


class Observations(Findings):
    def kinds(self, *ranks):
        return [row["kind"] for row in self.table(*ranks)]

    def test_a_first_step_that_loads(self):
        def run(first):
            r = Rank()
            for number in range(STEPS):
                with r.step(number):
                    if number == first:
                        r.call("cuModuleLoadData", 5 * MS)
                    r.run("aten::mm", 500 * US)
            return self.find(r)
        found = run(0)
        self.assertIn("warmup_in_recording", found)
        self.assertEqual(found["warmup_in_recording"]["gain_ms"], "")
        self.assertNone(run(1), "warmup_in_recording")

    def test_a_step_that_begins_on_the_host(self):
        """Before the first GPU work there is no window, which a user who reads shares must know."""
        def run(ms):
            r = Rank()
            for number in range(3):
                with r.step(number):
                    r.busy(0 if number else ms * MS)
                    r.run("aten::mm", 10 * MS)
            return self.find(r)
        # The launch is 1 us after the start of the operator, and its work 5 us later.
        self.assertRegex(run(40)["host_before_work"]["evidence"], "^40.006 ms from the start of the first step")
        self.assertNone(run(40), "recording_edge")
        self.assertNone(run(0), "host_before_work")

    def edge(self, idle, before=True):
        r = Rank()
        if before:
            r.run("aten::mm", 10 * US)
            r.busy(idle)
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 500 * US)
        if not before:
            r.sync()
            r.busy(idle)
            r.run("aten::mm", 10 * US)
        return self.find(r)

    def test_idle_time_outside_steps(self):
        for before in (True, False):
            self.assertIn("recording_edge", self.edge(5 * MS, before))
            self.assertNone(self.edge(100 * US, before), "recording_edge")

    def test_gaps_of_what_the_last_step_launched(self):
        """The host is far ahead: the steps' work runs after them."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                for k in range(20):
                    begin = r.now
                    r.call("cudaLaunchKernel")
                    r.work("kernel", "k", 100 * US, 7, begin, r.correlation, gap=50 * US)
        self.assertNone(self.find(r), "recording_edge")

    def test_work_from_before(self):
        def run(number):
            r = Rank()
            for k in range(3):
                if k == number:
                    r.work("kernel", "earlier", 50 * US, 7, r.now - LAUNCH, None)
                r.run("aten::mm", 500 * US)
            return self.find(r)
        found = run(0)
        self.assertIn("1 GPU events of 0.050 ms", found["work_before_recording"]["evidence"])
        self.assertNone(run(1), "work_before_recording")

    def starting(self, late):
        ranks = [Rank(0, 2), Rank(1, 2)]
        ranks[1].busy(late)
        for number in range(STEPS):
            for r in ranks:
                with r.step(number):
                    r.run("aten::mm", 500 * US)
            meet(ranks, "allreduce", 1000, 20 * US)
            for r in ranks:
                r.sync()
        return self.find(*ranks)

    def test_a_profiler_that_starts_later(self):
        self.assertIn("profiler_start_skew", self.starting(5 * MS))
        self.assertNone(self.starting(100 * US), "profiler_start_skew")

    def test_clocks(self):
        def run(off):
            def body(ranks):
                meet(ranks, "allreduce", 1000, 20 * US)
            ranks = ranks_of(2, body)
            for event in ranks[1].events:
                event["ts"] += off / US
            return self.find(*ranks)
        self.assertIn("clock_skew", run(2 * MS))
        self.assertNone(run(0), "clock_skew")

    def test_graphs(self):
        def body(r, inside):
            begin = r.now
            r.call("cudaGraphLaunch", 20 * US)
            r.work("kernel", "node", inside, 7, begin, r.correlation)
        self.assertIn("graph_hides_operations", self.find(steps(lambda r: body(r, 600 * US))))
        self.assertNone(self.find(steps(lambda r: body(r, 400 * US))), "graph_hides_operations")

    def test_a_healthy_run(self):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 1450 * US, PRODUCT)
        self.assertEqual(list(self.find(r)), ["nothing_found"])


class Remedies(Findings):
    def test_inference_has_no_gradients(self):
        """Remedies of inference name nothing that only training has, whatever the kind."""
        lines = (ROOT / "data/finding_kinds.tsv").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
        self.assertEqual(len([r for r in rows if ":" not in r[0]]), 46)
        for code, _, _, training, inference, *_ in rows:
            with self.subTest(code):
                said = training if inference == "=" else inference
                self.assertNotRegex(said, "(?i)gradient|optimizer|backward|DDP|bucket|checkpoint|activation|DataLoader|epoch"
                                    if code.split(":")[0] not in ("optimizer_unfused", "activation_recompute", "checkpoint_save")
                                    else "$^")

    def test_by_what_the_run_does(self):
        def body(r):
            with r.inside("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                r.busy(MS)
        inference = self.find(steps(body))["data_loading"]["remedy"]
        self.assertNotIn("num_workers", inference)

        def training(r):
            body(r)
            with r.inside("Optimizer.step#SGD.step"):
                r.run("aten::add_", 10 * US)
        self.assertIn("num_workers", self.find(steps(training))["data_loading"]["remedy"])


class Host(Findings):
    def small_kernels(self, count, *calls, kernel=500):
        """Steps of operators that each take the host 6 us, with calls in their middle; only the GPU's end is waited for."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number + 1):
                for k in range(count):
                    if k == count // 2:
                        for name, ns in calls:
                            r.call(name, ns)
                    r.run("aten::mm", kernel)
        return self.find(r)

    def test_one_graph_in_the_place_of_launches(self):
        found = self.small_kernels(100)
        # 100 operators of 6 us; in a graph 0.5 us for each kernel, and 0.9 us between two, as no gap here shows less.
        self.assertGain(found, "launch_bound", 600 * US - 140 * US)
        self.assertIn("aten::mm", found["launch_bound"]["where"])

    def test_loads_of_code_and_implicit_waits_stay(self):
        for name in ("cuModuleLoadData", "cudaHostAlloc", "cudaMalloc"):
            with self.subTest(name):
                found = self.small_kernels(200, (name, 500 * US))
                # The call takes 500 us of each step, more than the kernels' 280 us.
                self.assertGain(found, "launch_bound", 1700 * US - 500 * US)

    def test_where_the_gpu_limits_nothing_is_launch_bound(self):
        self.assertNone(self.small_kernels(100, kernel=20 * US), "launch_bound")

    def test_idle_time_of_other_causes_is_not_launch_bound(self):
        self.assertNone(self.small_kernels(100, ("cudaMalloc", 900 * US)), "launch_bound")

    def test_places_are_where_the_time_was(self):
        """What stays in a graph, a pause of 2 ms, is no place of it."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number + 1):
                for k in range(600):
                    r.run("aten::mm", US)
                r.busy(2 * MS)
                r.run("aten::relu", US)
        found = self.find(r)
        self.assertEqual(found["launch_bound"]["where"], "aten::mm; aten::relu")


class Waits(Findings):
    """Steps of a kernel of 500 us, what waits for it, and one of 100 us: 602 us where nothing waits."""

    def test_a_wait_before_the_first_launch(self):
        """It waits for work that the recording does not explain, and is no part of the run."""
        r = Rank()
        r.work("kernel", "earlier", 5 * MS, 7, 0, None)
        r.sync()
        for _ in range(200):
            r.run("aten::mm", 500)
        found = self.find(r)
        self.assertIn("launch_bound", found)
        self.assertNone(found, "host_sync")

    def waiting(self, *calls, outside=False):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 500 * US)
                if not outside:
                    r.sync()
                for name, ns, after in calls:
                    r.busy(after)
                    r.call(name, ns)
                r.run("aten::relu", 100 * US)
            if outside:
                r.busy(US)
                r.sync()
        return self.find(r)

    def test_a_wait_inside_the_step(self):
        found = self.waiting()
        # The call returns 2 us after the kernel, and the next one is launched 1 us and starts 5 us later: 8 us of idle
        # time instead of 1 us.
        self.assertGain(found, "host_sync", 2 * US + US + LAUNCH - GAP)
        self.assertEqual(found["host_sync"]["where"], "cudaStreamSynchronize")

    def test_a_wait_between_steps_is_not_the_steps(self):
        self.assertNone(self.waiting(outside=True), "host_sync")

    def test_a_wait_before_memory_is_taken_is_a_wait(self):
        self.assertIn("host_sync", self.waiting(("cudaMalloc", 10 * US, 0)))

    def test_a_wait_before_memory_is_freed_is_the_allocators(self):
        for name in ("cudaFree", "cuMemUnmap"):
            found = self.waiting((name, 10 * US, 0))
            self.assertNone(found, "host_sync")
            self.assertIn("allocator_calls", found)

    def test_memory_that_is_freed_later_has_no_part_in_it(self):
        self.assertNone(self.waiting(("cudaFree", 10 * US, 50 * US)), "host_sync")
        self.assertIn("host_sync", self.waiting(("cudaFree", 10 * US, 51 * US)))

    def test_an_operator_that_waits_twice_is_gone_once(self):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 10 * US)
                with r.op("model::head", lead=100 * US, tail=100 * US):
                    with r.op("aten::item"):
                        r.copy("DtoH (Device -> Pageable)", 2 * US, 4, waits=True)
                        r.sync()
                r.run("aten::relu", 10 * US)
        found = self.find(r)
        # The item: 1 us, the copy's call 5 + 2 + 2 us, the other 2 us, 1 us. What is around it in the operator stays.
        self.assertGain(found, "host_sync", 13 * US)
        self.assertTrue(found["host_sync"]["evidence"].startswith(f"{STEPS} occurrences"))


class Pauses(Findings):
    """Steps whose host works 50 us between two operators, but in the third: there something takes longer."""

    def pause(self, ns, *inside, usual=50 * US):
        """`inside`: frames of the pause: a name, where it begins and ends."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 10 * US)
                begin = r.now
                for name, start, end in inside if number == 2 else ():
                    r.now = begin + start
                    with r.frame(name):
                        r.now = begin + end
                r.now = begin + (ns if number == 2 else usual)
                r.run("aten::relu", 10 * US)
        return self.find(r)

    def test_the_host_stops_once(self):
        found = self.pause(5 * MS)
        # Of the whole, over four steps.
        self.assertGain(found, "host_pause", (5 * MS - 50 * US) // 4)
        self.assertIn("step 2", found["host_pause"]["where"])

    def test_what_is_recorded_meanwhile_is_no_pause(self):
        self.assertNone(self.pause(5 * MS, ("train.py(3): log", MS, 2 * MS), ("train.py(4): log", 3 * MS, 4 * MS)),
                        "host_pause")

    def test_a_checkpoint_is_no_pause(self):
        found = self.pause(5 * MS, ("torch/serialization.py(849): save", 100 * US, 5 * MS))
        self.assertNone(found, "host_pause")
        # It runs until the operator; of the step's host 100 us and the operators stay.
        self.assertGain(found, "checkpoint_save", (5 * MS - 100 * US) // 4)

    def test_a_load_of_code_is_no_pause(self):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 10 * US)
                r.call("cuModuleLoadData", 5 * MS if number == 2 else 50 * US)
                r.run("aten::relu", 10 * US)
        found = self.find(r)
        self.assertNone(found, "host_pause")
        self.assertIn("recompilation", found)


if __name__ == "__main__":
    unittest.main()
