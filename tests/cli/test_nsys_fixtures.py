"""Queries and reports on made-up exports, whose truth is known by looking at every pair: no given
file is needed. Each schema, with and without ranges of a trainer."""
import csv
import io
import json
import pathlib
import sqlite3
import subprocess
import sys
import unittest

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

    def test_an_analysis_is_of_one_device(self):
        for command in ("analyze", "prepare"):
            done = trawl(command, SAMPLE, "-o", self.tmp / command)
            self.assertExit(done, 2)
            self.assertIn("4 devices of several ranks", done.err)
            self.assertIn("--device (0, 1, 2, 3)", done.err)
            self.assertFalse((self.tmp / command).exists())
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
