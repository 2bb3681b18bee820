#!/usr/bin/env python3
"""Captures of the graphs of a made trace, with the truth beside them.

  captures.py REPLAY.json OUT.json [--how named|warm|nameless|eager] [--rows N] [--truth FILE]

REPLAY is one of `tracegen --kind decode`. Each kernel, copy and fill of its first graph launch is
given an operator, inputs and a module, by its place: they are in no table, since the replay has
none of them. OUT has the calls that captured them: with the names of kernels, as on AMD (named);
without (nameless); without, after an eager run of the same (warm); the eager run alone (eager).
Kernels of streams other than the first are captured later than they run, as programs do. The truth
has nanoseconds of all launches by operator, by module and by (operator, kernel).
"""
import argparse
import collections
import json

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def ns(microseconds):
    """A number of microseconds, as the generator writes it (three digits), in nanoseconds."""
    return round(float(microseconds) * 1000)


def launches(events):
    """GPU events of each graph launch, in order of start, in order of the launches."""
    calls = sorted((e for e in events if "GraphLaunch" in e.get("name", "") and e.get("ph") == "X"
                    and "runtime" in e.get("cat", "")), key=lambda e: ns(e["ts"]))
    by = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e.get("cat") in GPU:
            by[e["args"].get("correlation")].append(e)
    return [sorted(by[c["args"]["correlation"]], key=lambda e: ns(e["ts"])) for c in calls]


def captured_order(nodes):
    """The order in which a program captures them: what runs on another stream up to three later."""
    first = nodes[0]["args"]["stream"]
    keyed = [(i + (0 if n["args"]["stream"] == first else 3.5), i) for i, n in enumerate(nodes)]
    return [i for _, i in sorted(keyed)]


class Writer:
    def __init__(self):
        self.events, self.now, self.gpu, self.correlation = [], 1000, 1000, 0

    def slice(self, cat, name, dur, args=None, at=None, tid=7):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid,
                            "ts": self.now if at is None else at, "dur": dur, "args": args or {}})

    def node(self, node, place, rows, how):
        """Module, operator and call of a node; with its GPU event when it runs eagerly."""
        self.correlation += 1
        self.slice("python_function", f"nn.Module: Layer_{place // 10}", 12)
        self.slice("python_function", f"nn.Module: Part_{place}", 11)
        self.slice("cpu_op", operator(node, place), 10, {"Input Dims": [[rows, place + 1]]})
        args = {"correlation": self.correlation}
        name = {"kernel": "LaunchKernel", "gpu_memcpy": "MemcpyAsync",
                "gpu_memset": "MemsetAsync"}[node["cat"]]
        if how == "named":
            name = "hip" + name
            if node["cat"] == "kernel":
                args["kernel"] = node["name"]
        else:
            name = "cuda" + name
        self.now += 2
        self.slice("cuda_runtime", name, 1, args)
        if how == "eager":
            gpu = max(self.gpu, self.now + 3)
            self.events.append(dict(node, ts=gpu, args={"device": 0, "stream": 7,
                                                        "correlation": self.correlation}))
            self.gpu = gpu + ns(node["dur"]) / 1000
        self.now += 18

    def call(self, name):
        self.slice("cuda_runtime", name, 1, {"correlation": 0})
        self.now += 5


def operator(node, place):
    return f"made::{node['cat']}_{place % 17}"


def capture(nodes, how, rows=8):
    """The events of a trace that captures the nodes of one launch."""
    w, order = Writer(), captured_order(nodes)
    if how in ("warm", "eager"):
        for i in order:
            w.node(nodes[i], i, rows, "eager")
    if how != "eager":
        w.call("cudaStreamBeginCapture")
        for i in order:
            w.node(nodes[i], i, rows, "named" if how == "named" else "nameless")
        w.call("cudaStreamEndCapture")
    return w.events


def truth(all_nodes):
    """By place: of equal kernels of a launch the k-th is the k-th of the first one."""
    ops, modules, kernels = (collections.Counter() for _ in range(3))
    places = collections.defaultdict(list)
    for i, node in enumerate(all_nodes[0]):
        places[node["name"]].append(i)
    for nodes in all_nodes:
        seen = collections.Counter()
        for node in nodes:
            place = places[node["name"]][seen[node["name"]]]
            seen[node["name"]] += 1
            ops[operator(node, place)] += ns(node["dur"])
            modules[f"Layer_{place // 10} > Part_{place}"] += ns(node["dur"])
            kernels[operator(node, place), node["name"]] += ns(node["dur"])
    return {"ops_ns": dict(ops), "modules_ns": dict(modules),
            "kernels_ns": [[*k, v] for k, v in sorted(kernels.items())]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replay")
    parser.add_argument("out")
    parser.add_argument("--how", choices=("named", "warm", "nameless", "eager"), default="named")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--truth")
    args = parser.parse_args()
    with open(args.replay) as f:
        nodes = launches(json.load(f)["traceEvents"])
    with open(args.out, "w") as f:
        json.dump({"schemaVersion": 1, "traceEvents": capture(nodes[0], args.how, args.rows)}, f)
    if args.truth:
        with open(args.truth, "w") as f:
            json.dump(truth(nodes), f)


if __name__ == "__main__":
    main()
