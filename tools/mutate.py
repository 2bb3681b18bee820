#!/usr/bin/env python3
"""Makes deliberate errors in the sources, one at a time, and shows whether a test notices.

usage: tools/mutate.py [--seed N] [--count N] [--only GROUP] [--file PATTERN] [--code PATTERN]
                       [--list] [--jobs N] [--self-test]

Errors are drawn from all that tools/mutants.py can make, as many of each group (GROUPS). One is
built beside the sources, which stay as they are, and the related tests that run its line, then
those that run its function, are run until one fails: first unit tests, then those in Python, then
the slowest unit tests. A line is printed for each: its number, where, what was changed, and which
test noticed or SURVIVED; at the end survivors as tools/mutate_explained.tsv has them. What changes
nothing anybody could see belongs there, with the reason; it is not drawn again. Exit status 1 when
another survived.

What is needed lies in build/mutate: a build in which the library is shared, and which code each
test runs (made anew when sources or tests change). --list only prints what is drawn.
"""
import argparse
import bisect
import collections
import concurrent.futures
import fcntl
import hashlib
import json
import os
import pathlib
import random
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import mutants

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
TESTS = ROOT / "tests"
BUILD = ROOT / "build/mutate"
EXPLAINED = TOOLS / "mutate_explained.tsv"
MAPS = BUILD / "map"

# Group -> directories of its sources, and the tests that are about it.
GROUPS = {
    "ranks": (["src/job"],
              r"unit/test_(match|clocks|ranks_tables|job|pack|sums|deviations.*|communication|median"
              r"|reports|no_memory|verdict|lateness)$|cli/test_(collectives|report_ranks|merged_ranks|merge|mpi|who"
              r"|twice)$|reference/test_ranks$"),
    "compare": (["src/study/compare", "src/study/books"],
                r"unit/test_(public_)?compare.*|cli/test_(compare.*|books|sweep)$|property/test_(compare|exposed_waits)$"
                r"|reference/test_compare.*"),
    "sweep": (["src/study/sweep", "src/study/runs", "src/study/variance"],
              r"unit/test_(sweep.*|variance)$|cli/test_sweep(_aggregate|_findings|_plots|_run|_tools|_variance)?$"
              r"|property/test_sweep.*|reference/test_sweep_(aggregates|report|tools|variance)$"),
    "nsys": (["src/nsys"],
             r"unit/test_(nsys.*|scan)$|cli/test_nsys.*|property/test_ranges$"
             r"|reference/test_nsys.*"),
    "analysis": (["src/analysis"],
                 r"unit/test_(analyses|op_sheets|unified|gemm_instances|signature|reconciliation"
                 r"|nvtx_ranges|api_calls|huge_sums|views|innermost|enclosing|exposed|stats|steps"
                 r"|tables_data|system|category|replay|modules|graphs|when|no_memory)$"
                 r"|cli/test_(cases_kineto|odd_inputs|serving_ops|summary|platforms|kernel_categories|twice"
                 r"|communication|sheet_columns|reports|prepare|sweep_variance|modules|graphs|steps)$"
                 r"|property/test_(oracle|truth|unified|modules"
                 r"|idle_causes|aten_ops)$|reference/test_(reference|coverage|modules|graphs|steps)$"),
    "models": (["src/model"],
               r"unit/test_(model_.*|platform)$|cli/test_(model_command|platforms|serving_ops)$"
               r"|property/test_aten_ops$|reference/test_coverage$"),
    "standalone": (["src/standalone", "src/findings"],
                   r"unit/test_(category|system|reports|replay|findings|fields|tables_data|communication)$"
                   r"|cli/test_(category|prepare|replay|reports|system|analyze|limits|questions"
                   r"|kernel_categories|communication)$|property/test_idle_causes$"
                   r"|reference/test_standalone_.*"),
    "derive": (["src/derive"],
               r"unit/test_(tree|gpu|linking|autograd|enclosing|innermost|exposed|steps|views"
               r"|nvtx_ranges|pairs|lateness|analyses|communication|nsys_reader|unified|replay"
               r"|op_sheets|no_memory|when|graphs|graph_match|modules)$"
               r"|cli/test_(cases_kineto|odd_inputs|summary|prepare|nsys_fixtures|graphs|steps)$"
               r"|property/test_(oracle|truth|unified|idle_causes)$|reference/test_(reference|graphs|steps)$"),
}
# Seconds that a test in Python computes: larger ones show little more.
LONGEST = 5.0
# What ends processes by their numbers: an error there may end others than the test's own.
NOT_TOUCHED = re.compile(r"study/runs/(process|descendants)\.[ch]$")
# Unit tests that take no longer come first.
SLOW = 2.0
PATIENCE = 20
FLAGS = "-O1 -g1 -w -fsanitize-coverage=trace-pc -ftrivial-auto-var-init=pattern"
TAP = re.compile(r"^(not ok|ok) \d+ (?:- )?(\S+)")
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "TRAWL_HASH_SEED": "1", "CMOCKA_MESSAGE_OUTPUT": "TAP",
               "TRAWL_BUILD": str(BUILD), "MALLOC_PERTURB_": "165"}


