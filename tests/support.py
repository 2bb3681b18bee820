"""What every test module shares: where the programs are, how to run them, how to read what they
wrote, and how to make small traces.

Environment: TRAWL_BUILD (build directory, default build/release), TRAWL_SHARED (given material,
default ../shared), TRAWL_SANITIZED (set when the build is instrumented: slower, fewer repeats),
TRAWL_FULL (set by the long run).
"""
import csv
import decimal
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from decimal import Decimal

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TRAWL_BUILD", ROOT / "build/release")).resolve()
TRAWL = BUILD / "trawl"
SHARED = pathlib.Path(os.environ.get("TRAWL_SHARED", ROOT / "../shared")).resolve()
SANITIZED = bool(os.environ.get("TRAWL_SANITIZED"))
FULL = bool(os.environ.get("TRAWL_FULL"))
# An instrumented program that finds something must not look like an ordinary failure (1).
SANITIZER_EXIT = 99
SLOWER = 8 if SANITIZED else 1

# Whoever runs the tests in the background has these ignored, and the programs with them.
for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.default_int_handler if ignored == signal.SIGINT
                      else signal.SIG_DFL)
csv.field_size_limit(1 << 28)
decimal.getcontext().prec = 60

TIMELINE_ROWS = {
    "total": "total_time", "busy": "busy_time", "compute": "computation_time",
    "comm": "total_comm_time", "memcpy": "total_memcpy_time",
    "exposed_comm": "exposed_comm_time", "exposed_memcpy": "exposed_memcpy_time",
    "idle": "idle_time",
}
QUALITY_CLASSES = {"lost", "defect", "repair", "note"}
# What a notice on stderr about a kind must say, in words a person would look for.
WORDS = {
    "truncated": r"truncat|\bends\b", "unreadable_event": r"skipped|left out|could not be read",
    "unreadable_stretch": r"skipped|unreadable|no JSON", "second_document": r"another|second",
    "compressed_truncated": r"truncat|\bends\b", "compressed_corrupt": r"corrupt|cannot be dec",
    "compressed_checksum": r"checksum|CRC", "gpu_time_lost": r"time 0|lost|zero",
    "gpu_no_duration": r"duration", "gpu_negative_duration": r"negative|end before",
    "gpu_no_start": r"start", "gpu_overflow": r"impossible|overflow", "gpu_open": r"never end",
    "kernel_overrun": r"runs? over|overrun", "kernel_before_launch": r"clock",
    "overrun_parent": r"end after|outlast|overrun", "control_character": r"control char",
    "bad_escape": r"escape", "bad_utf8": r"UTF-8", "unescaped_quote": r"quote",
    "not_a_number": r"NaN|Infinity|not.a.number|infinite", "malformed_value": r"\.\.\.|not quite JSON",
    "missing_comma": r"comma", "extra_comma": r"comma", "time_as_text": r"text",
    "trailing_bytes": r"behind|after|trailing|garbage", "trailing_text": r"behind|after|trailing",
    "nested_events": r"inside", "utf16": r"UTF-16", "compressed_twice": r"more than once|twice",
    "zlib_wrapper": r"zlib", "overflow": r"impossible|overflow|never ended",
}


def tracegen():
    """The trace generator: beside trawl, or in the release build."""
    for build in (BUILD, ROOT / "build/release"):
        if (build / "tracegen").exists():
            return build / "tracegen"
    return BUILD / "tracegen"


class Result:
    """A finished program: exit status, stdout and stderr as text, stdout as bytes."""

    def __init__(self, args, returncode, out, err):
        self.args, self.rc, self.raw = args, returncode, out
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

        # What was said, without file names: a name like truncated.json says nothing.
        self.words = self.err
        for a in sorted((str(a) for a in args[1:] if "/" in str(a)), key=len, reverse=True):
            self.words = self.words.replace(a, "FILE").replace(os.path.basename(a), "FILE")

    def lines(self, pattern="."):
        """Lines of stderr that match, file names left out."""
        return [x for x in self.words.splitlines() if re.search(pattern, x, re.I)]

    def __str__(self):
        return (f"{' '.join(str(a) for a in self.args)}\n  exit {self.rc}\n"
                f"  stdout: {self.out[-600:]!r}\n  stderr: {self.err[-1500:]!r}")


