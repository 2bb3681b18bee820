"""The runs: NAME -> program, faults, sizes, seed."""
from . import transformer


class Scenario:
    """`faults`: fault -> parameters, with `kind` (of finding) and `where` beside them."""

    def __init__(self, name, device, program, seed, faults=None, model=None, ranks=1, steps=4, observation=None,
                 also_ok=(), measure="steady", more=None, description="", **config):
        self.name, self.device, self.program, self.seed = name, device, program, seed
        faults = faults or {}
        self.kinds = {n: f["kind"] for n, f in faults.items()}
        self.where = {n: f["where"] for n, f in faults.items()}
        self.faults = {n: {k: v for k, v in f.items() if k not in ("kind", "where")} for n, f in faults.items()}
        self.model, self.ranks, self.steps = model or {}, ranks, steps
        self.observation = None if faults else observation or "nothing_found"
        self.also_ok, self.measure, self.more = also_ok, measure, more
        self.description, self.config = description, config


SCENARIOS = {}


def run(name, *args, **kw):
    SCENARIOS[name] = Scenario(name, *args, **kw)


LLAMA = {"layers": 4, "d": 2560, "heads": 20, "kv": 4, "ff": 6912, "vocab": 64000, "batch": 2, "seq": 2048, "gated": True,
         "rope": True, "classes": ("CausalLM", "DecoderLayer", "SelfAttention", "GatedMLP"),
         "file": "llm/modeling.py", "script": "pretrain.py"}
VIT = {"layers": 6, "d": 1024, "heads": 16, "kv": 16, "ff": 4096, "vocab": 16384, "batch": 48, "seq": 256, "causal": False,
       "bias": True, "dtype": "c10::Half", "classes": ("VisionTransformer", "EncoderBlock", "MultiheadSelfAttention", "FeedForward"),
       "file": "vision/vit.py", "script": "main_pretrain.py",
       "style": {"samples": 8, "frame": "datasets/folder.py(93): __getitem__",
                 "parts": (("<built-in function imdecode>", 0.55), ("albumentations/core/composition.py(341): __call__", 0.45))}}

run("healthy_h100_train", "H100", transformer.train, 11, model=LLAMA, first_step=7,
    description="A decoder is trained; everything compiled or from libraries, the GPU always busy.")
run("item_in_layers", "H200", transformer.train, 23, model={**LLAMA, "layers": 5, "batch": 1}, first_step=12,
    reads={"how": "item", "line": 188, "function": "record_router_load", "python_us": 240},
    faults={"sync": {"kind": "host_sync", "where": {"op": "aten::item", "file": "llm/modeling.py(188): record_router_load",
                                                    "call": "cudaStreamSynchronize"}}},
    also_ok=("launch_bound",),
    description="Each layer reads a statistic with .item() and books it in Python. Without: no .item(), the same Python.")
run("straggler_two_ranks", "A100", transformer.train, 37, model={**VIT, "layers": 4}, ranks=2, steps=3,
    clocks={1: -734000}, faults={"straggler": {"kind": "straggler_compute", "rank": 1, "factor": 1.14, "where": {"rank": 1}}},
    also_ok=("exposed_communication",), description="All kernels of rank 1 take 14 % longer. Without: as rank 0.")