def environment(**more):
    env = {**os.environ, **ENVIRONMENT, **more}
    env.setdefault("TRAWL_SHARED", str(ROOT.parent / "shared"))
    return env


def fail(text):
    sys.exit(f"mutate: {text}")


def run(command, cwd=ROOT, **options):
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, errors="replace",
                          **options)
    if done.returncode:
        fail(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


# ---- the build

def related_modules(groups):
    """Names of unit tests and of modules in Python, `unit/NAME` and `cli/NAME`."""
    everything = [f"{p.parent.name}/{p.stem}" for g in ("unit", "cli", "property", "reference")
                  for p in sorted((TESTS / g).glob("test_*")) if p.suffix in (".c", ".py")]
    pattern = "|".join(f"(?:{GROUPS[g][1]})" for g in groups)
    return [m for m in everything if re.match(pattern, m)]


def build(modules):
    """The library shared, so that programs need not be linked for each error."""
    linker = next((f"-fuse-ld={n}" for n in ("mold", "lld", "gold") if shutil.which(f"ld.{n}")), "")
    trace = BUILD / "trace.o"
    run(["gcc", "-O2", "-fPIC", "-c", TOOLS / "mutate_trace.c", "-o", trace])
    link = f"{linker} {shlex.quote(str(trace))}"
    run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Mutate",
         "-DCMAKE_C_COMPILER=gcc", f"-DCMAKE_C_FLAGS={FLAGS}", "-DTRAWL_INTERNAL=SHARED",
         "-DTRAWL_BUILD_SHARED=OFF", "-DTRAWL_TESTS=ON", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON",
         f"-DCMAKE_EXE_LINKER_FLAGS={link}", f"-DCMAKE_MODULE_LINKER_FLAGS={link}",
         f"-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-Bsymbolic-functions,-z,defs {link}"])
    known = run(["ninja", "-C", BUILD, "-t", "targets", "all"])
    tools = [p.stem for p in (TESTS / "tools").glob("*.c")]
    wanted = ["trawl", "tracegen", *tools, *(m[5:] for m in modules if m.startswith("unit/"))]
    if "libtrawl_mpi.so:" in known:
        wanted.append("trawl_mpi")
    run(["ninja", "-C", BUILD, *wanted])


