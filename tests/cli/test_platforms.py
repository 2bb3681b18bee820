"""trawl platforms, and the files that --platform takes."""
import csv
import io
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, trawl

# From the sources that the data file names: GB/s, GB, TFLOP/s in bf16.
FIXED = {"MI300X": (5300, 192, 708), "MI325X": (6000, 256, 843), "MI355X": (8000, 288, 2516.6),
         "MI400": (19600, 432, None)}


def facts():
    """(platform, key) -> (value, mark, source) of the data file."""
    out = {}
    for line in (ROOT / "data/platforms.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, key, value, mark, source = line.split("\t")
            if key != "device":
                out[name, key] = (float(value), mark.replace("-", ""), source)
    return out


class List(Case):
    def test_csv_has_every_figure(self):
        result = trawl("platforms", "--format", "csv")
        self.assertExit(result, 0)
        rows = {r["platform"]: r for r in csv.DictReader(io.StringIO(result.out))}
        want = facts()
        self.assertEqual(list(rows), list(dict.fromkeys(n for n, _ in want)))
        for name, row in rows.items():
            for key in row:
                if key not in ("platform", "marks"):
                    value = want.get((name, key), ("",))[0]
                    self.assertEqual(float(row[key]) if row[key] else "", value, (name, key))
            self.assertEqual(set(row["marks"].split(", ")),
                             {m for (n, _), (_, m, _) in want.items() if n == name and m}, name)

    def test_fixed_figures(self):
        result = trawl("platforms", "--format", "json")
        record = json.loads(result.out)
        self.assertEqual(record["schema"], "trawl.platforms/1")
        (table,) = record["tables"]
        ids = [c["id"] for c in table["columns"]]
        rows = {r[0]: dict(zip(ids, r)) for r in table["rows"]}
        for name, figures in FIXED.items():
            self.assertEqual(tuple(rows[name][k] for k in
                                   ("mem_bw_gbps", "memory_gb", "matrix_bf16")), figures)
        self.assertEqual(rows["MI355X"]["matrix_fp8"], 5033.2)

    def test_fits_a_terminal(self):
        result = trawl("platforms")
        self.assertExit(result, 0)
        self.assertLessEqual(max(map(len, result.out.splitlines())), 100)
        self.assertNotIn("csv has all", result.out)
        for name in ("MI300X", "A100 80GB SXM", "RTX 4090"):
            self.assertIn(name, result.out)

    def test_markdown(self):
        result = trawl("platforms", "--format=markdown")
        self.assertExit(result, 0)
        self.assertIn("| MI300X | 5300 | 192 |", result.out)


class One(Case):
    def test_sources(self):
        want = {k: v for (n, k), v in facts().items() if n == "H100 SXM"}
        for name in ("H100 SXM", "nvidia h100-sxm", "h100_sxm"):
            result = trawl("platforms", name, "--format", "csv")
            self.assertExit(result, 0)
            rows = {r["fact"]: (float(r["value"]), r["mark"], r["source"])
                    for r in csv.DictReader(io.StringIO(result.out))}
            self.assertEqual(rows, want)

    def test_sources_are_shown_whole(self):
        result = trawl("platforms", "B200")
        for (name, _), (_, _, source) in facts().items():
            if name == "B200":
                self.assertIn(source, result.out)

    def test_unknown(self):
        result = trawl("platforms", "MI301X")
        self.assertExit(result, 2)
        self.assertEqual(result.out, "")
        self.assertIn("nearest: MI300X, ", result.err)
        self.assertIn("trawl platforms", result.err)
        self.assertExit(trawl("platforms", "MI300X", "MI325X"), 2)
        self.assertExit(trawl("platforms", "--no-such"), 2)


class Variants(Case):
    """A name that several variants share is the one that the trace's device is."""

    def trace(self, name, **properties):
        device = {"id": 0, "name": name, **properties}
        event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 1, "ts": 10, "dur": 20,
                 "args": {"device": 0, "stream": 1, "correlation": 1}}
        return self.write(json.dumps({"schemaVersion": 1, "deviceProperties": [device],
                                      "traceEvents": [event]}), "t.json")

    def report(self, path, *options):
        return trawl("report", path, "--no-csv", "--no-xlsx", *options)

    def test_device_decides(self):
        result = self.report(self.trace("NVIDIA H100 NVL"), "--platform", "h100")
        self.assertExit(result, 0)
        self.assertIn("roofline peaks: H100 NVL\n", result.out)

    def test_device_is_none_of_them(self):
        result = self.report(self.trace("NVIDIA A10"), "--platform", "H100")
        self.assertExit(result, 2)
        self.assertIn("name one of H100 SXM, H100 PCIe, H100 NVL", result.err)

    def test_without_a_trace(self):
        for command in (("platforms", "H100"),
                        ("model", "aten::mm", "--dims", "2x2,2x2", "--dtype", "bf16", "--platform",
                         "H100")):
            result = trawl(*command)
            self.assertExit(result, 2)
            self.assertIn("name one of H100 SXM, H100 PCIe, H100 NVL", result.err)

    def test_unnamed_device(self):
        mi300x = {"totalGlobalMem": 206141652992, "computeMajor": 9, "computeMinor": 4,
                  "numSms": 304}
        self.assertIn("roofline peaks: MI300X (from the device)",
                      self.report(self.trace("", **mi300x)).out)
        result = self.report(self.trace("", **{**mi300x, "numSms": 303}))
        self.assertExit(result, 0)
        self.assertIn("no roofline: no device name in the trace; use --platform NAME",
                      result.out)

    def test_unknown_device(self):
        self.assertIn("no roofline: unknown peaks of this device; use --platform NAME",
                      self.report(self.trace("NVIDIA A1000000")).out)


