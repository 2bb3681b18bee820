"""Queries on a generated export of Nsight Systems, against a bare scan of the columns they need."""
import shutil
import sys

from measuring import Bench, run

# It is not judged, and takes as long as all else together.
REPORTS = 2

WHOLE = ("--start", "0", "--end", "9999999999999")
GENERATOR = "tests/gen/nsys_export.py"


class Exports(Bench):
    HEAD = ["measurement", "seconds", "seconds in user mode", "MB/s of the export", "peak MB"]
    MARKS = ("<!-- measured on exports: written by bench/run.py --markdown -->",
             "<!-- end of measured on exports -->")
    QUERIES = ("overlap", "streams")

    def __init__(self, options, place):
        super().__init__(options, place)
        self.scan = self.build / "bench/nsys_scan"
        self.need(self.trawl, self.scan)

    def make(self):
        self.export = self.options.export or self.place / "export.sqlite"
        if not self.options.export:
            run([sys.executable, self.options.root / GENERATOR, "-o", self.export, "--size",
                 self.options.export_size, "--ranks", "8", "--layers", "6"])
        self.bytes = self.export.stat().st_size

    def bare_scan(self):
        sample = run([self.scan, self.export])
        if "cannot be read" in sample.out:
            sys.exit(f"bench: {self.export} misses columns of recent exports:\n{sample.out}")
        return sample

    def query(self, name, *options):
        return run([self.trawl, "nsys", name, self.export, "-q", *options], discard=True)

    def report(self):
        out = self.place / "export_report"
        shutil.rmtree(out, ignore_errors=True)
        return run([self.trawl, "report", self.export, "-o", out, "-q", "--no-xlsx"],
                   discard=True)

    def round(self, number):
        timed = {"scan": self.bare_scan}
        if number <= REPORTS:
            timed["report"] = self.report
        for q in self.QUERIES:
            timed[q] = lambda q=q: self.query(q, "-j1")
            timed[f"{q}, whole"] = lambda q=q: self.query(q, "-j1", *WHOLE)
            timed[f"{q}, threads"] = lambda q=q: self.query(q)
            timed[f"{q}, whole, threads"] = lambda q=q: self.query(q, *WHOLE)
        self.run_round(number, timed)

    def measure(self):
        self.make()
        self.warm(self.export)
        for n in range(1, self.options.rounds + 1):
            self.round(n)

    def targets(self):
        """(what, value, at least or at most, target, note)."""
        b = self.best
        for q in self.QUERIES:
            for what, name in ((q, q), (f"{q} of the whole trace", f"{q}, whole")):
                yield (f"{what} to the bare scan, one thread each",
                       b[name].seconds / b["scan"].seconds, "<=", 2, "")
                yield (f"{what} to the bare scan, user mode",
                       b[name].user / b["scan"].user, "<=", 2, "")
            yield (f"{q} of the whole trace to that of one chunk",
                   b[f"{q}, whole"].seconds / b[q].seconds, "<=", 2, "")
        for q in self.QUERIES:
            peak = max(s.peak for name, s in b.items() if name.startswith(q))
            yield (f"peak memory of {q} to the export, any of these", peak / self.bytes, "<=", 0.5,
                   "")

    def measurements(self):
        rows = [("bare scan: sqlite3_step() and each value, one thread", "scan")]
        for q in self.QUERIES:
            rows += [(f"trawl nsys {q}, one chunk, one thread", q),
                     (f"trawl nsys {q}, whole trace, one thread", f"{q}, whole"),
                     (f"trawl nsys {q}, one chunk, all cores", f"{q}, threads"),
                     (f"trawl nsys {q}, whole trace, all cores", f"{q}, whole, threads")]
        for what, name in [*rows, ("trawl report, CSV files, all cores", "report")]:
            s = self.best[name]
            yield (what, f"{s.seconds:.3f}", f"{s.user:.3f}",
                   f"{self.bytes / s.seconds / 1e6:.0f}", f"{s.peak / 1e6:.0f}")

    def description(self):
        made = self.options.export.name if self.options.export else f"by {GENERATOR}, 8 ranks"
        return (f"an export of {self.bytes / 1e6:.1f} MB ({made}); best of {self.options.rounds} "
                "rounds")