class Compiler:
    """Builds the library with other texts for a file of its sources."""

    def __init__(self):
        self.commands = {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            if "trawl_objects" in entry["command"]:
                self.commands[entry["file"]] = shlex.split(entry["command"])
        self.link = run(["ninja", "-C", BUILD, "-t", "commands", "libtrawl.so"]).splitlines()[-1]
        self.link = shlex.split(self.link)
        self.users = {}
        for block in run(["ninja", "-C", BUILD, "-t", "deps"]).split("\n\n"):
            name, *used = block.split("\n")
            for path in used:
                path = os.path.normpath(BUILD / path.strip())
                self.users.setdefault(path, set()).add(name.split(":")[0])

    def sources_of(self, path):
        """What is to be compiled when a file changes."""
        if str(path) in self.commands:
            return [str(path)]
        users = self.users.get(str(path), ())
        return [f for f, c in self.commands.items() if c[c.index("-o") + 1] in users]

    def build(self, mutant, place):
        """The library in a directory, or None where the error does not compile."""
        path = ROOT / mutant.source.path
        copy = place / mutant.source.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(mutant.text())
        link = list(self.link)
        sources = self.sources_of(path)
        for number, source in enumerate(sources):
            command = [c for c in self.commands[source] if not c.endswith("ccache")]
            at = command.index("-o") + 1
            made = place / f"{number}.o"
            link[link.index(command[at])] = str(made)
            command[at] = str(made)
            if source == str(path):
                command[command.index("-c") + 1] = str(copy)
            else:
                command.insert(1, f"-I{place / 'src'}")
            if subprocess.run(command, cwd=BUILD, capture_output=True).returncode:
                return None
        link[link.index("-o") + 1] = str(place / "libtrawl.so")
        # ninja writes `: && gcc ... && :`.
        link = link[link.index("&&") + 1:len(link) - link[::-1].index("&&") - 1]
        done = subprocess.run(link, cwd=BUILD, capture_output=True)
        return place if sources and done.returncode == 0 else None


# ---- which code a test runs

class Code:
    """The calls of the tracing function for a line: that of the block it is in."""

    def __init__(self, link):
        self.library = BUILD / "libtrawl.so"
        self.calls = self.find_calls()
        self.lines = {}  # (path, line) -> addresses of calls
        self.read_lines([pathlib.Path(os.path.normpath(ROOT / w.split(".dir/", 1)[1][:-2]))
                         for w in link if w.startswith("CMakeFiles/trawl_objects.dir/")])

    def find_calls(self):
        """Where the tracing function is called: 0xe8 and how far away it is."""
        symbol = re.search(r"^([0-9a-f]+) \w __sanitizer_cov_trace_pc$",
                           run(["nm", self.library]), re.M)
        target = int(symbol[1], 16)
        section = re.search(r"\.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)",
                            run(["readelf", "-SW", self.library]))
        start, offset, size = (int(x, 16) for x in section.groups())
        text = self.library.read_bytes()[offset:offset + size]
        return [start + m.start() for m in re.finditer(rb"\xe8", text[:-4])
                if start + m.start() + 5 + struct.unpack_from("<i", text, m.start() + 1)[0]
                == target]

    def read_lines(self, sources):
        """objdump names the file of a unit without its directory; units are in the order of the
        link."""
        path, remaining = None, iter(sources)
        previous = ""
        for row in run(["objdump", "--dwarf=decodedline", self.library]).splitlines():
            words = row.split()
            if row.startswith("File name "):
                path = next(s for s in remaining if s.name == previous)
            elif row.endswith(":") and len(words) == 1:
                previous = row[:-1]
                if "/" in previous:
                    path = pathlib.Path(os.path.normpath(BUILD / previous))
            elif len(words) > 2 and words[1].isdigit() and path:
                at = bisect.bisect_right(self.calls, int(words[2], 16)) - 1
                if at >= 0:
                    name = str(path.relative_to(ROOT)) if ROOT in path.parents else str(path)
                    self.lines.setdefault((name, int(words[1])), set()).add(self.calls[at] + 5)

    def places(self, mutant, sources):
        """Addresses for the statement of an error, then those for its function; for a macro where
        it is."""
        path = str(mutant.source.path)
        if mutant.word:
            named = re.compile(rf"\b{mutant.word}\b")
            return [{a for s in sources for number, text in enumerate(s.text.split("\n"), 1)
                     if named.search(text)
                     for near in (number, number - 1, number - 2)
                     for a in self.lines.get((str(s.path), near), ())}]
        return [{a for line in lines for a in self.lines.get((path, line), ())}
                for lines in (mutant.lines, mutant.source.function_lines(mutant.function))]


class Test:
    """A unit test (a program), or a test in Python by its name: seconds that it takes, and computes;
    `ran` has a bit for an address."""

    def __init__(self, name, cost, ran, program=None):
        self.name, self.ran, self.program = name, ran, program
        self.takes, self.computes = cost

    def runs(self, places):
        return any(self.ran[a >> 3] >> (a & 7) & 1 for a in places if a >> 3 < len(self.ran))


def program_of(name):
    return BUILD / name if name.startswith("unit/") else None


def file_of(place, name):
    """Where mutate_tests.py has traced a test to."""
    return place / name.replace("/", ",").replace(": ", ";")


class Map:
    """Which code each test of a module runs, kept as long as library and tests are the same."""

    def __init__(self):
        MAPS.mkdir(exist_ok=True)
        digest = hashlib.sha256((BUILD / "libtrawl.so").read_bytes())
        digest.update((TOOLS / "mutate_tests.py").read_bytes())
        for path in sorted(p for p in TESTS.rglob("*") if p.suffix in (".c", ".h", ".py", ".json")):
            if not path.name.startswith("test_") and "corpus" not in path.parts:
                digest.update(path.read_bytes())
        self.common = digest.hexdigest() + environment()["TRAWL_SHARED"]

    def key(self, module):
        source = next(p for p in (TESTS / f"{module}.c", TESTS / f"{module}.py") if p.exists())
        return hashlib.sha256(self.common.encode() + source.read_bytes()).hexdigest()

    def tests(self, module):
        """(what was traced anew, tests)."""
        path = file_of(MAPS, f"{module}.zip")
        key = self.key(module)
        try:
            with zipfile.ZipFile(path) as kept:
                fresh = json.loads(kept.read("costs"))["key"] == key
        except (OSError, KeyError, zipfile.BadZipFile):
            fresh = False
        if not fresh:
            make_map(path, module, key)
        with zipfile.ZipFile(path) as kept:
            costs = json.loads(kept.read("costs"))["costs"]
            return not fresh, [Test(n, cost, kept.read(n), program_of(n))
                               for n, cost in costs.items()
                               if program_of(n) or cost[1] < LONGEST]


def make_map(path, module, key):
    with tempfile.TemporaryDirectory(prefix="trawl-ran-") as scratch:
        place = pathlib.Path(scratch)
        # Some tests are another user for a while.
        place.chmod(0o755)
        costs = dict((trace_unit if module.startswith("unit/") else trace_module)(module, place))
        whole = path.with_suffix(".new")
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as out:
            for name in costs:
                out.writestr(name, ran_bits(place, name))
            out.writestr("costs", json.dumps({"key": key, "costs": costs}))
        whole.replace(path)


def trace_unit(name, place):
    """[(name, cost)], or nothing where it fails as it is, twice: what is busy may be slow."""
    for _ in range(2):
        began = time.monotonic()
        done = subprocess.run([program_of(name)], cwd=ROOT, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=600,
                              env=environment(TRAWL_RAN=str(file_of(place, name)),
                                              TMPDIR=str(place)))
        if not done.returncode:
            return [(name, [time.monotonic() - began] * 2)]
    print(f"mutate: {name} fails without changes; skipped", flush=True)
    return []


def trace_module(name, place):
    """[(test, cost)] of those that pass."""
    done = subprocess.run([sys.executable, TOOLS / "mutate_tests.py", "--ran", place], cwd=ROOT,
                          input=name + "\n", text=True, capture_output=True, errors="replace",
                          env=environment(TMPDIR=str(place)), timeout=1800)
    if done.returncode:
        print(f"mutate: {name} cannot be run: {done.stderr[-300:]}", flush=True)
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith("not ok"):
            print(f"mutate: {line[7:]} fails without changes; skipped", flush=True)
    passed = (line[3:].split("\t") for line in lines if line.startswith("ok "))
    return [(test, [float(c) for c in cost]) for test, *cost in passed]


def ran_bits(place, name):
    """What a test ran, and the fixture of its class, or its module."""
    parts = [name] if name.startswith("unit/") else \
        [name, name.rsplit(".", 1)[0], name.split(":")[0]]
    bits = 0
    for path in (file_of(place, part) for part in parts):
        if path.exists():
            bits |= int.from_bytes(path.read_bytes(), "little")
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def tests_of(modules, jobs):
    began = time.monotonic()
    known = Map()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(known.tests, modules))
    tests = [t for _, some in found for t in some]
    print(f"{len(tests)} tests, {sum(anew for anew, _ in found)} of {len(modules)} programs traced "
          f"({time.monotonic() - began:.0f} s)", flush=True)
    return tests


