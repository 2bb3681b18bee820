"""Each limit of data/limits.tsv has a test at its edge, and the documents tell its value."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case

FIELDS = ("name", "value", "unit", "meaning", "docs", "source")


def limits():
    lines = (ROOT / "data/limits.tsv").read_text(encoding="utf-8").splitlines()
    return [dict(zip(FIELDS, line.split("\t"))) for line in lines
            if line.strip() and not line.startswith("#")]


def sources():
    return [p for p in (ROOT / "src").rglob("*.[ch]") if ".gen." not in p.name]


class Limits(Case):
    def test_each_has_a_test_at_its_edge(self):
        tried = set()
        for path in (*(ROOT / "tests/unit").glob("*.c"), *(ROOT / "tests/cli").glob("*.py")):
            tried |= set(re.findall(r"\bEDGE_OF\(TW_LIMIT_(\w+)\)", path.read_text(encoding="utf-8")))
        named = [row["name"].upper() for row in limits()]
        self.assertGreater(len(named), 20)
        self.assertEqual([name for name in named if name not in tried], [])

    def test_each_is_asked(self):
        asked = {name for path in sources()
                 for name in re.findall(r"\bTW_LIMIT_(\w+)", path.read_text(encoding="utf-8"))}
        self.assertEqual([row["name"] for row in limits() if row["name"].upper() not in asked], [])

    def test_generated_sources_are_of_this_data(self):
        done = subprocess.run([sys.executable, ROOT / "tools/gen_tables.py", "--check"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_documents_tell_them(self):
        pages = " ".join(word for name in ("METRICS.md", "CLI.md")
                         for word in (ROOT / "docs" / name).read_text(encoding="utf-8").split())
        for row in limits():
            if row["docs"] != "-":
                with self.subTest(limit=row["name"]):
                    self.assertIn(row["docs"].replace("#", row["value"]), pages)


if __name__ == "__main__":
    unittest.main()
