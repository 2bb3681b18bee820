"""trawl merge: one timeline of all ranks, checked by tests/merged.py."""
import gzip
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from merged import IDS, differences, faults, load, slices_of
from support import (ROOT, SANITIZED, SHARED, TRAWL, Case, document, environment, event, kernel,
                     launch, op, shared, tracegen, trawl)


def ranks_of(directory):
    return {int(re.search(r"rank(\d+)", p.name)[1]): p
            for p in sorted(pathlib.Path(directory).glob("rank*.json"))}


def arrow(ph, number, pid, tid, ts, cat="ac2g"):
    return event(ph, cat, cat, pid, tid, ts, ABSENT, id=number, **({"bp": "e"} if ph == "f" else {}))


from support import ABSENT  # noqa: E402  (stands for a field that is not there)


class Merge(Case):
    def setUp(self):
        super().setUp()
        self.out = self.tmp / "merged/out.json"

    def generate(self, *options, ranks=2):
        directory = self.tmp / "ranks"
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run([tracegen(), "--ranks", str(ranks), *options, "-o", directory], check=True)
        return directory

    def merge(self, *args, codes=(0,), out=None, **keywords):
        """The merged trace, checked by itself; None when there is none."""
        out = out or self.out
        self.result = trawl("merge", *args, "-o", out, **keywords)
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        if self.result.rc not in (0, 3):
            self.assertFalse(out.exists(), str(self.result))
            return None
        merged = load(out)
        self.assertEqual(faults(merged), [], str(self.result))
        self.assertEqual([p.name for p in out.parent.iterdir() if ".trawl-" in p.name], [])
        return merged

    def write_ranks(self, *traces, **top):
        """A directory with a trace of each list of events."""
        directory = self.tmp / "job"
        directory.mkdir(exist_ok=True)
        for rank, events in enumerate(traces):
            (directory / f"rank{rank}.json").write_text(
                events if isinstance(events, str) else document(events, **top))
        return directory

    def table(self):
        return {r["rank"]: r for r in self.rows(trawl("merge", *self.result.args[2:], "--format",
                                                      "json").out)}

    def rows(self, text):
        table = json.loads(text)["tables"][0]
        heads = [c["header"] for c in table["columns"]]
        return [dict(zip(heads, r)) for r in table["rows"]]


