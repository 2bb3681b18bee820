"""The reports of trawl analyze: structure, links, lengths, numbers, words, the page, the pictures.

Each trace is analyzed once; what is given (TRAWL_SHARED) is added to the sample and to small ones.
"""
import csv
import functools
import html.parser
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SANITIZED, SHARED, Case, document, op, trawl

# It is Debian's, which another Python on the PATH does not look for.
sys.path.append("/usr/lib/python3/dist-packages")
try:
    from markdown_it import MarkdownIt
except ImportError:
    MarkdownIt = None

SAMPLE = ROOT / "examples/sample.json.gz"
CHROMIUM = shutil.which("chromium")
FAIR, ROUGH = "standalone_analysis_fair.md", "standalone_analysis_rough.md"
PRIORITIES = {"Critical": "🔴", "High": "🟡", "Medium": "🟢", "Low": "⚪"}
# One vendor's words for what every vendor has. Headings that are given, and names as `code`, may.
AVOID = r"CUDA|NCCL|RCCL|CUTLASS|cuBLAS|hipBLAS|cuDNN|MIOpen|ROCm|nsight|rocprof|nvprof|\bHIP\b"
GIVEN_HEADINGS = {"NCCL Blocking Compute"}
# What a trace cannot show.
CLAIMS = r"bank conflict|coalesc|occupancy|cache (hit|miss)|tile size|register pressure|warp diverg"

NO_OPERATIONS = document([{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10,
                           "dur": 5, "args": {"device": 0, "stream": 7}}])
HOST_ONLY = document([op("aten::relu", 100, 10), op("aten::mm", 120, 30)])


