"""Real traces against the tables that another program made of them, and against an independent
exact recomputation of span, idle time and kernel durations.

A cell may differ, or a row be missing or added, where tests/reference/<trace>.tsv allows it with a
reason; docs/DEVIATIONS.md says each in words. tests/reference/recomputed.py works out from the trace
what must stand there instead. An allowance that nothing needs is an error.
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
import recomputed
from support import FULL, ROOT, SHARED, Case, load_module, report

TRACES = SHARED / "traces"
ODD = SHARED / "traces_odd"
TOOL = SHARED / "tools/compare_reference.py"
ALLOWED = pathlib.Path(__file__).resolve().parent
SHEETS = ("gpu_timeline,kernel_summary,ops_summary,ops_summary_by_category,ops_unique_args,"
          "short_kernels_summary,short_kernel_histogram,coll_analysis")
MODEL_SHEETS = ("unified_perf_summary,GEMM,SDPA_fwd,CONV_fwd,CONV_bwd,BinaryElementwise,"
                "UnaryElementwise,Normalization,Reduce_fwd,Reduce_bwd")
UNLINKED_SHEETS = "gpu_timeline,kernel_summary,short_kernels_summary,short_kernel_histogram"
# Compressed bytes above which Python needs more than a few seconds for a trace.
SLOW = 2 << 20
# Compressed bytes above which the allowances of a trace are worked out in the full run only.
RECOMPUTED = 8 << 20
# Share of cells that may differ from the reference's, all of them worked out.
MOST_ALLOWED = 0.095


class Reference(Case):
    reports = {}

    def of(self, trace, *options):
        """A report of a given trace, made once for all tests of this module."""
        key = (trace, options)
        if key not in Reference.reports:
            directory = pathlib.Path(Reference.place) / re.sub(r"\W+", "_", "_".join(
                (str(trace.relative_to(SHARED)), *options)))
            rep = report(trace, directory, *options, timeout=120)
            self.assertAlive(rep)
            Reference.reports[key] = rep
        return Reference.reports[key]

    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.temporary = tempfile.TemporaryDirectory(prefix="trawl-reference-")
        Reference.place = cls.temporary.name

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def compare(self, reference, csvs, sheets):
        done = subprocess.run([sys.executable, str(TOOL), str(reference), str(csvs), "--sheets", sheets],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, "\n".join(
            x for x in done.stdout.splitlines() if not x.endswith(" ok")) + done.stderr)

    made = {}

    def corrected(self, directory):
        """(reference directory with what is worked out in it, report, sheets), one to three, the
        allowances, and what is wrong; made once."""
        if directory not in Reference.made:
            if (directory / "trace.json.gz").stat().st_size > RECOMPUTED and not FULL:
                self.skipTest("a large trace: its tables are worked out again in the full run only")
            rules = recomputed.Rules(ALLOWED / f"{directory.name}.tsv")
            place = pathlib.Path(Reference.place) / f"corrected_{directory.name}"
            tool, out, wrong, changed = load_module(TOOL), [], [], 0
            truth = recomputed.Truth(directory / "trace.json.gz") if rules.lines else None
            for reference, rep, sheets in self.comparisons(directory):
                right = place / reference.name if truth else reference
                if truth:
                    right.mkdir(parents=True)
                    again = recomputed.Corrected(tool, truth, rules, reference, rep.csvs, right)
                    for sheet in sheets.split(","):
                        again.write(sheet)
                    wrong, changed = wrong + again.wrong, changed + again.changed
                out.append((right, rep, sheets))
            Reference.made[directory] = out, rules, wrong, changed
        return Reference.made[directory]

    def comparisons(self, directory):
        """(reference directory, report, sheets) of a trace: one to three."""
        trace = directory / "trace.json.gz"
        linked = self.of(trace, "--linked-only")
        yield directory / "reference_csvs", linked, f"{SHEETS},{MODEL_SHEETS}"
        platform = directory / "reference_csvs_platform_mi300x"
        if platform.exists():
            yield (platform, self.of(trace, "--linked-only", "--platform", "MI300X"),
                   MODEL_SHEETS)
        whole = directory / "reference_csvs_include_unlinked"
        if whole.exists():
            yield whole, self.of(trace), UNLINKED_SHEETS

    def tables(self, directory):
        made, _, wrong, _ = self.corrected(directory)
        self.assertEqual(wrong, [])
        for reference, rep, sheets in made:
            with self.subTest(reference.name):
                self.assertExit(rep, 0, 3)
                self.assertOutputsSane(rep)
                self.compare(reference, rep.csvs, sheets)

    def allowances(self, directory):
        """Each is needed."""
        self.assertEqual(self.corrected(directory)[1].unused(), [],
                         f"{directory.name}.tsv: allowances that nothing needs")

    def micro_idle(self, directory, reference, threshold):
        rep = self.of(directory / "trace.json.gz", "--linked-only", "--micro-idle-us", threshold)
        place = self.tmp / "reference"
        place.mkdir()
        (place / "gpu_timeline.csv").write_bytes(reference.read_bytes())
        self.compare(place, rep.csvs, "gpu_timeline")

    def exact_times(self, directory):
        """To the nanosecond: span, idle, and each kernel's count, sum, least and greatest."""
        truth = json.loads((directory / "idle_and_overlap_ns.json").read_text())
        rep = self.of(directory / "trace.json.gz")
        f = rep.figures()
        self.assertEqual([f["total"] * 1000, f["idle"] * 1000, f["busy"] * 1000],
                         [truth["kernel_time_ns"], truth["idle_ns"],
                          truth["kernel_time_ns"] - truth["idle_ns"]])
        self.assertReconciles(rep)
        # Its list holds copies and fills too, told by name; kernel_summary has kernels alone.
        want = {k["name"]: (k["count"], k["sum_ns"], k["min_ns"], k["max_ns"])
                for k in truth["kernels"] if not re.match(r"Mem(cpy|set) ", k["name"])}
        got = {n: (c, *(int(t * 1000) for t in times)) for n, (c, *times) in rep.kernels().items()}
        self.assertEqual({n: v for n, v in got.items() if want.get(n) != v},
                         {n: v for n, v in want.items() if got.get(n) != v})
        rows = rep.table("streams")
        others = sum(k["count"] for k in truth["kernels"] if k["name"] not in want)
        copied = sum(k["count"] for k in truth["kernels"] if k["name"].startswith("Memcpy "))
        self.assertEqual(sum(int(r["copies"]) for r in rows), copied)
        self.assertEqual(sum(int(r["kernels"]) for r in rows), truth["gpu_events"] - others)

    def by_oracle(self, trace, rep, linked):
        """Timelines, kernels, streams and operations again, by the slow reader of
        tests/property: what an allowance lets differ from the reference is still exact."""
        if trace.stat().st_size > SLOW and trace.suffix == ".gz" and not FULL:
            self.skipTest("a large trace: read by the slow reader in the full run only")
        slow = oracle.Trace(trace)
        gpu, launched = slow.gpu, [g for g in slow.gpu if g.launch]
        self.assertEqual({k: int(v * 1000) for k, v in rep.figures().items()},
                         oracle.timeline(gpu))
        if launched:
            self.assertEqual({k: int(v * 1000) for k, v in linked.figures().items()},
                             oracle.timeline(launched), "--linked-only")
        want = {n: (c, d) for n, (c, d) in oracle.direct(slow).items()}
        got_ops = {n: (c, int(d * 1000)) for n, (c, d, _) in rep.ops().items()}
        self.assertEqual({n: v for n, v in got_ops.items() if want.get(n) != v},
                         {n: v for n, v in want.items() if got_ops.get(n) != v})
        got = {n: (c, *(int(t * 1000) for t in times)) for n, (c, *times) in rep.kernels().items()}
        self.assertEqual(got, oracle.kernel_sums(gpu))
        self.assertEqual({(r["device"], r["stream"]): (int(r["kernels"]), int(r["copies"]))
                          for r in rep.table("streams")},
                         {k: v[:2] for k, v in oracle.streams(gpu).items()})

    def odd(self, path, gpu):
        rep = self.of(path)
        self.assertExit(rep, 0, 3)
        self.assertOutputsSane(rep)
        rows = rep.quality()
        lost = [r for r in rows if r["class"] == "lost"]
        self.assertEqual(bool(lost), rep.rc == 3, f"lost rows and exit {rep.rc} disagree: {lost}")
        for r in rows:
            self.assertRegex(r["meaning"], r"\w+ \w+", "a meaning for people")
            self.assertLess(int(r["count"]), 10**7)
        self.assertEqual(rep.has("gpu_timeline"), gpu)
        if gpu:
            self.assertTimelineCloses(rep)
            self.assertReconciles(rep)
            self.assertPercents(rep)
        else:
            self.assertRegex(rep.out + rep.err, "no GPU events")
            self.assertTrue(rep.table("cpu_ops"))

    def test_given_traces_are_there(self):
        for place in (TRACES, ODD, TOOL):
            if not place.exists():
                self.skipTest(f"given material absent: {place.relative_to(SHARED)} (TRAWL_SHARED); "
                              "no real trace was compared")

    def test_allowances_cover_few_cells(self):
        """Cells that differ from the reference's, each worked out and compared; an added row counts with all its
        cells."""
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED)")
        tool, whole, changed = load_module(TOOL), 0, 0
        for directory in sorted(p for p in TRACES.iterdir() if p.is_dir()):
            made, _, _, count = self.corrected(directory)
            changed += count
            for reference, _, sheets in made:
                for name in sheets.split(","):
                    path = reference / f"{name}.csv"
                    head, rows = tool.read(str(path)) if path.exists() else ([], [])
                    keys = tool.keys_of(name, head)
                    whole += len(rows) * sum(c not in keys and c not in tool.SKIP for c in head)
        self.assertGreater(whole, 30000)
        self.assertLess(changed / whole, MOST_ALLOWED)

    def test_every_allowance_file_has_its_trace(self):
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED)")
        for path in ALLOWED.glob("*.tsv"):
            job = SHARED / "cases/ranks" / path.stem.removeprefix("ranks_")
            self.assertTrue((TRACES / path.stem).is_dir() or job.is_dir(),
                            f"{path.name}: no such trace")

    def test_every_allowance_is_in_the_document(self):
        """docs/DEVIATIONS.md has a section for each reason, and no section without use."""
        reasons = {}
        for path in sorted(ALLOWED.glob("*.tsv")):
            for line in path.read_text().splitlines():
                if line.strip() and not line.startswith("#"):
                    reasons.setdefault(line.split("\t")[3], path.name)
        place = ROOT / "docs/DEVIATIONS.md"
        self.assertTrue(place.exists() or not reasons, "docs/DEVIATIONS.md is missing")
        headings = re.findall(r"^#+ (.*)$", place.read_text(), re.M) if reasons else []
        slugs = {re.sub(r"[^a-z0-9]+", "-", h.lower()).strip("-") for h in headings}
        self.assertEqual({r for r in reasons if r not in slugs}, set(),
                         "reasons that are no heading of docs/DEVIATIONS.md")


