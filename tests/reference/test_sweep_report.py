"""trawl sweep report on a sweep whose reports another program made: sheet by sheet."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import recomputed
from support import SHARED, Case, load_module, trawl

CASE = SHARED / "cases/sweep/e2e_tracelens"
TOOL = SHARED / "tools/compare_reference.py"
ALLOWED = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # openpyxl is Debian's
SHORT_NS = 50_000  # of a sweep
POINTS = [(256, 28), (256, 56), (512, 28), (512, 56)]


def csvs(place, *workbooks):
    subprocess.run([PYTHON, str(ALLOWED / "xlsx_csvs.py"), str(place), *map(str, workbooks)],
                   check=True)


class SweepReport(Case):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="trawl-sweep-")
        cls.place = pathlib.Path(cls.temporary.name)
        cls.there = CASE.exists()
        if cls.there:
            cls.result = trawl("sweep", "report", CASE / "in/sweep", "-o", cls.place, "--align",
                               "none", timeout=120)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        super().setUp()
        if not self.there:
            self.skipTest("given material absent: cases/sweep/e2e_tracelens (TRAWL_SHARED)")
        self.assertExit(self.result, 0)

    def compare(self, name, truth=None, rules=None):
        """A workbook below tracelens_analysis against that of the other program; what is allowed to differ is
        worked out from the traces."""
        theirs = CASE / "out/sweep/tracelens_analysis" / name
        for place, workbook in (("theirs", theirs), ("ours", self.place / "tracelens_analysis" /
                                                     name)):
            csvs(self.tmp / place, workbook)
        reference, ours = self.tmp / "theirs" / theirs.stem, self.tmp / "ours" / theirs.stem
        if rules:
            right = self.tmp / "right" / theirs.stem
            right.mkdir(parents=True, exist_ok=True)
            again = recomputed.Corrected(load_module(TOOL), truth, rules, reference, ours, right)
            for path in reference.glob("*.csv"):
                again.write(path.stem)
            self.assertEqual(again.wrong + rules.unused(), [], name)
            reference = right
        done = subprocess.run([sys.executable, str(TOOL), str(reference), str(ours)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{name}\n" + "\n".join(
            x for x in done.stdout.splitlines() if not x.endswith(" ok")) + done.stderr)

    def allow(self, sheet, key, column, reason):
        """What may differ, for a reason that docs/DEVIATIONS.md has."""
        path = self.tmp / "allow.tsv"
        path.write_text(f"{sheet}\t{key} | *\t{column}\t{reason}\n")
        return recomputed.Rules(path)

    @staticmethod
    def traces(threads, channels):
        place = CASE / f"in/sweep/{threads}thread/nccl_{channels}channels/torch_profiler"
        return {rank: next((place / f"rank{rank}").glob("*.json")) for rank in range(8)}

    def test_every_file_is_there(self):
        theirs = {str(p.relative_to(CASE / "out/sweep"))
                  for p in (CASE / "out/sweep").rglob("*.xlsx")}
        ours = {str(p.relative_to(self.place)) for p in self.place.rglob("*.xlsx")}
        self.assertEqual(len(theirs), 52)
        self.assertEqual(theirs - ours, set())

    def test_individual_reports(self):
        for threads, channels in POINTS:
            for rank in (0, 3, 7):
                self.compare(f"{threads}thread/individual_reports/"
                             f"perf_{channels}ch_rank{rank}.xlsx",
                             recomputed.Truth(self.traces(threads, channels)[rank], SHORT_NS),
                             self.allow("short_kernels_summary", "record_param_comms", "*row*",
                                        "short-kernels-without-arguments"))

    def test_types_of_cells(self):
        """Where the other program has text or a truth value, so does trawl."""
        script = ("import openpyxl, sys\n"
                  "a, b = (openpyxl.load_workbook(p) for p in sys.argv[1:3])\n"
                  "for sheet in a:\n"
                  "    other = {c.value: c.column for c in b[sheet.title][1]}\n"
                  "    for cell in sheet[2]:\n"
                  "        name = sheet.cell(1, cell.column).value\n"
                  "        value = b[sheet.title].cell(2, other[name]).value\n"
                  "        if isinstance(cell.value, (str, bool)) and value is not None and \\\n"
                  "                type(value) is not type(cell.value):\n"
                  "            print(sheet.title, name, repr(cell.value), repr(value))\n")
        for name in ("individual_reports/perf_28ch_rank0.xlsx",
                     "collective_reports/collective_28ch.xlsx"):
            paths = [str(p / "tracelens_analysis/256thread" / name)
                     for p in (CASE / "out/sweep", self.place)]
            done = subprocess.run([PYTHON, "-c", script, *paths], capture_output=True, text=True,
                                  check=True)
            self.assertEqual(done.stdout, "", name)

    # Sums and means that differ in the last digit of a double: the key of the row, its column.
    rounded = {(256, 56): ("_allgather_base", "Total comm latency (ms)"),
               (512, 28): ("_allgather_base", "comm_latency_mean"),
               (512, 56): ("allreduce", "comm_latency_mean")}

    def test_collective_reports(self):
        for threads, channels in POINTS:
            rounded = self.rounded.get((threads, channels))
            job = recomputed.Job(self.traces(threads, channels)) if rounded else None
            allow = self.allow("nccl_summary_implicit_sync", *rounded, "binary-rounding") \
                if rounded else None
            self.compare(f"{threads}thread/collective_reports/collective_{channels}ch.xlsx", job, allow)


if __name__ == "__main__":
    unittest.main()
