"""A slow, plain second opinion on a trace: times, links, launchers and the reconciliation.

It shares nothing with trawl: it reads strict JSON with the standard library, keeps times as integer
nanoseconds, and does every interval sum by sorting end points. It follows the definitions that
docs/ and the column descriptions state, and knows only well-formed traces.
"""
import bisect
import collections
import copy
import gzip
import json
import re
from decimal import ROUND_HALF_UP, Context, Decimal

GPU_CATS = ("kernel", "gpu_memcpy", "gpu_memset")
MTIA = {"dma_request": "gpu_memcpy", "event_wait": "waiting", "event_record": "waiting"}
HOST_CATS = ("cpu_op", "cuda_runtime", "cuda_driver", "python_function")
COMMUNICATION = re.compile(r"(^|\W)_*(nccl|rccl|one_shot_all_reduce)|cross_device_reduce", re.I)
COMPILED = re.compile(r"triton_(poi|red|per|for|tem)_fused_")
COMPUTES = re.compile(r"(void )?(at::native::|c10d::checkForNaN|cutlass::device_kernel)|nvjet_|Cijk_")
COLLECTIVE_ARGS = ("Collective name", "In msg nelems", "Out msg nelems", "Process Group Name")
COLLECTIVE_OPS = re.compile(r"record_param_comms$|(nccl|xccl|hccl):|c10d::|_c10d_functional::")
ELEMENT = {"Float": 4, "BFloat16": 2, "Long": 8}
LEGACY_COPY = re.compile(r"(MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)"
                         r"|__amd_rocclr_copyBuffer(Rect)?(Aligned)?)(\.kd)?")

EXACT = Context(prec=400)


def to_ns(value):
    """Decimal microseconds to integer nanoseconds, rounded to the nearest."""
    scaled = EXACT.multiply(Decimal(value), Decimal(1000))
    return int(scaled.to_integral_value(rounding=ROUND_HALF_UP, context=EXACT))


def load(source):
    """Events of a trace: a path (.json or .json.gz) or its text."""
    if hasattr(source, "read_bytes"):
        data = source.read_bytes()
        source = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    doc = json.loads(source, parse_float=Decimal)
    return doc["traceEvents"] if isinstance(doc, dict) else doc


def union(intervals):
    """Merged intervals, sorted; touching ones join."""
    out = []
    for a, b in sorted(intervals):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(intervals):
    return sum(b - a for a, b in union(intervals))


def minus(a, b):
    """Length of union(a) outside union(b), by sweeping every end point."""
    points = collections.Counter()
    for sign, rows in ((1, union(a)), (1000, union(b))):
        for lo, hi in rows:
            points[lo] += sign
            points[hi] -= sign
    total, state, last = 0, 0, None
    for at in sorted(points):
        if last is not None and state == 1:
            total += at - last
        state += points[at]
        last = at
    return total


class Event:
    def __init__(self, index, raw):
        args = raw.get("args") if isinstance(raw.get("args"), dict) else {}
        self.index, self.raw, self.args = index, raw, args
        self.name, self.cat = str(raw.get("name", "")), raw.get("cat")
        self.ts, self.dur = to_ns(raw["ts"]), to_ns(raw["dur"])
        self.end = self.ts + self.dur
        self.pid, self.tid = raw.get("pid"), raw.get("tid")
        self.device = args.get("device", self.pid)
        self.stream = args.get("stream", self.tid)
        self.parent, self.launch = None, None
        self.communicates = None  # why, of GPU events of a Trace

    @property
    def span(self):
        return (self.ts, self.end)

    def kind(self):
        """copy, communication or compute."""
        if self.communicates:
            return "communication"
        return "copy" if self.is_copy() else "compute"

    def is_copy(self):
        return self.cat == "gpu_memcpy" or (self.cat == "kernel" and bool(LEGACY_COPY.fullmatch(self.name)))

    def has_collective(self):
        return any(self.args.get(k) is not None for k in COLLECTIVE_ARGS)


