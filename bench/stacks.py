"""Reports with call stacks, without Python frames, and with captures of GPU graphs, against the report."""
import shutil
import sys

from measuring import Bench, run

MIDDLE_BYTES = 55_000_000
# Of a real trace with stacks there are about 30 frames for each operator.
FRAMES = 30
FRAME = ('{"ph":"X","cat":"python_function","name":"%s","pid":1,"tid":1,"ts":%d.%03d,"dur":%d,\n'
         '"args":{"Python id":%d,"Python parent id":%d,"Ev Idx":%d}},\n')
WORK = ('{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%(at)d.500,"dur":50,\n'
        '"args":{"External id":%(id)d,"Input Dims":[[64,64],[64,64]],'
        '"Input type":["float","float"]}},\n'
        '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,'
        '"ts":%(at)d.600,"dur":9,"args":{"External id":%(id)d,"correlation":%(id)d}},\n'
        '{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%(gpu)d,"dur":50,\n'
        '"args":{"device":0,"stream":7,"correlation":%(id)d}}')


def write_frames(path, size):
    """A trace that is mostly Python frames: a GEMM inside nested ones, again and again."""
    names = [f"model/block_{k}.py({10 * k + 3}): forward" for k in range(FRAMES)]
    with open(path, "w") as out:
        out.write('{"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[\n')
        number = 0
        while out.tell() < size:
            number += 1
            names[FRAMES // 2] = f"nn.Module: Layer_{number % 40}"
            first = FRAMES * number
            out.write("".join(FRAME % (names[k], 100 * number, k, 90 - k, first + k, first + k - 1,
                                       first + k) for k in range(FRAMES)))
            out.write(WORK % {"at": 100 * number, "id": number, "gpu": 100 * number + 20})
            out.write("\n]}\n" if out.tell() >= size else ",\n")


class Stacks(Bench):
    HEAD = ["measurement", "seconds", "CPU seconds", "peak MB"]
    MARKS = ("<!-- measured on stacks: written by bench/run.py --markdown -->",
             "<!-- end of measured on stacks -->")

    def __init__(self, options, place):
        super().__init__(options, place)
        self.tracegen = self.build / "tracegen"
        self.need(self.trawl, self.tracegen)

    def generated(self, name, size, *options):
        path = self.place / f"{name}.json"
        run([self.tracegen, "--seed", "1", "--size", size, *options, "-o", path])
        return path

    def make(self):
        self.large = self.generated("stacks", self.options.size, "--stacks")
        self.middle = self.generated("stacks_middle", MIDDLE_BYTES, "--stacks")
        self.frames = self.place / "frames.json"
        write_frames(self.frames, self.large.stat().st_size)
        self.replay = self.generated("replay", MIDDLE_BYTES, "--kind", "decode")
        self.capture = self.place / "capture.json"
        run([sys.executable, self.options.root / "tests/gen/captures.py", self.replay, self.capture])

    def report(self, trace, *options):
        out = self.place / "report"
        shutil.rmtree(out, ignore_errors=True)
        return run([self.trawl, "report", trace, "-o", out, "-q", "--no-xlsx", "-j1", *options],
                   discard=True)

    def round(self, number):
        self.run_round(number, {
            "large": lambda: self.report(self.large),
            "large, call stacks": lambda: self.report(self.large, "--call-stack"),
            "middle": lambda: self.report(self.middle),
            "middle, call stacks": lambda: self.report(self.middle, "--call-stack"),
            "frames": lambda: self.report(self.frames),
            "frames, call stacks": lambda: self.report(self.frames, "--call-stack"),
            "frames, no python": lambda: self.report(self.frames, "--no-python"),
            "replay": lambda: self.report(self.replay),
            "capture": lambda: self.report(self.capture),
            "replay with capture": lambda: self.report(self.replay, "--capture", self.capture),
        })

    def measure(self):
        self.make()
        self.warm(self.large, self.middle, self.frames, self.replay, self.capture)
        for n in range(1, self.options.rounds + 1):
            self.round(n)

    def targets(self):
        """(what, value, at least or at most, target, note)."""
        b, size = self.best, self.large.stat().st_size
        for name, what in (("large", "large trace"), ("middle", "55 MB"),
                           ("frames", "trace of frames")):
            yield (f"report with call stacks to report, {what}, processor time",
                   b[f"{name}, call stacks"].cpu / b[name].cpu, "<=", 1.3, "")
        for name in ("large", "frames"):
            yield (f"memory more with call stacks, {name}, to the JSON",
                   (b[f"{name}, call stacks"].peak - b[name].peak) / size, "<=", 0.1, "")
        yield ("report to that without Python frames, trace of frames, processor time",
               b["frames"].cpu / b["frames, no python"].cpu, ">=", 1.5, "")
        yield ("report with a capture to both reports, processor time",
               b["replay with capture"].cpu / (b["replay"].cpu + b["capture"].cpu), "<=", 1.1, "")

    def measurements(self):
        for name, sample in self.best.items():
            yield (f"trawl report, {name}", f"{sample.seconds:.3f}", f"{sample.cpu:.3f}",
                   f"{sample.peak / 1e6:.0f}")

    def description(self):
        return (f"traces with Python frames: {self.large.stat().st_size / 1e6:.1f} and "
                f"{self.middle.stat().st_size / 1e6:.1f} MB by tracegen, "
                f"{self.frames.stat().st_size / 1e6:.1f} MB with {FRAMES} frames for each operator; "
                f"{self.replay.stat().st_size / 1e6:.1f} MB of graph launches and a capture; one "
                f"thread, CSV files; best of {self.options.rounds} rounds")
