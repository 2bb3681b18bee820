"""Runs written by hand for tests of findings: a rank's host and streams, in nanoseconds.

The host goes from event to event; GPU work begins LAUNCH after its call or GAP after the work before it on
its stream, whichever is later, so that what a test expects can be worked out from the numbers it wrote.
"""
import contextlib
import csv
import json
import subprocess

from support import BUILD, SLOWER, Case, environment

US, MS = 1000, 1000000
LAUNCH, GAP, CALL = 5 * US, US, 4 * US
H100, MI300X = "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"
PROCESS, THREAD = 100, 100
# What the platform of H100 reaches at the targets of findings: FLOP/ns in bf16 and TF32, bytes/ns of its memory.
PEAK = 989.4e3
BF16, TF32, MEMORY = PEAK * 0.80, 494.7e3 * 0.80, 3350 * 0.85


class Rank:
    """The events of one rank. `now` is the host's time; each call of a method moves it on."""

    def __init__(self, rank=None, ranks=1, device=H100, begin=0):
        self.events, self.now, self.rank, self.ranks, self.device = [], begin, rank, ranks, device
        self.tid, self.correlation, self.ended = THREAD, 1000, {}
        self.begun = begin

    # ---- the host

    def add(self, ph, cat, name, start, dur, pid, tid, args=None, **more):
        event = dict(ph=ph, cat=cat, name=name, pid=pid, tid=tid, ts=start / US, dur=dur / US, **more)
        if args:
            event["args"] = args
        self.events.append(event)
        return event

    def busy(self, ns):
        """The host computes, and nothing of it is recorded."""
        self.now += ns

    @contextlib.contextmanager
    def inside(self, name, cat="user_annotation", lead=0, tail=0, **args):
        event = self.add("X", cat, name, self.now, 0, PROCESS, self.tid, args)
        begin = self.now
        self.now += lead
        yield event
        self.now += tail
        event["dur"] = (self.now - begin) / US

    def step(self, number):
        return self.inside(f"ProfilerStep#{number}")

    def frame(self, name):
        return self.inside(name, "python_function")

    def op(self, name, dims=None, types=None, lead=US, tail=US, **args):
        if dims is not None:
            args["Input Dims"] = dims
            args["Input type"] = types or ["c10::BFloat16" if d else "Scalar" for d in dims]
        return self.inside(name, "cpu_op", lead, tail, **args)

    @contextlib.contextmanager
    def thread(self, tid, at=None):
        """Another thread, from the time `at` on; this one's time stays as it is."""
        before = self.tid, self.now
        self.tid, self.now = tid, self.now if at is None else at
        yield
        self.tid, self.now = before

    def call(self, name, dur=CALL, cat="cuda_runtime", correlation=None):
        if correlation is None:
            self.correlation += 1
            correlation = self.correlation
        event = self.add("X", cat, name, self.now, dur, PROCESS, self.tid, {"correlation": correlation})
        self.now += dur
        return event

    # ---- the GPU

    def end(self, stream=7):
        """When the stream has done all that was launched."""
        return self.ended.get(stream, self.begun)

    def work(self, cat, name, dur, stream, launched, correlation, gap=GAP, after=0, **args):
        """`after`: when it may begin by an event that its stream waits for."""
        start = max(launched + LAUNCH, after)
        if stream in self.ended:
            start = max(start, self.ended[stream] + gap)
        self.ended[stream] = start + dur
        if correlation is not None:
            args["correlation"] = correlation
        return self.add("X", cat, name, start, dur, 0, stream, {"device": 0, "stream": stream, **args})

    def launch(self, name, dur, stream=7, call="cudaLaunchKernel", call_ns=CALL, **args):
        """A launch call and its kernel."""
        begin = self.now
        self.call(call, call_ns)
        return self.work("kernel", name, dur, stream, begin, self.correlation, **args)

    def copy(self, kind, dur, bytes=0, stream=7, call_ns=CALL, waits=False):
        """An asynchronous copy, `kind` as in "HtoD (Pinned -> Device)"; one that waits returns 2 us after it."""
        begin = self.now
        call = self.call("cudaMemcpyAsync", call_ns)
        event = self.work("gpu_memcpy", f"Memcpy {kind}", dur, stream, begin, self.correlation, bytes=bytes)
        if waits:
            self.now = self.end(stream) + 2 * US
            call["dur"] = (self.now - begin) / US
        return event

    def wait_event(self):
        """A stream waits for what was launched last on another one."""
        self.call("cudaEventRecord", US)
        self.call("cudaStreamWaitEvent", US)

    def sync(self, name="cudaStreamSynchronize", stream=7):
        """A call that returns 2 us after the stream has done its work."""
        begin = self.now
        call = self.call(name, 0)
        self.now = max(self.end(stream), begin) + 2 * US
        call["dur"] = (self.now - begin) / US
        return call

    def run(self, name, dur, dims=None, stream=7, types=None, **args):
        """An operator with one kernel, 6 us of the host."""
        with self.op(name, dims, types, **args):
            return self.launch(name.replace("::", "_") + "_kernel", dur, stream)

    # ---- what is written

    def document(self):
        head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": self.device,
                                                          "totalGlobalMem": 85028896768}]}
        if self.rank is not None:
            head["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": self.ranks}
        lines = ",\n".join(json.dumps(e) for e in self.events)
        return json.dumps(head)[:-1] + ', "traceEvents": [\n' + lines + "\n]}\n"


