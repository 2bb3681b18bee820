"""usage: xlsx_csvs.py DIR WORKBOOK...: each sheet as DIR/<workbook>/<sheet>.csv, by openpyxl."""
import csv
import pathlib
import sys

import openpyxl


def text(value):
    """Whole numbers without a point, as CSV files have them."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


for path in map(pathlib.Path, sys.argv[2:]):
    place = pathlib.Path(sys.argv[1]) / path.stem
    place.mkdir(parents=True, exist_ok=True)
    for sheet in openpyxl.load_workbook(path, read_only=True, data_only=True):
        with open(place / f"{sheet.title}.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([text(v) for v in row]
                                    for row in sheet.iter_rows(values_only=True))