def environment(**extra):
    env = {k: v for k, v in os.environ.items()
           if k not in ("NO_COLOR", "SOURCE_DATE_EPOCH", "TRAWL_READ_BLOCK")}
    env.update(LC_ALL="C", TZ="UTC")
    env.update({k: str(v) for k, v in extra.items()})
    return env


def trawl(*args, stdin=None, timeout=60, env=None, cwd=None, **popen):
    """Runs trawl. `stdin` is bytes, an open file, or nothing."""
    command = [str(TRAWL), *[str(a) for a in args]]
    feed = {"input": stdin} if isinstance(stdin, (bytes, bytearray)) else \
        {"stdin": stdin if stdin is not None else subprocess.DEVNULL}
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    done = subprocess.run(command, timeout=timeout * SLOWER, env=env or environment(), cwd=cwd,
                          **feed, **popen)
    return Result(command, done.returncode, done.stdout or b"", done.stderr or b"")


def read_csv(path):
    """Rows of a CSV file as dicts of text; a missing file is None."""
    if not path.exists():
        return None
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    return [dict(zip(rows[0], r)) for r in rows[1:]] if rows else []


def number(text):
    """A cell as an exact number; an empty cell is None."""
    return Decimal(text) if text not in ("", None) else None


class Report(Result):
    """A finished `trawl report` with the directory that it wrote."""

    def __init__(self, result, directory):
        super().__init__(result.args, result.rc, result.raw, result.err.encode())
        self.dir = pathlib.Path(directory)
        self.csvs = self.dir / "perf_report_csvs"

    def table(self, name):
        rows = read_csv(self.csvs / f"{name}.csv")
        if rows is None:
            have = sorted(p.stem for p in self.csvs.glob("*.csv")) if self.csvs.exists() else []
            raise AssertionError(f"{name}.csv was not written (have: {', '.join(have)})\n{self}")
        return rows

    def has(self, name):
        return (self.csvs / f"{name}.csv").exists()

    def files(self):
        """Everything written, relative to the output directory."""
        if not self.dir.exists():
            return []
        return sorted(str(p.relative_to(self.dir)) for p in self.dir.rglob("*") if not p.is_dir())

    def timeline(self, device=None):
        """Row type -> microseconds, of the trace or of one device."""
        if device is None:
            rows = self.table("gpu_timeline")
        else:
            rows = [r for r in self.table("gpu_timeline_by_device") if r["device"] == str(device)]
        return {r["type"]: number(r["time ms"]) * 1000 for r in rows}

    def figures(self, device=None):
        rows = self.timeline(device)
        return {k: rows.get(v) for k, v in TIMELINE_ROWS.items()}

    def kernels(self):
        """Kernel name -> (count, sum, min, max) in microseconds over the whole kernel_summary."""
        out = {}
        for r in self.table("kernel_summary"):
            count = int(r["Kernel duration (µs)_count"])
            total, low, high = (number(r[f"Kernel duration (µs)_{c}"]) for c in
                                ("sum", "min", "max"))
            c, s, a, b = out.get(r["Kernel name"], (0, Decimal(0), low, high))
            out[r["Kernel name"]] = (c + count, s + total, min(a, low), max(b, high))
        return out

    def kernel_count(self):
        return sum(k[0] for k in self.kernels().values())

    def kernel_sum(self):
        return sum((k[1] for k in self.kernels().values()), Decimal(0))

    def ops(self):
        """Operation name -> (count, direct µs, subtree µs). Without rows there is no table."""
        out = {}
        for r in self.table("ops_summary") if self.has("ops_summary") else []:
            if r["name"] in out:
                raise AssertionError(f"ops_summary names {r['name']} twice")
            out[r["name"]] = (int(r["Count"]), number(r["total_direct_kernel_time_sum"]),
                              number(r["total_subtree_kernel_time_sum"]))
        return out

    def direct(self, name):
        """Direct kernel time (µs) of an operation; 0 where it has no row."""
        return self.ops().get(name, (0, Decimal(0), Decimal(0)))[1]

    def streams(self):
        return {(r["device"], r["stream"]) for r in self.table("streams")}

    def launches(self):
        return {r["launch"]: r for r in self.table("launches")}

    def reconciliation(self):
        return {r["quantity"]: int(r["time ns"]) for r in self.table("reconciliation")}

    def quality(self):
        return self.table("quality")

    def flaws(self):
        """Quality rows that are more than a note."""
        return [r for r in self.quality() if r["class"] != "note"]

    def counted(self, *kinds):
        """Sum of the counts of these kinds in the quality record."""
        return sum(int(r["count"]) for r in self.quality() if r["kind"] in kinds)

    def lost(self):
        return {r["kind"]: int(r["count"]) for r in self.quality() if r["class"] == "lost"}

    def notices(self, kind):
        """Lines of stderr about a kind."""
        return self.lines(rf"{WORDS[kind]}|\b{kind}\b")

    def places(self, kind):
        """Byte offsets that the notices about a kind name, and the record's first byte."""
        said = [int(n.replace(",", "")) for x in self.notices(kind)
                for n in re.findall(r"\bbyte (\d[\d,]*)", x)]
        first = [int(r["first byte"]) for r in self.quality()
                 if r["kind"] == kind and r["first byte"]]
        return said, first