def usable(raw):
    """A GPU row whose time is not lost."""
    if raw.get("ph") != "X" or raw.get("ts") is None or raw.get("dur") is None:
        return False
    ts, dur = Decimal(raw["ts"]), Decimal(raw["dur"])
    return dur >= 0 and not (ts == 0 and dur == 0)


class Trace:
    def __init__(self, source):
        events = [(i, e) for i, e in enumerate(load(source)) if isinstance(e, dict)]
        for _, e in events:
            # MTIA has one category for all that its device does.
            if e.get("cat") == "mtia_ccp_events":
                e["cat"] = MTIA.get(e.get("name"), "kernel")
            elif e.get("cat") == "mtia_runtime":
                e["cat"] = "cuda_runtime"
        self.gpu = [Event(i, e) for i, e in events if e.get("cat") in GPU_CATS and usable(e)]
        self.host = [Event(i, e) for i, e in events
                     if e.get("cat") in HOST_CATS and e.get("ph") == "X"]
        self.metadata = [e for _, e in events if e.get("ph") == "M"]
        self.ranges = [Event(i, e) for i, e in events if e.get("cat") == "user_annotation" and e.get("ph") == "X"]
        self.nest()
        self.collective, self.others = collections.defaultdict(list), collections.defaultdict(list)
        for e in self.host + self.ranges:
            if COLLECTIVE_OPS.match(e.name) and (e.cat == "cpu_op" or e.cat == "user_annotation" and
                                                 not self.is_asynchronous(e)):
                self.collective[e.pid, e.tid].append(e)
            elif e.cat == "cpu_op":
                self.others[e.pid, e.tid].append(e)
        self.link()
        for g in self.gpu:
            g.communicates = self.evidence(g)

    def nest(self):
        """Parent of each host event: the innermost one of its thread that is still open."""
        stacks, self.threads = collections.defaultdict(list), collections.defaultdict(list)
        for e in sorted(self.host, key=lambda e: (e.ts, e.index)):
            stack = stacks[(e.pid, e.tid)]
            while stack and e.ts >= stack[-1].end:
                stack.pop()
            e.parent = stack[-1] if stack else None
            stack.append(e)
            self.threads[e.pid, e.tid].append(e)

    def is_asynchronous(self, e):
        """Whether a range ends more than a microsecond behind the operation or call that it began in."""
        thread = self.threads[e.pid, e.tid]
        n = bisect.bisect_left(thread, e.ts, key=lambda h: h.ts)
        at = thread[n - 1] if n else None
        while at is not None and (at.cat == "python_function" or at.end <= e.ts):
            at = at.parent
        return at is not None and e.end > at.end + 1000

    def link(self):
        """Launch of each GPU event: by correlation (0 is none), else by External id."""
        by = {"correlation": {}, "External id": {}}
        for e in self.host:
            if e.cat in ("cuda_runtime", "cuda_driver"):
                for key, table in by.items():
                    if e.args.get(key) not in (None, 0):
                        table.setdefault(e.args[key], e)
        for g in self.gpu:
            for key, table in by.items():
                if g.args.get(key) not in (None, 0) and g.args[key] in table:
                    g.launch = table[g.args[key]]
                    break

    def around(self, g):
        """What communicates around a launch, the nearest first, up to an operation that does not."""
        def holds(e):
            return e.ts <= g.launch.ts < e.end

        thread = g.launch and (g.launch.pid, g.launch.tid)
        if not any(holds(e) for e in self.collective[thread]):
            return []
        held = self.collective[thread] + self.others[thread]
        held = [e for e in held if holds(e)]
        out = []
        for e in sorted(held, key=lambda e: (e.ts, -e.end), reverse=True):
            if not COLLECTIVE_OPS.match(e.name):
                break
            out.append(e)
        return out

    def moves(self, g, who):
        """Whether a copy or fill is between devices, or of the bytes of the collective that `who` records."""
        if "PtoP" in g.name or (g.launch and g.launch.name.startswith("cudaMemcpyPeer")):
            return True
        size = ELEMENT.get(who.args.get("dtype")) if who else None
        if size is None or "bytes" not in g.args:
            return False
        ranks = who.args.get("Group size", 1)
        counts = [who.args[k] for k in ("In msg nelems", "Out msg nelems") if who.args.get(k)]
        return any(g.args["bytes"] in (n * size, n * size / ranks if n % ranks == 0 else None) for n in counts)

    def evidence(self, g):
        """"arguments", "operation" or "name", else None: why a GPU event is communication."""
        if COMPUTES.match(g.name):
            return None
        around = self.around(g)
        who = g if g.has_collective() else next((e for e in around if e.has_collective() and e.cat == "cpu_op"), None)
        moved = (g.cat == "kernel" and not g.is_copy() and "fillBuffer" not in g.name) or self.moves(g, who)
        if moved and g.has_collective():
            return "arguments"
        if moved and around:
            return "operation"
        if g.cat != "gpu_memcpy" and not COMPILED.match(g.name) and COMMUNICATION.search(g.name):
            return "name"
        return None

    def collectives(self):
        """[(evidence, ns)]: copies and fills that one operation launched are one, as its first one is; that is
        the nearest that records the collective, else that names it, else the nearest."""
        out, at = [], {}
        for g in sorted(self.gpu, key=lambda g: (g.ts, g.index)):
            if not g.communicates:
                continue
            around = self.around(g) if g.cat != "kernel" else []
            recorded = [e for e in around if e.has_collective() and e.cat == "cpu_op"]
            telling = [e for e in around if e.name != "record_param_comms" and (e is around[0] or e.cat == "cpu_op")]
            key = (recorded + telling + around)[0].index if around else ("alone", g.index)
            if key in at:
                out[at[key]][1] += g.dur
            else:
                at[key] = len(out)
                out.append([g.communicates, g.dur])
        return out

    def launcher(self, g):
        """The event that a GPU event's time is charged to; None where no launch is recorded."""
        if g.launch is None:
            return None
        at = g.launch.parent
        while at is not None:
            if at.cat == "cpu_op" and at.name != "execute":
                return at
            if at.cat not in ("cpu_op", "python_function"):
                break
            at = at.parent
        return g.launch

    def parent_op(self, g):
        """Nearest cpu_op above the launch (of kernel_summary); None without one."""
        at = g.launch.parent if g.launch else None
        while at is not None and at.cat != "cpu_op":
            at = at.parent
        return at


