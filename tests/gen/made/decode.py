"""Decoding of language models, a token a step: a serving engine's operators, eager or in one GPU
graph."""
from contextlib import nullcontext

from . import faults, inputs, kernels, ops
from .device import Tensor
from .kernels import named

MODEL = {"layers": 12, "d": 1536, "heads": 12, "kv": 4, "ff": 4096, "vocab": 49152, "batch": 8,
         "context": 1024, "dtype": "c10::BFloat16", "file": "engine/model.py",
         "script": "engine/worker.py"}


class Decoder:
    def __init__(self, rank):
        self.rank, self.m = rank, {**MODEL, **rank.job.scenario.model}
        self.dh = self.m["d"] // self.m["heads"]

    def custom(self, name, kernel, *inputs, us=None):
        """An operator of the engine's own library."""
        rank = self.rank
        moved = sum(t.bytes for t in inputs if isinstance(t, Tensor))
        with rank.op(name, *inputs):
            rank.launch(named(kernel, self.m["dtype"]), us or kernels.memory_us(rank, moved, name),
                        grid=(self.m["batch"], 1, 1), block=(512, 1, 1))

    def linear(self, x, n, name):
        slow = self.rank.job.fault("gemm")
        with self.rank.frame(f"{self.m['file']}(41): {name}"):
            return ops.linear(self.rank, x, n,
                              at=slow["share"] if slow and slow["name"] == name else None)

    def norm(self, x):
        self.custom("_C::fused_add_rms_norm", "engine_norm", x, x, Tensor(x.shape[-1:], x.dtype),
                    "1.0000000000000001e-05")

    def attend(self, x):
        rank, m = self.rank, self.m
        b, width = m["batch"], m["kv"] * self.dh
        q = Tensor((b, m["heads"], self.dh), x.dtype)
        k = Tensor((b, m["kv"], self.dh), x.dtype)
        self.linear(x, m["d"] + 2 * width, "qkv_proj")
        self.custom("_C::rotary_embedding", "engine_rotary", Tensor((b,), "long int"), q, k)
        self.custom("_C_cache_ops::reshape_and_cache_flash", "engine_cache", k, k)
        cache = 2 * b * m["context"] * width * 2
        self.custom("_flash_attn_C::fwd_kvcache", "engine_attention", q,
                    us=kernels.memory_us(rank, cache, "paged"))
        self.linear(x, m["d"], "o_proj")

    def layer(self, i, x):
        rank, m = self.rank, self.m
        with rank.module("DecoderLayer", i), rank.frame(f"{m['file']}(212): forward"):
            self.norm(x)
            with rank.module("PagedAttention", i), rank.frame(f"{m['file']}(120): forward"):
                self.attend(x)
            self.norm(x)
            up = self.linear(x, 2 * m["ff"], "gate_up_proj")
            h = Tensor((m["batch"], m["ff"]), x.dtype)
            self.custom("_C::silu_and_mul", "engine_activation", h, up)
            return self.linear(h, m["d"], "down_proj")

    def forward(self):
        rank, m = self.rank, self.m
        with rank.frame(f"{m['file']}(330): forward"):
            x = Tensor((m["batch"], m["d"]), m["dtype"])
            ops.embedding(rank, Tensor((m["batch"],), "long int"), m["vocab"], m["d"], m["dtype"])
            for i in range(m["layers"]):
                x = self.layer(i, x)
            self.norm(x)
            return self.linear(x, m["vocab"], "lm_head")

    def sample(self, logits):
        """The next token, on the GPU."""
        rank = self.rank
        with rank.frame(f"{self.m['script']}(77): sample"):
            with rank.op("aten::argmax", logits, "-1", "False"):
                rank.launch(named("argmax", logits.dtype),
                            kernels.memory_us(rank, logits.bytes, "argmax"),
                            grid=(self.m["batch"], 1, 1), block=(512, 1, 1))


def decode(rank):
    """Steps of one token; in a graph, unless the run has the fault of launching one by one."""
    model = Decoder(rank)
    m, script = model.m, model.m["script"]
    ids = Tensor((m["batch"],), "long int")
    faults.before_steps(rank)
    for step in faults.steps(rank):
        eager = rank.job.fault("eager")
        with rank.frame(f"{script}(140): execute_model"):
            inputs.upload(rank, [ids, ids], f"{script}(52): prepare_inputs")
            with nullcontext() if eager else rank.frame(f"{script}(101): replay", plain=True):
                with nullcontext() if eager else rank.graph_launch():
                    logits = model.forward()
            model.sample(logits)
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
