"""What `--format json` prints fits the schemas of the repository, and other documents do not."""
import copy
import csv
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (ROOT, Case, base_events, document, event, kernel, op, tracegen, trawl)

try:
    import check_schema
except ImportError:
    check_schema = None

SCHEMAS = {name: ROOT / f"schema/trawl.{name}-1.json"
           for name in ("report", "report_ranks", "check", "model", "models", "platforms",
                        "prepare", "analyze", "category", "replay", "nsys", "nsys_ranges",
                         "collectives", "path", "merge", "sweep_plots", "sweep_variance", "sweep_run",
                         "sweep_runs", "sweep_timeline", "sweep_trials", "compare", "compare_sides", "sweep",
                         "sweep_merge", "sweep_aggregate", "table", "table_columns", "tables")}
CHECKER = pathlib.Path(__file__).resolve().parent / "check_schema.py"


class Schema(Case):
    def validate(self, name, *docs):
        """Complaints about documents; '' when they fit."""
        paths = [self.write(doc if isinstance(doc, str) else json.dumps(doc), f"document{i}.json")
                 for i, doc in enumerate(docs)]
        if check_schema:
            return "\n".join(check_schema.complaints(SCHEMAS[name], paths))
        # The library is Debian's: for the system's Python, if not for this one.
        done = subprocess.run(["/usr/bin/python3", CHECKER, SCHEMAS[name], *paths],
                              capture_output=True, text=True)
        if done.returncode != 3:
            self.assertEqual(done.stderr, "")
            self.assertEqual(bool(done.stdout), done.returncode == 1, str(done))
            return done.stdout
        self.skipTest("no python3-jsonschema: the documents were not compared with their schemas")

    def printed(self, data, *options):
        path = data if isinstance(data, pathlib.Path) else self.write(data)
        result = trawl("report", path, "--no-csv", "--no-xlsx", "--format", "json", *options)
        self.assertExit(result, 0, 3)
        return result.out

    def collectives_document(self, *options):
        place = self.tmp / "job"
        subprocess.run([tracegen(), "--ranks", "2", "--steps", "1", "-o", place], check=True,
                       capture_output=True)
        result = trawl("collectives", place, "--no-csv", "--no-xlsx", "--format", "json",
                       *options)
        self.assertExit(result, 0)
        return result.out

    def test_schemas_are_current(self):
        done = subprocess.run([sys.executable, ROOT / "tools/gen_schema.py", "--check"],
                              capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0))

    def test_documents_have_schemas(self):
        printed = set()
        for source in (ROOT / "src/cli").rglob("*.c"):
            for call in re.findall(r"\b(?:cli_print_tables?|tw_render|tw_render_json_objects)\(([^;]*)\);",
                                   source.read_text()):
                printed |= set(re.findall(r'"([a-z_]+)"', call))
        self.assertLessEqual({"report", "compare", "models"}, printed)
        self.assertEqual(printed - {*SCHEMAS}, set())
        self.assertEqual({*SCHEMAS}, {*json.loads((ROOT / "schema/documents.json").read_text()),
                                      "sweep_run"})

    def test_collectives_fit(self):
        text = self.collectives_document()
        self.assertEqual(self.validate("collectives", text), "")
        (self.tmp / "lone").mkdir()
        (self.tmp / "lone/rank7.json").write_text(document([kernel("k", 1, 5)]))
        lone = trawl("collectives", self.tmp / "lone", "--no-csv", "--no-xlsx", "--format",
                     "json")
        self.assertExit(lone, 0)
        self.assertEqual(self.validate("collectives", lone.out), "")
        names = [t["name"] for t in json.loads(text)["tables"]]

        def of(d, name):
            return d["tables"][names.index(name)]
        for spoil in (lambda d: d["tables"].pop(),
                      lambda d: d["tables"].remove(of(d, "verdict")),
                      lambda d: d["tables"].append(of(d, "stragglers")),
                      lambda d: of(d, "straggler_summary")["rows"][0].__setitem__(0, "rank"),
                      lambda d: of(d, "stragglers")["rows"][0].__setitem__(4, -1),
                      lambda d: of(d, "verdict")["rows"][0].__setitem__(0, "guess"),
                      lambda d: of(d, "collective_waits")["columns"][0].__setitem__("id", "x"),
                      lambda d: of(d, "ranks")["rows"][0].__setitem__(1, "lost")):
            other = json.loads(text)
            spoil(other)
            self.assertNotEqual(self.validate("collectives", other), "")

    def test_paths_fit(self):
        place = self.tmp / "job"
        subprocess.run([tracegen(), "--ranks", "2", "--steps", "2", "-o", place], check=True,
                       capture_output=True)
        result = trawl("path", place, "--no-csv", "--no-xlsx", "--format", "json", "--busbw", "100")
        self.assertExit(result, 0)
        self.assertEqual(self.validate("path", result.out), "")
        # One kernel: no operator, and the path is that kernel.
        lone = self.write(document([kernel("gemm", 10, 5)]), "lone.json")
        result = trawl("path", lone, "--no-csv", "--no-xlsx", "--format", "json")
        self.assertExit(result, 0)
        self.assertEqual(self.validate("path", result.out), "")

    def test_all_tables_of_collectives_fit(self):
        """A job with a transfer, an exchange and a collective that one rank lacks."""
        (self.tmp / "job").mkdir()

        def described(name, ts, seq, **args):
            return kernel("ncclDevKernel_x(", ts, 50, seq + 1, **{
                "Collective name": name, "dtype": "Float", "In msg nelems": 4, "Seq": seq,
                "Out msg nelems": 4, "Group size": 2, "Process Group Name": "0",
                "Process Group Ranks": "[0, 1]", **args})
        for rank in range(2):
            events = [described("all_to_allv", 1000 + 9 * rank, 0), described(
                "recv" if rank else "send", 2000, 1, **{"Src Rank": 0, "Dst Rank": 1})]
            events += [described("allreduce", 3000, 2)] * rank
            self.write(document(events, distributedInfo={"rank": rank, "world_size": 2}),
                       f"job/rank{rank}.json")
        result = trawl("collectives", self.tmp / "job", "--no-csv", "--no-xlsx", "--format",
                       "json")
        self.assertExit(result, 0)
        self.assertEqual(self.validate("collectives", result.out), "")
        schema = json.loads(SCHEMAS["collectives"].read_text())
        self.assertEqual([t["name"] for t in json.loads(result.out)["tables"]],
                         [d for d in schema["$defs"] if d != "column"])

    def test_merges_fit(self):
        for rank in range(2):
            self.write(document(base_events()), f"rank{rank}.json")
        result = trawl("merge", self.tmp, "-o", self.tmp / "merged", "--format", "json")
        self.assertExit(result, 0)
        self.assertEqual(self.validate("merge", result.out), "")
        doc = json.loads(result.out)
        self.assertEqual([r[0] for r in doc["tables"][0]["rows"]], [0, 1])
        doc["tables"][0]["rows"][0][2] = -1
        self.assertNotEqual(self.validate("merge", json.dumps(doc)), "")

    def test_plots_fit(self):
        if not shutil.which("gnuplot"):
            self.skipTest("no gnuplot: no picture was drawn")
        path = self.write("threads,channel,rank,time_diff_us\n256,28,0,1.5\n512,28,3,2\n", "t.csv")
        result = trawl("sweep", "plots", "--input-csv", path, "--format", "json")
        self.assertExit(result, 0)
        self.assertEqual(self.validate("sweep_plots", result.out), "")
        doc = json.loads(result.out)
        doc["tables"][0]["rows"][0][0] = "x"
        self.assertNotEqual(self.validate("sweep_plots", json.dumps(doc)), "")

    def test_variance_fits(self):
        place, made = self.tmp / "sweep", self.tmp / "made"
        subprocess.run([tracegen(), "--ranks", "2", "--steps", "2", "-o", made], check=True,
                       capture_output=True)
        for rank in range(2):
            run = place / f"256thread/nccl_28channels/torch_profiler/rank{rank}"
            run.mkdir(parents=True)
            shutil.move(next(made.glob(f"rank{rank}*")), run / "trace.json")
        for stage in ("variance", "timestamps", "overlap"):
            result = trawl("sweep", stage, place, "--format", "json")
            self.assertExit(result, 0)
            self.assertEqual(self.validate("sweep_variance", result.out), "")
        doc = json.loads(result.out)
        self.assertEqual(len(doc["tables"][0]["rows"]), 10)
        doc["tables"][0]["rows"][0][0] = "256"
        self.assertNotEqual(self.validate("sweep_variance", json.dumps(doc)), "")
        empty = self.write("threads,channel,rank,kernel_name,max_duration_timestamp_ms\n", "t.csv")
        result = trawl("sweep", "overlap", place, "--input-csv", empty, "--format", "json")
        self.assertExit(result, 0)
        self.assertEqual(self.validate("sweep_variance", result.out), "")

    def test_stages_of_sweeps_fit(self):
        sweep = self.tmp / "sweep"
        for threads in (256, 512):
            traces = sweep / f"{threads}thread/nccl_28channels/torch_profiler"
            traces.parent.mkdir(parents=True)
            subprocess.run([tracegen(), "--ranks", "2", "--steps", "1", "--seed", str(threads), "-o",
                            traces], check=True, capture_output=True)
        for stage, schema in (("report", "sweep"), ("all", "sweep"), ("merge", "sweep_merge"),
                              ("aggregate", "sweep_aggregate")):
            result = trawl("sweep", stage, sweep, "--format", "json")
            self.assertExit(result, 0)
            self.assertEqual(self.validate(schema, result.out), "", stage)
            doc = json.loads(result.out)
            doc["tables"][0]["rows"][0][0] = 1
            self.assertNotEqual(self.validate(schema, json.dumps(doc)), "", stage)

    def test_runs_fit(self):
        script = 'case $NCCL_MAX_NCHANNELS in 2) exit 7;; 3) kill $$;; 4) sleep 60;; esac'
        result = trawl("sweep", "run", "-c", "1,2,3,4", "-t", "1", "--timeout", "0.5", "-o",
                       self.tmp / "s", "--format", "json", "--", "sh", "-c", script)
        self.assertExit(result, 3)
        self.assertEqual(self.validate("sweep_runs", result.out), "")
        doc = json.loads(result.out)
        self.assertEqual([r[2] for r in doc["tables"][0]["rows"]],
                         ["SUCCESS", "FAILED", "FAILED", "TIMEOUT"])
        doc["tables"][0]["rows"][0][2] = "FINE"
        self.assertNotEqual(self.validate("sweep_runs", json.dumps(doc)), "")
        files = [p.read_text() for p in (self.tmp / "s").glob("*/*/run_status.json")]
        self.assertEqual(len(files), 4)
        self.assertEqual(self.validate("sweep_run", *files), "")
        self.assertNotEqual(self.validate("sweep_run", files[0].replace('"status"', '"x"')), "")

    def test_tools_of_sweeps_fit(self):
        ranges = [{"stream": "a", "tag": "forward", "start_ms": 0, "end_ms": 1.5}]
        self.write("".join(json.dumps({"step": s, "profile": {"ranges": ranges}, **more}) + "\n"
                           for s, more in ((5, {}), (6, {"epoch": 0}))), "rank_00_metrics.jsonl")
        trial = self.tmp / "trial_0001"
        trial.mkdir()
        (trial / "config.yaml").write_text("")
        (trial / "trial_metrics.json").write_text('{"overlap_ratio": 0.5}')
        for name, args in (("sweep_timeline", ("timeline", self.tmp, "--text-only")),
                           ("sweep_trials", ("trials", self.tmp))):
            result = trawl("sweep", *args, "--format", "json")
            self.assertExit(result, 0)
            self.assertEqual(self.validate(name, result.out), "")
            doc = json.loads(result.out)
            doc["tables"][0]["rows"][0][0] = "x"
            self.assertNotEqual(self.validate(name, json.dumps(doc)), "")

    def test_comparisons_fit(self):
        """Of two traces, and of sweeps with several configurations."""
        paths = [self.write(document([*base_events(), kernel("k", 900, dur)]), name)
                 for name, dur in (("a.json", 10), ("b.json", 30))]
        for name, dur in (("s1", 10), ("s2", 30)):
            for threads in (256, 512):
                place = f"{name}/{threads}thread/nccl_28channels/torch_profiler/rank0"
                (self.tmp / place).mkdir(parents=True)
                self.write(document([*base_events(), kernel("k", 900, dur)]),
                           f"{place}/trace.json")
        texts = []
        for a, b in (paths, (self.tmp / "s1", self.tmp / "s2")):
            result = trawl("compare", a, b, "-o", self.tmp / "page.html", "--format", "json")
            self.assertExit(result, 0)
            self.assertEqual(self.validate("compare", result.out), "")
            texts.append(result.out)
        for sides in ([*paths, paths[1]], [self.tmp / "s1", self.tmp / "s2", self.tmp / "s2"]):
            result = trawl("compare", *sides, "-o", self.tmp / "page.html", "--format", "json")
            self.assertExit(result, 0)
            self.assertEqual(self.validate("compare_sides", result.out), "")
            self.assertNotEqual(self.validate("compare", result.out), "")
        schema = json.loads(SCHEMAS["compare"].read_text())
        names = [t["name"] for t in json.loads(texts[1])["tables"]]
        self.assertEqual(names, [d for d in schema["$defs"] if d in names])
        at = names.index("kernel_changes")
        for spoil in (lambda d: d["tables"].pop(),
                      lambda d: d["tables"][at]["rows"][0].__setitem__(7, "slower"),
                      lambda d: d["tables"][at]["rows"][0].__setitem__(1, -1),
                      lambda d: d["tables"][at]["rows"][0].pop(),
                      lambda d: d["tables"][0]["rows"].pop(),
                      lambda d: d["tables"][at]["columns"][0].__setitem__("header", "x")):
            other = json.loads(texts[1])
            spoil(other)
            self.assertNotEqual(self.validate("compare", json.dumps(other)), "")

    def test_reports_fit(self):
        huge = [kernel("k", 1, 501120000000, None) for _ in range(40)]
        idle = base_events() + [event("X", "user_annotation", "wait", 31, 32, 350, 40)]
        odd = document(base_events()) + "trailing"
        cases = {
            "all": (document(base_events()), ()),
            "micro idle": (document(base_events()), ("--micro-idle-us", "10")),
            "view": (document(base_events()), ("--start", 220000, "--end", 310000)),
            "idle view": (document(idle), ("--range", "wait")),
            "no launches": (document([kernel("k", 1, 5)]), ()),
            "no length": (document([kernel("k", 1, 0)]), ()),
            "only the host": (document([op("a", 1, 5)]), ()),
            "long": (document(huge), ()),
            "damaged": (odd, ()),
            "platform": (document(base_events()), ("--platform", "MI300X")),
            "platform, no GPU": (document([op("a", 1, 5)]), ("--platform", "MI300X")),
        }
        for name, (data, options) in cases.items():
            with self.subTest(name):
                self.assertEqual(self.validate("report", self.printed(data, *options)), "")

    def test_reports_of_ranks_fit(self):
        good, host = document(base_events()), document([op("a", 1, 5)])
        cases = {
            "all": (good, good, good),
            "one without GPU work, one damaged": (good, host, good[:-40], ""),
            "no launches": (document([kernel("k", 1, 5)]), document([kernel("k", 1, 9)])),
            "only hosts": (host, host),
        }
        for i, (name, traces) in enumerate(cases.items()):
            for rank, trace in enumerate(traces):
                (self.tmp / f"job{i}").mkdir(exist_ok=True)
                self.write(trace, f"job{i}/rank{rank}.json")
            with self.subTest(name):
                text = self.printed(self.tmp / f"job{i}", "--as-ranks")
                self.assertEqual(self.validate("report_ranks", text), "")
                for change in (lambda d: d["tables"].pop(), lambda d: d["tables"][0].pop("notes"),
                               lambda d: d["tables"][0]["rows"][0].pop(),
                               lambda d: d.update(schema="trawl.report/1")):
                    other = json.loads(text)
                    change(other)
                    self.assertNotEqual(self.validate("report_ranks", other), "")

    def test_tables_fit(self):
        path = self.write(document(base_events()))
        listed = trawl("tables", "--format", "json")
        columns = trawl("tables", "kernels", "verdict", "--format", "json")
        self.assertExit(listed, 0)
        self.assertExit(columns, 0)
        self.assertEqual(self.validate("tables", listed.out), "")
        self.assertEqual(self.validate("table_columns", columns.out), "")
        for args in (("report", path, "--table", "streams,quality,modules"), ("kernels", path),
                     ("steps", path, "--columns", "name,step")):
            printed = trawl(*args, "--format", "json")
            self.assertExit(printed, 0)
            self.assertEqual(self.validate("table", printed.out), "")
            self.assertNotEqual(self.validate("tables", printed.out), "")
            own = trawl(*args, "--format", "schema")
            self.assertExit(own, 0)
            schema = json.loads(own.out)
            for shown, table in zip(schema["properties"]["tables"]["prefixItems"],
                                    json.loads(printed.out)["tables"]):
                rows = shown["properties"]["rows"]["items"]
                self.assertEqual(rows["required"], [c["id"] for c in table["columns"]])
                for row in table["rows"]:
                    self.assertEqual(list(row), rows["required"])
        self.assertNotEqual(self.validate("table", columns.out), "")

    def test_ranges_fit(self):
        step = event("X", "user_annotation", "step", 31, 32, 100, 400)
        for data in (document(base_events()), document([*base_events(), step]),
                     document([step, kernel("k", 1, 5)])):
            done = trawl("nsys", "ranges", self.write(data), "--format", "json")
            self.assertExit(done, 0)
            self.assertEqual(self.validate("nsys_ranges", done.out), "")

    def test_prepared_categories_fit(self):
        for data in (document(base_events()), document([op("a", 1, 5)]),
                     document([kernel("k", 1, 5)])):
            done = trawl("prepare", self.write(data), "-o", self.tmp / "out", "--format", "json")
            self.assertExit(done, 0)
            self.assertEqual(self.validate("prepare", done.out), "")

    def test_analyses_of_jobs_fit(self):
        place = self.tmp / "job"
        subprocess.run([tracegen(), "--ranks", "2", "--steps", "2", "--straggler", "1:1.3", "-o", place],
                       check=True, capture_output=True)
        done = trawl("analyze", place, "-o", self.tmp / "out", "--format", "json", "--no-replay")
        self.assertExit(done, 0)
        self.assertEqual(self.validate("analyze", done.out), "")
        for spoil in (lambda d: d["tables"].pop(0), lambda d: d["tables"][0]["rows"].clear(),
                      lambda d: d["tables"][0]["rows"][0].__setitem__(0, "guess"),
                      lambda d: d["tables"][0]["rows"][0].__setitem__(3, None)):
            other = json.loads(done.out)
            spoil(other)
            self.assertNotEqual(self.validate("analyze", other), "")

    def test_analyses_fit(self):
        for data in (document(base_events()), document([op("a", 1, 5)]),
                     document([kernel("k", 1, 5)])):
            path, out = self.write(data), self.tmp / "out"
            done = trawl("analyze", path, "-o", out, "--format", "json", "--no-plots")
            self.assertExit(done, 0)
            self.assertEqual(self.validate("analyze", done.out), "")
            for name in ("cpu_idle", "other"):
                done = trawl("category", name, out, "--format", "json")
                self.assertExit(done, 0)
                self.assertEqual(self.validate("category", done.out), "")

    def test_replay_packages_fit(self):
        made = self.tmp / "out"
        self.assertExit(trawl("prepare", self.write(document(base_events())), "-o", made), 0)
        with open(made / "perf_report_csvs/unified_perf_summary.csv", encoding="utf-8") as file:
            names = {row["name"] for row in csv.DictReader(file)}
        self.assertTrue(names)
        for options in ((), ("--ops", *names)):
            done = trawl("replay", made, *options, "--format", "json")
            self.assertExit(done, 0)
            self.assertEqual(self.validate("replay", done.out), "")

    def test_report_of_a_generated_trace_fits(self):
        path = self.tmp / "made.json"
        subprocess.run([tracegen(), "--steps", "1", "-o", path], check=True)
        self.assertEqual(self.validate("report", self.printed(path)), "")

    WHO_AND_WHEN = {"train": ["steps", "modules", "call_sites"],
                    "decode": ["graphs", "steps", "phases_summary", "phases", "modules", "call_sites"]}

    def made_job(self, kind):
        """Traces of two ranks, and captures of the graphs that these launch."""
        job, captures = self.tmp / kind, self.tmp / f"{kind}_captures"
        subprocess.run([tracegen(), "--kind", kind, "--ranks", "2", "--steps", "2", "--stacks", "-o", job,
                        *(("--capture", captures) if kind == "decode" else ())], check=True)
        return job, captures

    def test_who_and_when_of_a_trace_fit(self):
        for kind, tables in self.WHO_AND_WHEN.items():
            job, captures = self.made_job(kind)
            trace = job / "rank0_trace.json"
            doc = json.loads(self.printed(trace))
            self.assertEqual(self.validate("report", doc), "")
            names = [t["name"] for t in doc["tables"]]
            there = [t for t in tables if t != "modules" or kind == "train"]
            self.assertEqual([n for n in names if n in tables], there)
            self.assertEqual(names[0], "graphs" if kind == "decode" else "gpu_timeline")
            if kind == "decode":
                text = self.printed(trace, "--capture", captures)
                self.assertEqual(self.validate("report", text), "")
                names = [t["name"] for t in json.loads(text)["tables"]]
                self.assertEqual([n for n in names if n in tables], tables[1:] + tables[:1])
            self.assertEqual(self.validate("report", self.printed(trace, "--step", "12")), "")
            for name in there:
                other = copy.deepcopy(doc)
                table = next(t for t in other["tables"] if t["name"] == name)
                table["rows"][0][0] = True
                self.assertNotEqual(self.validate("report", other), "", name)

    def test_who_and_when_of_ranks_fit(self):
        for kind, tables in self.WHO_AND_WHEN.items():
            job, captures = self.made_job(kind)
            options = ("--capture", captures) if kind == "decode" else ()
            text = self.printed(job, *options)
            self.assertEqual(self.validate("report_ranks", text), "")
            names = [t["name"] for t in json.loads(text)["tables"]]
            # Each annotation of a phase is of one rank.
            self.assertEqual([n for n in names if n in tables],
                             [t for t in tables[1:] + tables[:1] if t != "phases"] if kind == "decode" else tables)

    def test_checks_fit(self):
        good, bad = self.write(document(base_events())), self.write(
            document(base_events()).replace('"dur": 100', '"dur": NaN'), "bad.json")
        for paths in ((good,), (bad,), (good, bad)):
            result = trawl("check", *paths, "--format", "json")
            self.assertExit(result, 0, 3)
            self.assertEqual(self.validate("check", result.out), "")

    def print_tables(self, *args):
        result = trawl(*args, "--format", "json")
        self.assertExit(result, 0)
        return result.out

    def test_models_fit(self):
        product = ("model", "aten::mm", "--dims", "16x8,8x4", "--dtype")
        timed = ("--platform", "MI300X", "--time-us", "5")
        docs = [self.print_tables(*args) for args in (
            (*product, "float"), (*product, "bf16", *timed), (*product, "int8", *timed),
            (*product, "fp8", "--platform", "MI210"),
            ("model", "aten::convolution", "--backward", "--dims", "8x4x9,6x4x3,6", "--dtype",
             "float", "--concrete", ";;;[1];[0];[1];False;[0];1"),
            ("model", "aten::copy_", "--dims", "8,8", "--dtype", "float", *timed))]
        self.assertEqual(self.validate("model", *docs), "")
        self.assertEqual(self.validate("models", self.print_tables("model", "--list")), "")

    def test_platforms_fit(self):
        listed = self.print_tables("platforms")
        names = [row[0] for row in json.loads(listed)["tables"][0]["rows"]]
        mine = self.write('{"mem_bw_gbps": 1}', "mine.json")
        ones = [self.print_tables("platforms", name) for name in (*names, mine)]
        self.assertEqual(self.validate("platforms", listed, *ones), "")

    def test_answers_on_exports_fit(self):
        path = self.tmp / "a.sqlite"
        db = sqlite3.connect(path)
        db.executescript(f"""
            CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES(1, 'gemm'), (2, 'ncclDevKernel_SendRecv');
            CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid, textId);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, greenContextId,
                streamId, correlationId, globalPid, demangledName, shortName);
            INSERT INTO NVTX_EVENTS VALUES
                (0, 99, 59, 'rank=0; pp=0/1 dp=0/1 cp=0/1 ep=0/1; mbs=1 seq=8', {1 << 24}, NULL),
                (10, 60, 59, 'forward chunk 0 backward chunk 0', {1 << 24}, NULL),
                (11, 50, 59, 'layer0.stage2_f', {1 << 24}, NULL);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(15, 16, {1 << 24}, 1, 1);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
                (20, 30, 0, 1, NULL, 7, 2, {1 << 24}, 1, 1), (25, 35, 0, 1, NULL, 8, 1, {1 << 24}, 2, 2);
        """)
        db.commit()
        db.close()
        docs = [self.print_tables("nsys", query, path, *more)
                for query in ("setup", "windows", "streams", "overlap") for more in ((), ("--compat",))]
        docs += [self.print_tables("nsys", query, path, "--by", by)
                 for query, own in (("streams", "purpose"), ("overlap", "stage"))
                 for by in ("rank", "pp", "dp", "cp", "ep", "tp", own)]
        self.assertTrue(all(json.loads(doc)["tables"][0]["rows"] for doc in docs))
        self.assertEqual(self.validate("report", self.printed(path)), "")
        self.assertEqual(self.validate("nsys", *docs, self.print_tables("nsys", "rules"),
                                       self.print_tables("nsys", "findings", path)), "")
        other = json.loads(docs[-1])
        other["tables"][0]["rows"][0][3] = "50%"
        self.assertNotEqual(self.validate("nsys", other), "")
        other["tables"][0]["columns"].pop()
        self.assertNotEqual(self.validate("nsys", other), "")

    def test_other_models_and_platforms_do_not_fit(self):
        model = json.loads(self.print_tables("model", "aten::mm", "--dims", "16x8,8x4", "--dtype",
                                             "float"))
        models = json.loads(self.print_tables("model", "--list"))
        platforms = json.loads(self.print_tables("platforms"))
        one = json.loads(self.print_tables("platforms", "H100 SXM"))
        for name, doc, cell, value in (
                ("model", model, 1, "1024"), ("model", model, 2, "furlongs"),
                ("model", model, 3, ""), ("models", models, 4, True), ("models", models, 3, "x"),
                ("platforms", platforms, 1, 0), ("platforms", platforms, -1, "guessed"),
                ("platforms", one, 0, "matrix_fp5"), ("platforms", one, 1, None)):
            with self.subTest(f"{name} {cell} {value}"):
                other = copy.deepcopy(doc)
                other["tables"][0]["rows"][0][cell] = value
                self.assertNotEqual(self.validate(name, other), "")
        both = copy.deepcopy(model)
        both["tables"][0]["rows"][1][3] = "a number and a text"
        self.assertNotEqual(self.validate("model", both), "")
        for name, doc in (("model", models), ("models", model), ("platforms", model)):
            self.assertNotEqual(self.validate(name, doc), "")
        for name, doc in (("model", model), ("models", models), ("platforms", platforms),
                          ("platforms", one)):
            other = copy.deepcopy(doc)
            other["tables"][0]["columns"].pop()
            self.assertNotEqual(self.validate(name, other), "")

    def test_roofline_is_in_columns_and_rows(self):
        doc = json.loads(self.printed(document(base_events()), "--platform", "MI300X"))
        top = doc["tables"][1]
        self.assertEqual(top["columns"][-1]["id"], "roofline")
        for change in (lambda t: t["columns"].pop(), lambda t: t["rows"][0].pop()):
            other = copy.deepcopy(doc)
            change(other["tables"][1])
            self.assertNotEqual(self.validate("report", other), "")

    def test_other_documents_do_not_fit(self):
        doc = json.loads(self.printed(document(base_events())))
        self.assertEqual([t["name"] for t in doc["tables"]],
                         ["gpu_timeline", "top_operations", "quality"])

        def changed(change):
            other = copy.deepcopy(doc)
            change(other)
            return other

        def rename(d):
            d["tables"][0]["columns"][1]["id"] = "time"

        def unit(d):
            d["tables"][0]["columns"][1]["unit"] = "us"

        wrong = {
            "version": changed(lambda d: d.update(schema="trawl.report/2")),
            "more at the top": changed(lambda d: d.update(more=1)),
            "no tables": changed(lambda d: d.pop("tables")),
            "table missing": changed(lambda d: d["tables"].pop()),
            "a table twice": changed(lambda d: d["tables"].append(d["tables"][0])),
            "more in a table": changed(lambda d: d["tables"][0].update(more=1)),
            "no notes": changed(lambda d: d["tables"][0].pop("notes")),
            "column renamed": changed(rename),
            "unit": changed(unit),
            "row too long": changed(lambda d: d["tables"][0]["rows"][0].append(1)),
            "row too short": changed(lambda d: d["tables"][0]["rows"][0].pop()),
            "time as text": changed(lambda d: d["tables"][0]["rows"][0].__setitem__(1, "1")),
            "kind of time": changed(lambda d: d["tables"][0]["rows"][0].__setitem__(0, "x_time")),
        }
        for name, other in wrong.items():
            with self.subTest(name):
                self.assertNotEqual(self.validate("report", other), "")
        self.assertNotEqual(self.validate("check", doc), "")


if __name__ == "__main__":
    unittest.main()
