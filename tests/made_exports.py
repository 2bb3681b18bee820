"""A rank of made_runs.py as an export of Nsight Systems: the same times, and what such an export has of them.

It has no python functions and no types of tensors; operators are ranges as emit_nvtx of PyTorch writes them,
steps ranges of the program.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "gen"))
import nsys_export
from made_runs import US

PID, DEVICE = 30100, 0
GPID = nsys_export.HOST | PID << 24
COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
MEMORY_KINDS = {"Pageable": 0, "Pinned": 1, "Device": 2}
WAITS = {"cudaDeviceSynchronize": 4, "cudaStreamSynchronize": 3, "cudaEventSynchronize": 1}


class Machine:
    """What describe() asks of a rank."""
    gpid, pid, device = GPID, PID, DEVICE

    def tid(self, thread):
        return self.gpid | (self.pid + thread)


def name_of(event, number):
    """The text of a range; None: an export has no such."""
    if event["cat"] == "user_annotation":
        return event["name"].replace("ProfilerStep#", "step_")
    if event["cat"] == "cpu_op":
        sizes = event.get("args", {}).get("Input Dims", [])
        return f"{event['name']}, seq = {number}, op_id = {number}, sizes = {sizes}"
    return None


def add_gpu(db, event, start, end):
    where = {"start": start, "end": end, "deviceId": DEVICE, "contextId": 1, "streamId": event["args"]["stream"],
             "correlationId": event["args"]["correlation"], "globalPid": GPID}
    if event["cat"] == "kernel":
        name = db.string(event["name"])
        db.add("CUPTI_ACTIVITY_KIND_KERNEL", **where, demangledName=name, shortName=name, launchType=1,
               registersPerThread=96, gridX=132, gridY=1, gridZ=1, blockX=256, blockY=1, blockZ=1, staticSharedMemory=0,
               dynamicSharedMemory=0, localMemoryPerThread=0, localMemoryTotal=0, gridId=1)
        return
    _, kind, route = event["name"].split(" ", 2)
    source, target = route.strip("()").split(" -> ")
    db.add("CUPTI_ACTIVITY_KIND_MEMCPY", **where, bytes=event["args"]["bytes"], copyKind=COPY_KINDS[kind],
           srcKind=MEMORY_KINDS[source], dstKind=MEMORY_KINDS[target])


def write(rank, path, schema="2024"):
    db = nsys_export.Database(path, schema)
    for number, event in enumerate(rank.events):
        start = round(event["ts"] * US)
        end = start + round(event["dur"] * US)
        tid = GPID | (PID + event["tid"] - 100)
        if event["cat"] in ("kernel", "gpu_memcpy"):
            add_gpu(db, event, start, end)
        elif event["cat"] == "cuda_runtime":
            db.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=tid,
                   correlationId=event["args"]["correlation"], nameId=db.string(event["name"] + "_v3020"), returnValue=0)
            if event["name"] in WAITS:
                db.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=start, end=end, deviceId=DEVICE, contextId=1, streamId=7,
                       correlationId=event["args"]["correlation"], globalPid=GPID, syncType=WAITS[event["name"]], eventId=0)
        elif (name := name_of(event, number)) is not None:
            db.add("NVTX_EVENTS", start=start, end=end, eventType=59, domainId=0, globalTid=tid, text=name)
    nsys_export.describe(db, [Machine()], schema)
    db.write()
    db.close()
