#!/usr/bin/env python3
"""Measures how much there is to read, and how often a fact is written.

usage: tools/measure.py [--root DIR] [--headers | --check]

Lines of src/ by module, without what is generated; lines of schema/ by hand; folders by number of
sources; headers of columns as string literals outside of declarations (--headers lists
them, --check prints only these and exits with 1 where there are some). Headers that are one plain lower-case word are not counted: they are words of many things.
"""
import argparse
import collections
import itertools
import pathlib
import re
import sys

DECLARED = re.compile(
    r"\b(?:TW_(?:TEXT|ID|INTEGER|NS|US|MS|MEAN_US|MEAN_MS|PERCENT_1|PERCENT_2|REAL|DECIMAL)"
    r"|TW_COLUMNS_OF_\w+|REAL|MS|TIME|COUNT|DIFFERENCE_OF|EXACT|FIVE|OF_TIMES|OF_RATES)\("
    r'(?:(?!\s*TW_COL_)[\w() +]+,\s*)*?\s*((?:"(?:\\.|[^"\\])*"\s*)+)'
    r'|\bTW_COLUMN\(\s*\w+,\s*((?:"(?:\\.|[^"\\])*"\s*)+)')
NAMED = re.compile(r'#define TW_(?:COL|LABEL)_\w+ ("(?:\\.|[^"\\])*")')  # src/table/columns.h
UNITS = {"%", "TB/s", "GB/s"}
# Names that traces have for arguments and threads, whatever tables call them.
OF_TRACES = ("src/store/keys.def", "src/job/merge/", "src/trace/", "src/standalone/")
LABELS = "src/render/charts/"  # of axes
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
BY_HAND = ("documents.json", "trawl.sweep_run-1.json")


def sources(root):
    # A line that goes on is one.
    return {p: p.read_text(errors="replace").replace("\\\n", " \n") for p in sorted(root.glob("src/**/*"))
            if p.suffix in (".c", ".h", ".def") and "generated" not in p.parts}


def lines_by_module(root, texts):
    counts = collections.Counter()
    for path, text in texts.items():
        parts = path.relative_to(root / "src").parts
        counts["/".join(parts[:2]) if len(parts) > 2 and parts[0] in ("job", "study", "cli")
               else parts[0]] += text.count("\n")
    return counts


def header_literals(texts):
    """(path, header) of each literal that is a column's header and no declaration of one."""
    headers, spans = set(), collections.defaultdict(list)
    for path, text in texts.items():
        for match in itertools.chain(DECLARED.finditer(text), NAMED.finditer(text)):
            group = 1 if match[1] else 2
            headers.add("".join(LITERAL.findall(match[group])))
            spans[path].append(match.span(group))
        spans[path] += [m.span() for m in COMMENT.finditer(text)]
    special = {h for h in headers - UNITS if re.search(r"[ A-Z_%()/]", h) and re.search("[a-z]", h)}
    for path, text in texts.items():
        for match in LITERAL.finditer(text):
            if match[1] in special and not any(a <= match.start() < b for a, b in spans[path]):
                yield path, match[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    texts = sources(args.root)
    literals = [(p.relative_to(args.root), h) for p, h in header_literals(texts)
                if not str(p.relative_to(args.root)).startswith((*OF_TRACES, LABELS))]
    if args.check:
        for path, header in literals:
            print(f'{path}: "{header}" is the header of a column: src/table/columns.h names it')
        return 1 if literals else 0
    counts = lines_by_module(args.root, texts)
    for module, count in sorted(counts.items()):
        print(f"{count:7} src/{module}")
    print(f"{sum(counts.values()):7} src/ without generated tables")
    print(f"{sum(len((args.root / 'schema' / n).read_text().splitlines()) for n in BY_HAND):7} "
          "schema/ by hand")
    folders = collections.Counter(p.parent for p in texts)
    print(f"{max(folders.values()):7} sources in the largest folder, "
          f"{folders.most_common(1)[0][0].relative_to(args.root)}")
    if args.headers:
        for path, header in literals:
            print(f"{path}: {header}")
    print(f"{len(literals):7} headers of columns as literals elsewhere, "
          f"{len({h for _, h in literals})} different ones (src/standalone not counted)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
