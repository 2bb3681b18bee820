#!/usr/bin/env python3
"""Write the kept corpora of fuzz_nsys and fuzz_nsys_queries: exports of a few pages, and values for
rows.

usage: make_corpus_nsys.py [DIR]     default: corpus beside this script

The first bytes of each file choose what is asked for, see the targets. Same bytes every time (for
one version of SQLite); standard library only.
"""
import os
import pathlib
import sqlite3
import struct
import sys
import tempfile

GPU = ("start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,"
       " correlationId INTEGER, globalPid INTEGER")
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": GPU + ", demangledName INTEGER, shortName INTEGER, gridX INTEGER,"
                                  " gridY INTEGER, gridZ INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": GPU + ", bytes INTEGER, copyKind INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER,"
                                   " globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,"
                   " textId INTEGER, domainId INTEGER",
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT",
}
PID = (1 << 48) | (77 << 24)


def database(rows, tables=TABLES, size=512, finish=()):
    fd, path = tempfile.mkstemp()
    os.close(fd)
    os.unlink(path)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA page_size={size}")
    for name, columns in tables.items():
        db.execute(f"CREATE TABLE {name} ({columns})")
    for table, values in rows:
        if table in tables:
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
    db.commit()
    for statement in finish:
        db.execute(statement)
        db.commit()
    db.close()
    data = pathlib.Path(path).read_bytes()
    os.unlink(path)
    return data


def rows(n, processes=1):
    out = [("StringIds", (i + 1, t)) for i, t in enumerate(
        ["sm90_gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020",
         "NCCL", "ncclAllReduce"])] + [("TARGET_INFO_GPU", (0, "GPU"))]
    for p in range(processes):
        pid = PID + (p << 24)
        out.append(("NVTX_EVENTS", (-5, None, 75, None, pid + 7, 5, 1)))
        out.append(("NVTX_EVENTS", (0, None, 59, "step 1", pid + 7, None, 0)))
        for i in range(n):
            out += [
                ("NVTX_EVENTS", (100 * i, 100 * i + 50, 59,
                                 f"aten::mm, seq = {i}, op_id = {i}, sizes = [[2, 3], [3, 4]]",
                                 pid + 7, None, 0)),
                ("NVTX_EVENTS", (100 * i, 100 * i + 30, 59 + i % 2, None, pid + 7, 6, 1)),
                ("CUPTI_ACTIVITY_KIND_RUNTIME", (100 * i + 5, 100 * i + 9, i % 2, pid + 7, i + 1, 3)),
                ("CUPTI_ACTIVITY_KIND_KERNEL", (100 * i + 20, 100 * i + 90, 0, 1 + i % 2, 7, i + 1,
                                                pid, 1 + i % 2, 1, 8, 1, 1)),
                ("CUPTI_ACTIVITY_KIND_MEMCPY", (100 * i + 60, 100 * i + 95, 0, 1, 8, 900 + i, pid,
                                                4096, 1)),
            ]
    return out


def values(choice, *numbers):
    """Rows by value, as the target reads them: 0x_8 small, 0x05 eight bytes."""
    out = bytearray([choice])
    for n in numbers:
        out += bytes([n << 4 | 8]) if 0 <= n < 16 else b"\x05" + struct.pack(">q", n)
    return bytes(out)