class Given(Case):
    def test_analyze_03(self):
        case = SHARED / "cases/found/analyze-03-platform-unnamed/trace.json"
        if not case.exists():
            self.skipTest("given material absent: analyze-03 (TRAWL_SHARED)")
        result = trawl("report", case, "--no-csv", "--no-xlsx")
        self.assertIn("roofline peaks: MI300X", result.out)


class Files(Case):
    def test_file(self):
        path = self.write('{"name": "Mine \\u00b5", "mem_bw_gbps": 1000, "memory_gb": 10,'
                          '"max_achievable_tflops": {"matrix_bf16": 100}}', "mine.json")
        result = trawl("platforms", path, "--format", "csv")
        self.assertExit(result, 0)
        rows = [(r["fact"], float(r["value"]), r["unit"], r["mark"], r["source"])
                for r in csv.DictReader(io.StringIO(result.out))]
        self.assertEqual(rows, [("mem_bw_gbps", 1000, "GB/s", "", str(path)),
                                ("memory_gb", 10, "GB", "", str(path)),
                                ("matrix_bf16", 100, "TFLOP/s", "", str(path))])

    def test_broken_files(self):
        for text, words in (('{"memory_gb": 10}', '"mem_bw_gbps" is missing'),
                            ('{\n "mem_bw_gbps": "1"}', 'bad.json:2:17: .*"mem_bw_gbps"'),
                            ('{"mem_bw_gbps": -1}', 'above 0'), ('{"mem_bw_gbps": NaN}', "JSON"),
                            ("[1]", "object"), ("", "unexpected end"), ("x" * 2000000, "1 MB")):
            path = self.write(text, "bad.json")
            result = trawl("platforms", path)
            self.assertExit(result, 1)
            self.assertEqual(len(result.err.splitlines()), 1)
            self.assertRegex(result.err, words)
            self.assertIn("bad.json", result.err)

    def test_absent_file(self):
        for name in (self.tmp / "absent.json", self.tmp):
            result = trawl("platforms", name)
            self.assertExit(result, 1)
            self.assertIn(str(name), result.err)


if __name__ == "__main__":
    unittest.main()
