"""trawl report --plots: the picture of operations under the roofline."""
import os
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, document, kernel, launch, op, report, trawl

PICTURE = "roofline.svg"
SAMPLE = ROOT / "examples/sample.json.gz"


def product(name="aten::mm"):
    """One product of 64x32 by 32x16 on a GPU without a name."""
    return document([
        op(name, 100, 40, **{"External id": 1, "Input Dims": [[64, 32], [32, 16]],
                             "Input type": ["float", "float"]}),
        launch(110, 5, 1, **{"External id": 1}),
        kernel("gemm", 150, 100, 1)])


class Plots(Case):
    def draw(self, data, *options, **keywords):
        return self.report(data, "--plots", *options, **keywords)

    def assertPicture(self, path):
        """Its bytes; no wider than is read on a phone, all of it within its edges."""
        data = path.read_bytes()
        root = xml.etree.ElementTree.fromstring(data)
        width, height = (float(root.get(x)) for x in ("width", "height"))
        self.assertEqual((width, root.get("viewBox")), (520, f"0 0 520 {height:g}"))
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            self.assertTrue(0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height)
            self.assertGreaterEqual(float(text.get("font-size")), 13)
        return data

    def test_picture_beside_the_tables(self):
        rep = self.draw(SAMPLE, xlsx=True)
        self.assertExit(rep, 0)
        self.assertPicture(rep.dir / PICTURE)
        self.assertIn("perf_report.xlsx", rep.files())
        self.assertRegex(rep.err.splitlines()[-1], r"\d+ tables written to .*roofline\.svg")

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

    def test_names_are_text(self):
        rep = self.draw(product().replace("Test GPU", "<script>&\\u0001]]>"), "--no-csv")
        self.assertExit(rep, 0)
        root = xml.etree.ElementTree.fromstring(self.assertPicture(rep.dir / PICTURE))
        self.assertIn("Operators on <script>&\\x01]]>", ["".join(e.itertext()) for e in root])

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
        self.assertRegex(result.err, r"roofline\.svg is of an earlier report")
        self.assertEqual((out / PICTURE).read_bytes(), b"old")

    def test_unwritable_place(self):
        out = self.tmp / "out"
        (out / PICTURE).mkdir(parents=True)
        result = trawl("report", SAMPLE, "-o", out, "--plots", "--no-xlsx", "--no-csv")
        self.assertExit(result, 1)
        self.assertIn(PICTURE, result.err)
        self.assertEqual(os.listdir(out), [PICTURE])


if __name__ == "__main__":
    unittest.main()
