"""Tables on stdout: report --table, kernels, ops, steps, ranges, tables."""
import csv
import gzip
import io
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import unittest
from collections import defaultdict
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (NCCL, ROOT, TRAWL, Case, base_events, copy, document, environment, event, kernel,
                     launch, number, op, report, trawl, tracegen)

SAMPLE, EXPORT = ROOT / "examples/sample.json.gz", ROOT / "examples/sample.sqlite"
SCREEN = 40


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


class Tables(Case):
    def run_on(self, events, *args):
        result = trawl(*args[:1], self.write(document(events)), *args[1:])
        self.assertAlive(result)
        return result

    def csv_of(self, events, *args):
        result = self.run_on(events, *args, "--format", "csv")
        self.assertExit(result, 0)
        return rows_of(result.out)

    def assertUsage(self, result, *words):
        self.assertExit(result, 2)
        self.assertEqual(result.out, "")
        for word in words:
            self.assertIn(word, result.err)


class Kernels(Tables):
    # Durations of a: 10, 20 and 60 us; all GPU work is 100 us, 5 of it a copy.
    EVENTS = [kernel("a", 100, 10, stream=7), kernel("b", 120, 5, stream=7),
              kernel("a", 130, 20, stream=8), kernel("a", 160, 60, stream=7), copy(300, 5)]

    def test_by_hand(self):
        a, b = self.csv_of(self.EVENTS, "kernels")
        self.assertEqual(list(a), ["kernel", "count", "total (ms)", "share (%)", "mean (µs)",
                                   "median (µs)", "min (µs)", "max (µs)", "std (µs)", "category"])
        self.assertEqual([a[x] for x in list(a)[:9]],
                         ["a", "3", "0.09", "90", "30", "20", "10", "60", "26.457513110645905"])
        # One kernel has no deviation.
        self.assertEqual([b[x] for x in list(b)[:9]],
                         ["b", "1", "0.005", "5", "5", "5", "5", "5", ""])

    def test_by_stream(self):
        rows = self.csv_of(self.EVENTS, "kernels", "--by", "stream")
        self.assertEqual([(r["kernel"], r["stream"], r["count"], r["total (ms)"]) for r in rows],
                         [("a", "7", "2", "0.07"), ("a", "8", "1", "0.02"),
                          ("b", "7", "1", "0.005")])
        # Of several devices with theirs.
        rows = self.csv_of([kernel("a", 100, 9, device=0), kernel("a", 100, 8, device=1)],
                           "kernels", "--by", "stream")
        self.assertEqual([r["stream"] for r in rows], ["0:7", "1:7"])

    def test_equal_times_are_in_order_of_names(self):
        rows = self.csv_of([kernel("b", 100, 10), kernel("a", 120, 10)], "kernels")
        self.assertEqual([r["kernel"] for r in rows], ["a", "b"])

    def test_part_of_a_trace(self):
        # [130,190): 20 us on stream 8, 30 of the 60 on stream 7.
        rows = self.csv_of(self.EVENTS, "kernels", "--start", "130000", "--end", "190000")
        self.assertEqual([(r["count"], r["total (ms)"], r["max (µs)"]) for r in rows],
                         [("2", "0.05", "30")])

    def compare(self, events, rows):
        """Rows against the events, in nanoseconds."""
        of, work = defaultdict(list), 0
        for e in events:
            if e.get("ph") != "X" or e.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
                continue
            ns = int(Decimal(str(e["dur"])) * 1000)
            work += ns
            if e["cat"] == "kernel":
                of[e["name"]].append(ns)
        self.assertEqual({r["kernel"] for r in rows}, set(of))
        for r in rows:
            ns = of[r["kernel"]]
            self.assertEqual([int(r["count"]), number(r["total (ms)"]) * 10**6,
                              number(r["min (µs)"]) * 1000, number(r["max (µs)"]) * 1000],
                             [len(ns), sum(ns), min(ns), max(ns)])
            for header, want in (("share (%)", 100 * sum(ns) / work),
                                 ("mean (µs)", statistics.fmean(ns) / 1000),
                                 ("median (µs)", statistics.median(ns) / 1000),
                                 ("std (µs)", statistics.stdev(ns) / 1000 if len(ns) > 1 else 0)):
                self.assertAlmostEqual(float(r[header] or 0), want, delta=1e-9 * (want + 1e-3))

    def test_sample_by_its_events(self):
        events = json.loads(gzip.open(SAMPLE).read(), parse_float=Decimal)["traceEvents"]
        result = trawl("kernels", SAMPLE, "--format", "csv")
        self.assertExit(result, 0)
        self.compare(events, rows_of(result.out))

    def test_random_traces_by_their_events(self):
        for seed in range(3):
            rng = random.Random(seed)
            events = [kernel(f"k{rng.randrange(9)}", 1000 * i, rng.randrange(1, 10**6) / 1000,
                             stream=rng.randrange(3), cat=rng.choice(["kernel"] * 4 + ["gpu_memcpy"]))
                      for i in range(rng.randrange(20, 300))]
            self.compare(events, self.csv_of(events, "kernels"))


