"""Faults of the host and of the flow of a step, and what is recorded around the steps. Each asks
its job whether the run has it; without it the program does what it should."""
from contextlib import nullcontext

from . import kernels, ops, unfused
from .device import Tensor


WRITE = "<built-in method write_record of torch._C.PyTorchFileWriter object at 0x7f21c40b1e30>"
SAVE = "torch/serialization.py"
REDUCE = "parallel/grads.py(27): average_gradients"


# ---- around the steps ---------------------------------------------------------------------------

def before_steps(rank):
    edge, older = rank.config.get("edge"), rank.config.get("older_work")
    if edge:
        rank.memset(edge["bytes"])
        rank.sleep(1000 * edge["ms"], "before the steps")
    if older:
        for i in range(older["n"]):
            rank.unlaunched(kernels.gemm_name(rank, 4096, 4096, "c10::BFloat16")[0], older["us"])
    late = rank.config.get("late_start", {}).get(rank.r)
    if late:
        rank.sleep(1000 * late, "profiler starts late")


def steps(rank):
    """The steps of a run, each in its range."""
    first = rank.config.get("first_step", 4)
    for i in range(rank.job.scenario.steps):
        rank.step, rank.factor = i, factor(rank, i)
        with rank.range(f"ProfilerStep#{first + i}"):
            yield i
    rank.step = None


def factor(rank, step):
    """How much longer kernels take on a rank, in a step."""
    f = 1.0
    straggler, power = rank.job.fault("straggler"), rank.job.fault("power")
    for fault in (straggler, rank.job.fault("straggler2")):
        if fault and fault["rank"] == rank.r:
            f *= fault["factor"]
    if power and power.get("rank") in (None, rank.r):
        f *= power["factors"][step]
    return f


def after_steps(rank):
    """The profiler waits for the GPU when it stops."""
    rank.sync_device()


# ---- in a step ----------------------------------------------------------------------------------

