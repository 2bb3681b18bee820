#!/usr/bin/env python3
"""Turn data/*.tsv into src/data/*.gen.c.

usage: gen_tables.py [--check]

Each table is one fact a line, its source last; lines that begin with # are comments. --check compares with
what is there and changes nothing. Standard library only.
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def rows(name, columns):
    path = os.path.join(ROOT, "data", name + ".tsv")
    out = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.rstrip("\n").split("\t")
            if len(fields) != columns or not fields[0] or not fields[-1]:
                sys.exit(f"{path}:{number}: {columns} fields with a source are needed: {line!r}")
            out.append(fields)
    return out


def text(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def no_duplicates(name, keys):
    seen = set()
    for key in keys:
        if key in seen:
            sys.exit(f"data/{name}.tsv: {key!r} twice")
        seen.add(key)


def op_categories():
    table = rows("op_categories", 3)
    no_duplicates("op_categories", [r[0] for r in table])
    table.sort(key=lambda r: r[0].encode())
    lines = [f"\t{{ {text(op)}, {text(category)} }}," for op, category, _ in table]
    return "const struct tw_op_category tw_op_categories[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_op_category_count = {len(table)};\n"


def op_models():
    table = rows("op_models", 3)
    no_duplicates("op_models", [r[0] for r in table])
    table.sort(key=lambda r: r[0].encode())
    lines = [f"\t{{ {text(op)}, {text(model)} }}," for op, model, _ in table]
    return "const struct tw_op_model tw_op_models[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_op_model_count = {len(table)};\n"


def kernel_names():
    classes = {"communication": "TW_KERNEL_COMMUNICATION", "copy": "TW_KERNEL_COPY", "fill": "TW_KERNEL_FILL"}
    table = rows("kernel_names", 5)
    no_duplicates("kernel_names", [r[0] for r in table])
    lines = [f"\t{{ {text(p.lower())}, {classes[c]}, {text(collective)}, {text(library)} }},"
             for p, c, collective, library, _ in table]
    return "const struct tw_kernel_name tw_kernel_names[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_kernel_name_count = {len(table)};\n"


def collective_names():
    table = rows("collective_names", 3)
    no_duplicates("collective_names", [r[0] for r in table])
    lines = [f"\t{{ {text(n.lower())}, {text(c)} }}," for n, c, _ in table]
    return "const struct tw_collective_name tw_collective_names[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_collective_name_count = {len(table)};\n"


def dtypes():
    table = rows("dtypes", 4)
    no_duplicates("dtypes", [r[0] for r in table])
    lines = [f"\t{{ {text(n.lower())}, {int(b)}, {text('' if p == '-' else p)} }}," for n, b, p, _ in table]
    return "const struct tw_dtype tw_dtypes[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_dtype_count = {len(table)};\n"


def triton_ops():
    table = rows("triton_ops", 3)
    no_duplicates("triton_ops", [r[0] for r in table])
    table.sort(key=lambda r: r[0].encode())
    lines = [f"\t{{ {text(op)}, {int(cost)} }}," for op, cost, _ in table]
    return "const struct tw_triton_op tw_triton_ops[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_triton_op_count = {len(table)};\n"


PLATFORM_PEAKS = [f"matrix_{p}" for p in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp6", "fp4", "int8")] + \
    [f"vector_{p}" for p in ("fp64", "fp32", "fp16", "bf16")]


def platforms():
    marks = {"achievable": "TW_MARK_ACHIEVABLE", "datasheet": "TW_MARK_DATASHEET", "unverified": "TW_MARK_UNVERIFIED",
             "-": "TW_MARK_NONE"}
    table = rows("platforms", 5)
    no_duplicates("platforms", [(r[0], r[1], r[2] if r[1] == "device" else "") for r in table])
    names = list(dict.fromkeys(r[0] for r in table))
    if [r[0] for r in table] != sorted((r[0] for r in table), key=names.index):
        sys.exit("data/platforms.tsv: the facts of a platform stand together")
    lines = []
    for name, key, value, mark, source in table:
        if key == "device":
            number, pattern = 0.0, value
        elif key in ("mem_bw_gbps", "memory_gb", *PLATFORM_PEAKS):
            number, pattern = float(value), ""
        else:
            sys.exit(f"data/platforms.tsv: no such key: {key!r}")
        if (mark == "-") != (key == "device") or not (key == "device" or 0 < number < 1e6):
            sys.exit(f"data/platforms.tsv: {name}, {key}: {value!r}, {mark!r}")
        lines.append(f"\t{{ {text(name)}, {text(key)}, {number:.12g}, {text(pattern)}, {marks[mark]},\n"
                     f"\t  {text(source)} }},")
    peaks = "".join(f"\t{text(p)},\n" for p in PLATFORM_PEAKS)
    return f"const char *const tw_peak_keys[TW_PEAK_COUNT] = {{\n{peaks}}};\n\n" + \
        "const struct tw_platform_fact tw_platform_facts[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_platform_fact_count = {len(table)};\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__.strip())
    stale = 0
    for make in (op_categories, op_models, kernel_names, collective_names, dtypes, triton_ops, platforms):
        name = make.__name__
        body = f"/* Made from data/{name}.tsv by tools/gen_tables.py. DO NOT EDIT. */\n" \
               f'#include "data/tables.h"\n\n' + make()
        path = os.path.join(ROOT, "src", "data", name + ".gen.c")
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == body:
            continue
        if check:
            print(f"src/data/{name}.gen.c is not what data/{name}.tsv makes: run tools/gen_tables.py")
            stale = 1
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(body)
    return stale


if __name__ == "__main__":
    sys.exit(main())
