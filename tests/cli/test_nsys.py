"""trawl nsys: the original scripts' cases byte for byte, and the right values by a second computation."""
import csv
import io
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, environment, trawl

SHARED = pathlib.Path(os.environ.get("TRAWL_SHARED", "../shared"))
CASES = SHARED / "cases/nsys"
QUERY = {"show_setup": "setup", "find_window": "windows", "classify_streams": "streams",
         "compute_overlap": "overlap"}
ALL = ("setup", "windows", "streams", "overlap")
PROGRAM = pathlib.Path(os.environ.get("TRAWL_BUILD", "build/release")).resolve() / "trawl"


def cases():
    """(name, query, arguments, directory, exit status, output) of each run of the original."""
    for status in sorted(CASES.glob("*/*.rc")):
        if status.parent.name == "usage":
            continue
        words = pathlib.Path(str(status)[:-3] + ".cmd.txt").read_text().split()
        query = QUERY[pathlib.Path(words[1]).stem]
        out = pathlib.Path(str(status)[:-3] + ".stdout")
        yield (f"{status.parent.name}/{status.stem}", query, words[2:], status.parent,
               int(status.read_text()), out.read_bytes())


def exports():
    """The databases of the cases that are some."""
    return [p for p in sorted(CASES.glob("*/input.sqlite"))
            if p.read_bytes()[:6] == b"SQLite"]


def needs_cases(test):
    return unittest.skipUnless(CASES.is_dir(), "no TRAWL_SHARED with cases/nsys")(test)


def rows_of(result):
    return list(csv.DictReader(io.StringIO(result.out)))


# ---- the right values, slowly

