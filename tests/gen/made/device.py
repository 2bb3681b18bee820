"""GPUs: what a trace says of them, their peaks, and how fast things start and run on them.

Peaks are those of the vendors' data sheets (dense, TFLOP/s and GB/s); for AMD what the best
matrix kernels reach. `bus` is the bus bandwidth of a large allreduce within a node, `pinned` and
`pageable` are of copies from the host, in GB/s; times in us."""


class Device:
    def __init__(self, name, memory, units, compute, half, tf32, fp32, bw, bus, pinned, pageable,
                 latency, gap, gemm, math=(0.74, 0.85), mem=(0.80, 0.90), attention=(0.70, 0.80)):
        self.name, self.memory, self.units, self.compute = name, memory, units, compute
        self.half, self.tf32, self.fp32, self.bw = half, tf32, fp32, bw
        self.bus, self.pinned, self.pageable = bus, pinned, pageable
        self.latency, self.gap, self.gemm = latency, gap, gemm
        self.math, self.mem, self.attention = math, mem, attention
        self.amd = name.startswith("AMD")

    def peak(self, dtype, tf32=True):
        if dtype == "float":
            return self.tf32 if tf32 and self.tf32 else self.fp32
        return self.half

    def properties(self, index):
        p = {"id": index, "name": self.name, "totalGlobalMem": self.memory,
             "computeMajor": self.compute[0], "computeMinor": self.compute[1],
             "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
             "regsPerBlock": 65536, "warpSize": 64 if self.amd else 32,
             "sharedMemPerBlock": 65536 if self.amd else 49152, "numSms": self.units}
        if not self.amd:
            p.update({"regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448,
                      "sharedMemPerMultiprocessor": 233472})
        return p


DEVICES = {
    "H100": Device("NVIDIA H100 80GB HBM3", 84942979072, 132, (9, 0), 989.4, 494.7, 66.9, 3350,
                   360, 54, 11, 4.4, 0.8, "sm90"),
    "H200": Device("NVIDIA H200", 150121545728, 132, (9, 0), 989.4, 494.7, 66.9, 4800,
                   370, 55, 12, 4.1, 0.75, "sm90"),
    "B200": Device("NVIDIA B200", 191514214400, 148, (10, 0), 2250, 1125, 75, 8000,
                   640, 56, 13, 3.9, 0.7, "sm100", math=(0.72, 0.82)),
    "A100": Device("NVIDIA A100-SXM4-80GB", 85055832064, 108, (8, 0), 312, 156, 19.5, 2039,
                   230, 25, 8, 5.6, 1.1, "sm80"),
    "MI300X": Device("AMD Instinct MI300X", 206141652992, 304, (9, 4), 708, 0, 163, 5300,
                     310, 54, 10, 8.5, 1.9, "gfx942", math=(0.78, 0.88), mem=(0.77, 0.85)),
}

SIZE = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "long int": 8, "int": 4, "bool": 1,
        "unsigned char": 1, "double": 8}
# How a collective names them, and kernels' names.
SHORT = {"c10::BFloat16": "BFloat16", "c10::Half": "Half", "float": "Float", "long int": "Long"}
KERNEL_TYPE = {"c10::BFloat16": "bf16", "c10::Half": "f16", "float": "f32", "long int": "u64"}


class Tensor:
    """Shape, type and strides of an operand."""
    __slots__ = ("shape", "dtype", "strides", "n")

    def __init__(self, shape, dtype, strides=None):
        self.shape, self.dtype = tuple(shape), dtype
        self.n = 1
        row = []
        for k in reversed(self.shape):
            row.append(self.n)
            self.n *= k
        self.strides = list(strides) if strides else row[::-1]

    @property
    def bytes(self):
        return self.n * SIZE[self.dtype]

    def view(self, *shape):
        return Tensor(shape, self.dtype)

    def t(self):
        """The last two dimensions exchanged, nothing moved."""
        s, p = list(self.shape), list(self.strides)
        s[-1], s[-2], p[-1], p[-2] = s[-2], s[-1], p[-2], p[-1]
        return Tensor(s, self.dtype, p)

    def __eq__(self, other):
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))
