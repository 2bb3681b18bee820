#!/usr/bin/env python3
"""Made runs of PyTorch-like programs with known faults.

  runs.py --list             the runs
  runs.py OUTDIR [NAME...]   OUTDIR/NAME/trace.json.gz (or rankN.json.gz) and truth.json

Each run is simulated with its faults and without them, all other random numbers the same, so the
gain of removing a fault is known exactly: README.md. The same bytes each time.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from made import held_out, others, record  # noqa: F401 (their runs are in SCENARIOS)
from made.scenario import SCENARIOS as BY_NAME
from made.truth import truth

SCENARIOS = dict(sorted(BY_NAME.items(), key=lambda item: item[1].seed))
# Truth fixed before the rules that it tests: a digest of each truth (tests/property/test_runs.py).
HELD_OUT = {
    "loading_hidden": "a60be239fbfedc2b",
    "decode_slow_gemm_host_limits": "1bfc143ae851feb8",
    "cpu_in_layers": "d6d579c9be175152",
    "stream_synchronized_by_hand": "ccde963f80154f17",
    "loss_read_in_each_step": "d3d587192ead1a1b",
    "empty_cache_in_steps": "934177d1704233e1",
    "pageable_batch": "31ff83a35a3bf10b",
    "attention_by_hand_infer": "3a0f910cf94815b4",
    "attention_by_hand_bias_hip": "3e6ae485a7cb9df4",
    "rope_by_hand_infer": "caa5ddc63b0d8a9f",
    "rms_norm_by_hand_train": "5562db09e603deb9",
    "slow_gemm": "16a7f340f99e31a3",
    "fp32_without_tf32": "c8c20e1dbd107f9e",
    "products_of_groups": "49be1681a69e1e47",
    "slow_lookups": "90baf74c38f6f698",
    "optimizer_one_by_one": "27280b6234f740d8",
    "layers_run_again": "0b94ccbd5aea336e",
    "allreduce_behind_backward": "052477e95f8f5fbb",
    "slow_link": "b1147b423aa212ca",
    "straggler_eight_ranks": "c28f3943e8cb6d45",
    "bubble_forward_first": "5b340afdd8a05dc7",
    "three_faults_ranks": "57607c19c21d2ff0",
    "healthy_mi300x_train": "f8f594c880b55810",
    "first_step_loads_code": "456d2bd15eae3da7",
    "idle_before_the_steps": "f66c5e51a98f1021",
    "work_from_before": "5a326dbf0c27dc28",
    "pointwise_beside": "f2a34d305d71f2bc",
}


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
            kinds = ", ".join(s.kinds.values()) or s.observation
            print(f"{s.name:34} {s.device:7} {s.ranks} {kinds}")
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
