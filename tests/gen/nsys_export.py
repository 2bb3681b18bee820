#!/usr/bin/env python3
"""Writes made-up Nsight Systems exports (SQLite) of a training job, with the truth beside them.

usage: tests/gen/nsys_export.py -o FILE [--truth FILE] [--schema 2021|2022|2024|2026] [--ranks 4]
           [--pipeline 2] [--chunks 5] [--layers 2] [--trainer pithtrain|steps|bare] [--seed 1]
           [--size 450M] [--ops]

The same options give the same rows. A rank is a process with a main thread and an autograd thread,
a compute stream and streams for all-to-all, send/receive and gradients. Each chunk computes a
forward and a backward pass layer by layer; all-to-alls run beside it and are hidden well or badly.
--trainer pithtrain pushes rank labels, chunk and stage ranges as PithTrain does; "steps" only
pushes "step N"; "bare" pushes nothing. --ops adds ranges of operations as PyTorch's emit_nvtx
writes them. --size repeats chunks until the file is about that large (no truth then).
"""
import argparse
import json
import random
import re
import sqlite3
import sys

US = 1000
COMPUTE, ALL_TO_ALL, SEND_RECEIVE, GRADIENTS = 7, 20, 24, 28
MAIN, AUTOGRAD = 0, 77  # added to the pid for the thread's id
HOST = 1 << 48
DISTINCT_CHUNKS = 6  # of a large file; the others are these at other times
ROW_BYTES = 166  # of a kernel with its call and its ranges, in the file

# name, demangled name, mean microseconds
GEMM = ("sm90_gemm_bf16_128x256", "sm90_gemm_bf16_128x256<(int)64>(Params)", 90)
NORM = ("rms_norm_kernel", "void rms_norm_kernel<__nv_bfloat16>(float *, int)", 12)
ADD = ("elementwise_kernel", "void at::native::elementwise_kernel<(int)4, Add>(int, T2)", 7)
ATTENTION = ("flash_fwd_kernel", "void flash::flash_fwd_kernel<Traits<(int)128>>(Params)", 160)
SENDRECV = ("ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)", 0)
REDUCE = ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
          "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)", 0)
GATHER = ("ncclDevKernel_AllGather_RING_LL",
          "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage)", 0)

# column, columns that follow in which schema version; N: NOT NULL
KERNEL = ("start! end! deviceId! contextId! greenContextId@2024 streamId! correlationId globalPid "
          "demangledName! shortName! mangledName@2022 launchType cacheConfig registersPerThread! "
          "gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory! "
          "dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! "
          "sharedMemoryExecuted graphNodeId@2022 sharedMemoryLimitConfig graphId@2026 "
          "clusterX@2026 clusterY@2026 clusterZ@2026")
MEMCPY = ("start! end! deviceId! contextId! greenContextId@2024 streamId! correlationId globalPid "
          "bytes! copyKind! srcKind dstKind srcDeviceId dstDeviceId copyCount@2026")
MEMSET = ("start! end! deviceId! contextId! greenContextId@2024 streamId! correlationId globalPid "
          "value! bytes! memKind")
RUNTIME = "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"
SYNC = ("start! end! deviceId! contextId! greenContextId@2024 streamId! correlationId globalPid "
        "syncType! eventId!")
NVTX = ("start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId "
        "domainId uint64Value int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL "
        "jsonTextId jsonText:TEXT binaryData:TEXT@2024")
TABLES = {
    "StringIds": "id:KEY value:TEXT!",
    "ThreadNames": "nameId! priority globalTid",
    "PROCESSES": "globalPid pid name:TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT",
    "TARGET_INFO_GPU": "vmId! id! name:TEXT totalMemory smCount computeMajor computeMinor",
    "TARGET_INFO_CUDA_DEVICE@2026": "gpuId cudaId! pid! uuid:TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": MEMCPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": MEMSET,
    "CUPTI_ACTIVITY_KIND_RUNTIME": RUNTIME,
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": SYNC,
    "NVTX_EVENTS": NVTX,
    "EXPORT_META_DATA@-2022": "name:TEXT! value:TEXT",
    "META_DATA_EXPORT@2024": "name:TEXT! value:TEXT",
}
VERSIONS = {"2021": ("2021.5.1", "2.7.1"), "2022": ("2022.4.2", "3.0.0"),
            "2024": ("2024.6.2", "3.16.1"), "2026": ("2026.2.1", "3.25.0")}


