"""Writes a rank's events as PyTorch's profiler (Kineto) does."""
import gzip
import json
from collections import defaultdict

from .noise import mix, word

# Numbers of calls in CUPTI and in ROCm's tracer.
CALLS = {
    "cudaLaunchKernel": 211, "cudaLaunchKernelExC": 430, "cudaMemcpyAsync": 41,
    "cudaStreamSynchronize": 131, "cudaDeviceSynchronize": 165, "cudaEventRecord": 135,
    "cudaStreamWaitEvent": 147, "cudaMemsetAsync": 51, "cudaMalloc": 20, "cudaFree": 22,
    "cudaGraphLaunch": 311, "cudaEventQuery": 138, "cudaHostAlloc": 27, "cuLaunchKernel": 307,
    "cuLaunchKernelEx": 652, "cuModuleLoadData": 26,
    "hipLaunchKernel": 211, "hipExtModuleLaunchKernel": 65, "hipModuleLaunchKernel": 246,
    "hipMemcpyAsync": 134, "hipMemcpyWithStream": 156, "hipStreamSynchronize": 199,
    "hipDeviceSynchronize": 48, "hipEventRecord": 59, "hipStreamWaitEvent": 200,
    "hipMemsetAsync": 159, "hipMalloc": 108, "hipFree": 74, "hipGraphLaunch": 95,
    "hipExtLaunchKernel": 62, "hipEventQuery": 58, "hipModuleLoadData": 248}
WATCHDOG_NS = 1700000