class Generated(Merge):
    def test_every_kind(self):
        for kind in ("train", "infer", "decode", "compile"):
            for vendor in ("nvidia", "amd"):
                for keep in ("gpu", "all"):
                    with self.subTest(kind=kind, vendor=vendor, keep=keep):
                        ranks = self.generate("--kind", kind, "--vendor", vendor, "--steps", "1")
                        merged = self.merge(ranks, "--keep", keep)
                        self.assertEqual(differences(merged, ranks_of(ranks), keep), [])

    def test_stacks_epoch_and_equal_ids(self):
        for options in (("--stacks",), ("--epoch",), ("--equal-ids",), ("--layout", "indent")):
            with self.subTest(options=options):
                ranks = self.generate("--steps", "1", *options, ranks=3)
                merged = self.merge(ranks, "--keep", "all")
                self.assertEqual(differences(merged, ranks_of(ranks), "all"), [])
                self.assertEqual("baseTimeNanoseconds" in merged, options != ("--epoch",))

    def test_same_bytes(self):
        ranks = self.generate("--steps", "2", "--seed", "5", ranks=5)
        first = None
        for jobs in (1, 2, 5):
            for block in ("", "4096"):
                self.merge(ranks, f"-j{jobs}", "--keep", "all",
                           env=environment(**({"TRAWL_READ_BLOCK": block} if block else {})))
                data = self.out.read_bytes()
                first = first or data
                self.assertEqual(data == first, True, f"-j {jobs}, blocks of {block}")
                packed = self.tmp / "merged/out.json.gz"
                self.merge(ranks, f"-j{jobs}", "--keep", "all", out=packed)
                self.assertEqual(gzip.decompress(packed.read_bytes()) == first, True)
                if jobs == 1 and not block:
                    packed_first = packed.read_bytes()
                self.assertEqual(packed.read_bytes() == packed_first, True)
        self.merge(ranks, "-j3", "--keep", "all", "--max-memory", "1K")
        self.assertEqual(self.out.read_bytes() == first, True)

    def test_compressed_traces(self):
        ranks = self.generate("--steps", "1")
        self.merge(ranks)
        plain = load(self.out)["traceEvents"]
        for path in ranks_of(ranks).values():
            path.with_suffix(".json.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        self.assertEqual(self.merge(ranks)["traceEvents"] == plain, True)

    def test_skew_is_taken_away(self):
        truth = self.tmp / "truth"
        ranks = self.generate("--steps", "3", "--clock-skew-us", "4000", "--truth", str(truth),
                              ranks=4)
        offsets = json.loads((truth / "job.json").read_text())["clock_offsets_ns"]
        merged = self.merge(ranks, "--align", "collectives")
        shifts = {}
        for about in merged["ranks"]:
            rank = about["rank"]
            shifts[rank] = about["shift_us"]
            true = Decimal(offsets[0] - offsets[rank]) / 1000
            self.assertLessEqual(abs(shifts[rank] - true), about["clock_uncertainty_us"], about)
        self.assertGreater(max(abs(s) for s in shifts.values()), 1000)
        self.assertEqual(differences(merged, ranks_of(ranks), shifts=shifts), [])
        for how in ("none", "base-time"):
            merged = self.merge(ranks, "--align", how)
            self.assertEqual(differences(merged, ranks_of(ranks)), [])
            self.assertEqual("baseTimeNanoseconds" in merged, how != "none")

    @unittest.skipIf(SANITIZED, "memory of an instrumented program says nothing")
    def test_memory(self):
        ranks = self.generate("--size", "20M", ranks=6)
        for options in (("-j1",), ("-j2",), ("-j6", "--max-memory", "20M")):
            process = subprocess.Popen([TRAWL, "merge", ranks, "-o", self.out, *options],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            self.assertLess(usage.ru_maxrss, 110 << 10, options)
        self.assertGreater(self.out.stat().st_size, 35 << 20)

    def test_interrupted(self):
        ranks = self.generate("--size", "30M", ranks=3)
        directory = self.tmp / "interrupted"
        for _ in range(8):
            shutil.rmtree(directory, ignore_errors=True)
            process = subprocess.Popen([TRAWL, "merge", ranks, "-j1", "--keep", "all", "-o",
                                        directory / "out.json"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            while process.poll() is None and not (directory.exists() and os.listdir(directory)):
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
            if process.returncode != 0:
                break
        self.assertNotEqual(process.returncode, 0, "it was always done before the signal")
        self.assertEqual(os.listdir(directory), [])


class Given(Merge):
    def test_same_pids(self):
        case = shared("cases/kineto/103-merge-same-pids")
        merged = self.merge(case, "--keep", "all")
        events = [e for e in merged["traceEvents"] if e["ph"] != "M"]
        # 9 each, of which one names a process.
        self.assertEqual(len(events), 2 * 8)
        self.assertEqual(sum(e["ph"] in "sf" for e in events), 4)
        self.assertEqual(len({e["id"] for e in events if e["ph"] in "sf"}), 2)
        self.assertEqual(differences(merged, ranks_of(case), "all"), [])
        pids = [{e["pid"] for e in events if e["args"]["rank"] == r} for r in (0, 1)]
        self.assertEqual(pids[0] & pids[1], set())
        again = trawl("merge", self.out, "-o", self.tmp / "again.json")
        self.assertExit(again, 1)
        self.assertOneLine(again, "merged trace")
        self.assertFalse((self.tmp / "again.json").exists())

    def test_dlrm(self):
        job = shared("traces_odd/dlrm_8rank_v100")
        inputs = {int(re.search(r"worker(\d)", p.name)[1]): p for p in job.glob("*.json")}
        for keep in ("gpu", "all"):
            merged = self.merge(job, "--keep", keep)
            self.assertEqual(len(inputs), 8)
            self.assertEqual(differences(merged, inputs, keep), [])

    def test_two_ranks_of_hta(self):
        job = shared("traces_odd/hta_sampled_2rank")
        inputs = {r: job / f"rank-{r}.json.gz" for r in (0, 1)}
        merged = self.merge(job, "--keep", "all", codes=(3,))  # 126 others of its job
        self.assertRegex(self.result.err, r"missing ranks 2-127 \(of 128\)")
        self.assertEqual(differences(merged, inputs, "all"), [])
        self.merge(job, "-n", "2")

    def test_sweep_traces(self):
        for case in sorted(shared("cases/sweep").glob("merge_*")):
            with self.subTest(case=case.name):
                job = case / "in/torch_profiler"
                self.merge(job, codes=(0, 3))
                ranks = {a["rank"]: a for a in load(self.out)["ranks"]}
                if case.name == "merge_missing_corrupt":
                    # The cut trace is kept as far as it goes, unlike in the original.
                    self.assertEqual(sorted(ranks), [0, 2, 3])
                    self.assertRegex(self.result.err, r"rank3/trace_step19.json: lost")
                    self.assertRegex(self.result.err, r"missing ranks? .*1")
                    continue
                inputs = {r: next((job / f"rank{r}").iterdir()) for r in ranks}
                base = {r: load(self.out)["ranks"][r]["shift_us"] for r in ranks}
                self.assertEqual(differences(load(self.out), inputs, shifts=base), [])

    def test_odd_traces(self):
        """Whatever comes out of odd input is a good trace; nothing else comes out."""
        traces = sorted(p for p in [*shared("traces_odd").glob("*.json*"),
                                    *shared("cases/kineto").glob("*/*")] if p.is_file()
                        and re.search(r"\.(json|gz|zst)$", p.name) and p.name != "expect.json")
        self.assertGreater(len(traces), 80)
        written = 0
        for path in traces:
            with self.subTest(path=path.name):
                self.out.unlink(missing_ok=True)
                written += self.merge(path, "--keep", "all", codes=(0, 1, 3)) is not None
                self.out.unlink(missing_ok=True)
                self.merge(path, codes=(0, 1, 3))
        self.assertGreater(written, 60)

    def test_compat(self):
        for case in sorted(shared("cases/sweep").glob("merge_*")):
            with self.subTest(case=case.name):
                self.compare_compat(case)

    def compare_compat(self, case):
        work = self.tmp / case.name
        (work / "out").mkdir(parents=True)
        (work / "in").symlink_to(case / "in")
        said, codes = "", []
        for line in (case / "cmd.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            result = trawl("merge", "--compat", *shlex.split(line)[2:], cwd=work)
            self.assertAlive(result)
            said += result.out
            codes.append(result.rc)
            if result.rc:
                self.assertEqual(len(result.err.splitlines()), 1, str(result))
        self.assertEqual(said, (case / "out/stdout.txt").read_text())
        self.assertEqual(codes[-1], int((case / "out/rc.txt").read_text()))
        written = {p.name for p in (work / "out").iterdir()}
        self.assertEqual(written, {p.name for p in (case / "out").glob("*.json")})
        for name in written:
            got = json.loads((work / "out" / name).read_text())
            want = json.loads((case / "out" / name).read_text())
            self.assertEqual(list(got), list(want))
            for mine, other in zip(got["traceEvents"], want["traceEvents"]):
                self.assertEqual(list(mine.items()), list(other.items()))
            self.assertEqual(len(got["traceEvents"]), len(want["traceEvents"]))

    def test_exports(self):
        make = ROOT / "tests/gen/nsys_export.py"
        path = self.tmp / "export.sqlite"
        done = subprocess.run([sys.executable, make, "--help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([sys.executable, make, "--ranks", "2", "-o", path], check=True,
                       capture_output=True)
        merged = self.merge(path, "--keep", "all")
        gpus = {e["pid"] for e in merged["traceEvents"] if e.get("cat") == "kernel"}
        self.assertGreater(len(gpus), 0)
        self.assertEqual({p // 1000 for p in gpus}, {0, 1})


class Places(Merge):
    def slices(self, merged):
        return {e["name"][5:]: e for e in merged["traceEvents"] if e["ph"] == "X"}

    def test_lanes(self):
        # On stream 7: a [0, 100), b [50, 150) partly over a, c [60, 70) in both, d [100, 200)
        # behind a and partly over b; on the host two calls that partly overlap.
        events = [launch(0, 20, 1), launch(10, 20, 2),
                  kernel("a", 0, 100, 1), kernel("b", 50, 100, 2), kernel("c", 60, 10, 3),
                  kernel("d", 100, 100, 4),
                  arrow("s", 2, 31, 32, 10), arrow("f", 2, 0, 7, 50)]
        merged = self.merge(self.write_ranks(events))
        by = self.slices(merged)
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in merged["traceEvents"]
                 if e["name"] == "thread_name"}
        order = {(e["pid"], e["tid"]): e["args"]["sort_index"] for e in merged["traceEvents"]
                 if e["name"] == "thread_sort_index"}
        self.assertEqual({n: by[n]["tid"] for n in "acd"}, {"a": 7, "c": 7, "d": 7})
        lane = by["b"]["tid"]
        self.assertNotEqual(lane, 7)
        self.assertEqual([names[0, 7], names[0, lane]], ["stream 7", "stream 7 (lane 2)"])
        self.assertEqual(order[0, lane], order[0, 7] + 1)
        start, = [e for e in merged["traceEvents"] if e["ph"] == "s"]
        finish, = [e for e in merged["traceEvents"] if e["ph"] == "f"]
        self.assertEqual((finish["tid"], finish["ts"]), (lane, 50))
        calls = [e for e in merged["traceEvents"] if e.get("cat") == "cuda_runtime"]
        self.assertEqual([c["tid"] == 32 for c in calls], [True, False])
        self.assertEqual(start["tid"], calls[1]["tid"])
        row, = self.rows(trawl("merge", self.tmp / "job", "-o", self.out, "--format", "json").out)
        self.assertEqual((row["moved slices"], row["flows"], row["gpu slices"],
                          row["host slices"]), (2, 1, 4, 2))

    def test_many_lanes(self):
        # Each partly overlaps all before it.
        events = [kernel(f"k{i}", i, 1000, i + 1) for i in range(200)]
        events += [kernel(f"l{i}", 2000 + i, 1000, 300 + i) for i in range(200)]
        merged = self.merge(self.write_ranks(events))
        self.assertEqual(len(slices_of(merged["traceEvents"])), 200)

    def test_three_hundred_categories(self):
        events = [op(f"e{i}", i, 1, cat=f"category {i}") for i in range(300)]
        merged = self.merge(self.write_ranks([*events, kernel("k", 400, 5)]), "--keep", "all")
        by = self.slices(merged)
        self.assertEqual([by[f"e{i}"]["cat"] for i in range(300)],
                         [f"category {i}" for i in range(300)])
        self.assertEqual(by["k"]["cat"], "kernel")

    def test_gpu_work_by_category(self):
        # A process of the host with the number of a GPU, its thread with that of a stream.
        events = [launch(0, 5, 1, pid=0, tid=7), op("aten::mm", 0, 9, pid=0, tid=7),
                  kernel("k", 10, 5, 1), arrow("s", 1, 0, 7, 0), arrow("f", 1, 0, 7, 10),
                  event("X", "gpu_user_annotation", "step", 0, 7, 10, 6)]
        merged = self.merge(self.write_ranks(events, events), "--keep", "all", codes=(0,))
        by = self.slices(merged)
        self.assertEqual([by[n]["pid"] for n in ("k", "step", "cudaLaunchKernel", "aten::mm")],
                         [1000, 1000, 1500, 1500])
        self.assertEqual({by["k"]["tid"], by["step"]["tid"]}, {7})
        ends = {e["ph"]: e["pid"] for e in merged["traceEvents"] if e["ph"] in "sf"}
        self.assertEqual(ends, {"s": 1500, "f": 1000})

    def test_several_gpus_and_processes(self):
        events = [launch(0, 5, 1, pid=10), launch(0, 5, 2, pid=20),
                  kernel("a", 10, 5, 1, device=3), kernel("b", 10, 5, 2, device=12)]
        merged = self.merge(self.write_ranks([], events, []) / "rank1.json")
        by = self.slices(merged)
        self.assertEqual([by["a"]["pid"], by["b"]["pid"]], [1000, 1001])
        names = {e["pid"]: e["args"]["name"] for e in merged["traceEvents"]
                 if e["name"] == "process_name"}
        self.assertEqual(names, {1000: "Rank 1 - GPU Stream (device 3)",
                                 1001: "Rank 1 - GPU Stream (device 12)",
                                 1500: "Rank 1 - CPU/CUDA Runtime (process 10)",
                                 1501: "Rank 1 - CPU/CUDA Runtime (process 20)"})

    def test_too_many_processes(self):
        events = [launch(i, 1, i + 1, pid=1000 + i) for i in range(501)]
        self.merge(self.write_ranks(events, [kernel("k", 1, 1)]), codes=(3,))
        self.assertRegex(self.result.err, "rank0.json: skipped: more than 500 processes")

    def test_one_launch_of_several_kernels(self):
        # As of a graph: an arrow to each, and one whose start is not there.
        events = [launch(0, 5, 9), kernel("a", 10, 5, 9), kernel("b", 20, 5, 9),
                  kernel("c", 30, 5, 9), kernel("d", 40, 5, 8),
                  arrow("s", 9, 31, 32, 0), arrow("f", 9, 0, 7, 10), arrow("f", 9, 0, 7, 20),
                  arrow("f", 9, 0, 7, 30), arrow("f", 8, 0, 7, 40), arrow("s", 7, 31, 32, 0)]
        merged = self.merge(self.write_ranks(events))
        starts = [e for e in merged["traceEvents"] if e["ph"] == "s"]
        self.assertEqual({(e["tid"], e["ts"]) for e in starts}, {(32, 0)})
        self.assertEqual(len(starts), 3)
        self.assertIn(9, [e["id"] for e in starts])
        row, = self.rows(trawl("merge", self.tmp / "job", "-o", self.out, "--format", "json").out)
        self.assertEqual((row["flows"], row["flow ends left out"]), (3, 2))

    def test_arrows_between_operations(self):
        events = [op("forward", 0, 10), op("backward", 20, 10, tid=40),
                  event("X", "user_annotation", "step", 31, 32, 0, 100),
                  arrow("s", 5, 31, 32, 0, "fwdbwd"), arrow("f", 5, 31, 40, 20, "fwdbwd"),
                  kernel("k", 1, 1)]
        job = self.write_ranks(events)
        merged = self.merge(job)
        self.assertEqual([e for e in merged["traceEvents"] if e["ph"] in "sf"], [])
        merged = self.merge(job, "--keep", "all")
        self.assertEqual([e["tid"] for e in merged["traceEvents"] if e["ph"] in "sf"], [32, 40])


class Values(Merge):
    def test_odd_texts(self):
        names = ["plain", 'quote " and \\ backslash', "tab\t\nline \x01 \x7f", "Grüße 你好 🚀",
                 "\u202eturned", "/slash/", ""]
        events = [kernel(n, 10 * i, 5, i + 1, note=n, **{n or "empty": 1})
                  for i, n in enumerate(names)]
        merged = self.merge(self.write_ranks(events))
        got = [e for e in merged["traceEvents"] if e["ph"] == "X"]
        self.assertEqual([e["name"] for e in got], ["[R0] " + n for n in names])
        self.assertEqual([e["args"]["note"] for e in got], names)
        for e, n in zip(got, names):
            self.assertEqual(e["args"][n or "empty"], 1)

    def test_texts_longer_than_a_page(self):
        """Lines are gathered in pages of 1 MiB; what is longer has one of its own."""
        text = "x" * (3 << 20)
        merged = self.merge(self.write_ranks([kernel("k", 1, 2, 1, note=text)]))
        self.assertEqual([e["args"]["note"] for e in merged["traceEvents"] if e["ph"] == "X"], [text])

    def test_broken_texts(self):
        text = document([kernel("MARK", 1, 2, 1, a="x", b=[1])])
        for old, new, want in (("MARK", "\\ud800", "\ufffd"), ("MARK", "a\x01b", "a\x01b"),
                               ("MARK", "\\q", "\\q")):
            merged = self.merge(self.write_ranks(text.replace(old, new)))
            e, = [e for e in merged["traceEvents"] if e["ph"] == "X"]
            self.assertEqual(e["name"], f"[R0] {want}")
        (self.tmp / "job/rank0.json").write_bytes(text.encode().replace(b"MARK", b"a\xff\xfeb"))
        e, = [e for e in self.merge(self.tmp / "job")["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(e["name"], "[R0] a\ufffd\ufffdb")
        for value, want in (("NaN", None), ("[1, NaN]", "[1, NaN]"), ("[1, ...]", "[1, ...]"),
                            ('{"k": [01]}', '{"k": [01]}'), ("None", None), ("1e999", "1e999"),
                            ("123456789012345678901234567890", 123456789012345678901234567890),
                            ('["\\ud800"]', ["\ufffd"]), ("1e3", 1000), ("-0.5", -0.5)):
            with self.subTest(value=value):
                merged = self.merge(self.write_ranks(text.replace("[1]", value)))
                e, = [e for e in merged["traceEvents"] if e["ph"] == "X"]
                self.assertEqual(e["args"]["b"], want)

    def test_times(self):
        times = ["0", "0.001", "12.5", "1767225600000000.123", "3712845219530.94", "7.100"]
        events = [f'{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": {i}, "ts": {t}, '
                  f'"dur": 0.25}}' for i, t in enumerate(times)]
        merged = self.merge(self.write_ranks(events))
        got = {e["tid"]: Decimal(e["ts"]) for e in merged["traceEvents"] if e["ph"] == "X"}
        self.assertEqual(got, {i: Decimal(t) for i, t in enumerate(times)})

    def test_ids(self):
        big = 2 ** 63 + 11
        events = [launch(0, 5, 1), kernel("a", 10, 5, big), launch(20, 5, big),
                  arrow("s", big, 31, 32, 20), arrow("f", big, 0, 7, 10),
                  kernel("b", 30, 5, "text id"), arrow("s", "text id", 31, 32, 20),
                  arrow("f", "text id", 0, 7, 30), kernel("c", 40, 5, 0), kernel("d", 50, 5, -1)]
        merged = self.merge(self.write_ranks([kernel("k", 1, 1)], events))
        by = {e["name"]: e for e in merged["traceEvents"] if e["ph"] == "X"}
        arrows = {e["ts"]: e["id"] for e in merged["traceEvents"] if e["ph"] == "f"}
        self.assertEqual(by["[R1] a"]["args"]["correlation"], arrows[10])
        self.assertEqual(by["[R1] b"]["args"]["correlation"], arrows[30])
        self.assertEqual(len({IDS + 1, *arrows.values()}), 3)
        for name in "cd":
            self.assertNotIn("correlation", by[f"[R1] {name}"]["args"])

    def test_an_arrow_may_have_id_0(self):
        merged = self.merge(self.write_ranks([launch(0, 5, 1), kernel("a", 10, 5, 1),
                                              arrow("s", 0, 31, 32, 0), arrow("f", 0, 0, 7, 10)]))
        self.assertEqual([e["ph"] for e in merged["traceEvents"] if e["ph"] in "sf"], ["s", "f"])

    def test_odd_threads(self):
        events = [op("a", 1, 1, tid="MainThread", cat="user_annotation"),
                  op("b", 1, 1, tid=-1610614784, cat="user_annotation"),
                  op("c", 1, 1, tid=140735340750656, cat="user_annotation"),
                  op("d", 1, 1, tid=1000000000, cat="user_annotation"),
                  op("e", 1, 1, tid="1000000000", cat="user_annotation"),
                  event("X", "kernel", "k", 0, "stream 9", 1, 1)]
        merged = self.merge(self.write_ranks(events))
        by = {e["name"][5:]: e for e in merged["traceEvents"] if e["ph"] == "X"}
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in merged["traceEvents"]
                 if e["name"] == "thread_name"}
        self.assertEqual(names[500, by["a"]["tid"]], "MainThread")
        self.assertEqual(by["b"]["tid"], -1610614784)
        self.assertEqual(by["d"]["tid"], 1000000000)
        self.assertEqual(names[500, by["c"]["tid"]], "140735340750656")
        self.assertEqual((by["k"]["tid"], names[0, 9]), (9, "stream 9"))
        self.assertEqual(len({by[n]["tid"] for n in "abcd"}), 4)

    def test_other_phases(self):
        events = [kernel("k", 1, 5), event("i", None, "mark", 31, 32, 2, ABSENT, {"x": 1}, s="g"),
                  event("C", None, "memory", 31, 32, 3, ABSENT, {"bytes": 7}),
                  event("b", "span", "wait", 31, 32, 4, ABSENT, id=5),
                  event("e", "span", "wait", 31, 32, 6, ABSENT, id=5),
                  event("B", "user_annotation", "open", 31, 32, 7, ABSENT),
                  event("E", "user_annotation", "open", 31, 32, 9, ABSENT),
                  event("X", "user_annotation", "no time", 31, 32, ABSENT, ABSENT)]
        merged = self.merge(self.write_ranks([kernel("k", 1, 1)], events), "--keep", "all")
        by = {(e["ph"], e["name"][5:]): e for e in merged["traceEvents"]
              if e["ph"] != "M" and e["pid"] >= 1000}
        self.assertEqual(sorted(by), [("C", "memory"), ("X", "k"), ("X", "open"), ("b", "wait"),
                                      ("e", "wait"), ("i", "mark")])
        self.assertEqual(by["C", "memory"]["args"], {"bytes": 7})
        self.assertEqual(by["X", "open"]["dur"], 2)
        self.assertEqual(by["b", "wait"]["id"], by["e", "wait"]["id"])
        self.assertGreaterEqual(by["b", "wait"]["id"], IDS)
        self.assertEqual(by["i", "mark"]["args"], {"x": 1, "rank": 1})

    def test_keys_twice(self):
        text = document([kernel("k", 1, 2, 1, MARK=1)])
        merged = self.merge(self.write_ranks(text.replace('"MARK": 1', '"x": 1, "x": 2, "rank": 9')))
        e, = [e for e in merged["traceEvents"] if e["ph"] == "X"]
        self.assertEqual((e["args"]["x"], e["args"]["rank"]), (2, 0))


class Times(Merge):
    BASE = 1767225600000000000

    def test_many_arguments(self):
        """As many as there are keys: each is looked at once."""
        many = {f"k{i}": i for i in range(20000 if SANITIZED else 100000)}
        ranks = self.write_ranks([event("C", "cpu_instant_event", "c", 1, 1, 2, ABSENT, many),
                                  kernel("k", 1, 2, **many)])
        start = time.monotonic()
        merged = self.merge(ranks)
        self.assertLess(time.monotonic() - start, 20)
        for e in merged["traceEvents"]:
            if e["ph"] in "CX":
                self.assertEqual({k: v for k, v in e["args"].items() if k in many}, many)

    def test_base_times(self):
        job = self.tmp / "job"
        job.mkdir()
        for rank, base in enumerate((self.BASE + 2500, self.BASE, self.BASE + 7)):
            (job / f"rank{rank}.json").write_text(
                document([kernel("k", "100.5", 2)], baseTimeNanoseconds=base))
        merged = self.merge(job)
        got = {e["pid"] // 1000: Decimal(e["ts"]) for e in merged["traceEvents"] if e["ph"] == "X"}
        self.assertEqual(got, {0: Decimal("103"), 1: Decimal("100.5"), 2: Decimal("100.507")})
        self.assertEqual(merged["baseTimeNanoseconds"], self.BASE)
        merged = self.merge(job, "--align", "none")
        self.assertEqual({Decimal(e["ts"]) for e in merged["traceEvents"] if e["ph"] == "X"},
                         {Decimal("100.5")})
        # Without that of one rank nothing is known.
        (job / "rank1.json").write_text(document([kernel("k", "100.5", 2)]))
        merged = self.merge(job)
        self.assertNotIn("baseTimeNanoseconds", merged)
        self.assertEqual({a["shift_us"] for a in merged["ranks"]}, {0})

    def test_facts_behind_the_events(self):
        job = self.tmp / "job"
        job.mkdir()
        for name, rank in (("b", 1), ("a", 2)):
            text = document([kernel(f"k{rank}", 5, 2)] * 3)[:-2]
            (job / f"{name}.json").write_text(
                text + f', "baseTimeNanoseconds": {self.BASE + rank}, '
                       f'"distributedInfo": {{"rank": {rank}, "world_size": 3}}}}\n')
        merged = self.merge(job, codes=(3,))
        self.assertRegex(self.result.err, r"missing rank 0 \(of 3\)")
        got = {e["name"]: (e["pid"], Decimal(e["ts"])) for e in merged["traceEvents"]
               if e["ph"] == "X"}
        self.assertEqual(got, {"[R1] k1": (1000, 5), "[R2] k2": (2000, Decimal("5.001"))})


class Sets(Merge):
    def one(self, name, rank=None, world=4, **more):
        path = self.tmp / "job" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if rank is not None:
            more["distributedInfo"] = {"rank": rank, "world_size": world}
        path.write_text(document([kernel(f"k of {name}", 1, 2, 1)], **more))
        return path

    def ranks(self, merged):
        return {a["rank"]: a["file"] for a in merged["ranks"]}

    def names(self, merged):
        return {e["name"] for e in merged["traceEvents"] if e["ph"] == "X"}

    def test_trace_names(self):
        for rank in (0, 1, 10):
            self.one(f"rank{rank}/trace_step19.json")
            self.one(f"rank{rank}/other.json")
            self.one(f"rank{rank}/deep/trace_step19.json")
        merged = self.merge(self.tmp / "job")
        self.assertEqual(self.names(merged), {f"[R{r}] k of rank{r}/trace_step19.json"
                                              for r in (0, 1, 10)})
        merged = self.merge(self.tmp / "job", "--trace-name", "other.json")
        self.assertEqual(self.names(merged), {f"[R{r}] k of rank{r}/other.json"
                                              for r in (0, 1, 10)})
        self.merge(self.tmp / "job", "--trace-name", "none.json", codes=(1,),
                   out=self.tmp / "no.json")
        self.assertOneLine(self.result, "no trace 'none.json'")
        merged = self.merge(self.tmp / "job", "-n", "2")
        self.assertEqual(sorted(self.ranks(merged)), [0, 1])
        merged = self.merge(self.tmp / "job", "-n", "3", codes=(3,))
        self.assertRegex(self.result.err, r"missing rank 2 \(of 3\)")

    def test_moved_traces_are_found(self):
        for rank in (0, 1):
            self.one(f"rank{rank}/trace/pt.trace.json")
            (self.tmp / f"job/rank{rank}/config.json").write_text('{"a": [1, 2]}')
        self.assertEqual(sorted(self.ranks(self.merge(self.tmp / "job"))), [0, 1])

    def test_left_out(self):
        self.one("rank0.json", 0)
        self.one("rank1.json", 1)
        self.one("rank1_again.json", 1)
        self.one("rank3.json", 2)
        (self.tmp / "job/rank5.json").write_text("{")
        merged = self.merge(self.tmp / "job", codes=(3,))
        self.assertEqual(self.ranks(merged), {0: "rank0.json", 1: "rank1.json", 2: "rank3.json"})
        self.assertRegex(self.result.err, r"rank1_again.json: skipped: rank 1 is already read from")
        self.assertRegex(self.result.err, r"rank3.json: rank 3 in the file name, 2 in the trace")
        self.assertRegex(self.result.err, r"missing rank 3 \(of 4\)")
        strict = trawl("merge", self.tmp / "job", "-o", self.tmp / "strict.json", "--strict")
        self.assertExit(strict, 1)
        self.assertFalse((self.tmp / "strict.json").exists())

    def test_what_events_hold_is_no_field_of_the_trace(self):
        self.one("rank0.json", baseTimeNanoseconds=1767225600000000000)
        path = self.tmp / "job/rank3.json"
        # Behind the events, with a list and a bracket in a string; in events and beside them.
        path.write_text('{"note": "]\\"}", "traceEvents": [' + json.dumps(
            kernel("k", 1, 2, 1, distributedInfo={"rank": 7, "world_size": 9},
                   baseTimeNanoseconds=5)) +
            '], "other": {"distributedInfo": {"rank": 8, "world_size": 9}}, "list": [1, [2]],'
            ' "baseTimeNanoseconds": 1767225600000002000}')
        merged = self.merge(self.tmp / "job")
        self.assertEqual(self.ranks(merged), {0: "rank0.json", 3: "rank3.json"})
        self.assertEqual([a["shift_us"] for a in merged["ranks"]], [0, 2])

    def test_unreadable_trace(self):
        self.one("rank0.json")
        path = self.tmp / "job/rank1.json.gz"
        path.write_bytes(gzip.compress(document([kernel("k", 1, 2)] * 9000).encode())[:500])
        self.merge(self.tmp / "job", codes=(3,))
        self.assertRegex(self.result.err, "rank1.json.gz: lost compressed_truncated")
        path.write_bytes(b"\x1f\x8b\x08\x00garbage that is no gzip at all")
        self.merge(path, self.tmp / "job/rank0.json", codes=(3,))
        self.assertRegex(self.result.err, "rank1.json.gz: skipped: ")

    def test_trace_without_events(self):
        self.one("rank0.json", 0, 3)
        for text in ('{"traceEvents": [', '{"traceEvents": []}'):
            (self.tmp / "job/rank1.json").write_text(text)
            self.merge(self.tmp / "job", codes=(3,))
            self.assertRegex(self.result.err, "rank1.json: skipped: no events")

    def test_lists_that_are_no_traces(self):
        self.one("rank0.json", 0, 1)
        for text in ('[{"loss": 1}]', "[1, 2]", "[]"):
            (self.tmp / "job/metrics.json").write_text(text)
            merged = self.merge(self.tmp / "job")
            self.assertEqual(self.ranks(merged), {0: "rank0.json"})

    def test_surest_trace_of_a_rank_stays(self):
        self.one("a.json")
        self.one("rank0.json")
        merged = self.merge(self.tmp / "job", codes=(3,))
        self.assertEqual(self.ranks(merged), {0: "rank0.json"})
        self.assertRegex(self.result.err, "a.json: skipped: rank 0 is already read from .*rank0.json")
        self.one("z.json", 0)
        merged = self.merge(self.tmp / "job", codes=(3,))
        self.assertEqual(self.ranks(merged), {0: "z.json"})

    def test_nothing(self):
        (self.tmp / "empty").mkdir()
        (self.tmp / "empty/notes.json").write_text('{"x": 1}')
        for args in ((self.tmp / "empty",), (self.tmp / "absent",),
                     (self.write("{}", "plain.json"),)):
            self.merge(*args, codes=(1,))
            self.assertOneLine(self.result)

    def test_results_are_no_input(self):
        self.one("rank0.json")
        self.one("rank1.json")
        out = self.tmp / "job/merged.json"
        self.merge(self.tmp / "job", out=out)
        first = out.read_bytes()
        self.merge(self.tmp / "job", out=out)
        self.assertEqual(out.read_bytes(), first)
        result = trawl("merge", self.tmp / "job/rank0.json", "-o", self.tmp / "job/rank0.json")
        self.assertExit(result, 2)
        self.assertOneLine(result, "is one of the traces")
        # Also one that was found in a directory, or by --compat.
        before = (self.tmp / "job/rank1.json").read_bytes()
        result = trawl("merge", self.tmp / "job", "-o", self.tmp / "job/rank1.json")
        self.assertExit(result, 2)
        (self.tmp / "one/rank0").mkdir(parents=True)
        trace = self.tmp / "one/rank0/trace_step19.json"
        trace.write_bytes(before)
        result = trawl("merge", "--compat", self.tmp / "one", "-o", trace)
        self.assertExit(result, 2)
        self.assertEqual([trace.read_bytes(), (self.tmp / "job/rank1.json").read_bytes()],
                         [before, before])
        # One that was found in a directory is as dear, whoever is asked to leave it out.
        before = (self.tmp / "job/rank1.json").read_bytes()
        for args in ((), ("-n", "1")):
            result = trawl("merge", self.tmp / "job", *args, "-o", self.tmp / "job/rank1.json")
            self.assertExit(result, 2)
            self.assertOneLine(result, "is one of the traces")
        self.assertEqual((self.tmp / "job/rank1.json").read_bytes(), before)
        # Merged by the original: no key tells, names of processes do.
        (self.tmp / "in").mkdir()
        for rank in (0, 1):
            (self.tmp / f"in/rank{rank}").mkdir()
            shutil.copy(self.tmp / "job/rank0.json", self.tmp / f"in/rank{rank}/t.json")
        compat = self.tmp / "compat.json"
        self.assertExit(trawl("merge", "--compat", self.tmp / "in", "-o", compat, "--trace-name",
                              "t.json"), 0)
        self.merge(compat, codes=(1,))
        self.assertOneLine(self.result, "merged trace")
        result = trawl("merge", "--compat", self.tmp / "in", "--trace-name", "t.json", "-o",
                       self.tmp / "in/rank1/t.json")
        self.assertExit(result, 2)
        self.assertOneLine(result, "is one of the traces")
        self.assertEqual((self.tmp / "in/rank1/t.json").read_bytes(),
                         (self.tmp / "job/rank0.json").read_bytes())

    def test_output(self):
        self.one("rank0.json")
        job = self.tmp / "job"
        result = trawl("merge", job, cwd=self.tmp)
        self.assertExit(result, 0)
        load(self.tmp / "merged_gpu_trace_enhanced.json")
        self.assertIn("ui.perfetto.dev", result.err)
        self.assertEqual(trawl("merge", job, "-q", "-o", self.out).err, "")
        self.out.write_text("old")
        self.merge(job)
        result = trawl("merge", job, "-o", self.tmp)
        self.assertExit(result, 1)
        self.assertEqual(len(result.err.splitlines()), 1, str(result))
        for args in ((), (job, "-o", "-"), (job, "--keep", "some"), (job, "--align", "x"),
                     (job, "--max-memory", "much"), (job, "-n", "x"), (job, job, "--compat"),
                     (job, "--compat", "--keep", "all"), (job, "--compat", "-o", "x.gz")):
            result = trawl("merge", *args, cwd=self.tmp)
            self.assertExit(result, 2)
            self.assertOneLine(result)

    def test_no_path_of_the_machine(self):
        self.one("rank0.json", traceName="/home/somebody/trace.json")
        self.merge(self.tmp / "job")
        text = self.out.read_text()
        self.assertNotIn(str(self.tmp), text)
        self.assertNotIn("/home/somebody", text)

    def test_facts_are_kept(self):
        self.one("rank0.json", 0, 1, cuda_driver_version=12080, odd="text \u202e", list=[1, {"a": 2}])
        about, = self.merge(self.tmp / "job")["ranks"]
        self.assertEqual(about["cuda_driver_version"], 12080)
        self.assertEqual(about["odd"], "text \u202e")
        self.assertEqual(about["list"], [1, {"a": 2}])
        self.assertEqual(about["deviceProperties"], [{"id": 0, "name": "Test GPU"}])


class Compat(Merge):
    """Errors of the original's JSON reader, in its words: those of the Python that runs this."""

    def test_messages(self):
        job = self.tmp / "job"
        (job / "rank0").mkdir(parents=True)
        path = job / "rank0/t.json"
        for text in ("", "{", "[1", '{"a"', '{"a":', '{"a":1', '{"a":1 "b"', "{a:1}", '{"a":-}',
                     '"x', '{"a": "x\ny"}', '{"a": "\\q"}', '{"a": "\\u12x4"}', "nul", "{} x",
                     "[1 2]", "\n\n {\n \"a\": [1, ?]}", "\ufeff{}", '{"ä": "ö", x}', "[1,]"):
            with self.subTest(text=text):
                path.write_text(text, encoding="utf-8", newline="")
                try:
                    json.loads(text)
                    self.fail("it is JSON")
                except json.JSONDecodeError as e:
                    want = str(e)
                result = trawl("merge", "--compat", job, "-n", "1", "--trace-name", "t.json", "-o",
                               self.tmp / "out.json")
                self.assertExit(result, 0)
                got = re.search(r"Error reading .*?t\.json: (.*)", result.out)[1]
                if sys.version_info >= (3, 13) and "trailing comma" in want:
                    continue
                self.assertEqual(got, want)

    def test_pids_and_tids(self):
        events = [kernel("a", 1, 1, pid_is=0), launch(0, 1, 1, pid="text", tid="0"),
                  launch(0, 1, 2, pid="text", tid=0), op("dropped", 0, 1),
                  event("X", "kernel", "no pid", ABSENT, 5, 0, 1),
                  event("X", "cuda_runtime", "no tid", "text", ABSENT, 0, 1),
                  event("i", "ac2g", "lone", 99, 1, 0, ABSENT)]
        job = self.tmp / "job"
        (job / "rank0").mkdir(parents=True)
        (job / "rank0/t.json").write_text(document(events))
        out = self.tmp / "out.json"
        result = trawl("merge", "--compat", job, "-n", "1", "--trace-name", "t.json", "-o", out)
        self.assertExit(result, 0)
        got = [(e["name"], e.get("pid"), e.get("tid")) for e in
               json.loads(out.read_text())["traceEvents"] if e["ph"] != "M"]
        self.assertEqual(got, [("[R0] a", 0, 0), ("[R0] cudaLaunchKernel", 500, 0),
                               ("[R0] cudaLaunchKernel", 500, 1), ("[R0] no pid", None, 5),
                               ("[R0] no tid", 500, 1)])


if __name__ == "__main__":
    unittest.main()
