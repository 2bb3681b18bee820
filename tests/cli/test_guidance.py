"""What a message has to lead to: the reason where there is no report, a way on where the input is
another program's, the summary where nothing can be written; and a report that is the same as its
own trace, whatever the names in it.
"""
import gzip
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (SHARED, Case, base_events, document, kernel, launch, op, trawl)

FOUND = SHARED / "cases/found"


class Reason(Case):
    """Nothing to report: the message says what kept the events out."""

    def refused(self, data, *words, absent=()):
        path = data if isinstance(data, pathlib.Path) else self.write(data)
        done = trawl("report", path, "-o", self.tmp / "out")
        self.assertAlive(done)
        self.assertExit(done, 1)
        last = done.err.strip().splitlines()[-1]
        for w in words:
            self.assertRegex(last, w, str(done))
        for w in absent:
            self.assertNotRegex(last, w, str(done))
        self.assertFalse((self.tmp / "out").exists())

    def scaled(self, factor, offset=0):
        events = base_events()
        for e in events:
            e["ts"] = (e["ts"] + offset) * factor
            e["dur"] = e["dur"] * factor
        return document(events)

    def test_nanoseconds(self):
        """4 GPU events and 8 of the host, all of them behind the end of time."""
        self.refused(self.scaled(10 ** 6, offset=37 * 10 ** 11), r"none of its 12 events",
                     r"\b4 x GPU events", r"\b8 x host events", r"out-of-range time",
                     r"microseconds", r"nanoseconds\?")

    def test_durations_alone(self):
        """Operations are there, without times: a report, which says why it has no more."""
        done = trawl("report", self.write(self.scaled(10 ** 12)), "-o", self.tmp / "out")
        self.assertExit(done, 3)
        self.assertRegex(done.out, r"nanoseconds\?")
        self.assertNotRegex(done.out, "Out-of-range")

    def test_times_beyond_the_clock(self):
        self.refused(self.scaled(1000, offset=10 ** 16), r"none of its 12 events", r"nanoseconds\?")

    def test_other_reasons_are_told_too(self):
        events = [kernel(f"k{i}", 0, 0, i + 1) for i in range(3)]
        self.refused(document(events), r"none of its 3 events", r"\b3 x GPU events with time 0",
                     absent=("nanoseconds",))

    def test_nothing_is_wrong_with_times(self):
        self.refused(document([{"ph": "X", "cat": "other", "name": "x", "pid": 1, "tid": 1, "ts": 1,
                                "dur": 1}]), r"no GPU events and no host operators", absent=("nanoseconds",))

    @unittest.skipUnless(FOUND.exists(), "no reference data")
    def test_found(self):
        case = FOUND / "attack-07-times-in-nanoseconds-message/ns.json.gz"
        self.refused(case, r"5782 events", r"\b532 x GPU events", r"nanoseconds\?")


class LostLaunches(Case):
    """Launches without a device record: how many, and what does that."""

    def assertTold(self, path, count):
        done = trawl("report", path, "-o", self.tmp / "out")
        self.assertExit(done, 0)
        text = " ".join(done.out.split())
        self.assertRegex(text, rf"\b{count} recorded launch(es have| has) no GPU activity", str(done))
        self.assertRegex(text, "Out-of-range.*KINETO_LOG_LEVEL", str(done))
        self.assertRegex(text, rf"note {count} x launch calls with no GPU event", str(done))

    def test_launches_alone(self):
        for n in (1, 5):
            events = []
            for i in range(n):
                events += [op("aten::mm", 100 * i, 50, **{"External id": i + 1}),
                           launch(100 * i + 10, 5, i + 1, **{"External id": i + 1})]
            with self.subTest(n):
                self.assertTold(self.write(document(events)), n)

    def test_of_another_vendor(self):
        self.assertTold(self.write(document([
            op("aten::mm", 0, 50), launch(10, 5, 1, "hipLaunchKernel"),
            op("aten::mm", 100, 50), launch(110, 5, 2, "hipLaunchKernel")])), 2)

    def test_records_that_are_there_and_unusable(self):
        """They are told as what they are."""
        done = trawl("report", self.write(document([
            op("aten::mm", 0, 50), launch(10, 5, 1), kernel("k", 0, 0, 1)])), "-o",
            self.tmp / "out")
        self.assertExit(done, 3)
        self.assertRegex(done.out, "1 x GPU events with time 0")
        self.assertNotRegex(done.out, "Out-of-range")

    def test_a_trace_of_the_host_is_none(self):
        """Operations without a launch, and calls that launch nothing."""
        done = trawl("report", self.write(document([
            op("aten::mm", 0, 50), launch(60, 5, 1, "cudaDeviceSynchronize")])), "-o",
            self.tmp / "out")
        self.assertExit(done, 0)
        self.assertNotRegex(done.out, "recorded launch|launch call")

    @unittest.skipUnless(FOUND.exists(), "no reference data")
    def test_found(self):
        self.assertTold(FOUND / "kineto-57-launches-no-kernels/trace.json", 3)


