"""trawl sweep plots: the pictures, the statistics, and tables that are not as they should be."""
import csv
import io
import json
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import TRAWL, Case, environment, trawl

GNUPLOT = shutil.which("gnuplot")
# Inches, at 300 dots each.
SIZES = {"variance_by_threads_boxplot": (10, 6), "variance_by_channels_boxplot": (12, 6),
         "variance_by_ranks_boxplot": (14, 6), "variance_violin_combined": (20, 6),
         "variance_thread_channel_interaction": (12, 7)}
HEADER = "threads,channel,rank,kernel_name,time_diff_us"
ROWS = [(256, 28, 0, "k", 12.5), (256, 28, 1, "k", 20), (256, 56, 0, "k", 3),
        (512, 28, 0, "k", 7.25), (512, 56, 1, "a,b", 11), (512, 56, 0, "k", 90)]
TABLE = "top5_gemm_kernels_time_variance.csv"


def sheet(rows=ROWS, header=HEADER):
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return header + "\r\n" + out.getvalue()


def pixels(data):
    """Width, height, bytes a line and the bytes of a PNG, as they are filtered; all checks made."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == \
            zlib.crc32(kind + chunk)
        at += 12 + length
        if kind == b"IHDR":
            size = struct.unpack(">IIBB", chunk[:10])
        body += chunk if kind == b"IDAT" else b""
    assert kind == b"IEND"
    raw = zlib.decompress(body)
    width, height, depth, colour = size
    stride = 1 + width * depth // 8 * {0: 1, 2: 3, 3: 1, 6: 4}[colour]
    assert len(raw) == height * stride
    return width, height, stride, raw


class SweepPlots(Case):
    def setUp(self):
        super().setUp()
        if not GNUPLOT:
            self.skipTest("no gnuplot: no picture was drawn")

    def draw(self, text, *options, name="t.csv", codes=(0,)):
        """Draws a table into tmp/out."""
        path = self.write(text, name)
        self.out = self.tmp / "out"
        result = trawl("sweep", "plots", "--input-csv", path, "-o", self.out, *options)
        self.assertAlive(result)
        self.assertExit(result, *codes)
        return result

    def assertPictures(self, out, ending=".png"):
        self.assertEqual(sorted(p.name for p in out.iterdir() if p.suffix == ending),
                         sorted(name + ending for name in SIZES))

    def test_pictures(self):
        result = self.draw(sheet())
        self.assertPictures(self.out)
        for name, inches in SIZES.items():
            width, height, stride, raw = pixels((self.out / f"{name}.png").read_bytes())
            self.assertEqual((width, height), tuple(i * 300 for i in inches), name)
            # Neither empty nor full: what differs from its neighbours is on some lines.
            drawn = sum(any(raw[y * stride + 1:(y + 1) * stride]) for y in range(height))
            self.assertTrue(height / 4 < drawn, name)
        self.assertIn("5 plots written to", result.err)

    def test_same_bytes(self):
        self.draw(sheet(), "-j", 1)
        first = {p.name: p.read_bytes() for p in self.out.iterdir()}
        shutil.rmtree(self.out)
        self.draw(sheet(reversed(ROWS)), "-j", 4)
        self.assertEqual(first, {p.name: p.read_bytes() for p in self.out.iterdir()})

    def test_svg(self):
        result = self.draw(sheet(), "--svg")
        self.assertPictures(self.out)
        self.assertPictures(self.out, ".svg")
        self.assertIn("10 plots", result.err)
        for name, inches in SIZES.items():
            root = xml.etree.ElementTree.parse(self.out / f"{name}.svg").getroot()
            self.assertEqual(root.get("viewBox"), f"0 0 {inches[0] * 72} {inches[1] * 72}")
            texts = " ".join("".join(e.itertext()) for e in root.iter()
                             if e.tag.endswith("}text"))
            self.assertIn("(us)", texts)
            self.assertNotIn("{", texts)
            if "channel" in name:
                self.assertIn("28ch", texts)

    def test_statistics(self):
        result = self.draw(sheet(), "--format", "csv")
        got = {(r["by"], r["number"]): r for r in csv.DictReader(io.StringIO(result.out))}
        want = {}
        for column, by in enumerate(("threads", "channels", "rank")):
            for row in ROWS:
                want.setdefault((by, str(row[column])), []).append(row[4])
        self.assertEqual(got.keys(), want.keys())
        for key, values in want.items():
            self.assertAlmostEqual(float(got[key]["mean us"]), statistics.fmean(values))
            self.assertAlmostEqual(float(got[key]["median us"]), statistics.median(values))
            self.assertEqual(float(got[key]["max us"]), max(values))
            self.assertEqual(got[key]["n"], str(len(values)))

    def test_forms(self):
        document = json.loads(self.draw(sheet(), "--format", "json").out)
        self.assertEqual(document["schema"], "trawl.sweep_plots/1")
        self.assertEqual(document["tables"][0]["name"], "variance_statistics")
        self.assertIn("| threads ", self.draw(sheet(), "--format", "markdown").out)
        self.assertEqual(self.draw(sheet(), "-q").err, "")

    def test_places(self):
        """In a sweep, beside a table, elsewhere; what is there stays."""
        folder = self.tmp / "a sweep" / "tracelens_analysis"
        folder.mkdir(parents=True)
        (folder / TABLE).write_text(sheet())
        (folder / "plots").mkdir()
        (folder / "plots" / "mine.txt").write_text("x")
        self.assertExit(trawl("sweep", "plots", folder.parent), 0)
        self.assertPictures(folder / "plots")
        self.assertEqual((folder / "plots" / "mine.txt").read_text(), "x")
        self.assertExit(trawl("sweep", "plots", folder.parent, "-o", self.tmp / "r"), 0)
        self.assertPictures(self.tmp / "r/tracelens_analysis/plots")
        shutil.rmtree(folder / "plots")
        # The directory of reports itself.
        self.assertExit(trawl("sweep", "plots", folder), 0)
        self.assertPictures(folder / "plots")
        # A table alone.
        path = self.write(sheet(), "it's $(a) table.csv")
        self.assertExit(trawl("sweep", "plots", "--input-csv", path), 0)
        self.assertPictures(self.tmp / "plots")
        # Results of an earlier stage elsewhere go before those in the sweep.
        (self.tmp / "r/tracelens_analysis" / TABLE).write_text(sheet(ROWS[:2]))
        result = trawl("sweep", "plots", folder.parent, "-o", self.tmp / "r", "--format", "csv")
        self.assertNotIn("512", result.out)

    def test_only_some(self):
        result = self.draw(sheet(), "--threads", "256", "--ranks", "0-3", "--format", "csv")
        self.assertNotIn("threads,512", result.out)
        self.assertIn("threads,256", result.out)
        result = self.draw(sheet(), "--channels", "99", codes=(1,))
        self.assertOneLine(result, "no row of 'FILE' is selected", file="t.csv")

    def test_rows_that_cannot_be_used(self):
        rows = ROWS + [("x", 28, 0, "k", 1), (256, "", 0, "k", 1), (256, 28, 1.5, "k", 1),
                       (256, 28, 0, "k", ""), (256, 28, 0, "k", "nan"), (256, 28, 0, "k", "inf"),
                       (256, 28, 0, "k", "1e300"), (256, 28, 0, "k", "<b>\x1b[31m")]
        result = self.draw(sheet(rows), codes=(3,))
        self.assertPictures(self.out)
        left_out = [x for x in result.err.splitlines() if "skipped" in x]
        self.assertEqual(len(left_out), 8)
        for number, line in enumerate(left_out, 8):
            self.assertIn(f"row {number} skipped", line)
        self.assertNotIn("\x1b", result.err)
        many = self.draw(sheet(ROWS + [("x", 1, 1, "k", 1)] * 50), codes=(3,))
        self.assertIn("40 more rows skipped", many.err)
        self.assertEqual(many.err.count("skipped"), 11)

    def test_other_ways_to_write_numbers(self):
        rows = [("256.0", "28", "0", "k", "1e1"), ("+512", "28", "-1", "k", "-0.5")]
        result = self.draw(sheet(rows), "--format", "csv", codes=(0, 3))
        self.assertIn("threads,256,10,10,10,1", result.out)

    def test_odd_data(self):
        for rows in ([(256, 28, 0, "k", 5)], [(256, 28, 0, "k", 0)] * 3,
                     [(1, 1, 1, "k", -1e15), (10 ** 14, 10 ** 14, 10 ** 14, "k", 1e15)],
                     [(t, c, r, "k", t * c % 7 + r) for t in range(12) for c in range(20)
                      for r in range(0, 64, 9)]):
            self.draw(sheet(rows))
            self.assertPictures(self.out)

    def test_nothing_to_draw(self):
        for text, words in ((sheet([]), "has no rows"), (sheet([("x",) * 5]), "no valid row"),
                            ("a,b\r\n1,2\r\n", "no column 'threads'"), ("", "no column"),
                            (HEADER + "\r\n1,2\r\n", "csv:2: number of cells")):
            result = self.draw(text, codes=(1,))
            self.assertEqual(result.out, "")
            self.assertRegex(result.err, words)
            self.assertIn("t.csv", result.err.splitlines()[-1])
            self.assertFalse(self.out.exists())

    def test_usage(self):
        self.assertExit(trawl("sweep", "plots"), 2)
        self.assertExit(trawl("sweep", "plots", "a", "b"), 2)
        self.assertExit(trawl("sweep", "plots", "a", "--threads", "x"), 2)
        result = trawl("sweep", "plots", self.tmp)
        self.assertExit(result, 1)
        self.assertIn("trawl sweep variance", result.err)
        self.assertExit(trawl("sweep", "plots", "--input-csv", self.tmp / "none.csv"), 1)

    def test_without_gnuplot(self):
        path = self.write(sheet(), "t.csv")
        result = trawl("sweep", "plots", "--input-csv", path, "-o", self.tmp / "out", "--svg",
                       env=environment(PATH=self.tmp / "empty"))
        self.assertExit(result, 1)
        self.assertOneLine(result, "gnuplot is not on the PATH", file="variance_by_threads_boxplot.png")

    def hanging(self):
        """A gnuplot that never ends, on a PATH of its own; it writes its number to tmp/started."""
        directory = self.tmp / "hanging"
        directory.mkdir()
        program = directory / "gnuplot"
        program.write_text(f"#!/bin/sh\necho $$ > {self.tmp}/number\n"
                           f"mv {self.tmp}/number {self.tmp}/started\nexec sleep 60\n")
        program.chmod(0o755)
        return environment(PATH=f"{directory}:/usr/bin:/bin")

    def test_gnuplot_ends_with_the_program(self):
        path = self.write(sheet(), "t.csv")
        env = self.hanging()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            started = self.tmp / "started"
            started.unlink(missing_ok=True)
            with subprocess.Popen([TRAWL, "sweep", "plots", "--input-csv", path, "-j", "1",
                                   "-o", self.tmp / "out"], env=env) as program:
                self.wait_for(started.exists)
                program.send_signal(number)
                program.wait(20)
            self.assertEqual(program.returncode, -number)
            gnuplot = pathlib.Path("/proc") / started.read_text().strip()
            self.wait_for(lambda: not self.is_running(gnuplot))
        self.assertEqual([p for p in (self.tmp / "out").rglob("*") if p.is_file()], [])

    def wait_for(self, what):
        end = time.monotonic() + 20
        while not what() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertTrue(what())

    @staticmethod
    def is_running(process):
        try:
            return (process / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False

    def test_a_gnuplot_that_cannot_be_run(self):
        directory = self.tmp / "broken"
        directory.mkdir()
        (directory / "gnuplot").write_text("no program")
        result = trawl("sweep", "plots", "--input-csv", self.write(sheet(), "t.csv"),
                       "-o", self.tmp / "out", env=environment(PATH=directory))
        self.assertExit(result, 1)
        self.assertOneLine(result, "gnuplot cannot be run: Permission denied",
                           file="variance_by_threads_boxplot.png")

    def test_a_place_that_cannot_be_written(self):
        (self.tmp / "out").write_text("a file")
        result = self.draw(sheet(), codes=(1,))
        self.assertEqual(result.out, "")
        self.assertIn("is not a directory", result.err)


if __name__ == "__main__":
    unittest.main()
