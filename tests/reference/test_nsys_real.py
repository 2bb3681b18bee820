"""Real exports of Nsight Systems, 2022 to 2026, against numbers counted with plain SQL
(NAME.expected.txt): kernels, copies, calls and ranges by name exactly; the time of each device,
where trawl's definitions differ (memsets are work, and the span is from the first to the last of
all GPU work, copies too), against a second computation here, which has to agree with the reference
on kernels alone.
"""
import pathlib
import re
import sqlite3
import sys
import unittest
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, number, trawl

REAL = SHARED / "cases/nsys_real"
WORK = {"kernel": "CUPTI_ACTIVITY_KIND_KERNEL", "copy": "CUPTI_ACTIVITY_KIND_MEMCPY",
        "memset": "CUPTI_ACTIVITY_KIND_MEMSET"}


def union(intervals):
    """Merged intervals, in order."""
    out = []
    for a, b in sorted(intervals):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(intervals):
    return sum(b - a for a, b in union(intervals))


class Expected:
    """Sections of an .expected.txt: name -> rows of its table by name, or lines."""

    def __init__(self, path):
        self.sections = {}
        for part in path.read_text().split("## ")[1:]:
            title, _, body = part.partition("\n")
            self.sections[title.split()[0]] = body
        counts = re.search(r"counts by eventType: ({.*})", path.read_text())
        self.types = eval(counts.group(1), {}) if counts else {}

    def sums(self, section):
        """Name -> (count, ns, min, max); the name is last and has commas."""
        out = {}
        for line in self.sections.get(section, "").splitlines()[1:]:
            f = line.split(",", 8)
            out[f[8]] = (int(f[2]), int(f[1]), int(f[5]), int(f[6]))
        return out

    def devices(self):
        """(pid, device) -> kernels, compute, nccl, overlap, exposed, busy, span, idle."""
        return {(int(a), int(b)): [int(x) for x in rest.split()] for a, b, rest in
                re.findall(r"^\((\d+), (\d+)\) ([\d ]+)$", self.sections.get("overlap", ""), re.M)}


def ns(text):
    return int(number(text) * 1000)


