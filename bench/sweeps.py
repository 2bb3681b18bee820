"""A whole sweep, every stage, against reading its traces once with Python alone."""
import os
import pathlib

from measuring import Bench, run
from traces import JSON_LOADS

POINTS = [(256, 28), (256, 56), (512, 28), (512, 56)]
RANKS = 8
RANK_BYTES = 60_000_000
MEMORY = "1G"
MOST_CPU_SECONDS = 8
# The traces of a real tool chain's test, where they are; else small ones of our own.
GIVEN = pathlib.Path(os.environ.get("TRAWL_SHARED", "../shared")) / \
    "cases/sweep/e2e_tracelens/in/sweep"


class Sweeps(Bench):
    HEAD = ["measurement", "seconds", "CPU seconds", "peak MB"]
    MARKS = ("<!-- measured on sweeps: written by bench/run.py --markdown -->",
             "<!-- end of measured on sweeps -->")

    def __init__(self, options, place):
        super().__init__(options, place)
        self.tracegen = self.build / "tracegen"
        self.need(self.trawl, self.tracegen)

    def sweep(self, name, *size):
        """A sweep whose configurations have the same traces."""
        ranks, place = self.place / f"{name}_ranks", self.place / name
        run([self.tracegen, "--kind", "train", "--seed", "1", *size, "--ranks", RANKS, "-o", ranks])
        for threads, channels in POINTS:
            for path in sorted(ranks.glob("rank*.json")):
                rank = place / f"{threads}thread/nccl_{channels}channels/torch_profiler" / \
                    path.name.split("_")[0]
                rank.mkdir(parents=True)
                os.link(path, rank / "trace_step19.json")
        return place

    def make(self):
        self.large = self.sweep("large", "--size", RANK_BYTES)
        self.small = GIVEN if GIVEN.is_dir() else self.sweep("small", "--steps", "1")
        self.paths = {n: sorted(p.rglob("*.json")) for n, p in
                      (("small", self.small), ("large", self.large))}

    def all(self, sweep, *options):
        return run([self.trawl, "sweep", "all", sweep, "-o", self.place / "out", "-q", *options],
                   discard=True)

    def python(self, name):
        """json.loads of each trace, in a process each: the seconds that it alone takes."""
        samples = [run(["python3", "-c", JSON_LOADS, p]) for p in self.paths[name]]
        best = max(samples, key=lambda s: s.peak)
        best.seconds = sum(float(s.out) for s in samples)
        return best

    def round(self, number):
        timed = {
            "small": lambda: self.all(self.small),
            "small without pictures": lambda: self.all(self.small, "--no-plots"),
            "small json.loads": lambda: self.python("small"),
            "large": lambda: self.all(self.large, "--max-memory", MEMORY),
        }
        # It takes most of the time and varies least.
        if number == 1:
            timed["large json.loads"] = lambda: self.python("large")
        self.run_round(number, timed)

    def measure(self):
        self.make()
        self.warm(*self.paths["small"])
        for n in range(1, self.options.rounds + 1):
            self.round(n)

    def targets(self):
        """(what, value, at least or at most, target, note)."""
        b = self.best
        yield ("sweep all of 32 small traces, pictures included, CPU seconds", b["small"].cpu,
               "<=", MOST_CPU_SECONDS, "")
        yield ("the same without pictures to json.loads",
               b["small without pictures"].seconds / b["small json.loads"].seconds, "<=", 3, "")
        yield ("json.loads of 32 traces of 60 MB to sweep all of them",
               b["large json.loads"].seconds / b["large"].seconds, ">=", 1, "")
        yield (f"peak memory of that with --max-memory {MEMORY}, MB", b["large"].peak / 1e6, "<=",
               1074, "")

    def measurements(self):
        rows = [("sweep all, 32 small traces", "small"),
                ("the same with --no-plots", "small without pictures"),
                ("python json.loads of them", "small json.loads"),
                (f"sweep all --max-memory {MEMORY}, 32 traces of 60 MB", "large"),
                ("python json.loads of them", "large json.loads")]
        for what, name in rows:
            s = self.best[name]
            yield (what, f"{s.seconds:.3f}", f"{s.cpu:.3f}", f"{s.peak / 1e6:.0f}")

    def description(self):
        return (f"4 configurations of {RANKS} ranks: "
                f"{sum(p.stat().st_size for p in self.paths['small']) / 1e6:.1f} MB, and "
                f"{sum(p.stat().st_size for p in self.paths['large']) / 1e6:.0f} MB by tracegen; "
                f"best of {self.options.rounds} rounds")