def meet(members, name, elements, transfer, stream=7, dtype="BFloat16", group="0", out=None, kernel=None,
         after=None):
    """A collective of ranks: each launches its kernel now; all end `transfer` after the last start. `elements`
    and `out`, by rank or of each: what it gives and gets; `after`: by rank, as in Rank.work()."""
    made = []
    for k, r in enumerate(members):
        begin = r.now
        r.call("cudaLaunchKernelExC")
        into = elements[k] if isinstance(elements, (list, tuple)) else elements
        got = out[k] if isinstance(out, (list, tuple)) else into if out is None else out
        ranks = [m.rank for m in members]
        made.append(r.work("kernel", kernel or f"ncclDevKernel_{name}", 0, stream, begin, r.correlation,
                           after=after[k] if after else 0,
                           **{"Collective name": name, "In msg nelems": into, "Out msg nelems": got,
                              "dtype": dtype, "Group size": len(members), "Process Group Name": group,
                              "Process Group Ranks": str(ranks)}))
    last = max(round(e["ts"] * US) for e in made) + transfer
    for r, e in zip(members, made):
        e["dur"] = last / US - e["ts"]
        r.ended[stream] = last
    return made


# ---- what is found in them

DUMP = BUILD / "tools/findings_dump"
STEPS = 4
# Queued behind it, what follows in a step waits for the GPU and not for the host.
AHEAD = 500 * US


class Findings(Case):
    def table(self, *ranks):
        """The rows of the runs of these ranks."""
        paths = [self.write(r.document(), f"rank{k}.json") for k, r in enumerate(ranks)]
        done = subprocess.run([DUMP, *paths], capture_output=True, text=True, timeout=60 * SLOWER,
                              env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return list(csv.DictReader(done.stdout.splitlines()))

    def find(self, *ranks):
        """{kind: row}"""
        rows = self.table(*ranks)
        self.assertEqual(len({r["kind"] for r in rows}), len(rows))
        return {r["kind"]: r for r in rows}

    def assertGain(self, found, kind, ns):
        """The gain of a step, which is told in whole microseconds."""
        self.assertIn(kind, found, found.keys())
        self.assertAlmostEqual(float(found[kind]["gain_ms"]) * MS, ns, delta=501)

    def assertNone(self, found, *kinds):
        self.assertEqual([k for k in kinds if k in found], [])


def steps(body, count=STEPS, ahead=AHEAD, **more):
    """A run of steps, in each of which the GPU is busy before `body` begins."""
    r = Rank(**more)
    for number in range(count):
        with r.step(number + 1):
            r.run("aten::mm", ahead)
            body(r)
    return r


def ranks_of(count, body, number=STEPS, ahead=AHEAD):
    """The same of ranks: `body` gets all of them."""
    ranks = [Rank(rank, count) for rank in range(count)]
    for step in range(number):
        begun = [r.inside(f"ProfilerStep#{step + 1}") for r in ranks]
        for context, r in zip(begun, ranks):
            context.__enter__()
            r.run("aten::mm", ahead)
        body(ranks)
        for context in begun:
            context.__exit__(None, None, None)
    return ranks
