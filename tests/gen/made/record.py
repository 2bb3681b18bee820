"""Writes a rank's events as PyTorch's profiler (Kineto) does."""
import gzip
import json
from collections import defaultdict

from .device import SIZE
from .noise import mix, word

NVIDIA_CALLS = {"cudaLaunchKernel": 211, "cudaLaunchKernelExC": 430, "cudaMemcpyAsync": 41,
                "cudaStreamSynchronize": 131, "cudaDeviceSynchronize": 165, "cudaEventRecord": 135,
                "cudaStreamWaitEvent": 147, "cudaMemsetAsync": 51, "cudaMalloc": 20, "cudaFree": 22,
                "cudaGraphLaunch": 311, "cudaEventQuery": 138, "cuLaunchKernel": 307,
                "cuLaunchKernelEx": 652, "cuModuleLoadData": 26, "cudaEventSynchronize": 137}
AMD_CALLS = {"hipLaunchKernel": 211, "hipExtModuleLaunchKernel": 65, "hipModuleLaunchKernel": 246,
             "hipMemcpyAsync": 134, "hipMemcpyWithStream": 156, "hipStreamSynchronize": 199,
             "hipDeviceSynchronize": 48, "hipEventRecord": 59, "hipStreamWaitEvent": 200,
             "hipMemsetAsync": 159, "hipMalloc": 108, "hipFree": 74, "hipGraphLaunch": 95,
             "hipExtLaunchKernel": 62, "hipEventQuery": 58, "hipModuleLoadData": 248}


