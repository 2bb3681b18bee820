"""Faults of the host and of the flow of a step, and what is recorded around the steps. Each asks
its job whether the run has it; without it the program does what it should."""
from contextlib import nullcontext

from . import kernels, ops, unfused
from .device import Tensor


# ---- around the steps ---------------------------------------------------------------------------

def before_steps(rank):
    edge, older = rank.config.get("edge"), rank.config.get("older_work")
    if edge:
        rank.memset(edge["bytes"])
        rank.sleep(1000 * edge["ms"], "before the steps")
    if older:
        for i in range(older["n"]):
            rank.unlaunched(kernels.gemm_name(rank, 4096, 4096, 1024, "c10::BFloat16")[0], older["us"])
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

def before_layer(rank, layer, m):
    pause, alloc = rank.job.fault("pause"), rank.job.fault("alloc")
    if pause and (pause["step"], pause["layer"]) == (rank.step, layer):
        rank.sleep(1000 * pause["ms"], "pause")
    if alloc:
        for _ in range(-(-alloc["n"] // m["layers"])):
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
        rank.launch("void at_cuda_detail::cub::DeviceReduceSingleTileKernel<at_cuda_detail::cub::DeviceReducePolicy<int, unsigned "
                    "int, at_cuda_detail::cub::Sum> >(int*, int*, unsigned int)", 2.4)
        if waits:
            rank.copy("DtoH", 4, blocking=rank.dev.amd)
            if not rank.dev.amd:
                rank.sync_stream()
        rank.launch("void at_cuda_detail::cub::DeviceSelectSweepKernel<at_cuda_detail::cub::DeviceSelectPolicy, int*, long*>(int*, "
                    "long*, int)", 3.1)


def read_cpu(rank, waits):
    if not waits:
        return
    x = Tensor((64, 128), "float")
    with rank.op("aten::to", x, "cpu", "6", "False", "False", ""):
        with rank.op("aten::_to_copy", x, "6", "", "cpu", "", "False", ""):
            with rank.op("aten::copy_", x, x, "False"):
                rank.copy("DtoH", x.bytes, pinned=False, blocking=True)
                if not rank.dev.amd:
                    rank.sync_stream()


def read_stream(rank, waits):
    if waits:
        with rank.frame("torch/cuda/streams.py(105): synchronize"):
            rank.sync_stream()


def read_device(rank, waits):
    if waits:
        with rank.frame("torch/cuda/__init__.py(1040): synchronize"):
            rank.sync_device()


READS = {"item": read_item, "nonzero": read_nonzero, "cpu": read_cpu, "stream": read_stream, "device": read_device}


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
        rank.hooks.after_backward(rank, rank.config.get("reduce_frame", "parallel/grads.py(27): average_gradients"))
    if rank.job.fault("optimizer"):
        unfused.optimizer_loop(rank, rank.params, name)
    else:
        ops.fused_optimizer(rank, rank.params, name)


def end_of_step(rank, step, m):
    alloc, save, read = rank.job.fault("alloc"), rank.job.fault("save"), rank.job.fault("read_loss")
    if alloc and alloc.get("free_us"):
        free_all(rank, alloc)
    if read:
        with rank.frame(f"{m['script']}(141): log_metrics"):
            ops.item(rank)
    if save and save["step"] == step and save.get("rank") in (None, rank.r):
        save_checkpoint(rank, save, m)


def save_checkpoint(rank, save, m):
    with rank.frame(f"{m['script']}(160): save_checkpoint"), rank.frame("torch/serialization.py(967): save"):
        with rank.frame("torch/serialization.py(1259): _save"):
            for p in rank.params[:save["tensors"]]:
                with rank.op("aten::to", p, "cpu", "", "False", "False", ""):
                    with rank.op("aten::_to_copy", p, "", "", "cpu", "", "False", ""):
                        with rank.op("aten::copy_", p, p, "False"):
                            rank.copy("DtoH", p.bytes, pinned=False, blocking=True)
                            if not rank.dev.amd:
                                rank.sync_stream()
                with rank.frame("<built-in method write_record of torch._C.PyTorchFileWriter object at 0x7f21c40b1e30>"):
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
    rank.place, rank.counts, rank.path = state[0], dict(state[1]), state[2] + ["recompute"]
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


def slow_pointwise(rank, h, frame):
    """An operator more in each layer (`extra`), which a fault slows down."""
    extra, fault = rank.config.get("extra"), rank.job.fault("slow_extra")
    if extra:
        with rank.frame(frame.replace("forward", extra["function"])) if extra.get("function") else nullcontext():
            share = fault["share"] if fault else None
            if extra["what"] in ("sum", "mean", "amax"):
                ops.reduction(rank, extra["what"], h, dims="[0]", keep="False", at=share)
            else:
                ops.pointwise(rank, extra["what"], h, h, at=share, strided=bool(fault))
