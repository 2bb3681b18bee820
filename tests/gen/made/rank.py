"""One rank of a made run: its host threads and its GPU, as programs drive them.

A program calls `op`, `frame`, `module`, `range` (scopes, which become events), `spend` (host time),
`launch`, `copy`, `record` and `wait` (GPU work and its order) and the synchronizing calls. Nothing
here looks at a time: times are nodes of a graph (graph.py)."""
from contextlib import contextmanager

from .noise import choose, mix, normal, word

# How many launches a stream takes before the next launch blocks; ROCm's queues grow.
QUEUE_DEPTH = 1024
BLOCKING_RETURN_US = 5.5


class Event:
    """A host event; times are (node, ns)."""
    __slots__ = ("cat", "name", "tid", "start", "end", "args", "ext", "corr", "seq", "fwd",
                 "inputs", "works", "module", "up")

    def __init__(self, cat, name, tid, start):
        self.cat, self.name, self.tid, self.start, self.end = cat, name, tid, start, None
        self.args = self.ext = self.corr = self.seq = self.fwd = self.inputs = None
        self.module = self.up = None
        self.works = []


class Work:
    """A GPU event."""
    __slots__ = ("cat", "name", "stream", "start", "end", "corr", "ext", "args", "step", "call")

    def __init__(self, cat, name, stream):
        self.cat, self.name, self.stream = cat, name, stream
        self.start = self.end = self.corr = self.ext = self.args = self.step = self.call = None


class Stream:
    def __init__(self):
        self.end, self.waits, self.starts, self.last = None, [], [], ""


class Scope:
    """A context: an event between its times, and a place for random numbers."""
    __slots__ = ("rank", "event", "name", "after", "plain", "kept")

    def __init__(self, rank, event, name, after, plain):
        self.rank, self.event, self.name, self.after, self.plain = rank, event, name, after, plain

    def __enter__(self):
        r = self.rank
        self.kept = r.place, r.counts
        if self.plain:
            return self.event
        n = r.count(self.name)
        r.place, r.counts = mix(mix(r.place, word(self.name)), n), {}
        r.path.append(self.name)
        return self.event

    def __exit__(self, *_):
        r = self.rank
        r.spend(self.after, "exit " + self.name)
        if self.event is not None:
            self.event.end = r.now
            r.open_event = self.event.up
        if not self.plain:
            r.place, r.counts = self.kept
            r.path.pop()


