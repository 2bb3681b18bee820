"""Workbooks that other programs wrote, cell by cell against openpyxl."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, SHARED, Case

PYTHON = "/usr/bin/python3"  # openpyxl is Debian's
SWEEPS = SHARED / "cases/sweep"
BOOKS = [
    "variance_tracelens_ref/in/tracelens_analysis",
    "gpu_timeline_and_comms/in/sweep/tracelens_analysis",
    "gpu_timeline_and_comms/out/sweep/tracelens_analysis",
    "e2e_tracelens/out/sweep/tracelens_analysis",
    "no_collectives/out/sweep/tracelens_analysis",
]

# Every cell as text, by another program: its numbers as Python has them, whole ones as integers.
READER = """
import json, sys, openpyxl
def text(v):
    if v is None: return ""
    if isinstance(v, bool): return str(v)
    if isinstance(v, float) and v.is_integer() and abs(v) < 1e15: return str(int(v))
    return str(v) if not isinstance(v, float) else repr(v)
for path in sys.argv[1:]:
    for s in openpyxl.load_workbook(path, read_only=False, data_only=True).worksheets:
        rows = [[text(c) for c in r] for r in s.iter_rows(values_only=True)]
        while rows and not any(rows[-1]): rows.pop()
        while rows and not any(rows[0]): rows.pop(0)
        width = max((i + 1 for r in rows for i, c in enumerate(r) if c), default=0)
        print(json.dumps({"name": s.title, "rows": [r[:width] for r in rows]}))
"""


def by_openpyxl(paths):
    done = subprocess.run([PYTHON, "-c", READER, *map(str, paths)], capture_output=True, text=True)
    return [json.loads(x) for x in done.stdout.splitlines()], done.stderr


def ours(paths):
    done = subprocess.run([BUILD / "tools/book_dump", *map(str, paths)], capture_output=True,
                          text=True)
    return [json.loads(x) for x in done.stdout.splitlines()], done.stderr


class Books(Case):
    def setUp(self):
        super().setUp()
        if subprocess.run([PYTHON, "-c", "import openpyxl"], capture_output=True).returncode:
            self.skipTest(f"no openpyxl for {PYTHON}")

    def same(self, paths):
        theirs, said = by_openpyxl(paths)
        self.assertTrue(theirs, said)
        mine, said = ours(paths)
        self.assertEqual(said, "")
        self.assertEqual([s["name"] for s in mine], [s["name"] for s in theirs])
        cells = 0
        for a, b in zip(mine, theirs):
            self.assertEqual(a.get("rows"), b["rows"], f"{a['name']} {a.get('error')}")
            cells += sum(map(len, b["rows"]))
        return cells

    def test_every_cell(self):
        """All workbooks of the cases."""
        cells = 0
        for folder in BOOKS:
            paths = sorted((SWEEPS / folder).rglob("*.xlsx"))
            if not paths:
                self.skipTest("given material absent: workbooks of sweeps (TRAWL_SHARED)")
            cells += self.same(paths)
        self.assertGreater(cells, 20000)


if __name__ == "__main__":
    unittest.main()
