"""Each kind of finding in a small run in which it is, and in one that lacks the evidence; its gain worked out by hand.

In a run in which the GPU limits, a step takes what its GPU work takes and a gap before each: made_runs.py has the times.
"""
import csv
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import GAP, LAUNCH, MS, US, Rank
from support import BUILD, SLOWER, Case, environment

DUMP = BUILD / "tools/findings_dump"
STEPS = 4
# Queued behind it, what follows in a step waits for the GPU and not for the host.
AHEAD = 500 * US


class Findings(Case):
    def table(self, *ranks):
        """The rows of the runs of these ranks."""
        paths = [self.write(r.document(), f"rank{k}.json") for k, r in enumerate(ranks)]
        done = subprocess.run([DUMP, *paths], capture_output=True, text=True, timeout=60 * SLOWER,
                              env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return list(csv.DictReader(done.stdout.splitlines()))

    def find(self, *ranks):
        """{kind: row}"""
        rows = self.table(*ranks)
        self.assertEqual(len({r["kind"] for r in rows}), len(rows))
        return {r["kind"]: r for r in rows}

    def assertGain(self, found, kind, ns):
        """The gain of a step, which is told in whole microseconds."""
        self.assertIn(kind, found, found.keys())
        self.assertAlmostEqual(float(found[kind]["gain_ms"]) * MS, ns, delta=501)

    def assertNone(self, found, *kinds):
        self.assertEqual([k for k in kinds if k in found], [])


def steps(body, count=STEPS, **more):
    """A run of steps, in each of which the GPU is busy before `body` begins."""
    r = Rank(**more)
    for number in range(count):
        with r.step(number + 1):
            r.run("aten::mm", AHEAD)
            body(r)
    return r


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
