#!/usr/bin/env python3
"""Runs tests written in Python for tools/mutate.py: those named on standard input, one
`GROUP/MODULE: CLASS.METHOD` a line, in the order of their classes, until one fails.

With --ran DIRECTORY all tests of the modules named (`GROUP/MODULE`) run; what code each runs
(tools/mutate_trace.c) lies there afterwards, of a class what its fixture runs too.  Where a module
keeps what the program made (functools.cache), all of its tests run the same code.
"""
import argparse
import os
import pathlib
import re
import sys
import time
import unittest

# Large inputs, and what is about bytes and memory rather than numbers.
LEFT_OUT = re.compile(r"same_bytes|megabytes|many_processes|more_ranks_than|memory|threads")
TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))
from tap import flatten, one_line  # noqa: E402


class Result(unittest.TestResult):
    def __init__(self, label, ran):
        super().__init__()
        self.label, self.ran, self.bad = label, ran, False
        module = vars(sys.modules[label.split("/")[1]]).values()
        self.keeps = any(hasattr(value, "cache_clear") for value in module)

    def trace_to(self, name):
        if self.keeps:
            name = self.label
        if self.ran:
            os.environ["TRAWL_RAN"] = str(self.ran / name.replace("/", ",").replace(": ", ";"))

    def name(self, test):
        return f"{self.label}: {test.id().split('.', 1)[1]}"

    def startTest(self, test):
        super().startTest(test)
        self.good, self.began, self.worked = True, time.monotonic(), sum(os.times()[:4])
        print(f"began {self.name(test)}", flush=True)
        self.trace_to(self.name(test))

    def stopTest(self, test):
        self.trace_to(f"{self.label}: {type(test).__name__}")
        if self.good:
            print(f"ok {self.name(test)}\t{time.monotonic() - self.began:.3f}\t"
                  f"{sum(os.times()[:4]) - self.worked:.3f}", flush=True)

    def fail(self, test, err):
        self.good, self.bad = False, True
        name = self.name(test) if isinstance(test, unittest.TestCase) else f"{self.label}: {test}"
        print(f"not ok {name}\t{one_line(str(err[1]), 200)}", flush=True)
        if not self.ran:
            self.stop()

    def addFailure(self, test, err):
        self.fail(test, err)

    def addError(self, test, err):
        self.fail(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.fail(test, err)

    def addSkip(self, test, reason):
        self.good = False


def classes_of(label):
    """Class name -> its tests."""
    group, stem = label.split("/")
    sys.path.insert(0, str(TESTS / group))
    found = {}
    # Modules of two groups may share a name.
    sys.modules.pop(stem, None)
    for test in flatten(unittest.defaultTestLoader.loadTestsFromName(stem)):
        if not LEFT_OUT.search(test.id()):
            found.setdefault(type(test).__name__, []).append(test)
    sys.path.pop(0)
    return found


def wanted(lines):
    """(label, class) -> names of its methods, in order; None for all of a module."""
    found = {}
    for line in lines:
        label, _, rest = line.strip().partition(": ")
        if rest:
            name, method = rest.split(".", 1)
            found.setdefault((label, name), []).append(method)
        elif label:
            found.update({(label, name): None for name in classes_of(label)})
    return found


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ran", type=pathlib.Path)
    a = ap.parse_args()
    loaded = {}
    for (label, name), methods in wanted(sys.stdin).items():
        if label not in loaded:
            loaded[label] = classes_of(label)
        tests = {t.id().rsplit(".", 1)[1]: t for t in loaded[label].get(name, [])}
        chosen = [tests[m] for m in methods if m in tests] if methods else list(tests.values())
        result = Result(label, a.ran)
        result.trace_to(f"{label}: {name}")
        unittest.TestSuite(chosen).run(result)
        if result.bad and not a.ran:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
