"""Each kind of finding in a small run in which it is, and in one that lacks the evidence; its gain worked out by hand.

In a run in which the GPU limits, a step takes what its GPU work takes and a gap before each: made_runs.py has the times.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import (AHEAD, BF16, GAP, LAUNCH, MEMORY, MS, STEPS, TF32, US, Findings, Rank, meet, ranks_of, steps)

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
        dims = [[32, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []]
        types = ["c10::BFloat16"] * 2 + ["", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"]
        args = {"Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]}
        flops = 2 * 32 * 56 * 56 * 64 * 64 * 9
        found = self.operator("aten::convolution", dims, 150 * US, types, **args)
        self.assertGain(found, "low_efficiency_convolution", 150 * US - flops / (BF16 / 80 * 65))
        self.assertNone(self.operator("aten::convolution", dims, 11 * US, types, **args),
                        "low_efficiency_convolution")

    def test_attention(self):
        q = [4, 16, 2048, 64]
        dims = [q, q, q, [], [], [], []]
        types = ["c10::BFloat16"] * 3 + ["Scalar"] * 4
        args = {"Concrete Inputs": ["", "", "", "0.", "False", "False", ""]}
        flops = 4 * 4 * 16 * 2048 * 2048 * 64
        found = self.operator("aten::_scaled_dot_product_flash_attention", dims, 500 * US, types, **args)
        self.assertGain(found, "low_efficiency_attention", 500 * US - flops / (BF16 / 80 * 75))
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
        # Backward 2.5 times the operations, at 58 % of the peak.
        back = 2.5 * 4 * 16 * 512 * 512 * 64 / (BF16 / 80 * 58)
        self.assertGain(found, "unfused_attention", 320 * US - self.FUSED - back + 6 * GAP)

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
        self.assertTrue(found["host_sync"]["evidence"].startswith(f"{STEPS} places"))


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
