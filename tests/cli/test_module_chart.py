"""The picture of GPU time by module, in the page of `analyze` and as a file."""
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
from module_run import Run, Thread, made_run
from support import SANITIZED, Case, tracegen, trawl

PAGE, REPORT, CHART = "standalone_analysis_fair.html", "standalone_analysis_fair.md", "modules.svg"
SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 488  # of all GPU time
HOSTILE = ("<script>alert(1)</script>", "\"'&amp;--></svg></p>", "a > b", "\ud800\x01\n![x](y.svg)")


def boxes(root):
    """Path, ms, percent, left, right, row of each rectangle with a title, in order."""
    found = []
    for group in root.iter(SVG + "g"):
        told = group.find(SVG + "title").text
        path, ms, percent = re.fullmatch(r"(.*): (\d+\.\d{3}) ms, (\d+\.\d\d) %", told, re.S).groups()
        rect = group.find(SVG + "rect")
        left, width = float(rect.get("x")), float(rect.get("width"))
        found.append((path, float(ms), float(percent), left, round(left + width + 0.5, 1), float(rect.get("y"))))
    return found


class ModuleChart(Case):
    def analysis(self, text, name="trace"):
        trace, out = self.tmp / f"{name}.json", self.tmp / f"{name}_out"
        if isinstance(text, bytes):
            trace.write_bytes(text)
        else:
            trace.write_text(text)
        self.assertExit(trawl("analyze", "-q", "--no-xlsx", "--no-replay", "-o", out, trace), 0)
        return out

    def flat(self, modules):
        """A trace of modules with a kernel each, one after the other: (path, ns)."""
        run = Run(0)
        run.events, run.kernels = [], []
        thread = Thread(10, 1)
        for path, ns in modules:
            frames = [run.frame(thread, "nn.Module: " + name) for name in path]
            op = run.begin(thread, "cpu_op", "aten::mm")
            run.launch(thread, path, "forward", None, "aten::mm")
            run.events[-1]["dur"] = ns
            run.gpu_now = run.events[-1]["ts"] + ns
            run.end(thread, op)
            for frame in reversed(frames):
                run.end(thread, frame)
        return run.text()

    def check_nesting(self, found):
        """Each rectangle is in one of the row above, and beside the others of its row."""
        for path, _, _, left, right, row in found[1:]:
            around = [b for b in found if b[5] == row - 26 and b[3] <= left and right <= b[4]]
            self.assertEqual(len(around), 1, path)
        for row in {b[5] for b in found}:
            own = sorted((b[3], b[4]) for b in found if b[5] == row)
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(own, own[1:])), own)
        for _, _, _, left, right, row in found:
            inside = [b for b in found if b[5] == row + 26 and left <= b[3] and b[4] <= right]
            self.assertLessEqual(round(sum(b[4] - b[3] for b in inside), 1), round(right - left, 1))

    def test_made_runs(self):
        drawn = 0
        for seed in range(3 if SANITIZED else 12):
            with self.subTest(seed=seed):
                run = made_run(seed)
                whole = sum(ns for *_, ns in run.kernels)
                if not any(path for path, *_ in run.kernels):
                    continue
                out = self.analysis(run.text(), f"run{seed}")
                found = boxes(xml.etree.ElementTree.parse(out / CHART).getroot())
                self.check_nesting(found)
                drawn += len(found)
                times = {"all GPU events": whole}
                for path, *_, ns in run.kernels:
                    for depth in range(1, len(path) + 1) if path else (0,):
                        name = " > ".join(path[:depth]) or "outside of modules"
                        times[name] = times.get(name, 0) + ns
                self.assertEqual({b[0] for b in found}, {p for p, ns in times.items() if ns * 1000 >= whole * 3})
                for path, ms, percent, left, right, _ in found:
                    self.assertAlmostEqual(ms, times[path] / 1e6, delta=0.00051, msg=path)
                    self.assertAlmostEqual(percent, 100 * times[path] / whole, delta=0.0051, msg=path)
                    self.assertAlmostEqual(right - left, WIDTH * times[path] / whole, delta=0.11, msg=path)
        self.assertGreater(drawn, 30)

    def test_too_small_to_be_seen(self):
        out = self.analysis(self.flat([(("Large_0",), 99_400), (("Seen_0",), 300), (("Small_0",), 299),
                                       ((), 1)]))
        found = [b[0] for b in boxes(xml.etree.ElementTree.parse(out / CHART).getroot())]
        self.assertEqual(found, ["all GPU events", "Large_0", "Seen_0"])

    def test_depth_of_the_picture(self):
        out = self.analysis(self.flat([(tuple(f"M{i}_0" for i in range(30)), 1000)]))
        found = boxes(xml.etree.ElementTree.parse(out / CHART).getroot())
        self.assertEqual(len(found), 24)
        self.assertEqual(found[-1][0].split(" > ")[-1], "M22_0")

    def test_more_classes_than_colours(self):
        out = self.analysis(self.flat([((f"Class{chr(65 + i)}_{i}",), 1000 - i) for i in range(12)]))
        root = xml.etree.ElementTree.parse(out / CHART).getroot()
        fill = {g.find(SVG + "title").text.split(":")[0]: g.find(SVG + "rect").get("fill")
                for g in root.iter(SVG + "g")}
        self.assertEqual(len({fill[f"Class{chr(65 + i)}_{i}"] for i in range(11)}), 11)
        self.assertEqual(fill["ClassK_10"], fill["ClassL_11"])
        self.assertEqual([e.text for e in root.findall(SVG + "text")][3:],
                         [f"Class{chr(65 + i)}" for i in range(10)] + ["further classes"])

    def test_hostile_names(self):
        text = self.flat([((name, "Linear_0"), 1000) for name in HOSTILE] + [(("BYTES", "Linear_1"), 1000)])
        out = self.analysis(text.encode("utf-8", "surrogatepass").replace(b"BYTES", b"\xff\xfe"))
        found = boxes(xml.etree.ElementTree.parse(out / CHART).getroot())
        self.check_nesting(found)
        paths = [b[0] for b in found]
        self.assertEqual(len(paths), 11)
        for path in ("<script>alert(1)</script> > Linear_0", "\"'&amp;--></svg></p> > Linear_0", "a > b > Linear_0"):
            self.assertIn(path, paths)
        page = (out / PAGE).read_text(encoding="utf-8")
        self.assertNotIn("<script", page)
        self.assertEqual((page.count("<svg"), page.count("</svg>")), (1, 1))

    def test_in_the_page(self):
        trace = self.tmp / "made.json"
        subprocess.run([tracegen(), "--stacks", "--steps", "1", "-o", trace], check=True)
        out = self.analysis(trace.read_text(), "made")
        self.assertIn(f"\n![GPU time by module]({CHART})\n", (out / REPORT).read_text())
        page, chart = (out / PAGE).read_text(), (out / CHART).read_text()
        self.assertIn("<p>" + chart.replace(' xmlns="http://www.w3.org/2000/svg"', "").strip() + "\n</p>", page)
        self.assertIn('viewBox="0 0 520 ', chart)
        self.assertRegex(page, r"\nsvg \{ width: 100%;")
        # 358 pixels of a phone's 390 are left for the picture's 520.
        sizes = [float(s) for s in re.findall(r'font-size="([\d.]+)"', chart)]
        self.assertGreaterEqual(min(sizes) * 358 / 520, 10)
        again = self.analysis(trace.read_text(), "made")
        self.assertEqual((again / CHART).read_text(), chart)

    def test_without_modules(self):
        trace = self.tmp / "plain.json"
        subprocess.run([tracegen(), "--steps", "1", "-o", trace], check=True)
        out = self.analysis(trace.read_text(), "plain")
        self.assertFalse((out / CHART).exists())
        for name in (PAGE, REPORT):
            self.assertNotIn("by module", (out / name).read_text())
        self.assertNotIn("<svg", (out / PAGE).read_text())


if __name__ == "__main__":
    unittest.main()