# ---- whether a test notices

class Watched:
    """A program whose lines are read as they come; it ends with what it started."""

    def __init__(self, command, env, text=None):
        self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True,
                                        stdin=subprocess.PIPE if text else subprocess.DEVNULL)
        if text:
            self.process.stdin.write(text.encode())
            self.process.stdin.close()
        self.rest = b""

    def lines(self, wait):
        """Lines; None when none came for as long as wait() says."""
        out = self.process.stdout
        while True:
            if not select.select([out], [], [], wait())[0]:
                yield None
                return
            more = os.read(out.fileno(), 65536)
            if not more:
                return
            *whole, self.rest = (self.rest + more).split(b"\n")
            yield from (w.decode(errors="replace") for w in whole)

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdout.close()
        return self.process.wait()


def patience(cost):
    """Seconds after which a test hangs."""
    return PATIENCE + 10 * cost


def unit_notices(test, env):
    """Why, or nothing."""
    program = Watched([test.program], env)
    try:
        for line in program.lines(lambda: patience(test.takes)):
            found = line and TAP.match(line)
            if line is None:
                return f"{test.name} (hangs)"
            if found and found[1] == "not ok":
                return f"{test.name}: {found[2]}"
        status = program.process.wait()
        return f"{test.name} (exit {status})" if status else ""
    finally:
        program.end()


