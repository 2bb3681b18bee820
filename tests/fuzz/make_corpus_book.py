#!/usr/bin/env python3
"""Writes the corpus of the fuzzer of workbooks: a small part for each form and mistake.

Usage: make_corpus_book.py DIRECTORY   (default: corpus/fuzz_book beside this script)
"""
import io
import os
import sys
import zipfile

SHEET, TEXTS, BOOK, PLACES, ARCHIVE = b"2", b"3", b"4", b"0", b"1"  # what 5 leaves
TYPE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def sheet(rows):
    return SHEET + b"<worksheet><sheetData>" + rows + b"</sheetData></worksheet>"


def archive():
    """A whole one, stored, so that its XML can be altered in place."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, text in (
                ("xl/workbook.xml", b'<workbook><sheets><sheet name="S" id="a"/></sheets></workbook>'),
                ("xl/_rels/workbook.xml.rels", b'<Relationships><Relationship Id="a" Type="' + TYPE +
                 b'worksheet" Target="/s.xml"/></Relationships>'),
                ("s.xml", b"<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>")):
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return out.getvalue()


SEEDS = {
    "empty": b"",
    "cells": sheet(b'<row r="1"><c r="A1" t="s"><v>1</v></c><c r="B1" t="b"><v>1</v></c>'
                   b'<c r="C1" t="e"><v>#N/A</v></c><c r="D1" t="str"><f>A1</f><v>x</v></c>'
                   b'<c r="E1"><v>0.10000000000000001</v></c></row>'),
    "inline": sheet(b'<row><c t="inlineStr"><is><r><t>a</t></r><r><t>b_x000A_</t></r>'
                    b"<rPh><t>no</t></rPh></is></c></row>"),
    "sparse": sheet(b'<row r="3"><c r="AB3"><v>1</v></c></row><row><c><v>-2.50e3</v></c></row>'),
    "prefix": SHEET + b'<x:worksheet xmlns:x="u"><x:sheetData><x:row><x:c><x:v>1</x:v></x:c></x:row>'
                      b"</x:sheetData></x:worksheet>",
    "far": sheet(b'<row><c r="A1"><v>1</v></c><c r="XFD1048576"><v>2</v></c></row>'),
    "beyond": sheet(b'<row><c r="ZZZ9999999"><v>1</v></c></row>'),
    "no_text": sheet(b'<row><c t="s"><v>99</v></c></row>'),
    "doctype": SHEET + b'<!DOCTYPE w [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><worksheet>&b;</worksheet>',
    "cut": SHEET + b"<worksheet><sheetData><row><c",
    "texts": TEXTS + b"<sst><si><t>a</t></si><si><r><t>b</t></r><r><t>c</t></r></si></sst>",
    "few_texts": TEXTS + b"<sst/>",
    "sheets": BOOK + b'<workbook><sheets><sheet name="S" id="a"/><sheet name="S" id="a"/>'
                     b'<sheet name="" id="b"/><sheet name="T" id="none"/></sheets></workbook>',
    "places": PLACES + b'<Relationships><Relationship Id="a" Type="' + TYPE +
              b'worksheet" Target="../xl/./worksheets/sheet1.xml"/></Relationships>',
    "up": PLACES + b'<Relationships><Relationship Id="a" Type="worksheet" Target="../../../x"/>'
                   b"</Relationships>",
    "archive": ARCHIVE + archive(),
    "no_archive": ARCHIVE + b"PK\x05\x06" + bytes(18),
    "cut_archive": ARCHIVE + archive()[:-30],
}


def main():
    """Writes the files."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "fuzz_book")
    directory = sys.argv[1] if len(sys.argv) > 1 else beside
    os.makedirs(directory, exist_ok=True)
    for name, data in SEEDS.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
