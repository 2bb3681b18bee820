"""Each threshold and assumption of findings (data/limits.tsv), just below and just above its value.

EDGE_OF(TW_LIMIT_NAME) names the row that a test is about; what is expected has its own numbers.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import (AHEAD, BF16, GAP, LAUNCH, MEMORY, MS, STEPS, US, Findings, Rank, meet, ranks_of, steps)

LONG = [2048, 4096]


def operators(*parts, ahead=AHEAD):
    """A run of steps of operators: a name, a kernel's time, dimensions."""
    def body(r):
        for name, dur, *dims in parts:
            r.run(f"aten::{name}", dur, *dims)
    return steps(body, ahead=ahead)


def layout(dur, ahead):
    """Steps whose layout copies gain dur + 1 us, of ahead + dur + 2 us."""
    def body(r):
        with r.op("aten::contiguous", [LONG]):
            r.launch("copy", dur)
    return steps(body, ahead=ahead)


class Told(Findings):
    def test_rows(self):  # EDGE_OF(TW_LIMIT_FINDING_ROW_PERMILLE)
        # 5 us of 1 ms, and 1 ns less of both.
        self.assertIn("layout_copies", self.find(layout(4 * US, 994 * US)))
        self.assertNone(self.find(layout(4 * US - 1, 994 * US)), "layout_copies")

    def test_nothing_found(self):  # EDGE_OF(TW_LIMIT_FINDING_TOLD_PERCENT)
        self.assertIn("nothing_found", self.find(layout(4 * US, 494 * US)))
        self.assertNone(self.find(layout(4 * US + 10, 494 * US)), "nothing_found")

    def first_use(self, call, dur, name="second"):
        """A kernel of 10 us, then a call that launches one at its end: call - 11 us idle of a window of call - 1 us
        and that kernel."""
        r = Rank()
        r.launch("first", 10 * US)
        begin = r.now
        r.call("cudaLaunchKernel", call)
        r.work("kernel", name, dur, 7, begin + call - LAUNCH, r.correlation)
        return self.find(r)

    def test_first_use(self):  # EDGE_OF(TW_LIMIT_FIRST_USE_US)
        self.assertIn("warmup_in_recording", self.first_use(MS + 1, MS))
        self.assertNone(self.first_use(MS, MS), "warmup_in_recording")
        # The same kernel was there before.
        self.assertNone(self.first_use(MS + 1, MS, "first"), "warmup_in_recording")

    def test_warmup_without_steps(self):  # EDGE_OF(TW_LIMIT_WARMUP_PERCENT)
        # 1.989 ms of 39.78 ms.
        self.assertIn("1.989 ms idle", self.first_use(2 * MS, 37781 * US - 1000)["warmup_in_recording"]["evidence"])
        self.assertNone(self.first_use(2 * MS, 37781 * US + 1000), "warmup_in_recording")

    def idle(self, dur):
        """A kernel of 9 ms, a call of 11 ms, a kernel: 2.004 ms idle of a window of 11.004 ms and that kernel."""
        r = Rank()
        r.launch("first", 9 * MS)
        r.call("cudaGetDriverEntryPoint", 11 * MS)
        r.launch("second", dur)
        return self.find(r)["nothing_found"]["evidence"]

    def test_idle_without_a_finding(self):  # EDGE_OF(TW_LIMIT_IDLE_UNEXPLAINED_PERCENT)
        self.assertIn("the GPU is idle for 10.0 % of the window", self.idle(9036 * US - 100))
        self.assertNotIn("idle", self.idle(9036 * US + 100))

    def priority(self, dur, ahead):
        return self.find(layout(dur, ahead))["layout_copies"]["priority"]

    def test_critical(self):  # EDGE_OF(TW_LIMIT_FINDING_CRITICAL_PERCENT)
        self.assertEqual(self.priority(19 * US, 79 * US), "Critical")
        self.assertEqual(self.priority(19 * US - 10, 79 * US), "High")

    def test_high(self):  # EDGE_OF(TW_LIMIT_FINDING_HIGH_PERCENT)
        self.assertEqual(self.priority(9 * US, 89 * US), "High")
        self.assertEqual(self.priority(9 * US - 10, 89 * US), "Medium")

    def test_medium(self):  # EDGE_OF(TW_LIMIT_FINDING_MEDIUM_PERCENT)
        self.assertEqual(self.priority(4 * US, 94 * US), "Medium")
        self.assertEqual(self.priority(4 * US - 10, 94 * US), "Low")

    def test_gains_that_are_the_same(self):  # EDGE_OF(TW_LIMIT_SAME_GAIN_NS)
        def order(longer):
            def body(ranks):
                for k, r in enumerate(ranks):
                    with r.op("aten::contiguous", [LONG]):
                        r.launch("copy", 40 * US)
                    r.run("model::head", (10 * US, 10 * US + longer)[k])
                meet(ranks, "allreduce", 1000, 20 * US)
            kinds = [row["kind"] for row in self.table(*ranks_of(2, body))]
            return [k for k in kinds if k in ("layout_copies", "straggler_compute")]
        # 41 us for the copies and their gap; a rank that computes as much longer tells more.
        self.assertEqual(order(41 * US), ["straggler_compute", "layout_copies"])
        self.assertEqual(order(41 * US - 10), ["layout_copies", "straggler_compute"])

    def inferred(self, first, last):
        """A kernel, one on another stream that waits for it by an event, of no time at the target, and one more."""
        r = Rank()
        r.run("aten::mm", first)
        r.wait_event()
        with r.op("aten::relu", [[4, 4]]):
            r.launch("relu", 100 * US, 9, after=r.end() + US)
        r.run("aten::mm", last, stream=9)
        return self.find(r)["low_efficiency_elementwise"]

    def test_inferred_causes_for_medium(self):  # EDGE_OF(TW_LIMIT_INFERRED_MEDIUM_PERCENT)
        # The event's 1 us, and what it waited for: 100 of 1000 us, which end with a gap of 1 us and the last kernel.
        row = self.inferred(99 * US, 899 * US)
        self.assertEqual((row["inferred_percent"], row["confidence"]), ("10", "high"))
        self.assertEqual(self.inferred(99 * US, 899 * US - 10)["confidence"], "medium")

    def test_inferred_causes_for_low(self):  # EDGE_OF(TW_LIMIT_INFERRED_LOW_PERCENT)
        self.assertEqual(self.inferred(299 * US, 699 * US)["confidence"], "medium")
        self.assertEqual(self.inferred(299 * US, 699 * US - 10)["confidence"], "low")


