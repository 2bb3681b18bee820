#!/usr/bin/env python3
"""Validates JSON documents against a schema; test_schema.py runs it.

usage: check_schema.py SCHEMA DOCUMENT...

One line a document that does not fit; exit status 0 or 1, 3 where the library is missing.
"""
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit(3)


def main(schema, *documents):
    schema = json.loads(pathlib.Path(schema).read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    bad = 0
    for path in documents:
        for error in validator.iter_errors(json.loads(pathlib.Path(path).read_text())):
            where = "/".join(str(p) for p in error.absolute_path)
            print(f"{path}: {where}: {error.message[:300]}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
