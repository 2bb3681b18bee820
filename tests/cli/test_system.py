"""The system analyses as they are read: headings and tables of the template, numbers that stand in
the data, neutral words, what happens without data."""
import json
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, copy, document, event, kernel, launch, op, read_csv, trawl

MULTI_KERNEL = """# Multi-Kernel Issue Analysis Findings
**Status**: SUCCESS
**Analysis Tier**: System-Level
## Summary
| Metric | Value | Severity |
|--------|-------|----------|
## Memory Copy Analysis
### D2H (Device-to-Host) Transfers
### H2D (Host-to-Device) Transfers
## Communication Blocking Analysis
### NCCL Blocking Compute
### Compute/Communication Overlap
## Detected Patterns
## Recommendations
## Technical Details
### Top Communication Operations
| Rank | Operation | Duration (us) | Stream |
|------|-----------|---------------|--------|
### Memory Copy Breakdown
| Direction | Count | Total Time (ms) | Avg Size | Severity |
|-----------|-------|------------------|----------|----------|
""".splitlines()
LINES = [r"\| Total Memcpy Events \| \d+ \| [A-Z]+ \|", r"\| D2H Transfers \| \d+ \([\d.]+ ms\) \| [A-Z]+ \|",
         r"\| H2D Transfers \| \d+ \([\d.]+ ms\) \| [A-Z]+ \|", r"\| Exposed Communication \| [\d.]+% of total \| [A-Z]+ \|",
         r"\| Compute/Comm Overlap \| [\d.]+% \| [A-Z]+ \|", r"- \*\*Count\*\*: \d+ transfers",
         r"- \*\*Total Time\*\*: [\d.]+ ms \([\d.]+% of total GPU time\)", r"- \*\*Assessment\*\*: [A-Z]+",
         r"- \*\*Root Cause\*\*: .+", r"- \*\*Exposed Communication Time\*\*: [\d.]+ ms \([\d.]+% of total\)",
         r"- \*\*Total Communication Time\*\*: [\d.]+ ms",
         r"- \*\*Impact\*\*: GPU compute blocked for [\d.]+ ms due to non-overlapped communication",
         r"- \*\*Overlap Ratio\*\*: [\d.]+% \(target > 70%\)", r"\d+\. \*\*.+\*\* - [A-Z]+", r"   - Evidence: .+",
         r"   - Impact: .+", r"   - Recommendation: .+", r"### System P1: .+", r"\*\*Issue\*\*: .+", r"\*\*Action\*\*: .+",
         r"\*\*Expected Impact\*\*: .+", r"\| D2H \| \d+ \| [\d.]+ \| (n/a|[\d.]+ bytes) \| [A-Z]+ \|"]
BRANDS = re.compile(r"\b(NCCL|RCCL|CUDA|HIP|cuBLAS|CUTLASS|cuDNN)\b")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w]*\()")


def busy_trace():
    """Twelve reads of one value, a batch that is copied late, communication that is half hidden."""
    events = [event("X", "python_function", "/home/someone/train.py(12): step", 31, 32, 0, 9000)]
    for i in range(12):
        at = 100 + 300 * i
        events += [op("aten::item", at, 100), launch(at + 10, 5, 100 + i, name="cudaMemcpyAsync"),
                   copy(at + 60, 20, 100 + i, name="Memcpy DtoH (Device -> Pageable)"),
                   op("aten::mm", at + 150, 40), launch(at + 160, 5, 200 + i),
                   kernel("gemm|`x` <b>", at + 170, 80, 200 + i)]
    events += [event("X", "user_annotation", "enumerate(DataLoader)#x", 31, 32, 3700, 1000),
               op("aten::copy_", 4750, 50), launch(4760, 10, 300, name="cudaMemcpyAsync"),
               copy(4800, 400, 300, name="Memcpy HtoD (Pinned -> Device)"),
               kernel("ncclDevKernel_AllReduce", 5300, 1000, stream=20), kernel("gemm", 5300, 500, stream=7)]
    return document(events)


def has_category():
    return trawl("category", "--help").rc == 0


def numbers_of(value, into):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            numbers_of(child, into)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        into.add(float(value))


