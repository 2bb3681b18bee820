#!/usr/bin/env python3
"""Writes schema/trawl.*-1.json: what `--format json` prints, as JSON Schema.

usage: tools/gen_schema.py [--check]

Tables come from the program ($TRAWL, build/release/trawl): the cases of tests/cli/test_schema.py are
run with `--format schema`, which prints what the columns' declarations allow. Which tables a
document has, in which order, and the rest is in schema/documents.json: sequences of
tables, "a|b" one of these, "a?" not always there, "*" alone any tables. --check writes nothing and names the files that
are not current. Exit status 0 or 1.
"""
import argparse
import collections
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/cli")]
import test_schema  # noqa: E402
from built import require_current  # noqa: E402
from support import TRAWL  # noqa: E402

SCHEMA = ROOT / "schema"


class Shown(test_schema.Schema):
    """The cases of the tests: what they print is collected, and nothing is held against it."""

    tables = collections.defaultdict(list)  # by document and name

    def assertEqual(self, *_):
        pass

    assertNotEqual = assertTrue = assertExit = assertEqual

    def validate(self, *_):
        return ""

    test_schemas_are_current = None  # that runs this


def show(*args, **options):
    """In place of support.trawl(): the same command, and before it the schema of what it prints."""
    if "--format" in args and args[args.index("--format") + 1] == "json":
        shown = [("schema" if a == "json" else a) for a in args]
        result = run(*shown, **options)
        if result.out.startswith("{"):
            shown = json.loads(result.out)
            properties = shown["properties"]
            Shown.column = shown["$defs"]["column"]
            document = properties["schema"]["const"].split(".")[1].split("/")[0]
            for table in properties["tables"]["prefixItems"]:
                known = Shown.tables[document, table["properties"]["name"]["const"]]
                if table not in known:
                    known.append(table)
    return run(*args, **options)


run, test_schema.trawl = test_schema.trawl, show


def collect():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Shown)
    result = unittest.TestResult()
    suite.run(result)
    for _, trace in result.errors:
        sys.exit(f"gen_schema: a case of tests/cli/test_schema.py fails:\n{trace}")
    return result.testsRun


def definitions(name, document):
    """Each table by the name of its definition; of one table with several sets of columns several."""
    defs, names = {"column": Shown.column}, collections.defaultdict(list)
    for (of, table), shown in Shown.tables.items():
        for number, definition in enumerate(shown, 1) if of == name else ():
            rows = definition["properties"]["rows"]
            rows.update(document.get("rows", {}).get(table, {}))
            rows["items"].update(document.get("each row", {}).get(table, {}))
            key = table if number == 1 else f"{table}_{number}"
            defs[key] = definition
            names[table].append(key)
    return defs, names


def one_of(names, alternatives):
    refs = [{"$ref": f"#/$defs/{key}"} for name in alternatives for key in names[name]]
    if not refs:
        sys.exit(f"gen_schema: no case shows {' or '.join(alternatives)}")
    return refs[0] if len(refs) == 1 else {"oneOf": refs}


def sequence(text, names):
    slots = text.split()
    always = [not slot.endswith("?") for slot in slots]
    slots = [slot.rstrip("?").split("|") for slot in slots]
    least = sum(always) or 1
    if all(always[:-1]):  # no other can replace a missing one
        return {"type": "array", "prefixItems": [one_of(names, slot) for slot in slots],
                "items": False, "minItems": least}
    return {"type": "array", "items": one_of(names, [n for slot in slots for n in slot]),
            "minItems": least,
            "allOf": [{"contains": {"properties": {"name": {"enum": slot}}},
                       "minContains": int(there), "maxContains": 1}
                      for slot, there in zip(slots, always)]}


def any_table():
    """A table with whichever columns its own list has."""
    return {"type": "object", "additionalProperties": False,
            "required": ["name", "meaning", "columns", "rows", "notes"],
            "properties": {"name": {"type": "string"}, "meaning": {"type": "string"},
                           "columns": {"type": "array", "items": {"$ref": "#/$defs/column"}},
                           "rows": {"type": "array", "items": {
                               "type": "object", "additionalProperties": {
                                   "type": ["string", "number", "null"]}}},
                           "notes": {"type": "array", "items": {"type": "string"}}}}


def schema(name, document):
    defs, names = definitions(name, document)
    if document["tables"] == ["*"]:
        defs, names["*"] = {"column": Shown.column, "table": any_table()}, ["table"]
        sequences = [{"type": "array", "items": one_of(names, "*")}]
    else:
        sequences = [sequence(text, names) for text in document["tables"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:trawl:schema:{name}:1", "title": f"trawl.{name}/1",
            "description": document["description"], "type": "object",
            "additionalProperties": False, "required": ["schema", "tables"],
            "properties": {"schema": {"const": f"trawl.{name}/1"},
                           "tables": sequences[0] if len(sequences) == 1 else {"oneOf": sequences}},
            "$defs": defs}


def laid_out(value, indent=0):
    """JSON with what fits a line on one."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) + indent <= 100 or not isinstance(value, (dict, list)):
        return text
    inner = "\n" + " " * (indent + 1)
    if isinstance(value, dict):
        members = [f"{json.dumps(k)}: {laid_out(v, indent + 1)}" for k, v in value.items()]
        return "{" + inner + ("," + inner).join(members) + "\n" + " " * indent + "}"
    return "[" + inner + ("," + inner).join(laid_out(v, indent + 1) for v in value) + \
        "\n" + " " * indent + "]"


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--check", action="store_true")
    options = ap.parse_args()
    require_current(TRAWL)
    if not collect():
        sys.exit("gen_schema: tests/cli/test_schema.py has no cases")
    stale = 0
    for name, document in json.loads((SCHEMA / "documents.json").read_text()).items():
        path = SCHEMA / f"trawl.{name}-1.json"
        text = laid_out(schema(name, document)) + "\n"
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if options.check:
            print(f"schema/{path.name} is not current: run tools/gen_schema.py")
        else:
            path.write_text(text)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
