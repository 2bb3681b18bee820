"""What README.md and docs/*.md show and name is there and works.

Fenced blocks marked `sh` are run, in order, in a copy of the tree with the build on the PATH; a
block marked `text` right behind one is its standard output, where a line `...` stands for any
lines.
Calls of ./dev are not run: that the command exists is checked. With TRAWL_UPDATE_GOLDEN=1 the text
blocks without `...` are rewritten.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (BUILD, NCCL, ROOT, Case, copy, environment, kernel, launch, number, op)

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md",
         *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "src").glob("*/README.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
DEV = re.compile(r"\./dev +([a-z]+)")
CODE = re.compile(r"`([^`\n]+)`")
# Words in backticks that name files of this repository.
FILE = re.compile(r"(?:src|include|tests|tools|docs|data|examples|bench|cmake|completions)"
                  r"/[\w./*-]*")
DROPPED = (".git", "build", "demo_output", "analysis_output", "__pycache__")
UPDATE = bool(os.environ.get("TRAWL_UPDATE_GOLDEN"))


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """(language, text, span) of the fenced blocks."""
    return [(m[1], m[2], m.span(2)) for m in FENCE.finditer(page.read_text(encoding="utf-8"))]


def without_dev(script):
    return "\n".join(x for x in script.splitlines() if not x.lstrip().startswith("./dev"))


def trimmed(text):
    return [x.rstrip() for x in text.rstrip("\n").splitlines()]


def shows(wanted, got):
    """Whether the lines `wanted`, in which `...` stands for any lines, show `got`."""
    parts = [[]]
    for line in wanted:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return wanted == got
    if len(got) < sum(map(len, parts)) or got[:len(parts[0])] != parts[0]:
        return False
    at, last = len(parts[0]), parts[-1]
    for part in parts[1:-1]:
        while at <= len(got) and got[at:at + len(part)] != part:
            at += 1
        at += len(part)
    return at <= len(got) - len(last) and got[len(got) - len(last):] == last


def anchors(page):
    """Names of the headings, as links to them are written."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.replace("`", "").lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", text, re.M)}


class Docs(Case):
    def copy_of_tree(self):
        """The tree as a user has it after ./dev build, in a place of its own."""
        tree = self.tmp / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda _, names: [
            n for n in names if n in DROPPED])
        (tree / "build").mkdir()
        (tree / "build/release").symlink_to(BUILD, target_is_directory=True)
        return tree

    def run_blocks(self, page):
        tree, changed, text = self.copy_of_tree(), [], page.read_text(encoding="utf-8")
        path = f"{BUILD}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        out = None
        for language, script, span in blocks(page):
            if language == "sh":
                out = None
                if not without_dev(script).strip():
                    continue
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", without_dev(script)],
                                      cwd=tree, capture_output=True, text=True, timeout=120,
                                      stdin=subprocess.DEVNULL,
                                      env=environment(PATH=path, COLUMNS=100, LC_ALL="C.UTF-8"))
                self.assertEqual(done.returncode, 0, f"{script}\n{done.stderr[-1500:]}")
                out = done.stdout
            elif language == "text" and out is not None:
                if UPDATE and "..." not in script.splitlines():
                    changed.append((span, "\n".join(trimmed(out)) + "\n"))
                elif not shows(trimmed(script), trimmed(out)):
                    self.assertEqual(trimmed(script), trimmed(out), "not what the command prints")
                out = None
        for (begin, end), new in reversed(changed):
            text = text[:begin] + new + text[end:]
        if changed:
            page.write_text(text, encoding="utf-8")

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                other = (page.parent / path).resolve() if path else page
                with self.subTest(page=name_of(page), link=target):
                    self.assertTrue(other.exists(), "no such file")
                    if anchor:
                        self.assertIn(anchor, anchors(other))

    def test_files_named_exist(self):
        for page in PAGES:
            for code in CODE.findall(page.read_text(encoding="utf-8")):
                for word in code.split():
                    if not FILE.fullmatch(word) or "NAME" in word:
                        continue
                    with self.subTest(page=name_of(page), file=word):
                        self.assertTrue(list(ROOT.glob(word.rstrip("/"))), "no such file")

    def test_commands_of_dev_exist(self):
        usage = subprocess.run(["sh", ROOT / "dev", "help"], capture_output=True, text=True,
                               check=True).stdout
        known = set(re.findall(r"^  ([a-z]+) ", usage, re.M))
        self.assertIn("test", known)
        for page in PAGES:
            used = set(DEV.findall(page.read_text(encoding="utf-8")))
            self.assertEqual(used - known - {"help"}, set(), name_of(page))

    def test_options_are_described(self):
        """Each option of a command stands in docs/CLI.md."""
        page = (ROOT / "docs/CLI.md").read_text(encoding="utf-8")
        for command in ("report", "check"):
            text = subprocess.run([BUILD / "trawl", "help", command], capture_output=True,
                                  text=True, check=True).stdout
            options = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M)
            self.assertIn("--strict", options)
            self.assertEqual([o for o in options if f"`{o}" not in page], [])

    def test_columns_are_current(self):
        done = subprocess.run([sys.executable, ROOT / "tools/gen_columns.py", "--check", "--build",
                               BUILD], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_every_allowance_is_explained(self):
        """A reason that tests/reference/*.tsv gives is a heading of docs/DEVIATIONS.md."""
        known = anchors(ROOT / "docs/DEVIATIONS.md")
        for path in sorted((ROOT / "tests/reference").glob("*.tsv")):
            reasons = {x.split("\t")[3] for x in path.read_text().splitlines()
                       if x and not x.startswith("#")}
            self.assertEqual(reasons - known, set(), path.name)

    def test_tests_named_exist(self):
        """A test that a page names is one."""
        sources = "\n".join(p.read_text(encoding="utf-8") for g in ("*/*.c", "*/*.py")
                            for p in sorted((ROOT / "tests").glob(g)))
        for page in PAGES:
            for name in set(re.findall(r"\btest_\w+", page.read_text(encoding="utf-8"))):
                with self.subTest(page=name_of(page), test=name):
                    self.assertTrue(list((ROOT / "tests").glob(f"*/{name}.*")) or
                                    re.search(rf"\b{name}\b", sources), "no such test")

    def test_elision_is_strict(self):
        """The comparison of shown output can fail."""
        self.assertTrue(shows(["a", "...", "d"], list("abcd")))
        self.assertTrue(shows(["...", "d"], ["d"]))
        self.assertTrue(shows(["a", "...", "c", "..."], list("abcd")))
        self.assertFalse(shows(["a", "...", "d"], list("abc")))
        self.assertFalse(shows(["a", "...", "x", "...", "d"], list("abcd")))
        self.assertFalse(shows(["a", "b"], list("abc")))
        self.assertFalse(shows(["a", "...", "a"], ["a"]))


class Said(Case):
    """What METRICS.md and DEVIATIONS.md say and no other test holds."""

    def test_sizes_of_more_types(self):
        rep = self.report([kernel(NCCL, 100, 50, 1, **{
            "Collective name": "allreduce", "dtype": "Float8_e4m3fn", "In msg nelems": 3 << 20,
            "Out msg nelems": 3 << 20})])
        row = rep.table("coll_analysis")[0]
        self.assertEqual(number(row["In msg size (MB)_first"]), 3)

    def test_micro_idle_takes_fractions(self):
        # Gaps of 0.5, 0.4 and 10 µs.
        rep = self.report([kernel("a", t, d, i) for i, (t, d) in enumerate(
            ((100, 10), (110.5, 10), (120.9, 10), (140.9, 10)), 1)], "--micro-idle-us", "0.5")
        rows = rep.timeline()
        self.assertEqual([str(rows[t].normalize()) for t in ("micro_idle_time", "macro_idle_time")],
                         ["0.4", "10.5"])
        self.assertNotIn("idle_time", rows)
        self.assertEqual(str(rep.timeline(device=0)["idle_time"].normalize()), "10.9")

    def test_call_in_a_call_belongs_to_the_operation(self):
        rep = self.report([op("aten::linear", 100, 40), launch(108, 12, 6, "cudaLaunchKernel"),
                           launch(110, 5, 5, "cuLaunchKernel", cat="cuda_driver"),
                           kernel("k", 150, 50, 5)])
        self.assertEqual(rep.ops(), {"aten::linear": (1, 50, 50)})

    def test_shared_correlation_goes_to_the_nearest_before(self):
        rep = self.report([op("aten::a", 100, 20), launch(105, 5, 7), op("aten::b", 130, 20),
                           launch(135, 5, 7), kernel("x", 120, 5, 7), kernel("y", 220, 10, 7)])
        self.assertEqual({n: int(o[1]) for n, o in rep.ops().items()},
                         {"aten::a": 5, "aten::b": 10})
        self.assertEqual(rep.counted("duplicate_correlation"), 1)

    def test_total_of_a_view_is_its_windows(self):
        def gpu_step(n, ts, dur):
            return {"ph": "X", "cat": "gpu_user_annotation", "name": f"ProfilerStep#{n}", "pid": 0,
                    "tid": 7, "ts": ts, "dur": dur, "args": {"device": 0, "stream": 7}}
        events = [gpu_step(3, 100, 50), gpu_step(4, 200, 50), kernel("a", 90, 30, 1),
                  kernel("b", 140, 80, 2), copy(230, 10, 3), kernel("c", 400, 10, 4)]
        # [100,120); b in both windows, [140,150) and [200,220); [230,240).
        self.assertFigures(self.report(events, "--step", "3-4"),
                           {"total": 100, "busy": 60, "idle": 40, "compute": 50, "memcpy": 10})
        # An open end is where the events in view end.
        self.assertFigures(self.report(events, "--start", "100000"), {"total": 310, "busy": 120})
        # A bound behind the recording, which ends at 410, is its edge.
        self.assertFigures(self.report(events, "--start", "100000", "--end", "500000"),
                           {"total": 310, "busy": 120})
        self.assertFigures(self.report(events, "--step", "4", "--end", "235000"),
                           {"total": 35, "busy": 25, "compute": 20})


def add_pages():
    for page in PAGES:
        def test(self, page=page):
            if not any(x[0] == "sh" for x in blocks(page)):
                return
            self.run_blocks(page)
        setattr(Docs, "test_commands_of_" + re.sub(r"\W", "_", name_of(page)), test)


add_pages()

if __name__ == "__main__":
    unittest.main()