def python_notices(tests, env):
    costs = {t.name: t.takes for t in tests}
    now = ""
    program = Watched([sys.executable, TOOLS / "mutate_tests.py"], env,
                      "".join(f"{t.name}\n" for t in tests))
    try:
        for line in program.lines(lambda: patience(costs.get(now, 0))):
            if line is None:
                return f"{now} (hangs)"
            if line.startswith("began "):
                now = line[6:]
            elif line.startswith("not ok "):
                return line[7:].split("\t")[0]
        status = program.process.wait()
        return f"{now} (exit {status})" if status else ""
    finally:
        program.end()


def noticed_by(tests, library):
    """Which test notices first, or ""."""
    # What a test that is ended leaves goes with the library.
    env = environment(LD_LIBRARY_PATH=str(library), TMPDIR=str(library))
    unit = sorted((t for t in tests if t.program), key=lambda t: t.computes)
    python = sorted((t for t in tests if not t.program), key=lambda t: t.computes)
    # Unit tests are nearer to the code: only those that take as long as most of the others wait.
    slow = max(SLOW, sum(t.computes for t in python) / 2)
    for test in (t for t in unit if t.computes <= slow):
        if why := unit_notices(test, env):
            return why
    if python and (why := python_notices(python, env)):
        return why
    for test in (t for t in unit if t.computes > slow):
        if why := unit_notices(test, env):
            return why
    return ""


# ---- drawing

def sources_of(group, pattern):
    paths = [p for place in GROUPS[group][0] for p in sorted((ROOT / place).rglob("*.[ch]"))
             if ".gen." not in p.name and not NOT_TOUCHED.search(str(p))
             and re.search(pattern, str(p.relative_to(ROOT)))]
    return [mutants.Source(p.relative_to(ROOT), p.read_text()) for p in paths]


def explained():
    """What is known to change nothing: (file, function, before, after)."""
    lines = EXPLAINED.read_text().splitlines()[1:] if EXPLAINED.exists() else []
    return {tuple(line.split("\t")[:4]) for line in lines}


def explained_is_current():
    """An entry whose code is gone is reported."""
    for path, function, before, after in explained():
        file = ROOT / path
        found = file.exists() and any(m.key() == (path, function, before, after) for m in
                                      mutants.Source(pathlib.Path(path), file.read_text()).mutants())
        if not found:
            print(f"mutate: {EXPLAINED.name} explains what is no longer there: {path} {before}")


class Drawing:
    """Errors of a group in an order of chance.  Each has its own, by what it is and the seed: where
    other code changes, the same ones come first."""

    def __init__(self, group, seed, pattern, code, known):
        self.sources = sources_of(group, pattern)
        self.group = group
        made = [m for s in self.sources for m in s.mutants()
                if m.key() not in known and (not code or re.search(code, m.before()))]
        counts = collections.Counter(m.kind for m in made)

        def order(mutant):
            # Clips are few; all of them would be drawn soon.
            often = 2 ** (-counts[mutant.kind].bit_length() / 2)
            return random.Random("\t".join([str(seed), *mutant.key()])).expovariate(often)

        self.left = iter(sorted(made, key=order))

    def draw(self):
        return next(self.left, None)