class Rank:
    def __init__(self, job, number):
        self.job, self.r, self.dev, self.config = job, number, job.device, job.config
        self.key = mix(job.seed, number + 1)
        self.now = (job.graph.node((job.root, job.start_ns(number))), 0)
        self.pid = 3100 + job.seed % 4000 + 71 * number
        self.main, self.backward_thread = self.pid, self.pid + 160 + job.seed % 90
        self.tid, self.place, self.counts, self.path = self.main, word("run"), {}, []
        self.events, self.works, self.streams = [], [], {}
        self.stream = 0 if self.dev.amd else 7
        self.open_event, self.last_ext, self.last_corr = None, 1000 + job.seed % 700, 300
        self.sequence, self.tape, self.grad = 40 + job.seed % 50, [], False
        self.capture, self.step, self.factor, self.modules = None, None, 1.0, {}
        self.group_seq, self.hooks, self.syncs = {}, None, []
        self.ready_batch, self.prefetched, self.params = None, None, []
        self.queued_gap, self.node_gap = job.fault("queued_gap"), job.fault("graph_gap")

    # ---- random numbers and host time ---------------------------------------------------------

    def count(self, what):
        """How often this has been asked at this place."""
        n = self.counts.get(what, 0)
        self.counts[what] = n + 1
        return n

    def draw(self, what):
        return mix(mix(mix(self.place, word(what)), self.count(what)), self.key)

    def note(self, what, ns):
        """For tests: what was drawn, and where."""
        self.job.ledger.append((self.r, "/".join(self.path), what, ns))

    def spend(self, us, what="host"):
        """Host time, with noise; now and then much longer."""
        if self.capture is not None:
            return
        h = self.draw(what)
        f = max(0.5, 1 + 0.11 * normal(h)) * (2.5 if h % 251 == 0 else 1)
        ns = int(us * f * 1000 * self.job.host_factor)
        if self.job.ledger is not None:
            self.note(what, ns)
        self.now = (self.now[0], self.now[1] + ns)

    def sleep(self, us, what):
        """Host time that launching faster does not shorten: input, compiling, pauses."""
        if self.capture is None:
            ns = int(us * max(0.5, 1 + 0.05 * normal(self.draw(what))) * 1000)
            if self.job.ledger is not None:
                self.note(what, ns)
            self.now = (self.now[0], self.now[1] + ns)

    def scaled(self, us, part, what):
        """ns of us with noise of this part."""
        ns = int(1000 * us * max(0.4, 1 + part * normal(self.draw(what))))
        if self.job.ledger is not None:
            self.note(what, ns)
        return ns

    # ---- scopes --------------------------------------------------------------------------------

    def scope(self, cat, name, before, after, key=None, plain=False):
        """A plain one does not change what is drawn inside."""
        event = None
        if self.capture is None:
            self.spend(before, "enter " + name)
            shown = cat != "python_function" or self.config["stack"]
            if shown:
                event = Event(cat, name, self.tid, self.now)
                event.up = self.open_event
                self.open_event = event
                self.events.append(event)
        return Scope(self, event, key or name, after, plain)

    def op(self, name, *inputs, back=None, key=None, fwd=None, seq=None, args=None):
        """An operator; `back` names the autograd node that undoes it, if gradients are wanted."""
        s = self.scope("cpu_op", name, 1.5, 0.7, key)
        if back is not None and self.grad:
            self.sequence += 1
            seq, fwd = self.sequence, 0
        if s.event is not None:
            self.last_ext += 1
            s.event.ext, s.event.inputs, s.event.args = self.last_ext, inputs, args
            s.event.seq, s.event.fwd = seq, fwd
        return s

    def frame(self, name, plain=False):
        return self.scope("python_function", name, 0.8, 0.5, plain=plain)

    def module(self, kind, key):
        """nn.Module: a class, and which of it."""
        number = self.modules.setdefault((kind, key), sum(k == kind for k, _ in self.modules))
        s = self.scope("python_function", f"nn.Module: {kind}_{number}", 1.3, 0.8, f"{kind} {key}")
        if s.event is not None:
            s.event.module = list(self.modules).index((kind, key))
        return s

    def range(self, name):
        s = self.scope("user_annotation", name, 1.2, 0.9)
        if s.event is not None:
            self.last_ext += 1
            s.event.ext = self.last_ext
        return s

    @contextmanager
    def at(self, place, path):
        """Random numbers as at another place: the backward pass, at its forward operators."""
        kept = self.place, self.counts, self.path
        self.place, self.counts, self.path = mix(place, word("backward")), {}, path
        yield
        self.place, self.counts, self.path = kept

    @contextmanager
    def on(self, tid, us=14):
        """Control passes to another host thread, and back."""
        if self.capture is not None:
            yield
            return
        mine, opened = self.tid, self.open_event
        self.spend(us, "hand over")
        self.tid, self.open_event = tid, None
        yield
        self.tid, self.open_event = mine, opened
        self.spend(us, "hand back")

    # ---- calls and GPU work --------------------------------------------------------------------

    def call(self, name, us, wait_for=(), **args):
        """A call of the runtime or the driver; it lasts until these times at least."""
        self.spend(0.6, "before " + name)
        event = Event("cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else
                      "cuda_runtime", name, self.tid, self.now)
        op = self.open_event
        while op is not None and op.cat != "cpu_op":
            op = op.up
        event.ext, event.up, event.args = op and op.ext, self.open_event, args
        self.last_corr += 1
        event.corr = self.last_corr
        self.spend(us, name)
        causes = [c for c in wait_for if c is not None]
        if causes:
            self.now = (self.job.graph.node(self.now, *causes), 0)
        event.end = self.now
        self.events.append(event)
        return event

    def stream_of(self, stream):
        return self.streams.setdefault(stream, Stream())

    def work(self, cat, name, ns, stream, call, args, first=True):
        """Puts work behind what is on its stream; returns it."""
        s, w = self.stream_of(stream), Work(cat, name, stream)
        w.corr, w.ext, w.args, w.step, w.call = call.corr, call.ext, args, self.step, call
        causes = list(s.waits)
        if first:
            latency = self.scaled(self.job.latency, 0.08, "latency")
            causes.append((call.start[0], call.start[1] + latency))
        if s.end is not None:
            causes.append((s.end[0], s.end[1] + self.scaled(self.gap(first, s.last), 0.15, "gap")))
        s.waits = []
        node = self.job.graph.node(*causes)
        w.start, w.end = (node, 0), (node, ns)
        s.end, s.last = w.end, name
        s.starts.append(w.start)
        call.works.append(w)
        self.works.append(w)
        return w

    def gap(self, first, after):
        """Time between two kernels of a stream, in us; `first`: not inside of a GPU graph."""
        if first:
            slow = self.queued_gap and after.startswith(self.queued_gap["after"])
            return self.queued_gap["us"] if slow else self.job.stream_gap
        return self.node_gap["us"] if self.node_gap else self.config["graph_gap"]

    def full_queue(self, stream):
        starts = self.stream_of(stream).starts
        return [starts[-QUEUE_DEPTH]] if len(starts) >= QUEUE_DEPTH and not self.dev.amd else []

    def launch(self, name, us, stream=None, api=None, grid=(1, 1, 1), block=(128, 1, 1), regs=32,
               shared=0):
        """A kernel of this length, with noise."""
        stream = self.stream if stream is None else stream
        h = self.draw("kernel " + name)
        ns = max(600, int(1000 * us * self.factor * (1 + 0.011 * normal(h))))
        if self.job.ledger is not None:
            self.note("kernel " + name, ns)
        args = {"grid": list(grid), "block": list(block), "regs": regs, "shared": shared}
        if self.capture is not None:
            self.capture.append(("kernel", name, ns, stream, args, self.place))
            return None
        self.spend(1.7, "arguments")
        api = api or ("hipLaunchKernel" if self.dev.amd else "cudaLaunchKernel")
        extra = {"kernel": name} if self.dev.amd else {}
        call = self.call(api, 3.6, self.full_queue(stream), **extra)
        return self.work("kernel", name, ns, stream, call, args)

    @contextmanager
    def graph_launch(self):
        """What is launched inside is one GPU graph: no host work but one launch."""
        assert self.capture is None
        self.capture = []
        yield
        nodes, self.capture = self.capture, None
        call = self.call("hipGraphLaunch" if self.dev.amd else "cudaGraphLaunch",
                         9 + (0.9 if self.dev.amd else 0.06) * len(nodes))
        seen = set()
        for cat, name, ns, stream, args, place in nodes:
            kept, counts, self.place, self.counts = self.place, self.counts, place, {}
            self.work(cat, name, ns, stream, call, dict(args), first=stream not in seen)
            self.place, self.counts = kept, counts
            seen.add(stream)

    def unlaunched(self, name, us):
        """A kernel that was launched before the recording."""
        ns = int(1000 * us * (1 + 0.05 * normal(self.draw("kernel " + name))))
        s, w = self.stream_of(self.stream), Work("kernel", name, self.stream)
        cause = (self.now[0], self.now[1] - 20000) if s.end is None else (s.end[0], s.end[1] + 1000)
        node = self.job.graph.node(cause)
        w.start, w.end = (node, 0), (node, ns)
        w.corr = self.count("unlaunched") + 1
        w.args = {"grid": [512, 1, 1], "block": [256, 1, 1], "regs": 128, "shared": 0}
        s.end = w.end
        self.works.append(w)

    def memset(self, nbytes, stream=None):
        stream = self.stream if stream is None else stream
        ns = self.scaled(1.2 + nbytes / (self.dev.bw * 0.8e3), 0.01, "set")
        what = ("gpu_memset", "Memset (Device)", ns, stream)
        if self.capture is not None:
            self.capture.append((*what, {"bytes": nbytes}, self.place))
            return
        call = self.call("hipMemsetAsync" if self.dev.amd else "cudaMemsetAsync", 3.1)
        self.work(*what, call, {"bytes": nbytes})

    def copy(self, direction, nbytes, pinned=True, blocking=False, stream=None, rate=None):
        """cudaMemcpyAsync and its like; a blocking one returns after its copy."""
        stream = self.stream if stream is None else stream
        rate = rate or (self.dev.pinned if pinned else self.dev.pageable)
        ns = self.scaled(1.3 + nbytes / (rate * 1e3), 0.015, "copy")
        host = ("Host" if self.dev.amd else "Pinned" if pinned else "Pageable")
        a, b = (host, "Device") if direction == "HtoD" else ("Device", host)
        api = "cudaMemcpyAsync" if not self.dev.amd else \
            "hipMemcpyWithStream" if blocking else "hipMemcpyAsync"
        call = self.call(api, 5.2, **({"bytes": str(nbytes)} if self.dev.amd else {}))
        w = self.work("gpu_memcpy", f"Memcpy {direction} ({a} -> {b})", ns, stream, call,
                      {"bytes": nbytes})
        if blocking:
            back = (w.end[0], w.end[1] + self.jitter(BLOCKING_RETURN_US))
            self.now = call.end = (self.job.graph.node(self.now, back), 0)
        return w

    def jitter(self, us, what="return"):
        return self.scaled(us, 0.12, what)

    # ---- waiting -------------------------------------------------------------------------------

    def after(self, time, us):
        return None if time is None else (time[0], time[1] + self.jitter(us))

    def sync_stream(self, stream=None, name=None):
        stream = self.stream if stream is None else stream
        end = self.after(self.stream_of(stream).end, BLOCKING_RETURN_US)
        call = self.call(name or ("hipStreamSynchronize" if self.dev.amd else
                                  "cudaStreamSynchronize"), 1.8, [end])
        self.syncs.append(("Stream Sync", call, {"stream": stream}))

    def sync_device(self, name=None, us=2.2):
        ends = [self.after(s.end, BLOCKING_RETURN_US) for s in self.streams.values()]
        call = self.call(name or ("hipDeviceSynchronize" if self.dev.amd else
                                  "cudaDeviceSynchronize"), us, ends)
        self.syncs.append(("Context Sync", call, {"stream": -1}))

    def record(self, stream=None):
        """An event: what is on the stream now."""
        stream = self.stream if stream is None else stream
        call = self.call("hipEventRecord" if self.dev.amd else "cudaEventRecord", 1.1)
        return self.stream_of(stream).end, stream, call.corr

    def wait(self, event, stream=None):
        """Later work of the stream starts after the event."""
        stream = self.stream if stream is None else stream
        end, source, corr = event
        call = self.call("hipStreamWaitEvent" if self.dev.amd else "cudaStreamWaitEvent", 1.0)
        if end is not None and source != stream:
            self.stream_of(stream).waits.append((end[0], end[1] + 900))
        self.syncs.append(("Stream Wait Event", call, {
            "wait_on_stream": source, "wait_on_cuda_event_record_corr_id": corr, "stream": stream}))

    def until(self, time):
        """The host thread goes on no sooner than this time."""
        self.now = (self.job.graph.node(self.now, time), 0)

    # ---- collectives ---------------------------------------------------------------------------

    def collective(self, group, kind, us, stream, args, slack_us=0.6):
        """The kernel of a collective of a group (name, ranks): it ends on all ranks once all have
        come and its transfer of `us` is over."""
        seq = self.group_seq[group.name] = self.group_seq.get(group.name, -1) + 1
        call = self.call("hipExtLaunchKernel" if self.dev.amd else "cudaLaunchKernelExC", 4.4,
                         **({"kernel": group.kernel(kind, args)} if self.dev.amd else {}))
        units = group.channels(args)
        w = self.work("kernel", group.kernel(kind, args), 0, stream, call,
                      {"grid": [units, 1, 1], "block": [544 if not self.dev.amd else 256, 1, 1],
                       "regs": 96, "shared": 82240, "nccl": args})
        end = self.job.graph.node()
        w.end = self.stream_of(stream).end = (end, 0)
        args["Seq"] = seq
        self.job.meet(group, kind, seq, self, w.start, end, us, self.jitter(slack_us, "end"))
        return w

    def pick(self, items, what):
        """One of several, the same on all ranks and at all places of that name."""
        return choose(mix(self.job.seed, word(what)), items)
