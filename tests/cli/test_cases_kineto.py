"""Every given case of a Kineto file with a trouble in it (below number 091, and 124, 127), and of
an export of Nsight Systems (110 to 122).

A case's expect.json has the figures in microseconds; what its text demands beside them is in
CHECKS below, by name. Clauses on cost models, merging and HTML are not tested here.
"""
import ast
import json
import pathlib
import re
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case

CASES = SHARED / "cases/kineto"


def wanted(directory):
    n = int(directory.name[:3])
    return n < 91 or 110 <= n <= 122 or n in (124, 127)


class Run:
    """A case: its files, its expectation, its report."""

    def __init__(self, test, directory):
        self.test = test
        self.dir = directory
        self.expect = json.loads((directory / "expect.json").read_text(), parse_float=Decimal)
        self.input = directory / self.expect["files"][0]
        self.raw = self.input.read_bytes()
        self.rep = test.report(self.input, xlsx=True)

    def event(self, needle):
        """Byte range of the line (an event) that holds some text."""
        at = self.raw.index(needle)
        end = self.raw.find(b"\n", at)
        return self.raw.rfind(b"\n", 0, at) + 1, end if end >= 0 else len(self.raw)


# ---- checks: each takes a Run ---------------------------------------------------------------

def exits(*codes):
    def check(run):
        run.test.assertExit(run.rep, *codes)
    return check


def figures(run):
    run.test.assertExit(run.rep, 0, 3)
    run.test.assertFigures(run.rep, run.expect["figures"])
    run.test.assertTimelineCloses(run.rep)
    run.test.assertReconciles(run.rep)


def clean(run):
    run.test.assertClean(run.rep)


def nothing_lost(run):
    run.test.assertEqual([r for r in run.rep.quality() if r["class"] == "lost"], [], str(run.rep))


def said(kind, needle=None, at=None, count=None):
    """A kind of trouble is recorded, and said once on stderr with its count and its place: inside
    the line that holds `needle`, or at one of the bytes `at` (one off is fine)."""
    def check(run):
        where = run.event(needle) if needle is not None else None
        run.test.assertNotice(run.rep, kind, where, count)
        if at is not None:
            for named in run.rep.places(kind):
                run.test.assertTrue(any(abs(n - want) <= 1 for n in named for want in at),
                                    f"{named} is not {at}\n{run.rep}")
    return check


def either(accepted, error):
    """The better way, or a clear error; never silence."""
    def check(run):
        if run.rep.rc == 1:
            run.test.assertOneLine(run.rep, error, file=run.input)
            run.test.assertNothingWritten(run.rep)
        else:
            for c in accepted:
                c(run)
            # A repair that loses nothing may be a note, but it is there.
            run.test.assertNotEqual(run.rep.quality(), [], "not a word about it")
    return check


def refused(*words):
    def check(run):
        run.test.assertExit(run.rep, 1)
        run.test.assertOneLine(run.rep, *words, file=run.input)
        run.test.assertNothingWritten(run.rep)
    return check


def lost(kind, count):
    def check(run):
        run.test.assertExit(run.rep, 3)
        run.test.assertEqual(run.rep.lost(), {kind: count}, str(run.rep))
        run.test.assertNotice(run.rep, kind, count=count)
    return check


def direct(name, us):
    def check(run):
        run.test.assertEqual(run.rep.direct(name), Decimal(us), str(run.rep.table("ops_summary")))
    return check


def kernels(count=None, total=None):
    def check(run):
        if count is not None:
            run.test.assertEqual(run.rep.kernel_count(), count)
        if total is not None:
            run.test.assertEqual(run.rep.kernel_sum(), total)
    return check


def comm_kernels(count):
    """coll_analysis holds as many calls as there are communication kernels."""
    def check(run):
        rows = run.rep.table("coll_analysis")
        run.test.assertEqual(sum(int(r["operation_count"]) for r in rows), count, str(rows))
    return check


def copies(count):
    def check(run):
        run.test.assertEqual(sum(int(r["copies"]) for r in run.rep.table("streams")), count)
    return check


def streams(*ids, device=None):
    def check(run):
        run.test.assertEqual({s for _, s in run.rep.streams()}, {str(i) for i in ids})
        if device is not None:
            run.test.assertEqual({d for d, _ in run.rep.streams()}, {str(device)})
    return check


def percent(row, value):
    def check(run):
        got = {r["type"]: Decimal(r["percent"]) for r in run.rep.table("gpu_timeline")}[row]
        run.test.assertAlmostEqual(float(got), value, delta=0.005)
    return check


