"""What prepare writes, against the files of another program for two traces (MI300X).

Its times and percentages are of events with a recorded launch, so prepare runs with --linked-only.
Deviations: it has norms of all kinds as norm_fwd (here norm); the fusion area has no counterpart.
"""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
import work_oracle
from support import SHARED, Case, read_csv, trawl

CASES = ("mi300_bert", "mi300_qwen")
NAMES = {"norm_fwd": "norm"}
RELATIVE = 1e-3
KEY = ("name", "Input Dims", "Input type", "Input Strides", "Concrete Inputs")


def correction(row, column):
    """By how much the figures of the reference are to be multiplied where its work is not that of the
    operation (docs/DEVIATIONS.md, layer-norm-statistics); its normalizations are bound by the memory."""
    if "layer_norm" not in row["name"]:
        return 1
    flops, moved = work_oracle.work(row)
    flops /= float(row["GFLOPS"]) * 1e9
    moved /= float(row["GFLOPS"]) * 1e9 / float(row["FLOPS/Byte"])
    return {"GFLOPS": flops, "TFLOPS/s_mean": flops, "FLOPS/Byte": flops / moved,
            "TB/s_mean": moved, "Pct Roofline_mean": moved}.get(column, 1)


def near(a, b, absolute=0.0):
    if a is None or b is None:
        return a is None and b is None
    return abs(a - b) <= max(RELATIVE * abs(b), absolute)


def number(text):
    return float(text) if text else None


@unittest.skipUnless((SHARED / "cases/standalone").is_dir(), "no reference data")
class Prepared(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = tempfile.mkdtemp(prefix="trawl-standalone-")
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        for name in CASES:
            trace = next((SHARED / "traces" / name).glob("trace.json*"))
            done = trawl("prepare", trace, "--linked-only", "--platform", "MI300X", "-o",
                         pathlib.Path(cls.place) / name, "-q")
            assert done.rc == 0, done

    def each(self):
        for name in CASES:
            yield pathlib.Path(self.place) / name, SHARED / "cases/standalone" / f"agent_{name}"

    def manifests(self):
        for ours, theirs in self.each():
            yield (json.loads((ours / "category_manifest.json").read_text()),
                   json.loads((theirs / "category_data/category_manifest.json").read_text()))

    def test_utilization(self):
        for ours, theirs in self.manifests():
            for key, value in theirs["gpu_utilization"].items():
                self.assertTrue(near(ours["gpu_utilization"][key], value, 1e-6), (key, value))

    def test_categories(self):
        for ours, theirs in self.manifests():
            found = {c["name"]: c for c in ours["categories"]}
            expected = [c for c in theirs["categories"] if c["name"] != "kernel_fusion"]
            self.assertEqual([NAMES.get(c["name"], c["name"]) for c in expected],
                             [c["name"] for c in ours["categories"]])
            for c in expected:
                mine = found[NAMES.get(c["name"], c["name"])]
                self.assertEqual(mine["tier"], c["tier"])
                self.assertEqual(mine["ops_count"], c["ops_count"])
                for key in ("gpu_kernel_time_ms", "cpu_duration_ms", "sync_time_ms"):
                    # They are rounded to 3 digits there and here.
                    self.assertTrue(near(mine.get(key), c.get(key), 0.0011), (c["name"], key))
                for key in ("sync_ops_count", "has_sync_bottleneck"):
                    self.assertEqual(mine.get(key), c.get(key), (c["name"], key))

    def test_operations(self):
        """Times and efficiency of every row of every category."""
        compared = 0
        for ours, theirs in self.each():
            for path in theirs.glob("category_data/*_ops.csv"):
                category = path.name.removesuffix("_ops.csv")
                if category == "cpu_idle":
                    continue
                mine = {tuple(r[c] for c in KEY): r
                        for r in read_csv(ours / "category_data" / f"{NAMES.get(category, category)}_ops.csv")}
                for r in read_csv(path):
                    key = tuple(r[c] for c in KEY)
                    self.assertIn(key, mine)
                    for column in ("operation_count", "Kernel Time (µs)_sum", "Kernel Time (µs)_mean",
                                   "GFLOPS", "FLOPS/Byte", "TFLOPS/s_mean", "TB/s_mean",
                                   "Pct Roofline_mean"):
                        a, b = number(mine[key][column]), number(r[column])
                        # Models that only trawl has.
                        if b is None and a is not None:
                            continue
                        if b is not None:
                            b *= correction(r, column)
                        self.assertTrue(near(a, b, 1e-9), (category, key, column, a, b))
                        compared += 1
        self.assertGreater(compared, 300)

    def test_platform(self):
        for ours, theirs in self.each():
            a = json.loads((ours / "metadata/gemm_metadata.json").read_text())
            b = json.loads((theirs / "metadata/gemm_metadata.json").read_text())
            for key in ("platform", "peak_hbm_bw_tbs", "memory_gb", "category", "category_name",
                        "trace_loading_policy", "max_achievable_tflops"):
                self.assertEqual(a[key], b[key], key)


if __name__ == "__main__":
    unittest.main()