class Targets(Findings):
    def relu(self, dur, rows=8192):
        return self.find(operators(("relu", dur, [[rows, 8192]])))

    def test_memory(self):  # EDGE_OF(TW_LIMIT_TARGET_MEMORY_PERCENT)
        # 268 MB at 85 % of 3350 GB/s: 94.27 us; at 84 % or 86 % 1.1 us more or less.
        self.assertGain(self.relu(200 * US), "low_efficiency_elementwise", 200 * US - 94272)

    def test_math(self):  # EDGE_OF(TW_LIMIT_TARGET_MATH_PERCENT)
        # 1.0995e12 operations at 80 % of 989.4e12: 1389.11 us; at 79 % or 81 % 17 us more or less.
        found = self.find(operators(("mm", 3 * MS, [[8192, 8192], [8192, 8192]])))
        self.assertGain(found, "low_efficiency_gemm", 3 * MS - 1389114)

    def test_far_below(self):  # EDGE_OF(TW_LIMIT_SLOW_KERNEL_PERCENT)
        edge = round(94272 / 0.75)
        self.assertIn("low_efficiency_elementwise", self.relu(edge + 2))
        self.assertNone(self.relu(edge - 2), "low_efficiency_elementwise")

    def test_long_enough(self):  # EDGE_OF(TW_LIMIT_SLOW_KERNEL_LEAST_US)
        self.assertNone(self.relu(20 * US, 1), "low_efficiency_elementwise")
        self.assertIn("low_efficiency_elementwise", self.relu(20 * US + 1, 1))