def text(ns):
    """Microseconds with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


# ---- operands -----------------------------------------------------------------------------------

def nested(x, of):
    """`of` of a tensor, of those of a list, else nothing."""
    if hasattr(x, "shape"):
        return list(of(x))
    return [nested(y, of) for y in x] if isinstance(x, list) else []


def dtype(x):
    if hasattr(x, "shape"):
        return x.dtype
    if isinstance(x, list):
        return "TensorList"
    return "" if not x else "ScalarList" if x.startswith("[") else "Scalar"


def operands(inputs):
    return {"Concrete Inputs": [x if isinstance(x, str) else "" for x in inputs],
            "Input type": [dtype(x) for x in inputs],
            "Input Strides": [nested(x, lambda t: t.strides) for x in inputs],
            "Input Dims": [nested(x, lambda t: t.shape) for x in inputs]}


class Recorder:
    def __init__(self, job, rank):
        self.job, self.rank, self.out = job, rank, []
        base = 2_000_000_000_000_000 + mix(job.seed, word("boot")) % 5_000_000_000_000_000
        self.base = base + job.clock_ns(rank.r)
        self.device = rank.r % 8
        self.undone = {e.seq for e in rank.events if e.fwd}
        self.last = max(self.at(e.end) for e in rank.events)
        self.kind = "hip" if rank.dev.amd else "cuda"

    def at(self, time):
        return self.base + self.job.at(time)

    def emit(self, cat, name, track, start, end, args):
        self.out.append(f'{{"ph": "X", "cat": "{cat}", "name": {json.dumps(name)}, '
                        f'"pid": {track[0]}, "tid": {track[1]}, "ts": {text(start)}, '
                        f'"dur": {text(end - start)}, "args": {json.dumps(args)}}}')

    def flow(self, ph, number, track, start, cat):
        self.out.append(f'{{"ph": "{ph}", "id": {number}, "pid": {track[0]}, "tid": {track[1]}, '
                        f'"ts": {text(start)}, "cat": "{cat}", "name": "{cat}"'
                        + (', "bp": "e"}' if ph == "f" else "}"))

    # ---- the host ------------------------------------------------------------------------------

    def host(self):
        events = [(self.at(e.start), self.at(e.end), e) for e in self.rank.events]
        events.sort(key=lambda v: (v[2].tid, v[0], -v[1]))
        self.python = {}
        for index, (start, end, e) in enumerate(events):
            track = self.rank.pid, e.tid
            if e.cat == "python_function":
                args = {**self.frame_args(e), "Ev Idx": index}
            elif e.corr is not None:
                args = self.call_args(e)
            else:
                args = {**self.op_args(e), "Ev Idx": index}
            self.emit(e.cat, e.name, track, start, end, args)
            if e.works:
                self.flow("s", e.corr, track, start, "ac2g")
            if e.seq is not None and e.fwd == 0 and e.seq in self.undone:
                self.flow("s", e.seq, track, start, "fwdbwd")
            elif e.seq is not None and e.fwd and e.name.startswith("autograd::engine"):
                self.flow("f", e.seq, track, start, "fwdbwd")

    def frame_args(self, e):
        number = self.python[id(e)] = len(self.python) + 1
        up = e.up
        while up is not None and up.cat != "python_function":
            up = up.up
        args = {"Python parent id": self.python.get(id(up)), "Python id": number}
        return args if e.module is None else {**args, "Python module id": e.module}

    def call_args(self, e):
        args = {"External id": e.ext} if e.ext is not None else {}
        return {**args, "cid" if self.rank.dev.amd else "cbid": CALLS[e.name],
                "correlation": e.corr, **e.args}

    def op_args(self, e):
        args = {"External id": e.ext, "Record function id": 0}
        if e.seq is not None:
            args["Sequence number"], args["Fwd thread id"] = e.seq, e.fwd
        return {**args, **(e.args or {}), **(operands(e.inputs) if e.inputs else {})}

    # ---- the GPU -------------------------------------------------------------------------------

    def gpu(self):
        works = [(self.at(w.start), self.at(w.end), w.corr, w) for w in self.rank.works]
        for start, end, _, w in sorted(works, key=lambda v: v[:3]):
            track = self.device, w.stream
            args = {"External id": w.call.ext} if w.call and w.call.ext is not None else {}
            args.update({"device": self.device, "stream": w.stream, "correlation": w.corr})
            if w.cat == "kernel":
                args.update(self.kernel_args(w.args))
            else:
                args.update({"bytes": w.args["bytes"],
                             "memory bandwidth (GB/s)": w.args["bytes"] / (end - start)})
            if not self.rank.dev.amd:
                args["context"] = 1
            self.emit(w.cat, w.name, track, start, end, args)
            if w.call is not None:
                self.flow("f", w.corr, track, start, "ac2g")

    def kernel_args(self, a):
        grid, block = a["grid"], a["block"]
        threads, blocks = block[0] * block[1] * block[2], grid[0] * grid[1] * grid[2]
        if self.rank.dev.amd:
            return {"kind": "Dispatch Kernel", "grid": [grid[0] * block[0], *grid[1:]],
                    "block": block, **a.get("nccl", {})}
        units = self.rank.dev.units
        warps = blocks * threads / 32 / units
        return {"queued": 0, "registers per thread": a["regs"], "shared memory": a["shared"],
                "blocks per SM": round(blocks / units, 6), "warps per SM": round(warps, 6),
                "grid": grid, "block": block,
                "est. achieved occupancy %": min(100, int(100 * warps / 64)), **a.get("nccl", {})}

    def annotations(self):
        """Ranges of the host as seen on the GPU: first to last work launched under them."""
        spans = defaultdict(dict)
        for w in self.rank.works:
            up = w.call and w.call.up
            while up is not None:
                if up.cat == "user_annotation":
                    s, e = self.at(w.start), self.at(w.end)
                    a, b = spans[id(up)].get(w.stream, (s, e, up))[:2]
                    spans[id(up)][w.stream] = (min(a, s), max(b, e), up)
                up = up.up
        for v in spans.values():
            for stream, (start, end, e) in sorted(v.items()):
                self.emit("gpu_user_annotation", e.name, (self.device, stream), start, end,
                          {"External id": e.ext})

    def synchronizations(self):
        for kind, call, args in self.rank.syncs if self.job.config["syncs"] else ():
            a = {"External id": call.ext} if call.ext is not None else {}
            self.emit("cuda_sync", kind, (self.device, args["stream"]), self.at(call.start) + 200,
                      self.at(call.end) - 100, {**a, "cuda_sync_kind": kind, **args, "context": 1,
                                                "correlation": call.corr, "device": self.device})

    # ---- other threads -------------------------------------------------------------------------

    def lone_call(self, name, tid, start, ns):
        """A call on another thread, which nothing waits for."""
        self.rank.last_corr += 1
        ids = {"cid" if self.rank.dev.amd else "cbid": CALLS.get(name, 0)}
        self.emit("cuda_runtime", name, (self.rank.pid, tid), start, start + ns,
                  {**ids, "correlation": self.rank.last_corr})

    def watchdog(self):
        """NCCL's watchdog asks after its events now and then."""
        r = self.rank
        at = self.base + mix(r.key, word("watchdog")) % WATCHDOG_NS
        while len(self.job.ranks) > 1 and at < self.last:
            self.lone_call(self.kind + "EventQuery", r.pid + 301, at, 700 + mix(r.key, at) % 1500)
            at += WATCHDOG_NS

    def pin_thread(self):
        """The loader's thread that pins memory, where it is recorded."""
        r, n = self.rank, 0
        at = self.base + 400000 + mix(r.key, word("pin")) % 900000
        while self.job.config.get("pin_thread") and at < self.last:
            name, ns = ("HostAlloc", 310000) if n % 4 == 0 else ("EventQuery", 900)
            self.lone_call(self.kind + name, r.pid + 77, at, ns + mix(r.key, at) % 4000)
            at, n = at + 2100000 + mix(r.key, at + 1) % 1500000, n + 1

    # ---- what is around ------------------------------------------------------------------------

    def names(self):
        r, start, device = self.rank, text(self.base), self.device
        rows = []
        for pid, label, index in ((r.pid, "CPU", r.pid),
                                  (device, f"GPU {device}", 5000000 + device)):
            rows += [(pid, 0, "process_name", {"name": "python3"}),
                     (pid, 0, "process_labels", {"labels": label}),
                     (pid, 0, "process_sort_index", {"sort_index": index})]
        tracks = [(r.pid, t, f"thread {t} (python3)") for t in sorted({e.tid for e in r.events})]
        tracks += [(device, s, f"stream {s} ") for s in sorted(r.streams)]
        for pid, tid, name in tracks:
            rows += [(pid, tid, "thread_name", {"name": name}),
                     (pid, tid, "thread_sort_index", {"sort_index": tid})]
        for pid, tid, name, args in rows:
            self.out.append(f'{{"name": "{name}", "ph": "M", "ts": {start}, "pid": {pid}, '
                            f'"tid": {tid}, "args": {json.dumps(args)}}}')

    def window(self):
        end = max([self.at(w.end) for w in self.rank.works] + [self.last]) + 60000
        self.out.append('{"ph": "X", "cat": "Trace", "ts": ' + text(self.base) + ', "dur": '
                        + text(end - self.base) + ', "pid": "Spans", "tid": "PyTorch Profiler", '
                        '"name": "PyTorch Profiler (0)", "args": {"Op count": 0}}')
        for name, at, pid, tid in (("Iteration Start: PyTorch Profiler", self.base, "Traces",
                                    "Trace PyTorch Profiler"), ("Record Window End", end, "", "")):
            self.out.append(f'{{"name": "{name}", "ph": "i", "s": "g", "pid": "{pid}", "tid": '
                            f'"{tid}", "ts": {text(at)}}}')

    def head(self):
        job, r = self.job, self.rank
        several = len(job.ranks) > 1
        h = {"schemaVersion": 1,
             "deviceProperties": [job.device.properties(i) for i in range(8 if several else 1)]}
        if r.dev.amd:
            h.update({"roctracer_version": 4.1, "hip_runtime_version": 60342134,
                      "hip_driver_version": 60342134})
        else:
            h.update({"cupti_version": 28, "cuda_runtime_version": 12080,
                      "cuda_driver_version": 12090})
        if several:
            h["distributedInfo"] = self.distributed()
        number = mix(r.key, word("trace id"))
        h.update({"record_shapes": 1, "with_stack": int(job.config["stack"]),
                  "trace_id": f"{number:016X}{mix(number, 1):016X}", "displayTimeUnit": "ms",
                  "baseTimeNanoseconds": 1741824000000000000})
        return h

    def distributed(self):
        groups = [{"pg_name": g.name, "pg_desc": g.description, "backend_config": "cuda:nccl",
                   "pg_size": len(g.ranks), "ranks": g.ranks}
                  for g in self.job.groups.values() if self.rank.r in g.ranks]
        return {"backend": "nccl", "rank": self.rank.r, "world_size": len(self.job.ranks),
                "pg_count": len(groups), "pg_config": groups, "nccl_version": "2.27.3"}

    def document(self):
        self.host()
        self.watchdog()
        self.pin_thread()
        self.gpu()
        self.annotations()
        self.synchronizations()
        self.names()
        self.window()
        head = ",\n".join(f'  {json.dumps(k)}: {json.dumps(v)}' for k, v in self.head().items())
        return "{\n" + head + ',\n  "traceEvents": [\n  ' + ",\n  ".join(self.out) + "\n  ]\n}\n"


def write(job, directory):
    """trace.json.gz, or rankN.json.gz of each rank; the same bytes each time."""
    for rank in job.ranks:
        name = "trace" if len(job.ranks) == 1 else f"rank{rank.r}"
        raw = Recorder(job, rank).document().encode()
        with open(directory / f"{name}.json.gz", "wb") as f:
            with gzip.GzipFile("", "wb", 6, f, mtime=0) as z:
                z.write(raw)