class Slow:
    """Ranks, windows, streams and overlap of a PithTrain export, by looking at everything."""

    LABEL = re.compile(r"rank=(\d+); .*pp=\d+/\d+")
    STAGE = re.compile(r"stage([1-5])_([fbw])")

    def __init__(self, path, window=None):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master")}
        texts = dict(self.rows(db, "StringIds", "id", "value"))
        self.ranges, self.marks, last = [], [], 0
        for start, end, kind, text, gid, text_id in self.rows(
                db, "NVTX_EVENTS", "start", "end", "eventType", "text", "globalTid", "textId"):
            name = text if text is not None else texts.get(text_id)
            last = max(last, start, end or start)
            if name and kind in (34, 59, 60, 70, 71):
                (self.marks if kind == 34 else self.ranges).append([start, end, gid, name])
        self.kernels = [list(r) for r in self.rows(
            db, "CUPTI_ACTIVITY_KIND_KERNEL", "start", "end", "globalPid", "deviceId", "contextId",
            "streamId", "correlationId", "demangledName", "shortName")]
        calls = list(self.rows(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "start", "end", "globalTid",
                               "correlationId", "nameId"))
        for table in self.tables:
            if re.search("_(KERNEL|RUNTIME|MEMCPY|MEMSET|SYNCHRONIZATION)$", table):
                last = max([last] + [e for _, e in self.rows(db, table, "start", "end")])
        for r in self.ranges:
            r[1] = last if r[1] is None else r[1]
        self.launch = {}
        for start, _, gid, correlation, name in calls:
            key = (gid >> 24 & (1 << 40) - 1, correlation)
            new = ("launch" not in texts.get(name, "").lower(), start, gid & 0xffffff)
            self.launch[key] = min(self.launch.get(key, new), new, key=lambda c: c[:2])
        self.texts = texts
        self.find_ranks(window)

    def rows(self, db, table, *columns):
        return db.execute(f'SELECT {", ".join(columns)} FROM {table} ORDER BY rowid') \
            if table in self.tables else []

    @staticmethod
    def process(gid):
        return gid >> 24 & (1 << 40) - 1

    def find_ranks(self, window):
        self.ranks = {}
        for start, _, gid, name in sorted(self.ranges + self.marks, key=lambda r: r[0]):
            found = self.LABEL.match(name)
            if found and self.process(gid) not in self.ranks:
                self.ranks[self.process(gid)] = (int(found[1]), name)
        if not self.ranks:
            used = sorted({self.process(k[2]) for k in self.kernels})
            self.ranks = {p: (i, "") for i, p in enumerate(used)}
        self.window = {}
        for process in self.ranks:
            chunks = sorted((r for r in self.ranges if self.process(r[2]) == process and r[0] >= 0
                             and re.match("forward chunk.*backward chunk", r[3])),
                            key=lambda r: r[0])
            if window:
                self.window[process] = window
            elif chunks:
                self.window[process] = tuple(chunks[len(chunks) // 2][:2])

    def marker(self, name):
        stage = self.STAGE.findall(name)
        purpose = next((p for pattern, p in (
            ("stage[24]_[fb]", "ep_a2a"), ("stage1_[fb]", "cp_ring"),
            ("pipeline send/recv", "pp_p2p")) if re.search(pattern, name)), None)
        return (f"stage{stage[-1][0]}_{stage[-1][1]}" if stage else None, purpose) \
            if stage or purpose else None

    def launched_for(self, kernel):
        process = self.process(kernel[2])
        found = self.launch.get((process, kernel[6]))
        time_ns, tid = (found[1], found[2]) if found else (kernel[0], None)
        best = None
        for start, end, gid, name in self.ranges:
            if self.process(gid) == process and start <= time_ns <= end and self.marker(name):
                key = (gid & 0xffffff != tid, end - start, -start)
                if best is None or key <= best[0]:
                    best = (key, self.marker(name))
        return best[1] if best else (None, None)

    def streams(self):
        """(pid, stream) -> its kernels, clipped: (start, end, communicates, kernel)."""
        out = {}
        for kernel in self.kernels:
            process = self.process(kernel[2])
            if process not in self.window:
                continue
            first, last = self.window[process]
            start, end = max(kernel[0], first), min(kernel[1], last)
            if start < end:
                name = self.texts.get(kernel[7]) or self.texts.get(kernel[8]) or ""
                out.setdefault((process, kernel[3], kernel[4], kernel[5]), []).append(
                    (start, end, "nccl" in name.lower(), kernel))
        return out

    def stream_rows(self):
        out = []
        for (process, device, _, stream), kernels in sorted(self.streams().items()):
            comm, comp = ([k for k in kernels if k[2] is c] for c in (True, False))
            purposes = {self.launched_for(k[3])[1] or "unknown" for k in comm}
            purpose = "compute" if comp else purposes.pop() if len(purposes) == 1 else "mixed"
            length = [sum(k[1] - k[0] for k in part) for part in (comm, comp)]
            out.append([process & 0xffffff, stream, len(comm), len(comp), *length, purpose,
                        self.ranks[process][0], device, length[0] if comp else 0])
        return out

    def overlap_rows(self):
        """Of each rank and stage, and behind them what is on streams that compute, and what no stage
        launched; cover is by device."""
        stages, cover = {}, {}
        streams = self.streams()
        for key, kernels in streams.items():
            cover.setdefault(key[:2], []).extend(k[:2] for k in kernels if not k[2])
        for key, kernels in streams.items():
            alone = all(k[2] for k in kernels)
            for k in (k for k in kernels if k[2]):
                stage = self.launched_for(k[3])[0] if alone else "(compute stream)"
                stages.setdefault((key[0], 2 if not stage else not alone, stage or ""),
                                  {}).setdefault(key[:2], []).append(k[:2])
        out = []
        for (process, _, stage), devices in sorted(stages.items()):
            each = [(k, cover[device]) for device, of in devices.items() for k in of]
            free = [exposed([k], c) for k, c in each]
            total = sum(e - s for (s, e), _ in each)
            parts = [100 * (e - s - f) / (e - s) for ((s, e), _), f in zip(each, free)]
            out.append([process & 0xffffff, stage, sum(free), 100 * (total - sum(free)) / total,
                        min(parts), max(parts), self.ranks[process][0], *self.window[process],
                        sum(exposed(of, cover[device]) for device, of in devices.items()), total])
        return out


def exposed(kernels, cover):
    """Time in some kernel and in no stretch of cover: from edge to edge."""
    edges = sorted({t for pair in kernels + [c for c in cover if any(
        c[0] < k[1] and c[1] > k[0] for k in kernels)] for t in pair})
    return sum(b - a for a, b in zip(edges, edges[1:])
               if any(s <= a and b <= e for s, e in kernels)
               and not any(s <= a and b <= e for s, e in cover))


@needs_cases
class Original(Case):
    def test_compat_is_the_original(self):
        tried = 0
        for name, query, args, directory, status, out in cases():
            done = subprocess.run([PROGRAM, "nsys", query, "--compat", *args], cwd=directory,
                                  capture_output=True, env=environment(), check=False)
            with self.subTest(name):
                if status == 0:
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, out, b""))
                else:
                    self.assertIn(done.returncode, (1, 2))
                    self.assertEqual(done.stdout, b"")
                    self.assertRegex(done.stderr, rb"^trawl: [^\n]+\n$")
            tried += 1
        self.assertGreater(tried, 50)

    def same(self, path, rows, want):
        self.assertEqual(len(rows), len(want), path)
        for row, wanted in zip(rows, want):
            for (key, cell), value in zip(row.items(), wanted):
                if isinstance(value, float):
                    self.assertAlmostEqual(float(cell), value, 9, (path, row))
                else:
                    self.assertEqual(cell, str(value), (path, key, row, wanted))

    def test_right_values(self):
        tried = 0
        for path in exports():
            name = path.parent.name
            if name in ("no_chunks", "missing_nvtx_table", "basic_8rank"):
                windows = [(0, 30000000)]  # no chunks; and as one of many for a large one
            else:
                windows = [None, (20000000, 21000000)]
            for window in windows:
                options = ["--start", window[0], "--end", window[1]] if window else []
                slow = Slow(path, window)
                for query, want in (("streams", slow.stream_rows()),
                                    ("overlap", slow.overlap_rows())):
                    done = trawl("nsys", query, path, "--format", "csv", *options)
                    with self.subTest(f"{name} {query} {window}"):
                        self.assertExit(done, 3 if len(slow.window) < len(slow.ranks) else 0)
                        self.same(path, rows_of(done), want)
                        tried += 1
        self.assertGreater(tried, 30)

    def test_a_rank_that_fails_is_named(self):
        done = trawl("nsys", "windows", CASES / "one_bad_rank/input.sqlite", "--format", "csv")
        self.assertExit(done, 3)
        self.assertIn("rank 1 (pid 41214) skipped", done.err)
        self.assertEqual([r["rank"] for r in rows_of(done)], ["0"])

    def test_same_bytes_for_any_number_of_threads(self):
        for path in exports()[:4]:
            for query in ALL:
                for more in ((), ("--compat",)):
                    runs = {(d.out, d.err, d.rc) for d in (
                        trawl("nsys", query, path, "-j", n, *more) for n in (1, 2, 5))}
                    self.assertEqual(len(runs), 1, (path, query))

    def test_formats(self):
        path = CASES / "basic_8rank/input.sqlite"
        for query in ALL:
            table = rows_of(trawl("nsys", query, path, "--format", "csv"))
            (document,) = json.loads(
                trawl("nsys", query, path, "--format", "json").out)["tables"]
            self.assertEqual([c["id"] for c in document["columns"]], list(table[0]))
            self.assertEqual([["" if v is None else v if isinstance(v, str) else f"{v!r}" for v in r]
                              for r in document["rows"]], [list(r.values()) for r in table])
            for width in (80, 140):
                done = trawl("nsys", query, path, env=environment(COLUMNS=str(width)))
                self.assertExit(done, 0)
                self.assertLessEqual(max(map(len, done.out.splitlines())), width, query)
            self.assertIn("| pid |", trawl("nsys", query, path, "--format", "markdown").out)

    def test_four_questions(self):
        """The command lines of docs/CLI.md answer what they promise."""
        path = CASES / "basic_8rank/input.sqlite"
        slow = [r for r in Slow(path).overlap_rows() if r[1].startswith("stage")]
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/CLI.md").read_text()
        lines = re.findall(r"^\| .*\? \| `(trawl nsys [^`]*)`", page, re.M)
        self.assertEqual(len(lines), 4)
        outs = [subprocess.run(["sh", "-c", line.replace("\\|", "|").replace("FILE", str(path))],
                               env={**environment(), "PATH": f"{PROGRAM.parent}:/usr/bin:/bin"},
                               capture_output=True, text=True, check=True).stdout for line in lines]
        hidden = {stage: 100 * (1 - sum(r[2] for r in slow if r[1] == stage)
                                / sum(r[10] for r in slow if r[1] == stage))
                  for stage in {r[1] for r in slow}}
        for stage, percent in hidden.items():
            self.assertRegex(outs[0], rf"(?m)^{stage} +8 .* {percent:.2f} ")
        self.assertEqual(outs[1].split(",")[0], min(hidden, key=hidden.get))
        self.assertEqual([r.split()[:2] for r in outs[2].splitlines()[3:5]],
                         [["0", "4"], ["1", "4"]])
        self.assertEqual(outs[3].split(",")[:2],
                         [str(v) for v in max(slow, key=lambda r: r[2])[:2]])


