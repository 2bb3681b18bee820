"""Gradients of data parallel training: in buckets during the backward pass, or, as a fault, behind
it or one parameter at a time."""
from . import comm
from .device import Tensor


def tensor_parallel(rank, x):
    """The sum of a layer's output over the ranks that share its weights; nothing runs beside it."""
    if rank.config.get("tensor_parallel"):
        slow = rank.job.fault("slow_link") or {}
        group = rank.job.group("tp", list(rank.job.ranks_wanted), "tensor parallel")
        comm.wait_for(rank, comm.collective(rank, group, "allreduce", x.n, x.dtype,
                                            bus=slow.get("bus")))


def hook(rank, own=()):
    """Gradients are reduced over the ranks, but for parameters of these shapes, which are a rank's
    own."""
    if len(rank.job.ranks_wanted) > 1:
        rank.hooks = Buckets(rank, own)


class Buckets:
    """DistributedDataParallel's hooks: a bucket goes out when its gradients are there."""

    def __init__(self, rank, own):
        self.rank, self.job, self.own = rank, rank.job, own
        self.kind = rank.config.get("reduce", "allreduce")
        self.limit = rank.config.get("bucket_mb", 25) * 1e6
        self.reset()

    def reset(self):
        self.held, self.events, self.late = [], [], []

    def ready(self, rank, param):
        if param.shape in self.own:
            return
        self.held.append(param)
        if sum(p.bytes for p in self.held) >= self.limit:
            self.flush(rank)

    def flush(self, rank):
        held, self.held = self.held, []
        if not held:
            return
        if self.job.fault("late_reduce") or self.job.fault("small_collectives"):
            self.late.append(held)
        else:
            self.events.append(self.reduce(rank, held))

    def reduce(self, rank, params):
        n, dtype = sum(p.n for p in params), params[0].dtype
        world = self.job.world
        slow = self.job.fault("slow_link") or {}
        if self.kind == "allreduce":
            return comm.collective(rank, world, "allreduce", n, dtype, bus=slow.get("bus"))
        size = len(world.ranks)
        return comm.collective(rank, world, "_reduce_scatter_base", n, dtype, out=n // size,
                               bus=slow.get("bus"))

    def end(self, rank):
        """The last bucket; and the step goes on when all are through."""
        self.flush(rank)
        for event in self.events:
            comm.wait_for(rank, event)
        late = self.late
        self.reset()
        self.late = late

    def after_backward(self, rank, frame):
        """What a fault has left to do behind the backward pass, on the launching thread."""
        if not self.late:
            return
        with rank.frame(frame):
            if self.job.fault("small_collectives"):
                self.one_by_one(rank)
            else:
                events = [self.reduce(rank, held) for held in self.late]
                for event in events:
                    comm.wait_for(rank, event)
        self.reset()

    def one_by_one(self, rank):
        event = None
        for param in (p for held in self.late for p in held):
            event = self.reduce(rank, [Tensor(param.shape, param.dtype)])
        comm.wait_for(rank, event)