def has_gpu(path):
    """By a search for the categories in the text: independent of any reader."""
    import gzip
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return bool(re.search(rb'"cat"\s*:\s*"([Kk]ernel|gpu_mem(cpy|set)|Memcpy|Memset|mtia_ccp_events)"', data))


def add(name, function):
    setattr(Reference, "test_" + re.sub(r"\W+", "_", name), function)


def add_tests():
    if not TRACES.exists() or not TOOL.exists():
        return
    for d in sorted(p for p in TRACES.iterdir() if p.is_dir()):
        add(f"{d.name}_tables", lambda self, d=d: self.tables(d))
        if (ALLOWED / f"{d.name}.tsv").exists():
            add(f"{d.name}_allowances", lambda self, d=d: self.allowances(d))
        if (d / "idle_and_overlap_ns.json").exists():
            add(f"{d.name}_exact_times", lambda self, d=d: self.exact_times(d))
        for ref in d.glob("reference_gpu_timeline_micro_idle_*us.csv"):
            us = re.search(r"(\d+)us", ref.name)[1]
            add(f"{d.name}_micro_idle_{us}",
                lambda self, d=d, r=ref, us=us: self.micro_idle(d, r, us))
        add(f"{d.name}_by_oracle", lambda self, t=d / "trace.json.gz": self.by_oracle(
            t, self.of(t), self.of(t, "--linked-only")))
    for p in sorted(ODD.rglob("*.json*")) if ODD.exists() else []:
        gpu = has_gpu(p)
        add(f"odd_{p.relative_to(ODD)}", lambda self, p=p, g=gpu: self.odd(p, g))
        if gpu:
            add(f"odd_{p.relative_to(ODD)}_by_oracle",
                lambda self, p=p: self.by_oracle(p, self.of(p), self.of(p, "--linked-only")))


add_tests()

if __name__ == "__main__":
    unittest.main()
