"""Merging the traces of eight ranks, against reading them with Python alone."""
from measuring import Bench, run
from traces import JSON_LOADS

RANKS = 8
RANK_BYTES = 60_000_000
MOST_MEMORY = 200_000_000


class Merges(Bench):
    HEAD = ["measurement", "seconds", "MB/s of JSON", "peak MB"]
    MARKS = ("<!-- measured on merges: written by bench/run.py --markdown -->",
             "<!-- end of measured on merges -->")

    def __init__(self, options, place):
        super().__init__(options, place)
        self.tracegen = self.build / "tracegen"
        self.need(self.trawl, self.tracegen)

    def make(self):
        self.ranks = self.place / "ranks"
        run([self.tracegen, "--kind", "train", "--seed", "1", "--size", RANK_BYTES, "--ranks",
             RANKS, "-o", self.ranks])
        self.paths = sorted(self.ranks.glob("rank*.json"))
        self.bytes = sum(p.stat().st_size for p in self.paths)

    def merge(self, name, *options):
        self.out = self.place / name
        self.out.unlink(missing_ok=True)
        return run([self.trawl, "merge", self.ranks, "-o", self.out, "-q", *options],
                   discard=True)

    def python(self):
        """json.loads of each trace, in a process each: the seconds that it alone takes."""
        samples = [run(["python3", "-c", JSON_LOADS, p]) for p in self.paths]
        best = max(samples, key=lambda s: s.peak)
        best.seconds = sum(float(s.out) for s in samples)
        return best

    def round(self, number):
        timed = {
            "merge": lambda: self.merge("merged.json"),
            "merge -j1": lambda: self.merge("merged.json", "-j1"),
            "merge all": lambda: self.merge("merged.json", "--keep", "all"),
            "merge .gz": lambda: self.merge("merged.json.gz"),
            "cat": lambda: run(["cat", *self.paths], discard=True),
        }
        # It takes most of the time and varies least.
        if number <= 2:
            timed["json.loads"] = self.python
        self.run_round(number, timed)

    def measure(self):
        self.make()
        self.warm(*self.paths)
        for n in range(1, self.options.rounds + 1):
            self.round(n)

    def targets(self):
        """(what, value, at least or at most, target, note)."""
        b = self.best
        yield ("merge of eight ranks of 60 MB to json.loads of them",
               b["json.loads"].seconds / b["merge"].seconds, ">=", 25, "")
        yield ("the same with --keep all", b["json.loads"].seconds / b["merge all"].seconds, ">=",
               25, "")
        yield ("peak memory of these merges, MB",
               max(b[n].peak for n in b if n.startswith("merge")) / 1e6, "<=", MOST_MEMORY / 1e6,
               "")

    def measurements(self):
        rows = [("trawl merge, all cores", "merge"), ("trawl merge, one thread", "merge -j1"),
                ("trawl merge --keep all, all cores", "merge all"),
                ("trawl merge into .gz, all cores", "merge .gz"),
                ("cat to /dev/null", "cat"), ("python json.loads", "json.loads")]
        for what, name in rows:
            s = self.best[name]
            yield (what, f"{s.seconds:.3f}", f"{self.bytes / s.seconds / 1e6:.0f}",
                   f"{s.peak / 1e6:.0f}")

    def description(self):
        return (f"{RANKS} traces of {self.bytes / RANKS / 1e6:.1f} MB each, by tracegen; best of "
                f"{self.options.rounds} rounds")
