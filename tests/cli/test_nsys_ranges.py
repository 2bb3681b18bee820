"""trawl nsys ranges, and ranges in the report and summary of exports of Nsight Systems."""
import csv
import io
import json
import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NCCL, ROOT, Case, document, environment, event, kernel, launch, trawl

# Exports are read as soon as there is a reader.
HOST = 0x0003 << 48


def gid(pid, tid=0):
    return HOST | pid << 24 | tid


class Export:
    """The tables of an export that ranges need; times in nanoseconds."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.texts, self.correlation = {}, 0
        self.db.executescript("""
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
                textId INTEGER, globalTid INTEGER, domainId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,
                eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER,
                returnValue INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
                contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
                demangledName INTEGER, shortName INTEGER);
            CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);""")

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.texts[value], value))
        return self.texts[value]

    def range(self, name, pid, tid, start, end, domain=0):
        self.db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?, ?)",
                        (start, end, name, gid(pid, tid), domain))

    def domain(self, name, pid, number):
        self.db.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, ?, NULL, ?, ?)",
                        (name, gid(pid, 1), number))

    def kernel(self, name, pid, tid, call, device, stream, start, end):
        self.correlation += 1
        self.db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
                        (call, call + 1, gid(pid, tid), self.correlation,
                         self.text("cudaLaunchKernel_v7000")))
        self.db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)",
                        (start, end, device, stream, self.correlation, gid(pid), self.text(name),
                         self.text(name)))

    def done(self):
        self.db.commit()
        self.db.close()


def two_ranks(path):
    """Two processes, the second with twice the times; backward passes on a thread of their own."""
    export = Export(path)
    for rank, pid in enumerate((100, 200)):
        k = 1000 * (rank + 1)
        export.domain("NCCL", pid, 1)
        export.range("a step of the training whose name is far too long for eighty columns", pid, 1,
                     1000, 9000)
        export.range("backward", pid, 1, 5000, 8000)
        export.range("ncclAllReduce", pid, 2, 7000, 7100, 1)
        export.kernel("gemm", pid, 1, 2000, rank, 7, 10000, 10000 + 4 * k)
        export.kernel("gemm", pid, 2, 6000, rank, 7, 20000, 20000 + 2 * k)
        export.kernel(NCCL, pid, 2, 7050, rank, 20, 20000, 20000 + 3 * k)
    export.done()


def rows(result):
    return list(csv.DictReader(io.StringIO(result.out)))


class Ranges(Case):
    def kineto(self):
        return self.write(document([
            event("X", "user_annotation", "step", 31, 32, 100, 100),
            event("X", "user_annotation", "empty", 31, 32, 300, 10),
            launch(110, 5, 1), kernel("k", 150, 10, 1)], distributedInfo={"rank": 3}))

    def test_annotations(self):
        done = trawl("nsys", "ranges", self.kineto(), "--format", "csv")
        self.assertExit(done, 0)
        got = [(r["pid"], r["range"], r["GPU time (ms)"], r["instances"]) for r in rows(done)]
        self.assertEqual(got, [("31", "step", "0.01", "1"), ("31", "empty", "0", "1")])

    def test_rank(self):
        path = self.kineto()
        done = trawl("nsys", "ranges", path, "--format", "csv", "--rank", 3)
        self.assertExit(done, 0)
        self.assertEqual(len(rows(done)), 2)
        for rank in ("4", "x", "-1", ""):
            done = trawl("nsys", "ranges", path, "--rank", rank)
            self.assertExit(done, 2)
            self.assertIn("rank", done.err)

    def test_both_ends_or_none(self):
        path = self.kineto()
        for options in (("--start", 0), ("--end", 5)):
            self.assertExit(trawl("nsys", "ranges", path, *options), 2)
        done = trawl("nsys", "ranges", path, "--start", 155000, "--end", 400000, "--format", "csv")
        self.assertExit(done, 0)
        self.assertEqual(rows(done)[0]["GPU time (ms)"], "0.005")

    def test_without_ranges(self):
        done = trawl("nsys", "ranges", self.write(document([kernel("k", 1, 5)])))
        self.assertExit(done, 0)
        self.assertIn("no NVTX ranges in this trace", done.out)

    def test_export(self):
        path = self.tmp / "export.sqlite"
        two_ranks(path)
        done = trawl("nsys", "ranges", path, "--format", "csv")
        self.assertExit(done, 0)
        got = {(r["pid"], r["range"][:6], r["domain"]):
               (r["GPU time (ms)"], r["self GPU time (ms)"], r["exposed communication (ms)"])
               for r in rows(done)}
        # The collective is in NCCL's own range, on the thread of the backward pass, and in both
        # ranges of the main thread.
        self.assertEqual(got, {
            ("100", "a step", ""): ("0.009", "0.004", "0.001"),
            ("100", "backwa", ""): ("0.005", "0.002", "0.001"),
            ("100", "ncclAl", "NCCL"): ("0.003", "0.003", "0.001"),
            ("200", "a step", ""): ("0.018", "0.008", "0.002"),
            ("200", "backwa", ""): ("0.01", "0.004", "0.002"),
            ("200", "ncclAl", "NCCL"): ("0.006", "0.006", "0.002")})
        rep = self.report(path)
        self.assertEqual(len(rep.table("nvtx_ranges")), 6)

    def test_summary(self):
        """Ranges stand where operations would, of all processes by name."""
        path = self.tmp / "export.sqlite"
        two_ranks(path)
        for width in (80, 140):
            done = trawl("report", path, "--no-csv", "--no-xlsx", env=environment(COLUMNS=width))
            self.assertExit(done, 0)
            lines = done.out.splitlines()
            self.assertIn("top ranges by GPU time", lines)
            self.assertNotIn("top operators by GPU time", lines)
            self.assertLessEqual(max(map(len, lines)), width)
            top = [x.split() for x in lines if x.startswith(("a step", "backward", "nccl"))]
            self.assertEqual([t[-4:] for t in top],
                             [["2", "0.027", "0.003", "0.016"], ["2", "0.015", "0.003", "0.006"],
                              ["2", "0.009", "0.003", "0.000"]])
        done = trawl("report", path, "--no-csv", "--no-xlsx", "--format", "json")
        self.assertEqual([t["name"] for t in json.loads(done.out)["tables"]],
                         ["gpu_timeline", "modules", "top_ranges", "quality"])


if __name__ == "__main__":
    unittest.main()