class Chains(Findings):
    def chain(self, dur, apart=0, ahead=AHEAD, busy=0):
        def body(r):
            r.run("aten::mul", dur, [LONG])
            r.busy(apart)
            r.run("aten::tanh", dur, [LONG])
            r.busy(busy)
        return self.find(steps(body, ahead=ahead))

    def test_far_apart(self):  # EDGE_OF(TW_LIMIT_CHAIN_TOGETHER_US)
        self.assertIn("fusible_chain", self.chain(30 * US, 100 * US - 1))
        self.assertNone(self.chain(30 * US, 100 * US), "fusible_chain")

    def test_short_kernels(self):  # EDGE_OF(TW_LIMIT_CHAIN_KERNEL_NS)
        self.assertNone(self.chain(2 * US), "fusible_chain")
        self.assertIn("fusible_chain", self.chain(2 * US + 1))

    def test_the_host_between_two(self):  # EDGE_OF(TW_LIMIT_FUSED_TOGETHER_US)
        # The host limits: the operator's 6 us are gone, and the time before it.
        self.assertGain(self.chain(3 * US, 50 * US - 1, US, 500 * US), "fusible_chain", 56 * US)
        self.assertGain(self.chain(3 * US, 50 * US, US, 500 * US), "fusible_chain", 6 * US)

    def norm(self, *names):
        return self.find(operators(*[(name, 30 * US, [LONG]) for name in names]))

    def test_parts_of_a_norm(self):  # EDGE_OF(TW_LIMIT_NORM_PARTS_MOST)
        # Each of 30 us, and one pass as well; a ninth stays.
        seven, eight = ("copy_", "pow", "mean", "add", "rsqrt", "mul", "mul"), ("copy_",)
        self.assertGain(self.norm(*seven), "norm_unfused", 180 * US + 6 * GAP)
        self.assertGain(self.norm(*seven, *eight), "norm_unfused", 210 * US + 7 * GAP)
        self.assertGain(self.norm(*seven, *eight, "add"), "norm_unfused", 210 * US + 7 * GAP)