def report(path, directory, *options, stdin=None, timeout=60, env=None, xlsx=False):
    """Runs `trawl report` into `directory` (made by it)."""
    extra = () if xlsx else ("--no-xlsx",)
    return Report(trawl("report", path, "-o", directory, *extra, *options, stdin=stdin,
                        timeout=timeout, env=env), directory)


# ---- small traces -----------------------------------------------------------------------------

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def event(ph, cat, name, pid, tid, ts, dur, args=None, **more):
    e = {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    e.update(more)
    if args is not None:
        e["args"] = args
    return {k: v for k, v in e.items() if v is not ABSENT}


ABSENT = object()


def op(name, ts, dur, pid=31, tid=32, cat="cpu_op", **args):
    return event("X", cat, name, pid, tid, ts, dur, args)


def launch(ts, dur, corr, name="cudaLaunchKernel", pid=31, tid=32, cat="cuda_runtime", **args):
    if corr is not None:
        args["correlation"] = corr
    return event("X", cat, name, pid, tid, ts, dur, args)


def kernel(name, ts, dur, corr=None, stream=7, device=0, cat="kernel", **args):
    args.update(device=device, stream=stream)
    if corr is not None:
        args["correlation"] = corr
    return event("X", cat, name, device, stream, ts, dur, args)


def copy(ts, dur, corr=None, stream=11, name="Memcpy HtoD (Pinned -> Device)", **args):
    return kernel(name, ts, dur, corr, stream, cat="gpu_memcpy", bytes=4096, **args)


def base_events():
    """The control: every variant that loses nothing must give BASE.

    compute [150,250) and [400,430); communication [200,300); copy [290,340):
    total 430-150 = 280, busy 190+30 = 220, exposed communication [250,300) = 50,
    exposed copy [300,340) = 40, idle [340,400) = 60.
    """
    return [
        op("aten::linear", 100, 40, **{"External id": 1, "Input Dims": [[8, 4], [4, 2]],
                                       "Input type": ["float", "float"]}),
        launch(110, 5, 1, **{"External id": 1}),
        op("c10d::allreduce_", 145, 20, **{"External id": 2}),
        launch(150, 5, 2, "cudaLaunchKernelExC", **{"External id": 2}),
        op("aten::copy_", 170, 20, **{"External id": 3}),
        launch(172, 9, 3, "cudaMemcpyAsync", **{"External id": 3}),
        op("aten::relu", 200, 10, **{"External id": 4}),
        launch(202, 4, 4, **{"External id": 4}),
        kernel("gemm_f32_64x64_tn", 150, 100, 1),
        kernel(NCCL, 200, 100, 2, stream=9),
        copy(290, 50, 3),
        kernel("void at::native::vectorized_elementwise_kernel<4, Relu>(int)", 400, 30, 4),
    ]


BASE = {"total": 280, "busy": 220, "compute": 130, "comm": 100, "memcpy": 50,
        "exposed_comm": 50, "exposed_memcpy": 40, "idle": 60}
# The same without its last kernel: the trace ends with the copy.
BASE_HEAD = {"total": 190, "busy": 190, "compute": 100, "comm": 100, "memcpy": 50,
             "exposed_comm": 50, "exposed_memcpy": 40, "idle": 0}
ONE = {"total": 50, "busy": 50, "compute": 50, "comm": 0, "memcpy": 0,
       "exposed_comm": 0, "exposed_memcpy": 0, "idle": 0}


def document(events, **top):
    """Text of a trace in the usual object form, one event a line."""
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Test GPU"}]}
    head.update(top)
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}," for k, v in head.items()]
    return "{\n" + "\n".join(lines) + '\n  "traceEvents": [\n' + join(events) + "\n  ]\n}\n"


