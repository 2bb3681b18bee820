#!/usr/bin/env python3
"""Turn data/*.tsv, data/nsys_rules/, data/replay.py, data/report.css and data/compare.* into src/data/generated/.

usage: gen_tables.py [--check]

Each table is one fact a line, its source last; lines that begin with # are comments. --check compares with
what is there and changes nothing. Standard library only.
"""
import base64
import hashlib
import os
import re
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


def at_most(count, limit):
    """A line of C that does not compile where the table has more than the code has room for."""
    return f'_Static_assert({count} <= {limit}, "{limit} is too small for the data");\n\n'


def by_operation(table, what):
    """Names in byte order, for a search; and patterns, with a *, apart, the longest of them first."""
    no_duplicates(table, [r[0] for r in rows(table, 3)])
    exact = sorted((r for r in rows(table, 3) if "*" not in r[0]), key=lambda r: r[0].encode())
    patterns = sorted((r for r in rows(table, 3) if "*" in r[0]), key=lambda r: (-len(r[0]), r[0]))
    parts = []
    for array, found in ((table, exact), (what + "_patterns", patterns)):
        lines = [f"\t{{ {text(r[0].lower() if found is patterns else r[0])}, {text(r[1])} }}," for r in found]
        count = what + ("_count" if array == table else "_pattern_count")
        parts.append(f"const struct tw_{what} tw_{array}[] = {{\n" + "\n".join(lines) +
                     f"\n}};\n\nconst size_t tw_{count} = {len(found)};\n")
    return "\n".join(parts)


def op_categories():
    names = {r[1] for r in rows("op_categories", 3)}
    return at_most(len(names), "TW_MAX_OP_CATEGORY_NAMES") + by_operation("op_categories", "op_category")


def op_models():
    return by_operation("op_models", "op_model")


ATEN_RESULTS = ("same", "none", "one", "at", "dims", "axis", "last", "list", "number", "range", "sum", "each", "half",
                "times", "repeat", "interleave", "triangle", "pad", "spatial", "pool", "avgpool", "grid", "loss",
                "topk", "rows", "index", "along", "put", "bag", "table")


def aten_ops():
    table = rows("aten_ops", 6)
    no_duplicates("aten_ops", [r[0] for r in table])
    table.sort(key=lambda r: r[0].encode())
    lines = []
    for op, inputs, result, types, operations, _ in table:
        kind, _, position = result.partition(":")
        if kind not in ATEN_RESULTS or not re.fullmatch(r"[rcagxmwsRAMO-]+", inputs):
            sys.exit(f"data/aten_ops.tsv: {op}: what is {inputs} or {result}?")
        if not re.fullmatch(r"-|((in|float|bool|byte|long|pair|f|n?\d)(,|$))+", types):
            sys.exit(f"data/aten_ops.tsv: {op}: no types: {types}")
        lines.append(f"\t{{ {text(op)}, {text(inputs)}, TW_ATEN_{kind.upper()}, {int(position or 0)}, "
                     f"{text(types)}, {int(operations)} }},")
    return "const struct tw_aten_op tw_aten_ops[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_aten_op_count = {len(table)};\n"


def element_types():
    table = rows("element_types", 3)
    no_duplicates("element_types", [r[0] for r in table])
    for pattern, form, _ in table:
        if form not in ("type", "types", "size"):
            sys.exit(f"data/element_types.tsv: {pattern}: no such form: {form!r}")
    lines = [f"\t{{ {text(p)}, TW_ELEMENT_{form.upper()} }}," for p, form, _ in table]
    return "const struct tw_element_type tw_element_types[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_element_type_count = {len(table)};\n"