def in_schema(mark, schema):
    """Whether what is marked "2024" (since) or "-2022" (until) is in a schema."""
    if not mark:
        return True
    return schema <= mark[1:] if mark[0] == "-" else schema >= mark


def columns_of(text, schema):
    """(name, declaration) of each column."""
    for word in text.split():
        word, _, since = word.partition("@")
        not_null, word = word.endswith("!"), word.rstrip("!")
        name, _, kind = word.partition(":")
        if not in_schema(since, schema):
            continue
        kind = {"": "INTEGER", "KEY": "INTEGER NOT NULL PRIMARY KEY"}.get(kind, kind)
        # Until 2021 every column had a value.
        always = not_null or schema == "2021"
        yield name, kind + (" NOT NULL" if always and "NOT NULL" not in kind else "")


class Database:
    def __init__(self, path, schema):
        self.schema, self.strings, self.columns, self.rows = schema, {}, {}, {}
        self.file = sqlite3.connect(path, isolation_level=None)
        self.file.execute("PRAGMA journal_mode=OFF")
        self.file.execute("PRAGMA synchronous=OFF")
        self.file.execute("BEGIN")
        for table, text in TABLES.items():
            table, _, mark = table.partition("@")
            if not in_schema(mark, schema):
                continue
            columns = list(columns_of(text, schema))
            self.columns[table] = [name for name, _ in columns]
            self.rows[table] = []
            self.file.execute(f"CREATE TABLE {table} "
                              f"({', '.join(f'{n} {d}' for n, d in columns)})")

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, table, **values):
        texts = ("text", "jsonText")
        self.rows[table].append([
            values.get(name, None if self.schema != "2021" else "" if name in texts else 0)
            for name in self.columns[table]])

    def write(self):
        for table, rows in self.rows.items():
            if rows:
                marks = ",".join("?" * len(rows[0]))
                self.file.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            rows.clear()

    def close(self):
        for text, number in self.strings.items():
            self.rows["StringIds"].append([number, text])
        self.write()
        # What was not recorded has no table.
        for table in self.columns:
            if not self.file.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
                self.file.execute(f"DROP TABLE {table}")
        self.file.execute("COMMIT")
        self.file.execute("VACUUM")
        self.file.close()


