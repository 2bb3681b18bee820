"""Transformers in training and inference: decoders and encoders, by a table of sizes (`model`)."""
from contextlib import nullcontext

from . import faults, inputs, ops, unfused
from .device import Tensor
from .parallel import hook, tensor_parallel

MODEL = {
    "layers": 4, "d": 2048, "heads": 16, "kv": 16, "ff": 8192, "vocab": 32000, "batch": 4,
    "seq": 1024, "dtype": "c10::BFloat16", "gated": False, "bias": False, "causal": True,
    "dropout": 0.0, "classes": ("Transformer", "Block", "Attention", "MLP"), "file": "model.py",
    "script": "train.py", "optimizer": "AdamW",
    "style": {"samples": 6, "frame": "corpus.py(44): __getitem__",
              "parts": (("tokenizers/__init__.py(120): encode", 0.7), ("corpus.py(61): pad", 0.3))}}
EMBEDDING = "torch/nn/modules/sparse.py(192): forward"
LINEAR = "torch/nn/modules/linear.py(134): forward"


class Transformer:
    def __init__(self, rank):
        self.rank, self.job = rank, rank.job
        self.m = m = {**MODEL, **rank.job.scenario.model}
        self.dh, self.vocab = m["d"] // m["heads"], m["vocab"]
        self.qkv = (m["heads"] + 2 * m["kv"]) * self.dh
        self.up = m["ff"] * (2 if m["gated"] else 1)
        self.x = Tensor((m["batch"], m["seq"], m["d"]), m["dtype"])

    # ---- parts of a layer ----------------------------------------------------------------------

    def line(self, number, name):
        return f"{self.m['file']}({number}): {name}"

    def norm(self, x, residual=True):
        """Residual and norm in one compiled kernel, or eager."""
        rank, w = self.rank, Tensor(x.shape[-1:], x.dtype)
        if self.m.get("norm") == "eager":
            if residual:
                ops.pointwise(rank, "add", x, x, "1", back=("AddBackward0",))
            if self.job.fault("norm"):
                return unfused.hand_norm(rank, x, self.line(18, "_norm"))
            return ops.rms_norm(rank, x)
        name = f"triton_red_fused__to_copy_{'add_' * residual}mean_mul_pow_rsqrt_{int(residual)}"
        ins, outs = ([x, x, w], [x, x]) if residual else ([x, w], [x])
        back = "triton_red_fused__to_copy_add_div_mul_pow_sum_backward_3", [x, x, x], [x]
        return ops.compiled(rank, name, ins, outs, back, reduces=True)

    def linear(self, x, n, name, **kw):
        """nn.Linear; a fault slows one of them down."""
        slow = self.job.fault("gemm")
        if slow and slow["name"] == name and slow.get("rank") in (None, self.rank.r):
            kw["at"] = slow["share"]
            kw["at_back"] = slow["share"] if slow.get("backward") else None
        slow = self.job.fault("layer")
        if slow and (slow["name"], slow["layer"]) == (name, self.layer):
            kw["at"] = slow["share"]
        with self.rank.module("Linear", f"{name} {self.layer}"), self.rank.frame(LINEAR):
            return ops.linear(self.rank, x, n, bias=self.m["bias"], **kw)

    def rotate(self, q, k):
        if not self.m.get("rope"):
            return
        for t, n in ((q, "q"), (k, "k")):
            if self.job.fault("rope"):
                unfused.hand_rope(self.rank, t, self.line(71, "apply_rotary_pos_emb"))
            else:
                back = f"triton_poi_fused_add_cat_mul_neg_backward_{n}_5", [t], [t]
                ops.compiled(self.rank, f"triton_poi_fused_add_cat_mul_neg_{n}_4", [t], [t], back)

    def attend(self, x):
        rank, m, (b, s, d) = self.rank, self.m, x.shape
        slow, by_hand = self.job.fault("slow_attention") or {}, self.job.fault("attention")
        with rank.module(m["classes"][2], self.layer), rank.frame(self.line(95, "forward")):
            self.linear(x, self.qkv, "qkv")
            q = Tensor((b, m["heads"], s, self.dh), x.dtype)
            k = Tensor((b, m["kv"], s, self.dh), x.dtype)
            faults.layout(rank, (q, k, k), self.line(88, "split_heads"))
            self.rotate(q, k)
            if by_hand:
                unfused.hand_attention(rank, q, q, by_hand, self.line(40, "attention_scores"))
            else:
                ops.attention(rank, q, q, m["causal"], m["dropout"], at=slow.get("share"))
            faults.layout(rank, (q,), self.line(90, "merge_heads"))
            out = self.linear(x, d, "o")
            faults.in_layer(rank, self.layer, m)
            tensor_parallel(rank, out)
            return out

    def activation(self, up, h):
        rank, form = self.rank, self.job.fault("chain")
        if form:
            unfused.chain(rank, h, form["form"], self.line(133, "activation"))
        elif self.m["gated"]:
            back = "triton_poi_fused_mul_silu_silu_backward_6", [up, h], [up]
            ops.compiled(rank, "triton_poi_fused_mul_silu_2", [up], [h], back)
        else:
            back = "triton_poi_fused_gelu_gelu_backward_6", [h, h], [h]
            ops.compiled(rank, "triton_poi_fused_gelu_2", [h], [h], back)

    def mlp(self, x):
        rank, m = self.rank, self.m
        with rank.module(m["classes"][3], self.layer), rank.frame(self.line(140, "forward")):
            up = self.linear(x, self.up, "up")
            h = Tensor(up.shape[:-1] + (m["ff"],), up.dtype)
            self.activation(up, h)
            faults.extra(rank, h, self.line(141, "forward"))
            faults.group_projection(rank, x, self.line(150, "group_projection"))
            out = self.linear(h, x.shape[-1], "down")
            tensor_parallel(rank, out)
            return out

    def block(self, i, x):
        rank = self.rank
        self.layer = i
        with rank.module(self.m["classes"][1], i), rank.frame(self.line(170, "forward")):
            x = self.norm(x, residual=i > 0)
            x = self.attend(x)
            x = self.norm(x)
            return self.mlp(x)

    # ---- passes --------------------------------------------------------------------------------

    def forward(self):
        rank, m = self.rank, self.m
        ids = Tensor((m["batch"], m["seq"]), "long int")
        with rank.module(m["classes"][0], 0), rank.frame(self.line(230, "forward")):
            with rank.module("Embedding", 0), rank.frame(EMBEDDING):
                x = ops.embedding(rank, ids, self.vocab, m["d"], m["dtype"])
            for i in range(m["layers"]):
                faults.before_layer(rank, i, m["layers"])
                x = faults.checkpointed(rank, lambda y, i=i: self.block(i, y), x)
            x = self.norm(x)
            return self.head(x)

    def head(self, x):
        """Logits; the size of the vocabulary may be one that GEMMs do not like."""
        odd = self.job.fault("misaligned")
        self.layer = self.m["layers"]
        if odd:
            with self.rank.module("Linear", "lm_head"), self.rank.frame(LINEAR):
                return ops.linear(self.rank, x, odd["n"], at=odd["share"], at_back=odd["share"],
                                  align=odd["align"])
        return self.linear(x, self.vocab, "lm_head")

    def parameters(self):
        d, t = self.m["d"], self.m["dtype"]
        shapes = [(self.qkv, d), (d, d), (self.up, d), (d, self.m["ff"]), (d,), (d,)]
        shapes = shapes * self.m["layers"] + [(self.vocab, d)] * 2 + [(d,)]
        return [Tensor(s, t) for s in shapes]