class Operators(Tables):
    def test_by_hand(self):
        # aten::mm has a call of two kernels on two streams, at the same time, and one of 30 us.
        events = [op("aten::mm", 100, 40), launch(110, 5, 1), launch(120, 5, 2),
                  kernel("x", 150, 40, 1), kernel("y", 160, 20, 2, stream=9),
                  op("aten::mm", 200, 40), launch(210, 5, 3), kernel("x", 250, 30, 3),
                  op("c10d::allreduce_", 300, 20), launch(305, 5, 4),
                  kernel("ncclDevKernel_AllReduce", 330, 50, 4), launch(400, 5, 5),
                  kernel("z", 420, 40, 5), kernel("lost", 500, 20, 99)]
        rows = self.csv_of(events, "ops")
        self.assertEqual(
            [[r[h] for h in ("operator", "calls", "GPU events", "total (ms)", "share (%)",
                             "mean (µs)", "median (µs)", "min (µs)", "max (µs)")] for r in rows],
            [["aten::mm", "2", "3", "0.09", "45", "45", "45", "30", "60"],
             ["c10d::allreduce_", "1", "1", "0.05", "25", "50", "50", "50", "50"],
             ["cudaLaunchKernel", "1", "1", "0.04", "20", "40", "40", "40", "40"],
             ["(not attributed)", "", "1", "0.02", "10", "", "", "", ""]])
        self.assertAlmostEqual(float(rows[0]["std (µs)"]), statistics.stdev([60, 30]), 12)

    def test_sample_adds_up_to_all_gpu_work(self):
        events = json.loads(gzip.open(SAMPLE).read(), parse_float=Decimal)["traceEvents"]
        gpu = [Decimal(str(e["dur"])) for e in events
               if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
        result = trawl("ops", SAMPLE, "--format", "csv")
        rows = rows_of(result.out)
        self.assertEqual(sum(number(r["total (ms)"]) for r in rows) * 1000, sum(gpu))
        self.assertEqual(sum(int(r["GPU events"]) for r in rows), len(gpu))
        self.assertAlmostEqual(sum(float(r["share (%)"]) for r in rows), 100, 9)
        # Communication aside, and where the kernels of a call do not overlap, as in ops_summary.
        full = trawl("report", SAMPLE, "--table", "ops_summary", "--format", "csv")
        totals = {r["operator"]: (r["calls"], r["total (ms)"]) for r in rows}
        for r in rows_of(full.out):
            self.assertEqual(totals[r["name"]], (r["Count"], r["total_direct_kernel_time_ms"]))

    def test_host_alone(self):
        rows = self.csv_of([op("aten::mm", 100, 40), op("aten::add", 150, 10)], "ops")
        self.assertEqual([(r["name"], r["Count"], r["self host time (ms)"]) for r in rows],
                         [("aten::mm", "1", "0.04"), ("aten::add", "1", "0.01")])

    def test_host_alone_on_a_screen(self):
        # The name, calls, times: 40 us, 10 of them in aten::add; another call of 30.
        events = [op("aten::mm", 100, 40), op("aten::add", 110, 10), op("aten::mm", 200, 30)]
        plain = self.run_on(events, "ops")
        self.assertEqual([x.split() for x in plain.out.splitlines() if x.startswith("aten::")],
                         [["aten::mm", "2", "0.070", "0.060", "85.71", "35.000", "30.000", "40.000"],
                          ["aten::add", "1", "0.010", "0.010", "14.29", "10.000", "10.000", "10.000"]])
        self.assertNotIn("no rows by", plain.err)
        by = self.run_on(events, "ops", "--by", "stream")
        self.assertIn("note: no rows by stream: table cpu_ops is not grouped", by.err)
        self.assertEqual(by.out, plain.out)
        events += [launch(120, 5, 1), kernel("x", 300, 5, 1)]
        self.assertNotIn("no rows by", self.run_on(events, "ops", "--by", "stream").err)
        # Nor where there is nothing at all.
        self.assertNotIn("no rows by", self.run_on([kernel("x", 300, 5)], "kernels", "--by", "stream",
                                                   "--start", "1000000").err)

    def test_by_step(self):
        events = [event("X", "user_annotation", f"ProfilerStep#{i}", 31, 32, 100 * i, 100)
                  for i in (1, 2)]
        for i in (1, 2):
            events += [op("aten::mm", 100 * i + 10, 40), launch(100 * i + 20, 5, i),
                       kernel("x", 100 * i + 50, 10 * i, i)]
        rows = self.csv_of(events, "ops", "--by", "step")
        self.assertEqual([(r["operator"], r["step"], r["total (ms)"]) for r in rows],
                         [("aten::mm", "ProfilerStep#2", "0.02"),
                          ("aten::mm", "ProfilerStep#1", "0.01")])


class Others(Tables):
    def test_steps(self):
        events = base_events() + [event("X", "user_annotation", "ProfilerStep#4", 31, 32, 100, 200)]
        rows = self.csv_of(events, "steps")
        # Launched in it: [150,300), [290,340) and [400,430).
        self.assertEqual((rows[0]["name"], rows[0]["busy (ms)"]), ("ProfilerStep#4", "0.22"))
        self.assertIn("(no rows)", self.run_on(base_events(), "steps").out)

    def test_steps_of_an_inference_server(self):
        events = base_events() + [event(
            "X", "user_annotation", "execute_context_1(8)_generation_2(2)", 31, 32, 100, 200)]
        result = self.run_on(events, "steps")
        self.assertTrue(result.out.startswith("phases: "))
        self.assertRegex(result.out, r"\nexecute_\S+  mixed  0\.200  0\.220 ")

    def test_ranges(self):
        events = base_events() + [event("X", "user_annotation", "forward", 31, 32, 100, 75)]
        rows = self.csv_of(events, "ranges")
        # Of the four launches three are within [100,175): 100 + 100 + 50 us.
        self.assertEqual([(r["range"], r["kind"], r["GPU time (ms)"]) for r in rows],
                         [("forward", "range", "0.25"), ("", "outside", "0.03")])

    def test_tables_are_listed(self):
        rows = rows_of(trawl("tables", "--format", "csv").out)
        names = [r["table"] for r in rows]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"kernels", "ops", "steps", "nvtx_ranges", "verdict", "findings"},
                             set(names))
        headings = re.findall(r"^## (\w+)$", (ROOT / "docs/COLUMNS.md").read_text(), re.M)
        self.assertLessEqual(set(names), set(headings))
        self.assertTrue(all(r["meaning"] for r in rows))

    def test_columns_are_listed(self):
        rows = rows_of(trawl("tables", "kernels", "ranks", "--format", "csv").out)
        of = [(r["id"], r["header"], r["unit"]) for r in rows if r["table"] == "kernels"]
        self.assertEqual(of[:3], [("kernel", "kernel", ""), ("count", "count", ""),
                                  ("total_ms", "total (ms)", "ms")])
        self.assertEqual({r["table"] for r in rows}, {"kernels", "ranks"})
        self.assertUsage(trawl("tables", "kernel"), "no table 'kernel'", "did you mean 'kernels'")


