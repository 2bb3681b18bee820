#!/usr/bin/env python3
"""Measures loading and reporting on a large generated trace, against other readers, and compares
the ratios with their targets. Exit status 1 when a target is missed.

usage: bench/run.py [--size 1G] [--rounds 5] [--quick] [--build build/release] [--keep DIR]
                    [--markdown FILE]

Everything is measured in one run: each round runs every program once, so that a busy moment of the
machine hits all alike, and the best of the rounds counts. Absolute rates are those of this machine;
only the ratios are judged. --quick: 200 MB, three rounds.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON_BYTES = 100 << 20
ANALYZE_BYTES = 60_000_000
SPIN_FLOOR = 1.8

SPIN = ("import time,sys\nb=time.perf_counter()\nn=0\n"
        "while n<6000000: n+=1\nprint(time.perf_counter()-b)")
JSON_LOADS = ("import json,sys,time\nt=open(sys.argv[1],'rb').read()\nb=time.perf_counter()\n"
              "json.loads(t)\nprint(time.perf_counter()-b)")


class Sample:
    """A finished program: wall seconds, peak memory, what it printed."""

    def __init__(self, seconds, peak, out, err):
        self.seconds, self.peak, self.out, self.err = seconds, peak, out, err


def run(command, env=None, discard=False):
    """Runs a program to its end; wall time and, by wait4, its own peak memory."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL if discard else out, stderr=err,
                                   env={**os.environ, "LC_ALL": "C", **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for f in (out, err):
            f.seek(0)
            texts.append(f.read().decode("utf-8", "replace"))
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(str(c) for c in command)}: exit {process.returncode}\n"
                 f"{texts[1][-2000:]}")
    return Sample(seconds, usage.ru_maxrss * 1024, *texts)


def load(trawl, trace, threads):
    """The load alone, as trawl itself times it: the trace with all its arguments."""
    sample = run([trawl, "check", trace, "--timing", f"-j{threads}"])
    match = re.search(r"load_seconds=([\d.]+) peak_rss_bytes=(\d+)", sample.err)
    if not match:
        sys.exit(f"bench: no timing from {trawl} check --timing:\n{sample.err[-500:]}")
    sample.seconds = float(match[1])
    # What the program says of itself and what the system says: the larger one counts.
    sample.peak = max(sample.peak, int(match[2]))
    return sample


def simdjson(program, trace):
    """What one run pays, on huge pages: the first pass. The second, on memory that it has touched
    before, is kept for comparison."""
    sample = run([program, trace, "2"], env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    fields = dict(re.findall(r"(\w+)=(\S+)", sample.out))
    sample.seconds, sample.second_pass = float(fields["first_seconds"]), float(fields["seconds"])
    sample.events, sample.kernel = int(fields["events"]), fields["kernel"]
    return sample


def spin():
    """Speed-up of two processes that only count over one: what two threads can gain here."""
    def seconds(count):
        begin = [subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE)
                 for _ in range(count)]
        return max(float(p.communicate()[0]) for p in begin)
    one = min(seconds(1) for _ in range(2))
    two = min(seconds(2) for _ in range(2))
    return 2 * one / two


