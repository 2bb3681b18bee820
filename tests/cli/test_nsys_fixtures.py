"""Queries and reports on made-up exports, whose truth is known by looking at every pair: no given
file is needed. Each schema, with and without ranges of a trainer."""
import csv
import io
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, report, trawl

GENERATOR = ROOT / "tests/gen/nsys_export.py"
SAMPLE = ROOT / "examples/sample.sqlite"
QUERIES = ("setup", "windows", "streams", "overlap")
SCHEMAS = ("2021", "2022", "2024", "2026")


def make(path, *options):
    """Makes an export; what is true of it, a rank an element."""
    truth = path.with_suffix(".json")
    subprocess.run([sys.executable, GENERATOR, "-o", path, "--truth", truth, *options], check=True)
    return json.loads(truth.read_text())


def rows_of(done):
    return list(csv.DictReader(io.StringIO(done.out)))


def dump(path):
    """Every row of every table."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = [n for n, in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    return {t: db.execute(f"SELECT * FROM {t} ORDER BY rowid").fetchall() for t in tables}


class Fixtures(Case):
    def test_sample_is_what_the_generator_writes(self):
        make_path = self.tmp / "again.sqlite"
        subprocess.run([sys.executable, GENERATOR, "-o", make_path], check=True)
        self.assertEqual(dump(make_path), dump(SAMPLE))

    def test_streams(self):
        for schema in SCHEMAS:
            path = self.tmp / f"{schema}.sqlite"
            truth = make(path, "--schema", schema, "--seed", schema)
            done = trawl("nsys", "streams", path, "--format", "csv")
            self.assertExit(done, 0)
            want = [[r["pid"], int(stream), s["n_comm"], s["n_comp"], s["comm_ns"], s["comp_ns"],
                     s["purpose"], r["rank"], r["device"], s["barrier_ns"], *r["window"][:2]]
                    for r in truth
                    for stream, s in sorted(r["streams"].items(), key=lambda x: int(x[0]))]
            got = [list(r.values())[:12] for r in rows_of(done)]
            self.assertEqual(got, [[str(v) for v in row] for row in want], schema)

    def test_overlap(self):
        for schema in SCHEMAS:
            path = self.tmp / f"{schema}.sqlite"
            truth = make(path, "--schema", schema, "--ranks", "6", "--layers", "3")
            done = trawl("nsys", "overlap", path, "--format", "csv")
            self.assertExit(done, 0)
            got = [r for r in rows_of(done) if r["stage"].startswith("stage")]
            self.assertEqual(self.without_stage(rows_of(done)), self.without_stage_truth(truth))
            self.assertEqual(
                [[int(r["rank"]), int(r["comm_ns"]), int(r["exposed_ns"]), float(r["overlap"])]
                 for r in rows_of(done) if r["stage"] == "(compute stream)"],
                [[r["rank"], ns, ns, 0] for r in truth
                 if (ns := sum(s["barrier_ns"] for s in r["streams"].values()))])
            want = [(r, stage, s) for r in truth for stage, s in sorted(r["stages"].items())]
            self.assertEqual(len(got), len(want))
            for row, (rank, stage, s) in zip(got, want):
                hidden = 100 * (s["comm_ns"] - s["exposed_ns"]) / s["comm_ns"]
                self.assertEqual(
                    [row[k] for k in ("pid", "stage", "exposed_ns", "rank", "comm_ns")],
                    [str(v) for v in (rank["pid"], stage, s["exposed_ns"], rank["rank"],
                                      s["comm_ns"])])
                for name, value in (("overlap", hidden), ("overlap_min", min(s["percent"])),
                                    ("overlap_max", max(s["percent"]))):
                    self.assertAlmostEqual(float(row[name]), value, 9)

    def without_stage(self, rows):
        """What is told of communication that no stage launched: by rank."""
        return {int(r["rank"]): int(r["comm_ns"]) for r in rows if not r["stage"]}

    def without_stage_truth(self, truth):
        all_of = {r["rank"]: sum(s["comm_ns"] - s["barrier_ns"] for s in r["streams"].values())
                  for r in truth}
        rest = {r["rank"]: all_of[r["rank"]] - sum(s["comm_ns"] for s in r["stages"].values())
                for r in truth}
        return {rank: ns for rank, ns in rest.items() if ns}

    def compared(self, *sides, codes=(0,)):
        done = trawl("compare", *sides, "-o", self.tmp / "page.html", "--format", "json", "-q")
        self.assertExit(done, *codes)
        return {t["name"]: [dict(zip([c["header"] for c in t["columns"]], r)) for r in t["rows"]]
                for t in json.loads(done.out)["tables"]}

    def test_stages_before_and_after(self):
        """Medians of the ranks' true times; what a stage has on one side alone is new."""
        paths = [self.tmp / f"{n}.sqlite" for n in (1, 2)]
        truths = [make(path, "--ranks", "4", "--seed", str(n)) for n, path in enumerate(paths, 1)]
        rows = {r["stage"]: r for r in self.compared(*paths)["stage_changes"]}
        self.assertLessEqual({s for r in truths[0] for s in r["stages"]} | {"(compute stream)"},
                             set(rows))
        for stage, row in rows.items():
            if not stage.startswith("stage"):
                continue
            for truth, side in zip(truths, ("baseline", "test")):
                of = [r["stages"][stage] for r in truth]
                free, comm = (statistics.median(s[k] for s in of) / 1e6
                              for k in ("exposed_ns", "comm_ns"))
                self.assertAlmostEqual(row[f"{side} ms"], free, delta=1e-9)
                self.assertAlmostEqual(row[f"{side} communication ms"], comm, delta=1e-9)
                self.assertAlmostEqual(row[f"{side} overlap (%)"], 100 * (1 - free / comm), delta=1e-6)
        row = rows["(compute stream)"]
        self.assertEqual((row["baseline overlap (%)"], row["test overlap (%)"]), (0, 0))
        for truth, side in zip(truths, ("baseline", "test")):
            self.assertAlmostEqual(row[f"{side} ms"], statistics.median(
                sum(s["barrier_ns"] for s in r["streams"].values()) for r in truth) / 1e6, delta=1e-9)
        # In words, on the terminal, on the page and as a sheet.
        done = trawl("compare", *paths, "-o", self.tmp / "page.html", "--xlsx", self.tmp / "w.xlsx")
        moved = [s for s, r in rows.items() if r["verdict"] in ("better", "worse")]
        self.assertTrue(moved)
        self.assertIn(f"Exposed communication by stage: {moved[0]} ", " ".join(done.out.split()))
        self.assertIn("exposed communication by stage", done.out)
        self.assertIn("<h2 id=", page := (self.tmp / "page.html").read_text())
        self.assertIn(">Exposed Communication by Stage</h2>", page)
        with zipfile.ZipFile(self.tmp / "w.xlsx") as z:
            self.assertIn('name="stage_changes"', z.read("xl/workbook.xml").decode())

    def test_ranges_before_and_after(self):
        """Medians over the ranks of their reports' rows; operations are compared as such."""
        paths = [self.tmp / f"{n}.sqlite" for n in (1, 2)]
        for n, path in enumerate(paths, 1):
            make(path, "--ranks", "4", "--seed", str(n), "--ops")
        want = []
        for n, path in enumerate(paths):
            times = {}
            for r in report(path, self.tmp / f"r{n}", "--no-xlsx").table("nvtx_ranges"):
                if r["kind"] != "operation":
                    times.setdefault((r["range"], r["domain"], r["kind"]), []).append(
                        [float(r[c]) for c in ("GPU time (ms)", "exposed communication (ms)")])
            want.append(times)
        rows = self.compared(*paths)["range_changes"]
        self.assertEqual({(r["range"] or "", r["domain"] or "", r["kind"]) for r in rows},
                         set(want[0]) | set(want[1]))
        for r in rows:
            key = (r["range"] or "", r["domain"] or "", r["kind"])
            for times, side in zip(want, ("baseline", "test")):
                for i, column in enumerate(("ms", "exposed ms")):
                    self.assertAlmostEqual(r[f"{side} {column}"], statistics.median(
                        t[i] for t in times[key]), delta=1e-9, msg=key)
        self.assertTrue([r for r in rows if r["verdict"] == "same"])
        folded = [r["verdict"] == "same" for r in rows]
        self.assertEqual(folded, sorted(folded))

    def test_a_part_has_no_stages_but_a_window_has(self):
        path = self.tmp / "a.sqlite"
        make(path)
        for options, there in (((), True), (("--device", "0"), False), (("--start", "0"), False),
                               (("--start", "0", "--end", "99999999"), True)):
            done = trawl("compare", path, path, "-o", self.tmp / "page.html", "--format", "json",
                         "-q", *options)
            tables = {t["name"]: t["rows"] for t in json.loads(done.out)["tables"]}
            self.assertEqual(bool(tables["stage_changes"]), there, options)
            self.assertEqual({r[7] for r in tables["stage_changes"]} - {"same"}, set())
        # Another trace has neither.
        done = trawl("compare", path, ROOT / "examples/sample.json.gz", "-o", self.tmp / "page.html")
        self.assertIn("has no nvtx_ranges: NVTX ranges not compared", done.err)
        self.assertIn("has no overlap: stages not compared", done.err)

    def test_the_summary_begins_with_each_device(self):
        """What all do together hides what one does."""
        path = self.tmp / "a.sqlite"
        make(path, "--ranks", "4")
        text = trawl("report", path, "-o", self.tmp / "out", "--no-xlsx").out
        self.assertIn("GPU time by device", text)
        self.assertLess(text.index("GPU time by device"), text.index("all devices combined"))
        self.assertLess(text.index("all devices combined"), text.index("top "))

    def test_setup_and_windows(self):
        path = self.tmp / "a.sqlite"
        truth = make(path)
        self.assertEqual([[r["pid"], r["setup"], r["rank"]] for r in rows_of(
            trawl("nsys", "setup", path, "--format", "csv"))],
            [[str(r["pid"]), r["label"], str(r["rank"])] for r in truth])
        self.assertEqual([list(r.values())[:5] for r in rows_of(
            trawl("nsys", "windows", path, "--format", "csv"))],
            [[str(v) for v in (r["pid"], *r["window"], r["rank"])] for r in truth])

    def test_by_stage(self):
        """How well is each phase hidden, and which is worst: the first row."""
        path = self.tmp / "a.sqlite"
        truth = make(path, "--ranks", "6")
        want = []
        for stage in {s for r in truth for s in r["stages"]}:
            of = [(r["rank"], r["stages"][stage]) for r in truth if stage in r["stages"]]
            comm, free = (sum(s[k] for _, s in of) for k in ("comm_ns", "exposed_ns"))
            worst = max(of, key=lambda x: (x[1]["exposed_ns"], -x[0]))
            want.append((100 * (comm - free) / comm, stage, len(of), comm, free, worst[0],
                         worst[1]["exposed_ns"]))
        got = [r for r in rows_of(trawl("nsys", "overlap", path, "--by", "stage", "--format",
                                        "csv")) if r["stage"].startswith("stage")]
        self.assertEqual(
            [[r[k] for k in ("stage", "ranks", "comm_ns", "exposed_ns", "worst_rank",
                             "worst_exposed_ns")] for r in got],
            [[str(v) for v in row[1:]] for row in sorted(want)])
        for row, (hidden, *_) in zip(got, sorted(want)):
            self.assertAlmostEqual(float(row["overlap"]), hidden, 9)

    def test_by_pipeline_stage(self):
        """Are the pipeline stages balanced."""
        path = self.tmp / "a.sqlite"
        truth = make(path, "--ranks", "8", "--pipeline", "4")
        got = rows_of(trawl("nsys", "streams", path, "--by", "pp", "--format", "csv"))
        self.assertEqual([r["pp"] for r in got], ["0", "1", "2", "3"])
        for row in got:
            of = [sum(s["comp_ns"] for s in r["streams"].values()) for r in truth
                  if f"pp={row['pp']}/" in r["label"]]
            self.assertEqual([row[k] for k in ("ranks", "comp_ns", "comp_ns_min", "comp_ns_max")],
                             [str(v) for v in (2, sum(of), min(of), max(of))])
            self.assertEqual(float(row["comp_ns_mean"]), sum(of) / 2)

    def test_by_what_is_not_there(self):
        path = self.tmp / "a.sqlite"
        make(path, "--trainer", "bare")
        done = trawl("nsys", "streams", path, "--by", "pp", "--format", "csv")
        self.assertExit(done, 0)
        self.assertEqual([(r["pp"], r["ranks"]) for r in rows_of(done)], [("", "4")])
        for args in (("windows", "--by", "rank"), ("streams", "--by", "stage"),
                     ("overlap", "--by", "stage", "--compat"), ("ranges", "--by", "rank")):
            self.assertExit(trawl("nsys", args[0], path, *args[1:]), 2)

    def test_windows_without_labels(self):
        path = self.tmp / "a.sqlite"
        make_bare = make(path, "--trainer", "steps")
        got = rows_of(trawl("nsys", "windows", path, "--format", "csv"))
        self.assertEqual([(r["name"], r["rank"], r["rule"]) for r in got],
                         [("step 2", str(i), "busiest repeated range: median of 5")
                          for i in range(len(make_bare))])
        make(path, "--trainer", "bare")
        got = rows_of(trawl("nsys", "windows", path, "--format", "csv"))
        self.assertEqual({(r["name"], r["rule"][:19]) for r in got}, {("", "middle of the trace")})

    def test_reports(self):
        for schema in SCHEMAS:
            path = self.tmp / f"{schema}.sqlite"
            truth = make(path, "--schema", schema, "--ops")
            rep = report(path, self.tmp / "out" / schema)
            self.assertExit(rep, 0)
            self.assertEqual(sum(int(r["kernels"]) for r in rep.table("streams")),
                             sum(r["kernels"] for r in truth))
            self.assertIn("aten::mm", {r["name"] for r in rep.table("ops_summary")})
            self.assertEqual({r["pid"] for r in rep.table("nvtx_ranges")},
                             {str(r["pid"]) for r in truth})

    def test_damage_is_never_silent(self):
        """Every page of an export broken in turn: with status 0 the answer is the right one."""
        for name in ("pithtrain", "bare"):
            path, broken = self.tmp / f"{name}.sqlite", self.tmp / "broken.sqlite"
            make(path, "--trainer", name, "--chunks", "3", "--ranks", "2")
            whole = path.read_bytes()
            right = {q: trawl("nsys", q, path, "--format", "csv").out for q in QUERIES}
            for page in range(len(whole) // 4096):
                broken.write_bytes(whole[:page * 4096] + b"\xff" * 4096
                                   + whole[page * 4096 + 4096:])
                for query in QUERIES:
                    done = trawl("nsys", query, broken, "--format", "csv")
                    self.assertIn(done.rc, (0, 1, 3), done)
                    if done.rc == 0:
                        self.assertEqual(done.out, right[query], f"page {page}, {query}")
                    else:
                        self.assertIn("broken.sqlite: ", done.err)

    def test_data_of_categories_are_of_one_device(self):
        done = trawl("prepare", SAMPLE, "-o", self.tmp / "prepare")
        self.assertExit(done, 2)
        self.assertIn("4 devices of several ranks", done.err)
        self.assertIn("--device (0, 1, 2, 3)", done.err)
        self.assertFalse((self.tmp / "prepare").exists())

    def test_an_analysis_is_of_all_ranks(self):
        done = trawl("analyze", SAMPLE, "-o", self.tmp / "out", "--no-replay", "--no-plots")
        self.assertExit(done, 0)
        self.assertRegex(done.err, r"4 ranks: findings are of all of them, the rest is of rank \d \(.*, device \d\)")
        alike = trawl("collectives", SAMPLE, "-o", self.tmp / "collectives")
        self.assertExit(alike, 0)
        self.assertEqual((self.tmp / "out/findings.csv").read_bytes(),
                         (self.tmp / "collectives/collective_all_ranks_csvs/findings.csv").read_bytes())
        self.assertTrue((self.tmp / "out/findings.html").is_file())

    def test_an_analysis_of_one_device(self):
        for command in ("analyze", "prepare"):
            done = trawl(command, SAMPLE, "-o", self.tmp / "one" / command, "--device", "2")
            self.assertExit(done, 0)
            self.assertNotIn("devices", done.err)

    def test_ranges_of_a_chunk(self):
        """What the autograd thread launches belongs to the chunk of the main thread too."""
        path = self.tmp / "a.sqlite"
        truth = make(path)
        kernels = {}
        db = sqlite3.connect(path)
        for start, gid, pid in db.execute(
                "SELECT r.start, k.globalPid, k.globalPid >> 24 & 16777215 FROM "
                "CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
                "k.correlationId = r.correlationId AND k.globalPid >> 24 = r.globalTid >> 24"):
            kernels.setdefault(pid, []).append(start)
        for rank in truth:
            start, end, name = rank["window"]
            got = [r for r in rows_of(trawl("nsys", "ranges", path, "--rank", rank["rank"],
                                            "--format", "csv")) if r["range"] == name]
            self.assertEqual([(r["pid"], int(r["kernels"])) for r in got], [
                (str(rank["pid"]), sum(start <= t <= end for t in kernels[rank["pid"]]))])


if __name__ == "__main__":
    unittest.main()