def kernel_names():
    classes = {"communication": "TW_KERNEL_COMMUNICATION", "copy": "TW_KERNEL_COPY", "fill": "TW_KERNEL_FILL",
               "compute": "TW_KERNEL_COMPUTE", "unknown": "TW_KERNEL_UNKNOWN"}
    table = rows("kernel_names", 5)
    no_duplicates("kernel_names", [r[0] for r in table])
    for pattern in (r[0] for r in table if "^" in r[0][1:]):
        sys.exit(f"data/kernel_names.tsv: {pattern!r}: ^ must be at the beginning")
    lines = [f"\t{{ {text(p.lower())}, {classes[c]}, {text(collective)}, {text(library)} }},"
             for p, c, collective, library, _ in table]
    return "const struct tw_kernel_name tw_kernel_names[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_kernel_name_count = {len(table)};\n"


def word_mask(words):
    """As mask_of() in src/data/kernel_category.c."""
    mask = 0
    for word in words:
        mask |= 1 << ((ord(word[0]) * 7 + ord(word[-1]) * 3 + len(word) + 1) & 63)
    return mask


def as_words(pattern):
    """"* layer norm *" as "*<layer><norm>*"."""
    return "".join("*" if w == "*" else f"<{w}>" for w in pattern.split())


def kernel_categories():
    table = rows("kernel_categories", 4)
    no_duplicates("kernel_categories", [tuple(r[:2]) for r in table])
    names = list(dict.fromkeys(["other", "communication", "copy", "fill"] + [r[2] for r in table]))
    lines = []
    for function, inside, category, _ in table:
        if not re.fullmatch(r"[a-z0-9* ]+", function) or not re.fullmatch(r"-|=? ?[a-z0-9* ]+", inside):
            sys.exit(f"data/kernel_categories.tsv: {function!r}, {inside!r}: words of lower case, numbers and *")
        core = "NULL"
        if inside[0] == "=":
            if not re.fullmatch(r"\* [^*]+ \*", function):
                sys.exit(f"data/kernel_categories.tsv: {function!r} with a list: '* words *'")
            core = text(as_words(function[2:-2]))
        mask = word_mask(w for w in function.split() if w != "*")
        lines.append(f"\t{{ {mask:#x}, {text(as_words(function))},\n\t  "
                     f"{'NULL' if inside == '-' else text(as_words(inside.lstrip('= ')))}, {core}, "
                     f"{names.index(category)} }},")
    return "const char *const tw_kernel_category_names[] = {\n" + "".join(f"\t{text(n)},\n" for n in names) + \
        f"}};\n\nconst size_t tw_kernel_category_count = {len(names)};\n\n" \
        "const struct tw_kernel_pattern tw_kernel_patterns[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_kernel_pattern_count = {len(table)};\n"


def collective_names():
    table = rows("collective_names", 3)
    no_duplicates("collective_names", [r[0] for r in table])
    lines = [f"\t{{ {text(n.lower())}, {text(c)} }}," for n, c, _ in table]
    return "const struct tw_collective_name tw_collective_names[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_collective_name_count = {len(table)};\n"


def collective_ranks():
    table = rows("collective_ranks", 3)
    no_duplicates("collective_ranks", [r[0] for r in table])
    for kind, whose, _ in table:
        if whose not in ("own", "root", "peer"):
            sys.exit(f"data/collective_ranks.tsv: {kind}: not own, root or peer: {whose!r}")
    lines = [f"\t{text(kind)}," for kind, whose, _ in table if whose == "own"]
    return "const char *const tw_own_rank_kinds[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_own_rank_kind_count = {len(lines)};\n"


def metrics_tags():
    table = rows("metrics_tags", 3)
    no_duplicates("metrics_tags", [r[0] for r in table])
    lines = [f"\t{{ {text(word.lower())}, TW_METRICS_{category.upper()} }}," for word, category, _ in table]
    return "const struct tw_metrics_tag tw_metrics_tags[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_metrics_tag_count = {len(table)};\n"


