#!/usr/bin/env python3
"""Write the kept corpus of fuzz_kineto: small traces, whole and damaged in each known way.

usage: make_corpus_kineto.py [DIR]     default: corpus/fuzz_kineto beside this script

The first byte of each file chooses the block size. Same bytes every time; standard library only.
"""
import json
import pathlib
import sys


def op(name, ts, dur, ext, **args):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": {"External id": ext, "Input Dims": [[8, 16], [16, 4], []],
                     "Input type": ["float", "float", "Scalar"], "Concrete Inputs": ["", "", "1"], **args}}


def call(name, ts, dur, corr, cat="cuda_runtime"):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": {"External id": corr, "cbid": 211, "correlation": corr}}


def gpu(name, ts, dur, corr, stream=7, cat="kernel", **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": stream, "correlation": corr, "grid": [1, 1, 1], **args}}


def base():
    return [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 99, "dur": 200},
        op("aten::mm", 100, 30, 1), call("cudaLaunchKernel", 105, 5, 1),
        op("record_param_comms", 140, 20, 2), call("cudaLaunchKernelExC", 145, 5, 2),
        call("cudaMemcpyAsync", 170, 6, 3), call("cuLaunchKernel", 180, 4, 4, "cuda_driver"),
        gpu("sm90_gemm", 120, 40.25, 1), gpu("void at::native::vectorized_elementwise_kernel<4>(int)", 190, 9, 4),
        gpu("ncclDevKernel_AllReduce_Sum_bf16", 150, 60, 2, 20, **{"Collective name": "allreduce", "dtype": "BFloat16",
            "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 2, "Process Group Ranks": "[0, 1]"}),
        gpu("Memcpy HtoD", 200, 20, 3, 24, "gpu_memcpy", bytes=1048576),
        {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 105, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 120, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    ]


def document(events, **fields):
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Example GPU"}],
                       "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events, **fields})


def cases():
    whole = document(base())
    native = whole.replace('{"ph"', '\n  {\n    "ph"').replace(', "ts"', ',\n    "ts"').replace(', "args"', ',\n    "args"')
    yield "whole", whole
    yield "native", native
    yield "indented", json.dumps(json.loads(whole), indent=4)
    yield "array", json.dumps(base())
    yield "array_open", json.dumps(base())[:-1] + ","
    yield "cut_in_event", whole[:-120]
    yield "cut_between", whole[:whole.index('{"ph": "s"')]
    yield "control", whole.replace("sm90_gemm", "sm90\x01\tgemm\n")
    yield "escape", whole.replace("sm90_gemm", "C:\\\\unit\\q".replace("\\\\", "\\"))
    yield "backslash_quote", whole.replace("sm90_gemm", "dir\\")
    yield "quote_inside", whole.replace("sm90_gemm", 'a"b"c')
    yield "nan", whole.replace("40.25", "NaN").replace("1048576", "-Infinity")
    yield "python", whole.replace('"bp": "e"', '"bp": None')
    yield "commas", whole.replace("}, {", "} {", 2).replace("}, {", "},,{", 1).replace("[]]", "[],]")
    yield "ellipsis", whole.replace("[1, 1, 1]", "[1, ..., 1]")
    yield "ids", whole.replace('"correlation": 1,', '"correlation": 18446744073709551615,').replace(
        '"correlation": 2,', '"correlation": 123456789012345678901234567890,')
    yield "times_text", whole.replace('"ts": 120', '"ts": "120.5e0"').replace('"dur": 9', '"dur": -9')
    yield "no_dur", whole.replace(', "dur": 60', "")
    yield "huge_dur", whole.replace('"dur": 60', '"dur": 9223372036854775807')
    yield "nested_events", '{"traceEvents": ' + whole + "}"
    yield "second", whole + whole
    yield "garbage", whole.replace("}, {", "}, rubbish here {", 1)
    yield "not_events", whole.replace('"traceEvents": [', '"traceEvents": [null, 3, "x", [1], {},')
    yield "pairs", json.dumps([{"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1},
                               {"ph": "E", "pid": 0, "tid": 7, "ts": 5}, {"ph": "E", "pid": 0, "tid": 7, "ts": 6}])
    yield "odd_places", json.dumps([{"ph": "X", "cat": "kernel", "name": None, "ts": 1, "dur": 2},
                                    {"ph": "X", "cat": "kernel", "name": 5, "pid": {}, "tid": [], "ts": 2, "dur": 3, "args": None}])
    yield "empty_list", '{"traceEvents": []}'
    yield "no_list", '{"nodes": [1, 2]}'
    yield "bare_key", whole.replace('"tid": 1', 'tid": 1', 1)
    yield "surrogate", whole.replace("sm90_gemm", "sm90\\ud800x\\udc00")
    yield "duplicate_keys", whole.replace('"ph": "X",', '"ph": "M", "name": "x", "ph": "X",').replace(
        '"cbid": 211', '"cbid": 211, "cbid": 212')
    yield "unreadable", whole.replace('"dur": 5', '"dur": 5x5', 1)
    yield "stretch", whole.replace("}, {", "}, }:}: {", 1)
    yield "trailing", whole + "\nend of trace\0\0"
    yield "lost_gpu_times", document(base() + [
        gpu("zero", 0, 0, 9), gpu("negative", 5, -1, 9), gpu("long", 5, 1e12, 9),
        {"ph": "X", "cat": "kernel", "name": "no start", "dur": 5}, {"ph": "X", "cat": "kernel", "name": "no end", "ts": 5},
        {"ph": "B", "cat": "kernel", "name": "open", "ts": 5}])
    yield "lost_host_times", document(base() + [
        op("negative", 5, -1, 9), op("long", -1e30, 1, 9), {"ph": "X", "cat": "cpu_op", "name": "no end", "ts": 5},
        {"ph": "B", "cat": "cpu_op", "name": "open", "ts": 5}, {"ph": "E", "ts": 4}, {"ph": "X", "name": "x", "ts": 1, "dur": 1}])
    yield "overruns", document(base() + [
        op("late", 125, 30, 9), gpu("over", 300, 100, 0), gpu("under", 310, 5, 0), gpu("under", 320, 5, 0)])
    yield "shared_ids", document(base() + [
        call("cudaLaunchKernel", 106, 1, 1), call("cudaLaunchKernel", 400, 1, 4), call("cudaLaunchKernel", 500, 1, 77),
        gpu("early", 10, 5, 2)])
    only = [{**e, "args": {"External id": 5}} for e in (call("cudaLaunchKernel", t, 5, 0) for t in (10, 20))]
    yield "external_ids", document([op("aten::mm", 0, 90, 5)] + only + [
        {**gpu("k", t, 5, 0), "args": {"External id": 5, "stream": 7}} for t in (30, 40, 50)])
    yield "autograd", document([
        op("aten::mm", 0, 10, 1, **{"Sequence number": 3}), op("aten::mm", 20, 10, 1, **{"Sequence number": 4}),
        {**op("autograd::engine::evaluate_function: MmBackward0", 50, 20, 1, **{"Sequence number": 3}), "tid": 2},
        op("odd", 80, 5, 1, **{"Sequence number": -1})])
    yield "mark", "\ufeff" + whole
    yield "exponents", whole.replace('"ts": 1', '"ts": 1.5e2, "x": 1').replace('"dur": 5', '"dur": 5E+0').replace(
        '"correlation": 4', '"correlation": 4.0')
    yield "steps", document(base() + [
        {"ph": "X", "cat": "gpu_user_annotation", "name": f"ProfilerStep#{n}", "pid": 0, "tid": 7, "ts": 100 * n, "dur": 100}
        for n in (1, 2, 4)])
    yield "nul_in_name", whole.replace("aten::mm", "aten::mm" + 7 * "\\u0000" + "\\u0016")


def main():
    where = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus/fuzz_kineto")
    where.mkdir(parents=True, exist_ok=True)
    for number, (name, text) in enumerate(cases()):
        data = text.encode() if name != "whole" else text.encode().replace(b"python", b"py\xff\xfethon")
        (where / name).write_bytes(bytes([number % 5]) + data)


if __name__ == "__main__":
    main()
