"""The columns of tables of families: the same for every trace, whatever it holds."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, kernel, launch, op

COPY = ("aten::copy_", [[4, 4], [4, 4], []], ["float", "float", "Scalar"], ["", "", "False"])
UPSAMPLE = ("aten::upsample_nearest2d", [[1, 3, 8, 8], [], []], ["float", "ScalarList", "ScalarList"],
            ["", "[16, 16]", ""])
MM = ("aten::mm", [[16, 32], [32, 8]], ["float", "float"], ["", ""])
# Its model has no strides.
UNQUANTIZED = ("vllm::rocm_unquantized_gemm", [[16, 32], [8, 32], []], ["float", "float", ""], ["", "", ""])
SDPA = ("aten::_scaled_dot_product_flash_attention", [[2, 4, 16, 8]] * 3, ["c10::BFloat16"] * 3,
        ["", "", "", "0.0", "False"])
VARLEN = ("flash_attn::_flash_attn_varlen_forward", [[20, 2, 4], [20, 2, 4], [20, 2, 4], [4], [4]],
          ["c10::BFloat16"] * 3, ["", "", "", "", "", "10", "10", "0.", "0.5", "False"])
LAYER_NORM = ("aten::native_layer_norm", [[4, 8], [], [8], [8], []],
              ["float", "ScalarList", "float", "float", "Scalar"], ["", "[8]", "", "", "1e-05"])
LAYER_NORM_BACKWARD = ("aten::native_layer_norm_backward",
                       [[4, 8], [4, 8], [], [4, 1], [4, 1], [8], [8], []],
                       ["float", "float", "ScalarList"] + ["float"] * 4 + [""],
                       ["", "", "[8]", "", "", "", "", "[True, True, True]"])


class Columns(Case):
    def header(self, sheet, *calls):
        events = []
        for i, (name, dims, types, concrete) in enumerate(calls):
            events += [op(name, 100 * i, 50, **{"Input Dims": dims, "Input type": types,
                                                "Concrete Inputs": concrete}),
                       launch(100 * i + 1, 2, i + 1), kernel(f"k{i}", 1000 + 10 * i, 5, i + 1)]
        rows = self.report(events).table(sheet)
        self.assertEqual(len(rows), len(calls), sheet)
        return list(rows[0])

    def same(self, sheet, *calls):
        one = [self.header(sheet, c) for c in calls]
        self.assertEqual(self.header(sheet, *calls), one[0])
        self.assertEqual(self.header(sheet, *reversed(calls)), one[0])
        for other in one:
            self.assertEqual(other, one[0])
        return [c.removeprefix("param: ") for c in one[0] if c.startswith("param: ")]

    def test_gemm(self):
        self.assertEqual(self.same("GEMM", MM, UNQUANTIZED),
                         ["M", "N", "K", "bias", "stride_A", "stride_B", "dtype_A_B", "B", "transpose"])

    def test_unary(self):
        self.assertEqual(self.same("UnaryElementwise", COPY, UPSAMPLE),
                         ["op_shape", "dtype_in_out", "stride_input", "stride_output", "input_shape",
                          "output_shape"])

    def test_attention(self):
        self.assertLessEqual({"B", "N_Q", "dtype_A_B", "num_seqs_q", "max_seqlen_kv"},
                             set(self.same("SDPA_fwd", SDPA, VARLEN)))

    def test_norm(self):
        self.assertEqual(self.same("Normalization", LAYER_NORM, LAYER_NORM_BACKWARD)[-2:],
                         ["is_training", "output_mask"])


if __name__ == "__main__":
    unittest.main()
