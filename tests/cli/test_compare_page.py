"""The page that compares two sides, in a browser: nothing runs but its own script, nothing is
loaded, pictures are decoded, tables sort and filter, nothing is wider than the window.

The page is made by a unit test, from texts that try to be more than text.
"""
import functools
import html
import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, SANITIZED, Case

CHROMIUM = shutil.which("chromium")
MAKER = BUILD / "unit/test_compare_page"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="30"><script>alert(4)</script></svg>'


def png(width, height, colour):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = (b"\0" + bytes(colour) * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


@functools.cache
def made():
    """The page's path, made once."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="trawl-test-page-"))
    (folder / "first.png").write_bytes(png(3000, 1800, (200, 220, 240)))
    (folder / "second.png").write_bytes(png(300, 180, (240, 200, 200)))
    (folder / "third.svg").write_text(SVG)
    page = folder / "page.html"
    subprocess.run([MAKER], check=True, capture_output=True, timeout=300,
                   env={**os.environ, "TRAWL_COMPARE_PAGE": str(page),
                        "TRAWL_COMPARE_PICTURES": str(folder)})
    return page


def tearDownModule():
    if made.cache_info().currsize:
        shutil.rmtree(made().parent, True)


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


class ComparePage(Case):
    def setUp(self):
        super().setUp()
        if not MAKER.exists():
            self.skipTest("the unit tests are not built: no page was made")
        self.text = made().read_text(encoding="utf-8")

    def chromium(self, page, *options):
        if not CHROMIUM:
            self.skipTest("no chromium: the page was not looked at in a browser")
        return subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                               "--hide-scrollbars", "--enable-logging=stderr",
                               f"--user-data-dir={self.tmp / 'profile'}", *options, page.as_uri()],
                              check=True, timeout=120, capture_output=True, text=True)

    def ask(self, script, width=1280):
        """What a script finds in the page, whose policy would not let it run, at that width: in a
        frame, since windows have a least one."""
        probe, inner = self.tmp / "probe.html", self.tmp / "inner.html"
        inner.write_text(POLICY.sub("", self.text).replace("</body>", "<script>\n"
                         "addEventListener('load', function () { parent.postMessage("
                         f"JSON.stringify((function () {{ {script} }})()), '*'); }});"
                         "</script></body>"), encoding="utf-8")
        probe.write_text("<title></title><script>addEventListener('message', "
                         "e => document.title = 'found ' + e.data)</script>"
                         f"<iframe src='inner.html' width='{width}' height='900' frameborder='0'>"
                         "</iframe>")
        done = self.chromium(probe, "--dump-dom", "--window-size=2000,1000")
        return json.loads(html.unescape(re.search(r"<title>found (.*?)</title>", done.stdout).group(1)))

    def test_nothing_but_itself(self):
        self.assertEqual(len(POLICY.findall(self.text)), 1)
        tags = Tags(self.text).tags
        self.assertEqual(sum(tag == "script" for tag, _ in tags), 1)
        for tag, attrs in tags:
            self.assertNotIn(tag, ("iframe", "object", "embed", "link", "base", "form"))
            self.assertFalse([a for a in attrs if a.startswith("on") or a == "style"], tag)
            self.assertRegex(attrs.get("src", "data:image/"), "^data:image/(png|svg\\+xml);base64,|^data:image/$")
            self.assertRegex(attrs.get("href", "#"), "^#")

    def test_accessible(self):
        tags = Tags(self.text).tags
        ids = [a["id"] for _, a in tags if "id" in a]
        self.assertEqual(len(ids), len(set(ids)))
        for tag, attrs in tags:
            if tag == "a":
                self.assertIn(attrs["href"][1:], ids)
            if tag == "img":
                self.assertTrue(attrs["alt"])
            if tag == "th":
                self.assertIn(attrs["scope"], ("col", "row"))
            if attrs.get("role") == "region":
                self.assertIn(attrs["aria-labelledby"], ids)
        kinds = [tag for tag, _ in tags]
        self.assertEqual(kinds.count("caption"), sum(a.get("class") == "data" for _, a in tags))
        self.assertEqual(tags[0], ("html", {"lang": "en"}))

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_silent(self):
        """With its policy: no message of the console, and its script has run."""
        done = self.chromium(made(), "--dump-dom", "--window-size=1280,900")
        self.assertNotIn("CONSOLE", done.stderr)
        self.assertIn('aria-sort="none"', done.stdout)
        # What is not its own does not run.
        other = self.tmp / "other.html"
        other.write_text(self.text.replace("</body>", "<script>document.title = 'ran'</script>"
                                           "<img src=x onerror='document.title=1'></body>"))
        done = self.chromium(other, "--dump-dom", "--window-size=1280,900")
        self.assertIn("CONSOLE", done.stderr)
        self.assertIn("<title>GEMM Kernel Variance - Sweep Comparison</title>", done.stdout)

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_pictures(self):
        sizes = self.ask("return Array.from(document.images).map("
                         "i => [i.complete, i.naturalWidth, i.naturalHeight])")
        self.assertEqual(sizes, [[True, 3000, 1800], [True, 300, 180], [True, 60, 30],
                                 [True, 3000, 1800]])

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_widths(self):
        script = """
            var pair = document.querySelectorAll(".pair")[0].children;
            var boxes = Array.from(document.querySelectorAll(".scroll"));
            return {inner: innerWidth, page: document.documentElement.scrollWidth,
                    stacked: pair[1].offsetTop > pair[0].offsetTop,
                    wide: Array.from(document.querySelectorAll("main, section, figure, img, .scroll"))
                        .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).length,
                    scrolls: boxes.some(b => b.scrollWidth > b.clientWidth),
                    container: document.querySelector("main").offsetWidth};"""
        for width, stacked in ((390, True), (800, False), (1280, False), (1900, False)):
            got = self.ask(script, width)
            self.assertEqual(got["inner"], width)
            self.assertLessEqual(got["page"], width)
            self.assertEqual((got["wide"], got["stacked"]), (0, stacked), str(got))
            self.assertLessEqual(got["container"], 1200)
            if width == 390:
                self.assertTrue(got["scrolls"], "a wide table scrolls in its box")

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_sorting(self):
        got = self.ask("""
            var table = document.querySelectorAll("table.data")[0], out = {};
            function column(i) { return Array.from(table.tBodies[0].rows).map(r => r.cells[i].textContent); }
            function press(i) { table.tHead.rows[0].cells[i].querySelector("button").click(); }
            function marks() { return Array.from(table.tHead.rows[0].cells).map(c => c.getAttribute("aria-sort")); }
            press(1); out.down = column(1); out.marks = marks();
            press(1); out.up = column(1); out.marksUp = marks();
            press(0); out.names = column(0).map(x => x.slice(0, 7));
            press(3); out.change = column(3);
            press(4); out.calls = column(4);
            out.focusable = table.querySelector("button").tabIndex;
            return out;""")
        self.assertEqual(got["down"], ["100.5", "20.0", "3.0", "1.0", ""])
        self.assertEqual(got["up"], ["1.0", "3.0", "20.0", "100.5", ""])
        self.assertEqual(got["marks"], ["none", "descending"] + ["none"] * 5)
        self.assertEqual(got["marksUp"], ["none", "ascending"] + ["none"] * 5)
        # As people order numbers in names.
        self.assertLess(got["names"].index("gemm 9"), got["names"].index("gemm 10"))
        self.assertEqual(got["change"], ["52.5", "0.0", "0.0", "-10.0", ""])
        self.assertEqual(got["calls"], ["100", "12", "7", "5", "1"])
        self.assertEqual(got["focusable"], 0)

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_many_rows(self):
        got = self.ask("""
            var table = document.querySelectorAll("table.data")[1], out = [];
            var tools = document.querySelector(".tools"), input = tools.querySelector("input");
            function rows() { return Array.from(table.tBodies[0].rows).filter(r => !r.hidden).length; }
            function type(text) { input.value = text; input.dispatchEvent(new Event("input")); }
            function note() { out.push([rows(), tools.querySelector("span").textContent,
                                        tools.querySelector("button").hidden]); }
            note();
            type("KERNEL 11"); note();
            type("nothing"); note();
            type(""); table.tHead.rows[0].cells[4].querySelector("button").click();
            out.push(table.tBodies[0].rows[0].cells[4].textContent); note();
            tools.querySelector("button").click(); note();
            out.push(document.querySelectorAll(".tools").length);
            return out;""")
        self.assertEqual(got, [[20, "20 of 125 rows", False],
                               [11, "11 of 125 rows", True],
                               [0, "0 of 125 rows", True], "119", [20, "20 of 125 rows", False],
                               [125, "125 of 125 rows", True], 1])

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_looks(self):
        """Light and dark differ."""
        shots = []
        for name, options in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
            picture = self.tmp / f"{name}.png"
            self.chromium(made(), f"--screenshot={picture}", "--window-size=390,844", *options)
            shots.append(picture.read_bytes())
        self.assertNotEqual(*shots)

    def test_without_a_script(self):
        """All rows are there and nothing that would not work."""
        tags = Tags(self.text).tags
        self.assertGreaterEqual(sum(tag == "tr" for tag, _ in tags), 130)
        self.assertFalse([a for tag, a in tags if "hidden" in a or tag in ("button", "input")])


if __name__ == "__main__":
    unittest.main()