class Rank:
    """One process: what it launches, pushes and runs, in the order of its own clock."""

    def __init__(self, database, options, number):
        self.db, self.options, self.number = database, options, number
        self.random = random.Random(options.seed * 1009 + number)
        self.pid = 30100 + 3 * number
        self.gpid = HOST | self.pid << 24
        self.device = number % 8
        self.correlation = 500 + 1000003 * (number % 2)  # ids of other ranks are the same
        self.clock = 4_000_000 + self.random.randrange(200_000)
        self.thread = MAIN
        self.ready = {}
        self.kernels, self.ranges = [], []  # for the truth

    def tid(self, thread):
        return self.gpid | (self.pid + thread)

    def push(self, start, end, name, domain=0, thread=None):
        text = {"textId": self.db.string(name)} if domain else {"text": name}
        self.db.add("NVTX_EVENTS", start=start, end=end, eventType=59, domainId=domain,
                    globalTid=self.tid(self.thread if thread is None else thread), **text)
        if not domain:
            self.ranges.append((start, end, name, self.thread if thread is None else thread))

    def call(self, name, duration):
        start = self.clock
        self.clock += duration
        self.correlation += 1
        self.db.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=self.clock - 400, eventClass=0,
                    globalTid=self.tid(self.thread), correlationId=self.correlation,
                    nameId=self.db.string(name), returnValue=0)
        return start

    def place(self, stream, launched, duration, after=()):
        start = max([launched + 3 * US, self.ready.get(stream, 0),
                     *(self.ready.get(s, 0) for s in after)])
        self.ready[stream] = start + duration + 300
        return start, start + duration

    def kernel(self, stream, kind, microseconds=None, after=()):
        launched = self.call("cudaLaunchKernelExC_v11060" if kind is GEMM else
                             "cudaLaunchKernel_v7000", 5 * US + self.random.randrange(900))
        mean = kind[2] if microseconds is None else microseconds
        start, end = self.place(stream, launched,
                                int(mean * US * self.random.uniform(0.85, 1.2)), after)
        self.db.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=self.device,
                    contextId=1, streamId=stream, correlationId=self.correlation,
                    globalPid=self.gpid, demangledName=self.db.string(kind[1]),
                    shortName=self.db.string(kind[0]), launchType=1, registersPerThread=96,
                    gridX=132, gridY=1, gridZ=1, blockX=256, blockY=1, blockZ=1,
                    staticSharedMemory=0, dynamicSharedMemory=49152, localMemoryPerThread=0,
                    localMemoryTotal=0, gridId=self.correlation)
        self.kernels.append((start, end, stream, kind[0], launched, self.thread))

    def operation(self, name, launch):
        begin = self.clock
        self.clock += 2 * US
        launch()
        self.clock += US
        if self.options.ops:
            self.push(begin, self.clock, f"{name}, seq = {self.correlation}, "
                      f"op_id = {self.correlation * 3}, sizes = [[64, 128], [128, 256]]")

    def stage(self, name, body):
        begin = self.clock
        self.clock += 2 * US
        body()
        self.clock += US
        if self.options.trainer == "pithtrain":
            self.push(begin, self.clock, name)

    def collective(self, stream, kind, microseconds, name):
        begin = self.clock
        self.clock += US
        self.kernel(stream, kind, microseconds, after=(COMPUTE,) if name == "ncclGroupEnd" else ())
        self.push(begin, self.clock, name, domain=1)

    # ---- the workload

    def attention(self):
        self.operation("rms_norm", lambda: self.kernel(COMPUTE, NORM))
        self.operation("aten::mm", lambda: self.kernel(COMPUTE, GEMM))
        self.operation("aten::_flash_attention_forward",
                       lambda: self.kernel(COMPUTE, ATTENTION))

    def experts(self):
        for _ in range(2):
            self.operation("aten::mm", lambda: self.kernel(COMPUTE, GEMM))
        self.operation("aten::add", lambda: self.kernel(COMPUTE, ADD))

    def all_to_all(self, direction):
        slow = 1.6 if self.number % 3 == 1 and direction == "b" else 1.0
        self.collective(ALL_TO_ALL, SENDRECV, slow * self.random.uniform(60, 260), "ncclGroupEnd")

    def sizes_known(self):
        """Metadata that the host waits for: a collective on the compute stream."""
        self.collective(COMPUTE, GATHER, 15, "ncclAllGather")
        launched = self.call("cudaMemcpyAsync_v3020", 6 * US)
        start, end = self.place(COMPUTE, launched, 2 * US)
        self.db.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=self.device,
                    contextId=1, streamId=COMPUTE, correlationId=self.correlation,
                    globalPid=self.gpid, bytes=4096, copyKind=2, srcKind=2, dstKind=1)

    def layer(self, number, direction):
        self.thread = AUTOGRAD if direction == "b" else MAIN
        mark = f"layer{number:02d}.stage%d_{direction}"
        self.stage(mark % 1, self.attention)
        self.stage(mark % 2, lambda: self.all_to_all(direction))
        self.stage(mark % 3, self.experts)
        self.stage(mark % 4, lambda: self.all_to_all(direction))
        self.stage(mark % 5, lambda: self.operation(
            "aten::add", lambda: self.kernel(COMPUTE, ADD)))
        self.thread = MAIN

    def settle(self):
        """The host waits for the GPU."""
        begin = self.call("cudaStreamSynchronize_v3020", 3 * US)
        self.clock = max(self.clock, max(self.ready.values(), default=0))
        self.db.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=begin, end=self.clock,
                    deviceId=self.device, contextId=1, streamId=COMPUTE,
                    correlationId=self.correlation, globalPid=self.gpid, syncType=3, eventId=0)

    def chunk(self, number):
        begin = self.clock
        self.sizes_known()
        for layer in range(self.options.layers):
            self.layer(layer, "f")
            self.layer(self.options.layers - 1 - layer, "b")
        self.settle()
        if self.options.trainer == "pithtrain":
            self.push(begin, self.clock,
                      f"forward chunk {number} (phase0) backward chunk {number} (phase1)")
        elif self.options.trainer == "steps":
            self.push(begin, self.clock, f"step {number}")
        self.clock += 4 * US

    def between(self):
        begin = self.clock
        self.clock += US
        self.collective(SEND_RECEIVE, SENDRECV, 30, "ncclSend")
        if self.options.trainer == "pithtrain":
            self.push(begin, self.clock, "pipeline send/recv")
        self.clock += 2 * US

    def begin(self):
        o, n = self.options, self.number
        self.db.add("NVTX_EVENTS", start=-900_000_000, eventType=75, domainId=1, text="NCCL",
                    globalTid=self.tid(MAIN))
        self.push(-800_000_000, -700_000_000, "ncclCommInitRank", domain=1)
        per_stage = o.ranks // o.pipeline
        self.label = (f"rank={n}; pp={n // per_stage}/{o.pipeline} dp=0/1 cp=0/1 "
                      f"ep={n % per_stage}/{per_stage}; mbs=1 seq=4096")
        if o.trainer == "pithtrain":
            self.push(self.clock, self.clock + 500, self.label)
        self.clock += 20 * US

    def end(self):
        launched = self.call("cudaMemsetAsync_v3020", 5 * US)
        start, end = self.place(COMPUTE, launched, 3 * US)
        self.db.add("CUPTI_ACTIVITY_KIND_MEMSET", start=start, end=end, deviceId=self.device,
                    contextId=1, streamId=COMPUTE, correlationId=self.correlation,
                    globalPid=self.gpid, value=0, bytes=1 << 20, memKind=2)
        self.collective(GRADIENTS, REDUCE, 400, "ncclReduceScatter")
        self.settle()


