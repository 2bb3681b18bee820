#!/usr/bin/env python3
"""Checks what the compiler does not: who includes whom, banned calls, sizes.

usage: tools/check_includes.py [--root DIR] [--self-test]

- A module under src/ (job/, study/: a room of it) includes only the modules that ALLOWED names, itself, and trawl/*.h; the
  table of modules in docs/ARCHITECTURE.md has them all.
  Own headers are written "module/file.h"; a .c with a header of its own includes it first.
- A command (src/cli) includes trawl/*.h and helpers; what else it sees is in CLI_INSIDE, and used.
- Public headers include public and system headers only.
- A library outside the C library is used by the one module that wraps it.
- Calls that are never right here: see BANNED; engines that are written once: see ENGINES.
- Calls that use time zones are in files that block forks meanwhile (os/child.h).
- A function has at most 100 lines, a file at most 900 (a file of tests 1500), a folder 30 sources.

One line per violation; exit status 0 or 1. --self-test shows that each check can fail.
"""
import argparse
import pathlib
import re
import sys
import tempfile

FUNCTION_LINES = 100
FILE_LINES = 900
TEST_FILE_LINES = 1500  # a list of cases is not lost in

# From below to above.  A wing has rooms, each with a line of its own.
ALLOWED = {
    "base": "",
    "text": "base",
    "os": "base text",
    "io": "base text os",
    "json": "base text",
    "data": "base text",
    "table": "base text",
    "store": "base text os",
    "db": "base text os",
    "nsys": "base text os data db table",
    "trace": "base text os io data db store nsys",
    "derive": "base text os data store",
    "model": "base text os json data store",
    "analysis": "base text os data store derive model table",
    "findings": "base text data table",
    "render": "base text os io json data table",
    "book": "base text os table render",
    "standalone": "base text os io json data table store derive model analysis findings render",
    "job/set": "base text os data store trace derive analysis table",
    "job/match": "base text os job/set",
    "job/clocks": "base data job/set job/match",
    "job/collectives": "base text analysis job/set job/match job/clocks",
    "job/tables": "base text os data analysis job/set job/match job/clocks job/collectives",
    "job/sums": "base os analysis job/set",
    "job/transport": "base text os store table job/set",
    "job/mpi": "job/transport",
    "job/merge": "base text os io data json store trace derive job/set job/clocks job/transport",
    "path": "base text os data store derive model analysis table job/set job/match job/clocks job/collectives "
            "job/transport",
    "diagnose": "base text os data store derive model analysis table job/set job/match job/clocks "
                "job/transport path",
    "job/report": "base text os analysis table job/set job/match job/clocks job/collectives job/tables "
                  "job/sums job/transport job/merge path diagnose",
    "study/runs": "base text os io json table job/set",
    "study/sweep": "base text os io json data analysis table render book job/set job/tables "
                   "job/merge diagnose study/runs",
    "study/variance": "base text data analysis table findings render book job/set job/collectives job/tables "
                      "study/sweep",
    "study/books": "base text os data store analysis table book study/sweep",
    "study/compare": "base text os data store analysis table render book nsys job/set job/match job/clocks "
                     "job/collectives job/tables diagnose study/sweep study/books",
    "study/report": "base text os data table render study/sweep study/variance study/books",
    "cli": None,  # all
}
ALLOWED = {m: None if a is None else set(a.split()) for m, a in ALLOWED.items()}
WINGS = {m.split("/")[0] for m in ALLOWED if "/" in m}
FOLDER_FILES = 30  # sources of a folder
LARGER_FOLDERS = {"src/data/generated"}


# Commands use the library as others do: trawl/*.h, and what helps to print.
CLI_HELPERS = {"cli", "base", "text", "os", "io", "json", "table", "render"}
# What they see of its inside all the same, each with its reason: a list that may only shrink.  The
# standalone analysis (cli/analyze) is no part of the library.
CLI_INSIDE = {
    # the page and the summary, which are not made of tables alone
    "compare/compare.h": "study/compare/comparison.h",
    "compare/compare_page.c": "study/compare/columns.h",
    "compare/compare_summary.c": "study/compare/columns.h",
    # the processes of one run
    "processes.h": "job/transport/cluster.h",
    # the processes of one run; the events of another program (--compat)
    "ranks/cmd_merge.c": "job/merge/compat.h job/report/merge_job.h",
    # how collectives were matched, and clocks: in no table yet
    "ranks/collectives_summary.c": "job/collectives/syncing.h job/tables/all_tables.h",
    # the processes of one run
    "ranks/ranks.c": "job/report/read_job.h",
    # training runs
    "sweep/sweep_run.c": "study/runs/runs.h",
    # what a trainer writes itself, and trials of a search
    "sweep/sweep_timeline.c": "study/sweep/metrics_timeline.h",
    "sweep/sweep_trials.c": "study/sweep/trials.h",
    # columns of quality where no trace could be read
    "trace/cmd_check.c": "analysis/analysis.h",
    # --each: which inputs there are, and which are traces
    "trace/cmd_report.c": "job/merge/peek.h job/set/set.h",
    # --capture: which files of directories are traces, and of which ranks
    "trace/reporting.c": "job/merge/peek.h job/set/set.h job/set/sources.h",
    # peaks of the platform
    "trace/plots.c": "analysis/analysis.h",
    # ranks that are one, what steps launched, bandwidth of the platform
    "trace/summary.c": "analysis/analysis.h model/roofline.h",
    # whether processes of an export are ranks
    "trace/summary_devices.c": "store/trace.h",
    # sums of 128 bits
    "trace/top_ranges.c": "analysis/analysis.h",
}
CLI_INSIDE = {f"src/cli/{f}": set(i.split()) for f, i in CLI_INSIDE.items()}