class Selection(Tables):
    def test_each_table_is_that_of_the_report(self):
        """Made alone, with only what it needs, each table has the same bytes."""
        for number_of, trace in enumerate((SAMPLE, EXPORT)):
            whole = report(trace, self.tmp / f"whole{number_of}")
            self.assertExit(whole, 0)
            tables = sorted(whole.csvs.glob("*.csv"))
            self.assertGreater(len(tables), 10)
            for table in tables:
                alone = trawl("report", trace, "--table", table.stem, "--format", "csv", "-q")
                self.assertExit(alone, 0)
                self.assertEqual(alone.raw, table.read_bytes(), table.stem)

    def test_several_tables(self):
        result = trawl("report", SAMPLE, "--table", "streams,steps", "--format", "csv")
        self.assertExit(result, 0)
        self.assertEqual(re.findall(r"^# (\w+)$", result.out, re.M), ["streams", "steps"])

    def test_no_files(self):
        shown = trawl("report", self.write(document(base_events())), "--table", "kernels", cwd=self.tmp)
        self.assertExit(shown, 0)
        self.assertEqual([p.name for p in self.tmp.iterdir()], ["trace.json"])

    def test_table_of_which_there_is_nothing(self):
        result = self.run_on([op("aten::mm", 100, 40)], "report", "--table", "kernels,modules")
        self.assertExit(result, 0)
        self.assertEqual(result.out.count("(no rows)"), 2)
        self.assertIn("note: no GPU work in this trace", result.out)
        self.assertIn("note: no Python functions in this trace", result.out)
        rows = self.csv_of([op("aten::mm", 100, 40)], "report", "--table", "kernels")
        self.assertEqual(rows, [])
        # Nothing at all, and a record that is there in any case.
        self.assertExit(self.run_on([], "report", "--table", "kernels"), 1)
        self.assertExit(self.run_on([], "report", "--table", "quality"), 0)

    def test_tables_only_for_sweeps(self):
        events = [kernel("k", 100, 10), kernel("k", 200, 10)]
        (row,) = self.csv_of(events, "report", "--table", "kernel_instances")
        self.assertEqual((row["name"], row["runs"], row["dur_ns"]), ("k", "2", "10000"))

    EVENTS = [kernel(n, 100 * i, d) for i, (n, d) in enumerate(
        (("c", 5), ("a", 30), ("b", 10), ("b", 10), ("d", 5), ("d", 7)), 1)]

    def names(self, *args):
        return [r["kernel"] for r in self.csv_of(self.EVENTS, "kernels", *args)]

    def test_sort(self):
        self.assertEqual(self.names(), ["a", "b", "d", "c"])  # 30, 20, 12, 5 us
        self.assertEqual(self.names("--sort", "total_ms:asc"), ["c", "d", "b", "a"])
        self.assertEqual(self.names("--sort", "total (ms):asc"), ["c", "d", "b", "a"])
        # Numbers descending, equal ones as they were; names ascending.
        self.assertEqual(self.names("--sort", "count"), ["b", "d", "a", "c"])
        self.assertEqual(self.names("--sort", "count:desc"), ["b", "d", "a", "c"])
        self.assertEqual(self.names("--sort", "kernel"), ["a", "b", "c", "d"])
        self.assertEqual(self.names("--sort", "kernel:desc"), ["d", "c", "b", "a"])
        # A deviation is missing for a and c: they are last either way; of b it is 0.
        self.assertEqual(self.names("--sort", "std_us"), ["d", "b", "a", "c"])
        self.assertEqual(self.names("--sort", "std_us:asc"), ["b", "d", "a", "c"])

    def test_sort_ids(self):
        events = [kernel("k", 100 * i, 5, stream=s) for i, s in enumerate((10, 9, 100), 1)]
        rows = self.csv_of(events, "report", "--table", "streams", "--sort", "stream")
        self.assertEqual([r["stream"] for r in rows], ["9", "10", "100"])

    def test_top(self):
        self.assertEqual(self.names("--top", "2"), ["a", "b"])
        self.assertEqual(self.names("--top", "1", "--sort", "kernel:desc"), ["d"])
        self.assertEqual(len(self.names("--top", "0")), 4)
        self.assertEqual(len(self.names("--top", "9")), 4)

    def test_columns(self):
        rows = self.csv_of(self.EVENTS, "kernels", "--columns", "max (µs),kernel,max_us")
        self.assertEqual(list(rows[0].items()), [("max (µs)", "30"), ("kernel", "a")])
        text = self.run_on(self.EVENTS, "kernels", "--columns", "kernel,category").out
        self.assertEqual(text.splitlines()[1].split(), ["kernel", "category"])

    def test_wrong_usage(self):
        path = self.write(document(self.EVENTS))
        for args, words in (
                (("--table", "kernal_summary"), ("did you mean 'kernel_summary'", "trawl tables")),
                (("--table", "kernels,nothing_like_it"), ("no table 'nothing_like_it'",)),
                (("--table", "kernels,"), ("no table ''",)),
                (("--table", "verdict"), ("table 'verdict' is of several ranks",)),
                (("--table", "kernels", "--columns", "kernle"), ("did you mean 'kernel'", "trawl tables kernels")),
                (("--table", "kernels", "--columns", "kernel,"), ("no column ''",)),
                (("--table", "kernels", "--sort", "total"), ("no column 'total'",)),
                (("--table", "kernels", "--sort", "count:up"), ("no column 'count:up'",)),
                (("--table", "kernels,streams", "--columns", "count"), ("trawl tables streams",)),
                (("--table", "kernels", "--top", "-1"), ("--top",)),
                (("--top", "3"), ("need --table",)), (("--sort", "x"), ("need --table",)),
                (("--columns", "x"), ("need --table",)),
                (("--table", "kernels", "-o", self.tmp / "x"), ("writes no files",)),
                (("--table", "kernels", "--plots"), ("writes no files",)),
                (("--table", "kernels", "--each"), ("writes no files",)),
                (("--table", "kernels", "--stacks", "full"), ("writes no files",)),
                (("--table", "kernels", "--group-by", "strem"), ("group by 'strem'",))):
            self.assertUsage(trawl("report", path, *args), *words)
        self.assertUsage(trawl("kernels"), "missing TRACE")
        self.assertExit(trawl("kernels", self.tmp / "absent.json"), 1)

    def test_meant(self):
        for args, words in ((("reprot",), "unknown command 'reprot'; did you mean 'report'"),
                            (("help", "kernel"), "unknown command 'kernel'; did you mean 'kernels'"),
                            (("report", "--pltos"), "unknown option '--pltos'; did you mean '--plots'"),
                            (("report", "--tabel=x"), "did you mean '--table'?"),
                            (("report", "x", "--format", "jsno"), "did you mean 'json', 'jsonl'?"),
                            (("report", "x", "--by", "tine"), "not launch or time; did you mean 'time'?")):
            self.assertUsage(trawl(*args), words)
        for args in (("zzzzzzzzzz",), ("report", "--zzzzzzzzzz"), ("report", "x", "--by", "zzzzzzzzzz")):
            self.assertNotIn("did you mean", trawl(*args).err)


