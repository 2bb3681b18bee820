"""Transformers, for training and inference: decoders and encoders, by a table of sizes (`model`)."""
from . import faults, inputs, ops, unfused
from .device import Tensor
from .parallel import Buckets

MODEL = {"layers": 4, "d": 2048, "heads": 16, "kv": 16, "ff": 8192, "vocab": 32000, "batch": 4, "seq": 1024,
         "dtype": "c10::BFloat16", "gated": False, "bias": False, "causal": True, "dropout": 0.0,
         "classes": ("Transformer", "Block", "Attention", "MLP"), "file": "model.py", "script": "train.py",
         "style": {"samples": 6, "frame": "corpus.py(44): __getitem__",
                   "parts": (("tokenizers/__init__.py(120): encode", 0.7), ("corpus.py(61): pad", 0.3))},
         "optimizer": "AdamW"}


class Transformer:
    def __init__(self, rank):
        self.rank, self.m = rank, {**MODEL, **rank.job.scenario.model}
        self.job = rank.job
        m = self.m
        self.dh = m["d"] // m["heads"]
        self.x = Tensor((m["batch"], m["seq"], m["d"]), m["dtype"])
        self.vocab = m["vocab"]

    # ---- parts of a layer ----------------------------------------------------------------------

    def line(self, number, name):
        return f"{self.m['file']}({number}): {name}"

    def norm(self, x, residual=True, place="norm"):
        """Residual and norm in one compiled kernel."""
        rank, d = self.rank, x.shape[-1]
        if self.m.get("norm") == "eager":
            if residual:
                ops.pointwise(rank, "add", x, x, "1", back=("AddBackward0",))
            return unfused.hand_norm(rank, x, self.line(18, "_norm")) if self.job.fault("norm") else ops.rms_norm(rank, x)
        w = Tensor((d,), x.dtype)
        ins, outs = ([x, x, w], [x, x]) if residual else ([x, w], [x])
        name = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1" if residual else \
            "triton_red_fused__to_copy_mean_mul_pow_rsqrt_0"
        return ops.compiled(rank, name, ins, outs, reduces=True, back=(
            "CompiledFunctionBackward", "triton_red_fused__to_copy_add_div_mul_pow_sum_backward_3",
            [x, x, x], [x]))

    def linear(self, x, n, name, **kw):
        """nn.Linear; a fault slows one of them down."""
        slow = self.job.fault("gemm")
        if slow and slow["name"] == name and slow.get("rank") in (None, self.rank.r):
            kw["at"] = slow["share"]
            if slow.get("backward"):
                kw["at_back"] = slow["share"]
        if self.m["dtype"] == "float":
            kw["tf32"] = not self.job.fault("no_tf32")
        with self.rank.module(f"{self.m.get('linear', 'Linear')}_{name}_{self.layer}"):
            with self.rank.frame("torch/nn/modules/linear.py(134): forward"):
                return ops.linear(self.rank, x, n, bias=self.m["bias"], **kw)

    def rotate(self, q, k):
        if not self.m.get("rope"):
            return
        if self.job.fault("rope"):
            return [unfused.hand_rope(self.rank, t, self.line(71, "apply_rotary_pos_emb")) for t in (q, k)]
        for t, n in ((q, "q"), (k, "k")):
            ops.compiled(self.rank, f"triton_poi_fused_add_cat_mul_neg_{n}_4", [t], [t], back=(
                "CompiledFunctionBackward", f"triton_poi_fused_add_cat_mul_neg_backward_{n}_5", [t], [t]))

    def attend(self, x):
        rank, m, (b, s, d) = self.rank, self.m, x.shape
        with rank.module(f"{m['classes'][2]}_{self.layer}"), rank.frame(self.line(95, "forward")):
            self.linear(x, (m["heads"] + 2 * m["kv"]) * self.dh, "qkv")
            q = Tensor((b, m["heads"], s, self.dh), x.dtype)
            k = Tensor((b, m["kv"], s, self.dh), x.dtype)
            faults.layout(rank, (q, k, k), self.line(88, "split_heads"))
            self.rotate(q, k)
            k = Tensor((b, m["heads"], s, self.dh), x.dtype)
            if self.job.fault("attention"):
                unfused.hand_attention(rank, q, k, self.job.fault("attention"), self.line(40, "attention_scores"))
            else:
                slow = self.job.fault("slow_attention") or {}
                ops.attention(rank, q, k, m["causal"], m["dropout"], at=slow.get("share"),
                              at_back=slow.get("share"))
            faults.layout(rank, (q,), self.line(90, "merge_heads"))
            out = self.linear(x, d, "o")
            faults.in_layer(rank, self.layer, self.m)
            return out

    def mlp(self, x):
        rank, m = self.rank, self.m
        with rank.module(f"{m['classes'][3]}_{self.layer}"), rank.frame(self.line(140, "forward")):
            up = self.linear(x, m["ff"] * (2 if m["gated"] else 1), "up")
            h = Tensor(up.shape[:-1] + (m["ff"],), up.dtype)
            if self.job.fault("chain"):
                unfused.chain(rank, h, self.job.fault("chain")["kind"], self.line(133, "activation"))
            elif m["gated"]:
                ops.compiled(rank, "triton_poi_fused_mul_silu_2", [up], [h], back=(
                    "CompiledFunctionBackward", "triton_poi_fused_mul_silu_silu_backward_6", [up, h], [up]))
            else:
                ops.compiled(rank, "triton_poi_fused_gelu_2", [h], [h], back=(
                    "CompiledFunctionBackward", "triton_poi_fused_gelu_gelu_backward_6", [h, h], [h]))
            faults.slow_pointwise(rank, h, self.line(141, "forward"))
            return self.linear(h, x.shape[-1], "down")

    def block(self, i, x):
        rank = self.rank
        self.layer = i
        with rank.module(f"{self.m['classes'][1]}_{i}"), rank.frame(self.line(170, "forward")):
            x = self.norm(x, residual=i > 0)
            x = self.attend(x)
            x = self.norm(x)
            return self.mlp(x)

    # ---- passes --------------------------------------------------------------------------------

    def forward(self):
        rank, m = self.rank, self.m
        ids = Tensor((m["batch"], m["seq"]), "long int")
        with rank.module(f"{m['classes'][0]}_0"), rank.frame(self.line(230, "forward")):
            with rank.module("Embedding_0"), rank.frame("torch/nn/modules/sparse.py(192): forward"):
                x = ops.embedding(rank, ids, self.vocab, m["d"], m["dtype"])
            for i in range(m["layers"]):
                faults.before_layer(rank, i, self.m)
                x = faults.checkpointed(rank, lambda y, i=i: self.block(i, y), x)
            x = self.norm(x)
            return self.head(x)

    def head(self, x):
        """Logits; the size of the vocabulary may be one that GEMMs do not like."""
        odd = self.job.fault("misaligned")
        self.layer = self.m["layers"]
        if odd:
            with self.rank.module("Linear_lm_head_0"), self.rank.frame("torch/nn/modules/linear.py(134): forward"):
                return ops.linear(self.rank, x, odd["n"], at=odd["share"], at_back=odd["share"], align=odd["align"])
        return self.linear(x, self.vocab, "lm_head")

    def parameters(self):
        m, d, t = self.m, self.m["d"], self.m["dtype"]
        qkv = (m["heads"] + 2 * m["kv"]) * self.dh
        layer = [Tensor(s, t) for s in ((qkv, d), (d, d), (m["ff"] * (2 if m["gated"] else 1), d), (d, m["ff"]), (d,), (d,))]
        return layer * m["layers"] + [Tensor((self.vocab, d), t)] * 2 + [Tensor((d,), t)]


def train(rank):
    """Steps of a training run."""
    model = Transformer(rank)
    m, job = model.m, rank.job
    rank.params = model.parameters()
    rank.hooks = Buckets(rank) if len(job.ranks_wanted) > 1 else None
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{m['script']}(118): train_step"):
            inputs.fetch(rank, m["style"])
            inputs.upload(rank, [Tensor((m["batch"], m["seq"]), "long int")] * 2, f"{m['script']}(64): to_device")
            ops.zero_grad(rank, m["optimizer"])
            rank.grad = True
            faults.compile_again(rank, step)
            ops.cross_entropy(rank, model.forward())
            ops.backward(rank)
            rank.grad = False
            faults.optimize(rank, m["optimizer"])
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)


def prefill(rank):
    """Inference on whole prompts."""
    model = Transformer(rank)
    m = model.m
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{m['script']}(52): run_batch"):
            inputs.upload(rank, [Tensor((m["batch"], m["seq"]), "long int")], f"{m['script']}(31): to_device")
            faults.compile_again(rank, step)
            model.forward()
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