def before_layer(rank, layer, layers):
    pause, alloc = rank.job.fault("pause"), rank.job.fault("alloc")
    if pause and (pause["step"], pause["layer"]) == (rank.step, layer):
        rank.sleep(1000 * pause["ms"], "pause")
    if alloc:
        for _ in range(-(-alloc["n"] // layers)):
            with rank.op("aten::empty", "[67108864]", "", "", "", "", ""):
                rank.call("hipMalloc" if rank.dev.amd else "cudaMalloc", alloc["malloc_us"])


def free_all(rank, alloc):
    with rank.frame("torch/cuda/memory.py(224): empty_cache"):
        for _ in range(alloc["n"]):
            ends = [rank.after(s.end, 6) for s in rank.streams.values()]
            rank.call("hipFree" if rank.dev.amd else "cudaFree", alloc["free_us"], ends)


def in_layer(rank, layer, m):
    """Waits of the host for the GPU, each layer or each few."""
    fault, at = rank.job.fault("sync"), rank.config.get("reads")
    if not at or layer % at.get("every", 1):
        return
    with rank.frame(f"{m['file']}({at['line']}): {at['function']}"):
        READS[at["how"]](rank, bool(fault))
        if at.get("python_us"):
            with rank.frame(f"{m['file']}({at['line'] + 9}): {at['function']}_update"):
                rank.spend(at["python_us"], "python")


def read_item(rank, waits):
    if waits:
        ops.item(rank)


def read_nonzero(rank, waits):
    """Without the wait: the size is known, the same kernels (nonzero_static)."""
    mask = Tensor((16384,), "bool")
    with rank.op("aten::nonzero" if waits else "aten::nonzero_static", mask, key="nonzero"):
        rank.launch(kernels.named("nonzero_count"), 2.4)
        if waits:
            rank.copy("DtoH", 4, blocking=rank.dev.amd)
            if not rank.dev.amd:
                rank.sync_stream()
        rank.launch(kernels.named("nonzero_select"), 3.1)


def read_cpu(rank, waits):
    if waits:
        ops.to_host(rank, Tensor((64, 128), "float"))


def read_stream(rank, waits):
    if waits:
        with rank.frame("torch/cuda/streams.py(105): synchronize"):
            rank.sync_stream()


READS = {"item": read_item, "nonzero": read_nonzero, "cpu": read_cpu, "stream": read_stream}


def compile_again(rank, step):
    """Code that is compiled and loaded: in each step (fault), or in the first (warm-up)."""
    fault, warm = rank.job.fault("recompile"), rank.config.get("warmup")
    if warm and step == 0:
        for _ in range(warm["n"]):
            load_module(rank, warm["ms"])
    if fault:
        with rank.frame("torch/_dynamo/eval_frame.py(745): compile_wrapper"):
            for _ in range(fault["n"]):
                with rank.frame("torch/_dynamo/convert_frame.py(1277): __call__"):
                    with rank.frame("torch/_inductor/compile_fx.py(755): compile_fx_inner"):
                        rank.sleep(700 * fault["ms"], "compile")
                        load_module(rank, 0.3 * fault["ms"])


def load_module(rank, ms):
    name = "hipModuleLoadData" if rank.dev.amd else "cuModuleLoadData"
    event = rank.call(name, 1.0)
    rank.sleep(1000 * ms, "load")
    event.end = rank.now


def optimize(rank, name):
    if rank.hooks is not None:
        rank.hooks.after_backward(rank, REDUCE)
    if rank.job.fault("optimizer"):
        unfused.optimizer_loop(rank, rank.params, name)
    else:
        ops.fused_optimizer(rank, rank.params, name)


def end_of_step(rank, step, m):
    alloc, save, read = rank.job.fault("alloc"), rank.job.fault("save"), rank.job.fault("read_loss")
    side = rank.config.get("side_gemm")
    if side:
        rank.wait(rank.record(side["stream"]))
    if alloc and alloc.get("free_us"):
        free_all(rank, alloc)
    if read or rank.config.get("reads_loss"):
        with rank.frame(f"{m['script']}(141): log_metrics"):
            ops.item(rank)
    if save and save["step"] == step and save.get("rank") in (None, rank.r):
        save_checkpoint(rank, save, m)


def save_checkpoint(rank, save, m):
    with rank.frame(f"{m['script']}(160): save_checkpoint"), rank.frame(SAVE + "(967): save"):
        with rank.frame(SAVE + "(1259): _save"):
            for p in rank.params[:save["tensors"]]:
                ops.to_host(rank, p)
                with rank.frame(WRITE):
                    rank.sleep(1000 * save["write_ms"], "write")


# ---- recomputation ------------------------------------------------------------------------------

def checkpointed(rank, forward, x):
    """A layer, or the layer in torch.utils.checkpoint: its forward pass runs again for its backward
    pass, with the numbers of the first."""
    fault = rank.job.fault("recompute")
    if not fault or not rank.grad:
        return forward(x)
    state, tape = (rank.place, dict(rank.counts), list(rank.path)), rank.tape
    with rank.frame("torch/utils/checkpoint.py(505): checkpoint", plain=True):
        if fault["reentrant"]:
            return checkpoint_function(rank, forward, x, state)
        before = len(tape)
        y = forward(x)
    name, seq, place, path, closure, params = tape[-1]
    assert len(tape) > before

    def first():
        with rank.frame("torch/utils/checkpoint.py(1152): unpack_hook", plain=True):
            with rank.frame("torch/utils/checkpoint.py(1546): recompute_fn", plain=True):
                again(rank, forward, x, state)
        closure()
    tape[-1] = (name, seq, place, path, first, params)
    return y


def again(rank, forward, x, state):
    kept = rank.place, rank.counts, rank.path
    rank.place, rank.counts, rank.path = state[0], dict(state[1]), list(state[2])
    forward(x)
    rank.place, rank.counts, rank.path = kept


def checkpoint_function(rank, forward, x, state):
    rank.grad = False
    with rank.frame("torch/utils/checkpoint.py(265): forward", plain=True):
        y = forward(x)
    rank.grad = True
    with rank.op("CheckpointFunction", x, back="CheckpointFunctionBackward") as e:
        pass

    def undo():
        with rank.frame("torch/utils/checkpoint.py(293): backward", plain=True):
            kept, rank.tape, rank.grad = rank.tape, [], True
            again(rank, forward, x, state)
            nested, rank.tape, rank.grad = rank.tape, kept, False
            for entry in reversed(nested):
                ops.undo_one(rank, *entry)
    ops.undo(rank, e, "CheckpointFunctionBackward", undo)
    return y


# ---- in a layer ---------------------------------------------------------------------------------

def layout(rank, tensors, frame):
    fault = rank.job.fault("layout")
    if fault:
        unfused.contiguous(rank, tensors, fault["share"], frame)


def extra(rank, h, frame):
    """Operators more in each layer (`extra`), which a fault may slow down; they read nothing of
    each other."""
    more, fault = rank.config.get("extra"), rank.job.fault("slow_extra")
    if not more:
        return
    with rank.frame(frame.replace("forward", more["function"])):
        share = fault["share"] if fault else None
        for shape in more.get("shapes", (h.shape,)):
            t = Tensor(shape, h.dtype)
            if more["what"] in ("sum", "amax"):
                ops.reduction(rank, more["what"], t, "[0]", "False", at=share)
            else:
                ops.pointwise(rank, more["what"], t, t, at=share, strided=bool(fault),
                              name=more.get("name"))


def group_projection(rank, x, frame):
    """A product for each group of channels: one batched call, or (fault) one call each."""
    groups = rank.config.get("groups")
    if not groups:
        return
    n, rows, d = groups["n"], groups["rows"], groups["d"]
    with rank.frame(frame):
        if not rank.job.fault("small_gemms"):
            ops.bmm(rank, Tensor((n, rows, d), x.dtype), Tensor((n, d, d), x.dtype))
            return
        for _ in range(n):
            ops.mm(rank, Tensor((rows, d), x.dtype), Tensor((d, d), x.dtype))


def side_work(rank):
    """Slow GEMMs on a stream of their own, wholly beside the step's work, which waits for them at
    its end only."""
    side, slow = rank.config.get("side_gemm"), rank.job.fault("side_gemm")
    if side:
        a, b = (Tensor(s, "c10::BFloat16") for s in ((4096, 2048), (2048, 1024)))
        kept, rank.stream = rank.stream, side["stream"]
        rank.wait(rank.record(kept))
        with rank.frame("aux/probe.py(33): refresh"):
            for _ in range(side["n"]):
                ops.mm(rank, a, b, at=slow["share"] if slow else None)
        rank.stream = kept


def host_late(rank, m):
    """A rank whose launching thread does something else first."""
    fault = rank.job.fault("host_late")
    if fault and fault["rank"] == rank.r:
        with rank.frame(f"{m['script']}(99): {fault['function']}"):
            rank.sleep(1000 * fault["ms"], "late")
