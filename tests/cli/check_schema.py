#!/usr/bin/env python3
"""Validates JSON documents against a schema; test_schema.py imports it, or runs it.

usage: check_schema.py SCHEMA DOCUMENT...

One line a document that does not fit; exit status 0 or 1, 3 where the library is missing.
"""
import functools
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    if __name__ != "__main__":
        raise
    sys.exit(3)


@functools.lru_cache(maxsize=None)
def validator(schema):
    schema = json.loads(pathlib.Path(schema).read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def complaints(schema, documents):
    for path in documents:
        document = json.loads(pathlib.Path(path).read_text())
        for error in validator(schema).iter_errors(document):
            where = "/".join(str(p) for p in error.absolute_path)
            yield f"{path}: {where}: {error.message[:300]}"


def main(schema, *documents):
    found = list(complaints(schema, documents))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
