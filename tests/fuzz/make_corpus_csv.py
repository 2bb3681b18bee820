#!/usr/bin/env python3
"""Writes the corpus of the fuzzer of the CSV reader: a small file for each form and mistake.

Usage: make_corpus_csv.py DIRECTORY   (default: corpus/fuzz_csv beside this script)
"""
import os
import sys

SEEDS = {
    "empty": b"",
    "header": b"name,count\n",
    "rows": b"name,count\naten::mm,3\naten::add,-1.5e3\n",
    "quotes": b'a,b\n"x, ""y""\nz",2\n',
    "carriage": b"a,b\r\n1,2\r\n",
    "mark": b"\xef\xbb\xbfa\n1\n",
    "formulas": b"a\n'=1+1\n''-x\n-5\n@\n",
    "ragged": b"a,b\n1\n",
    "open_quote": b'a\n"x\n',
    "no_end": b"a,b\n1,2",
    "one_empty": b'a\n""\n\n',
    "no_utf8": b"a\n\xff\xc0\x80\n",
    "control": b"a\n\x01\x1b[31m\n",
    "nul": b"a\nx\x00y\n",
}


def main():
    """Writes the files."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "fuzz_csv")
    directory = sys.argv[1] if len(sys.argv) > 1 else beside
    os.makedirs(directory, exist_ok=True)
    for name, data in SEEDS.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
