#!/usr/bin/env python3
"""Write the kept corpus of fuzz_nsys: exports of a few pages, and values for rows.

usage: make_corpus_nsys.py [DIR]     default: corpus/fuzz_nsys beside this script

The first byte of each file chooses what is asked for, see fuzz_nsys.c. Same bytes every time (for
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


def main():
    where = pathlib.Path(sys.argv[1]) if sys.argv[1:] else \
        pathlib.Path(__file__).resolve().parent / "corpus/fuzz_nsys"
    where.mkdir(parents=True, exist_ok=True)
    for name, data in corpus():
        (where / name).write_bytes(data)


if __name__ == "__main__":
    main()