class Export(Case):
    def export(self, name="a.sqlite"):
        path = self.tmp / name
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid, textId)")
        gid = 1 << 48 | 7 << 24
        for start, end, text in ((0, 99, "rank=0; pp=0/1 dp=0/1 cp=0/1 ep=0/1; mbs=1 seq=8"),
                                 (10, 20, "forward chunk 0 backward chunk 0")):
            db.execute("INSERT INTO NVTX_EVENTS VALUES(?, ?, 59, ?, ?, NULL)",
                       (start, end, text, gid))
        db.commit()
        db.close()
        return path


class Usage(Export):
    def test_mistakes(self):
        path = self.export()
        for args, message in (
                ((), "missing QUERY argument"), (("bars", path), "unknown query 'bars'"),
                (("setup",), "missing FILE argument"),
                (("setup", path, path), "more than one FILE argument"),
                (("windows", path, "--start", 5), "--start needs --end"),
                (("windows", path, "--end", 5), "--end needs --start"),
                (("windows", path, "--start", 5, "--end", 4), "before --start"),
                (("setup", path, "--rank", 4), "no rank 4; ranks: 0"),
                (("setup", path, "--rules", "megatroon"), "presets: pithtrain, megatron"),
                (("setup", path, "--rules", "nemo", "--compat"), "--compat excludes --rules"),
                (("rules", "megatroon"), "presets: pithtrain, megatron")):
            done = trawl("nsys", *args)
            with self.subTest(str(args)):
                self.assertExit(done, 2)
                self.assertIn(message, done.err)
                self.assertEqual((done.out, done.err.count("\n")), ("", 1))

    def test_files_that_are_no_exports(self):
        self.write("", "empty")
        self.write("no database\n" * 50, "text")
        for name in ("absent", "empty", "text"):
            for more in ((), ("--compat",)):
                done = trawl("nsys", "setup", self.tmp / name, *more)
                self.assertExit(done, 1)
                self.assertRegex(done.err, f"^trawl: .*{name}: [^\n]+\n$")
        self.assertFalse((self.tmp / "absent").exists())

    def test_rules(self):
        path = self.export()
        rules = trawl("nsys", "rules", "pithtrain")
        self.assertExit(rules, 0)
        mine = self.write(rules.out.replace("^rank=([0-9]+); .*pp=[0-9]+/[0-9]+",
                                            "mbs=([0-9]+)"), "mine.tsv")
        done = trawl("nsys", "setup", path, "--rules", mine, "--format", "csv")
        self.assertExit(done, 0)
        self.assertEqual([r["rank"] for r in rows_of(done)], ["1"])
        bad = self.write("label\t^rank=([0-9]+)\nwindow\t(\n", "bad.tsv")
        done = trawl("nsys", "setup", path, "--rules", bad)
        self.assertExit(done, 1)
        self.assertIn("bad.tsv:2: ", done.err)
        self.assertEqual(len(rows_of(trawl("nsys", "rules", "--format", "csv"))), 5)

    def test_strict(self):
        path = self.export()
        db = sqlite3.connect(path)
        db.execute("INSERT INTO NVTX_EVENTS VALUES('soon', 5, 59, 'x', 1, NULL)")
        db.commit()
        self.assertExit(trawl("nsys", "windows", path), 3)
        done = trawl("nsys", "windows", path, "--strict")
        self.assertExit(done, 1)
        self.assertEqual(done.out, "")