def timeline(gpu):
    """Row -> ns for some GPU events."""
    kinds = collections.defaultdict(list)
    for g in gpu:
        kinds[g.kind()].append(g.span)
    every = union([g.span for g in gpu])
    comp, comm, copies = kinds["compute"], kinds["communication"], kinds["copy"]
    total = every[-1][1] - every[0][0]
    busy = length(every)
    return {
        "compute": length(comp), "exposed_comm": minus(comm, comp),
        "exposed_memcpy": minus(copies, comp + comm), "busy": busy, "idle": total - busy,
        "total": total, "comm": length(comm), "memcpy": length(copies),
    }


def cut(gpu, lo, hi):
    """Copies of the events that reach into [lo, hi), cut at its edges."""
    out = []
    for g in gpu:
        if g.ts < hi and g.end > lo:
            part = copy.copy(g)
            part.ts, part.end = max(g.ts, lo), min(g.end, hi)
            part.dur = part.end - part.ts
            out.append(part)
    return out


def launched(trace, windows):
    """What was launched within windows of the host: the events; their spans; the timeline; a row a
    window. None where no launch is known. Of windows around a call the one that began last counts,
    of those the shorter, of those the later one."""
    if not any(g.launch for g in trace.gpu):
        return None
    order = sorted(range(len(windows)), key=lambda i: (windows[i][0], i))
    windows = [windows[i] for i in order]

    def window_of(time):
        around = [i for i, (lo, hi) in enumerate(windows) if lo <= time < hi]
        return max(around, default=None)

    of = {g.index: window_of(g.launch.ts) for g in trace.gpu if g.launch}
    # Without a launch by the start; not where an id below all recorded ones tells that it was
    # launched before the first of these, and the window ends after that.
    calls = [h for h in trace.host if h.cat.startswith("cuda") and h.args.get("correlation")]
    first = min(calls, key=lambda h: h.args["correlation"], default=None)
    by_start = {}
    for g in trace.gpu:
        i = window_of(g.ts) if not g.launch else None
        early = first and 0 < (g.args.get("correlation") or 0) < first.args["correlation"]
        if i is not None and not (early and windows[i][1] > first.ts):
            by_start[g.index] = i
    own = [g for g in trace.gpu if of.get(g.index) is not None or g.index in by_start]
    own.sort(key=lambda g: (g.ts, g.index))
    everything = union([(g.ts, g.end) for g in trace.gpu])
    rows, spans = [], []

    def within(intervals, lo, hi):
        return sum(max(0, min(b, hi) - max(a, lo)) for a, b in intervals)

    for i, (lo, hi) in enumerate(windows):
        mine = [g for g in trace.gpu if of.get(g.index) == i]
        busy = union([(g.ts, g.end) for g in mine])
        a, b = min([g.ts for g in mine], default=0), max([g.end for g in mine], default=0)
        work = mine + [g for g in trace.gpu if by_start.get(g.index) == i]
        if work:
            lo_all, hi_all = min(g.ts for g in work), max(g.end for g in work)
            spans.append((lo_all, hi_all + (lo_all == hi_all)))
        rows.append((lo, len(mine), length(busy), within(busy, hi, 1 << 62),
                     within(everything, a, b) - length(busy), within(everything, lo, hi),
                     within(busy, lo, hi)))
    # Where nothing was launched the windows themselves are looked at.
    spans = union(spans or windows)
    figures = timeline(own) if own else dict.fromkeys(timeline(trace.gpu), 0)
    busy = union([(g.ts, g.end) for g in own])
    mine = {g.index for g in own}
    others = [x for lo, hi in spans
              for x in cut([g for g in trace.gpu if g.index not in mine], lo, hi)]
    figures["total"] = length(spans)
    figures["other"] = minus([(g.ts, g.end) for g in others], busy)
    figures["idle"] = figures["total"] - figures["busy"] - figures["other"]
    return own, spans, figures, rows


