"""trawl sweep variance, timestamps and overlap on small sweeps whose answers are known: what is there,
what is not, and odd files between the stages."""
import csv
import json
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SHARED, Case, document, environment, kernel, launch, op, read_csv, trawl

NAME = "top5_gemm_kernels_time_variance"
SUFFIX = {"variance": "", "timestamps": "_with_timestamps", "overlap": "_with_collective_overlap"}
MM = {"Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"],
      "Input Strides": [[16, 1], [4, 1]], "Concrete Inputs": ["", ""]}
OTHER = {**MM, "Input Dims": [[8, 16], [16, 8]], "Input Strides": [[16, 1], [8, 1]]}


def calls(durations, at=1000, first=1, name="gemm", args=MM, step=100):
    """Matrix products, one a step: a kernel 50 us behind its call, of the durations given."""
    out = []
    for i, durations_of_call in enumerate(durations):
        t = at + step * i
        several = durations_of_call if isinstance(durations_of_call, list) else [
            (name, durations_of_call)]
        out.append(op("aten::mm", t, 20, **args))
        start = t + 50
        for k, (kernel_name, duration) in enumerate(several):
            correlation = first + 10 * i + k
            out += [launch(t + 1 + k, 1, correlation), kernel(kernel_name, start, duration,
                                                              correlation)]
            start += duration
    return out


def allreduce(ts, dur, name="allreduce", kernel_name="ncclDevKernel_AllReduce_Sum_f32_RING_LL"):
    args = {"Collective name": name} if name else {}
    return kernel(kernel_name, ts, dur, None, stream=9, **args)