def message(number, payload):
    return bytes([number << 3 | 2]) + varint(len(payload)) + payload


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def plane(name, number=None, rest=b"\x1a\x03abc"):
    head = b"" if number is None else b"\x08" + varint(number)
    return message(1, head + message(2, name) + rest)


class OtherFormats(Case):
    def told(self, data, name, *words, absent=()):
        path = data if isinstance(data, pathlib.Path) else self.write(data, name)
        done = trawl("report", path, "-o", self.tmp / "out")
        self.assertAlive(done)
        self.assertExit(done, 1)
        for w in words:
            self.assertRegex(done.err, w)
        for w in absent:
            self.assertNotRegex(done.err, w)

    def test_xplane(self):
        for i, data in enumerate((plane(b"/device:GPU:0", 1), plane(b"/host:CPU", 300),
                                  plane(b"/host:metadata"), plane(b"Task Environment", 7),
                                  gzip.compress(plane(b"/device:TPU:0 (pid 1)", 1 << 40)))):
            with self.subTest(i):
                self.told(data, f"{i}.xplane.pb", "XPlane", "not supported", absent=("traceconv",))

    def test_perfetto_is_none(self):
        """Packets whose field 2 is a process tree, or that have none."""
        tree = message(1, message(2, message(1, b"\x08\x01\x10\x00")) + b"\x50\x01")
        clock = message(1, b"\x40\x80\x01" + message(6, b"\x08\x01"))
        for i, data in enumerate((tree * 3, clock, message(1, b"\x50\x03\x08\x02"))):
            with self.subTest(i):
                self.told(data, f"{i}.pftrace", "Perfetto", "traceconv json", absent=("XPlane",))

    def test_rocprof(self):
        """Its outputs are told in one way: what does end at a report."""
        for table in ("rocpd_kernel_dispatch", "rocpd_string_0001"):
            path = self.tmp / f"{table}.db"
            with sqlite3.connect(path) as db:
                db.execute(f"create table {table}(id integer)")
            self.told(path, "", "rocpd", "not supported yet", r"torch\.profiler",
                      absent=("pftrace", "traceconv"))
        self.told('{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "a.json", "rocprofv3",
                  "not supported yet", r"torch\.profiler", absent=("pftrace", "traceconv"))
        self.told('"Kind","Agent_Id"\n"KERNEL_DISPATCH",1\n', "a.csv", "rocprofv3", "not supported",
                  r"torch\.profiler")

    def test_other_texts(self):
        for name, text, word in (("a.systrace", "# tracer: nop\n#\n", "ftrace"),
                                 ("b.systrace", "TRACE:\n# tracer: nop\n", "ftrace")):
            with self.subTest(name):
                self.told(text, name, word)

    @unittest.skipUnless(FOUND.exists(), "no reference data")
    def test_found(self):
        self.told(FOUND / "reader-03-xplane-called-perfetto/x.xplane.pb", "", "XPlane",
                  absent=("traceconv",))
        self.told(FOUND / "reader-04-rocprof/r.db", "", "rocpd", r"torch\.profiler",
                  absent=("pftrace",))