def kernel_sums(gpu):
    """Name -> (count, sum, min, max) in ns over kernels."""
    out = {}
    for g in gpu:
        if g.cat == "kernel":
            c, s, lo, hi = out.get(g.name, (0, 0, g.dur, g.dur))
            out[g.name] = (c + 1, s + g.dur, min(lo, g.dur), max(hi, g.dur))
    return out


def launchers(trace):
    """[(launcher, own GPU events)]: communication kernels belong to no launcher."""
    own = {}
    for g in trace.gpu:
        at = trace.launcher(g)
        if at is not None and g.kind() != "communication":
            own.setdefault(at.index, (at, []))[1].append(g)
    return list(own.values())


def subtree(trace, at):
    """GPU events launched anywhere under a host event, communication included."""
    out = []
    for g in trace.gpu:
        node = g.launch
        while node is not None and node is not at:
            node = node.parent
        if node is at:
            out.append(g)
    return out


def direct(trace):
    """Name -> (count, direct ns): ops() without what is launched further down."""
    out = {}
    for at, own in launchers(trace):
        c, d = out.get(at.name, (0, 0))
        out[at.name] = (c + 1, d + length([g.span for g in own]))
    return out


def ops(trace):
    """Name -> (count, direct ns, subtree ns) as in ops_summary."""
    out = {}
    for at, own in launchers(trace):
        c, d, s = out.get(at.name, (0, 0, 0))
        out[at.name] = (c + 1, d + length([g.span for g in own]),
                        s + length([g.span for g in subtree(trace, at)]))
    return out


def streams(gpu):
    """(device, stream) -> (kernels, copies, busy ns)."""
    out = collections.defaultdict(list)
    for g in gpu:
        out[(str(g.device), str(g.stream))].append(g)
    return {k: (sum(g.cat == "kernel" for g in v), sum(g.cat == "gpu_memcpy" for g in v),
                length([g.span for g in v])) for k, v in out.items()}
