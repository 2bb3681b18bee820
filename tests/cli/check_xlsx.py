#!/usr/bin/python3
"""Compares a workbook with the CSV files of the same tables, cell by cell.

usage: check_xlsx.py BOOK.xlsx CSV_DIR

Needs openpyxl (Debian's python3-openpyxl).  Every CSV has its sheet and every sheet but the last,
"about", its CSV, in any order.  In each sheet:
- the header and every cell agree: numbers as numbers (a workbook has 15 to 16 digits), text as
  text, nothing where the CSV has an empty cell;
- no cell is a formula or an error value;
- the header row is frozen and bold, the filter covers all rows and columns, columns have widths;
- a column of numbers has a number format.
"about" names every sheet and column.

Prints a line per difference, then one line of totals; exit status 0 or 1.
"""
import csv
import math
import pathlib
import re
import sys

import openpyxl
from openpyxl.utils import get_column_letter
from openpyxl.utils.escape import unescape

csv.field_size_limit(1 << 30)
MOST_ROWS = 1048575
MOST_TEXT = 32767
EXACT_IN_DOUBLE = 2 ** 53
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]\d+)?")
APOSTROPHE = re.compile("'+[=+\\-@\t\n\uff1d\uff0b\uff0d\uff20]")


class Differences:
    def __init__(self):
        self.count = self.cells = self.sheets = 0

    def say(self, text):
        self.count += 1
        if self.count <= 40:
            print(text[:400])


def plain(text):
    """The text that a CSV cell stands for, cut as a workbook cuts it."""
    if APOSTROPHE.match(text):
        text = text[1:]
    units = len(text.encode("utf-16-le")) // 2
    if units > MOST_TEXT:
        text = text.encode("utf-16-le")[:2 * (MOST_TEXT - 1)].decode("utf-16-le", "ignore") + "…"
    return text


def same_number(text, value):
    if re.fullmatch(r"-?\d+", text) and abs(int(text)) <= EXACT_IN_DOUBLE:
        return value == int(text)
    expected = float(text)
    return math.isclose(value, expected, rel_tol=2e-15, abs_tol=0) or value == expected


def same(text, cell):
    """text: of the CSV; cell: of the sheet."""
    value = cell.value
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == str(value)
    if cell.data_type not in ("n", "s"):
        return False
    if isinstance(value, (int, float)):
        return NUMBER.fullmatch(text) is not None and same_number(text, value)
    # openpyxl resolves _x005F_ in shared strings, not in those of the sheet itself.
    return plain(text) in (value, unescape(value))


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def check_cells(name, sheet, rows, differences):
    cut = min(len(rows), MOST_ROWS + 1)
    if sheet.max_row != max(cut, 1):
        differences.say(f"{name}: {sheet.max_row} rows in the sheet, {cut} in the CSV")
    if sheet.max_column != len(rows[0]):
        differences.say(f"{name}: {sheet.max_column} columns in the sheet, {len(rows[0])} in the CSV")
    for number, row in enumerate(rows[:cut], 1):
        if len(row) != len(rows[0]):
            differences.say(f"{name}: CSV row {number} has {len(row)} cells")
        for column, text in enumerate(row, 1):
            cell = sheet.cell(number, column)
            differences.cells += 1
            if not same(text, cell):
                differences.say(f"{name}!{cell.coordinate}: {cell.value!r} in the sheet, "
                                f"{text!r} in the CSV")


def check_dress(name, sheet, rows, differences):
    if sheet.freeze_panes != "A2":
        differences.say(f"{name}: frozen at {sheet.freeze_panes}, not under the header")
    if not rows[0]:
        return
    last = f"{get_column_letter(len(rows[0]))}{max(min(len(rows), MOST_ROWS + 1), 1)}"
    wanted = "A1" if last == "A1" else f"A1:{last}"
    if sheet.auto_filter.ref != wanted:
        differences.say(f"{name}: filter over {sheet.auto_filter.ref}, not {wanted}")
    widths = {}
    for letter, dimension in sheet.column_dimensions.items():
        for index in range(dimension.min or 0, (dimension.max or 0) + 1):
            widths[index] = dimension.width
    for column in range(1, len(rows[0]) + 1):
        if not sheet.cell(1, column).font.bold:
            differences.say(f"{name}: header {column} is not bold")
        if not 5 <= widths.get(column, 0) <= 62:
            differences.say(f"{name}: column {column} has width {widths.get(column)}")
        if len(rows) > 1:
            cell = sheet.cell(2, column)
            if isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool) and \
                    not re.fullmatch(r"0(\.0+)?", cell.number_format):
                differences.say(f"{name}: column {column} has format {cell.number_format!r}")


def check_about(about, tables, differences):
    named = {(row[0].value, unescape(row[1].value or "")) for row in about.iter_rows(min_row=2)}
    if about.freeze_panes != "A2":
        differences.say(f"about: frozen at {about.freeze_panes}")
    for name, rows in tables.items():
        if (name, "") not in named:
            differences.say(f"about: sheet '{name}' is not described")
        for header in rows[0]:
            if (name, plain(header)) not in named:
                differences.say(f"about: column '{header}' of '{name}' is not described")


def sheet_tables(book, differences):
    """Sheet name -> table name: the same, or as "about" says when it did not fit."""
    names = {sheet.title: sheet.title for sheet in book.worksheets[:-1]}
    for row in book.worksheets[-1].iter_rows(min_row=2):
        if row[1].value == "(name)":
            names[row[0].value] = row[3].value
    if not book.worksheets[-1].title.startswith("about"):
        differences.say(f"the last sheet is '{book.worksheets[-1].title}', not 'about'")
    return names


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: check_xlsx.py BOOK.xlsx CSV_DIR")
    directory = pathlib.Path(sys.argv[2])
    differences = Differences()
    book = openpyxl.load_workbook(sys.argv[1])
    names = sheet_tables(book, differences)
    tables = {}
    for path in sorted(directory.glob("*.csv")):
        if path.stem not in names.values():
            differences.say(f"{path.name} has no sheet")
    for title, table in names.items():
        path = directory / f"{table}.csv"
        if not path.exists():
            differences.say(f"sheet '{title}' has no CSV")
            continue
        differences.sheets += 1
        tables[title] = rows = read_csv(path)
        if not rows:
            differences.say(f"{path.name} is empty")
            continue
        check_cells(title, book[title], rows, differences)
        check_dress(title, book[title], rows, differences)
    check_about(book.worksheets[-1], tables, differences)
    if not differences.cells:
        differences.say("nothing was compared")
    print(f"{differences.sheets} sheets, {differences.cells} cells, "
          f"{differences.count} differences")
    return 1 if differences.count else 0


if __name__ == "__main__":
    sys.exit(main())