class Bench:
    def __init__(self, options, place):
        self.options, self.place = options, place
        build = options.build.absolute()
        self.trawl, self.tracegen = build / "trawl", build / "tracegen"
        self.simdjson = build / "bench/simdjson_load"
        for p in (self.trawl, self.tracegen, self.simdjson):
            if not p.exists():
                sys.exit(f"bench: {p} is not built (./dev bench builds it)")
        self.best, self.spins = {}, []

    def keep(self, name, sample):
        """Of each measurement the fastest run counts, and the largest memory."""
        old = self.best.get(name)
        if old is None:
            self.best[name] = sample
            return
        peak = max(old.peak, sample.peak)
        second_pass = min(getattr(old, "second_pass", 0), getattr(sample, "second_pass", 0))
        if sample.seconds < old.seconds:
            self.best[name] = sample
        self.best[name].peak, self.best[name].second_pass = peak, second_pass

    def make(self):
        """The traces: the large one, compressed too, and one that Python can take."""
        self.trace = self.place / "large.json"
        self.small = self.place / "small.json"
        self.middle = self.place / "middle.json"
        self.gz = self.place / "large.json.gz"
        for path, size in ((self.trace, self.options.size), (self.small, PYTHON_BYTES),
                           (self.middle, ANALYZE_BYTES)):
            run([self.tracegen, "--kind", "train", "--seed", "1", "--size", size, "-o", path])
        with open(self.gz, "wb") as out:
            subprocess.run(["gzip", "-6", "-c", str(self.trace)], stdout=out, check=True)
        self.bytes = self.trace.stat().st_size
        self.small_bytes = self.small.stat().st_size

    def warm(self):
        for path in (self.trace, self.gz, self.small, self.middle):
            with open(path, "rb") as f:
                while f.read(1 << 20):
                    pass

    def round(self, number):
        out = self.place / "report"
        timed = {
            "load -j1": lambda: load(self.trawl, self.trace, 1),
            "load -j2": lambda: load(self.trawl, self.trace, 2),
            "simdjson": lambda: simdjson(self.simdjson, self.trace),
            "load .gz": lambda: load(self.trawl, self.gz, 2),
            "igzip": lambda: run([self.igzip, "-dc", self.gz], discard=True),
            "report csv -j1": lambda: self.report(out, "--no-xlsx", "-j1"),
            "report csv -j2": lambda: self.report(out, "--no-xlsx", "-j2"),
            "report": lambda: self.report(out, "-j2"),
            "json.loads": self.python,
            "report, middle": lambda: self.command("report", self.middle, out),
            "analyze": lambda: self.command("analyze", self.middle, out),
            "analyze --no-plots": lambda: self.command("analyze", self.middle, out, "--no-plots"),
        }
        self.spins.append(spin())
        # Another order each time: what ran before leaves memory warm or cold.
        names = list(timed)
        for name in names[number % len(names):] + names[:number % len(names)]:
            shutil.rmtree(out, ignore_errors=True)
            self.keep(name, timed[name]())
        print(f"round {number}: " + ", ".join(f"{n} {s.seconds:.2f} s"
                                              for n, s in self.best.items()), flush=True)

    def command(self, name, trace, out, *options):
        return run([self.trawl, name, trace, "-o", out, "-q", *options], discard=True)

    def report(self, out, *options):
        return self.command("report", self.trace, out, *options)

    def python(self):
        sample = run([sys.executable, "-c", JSON_LOADS, self.small])
        sample.seconds = float(sample.out)
        return sample

    def measure(self):
        self.igzip = shutil.which("igzip") or sys.exit("bench: igzip is not installed (isal)")
        self.make()
        self.warm()
        for n in range(1, self.options.rounds + 1):
            self.round(n)
        self.spins.append(spin())

    def rate(self, name):
        size = self.small_bytes if name == "json.loads" else self.bytes
        if name in ("report, middle", "analyze", "analyze --no-plots"):
            size = self.middle.stat().st_size
        return size / self.best[name].seconds / 1e6

    def targets(self):
        """(what, value, at least or at most, target, note)."""
        b = self.best
        # Like every measurement, the spin test counts by its best round.
        fair = max(self.spins) >= SPIN_FLOOR
        yield ("load, all arguments, to simdjson on-demand with file load",
               self.rate("load -j1") / self.rate("simdjson"), ">=", 1.0, "")
        yield ("load to python json.loads (100 MB)",
               self.rate("load -j1") / self.rate("json.loads"), ">=", 25, "")
        yield ("load of .gz to igzip -dc > /dev/null",
               b["igzip"].seconds / b["load .gz"].seconds, ">=", 0.35, "")
        yield ("peak memory of the load to the JSON, one thread",
               b["load -j1"].peak / self.bytes, "<=", 0.35, "")
        yield ("peak memory of the load to the JSON, two threads",
               b["load -j2"].peak / self.bytes, "<=", 0.35, "")
        yield ("peak memory of the whole report to the JSON",
               b["report"].peak / self.bytes, "<=", 0.5, "")
        yield ("report with CSV files to its load, one thread each",
               b["report csv -j1"].seconds / b["load -j1"].seconds, "<=", 1.5, "")
        yield ("report with CSV files to its load, two threads each",
               b["report csv -j2"].seconds / b["load -j2"].seconds, "<=", 1.5, "")
        yield ("two threads to one on .json", b["load -j1"].seconds / b["load -j2"].seconds, ">=",
               1.6, "" if fair else f"two counting processes gain {max(self.spins):.2f}x, "
                                    f"below {SPIN_FLOOR}x")
        yield ("analyze to report, 60 MB, without pictures",
               b["analyze --no-plots"].seconds / b["report, middle"].seconds, "<=", 1.5, "")
        yield ("analyze to report, 60 MB, with the pictures that gnuplot draws",
               b["analyze"].seconds / b["report, middle"].seconds, "<=", 1.5, "")

    def verdicts(self):
        for what, value, sense, target, note in self.targets():
            met = value >= target if sense == ">=" else value <= target
            yield what, value, f"{sense} {target:g}", "skipped" if note else \
                "met" if met else "MISSED", note

    def measurements(self):
        rows = [("trawl, one thread", "load -j1"), ("trawl, two threads", "load -j2"),
                ("trawl, .json.gz", "load .gz"),
                ("trawl report, CSV files, one thread", "report csv -j1"),
                ("trawl report, CSV files, two threads", "report csv -j2"),
                ("trawl report, CSV files and workbook", "report"),
                ("simdjson on-demand, huge pages", "simdjson"), ("igzip -dc", "igzip"),
                ("python json.loads, 100 MB", "json.loads"),
                ("trawl report, 60 MB", "report, middle"),
                ("trawl analyze, 60 MB, without pictures", "analyze --no-plots"),
                ("trawl analyze, 60 MB", "analyze")]
        for what, name in rows:
            s = self.best[name]
            yield what, f"{s.seconds:.3f}", f"{self.rate(name):.0f}", f"{s.peak / 1e6:.0f}"

    def machine(self):
        model = "unknown processor"
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout
        return (f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux "
                f"{'.'.join(platform.release().split('.')[:2])}, "
                f"{compiler.splitlines()[0] if compiler else 'gcc unknown'}, Python "
                f"{platform.python_version()}, simdjson kernel {self.best['simdjson'].kernel}")

    def description(self):
        return (f"{self.bytes / 1e6:.1f} MB of JSON, {self.best['simdjson'].events:,} events, "
                f"{self.gz.stat().st_size / 1e6:.1f} MB as .gz; best of {self.options.rounds} "
                f"rounds; two counting processes gain {min(self.spins):.2f}-"
                f"{max(self.spins):.2f}x; "
                f"simdjson's second pass, over memory that it has touched: "
                f"{self.best['simdjson'].second_pass:.3f} s")