def summary(pattern):
    def check(run):
        run.test.assertRegex(run.rep.out, pattern)
    return check


def no_gpu_events(run):
    run.test.assertRegex(run.rep.err + run.rep.out, "no GPU events")
    run.test.assertFalse(run.rep.has("gpu_timeline"))


def control_table(run):
    rows = {r["name"] for r in run.rep.table("cpu_ops")}
    run.test.assertEqual(rows, {"aten::mm", "record_param_comms", "aten::add"})


def no_negative_kernel(run):
    for name, (count, total, low, high) in run.rep.kernels().items():
        run.test.assertGreaterEqual(low, 0, name)
    for r in run.rep.table("kernel_summary"):
        run.test.assertGreaterEqual(Decimal(r["Kernel duration (µs)_mean"]), 0, str(r))


def no_kernel(name):
    def check(run):
        run.test.assertNotIn(name, run.rep.kernels())
    return check


def clipped_overruns(run):
    rep = run.test.report(run.input, "--clip-overruns")
    run.test.assertFigures(rep, {"total": 300, "busy": 300, "compute": 250, "comm": 100,
                                 "exposed_comm": 50, "idle": 0})
    run.test.assertEqual(rep.kernels()["attn_bwd"][1], 100)


def no_overrun(run):
    run.test.assertEqual(run.rep.counted("kernel_overrun"), 0, str(run.rep.quality()))


def launch_row(name, want):
    def check(run):
        row = run.rep.launches()[name]
        run.test.assertEqual({k: row[k] for k in want}, {k: str(v) for k, v in want.items()})
    return check


def launches_without_kernel(count):
    def check(run):
        rows = run.rep.table("launches")
        run.test.assertEqual(sum(int(r["calls without kernel"]) for r in rows), count, str(rows))
    return check


def launch_delay(us):
    """The delay of the only launch, from its start to the start of what it launched."""
    def check(run):
        (row,) = run.rep.table("launches")
        delays = [row[f"delay {c} (µs)"] for c in ("mean", "median", "min", "max")]
        run.test.assertEqual([Decimal(d) for d in delays], [us] * 4, str(row))
        run.test.assertEqual(row["negative delays"], "1" if us < 0 else "0")
    return check


def host_time_once(name, us):
    """A launch call's own time is charged once, however many kernels it starts."""
    def check(run):
        row = run.rep.launches()[name]
        run.test.assertEqual(Decimal(row["call time (ms)"]) * 1000, us, str(row))
    return check


def unlinked(count, us):
    def check(run):
        rows = run.rep.table("unlinked")
        run.test.assertEqual(sum(int(r["kernels"] if "kernels" in r else r["count"])
                                 for r in rows), count, str(rows))
        times = {k for k in rows[0] if re.search(r"time|duration|busy|sum", k)}
        run.test.assertTrue(any(sum(Decimal(r[k] or 0) for r in rows) in (
            Decimal(us), Decimal(us) / 1000, Decimal(us) * 1000) for k in times), str(rows))
    return check


def skipped(needle):
    """One event is left out, and that is said with its place."""
    def check(run):
        run.test.assertEqual(sum(run.rep.lost().values()), 1, str(run.rep.quality()))
        (kind,) = run.rep.lost()
        run.test.assertNotice(run.rep, kind, run.event(needle), count=1)
    return check


def replacement_characters(run):
    names = [k for k in run.rep.kernels() if "\ufffd" in k]
    run.test.assertNotEqual(names, [], str(list(run.rep.kernels())))


def five_rows_and_no_formula(run):
    rows = run.rep.table("kernel_summary")
    run.test.assertEqual(len(rows), 5)
    for r in rows:
        run.test.assertNotRegex(r["Kernel name"], r"^[=+@\t\r]", str(r))
    run.test.assertTrue(any("SUM(A1:A9)" in r["Kernel name"] for r in rows))
    run.test.assertNotIn("\x1b", run.rep.out + run.rep.err)


def by_collective(**want):
    """Collective (a part of its name) -> (calls, us); `unknown` is an empty name."""
    def check(run):
        got = {}
        for r in run.rep.table("coll_analysis"):
            name = r["Collective name"].replace("_", "")
            key = next((k for k in want if k.replace("_", "") in name), None) or "unknown"
            c, t = got.get(key, (0, Decimal(0)))
            got[key] = (c + int(r["operation_count"]), t + Decimal(r["dur_sum"]))
        run.test.assertEqual(got, {k: (c, Decimal(t)) for k, (c, t) in want.items()})
    return check