class Products(Findings):
    def product(self, columns, dur=3 * MS):
        return self.find(operators(("mm", dur, [[8192, 8192], [8192, columns]])))

    def test_aligned(self):  # EDGE_OF(TW_LIMIT_GEMM_ALIGNED_BYTES)
        self.assertIn("misaligned_gemm", self.product(8196))     # 2 x 8196 bytes: 8 divides them, 16 does not
        self.assertNone(self.product(8200), "misaligned_gemm")

    def test_padded(self):  # EDGE_OF(TW_LIMIT_GEMM_PADDED)
        self.assertGain(self.product(8193), "misaligned_gemm", 3 * MS - 2 * 8192 * 8192 * 8256 / BF16)
        self.assertGain(self.product(8255), "misaligned_gemm", 3 * MS - 2 * 8192 * 8192 * 8256 / BF16)
        self.assertGain(self.product(8257), "misaligned_gemm", 3 * MS - 2 * 8192 * 8192 * 8320 / BF16)

    def small(self, count, dur=5 * US, apart=0):
        def body(r):
            for _ in range(count):
                r.run("aten::mm", dur, [[64, 64], [64, 64]])
                r.busy(apart)
        return self.find(steps(body))

    def test_a_few(self):  # EDGE_OF(TW_LIMIT_SMALL_GEMMS_LEAST)
        self.assertNone(self.small(3), "small_gemms")
        # EDGE_OF(TW_LIMIT_KERNEL_LEAST_NS): the batched one takes 2 us, not the nanoseconds of its operations.
        self.assertGain(self.small(4), "small_gemms", 18 * US + 3 * GAP)

    def test_small(self):  # EDGE_OF(TW_LIMIT_SMALL_GEMM_US)
        self.assertIn("small_gemms", self.small(4, 20 * US))
        self.assertNone(self.small(4, 20 * US + 1), "small_gemms")

    def test_apart(self):  # EDGE_OF(TW_LIMIT_SMALL_GEMMS_TOGETHER_US)
        self.assertIn("small_gemms", self.small(4, apart=100 * US))
        self.assertNone(self.small(4, apart=100 * US + 1), "small_gemms")

    def beside(self, *fills):
        """Attention whose operator launches its kernel, and fills by operators inside."""
        q = [4, 16, 2048, 64]
        args = {"Concrete Inputs": ["", "", "", "0.", "False", "False", ""]}

        def body(r):
            with r.op("aten::_scaled_dot_product_flash_attention", [q, q, q, [], [], [], []],
                      ["c10::BFloat16"] * 3 + ["Scalar"] * 4, **args):
                with r.op("aten::_flash_attention_forward", [q, q, q]):
                    for dur in fills:
                        r.run("aten::fill_", dur, [[1]])
                    r.launch("attention", MS)
        return self.find(steps(body))

    def test_stands_for(self):  # EDGE_OF(TW_LIMIT_STANDS_FOR_PERCENT)
        # 1 ms of 1.052 ms are 95.06 %, of 1.053 ms 94.97 %.
        self.assertIn("low_efficiency_attention", self.beside(52 * US))
        self.assertNone(self.beside(53 * US), "low_efficiency_attention")

    def test_kernels_beside(self):  # EDGE_OF(TW_LIMIT_KERNELS_BESIDE)
        self.assertIn("low_efficiency_attention", self.beside(US, US))
        self.assertNone(self.beside(US, US, US), "low_efficiency_attention")

    def test_backward_attention(self):
        q, scores = [64, 2048, 64], [64, 2048, 2048]

        def body(r, backward):
            number = r.now
            for k, (name, dims) in enumerate((("bmm", [q, [64, 64, 2048]]), ("_softmax", [scores]), ("bmm", [scores, q]))):
                with r.op(f"aten::{name}", dims, **{"Sequence number": number + k}):
                    r.launch(name, 200 * US)
            for k in (2, 1, 0) if backward else ():
                with r.op("autograd::engine::evaluate_function: Backward0", **{"Sequence number": number + k}):
                    with r.op("Backward0", [scores], **{"Sequence number": number + k}):
                        r.launch("backward", 300 * US)
        forward, both = (self.find(steps(lambda r: body(r, b)))["unfused_attention"] for b in (False, True))
        # Three kernels of 300 us and two gaps become 2.5 x 4 x 64 x 2048 x 2048 x 64 operations at 58 % of 989.4e12, so
        # 299.3 us. EDGE_OF(TW_LIMIT_ATTENTION_BACKWARD_TIMES): 2.4 or 2.6 times are 12 us. EDGE_OF(
        # TW_LIMIT_TARGET_ATTENTION_BACKWARD_PERCENT): 57 % or 59 % are 5 us. EDGE_OF(TW_LIMIT_TARGET_ATTENTION_BACKWARD_PERCENT)
        self.assertAlmostEqual(float(both["gain_ms"]) - float(forward["gain_ms"]), 0.902 - 0.29937, delta=0.0015)


