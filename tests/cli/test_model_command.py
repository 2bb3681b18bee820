"""trawl model: the arguments a user writes, and what is printed; the models have unit tests."""
import csv
import io
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, trawl


def quantities(result):
    """Quantity -> number or text of the CSV form."""
    return {r["quantity"]: float(r["value"]) if r["value"] else r["text"]
            for r in csv.DictReader(io.StringIO(result.out))}


class Model(Case):
    def model(self, *args):
        result = trawl("model", *args, "--format", "csv")
        self.assertExit(result, 0)
        return quantities(result)

    def near(self, found, wanted):
        self.assertAlmostEqual(found / wanted, 1, 12)

    def test_product(self):
        got = self.model("aten::mm", "--dims", "8x16,16x4", "--dtype", "float")
        self.assertEqual((got["FLOPs"], got["Data Moved"]), (1024, 896))
        self.near(got["FLOPS/Byte"], 1024 / 896)
        self.assertEqual(got["Compute Spec"], "matrix_fp32")
        self.assertEqual([got[f"param: {x}"] for x in "MNKB"], [8, 4, 16, 1])
        self.assertNotIn("platform", got)
        self.assertNotIn("TFLOPS/s", got)

    def test_batches_come_first_where_both_have_them(self):
        for dims, order in (("3x5x32,3x32x7", "BMNK"), ("3x5x32,32x7", "MNKB")):
            got = self.model("aten::matmul", "--dims", dims, "--dtype", "bf16")
            self.assertEqual("".join(x[7:] for x in got if x[7:] in tuple("BMNK")), order)

    def test_forms_of_arguments(self):
        want = self.model("aten::mm", "--dims", "[[8, 16], [16, 4]]", "--dtype",
                          '["c10::BFloat16", "c10::BFloat16"]')
        for dims, dtype in (("8x16,16x4", "bf16"), ("8*16, 16X4", "bfloat16,bfloat16"),
                            ("[[8,16],[16,4]]", "c10::BFloat16"), (" 8x16 ,16x4", "BF16")):
            got = self.model("aten::mm", "--dims", dims, "--dtype", dtype)
            for key in ("FLOPs", "Data Moved", "Compute Spec", "param: K"):
                self.assertEqual(got[key], want[key], (dims, dtype))

    def test_numbers_among_tensors(self):
        # addmm has a bias, two matrices and two numbers.
        for dims in ("4,8x16,16x4,,", "4,8x16,16x4,-,-", "[[4],[8,16],[16,4],[],[]]"):
            got = self.model("aten::addmm", "--dims", dims, "--dtype", "fp16",
                             "--concrete", ";;;1;1")
            self.assertEqual(got["FLOPs"], 1024 + 32)
            self.assertEqual(got["Data Moved"], 2 * (128 + 64 + 32 + 4))

    def test_strides(self):
        got = self.model("aten::mm", "--dims", "8x16,16x4", "--dtype", "bf16", "--strides",
                         "16x1,1x16")
        self.assertEqual((got["param: stride_A"], got["param: stride_B"]), ("(16, 1)", "(1, 16)"))

    def test_concrete_values(self):
        # te_gemm_ts reads whether its operands are transposed from positions 4 and 9.
        dims = "64x32,,,,,48x64" + "," * 13
        for concrete in (";;;;0;;;;;0" + ";" * 9, json.dumps([""] * 4 + [0] + [""] * 4 + ["0"])):
            got = self.model("tex_ts::te_gemm_ts", "--dims", dims, "--dtype", "bf16",
                             "--concrete", concrete)
            first = (got["param: M"], got["param: N"], got["param: K"])
            self.assertEqual(first, (32, 48, 64))

    def test_roofline(self):
        n = 4096
        args = ("aten::mm", "--dims", f"{n}x{n},{n}x{n}", "--dtype", "bf16", "--platform")
        got = self.model(*args, "mi300x", "--time-us", "250")
        self.near(got["Roofline Time"], 2 * n ** 3 / 708e6)
        self.assertEqual(got["Roofline Bound"], "COMPUTE_BOUND")
        self.near(got["Pct Roofline"], 2 * n ** 3 / 708e6 / 250 * 100)
        self.near(got["TFLOPS/s"], 2 * n ** 3 / 250e6)
        self.near(got["TB/s"], 3 * n * n * 2 / 250e6)
        got = self.model(*args, "AMD Instinct MI300X")
        self.assertNotIn("Pct Roofline", got)
        got = self.model("aten::mm", "--dims", "1x4096,4096x4096", "--dtype", "bf16",
                         "--platform=MI300X")
        self.assertEqual(got["Roofline Bound"], "MEMORY_BOUND")
        self.near(got["Roofline Time"], (4096 ** 2 + 2 * 4096) * 2 / 5300e3)

    def test_platform_of_a_file(self):
        path = self.write('{"mem_bw_gbps": 1, "max_achievable_tflops": {"matrix_fp32": 1e-6}}',
                          "slow.json")
        got = self.model("aten::mm", "--dims", "8x16,16x4", "--dtype", "float", "--platform", path)
        self.assertEqual(got["platform"], "slow")
        self.near(got["Roofline Time"], 1024)
        bad = self.write('{"mem_bw_gbps": {}}', "bad.json")
        result = trawl("model", "aten::mm", "--dims", "8x16,16x4", "--dtype", "float",
                       "--platform", bad)
        self.assertExit(result, 1)
        self.assertRegex(result.err, "bad.json:1:17: .*mem_bw_gbps")

    def test_no_roofline_says_why(self):
        result = trawl("model", "aten::mm", "--dims", "8x16,16x4", "--dtype", "fp8",
                       "--platform", "MI210", "--time-us", "1")
        self.assertExit(result, 0)
        self.assertIn("unknown matrix_fp8 peak of MI210", result.out)
        self.assertRegex(result.out, r"percent of bandwidth +\d")

    def test_faster_than_the_roofline(self):
        result = trawl("model", "aten::mm", "--dims", "4096x4096,4096x4096", "--dtype", "bf16",
                       "--platform", "MI300X", "--time-us", "100")
        self.assertExit(result, 0)
        self.assertIn("above the roofline", result.out)

    def test_json(self):
        result = trawl("model", "aten::mm", "--dims", "8x16,16x4", "--dtype", "float",
                       "--format=json")
        record = json.loads(result.out)
        self.assertEqual(record["schema"], "trawl.model/1")
        (table,) = record["tables"]
        rows = {r[0]: r for r in table["rows"]}
        self.assertEqual(rows["FLOPs"], ["FLOPs", 1024, None, None])
        self.assertEqual(rows["Compute Spec"], ["Compute Spec", None, None, "matrix_fp32"])

    def test_list(self):
        result = trawl("model", "--list", "--format", "csv")
        self.assertExit(result, 0)
        rows = {r["operation"]: r for r in csv.DictReader(io.StringIO(result.out))}
        self.assertEqual(rows["aten::mm"]["table"], "GEMM")
        self.assertEqual(rows["aten::mm"]["unit"], "matrix")
        self.assertEqual(list(rows), sorted(rows))


