"""Category analyses on prepared data: figures against a second computation in Python, the findings against
the metrics they are made from, and data that cannot be used."""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, read_csv, trawl

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
AVOIDED = re.compile(r"\b(CUDA|HIP|NCCL|RCCL|CUTLASS|cuBLAS\w*|cuDNN|rocprof|nsight)\b", re.I)
TABLE = ("| Operation | Count | Time (ms) | % of Category | Efficiency | FLOPS/Byte | Type |",
         "|-----------|-------|-----------|---------------|------------|------------|------|")


def has_command():
    return trawl("help", "category").rc == 0


def numbers_of(value):
    """All numbers of a JSON document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return {n for v in value for n in numbers_of(v)}
    return {float(value)} if isinstance(value, (int, float)) and not isinstance(value, bool) else set()


def given_numbers():
    """Those that stand in the texts of the rules and levels, and in the template."""
    text = (ROOT / "data/rules.tsv").read_text() + (ROOT / "data/levels.tsv").read_text()
    return {float(n) for n in NUMBER.findall(text)}


def achieved(row, efficiency):
    """Per cent of the roofline as the report has it, else of the peak that bounds the operation."""
    if row["Pct Roofline_mean"]:
        return float(row["Pct Roofline_mean"])
    if efficiency["bound_type"] == "memory":
        return 100 * float(row["TB/s_mean"]) / efficiency["resolved_peak_hbm_bw"]
    return 100 * float(row["TFLOPS/s_mean"]) / efficiency["resolved_peak_maf"]


def prose(markdown):
    """Without code."""
    return re.sub(r"`[^`]*`", "", markdown)


@unittest.skipUnless(has_command(), "this trawl has no command category")
class Category(Case):
    def prepare(self, trace, *options):
        self.dir = self.tmp / "out"
        self.assertExit(trawl("prepare", trace, "-q", "-o", self.dir, *options, timeout=120), 0)
        manifest = json.loads((self.dir / "category_manifest.json").read_text())
        return [c["name"] for c in manifest["categories"] if c["tier"] == "compute_kernel"]

    def category(self, name):
        done = trawl("category", name, self.dir)
        self.assertAlive(done)
        return done

    def metrics(self, name):
        return json.loads((self.dir / f"category_data/{name}_metrics.json").read_text())

    def findings(self, name):
        return (self.dir / f"category_findings/{name}_findings.md").read_text()

    def check_findings(self, name):
        text, metrics = self.findings(name), self.metrics(name)
        known = numbers_of(metrics) | given_numbers()
        odd = [n for n in NUMBER.findall(prose(text)) if float(n) not in known]
        self.assertEqual(odd, [], f"{name}: numbers that are nowhere")
        self.assertIsNone(AVOIDED.search(prose(text)), name)
        self.assertNotIn(str(self.dir), text)
        heads = [x for x in text.splitlines() if x.startswith("#")]
        self.assertRegex(heads[0], r"^# .+ Analysis Summary$")
        self.assertEqual([h for h in heads[1:] if not h.startswith("### ")],
                         ["## Overview", "## Operations Breakdown", "## Key Bottlenecks",
                          "## Additional Notes"])
        self.assertIn("\n".join(TABLE) + "\n", text)
        blocks = re.split(r"^### ", text, flags=re.M)[1:]
        self.assertEqual(len(blocks), min(20, len(metrics["bottlenecks"])))
        for block in blocks:
            block = block.split("\n## ")[0]
            labels = re.findall(r"^- \*\*(\w+):\*\* \S", block, re.M)
            self.assertEqual(labels, ["Time", "Efficiency", "Issue", "Algorithmic", "Kernel",
                                      "Priority"], block)

    def check_figures(self, name):
        """Times, shares, bottlenecks and gains again, from the CSV file."""
        metrics = self.metrics(name)
        use = json.loads((self.dir / f"metadata/{name}_metadata.json").read_text())["gpu_utilization"]
        rows = sorted(read_csv(self.dir / f"category_data/{name}_ops.csv"),
                      key=lambda r: -float(r["Kernel Time (µs)_sum"]))
        ms = [float(r["Kernel Time (µs)_sum"]) / 1e3 for r in rows]
        whole, total = sum(ms), use["total_time_ms"]
        compute = total * use["computation_time_percent"] / 100
        self.assertAlmostEqual(metrics["total_time_ms"], whole, delta=6e-4)
        self.assertAlmostEqual(metrics["percent_of_compute"], 100 * whole / compute, delta=6e-3)
        self.assertEqual([o["name"] for o in metrics["operations"]], [r["name"] for r in rows])
        # Kernels of one graph launch share its number.
        listed = {(b["uid"], b["operation"]): b for b in metrics["bottlenecks"]}
        for o, r, t in zip(metrics["operations"], rows, ms):
            self.assertEqual(o["uid"], int(r["ex_UID"]))
            self.assertAlmostEqual(o["time_ms"], t, delta=6e-4)
            self.assertAlmostEqual(o["percent_of_category"], 100 * t / whole, delta=6e-3)
            self.assertAlmostEqual(o["percent_of_compute"], 100 * t / compute, delta=6e-3)
            efficiency = o["efficiency"]["efficiency_percent"]
            if efficiency is not None:
                want = achieved(r, o["efficiency"])
                self.assertAlmostEqual(efficiency, want, delta=6e-3)
            self.assertEqual(o["too_short"], float(r["Kernel Time (µs)_mean"]) < 10)
            long = (t > 50 or 100 * t / whole > 5) and not o["host_copy"]
            self.assertEqual(o["is_bottleneck"], long and efficiency is not None and want < 40, o)
            self.assertEqual((o["uid"], o["name"]) in listed,
                             long and (efficiency is None or want < 40), o)
        for b in listed.values():
            share, efficiency = b["percent_of_compute"], b["efficiency_percent"]
            low = 101 if efficiency is None else efficiency
            want = "Critical" if share > 15 and low < 30 else "High" if share > 10 or low < 40 else \
                "Medium" if share > 5 else None
            if want:
                self.assertEqual(b["category_priority"], want, b)
            self.assertTrue(b["issue"] and b["algorithmic"] and b["kernel"], b)
            self.assertEqual(b["modelled"], efficiency is not None)
        for e in metrics["impact_estimates"]:
            self.assertLessEqual(e["impact_score_high"],
                                 100 * e["exposed_time_ms"] / total + 0.011, e)
            self.assertTrue(e["impact_score_low"] <= e["impact_score"] <= e["impact_score_high"])

    def check_trace(self, trace, *options):
        for name in self.prepare(trace, *options):
            with self.subTest(name):
                self.assertExit(self.category(name), 0)
                self.assertEqual(self.metrics(name)["status"], "OK")
                self.check_findings(name)
                self.check_figures(name)

    def test_sample(self):
        self.check_trace(ROOT / "examples/sample.json.gz")

    def test_sample_on_an_unknown_platform(self):
        trace = ROOT / "examples/sample.json.gz"
        names = self.prepare(trace)
        for path in (self.dir / "metadata").glob("*.json"):
            data = json.loads(path.read_text())
            data.update(platform=None, peak_hbm_bw_tbs=None, max_achievable_tflops=None)
            path.write_text(json.dumps(data))
        for name in names:
            self.assertExit(self.category(name), 0)
            self.assertIsNone(self.metrics(name)["platform"])
            self.check_findings(name)

    def test_given_traces(self):
        traces = sorted((SHARED / "traces").glob("*/trace.json.gz"))
        if not traces:
            self.skipTest(f"{SHARED}/traces is not there")
        for trace in traces:
            with self.subTest(trace.parent.name):
                self.check_trace(trace, "--platform", "MI300X")

    def test_same_bytes(self):
        names = self.prepare(ROOT / "examples/sample.json.gz")
        for name in names:
            self.category(name)
            first = (self.metrics(name), self.findings(name))
            self.category(name)
            self.assertEqual((self.metrics(name), self.findings(name)), first)

    def test_missing_category(self):
        self.prepare(ROOT / "examples/sample.json.gz")
        for path in self.dir.glob("category_data/gemm_ops.csv"):
            path.unlink()
        self.assertExit(self.category("gemm"), 0)
        self.assertEqual(self.metrics("gemm")["status"], "NO_DATA")
        self.assertIn("No GEMM operations found in trace", self.findings("gemm"))

    def test_unusable_category(self):
        """Said in the findings, with no bottleneck and no advice."""
        names = self.prepare(ROOT / "examples/sample.json.gz")
        ops = self.dir / f"category_data/{names[0]}_ops.csv"
        good = ops.read_text()
        for bad, said in ((good + "one,two\n", "ops.csv"),
                          (good.replace("Kernel Time (µs)_sum", "Time", 1), "no column"),
                          ("name,operation_count,Kernel Time (µs)_sum\na,1,soon\n", "soon")):
            ops.write_text(bad)
            self.category(names[0])
            text = self.findings(names[0])
            self.assertEqual(self.metrics(names[0])["status"], "ERROR")
            self.assertIn(said, self.metrics(names[0])["error"])
            self.assertIn("**Status**: ERROR", text)
            self.assertNotRegex(text, r"Bottleneck|Algorithmic|Priority")
            self.assertNotIn(str(self.tmp), text)


if __name__ == "__main__":
    unittest.main()