class Optimizer(Findings):
    def optimizer(self, count, dur=3 * US, size=64, ahead=AHEAD, busy=0):
        def body(r):
            with r.inside("Optimizer.step#AdamW.step"):
                for _ in range(count):
                    r.run("aten::addcdiv_", dur, [[size, size]] * 3, types=["float"] * 3)
            r.busy(busy)
        return self.find(steps(body, ahead=ahead))

    def test_many_kernels(self):  # EDGE_OF(TW_LIMIT_OPTIMIZER_KERNELS_LEAST)
        self.assertNone(self.optimizer(49), "optimizer_unfused")
        self.assertIn("optimizer_unfused", self.optimizer(50))

    def test_small_kernels(self):  # EDGE_OF(TW_LIMIT_OPTIMIZER_KERNEL_US)
        self.assertIn("optimizer_unfused", self.optimizer(60, 20 * US - 1))
        self.assertNone(self.optimizer(60, 20 * US), "optimizer_unfused")

    def test_passes(self):  # EDGE_OF(TW_LIMIT_OPTIMIZER_PASSES)
        # 60 parameters of 1 MB: 7 passes are 154.7 us, 6 or 8 of them 22.1 us less or more.
        found = self.optimizer(60, 19 * US, 512)
        self.assertGain(found, "optimizer_unfused", 60 * 19 * US + 59 * GAP - 7 * 60 * 4 * 512 * 512 / MEMORY)

    def test_its_host(self):  # EDGE_OF(TW_LIMIT_OPTIMIZER_HOST_US)
        # The host limits: 600 us of 100 operators become 65 us.
        self.assertGain(self.optimizer(100, 500, 8, US, MS), "optimizer_unfused", 535 * US)


class Copies(Findings):
    def copies(self, dur, nbytes=0, waits=False, device="NVIDIA H100 80GB HBM3", mm=100 * US, busy=0):
        r = Rank(device=device)
        for number in range(STEPS):
            with r.step(number):
                r.copy(f"HtoD ({'Pageable' if waits else 'Pinned'} -> Device)", dur, nbytes, waits=waits)
                r.run("aten::mm", mm)
                r.busy(busy)
        return self.find(r)

    def test_long_enough(self):  # EDGE_OF(TW_LIMIT_COPY_LEAST_US)
        self.assertNone(self.copies(20 * US), "exposed_copy")
        self.assertIn("exposed_copy", self.copies(20 * US + 1))

    def test_the_link_of_an_unknown_platform(self):  # EDGE_OF(TW_LIMIT_HOST_LINK_GBPS)
        # 10 MB at 25 GB/s are 400 us, 100 us of it behind computing; at 24 or 26 GB/s 17 us more or 15 us less.
        found = self.copies(500 * US, 10_000_000, device="Some GPU")
        self.assertGain(found, "exposed_copy", 500 * US - 300 * US + GAP)

    def test_a_call_that_does_not_wait(self):  # EDGE_OF(TW_LIMIT_COPY_CALL_NS)
        # The host limits: its call takes 5 us until the copy begins, the copy's time and 2 us; 6 us without waiting.
        found = self.copies(100 * US, 1000, True, busy=900 * US)
        self.assertGain(found, "pageable_copy", 107 * US - 6 * US)


