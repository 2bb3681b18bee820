"""Pipeline parallel training: a stage on each rank, microbatches one forward, one backward (1F1B),
or all forward first."""
from . import comm, faults, inputs, ops
from .device import Tensor
from .transformer import Transformer

MORE_MICROBATCHES = 4
FORWARD_STREAM, BACKWARD_STREAM = 40, 60


class Stage(Transformer):
    def __init__(self, rank, micro):
        super().__init__(rank)
        self.micro, self.last = micro, len(self.job.ranks_wanted) - 1
        self.x = Tensor((self.m["batch"] // micro, self.m["seq"], self.m["d"]), self.m["dtype"])
        self.tapes = []

    def peer(self, kind, to_next):
        """A send or receive with the next stage or the one before; forward and backward have
        communicators and streams of their own."""
        rank, r = self.rank, self.rank.r
        other = r + 1 if to_next else r - 1
        forward, pair = (kind == "send") == to_next, sorted((r, other))
        name = ("act" if forward else "grad") + str(pair[0])
        event = comm.collective(
            rank, self.job.group(name, pair, "pipeline pair"), kind, self.x.n, self.x.dtype,
            stream=(FORWARD_STREAM if forward else BACKWARD_STREAM) + 2 * pair[0], peer=other,
            join=kind == "send")
        if kind == "recv":
            comm.wait_for(rank, event)

    def forward_one(self):
        rank, x = self.rank, self.x
        if rank.r > 0:
            self.peer("recv", False)
        rank.grad, rank.tape = True, []
        with rank.module("Stage", 0), rank.frame(self.line(230, "forward")):
            for i in range(self.m["layers"]):
                x = self.block(i, x)
        rank.grad = False
        self.tapes.append(rank.tape)
        rank.tape = []
        if rank.r < self.last:
            self.peer("send", True)

    def backward_one(self):
        rank = self.rank
        if rank.r < self.last:
            self.peer("recv", True)
        rank.tape = self.tapes.pop(0)
        ops.backward(rank)
        if rank.r > 0:
            self.peer("send", False)

    def order(self):
        """F and B by microbatch."""
        if not self.job.config.get("alternate", True):
            return "F" * self.micro + "B" * self.micro
        first = min(self.micro, self.last - self.rank.r)
        return "F" * first + "FB" * (self.micro - first) + "B" * first


def train(rank):
    few = rank.config["micro"]
    stage = Stage(rank, few if rank.job.fault("bubble") else few * MORE_MICROBATCHES)
    m, script = stage.m, stage.m["script"]
    rank.params = stage.parameters()[:-3]
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(77): train_batch"):
            inputs.fetch(rank, m["style"])
            ops.zero_grad(rank, m["optimizer"])
            for what in stage.order():
                if what == "F":
                    with rank.frame(f"{script}(140): forward_step"):
                        stage.forward_one()
                else:
                    with rank.frame(f"{script}(160): backward_step"):
                        stage.backward_one()
            faults.optimize(rank, m["optimizer"])
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
