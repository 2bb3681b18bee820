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


def main():
    where = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus/fuzz_kineto")
    where.mkdir(parents=True, exist_ok=True)
    for number, (name, text) in enumerate(cases()):
        data = text.encode() if name != "whole" else text.encode().replace(b"python", b"py\xff\xfethon")
        (where / name).write_bytes(bytes([number % 5]) + data)


if __name__ == "__main__":
    main()