class Forms(Tables):
    def test_text_is_table(self):
        made = [trawl("kernels", SAMPLE, "--format", f).out for f in ("text", "table")]
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], trawl("kernels", SAMPLE).out)

    def test_json_lines(self):
        rows = rows_of(trawl("ops", SAMPLE, "--format", "csv").out)
        text = trawl("ops", SAMPLE, "--format", "jsonl").out
        lines = [json.loads(x, parse_float=Decimal) for x in text.splitlines()]
        columns = rows_of(trawl("tables", "ops", "--format", "csv").out)
        ids = [c["id"] for c in columns]
        self.assertEqual([list(x) for x in lines], [ids] * len(rows))
        for line, row in zip(lines, rows):
            self.assertEqual(["" if v is None else str(v) for v in line.values()],
                             list(row.values()))

    def test_json_has_the_same_rows(self):
        lines = trawl("report", SAMPLE, "--table", "streams,steps", "--format", "jsonl").out
        document = json.loads(trawl("report", SAMPLE, "--table", "streams,steps", "--format",
                                    "json").out)
        self.assertEqual(document["schema"], "trawl.table/1")
        self.assertEqual([{"table": t["name"], **row} for t in document["tables"] for row in t["rows"]],
                         [json.loads(x) for x in lines.splitlines()])
        self.assertEqual([list(t["rows"][0]) for t in document["tables"]],
                         [[c["id"] for c in t["columns"]] for t in document["tables"]])

    def test_json_lines_of_several_tables(self):
        text = trawl("report", SAMPLE, "--table", "streams,steps", "--format", "jsonl").out
        names = [next(iter(json.loads(x).items())) for x in text.splitlines()]
        self.assertEqual(set(names), {("table", "streams"), ("table", "steps")})

    def test_numbers_survive_doubles(self):
        # Starts at 2 * 10^15 us: 19 digits with their nanoseconds.
        events = [kernel("k", "2000000000000001.001", "2.5", stream=7)]
        (line,) = [json.loads(x) for x in self.run_on(
            events, "report", "--table", "streams", "--format", "jsonl").out.splitlines()]
        self.assertEqual((line["first_start_us"], line["last_end_us"], line["busy_ms"]),
                         ("2000000000000001.001", "2000000000000003.501", 0.0025))
        (line,) = [json.loads(x) for x in self.run_on(
            [kernel("k", "100.001", "2.5")], "report", "--table", "streams", "--format",
            "jsonl").out.splitlines()]
        self.assertEqual(line["first_start_us"], 100.001)

    def test_markdown(self):
        text = self.run_on([kernel("a|b", 100, 5)], "kernels", "--format", "markdown").out
        self.assertIn("a\\|b", text)

    def test_one_screen(self):
        """At most 40 lines, none wider than the terminal, whatever the names; what is cut is said."""
        name = "void at::native::vectorized_elementwise_kernel<4, Functor{}>(int, {})"
        events = [event("X", "user_annotation", f"ProfilerStep#{i}", 31, 32, 1000 * i, 900)
                  for i in range(60)]
        for i in range(60):
            events += [op(f"aten::a_rather_long_name_of_an_operator_{i}", 1000 * i + 10, 500),
                       launch(1000 * i + 20, 5, i + 1),
                       kernel(name.format(i, "x" * i), 1000 * i + 100, 100 + i, i + 1)]
        path = self.write(document(events))
        for width in (80, 100, 140):
            for command in ("kernels", "ops", "steps", "ranges"):
                shown = trawl(command, path, env=environment(COLUMNS=width)).out
                lines = shown.splitlines()
                self.assertLessEqual(max(map(len, lines)), width, command)
                self.assertEqual(len(lines), SCREEN, command)
                self.assertRegex(shown, r"\n\+\d+ rows: csv has all\n")
            both = trawl("report", path, "--table", "kernels,ops", env=environment(COLUMNS=width)).out
            self.assertEqual(len(both.splitlines()), SCREEN)
            self.assertLessEqual(max(map(len, both.splitlines())), width)
        self.assertEqual(len(trawl("kernels", path, "--top", "0").out.splitlines()), 60 + 4)
        self.assertEqual(len(rows_of(trawl("kernels", path, "--format", "csv").out)), 60)

    def test_fewer_rows_than_a_screen_are_all_there(self):
        # A heading, a line of headers, dashes: 37 rows fit, 38 do not.
        for count, cut in ((37, False), (38, True)):
            events = [kernel(f"k{i}", 100 * i, 5) for i in range(count)]
            shown = self.run_on(events, "kernels").out
            self.assertEqual("csv has all" in shown, cut, count)
            self.assertEqual(len(shown.splitlines()), SCREEN)

    def test_more_tables_than_a_screen_has_room_for(self):
        """Of two rows each shows what it has room for, and one at least."""
        path = self.write(document([kernel("long", 100, 9), kernel("short", 200, 5)]))
        for count, shown in ((6, 2), (21, 1), (40, 1), (41, 1)):
            text = trawl("report", path, "--table", ",".join(["kernels"] * count)).out
            self.assertEqual(len(re.findall(r"^long ", text, re.M)), count)
            self.assertEqual(len(re.findall(r"^short ", text, re.M)), count * (shown - 1), count)

    def test_output_that_fails(self):
        path = self.write(document(base_events()))
        for args in (("kernels", path), ("report", path, "--table", "quality"), ("tables",)):
            with open("/dev/full", "wb") as full:
                done = trawl(*args, stdout=full)
            self.assertExit(done, 1)
            self.assertIn("cannot write to standard output", done.err)
            self.assertEqual(len(done.err.strip().splitlines()), 1)

    def test_closed_pipe(self):
        path = self.write(document([kernel(f"k{i}", 10 * i, 5) for i in range(20000)]))
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([TRAWL, "kernels", path, "--format", "csv"], stdout=writing,
                              stderr=subprocess.PIPE, env=environment())
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_names_obey_nothing(self):
        shown = self.run_on([kernel("\x1b[31mred\n=1+1", 100, 5)], "kernels").out
        self.assertNotIn("\x1b", shown)


