#!/usr/bin/env python3
"""Made runs of PyTorch-like programs with known faults.

  runs.py --list             the scenarios
  runs.py OUTDIR [NAME...]   OUTDIR/NAME/trace.json.gz (or rankN.json.gz) and truth.json

Each run is simulated with its faults and without them, all other random numbers the same, so the
gain of removing a fault is known exactly: README.md. The same bytes each time.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from made import record
from made.truth import truth
from made.scenarios import SCENARIOS


def make(scenario, out):
    """Writes one run."""
    directory = pathlib.Path(out) / scenario.name
    directory.mkdir(parents=True, exist_ok=True)
    job, facts = truth(scenario)
    record.write(job, directory)
    (directory / "truth.json").write_text(json.dumps(facts, indent=1) + "\n")
    return facts


def main(argv):
    if argv == ["--list"]:
        for s in SCENARIOS.values():
            print(f"{s.name:34} {s.device:7} {s.ranks} {', '.join(s.kinds.values()) or s.observation}")
        return 0
    if not argv or argv[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    unknown = [n for n in argv[1:] if n not in SCENARIOS]
    if unknown:
        print(f"runs.py: no run '{unknown[0]}' (see --list)", file=sys.stderr)
        return 2
    for name in argv[1:] or SCENARIOS:
        make(SCENARIOS[name], argv[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
