#!/usr/bin/env python3
"""Runs every test. The last line is `N passed, N failed`; exit status 1 when anything failed or
nothing ran.

usage: tests/run.py [--full] [--quick [NAME]] [--times] [--update-golden] [--only PATTERN] [--build DIR...]

What runs, each once: unit tests in a build with sanitizers, the tests written in Python against the
release build (two of odd input also against the one with sanitizers); kept fuzz corpora, the
examples and the sample in every build given; checks of the sources and the installation. With
--full: unit tests of every build given, most of the tests in Python again against the builds with
sanitizers, valgrind on the sample, a search by the fuzzer, 60 deliberate errors that tests have to
notice, the package; what is repeated at random is repeated more often.

PATTERN is a regular expression on `where: test`. A build is named by the last part of its directory.
--quick runs, in the first build given, unit tests and tests in Python that NAME names or, without
one, that what git calls changed touches (touched.py); --targets prints what has to be built for it.
--times says where processor time went.

Environment: TRAWL_SHARED, the given material (default ../shared).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import touched

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
DEFAULT_BUILDS = ("release", "clang", "asan", "clang-asan", "tsan", "fuzz")
GROUPS = ("cli", "golden", "property", "reference")
# Python modules that run again on instrumented and other builds, in the long run.
AGAIN = {
    "asan": ("cli/test_cases_kineto", "cli/test_findings_odd", "cli/test_odd_inputs", "cli/test_options",
             "cli/test_bad_input", "cli/test_same_bytes", "property/test_oracle",
             "property/test_truth", "property/test_unified"),
    "tsan": ("cli/test_cases_kineto", "cli/test_odd_inputs", "cli/test_same_bytes",
             "property/test_oracle", "property/test_truth"),
    "clang": ("cli/test_cases_kineto", "property/test_oracle"),
}
# What gcc's sanitizers do not see, clang's may.
AGAIN["clang-asan"] = AGAIN["asan"]
# And always there: what the program makes of odd input.
ALWAYS_AGAIN = ("cli/test_bad_input", "cli/test_odd_inputs")
# Unit programs that take long, or wait, begin early; seconds.
LONG_UNITS = {"test_reader_damage": 40, "test_nsys": 30, "test_xlsx": 25}
# There even small files are read in parts, as large ones are.
SANITIZED = {"TRAWL_SANITIZED": "1", "TRAWL_READ_PART": "4096"}
SANITIZERS = {
    "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:allocator_may_return_null=1:"
                    "detect_stack_use_after_return=1",
    "LSAN_OPTIONS": "exitcode=99",
    "UBSAN_OPTIONS": "exitcode=99:halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "exitcode=99:halt_on_error=0:second_deadlock_stack=1",
}
TAP = re.compile(r"^(ok|not ok) \d+(?: -)? ?(.*)$")
# What times are summed by: the build, for programs that run in several, and the group.
KIND = re.compile(r"(?:unit|fuzz) [\w-]+|(?:[\w-]+: )?\w+")
MINUTE = 60


class Outcome:
    """One test: its name, passed / failed / skipped, and why."""

    def __init__(self, name, state, reason=""):
        self.name, self.state, self.reason = name, state, reason


class Job:
    """A program to run: TAP on its stdout (`tap`), or one test by its exit status."""

    def __init__(self, name, command, tap=False, timeout=10 * MINUTE, env=None, cwd=ROOT, cost=1):
        self.name, self.command, self.tap = name, [str(c) for c in command], tap
        self.timeout, self.env, self.cwd, self.cost = timeout, env or {}, cwd, cost
        # Seconds of processor time, of the programs that it started too.
        self.cpu = 0.0

    def run(self):
        # A seed, so that a failure repeats; test_same_bytes has others.
        env = {**os.environ, **SANITIZERS, "LC_ALL": "C.UTF-8", "TRAWL_HASH_SEED": "1", **self.env}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = subprocess.Popen(self.command, cwd=self.cwd, env=env, stdout=out, stderr=err,
                                           stdin=subprocess.DEVNULL, start_new_session=True)
            except OSError as e:
                return [Outcome(self.name, "failed", str(e))]
            late = threading.Event()
            timer = threading.Timer(self.timeout, lambda: (late.set(), kill_group(process.pid)))
            timer.start()
            _, status, used = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu = used.ru_utime + used.ru_stime
            said = [whole(f) for f in (out, err)]
        if late.is_set():
            done = self.results(*said, 0)
            return [o for o in done if o.state != "failed"] + [
                Outcome(self.name, "failed", f"still running after {self.timeout} s")]
        return self.results(*said, process.returncode)

    def results(self, out, err, status):
        if not self.tap:
            if status == 0:
                return [Outcome(self.name, "passed")]
            return [Outcome(self.name, "failed", f"exit {status}: {tail(out, err)}")]
        found, plan = [], None
        for line in out.splitlines():
            match = TAP.match(line)
            if match:
                found.append(self.tap_line(*match.groups()))
            elif line.startswith("# golden updated"):
                print(line[2:])
            elif line.startswith("# ") and found and found[-1].state == "failed":
                # cmocka 1.1.5 gives the reason after the failure.
                found[-1].reason += line[1:]
            elif re.match(r"^1\.\.\d+", line):
                plan = (plan or 0) + int(line[3:].split()[0])
        failed = [o for o in found if o.state == "failed"]
        for o in failed:
            # Other versions of cmocka write it to stderr.
            o.reason = o.reason or tail("", err)
        if status != 0 and not failed:
            found.append(Outcome(self.name, "failed", f"exit {status}: {tail(out, err)}"))
        elif plan is None or plan != len(found):
            found.append(Outcome(self.name, "failed", f"{len(found)} results, {plan} planned: "
                                 + tail("", err)))
        return found

    def tap_line(self, verdict, rest):
        name, _, note = rest.partition(" # ")
        if name.split("/")[0] in GROUPS:
            # The module says where it is; another build than the release stands before it.
            build, colon, _ = self.name.partition(": ")
            full = f"{build}: {name}" if colon else name
        else:
            full = f"{self.name}: {name}"
        if note.upper().startswith("SKIP"):
            return Outcome(full, "skipped", note[4:].strip())
        # cmocka 1.1.5 says "not ok - # SKIP name".
        skipped = re.match(r"# SKIP (\S+)", rest)
        if skipped:
            return Outcome(f"{self.name}: {skipped.group(1)}", "skipped", "the program says so")
        if verdict == "ok":
            return Outcome(full, "passed")
        return Outcome(full, "failed", note)


def whole(file):
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It ended in this moment.


def tail(out, err, lines=6, limit=600):
    text = [x for x in (out + "\n" + err).splitlines() if x.strip()][-lines:]
    return " | ".join(text)[-limit:]


class Failure:
    """A test that has failed before anything ran: something is missing."""
    cost, cpu = 0, 0.0

    def __init__(self, name, reason):
        self.name, self.reason = name, reason

    def run(self):
        return [Outcome(self.name, "failed", self.reason)]


def programs(directory, pattern):
    return sorted(p for p in directory.glob(pattern) if p.is_file() and os.access(p, os.X_OK))


# ---- what there is to run ---------------------------------------------------------------------

def unit_jobs(builds, full):
    builds = [b for b in builds if b.name != "fuzz"]
    sanitized = [b for b in builds if b.name.endswith("asan")]
    for build in builds if full else (sanitized or builds)[:1]:
        found = programs(build, "unit/test_*")
        if not found:
            yield Failure(f"unit {build.name}", f"no unit tests under {build}/unit")
        for p in found:
            yield Job(f"unit {build.name} {p.name}", [p], tap=True, cost=LONG_UNITS.get(p.name, 2),
                      timeout=(20 if full else 10) * MINUTE,
                      env={"CMOCKA_MESSAGE_OUTPUT": "TAP", "TRAWL_BUILD": str(build),
                           **({"TRAWL_FULL": "1"} if full else {})})


def quick_jobs(build, units, modules):
    """Unit programs and modules in Python, by name, in one build."""
    environment = {"TRAWL_BUILD": str(build),
                   **(SANITIZED if build.name.endswith(("asan", "tsan")) else {})}
    for name in sorted(units):
        yield Job(f"unit {build.name} {name}", [build / "unit" / name], tap=True,
                  env={**environment, "CMOCKA_MESSAGE_OUTPUT": "TAP"})
    for label in sorted(modules):
        yield Job(label, [sys.executable, TESTS / "tap.py", TESTS / f"{label}.py"], tap=True,
                  env=environment, cost=20)


def fuzz_jobs(builds, full):
    """The kept corpus through every build; then, where libFuzzer is built in, a search."""
    corpora = TESTS / "fuzz/corpus"
    if not builds:
        return
    if not any(programs(b, "fuzz/fuzz_*") for b in builds):
        yield Failure("fuzz", "no fuzz targets were built")
    for build in builds:
        for p in programs(build, "fuzz/fuzz_*"):
            kept = corpora / p.name
            name = f"fuzz {build.name} {p.name}"
            if not kept.is_dir() or not any(kept.iterdir()):
                yield Failure(name, f"no kept corpus {kept.relative_to(ROOT)}")
                continue
            yield Job(f"{name} corpus", [p, "-runs=0", "-rss_limit_mb=2048",
                                         f"-artifact_prefix={build}/broken-", kept], cost=5)
            if build.name == "fuzz" and full:
                yield fuzz_search(p, kept, name, 120)


def fuzz_search(program, kept, name, seconds):
    """Searches from the kept corpus into a temporary one; what breaks stays under build/."""
    crashes = program.parent.parent / "crashes"
    script = (f'mkdir -p "{crashes}"; new=$(mktemp -d); trap \'rm -rf "$new"\' EXIT; '
              f'"{program}" -max_total_time={seconds} -timeout=20 -rss_limit_mb=2048 '
              f'-close_fd_mask=1 -artifact_prefix="{crashes}/" "$new" "{kept}"')
    return Job(f"{name} {seconds} s", ["sh", "-c", script], timeout=seconds + 3 * MINUTE,
               cost=seconds)


def python_jobs(builds, options):
    named = {b.name: b for b in builds}
    release = named.get("release", builds[0] if builds else ROOT / "build/release")
    common = {"TRAWL_FULL": "1"} if options.full else {}
    if options.update_golden:
        common["TRAWL_UPDATE_GOLDEN"] = "1"
    only = ["--only", options.only] if options.only else []
    modules = [p for g in GROUPS for p in sorted((TESTS / g).glob("test_*.py"))]
    for p in modules:
        label = f"{p.parent.name}/{p.stem}"
        yield Job(label, [sys.executable, TESTS / "tap.py", p, *only], tap=True,
                  timeout=15 * MINUTE, env={**common, "TRAWL_BUILD": str(release)},
                  cost=60 if p.parent.name == "reference" else 20)
        for name, again in AGAIN.items():
            always = name == "clang-asan" and label in ALWAYS_AGAIN
            if label in again and name in named and (options.full or always):
                yield Job(f"{name}: {label}", [sys.executable, TESTS / "tap.py", p, *only],
                          tap=True, timeout=20 * MINUTE, cost=90,
                          env={"TRAWL_BUILD": str(named[name]),
                               **(SANITIZED if name != "clang" else {})})
    for name, again in AGAIN.items():
        for label in again if name in named else ():
            if not (TESTS / f"{label}.py").exists():
                yield Failure(f"{name}: {label}", "no such module")


def memory_jobs(builds, scratch, full):
    """valgrind over the optimised program on the sample; the sample through every build."""
    sample = ROOT / "examples/sample.json.gz"
    for build in builds:
        if (build / "trawl").exists():
            yield Job(f"sample {build.name}", [build / "trawl", "report", sample, "-o",
                                               scratch / f"sample-{build.name}", "-j2"], cost=3)
            for p in programs(build, "examples/*"):
                # Its source shows a call of it.
                text = (ROOT / f"examples/{p.name}.c").read_text()
                samples = re.findall(r"sample\.[\w.]*\w", text)
                yield Job(f"example {build.name} {p.name}",
                          [p, *(ROOT / "examples" / name for name in samples)],
                          env={"LD_LIBRARY_PATH": str(build)})
    release = [b for b in builds if b.name == "release"]
    for b in release:
        if not programs(b, "examples/*"):
            yield Failure("example release", f"no examples under {b}/examples")
        for threads in ("-j1", "-j2") if full else ():
            yield Job(f"valgrind report {threads}", [
                "valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
                "--errors-for-leak-kinds=definite,indirect,possible", b / "trawl", "report",
                sample, "-o", scratch / f"valgrind{threads}", threads], cost=60)


# Each release of clang-format has a layout of its own.
FORMAT = """echo 1..1
case $(clang-format --version) in
*"version 14."*) "$0" format --check && echo "ok 1 - format" ;;
*) echo "ok 1 - format # SKIP the layout is that of clang-format 14" ;;
esac"""


def check_jobs(builds, full):
    release = next((b for b in builds if b.name == "release"), None)
    tools = ROOT / "tools"
    yield Job("check includes", [sys.executable, tools / "check_includes.py"])
    yield Job("check headers of columns", [sys.executable, tools / "measure.py", "--check"])
    yield Job("check circles", [sys.executable, tools / "check_circles.py"])
    yield Job("check circles can fail", [sys.executable, tools / "check_circles.py", "--self-test"])
    yield Job("check includes can fail", [sys.executable, tools / "check_includes.py",
                                          "--self-test"])
    yield Job("check public headers", ["sh", tools / "check_headers.sh"], cost=3)
    yield Job("check format", ["sh", "-c", FORMAT, ROOT / "dev"], tap=True)
    if release:
        yield Job("check exports", ["sh", tools / "check_exports.sh", release])
        yield Job("check install", ["sh", tools / "check_install.sh", release], cost=5)
        yield Job("check help, man page, completion",
                  [sys.executable, tools / "check_cli_docs.py", release / "trawl"])
    yield Job("check mutate can fail", [sys.executable, tools / "mutate.py", "--self-test"])
    if full:
        yield Job("deliberate errors are noticed",
                  [sys.executable, tools / "mutate.py", "--seed", 1, "--count", 60],
                  cost=400, timeout=20 * MINUTE)
        script = (f'"{ROOT}/dev" package && for deb in "{ROOT}"/build/package/*.deb; do '
                  f'sh "{tools}/check_package.sh" "$deb" || exit 1; done')
        yield Job("check package", ["sh", "-c", script], cost=60, timeout=15 * MINUTE)


# ---- running ------------------------------------------------------------------------------------

class Board:
    """Counts, prints as jobs end, and knows what to say last."""

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = []
        # Seconds of processor time of each job.
        self.cpu = {}

    def add(self, job, outcomes, seconds):
        with self.lock:
            self.outcomes += outcomes
            self.cpu[job.name] = job.cpu
            counts = {s: sum(o.state == s for o in outcomes)
                      for s in ("passed", "failed", "skipped")}
            if outcomes:
                print(f"{job.name}: " + ", ".join(f"{n} {s}" for s, n in counts.items() if n)
                      + f" ({seconds:.1f} s)", flush=True)
            for o in outcomes:
                if o.state == "failed":
                    print(f"    FAILED {o.name}: {o.reason}", flush=True)

    def print_times(self, slowest=30):
        kinds = {}
        for name, seconds in self.cpu.items():
            kind = KIND.match(name).group()
            kinds[kind] = kinds.get(kind, 0) + seconds
        print(f"\nseconds of processor: {sum(kinds.values()):.0f}")
        for title, table in (("by kind", kinds), (f"the slowest {slowest}", self.cpu)):
            print(f"{title}:")
            for name, seconds in sorted(table.items(), key=lambda x: -x[1])[:slowest]:
                print(f"{seconds:9.1f}  {name}")

    def finish(self):
        skipped = [o for o in self.outcomes if o.state == "skipped"]
        failed = [o for o in self.outcomes if o.state == "failed"]
        passed = sum(o.state == "passed" for o in self.outcomes)
        print()
        for o in failed:
            print(f"FAILED {o.name}: {o.reason[:300]}")
        by_reason = {}
        for o in skipped:
            by_reason.setdefault(o.reason, []).append(o.name)
        for reason, names in sorted(by_reason.items()):
            print(f"skipped {len(names)}: {reason}: {', '.join(names[:4])}"
                  + (" ..." if len(names) > 4 else ""))
        print(f"{len(skipped)} skipped")
        print(f"{passed} passed, {len(failed)} failed")
        return 1 if failed or not passed else 0


def timed(job, board):
    begin = time.monotonic()
    try:
        outcomes = job.run()
    except Exception as e:  # A fault of the runner is a failed test, not a lost one.
        outcomes = [Outcome(job.name, "failed", f"{type(e).__name__}: {e}")]
    board.add(job, outcomes, time.monotonic() - begin)


def untracked(action, snapshot):
    return Job("check tree is left as it was", ["sh", ROOT / "tools/check_untracked.sh", action,
                                                snapshot])


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true")
    ap.add_argument("--update-golden", action="store_true")
    ap.add_argument("--quick", nargs="?", const="", metavar="NAME")
    ap.add_argument("--targets", action="store_true")
    ap.add_argument("--times", action="store_true")
    ap.add_argument("--only", default="", metavar="PATTERN")
    ap.add_argument("--build", nargs="+", type=pathlib.Path, metavar="DIR")
    options = ap.parse_args(argv)
    if options.build is None:
        options.build = [ROOT / "build" / n for n in DEFAULT_BUILDS
                         if (ROOT / "build" / n).is_dir()]
    options.build = [b.absolute() for b in options.build]
    return options


def collect(options, scratch):
    builds = [b for b in options.build if b.is_dir()]
    jobs = [Failure(f"build {b.name}", f"no such directory: {b}")
            for b in options.build if not b.is_dir()]
    if not builds:
        jobs.append(Failure("build", "nothing is built"))
    if options.quick is not None:
        found = touched.touched(options.quick)
        if not any(found):
            print(f"no test is named {options.quick}" if options.quick else
                  "no test is about what has changed alone: ./dev test runs all")
        return jobs + list(quick_jobs(builds[0], *found) if builds else ())
    if options.update_golden:
        # What is shown in the documents is kept output, too.
        return jobs + [j for j in python_jobs(builds, options)
                       if j.name.startswith("golden/") or j.name == "cli/test_docs"]
    plain = [*unit_jobs(builds, options.full), *fuzz_jobs(builds, options.full),
             *memory_jobs(builds, scratch, options.full), *check_jobs(builds, options.full)]
    if options.only:
        plain = [j for j in plain if re.search(options.only, j.name)]
    return jobs + plain + list(python_jobs(builds, options))


def main(argv):
    options = parse(argv)
    if options.targets:
        print("\n".join(sorted(touched.touched(options.quick or "")[0])))
        return 0
    os.environ.setdefault("TRAWL_SHARED", str(ROOT.parent / "shared"))
    if not pathlib.Path(os.environ["TRAWL_SHARED"]).is_dir():
        print(f"given material absent: {os.environ['TRAWL_SHARED']}; what needs it is skipped")
    board = Board()
    with tempfile.TemporaryDirectory(prefix="trawl-run-") as place:
        scratch = pathlib.Path(place)
        watch = not options.only and options.quick is None and not options.update_golden
        if watch:
            timed_snapshot = untracked("snapshot", scratch / "before").run()
            if timed_snapshot[0].state == "failed":
                board.add(untracked("snapshot", ""), timed_snapshot, 0)
        jobs = sorted(collect(options, scratch), key=lambda j: -j.cost)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda j: timed(j, board), jobs))
        if watch:
            timed(untracked("compare", scratch / "before"), board)
    if options.times:
        board.print_times()
    return board.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
