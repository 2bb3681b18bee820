"""What all benchmarks share: runs of programs, rounds of them, ratios with targets, tables."""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

RATIOS = ["ratio", "value", "target", "verdict"]


class Sample:
    """A finished program: wall seconds, those in its own code, peak memory, what it printed; cpu:
    seconds in it, in the system for it, and in the programs that it ran."""
    cpu = 0.0

    def __init__(self, seconds, user, peak, out, err):
        self.seconds, self.user, self.peak, self.out, self.err = seconds, user, peak, out, err


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
    sample = Sample(seconds, usage.ru_utime, usage.ru_maxrss * 1024, *texts)
    sample.cpu = usage.ru_utime + usage.ru_stime
    return sample


class Bench:
    """Measurements by name, the best run of each. What it is about is in classes that follow."""

    def __init__(self, options, place):
        self.options, self.place = options, place
        self.build = options.build.absolute()
        self.trawl = self.build / "trawl"
        self.best = {}

    def need(self, *programs):
        for p in programs:
            if not p.exists():
                sys.exit(f"bench: {p} is not built (./dev bench builds it)")

    def keep(self, name, sample):
        """Of each measurement the fastest run counts, the least processor time, the most memory."""
        old = self.best.get(name)
        if old is None:
            self.best[name] = sample
            return
        peak, user = max(old.peak, sample.peak), min(old.user, sample.user)
        cpu = min(old.cpu, sample.cpu)
        second_pass = min(getattr(old, "second_pass", 0), getattr(sample, "second_pass", 0))
        if sample.seconds < old.seconds:
            self.best[name] = sample
        best = self.best[name]
        best.peak, best.user, best.cpu, best.second_pass = peak, user, cpu, second_pass

    def run_round(self, number, timed):
        """Runs each of `timed` once. Another order each time: what ran before leaves memory warm
        or cold."""
        names = list(timed)
        for name in names[number % len(names):] + names[:number % len(names)]:
            self.keep(name, timed[name]())
        print(f"round {number}: " + ", ".join(f"{n} {s.seconds:.2f} s"
                                              for n, s in self.best.items()), flush=True)

    def warm(self, *paths):
        for path in paths:
            with open(path, "rb") as f:
                while f.read(1 << 20):
                    pass

    def verdicts(self):
        for what, value, sense, target, note in self.targets():
            met = value >= target if sense == ">=" else value <= target
            yield what, value, f"{sense} {target:g}", "skipped" if note else \
                "met" if met else "MISSED", note

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
                f"{platform.python_version()}")


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


def write_markdown(path, bench, command):
    """Writes the part of a page between the two marks of these measurements."""
    ratios = [(w, f"{v:.2f}", t, verdict + (f" ({note})" if note else ""))
              for w, v, t, verdict, note in bench.verdicts()]
    text = "\n".join([f"Machine: {bench.machine()}.", "",
                      f"Command: `{command}`. Input: {bench.description()}.", "",
                      *markdown(bench.HEAD, bench.measurements()), "", *markdown(RATIOS, ratios)])
    begin, end = bench.MARKS
    page = path.read_text() if path.exists() else f"{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