def stream_rows(count):
    def check(run):
        run.test.assertEqual(len(run.rep.table("streams")), count)
    return check


def distinct_ops(name, *counts):
    def check(run):
        rows = [r for r in run.rep.table("ops_unique_args") if r["name"] == name]
        run.test.assertIn(len(rows), counts)
    return check


def products(elements_in, elements_out, sizes, unknown, packed):
    """Each type's bytes by its size, 8-bit or not; FLOPs also where the size is not known. `packed`
    has two values in a byte, along K: the bytes of its operands stay, K and the FLOPs double, and the
    values of the result take half a byte each."""
    def check(run):
        rows = run.rep.table("GEMM")
        found = {ast.literal_eval(r["param: dtype_A_B"])[0]: r for r in rows}
        for dtype, size in sizes.items():
            run.test.assertEqual(float(found[dtype]["Data Moved (MB)_first"]) * 2**20,
                                 (elements_in + elements_out) * size, dtype)
        run.test.assertEqual({r["GFLOPS_first"] for r in rows if r is not found[packed]},
                             {"0.000524288"})
        run.test.assertEqual(found[packed]["GFLOPS_first"], "0.001048576")
        run.test.assertEqual(float(found[packed]["Data Moved (MB)_first"]) * 2**20,
                             elements_in + elements_out / 2)
        run.test.assertEqual(found[unknown]["Data Moved (MB)_first"], "")
    return check


def unfinished_flagged(run):
    """The op that never ended: a defect of the input, shown, and no absurd time in any table."""
    run.test.assertNotEqual(run.rep.flaws(), [], "not a word about it")
    if run.rep.has("cpu_ops"):
        run.test.assertNotIn("9223372036854775", str(run.rep.table("cpu_ops")))


def second_object(run):
    at = run.raw.index(b"{\n", 2)
    run.test.assertEqual(at, 2751)
    said("second_document", at=[at])(run)


def truncated(run):
    """Says where: where the file ends, or where the event that it cuts begins."""
    lo, hi = run.event(b"at::native")
    said("truncated", at=[len(run.raw), run.raw.index(b"{", lo)])(run)


def truncated_gz(run):
    run.test.assertExit(run.rep, 3)
    run.test.assertIn("compressed_truncated", run.rep.lost())
    run.test.assertNotEqual(run.rep.notices("compressed_truncated"), [], str(run.rep))


def broken_key(run):
    """Byte 142 is the t of `tid": 0`; the flow event is skipped; no category, so no GPU events."""
    run.test.assertExit(run.rep, 1, 3)
    said_so = [x for x in run.rep.lines("no GPU events")]
    place = [int(n) for x in run.rep.lines() for n in re.findall(r"\bbyte (\d+)", x)]
    run.test.assertTrue(any(abs(n - 142) <= 1 for n in place) or said_so and
                        bool(run.rep.lines("skipped|left out|could not be read|bare|key")),
                        str(run.rep))
    run.test.assertFalse(run.rep.has("gpu_timeline"))


def noted(*kinds):
    """Kinds of notes in the record, each shown in the summary."""
    def check(run):
        run.test.assertEqual({r["kind"] for r in run.rep.quality() if r["class"] == "note"},
                             set(kinds), str(run.rep.quality()))
        for r in run.rep.quality():
            run.test.assertIn(r["meaning"].split()[-1], run.rep.out)
    return check


def device(number, **want):
    def check(run):
        got = run.rep.figures(device=number)
        run.test.assertEqual({k: got[k] for k in want}, want)
    return check


def nvtx_forms(run):
    """Two ranges are unnamed, one is open: told, with table and row."""
    rows = {r["kind"]: r for r in run.rep.quality()}
    run.test.assertEqual(rows["unnamed_range"]["count"], "2")
    run.test.assertEqual(rows["open_range"]["count"], "1")
    run.test.assertRegex(rows["open_range"]["first row"], r"^table NVTX_EVENTS, row \d+$")
    for name in ("inline", "step 1"):
        part = run.test.report(run.input, "--range", name)
        run.test.assertExit(part, 0)
        run.test.assertRegex(part.out, name)


def range_of(name, first_us, last_us):
    """An NVTX range covers this time: looking at it clips at its edges."""
    def check(run):
        part = run.test.report(run.input, "--range", name, "--by", "time")
        run.test.assertExit(part, 0)
        run.test.assertEqual(part.figures()["total"], last_us - first_us)
    return check


def names_of_kernels(*parts):
    def check(run):
        names = sorted(run.rep.kernels())
        for p in parts:
            run.test.assertTrue(any(p in n for n in names), names)
    return check