def table(head, rows):
    rows = [[str(c) for c in r] for r in rows]
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    for r in [head, *rows]:
        print("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip())
    print()


def markdown(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for r in rows:
        yield "| " + " | ".join(str(c) for c in r) + " |"


# What stands between these lines of the page is written here.
MARKS = ("<!-- measured: written by bench/run.py --markdown -->", "<!-- end of measured -->")
HEADS = (["measurement", "seconds", "MB/s of JSON", "peak MB"],
         ["ratio", "value", "target", "verdict"])


def write_markdown(path, bench, command):
    ratios = [(w, f"{v:.2f}", t, verdict + (f" ({note})" if note else ""))
              for w, v, t, verdict, note in bench.verdicts()]
    text = "\n".join([f"Machine: {bench.machine()}.", "",
                      f"Command: `{command}`. Input: {bench.description()}.", "",
                      *markdown(HEADS[0], bench.measurements()), "", *markdown(HEADS[1], ratios)])
    page = path.read_text() if path.exists() else f"{MARKS[0]}\n{MARKS[1]}\n"
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--size", default="1G")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    ap.add_argument("--keep", type=pathlib.Path, metavar="DIR",
                    help="make the traces here and leave them")
    ap.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = ap.parse_args(argv)
    if options.markdown:
        # Before minutes are spent: is there a place to write to?
        text = options.markdown.read_text() if options.markdown.exists() else "".join(MARKS)
        if any(m not in text for m in MARKS):
            ap.error(f"{options.markdown} has no lines {' and '.join(MARKS)}")
    if options.quick:
        options.size, options.rounds = "200M", 3
    return options


def main(argv):
    options = parse(argv)
    with tempfile.TemporaryDirectory(prefix="trawl-bench-") as temporary:
        place = options.keep or pathlib.Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        bench = Bench(options, place)
        bench.measure()
        print(f"\n{bench.machine()}\n{bench.description()}\n")
        table(HEADS[0], bench.measurements())
        verdicts = list(bench.verdicts())
        table(HEADS[1], [(w, f"{v:.2f}", t, f"{verdict} {note}".strip())
                         for w, v, t, verdict, note in verdicts])
        command = " ".join(["./dev bench", *argv])
        if options.markdown:
            write_markdown(options.markdown, bench, command)
        if options.json:
            options.json.write_text(json.dumps([{"ratio": w, "value": v, "target": t,
                                                 "verdict": s} for w, v, t, s, _ in verdicts],
                                               indent=1) + "\n")
    missed = [v for v in verdicts if v[3] == "MISSED"]
    print(f"{len(verdicts) - len(missed)} of {len(verdicts)} targets met or skipped")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