class Host(Findings):
    def freeing(self, after):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 500 * US)
                r.sync()
                r.busy(after)
                r.call("cudaFree", 10 * US)
                r.run("aten::relu", 100 * US)
        return self.find(r)

    def test_a_wait_before_memory_is_freed(self):  # EDGE_OF(TW_LIMIT_SYNC_BEFORE_FREE_US)
        self.assertNone(self.freeing(50 * US), "host_sync")
        self.assertIn("host_sync", self.freeing(50 * US + 1))

    def pause(self, ns, usual=50 * US, frame=None):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", 10 * US)
                pause = ns if number == 2 else usual
                if frame and number == 2:
                    r.busy(frame)
                    with r.inside("log"):
                        r.busy(pause - frame)
                else:
                    r.busy(pause)
                r.run("aten::relu", 10 * US)
        return self.find(r)

    def test_a_long_pause(self):  # EDGE_OF(TW_LIMIT_PAUSE_LEAST_US)
        self.assertNone(self.pause(MS, 40 * US), "host_pause")
        self.assertIn("host_pause", self.pause(MS + 1, 40 * US))

    def test_longer_than_usual(self):  # EDGE_OF(TW_LIMIT_PAUSE_TIMES)
        self.assertNone(self.pause(2 * MS, 100 * US), "host_pause")
        self.assertIn("host_pause", self.pause(2 * MS + 20, 100 * US))

    def test_nothing_is_recorded_in_it(self):  # EDGE_OF(TW_LIMIT_PAUSE_SILENT_PERCENT)
        self.assertNone(self.pause(4 * MS, frame=2 * MS), "host_pause")
        self.assertIn("host_pause", self.pause(4 * MS, frame=2 * MS + 1))

    def small_kernels(self, allocates):
        """An operator of 6 us with a kernel of 0.5 us every 10.5 us: 10 us idle, in which memory is taken."""
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                for _ in range(50):
                    r.run("aten::mm", 500)
                    r.busy(US)
                    r.call("cudaMalloc", allocates)
                    r.busy(3500 - allocates)
        return self.find(r)

    def test_the_cause_of_a_gap(self):  # EDGE_OF(TW_LIMIT_IDLE_CAUSE_PERCENT)
        self.assertIn("launch_bound", self.small_kernels(2 * US))
        self.assertNone(self.small_kernels(2 * US + 1), "launch_bound")

    def test_what_stays_in_a_graph(self):  # EDGE_OF(TW_LIMIT_GRAPH_LONGEST_US)
        def gain(ns):
            r = Rank()
            for number in range(STEPS):
                with r.step(number):
                    for k in range(600):
                        if k == 300:
                            r.busy(ns)
                        r.run("aten::mm", 500)
            return self.find(r)
        # 600 kernels of 0.5 us with 0.9 us between them; what is longer than 1 ms is longer than they are.
        self.assertGain(gain(MS), "launch_bound", 4600 * US - 840 * US)
        self.assertGain(gain(MS + 1), "launch_bound", 4600 * US - 1000 * US)

    def test_idle_enough(self):  # EDGE_OF(TW_LIMIT_LAUNCH_IDLE_PERCENT)
        def idle(kernel):
            """Four kernels with 20 us between them, as the host works longer than they take."""
            r = Rank()
            for number in range(STEPS):
                with r.step(number):
                    r.run("aten::mm", kernel)
                    for part in (700 * US, kernel + 14 * US - 700 * US):
                        with r.op("model::prepare", lead=part, tail=0):
                            pass
            return self.find(r)
        # 3 x 20 us are 1 % of 4 x 1485 us and themselves.
        self.assertIn("launch_bound", idle(1485 * US))
        self.assertNone(idle(1485 * US + 1), "launch_bound")


class Gaps(Findings):
    def queued(self, gap, usual):
        def body(r):
            for k in range(9):
                begin = r.now
                r.call("cudaLaunchKernel")
                r.work("kernel", f"k{k}", 20 * US, 7, begin, r.correlation, gap=gap if k == 8 else usual)
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                begin = r.now
                r.call("cudaLaunchKernel")
                r.work("kernel", "first", 100 * US, 7, begin, r.correlation, gap=usual)
                body(r)
        return self.find(r)

    def test_larger_than_usual(self):  # EDGE_OF(TW_LIMIT_GAP_TIMES)
        self.assertNone(self.queued(6 * US, 2 * US), "queued_gap")
        self.assertGain(self.queued(6 * US + 10, 2 * US), "queued_gap", 4 * US)

    def test_small_usual_gaps(self):  # EDGE_OF(TW_LIMIT_GAP_USUAL_LEAST_NS)
        self.assertNone(self.queued(3 * US, 400), "queued_gap")
        self.assertGain(self.queued(3 * US + 10, 400), "queued_gap", 2 * US)

    def slower(self, usual, slow):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", usual if number < 2 else slow)
        return self.find(r)

    def test_kernels_that_get_slower(self):  # EDGE_OF(TW_LIMIT_CLOCK_SLOWER_PERCENT)
        self.assertIn("power_or_clock", self.slower(500 * US, 525 * US))
        self.assertNone(self.slower(500 * US, 525 * US - 1), "power_or_clock")