def host_names():
    kinds = ("synchronising", "graph_launch", "data_loading", "container", "python_code",
             "gradient_buckets", "framework_range", "autograd_thread", "launch",
             "no_launch", "communication", "ordinary", "peer_copy", "waits_for_device", "waits_for_stream",
             "blocking_copy", "allocation", "module_load", "implicit_wait", "event_record", "event_wait",
             "worker_loading", "checkpointing", "recomputation", "compilation", "optimizer_step", "step",
             "capture_begin", "capture_end")
    table = rows("host_names", 3)
    no_duplicates("host_names", [tuple(r[:2]) for r in table])
    for pattern, kind, _ in table:
        if kind not in kinds:
            sys.exit(f"data/host_names.tsv: {pattern}: no such kind: {kind!r}")
    lines = [f"\t{{ {text(p.lower())}, TW_HOST_{kind.upper()} }}," for p, kind, _ in table]
    return "const struct tw_host_name_kind tw_host_name_kinds[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_host_name_kind_count = {len(table)};\n"


def frames():
    table = rows("frames", 3)
    no_duplicates("frames", [(r[0].lower(), r[1] == "passing") for r in table])
    for pattern, kind, _ in table:
        if kind not in ("framework", "library", "wrapper", "passing"):
            sys.exit(f"data/frames.tsv: {pattern}: no such kind: {kind!r}")
    parts = []
    for name, passing in (("frame", False), ("passing_frame", True)):
        lines = [f"\t{text(r[0].lower())}," for r in table if (r[1] == "passing") == passing]
        parts.append(f"const char *const tw_{name}_patterns[] = {{\n" + "\n".join(lines) +
                     f"\n}};\n\nconst size_t tw_{name}_pattern_count = {len(lines)};\n")
    return "\n".join(parts)


def delays():
    names = ("launch", "stream", "event", "wait", "inferred", "sync", "host", "duration", "handover", "late", "fetch",
             "fetch_waits", "depth")
    table = rows("delays", 5)
    no_duplicates("delays", [tuple(r[:2]) for r in table])
    vendors = list(dict.fromkeys(r[0] for r in table))
    value = {(r[0], r[1]): int(r[2]) for r in table}
    if sorted(value) != sorted((v, n) for v in vendors for n in names):
        sys.exit("data/delays.tsv: each vendor has each delay")
    lines = [f"\t[TW_VENDOR_{v.upper()}] = {{ " + ", ".join(f".{n} = {value[v, n]}" for n in names) + " },"
             for v in vendors]
    return "const struct tw_delays tw_delays[] = {\n" + "\n".join(lines) + "\n};\n"


def links():
    table = rows("links", 5)
    no_duplicates("links", [r[0] for r in table])
    lines = [f"\t{{ {text(p)}, {host}, {node} }}," for p, host, node, _, _ in table]
    return "const struct tw_links tw_platform_links[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_link_count = {len(table)};\n"


def finding_kinds():
    with open(os.path.join(ROOT, "src/diagnose/kinds.def"), encoding="utf-8") as f:
        codes = re.findall(r"^TW_FINDING_KIND\((\w+)\)", f.read(), re.M)
    table = rows("finding_kinds", 6)
    kinds = [r for r in table if ":" not in r[0]]
    if [r[0] for r in kinds] != codes:
        sys.exit("data/finding_kinds.tsv: the kinds of src/diagnose/kinds.def, in their order")
    variants = [r for r in table if ":" in r[0]]
    for code in [r[0] for r in variants]:
        if code.split(":")[0] not in codes:
            sys.exit(f"data/finding_kinds.tsv: {code}: no such kind")

    def words(r, code):
        _, how, title, training, inference, assumes = r
        if how not in ("replay", "bound", "estimate", "observation"):
            sys.exit(f"data/finding_kinds.tsv: {r[0]}: no such gain: {how!r}")
        return f"{{ {text(code)}, {text(how)}, {text(title)},\n\t  {text(training)},\n\t  " \
            f"{text(training if inference == '=' else inference)},\n\t  {text(assumes)} }}"
    out = "const struct tw_finding_words tw_finding_words[] = {\n"
    out += "\n".join(f"\t{words(r, r[0])}," for r in kinds) + "\n};\n"
    for r in variants:
        kind, variant = r[0].split(":")
        out += f"\nconst struct tw_finding_words tw_words_{kind}_{variant} =\n\t{words(r, kind)};\n"
    return out


