"""Tables of modules and call sites, their files and options."""
import ast
import pathlib
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from made_runs import US, Rank
from support import Case, Report, document, event, kernel, launch, op, tracegen, trawl

TABLES = ("modules", "module_classes", "call_sites", "recompute")
# What has groups: keys of a row without them, and its time.
GROUPED = {"ops_summary": (("name",), "total_direct_kernel_time_ms"),
           "kernel_summary": (("Kernel name", "Parent cpu_op", "Kernel stream"), "Kernel duration (µs)_sum"),
           "ops_unique_args": (("name", "Input Dims", "thread_name"), "total_direct_kernel_time_sum"),
           "unified_perf_summary": (("name", "Input Dims", "thread_name"), "Kernel Time (µs)_sum")}


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

    def test_the_summary_names_classes_and_functions(self):
        """Self times by the innermost class, wherever it is; the rest last; a long path by its end."""
        deep = "/" + "srv/" * 20 + "engine/runner.py(7): run"
        frames = (("serve.py(3): main", 0, 99), ("nn.Module: Model_0", 1, 80), (deep, 2, 78),
                  ("nn.Module: Linear_0", 3, 10), ("nn.Module: Block_0", 20, 40), ("nn.Module: Linear_1", 21, 10))
        work = ((4, 10), (22, 30), (45, 5), (70, 1), (90, 2))  # launched at, µs: Linear twice, Block, Model, none
        events = [event("X", "python_function", n, 31, 32, ts, dur) for n, ts, dur in frames]
        for i, (at, us) in enumerate(work):
            events += [launch(at, 1, i + 1), kernel(f"k{i}", 100 + 40 * i, us, i + 1)]
        events.append(kernel("lost", 400, 52))
        trace = self.tmp / "who.json"
        trace.write_text(document(events))
        lines = [" ".join(line.split()) for line in self.report_of(trace).out.splitlines()]
        at = lines.index("top modules by GPU time (self, by class); share of all GPU work")
        self.assertEqual(lines[at + 3:at + 8], ["Linear 2 0.040 40.0", "Block 1 0.005 5.0", "Model 1 0.001 1.0",
                                                "(none) - 0.002 2.0", "(unlinked) - 0.052 52.0"])
        at = lines.index("top call sites by GPU time; share of all GPU work")
        first, *rows = lines[lines.index("", at) - 3:lines.index("", at)]
        self.assertRegex(first, r"^…(/srv)+/engine/runner\.py\(7\): run 0\.046 46\.0$")
        self.assertEqual(rows, ["serve.py(3): main 0.002 2.0", "(unlinked) 0.052 52.0"])
        one = trawl("report", "--top-ops", "1", "--no-xlsx", "-o", self.tmp / "one", trace).out
        self.assertIn("Linear", one)
        self.assertNotIn("Block", one)

    def test_the_summary_names_groups(self):
        trace = self.made("grouped", "--stacks", "--steps", "2")
        out = " ".join(self.report_of(trace, "--group-by", "pass", "--top-ops", "40").out.split())
        self.assertRegex(out, r" aten::addmm GEMM, forward ")
        self.assertRegex(out, r" aten::mm GEMM, backward ")
        self.assertRegex(out, r"nvjet\S+ GEMM, (forward|backward) ")
        self.assertRegex(out, r" \(not attributed\) - - ")

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

    def check_groups(self, plain, grouped, column):
        """They add up to the rows without them, to the ns."""
        for table, (keys, time) in GROUPED.items():
            rows = grouped.table(table)
            self.assertEqual(list(rows[0])[-1], column)
            self.assertEqual(self.sums(rows, keys, time), self.sums(plain.table(table), keys, time), table)
            self.assertGreater(len({r[column] for r in rows}), 1, (column, table))

    def test_groups_add_up_to_the_rows_without_them(self):
        trace = self.made("grouped", "--stacks", "--steps", "2")
        plain = self.report_of(trace)
        for what, column in (("module", "module"), ("site", "call_site"), ("pass", "pass")):
            grouped = self.report_of(trace, "--group-by", what)
            self.check_groups(plain, grouped, column)
            if what == "pass":
                self.assertEqual({r["pass"] for r in grouped.table("ops_summary")}, {"forward", "backward"})
        # Kernels of a module, copies and memsets aside, are those of its own time.
        grouped = self.report_of(trace, "--group-by", "module")
        own = self.sums(grouped.table("kernel_summary"), ("module",), "Kernel duration (µs)_sum")
        for row in plain.table("modules"):
            self.assertLessEqual(own.get((row["module"],), 0) / 1000, Decimal(row["self GPU time (ms)"]))

    def served(self):
        """Two steps that each read a prompt and write for it, with work of neither, and work in no step."""
        r = Rank()
        r.run("aten::fill_", 3001)
        for number in (4, 5):
            with r.step(number):
                r.run("aten::copy_", 10 * US + number)
                with r.inside("step[EXTEND bs=1 toks=8]"):
                    r.run("aten::mm", 100 * US + number, [[8, 4], [4, 4]])
                with r.inside("step[DECODE bs=2]"):
                    r.run("aten::mm", 20 * US + number, [[2, 4], [4, 4]])
                    # The GPU is at it long after the step ended on the host.
                    r.run("aten::mm", 900 * US, [[2, 4], [4, 4]])
        r.run("aten::fill_", 5003)
        r.work("kernel", "lost", 7009, 7, r.now, None)
        return self.write(r.document(), "served.json")

    def test_groups_of_steps_and_phases(self):
        trace = self.served()
        plain = self.report_of(trace)
        steps, phases = (self.report_of(trace, "--group-by", what) for what in ("step", "phase"))
        self.check_groups(plain, steps, "step")
        self.check_groups(plain, phases, "phase")
        kernels = "kernel_summary", "Kernel duration (µs)_sum"
        self.assertEqual(self.sums(steps.table(kernels[0]), ("Kernel name", "step"), kernels[1]),
                         {("aten_fill__kernel", "(launched outside)"): Decimal("8.004"),
                          ("aten_copy__kernel", "ProfilerStep#4"): Decimal("10.004"),
                          ("aten_copy__kernel", "ProfilerStep#5"): Decimal("10.005"),
                          ("aten_mm_kernel", "ProfilerStep#4"): Decimal("1020.008"),
                          ("aten_mm_kernel", "ProfilerStep#5"): Decimal("1020.010"),
                          ("lost", "(no launch)"): Decimal("7.009")})
        self.assertEqual(self.sums(phases.table(kernels[0]), ("Kernel name", "phase"), kernels[1]),
                         {("aten_fill__kernel", "(launched outside)"): Decimal("8.004"),
                          ("aten_copy__kernel", "(launched outside)"): Decimal("20.009"),
                          ("aten_mm_kernel", "prefill"): Decimal("200.009"),
                          ("aten_mm_kernel", "decode"): Decimal("1840.009"),
                          ("lost", "(no launch)"): Decimal("7.009")})
        # Per group they are the rows of the tables of steps and phases.
        for grouped, column, table, time in ((steps, "step", "steps", "GPU time (ms)"),
                                             (phases, "phase", "phases_summary", "GPU time (ms)")):
            sums = self.sums(grouped.table(kernels[0]), (column,), kernels[1])
            name = "name" if table == "steps" else "phase"
            rows = [r for r in plain.table(table) if r[time] and r[name] != "(outside)"]
            self.assertEqual({r[name]: Decimal(r[time]) * 1000 for r in rows},
                             {g[0]: t for g, t in sums.items() if table == "steps" or g[0][0] != "("})

    def test_groups_of_generated_steps(self):
        for kind in ("train", "decode"):
            trace = self.made(kind, "--kind", kind, "--steps", "3", "--run-ahead-us", "700")
            plain, grouped = self.report_of(trace), self.report_of(trace, "--group-by", "step")
            self.check_groups(plain, grouped, "step")
            self.assertEqual({r["step"] for r in grouped.table("ops_unique_args")},
                             {r["name"] for r in plain.table("steps") if r["step"]})

    def test_groups_need_what_they_are_of(self):
        trace = self.made("plain", "--steps", "1")
        out = self.tmp / "none"
        for what, message in (("module", "grouping by module needs Python functions"),
                              ("phase", "grouping by phase needs annotations of an inference server (prefill, "
                                        "decode): none are recorded"),
                              ("layer", "cannot group by 'layer', only by module, site, pass, step, phase, stream\n")):
            done = trawl("report", "-q", "-o", out, "--group-by", what, trace)
            self.assertEqual(done.rc, 2, done)
            self.assertIn(message, done.err)
        rows = self.report_of(trace, "--group-by", "pass").table("ops_summary")
        self.assertEqual({r["pass"] for r in rows}, {"forward", "backward"})
        without = self.write(trace.read_text().replace("ProfilerStep#", "Step#"), "without.json")
        done = trawl("report", "-q", "-o", out, "--group-by", "step", without)
        self.assertEqual(done.rc, 2, done)
        self.assertIn("grouping by step needs profiler steps (ProfilerStep#N): none are recorded", done.err)

    def test_a_file_named_after_the_operator_is_no_entry(self):
        """The function has to be: else the innermost around the operator is told."""
        def frame(name, ts, dur):
            return event("X", "python_function", name, 31, 32, ts, dur)
        inside = {"torch/linear.py(7): call": "model.py(10): run", "torch/x.py(7): linear": "torch/x.py(7): linear"}
        for name, entry in inside.items():
            trace = self.write(document([
                frame("model.py(10): run", 90, 40), op("aten::linear", 100, 20), frame(name, 102, 15),
                launch(105, 4, 1), kernel("gemm", 130, 10, 1)]), "entry.json")
            rows = self.report_of(trace, "--call-stack").table("ops_unique_args")
            self.assertEqual([r["entry_point"] for r in rows if r["name"] == "aten::linear"], [entry])

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