class Communication(Findings):
    def collective(self, name, elements, transfer, times=1, apart=0, count=2, ahead=AHEAD, **more):
        def body(ranks):
            for _ in range(times):
                meet(ranks, name, elements, transfer, **more)
                for r in ranks:
                    r.busy(apart)
            for r in ranks:
                r.busy(300 * US)
        return self.find(*ranks_of(count, body, ahead=ahead))

    def test_slow(self):  # EDGE_OF(TW_LIMIT_SLOW_TRANSFER_TIMES)
        # 100 MB at 338 GB/s are 295.858 us.
        self.assertNone(self.collective("allreduce", 50_000_000, 591715), "low_bandwidth_collective")
        # EDGE_OF(TW_LIMIT_COLLECTIVE_LATENCY_NS): it takes as much, and 10 us.
        self.assertGain(self.collective("allreduce", 50_000_000, 591717), "low_bandwidth_collective", 591717 - 305858)

    def test_large(self):  # EDGE_OF(TW_LIMIT_LARGE_COLLECTIVE_BYTES)
        self.assertNone(self.collective("allreduce", 2_000_000, 100 * US), "low_bandwidth_collective")
        self.assertIn("low_bandwidth_collective", self.collective("allreduce", 2_000_001, 100 * US))

    def test_to_all(self):  # EDGE_OF(TW_LIMIT_TO_ALL_PERCENT)
        # Half of 100 MB leaves each of two ranks: 211.33 us at 70 % of 338 GB/s, 3 us more or less at 69 % or 71 %.
        self.assertGain(self.collective("all_to_allv", 50_000_000, 500 * US), "low_bandwidth_collective",
                        490 * US - 211327)

    def test_small(self):  # EDGE_OF(TW_LIMIT_SMALL_COLLECTIVE_BYTES)
        self.assertIn("small_collectives", self.collective("allreduce", 499_999, 30 * US, 5))
        self.assertNone(self.collective("allreduce", 500_000, 30 * US, 5), "small_collectives")

    def test_few(self):  # EDGE_OF(TW_LIMIT_SMALL_COLLECTIVES_LEAST)
        self.assertNone(self.collective("allreduce", 1000, 30 * US, 3), "small_collectives")
        self.assertGain(self.collective("allreduce", 1000, 30 * US, 4), "small_collectives", 90 * US)

    def test_apart(self):  # EDGE_OF(TW_LIMIT_SMALL_COLLECTIVES_TOGETHER_US)
        # A call takes 4 us.
        self.assertIn("small_collectives", self.collective("allreduce", 1000, 30 * US, 5, 196 * US - 1, ahead=2 * MS))
        self.assertNone(self.collective("allreduce", 1000, 30 * US, 5, 196 * US, ahead=2 * MS), "small_collectives")

    def experts(self, *tokens):
        def body(ranks):
            meet(ranks, "all_to_allv", 100, 60 * US, out=tokens)
            for r, n in zip(ranks, tokens):
                r.run("aten::relu", n * US)
            meet(ranks, "all_to_allv", tokens, 60 * US, out=100)
        return self.find(*ranks_of(len(tokens), body))

    def test_tokens(self):  # EDGE_OF(TW_LIMIT_TOKENS_UNEVEN_PERCENT)
        self.assertIn("moe_imbalance", self.experts(105, 95))
        self.assertNone(self.experts(104, 96), "moe_imbalance")


