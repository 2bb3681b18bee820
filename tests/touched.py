"""Which tests a change touches, for ./dev quick.

A unit program is touched by the headers that it includes (and the sources beside them) and by the
name of the file or its first word; a test in Python by that name, else by the folder around it.
"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
GROUPS = ("cli", "golden", "property")
# Folders whose changes show in kept output.
SHOWN = {"analysis", "model", "render", "cli"}
# What reports on a trace, where no test is named after what has changed.
OTHERWISE = "cli/test_cases_kineto"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
DOCUMENTS = (".md", ".1", ".bash")


def unit_programs():
    """Name -> headers that it includes."""
    return {p.stem: set(INCLUDE.findall(p.read_text(encoding="utf-8")))
            for p in sorted(TESTS.glob("unit/test_*.c"))}


def python_modules():
    return [f"{g}/{p.stem}" for g in GROUPS for p in sorted((TESTS / g).glob("test_*.py"))]


def is_named_after(test, word):
    """Whether `word` is in the name of a test, as a word or several of them."""
    return bool(word) and re.search(rf"_{re.escape(word)}s?(_|$)", test) is not None


def changed_files():
    """What differs from the last commit; nothing: what the last commit has changed."""
    def git(*args):
        done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []
    found = git("diff", "--name-only", "HEAD") + git("ls-files", "-o", "--exclude-standard")
    return found or git("diff", "--name-only", "HEAD~1")


def touched_by_file(path, programs, modules):
    """Unit programs and modules that a file of the repository touches."""
    stem, top = path.stem, path.parts[0]
    if path.suffix in DOCUMENTS:
        return set(), {"cli/test_docs"}
    if top == "schema":
        return set(), {"cli/test_schema"}
    if top == "tests":
        label = f"{path.parts[1]}/{stem}"
        return ({n for n, headers in programs.items() if n == stem or f"{stem}.h" in headers},
                {m for m in modules if m == label})
    if top not in ("src", "data"):
        return set(), set()
    folders = list(path.parent.parts[1:] if top == "src" else ("data",))
    place = "/".join(folders)
    units = {n for n, headers in programs.items() if f"{place}/{stem}.h" in headers}
    if not units:
        units = {n for n, headers in programs.items()
                 if any(h.rpartition("/")[0] == place for h in headers)}
    name = stem.removeprefix("cmd_")
    words = (name, name.partition("_")[0])
    units |= {n for n in programs if any(is_named_after(n, w) for w in words)}
    kept = {"golden/test_golden"} if SHOWN & set(folders) else set()
    if "analysis" in folders:
        # The file of a table has the table's name, by which tests find it.
        units |= {p.stem for p in TESTS.glob("unit/test_*.c")
                  if f'"{stem}"' in p.read_text(encoding="utf-8")}
    for word in (*words, *reversed(folders)):
        named = {m for m in modules if is_named_after(m, word)}
        if named:
            return units, named | kept
    return units, {OTHERWISE} | kept


def touched(name):
    """The same of a name (of a test, or a folder under src/), or of what has changed ('')."""
    programs, modules = unit_programs(), python_modules()
    if name:
        return ({n for n, headers in programs.items()
                 if re.search(name, n) or any(name in h.split("/")[:-1] for h in headers)},
                {m for m in modules if re.search(name, m)})
    units, found = set(), set()
    for path in changed_files():
        some_units, some = touched_by_file(pathlib.Path(path), programs, modules)
        units |= some_units
        found |= some
    return units, found
