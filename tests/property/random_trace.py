"""Small random traces, well formed, for the comparison with oracle.py."""
import json
import random
import re

COMPUTE = ["gemm_tn_128x64", "void at::native::vectorized_elementwise_kernel<4, Add>(int)",
           "void at::native::reduce_kernel<512, 1, Sum>(int)", "triton_poi_fused_add_0",
           "Cijk_Alik_Bljk_HHS_MT64x64", "flash_fwd_kernel", "__amd_rocclr_fillBufferAligned"]
COMMUNICATION = ["ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 "void vllm::cross_device_reduce_1stage<half, 8>(vllm::RankData*)"]
NAMED_AFTER = ["triton_red_fused_all_reduce_nccl_1", "void block_one_shot_all_reduce<4>(int)",
               "void c10d::checkForNaN<float>(float*, unsigned long)"]
COPIES = ["Memcpy PtoP (Device -> Device)", "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)",
          "Memcpy DtoD (Device -> Device)"]
OPS = ["aten::mm", "aten::add_", "aten::sum", "aten::copy_", "aten::linear", "MyFunction",
       "aten::_softmax", "execute", "triton_poi_fused_add_0", "c10d::allreduce_"]
COLLECTIVE_OPS = ["record_param_comms", "c10d::_allgather_base_", "xccl:all_reduce", "_c10d_functional::broadcast"]
LAUNCHES = [("cudaLaunchKernel", "cuda_runtime"), ("cuLaunchKernelEx", "cuda_driver"),
            ("hipExtModuleLaunchKernel", "cuda_runtime"), ("cudaMemcpyAsync", "cuda_runtime"),
            ("cudaMemcpyPeerAsync", "cuda_runtime")]


def us(ns):
    """A time as decimal microseconds; spelled as a number by `text`."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"@{sign}{ns // 1000}.{ns % 1000:03d}@" if ns % 1000 else f"@{sign}{ns // 1000}@"


class Maker:
    def __init__(self, seed, origin=None, external_only=False):
        self.r = random.Random(seed)
        self.origin = self.r.choice([0, 17, 10**9, 1712169098001100001]) \
            if origin is None else origin
        self.external_only = external_only
        self.devices = self.r.choice([1, 1, 2, 3])
        # Work of before the capture has the ids below.
        self.events, self.correlation, self.external = [], 100, 0

    def put(self, cat, name, pid, tid, ts, dur, args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                            "ts": us(self.origin + ts), "dur": us(dur), "args": args})

    def gpu(self, after, link, cat=None):
        """One kernel, copy or fill at about `after`, linked by the ids of `link`."""
        r = self.r
        cat = cat or r.choices(["kernel", "gpu_memcpy", "gpu_memset"], [8, 1, 1])[0]
        name = {"kernel": r.choice(COMPUTE * 2 + COMMUNICATION + NAMED_AFTER), "gpu_memcpy": r.choice(COPIES),
                "gpu_memset": "Memset (Device)"}[cat]
        more = self.collective() if r.random() < 0.05 else {}
        if cat != "kernel" and r.random() < 0.8:
            more["bytes"] = r.choice([4096, 8192, 1024, 2048, 4097])
        device, stream = r.randrange(self.devices), r.choice([7, 7, 7, 20, 24])
        dur = r.choice([0, 1, 999, 1000, r.randrange(1, 200000)])
        ts = after + r.randrange(-2000, 60000)
        self.put(cat, name, device, stream, ts, max(dur, 1), {"device": device, "stream": stream,
                                                              **link, **more})

    def collective(self):
        """Arguments of a collective: 4096 or 8192 bytes, 1024 or 2048 of each of 4 ranks."""
        out = {"Collective name": self.r.choice(["allreduce", "_allgather_base"]), "In msg nelems": 1024,
               "Out msg nelems": 2048, "dtype": self.r.choice(["Float", "BFloat16", "Strange"]), "Group size": 4,
               "Process Group Name": "0"}
        for key in list(out):
            if self.r.random() < 0.2:
                del out[key]
        return out

    def launch(self, pid, tid, lo, hi):
        """A launch inside [lo, hi) with its GPU events: none, one, or a graph's many."""
        name, cat = self.r.choice(LAUNCHES)
        self.correlation += 1
        link = {"External id": self.external + 1} if self.external_only \
            else {"correlation": self.correlation}
        if self.external_only:
            self.external += 1
        many = self.r.choices([0, 1, 5], [1, 12, 1])[0]
        if many == 5:
            name, cat = "cudaGraphLaunch", "cuda_runtime"
        self.put(cat, name, pid, tid, lo, hi - lo, dict(link))
        for _ in range(many):
            self.gpu(lo, dict(link))

    def op(self, pid, tid, lo, hi, depth):
        """An operation over [lo, hi) with nested operations and launches, strictly inside."""
        cat = self.r.choices(["cpu_op", "python_function"], [6, 1])[0]
        name, args = self.r.choice(OPS), {}
        if self.r.random() < 0.3:
            name, args = self.r.choice(COLLECTIVE_OPS), self.collective() if self.r.random() < 0.7 else {}
            cat = self.r.choices(["cpu_op", "user_annotation"], [3, 1])[0]
        self.put(cat, name, pid, tid, lo, hi - lo, args)
        at = lo + 1
        while hi - at > 400:
            size = self.r.randrange(10, hi - at)
            if depth < 3 and size > 2000 and self.r.random() < 0.6:
                self.op(pid, tid, at, at + size, depth + 1)
            else:
                self.launch(pid, tid, at, at + min(size, 30))
            at += size + self.r.randrange(1, 30)

    def make(self):
        r = self.r
        for tid in range(r.choice([1, 2, 3])):
            at = r.randrange(100)
            for _ in range(r.randrange(1, 8)):
                size = r.randrange(60, 900)
                if r.random() < 0.8:
                    self.op(31, 100 + tid, at * 1000, (at + size) * 1000, 0)
                else:
                    self.launch(31, 100 + tid, at * 1000, at * 1000 + 5000)
                at += size + r.randrange(1, 200)
        for _ in range(r.randrange(1, 6)):
            self.correlation += 1
            self.gpu(r.randrange(0, 3000000), r.choice([
                {}, {"correlation": 0}, {"correlation": r.choice([10**6 + self.correlation, 50])}]))
        r.shuffle(self.events)
        return self.events


def text(events):
    body = ",\n".join(json.dumps(e) for e in events)
    body = re.sub(r'"@(-?[\d.]+)@"', r"\1", body)
    return '{"schemaVersion": 1, "traceEvents": [\n' + body + "\n]}\n"


def random_trace(seed, **options):
    return text(Maker(seed, **options).make())
