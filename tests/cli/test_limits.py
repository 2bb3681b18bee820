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


# What docs/METRICS.md and CLI.md tell of data/levels.tsv: a # for each (ladder, level, fact).
LEVELS_TOLD = [
    ("More than # % difference is a warning", ("cross_validation", "WARN", "deviation_percent")),
    ("the work started more than # µs after the call", ("launch_delay", "yes", "launch_delay_us")),
    ("up to # are listed one by one", ("few_gaps", "yes", "idle_most_gaps")),
    ("a known gain below # % of total time is Low", ("priority_limit", "Low", "gain_percent")),
    ("below # % is Low at most, one below # % Medium",
     ("priority_limit", "Low", "percent_of_total"), ("priority_limit", "Medium", "percent_of_total")),
    ("its time at # % of the roofline", ("target_efficiency", "80", "efficiency_percent")),
    ("and gains below # % each are one", ("small_gain", "yes", "gain_percent")),
    ("over # % of the span blocked", ("gemm_overlap", "blocked", "collective_percent")),
    ("(over # % of the computation, under # % of the peak)",
     ("replay", "yes", "percent_of_compute"), ("replay", "yes", "efficiency_percent")),
]


def level_bound(ladder, level, fact):
    for line in (ROOT / "data/levels.tsv").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if fields[:2] == [ladder, level]:
            for number in re.findall(rf"\b{fact} [<>]=? ([\d.]+)", fields[2]):
                return number
    raise KeyError((ladder, level, fact))


def documents():
    return " ".join(word for name in ("METRICS.md", "CLI.md")
                    for word in (ROOT / "docs" / name).read_text(encoding="utf-8").split())


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
        pages = documents()
        for row in limits():
            for words in row["docs"].split(" / ") if row["docs"] != "-" else ():
                with self.subTest(limit=row["name"]):
                    self.assertIn(words.replace("#", row["value"]), pages)


class Levels(Case):
    def test_documents_tell_them(self):
        pages = documents()
        for words, *bounds in LEVELS_TOLD:
            for bound in bounds:
                words = words.replace("#", level_bound(*bound), 1)
            self.assertIn(words, pages)


if __name__ == "__main__":
    unittest.main()
