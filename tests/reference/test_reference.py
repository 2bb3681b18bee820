"""Real traces against the tables that another program made of them, and against an independent
exact recomputation of span, idle time and kernel durations.

A cell may differ where tests/reference/<trace>.tsv allows it with a reason; docs/DEVIATIONS.md
says each in words. Where tests/reference/recomputed.py works the value out, it is compared with that
one. An allowance that nothing needs is an error.
"""
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oracle
import recomputed
import work_oracle
from support import FULL, ROOT, SHARED, Case, load_module, number, report

TRACES = SHARED / "traces"
ODD = SHARED / "traces_odd"
TOOL = SHARED / "tools/compare_reference.py"
ALLOWED = pathlib.Path(__file__).resolve().parent
SHEETS = ("gpu_timeline,kernel_summary,ops_summary,ops_summary_by_category,ops_unique_args,"
          "short_kernels_summary,short_kernel_histogram,coll_analysis")
MODEL_SHEETS = ("unified_perf_summary,GEMM,SDPA_fwd,CONV_fwd,CONV_bwd,BinaryElementwise,"
                "UnaryElementwise,Normalization,Reduce_fwd,Reduce_bwd")
# Columns that follow from the work of a call.
FIGURES = re.compile(r"(GFLOPS|Data Moved|FLOPS/Byte|Compute Spec|TB/s|TFLOPS/s|Roofline|"
                     r"Pct Roofline|has_perf_model)")