def corpus():
    yield "export", b"\0" + database(rows(4))
    yield "export_two_processes", b"\1" + database(rows(3, 2))
    yield "export_many_pages", b"\2" + database(rows(40))
    yield "export_large_pages", b"\0" + database(rows(2), size=1024)
    cut = database(rows(20))
    yield "export_cut", b"\0" + cut[:len(cut) * 2 // 3]
    yield "export_vacuumed", b"\0" + database(rows(6), finish=(
        "DELETE FROM NVTX_EVENTS WHERE rowid % 2", "VACUUM"))
    yield "other_database", b"\0" + database([], {"a": "x"})
    yield "rocpd", b"\0" + database([], {"rocpd_op": "x"})
    texts = values(7, 1) + b"\x41gemm" + values(7, 2) + b"\xf1cudaLaunchKerne"
    kernel = values(0, 100, 150, 0, 1, 0, 7, 3, PID, 1, 1, 2, 3, 4, 5, 6)
    call = values(5, 90, 95, 0, PID + 7, 3, 2, 0)
    yield "rows", b"\x80" + texts + call + kernel + values(5, 91, 95, 0, PID + 7, 3, 2, 1)
    yield "rows_two", b"\xc0" + texts + call + kernel + values(
        0, 100, 150, 0, 2, 0, 7, 3, PID + (1 << 24), 1, 1, 2, 3, 4, 5, 6) + values(
        9, 77, 0, 5) + values(9, 78, 0, 6) + values(8, 5, 99) + b"\x41GPU5"
    yield "rows_nvtx", b"\x81" + b"".join(
        values(c, 10, 90, 59, PID + 7) + b"\x61inline" + values(1, 0, 0) + b"\x08" * 4
        for c in (6 + 14 * 5, 6 + 14 * 12, 6 + 14 * 14, 6 + 14 * 16, 6 + 14 * 17))
    yield "rows_others", b"\x82" + values(1, 1, 2, 0, 1, 0, 7, 1, PID, 8, 1, 0, 2) + values(
        2, 3, 4, 0, 1, 0, 7, 2, PID, 8, 2) + values(3, 3, 4, 0, 1, 0, 7, 2, PID, 3) + values(
        4, 3, 9, 0, 1, 0, 7, 2, PID, 1) + values(10, PID) + b"\x21py" + values(
        11, PID + 7, 1) + b"\x0c\xf1 events lost   "


def labelled():
    """Two ranks with what the rules of a preset are for."""
    out = [("StringIds", (i + 1, t)) for i, t in enumerate(
        ["sm90_gemm", "ncclDevKernel_SendRecv", "cudaLaunchKernel_v7000", "pipeline send/recv"])]
    for p in range(2):
        pid = PID + (p << 24)
        label = f"rank={p}; local=0 pp={p}/2 dp=0/1 cp=0/1 ep=0/1 tp=0/1"
        out.append(("NVTX_EVENTS", (1, 2, 59, label, pid + 7, None, 0)))
        for i in range(3):
            out += [
                ("NVTX_EVENTS", (100 * i, 100 * i + 99, 59,
                                 f"forward chunk {i} backward chunk {i}", pid + 7, None, 0)),
                ("NVTX_EVENTS", (100 * i + 3, 100 * i + 40, 59, "layer01.stage2_f", pid + 7, None, 0)),
                ("CUPTI_ACTIVITY_KIND_RUNTIME", (100 * i + 5, 100 * i + 9, 0, pid + 7, i + 1, 3)),
                ("CUPTI_ACTIVITY_KIND_KERNEL", (100 * i + 20, 100 * i + 60, 0, 1, 7, i + 1, pid, 2, 2,
                                                8, 1, 1)),
                ("CUPTI_ACTIVITY_KIND_KERNEL", (100 * i + 40, 100 * i + 95, 0, 1, 8, 90 + i, pid, 1, 1,
                                                8, 1, 1)),
            ]
    return out


def query(choice, more=0, rules=b""):
    return bytes([choice, more, len(rules)]) + rules


def queries():
    """Bit by bit: the query, --compat, --rank, a window, several threads, any preset, rows by value."""
    rules = b"window\tr[0-9]\tr\nstage\t^(a|b)\t\\1\npurpose\tx$\tdp\nkernel\tgemm\tcompute\n"
    for i, name in enumerate(("setup", "windows", "streams", "overlap")):
        yield name, query(i) + database(labelled())
        yield name + "_compat", query(i | 4) + database(labelled())
        yield name + "_plain", query(i | 16 | 64, 4) + database(rows(3, 2))
    yield "rules", query(3, 0, rules) + database(rows(5))
    yield "rank", query(11, 1) + database(labelled())
    texts = b"\x07\x18\x41gemm\x07\x28\x41nccl"
    ranges = b"".join(values(c, 10, 90, 59, PID + 7) + b"\x08" + values(1, 0, 0) + b"\x08" * 4
                      for c in (6 + 14 * 12, 6 + 14 * 13, 6 + 14 * 14, 6 + 14 * 16, 6 + 14 * 17))
    work = values(5, 20, 25, 0, PID + 7, 3, 2, 0) + b"".join(
        values(0, 30, 60 + n, 0, 1, 0, n, 3, PID, n, n, 2, 3, 4, 5, 6) for n in (1, 2))
    for i in range(4):
        yield f"rows_{i}", query(0xa0 | i) + texts + ranges + work
    yield "rows_negative", query(0xe1) + texts + ranges + values(0, 60, 30, 0, 1, 0, 7, 3, PID, 1, 1)
    yield "rows_rules", query(0xa3, 0, rules) + texts + ranges + work


def main():
    where = pathlib.Path(sys.argv[1]) if sys.argv[1:] else \
        pathlib.Path(__file__).resolve().parent / "corpus"
    for target, inputs in (("fuzz_nsys", corpus), ("fuzz_nsys_queries", queries)):
        (where / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs():
            (where / target / name).write_bytes(data)


if __name__ == "__main__":
    main()