def describe(db, ranks, schema):
    """What an export says of the machine and of itself."""
    product, version = VERSIONS[schema]
    for rank in ranks:
        db.add("PROCESSES", globalPid=rank.gpid, pid=rank.pid, name="python3")
        for thread, name in ((MAIN, "python3"), (AUTOGRAD, "pt_autograd_0")):
            db.add("ThreadNames", nameId=db.string(name), priority=20,
                   globalTid=rank.tid(thread))
        if "TARGET_INFO_CUDA_DEVICE" in db.columns:
            db.add("TARGET_INFO_CUDA_DEVICE", gpuId=rank.device, cudaId=rank.device, pid=rank.pid,
                   uuid=f"GPU-{rank.device}")
    for device in sorted({r.device for r in ranks}):
        db.add("TARGET_INFO_GPU", vmId=HOST, id=device, name="NVIDIA H100 80GB HBM3",
               totalMemory=85029158912, smCount=132, computeMajor=9, computeMinor=0)
    db.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_764_000_000_000_000_000,
           utcTime="2025-11-24T16:00:00", localTime="2025-11-24T16:00:00")
    about = "META_DATA_EXPORT" if "META_DATA_EXPORT" in db.columns else "EXPORT_META_DATA"
    for name, value in (("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
                        ("EXPORT_PRODUCT_VERSION", product), ("EXPORT_SCHEMA_VERSION", version)):
        db.add(about, name=name, value=value)


# ---- the truth, by looking at every pair

def union(intervals):
    total, last = 0, None
    for start, end in sorted(intervals):
        start = start if last is None else max(start, last)
        if end > start:
            total += end - start
        last = end if last is None else max(last, end)
    return total


def marked(rank, launched, thread, pattern):
    """The name of the innermost range with that pattern, of the thread, else of the process."""
    for own in (True, False):
        around = [(end - start, -start, name) for start, end, name, t in rank.ranges
                  if start <= launched <= end and (t == thread or not own)
                  and re.search(pattern, name)]
        if around:
            return min(around)[2]
    return None


def truth_of(rank):
    """What is true of a rank; of its window only where ranges tell which that is."""
    truth = {"pid": rank.pid, "rank": rank.number, "label": rank.label, "device": rank.device,
             "kernels": len(rank.kernels), "kernel_ns": sum(k[1] - k[0] for k in rank.kernels)}
    return {**truth, **truth_of_window(rank)} if rank.options.trainer == "pithtrain" else truth


def truth_of_window(rank):
    chunks = [r for r in rank.ranges if r[2].startswith("forward chunk")]
    start, end, name, _ = chunks[len(chunks) // 2]
    inside = [(max(k[0], start), min(k[1], end), *k[2:]) for k in rank.kernels
              if k[0] < end and k[1] > start]
    streams, stages = {}, {}
    for k in inside:
        s = streams.setdefault(k[2], {"n_comm": 0, "n_comp": 0, "comm_ns": 0, "comp_ns": 0})
        kind = "comm" if k[3].startswith("nccl") else "comp"
        s["n_" + kind] += 1
        s[kind + "_ns"] += k[1] - k[0]
    computing = [k[:2] for k in inside if streams[k[2]]["n_comp"] and not k[3].startswith("nccl")]
    for number, s in streams.items():
        s["barrier_ns"] = s["comm_ns"] if s["n_comp"] else 0
        purposes = set()
        for k in inside:
            if k[2] == number:
                found = marked(rank, k[4], k[5], r"stage[124]_[fb]|pipeline send/recv")
                purposes.add("unknown" if not found else "pp_p2p" if "pipeline" in found else
                             "cp_ring" if "stage1" in found else "ep_a2a")
        s["purpose"] = "compute" if s["n_comp"] else \
            purposes.pop() if len(purposes) == 1 else "mixed"
    for k in inside:
        if streams[k[2]]["n_comp"]:
            continue
        found = marked(rank, k[4], k[5], r"stage[1-5]_[fbw]")
        if found:
            hidden = union([(max(a, k[0]), min(b, k[1])) for a, b in computing
                            if a < k[1] and b > k[0]])
            s = stages.setdefault(re.findall(r"stage[1-5]_[fbw]", found)[-1],
                                  {"comm_ns": 0, "exposed_ns": 0, "percent": []})
            s["comm_ns"] += k[1] - k[0]
            s["exposed_ns"] += k[1] - k[0] - hidden
            s["percent"].append(100.0 * hidden / (k[1] - k[0]))
    return {"window": [start, end, name], "streams": streams, "stages": stages}


# ---- large files: chunks that were made, again at other times

SHIFTED = {"CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end", "correlationId"),
           "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "correlationId"),
           "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end", "correlationId"),
           "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ("start", "end", "correlationId"),
           "NVTX_EVENTS": ("start", "end", None)}


