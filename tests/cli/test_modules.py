"""Tables of modules and call sites, their files and options."""
import ast
import pathlib
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, Report, tracegen, trawl

TABLES = ("modules", "module_classes", "call_sites", "recompute")


class Modules(Case):
    def made(self, name, *options):
        trace = self.tmp / f"{name}.json"
        subprocess.run([tracegen(), *options, "-o", trace], check=True)
        return trace

    def report_of(self, trace, *options):
        out = self.tmp / ("out_" + trace.stem + "".join(options).replace("/", "_"))
        report = Report(trawl("report", "--no-xlsx", "-o", out, *options, trace), out)
        self.assertEqual(report.rc, 0, report)
        return report

    def test_work_of_modules_is_that_of_the_operators(self):
        report = self.report_of(self.made("train", "--stacks", "--steps", "2"))
        rows = report.table("modules")
        top = [r for r in rows if r["depth"] in ("", "1")]
        work = sum(float(r["GFLOP"] or 0) for r in top)
        operators = sum(float(r["GFLOPS"] or 0) * int(r["operation_count"])
                        for r in report.table("unified_perf_summary"))
        self.assertGreater(work, 0)
        self.assertAlmostEqual(work / operators, 1, places=9)
        self.assertEqual({r["module_class"].split(" > ")[-1] for r in report.table("module_classes")} >=
                         {"Linear", "LayerNorm", "SelfAttention"}, True)
        # A share of the roofline is one of the calls, so it is between theirs.
        shares = [float(r["Pct Roofline_mean"]) for r in report.table("unified_perf_summary")
                  if r["Pct Roofline_mean"]]
        for row in rows:
            if row["roofline (%)"]:
                self.assertLessEqual(float(row["roofline (%)"]), max(shares) * 1.5, row)

    def test_a_trace_without_frames_has_no_such_tables(self):
        report = self.report_of(self.made("plain", "--steps", "1"))
        self.assertFalse([t for t in TABLES if report.has(t)])
        self.assertFalse((report.dir / "stacks.folded").exists())
        asked = self.report_of(self.made("plain", "--steps", "1"), "--stacks", "full")
        self.assertIn("no stacks.folded: no Python functions were recorded", asked.err)
        self.assertFalse((asked.dir / "stacks.folded").exists())

    def test_stacks_are_a_file_of_the_report(self):
        trace = self.made("infer", "--kind", "infer", "--stacks", "--steps", "1")
        report = self.report_of(trace)
        self.assertIn("stacks.folded", report.err)
        times = [int(line.rsplit(" ", 1)[1]) for line in (report.dir / "stacks.folded").read_text().splitlines()]
        self.assertEqual(sum(times), sum(int(Decimal(r["self GPU time (ms)"]).scaleb(6))
                                         for r in report.table("modules")))
        full = self.report_of(trace, "--stacks", "full", "--no-csv")
        lines = (full.dir / "stacks.folded").read_text().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), sum(times))
        self.assertTrue(any(line.startswith("main.py(212): <module>;main.py(187): main;") for line in lines))
        self.assertFalse((self.report_of(trace, "--stacks", "none").dir / "stacks.folded").exists())

    def sums(self, rows, keys, column):
        out = {}
        for r in rows:
            key = tuple(r[k] for k in keys)
            out[key] = out.get(key, 0) + Decimal(r[column])
        return out

    def test_groups_add_up_to_the_rows_without_them(self):
        trace = self.made("grouped", "--stacks", "--steps", "2")
        plain = self.report_of(trace)
        tables = {"ops_summary": (("name",), "total_direct_kernel_time_ms"),
                  "kernel_summary": (("Kernel name", "Parent cpu_op", "Kernel stream"), "Kernel duration (µs)_sum"),
                  "ops_unique_args": (("name", "Input Dims", "thread_name"), "total_direct_kernel_time_sum"),
                  "unified_perf_summary": (("name", "Input Dims", "thread_name"), "Kernel Time (µs)_sum")}
        for what, column in (("module", "module"), ("site", "call_site"), ("pass", "pass")):
            grouped = self.report_of(trace, "--group-by", what)
            for table, (keys, time) in tables.items():
                rows = grouped.table(table)
                self.assertEqual(list(rows[0])[-1], column)
                self.assertEqual(self.sums(rows, keys, time), self.sums(plain.table(table), keys, time), table)
                self.assertGreater(len({r[column] for r in rows}), 1, (what, table))
            if what == "pass":
                self.assertEqual({r["pass"] for r in grouped.table("ops_summary")}, {"forward", "backward"})
        # Kernels of a module, copies and memsets aside, are those of its own time.
        grouped = self.report_of(trace, "--group-by", "module")
        own = self.sums(grouped.table("kernel_summary"), ("module",), "Kernel duration (µs)_sum")
        for row in plain.table("modules"):
            self.assertLessEqual(own.get((row["module"],), 0) / 1000, Decimal(row["self GPU time (ms)"]))

    def test_groups_need_what_they_are_of(self):
        trace = self.made("plain", "--steps", "1")
        out = self.tmp / "none"
        for what, message in (("module", "grouping by module needs Python functions"),
                              ("layer", "cannot group by 'layer', only by module, site, pass")):
            done = trawl("report", "-q", "-o", out, "--group-by", what, trace)
            self.assertEqual(done.rc, 2, done)
            self.assertIn(message, done.err)
        rows = self.report_of(trace, "--group-by", "pass").table("ops_summary")
        self.assertEqual({r["pass"] for r in rows}, {"forward", "backward"})

    def test_call_stacks_of_operators(self):
        report = self.report_of(self.made("stacked", "--stacks", "--steps", "1"), "--call-stack")
        for table in ("ops_unique_args", "unified_perf_summary"):
            rows = [r for r in report.table(table) if r["name"] == "aten::addmm"]
            self.assertTrue(rows)
            for row in rows:
                self.assertEqual((row["parent_module"], row["is_recompute"]), ("Linear", "False"))
                stack = ast.literal_eval(row["call_stack_full"])
                self.assertEqual(stack[:2], ["main.py(212): <module>", "main.py(187): main"])
                self.assertEqual(stack[-3:-1], ["aten::linear", "aten::addmm"])
                self.assertIn("nn.Module: Linear", stack)
                self.assertFalse([f for f in stack if f.startswith("<built-in")])

    def test_ranks_have_sums(self):
        folder = self.tmp / "ranks"
        subprocess.run([tracegen(), "--ranks", "2", "--stacks", "--steps", "1", "-o", folder], check=True)
        out = self.tmp / "of_ranks"
        job = Report(trawl("report", "-q", "--no-xlsx", "-o", out, folder), out)
        self.assertEqual(job.rc, 0, job)
        single = {}
        for trace in sorted(folder.glob("*.json")):
            for row in self.report_of(trace).table("modules"):
                single.setdefault(row["module"], []).append(Decimal(row["GPU time (ms)"]))
        self.assertEqual({r["module"]: Decimal(r["GPU time (ms)_total"]) for r in job.table("modules")},
                         {m: sum(times) for m, times in single.items()})
        self.assertTrue(job.has("call_sites") and job.has("module_classes"))


if __name__ == "__main__":
    unittest.main()
