"""A recommendation model in training: embedding tables, an interaction, dense layers in fp32."""
from . import faults, inputs, ops
from .device import Tensor
from .parallel import hook
from .transformer import LINEAR

MODEL = {
    "batch": 16384, "tables": 8, "rows": 1000000, "hots": 16, "d": 128, "dense": 256, "pairs": 512,
    "bottom": (1024, 1024, 512, 128), "top": (2048, 2048, 1024, 256), "dtype": "float",
    "file": "recsys/dlrm.py", "script": "recsys/main.py", "side": 18, "optimizer": "AdamW",
    "style": {"samples": 4, "frame": "recsys/criteo.py(77): __getitem__",
              "parts": (("recsys/criteo.py(84): read_block", 0.4),
                        ("recsys/criteo.py(102): hash_features", 0.6))}}


class Recommender:
    def __init__(self, rank):
        self.rank, self.m = rank, {**MODEL, **rank.job.scenario.model}

    def lookup(self, i):
        """A table's rows for the batch; gradients of tables are kept sparse, outside of this."""
        rank, m = self.rank, self.m
        slow = rank.job.fault("lookup") or {}
        with rank.module("EmbeddingTable", i), rank.frame(f"{m['file']}(66): forward"):
            grad, rank.grad = rank.grad, False
            ops.embedding(rank, Tensor((m["batch"], m["hots"]), "long int"), m["rows"], m["d"],
                          m["dtype"], at=slow.get("share"))
            rank.grad = grad
            ops.reduction(rank, "sum", Tensor((m["batch"], m["d"], m["hots"]), m["dtype"]))

    def layers(self, x, sizes, name):
        """Dense layers and their activations."""
        rank = self.rank
        tf32 = not rank.job.fault("no_tf32")
        for i, n in enumerate(sizes):
            with rank.module("Linear", f"{name} {i}"), rank.frame(LINEAR):
                x = ops.linear(rank, x, n, tf32=tf32)
            ops.compiled(rank, "triton_poi_fused_relu_0", [x], [x],
                         ("triton_poi_fused_threshold_backward_1", [x, x], [x]))
        return x

    def forward(self):
        rank, m = self.rank, self.m
        with rank.module("DLRM", 0), rank.frame(f"{m['file']}(131): forward"):
            for i in range(m["tables"]):
                self.lookup(i)
            self.layers(Tensor((m["batch"], m["dense"]), m["dtype"]), m["bottom"], "bottom")
            return self.layers(self.interact(), m["top"], "top")

    def interact(self):
        """Products of all pairs of vectors, compiled with what is around them."""
        m = self.m
        v = Tensor((m["batch"], m["tables"] + 1, m["d"]), m["dtype"])
        out = Tensor((m["batch"], m["pairs"]), m["dtype"])
        return ops.compiled(self.rank, "triton_per_fused_bmm_cat_index_2", [v], [out],
                            ("triton_poi_fused_bmm_cat_index_backward_3", [out, v], [v]))

    def loss(self, y):
        ops.compiled(self.rank, "triton_per_fused_binary_cross_entropy_with_logits_4", [y],
                     [Tensor((1,), "float")], ("triton_poi_fused_sigmoid_sub_5", [y], [y]))

    def parameters(self):
        out = []
        for first, sizes in ((self.m["dense"], self.m["bottom"]), (self.m["pairs"], self.m["top"])):
            for n in sizes:
                out.append(Tensor((n, first), self.m["dtype"]))
                first = n
        return out


def train(rank):
    model = Recommender(rank)
    m, script = model.m, model.m["script"]
    rank.params = model.parameters()
    hook(rank)
    dense = Tensor((m["batch"], m["dense"]), "float")
    ids = Tensor((m["batch"] * m["tables"] * m["hots"],), "long int")
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(88): train_step"):
            inputs.fetch(rank, m["style"])
            inputs.upload(rank, [dense, ids], f"{script}(61): to_gpu", m["side"])
            ops.zero_grad(rank, m["optimizer"])
            rank.grad = True
            model.loss(model.forward())
            ops.backward(rank)
            rank.grad = False
            faults.optimize(rank, m["optimizer"])
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