def copy_directions():
    table = rows("copy_directions", 4)
    no_duplicates("copy_directions", [r[0].lower() for r in table])
    lines = [f"\t{{ {text(p.lower())}, TW_COPY_{direction}, {'true' if devices == 'two' else 'false'} }},"
             for p, direction, devices, _ in table]
    return "const struct tw_copy_name tw_copy_names[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_copy_name_count = {len(table)};\n"


SERVED = tuple(of + what for of in ("c", "g") for what in ("", "_sq", "_sk", "_sqsq", "_sqsk"))


def phases():
    """Values by number, in the order of enum tw_served: "{c}" of a pattern is the first."""
    names = ("prefill", "decode", "mixed", "diffusion", "requests")
    table = rows("phases", 5)
    no_duplicates("phases", [r[0] for r in table])
    lines = []
    for pattern, family, phase, values, _ in table:
        given = {} if values == "-" else dict(v.split("=") for v in values.split(" "))
        lists = set(re.findall(r"{([a-z])\*}", pattern))
        if phase not in names or set(given) - set(SERVED) or \
                any(not re.fullmatch(r"\d+|[a-z]\.\w+", v) or (v[1:2] == "." and v[0] not in lists)
                    for value in given.values() for v in value.split("|")):
            sys.exit(f"data/phases.tsv: {pattern}: what is {phase} or {values}?")
        numbers = re.sub(r"{(\w+)}", lambda m: "{%s}" % (SERVED.index(m[1]) if m[1] in SERVED else "-"), pattern)
        lines.append(f"\t{{ {text(numbers)}, {text(family)}, " +
                     ("TW_PHASES" if phase == "requests" else f"TW_PHASE_{phase.upper()}") +
                     ",\n\t  { " + ", ".join(or_none(given.get(name, "-")) for name in SERVED) + " } },")
    return "const char *const tw_phase_names[TW_PHASES] = { " + ", ".join(map(text, names[:-1])) + \
        " };\n\nconst struct tw_phase_rule tw_phase_rules[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_phase_rule_count = {len(table)};\n"


def nsys_numbers():
    table = rows("nsys_numbers", 4)
    no_duplicates("nsys_numbers", [(what, number) for what, number, _, _ in table])
    lines = [f"\t{{ TW_NSYS_{what.upper()}, {int(number)}, {text(name)} }}," for what, number, name, _ in table]
    return at_most(max(len(r[2].encode()) + 1 for r in table), "TW_NSYS_NAME_BYTES") + \
        "const struct tw_nsys_number tw_nsys_numbers[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_nsys_number_count = {len(table)};\n"


def dtypes():
    kinds = {"bool": "TW_BOOL", "integer": "TW_INTEGER", "float": "TW_FLOAT", "complex": "TW_COMPLEX",
             "-": "TW_NO_KIND"}
    table = rows("dtypes", 7)
    no_duplicates("dtypes", [r[0] for r in table])
    no_duplicates("dtypes", [r[5] for r in table if r[5] != "-"])
    lines = [f"\t{{ {text(n.lower())}, {int(b)}, {text('' if p == '-' else p)}, {int(v)}, {kinds[k]}, "
             f"{-1 if c == '-' else int(c)} }}," for n, b, p, v, k, c, _ in table]
    return "const struct tw_dtype tw_dtypes[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_dtype_count = {len(table)};\n"


