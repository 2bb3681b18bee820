"""Runs one test module and prints TAP: `python3 tests/tap.py FILE [--only PATTERN]`."""
import argparse
import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def one_line(text, limit=400):
    return " ".join(text.split())[:limit]


class TapResult(unittest.TestResult):
    def __init__(self, label):
        super().__init__()
        self.label, self.number = label, 0

    def startTest(self, test):
        super().startTest(test)
        self.began, self.sub = time.monotonic(), []

    def say(self, ok, test, note=""):
        self.number += 1
        name = test.id().split(".", 1)[1] if "." in test.id() else test.id()
        took = time.monotonic() - getattr(self, "began", time.monotonic())
        print(f"{'ok' if ok else 'not ok'} {self.number} - {self.label}: {name}"
              f"{note or f' # {took:.2f}s'}", flush=True)

    def fail_with(self, test, err):
        kind, value, trace = err
        # The last frame inside the test files says where; the value says what.
        where = ""
        while trace is not None:
            code = trace.tb_frame.f_code
            if "/unittest/" not in code.co_filename:
                where = f"{pathlib.Path(code.co_filename).name}:{trace.tb_lineno}"
            trace = trace.tb_next
        self.say(False, test, f" # {where}: {kind.__name__}: {one_line(str(value))}")
        for line in str(value).splitlines()[:40]:
            print("#   " + line[:300])

    def addSuccess(self, test):
        self.say(True, test)

    def addFailure(self, test, err):
        self.fail_with(test, err)

    def addError(self, test, err):
        self.fail_with(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.fail_with(subtest, err)

    def addSkip(self, test, reason):
        self.say(True, test, f" # SKIP {one_line(reason)}")

    def addExpectedFailure(self, test, err):
        self.say(False, test, " # expected failures are not used here")

    def addUnexpectedSuccess(self, test):
        self.say(False, test, " # expected failures are not used here")


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("file")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    path = pathlib.Path(a.file).resolve()
    sys.path.insert(0, str(path.parent))
    suite = unittest.defaultTestLoader.loadTestsFromName(path.stem)
    label = f"{path.parent.name}/{path.stem}"
    tests = [t for t in flatten(suite)
             if not a.only or re.search(a.only, f"{label}: {t.id()}")]
    result = TapResult(label)
    unittest.TestSuite(tests).run(result)
    print(f"1..{result.number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
