"""trawl sweep aggregate: reports of all configurations in one table each, whatever wrote them."""
import csv
import io
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, trawl

TYPES = ["computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time", "idle_time",
         "total_time", "total_comm_time", "total_memcpy_time"]
METRICS = ["comm_latency", "skew in start time", "skew in end time", "algo bw (GB/s)",
           "bus bw (GB/s)"]
SUMMARY = ["Collective name", "dtype", "In msg nelems", "Process Group Name", "Group size",
           "Full msg size (MB)"] + \
    [f"{m}_{a}" for m in METRICS for a in ("mean", "median", "min", "max")] + \
    ["count", "Total comm latency (ms)"]


def write_csv(path, head, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(head)
        out.writerows(rows)


def timeline(place, threads, channels, rank, times, types=TYPES):
    write_csv(place / f"{threads}thread/individual_reports/perf_{channels}ch_rank{rank}_csvs/"
              "gpu_timeline.csv", ["type", "time ms", "percent"],
              [[t, ms, 100 * ms / times[-3] if times[-3] else ""] for t, ms in zip(types, times)])


def collective(place, threads, channels, rows, head=SUMMARY):
    """`rows`: (name, dtype, elements, group, group size, MB, mean latency in µs)."""
    write_csv(place / f"{threads}thread/collective_reports/collective_{channels}ch_csvs/"
              "nccl_summary_implicit_sync.csv", head,
              [[*r[:6], *[r[6]] * 20, 3, 3 * r[6] / 1000] for r in rows])


def usual(base):
    return [base, 2, 0.5, base + 2.5, 1, base + 3.5, 3, 0.5]


class Aggregate(Case):
    def aggregate(self, place, *options, codes=(0,)):
        self.result = trawl("sweep", "aggregate", place, *options)
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        return self.result

    def table(self, place, name):
        """The rows of one of the tables that are printed as CSV."""
        text = self.aggregate(place, "--format", "csv", "-q", codes=(0, 3)).out
        parts = {p.split("\n", 1)[0].strip(): p.split("\n", 1)[1]
                 for p in ("\n" + text).split("\n# ")[1:]} or {name: text}
        return list(csv.DictReader(io.StringIO(parts[name].rstrip("\n") + "\n")))

    def test_means_over_ranks(self):
        place = self.tmp / "s/tracelens_analysis"
        for rank, base in enumerate((10, 20, 60)):
            timeline(place, 256, 28, rank, usual(base))
        rows = {r["type"]: r for r in self.table(self.tmp / "s", "All_Data")}
        row = rows["computation_time"]
        self.assertEqual(list(rows), sorted(TYPES))
        self.assertEqual(
            (row["full_config"], row["num_ranks"], row["time ms"], row["ranks_used"],
             row["time ms_min"], row["time ms_max"], row["worst_rank"], row["zeros"]),
            ("256thread_28ch", "3", "30", "3", "10", "60", "2", "0"))
        self.assertAlmostEqual(float(row["time ms_std"]), 26.457513110645905)  # of 10, 20, 60
        # The mean of shares is not the share of the means: both are told.
        self.assertAlmostEqual(float(row["percent"]),
                               (100 * 10 / 13.5 + 100 * 20 / 23.5 + 100 * 60 / 63.5) / 3)
        self.assertAlmostEqual(float(row["percent_of_total"]), 100 * 30 / 33.5)
        self.assertEqual((self.tmp / "s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx")
                         .exists(), True)

    def test_a_zero_and_a_missing_type(self):
        place = self.tmp / "tracelens_analysis"
        timeline(place, 256, 28, 0, [4, 0, 0.5, 6, 1, 7, 3, 0.5])
        timeline(place, 256, 28, 1, [9, 8, 0.5, 6, 1, 7, 3, 0.5])
        timeline(place, 256, 28, 2, [9], types=TYPES[:0])
        rows = {r["type"]: r for r in self.table(place, "All_Data")}
        row = rows["exposed_comm_time"]
        self.assertEqual((row["time ms"], row["zeros"], row["ranks_used"], row["num_ranks"]),
                         ("4", "1", "2", "3"))

    def test_configurations_by_number(self):
        place = self.tmp / "tracelens_analysis"
        for threads, channels in ((1024, 8), (256, 112), (256, 28)):
            timeline(place, threads, channels, 0, usual(10))
        names = [r["full_config"] for r in self.table(place, "All_Data")]
        self.assertEqual(list(dict.fromkeys(names)),
                         ["256thread_28ch", "256thread_112ch", "1024thread_8ch"])

    def test_one_size_several_operations(self):
        """What shares a size alone is no operation; ids go by size, and past 99 too."""
        place = self.tmp / "tracelens_analysis"
        for channels, latency in ((28, 100), (56, 90)):
            collective(place, 256, channels, [
                ("allreduce", "Float", 1024, "0", 8, 16, latency),
                ("allreduce", "BFloat16", 2048, "0", 8, 16, latency + 1),
                ("reducescatter", "Float", 1024, "0", 8, 16, latency + 2),
                ("allreduce", "Float", 1024, "tp", 2, 16, latency + 3),
                ("allreduce", "Float", 1, "0", 8, 0.000003814697265625, latency + 4),
                ("allreduce", "Float", 9, "0", 8, 250.126, latency + 5)])
        rows = self.table(place, "NCCL_Data")
        self.assertEqual(len(rows), 12)
        self.assertEqual([(r["operation_id"], r["operation_name"], r["Collective name"],
                           r["dtype"], r["Process Group Name"]) for r in rows[::2]],
                         [("OP_01", "tiny_0.004KB", "allreduce", "Float", "0"),
                          ("OP_02", "medium_16.00MB", "allreduce", "BFloat16", "0"),
                          ("OP_03", "medium_16.00MB", "allreduce", "Float", "tp"),
                          ("OP_04", "medium_16.00MB", "allreduce", "Float", "0"),
                          ("OP_05", "medium_16.00MB", "reducescatter", "Float", "0"),
                          ("OP_06", "large_250.13MB", "allreduce", "Float", "0")])
        self.assertEqual([r["channels_num"] for r in rows], ["28", "56"] * 6)
        self.assertEqual(rows[0]["source_file"], "collective_28ch_csvs")
        collective(place, 256, 28, [("allreduce", "Float", n, "0", 8, n, 5)
                                    for n in range(120, 0, -1)])
        rows = [r for r in self.table(place, "NCCL_Data") if r["channels_num"] == "28"]
        self.assertEqual([r["Full msg size (MB)"] for r in rows], [str(n) for n in range(1, 121)])
        ids = [r["operation_id"] for r in rows]
        self.assertEqual((ids[0][:4], len(ids[0]), ids), ("OP_0", 6, sorted(ids)))

    def test_best_by_collective(self):
        place = self.tmp / "tracelens_analysis"
        for channels, latency in ((28, 100), (56, 90.5)):
            timeline(place, 256, channels, 0, usual(channels))
            collective(place, 256, channels, [("all\x1breduce", "Float", 1, "0", 8, 16, latency)])
        out = self.aggregate(place).out
        self.assertRegex(out, r"total_time +31\.500 ms 256thread_28ch; "
                              r"max 59\.500 ms 256thread_56ch \(\+88\.9 %\)")
        self.assertIn(r"OP_01 all\x1breduce Float 16.00 MB: 90.500 µs 256thread_56ch", out)
        self.assertNotIn("\x1b", out)

    def test_hostile_names(self):
        place = self.tmp / "tracelens_analysis"
        collective(place, 256, 28, [("=HYPERLINK(1)", '"x",\n', "Unknown", "<b>", "", "", 100)])
        self.aggregate(place)
        text = (place / "nccl_master_all_configs.csv").read_text()
        self.assertIn("'=HYPERLINK(1)", text)
        row = next(csv.DictReader(io.StringIO(text)))
        self.assertEqual((row["dtype"], row["Full msg size (MB)"], row["operation_name"]),
                         ('"x",\n', "", "unknown"))

    def test_what_is_left_out_is_said(self):
        place = self.tmp / "s p/tracelens_analysis"
        for rank in range(3):
            timeline(place, 256, 28, rank, usual(10 + rank))
        reports = place / "256thread/individual_reports"
        (reports / "perf_28ch_rank3.xlsx").write_bytes(b"PK\x03\x04 and no more")
        (reports / "perf_28ch_rank4.xlsx").write_bytes(b"")
        (reports / "perf_28ch_rank1_csvs/gpu_timeline.csv").write_text("type,percent\nx,1\n")
        (reports / "perf_28ch_rank5_csvs").mkdir()
        (reports / "perf_28ch_rank6_csvs").mkdir()
        (reports / "perf_28ch_rank6_csvs/GEMM.csv").write_text("name\n")
        collective(place, 256, 28, [("allreduce", "Float", 1, "0", 8, 16, 5)], head=["x"] * 28)
        err = self.aggregate(self.tmp / "s p", codes=(3,)).err
        for words in (r"rank3\.xlsx.*damaged", r"rank4\.xlsx.*empty", r"rank1_csvs.*'time ms'",
                      r"rank5_csvs.*no CSV", r"rank6_csvs.*gpu_timeline",
                      r"collective_28ch_csvs.*'Collective name'"):
            self.assertRegex(err, words)
        rows = self.table(self.tmp / "s p", "All_Data")
        self.assertEqual({r["num_ranks"] for r in rows}, {"2"})
        self.assertFalse((place / "nccl_master_all_configs.csv").exists())

    def test_nothing_to_gather(self):
        place = self.tmp / "tracelens_analysis"
        (place / "256thread/individual_reports/perf_28ch_rank0_csvs").mkdir(parents=True)
        self.aggregate(place, codes=(1,))
        self.assertRegex(self.result.err, "trawl sweep report")
        self.aggregate(self.tmp / "none", codes=(1,))
        self.aggregate(place, "--threads", "x", codes=(2,))

    def test_elsewhere_and_the_same_bytes(self):
        place = self.tmp / "tracelens_analysis"
        for rank in range(2):
            timeline(place, 256, 28, rank, usual(10 + rank / 3))
        collective(place, 256, 28, [("allreduce", "Float", 1, "0", 8, 16, 5)])
        before = sorted(place.rglob("*"))
        made = []
        for name in ("a", "b"):
            self.aggregate(place, "-o", self.tmp / name, "-j", len(name))
            made.append({p.name: p.read_bytes() for p in (self.tmp / name).rglob("*.*")})
        self.assertEqual(sorted(place.rglob("*")), before)
        self.assertEqual(len(made[0]), 4)
        self.assertEqual(made[0], made[1])

    def test_as_json(self):
        place = self.tmp / "tracelens_analysis"
        timeline(place, 256, 28, 0, usual(10))
        tables = json.loads(self.aggregate(place, "--format", "json").out)["tables"]
        self.assertEqual([t["name"] for t in tables], ["All_Data"])
        self.assertEqual(len(tables[0]["rows"]), 8)


if __name__ == "__main__":
    unittest.main()
