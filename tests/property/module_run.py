"""Made-up training runs with Python frames: nested modules, backward passes on threads of their own, activation
checkpointing of both kinds, several forward threads. What each kernel belongs to is written down when it is
launched, so nothing of it is worked out from the events.
"""
import collections
import json
import random

CALL_IMPL = "torch/nn/modules/module.py(1750): _call_impl"
ENGINE = "autograd::engine::evaluate_function: "
CLASSES = ("Linear", "Block", "LayerNorm", "Conv_3x3", "Attention")


class Thread:
    def __init__(self, tid, number):
        self.tid, self.number = tid, number  # `number`: as the engine calls it
        self.now, self.sequence = 1_000_000, 0
        self.frames = []  # names of open events, outermost first


class Op:
    """A forward operation, to be undone."""

    def __init__(self, name, thread, sequence, path, site, start):
        self.name, self.thread, self.sequence, self.path, self.site, self.start = \
            name, thread, sequence, path, site, start


class Run:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.events, self.ids, self.gpu_now = [], 0, 2_000_000
        self.kernels = []  # (path, pass, site, operation, kernel, ns)
        self.calls, self.recomputed = collections.Counter(), collections.Counter()
        self.names = collections.Counter()
        self.model = [self.module(0) for _ in range(self.rng.randrange(1, 3))]
        threads = self.rng.choice((1, 1, 2, 3))
        self.arrows = threads > 1 or self.rng.random() < 0.5
        self.forward_threads = [Thread(10 + i, i + 1) for i in range(threads)]
        self.backward_threads = [Thread(50 + i, 20 + i) for i in range(self.rng.choice((1, threads)))]
        self.arrow_drawn = set()

    def module(self, depth):
        """(name, children, how it is checkpointed, number of operations)."""
        kind = self.rng.choice(CLASSES)
        name = f"{kind}_{self.names[kind]}"
        self.names[kind] += 1
        children = [self.module(depth + 1) for _ in range(self.rng.randrange(0, 4 - depth))]
        how = self.rng.choice((None, None, "recompute_fn", "reentrant")) if depth else None
        return name, children, how, self.rng.randrange(0, 3)

    # ---- events

    def tick(self, thread):
        thread.now += self.rng.randrange(1, 900)
        return thread.now

    def begin(self, thread, category, name, **args):
        event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread.tid,
                 "ts": self.tick(thread), "args": args}
        thread.frames.append(name)
        self.events.append(event)
        return event

    def end(self, thread, event):
        event["dur"] = self.tick(thread) - event["ts"]
        thread.frames.pop()

    def frame(self, thread, name):
        return self.begin(thread, "python_function", name)

    def launch(self, thread, path, which, site, op):
        ns = self.rng.randrange(1, 5000)
        kernel = f"kernel_{self.rng.randrange(6)}"
        call = self.begin(thread, "cuda_runtime", "cudaLaunchKernel", correlation=self.next_id())
        self.end(thread, call)
        self.gpu_now = max(self.gpu_now, thread.now) + self.rng.randrange(0, 50)
        self.events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7,
                            "ts": self.gpu_now, "dur": ns,
                            "args": {"correlation": self.ids, "device": 0, "stream": 7}})
        self.gpu_now += ns
        self.kernels.append((path, which, site, op, kernel, ns))

    def next_id(self):
        self.ids += 1
        return self.ids

    # ---- forward

    def operation(self, thread, path, which, site, made):
        name = self.rng.choice(("aten::mm", "aten::add", "aten::gelu"))
        sequence = thread.sequence
        if self.rng.random() < 0.3:  # shares the number of the next one, and makes no node
            self.end(thread, self.begin(thread, "cpu_op", "aten::view", **{"Sequence number": sequence}))
        thread.sequence += 1
        op = self.begin(thread, "cpu_op", name, **{"Sequence number": sequence, "Fwd thread id": 0})
        made.append(Op(name, thread, sequence, path, site, op["ts"]))
        for _ in range(self.rng.randrange(0, 3)):
            self.launch(thread, path, which, site, name)
        self.end(thread, op)

    def call(self, thread, module, around, which, site, made):
        """One call of a module; `made` gets what the backward pass has to undo."""
        name, children, how, count = module
        if how and which == "forward":
            self.checkpointed(thread, module, around, site, made)
            return
        path = (*around, name)
        self.calls[path] += 1
        self.recomputed[path] += which == "recompute"
        frames = [self.frame(thread, "nn.Module: " + name), self.frame(thread, CALL_IMPL)]
        if self.rng.random() < 0.8:
            site = f"model/{name.lower()}.py({self.rng.randrange(10, 99)}): forward"
            frames.append(self.frame(thread, site))
        for child in children:
            self.call(thread, child, path, which, site, made)
        for _ in range(count):
            self.operation(thread, path, which, site, made)
        for frame in reversed(frames):
            self.end(thread, frame)

    def checkpointed(self, thread, module, around, site, made):
        name, children, how, count = module
        plain = (name, [(c[0], c[1], None, c[3]) for c in children], None, count)
        frame = self.frame(thread, "torch/utils/checkpoint.py(480): checkpoint")
        inside = []
        if how == "reentrant":
            sequence = thread.sequence
            thread.sequence += 1
            op = self.begin(thread, "cpu_op", "CheckpointFunction", **{"Sequence number": sequence})
            self.call(thread, self.plain(plain), around, "forward", site, [])
            made.append(("reentrant", Op("CheckpointFunction", thread, sequence, around, site, op["ts"]),
                         self.plain(plain), around))
            self.end(thread, op)
        else:
            self.call(thread, self.plain(plain), around, "forward", site, inside)
            if inside:
                made.append(("recompute_fn", inside, self.plain(plain), around))
        self.end(thread, frame)

    def plain(self, module):
        """Without checkpoints in it."""
        name, children, _, count = module
        return name, [self.plain(c) for c in children], None, count

    # ---- backward

    def undo(self, thread, made, path=(), site=None):
        """`path` and `site`: of the backward operation around, which work without a forward operation has."""
        for item in reversed(made):
            if isinstance(item, Op):
                self.undo_op(thread, item)
            elif item[0] == "reentrant":
                self.undo_reentrant(thread, *item[1:])
            else:
                self.undo_recomputed(thread, *item[1:])
            if self.rng.random() < 0.3:
                event = self.begin(thread, "cpu_op", ENGINE + "torch::autograd::AccumulateGrad")
                self.launch(thread, path, "backward", site, ENGINE + "torch::autograd::AccumulateGrad")
                self.end(thread, event)

    def arrow(self, forward, backward, thread):
        key = forward.thread.number
        if not self.arrows or (key in self.arrow_drawn and self.rng.random() < 0.5):
            return
        self.arrow_drawn.add(key)
        for phase, tid, ts in (("s", forward.thread.tid, forward.start), ("f", thread.tid, backward["ts"])):
            self.events.append({"ph": phase, "id": len(self.events) if phase == "s" else self.events[-1]["id"],
                                "pid": 1, "tid": tid, "ts": ts, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"})

    def undo_op(self, thread, op, inside=None):
        args = {"Sequence number": op.sequence, "Fwd thread id": op.thread.number}
        name = op.name.split("::")[-1].capitalize() + "Backward0"
        engine = self.begin(thread, "cpu_op", ENGINE + name, **args)
        if inside and self.rng.random() < 0.5:
            inside()
            inside = None
        node = self.begin(thread, "cpu_op", name, **args)
        self.arrow(op, node, thread)
        if inside:
            inside()
        for _ in range(self.rng.randrange(0, 3)):
            self.launch(thread, op.path, "backward", op.site, name)
        self.end(thread, node)
        if self.rng.random() < 0.3:
            self.launch(thread, op.path, "backward", op.site, ENGINE + name)
        self.end(thread, engine)

    def undo_recomputed(self, thread, inside, module, around):
        """The last operation of a block asks for its pass again."""
        last = inside[-1]

        def again():
            frame = self.frame(thread, "torch/utils/checkpoint.py(1100): recompute_fn")
            self.call(thread, module, around, "recompute", last.site, [])
            self.launch(thread, last.path, "recompute", last.site, thread_op(thread))
            self.end(thread, frame)

        self.undo_op(thread, last, again)
        for op in reversed(inside[:-1]):
            self.undo_op(thread, op)

    def undo_reentrant(self, thread, op, module, around):
        args = {"Sequence number": op.sequence, "Fwd thread id": op.thread.number}
        name = "CheckpointFunctionBackward"
        engine = self.begin(thread, "cpu_op", ENGINE + name, **args)
        node = self.begin(thread, "cpu_op", name, **args)
        self.arrow(op, node, thread)
        frame = self.frame(thread, "torch/utils/checkpoint.py(270): backward") if self.rng.random() < 0.5 else None
        made = []
        self.call(thread, module, around, "recompute", op.site, made)
        self.launch(thread, op.path, "recompute", op.site, name)
        self.undo(thread, made, op.path, op.site)
        if frame:
            self.end(thread, frame)
        self.end(thread, node)
        self.end(thread, engine)

    # ---- the whole

    def step(self):
        made = []
        for thread in self.forward_threads:
            outer = self.frame(thread, "train.py(12): step")
            mine = []
            for module in self.model:
                self.call(thread, module, (), "forward", "train.py(12): step", mine)
            for _ in range(self.rng.randrange(0, 2)):
                self.operation(thread, (), "forward", "train.py(12): step", mine)
            self.end(thread, outer)
            made.append(mine)
        latest = max(t.now for t in self.forward_threads)
        for i, mine in enumerate(made):
            thread = self.backward_threads[i % len(self.backward_threads)]
            thread.now = max(thread.now, latest)
            self.undo(thread, mine)
        latest = max(t.now for t in self.backward_threads)
        for thread in self.forward_threads:
            thread.now = latest

    def text(self):
        """The trace; events in any order, times in microseconds with all digits."""
        self.rng.shuffle(self.events)
        lines = []
        for event in self.events:
            times = "".join(f',"{k}":{event[k] // 1000}.{event[k] % 1000:03}' for k in ("ts", "dur") if k in event)
            rest = json.dumps({k: v for k, v in event.items() if k not in ("ts", "dur")})
            lines.append(rest[:-1] + times + "}")
        return '{"deviceProperties":[],"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"


def thread_op(thread):
    """The innermost operator that is open."""
    return next(f for f in reversed(thread.frames) if f.startswith(ENGINE) or f.endswith("Backward0"))


def made_run(seed):
    run = Run(seed)
    for _ in range(run.rng.randrange(1, 4)):
        run.step()
    return run
