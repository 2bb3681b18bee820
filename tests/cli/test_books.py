"""Workbooks as another program writes them, and such as are meant to do harm."""
import json
import pathlib
import resource
import struct
import subprocess
import sys
import unittest
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, FULL, SANITIZED, Case

PYTHON = "/usr/bin/python3"  # openpyxl is Debian's
TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

WRITER = """
import datetime, sys, openpyxl
book = openpyxl.Workbook()
odd = book.active
odd.title = "odd & <b> ü"
odd.append(["name", "µs", "n", 3.5, True, None, "=1+1"])
odd.append(["a,\\"b\\"\\nc", "  blanks  ", -7, 1e-05, False, "", "#N/A"])
odd.append([None] * 7)
odd["A5"] = 1764000000000000
odd["XFD5"] = 1 / 3
odd["B5"] = datetime.datetime(2026, 1, 1, 12)
odd["C5"] = "#DIV/0!"
odd["C5"].data_type = "e"
book.create_sheet("empty")
late = book.create_sheet("late")
late["C4"], late["D4"], late["D6"] = "h", "i", 2.0
merged = book.create_sheet("merged")
merged["A1"], merged["C1"] = "both", "x"
merged.merge_cells("A1:B1")
book.create_chartsheet("chart")
book.save(sys.argv[1])
"""


def dump(*paths, **popen):
    return subprocess.run([BUILD / "tools/book_dump", *map(str, paths)], capture_output=True,
                          text=True, **popen)


class Books(Case):
    def sheets(self, path):
        done = dump(path)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [json.loads(x) for x in done.stdout.splitlines()]
        return {s["name"]: s.get("rows", s.get("error")) for s in found}

    def archive(self, sheet, name="b.xlsx"):
        """A workbook whose one sheet is what `sheet` gives piece by piece."""
        path = self.tmp / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
            out.writestr("xl/workbook.xml",
                         '<workbook><sheets><sheet name="S" id="a"/></sheets></workbook>')
            out.writestr("xl/_rels/workbook.xml.rels",
                         f'<Relationships><Relationship Id="a" Type="{TYPE}worksheet" '
                         'Target="s.xml"/></Relationships>')
            with out.open("xl/s.xml", "w", force_zip64=True) as part:
                for piece in sheet:
                    part.write(piece)
        return path

    def replace_last(self, path, data, size):
        """Other bytes for the last file of an archive, which claim to be `size` of them."""
        with zipfile.ZipFile(path) as old:
            parts = [(i.filename, old.read(i)) for i in old.infolist()]
        name = parts.pop()[0].encode()
        with zipfile.ZipFile(path, "w") as new:
            for part in parts:
                new.writestr(*part)
        raw = path.read_bytes()
        end = raw.rindex(b"PK\x05\x06")
        count, length, at = struct.unpack("<8xHxxII", raw[end:end + 20])
        local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 8, 0, 33, 0, len(data), size,
                            len(name), 0) + name + data
        entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 8, 0, 33, 0, len(data), size,
                            len(name), 0, 0, 0, 0, 0, at) + name
        path.write_bytes(raw[:at] + local + raw[at:at + length] + entry +
                         struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count + 1, count + 1,
                                     length + len(entry), at + len(local), 0))

    def test_by_openpyxl(self):
        path = self.tmp / "odd.xlsx"
        done = subprocess.run([PYTHON, "-c", WRITER, path], capture_output=True, text=True)
        if done.returncode:
            self.skipTest(f"no openpyxl for {PYTHON}: {done.stderr[-80:]}")
        sheets = self.sheets(path)
        self.assertEqual(list(sheets), ["odd & <b> ü", "empty", "late", "merged"])
        odd = sheets["odd & <b> ü"]
        self.assertEqual((len(odd), len(odd[0])), (5, 16384))
        # A formula that nobody has computed has no value.
        self.assertEqual(odd[0][:8], ["name", "µs", "n", "3.5", "True", "", "", ""])
        self.assertEqual(odd[1][:8], ['a,"b"\nc', "  blanks  ", "-7", "1e-05", "False", "",
                                      "#N/A", ""])
        self.assertEqual(set(odd[2]) | set(odd[3]), {""})
        self.assertEqual(odd[4][:3] + odd[4][-1:],
                         ["1764000000000000", "46023.5", "#DIV/0!", "0.3333333333333333"])
        self.assertEqual(sheets["empty"], [])
        self.assertEqual(sheets["late"], [["", "", "h", "i"], [""] * 4, ["", "", "", "2"]])
        self.assertEqual(sheets["merged"], [["both", "", "x"]])

    @unittest.skipUnless(FULL and not SANITIZED, "a gigabyte takes seconds: the long run has it")
    def test_a_part_that_inflates_without_end(self):
        """A megabyte of archive, more than a gigabyte of sheet: refused, in little memory."""
        path = self.archive([b"<worksheet/>"])
        # The same block again and again, so that making it takes no time; the sum is never seen.
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        begin = deflate.compress(b"<worksheet>") + deflate.flush(zlib.Z_FULL_FLUSH)
        block = deflate.compress(b" " * (1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
        self.replace_last(path, begin + block * 1030 + deflate.flush(), 11 + (1030 << 20))
        self.assertLess(path.stat().st_size, 8 << 20)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        sheets = self.sheets(path)
        self.assertRegex(sheets["S"], r"xl/s\.xml: larger than the limit of 1024 MB")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(peak, max(before, 64 << 10))

    def test_cells_without_end(self):
        """Cells far apart do not take the memory of a whole sheet."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        path = self.archive([b'<worksheet><sheetData><row><c r="A1"><v>1</v></c>'
                             b'<c r="XFD1048576"><v>2</v></c></row></sheetData></worksheet>'])
        done = dump(path, preexec_fn=None if SANITIZED else limit)
        self.assertIn("2 cells in 1048576 rows and 16384 columns", done.stdout)

    def test_entities(self):
        """A document type is refused before an entity of it is used."""
        bomb = ["<!DOCTYPE w [<!ENTITY a 'aaaaaaaaaa'>"]
        bomb += [f"<!ENTITY {b} '{('&' + a + ';') * 10}'>"
                 for a, b in zip("abcdefgh", "bcdefghi")]
        path = self.archive(["".join(bomb).encode() + b"]><worksheet>&i;</worksheet>"])
        self.assertIn("DOCTYPE", self.sheets(path)["S"])
        outside = b'<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/hostname">]><worksheet>&x;</worksheet>'
        self.assertIn("DOCTYPE", self.sheets(self.archive([outside]))["S"])

    def test_many_at_once(self):
        """What is wrong with one is told, and the others are read."""
        good = self.archive([b"<worksheet><sheetData><row><c><v>1</v></c></row></sheetData>"
                             b"</worksheet>"])
        empty = self.tmp / "empty.xlsx"
        empty.write_bytes(b"")
        cut = self.tmp / "cut.xlsx"
        cut.write_bytes(good.read_bytes()[:-40])
        done = dump(good, empty, cut, self.tmp, self.tmp / "none", good)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count('[["1"]]'), 2)
        for words in ("empty.xlsx': empty file", "cut.xlsx': damaged workbook",
                      "no CSV files", "none': No such file"):
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