class Mistakes(Case):
    def fails(self, status, words, *args):
        result = trawl("model", *args)
        self.assertExit(result, status)
        self.assertEqual(result.out, "")
        self.assertEqual(len(result.err.splitlines()), 1, str(result))
        self.assertRegex(result.err, words)

    def test_operations(self):
        self.fails(2, "aten::addmm.*--list", "aten::admm", "--dims", "1", "--dtype", "bf16")
        self.fails(2, "nearest: aten::bmm,", "bmm")
        self.fails(2, "nearest: ", "x" * 3000)
        self.fails(2, "missing OP argument")
        self.fails(2, "more than one OP", "aten::mm", "aten::bmm")
        self.fails(2, "takes no OP argument", "--list", "aten::mm")

    def test_arguments(self):
        self.fails(2, "missing option --dims", "aten::mm", "--dtype", "bf16")
        self.fails(2, "missing option --dtype", "aten::mm", "--dims", "8x16,16x4")
        for dims in ("8x,16x4", "x8", "8xx16", "8y16", "-1x4", "8.5x2", "8 16", "[[8,16],[16,4]",
                     "[8,,4]", "{}", "[[99999999999999999999,1],[1,1]]",
                     "99999999999999999999x1,1x1", ",".join(["1"] * 100)):
            self.fails(2, "aten::mm|--dims", "aten::mm", "--dims", dims, "--dtype", "bf16")
        self.fails(2, "--dtype: 'bf17'", "aten::mm", "--dims", "8x16,16x4", "--dtype", "bf17")
        self.fails(2, "--dtype: 'y'", "aten::mm", "--dims", "8x16,16x4", "--dtype", "bf16,y")
        self.fails(2, "--concrete:1:4: ", "aten::mm", "--dims", "8x16,16x4", "--dtype", "bf16",
                   "--concrete", "[1 2]")
        self.fails(2, "--strides", "aten::mm", "--dims", "8x16,16x4", "--dtype", "bf16",
                   "--strides", "a")
        self.fails(2, "no platform 'MI1'", "aten::mm", "--dims", "8x16,16x4", "--dtype", "bf16",
                   "--platform", "MI1")
        self.fails(2, "--time-us", "aten::mm", "--time-us", "-3")

    def test_model_refuses(self):
        self.fails(1, "model: aten::mm: ", "aten::mm", "--dims", "8x16,15x4", "--dtype", "bf16")
        self.fails(1, "backward", "aten::mm", "--dims", "8x16,16x4", "--dtype", "bf16",
                   "--backward")


if __name__ == "__main__":
    unittest.main()