def traces():
    """Name -> path, or the text of a small one."""
    out = {"sample": SAMPLE, "no operations": NO_OPERATIONS, "host only": HOST_ONLY}
    folders = sorted(p for p in (SHARED / "traces").glob("*") if (p / "trace.json.gz").exists())
    # An instrumented program is slow: the smaller half.
    folders.sort(key=lambda p: (p / "trace.json.gz").stat().st_size)
    for folder in folders[:len(folders) // 2] if SANITIZED else folders:
        out[folder.name] = folder / "trace.json.gz"
    return out


@functools.cache
def workplace():
    return pathlib.Path(tempfile.mkdtemp(prefix="trawl-test-reports-"))


@functools.cache
def analysis(name):
    """The directory of a trace's analysis, made once."""
    trace = traces()[name]
    folder = workplace() / name.replace(" ", "_")
    folder.mkdir()
    if isinstance(trace, str):
        (folder / "trace.json").write_text(trace)
        trace = folder / "trace.json"
    result = trawl("analyze", trace, "-o", folder / "out", timeout=300)
    if result.rc not in (0, 3):
        raise AssertionError(str(result))
    return folder / "out"


def tearDownModule():
    if workplace.cache_info().currsize:
        shutil.rmtree(workplace(), True)


def anchor(text):
    """GitHub's: lower case, only letters, digits, _ and - stay, a blank becomes -."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def plain(inline):
    return "".join(t.content for t in inline.children if t.type in ("text", "code_inline"))


def headings(tokens):
    return [(int(t.tag[1]), plain(tokens[i + 1])) for i, t in enumerate(tokens)
            if t.type == "heading_open"]


def links(tokens):
    return [c.attrGet("href") for t in tokens if t.type == "inline" for c in t.children
            if c.type == "link_open"]


def prose(tokens):
    """Text without code and given headings."""
    out = []
    for i, t in enumerate(tokens):
        if t.type == "inline":
            text = " ".join(c.content for c in t.children if c.type == "text")
            if not (tokens[i - 1].type == "heading_open" and text in GIVEN_HEADINGS):
                out.append(text)
    return out


def section(text, heading):
    """From a heading of level 2 to the next."""
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.images, self.tags = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "a":
            self.links.append(attrs["href"])
        if tag == "img":
            self.images.append(attrs)


class Reports(Case):
    def each(self):
        for name in traces():
            yield name, analysis(name)

    def parsed(self, out, name):
        if not MarkdownIt:
            self.skipTest("no python3-markdown-it: Markdown was not parsed")
        text = (out / name).read_text(encoding="utf-8")
        return text, MarkdownIt("commonmark").enable("table").parse(text)

    def test_order_of_headings(self):
        for name, out in self.each():
            text, tokens = self.parsed(out, FAIR)
            found = headings(tokens)
            self.assertEqual([t for level, t in found if level == 2],
                             ["Executive Summary", "Recommendations", "Detailed Analysis",
                              "Warnings", "Appendix"])
            self.assertRegex(found[0][1], r"^.+ - .+ Standalone Analysis$")
            self.assertEqual([level for level, _ in found].count(1), 1)
            rough = headings(self.parsed(out, ROUGH)[1])
            self.assertEqual([t for level, t in rough if level == 2],
                             ["Analysis Process Summary", "Raw Data Exploration", "Tree Analysis",
                              "TraceLens Gaps", "Questions for Further Investigation"])
            self.assertTrue(rough[0][1].endswith(" Standalone Analysis (Rough)"))
            for title in ("Step 1: Identify Traces & Setup", "Step 2: Generate Reports",
                          "Step 3-5: Prepare Category Data", "Step 6: Category Analyses",
                          "Step 7: Optimization Paths Determination"):
                self.assertIn((3, title), rough)
            for list_ in (found, rough):
                for (before, _), (level, title) in zip(list_, list_[1:]):
                    self.assertLessEqual(level, before + 1, f"{title!r} does not nest")
                    self.assertTrue(title)

    def test_details_by_share(self):
        for name, out in self.each():
            details = section((out / FAIR).read_text(), "Detailed Analysis")
            numbers = re.findall(r"^### (\d+)\. .+ \((?:([\d.]+)% of compute|System-Level)\)$",
                                 details, re.M)
            self.assertEqual([int(n) for n, _ in numbers], list(range(1, len(numbers) + 1)))
            shares = [float(s) for _, s in numbers if s]
            self.assertEqual(shares, sorted(shares, reverse=True))

    def test_links_resolve(self):
        for name, out in self.each():
            text, tokens = self.parsed(out, FAIR)
            known = [anchor(t) for _, t in headings(tokens)]
            told = links(tokens)
            for link in told:
                self.assertTrue(link.startswith("#"), link)
                self.assertEqual(known.count(link[1:]), 1, link)
            self.assertEqual(len(told), len(re.findall(r"^### .+ Priority: P\d+: ", text, re.M)))
            page = Page((out / FAIR).with_suffix(".html").read_text())
            # Before the text its contents.
            contents = [f"#{anchor(t)}" for level, t in headings(tokens) if level == 2]
            self.assertEqual(page.links, contents + told)
            self.assertEqual(set(told) - {f"#{i}" for i in page.ids}, set())
            self.assertEqual(len(page.ids), len(set(page.ids)))
            self.assertEqual(len(page.ids), len(known))

    def test_lengths(self):
        for name, out in self.each():
            text = (out / FAIR).read_text(encoding="utf-8")
            summary = [x for x in section(text, "Executive Summary").splitlines()
                       if x and x != "---" and not re.match(r"\| \d+ \| |!\[", x)]
            self.assertLessEqual(len(summary), 19)
            self.assertLessEqual(len(re.findall(r"^\| \d+ \| ", section(text, "Executive Summary"),
                                                re.M)), 10)
            for part in section(text, "Recommendations").split("\n---\n"):
                lines = part[part.find("### "):].strip().splitlines() if "### " in part else []
                self.assertLessEqual(len(lines), 10, part)

    def test_recommendations_are_those_of_the_data(self):
        for name, out in self.each():
            text = (out / FAIR).read_text(encoding="utf-8")
            data = json.loads((out / "priority_data.json").read_text())
            want = [(PRIORITIES[o["priority"]], o["priority"], o["id"])
                    for o in data["optimizations"]]
            self.assertEqual(re.findall(r"^### (\S+) (\w+) Priority: (P\d+): ", text, re.M), want)
            self.assertEqual([o["id"] for o in data["optimizations"]],
                             [f"P{i + 1}" for i in range(len(data["optimizations"]))])
            gains = [o["expected_gain_percent"] for o in data["optimizations"]]
            self.assertEqual(gains, sorted(gains, reverse=True))
            self.assertEqual(data["most_valuable"], [o["id"] for o in data["optimizations"][:3]])
            order = [list(PRIORITIES).index(o["priority"]) for o in data["bottlenecks"]]
            self.assertEqual(order, sorted(order))
            for priority in PRIORITIES:
                gains = [o["operation_gain_percent"] for o in data["bottlenecks"]
                         if o["priority"] == priority]
                known = [g for g in gains if g is not None]
                self.assertEqual(gains, sorted(known, reverse=True) +
                                 [None] * (len(gains) - len(known)))
            for label in ("Operation", "Issue", "Action", "Impact"):
                self.assertEqual(len(re.findall(rf"^\*\*{label}\*\*: \S", section(
                    text, "Recommendations"), re.M)), len(want), label)

    def test_projections(self):
        """time x efficiency / target, and no more gain than what nothing hides."""
        for name, out in self.each():
            data = json.loads((out / "priority_data.json").read_text())
            shortest = json.loads((out / "category_manifest.json").read_text())[
                "shortest_kernel_us"] or 0
            for o in data["bottlenecks"]:
                each = o["members"] if o.get("member_count", 1) > 1 else [o]
                for o, row in ((m, row) for m in each for row in m.get("impact_projection", [])):
                    time, target = o["time_ms"], row["target_efficiency_percent"]
                    after = max(time * o["efficiency_percent"] / target,
                                o["count"] * shortest / 1000)
                    gain = max(min(time - after, o["exposed_time_ms"]), 0)
                    self.assertGreater(target, o["efficiency_percent"])
                    self.assertAlmostEqual(row["time_ms"], after, delta=6e-4)
                    self.assertAlmostEqual(row["e2e_improvement_percent"],
                                           gain / data["baseline_ms"] * 100, delta=6e-3)

    def numbers(self, out):
        """Every number of the JSON and CSV files, and of the tables of rules."""
        found = set()

        def add(text):
            for n in re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", text):
                found.add(float(n))

        def walk(value):
            if isinstance(value, dict):
                for k, v in value.items():
                    add(k)
                    walk(v)
            elif isinstance(value, list):
                for v in value:
                    walk(v)
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                found.add(float(value))
            elif isinstance(value, str):
                add(value)

        for path in out.rglob("*.json"):
            walk(json.loads(path.read_text(encoding="utf-8")))
        for path in out.rglob("*.csv"):
            with open(path, newline="", encoding="utf-8") as f:
                for row in csv.reader(f):
                    for cell in row:
                        try:
                            found.add(float(cell))
                        except ValueError:
                            pass
        for table in ("levels", "rules"):
            add((ROOT / f"data/{table}.tsv").read_text(encoding="utf-8"))
        return found

    def test_every_number_is_in_the_data(self):
        # Of fixed text: steps, "100" of the whole, "below 0.01%".
        fixed = {1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 100.0, 0.01}
        for name, out in self.each():
            known = self.numbers(out) | fixed
            for file in (FAIR, ROUGH):
                text, tokens = self.parsed(out, file)
                for line in prose(tokens):
                    # Numbers of sections are counted, ids are P and a number.
                    line = re.sub(r"^[PB]\d+:|^\d+\. |\b[PB]\d+\b", "", line)
                    for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?", line):
                        self.assertIn(float(n), known, f"{file}: {line}")

    def test_words(self):
        # Remedies name what each vendor has.
        for name, out in self.each():
            for file in (FAIR, ROUGH):
                for line in prose(self.parsed(out, file)[1]):
                    if not line.lstrip().startswith(("Operation :", "Recommendation: ")):
                        self.assertNotRegex(line, AVOID, file)
                    self.assertNotRegex(line.lower(), CLAIMS, file)

    def test_no_place_of_the_machine(self):
        for name, out in self.each():
            for path in (out / FAIR, out / ROUGH, out / "priority_data.json",
                         (out / FAIR).with_suffix(".html")):
                self.assertNotIn(str(workplace()), path.read_text(encoding="utf-8"), path.name)

    def test_page_needs_nothing_else(self):
        for name, out in self.each():
            text = (out / FAIR).with_suffix(".html").read_text(encoding="utf-8")
            page = Page(text)
            self.assertNotIn("script", page.tags)
            self.assertNotIn("link", page.tags)
            self.assertNotRegex(text, r"https?://|url\(|@import")
            for image in page.images:
                self.assertTrue(image["src"].startswith("data:image/svg+xml;base64,"))
                self.assertTrue(image["alt"])
            self.assertEqual(len(page.images), len([p for p in out.glob("*.svg") if p.name != "modules.svg"]))
            self.assertEqual(page.tags.count("svg"), (out / "modules.svg").exists())
            self.assertEqual(page.tags.count("nav"), 1)
            marked = re.findall(r'<h3 id="[^"]*">\S+ <span class="(\w+)">(\w+) Priority</span>', text)
            self.assertEqual([a.capitalize() for a, _ in marked], [b for _, b in marked])
            self.assertEqual(len(marked), len(re.findall(r"^### .+ Priority: P", (
                out / FAIR).read_text(encoding="utf-8"), re.M)))
            self.assertEqual(text.count("<table>"), text.count('<div class="scroll"><table>'))

    def test_pictures(self):
        """Each is in the report, and made of what the report is made of."""
        out = analysis("sample")
        texts = {}
        for name in ("time_by_category.svg", "roofline.svg"):
            root = xml.etree.ElementTree.parse(out / name).getroot()
            texts[name] = ["".join(e.itertext()) for e in root]
            self.assertIn(f"]({name})", (out / FAIR).read_text())
        manifest = json.loads((out / "category_manifest.json").read_text())
        for c in manifest["categories"]:
            if c["tier"] != "system":
                self.assertIn(c["display_name"], texts["time_by_category.svg"])
                self.assertIn(f"{c['gpu_kernel_time_ms']:.3f} ms ({c['percent_of_total']:.2f} %)",
                              texts["time_by_category.svg"])
        top = manifest["top_operations"][0]
        self.assertIn(top["name"], texts["roofline.svg"])

    def test_without_pictures(self):
        result = trawl("analyze", SAMPLE, "-o", self.tmp / "out", "--no-plots")
        self.assertExit(result, 0)
        text = (self.tmp / "out" / FAIR).read_text()
        self.assertIn("### Charts\nNone: they were not asked for.\n", text)
        self.assertEqual(list((self.tmp / "out").glob("*.svg")), [])

    def test_same_bytes(self):
        first = analysis("sample")
        result = trawl("analyze", SAMPLE, "-o", self.tmp / "again", "-j", 1)
        self.assertExit(result, 0)
        for path in sorted(first.glob("*.*")):
            if path.suffix != ".xlsx":
                self.assertEqual(path.read_bytes(), (self.tmp / "again" / path.name).read_bytes(),
                                 path.name)

    def shot(self, page, name, width, height, *options):
        picture = self.tmp / name
        subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                        "--hide-scrollbars", f"--user-data-dir={self.tmp / 'profile'}",
                        f"--screenshot={picture}", f"--window-size={width},{height}", *options,
                        page.as_uri()], check=True, timeout=120, capture_output=True)
        data = picture.read_bytes()
        self.assertEqual(struct.unpack(">II", data[16:24]), (width, height))
        return data

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_in_a_browser(self):
        if not CHROMIUM:
            self.skipTest("no chromium: the page was not looked at in a browser")
        page = (analysis("sample") / FAIR).with_suffix(".html")
        light = self.shot(page, "light.png", 390, 844)
        self.assertNotEqual(light, self.shot(page, "dark.png", 390, 844,
                                             "--blink-settings=preferredColorScheme=0"))
        self.shot(page, "wide.png", 1280, 900)
        # The body asks for no more than the window has: only tables scroll, in their boxes.
        probe = self.tmp / "probe.html"
        text = page.read_text(encoding="utf-8")
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        probe.write_text(text.replace("</body>", "<script>document.title = [innerWidth, "
                         "document.documentElement.scrollWidth, getComputedStyle(document.body)"
                         ".fontSize].join(' ')</script></body>"), encoding="utf-8")
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={self.tmp / 'profile'}", "--dump-dom",
                               "--window-size=390,844", probe.as_uri()], timeout=120, check=True,
                              capture_output=True, text=True)
        inner, scroll, size = re.search(r"<title>(\S+) (\S+) (\S+)</title>", done.stdout).groups()
        self.assertLessEqual(int(scroll), int(inner))
        self.assertEqual(size, "16px")


if __name__ == "__main__":
    unittest.main()
