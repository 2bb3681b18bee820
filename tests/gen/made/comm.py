"""Collectives as torch.distributed and NCCL record them."""
from .device import KERNEL_TYPE, SHORT, SIZE, Tensor

# kind -> c10d operator, its range, NCCL's name, bytes on the bus of each of n ranks by bytes.
KINDS = {
    "allreduce": ("c10d::allreduce_", "nccl:all_reduce", "AllReduce_Sum",
                  lambda n: 2 * (n - 1) / n),
    "_reduce_scatter_base": ("c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base",
                             "ReduceScatter_Sum", lambda n: (n - 1) / n),
    "_allgather_base": ("c10d::_allgather_base_", "nccl:_all_gather_base", "AllGather",
                        lambda n: n - 1),
    "all_to_allv": ("c10d::alltoall_base_", "nccl:all_to_all", "SendRecv", lambda n: (n - 1) / n),
    "send": ("c10d::send", "nccl:send", "SendRecv", lambda n: 1),
    "recv": ("c10d::recv_", "nccl:recv", "SendRecv", lambda n: 1),
}


def kernel_name(kind, args, amd):
    if amd:
        return "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    base = KINDS[kind][2]
    if base != "SendRecv":
        small = max(args["In msg nelems"], args["Out msg nelems"]) < 1 << 17
        if base == "AllGather":
            base += "_RING_LL" if small else "_RING_SIMPLE"
        else:
            dtype = next(KERNEL_TYPE[k] for k, v in SHORT.items() if v == args["dtype"])
            base += f"_{dtype}_{'TREE_LL' if small else 'RING_LL128'}"
    return f"ncclDevKernel_{base}(ncclDevKernelArgsStorage<4096ul>)"


def transfer_us(rank, kind, nelems, dtype, n, bus=None):
    """From the last arrival: latency and the bytes at the bus bandwidth."""
    nbytes = nelems * SIZE[dtype] * KINDS[kind][3](n)
    bus = bus or rank.dev.bus * (0.75 if kind == "all_to_allv" else 0.16 if n == 2 and
                                 kind in ("send", "recv") else 1)
    return rank.config.get("latency_us", 9.5) + nbytes / (bus * 1e3)


def message(rank, group, kind, nelems_in, nelems_out, dtype, splits=("[]", "[]"), peer=None):
    me = group.ranks.index(rank.r)
    args = {"Collective name": kind, "In msg nelems": nelems_in, "Out msg nelems": nelems_out,
            "Group size": len(group.ranks), "dtype": SHORT[dtype], "In split size": splits[0],
            "Out split size": splits[1], "Process Group Name": group.name,
            "Process Group Description": group.description,
            "Process Group Ranks": "[" + ", ".join(map(str, group.ranks)) + "]"}
    if peer is not None:
        other = group.ranks.index(peer)
        args.update({"Src Rank": other, "Rank": me} if kind == "recv" else
                    {"Dst Rank": other, "Rank": me})
    return args


def collective(rank, group, kind, nelems, dtype, out=None, splits=("[]", "[]"), stream=None,
               us=None, bus=None, peer=None, join=True):
    """One collective, asynchronous on the communication stream; returns its event (`wait_for`)."""
    op, label, _, _ = KINDS[kind]
    out = nelems if out is None else out
    stream = stream or (3 if rank.dev.amd else 29)
    if us is None:
        us = transfer_us(rank, kind, max(nelems, out) if kind != "_allgather_base" else nelems,
                         dtype, len(group.ranks), bus)
    args = message(rank, group, kind, nelems, out, dtype, splits, peer)
    scalars = ["", "", "", "", "-1"]
    with rank.op(op, [Tensor([nelems], dtype)], *scalars):
        if join:
            rank.wait(rank.record(), stream)
        with rank.op("record_param_comms", Tensor([nelems], dtype), args=args):
            way = "<-" if kind == "recv" else "->"
            with rank.range(label if peer is None else f"{label} {rank.r}{way}{peer}"):
                rank.collective(group, kind, us, stream, dict(args))
        return rank.record(stream)


def wait_for(rank, event):
    """work.wait(): the current stream goes on after the collective."""
    rank.wait(event)