class Board:
    def __init__(self):
        self.lock, self.count = threading.Lock(), 0
        self.noticed, self.survived, self.survivors = {}, {}, []

    def say(self, group, mutant, why, ran, seconds):
        with self.lock:
            self.count += 1
            counts = self.noticed if why else self.survived
            counts[group] = counts.get(group, 0) + 1
            if not why:
                self.survivors.append(mutant)
            print(f"{self.count}\t{mutant.source.path}:{mutant.line} {mutant.function}()\t"
                  f"{mutants.changed(mutant)}\t{'noticed by ' + why if why else f'SURVIVED {ran} tests'}\t"
                  f"{seconds:.1f} s", flush=True)

    def finish(self, groups):
        for group in groups:
            print(f"{group}: {self.noticed.get(group, 0)} noticed, "
                  f"{self.survived.get(group, 0)} survived")
        noticed, survived = sum(self.noticed.values()), sum(self.survived.values())
        print(f"{noticed + survived} errors, {noticed} noticed, {survived} survived")
        for mutant in self.survivors:
            print("survived: " + "\t".join(mutant.key()))
        return 1 if survived or not noticed else 0


def try_one(drawing, lock, compiler, code, tests, board):
    """Draws until one compiles, and tries it."""
    pattern = re.compile(GROUPS[drawing.group][1])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trawl-mutant-") as scratch:
        os.chmod(scratch, 0o755)
        library = None
        while not library:
            with lock:
                mutant = drawing.draw()
            if not mutant:
                return
            library = compiler.build(mutant, pathlib.Path(scratch))
        related = [t for t in tests if pattern.match(t.name.split(":")[0])]
        ran, why = [], ""
        # A jump may pass the statement by, whose error would not let it.
        for places in code.places(mutant, drawing.sources):
            able = [t for t in related if t not in ran and t.runs(places)]
            why = why or noticed_by(able, library)
            ran += able
        board.say(drawing.group, mutant, why, len(ran), time.monotonic() - began)


# ---- self test

TINY = """#define LEAST_PERCENT 4
#define BUFFER_SIZE 4
static const int table[] = { 1, 2 };

int tiny_kinds(int a, int b)
{
	char text[16];

	/* a < b */
	assert(a < b);
	if (a < 3 && b != 0)
		a = b + 1;
	while (a > 100) {
		if (!b)
			break;
		a -= 20;
	}
	if (b < a)
		b = a;
	if (b == 7)
		return a > 9 ? 1 : -1;
	report_error("a + b");
	return a > b ? b : a;
}
"""
# Kind -> the code after it; each is made once, and nothing else is.
TINY_KINDS = {
    ("threshold", "#define LEAST_PERCENT 5"), ("threshold", "#define LEAST_PERCENT 8"),
    ("threshold", "#define LEAST_PERCENT 2"), ("comparison", "if (a <= 3 && b != 0)"),
    ("comparison", "if (a < 3 && b == 0)"), ("logic", "if (a < 3 || b != 0)"),
    ("number", "if (a < 4 && b != 0)"), ("number", "if (a < 3 && b != 1)"),
    ("negated", "if (!(a < 3 && b != 0))"), ("sum", "a = b - 1;"), ("number", "a = b + 2;"),
    ("comparison", "while (a >= 100) {"), ("number", "while (a > 101) {"),
    ("number", "while (a > 200) {"), ("number", "while (a > 50) {"),
    ("negated", "while (!(a > 100)) {"), ("negated", "if (b)"), ("negated", "if (!(!b))"),
    ("removed", "if (!b) ;"), ("removed", "break; ;"), ("sum", "a += 20;"), ("number", "a -= 21;"), ("number", "a -= 40;"),
    ("number", "a -= 10;"), ("clip", "return a > b ? a : b;"), ("clip", "return a > b ? b : b;"),
    ("clip", "return a > b ? a : a;"),
    ("negated", "if (!(b < a))"), ("removed", "if (b < a) ;"), ("comparison", "if (b != 7)"),
    ("number", "if (b == 8)"), ("negated", "if (!(b == 7))"),
    ("comparison", "return a >= 9 ? 1 : -1;"), ("number", "return a > 10 ? 1 : -1;"),
}
PLANTED = """int tiny_clip(int x)
{
	return x > 10 ? 10 : x;
}

int tiny_untested(int x)
{
	return x + 1;
}

int tiny_half(int x)
{
	for (;;) {
		if (x % 2 == 0)
			break;
		x = 0;
	}
	return x;
}
"""
PLANTED_TEST = """#include <stdio.h>
int tiny_clip(int), tiny_untested(int), tiny_half(int);

int main(void)
{
	tiny_untested(1);
	printf("%sok 1 - clips\\n", tiny_clip(11) == 10 && tiny_clip(9) == 9 ? "" : "not ");
	printf("%sok 2 - half\\n", tiny_half(4) == 4 ? "" : "not ");
	return 0;
}
"""