MI300X_TB_PER_S = 5.3
UNLINKED_SHEETS = "gpu_timeline,kernel_summary,short_kernels_summary,short_kernel_histogram"
# Compressed bytes above which Python needs more than a few seconds for a trace.
SLOW = 2 << 20
# Compressed bytes up to which a trace is read again for its allowances; those of a larger one let any value pass.
RECOMPUTED = 8 << 20


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

    def compare(self, reference, csvs, sheets, allow=None):
        command = [sys.executable, str(TOOL), str(reference), str(csvs), "--sheets", sheets]
        if allow:
            command += ["--allow", str(allow)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, "\n".join(
            x for x in done.stdout.splitlines() if not x.endswith(" ok")) + done.stderr)

    def assertFollows(self, row, flops, moved):
        """Rates and roofline are those of the work and the kernel times in the row."""
        suffix = "" if "Data Moved (MB)" in row else "_first"
        times = [float(row[f"Kernel Time (µs)_{x}"]) * 1e6 for x in ("max", "min")]
        for name, amount in (("TB/s", moved), ("TFLOPS/s", flops)):
            for x, time in zip(("min", "max"), times):
                self.assertAlmostEqual(float(row[f"{name}_{x}"]) * time, amount,
                                       delta=1e-6 * amount + 1e-9, msg=row["name"])
        self.assertAlmostEqual(float(row["FLOPS/Byte" + suffix]) * moved, flops,
                               delta=1e-9 * flops, msg=row["name"])
        if row["Roofline Time (µs)_first"]:
            time = float(row["Roofline Time (µs)_first"])
            least = moved / MI300X_TB_PER_S / 1e6
            self.assertGreaterEqual(time, least * (1 - 1e-9))
            if not flops or not row["Compute Spec"]:
                self.assertAlmostEqual(time, least, delta=1e-9 * least)
            self.assertAlmostEqual(float(row["Pct Roofline_min"]) * times[0] / 1e8, time,
                                   delta=1e-6 * time)

    def again(self, sheet, reference, path, place):
        """A copy of a table in which figures that differ from the reference's, and that
        tests/reference/work_oracle.py has worked out to be right, are those of the reference.
        Why they differ: docs/DEVIATIONS.md. The copy goes into `place`; returns how many rows."""
        tool, count = load_module(TOOL), 0
        head, rows = tool.read(str(reference))
        own_head, own = tool.read(str(path))
        keys = tool.keys_of(sheet, head)
        key_of = lambda r: tuple(tool.norm(r.get(k, "")) for k in keys)
        pool = collections.defaultdict(list)
        for r in own:
            pool[key_of(r)].append(r)
        for r in rows:
            o = pool[key_of(r)].pop(0) if pool[key_of(r)] else None
            columns = [c for c in head if FIGURES.match(c) and c not in keys]
            if not o or all(tool.same(sheet, c, r[c], o.get(c, "")) for c in columns):
                continue
            found = work_oracle.work(o)
            if not found or not work_oracle.is_right(o, found):
                continue
            if "mi300x" in str(reference) or not o["Roofline Time (µs)_first"]:
                self.assertFollows(o, *found)
            count += 1
            o.update((c, r[c]) for c in columns)
        with open(place / path.name, "w", newline="") as out:
            writer = csv.DictWriter(out, own_head)
            writer.writeheader()
            writer.writerows(own)
        return count

    copies = {}

    def with_work(self, reference, rep, sheets):
        """The report's tables, those with cost models as again() leaves them; made once."""
        key = (reference, rep.csvs)
        if key not in Reference.copies:
            place = rep.csvs.parent / f"again_{reference.name}"
            place.mkdir()
            for path in rep.csvs.iterdir():
                other = reference / path.name
                if path.stem in MODEL_SHEETS.split(",") and path.stem in sheets and other.exists():
                    self.again(path.stem, other, path, place)
                else:
                    (place / path.name).symlink_to(path)
            Reference.copies[key] = place
        return Reference.copies[key]

    made = {}

    def corrected(self, directory):
        """(reference directory with what is worked out in it, report, sheets, tables of the report
        with figures that with_work() has checked), one to three, and the allowances; made once."""
        if directory not in Reference.made:
            rules = recomputed.Rules(ALLOWED / f"{directory.name}.tsv",
                                     (directory / "trace.json.gz").stat().st_size <= RECOMPUTED)
            place = pathlib.Path(Reference.place) / f"corrected_{directory.name}"
            tool, out = load_module(TOOL), []
            truth = recomputed.Truth(directory / "trace.json.gz") if rules.own else None
            for reference, rep, sheets in self.comparisons(directory):
                if truth:
                    (place / reference.name).mkdir(parents=True, exist_ok=True)
                    again = recomputed.Corrected(tool, truth, rules, reference, rep.csvs,
                                                 place / reference.name)
                    for sheet in sheets.split(","):
                        again.write(sheet)
                right = place / reference.name if truth else reference
                out.append((right, rep, sheets, self.with_work(right, rep, sheets)))
            Reference.made[directory] = out, rules
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
        made, rules = self.corrected(directory)
        allow = rules.rest(self.tmp / "allow.tsv")
        for reference, rep, sheets, csvs in made:
            with self.subTest(reference.name):
                self.assertExit(rep, 0, 3)
                self.assertOutputsSane(rep)
                self.compare(reference, csvs, sheets, allow)

    def allowances(self, directory):
        """Each is needed: the tool itself says so only when it compares every sheet there is."""
        made, rules = self.corrected(directory)
        tool = load_module(TOOL)
        allow = tool.Allow(rules.rest(self.tmp / "allow.tsv"))
        for reference, _, sheets, csvs in made:
            for name in sheets.split(","):
                ref, out = reference / f"{name}.csv", csvs / f"{name}.csv"
                if ref.exists() and out.exists():
                    tool.compare(name, str(ref), str(out), allow, 0)
                elif ref.exists():
                    allow.ok(name, ("*",), "*row*")
        self.assertEqual(["\t".join(r[:3]) for r in allow.rules if not r[3]] + rules.unused(), [],
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

    def test_allowances_cover_few_of_the_modelled_cells(self):
        """Cells of tables with cost models that may differ and whose value is not worked out; a row
        without its like counts with all its cells."""
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED)")
        tool, whole, right = load_module(TOOL), 0, 0
        for directory in sorted(p for p in TRACES.iterdir() if p.is_dir()):
            for reference, _, sheets, csvs in self.corrected(directory)[0]:
                for name in set(MODEL_SHEETS.split(",")) & set(sheets.split(",")):
                    ref, out = reference / f"{name}.csv", csvs / f"{name}.csv"
                    if not ref.exists():
                        continue
                    head, rows = tool.read(str(ref))
                    keys = tool.keys_of(name, head)
                    whole += len(rows) * sum(c not in keys and c not in tool.SKIP for c in head)
                    if out.exists():
                        right += tool.compare(name, str(ref), str(out), tool.Allow(None), 0)[3]
        self.assertGreater(whole, 30000)
        self.assertLess((whole - right) / whole, 0.035)

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