def repeat(db, rows, period, ids, first, times):
    """The rows of the distinct chunks, `times` times more."""
    for table, columns in SHIFTED.items():
        at = [db.columns[table].index(c) if c else None for c in columns]
        marks = ",".join("?" * len(db.columns[table]))
        for n in range(first, first + times):
            out = []
            for row in rows[table]:
                row = list(row)
                row[at[0]] += n * period
                if row[at[1]] is not None:
                    row[at[1]] += n * period
                if at[2] is not None:
                    row[at[2]] += n * ids
                out.append(row)
            db.file.executemany(f"INSERT INTO {table} VALUES ({marks})", out)


def enlarge(db, ranks, size):
    """Chunks beyond those made, until the file is about as large as asked for."""
    for rank in ranks:
        rank.begin()
    db.write()
    begin = min(r.clock for r in ranks)
    for number in range(DISTINCT_CHUNKS):
        for rank in ranks:
            rank.chunk(number)
            rank.between()
    rows = {table: list(db.rows[table]) for table in SHIFTED}
    period = max(r.clock for r in ranks) - begin + 100 * US
    ids = max(r.correlation for r in ranks) % 1000003
    made = len(rows["CUPTI_ACTIVITY_KIND_KERNEL"]) * ROW_BYTES
    db.write()
    repeat(db, rows, period, ids, 1, max(0, round(size / made) - 1))


def parse_size(text):
    number, unit = re.fullmatch(r"(\d+)([KMG]?)", text).groups()
    return int(number) * {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}[unit]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("-o", "--output", required=True)
    ap.add_argument("--truth")
    ap.add_argument("--schema", choices=sorted(VERSIONS), default="2026")
    ap.add_argument("--ranks", type=int, default=4)
    ap.add_argument("--pipeline", type=int, default=2)
    ap.add_argument("--chunks", type=int, default=5)
    ap.add_argument("--layers", type=int, default=2)
    ap.add_argument("--trainer", choices=("pithtrain", "steps", "bare"), default="pithtrain")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--size", type=parse_size)
    ap.add_argument("--ops", action="store_true")
    options = ap.parse_args()
    open(options.output, "wb").close()
    db = Database(options.output, options.schema)
    ranks = [Rank(db, options, n) for n in range(options.ranks)]
    if options.size:
        enlarge(db, ranks, options.size)
    else:
        for rank in ranks:
            rank.begin()
        for number in range(options.chunks):
            for rank in ranks:
                rank.chunk(number)
                rank.between()
        for rank in ranks:
            rank.end()
    describe(db, ranks, options.schema)
    db.close()
    if options.truth:
        with open(options.truth, "w") as out:
            json.dump([truth_of(r) for r in ranks], out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
