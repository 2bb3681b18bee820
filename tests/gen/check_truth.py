#!/usr/bin/env python3
"""Checks the facts that tracegen wrote against the trace itself.

  check_truth.py TRACE.json TRUTH.json      one trace
  check_truth.py --job DIR TRUTHDIR         all ranks of a job, and job.json

Reads the trace with Python's json and works every fact out again, slowly and
from the events alone: the call tree from the nesting of host events, links
from flow events, buckets from kernel names, unions by merging intervals and
what is exposed by subtracting one merged list from another.
Prints each fact that differs; exit status 0 if none does, 1 otherwise.
"""
import json
import os
import re
import sys
from collections import Counter, defaultdict
from decimal import Decimal

HOST = {"cpu_op", "cuda_runtime", "cuda_driver", "python_function"}
CALL = {"cuda_runtime", "cuda_driver"}
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
COMM = re.compile("rccl|nccl|cross_device_reduce", re.I)
LEGACY_COPY = re.compile(
    r"(MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)"
    r"|__amd_rocclr_copyBuffer(Rect)?(Aligned)?)(\.kd)?$")
LAUNCHING = re.compile("launch|memcpy|memset", re.I)
GRAPH = {"cudaGraphLaunch", "hipGraphLaunch"}


def ns(value):
    """Microseconds as parsed (Decimal or int) to whole nanoseconds."""
    exact = Decimal(value) * 1000
    if exact != int(exact):
        raise SystemExit(f"time {value} has more than three decimals")
    return int(exact)