class Variance(Case):
    def sweep(self, points):
        """A sweep directory: {(threads, channels): {rank: events or text}}."""
        self._runs += 1
        place = self.tmp / f"sweep{self._runs}"
        for (threads, channels), ranks in points.items():
            for rank, events in ranks.items():
                run = place / f"{threads}thread/nccl_{channels}channels/torch_profiler/rank{rank}"
                run.mkdir(parents=True)
                info = {"distributedInfo": {"rank": rank, "world_size": len(ranks)}}
                (run / "trace.json").write_text(
                    events if isinstance(events, str) else document(events, **info))
        return place

    def stage(self, stage, place, *options, codes=(0,), **keywords):
        """The rows that a stage wrote, by default into the sweep."""
        self.result = trawl("sweep", stage, place, *options, **keywords)
        self.assertAlive(self.result)
        self.assertExit(self.result, *codes)
        path = place / "tracelens_analysis" / f"{NAME}{SUFFIX[stage]}.csv"
        return read_csv(path) if path.exists() else None

    def all_stages(self, place, codes=(0,)):
        for stage in ("variance", "timestamps"):
            self.stage(stage, place, codes=codes)
        return self.stage("overlap", place, codes=codes)

    # ---- what is right

    def test_one_after_the_other(self):
        """Calls of 4, 9 and 6 us at 1050, 1150 and 1250; of the longest 3 us beside collectives."""
        events = calls([4, 9, 6]) + calls([5, 5], at=2000, first=100, args=OTHER) + [
            allreduce(1145, 7), allreduce(1158.5, 100, "broadcast"), allreduce(1040, 10)]
        place = self.sweep({(256, 28): {0: events}})
        row, other = self.all_stages(place)
        self.assertEqual(row["kernel_name"], "gemm")
        self.assertEqual([row[k] for k in ("threads", "channel", "rank", "kernel_time_min_us",
                                           "kernel_time_max_us", "time_diff_us")],
                         ["256", "28", "0", "4", "9", "5"])
        self.assertEqual([row[k] for k in (
            "min_duration_timestamp_ms", "max_duration_timestamp_ms", "time_between_min_max_ms",
            "min_duration_found_us", "max_duration_found_us", "match_status")],
            ["1.050000", "1.150000", "0.100000", "4", "9", "exact"])
        # 1150-1152 allreduce, 1158.5-1159 broadcast: 2.5 of 9 us.
        self.assertEqual([row[k] for k in (
            "overlapping_collective_count", "overlapping_collective_names",
            "max_overlap_collective", "total_overlap_duration_ms")],
            ["2", "allreduce;broadcast", "allreduce", "0.002500"])
        self.assertAlmostEqual(float(row["max_overlap_percentage"]), 200 / 9)
        self.assertAlmostEqual(float(row["total_overlap_percentage"]), 250 / 9)
        # Of equal calls the shortest is the first, the longest the last.
        self.assertEqual([other[k] for k in ("time_diff_us", "min_duration_timestamp_ms",
                                             "max_duration_timestamp_ms")],
                         ["0", "2.050000", "2.150000"])
        self.assertRegex(self.result.out, r"heavy +1 row : several collectives")
        self.assertRegex(self.result.out, r"pure +1 row : no collective overlaps: pure comp")
        self.assertRegex(self.result.out, r"mean 2\.500, median 2\.500, min 0\.000, max 5\.0")

    def test_columns_of_the_pipeline(self):
        place = self.sweep({(256, 28): {0: calls([4, 9])}})
        self.all_stages(place)
        head = {}
        for stage in SUFFIX:
            path = place / "tracelens_analysis" / f"{NAME}{SUFFIX[stage]}.csv"
            text = path.read_text()
            self.assertNotIn("\r", text)
            head[stage] = next(csv.reader(text.splitlines()))
        first = head["variance"]
        self.assertEqual(first[:7], ["threads", "channel", "rank", "kernel_name",
                                     "kernel_time_min_us", "kernel_time_max_us", "time_diff_us"])
        extra = [c for c in first[7:] if c.startswith("col_")]
        self.assertEqual(first[7:7 + len(extra)], sorted(extra))
        self.assertEqual(head["timestamps"][:len(first)], first)
        self.assertEqual(head["timestamps"][len(first):len(first) + 6], [
            "min_duration_timestamp_ms", "max_duration_timestamp_ms", "time_between_min_max_ms",
            "min_duration_found_us", "max_duration_found_us", "match_status"])
        n = len(head["timestamps"])
        self.assertEqual(head["overlap"][:n], head["timestamps"])
        self.assertEqual(head["overlap"][n:n + 5], [
            "overlapping_collective_count", "overlapping_collective_names",
            "max_overlap_percentage", "max_overlap_collective", "total_overlap_duration_ms"])

    def test_the_kernel_that_counts(self):
        """The longest kernel is the second of its call; another operation has it too."""
        events = calls([[("prepare", 1), ("gemm", 8)], [("prepare", 2), ("gemm", 3)]]) + \
            calls([[("gemm", 100)], [("gemm", 50)]], at=2000, first=100, args=OTHER)
        rows = {r["col_Input Dims_first"]: r for r in
                self.all_stages(self.sweep({(256, 28): {0: events}}))}
        row = rows["[[8, 16], [16, 4]]"]
        self.assertEqual((row["kernel_name"], row["main_kernel"]), ("gemm", "gemm"))
        self.assertEqual(row["kernel_names"], "gemm;prepare")
        self.assertEqual([row[k] for k in ("kernel_time_min_us", "kernel_time_max_us",
                                           "min_duration_found_us", "max_duration_found_us",
                                           "min_duration_timestamp_ms",
                                           "max_duration_timestamp_ms")],
                         ["5", "9", "3", "8", "1.152000", "1.051000"])
        self.assertEqual(rows["[[8, 16], [16, 8]]"]["max_duration_timestamp_ms"], "2.050000")

    def test_top_k(self):
        events = []
        for i in range(8):
            events += calls([5, 6 + i], at=1000 * (i + 1), first=100 * (i + 1), args={
                **MM, "Input Dims": [[8, 16], [16, 4 + i]], "Input Strides": [[16, 1], [4 + i, 1]]})
        place = self.sweep({(256, 28): {0: events, 1: calls([1, 3])}, (512, 28): {0: calls([1, 4]),
                                                                                  1: calls([2, 2])}})
        rows = self.stage("variance", place)
        self.assertEqual([(r["threads"], r["rank"], r["time_diff_us"]) for r in rows],
                         [("256", "0", "8"), ("256", "0", "7"), ("256", "0", "6"), ("256", "0", "5"),
                          ("256", "0", "4"), ("512", "0", "3"), ("256", "1", "2"),
                          ("512", "1", "0")])
        result = trawl("sweep", "variance", place, "--top-k", "1")
        self.assertExit(result, 0)
        rows = read_csv(place / "tracelens_analysis/top1_gemm_kernels_time_variance.csv")
        self.assertEqual([r["time_diff_us"] for r in rows], ["8", "3", "2", "0"])
        result = trawl("sweep", "timestamps", place, "--top-k", "1")
        self.assertExit(result, 0)
        self.assertTrue((place / "tracelens_analysis/"
                         "top1_gemm_kernels_time_variance_with_timestamps.csv").exists())
        for wrong in ("0", "-1", "x", "1.5"):
            result = trawl("sweep", "variance", place, "--top-k", wrong)
            self.assertExit(result, 2)

    def test_parts_of_a_sweep(self):
        points = {(t, c): {r: calls([4, 5 + r]) for r in (0, 1)} for t in (256, 512)
                  for c in (28, 56)}
        place = self.sweep(points)
        rows = self.stage("variance", place, "--threads", "512", "--ranks", "1")
        self.assertEqual([(r["threads"], r["channel"], r["rank"]) for r in rows],
                         [("512", "28", "1"), ("512", "56", "1")])
        self.stage("variance", place)
        rows = self.stage("timestamps", place, "--channels", "56")
        self.assertEqual(len(rows), 4)
        self.assertEqual({r["channel"] for r in rows}, {"56"})
        self.stage("timestamps", place)
        rows = self.stage("overlap", place, "--channels", "28", "--threads", "256")
        self.assertEqual(len(rows), 2)

    def test_any_number_of_threads(self):
        points = {(t, c): {r: calls([4, 5 + r + c, 6]) + [allreduce(1150, 3)] for r in range(3)}
                  for t in (256, 512) for c in (28, 56)}
        place, seen = self.sweep(points), []
        for j in ("1", "2", "7"):
            out = self.tmp / f"out{j}"
            text = ""
            for stage in SUFFIX:
                self.stage(stage, place, "-o", out, "-j", j)
                text += self.result.out
            files = {p.name: p.read_bytes() for p in (out / "tracelens_analysis").iterdir()}
            self.assertEqual(len(files), 3)
            seen.append((text, files))
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_forms_of_printing(self):
        place = self.sweep({(256, 28): {0: calls([4, 9])}})
        self.stage("variance", place)
        self.stage("timestamps", place, "--format", "csv")
        row, = csv.DictReader(self.result.out.splitlines())
        self.assertEqual((row["threads"], row["name"], row["min_duration_timestamp_ms"],
                          row["reading"]), ("256", "aten::mm", "1.05", ""))
        self.stage("overlap", place, "--format", "json")
        doc = json.loads(self.result.out)
        self.assertEqual(doc["schema"], "trawl.sweep_variance/1")
        self.assertEqual(doc["tables"][0]["rows"][0][-1], "pure computation")
        self.stage("overlap", place, "--format", "markdown")
        self.assertRegex(self.result.out, r"\| 256 \| 28 \| 0 \| aten::mm \|")
        self.stage("overlap", place, "-q")
        self.assertEqual(self.result.err, "")

    def test_names_from_traces(self):
        """Quotes, commas, line feeds, markup, formulas and letters of other tongues."""
        for i, name in enumerate(("it's", 'say "k"', "a,b;c", "<script>", "=1+1", "-2+3", "k\\n",
                                  "ядро", "核", "x" * 3000, "{'name': 'y'}", "back\\slash")):
            with self.subTest(name=name):
                place = self.sweep({(256, 28): {0: calls([4, 9], name=name) + [
                    allreduce(1150, 2, name)]}})
                row, = self.all_stages(place)
                self.assertEqual(self.cell(place, "kernel_name"), name)
                self.assertEqual(self.cell(place, "overlapping_collective_names"), name)
                self.assertEqual(row["match_status"], "exact")
                self.assertNotRegex(self.result.out, r"[\x00-\x08\x0b-\x1f\x7f]")

    def cell(self, place, column):
        """As a reader that knows the apostrophe has it."""
        row, = read_csv(place / "tracelens_analysis" / f"{NAME}{SUFFIX['overlap']}.csv")
        text = row[column]
        return text[1:] if text[:1] == "'" and text[1:2] in "=+-@\t'" else text

    def test_collectives_of_the_same_rank_alone(self):
        place = self.sweep({(256, 28): {0: calls([4, 9]), 1: calls([4, 9]) + [allreduce(1150, 9)]}})
        rows = {r["rank"]: r for r in self.all_stages(place)}
        self.assertEqual(rows["0"]["overlapping_collective_count"], "0")
        self.assertEqual(rows["1"]["max_overlap_percentage"], "100")
        self.assertRegex(self.result.out, r"blocked +1 row : collectives overlap more than 50 %")

    def test_collectives_without_arguments(self):
        place = self.sweep({(256, 28): {0: calls([4, 9]) + [
            allreduce(1150, 1, None), allreduce(1152, 1, None, "ncclDevKernel_Generic_1")]}})
        row, = self.all_stages(place)
        self.assertEqual(row["overlapping_collective_names"], "allreduce;ncclDevKernel_Generic_1")

    # ---- what is not there, or broken

    def reports(self, place, out):
        """Reports of every rank, made by the stage before."""
        result = trawl("sweep", "report", place, "-o", out)
        self.assertExit(result, 0)

    def test_reports_instead_of_traces(self):
        """A rank whose trace is gone is known by its report; when its calls ran is not."""
        place = self.sweep({(256, 28): {r: calls([4, 9 + r]) + [allreduce(1150, 2), allreduce(
            1300, 1)] for r in (0, 1)}})
        self.reports(place, place)
        want = self.stage("variance", place)
        (place / "256thread/nccl_28channels/torch_profiler/rank1/trace.json").unlink()
        self.assertEqual(self.stage("variance", place), want)
        rows = {r["rank"]: r for r in self.stage("timestamps", place, codes=(3,))}
        self.assertEqual(rows["0"]["match_status"], "exact")
        self.assertEqual((rows["1"]["match_status"], rows["1"]["min_duration_timestamp_ms"]),
                         ("none", ""))
        self.assertRegex(self.result.err, "256thread_28ch rank 1: 1 row without times")
        rows = {r["rank"]: r for r in self.stage("overlap", place, codes=(3,))}
        self.assertEqual(rows["0"]["overlapping_collective_names"], "allreduce")
        self.assertEqual(rows["1"]["overlapping_collective_count"], "")
        self.assertRegex(self.result.err, "1 of 2 rows have no times")

    def test_collective_report_instead_of_traces(self):
        place = self.sweep({(256, 28): {r: calls([4, 9]) + [allreduce(1150, 2, "reduce")]
                                        for r in (0, 1)}})
        self.reports(place, place)
        self.all_stages(place)
        want = read_csv(place / "tracelens_analysis" / f"{NAME}{SUFFIX['overlap']}.csv")
        self.assertEqual(want[0]["overlapping_collective_names"], "reduce")
        shutil.rmtree(place / "256thread")
        self.assertEqual(self.stage("overlap", place), want)
        # Without either, it is not known, and not 0.
        shutil.rmtree(place / "tracelens_analysis/256thread/collective_reports")
        rows = self.stage("overlap", place, codes=(3,))
        self.assertEqual([r["overlapping_collective_count"] for r in rows], ["", ""])
        self.assertRegex(self.result.err, "2 of 2 rows: no collectives in trace or report")

    def test_damaged_report(self):
        place = self.sweep({(256, 28): {0: calls([4, 9]), 1: calls([4, 9])}})
        self.reports(place, place)
        reports = place / "tracelens_analysis/256thread/individual_reports"
        for text in (b"", b"no workbook", (reports / "perf_28ch_rank1.xlsx").read_bytes()[:500]):
            (reports / "perf_28ch_rank1.xlsx").write_bytes(text)
            # The trace stands in for it.
            self.assertEqual(len(self.stage("variance", place)), 2)
        (place / "256thread/nccl_28channels/torch_profiler/rank1/trace.json").unlink()
        rows = self.stage("variance", place, codes=(3,))
        self.assertEqual([r["rank"] for r in rows], ["0"])
        self.assertRegex(self.result.err, "perf_28ch_rank1.xlsx")

    def test_damaged_trace(self):
        whole = document(calls([4, 9]))
        for text in ("", "{", "[]", "not JSON", whole[:40]):
            with self.subTest(text=text[:10]):
                place = self.sweep({(256, 28): {0: calls([4, 9]), 1: text}})
                rows = self.stage("variance", place, codes=(3,))
                self.assertEqual([r["rank"] for r in rows], ["0"])
                self.assertRegex(self.result.err, "rank1/trace.json: skipped")
                rows = self.stage("timestamps", place)
                self.assertEqual(rows[0]["match_status"], "exact")

    def test_trace_cut_off(self):
        text = document(calls([4, 9, 5, 6]), distributedInfo={"rank": 1, "world_size": 2})
        place = self.sweep({(256, 28): {0: calls([4, 9]), 1: text[:-200]}})
        rows = self.all_stages(place, codes=(3,))
        self.assertEqual(len(rows), 2)
        self.assertRegex(self.result.err, "rank1/trace.json: ")

    def test_missing_rank_and_configuration(self):
        place = self.sweep({(256, 28): {0: calls([4, 9]), 1: calls([4, 9])},
                            (512, 56): {0: calls([4, 9])}})
        rows = self.stage("variance", place, codes=(3,))
        self.assertEqual(len(rows), 3)
        self.assertRegex(self.result.err, "512thread_56ch: missing rank 1")
        self.assertRegex(self.result.err, "no configuration of 256 threads and 56 channels")

    def test_without_products(self):
        place = self.sweep({(256, 28): {0: [kernel("k", 1, 5)], 1: [kernel("k", 1, 5)]}})
        self.stage("variance", place, codes=(1,))
        self.assertOneLine(self.result, "no report or trace with rows of sheet GEMM")
        place = self.sweep({(256, 28): {0: calls([4, 9]), 1: [kernel("k", 1, 5)]}})
        self.assertEqual([r["rank"] for r in self.all_stages(place)], ["0"])

    def test_kernels_without_operations(self):
        """Runs of exactly the name, nearest in time: of equal ones the first and the last."""
        runs = [kernel("gemm", 300, 4), kernel("gemm", 100, 4), kernel("gemm", 200, 9),
                kernel("gemm", 400, 9), kernel("gemm", 500, 6.5), kernel("gemm_post", 600, 2),
                kernel("gemm_post", 700, 50), kernel("other", 800, 5)]
        linked = [op("aten::relu", 890, 5), launch(891, 1, 77), kernel("relu", 900, 3, 77)]
        place = self.sweep({(256, 28): {0: runs + linked, 1: calls([4, 9]) + [
            kernel("gemm", 9000, 4), kernel("alone", 9100, 30)]}})
        path = self.write("threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,"
                          "time_diff_us\n256,28,0,gemm,4,9,5\n256,28,0,gemm,6.52,9.05,3\n"
                          "256,28,0,gemm,,,\n256,28,0,other,1,100,99\n256,28,0,gem,4,9,5\n"
                          "256,28,0,relu,3,3,0\n256,28,1,gemm,4,9,5\n256,28,1,alone,30,30,0\n",
                          "mine.csv")
        self.stage("timestamps", place, "--input-csv", path, codes=(3,))
        rows = read_csv(self.tmp / "mine_with_timestamps.csv")
        self.assertEqual([(r["match_status"], r["matched_by"], r["min_duration_timestamp_ms"],
                           r["max_duration_timestamp_ms"], r["min_duration_found_us"],
                           r["max_duration_found_us"]) for r in rows],
                         [("exact", "kernel", "0.100000", "0.400000", "4", "9"),
                          ("within_tol", "kernel", "0.500000", "0.400000", "6.5", "9"),
                          ("exact", "kernel", "0.100000", "0.400000", "4", "9"),
                          ("nearest", "kernel", "0.800000", "0.800000", "5", "5"),
                          ("none", "", "", "", "", ""),
                          # An operation that is no matrix product has its own times.
                          ("none", "", "", "", "", ""),
                          # Calls come before runs that no operation is known of.
                          ("exact", "kernel", "1.050000", "1.150000", "4", "9"),
                          ("exact", "kernel", "9.100000", "9.100000", "30", "30")])
        self.assertEqual([rows[0][k] for k in ("min_call_event", "max_call_event", "main_kernel",
                                               "max_call_start_us", "max_call_end_us")],
                         ["1", "3", "gemm", "400", "409"])
        self.assertFalse(list(place.rglob("kernel_instances*")))

    @unittest.skipUnless(SHARED.is_dir(), "needs the given cases")
    def test_given_kernels_only(self):
        given = SHARED / "cases/found/sweep-04-timestamps-kernel-only/in"
        self.result = trawl("sweep", "timestamps", given / "sweep", "--input-csv", given / "var.csv",
                            "--output-csv", self.tmp / "out.csv", "-q")
        self.assertExit(self.result, 3)  # a trace is damaged, and a configuration not there
        rows = read_csv(self.tmp / "out.csv")
        self.assertEqual([(r["match_status"], r["min_duration_timestamp_ms"],
                           r["max_duration_timestamp_ms"]) for r in rows],
                         [("exact", "0.500000", "4.000000"), ("exact", "7.100000", "7.600000"),
                          ("exact", "7.000000", "7.400000"), ("none", "", ""), ("none", "", ""),
                          ("within_tol", "1682725898082.228000", "2211714297.371865"),
                          ("within_tol", "0.011000", "0.021000"),
                          ("exact", "0.011000", "0.011000"), ("none", "", "")])
        self.assertEqual({r["matched_by"] for r in rows}, {"kernel", ""})

    def test_nothing_to_read(self):
        place = self.sweep({(256, 28): {0: calls([4, 9])}})
        self.stage("timestamps", place, codes=(1,))
        self.assertOneLine(self.result, f"{NAME}.csv is missing: run 'trawl sweep variance'")
        self.stage("overlap", place, codes=(1,))
        self.assertOneLine(self.result, "run 'trawl sweep timestamps'")
        self.stage("timestamps", place, "--input-csv", self.tmp / "gone.csv", codes=(1,))
        self.assertOneLine(self.result, file="gone.csv")
        for text in ("", "\n", "a,b\n1,2\n", "threads,channel\n1\n", '"'):
            path = self.write(text, "odd.csv")
            self.stage("timestamps", place, "--input-csv", path, codes=(1,))
            self.stage("overlap", place, "--input-csv", path, codes=(1,))
            self.assertFalse((self.tmp / "odd_with_timestamps.csv").exists())
        self.stage("timestamps", self.tmp / "gone", codes=(1,))

    def test_files_of_others(self):
        """Only the seven columns, numbers as pandas leaves them; other columns pass through."""
        place = self.sweep({(256, 28): {0: calls([4, 9]) + calls([20, 30], at=2000, first=100,
                                                                args=OTHER)}})
        path = self.write("threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,"
                          "time_diff_us,=note\n256.0,28.0,0.0,gemm,20.1,30.0,9.9,\"1,\"\"50\"\n"
                          "256,28,0,gemm,,,,\n256,28,0,gem,4,9,5,\n256,28,7,gemm,4,9,5,\n"
                          ",,,,,,,\nx,y,z,gemm,4,9,5,\n", "mine.csv")
        self.stage("timestamps", place, "--input-csv", path, codes=(3,))
        rows = read_csv(self.tmp / "mine_with_timestamps.csv")
        self.assertEqual([(r["match_status"], r["matched_by"]) for r in rows],
                         [("within_tol", "kernel"), ("exact", "kernel"), ("none", ""),
                          ("none", ""), ("none", ""), ("none", "")])
        self.assertNotIn("nearest", self.result.err)
        self.assertIn("2 of 6 rows (1 exact, 1 within tolerance)\n", self.result.out)
        self.assertEqual((rows[0]["threads"], rows[0]["'=note"]), ("256.0", '1,"50'))
        self.assertEqual(rows[0]["min_duration_timestamp_ms"], "2.050000")
        self.stage("timestamps", place, "--input-csv", path, "--tolerance", "0", codes=(3,))
        self.assertEqual(read_csv(self.tmp / "mine_with_timestamps.csv")[0]["match_status"],
                         "nearest")
        self.assertIn("trawl: 1 of 6 rows: no call within the tolerance of the report's times: "
                      "using the nearest (match_status nearest)\n", self.result.err)
        self.assertRegex(self.result.out, r"Found in the traces: 2 of 6 rows \(1 exact, 1 nearest\)")
        for wrong in ("x", "-1", "2", "nan", "", "0.1x"):
            self.stage("timestamps", place, "--input-csv", path, "--tolerance", wrong, codes=(2,))
        # Of the next stage the name follows.
        self.stage("overlap", place, "--input-csv", self.tmp / "mine_with_timestamps.csv",
                   codes=(3,))
        self.assertEqual(len(read_csv(self.tmp / "mine_with_collective_overlap.csv")), 6)

    def test_where_results_go(self):
        place = self.sweep({(256, 28): {0: calls([4, 9])}})
        out = self.tmp / "elsewhere/deep"
        for stage in SUFFIX:
            self.stage(stage, place, "-o", out)
        self.assertEqual(sorted(p.name for p in (out / "tracelens_analysis").iterdir()),
                         sorted(f"{NAME}{s}.csv" for s in SUFFIX.values()))
        self.assertFalse((place / "tracelens_analysis").exists())
        self.stage("variance", place)
        # The file of the sweep serves a stage that writes elsewhere.
        self.stage("timestamps", place, "-o", self.tmp / "third")
        self.assertEqual([p.name for p in (self.tmp / "third/tracelens_analysis").iterdir()],
                         [f"{NAME}_with_timestamps.csv"])
        mine = self.tmp / "a b/mine.csv"
        self.stage("variance", place, "--output-csv", mine)
        self.assertEqual(len(read_csv(mine)), 1)
        self.stage("timestamps", place, "--input-csv", mine)
        self.assertTrue((self.tmp / "a b/mine_with_timestamps.csv").exists())
        self.stage("timestamps", place, "--input-csv", mine, "-o", self.tmp / "fourth")
        self.assertTrue((self.tmp / "fourth/tracelens_analysis/mine_with_timestamps.csv").exists())

    def test_several_traces_of_a_rank(self):
        place = self.sweep({(256, 28): {0: calls([4, 9])}})
        run = place / "256thread/nccl_28channels/torch_profiler/rank0"
        shutil.copy(run / "trace.json", run / "other.json")
        row, = self.all_stages(place)
        self.assertRegex(self.result.err, r"rank 0 has 2 traces: using ")
        self.assertEqual(row["match_status"], "exact")
        self.assertEqual(len(list(run.iterdir())), 2)

    def test_read_only_sweep(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        place = self.sweep({(256, 28): {0: calls([4, 9])}})
        place.chmod(0o555)
        self.addCleanup(place.chmod, 0o755)
        self.stage("variance", place, codes=(1,))
        self.stage("variance", place, "-o", self.tmp / "out")


if __name__ == "__main__":
    unittest.main()