class Ranks(Findings):
    def computing(self, *times):
        def body(ranks):
            for r, ns in zip(ranks, times):
                r.run("aten::relu", ns)
            meet(ranks, "allreduce", 1000, 20 * US)
        return self.find(*ranks_of(len(times), body))

    def host(self, *times):
        """The host works so long in each of four steps."""
        def body(ranks):
            for r, ns in zip(ranks, times):
                r.busy(ns - 16 * US)    # two operators of 6 us and a call of 4 us
                r.run("aten::relu", 100 * US)
            meet(ranks, "allreduce", 1000, 20 * US)
        return self.find(*ranks_of(len(times), body, ahead=US))

    def test_hosts(self):  # EDGE_OF(TW_LIMIT_STRAGGLER_HOST_PERCENT)
        # 12 ms: 10 ms, 10 % of it, and 1 ms.
        self.assertIn("straggler_host", self.host(3 * MS, 2500 * US))
        self.assertNone(self.host(3 * MS - 1, 2500 * US), "straggler_host")

    def test_short_hosts(self):  # EDGE_OF(TW_LIMIT_STRAGGLER_HOST_LEAST_US)
        # 2.1 ms: 1 ms, 10 % of it, and 1 ms.
        self.assertIn("straggler_host", self.host(525 * US, 250 * US))
        self.assertNone(self.host(525 * US - 1, 250 * US), "straggler_host")

    def starting(self, late, usual=0):
        """The first collective waits `late` and `usual`, the others `usual`."""
        ranks = [Rank(0, 2), Rank(1, 2)]
        ranks[1].busy(late)
        for number in range(STEPS):
            for r in ranks:
                with r.step(number):
                    r.run("aten::mm", 500 * US + (usual if r.rank else 0))
            meet(ranks, "allreduce", 1000, 20 * US)
            for r in ranks:
                r.sync()
        return self.find(*ranks)

    def test_a_profiler_that_starts_later(self):  # EDGE_OF(TW_LIMIT_START_SKEW_TIMES)
        self.assertNone(self.starting(1800 * US, 200 * US), "profiler_start_skew")
        self.assertIn("profiler_start_skew", self.starting(1800 * US + 10, 200 * US))

    def test_a_long_wait_at_the_start(self):  # EDGE_OF(TW_LIMIT_EDGE_IDLE_US)
        self.assertNone(self.starting(MS), "profiler_start_skew")
        self.assertIn("profiler_start_skew", self.starting(MS + 1))


class Edges(Findings):
    def warming(self, loads):
        r = Rank()
        for number in range(STEPS):
            with r.step(number):
                if not number:
                    r.call("cuModuleLoadData", loads)
                r.run("aten::mm", 500 * US)
        return self.find(r)

    def test_the_first_step(self):  # EDGE_OF(TW_LIMIT_WARMUP_TIMES)
        # 751.5 us, of which 1 and 5 us until the kernel of 500 us begins; the others take 501 us.
        self.assertNone(self.warming(245500), "warmup_in_recording")
        self.assertIn("warmup_in_recording", self.warming(245501))

    def before_steps(self, idle, kernel=500 * US):
        """Idle from 16 us on until the first step."""
        r = Rank()
        r.run("aten::mm", 10 * US)
        r.busy(10 * US + idle)
        for number in range(STEPS):
            with r.step(number):
                r.run("aten::mm", kernel)
        return self.find(r)

    def test_idle_time(self):  # EDGE_OF(TW_LIMIT_EDGE_IDLE_US)
        self.assertIn("recording_edge", self.before_steps(MS))
        self.assertNone(self.before_steps(MS - 1), "recording_edge")

    def test_idle_time_of_the_window(self):  # EDGE_OF(TW_LIMIT_EDGE_IDLE_PERCENT)
        # 2 ms of 200 ms: 10 us of a kernel, 2 ms, 6 us until the first of four, three gaps of 1 us.
        kernel = (200_000 * US - 2 * MS - 10 * US - 6 * US - 3 * GAP) // 4
        self.assertEqual(4 * kernel + 2 * MS + 19 * US, 200 * MS)
        self.assertIn("recording_edge", self.before_steps(2 * MS, kernel))
        self.assertNone(self.before_steps(2 * MS, kernel + 25), "recording_edge")

    def without_steps(self, before, after):
        r = Rank()
        for k in range(before + after):
            if k == before:
                r.busy(100 * MS)
            r.run("aten::mm", 10 * US)
        return self.find(r)

    def test_events_before_a_gap(self):  # EDGE_OF(TW_LIMIT_EDGE_EVENTS)
        for few, many in ((2, 3), (5, 5)):
            self.assertEqual("recording_edge" in self.without_steps(few, 9), few == 2)
            self.assertEqual("recording_edge" in self.without_steps(9, few), few == 2)
            self.assertNone(self.without_steps(many, 9), "recording_edge")
            self.assertNone(self.without_steps(9, many), "recording_edge")


if __name__ == "__main__":
    unittest.main()