class OverRanks(Tables):
    def job(self):
        place = self.tmp / "job"
        subprocess.run([tracegen(), "--ranks", "2", "--steps", "1", "-o", place], check=True,
                       capture_output=True)
        return place

    def test_tables_of_ranks(self):
        job = self.job()
        whole = report(job, self.tmp / "whole")
        self.assertExit(whole, 0)
        for name in ("kernels", "ops", "gpu_timeline", "verdict", "ranks", "findings"):
            alone = trawl("report", job, "--table", name, "--format", "csv", "-q")
            self.assertExit(alone, 0)
            self.assertEqual(alone.raw, (whole.csvs / f"{name}.csv").read_bytes(), name)
        # Those of trawl collectives too.
        alone = trawl("report", job, "--table", "nccl_long", "--format", "csv", "-q")
        self.assertTrue(rows_of(alone.out))

    def test_kernels_of_ranks(self):
        job = self.job()
        over = {r["kernel"]: r for r in rows_of(trawl("kernels", job, "--format", "csv").out)}
        counts = defaultdict(int)
        for trace in sorted(job.glob("*.json*")):
            for r in rows_of(trawl("kernels", trace, "--format", "csv").out):
                counts[r["kernel"]] += int(r["count"])
        self.assertGreater(len(counts), 5)
        self.assertEqual({k: int(float(r["count_total"])) for k, r in over.items()}, counts)

    def test_columns_of_one_rank(self):
        """A column of a rank is the sum over the ranks, else the mean; by its id or header."""
        for rank, us in enumerate((10, 30)):
            self.write(document([kernel("a", 100, us), kernel("b", 200, 25), kernel("b", 300, 5)],
                                distributedInfo={"rank": rank, "world_size": 2, "backend": "nccl"}), f"r{rank}.json")
        args = self.tmp, "--format", "csv", "--sort"
        rows = rows_of(trawl("kernels", *args, "count:asc", "--columns", "kernel,total (ms),count,mean_us,ranks").out)
        self.assertEqual([list(r.items()) for r in rows], [
            [("kernel", "a"), ("total (ms)_total", "0.04"), ("count_total", "2"), ("mean (µs)_mean", "20"), ("ranks", "2")],
            [("kernel", "b"), ("total (ms)_total", "0.06"), ("count_total", "4"), ("mean (µs)_mean", "15"), ("ranks", "2")]])
        for column, first in (("total_ms", "b"), ("max_us_max", "a"), ("mean_us", "a")):
            self.assertEqual(rows_of(trawl("kernels", *args, column).out)[0]["kernel"], first, column)
        self.assertUsage(trawl("kernels", *args, "total"), "no column 'total'")
        # Of one rank there is none behind another name.
        self.assertUsage(trawl("kernels", self.tmp / "r0.json", "--sort", "count_total"), "no column 'count_total'")

    def test_what_is_not_there_is_named(self):
        job = self.job()
        some = trawl("report", job, "--table", "phases_summary,kernels")
        self.assertExit(some, 3)
        self.assertIn("no table 'phases_summary' of these ranks", some.err)
        self.assertTrue(some.out.startswith("kernels: "))
        self.assertExit(trawl("report", job, "--table", "phases_summary"), 1)
        self.assertUsage(trawl("report", job, "--table", "verdikt"), "did you mean 'verdict'")


