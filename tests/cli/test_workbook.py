"""The workbook says what the CSV files say, opens in a reader that is not ours, and is safe."""
import io
import pathlib
import re
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
from random_trace import random_trace
from support import ROOT, Case, base_events, kernel

CHECKER = pathlib.Path(__file__).resolve().parent / "check_xlsx.py"
PYTHON = "/usr/bin/python3"  # openpyxl is Debian's


class Workbook(Case):
    def check(self, data):
        rep = self.report(data, xlsx=True)
        self.assertExit(rep, 0, 3)
        book = rep.dir / "perf_report.xlsx"
        if subprocess.run([PYTHON, "-c", "import openpyxl"], capture_output=True).returncode:
            self.skipTest(f"no openpyxl for {PYTHON}: the workbook was not read back")
        done = subprocess.run([PYTHON, str(CHECKER), str(book), str(rep.csvs)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[:3000] + done.stderr[-2000:])
        return book

    def test_control(self):
        self.check(base_events())

    def test_random(self):
        self.check(random_trace(11))

    def test_sample(self):
        sample = ROOT / "examples/sample.json.gz"
        self.assertTrue(sample.exists(), "examples/sample.json.gz is missing")
        self.check(sample)

    def test_names_that_break_sheets(self):
        names = ["=1+1", "+1", "-1", "@x", "a\tb", "a\nb", "<b>&amp;</b>", "\u202e\U0001f600", "",
                 "\x01\x1f", "http://example.org/x", "mailto:a@b", "long" * 9000, "'q"]
        self.check([kernel(n, 100 + i, 1, i + 1) for i, n in enumerate(names)])

    def test_text_like_an_escape(self):
        """Readers take _x0041_ for an A unless its underscore is escaped. (openpyxl undoes only
        half of that, so the file itself is looked at.)"""
        rep = self.report([kernel("_x0041_", 100, 1, 1)], xlsx=True)
        with zipfile.ZipFile(rep.dir / "perf_report.xlsx") as z:
            text = b"".join(z.read(n) for n in z.namelist() if n.endswith(".xml"))
        self.assertIn(b"_x005F_x0041_", text)
        self.assertNotIn(b">_x0041_<", text)

    def test_numbers_at_the_edge(self):
        self.check([kernel("k", 100, 0.001, 1, stream=2**64 - 1),
                    kernel("k", 10**12, 10**9, 2, stream=2**53 + 1)])

    def test_archive_is_sound(self):
        book = self.check(base_events())
        with zipfile.ZipFile(io.BytesIO(book.read_bytes())) as z:
            self.assertIsNone(z.testzip())
            self.assertIn("xl/workbook.xml", z.namelist())
            core = z.read("docProps/core.xml").decode()
            self.assertNotRegex(core, r"/(home|root|work|tmp)/")
            dates = re.findall(r"\d{4}-\d\d-\d\dT", core)
            self.assertEqual(len(set(dates)), min(1, len(dates)), core)


if __name__ == "__main__":
    unittest.main()