def join(events):
    """Events, dicts or ready text, one a line with commas between."""
    return ",\n".join("  " + (e if isinstance(e, str) else json.dumps(e)) for e in events)


class Case(unittest.TestCase):
    """A test with a directory of its own and the assertions of this suite."""
    longMessage = True
    maxDiff = 4000

    def setUp(self):
        if not TRAWL.exists():
            self.fail(f"{TRAWL} is not built")
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="trawl-test-"))
        self.addCleanup(shutil.rmtree, self.tmp, True)
        self._runs = 0

    def write(self, data, name="trace.json"):
        path = self.tmp / name
        path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        return path

    def report(self, data, *options, name="trace.json", **keywords):
        """Reports on a trace given as a path, text, bytes or a list of events."""
        if isinstance(data, list):
            data = document(data)
        path = data if isinstance(data, pathlib.Path) else self.write(data, name)
        self._runs += 1
        rep = report(path, self.tmp / f"out{self._runs}", *options, **keywords)
        self.assertAlive(rep)
        return rep

    def assertAlive(self, result):
        """No crash: not by a signal, not by a sanitizer, no assertion."""
        self.assertGreaterEqual(result.rc, 0, f"died by signal {-result.rc}\n{result}")
        self.assertNotIn(result.rc, (SANITIZER_EXIT, 134, 139), f"crashed\n{result}")
        self.assertNotRegex(result.err, r"(Sanitizer:|runtime error:|Assertion .* failed)",
                            str(result))

    def assertExit(self, result, *codes):
        self.assertIn(result.rc, codes, str(result))

    def assertFigures(self, rep, figures, device=None):
        """Times of gpu_timeline in microseconds, exactly."""
        got = rep.figures(device)
        want = {k: Decimal(str(v)) for k, v in figures.items()}
        self.assertEqual({k: str(got[k]) for k in want if got[k] != want[k]},
                         {k: str(want[k]) for k in want if got[k] != want[k]}, str(rep))
        self.assertPercents(rep)

    def assertPercents(self, rep):
        """percent = time / total * 100 to the last digits of a double."""
        rows = rep.table("gpu_timeline")
        total = next(number(r["time ms"]) for r in rows if r["type"] == "total_time")
        for r in rows if total else []:
            want = float(number(r["time ms"]) * 100 / total)
            self.assertAlmostEqual(float(r["percent"]), want, delta=1e-9, msg=str(r))

    def assertTimelineCloses(self, rep):
        f = rep.figures()
        self.assertEqual(f["compute"] + f["exposed_comm"] + f["exposed_memcpy"], f["busy"])
        self.assertEqual(f["busy"] + f["idle"], f["total"])

    def assertReconciles(self, rep):
        """op rows + communication + copies + unlinked - overlap = busy; busy + idle = total."""
        q = rep.reconciliation()
        self.assertEqual(q["op_rows"] + q["communication"] + q["copies"] + q["unlinked"]
                         - q["overlap"], q["busy"], f"does not close: {q}")
        self.assertEqual(q["busy"] + q.get("other_work", 0) + q["idle"], q["total"], f"does not close: {q}")
        self.assertTrue(all(v >= 0 for v in q.values()), f"negative: {q}")
        f = rep.figures()
        if f["idle"] is not None:
            self.assertEqual([q["busy"], q["idle"], q["total"]],
                             [f["busy"] * 1000, f["idle"] * 1000, f["total"] * 1000])

    def assertClean(self, rep):
        """Nothing was wrong with the input, and nothing is said to be."""
        self.assertExit(rep, 0)
        self.assertEqual(rep.flaws(), [], str(rep))
        self.assertEqual(rep.lines(r"warning|repair|lost|skipped|defect|\bbyte \d"), [], str(rep))

    def assertNotice(self, rep, kind, where=None, count=None):
        """The kind is in the record with its count, and on stderr in one line that has the count
        and the place. `where`: first and last byte that the place may be (one off is fine)."""
        rows = [r for r in rep.quality() if r["kind"] == kind]
        self.assertEqual(len(rows), 1, f"want one row of {kind}\n{rep.quality()}\n{rep}")
        if count is not None:
            self.assertEqual(int(rows[0]["count"]), count, str(rows))
        lines = rep.notices(kind)
        self.assertEqual(len(lines), 1, f"want one notice of {kind}\n{rep}")
        self.assertRegex(lines[0], rf"\b{rows[0]['count']}\b", "a notice has its count")
        if where is not None:
            for named in rep.places(kind):
                self.assertTrue(any(where[0] - 1 <= n <= where[1] + 1 for n in named),
                                f"byte {named} is not within {where}\n{rep}")

    def assertOutputsSane(self, rep):
        """Valid UTF-8, no nan or inf, no raw control characters, classes that are known."""
        cells = re.compile(r"[-+]?(nan|inf|infinity)(\([^)]*\))?", re.I)
        for path in sorted(rep.dir.rglob("*")) if rep.dir.exists() else []:
            if path.suffix not in (".csv", ".json", ".md", ".html"):
                continue
            text = path.read_bytes().decode("utf-8")  # raises where it is not UTF-8
            self.assertNotRegex(text, r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", path.name)
            if path.suffix == ".csv":
                for row in read_csv(path):
                    bad = {k: v for k, v in row.items() if cells.fullmatch(v or "")}
                    self.assertEqual(bad, {}, f"{path.name}: {row}")
        rep.raw.decode("utf-8")
        for text in (rep.out, rep.err):
            self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", "control character")
        self.assertNotRegex(rep.out, r"(?i)(?<![\w:.])[-+]?(nan|inf)(?![\w:.])")
        if rep.has("quality"):
            for r in rep.quality():
                self.assertIn(r["class"], QUALITY_CLASSES, str(r))
                self.assertGreater(int(r["count"]), 0, str(r))

    def assertNothingWritten(self, rep):
        self.assertEqual(rep.files(), [], f"left behind after exit {rep.rc}\n{rep}")

    def assertOneLine(self, result, *words, file=None):
        """One line on stderr says what is the matter; it names the file, and has these words
        besides (regular expressions). Notices of the quality record may stand before it."""
        notice = re.compile(r": (lost|defect|repair|note) [a-z0-9_]+ \(\d")
        lines = [x for x in result.err.splitlines() if x.strip()]
        errors = [x for x in lines if not notice.search(x)]
        self.assertEqual(len(errors), 1, f"want one clear line\n{result}")
        self.assertEqual(errors, lines[-1:], f"want the error last\n{result}")
        if file is not None:
            self.assertIn(os.path.basename(file), errors[0], "does not name the file")
        for w in words:
            self.assertRegex(result.lines()[-1], w)
        self.assertEqual(result.out, "", "results on stdout after a failure")


def shared(*parts):
    """A path of the given material, or skips the test saying what is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        raise unittest.SkipTest(f"given material absent: {'/'.join(parts)} (TRAWL_SHARED)")
    return path


def load_module(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
