"""trawl report --plots: the picture of operations under the roofline."""
import os
import pathlib
import shutil
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, document, environment, kernel, launch, op, report, trawl

PICTURE = "roofline.png"
SAMPLE = ROOT / "examples/sample.json.gz"
GNUPLOT = shutil.which("gnuplot")


def product(name="aten::mm"):
    """One product of 64x32 by 32x16 on a GPU without a name."""
    return document([
        op(name, 100, 40, **{"External id": 1, "Input Dims": [[64, 32], [32, 16]],
                             "Input type": ["float", "float"]}),
        launch(110, 5, 1, **{"External id": 1}),
        kernel("gemm", 150, 100, 1)])


class Plots(Case):
    def draw(self, data, *options, **keywords):
        if not GNUPLOT:
            self.skipTest("no gnuplot: no picture was drawn")
        return self.report(data, "--plots", *options, **keywords)

    def without_gnuplot(self, *args):
        """The program alone, on a PATH that has nothing."""
        (self.tmp / "empty").mkdir(exist_ok=True)
        return trawl(*args, env=environment(PATH=self.tmp / "empty"))

    def assertPicture(self, path):
        data = path.read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">4sII", data[12:24]), (b"IHDR", 1200, 800))
        self.assertEqual(data[-8:-4], b"IEND")
        return data

    def test_picture_beside_the_tables(self):
        rep = self.draw(SAMPLE, xlsx=True)
        self.assertExit(rep, 0)
        self.assertPicture(rep.dir / PICTURE)
        self.assertIn("perf_report.xlsx", rep.files())
        self.assertRegex(rep.err.splitlines()[-1], r"\d+ tables written to .*roofline\.png")

    def test_same_bytes(self):
        first = self.assertPicture(self.draw(SAMPLE).dir / PICTURE)
        again = self.draw(SAMPLE, "-j", 1)
        self.assertEqual(first, (again.dir / PICTURE).read_bytes())
        with open(SAMPLE, "rb") as stdin:
            rep = report("-", self.tmp / "stdin", "--plots", stdin=stdin)
        self.assertEqual(first, (rep.dir / PICTURE).read_bytes())

    def test_only_the_picture(self):
        rep = self.draw(SAMPLE, "--no-csv")
        self.assertEqual(rep.files(), [PICTURE])
        self.assertIn(f"{PICTURE} written to {rep.dir}/", rep.err)
        quiet = self.draw(SAMPLE, "--no-csv", "-q")
        self.assertEqual((quiet.files(), quiet.err), ([PICTURE], ""))

    def test_platform_changes_it(self):
        none = self.draw(product())
        self.assertExit(none, 0)
        some = self.draw(product(), "--platform", "MI300X")
        self.assertNotEqual(self.assertPicture(none.dir / PICTURE),
                            self.assertPicture(some.dir / PICTURE))

    def test_shapes_are_shown(self):
        """Products of as much work and time, told apart by their shapes alone."""
        other = product().replace("[64, 32], [32, 16]", "[16, 32], [32, 64]")
        self.assertNotEqual(other, product())
        pictures = [(self.draw(x).dir / PICTURE).read_bytes() for x in (product(), other)]
        self.assertNotEqual(*pictures)

    def test_names_are_no_commands(self):
        rep = self.draw(product().replace("Test GPU", "`touch pwned`'; !touch pwned\\n"),
                        "--no-csv")
        self.assertExit(rep, 0)
        self.assertPicture(rep.dir / PICTURE)
        self.assertFalse(pathlib.Path("pwned").exists())

    def test_nothing_to_draw(self):
        rep = self.report([kernel("k", 1, 5)], "--plots")
        self.assertExit(rep, 0)
        self.assertFalse((rep.dir / PICTURE).exists())
        self.assertEqual(len(rep.lines(r"cannot draw")), 1)
        self.assertIn("no operator has FLOPs", rep.err)
        self.assertNotIn("is of an earlier report", rep.err)
        self.assertTrue(rep.has("kernel_summary"))

    def test_a_picture_of_an_earlier_report(self):
        out = self.tmp / "kept"
        out.mkdir()
        (out / PICTURE).write_bytes(b"old")
        path = self.write(document([kernel("k", 1, 5)]))
        result = trawl("report", path, "-o", out, "--plots")
        self.assertExit(result, 0)
        self.assertRegex(result.err, r"roofline\.png is of an earlier report")
        self.assertEqual((out / PICTURE).read_bytes(), b"old")

    def test_without_gnuplot(self):
        out = self.tmp / "out"
        result = self.without_gnuplot("report", SAMPLE, "-o", out, "--plots")
        self.assertExit(result, 1)
        self.assertIn("GPU time\n", result.out)
        self.assertRegex(result.err.splitlines()[-1], r"roofline\.png.*gnuplot.*PATH")
        self.assertFalse((out / PICTURE).exists())
        same = self.report(SAMPLE, xlsx=True)
        for name in same.files():
            self.assertEqual((out / name).read_bytes(), (same.dir / name).read_bytes(), name)
        # Nothing to draw needs no gnuplot, and without --plots nobody asks for it.
        path = self.write(document([kernel("k", 1, 5)]))
        self.assertExit(self.without_gnuplot("report", path, "-o", out, "--plots"), 0)
        self.assertExit(self.without_gnuplot("report", SAMPLE, "-o", out), 0)

    def test_unwritable_place(self):
        out = self.tmp / "out"
        (out / PICTURE).mkdir(parents=True)
        if not GNUPLOT:
            self.skipTest("no gnuplot")
        result = trawl("report", SAMPLE, "-o", out, "--plots", "--no-xlsx", "--no-csv")
        self.assertExit(result, 1)
        self.assertIn(PICTURE, result.err)
        self.assertEqual(os.listdir(out), [PICTURE])


if __name__ == "__main__":
    unittest.main()