class System(Case):
    def setUp(self):
        super().setUp()
        if not has_category():
            self.skipTest("this build has no command for a category")
        self.out = self.tmp / "out"

    def analyse(self, text):
        self.assertExit(trawl("prepare", self.write(text), "-o", self.out, "-q"), 0, 3)
        return self.category("multi_kernel"), self.category("cpu_idle")

    def category(self, name, rc=(0,)):
        self.assertExit(trawl("category", name, self.out), *rc)
        return (self.out / f"system_findings/{name}_findings.md").read_text()

    def metrics(self, name):
        return json.loads((self.out / f"category_data/{name}_metrics.json").read_text())

    def test_template(self):
        text, _ = self.analyse(busy_trace())
        lines = text.splitlines()
        at = 0
        for line in MULTI_KERNEL:
            self.assertIn(line, lines[at:], "in this order")
            at = lines.index(line, at) + 1
        extra = {li for li in lines if li.startswith("#")} - set(MULTI_KERNEL)
        self.assertTrue(all(li.startswith("### System P") for li in extra), extra)
        for pattern in LINES:
            self.assertTrue(any(re.fullmatch(pattern, li) or re.match(pattern + "$|" + pattern + ": ", li)
                                for li in lines), pattern)

    def test_callers_and_causes(self):
        text, idle = self.analyse(busy_trace())
        self.assertIn("**Action**: Read values back after the step", text)
        self.assertIn("**Events**: times and percentages are over all GPU events, with", text)
        self.assertIn("**Cross-validation**: PASS, against the timeline of the manifest.", text)
        self.assertIn("Asked for by `aten::item` in `train.py(12): step` (count 12, 240 us)", text)
        self.assertNotIn("someone", text + idle)
        # Between the last product at 3650 and the copy at 4800: 1150 µs, in the loader for most of it.
        row = read_csv(self.out / "category_data/cpu_idle_ops.csv")[0]
        self.assertEqual((row["duration_us"], row["cause"], row["operation"]), ("1150", "data_wait", "aten::copy_"))
        self.assertIn("| 1 | 1150 | Data wait | `aten::copy_` |", idle)
        # Each read holds the host: after it the GPU is idle for 90 µs until the product.
        causes = self.metrics("cpu_idle")["causes"]
        self.assertEqual((causes["synchronisation"]["count"], causes["synchronisation"]["time_ms"]), (12, 1.08))

    def test_numbers_stand_in_the_data(self):
        texts = self.analyse(busy_trace())
        known = set()
        for path in self.out.glob("category_data/*.json"):
            numbers_of(json.loads(path.read_text()), known)
        for table in ("levels.tsv", "rules.tsv"):
            known |= {float(n) for n in NUMBER.findall((ROOT / "data" / table).read_text())}
        for text in texts:
            prose = re.sub(r"\.py\(\d+\)|`[^`]*`|^\d+\. |System P\d+|\b[DH]2[DH]\b|^\| \d+ \|", "", text, flags=re.M)
            for number in NUMBER.findall(prose):
                self.assertIn(float(number), known, number)

    def test_neutral_words(self):
        for text in self.analyse(busy_trace()):
            # Remedies are those of the findings, which name what each vendor has.
            prose = re.sub(r"`[^`]*`|^(   - Recommendation|\*\*Action\*\*): .*", "", text, flags=re.M)
            prose = prose.replace("### NCCL Blocking Compute", "")
            self.assertIsNone(BRANDS.search(prose))

    def test_without_data(self):
        self.analyse(busy_trace())
        (self.out / "category_data/multi_kernel_data.json").unlink()
        (self.out / "category_data/cpu_idle_data.json").unlink()
        for name in ("multi_kernel", "cpu_idle"):
            text = self.category(name)
            self.assertIn("**Status**: SUCCESS\n", text)
            self.assertIn("**Limitations**: ", text)
        percent = json.loads((self.out / "category_manifest.json").read_text())["gpu_utilization"]
        self.assertEqual(self.metrics("multi_kernel")["nccl_blocking_assessment"]["percent_of_total"],
                         round(percent["exposed_comm_time_percent"], 2))

    def test_broken_data(self):
        self.analyse(busy_trace())
        for name in ("multi_kernel", "cpu_idle"):
            (self.out / f"category_data/{name}_data.json").write_text("{\"half")
            text = self.category(name, rc=(0, 3))
            self.assertIn("**Status**: ERROR\n", text)
            self.assertNotIn("## Summary", text)
            self.assertNotIn(str(self.tmp), text)
            self.assertEqual(self.metrics(name)["status"], "ERROR")

    def test_nothing_to_tell(self):
        """Traces without host, without copies; the same bytes twice."""
        first = self.analyse(document([kernel("k", 10, 5), kernel("k", 15, 5)]))
        self.assertIn("| Total Memcpy Events | 0 | ACCEPTABLE |", first[0])
        self.assertIn("The GPU is never idle.", first[1])
        shutil.rmtree(self.out)
        self.assertEqual(first, self.analyse(document([kernel("k", 10, 5), kernel("k", 15, 5)])))

    def test_without_gpu_work(self):
        """Nothing is claimed, and every bracket and line is closed."""
        for text in self.analyse(document([op("aten::mm", 1, 5)])):
            self.assertIn("**Limitations**: No GPU work was recorded.", text)
            self.assertNotRegex(text, r"ACCEPTABLE|never idle|over the thresholds|n/a#")
            for line in text.splitlines():
                self.assertEqual(line.count("("), line.count(")"), line)
                self.assertIn(line.find("#"), (-1, 0), line)
        self.assertIsNone(self.metrics("multi_kernel")["memcpy_assessment"]["severity"])
        self.assertIsNone(self.metrics("cpu_idle")["causes"]["unknown"]["severity"])

    def test_linked_only(self):
        """Idle time is that of the timeline; copies and communication count all events, and agree."""
        self.assertExit(trawl("prepare", self.write(busy_trace()), "--linked-only", "-o", self.out, "-q"), 0, 3)
        self.assertIn("PASS, against a timeline of the same events;", self.category("multi_kernel"))
        self.assertIn("over GPU events with a recorded launch (--linked-only).", self.category("cpu_idle"))
        self.assertEqual(self.metrics("multi_kernel")["nccl_summary"]["total_count"], 1)
        self.assertEqual(self.metrics("multi_kernel")["cross_validation"]["status"], "PASS")
        manifest = json.loads((self.out / "category_manifest.json").read_text())
        self.assertEqual(self.metrics("cpu_idle")["gpu_utilization"]["idle_time_ms"],
                         round(manifest["gpu_utilization"]["idle_time_ms"], 3))

    @unittest.skipUnless(SHARED.is_dir(), "needs the given cases")
    def test_given_copy_kind_in_arguments(self):
        out = self.tmp / "prepared"
        self.assertExit(trawl("prepare", SHARED / "cases/found/kineto-02-copy-kind-in-args/trace.json",
                              "-o", out), 0)
        data = json.loads((out / "category_data/multi_kernel_data.json").read_text())
        self.assertEqual(list(data["memcpy_summary"]["by_direction"]), ["D2H"])
        copy = data["memcpy_summary"]["by_direction"]["D2H"]
        self.assertEqual([copy[k] for k in ("count", "total_time_us", "total_bytes")], [1, 20, 1048576])


if __name__ == "__main__":
    unittest.main()
