"""Loading and reporting on a large generated trace, against other readers."""
import re
import shutil
import subprocess
import sys

from measuring import Bench, run

PYTHON_BYTES = 100 << 20
ANALYZE_BYTES = 60_000_000
# Operators with shapes of their own, each a row of the tables; four times as many take four times as long.
FEW_SHAPES, MANY_SHAPES = 10_000, 40_000
# What any trace takes counts for little from this size on.
LARGE_BYTES = 500_000_000
REPORT_MEMORY, REPORT_MEMORY_OF_SMALLER = 0.40, 0.45
SPIN_FLOOR = 1.8

SPIN = ("import time,sys\nb=time.perf_counter()\nn=0\n"
        "while n<6000000: n+=1\nprint(time.perf_counter()-b)")
JSON_LOADS = ("import json,sys,time\nt=open(sys.argv[1],'rb').read()\nb=time.perf_counter()\n"
              "json.loads(t)\nprint(time.perf_counter()-b)")


def load(trawl, trace, threads):
    """The load alone, as trawl itself times it: the trace with all its arguments."""
    sample = run([trawl, "check", trace, "--timing", f"-j{threads}"])
    match = re.search(r"load_seconds=([\d.]+) peak_rss_bytes=(\d+)", sample.err)
    if not match:
        sys.exit(f"bench: no timing from {trawl} check --timing:\n{sample.err[-500:]}")
    sample.seconds = float(match[1])
    # From the program and from the system: the larger one counts.
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


def write_shapes(path, count):
    """A trace of that many products, no two of the same shapes, each with its launch and kernel."""
    with open(path, "w") as out:
        out.write('{"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[\n')
        for i in range(1, count + 1):
            out.write(f"""{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{3 * i},"dur":2,
"args":{{"External id":{i},"Input Dims":[[{i},2],[2,{i}]],"Input type":["float","float"]}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{3 * i}.5,"dur":1,
"args":{{"External id":{i},"correlation":{i}}}}},
{{"ph":"X","cat":"kernel","name":"gemm_{i}","pid":0,"tid":7,"ts":{3 * i + 2},"dur":0.5,
"args":{{"device":0,"stream":7,"correlation":{i}}}}}{"," if i < count else "]}"}\n""")


def spin():
    """Speed-up of two processes that only count over one: what two threads can gain here."""
    def seconds(count):
        begin = [subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE)
                 for _ in range(count)]
        return max(float(p.communicate()[0]) for p in begin)
    one = min(seconds(1) for _ in range(2))
    two = min(seconds(2) for _ in range(2))
    return 2 * one / two


