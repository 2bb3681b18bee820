"""Mixture of experts over ranks, an expert on each: tokens go to their experts and back by
all-to-all, in the forward pass and in the backward pass."""
from . import comm, faults, inputs, ops
from .device import Tensor
from .parallel import hook
from .transformer import Transformer


class Experts(Transformer):
    def __init__(self, rank):
        super().__init__(rank)
        self.size = len(self.job.ranks_wanted)

    def tokens(self):
        """How many tokens each rank's expert gets from one rank, by rank."""
        n, size = self.m["batch"] * self.m["seq"], self.size
        fault = self.job.fault("imbalance")
        if not fault:
            return [n // size] * size
        rest = int(n * (1 - fault["share"]) / (size - 1)) // 8 * 8
        return [n - rest * (size - 1) if r == fault["rank"] else rest for r in range(size)]

    def exchange(self, outward):
        """To the experts, or back; as long as the rank needs that sends or gets most."""
        rank, d, to = self.rank, self.m["d"], self.tokens()
        mine, here = sum(to), to[rank.r] * self.size
        splits = [to, [to[rank.r]] * self.size]
        if not outward:
            mine, here, splits = here, mine, splits[::-1]
        most = max(max(to) * self.size, sum(to))
        us = comm.transfer_us(rank, "all_to_allv", most * d, self.m["dtype"], self.size)
        comm.wait_for(rank, comm.collective(
            rank, self.job.world, "all_to_allv", mine * d, self.m["dtype"], out=here * d,
            splits=tuple(map(str, splits)), us=us))

    def sent(self, outward):
        """An exchange that autograd undoes by the opposite one."""
        with self.rank.op("_AllToAll", back="_AllToAllBackward") as e:
            self.exchange(outward)
        ops.undo(self.rank, e, "_AllToAllBackward", lambda: self.exchange(not outward))

    def mlp(self, x):
        rank, m = self.rank, self.m
        with rank.module(m["classes"][3], self.layer), rank.frame(self.line(140, "forward")):
            self.route(x)
            self.sent(True)
            h = Tensor((self.tokens()[rank.r] * self.size, m["d"]), x.dtype)
            up = self.linear(h, m["ff"], "w1")
            self.activation(up, up)
            self.linear(up, m["d"], "w2")
            self.sent(False)
            return ops.compiled(rank, "triton_poi_fused_index_add_mul_8", [x, x], [x],
                                ("triton_poi_fused_index_mul_backward_9", [x], [x]))

    def route(self, x):
        """Which expert gets a token; tokens sorted by expert."""
        rank = self.rank
        experts = max(8, self.size)
        self.linear(x, experts, "gate")
        scores = Tensor((x.n // x.shape[-1], experts), x.dtype)
        ops.compiled(rank, "triton_per_fused__softmax_topk_7", [scores], [scores],
                     ("triton_per_fused__softmax_backward_data_8", [scores], [scores]))
        ops.compiled(rank, "triton_poi_fused_index_permute_5", [x], [x])


def train(rank):
    model = Experts(rank)
    m, script = model.m, model.m["script"]
    rank.params = model.parameters()
    hook(rank, own=((m["ff"], m["d"]), (m["d"], m["ff"])))
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(118): train_step"):
            inputs.fetch(rank, m["style"])
            inputs.upload(rank, [Tensor((m["batch"], m["seq"]), "long int")],
                          f"{script}(64): to_device")
            ops.zero_grad(rank, m["optimizer"])
            rank.grad = True
            ops.cross_entropy(rank, model.forward())
            ops.backward(rank)
            rank.grad = False
            faults.optimize(rank, m["optimizer"])
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