def triton_ops():
    table = rows("triton_ops", 4)
    no_duplicates("triton_ops", [r[0] for r in table])
    table.sort(key=lambda r: r[0].encode())
    lines = [f"\t{{ {text(op)}, {int(cost)}, {int(inputs)} }}," for op, cost, inputs, _ in table]
    return at_most(max(r[0].count("_") + 1 for r in table), "TW_TRITON_MOST_PARTS") + \
        "const struct tw_triton_op tw_triton_ops[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_triton_op_count = {len(table)};\n"


PLATFORM_IDENTITY = ["units", "compute"]
PLATFORM_PEAKS = [f"matrix_{p}" for p in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp6", "fp4", "int8")] + \
    [f"vector_{p}" for p in ("fp64", "fp32", "fp16", "bf16")]


def platforms():
    marks = {"achievable": "TW_MARK_ACHIEVABLE", "datasheet": "TW_MARK_DATASHEET", "unverified": "TW_MARK_UNVERIFIED",
             "-": "TW_MARK_NONE"}
    table = rows("platforms", 5)
    no_duplicates("platforms", [(r[0], r[1], r[2] if r[1] == "device" else "") for r in table])
    names = list(dict.fromkeys(r[0] for r in table))
    if [r[0] for r in table] != sorted((r[0] for r in table), key=names.index):
        sys.exit("data/platforms.tsv: the facts of a platform must be adjacent")
    lines = []
    for name, key, value, mark, source in table:
        if key == "device":
            number, pattern = 0.0, value
        elif key in ("mem_bw_gbps", "memory_gb", *PLATFORM_IDENTITY, *PLATFORM_PEAKS):
            number, pattern = float(value), ""
        else:
            sys.exit(f"data/platforms.tsv: no such key: {key!r}")
        if (mark == "-") != (key in ("device", *PLATFORM_IDENTITY)) or not (key == "device" or 0 < number < 1e6):
            sys.exit(f"data/platforms.tsv: {name}, {key}: {value!r}, {mark!r}")
        lines.append(f"\t{{ {text(name)}, {text(key)}, {number:.12g}, {text(pattern)}, {marks[mark]},\n"
                     f"\t  {text(source)} }},")
    peaks = "".join(f"\t{text(p)},\n" for p in PLATFORM_PEAKS)
    return f"const char *const tw_peak_keys[TW_PEAK_COUNT] = {{\n{peaks}}};\n\n" + \
        "const struct tw_platform_fact tw_platform_facts[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_platform_fact_count = {len(table)};\n"


def facts():
    """Names of the facts that conditions may ask, in their order."""
    with open(os.path.join(ROOT, "src", "data", "facts.def"), encoding="utf-8") as f:
        return re.findall(r"^TW_FACT\((\w+),", f.read(), re.M)


OPERATORS = {">": "TW_OVER", ">=": "TW_AT_LEAST", "<": "TW_BELOW", "<=": "TW_AT_MOST", "=": "TW_IS"}
MOST_CONDITIONS = 6  # of struct tw_condition in src/data/tables.h


def limits_by_name():
    return {r[0]: r[1] for r in rows("limits", 6)}


def conditions(where, source, known):
    """"a > 1 and known(b)" as C; "-" is no condition."""
    out = []
    for part in [] if source == "-" else source.split(" and "):
        asked = re.fullmatch(r"(known|unknown)\((\w+)\)", part)
        compared = re.fullmatch(r"(\w+) (>=|<=|[<>=]) (-?\d+(?:\.\d+)?|[A-Z_]+)", part)
        if not asked and not compared:
            sys.exit(f"data/{where}: no condition: {part!r}")
        fact = asked[2] if asked else compared[1]
        if fact not in known:
            sys.exit(f"data/{where}: no such fact: {fact!r}; see src/data/facts.def")
        number = compared and limits_by_name().get(compared[3].lower(), compared[3])
        if compared and not re.fullmatch(r"[-\d.]+", number):
            sys.exit(f"data/{where}: no such limit: {number!r}; see data/limits.tsv")
        out.append(f"{{ TW_FACT_{fact}, TW_{asked[1].upper()}, 0 }}" if asked else
                   f"{{ TW_FACT_{fact}, {OPERATORS[compared[2]]}, {number} }}")
    if len(out) > MOST_CONDITIONS:
        sys.exit(f"data/{where}: more than {MOST_CONDITIONS} conditions: {source!r}")
    return f"{len(out)}, {{ {', '.join(out) or '{ 0, TW_KNOWN, 0 }'} }}"


def or_none(s):
    return "NULL" if s == "-" else text(s)


def levels():
    known, table = set(facts()), rows("levels", 5)
    ladders = list(dict.fromkeys(r[0] for r in table))
    if [r[0] for r in table] != sorted((r[0] for r in table), key=ladders.index):
        sys.exit("data/levels.tsv: the rows of a ladder must be adjacent")
    for ladder in ladders:
        if [r[2] for r in table if r[0] == ladder].index("-") != sum(r[0] == ladder for r in table) - 1:
            sys.exit(f"data/levels.tsv: {ladder}: the last row, and only that one, always holds")
    lines = [f"\t{{ {text(ladder)}, {text(level)}, {or_none(words)},\n"
             f"\t  {conditions('levels.tsv', condition, known)} }},"
             for ladder, level, condition, words, _ in table]
    return "const struct tw_level tw_levels[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_level_count = {len(table)};\n"


def limits():
    """A header: names that are there when C compiles, so that integers stay integers."""
    table = rows("limits", 6)
    no_duplicates("limits", [r[0] for r in table])
    lines = []
    for name, value, unit, meaning, told, _ in table:
        if not re.fullmatch(r"[a-z0-9_]+", name) or not re.fullmatch(r"\d+(\.\d+)?", value) or not unit or not meaning:
            sys.exit(f"data/limits.tsv: {name}: a name, a number, its unit and its meaning are needed")
        if told != "-" and "#" not in told:
            sys.exit(f"data/limits.tsv: {name}: no # in the quoted words: {told!r}")
        lines.append(f"/* {unit}: {meaning} */\n#define TW_LIMIT_{name.upper()} {value}\n")
    return "\n".join(lines)


def rules():
    known, table = set(facts()), rows("rules", 7)
    no_duplicates("rules", [(r[0], r[1]) for r in table])
    for r in table:
        for fact in re.findall(r"\{(.*?)\}", " ".join(r[3:6])):
            if fact not in known:
                sys.exit(f"data/rules.tsv: {r[1]}: no such fact: {fact!r}; see src/data/facts.def")
    lines = [f"\t{{ {text(scope)}, {text(name)}, {or_none(issue)},\n\t  {or_none(algorithmic)},\n\t  "
             f"{or_none(kernel)},\n\t  {conditions('rules.tsv', condition, known)} }},"
             for scope, name, condition, issue, algorithmic, kernel, _ in table]
    scopes, families = [r[0] for r in table], {r[1] for r in rows("category_families", 5)} | {"any_overall"}
    return at_most(f"{max(map(scopes.count, families))} + TW_ADVICE_PARTS", "TW_MOST_ADVICE") + \
        "const struct tw_rule tw_rules[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_rule_count = {len(table)};\n"


def analysis_categories():
    table = rows("analysis_categories", 6)
    no_duplicates("analysis_categories", [(r[0], r[1]) for r in table])
    for r in table:
        if not re.fullmatch(r"[a-z0-9_]+", r[2]):
            sys.exit(f"data/analysis_categories.tsv: {r[2]!r} names files: lower case, digits, _")
    lines = [f"\t{{ {text(category)}, {text(pattern.lower())}, {text(name)}, {text(display)}, {text(skill)} }},"
             for category, pattern, name, display, skill, _ in table]
    return "const struct tw_analysis_category tw_analysis_categories[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_analysis_category_count = {len(table)};\n"


def libraries():
    table = rows("libraries", 4)
    no_duplicates("libraries", [(r[0], r[1]) for r in table])
    kinds = {"operation": "false", "kernel": "true"}
    lines = [f"\t{{ {kinds[of]}, {text(p.lower())}, {text(library)} }}," for of, p, library, _ in table]
    return "const struct tw_library tw_libraries[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_library_count = {len(table)};\n"


# enum tw_trait of src/data/tables.h
TRAITS = ("quantized", "flash", "paged", "fused_attention", "layout_transpose", "softmax", "gemm", "triton_pointwise",
          "triton_reduction", "triton_persistent", "moe_routing", "batch_norm", "layer_norm", "power", "mean", "rsqrt", "copy",
          "host_copy", "graph_launch", "no_operation", "backward", "training", "infrastructure",
          "weight", "batched", "group_norm", "rms_norm", "compiled_region", "compiled", "kind_attention", "kind_moe",
          "kind_gemm", "kind_norm", "unfused_attention")


def name_traits():
    table = rows("name_traits", 4)
    no_duplicates("name_traits", [tuple(r[:3]) for r in table])
    for r in table:
        if r[0] not in TRAITS or r[1] not in ("operation", "kernel"):
            sys.exit(f"data/name_traits.tsv: no such trait: {r[0]!r} of {r[1]!r}")
    lines = [f"\t{{ TW_TRAIT_{trait.upper()}, {'true' if of == 'kernel' else 'false'}, {text(p.lower())} }},"
             for trait, of, p, _ in table]
    return "const struct tw_name_trait tw_name_traits[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_name_trait_count = {len(table)};\n"


def category_families():
    table = rows("category_families", 5)
    no_duplicates("category_families", [r[0] for r in table])
    lines = [f"\t{{ {text(p.lower())}, {text(family)}, {or_none(title)}, {or_none(subject)} }},"
             for p, family, title, subject, _ in table]
    return "const struct tw_category_family tw_category_families[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_category_family_count = {len(table)};\n"


def op_arguments():
    """Rows of one name stay in their order; the arguments of all are in one array."""
    table = rows("op_arguments", 3)
    no_duplicates("op_arguments", [(r[0], r[1]) for r in table])
    table.sort(key=lambda r: r[0].encode())
    arguments, lines = [], []
    for op, schema, _ in table:
        parts = schema.split(", ")
        names = [part.split(" ") for part in parts if part != "*"]
        if any(len(name) != 2 for name in names) or parts.count("*") > 1:
            sys.exit(f"data/op_arguments.tsv: {op}: no arguments: {schema!r}")
        positional = parts.index("*") if "*" in parts else len(parts)
        lines.append(f"\t{{ {text(op)}, {len(arguments)}, {len(names)}, {positional} }},")
        arguments += names
    return "const struct tw_op_argument tw_op_argument_list[] = {\n" + \
        "\n".join(f"\t{{ {text(kind)}, {text(name)} }}," for kind, name in arguments) + \
        "\n};\n\nconst struct tw_op_arguments tw_op_arguments_known[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_op_arguments_count = {len(table)};\n"


def replay_script():
    with open(os.path.join(ROOT, "data", "replay.py"), encoding="utf-8") as f:
        lines = [f"\t{text(line)}," for line in f.read().split("\n")[:-1]]
    return "const char *const tw_replay_script[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_replay_script_lines = {len(lines)};\n"


def report_style():
    with open(os.path.join(ROOT, "data", "report.css"), encoding="utf-8") as f:
        css = f.read()
    if "</" in css or "url(" in css or "@import" in css:
        sys.exit("data/report.css: it is embedded in a page and must not load anything")
    lines = [f"\t{text(line)}," for line in css.replace("\t", "  ").split("\n")[:-1]]
    return "const char *const tw_report_style[] = {\n" + "\n".join(lines) + \
        f"\n}};\n\nconst size_t tw_report_style_lines = {len(lines)};\n"


def page_part(name, file, never):
    """A file embedded in a page unchanged, by lines, and its hash for the policy."""
    with open(os.path.join(ROOT, "data", file), encoding="utf-8") as f:
        whole = f.read().replace("\t", "  ")
    if any(word in whole for word in never):
        sys.exit(f"data/{file}: it is embedded in a page and must not load anything")
    lines = whole.split("\n")[:-1]
    digest = hashlib.sha256(("\n" + whole).encode()).digest()
    return f"const char *const tw_{name}[] = {{\n" + "\n".join(f"\t{text(line)}," for line in lines) + \
        f"\n}};\n\nconst size_t tw_{name}_lines = {len(lines)};\n\n" \
        f"const char tw_{name}_hash[] = \"sha256-{base64.b64encode(digest).decode()}\";\n"


def compare_style():
    return page_part("compare_style", "compare.css", ("</", "url(", "@import"))


def compare_script():
    return page_part("compare_script", "compare.js", ("</", "<!--", "innerHTML", "eval(", "fetch(", "import("))


NSYS_RULES = ("pithtrain", "megatron", "nemo", "pytorch", "torchtitan")  # the default first; of equals the first


def nsys_rules():
    """The rules of each trainer as one text; src/nsys/rules.c parses them, as those of users."""
    out = []
    folder = os.path.join(ROOT, "data", "nsys_rules")
    if sorted(os.listdir(folder)) != sorted(name + ".tsv" for name in NSYS_RULES):
        sys.exit(f"data/nsys_rules/ does not hold just {', '.join(NSYS_RULES)}")
    for name in NSYS_RULES:
        with open(os.path.join(folder, name + ".tsv"), encoding="utf-8") as f:
            lines = "\n".join("\t  " + text(line.replace("\t", "\0")).replace("\0", "\\t")[:-1] + '\\n"'
                              for line in f.read().split("\n")[:-1])
        out.append(f"\t{{ {text(name)},\n{lines} }},")
    return "const struct tw_nsys_preset tw_nsys_presets[] = {\n" + "\n".join(out) + \
        f"\n}};\n\nconst size_t tw_nsys_preset_count = {len(NSYS_RULES)};\n" + \
        f'\n_Static_assert({len(NSYS_RULES)} <= 32, "a bit each, see survey.c");\n'


SOURCES = {"replay_script": "replay.py", "report_style": "report.css", "compare_style": "compare.css",
           "compare_script": "compare.js", "nsys_rules": "nsys_rules/"}  # of what is no table
HEADERS = (limits,)
INCLUDES = {"phases": "phases"}  # what declares it, if not tables.h


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__.strip())
    stale = 0
    for make in (op_categories, op_models, aten_ops, element_types, kernel_names, kernel_categories, collective_names, collective_ranks, host_names, frames, delays, links, finding_kinds, copy_directions, phases, nsys_numbers, dtypes,
                 triton_ops, platforms, levels, limits, rules, analysis_categories, libraries, name_traits,
                  category_families, metrics_tags, op_arguments, replay_script, report_style, compare_style,
                  compare_script, nsys_rules):
        name = make.__name__
        source = SOURCES.get(name, name + ".tsv")
        file = name + (".gen.h" if make in HEADERS else ".gen.c")
        body = f"/* Made from data/{source} by tools/gen_tables.py. DO NOT EDIT. */\n" + \
               ("" if make in HEADERS else f'#include "data/{INCLUDES.get(name, "tables")}.h"\n') + "\n" + make()
        path = os.path.join(ROOT, "src", "data", "generated", file)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == body:
            continue
        if check:
            print(f"src/data/generated/{file} is not what data/{source} makes: run tools/gen_tables.py")
            stale = 1
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(body)
    return stale


if __name__ == "__main__":
    sys.exit(main())
