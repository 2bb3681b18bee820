"""Jobs of several ranks against the tables that another program made of them, against collectives
of a real job that were matched by hand, and against cases whose answer is known.
"""
import csv
import pathlib
import re
import subprocess
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import recomputed
from support import SHARED, Case, load_module, read_csv, trawl

JOBS = SHARED / "cases/ranks"
KINETO = SHARED / "cases/kineto"
DLRM = SHARED / "traces_odd/dlrm_8rank_v100"
TOOL = SHARED / "tools/compare_reference.py"
ALLOWED = pathlib.Path(__file__).resolve().parent


class Ranks(Case):
    def collectives(self, path, *options, codes=(0,)):
        """{table: rows} of the CSV files."""
        self._runs += 1
        out = self.tmp / f"out{self._runs}"
        paths = path if isinstance(path, list) else [path]
        self.result = trawl("collectives", *paths, "-o", out, "--no-xlsx", *options, timeout=120)
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        self.csvs = out / "collective_all_ranks_csvs"
        return {p.stem: read_csv(p) for p in self.csvs.glob("*.csv")}

    def case(self, number, *options, codes=(0,)):
        """The tables of a case, by its traces alone: it has other JSON beside them."""
        found = sorted(KINETO.glob(f"{number}-*")) if KINETO.exists() else []
        if not found:
            self.skipTest(f"given material absent: case {number} (TRAWL_SHARED)")
        paths = sorted(p for p in found[0].iterdir() if re.search(r"rank.?\d+", p.name))
        return self.collectives(paths, *options, codes=codes)

    def skews(self, tables):
        return {r["collective_id"]: number(r["skew in start time"])
                for r in tables.get("nccl_implicit_sync", [])}

    def alone(self, tables):
        """(rank, Seq) of collectives that no other rank has."""
        rows = tables.get("nccl_long", [])
        return sorted((int(r["rank"]), r["Seq"]) for r in rows if r["match"] == "alone")

    # ---- against another program

    def compare(self, job):
        """What differs from the other program's figures is worked out from the traces; an allowance that nothing
        needs is an error."""
        self.collectives(JOBS / job, "--align", "none")
        traces = {int(re.search(r"rank(\d+)", p.name)[1]): p for p in sorted((JOBS / job).glob("rank*"))}
        rules = recomputed.Rules(ALLOWED / f"ranks_{job}.tsv")
        right, reference = self.tmp / "right", JOBS / job / "reference_csvs"
        right.mkdir()
        again = recomputed.Corrected(load_module(TOOL), recomputed.Job(traces), rules, reference, self.csvs, right)
        for path in reference.glob("*.csv"):
            again.write(path.stem)
        self.assertEqual(again.wrong + rules.unused(), [])
        done = subprocess.run([sys.executable, str(TOOL), str(right), str(self.csvs)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, "\n".join(
            x for x in done.stdout.splitlines() if not x.endswith(" ok")) + done.stderr)

    def columns(self, job):
        """Columns of the reference stand first, in its order; node columns may stand later."""
        self.collectives(JOBS / job, "--align", "none")
        for reference in sorted((JOBS / job / "reference_csvs").glob("*.csv")):
            with open(reference, newline="", encoding="utf-8-sig") as f:
                theirs = next(csv.reader(f))
            with open(self.csvs / reference.name, newline="", encoding="utf-8-sig") as f:
                ours = next(csv.reader(f))
            self.assertEqual(ours[:len(theirs)], theirs, reference.name)

    # ---- a real job without arguments

    def test_dlrm(self):
        """Eight collectives of eight ranks that record nothing but a kernel's name."""
        text = DLRM.parent / "DLRM_REFERENCE.md"
        if not text.exists():
            self.skipTest("given material absent: DLRM_REFERENCE.md (TRAWL_SHARED)")
        want = re.findall(r"^\| (\d) \| (nccl\w+) \| (\d+) \| (\d+) \| (\d) [^|]*\| (\d+) \| (\d+) "
                          r"\| (\d+) \|$", text.read_text(), re.M)
        self.assertEqual(len(want), 8)
        for options in ((), ("--align", "none")):
            rows = self.collectives(DLRM, *options)["nccl_implicit_sync"]
            got = [(r["collective_id"], re.sub(r"\(.*", "", r["kernel"]), r["skew in start time"],
                    r["skew in end time"], r["slowest rank"], r["comm_latency"], r["longest"],
                    r["total wait time"]) for r in rows]
            self.assertEqual(got, want)

    def test_dlrm_transfers(self):
        """Last end - last start, where the page tells it."""
        if not DLRM.exists():
            self.skipTest("given material absent: dlrm_8rank_v100 (TRAWL_SHARED)")
        rows = self.collectives(DLRM, "--align", "none")["nccl_implicit_sync"]
        want = {0: 11, 2: 8, 3: 8, 4: 87, 5: 11, 6: 23}
        self.assertEqual({k: int(rows[k]["last end - last start"]) for k in want}, want)

    def test_no_wait_is_longer_than_its_kernel(self):
        """An export without arguments, whose groups are not recorded: what is doubtful is left out."""
        export = SHARED / "cases/nsys/basic_8rank/input.sqlite"
        if not export.exists():
            self.skipTest("given material absent: cases/nsys (TRAWL_SHARED)")
        tables = self.collectives(export)
        self.assertEqual(len(tables["ranks"]), 8)
        for row in tables["straggler_summary"]:
            self.assertLessEqual(Decimal(row["total_wait_time_us"]),
                                 Decimal(row["total_nccl_dur_us"]), str(row))
        for row in tables["nccl_summary_implicit_sync"]:
            self.assertLessEqual(float(row["Waiting (%)"]), 100, str(row))
        self.assertRegex(self.result.out, "without time overlap")

    # ---- cases

    def test_091_windows_offset(self):
        tables = self.case("091")
        self.assertEqual(sorted(self.skews(tables).values()), [10, 50])
        self.assertEqual(self.alone(tables), [(0, "5"), (1, "8")])
        problems = [(r["problem"], r["ranks"], r["ranks missing"], r["Seq"], r["count"])
                    for r in tables["collective_mismatches"]]
        self.assertEqual(sorted(problems), [("alone", "0", "1", "5", "1"),
                                            ("alone", "1", "0", "8", "1")])

    def test_092_windows_offset_without_sequence(self):
        tables = self.case("092", "--align", "none")
        self.assertEqual(sorted(self.skews(tables).values()), [10, 50])
        rows = [r for r in tables["nccl_long"] if r["match"] == "alone"]
        self.assertEqual([(r["rank"], r["ts"]) for r in rows], [("0", "1000"), ("1", "1700")])
        self.assertEqual({r["matched by"] for r in tables["nccl_implicit_sync"]}, {"order"})

    def test_094_interleaved_groups(self):
        tables = self.case("094", "--align", "none")
        self.assertEqual(self.skews(tables), {"0_0": 30, "1_0": 5, "0_1": 10})

    def test_095_same_name_other_ranks(self):
        tables = self.case("095", "--align", "none")
        rows = tables["nccl_implicit_sync"]
        got = sorted((r["Process Group Ranks"], number(r["skew in start time"])) for r in rows)
        self.assertEqual(got, [("[0, 1]", 20), ("[2, 3]", 30)])
        ids = [r["collective_id"] for r in rows]
        self.assertEqual(len(set(ids)), 2)
        self.assertTrue(all("[" in i for i in ids), ids)

    def test_097_clock_offset(self):
        raw = self.skews(self.case("097", "--align", "none"))
        self.assertEqual(sorted(raw.values()), [4990, 5040, 5050])
        self.assertRegex(self.result.out, "clocks differ")
        tables = self.case("097", "--align", "collectives")
        self.assertEqual(sorted(self.skews(tables).values()), [10, 40, 50])
        clock = tables["clocks"][1]
        self.assertLessEqual(abs(Decimal(clock["offset (us)"]) - 5000),
                             Decimal(clock["uncertainty (us)"]))

    def test_098_send_and_receive(self):
        rows = self.case("098", "--align", "none")["transfers"]
        self.assertEqual([(r["src_rank"], r["dst_rank"], r["bytes"], r["start skew (us)"],
                           r["end skew (us)"], r["time (us)"], r["waiting rank"]) for r in rows],
                         [("0", "1", "200", "20", "0", "50", "1")])

    def test_100_rank_from_name(self):
        tables = self.case("100", "--align", "none", codes=(0, 3))
        ranks = [r["rank"] for r in tables["ranks"] if r["file"]]
        self.assertEqual(ranks, ["2", "10"])
        self.assertEqual(sorted(self.skews(tables).values()), [10, 40, 50])

    def test_101_name_against_content(self):
        tables = self.case("101")
        self.assertRegex(self.result.err, r"rank0\.json: rank 0 in the file name, 1 in the trace")
        total = {r["rank"]: r["total_time ms"] for r in tables["rank_timeline"]}
        self.assertEqual(Decimal(total["0"]), Decimal("0.58"))

    def test_104_one_bad_rank(self):
        tables = self.case("104", codes=(3,))
        for name in ("rank-1.json", "rank-2.json", "rank-3.json"):
            self.assertRegex(self.result.err, name)
        row = next(r for r in tables["rank_timeline"] if r["rank"] == "0")
        self.assertEqual({k: Decimal(row[f"{k} ms"]) for k in
                          ("total_time", "busy_time", "computation_time", "total_comm_time",
                           "exposed_comm_time", "idle_time")},
                         {"total_time": Decimal("0.58"), "busy_time": Decimal("0.38"),
                          "computation_time": Decimal("0.15"), "total_comm_time": Decimal("0.23"),
                          "exposed_comm_time": Decimal("0.23"), "idle_time": Decimal("0.2")})

    def test_125_comms_id(self):
        tables = self.case("125", "--align", "none")
        rows = tables["nccl_implicit_sync"]
        self.assertEqual([(r["skew in start time"], r["skew in end time"], r["matched by"])
                          for r in rows], [("10", "0", "id")])
        self.assertEqual([r["rank"] for r in tables["nccl_long"] if r["match"] == "alone"], ["0"])


def number(text):
    value = Decimal(text)
    return int(value) if value == int(value) else value


for _job in sorted(p.name for p in JOBS.iterdir() if p.is_dir()) if JOBS.exists() else []:
    for _name in ("compare", "columns"):
        setattr(Ranks, f"test_{_job}_{_name}",
                lambda self, j=_job, n=_name: getattr(self, n)(j))

if __name__ == "__main__":
    unittest.main()