class Traces(Bench):
    HEAD = ["measurement", "seconds", "MB/s of JSON", "peak MB"]
    MARKS = ("<!-- measured: written by bench/run.py --markdown -->", "<!-- end of measured -->")

    def __init__(self, options, place):
        super().__init__(options, place)
        self.tracegen = self.build / "tracegen"
        self.simdjson = self.build / "bench/simdjson_load"
        self.need(self.trawl, self.tracegen, self.simdjson)
        self.spins = []

    def make(self):
        """The traces: the large one, compressed too, and one that Python can take."""
        self.trace = self.place / "large.json"
        self.small = self.place / "small.json"
        self.middle = self.place / "middle.json"
        self.gz = self.place / "large.json.gz"
        self.few, self.many = self.place / "few.json", self.place / "many.json"
        write_shapes(self.few, FEW_SHAPES)
        write_shapes(self.many, MANY_SHAPES)
        for path, size in ((self.trace, self.options.size), (self.small, PYTHON_BYTES),
                           (self.middle, ANALYZE_BYTES)):
            run([self.tracegen, "--kind", "train", "--seed", "1", "--size", size, "-o", path])
        with open(self.gz, "wb") as out:
            subprocess.run(["gzip", "-6", "-c", str(self.trace)], stdout=out, check=True)
        self.bytes = self.trace.stat().st_size

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
            "path csv -j1": lambda: self.command("path", self.trace, out, "--no-xlsx", "-j1"),
            "report csv, middle": lambda: self.command("report", self.middle, out, "--no-xlsx", "-j1"),
            "path csv, middle": lambda: self.command("path", self.middle, out, "--no-xlsx", "-j1"),
            "report, middle": lambda: self.command("report", self.middle, out),
            "analyze": lambda: self.command("analyze", self.middle, out),
            "analyze, few": lambda: self.command("analyze", self.few, out),
            "analyze, many": lambda: self.command("analyze", self.many, out),
        }
        self.spins.append(spin())
        self.run_round(number, timed)

    def command(self, name, trace, out, *options):
        shutil.rmtree(out, ignore_errors=True)
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
        self.warm(self.trace, self.gz, self.small, self.middle, self.few, self.many)
        for n in range(1, self.options.rounds + 1):
            self.round(n)
        self.spins.append(spin())

    def rate(self, name):
        inputs = {"json.loads": self.small, "report, middle": self.middle, "analyze": self.middle,
                  "report csv, middle": self.middle, "path csv, middle": self.middle,
                  "analyze, few": self.few, "analyze, many": self.many}
        return inputs.get(name, self.trace).stat().st_size / self.best[name].seconds / 1e6

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
               b["report"].peak / self.bytes, "<=",
               REPORT_MEMORY if self.bytes >= LARGE_BYTES else REPORT_MEMORY_OF_SMALLER, "")
        yield ("report with CSV files to its load, one thread each",
               b["report csv -j1"].seconds / b["load -j1"].seconds, "<=", 1.5, "")
        yield ("report with CSV files to its load, two threads each",
               b["report csv -j2"].seconds / b["load -j2"].seconds, "<=", 1.5, "")
        yield ("two threads to one on .json", b["load -j1"].seconds / b["load -j2"].seconds, ">=",
               1.6, "" if fair else f"two counting processes gain {max(self.spins):.2f}x, "
                                    f"below {SPIN_FLOOR}x")
        yield ("path with CSV files to report with them, one thread each",
               b["path csv -j1"].seconds / b["report csv -j1"].seconds, "<=", 1.3, "")
        yield ("memory that path needs more than report, to the JSON",
               (b["path csv -j1"].peak - b["report csv -j1"].peak) / self.bytes, "<=", 0.15, "")
        yield ("path beyond report, 60 MB, seconds of processor time",
               b["path csv, middle"].cpu - b["report csv, middle"].cpu, "<=", 0.05, "")
        yield ("analyze with its charts to report, 60 MB",
               b["analyze"].seconds / b["report, middle"].seconds, "<=", 1.5, "")
        yield ("the same, processor time", b["analyze"].cpu / b["report, middle"].cpu, "<=", 1.5, "")
        yield (f"analyze of {MANY_SHAPES:,} shapes to that of {FEW_SHAPES:,}, processor time",
               b["analyze, many"].cpu / b["analyze, few"].cpu, "<=", 5, "")

    def measurements(self):
        rows = [("trawl, one thread", "load -j1"), ("trawl, two threads", "load -j2"),
                ("trawl, .json.gz", "load .gz"),
                ("trawl report, CSV files, one thread", "report csv -j1"),
                ("trawl report, CSV files, two threads", "report csv -j2"),
                ("trawl report, CSV files and workbook", "report"),
                ("trawl path, CSV files, one thread", "path csv -j1"),
                ("trawl report, CSV files, one thread, 60 MB", "report csv, middle"),
                ("trawl path, CSV files, one thread, 60 MB", "path csv, middle"),
                ("simdjson on-demand, huge pages", "simdjson"), ("igzip -dc", "igzip"),
                ("python json.loads, 100 MB", "json.loads"),
                ("trawl report, 60 MB", "report, middle"),
                ("trawl analyze, 60 MB", "analyze"),
                (f"trawl analyze, {FEW_SHAPES:,} operators with shapes of their own",
                 "analyze, few"),
                (f"trawl analyze, {MANY_SHAPES:,} such operators", "analyze, many")]
        for what, name in rows:
            s = self.best[name]
            yield what, f"{s.seconds:.3f}", f"{self.rate(name):.0f}", f"{s.peak / 1e6:.0f}"

    def machine(self):
        return f"{super().machine()}, simdjson kernel {self.best['simdjson'].kernel}"

    def description(self):
        return (f"{self.bytes / 1e6:.1f} MB of JSON, {self.best['simdjson'].events:,} events, "
                f"{self.gz.stat().st_size / 1e6:.1f} MB as .gz; best of {self.options.rounds} "
                f"rounds; two counting processes gain {min(self.spins):.2f}-"
                f"{max(self.spins):.2f}x; "
                f"simdjson's second pass, over memory that it has touched: "
                f"{self.best['simdjson'].second_pass:.3f} s")
