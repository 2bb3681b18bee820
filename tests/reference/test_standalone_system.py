"""multi_kernel_data.json and what is made of it against the files of another program for two traces
(MI300X), within 0.1 %: all GPU events count in both, so prepare runs without --linked-only.

Deviations: empty summaries have 0 and an empty list where the other program has no key; the other
program's cross_validation compares with a timeline of linked events and warns, here both are of the
same events; its own times are rounded to 10 ns. The metrics keep its keys and add to them.
"""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, trawl

CASES = ("mi300_bert", "mi300_qwen")
RELATIVE = 1e-3
IDLE_NS = "idle_and_overlap_ns.json"
TRACES = ("h100_bert", "h100_falconsai", "mi210_gpu_only", "mi300_bert", "mi300_qwen", "normalization_layers",
          "sglang_decode", "torch_compile_triton", "vllm_graph_execution")


@unittest.skipUnless((SHARED / "cases/standalone").is_dir(), "no reference data")
class System(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = tempfile.mkdtemp(prefix="trawl-system-")
        cls.addClassCleanup(shutil.rmtree, cls.place, True)

    def prepared(self, name):
        out = pathlib.Path(self.place) / name
        if not out.exists():
            trace = next((SHARED / "traces" / name).glob("trace.json*"))
            self.assertExit(trawl("prepare", trace, "-o", out, "-q"), 0, 3)
        return out

    def same(self, ours, theirs, where):
        """Everything that the other program tells, told here too."""
        if isinstance(theirs, dict):
            for key, value in theirs.items():
                self.assertIn(key, ours, where)
                self.same(ours[key], value, f"{where}.{key}")
        elif isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
            self.assertIsInstance(ours, (int, float), where)
            rounded = 0.00051 if where.endswith("_ms") else 0.0051
            self.assertLessEqual(abs(ours - theirs), max(RELATIVE * abs(theirs), rounded), where)
        else:
            self.assertEqual(ours, theirs, where)

    def test_data(self):
        for name in CASES:
            with self.subTest(name):
                ours = json.loads((self.prepared(name) / "category_data/multi_kernel_data.json").read_text())
                reference = SHARED / "cases/standalone" / f"agent_{name}/category_data"
                theirs = json.loads((reference / "multi_kernel_data.json").read_text())
                self.same(ours, theirs, name)

    def test_metrics(self):
        if trawl("category", "--help").rc:
            self.skipTest("this build has no command for a category")
        for name in CASES:
            with self.subTest(name):
                out = self.prepared(name)
                self.assertExit(trawl("category", "multi_kernel", out), 0)
                ours = json.loads((out / "category_data/multi_kernel_metrics.json").read_text())
                reference = SHARED / "cases/standalone" / f"agent_{name}/category_data"
                theirs = json.loads((reference / "multi_kernel_metrics.json").read_text())
                for key in ("memcpy_summary", "nccl_summary", "overlap_analysis"):
                    self.same(ours[key], theirs[key], f"{name}.{key}")
                for key in ("flagged", "total_count", "total_time_ms", "percent_of_total", "issues"):
                    self.same(ours["memcpy_assessment"][key], theirs["memcpy_assessment"][key], key)
                for key in ("nccl_blocking_assessment", "overlap_assessment"):
                    self.assertEqual(ours[key]["flagged"], theirs[key]["flagged"])
                self.assertEqual(ours["patterns_detected"], theirs["patterns_detected"])
                self.assertEqual(ours["cross_validation"]["status"], "PASS")
                self.assertEqual([c["metric"] for c in ours["cross_validation"]["checks"]],
                                 [c["metric"] for c in theirs["cross_validation"]["checks"]])

    def test_idle_time(self):
        """Span and idle time against an exact recomputation of all GPU events."""
        for name in TRACES:
            with self.subTest(name):
                data = json.loads((self.prepared(name) / "category_data/cpu_idle_data.json").read_text())
                exact = json.loads((SHARED / "traces" / name / IDLE_NS).read_text())
                idle = data["idle_analysis"]
                self.assertEqual(round(idle["total_time_us"] * 1000), exact["kernel_time_ns"])
                self.assertEqual(round(idle["idle_time_us"] * 1000), exact["idle_ns"])
                self.assertEqual(sum(round(c["total_time_us"] * 1000) for c in data["causes"].values()),
                                 exact["idle_ns"])


if __name__ == "__main__":
    unittest.main()
