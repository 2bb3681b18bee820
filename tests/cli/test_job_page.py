"""The pages of trawl analyze and collectives for a job: their figures, by hand and as in the tables,
and nothing from outside."""
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from page import Page
from support import SANITIZED, Case, document, kernel, launch, read_csv, shared, trawl

CHROMIUM = shutil.which("chromium")
ALLREDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
# 5 MB of 4 bytes each.
MESSAGE = {"Collective name": "allreduce", "In msg nelems": 1310720, "Out msg nelems": 1310720,
           "dtype": "Float", "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}


class JobPage(Case):
    def job(self):
        """Ranks that compute 1 ms and 3 ms, and then reduce: the first waits 2 ms, the transfer takes 50 us."""
        place = self.tmp / "job"
        place.mkdir()
        for rank, ms in enumerate((1, 3)):
            start = 100 + 1000 * ms
            events = [launch(0, 5, 1), kernel("gemm", 100, 1000 * ms, 1), launch(10, 5, 2),
                      kernel(ALLREDUCE, start, 3150 - start, 2, stream=9, **MESSAGE)]
            top = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}
            (place / f"rank{rank}.json").write_text(document(events, **top))
        return place

    def analyze(self, place, *options):
        self.out = self.tmp / "out"
        result = trawl("analyze", place, "-o", self.out, "--no-replay", "--no-xlsx", *options, timeout=300)
        self.assertAlive(result)
        self.assertExit(result, 0, 3)
        self.result = result
        return Page((self.out / "findings.html").read_text(encoding="utf-8"))

    def test_figures_by_hand(self):
        page = self.analyze(self.job())
        self.assertEqual(page.title, "What limits the job - job")
        time = {r["rank"]: [Decimal(r[f"{part}_time ms"]) for part in
                            ("computation", "exposed_comm", "idle", "total")] for r in page.rows("GPU Time by Rank")}
        self.assertEqual(time, {"0": [1, Decimal("2.05"), 0, Decimal("3.05")],
                                "1": [3, Decimal("0.05"), 0, Decimal("3.05")]})
        waits = {r["rank"]: (Decimal(r["own wait (us)"]), Decimal(r["caused wait (us)"]))
                 for r in page.rows("Waits by Rank")}
        self.assertEqual(waits, {"0": (2000, 0), "1": (0, 2000)})
        (kind,) = page.rows("Collectives")
        # 5 MB in 50 us; of two ranks the links carry just that.
        self.assertEqual(float(kind["bus bw (GB/s)_median"]), 5 / 1024 / 50e-6)
        self.assertIn("2 of 2 ranks (from distributedInfo)", page.answer)
        self.assertTrue(any(line.startswith("rank 1 is the straggler") for line in page.answer))

    def test_charts(self):
        charts = self.analyze(self.job()).charts
        # The axis of 3.05 ms is that of both ranks.
        bars = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="13" fill="#(\w+)"/>',
                          charts["GPU Time by Rank"])
        computing = [float(w) for _, _, w, colour in bars if colour == "0072b2"]
        exposed = [float(w) for _, _, w, colour in bars if colour == "d55e00"]
        whole = computing[0] + exposed[0]
        for got, ms in zip(computing + exposed, (1, 3, 2.05, 0.05)):
            self.assertAlmostEqual(got / whole, ms / 3.05, delta=0.002)
        self.assertIn(">2 ranks</text>", charts["GPU Time by Rank"])
        self.assertIn(">2 ranks, 1 collective each</text>", charts["Waits by Rank"])
        self.assertEqual(len(re.findall(r">2\.000</text>", charts["Waits by Rank"])), 2)
        self.assertIn(">allreduce Float 5 MB, n=1</text>", charts["Collectives"])
        self.assertIn(">97.66</text>", charts["Collectives"])
        self.assertIn(">GB/s</text>", charts["Collectives"])

    def test_no_plots(self):
        self.assertEqual(self.analyze(self.job(), "--no-plots").charts, {})

    def same_figures(self, place):
        """The page has the figures of findings.csv and of trawl collectives."""
        page = self.analyze(place)
        with open(self.out / "findings.csv", encoding="utf-8", newline="") as file:
            findings = list(csv.DictReader(file))
        self.assertTrue(findings)
        for shown, row in zip(page.rows("Findings"), findings, strict=True):
            for column, value in shown.items():
                self.assertEqual(value, row[column].removeprefix("'"), column)
        done = trawl("collectives", place, "-o", self.tmp / "collectives", "--no-xlsx", timeout=300)
        self.assertExit(done, 0, 3)
        csvs = self.tmp / "collectives/collective_all_ranks_csvs"
        for heading, table in (("GPU Time by Rank", "rank_timeline"), ("Waits by Rank", "stragglers"),
                               ("Waits by Rank Pair", "collective_waits"), ("Ranks", "ranks"),
                               ("Collectives", "nccl_summary_implicit_sync")):
            for shown, row in zip(page.rows(heading), read_csv(csvs / f"{table}.csv"), strict=True):
                for column, value in shown.items():
                    self.assertEqual(value, row[re.sub(r" \([^()]*s\)$", "", column) if column not in row else column],
                                     f"{table}: {column}")
        return page

    def test_same_figures_as_tables(self):
        self.same_figures(self.job())

    def test_same_figures_of_a_given_job(self):
        self.same_figures(shared("traces_odd/dlrm_8rank_v100"))

    def test_verdict(self):
        """In JSON as on the page: the largest gain of findings.csv, then what collectives say."""
        place = self.job()
        page = self.analyze(place)
        self.analyze(place, "--format", "json")
        document_ = json.loads(self.result.out)
        verdict = document_["tables"][0]
        self.assertEqual(verdict["name"], "verdict")
        self.assertEqual([r[3] for r in verdict["rows"]], page.answer[:len(verdict["rows"])])
        first = read_csv(self.out / "findings.csv")[0]
        finding, ranks, share, text = verdict["rows"][0]
        self.assertEqual((finding, ranks, share), ("limits", first["rank"], float(first["gain_percent"])))
        self.assertIn(f"{first['title']} (rank {first['rank']}): its remedy gains", text)
        self.assertIn(f"({float(first['gain_ms']):.3f} ms of 3.050 ms)", text)
        self.assertEqual([r[0] for r in verdict["rows"]][1:3], ["straggler", "reason"])

    def test_page_of_collectives(self):
        """Its answer is the verdict; its parts are those of the job's page."""
        place = self.job()
        whole = self.analyze(place)
        for options, written in (((), True), (("--no-xlsx", "--no-csv"), False)):
            out = self.tmp / f"collectives{written}"
            done = trawl("collectives", place, "-o", out, *options)
            self.assertExit(done, 0)
            self.assertEqual((out / "collective_all_ranks.html").exists(), written)
            self.assertEqual("collective_all_ranks.html" in done.err, written)
        page = Page((self.tmp / "collectivesTrue/collective_all_ranks.html").read_text(encoding="utf-8"))
        verdict = read_csv(self.tmp / "collectivesTrue/collective_all_ranks_csvs/verdict.csv")
        self.assertEqual(page.title, "Collectives of the job - job")
        self.assertEqual(page.answer[:len(verdict)], [r["text"] for r in verdict])
        self.assertEqual({k: v for k, v in whole.tables.items() if k != "Findings"}, page.tables)
        self.assertEqual(whole.charts, page.charts)

    def test_page_of_an_earlier_job(self):
        """It stays when a trace is analyzed into the same directory, and that is said."""
        place = self.job()
        self.analyze(place)
        self.assertNotIn("earlier", self.result.err)
        done = trawl("analyze", place / "rank0.json", "-o", self.out, "--no-replay")
        self.assertExit(done, 0)
        self.assertIn("findings.html is of an earlier analysis of a job", done.err)

    def test_verdict_of_one_trace(self):
        trace = self.write(document([launch(0, 5, 1), kernel("a", 10, 5000, 1)]))
        for options in ((), ("--format", "json")):
            done = trawl("analyze", trace, "-o", self.tmp / "one", "--no-replay", *options)
            self.assertExit(done, 0)
        (row,) = json.loads(done.out)["tables"][0]["rows"]
        # Nothing is known of the kernel: no operator launched it.
        self.assertEqual(row, ["unknown", None, None, "The efficiency of most GPU time is not known: the roofline of 0.0 % "
                               "of the computing time is known; 100.0 % has no recorded operator. Nothing worth changing "
                               "above 1 % in the part that is known: no remedy that was looked for gains more than 1 % of "
                               "a step"])
        self.assertFalse((self.tmp / "one/findings.html").exists())

    def test_nothing_from_outside(self):
        self.analyze(self.job()).check_self_contained(self)

    @unittest.skipIf(SANITIZED, "the page is that of the ordinary build")
    def test_in_a_browser(self):
        """As wide as a phone and as a desk: no message, pictures decoded, nothing beside the window."""
        if not CHROMIUM:
            self.skipTest("no chromium: the page was not looked at in a browser")
        self.analyze(self.job())
        text = (self.out / "findings.html").read_text(encoding="utf-8")
        probe = """<script>addEventListener('load', function () { parent.postMessage('found ' + JSON.stringify([
            innerWidth, document.documentElement.scrollWidth,
            Array.from(document.images).filter(i => i.complete && i.naturalWidth === 520).length]), '*'); });</script>"""
        inner = self.tmp / "inner.html"
        inner.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
                         .replace("</body>", probe + "</body>"))
        for width in (390, 1280):
            outer = self.tmp / "outer.html"
            outer.write_text("<title></title><script>addEventListener('message', e => document.title = e.data)"
                             f"</script><iframe src='inner.html' width='{width}' height='900' frameborder='0'>"
                             "</iframe>")
            done = self.browse(outer)
            got = json.loads(re.search(r"<title>found (.*?)</title>", done.stdout).group(1))
            self.assertEqual(got, [width, width, 3])
        self.assertNotIn("CONSOLE", self.browse(self.out / "findings.html").stderr)

    def browse(self, page):
        return subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               "--enable-logging=stderr", f"--user-data-dir={self.tmp / 'profile'}", "--dump-dom",
                               "--window-size=1400,1000", page.as_uri()],
                              check=True, timeout=120, capture_output=True, text=True)


if __name__ == "__main__":
    unittest.main()