def kinds_are_made():
    made = {(m.kind, m.after()) for m in
            mutants.Source(pathlib.Path("tiny.c"), TINY).mutants()}
    for kind, code in sorted(TINY_KINDS - made):
        print(f"not made: {kind}: {code}")
    for kind, code in sorted(made - TINY_KINDS):
        print(f"made: {kind}: {code}")
    return made == TINY_KINDS


def planted_is_seen(place):
    """Of the planted errors those of the function that no test looks at survive, no others."""
    source = mutants.Source(pathlib.Path("planted.c"), PLANTED)

    def library(text):
        (place / "planted.c").write_text(text)
        run(["gcc", "-shared", "-fPIC", "-o", place / "libtrawl.so", place / "planted.c"])

    library(PLANTED)
    (place / "test.c").write_text(PLANTED_TEST)
    program = place / "test_tiny"
    run(["gcc", "-o", program, place / "test.c", place / "libtrawl.so"])
    tests = [Test("unit/test_tiny", (0, 0), b"", program)]
    good = not noticed_by(tests, place)
    for mutant in source.mutants():
        if mutant.function == "tiny_half" and mutant.kind != "removed":
            continue
        library(mutant.text())
        why = noticed_by(tests, place)
        # The loop that `x = 0` would end is not entered by the test; without `break` it hangs.
        expected = {"tiny_clip": "test_tiny: clips", "tiny_untested": "",
                    "tiny_half": "hangs" if mutant.line == 15 else ""}[mutant.function]
        if (expected not in why) if expected else why:
            print(f"{mutants.changed(mutant)}: {why or 'survived'}")
            good = False
    return good


def self_test():
    global PATIENCE
    PATIENCE = 1
    with tempfile.TemporaryDirectory(prefix="trawl-mutate-") as scratch:
        good = [kinds_are_made(), planted_is_seen(pathlib.Path(scratch))]
    print("self-test: " + ("good" if all(good) else "FAILED"))
    return 0 if all(good) else 1


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1000000))
    ap.add_argument("--count", type=int, default=60)
    ap.add_argument("--only", choices=list(GROUPS), action="append", metavar="GROUP")
    ap.add_argument("--file", default="", metavar="PATTERN", help="only sources that match")
    ap.add_argument("--code", default="", metavar="PATTERN", help="only lines that match")
    ap.add_argument("--list", action="store_true", help="print what is drawn, run nothing")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--self-test", action="store_true")
    return ap.parse_args(argv)


def main(argv):
    options = parse(argv)
    # Databases are written, and a disk would be waited for.
    if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    if options.self_test:
        return self_test()
    groups = [g for g in GROUPS if not options.only or g in options.only]
    print(f"seed {options.seed}", flush=True)
    known = explained()
    drawings = [Drawing(g, options.seed, options.file, options.code, known) for g in groups]
    order = [drawings[i % len(drawings)] for i in range(options.count)]
    if options.list:
        for number, mutant in enumerate((d.draw() for d in order), 1):
            if mutant:
                print(f"{number}\t{mutant.source.path}:{mutant.line} {mutant.function}()\t"
                      f"{mutants.changed(mutant)}")
        return 0
    explained_is_current()
    # Who comes second waits.
    BUILD.mkdir(parents=True, exist_ok=True)
    busy = open(BUILD / "busy", "w")
    fcntl.flock(busy, fcntl.LOCK_EX)
    modules = related_modules(groups)
    build(modules)
    compiler = Compiler()
    code = Code(compiler.link)
    tests = tests_of(modules, options.jobs)
    board, lock = Board(), threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda d: try_one(d, lock, compiler, code, tests, board), order))
    return board.finish(groups)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
