#!/usr/bin/env python3
"""Measures trawl on large generated files (a trace, some with Python frames, an export of Nsight
Systems, the traces of eight ranks, a sweep) against other readers, and compares the ratios with their
targets. Exit status 1 when a target is missed.

usage: bench/run.py [--only traces|stacks|exports|merges|sweeps] [--size 1G] [--export-size 450M]
                    [--export FILE] [--rounds 5] [--quick] [--build build/release] [--keep DIR]
                    [--markdown FILE] [--json FILE]

Everything is measured in one run: each round runs every program once, so that a busy moment of the
machine hits all alike, and the best of the rounds counts. Absolute rates are those of this machine;
only the ratios are judged. --quick: 200 MB and 100 MB, three rounds. --export: one that is there.
"""
import argparse
import json
import pathlib
import sys
import tempfile

from exports import Exports
from measuring import RATIOS, table, write_markdown
from merges import Merges
from stacks import Stacks
from sweeps import Sweeps
from traces import Traces

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = {"traces": Traces, "stacks": Stacks, "exports": Exports, "merges": Merges,
         "sweeps": Sweeps}


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--only", choices=PARTS)
    ap.add_argument("--size", default="1G")
    ap.add_argument("--export-size", default="450M")
    ap.add_argument("--export", type=pathlib.Path, metavar="FILE")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    ap.add_argument("--keep", type=pathlib.Path, metavar="DIR",
                    help="make the traces here and leave them")
    ap.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = ap.parse_args(argv)
    options.root = ROOT
    options.parts = [options.only] if options.only else list(PARTS)
    if options.markdown and options.markdown.exists():
        # Before minutes are spent: is there a place to write to?
        text = options.markdown.read_text()
        for part in options.parts:
            if any(m not in text for m in PARTS[part].MARKS):
                ap.error(f"{options.markdown} has no lines {' and '.join(PARTS[part].MARKS)}")
    if options.quick:
        options.size, options.export_size, options.rounds = "200M", "100M", 3
    return options


def measure(options, part, place, command):
    """One part, printed and written into the page; its verdicts."""
    bench = PARTS[part](options, place)
    bench.measure()
    print(f"\n{bench.machine()}\n{bench.description()}\n")
    table(bench.HEAD, bench.measurements())
    verdicts = list(bench.verdicts())
    table(RATIOS, [(w, f"{v:.2f}", t, f"{verdict} {note}".strip())
                   for w, v, t, verdict, note in verdicts])
    if options.markdown:
        write_markdown(options.markdown, bench, command)
    return verdicts


def main(argv):
    options = parse(argv)
    command = " ".join(["./dev bench", *argv])
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="trawl-bench-") as temporary:
        place = options.keep or pathlib.Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        for part in options.parts:
            verdicts += measure(options, part, place, command)
    if options.json:
        options.json.write_text(json.dumps([{"ratio": w, "value": v, "target": t, "verdict": s}
                                            for w, v, t, s, _ in verdicts], indent=1) + "\n")
    missed = [v for v in verdicts if v[3] == "MISSED"]
    print(f"{len(verdicts) - len(missed)} of {len(verdicts)} targets met or skipped")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