class Summary(Tables):
    def summary(self, events, *args):
        return self.run_on(events, "report", "--no-csv", "--no-xlsx", *args).out

    def test_one_denominator(self):
        # 80 + 20 us in operators, 100 us of no known launch: of 200 us.
        events = [op("aten::mm", 100, 40), launch(110, 5, 1), kernel("x", 150, 60, 1),
                  launch(120, 5, 2), kernel("y", 220, 20, 2), op("c10d::allreduce_", 150, 40),
                  launch(160, 5, 3), kernel("ncclDevKernel_AllReduce", 250, 20, 3),
                  kernel("lost", 300, 100, 99)]
        text = self.summary(events)
        self.assertIn("\nGPU time; share of the total\n", text)
        self.assertIn("\ntop operators by GPU time; share of all GPU work\n", text)
        rows = [x.split() for x in text.splitlines()]
        found = {" ".join(r[:-2]): r[-2:] for r in rows if len(r) > 3}
        self.assertEqual([v for k, v in found.items() if k.startswith(("aten::mm", "c10d", "(not"))],
                         [["0.080", "40.0"], ["0.020", "10.0"], ["0.100", "50.0"]])
        kernels = text.split("top kernels by GPU time; share of all GPU work\n")[1]
        self.assertEqual(re.findall(r"^(lost|x|y|nccl\w+) .* (\S+)$", kernels, re.M),
                         [("lost", "50.0"), ("x", "30.0"), ("ncclDevKernel_AllReduce", "10.0"),
                          ("y", "10.0")])

    def test_kernels_only_where_they_differ(self):
        one = [op("aten::mm", 100, 40), launch(110, 5, 1), kernel("x", 150, 60, 1)]
        self.assertNotIn("top kernels", self.summary(one))
        two = one + [launch(120, 5, 2), kernel("y", 220, 20, 2)]
        self.assertIn("top kernels", self.summary(two))
        self.assertNotIn("top kernels", self.summary(two, "--top-ops", "0"))
        # Nothing to compare with: kernels without operators.
        self.assertIn("top kernels", self.summary([kernel("x", 150, 60)]))

    def test_kernels_that_differ_in_a_row_that_is_shown(self):
        """Six operators of one kernel each but one of two: in the first five rows, or behind them."""
        for odd, shown in ((4, True), (5, False)):
            events = []
            for i in range(6):
                at, us = 1000 * i + 100, 90 - 10 * i
                events += [op(f"op{i}", at, 40), launch(at + 10, 5, i + 1),
                           kernel(f"k{i}", at + 50, us - 2 * (i == odd), i + 1)]
                if i == odd:
                    events += [launch(at + 20, 5, 9), kernel("more", at + 300, 2, 9)]
            self.assertEqual("top kernels" in self.summary(events), shown, odd)

    def test_kinds_are_of_all_gpu_work(self):
        text = self.summary([kernel("gemm_f32_64x64_tn", 100, 60), kernel(NCCL, 200, 20), copy(300, 20)])
        kinds = text.split("GPU time by kernel category")[1]
        self.assertIn("; share of all GPU work\n", kinds)
        self.assertEqual(re.findall(r"^(GEMM|communication) .* (\S+)$", kinds, re.M),
                         [("GEMM", "60.0"), ("communication", "20.0")])

    def test_number_of_kernels(self):
        events = [kernel(f"k{i}", 100 * i, 10 + i) for i in range(8)]
        self.assertEqual(len(re.findall(r"^k\d ", self.summary(events), re.M)), 5)
        self.assertEqual(len(re.findall(r"^k\d ", self.summary(events, "--top-ops", "2"), re.M)), 2)

    def test_rows_for_programs_are_operators(self):
        """What is in none has no calls, and is not among them."""
        path = self.write(document(base_events() + [kernel("lost", 500, 20, 99)]))
        made = trawl("report", path, "--no-csv", "--no-xlsx", "--format", "csv").out
        rows = rows_of(made.split("# top_operations\n")[1].split("\n\n")[0])
        self.assertEqual([(r["operation"], r["calls"], r["GPU time (ms)"]) for r in rows[:2]],
                         [("aten::linear", "1", "0.1"), ("c10d::allreduce_", "1", "0.1")])
        self.assertAlmostEqual(float(rows[0]["share (%)"]), 100 / 3, 12)
        self.assertNotIn("(not attributed)", [r["operation"] for r in rows])


if __name__ == "__main__":
    unittest.main()