def train(rank):
    """Steps of a training run."""
    model = Transformer(rank)
    m, script = model.m, model.m["script"]
    ids = Tensor((m["batch"], m["seq"]), "long int")
    rank.params = model.parameters()
    hook(rank)
    faults.before_steps(rank)
    for step in faults.steps(rank):
        graph = m.get("graph") and not rank.job.fault("eager")
        with rank.frame(f"{script}(118): train_step"):
            inputs.fetch(rank, m["style"])
            inputs.upload(rank, [ids, ids], f"{script}(64): to_device")
            ops.zero_grad(rank, m["optimizer"])
            faults.compile_again(rank, step)
            faults.host_late(rank, m)
            faults.side_work(rank)
            with rank.graph_launch() if graph else nullcontext():
                rank.grad = True
                ops.cross_entropy(rank, model.forward())
                ops.backward(rank)
                rank.grad = False
                faults.optimize(rank, m["optimizer"])
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)


def prefill(rank):
    """Inference on whole prompts."""
    model = Transformer(rank)
    m, script = model.m, model.m["script"]
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(52): run_batch"):
            inputs.upload(rank, [Tensor((m["batch"], m["seq"]), "long int")],
                          f"{script}(31): to_device")
            faults.compile_again(rank, step)
            faults.side_work(rank)
            model.forward()
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