class Real(Case):
    def one(self, name):
        self.file = REAL / f"{name}.sqlite"
        self.want = Expected(REAL / f"{name}.expected.txt")
        self.db = sqlite3.connect(f"file:{self.file}?mode=ro&immutable=1", uri=True)
        self.addCleanup(self.db.close)
        self.tables = {r[0] for r in self.db.execute("SELECT name FROM sqlite_master")}
        rep = self.report(self.file)
        self.assertExit(rep, 0)
        return rep

    def kernels_by_name(self, rep, wanted_kernels):
        """Kernels, copies and memsets of kernel_summary, by name in ns."""
        got = {k: (c, int(t * 1000), int(a * 1000), int(b * 1000))
               for k, (c, t, a, b) in rep.kernels().items()}
        kernels = {k: v for k, v in got.items() if not k.startswith(("Memcpy ", "Memset "))}
        self.assertEqual(kernels, wanted_kernels)
        return got

    def copies_by_kind(self, rep, wanted):
        """[CUDA memcpy Host-to-Device] against the counts by stream, and the sums by SQL here."""
        rows = rep.table("streams")
        copies = sum(c for n, (c, *_) in wanted.items() if "memcpy" in n)
        memsets = sum(c for n, (c, *_) in wanted.items() if "memset" in n)
        self.assertEqual(sum(int(r["copies"]) for r in rows), copies)
        self.assertEqual(sum(int(r["memsets"]) for r in rows), memsets)
        total = sum(number(r["sum (ms)"]) for r in rows) * 10**6
        self.assertEqual(int(total), sum(t for _, t, _, _ in wanted.values()) + sum(
            t for _, t, _, _ in self.want.sums("cuda_gpu_kern_sum").values()))

    def calls_by_name(self, rep, wanted):
        """Calls, by their name without the version; those that launch are in two tables."""
        sums = defaultdict(lambda: [0, 0])
        for name, (count, total, _, _) in wanted.items():
            sums[re.sub(r"_v\d+$", "", name)][0] += count
            sums[re.sub(r"_v\d+$", "", name)][1] += total
        self.assertEqual({r["call"]: [int(r["calls"]), int(number(r["time (ms)"]) * 10**6)]
                          for r in rep.table("api_calls")}, dict(sums))
        for name, row in rep.launches().items():
            self.assertEqual([int(row["calls"]), int(number(row["call time (ms)"]) * 10**6)],
                             sums[name], name)

    def work(self):
        """(pid, device) -> kind -> intervals; NCCL kernels are a kind of their own."""
        out = defaultdict(lambda: defaultdict(list))
        for kind, table in WORK.items():
            if table not in self.tables:
                continue
            name = "(SELECT value FROM StringIds WHERE id=demangledName)" if kind == "kernel" \
                else "''"
            for pid, device, start, end, text in self.db.execute(
                    f"SELECT globalPid>>24&0xffffff, deviceId, start, end, {name} FROM {table}"):
                nccl = kind == "kernel" and text.startswith("nccl")
                out[pid, device]["nccl" if nccl else kind].append((start, end))
        return out

    def time_of_devices(self, rep, wanted):
        work = self.work()
        for key, (kernels, compute, nccl, overlap, exposed, busy, span, idle) in wanted.items():
            w = work[key]
            both = w["kernel"] + w["nccl"]
            # The reference, of kernels alone: the second computation agrees with it ...
            self.assertEqual([len(both), length(w["kernel"]), length(w["nccl"]), length(both)],
                             [kernels, compute, nccl, busy])
            self.assertEqual(length(w["kernel"]) + length(w["nccl"]) - length(both), overlap)
            self.assertEqual(max(b for _, b in both) - min(a for a, _ in both), span)
            self.assertEqual(span - busy, idle)
            # ... and trawl with it, by its own definitions.
            computing = w["kernel"] + w["memset"]
            everything = both + w["memset"] + w["copy"]
            total = max(b for _, b in everything) - min(a for a, _ in everything)
            figures = {k: int(v * 1000) for k, v in rep.figures(device=key[1]).items()}
            self.assertEqual(figures["compute"], length(computing))
            self.assertEqual(figures["comm"], nccl)
            self.assertEqual(figures["exposed_comm"],
                             length(computing + w["nccl"]) - length(computing))
            self.assertEqual(figures["busy"], length(everything))
            self.assertEqual(figures["total"], total)
            self.assertEqual(figures["idle"], total - length(everything))
            if not w["memset"]:
                self.assertEqual([figures["compute"], figures["exposed_comm"]], [compute, exposed])

    def ranges(self):
        """Operations and annotations that the reader keeps are all NVTX ranges there are."""
        done = trawl("check", "-v", self.file)
        events = int(re.search(r"(\d+) events read", done.err).group(1))
        others = sum(self.db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
                     for t in (*WORK.values(), "CUPTI_ACTIVITY_KIND_RUNTIME",
                               "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") if t in self.tables)
        domains = self.want.types.get(75, 0)
        ranges = sum(self.want.types.get(t, 0) for t in (59, 60, 70, 71, 34))
        names = events - others - ranges - domains
        self.assertTrue(0 <= names < 60, f"{events} events, {others} others, {ranges} ranges")

    def everything(self, name):
        rep = self.one(name)
        kernels = self.want.sums("cuda_gpu_kern_sum")
        self.kernels_by_name(rep, kernels)
        self.copies_by_kind(rep, self.want.sums("cuda_gpu_mem_time_sum"))
        self.calls_by_name(rep, self.want.sums("cuda_api_sum"))
        self.time_of_devices(rep, self.want.devices())
        self.ranges()
        self.assertEqual({d for _, d in self.want.devices()},
                         {int(r["device"]) for r in rep.table("streams")})
        self.assertEqual([r for r in rep.quality() if r["class"] == "lost"], [])
        self.assertReconciles(rep)
        return rep

    def test_cloverleaf_2024(self):
        self.everything("cloverleaf_2024")

    def test_dlprof_2022(self):
        self.everything("dlprof_2022")

    def test_threebody_2023(self):
        self.everything("threebody_2023")

    def test_fastvideo_2gpu_sendrecv(self):
        rep = self.everything("fastvideo_2gpu_sendrecv")
        rows = rep.table("coll_analysis")
        # Two of the kernels have no launch here: those are known by their names alone.
        self.assertEqual(sorted((r["stream"], r["operation_count"], r["Collective type"], r["Evidence"])
                                for r in rows),
                         [("15", "1", "send_recv", "kernel name"),
                          ("15", "32", "all_to_all", "operation"),
                          ("7", "1", "send_recv", "kernel name"),
                          ("7", "32", "all_to_all", "operation")])
        # Ranges of emit_nvtx are operations.
        ops = {r["name"]: int(r["Count"]) for r in rep.table("cpu_ops")}
        want = defaultdict(int)
        for (text,) in self.db.execute("SELECT text FROM NVTX_EVENTS WHERE text LIKE '%, seq = %' "
                                       "OR text LIKE '%, op_id = %' OR text LIKE '%, sizes = %'"):
            want[re.split(r", (?:seq|op_id|sizes) = ", text)[0]] += 1
        self.assertEqual(ops, dict(want))

    def test_fastvideo_h100_2gpu(self):
        self.everything("fastvideo_h100_2gpu")

    def nothing_on_the_gpu(self, name, *words):
        done = trawl("report", REAL / f"{name}.sqlite", "-o", self.tmp / "out")
        self.assertExit(done, 0)
        for w in words:
            self.assertRegex(" ".join((done.err + done.out).split()), w)
        self.assertTrue((self.tmp / "out/perf_report_csvs/quality.csv").exists())
        self.assertExit(trawl("check", REAL / f"{name}.sqlite"), 0)

    def test_nvtx_only_2022(self):
        self.nothing_on_the_gpu("nvtx_only_2022", "no GPU events")

    def test_osrt_only_2024(self):
        self.nothing_on_the_gpu("osrt_only_2024", "no GPU events.*but .*OSRT_API",
                                "--trace=cuda,nvtx")

    def test_runtime_only_2025(self):
        self.nothing_on_the_gpu("runtime_only_2025", "no GPU events", "cuda_driver 3",
                                "DIAGNOSTIC_EVENT, row 4")


if not REAL.exists():
    Real = unittest.skip("given material absent: cases/nsys_real (TRAWL_SHARED)")(Real)

if __name__ == "__main__":
    unittest.main()
