"""GPU time of two sides by module, call site, pass, phase and step: rows that add up to all of it."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SANITIZED, Case, document, event, kernel, launch, op, tracegen, trawl

GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
BY_MODULE = {"module_changes", "module_class_changes", "module_operation_changes", "call_site_changes",
             "pass_changes"}
PLACES = BY_MODULE | {"phase_changes", "step_changes"}


def ns(value):
    """Of milliseconds or microseconds, exactly."""
    return int(Decimal(str(value)).scaleb(6).to_integral_value())


def gpu_ns(*traces):
    """The durations of all GPU events, from the traces as they are."""
    total = Decimal(0)
    for trace in traces:
        for e in json.loads(trace.read_text(), parse_float=Decimal, parse_int=Decimal)["traceEvents"]:
            if e.get("ph") == "X" and e.get("cat") in GPU:
                total += e["dur"] * 1000
    return int(total)


class Places(Case):
    def made(self, name, *options):
        trace = self.tmp / name
        subprocess.run([tracegen(), *options, "-o", trace], check=True)
        return trace

    def compare(self, *arguments, codes=(0,)):
        result = trawl("compare", *arguments, "-o", self.tmp / "page.html")
        self.assertAlive(result)
        self.assertExit(result, *codes)
        return result

    def tables(self, *arguments, codes=(0,)):
        result = self.compare(*arguments, "--format", "json", codes=codes)
        return {t["name"]: [dict(zip([c["header"] for c in t["columns"]], r)) for r in t["rows"]]
                for t in json.loads(result.out)["tables"]}

    def check_sums(self, tables, before, after, names):
        self.assertEqual({t for t in tables if t in PLACES}, names)
        for name in names:
            rows = tables[name]
            self.assertEqual((name, sum(ns(r["baseline ms"]) for r in rows), sum(ns(r["test ms"]) for r in rows),
                              sum(ns(r["difference ms"]) for r in rows)), (name, before, after, after - before))

    def test_rows_add_up_to_the_gpu_time(self):
        for kind, names in (("train", BY_MODULE | {"step_changes"}), ("infer", BY_MODULE | {"step_changes"}),
                            ("decode", {"call_site_changes", "pass_changes", "phase_changes", "step_changes"})):
            with self.subTest(kind):
                a, b = (self.made(f"{kind}{seed}.json", "--kind", kind, "--stacks", "--steps", "2", "--seed", seed)
                        for seed in ("1", "2"))
                before, after = gpu_ns(a), gpu_ns(b)
                self.assertNotEqual(before, after)
                self.check_sums(self.tables(a, b), before, after, names)
                # Saved reports have all but operators within modules.
                for side in (a, b):
                    self.assertExit(trawl("report", "-q", "-o", side.with_suffix(""), side), 0)
                saved = names - {"module_operation_changes"}
                for form in ("perf_report_csvs", "perf_report.xlsx"):
                    self.check_sums(self.tables(a.with_suffix("") / form, b.with_suffix("") / form), before, after,
                                    saved)

    def test_ranks_are_summed(self):
        for side, seed in (("a", "1"), ("b", "2")):
            self.made(side, "--ranks", "3", "--stacks", "--steps", "1", "--seed", seed)
        a, b = (sorted((self.tmp / side).glob("*.json")) for side in "ab")
        names = BY_MODULE | {"step_changes"}
        self.check_sums(self.tables(self.tmp / "a", self.tmp / "b"), gpu_ns(*a), gpu_ns(*b), names)
        said = " ".join(self.compare(self.tmp / "a", self.tmp / "b").out.split())
        self.assertIn("modules with a difference in GPU time of their own, summed over 3 ranks ", said)
        self.assertIn(">width: mean of both sides, summed over 3 ranks; parts from 0.3 % on<",
                      (self.tmp / "page.html").read_text())
        # Reports over ranks have the same sums.
        for side in "ab":
            self.assertExit(trawl("report", "-q", "-o", self.tmp / f"{side}_report", self.tmp / side), 0)
        self.check_sums(self.tables(self.tmp / "a_report", self.tmp / "b_report"), gpu_ns(*a), gpu_ns(*b),
                        names - {"module_operation_changes"})
        # Only ranks of both sides count.
        b[2].unlink()
        tables = self.tables(self.tmp / "a", self.tmp / "b", codes=(0, 3))
        self.check_sums(tables, gpu_ns(*a[:2]), gpu_ns(*b[:2]), names)
        self.assertEqual({r["baseline ranks"] for r in tables["pass_changes"]} - {0}, {2})

    def test_a_part_of_a_trace(self):
        a = self.made("a.json", "--stacks", "--steps", "3")
        tables = self.tables(a, a, "--step", "13")
        self.assertEqual({r["step"] for r in tables["step_changes"] if r["baseline ms"]}, {"ProfilerStep#13", "(no launch)"})
        self.assertEqual({r["verdict"] for name in PLACES & set(tables) for r in tables[name]}, {"same"})

    def test_without_modules_there_are_no_such_tables(self):
        plain = self.write(document([kernel("k", 0, 10)]), "plain.json")
        self.assertFalse(PLACES & set(self.tables(plain, plain)))
        result = self.compare(plain, plain, "--stacks", "modules", codes=(3,))
        self.assertIn("no stacks_difference.folded: no stacks of both sides: they are those of traces with modules",
                      result.err)
        self.assertFalse((self.tmp / "stacks_difference.folded").exists())
        stacks = self.made("stacks.json", "--stacks", "--steps", "1")
        result = self.compare(stacks, plain)
        self.assertIn("plain.json has no modules: modules not compared", result.err)
        self.assertIn("plain.json has no call_sites: call sites not compared", result.err)
        self.assertIn("plain.json has no steps: steps not compared", result.err)

    # ---- by hand: two blocks, whose numbers differ between the sides

    def blocks(self, numbers, times, line=5):
        """Modules M > Block_N, each with aten::mm and its kernel of so many µs."""
        events, corr = [], 1

        def frame(name, ts, dur):
            return event("X", "python_function", name, 31, 32, ts, dur)
        events += [frame(f"run.py({line}): main", 0, 1000), frame("nn.Module: M_0", 1, 990)]
        for i, (number, mm) in enumerate(zip(numbers, times)):
            at = 10 + 100 * i
            events += [frame(f"nn.Module: Block_{number}", at, 80), op("aten::mm", at + 1, 50),
                       launch(at + 5, 5, corr), kernel("gemm;x", 2000 + 1000 * i, mm, corr)]
            corr += 1
        return document(events + [kernel("lone", 9000, 40)])

    def test_numbers_and_lines_of_another_run(self):
        a = self.write(self.blocks((3, 4), (200, 300)), "a.json")
        b = self.write(self.blocks((5, 6), (280, 220), line=7), "b.json")
        tables = self.tables(a, b, "--stacks", "modules")
        rows = {r["module"]: r for r in tables["module_changes"]}
        self.assertEqual({m: (r["baseline ms"], r["test ms"], r["test name"]) for m, r in rows.items()},
                         {"M_0": (0, 0, None), "M_0 > Block_3": (0.2, 0.28, "M_0 > Block_5"),
                          "M_0 > Block_4": (0.3, 0.22, "M_0 > Block_6"), "(unlinked)": (0.04, 0.04, None)})
        self.assertEqual((rows["M_0"]["baseline inclusive ms"], rows["M_0"]["test inclusive ms"]), (0.5, 0.5))
        self.assertEqual((rows["M_0 > Block_3"]["baseline calls"], rows["M_0 > Block_3"]["baseline per call"],
                          rows["M_0 > Block_3"]["of total (%)"]), (1, 200, 200 / 540 * 100))
        self.assertEqual([(r["module_class"], r["baseline ms"], r["test ms"]) for r in tables["module_class_changes"]
                          if r["baseline ms"]], [("(unlinked)", 0.04, 0.04), ("M > Block", 0.5, 0.5)])
        # One name, and the times cancel out: within modules they do not.
        self.assertEqual([(r["name"], r["verdict"]) for r in tables["operation_changes"]], [("aten::mm", "same")])
        self.assertEqual([(r["module"], r["pass"], r["name"], r["verdict"])
                          for r in tables["module_operation_changes"]],
                         [("M_0 > Block_3", "forward", "aten::mm", "worse"),
                          ("M_0 > Block_4", "forward", "aten::mm", "better"),
                          ("(unlinked)", "(unlinked)", "(unlinked)", "same")])
        self.assertEqual([(r["call_site"], r["test name"], r["verdict"]) for r in tables["call_site_changes"]],
                         [("(unlinked)", None, "same"), ("run.py(5): main", "run.py(7): main", "same")])
        self.assertEqual({r["pass"]: (r["baseline ms"], r["test ms"]) for r in tables["pass_changes"]},
                         {"forward": (0.5, 0.5), "(unlinked)": (0.04, 0.04)})
        folded = (self.tmp / "stacks_difference.folded").read_text()
        self.assertEqual(sorted(folded.splitlines()), [
            "(unlinked);(unlinked);lone 40000 40000",
            "M_0;Block_3;aten::mm;gemm,x 200000 280000",
            "M_0;Block_4;aten::mm;gemm,x 300000 220000"])

    def test_full_stacks(self):
        a = self.write(self.blocks((3,), (200,)), "a.json")
        b = self.write(self.blocks((3,), (250,), line=6), "b.json")
        self.compare(a, b, "--stacks", "full")
        self.assertEqual(sorted((self.tmp / "stacks_difference.folded").read_text().splitlines()), [
            "(unlinked);lone 40000 40000",
            "run.py(5): main;nn.Module: M_0;nn.Module: Block_3;aten::mm;cudaLaunchKernel;gemm,x 200000 0",
            "run.py(6): main;nn.Module: M_0;nn.Module: Block_3;aten::mm;cudaLaunchKernel;gemm,x 0 250000"])

    def test_stacks_are_those_of_reports(self):
        a, b = (self.made(f"{seed}.json", "--stacks", "--steps", "2", "--seed", seed) for seed in "12")
        for how in ("modules", "full"):
            self.compare(a, b, "--stacks", how)
            expected = {}
            for side, trace in enumerate((a, b)):
                out = self.tmp / f"{how}{side}"
                trawl("report", "-q", "--no-xlsx", "--stacks", how, "-o", out, trace)
                for line in (out / "stacks.folded").read_text().splitlines():
                    stack, time = line.rsplit(" ", 1)
                    expected.setdefault(stack, [0, 0])[side] += int(time)
            lines = (self.tmp / "stacks_difference.folded").read_text().splitlines()
            self.assertEqual({s: [int(x), int(y)] for s, x, y in (line.rsplit(" ", 2) for line in lines)}, expected)
            self.assertEqual(len(lines), len(expected))

    def test_stacks_need_two_sides(self):
        a = self.write(self.blocks((3,), (200,)), "a.json")
        result = self.compare(a, a, a, "--stacks", "modules", codes=(2,))
        self.assertIn("--stacks needs two sides, got 3", result.err)
        tables = self.tables(a, a, a, "--stacks", "none")
        self.assertEqual(len(tables["module_changes"]), 2 * 3)
        self.assertFalse((self.tmp / "stacks_difference.folded").exists())

    def test_what_most_of_the_difference_is_in(self):
        a = self.write(self.blocks((3, 4), (200, 300)), "a.json")
        b = self.write(self.blocks((3, 4), (260, 300)), "b.json")
        said = " ".join(self.compare(a, b).out.split())
        self.assertIn("Most of the change in GPU time (+0.0600 ms) is in module M_0 > Block_3 (+0.0600 ms).", said)
        self.assertIn("modules with a difference in GPU time of their own", said)

    def test_the_page_and_the_workbook(self):
        a = self.write(self.blocks((3, 4), (200, 300)), "a.json")
        b = self.write(self.blocks((3, "<b>"), (260, 300)), "b.json")
        self.compare(a, b, "--xlsx", self.tmp / "book.xlsx")
        text = (self.tmp / "page.html").read_text()
        self.assertIn('<figure class="chart">\n<svg xmlns="http://www.w3.org/2000/svg"', text)
        self.assertIn("<title>M_0 &gt; Block_3: 0.2000 ms -&gt; 0.2600 ms, +0.0600 ms (30.0 % slower)</title>", text)
        self.assertIn("<title>M_0 &gt; Block_&lt;b&gt;: 0.000000 ms -&gt; 0.3000 ms, +0.3000 ms</title>", text)
        self.assertNotIn("<b>", text)
        for heading in ("Modules", "Classes of Modules", "Operations by Module", "Call Sites", "Passes"):
            self.assertIn(f">{heading}</h2>", text)
        with zipfile.ZipFile(self.tmp / "book.xlsx") as book:
            sheets = book.read("xl/workbook.xml").decode()
        for name in BY_MODULE:
            self.assertIn(f'"{name}"', sheets)

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    @unittest.skipUnless(shutil.which("chromium"), "no chromium: the page was not looked at")
    def test_the_picture_is_as_wide_as_a_phone(self):
        a, b = (self.made(f"{seed}.json", "--stacks", "--steps", "1", "--seed", seed) for seed in "12")
        self.compare(a, b)
        text = (self.tmp / "page.html").read_text()
        text = text[:text.index("<meta http-equiv")] + text[text.index(">", text.index("<meta http-equiv")) + 1:]
        script = ("addEventListener('load', () => { const r = document.querySelector('.chart svg')"
                  ".getBoundingClientRect(); parent.postMessage([Math.round(r.left), Math.round(r.right),"
                  "document.documentElement.scrollWidth].join(' '), '*') })")
        self.write(text.replace("</body>", f"<script>{script}</script></body>"), "inner.html")
        probe = self.write("<title></title><script>addEventListener('message', e => document.title = e.data)</script>"
                           "<iframe src='inner.html' width='390' height='900' style='border:0'></iframe>",
                           "probe.html")
        done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={self.tmp / 'profile'}", "--dump-dom", probe.as_uri()],
                              check=True, timeout=120, capture_output=True, text=True)
        title = done.stdout[done.stdout.index("<title>") + 7:done.stdout.index("</title>")]
        left, right, page = map(int, title.split())
        self.assertLessEqual(page, 390)
        self.assertTrue(left >= 0 and 330 <= right - left and right <= 390, title)


if __name__ == "__main__":
    unittest.main()
