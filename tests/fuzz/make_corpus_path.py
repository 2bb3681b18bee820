#!/usr/bin/env python3
"""Write the kept corpus of fuzz_path: small random runs, as tests/property/test_path.py has them.

usage: make_corpus_path.py [DIR]     default: corpus/fuzz_path beside this script

The first three bytes of each file choose what is damaged. Same bytes every time.
"""
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "property")]
from test_path import random_rank  # noqa: E402


def main():
    out = pathlib.Path(sys.argv[1]) if sys.argv[1:] else HERE / "corpus/fuzz_path"
    out.mkdir(parents=True, exist_ok=True)
    for seed in range(24):
        r = random.Random(seed)
        events = random_rank(r, [100] if seed % 3 == 0 else [])
        if seed % 4 == 1:
            events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 31, "tid": 32,
                           "ts": 0, "dur": 60})
        if seed % 4 == 2:
            events.append({"ph": "X", "cat": "python_function", "name": "nn.Module: A_0", "pid": 31, "tid": 32,
                           "ts": 5, "dur": 40})
        if seed % 8 == 3:
            events[0]["ts"] = 2 * 10**15
        text = json.dumps({"traceEvents": events}, separators=(",", ":")).encode()
        (out / f"run{seed}").write_bytes(bytes([seed * 7 % 256, seed * 31 % 256, 1 << seed % 8]) + text)


if __name__ == "__main__":
    main()