def merge(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(merged):
    return sum(end - start for start, end in merged)


def subtract(a, b):
    """What of the merged list a is not in the merged list b."""
    left, k = [], 0
    for start, end in a:
        while k < len(b) and b[k][1] <= start:
            k += 1
        i = k
        while i < len(b) and b[i][0] < end:
            if b[i][0] > start:
                left.append([start, b[i][0]])
            start = max(start, b[i][1])
            i += 1
        if start < end:
            left.append([start, end])
    return left


def bucket(event):
    if event["cat"] == "gpu_memcpy" or LEGACY_COPY.match(event["name"]):
        return "memcpy"
    return "comm" if COMM.search(event["name"]) else "compute"


def timeline(events):
    by = defaultdict(list)
    for e in events:
        by[bucket(e)].append((e["start"], e["end"]))
    compute, comm, copies = (merge(by[k]) for k in ("compute", "comm", "memcpy"))
    every = merge([i for k in by.values() for i in k])
    span = every[-1][1] - every[0][0] if every else 0
    return {
        "span_ns": span,
        "busy_ns": length(every),
        "idle_ns": span - length(every),
        "compute_ns": length(compute),
        "exposed_comm_ns": length(subtract(comm, compute)),
        "exposed_memcpy_ns": length(subtract(subtract(copies, compute), comm)),
        "total_comm_ns": length(comm),
        "total_memcpy_ns": length(copies),
    }


def set_parents(events):
    """Parent of each host event from nesting on its thread."""
    stacks = defaultdict(list)
    for e in sorted((e for e in events if e.get("cat") in HOST), key=lambda e: e["start"]):
        stack = stacks[e["pid"], e["tid"]]
        while stack and e["start"] >= stack[-1]["end"]:
            stack.pop()
        if stack and e["end"] > stack[-1]["end"]:
            raise SystemExit(f"event {e['name']} at {e['ts']} overruns its parent")
        e["parent"] = stack[-1] if stack else None
        stack.append(e)


def launcher(call):
    """The op that a launch counts to, or the launch itself."""
    e = call["parent"]
    while e is not None and e["cat"] == "python_function":
        e = e["parent"]
    return e if e is not None and e["cat"] == "cpu_op" else call


def set_launches(events):
    """The recorded launch of each GPU event."""
    begin, end = {}, {}
    gpu_by_corr, host_by_key = defaultdict(list), {}
    for e in events:
        if e.get("cat") == "ac2g":
            (begin if e["ph"] == "s" else end)[e["id"]] = e
        elif e.get("cat") in GPU:
            gpu_by_corr[e["args"]["correlation"]].append(e)
            host_by_key[e["pid"], e["tid"], e["args"]["correlation"]] = e
    for call in (e for e in events if e.get("cat") in CALL):
        corr = call["args"]["correlation"]
        call["gpu"] = []
        if call["name"] in GRAPH:
            call["gpu"] = gpu_by_corr[corr]
        elif corr in begin and corr in end:
            flow = end[corr]
            target = host_by_key.get((flow["pid"], flow["tid"], corr))
            call["gpu"] = [target] if target else []
        for g in call["gpu"]:
            g["launch"] = call


def ops(gpu):
    own = defaultdict(list)
    for g in gpu:
        if "launch" in g and bucket(g) != "comm" and not COMM.search(g["name"]):
            op = launcher(g["launch"])
            own[id(op)].append((op["name"], (g["start"], g["end"])))
    total = {}
    for kernels in own.values():
        row = total.setdefault(kernels[0][0], [0, 0])
        row[0] += 1
        row[1] += length(merge([i for _, i in kernels]))
    return [{"name": k, "count": n, "direct_ns": d} for k, (n, d) in total.items()]


def kernels(gpu):
    by = defaultdict(list)
    for g in gpu:
        if g["cat"] == "kernel":
            by[g["name"]].append(g["end"] - g["start"])
    return [{"name": k, "count": len(v), "sum_ns": sum(v), "min_ns": min(v), "max_ns": max(v)}
            for k, v in by.items()]


def streams(gpu):
    by = defaultdict(list)
    for g in gpu:
        by[g["args"]["device"], g["args"]["stream"]].append((g["start"], g["end"]))
    return [{"device": d, "stream": s, "n": len(v), "busy_ns": length(merge(v))}
            for (d, s), v in by.items()]


def flops(events):
    total = 0
    for e in events:
        if e.get("cat") != "cpu_op":
            continue
        dims = e["args"].get("Input Dims")
        if e["name"] == "aten::mm":
            total += 2 * dims[0][0] * dims[0][1] * dims[1][1]
        elif e["name"] == "aten::addmm":
            m, k, n = dims[1][0], dims[1][1], dims[2][1]
            total += 2 * m * k * n + m * n
        elif e["name"] == "aten::bmm":
            total += 2 * dims[0][0] * dims[0][1] * dims[0][2] * dims[1][2]
    return total


def fwd_bwd_pairs(events):
    by_seq = defaultdict(list)
    for e in events:
        if e.get("cat") == "cpu_op" and "Sequence number" in e["args"]:
            by_seq[e["args"]["Sequence number"]].append(e)
    pairs = 0
    for group in by_seq.values():
        engine = [e for e in group if e["name"].startswith("autograd::engine::evaluate_function:")]
        if engine:
            where = engine[0]["pid"], engine[0]["tid"]
            pairs += any((e["pid"], e["tid"]) != where for e in group)
    return pairs


SERVED = {  # name of an annotation: phase, family, requests that read and that write, new tokens
    r"step\[DECODE bs=(\d+)\]": lambda g: ("decode", "sglang", 0, int(g), int(g)),
}


def steps(events, linked):
    """What each step launched: calls from its start to that of the next one."""
    marks = sorted((e for e in events if e.get("cat") == "user_annotation"), key=lambda e: e["start"])
    found = [e for e in marks if e["name"].startswith("ProfilerStep#")]
    rows = []
    for k, step in enumerate(found):
        until = found[k + 1]["start"] if k + 1 < len(found) else step["end"]
        own = [g for g in linked if step["start"] <= g["launch"]["start"] < until]
        row = {"step": int(step["name"].split("#")[1]), "n": len(own),
               "sum_ns": sum(g["end"] - g["start"] for g in own), **timeline(own)}
        for mark in marks:
            for pattern, meaning in SERVED.items():
                said = re.fullmatch(pattern, mark["name"])
                if said and step["start"] <= mark["start"] < until:
                    row.update(zip(("phase", "family", "prefill_requests", "decode_requests", "tokens"),
                                   meaning(*said.groups())))
        rows.append(row)
    return rows


def load(path):
    with open(path, encoding="utf-8") as f:
        trace = json.load(f, parse_float=Decimal)
    for e in trace["traceEvents"]:
        if "ts" in e and "dur" in e:
            e["start"] = ns(e["ts"])
            e["end"] = e["start"] + ns(e["dur"])
    return trace


def check_consistency(events):
    """Properties that a trace must have whatever its facts; yields what is wrong."""
    names = {e["id"] for e in events if e.get("cat") == "fwdbwd" and e["ph"] == "s"}
    ends = {e["id"] for e in events if e.get("cat") == "fwdbwd" and e["ph"] == "f"}
    if names != ends:
        yield f"fwdbwd flows: {len(names)} starts, {len(ends)} ends"
    free = {}
    for g in sorted((e for e in events if e.get("cat") in GPU), key=lambda e: e["start"]):
        where = g["args"]["device"], g["args"]["stream"]
        if g["start"] < free.get(where, g["start"]):
            yield f"{g['name'][:40]} at {g['ts']} starts before its stream is free"
        free[where] = g["end"]
        if "launch" in g and g["start"] < g["launch"]["start"]:
            yield f"{g['name'][:40]} at {g['ts']} starts before its launch"
        if g["cat"] == "gpu_memcpy" and g["args"]["bytes"] <= 0:
            yield f"copy of {g['args']['bytes']} bytes"
    ids = Counter(e["args"]["External id"] for e in events if e.get("cat") == "cpu_op")
    if any(n > 1 for n in ids.values()):
        yield "an external id stands on two ops"


def facts(trace):
    events = trace["traceEvents"]
    set_parents(events)
    set_launches(events)
    gpu = [e for e in events if e.get("cat") in GPU]
    linked = [g for g in gpu if "launch" in g]
    unlinked = [g for g in gpu if "launch" not in g]
    calls = [e for e in events if e.get("cat") in CALL and LAUNCHING.search(e["name"])]
    return {
        "rank": trace.get("distributedInfo", {}).get("rank", 0),
        "world_size": trace.get("distributedInfo", {}).get("world_size", 1),
        "device_name": trace["deviceProperties"][0]["name"],
        "n_steps": sum(e.get("cat") == "user_annotation"
                       and e["name"].startswith("ProfilerStep#") for e in events),
        "n_events": len(events),
        "n_gpu_events": len(gpu),
        "n_kernels": sum(g["cat"] == "kernel" for g in gpu),
        **timeline(gpu),
        "n_links": len(linked),
        "n_unlinked": len(unlinked),
        "unlinked_ns": length(merge([(g["start"], g["end"]) for g in unlinked])),
        "n_launches_without_kernel": sum(not c["gpu"] for c in calls),
        "flops": flops(events),
        "fwd_bwd_pairs": fwd_bwd_pairs(events),
        "linked_only": timeline(linked),
        "steps": steps(events, linked),
        "kernels": kernels(gpu),
        "ops": ops(gpu),
        "streams": streams(gpu),
    }


def by_key(rows):
    keys = ("name", "device", "stream", "step")
    return {tuple(r[k] for k in keys if k in r): r for r in rows}


def differences(want, have, where=""):
    """Facts of the truth file 'want' that the trace does not bear out."""
    for key, value in have.items():
        if key not in want:
            yield f"{where}{key}: not among the facts, the trace has {str(value)[:80]}"
        elif isinstance(value, dict):
            yield from differences(want[key], value, f"{where}{key}.")
        elif isinstance(value, list):
            if len(want[key]) != len(by_key(want[key])):
                yield f"{where}{key}: rows repeat"
            a, b = by_key(want[key]), by_key(value)
            for k in sorted(a.keys() | b.keys(), key=str):
                if a.get(k) != b.get(k):
                    yield f"{where}{key} {k}: facts {a.get(k)}, trace {b.get(k)}"
        elif want[key] != value:
            yield f"{where}{key}: facts {want[key]}, trace {value}"


def check_trace(trace, truth_path):
    with open(truth_path, encoding="utf-8") as f:
        truth = json.load(f)
    wrong = list(differences(truth, facts(trace)))
    wrong += check_consistency(trace["traceEvents"])
    return [f"{truth_path}: {w}" for w in wrong], truth


def collectives(trace, offset):
    """Start and end on the job's clock, in order of start."""
    found = [(e["start"] - offset, e["end"] - offset, e["args"].get("Seq"))
             for e in trace["traceEvents"] if e.get("cat") == "kernel" and COMM.search(e["name"])]
    return sorted(found)


def check_job(directory, truth_dir):
    with open(os.path.join(truth_dir, "job.json"), encoding="utf-8") as f:
        job = json.load(f)
    wrong, per_rank = [], []
    for rank in range(job["ranks"]):
        trace = load(os.path.join(directory, f"rank{rank}_trace.json"))
        bad, truth = check_trace(trace, os.path.join(truth_dir, f"rank{rank}.json"))
        wrong += bad
        offset = job["clock_offsets_ns"][rank]
        if truth["clock_offset_ns"] != offset:
            wrong.append(f"rank {rank}: two clock offsets")
        if truth["rank"] != rank:
            wrong.append(f"rank {rank}: its file says rank {truth['rank']}")
        per_rank.append(collectives(trace, offset))
    if len({len(c) for c in per_rank}) != 1:
        wrong.append(f"collectives by rank: {[len(c) for c in per_rank]}")
    for k, same in enumerate(zip(*per_rank)):
        if len({end for _, end, _ in same}) != 1 or len({seq for *_, seq in same}) != 1:
            wrong.append(f"collective {k} does not end together: {same}")
    for rank, row in enumerate(job["collectives"]):
        last = [max(s for s, *_ in same) for same in zip(*per_rank)]
        starts = [s for s, *_ in per_rank[rank]]
        have = {"rank": rank, "n": len(starts),
                "wait_ns": sum(a - b for a, b in zip(last, starts)),
                "n_last": sum(a == b for a, b in zip(last, starts))}
        if row != have:
            wrong.append(f"collectives: facts {row}, traces {have}")
    return wrong


def main(argv):
    if len(argv) == 4 and argv[1] == "--job":
        wrong = check_job(argv[2], argv[3])
    elif len(argv) == 3 and not argv[1].startswith("-"):
        wrong, _ = check_trace(load(argv[1]), argv[2])
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    for line in wrong[:50]:
        print(line)
    if len(wrong) > 50:
        print(f"... and {len(wrong) - 50} more")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
