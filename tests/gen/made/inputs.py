"""Where batches come from: data loaders, in this process and in others, and the copy to the GPU."""
from . import ops
from .device import Tensor

LOADER = "torch/utils/data/dataloader.py"
QUICK_US = 62


def single_process(rank, ms, style):
    """The launching thread makes the batch itself: samples one by one, then collated."""
    with rank.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        with rank.frame(LOADER + "(733): __next__"), rank.frame(LOADER + "(789): _next_data"):
            with rank.frame("torch/utils/data/_utils/fetch.py(52): fetch"):
                for _ in range(style["samples"]):
                    one_sample(rank, 1000 * 0.93 * ms / style["samples"], style)
                with rank.frame("torch/utils/data/_utils/collate.py(398): default_collate"):
                    sample = Tensor(style.get("sample", (3, 224, 224)), "float")
                    with rank.op("aten::stack", [sample] * min(8, style["samples"]), "0"):
                        rank.sleep(1000 * 0.07 * ms, "collate")


def one_sample(rank, us, style):
    with rank.frame(style["frame"]):
        for name, part in style["parts"]:
            with rank.frame(name):
                rank.sleep(us * part, name)


def multi_process(rank, interval_ms=None):
    """Workers make batches; the fetch takes one from their queue, and waits for it if they are
    slower than the steps (`interval_ms`)."""
    with rank.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        with rank.frame(LOADER + "(733): __next__"), rank.frame(LOADER + "(1515): _next_data"):
            with rank.frame(LOADER + "(1320): _try_get_data"):
                with rank.frame("queue.py(171): get"), rank.frame("threading.py(355): wait"):
                    rank.sleep(QUICK_US * 0.5, "get")
                    if interval_ms is not None:
                        worker_batch(rank, interval_ms)
                rank.sleep(QUICK_US * 0.4, "unpack")


def worker_batch(rank, interval_ms):
    """The next batch of the workers, one after the other: the trace does not show who makes it."""
    before = rank.ready_batch or (rank.now[0], rank.now[1] - int(0.4e6 * interval_ms))
    ns = rank.jitter(1000 * interval_ms, "worker")
    rank.ready_batch = (rank.job.graph.node((before[0], max(0, before[1]) + ns)), 0)
    rank.until(rank.ready_batch)


def fetch(rank, style):
    """The batch of a step, by the faults of the run and the style of its loader."""
    fault = rank.job.fault("loading")
    if fault and fault.get("rank") in (None, rank.r):
        if fault.get("workers"):
            multi_process(rank, fault["ms"])
        else:
            single_process(rank, fault["ms"], style)
    elif style.get("loader") == "single":
        single_process(rank, style.get("ms", 0.07), {**style, "samples": 1})
    else:
        multi_process(rank)


def upload(rank, tensors, frame, side=None):
    """Batches to the GPU. Pinned, not blocking; large ones one batch ahead on a stream of their
    own (`side`). Faults: pageable memory, or the stream that computes."""
    pageable, exposed = rank.job.fault("pageable"), rank.job.fault("exposed_copy")
    ahead = side is not None and not exposed and not pageable
    with rank.frame(frame):
        if ahead and rank.prefetched:
            rank.wait(rank.prefetched)
        for x in tensors:
            if pageable and x.bytes > 1 << 16:
                ops.to_device(rank, x, pinned=False, blocking=True, rate=pageable.get("rate"))
            elif x.bytes > 1 << 16 and ahead:
                ops.to_device(rank, x, stream=side)
            else:
                ops.to_device(rank, x)
        if ahead:
            rank.prefetched = rank.record(side)
