"""Random small runs: the time of each point in each scenario is that of the longest chain of causes that
ends there, and the slack of each is what all chains from there to the end of the window leave. All
chains are followed one by one; the causes and their delays are those that trawl found.
"""
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (BUILD, FULL, NCCL, ROOT, SANITIZED, Case, copy, document, environment, kernel,
                     launch, op)

RUNS = 20 if SANITIZED else 1000 if FULL else 150
CALLS = ["cudaLaunchKernel", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventRecord",
         "cudaStreamWaitEvent", "cudaMalloc", "cudaMemcpyAsync", "cudaMemcpy"]
SCENARIOS = ("gpu_free", "host_free", "launches_free", "transfers_free", "no_waiting")


def random_rank(r, collectives):
    """A thread or two that launch on three streams; each kernel starts some time after its launch."""
    events, now, corr, free = [], {32: 10, 33: 15}, 0, {7: 0, 9: 0, 11: 0}
    for i in range(r.randrange(2, 8)):
        tid, name = r.choice([32, 32, 32, 33]), r.choice(CALLS[:1] * 6 + CALLS)
        corr += 1
        dur, gap = r.randrange(0, 9), r.randrange(0, 12)
        at = now[tid] = now[tid] + gap
        if r.random() < 0.4:
            events.append(op(r.choice(["aten::mm", "aten::add"]), at, dur + 2, tid=tid))
        if name in ("cudaDeviceSynchronize", "cudaStreamSynchronize") and r.random() < 0.7:
            dur = max(dur, max(free.values()) - at + r.randrange(3))
        events.append(launch(at, dur, corr, name, tid=tid))
        now[tid] = at + dur + 2
        if name in ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemcpy"):
            stream = r.choice([*free])
            start = max(at + r.randrange(1, 20), free[stream] + r.randrange(-2, 4), at)
            length = r.choice([0, 1, 5, 30])
            free[stream] = start + length
            make = kernel if name == "cudaLaunchKernel" else \
                lambda n, *a, **k: copy(*a, **k)
            events.append(make(r.choice(["gemm", "add"]), start, length, corr if r.random() < 0.9 else None,
                               stream=stream))
    if collectives:
        for seq, end in enumerate(collectives):
            start = end - r.randrange(1, 60)
            events.append(launch(max(start - 20, 0), 1, 500 + seq))
            events.append(kernel(NCCL, start, end - start, 500 + seq, stream=20, **{
                "Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                "Group size": 2, "Seq": seq, "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float"}))
    return events


class Graph:
    """What path_dump prints."""

    def __init__(self, text):
        self.points, self.causes = [], {}
        for line in text.split("\n"):
            f = line.split("\t")
            if line.startswith("= "):
                point, source, code, delay = line.split()[1:]
                self.causes.setdefault(int(point), []).append((int(source), code, int(delay)))
            elif line and line[0] != "#":
                self.points.append({"side": f[2], "times": [int(v) for v in f[5:11]], "slack": int(f[13]),
                                    "gpu": "stream" in f[11], "window": f[14] == "1"})

    def delay(self, scenario, point, code, delay):
        """None: the cause is gone."""
        p = self.points[point] if point < len(self.points) else None
        free = min(delay, 0)
        if scenario == "host_free" and (code in "HTBLQY" or (code == "D" and not p["gpu"])):
            return free
        if scenario == "transfers_free" and code == "C":
            return free
        return delay

    def longest(self, scenario, point):
        """All chains that end at a point, one by one: the latest time that one gives it."""
        causes = self.causes.get(point, [])
        if not causes:
            return self.points[point]["times"][0]
        return max(self.longest(scenario, source) + self.delay(scenario, point, code, delay)
                   for source, code, delay in causes)

    def chains(self):
        """How many chains there are at most: more are not followed."""
        count = {}
        for point in range(len(self.points) + sum(p >= len(self.points) for p in self.causes)):
            stack = [point]
            while stack:
                at = stack[-1]
                need = [s for s, _, _ in self.causes.get(at, []) if s not in count]
                if need:
                    stack += need
                else:
                    stack.pop()
                    count[at] = sum(count[s] for s, _, _ in self.causes.get(at, [])) or 1
        return sum(count.values())


class LongestPaths(Case):
    def dump(self, ranks):
        program = next((b / "tools/path_dump" for b in (BUILD, ROOT / "build/release")
                        if (b / "tools/path_dump").exists()), BUILD / "tools/path_dump")
        files = []
        for i, events in enumerate(ranks):
            info = {"distributedInfo": {"rank": i, "world_size": len(ranks)}} if len(ranks) > 1 else {}
            files.append(self.write(document(events, **info), f"rank{i}.json"))
        done = subprocess.run([program, "--causes", *files], capture_output=True, env=environment())
        return Graph(done.stdout.decode()) if done.returncode == 0 and done.stdout else None

    def hold(self, graph):
        """Times as recorded and in two scenarios that the codes alone decide; slack by the same chains."""
        for column, scenario in ((0, None), (2, "host_free"), (4, "transfers_free")):
            for i, p in enumerate(graph.points):
                self.assertEqual(graph.longest(scenario, i), p["times"][column], (scenario, i, p))
        followers = {}
        for point, causes in graph.causes.items():
            for source, _, delay in causes:
                followers.setdefault(source, []).append((point, delay))
        end = max(p["times"][0] for p in graph.points if p["window"])

        def left(point, time):
            """The least that a chain from here on leaves to the end of the window."""
            best = None
            if point < len(graph.points) and graph.points[point]["window"] and graph.points[point]["side"] == "e":
                best = end - time
            for follower, delay in followers.get(point, []):
                rest = left(follower, time + delay)
                if rest is not None and (best is None or rest < best):
                    best = rest
            return best
        for i, p in enumerate(graph.points):
            slack = left(i, p["times"][0])
            self.assertEqual(-1 if slack is None else slack, p["slack"], (i, p))

    def test_chains_one_by_one(self):
        followed = 0
        for seed in range(RUNS):
            r = random.Random(seed)
            meetings = sorted(r.sample(range(60, 400), r.randrange(0, 3)))
            ranks = [random_rank(r, meetings) for _ in range(r.choice([1, 1, 2]))]
            graph = self.dump(ranks)
            if not graph or not any(p["gpu"] for p in graph.points) or graph.chains() > 20000:
                continue
            followed += 1
            with self.subTest(seed=seed):
                self.hold(graph)
        self.assertGreater(followed, RUNS * 0.6)


if __name__ == "__main__":
    unittest.main()
