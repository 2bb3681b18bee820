"""What README.md and docs/*.md show and name is there and works.

Fenced blocks marked `sh` are run, in order, in a copy of the tree with the build on the PATH; a block
marked `text` right behind one is its standard output, where a line `...` stands for any lines.
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
from support import BUILD, ROOT, Case, environment

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
DEV = re.compile(r"\./dev +([a-z]+)")
CODE = re.compile(r"`([^`\n]+)`")
# Words in backticks that name files of this repository.
FILE = re.compile(r"(?:src|include|tests|tools|docs|data|examples|bench|cmake|completions)/[\w./*-]*")
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
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", without_dev(script)], cwd=tree,
                                      capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                      timeout=120, env=environment(PATH=path, COLUMNS=100,
                                                                   LC_ALL="C.UTF-8"))
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