CONTROL = [figures, exits(0), kernels(3)]
REPAIRED = [figures, exits(0), nothing_lost, kernels(3)]
EPOCH = [figures, exits(0), kernels(3)]

CHECKS = {
    "001-base": [figures, clean, kernels(3), comm_kernels(1), copies(1),
                 percent("busy_time", 77.14)],
    "002-control-char-in-name": REPAIRED + [said("control_character", b"my\x01mod")],
    "004-windows-path-bad-unicode-escape": REPAIRED + [said("bad_escape", rb"\unit")],
    "005-backslash-before-quote": [figures, exits(3), kernels(3),
                                   skipped(rb"D:\out")],
    "007-invalid-utf8": REPAIRED + [said("bad_utf8"), replacement_characters],
    "008-nan-infinity": REPAIRED + [said("not_a_number", b"Infinity")],
    "010-leading-comma-lines": REPAIRED + [said("extra_comma", at=[0, 1])],
    "011-truncated-in-event": [figures, exits(3), kernels(2), truncated],
    "013-bare-array": [figures, clean, kernels(3)],
    "014-bare-array-unclosed": REPAIRED,
    "016-utf16-file": [either([figures, exits(0), kernels(3)], "UTF-16")],
    "017-two-objects-concatenated": [figures, exits(3), kernels(3), second_object],
    "019-nested-traceEvents": [either([figures, exits(0), kernels(3)],
                                      "traceEvents.*(object|array)")],
    "020-metadata-after-events": CONTROL + [summary(r"(?i)rank\D{0,3}3"), summary("8")],
    "022-ellipsis-in-array": REPAIRED + [said("malformed_value", b"all_to_allv")],
    "023-ellipsis-in-string": CONTROL + [clean],
    "025-empty-file": [refused("empty")],
    "026-not-json": [refused("<")],
    "028-empty-events": [refused("no GPU events|no events"), no_gpu_events],
    "029-metadata-only": [refused("no GPU events"), no_gpu_events],
    "031-gz-multi-member": [figures, clean, kernels(3)],
    "032-gz-trailing-garbage": REPAIRED + [said("trailing_bytes")],
    "034-gz-truncated": [figures, exits(3), kernels(2), truncated_gz],
    "035-gz-bad-crc": [figures, exits(3), kernels(3), said("compressed_checksum")],
    "037-plain-content-gz-name": [figures, exits(0), nothing_lost],
    "038-gz-double": [either([figures, exits(0)], "gzip inside gzip|compressed twice")],
    "040-epoch-ts-ns-digits": EPOCH + [clean],
    "041-ts-dur-as-strings": EPOCH + [nothing_lost],
    "043-ts-many-digits": CONTROL + [nothing_lost],
    "044-displayTimeUnit-ns": [figures, clean, kernels(3)],
    "046-negative-dur": [figures, kernels(3), no_negative_kernel, no_kernel("k_negative"),
                         lost("gpu_negative_duration", 1)],
    "047-missing-dur": [figures, kernels(3), no_kernel("k_nodur"), no_kernel("k_nulldur"),
                        lost("gpu_no_duration", 2)],
    "049-ts-zero-events": [figures, kernels(3), no_kernel("k_lost"), lost("gpu_time_lost", 2)],
    "050-cpu-op-never-ended": [figures, exits(0), kernels(3), unfinished_flagged],
    "052-dur-overruns-next-on-stream": [figures, exits(0), kernels(4, 1250), clipped_overruns,
                                        said("kernel_overrun", count=1)],
    "053-pdl-overlap-same-stream": [figures, exits(0), kernels(3, 154), no_overrun],
    "055-events-shuffled": [figures, exits(0), kernels(3), direct("aten::mm", 100)],
    "056-utilisation-not-over-100": [figures, exits(0), kernels(3, 2400),
                                     percent("busy_time", 100)],
    "058-kernel-before-its-launch": [figures, exits(0), direct("aten::mm", 20), launch_delay(-5),
                                     said("kernel_before_launch", count=1)],
    "059-correlation-zero": [figures, exits(0), direct("aten::mm", 50), direct("aten::item", 0),
                             unlinked(2, 140)],
    "061-correlation-above-2pow53": [figures, exits(0), direct("aten::mm", 30),
                                     direct("aten::add", 20)],
    "062-graph-launch-many-kernels": [figures, exits(0), kernels(5), direct("ReplayGraph", 150),
                                      launch_row("hipGraphLaunch", {"calls": 1, "GPU events": 5}),
                                      host_time_once("hipGraphLaunch", 60)],
    "064-launch-without-kernel": CONTROL + [launches_without_kernel(2)],
    "065-spelling-of-2021": CONTROL + [direct("aten::mm", 100), streams(7, 20, 24)],
    "067-no-args-on-gpu-events": CONTROL + [streams(7, 20, 24, device=0)],
    "068-args-of-odd-types": CONTROL,
    "070-cpu-only": [exits(0), no_gpu_events, control_table],
    "071-B-E-pairs": CONTROL + [direct("aten::mm", 100), nothing_lost],
    "073-other-phases": CONTROL + [direct("aten::mm", 100)],
    "074-string-pids-and-window-marks": CONTROL,
    "076-nccl-in-cpu-names": CONTROL + [comm_kernels(1)],
    "077-non-busy-categories-on-gpu": CONTROL + [streams(7, 20, 24)],
    "079-names-that-break-output": [figures, exits(0), five_rows_and_no_formula],
    "080-rocm-names": [figures, exits(0), comm_kernels(1), streams(0, 3, device=2)],
    "082-custom-collectives": [figures, exits(0), kernels(26), comm_kernels(13)],
    "083-collective-type-from-args": [figures, exits(0), by_collective(
        allreduce=(2, 30), allgather=(1, 20), reduce_scatter=(1, 30), all_to_all=(1, 40),
        broadcast=(1, 15), unknown=(1, 5))],
    "085-stream-ids-64bit-and-text": [figures, exits(0), stream_rows(4), streams(
        94734093647888, 94738388615184, 18446744073709551615, 7)],
    "086-integers-beyond-int64": CONTROL,
    "088-dtype-spellings": [figures, exits(0), kernels(14), distinct_ops("aten::mm", 13, 14),
                           products(10240, 4096, {
                               "c10::BFloat16": 2, "c10::Half": 2, "float": 4, "double": 8,
                               "c10::Float8_e4m3fn": 1, "c10::Float8_e4m3fnuz": 1,
                               "c10::Float8_e5m2": 1, "signed char": 1, "unsigned char": 1,
                               "long int": 8, "c10::complex<float>": 8}, "UnknownT",
                               packed="c10::Float4_e2m1fn_x2")],
    "089-sequence-number-odd": CONTROL + [direct("aten::mm", 100)],
    "110-nsys-base": CONTROL + [clean, copies(1), range_of("forward", 990, 1500)],
    "112-nsys-times-above-2pow53": CONTROL + [clean],
    "113-nsys-only-kernels": CONTROL + [noted("unlinked_gpu", "no_calls", "no_copies",
                                              "no_ranges")],
    "115-nsys-graph-trace-only": [
        exits(0), device(0, busy=350, total=350), summary("--cuda-graph-trace=node"),
        noted("graph_hidden", "no_copies", "launch_without_kernel")],
    "116-nsys-nvtx-text-forms": CONTROL + [nvtx_forms],
    "118-nsys-name-id-missing": CONTROL + [clean, names_of_kernels("gemm", "nccl", "elt")],
    "119-nsys-two-processes-same-correlation": [
        exits(0), kernels(4), unlinked(1, 200),
        device(0, total=350, busy=270, compute=150, comm=150, memcpy=40, exposed_comm=100,
               exposed_memcpy=20, idle=80),
        device(1, total=200, busy=200, compute=200, idle=0)],
    "121-rocpd-database": [refused("rocpd database, not an nsys export")],
    "122-sqlite-name-json-content": CONTROL + [clean],
    "124-autograd-2020-broken-key": [broken_key],
    "127-gz-stored-as-zlib": [either([figures, exits(0), kernels(3)], "(?i)zlib")],
}


class Cases(Case):
    def one(self, directory):
        self.assertIn(directory.name, CHECKS, "a case without checks: add them")
        run = Run(self, directory)
        self.assertOutputsSane(run.rep)
        for check in CHECKS[directory.name]:
            check(run)

    def test_every_known_case_is_there(self):
        if not CASES.exists():
            self.skipTest("given material absent: cases/kineto (TRAWL_SHARED); no case was run")
        here = {d.name for d in CASES.iterdir() if wanted(d)}
        self.assertEqual(set(CHECKS) - here, set(), "cases that vanished")


def add_tests():
    for directory in sorted(CASES.iterdir()) if CASES.exists() else []:
        if wanted(directory):
            name = "test_" + re.sub(r"\W", "_", directory.name)
            setattr(Cases, name, lambda self, d=directory: self.one(d))


add_tests()

if __name__ == "__main__":
    unittest.main()
