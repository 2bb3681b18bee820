#!/usr/bin/env python3
"""Shows circular dependencies between files.

usage: tools/check_circles.py [--root DIR] [--most N] [--self-test]

A file needs those that it includes, and those that define a function it names. A circle of more than
N files (default 3) is a violation: none of them can be read, or tested, without the others. Exit
status 0 or 1.
"""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_includes import blank, functions  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include "([\w/]+\.(?:h|def))"', re.M)
NAME = re.compile(r"\b(?:tw|cli|trawl)_\w+")


def sources(root):
    """The text of each file by its path under src/."""
    return {str(path.relative_to(root / "src")): path.read_text(errors="replace")
            for path in sorted(root.glob("src/**/*.[ch]")) if ".gen." not in path.name}


def defined(text):
    """Names of the functions that a file defines for others."""
    lines = blank(text).split("\n")
    for first, name, _ in functions(lines):
        if NAME.fullmatch(name) and not lines[first - 1].startswith("static"):
            yield name


def needs(found):
    home = {name: path for path, text in found.items() for name in defined(text)}
    edges = {}
    for path, text in found.items():
        named = {home[n] for n in NAME.findall(blank(text)) if n in home} \
            if path.endswith(".c") else set()
        edges[path] = {n for n in named | set(INCLUDE.findall(text)) if n in found and n != path}
    return edges


def circles(edges):
    """Strongly connected parts of more than one, by Tarjan's algorithm without recursion."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for start in sorted(edges):
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on.discard(part[-1])
                    if len(part) > 1:
                        out.append(sorted(part))
    return sorted(out)


def self_test():
    chain = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}
    ring = {**chain, "d": {"a"}, "e": {"a"}}
    ok = circles(chain) == [] and circles(ring) == [["a", "b", "c", "d"]]
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in (("io/a.h", "void tw_a(void);\n"), ("io/b.h", "void tw_b(void);\n"),
                           ("io/a.c", '#include "io/a.h"\nvoid tw_a(void)\n{\n\ttw_b();\n}\n'),
                           ("io/b.c", '#include "io/a.h"\nvoid tw_b(void)\n{\n\ttw_a();\n}\n')):
            (root / "src/io").mkdir(parents=True, exist_ok=True)
            (root / "src" / path).write_text(text)
        ok = ok and circles(needs(sources(root))) == [["io/a.c", "io/b.c"]]
    print("self-test:", "passed" if ok else "FAILED")
    return not ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    edges = needs(sources(args.root))
    large = [c for c in circles(edges) if len(c) > args.most]
    for circle in large:
        print(f"{len(circle)} files need each other: {' '.join(circle)}")
    if not edges:
        print("src: no sources found")
    return 1 if large or not edges else 0


if __name__ == "__main__":
    sys.exit(main())