def module_of(path):
    """The module of "job/set/set.h": its folder, and in a wing the room."""
    parts = path.split("/")[:-1]
    return "/".join(parts[:2]) if parts and parts[0] in WINGS else parts[0] if parts else ""

# Library header -> modules that may see it.
LIBRARIES = {
    "isa-l": {"io"},
    "isa-l.h": {"io"},
    "zstd.h": {"io"},
    "zlib.h": {"io"},
    "xlsxwriter.h": {"render"},
    "sqlite3.h": {"db"},
    "zip.h": {"standalone", "book"},
    "expat.h": {"book"},
    "cmark-gfm.h": {"render"},
    "dlfcn.h": {"job/transport"},
    "mpi.h": {"job/mpi"},
    "cmark-gfm-core-extensions.h": {"render"},
}

BANNED = {
    "strcpy": "copies without a bound",
    "strcat": "appends without a bound",
    "sprintf": "prints without a bound; snprintf",
    "vsprintf": "prints without a bound; vsnprintf",
    "gets": "reads without a bound",
    "strtok": "keeps global state",
    "atoi": "hides bad numbers",
    "atol": "hides bad numbers",
    "atoll": "hides bad numbers",
    "atof": "hides bad numbers and follows the locale",
    "gmtime": "keeps global state; gmtime_r",
    "localtime": "keeps global state; localtime_r",
    "rand": "not reproducible",
}
BANNED_CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
# What is written once: a pattern, the one file that may have it, what to use.
ENGINES = [
    (re.compile(r"\b\w+ = \w+ \+ \(\w+ - \w+\) / 2;"),
     "base/search.h", "a binary search of its own: TW_LOWER_BOUND"),
    (re.compile(r"\b(\w+) = \(\1 \+ 1\) & "), "base/slots.h",
     "a hash table of its own: tw_ids, tw_groups, or TW_SLOT"),
]
# Such calls hold a lock of the C library, which a process forked meanwhile would have for ever.
OF_TIME = re.compile(r"(?<![\w.>])(localtime_r|gmtime_r|mktime|strftime|zip_open_from_source)\s*\(")
MODULE_ROW = re.compile(r"^\| `src/([\w/]+)/` \|[^|]*\|$", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def blank(text):
    """The text with comments, strings and character constants blanked, lines kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def functions(lines):
    """(first line, name, lines) of each function: kernel style, its braces in column 0."""
    start = None
    for number, line in enumerate(lines):
        if line.startswith("{") and start is None:
            start = number
            while start > 0 and lines[start - 1].strip() and \
                    not lines[start - 1].startswith(("}", "#")) and \
                    not lines[start - 1].rstrip().endswith(";"):
                start -= 1
        elif line.startswith("}") and start is not None:
            head = " ".join(lines[start:start + 3])
            name = re.search(r"(\w+)\s*\(", head)
            yield start + 1, name.group(1) if name else "?", number - start + 1
            start = None


class Check:
    def __init__(self, root):
        self.root = root
        self.violations = []

    def say(self, path, line, text):
        self.violations.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def run(self):
        seen = 0
        for path in sorted(self.root.glob("src/**/*.[ch]")):
            seen += 1
            self.source(path)
        for path in sorted(self.root.glob("src/**/*.def")):
            seen += 1
            self.includes(path, path.read_text(errors="replace"))
        for path in sorted(p for p in self.root.glob("src/**") if p.is_dir()):
            self.folder(path)
        self.module_table(self.root / "docs/ARCHITECTURE.md")
        for path in sorted(self.root.glob("include/trawl/*.h")):
            self.public_header(path)
        for folder in ("tests", "bench", "examples"):
            for path in sorted((self.root / folder).rglob("*.[ch]")):
                self.sizes(path, blank(path.read_text(errors="replace")))
        if not seen:
            self.violations.append("src: no sources found, nothing was checked")
        return self.violations

    def module_table(self, path):
        if not path.exists():
            return
        named = set(MODULE_ROW.findall(path.read_text()))
        for module in sorted(set(ALLOWED) ^ named):
            self.say(path, 0, f"src/{module}/: in the order of includes or in the table, not in both")

    def folder(self, path):
        files = sorted(p for p in path.iterdir() if p.suffix in (".c", ".h", ".def"))
        name = str(path.relative_to(self.root))
        if len(files) > FOLDER_FILES and name not in LARGER_FOLDERS:
            self.say(path, 0, f"{len(files)} sources in a folder, more than {FOLDER_FILES}")
        if files and module_of(f"{name}/x"[len("src/"):]) not in ALLOWED:
            self.say(path, 0, "a module that the include order does not name")

    def source(self, path):
        text = path.read_text(errors="replace")
        code = blank(text)
        self.includes(path, text)
        if path.name != "banned.h":
            self.banned(path, code)
        if ".gen." not in path.name:
            self.sizes(path, code)

    def includes(self, path, text):
        module = module_of(str(path.relative_to(self.root / "src")))
        first = None
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            quote, name = match.groups()
            first = first or (line, name)
            self.include(path, module, line, quote, name)
        self.inside(path, module, text)
        own = self.own_header(path)
        if path.suffix == ".c" and own and (first is None or first[1] != own):
            self.say(path, first[0] if first else 1, f'its own header "{own}" comes first')

    def inside(self, path, module, text):
        """A command that looks into the library, or is listed as one that does and does not."""
        name = str(path.relative_to(self.root))
        if module != "cli" or name.startswith("src/cli/analyze/"):
            return
        listed = CLI_INSIDE.get(name, set())
        seen = {m.group(2): text.count("\n", 0, m.start()) + 1 for m in INCLUDE.finditer(text)
                if m.group(1) == '"'}
        for header, line in seen.items():
            if header.split("/")[0] not in CLI_HELPERS | {"trawl"} and header != "data/limits.h" \
                    and header not in listed:
                self.say(path, line, f'a command sees trawl/*.h, not "{header}"')
        for header in sorted(listed - set(seen)):
            self.say(path, 0, f'"{header}" is not included any more: take it from CLI_INSIDE')

    def include(self, path, module, line, quote, name):
        top, other = name.split("/")[0], module_of(name)
        if top in LIBRARIES and module not in LIBRARIES[top]:
            self.say(path, line, f"<{name}> is for {', '.join(sorted(LIBRARIES[top]))} alone")
        if quote == "<":
            if other in ALLOWED or top == "trawl":
                self.say(path, line, f'<{name}>: our headers are written "{name}"')
            return
        if top == "trawl":
            return
        if other not in ALLOWED:
            self.say(path, line, f'"{name}": write it "module/file.h"')
            return
        allowed = ALLOWED.get(module, set())
        if allowed is not None and other != module and other not in allowed:
            self.say(path, line, f'{module} may not include {other} ("{name}")')

    def own_header(self, path):
        if path.with_suffix(".h").exists():
            return str(path.with_suffix(".h").relative_to(self.root / "src"))
        if (self.root / "include/trawl" / f"{path.stem}.h").exists():
            return f"trawl/{path.stem}.h"
        return None

    def banned(self, path, code):
        for match in BANNED_CALL.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            self.say(path, line, f"{match.group(1)}: {BANNED[match.group(1)]}")
        for pattern, owner, message in ENGINES:
            for match in pattern.finditer(code):
                if not str(path).endswith(owner):
                    self.say(path, code.count("\n", 0, match.start()) + 1, message)
        match = OF_TIME.search(code)
        if match and "tw_hold_forks(" not in code:
            self.say(path, code.count("\n", 0, match.start()) + 1,
                     f"{match.group(1)}: between tw_hold_forks() and tw_allow_forks()")

    def sizes(self, path, code):
        lines = code.split("\n")
        most = TEST_FILE_LINES if "tests" in path.parts else FILE_LINES
        if len(lines) - 1 > most:
            self.say(path, most, f"{len(lines) - 1} lines, more than {most}")
        for first, name, count in functions(lines):
            if count > FUNCTION_LINES:
                self.say(path, first, f"{name}: {count} lines, more than {FUNCTION_LINES}")

    def public_header(self, path):
        text = path.read_text(errors="replace")
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            quote, name = match.groups()
            if quote == '"' and not name.startswith("trawl/"):
                self.say(path, line, f'public header includes "{name}"')
            if quote == "<" and name.split("/")[0] in LIBRARIES:
                self.say(path, line, f"public header includes <{name}>")
        self.sizes(path, blank(text))


GOOD = {
    "include/trawl/kind.h": '#include <stdint.h>\n#include "trawl/api.h"\n',
    "include/trawl/api.h": "#include <stddef.h>\n",
    "src/base/text.h": '#include "trawl/api.h"\n',
    "src/base/text.c": '#include "base/text.h"\n#include <string.h>\n'
                       "/* strcpy(a, b) */\nint x(void)\n{\n\tputs(\"rand()\");\n}\n",
    "src/base/kind.c": '#include "trawl/kind.h"\n#include "base/text.h"\n',
    "src/base/banned.h": "#define strcpy(a, b) banned\nint rand();\n",
    "src/io/gz.c": "#include <isa-l/igzip_lib.h>\n",
    "src/analysis/idle.c": '#include "table/table.h"\n#include "analysis/analyses.def"\n',
    "src/analysis/analyses.def": "",
    "src/table/table.h": "",
    **{f"src/db/{n}.c": "int x;\n" for n in range(FOLDER_FILES)},
    "src/cli/main.c": '#include "data/limits.h"\n#include "render/csv.h"\n#include "trawl/a.h"\n',
    "src/cli/processes.h": '#include "job/transport/cluster.h"\n',
    "src/cli/analyze/a.c": '#include "analysis/idle.h"\n',
}
LONG_BODY = "int y(void)\n{\n" + "\ta();\n" * FUNCTION_LINES + "}\n"
WRONG_TABLE = "".join(f"| `src/{m}/` | x |\n" for m in ALLOWED if m != "job/mpi")
# name of the trouble -> (file, contents, text that the message has)
BAD = {
    "order": ("src/base/up.c", '#include "io/gz.h"\n', "base may not include io"),
    "order of siblings": ("src/io/a.c", '#include "json/b.h"\n', "io may not include json"),
    "analysis prints": ("src/analysis/p.c", '#include "render/csv.h"\n', "may not include render"),
    "renderer computes": ("src/render/c.c", '#include "store/s.h"\n', "may not include store"),
    "order in a .def": ("src/analysis/analyses.def", '#include "cli/x.h"\n', "may not include cli"),
    "bare name": ("src/io/b.c", '#include "feed.h"\n', "module/file.h"),
    "angle brackets": ("src/io/c.c", "#include <base/text.h>\n", "our headers are written"),
    "own header late": ("src/base/text.c", '#include <a.h>\n#include "base/text.h"\n', "first"),
    "own header absent": ("src/base/kind.c", "int x;\n", "first"),
    "command looks inside": ("src/cli/x.c", '#include "job/set/job.h"\n', "sees trawl/*.h"),
    "list that could shrink": ("src/cli/processes.h", "int x;\n", "take it from CLI_INSIDE"),
    "library": ("src/trace/k.c", "#include <zstd.h>\n", "for io alone"),
    "module table": ("docs/ARCHITECTURE.md", WRONG_TABLE, "src/job/mpi/: in the order"),
    "order of rooms": ("src/job/set/a.c", '#include "job/match/b.h"\n', "may not include job/match"),
    "crowded folder": ("src/db/x.c", "int x;\n", "31 sources"),
    "module": ("src/extra/e.c", "int x;\n", "does not name"),
    "banned": ("src/io/d.c", "int x(void)\n{\n\treturn atoi (s);\n}\n", ":3: atoi"),
    "binary search": ("src/io/g.c", "x = low + (high - low) / 2;\n", "TW_LOWER_BOUND"),
    "hash table": ("src/io/h.c", "i = (i + 1) & mask;\n", "TW_SLOT"),
    "time": ("src/io/i.c", "strftime(a, b, c, d);\n", "tw_hold_forks"),
    "long function": ("src/io/e.c", LONG_BODY, "y: 103 lines"),
    "long file": ("src/io/f.c", "int x;\n" * (FILE_LINES + 1), "901 lines"),
    "long test": ("tests/unit/test_a.c", LONG_BODY, "y: 103 lines"),
    "public header": ("include/trawl/kind.h", '#include "base/text.h"\n', "public header"),
    "nothing there": (None, None, "nothing was checked"),
}


def check_tree(files):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return Check(root).run()


def self_test():
    failed = 0
    if found := check_tree(GOOD):
        failed += 1
        print("self-test: a good tree is blamed:", *found, sep="\n    ")
    for name, (path, text, message) in BAD.items():
        found = check_tree({**GOOD, path: text} if path else {})
        if len(found) != 1 or message not in found[0]:
            failed += 1
            print(f"self-test: {name}: expected one line with '{message}', got {found}")
    print(f"self-test: {len(BAD) + 1 - failed} of {len(BAD) + 1} passed")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return 1 if self_test() else 0
    violations = Check(args.root.resolve()).run()
    for line in violations:
        print(line)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
