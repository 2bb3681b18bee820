#!/usr/bin/env python3
"""Writes the corpus of the fuzzer of the JSON reader: a small file for each form and mistake.

Usage: make_corpus_json.py DIRECTORY   (default: corpus/fuzz_json beside this script)
"""
import os
import sys

SEEDS = {
    "empty": b"",
    "platform": b'{"name": "MI300X", "mem_bw_gbps": 5300, "memory_gb": 192,\n'
                b' "max_achievable_tflops": {"matrix_bf16": 708, "vector_fp64": 40.5}}\n',
    "platform_bare": b'{"mem_bw_gbps": 1e3}',
    "platform_wrong": b'{"mem_bw_gbps": "5300"}',
    "platform_negative": b'{"mem_bw_gbps": 1, "max_achievable_tflops": {"matrix_fp8": -1}}',
    "mark": b"\xef\xbb\xbf[1]",
    "numbers": b"[0, -0, 1.5, 1e3, 2E-7, 9223372036854775807, 9223372036854775808, 1e999]",
    "numbers_wrong": b"[01, 1., .5, +1, 1e, 0x1]",
    "strings": b'["\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00", "\xc3\xa9"]',
    "half": b'["\\ud83d"]',
    "no_utf8": b'["\xff\xc0\x80"]',
    "control": b'["\x01"]',
    "words": b"[true, false, null]",
    "nan": b"[NaN, Infinity]",
    "nested": b"[" * 40 + b"{}" + b"]" * 40,
    "too_deep": b"[" * 600,
    "brackets": b'{"a": [1}',
    "commas": b'[1,, 2,]',
    "two": b"{} {}",
    "cut": b'{"a": "b',
}


def main():
    """Writes the files."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "fuzz_json")
    directory = sys.argv[1] if len(sys.argv) > 1 else beside
    os.makedirs(directory, exist_ok=True)
    for name, data in SEEDS.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
