#!/usr/bin/env python3
"""Compares two programs by all that they write, byte for byte: for a change that shall show nowhere.

usage: tools/same_output.py [--only REGEX] [--jobs N] [--keep DIR] OLD NEW

Runs every command of OLD and NEW on the project's fixtures and on everything under TRAWL_SHARED
(default ../shared) that looks like an input, each in a directory of its own with the same names,
and compares standard output, standard error, exit status and files. What differs is named, with the
first line that does; the exit status is 1 then. --keep DIR leaves both sides of what differs there.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("TRAWL_SHARED", ROOT.parent / "shared")).resolve()
QUERIES = ("setup", "windows", "streams", "overlap", "ranges")
TRACE = re.compile(r"\.json(\.gz|\.zst)?$")
EXPORT = re.compile(r"\.(sqlite|db)$")
NOT_AN_INPUT = re.compile(r"/(refs|tools|design|style|spec|seeds|path)/|expect\.|truth|manifest")


def files():
    """Traces and exports, of any quality."""
    for place in (ROOT / "examples", ROOT / "tests", SHARED):
        for path in sorted(place.rglob("*")):
            if path.is_file() and (TRACE.search(path.name) or EXPORT.search(path.name)) and \
                    not NOT_AN_INPUT.search(f"/{path.relative_to(place)}"):
                yield path


def rank_sets():
    """Directories with two traces or more."""
    for place in sorted({path.parent for path in files() if TRACE.search(path.name)}):
        if sum(bool(TRACE.search(p.name)) for p in place.iterdir()) > 1:
            yield place


def commands():
    """(name, arguments); {out} is where files go."""
    for path in files():
        if EXPORT.search(path.name):
            for query in QUERIES:
                yield ["nsys", query, path]
                yield ["nsys", query, path, "--format", "json"]
                if query != "ranges":
                    yield ["nsys", query, path, "--compat"]
        yield ["report", path, "-o", "{out}"]
        yield ["report", path, "-o", "{out}", "--no-xlsx", "--format", "json"]
        yield ["check", path]
        if TRACE.search(path.name):
            yield ["analyze", path, "-o", "{out}", "--platform", "MI300X"]
    for place in rank_sets():
        for command in (["collectives", place, "-o", "{out}"], ["merge", place, "-o", "{out}.json"],
                        ["report", place, "-o", "{out}"], ["report", place, "-o", "{out}", "--each"],
                        ["merge", place, "-o", "{out}.json", "--compat"]):
            yield command
    threads = (p for p in SHARED.glob("cases/sweep/**/*thread*") if p.is_dir())
    for place in sorted({p.parent for p in threads}):
        for stage in ("report", "all", "variance", "timestamps", "overlap", "timeline"):
            yield ["sweep", stage, place, "-o", "{out}"]
    csvs = sorted({p.parent for p in SHARED.glob("traces/*/**/*.csv") if "perf_report" in str(p)})
    for one, other in zip(csvs, csvs[1:]):
        yield ["compare", one, other, "-o", "{out}", "--html", "{out}.html"]
    for path in sorted(SHARED.glob("cases/compare/*/*")):
        if path.is_dir():
            yield ["compare", path, path, "-o", "{out}"]
    yield ["platforms"]
    yield ["model"]
    yield ["nsys", "rules"]
    names = subprocess.run([sys.argv[-1], "help"], capture_output=True, text=True).stdout
    for name in re.findall(r"(?m)^  ([a-z]+)  ", names):
        yield ["help", name]


def run(program, command, place):
    """What it comes to: {name: bytes}."""
    place.mkdir(parents=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TRAWL_HASH_SEED": "1",
                   "TZ": "UTC", "COLUMNS": "100"}
    arguments = [str(a).replace("{out}", "out") for a in command]
    try:
        done = subprocess.run([program, *arguments], cwd=place, env=environment,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    except subprocess.TimeoutExpired:
        return {"end": f"none after 300 s, {program}".encode()}
    result = {"standard output": done.stdout, "standard error": done.stderr,
              "exit status": b"%d" % done.returncode}
    for path in sorted(place.rglob("*")):
        if path.is_file():
            result[str(path.relative_to(place))] = path.read_bytes()
    return result


def first_difference(name, one, other):
    if one is None or other is None:
        return f"{name}: only {'new' if one is None else 'old'}"
    for number, (a, b) in enumerate(zip(one.split(b"\n") + [b""], other.split(b"\n") + [b""]), 1):
        if a != b:
            return f"{name}, line {number}: {a[:160]!r} is {b[:160]!r}"
    return f"{name}: lengths differ"


def compare(options, number, command):
    with tempfile.TemporaryDirectory() as scratch:
        places = [pathlib.Path(scratch) / side / "run" for side in ("old", "new")]
        old, new = (run(program, command, place)
                    for program, place in zip((options.old, options.new), places))
        differences = [first_difference(name, old.get(name), new.get(name))
                       for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
        if differences and options.keep:
            shutil.copytree(scratch, pathlib.Path(options.keep) / str(number), dirs_exist_ok=True)
        return len(old), differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="commands whose words match")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="where both sides of what differs are left")
    parser.add_argument("old", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("new", type=lambda p: str(pathlib.Path(p).resolve()))
    options = parser.parse_args()
    wanted = [c for c in commands() if re.search(options.only, " ".join(map(str, c)))]
    outputs = different = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda item: compare(options, *item), enumerate(wanted))
        for command, (count, differences) in zip(wanted, results):
            outputs += count
            different += bool(differences)
            if differences:
                print("trawl", *command)
                for line in differences[:8]:
                    print(f"    {line}")
    print(f"{len(wanted)} commands, {outputs} outputs, {different} commands differ")
    return 1 if different or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