class CannotWrite(Case):
    """The summary is printed all the same, and the option that helps is named; exit status 1."""

    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest("needs root for a read-only file system")
        self.place = self.tmp / "ro"
        self.place.mkdir()
        trace = document(base_events())
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "t", self.place],
                              capture_output=True)
        if done.returncode:
            self.skipTest("cannot mount")
        self.addCleanup(subprocess.run, ["umount", str(self.place)])
        (self.place / "trace.json").write_text(trace)
        ranks = self.place / "ranks"
        ranks.mkdir()
        for rank in range(2):
            (ranks / f"rank{rank}.json").write_text(document(
                base_events(), distributedInfo={"rank": rank, "world_size": 2}))
        subprocess.run(["mount", "-o", "remount,ro", str(self.place)], check=True)

    def check(self, *args, word):
        done = trawl(*args)
        self.assertAlive(done)
        self.assertExit(done, 1)
        self.assertRegex(done.err, r"(?i)read-only.*\(-o DIR ", str(done))
        self.assertRegex(done.out, word, str(done))

    def test_report(self):
        trace = self.place / "trace.json"
        self.check("report", trace, word="GPU time")
        self.check("report", trace, "-o", self.place / "x", "--no-csv", word="GPU time")
        done = trawl("report", trace, "--format", "json")
        self.assertExit(done, 1)
        self.assertIn("tables", json.loads(done.out))

    def test_ranks(self):
        self.check("report", self.place / "ranks", word="GPU time over ranks")
        self.check("collectives", self.place / "ranks", word="ranks")


NAMES = ("plain", "\r\nline", "bell\x07", "\x85nel", "\u2028sep\u2029", "\u202eright\u202c", "=1+1",
         "+2", "-3", "@x", "'=1", "tab\tin", "_x0041_", "back\\slash", 'a "quote"', "a,comma",
         "zero\u200bwidth", "\U000e0041tag", "\ufeffmark", "𝄞", "\x7f", "é\u0301", " blank ")


class OwnReport(Case):
    """A trace and the report made of it: every row the same, whatever the names."""

    def events(self):
        out = []
        for i, name in enumerate(NAMES):
            at = 1000 + 300 * i
            out += [op(f"op {name} {i}", at, 50, **{"External id": i + 1}),
                    launch(at + 5, 4, i + 1, **{"External id": i + 1}),
                    kernel(f"kernel {name} {i}", at + 60, 100 + i, i + 1)]
            out += [op(f"{name}{i}", at + 160, 20, **{"External id": i + 500}),
                    launch(at + 165, 4, i + 500, **{"External id": i + 500}),
                    kernel(f"{name}{i}", at + 190, 50 + i, i + 500)]
        return out

    def same(self, trace, report):
        for sides in ((trace, report), (report, trace)):
            done = trawl("compare", *sides, "-o", self.tmp / "page.html", "--format", "json")
            self.assertExit(done, 0)
            verdicts = {}
            for table in json.loads(done.out)["tables"]:
                ids = [c["id"] for c in table["columns"]]
                if "verdict" not in ids or "name" not in ids:
                    continue
                for row in table["rows"]:
                    row = row if isinstance(row, dict) else dict(zip(ids, row))
                    if row["verdict"]:  # the baseline has none
                        verdicts.setdefault(row["verdict"], []).append(row["name"])
            self.assertEqual(set(verdicts), {"same"}, str(verdicts)[:2000])
            self.assertGreater(len(verdicts["same"]), 20)

    def test_names(self):
        trace = self.write(document(self.events()))
        out = self.tmp / "out"
        self.assertExit(trawl("report", trace, "-o", out, "-q"), 0, 3)
        self.same(trace, out / "perf_report.xlsx")
        self.same(trace, out / "perf_report_csvs")
        self.same(out / "perf_report_csvs", out / "perf_report.xlsx")

    def test_bytes_that_are_no_text(self):
        data = document([e | {"name": e["name"].replace("aten::", "aten::\udcff\udcfe")}
                         for e in base_events()]).encode("utf-8", "surrogateescape")
        data = data.replace(b"\\udcff\\udcfe", b"\xff\xfe")
        trace = self.write(data)
        out = self.tmp / "out"
        self.assertExit(trawl("report", trace, "-o", out, "-q"), 0, 3)
        done = trawl("compare", trace, out, "-o", self.tmp / "p.html")
        self.assertNotRegex(done.out, r"\b(gone|new)\b")

    @unittest.skipUnless(FOUND.exists(), "no reference data")
    def test_found(self):
        trace = FOUND / "attack-13-own-report-differs/ops.json.gz"
        out = self.tmp / "out"
        self.assertExit(trawl("report", trace, "-o", out, "-q"), 0, 3)
        self.same(trace, out / "perf_report.xlsx")
        self.same(trace, out / "perf_report_csvs")


if __name__ == "__main__":
    unittest.main()