def text(ns):
    """Microseconds with three decimals."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03d}"


def dims(x):
    return list(x.shape) if hasattr(x, "shape") else [dims(y) for y in x] if isinstance(x, list) else []


def strides(x):
    return list(x.strides) if hasattr(x, "shape") else [strides(y) for y in x] if isinstance(x, list) else []


def dtype(x):
    if hasattr(x, "shape"):
        return x.dtype
    return "TensorList" if isinstance(x, list) else "" if x in ("", None) else \
        "ScalarList" if x.startswith("[") else "Scalar"


def concrete(x):
    return x if isinstance(x, str) else ""


def shapes(inputs):
    return {"Concrete Inputs": [concrete(x) for x in inputs], "Input type": [dtype(x) for x in inputs],
            "Input Strides": [strides(x) for x in inputs], "Input Dims": [dims(x) for x in inputs]}


class Recorder:
    def __init__(self, job, rank):
        self.job, self.rank, self.out = job, rank, []
        base = 2_000_000_000_000_000 + mix(job.seed, word("boot")) % 5_000_000_000_000_000
        self.base = base + job.clock_ns(rank.r)
        self.device = rank.r % 8

    def at(self, time):
        return self.base + self.job.at(time)

    def emit(self, start, end, head, args):
        """`head`: the text before "ts"; args: a dict."""
        self.out.append(f'{{{head}, "ts": {text(start)}, "dur": {text(end - start)}, "args": '
                        f'{json.dumps(args)}}}')

    def flow(self, ph, number, pid, tid, start, cat):
        self.out.append(f'{{"ph": "{ph}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": '
                        f'{text(start)}, "cat": "{cat}", "name": "{cat}"'
                        + (', "bp": "e"}' if ph == "f" else "}"))

    # ---- the host ------------------------------------------------------------------------------

    def host(self):
        r = self.rank
        events = [(self.at(e.start), self.at(e.end), e) for e in r.events]
        self.last = max([t for _, t, _ in events], default=self.base)
        events.sort(key=lambda v: (v[2].tid, v[0], -v[1]))
        python, number = {}, 0
        for index, (start, end, e) in enumerate(events):
            head = f'"ph": "X", "cat": "{e.cat}", "name": {json.dumps(e.name)}, "pid": {r.pid}, "tid": {e.tid}'
            if e.cat == "python_function":
                number += 1
                python[id(e)] = number
                args = {"Python parent id": python.get(self.python_parent(e)), "Python id": number}
                if e.module is not None:
                    args["Python module id"] = e.module
            elif e.corr is not None:
                args = self.call_args(e)
            else:
                args = self.op_args(e)
            args["Ev Idx"] = index
            if e.corr is not None:
                del args["Ev Idx"]
            self.emit(start, end, head, args)
            if e.works:
                self.flow("s", e.corr, r.pid, e.tid, start, "ac2g")
            if e.seq is not None and e.fwd == 0 and e.seq in r.undone:
                self.flow("s", e.seq, r.pid, e.tid, start, "fwdbwd")
            elif e.seq is not None and e.fwd and e.name.startswith("autograd::engine"):
                self.flow("f", e.seq, r.pid, e.tid, start, "fwdbwd")

    @staticmethod
    def python_parent(e):
        up = e.up
        while up is not None and up.cat != "python_function":
            up = up.up
        return id(up)

    def call_args(self, e):
        args = {"External id": e.ext} if e.ext is not None else {}
        ids = AMD_CALLS if self.rank.dev.amd else NVIDIA_CALLS
        args["cid" if self.rank.dev.amd else "cbid"] = ids.get(e.name, 0)
        return {**args, "correlation": e.corr, **(e.args or {})}

    def op_args(self, e):
        args = {"External id": e.ext, "Record function id": 0}
        if e.seq is not None:
            args["Sequence number"], args["Fwd thread id"] = e.seq, e.fwd
        if e.args:
            args.update(e.args)
        if e.inputs:
            args.update(shapes(e.inputs))
        return args

    # ---- the GPU -------------------------------------------------------------------------------

    def gpu(self):
        r = self.rank
        for w in sorted(r.works, key=lambda w: (self.at(w.start), self.at(w.end), w.corr or 0)):
            start, end = self.at(w.start), self.at(w.end)
            head = (f'"ph": "X", "cat": "{w.cat}", "name": {json.dumps(w.name)}, "pid": '
                    f'{self.device}, "tid": {w.stream}')
            args = {"External id": w.ext} if w.ext is not None else {}
            if w.call is not None and w.call.ext is not None:
                args = {"External id": w.call.ext}
            args.update({"device": self.device, "stream": w.stream, "correlation": w.corr})
            args.update(self.kernel_args(w.args) if w.cat == "kernel" else self.copy_args(w, end - start))
            self.emit(start, end, head, args)
            if w.call is not None:
                self.flow("f", w.corr, self.device, w.stream, start, "ac2g")

    def kernel_args(self, a):
        grid, block = a["grid"], a["block"]
        threads, blocks = block[0] * block[1] * block[2], grid[0] * grid[1] * grid[2]
        if self.rank.dev.amd:
            args = {"kind": "Dispatch Kernel", "grid": [grid[0] * block[0], *grid[1:]], "block": block}
        else:
            units = self.rank.dev.units
            args = {"queued": 0, "context": 1, "registers per thread": a["regs"],
                    "shared memory": a["shared"], "blocks per SM": round(blocks / units, 6),
                    "warps per SM": round(blocks * threads / 32 / units, 6), "grid": grid,
                    "block": block, "est. achieved occupancy %": min(100, int(
                        100 * blocks * threads / 32 / units / 64))}
        return {**args, **a.get("nccl", {})}

    def copy_args(self, w, ns):
        args = {"bytes": w.args["bytes"], "memory bandwidth (GB/s)": w.args["bytes"] / ns}
        return args if self.rank.dev.amd else {"context": 1, **args}

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
                self.emit(start, end, f'"ph": "X", "cat": "gpu_user_annotation", "name": '
                          f'{json.dumps(e.name)}, "pid": {self.device}, "tid": {stream}',
                          {"External id": e.ext})

    def sync_events(self):
        for kind, call, args in self.rank.syncs if self.job.config["syncs"] else ():
            start, end = self.at(call.start), self.at(call.end)
            a = {"cuda_sync_kind": kind, "correlation": call.corr, "device": self.device,
                 "context": 1, **args}
            if call.ext is not None:
                a = {"External id": call.ext, **a}
            self.emit(start + 200, end - 100, f'"ph": "X", "cat": "cuda_sync", "name": "{kind}", '
                      f'"pid": {self.device}, "tid": {args["stream"]}', a)

    # ---- what is around ------------------------------------------------------------------------

    def watchdog(self):
        """NCCL's watchdog asks after its events now and then, on a thread of its own."""
        r = self.rank
        if len(self.job.ranks) < 2:
            return
        name, tid, every = ("hipEventQuery" if r.dev.amd else "cudaEventQuery"), r.pid + 301, 1700000
        at = self.base + mix(r.key, word("watchdog")) % every
        while at < self.last:
            r.last_corr += 1
            self.emit(at, at + 700 + mix(r.key, at) % 1500, f'"ph": "X", "cat": "cuda_runtime", '
                      f'"name": "{name}", "pid": {r.pid}, "tid": {tid}',
                      {"cid" if r.dev.amd else "cbid": 138, "correlation": r.last_corr})
            at += every

    def names(self):
        r, start = self.rank, text(self.base)
        rows = [(r.pid, 0, "process_name", {"name": "python3"}),
                (r.pid, 0, "process_labels", {"labels": "CPU"}),
                (r.pid, 0, "process_sort_index", {"sort_index": r.pid}),
                (self.device, 0, "process_name", {"name": "python3"}),
                (self.device, 0, "process_labels", {"labels": f"GPU {self.device}"}),
                (self.device, 0, "process_sort_index", {"sort_index": 5000000 + self.device})]
        for tid in sorted({e.tid for e in r.events}):
            rows.append((r.pid, tid, "thread_name", {"name": f"thread {tid} (python3)"}))
            rows.append((r.pid, tid, "thread_sort_index", {"sort_index": tid}))
        for stream in sorted(r.streams):
            rows.append((self.device, stream, "thread_name", {"name": f"stream {stream} "}))
            rows.append((self.device, stream, "thread_sort_index", {"sort_index": stream}))
        for pid, tid, name, args in rows:
            self.out.append(f'{{"name": "{name}", "ph": "M", "ts": {start}, "pid": {pid}, "tid": '
                            f'{tid}, "args": {json.dumps(args)}}}')

    def window(self):
        ends = [self.at(w.end) for w in self.rank.works] + [self.last]
        end = max(ends) + 60000
        self.out.append(f'{{"ph": "X", "cat": "Trace", "ts": {text(self.base)}, "dur": '
                        f'{text(end - self.base)}, "pid": "Spans", "tid": "PyTorch Profiler", "name": '
                        '"PyTorch Profiler (0)", "args": {"Op count": 0}}')
        for name, at, pid, tid in (("Iteration Start: PyTorch Profiler", self.base, "Traces",
                                    "Trace PyTorch Profiler"), ("Record Window End", end, "", "")):
            self.out.append(f'{{"name": "{name}", "ph": "i", "s": "g", "pid": "{pid}", "tid": '
                            f'"{tid}", "ts": {text(at)}}}')

    def head(self):
        job, r = self.job, self.rank
        h = {"schemaVersion": 1,
             "deviceProperties": [job.device.properties(i) for i in range(8 if len(job.ranks) > 1 else 1)]}
        if r.dev.amd:
            h.update({"roctracer_version": 4.1, "hip_runtime_version": 60342134,
                      "hip_driver_version": 60342134})
        else:
            h.update({"cupti_version": 28, "cuda_runtime_version": 12080, "cuda_driver_version": 12090})
        if len(job.ranks) > 1:
            config = [{"pg_name": g.name, "pg_desc": g.description, "backend_config": "cuda:nccl",
                       "pg_size": len(g.ranks), "ranks": g.ranks}
                      for g in job.groups.values() if r.r in g.ranks]
            h["distributedInfo"] = {"backend": "nccl", "rank": r.r, "world_size": len(job.ranks),
                                    "pg_count": len(config), "pg_config": config, "nccl_version": "2.27.3"}
        number = mix(r.key, word("trace id"))
        h.update({"record_shapes": 1, "with_stack": int(job.config["stack"]),
                  "trace_id": f"{number:016X}{mix(number, 1):016X}", "displayTimeUnit": "ms",
                  "baseTimeNanoseconds": 1741824000000000000})
        return h

    def document(self):
        self.host()
        self.watchdog()
        self.gpu()
        self.annotations()
        self.sync_events()
        self.names()
        self.window()
        head = ",\n".join(f'  {json.dumps(k)}: {json.dumps(v)}' for k, v in self.head().items())
        return "{\n" + head + ',\n  "traceEvents": [\n  ' + ",\n  ".join(self.out) + "\n  ]\n}\n"


def write(job, directory):
    """trace.json.gz, or rankN.json.gz of each rank; the same bytes each time."""
    for rank in job.ranks:
        name = "trace" if len(job.ranks) == 1 else f"rank{rank.r}"
        rank.undone = {e.seq for e in rank.events if e.fwd}
        raw = Recorder(job, rank).document().encode()
        with open(directory / f"{name}.json.gz", "wb") as f:
            with gzip.GzipFile("", "wb", 6, f, mtime=0) as z:
                z.write(raw)