class Reports(Export):
    """Reports (.nsys-rep) with a program that plays nsys."""

    def nsys(self, script):
        folder = self.tmp / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / "nsys"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        temporary = self.tmp / "temporary"
        temporary.mkdir(exist_ok=True)
        return {**environment(), "PATH": f"{folder}:/usr/bin:/bin", "TMPDIR": str(temporary)}

    def left(self):
        return list((self.tmp / "temporary").iterdir())

    COPY = 'for a; do case $a in --output=*) out=${a#--output=};; esac; done\n' \
           'printf "%s\\n" "$@" > "$out.args"; mv "$out.args" "$(dirname "$0")/args"\n' \
           'echo chatter; cp "$a" "$out"\n'

    def test_exported_first(self):
        self.export("it's a $(report).nsys-rep")
        path = self.tmp / "it's a $(report).nsys-rep"
        done = trawl("nsys", "windows", path, "--format", "csv", env=self.nsys(self.COPY))
        self.assertExit(done, 0)
        self.assertEqual(rows_of(done)[0]["start"], "10")
        self.assertIn("chatter", done.err)
        args = (self.tmp / "bin/args").read_text().splitlines()
        self.assertEqual(args[:3], ["export", "--type=sqlite", "--force-overwrite=true"])
        self.assertEqual(args[4], str(path))
        self.assertEqual(self.left(), [])

    def test_no_nsys(self):
        path = self.write("x", "a.qdrep")
        env = {**self.nsys(""), "PATH": "/nonexistent"}
        for command in (("nsys", "setup"), ("report",), ("check",), ("analyze", "--no-plots")):
            done = trawl(*command, path, env=env)
            self.assertExit(done, 1)
            self.assertIn("nsys export --type=sqlite", done.err)
            self.assertEqual(done.err.count("\n"), 1)
            self.assertEqual(self.left(), [])

    def test_failing_nsys(self):
        path = self.write("x", "a.nsys-rep")
        for script, message in (("echo no >&2; exit 3", "failed with status 3"),
                                ("exit 0", "wrote no file"), ("kill -9 $$", "signal 9")):
            done = trawl("nsys", "setup", path, env=self.nsys(script))
            self.assertExit(done, 1)
            self.assertIn(message, done.err)
            self.assertEqual(self.left(), [])

    def test_interrupted(self):
        path = self.write("x", "a.nsys-rep")
        env = self.nsys('for a; do case $a in --output=*) out=${a#--output=};; esac; done\n'
                        'echo x > "$out"; echo $$ > "$(dirname "$0")/pid"; exec sleep 60\n')
        process = subprocess.Popen([PROGRAM, "nsys", "setup", path], env=env)
        pid = self.tmp / "bin/pid"
        for _ in range(500):
            if pid.exists() and pid.read_text().strip():
                break
            time.sleep(0.01)
        self.assertEqual(len(self.left()), 1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), -signal.SIGTERM)
        self.assertEqual(self.left(), [])
        for _ in range(500):
            # It may stay as a zombie where nobody takes over what lost its parent.
            stat = pathlib.Path(f"/proc/{pid.read_text().strip()}/stat")
            try:
                state = stat.read_text().rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                break
            if state in "ZX":
                break
            time.sleep(0.01)
        else:
            self.fail("nsys goes on")

    OUT = "for a; do case $a in --output=*) out=${a#--output=};; esac; done\n"

    def test_nsys_that_writes_something_else(self):
        """A directory, a pipe: none is a file to be read; and all of it goes."""
        path = self.write("x", "a.nsys-rep")
        for script in ('mkdir "$out"; echo x > "$out/y"', 'mkfifo "$out"', 'ln -s /dev/zero "$out"'):
            for command in (("nsys", "setup"), ("check",)):
                done = trawl(*command, path, env=self.nsys(self.OUT + script), timeout=20)
                self.assertExit(done, 1)
                self.assertIn("a.nsys-rep: nsys export wrote no file", done.err)
                self.assertEqual(self.left(), [])

    def test_nsys_that_writes_more_files(self):
        path = self.export("a.nsys-rep")
        script = self.OUT + 'mkdir "$(dirname "$out")/d"; echo > "$(dirname "$out")/d/e"; cp "$a" "$out"'
        self.assertExit(trawl("nsys", "setup", path, env=self.nsys(script)), 0)
        self.assertEqual(self.left(), [])

    def test_interrupted_with_what_nsys_started(self):
        path = self.write("x", "a.nsys-rep")
        env = self.nsys('sleep 60 &\necho $! > "$(dirname "$0")/pid"\nwait\n')
        process = subprocess.Popen([PROGRAM, "nsys", "setup", path], env=env)
        pid = self.tmp / "bin/pid"
        for _ in range(500):
            if pid.exists() and pid.read_text().strip():
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), -signal.SIGINT)
        for _ in range(500):
            status = pathlib.Path(f"/proc/{int(pid.read_text())}/stat")
            # One that nobody waits for has ended, too.
            if not status.exists() or " Z " in status.read_text():
                break
            time.sleep(0.01)
        else:
            self.fail("what nsys started goes on")

    def test_no_place_for_the_export(self):
        path = self.write("x", "a.nsys-rep")
        done = trawl("check", path, env={**self.nsys("exit 0"), "TMPDIR": "/nonexistent"})
        self.assertExit(done, 1)
        self.assertRegex(done.err, "a.nsys-rep: .*/nonexistent/trawl-.*TMPDIR")

    def test_nsys_that_cannot_run(self):
        path = self.write("x", "a.nsys-rep")
        env = self.nsys("exit 0")
        (self.tmp / "bin/nsys").chmod(0o644)
        done = trawl("nsys", "setup", path, env=env)
        self.assertExit(done, 1)
        self.assertRegex(done.err, "a.nsys-rep: cannot run nsys.*Permission denied")


if __name__ == "__main__":
    unittest.main()
