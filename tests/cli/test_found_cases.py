"""Given inputs on which figures or reading were once wrong, with the right value of each
(TRAWL_SHARED, cases/found; the rest of them stands with the tests of what they concern).
"""
import gzip
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, read_csv, report, trawl

FOUND = SHARED / "cases/found"
MB = 2 ** 20


@unittest.skipUnless(FOUND.is_dir(), "given material absent: cases/found (TRAWL_SHARED)")
class Found(Case):
    def given(self, case):
        (place,) = FOUND.glob(f"{case}-*")
        return place

    def rows(self, case, name):
        self.rep = report(self.given(case) / name, self.tmp / case, "--no-xlsx")
        self.assertExit(self.rep, 0)
        return read_csv(self.rep.csvs / "unified_perf_summary.csv")

    def bytes(self, row):
        return float(row["Data Moved (MB)"]) * MB

    def test_model_01_expanded_index(self):
        (row,) = self.rows("model-01", "input.json")
        self.assertAlmostEqual(self.bytes(row), 2 * 15360 * 4096 * 2 + 15360 * 8, delta=0.5)

    def test_model_02_library_batch_norm(self):
        rows = self.rows("model-02", "input.json")
        n = 256 * 64 * 112 * 112
        self.assertEqual({r["name"] for r in rows},
                         {"aten::cudnn_batch_norm_backward", "aten::native_batch_norm_backward"})
        for r in rows:
            self.assertEqual(round(float(r["GFLOPS"]) * 1e9), 9 * n)
        self.assertEqual(*[r["Data Moved (MB)"] for r in rows])
        self.assertAlmostEqual(float(rows[0]["Data Moved (MB)"]), 2352, delta=0.01)

    def test_model_03_triton_sizes(self):
        rows = {r["name"].rsplit("_", 1)[1]: r for r in self.rows("model-03", "input.json")}
        self.assertAlmostEqual(float(rows["10"]["Data Moved (MB)"]), 82.18, delta=0.005)
        self.assertEqual(self.bytes(rows["13"]), 2 * 1619712 * 2)
        self.assertEqual(float(rows["7"]["GFLOPS"]) * 1e9, 4096 * 2432 * 2)
        self.assertEqual(float(rows["4"]["GFLOPS"]) * 1e9, 4096 * 19 * 128 * 2)

    def test_model_04_broadcast(self):
        rows = self.rows("model-04", "input.json")
        n = 5184 * 1024
        self.assertEqual([self.bytes(r) for r in rows if r["name"] == "aten::mul"],
                         [2 * n * 2 + 1024 * 2] * 2)
        self.assertEqual([round(self.bytes(r)) // 2 ** 10 for r in rows if r["name"] == "aten::copy_"],
                         [8 * 2 ** 10] * 2)

    def test_model_05_strides(self):
        self.rows("model-05", "input.json")
        (row,) = read_csv(self.rep.csvs / "GEMM.csv")
        self.assertEqual((row["param: stride_A"], row["param: stride_B"]), ("", ""))

    def test_model_06_above_the_bandwidth(self):
        rows = self.rows("model-06", "input.json")
        (row,) = [r for r in rows if r["name"] == "aten::index_select"]
        self.assertEqual(round(float(row["Pct Roofline_mean"])), 1013)
        self.assertEqual(round(float(row["Roofline Time (µs)_first"])), 203)
        self.assertRegex(self.rep.out, r"over 110 % of the roofline, up to 1013 %: aten::index_select")

    def test_model_07_layer_norm(self):
        (row,) = self.rows("model-07", "input.json")
        self.assertEqual(round(float(row["GFLOPS"]) * 1e9), 655408)
        self.assertEqual(self.bytes(row), MB + 64)

    def test_kineto_41_packed_fp4(self):
        (row,) = self.rows("kineto-41", "trace.json")
        self.assertEqual(float(row["GFLOPS"]) * 1e9, 2 * 4096 * 8192 * 4096)

    def test_kineto_61_common_operations(self):
        rows = self.rows("kineto-61", "trace.json")
        self.assertEqual(len(rows), 40)
        self.assertEqual([r["name"] for r in rows if not r["Data Moved (MB)"]], [])

    def checked(self, path):
        """What check says of a file, the same for one thread and for several."""
        told = []
        for threads in ("-j1", "-j2", "-j3", "-j8"):
            done = trawl("check", path, threads)
            self.assertAlive(done)
            told.append((done.rc, done.out, done.err))
        self.assertEqual(told, [told[0]] * len(told))
        return told[0]

    def test_attack_00_value_left_out(self):
        subprocess.run([sys.executable, self.given("attack-00") / "make.py"], cwd=self.tmp, check=True)
        rc, out, _ = self.checked(self.tmp / "e.json")
        self.assertEqual(rc, 0)
        self.assertRegex(out, r"repair +1 x malformed lists or objects")

    def test_attack_11_parts(self):
        path = self.tmp / "damaged.json"
        path.write_bytes(gzip.decompress((self.given("attack-11") / "min_diff.json.gz").read_bytes()))
        self.checked(path)


if __name__ == "__main__":
    unittest.main()
